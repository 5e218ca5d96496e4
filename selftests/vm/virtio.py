#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
Network cards of virtual machines, as QEMU and vhost make them: vnetN of a machine is a tap device,
and so is eth0 of its guest, network namespace hN. What the kernel sends to one of them comes here,
behind a struct virtio_net_hdr that says what is still to be done with it (a checksum to be made, to
be cut into packets), and goes to the other as it is. A guest's driver and vhost do just that.

    virtio.py none|tcp|udp MACHINE NUMBER...

What is left to the cards: nothing; checksums and TCP's segmentation; UDP's segmentation, too, which
tap devices know since Linux 6.2. A kernel that does not know it gives "tcp" instead.

MACHINE is a network namespace. "ready none", "ready tcp" or "ready udp" is printed when all cards
are there. A line on stdin is the name of a file, to which is written what has come from them so
far: frames, those without a checksum, those of TCP and UDP that are to be cut. At the end of stdin
the cards go.
"""
import errno
import fcntl
import os
import select
import struct
import sys

from inc_wire import netns
from inc_abi import tool
from raw_links import GSO_TCP4, GSO_TCP6, NEEDS_CSUM, NO_PI, TAP, TAP_VNET, TUNSETIFF

SET_OFFLOAD, SET_HDR_SIZE = 0x400454d0, 0x400454d8
HDR = 12                                        # with the number of buffers, as of virtio 1.0
CSUM, TSO4, TSO6, TSO_ECN, USO4, USO6 = 1, 2, 4, 8, 0x20, 0x40
TCP_OFFLOADS = CSUM | TSO4 | TSO6 | TSO_ECN
OFFLOADS = {"none": 0, "tcp": TCP_OFFLOADS, "udp": TCP_OFFLOADS | USO4 | USO6}
GSO_ECN, GSO_UDP_L4 = 0x80, 5
LONGEST = 1 << 17                               # bytes of a super-packet and its headers are fewer


class Card:
    """A tap device, and what has come from it."""

    def __init__(self, ns, name, offloads):
        with netns(ns):
            self.fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(self.fd, TUNSETIFF,
                        struct.pack("16sH22x", name.encode(), TAP | NO_PI | TAP_VNET))
        fcntl.ioctl(self.fd, SET_HDR_SIZE, struct.pack("=i", HDR))
        self.kind = offloads
        try:
            fcntl.ioctl(self.fd, SET_OFFLOAD, OFFLOADS[offloads])
        except OSError:
            if offloads != "udp":
                raise
            self.kind = "tcp"
            fcntl.ioctl(self.fd, SET_OFFLOAD, TCP_OFFLOADS)
        self.other = None
        self.counts = {"frames": 0, "unsummed": 0, "tcp": 0, "udp": 0}

    def count(self, flags, gso):
        self.counts["frames"] += 1
        self.counts["unsummed"] += bool(flags & NEEDS_CSUM)
        self.counts["tcp"] += gso & ~GSO_ECN in (GSO_TCP4, GSO_TCP6)
        self.counts["udp"] += gso == GSO_UDP_L4

    def forward(self):
        """One frame, which a card that is down does not take."""
        frame = os.read(self.fd, LONGEST)
        self.count(frame[0], frame[1])
        try:
            os.write(self.other.fd, frame)
        except OSError as why:
            if why.errno != errno.EIO:
                raise


def cable(machine, number, offloads):
    outside = Card(machine, f"vnet{number}", offloads)
    inside = Card(f"h{number}", "eth0", offloads)
    tool("ip", "-n", f"h{number}", "link", "set", "eth0", "address", f"52:54:00:00:07:{number:02x}")
    outside.other, inside.other = inside, outside
    return [outside, inside]


def write_counts(path, cards):
    with open(path + ".new", "w", encoding="ascii") as file:
        for name in cards[0].counts:
            print(name, sum(card.counts[name] for card in cards), file=file)
    os.rename(path + ".new", path)


def main():
    offloads, machine, *numbers = sys.argv[1:]
    tool("modprobe", "tun", check=False)
    cards = [card for number in numbers for card in cable(machine, int(number), offloads)]
    by_fd = {card.fd: card for card in cards}
    poll = select.epoll()
    for fd in (0, *by_fd):
        poll.register(fd, select.EPOLLIN)
    print("ready", cards[0].kind, flush=True)
    while True:
        for fd, _ in poll.poll():
            if fd:
                by_fd[fd].forward()
                continue
            line = sys.stdin.readline()
            if not line:
                return
            write_counts(line.strip(), cards)


main()
