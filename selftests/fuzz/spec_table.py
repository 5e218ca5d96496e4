#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The netlink spec as C tables on stdout, of the types in spec.h."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import spec_check  # pylint: disable=wrong-import-position

SIZES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}


def ident(*parts):
    return "_".join(parts).replace("-", "_")


def attribute(spec, number, attr):
    kind = attr["type"]
    length = SIZES.get(kind, attr.get("checks", {}).get("exact-len", 0))
    fields = [f'.name = "{attr["name"]}"', f".number = {number}", f".type = SPEC_{kind.upper()}", f".len = {length}"]
    if "sub-type" in attr:
        fields.append(f".item = {SIZES[attr['sub-type']]}")
    if kind == "nest":
        fields.append(f".nested = &{ident('set', attr['nested-attributes'])}")
    if "enum" in attr:
        fields.append(f".names = {ident('names', attr['enum'])}")
        fields.append(f".n_names = {len(names(spec, attr['enum']))}")
    if attr.get("doc", "").startswith("out:"):
        fields.append(".out = true")
    return "\t{ " + ", ".join(fields) + " },"


def names(spec, enum):
    """Names by value, None where there is none."""
    entry = spec.defs[enum]
    values = dict((v, n) for n, v in spec_check.numbered(entry["entries"], entry.get("value-start", 0)))
    return [values.get(v) for v in range(max(values) + 1)]


def mask(spec, attrs):
    numbers = {a["name"]: n for n, a in spec.attrs("top").items()}
    return " | ".join(f"1U << {numbers[a]}" for a in attrs) or "0"


def operation(spec, number, name, op):
    do, dump = op.get("do"), op.get("dump")
    reply = set()
    for kind in do, dump:
        reply |= set((kind or {}).get("reply", {}).get("attributes", []))
    reply |= set(op.get("event", {}).get("attributes", []))
    fields = [f'.name = "{name}"', f".cmd = {number}", f".request = {mask(spec, sorted(spec.op_attrs(op)))}",
              f".reply = {mask(spec, sorted(reply))}"]
    fields += [f".has_{kind} = true" for kind in ("do", "dump", "event") if kind in op]
    if "uns-admin-perm" in op.get("flags", []):
        fields.append(".admin = true")
    return "\t{ " + ", ".join(fields) + " },"


def main():
    spec = spec_check.Spec(spec_check.SPEC)
    print("/* Made by spec_table.py from Documentation/netlink/specs/inc.yaml. */")
    for enum, entry in spec.defs.items():
        if entry["type"] == "enum":
            listed = ", ".join(f'"{n}"' if n else "NULL" for n in names(spec, enum))
            print(f"static const char * const {ident('names', enum)}[] = {{ {listed} }};")
    for name in spec.sets:
        print(f"static const struct spec_set {ident('set', name)};")
    for name in spec.sets:
        attrs = spec.attrs(name)
        print(f"static const struct spec_attr {ident('attrs', name)}[] = {{")
        print("\n".join(attribute(spec, number, attr) for number, attr in attrs.items()))
        print("};")
        print(f"static const struct spec_set {ident('set', name)} = "
              f'{{ .name = "{name}", .attrs = {ident("attrs", name)}, .n = {len(attrs)} }};')
    print("const struct spec_op spec_ops[] = {")
    for number, (name, op) in enumerate(spec.ops.items(), 1):
        print(operation(spec, number, name, op))
    print("};")
    print(f"const unsigned int spec_n_ops = {len(spec.ops)};")
    print("const struct spec_set * const spec_top = &set_top;")


main()
