#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Nodes that lie to `inc topo show` about the node above them:

    unshare -rn topo_lies.py INC

Prints what is wrong; exit status 0 if nothing is. In the network namespace, which it takes for its
own, 10.9.9.9 and 127.0.0.1 are nodes that name whatever the test wants.
"""
import socket
import struct
import subprocess
import sys
import threading

PORT = 5227
CHALLENGE = 8
ASK = 1
HAS_PARENT = 4
FAR, NEAR, FREE = "10.9.9.9", "127.0.0.1", 4711
# Where no node elsewhere can have its parent, and what it must not be asked by: nothing is to go there.
NOWHERE = ["0.0.0.0", "0.1.2.3", "127.0.0.1", "127.9.9.9", "224.0.0.251", "255.255.255.255",
           "::", "::1", "ff02::1", "fe80::7", "::ffff:127.0.0.1"]


def address(text):
    six = ":" in text
    packed = socket.inet_pton(socket.AF_INET6 if six else socket.AF_INET, text)
    return struct.pack("!16sHH", packed, 6 if six else 4, FREE)


class Node(threading.Thread):
    """Answers JOIN with a CHALLENGE, and what bears one with what it is."""

    def __init__(self, at):
        super().__init__(daemon=True)
        self.above = None
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((at, PORT))

    def run(self):
        while True:
            packet, who = self.socket.recvfrom(2048)
            group, nonce, challenge = packet[4:8], packet[52:56], packet[104:112]
            body = nonce + struct.pack("!IQ", ASK, 1)
            if any(challenge):
                body += address(self.above)
                body += struct.pack("!IIHBBII8xQQ", 0, 1, 64, 0, HAS_PARENT, 0, 0, 0, 0)
            head = struct.pack("!BBH4s", 0x10 | CHALLENGE, 0, 0, group) + bytes(16)
            head += struct.pack("!HH", 1, len(body)) + bytes(20)
            self.socket.sendto(head + body, who)


def topo(inc, at):
    done = subprocess.run([inc, "topo", "show", at, "timeout", "100"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False)
    return done.stdout.decode().splitlines()


def main():
    for command in ("link set lo up", f"address add {FAR}/32 dev lo", "route add default dev lo"):
        subprocess.run(["ip", *command.split()], check=True)
    nodes = {at: Node(at) for at in (FAR, NEAR)}
    for node in nodes.values():
        node.start()
    wrong = []

    def expect(at, above, told):
        nodes[at].above = above
        lines = topo(sys.argv[1], at)
        said = "parent not told" not in lines[0] and f" parent {above} port {FREE}" in lines[0]
        asked = any(line.startswith(f"{above} port {FREE}: ") for line in lines[1:])
        if not lines[0].startswith(f"{at}: node, caps") or said != told or asked != told or \
                len(lines) != 1 + told:
            wrong.extend([f"{at} says that {above} is above:"] + lines)

    for above in NOWHERE:
        expect(FAR, above, False)
    expect(FAR, "10.9.9.10", True)
    expect(FAR, "fd00::7", True)
    # who asks a node of this box may be told of another one here
    expect(NEAR, "127.9.9.9", True)
    expect(NEAR, "224.0.0.251", False)
    for line in wrong:
        print(line)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
