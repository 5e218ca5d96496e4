#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""
How to compile and link for the PyTorch of the interpreter that runs this.

    flags.py compile | link
"""
import os
import sys
import sysconfig


def place_and_abi():
    try:
        import torch
    except ImportError:
        sys.exit(f"{sys.executable} has no torch (Debian: python3-torch libtorch-dev pybind11-dev)")
    return os.path.dirname(torch.__file__), int(torch._C._GLIBCXX_USE_CXX11_ABI)


def compile_flags(top, abi):
    """Headers of Debian's libtorch-dev are where the compiler looks, those of a wheel are in it."""
    include = os.path.join(top, "include")
    places = [include, os.path.join(include, "torch/csrc/api/include"), "/usr/include/torch/csrc/api/include",
              sysconfig.get_paths()["include"]]
    headers = "torch/csrc/distributed/c10d/Types.hpp"
    if not any(os.path.exists(os.path.join(place, headers)) for place in (include, "/usr/include")):
        sys.exit(f"there is no {headers} (Debian: libtorch-dev)")
    flags = [f"-isystem {place}" for place in places if os.path.isdir(place)]
    return flags + [f"-D_GLIBCXX_USE_CXX11_ABI={abi}"]


def main():
    top, abi = place_and_abi()
    if sys.argv[1:] == ["compile"]:
        flags = compile_flags(top, abi)
    elif sys.argv[1:] == ["link"]:
        flags = [f"-L{os.path.join(top, 'lib')}", "-ltorch_python", "-ltorch_cpu", "-lc10"]
    else:
        sys.exit(__doc__)
    print(*flags)


main()
