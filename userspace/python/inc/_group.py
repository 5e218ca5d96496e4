# SPDX-License-Identifier: LGPL-2.1-or-later
"""Groups, requests, errors."""
import ctypes as c
import dataclasses
import errno as _errno
import os
import threading
import time
import types
import warnings
from typing import (TYPE_CHECKING, Any, Callable, Dict, FrozenSet, Generator, List, Optional, Set, Tuple,
                    Type as ClassType, Union)

from . import _abi, _calls
from ._abi import KEY_LEN, MAX_RANKS, NO_RANK, Coll, JoinOpts, Launch, Op, State, Type
from ._calls import Member, OpLike, TypeLike, whole
from ._collectives import Collectives

if TYPE_CHECKING:
    import asyncio  # which takes its time, and not everybody needs it

_lib = _abi.load()

#: Milliseconds that a wait spends in libinc at a time: KeyboardInterrupt is raised between two of them.
_SLICE_MS = 100
_MAX_U32 = 0xFFFFFFFF
_MAX_I32 = 0x7FFFFFFF
#: Errors that are about ranks, which struct inc_info then names.
_ABOUT_RANKS = (_errno.ETIMEDOUT, _errno.ECONNRESET, _errno.EPROTO, _errno.EMSGSIZE, _errno.ETIME, _errno.ECANCELED)

# What operations of aborted groups may still write to, where a fork has left the socket open in another process.
_leaked: List[_calls.Call] = []
_forks = 0


def _forked() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_parent=_forked, after_in_child=_forked)


class Error(OSError):
    """
    What libinc has refused, or what went wrong.

    errno has the number (of the module errno; inc.h says what each means), str() libinc's text, which names ranks and
    what they wanted. ranks: those that it is about, as far as libinc names them: dead, late, missing, or disagreeing.
    """

    def __init__(self, errno: int, text: str, ranks: Tuple[int, ...] = ()) -> None:
        super().__init__(errno, text)
        self.ranks = ranks

    def __str__(self) -> str:
        return str(self.strerror)


class Timeout(Error, TimeoutError):
    """It has not ended within the time that the caller gave. It goes on."""


class Partial(Error):
    """
    The operation has ended, and the result in the buffers lacks late ranks: those in ranks. Raised only where the node
    goes on without them (late-policy partial); errno is ETIME.
    """


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


def _text(handle: Optional[c.c_void_p]) -> str:
    return (_lib.inc_errmsg(handle) or b"").decode(errors="replace")


def _milliseconds(timeout: Optional[float]) -> Optional[int]:
    """Of a limit in seconds; None: none."""
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"timeout is {type(timeout).__name__}: expected seconds, or None for no limit")
    if not 0 <= timeout <= 1e9:
        raise ValueError(f"timeout is {timeout}: expected 0..1e9 seconds, or None for no limit")
    return round(timeout * 1000)


class _Limit:
    """A limit of waiting, spent in slices."""

    def __init__(self, timeout: Optional[float]) -> None:
        ms = _milliseconds(timeout)
        self.end = None if ms is None else time.monotonic() + ms / 1000

    def slice(self) -> int:
        if self.end is None:
            return _SLICE_MS
        return max(0, min(_SLICE_MS, round((self.end - time.monotonic()) * 1000)))

    def over(self) -> bool:
        return self.end is not None and time.monotonic() >= self.end


def launcher() -> Launched:
    """
    Which rank of how many is this process? What INC_*, torchrun, Open MPI, PMI or Slurm have set in the environment, in
    this order: inc_launcher() in inc.h has the table. Raises Error: ENOENT if none of them has started it, EINVAL if a
    variable is missing or wrong.
    """
    got = Launch()
    ret = _lib.inc_launcher(c.byref(got))
    if ret:
        raise Error(-ret, _text(None))
    return Launched(got.launcher.decode(), got.job, got.group, got.rank, got.size,
                    None if got.local_rank == NO_RANK else got.local_rank, got.local_size or None, bool(got.derived))


def why(coll: Union[Coll, str], type: Optional[TypeLike] = None, op: Optional[OpLike] = None,
        count: int = 1) -> Tuple[bool, str]:
    """
    Would this operation be done in the network, and why, or why not? Asks the default parent, by joining a group of one
    there; takes up to 3 s if that does not answer.
    """
    return _why(None, coll, type, op, count)


def _why(handle: Optional[c.c_void_p], coll: Union[Coll, str], type: Optional[TypeLike], op: Optional[OpLike],
         count: int) -> Tuple[bool, str]:
    name = coll.upper().replace("-", "_") if isinstance(coll, str) else None
    if name is not None and name not in Coll.__members__:
        raise ValueError(f'coll "{coll}": expected one of {", ".join(entry.name.lower() for entry in Coll)}')
    kind = Coll[name] if name is not None else Coll(int(coll))
    text = c.create_string_buffer(512)
    ret = _lib.inc_why(handle, kind, 0 if type is None else _calls._member("type", Type, type),
                       0 if op is None else _calls._member("op", Op, op), whole("count", count, 0, _abi.MAX_COUNT),
                       text, len(text))
    return ret == 0, text.value.decode(errors="replace")


def _wake(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


class _Operation:
    """One operation under way: what libinc writes to, and its result. It lives as long as its group needs it."""

    __slots__ = ("call", "req", "lock", "ended", "error", "told", "waiting")

    def __init__(self, call: _calls.Call) -> None:
        self.call = call
        self.req = _abi.RequestStruct()
        self.lock = threading.Lock()  # of calls with req
        self.ended = False
        self.error: Optional[Error] = None
        self.told = False  # somebody has been told the result
        self.waiting: List[Tuple["asyncio.AbstractEventLoop", "asyncio.Future[None]"]] = []

    def end(self, error: Optional[Error], keep: bool = False) -> None:
        self.error = error
        self.ended = True
        if keep:
            _leaked.append(self.call)
        else:
            self.call.release()
        for loop, future in list(self.waiting):
            try:
                loop.call_soon_threadsafe(_wake, future)
            except RuntimeError:  # the loop is closed, and nobody waits in it
                pass

    def result(self) -> None:
        self.told = True
        if self.error is not None:
            raise self.error.with_traceback(None)


class Request:
    """
    An operation under way. wait() for it, test() it, or await it; each raises what the blocking call would raise, as
    often as asked.

    Its buffers are locked (a bytearray cannot be resized) and alive until it has ended, also if the Request is dropped:
    then its group waits for it in leave(), which raises what nobody has been told.
    """

    __slots__ = ("_group", "_operation", "__weakref__")

    def __init__(self, group: "Group", operation: _Operation) -> None:
        self._group = group
        self._operation = operation

    def __repr__(self) -> str:
        return f"<inc.Request {self._operation.call.name} {'has ended' if self._operation.ended else 'is under way'}>"

    @property
    def done(self) -> bool:
        """Whether it has ended, well or not. Never waits or raises."""
        self._group._collect()
        return self._operation.ended

    def test(self) -> bool:
        """False: it goes on. True: it has ended well. Raises if it has not."""
        if not self.done:
            return False
        self._operation.result()
        return True

    def wait(self, timeout: Optional[float] = None) -> None:
        """
        Returns when it has ended. @timeout: seconds; Timeout is raised after that, and the operation goes on.
        KeyboardInterrupt, or what another signal handler raises, comes within 0.1 s; the operation goes on then, too.
        """
        self._group._wait(self._operation, _Limit(timeout))
        self._operation.result()

    def contributed(self) -> FrozenSet[int]:
        """The ranks whose contributions are in its result; it has ended with success, or with Partial."""
        return self._group._contributed(self._operation)

    def __await__(self) -> Generator[Any, None, None]:
        """
        In a running loop of asyncio. Whoever cancels the task stops waiting; the operation goes on.
        """
        return self._group._wait_async(self._operation).__await__()


class Group(Collectives):
    """
    One rank's membership of one group.

    The constructor joins, and returns when all ranks are there::

        with inc.Group() as group:                      # rank and size: from torchrun, mpirun, srun, INC_RANK, ...
            group.allreduce(gradient, op="avg")         # in place
            group.broadcast(weights, root=0)

    At the end of "with" the group is left; if an exception ends it, the group is aborted, so that the other ranks see
    an error (ECONNRESET) instead of waiting.

    group, rank, size, job: as struct inc_join_opts has them. Without rank and size launcher() tells them, and group and
    job, too, unless they are given. parent: the node, "ADDR" or "ADDR:PORT", or without one the host of rank 0,
    "edge:ADDR"; else that of INC_PARENT or of the network namespace. key: 16 bytes, or 32 hexadecimal digits. timeout:
    seconds until the last rank has to be there, None: no limit.

    Collectives take buffers: NumPy arrays, bytearray, array.array, memoryview, whatever has the buffer protocol, C
    contiguous, and writable where a result goes to. All have the same type of elements, which is that of the buffer, or
    `type` where Python has none: group.allreduce(x, type="bf16") of unsigned 16-bit integers or bytes. `wire` is the
    type that they travel as ("bf16", "f8e4m3", ... for f32). TypeError and ValueError are raised before anything is
    sent, and the group is as before.

    Signals: a call that waits raises KeyboardInterrupt within 0.1 s. A collective that is interrupted cannot be taken
    back, nor can anybody wait for it any more: the group is aborted then (`closed` is true, other ranks see
    ECONNRESET). Request.wait() leaves group and operation as they are.

    Threads: every method may be called by any thread. Operations count in the order in which they start.

    fork(): both processes hold the membership; use it in one of them. Buffers of operations that were under way when a
    group was aborted after a fork are never freed, because the other process keeps the operation alive.
    """

    def __init__(self, group: Optional[int] = None, rank: Optional[int] = None, size: Optional[int] = None, *,
                 job: Optional[int] = None, parent: Optional[str] = None, key: Union[bytes, str, None] = None,
                 timeout: Optional[float] = 60.0) -> None:
        self._handle: Optional[c.c_void_p] = None
        limit = _Limit(timeout)
        self._begin(group, rank, size, job, parent, key)
        self._wait_joined(limit)

    @classmethod
    async def join(cls, group: Optional[int] = None, rank: Optional[int] = None, size: Optional[int] = None, *,
                   job: Optional[int] = None, parent: Optional[str] = None, key: Union[bytes, str, None] = None,
                   timeout: Optional[float] = 60.0) -> "Group":
        """The constructor for asyncio: the loop goes on while ranks are missing."""
        import asyncio

        self = cls.__new__(cls)
        self._handle = None
        limit = _Limit(timeout)
        self._begin(group, rank, size, job, parent, key)
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        fd = self.fileno()
        loop.add_writer(fd, ready.set)
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
            self.abort()
            raise
        loop.remove_writer(fd)
        self._joined()
        return self

    # ---- Joining -----------------------------------------------------------------------------------------------------

    def _begin(self, group: Optional[int], rank: Optional[int], size: Optional[int], job: Optional[int],
               parent: Optional[str], key: Union[bytes, str, None]) -> None:
        """Starts the join; every argument is checked before."""
        opts = JoinOpts()
        if (rank is None) != (size is None):
            raise TypeError(f"{'rank' if size is None else 'size'} is given, {'size' if size is None else 'rank'} is "
                            "not: expected both, or none where a launcher tells them")
        if size is not None:
            opts.size = whole("size", size, 1, MAX_RANKS)
            opts.rank = whole("rank", rank, 0, opts.size - 1)
            opts.group = whole("group", 0 if group is None else group, 0, _MAX_U32)
        elif group is not None or job is not None:
            launched = launcher()
            opts.group = launched.group if group is None else whole("group", group, 0, _MAX_U32)
            opts.rank, opts.size, opts.job = launched.rank, launched.size, launched.job
        if job is not None:
            opts.job = whole("job", job, 0, (1 << 64) - 1)
        if parent is not None:
            if not isinstance(parent, str):
                raise TypeError(f'parent is {type(parent).__name__}: expected a string "ADDR" or "ADDR:PORT"')
            opts.parent = parent.encode()
        if key is not None:
            opts.key = _key(key)
        handle = c.c_void_p()
        self._rank, self._size, self._group = int(opts.rank), int(opts.size), int(opts.group)
        ret = _lib.inc_join_start(c.byref(handle), c.byref(opts))
        if ret:
            raise Error(-ret, _text(None))
        self._open(handle)

    def _open(self, handle: c.c_void_p) -> None:
        """A handle whose join is under way is this group's from now on."""
        self._cond = threading.Condition()
        self._users: List[int] = []
        self._doomed = False  # abort() in a signal handler
        self._closer: Optional[int] = None  # the thread that closes it
        self._pending: Set[_Operation] = set()
        self._failed: List[_Operation] = []  # of which leave() raises one, if nobody has been told
        self._readers: Dict["asyncio.AbstractEventLoop", int] = {}
        self._forks = _forks
        self._fd = int(_lib.inc_fd(handle))
        self._handle = handle

    def _wait_joined(self, limit: _Limit) -> None:
        try:
            while True:
                ret = self._join_poll(max(1, limit.slice()))
                if ret == 0:
                    break
                if ret not in (-_errno.ETIMEDOUT, -_errno.EAGAIN) or limit.over():
                    raise self._failure(ret)
        except BaseException:
            self.abort()
            raise
        self._joined()

    def _join_poll(self, ms: int) -> int:
        handle = self._enter()
        try:
            return int(_lib.inc_join_poll(handle, ms))
        finally:
            self._exit()

    def _joined(self) -> None:
        handle = self._enter()
        try:
            self._numbers(handle)
        finally:
            self._exit()

    def _numbers(self, handle: c.c_void_p) -> None:
        self._rank = _lib.inc_rank(handle)
        self._size = _lib.inc_size(handle)
        self._group = _lib.inc_group_id(handle)

    # ---- The handle, while nobody closes it --------------------------------------------------------------------------

    def _enter(self) -> c.c_void_p:
        """Who has entered may call libinc; abort() and leave() wait until all have left."""
        with self._cond:
            if self._handle is None:
                raise Error(_errno.ENOTCONN, f"group {self._group} rank {self._rank}: it was left or aborted")
            self._users.append(threading.get_ident())
            return self._handle

    def _exit(self) -> None:
        me = threading.get_ident()
        with self._cond:
            self._users.remove(me)
            self._cond.notify_all()
            doomed = self._doomed and me not in self._users
        if doomed:
            self.abort()

    def _take(self) -> Optional[c.c_void_p]:
        """
        The handle, for the last call with it, which _closed() follows. Not where this thread has entered. None: another
        one has it; it has closed the group when this returns.
        """
        me = threading.get_ident()
        with self._cond:
            handle, self._handle = self._handle, None
            if handle is not None:
                self._closer = me
                while self._users:
                    self._cond.wait(0.1)
            while handle is None and self._closer not in (None, me):
                self._cond.wait(0.1)
            return handle

    def _closed(self, keep: bool = False) -> None:
        """The group is closed: what is under way has ended. Or it is as before."""
        for operation in list(self._pending) if self._handle is None else ():
            operation.end(Error(_errno.ECANCELED, f"group {self._group} rank {self._rank}: {operation.call.name}: "
                                "this rank has left or aborted the group"), keep)
            self._pending.discard(operation)
        with self._cond:
            self._closer = None
            self._cond.notify_all()

    def _inside(self) -> bool:
        """Has this thread entered? Then this is a signal handler."""
        with self._cond:
            return threading.get_ident() in self._users

    def _ask(self, function: Callable[[c.c_void_p], Any]) -> None:
        """Calls it with the handle; raises what it returns."""
        handle = self._enter()
        try:
            ret = function(handle)
            if ret:
                raise Error(-ret, _text(handle))
        finally:
            self._exit()

    def _failure(self, ret: int) -> Error:
        """What a call of this thread has just returned."""
        handle = self._enter()
        try:
            text = _text(handle)
            ranks = self._ranks(handle, ret)
        finally:
            self._exit()
        return (Timeout if ret == -_errno.ETIMEDOUT else Error)(-ret, text, ranks)

    def _ranks(self, handle: c.c_void_p, ret: int) -> Tuple[int, ...]:
        info = _abi.InfoStruct()
        if -ret not in _ABOUT_RANKS or _lib.inc_info(handle, c.byref(info)):
            return ()
        error = info.error
        if ret == -_errno.ETIMEDOUT:
            named = [info.missing]
        else:
            named = list(error.rank)[:2 if error.code in (_abi.ERR_MISMATCH, _abi.ERR_COUNTS) else 1]
            if not error.code:
                named = []
        return tuple(rank for rank in named if rank != NO_RANK)

    # ---- Operations --------------------------------------------------------------------------------------------------

    def _me(self) -> Member:
        return Member(self._rank, self._size)

    def _submit(self, operation: _Operation) -> None:
        handle = self._enter()
        try:
            self._pending.add(operation)
            ret = _lib.inc_icollective(handle, c.byref(operation.call.args), c.byref(operation.req))
            if ret:
                self._pending.discard(operation)
                operation.call.release()
                raise Error(-ret, _text(handle), self._ranks(handle, ret))
        finally:
            self._exit()

    def _start(self, call: _calls.Call) -> Request:
        operation = _Operation(call)
        self._submit(operation)
        return Request(self, operation)

    def _run(self, call: _calls.Call) -> None:
        operation = _Operation(call)
        nested = threading.get_ident() in self._users
        try:
            self._submit(operation)
            self._wait(operation, _Limit(None))
        except BaseException:
            if operation.req.handle and not operation.ended:
                if not nested:
                    self._gone()
                self.abort()
            raise
        operation.result()

    def _gone(self) -> None:
        """This thread is in no call of libinc, even if a second signal has come before _exit() could say so."""
        me = threading.get_ident()
        with self._cond:
            self._users = [user for user in self._users if user != me]
            self._cond.notify_all()

    def _finish(self, handle: c.c_void_p, operation: _Operation, ret: int) -> None:
        """What inc_wait() or inc_test() has returned as the end."""
        error: Optional[Error] = None
        if ret > 0:
            error = Partial(_errno.ETIME, _text(handle), self._missing(handle, operation))
        elif ret < 0:
            error = Error(-ret, _text(handle), self._ranks(handle, ret))
        if error is not None:
            self._failed = [old for old in self._failed if not old.told] + [operation]
        self._pending.discard(operation)
        operation.end(error)

    def _missing(self, handle: c.c_void_p, operation: _Operation) -> Tuple[int, ...]:
        there = _abi.RankSet()
        if _lib.inc_contributed(handle, c.byref(operation.req), there) < 0:
            return ()
        return tuple(rank for rank in range(self._size) if not there[rank // 32] >> rank % 32 & 1)

    def _contributed(self, operation: _Operation) -> FrozenSet[int]:
        if not operation.ended:
            raise Error(_errno.EINVAL, f"{operation.call.name}: it has not ended")
        if operation.error is None:
            return frozenset(range(self._size))
        if not isinstance(operation.error, Partial):
            raise operation.error.with_traceback(None)
        return frozenset(range(self._size)) - frozenset(operation.error.ranks)

    def _wait(self, operation: _Operation, limit: _Limit) -> None:
        while not operation.ended:
            if self._handle is None:
                # Whoever closes the group ends it.
                with self._cond:
                    self._cond.wait(0 if operation.ended else limit.slice() / 1000)
            elif operation.lock.acquire(timeout=limit.slice() / 1000):
                try:
                    if not operation.ended:
                        self._wait_slice(operation, limit.slice())
                except Error:
                    if self._handle is not None:
                        raise
                finally:
                    operation.lock.release()
            if not operation.ended and limit.over():
                raise self._late(operation)

    def _wait_slice(self, operation: _Operation, ms: int) -> None:
        handle = self._enter()
        try:
            ret = _lib.inc_wait(c.byref(operation.req), ms)
            if not operation.req.handle:
                self._finish(handle, operation, ret)
        finally:
            self._exit()

    def _late(self, operation: _Operation) -> Timeout:
        handle = self._enter()
        try:
            ranks = self._ranks(handle, -_errno.ETIMEDOUT)
        finally:
            self._exit()
        return Timeout(_errno.ETIMEDOUT, f"group {self._group} rank {self._rank}: {operation.call.name} has not ended "
                       f"in time{', waiting for rank %u' % ranks[0] if ranks else ''}", ranks)

    def _collect(self) -> None:
        """Looks at all that is under way, but for what another thread waits for."""
        for operation in list(self._pending):
            if not operation.lock.acquire(blocking=False):
                continue
            try:
                if operation.ended or not operation.req.handle:
                    continue
                try:
                    handle = self._enter()
                except Error:  # closed in this moment
                    return
                try:
                    ret = _lib.inc_test(c.byref(operation.req))
                    if not operation.req.handle:
                        self._finish(handle, operation, ret)
                finally:
                    self._exit()
            finally:
                operation.lock.release()

    # ---- asyncio -----------------------------------------------------------------------------------------------------

    async def _wait_async(self, operation: _Operation) -> None:
        import asyncio

        loop = asyncio.get_running_loop()
        while not operation.ended:
            future: "asyncio.Future[None]" = loop.create_future()
            entry = (loop, future)
            operation.waiting.append(entry)
            self._watch(loop)
            try:
                # It may have ended before anybody watched.
                self._collect()
                if not operation.ended:
                    await future
            finally:
                operation.waiting.remove(entry)
                self._unwatch(loop)
        operation.result()

    def _watch(self, loop: "asyncio.AbstractEventLoop") -> None:
        """The descriptor is readable until all that has ended was collected."""
        self._readers[loop] = self._readers.get(loop, 0) + 1
        if self._readers[loop] == 1 and self._handle is not None:
            loop.add_reader(self._fd, self._collect)

    def _unwatch(self, loop: "asyncio.AbstractEventLoop") -> None:
        left = self._readers.get(loop, 0) - 1
        if left > 0:
            self._readers[loop] = left
        elif left == 0:
            del self._readers[loop]
            loop.remove_reader(self._fd)

    def _unwatch_all(self) -> None:
        """Before the descriptor is closed. A loop of another thread is told, and may be later than that."""
        if not self._readers:
            return
        import asyncio

        for loop in list(self._readers):
            del self._readers[loop]
            try:
                running: Optional["asyncio.AbstractEventLoop"] = asyncio.get_running_loop()
            except RuntimeError:
                running = None
            try:
                if loop is running or not loop.is_running():
                    loop.remove_reader(self._fd)
                else:
                    loop.call_soon_threadsafe(loop.remove_reader, self._fd)
            except RuntimeError:  # closed
                pass

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
            self._wait(operation, _Limit(None))
        handle = self._take()
        if handle is None:
            return
        try:
            self._unwatch_all()
            ret = _lib.inc_leave(handle)
            if ret:
                error = Error(-ret, _text(handle))
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
        handle = self._enter()
        try:
            ret = _lib.inc_cancel(handle)
        finally:
            self._exit()
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
            _lib.inc_abort(handle)
        finally:
            self._closed(self._forks != _forks)

    def shrink(self, timeout: Optional[float] = 60.0) -> None:
        """
        After a failure of the group (ECONNRESET): goes on without the ranks that are gone. All ranks that are left call
        it; rank and size are new then. Requests have ended. Timeout: ranks are missing, call again. See inc_shrink() in
        inc.h for what else is raised. No other thread may use the group meanwhile.
        """
        limit = _Limit(timeout)
        self._collect()
        handle = self._enter()
        try:
            while True:
                ret = _lib.inc_shrink(handle, max(1, limit.slice()))
                if ret == 0:
                    break
                if ret != -_errno.ETIMEDOUT or limit.over():
                    raise self._failure(ret)
            self._numbers(handle)
        finally:
            self._exit()
        for operation in list(self._pending):
            self._pending.discard(operation)
            operation.end(Error(_errno.ECANCELED, f"{operation.call.name}: its group has failed and shrunk"))

    # ---- Groups made of it -------------------------------------------------------------------------------------------

    def split(self, colour: Optional[int], key: int = 0, *, timeout: Optional[float] = 60.0) -> Optional["Group"]:
        """
        As MPI_Comm_split(): all ranks call it, as the next operation of the group; those of one colour (0 .. 2^31 - 1)
        are a new group, numbered by their keys, and by their ranks here where keys are equal. Colour None: this rank is
        in none, and None is returned. The new group meets where this one is, and is left by itself. timeout: seconds
        for the others to join it; None: no limit. See inc_split() in inc.h.
        """
        limit = _Limit(timeout)
        own, offers = _abi.SplitOffer(), (_abi.SplitOffer * self._size)()
        number = _abi.NO_COLOUR if colour is None else whole("colour", colour, 0, _MAX_I32)
        order = whole("key", key, -_MAX_I32 - 1, _MAX_I32)
        self._ask(lambda this: _lib.inc_split_offer(this, number, order, c.byref(own)))
        self.allgather(memoryview(own).cast("B"), memoryview(offers).cast("B"))
        handle = c.c_void_p()
        self._ask(lambda this: _lib.inc_split_start(c.byref(handle), this, offers))
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
            warnings.warn(f"{self!r} was neither left nor aborted: it is aborted", ResourceWarning, source=self)
            self.abort()

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

    def fileno(self) -> int:
        """The socket, for poll(): readable when an operation has ended. Do not close or read it."""
        if self._handle is None:
            raise Error(_errno.ENOTCONN, f"group {self._group} rank {self._rank}: it was left or aborted")
        return self._fd

    def info(self) -> Info:
        """What the kernel knows of this rank."""
        got = _abi.InfoStruct()
        self._ask(lambda handle: _lib.inc_info(handle, c.byref(got)))
        return Info(got.group, got.rank, got.size, State(got.state), got.epoch, got.window, got.block,
                    None if got.missing == NO_RANK else got.missing, got.srtt_us, got.submitted, got.completed,
                    got.blocks_sent, got.blocks_resent, got.moves)

    def why(self, coll: Union[Coll, str], type: Optional[TypeLike] = None, op: Optional[OpLike] = None,
            count: int = 1) -> Tuple[bool, str]:
        """Would this operation be done in the network, and why, or why not?"""
        handle = self._enter()
        try:
            return _why(handle, coll, type, op, count)
        finally:
            self._exit()


def _key(key: Union[bytes, str]) -> bytes:
    if isinstance(key, str):
        try:
            key = bytes.fromhex(key)
        except ValueError:
            raise ValueError(f"key: expected {2 * KEY_LEN} hexadecimal digits") from None
    if not isinstance(key, (bytes, bytearray)):
        raise TypeError(f"key is {type(key).__name__}: expected {KEY_LEN} bytes, or {2 * KEY_LEN} hexadecimal digits")
    if len(key) != KEY_LEN:
        raise ValueError(f"key has {len(key)} bytes: expected {KEY_LEN}")
    return bytes(key)
