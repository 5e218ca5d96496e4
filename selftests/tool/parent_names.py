#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""parent_names.py FIFO ADDR...: says at which address it was asked for a node; answers as one at the
last of them, and is silent at the others. Opens FIFO when it can be asked."""
import select
import socket
import struct
import sys

PORT = 5227
HEADER = struct.Struct(">BBHIIIIHHHHIIIQ")
CHALLENGE = 8


def main():
    fifo, addrs = sys.argv[1], sys.argv[2:]
    sockets = {}
    for addr in addrs:
        sock = socket.socket(socket.AF_INET6 if ":" in addr else socket.AF_INET, socket.SOCK_DGRAM)
        sock.bind((addr, PORT))
        sockets[sock] = addr
    with open(fifo, "w", encoding="ascii") as ready:
        ready.write("ready\n")
    while True:
        for sock in select.select(list(sockets), [], [])[0]:
            data, sender = sock.recvfrom(2048)
            print("asked", sockets[sock], flush=True)
            if sockets[sock] == addrs[-1]:
                group, nonce = struct.unpack_from(">I", data, 4)[0], data[HEADER.size + 4:HEADER.size + 8]
                head = HEADER.pack(1 << 4 | CHALLENGE, 0, 0, group, 0, 0, 0, 0, 0, 1, 16, 0, 0, 0, 0)
                sock.sendto(head + nonce + bytes(4) + b"challeng", sender)


main()
