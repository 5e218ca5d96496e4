# SPDX-License-Identifier: LGPL-2.1-or-later
"""Errors."""
import ctypes as c
from typing import Optional, Tuple

from . import _abi


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


def text_of(handle: Optional[c.c_void_p]) -> str:
    """What libinc says of the last call of this thread that has failed; handle: of the group, if there is one."""
    return (_abi.lib.inc_errmsg(handle) or b"").decode(errors="replace")
