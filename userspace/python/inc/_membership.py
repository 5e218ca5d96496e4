# SPDX-License-Identifier: LGPL-2.1-or-later
"""The membership of a rank: joining, and libinc's handle, which is closed when nobody uses it."""
import ctypes as c
import errno as _errno
import threading
from typing import Any, Callable, List, Optional, Tuple, Union

from . import _abi
from ._abi import KEY_LEN, MAX_RANKS, MAX_STRIPES, NO_RANK, JoinOpts
from ._calls import Member, whole
from ._errors import Error, Timeout, text_of
from ._request import Limit

_MAX_U32 = 0xFFFFFFFF
#: Errors that are about ranks, which struct inc_info then names.
_ABOUT_RANKS = (_errno.ETIMEDOUT, _errno.ECONNRESET, _errno.EPROTO, _errno.EMSGSIZE, _errno.ETIME, _errno.ECANCELED)


class Membership:
    """
    A rank's membership. Whoever calls libinc with the handle does so inside of Use(); who closes it takes it away, and
    waits until all are outside.
    """

    _handle: Optional[c.c_void_p] = None

    def abort(self) -> None:
        """Group has it."""
        raise NotImplementedError

    # ---- Joining -----------------------------------------------------------------------------------------------------

    def _begin(self, group: Optional[int], rank: Optional[int], size: Optional[int], job: Optional[int],
               parent: Optional[str], key: Union[bytes, str, None], order: Optional[str],
               stripes: Optional[int]) -> None:
        """Starts the join; every argument is checked before."""
        opts = JoinOpts()
        if (rank is None) != (size is None):
            raise TypeError(f"{'rank' if size is None else 'size'} is given, {'size' if size is None else 'rank'} is "
                            "not: expected both, or none where a launcher tells them")
        if size is not None:
            opts.size = whole("size", size, 1, MAX_RANKS)
            opts.rank = whole("rank", rank, 0, opts.size - 1)
        # size 0: libinc asks the launcher, also where ranks meet without a node
        if group is not None:
            opts.group = whole("group", group, 0, _MAX_U32)
        if job is not None:
            opts.job = whole("job", job, 0, (1 << 64) - 1)
        if parent is not None:
            if not isinstance(parent, str):
                raise TypeError(f'parent is {type(parent).__name__}: expected a string "ADDR" or "ADDR:PORT"')
            if "\0" in parent:
                raise ValueError(f"parent is {parent!r}: expected no NUL in it")
            opts.parent = parent.encode()
        if key is not None:
            opts.key = _key(key)
        if order is not None:
            if order not in ("auto", "canonical"):
                raise ValueError(f'order is {order!r}: expected "auto" or "canonical"')
            opts.order = order.encode()
        if stripes is not None:
            opts.stripes = whole("stripes", stripes, 1, MAX_STRIPES)
        handle = c.c_void_p()
        self._rank, self._size, self._group = int(opts.rank), int(opts.size), int(opts.group)
        ret = _abi.lib.inc_join_start(c.byref(handle), c.byref(opts))
        if ret:
            raise Error(-ret, text_of(None))
        self._open(handle)
        self._numbers(handle)

    def _open(self, handle: c.c_void_p) -> None:
        """A handle whose join is under way is this group's from now on."""
        self._lock = threading.RLock()
        self._cond = threading.Condition(self._lock)
        self._users: List[int] = []
        self._doomed = False  # abort() in a signal handler
        self._closer: Optional[int] = None  # the thread that closes it
        self._fd = int(_abi.lib.inc_fd(handle))
        self._handle = handle

    def _wait_joined(self, limit: Limit) -> None:
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
        with Use(self) as handle:
            return int(_abi.lib.inc_join_poll(handle, ms))

    def _joined(self) -> None:
        with Use(self) as handle:
            self._numbers(handle)

    def _numbers(self, handle: c.c_void_p) -> None:
        self._rank = _abi.lib.inc_rank(handle)
        self._size = _abi.lib.inc_size(handle)
        self._group = _abi.lib.inc_group_id(handle)

    def fileno(self) -> int:
        """The socket, for poll(): readable when an operation has ended. Do not close or read it."""
        if self._handle is None:
            raise Error(_errno.ENOTCONN, f"group {self._group} rank {self._rank}: it was left or aborted")
        return self._fd

    # ---- The handle, while nobody closes it --------------------------------------------------------------------------

    def _exit(self) -> None:
        me = threading.get_ident()
        with self._lock:
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
        with self._lock:
            handle = self._handle
            if handle is None:
                while self._closer not in (None, me):
                    self._cond.wait(0.1)
                return None
            try:
                self._closer, self._handle = me, None
                while self._users:
                    self._cond.wait(0.1)
            except BaseException:  # a signal: the group is as before
                self._closer, self._handle = None, handle
                self._cond.notify_all()
                raise
            return handle

    def _closed(self) -> None:
        """The group is closed, or it is as before."""
        with self._lock:
            self._closer = None
            self._cond.notify_all()

    def _inside(self) -> bool:
        """Has this thread entered? Then this is a signal handler."""
        with self._lock:
            return threading.get_ident() in self._users

    def _gone(self) -> None:
        """This thread is in no call of libinc, even if a second signal has come before _exit() could say so."""
        me = threading.get_ident()
        with self._lock:
            self._users = [user for user in self._users if user != me]
            self._cond.notify_all()

    def _ask(self, function: Callable[[c.c_void_p], Any]) -> None:
        """Calls it with the handle; raises what it returns."""
        with Use(self) as handle:
            ret = function(handle)
            if ret:
                raise Error(-ret, text_of(handle))

    def _failure(self, ret: int) -> Error:
        """What a call of this thread has just returned."""
        with Use(self) as handle:
            text = text_of(handle)
            ranks = self._ranks(handle, ret)
        return (Timeout if ret == -_errno.ETIMEDOUT else Error)(-ret, text, ranks)

    def _ranks(self, handle: c.c_void_p, ret: int) -> Tuple[int, ...]:
        info = _abi.InfoStruct()
        if -ret not in _ABOUT_RANKS or _abi.lib.inc_info(handle, c.byref(info)):
            return ()
        error = info.error
        if ret == -_errno.ETIMEDOUT:
            named = [info.missing]
        else:
            named = list(error.rank)[:2 if error.code in (_abi.ERR_MISMATCH, _abi.ERR_COUNTS) else 1]
            if not error.code:
                named = []
        return tuple(rank for rank in named if rank != NO_RANK)

    def _me(self) -> Member:
        return Member(self._rank, self._size)


class Use:
    """
    Who is inside may call libinc with the handle; abort() and leave() wait until all are outside. Python calls handlers
    of signals between any two calls, but not between __enter__() and what is inside.
    """

    __slots__ = ("_of",)

    def __init__(self, of: Membership) -> None:
        self._of = of

    def __enter__(self) -> c.c_void_p:
        of, me = self._of, threading.get_ident()
        before = of._users.count(me)
        try:
            with of._lock:
                handle = of._handle
                if handle is None:
                    raise Error(_errno.ENOTCONN, f"group {of._group} rank {of._rank}: it was left or aborted")
                of._users.append(me)
            return handle
        except BaseException:
            if of._users.count(me) > before:
                of._exit()
            raise

    def __exit__(self, *_: object) -> None:
        self._of._exit()


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
    if not any(key):
        raise ValueError("key: expected one that is not all zeros, or None")
    return bytes(key)
