# SPDX-License-Identifier: GPL-2.0-only
"""Who is served when, and what is marked: classes by share, groups by weight."""

import socket

import qdisc_packets as pk
from qdisc_lab import DRAIN, DST, HEADERS, Capture, equal, parent_agrees, test, udp_socket, wait_until

# Classes

@test("results overtake contributions, and INC and the rest take turns by the share")
def t_order(lab):
    for share, want in ((80, "RORCCCOOO"), (50, "ROROCOCOC"), (20, "ROOOORCCC")):
        with Capture() as capture:
            lab.freeze(share=share)
            for _ in range(3):
                lab.other(1472)
                lab.inc("contrib", 1472)
            lab.inc("result", 1472)
            lab.inc("result", 1472)
            lab.thaw()
            got = "".join(kind for kind, _ in capture.take(10))
        equal(got, "O" + want, f"order at share {share}")


@test("control packets hold contributions up for a while and no longer, then by bytes")
def t_control(lab):
    for percent, ahead in ((50, 65536 * 2), (80, 65536 * 5)):
        with Capture() as capture:
            lab.freeze(control=percent, limit=100000)
            for _ in range(400):
                lab.inc("result", 1472)
            for _ in range(200):
                lab.inc("contrib", 1472)
            lab.thaw()
            got = "".join(kind for kind, _ in capture.take(602) if kind != "O")
        # of the results that go before the first contribution
        first = ahead // (HEADERS + 1472) + 1
        turn = "C" + "R" * (percent // (100 - percent))
        want = ("R" * first + turn * 200)[:got.rindex("R") + 1]
        equal(got[:len(want)], want, f"order at control {percent}")
        equal(got.count("C"), 200, "contributions")


@test("each class alone gets the whole link, in order")
def t_alone(lab):
    for kind, letter in (("contrib", "C"), ("result", "R"), (None, "O")):
        with Capture() as capture:
            lab.freeze()
            for i in range(50):
                if kind:
                    lab.inc(kind, 1200 + 4 * i)
                else:
                    lab.other(1200 + 4 * i)
            lab.thaw()
            got = [size
                   for what, size in capture.take(52)[1:] if what == letter
                   and size != HEADERS + 1472]
        equal(got, [HEADERS + 1200 + 4 * i for i in range(50)],
              f"sizes of class {letter} as they left")


SHARES = ((80, 1000, 1000, 1), (20, 200, 1472, 1), (80, 1472, 200, 1), (50, 1000, 200, 16),
          (99, 1000, 1000, 1),
          (1, 1000, 1000, 1))


def left(lab, capture, inc_packets, other_packets):
    """[("I" or "O", bytes)] of all packets as they leave, without the two that froze the qdisc; the
    counters must say the same."""
    order = [("O" if kind == "O" else "I", size)
             for kind, size in capture.take(2 + inc_packets + other_packets)]
    wait_until(lambda: lab.rtnl.queue(0x20000)["qlen"] == 0, "all have left")
    stats = lab.rtnl.stats()
    equal(stats["other"]["bytes"], sum(size for kind, size in order if kind == "O"),
          "bytes of other")
    equal(stats["control"]["bytes"] + stats["contrib"]["bytes"],
          sum(size for kind, size in order if kind == "I"),
          "bytes of INC")
    return order[2:]


def both_waiting(order):
    """As much of it as left while packets of both kinds were still to come."""
    last = {kind: i for i, (kind, _) in enumerate(order)}
    return order[:min(last.values())]


def spread(order, share):
    """By how many bytes INC was off its share, at most, over any stretch of what left."""
    ahead, points = 0, [0]
    for kind, size in order:
        ahead += size * (100 - share) if kind == "I" else -size * share
        points.append(ahead)
    return (max(points) - min(points)) / 100


@test("share of the bytes while both wait, over any stretch within one longest packet of each side")
def t_share(lab):
    for share, inc_size, other_size, segments in SHARES:
        inc_bytes, other_bytes = segments * (HEADERS + inc_size), HEADERS + other_size
        inc_count = max(20, 6000 * share // inc_bytes)
        other_count = max(20, 6000 * (100 - share) // other_bytes)
        with Capture() as capture, udp_socket(segment=inc_size if segments > 1 else 0) as s:
            lab.freeze_long(share=share, limit=100000)
            # first of all: INC is to find somebody waiting from its first packet on
            lab.other(other_size)
            for i in range(inc_count):
                s.sendto(pk.inc("result" if i % 8 == 0 else "contrib", inc_size) * segments,
                         (DST, pk.INC_PORT))
            for _ in range(other_count - 1):
                lab.other(other_size)
            lab.thaw(DRAIN)
            order = both_waiting(left(lab, capture, inc_count, other_count + 1))
        inc, other = (sum(size for kind, size in order if kind == k) for k in "IO")
        print(f"# share {share}: INC {inc}, other {other} bytes: {100 * inc / (inc + other):.2f} %")
        assert inc + other >= 300000, f"only {inc + other} bytes left while both waited"
        off, bound = (spread(order, share),
                      inc_bytes * (100 - share) / 100 + other_bytes * share / 100)
        assert off <= bound, f"share {share}: off by {off:.0f} bytes, expected at most {bound:.0f}"


@test("INC with one long packet at a time does not exceed its share")
def t_self_clocked(lab):
    share, count = 20, 600
    with Capture() as capture:
        lab.freeze_long(share=share, limit=100000)
        for _ in range(count):
            lab.other(1000)
        lab.flood([(pk.inc("contrib", 1000) * 16, pk.INC_PORT)], segment=1000, sndbuf=4608)
        wait_until(lambda: lab.rtnl.stats()["contrib"]["qlen"], "INC waits")
        lab.thaw(DRAIN)
        order = []
        while sum(kind == "O" for kind, _ in order) < 2 + count:
            order += capture.take(1)
        lab.stop_floods()
    inc = sum(size for kind, size in order if kind != "O")
    other = sum(size for kind, size in order[2:] if kind == "O")
    print(f"# share {share}: INC {inc}, other {other} bytes: {100 * inc / (inc + other):.2f} %")
    longest = 16 * (HEADERS + 1000)
    assert inc >= longest, f"INC had {inc} bytes, expected at least one super-packet"
    assert inc * (100 - share) - other * share <= longest * (100 - share), \
        f"INC took {inc} of {inc + other} bytes"


# Groups

def groups_left(lab, sends, **options):
    """
    The groups whose contributions leave, in order, as (group, bytes); @sends: {group: (packets,
    bytes of each)}.
    """
    with Capture() as capture:
        lab.freeze(limit=100000, **options)
        for group, (count, size) in sends.items():
            for _ in range(count):
                lab.inc("contrib", size, group=group)
        lab.thaw(DRAIN)
        return [p
                for p in capture.groups(2 + sum(count for count, _ in sends.values()))
                if p[0] is not None]


def expect_parts(left, weights, longest):
    """
    While all of them wait each gets its part, within a turn of each: 1514 bytes for its weight, and
    one packet.
    """
    last = {group: i for i, (group, _) in enumerate(left)}
    part = left[:min(last.values())]
    total = sum(size for _, size in part)
    for group, weight in weights.items():
        got = sum(size for g, size in part if g == group)
        fair = total * weight / sum(weights.values())
        off = abs(got - fair)
        print(f"# group {group}: {got} bytes, fair {fair:.0f}")
        assert off <= 2 * (1514 * max(weights.values()) + longest), \
            f"group {group} got {got} bytes, fair is {fair:.0f}"
    assert total > 100000, f"only {total} bytes left while all waited"


@test("groups get the same bytes, however long their packets are")
def t_groups(lab):
    left = groups_left(lab,
                       {1: (300, 1472), 2: (1500, 200), 0xFFFFFFFF: (450, 900), 256: (300, 1472)})
    expect_parts(left, {1: 1, 2: 1, 0xFFFFFFFF: 1, 256: 1}, HEADERS + 1472)


@test("groups get bytes by their weights, also when those change")
def t_weights(lab):
    weights = {1: 1, 2: 2, 3: 4}
    sends = {group: (150 * weight, 1000) for group, weight in weights.items()}
    expect_parts(groups_left(lab, sends, weights=weights), weights, HEADERS + 1000)
    with Capture() as capture:
        lab.freeze(limit=100000, weights={3: 200, 9: 2})
        for group, (count, size) in sends.items():
            for _ in range(count):
                lab.inc("contrib", size, group=group)
        lab.change(weights=weights)
        equal(lab.rtnl.weights(), weights, "weights")
        equal({g: s["weight"] for g, s in lab.rtnl.groups().items()}, weights,
              "weights of the groups that wait")
        lab.thaw(DRAIN)
        left = [p for p in capture.groups(2 + 150 * 7) if p[0] is not None]
    expect_parts(left, weights, HEADERS + 1000)
    lab.change(weights={})
    equal(lab.rtnl.weights(), {}, "weights after none")


@test("a group that sends one long packet at a time gets no more than the others")
def t_group_self_clocked(lab):
    count = 400
    with Capture() as capture:
        lab.freeze_long(limit=100000)
        for _ in range(count):
            lab.inc("contrib", 1000, group=1)
        lab.flood([(pk.inc("contrib", 1000, group=2) * 16, pk.INC_PORT)], segment=1000, sndbuf=4608)
        wait_until(lambda: 2 in lab.rtnl.groups(), "group 2 waits")
        lab.thaw(DRAIN)
        seen = {1: 0, 2: 0}
        while seen[1] < count * (HEADERS + 1000):
            for group, size in capture.groups(1):
                if group:
                    seen[group] += size
        lab.stop_floods()
    print(f"# one at a time: {seen[2]} bytes, the other {seen[1]}")
    longest = 16 * (HEADERS + 1000)
    assert longest <= seen[2] <= seen[1] + 2 * longest, f"{seen}"


@test("at the limit the group that has most waiting loses its youngest, and nobody else does")
def t_group_limit(lab):
    sizes = [HEADERS + 1200 + 4 * (i % 50) for i in range(150)]
    with Capture() as capture:
        lab.freeze(limit=100)
        for _ in range(5):
            lab.inc("contrib", 1000, group=3)
        for size in sizes:
            lab.inc("contrib", size - HEADERS, group=1)
        lab.expect(contrib={"packets": 0, "qlen": 100, "drops": 55,
                            "backlog": 5 * (HEADERS + 1000) + sum(sizes[:95])},
                   other={"packets": 1}, blocks=155)
        for _ in range(30):
            lab.inc("contrib", 1000, group=2)
        equal({g: (s["qlen"], s["drops"], s["backlog"]) for g, s in lab.rtnl.groups().items()},
              {1: (65, 85, sum(sizes[:65])), 2: (30, 0, 30 * (HEADERS + 1000)),
               3: (5, 0, 5 * (HEADERS + 1000))},
              "what waits, was dropped, and bytes, by group")
        parent_agrees(lab)
        lab.thaw()
        left = [p for p in capture.groups(102) if p[0] is not None]
    equal([size for group, size in left if group == 1], sizes[:65],
          "packets of group 1 that were kept")
    equal({g: (s["packets"], s["qlen"]) for g, s in lab.rtnl.groups().items()},
          {1: (65, 0), 2: (30, 0), 3: (5, 0)},
          "packets sent and waiting, by group")
    lab.expect(contrib={"packets": 100, "drops": 85, "qlen": 0}, other={"packets": 2}, blocks=185)
    parent_agrees(lab)


@test("more groups than queues: none is lost")
def t_many_groups(lab):
    left = groups_left(lab, {group: (2, 200) for group in range(1000)})
    equal(sorted(group for group, _ in left), sorted(list(range(1000)) * 2), "groups of what left")
    groups = lab.rtnl.groups()
    assert 200 <= len(groups) <= 256, f"{len(groups)} classes"


# Marks

def ecn(lab, target, tos):
    """
    What leaves when packets of all classes have waited, with their ECN bits: {(class, bits):
    packets}.
    """
    with Capture() as capture:
        lab.freeze(target=target)
        lab.udp.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
        for i in range(20):
            lab.inc("result")
            lab.inc("contrib", group=i % 2)
            lab.other()
        lab.udp.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0)
        lab.expect(control={"packets": 0, "qlen": 20, "backlog": 20 * (HEADERS + 96)}, blocks=40,
                   contrib={"packets": 0, "qlen": 20, "backlog": 20 * (HEADERS + 96)},
                   other={"packets": 1, "qlen": 20, "backlog": 20 * (HEADERS + 96)})
        lab.thaw()
        seen = capture.ecn(62)
    lab.expect(control={"packets": 20, "marks": seen.get(("R", 3), 0)}, other={"packets": 22},
               contrib={"packets": 20, "marks": seen.get(("C", 3), 0)}, blocks=40)
    equal(sum(s["marks"] for s in lab.rtnl.groups().values()), seen.get(("C", 3), 0),
          "marks of the groups")
    for cls, packets in (("control", 20), ("contrib", 20), ("other", 22)):
        equal(sum(lab.rtnl.stats()[cls]["delay"]), packets,
              f"packets by the time that {cls} waited")
    return seen


@test("INC that has waited for longer than the target is marked, what cannot be marked is not dropped")
def t_marks(lab):
    equal(ecn(lab, 1, 2), {("R", 3): 20, ("C", 3): 20, ("O", 2): 20, ("O", 0): 2},
          "marked after 1 us")
    equal(ecn(lab, 1, 0), {("R", 0): 20, ("C", 0): 20, ("O", 0): 22}, "without ECN")
    equal(ecn(lab, 10000000, 2), {("R", 2): 20, ("C", 2): 20, ("O", 2): 20, ("O", 0): 2},
          "not marked before 10 s")
