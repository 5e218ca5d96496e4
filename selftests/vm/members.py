# SPDX-License-Identifier: GPL-2.0-only
"""Members that lie; started by 36-members.sh."""
import array
import ctypes
import mmap
import struct
import time

import inc_abi as abi
import inc_wire as w
from inc_abi import ALLREDUCE, NODE4, Job, equal, test, tool, wait_until
from inc_member import HonestRanks, Members
from inc_proc import PAGE, RNG, Pages, libc, new_group

HOSTS = ("h1", "h2", "h3", "h4")
ONES = struct.pack("<256f", *[1.0] * 256)
OTHERS = b"\xa5" * (64 * PAGE)
PATIENT = ("dead", "60000")             # nobody dies because a test takes its time


class Lab:
    def __init__(self):
        self.taps = {ns: w.Tap(ns) for ns in HOSTS}
        self.node_mac = w.Tap("sw", "br0").mac
        self.open = []
        self.node()

    def node(self, *words):
        """A node without groups, with these settings."""
        tool("inc", "-n", "sw", "node", "del", "dev", "br0", check=False)
        tool("inc", "-n", "sw", "node", "add", "dev", "br0", *PATIENT, *words)
        wait_until(lambda: not abi.groups("sw"), "no group is left")
        for tap in self.taps.values():
            tap.frames()

    def members(self, ranks, size, group=None, **options):
        group = new_group() if group is None else group
        members = Members("h4", self.taps["h4"], self.node_mac, group, ranks, size, **options)
        self.open.append(members)
        return members

    def honest(self, group, hosts, size):
        ranks = HonestRanks(group, hosts, size)
        self.open.append(ranks)
        return ranks

    def recover(self):
        tool("inc", "-n", "sw", "node", "del", "dev", "br0", check=False)
        for what in self.open:
            what.close()
        self.open = []
        self.node()


def lab_test(name):
    """A test that begins and ends with a node without groups."""
    def add(function):
        def run(lab):
            function(lab)
            lab.recover()
        return test(name)(run)
    return add


def counted(ns, what):
    return abi.counters(ns)[what]


class Growth:
    """How much counters of a namespace have grown since then."""

    def __init__(self, ns):
        self.ns, self.before = ns, abi.counters(ns)

    def __getitem__(self, what):
        return abi.counters(self.ns)[what] - self.before[what]

    def reaches(self, what, n, seconds=30):
        wait_until(lambda: self[what] >= n,
                   lambda: f"{self.ns}: {what} is {self[what]}, expected {n}", seconds)
        equal(self[what], n, f"{self.ns}: {what}")

    def drops(self):
        return {k: self[k] for k in self.before if k.startswith("drop_") and self[k]}


# What is held of a block, and what was

N = 32              # ranks of one host: what they hold of one block is more than the least memory


def taken_back(lab, op):
    """
    Rank 0's contribution to the window's last block is dropped for older ones, of which all but
    rank 0 have one. Then the older ones are completed, and nobody contributes elements to the last
    one any more, but for a descriptor.
    """
    lab.node("window", "4", "max-memory", "64K")
    m = lab.members(range(N), N).join()
    start = m.one().start
    grown = Growth("sw")
    m.send(m.contrib(0, start + 3, ONES, op=op))
    wait_until(lambda: m.status(0, start)[1][3], "the node has rank 0's contribution")
    moved_only = op == 0
    for rank in range(1, N):
        m.send(m.contrib(rank, start + 1, ONES, opseq=2, sig=2))
    wait_until(lambda: not m.status(0, start)[1][3],
               "rank 0's contribution was dropped for older ones")
    for block in range(start, start + 3):
        for rank in range(N):
            m.send(m.contrib(rank, block, ONES, opseq=2, sig=2))
        wait_until(lambda block=block: m.status(0, start)[0] == (block + 1) & 0xffffffff,
                   f"block {block} is complete")
    m.answers()
    body = bytes((ALLREDUCE, w.F32, w.SUM, w.F32)) + bytes(28)
    for rank in range(N):
        m.send(m.contrib(rank, start + 3, body if rank == N - 1 else b"", op=op, opseq=3, sig=3,
                         flags=w.F_WANT | (w.F_DESC if rank == N - 1 else 0)))
    grown.reaches("blocks", 4)
    results = []
    last = start + 3 & 0xffffffff
    wait_until(lambda: results.extend(p for p in m.answers(w.RESULT) if p.psn == last) or results,
               "the last block's result")
    for p in results:
        equal((p.flags & w.F_PAYLOAD, p.len, p.opseq, p.sig), (0, 0, 3, 3),
              "a result of no elements")
    if moved_only:
        return
    # the slot serves the next blocks as any other
    for block in range(start + 4, start + 12):
        for rank in range(N):
            m.send(m.contrib(rank, block, ONES, opseq=4, sig=4))
        grown.reaches("blocks", 5 + block - start - 4)
    sums = {p.psn: p for p in m.answers(w.RESULT) if p.opseq == 4}
    equal(sorted(sums), [start + n & 0xffffffff for n in range(4, 12)], "blocks with results")
    for p in sums.values():
        equal(p.body, struct.pack("<256f", *[float(N)] * 256), "a sum")


@lab_test("a contribution that was taken back leaves nothing behind: elements that are folded")
def t_taken_back(lab):
    taken_back(lab, w.SUM)


@lab_test("a contribution that was taken back leaves nothing behind: elements that are moved")
def t_taken_back_moved(lab):
    taken_back(lab, 0)


# What groups that are over cost


def refusal(m):
    """The code of the REFUSE that a JOIN of @m brings, None: it is a member."""
    codes = []

    def answered():
        m.send(m.request(0))
        time.sleep(0.05)
        for p in m.answers():
            if p.kind == w.CHALLENGE:
                m.send(m.request(0, struct.unpack_from("!IIQ", p.body)[2]))
            elif p.kind == w.REFUSE:
                codes.append(struct.unpack_from("!IH", p.body)[1])
            elif p.kind == w.READY:
                codes.append(None)
        return codes
    wait_until(answered, "the node answers")
    return codes[0]


@lab_test("groups that have failed count for who has made them")
def t_failed(lab):
    lab.node("max-groups", "8")
    for n in (1, 2):
        m = lab.members((0,), 1).join()
        m.send(m.header(w.ABORT, 0, 0, body=struct.pack("!QIIHHIII64x", 0, 0, 0, 4, 0, 0, 0, 0)))
        wait_until(lambda n=n: [g["state"] for g in abi.show("sw", "group")] == ["failed"] * n,
                   lambda: f"the group has failed: {abi.show('sw', 'group')}")
    equal(refusal(lab.members((0,), 1)), w.LIMIT, "what its maker is told")
    job = Job(new_group(), ("h1", "h2"))
    job.run()
    job.close()


# Operations begun anew in their middle

W = 64
FIRST, EACH = (1408 - 32) // 4, 1408 // 4       # elements of a full block


def elements(blocks):
    return FIRST + (blocks - 1) * EACH


class Deceived:
    """Two ranks of sockets and one that lies, rank 2; their first operation is over."""

    def __init__(self, lab, *words):
        lab.node("window", str(W), *words)
        self.lab, self.group = lab, new_group()
        self.ranks = lab.honest(self.group, ("h1", "h2"), 3)
        self.liar = lab.members((2,), 3, self.group)
        self.liar.join()
        self.ranks.joined()
        equal((self.liar.one().block, self.liar.one().window), (1408, W), "block and window")
        self.k, self.seen = 0, []
        self.right()

    def look(self):
        """What rank 0 has contributed to since the last look."""
        new = [p for p in self.lab.taps["h1"].packets(w.CONTRIB, outgoing=True)
               if p.group == self.group]
        self.seen += new
        return new

    def follow(self):
        self.liar.follow(self.look(), 2)

    def values(self, rank, n):
        return range(self.k * 1000 + rank, self.k * 1000 + rank + n)

    def begin(self, n):
        self.k += 1
        return [rank.allreduce(self.values(i, n)) for i, rank in enumerate(self.ranks.ranks)]

    def right(self, n=700):
        """An operation in which the liar does not lie."""
        handles = self.begin(n)
        for i, done in enumerate(self.ranks.completions(handles, self.follow)):
            equal(done.result, 0, f"rank {i}: result of operation {self.k} ({done})")
            got = self.ranks.ranks[i].buffers.pop(handles[i])[1]
            want = map(sum, zip(self.values(0, n), self.values(1, n)))
            equal(got, array.array("i", want), f"rank {i}: sums")
        self.next = max(p.psn + p.span for p in self.seen)
        self.opseq = self.seen[-1].opseq + 1            # of what comes next

    def under_way(self, first, last):
        """Both ranks have contributed to these blocks; returns one of the packets."""
        base = counted("sw", "contribs")

        def here():
            self.look()
            return len({p.psn for p in self.seen if first <= p.psn < last}) == last - first
        wait_until(here, "rank 0 has contributed")
        return base, next(p for p in self.seen if p.psn == first)

    def failed(self, handles, what, meanwhile=None):
        """An operation of which there are results already fails, and at both."""
        got = self.ranks.completions(handles, meanwhile or self.follow)
        for i, done in enumerate(got):
            if not done.result or done.code not in (abi.MISMATCH, abi.CANCELED):
                raise AssertionError(f"rank {i}: {what}: {done}, expected disagreement")


def poison(d, middle, blocks):
    """
    The liar is the first to contribute to all blocks from the middle of the next operation on: as
    to the one before.
    """
    grown = Growth("sw")
    d.liar.send(d.liar.header(w.CONTRIB, 2, d.next + middle, span=W - middle, opseq=d.opseq - 1))
    grown.reaches("contribs", W - middle)
    handles = d.begin(elements(blocks))
    grown.reaches("contribs", W - middle + 2 * blocks)
    d.look()
    return handles, next(p for p in d.seen if p.psn == d.next)


@lab_test("an operation that has results is not begun anew, whatever a member contributes to")
def t_resume(lab):
    d = Deceived(lab)
    handles, one = poison(d, 16, 48)
    first = d.next
    d.liar.send(d.liar.header(w.CONTRIB, 2, first, span=16, opseq=one.opseq, sig=one.sig))
    d.liar.join(rejoin=first + 16)
    d.failed(handles, "an operation that had begun")
    d.right()


@lab_test("nor is it in place, where its input is gone")
def t_resume_in_place(lab):
    d = Deceived(lab)
    n, middle = elements(48), 16
    grown = Growth("sw")
    d.liar.send(d.liar.header(w.CONTRIB, 2, d.next + middle, span=W - middle, opseq=d.opseq - 1))
    grown.reaches("contribs", W - middle)
    d.k += 1
    buffers = [array.array("i", d.values(i, n)) for i in range(2)]
    handles = [rank.submit(count=n, send=b.buffer_info()[0], recv=b.buffer_info()[0])
               for rank, b in zip(d.ranks.ranks, buffers)]
    grown.reaches("contribs", W - middle + 2 * 48)
    d.look()
    one, first = d.seen[-1], d.next
    d.liar.send(d.liar.header(w.CONTRIB, 2, first, span=middle, opseq=one.opseq, sig=one.sig))
    d.liar.join(rejoin=first + middle)
    d.failed(handles, "an operation in place")
    d.right()


def forged_error(d, block, resume):
    """In the node's name: the down cookie is known to all members."""
    ready = d.liar.one()
    body = struct.pack("!QIIHHIII", block, resume - 1, resume, abi.MISMATCH, 0, 0, 1, 0) + bytes(64)
    p = d.liar.header(w.ERROR, 2, block, body=body, cookie=ready.down, child=0)
    for i, ns in enumerate(("h1", "h2")):
        d.liar.send(p, src=NODE4, to=f"10.7.0.{i + 1}", dmac=d.lab.taps[ns].mac)


@lab_test("nor is it on an ERROR in the node's name")
def t_forged_resume(lab):
    d = Deceived(lab)
    handles, first = d.begin(elements(48)), d.next
    grown = [Growth("h1"), Growth("h2")]
    one = d.under_way(first, first + 48)[1]
    d.liar.send(d.liar.header(w.CONTRIB, 2, first, span=16, opseq=one.opseq, sig=one.sig))
    for g in grown:
        g.reaches("results", 16)
    forged_error(d, first + 16, one.opseq)
    for g in grown:
        g.reaches("errors", 1)
    d.failed(handles, "an operation that had begun", lambda: None)


def unpinned():
    with open("/proc/vmstat", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("nr_foll_pin_released"))


def reused_memory(lab):
    """
    As before, but of long buffers, little of which may be pinned at once: their beginning, which
    has results, is unpinned, unmapped, and others have it.
    """
    lab.node("window", "512")
    group = new_group()
    ranks = lab.honest(group, ("h1",), 2)
    liar = lab.members((1,), 2, group)
    liar.join()
    ranks.joined()
    rank, seen, done = ranks.ranks[0], [], 96

    def look():
        new = [p for p in lab.taps["h1"].packets(w.CONTRIB, outgoing=True) if p.group == group]
        seen.extend(new)
        return new

    first = rank.allreduce(range(100))
    ranks.completions([first], lambda: liar.follow(look(), 1))
    start, opseq = seen[-1].psn + 1, seen[-1].opseq + 1
    send, recv, before, sent = Pages(2048), Pages(2048), unpinned(), Growth("sw")
    ctypes.memset(send.at, 1, send.size)                # zeros would not be sent
    lie = liar.header(w.CONTRIB, 1, start + done, opseq=opseq - 1)
    liar.send(lie.but(span=512 - done))
    sent.reaches("contribs", 512 - done)
    handle = rank.submit(count=send.size // 4, send=send.at, recv=recv.at)
    wait_until(lambda: look() is None or len({p.psn for p in seen if p.opseq == opseq}) >= done,
               "the first blocks were sent")
    one, grown = next(p for p in seen if p.opseq == opseq), Growth("h1")
    # what follows the window is the liar's, too, before the other rank knows that it may have it
    liar.send_super(liar.header(w.CONTRIB, 1, start, span=done, opseq=opseq, sig=one.sig),
                    lie.but(psn=start + 512, span=done))
    grown.reaches("results", done)
    gone = (FIRST + (done - 2) * EACH) * 4 // PAGE      # pages that are not needed any more
    wait_until(lambda: unpinned() - before >= 2 * gone - 2,
               lambda: f"{2 * gone} pages unpinned: {unpinned() - before}")
    for pages in (send, recv):
        libc.munmap(pages.at, gone * PAGE)
    others = [mmap.mmap(-1, 64 * PAGE) for _ in range(16)]
    for other in others:
        other.write(OTHERS)
    liar.join(rejoin=start + done)
    got = []

    def ended():
        liar.follow(look(), 1)
        if rank.poll(1, 10):
            got.append(rank.wait(handle, 1000))
        return got
    try:
        wait_until(ended, lambda: f"the operation ends: {rank.info()}", 30)
        if not got[0].result:
            raise AssertionError(f"{got[0]}: an operation without its memory is right")
        if any(other[:] != OTHERS for other in others):
            raise AssertionError("a result was written to memory of others")
    finally:
        rank.close()                                    # before the rest of the memory goes


@lab_test("no memory is read or written any more that has been unpinned")
def t_reused(lab):
    limits = next(scope for scope in abi.show("h1", "limits") if scope["scope"] == "netns")
    tool("inc", "-n", "h1", "limits", "set", "pinned-memory", "1M")
    try:
        reused_memory(lab)
    finally:
        most = str(limits["pinned_memory"]["max"])
        tool("inc", "-n", "h1", "limits", "set", "pinned-memory", most)


# The work that a packet makes


def complete(m, blocks, opseq=1):
    """All of them, by all ranks."""
    start, grown = m.one().start, Growth("sw")
    for block in range(start, start + blocks):
        m.send(*(m.contrib(rank, block, ONES, opseq=opseq, sig=opseq) for rank in m.ranks))
    grown.reaches("blocks", blocks)
    wait_until(lambda: m.status(m.ranks[0], start)[0] == start + blocks & 0xffffffff,
               "the blocks are complete")
    m.answers()


BUFFER_RESULTS = 64                     # results that are sent again for one buffer


@lab_test("what is repeated brings so many results for a buffer at most")
def t_repeated(lab):
    blocks = 2 * BUFFER_RESULTS
    lab.node("window", str(blocks))
    m = lab.members((0, 1), 2).join()
    start = m.one().start
    complete(m, blocks)
    again = m.header(w.CONTRIB, 0, start, flags=w.F_RETRANS, opseq=1, sig=1)
    for most, packets in ((BUFFER_RESULTS, [again.but(span=blocks)]),
                          (BUFFER_RESULTS, [again.but(span=blocks)] * 64),
                          (32, [m.probe(0, start, bytes(blocks // 8), flags=w.F_RETRANS)] * 64)):
        time.sleep(0.2)         # what was sent may be under way: it is not sent again before
        grown = Growth("sw")
        m.send_super(*packets)
        m.status(1, start)
        equal(grown["results_resent"], most, f"results for {len(packets)} packets")


@lab_test("of PROBEs in one buffer one of each member is answered")
def t_statuses(lab):
    lab.node("window", str(W))
    m = lab.members((0, 1), 2).join()
    start = m.one().start
    for probes, read in (([0] * 64, 1), ([0, 1] * 32, 2)):
        m.answers()
        grown = Growth("sw")
        m.send_super(*(m.probe(rank, start) for rank in probes))
        m.status(1, start)
        equal((grown["probes"], grown["statuses"], grown.drops()),
              (read + 1, read + 1, {"drop_work": 64 - read}), "PROBEs, STATUSes, drops")


# As much as the packets of one buffer of 64 can ask for is within the bound; longer ones:
# test_hostile_slot.
@lab_test("spans in one buffer are looked at as far as the bound goes")
def t_spans(lab):
    lab.node("window", "4096", "max-memory", "1G")
    m = lab.members((0, 1), 2).join()
    start, grown = m.one().start, Growth("sw")
    m.send_super(*[m.header(w.CONTRIB, 0, start, span=4096, opseq=1, sig=1)] * 64)
    m.status(1, start)
    equal((grown["contribs"], grown.drops()), (4096, {"drop_duplicate": 63}),
          "contributions, drops")


@lab_test("contributions behind the error in one buffer bring one ERROR")
def t_errors(lab):
    lab.node("window", str(W))
    m = lab.members((0, 1), 2).join()
    start = m.one().start
    for rank in m.ranks:
        m.send(m.contrib(rank, start, ONES, opseq=1, sig=1 + rank))

    def disagree():
        return [g for g in abi.show("sw", "group") if g["state"] == "resync"]
    wait_until(disagree, lambda: f"ranks disagree: {abi.show('sw', 'group')}")
    m.status(1, start)                  # which brings the ERROR, too
    grown = Growth("sw")
    m.send_super(*(m.contrib(0, start + i, bytes(64)) for i in range(64)))
    m.status(1, start)
    equal((grown["errors"], grown.drops()), (2, {"drop_error": 64}), "ERRORs, drops")


@lab_test("payload longer than a block of the group is malformed")
def t_long(lab):
    lab.node("window", "4", "max-memory", "64K")
    m = lab.members((0, 1), 2, block=64).join()
    equal(m.one().block, 64, "block")
    start, grown = m.one().start, Growth("sw")
    for size in (68, 128, 1408):
        m.send(m.contrib(0, start, bytes(size)))
    grown.reaches("drop_malformed", 3)
    m.send(m.contrib(0, start, bytes(64)), m.contrib(1, start, bytes(64)))
    grown.reaches("blocks", 1)
    equal(grown.drops(), {"drop_malformed": 3}, "drops")


# What is others'


@lab_test("a member cannot turn another one's results to itself")
def t_redirect(lab):
    d = Deceived(lab)
    ready, m = d.liar.one(), d.liar
    for size in (4, 3):
        for rank in (0, 1):
            thief = lab.members((rank,), size, m.group)
            lab.taps["h4"].frames()
            fields = {"lineage": ready.lineage, "move": 1, "window": W, "dead": ready.dead}
            join = w.Packet(w.JOIN, group=m.group, child=rank)
            thief.send(join.but(body=w.join_body(m.group, rank, size, 7, **fields)))
            p = lab.taps["h4"].wait_packet(w.CHALLENGE, group=m.group, child=rank)
            value = struct.unpack_from("!IIQ", p.body)[2]
            body = w.join_body(m.group, rank, size, 7, challenge=value, **fields)
            thief.send(join.but(body=body))
            lab.taps["h4"].wait_packet(w.REFUSE, 10, group=m.group, child=rank)
        m.answers()
        d.right()
        stolen = [p.psn for p in m.answers(w.RESULT) if p.flags & w.F_PAYLOAD]
        equal(stolen, [], "elements that came to who wants none")


# What tenants may have


def tenants():
    return {t["name"]: t for t in abi.show("sw", "tenant")}


def with_tenant(rate):
    def decorate(function):
        def run(lab):
            tool("inc", "-n", "sw", "tenant", "add", "a", "from", "10.7.0.4", "rate", rate)
            try:
                function(lab)
            finally:
                tool("inc", "-n", "sw", "node", "del", "dev", "br0", check=False)
                tool("inc", "-n", "sw", "tenant", "del", "a")
                lab.node()
        return run
    return decorate


@lab_test("contributions behind a PROBE in one buffer are paid for as others")
@with_tenant("10kbit")
def t_mixed(lab):
    lab.node("window", "4096", "max-memory", "1G")
    m = lab.members((0, 1), 2).join()
    start, grown, before = m.one().start, Growth("sw"), tenants()["a"]
    buffers = []
    for n in range(20):
        units = [m.contrib(0, start + 63 * n + i, bytes(136)) for i in range(63)]
        buffers.append([m.probe(0, start, bytes(128)), *units])
    for units in buffers:
        m.send_super(*units)
    # the first one is ten seconds of the rate, of which there are 50 ms: the others come in its
    # debt, where PROBEs are rarely answered, and nothing is read behind one that is not
    grown.reaches("rx_skbs", 20)
    equal(grown["contribs"], 63, "contributions")
    drops = grown.drops()
    equal(drops, {"drop_rate": 19}, "drops")
    got = tenants()["a"]["bytes"] - before["bytes"]
    least, most = 63 * (136 + 48), 64 * (136 + 48 + 28)
    if not least <= got <= most:
        raise AssertionError(f"{got} bytes paid for, expected those of one buffer: {least}..{most}")


@lab_test("who is no member does not spend a tenant's rate")
@with_tenant("100kbit")
def t_spent(lab):
    lab.node("window", str(W))
    m = lab.members((0, 1), 2).join()
    start, grown, before = m.one().start, Growth("sw"), tenants()["a"]
    for n in range(50):
        good = m.contrib(n % 2, start, ONES)
        p = good.but(cookie=good.cookie ^ 1 << n)
        lab.taps["h3"].send(w.ether(lab.taps["h3"].mac, lab.node_mac,
                                    w.ip("10.7.0.4", NODE4, w.udp("10.7.0.4", NODE4, p.pack()))))
    good = m.contrib(0, start, ONES)
    lab.taps["h3"].send(w.ether(lab.taps["h3"].mac, lab.node_mac,
                                w.ip("10.7.0.4", NODE4, w.udp("10.7.0.4", NODE4, good.pack()))))
    grown.reaches("drop_cookie", 50)
    grown.reaches("drop_port", 1)
    got = tenants()["a"]
    equal((got["bytes"], got["refused_rate"]), (before["bytes"], 0),
          "bytes that the tenant has paid for, and refused ones")
    for rank in (0, 1):
        m.send(m.contrib(rank, start, bytes(16)))
    grown.reaches("blocks", 1)
    equal(grown.drops(), {"drop_cookie": 50, "drop_port": 1}, "drops")


abi.main(Lab())
