# SPDX-License-Identifier: GPL-2.0-only
"""
Groups of thousands of ranks, for 45-thousands.sh: RANKS of them on four hosts, dealt out in turn.
The bitmaps of JOIN and PARTIAL have room for more in their last word.
"""
import array
import errno
import os
import resource

import inc_abi as abi
from inc_abi import BARRIER, NODE4, Job, Rank, equal, fails, test, tool, wait_until

HOSTS = ["h1", "h2", "h3", "h4"]


def how_many():
    """A kernel that looks for bugs is too slow for as many."""
    if abi.looks_for_bugs():
        return 203
    return 2399 if os.environ.get("FULL") == "1" else 1311


RANKS = how_many()
# Idle ranks ask four times in it, all of them on the one processor that this is tested on.
DEAD = "30000"
N = 3
_group = [450000]


class Lab:
    def __init__(self):
        self.job = None
        abi.family()

    def nodes(self, at_hosts, *words):
        """A node at the switch, with these settings, and one at each host below it, or none."""
        self.recover()
        tool("inc", "-n", "sw", "node", "add", "dev", "br0", "dead", DEAD, *words)
        for ns in HOSTS if at_hosts else []:
            tool("inc", "-n", ns, "node", "add", "dev", "lo", "parent", NODE4, "dead", DEAD)

    def join(self, parents):
        """Rank r is on host r mod 4, and joins at parents[r mod 4]."""
        _group[0] += 1
        job = self.job = Job.__new__(Job)
        job.group = _group[0]
        job.ranks = [Rank(HOSTS[i % 4]) for i in range(RANKS)]
        for i, rank in enumerate(job.ranks):
            rank.start(job.group, i, RANKS, parent=parents[i % 4])
        for rank in job.ranks:
            rank.joined(300000)
        return job

    def recover(self):
        if self.job:
            self.job.close()
        self.job = None
        for ns in ["sw", *HOSTS]:
            tool("inc", "-n", ns, "node", "del", "dev", "br0" if ns == "sw" else "lo", check=False)
            wait_until(lambda ns=ns: not abi.groups(ns), f"no group is left at {ns}")


def run(job):
    """Allreduces and a barrier: every result of every rank."""
    for k in range(2):
        job.run(N, k)
    handles = [rank.submit(coll=BARRIER, dtype=0, op=0) for rank in job.ranks]
    for rank, handle in zip(job.ranks, handles):
        equal(rank.wait(handle).result, 0, f"barrier of rank {rank.rank}")


@test("thousands of ranks at one node")
def t_one_node(lab):
    lab.nodes(False)
    before = abi.counters("sw")["contribs"]
    run(lab.join([NODE4] * 4))
    equal(abi.counters("sw")["contribs"] - before >= 3 * RANKS, True, "each has contributed")
    lab.recover()


@test("thousands of ranks, a node on each host")
def t_tree(lab):
    lab.nodes(True)
    job = lab.join(["10.7.0.1", "10.7.0.2", "10.7.0.3", "10.7.0.4"])
    before = abi.counters("sw")
    run(job)
    after = abi.counters("sw")
    equal(after["contribs"] - before["contribs"], 4 * (after["blocks"] - before["blocks"]),
          "contributions at the switch: those of four nodes")
    lab.recover()


@test("who has contributed, of thousands of ranks")
def t_partial(lab):
    lab.nodes(False, "late", "20000", "late-policy", "partial")
    job = lab.join([NODE4] * 4)
    late = {0, 31, 32, RANKS // 2, RANKS - 33, RANKS - 1}
    handles = job.begin(sorted(set(range(RANKS)) - late), N)
    want = array.array("i", [sum(v) for v in
                             zip(*(job.values(r, N, 0) for r in sorted(handles)))])
    for r, handle in handles.items():
        done = job.ranks[r].wait(handle)
        equal((done.result, done.missing), (0, len(late)), f"rank {r}: result and missing ranks")
        equal(job.ranks[r].buffers.pop(handle)[1], want, f"rank {r}: sum")
    equal(sorted(set(range(RANKS)) - set(job.ranks[1].contributed())), sorted(late),
          "the ranks that are missing")
    lab.recover()


@test("more ranks than a group may have")
def t_too_many(lab):
    del lab
    rank = Rank("h1")
    fails(errno.EINVAL, rank.connect,
          abi.sockaddr(1, 0, abi.MAX_RANKS + 1, parent=NODE4))
    rank.close()


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (8192, 8192))
    abi.main(Lab())
