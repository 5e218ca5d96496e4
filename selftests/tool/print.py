#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
Reads back what print.c wrote: valid JSON with the same values, and text without control characters,
and entries in each style of text.
"""
import json
import re
import sys

U = "\ufffd"
WANT = {
    "strings": [{"s": s} for s in (
        "plain", "", '"quoted" \\ back', "tab\t newline\n bell\a escape\x1b[31m", "%s %n %d",
        "\u00e4 \u20ac \U0001f333", U + U + " lone " + U, "cut " + U + U, U + U + " overlong",
                                   U * 3,
        "\x9bJ \xa0",
        "\u061c\u061d \u200d\u200e\u200f\u2010", "\u2027\u2028\u202e\u202f", "\u2065\u2066\u2069\u206a")],
    "empty": [], "big": 2**64 - 1, "ms": 1500, "short_ms": 250, "us": 85, "bytes": 64 << 20,
        "odd_bytes": 1408,
    "hex": 0xbeef, "json_only": 7, "yes": True, "no": False,
}
LINES = ['<plain>', '<>', '<"quoted" \\ back>', '<tab? newline? bell? escape?[31m>', '<%s %n %d>',
         '<\u00e4 \u20ac \U0001f333>', '<?? lone ?>', '<cut ??>', '<?? overlong>', '<???>',
         '<?J \xa0>', '<?\u061d \u200d??\u2010>', '<\u2027??\u202f>', '<\u2065??\u206a>']
TAIL = [str(2**64 - 1), '1.5s', '250ms', '85us', '64MiB', '1408B', '0000beef', 'text only', 'YES',
        '100%', '']

# Two entries, as each style has them.
STYLES = {
    "plain": "dev br0 ready parent 10.0.0.1\n    waiting for rank 3 LATE\n"
             "dev br0 failed parent fe80::1\n    waiting for rank 3 LATE\n",
    "oneline": "dev br0 ready parent 10.0.0.1\\    waiting for rank 3 LATE\n"
               "dev br0 failed parent fe80::1\\    waiting for rank 3 LATE\n",
    "brief": "dev br0 ready\ndev br0 failed\n",
    "details": "dev br0 ifindex 7 ready fallback none?[31m parent 10.0.0.1\n"
               "    waiting for rank 3 LATE\n"
               "dev br0 ifindex 7 failed fallback none?[31m parent fe80::1\n"
               "    waiting for rank 3 LATE\n",
    "color": "dev C36br0C0 C32readyC0 parent C3510.0.0.1C0\n    waiting for rank C313C0C31 LATEC0\n"
             "dev C36br0C0 C31failedC0 parent C34fe80::1C0\n    waiting for rank C313C0C31 LATEC0\n",
    "all": "dev br0 ready\ndev br0 failed\n",
}
ENTRY = {"ifindex": 7, "dev": "br0", "state": "ready", "fallback": "none\x1b[31m",
         "parent": {"addr": "10.0.0.1", "port": 5227}, "waiting": 3, "late": True}


def styles(where):
    for name, want in STYLES.items():
        with open(f"{where}/{name}", encoding="utf-8") as file:
            text = re.sub("\x1b\\[([0-9]+)m", r"C\1", file.read())
        if text != want:
            print(f"# {name}: {text!r}")
            return False
    with open(f"{where}/all.json", encoding="utf-8") as file:
        return json.load(file)[0] == ENTRY


def main():
    where = sys.argv[1]
    for name in "json", "pretty":
        with open(f"{where}/{name}", encoding="utf-8") as file:
            text = file.read()
        if json.loads(text) != WANT or re.search("[\u200e\u202e\u2066]", text):
            print(f"# {name}: {text}")
            return 1
        if (text.count("\n") == 1) != (name == "json"):
            print(f"# {name}: {text.count(chr(10))} lines")
            return 1
    with open(f"{where}/text", encoding="utf-8") as file:
        lines = file.read().split("\n")
    if lines[:len(LINES)] != LINES or lines[-len(TAIL):] != TAIL:
        print(f"# text: {lines}")
        return 1
    return 0 if styles(where) else 1


sys.exit(main())
