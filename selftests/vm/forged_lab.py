# SPDX-License-Identifier: GPL-2.0-only
"""
What the tests with forged packets stand on: taps on the hosts, a job on three of them whose ranks
are driven from here, so that nothing happens between two packets but probes, and a ledger of what
has to be counted where.
"""
import os
import random
import struct
import time

import inc_abi as abi
import inc_wire as w
from inc_abi import NODE4, NODE6, Job, wait_until

MEMBERS = ("h1", "h2", "h3")
NOISE = ("drop_duplicate",)         # what a slow machine's repetitions may add while the job works
RNG = random.Random(int(os.environ.get("SEED", "1")))


class Lab:
    """The hosts' taps, a job on three of them, what its packets said, and the ledger of drops."""

    def __init__(self):
        self.taps = {ns: w.Tap(ns) for ns in ("h1", "h2", "h3", "h4")}
        self.node_mac = w.Tap("sw", "br0").mac
        self.ip = {ns: f"10.7.0.{ns[1]}" for ns in self.taps}
        self.ip6 = {ns: f"fd00:7::{ns[1]}" for ns in self.taps}
        self.k = 0
        self.start()

    def start(self):
        self.group = RNG.randrange(1 << 32)
        self.ledger = {ns: abi.drops(ns) for ns in ("sw", *MEMBERS)}
        self.job = Job(self.group, MEMBERS)
        self.work()
        self.window = self.job.ranks[0].info()["window"]

    # the job

    def learn(self):
        """
        Up and down packets of the members, from their own taps: one for each block, in order,
        however often sent. And the port that each sends from.
        """
        self.up, self.down, self.port = [], [], {}
        for i, ns in enumerate(MEMBERS):
            up, down = {}, {}
            for f, p in ((f, p) for f in self.taps[ns].frames() for p in f.units()):
                if p.group == self.group and p.kind == w.CONTRIB and p.child == i:
                    up.setdefault(p.psn, p)
                    self.port[ns] = f.sport
                elif p.group == self.group and p.kind == w.RESULT:
                    down.setdefault(p.psn, p)
            self.up.append([up[psn] for psn in sorted(up)])
            self.down.append([down[psn] for psn in sorted(down)])

    def work(self):
        """An allreduce that must be right; afterwards up and down hold its packets."""
        for tap in self.taps.values():
            tap.frames()
        self.k += 1
        self.job.run(700, self.k)
        self.settle()
        self.learn()
        self.next = self.up[0][-1].psn + 1

    def settle(self):
        """
        Repetitions are no offence: their counters are taken as they are when no more of them come.
        """
        before, now = None, self.counted()
        while now != before:
            time.sleep(0.02)
            before, now = now, self.counted()
        for ns, now in now.items():
            for reason in NOISE:
                self.ledger[ns][reason] = now.get(reason, 0)

    def counted(self):
        return {ns: abi.drops(ns) for ns in self.ledger}

    def left(self, *where):
        """
        Ranks have left: the group's last words, and what strangers made the node say, may have
        found nobody.
        """
        for ns in where:
            wait_until(lambda ns=ns: abi.groups(ns) == [self.group],
                       f"only the job's rank is in {ns}")
            for reason in ("drop_no_group", "drop_state"):
                self.ledger[ns][reason] = abi.drops(ns).get(reason, 0)
        self.alone()

    def alone(self):
        """
        Groups that go count, and may send what is counted: none is to do so beside the next test.
        """
        wait_until(lambda: abi.groups("sw") == [self.group], "only the job's group is at the node",
                   30)

    # the ledger

    def owe(self, ns, **reasons):
        for reason, n in reasons.items():
            key = f"drop_{reason}"
            self.ledger[ns][key] = self.ledger[ns].get(key, 0) + n

    def repeated(self, reason):
        """
        What a slow rank of ours has repeated may come to the node too late, as a JOIN behind its
        own READY. To be called after an audit of what strangers have sent.
        """
        key = f"drop_{reason}"
        self.ledger["sw"][key] = abi.drops("sw").get(key, 0)

    def recover(self):
        """After a test that failed: what it has left is not the next one's fault."""
        self.job.close()
        self.start()
        self.alone()

    def audit(self, *where):
        for ns in where or self.ledger:
            want = {k: v for k, v in self.ledger[ns].items() if v}
            wait_until(lambda ns=ns, want=want: abi.drops(ns) == want,
                       lambda ns=ns, want=want: difference(ns, abi.drops(ns), want))

    # packets

    def contrib(self, rank=0, **fields):
        """What this member would send next, complete and right."""
        last = self.up[rank][-1]
        body = struct.pack("<4i", 1, 2, 3, 4)
        return last.but(psn=self.next, flags=w.F_PAYLOAD | w.F_WANT, len=None, body=body,
                        opseq=last.opseq + 1,
                        **fields)

    def probe(self, rank=0, **fields):
        """
        A PROBE, or what else fields make of it. Its time comes back in STATUS, and is to be one of
        the last quarter of an hour: machines may be older.
        """
        fields = {"kind": w.PROBE, "body": bytes(16), "union": bytes(4), **fields}
        if fields["kind"] == w.PROBE:
            fields["union"] = struct.pack("!I", time.monotonic_ns() // 1000 & 0xffffffff)
        return self.contrib(rank).but(flags=0, opseq=0, sig=0, **fields)

    def send(self, ns, packet, to=None, src=None, v6=False, **how):
        """From @ns's own port, with any source address. @packet: Packet or bytes."""
        tap = self.taps[ns]
        dst = (NODE6 if v6 else NODE4) if to is None else (self.ip6 if v6 else self.ip)[to]
        dmac = self.node_mac if to is None else self.taps[to].mac
        src = src or (self.ip6 if v6 else self.ip)[ns]
        data = packet if isinstance(packet, bytes) else packet.pack()
        frame = w.ip(src, dst, w.udp(src, dst, data, **how), **how)
        tap.send(w.ether(tap.mac, dmac, frame) + how.get("trailer", b""))


def difference(ns, got, want):
    keys = [k for k in sorted({*got, *want}) if got.get(k, 0) != want.get(k, 0)]
    return f"{ns}: " + ", ".join(f"{k} is {got.get(k, 0)}, expected {want.get(k, 0)}" for k in keys)
