# SPDX-License-Identifier: LGPL-2.1-or-later
"""Operations under way, and how long they are waited for."""
import threading
import time
from typing import TYPE_CHECKING, Any, FrozenSet, Generator, List, NoReturn, Optional, SupportsIndex, Tuple

from . import _abi, _calls
from ._errors import Error

if TYPE_CHECKING:
    import asyncio  # which takes its time, and not everybody needs it

    from ._operations import Operations

#: Milliseconds that a wait spends in libinc at a time: KeyboardInterrupt is raised between two of them.
_SLICE_MS = 100

# What operations of aborted groups may still write to, where a fork has left the socket open in another process.
leaked: List[_calls.Call] = []


def milliseconds(timeout: Optional[float]) -> Optional[int]:
    """Of a limit in seconds; None: none."""
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"timeout is {type(timeout).__name__}: expected seconds, or None for no limit")
    if not 0 <= timeout <= 1e9:
        raise ValueError(f"timeout is {timeout}: expected 0..1e9 seconds, or None for no limit")
    return round(timeout * 1000)


class Limit:
    """A limit of waiting, spent in slices."""

    def __init__(self, timeout: Optional[float]) -> None:
        ms = milliseconds(timeout)
        self.end = None if ms is None else time.monotonic() + ms / 1000

    def slice(self) -> int:
        if self.end is None:
            return _SLICE_MS
        return max(0, min(_SLICE_MS, round((self.end - time.monotonic()) * 1000)))

    def over(self) -> bool:
        return self.end is not None and time.monotonic() >= self.end


def _wake(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


class Operation:
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
            leaked.append(self.call)
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

    def __init__(self, group: "Operations", operation: Operation) -> None:
        self._group = group
        self._operation = operation

    def __repr__(self) -> str:
        return f"<inc.Request {self._operation.call.name} {'has ended' if self._operation.ended else 'is under way'}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a request cannot be copied or pickled: it is of its group")

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
        self._group._wait(self._operation, Limit(timeout))
        self._operation.result()

    def contributed(self) -> FrozenSet[int]:
        """The ranks whose contributions are in its result; it has ended with success, or with Partial."""
        return self._group._contributed(self._operation)

    def __await__(self) -> Generator[Any, None, None]:
        """
        In a running loop of asyncio. Whoever cancels the task stops waiting; the operation goes on.
        """
        return self._group._wait_async(self._operation).__await__()
