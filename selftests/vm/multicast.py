# SPDX-License-Identifier: GPL-2.0-only
"""
Results by IP multicast: the node, h5, has one port at a bridge that knows nothing of INC, as h1 ..
h4, the ranks, have. Started by 48-multicast.sh.
"""
import array
import json
import socket
import struct

import inc_abi as abi
import inc_wire as w
from inc_abi import Job, equal, show, test, tool, wait_until

NODE, RANKS, OTHER = "h5", ("h1", "h2", "h3", "h4"), "h6"
RANGE = "239.77.0.0/16"
N = 100000              # elements of an operation, 400 kB


class Lab:
    def __init__(self):
        self.number, self.last = 100, None

    def job(self, groups=RANGE):
        set_range(groups)
        self.number += 1
        self.last = Job(self.number, RANKS)
        return self.last

    def recover(self):
        """A test has failed: the next one finds what it expects."""
        for host in RANKS:
            flood(host, True)
        if self.last:
            self.last.close()


LAB = Lab()


def bridge(*what):
    tool("ip", "-n", "sw", "link", "set", "br0", "type", "bridge", *what)


def snoops():
    """Is this a kernel whose bridges do?"""
    shown = json.loads(tool("ip", "-n", "sw", "-d", "-j", "link", "show", "br0"))
    return "mcast_querier" in shown[0]["linkinfo"]["info_data"]


def all_ports():
    """Multicast goes to all ports that may be flooded."""
    if snoops():
        bridge("mcast_snooping", "0")


def flood(host, on):
    tool("bridge", "-n", "sw", "link", "set", "dev", f"p{host[1]}", "mcast_flood",
         "on" if on else "off")


def set_range(what):
    tool("inc", "-n", NODE, "node", "set", "dev", "eth0", "multicast", what)


def at_node(key):
    """Of the last job's group; one of before may still be there for a moment."""
    found = [g for g in show(NODE, "group") if g["group"] == LAB.number]
    return found[0].get(key) if found else None


def hear(count):
    wait_until(lambda: at_node("hearing") == count,
               lambda: f"{count} ranks hear, {at_node('hearing')} do")


def link_bytes(ns):
    """IP bytes that have left eth0."""
    text = tool("tc", "-n", ns, "-s", "-j", "qdisc", "show", "dev", "eth0", "root")
    return json.loads(text)[0]["bytes"]


def in_bytes(ns):
    return json.loads(tool("ip", "-n", ns, "-s", "-j", "link", "show", "dev", "eth0"))[0][
        "stats64"]["rx"]["bytes"]


def memberships(ns):
    shown = json.loads(tool("ip", "-n", ns, "-j", "maddr", "show", "dev", "eth0"))
    return [m["address"] for m in shown[0]["maddr"] if m.get("family") == "inet"
            and m["address"].startswith("239.")]


class Traffic:
    """What an operation has taken: of the node's link, and counters."""

    def __init__(self, job, k=0):
        before = {ns: abi.counters(ns) for ns in (NODE, *RANKS)}
        sent, other = link_bytes(NODE), in_bytes(OTHER)
        job.run(N, k)
        self.link = link_bytes(NODE) - sent
        self.other = in_bytes(OTHER) - other
        self.more = {ns: {c: v - before[ns][c] for c, v in abi.counters(ns).items()}
                     for ns in before}
        self.node = self.more[NODE]
        self.blocks = self.node["blocks"]
        # headers of IP, UDP and INC, and the link's own
        self.once = 4 * N + self.blocks * (20 + 8 + 48 + 14)

    def expect_once(self, calls=0):
        """A packet for each result, and at most so many calls to who does not hear."""
        more = self.node["multicast"] - self.blocks
        if not 0 <= more <= calls:
            raise AssertionError(f"{self.node['multicast']} packets by multicast, expected {self.blocks} results "
                                 f"and at most {calls} calls")

    def expect_link(self, copies):
        """So many copies of the results, what is sent again to one, and some packets beside."""
        low, high = 4 * N * copies, self.once * copies + 80 * 1024
        high += self.node["results_resent"] * 1514
        if not low <= self.link <= high:
            raise AssertionError(f"{self.link} bytes left the node, expected {low}..{high}: {self.node}")


@test("off: a copy for each rank")
def _(lab):
    job = lab.job("none")
    equal(at_node("multicast"), None, "multicast group")
    t = Traffic(job)
    t.expect_link(4)
    equal(t.node["multicast"], 0, "packets by multicast")
    equal([memberships(ns) for ns in RANKS], [[]] * 4, "multicast groups that the hosts are in")
    job.close()


@test("a bridge without querier: results go once")
def _(lab):
    job = lab.job()
    hear(4)
    group = at_node("multicast")
    equal(group.startswith("239.77."), True, f"multicast group {group}")
    equal([memberships(ns) for ns in RANKS], [[group]] * 4, "multicast groups that the hosts are in")
    t = Traffic(job)
    t.expect_link(1)
    t.expect_once()
    for ns in RANKS:
        equal(t.more[ns]["multicast"], t.blocks, f"packets by multicast at {ns}")
        equal(t.more[ns]["results"], t.blocks, f"results at {ns}")
    job.close()
    wait_until(lambda: not any(memberships(ns) for ns in RANKS), "the hosts leave the group")


@test("barriers, and operations with one receiver, among them")
def _(lab):
    job = lab.job()
    hear(4)
    before = abi.counters(NODE)
    handles = [r.submit(coll=abi.BARRIER, dtype=0, op=0) for r in job.ranks]
    for rank, handle in zip(job.ranks, handles):
        equal(rank.wait(handle).result, 0, "barrier")
    more = abi.counters(NODE)["multicast"] - before["multicast"]
    equal(more, 1, "packets by multicast for a barrier")
    bufs = [array.array("i", range(1000) if r.rank == 1 else bytes(4000)) for r in job.ranks]
    handles = [r.submit(coll=abi.BROADCAST, op=0, root=1, count=1000, send=b.buffer_info()[0],
                        recv=b.buffer_info()[0]) for r, b in zip(job.ranks, bufs)]
    for rank, handle, buf in zip(job.ranks, handles, bufs):
        equal(rank.wait(handle).result, 0, "broadcast")
        equal(list(buf), list(range(1000)), f"broadcast at rank {rank.rank}")
    job.run(1000, 3)
    job.close()


@test("a bridge with querier: who is in no group hears nothing")
def _(lab):
    if not snoops():
        raise abi.Skip("the kernel's bridges have no IGMP snooping")
    bridge("mcast_query_response_interval", "100", "mcast_querier", "1")
    job = lab.job()
    hear(4)
    group = at_node("multicast")

    def entries():
        shown = json.loads(tool("bridge", "-n", "sw", "-j", "mdb", "show"))
        return sorted(e["port"] for e in shown[0]["mdb"] if e["grp"] == group)
    wait_until(lambda: entries() == ["p1", "p2", "p3", "p4"], lambda: f"the bridge knows {entries()}")

    def is_snooping():
        t = Traffic(job)
        t.expect_link(1)
        t.expect_once()
        return t.other < N
    wait_until(is_snooping, "the other host is spared")
    job.close()
    bridge("mcast_querier", "0")


@test("a host that multicast does not reach is served by unicast")
def _(lab):
    all_ports()
    flood("h3", False)
    job = lab.job()
    hear(3)
    t = Traffic(job)
    t.expect_link(2)
    t.expect_once(calls=16)
    equal(t.more["h3"]["multicast"], 0, "packets by multicast at h3")
    equal(t.more["h3"]["results"], t.blocks, "results at h3")
    equal(t.node["results_resent"] < t.blocks / 4, True, f"{t.node['results_resent']} sent again")
    members = {m["rank"]: m.get("hears", False) for m in show(NODE, "member")
               if m["group"] == LAB.number}
    equal(members, {0: True, 1: True, 2: False, 3: True}, "who hears")
    # and then it does
    flood("h3", True)
    hear(4)
    t = Traffic(job, 1)
    t.expect_link(1)
    job.close()


@test("multicast ceases to reach a host: it is found, and nothing is lost")
def _(lab):
    all_ports()
    job = lab.job()
    hear(4)
    flood("h2", False)
    t = Traffic(job)
    equal(t.more["h2"]["results"], t.blocks, "results at h2")
    equal(t.node["results_resent"] > 0, True, "results are sent again")

    def found():
        job.run(N, 1)
        return at_node("hearing") == 3
    wait_until(found, "the node finds that h2 is deaf")
    t = Traffic(job, 2)
    t.expect_link(2)
    equal(t.more["h2"]["results"], t.blocks, "results at h2")
    flood("h2", True)
    hear(4)
    Traffic(job, 3).expect_link(1)
    job.close()


def send_to_group(ns, group, payload):
    with w.netns(ns):
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        by = socket.if_nametoindex("eth0")
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, struct.pack("=8xi", by))
    sock.sendto(payload, (group, w.PORT))
    sock.close()


@test("what others send to the group is dropped, and counted")
def _(lab):
    job = lab.job()
    hear(4)
    group = at_node("multicast")
    run = int(str(at_node("incarnation")), 0)
    for kind, counter in ((w.RESULT, "drop_cookie"), (w.PEERS, "drop_cookie"),
                          (w.ERROR, "drop_address"), (w.JOIN, "drop_address"),
                          (w.STATUS, "drop_address")):
        before = abi.counters("h1")[counter]
        packet = w.Packet(kind, bytes(w.MIN_BODY.get(kind, 0)), group=job.group, incarnation=run,
                          epoch=1, cookie=12345,
                          flags=w.F_MULTICAST if kind == w.PEERS else 0)
        send_to_group(OTHER, group, packet.pack())
        wait_until(lambda b=before, c=counter: abi.counters("h1")[c] > b,
                   f"{counter} counts packet type {kind}")
    job.run(N, 5)
    job.close()


if __name__ == "__main__":
    abi.main(LAB)
