#!/usr/bin/env -S python3 -s -S
# SPDX-License-Identifier: GPL-2.0-only
"""
Uses libinc the way a program does that is not C: every function of inc.h through ctypes.

    libinc_api.py TEST...       as rank INC_RANK of INC_SIZE in groups from INC_GROUP on, one
                                process per rank

Prints "TEST: passed" for every test, or ends with what was wrong.
"""
import ctypes as c
import errno
import mmap
import os
import select
import signal
import subprocess
import sys
import threading
import time

ALLREDUCE, REDUCE, GATHER = 2, 3, 7
I32, F32, SUM, BXOR = 3, 11, 1, 7
NO_COLOUR = -1


class JoinOpts(c.Structure):
    _fields_ = [("group", c.c_uint32), ("rank", c.c_uint32), ("size", c.c_uint32),
                ("timeout_ms", c.c_int),
                ("parent", c.c_char_p), ("key", c.c_char_p), ("job", c.c_uint64),
                ("resv", c.c_uint64 * 3)]


class Request(c.Structure):
    _fields_ = [("group", c.c_void_p), ("handle", c.c_uint64), ("result", c.c_int),
                ("prepared", c.c_uint32),
                ("copy", c.c_void_p), ("submit", c.c_uint64 * 13), ("resv", c.c_uint64 * 4)]


class Args(c.Structure):
    _fields_ = [("coll", c.c_int), ("type", c.c_int), ("op", c.c_int), ("wire", c.c_int),
                ("mode", c.c_uint32),
                ("root", c.c_uint32), ("count", c.c_uint64), ("send", c.c_void_p),
                ("recv", c.c_void_p),
                ("send_counts", c.c_void_p), ("send_displs", c.c_void_p),
                ("recv_counts", c.c_void_p),
                ("recv_displs", c.c_void_p), ("weight", c.c_double), ("resv", c.c_uint64 * 4)]


lib = c.CDLL("libinc.so.0", use_errno=True)
lib.inc_errmsg.restype = lib.inc_strerror.restype = lib.inc_version.restype = c.c_char_p
lib.inc_errmsg.argtypes = lib.inc_abort.argtypes = lib.inc_leave.argtypes = [c.c_void_p]
for name in ("inc_fd", "inc_rank", "inc_size", "inc_group_id", "inc_barrier"):
    getattr(lib, name).argtypes = [c.c_void_p]
for name in ("inc_join", "inc_join_start"):
    getattr(lib, name).argtypes = [c.POINTER(c.c_void_p), c.POINTER(JoinOpts)]
lib.inc_cancel.argtypes = [c.c_void_p]
lib.inc_set_timeout.argtypes = [c.c_void_p, c.c_int]
lib.inc_join_poll.argtypes = [c.c_void_p, c.c_int]
lib.inc_allreduce.argtypes = [c.c_void_p, c.c_void_p, c.c_void_p, c.c_uint64, c.c_int, c.c_int]
lib.inc_iallreduce.argtypes = lib.inc_allreduce.argtypes + [c.POINTER(Request)]
lib.inc_ibarrier.argtypes = [c.c_void_p, c.POINTER(Request)]
lib.inc_wait.argtypes = [c.POINTER(Request), c.c_int]
lib.inc_test.argtypes = [c.POINTER(Request)]
lib.inc_prepare.argtypes = [c.c_void_p, c.POINTER(Args), c.POINTER(Request)]
lib.inc_start.argtypes = lib.inc_release.argtypes = [c.POINTER(Request)]
lib.inc_register.argtypes = [c.c_void_p, c.c_void_p, c.c_uint64, c.c_uint32,
                             c.POINTER(c.c_uint32)]
lib.inc_unregister.argtypes = [c.c_void_p, c.c_uint32]
libc = c.CDLL(None)
libc.mprotect.argtypes = [c.c_void_p, c.c_size_t, c.c_int]
lib.inc_split.argtypes = [c.POINTER(c.c_void_p), c.c_void_p, c.c_int, c.c_int, c.c_int]
lib.inc_dup.argtypes = [c.POINTER(c.c_void_p), c.c_void_p, c.c_int]
lib.inc_wait_all.argtypes = [c.POINTER(c.POINTER(Request)), c.c_size_t, c.c_int]
lib.inc_wait_any.argtypes = lib.inc_wait_all.argtypes + [c.POINTER(c.c_size_t)]
lib.inc_why.argtypes = [c.c_void_p, c.c_int, c.c_int, c.c_int, c.c_uint64, c.c_char_p, c.c_size_t]

RANK = int(os.environ.get("INC_RANK", "0"))
SIZE = int(os.environ.get("INC_SIZE", "1"))
GROUP = int(os.environ.get("INC_GROUP", "0"))
STRIPES = int(os.environ.get("INC_STRIPES", "1"))


def text(group=None):
    return lib.inc_errmsg(group).decode()


def expect(what, got, want):
    if got != want:
        sys.exit(f"rank {RANK}: {what} returned {got}, expected {want}: {text()}")


def expect_text(got, *wanted):
    for want in wanted:
        if want not in got:
            sys.exit(f'rank {RANK}: the message is "{got}", expected "{want}" in it')


def said_file(what):
    return f"{os.environ['SAID']}.{what}"


def say(what):
    open(said_file(what), "w", encoding="ascii").close()


def until_said(what, seconds=60):
    """Until the other rank has said it."""
    deadline = time.monotonic() + seconds
    while not os.path.exists(said_file(what)):
        if time.monotonic() > deadline:
            sys.exit(f"rank {RANK}: the other one has not said {what} within {seconds} s")
        time.sleep(0.02)


def join(group=None):
    handle = c.c_void_p()
    opts = JoinOpts(group=GROUP if group is None else group, rank=RANK, size=SIZE)
    ret = lib.inc_join(c.byref(handle), c.byref(opts))
    expect("inc_join", ret, 0)
    return handle


def leave(group):
    ret = lib.inc_leave(group)
    if ret:
        sys.exit(f"rank {RANK}: inc_leave returned {ret}: {text(group)}")


def ints(n, k=0):
    return (c.c_int32 * n)(*[(RANK + 1) * (i + k) for i in range(n)])


def check_ints(buf, k=0):
    total = SIZE * (SIZE + 1) // 2
    for i, value in enumerate(buf):
        if value != total * (i + k):
            sys.exit(f"rank {RANK}: element {i} is {value}, expected {total * (i + k)}")


def allreduce(group, n=1000, k=0):
    buf = ints(n, k)
    ret = lib.inc_allreduce(group, None, buf, n, I32, SUM)
    if ret:
        sys.exit(f"rank {RANK}: inc_allreduce returned {ret}: {text(group)}")
    check_ints(buf, k)


def test_nonblock():
    group = c.c_void_p()
    expect("inc_join_start", lib.inc_join_start(c.byref(group), None), 0)
    ret = lib.inc_join_poll(group, 0)
    if ret not in (0, -errno.EAGAIN):
        sys.exit(f"rank {RANK}: inc_join_poll returned {ret}: {text(group)}")
    poll = select.poll()
    poll.register(lib.inc_fd(group), select.POLLIN if STRIPES > 1 else select.POLLOUT)
    # it says so of each stripe
    while STRIPES > 1 and ret == -errno.EAGAIN:
        if not poll.poll(30000):
            sys.exit(f"rank {RANK}: the descriptor does not say that stripes have joined")
        ret = lib.inc_join_poll(group, 0)
    if STRIPES == 1 and not poll.poll(30000):
        sys.exit(f"rank {RANK}: the descriptor did not become writable")
    expect("inc_join_poll", lib.inc_join_poll(group, 0), 0)
    expect("inc_rank", lib.inc_rank(group), RANK)
    expect("inc_size", lib.inc_size(group), SIZE)
    expect("inc_group_id", lib.inc_group_id(group), GROUP)
    bufs = [ints(700, k) for k in range(8)]
    reqs = [Request() for _ in bufs]
    for buf, req in zip(bufs, reqs):
        expect("inc_iallreduce",
               lib.inc_iallreduce(group, c.c_void_p(-1), buf, 700, I32, SUM, c.byref(req)), 0)
    barrier = Request()
    expect("inc_ibarrier", lib.inc_ibarrier(group, c.byref(barrier)), 0)
    poll.modify(lib.inc_fd(group), select.POLLIN)
    while lib.inc_test(c.byref(barrier)) == -errno.EAGAIN:
        if not poll.poll(30000):
            sys.exit(f"rank {RANK}: the descriptor did not become readable")
    for k, (buf, req) in enumerate(zip(bufs, reqs)):
        expect("inc_wait", lib.inc_wait(c.byref(req), -1), 0)
        expect("inc_wait, again", lib.inc_wait(c.byref(req), 0), 0)
        expect("inc_test after inc_wait", lib.inc_test(c.byref(req)), 0)
        check_ints(buf, k)
    leave(group)


def test_persistent():
    """Prepared once, started often, with a barrier under way."""
    group = join()
    buf, req, barrier = (c.c_int32 * 800)(), Request(), Request()
    args = Args(coll=ALLREDUCE, type=I32, op=SUM, count=800, recv=c.addressof(buf))
    expect("inc_prepare", lib.inc_prepare(group, c.byref(args), c.byref(req)), 0)
    expect("inc_wait before inc_start", lib.inc_wait(c.byref(req), 0), 0)
    for k in range(5):
        buf[:] = ints(800, k)
        expect("inc_start", lib.inc_start(c.byref(req)), 0)
        expect("inc_start while it goes on", lib.inc_start(c.byref(req)), -errno.EBUSY)
        expect("inc_ibarrier", lib.inc_ibarrier(group, c.byref(barrier)), 0)
        expect("inc_wait", lib.inc_wait(c.byref(req), -1), 0)
        check_ints(buf, k)
        expect("inc_wait", lib.inc_wait(c.byref(barrier), -1), 0)
    expect("inc_start of no prepared one", lib.inc_start(c.byref(barrier)), -errno.EINVAL)
    check_released(req)
    check_registered(group)
    leave(group)


def check_released(req):
    expect("inc_start", lib.inc_start(c.byref(req)), 0)
    expect("inc_release while it goes on", lib.inc_release(c.byref(req)), -errno.EBUSY)
    expect("inc_wait", lib.inc_wait(c.byref(req), -1), 0)
    expect("inc_release", lib.inc_release(c.byref(req)), 0)
    expect("inc_release, again", lib.inc_release(c.byref(req)), 0)
    expect("inc_start of what is released", lib.inc_start(c.byref(req)), -errno.EINVAL)


def check_registered(group):
    """Operations on registered memory work where others could not get its pages."""
    size = 16 * 4096
    memory = mmap.mmap(-1, size)
    at = c.addressof(c.c_char.from_buffer(memory))
    number = c.c_uint32()
    expect("inc_register", lib.inc_register(group, at, size, 1, c.byref(number)), 0)
    req = Request()
    for k in range(3):
        c.memmove(at + 100, ints(5000, k), 20000)
        expect("mprotect", libc.mprotect(at, size, 0), 0)
        expect("inc_iallreduce",
               lib.inc_iallreduce(group, None, at + 100, 5000, I32, SUM, c.byref(req)), 0)
        expect("inc_unregister", lib.inc_unregister(group, number), -errno.EBUSY)
        expect_text(text(group), f"memory {number.value} has not ended")
        expect("inc_wait", lib.inc_wait(c.byref(req), -1), 0)
        expect("mprotect", libc.mprotect(at, size, 3), 0)
        check_ints((c.c_int32 * 5000).from_buffer_copy(c.string_at(at + 100, 20000)), k)
    expect("inc_unregister", lib.inc_unregister(group, number), 0)
    expect("inc_unregister", lib.inc_unregister(group, number), -errno.ENOENT)
    expect("mprotect", libc.mprotect(at, size, 0), 0)
    expect("inc_iallreduce", lib.inc_iallreduce(group, None, at, 5000, I32, SUM, c.byref(req)),
           -errno.EFAULT)
    expect("inc_register", lib.inc_register(group, at, size, 0, c.byref(number)), -errno.EFAULT)
    expect_text(text(group), "there is no such memory")
    expect("mprotect", libc.mprotect(at, size, 3), 0)


def test_timeout():
    group = join()
    if RANK:
        time.sleep(2.5)
        allreduce(group)
    else:
        req, buf = Request(), ints(1000)
        expect("inc_iallreduce",
               lib.inc_iallreduce(group, None, buf, 1000, I32, SUM, c.byref(req)), 0)
        expect("inc_test", lib.inc_test(c.byref(req)), -errno.EAGAIN)
        expect("inc_wait", lib.inc_wait(c.byref(req), 200), -errno.ETIMEDOUT)
        expect_text(text(group), "within 200 ms")
        expect("inc_leave", lib.inc_leave(group), -errno.EBUSY)
        expect_text(text(group), "under way")
        expect("inc_wait", lib.inc_wait(c.byref(req), -1), 0)
        check_ints(buf)
    leave(group)


def test_group_timeout():
    """
    A blocking operation ends with its group's timeout, and the group with it: the other rank is
    told whose.
    """
    group, buf = join(), ints(1000)
    expect("inc_set_timeout", lib.inc_set_timeout(group, -1), -errno.EINVAL)
    expect_text(text(group), "timeout -1")
    if RANK:
        until_said("group_timeout")
        expect("inc_allreduce", lib.inc_allreduce(group, None, buf, 1000, I32, SUM),
               -errno.ECONNRESET)
        expect_text(text(group), "rank 0")
    else:
        expect("inc_set_timeout", lib.inc_set_timeout(group, 3000), 0)
        expect("inc_allreduce", lib.inc_allreduce(group, None, buf, 1000, I32, SUM),
               -errno.ETIMEDOUT)
        expect_text(text(group), "within 3000 ms", "waiting for rank 1", "the group has been ended")
        say("group_timeout")
        expect("inc_cancel", lib.inc_cancel(group), 0)
    leave(group)


def test_cancel():
    """Another thread ends the group while this one waits."""
    def cancel():
        lib.inc_cancel(group)
        say("cancel")

    group, buf = join(), ints(1000)
    if RANK:
        until_said("cancel")
    else:
        threading.Timer(0.3, cancel).start()
    expect("inc_allreduce", lib.inc_allreduce(group, None, buf, 1000, I32, SUM), -errno.ECONNRESET)
    expect_text(text(group), "rank 0")
    leave(group)


def test_mismatch():
    group = join()
    allreduce(group)
    n = 4096 + (RANK == 1)
    buf = ints(n)
    expect("inc_allreduce", lib.inc_allreduce(group, None, buf, n, I32, SUM), -errno.EPROTO)
    if STRIPES > 1:
        # both parts of it are others
        expect_text(text(group), "rank 1: allreduce i32 sum 2112", "allreduce i32 sum 2048")
        expect("a group that is over", lib.inc_barrier(group) < 0, True)
    else:
        expect_text(text(group), "rank 1: allreduce i32 sum 4097", "allreduce i32 sum 4096")
        allreduce(group, 500, 1)
    leave(group)


def test_lacks():
    """
    A node does not reduce i32. That is refused before it begins and counts as no operation, so that
    ranks that have tried it more or less often go on together.
    """
    group = join()
    n = 5000
    for k in range(3):
        for _ in range(RANK + 1):
            buf = ints(n, k)
            expect("inc_allreduce", lib.inc_allreduce(group, None, buf, n, I32, SUM),
                   -errno.EOPNOTSUPP)
            expect_text(text(group), "a node of the group does not reduce i32")
            expect("what it was to reduce", list(buf) == list(ints(n, k)), True)
        floats = (c.c_float * n)(*ints(n, k))
        expect("inc_allreduce f32", lib.inc_allreduce(group, None, floats, n, F32, SUM), 0)
        check_ints(floats, k)
    leave(group)


def test_threads():
    first, second = join(), join(GROUP + 500000)

    def work(group, k):
        for i in range(30):
            allreduce(group, 300 + i, k)

    threads = [threading.Thread(target=work, args=args) for args in ((first, 1), (second, 2))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    leave(first)
    leave(second)


def test_fork():
    group = join()
    allreduce(group)
    pid = os.fork()
    if not pid:
        allreduce(group, 800, 3)
        leave(group)
        os._exit(0)
    expect("the child", os.waitpid(pid, 0)[1], 0)
    allreduce(group, 900, 5)
    if RANK:
        buf = ints(1000)
        expect("inc_allreduce", lib.inc_allreduce(group, None, buf, 1000, I32, SUM),
               -errno.ECONNRESET)
        expect_text(text(group), "rank 0")
        say("fork")
        leave(group)
        return
    # inc_abort() ends it at once, though a child has the socket
    pid = os.fork()
    if not pid:
        until_said("fork")
        os._exit(0)
    lib.inc_abort(group)
    expect("the child", os.waitpid(pid, 0)[1], 0)


def test_signals():
    seen = []
    group = join()
    signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    if RANK:
        time.sleep(1)
    else:
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    for k in range(5):
        allreduce(group, 3000, k)
    signal.setitimer(signal.ITIMER_REAL, 0, 0)
    if not RANK and not seen:
        sys.exit("rank 0: no signal came")
    leave(group)


def test_arguments():
    group = join()
    buf = ints(10)
    cases = (
        ("type 99", lib.inc_allreduce(group, None, buf, 10, 99, SUM), errno.EINVAL, "type 99"),
        ("operation 77", lib.inc_allreduce(group, None, buf, 10, I32, 77), errno.EINVAL,
         "operation 77"),
        ("2^32 elements", lib.inc_allreduce(group, None, buf, 1 << 32, I32, SUM), errno.EINVAL,
         "4294967296"),
        ("recv NULL", lib.inc_allreduce(group, buf, None, 10, I32, SUM), errno.EINVAL,
         "recv is NULL"),
        ("bxor", lib.inc_allreduce(group, None, buf, 5, F32, BXOR), errno.EOPNOTSUPP, "f32"),
    )
    for what, ret, err, _ in cases:
        expect(what, ret, -err)
    lib.inc_allreduce(group, None, buf, 10, 99, SUM)
    expect_text(text(group), "type 99")
    lib.inc_allreduce(group, None, buf, 5, F32, BXOR)
    expect_text(text(group), "allreduce f32 bxor 5", "f32 has no bxor")
    expect("no element, no buffer", lib.inc_allreduce(group, None, None, 0, F32, SUM), 0)
    reason = c.create_string_buffer(300)
    expect("inc_why", lib.inc_why(group, ALLREDUCE, F32, SUM, 10, reason, 300), 0)
    expect_text(reason.value.decode(), "yes")
    expect("inc_why gather", lib.inc_why(group, GATHER, F32, 0, 10, reason, 300), 0)
    expect_text(reason.value.decode(), "as many bytes as without")
    expect("inc_why bxor", lib.inc_why(group, REDUCE, F32, BXOR, 10, reason, 300),
           -errno.EOPNOTSUPP)
    expect_text(reason.value.decode(), "f32 has no bxor")
    expect("an empty request", lib.inc_wait(c.byref(Request()), 0), 0)
    allreduce(group)
    leave(group)


def split(group, colour, key):
    """The new group, or None."""
    handle = c.c_void_p(1)
    expect("inc_split", lib.inc_split(c.byref(handle), group, colour, key, 0), 0)
    return handle if handle else None


def sum_of(group, value):
    """Over all ranks of the group."""
    buf = (c.c_int32 * 1)(value)
    if lib.inc_allreduce(group, None, buf, 1, I32, SUM):
        sys.exit(f"rank {RANK}: inc_allreduce returned an error: {text(group)}")
    return buf[0]


def test_split():
    group = join()
    # odd and even ones, in reverse order
    half = split(group, RANK % 2, -RANK)
    others = range(RANK % 2, SIZE, 2)
    expect("the size", lib.inc_size(half), len(others))
    expect("the rank", lib.inc_rank(half), list(reversed(others)).index(RANK))
    expect("the sum of the half", sum_of(half, 1 << RANK), sum(1 << r for r in others))
    expect("the sum of all", sum_of(group, 1 << RANK), (1 << SIZE) - 1)
    # of those, by the parents' order; the last rank is in none
    rest = split(group, NO_COLOUR if RANK == SIZE - 1 else 7, 3)
    expect("is in the new group", rest is not None, RANK != SIZE - 1)
    if rest:
        expect("the rank", lib.inc_rank(rest), RANK)
        expect("the sum of the rest", sum_of(rest, 1 << RANK), (1 << SIZE - 1) - 1)
        leave(rest)
    copy = c.c_void_p()
    expect("inc_dup", lib.inc_dup(c.byref(copy), half, 0), 0)
    expect("the rank", lib.inc_rank(copy), lib.inc_rank(half))
    leave(half)
    expect("the sum of the copy", sum_of(copy, 1 << RANK), sum(1 << r for r in others))
    leave(copy)
    expect("colour -5", lib.inc_split(c.byref(copy), group, -5, 0, 0), -errno.EINVAL)
    expect_text(text(group), "colour -5: expected 0..")
    leave(group)


def test_split_default():
    """A group that is made of one meets at its node, though the default has become another one."""
    group = join()
    node = os.environ["NODE"]
    if not RANK:
        subprocess.run(["inc", "parent", "set", "10.7.0.2"], check=True)
    copy = c.c_void_p()
    try:
        expect("inc_dup", lib.inc_dup(c.byref(copy), group, 20000), 0)
    finally:
        subprocess.run(["inc", "parent", "set", node], check=True)
    expect("the sum of the copy", sum_of(copy, 1 << RANK), (1 << SIZE) - 1)
    leave(copy)
    leave(group)


def start(group, buf, req):
    expect("inc_iallreduce",
           lib.inc_iallreduce(group, None, buf, len(buf), I32, SUM, c.byref(req)), 0)


def test_wait_any():
    group = join()
    copy = c.c_void_p()
    expect("inc_dup", lib.inc_dup(c.byref(copy), group, 0), 0)
    bufs, reqs = [ints(10, k) for k in range(4)], [Request() for _ in range(4)]
    # and one that is NULL
    some = (c.POINTER(Request) * 4)(*[c.pointer(req) for req in reqs[:3]])
    which = c.c_size_t()

    def any_of(ms):
        return lib.inc_wait_any(some, len(some), ms, c.byref(which))

    # what nobody waits for here is to be collected, too
    start(copy, bufs[3], reqs[3])
    if RANK:
        start(copy, bufs[1], reqs[1])
        until_said("any")
    start(group, bufs[0], reqs[0])
    if not RANK:
        start(copy, bufs[1], reqs[1])
        start(copy, bufs[2], reqs[2])
        expect("the first", (any_of(-1), which.value), (0, 1))
        check_ints(bufs[1], 1)
        expect("none", (any_of(50), which.value), (-errno.ETIMEDOUT, 4))
        say("any")
    else:
        start(copy, bufs[2], reqs[2])
    expect("all", lib.inc_wait_all(some, len(some), -1), 0)
    check_ints(bufs[0], 0)
    check_ints(bufs[2], 2)
    ended = 0
    while any_of(0) == 0:
        ended |= 1 << which.value
    expect("all of them", ended, 0b101 if not RANK else 0b111)
    expect("no request", (any_of(-1), which.value), (-errno.ENOENT, 4))
    expect("the last", lib.inc_wait(c.byref(reqs[3]), -1), 0)
    leave(copy)
    leave(group)


if __name__ == "__main__":
    for test in sys.argv[1:]:
        GROUP += 1
        os.environ["INC_GROUP"] = str(GROUP)
        globals()["test_" + test]()
        print(f"{test}: passed", flush=True)
