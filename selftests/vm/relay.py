# SPDX-License-Identifier: GPL-2.0-only
"""
A wire that spoils INC's packets: relay.py WIRES LOG [KIND=PERMILLE...] moves frames between the
devices u1 and d1, u2 and d2, ... of this network namespace until it gets SIGTERM, and then writes
to LOG what it did: "WIRE DIRECTION KIND NUMBER" in a line, up being from u to d.

    flip        one bit of the UDP payload or checksum; the checksum is left as it was
    truncate    the frame's last bytes are missing
    drop        lost
    duplicate   twice
    reorder     held back until a few others have passed
    delay       held back for some milliseconds

Everything that is not INC's is passed on as it is. SEED seeds the choices. What it says that it has
flipped or truncated has left it: a frame that the device does not take is "lost" and nothing else,
and SIGTERM ends no frame half-way.
"""
import heapq
import os
import random
import select
import signal
import socket
import struct
import sys
import time

KINDS = ("flip", "truncate", "drop", "duplicate", "reorder", "delay")


def udp_at(frame):
    """Where the UDP header of a packet to or from INC's port stands; None if this is not one."""
    kind = struct.unpack_from("!H", frame, 12)[0]
    at = {0x0800: 34, 0x86dd: 54}.get(kind)
    if at is None or len(frame) < at + 8 or frame[at - 11 if kind == 0x0800 else 20] != 17:
        return None
    return at if 5227 in struct.unpack_from("!HH", frame, at) else None


class Choice:
    """
    What becomes of the frames of all wires: as chance has it, but of 2000 / PERMILLE that go one
    way at least one is of each kind, so that a short job has all of them.
    """

    def __init__(self, rates, rng):
        self.rates, self.rng = rates, rng
        self.since = [{kind: 0 for kind in KINDS if rates.get(kind)} for _ in "ud"]

    def by_chance(self):
        point = self.rng.randrange(1000)
        for kind in KINDS:
            point -= self.rates.get(kind, 0)
            if point < 0:
                return kind
        return None

    def pick(self, way):
        """One kind at most."""
        since = self.since[way]
        for kind in since:
            since[kind] += 1
        overdue = [kind for kind in since if since[kind] * self.rates[kind] >= 2000]
        kind = overdue[0] if overdue else self.by_chance()
        if kind:
            since[kind] = 0
        return kind


class Wire:
    """
    One pair of devices. A way is the number of the device that a frame came in by: 0 up, 1 down.
    """

    def __init__(self, number, choice):
        self.choice, self.rng = choice, choice.rng
        self.socks = [socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
                      for _ in "ud"]
        for sock, name in zip(self.socks, "ud"):
            sock.bind((f"{name}{number}", 3))
            sock.setblocking(False)
            sock.setsockopt(socket.SOL_SOCKET, 33, 1 << 23)         # SO_RCVBUFFORCE
        self.did = [dict.fromkeys((*KINDS, "passed", "too_long", "lost"), 0) for _ in "ud"]
        self.behind = [[], []]          # by way: [frames to be waited for, frame]
        self.later = []                 # heap of (time, number, way, frame)
        self.number = 0

    def send(self, way, frame, kind=None):
        """@kind: what it is counted as, if it leaves."""
        try:
            self.socks[1 - way].send(frame)
        except OSError:
            kind = "lost"
        if kind:
            self.did[way][kind] += 1

    def spoil(self, way, frame, at):
        kind = self.choice.pick(way)
        if not kind:
            self.send(way, frame)
            return
        if kind == "flip":
            bad = bytearray(frame)
            end = at + struct.unpack_from("!H", frame, at + 4)[0]
            bit = self.rng.randrange(8 * (at + 6), 8 * end)
            bad[bit // 8] ^= 1 << bit % 8
            self.send(way, bytes(bad), kind)
            return
        if kind == "truncate":
            cut = self.rng.randrange(1, min(40, len(frame) - at - 7))
            self.send(way, frame[:len(frame) - cut], kind)
            return
        self.did[way][kind] += 1
        if kind == "duplicate":
            self.send(way, frame)
            self.send(way, frame)
        elif kind == "reorder":
            self.behind[way].append([self.rng.randrange(1, 6), frame])
        elif kind == "delay":
            self.hold(way, frame, self.rng.uniform(0.001, 0.02))

    def hold(self, way, frame, seconds):
        self.number += 1
        heapq.heappush(self.later, (time.monotonic() + seconds, self.number, way, frame))

    def one(self, way, frame):
        at = udp_at(frame)
        self.did[way]["passed"] += 1
        if len(frame) > 1514:
            self.did[way]["too_long"] += 1
        if at is None:
            self.send(way, frame)
            return
        self.spoil(way, frame, at)
        waiting, self.behind[way] = self.behind[way], []
        for entry in waiting:
            entry[0] -= 1
            if entry[0]:
                self.behind[way].append(entry)
            else:
                self.send(way, entry[1])

    def receive(self, way):
        for _ in range(64):
            try:
                frame, where = self.socks[way].recvfrom(1 << 17)
            except BlockingIOError:
                return
            if where[2] != 4:           # not what this program has sent
                self.one(way, frame)

    def idle(self):
        """Nobody comes by any more: what was held back goes."""
        for way in (0, 1):
            waiting, self.behind[way] = self.behind[way], []
            for _, frame in waiting:
                self.send(way, frame)

    def due(self):
        while self.later and self.later[0][0] <= time.monotonic():
            _, _, way, frame = heapq.heappop(self.later)
            self.send(way, frame)


def run(wires, ready):
    """Until SIGTERM, which is heeded between two frames, so that what is counted has been done."""
    stop = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
    p = select.poll()
    ways = {}
    for wire in wires:
        for way, sock in enumerate(wire.socks):
            p.register(sock, select.POLLIN)
            ways[sock.fileno()] = wire, way
    with open(ready, "w", encoding="ascii"):
        pass
    while not stop:
        got = p.poll(2 if any(wire.later for wire in wires) else 20)
        for fd, _ in got:
            wire, way = ways[fd]
            wire.receive(way)
        for wire in wires:
            if not got:
                wire.idle()
            wire.due()


def main():
    count, log = int(sys.argv[1]), sys.argv[2]
    rates = {k: int(v) for k, v in (a.split("=") for a in sys.argv[3:])}
    if set(rates) - set(KINDS):
        sys.exit(f"relay.py: {sorted(set(rates) - set(KINDS))}: expected some of {KINDS}")
    rng = random.Random(int(os.environ.get("SEED", "1")))
    choice = Choice(rates, rng)
    wires = [Wire(n, choice) for n in range(1, count + 1)]
    run(wires, log + ".ready")
    with open(log, "w", encoding="ascii") as f:
        for number, wire in enumerate(wires, 1):
            for way, did in zip(("up", "down"), wire.did):
                f.writelines(f"{number} {way} {kind} {n}\n" for kind, n in did.items())


main()
