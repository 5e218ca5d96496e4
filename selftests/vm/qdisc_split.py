# SPDX-License-Identifier: GPL-2.0-only
"""Super-packets that are too long for the link."""

import qdisc_packets as pk
from qdisc_lab import (DEV, DST, HEADERS, OTHER_PORT, Capture, equal, fill, parent_agrees, run,
                       test, udp_socket, wait_until)


def gso(kind, count):
    with udp_socket(segment=1000) as s:
        s.sendto((pk.inc(kind, 1000) if kind else bytes(1000)) * count,
                 (DST, pk.INC_PORT if kind else OTHER_PORT))


def as_segments(packets, sent=0, drops=0):
    return {"packets": sent, "qlen": packets, "backlog": packets * (HEADERS + 1000), "drops": drops}


@test("super-packets longer than a millisecond of the rate are taken apart, others are not")
def t_split(lab):
    lab.freeze_long(rate=8 * 41 * (HEADERS + 1000) * 1000)
    gso("contrib", 41)
    lab.expect(contrib={"packets": 0, "qlen": 1, "backlog": 41 * (HEADERS + 1000)},
               other={"packets": 58}, blocks=41)
    with Capture() as capture:
        lab.freeze_long()
        lab.change(rate=8 * 40 * (HEADERS + 1000) * 1000)
        for kind, count in (("contrib", 41), ("result", 42), (None, 43)):
            gso(kind, count)
        lab.expect(control=as_segments(42), contrib=as_segments(41), other=as_segments(43, 58),
                   blocks=83)
        parent_agrees(lab)
        gso("contrib", 40)
        lab.expect(control=as_segments(42), other=as_segments(43, 58), blocks=123,
                   contrib={"packets": 0, "qlen": 42, "backlog": 81 * (HEADERS + 1000)})
        parent_agrees(lab)
        equal(lab.rtnl.stats()["rate"], 8 * 40 * (HEADERS + 1000) * 1000, "rate")
        lab.thaw()
        sizes = [size for _, size in capture.take(2 + 41 + 42 + 43 + 1 + 1)]
    equal(sorted(sizes)[-2:], [40 * (HEADERS + 1000), 57 * (HEADERS + 1000)],
          "sizes of what was left whole")
    equal(sizes.count(HEADERS + 1000), 41 + 42 + 43, "segments")
    lab.expect(control=as_segments(0, 42), contrib=as_segments(0, 81),
               other={"packets": 58 + 43 + 1}, blocks=123)
    parent_agrees(lab)


@test("taken apart at the limit, and into a child with a limit")
def t_split_limit(lab):
    lab.freeze_long()
    lab.change(rate=1000000, limit=10)
    gso("contrib", 30)
    gso("result", 5)
    lab.expect(control=as_segments(5), contrib=as_segments(10, 0, 20), other={"packets": 58},
               blocks=35)
    parent_agrees(lab)
    run(f"tc qdisc add dev {DEV} parent 2:1 handle 3: pfifo limit 4")
    gso(None, 30)
    lab.expect(control=as_segments(5), contrib=as_segments(10, 0, 20),
               other=as_segments(4, 58, 26), blocks=35)
    parent_agrees(lab)
    gso(None, 30)
    lab.expect(control=as_segments(5), contrib=as_segments(10, 0, 20),
               other=as_segments(4, 58, 56), blocks=35)
    parent_agrees(lab)
    lab.thaw()
    lab.expect(control=as_segments(0, 5), contrib=as_segments(0, 10, 20),
               other={"packets": 62, "drops": 57}, blocks=35)


@test("the rate is measured while packets wait, and holds for what comes then")
def t_measured(lab):
    shaped = "tbf rate 40mbit burst 30000 limit 100000000"
    lab.freeze_long(limit=100000, rate=0)
    fill(lab, 0, 800, 0)
    equal(lab.rtnl.stats()["rate"], 0, "rate before anything has left")
    lab.thaw(shaped)
    wait_until(lambda: lab.rtnl.stats()["contrib"]["packets"] == 800, "all have left")
    rate = lab.rtnl.stats()["rate"]
    print(f"# measured: {rate} bit/s")
    assert 4000000 < rate < 120000000, f"40 Mbit/s were taken for {rate}"
    with Capture() as capture:
        gso("contrib", 20)
        equal(capture.take(20), [("C", HEADERS + 1000)] * 20, "what leaves")
    with Capture() as capture:
        lab.change(rate=10 ** 12)
        gso("contrib", 20)
        equal(capture.take(1), [("C", 20 * (HEADERS + 1000))],
              "what leaves of a link that is said to be fast")
