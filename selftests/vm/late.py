# SPDX-License-Identifier: GPL-2.0-only
"""
Ranks that are late, started by 26-late.sh: how late they are. Ranks of h1, h2 and h3 are driven by this process; one that
is late is one for which it has not submitted yet.
"""
import os
import random
import re
import time

import inc_abi as abi
from inc_abi import Job, equal, test, wait_until

RNG = random.Random(int(os.environ.get("SEED", "1")))
HOSTS = ("h1", "h2", "h3")


class Lab:
    def __init__(self):
        self.jobs = []

    def job(self, hosts=HOSTS):
        self.jobs.append(Job(RNG.randrange(1 << 32), hosts))
        return self.jobs[-1]

    def recover(self):
        while self.jobs:
            self.jobs.pop().close()
        wait_until(lambda: not abi.groups("sw"), "the groups of a test are gone", 30)


def late_of(job):
    """What the node says of each rank."""
    return [m["late"] for m in abi.show("sw", "member") if m["group"] == job.group]


def check_figures(late):
    """Each of the figures says what the others do."""
    for rank in late:
        equal(sum(h["blocks"] for h in rank["histogram"]), rank["blocks"], f"blocks of the histogram of {rank}")
        equal(rank["mean_us"], rank["sum_us"] // rank["blocks"] if rank["blocks"] else 0, f"mean of {rank}")
        least = [h["from_us"] for h in rank["histogram"]]
        equal(least, sorted(least), "order of the histogram")
        if least and not least[-1] <= rank["max_us"]:
            raise AssertionError(f"the longest time is not in the last bucket of {rank}")


@test("how late each rank is: blocks, mean, longest, histogram")
def t_figures(lab):
    job = lab.job()
    job.run(700)
    first = late_of(job)
    check_figures(first)
    blocks = sum(rank["blocks"] for rank in first)
    equal(blocks, [g for g in abi.show("sw", "group") if g["group"] == job.group][0]["stats"]["blocks"],
          "blocks that ranks were the last one for")
    others = job.begin((0, 2), 700)
    time.sleep(0.4)         # this is what is measured
    job.end({**others, **job.begin((1,), 700)}, 700)
    late = late_of(job)
    check_figures(late)
    equal(sum(rank["blocks"] for rank in late), 2 * blocks, "blocks that ranks were the last one for")
    if not (late[1]["blocks"] - first[1]["blocks"] == blocks and late[1]["max_us"] >= 300000 and
            late[1]["sum_us"] >= 300000 * blocks):
        raise AssertionError(f"rank 1 was 0.4 s late with {blocks} blocks, but the node says {late}")
    if max(late[0]["max_us"], late[2]["max_us"]) >= 300000:
        raise AssertionError(f"ranks 0 and 2 were in time, but the node says {late}")
    text = abi.tool("inc", "-n", "sw", "-s", "member", "show", "group", str(job.group))
    if not re.search(r"^    last of \d+ blocks by \S+ at most \S+ms;( from \S+: \d+)+$", text, re.M):
        raise AssertionError(f"text is {text!r}")
    equal("last of" in abi.tool("inc", "-n", "sw", "member", "show"), False, "shown without -s")
    lab.recover()


if __name__ == "__main__":
    abi.main(Lab())
