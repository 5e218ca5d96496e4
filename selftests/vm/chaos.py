# SPDX-License-Identifier: GPL-2.0-only
"""
Jobs of random collectives, to which things happen at random; started by 33-chaos.sh. Whatever it
was, no rank gets a wrong element, and all programs end soon after it is over; of what does no harm,
none fails. See chaos_round.py.
"""
import collections
import json
import os
import re
import subprocess

import inc_abi as abi
from inc_abi import wait_until
from chaos_round import (Failed, Round, chaos_test, comes, do, do_inc, do_ip, effect, inc, ip, is_up,
                         link, nodes, played, set_qdisc, tc)

HOSTS = 4
NODE2 = "10.8.0.254"
MISHAPS = []


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
    do_inc("sw", f"node del dev {dev}")
    effect(dev not in nodes("sw"), f"{dev} is no node")
    return lambda: inc("sw", "node", "add", "dev", dev, *r.options)


@mishap()
def node_renewed(r):
    do_inc("sw", "node del dev br0")
    do_inc("sw", f"node add dev br0 {' '.join(r.options)}")
    effect("br0" in nodes("sw"), "br0 is a node")


@mishap(harmless=True)
def node_set(r):
    window = r.rng.choice((4, 64, 512))
    do_inc("sw", f"node set dev br0 window {window} max-groups 1")
    effect(nodes("sw")["br0"]["window"] == window, f"the node has a window of {window}")
    return lambda: inc("sw", "node", "set", "dev", "br0", "window", "512", "max-groups", "1024")


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
    r.kill()


@mishap(harmless=True)
def frozen(r):
    return r.stop()


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

class Star(Round):
    """Hosts at a switch with two bridges"""
    HARM = re.compile("does not answer within the dead limit|"
                      "has ended the group: it was killed|"
                      "the node was removed by its administrator|"
                      "exchanges short packets with the node, but no blocks|"
                      "an operation before this one failed|has left the group")

    def __init__(self, lab, seed):
        super().__init__(lab.happened, seed)
        self.lab, self.flooding = lab, None
        self.may_fail = self.rng.random() >= 0.4
        self.ranks_n = self.rng.randrange(2, HOSTS + 2)
        self.fallback = self.rng.choice(("none", "standby", "edge"))
        self.options = ["dead", str(self.rng.choice((500, 1000)) if self.may_fail else 5000),
                        "fallback", self.fallback]
        if self.fallback != "none" and self.rng.random() < 0.7 or self.fallback == "standby":
            self.options += ["standby", NODE2]
        self.node = self.rng.choice((abi.NODE4, abi.NODE4, abi.NODE6))

    def mishaps(self):
        return [f for f, harmless in MISHAPS if harmless or self.may_fail]

    def namespace(self, rank):
        return f"h{rank % HOSTS + 1}"

    def parent(self, rank):
        return self.node

    def host(self):
        return self.rng.randrange(1, HOSTS + 1)

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

    def healed(self):
        self.lab.heal()

    def not_ended(self, rank, said):
        group = abi.show(self.namespace(rank), "group")
        return f"rank {rank} does not end: {group}; those before it: {said}"

    def __str__(self):
        return (f"{self.ranks_n} ranks, {' '.join(self.options)}, {self.node}: "
                f"{' '.join(self.log)}")


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
            inc("sw", "node", "add", "dev", dev)

    def nothing_left(self):
        return not any(abi.groups(ns) for ns in ("sw", *(f"h{nr}" for nr in range(1, HOSTS + 1))))

    def round(self, seed):
        r = Star(self, seed)

        def play():
            before = abi.counters("sw")["blocks"]
            failed = r.run(r.ranks_n, 150, lambda: abi.counters("sw")["blocks"] > before + 20)
            wait_until(self.nothing_left, "no group is left", 60)
            return failed

        self.heal()
        inc("sw", "node", "del", "dev", "br0")
        abi.tool("inc", "-n", "sw", "node", "add", "dev", "br0", *r.options)
        return played(r, seed, play)


chaos_test("whatever happens: right results or an error, and an end", len(MISHAPS))
abi.main(Lab())
