#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
Reads back what print.c wrote: valid JSON with the same values, and text without control characters.
"""
import json
import sys

U = "\ufffd"
WANT = {
    "strings": [{"s": s} for s in (
        "plain", "", '"quoted" \\ back', "tab\t newline\n bell\a escape\x1b[31m", "%s %n %d",
        "\u00e4 \u20ac \U0001f333", U + U + " lone " + U, "cut " + U + U, U + U + " overlong",
                                   U * 3,
        "\x9bJ \xa0")],
    "empty": [], "big": 2**64 - 1, "ms": 1500, "short_ms": 250, "us": 85, "bytes": 64 << 20,
        "odd_bytes": 1408,
    "hex": 0xbeef, "json_only": 7, "yes": True, "no": False,
}
LINES = ['<plain>', '<>', '<"quoted" \\ back>', '<tab? newline? bell? escape?[31m>', '<%s %n %d>',
         '<\u00e4 \u20ac \U0001f333>', '<?? lone ?>', '<cut ??>', '<?? overlong>', '<???>',
         '<?J \xa0>']
TAIL = [str(2**64 - 1), '1.5s', '250ms', '85us', '64MiB', '1408B', '0000beef', 'text only', 'YES',
        '100%', '']


def main():
    where = sys.argv[1]
    for name in "json", "pretty":
        with open(f"{where}/{name}", encoding="utf-8") as file:
            text = file.read()
        if json.loads(text) != WANT:
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
    return 0


sys.exit(main())
