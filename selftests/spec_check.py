#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Holds the netlink spec against the uapi header and the policy or, with --kernel, against the
loaded module.

The header: a C compiler is asked for the value of every name that the spec implies, and nothing may
be left out.
The policy: kernel/netlink/nl_policy.[ch] have what the kernel's generator would make. That they are
what it makes, byte for byte, is what tools/ynl --check says where there is a generator.
The module: its family is asked for its commands, multicast groups and input policies
(CTRL_CMD_GETPOLICY).
Prints KTAP.
"""
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:
    if __name__ != "__main__":
        raise
    print("KTAP version 1\n1..0 # SKIP python3 has no module yaml")
    sys.exit(4)

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SPEC = os.path.join(TOP, "Documentation/netlink/specs/inc.yaml")
UAPI = os.path.join(TOP, "uapi")
HEADER = os.path.join(UAPI, "linux/inc_netlink.h")
COUNTERS = os.path.join(UAPI, "linux/inc_counters.h")
LIMITS = os.path.join(UAPI, "linux/inc_limits.h")
POLICY = os.path.join(TOP, "kernel/netlink/nl_policy")
CC = os.environ.get("CC", "cc")
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Ktap:
    """One result per check; a check is a list of complaints."""

    def __init__(self):
        self.num = self.bad = 0

    def check(self, name, complaints):
        self.num += 1
        print(f"{'not ok' if complaints else 'ok'} {self.num} - {name}")
        for line in complaints:
            print(f"# {line}")
        self.bad += bool(complaints)

    def end(self):
        print(f"1..{self.num}")
        return 1 if self.bad or not self.num else 0


def c_name(*parts):
    return "".join(parts).upper().replace("-", "_")


def numbered(items, start):
    """(name, value) of spec entries, each one more than the last unless it says otherwise."""
    value = start
    for item in items:
        if isinstance(item, dict):
            value = item.get("value", value)
            item = item["name"]
        yield item, value
        value += 1


class Spec:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.raw = yaml.load(file, Loader=LOADER)
        self.sets = {s["name"]: s for s in self.raw["attribute-sets"]}
        self.defs = {d["name"]: d for d in self.raw["definitions"]}
        self.ops = {o["name"]: o for o in self.raw["operations"]["list"]}

    def attrs(self, name):
        """number -> attribute of a set"""
        items = self.sets[name]["attributes"]
        return {value: item for item, (_, value) in zip(items, numbered(items, 1))}

    def values(self):
        """C name -> value, of everything that has one"""
        out = {}
        for d in self.defs.values():
            if d["type"] == "const":
                out[c_name("inc-", d["name"])] = d["value"]
                continue
            for name, value in numbered(d["entries"], d.get("value-start", 0)):
                out[c_name(d["name-prefix"], name)] = value
        for s in self.sets.values():
            for name, value in numbered(s["attributes"], 1):
                out[c_name(s["name-prefix"], name)] = value
        ops = self.raw["operations"]
        for name, value in numbered(ops["list"], 1):
            out[c_name(ops["name-prefix"], name)] = value
        return out

    def numbers(self, name):
        """attribute of a set -> number"""
        return {item["name"]: value for value, item in self.attrs(name).items()}

    @staticmethod
    def op_attrs(op, ways=("do", "dump")):
        """top-level attributes that a command takes"""
        names = set()
        for kind in ways:
            names |= set(op.get(kind, {}).get("request", {}).get("attributes", []))
        return names


def references(spec):
    """Every name that the spec uses is defined in it."""
    out = []
    for name, s in spec.sets.items():
        for attr in s["attributes"]:
            where = f"{name}.{attr['name']}"
            if attr["type"] == "nest" and attr.get("nested-attributes") not in spec.sets:
                out.append(f"{where}: nested set {attr.get('nested-attributes')} is not there")
            if "enum" in attr and attr["enum"] not in spec.defs:
                out.append(f"{where}: enum {attr['enum']} is not there")
    groups = {g["name"] for g in spec.raw["mcast-groups"]["list"]}
    for name, op in spec.ops.items():
        known = {a["name"] for a in spec.sets[op["attribute-set"]]["attributes"]}
        used = spec.op_attrs(op) | set(op.get("event", {}).get("attributes", []))
        for kind in "do", "dump":
            used |= set(op.get(kind, {}).get("reply", {}).get("attributes", []))
        out += [f"{name}: attribute {a} is not there" for a in sorted(used - known)]
        if op.get("mcgrp", "events") not in groups:
            out.append(f"{name}: multicast group {op['mcgrp']} is not there")
    return out


def compile_and_run(body):
    with tempfile.TemporaryDirectory() as tmp:
        source, program = os.path.join(tmp, "t.c"), os.path.join(tmp, "t")
        with open(source, "w", encoding="utf-8") as file:
            file.write(
                "#include <stdio.h>\n#include <linux/inc.h>\n#include <linux/inc_netlink.h>\n"
                       f"int main(void)\n{{\n{body}\treturn 0;\n}}\n")
        done = subprocess.run([CC, "-I", UAPI, "-o", program, source], capture_output=True,
                              text=True, check=False)
        if done.returncode:
            return None, [line for line in done.stderr.splitlines() if "error" in line]
        return subprocess.run([program], capture_output=True, text=True, check=True).stdout, []


def values_agree(spec):
    """The compiler finds every name, with the value that the spec gives it."""
    want = spec.values()
    text, errors = compile_and_run("".join(f'\tprintf("{n} %lld\\n", (long long){n});\n'
                                           for n in want))
    if text is None:
        return errors
    got = {n: int(v) for n, v in (line.split() for line in text.splitlines())}
    return [f"{n}: {want[n]} in the spec, {got[n]} in the header"
            for n in want if want[n] != got[n]]


def nothing_left_out(spec):
    """Every enumerator of the header is in the spec."""
    done = subprocess.run([CC, "-E", "-P", "-I", UAPI, HEADER], capture_output=True, text=True,
                          check=True)
    names = set()
    for body in re.findall(r"\benum\s*\w*\s*\{([^}]*)\}", done.stdout):
        for item in body.split(","):
            name = item.split("=")[0].strip()
            if name.startswith("INC_") and not name.endswith("_UNSPEC"):
                names.add(name)
    if len(names) < 50:
        return [f"only {len(names)} enumerators found in the header"]
    return [f"{n}: in the header, not in the spec" for n in sorted(names - set(spec.values()))]


def constants_agree(spec):
    """Name, version and multicast groups are the header's."""
    text, errors = compile_and_run(
        '\tprintf("%s %d %s %s\\n", INC_GENL_NAME, INC_GENL_VERSION, INC_GENL_MCGRP,\n'
        '\t       INC_GENL_MCGRP_DETAILS);\n')
    if text is None:
        return errors
    groups = " ".join(g["name"] for g in spec.raw["mcast-groups"]["list"])
    want = f"{spec.raw['name']} {spec.raw['version']} {groups}"
    return [] if text.strip() == want else [f"header: {text.strip()}, spec: {want}"]


def types_agree(spec):
    """The type that the header's comment names is the spec's."""
    with open(HEADER, encoding="utf-8") as file:
        text = file.read()
    pattern = r"\b(INC_A_\w+),\s*/\*\s*(?:multi, )?(nest|u8|u16|u32|u64|string|flag|binary)\b"
    comments = dict(re.findall(pattern, text))
    out, seen = [], 0
    for s in spec.sets.values():
        for attr in s["attributes"]:
            name = c_name(s["name-prefix"], attr["name"])
            if name in comments:
                seen += 1
                if comments[name] != attr["type"]:
                    out.append(
                        f"{name}: {comments[name]} in the header, {attr['type']} in the spec")
    return (out if seen == len(comments) and seen > 30
            else out + [f"{seen} of {len(comments)} comments matched"])


def lengths_agree(spec):
    """
    What is no number has the length that the header's comment says: a constant times a type, or an
    address.
    """
    with open(HEADER, encoding="utf-8") as file:
        comments = dict(re.findall(r"\b(INC_A_\w+),\s*/\*\s*binary[:,] (\w+(?: (?:u\d+|or)\b)?)",
                                   file.read()))
    out, wanted = [], {}
    for s in spec.sets.values():
        for attr in s["attributes"]:
            if attr["type"] == "binary":
                wanted[c_name(s["name-prefix"], attr["name"])] = attr.get("checks", {}).get(
                    "exact-len", 0)
    for name in sorted(set(wanted) ^ set(comments)):
        out.append(f"{name}: its length is told in one of spec and header only")
    sizes = {"u64": 8, "u32": 4, "u16": 2}
    lines = "".join(f'\tprintf("{n} %d\\n", {0 if c == "4 or" else c.split()[0]} * {sizes.get(c.split()[-1], 1)});\n'
                    for n, c in comments.items() if n in wanted)
    text, errors = compile_and_run(lines)
    if text is None:
        return out + errors
    got = {n: int(v) for n, v in (line.split() for line in text.splitlines())}
    return (out + [f"{n}: {wanted[n]} bytes in the spec, {got[n]} in the header"
                   for n in got if got[n] != wanted[n]])


def words_agree(spec, path, macro, name):
    """The meaning of each counter or limit is told in the same words."""
    with open(path, encoding="utf-8") as file:
        lines = re.findall(rf'^{macro}\((\w+), "(.*?)"\)', file.read(), re.M)
    header = {n.lower().replace("_", "-"): t for n, t in lines}
    spec_docs = {a["name"]: a.get("doc") for a in spec.sets[name]["attributes"]}
    return [f"{n}: header: {header.get(n)}; spec: {spec_docs.get(n)}"
            for n in sorted(set(header) | set(spec_docs)) if header.get(n) != spec_docs.get(n)]


# The policy: C text by the names of what it defines.

def rule(spec, attr):
    """What the policy says of an attribute."""
    kind, checks = attr["type"], attr.get("checks", {})
    if kind == "nest":
        return f"NLA_POLICY_NESTED(inc_{attr['nested-attributes'].replace('-', '_')}_nl_policy)"
    if "exact-len" in checks:
        return f"NLA_POLICY_EXACT_LEN({checks['exact-len']})"
    kind = {"string": "NLA_NUL_STRING"}.get(kind, c_name("nla-", kind))
    if "enum" in attr:
        values = [v for _, v in numbered(spec.defs[attr["enum"]]["entries"], 0)]
        checks = {"max": max(values), **checks}
    if "max" in checks:
        return f"NLA_POLICY_MAX({kind}, {checks['max']})"
    return (f"{{ .type = {kind}, .len = {checks['max-len']}, }}" if "max-len" in checks
            else f"{{ .type = {kind}, }}")


def wanted_policies(spec):
    """
    C name of an array -> its entries, of all nests that a request may hold and of all commands that
    take anything
    """
    out, nests = {}, set()

    def array(name, set_name, attrs):
        base = spec.sets[set_name]
        rules = [(c_name(base["name-prefix"], a["name"]), rule(spec, a)) for a in attrs]
        out[f"inc_{name.replace('-', '_')}_nl_policy[{rules[-1][0]} + 1]"] = rules
        for attr in attrs:
            if attr["type"] == "nest" and attr["nested-attributes"] not in nests:
                nests.add(attr["nested-attributes"])
                array(attr["nested-attributes"], attr["nested-attributes"],
                      spec.sets[attr["nested-attributes"]]["attributes"])

    for name, op in spec.ops.items():
        taken = spec.op_attrs(op)
        if taken:
            attrs = spec.sets[op["attribute-set"]]["attributes"]
            array(name, op["attribute-set"], [a for a in attrs if a["name"] in taken])
    return out


def wanted_ops(spec):
    """The table of commands: (command and way, fields)"""
    prefix, out = spec.raw["operations"]["name-prefix"], []
    for name, op in spec.ops.items():
        for way in "do", "dump":
            if way not in op:
                continue
            stem, fields = name.replace("-", "_"), {"cmd": c_name(prefix, name)}
            fields[f"{way}it"] = f"inc_nl_{stem}_{way}it"
            taken = op[way].get("request", {}).get("attributes", [])
            if taken:
                last = max(taken, key=lambda a: spec.numbers(op["attribute-set"])[a])
                fields.update(policy=f"inc_{stem}_nl_policy",
                              maxattr=c_name(spec.sets[op["attribute-set"]]["name-prefix"], last))
            fields["flags"] = " | ".join(c_name("genl-", f)
                                         for f in [*op.get("flags", []), f"cmd-cap-{way}"])
            out.append((f"{name} {way}", fields))
    return out


def differences(got, want, where):
    """Of two dictionaries or lists of pairs."""
    got, want = dict(got), dict(want)
    return [
        f"{where}{n}: {got.get(n, 'nothing')} in the policy, {want.get(n, 'nothing')} by the spec"
            for n in dict.fromkeys([*want, *got]) if got.get(n) != want.get(n)]


def policy_is_made_of_it(spec):
    """nl_policy.[ch] have what the spec says: nothing else, and nothing less."""
    with open(POLICY + ".c", encoding="utf-8") as file:
        text = file.read()
    with open(POLICY + ".h", encoding="utf-8") as file:
        header = file.read()
    arrays = re.findall(r"const struct nla_policy (\w+\[\w+ \+ 1\]) = \{\n(.*?)^\};", text,
                        re.S | re.M)
    got = {name: re.findall(r"^\t\[(\w+)\] = (.*),$", body, re.M) for name, body in arrays}
    want = wanted_policies(spec)
    out = [f"{n}: in one of spec and policy only" for n in sorted(set(got) ^ set(want))]
    for name in set(got) & set(want):
        out += differences(got[name], want[name], f"{name}: ")
    table = re.search(r"const struct genl_split_ops inc_nl_ops\[(\d+)\] = \{\n(.*?)^\};", text,
                      re.S | re.M)
    if not table:
        return out + ["there is no table of commands"]
    entries = [dict(re.findall(r"\.(\w+)\s*= (.*),", e))
               for e in re.findall(r"^\t\{\n(.*?)^\t\},", table[2], re.S | re.M)]
    ops = wanted_ops(spec)
    if not len(entries) == len(ops) == int(table[1]):
        out.append(f"{len(entries)} entries of {table[1]} in the table of commands, {len(ops)} by the spec")
    for entry, (name, fields) in zip(entries, ops):
        out += differences(entry, fields, f"{name}: ")
        out += [f"{value}() is not in the header" for key, value in fields.items()
                if key.endswith("it") and f"int {value}(" not in header]
    return out


# The kernel's side. Numbers are those of linux/genetlink.h and linux/netlink.h.

GENL_ID_CTRL, CMD_GETFAMILY, CMD_GETPOLICY = 16, 3, 10
ATTR_FAMILY_ID, ATTR_FAMILY_NAME, ATTR_VERSION, ATTR_OPS, ATTR_MCAST = 1, 2, 3, 6, 7
ATTR_POLICY, ATTR_OP_POLICY, ATTR_OP = 8, 9, 10
FLAG_ADMIN, FLAG_DO, FLAG_DUMP, FLAG_HASPOL, FLAG_UNS_ADMIN = 1, 2, 4, 8, 16
POLICY_TYPE, POLICY_IDX = 1, 8
POLICY_WAYS = {1: "do", 2: "dump"}
KERNEL_TYPES = {1: "flag", 2: "u8", 3: "u16", 4: "u32", 5: "u64", 10: "binary", 11: "string",
                12: "string", 13: "nest"}


def attributes(data):
    """type -> payload (the last one), of a sequence of attributes"""
    out, pos = {}, 0
    while pos + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, pos)
        if length < 4:
            break
        out[kind & 0x3fff] = data[pos + 4:pos + length]
        pos += (length + 3) & ~3
    return out


def u32(data):
    return struct.unpack("=I", data)[0]


def genl(cmd, name, op=None):
    """Payloads of the generic netlink controller's answers about a family, or by a dump about its
    command @op; OSError if it refuses."""
    attr = struct.pack("=HH", 4 + len(name) + 1, ATTR_FAMILY_NAME) + name.encode() + b"\0"
    body = struct.pack("=BBH", cmd, 1, 0) + attr + bytes(-len(attr) % 4)
    if op is not None:
        body += struct.pack("=HHI", 8, ATTR_OP, op)
    answers = []
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16) as sock:
        sock.send(struct.pack("=IHHII", 16 + len(body), GENL_ID_CTRL, 5 if op is None else 0x305,
                              1, 0) + body)
        while True:
            data, pos = sock.recv(1 << 16), 0
            while pos < len(data):
                length, kind = struct.unpack_from("=IH", data, pos)
                payload = data[pos + 16:pos + length]
                if kind in (2, 3):
                    error = struct.unpack_from("=i", payload)[0] if len(payload) >= 4 else 0
                    if error:
                        raise OSError(-error, os.strerror(-error))
                    return answers
                answers.append(payload[4:])
                pos += (length + 3) & ~3


class Kernel:
    def __init__(self, name):
        family = attributes(genl(CMD_GETFAMILY, name)[0])
        self.version = u32(family[ATTR_VERSION])
        ops = [attributes(op) for op in attributes(family.get(ATTR_OPS, b"")).values()]
        self.ops = {u32(op[1]): u32(op[2]) for op in ops}
        groups = attributes(family.get(ATTR_MCAST, b"")).values()
        self.groups = {attributes(g)[1].rstrip(b"\0").decode() for g in groups}
        self.policies = {op: self.policy(name, op)
                         for op, flags in self.ops.items() if flags & FLAG_HASPOL}

    @staticmethod
    def policy(name, op):
        """(way to call the command -> index that it begins with, index -> attribute -> rule). One
        command at a time: kernels have put those without `do` under number 0 when asked for all."""
        begin, rules = {}, {}
        for answer in genl(CMD_GETPOLICY, name, op):
            answer = attributes(answer)
            for nest in attributes(answer.get(ATTR_OP_POLICY, b"")).values():
                begin.update((POLICY_WAYS[way], u32(index))
                             for way, index in attributes(nest).items())
            for index, nest in attributes(answer.get(ATTR_POLICY, b"")).items():
                for attr, rule in attributes(nest).items():
                    rules.setdefault(index, {})[attr] = attributes(rule)
        return begin, rules


def policy_agrees(spec, rules, set_name, index, where, wanted):
    """
    What the kernel takes at this level is what the spec says, with the same type: attributes of
    these names.
    """
    out, known, taken = [], spec.attrs(set_name), set()
    for number, found in rules.get(index, {}).items():
        attr = known.get(number)
        if attr is None:
            out.append(
                f"{where}: the kernel takes attribute {number}, which set {set_name} does not have")
            continue
        taken.add(attr["name"])
        kind = KERNEL_TYPES.get(u32(found[POLICY_TYPE]), "?")
        if kind != attr["type"]:
            out.append(f"{where}.{attr['name']}: {kind} in the kernel, {attr['type']} in the spec")
        if kind == "nest" and POLICY_IDX in found:
            nested = attr["nested-attributes"]
            out += policy_agrees(spec, rules, nested, u32(found[POLICY_IDX]),
                                 f"{where}.{attr['name']}", set(spec.numbers(nested)))
    if taken != wanted:
        out.append(f"{where}: the kernel takes {sorted(taken)}, the spec says {sorted(wanted)}")
    return out


def op_flags(op):
    flags = set(op.get("flags", []))
    return ((FLAG_DO if "do" in op else 0) | (FLAG_DUMP if "dump" in op else 0) |
            (FLAG_ADMIN if "admin-perm" in flags else 0)
            | (FLAG_UNS_ADMIN if "uns-admin-perm" in flags else 0))


def kernel_checks(spec, ktap):
    name = spec.raw["name"]
    try:
        kernel = Kernel(name)
    except OSError as err:
        ktap.check("kernel: the family answers", [f"{name}: {err.strerror}: is the module loaded?"])
        return
    ktap.check("kernel: the family answers", [])
    ktap.check("kernel: version",
               [] if kernel.version == spec.raw["version"] else [f"version {kernel.version}"])
    groups = {g["name"] for g in spec.raw["mcast-groups"]["list"]}
    ktap.check("kernel: multicast groups",
               [] if kernel.groups == groups else [f"{kernel.groups}, spec: {groups}"])
    values = spec.values()
    numbers = {n: values[c_name("inc-cmd-", n)] for n in spec.ops}
    wanted = {numbers[n]: n for n, op in spec.ops.items() if "event" not in op}
    extra = [f"command {n} is not in the spec" for n in sorted(set(kernel.ops) - set(wanted))]
    ktap.check("kernel: no command beyond the spec", extra)
    for number, op_name in wanted.items():
        op, have = spec.ops[op_name], kernel.ops.get(number)
        if have is None:
            ktap.check(f"kernel: {op_name}", ["the kernel does not have it"])
            continue
        bad = []
        if have & ~FLAG_HASPOL != op_flags(op):
            bad.append(
                f"flags {have & ~FLAG_HASPOL:#x} in the kernel, {op_flags(op):#x} by the spec")
        if not have & FLAG_HASPOL:
            bad.append("no policy: anything would be taken")
        begin, rules = kernel.policies.get(number, ({}, {}))
        for way, index in begin.items():
            # kernels before 6.2 have one policy for both ways to call a command, that of do
            ways = [w for w in begin if begin[w] == index]
            bad += policy_agrees(spec, rules, op["attribute-set"], index, f"{op_name} {way}",
                                 spec.op_attrs(op, ways))
        if not begin and spec.op_attrs(op):
            bad.append("no policy reported")
        ktap.check(f"kernel: {op_name}", bad)


def main():
    if sys.argv[1:] not in ([], ["--kernel"]):
        print(f"{sys.argv[0]}: {' '.join(sys.argv[1:])}: expected nothing or --kernel",
              file=sys.stderr)
        return 2
    print("TAP version 13")
    ktap = Ktap()
    spec = Spec(SPEC)
    if sys.argv[1:]:
        kernel_checks(spec, ktap)
        return ktap.end()
    ktap.check("spec: names are defined", references(spec))
    ktap.check("spec and uapi: values", values_agree(spec))
    ktap.check("spec and uapi: nothing left out", nothing_left_out(spec))
    ktap.check("spec and uapi: family, version, group", constants_agree(spec))
    ktap.check("spec and uapi: types", types_agree(spec))
    ktap.check("spec and uapi: lengths", lengths_agree(spec))
    ktap.check("spec and policy", policy_is_made_of_it(spec))
    ktap.check("spec and uapi: counters", words_agree(spec, COUNTERS, "INC_COUNTER", "counters"))
    ktap.check("spec and uapi: limits", words_agree(spec, LIMITS, "INC_LIMIT", "limits"))
    return ktap.end()


if __name__ == "__main__":
    sys.exit(main())
