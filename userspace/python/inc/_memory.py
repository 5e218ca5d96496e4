# SPDX-License-Identifier: LGPL-2.1-or-later
"""Memory that a group works on again and again."""
import ctypes as c
import errno as _errno
import os
import types
from typing import TYPE_CHECKING, NoReturn, Optional, SupportsIndex, Type

from . import _abi, _calls
from ._errors import Error, text_of
from ._membership import Use

if TYPE_CHECKING:
    from ._group import Group


class Memory:
    """
    What Group.register() has registered: operations of the group whose buffers lie in it take less time to start. It
    ends with release(), at the end of "with", or with its group; until then its buffer is locked (a bytearray cannot be
    resized) and alive, also if this object is dropped.
    """

    __slots__ = ("_group", "_view", "_id", "_pid", "__weakref__")

    def __init__(self, group: "Group", buffer: _calls.Buffer, writable: Optional[bool]) -> None:
        self._group = group
        self._view: Optional[memoryview] = None
        self._id = c.c_uint32()
        self._pid = os.getpid()
        view = _calls.whole_buffer("buffer", buffer)
        try:
            self._register(view, not view.readonly if writable is None else writable)
        except BaseException:
            view.release()
            raise
        self._view = view

    def _register(self, view: memoryview, writable: bool) -> None:
        if not view.nbytes:
            raise ValueError("buffer has 0 bytes: expected at least one")
        if writable and view.readonly:
            raise ValueError("buffer is read-only: expected a writable one, or writable=False")
        flags = _abi.REGISTER_WRITE if writable else 0
        with Use(self._group) as handle:
            ret = _abi.lib.inc_register(handle, _calls.address_of(view), view.nbytes, flags, c.byref(self._id))
            if ret:
                raise Error(-ret, text_of(handle))
            self._group._memory.add(self)

    def __repr__(self) -> str:
        return f"<inc.Memory {'released' if self._view is None else f'{self._view.nbytes} bytes'}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """A second object would release what the first one has registered."""
        raise TypeError("registered memory cannot be copied or pickled: it is of its group")

    @property
    def nbytes(self) -> int:
        """Bytes; 0 when it is released."""
        return 0 if self._view is None else self._view.nbytes

    @property
    def released(self) -> bool:
        return self._view is None

    def release(self) -> None:
        """
        Its pages are not kept any more, and the buffer is its owner's again. May be called again. Raises Error (EBUSY)
        while an operation that lies in it is under way. In a child of fork(), where nothing is registered, it only
        drops the child's copy.
        """
        if self._view is None:
            return
        if self._pid == os.getpid() and not self._group.closed:
            with Use(self._group) as handle:
                ret = _abi.lib.inc_unregister(handle, self._id)
                if ret not in (0, -_errno.ENOENT):
                    raise Error(-ret, text_of(handle))
        self._end()

    def _end(self) -> None:
        """It is not registered any more."""
        view, self._view = self._view, None
        self._group._memory.discard(self)
        if view is not None:
            view.release()

    def __enter__(self) -> "Memory":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 traceback: Optional[types.TracebackType]) -> None:
        self.release()
