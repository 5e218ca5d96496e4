# SPDX-License-Identifier: LGPL-2.1-or-later
"""The operations of a group that are under way: started, waited for, ended."""
import ctypes as c
import errno as _errno
import threading
from typing import TYPE_CHECKING, Dict, FrozenSet, List, Optional, Set, Tuple

from . import _abi, _calls
from ._errors import Error, Partial, Timeout, text_of
from ._membership import Membership, Use
from ._request import Limit, Operation, Request

if TYPE_CHECKING:
    import asyncio


class Operations(Membership):
    """Operations of a membership. Each of them ends once: by its result, or when the group is closed."""

    def _open(self, handle: c.c_void_p) -> None:
        self._pending: Set[Operation] = set()
        self._failed: List[Operation] = []  # of which leave() raises one, if nobody has been told
        self._readers: Dict["asyncio.AbstractEventLoop", int] = {}
        super()._open(handle)

    def _closed(self, keep: bool = False) -> None:
        """The group is closed: what is under way has ended. Or it is as before."""
        for operation in list(self._pending) if self._handle is None else ():
            operation.end(Error(_errno.ECANCELED, f"group {self._group} rank {self._rank}: {operation.call.name}: "
                                "this rank has left or aborted the group"), keep)
            self._pending.discard(operation)
        super()._closed()

    def _submit(self, operation: Operation) -> None:
        with Use(self) as handle:
            self._pending.add(operation)
            ret = _abi.lib.inc_icollective(handle, c.byref(operation.call.args), c.byref(operation.req))
            if ret:
                self._pending.discard(operation)
                operation.call.release()
                raise Error(-ret, text_of(handle), self._ranks(handle, ret))

    def _start(self, call: _calls.Call) -> Request:
        operation = Operation(call)
        self._submit(operation)
        return Request(self, operation)

    def _run(self, call: _calls.Call) -> None:
        operation = Operation(call)
        nested = threading.get_ident() in self._users
        try:
            self._submit(operation)
            self._wait(operation, Limit(None))
        except BaseException:
            if operation.req.handle and not operation.ended:
                if not nested:
                    self._gone()
                self.abort()
            raise
        operation.result()

    def _finish(self, handle: c.c_void_p, operation: Operation, ret: int) -> None:
        """What inc_wait() or inc_test() has returned as the end."""
        error: Optional[Error] = None
        if ret > 0:
            error = Partial(_errno.ETIME, text_of(handle), self._missing(handle, operation))
        elif ret < 0:
            error = Error(-ret, text_of(handle), self._ranks(handle, ret))
        if error is not None:
            self._failed = [old for old in self._failed if not old.told] + [operation]
        self._pending.discard(operation)
        operation.end(error)

    def _missing(self, handle: c.c_void_p, operation: Operation) -> Tuple[int, ...]:
        there = _abi.RankSet()
        if _abi.lib.inc_contributed(handle, c.byref(operation.req), there, len(there)) < 0:
            return ()
        return tuple(rank for rank in range(self._size) if not there[rank // 32] >> rank % 32 & 1)

    def _contributed(self, operation: Operation) -> FrozenSet[int]:
        if not operation.ended:
            raise Error(_errno.EINVAL, f"{operation.call.name}: it has not ended")
        if operation.error is None:
            return frozenset(range(self._size))
        if not isinstance(operation.error, Partial):
            raise operation.error.with_traceback(None)
        return frozenset(range(self._size)) - frozenset(operation.error.ranks)

    def _wait(self, operation: Operation, limit: Limit) -> None:
        while not operation.ended:
            if self._handle is None:
                # Whoever closes the group ends it.
                with self._lock:
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

    def _wait_slice(self, operation: Operation, ms: int) -> None:
        with Use(self) as handle:
            ret = _abi.lib.inc_wait(c.byref(operation.req), ms)
            if not operation.req.handle:
                self._finish(handle, operation, ret)

    def _late(self, operation: Operation) -> Timeout:
        with Use(self) as handle:
            ranks = self._ranks(handle, -_errno.ETIMEDOUT)
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
                with Use(self) as handle:
                    ret = _abi.lib.inc_test(c.byref(operation.req))
                    if not operation.req.handle:
                        self._finish(handle, operation, ret)
            except Error:  # closed in this moment
                return
            finally:
                operation.lock.release()

    # ---- asyncio -----------------------------------------------------------------------------------------------------

    async def _wait_async(self, operation: Operation) -> None:
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
