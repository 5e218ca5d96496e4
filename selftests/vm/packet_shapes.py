# SPDX-License-Identifier: GPL-2.0-only
"""
Packets in the shapes that other parts of the kernel give them: copies and detours of tc, generic
XDP, and what comes from pages of a user or of a guest. Started by 34-network.sh.
"""
import array
import contextlib
import errno
import os
import random
import signal

import inc_abi as abi
import inc_wire as w
import xdp
from inc_abi import NODE4, Job, equal, test, tool, wait_until
from inc_member import HonestRanks, Members
from inc_proc import RNG, beside, new_group
from raw_links import GSO_NONE, GSO_TCP4, GSO_TCP6, GSO_UDP, GSO_UFO, Ring, TapDevice, ZeroCopy, \
    partial, vnet
from tc_mirred import copied, mirred

NOT_OURS = GSO_UFO, GSO_TCP4, GSO_TCP6  # kinds of super-packets
HOSTS = ("h1", "h2", "h3")
REFUSALS = errno.EINVAL, errno.EMSGSIZE, errno.ENOBUFS, errno.ENOMEM
SIZES = (1, 700, 20000, 5)
WHOLE = 300                             # elements, of one block


class RandomJob(Job):
    """A job whose elements are drawn, again the same for the same rank and operation."""

    def values(self, rank, n, k):
        rng = random.Random(f"{self.group} {rank} {n} {k}")
        return [rng.randrange(-1 << 28, 1 << 28) for _ in range(n)]

    def several(self, sizes=SIZES):
        for k, n in enumerate(sizes):
            self.run(n, k)


class Growth:
    """How much counters of a namespace have grown since then."""

    def __init__(self, ns):
        self.ns, self.before = ns, abi.counters(ns)

    def __getitem__(self, what):
        return abi.counters(self.ns)[what] - self.before[what]

    def drops(self):
        return {k: self[k] for k in self.before if k.startswith("drop_") and self[k]}


class Lab:
    def __init__(self):
        self.taps = {ns: w.Tap(ns) for ns in ("h1", "h2", "h3", "h4")}
        self.node_mac = w.Tap("sw", "br0").mac
        self.node()

    def node(self):
        """A node without groups, for which nobody dies because a test takes its time."""
        tool("inc", "-n", "sw", "node", "del", "dev", "br0", check=False)
        tool("inc", "-n", "sw", "node", "add", "dev", "br0", "dead", "60000")
        wait_until(lambda: not abi.groups("sw"), "no group is left")

    recover = node

    @contextlib.contextmanager
    def job(self, hosts=HOSTS):
        job = RandomJob(new_group(), hosts)
        try:
            yield job
        finally:
            job.close()
        wait_until(lambda: job.group not in abi.groups("sw"), "the group is gone")

    @contextlib.contextmanager
    def party(self, device=None):
        party = Party(self, device)
        try:
            yield party
        finally:
            party.close()
            self.node()


class Party:
    """Two honest ranks at h1 and h2, and one that is played by hand, at h4 or behind a device."""

    def __init__(self, lab, device):
        self.tap = lab.taps["h1"]
        self.honest = HonestRanks(new_group(), ("h1", "h2"), 3)
        self.ranks, self.group = self.honest.ranks, self.honest.ranks[0].group
        self.member = Members("h4", device or lab.taps["h4"], lab.node_mac, self.group, [2], 3)
        if device:
            self.member.src = device.src
        self.member.join()
        self.honest.joined()
        self.grown = Growth("sw")

    def begin(self, n=WHOLE):
        """Rank 0 has contributed. Returns what rank 2 is to say, and what it brings."""
        self.tap.frames()
        self.grown = Growth("sw")
        self.values = [[RNG.randrange(-1 << 28, 1 << 28) for _ in range(n)] for _ in range(3)]
        self.handle = self.ranks[0].allreduce(self.values[0])
        seen = []
        wait_until(lambda: seen.extend(p for p in self.tap.packets(w.CONTRIB, outgoing=True)
                                       if p.group == self.group and p.flags & w.F_PAYLOAD) or seen,
                   "rank 0 contributes")
        wait_until(lambda: self.grown["contribs"] == 1, "rank 0's contribution is counted in")
        p = seen[0]
        descriptor = p.body[:32 if p.flags & w.F_DESC else 0]
        return p.but(child=2, cookie=self.member.ready[2].up, flags=p.flags & ~w.F_RETRANS,
                     body=descriptor + array.array("i", self.values[2]).tobytes())

    def taken(self):
        wait_until(lambda: self.grown["contribs"] == 2,
                   lambda: f"rank 2's is counted in: {self.grown.drops()}")

    def end(self, other=None):
        """Rank 1 contributes, too. @other: elements of rank 2, any of which may have been taken."""
        last = self.ranks[1].allreduce(self.values[1])
        want = array.array("i", [sum(v) for v in zip(*self.values)])
        if other is None:
            self.ranks[0].check(self.handle, want)
            self.ranks[1].check(last, want)
            return
        got = []
        for rank, handle in zip(self.ranks, (self.handle, last)):
            equal(rank.wait(handle).result, 0, f"rank {rank.rank}: result")
            got.append(rank.buffers.pop(handle)[1])
        equal(got[0], got[1], "what both ranks have")
        for i, value in enumerate(got[0]):
            both = want[i], want[i] - self.values[2][i] + other[i]
            if value not in both:
                raise AssertionError(f"element {i} is {value}, expected one of {both}")

    def end_somehow(self):
        """After anything: with one result for both, or an error."""
        try:
            last = self.ranks[1].allreduce(self.values[1])
        except OSError:
            last = None
        ends = [self.ranks[0].wait(self.handle)] + ([self.ranks[1].wait(last)] if last else [])
        if len(ends) == 2 and ends[0].result == ends[1].result == 0:
            equal(self.ranks[0].buffers[self.handle][1], self.ranks[1].buffers[last][1],
                  "what both ranks have")
        elif any(end.result == 0 for end in ends):
            raise AssertionError(f"one rank has a result, another one has none: {ends}")

    def frame(self, p, dst=NODE4):
        return self.ether(w.ip(self.member.src, dst, w.udp(self.member.src, dst, p.pack())))

    def ether(self, packet):
        return w.ether(self.member.tap.mac, self.member.node_mac, packet)

    def close(self):
        self.honest.close()
        self.member.close()


# tc

UP = ("h1", "eth0", "egress"), ("sw", "p1", "ingress")
DOWN = ("sw", "p1", "egress"), ("h1", "eth0", "ingress")


@test("shapes: what tc copies on the way to the node is counted in once")
def t_copies_up(lab):
    for where in UP:
        with lab.job() as job, copied(*where) as copies:
            up, node = Growth("h1"), Growth("sw")
            handles = job.begin([0])
            wait_until(lambda: up["contribs_sent"] and node["drop_duplicate"] ==
                       up["contribs_sent"] + 2 * up["contribs_resent"],
                       lambda: f"one of two is dropped: {where} {up['contribs_sent']} "
                               f"{node.drops()}")
            equal(node["contribs"], up["contribs_sent"], "contributions counted in")
            job.end({**handles, **job.begin([1, 2])})
            job.several()
            if copies.packets() < 4:
                raise AssertionError(f"tc has copied {copies.packets()} packets")


@test("shapes: what tc copies on the way to a rank is written once")
def t_copies_down(lab):
    for where in DOWN:
        with lab.job() as job, copied(*where) as copies:
            rank = Growth("h1")
            job.several()
            wait_until(lambda: sum(rank.drops().values()) >= rank["results"],
                       lambda: f"one of two is dropped: {where} {rank['results']} {rank.drops()}")
            equal(set(rank.drops()) - {"drop_duplicate", "drop_stale"}, set(), "other drops")
            if copies.packets() < 4:
                raise AssertionError(f"tc has copied {copies.packets()} packets")


@contextlib.contextmanager
def unlearned(port):
    """The bridge does not take it for a host's port whose packets come by it."""
    tool("bridge", "-n", "sw", "link", "set", "dev", port, "learning", "off")
    try:
        yield
    finally:
        tool("bridge", "-n", "sw", "link", "set", "dev", port, "learning", "on")


@test("shapes: what tc copies to another port is no member's there")
def t_copies_aside(lab):
    with unlearned("p4"), lab.job() as job, \
            mirred("sw", "p1", "ingress", "ingress mirror dev p4") as copies:
        node, seen = Growth("sw"), copies.packets()
        job.several((1, WHOLE, 5, 200))                 # of super-packets tc counts the segments
        wait_until(lambda: node["drop_port"] > 0 and node["drop_port"] == copies.packets() - seen,
                   lambda: f"copies are dropped: {copies.packets() - seen} {node.drops()}")
        job.several()


@test("shapes: ranks whose packets tc sends another way")
def t_detour(lab):
    tool("ip", "-n", "h2", "link", "add", "d0", "up", "type", "dummy")
    with mirred("sw", "p1", "ingress", "ingress redirect dev p4", protocol="all") as up, \
            mirred("sw", "p4", "egress", "egress redirect dev p1", protocol="all") as down, \
            mirred("h2", "eth0", "ingress", "ingress redirect dev d0") as aside:
        with lab.job() as job:
            job.several()
        for way in up, down, aside:
            if way.packets() < 5:
                raise AssertionError(f"{way.packets()} packets came by {way.where}")
    tool("ip", "-n", "h2", "link", "del", "d0")
    with lab.job() as job:                              # the bridge learns again where h1 is
        job.several()


# generic XDP

def with_program(lab, code, judge, places=(("sw", "p1"), ("h1", "eth0"))):
    for place in places:
        program = xdp.Program(code)
        with program.on(*place):
            grown = Growth(place[0])
            with lab.job() as job:
                job.several()
            judge(program, grown)
        program.close()


def least(what, got, n=5):
    if got < n:
        raise AssertionError(f"{what}: {got}, expected {n} or more")


@test("shapes: generic XDP that passes what it sees, at a port and at a rank")
def t_xdp_pass(lab):
    with_program(lab, lambda _: b"", lambda program, grown: least("frames seen", program[0]))


@test("shapes: generic XDP that moves a frame's head there and back")
def t_xdp_head(lab):
    def code(fd):
        return xdp.adjust(fd, xdp.ADJUST_HEAD, -32, 1, then=xdp.adjust(fd, xdp.ADJUST_HEAD, 32, 2))

    def judge(program, _):
        least("heads moved", program[1])
        equal(program[2], program[1], "heads moved back")

    with_program(lab, code, judge)


@test("shapes: generic XDP that makes frames longer: what follows is cut off")
def t_xdp_longer(lab):
    def judge(program, grown):
        least("frames made longer", program[1], 1)
        equal(grown["drop_malformed"] + grown["drop_checksum"], 0, "drops of them")

    with_program(lab, lambda fd: xdp.adjust(fd, xdp.ADJUST_TAIL, 8, 1), judge)


@test("shapes: generic XDP that makes frames shorter: each is dropped, and sent again")
def t_xdp_shorter(lab):
    def code(fd):
        return xdp.only_if_long(200, xdp.one_of(fd, 2, 2, xdp.adjust(fd, xdp.ADJUST_TAIL, -4, 1)))

    def judge(program, grown):
        least("frames made shorter", program[1], 1)
        equal(grown["drop_malformed"], program[1], "packets that are shorter than they say")

    with_program(lab, code, judge, places=(("sw", "p1"),))


# pages of a user or a guest

@test("shapes: pages that a member sends from are given back to it before others contribute")
def t_zerocopy(lab):
    sender = ZeroCopy("h4")
    with lab.party() as party:
        for _ in range(5):
            p, said = party.begin(), []
            sender.send(p.pack(), NODE4)
            party.taken()

            def given_back():
                said.append(sender.given_back())
                return said[-1] is not None

            wait_until(given_back, "the page is given back", 20)
            equal(said[-1], True, "the kernel has made a copy")
            sender.memory[:] = bytes([0xa5]) * len(sender.memory)
            party.end()
    sender.close()


@test("shapes: pages of a ring that change after they were sent: all ranks have the same result")
def t_ring(lab):
    ring = Ring("h4")
    with lab.party() as party:
        for _ in range(20):
            p = party.begin()
            other = [RNG.randrange(-1 << 28, 1 << 28) for _ in range(WHOLE)]
            frame = party.frame(p)
            at = ring.send(frame)
            party.taken()
            # headers, too: they were read
            headers = RNG.randbytes(len(frame) - 4 * WHOLE)
            ring.memory[at:at + len(frame)] = headers + array.array("i", other).tobytes()
            party.end(other)
    ring.close()


def random_header(size):
    return vnet(RNG.randrange(2), RNG.choice((GSO_NONE, GSO_NONE, GSO_UDP, *NOT_OURS)),
                RNG.randrange(size), RNG.choice((0, 1, 47, 48, 64, 500, 1456, 1500, 65535)),
                RNG.choice((14, 34, 34, 34, 90, size, 65535)), RNG.choice((0, 6, 6, 6, 16, 1000)))


class Junk:
    """From a ring, with headers of virtio: a member's packets, changed or not, and others'."""

    def __init__(self, party, p, replayed):
        self.party, self.p, self.replayed = party, p, replayed
        self.ring, self.sent, self.refused = Ring("h4", with_vnet=True), 0, 0

    def own(self):
        p = self.p
        other_block = p.but(psn=p.psn + RNG.randrange(4) & 0xffffffff)
        return self.party.frame(RNG.choice((p, other_block, p.but(kind=RNG.randrange(1, 16)))))

    def send(self):
        own = self.own()
        flipped = bytes((own[-1] ^ 1,))
        frame = RNG.choice((own, own[:-1] + flipped, own[:RNG.randrange(60, len(own))],
                            RNG.choice(self.replayed)))
        header = RNG.choice((vnet(), random_header(len(frame))))
        try:
            self.ring.send(header + frame)
            self.sent += 1
        except OSError as e:
            if e.errno not in REFUSALS:
                raise
            self.refused += 1
            self.ring = Ring("h4", with_vnet=True)


@contextlib.contextmanager
def scribbled(ring):
    before = ring.scribbled()
    pid = beside(lambda: ring.scribble(RNG.random()))
    try:
        wait_until(lambda: ring.scribbled() != before, "bytes change")
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@test("shapes: pages that change while they are sent, with any header of virtio, beside a job")
def t_ring_junk(lab):
    with lab.party() as party, lab.job() as job:
        lab.taps["h1"].frames()
        job.several((WHOLE, WHOLE))
        # with their checksums, which the link has not made
        replayed = [party.ether(w.ip(f.src, f.dst, w.udp(f.src, f.dst, f.data)))
                    for f in lab.taps["h1"].frames() if f.outgoing and len(f.raw) <= 1514]
        least("packets to send again", len(replayed), 1)
        junk = Junk(party, party.begin(), replayed)
        node = Growth("sw")
        for _ in range(100):
            junk.send()
        for k in range(10):
            with scribbled(junk.ring):
                for _ in range(30):
                    junk.send()
                job.run(700, k)
        job.several()
        print(f"{junk.sent} sent, {junk.refused} refused, {node.drops()}", flush=True)
        least("frames that were sent", junk.sent, 100)
        for reason in "drop_port", "drop_malformed", "drop_checksum":
            least(reason, node[reason], 1)
        party.member.send(junk.p)
        party.end_somehow()


def super_packets(unit):
    """None of them is one of INC's: kind, data, gso_size."""
    for gso in (*NOT_OURS, GSO_UDP):
        for size in 1, 47, 48, 500:
            yield gso, unit, size
    for gso in NOT_OURS:
        yield gso, unit * 2, len(unit)


@test("shapes: a guest behind a tap: checksums still to be made, super-packets that are none")
def t_tap(lab):
    guest = TapDevice("tap5", 5)
    with lab.party(guest) as party:
        for _ in range(3):
            p, bad = party.begin(), 0
            for gso, data, size in super_packets(p.pack()):
                header, packet = partial(guest.src, NODE4, data, gso=gso, gso_size=size, hdr_len=42)
                try:
                    guest.send(party.ether(packet), header)
                    bad += 1
                except OSError as e:                            # not every kernel knows each
                    equal(e.errno, errno.EINVAL, "errno")
            least("super-packets that the kernel has taken", bad)
            wait_until(lambda bad=bad: party.grown["drop_malformed"] == bad,
                       lambda bad=bad: f"{bad} are malformed: {party.grown.drops()}")
            equal(party.grown["contribs"], 1, "contributions counted in")
            # too short to be one
            header, packet = partial(guest.src, NODE4, p.pack(), gso=GSO_UFO, gso_size=60000)
            guest.send(party.ether(packet), header)
            party.taken()
            party.end()
    guest.close()


@test("shapes: a guest whose frames come in pieces, cut anywhere")
def t_pieces(lab):
    guest = TapDevice("tap6", 6, pieces=6, seed=RNG.random())
    with lab.party(guest) as party:
        before = Growth("sw")
        for i in range(30):
            p = party.begin()
            if i % 2:
                header, packet = partial(guest.src, NODE4, p.pack())
                guest.send(party.ether(packet), header)
            else:
                guest.send(party.frame(p))
            party.taken()
            party.end()
        least("payloads that did not lie in one piece", before["fold_bounced"], 10)
    guest.close()


abi.main(Lab())
