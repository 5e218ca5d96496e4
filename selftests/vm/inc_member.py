# SPDX-License-Identifier: GPL-2.0-only
"""
Members of a group that one host plays by hand. They have really joined: challenge, proof and key
are right, and so are the cookies of all that they send. What they say may be anything.
"""
import socket
import struct
import time

import inc_abi as abi
import inc_wire as w
from inc_abi import NODE4, wait_until

SOL_UDP, UDP_SEGMENT = 17, 103
READY = struct.Struct("!IIQQQIHHHHIIIIBBBBQ")
READY_FIELDS = ("nonce", "window", "start", "up", "down", "size", "children", "trees", "block",
                "rank", "dead", "late", "opseq", "move", "fallback",
                "standbys", "policy", "height", "lineage")


class Ready:
    """What READY has told a member, and the header that it came with."""

    def __init__(self, packet):
        self.__dict__.update(zip(READY_FIELDS, READY.unpack_from(packet.body)))
        self.epoch, self.incarnation = packet.epoch, packet.incarnation


class Members:
    """@ranks of @group, which has @size, all at the host @ns. @key: of the node or the tenant."""

    def __init__(self, ns, tap, node_mac, group, ranks, size, block=1408, key=bytes(16)):
        self.tap, self.node_mac, self.src = tap, node_mac, f"10.7.0.{ns[1]}"
        self.group, self.ranks, self.size = group, list(ranks), size
        self.block, self.key = block, key
        self.nonce = {r: 0x4e000000 + r for r in self.ranks}
        self.ready = {}
        with w.netns(ns):
            self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    # to the node

    def send(self, *packets, src=None, to=NODE4, dmac=None):
        """A datagram for each."""
        for p in packets:
            src = src or self.src
            packet = w.ip(src, to, w.udp(src, to, p.pack()))
            self.tap.send(w.ether(self.tap.mac, dmac or self.node_mac, packet))

    def send_super(self, *packets):
        """All in one buffer, as segmentation offload or aggregation makes it."""
        units = [p.pack() for p in packets]
        size = len(units[0])
        if any(len(u) != size for u in units[:-1]) or len(units[-1]) > size:
            raise AssertionError(f"units of {[len(u) for u in units]} bytes are no super-packet")
        self.sock.setsockopt(SOL_UDP, UDP_SEGMENT, size)
        self.sock.sendto(b"".join(units), (NODE4, w.PORT))

    # membership

    def _join(self, rank, challenge, rejoin, **fields):
        ready = self.ready.get(rank)
        body = w.join_body(self.group, rank, self.size, self.nonce[rank], challenge=challenge,
                           block=self.block, key=self.key)
        p = w.Packet(w.JOIN, group=self.group, child=rank, body=body)
        if rejoin is not None:
            body = body[:8] + struct.pack("!Q", rejoin) + body[16:]
            p = p.but(incarnation=ready.incarnation, epoch=ready.epoch, cookie=ready.up, body=body)
        return p.but(**fields)

    def request(self, rank, challenge=0):
        """A JOIN."""
        return self._join(rank, challenge, None)

    def join(self, seconds=60, rejoin=None):
        """Until all have READY. @rejoin: after an error; the first block that has no result."""
        old = dict(self.ready)
        joins = {r: self._join(r, 0, rejoin) for r in self.ranks}
        asked, end = 0, time.monotonic() + seconds
        while joins:
            if time.monotonic() > end:
                raise AssertionError(f"ranks {sorted(joins)} have no READY within {seconds} s: "
                                     f"{abi.show('sw', 'group')}")
            if time.monotonic() - asked > 0.05:
                self.send(*joins.values())
                asked = time.monotonic()
            for p in self.tap.packets(outgoing=False):
                if p.group != self.group or p.child not in joins:
                    continue
                if p.kind == w.CHALLENGE and rejoin is None:
                    value = struct.unpack_from("!IIQ", p.body)[2]
                    joins[p.child] = self._join(p.child, value, None)
                    self.send(joins[p.child])
                elif p.kind == w.READY and (p.child not in old or p.epoch != old[p.child].epoch):
                    self.ready[p.child] = Ready(p)
                    del joins[p.child]
            time.sleep(0.005)
        return self

    def one(self):
        return next(iter(self.ready.values()))

    # what members say

    def header(self, kind, rank, block, **fields):
        r = self.ready[rank]
        return w.Packet(kind, group=self.group, incarnation=r.incarnation, epoch=r.epoch,
                        child=rank, cookie=r.up, psn=block & 0xffffffff).but(**fields)

    def contrib(self, rank, block, body=b"", flags=w.F_WANT, opseq=1, sig=1, dtype=w.F32, op=w.SUM,
                **fields):
        """With payload if @body has any, beside a descriptor."""
        if len(body) > (32 if flags & w.F_DESC else 0):
            flags |= w.F_PAYLOAD
        return self.header(w.CONTRIB, rank, block, flags=flags, opseq=opseq, sig=sig, dtype=dtype,
                           op=op, body=body, **fields)

    def probe(self, rank, block, bitmap=b"", **fields):
        body = struct.pack("!IHH", 1, 8 * len(bitmap), 0) + bitmap
        return self.header(w.PROBE, rank, block, **{"body": body, **fields})

    def status(self, rank, block):
        """What the node has of this rank: the first block that is not complete, and others."""
        self.tap.frames()
        self.send(self.probe(rank, block))
        p = self.tap.wait_packet(w.STATUS, group=self.group, child=rank)
        bits = struct.unpack_from("!H", p.body, 8)[0]
        words = struct.unpack_from(f"!{bits // 32}I", p.body, 16)
        return p.psn, [words[i // 32] >> i % 32 & 1 for i in range(bits)]

    def answers(self, kind=None, group=None):
        """What has come since it was last asked."""
        group = group or self.group
        return [p for p in self.tap.packets(kind, outgoing=False) if p.group == group]

    def follow(self, seen, rank):
        """Takes part, without elements, in what another rank was @seen to contribute to."""
        epoch = self.ready[rank].epoch
        for p in seen:
            if (p.group, p.epoch, p.kind) == (self.group, epoch, w.CONTRIB) and p.child != rank:
                self.send(self.header(w.CONTRIB, rank, p.psn, span=p.span, opseq=p.opseq, sig=p.sig,
                                      flags=p.flags & w.F_LEAVE))

    def close(self):
        self.sock.close()


class HonestRanks:
    """Ranks of real sockets, on some hosts, in a group with members that are played by hand."""

    def __init__(self, group, hosts, size):
        self.ranks = [abi.Rank(ns) for ns in hosts]
        for i, rank in enumerate(self.ranks):
            rank.start(group, i, size)

    def joined(self):
        for rank in self.ranks:
            rank.joined()

    def completions(self, handles, meanwhile, seconds=30):
        """Of one operation; the other members get on with their work by @meanwhile()."""
        got = {}

        def done():
            meanwhile()
            for i, rank in enumerate(self.ranks):
                if i not in got and rank.poll(1, 0):
                    got[i] = rank.wait(handles[i], 1000)
            return len(got) == len(self.ranks)

        wait_until(done, lambda: f"all ended: {got}, {[r.info() for r in self.ranks]}", seconds)
        return [got[i] for i in range(len(self.ranks))]

    def close(self):
        for rank in self.ranks:
            rank.close()
