#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Generic netlink without the inc tool; attributes go by the names of the netlink spec.

netlink_raw.py bad DEV		requests about the node DEV that the tool would never send: the kernel refuses each with the
				errno and text that is expected here; prints what was different
netlink_raw.py add PREFIX N	interfaces PREFIX0, PREFIX1, ... become nodes
netlink_raw.py changes PREFIX	lists of many nodes and tenants are flagged when they change
				while they are read, and only then; PREFIX0 is a node
netlink_raw.py json FILE N	FILE holds N documents, with a zero byte behind each, and all are JSON
netlink_raw.py answers NS,... NAME...	all that can be asked for in these namespaces is answered as the spec says, with no
				other attributes and of its lengths; those of these names (SET.NAME) are there
"""
import errno
import json
import os
import re
import socket
import struct
import sys

import inc_wire

# what reads JSON needs no YAML, which takes its time in a VM
if sys.argv[1:2] != ["json"]:
    sys.path.insert(0, os.path.join(os.environ["INC_TOP"], "selftests"))
    import spec_check  # pylint: disable=wrong-import-position

    SPEC = spec_check.Spec(spec_check.SPEC)
    VALUES = SPEC.values()

NESTED = 0x8000
NOT_TAKEN = "{}: attribute {} is not for this request"
SOL_NETLINK, EXT_ACK, CAP_ACK = 270, 11, 10


class Attr:
    """
    An attribute by its name in a set of the spec; @value: int (by the spec's type), bytes or a list
    of Attr.
    """

    def __init__(self, set_name, name, value, flags=0):
        numbers = {a["name"]: (n, a) for n, a in SPEC.attrs(set_name).items()}
        self.number, self.attr = (numbers[name] if name in numbers
                                  else (int(name), {"type": "binary"}))
        self.value, self.flags = value, flags

    def pack(self):
        data = self.value
        if isinstance(data, list):
            data = b"".join(a.pack() for a in data)
        elif isinstance(data, int):
            data = struct.pack(
                {"u8": "=B", "u16": "=H", "u32": "=I", "u64": "=Q"}[self.attr["type"]], data)
        length = 4 + len(data)
        return struct.pack("=HH", length, self.number | self.flags) + data + bytes(-length % 4)


def top(name, *attrs, flags=NESTED):
    return Attr("top", name, list(attrs), flags)


def node(name, value):
    return Attr("node", name, value)


def standby(*attrs):
    return Attr("node", "standby", list(attrs), NESTED)


def parent(name, value):
    return Attr("parent", name, value)


def limit(name, value, flags=0):
    return Attr("limit", name, value, flags)


def request(family, op, attrs, dump=False, version=1):
    """(errno, text) of the kernel's answer; (0, None) if it did what it was asked."""
    body = (struct.pack("=BBH", VALUES[spec_check.c_name("inc-cmd-", op)], version, 0)
            + b"".join(a.pack() for a in attrs))
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16) as sock:
        sock.setsockopt(SOL_NETLINK, EXT_ACK, 1)
        sock.setsockopt(SOL_NETLINK, CAP_ACK, 1)
        sock.send(struct.pack("=IHHII", 16 + len(body), family, 0x305 if dump else 5, 1, 0) + body)
        while True:
            data, pos = sock.recv(1 << 16), 0
            while pos < len(data):
                length, kind, flags = struct.unpack_from("=IHH", data, pos)
                if kind in (2, 3):
                    error = struct.unpack_from("=i", data, pos + 16)[0]
                    tlvs = (data[pos + (36 if kind == 2 else 20):pos + length] if flags & 0x200
                            else b"")
                    text = spec_check.attributes(tlvs).get(1)
                    return -error, text.rstrip(b"\0").decode() if text else None
                pos += (length + 3) & ~3


def fallback_cases(index, lo):
    good = parent("addr", socket.inet_aton("10.9.9.9"))
    for op, who in ("node-set", index), ("node-add", lo):
        for value in 3, 255:
            yield (op, [top("node", who, node("fallback", value))], False, errno.ERANGE,
                   f"fallback {value}: expected none, standby or edge")
        yield (op, [top("node", who, node("fallback", 1))], False, errno.EINVAL,
               "fallback standby: expected the address of a standby node")
        yield (op, [top("node", who, *[standby(good)] * 4)], False, errno.E2BIG,
               "standby: 4 nodes, expected at most 3")
        yield (op, [top("node", who, node("fallback", 2), *[standby(good)] * 9)], False,
               errno.E2BIG,
               "standby: 9 nodes, expected at most 3")
        other = parent("addr", socket.inet_aton("10.9.9.8"))
        for again in [good], [good, parent("port", 5227)]:
            yield (op, [top("node", who, standby(good), standby(other), standby(*again))], False,
                   errno.EINVAL, "standby: address 3 is address 1, expected each once")
        yield (op, [top("node", who, standby())], False, errno.EINVAL,
               "address of 0 bytes: expected 4 (IPv4) or 16 (IPv6)")
        yield (op, [top("node", who, standby(good), standby(parent("port", 5227)))], False,
               errno.EINVAL, "address of 0 bytes: expected 4 (IPv4) or 16 (IPv6)")
        for text in "0.0.0.0", "224.0.0.1", "255.255.255.255", "::", "ff02::1", "::ffff:10.0.0.1":
            raw = socket.inet_pton(socket.AF_INET6 if ":" in text else socket.AF_INET, text)
            yield (op, [top("node", who, standby(good), standby(parent("addr", raw)))], False,
                   errno.EADDRNOTAVAIL, f"{text}: expected a unicast address")
        for text in "127.0.0.1", "127.8.0.9", "::1":
            raw = socket.inet_pton(socket.AF_INET6 if ":" in text else socket.AF_INET, text)
            yield (op, [top("node", who, standby(good), standby(parent("addr", raw)))], False,
                   errno.EADDRNOTAVAIL, f"standby {text}: expected no loopback address")
        link_local = parent("addr", socket.inet_pton(socket.AF_INET6, "fe80::1"))
        yield (op, [top("node", who, standby(link_local))], False, errno.EADDRNOTAVAIL,
               "standby fe80::1: expected no link-local address")
        yield (op, [top("node", who, standby(link_local, parent("ifindex", 1)))], False,
               errno.EADDRNOTAVAIL, "standby fe80::1: expected no link-local address")
        yield (op, [top("node", who, standby(good, parent("ifindex", 7)))], False, errno.EINVAL,
               "standby: interface 7: expected none")
        for value in 0, 65536, 65536 + 5227, 2**32 - 1:
            yield (op, [top("node", who, standby(good, parent("port", value)))], False,
                   errno.ERANGE, f"port {value}: expected 1..65535")
        for value in 3, 255:
            yield (op, [top("node", who, node("late-policy", value))], False, errno.ERANGE,
                   f"late-policy {value}: expected 0..2")
        # a number is not taken for its low byte
        for value in 256, 2**32 - 1:
            for attr in "late-policy", "fallback":
                yield op, [top("node", who, node(attr, value))], False, errno.ERANGE, None
        yield (op, [top("node", who, node("late-policy", 2), node("late-ms", 0))], False,
               errno.EINVAL, "late-policy partial: needs a limit: late in 10..3600000")
        yield (op,
               [top("node", who, node("late-policy", 2), node("late-ms", 10),
                    node("fallback", 2))], False,
               errno.EINVAL, "late-policy partial: expected fallback none")
    # one bad thing beside a good one: neither is taken
    yield ("node-set",
           [top("node", index, node("fallback", 3), standby(good), node("dead-ms", 300))], False,
           errno.ERANGE, "fallback 3: expected none, standby or edge")
    for attrs in ([node("fallback", b"\1")], [node("fallback", b"\1\0")], [node("fallback", b"")],
                  [node("late-policy", b"\1")], [standby(good, parent("port", b"\x14\x6b"))],
                  [standby(parent("addr", b"\1" * 17))],
                  [Attr("node", "standby", [good])], [standby(Attr("parent", "99", b""))]):
        yield "node-set", [top("node", index, *attrs)], False, (errno.EINVAL, errno.ERANGE), None
    for op in "node-get", "node-del":
        yield (op, [top("node", index, standby(good))], False, errno.EINVAL,
               NOT_TAKEN.format("node", 13))
        yield (op, [top("node", index, node("fallback", 0))], False, errno.EINVAL,
               NOT_TAKEN.format("node", 12))


def above(*attrs):
    return Attr("node", "parent", list(attrs), NESTED)


def node_parent_cases(index, lo):
    """The node above: an address of zeros takes it away, so that no other is refused for it."""
    good = parent("addr", socket.inet_aton("10.9.9.9"))
    for op, who in ("node-set", index), ("node-add", lo):
        for attrs, size in ([], 0), ([parent("port", 5227)], 0), ([parent("addr", b"\1" * 5)], 5):
            yield (op, [top("node", who, above(*attrs))], False, errno.EINVAL,
                   f"address of {size} bytes: expected 4 (IPv4) or 16 (IPv6)")
        yield (op, [top("node", who, above(good), above(good))], False, errno.EINVAL,
               "parent: address 2 is address 1, expected each once")
        for text in "224.0.0.1", "255.255.255.255", "ff02::1", "::ffff:10.0.0.1":
            raw = socket.inet_pton(socket.AF_INET6 if ":" in text else socket.AF_INET, text)
            yield (op, [top("node", who, above(parent("addr", raw)))], False, errno.EADDRNOTAVAIL,
                   f"{text}: expected a unicast address")
        yield (op,
               [top("node", who,
                    above(parent("addr", socket.inet_pton(socket.AF_INET6, "fe80::1"))))], False,
               errno.EINVAL, "fe80::1: a link-local address needs its interface")
        yield (op, [top("node", who, above(good, parent("port", 0)))], False, errno.ERANGE,
               "port 0: expected 1..65535")
    yield ("node-set", [top("node", index, above(good), node("dead-ms", 5))], False, errno.ERANGE,
           "dead 5: expected milliseconds in 100..60000")
    for attr in (above(Attr("parent", "99", b"")), Attr("node", "parent", [good]),
                 above(parent("addr", b"\1" * 17))):
        yield "node-set", [top("node", index, attr)], False, (errno.EINVAL, errno.ERANGE), None
    for op in "node-get", "node-del":
        yield (op, [top("node", index, above(good))], False, errno.EINVAL,
               NOT_TAKEN.format("node", 15))


def replace_cases(dev, index):
    """Only ADD takes the flag; with it a request that is refused changes nothing, either."""
    flag = Attr("top", "replace", b"")
    nobody = Attr("tenant", "name", b"nobody\0")
    for op, nest in (("node-set", top("node", index)), ("node-del", top("node", index)),
                     ("node-get", top("node", index)), ("tenant-set", top("tenant", nobody)),
                     ("tenant-del", top("tenant", nobody))):
        yield op, [nest, flag], False, errno.EINVAL, None
    yield ("node-add", [Attr("top", "replace", b"\1"), top("node", index)], False,
           (errno.EINVAL, errno.ERANGE), None)
    yield "node-add", [flag], False, errno.EINVAL, "node: missing; expected which one"
    yield ("node-add", [flag, top("node", node("ifname", b"no-such\0"))], False, errno.ENODEV,
           "dev no-such: no such interface in this network namespace")
    yield ("node-add", [flag, top("node", index, node("dead-ms", 300), node("window", 5))], False,
           errno.ERANGE, "window 5: expected a power of two in 4..4096")
    # those of before do not count: a policy needs its limit, and a fallback its node
    yield ("node-add", [flag, top("node", index, node("late-policy", 1))], False, errno.EINVAL,
           "late-policy fail: needs a limit: late in 10..3600000")
    yield ("node-add", [flag, top("node", index, node("fallback", 1))], False, errno.EINVAL,
           "fallback standby: expected the address of a standby node")
    yield ("node-add", [flag, top("node", index, node("memory", 0))], False, errno.EINVAL,
           NOT_TAKEN.format("node", 9))
    yield "tenant-add", [flag], False, errno.EINVAL, "tenant: missing; expected which one"
    yield ("tenant-add", [flag, top("tenant", nobody, Attr("tenant", "cpu", 101))], False,
           errno.ERANGE, "cpu 101: expected percent in 0..100")
    # without it, as ever
    yield ("node-add", [top("node", index, node("window", 8))], False, errno.EEXIST,
           f"dev {dev}: is a node already; `set` changes it")


def numbers_of(prefix):
    """Names of an enum of inc.h, by their numbers."""
    with open(f"{os.environ['INC_TOP']}/uapi/linux/inc.h", encoding="utf-8") as header:
        return re.findall(rf"^\t({prefix}_[A-Z0-9_]+)\b", header.read(), re.MULTILINE)


def lacks_cases(index, lo):
    """What there is not cannot be lacking, and a node that reduces nothing is none."""
    every = (1 << len(numbers_of("INC_TYPE"))) - 2
    sums = (1 << numbers_of("INC_OP").index("INC_OP_WSUM")) - 2
    for attr, known in ("lacks-types", every), ("lacks-operations", sums):
        for value in (1, known + 2, 2**31, 2**32 - 1, known):
            for op, who in ("node-set", index), ("node-add", lo):
                yield (op, [top("node", who, node(attr, value))], False, errno.EINVAL,
                       f"{attr} 0x{value:x}: expected bits of 0x{known:x}, not all of them")


def cases(dev):
    """(operation, attributes, dump, errno, text or None: any)"""
    name = node("ifname", dev.encode() + b"\0")
    index = node("ifindex", socket.if_nametoindex(dev))
    lo = node("ifindex", 1)
    none = "no such interface in this network namespace"
    yield "node-add", [], False, errno.EINVAL, "node: missing; expected which one"
    yield ("node-add", [top("node")], False, errno.ENODEV,
           "dev: missing; expected the index or name of an interface")
    yield ("node-add", [top("node", name)], False, errno.EEXIST,
           f"dev {dev}: is a node already; `set` changes it")
    yield ("node-add", [top("node", node("ifname", b"no-such\0"))], False, errno.ENODEV,
           f"dev no-such: {none}")
    yield ("node-add", [top("node", node("ifindex", 77777))], False, errno.ENODEV,
           f"ifindex 77777: {none}")
    yield ("node-add", [top("node", lo, name)], False, errno.ENODEV,
           f"dev {dev}: interface 1 has another name")
    for op in "node-set", "node-del", "node-get":
        yield op, [top("node", lo)], False, errno.ENODEV, "dev lo: is no node"
    # what the command takes for one node is not for the list of them
    yield "node-get", [top("node", index)], True, errno.EINVAL, None
    yield "node-get", [top("node", index, node("memory", 0))], True, errno.EINVAL, None
    for attr, label, values, want in (
            ("dead-ms", "dead", (0, 99, 60001, 2**32 - 1), "milliseconds in 100..60000"),
            ("late-ms", "late", (1, 9, 3600001, 2**32 - 1), "0 or milliseconds in 10..3600000"),
            ("window", "window", (0, 2, 3, 1000, 8192, 2**31), "a power of two in 4..4096"),
            ("max-groups", "max-groups", (0, 65537), "1..65536"),
            ("max-memory", "max-memory", (0, 65535, 2**40 + 1, 2**64 - 1),
             "bytes in 65536..1099511627776")):
        for value in values:
            for op, who in ("node-set", index), ("node-add", lo):
                yield (op, [top("node", who, node(attr, value))], False, errno.ERANGE,
                       f"{label} {value}: expected {want}")
    # one bad limit beside a good one: neither is taken
    yield ("node-set", [top("node", index, node("dead-ms", 300), node("window", 5))], False,
           errno.ERANGE, "window 5: expected a power of two in 4..4096")
    for attrs in ([node("ifname", b"x" * 16 + b"\0")], [node("ifname", b"unended")],
                  [node("ifindex", b"\1\0\0")],
                  [index, node("dead-ms", b"\0" * 8)], [index, node("max-memory", b"\0" * 4)],
                  [index, node("99", b"")],
                  [index, node("key", b"short")], [index, node("key", b"\0" * 17)]):
        yield "node-set", [top("node", *attrs)], False, (errno.EINVAL, errno.ERANGE), None
    yield from fallback_cases(index, lo)
    yield from lacks_cases(index, lo)
    yield from node_parent_cases(index, lo)
    yield from replace_cases(dev, index)
    yield "node-set", [top("node", index, node("dead-ms", 300), flags=0)], False, errno.EINVAL, None
    yield "node-set", [top("parent", parent("port", 1))], False, errno.EINVAL, None
    yield ("node-get", [top("node", index, node("dead-ms", 300))], False, errno.EINVAL,
           NOT_TAKEN.format("node", 3))
    for attr, number in ("groups", 8), ("memory", 9), ("keyed", 11):
        for op, who in (("node-set", index), ("node-add", lo), ("node-del", index),
                        ("node-get", index)):
            value = b"" if attr == "keyed" else 1
            yield (op, [top("node", who, node(attr, value))], False, errno.EINVAL,
                   NOT_TAKEN.format("node", number))
    yield "parent-set", [], False, errno.EINVAL, "parent: missing; expected an address"
    for size in 0, 5, 15, 17:
        yield ("parent-set", [top("parent", parent("addr", b"\1" * size))], False, errno.EINVAL,
               f"address of {size} bytes: expected 4 (IPv4) or 16 (IPv6)")
    for text in "0.0.0.0", "224.0.0.1", "255.255.255.255":
        yield ("parent-set", [top("parent", parent("addr", socket.inet_aton(text)))], False,
               errno.EADDRNOTAVAIL, f"{text}: expected a unicast address")
    for text in "::", "ff02::1":
        yield ("parent-set",
               [top("parent", parent("addr", socket.inet_pton(socket.AF_INET6, text)))], False,
               errno.EADDRNOTAVAIL, f"{text}: expected a unicast address")
    yield ("parent-set",
           [top("parent", parent("addr", socket.inet_pton(socket.AF_INET6, "fe80::1")))], False,
           errno.EINVAL, "fe80::1: a link-local address needs its interface")
    good = parent("addr", socket.inet_aton("10.9.9.9"))
    yield ("parent-set", [top("parent", good, parent("port", 0))], False, errno.ERANGE,
           "port 0: expected 1..65535")
    for op in "caps-get", "stats-get", "parent-get", "parent-del":
        yield op, [Attr("top", "group-id", 1)], False, errno.EINVAL, None
    missing = "limit: missing; expected one at least"
    for attrs in ([], [top("limit")], [top("limit", limit("scope", 0))],
                  [top("limit", limit("values", [], NESTED))]):
        yield "limit-set", attrs, False, errno.EINVAL, missing
    for value in 2**63, 2**64 - 1:
        yield ("limit-set", [top("limit", limit("values", [Attr("limits", "sockets", 7),
                                                           Attr("limits", "groups", value)],
                                                NESTED))],
               False, errno.ERANGE, f"limit 5: expected at most {2**63 - 1}")
    for attrs, number in (([limit("uid", 1)], 2), ([limit("use", [], NESTED)], 4),
                          ([limit("refused", [], NESTED)], 5)):
        yield ("limit-set", [top("limit", *attrs)], False, errno.EINVAL,
               NOT_TAKEN.format("limit", number))
    for op, attr, value, number in (("tenant-add", "groups", 1, 11),
                                    ("tenant-set", "refused-rate", 1, 20),
                                    ("tenant-set", "keyed", b"", 3), ("tenant-del", "cpu", 1, 9)):
        who = [Attr("tenant", "name", b"nobody\0"), Attr("tenant", attr, value)]
        yield op, [top("tenant", *who)], False, errno.EINVAL, NOT_TAKEN.format("tenant", number)
    for bits, size in (33, 4), (256, 4), (2**32 - 1, 4), (129, 16):
        where = Attr("tenant", "prefix", [Attr("prefix", "addr", bytes(size)),
                                          Attr("prefix", "len", bits)], NESTED)
        yield ("tenant-add", [top("tenant", Attr("tenant", "name", b"nobody\0"), where)], False,
               errno.ERANGE, f"prefix of {bits} bits: expected at most {8 * size}")
    for attrs in ([limit("scope", 2)], [limit("scope", 256)], [limit("scope", b"\0")],
                  [limit("values", [Attr("limits", "99", b"")], NESTED)],
                  [limit("values", [Attr("limits", "sockets", b"\1\0\0\0")], NESTED)]):
        yield "limit-set", [top("limit", *attrs)], False, (errno.EINVAL, errno.ERANGE), None
    yield "limit-get", [], False, errno.EOPNOTSUPP, None
    for op in "group-get", "member-get":
        yield op, [Attr("top", "group-id", b"\1")], True, (errno.EINVAL, errno.ERANGE), None
        yield op, [top("node", index)], True, errno.EINVAL, None
        yield op, [], False, errno.EOPNOTSUPP, None


def family_id():
    return struct.unpack("=H",
                         spec_check.attributes(spec_check.genl(spec_check.CMD_GETFAMILY,
                                                               "inc")[0])[1])[0]


def send_bad(dev):
    family, bad, count = family_id(), 0, 0
    for op, attrs, dump, want, text in cases(dev):
        count += 1
        got, got_text = request(family, op, attrs, dump)
        if (got not in (want if isinstance(want, tuple) else (want,))
            or (text is not None and got_text != text)):
            bad += 1
            print(f"{op} ({count}): errno {got} \"{got_text}\", expected {want} \"{text}\"")
    print(f"{count} requests, {bad} not refused as expected")
    return 1 if bad or count < 60 else 0


def add_nodes(prefix, count):
    family = family_id()
    for i in range(int(count)):
        got, text = request(family, "node-add",
                            [top("node", node("ifname", f"{prefix}{i}".encode() + b"\0"))])
        if got:
            print(f"{prefix}{i}: errno {got} {text}")
            return 1
    return 0


def read_dump(family, op, between=None):
    """NLM_F_DUMP_INTR of what comes first, and of any message; after the first piece @between."""
    command = VALUES[spec_check.c_name("inc-cmd-", op)]
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16) as sock:
        sock.send(struct.pack("=IHHIIBBH", 20, family, 0x305, 1, 0, command, 1, 0))
        flags, kind = [], family
        while kind == family:
            data, pos = sock.recv(4096), 0
            while pos < len(data):
                length, kind, flag = struct.unpack_from("=IHH", data, pos)
                flags.append(bool(flag & 0x10))
                pos += length + 3 & ~3
            if between:
                between()
                between = None
        return flags[0], any(flags)


def check_changes(prefix):
    family, bad = family_id(), 0
    name = Attr("tenant", "name", b"changes\0")
    lists = {
        "node": [top("node", node("ifname", f"{prefix}0".encode() + b"\0"))],
        "tenant": [top("tenant", name)],
    }
    for i in range(60):
        request(family, "tenant-add", [top("tenant", Attr("tenant", "name", b"t%d\0" % i))])
    for what, attrs in lists.items():
        for change in ("add", "del") if what == "tenant" else ("del", "add"):
            def act(change=change, what=what, attrs=attrs):
                got = request(family, f"{what}-{change}", attrs)
                assert got[0] == 0, got
            for between, want in (None, (False, False)), (act, (False, True)):
                got = read_dump(family, f"{what}-get", between)
                if got != want:
                    bad += 1
                    print(f"{what} {change}: first, any flagged: {got}, expected {want}")
            # a change of settings is none of the list
        if read_dump(family, f"{what}-get", lambda: request(family, "limit-set", [top(
                "limit", limit("values", [Attr("limits", "sockets", 1 << 20)], NESTED))]))[1]:
            bad += 1
            print(f"{what}: flagged for a change of something else")
    for i in range(60):
        request(family, "tenant-del", [top("tenant", Attr("tenant", "name", b"t%d\0" % i))])
    return 1 if bad else 0


def check_json(path, count):
    with open(path, encoding="utf-8") as file:
        documents = file.read().split("\0")[:-1]
    for text in documents:
        try:
            json.loads(text)
        except ValueError as err:
            print(f"{err}: {text}")
            return 1
    print(f"{len(documents)} documents, expected {count}")
    return 0 if len(documents) == int(count) else 1


LENGTHS = {"flag": 0, "u8": 1, "u16": 2, "u32": 4, "u64": 8}


def judge(data, set_name, seen, complaints):
    """Attributes of an answer, and of the nests in it."""
    known, at = SPEC.attrs(set_name), 0
    while at + 4 <= len(data):
        size, number = struct.unpack_from("=HH", data, at)
        body = data[at + 4:at + size]
        attr = known.get(number & 0x3fff)
        at += max(size + 3 & ~3, 4)
        if attr is None:
            if number & 0x3fff:
                complaints.append(
                    f"{set_name}: attribute {number & 0x3fff}, which the spec does not have")
            continue
        name = f"{set_name}.{attr['name']}"
        seen.add(name)
        if attr["type"] == "unused":
            complaints.append(f"{name}: is not used any more")
        length = LENGTHS.get(attr["type"], attr.get("checks", {}).get("exact-len"))
        if attr["type"] == "nest":
            judge(body, attr["nested-attributes"], seen, complaints)
        elif length is None and attr["type"] == "binary":
            length = len(body) if len(body) in (4, 16) else "4 or 16, an address"
        if length is not None and length != len(body):
            complaints.append(f"{name}: {len(body)} bytes, by the spec {length}")


def ask(op_name, op, family, seen, complaints):
    command = VALUES[spec_check.c_name("inc-cmd-", op_name)]
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16) as sock:
        flags = 0x305 if "dump" in op else 5
        sock.send(struct.pack("=IHHIIBBH", 20, family, flags, 1, 0, command, 1, 0))
        ended = False
        while not ended:
            data, pos = sock.recv(1 << 17), 0
            while pos < len(data):
                length, kind = struct.unpack_from("=IH", data, pos)
                if kind == family:
                    judge(data[pos + 20:pos + length], "top", seen, complaints)
                elif struct.unpack_from("=i", data, pos + 16)[0]:
                    complaints.append(f"{op_name}: refused")
                ended |= kind != family
                pos += length + 3 & ~3


def check_answers(namespaces, *names):
    family, seen, complaints = family_id(), set(), []
    for ns in namespaces.split(","):
        with inc_wire.netns(ns):
            for op_name, op in SPEC.ops.items():
                if "reply" in op.get("dump", op.get("do", {})):
                    ask(op_name, op, family, seen, complaints)
    complaints += [f"{name}: in no answer" for name in names if name not in seen]
    for line in sorted(set(complaints)):
        print(line)
    print(f"{len(seen)} different attributes")
    return 1 if complaints else 0


sys.exit({"answers": check_answers, "bad": send_bad, "add": add_nodes, "json": check_json,
          "changes": check_changes}[sys.argv[1]](*sys.argv[2:]))
