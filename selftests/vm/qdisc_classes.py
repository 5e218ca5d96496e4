# SPDX-License-Identifier: GPL-2.0-only
"""What sch_inc takes for INC, and of which class."""

import socket
import sys

import inc_wire
import qdisc_packets as pk
from qdisc_lab import DEV, DST, DST6, HEADERS, PEER, mac, mac_text, mtu, run, test, udp_socket, wait_until


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
    bad = [pk.inc(version=0), pk.inc(version=2), pk.inc(kind=0), pk.inc(flags=0x801),
           pk.inc(flags=0x8001), pk.inc(span=0), pk.inc(span=2), pk.inc(length=44),
           pk.inc(length=52), pk.inc(flags=0),
           pk.inc("join", 48), pk.inc("ready", 60), pk.inc()[:47], pk.inc()[:1], b"", b"\0" * 48,
           b"\xff" * 96]
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
    bad = [pk.ipv4(datagram, frag=0x2000), pk.ipv4(datagram, frag=5),
           pk.ipv4(datagram, frag=0x2005),
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
           pk.ipv6(datagram, version=4), pk.ipv6(datagram, ((6, b""),)),
           pk.ipv6(datagram, ((59, *pad),)),
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
                        (pk.ipv6(pk.udp(pk.inc(total=64)),
                                 ((pk.HOP_BY_HOP, b"\0\x01\x04\0\0\0\0"),)), pk.ETH_IPV6)):
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
                s.send(vnet + pk.frame(data, ether, mac(PEER), mac(DEV),
                                       [(pk.ETH_8021Q, 3)] if linear == 20 else ()))
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
    lab.expect(contrib={"packets": 0, "qlen": 1, "backlog": length}, other={"packets": 58},
               blocks=40)
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
            return (stats["blocks"] == 21
                    and all((stats[c]["packets"], stats[c]["bytes"]) == want[c] for c in want))

        wait_until(counted, lambda: f"counters {want}; they are {lab.rtnl.stats()}")
    finally:
        ipv6("1")
