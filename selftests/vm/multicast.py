# SPDX-License-Identifier: GPL-2.0-only
"""
Results by IP multicast: the node, h5, has one port at a bridge that knows nothing of INC, as h1 ..
h4, the ranks, have. Started by 48-multicast.sh.
"""
import array
import json
import socket
import struct
import time

import inc_abi as abi
import inc_wire as w
from inc_abi import Job, equal, show, test, tool, wait_until

NODE, RANKS, OTHER = "h5", ("h1", "h2", "h3", "h4"), "h6"
RANGE = "239.77.0.0/16"
NODE_IP = "10.7.0.5"
STRANGE = "239.78.1.1"  # none of these
N = 100000              # elements of an operation, 400 kB
CALLS, AT_ONCE = 800, 40        # that a member makes up
SOL_UDP, UDP_SEGMENT, IP_TRANSPARENT = 17, 103, 19


class Lab:
    def __init__(self):
        self.number, self.jobs = 100, []

    def job(self, groups=RANGE, ranks=RANKS):
        set_range(groups)
        self.number += 1
        self.jobs.append(Job(self.number, ranks))
        return self.jobs[-1]

    def recover(self):
        """A test has failed: the next one finds what it expects."""
        for host in RANKS:
            flood(host, True)
        for job in self.jobs:
            job.close()


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


def at_node(key, job=None):
    """Of this job's group, or the last one's; one of before may still be there for a moment."""
    number = job.group if job else LAB.number
    found = [g for g in show(NODE, "group") if g["group"] == number]
    return found[0].get(key) if found else None


def as_nobody(ns, key):
    """The same, and of a rank, as it is told to who has no rights there."""
    text = tool("ip", "netns", "exec", ns, "setpriv", "--reuid", "65534", "--regid", "65534",
                "--clear-groups", "--bounding-set=-all", "--inh-caps=-all", "inc", "-j", "group",
                "show")
    return [g.get(key) for g in json.loads(text) if g["group"] == LAB.number]


def hear(count, job=None):
    wait_until(lambda: at_node("hearing", job) == count,
               lambda: f"{count} ranks hear, {at_node('hearing', job)} do")


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
        shown = [g for g in show(ns, "group") if g["group"] == job.group]
        equal([(g["multicast"], g.get("hearing")) for g in shown], [(group, None)],
              f"what {ns} shows of it")
    # so is the incarnation: who has no rights there is not told where to listen
    equal([as_nobody(ns, "multicast") for ns in (NODE, "h1")], [[None]] * 2, "for everybody")
    equal(as_nobody(NODE, "hearing"), [4], "ranks that hear, for everybody")
    # groups that exist keep what they were formed with
    set_range("none")
    t = Traffic(job, 1)
    t.expect_link(1)
    t.expect_once()
    job.close()
    wait_until(lambda: not any(memberships(ns) for ns in RANKS), "the hosts leave the group")


@test("barriers, and operations with one receiver, among them")
def _(lab):
    job = lab.job()
    hear(4)

    def more(name, handles):
        """Packets by multicast, and blocks, of an operation that has been submitted."""
        for rank, handle in zip(job.ranks, handles):
            equal(rank.wait(handle).result, 0, f"{name} at rank {rank.rank}")
        after = abi.counters(NODE)
        return tuple(after[c] - before[c] for c in ("multicast", "blocks"))
    before = abi.counters(NODE)
    equal(more("barrier", [r.submit(coll=abi.BARRIER, dtype=0, op=0) for r in job.ranks]), (1, 1),
          "packets by multicast for a barrier")
    bufs = [array.array("i", range(1000) if r.rank == 1 else bytes(4000)) for r in job.ranks]
    before = abi.counters(NODE)
    sent, blocks = more("broadcast", [
        r.submit(coll=abi.BROADCAST, op=0, root=1, count=1000, send=b.buffer_info()[0],
                 recv=b.buffer_info()[0]) for r, b in zip(job.ranks, bufs)])
    equal(sent, blocks, "packets by multicast where all want the elements but the root")
    for rank, buf in zip(job.ranks, bufs):
        equal(list(buf), list(range(1000)), f"broadcast at rank {rank.rank}")
    # one of four wants them: they would go to three for nothing
    bufs = [array.array("i", range(1000)) for _ in job.ranks]
    got = array.array("i", bytes(4000))
    before = abi.counters(NODE)
    sent, blocks = more("reduce", [
        r.submit(coll=abi.REDUCE, root=2, count=1000, send=b.buffer_info()[0],
                 recv=got.buffer_info()[0] if r.rank == 2 else 0)
        for r, b in zip(job.ranks, bufs)])
    equal((sent, blocks > 1), (0, True), "packets by multicast where one wants the elements")
    equal(list(got), list(range(0, 4000, 4)), "reduce at its root")
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


@test("two groups that happen to have one address")
def _(lab):
    all_ports()
    one = "239.77.1.1/32"
    here, there = lab.job(one, ("h1", "h2", "h3")), lab.job(one, ("h3", "h4"))
    for job, count in ((here, 3), (there, 2)):
        hear(count, job)
    equal([at_node("multicast", job) for job in (here, there)], ["239.77.1.1"] * 2, "addresses")
    t = Traffic(here)
    t.expect_link(1)
    t.expect_once()
    # of h4 nobody is in it; h3, which is in both, takes its own
    equal([t.more[ns]["multicast"] for ns in RANKS], [t.blocks] * 3 + [0], "packets by multicast")
    equal(t.more["h4"]["drop_no_group"] > 0, True, "h4 drops them")
    equal(t.more["h3"]["drop_no_group"], 0, "h3 drops none")
    here.close()
    wait_until(lambda: memberships("h1") == [], "h1 leaves it")
    # h3 stays in it for the other one
    t = Traffic(there)
    t.expect_link(1)
    t.expect_once()
    equal([t.more[ns]["multicast"] for ns in RANKS], [0, 0, t.blocks, t.blocks],
          "packets by multicast")
    there.close()


@test("what is sent to the group stays on the link, and is the node's")
def _(lab):
    all_ports()
    job = lab.job()
    hear(4)
    group = at_node("multicast")
    tap = w.Tap(OTHER)
    t = Traffic(job)
    t.expect_once()
    frames = [f for f in tap.frames() if f.dst == group]
    equal(sum(len(f.units()) for f in frames), t.blocks, "results that come to a host beside")
    heads = {(f.raw[:6], f.raw[22], f.src, f.outgoing) for f in frames}
    low = socket.inet_aton(group)[1:]
    mac = bytes((1, 0, 0x5e, low[0] & 0x7f, *low[1:]))
    equal(heads, {(mac, 1, "10.7.0.5", False)}, "link address, TTL, sender")
    job.close()


def send_to_group(ns, group, payload):
    with w.netns(ns):
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        by = socket.if_nametoindex("eth0")
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, struct.pack("=8xi", by))
    sock.sendto(payload, (group, w.PORT))
    sock.close()


def join_group(ns, group):
    """Returns a socket that is in it."""
    with w.netns(ns):
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        by = socket.if_nametoindex("eth0")
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                    socket.inet_aton(group) + struct.pack("=4xi", by))
    return sock


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
    # a result of the node's, again: from somebody else's address; to a group that another program
    # of the host is in, and no rank
    tap = w.Tap("h1")
    job.run(1000, 4)
    result = [p for f in tap.frames() if f.dst == group for p in f.units()][-1]
    equal(result.kind, w.RESULT, "type of what comes by multicast")
    program = join_group("h1", STRANGE)
    for ns, to, counter in ((OTHER, group, "drop_port"), (NODE, STRANGE, "drop_address"),
                            (NODE, group, "drop_duplicate")):
        before = abi.counters("h1")
        send_to_group(ns, to, result.pack())
        wait_until(lambda b=before, c=counter: abi.counters("h1")[c] == b[c] + 1,
                   lambda c=counter: f"{c} counts a result: {abi.drops('h1')}")
        equal(abi.counters("h1")["multicast"] - before["multicast"],
              int(counter == "drop_duplicate"), f"packets by multicast beside {counter}")
    program.close()
    job.run(N, 5)
    job.close()


class Liar:
    """A socket at @ns with the node's address, whose super-packets go to the group @dst."""

    def __init__(self, ns, dst):
        with w.netns(ns):
            self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            by = socket.if_nametoindex("eth0")
        self.dst = dst
        self.sock.setsockopt(socket.IPPROTO_IP, IP_TRANSPARENT, 1)
        self.sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, struct.pack("=8xi", by))
        self.sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
        self.sock.bind((NODE_IP, 0))

    def send(self, units):
        self.sock.setsockopt(SOL_UDP, UDP_SEGMENT, len(units[0]))
        self.sock.sendto(b"".join(units), (self.dst, w.PORT))


def forged(tap, down, src, dst, kind, body=b"", **fields):
    """
    A frame from @src, to all of the group @dst or to a host there, with what @down has of the node.
    """
    packet = w.Packet(kind, body, group=down.group, incarnation=down.incarnation,
                      epoch=down.epoch, cookie=down.cookie, **fields)
    a = address(dst)
    mac = bytes((1, 0, 0x5e, a[1] & 0x7f, *a[2:])) if a[0] >= 224 else mac_of(dst)
    return w.ether(tap.mac, mac, w.ip(src, dst, w.udp(src, dst, packet.pack())))


def address(text):
    return socket.inet_pton(socket.AF_INET, text)


def mac_of(ip):
    shown = json.loads(tool("ip", "-n", f"h{ip[-1]}", "-j", "link", "show", "dev", "eth0"))
    return bytes.fromhex(shown[0]["address"].replace(":", ""))


def drops_one(ns, counter, tap, frame):
    before = abi.counters(ns)[counter]
    tap.send(frame)
    wait_until(lambda: abi.counters(ns)[counter] == before + 1, f"{counter} at {ns}")


@test("a member lies by multicast: calls are answered seldom, and the rest is dropped")
def _(lab):
    all_ports()
    tap = w.Tap("h4")
    job = lab.job()
    hear(4)
    job.run(1000, 1)
    group = at_node("multicast")
    down = [p for p in tap.packets(w.RESULT, outgoing=False) if p.group == job.group][-1]
    # by its own address, and where else they are to go
    drops_one("h1", "drop_port", tap, forged(tap, down, "10.7.0.4", group, w.RESULT,
                                             psn=down.psn + 1, opseq=down.opseq + 1))
    for first, to in ((0, "239.77.255.1"), (5, group)):
        drops_one("h1", "drop_malformed", tap,
                  forged(tap, down, NODE_IP, "10.7.0.1", w.PEERS, w.peers_body(first, 1, to),
                         flags=w.F_MULTICAST))
    equal(memberships("h1"), [group], "multicast groups that h1 is in")
    # the others answer
    calls = [w.Packet(w.PEERS, w.peers_body(1000 + i, 1, group), group=down.group,
                      incarnation=down.incarnation, epoch=down.epoch, cookie=down.cookie,
                      flags=w.F_MULTICAST).pack() for i in range(CALLS)]
    liar = Liar("h4", group)
    heard, probes = abi.counters("h1")["multicast"], abi.counters(NODE)["probes"]
    begin = time.monotonic()
    for i in range(0, CALLS, AT_ONCE):
        liar.send(calls[i:i + AT_ONCE])
    took = time.monotonic() - begin
    wait_until(lambda: abi.counters("h1")["multicast"] >= heard + CALLS, "h1 has all calls")
    most = 3 * (int(took * 1000) + 20)          # and idle ranks' own
    probes = abi.counters(NODE)["probes"] - probes
    equal(0 < probes <= most, True, f"{probes} PROBEs in {took:.3f} s, at most {most}")
    # the node calls again, when somebody says something
    job.run(N, 2)
    hear(4)
    Traffic(job, 3).expect_link(1)
    job.close()


if __name__ == "__main__":
    abi.main(LAB)
