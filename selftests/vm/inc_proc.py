# SPDX-License-Identifier: GPL-2.0-only
"""Memory at known addresses, and child processes that are part of a test."""
import ctypes
import mmap
import os
import random
import signal
import time
import traceback

from inc_wire import libc

libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
PAGE = 4096
RNG = random.Random(int(os.environ.get("SEED", "1")))


def new_group():
    return RNG.randrange(1 << 32)


class Pages:
    """Anonymous memory whose address is known; protection may be changed."""

    def __init__(self, n):
        self.size = n * PAGE
        self.at = libc.mmap(None, self.size, mmap.PROT_READ | mmap.PROT_WRITE, 0x22, -1, 0)

    def protect(self, prot, first=0):
        if libc.mprotect(self.at + first * PAGE, self.size - first * PAGE, prot):
            raise OSError(ctypes.get_errno(), "mprotect")

    def free(self):
        libc.munmap(self.at, self.size)


def beside(function):
    """Runs it in a child; returns its pid."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        function()
        status = 0
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(status)


def ended(pid, seconds=60):
    """Its wait status."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        got, status = os.waitpid(pid, os.WNOHANG)
        if got:
            return status
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise AssertionError(f"process {pid} did not end within {seconds} s")
