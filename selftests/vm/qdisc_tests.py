# SPDX-License-Identifier: GPL-2.0-only
"""Tests of sch_inc; started by 40-qdisc.sh. Arguments choose tests by words of their names."""

import json
import os
import random
import shutil
import socket
import subprocess
import sys
import time
import traceback

import inc_wire
import qdisc_packets as pk
import qdisc_rtnl as nl
from qdisc_lab import (DEV, DST, DST6, FROZEN, HEADERS, OPEN, OTHER_PORT, PEER, Capture, Lab, equal, mac, mac_text, mtu,
                       neighbours, run, udp_socket, wait_until)

TESTS = []


class Skip(Exception):
    pass


def test(name):
    def add(function):
        TESTS.append((name, function))
        return function
    return add


# Options and dump

@test("plain tc adds it with the default options")
def t_plain(lab):
    lab.clear()
    run(f"tc qdisc add dev {DEV} root inc")
    equal(lab.rtnl.options(), {"share": 80, "limit": 1000, "port": pk.INC_PORT, "target": 2000},
          "options")
    lab.expect(control={"packets": 0, "bytes": 0}, contrib={"packets": 0, "bytes": 0},
               other={"packets": 0, "bytes": 0}, blocks=0)


@test("all options are set, changed one by one, and dumped")
def t_options(lab):
    lab.fresh(share=99, limit=1, port=65535, target=1)
    want = {"share": 99, "limit": 1, "port": 65535, "target": 1}
    equal(lab.rtnl.options(), want, "options given at add")
    for name, value in (("share", 1), ("limit", 1000000), ("port", 1), ("target", 10000000), ("share", 50)):
        lab.rtnl.set(lab.coded({name: value}))
        want[name] = value
        equal(lab.rtnl.options(), want, f"options after {name} {value}")
    lab.rtnl.set([], nested=False)
    equal(lab.rtnl.options(), want, "options after an empty change")
    lab.rtnl.set(lab.coded({"share": 2}), nl.NLM_F_CREATE | nl.NLM_F_REPLACE)
    equal(lab.rtnl.options()["share"], 2, "share after replace")


BAD = (([(nl.SHARE, nl.u32(0))], "sch_inc: share 0: expected 1..99"),
       ([(nl.SHARE, nl.u32(100))], "sch_inc: share 100: expected 1..99"),
       ([(nl.SHARE, nl.u32(0xFFFFFFFF))], "sch_inc: share 4294967295: expected 1..99"),
       ([(nl.LIMIT, nl.u32(0))], "sch_inc: limit 0: expected 1..1000000"),
       ([(nl.LIMIT, nl.u32(1000001))], "sch_inc: limit 1000001: expected 1..1000000"),
       ([(nl.PORT, nl.u16(0))], "sch_inc: port 0: expected 1..65535"),
       ([(nl.SHARE, nl.u32(10)), (nl.LIMIT, nl.u32(0))], "sch_inc: limit 0: expected 1..1000000"),
       ([(nl.SHARE, nl.u16(10))], None),
       ([(nl.SHARE, nl.u32(10) + b"\0\0\0\0")], None),
       ([(nl.PORT, nl.u32(10))], None),
       ([(nl.SHARE, b"")], None),
       ([(nl.TARGET, nl.u32(0))], "sch_inc: target 0: expected 1..10000000"),
       ([(nl.TARGET, nl.u32(10000001))], "sch_inc: target 10000001: expected 1..10000000"),
       ([(nl.WEIGHTS, nl.u32(1))], "sch_inc: weights of 4 bytes: expected a multiple of 8"),
       ([(nl.WEIGHTS, nl.u32(5) + nl.u32(0))], "sch_inc: weight 0: expected 1..256"),
       ([(nl.WEIGHTS, nl.u32(5) + nl.u32(2) + nl.u32(6) + nl.u32(257))], "sch_inc: weight 257: expected 1..256"),
       ([(nl.WEIGHTS, (nl.u32(5) + nl.u32(2)) * 2)], "sch_inc: group 5 has two weights: expected one"),
       ([(nl.WEIGHTS, b"".join(nl.u32(g) + nl.u32(1) for g in range(65)))], None),
       ([(9, nl.u32(1))], None))


@test("bad options are refused with the value and the range, and change nothing")
def t_bad_change(lab):
    lab.fresh(share=33, limit=44, port=5555)
    for options, text in BAD:
        try:
            lab.rtnl.set(options)
        except nl.Refused as refused:
            assert refused.text and (text is None or refused.text == text), f"{options}: {refused}, expected {text!r}"
            equal(lab.rtnl.options(), {"share": 33, "limit": 44, "port": 5555, "target": 2000},
                  f"options after {options}")
        else:
            raise AssertionError(f"{options} was accepted")


@test("bad options at add leave no qdisc behind")
def t_bad_add(lab):
    lab.clear()
    for options, _ in BAD:
        try:
            lab.rtnl.set(options, nl.NLM_F_CREATE | nl.NLM_F_EXCL)
        except nl.Refused:
            kinds = [kind for _, kind, _ in lab.rtnl.qdiscs().values()]
            assert "inc" not in kinds, f"{options} was refused, but there is {kinds}"
        else:
            raise AssertionError(f"{options} was accepted")


# Classification

@test("every packet type has its class; packets and bytes are exact")
def t_types(lab):
    size = 48 + max(inc_wire.MIN_BODY.values())
    lab.fresh()
    for i, kind in enumerate(pk.TYPES):
        for _ in range(i + 1):
            lab.inc(kind, size)
    total = len(pk.TYPES) * (len(pk.TYPES) + 1) // 2
    lab.other(500)
    lab.expect(contrib={"packets": 1, "bytes": HEADERS + size}, blocks=total,
               other={"packets": 1, "bytes": HEADERS + 500},
               control={"packets": total - 1, "bytes": (total - 1) * (HEADERS + size)})


@test("to the port and from the port; a changed port; other ports are other")
def t_port(lab):
    lab.fresh()
    with udp_socket(sport=pk.INC_PORT) as s:
        s.sendto(pk.inc("result"), (DST, 50001))
    lab.inc()
    lab.udp.sendto(pk.inc(), (DST, pk.INC_PORT + 1))
    lab.counts(control=1, contrib=1, other=1)
    lab.rtnl.set(lab.coded({"port": pk.INC_PORT + 1}))
    lab.inc()
    lab.udp.sendto(pk.inc(), (DST, pk.INC_PORT + 1))
    lab.counts(control=1, contrib=2, other=2)


@test("what no node would take for INC is other, whatever its port")
def t_not_inc(lab):
    lab.fresh()
    bad = [pk.inc(version=0), pk.inc(version=2), pk.inc(kind=0), pk.inc(flags=0x201),
           pk.inc(flags=0x8001), pk.inc(span=0), pk.inc(span=2), pk.inc(length=44), pk.inc(length=52), pk.inc(flags=0),
           pk.inc("join", 48), pk.inc("ready", 60), pk.inc()[:47], pk.inc()[:1], b"", b"\0" * 48, b"\xff" * 96]
    for data in bad:
        lab.udp.sendto(data, (DST, pk.INC_PORT))
    lab.counts(other=len(bad))


@test("IPv4: options, fragments, wrong lengths and protocols")
def t_ipv4(lab):
    lab.fresh()
    datagram = pk.udp(pk.inc())
    lab.ether(pk.ipv4(datagram))
    lab.ether(pk.ipv4(datagram, options=b"\x01" * 4))
    lab.ether(pk.ipv4(datagram, options=b"\x01" * 40))
    lab.ether(pk.ipv4(datagram, frag=0x4000))                   # DF
    lab.ether(pk.ipv4(datagram) + bytes(20))                    # a trailer
    bad = [pk.ipv4(datagram, frag=0x2000), pk.ipv4(datagram, frag=5), pk.ipv4(datagram, frag=0x2005),
           pk.ipv4(datagram, proto=6), pk.ipv4(datagram, proto=136), pk.ipv4(datagram, version=5),
           pk.ipv4(datagram, ihl=4), pk.ipv4(datagram, ihl=15), pk.ipv4(pk.udp(pk.inc(), length=0)),
           pk.ipv4(pk.udp(pk.inc(), length=55)), pk.ipv4(pk.udp(pk.inc(), length=105)),
           pk.ipv4(pk.udp(pk.inc(), length=65535))]
    for data in bad:
        lab.ether(data)
    lab.ether(pk.ipv4(datagram), ether=0x88B5)
    lab.counts(contrib=5, other=len(bad) + 1)


@test("IPv6: extension headers, atomic fragments, fragments")
def t_ipv6(lab):
    lab.fresh()
    datagram = pk.udp(pk.inc("result"))
    pad = (b"\0\x01\x04\0\0\0\0",)
    for ext in ((), ((pk.HOP_BY_HOP, *pad),), ((pk.HOP_BY_HOP, *pad), (pk.DEST_OPTIONS, *pad)),
                ((pk.FRAGMENT, b"\0\0\0\0\0\0\1"),)):
        lab.ether(pk.ipv6(datagram, ext), pk.ETH_IPV6)
    bad = [pk.ipv6(datagram, ((pk.FRAGMENT, b"\0\0\1\0\0\0\1"),)),
           pk.ipv6(datagram, ((pk.FRAGMENT, b"\0\0\x08\0\0\0\1"),)),
           pk.ipv6(datagram, version=4), pk.ipv6(datagram, ((6, b""),)), pk.ipv6(datagram, ((59, *pad),)),
           pk.ipv6(datagram, ((pk.HOP_BY_HOP, b"\xff" + pad[0][1:]),))]
    for data in bad:
        lab.ether(data, pk.ETH_IPV6)
    lab.counts(control=4, other=len(bad))


@test("VLAN tags: beside the packet (a VLAN device) and in it, one or several")
def t_vlan(lab):
    run(f"ip link add link {DEV} name {DEV}.7 type vlan id 7")
    try:
        run(f"ip addr add 10.9.7.1/24 dev {DEV}.7")
        run(f"ip link set {DEV}.7 up")
        run(f"ip neigh replace 10.9.7.2 lladdr {mac_text(PEER)} nud permanent dev {DEV}.7")
        lab.fresh()
        lab.udp.sendto(pk.inc(), ("10.9.7.2", pk.INC_PORT))
        lab.counts(contrib=1)
        q, ad = (pk.ETH_8021Q, 5), (pk.ETH_8021AD, 6)
        data, data6 = pk.ipv4(pk.udp(pk.inc())), pk.ipv6(pk.udp(pk.inc()))
        for tags in ([q], [ad], [ad, q], [q, q], [ad] + [q] * 7):
            lab.ether(data, pk.ETH_IPV4, tags)
            lab.ether(data6, pk.ETH_IPV6, tags)
        lab.ether(data, pk.ETH_IPV4, [q] * 9)
        lab.ether(data, 0x0806, [q])
        lab.ether(b"", pk.ETH_8021Q, [q])
        lab.counts(contrib=11, other=3)
    finally:
        run(f"ip link del {DEV}.7")


@test("frames cut off at every byte are other and harm nobody")
def t_truncated(lab):
    lab.fresh()
    whole = 0
    for data, ether in ((pk.ipv4(pk.udp(pk.inc(total=64))), pk.ETH_IPV4),
                        (pk.ipv6(pk.udp(pk.inc(total=64)), ((pk.HOP_BY_HOP, b"\0\x01\x04\0\0\0\0"),)), pk.ETH_IPV6)):
        for vlans in ([], [(pk.ETH_8021Q, 3)]):
            for cut in range(1, len(data)):
                lab.ether(data[:cut], ether, vlans)
                whole += 1
    lab.counts(other=whole)


@test("headers outside the linear part of a packet are found")
def t_nonlinear(lab):
    lab.fresh()
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as s, mtu(9000):
        s.bind((DEV, 0))
        s.setsockopt(263, 15, 1)                                # SOL_PACKET, PACKET_VNET_HDR
        for linear in (0, 20, 34, 42, 60, 90):                  # bytes that the packet's head gets
            vnet = bytes((0, 0)) + linear.to_bytes(2, sys.byteorder) + bytes(6)
            for data, ether in ((pk.ipv4(pk.udp(pk.inc(total=6000))), pk.ETH_IPV4),
                                (pk.ipv6(pk.udp(pk.inc("result", total=6000))), pk.ETH_IPV6)):
                s.send(vnet + pk.frame(data, ether, mac(PEER), mac(DEV), [(pk.ETH_8021Q, 3)] if linear == 20 else ()))
    lab.counts(contrib=6, control=6)


@test("super-packets: one class, all segments and all headers counted")
def t_gso(lab):
    lab.fresh()
    with udp_socket(segment=1000) as s:
        s.sendto(b"".join(pk.inc("contrib", 1000) for _ in range(40)), (DST, pk.INC_PORT))
        s.sendto(b"".join(pk.inc("result", n) for n in [1000] * 10 + [148]), (DST, pk.INC_PORT))
        s.sendto(pk.inc("contrib", 1000), (DST, pk.INC_PORT))
        s.sendto(pk.inc("contrib", 200), (DST, pk.INC_PORT))
        s.sendto(bytes(5000), (DST, pk.INC_PORT))
    lab.expect(contrib={"packets": 42, "bytes": 41 * (HEADERS + 1000) + HEADERS + 200},
               control={"packets": 11, "bytes": 10 * (HEADERS + 1000) + HEADERS + 148},
               other={"packets": 5, "bytes": 5 * (HEADERS + 1000)}, blocks=53)


@test("a super-packet waits as one packet, and is segments when it has left")
def t_gso_waits(lab):
    lab.freeze_long()
    with udp_socket(segment=1000) as s:
        s.sendto(b"".join(pk.inc("contrib", 1000) for _ in range(40)), (DST, pk.INC_PORT))
    length = 40 * (HEADERS + 1000)
    lab.expect(contrib={"packets": 0, "qlen": 1, "backlog": length}, other={"packets": 58}, blocks=40)
    lab.thaw()
    lab.expect(contrib={"packets": 40, "bytes": length}, other={"packets": 59}, blocks=40)


@test("UDP over IPv6 sockets, single and super-packets")
def t_ipv6_sockets(lab):
    def ipv6(value):
        with open(f"/proc/sys/net/ipv6/conf/{DEV}/disable_ipv6", "w", encoding="ascii") as f:
            f.write(value)

    ipv6("0")
    try:
        run(f"ip -6 addr add fd00:9::1/64 dev {DEV} nodad")
        run(f"ip -6 neigh replace {DST6} lladdr {mac_text(PEER)} nud permanent dev {DEV}")
        lab.fresh()
        with udp_socket(socket.AF_INET6, segment=1000) as s:
            s.sendto(pk.inc("result", 100), (DST6, pk.INC_PORT))
            s.sendto(b"".join(pk.inc("contrib", 1000) for _ in range(20)), (DST6, pk.INC_PORT))
        want = {"control": (1, HEADERS + 20 + 100), "contrib": (20, 20 * (HEADERS + 20 + 1000))}

        # IPv6 says things of its own here: only the INC classes can be exact.
        def counted():
            stats = lab.rtnl.stats()
            return stats["blocks"] == 21 and all((stats[c]["packets"], stats[c]["bytes"]) == want[c] for c in want)

        wait_until(counted, lambda: f"counters {want}; they are {lab.rtnl.stats()}")
    finally:
        ipv6("1")


# Service

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
            got = [size for what, size in capture.take(52)[1:] if what == letter and size != HEADERS + 1472]
        equal(got, [HEADERS + 1200 + 4 * i for i in range(50)], f"sizes of class {letter} as they left")


DRAIN = "tbf rate 10mbit burst 50000 limit 100000000"
SHARES = ((80, 1000, 1000, 1), (20, 200, 1472, 1), (80, 1472, 200, 1), (50, 1000, 200, 16), (99, 1000, 1000, 1),
          (1, 1000, 1000, 1))


def left(lab, capture, inc_packets, other_packets):
    """[("I" or "O", bytes)] of all packets as they leave, without the two that froze the qdisc; the counters must say
    the same."""
    order = [("O" if kind == "O" else "I", size) for kind, size in capture.take(2 + inc_packets + other_packets)]
    wait_until(lambda: lab.rtnl.queue(0x20000)["qlen"] == 0, "all have left")
    stats = lab.rtnl.stats()
    equal(stats["other"]["bytes"], sum(size for kind, size in order if kind == "O"), "bytes of other")
    equal(stats["control"]["bytes"] + stats["contrib"]["bytes"], sum(size for kind, size in order if kind == "I"),
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
            lab.other(other_size)       # first of all: INC is to find somebody waiting from its first packet on
            for i in range(inc_count):
                s.sendto(pk.inc("result" if i % 8 == 0 else "contrib", inc_size) * segments, (DST, pk.INC_PORT))
            for _ in range(other_count - 1):
                lab.other(other_size)
            lab.thaw(DRAIN)
            order = both_waiting(left(lab, capture, inc_count, other_count + 1))
        inc, other = (sum(size for kind, size in order if kind == k) for k in "IO")
        print(f"# share {share}: INC {inc}, other {other} bytes: {100 * inc / (inc + other):.2f} %")
        assert inc + other >= 300000, f"only {inc + other} bytes left while both waited"
        off, bound = spread(order, share), inc_bytes * (100 - share) / 100 + other_bytes * share / 100
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
    assert inc * (100 - share) - other * share <= longest * (100 - share), f"INC took {inc} of {inc + other} bytes"


# Groups

def groups_left(lab, sends, **options):
    """The groups whose contributions leave, in order, as (group, bytes); @sends: {group: (packets, bytes of each)}."""
    with Capture() as capture:
        lab.freeze(limit=100000, **options)
        for group, (count, size) in sends.items():
            for _ in range(count):
                lab.inc("contrib", size, group=group)
        lab.thaw(DRAIN)
        return [p for p in capture.groups(2 + sum(count for count, _ in sends.values())) if p[0] is not None]


def expect_parts(left, weights, longest):
    """While all of them wait each gets its part, within a turn of each: 1514 bytes for its weight, and one packet."""
    last = {group: i for i, (group, _) in enumerate(left)}
    part = left[:min(last.values())]
    total = sum(size for _, size in part)
    for group, weight in weights.items():
        got = sum(size for g, size in part if g == group)
        fair = total * weight / sum(weights.values())
        off = abs(got - fair)
        print(f"# group {group}: {got} bytes, fair {fair:.0f}")
        assert off <= 2 * (1514 * max(weights.values()) + longest), f"group {group} got {got} bytes, fair is {fair:.0f}"
    assert total > 100000, f"only {total} bytes left while all waited"


@test("groups get the same bytes, however long their packets are")
def t_groups(lab):
    left = groups_left(lab, {1: (300, 1472), 2: (1500, 200), 0xFFFFFFFF: (450, 900), 256: (300, 1472)})
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
        equal({g: s["weight"] for g, s in lab.rtnl.groups().items()}, weights, "weights of the groups that wait")
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
    with Capture() as capture:
        lab.freeze(limit=100)
        for i in range(150):
            lab.inc("contrib", 1200 + 4 * (i % 50), group=1)
        lab.expect(contrib={"packets": 0, "qlen": 100, "drops": 50, "backlog": sum(
            HEADERS + 1200 + 4 * (i % 50) for i in range(100))}, other={"packets": 1}, blocks=150)
        for _ in range(30):
            lab.inc("contrib", 1000, group=2)
        groups = lab.rtnl.groups()
        equal({g: (s["qlen"], s["drops"], s["backlog"]) for g, s in groups.items()},
              {1: (70, 80, sum(HEADERS + 1200 + 4 * (i % 50) for i in range(70))), 2: (30, 0, 30 * (HEADERS + 1000))},
              "what waits, was dropped, and bytes, by group")
        parent_agrees(lab)
        lab.thaw()
        left = [p for p in capture.groups(102) if p[0] is not None]
    equal([size for group, size in left if group == 1], [HEADERS + 1200 + 4 * (i % 50) for i in range(70)],
          "packets of group 1 that were kept")
    equal({g: (s["packets"], s["qlen"]) for g, s in lab.rtnl.groups().items()}, {1: (70, 0), 2: (30, 0)},
          "packets sent and waiting, by group")
    lab.expect(contrib={"packets": 100, "drops": 80, "qlen": 0}, other={"packets": 2}, blocks=180)
    parent_agrees(lab)


@test("more groups than queues: none is lost")
def t_many_groups(lab):
    left = groups_left(lab, {group: (2, 200) for group in range(1000)})
    equal(sorted(group for group, _ in left), sorted(list(range(1000)) * 2), "groups of what left")
    groups = lab.rtnl.groups()
    assert 200 <= len(groups) <= 256, f"{len(groups)} classes"


# Marks

def ecn(lab, target, tos):
    """What leaves when packets of all classes have waited, with their ECN bits: {(class, bits): packets}."""
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
    equal(sum(s["marks"] for s in lab.rtnl.groups().values()), seen.get(("C", 3), 0), "marks of the groups")
    for cls, packets in (("control", 20), ("contrib", 20), ("other", 22)):
        equal(sum(lab.rtnl.stats()[cls]["delay"]), packets, f"packets by the time that {cls} waited")
    return seen


@test("INC that has waited for longer than the target is marked, what cannot be marked is not dropped")
def t_marks(lab):
    equal(ecn(lab, 1, 2), {("R", 3): 20, ("C", 3): 20, ("O", 2): 20, ("O", 0): 2}, "marked after 1 us")
    equal(ecn(lab, 1, 0), {("R", 0): 20, ("C", 0): 20, ("O", 0): 22}, "without ECN")
    equal(ecn(lab, 10000000, 2), {("R", 2): 20, ("C", 2): 20, ("O", 2): 20, ("O", 0): 2}, "not marked before 10 s")


# Limits and queues

def fill(lab, control, contrib, other, size=1472):
    for kind, count in (("result", control), ("contrib", contrib)):
        for _ in range(count):
            lab.inc(kind, size)
    for _ in range(other):
        lab.other(size)


def waiting(packets, sent=0, drops=0):
    return {"packets": sent, "qlen": packets, "backlog": packets * (HEADERS + 1472), "drops": drops}


def parent_agrees(lab, keys=("packets", "bytes", "drops", "qlen", "backlog")):
    """The token bucket above counts as waiting what waits below, and the kernel's sums are those of the classes."""
    stats, child, parent = lab.rtnl.stats(), lab.rtnl.queue(0x20000), lab.rtnl.queue(0x10000)
    for key in keys:
        equal(child[key], sum(stats[c][key] for c in nl.CLASSES), f"the kernel's {key} and the sum of the classes")
    for key in ("qlen", "backlog"):
        equal(parent[key], child[key], f"{key} of the parent")


@test("limit: each class has its own, what is above is dropped and counted")
def t_limit(lab):
    lab.freeze(limit=5)
    fill(lab, 9, 12, 7)
    lab.expect(control=waiting(5, 0, 4), contrib=waiting(5, 0, 7), other=waiting(5, 1, 2), blocks=21)
    parent_agrees(lab)
    equal(lab.rtnl.queue(0x10000)["drops"], 13, "drops that the parent counts")
    lab.thaw()
    lab.expect(control=waiting(0, 5, 4), contrib=waiting(0, 5, 7), other=waiting(0, 6, 3), blocks=21)
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
    equal(got, [HEADERS + 1200 + 4 * i for i in range(10)] + [HEADERS + 1472], "contributions that were kept")
    lab.expect(control=waiting(0, 11, 20), contrib={"packets": 11, "drops": 20}, other=waiting(0, 12, 21), blocks=62)
    parent_agrees(lab)


@test("link down empties it, and it works on after link up")
def t_reset(lab):
    lab.freeze()
    fill(lab, 3, 3, 3)
    run(f"ip link set {DEV} down")
    lab.expect(control=waiting(0), contrib=waiting(0), other=waiting(0, 1), blocks=6)
    parent_agrees(lab)
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
                          ("htb default 2", ["tc class add dev {} parent 1: classid 1:2 htb rate 1gbit",
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
    with Capture() as capture:
        lab.freeze()
        fill(lab, 1, 1, 3)
        run(f"tc qdisc add dev {DEV} parent 2:1 handle 3: fq_codel limit 100 target 10s interval 20s memory_limit 32m")
        equal(lab.rtnl.queue(0x30000)["qlen"], 3, "packets that came along")
        parent_agrees(lab)
        for i in range(5):
            lab.other(1000 + i)
        with udp_socket() as s:         # another flow, which does not wait behind the first
            s.sendto(bytes(100), (DST, OTHER_PORT))
        lab.expect(control=waiting(1), contrib=waiting(1), blocks=2, other={
            "packets": 1, "qlen": 9, "backlog": 3 * (HEADERS + 1472) + sum(HEADERS + 1000 + i for i in range(5)) +
            HEADERS + 100})
        parent_agrees(lab)
        lab.thaw()
        sizes = [size for kind, size in capture.take(13) if kind == "O"]
    assert sizes.index(HEADERS + 100) <= 4, f"the other flow's packet left behind {sizes}"
    equal(sorted(sizes), sorted([HEADERS + 1472] * 5 + [HEADERS + 1000 + i for i in range(5)] + [HEADERS + 100]), "sizes")
    lab.expect(control=waiting(0, 1), contrib=waiting(0, 1), other={"packets": 11}, blocks=2)
    lab.freeze()
    run(f"tc qdisc add dev {DEV} parent 2:1 handle 3: pfifo limit 4")
    fill(lab, 2, 2, 10)
    lab.expect(control=waiting(2), contrib=waiting(2), other=waiting(4, 1, 6), blocks=4)
    parent_agrees(lab)
    run(f"tc qdisc del dev {DEV} parent 2:1")
    lab.expect(control=waiting(2), contrib=waiting(2), other=waiting(0, 1, 0), blocks=4)
    equal(lab.rtnl.queue(0x10000)["qlen"], 4, "packets waiting in the parent without the child")
    fill(lab, 0, 0, 3)
    lab.thaw()
    lab.expect(control=waiting(0, 2), contrib=waiting(0, 2), other={"packets": 5}, blocks=4)
    done = subprocess.run(f"tc qdisc add dev {DEV} parent 2:2 pfifo".split(), stderr=subprocess.PIPE, check=False)
    assert done.returncode, "a qdisc was put into a group"


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


@test("options, qdiscs and links changed while packets flow")
def t_churn(lab):
    seed = int(os.environ.get("SEED") or random.randrange(1 << 32))
    print(f"# SEED={seed}")
    rnd = random.Random(seed)
    lab.under_tbf("tbf rate 50mbit burst 50000 limit 100000000")
    lab.flood([(pk.inc("contrib", 1000) * 16, pk.INC_PORT)], segment=1000)
    lab.flood([(bytes(1000), OTHER_PORT)])
    # These go strictly before contributions, so they must not fill INC's part of the link: 50 Mbit/s * 80 % would be
    # 14600 of them in a second, these are 1000 at most.
    lab.flood([(pk.inc("result", 300), pk.INC_PORT)], pause=0.001)
    rounds = 200 if os.environ.get("FULL") == "1" else 40
    for i in range(rounds):
        want = {"share": rnd.randint(1, 99), "limit": rnd.choice((1, 5, 100, 1000)),
                "port": rnd.choice((pk.INC_PORT, OTHER_PORT, 1234)), "target": rnd.choice((1, 2000, 10000000))}
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
    lab.change(share=80, limit=1000, port=pk.INC_PORT)
    before = lab.rtnl.stats()
    wait_until(lambda: all(lab.rtnl.stats()[c]["packets"] > before[c]["packets"] + 100 for c in nl.CLASSES),
               lambda: f"every class flows after the changes; before: {before}, now: {lab.rtnl.stats()}")
    lab.stop_floods()
    run(f"tc qdisc change dev {DEV} root handle 1: {OPEN}")
    lab.other()
    wait_until(lambda: lab.rtnl.queue(0x20000)["qlen"] == 0, "all have left")
    parent_agrees(lab, ("packets", "bytes", "qlen", "backlog"))     # what a child has dropped goes with it


# The tool, the module

@test("the inc tool shows the same options and counters")
def t_tool(lab):
    lab.fresh(share=70, limit=17, port=5300)
    lab.udp.sendto(pk.inc("contrib", 1000), (DST, 5300))
    lab.udp.sendto(pk.inc("result", 500), (DST, 5300))
    lab.other(100)
    lab.counts(control=1, contrib=1, other=1)
    if not shutil.which("inc"):
        raise Skip("the inc tool is not on PATH")
    shown = json.loads(run(f"inc -j -s qdisc show dev {DEV}"))
    equal(len(shown), 1, "qdiscs shown")
    equal(shown[0]["options"], lab.rtnl.options(), "options shown")
    stats = lab.rtnl.stats()
    equal(shown[0]["stats"]["blocks"], stats.pop("blocks"), "blocks shown")
    for cls, counters in shown[0]["stats"]["classes"].items():
        equal(sum(d["packets"] for d in counters["delay"]), counters["packets"], f"packets by the time that {cls} waited")
        counters["delay"] = stats[cls]["delay"]
    equal(shown[0]["stats"]["classes"], stats, "classes shown")
    equal(shown[0]["stats"]["groups"], [{"group": 7, "weight": 1, "packets": 1, "bytes": HEADERS + 1000, "drops": 0,
                                         "marks": 0, "qlen": 0, "backlog": 0}], "groups shown")


@test("the inc tool adds, changes, replaces and deletes it")
def t_tool_sets(lab):
    if not shutil.which("inc"):
        raise Skip("the inc tool is not on PATH")
    lab.clear()
    run(f"inc qdisc add dev {DEV} handle 5: share 60 limit 9 port 4444 weight 7:2,4294967295:256 target 300")
    want, weights = {"share": 60, "limit": 9, "port": 4444, "target": 300}, {7: 2, 0xFFFFFFFF: 256}
    equal((lab.rtnl.options(), lab.rtnl.weights()), (want, weights), "options added")
    equal(json.loads(run("inc -j qdisc show"))[0]["options"],
          want | {"weights": [{"group": g, "weight": w} for g, w in weights.items()]}, "options shown")
    run(f"inc qdisc change dev {DEV} limit 10")
    equal((lab.rtnl.options(), lab.rtnl.weights()), (want | {"limit": 10}, weights), "options changed")
    for wrong in ("add", "change handle 6:", "del handle 6:"):
        done = subprocess.run(f"inc qdisc {wrong.split()[0]} dev {DEV} {' '.join(wrong.split()[1:])}".split(),
                              stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 1 and done.stderr.startswith(f"inc: qdisc {wrong.split()[0]}: "), f"{wrong}: {done}"
    run(f"inc qdisc change dev {DEV} weight none")
    equal((lab.rtnl.options(), lab.rtnl.weights()), (want | {"limit": 10}, {}), "weights taken away")
    run(f"inc qdisc replace dev {DEV} handle 6: share 61")
    equal(lab.rtnl.options(), {"share": 61, "limit": 1000, "port": pk.INC_PORT, "target": 2000},
          "options of the new one")
    run(f"inc qdisc del dev {DEV}")
    equal(json.loads(run(f"inc -j qdisc show dev {DEV}")), [], "qdiscs after del")
    lab.clear()
    run(f"tc qdisc add dev {DEV} root handle 1: {OPEN}")
    run(f"inc qdisc add dev {DEV} parent 1:1 handle 2: share 33")
    equal(lab.rtnl.options()["share"], 33, "share below a token bucket")


@test("the module cannot go while it is in use")
def t_in_use(lab):
    lab.fresh()
    equal(nl.module_refs("sch_inc"), 1, "users of the module")
    done = subprocess.run(["rmmod", "sch_inc"], stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode and "in use" in done.stderr, f"rmmod: status {done.returncode}, {done.stderr!r}"
    lab.inc()
    lab.counts(contrib=1)


def unload(lab):
    run("modprobe sch_inc")
    lab.clear()
    wait_until(lambda: nl.module_refs("sch_inc") == 0, lambda: f"{nl.module_refs('sch_inc')} users of the module")
    run("rmmod sch_inc")
    equal(nl.module_refs("sch_inc"), None, "users of the module that was unloaded")


@test("tc alone loads the module")
def t_autoload(lab):
    # The kernel starts modprobe with the root of its own threads, which in a guest need not be ours.
    modules = f"/lib/modules/{os.uname().release}/modules.dep"
    if not os.path.exists("/proc/2/root" + modules):
        raise Skip(f"the kernel's own threads see no {modules}")
    unload(lab)
    run(f"tc qdisc add dev {DEV} root inc")
    equal(lab.rtnl.options()["share"], 80, "share")


@test("the module unloads after the last qdisc")
def t_unload(lab):
    unload(lab)


def main():
    chosen = [t for t in TESTS if not sys.argv[1:] or any(word in t[0] for word in sys.argv[1:])]
    if not chosen:
        sys.exit(f"qdisc_tests.py: no test has {' or '.join(sys.argv[1:])} in its name")
    failed = 0
    print(f"1..{len(chosen)}", flush=True)
    lab = Lab()
    neighbours()
    for number, (name, function) in enumerate(chosen, 1):
        verdict, note, begin = "ok", "", time.monotonic()
        try:
            function(lab)
        except Skip as skip:
            note = f" # SKIP {skip}"
        except Exception:               # whatever it is, the other tests go on
            verdict, failed = "not ok", failed + 1
            print("# " + traceback.format_exc().rstrip().replace("\n", "\n# "))
        finally:
            lab.stop_floods()
        if time.monotonic() - begin > 5:
            print(f"# {time.monotonic() - begin:.1f} s")
        print(f"{verdict} {number} - {name}{note}", flush=True)
    sys.exit(1 if failed else 0)


main()
