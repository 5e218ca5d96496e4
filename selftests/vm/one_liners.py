# SPDX-License-Identifier: GPL-2.0-only
"""
The one-liners of Documentation/tracing.rst: bpftrace runs each as it stands there, all of them at
once; what they print is held against what was done meanwhile. Started by 49-tracing.sh.

Who prints and clears a map every second loses what comes between the two. So all is done in rounds,
each of which ends when it has been printed, until one has lost nothing of two such one-liners.
"""
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile

import inc_abi as abi
import inc_wire as w
from inc_abi import NODE4, Job, equal, test, wait_until

RNG = random.Random(int(os.environ.get("SEED", "1")))
DOCUMENT = os.path.join(os.environ["INC_TOP"], "Documentation/tracing.rst")
HOSTS = ("h1", "h2")
OPERATIONS = (20000, 700, 1)    # elements of 4 bytes
ROUNDS = 8
MALFORMED, CHECKSUM = (abi.COUNTERS.index(name) for name in ("drop_malformed", "drop_checksum"))
SENT = {"drop_malformed": 7, "drop_checksum": 5}
JOINING, ACTIVE, LEFT = 0, 1, 4         # enum inc_group_state


def documented():
    """The command of each, by the text above it."""
    with open(DOCUMENT, encoding="utf-8") as f:
        text = f.read()
    found = dict(re.findall(r"^([A-Z].*)::\n\n\t(bpftrace .*)$", text, re.M))
    equal(len(found), len(re.findall(r"bpftrace -e", text)), "one-liners with a text above them")
    return found


class Maps:
    """What has been printed of one map: sums of its values, and of the bars of its histograms."""

    def __init__(self, text, name=""):
        self.values, self.bars, histogram = {}, {}, None
        for line in text.splitlines():
            value = re.fullmatch(rf"@{name}(?:\[(.*)\])?: (\d+)", line)
            head = re.fullmatch(rf"@{name}(?:\[(.*)\])?: ?", line)
            bar = re.match(r"(\[\S+(?: \S+\))?) +(\d+) \|", line)
            if value:
                self.values[value[1]] = self.values.get(value[1], 0) + int(value[2])
            if head:
                histogram = self.bars.setdefault(head[1], {})
            elif not bar:
                histogram = None
            elif histogram is not None and int(bar[2]):
                histogram[bar[1]] = histogram.get(bar[1], 0) + int(bar[2])

    def counts(self):
        return {key: sum(bars.values()) for key, bars in self.bars.items()}


class OneLiner:
    """A process; it counts what happens from the moment on when it waits."""

    def __init__(self, command, path):
        self.path = path
        with open(path, "wb") as out:
            self.process = subprocess.Popen(["sh", "-c", f"exec {command}"], stdout=out,
                                            stderr=subprocess.STDOUT)
        wait_until(self.waits, self.said, 300)

    def waits(self):
        equal(self.process.poll(), None, f"status of {self.said()!r}")
        with open(f"/proc/{self.process.pid}/wchan", encoding="ascii") as f:
            return re.search("ep_poll|epoll_wait", f.read())

    def said(self):
        with open(self.path, encoding="utf-8") as f:
            return f.read()

    def end(self):
        self.process.send_signal(signal.SIGINT)
        equal(self.process.wait(60), 0, f"status of {self.said()!r}")
        return self.said()

    def kill(self):
        self.process.kill()
        self.process.wait()


class Round:
    """A group of two ranks: it forms, computes, meets packets that are wrong, is left."""

    def __init__(self):
        before = [abi.counters(ns) for ns in HOSTS]
        at_node = abi.counters("sw")
        job = Job(RNG.randrange(1 << 32), HOSTS)
        self.group, block = job.group, job.ranks[0].info()["block"]
        for k, n in enumerate(OPERATIONS):
            job.run(n, k)
        self.send_wrong()
        wait_until(lambda: all(abi.counters("sw")[name] - at_node[name] == n
                               for name, n in SENT.items()), "what is wrong is dropped")
        job.close()
        wait_until(lambda: not any(abi.groups(ns) for ns in ("sw", *HOSTS)), "the group is gone")
        self.hosts = [self.since(ns, then) for ns, then in zip(HOSTS, before)]
        self.node = self.since("sw", at_node)
        self.bytes = sum(4 * n for n in OPERATIONS)
        # that they leave is one, too
        self.blocks = sum(-(-4 * n // block) for n in OPERATIONS) + 1

    def since(self, ns, then):
        return {name: now - then[name] for name, now in abi.counters(ns).items()}

    def send_wrong(self):
        tap, node = w.Tap("h1"), w.Tap("sw", "br0").mac
        packet = w.Packet(w.CONTRIB, group=self.group, body=b"1234", flags=w.F_PAYLOAD, span=0).pack()
        for check, n in ((None, SENT["drop_malformed"]), (0x1234, SENT["drop_checksum"])):
            data = w.ip("10.7.0.1", NODE4, w.udp("10.7.0.1", NODE4, packet, check=check))
            for _ in range(n):
                tap.send(w.ether(tap.mac, node, data))

    def of_hosts(self, *names):
        return sum(host[name] for host in self.hosts for name in names)

    def drops(self):
        """By reason, in all of them."""
        total = {}
        for one in (self.node, *self.hosts):
            for name, n in one.items():
                if name.startswith("drop_") and n:
                    number = abi.COUNTERS.index(name)
                    total[number] = total.get(number, 0) + n
        return total


TYPES, BUFFERS, DROPS, STACKS, BLOCKS, BETWEEN, COMPLETION, STATES = (
    "Packets a second by type",
    "How many packets come in one buffer (1: nothing has been put together)",
    "What is dropped, by group and reason",
    "Where in the kernel packets of one reason are dropped",
    "Blocks and bytes that a node completes in a second, by group",
    "Time from one block of a group to the next, in microseconds",
    "Time from the first contribution to a block, in a window that wraps, to its completion",
    "Who changes state")
# What clears its maps, and how many it has.
EVERY_SECOND = {TYPES: 1, BLOCKS: 2}


def lost_types(text, one):
    """What it says, and how many are missing; -1: there are too many, which is an error."""
    got = Maps(text).values
    want = {w.CONTRIB: one.of_hosts("contribs_sent", "contribs_resent"), w.JOIN: one.of_hosts("joins"),
            w.RESULT: one.of_hosts("results")}
    more = {kind: got.get(str(kind), 0) - n for kind, n in want.items()}
    # of their leaving a rank hears once more, or has gone before
    spare = {w.RESULT: 2 + one.node["results_resent"]}
    too_many = any(n > spare.get(kind, 0) for kind, n in more.items())
    return (f"packets by type: {got}, expected {want}",
            -1 if too_many else -sum(min(n, 0) for n in more.values()))


def lost_blocks(text, one):
    got = [Maps(text, name).values.get(str(one.group), 0) for name in ("blocks", "bytes")]
    want = [one.blocks, one.bytes]
    too_many = any(a > b for a, b in zip(got, want))
    return (f"blocks and bytes of group {one.group}: {got}, expected {want}",
            -1 if too_many else sum(want) - sum(got))


LOST = {TYPES: lost_types, BLOCKS: lost_blocks}


class Lab:
    def __init__(self):
        self.printed, self.rounds = None, []
        # of those that clear their maps: what they have said in each round, and have lost
        self.lost = {title: [] for title in LOST}

    def need(self):
        if not os.path.exists("/proc/sys/kernel/perf_event_paranoid"):
            raise abi.Skip("this kernel has no perf events")
        if not shutil.which("bpftrace"):
            raise abi.Skip("there is no program bpftrace")

    def said(self, title):
        """What it has printed in all rounds."""
        self.need()
        if self.printed is None:
            self.printed = {}
            self.run()
        if title not in self.printed:
            raise AssertionError("it has not been run to its end")
        return self.printed[title]

    def run(self):
        running = {}
        with tempfile.TemporaryDirectory() as place:
            try:
                for i, (title, command) in enumerate(documented().items()):
                    running[title] = OneLiner(command, f"{place}/{i}")
                while len(self.rounds) < ROUNDS and not all(map(self.whole, LOST)):
                    self.round(running)
                self.printed = {title: one.end() for title, one in running.items()}
            finally:
                for one in running.values():
                    one.kill()

    def round(self, running):
        begin = {title: len(running[title].said()) for title in EVERY_SECOND}
        one = Round()
        self.rounds.append(one)
        for title, maps in EVERY_SECOND.items():
            self.printed_twice(running[title], maps)
            self.lost[title].append(LOST[title](running[title].said()[begin[title]:], one))

    def whole(self, title):
        """In one round, and too much in none."""
        lost = [n for _, n in self.lost[title]]
        return 0 in lost and min(lost) == 0

    def printed_twice(self, one, maps):
        """An empty line follows each map."""
        def printed():
            return one.said().split("\n").count("")
        before = printed()
        wait_until(lambda: printed() >= before + 2 * maps, one.said)

    def total(self, name):
        return sum(getattr(one, name) for one in self.rounds)


def ifindex(dev):
    return abi.tool("ip", "-n", "sw", "-o", "link", "show", dev).split(":")[0]


def every_second(lab, title):
    lab.said(title)
    if not lab.whole(title):
        raise AssertionError("\n".join(f"{text}: lacks {n}" for text, n in lab.lost[title]))


def bounds(bars):
    """The least and the most that the values of a histogram can add up to."""
    least = most = 0
    for bar, n in bars.items():
        ends = re.findall(r"\d+", bar)
        least += n * int(ends[0])
        most += n * (int(ends[1]) - 1 if len(ends) > 1 else int(ends[0]))
    return least, most


def check_buffers(lab, text):
    found = Maps(text)
    first, second = ifindex("p1"), ifindex("p2")
    sent = [[one.hosts[h] for one in lab.rounds] for h in (0, 1)]
    equal(found.counts()[first], sum(c["tx_skbs"] for c in sent[0]), "buffers from h1")
    equal(found.bars[second], {"[1]": sum(c["tx_packets"] for c in sent[1])}, "packets from h2")
    packets = sum(c["tx_packets"] for c in sent[0])
    least, most = bounds(found.bars[first])
    if not least <= packets <= most:
        raise AssertionError(f"{packets} packets from h1, but {found.bars[first]}")


def check_drops(lab, text):
    got, want = {}, {}
    for key, n in Maps(text).values.items():
        reason = int(key.split(", ")[1])
        got[reason] = got.get(reason, 0) + n
    for one in lab.rounds:
        equal(Maps(text).values.get(f"{one.group}, {MALFORMED}"), SENT["drop_malformed"],
              f"what is malformed, of group {one.group}")
        for reason, n in one.drops().items():
            want[reason] = want.get(reason, 0) + n
    equal(got, want, "what is dropped, by reason")
    equal(got[CHECKSUM], SENT["drop_checksum"] * len(lab.rounds), "what has a wrong checksum")


def check_stacks(lab, text):
    stacks = re.findall(r"^@\[\n(.*?)^\]: (\d+)$", text, re.M | re.S)
    equal(sum(int(n) for _, n in stacks), SENT["drop_checksum"] * len(lab.rounds), "drops")
    for stack, _ in stacks:
        lines = [line.strip() for line in stack.splitlines()]
        if not lines[0].startswith("netinc_rx_drop") or not any("net_rx_action" in s for s in lines):
            raise AssertionError(f"a stack from netinc_rx_drop to net_rx_action was expected: {lines}")


def check_between(lab, text):
    got = Maps(text, "us").counts()
    equal(got, {str(one.group): one.blocks - 1 for one in lab.rounds}, "times by group")


def check_completion(lab, text):
    equal(Maps(text, "us").counts(), {None: lab.total("blocks")}, "times")


def check_states(lab, text):
    line = r"\d\d:\d\d:\d\d group (\d+) rank (-?\d+): (\d+) -> (\d+), epoch (\d+)"
    got = {}
    for match in re.findall(rf"^{line}$", text, re.M):
        group, rank, old, state, epoch = (int(word) for word in match)
        states = got.setdefault((group, rank), [(old, 0)])
        equal(old, states[-1][0], f"old state of rank {rank} of group {group}")
        states.append((state, epoch))
    want = {}
    for one in lab.rounds:
        want[one.group, -1] = [(JOINING, 0), (ACTIVE, 1), (LEFT, 1)]
        for rank in 0, 1:
            # who comes last need not wait
            waits = [(abi.WAITING, 0)] * ((abi.WAITING, 0) in got.get((one.group, rank), ()))
            want[one.group, rank] = [(abi.CLOSED, 0), (abi.JOINING, 0), *waits, (abi.READY, 1),
                                     (abi.LEAVING, 1), (abi.CLOSED, 1)]
    equal(got, want, "states and epochs by group and rank")


CHECKS = {BUFFERS: check_buffers, DROPS: check_drops, STACKS: check_stacks, BETWEEN: check_between,
          COMPLETION: check_completion, STATES: check_states}


@test("each one-liner of tracing.rst is run here")
def t_all(_):
    equal(sorted(documented()), sorted([*CHECKS, *EVERY_SECOND]), "one-liners")


def add(title):
    @test(title)
    def _(lab):
        if title in EVERY_SECOND:
            every_second(lab, title)
        else:
            CHECKS[title](lab, lab.said(title))


for name in documented():
    add(name)
abi.main(Lab())
