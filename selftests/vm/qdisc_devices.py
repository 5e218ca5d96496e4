# SPDX-License-Identifier: GPL-2.0-only
"""sch_inc on devices with several queues, and in a bridge."""

import socket

import qdisc_packets as pk
import qdisc_rtnl as nl
from qdisc_lab import DEV, OTHER_PORT, PEER, equal, mac, mac_text, neighbours, run, test, udp_socket, wait_until


@test("one in each queue of a device that has several")
def t_mq(lab):
    lab.clear()
    run("ip link add inc-m0 numtxqueues 4 numrxqueues 4 type veth peer name inc-m1 numtxqueues 4 numrxqueues 4")
    try:
        many = nl.Rtnl("inc-m0")
        run("ip link set inc-m0 up")
        run("ip link set inc-m1 up")
        run("ip addr add 10.9.1.1/24 dev inc-m0")
        run(f"ip neigh replace 10.9.1.2 lladdr {mac_text('inc-m1')} nud permanent dev inc-m0")
        run("tc qdisc replace dev inc-m0 root handle 1: mq")
        handles = [0x100000 * queue for queue in range(1, 5)]
        for queue, handle in enumerate(handles, 1):
            many.set([(nl.SHARE, nl.u32(10 * queue))], nl.NLM_F_CREATE | nl.NLM_F_EXCL, handle,
                     0x10000 + queue)
        sockets = [udp_socket() for _ in range(64)]     # the source port says which queue
        for s in sockets:
            for data, port in ((pk.inc("contrib"), pk.INC_PORT), (pk.inc("result"), pk.INC_PORT),
                               (b"", OTHER_PORT)):
                s.sendto(data, ("10.9.1.2", port))
            s.close()
        stats = [many.stats(handle) for handle in handles]
        for cls in nl.CLASSES:
            equal(sum(s[cls]["packets"] for s in stats), 64,
                  f"packets of class {cls} in all queues")
        assert sum(s["contrib"]["packets"] > 0 for s in stats) > 1, f"all in one queue: {stats}"
        for handle, share in zip(handles, (1, 2, 3, 4)):
            many.set([(nl.SHARE, nl.u32(share))], 0, handle, 0x10000 + (handle >> 20))
            equal(nl.parse(many.qdiscs()[handle][2][nl.TCA_OPTIONS])[nl.SHARE], nl.u32(share),
                  "share of one queue")
    finally:
        run("ip link del inc-m0")


@test("at the port of a bridge")
def t_bridge(lab):
    lab.fresh()
    run("ip link add inc-br type bridge")
    try:
        run("ip link add inc-b0 type veth peer name inc-b1")
        run(f"ip link set {DEV} master inc-br")
        run("ip link set inc-b0 master inc-br")
        for dev in ("inc-br", "inc-b0", "inc-b1"):
            run(f"ip link set {dev} up")
        wait_until(lambda: "forwarding" in run("bridge link show dev inc-b0"),
                   "the bridge forwards")
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as s:
            s.bind(("inc-b1", 0))
            for kind, count in (("contrib", 7), ("result", 5)):
                for _ in range(count):
                    s.send(pk.frame(pk.ipv4(pk.udp(pk.inc(kind))), pk.ETH_IPV4, mac(PEER),
                                    mac("inc-b1")))
            for _ in range(3):
                s.send(pk.frame(pk.ipv4(pk.udp(bytes(50), dport=OTHER_PORT)), pk.ETH_IPV4,
                                mac(PEER), mac("inc-b1")))
        # the bridge has something of its own to say
        wait_until(lambda: lab.rtnl.stats()["other"]["packets"] >= 3, "the rest has passed")
        stats = lab.rtnl.stats()
        equal((stats["control"]["packets"], stats["contrib"]["packets"], stats["blocks"]),
              (5, 7, 12), "INC")
    finally:
        run(f"ip link set {DEV} nomaster")
        run("ip link del inc-br")
        run("ip link del inc-b0")
        neighbours()
