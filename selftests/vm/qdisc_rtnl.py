# SPDX-License-Identifier: GPL-2.0-only
"""
Qdiscs over raw rtnetlink: options of "inc" in any shape, right or wrong, and what the kernel dumps
of a qdisc.
"""

import errno
import os
import socket
import struct

NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 1, 4, 0x300
NLM_F_REPLACE, NLM_F_EXCL, NLM_F_CREATE = 0x100, 0x200, 0x400
NLMSG_ERROR, NLMSG_DONE = 2, 3
RTM_NEWQDISC, RTM_DELQDISC, RTM_GETQDISC, RTM_GETTCLASS = 36, 37, 38, 42
TCA_KIND, TCA_OPTIONS, TCA_STATS2, TCA_DUMP_INVISIBLE = 1, 2, 7, 10
TCA_STATS_BASIC, TCA_STATS_QUEUE, TCA_STATS_APP = 1, 3, 4
NLA_F_NESTED = 0x8000
ROOT = 0xFFFFFFFF

SHARE, LIMIT, PORT, WEIGHTS, TARGET, CONTROL, RATE = 1, 2, 3, 4, 5, 6, 7        # TCA_INC_*
DELAYS = 10
XSTATS = struct.Struct("=" + f"Q{DELAYS}QQQQII" * 3 + "QQ")    # struct tc_inc_xstats
GROUP_XSTATS = struct.Struct(f"=IIqQ{DELAYS}Q")         # struct tc_inc_group_xstats
CLASSES = ("control", "contrib", "other")


class Refused(Exception):
    """The kernel said no: an errno name and the text it gave with it."""

    def __init__(self, err, text):
        super().__init__(f"{errno.errorcode.get(err, err)}: {text!r}")
        self.err, self.text = err, text


def attr(kind, data):
    pad = -len(data) % 4
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(pad)


def u16(value):
    return struct.pack("=H", value)


def u64(value):
    return struct.pack("=Q", value)


def u32(value):
    return struct.pack("=I", value)


def parse(data):
    out, off = {}, 0
    while off + 4 <= len(data):
        size, kind = struct.unpack_from("=HH", data, off)
        if size < 4:
            raise ValueError(f"attribute of {size} bytes")
        out[kind & 0x3FFF] = data[off + 4:off + size]
        off += (size + 3) & ~3
    return out


class Rtnl:
    def __init__(self, dev):
        self.index = socket.if_nametoindex(dev)
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        self.sock.setsockopt(270, 10, 1)        # SOL_NETLINK, NETLINK_CAP_ACK
        self.sock.setsockopt(270, 11, 1)        # NETLINK_EXT_ACK
        self.sock.bind((0, 0))
        self.sock.settimeout(30)
        self.seq = 0

    def request(self, kind, flags, handle=0, parent=0, attrs=b""):
        """One request; yields the attributes of every answer about our device."""
        self.seq += 1
        body = struct.pack("=BxxxiIII", 0, self.index, handle, parent, 0) + attrs
        self.sock.send(struct.pack("=IHHII", 16 + len(body), kind, flags | NLM_F_REQUEST, self.seq,
                                   0) + body)
        while True:
            data, off = self.sock.recv(1 << 17), 0
            while off < len(data):
                size, what, _, seq, _ = struct.unpack_from("=IHHII", data, off)
                msg = data[off + 16:off + size]
                off += (size + 3) & ~3
                if seq != self.seq:
                    continue
                if what == NLMSG_DONE:
                    return
                if what == NLMSG_ERROR:
                    self.check(msg)
                    return
                index, msg_handle, msg_parent = struct.unpack_from("=iII", msg, 4)
                if index == self.index:
                    yield msg_handle, msg_parent, parse(msg[20:])

    @staticmethod
    def check(msg):
        err, = struct.unpack_from("=i", msg)
        if err:
            text = parse(msg[20:]).get(1, b"\0")[:-1].decode()
            raise Refused(-err, text)

    def set(self, options, flags=0, handle=0, parent=ROOT, kind="inc", nested=True):
        """
        Add (NLM_F_CREATE) or change a qdisc; @options: a list of (number, bytes), or None for no
        TCA_OPTIONS.
        """
        attrs = attr(TCA_KIND, kind.encode() + b"\0")
        if options is not None:
            raw = b"".join(attr(number, data) for number, data in options)
            attrs += attr(TCA_OPTIONS | (NLA_F_NESTED if nested else 0), raw)
        for _ in self.request(RTM_NEWQDISC, NLM_F_ACK | flags, handle, parent, attrs):
            pass

    def qdiscs(self, invisible=False):
        """
        {handle: (parent, kind, attributes)} of our device; @invisible: with those that the kernel
        has put there.
        """
        return {handle: (parent, attrs[TCA_KIND][:-1].decode(), attrs) for handle, parent, attrs in
                self.request(RTM_GETQDISC, NLM_F_DUMP,
                             attrs=attr(TCA_DUMP_INVISIBLE, b"") if invisible else b"")}

    def inc(self):
        """Attributes of the one inc qdisc of our device."""
        found = [attrs for _, kind, attrs in self.qdiscs().values() if kind == "inc"]
        if len(found) != 1:
            raise AssertionError(f"{len(found)} inc qdiscs on the device, expected 1")
        return found[0]

    def options(self):
        opts = parse(self.inc()[TCA_OPTIONS])
        out = {"share": struct.unpack("=I", opts[SHARE])[0],
               "limit": struct.unpack("=I", opts[LIMIT])[0],
               "port": struct.unpack("=H", opts[PORT])[0],
               "target": struct.unpack("=I", opts[TARGET])[0],
               "control": struct.unpack("=I", opts[CONTROL])[0]}
        rate, = struct.unpack("=Q", opts[RATE])
        return out | ({"rate": rate} if rate else {})

    def weights(self):
        """{group: weight} of the options."""
        raw = parse(self.inc()[TCA_OPTIONS]).get(WEIGHTS, b"")
        return dict(struct.iter_unpack("=II", raw))

    def groups(self):
        """
        {group: its weight, credit, marks, delay, bytes, packets, qlen, backlog, drops}: all classes
        but the first.
        """
        out = {}
        for _, _, attrs in self.request(RTM_GETTCLASS, NLM_F_DUMP):
            stats = parse(attrs[TCA_STATS2])
            if attrs[TCA_KIND] != b"inc\0" or TCA_STATS_APP not in stats:
                continue
            group, weight, credit, marks, *delay = GROUP_XSTATS.unpack(stats[TCA_STATS_APP])
            sent, packets = struct.unpack_from("=QI", stats[TCA_STATS_BASIC])
            qlen, backlog, drops = struct.unpack_from("=III", stats[TCA_STATS_QUEUE])
            out[group] = {"weight": weight, "credit": credit, "marks": marks, "delay": delay,
                          "bytes": sent, "packets": packets, "qlen": qlen, "backlog": backlog,
                          "drops": drops}
        return out

    def stats(self, handle=None):
        """
        {"control": {"packets": ...}, ..., "blocks": ..., "rate": ...} of struct tc_inc_xstats.
        """
        app = parse((self.qdiscs()[handle][2] if handle else self.inc())[TCA_STATS2])[TCA_STATS_APP]
        if len(app) != XSTATS.size:
            raise AssertionError(f"TCA_STATS_APP has {len(app)} bytes, expected {XSTATS.size}")
        values = XSTATS.unpack(app)
        out = {"blocks": values[-2], "rate": values[-1]}
        for i, name in enumerate(CLASSES):
            marks, *rest = values[(DELAYS + 6) * i:(DELAYS + 6) * (i + 1)]
            out[name] = {"marks": marks, "delay": rest[:DELAYS]}
            out[name] |= zip(("packets", "bytes", "drops", "qlen", "backlog"), rest[DELAYS:])
        return out

    def queue(self, handle):
        """
        What the kernel itself counts of any qdisc: bytes and packets sent, qlen, backlog, drops.
        """
        stats = parse(self.qdiscs()[handle][2][TCA_STATS2])
        sent, packets = struct.unpack_from("=QI", stats[TCA_STATS_BASIC])
        qlen, backlog, drops = struct.unpack_from("=III", stats[TCA_STATS_QUEUE])
        return {"bytes": sent, "packets": packets, "qlen": qlen, "backlog": backlog, "drops": drops}


def module_refs(name):
    """How many users a loaded module has; None: it is not loaded."""
    path = f"/sys/module/{name}/refcnt"
    if not os.path.exists(path):
        return None
    with open(path, encoding="ascii") as f:
        return int(f.read())
