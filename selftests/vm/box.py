# SPDX-License-Identifier: GPL-2.0-only
"""
What a node that serves several devices and VRFs must refuse, and that it keeps VRFs apart; started
by 37-box.sh, which has made the network: "leaf:" h1 to h4 behind a routed port each; "hook:" h1
behind a bridge and h3 behind a routed port of a VRF; "vrf:" and "overlap:" h1, h3 in one VRF and
h2, h4 in another one, with the same addresses.
"""
import os
import random

import inc_abi as abi
import inc_wire as w
from inc_abi import NODE4, NODE6, Job, equal, test, wait_until
from nfqueue import chain, counted

RNG = random.Random(int(os.environ.get("SEED", "1")))
LEAF4, LEAF6 = "10.255.0.1", "fd00:255::1"


class Lab:
    def __init__(self):
        self.taps = {}

    def tap(self, ns):
        if ns not in self.taps:
            self.taps[ns] = w.Tap(ns), w.Tap("sw", f"p{ns[1]}").mac
        return self.taps[ns][0]

    def send(self, ns, packet, src, to, dmac=None):
        """From the port of @ns, to the device of the box that it leads to."""
        tap = self.tap(ns)
        frame = w.ip(src, to, w.udp(src, to, packet.pack()))
        tap.send(w.ether(tap.mac, dmac or self.taps[ns][1], frame))

    def quiet(self, *hosts):
        for ns in hosts:
            self.tap(ns).frames()

    def recover(self):
        pass


def new_group():
    return RNG.randrange(1, 1 << 32)


def dropped(name, before, n):
    """The node has counted exactly @n more drops, all of them by this reason."""
    def more():
        return {k: v - before.get(k, 0)
                for k, v in abi.drops("sw").items() if v != before.get(k, 0)}
    wait_until(lambda: more() == ({name: n} if n else {}), lambda: f"{name} {n}: {more()}")


def strangers(group):
    """What somebody sends who wants an answer."""
    yield w.Packet(w.JOIN, group=group, body=w.join_body(group, 0, 2, 99))
    yield w.Packet(w.JOIN, group=group,
                   body=w.join_body(group, 0, 2, 99, challenge=RNG.randrange(1, 1 << 64)))
    yield w.Packet(w.CONTRIB, group=group, flags=w.F_WANT | w.F_PAYLOAD, body=bytes(64))
    yield w.Packet(w.PROBE, group=group, body=bytes(64))


@test("leaf: who comes by a port that no route to him leads to is answered nowhere")
def t_reverse_path(lab):
    group, n, before = new_group(), 0, abi.drops("sw")
    lab.quiet("h1", "h2", "h4")
    for p in strangers(group):
        # h1's address, one behind h2's port, one that nobody has a route to
        for src in ("10.1.1.1", "10.1.2.77", "192.0.2.9"):
            lab.send("h4", p, src, LEAF4)
            n += 1
        for src in ("fd00:1:1::1", "fd00:1:2::77", "2001:db8::9"):
            lab.send("h4", p, src, LEAF6)
            n += 1
    dropped("drop_address", before, n)
    seen = [(ns, p.kind) for ns in ("h1", "h2", "h4")
            for p in lab.tap(ns).packets(outgoing=False) if p.group == group]
    equal(seen, [], "answers to anybody")
    lab.send("h4", next(strangers(group)), "10.1.4.1", LEAF4)
    lab.tap("h4").wait_packet(w.CHALLENGE, group=group)


@test("leaf: a member is bound to its routed port")
def t_routed_port(lab):
    lab.quiet("h1", "h2", "h3")
    job = Job(new_group(), ("h1", "h2"), parent=LEAF4)
    job.run(400, 1)
    own = [p for p in lab.tap("h1").packets(w.CONTRIB, outgoing=True) if p.group == job.group][-1]
    before = abi.drops("sw")
    for k in range(5):
        lab.send("h3", own.but(psn=own.psn + 1 + k, body=bytes(64), len=None), "10.1.1.1", LEAF4)
    dropped("drop_port", before, 5)
    job.run(400, 2)
    job.close()
    wait_until(lambda: not abi.groups("sw"), "no group is left")


@test("leaf: at most half of the groups are for those who come by one routed port")
def t_quota(lab):
    abi.tool("inc", "-n", "sw", "node", "set", "dev", "all", "max-groups", "4")
    ranks = []
    for k in range(4):
        rank = abi.Rank("h4")
        rank.start(new_group(), 0, 2, parent=LEAF4 if k % 2 else LEAF6)
        ranks.append(rank)
    wait_until(lambda: any(not r.poll(0, 0) == 0 for r in ranks), "somebody is refused")
    equal(len(abi.groups("sw")) <= 2, True, "groups of h4's port are at most two")
    job = Job(new_group(), ("h1", "h2"), parent=LEAF4)
    job.run(100, 1)
    job.close()
    for rank in ranks:
        rank.close()
    wait_until(lambda: not abi.groups("sw"), "no group is left")
    abi.tool("inc", "-n", "sw", "node", "set", "dev", "all", "max-groups", "64")


@test("leaf: IP's input chain stands in front of routed ports")
def t_chain(lab):
    group = new_group()
    join = next(strangers(group))
    lab.quiet("h4")
    before = abi.drops("sw")
    with chain("sw", "inet", 'iifname "p4" udp dport 5227 counter drop'):
        lab.send("h4", join, "10.1.4.1", LEAF4)
        lab.send("h4", join, "fd00:1:4::1", LEAF6)
        wait_until(lambda: counted("sw", "inet") == 2,
                   lambda: f"2 packets dropped: {counted('sw', 'inet')}")
    dropped("", before, 0)
    equal([p for p in lab.tap("h4").packets(outgoing=False) if p.group == group], [], "answers")
    lab.send("h4", join, "10.1.4.1", LEAF4)
    lab.tap("h4").wait_packet(w.CHALLENGE, group=group)


@test("hook: in a VRF that chain is passed with the VRF's device; a bridge's ports are in front of it there, too")
def t_chain_vrf(lab):
    group = new_group()
    join = next(strangers(group))
    lab.quiet("h1", "h3")
    mac = w.Tap("sw", "br0").mac
    with chain("sw", "inet", 'iifname "vrfa" udp dport 5227 counter drop'):
        lab.send("h3", join, "10.8.0.1", "10.8.0.254")
        lab.send("h3", join, "fd00:8::1", "fd00:8::fe")
        wait_until(lambda: counted("sw", "inet") == 2,
                   lambda: f"2 packets dropped: {counted('sw', 'inet')}")
        lab.send("h1", join, "10.7.0.1", NODE4, dmac=mac)
        lab.tap("h1").wait_packet(w.CHALLENGE, group=group)
        equal(counted("sw", "inet"), 2, "packets that IP's input chain has seen")
    equal([p for p in lab.tap("h3").packets(outgoing=False) if p.group == group], [],
          "answers to h3")


@test("vrf: two groups with one number and the same addresses, in two VRFs")
def t_overlap(lab):
    overlap(lab)


@test("overlap: the same with a node for each VRF")
def t_overlap_two(lab):
    overlap(lab)


def overlap(lab):
    for parent in (NODE4, NODE6):
        group = new_group()
        a = Job(group, ("h1", "h3"), parent=parent)
        b = Job(group, ("h2", "h4"), parent=parent)
        equal(abi.groups("sw"), [group, group], "groups at the node")
        for k in range(4):
            # of different lengths and values, at the same time
            ours, theirs = a.begin((0, 1), 500, k), b.begin((0, 1), 900, k + 50)
            b.end(theirs, 900, k + 50)
            a.end(ours, 500, k)
        a.close()
        b.run(900, 99)
        b.close()
        wait_until(lambda: not abi.groups("sw"), "no group is left")


@test("vrf: what comes by another VRF is refused and counted")
def t_wrong_vrf(lab):
    lab.quiet("h1", "h2", "h3")
    job = Job(new_group(), ("h1", "h3"), parent=NODE4)
    job.run(400, 1)
    own = [p for p in lab.tap("h1").packets(w.CONTRIB, outgoing=True) if p.group == job.group][-1]
    mac = w.Tap("sw", "brb").mac
    before = abi.drops("sw")
    # all is right, the address included, but for the VRF
    for k in range(5):
        lab.send("h2", own.but(psn=own.psn + 1 + k, body=bytes(64), len=None), "10.7.0.1", NODE4,
                 dmac=mac)
    dropped("drop_no_group", before, 5)
    p = lab.tap("h2").wait_packet(w.REFUSE, group=job.group)
    equal(p.cookie, own.cookie, "cookie of what is refused")
    # from the same VRF by another port it is known as a member's that came by the wrong one
    before = abi.drops("sw")
    lab.send("h3", own.but(psn=own.psn + 1, body=bytes(64), len=None), "10.7.0.1", NODE4, dmac=mac)
    dropped("drop_port", before, 1)
    job.run(400, 2)
    shown = [g for g in abi.show("sw", "group") if g["group"] == job.group]
    equal([g.get("vrf") for g in shown], ["vrfa"], "VRFs of the group")
    job.close()
    wait_until(lambda: not abi.groups("sw"), "no group is left")


abi.main(Lab())
