# SPDX-License-Identifier: GPL-2.0-only
"""
What the tests of sch_inc stand on: a veth pair in this network namespace, made by 40-qdisc.sh. The
qdisc under test is on DEV; what leaves it is captured on PEER. All addresses and neighbours are
static, so that the counters can be compared exactly: nothing is sent but what a test sends.
"""

import contextlib
import errno
import os
import signal
import socket
import subprocess
import sys
import time

import qdisc_packets as pk
import qdisc_rtnl as nl

DEV, PEER = "inc-q0", "inc-q1"
DST, DST6 = "10.9.0.2", "fd00:9::2"
# Ethernet, IPv4, UDP: what the qdisc counts beside a datagram
HEADERS = 14 + 20 + 8
OTHER_PORT = 9                          # nobody's
SEGMENT = 1000                          # of the super-packets that are captured
LOCAL_ETHERTYPE = 0x88b5                # IEEE 802's for experiments
# Token buckets. The frozen ones let their burst pass at once, and then a byte in a second, which is
# nothing as long as a test takes: no packet is shorter than 138 bytes, and the burst is used up,
# but for 64 bytes of the long one.
FROZEN = "tbf rate 8bit burst 1514 limit 100000000"
FROZEN_LONG = "tbf rate 8bit burst 60000 limit 100000000"
OPEN = "tbf rate 1gbit burst 100000 limit 100000000"
DRAIN = "tbf rate 10mbit burst 50000 limit 100000000"
TESTS = []                              # (name, function of a Lab)


class Skip(Exception):
    pass


def test(name):
    def add(function):
        TESTS.append((name, function))
        return function
    return add


def run(command):
    done = subprocess.run(command.split(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    if done.returncode:
        raise AssertionError(f"{command}: exit status {done.returncode}: {done.stdout.strip()}")
    return done.stdout


def equal(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: got {got}, expected {want}")


def wait_until(condition, what, seconds=60):
    """Asks until it is true; @what may be a function, called when it never is."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what() if callable(what) else what}")
        time.sleep(0.005)


def mac(dev):
    with open(f"/sys/class/net/{dev}/address", encoding="ascii") as f:
        return bytes.fromhex(f.read().strip().replace(":", ""))


def mac_text(dev):
    return mac(dev).hex(":")


def udp_socket(family=socket.AF_INET, sport=0, segment=0, sndbuf=1 << 23):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.bind(("", sport))
    s.setsockopt(socket.SOL_SOCKET, 32, sndbuf)         # SO_SNDBUFFORCE
    if segment:
        s.setsockopt(17, 103, segment)                  # SOL_UDP, UDP_SEGMENT
    return s


class Lab:
    def __init__(self):
        self.rtnl = nl.Rtnl(DEV)
        self.udp = udp_socket()
        self.raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.raw.bind((DEV, 0))
        self.children = []

    # qdiscs

    def clear(self):
        try:
            for _ in self.rtnl.request(nl.RTM_DELQDISC, nl.NLM_F_ACK, 0, nl.ROOT):
                pass
        except nl.Refused as refused:
            if refused.err != errno.ENOENT:
                raise

    def fresh(self, **options):
        self.clear()
        self.rtnl.set(self.coded(options), nl.NLM_F_CREATE | nl.NLM_F_EXCL)

    def under_tbf(self, tbf, **options):
        """inc as 2: below a token bucket 1:"""
        self.clear()
        run(f"tc qdisc add dev {DEV} root handle 1: {tbf}")
        self.rtnl.set(self.coded(options), nl.NLM_F_CREATE | nl.NLM_F_EXCL, 0x20000, 0x10001)

    def freeze(self, **options):
        """Nothing leaves: one other packet has used up all tokens."""
        self.under_tbf(FROZEN, **options)
        self.other(1472)
        wait_until(lambda: self.rtnl.stats()["other"]["packets"] == 1, "the first packet passes")

    def freeze_long(self, **options):
        """
        The same for super-packets, which a token bucket takes apart when they are longer than its
        burst, and sch_inc when it knows how slow that is.
        """
        self.under_tbf(FROZEN_LONG, **{"rate": 10 ** 12, **options})
        with udp_socket(segment=SEGMENT) as s:
            s.sendto(bytes(57 * SEGMENT), (DST, OTHER_PORT))
        self.other(500)
        wait_until(lambda: self.rtnl.stats()["other"]["packets"] == 58,
                   "the first two packets pass")

    def thaw(self, tbf=OPEN):
        """
        All leave, and one more other packet of 1472 bytes, whose coming makes the token bucket look
        again.
        """
        run(f"tc qdisc change dev {DEV} root handle 1: {tbf}")
        self.other(1472)

    def change(self, **options):
        self.rtnl.set(self.coded(options), 0, 0x20000, 0x10001)

    @staticmethod
    def coded(options):
        numbers = {"share": nl.SHARE, "limit": nl.LIMIT, "port": nl.PORT, "weights": nl.WEIGHTS,
                   "target": nl.TARGET, "control": nl.CONTROL, "rate": nl.RATE}
        code = {"port": nl.u16, "rate": nl.u64,
                "weights": lambda w: b"".join(nl.u32(g) + nl.u32(n) for g, n in w.items())}
        return [(numbers[k], code.get(k, nl.u32)(v)) for k, v in options.items()]

    # packets

    def inc(self, kind="contrib", total=96, **kw):
        self.udp.sendto(pk.inc(kind, total, **kw), (DST, pk.INC_PORT))

    def other(self, total=96):
        self.udp.sendto(bytes(total), (DST, OTHER_PORT))

    def ether(self, data, ether=pk.ETH_IPV4, vlans=()):
        self.raw.send(pk.frame(data, ether, mac(PEER), mac(DEV), vlans))

    # counters

    def expect(self, **want):
        """Waits until the counters named are what they should be; drops, marks, qlen and backlog
        not named must be 0."""
        full = {"blocks": want.pop("blocks")} if "blocks" in want else {}
        for cls in nl.CLASSES:
            full[cls] = {"drops": 0, "marks": 0, "qlen": 0, "backlog": 0} | want.pop(cls, {})
        assert not want, want
        got = {}

        def reached():
            got.update(self.rtnl.stats())
            return all(got[k] == v if k == "blocks" else v.items() <= got[k].items()
                       for k, v in full.items())

        wait_until(reached, lambda: f"counters {full}; they are {got}")

    def counts(self, control=0, contrib=0, other=0, blocks=None):
        """Exact packets of each class, nothing waiting, nothing dropped."""
        self.expect(control={"packets": control}, contrib={"packets": contrib},
                    other={"packets": other},
                    blocks=control + contrib if blocks is None else blocks)

    # floods

    def flood(self, sends, pause=0, **kw):
        """
        A process that calls sendto for each (datagram, port) over and over, as fast as the socket
        lets it, or with @pause seconds at least between two rounds.
        """
        pid = os.fork()
        if pid:
            self.children.append(pid)
            return
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            s = udp_socket(**kw)
            while True:
                for data, port in sends:
                    try:
                        s.sendto(data, (DST, port))
                    except OSError:     # no route while the link is down, no buffers
                        time.sleep(0.001)
                if pause:
                    time.sleep(pause)
        finally:
            os._exit(1)

    def stop_floods(self):
        for pid in self.children:
            os.kill(pid, signal.SIGTERM)
            os.waitpid(pid, 0)
        self.children = []


class Capture:
    """
    What leaves the device, seen at the other end: (letter of the class, bytes as the qdisc counts
    them), or with groups(): (group of a contribution or None, bytes).
    """

    def __init__(self):
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.sock.setsockopt(socket.SOL_SOCKET, 33, 1 << 25)    # SO_RCVBUFFORCE
        self.sock.bind((PEER, 3))
        self.sock.settimeout(60)
        self.skip_older()

    def skip_older(self):
        """What has left the device before may still be on its way."""
        marker = pk.frame(os.urandom(64), LOCAL_ETHERTYPE, mac(PEER), mac(DEV))
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as s:
            s.bind((DEV, 0))
            s.setsockopt(263, 20, 1)                            # PACKET_QDISC_BYPASS
            s.send(marker)
        while self.sock.recv(1 << 17) != marker:
            pass

    def packets(self, count):
        """[(type or 0, group, bytes)]"""
        out = []
        while len(out) < count:
            data = self.sock.recv(1 << 17)
            port = int.from_bytes(data[36:38], "big")
            kind = data[42] & 15 if port == pk.INC_PORT else 0
            segments = -(-(len(data) - HEADERS) // SEGMENT) if len(data) > 1514 else 1
            out.append((kind, int.from_bytes(data[46:50], "big"),
                        len(data) + (segments - 1) * HEADERS))
        return out

    def ecn(self, count):
        """{(letter of the class, ECN bits): packets}"""
        out = {}
        for _ in range(count):
            data = self.sock.recv(1 << 17)
            inc = int.from_bytes(data[36:38], "big") == pk.INC_PORT
            key = ("O" if not inc else "C" if data[42] & 15 == 1 else "R", data[15] & 3)
            out[key] = out.get(key, 0) + 1
        return out

    def take(self, count):
        return [("O" if not kind else "C" if kind == 1 else "R", size)
                for kind, _, size in self.packets(count)]

    def groups(self, count):
        return [(group if kind == 1 else None, size) for kind, group, size in self.packets(count)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()


@contextlib.contextmanager
def default_qdisc(name):
    """
    What the system puts below devices; sch_inc takes it for what is not INC if it is fq_codel. Of
    the first netns.
    """
    path, first = "/proc/sys/net/core/default_qdisc", ["nsenter", "--net=/proc/1/ns/net"]
    before = subprocess.run([*first, "cat", path], stdout=subprocess.PIPE, text=True,
                            check=True).stdout
    subprocess.run([*first, "tee", path], input=name, stdout=subprocess.DEVNULL, text=True,
                   check=True)
    try:
        yield
    finally:
        subprocess.run([*first, "tee", path], input=before, stdout=subprocess.DEVNULL, text=True,
                       check=True)


@contextlib.contextmanager
def mtu(size):
    for dev in (DEV, PEER):
        run(f"ip link set {dev} mtu {size}")
    yield
    for dev in (DEV, PEER):
        run(f"ip link set {dev} mtu 1500")


def neighbours():
    run(f"ip neigh replace {DST} lladdr {mac_text(PEER)} nud permanent dev {DEV}")


def fill(lab, control, contrib, other, size=1472):
    for kind, count in (("result", control), ("contrib", contrib)):
        for _ in range(count):
            lab.inc(kind, size)
    for _ in range(other):
        lab.other(size)


def waiting(packets, sent=0, drops=0):
    return {"packets": sent, "qlen": packets, "backlog": packets * (HEADERS + 1472), "drops": drops}


def parent_agrees(lab, keys=("packets", "bytes", "drops", "qlen", "backlog")):
    """
    The token bucket above counts as waiting what waits below, and the kernel's sums are those of
    the classes.
    """
    stats, child, parent = lab.rtnl.stats(), lab.rtnl.queue(0x20000), lab.rtnl.queue(0x10000)
    for key in keys:
        equal(child[key], sum(stats[c][key] for c in nl.CLASSES),
              f"the kernel's {key} and the sum of the classes")
    for key in ("qlen", "backlog"):
        equal(parent[key], child[key], f"{key} of the parent")
