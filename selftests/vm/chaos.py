# SPDX-License-Identifier: GPL-2.0-only
"""
Jobs of random collectives, to which things happen at random; started by 33-chaos.sh. Whatever it
was, no rank gets a wrong element, and all programs end soon after it is over; of what does no harm,
none fails. A round is chosen by a seed of its own, which is printed: ROUND=SEED repeats it alone.
"""
import collections
import json
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


# What members of a group may be told when something has done harm to them, and nothing else.
HARM = re.compile("does not answer within the dead limit|"
                  "was killed or closed its socket in mid-operation|"
                  "the node was removed by its administrator|"
                  "exchanges short packets with the node, but no blocks|"
                  "an operation before this one failed|has left the group")
# What a command says when something is away that it is about.
AWAY = re.compile("Cannot find device|does not exist|[Nn]o such|is no node|is away")


class Failed(Exception):
    """A mishap could not be brought about."""


def batch(tool, ns, *lines):
    """For what mends: it may be there again, or never have been away."""
    subprocess.run([tool, "-n", ns, "-force", "-batch", "-"], input="\n".join(lines) + "\n",
                   text=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def ip(ns, *lines):
    batch("ip", ns, *lines)


def tc(ns, *lines):
    batch("tc", ns, *lines)


def inc(*args):
    subprocess.run(["inc", "-n", "sw", *args], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=False)


def do(*command):
    """For mishaps: they must come about. Returns what the command prints."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode:
        raise Failed(f"{' '.join(command)}: status {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def do_ip(ns, line):
    do("ip", "-n", ns, *line.split())


def link(ns, dev):
    """None if there is none"""
    shown = subprocess.run(["ip", "-n", ns, "-d", "-j", "link", "show", "dev", dev],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
    return json.loads(shown)[0] if shown.strip() else None


def is_up(ns, dev):
    return "UP" in link(ns, dev)["flags"]


def effect(seen, what):
    if not seen:
        raise AssertionError(f"no effect: {what}")


def comes(condition, what):
    """What needs its time, and does not come if another mishap is in its way."""
    end = time.monotonic() + 5
    while not condition():
        if time.monotonic() > end:
            raise Failed(f"{what} is away")
        time.sleep(0.02)


def mishap(harmless=False):
    """A function that makes it happen to a round, and returns what undoes it, or None."""
    def add(function):
        MISHAPS.append((function, harmless))
        return function
    return add


# Links

def ports(nr):
    for port, dev, net, bridge in ((f"p{nr}", "eth0", 7, "br0"), (f"q{nr}", "eth1", 8, "br1")):
        yield (f"link add {port} type veth peer name {dev} "
               f"address 02:00:00:00:{net:02x}:{nr:02x} netns h{nr}")
        yield f"link set {port} mtu 1500 master {bridge} up"


def interfaces(nr):
    for dev, net in (("eth0", 7), ("eth1", 8)):
        yield f"addr replace 10.{net}.0.{nr}/24 dev {dev}"
        yield f"link set {dev} mtu 1500 up"
    yield f"addr replace fd00:7::{nr}/64 dev eth0 nodad"


def bridges():
    for name, net in (("br0", 7), ("br1", 8)):
        yield f"link add {name} address 02:00:00:00:{net:02x}:fe type bridge"
        yield (f"link set {name} type bridge vlan_filtering 0 ageing_time 30000 "
               f"mcast_snooping 1 nf_call_iptables 0")
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
    do_ip("sw", f"link set {port} down")
    effect(not is_up("sw", port), f"{port} is down")
    return lambda: ip("sw", f"link set {port} up")


@mishap()
def interface_down(r):
    nr = r.host()
    do_ip(f"h{nr}", "link set eth0 down")
    effect(not is_up(f"h{nr}", "eth0"), f"eth0 of h{nr} is down")
    return lambda: plug(nr)


@mishap()
def address_gone(r):
    nr = r.host()
    do_ip(f"h{nr}", "addr flush dev eth0")
    left = do("ip", "-n", f"h{nr}", "addr", "show", "dev", "eth0")
    effect("inet" not in left, f"h{nr} has no address: {left}")
    return lambda: plug(nr)


@mishap()
def cable_pulled(r):
    nr = r.host()
    do_ip("sw", f"link del p{nr}")
    effect(not link("sw", f"p{nr}"), f"p{nr} is gone")
    return lambda: plug(nr)


@mishap()
def port_leaves(r):
    port = f"p{r.host()}"
    do_ip("sw", f"link set {port} nomaster")
    effect("master" not in link("sw", port), f"{port} is in no bridge")
    return lambda: ip("sw", f"link set {port} master br0")


@mishap()
def mtu(r):
    nr, size = r.host(), r.rng.choice((576, 1280, 1400, 9000))
    where, dev = r.rng.choice((("sw", f"p{nr}"), (f"h{nr}", "eth0")))
    do_ip(where, f"link set {dev} mtu {size}")
    effect(link(where, dev)["mtu"] == size, f"{dev} in {where} has an MTU of {size}")
    return lambda: plug(nr)


# The node

BRIDGE_OPTIONS = ["vlan_filtering 1", "ageing_time 0", "mcast_snooping 0"]
if os.path.isdir("/proc/sys/net/bridge"):       # else there is nothing that it could switch on
    BRIDGE_OPTIONS.append("nf_call_iptables 1")


def nodes():
    return {n["dev"]: n for n in json.loads(do("inc", "-n", "sw", "-j", "node", "show"))}


@mishap()
def bridge_down(_):
    do_ip("sw", "link set br0 down")
    effect(not is_up("sw", "br0"), "br0 is down")
    return lambda: ip("sw", *bridges())


@mishap()
def bridge_deleted(r):
    do_ip("sw", "link del br0")
    effect(not link("sw", "br0"), "br0 is gone")
    return r.lab.heal


@mishap()
def node_deleted(r):
    dev = r.rng.choice(("br0", "br0", "br1"))
    do("inc", "-n", "sw", "node", "del", "dev", dev)
    effect(dev not in nodes(), f"{dev} is no node")
    return lambda: inc("node", "add", "dev", dev, *r.options)


@mishap()
def node_renewed(r):
    do("inc", "-n", "sw", "node", "del", "dev", "br0")
    do("inc", "-n", "sw", "node", "add", "dev", "br0", *r.options)
    effect("br0" in nodes(), "br0 is a node")


@mishap(harmless=True)
def node_set(r):
    window = r.rng.choice((4, 64, 512))
    do("inc", "-n", "sw", "node", "set", "dev", "br0", "window", str(window), "max-groups", "1")
    effect(nodes()["br0"]["window"] == window, f"the node has a window of {window}")
    return lambda: inc("node", "set", "dev", "br0", "window", "512", "max-groups", "1024")


@mishap(harmless=True)
def bridge_options(r):
    option = r.rng.choice(BRIDGE_OPTIONS)
    do_ip("sw", f"link set br0 type bridge {option}")
    name, value = option.split()
    effect(link("sw", "br0")["linkinfo"]["info_data"][name] == int(value), f"br0 has {option}")
    return lambda: ip("sw", *bridges())


@mishap(harmless=True)
def forgotten(_):
    do_ip("sw", "link set br0 type bridge fdb_flush")
    do_ip("sw", "neigh flush all")
    for nr in range(1, HOSTS + 1):
        do_ip(f"h{nr}", "neigh flush all")


# Queues

def set_qdisc(ns, dev, what):
    do("tc", "-n", ns, "qdisc", "replace", "dev", dev, "root", *what.split())
    # Not as JSON, which plain tc does not know how to print the options of a qdisc inc as.
    shown = do("tc", "-n", ns, "qdisc", "show", "dev", dev, "root")
    effect(shown.startswith(f"qdisc {what.split()[0]} "), f"{dev} in {ns} has {what}: {shown}")


@mishap(harmless=True)
def netem(r):
    nr = r.host()
    ns, dev = r.rng.choice((("sw", f"p{nr}"), (f"h{nr}", "eth0")))
    how = r.rng.choice(("loss 5%", "duplicate 10%", "corrupt 2%", "delay 3ms 3ms",
                        "delay 2ms reorder 20% 50%", "rate 20mbit"))
    set_qdisc(ns, dev, f"netem limit 10000 {how}")
    return qdiscs


@mishap(harmless=True)
def other_qdisc(r):
    nr = r.host()
    ns, dev = r.rng.choice((("sw", f"p{nr}"), (f"h{nr}", "eth0")))
    kind = r.rng.choice(("inc", "fq_codel", "pfifo limit 3",
                         "tbf rate 30mbit burst 5000 limit 9000"))
    set_qdisc(ns, dev, kind)
    return qdiscs


OFFLOADS = {"tso": "tcp-segmentation-offload", "gso": "generic-segmentation-offload",
            "gro": "generic-receive-offload", "tx": "tx-checksumming", "rx": "rx-checksumming",
            "tx-udp-segmentation": "tx-udp-segmentation", "sg": "scatter-gather"}


@mishap(harmless=True)
def offloads(r):
    nr, onoff = r.host(), r.rng.choice(("on", "off"))
    for ns, dev in (("sw", f"p{nr}"), (f"h{nr}", "eth0")):
        which = r.rng.choice(tuple(OFFLOADS))
        ethtool = ("nsenter", f"--net=/run/netns/{ns}", "ethtool")
        try:
            do(*ethtool, "-K", dev, which, onoff)
        except Failed as e:
            if "Could not change any device features" not in str(e):
                raise
        now = re.search(rf"^{OFFLOADS[which]}: (.*)$", do(*ethtool, "-k", dev), re.M)[1]
        # "requested": what it depends on is off, it comes when that does
        effect(now.startswith(onoff) or "requested" in now,
               f"{which} {onoff} for {dev} in {ns}: {now}")


# Ranks and strangers

def drops():
    """Of all packets that are no use to anybody."""
    everywhere = ("sw", *(f"h{nr}" for nr in range(1, HOSTS + 1)))
    return sum(sum(abi.drops(ns).values()) for ns in everywhere)


@mishap()
def killed(r):
    rank = r.signal("KILL")
    r.killed.add(rank)
    effect(r.ranks[rank].wait(20) == -signal.SIGKILL, f"rank {rank} is killed")


@mishap(harmless=True)
def frozen(r):
    rank = r.signal("STOP")
    wait_until(lambda: r.state(rank) in "TZ", f"rank {rank} is stopped", 20)
    return lambda: r.ranks[rank].send_signal(signal.SIGCONT)


@mishap(harmless=True)
def interrupted(r):
    """By a signal that does not end it."""
    r.signal("WINCH")


@mishap(harmless=True)
def flood(r):
    before = drops()
    r.flood()
    try:
        comes(lambda: drops() > before + 10, "the flood's way")
    except Failed:
        r.dry()
        raise
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

    try:
        comes(lambda: r.group + 1 in abi.groups("sw"), "a place for another group")
    except Failed:
        end()
        raise
    return end


class Round:
    def __init__(self, lab, seed):
        self.lab, self.rng, self.flooding, self.log = lab, random.Random(seed), None, []
        self.killed, self.undo = set(), []
        self.harmless = self.rng.random() < 0.4
        self.ranks_n = self.rng.randrange(2, HOSTS + 2)
        self.fallback = self.rng.choice(("none", "standby", "edge"))
        self.options = ["dead", str(5000 if self.harmless else self.rng.choice((500, 1000))),
                        "fallback", self.fallback]
        if self.fallback != "none" and self.rng.random() < 0.7 or self.fallback == "standby":
            self.options += ["standby", NODE2]
        self.group = self.rng.randrange(1 << 31)
        self.seed = self.rng.randrange(1 << 31)
        self.parent = self.rng.choice((abi.NODE4, abi.NODE4, abi.NODE6))

    def host(self):
        return self.rng.randrange(1, HOSTS + 1)

    def program(self, rank, size, group, *args):
        return subprocess.Popen(
            ["nsenter", f"--net=/run/netns/h{rank % HOSTS + 1}", "inc-coll", "--group", str(group),
             "--rank", str(rank), "--size", str(size), "--parent", self.parent, "--timeout",
             "20000", "--quiet", "--seed", str(self.seed),
             "--max", "5000", "--flight", "8", *args],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def signal(self, name, rank=None):
        rank = self.rng.randrange(self.ranks_n) if rank is None else rank
        if self.ranks[rank].poll() is not None:
            raise Failed(f"rank {rank} is away")
        self.ranks[rank].send_signal(getattr(signal, f"SIG{name}"))
        return rank

    def state(self, rank):
        """Of its process: T is stopped, Z has ended."""
        with open(f"/proc/{self.ranks[rank].pid}/stat", encoding="ascii") as f:
            return f.read().rsplit(")", 1)[1].split()[0]

    def flood(self):
        if not self.flooding:
            program = os.path.join(os.path.dirname(__file__), "flood.py")
            self.flooding = subprocess.Popen(["python3", "-s", "-S", program, f"h{HOSTS}",
                                              str(self.group), "/dev/null"],
                                             stderr=subprocess.DEVNULL)

    def dry(self):
        if self.flooding:
            self.flooding.kill()
            self.flooding.wait()
            self.flooding = None

    def happen(self):
        """
        Some mishaps, one after the other or at once; each is over some time later, in any order.
        """
        for _ in range(self.rng.randrange(1, 6)):
            function = self.rng.choice([f
                                        for f, harmless in MISHAPS if harmless
                                        or not self.harmless])
            undo = self.bring_about(function)
            if undo:
                self.undo.append(undo)
            time.sleep(self.rng.choice((0, 0.05, 0.2, 0.7)))
            self.rng.shuffle(self.undo)
            while self.undo and self.rng.random() < 0.5:
                self.undo.pop()()

    def bring_about(self, function):
        """It must come about, unless one that is not over has taken away what it is about."""
        name = function.__name__
        try:
            undo = function(self)
        except Failed as e:
            ended = any(p.poll() is not None for p in self.ranks)
            if not AWAY.search(str(e)) or not (self.undo or ended):
                raise AssertionError(f"after {' '.join(self.log)}, {name}: {e}") from None
            self.log.append(f"({name})")
            return None
        self.log.append(name)
        self.lab.happened[name] += 1
        return undo

    def over(self):
        while self.undo:
            self.undo.pop()()

    def run(self):
        before = abi.counters("sw")["blocks"]
        self.ranks = [self.program(i, self.ranks_n, self.group, "--ops", "150")
                      for i in range(self.ranks_n)]
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
                raise AssertionError(
                    f"rank {i} does not end: {group}; those before it: {said}") from None
        for i, text in enumerate(said):
            if WRONG.search(text):
                raise AssertionError(f"rank {i} has a wrong result: {text}")
            other = [line for line in text.splitlines() if not HARM.search(line)]
            if other:
                raise AssertionError(f"rank {i} was told what no mishap explains: {other}")
            fine = (0, 1, -9) if i in self.killed else (0, 1)
            if self.ranks[i].returncode not in fine or (self.ranks[i].returncode == 1 and not text):
                raise AssertionError(f"rank {i} ended with {self.ranks[i].returncode}: {text}")
        failed = [text for p, text in zip(self.ranks, said) if p.returncode]
        if failed and self.harmless:
            raise AssertionError(f"failed, although nothing has done harm: {failed}")
        return failed

    def __str__(self):
        return (
            f"{self.ranks_n} ranks, {' '.join(self.options)}, {self.parent}: {' '.join(self.log)}")


class Lab:
    def __init__(self):
        self.happened = collections.Counter()

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
    count, end, seed = (collections.Counter(), time.monotonic() + SECONDS,
                        int(os.environ["SEED"]) * 1000)
    while time.monotonic() < end or not count[False]:
        count[lab.round(seed)] += 1
        seed += 1
    print(f"{count[False]} jobs ended well, {count[True]} were told an error; "
          f"{len(lab.happened)} of {len(MISHAPS)} kinds of mishaps: "
          f"{', '.join(f'{name} {n}' for name, n in sorted(lab.happened.items()))}", flush=True)
    effect(lab.happened, "any mishap at all")


abi.main(Lab())
