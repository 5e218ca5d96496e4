# SPDX-License-Identifier: GPL-2.0-only
"""Structs, enums and version of the Python package against the headers and libinc; launchers."""
import ctypes as c
import errno
import os
import sys

import inc
from inc import _abi
from python_expect import expect, raises, test

STRUCTS = {"inc_join_opts": _abi.JoinOpts, "inc_launch": _abi.Launch, "inc_args": _abi.Args,
           "inc_request": _abi.RequestStruct, "inc_submit": _abi.Submit,
           "inc_error_info": _abi.ErrorInfo,
           "inc_info": _abi.InfoStruct, "inc_split_offer": _abi.SplitOffer}
VALUES = {"INC_MAX_RANKS": _abi.MAX_RANKS, "INC_MAX_COUNT": _abi.MAX_COUNT,
          "INC_MAX_STRIPES": _abi.MAX_STRIPES, "INC_MX_VALUES": _abi.MX_VALUES,
          "INC_KEY_LEN": _abi.KEY_LEN, "INC_MODE_SATURATE": _abi.MODE_SATURATE,
          "INC_MODE_COUNTS": _abi.MODE_COUNTS, "INC_REGISTER_WRITE": _abi.REGISTER_WRITE,
          "INC_ERR_MISMATCH": _abi.ERR_MISMATCH, "INC_ERR_COUNTS": _abi.ERR_COUNTS,
          "INC_NO_COLOUR": _abi.NO_COLOUR,
          **{"INC_VERSION_" + part: int(number) for part, number in
             zip(("MAJOR", "MINOR", "PATCH"), inc.__version__.split("."))},
          **{"INC_STATE_" + entry.name: int(entry) for entry in inc.State}}


@test
def structs_and_enums_are_those_of_the_headers():
    lines = [line.split() for line in open(sys.argv[1], encoding="utf-8")]
    fields, types, ops, colls, seen = {}, {}, {}, {}, set()
    for words in lines:
        if words[0] == "type":
            types[words[1]] = (int(words[2]), int(words[3]))
        elif words[0] in ("op", "coll"):
            (ops if words[0] == "op" else colls)[words[1].replace("-", "_")] = int(words[2])
        elif "." in words[0]:
            struct, field = words[0].split(".")
            expect(words[0], getattr(STRUCTS[struct], field).offset, int(words[1]))
            fields.setdefault(struct, []).append(field)
        elif words[0] in STRUCTS:
            expect(f"sizeof {words[0]}", c.sizeof(STRUCTS[words[0]]), int(words[1]))
            seen.add(words[0])
        elif words[0] in VALUES:
            expect(words[0], VALUES[words[0]], int(words[1]))
            seen.add(words[0])
    expect("structs and numbers", seen, set(STRUCTS) | set(VALUES))
    for struct, kind in STRUCTS.items():
        expect(f"fields of {struct}", [name for name, _ in kind._fields_], fields[struct])
    expect("types",
           {entry.name.lower(): (int(entry), _abi.TYPE_SIZE[entry]) for entry in inc.Type}, types)
    expect("ops", {entry.name.lower(): int(entry) for entry in inc.Op}, ops)
    del colls["leave"]
    expect("colls", {entry.name.lower(): int(entry) for entry in inc.Coll}, colls)


@test
def the_version_is_that_of_libinc():
    expect("version", inc.__version__, _abi.lib.inc_version().decode())


@test
def launcher_resolution():
    names = [name
             for name in os.environ
             if name.startswith(("INC_", "OMPI_", "PMI", "SLURM_", "MASTER_"))]
    for name in names + ["RANK", "WORLD_SIZE", "LOCAL_RANK"]:
        if name != "INC_LIBRARY":
            os.environ.pop(name, None)
    error = raises(inc.Error, "no launcher has set them: INC_RANK, RANK", inc.launcher)
    expect("errno", error.errno, errno.ENOENT)
    os.environ.update(RANK="1", WORLD_SIZE="4", MASTER_ADDR="10.0.0.1", MASTER_PORT="29500",
                      LOCAL_RANK="0")
    expect("torchrun", inc.launcher(),
           inc.Launched("torchrun", 0x19a6bf7357ce40a6, 0, 1, 4, 0, None, True))
    del os.environ["WORLD_SIZE"]
    error = raises(inc.Error, "^RANK is set, WORLD_SIZE is not", inc.launcher)
    expect("errno", error.errno, errno.EINVAL)
    raises(inc.Error, "^RANK is set, WORLD_SIZE is not", inc.Group, 5)
    for name in ("RANK", "MASTER_ADDR", "MASTER_PORT", "LOCAL_RANK"):
        del os.environ[name]
