#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
The layout of all structs of uapi/, as a C program that prints it: built for several processors it
has to print the same.

    layout.py HEADER... > layout.c
"""
import os
import re
import sys


def without_comments(text):
    """C text without comments and lines of the preprocessor."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    return re.sub(r"^#(?:.*\\\n)*.*$", "", text, flags=re.M)


def closing(text, at):
    """Where the brace that opens at @at ends."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return i
    raise SystemExit("layout.py: a brace is never closed")


def declarators(text):
    """Names in "a, b[2], c[]": those of arrays without their size are not in sizeof."""
    return [re.match(r"\s*(\w+)", one).group(1) for one in text.split(",") if one.strip()]


def members(body, prefix=""):
    """Paths of all members of a struct's body, also of structs inside."""
    found, at = [], 0
    while True:
        inner = re.compile(r"\s*(?:struct|union)\s*\{").match(body, at)
        plain = re.compile(r"\s*(?:(?:struct|enum)\s+)?\w+\s+([^;{]+);").match(body, at)
        if inner:
            end = closing(body, inner.end() - 1)
            name = re.compile(r"\s*([^;]*);").match(body, end + 1)
            for one in declarators(name.group(1)) or [""]:
                array = "[0]" if "[" in name.group(1) else ""
                path = f"{prefix}{one}{array}." if one else prefix
                found += members(body[inner.end():end], path)
            at = name.end()
        elif plain:
            found += [prefix + one for one in declarators(plain.group(1))]
            at = plain.end()
        elif body[at:].strip():
            raise SystemExit(f"layout.py: what is '{body[at:].strip()[:60]}'?")
        else:
            return found


def lines_of(text):
    """What a header's structs and ioctls are printed by."""
    lines = [f'\tprintf("{number} %x\\n", (unsigned int){number});'
             for number in re.findall(r"^#define (INC_IOC_\w+)", text, re.M)]
    text = without_comments(text)
    for struct in re.finditer(r"^struct (\w+) \{", text, re.M):
        name, begin = struct.group(1), struct.end() - 1
        lines.append(f'\tprintf("{name} %zu\\n", sizeof(struct {name}));')
        for member in members(text[begin + 1:closing(text, begin)]):
            lines.append(f'\tprintf("{name}.{member} %zu\\n", '
                         f"offsetof(struct {name}, {member}));")
    return lines


def main():
    """Prints the program; headers without structs are lists for others."""
    print("#include <stddef.h>\n#include <stdio.h>\n#include <sys/socket.h>")
    lines = []
    for header in sys.argv[1:]:
        with open(header, encoding="utf-8") as file:
            found = lines_of(file.read())
        if found:
            print(f"#include <linux/{os.path.basename(header)}>")
        lines += found
    print("\nint main(void)\n{")
    print("\n".join(lines))
    print("\treturn 0;\n}")


if __name__ == "__main__":
    main()
