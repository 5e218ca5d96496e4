# SPDX-License-Identifier: GPL-2.0-only
"""A libinc of Python, whose operations end when a test says so, and a group that uses it."""
import errno
import os
import signal
import threading
import time

import inc
from inc import _abi
from python_expect import expect


class Fake:
    """A libinc whose operations end when told."""

    def __init__(self, size=2):
        self.size, self.handles, self.results, self.calls = size, 0, {}, []
        self.inside, self.closed, self.code = 0, None, 3
        self.registered, self.no_register = {}, 0
        self.fd, self.writer = os.pipe()

    def end(self, handle, result=0):
        self.results[handle] = result
        os.write(self.writer, b"x")

    def until_waited(self):
        """Until a thread waits in libinc for something to end."""
        deadline = time.monotonic() + 30
        while not self.inside and time.monotonic() < deadline:
            time.sleep(0.005)

    def end_later(self, seconds, handle, result=0):
        thread = threading.Timer(seconds, self.end, (handle, result))
        thread.start()
        return thread

    def inc_join_start(self, handle, opts):
        handle._obj.value = 4711
        self.rank, self.opts = opts._obj.rank, opts._obj
        return 0

    def inc_join_poll(self, handle, ms):
        return 0

    def inc_fd(self, handle):
        return self.fd

    def inc_rank(self, handle):
        return self.rank

    def inc_size(self, handle):
        return self.size

    def inc_group_id(self, handle):
        return 9

    def inc_errmsg(self, handle):
        return b"libinc's text"

    def inc_info(self, handle, info):
        self.open()
        info._obj.missing = 1
        info._obj.error.code = self.code
        info._obj.error.rank[:] = [1, 0]
        return 0

    def inc_icollective(self, handle, args, req):
        self.open()
        self.handles += 1
        req._obj.handle = self.handles
        return 0

    def open(self):
        if self.closed:
            raise AssertionError(f"it was used after {self.closed}")

    def collect(self, req):
        self.open()
        if req._obj.handle not in self.results:
            return False
        req._obj.result = self.results.pop(req._obj.handle)
        req._obj.handle = 0
        os.read(self.fd, 1)
        return True

    def inc_wait(self, req, ms):
        deadline = time.monotonic() + ms / 1000
        self.inside += 1
        try:
            while not self.collect(req):
                if time.monotonic() >= deadline:
                    return -errno.ETIMEDOUT
                time.sleep(0.005)
        finally:
            self.inside -= 1
        return req._obj.result

    def inc_test(self, req):
        self.calls.append("test")
        return req._obj.result if self.collect(req) else -errno.EAGAIN

    def inc_register(self, handle, address, size, flags, number):
        self.open()
        if self.no_register:
            return -self.no_register
        self.handles += 1
        number._obj.value = self.handles
        self.registered[self.handles] = (address, size, flags)
        return 0

    def inc_unregister(self, handle, number):
        self.open()
        if self.no_register:
            return -self.no_register
        return 0 if self.registered.pop(number.value, None) else -errno.ENOENT

    def inc_leave(self, handle):
        self.open()
        self.closed = "leave"
        return 0

    def inc_abort(self, handle):
        self.open()
        expect("threads in libinc", self.inside, 0)
        self.closed = "abort"


def group(size=2):
    fake = Fake(size)
    _abi.lib = fake
    return fake, inc.Group(9, 0, size)


def is_locked(buf):
    """A bytearray with exports cannot change its size."""
    try:
        buf.append(0)
    except BufferError:
        return True
    buf.pop()
    return False


def interrupt_when_waited(fake, number=signal.SIGINT):
    def interrupt():
        fake.until_waited()
        os.kill(os.getpid(), number)

    threading.Thread(target=interrupt).start()
