# SPDX-License-Identifier: LGPL-2.1-or-later
"""
inc: collectives of a group of ranks, done by the network on the way: libinc for Python.

    import inc
    import numpy as np

    with inc.Group() as group:                  # rank and size as torchrun, mpirun, srun or INC_RANK, INC_SIZE say
        x = np.full(1000, group.rank, np.float32)
        group.allreduce(x)                      # the sum of all ranks, in place
        request = group.iallreduce(x, wire="bf16")
        request.wait()                          # or, in a coroutine: await request

Group has the collectives, Request an operation under way, Error what goes wrong. Needs libinc.so.0 and the kernel
module; see Documentation/howto-python.rst.
"""
from ._abi import Coll, Op, State, Type
from ._blocks import mx_bytes, mx_pack, mx_unpack
from ._calls import Buffer, Counts, OpLike, TypeLike
from ._errors import Error, Partial, Timeout
from ._group import Group, Info
from ._memory import Memory
from ._queries import Launched, launcher, why
from ._request import Request
from ._waits import wait_all, wait_any

__version__ = "0.1.0"
__all__ = ["Buffer", "Coll", "Counts", "Error", "Group", "Info", "Launched", "Memory", "Op", "OpLike", "Partial", "Request",
           "State", "Timeout", "Type", "TypeLike", "launcher", "mx_bytes", "mx_pack", "mx_unpack",
           "wait_all", "wait_any", "why"]
