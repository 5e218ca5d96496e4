# SPDX-License-Identifier: GPL-2.0-only
"""Sends numbered datagrams from h1 to h2; prints how many of them were overtaken on their way."""
import socket
import struct

from inc_wire import netns

COUNT = 200


def main():
    with netns("h2"):
        into = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        into.bind(("10.7.0.2", 0))
    with netns("h1"):
        out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    out.connect(into.getsockname())
    into.settimeout(2)
    for n in range(COUNT):
        out.send(struct.pack("=I", n))
    latest, overtaken = -1, 0
    try:
        for _ in range(COUNT):
            n = struct.unpack("=I", into.recv(16))[0]
            overtaken += n < latest
            latest = max(latest, n)
    except TimeoutError:
        pass                    # lost ones
    print(overtaken)


main()
