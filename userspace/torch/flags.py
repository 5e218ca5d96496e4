#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""
How to compile and link for the PyTorch of the interpreter that runs this.

    flags.py compile | link | version
"""
import os
import sys
import sysconfig


def import_torch():
    try:
        import torch
    except ImportError:
        sys.exit(f"{sys.executable} has no torch (Debian: python3-torch libtorch-dev pybind11-dev; pip install torch)")
    return torch


def standard(torch):
    """Since 2.12 the headers are C++20, before they are C++17."""
    major, minor = (int(number) for number in torch.__version__.split(".")[:2])
    return "c++20" if (major, minor) >= (2, 12) else "c++17"


def pybind_flags(torch):
    """Modules of Python share types where pybind11 was compiled with the same of these."""
    names = ("COMPILER_TYPE", "STDLIB", "BUILD_ABI")
    values = {name: getattr(torch._C, f"_PYBIND11_{name}", None) for name in names}
    return [f"'-DPYBIND11_{name}=\"{value}\"'" for name, value in values.items() if value]


def compile_flags(torch, top):
    """Headers of Debian's libtorch-dev are where the compiler looks, those of a wheel are in it."""
    include = os.path.join(top, "include")
    places = [include, os.path.join(include, "torch/csrc/api/include"), "/usr/include/torch/csrc/api/include",
              sysconfig.get_paths()["include"]]
    headers = "torch/csrc/distributed/c10d/Types.hpp"
    if not any(os.path.exists(os.path.join(place, headers)) for place in (include, "/usr/include")):
        sys.exit(f"there is no {headers} (Debian: libtorch-dev)")
    flags = [f"-isystem {place}" for place in places if os.path.isdir(place)]
    abi = int(torch.compiled_with_cxx11_abi())
    return [f"-std={standard(torch)}", *flags, f"-D_GLIBCXX_USE_CXX11_ABI={abi}", *pybind_flags(torch)]


def main():
    torch = import_torch()
    top = os.path.dirname(torch.__file__)
    if sys.argv[1:] == ["compile"]:
        flags = compile_flags(torch, top)
    elif sys.argv[1:] == ["link"]:
        flags = [f"-L{os.path.join(top, 'lib')}", "-ltorch_python", "-ltorch_cpu", "-lc10"]
    elif sys.argv[1:] == ["version"]:
        flags = [torch.__version__, top, sys.version]
    else:
        sys.exit(__doc__)
    print(*flags)


main()
