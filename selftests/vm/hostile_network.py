# SPDX-License-Identifier: GPL-2.0-only
"""What a network may send to a box that nobody there means well with; started by 34-network.sh."""
import contextlib
import errno
import struct
import threading
import time

import inc_abi as abi
import inc_wire as w
from forged_lab import MEMBERS, RNG, Lab
from inc_abi import NODE4, NODE6, Job, equal, test, wait_until
from nfqueue import Queue, chain, counted

ALL = b"\xff" * 6
BAD4 = ("10.7.0.255", "255.255.255.255", "224.0.0.1", "239.1.2.3", "0.0.0.0", "127.0.0.1",
        "127.9.9.9", NODE4)
BAD6 = ("ff02::1", "ff0e::77", "::", "::1", NODE6)
ANSWERS = (w.CHALLENGE, w.WAIT, w.READY, w.REFUSE, w.STATUS, w.ERROR, w.PEERS, w.RESULT)


def strangers(group):
    """What somebody sends who wants an answer."""
    yield w.Packet(w.JOIN, group=group, body=w.join_body(group, 0, 2, 99))
    yield w.Packet(w.JOIN, group=group,
                   body=w.join_body(group, 0, 2, 99, challenge=RNG.randrange(1, 1 << 64)))
    yield w.Packet(w.CONTRIB, group=group, flags=w.F_WANT | w.F_PAYLOAD, body=bytes(64))
    yield w.Packet(w.PROBE, group=group, body=bytes(64))


def answered(lab, group):
    """Packets of this group that came to any host, or that it has sent in answer."""
    return [(ns, p.kind) for ns, tap in lab.taps.items()
            for p in tap.packets() if p.group == group and p.kind in ANSWERS]


def other_group(lab):
    lab.k += 1
    return lab.group ^ 0x5000 + lab.k


@test("network: sources that no other machine can have")
def t_sources(lab):
    group, n = other_group(lab), 0
    for tap in lab.taps.values():
        tap.frames()
    for p in strangers(group):
        for src in BAD4:
            lab.send("h4", p, src=src)
        for src in BAD6:
            lab.send("h4", p, src=src, v6=True)
        n += len(BAD4) + len(BAD6)
    lab.owe("sw", address=n)
    lab.audit()
    equal(answered(lab, group), [], "answers to anybody")
    equal(abi.groups("sw"), [lab.group], "groups at the node")
    lab.work()


@test("network: results by the node's own address, from a port of its bridge")
def t_own_results(lab):
    down = lab.down[0][-1]
    for kind in (w.RESULT, w.ERROR, w.STATUS, w.CHALLENGE):
        lab.send("h4", down.but(kind=kind, flags=0, body=bytes(w.MIN_BODY.get(kind, 0)), len=None),
                 src=NODE4)
    lab.owe("sw", address=4)
    lab.audit()
    lab.work()


def to_many(lab, p):
    """Frames with @p for more than one machine, and who takes them for his."""
    tap, data = lab.taps["h4"], p.pack()

    def frame(dmac, src, dst):
        return w.ether(tap.mac, dmac, w.ip(src, dst, w.udp(src, dst, data)))

    everybody = ("sw", *MEMBERS)
    for dst in ("255.255.255.255", "10.7.0.255"):
        yield frame(ALL, lab.ip["h4"], dst), everybody
    yield frame(b"\x01\x00\x5e\x00\x00\x01", lab.ip["h4"], "224.0.0.1"), everybody
    yield frame(b"\x33\x33\x00\x00\x00\x01", lab.ip6["h4"], "ff02::1"), everybody
    for dmac in (ALL, b"\x01\x00\x5e\x00\x00\x01"):
        yield frame(dmac, lab.ip["h4"], NODE4), ("sw",)
        yield frame(dmac, lab.ip["h4"], lab.ip["h1"]), ("h1",)
    yield frame(b"\x33\x33\x00\x00\x00\x01", lab.ip6["h4"], NODE6), ("sw",)
    yield frame(b"\x33\x33\x00\x00\x00\x01", lab.ip6["h4"], lab.ip6["h1"]), ("h1",)


@test("network: what is sent to many is answered by nobody")
def t_destinations(lab):
    group = other_group(lab)
    for tap in lab.taps.values():
        tap.frames()
    for p in strangers(group):
        for frame, takers in to_many(lab, p):
            lab.taps["h4"].send(frame)
            for ns in takers:
                lab.owe(ns, address=1)
    lab.audit()
    equal(answered(lab, group), [], "answers to anybody")
    # the group's own, which somebody has heard: neither is a result taken that is sent to all
    down = lab.down[0][-1].but(body=bytes(64), len=None)
    for frame, takers in to_many(lab, down):
        lab.taps["h4"].send(frame)
        for ns in takers:
            lab.owe(ns, address=1)
    lab.audit()
    lab.work()


def every_length():
    """Packets of each type and length, also of such that it cannot have."""
    for kind in range(1, 16):
        for size in (*range(0, 64, 4), *range(64, 256, 16), 1400):
            flags = w.F_PAYLOAD if kind in (w.CONTRIB, w.RESULT) and size else 0
            yield w.Packet(kind, flags=flags, body=bytes(size))


def lengths(lab, ns, to, to_join):
    """
    All of them from h4 to @to, each with a group number of its own, by which its answer is known.
    """
    first = 0x10000000 | lab.k << 20
    lab.k += 1
    sent = {}
    before = sum(abi.drops(ns).values())
    lab.taps["h4"].frames()
    for n, p in enumerate(every_length()):
        data = p.but(group=first + n).pack()
        sent[first + n] = (p.kind, len(data))
        lab.send("h4", data, to=to)
    came = []

    def all_seen():
        came.extend(f for f in lab.taps["h4"].frames() if not f.outgoing)
        challenges = sum(u.kind == w.CHALLENGE for f in came for u in f.units())
        return sum(abi.drops(ns).values()) - before + challenges >= len(sent)

    wait_until(all_seen, lambda: f"{ns}: {len(sent)} packets are dropped or challenged")
    came.extend(f for f in lab.taps["h4"].frames() if not f.outgoing)
    lab.ledger[ns] = abi.drops(ns)
    answers = {}
    for f in came:
        for u in f.units():
            if u.group in sent:
                answers.setdefault(u.group, []).append((u.kind, len(f.data)))
    for group, got in answers.items():
        kind, size = sent[group]
        if sum(n for _, n in got) > size:
            raise AssertionError(
                f"{ns}: a packet of type {kind} with {size} bytes is answered with {got}")
    # exactly these are answered, each once, with 64 bytes
    want = {}
    for group, (kind, size) in sent.items():
        if kind == w.JOIN and 128 <= size <= 560:
            want[group] = [(to_join, 64)]
        elif kind in (w.CONTRIB, w.PROBE) and size >= 64:
            want[group] = [(w.REFUSE, 64)]
    differ = {g: (sent[g], answers.get(g), want.get(g))
              for g in sent if answers.get(g) != want.get(g)}
    equal(differ, {},
          f"{ns}: packets (type, bytes) whose answers (type, bytes) are others than expected")


@test("network: no stranger gets more bytes than he has sent")
def t_lengths(lab):
    lengths(lab, "sw", None, w.CHALLENGE)
    lengths(lab, "h1", "h1", w.REFUSE)
    lab.audit()
    lab.work()


def answers_limit(n):
    abi.tool("inc", "-n", "sw", "limits", "set", "answers", str(n))


def junk(lab, ns, n):
    """From the port of @ns, by addresses of everywhere."""
    for _ in range(n):
        src = f"{RNG.randrange(1, 120)}.{RNG.randrange(256)}.{RNG.randrange(256)}.9"
        for p in (w.Packet(w.JOIN, group=RNG.randrange(1 << 32), body=bytes(w.MIN_BODY[w.JOIN])),
                  w.Packet(w.CONTRIB, group=RNG.randrange(1 << 32), flags=w.F_PAYLOAD,
                           body=bytes(16))):
            lab.send(ns, p, src=src)


def lost_in_front():
    """Packets that this machine has dropped because its queue of received ones was full."""
    with open("/proc/net/softnet_stat", encoding="ascii") as f:
        return sum(int(line.split()[1], 16) for line in f)


def asked(lab, ns, times=1):
    """
    A JOIN of a group that is not there brings a CHALLENGE. Only if a flood has lost packets in
    front of the node is it sent again.
    """
    group = other_group(lab)
    lab.taps[ns].frames()
    for left in reversed(range(times)):
        lost = lost_in_front()
        lab.send(ns, w.Packet(w.JOIN, group=group, body=w.join_body(group, 0, 2, 99)))
        try:
            lab.taps[ns].wait_packet(w.CHALLENGE, 5, group=group)
            return
        except AssertionError:
            if not left or lost == lost_in_front():
                raise


@contextlib.contextmanager
def routed():
    """
    The node's routes lead everywhere by its bridge: junk is answered, where answers are not used
    up.
    """
    abi.tool("ip", "-n", "sw", "route", "add", "default", "via", "10.7.0.4")
    try:
        yield
    finally:
        abi.tool("ip", "-n", "sw", "route", "del", "default")


def settle_junk(lab):
    before, now = None, lab.counted()
    while now != before:
        time.sleep(0.1)
        before, now = now, lab.counted()
    lab.ledger = now


@test("network: junk from one port does not keep others from joining")
def t_junk(lab):
    answers_limit(200)
    with routed():
        junk(lab, "h4", 300)
        for _ in range(10):
            junk(lab, "h4", 20)
            asked(lab, "h1")
    answers_limit(10240)
    settle_junk(lab)
    lab.work()


class Junk(threading.Thread):
    """Junk from these ports by turns, until it is over."""

    def __init__(self, lab, ports):
        super().__init__(daemon=True)
        self.lab, self.ports, self.over, self.failed = lab, ports, False, None

    def send(self, ns):
        try:
            junk(self.lab, ns, 10)
        except OSError as e:
            if e.errno != errno.ENOBUFS:                        # a busy machine's queue is full
                raise
            time.sleep(0.01)

    def run(self):
        try:
            while not self.over:
                for ns in self.ports:
                    self.send(ns)
        except Exception as e:
            self.failed = e

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over = True
        self.join()
        equal(self.failed, None, "how sending junk has failed")


def used_up():
    """Junk gets no answers any more, because there have been too many."""
    before = abi.counters("sw")["drop_limit"]
    wait_until(lambda: abi.counters("sw")["drop_limit"] > before + 20, "answers are used up")


@test("network: nor does junk from all other ports at once")
def t_junk_everywhere(lab):
    answers_limit(256)                                          # a port's own: one a second
    with routed(), Junk(lab, ("h2", "h3", "h4")):
        for _ in range(5):
            used_up()
            # what h1's port has used it has again
            time.sleep(1.1)
            asked(lab, "h1", times=3)
            used_up()
    answers_limit(10240)
    settle_junk(lab)
    lab.work()


@test("network: refusals used up leave the challenges alone")
def t_budgets(lab):
    answers_limit(64)
    before = abi.counters("sw")["drop_limit"]
    for _ in range(200):
        lab.send("h4",
                 w.Packet(w.CONTRIB, group=other_group(lab), flags=w.F_PAYLOAD, body=bytes(16)))
    asked(lab, "h4")
    unanswered = abi.counters("sw")["drop_limit"] - before
    equal(0 < unanswered < 200, True, f"refusals are used up, not at once: {unanswered}")
    answers_limit(10240)
    settle_junk(lab)
    lab.work()


# What the administrator puts in front

@test("network: a rule of the bridge family drops what a node would take; one of the IP family does not see it")
def t_bridge_rule(lab):
    join = w.Packet(w.JOIN, group=other_group(lab), body=w.join_body(1, 0, 2, 99))
    with chain("sw", "ip", "udp dport 5227 counter drop"):
        asked(lab, "h4")
        equal(counted("sw", "ip"), 0, "packets that IP's input chain saw")
    before = abi.counters("sw")
    with chain("sw", "bridge", 'iifname "p4" udp dport 5227 counter drop'):
        for _ in range(5):
            lab.send("h4", join)
            lab.send("h4", join, v6=True)
        wait_until(lambda: counted("sw", "bridge") == 10,
                   lambda: f"10 packets dropped: {counted('sw', 'bridge')}")
        equal({k: v for k, v in abi.counters("sw").items() if "drop" in k or k == "joins"},
              {k: v for k, v in before.items() if "drop" in k or k == "joins"},
              "what the node has seen of them")
        asked(lab, "h1")
        lab.work()
    asked(lab, "h4")
    # challenges for h1 were for no rank there
    settle_junk(lab)
    lab.work()


def queued_job(lab, hosts, parent, node_ns, queue):
    """
    A job all of whose packets to the node are given back by a program: JOINs, contributions, and
    its end.
    """
    before = queue.packets
    job = Job(other_group(lab), hosts, parent=parent)
    for k, n in enumerate((1, 700, 20000, 5)):
        job.run(n, k)
    equal(len([g for g in abi.groups(node_ns) if g == job.group]) > 0, True,
          "the group is at the node")
    job.close()
    wait_until(lambda: job.group not in abi.groups(node_ns), "the group is gone")
    if queue.packets - before < 5 * len(hosts):
        raise AssertionError(f"{queue.packets - before} packets came by the queue")


@test("network: packets that a program gives back, at the bridge")
def t_queue_bridge(lab):
    with Queue("sw", 5) as queue, chain("sw", "bridge", "udp dport 5227 queue num 5"):
        queued_job(lab, ("h1", "h2"), NODE4, "sw", queue)
        queued_job(lab, ("h1", "h2", "h3"), NODE6, "sw", queue)
        lab.work()
    settle_junk(lab)
    lab.work()


@test("network: the same at IP's input hook, at node and rank")
def t_queue_inet(lab):
    abi.tool("inc", "-n", "h2", "node", "add", "dev", "eth0")
    with Queue("h2", 6) as queue, chain("h2", "inet", "udp sport 5227 queue num 6",
                                        "udp dport 5227 queue num 6"):
        queued_job(lab, ("h1", "h3"), lab.ip["h2"], "h2", queue)
        queued_job(lab, ("h1", "h3"), lab.ip6["h2"], "h2", queue)
        lab.work()
    abi.tool("inc", "-n", "h2", "node", "del", "dev", "eth0")
    settle_junk(lab)
    lab.work()


@test("network: after all this the job leaves as usual")
def t_leave(lab):
    lab.job.close()
    wait_until(lambda: not abi.groups("sw"), "no group is left", 30)
    for ns in MEMBERS:
        equal(abi.groups(ns), [], f"groups of {ns}")


abi.main(Lab())
