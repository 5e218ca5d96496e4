# SPDX-License-Identifier: GPL-2.0-only
"""
Ways to send a frame by which it comes in more than one piece of memory, of which some may be the
sender's own pages: a ring that is shared with the kernel (PACKET_TX_RING), a tap device like that
of a virtual machine, MSG_ZEROCOPY. And the header of virtio that may stand in front of a frame, and
says what is still to be done with it.
"""
import fcntl
import mmap
import os
import random
import socket
import struct

import inc_wire as w
from inc_wire import netns
from inc_abi import tool, wait_until

SOL_PACKET, VERSION, TX_RING, VNET_HDR, LOSS = 263, 10, 13, 15, 14
AVAILABLE, SEND_REQUEST = 0, 1
FRAME, FRAMES, DATA_AT = 4096, 16, 32           # bytes of a frame, how many; where its data begins
SO_ZEROCOPY, MSG_ZEROCOPY, MSG_ERRQUEUE = 60, 0x4000000, 0x2000
TUNSETIFF = 0x400454ca
TAP, NO_PI, NAPI, NAPI_FRAGS, TAP_VNET = 2, 0x1000, 0x10, 0x20, 0x4000
GSO_NONE, GSO_TCP4, GSO_UFO, GSO_TCP6, GSO_UDP = 0, 1, 3, 4, 5
NEEDS_CSUM = 1


def vnet(flags=0, gso=GSO_NONE, hdr_len=0, gso_size=0, start=0, offset=0):
    """struct virtio_net_hdr"""
    return struct.pack("=BBHHHH", flags, gso, hdr_len, gso_size, start, offset)


def partial(src, dst, data, **how):
    """A datagram whose checksum is still to be made, and struct virtio_net_hdr that says so."""
    pseudo = w.address(src) + w.address(dst) + struct.pack("!BBH", 0, 17, 8 + len(data))
    return vnet(NEEDS_CSUM, start=34, offset=6, **how), \
        w.ip(src, dst, w.udp(src, dst, data, check=w.csum(pseudo) ^ 0xffff))


class Ring:
    """Frames in memory shared with the kernel, which sends them from there."""

    def __init__(self, ns, dev="eth0", with_vnet=False):
        with netns(ns):
            self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self.sock.bind((dev, 0))
        self.sock.setsockopt(SOL_PACKET, VERSION, 1)            # TPACKET_V2
        self.sock.setsockopt(SOL_PACKET, LOSS, 1)               # what is wrong is skipped
        if with_vnet:
            self.sock.setsockopt(SOL_PACKET, VNET_HDR, 1)
        self.sock.setsockopt(SOL_PACKET, TX_RING, struct.pack("=4I", FRAME, FRAMES, FRAME, FRAMES))
        self.memory = mmap.mmap(self.sock.fileno(), FRAME * FRAMES)
        self.next = 0

    def status(self, n):
        return struct.unpack_from("=I", self.memory, n * FRAME)[0]

    def send(self, frame):
        """Returns where in self.memory it stands. OSError: the kernel does not take it."""
        n, self.next = self.next, (self.next + 1) % FRAMES
        wait_until(lambda: self.status(n) == AVAILABLE, "the frame is free")
        at = n * FRAME + DATA_AT
        self.memory[at:at + len(frame)] = frame
        struct.pack_into("=II", self.memory, n * FRAME + 4, len(frame), len(frame))
        struct.pack_into("=I", self.memory, n * FRAME, SEND_REQUEST)
        try:
            self.sock.send(b"")
        except OSError:
            self.sock.close()
            raise
        return at

    def scribble(self, seed):
        """Bytes of frames change for ever, their status and length do not."""
        rng = random.Random(seed)
        while True:
            at = rng.randrange(FRAMES) * FRAME + rng.randrange(DATA_AT, 1600)
            self.memory[at] = rng.randrange(256)
            self.memory[-1] = self.memory[-1] + 1 & 0xff        # no frame is so long

    def scribbled(self):
        return self.memory[-1]

    def close(self):
        self.memory.close()
        self.sock.close()


class TapDevice:
    """
    The network card of a guest, on a port of br0. It looks like a Tap; with a number of pieces each
    frame comes to the kernel in so many behind the Ethernet header, cut anywhere.
    """

    def __init__(self, name, number, pieces=0, seed=0):
        tool("modprobe", "tun", check=False)
        self.mac, self.src = bytes((2, 0, 0, 0, 7, number)), f"10.7.0.{number}"
        self.pieces, self.rng = pieces, random.Random(seed)
        flags = TAP | NO_PI | TAP_VNET | (NAPI | NAPI_FRAGS if pieces else 0)
        with netns("sw"):
            self.fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(self.fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), flags))
        tool("ip", "-n", "sw", "link", "set", name, "master", "br0", "up")
        tool("ip", "-n", "sw", "neigh", "replace", self.src, "lladdr", self.mac.hex(":"),
             "dev", "br0", "nud", "permanent")
        show = "bridge", "-n", "sw", "link", "show", "dev", name
        wait_until(lambda: "state forwarding" in tool(*show), f"{name} forwards")

    def send(self, frame, header=None):
        """@header: struct virtio_net_hdr"""
        edges = [0, len(frame)]
        if self.pieces:
            edges += [14, *self.rng.sample(range(15, len(frame)), self.pieces - 1)]
            edges.sort()
        os.writev(self.fd, [header or vnet(), *(frame[a:b] for a, b in zip(edges, edges[1:]))])

    def frames(self):
        got = []
        while True:
            try:
                raw = os.read(self.fd, 1 << 17)[10:]
            except BlockingIOError:
                return got
            frame = w.Frame(raw, False)
            if frame.ok:
                got.append(frame)

    packets = w.Tap.packets
    wait_packet = w.Tap.wait_packet

    def close(self):
        os.close(self.fd)


class ZeroCopy:
    """Datagrams sent from one page of this process, which says when nobody needs it any more."""

    def __init__(self, ns):
        with netns(ns):
            self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1)
        self.memory = mmap.mmap(-1, FRAME)

    def send(self, data, to):
        self.memory[:len(data)] = data
        with memoryview(self.memory)[:len(data)] as view:
            self.sock.sendmsg([view], [], MSG_ZEROCOPY, (to, w.PORT))

    def given_back(self):
        """None: not yet; else whether the kernel has made a copy."""
        try:
            _, said, _, _ = self.sock.recvmsg(0, 256, MSG_ERRQUEUE | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        error, origin, _, code = struct.unpack_from("=IBBB", said[0][2])
        if (error, origin) != (0, 5):                           # SO_EE_ORIGIN_ZEROCOPY
            raise AssertionError(f"an error {error} of origin {origin}")
        return bool(code & 1)

    def close(self):
        self.sock.close()
        self.memory.close()
