# SPDX-License-Identifier: GPL-2.0-only
"""Packets for the qdisc test: INC headers, and the frames around them, well formed or not."""

import struct

INC_PORT = 5227
TYPES = {"contrib": 1, "result": 2, "probe": 3, "status": 4, "nack": 5, "error": 6, "join": 7,
         "challenge": 8, "wait": 9, "ready": 10, "refuse": 11, "abort": 12, "move": 13,
         "peers": 14, "partial": 15}
ETH_IPV4, ETH_IPV6, ETH_8021Q, ETH_8021AD = 0x0800, 0x86DD, 0x8100, 0x88A8
UDP, FRAGMENT, HOP_BY_HOP, DEST_OPTIONS = 17, 44, 0, 60
F_PAYLOAD = 1
HDR = 48


def inc(kind="contrib", total=96, version=1, flags=None, span=1, length=None, group=7):
    """
    One datagram of @total bytes: header, and payload (contributions and results) or a body of
    zeros.
    """
    number = TYPES.get(kind, kind)
    body = total - HDR
    if flags is None:
        flags = F_PAYLOAD if kind in ("contrib", "result") and body else 0
    return struct.pack(">BBHIIIIHHHHII4sQ", version << 4 | number, 0, flags, group, 1, 1, 0, 0, 0,
                       span, body if length is None else length, 1, 0, b"\x0b\x01\0\0",
                       0x1234) + bytes(body)


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def udp(payload, sport=50000, dport=INC_PORT, length=None):
    return (struct.pack(">HHHH", sport, dport, 8 + len(payload) if length is None else length,
                        0) + payload)


def ipv4(data, frag=0, options=b"", proto=UDP, version=4, ihl=None):
    words = 5 + len(options) // 4 if ihl is None else ihl
    head = struct.pack(">BBHHHBBH4s4s", version << 4 | words, 0, 20 + len(options) + len(data), 1,
                       frag, 64, proto, 0, bytes((10, 9, 0, 1)), bytes((10, 9, 0, 2))) + options
    return head[:10] + struct.pack(">H", checksum(head)) + head[12:] + data


def ipv6(data, ext=(), version=6):
    """@ext: (protocol number, bytes from the second on) of each extension header, in order."""
    chain = [number for number, _ in ext] + [UDP]
    body = b"".join(bytes((chain[i + 1],)) + rest for i, (_, rest) in enumerate(ext)) + data
    addr = bytes.fromhex("fd000009" + "0" * 22)
    return (struct.pack(">IHBB", version << 28, len(body), chain[0], 64) + addr + b"\x01" + addr
            + b"\x02" + body)


def frame(data, ether, dst, src, vlans=()):
    """@vlans: (ethertype, id) of each tag, the outer one first."""
    tags = b"".join(struct.pack(">HH", tag, vid) for tag, vid in vlans)
    return dst + src + tags + struct.pack(">H", ether) + data
