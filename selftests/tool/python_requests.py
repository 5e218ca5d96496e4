# SPDX-License-Identifier: GPL-2.0-only
"""Requests and blocking calls of the Python package: signals, threads, who drops what."""
import copy
import errno
import gc
import os
import pickle
import signal
import sys
import threading
import time
import warnings

import inc
from inc import _abi, _request
from python_expect import expect, raises, test
from python_fake import Fake, group, interrupt_when_waited, is_locked


@test
def what_the_launcher_tells_is_left_to_libinc():
    """Which meets at MASTER_ADDR only where the numbers are the launcher's."""
    _abi.lib = fake = Fake()
    for given, group_number, job in (({"group": 5}, 5, 0), ({"job": 7}, 0, 7),
                                     ({"group": 5, "job": 7}, 5, 7), ({}, 0, 0)):
        inc.Group(**given).leave()
        opts = fake.opts
        expect(f"{given}", (opts.group, opts.rank, opts.size, opts.job), (group_number, 0, 0, job))
        fake.closed = None


@test
def blocking_calls_lock_buffers_until_they_end():
    fake, g = group()
    buf = bytearray(8)
    seen = []

    def watch():
        fake.until_waited()
        seen.append(is_locked(buf))
        fake.end(1)

    watcher = threading.Thread(target=watch)
    watcher.start()
    g.allreduce(buf)
    watcher.join()
    expect("locked meanwhile, and afterwards", (seen, is_locked(buf)), ([True], False))
    fake.results[2] = -errno.ECONNRESET
    os.write(fake.writer, b"x")
    error = raises(inc.Error, "^libinc's text$", g.allreduce, buf)
    expect("errno, ranks", (error.errno, error.ranks, is_locked(buf)),
           (errno.ECONNRESET, (1,), False))
    fake.code = _abi.ERR_MISMATCH
    fake.results[3] = -errno.EPROTO
    os.write(fake.writer, b"x")
    expect("both sides", raises(inc.Error, "^libinc's text$", g.allreduce, buf).ranks, (1, 0))
    g.leave()
    g.leave()
    expect("closed", (fake.closed, g.closed), ("leave", True))
    error = raises(inc.Error, "it was left or aborted", g.barrier)
    expect("errno", error.errno, errno.ENOTCONN)
    raises(inc.Error, "it was left or aborted", g.fileno)


@test
def an_interrupted_blocking_call_aborts_the_group():
    fake, g = group()
    buf = bytearray(8)
    interrupt_when_waited(fake)
    begin = time.monotonic()
    try:
        g.allreduce(buf)
        raise AssertionError("it was not interrupted")
    except KeyboardInterrupt:
        took = time.monotonic() - begin
    expect(f"soon after it ({took:.1f} s)", took < 5, True)
    expect("aborted, closed, locked", (fake.closed, g.closed, is_locked(buf)),
           ("abort", True, False))
    raises(inc.Error, "it was left or aborted", g.barrier)


@test
def an_interrupted_wait_leaves_the_request():
    fake, g = group()
    request = g.iallreduce(bytearray(8))
    interrupt_when_waited(fake)
    try:
        request.wait()
        raise AssertionError("it was not interrupted")
    except KeyboardInterrupt:
        pass
    expect("closed", (fake.closed, g.closed, request.done), (None, False, False))
    fake.end(1)
    request.wait()
    expect("test", request.test(), True)
    g.leave()


@test
def waits_with_limits():
    fake, g = group()
    request = g.iallreduce(bytearray(8))
    expect("test", (request.test(), request.done), (False, False))
    for limit in (0, 0.25):
        begin = time.monotonic()
        error = raises(inc.Timeout,
                       "^group 9 rank 0: allreduce has not ended in time, waiting for rank 1$",
                       request.wait, limit)
        took = time.monotonic() - begin
        expect("it has waited", limit <= took < limit + 5, True)
    expect("a TimeoutError", (isinstance(error, TimeoutError), error.errno, error.ranks),
           (True, errno.ETIMEDOUT, (1,)))
    raises(ValueError, "^timeout is -1", request.wait, -1)
    fake.end(1, -errno.EPROTO)
    for _ in range(2):
        raises(inc.Error, "^libinc's text$", request.wait)
    raises(inc.Error, "^libinc's text$", request.test)
    expect("done", request.done, True)
    g.leave()


@test
def a_dropped_request_keeps_its_buffers():
    fake, g = group()
    buf, other = bytearray(8), bytearray(8)
    g.iallreduce(buf)
    g.ibroadcast(other)
    gc.collect()
    expect("locked", (is_locked(buf), is_locked(other)), (True, True))
    fake.end(1)
    request = g.ibarrier()
    expect("test", request.test(), False)
    expect("locked after one has ended", (is_locked(buf), is_locked(other)), (False, True))
    fake.end(2, -errno.EPROTO)
    fake.end_later(0.2, 3)
    error = raises(inc.Error, "^libinc's text$", g.leave)
    expect("what nobody was told", (error.errno, fake.closed, is_locked(other)),
           (errno.EPROTO, "leave", False))
    expect("the one that leave() has waited for", request.test(), True)


@test
def a_request_outlives_its_group():
    fake, g = group()
    buf = bytearray(8)
    request = g.iallreduce(buf)
    g.abort()
    error = raises(inc.Error, "allreduce: this rank has left or aborted the group", request.wait)
    expect("errno, locked", (error.errno, is_locked(buf), fake.closed),
           (errno.ECANCELED, False, "abort"))
    g.abort()


@test
def with_leaves_or_aborts():
    fake, g = group()
    with g as same:
        expect("the group", same is g, True)
    expect("at its end", fake.closed, "leave")
    fake, g = group()
    try:
        with g:
            raise KeyError("x")
    except KeyError:
        pass
    expect("after an exception", fake.closed, "abort")


@test
def a_dropped_group_is_aborted():
    fake, g = group()
    buf = bytearray(8)
    g.iallreduce(buf)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        del g
        gc.collect()
    expect("warnings", [entry.category for entry in seen], [ResourceWarning])
    expect("closed, locked", (fake.closed, is_locked(buf)), ("abort", False))


@test
def a_dropped_group_is_aborted_where_warnings_are_errors():
    fake, g = group()
    seen, hook = [], sys.unraisablehook
    sys.unraisablehook = lambda args: seen.append(args.exc_type)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            del g
            gc.collect()
    finally:
        sys.unraisablehook = hook
    expect("errors, closed", (seen, fake.closed), ([ResourceWarning], "abort"))


@test
def groups_requests_and_memory_are_not_copied():
    fake, g = group()
    buf = bytearray(8)
    request, memory = g.iallreduce(buf), g.register(bytes(8))
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        raises(TypeError, r"^a group cannot be copied or pickled: expected dup\(\), or one that "
               "the other process joins$", copied, g)
        raises(TypeError, "^a request cannot be copied or pickled: .* of its group$", copied, request)
        raises(TypeError, "^registered memory cannot be copied or pickled: .* of its group$", copied,
               memory)
    gc.collect()
    expect("closed", (fake.closed, g.closed), (None, False))
    fake.end(1)
    request.wait()
    g.leave()


@test
def abort_in_another_thread():
    fake, g = group()
    threading.Timer(0.25, g.abort).start()
    error = raises(inc.Error, "allreduce: this rank has left or aborted the group", g.allreduce,
                   bytearray(8))
    expect("errno, closed", (error.errno, fake.closed), (errno.ECANCELED, "abort"))


@test
def abort_in_a_signal_handler():
    fake, g = group()
    said = []

    def handler(*_):
        said.append(g._inside())
        g.abort()

    old = signal.signal(signal.SIGALRM, handler)
    try:
        interrupt_when_waited(fake, signal.SIGALRM)
        raises(inc.Error, "this rank has left or aborted the group", g.allreduce, bytearray(8))
    finally:
        signal.signal(signal.SIGALRM, old)
    expect("handler ran, closed", (len(said), fake.closed), (1, "abort"))


@test
def an_interrupted_abort_leaves_the_group():
    """abort() waits as long as another thread is in libinc; a signal meanwhile loses nothing."""
    fake, g = group()
    entered, go_on = threading.Event(), threading.Event()

    def why(*_):
        entered.set()
        go_on.wait(30)
        return 0

    fake.inc_why = why
    thread = threading.Thread(target=g.why, args=("barrier",))
    thread.start()
    entered.wait(30)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        g.abort()
        raise AssertionError("it was not interrupted")
    except KeyboardInterrupt:
        pass
    expect("closed", (fake.closed, g.closed), (None, False))
    go_on.set()
    g.abort()
    thread.join()
    expect("closed", (fake.closed, g.closed), ("abort", True))


@test
def an_interrupted_call_is_over():
    """Also if the signal comes in the moment in which it begins."""
    fake, g = group()

    class Interrupted(list):
        def append(self, user):
            super().append(user)
            raise KeyboardInterrupt

    g._users = Interrupted()
    try:
        g.info()
        raise AssertionError("it was not interrupted")
    except KeyboardInterrupt:
        pass
    expect("users", list(g._users), [])
    g.abort()
    expect("closed", fake.closed, "abort")


@test
def after_a_fork_aborted_buffers_are_kept():
    fake, g = group()
    buf, before = bytearray(8), len(_request.leaked)
    g.iallreduce(buf)
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)
    g.abort()
    expect("locked, kept", (is_locked(buf), len(_request.leaked)), (True, before + 1))


@test
def two_threads_wait_for_one_request():
    fake, g = group()
    request = g.iallreduce(bytearray(8))
    ended = []
    threads = [threading.Thread(target=lambda: (request.wait(), ended.append(1))) for _ in range(3)]
    for thread in threads:
        thread.start()
    fake.end_later(0.3, 1)
    for thread in threads:
        thread.join(10)
    expect("ended", ended, [1, 1, 1])
    g.leave()
