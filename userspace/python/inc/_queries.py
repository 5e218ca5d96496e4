# SPDX-License-Identifier: LGPL-2.1-or-later
"""What can be asked without a group: the launcher, and what the network would do."""
import ctypes as c
import dataclasses
from typing import Optional, Tuple, Union

from . import _abi, _calls
from ._abi import NO_RANK, Coll, Launch, Op, Type
from ._calls import OpLike, TypeLike, whole
from ._errors import Error, text_of


@dataclasses.dataclass(frozen=True)
class Launched:
    """Which rank of how many this process is, as its launcher says: see launcher()."""

    launcher: str
    job: int  #: groups of different jobs never meet
    group: int
    rank: int
    size: int
    local_rank: Optional[int]  #: None: not told
    local_size: Optional[int]  #: None: not told
    derived: bool  #: job was derived from what the launcher has set


def launcher() -> Launched:
    """
    Which rank of how many is this process? What INC_*, torchrun, Open MPI, PMI or Slurm have set in the environment, in
    this order: inc_launcher() in inc.h has the table. Raises Error: ENOENT if none of them has started it, EINVAL if a
    variable is missing or wrong.
    """
    got = Launch()
    ret = _abi.lib.inc_launcher(c.byref(got))
    if ret:
        raise Error(-ret, text_of(None))
    return Launched(got.launcher.decode(), got.job, got.group, got.rank, got.size,
                    None if got.local_rank == NO_RANK else got.local_rank, got.local_size or None, bool(got.derived))


def why(coll: Union[Coll, str], type: Optional[TypeLike] = None, op: Optional[OpLike] = None,
        count: int = 1) -> Tuple[bool, str]:
    """
    Would this operation be done in the network, and why, or why not? Asks the default parent, by joining a group of one
    there; takes up to 3 s if that does not answer. The sum of f32, unless it is said.
    """
    return why_of(None, coll, type, op, count)


def why_of(handle: Optional[c.c_void_p], coll: Union[Coll, str], type: Optional[TypeLike], op: Optional[OpLike],
           count: int) -> Tuple[bool, str]:
    """The same, asked of a group's node."""
    name = coll.upper().replace("-", "_") if isinstance(coll, str) else None
    if name is not None and name not in Coll.__members__:
        raise ValueError(f'coll "{coll}": expected one of {", ".join(entry.name.lower() for entry in Coll)}')
    kind = Coll[name] if name is not None else Coll(int(coll))
    text = c.create_string_buffer(512)
    ret = _abi.lib.inc_why(handle, kind, Type.F32 if type is None else _calls._member("type", Type, type),
                       Op.SUM if op is None else _calls._member("op", Op, op), whole("count", count, 0, _abi.MAX_COUNT),
                       text, len(text))
    return ret == 0, text.value.decode(errors="replace")
