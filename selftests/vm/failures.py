# SPDX-License-Identifier: GPL-2.0-only
"""
Every allocation and every copy from or to user memory that a call does fails once, one after the
other (fail-nth of the kernel's fault injection): the call ends in an errno or does what it is to
do, and what comes after it works. Started by 50-failures.sh; ranks of h1, h2 and h3.
"""
import array
import errno
import os
import socket
import struct

import inc_abi as abi
import inc_wire as w
from inc_abi import ALLREDUCE, BARRIER, Job, Rank, equal, sockaddr, test, wait_until
from inc_proc import new_group

MEMORY = (errno.ENOMEM, errno.ENOBUFS, errno.EFAULT, errno.ENFILE)
SCAN, GATHER, ALLTOALL, COUNTS = 10, 7, 9, 2
MOST = 400                              # failures of one call; none does as much
CMD_CAPS_GET, CMD_NODE_GET, CMD_NODE_ADD, CMD_NODE_DEL, CMD_MEMBER_GET, CMD_PORT_GET = (1, 2, 3, 5,
                                                                                        10, 12)
CMD_PARENT_GET, A_NODE, A_NODE_IFNAME = 6, 2, 2


class Lab:
    def __init__(self):
        self.fd = os.open("/proc/thread-self/fail-nth", os.O_RDWR)
        self.job = None

    def arm(self, n):
        os.pwrite(self.fd, b"%d" % n, 0)

    def disarm(self):
        """Has it failed? Reading and writing copy, too, so that they may be what fails."""
        try:
            left = int(os.pread(self.fd, 16, 0))
        except OSError:
            left = 1
        while True:
            try:
                os.pwrite(self.fd, b"0", 0)
                return left == 0
            except OSError:
                pass

    def each(self, call, after=lambda got: None, what="call"):
        """@call with its first, second, ... allocation failing, until none is left; @after gets
        what it returned, or the OSError. Returns how many have failed."""
        failed = []
        for n in range(1, MOST):
            self.arm(n)
            try:
                got = call()
            except OSError as e:
                got = e
            if not self.disarm():
                if isinstance(got, OSError):
                    raise got
                after(got)
                print(f"{what}: {n - 1} failures, {len(failed)} times an error: "
                      f"{sorted({errno.errorcode[e] for e in failed})}")
                return n - 1
            if isinstance(got, OSError):
                failed.append(got.errno)
                if got.errno not in MEMORY:
                    raise AssertionError(f"{what}, failure {n}: {got}")
            after(got)
        raise AssertionError(f"{what}: more than {MOST} failures")

    def recover(self):
        self.disarm()
        if self.job:
            self.job.close()
        self.job = None

    def jobs(self, n=2):
        if self.job is None or len(self.job.ranks) != n:
            self.recover()
            self.job = Job(new_group(), ("h1", "h2", "h3")[:n])
        return self.job


def closed(rank):
    if isinstance(rank, Rank):
        rank.close()


@test("failures: socket()")
def t_socket(lab):
    abi.family()
    with w.netns("h1"):
        # not by Python's class, which asks for the socket's type afterwards
        def call():
            fd = w.libc.socket(abi.family(), socket.SOCK_SEQPACKET, 0)
            if fd < 0:
                e = abi.ctypes.get_errno()
                raise OSError(e, os.strerror(e))
            return fd

        if lab.each(call, lambda got: isinstance(got, int) and os.close(got), "socket") < 3:
            raise AssertionError("that is too few: does it fail at all?")


def join_each(lab, ns):
    group = new_group()
    rank, raw = None, b""

    def call():
        rank.connect(raw)

    def after(got):
        nonlocal rank, raw, group
        if rank is not None:
            if isinstance(got, OSError) and got.errno == errno.EINPROGRESS:
                rank.joined()
            rank.close()
        group = group + 1 & 0xffffffff
        rank, raw = Rank(ns), sockaddr(group, 0, 1)
        rank.group, rank.rank = group, 0
        rank.sock.setblocking(False)

    after(None)
    for n in range(1, MOST):
        lab.arm(n)
        try:
            got = call()
        except OSError as e:
            got = e
        reached = lab.disarm()
        if not isinstance(got, OSError) or got.errno not in MEMORY + (errno.EINPROGRESS,):
            raise AssertionError(f"connect, failure {n}: {got}")
        after(got)
        if not reached:
            print(f"connect: {n - 1} failures")
            break
    rank.close()
    return n


@test("failures: connect()")
def t_connect(lab):
    lab.jobs()
    join_each(lab, "h1")
    lab.job.run()


@test("failures: connect(), the first one of a host, which registers its hooks")
def t_connect_first(lab):
    join_each(lab, "h4")


class Operation:
    """One kind of operation of two ranks, again and again."""

    def __init__(self, job, what, n):
        self.job, self.what, self.n, self.keep = job, what, n, None
        self.bufs = [self.buffers(r) for r in range(2)]

    def ints(self, values):
        return array.array("i", values)

    def u64(self, values):
        return array.array("Q", values)

    def buffers(self, r):
        n = self.n
        if self.what["coll"] in (GATHER, ALLTOALL):
            send = self.ints(range(r * 7, r * 7 + 2 * n))
        else:
            send = self.ints(range(r * 7, r * 7 + n))
        return send, self.ints(bytes(0)) if n == 0 else self.ints([-1] * (2 * n))

    def submit(self, r):
        send, recv = self.bufs[r]
        what, n = dict(self.what), self.n
        if what.get("mode") == COUNTS:
            counts, displs = self.u64([n, n]), self.u64([0, n])
            self.keep = [self.keep, counts, displs] if r else [counts, displs]
            if what["coll"] == ALLTOALL:
                what.update(send_counts=counts.buffer_info()[0],
                            send_displs=displs.buffer_info()[0])
                what.update(recv_counts=counts.buffer_info()[0],
                            recv_displs=displs.buffer_info()[0])
            elif r == 0:
                what.update(count=n, recv_counts=counts.buffer_info()[0],
                            recv_displs=displs.buffer_info()[0])
            else:
                what.update(count=n)
        else:
            what["count"] = n
        if what["coll"] != BARRIER:
            what.update(send=send.buffer_info()[0], recv=recv.buffer_info()[0])
        return self.job.ranks[r].submit(**what)

    def expected(self, r):
        n, a, b = self.n, self.bufs[0][0], self.bufs[1][0]
        coll = self.what["coll"]
        if coll == BARRIER:
            return []
        if coll == ALLREDUCE:
            return [x + y for x, y in zip(a, b)]
        if coll == SCAN:
            return [x + y for x, y in zip(a, b)] if r else list(a)
        if coll == GATHER:
            return [] if r else list(a[:n]) + list(b[:n])
        return list(a[n * r:n * r + n]) + list(b[n * r:n * r + n])

    def finish(self, handle):
        other = self.submit(1)
        for r, h in (0, handle), (1, other):
            done = self.job.ranks[r].wait(h)
            equal((done.result, done.handle), (0, h), f"rank {r}: completion ({done})")
            want, got = self.expected(r), self.bufs[r][1]
            equal(list(got[:len(want)]), want, f"rank {r}: result")
            for i in range(len(want)):
                got[i] = -1


KINDS = (("barrier", {"coll": BARRIER, "dtype": 0, "op": 0}, 0),
         ("allreduce", {"coll": ALLREDUCE}, 1000),
         ("long allreduce", {"coll": ALLREDUCE}, 150000),
         ("scan", {"coll": SCAN}, 700),
         ("gather with counts", {"coll": GATHER, "op": 0, "mode": COUNTS}, 300),
         ("alltoall with counts", {"coll": ALLTOALL, "op": 0, "mode": COUNTS}, 300))


def submit_each(lab, name, what, n):
    job = lab.jobs()
    op = Operation(job, what, n)

    def after(got):
        if not isinstance(got, OSError):
            op.finish(got)

    lab.each(lambda: op.submit(0), after, f"submit, {name}")
    op.finish(op.submit(0))
    job.run()


for _name, _what, _n in KINDS:
    test(f"failures: submit, {_name}")(lambda lab, k=(_name, _what, _n): submit_each(lab, *k))


@test("failures: a completion that could not be handed over is not lost")
def t_wait(lab):
    job = lab.jobs()
    handles = []

    def call():
        return job.ranks[0].wait(handles[0][0])

    def begin():
        handles[:] = [job.begin((0, 1), 1000, len(handles))]
        for r in 0, 1:                  # done before it is waited for
            wait_until(lambda r=r: job.ranks[r].info()["submitted"]
                       == job.ranks[r].info()["completed"], "done")

    def after(got):
        if isinstance(got, OSError):
            got = job.ranks[0].wait(handles[0][0])
        equal(got.result, 0, "result")
        job.ranks[0].buffers.clear()
        job.end({1: handles[0][1]}, 1000, 0)
        handles.clear()
        begin()

    begin()
    lab.each(call, after, "wait")
    job.end(handles[0], 1000, 0)
    job.run()


@test("failures: what netlink shows")
def t_show(lab):
    lab.jobs()
    for ns in "sw", "h1":
        abi.counters(ns)
        for name, command, dump in (("caps", CMD_CAPS_GET, False),
                                    ("stats", abi.CMD_STATS_GET, False),
                                    ("parent", CMD_PARENT_GET, False),
                                    ("groups", abi.CMD_GROUP_GET, True),
                                    ("members", CMD_MEMBER_GET, True),
                                    ("nodes", CMD_NODE_GET, True),
                                    ("ports", CMD_PORT_GET, True)):
            def after(_, ns=ns):
                abi.forget(ns)          # what has not been read
                abi.counters(ns)
                abi._links[ns][0].settimeout(5)
            after(None)
            lab.each(lambda c=command, d=dump, ns=ns: abi.ask(ns, c, d), after, f"{ns}: {name}")
    abi.forget("h1")


def change(command, dev):
    """Adds or removes a node in sw."""
    name = struct.pack("=HH", 4 + len(dev) + 1, A_NODE_IFNAME) + dev.encode() + b"\0"
    name += bytes(-len(name) % 4)
    sock, number = abi._links["sw"]
    abi._ask(sock, number, 5, command, struct.pack("=HH", 4 + len(name), A_NODE | 0x8000) + name)


def nodes():
    return [n["dev"] for n in abi.show("sw", "node")]


@test("failures: nodes come and go")
def t_nodes(lab):
    lab.jobs()
    abi.tool("ip", "-n", "sw", "link", "add", "dummy7", "type", "dummy")
    abi.counters("sw")
    there = False

    def after(got):
        nonlocal there
        abi.forget("sw")
        abi.counters("sw")
        there = "dummy7" in nodes()
        if not isinstance(got, OSError):
            equal(there, True, "the node has been added")
        if there:
            change(CMD_NODE_DEL, "dummy7")

    lab.each(lambda: change(CMD_NODE_ADD, "dummy7"), after, "node add")
    abi.tool("ip", "-n", "sw", "link", "del", "dummy7")
    equal(nodes(), ["br0"], "nodes")
    lab.job.run()


@test("failures: all is given back")
def t_back(lab):
    lab.recover()
    abi.forget("sw")
    wait_until(lambda: not abi.groups("sw"), "no group is left", 30)
    abi.forget("sw")


abi.main(Lab())
