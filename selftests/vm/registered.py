# SPDX-License-Identifier: GPL-2.0-only
"""
Registered memory, by the socket ABI: operations use the pages that were pinned once, and nothing
else. Started by 35-memory.sh.
"""
import array
import ctypes
import errno
import mmap
import os
import resource
import select

import inc_abi as abi
from inc_abi import Job, Rank, equal, fails, test
from inc_limits import NOBODY, Limit, all_back, enter, use
from inc_proc import PAGE, Pages, beside, ended, libc, new_group

WRITE = 1                                       # INC_REGISTER_WRITE
MOST = 4096                                     # INC_MAX_REGISTERED
ALLGATHER = 6
NONE, READ, BOTH = 0, mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_WRITE
N = PAGE // 4                                   # numbers of a page


def put(at, values):
    raw = array.array("i", values).tobytes()
    ctypes.memmove(at, raw, len(raw))


def got(at, n):
    return array.array("i", ctypes.string_at(at, 4 * n))


class Pair:
    """Ranks of h1 and h2, and three pages of the first one, the last two for results."""

    def __init__(self):
        self.job = Job(new_group(), ("h1", "h2"))
        self.mine, self.other = self.job.ranks
        self.mem = Pages(3)
        self.k = 0

    def begin(self, n=N, send=None, recv=None, **more):
        """An allreduce of ours, which the other rank has yet to begin."""
        self.k += 1
        send, recv = send or self.mem.at, recv or self.mem.at + PAGE
        put(send, self.job.values(0, n, self.k))
        return self.mine.submit(count=n, send=send, recv=recv, **more)

    def finish(self, handle, n=N, recv=None, look=True):
        theirs = self.job.begin((1,), n, self.k)
        equal(self.mine.wait(handle).result, 0, "result")
        self.job.end(theirs, n, self.k)
        if look:
            self.right(n, recv)

    def right(self, n=N, recv=None):
        equal(got(recv or self.mem.at + PAGE, n).tobytes(),
              self.job.expected(n, self.k).tobytes(), "what came")

    def end(self):
        self.mem.free()
        self.job.close()
        all_back()


@test("register: what is refused, and changes nothing")
def t_refused(_):
    rank, mem, hole = Rank("h1"), Pages(2), Pages(1)
    hole.free()
    for err, what in ((errno.EINVAL, (mem.at, 0)), (errno.EINVAL, (mem.at, PAGE, 2)),
                      (errno.EINVAL, (mem.at, PAGE, 1 << 31)),
                      (errno.EINVAL, (mem.at, PAGE, WRITE, 1)),
                      (errno.EINVAL, (mem.at, PAGE, WRITE, 0, 1)),
                      (errno.EFAULT, (hole.at, 1)), (errno.EFAULT, (0, 1)),
                      (errno.EFAULT, ((1 << 64) - PAGE, PAGE)), (errno.EFAULT, (1 << 63, 8)),
                      (errno.EFAULT, (mem.at, (1 << 64) - 1)),
                      (errno.EFAULT, (mem.at, 1 << 40)),
                      (errno.EFAULT, (mem.at, 1 << 46))):
        fails(err, rank.register, *what)
    mem.protect(READ)
    fails(errno.EFAULT, rank.register, mem.at, PAGE, WRITE)
    rank.unregister(rank.register(mem.at, PAGE, 0))
    mem.protect(NONE)
    fails(errno.EFAULT, rank.register, mem.at, PAGE, 0)
    for number in (0, 1, 2, (1 << 32) - 1):
        fails(errno.ENOENT, rank.unregister, number)
    for request in (abi.IOC_REGISTER, abi.IOC_UNREGISTER):
        equal((libc.ioctl(rank.fd, ctypes.c_ulong(request), 8), ctypes.get_errno()),
              (-1, errno.EFAULT), "an argument that is not there")
    equal(use("h1", "pinned_memory"), 0, "what is pinned")
    mem.free()
    rank.close()
    all_back()


@test("register: operations that name it do not look at its pages again")
def t_used(_):
    p = Pair()
    both = p.mine.register(p.mem.at, 3 * PAGE)
    named = {"send_reg": both, "recv_reg": both}
    put(p.mem.at, p.job.values(0, N, 1))
    # who had to pin them could not: nobody may touch them
    p.mem.protect(NONE)
    fails(errno.EFAULT, p.mine.submit, count=N, send=p.mem.at, recv=p.mem.at + PAGE)
    handle = p.mine.submit(count=N, send=p.mem.at, recv=p.mem.at + PAGE, **named)
    p.k = 1
    p.finish(handle, look=False)
    p.mem.protect(BOTH)
    p.right()
    # as often as wanted, at any alignment, in place and not
    for n, send, recv in ((N, 0, PAGE), (2 * N, 0, 0), (50, 7, 4093), (N, 3, PAGE + 5), (1, 0, 9)):
        send, recv = p.mem.at + send, p.mem.at + recv
        p.finish(p.begin(n, send, recv, **named), n, recv)
    p.mine.unregister(both)
    fails(errno.ENOENT, p.mine.submit, count=N, send=p.mem.at, recv=p.mem.at + PAGE, **named)
    p.finish(p.begin())
    p.end()


@test("register: what does not lie in it, or must not be written, is pinned as ever")
def t_outside(_):
    p = Pair()
    inner = p.mine.register(p.mem.at + 8, 2 * PAGE - 16)
    for first, past in ((4, 0), (8, 1), (0, 0)):
        n = 2 * N - 4 + past
        handle = p.begin(n, p.mem.at + first, p.mem.at + first, send_reg=inner, recv_reg=inner)
        p.finish(handle, n, p.mem.at + first)
    read = p.mine.register(p.mem.at, 3 * PAGE, 0)
    for reg in ({"send_reg": read, "recv_reg": read}, {"send_reg": inner, "recv_reg": read},
                {"send_reg": read}, {"recv_reg": read}):
        p.finish(p.begin(**reg))
        p.finish(p.begin(2 * N - 4, p.mem.at + 8, p.mem.at + 8, **reg), 2 * N - 4, p.mem.at + 8)
    p.mem.protect(READ, 1)
    fails(errno.EFAULT, p.mine.submit, count=N, send=p.mem.at, recv=p.mem.at + PAGE,
          send_reg=read, recv_reg=read)
    for bad in {"send_reg": 99}, {"recv_reg": 99}, {"send_reg": read, "recv_reg": 1 << 31}:
        fails(errno.ENOENT, p.mine.submit, count=N, send=p.mem.at, recv=p.mem.at + PAGE, **bad)
    p.mem.protect(BOTH)
    p.finish(p.begin())
    p.end()


@test("register: what is written to memory that is only sent is what is sent")
def t_first_touched(_):
    p = Pair()
    parts = []
    # pages that were never touched, only read, written, and of a private copy of a file
    for k in range(3):
        mem = Pages(2)
        if k == 1:
            ctypes.string_at(mem.at, mem.size)
        elif k == 2:
            put(mem.at, range(N))
        parts.append(mem)
    fd = os.memfd_create("file")
    os.write(fd, b"x" * 2 * PAGE)
    copy = libc.mmap(None, 2 * PAGE, BOTH, mmap.MAP_PRIVATE, fd, 0)
    os.close(fd)
    for at in [mem.at for mem in parts] + [copy]:
        reg = p.mine.register(at, 2 * PAGE, 0)
        for _ in range(2):
            p.finish(p.begin(2 * N, at, p.mem.at, send_reg=reg), 2 * N, p.mem.at)
        pid = beside(lambda: os._exit(0))               # its memory is a copy from here on
        equal(ended(pid), 0, "status of the child")
        p.finish(p.begin(2 * N, at, p.mem.at, send_reg=reg), 2 * N, p.mem.at)
    for mem in parts:
        mem.free()
    libc.munmap(copy, 2 * PAGE)
    p.end()


@test("register: shares of an allgather, some of them beside it")
def t_shares(_):
    p = Pair()
    reg = p.mine.register(p.mem.at, 2 * PAGE)
    for displ in 0, 1 * N, 2 * N - 100:                 # of the other rank's share, elements
        displs = array.array("Q", (100, displ + 200))
        counts = array.array("Q", (100, 100))
        mine = array.array("i", range(100))
        theirs = p.other.ints(range(1000, 1100))
        into = array.array("i", bytes(800))
        handle = p.mine.submit(coll=ALLGATHER, op=0, mode=2, count=100,
                               send=mine.buffer_info()[0], recv=p.mem.at, recv_counts=counts.buffer_info()[0],
                               recv_displs=displs.buffer_info()[0], recv_reg=reg)
        beyond = p.other.submit(coll=ALLGATHER, op=0, mode=2, count=100,
                                send=theirs[0].buffer_info()[0], recv=into.buffer_info()[0],
                                recv_counts=counts.buffer_info()[0])
        equal([r.wait(h).result for r, h in ((p.mine, handle), (p.other, beyond))], [0, 0],
              "results")
        equal(list(got(p.mem.at + 400, 100)), list(range(100)), "the own share")
        equal(list(got(p.mem.at + 4 * (displ + 200), 100)), list(range(1000, 1100)),
              "the other's share")
    p.end()


@test("register: memory that an operation uses stays registered until that is collected")
def t_busy(_):
    p = Pair()
    reg = p.mine.register(p.mem.at, 3 * PAGE)
    handle = p.begin(send_reg=reg, recv_reg=reg)
    fails(errno.EBUSY, p.mine.unregister, reg)
    theirs = p.job.begin((1,), N, p.k)
    p.job.end(theirs, N, p.k)
    equal(p.mine.poll(select.POLLIN, 10000), select.POLLIN, "poll when it has ended")
    fails(errno.EBUSY, p.mine.unregister, reg)
    equal(p.mine.wait(handle).result, 0, "result")
    p.right()
    p.mine.unregister(reg)
    fails(errno.ENOENT, p.mine.unregister, reg)
    # the same with memory beside it, which a worker may have to give back
    for _ in range(20):
        reg = p.mine.register(p.mem.at, PAGE, 0)
        p.finish(p.begin(send_reg=reg))
        p.mine.unregister(reg)
    # and in mid-operation the socket goes, with all of it
    reg = p.mine.register(p.mem.at, 3 * PAGE)
    p.begin(send_reg=reg, recv_reg=reg)
    p.job.ranks[0].close()
    p.other.close()
    p.mem.free()
    all_back()


@test("register: the pages are those that were there")
def t_unmapped(_):
    p = Pair()
    reg = p.mine.register(p.mem.at, 3 * PAGE)
    put(p.mem.at, p.job.values(0, N, 1))
    libc.munmap(p.mem.at, p.mem.size)
    equal(libc.mmap(p.mem.at, p.mem.size, BOTH, 0x32, -1, 0), p.mem.at, "where it is mapped again")
    handle = p.mine.submit(count=N, send=p.mem.at, recv=p.mem.at + PAGE, send_reg=reg, recv_reg=reg)
    p.k = 1
    p.finish(handle, look=False)                        # the other's result has our old numbers
    equal(ctypes.string_at(p.mem.at, p.mem.size), bytes(p.mem.size), "what is there now")
    p.finish(p.begin())                                 # who names nothing has what is there
    p.end()


@test("register: a child of fork() works with its own memory")
def t_fork(_):
    p = Pair()
    reg = p.mine.register(p.mem.at, 3 * PAGE)
    before = ctypes.string_at(p.mem.at + PAGE, PAGE)

    def child():
        p.k = 10
        p.finish(p.begin(send_reg=reg, recv_reg=reg))
        mine = p.mine.register(p.mem.at, 3 * PAGE)
        p.finish(p.begin(send_reg=mine, recv_reg=mine))
        equal(mine != reg, True, "ids differ")
        fails(errno.ENOENT, p.mine.unregister, reg)
        p.mine.unregister(mine)

    equal(ended(beside(child)), 0, "status of the child")
    equal(ctypes.string_at(p.mem.at + PAGE, PAGE), before, "the parent's memory")
    p.k = 20
    p.finish(p.begin(send_reg=reg, recv_reg=reg))
    p.end()


class Huge:
    """Fresh memory where a huge page may be."""

    def __init__(self, size):
        self.size = size
        self.mem = Pages(3 * size // PAGE)
        self.mem.protect(NONE)                                  # its first page keeps areas apart
        self.mem.protect(BOTH, 1)
        self.at = self.mem.at // size * size + size
        libc.madvise(self.mem.at, self.mem.size, 14)            # MADV_HUGEPAGE

    def is_huge(self):
        here = False
        with open("/proc/self/smaps", encoding="ascii") as smaps:
            for line in smaps:
                key, value = line.split()[:2]
                if not key.endswith(":"):
                    low, high = (int(end, 16) for end in key.split("-"))
                    here = low <= self.at < high
                elif here and key == "AnonHugePages:":
                    return int(value) * 1024 >= self.size
        return False


@test("register: fresh memory gets huge pages when it is pinned to be written to")
def t_huge(_):
    try:
        with open("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", encoding="ascii") as f:
            size = int(f.read())
    except FileNotFoundError as e:
        raise abi.Skip("this kernel has no huge pages") from e
    touched, registered, result = areas = [Huge(size) for _ in range(3)]
    put(touched.at, (1,))
    if not touched.is_huge():
        raise abi.Skip("no huge page is to be had")
    rank = Rank("h1")
    rank.unregister(rank.register(registered.at, size, WRITE))
    equal(registered.is_huge(), True, "registered memory has a huge page")
    rank.start(new_group(), 0, 1)
    rank.joined()
    put(touched.at, range(size // 4))
    done = rank.wait(rank.submit(count=size // 4, send=touched.at, recv=result.at))
    equal(done.result, 0, "result")
    equal(got(result.at, size // 4) == got(touched.at, size // 4), True, "what came is right")
    equal(result.is_huge(), True, "what a result is written to has a huge page")
    rank.close()
    for area in areas:
        area.mem.free()
    all_back()


@test("register: so many at a socket, and all of them go with it")
def t_many(_):
    rank, mem = Rank("h1"), Pages(2)
    ids = [rank.register(mem.at + i % 100, PAGE, i % 2) for i in range(MOST)]
    equal(len(set(ids)), MOST, "different ids")
    fails(errno.ENOSPC, rank.register, mem.at, 1)
    pinned = sum((i % 100 + PAGE - 1) // PAGE + 1 if i % 100 else 1 for i in range(MOST))
    equal(use("h1", "pinned_memory"), pinned * PAGE, "what is pinned")
    rank.unregister(ids[7])
    again = rank.register(mem.at, 1)
    fails(errno.ENOSPC, rank.register, mem.at, 1)
    equal(again in ids, False, "an id comes again at once")
    mem.free()
    rank.close()
    all_back()


@test("register: half of what may be pinned, by namespace, user and RLIMIT_MEMLOCK")
def t_half(_):
    p = Pair()
    with Limit("h1", "pinned-memory", 8 * PAGE):
        reg = p.mine.register(p.mem.at, 3 * PAGE)
        fails(errno.ENOBUFS, p.mine.register, p.mem.at, 2 * PAGE)
        one = p.mine.register(p.mem.at, PAGE)
        fails(errno.ENOBUFS, p.mine.register, p.mem.at, 1)
        p.finish(p.begin())                             # there is something left for this
        for number in reg, one:
            p.mine.unregister(number)

    def other():
        enter("h1")
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (16 * PAGE, 16 * PAGE))
        os.setuid(NOBODY)
        rank, mem = Rank(), Pages(16)
        fails(errno.ENOMEM, rank.register, mem.at, 9 * PAGE)
        ids = [rank.register(mem.at + i * 4 * PAGE, 4 * PAGE) for i in range(2)]
        fails(errno.ENOMEM, rank.register, mem.at, 1)
        rank.unregister(ids[0])
        rank.register(mem.at, 2 * PAGE)

    equal(ended(beside(other)), 0, "status of who may lock 16 pages")

    def poor():
        enter("h1")
        resource.setrlimit(resource.RLIMIT_MEMLOCK,
                           (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        os.setuid(NOBODY)
        rank, mem = Rank(), Pages(16)
        rank.register(mem.at, 4 * PAGE)
        fails(errno.EDQUOT, rank.register, mem.at, 1)

    with Limit("sw", "pinned-memory", 8 * PAGE, True):
        equal(ended(beside(poor)), 0, "status of who may have 8 pages")
    p.end()


abi.main(None)
