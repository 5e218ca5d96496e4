#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Holds tools/wireshark/inc.lua against the uapi headers, and what tshark makes of a capture against
what wireshark_packets says of it:

    wireshark.py CAPTURE EXPECTED

tshark finds the dissector where Documentation/wireshark.rst has it put. Prints "ok - NAME" and
"not ok - NAME", and "end" at the end.
"""
import collections
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
UAPI = os.path.join(TOP, "uapi/linux")
MESSAGE = "_ws.expert.message"
MAX_SHOWN = 10
# Seconds in which tshark is done with a capture of so many packets, also on a busy machine.
PATIENCE = 240
# The filters of what is not in a structure of its own name.
STRUCTS = {"hdr": "inc", "wait_pkt": "inc.wait", "error_pkt": "inc.error"}
# A member, and what it is taken apart to.
PARTED = {"inc.vertype": ["inc.version", "inc.pkt_type"]}
ENUMS = {
    "inc_pkt_type": ["inc.pkt_type"],
    "inc_refuse_code": ["inc.refuse.code"],
    "inc_err_code": ["inc.error.code"],
}
SMALL_ENUMS = {
    "inc_fallback": ["inc.join.fallback", "inc.ready.fallback"],
    "inc_late_policy": ["inc.join.late_policy", "inc.ready.late_policy"],
}
# Bits of a member, by what their names begin with; what is not named like its filter.
BITS = {"F": "inc.flags", "JOIN": "inc.join.below", "READY": "inc.ready.height", "MODE": "inc.desc.mode"}
RENAMED = {"inc.ready.height.height": "inc.ready.height.levels",
           "inc.join.below.late_policy": "inc.join.late_policy",
           "inc.join.below.stripe_index": "inc.join.stripe",
           "inc.join.below.stripe_count": "inc.join.stripes",
           **{f"inc.join.below.{name}": f"inc.join.flags.{name}" for name in ("shrink", "canonical", "many_parts", "rebind", "kinds")}}
LISTS = {
    "TYPE": ["inc.type", "inc.desc.type", "inc.desc.wire"],
    "OP": ["inc.op", "inc.desc.op"],
    "COLL": ["inc.desc.coll"],
}


def result(name, complaints):
    print(f"{'not ok' if complaints else 'ok'} - wireshark: {name}")
    for line in complaints[:MAX_SHOWN]:
        print(f"# {line}")


def tshark(*args):
    # root gets no scripts of a user from Wireshark 4.4
    nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    try:
        done = subprocess.run(["tshark", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=PATIENCE, check=False, **nobody)
    except subprocess.TimeoutExpired:
        result("tshark comes to an end", [f"tshark {' '.join(args[:2])}: not within {PATIENCE} s"])
        sys.exit(1)
    if done.returncode:
        sys.exit(f"tshark {' '.join(args)}: {done.stderr.decode()}")
    return done.stdout.decode("utf-8", "replace").splitlines()


def header(name):
    with open(os.path.join(UAPI, name), encoding="utf-8") as file:
        return re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)


def packet_headers():
    """What packets are made of."""
    return header("inc.h") + header("inc_wire.h")


def enum_of(text, name):
    """(number, name without what all of them begin with) of each entry."""
    body = re.search(r"enum %s \{(.*?)\}" % name, text, re.S).group(1)
    value, out = 0, []
    for entry, given in re.findall(r"(\w+)\s*(?:=\s*(\d+))?,", body + ","):
        value = int(given) if given else value
        if not entry.startswith("__"):
            out.append((value, entry))
        value += 1
    prefix = os.path.commonprefix([entry for _, entry in out])
    prefix = prefix[:prefix.rindex("_") + 1]
    return [(value, entry[len(prefix):]) for value, entry in out]


class Dissector:
    """What tshark says that it knows."""

    def __init__(self):
        self.fields = {}
        for line in tshark("-G", "fields"):
            words = line.split("\t")
            if words[0] == "F" and words[2].startswith("inc.") and words[4] == "inc":
                self.fields[words[2]] = words
        self.values = collections.defaultdict(dict)
        for line in tshark("-G", "values"):
            words = line.split("\t")
            if words[0] == "V" and words[1].startswith("inc."):
                self.values[words[1]][int(words[2], 0)] = words[3]

    def lacks_values(self, filters, wanted):
        return [f"{name}: {value} is {self.values[name].get(value)}, expected {text}"
                for name in filters for value, text in wanted
                if self.values[name].get(value) != text]


def every_member(known):
    complaints, n = [], 0
    text = packet_headers()
    for struct, body in re.findall(r"^struct inc_(\w+) \{(.*?)^\}", text, re.S | re.M):
        prefix = STRUCTS.get(struct, "inc." + struct)
        for member in re.findall(r"(\w+)(?:\[\w*\])*\s*;", body):
            name = f"{prefix}.{member}"
            n += 1
            for wanted in PARTED.get(name, [name]):
                if wanted not in known.fields:
                    complaints.append(f"struct inc_{struct}: {wanted} is no filter")
    if n < 80:
        complaints.append(f"only {n} members in the header: expected 80 or more")
    result("each member of a structure has a filter", complaints)


def every_name(known):
    text, names = packet_headers(), header("inc_names.h")
    complaints = []
    for enum, filters in ENUMS.items():
        complaints += known.lacks_values(filters, enum_of(text, enum))
    for enum, filters in SMALL_ENUMS.items():
        complaints += known.lacks_values(filters, [(v, n.lower()) for v, n in enum_of(text, enum)])
    for what, filters in LISTS.items():
        numbers = {n: v for v, n in enum_of(text, "inc_" + what.lower())}
        wanted = [(numbers[n], t) for n, t in
                  re.findall(r"^INC_%s\(INC_%s_(\w+),\s+\"([^\"]*)\"" % (what, what), names, re.M)]
        if len(wanted) < 12:
            complaints.append(f"INC_{what}: only {len(wanted)} names in the header")
        complaints += known.lacks_values(filters, wanted)
    result("packets, errors, types, operations, collectives have the header's names", complaints)


def every_flag(known):
    complaints, n = [], 0
    for kind, name, mask in re.findall(r"^#define INC_(F|JOIN|READY|MODE)_(\w+)\s+(0x\w+)", packet_headers(), re.M):
        wanted = f"{BITS[kind]}.{name.lower()}"
        words = known.fields.get(RENAMED.get(wanted, wanted))
        n += 1
        if not words or int(words[6], 0) != int(mask, 0):
            complaints.append(f"INC_{kind}_{name} {mask}: {words}")
    if n < 20:
        complaints.append(f"only {n} flags in the header")
    result("each flag has a filter", complaints)


class Frame:
    def __init__(self):
        self.type = self.reason = None
        self.clean = self.cut = False
        self.fields = collections.defaultdict(list)
        self.remarks = []


def read_expected(path):
    frames = collections.defaultdict(Frame)
    with open(path, encoding="utf-8") as file:
        for line in file:
            what, number, *words = line.rstrip("\n").split("\t")
            frame = frames[int(number)]
            if what == "field":
                frame.fields[words[0]].append(words[1])
            elif what == "expert":
                frame.remarks.append(words)
            elif what == "type":
                frame.type = words[0]
            elif what == "parse":
                frame.reason = words[0]
            else:
                setattr(frame, what, True)
    return frames


def plain(value):
    """Numbers as numbers, however they are written."""
    value = {"True": "1", "False": "0"}.get(value, value)
    return int(value, 0) if re.fullmatch(r"0x[0-9a-fA-F]+|0|[1-9][0-9]*", value) else value


def dissect(capture, names):
    """Of each frame: filter -> values."""
    names = sorted(names)
    args = ["-r", capture, "-o", "udp.check_checksum:TRUE", "-T", "fields", "-E", "occurrence=a",
            "-E", "aggregator=\x1f"]
    for name in names + [MESSAGE]:
        args += ["-e", name]
    frames = {}
    for number, line in enumerate(tshark(*args), 1):
        values = line.split("\t")
        frames[number] = {name: [plain(v) for v in value.split("\x1f")] if value else []
                          for name, value in zip(names + [MESSAGE], values)}
    return frames


def remarked(seen, filters):
    return [name for name in filters if name.startswith("inc.expert.") and seen.get(name)]


def field_faults(frame, seen):
    return [f"{name}: {seen.get(name)}, expected {wanted}" for name, wanted in
            ((name, [plain(v) for v in values]) for name, values in frame.fields.items())
            if seen.get(name) != wanted]


def remark_faults(frame, seen, filters):
    out = []
    for name, text in frame.remarks:
        if not seen.get(name):
            out.append(f"no {name}")
        elif text and not any(str(said).startswith(text) for said in seen[MESSAGE]):
            out.append(f"{name}: {seen[MESSAGE]}, expected {text}")
    if frame.clean and remarked(seen, filters):
        out.append(f"{seen[MESSAGE]}, expected no remark")
    return out


def verdict_faults(frame, seen):
    got = "malformed" if seen.get("inc.expert.malformed") else \
        "version" if seen.get("inc.expert.version") else "0"
    return [] if frame.reason in (None, got) else [f"{got}: {seen[MESSAGE]}, the parser: {frame.reason}"]


def about(frames, chosen, faults):
    complaints = [] if chosen else ["there is no such frame"]
    for number in chosen:
        complaints += [f"frame {number}: {fault}" for fault in faults(number)]
    return complaints


def packets(known, capture, expected):
    frames = read_expected(expected)
    seen = dissect(capture, known.fields)
    if len(seen) != max(frames):
        result("every frame", [f"{len(seen)} frames, expected {max(frames)}"])
        return

    def check(name, chosen, faults):
        result(name, about(frames, [n for n in frames if chosen(frames[n])], faults))

    def right(n):
        bare = [] if seen[n]["inc.pkt_type"] else ["not taken apart"]
        return bare + [f"{seen[n]['inc.rest']} was not taken apart" for _ in seen[n]["inc.rest"]] + \
            field_faults(frames[n], seen[n]) + remark_faults(frames[n], seen[n], known.fields)

    for _, name in enum_of(packet_headers(), "inc_pkt_type"):
        check(f"packet {name}", lambda frame, name=name: frame.type == name, right)
    check("values of all others", lambda frame: frame.fields and not frame.type,
          lambda n: field_faults(frames[n], seen[n]))
    check("what is remarked", lambda frame: (frame.remarks or frame.clean) and not frame.type,
          lambda n: remark_faults(frames[n], seen[n], known.fields))
    check("dropped as by the kernel's parser", lambda frame: frame.reason,
          lambda n: verdict_faults(frames[n], seen[n]))
    check("cut off by the capture", lambda frame: frame.cut,
          lambda n: (["inc.expert.malformed"] if seen[n]["inc.expert.malformed"] else []) +
          field_faults(frames[n], seen[n]) + remark_faults(frames[n], seen[n], known.fields))
    text = tshark("-r", capture, "-V", "-o", "udp.check_checksum:TRUE")
    result("no fault of the script", [line for line in text if "Lua Error" in line or "inc.lua:" in line])


def main():
    capture, expected = sys.argv[1:]
    known = Dissector()
    every_member(known)
    every_name(known)
    every_flag(known)
    packets(known, capture, expected)
    print("end")


main()
