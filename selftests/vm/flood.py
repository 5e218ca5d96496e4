# SPDX-License-Identifier: GPL-2.0-only
"""
flood.py NETNS GROUP FILE: sends INC packets of every type from a host to the node and to host h1
until it is killed; FILE appears when it has begun.
"""
import sys
import time

import inc_wire as w
from inc_abi import NODE4


def main():
    ns, group = sys.argv[1], int(sys.argv[2])
    tap = w.Tap(ns)
    me, frames = f"10.7.0.{ns[1:]}", []
    for dst, mac in ((NODE4, w.Tap("sw", "br0").mac), ("10.7.0.1", w.Tap("h1").mac)):
        for kind in range(1, 14):
            body = (w.join_body(group + 1, 0, 2, kind) if kind == w.JOIN
                    else bytes(w.MIN_BODY.get(kind, 0)))
            packet = w.Packet(kind, group=group + (kind == w.JOIN), body=body, flags=0).pack()
            frames.append(w.ether(tap.mac, mac, w.ip(me, dst, w.udp(me, dst, packet))))
    with open(sys.argv[3], "w", encoding="ascii"):
        pass
    while True:
        for frame in frames:
            try:
                tap.send(frame)
            except OSError:
                return              # the device has gone
        time.sleep(0.005)


main()
