# SPDX-License-Identifier: GPL-2.0-only
"""
How long something takes on a machine that may stand still: an emulated one has to wait for the
machine around it. A thread sleeps again and again; by how much it oversleeps is not counted.

    inc_clock.py SECONDS PID...    prints "ready"; fails if these processes, children of a shell,
                                   take longer to end
"""
import sys
import threading
import time

TICK = 0.01
LATE = 0.05             # of a sleep; what is less is how this machine works


class Clock(threading.Thread):
    """with Clock() as clock: ... clock.seconds() since then"""

    def __init__(self):
        super().__init__(daemon=True)
        self.begin, self.still, self.over = time.monotonic(), 0, False

    def run(self):
        while not self.over:
            begin = time.monotonic()
            time.sleep(TICK)
            late = time.monotonic() - begin - TICK
            if late > LATE:
                self.still += late

    def seconds(self):
        return time.monotonic() - self.begin - self.still

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over = True
        self.join()


def at_work(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):    # the latter: gone between open and read
        return False


def main(limit, pids):
    with Clock() as clock:
        print("ready", flush=True)
        while any(at_work(pid) for pid in pids) and clock.seconds() < 60:
            time.sleep(TICK)
        took = clock.seconds()
    print(f"ended after {took:.2f} s, and {clock.still:.2f} s in which the machine stood still")
    sys.exit(took > limit)


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2:])
