# SPDX-License-Identifier: GPL-2.0-only
"""
Jobs of random collectives, to which things happen at random; started by 33-chaos.sh. Whatever it was, no rank gets a
wrong element, and all programs end soon after it is over; of what does no harm, none fails. A round is chosen by a seed
of its own, which is printed: ROUND=SEED repeats it alone.
"""
import collections
import os
import random
import re
import signal
import subprocess
import time

import inc_abi as abi
from inc_abi import test, wait_until

HOSTS = 4
NODE2 = "10.8.0.254"
SECONDS = int(os.environ.get("CHAOS", "20"))
WRONG = re.compile(r"got [0-9a-f ]+, expected|was overwritten")
LIMIT = 60          # seconds after the last mishap: many times the dead limit
MISHAPS = []


def batch(tool, ns, *lines):
    """What cannot be done is not: an interface may be gone already, or be there again."""
    subprocess.run([tool, "-n", ns, "-force", "-batch", "-"], input="\n".join(lines) + "\n", text=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def ip(ns, *lines):
    batch("ip", ns, *lines)


def tc(ns, *lines):
    batch("tc", ns, *lines)


def inc(*args):
    subprocess.run(["inc", "-n", "sw", *args], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def mishap(harmless=False):
    """A function that makes it happen to a round, and returns what undoes it, or None."""
    def add(function):
        MISHAPS.append((function, harmless))
        return function
    return add


# Links

def ports(nr):
    for port, dev, net, bridge in ((f"p{nr}", "eth0", 7, "br0"), (f"q{nr}", "eth1", 8, "br1")):
        yield f"link add {port} type veth peer name {dev} address 02:00:00:00:{net:02x}:{nr:02x} netns h{nr}"
        yield f"link set {port} mtu 1500 master {bridge} up"


def interfaces(nr):
    for dev, net in (("eth0", 7), ("eth1", 8)):
        yield f"addr replace 10.{net}.0.{nr}/24 dev {dev}"
        yield f"link set {dev} mtu 1500 up"
    yield f"addr replace fd00:7::{nr}/64 dev eth0 nodad"


def bridges():
    for name, net in (("br0", 7), ("br1", 8)):
        yield f"link add {name} address 02:00:00:00:{net:02x}:fe type bridge"
        yield f"link set {name} type bridge vlan_filtering 0 ageing_time 30000 mcast_snooping 1 nf_call_iptables 0"
        yield f"addr replace 10.{net}.0.254/24 dev {name}"
        yield f"link set {name} up"
    yield "addr replace fd00:7::fe/64 dev br0 nodad"


def plug(nr):
    ip("sw", *ports(nr))
    ip(f"h{nr}", *interfaces(nr))


def qdiscs():
    tc("sw", *(f"qdisc del dev p{nr} root" for nr in range(1, HOSTS + 1)))
    for nr in range(1, HOSTS + 1):
        tc(f"h{nr}", "qdisc del dev eth0 root")


@mishap()
def port_down(r):
    port = r.rng.choice("pq") + str(r.host())
    ip("sw", f"link set {port} down")
    return lambda: ip("sw", f"link set {port} up")


@mishap()
def interface_down(r):
    nr = r.host()
    ip(f"h{nr}", "link set eth0 down")
    return lambda: plug(nr)


@mishap()
def address_gone(r):
    nr = r.host()
    ip(f"h{nr}", "addr flush dev eth0")
    return lambda: plug(nr)


@mishap()
def cable_pulled(r):
    nr = r.host()
    ip("sw", f"link del p{nr}")
    return lambda: plug(nr)


@mishap()
def port_leaves(r):
    port = f"p{r.host()}"
    ip("sw", f"link set {port} nomaster")
    return lambda: ip("sw", f"link set {port} master br0")


@mishap()
def mtu(r):
    nr, size = r.host(), r.rng.choice((576, 1280, 1400, 9000))
    where, dev = r.rng.choice((("sw", f"p{nr}"), (f"h{nr}", "eth0")))
    ip(where, f"link set {dev} mtu {size}")
    return lambda: plug(nr)


# The node

@mishap()
def bridge_down(_):
    ip("sw", "link set br0 down")
    return lambda: ip("sw", *bridges())


@mishap()
def bridge_deleted(r):
    ip("sw", "link del br0")
    return r.lab.heal


@mishap()
def node_deleted(r):
    dev = r.rng.choice(("br0", "br0", "br1"))
    inc("node", "del", "dev", dev)
    return lambda: inc("node", "add", "dev", dev, *r.options)


@mishap()
def node_renewed(r):
    inc("node", "del", "dev", "br0")
    inc("node", "add", "dev", "br0", *r.options)


@mishap(harmless=True)
def node_set(r):
    inc("node", "set", "dev", "br0", "window", str(r.rng.choice((4, 64, 512))), "max-groups", "1")
    return lambda: inc("node", "set", "dev", "br0", "window", "512", "max-groups", "1024")


@mishap(harmless=True)
def bridge_options(r):
    option = r.rng.choice(("vlan_filtering 1", "ageing_time 0", "mcast_snooping 0", "nf_call_iptables 1"))
    ip("sw", f"link set br0 type bridge {option}")
    return lambda: ip("sw", *bridges())


@mishap(harmless=True)
def forgotten(_):
    ip("sw", "link set br0 type bridge fdb_flush", "neigh flush all")
    for nr in range(1, HOSTS + 1):
        ip(f"h{nr}", "neigh flush all")


# Queues

@mishap(harmless=True)
def netem(r):
    nr = r.host()
    ns, dev = r.rng.choice((("sw", f"p{nr}"), (f"h{nr}", "eth0")))
    how = r.rng.choice(("loss 5%", "duplicate 10%", "corrupt 2%", "delay 3ms 3ms", "delay 2ms reorder 20% 50%",
                        "rate 20mbit"))
    tc(ns, f"qdisc replace dev {dev} root netem limit 10000 {how}")
    return qdiscs


@mishap(harmless=True)
def other_qdisc(r):
    nr = r.host()
    ns, dev = r.rng.choice((("sw", f"p{nr}"), (f"h{nr}", "eth0")))
    kind = r.rng.choice(("inc", "fq_codel", "pfifo limit 3", "tbf rate 30mbit burst 5000 limit 9000"))
    tc(ns, f"qdisc replace dev {dev} root {kind}")
    return qdiscs


@mishap(harmless=True)
def offloads(r):
    nr, onoff = r.host(), r.rng.choice(("on", "off"))
    for ns, dev in (("sw", f"p{nr}"), (f"h{nr}", "eth0")):
        which = r.rng.choice(("tso", "gso", "gro", "tx", "rx", "tx-udp-segmentation", "sg"))
        subprocess.run(["nsenter", f"--net=/run/netns/{ns}", "ethtool", "-K", dev, which, onoff],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


# Ranks and strangers

@mishap()
def killed(r):
    r.killed.add(r.signal("KILL"))


@mishap(harmless=True)
def frozen(r):
    rank = r.signal("STOP")
    return lambda: r.signal("CONT", rank)


@mishap(harmless=True)
def interrupted(r):
    """By a signal that does not end it."""
    r.signal("WINCH")


@mishap(harmless=True)
def flood(r):
    r.flood()
    return r.dry


@mishap(harmless=True)
def another_job(r):
    """Of two ranks on the same hosts, which is killed."""
    ranks = [r.program(rank, 2, r.group + 1, "--ops", "100000") for rank in range(2)]

    def end():
        for p in ranks:
            p.kill()
        for p in ranks:
            p.communicate()
    return end


class Round:
    def __init__(self, lab, seed):
        self.lab, self.rng, self.flooding, self.log = lab, random.Random(seed), None, []
        self.killed, self.undo = set(), []
        self.harmless = self.rng.random() < 0.4
        self.ranks_n = self.rng.randrange(2, HOSTS + 2)
        self.fallback = self.rng.choice(("none", "standby", "edge"))
        self.options = ["dead", str(5000 if self.harmless else self.rng.choice((500, 1000))), "fallback", self.fallback]
        if self.fallback != "none" and self.rng.random() < 0.7 or self.fallback == "standby":
            self.options += ["standby", NODE2]
        self.group = self.rng.randrange(1 << 31)
        self.seed = self.rng.randrange(1 << 31)
        self.parent = self.rng.choice((abi.NODE4, abi.NODE4, abi.NODE6))

    def host(self):
        return self.rng.randrange(1, HOSTS + 1)

    def program(self, rank, size, group, *args):
        return subprocess.Popen(
            ["nsenter", f"--net=/run/netns/h{rank % HOSTS + 1}", "inc-coll", "--group", str(group), "--rank", str(rank),
             "--size", str(size), "--parent", self.parent, "--timeout", "20000", "--quiet", "--seed", str(self.seed),
             "--max", "5000", "--flight", "8", *args],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def signal(self, name, rank=None):
        rank = self.rng.randrange(self.ranks_n) if rank is None else rank
        self.ranks[rank].send_signal(getattr(signal, f"SIG{name}"))
        return rank

    def flood(self):
        if not self.flooding:
            program = os.path.join(os.path.dirname(__file__), "flood.py")
            self.flooding = subprocess.Popen(["python3", "-s", "-S", program, f"h{HOSTS}", str(self.group), "/dev/null"],
                                             stderr=subprocess.DEVNULL)

    def dry(self):
        if self.flooding:
            self.flooding.kill()
            self.flooding.wait()
            self.flooding = None

    def happen(self):
        """Some mishaps, one after the other or at once; each is over some time later, in any order."""
        for _ in range(self.rng.randrange(1, 6)):
            function = self.rng.choice([f for f, harmless in MISHAPS if harmless or not self.harmless])
            self.log.append(function.__name__)
            undo = function(self)
            if undo:
                self.undo.append(undo)
            time.sleep(self.rng.choice((0, 0.05, 0.2, 0.7)))
            self.rng.shuffle(self.undo)
            while self.undo and self.rng.random() < 0.5:
                self.undo.pop()()

    def over(self):
        while self.undo:
            self.undo.pop()()

    def run(self):
        before = abi.counters("sw")["blocks"]
        self.ranks = [self.program(i, self.ranks_n, self.group, "--ops", "150") for i in range(self.ranks_n)]
        try:
            wait_until(lambda: abi.counters("sw")["blocks"] > before + 20, "the job has begun")
            self.happen()
            self.over()
            self.lab.heal()
            return self.ends()
        finally:
            self.over()
            for p in self.ranks:
                p.kill()
                p.communicate()

    def ends(self):
        said = []
        for i, p in enumerate(self.ranks):
            try:
                said.append(p.communicate(timeout=LIMIT)[0].strip())
            except subprocess.TimeoutExpired:
                group = abi.show(f"h{i % HOSTS + 1}", "group")
                raise AssertionError(f"rank {i} does not end: {group}; those before it: {said}") from None
        for i, text in enumerate(said):
            if WRONG.search(text):
                raise AssertionError(f"rank {i} has a wrong result: {text}")
            fine = (0, 1, -9) if i in self.killed else (0, 1)
            if self.ranks[i].returncode not in fine or (self.ranks[i].returncode == 1 and not text):
                raise AssertionError(f"rank {i} ended with {self.ranks[i].returncode}: {text}")
        failed = [text for p, text in zip(self.ranks, said) if p.returncode]
        if failed and self.harmless:
            raise AssertionError(f"failed, although nothing has done harm: {failed}")
        return failed

    def __str__(self):
        return f"{self.ranks_n} ranks, {' '.join(self.options)}, {self.parent}: {' '.join(self.log)}"


class Lab:
    def heal(self):
        """As it was, and a node on each bridge."""
        ip("sw", *bridges(), *(line for nr in range(1, HOSTS + 1) for line in ports(nr)))
        for nr in range(1, HOSTS + 1):
            ip(f"h{nr}", *interfaces(nr))
        qdiscs()
        for dev in ("br0", "br1"):
            inc("node", "add", "dev", dev)

    def nothing_left(self):
        return not any(abi.groups(ns) for ns in ("sw", *(f"h{nr}" for nr in range(1, HOSTS + 1))))

    def round(self, seed):
        r = Round(self, seed)
        self.heal()
        inc("node", "del", "dev", "br0")
        abi.tool("inc", "-n", "sw", "node", "add", "dev", "br0", *r.options)
        begin = time.monotonic()
        try:
            failed = r.run()
            wait_until(self.nothing_left, "no group is left", 60)
        except AssertionError as e:
            raise AssertionError(f"ROUND={seed}: {r}: {e}") from None
        print(f"{seed}: {r}: {time.monotonic() - begin:.1f} s, {failed[0] if failed else 'ended well'}", flush=True)
        return bool(failed)


@test("whatever happens: right results or an error, and an end")
def t_chaos(lab):
    if "ROUND" in os.environ:
        lab.round(int(os.environ["ROUND"]))
        return
    count, end, seed = collections.Counter(), time.monotonic() + SECONDS, int(os.environ["SEED"]) * 1000
    while time.monotonic() < end or not count[False]:
        count[lab.round(seed)] += 1
        seed += 1
    print(f"{count[False]} jobs ended well, {count[True]} were told an error", flush=True)


abi.main(Lab())
