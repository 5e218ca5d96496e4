# SPDX-License-Identifier: GPL-2.0-only
"""Memory that hostile users have. Started by 35-memory.sh."""
import array
import ctypes
import errno
import json
import os
import resource
import select
import signal
import socket
import struct
import time

import inc_abi as abi
from inc_abi import Job, Rank, equal, fails, test, wait_until
from inc_fuse import MuteFile
from inc_limits import NOBODY, Limit, accounts, all_back, enter, one, use
from inc_proc import PAGE, Pages, beside, ended, libc, new_group

CROWD = 280             # operations: more than the 256 workers that a workqueue has
REDUCE = 3
EDGE = 2                # a flag of sockaddr_inc: there is no node
WINDOW, BLOCK = 4096, 1408                      # at MTU 1500
MANY = 400                                      # pages, more than are pinned at once
KEEPERS = 12                                    # ranks
FILES = 1 << 16                                 # that one process may have open
# pages that nobody has now, and what else the machine does
SLACK = 32 << 20


class Lab:
    def __init__(self):
        self.file, self.pids = None, []

    def mute(self):
        self.file = MuteFile("/tmp/mute")
        return self.file

    def spawn(self, function):
        """A process of somebody else's, and a pipe from it."""
        out, into = os.pipe()

        def run():
            enter("h1")
            resource.setrlimit(resource.RLIMIT_MEMLOCK,
                               (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
            os.setuid(NOBODY)
            function(into)

        self.pids.append(beside(run))
        os.close(into)
        return self.pids[-1], out

    def recover(self):
        for pid in self.pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if self.file:
            self.file.end()
        self.file = None
        for pid in self.pids:
            try:
                os.waitpid(pid, 0)
            except ChildProcessError:
                pass
        self.pids = []
        abi.tool("inc", "-n", "sw", "node", "set", "dev", "br0", "max-groups", "64", "window",
                 "512", "fallback", "none")


def with_hole(path, at, size):
    """Memory whose page at @at is one of the file's."""
    fd = os.open(path, os.O_RDWR)
    memory = Pages(size // PAGE)
    if libc.mmap(memory.at + at, PAGE, 3, 0x12, fd, 0) != memory.at + at:
        raise OSError(ctypes.get_errno(), "mmap")
    os.close(fd)
    return memory


def come(out, seconds=120):
    """What the process at the other end has to say."""
    if not select.select([out], [], [], seconds)[0]:
        raise AssertionError(f"nothing came within {seconds} s")
    said = os.read(out, 100)
    os.close(out)
    return said


def total():
    with open("/proc/meminfo", encoding="ascii") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith("MemTotal"))


# before others change what users may have
@test("one user may have less than a quarter of the machine")
def t_quarter(lab):
    abi.family()

    def hold(into):
        rank = Rank()
        os.write(into, b"x")
        signal.pause()
        rank.close()

    _, out = lab.spawn(hold)
    equal(come(out), b"x", "the other user")
    most = {a["uid"]: sum(v["max"] for name, v in a.items() if name.endswith("_memory"))
            for a in accounts("h1") if "uid" in a}
    if most[NOBODY] > total() / 4:
        raise AssertionError(f"{most[NOBODY] >> 20} MiB of {total() >> 20}")
    equal(most[0] > most[NOBODY], True, "root may have more")
    lab.recover()
    all_back()


def crowd(path, into):
    """Operations whose last pages never come, one rank each."""
    size, ranks = 560 << 10, []
    send, recv = with_hole(path, 132 * PAGE, size), Pages(size // PAGE)
    for _ in range(CROWD):
        ranks.append(Rank())
        ranks[-1].start(new_group(), 0, 1, parent=abi.NODE4)
    for rank in ranks:
        rank.joined()
    for rank in ranks:
        rank.submit(count=size // 4, send=send.at, recv=recv.at)
    os.write(into, b"all")
    signal.pause()


@test("faults that are never answered keep nobody else waiting")
def t_crowd(lab):
    abi.family()
    path = lab.mute().path
    abi.tool("inc", "-n", "sw", "node", "set", "dev", "br0", "max-groups", str(8 * CROWD),
             "window", "4", "dead", "10000")    # a slow machine is busy with the crowd
    job = Job(new_group(), ("h1", "h2"))
    with Limit("h1", "pinned-memory", 1 << 32, user=True), Limit("h1", "pinned-memory", 1 << 32):
        _, out = lab.spawn(lambda into: crowd(path, into))
        equal(come(out), b"all", "the hostile process")
        lab.file.wait_asked()
        # longer than what is pinned by the submitter itself
        job.run(400000, 1)
    job.close()
    abi.tool("inc", "-n", "sw", "node", "set", "dev", "br0", "dead", "2000")
    lab.recover()
    all_back()


@test("who waits for such a page can be killed")
def t_killed(lab):
    abi.family()
    path = lab.mute().path

    def alone(into):
        send, recv = with_hole(path, PAGE, 1 << 16), Pages(16)
        rank = Rank()
        rank.start(new_group(), 0, 1, parent=abi.NODE4)
        rank.joined()
        os.write(into, b"joined")
        rank.submit(count=1 << 14, send=send.at, recv=recv.at)

    pid, out = lab.spawn(alone)
    equal(come(out), b"joined", "the hostile process")
    lab.file.wait_asked()
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: os.waitpid(pid, os.WNOHANG)[0], "the process ends")
    lab.recover()
    all_back()


def mapped_file(fd, pages, flags):
    at = libc.mmap(None, pages * PAGE, 3, flags, fd, 0)
    if at in (-1, (1 << 64) - 1):
        raise OSError(ctypes.get_errno(), "mmap")
    return at


def shared(fd, pages):
    """A file that is mapped to be read and written by all."""
    return mapped_file(fd, pages, 1)


def private(fd, pages):
    """What is written is this process's own."""
    return mapped_file(fd, pages, 2)


@test("memory that cannot be pinned is refused before anything has begun")
def t_unpinnable(lab):
    path, n = lab.mute().path, 3 * PAGE // 4
    job, own = Job(new_group(), ("h1", "h2")), Pages(3)
    rank = job.ranks[0]
    disk, memory, short = os.open(path, os.O_RDWR), os.memfd_create("memory"), os.memfd_create("short")
    os.ftruncate(memory, 3 * PAGE)
    os.ftruncate(short, 2 * PAGE)
    mapped, window, cut = shared(disk, 3), shared(memory, 3), shared(short, 3)
    long, many = Pages(MANY), MANY * PAGE // 4
    own_copy = private(short, MANY)
    before = rank.info()["submitted"]
    # not even asked for a page: nobody would answer
    for send, recv in (own.at, mapped), (own.at, cut), (cut, own.at):
        fails(errno.EFAULT, rank.ioctl, abi.IOC_SUBMIT,
              abi.submit(count=n, send=send, recv=recv))
    for send, recv in (own_copy, long.at), (long.at, own_copy), (own_copy, own_copy):
        fails(errno.EFAULT, rank.ioctl, abi.IOC_SUBMIT,
              abi.submit(count=many, send=send, recv=recv))
    equal(rank.info()["submitted"], before, "operations")
    # the other rank has waited; the same operation with other memory, and the group lives
    others = job.begin((1,), n, 1)
    ctypes.memmove(window, array.array("i", job.values(0, n, 1)).tobytes(), 3 * PAGE)
    handle = rank.submit(count=n, send=window, recv=own.at)
    equal(rank.wait(handle).result, 0, "result of what is sent from shared memory")
    equal(ctypes.string_at(own.at, own.size), job.expected(n, 1).tobytes(), "what came")
    job.end(others, n, 1)
    others = job.begin((1,), n, 2)
    ctypes.memmove(own.at, array.array("i", job.values(0, n, 2)).tobytes(), own.size)
    handle = rank.submit(count=n, send=own.at, recv=window)
    equal(rank.wait(handle).result, 0, "result that goes to shared memory")
    equal(ctypes.string_at(window, own.size), job.expected(n, 2).tobytes(), "what came")
    job.end(others, n, 2)
    job.run(1000, 3)
    for at in mapped, window, cut:
        libc.munmap(at, 3 * PAGE)
    libc.munmap(own_copy, MANY * PAGE)
    long.free()
    for fd in disk, memory, short:
        os.close(fd)
    own.free()
    job.close()
    lab.recover()
    all_back()


def two_windows(ranks):
    """Each rank has sent, or got, as many blocks as it keeps."""
    size = 2 * WINDOW * BLOCK
    memory = Pages(size // PAGE + 1)
    ctypes.memset(memory.at, 1, memory.size)
    yield
    handles = [rank.submit(coll=REDUCE, count=size // 4, send=memory.at, recv=memory.at)
               for rank in ranks]
    for rank, handle in zip(ranks, handles):
        equal(rank.wait(handle, 300000).result, 0, f"reduce, rank {rank.rank}")
    yield
    memory.free()


def available():
    with open("/proc/meminfo", encoding="ascii") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith("MemAvailable"))


def overhead():
    """
    How many times the memory that is asked for is taken: a kernel that looks for bugs keeps notes
    of every allocation, and what has been freed for a while.
    """
    return 4 if abi.looks_for_bugs() else 1


def charged(uid=0):
    """All that the user has, of memory that is not the process's own anyway."""
    return sum(v["use"] for a in accounts("h1") if a.get("uid") == uid
               for name, v in a.items() if name.endswith("_memory"))


def hoard(go, into):
    """As many ranks as one may have, of the largest groups; nobody takes them."""
    ranks = []
    os.read(go, 1)
    try:
        while True:
            ranks.append(Rank())
            ranks[-1].sock.setblocking(False)
            try:
                ranks[-1].connect(abi.sockaddr(new_group(), 0, 1024, parent="127.0.0.1"))
            except BlockingIOError:
                pass
    except OSError as e:
        os.write(into, errno.errorcode[e.errno].encode())
    signal.pause()


@test("what the sockets of one user take is what he is charged for")
def t_hoard(lab):
    abi.family()
    go, begin = os.pipe()
    _, out = lab.spawn(lambda into: hoard(go, into))
    begun, times = available(), overhead()
    os.write(begin, b"x")
    equal(come(out), b"EDQUOT", "what stops him")
    most = one("h1", "socket_memory", NOBODY)
    if most["use"] * 10 < most["max"] * 9:
        raise AssertionError(f"he has {most['use']} of {most['max']} bytes")
    wait_until(lambda: begun - available() <= times * charged(NOBODY) + SLACK,
               lambda: f"taken {begun - available() >> 20} MiB, charged {charged(NOBODY) >> 20} MiB", 20)
    for fd in go, begin:
        os.close(fd)
    lab.recover()
    all_back()


def keeping(window):
    abi.tool("inc", "-n", "sw", "node", "set", "dev", "br0", "fallback", "edge", "window",
             str(window), "max-memory", "256M")


@test("what is kept for another node is charged, to the last socket")
def t_kept(lab):
    del lab
    keeping(WINDOW)
    had, times = charged(), overhead()
    job = Job(new_group(), [f"h{i % 3 + 1}" for i in range(KEEPERS)])
    steps = two_windows(job.ranks)
    next(steps)
    begun = available()
    next(steps)
    # what is idle is given back after a while
    wait_until(lambda: begun - available() <= times * (charged() - had) + SLACK,
               lambda: f"taken {begun - available() >> 20} MiB, charged {charged() - had >> 20} MiB", 20)
    equal(one("h1", "socket_memory", 0)["use"] >= KEEPERS * 2 * WINDOW * BLOCK, True,
          "charged for what is kept")
    next(steps, None)
    job.close()
    all_back()


def joins(rank, group, number):
    """A connect() that blocks, of one of two ranks; the other one does not wait for it."""
    rank.group, rank.rank, rank.size = group, number, 2
    rank.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("=qq", 30, 0))
    rank.connect(abi.sockaddr(group, number, 2, parent=abi.NODE4))


@test("who cannot keep what the group asks for does not join, and is told why")
def t_refused(lab):
    del lab
    keeping(64)
    job = Job(new_group(), ("h1", "h2"))
    needed = use("h1", "socket_memory")
    job.close()
    all_back()
    rank = Rank("h1")
    rank.start(new_group(), 0, 2, parent=abi.NODE4)
    own = use("h1", "socket_memory")
    rank.close()
    all_back()
    equal(0 < own < needed, True, f"{own} of {needed} bytes before the group is there")
    for user, error in (False, errno.ENOBUFS), (True, errno.EDQUOT):
        a, b, group = Rank("h1"), Rank("h2"), new_group()
        # a byte less than what a rank keeps beside what it is: two, if both are the user's
        with Limit("h1", "socket-memory", needed + user * own - 1, user):
            refused = one("h1", "socket_memory", 0 if user else None)["refused"]
            b.start(group, 1, 2, parent=abi.NODE4)
            fails(error, joins, a, group, 0)
            equal(one("h1", "socket_memory", 0 if user else None)["refused"] > refused, True,
                  "refused")
            wait_until(lambda: b.info()["state"] == abi.FAILED, "the other rank is told")
        with Limit("h1", "socket-memory", 0, user):
            fails(error, joins, a, group, 0)
        for rank in a, b:
            rank.close()
        all_back()
    job = Job(new_group(), ("h1", "h2"))
    job.run(20000)
    job.close()
    all_back()


@test("groups that have lost their node are paid for by who has their ranks")
def t_edge(lab):
    abi.family()
    keeping(64)
    group = new_group()

    def members(into):
        ranks = [Rank(), Rank()]
        for i, rank in enumerate(ranks):
            rank.start(group, i, 2, parent=abi.NODE4)
        for rank in ranks:
            rank.joined()
        os.write(into, b"joined")
        signal.pause()

    _, out = lab.spawn(members)
    equal(come(out), b"joined", "two ranks of the other user")
    abi.tool("inc", "-n", "sw", "node", "del", "dev", "br0")
    try:
        # the group, and the tree of its other rank
        wait_until(lambda: use("h1", "groups", NOBODY) + use("h1", "groups", 0) == 2,
                   lambda: f"groups of the user: {use('h1', 'groups', NOBODY)}", 30)
        equal(use("h1", "groups", 0), 0, "groups of root")
        equal(use("h1", "slot_memory", NOBODY), use("h1", "slot_memory"), "what they take")
    finally:
        abi.tool("inc", "-n", "sw", "node", "add", "dev", "br0")
    lab.recover()
    all_back()


class Cgroup:
    """A control group, of which the memory is asked."""

    def __init__(self):
        self.top, self.path = "/tmp/inc-cgroup", "/tmp/inc-cgroup/inc-test"
        os.makedirs(self.top, exist_ok=True)
        if libc.mount(b"none", self.top.encode(), b"cgroup2", 0, None):
            raise abi.Skip("this kernel has no cgroup2")
        with open(self.top + "/cgroup.controllers", encoding="ascii") as f:
            if "memory" not in f.read():
                libc.umount2(self.top.encode(), 2)
                raise abi.Skip("this kernel has no memory controller")
        self.write(self.top + "/cgroup.subtree_control", "+memory")
        os.mkdir(self.path)

    @staticmethod
    def write(path, what):
        with open(path, "w", encoding="ascii") as f:
            f.write(what)

    def run(self, function):
        """In a process of this group's."""
        def inside():
            self.write(self.path + "/cgroup.procs", str(os.getpid()))
            function()
        equal(ended(beside(inside)), 0, "status of who is in the cgroup")

    def read(self, name):
        with open(f"{self.path}/{name}", encoding="ascii") as f:
            return f.read()

    def value(self, name):
        return int(self.read(name))

    def words(self, name):
        return {word: int(number)
                for word, number in (line.split() for line in self.read(name).splitlines())}

    def kernel(self):
        """Bytes that the kernel has for it."""
        stat = self.words("memory.stat")
        return stat["slab"] + stat["percpu"] + stat["vmalloc"]

    def end(self):
        os.rmdir(self.path)
        libc.umount2(self.top.encode(), 2)


@test("a node's groups are paid for by the cgroup that has set it up")
def t_cgroup(lab):
    del lab
    cgroup = Cgroup()

    def set_up():
        abi.tool("inc", "-n", "sw", "node", "add", "dev", "br0", "window", "1024", "max-memory",
                 "1G")

    abi.tool("inc", "-n", "sw", "node", "del", "dev", "br0")
    cgroup.run(set_up)
    before = cgroup.kernel()
    rank = Rank("h1")
    rank.start(new_group(), 0, 256, parent=abi.NODE4)
    wait_until(lambda: rank.info()["state"] == abi.WAITING, "the group is there")
    # the kernel adds up in batches
    wait_until(lambda: cgroup.kernel() - before > 4 << 20,
               lambda: f"the cgroup has paid {cgroup.kernel() - before}, charged {use('sw', 'slot_memory')}", 20)
    cgroup.write(cgroup.path + "/memory.max", str(cgroup.value("memory.current") + (1 << 20)))
    other = Rank("h2")
    other.start(new_group(), 0, 256, parent=abi.NODE4)
    wait_until(lambda: cgroup.words("memory.events")["max"], "it may not have another one")
    equal((len(abi.groups("sw")), other.info()["state"]), (1, abi.JOINING),
          "groups, and who wants one")
    for one_of in rank, other:
        one_of.close()
    wait_until(lambda: not use("sw", "groups"), "the group goes")
    abi.tool("inc", "-n", "sw", "node", "del", "dev", "br0")
    abi.tool("inc", "-n", "sw", "node", "add", "dev", "br0")
    cgroup.end()
    all_back()


@test("a group at the edge is paid for by the cgroup of its rank 0")
def t_edge_cgroup(lab):
    first = Rank("h1")          # the edge has been used by somebody else
    first.start(new_group(), 0, 2, parent="10.7.0.1", flags=EDGE)
    cgroup = Cgroup()
    before, charged = cgroup.kernel(), use("h1", "slot_memory")

    number = new_group()

    def inside():
        cgroup.write(cgroup.path + "/cgroup.procs", str(os.getpid()))
        rank = Rank("h1")
        rank.start(number, 0, 256, parent="10.7.0.1", flags=EDGE)
        time.sleep(600)

    lab.pids = [beside(inside)]
    wait_until(lambda: use("h1", "slot_memory") - charged > 1 << 20, "the group is there")
    # the kernel adds up in batches; the socket and its rank take less
    wait_until(lambda: cgroup.kernel() - before > 1 << 20,
               lambda: f"the cgroup has paid {cgroup.kernel() - before}", 20)
    lab.recover()
    first.close()
    wait_until(lambda: not use("h1", "groups"), "the groups go")
    cgroup.end()
    all_back()


def show_here(what):
    """As abi.show(), of the namespace that this process is in: others may not enter any."""
    return json.loads(abi.tool("inc", "-j", "-s", what, "show"))


def own_ranks():
    return [g for g in show_here("group") if g["role"] == "rank"]


@test("a process has the number that the reader knows it by, or none")
def t_pid(lab):
    abi.family()

    def other_namespace(function):
        if libc.unshare(0x20000000):
            raise OSError(ctypes.get_errno(), "unshare")
        return beside(function)

    out, into = os.pipe()

    def alone():
        enter("h1")
        rank = Rank()
        rank.start(new_group(), 0, 2, parent=abi.NODE4)
        equal([(g.get("pid"), g.get("process"), g.get("user")) for g in own_ranks()],
              [(1, None, "root")], "process as seen from inside, by /proc of others")
        os.write(into, b"x")
        signal.pause()
        rank.close()

    def blind():
        enter("h1")
        equal([g.get("pid") for g in own_ranks()], [None], "pid as seen from elsewhere")

    lab.pids = [beside(lambda: ended(other_namespace(alone), 120))]
    os.close(into)
    equal(come(out), b"x", "who is inside")
    shown = abi.show("h1", "group")[0]
    pid = shown["pid"]
    with open(f"/proc/{pid}/comm", encoding="ascii") as f:
        equal([shown["process"], shown["uid"], shown["user"]], [f.read().strip(), 0, "root"],
              "process and user")
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        numbers = next(line.split()[1:] for line in f if line.startswith("NSpid"))
    equal(numbers, [str(pid), "1"], "numbers of the process")
    equal(ended(beside(lambda: equal(ended(other_namespace(blind)), 0, "status"))), 0,
          "who is elsewhere")
    os.kill(pid, signal.SIGKILL)
    lab.recover()
    all_back()


@test("others see neither the run of a group nor where its members are")
def t_others(lab):
    del lab
    job = Job(new_group(), ("h1", "h2"))
    telling = {"incarnation", "parent", "addr", "port", "ifindex"}

    def told(ns, uid, what, want):
        def reader():
            enter(ns)
            os.setuid(uid)
            equal([sorted(telling & set(it)) for it in show_here(what)], want,
                  f"what {uid} is told")
        equal(ended(beside(reader)), 0, f"status of {uid} in {ns}")

    told("sw", 0, "group", [["ifindex", "incarnation"]])
    told("sw", 0, "member", 2 * [["addr", "ifindex", "incarnation", "port"]])
    told("h1", 0, "group", [["incarnation", "parent"]])
    told("sw", NOBODY, "group", [["ifindex"]])
    told("sw", NOBODY, "member", 2 * [[]])
    told("h1", NOBODY, "group", [[]])

    def another():
        enter("h1")
        os.setuid(NOBODY)
        rank = Rank()
        rank.start(new_group(), 0, 2, parent=abi.NODE4)
        wait_until(lambda: rank.info()["state"] == abi.WAITING, "the node has answered")
        equal(sorted(sorted(telling & set(g)) for g in own_ranks()),
              [[], ["incarnation", "parent"]], "ranks of h1")
        rank.close()

    equal(ended(beside(another)), 0, "status of who has a rank")
    job.close()
    all_back()


@test("a short result whose place is gone is an error of its own operation")
def t_place_gone(lab):
    del lab
    job = Job(new_group(), ("h1", "h2"), parent=abi.NODE4)
    first, second = job.ranks
    memory = Pages(1)
    send = array.array("i", [1])
    # it does not complete in time, and is collected later
    raw = abi.submit(count=1, send=send.buffer_info()[0], recv=memory.at)
    raw += abi.WAIT_HEAD.pack(0, 100) + bytes(abi.SIZES["completion"])
    fails(errno.ETIMEDOUT, first.ioctl, abi.IOC_SUBMIT_AND_WAIT, raw)
    later = first.allreduce([5])
    memory.protect(0)
    handles = [second.allreduce([2]), second.allreduce([6])]
    second.check(handles[0], array.array("i", [3]))
    second.check(handles[1], array.array("i", [11]))
    equal(first.wait(0).result, -errno.EFAULT, "the result of who has lost its place")
    first.check(later, array.array("i", [11]))
    # and where it is there, it is there
    memory.protect(3)
    fails(errno.ETIMEDOUT, first.ioctl, abi.IOC_SUBMIT_AND_WAIT, raw)
    second.check(second.allreduce([7]), array.array("i", [8]))
    equal(first.wait(0).result, 0, "the result")
    equal(struct.unpack("i", ctypes.string_at(memory.at, 4)), (8,), "what is there")
    memory.free()
    job.close()
    all_back()


class Eavesdropper(abi.Monitor):
    """inc monitor of somebody without privileges."""

    def command(self):
        return ["inc", "-j", "monitor"]

    def become(self):
        enter(self.ns)
        os.setuid(NOBODY)


@test("others hear neither the run of a group nor where it goes")
def t_eavesdrop(lab):
    del lab
    telling = {"incarnation", "parent"}

    def said(monitor, name):
        """Of the next event of this name."""
        event = {"event": ""}
        while event["event"] != name:
            wait_until(monitor.read, f"event {name}")
            event = monitor.events.pop(0)
        return event["group"], telling & set(event)

    abi.tool("inc", "-n", "sw", "node", "set", "dev", "br0", "fallback", "edge")
    with (Eavesdropper("sw") as others, Eavesdropper("h2") as guest,
          abi.Monitor("sw") as owner, abi.Monitor("h2") as host):
        job = Job(new_group(), ("h1", "h2"), parent=abi.NODE4)
        for monitor, want in (others, set()), (owner, {"incarnation"}):
            equal(said(monitor, "group-formed"), (job.group, want), "what is said")
        abi.tool("inc", "-n", "sw", "node", "del", "dev", "br0")
        for monitor, want in (guest, set()), (host, telling):
            equal(said(monitor, "moving"), (job.group, want), "what is said")
        job.close()
    abi.tool("inc", "-n", "sw", "node", "add", "dev", "br0", "dead", "10000")
    all_back()


abi.main(Lab())
