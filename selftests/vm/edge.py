# SPDX-License-Identifier: GPL-2.0-only
"""
A group that has lost its node and is at the edge, where every host is the root of a tree: which
blocks are whose, ranks that disagree about a block of any tree, leaving, and what a host with two
trees shows; started by 27-failover.sh. The node in sw is added anew at the end.
"""
import os
import random

import inc_abi as abi
from inc_abi import Job, equal, test, wait_until

HOSTS = ("h1", "h2", "h3")
RNG = random.Random(int(os.environ.get("SEED", "1")))
EDGE = 2            # enum inc_placement


def node(command, *args):
    abi.tool("inc", "-n", "sw", "node", command, "dev", "br0", *args)


def job_at_edge(hosts):
    """The node is not there any more."""
    node("set", "fallback", "edge")
    job = Job(RNG.randrange(1 << 32), hosts)
    job.run(700)
    node("del")
    job.run(700)
    wait_until(lambda: all(r.info()["placement"] == EDGE for r in job.ranks),
               "all ranks are at the edge")
    return job


def end_job(job):
    job.close()
    for ns in HOSTS:
        wait_until(lambda ns=ns: not abi.groups(ns), f"no group is left in {ns}", 30)
    node("add")


class Lab:
    def __init__(self):
        self.job = job_at_edge(HOSTS)

    def end(self):
        if self.job:
            end_job(self.job)
        self.job = None

    def blocks(self):
        return [abi.counters(ns).get("blocks", 0) for ns in HOSTS]


@test("every host reduces its share of the blocks")
def t_shares(lab):
    before = lab.blocks()
    for k in range(3):
        lab.job.run(100000, k)
    done = [b - a for a, b in zip(before, lab.blocks())]
    if min(done) * 2 < max(done) or not min(done):
        raise AssertionError(f"blocks of the trees: {done}")
    shown = [g for ns in HOSTS for g in abi.show(ns, "group") if g["role"] == "node"]
    equal(sorted(g.get("tree", 0) for g in shown), [0, 1, 2], "trees")
    equal([g["trees"] for g in shown], [3] * 3, "trees that there are")


# Two blocks an operation, and one that fails: over the rounds the first block of it is each tree's.
@test("ranks disagree about a block of any tree: all are told, and go on")
def t_disagree(lab):
    for k in range(12):
        lab.job.run(400, k)
        wrong = RNG.randrange(3)
        handles = [r.allreduce(range(700 + (i == wrong))) for i, r in enumerate(lab.job.ranks)]
        behind = lab.job.begin(range(3), 700, k)
        for rank, handle in zip(lab.job.ranks, handles):
            done = rank.wait(handle)
            equal((done.result, done.code), (-71, abi.MISMATCH), f"result and code in round {k}")
            equal(wrong in done.ranks, True, f"rank {wrong} is named: {done.ranks}")
        # what was submitted behind it fails at all or at none
        ends = {rank.wait(behind[i]).code for i, rank in enumerate(lab.job.ranks)}
        equal(len(ends), 1, f"ways in which the operation behind it ends: {ends}")
    equal([r.info()["placement"] for r in lab.job.ranks], [EDGE] * 3, "placement")


@test("all leave, and nothing stays")
def t_leave(lab):
    lab.end()


@test("a host that has two trees of a group shows the members of both")
def t_members(lab):
    lab.end()
    job = job_at_edge(("h1", "h2", "h1"))
    equal(sorted(m["rank"] for m in abi.show("h1", "member")), [0, 0, 1, 1, 2, 2], "members at h1")
    equal(sorted(m["rank"] for m in abi.show("h2", "member")), [0, 1, 2], "members at h2")
    end_job(job)


abi.main(Lab())
