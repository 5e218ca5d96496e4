# SPDX-License-Identifier: GPL-2.0-only
"""
Ranks that are bound to a VRF by SO_BINDTODEVICE, where the main table has no route to any of them:
a group that meets at the host of its rank 0, and one that has lost its node, where every host is
the root of a tree; started by 38-meet.sh, which has put the hosts' devices into "vrfm".
"""
import os
import random

import inc_abi as abi
from inc_abi import NODE4, Job, equal, test, wait_until

HOSTS = ("h1", "h2", "h3")
RNG = random.Random(int(os.environ.get("SEED", "1")))
SA_EDGE = 0x2       # INC_SA_EDGE
EDGE = 2            # enum inc_placement


def new_job(**options):
    return Job(RNG.randrange(1, 1 << 32), HOSTS, device="vrfm", **options)


def blocks():
    return [abi.counters(ns).get("blocks", 0) for ns in HOSTS]


def vrfs():
    """Of the groups that are at the hosts' edges."""
    return [g.get("vrf") for ns in HOSTS for g in abi.show(ns, "group") if g["role"] == "node"]


def end(job):
    job.close()
    for ns in HOSTS:
        wait_until(lambda ns=ns: not abi.groups(ns), f"no group is left in {ns}", 30)


@test("ranks in a VRF meet at the host of their rank 0")
def t_meet(lab):
    del lab
    before = blocks()
    job = new_job(parent="10.7.0.1", flags=SA_EDGE)
    for k in range(3):
        job.run(10000, k)
    equal([b > a for a, b in zip(before, blocks())], [True, False, False], "who has done the work")
    equal(vrfs(), ["vrfm"], "VRF of the group")
    end(job)


@test("ranks in a VRF go on without their node, by trees")
def t_trees(lab):
    del lab
    abi.tool("inc", "-n", "sw", "node", "add", "dev", "br0", "fallback", "edge")
    job = new_job(parent=NODE4)
    job.run(700)
    abi.tool("inc", "-n", "sw", "node", "del", "dev", "br0")
    job.run(700)
    wait_until(lambda: all(r.info()["placement"] == EDGE for r in job.ranks),
               "all ranks are at the edge")
    before = blocks()
    for k in range(3):
        job.run(100000, k)
    equal([b > a for a, b in zip(before, blocks())], [True] * 3, "who has done the work")
    equal(vrfs(), ["vrfm"] * 3, "VRFs of the trees")
    end(job)


abi.main(None)
