#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""lab.py, and where the guest's kernel has put the functions of its modules.

  flame_lab.py PLAN     runs PLAN as lab.py does, then writes $INC_VM_OUT/modules.sym: a line
                        "ADDRESS NAME MODULE" for each function of a module, address in hexadecimal
"""
import os

import lab


def main():
    lab.main()
    with open("/proc/kallsyms", encoding="ascii") as symbols, open(
            f"{os.environ['INC_VM_OUT']}/modules.sym", "w", encoding="ascii") as out:
        for line in symbols:
            address, kind, name, *module = line.split()
            if module and kind in "tT":
                out.write(f"{address} {name} {module[0].strip('[]')}\n")


if __name__ == "__main__":
    main()
