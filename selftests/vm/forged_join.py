# SPDX-License-Identifier: GPL-2.0-only
"""JOINs that squat a rank, are replayed, wrong, or come as a flood; started by 32-forged.sh."""
import struct
import time

import inc_abi as abi
import inc_wire as w
from forged_lab import RNG, Lab
from inc_abi import NODE4, Job, Rank, equal, test, wait_until

AGEING = {}
READY_BLOCK = 40                    # offsetof(struct inc_ready, block)


def join(lab, ns, group, rank, size, nonce, src=None, incarnation=0, sport=w.PORT, **body):
    data = w.join_body(group, rank, size, nonce, **body)
    lab.send(ns, w.Packet(w.JOIN, group=group, incarnation=incarnation, child=rank, body=data),
             src=src, sport=sport)


def challenge(lab, ns, group, rank, size, nonce, **body):
    """The challenge that a JOIN brings."""
    lab.taps[ns].frames()                                       # older ones may be void by now
    join(lab, ns, group, rank, size, nonce, **body)
    p = lab.taps[ns].wait_packet(w.CHALLENGE, group=group)
    answered, _, value = struct.unpack_from("!IIQ", p.body)
    equal(answered, nonce, "nonce in the CHALLENGE")
    return value


def challenged(lab, ns, group, rank, size, nonce, sport=w.PORT, **body):
    """A JOIN with the challenge that its first form brought."""
    value = challenge(lab, ns, group, rank, size, nonce, sport=sport)
    join(lab, ns, group, rank, size, nonce, sport=sport, challenge=value, **body)
    return value


def limits(*what):
    """Of groups that are made from now on."""
    abi.tool("inc", "-n", "sw", "node", "set", "dev", "br0", *what)


def refused(lab, ns, group, code, detail=None):
    p = lab.taps[ns].wait_packet(w.REFUSE, group=group)
    got = struct.unpack_from("!IHHQ", p.body)
    equal(got[1], code, f"code of the REFUSE (detail {got[3]})")
    if detail is not None:
        equal(got[3], detail, "detail of the REFUSE")


def begin_ageing(lab):
    """A challenge for the test that waits until it is too old; the others run meanwhile."""
    if not AGEING:
        group = lab.group ^ 0x501
        AGEING.update(since=time.monotonic(), group=group,
                      value=challenge(lab, "h4", group, 0, 2, 99))


@test("join: a rank of a group that has formed is not to be had")
def t_squat_formed(lab):
    begin_ageing(lab)
    challenged(lab, "h4", lab.group, 0, 3, 4711)
    refused(lab, "h4", lab.group, w.BUSY, 0)
    challenged(lab, "h4", lab.group, 3, 3, 4711)
    refused(lab, "h4", lab.group, w.SIZE, 3)
    challenged(lab, "h4", lab.group, 0, 4, 4711)
    refused(lab, "h4", lab.group, w.SIZE, 3)
    lab.audit()
    lab.work()


@test("join: nobody else moves a member to another port")
def t_rebind(lab):
    """Who knows all that the rank has said, and its address, but does not get what that is sent."""
    group, tap, before = lab.group ^ 0x480, lab.taps["h1"], abi.counters("sw")["rebinds"]
    tap.frames()
    other = Job(group, ("h1", "h2"))
    other.run(700)
    said = [p for f in tap.frames() if f.outgoing for p in f.units() if p.group == group]
    nonce = next(struct.unpack_from("!I", p.body, 4)[0] for p in said if p.kind == w.JOIN)
    member = next(p for p in said if p.kind == w.CONTRIB)
    for guess in 0, 1, RNG.randrange(1 << 64):
        body = w.join_body(group, 0, 2, nonce, challenge=guess, flags=w.JOIN_REBIND)
        lab.send("h4", member.but(kind=w.JOIN, len=None, sig=0, flags=0, psn=0, body=body),
                 src=lab.ip["h1"])
        # it goes to the rank, which has asked for none
        tap.wait_packet(w.CHALLENGE, group=group)
        lab.owe("h1", duplicate=1)
        lab.owe("sw", challenge=int(guess > 0))
    lab.audit("h1", "sw")
    equal(abi.counters("sw")["rebinds"], before, "members at other ports")
    other.run(700)
    other.close()
    lab.left("h1", "h2")
    lab.settle()
    lab.audit()
    lab.work()


@test("join: replayed ones")
def t_replayed_join(lab):
    lab.taps["h1"].frames()
    other = Job(lab.group ^ 0x400, ("h1", "h2"))
    joins = [p
             for p in lab.taps["h1"].packets(w.JOIN, outgoing=True)
             if struct.unpack_from("!Q", p.body, 56)[0]]
    old = joins[-1]
    lab.send("h4", old, src=lab.ip["h1"])                       # the challenge was for another port
    lab.send("h4", old)                                         # and for another address
    lab.owe("sw", challenge=2)
    lab.audit("sw")
    # the CHALLENGE that the first one brought
    lab.owe("h1", duplicate=1)
    # its own: void since the group has formed
    lab.send("h1", old)
    lab.owe("sw", challenge=1)
    lab.owe("h1", duplicate=1)                                  # the CHALLENGE for it
    lab.audit()
    other.run(700)
    other.close()
    lab.left("h1", "h2")
    lab.settle()
    lab.work()


def form_and_go(lab, group):
    other = Job(group, ("h1", "h2"))
    other.run(700)
    other.close()
    lab.left("h1", "h2")
    wait_until(lambda: group not in abi.groups("sw"), "the group has gone")


def void(lab, group, old):
    """A JOIN with this challenge brings another one, and no member."""
    fresh = challenge(lab, "h4", group, 0, 2, 99, challenge=old)
    if fresh == old:
        raise AssertionError(f"the same challenge again: {old:#x}")
    lab.owe("sw", challenge=1)
    equal(abi.groups("sw"), [lab.group], "groups at the node")


@test("join: a challenge is void when the group has formed and gone since")
def t_void_challenge(lab):
    lab.alone()
    group = lab.group ^ 0x500
    old = challenge(lab, "h4", group, 0, 2, 99)
    form_and_go(lab, group)
    void(lab, group, old)
    lab.settle()
    lab.audit()
    lab.work()


@test("join: a challenge stays good while other groups form and go")
def t_others_challenge(lab):
    lab.alone()
    limits("dead", "300")
    # one of 256 numbers may be another group's too
    for n in range(3):
        group = lab.group ^ 0x600 + n
        good = challenge(lab, "h4", group, 0, 2, 99)
        form_and_go(lab, lab.group ^ 0x680 + n)
        lab.taps["h4"].frames()
        join(lab, "h4", group, 0, 2, 99, challenge=good)
        wait_until(lambda group=group: group in abi.groups("sw")
                   or lab.taps["h4"].packets(w.CHALLENGE),
                   "an answer, or a group")
        if group in abi.groups("sw"):
            break
        lab.owe("sw", challenge=1)
    else:
        raise AssertionError("another CHALLENGE each time")
    limits("dead", "2000")
    lab.alone()
    lab.settle()
    lab.audit()
    lab.work()


@test("join: wrong challenges, proofs and sizes of blocks")
def t_bad_join(lab):
    lab.taps["h4"].frames()
    group = lab.group ^ 0x100
    elsewhere = w.join_body(group, 0, 2, 99, challenge=challenge(lab, "h4", group, 0, 2, 99))
    # it came to another port
    lab.send("h4", w.Packet(w.JOIN, group=group, child=0, body=elsewhere), sport=50000)
    lab.owe("sw", challenge=1)
    lab.audit("sw")
    for wrong in (1, RNG.randrange(1, 1 << 64), (1 << 64) - 1):
        join(lab, "h4", group, 0, 2, 99, challenge=wrong)
    lab.owe("sw", challenge=3)
    good = challenged(lab, "h4", group, 0, 2, 99, proof=(1, 2))
    refused(lab, "h4", group, w.KEY)
    join(lab, "h4", group, 0, 2, 99, challenge=good, key=b"\1" * 16)
    refused(lab, "h4", group, w.KEY)
    lab.owe("sw", proof=2)
    join(lab, "h4", group, 0, 2, 98, challenge=good)            # another nonce
    lab.owe("sw", challenge=1)
    lab.taps["h4"].wait_packet(w.CHALLENGE, group=group)
    for rank, size in ((0, 0), (2, 2), (0, 4097)):
        challenged(lab, "h4", group, rank, size, 99)
        refused(lab, "h4", group, w.SIZE)
    for block in (0, 48, 65, 100, 16400, 65535):
        challenged(lab, "h4", group, 0, 2, 99, block=block)
        refused(lab, "h4", group, w.BLOCK, 64)
    equal(abi.groups("sw"), [lab.group], "groups at the node")
    limits("dead", "1000")
    # makes the group; its repetition is answered
    challenged(lab, "h4", lab.group ^ 0x200, 0, 2, 99)
    wait_until(lambda: lab.group ^ 0x200 in abi.groups("sw"), "the group is there")
    for block in (0, 48, 65, 100, 16400, 65535):
        challenged(lab, "h4", lab.group ^ 0x200, 0, 2, 99, block=block)
        refused(lab, "h4", lab.group ^ 0x200, w.BLOCK)
    limits("dead", "2000")
    lab.alone()
    lab.audit()
    lab.work()


@test("join: who asks to go on without others in a group of no lineage learns of no group")
def t_shrink_of_none(lab):
    for group in lab.group, lab.group ^ 0x490:
        challenged(lab, "h4", group, 0, 3, 99, flags=w.JOIN_SHRINK)
        refused(lab, "h4", group, w.SIZE, 0)
    equal(abi.groups("sw"), [lab.group], "groups at the node")
    lab.audit()
    lab.work()


def stripe_is_there(lab, group, index):
    """
    Asks for it as ranks do, again and again: h4 may have all the groups that it may for now. And
    for those before it, which are gone if nobody does.
    """
    for i in range(index + 1):
        challenged(lab, "h4", group, 0, 2, 99, policy=w.stripe(i, 2))
    return abi.groups("sw").count(group) == index + 1


@test("join: another number of stripes, and stripes that there are not")
def t_stripes(lab):
    lab.taps["h4"].frames()
    group = lab.group ^ 0x300
    none = [(index, count) for count in range(1, 8) for index in range(count, 8)]
    for index, count in none:
        join(lab, "h4", group, 0, 2, 99, policy=w.stripe(index, count))
    lab.owe("sw", malformed=len(none))
    equal(abi.groups("sw"), [lab.group], "groups at the node")
    # nobody keeps them alive, and they are to be there until the last question
    limits("dead", "8000")
    # two stripes of one number are two groups; who has joined with another nonce is refused there
    for index in range(2):
        wait_until(lambda index=index: stripe_is_there(lab, group, index),
                   f"stripe {index} is there")
        challenged(lab, "h4", group, 0, 2, 99, policy=w.stripe(index, 2))
        lab.taps["h4"].wait_packet(w.WAIT, group=group)
    for index, count in ((0, 1), (0, 3), (1, 3), (1, 8)):
        for rank in range(2):
            challenged(lab, "h4", group, rank, 2, 97 + rank, policy=w.stripe(index, count))
            refused(lab, "h4", group, w.STRIPES, 2)
    equal(sorted(abi.groups("sw")), sorted([lab.group, group, group]), "groups at the node")
    limits("dead", "2000")
    lab.alone()
    lab.audit()
    lab.work()


@test("join: what a rank says that it lacks, or asks for, and nonsense")
def t_kinds(lab):
    group = lab.group ^ 0x600
    limits("dead", "1000")
    lab.taps["h4"].frames()
    # it says that there is more behind it, and there is less
    for words in ((), (1,), (1, 2, 3)):
        join(lab, "h4", group, 0, 1, 99, flags=w.JOIN_KINDS, kinds=words)
    lab.owe("sw", malformed=3)
    equal(abi.groups("sw"), [lab.group], "groups at the node")
    # only nodes lack anything, and what nobody knows nobody lacks
    every = 0xffffffff
    challenged(lab, "h4", group, 0, 1, 99, kinds=(every, every, every, every))
    wait_until(lambda: group in abi.groups("sw"), "the group is there")
    challenged(lab, "h4", group, 0, 1, 99, kinds=(every, every, every, every))
    ready = lab.taps["h4"].wait_packet(w.READY, group=group)
    equal(len(ready.body), 168, "bytes of the READY")
    limits("dead", "2000")
    lab.alone()
    lab.settle()
    lab.audit()
    lab.work()


@test("join: no block is larger than the JOIN said that memory was reserved for")
def t_block_grows(lab):
    group = lab.group ^ 0x800
    limits("dead", "1000")
    # makes the group; its repetition is answered
    challenged(lab, "h4", group, 0, 1, 99, block=64)
    wait_until(lambda: group in abi.groups("sw"), "the group is there")
    lab.taps["h4"].frames()
    challenged(lab, "h4", group, 0, 1, 99, block=16384)
    ready = lab.taps["h4"].wait_packet(w.READY, group=group)
    equal(struct.unpack_from("!H", ready.body, READY_BLOCK)[0], 64, "block in the READY")
    limits("dead", "2000")
    lab.alone()
    lab.settle()
    lab.audit()
    lab.work()


@test("join: a group that forms; its ranks are not squatted, its members not deceived")
def t_squat_forming(lab):
    lab.taps["h1"].frames()
    group = lab.group ^ 0x300
    first, second = Rank("h1"), Rank("h2")
    first.start(group, 0, 2)
    wait_until(lambda: first.info()["state"] == abi.WAITING, "rank 0 is WAITING")
    wait = lab.taps["h1"].wait_packet(w.WAIT, group=group)
    challenged(lab, "h4", group, 0, 2, 4711)
    refused(lab, "h4", group, w.RANK_TAKEN, 0)
    # with the incarnation that WAIT has told, but without challenge and proof
    lab.taps["h4"].frames()
    join(lab, "h4", group, 1, 2, 4711, incarnation=wait.incarnation)
    refused(lab, "h4", group, w.UNKNOWN)
    base = wait.but(kind=w.ABORT, cookie=0, body=bytes(16) + struct.pack("!H", 4) + bytes(78),
                    len=None)
    # a rank that gives up before READY does not know it
    lab.send("h4", base.but(incarnation=0), src=lab.ip["h1"])
    lab.owe("sw", no_group=1)                                   # nor is it known by another nonce
    said = struct.unpack_from("!I", wait.body)[0]
    lab.send("h4", base.but(incarnation=0, body=struct.pack("!QII", 1, 0, said) + base.body[16:]),
             src=lab.ip["h1"])
    lab.owe("sw", no_group=1)                                   # nor by its nonce in another job
    lab.send("h4", base, src=lab.ip["h1"])
    lab.owe("sw", port=1)
    lab.send("h1", base.but(kind=w.PROBE, body=bytes(8)))       # nothing to be asked yet
    lab.owe("sw", state=1)
    lab.audit("sw")
    nonce = said ^ 1
    ready = w.ready_body(nonce)
    down = wait.but(len=None, cookie=5, epoch=1)
    for kind, body in ((w.READY, ready), (w.REFUSE, struct.pack("!IHHQ", nonce, w.KEY, 0, 0)),
                       (w.CHALLENGE, struct.pack("!IIQ", nonce, 0, 5)),
                       (w.WAIT, struct.pack("!IIII", nonce, 1, 1, 0)),
                       (w.ERROR, bytes(96)), (w.STATUS, bytes(16))):
        lab.send("h4", down.but(kind=kind, body=body), to="h1", src=NODE4)
    lab.owe("h1", no_group=6)       # whose nonce, or whose run, that is nobody here knows
    # with the nonce that all on the link have seen, and nonsense
    lab.send("h4", down.but(kind=w.READY, body=wait.body[:4] + bytes(164)), to="h1", src=NODE4)
    lab.owe("h1", malformed=1)
    lab.audit("h1")
    second.start(group, 1, 2)
    first.joined()
    second.joined()
    lab.repeated("challenge")
    first.close()
    second.close()
    lab.left("h1", "h2")
    lab.work()
    lab.audit()


def waits(lab, group, joined, missing):
    p = lab.taps["h4"].wait_packet(w.WAIT, group=group)
    equal(struct.unpack_from("!III", p.body)[1:], (joined, missing),
          "joined and missing in the WAIT")


def below(group):
    """The members that there are at the node: how many ranks are below them, None of a rank."""
    return {m["rank"]: m.get("ranks")
            for m in abi.show("sw", "member") if m["group"] == group and "addr" in m}


@test("join: nodes, and the ranks that they say are below them")
def t_node_join(lab):
    lab.alone()
    limits("dead", "3000")
    group, node = lab.group ^ 0x700, {"below": 2 | w.STALE, "window": 64}
    # makes the group; its repetition is answered
    challenged(lab, "h4", group, 1, 4, 99, ranks=(1, 3), **node)
    wait_until(lambda: group in abi.groups("sw"), "the group is there")
    for wrong, code, detail in (
            ({"below": w.MAX_HEIGHT}, w.TREE, w.MAX_HEIGHT - 1),
                                ({"below": 15}, w.TREE, w.MAX_HEIGHT - 1),
            ({"ranks": ()}, w.SIZE, 1), ({"ranks": (3,)}, w.SIZE, None),
                                ({"ranks": (0, 1)}, w.SIZE, None),
            ({"window": 0}, w.SIZE, 0), ({"window": 48}, w.SIZE, 48),
                                ({"window": 8192}, w.SIZE, 8192)):
        challenged(lab, "h4", group, 1, 4, 99, **{**node, "ranks": (1, 3), **wrong})
        refused(lab, "h4", group, code, detail)
    challenged(lab, "h4", group, 1, 4, 99, ranks=(1, 3), **node)
    waits(lab, group, 2, 0)
    equal(below(group), {1: 2}, "ranks below members")
    challenged(lab, "h4", group, 3, 4, 98)                      # a rank that is below another child
    refused(lab, "h4", group, w.RANK_TAKEN, 3)
    # another node, behind the same address
    challenged(lab, "h4", group, 0, 4, 98, ranks=(0, 2, 3), sport=4000, **node)
    refused(lab, "h4", group, w.RANK_TAKEN, 3)
    # the same one, which has begun anew, and what it had said before
    challenged(lab, "h4", group, 1, 4, 97, ranks=(1, 3), **node)
    waits(lab, group, 2, 0)
    challenged(lab, "h4", group, 1, 4, 99, ranks=(1, 3), **node)
    refused(lab, "h4", group, w.UNKNOWN, 1)
    challenged(lab, "h4", group, 2, 4, 98)
    waits(lab, group, 3, 0)
    # ranks have come and gone there: the child has another number, by which it is called
    challenged(lab, "h4", group, 0, 4, 97, ranks=(0, 3), **node)
    waits(lab, group, 3, 1)
    equal(below(group), {0: 2, 2: None}, "ranks below members")
    challenged(lab, "h4", lab.group, 0, 3, 4711, ranks=(0,), **node)    # the other group has formed
    refused(lab, "h4", lab.group, w.BUSY, 0)
    limits("dead", "2000", "late", "300", "late-policy", "partial")
    challenged(lab, "h4", group ^ 1, 0, 2, 99)
    wait_until(lambda: group ^ 1 in abi.groups("sw"), "the group is there")
    challenged(lab, "h4", group ^ 1, 0, 2, 99, ranks=(0,), **node)
    refused(lab, "h4", group ^ 1, w.TREE, 0)
    limits("late", "0", "late-policy", "wait")
    lab.alone()
    lab.settle()
    lab.audit()
    lab.work()


@test("join: a challenge is void after half a minute")
def t_old_challenge(lab):
    begin_ageing(lab)
    lab.alone()
    wait_until(lambda: time.monotonic() - AGEING["since"] > 33, "two steps of 16 s are over", 40)
    void(lab, AGEING["group"], AGEING["value"])
    lab.settle()
    lab.audit()
    lab.work()


@test("join: the limit of groups, of one peer and of all")
def t_group_limit(lab):
    lab.alone()
    limits("max-groups", "8", "dead", "300")
    # a JOIN that nobody repeats makes a group, which goes again
    for n in range(1, 3):
        challenged(lab, "h4", lab.group + n & 0xffffffff, 0, 2, 99)
        wait_until(lambda n=n: len(abi.groups("sw")) == 1 + n, f"{1 + n} groups")
    challenged(lab, "h4", lab.group + 4 & 0xffffffff, 0, 2, 99)
    refused(lab, "h4", lab.group + 4 & 0xffffffff, w.LIMIT, 2)
    limits("max-groups", "1")
    lab.work()
    lab.alone()
    challenged(lab, "h4", lab.group + 5 & 0xffffffff, 0, 2, 99)
    refused(lab, "h4", lab.group + 5 & 0xffffffff, w.LIMIT, 1)
    lab.work()
    lab.alone()                                                 # groups that nobody joined are gone
    limits("max-groups", "64", "dead", "2000")
    lab.audit()


@test("join: a flood is answered as far as the limit goes, the rest counted")
def t_flood(lab):
    tap, sent = lab.taps["h4"], 3000
    tap.frames()
    shape = ("tc", "-n", "h4", "qdisc", "replace", "dev", "eth0", "root", "tbf", "limit",
             "100000000")
    backlog = "/proc/sys/net/core/netdev_max_backlog"
    with open(backlog, encoding="ascii") as f:
        before = f.read()
    with open(backlog, "w", encoding="ascii") as f:
        f.write("10000")                                        # Linux is not to drop any of them
    # answers are not to wait, and be lost, for ARP's, which would gather there, too
    neighbour = ("ip", "-n", "sw", "neigh", "replace", lab.ip["h4"], "lladdr", tap.mac.hex(":"),
                 "dev", "br0", "nud")
    abi.tool(*neighbour, "permanent")
    abi.tool(*shape, "rate", "80bit", "burst", "1600")          # they gather here
    for n in range(sent):
        p = w.Packet(w.JOIN, group=lab.group ^ 0x1000 + n, body=bytes(w.MIN_BODY[w.JOIN])).pack()
        tap.send(w.ether(tap.mac, lab.node_mac,
                         w.ip(lab.ip["h4"], NODE4, w.udp(lab.ip["h4"], NODE4, p))))
    lab.k += 1
    handles = lab.job.begin((0, 1), 700, lab.k)
    begin, answered = time.monotonic(), 0
    abi.tool(*shape, "rate", "10gbit", "burst", "1000000")      # and leave all at once,
    # when one that means nothing makes tbf look again
    tap.send(lab.node_mac + tap.mac + b"\x88\xb5" + bytes(46))

    def answers():
        nonlocal answered
        answered += len(tap.packets(w.CHALLENGE, outgoing=False))
        return answered + abi.drops("sw").get("drop_limit", 0) >= sent

    wait_until(answers,
               lambda: f"all JOINs were answered ({answered}) or counted ({abi.drops('sw')})", 120)
    took = time.monotonic() - begin
    abi.tool("tc", "-n", "h4", "qdisc", "del", "dev", "eth0", "root")
    abi.tool(*neighbour, "reachable")
    with open(backlog, "w", encoding="ascii") as f:
        f.write(before)
    handles.update(lab.job.begin((2,), 700, lab.k))
    lab.job.end(handles, 700, lab.k)
    lab.settle()
    limited = abi.drops("sw").get("drop_limit", 0)
    equal(answered + limited, sent, "JOINs answered and JOINs counted under drop_limit")
    allowed = 1024 * (int(took * 10) + 2)
    if answered > allowed:
        raise AssertionError(f"{answered} answers in {took:.3f} s, expected {allowed} at most")
    print(f"{sent} JOINs in {took:.3f} s: {answered} answered, {limited} dropped")
    lab.owe("sw", limit=limited)
    equal(abi.groups("sw"), [lab.group], "groups at the node")
    lab.audit()
    lab.work()


abi.main(Lab())
