# SPDX-License-Identifier: GPL-2.0-only
"""
Packets as the tests see them: the header of uapi/linux/inc_wire.h taken apart and put together, right or
wrong on purpose, with UDP, IP and Ethernet around it; and taps, raw sockets that capture and inject
on a device of a network namespace.
"""
import contextlib
import ctypes
import os
import socket
import struct
import time

PORT = 5227
CONTRIB, RESULT, PROBE, STATUS, NACK, ERROR, JOIN, CHALLENGE, WAIT, READY, REFUSE, ABORT, MOVE, \
    PEERS, PARTIAL = range(1, 16)
F_PAYLOAD, F_WANT, F_FINAL, F_DESC, F_RETRANS, F_LEAVE, F_CE, F_ECE, F_PARTIAL, F_WIDE, F_PART, \
    F_ZERO, F_MULTICAST = (1 << i for i in range(13))
UNKNOWN_FLAGS = [1 << i for i in range(13, 16)]
I32, F32, SUM = 3, 11, 1
NO_NODE, UNKNOWN, RANK_TAKEN, SIZE, KEY, LIMIT, BUSY, BLOCK, MOVED, NOT_COME, OUT, TENANT, QUOTA, NEXT, TREE, \
    ORDER, STRIPES = range(1, 18)                                                    # enum inc_refuse_code
MAX_HEIGHT, STALE = 8, 0x80                                         # inc_join.below
JOIN_SHRINK, JOIN_REBIND, JOIN_KINDS = 0x01, 0x08, 0x10             # inc_join.flags
JOIN_STRIPE_SHIFT = 2                                               # inc_join.late_policy
NO_FALLBACK, STANDBY, EDGE = range(3)                               # enum inc_fallback
MIN_BODY = {PROBE: 8, STATUS: 16, ERROR: 96, JOIN: 80, CHALLENGE: 16, WAIT: 16, READY: 168,
            REFUSE: 16, ABORT: 96, MOVE: 16, PEERS: 8, PARTIAL: 4}

HEADER = struct.Struct("!BBHIIIIHHHHII4sQ")
FIELDS = ("vertype", "part", "flags", "group", "incarnation", "epoch", "psn", "tree", "child",
          "span", "len", "opseq", "sig", "union", "cookie")
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33

libc = ctypes.CDLL(None, use_errno=True)


class Packet:
    """One header and what follows it. `len` is that of the body unless it is given."""

    def __init__(self, kind=CONTRIB, body=b"", **fields):
        self.__dict__.update(dict.fromkeys(FIELDS, 0), vertype=0x10 | kind, span=1, union=bytes(4))
        self.body = body
        self.len = None
        self.__dict__.update(fields)

    @property
    def kind(self):
        return self.vertype & 15

    def but(self, **fields):
        """A copy with other fields; kind, dtype and op are parts of fields."""
        new = Packet(body=self.body, **{f: getattr(self, f) for f in FIELDS})
        if "kind" in fields:
            new.vertype = 0x10 | fields.pop("kind")
        if "version" in fields:
            new.vertype = fields.pop("version") << 4 | new.kind
        for at, name in enumerate(("dtype", "op", "mode", "resv")):
            if name in fields:
                new.union = new.union[:at] + bytes([fields.pop(name)]) + new.union[at + 1:]
        new.__dict__.update(fields)
        return new

    def pack(self):
        descriptor = 32 if self.flags & F_DESC and self.kind in (CONTRIB, RESULT) else 0
        size = max(len(self.body) - descriptor, 0) if self.len is None else self.len
        return HEADER.pack(*(size if f == "len" else getattr(self, f)
                             for f in FIELDS)) + self.body + \
            bytes(-len(self.body) % 4)


def parse(data):
    """The units of a received datagram or super-packet."""
    at = 0
    while at + HEADER.size <= len(data):
        p = Packet()
        p.__dict__.update(zip(FIELDS, HEADER.unpack_from(data, at)))
        size = 0 if p.flags & F_ZERO else (p.len + 3 & ~3) + (32 if p.flags & F_DESC else 0)
        p.body = data[at + HEADER.size:at + HEADER.size + size]
        at += HEADER.size + size
        yield p


# Checksums and addresses

def csum(data):
    data += b"\0" * (len(data) & 1)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total ^ 0xffff


def address(text):
    return socket.inet_pton(socket.AF_INET6 if ":" in text else socket.AF_INET, text)


def udp(src, dst, data, sport=PORT, dport=PORT, check=None, length=None, **_):
    """A UDP datagram; @check: instead of the right checksum; @length: in its header."""
    length = 8 + len(data) if length is None else length
    head = struct.pack("!HHHH", sport, dport, length, 0)
    src, dst = address(src), address(dst)
    if check is None:
        pseudo = (src + dst
                  + (struct.pack("!BBH", 0, 17, length) if len(src) == 4
                     else struct.pack("!II", length, 17)))
        check = csum(pseudo + head + data) or 0xffff
    return head[:6] + struct.pack("!H", check) + data


def ip(src, dst, data, proto=17, frag=0, ipid=1, total=None, ipcheck=None, options=b"", **_):
    """An IPv4 packet (with @frag in its flags and offset field) or an IPv6 packet."""
    if ":" in src:
        size = len(data) if total is None else total
        return struct.pack("!IHBB", 6 << 28, size, proto, 64) + address(src) + address(dst) + data
    size = 20 + len(options) + len(data) if total is None else total
    head = struct.pack("!BBHHHBBH", 0x45 + len(options) // 4, 0, size, ipid, frag, 64, proto, 0) + \
        address(src) + address(dst) + options
    check = csum(head) if ipcheck is None else ipcheck
    return head[:10] + struct.pack("!H", check) + head[12:] + data


def ether(smac, dmac, packet, vlan=None):
    kind = 0x86dd if packet[0] >> 4 == 6 else 0x0800
    tag = b"" if vlan is None else struct.pack("!HH", 0x8100, vlan)
    return dmac + smac + tag + struct.pack("!H", kind) + packet


class Frame:
    """A captured frame with UDP to our port in it."""

    def __init__(self, raw, outgoing, gso=0):
        self.raw, self.outgoing, self.gso = raw, outgoing, gso
        kind = struct.unpack_from("!H", raw, 12)[0]
        self.ok = False
        if (kind == 0x0800 and len(raw) >= 42 and raw[23] == 17
            and not struct.unpack_from("!H", raw, 20)[0] & 0x1fff):
            self._udp(14 + (raw[14] & 15) * 4, raw[26:30], raw[30:34])
        elif kind == 0x86dd and len(raw) >= 62 and raw[20] == 17:
            self._udp(54, raw[22:38], raw[38:54])

    def _udp(self, at, src, dst):
        family = socket.AF_INET if len(src) == 4 else socket.AF_INET6
        self.sport, self.dport, length = struct.unpack_from("!HHH", self.raw, at)
        self.src, self.dst = socket.inet_ntop(family, src), socket.inet_ntop(family, dst)
        self.data = self.raw[at + 8:at + length]
        self.ok = PORT in (self.sport, self.dport) and len(self.data) >= HEADER.size

    def units(self):
        return list(parse(self.data))


@contextlib.contextmanager
def netns(name):
    """Sockets that are made inside belong to that network namespace."""
    here = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{name}", os.O_RDONLY)
    try:
        if libc.setns(there, 0x40000000):
            raise OSError(ctypes.get_errno(), f"setns {name}")
        yield
    finally:
        if libc.setns(here, 0x40000000):
            os._exit(120)               # in the wrong namespace nothing that follows can be right
        os.close(here)
        os.close(there)


class Tap:
    """
    A raw socket on a device: sees what comes and goes, whole super-packets included, and sends
    frames.
    """

    def __init__(self, ns, dev="eth0"):
        with netns(ns):
            self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            self.sock.bind((dev, 3))
        self.sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 26)
        self.sock.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 24)
        self.sock.setblocking(False)
        self.mac = self.sock.getsockname()[4]

    def frames(self):
        """INC's frames since the last call."""
        got = []
        while True:
            try:
                raw, where = self.sock.recvfrom(1 << 17)
            except BlockingIOError:
                return got
            if len(raw) >= 14:
                frame = Frame(raw, where[2] == 4)
                if frame.ok:
                    got.append(frame)

    def packets(self, kind=None, outgoing=None):
        return [p for f in self.frames() if outgoing is None or f.outgoing == outgoing
                for p in f.units()
                if kind is None or p.kind == kind]

    def wait_packet(self, kind, seconds=60, **fields):
        """The next incoming packet of a kind, with these fields."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for p in self.packets(kind, outgoing=False):
                if all(getattr(p, f) == v for f, v in fields.items()):
                    return p
            time.sleep(0.01)
        raise AssertionError(f"no packet of type {kind} with {fields} within {seconds} s")

    def send(self, frame):
        self.sock.send(frame)


# The proof in a JOIN

M64 = (1 << 64) - 1


def _rotl(x, n):
    return (x << n | x >> (64 - n)) & M64


def _rounds(v, n):
    for _ in range(n):
        v[0] = (v[0] + v[1]) & M64
        v[2] = (v[2] + v[3]) & M64
        v[1] = _rotl(v[1], 13) ^ v[0]
        v[3] = _rotl(v[3], 16) ^ v[2]
        v[0] = _rotl(v[0], 32)
        v[2] = (v[2] + v[1]) & M64
        v[0] = (v[0] + v[3]) & M64
        v[1] = _rotl(v[1], 17) ^ v[2]
        v[3] = _rotl(v[3], 21) ^ v[0]
        v[2] = _rotl(v[2], 32)


def siphash(data, key):
    """SipHash-2-4 with a key of two numbers."""
    k0, k1 = key
    v = [k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261,
         k1 ^ 0x7465646279746573]
    tail = len(data) // 8 * 8
    for at in range(0, tail, 8):
        m = int.from_bytes(data[at:at + 8], "little")
        v[3] ^= m
        _rounds(v, 2)
        v[0] ^= m
    last = (len(data) & 0xff) << 56 | int.from_bytes(data[tail:], "little")
    v[3] ^= last
    _rounds(v, 2)
    v[0] ^= last
    v[2] ^= 0xff
    _rounds(v, 4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def ready_body(nonce, window=1024, size=2, start=0, cookies=(1, 2), block=1408, move=0, fallback=0,
               lineage=1, standbys=0, late_policy=0, children=1, height=0):
    """struct inc_ready, with no addresses in it."""
    return struct.pack("!IIQQQIHHHHIIIIBBBBQ", nonce, window, start, *cookies, size, children, 1,
                       block, 0, 2000, 0, 0, move, fallback, standbys, late_policy, height,
                       lineage) + bytes(96)


def move_body(lineage, move):
    return struct.pack("!QII", lineage, move, 0)


def peers_body(first, count, *addresses):
    """struct inc_peers; @addresses: IPv4, as text, however many @count says"""
    return struct.pack("!II", first, count) + b"".join(
        address(a).ljust(16, b"\0") + struct.pack("!HHQ", 4, PORT, 0) for a in addresses)


def stripe(index, count):
    """What @policy of join_body() says of that."""
    return (index | count - 1 << 3) << JOIN_STRIPE_SHIFT


def join_body(group, rank, size, nonce, challenge=0, block=1408, key=bytes(16), proof=None, **more):
    """
    struct inc_join, with its proof if there is a challenge. @more: what one says that has had
    READY; and a node: @below (its height, and STALE), @window, @ranks below it, and the @edge, which
    is the address of rank 0's host as struct inc_addr; and @kinds, the four words of struct
    inc_join_kinds.
    """
    m = {"fallback": 0, "flags": 0, "move": 0, "policy": 0, "below": 0, "window": 0, "lineage": 0,
         "dead": 0, "late": 0, "job": 0, "ranks": (), "edge": bytes(20), "kinds": (), **more}
    m["flags"] |= JOIN_KINDS if m["kinds"] else 0
    body = struct.pack("!IIQIHBBIBBHQIIQQ", size, nonce, 0, 0, block, m["fallback"], m["flags"],
                       m["move"], m["policy"], m["below"], m["window"], m["lineage"], m["dead"], m["late"],
                       m["job"], challenge)
    tail = ranks_bitmap(m["ranks"], size) + m["edge"] if m["below"] & 15 else b""
    tail += struct.pack(f"!{len(m['kinds'])}I", *m["kinds"])
    if proof is None:
        k0, k1 = struct.unpack("!QQ", key)
        message = struct.pack("!II", group, rank) + body + tail
        proof = ((siphash(message, (k0, k1)), siphash(message, (k0, k1 ^ M64))) if challenge
                 else (0, 0))
    return body + struct.pack("!QQ", *proof) + tail


def ranks_bitmap(ranks, size):
    """As many words as @size takes: rank r is bit r % 32 of word r // 32."""
    words = [0] * (-(-size // 32))
    for r in ranks:
        words[r // 32] |= 1 << r % 32
    return struct.pack(f"!{len(words)}I", *words)
