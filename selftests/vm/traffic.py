# SPDX-License-Identifier: GPL-2.0-only
"""
Ordinary traffic over the node's bridge beside a job of allreduces: what is sent arrives, byte for
byte, and INC has nothing to do with it. Started by 22-traffic.sh; h1, h2 and h3 run the job, h4 and
h5 know nothing of INC.
"""
import hashlib
import os
import random
import re
import select
import socket
import struct
import subprocess
import time

import inc_abi as abi
import inc_wire as w
from inc_abi import NODE4, equal, test, wait_until

RNG = random.Random(int(os.environ.get("SEED", "1")))
EVERYWHERE = ("sw", "h1", "h2", "h3", "h4", "h5")
PAIRS = (("h4", "h5"), ("h1", "h2"), ("h3", "h4"), ("h5", "sw"))


def ip(ns, v6=False):
    if v6:
        return "fd00:7::fe" if ns == "sw" else f"fd00:7::{ns[1]}"
    return NODE4 if ns == "sw" else f"10.7.0.{ns[1]}"


class Lab:
    def __init__(self):
        self.drops = {}
        self.bystanders = {ns: abi.counters(ns) for ns in ("h4", "h5")}
        self.group, self.job, self.seed = RNG.randrange(1 << 32), [], RNG.randrange(1000)

    def start(self):
        for rank in range(3):
            args = (f"inc-allreduce --group {self.group} --rank {rank} --size 3 "
                    f"--count 1,353,30000 --iters 100000")
            self.job.append(subprocess.Popen(
                ["ip", "netns", "exec", f"h{rank + 1}", *args.split(), "--seed", str(self.seed)],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        wait_until(lambda: self.blocks() > 10, "the job is at work")
        # on a busy machine JOIN may have been repeated
        self.drops = {ns: abi.drops(ns) for ns in EVERYWHERE}

    def blocks(self):
        if self.job and self.job[0].poll() is not None:
            raise AssertionError(f"the job has ended: {self.job[0].communicate()[0]}")
        return abi.counters("sw")["blocks"]

    def stop(self):
        for program in self.job:
            program.kill()
        for program in self.job:
            said = program.communicate()[0]
            if "expected" in said or "wrong" in said:
                raise AssertionError(f"the job found fault: {said}")
        self.job = []

    def check(self):
        """The job has got on, and nothing was counted that is not its own."""
        before = self.blocks()
        wait_until(lambda: self.blocks() > before, "the job gets on")
        for ns in EVERYWHERE:
            now = {k: v for k, v in abi.drops(ns).items() if k != "drop_duplicate"}
            equal(now, {k: v for k, v in self.drops[ns].items() if k != "drop_duplicate"},
                  f"drops of {ns}")
        for ns, was in self.bystanders.items():
            equal(abi.counters(ns), was, f"counters of {ns}")


def tcp(frm, to, size, v6=False):
    """@size random bytes; both ends go by turns, because both are here."""
    family = socket.AF_INET6 if v6 else socket.AF_INET
    with w.netns(to):
        listener = socket.create_server((ip(to, v6), 0), family=family)
    with w.netns(frm):
        out = socket.socket(family, socket.SOCK_STREAM)
    out.connect(listener.getsockname()[:2])
    into = listener.accept()[0]
    data, sent, got = RNG.randbytes(size), 0, hashlib.sha256()
    out.setblocking(False)
    into.setblocking(False)
    received, end = 0, time.monotonic() + 60
    while received < size:
        readable, writable, _ = select.select([into], [out] if sent < size else [], [], 20)
        if not readable and not writable or time.monotonic() > end:
            raise AssertionError(f"TCP {frm} to {to}: stuck after {received} of {size} bytes")
        if writable:
            sent += out.send(data[sent:sent + (1 << 18)])
        if readable:
            piece = into.recv(1 << 18)
            got.update(piece)
            received += len(piece)
    for s in (listener, out, into):
        s.close()
    equal(got.hexdigest(), hashlib.sha256(data).hexdigest(),
          f"SHA-256 of what came over TCP from {frm} to {to}")


def udp_pair(frm, to, port=0, v6=False):
    family = socket.AF_INET6 if v6 else socket.AF_INET
    with w.netns(to):
        into = socket.socket(family, socket.SOCK_DGRAM)
        into.bind((ip(to, v6), port))
    with w.netns(frm):
        out = socket.socket(family, socket.SOCK_DGRAM)
    out.connect(into.getsockname()[:2])
    into.settimeout(60)
    return out, into


def udp(frm, to, count, port=0, v6=False, sizes=(0, 1, 47, 48, 64, 500, 1472, 4000)):
    """Datagrams one by one, also such that IP cuts to pieces."""
    out, into = udp_pair(frm, to, port, v6)
    for n in range(count):
        data = RNG.randbytes(sizes[n % len(sizes)])
        out.send(data)
        if into.recv(65536) != data:
            raise AssertionError(
                f"UDP {frm} to {to}: datagram {n} of {len(data)} bytes was changed")
    out.close()
    into.close()


@test("nothing of INC is counted before there is a job")
def t_before(lab):
    tcp("h4", "h5", 100000)
    udp("h4", "h5", 8)
    equal({ns: sum(abi.counters(ns).values()) for ns in EVERYWHERE}, dict.fromkeys(EVERYWHERE, 0),
          "sums of counters")
    lab.start()


@test("TCP in bulk")
def t_tcp(lab):
    for frm, to in PAIRS:
        tcp(frm, to, 1 << 19)
    tcp("h4", "h5", 1 << 18, v6=True)
    lab.check()


@test("UDP of every size, whole and in fragments")
def t_udp(lab):
    for frm, to in PAIRS:
        udp(frm, to, 16)
        udp(frm, to, 8, v6=True)
    lab.check()


@test("UDP to INC's own port that is only passed on")
def t_port(lab):
    udp("h4", "h5", 32, port=w.PORT)
    udp("h1", "h5", 16, port=w.PORT)                    # from a host that has a rank
    udp("sw", "h5", 16, port=w.PORT)                    # and from the node itself
    udp("h4", "h5", 16, port=w.PORT, v6=True)
    out, into = udp_pair("h4", "h5", w.PORT)            # packets that look like INC's, too
    for kind in range(16):
        data = w.Packet(kind, group=lab.group, body=bytes(96)).pack()
        out.send(data)
        equal(into.recv(65536), data, f"a packet of type {kind} for a host behind the bridge")
    out.close()
    into.close()
    lab.check()


@test("UDP to INC's own port that the node's box routes on")
def t_routed(lab):
    with w.netns("sw"):
        for name, value in (("ip_forward", "1"), ("conf/all/send_redirects", "0"),
                            ("conf/br0/send_redirects", "0")):
            with open(f"/proc/sys/net/ipv4/{name}", "w", encoding="ascii") as f:
                f.write(value)
    abi.tool("ip", "-n", "h5", "addr", "add", "10.99.0.5/32", "dev", "lo")
    abi.tool("ip", "-n", "sw", "route", "add", "10.99.0.5", "via", ip("h5"))
    abi.tool("ip", "-n", "h4", "route", "add", "10.99.0.5", "via", NODE4)
    with w.netns("h5"):
        into = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    into.bind(("10.99.0.5", w.PORT))
    into.settimeout(20)
    with w.netns("h4"):
        out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for kind in range(16):
        data = w.Packet(kind, group=lab.group, body=bytes(96)).pack()
        out.sendto(data, ("10.99.0.5", w.PORT))
        equal(into.recv(65536), data, f"a packet of type {kind} for a host behind the box")
    out.close()
    into.close()
    lab.check()


@test("super-packets of others keep their segments")
def t_gso(lab):
    out, into = udp_pair("h4", "h5")
    out.setsockopt(socket.IPPROTO_UDP, 103, 1000)       # UDP_SEGMENT
    data = RNG.randbytes(20500)
    out.send(data)
    got = [into.recv(65536) for _ in range(21)]
    equal([len(d) for d in got], [1000] * 20 + [500], "lengths of the datagrams")
    equal(b"".join(got), data, "what they bring")
    lab.check()


@test("ping, also with packets that need fragments")
def t_ping(lab):
    for frm, to in (("h4", "h5"), ("h1", "h2"), ("h1", "sw")):
        for size in (56, 4000):
            said = ping(frm, to, size)
            if "3 received, 0% packet loss" not in said:
                raise AssertionError(f"ping {frm} to {to}, {size} bytes: {said}")
    lab.check()


def ping(frm, to, size):
    done = subprocess.run(["ip", "netns", "exec", frm, "ping", "-q", "-n", "-c", "3", "-i", "0.02",
                           "-s", str(size), "-W", "20", ip(to)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout


@test("frames with VLAN tags, INC's port in them or not")
def t_vlan(lab):
    taps = {ns: w.Tap(ns) for ns in ("h4", "h5")}
    for n, (tag, port) in enumerate(((7, 4000), (7, w.PORT), (4094, w.PORT))):
        data = RNG.randbytes(400 + n)
        packet = w.ip(ip("h4"), ip("h5"), w.udp(ip("h4"), ip("h5"), data, dport=port))
        frame = w.ether(taps["h4"].mac, taps["h5"].mac, packet, vlan=tag)
        taps["h4"].send(frame)
        wait_until(lambda data=data, packet=packet: received(taps["h5"], packet),
                   f"the frame, VLAN {tag}, port {port}")
    # tagged, for the node itself: no VLAN of that number ends there
    inner = w.Packet(w.PROBE, group=lab.group, body=bytes(8)).pack()
    packet = w.ip(ip("h4"), NODE4, w.udp(ip("h4"), NODE4, inner))
    taps["h4"].send(w.ether(taps["h4"].mac, w.Tap("sw", "br0").mac, packet, vlan=9))
    lab.check()


def received(tap, packet):
    """Whether this IP packet has come; the kernel puts the tag beside the frame."""
    while True:
        try:
            raw = tap.sock.recv(1 << 16)
        except BlockingIOError:
            return False
        if raw.endswith(packet):
            return True


@test("broadcast and multicast reach everybody")
def t_flood(lab):
    for dst, option in (("10.7.0.255", None), ("239.7.7.7", "10.7.0.4")):
        ears = []
        for ns in ("h1", "h5", "sw"):
            with w.netns(ns):
                s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.bind(("", 4100))
            if option:
                s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                             socket.inet_aton(dst) + socket.inet_aton(ip(ns)))
            s.settimeout(60)
            ears.append(s)
        with w.netns("h4"):
            mouth = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        mouth.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        if option:
            mouth.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(option))
        for n in range(5):
            data = RNG.randbytes(300) + struct.pack("!I", n)
            mouth.sendto(data, (dst, 4100))
            for s in ears:
                equal(s.recv(65536), data, f"datagram {n} to {dst}")
        for s in (*ears, mouth):
            s.close()
    lab.check()


@test("the job went well beside all that")
def t_end(lab):
    lab.check()
    lab.stop()


# Beside the job the queue of a processor that stands still for a while is full at times, and drops
# what comes: nothing that INC could help. With a longer one nothing of others may be lost.
BACKLOG = "/proc/sys/net/core/netdev_max_backlog"


def backlog(packets):
    with open(BACKLOG, "r+", encoding="ascii") as f:
        was = f.read().strip()
        f.seek(0)
        f.write(str(packets))
    return was


WAS = backlog(100000)
LAB = Lab()
try:
    abi.main(LAB)
finally:
    LAB.stop()
    backlog(WAS)
