# SPDX-License-Identifier: LGPL-2.1-or-later
"""Groups."""
import ctypes as c
import dataclasses
import errno as _errno
import os
import time
import types
import warnings
from typing import NoReturn, Optional, Set, SupportsIndex, Tuple, Type as ClassType, Union

from . import _abi
from ._abi import NO_RANK, Coll, State
from ._calls import Buffer, OpLike, TypeLike, whole
from ._collectives import Collectives
from ._errors import Error, text_of
from ._membership import Use
from ._memory import Memory
from ._operations import Operations
from ._queries import why_of
from ._request import Limit

_MAX_I32 = 0x7FFFFFFF

_forks = 0


def _forked() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_parent=_forked, after_in_child=_forked)


@dataclasses.dataclass(frozen=True)
class Info:
    """struct inc_info: what the kernel knows of this rank."""

    group: int
    rank: int
    size: int
    state: State
    epoch: int
    window: int  #: blocks
    block: int  #: bytes of payload of a full block
    missing: Optional[int]  #: the lowest rank that is waited for
    srtt_us: int  #: round trip, microseconds
    submitted: int  #: operations
    completed: int
    blocks_sent: int
    blocks_resent: int
    moves: int


class Group(Operations, Collectives):
    """
    One rank's membership of one group.

    The constructor joins, and returns when all ranks are there::

        with inc.Group() as group:                      # rank and size: from torchrun, mpirun, srun, INC_RANK, ...
            group.allreduce(gradient, op="avg")         # in place
            group.broadcast(weights, root=0)

    At the end of "with" the group is left; if an exception ends it, the group is aborted, so that the other ranks see
    an error (ECONNRESET) instead of waiting.

    group, rank, size, job: as struct inc_join_opts has them. Without rank and size launcher() tells them, and group and
    job, too, unless they are given and not 0. parent: the node, "ADDR" or "ADDR:PORT", or without one the host of
    rank 0, "edge:ADDR"; else that of INC_PARENT or of the network namespace. key: 16 bytes, or 32 hexadecimal digits.
    order: "canonical": sums of floats have the same bits wherever the ranks are; "auto": where that costs nothing; else
    that of INC_ORDER.
    stripes: 1 to 8, else INC_STRIPES or 1: the group has so many trees of nodes, and parent may name a node for each.
    timeout: seconds until the last rank has to be there, None: no limit.

    Collectives take buffers: NumPy arrays, bytearray, array.array, memoryview, whatever has the buffer protocol, C
    contiguous, and writable where a result goes to. All have the same type of elements, which is that of the buffer, or
    `type` where Python has none: group.allreduce(x, type="bf16") of unsigned 16-bit integers or bytes. `wire` is the
    type that they travel as ("bf16", "f8e4m3", ... for f32). TypeError and ValueError are raised before anything is
    sent, and the group is as before.

    Signals: a call that waits raises KeyboardInterrupt within 0.1 s. A collective that is interrupted cannot be taken
    back, nor can anybody wait for it any more: the group is aborted then (`closed` is true, other ranks see
    ECONNRESET). Request.wait() leaves group and operation as they are.

    Threads: every method may be called by any thread. Operations count in the order in which they start.

    fork(): both processes hold the membership; use it in one of them. abort() in the process that has joined ends it
    for both, in the other one nothing but its copy. Buffers of operations that were under way when a group was aborted
    after a fork are never freed, because the other process keeps the operation alive.
    """

    def __init__(self, group: Optional[int] = None, rank: Optional[int] = None, size: Optional[int] = None, *,
                 job: Optional[int] = None, parent: Optional[str] = None, key: Union[bytes, str, None] = None,
                 order: Optional[str] = None, stripes: Optional[int] = None, timeout: Optional[float] = 60.0) -> None:
        self._handle: Optional[c.c_void_p] = None
        limit = Limit(timeout)
        self._begin(group, rank, size, job, parent, key, order, stripes)
        self._wait_joined(limit)

    @classmethod
    async def join(cls, group: Optional[int] = None, rank: Optional[int] = None, size: Optional[int] = None, *,
                   job: Optional[int] = None, parent: Optional[str] = None, key: Union[bytes, str, None] = None,
                   order: Optional[str] = None, stripes: Optional[int] = None, timeout: Optional[float] = 60.0) -> "Group":
        """The constructor for asyncio: the loop goes on while ranks are missing."""
        import asyncio

        self = cls.__new__(cls)
        self._handle = None
        limit = Limit(timeout)
        self._begin(group, rank, size, job, parent, key, order, stripes)
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        fd = self.fileno()
        loop.add_writer(fd, ready.set)
        loop.add_reader(fd, ready.set)  # of a striped group
        try:
            while True:
                try:
                    left = None if limit.end is None else max(0.0, limit.end - time.monotonic())
                    await asyncio.wait_for(ready.wait(), left)
                except asyncio.TimeoutError:
                    # the text of a limit that has passed: who is missing
                    ret = self._join_poll(1)
                else:
                    ready.clear()
                    ret = self._join_poll(0)
                if ret == 0:
                    break
                if ret != -_errno.EAGAIN:
                    raise self._failure(ret)
        except BaseException:
            loop.remove_writer(fd)
            loop.remove_reader(fd)
            self.abort()
            raise
        loop.remove_writer(fd)
        loop.remove_reader(fd)
        self._joined()
        return self

    def _open(self, handle: c.c_void_p) -> None:
        self._forks = _forks
        self._memory: Set[Memory] = set()
        super()._open(handle)

    def _closed(self, keep: bool = False) -> None:
        super()._closed(keep)
        # what was registered has ended with the group
        for memory in list(self._memory) if self._handle is None else ():
            memory._end()

    # ---- The end -----------------------------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        """Whether it was left or aborted."""
        return self._handle is None

    def leave(self) -> None:
        """
        Waits for all that is under way, leaves, and raises the first error that nobody has been told. May be called
        again. Other ranks that go on get ECONNRESET.
        """
        if self._handle is None:
            return
        if self._inside():
            raise Error(_errno.EBUSY, "leave() in a signal handler that has interrupted another call of the group: "
                        "expected abort()")
        for operation in list(self._pending):
            self._wait(operation, Limit(None))
        handle = self._take()
        if handle is None:
            return
        try:
            self._unwatch_all()
            ret = _abi.lib.inc_leave(handle)
            if ret:
                error = Error(-ret, text_of(handle))
                self._handle = handle
                raise error
        finally:
            self._closed()
        for operation in self._failed:
            if operation.error is not None and not operation.told:
                raise operation.error

    def cancel(self) -> None:
        """
        Ends the group for all ranks, from any thread: what is under way or starts later raises Error (ECONNRESET) at each
        of them. The group stays to be left, or to shrink. See inc_cancel().
        """
        with Use(self) as handle:
            ret = _abi.lib.inc_cancel(handle)
        if ret:
            raise Error(-ret, f"group {self._group} rank {self._rank}: cancel: {os.strerror(-ret)}")

    def abort(self) -> None:
        """
        Ends the membership at once. Operations that are under way fail at all ranks; here their requests raise
        ECANCELED. Buffers are their owners' again when this returns; where a signal handler has called it, when the
        call that it has interrupted does. May be called again.
        """
        if self._handle is not None and self._inside():
            self._doomed = True
            return
        handle = self._take()
        if handle is None:
            return
        try:
            self._unwatch_all()
            _abi.lib.inc_abort(handle)
        finally:
            self._closed(self._forks != _forks)

    def shrink(self, timeout: Optional[float] = 60.0) -> None:
        """
        After a failure of the group (ECONNRESET): goes on without the ranks that are gone. All ranks that are left call
        it; rank and size are new then. Requests have ended. Timeout: ranks are missing, call again. See inc_shrink() in
        inc.h for what else is raised. No other thread may use the group meanwhile.
        """
        limit = Limit(timeout)
        self._collect()
        with Use(self) as handle:
            while True:
                ret = _abi.lib.inc_shrink(handle, max(1, limit.slice()))
                if ret == 0:
                    break
                if ret != -_errno.ETIMEDOUT or limit.over():
                    raise self._failure(ret)
            self._numbers(handle)
        for operation in list(self._pending):
            self._pending.discard(operation)
            operation.end(Error(_errno.ECANCELED, f"{operation.call.name}: its group has failed and shrunk"))

    # ---- Memory ------------------------------------------------------------------------------------------------------

    def register(self, buffer: Buffer, writable: Optional[bool] = None) -> Memory:
        """
        Memory that is used again and again, all of @buffer: its pages are pinned now, and not for every operation whose
        buffers lie in it. writable: results go there, too; what the buffer is, if it is not given. Raises Error: EDQUOT,
        ENOBUFS and ENOMEM where more than half of what may be pinned would be (`inc limits`, ulimit -l), EFAULT. See
        inc_register() in inc.h. In a child of fork() nothing of it is registered. ::

            with group.register(gradients):
                for step in range(1000):
                    group.allreduce(gradients)
        """
        return Memory(self, buffer, writable)

    # ---- Groups made of it -------------------------------------------------------------------------------------------

    def split(self, colour: Optional[int], key: int = 0, *, timeout: Optional[float] = 60.0) -> Optional["Group"]:
        """
        As MPI_Comm_split(): all ranks call it, as the next operation of the group; those of one colour (0 .. 2^31 - 1)
        are a new group, numbered by their keys, and by their ranks here where keys are equal. Colour None: this rank is
        in none, and None is returned. The new group meets where this one is, and is left by itself. timeout: seconds
        for the others to join it; None: no limit. See inc_split() in inc.h.
        """
        limit = Limit(timeout)
        own, offers = _abi.SplitOffer(), (_abi.SplitOffer * self._size)()
        number = _abi.NO_COLOUR if colour is None else whole("colour", colour, 0, _MAX_I32)
        order = whole("key", key, -_MAX_I32 - 1, _MAX_I32)
        self._ask(lambda this: _abi.lib.inc_split_offer(this, number, order, c.byref(own)))
        self.allgather(memoryview(own).cast("B"), memoryview(offers).cast("B"))
        handle = c.c_void_p()
        self._ask(lambda this: _abi.lib.inc_split_start(c.byref(handle), this, offers))
        if not handle:
            return None
        new = type(self).__new__(type(self))
        new._open(handle)
        new._numbers(handle)
        new._wait_joined(limit)
        return new

    def dup(self, *, timeout: Optional[float] = 60.0) -> "Group":
        """A new group of the same ranks in the same order: split() with one colour and key."""
        new = self.split(0, timeout=timeout)
        assert new is not None
        return new

    def __enter__(self) -> "Group":
        return self

    def __exit__(self, kind: Optional[ClassType[BaseException]], value: Optional[BaseException],
                 traceback: Optional[types.TracebackType]) -> None:
        if kind is None:
            try:
                self.leave()
            except BaseException:
                self.abort()
                raise
        else:
            self.abort()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            try:
                warnings.warn(f"{self!r} was neither left nor aborted: it is aborted", ResourceWarning, source=self)
            finally:
                self.abort()

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """A second object would end the membership of the first one, or use it when it has ended."""
        raise TypeError("a group cannot be copied or pickled: expected dup(), or one that the other process joins")

    # ---- What it is --------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return (f"<inc.Group {self._group} rank {self._rank} of {self._size}{', closed' if self.closed else ''}>")

    @property
    def rank(self) -> int:
        return self._rank

    @property
    def size(self) -> int:
        return self._size

    @property
    def group(self) -> int:
        """Its number."""
        return self._group

    def info(self) -> Info:
        """What the kernel knows of this rank."""
        got = _abi.InfoStruct()
        self._ask(lambda handle: _abi.lib.inc_info(handle, c.byref(got)))
        return Info(got.group, got.rank, got.size, State(got.state), got.epoch, got.window, got.block,
                    None if got.missing == NO_RANK else got.missing, got.srtt_us, got.submitted, got.completed,
                    got.blocks_sent, got.blocks_resent, got.moves)

    def why(self, coll: Union[Coll, str], type: Optional[TypeLike] = None, op: Optional[OpLike] = None,
            count: int = 1) -> Tuple[bool, str]:
        """Would this operation be done in the network, and why, or why not? The sum of f32, unless it is said."""
        with Use(self) as handle:
            return why_of(handle, coll, type, op, count)
