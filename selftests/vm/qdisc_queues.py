# SPDX-License-Identifier: GPL-2.0-only
"""Limits of sch_inc, its parents and its child, and changes while packets wait."""

import os
import random
import socket
import struct
import subprocess
import time

import qdisc_packets as pk
import qdisc_rtnl as nl
from qdisc_lab import (DEV, DST, FROZEN, HEADERS, OPEN, OTHER_PORT, Capture, Skip, default_qdisc,
                       equal, fill, neighbours, parent_agrees, run, test, udp_socket, wait_until,
                       waiting)

SO_TXTIME = 61                          # and SCM_TXTIME


@test("limit: each class has its own, what is above is dropped and counted")
def t_limit(lab):
    lab.freeze(limit=5)
    fill(lab, 9, 12, 7)
    lab.expect(control=waiting(5, 0, 4), contrib=waiting(5, 0, 7), other=waiting(5, 1, 2),
               blocks=21)
    parent_agrees(lab)
    equal(lab.rtnl.queue(0x10000)["drops"], 13, "drops that the parent counts")
    lab.thaw()
    lab.expect(control=waiting(0, 5, 4), contrib=waiting(0, 5, 7), other=waiting(0, 6, 3),
               blocks=21)
    parent_agrees(lab)


@test("a limit lowered drops the youngest, and the parent knows")
def t_trim(lab):
    with Capture() as capture:
        lab.freeze(limit=100)
        for i in range(30):
            lab.inc("contrib", 1200 + 4 * i)
        fill(lab, 30, 0, 30)
        lab.change(limit=10)
        lab.expect(control=waiting(10, 0, 20), other=waiting(10, 1, 20), blocks=60,
                   contrib={"packets": 0, "qlen": 10, "drops": 20,
                            "backlog": sum(HEADERS + 1200 + 4 * i for i in range(10))})
        parent_agrees(lab)
        lab.change(limit=11)
        fill(lab, 1, 1, 1)
        lab.thaw()
        got = [size for what, size in capture.take(1 + 33) if what == "C"]
    equal(got, [HEADERS + 1200 + 4 * i for i in range(10)] + [HEADERS + 1472],
          "contributions that were kept")
    lab.expect(control=waiting(0, 11, 20), contrib={"packets": 11, "drops": 20},
               other=waiting(0, 12, 21), blocks=62)
    parent_agrees(lab)


@test("link down empties it, and it works on after link up")
def t_reset(lab):
    lab.freeze()
    fill(lab, 3, 3, 3)
    run(f"ip link set {DEV} down")
    lab.expect(control=waiting(0), contrib=waiting(0), other=waiting(0, 1), blocks=6)
    parent_agrees(lab)
    equal({g: (s["packets"], s["qlen"], s["backlog"]) for g, s in lab.rtnl.groups().items()},
          {7: (0, 0, 0)}, "packets sent and waiting, and bytes, by group")
    run(f"ip link set {DEV} up")
    neighbours()
    fill(lab, 1, 1, 1)
    lab.thaw()
    wait_until(lambda: lab.rtnl.stats()["other"]["qlen"] == 0, "all have left")
    stats = lab.rtnl.stats()
    equal([stats[c]["packets"] for c in nl.CLASSES], [1, 1, 3], "packets of the classes")


@test("delete and replace with packets waiting")
def t_delete(lab):
    lab.freeze()
    fill(lab, 4, 4, 4)
    equal(lab.rtnl.queue(0x10000)["qlen"], 12, "packets waiting in the parent")
    run(f"tc qdisc replace dev {DEV} parent 1:1 handle 3: pfifo limit 10")
    equal(lab.rtnl.queue(0x10000)["qlen"], 0, "packets waiting in the parent after replace")
    equal(lab.rtnl.queue(0x10000)["backlog"], 0, "bytes waiting in the parent after replace")
    lab.freeze()
    fill(lab, 4, 4, 4)
    run(f"tc qdisc del dev {DEV} parent 1:1")
    equal(lab.rtnl.queue(0x10000)["qlen"], 0, "packets waiting in the parent after del")
    lab.freeze()
    fill(lab, 4, 4, 4)
    lab.clear()


@test("as a child of prio, htb and netem")
def t_child(lab):
    for parent, setup in (("prio", ["tc qdisc add dev {} parent 1:2 handle 2: inc"]),
                          ("htb default 2",
                           ["tc class add dev {} parent 1: classid 1:2 htb rate 1gbit",
                            "tc qdisc add dev {} parent 1:2 handle 2: inc"]),
                          ("netem delay 1ms", ["tc qdisc add dev {} parent 1:1 handle 2: inc"])):
        lab.clear()
        run(f"tc qdisc add dev {DEV} root handle 1: {parent}")
        for command in setup:
            run(command.format(DEV))
        fill(lab, 20, 20, 20, 1000)
        lab.counts(control=20, contrib=20, other=20)
        parent_agrees(lab)


@test("what is not INC waits in a qdisc that has been put there: its order, its limit, its drops")
def t_grafted(lab):
    small = [HEADERS + 100 + i for i in range(3)]
    with Capture() as capture:
        lab.freeze()
        fill(lab, 1, 1, 3)
        run(f"tc qdisc add dev {DEV} parent 2:1 handle 3: fq_codel limit 100 target 10s interval 20s memory_limit 32m")
        equal(lab.rtnl.queue(0x30000)["qlen"], 3, "packets that came along")
        parent_agrees(lab)
        for i in range(5):
            lab.other(1000 + i)
        # other flows do not wait behind the first; one of them may share its queue by chance
        for size in small:
            with udp_socket() as s:
                s.sendto(bytes(size - HEADERS), (DST, OTHER_PORT))
        lab.expect(control=waiting(1), contrib=waiting(1), blocks=2, other={
            "packets": 1, "qlen": 8 + len(small),
            "backlog": 3 * (HEADERS + 1472) + sum(HEADERS + 1000 + i for i in range(5)) +
                       sum(small)})
        parent_agrees(lab)
        lab.thaw()
        sizes = [size for kind, size in capture.take(12 + len(small)) if kind == "O"]
    assert min(map(sizes.index, small)) <= 4, f"the other flows' packets left behind {sizes}"
    equal(sorted(sizes),
          sorted([HEADERS + 1472] * 5 + [HEADERS + 1000 + i for i in range(5)] + small), "sizes")
    lab.expect(control=waiting(0, 1), contrib=waiting(0, 1), other={"packets": 10 + len(small)},
               blocks=2)
    lab.freeze()
    run(f"tc qdisc add dev {DEV} parent 2:1 handle 3: pfifo limit 4")
    fill(lab, 2, 2, 10)
    lab.expect(control=waiting(2), contrib=waiting(2), other=waiting(4, 1, 6), blocks=4)
    parent_agrees(lab)
    run(f"tc qdisc del dev {DEV} parent 2:1")
    lab.expect(control=waiting(2), contrib=waiting(2), other=waiting(0, 1, 0), blocks=4)
    equal(lab.rtnl.queue(0x10000)["qlen"], 4, "packets waiting in the parent without the child")
    fill(lab, 0, 0, 5)
    run(f"tc qdisc add dev {DEV} parent 2:1 handle 3: pfifo limit 2")
    lab.expect(control=waiting(2), contrib=waiting(2), other=waiting(2, 1, 3), blocks=4)
    # what the first child has dropped went with it
    parent_agrees(lab, ("packets", "bytes", "qlen", "backlog"))
    lab.thaw()
    lab.expect(control=waiting(0, 2), contrib=waiting(0, 2), other={"packets": 3, "drops": 4},
               blocks=4)
    done = subprocess.run(f"tc qdisc add dev {DEV} parent 2:2 pfifo".split(),
                          stderr=subprocess.PIPE, check=False)
    assert done.returncode, "a qdisc was put into a group"


@test("where the system's qdisc keeps flows apart, it is what the rest waits in")
def t_default_child(lab):
    for name, want in (("fq_codel", ["fq_codel", "inc"]), ("pfifo_fast", ["inc"]),
                       ("fq_codel", ["fq_codel", "inc"])):
        with default_qdisc(name):
            lab.fresh()
        equal(kinds(lab), want, f"qdiscs where {name} is the default")
    fill(lab, 3, 4, 5)
    lab.counts(control=3, contrib=4, other=5)
    run(f"tc qdisc replace dev {DEV} root handle 2: inc")
    run(f"tc qdisc replace dev {DEV} parent 2:1 handle 3: pfifo limit 4")
    equal(kinds(lab), ["inc", "pfifo"], "qdiscs after another")
    run(f"tc qdisc del dev {DEV} parent 2:1")
    equal(kinds(lab), ["inc"], "qdiscs after none")


def kinds(lab):
    return sorted(kind for _, kind, _ in lab.rtnl.qdiscs(invisible=True).values())


@test("replaced by its own kind it loses nothing that waits")
def t_replace(lab):
    lab.freeze(share=70)
    fill(lab, 4, 5, 6)
    lab.rtnl.set(lab.coded({"share": 60}), nl.NLM_F_CREATE | nl.NLM_F_REPLACE, 0, 0x10001)
    equal(lab.rtnl.options()["share"], 60, "share")
    lab.expect(control=waiting(4), contrib=waiting(5), other=waiting(6, 1), blocks=9)
    parent_agrees(lab)
    lab.thaw()
    lab.expect(control=waiting(0, 4), contrib=waiting(0, 5), other=waiting(0, 8), blocks=9)


@test("a child that keeps what it has does not keep INC waiting")
def t_child_throttled(lab):
    lab.fresh(share=1)
    run(f"tc qdisc replace dev {DEV} root handle 2: inc")
    run(f"tc qdisc add dev {DEV} parent 2:1 handle 3: {FROZEN}")
    lab.other(1472)
    lab.other(1000)
    fill(lab, 50, 50, 0)
    lab.expect(control=waiting(0, 50), contrib=waiting(0, 50), blocks=100,
               other={"packets": 1, "qlen": 1, "backlog": HEADERS + 1000})


@test("what a child keeps is no debt of INC's")
def t_child_debt(lab):
    with Capture() as capture:
        lab.under_tbf(OPEN, share=50)
        run(f"tc qdisc add dev {DEV} parent 2:1 handle 3: {FROZEN}")
        lab.other(1472)
        lab.other(1472)
        for _ in range(100):
            lab.inc("contrib", 1472)
        lab.expect(contrib=waiting(0, 100), blocks=100,
                   other={"packets": 1, "qlen": 1, "backlog": HEADERS + 1472})
        # the parent's burst is used up by a result
        run(f"tc qdisc change dev {DEV} root handle 1: {FROZEN}")
        lab.inc("result", 1472)
        lab.expect(contrib=waiting(0, 100), control=waiting(0, 1), blocks=101,
                   other={"packets": 1, "qlen": 1, "backlog": HEADERS + 1472})
        run(f"tc qdisc change dev {DEV} parent 2:1 handle 3: {OPEN}")
        for _ in range(5):
            lab.other(1472)
            lab.inc("contrib", 1472)
        lab.thaw()
        got = "".join(kind for kind, _ in capture.take(102 + 12))[102:]
    equal((got.count("C"), "C" in got[:3], "O" in got[:3]), (5, True, True), f"turns: {got}")


def send_at(nsec):
    """An other packet that sch_etf lets go at this time of CLOCK_TAI; it drops what is late."""
    with udp_socket() as s:
        s.setsockopt(socket.SOL_SOCKET, SO_TXTIME, struct.pack("iI", time.CLOCK_TAI, 0))
        s.sendmsg([bytes(96)], [(socket.SOL_SOCKET, SO_TXTIME, struct.pack("Q", nsec))], 0,
                  (DST, OTHER_PORT))


@test("a child may show a packet and keep it, or drop it when it is asked for it")
def t_child_shows(lab):
    lab.fresh()
    run(f"tc qdisc replace dev {DEV} root handle 2: inc")
    try:
        # lets a packet go two seconds before its time
        run(f"tc qdisc add dev {DEV} parent 2:1 handle 3: etf clockid CLOCK_TAI delta 2000000000")
    except AssertionError as err:
        raise Skip("this kernel has no sch_etf") from err
    begin = time.clock_gettime_ns(time.CLOCK_TAI)
    send_at(begin + 600 * 10 ** 9)
    fill(lab, 50, 50, 0)
    lab.expect(control=waiting(0, 50), contrib=waiting(0, 50), blocks=100,
               other={"packets": 0, "qlen": 1, "backlog": HEADERS + 96})
    # before that one
    send_at(begin + 3 * 10 ** 9)
    lab.expect(control=waiting(0, 50), contrib=waiting(0, 50), blocks=100,
               other={"packets": 1, "qlen": 1, "backlog": HEADERS + 96})
    # due at once, and late when its turn comes
    run(f"tc qdisc replace dev {DEV} parent 2:1 handle 4: etf clockid CLOCK_TAI delta 0")
    send_at(time.clock_gettime_ns(time.CLOCK_TAI) + 50 * 10 ** 6)
    wait_until(lambda: lab.rtnl.queue(0x40000)["drops"] == 1, "it is late")
    fill(lab, 1, 1, 0)
    lab.expect(control=waiting(0, 51), contrib=waiting(0, 51), blocks=102,
               other={"packets": 1, "qlen": 0, "backlog": 0, "drops": 1})


@test("options, qdiscs and links changed while packets flow")
def t_churn(lab):
    seed = int(os.environ.get("SEED") or random.randrange(1 << 32))
    print(f"# SEED={seed}")
    rnd = random.Random(seed)
    lab.under_tbf("tbf rate 50mbit burst 50000 limit 100000000")
    lab.flood([(pk.inc("contrib", 1000) * 16, pk.INC_PORT)], segment=1000)
    lab.flood([(bytes(1000), OTHER_PORT)])
    # These go strictly before contributions, so they must not fill INC's part of the link: 50
    # Mbit/s * 80 % would be 14600 of them in a second, these are 1000 at most.
    lab.flood([(pk.inc("result", 300), pk.INC_PORT)], pause=0.001)
    rounds = 200 if os.environ.get("FULL") == "1" else 40
    for i in range(rounds):
        want = {"share": rnd.randint(1, 99), "limit": rnd.choice((1, 5, 100, 1000)),
                "port": rnd.choice((pk.INC_PORT, OTHER_PORT, 1234)),
                "target": rnd.choice((1, 2000, 10000000)),
                "control": rnd.randint(1, 99)}
        lab.change(**want)
        equal(lab.rtnl.options(), want, "options")
        if i % 10 == 3:
            run(f"tc qdisc replace dev {DEV} parent 1:1 handle 3: pfifo")
            lab.rtnl.set(None, nl.NLM_F_CREATE | nl.NLM_F_REPLACE, 0x20000, 0x10001)
        if i % 10 == 6:
            run(f"tc qdisc replace dev {DEV} parent 2:1 handle 4: fq_codel")
        if i % 20 == 9:
            run(f"tc qdisc del dev {DEV} parent 2:1")
        if i % 20 == 7:
            run(f"ip link set {DEV} down")
            run(f"ip link set {DEV} up")
            neighbours()
        if i % 20 == 14:
            lab.fresh()
            lab.under_tbf("tbf rate 50mbit burst 50000 limit 100000000")
    lab.change(share=80, limit=1000, port=pk.INC_PORT, control=90)
    before = lab.rtnl.stats()
    wait_until(lambda: all(lab.rtnl.stats()[c]["packets"] > before[c]["packets"] + 100
                           for c in nl.CLASSES),
               lambda: f"every class flows after the changes; before: {before}, now: {lab.rtnl.stats()}")
    lab.stop_floods()
    run(f"tc qdisc change dev {DEV} root handle 1: {OPEN}")
    lab.other()
    wait_until(lambda: lab.rtnl.queue(0x20000)["qlen"] == 0, "all have left")
    # what a child has dropped goes with it
    parent_agrees(lab, ("packets", "bytes", "qlen", "backlog"))
