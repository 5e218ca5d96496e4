#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
The Python package `inc` without the module: its structs against the headers, what it makes of
arguments, and what it does with requests, signals, threads and asyncio, over a libinc made here.

    python_inc.py ABI       ABI: what python_abi.c prints, as a file

Prints "ok - NAME" or "not ok - NAME" for every test, and "end". The package and libinc are on the
usual paths. The tests are in the other python_*.py beside this file.
"""
import importlib
import traceback

from inc import _abi
from python_expect import TESTS

for part in ("headers", "arguments", "memory", "requests", "asyncio"):
    importlib.import_module("python_" + part)


def main():
    real = _abi.lib
    for run in TESTS:
        name = run.__name__.replace("_", " ")
        _abi.lib = real
        try:
            run()
            print(f"ok - {name}", flush=True)
        except BaseException:
            for line in traceback.format_exc().splitlines():
                print(f"# {line}")
            print(f"not ok - {name}", flush=True)
    print("end")


if __name__ == "__main__":
    main()
