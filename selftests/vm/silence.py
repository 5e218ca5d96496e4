# SPDX-License-Identifier: GPL-2.0-only
"""What ranks say, and are told, that have nothing to do; started by 18-silence.sh."""
import time

import inc_abi as abi
from inc_abi import Job, test

HOSTS = ("h1", "h2", "h3")


@test("idle ranks are told READY once")
def t_idle(lab):
    before = [abi.counters(ns) for ns in HOSTS]
    job = Job(0x51, HOSTS)
    time.sleep(1.5)                     # not until something happens: nothing is to
    after = [abi.counters(ns) for ns in HOSTS]
    job.close()
    said = [now["probes"] - then["probes"] for then, now in zip(before, after)]
    again = [now["drop_duplicate"] - then["drop_duplicate"] for then, now in zip(before, after)]
    if any(n > 1 for n in again):
        raise AssertionError(f"READY came again {again} times, expected once more if it was slow")
    if any(n not in (1, 2) for n in said):
        raise AssertionError(f"{said} PROBEs, expected one each, and one more if it was slow")


if __name__ == "__main__":
    abi.main(None)
