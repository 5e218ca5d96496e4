# SPDX-License-Identifier: GPL-2.0-only
"""
The socket ABI by its bytes, without libinc: what is refused and with which errno, connect() without
blocking, send() and recv(), poll and epoll, waiting and its limits, signals. Started by
23-process.sh; ranks of h1, h2 and h3.
"""
import array
import ctypes
import errno
import mmap
import os
import select
import signal
import socket
import struct
import time

import inc_abi as abi
import inc_wire as w
from inc_abi import (BARRIER, COMPLETION, IOC_SUBMIT, IOC_SUBMIT_AND_WAIT, IOC_WAIT,
                     LEAVE, NODE4, SIZES, SUBMIT, WAIT_HEAD, Completion, Job, Rank, equal, fails,
                     sockaddr, submit, test, tool, wait_until)
from inc_proc import PAGE, Pages, beside, ended, libc, new_group

REDUCE_SCATTER, ALLGATHER, ALLTOALL, SCAN = 4, 6, 9, 10
BXOR, MINLOC, AVG = 7, 11, 13
SHRINK = 1                                                      # INC_SA_SHRINK
# INC_SA_EDGE: not without an address
EDGE = 2
KEPT = []

libc.ioctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p]


class Lab:
    def __init__(self):
        self.job = Job(new_group(), ("h1", "h2", "h3"))

    def rank(self):
        return self.job.ranks[0]


def raw_ioctl(fd, request, at):
    if libc.ioctl(fd, request, at) < 0:
        e = ctypes.get_errno()
        raise OSError(e, os.strerror(e))


@test("socket: types, protocols and calls that are none of it")
def t_socket(lab):
    del lab
    fails(errno.ESOCKTNOSUPPORT, socket.socket, abi.family(), socket.SOCK_STREAM, 0)
    fails(errno.ESOCKTNOSUPPORT, socket.socket, abi.family(), socket.SOCK_DGRAM, 0)
    fails(errno.EPROTONOSUPPORT, socket.socket, abi.family(), socket.SOCK_SEQPACKET, 1)
    fails(errno.EOPNOTSUPP, socket.socketpair, abi.family(), socket.SOCK_SEQPACKET, 0)
    rank = Rank("h1")
    fails(errno.EOPNOTSUPP, rank.sock.listen, 1)
    equal((libc.accept(rank.fd, None, None), ctypes.get_errno()), (-1, errno.EOPNOTSUPP), "accept")
    fails(errno.EOPNOTSUPP, rank.sock.shutdown, socket.SHUT_RD)
    fails(errno.EOPNOTSUPP, rank.sock.shutdown, socket.SHUT_WR)
    fails(errno.ENOTCONN, rank.sock.shutdown, socket.SHUT_RDWR)
    equal((libc.bind(rank.fd, bytes(64), 64), ctypes.get_errno()), (-1, errno.EOPNOTSUPP), "bind")
    rank.close()


@test("socket: what is not connected says so")
def t_unconnected(lab):
    del lab
    rank = Rank("h1")
    fails(errno.ENOTCONN, rank.submit, coll=BARRIER, dtype=0, op=0)
    fails(errno.ENOTCONN, rank.wait)
    fails(errno.ENOTCONN, rank.ioctl, IOC_SUBMIT_AND_WAIT, bytes(SIZES["submit_wait"]))
    fails(errno.ENOTCONN, rank.ioctl, abi.IOC_SUBMIT_MANY, bytes(SIZES["submit_many"]))
    fails(errno.ENOTCONN, rank.ioctl, abi.IOC_WAIT_MANY, bytes(SIZES["wait_many"]))
    fails(errno.ENOTCONN, rank.sock.recv, 100)
    info = rank.info()
    equal((info["state"], info["missing"]), (abi.CLOSED, abi.NO_RANK), "INFO of it")
    equal(rank.poll(select.POLLIN | select.POLLOUT, 0), select.POLLHUP, "poll of it")
    equal(libc.getpeername(rank.fd, ctypes.create_string_buffer(64), ctypes.byref(ctypes.c_int(64))), -1, "getpeername")
    equal(ctypes.get_errno(), errno.ENOTCONN, "its errno")
    rank.close()


def forbidden_by(selector):
    abi.tool("ip", "-n", "h1", "rule", "add", "pref", "10", *selector.split(), "unreachable")


@test("connect: mark and user of the socket decide on its route, as of any other")
def t_route(lab):
    del lab
    rank, marked = Rank("h1"), Rank("h1")
    marked.sock.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, 7)
    forbidden_by("fwmark 7")
    fails(errno.ENETUNREACH, marked.connect, sockaddr(1, 0, 1))
    rank.start(1, 0, 1)
    rank.joined()
    abi.tool("ip", "-n", "h1", "rule", "del", "pref", "10")
    uid = os.getuid()
    forbidden_by(f"uidrange {uid}-{uid}")
    fails(errno.ENETUNREACH, marked.connect, sockaddr(2, 0, 1))
    abi.tool("ip", "-n", "h1", "rule", "del", "pref", "10")
    marked.start(2, 0, 1)
    marked.joined()
    for one in (rank, marked):
        one.close()


@test("connect: a mark that the socket gets afterwards decides, too")
def t_new_mark(lab):
    del lab
    rank = Rank("h1")
    # before the first route is looked up: a new rule makes all of them be looked up again
    forbidden_by("fwmark 7")
    rank.start(new_group(), 0, 1)
    rank.joined()
    rank.check(rank.allreduce(range(10)), array.array("i", range(10)))
    rank.sock.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, 7)
    before = abi.counters("h1").get("tx_errors", 0)
    handle = rank.allreduce(range(10))
    wait_until(lambda: abi.counters("h1").get("tx_errors", 0) > before,
               "what it sends has no route")
    rank.sock.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, 0)
    rank.check(handle, array.array("i", range(10)))
    abi.tool("ip", "-n", "h1", "rule", "del", "pref", "10")
    rank.close()


@test("connect: addresses that are wrong in one field")
def t_addresses(lab):
    del lab
    rank, good = Rank("h1"), sockaddr(1, 0, 1)
    fails(errno.EINVAL, rank.connect, good[:47])
    fails(errno.EINVAL, rank.connect, good[:16])
    fails(errno.E2BIG, rank.connect, good + b"\1")
    fails(errno.E2BIG, rank.connect, good + bytes(128 - len(good) - 1) + b"\1")
    fails(errno.EAFNOSUPPORT, rank.connect, sockaddr(1, 0, 1, family_number=socket.AF_INET))
    fails(errno.EAFNOSUPPORT, rank.connect,
          sockaddr(1, 0, 1, family_number=socket.AF_INET) + b"\1")
    for bad in (sockaddr(1, 0, 0), sockaddr(1, 1, 1), sockaddr(1, 5, 4), sockaddr(1, 0, 4097),
                sockaddr(1, 0, 1, flags=EDGE), sockaddr(1, 0, 1, flags=0x8),
                sockaddr(1, 0, 1, flags=0x100), sockaddr(1, 0, 1, flags=0xa00),
                sockaddr(1, 0, 1, flags=0x4000),
                sockaddr(1, 0, 1, flags=0x8000),
                sockaddr(1, 0, 1, port=5227), sockaddr(1, 0, 1, scope=1),
                sockaddr(1, 0, 1, parent="224.0.0.1"),
                sockaddr(1, 0, 1, parent="255.255.255.255"), sockaddr(1, 0, 1, parent="0.0.0.0"),
                sockaddr(1, 0, 1, parent="::"), sockaddr(1, 0, 1, parent="ff02::1"),
                sockaddr(1, 0, 1, parent="fe80::1"), sockaddr(1, 0, 1, parent="::ffff:10.7.0.1"),
                sockaddr(1, 0, 1, parent=NODE4, scope=1)):
        fails(errno.EINVAL, rank.connect, bad)
    odd = bytearray(sockaddr(1, 0, 1, parent=NODE4))
    struct.pack_into("=H", odd, 16, 77)
    fails(errno.EAFNOSUPPORT, rank.connect, bytes(odd))
    odd = bytearray(sockaddr(1, 0, 1, parent=NODE4))
    odd[24 + 4] = 1                                     # behind the four bytes of an IPv4 address
    fails(errno.EINVAL, rank.connect, bytes(odd))
    fails(errno.ENETUNREACH, rank.connect, sockaddr(1, 0, 1, parent="10.99.0.1"))
    fails(errno.ENOTCONN, rank.connect, sockaddr(1, 0, 1, flags=SHRINK))
    equal(rank.info()["state"], abi.CLOSED, "state after all that")
    # and it is still good for the right one, zeros behind it
    rank.connect(sockaddr(new_group(), 0, 1) + bytes(32))
    rank.close()


@test("connect: without blocking, asked again, and twice")
def t_nonblock(lab):
    del lab
    group = new_group()
    first, second = Rank("h1"), Rank("h2")
    address = sockaddr(group, 0, 2)
    first.start(group, 0, 2)
    first.sock.setblocking(False)
    fails(errno.EALREADY, first.connect, address)
    equal(first.poll(select.POLLOUT | select.POLLIN, 50), 0, "poll while ranks are missing")
    fails(errno.ENOTCONN, first.submit, coll=BARRIER, dtype=0, op=0)
    wait_until(lambda: first.info()["state"] == abi.WAITING, "rank 0 waits")
    info = first.info()
    equal((info["joined"], info["missing"], info["size"]), (1, 1, 2), "joined, missing, size")
    twin = Rank("h1")
    fails(errno.EADDRINUSE, twin.connect, address)
    twin.close()
    second.connect(sockaddr(group, 1, 2))               # this one blocks until both are there
    first.joined()
    first.connect(address)
    fails(errno.EISCONN, first.connect, address)
    fails(errno.EISCONN, second.connect, sockaddr(group, 1, 2))
    first.close()
    second.close()


@test("connect: refused, as seen by poll, SO_ERROR and the next connect")
def t_refused(lab):
    del lab
    rank = Rank("h2")
    rank.start(new_group(), 0, 2, parent="10.7.0.1")    # h1: there are ranks, but no node
    equal(rank.poll(select.POLLOUT, 10000) & (select.POLLERR | select.POLLHUP),
          select.POLLERR | select.POLLHUP, "poll")
    equal(rank.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), errno.ECONNREFUSED, "SO_ERROR")
    equal(rank.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), 0, "SO_ERROR, read again")
    fails(errno.ECONNREFUSED, rank.connect, sockaddr(1, 0, 2))
    rank.connect(sockaddr(new_group(), 0, 1))           # the socket can be used for another one
    rank.close()


def fail_without(job, gone):
    """One rank leaves while the others are in an operation."""
    others = [r for r in range(len(job.ranks)) if r != gone]
    handles = job.begin(others, 10)
    job.ranks.pop(gone).close()
    for rank, handle in zip(job.ranks, handles.values()):
        equal(rank.wait(handle).result, -errno.ECONNRESET, "result when a rank has gone")
    return handles


@test("connect: on with the ranks that are left, when the group has failed")
def t_shrink(lab):
    del lab
    job = Job(new_group(), ("h1", "h2", "h3"))
    fails(errno.EISCONN, job.ranks[2].connect, sockaddr(job.group, 2, 3, flags=SHRINK))
    job.run(10)
    last = max(fail_without(job, 1).values())
    zero, two = job.ranks
    fails(errno.EISCONN, two.connect, sockaddr(job.group, 2, 3))
    for bad in ((job.group + 1, 2, 3), (job.group, 1, 3), (job.group, 1, 2), (job.group, 2, 4)):
        fails(errno.EINVAL, two.connect, sockaddr(*bad, flags=SHRINK))
    two.start(job.group, 2, 3, flags=SHRINK)
    wait_until(lambda: two.info()["state"] == abi.WAITING, "rank 2 waits")
    equal((two.info()["rank"], two.info()["size"], two.info()["missing"]), (2, 3, 0),
          "rank, size, missing before")
    zero.connect(sockaddr(job.group, 0, 3, flags=SHRINK))
    two.joined()
    for rank, number in ((zero, 0), (two, 1)):
        info = rank.info()
        equal((info["rank"], info["size"], info["submitted"]), (number, 2, 0),
              "rank, size, operations after")
    name, size = ctypes.create_string_buffer(64), ctypes.c_int(64)
    equal(libc.getsockname(two.fd, name, ctypes.byref(size)), 0, "getsockname")
    equal(abi.SOCKADDR.unpack_from(name.raw)[2:5], (job.group, 1, 2),
          "group, rank, size of the name")
    fails(errno.ENOENT, two.wait, last)
    job.run(1000)
    if two.allreduce(range(10)) <= last:
        raise AssertionError("the number of an operation has come again")
    zero.allreduce(range(10))
    job.close()


@test("connect: a rank that comes too late is out")
def t_out(lab):
    del lab
    job = Job(new_group(), ("h1", "h2", "h3"))
    fail_without(job, 0)
    one, two = job.ranks
    one.connect(sockaddr(job.group, 1, 3, flags=SHRINK))        # blocks for the dead limit
    equal((one.info()["rank"], one.info()["size"]), (0, 1), "rank and size of the last one")
    equal(one.wait(one.submit(coll=BARRIER, dtype=0, op=0)).result, 0, "a barrier of one")
    for _ in range(2):
        fails(errno.ESTALE, two.connect, sockaddr(job.group, 2, 3, flags=SHRINK))
    one.close()
    wait_until(lambda: job.group not in abi.groups("sw"), "the group has gone", 30)
    fails(errno.ESTALE, two.connect, sockaddr(job.group, 2, 3, flags=SHRINK))
    two.connect(sockaddr(new_group(), 0, 1))
    fails(errno.EISCONN, two.connect, sockaddr(job.group, 2, 3, flags=SHRINK))
    two.close()


@test("submit: every field that must be what it is")
def t_fields(lab):
    rank, mem = lab.rank(), Pages(2)
    good = {"count": 16, "send": mem.at, "recv": mem.at + PAGE}
    for bad in ({"mode": 2}, {"mode": 8}, {"mode": 0x80}, {"resv0": b"\1\0\0"},
                {"resv0": b"\0\0\1"}, {"flags": 1},
                {"flags": 1 << 31}, {"recv_counts": 1}, {"send_counts": 1}, {"recv_displs": 1},
                {"send_displs": 1},
                {"weight": 1}, {"root": 1}, {"root": 3}, {"dtype": 0}, {"dtype": 26},
                {"dtype": 255},
                {"op": 0}, {"op": 15}, {"op": 255}, {"coll": ALLGATHER},
                {"coll": ALLGATHER, "op": 0, "mode": 1}):
        fails(errno.EINVAL, rank.ioctl, IOC_SUBMIT, submit(**{**good, **bad}))
    for bad in ({"coll": 0}, {"coll": LEAVE}, {"coll": 13}, {"coll": 255}, {"mode": 1},
                {"wire": w.F32}, {"wire": 10},
                {"op": MINLOC}, {"dtype": w.F32, "op": BXOR}, {"dtype": w.F32, "mode": 1},
                {"coll": SCAN, "op": AVG}):
        fails(errno.EOPNOTSUPP, rank.ioctl, IOC_SUBMIT, submit(**{**good, **bad}))
    for count in (1 << 32, 1 << 63, (1 << 64) - 1):
        fails(errno.EOVERFLOW, rank.ioctl, IOC_SUBMIT, submit(**{**good, "count": count}))
    for bad in ({"dtype": w.I32}, {"op": w.SUM}, {"wire": w.I32}, {"count": 1}, {"root": 1},
                {"flags": 1}):
        fails(errno.EINVAL, rank.ioctl, IOC_SUBMIT,
              submit(**{"coll": BARRIER, "dtype": 0, "op": 0, **bad}))
    equal(rank.info()["submitted"], 0, "operations submitted")
    lab.job.run(100)
    mem.free()


def u64s(*values):
    """The address of an array, which is kept."""
    KEPT.append(array.array("Q", values))
    return KEPT[-1].buffer_info()[0]


@test("submit: what is refused leaves no handle of before")
def t_no_handle(lab):
    refused = submit(coll=BARRIER, dtype=0, op=0, count=1, handle=1 << 40)
    for request, raw in ((IOC_SUBMIT, refused),
                         (IOC_SUBMIT_AND_WAIT,
                          refused + WAIT_HEAD.pack(0, 0) + bytes(SIZES["completion"]))):
        mem = (ctypes.c_char * len(raw)).from_buffer(bytearray(raw))
        fails(errno.EINVAL, raw_ioctl, lab.rank().fd, request, ctypes.addressof(mem))
        equal(SUBMIT.unpack_from(bytes(mem))[-2], 0, "the handle")


@test("submit: counts and displacements that make no sense")
def t_counts(lab):
    rank, mem = lab.rank(), Pages(4)
    gather = {"coll": ALLGATHER, "op": 0, "mode": 2, "count": 1, "send": mem.at,
              "recv": mem.at + PAGE, "recv_counts": u64s(1, 2, 3)}
    alltoall = {**gather, "coll": ALLTOALL, "count": 0, "send_counts": u64s(1, 1, 1)}
    big = 1 << 32
    for err, bad in ((errno.EINVAL, {**gather, "recv_counts": 0}),
                     (errno.EINVAL, {**gather, "count": 2}),
                     (errno.EINVAL, {**gather, "recv_displs": u64s(0, 0, 10)}),
                     (errno.EINVAL, {**gather, "recv_displs": u64s(4, 3, 10)}),
                     (errno.EINVAL, {**gather, "send": mem.at + PAGE + 4}),
                     (errno.EFAULT, {**gather, "recv_counts": 8}),
                     (errno.EFAULT, {**gather, "recv_displs": 8}),
                     (errno.EFAULT, {**gather, "send": 0}),
                     (errno.EFAULT, {**gather, "recv_displs": u64s(0, 1, 1 << 40)}),
                     (errno.EOVERFLOW, {**gather, "recv_displs": u64s(0, 1, 1 << 60)}),
                     (errno.EOVERFLOW, {**gather, "recv_counts": u64s(1, big, 1)}),
                     (errno.EOVERFLOW, {**gather, "recv_counts": u64s(1, big - 1, big - 1)}),
                     (errno.EOVERFLOW, {"coll": ALLGATHER, "op": 0, "count": big // 3 + 1}),
                     (errno.EINVAL, {**alltoall, "send_counts": 0}),
                     (errno.EINVAL, {**alltoall, "recv_counts": 0}),
                     (errno.EINVAL, {**alltoall, "count": 1}),
                     (errno.EINVAL, {**alltoall, "send_counts": u64s(2, 1, 1)}),
                     (errno.EINVAL, {**alltoall, "send": mem.at + PAGE}),
                     (errno.EINVAL,
                      {**alltoall, "coll": REDUCE_SCATTER, "op": w.SUM,
                       "recv_displs": u64s(0, 1, 2)})):
        fails(err, rank.ioctl, IOC_SUBMIT, submit(**bad))
    equal(rank.info()["submitted"], rank.info()["completed"], "operations under way")
    equal(ctypes.string_at(mem.at, mem.size), bytes(mem.size), "memory")
    lab.job.run(100)
    mem.free()


@test("submit: memory that is not there, must not be written, or overlaps")
def t_memory(lab):
    rank, mem, hole, locked = lab.rank(), Pages(4), Pages(1), Pages(2)
    hole.free()
    locked.protect(mmap.PROT_READ)
    n = PAGE // 4
    cases = ((errno.EFAULT, hole.at, mem.at, n), (errno.EFAULT, mem.at, hole.at, n),
             (errno.EFAULT, hole.at, hole.at, 1), (errno.EFAULT, 0, mem.at, 1),
             (errno.EFAULT, mem.at, 0, 1),
             (errno.EFAULT, mem.at, locked.at, n),
             (errno.EFAULT, locked.at, locked.at, n), (errno.EFAULT, mem.at, 1 << 63, n),
             (errno.EFAULT, (1 << 64) - PAGE, mem.at, n), (errno.EFAULT, mem.at, (1 << 64) - 4, 2),
             (errno.EINVAL, mem.at, mem.at + 4, n), (errno.EINVAL, mem.at + 4, mem.at, n),
             (errno.EINVAL, mem.at, mem.at + PAGE - 1, n))
    for err, send, recv, count in cases:
        fails(err, rank.ioctl, IOC_SUBMIT, submit(count=count, send=send, recv=recv))
    whole = Pages(3)
    whole.protect(0, 2)                                 # begins well, ends in nothing
    fails(errno.EFAULT, rank.ioctl, IOC_SUBMIT, submit(count=2 * n + 1, send=whole.at, recv=mem.at))
    fails(errno.EFAULT, rank.ioctl, IOC_SUBMIT, submit(count=2 * n + 1, send=mem.at, recv=whole.at))
    # blocks of 33 and 17 bytes: of these counts 32 bits have some bytes only; the last one is cut
    for dtype, size in ((22, 33), (24, 17), (25, 33)):
        for count in (1 << 32) // size + 1, (1 << 32) - 1, 2 * PAGE // size + 1:
            for send, recv in (mem.at, whole.at), (whole.at, mem.at), (whole.at, whole.at):
                fails(errno.EFAULT, rank.ioctl, IOC_SUBMIT,
                      submit(dtype=dtype, op=w.SUM, count=count, send=send, recv=recv))
    equal(rank.info()["submitted"], 0 + rank.info()["completed"], "operations under way")
    # read-only memory may be sent, and neighbours are no overlap
    others = lab.job.begin((1, 2), n, 1)
    ctypes.memmove(mem.at, array.array("i", lab.job.values(0, n, 1)).tobytes(), PAGE)
    mem.protect(mmap.PROT_READ | mmap.PROT_WRITE)
    handle = rank.submit(count=n, send=mem.at, recv=mem.at + PAGE)
    equal(rank.wait(handle).result, 0, "result")
    equal(ctypes.string_at(mem.at + PAGE, PAGE), lab.job.expected(n, 1).tobytes(), "what came")
    lab.job.end(others, n, 1)
    for pages in (mem, locked, whole):
        pages.free()


@test("ioctl: unknown ones, other sizes, pointers to nowhere")
def t_ioctl(lab):
    rank = lab.rank()
    for request in (0, 0x1234, abi.IOC_UNREGISTER + 1, abi.ioc(3, 0xc0, 64), abi.ioc(3, 0xc0, 80),
                    abi.ioc(3, 0xbf, SIZES["submit"]), abi.ioc(2, 0xc3, 168),
                    abi.ioc(1, 0xc0, SIZES["submit"])):
        fails(errno.ENOTTY, raw_ioctl, rank.fd, request,
              ctypes.addressof(ctypes.create_string_buffer(200)))
    for request in (IOC_SUBMIT, IOC_WAIT, IOC_SUBMIT_AND_WAIT):
        fails(errno.EFAULT, raw_ioctl, rank.fd, request, 8)
    mem = Pages(1)
    mem.protect(mmap.PROT_READ)
    fails(errno.EFAULT, raw_ioctl, rank.fd, IOC_SUBMIT, mem.at)
    mem.free()
    lab.job.run(100)


def raw_getsockopt(fd, at, size, name=abi.SO_INFO, level=abi.SOL_INC):
    """Returns what the kernel says is the length."""
    length = ctypes.c_int(size)
    if libc.getsockopt(fd, level, name, ctypes.c_void_p(at), ctypes.byref(length)):
        e = ctypes.get_errno()
        raise OSError(e, os.strerror(e))
    return length.value


def whole_info(rank):
    return rank.sock.getsockopt(abi.SOL_INC, abi.SO_INFO, SIZES["info"])


def between_changes(rank, size):
    """
    What @rank says of itself; and a buffer with the first @size bytes of it, and the length that
    the kernel has said, with nothing changed in between: round trips are measured meanwhile.
    """
    for _ in range(100):
        want = whole_info(rank)
        buf = ctypes.create_string_buffer(b"\xaa" * 4200, 4200)
        told = raw_getsockopt(rank.fd, ctypes.addressof(buf), size)
        if whole_info(rank) == want:
            return want, buf, told
    raise AssertionError("information changes all the time")


@test("getsockopt: information as long as both sides know it, zeros behind it")
def t_getsockopt(lab):
    rank, whole = lab.rank(), SIZES["info"]
    equal(len(whole_info(rank)), whole, "length")
    for size in (0, 1, 40, whole - 1, whole, whole + 1, 300, 4096):
        known = min(size, whole)
        want, buf, told = between_changes(rank, size)
        equal(told, known, f"length of {size}")
        equal(buf.raw[:known], want[:known], f"the first of {size} bytes")
        equal(buf.raw[known:size], bytes(size - known), f"what is behind them of {size}")
        equal(buf.raw[size:], b"\xaa" * (4200 - size), f"what is not ours of {size}")
    at = ctypes.addressof(buf)
    for size in (-1, 4097, 1 << 30):
        fails(errno.EINVAL, raw_getsockopt, rank.fd, at, size)
    for level, name in ((abi.SOL_INC, 0), (abi.SOL_INC, abi.SO_KEY), (abi.SOL_INC, 3), (6, 2)):
        fails(errno.ENOPROTOOPT, raw_getsockopt, rank.fd, at, whole, name, level)
    fails(errno.EFAULT, raw_getsockopt, rank.fd, 8, whole)
    mem = Pages(2)
    mem.protect(mmap.PROT_READ, 1)
    fails(errno.EFAULT, raw_getsockopt, rank.fd, mem.at + PAGE - whole + 1, whole)
    fails(errno.EFAULT, raw_getsockopt, rank.fd, mem.at + PAGE - whole, whole + 1)
    equal(raw_getsockopt(rank.fd, mem.at + PAGE - whole, whole), whole, "to the end of a page")
    equal(libc.getsockopt(rank.fd, abi.SOL_INC, abi.SO_INFO, ctypes.c_void_p(at), None), -1,
          "without a length")
    equal(ctypes.get_errno(), errno.EFAULT, "its errno")
    mem.free()


@test("setsockopt: the key has its length, can be set before a group and after it, and is not told")
def t_setsockopt(lab):
    rank, key = Rank("h1"), b"k" * 16
    for bad in (b"", key[1:], key + b"k", bytes(4096)):
        fails(errno.EINVAL, rank.set_key, bad)
    for level, name in ((abi.SOL_INC, 0), (abi.SOL_INC, abi.SO_INFO), (abi.SOL_INC, 4), (6, 1)):
        fails(errno.ENOPROTOOPT, rank.sock.setsockopt, level, name, key)
    # types, then operations: there is no type 0, nor one of the last bit
    for bad in (b"", bytes(4), bytes(12), struct.pack("II", 1, 0), struct.pack("II", 1 << 31, 0),
                struct.pack("II", 0, 1), struct.pack("II", 0, 1 << 31)):
        fails(errno.EINVAL, rank.sock.setsockopt, abi.SOL_INC, abi.SO_REDUCES, bad)
    rank.sock.setsockopt(abi.SOL_INC, abi.SO_REDUCES, bytes(8))
    equal(libc.setsockopt(rank.fd, abi.SOL_INC, abi.SO_KEY, ctypes.c_void_p(8), 16), -1, "nowhere")
    equal(ctypes.get_errno(), errno.EFAULT, "its errno")
    tool("inc", "-n", "sw", "node", "set", "dev", "br0", "key", key.hex())
    try:
        address = sockaddr(new_group(), 0, 2)
        fails(errno.EACCES, rank.connect, address)
        rank.set_key(bytes(16))                         # none
        fails(errno.EACCES, rank.connect, address)
        rank.set_key(key)
        second = Rank("h2")
        second.set_key(key)
        rank.start(new_group(), 0, 2)
        fails(errno.EISCONN, rank.set_key, key)         # it is on its way
        second.start(rank.group, 1, 2)
        rank.joined()
        second.joined()
        fails(errno.EISCONN, rank.set_key, key)
        second.sock.shutdown(socket.SHUT_RDWR)
        wait_until(lambda: rank.info()["state"] == abi.FAILED, "the group has failed")
        rank.set_key(key[::-1])                         # of what comes next
    finally:
        tool("inc", "-n", "sw", "node", "set", "dev", "br0", "key", "none")
    rank.close()
    second.close()


@test("recv: completions through the socket call; what is written is no operation")
def t_recv(lab):
    ranks = lab.job.ranks
    # another's program writes what it is told, and where it is told to
    for raw in (b"", bytes(SIZES["submit"]), submit(count=500)):
        fails(errno.EOPNOTSUPP, ranks[0].sock.send, raw)
        fails(errno.EOPNOTSUPP, os.write, ranks[0].fd, raw)
    fails(errno.EAGAIN, ranks[0].sock.recv, SIZES["completion"], socket.MSG_DONTWAIT)
    for flag in (socket.MSG_PEEK, socket.MSG_OOB):
        fails(errno.EOPNOTSUPP, ranks[0].sock.recv, SIZES["completion"], flag)
    equal(ranks[0].poll(select.POLLIN | select.POLLOUT, 0), select.POLLOUT, "poll before")
    bufs = [[rank.ints(lab.job.values(i, 500, k)) for k in range(4)]
            for i, rank in enumerate(ranks)]
    for k in range(4):
        for i, rank in enumerate(ranks):
            send, recv = bufs[i][k]
            rank.submit(count=500, send=send.buffer_info()[0], recv=recv.buffer_info()[0],
                        user_data=k << 60 | i)
    fails(errno.EMSGSIZE, ranks[0].sock.recv, SIZES["completion"] - 1)
    for i, rank in enumerate(ranks):
        epoll = select.epoll()
        epoll.register(rank.fd, select.EPOLLIN)
        handles = []
        for k in range(4):
            equal(epoll.poll(10), [(rank.fd, select.EPOLLIN)], "epoll")
            raw = rank.sock.recv(100)
            equal(len(raw), SIZES["completion"], "recv")
            done = Completion(raw)
            equal((done.result, done.user_data), (0, k << 60 | i), "result and user_data")
            equal(bufs[i][k][1].tobytes(), lab.job.expected(500, k).tobytes(),
                  f"what rank {i} got of operation {k}")
            handles.append(done.handle)
        if handles != sorted(handles) or len(set(handles)) != 4:
            raise AssertionError(f"handles {handles}: expected rising ones")
        equal(epoll.poll(0), [], "epoll afterwards")
        epoll.close()
    ranks[0].sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("=qq", 0, 50000))
    fails(errno.EAGAIN, ranks[0].sock.recv, SIZES["completion"])
    ranks[0].sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, bytes(16))


@test("wait: handles, limits, and that a completion is collected once")
def t_wait(lab):
    rank = lab.rank()
    fails(errno.ENOENT, rank.wait)
    fails(errno.ENOENT, rank.wait, 1 << 60, 0)
    fails(errno.EINVAL, rank.wait, 0, -2)
    first = lab.job.begin((0,), 300, 1)
    handle = first[0]
    fails(errno.EAGAIN, rank.wait, handle, 0)
    fails(errno.EAGAIN, rank.wait, 0, 0)
    begin = time.monotonic()
    fails(errno.ETIMEDOUT, rank.wait, handle, 100)
    fails(errno.ETIMEDOUT, rank.wait, 0, 100)
    if not 0.19 < time.monotonic() - begin < 5:
        raise AssertionError(f"two waits of 100 ms took {time.monotonic() - begin:.3f} s")
    raw = rank.ioctl
    fails(errno.EINVAL, raw, IOC_SUBMIT_AND_WAIT,
          submit(coll=BARRIER, dtype=0, op=0) + WAIT_HEAD.pack(0, -2) + bytes(SIZES["completion"]))
    info = rank.info()
    equal(info["submitted"] - info["completed"], 1, "operations under way")
    lab.job.end({**first, **lab.job.begin((1, 2), 300, 1)}, 300, 1)
    fails(errno.ENOENT, rank.wait, handle)
    lab.job.run(50)


def short_sums(rank, n, elems=2):
    """Allreduces of some i32 of this rank, and where their results go."""
    pairs = [rank.ints(range(k, k + elems)) for k in range(n)]
    KEPT.append(pairs)
    return [submit(count=elems, send=s.buffer_info()[0], recv=r.buffer_info()[0], user_data=k)
            for k, (s, r) in enumerate(pairs)], [r for _, r in pairs]


def collected(rank, handles, results):
    err, done = rank.wait_many(handles)
    equal((err, [(c.result, c.handle, c.user_data) for c in done]),
          (0, [(0, h, k) for k, h in enumerate(handles)]), "completions")
    for k, got in enumerate(results):
        equal(got, array.array("i", [3 * (k + i) for i in range(len(got))]), f"result {k}")


@test("submit many: fields, and how many were taken before one that was not")
def t_many(lab):
    rank, others = lab.rank(), lab.job.ranks[1:]
    ops, results = short_sums(rank, 4)
    for bad in ({"n": 0}, {"n": 1025}, {"n": 1 << 31}, {"size": 0}, {"size": 103}, {"size": 4097},
                {"flags": 1}, {"flags": 1 << 31}):
        equal(rank.submit_many(ops, **bad)[:2], (errno.EINVAL, 0), f"with {bad}")
    for request, layout in ((abi.IOC_SUBMIT_MANY, abi.SUBMIT_MANY),
                            (abi.IOC_WAIT_MANY, abi.WAIT_MANY)):
        fails(errno.EFAULT, raw_ioctl, rank.fd, request, 8)
        values = (8, 1, 104, 0, 0) if layout is abi.SUBMIT_MANY else (8, 0, 1, 88, 0, 0)
        equal(rank.told(request, layout, *values), (errno.EFAULT, 0), "none at that address")
    equal(rank.submit_many([ops[0] + b"\1"])[:2], (errno.E2BIG, 0), "what the kernel does not know")
    equal(rank.info()["submitted"], rank.info()["completed"], "operations under way")
    # those before it are taken, it has no handle of before, those behind it are as they were
    for err, bad in ((errno.EINVAL, {"flags": 1}), (errno.EFAULT, {"send": 8}),
                     (errno.EOPNOTSUPP, {"op": MINLOC}), (errno.ENOENT, {"send_reg": 5})):
        wrong = submit(**{"count": 2, "send": KEPT[-1][0][0].buffer_info()[0],
                          "recv": KEPT[-1][0][1].buffer_info()[0], "handle": 7, **bad})
        got = rank.submit_many(ops[:3] + [wrong, submit(handle=9)])
        equal(got, (err, 3, got[2][:3] + [0, 9]), f"with {bad}")
        rest = [(other, *short_sums(other, 3)) for other in others]
        for other, its, _ in rest:
            equal(other.submit_many(its)[:2], (0, 3), "the others'")
        collected(rank, got[2][:3], results[:3])
        for other, its, sums in rest:
            first = other.info()["submitted"]
            err, done = other.wait_many([0] * len(its))
            equal((err, len(done), first), (0, 3, other.info()["completed"]), "any three")
            equal(list(sums[2]), [6, 9], "the last result")
    lab.job.run(50)


@test("submit many: short ones leave in one packet, their results too, long ones among them")
def t_many_packets(lab):
    def counts():
        hosts = [abi.counters(h) for h in ("h1", "h2", "h3")]
        sent = [(c["tx_skbs"] - c.get("probes", 0), c["tx_packets"] - c.get("probes", 0)) for c in hosts]
        node = abi.counters("sw")
        return sent + [tuple(node[f"{way}_{what}"] - node.get(minus, 0) for way, minus in
                             (("rx", "probes"), ("tx", "statuses")) for what in ("skbs", "packets"))]

    ranks = lab.job.ranks
    before = counts()
    made = [short_sums(rank, 16) for rank in ranks]
    handles = []
    for rank, (ops, _) in zip(ranks, made):
        # longer ones that a later kernel would know
        err, taken, got = rank.submit_many([op + bytes(8) for op in ops])
        equal((err, taken), (0, 16), "operations taken")
        equal(got, list(range(got[0], got[0] + 16)), "handles")
        handles.append(got)
    for rank, (_, results), got in zip(ranks, made, handles):
        collected(rank, got, results)
    equal([tuple(b - a for a, b in zip(*pair)) for pair in zip(before, counts())],
          [(1, 16)] * 3 + [(3, 48, 3, 48)], "packets and super-packets of hosts and node")
    # of 5000 bytes: several blocks, in pages that are pinned
    made = [(short_sums(rank, 3), short_sums(rank, 1, 1250), short_sums(rank, 70))
            for rank in ranks]
    for rank, (a, b, c) in zip(ranks, made):
        err, taken, got = rank.submit_many(a[0] + b[0] + c[0])
        equal((err, taken), (0, 74), "operations taken")
        handles.append(got)
    for rank, (a, b, c), got in zip(ranks, made, handles[3:]):
        collected(rank, got[:3], a[1])
        collected(rank, got[3:4], b[1])
        collected(rank, got[4:], c[1])
    lab.job.run(50)


@test("submit many: no more than a socket may have; what is waited for and does not come")
def t_many_full(lab):
    ranks = lab.job.ranks
    barriers = [submit(coll=BARRIER, dtype=0, op=0)] * 1000
    for bad in ({"n": 0}, {"n": 1025}, {"size": 87}, {"size": 4097}, {"flags": 1}, {"ms": -2}):
        equal(ranks[0].wait_many([0], **bad), (errno.EINVAL, []), f"with {bad}")
    equal(ranks[0].wait_many([0, 0], ms=0), (errno.ENOENT, []), "nothing is under way")
    handles = []
    for _ in range(4):
        err, taken, got = ranks[0].submit_many(barriers)
        equal((err, taken), (0, 1000), "operations taken")
        handles += got
    err, taken, got = ranks[0].submit_many(barriers)
    equal((err, taken, got[96]), (errno.EAGAIN, 96, 0), "operations taken")
    handles += got[:96]
    equal(ranks[0].submit_many(barriers)[:2], (errno.EAGAIN, 0), "another one")
    equal(ranks[0].wait_many(handles[:2], ms=0), (errno.EAGAIN, []), "a look")
    begin = time.monotonic()
    equal(ranks[0].wait_many(handles[:2], ms=100), (errno.ETIMEDOUT, []), "a wait")
    if not 0.09 < time.monotonic() - begin < 5:
        raise AssertionError(f"a wait of 100 ms took {time.monotonic() - begin:.3f} s")
    for rank in ranks[1:]:
        equal(rank.submit_many(barriers[:2])[:2], (0, 2), "the others' first")
    err, done = ranks[0].wait_many(handles[:3], ms=300, size=96)
    equal((err, [c.handle for c in done]), (errno.ETIMEDOUT, handles[:2]), "two of three")
    equal(ranks[0].wait_many(handles[:2])[0], errno.ENOENT, "once more")
    for n in (1000, 1000, 1000, 1000, 94):
        for rank in ranks[1:]:
            equal(rank.submit_many(barriers[:n])[:2], (0, n), "the others'")
        for rank in ranks[1:] if n == 1000 else ():
            equal(len(rank.wait_many([0] * n)[1]), n, "the others' completions")
    for at in range(2, len(handles), 1000):
        part = handles[at:at + 1000]
        err, done = ranks[0].wait_many(part)
        equal((err, [c.handle for c in done]), (0, part), "the rest")
    for rank in ranks[1:]:
        equal(len(rank.wait_many([0] * 96)[1]), 96, "the others' rest")
    lab.job.run(50)


def wait_sleeping(pid):
    """Until that process sleeps in the kernel."""
    def sleeping():
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().rsplit(")", 1)[1].split()[0] == "S"
    wait_until(sleeping, f"process {pid} sleeps")


@test("signals: a wait without limit goes on, one with a limit and SUBMIT_AND_WAIT say EINTR")
def t_signals(lab):
    me, rank, ranks = os.getpid(), lab.rank(), lab.job.ranks
    signal.signal(signal.SIGUSR1, lambda *_: None)
    signal.siginterrupt(signal.SIGUSR1, False)

    def disturb(times, finish):
        for _ in range(times):
            wait_sleeping(me)
            os.kill(me, signal.SIGUSR1)
            time.sleep(0.02)
        for other in ranks[1:] if finish else ():
            other.submit(coll=BARRIER, dtype=0, op=0)

    def others():
        for other in ranks[1:]:
            other.submit(coll=BARRIER, dtype=0, op=0)

    def settle(pid):
        equal(ended(pid), 0, "the child that sends signals")

    handle = rank.submit(coll=BARRIER, dtype=0, op=0)
    pid = beside(lambda: disturb(4, True))
    equal(rank.wait(handle, -1).result, 0, "the wait that goes on")
    settle(pid)
    handle = rank.submit(coll=BARRIER, dtype=0, op=0)
    pid = beside(lambda: disturb(1, False))
    fails(errno.EINTR, rank.wait, handle, 10000)
    settle(pid)
    others()
    equal(rank.wait(handle).result, 0, "the wait after EINTR")
    buf = bytearray(submit(coll=BARRIER, dtype=0, op=0, user_data=77) + WAIT_HEAD.pack(0, -1) +
                    bytes(SIZES["completion"]))
    mem = (ctypes.c_char * len(buf)).from_buffer(buf)
    pid = beside(lambda: disturb(1, False))
    fails(errno.EINTR, raw_ioctl, rank.fd, IOC_SUBMIT_AND_WAIT, ctypes.addressof(mem))
    settle(pid)
    handle = SUBMIT.unpack_from(bytes(mem))[-2]
    if not handle:
        raise AssertionError("SUBMIT_AND_WAIT left no handle after EINTR")
    others()
    done = rank.wait(handle)
    equal((done.result, done.user_data), (0, 77), "result and user_data of what was interrupted")
    pid = beside(lambda: disturb(2, True))
    handle = rank.submit(coll=BARRIER, dtype=0, op=0)
    raw = rank.sock.recv(SIZES["completion"])           # restarted as well
    equal(COMPLETION.unpack_from(raw)[0], handle, "the handle that recv() brings")
    settle(pid)
    for other in ranks[1:]:
        while True:
            try:
                equal(other.wait(0, 0).result, 0, "a barrier's result")
            except OSError as e:
                equal(e.errno, errno.ENOENT, "errno when all are collected")
                break


@test("leaving: close() of all, and nothing stays")
def t_leave(lab):
    lab.job.close()
    for ns in ("sw", "h1", "h2", "h3"):
        wait_until(lambda ns=ns: not abi.groups(ns), f"no group is left in {ns}", 30)


abi.main(Lab())
