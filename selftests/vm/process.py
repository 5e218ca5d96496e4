# SPDX-License-Identifier: GPL-2.0-only
"""
Processes and what can become of them: several groups and sockets in one, forks, kills, stops,
memory that goes away in mid-operation, nodes, bridges and namespaces that do. Started by
23-process.sh.
"""
import array
import errno
import os
import resource
import select
import signal
import socket
import subprocess
import threading
import time

import inc_abi as abi
from inc_abi import BARRIER, BROADCAST, Job, Rank, equal, fails, test, wait_until
from inc_clock import Clock
from inc_proc import Pages, beside, ended, new_group

ECONNRESET, EHOSTDOWN, EFAULT = -104, -112, -14
NOBODY = 65534
# seconds: the dead limit, and some for its timers and a machine that is busy
TOLD = 5


class Lab:
    """What a test has begun, for one that fails."""

    def __init__(self):
        self.ranks, self.pids = [], []

    def recover(self):
        for pid in self.pids:
            try:
                os.kill(pid, signal.SIGKILL)
                ended(pid)
            except (ProcessLookupError, ChildProcessError):
                pass
        for rank in self.ranks:
            rank.close()
        self.ranks, self.pids = [], []


def error_of(rank, handle, within):
    """The completion of an operation that must fail within this time."""
    with Clock() as clock:
        done = rank.wait(handle, 20000)
        took = clock.seconds()
    if took > within:
        raise AssertionError(
            f"rank {rank.rank}: told after {took:.2f} s ({done}), expected {within} s at most")
    return done


def told(rank, handle, result, code, ranks, within):
    done = error_of(rank, handle, within)
    equal((done.result, done.code, done.ranks), (result, code, ranks),
          f"rank {rank.rank}: result, code and ranks")


def none_left(*where):
    for ns in where:
        wait_until(lambda ns=ns: not abi.groups(ns), f"no group is left in {ns}", 30)


@test("process: two groups at once in one process")
def t_two_groups(lab):
    del lab
    one, two = Job(new_group(), ("h1", "h2", "h3")), Job(new_group(), ("h3", "h1"))
    for k in range(5):
        a = one.begin((0, 1, 2), 3000, k)
        b = two.begin((0, 1), 2000, k + 1)
        two.end(b, 2000, k + 1)
        one.end(a, 3000, k)
    one.close()
    two.run(100)
    two.close()


@test("process: two ranks of one group on one host, and two sockets more of another")
def t_two_sockets(lab):
    del lab
    one, two = Job(new_group(), ("h1", "h1", "h2")), Job(new_group(), ("h1", "h1"))
    for k in range(3):
        one.run(5000, k)
        two.run(400, k)
    equal(abi.show("h1", "group")[0]["role"], "rank", "role of a group at h1")
    equal(len(abi.groups("h1")), 4, "ranks at h1")
    one.close()
    two.close()


@test("process: one that ends waits for the first of its sockets that cannot leave, for no other")
def t_exit(lab):
    sockets = 12
    numbers = [new_group() for _ in range(sockets)]
    ready, go = os.pipe(), os.pipe()

    def member():
        jobs = [Job(number, ("h4",)) for number in numbers]
        os.write(ready[1], b"x")
        os.read(go[0], 1)
        equal([job.ranks[0].info()["state"] for job in jobs], [abi.READY] * sockets, "states")

    pid = beside(member)
    lab.pids.append(pid)
    equal(os.read(ready[0], 1), b"x", "the sockets are connected")
    try:
        abi.tool("ip", "-n", "h4", "link", "set", "eth0", "down")
        with Clock() as clock:
            os.write(go[1], b"x")
            equal(ended(pid), 0, "the process")
            took = clock.seconds()
        lab.pids.remove(pid)
    finally:
        abi.tool("ip", "-n", "h4", "link", "set", "eth0", "up")
        for fd in ready + go:
            os.close(fd)
    print(f"# {sockets} sockets: {took:.1f} s")
    if took > sockets / 2:
        raise AssertionError(f"it took {took:.1f} s: each of {sockets} sockets is waited for a second")


@test("process: one that has been sent sockets which cannot leave does not wait for each")
def t_sent(lab):
    sockets = 12
    numbers = [new_group() for _ in range(sockets)]
    # the node does not know yet that those of the test before are gone
    wait_until(lambda: abi.tool("inc", "-n", "sw", "-j", "group", "show").strip() == "[]",
               "no group at the node")
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    ours.settimeout(60)

    def member():
        jobs = [Job(number, ("h4",)) for number in numbers]
        socket.send_fds(theirs, [b"x"], [job.ranks[0].fd for job in jobs])
        os.read(theirs.fileno(), 1)

    pid = beside(member)
    lab.pids.append(pid)
    _, fds, _, _ = socket.recv_fds(ours, 1, sockets)
    equal(len(fds), sockets, "sockets that have come")
    try:
        abi.tool("ip", "-n", "h4", "link", "set", "eth0", "down")
        ours.send(b"x")
        ended(pid)
        lab.pids.remove(pid)
        with Clock() as clock:
            for fd in fds:
                os.close(fd)
            took = clock.seconds()
    finally:
        abi.tool("ip", "-n", "h4", "link", "set", "eth0", "up")
        ours.close()
        theirs.close()
    print(f"# {sockets} sockets: {took:.1f} s")
    if took > sockets / 4:
        raise AssertionError(f"it took {took:.1f} s: each of {sockets} sockets is waited for")


def many_counts(rank, size):
    """What it sends to each, as many as it gets from each: the same both ways."""
    return [(7 * min(rank, k) + 3 * max(rank, k)) % 5 for k in range(size)]


class Exchange:
    """An alltoall of one rank, whose counts only this rank knows."""

    def __init__(self, rank, size, wrong=None):
        self.rank, self.size = rank, size
        counts = many_counts(rank.rank, size)
        sends = list(counts)
        if wrong is not None:
            sends[wrong] += 1
        self.arrays = [array.array("Q", a) for a in
                       (sends, self.before(sends), counts, self.before(counts))]
        self.send = array.array("i", [v for k, n in enumerate(sends)
                                      for v in self.values(rank.rank, k, n)])
        self.recv = array.array("i", [-1] * (sum(counts) or 1))
        self.want = [v for k, n in enumerate(counts) for v in self.values(k, rank.rank, n)]
        at = [a.buffer_info()[0] for a in self.arrays]
        self.handle = rank.submit(coll=9, op=0, mode=2, send=self.send.buffer_info()[0],
                                  recv=self.recv.buffer_info()[0], send_counts=at[0],
                                  send_displs=at[1], recv_counts=at[2], recv_displs=at[3])

    @staticmethod
    def before(counts):
        return [sum(counts[:k]) for k in range(len(counts))]

    @staticmethod
    def values(sender, receiver, n):
        return [sender * 10000 + receiver * 10 + i for i in range(n)]

    def end(self):
        done = self.rank.wait(self.handle)
        equal(done.result, 0, f"rank {self.rank.rank}: the exchange ({done})")
        equal(list(self.recv[:len(self.want)]), self.want, f"rank {self.rank.rank}: what it got")


@test("process: alltoall with the counts of 40 ranks, which their workers merge")
def t_many_counts(lab):
    del lab
    size = 40
    job = Job(new_group(), ("h1",) * (size // 2) + ("h2",) * (size // 2))
    # several, and what comes behind them
    exchanges = [Exchange(rank, size) for _ in range(3) for rank in job.ranks]
    handles = job.begin(range(size), 100, 1)
    for exchange in exchanges:
        exchange.end()
    job.end(handles, 100, 1)
    wrong = [Exchange(rank, size, 5 if i == 3 else None) for i, rank in enumerate(job.ranks)]
    for exchange in wrong:
        done = exchange.rank.wait(exchange.handle)
        equal((done.result, done.code, done.ranks), (-errno.EMSGSIZE, abi.COUNTS, [3, 5]),
              f"rank {exchange.rank.rank}: rank 3 sends rank 5 more than that expects")
    job.run(100, 2)
    # the end comes while they are being merged, or before, or behind
    exchanges = [Exchange(rank, size) for rank in job.ranks]
    job.close()
    wait_until(lambda: not abi.groups("h1") and not abi.groups("h2"), "all ranks are gone")


@test("process: fork: the child works with the socket, its end changes nothing")
def t_fork(lab):
    del lab
    job = Job(new_group(), ("h1", "h2"))
    job.run(700, 1)

    def child():
        job.run(900, 2)
        job.close()                     # of the child's descriptors only

    equal(ended(beside(child)), 0, "the child")
    equal([r.info()["state"] for r in job.ranks], [abi.READY] * 2,
          "states after the child's close()")
    job.run(700, 3)
    pid = beside(lambda: time.sleep(60))
    os.kill(pid, signal.SIGKILL)
    ended(pid)
    job.run(700, 4)
    job.close()
    none_left("h1", "h2", "sw")


def bursts(rank, n):
    """
    All operations of a burst are waited for before the next one begins: nobody who submits comes to
    the rescue.
    """
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (1 << 16, 1 << 16))
    os.setresuid(NOBODY, NOBODY, NOBODY)
    for k in range(n):
        for handle in [rank.allreduce(range(k, k + 4096)) for _ in range(6)]:
            rank.check(handle, array.array("i", range(3 * k, 3 * (k + 4096), 3)), 20000)


@test("process: bursts of operations with 16 pages to pin for all ranks")
def t_little_memory(lab):
    job = Job(new_group(), ("h1", "h2", "h3"))
    lab.pids = [beside(lambda rank=rank: bursts(rank, 60)) for rank in job.ranks]
    for pid in list(lab.pids):
        equal(ended(pid, 120), 0, "status of a rank")
        lab.pids.remove(pid)
    job.close()


BLOCKS = 40      # of a broadcast, fewer than a window


@test("process: blocks to which a rank has nothing to contribute share headers")
def t_spans(lab):
    job = Job(new_group(), ("h1", "h2", "h3"))
    if job.ranks[1].info()["window"] < BLOCKS:
        raise AssertionError(f"the window is less than {BLOCKS}: {job.ranks[1].info()}")
    n = BLOCKS * job.ranks[1].info()["block"] // 4
    data = [array.array("i", range(n) if r == 0 else bytes(4 * n)) for r in range(3)]
    job.run()
    before = abi.counters("h2")
    # what rank 1 contributes leaves before it can have a result of rank 0
    handles = {r: job.ranks[r].submit(coll=BROADCAST, op=0, count=n, send=at, recv=at)
               for r, at in ((r, data[r].buffer_info()[0]) for r in (1, 2, 0))}
    for r, handle in handles.items():
        equal(job.ranks[r].wait(handle).result, 0, f"result of rank {r}")
        equal(data[r] == data[0], True, f"the elements of rank {r}")
    packets = abi.counters("h2")["tx_packets"] - before["tx_packets"]
    if packets > BLOCKS // 4:
        raise AssertionError(f"{packets} packets for {BLOCKS} blocks without elements")
    job.close()
    abi.forget("h2")


@test("process: counters of a namespace never sink, whatever goes away meanwhile")
def t_counters(lab):
    stop = os.pipe()

    def watch():
        os.close(stop[1])
        last, reads = abi.counters("h1"), 0
        while not select.select([stop[0]], [], [], 0)[0]:
            now = abi.counters("h1")
            sunk = {k: (last[k], now[k]) for k in now if now[k] < last[k]}
            if sunk:
                raise AssertionError(f"after {reads} times: {sunk}")
            last, reads = now, reads + 1
        print(f"read {reads} times", flush=True)

    abi.forget("h1")
    lab.pids = [beside(watch)]
    os.close(stop[0])
    for k in range(100):
        job = Job(new_group(), ("h1", "h1"))
        job.run(700, k)
        job.close()
    os.close(stop[1])
    equal(ended(lab.pids.pop()), 0, "status of who watches")


@test("process: jobs one after the other: what a group holds is free as soon as all have left")
def t_jobs(lab):
    del lab
    left, begin = [], time.monotonic()
    for k in range(30):
        job = Job(new_group(), ("h1", "h1"))
        job.run(700, k)
        job.close()
        left.append(len(abi.groups("sw")))
    # Those of the last 20 ms, two ticks of the slowest clock, and one: the node's timer alone keeps
    # what has ended for up to 250.
    most = len(left) * (1 + 0.02 * len(left) / (time.monotonic() - begin))
    if sum(left) > most:
        raise AssertionError(f"groups that are still there after each job: {left}, {most} in all")


def lone_rank(host, group, rank, size, work):
    """A process that is one rank."""
    def child():
        mine = Rank(host)
        mine.start(group, rank, size)
        mine.joined()
        work(mine)
    return beside(child)


def with_lone(lab, work, host="h3"):
    """Ranks 0 and 1 here, rank 2 in a process of its own."""
    group = new_group()
    here = [Rank("h1"), Rank("h2")]
    for i, rank in enumerate(here):
        rank.start(group, i, 3)
    pid = lone_rank(host, group, 2, 3, work)
    lab.ranks, lab.pids = here, [pid]
    for rank in here:
        rank.joined()
    return here, pid


def close_all(ranks):
    for rank in ranks:
        rank.close()


@test("process: kill -9 in mid-operation: the others are told which rank it was")
def t_kill(lab):
    def work(mine):
        mine.allreduce(range(100000))
        time.sleep(60)

    before = abi.counters("h3")["contribs_sent"]
    here, pid = with_lone(lab, work)
    handles = [here[0].allreduce(range(100000)), here[0].submit(coll=BARRIER, dtype=0, op=0)]
    wait_until(lambda: here[0].info()["missing"] == 1, "rank 1 is waited for")
    # with nothing under way its end would be a leave
    wait_until(lambda: abi.counters("h3")["contribs_sent"] > before, "rank 2 is at work")
    os.kill(pid, signal.SIGKILL)
    ended(pid)
    other = here[1].allreduce(range(100000))
    for handle in handles:
        told(here[0], handle, ECONNRESET, abi.RANK_ABORT, [2, abi.NO_RANK], TOLD)
    told(here[1], other, ECONNRESET, abi.RANK_ABORT, [2, abi.NO_RANK], TOLD)
    told(here[1], here[1].submit(coll=BARRIER, dtype=0, op=0), ECONNRESET, abi.RANK_ABORT,
         [2, abi.NO_RANK], TOLD)
    close_all(here)
    none_left("h1", "h2", "h3")


@test("process: shutdown() in another thread: all ranks are told which rank it was")
def t_shutdown(lab):
    here, pid = with_lone(lab, lambda mine: time.sleep(60))
    handle = here[0].allreduce(range(1000))
    wait_until(lambda: here[0].info()["missing"] == 1, "rank 1 is waited for")
    thread = threading.Timer(0.2, here[0].sock.shutdown, [socket.SHUT_RDWR])
    thread.start()
    told(here[0], handle, ECONNRESET, abi.RANK_ABORT, [0, abi.NO_RANK], TOLD)
    thread.join()
    told(here[1], here[1].allreduce(range(1000)), ECONNRESET, abi.RANK_ABORT, [0, abi.NO_RANK],
         TOLD)
    here[0].sock.shutdown(socket.SHUT_RDWR)
    os.kill(pid, signal.SIGKILL)
    ended(pid)
    close_all(here)
    none_left("h1", "h2", "h3")


@test("process: shutdown() while connect() waits for other ranks")
def t_shutdown_join(lab):
    del lab
    rank = Rank("h1")
    thread = threading.Timer(0.5, rank.sock.shutdown, [socket.SHUT_RDWR])
    thread.start()
    try:
        fails(errno.ECANCELED, rank.connect, abi.sockaddr(new_group(), 0, 2))
    finally:
        thread.join()
    none_left("sw")
    rank.close()


@test("process: SIGSTOP: the rank is late, seen in the group and as an event, and comes back")
def t_stop(lab):
    def work(mine):
        equal(mine.wait(mine.allreduce(range(4000))).result, 0, "result before the stop")
        os.kill(os.getpid(), signal.SIGSTOP)
        equal(mine.wait(mine.allreduce(range(4000))).result, 0, "result after it")
        mine.close()

    with abi.Monitor("sw") as monitor:
        here, pid = with_lone(lab, work)
        monitor.wait("group-formed")
        first = [rank.allreduce(range(4000)) for rank in here]
        equal([rank.wait(handle).result for rank, handle in zip(here, first)], [0, 0],
              "results before the stop")
        second = [rank.allreduce(range(4000)) for rank in here]
        group = here[0].group
        late = monitor.wait("rank-late")
        equal((late["group"], late["rank"]), (group, 2), "group and rank of the event")
        shown = [g for g in abi.show("sw", "group") if g["group"] == group][0]
        equal((shown["waiting"], shown.get("late")), (2, True), "waiting and late of the group")
        if not 900 < shown["waited_ms"] < 20000:
            raise AssertionError(f"waited_ms is {shown['waited_ms']}, expected a second or more")
        os.kill(pid, signal.SIGCONT)
        equal([rank.wait(handle).result for rank, handle in zip(here, second)], [0, 0],
              "results when it is back")
        equal(monitor.wait("rank-back")["rank"], 2, "rank that is back")
        equal(ended(pid), 0, "the process that was stopped")
    close_all(here)
    none_left("sw", "h1", "h2", "h3")


@test("process: memory that goes away in mid-operation: the others are told whose")
def t_fault(lab):
    def work(mine):
        # more than is pinned at once, gone before anybody else contributes
        mem = Pages(10240)
        handle = mine.submit(count=mem.size // 4, send=mem.at, recv=mem.at)
        mem.protect(0)
        done = mine.wait(handle, 30000)
        equal((done.result, done.code, done.ranks), (EFAULT, abi.RANK_FAULT, [2, abi.NO_RANK]),
              "what rank 2 is told")

    before = abi.counters("h3")["contribs_sent"]
    here, pid = with_lone(lab, work)
    wait_until(lambda: abi.counters("h3")["contribs_sent"] > before, "rank 2 has contributed")
    mem = [Pages(10240), Pages(10240)]
    handles = [rank.submit(count=m.size // 4, send=m.at, recv=m.at) for rank, m in zip(here, mem)]
    for rank, handle in zip(here, handles):
        told(rank, handle, EFAULT, abi.RANK_FAULT, [2, abi.NO_RANK], TOLD)
    equal(ended(pid), 0, "the process whose memory went")
    close_all(here)
    for m in mem:
        m.free()
    none_left("h1", "h2", "h3")


@test("process: rmmod while a socket is open: in use")
def t_rmmod(lab):
    del lab
    none_left("sw")                     # groups that failed are kept for a while
    job = Job(new_group(), ("h1", "h2"))
    done = subprocess.run(["rmmod", "inc"], stderr=subprocess.PIPE, text=True, check=False)
    if not done.returncode or "in use" not in done.stderr:
        raise AssertionError(f"rmmod: status {done.returncode}, {done.stderr.strip()!r}")
    job.run(700)
    unconnected = Rank("h1")
    job.close()
    wait_until(lambda: not abi.groups("h1"), "the ranks have left")
    if not subprocess.run(["rmmod", "inc"], stderr=subprocess.DEVNULL, check=False).returncode:
        raise AssertionError("rmmod succeeded beside a socket that is not connected")
    unconnected.close()


@test("gone: a host's namespace is deleted while its rank is at work")
def t_host_namespace(lab):
    del lab
    job = Job(new_group(), ("h1", "h2", "h3"))
    job.run(700, 1)
    abi.forget("h3")
    abi.tool("ip", "netns", "del", "h3")
    job.run(3000, 2)                    # the socket keeps it
    job.close()
    none_left("sw", "h1", "h2")
    wait_until(lambda: "p3" not in abi.tool("ip", "-n", "sw", "-br", "link"),
               "the namespace and its link are gone")


def node_goes(gone, *command):
    """
    Ranks of a job whose node goes by this command, which has done its work when gone(): all are
    told so.
    """
    job = Job(new_group(), ("h1", "h2"))
    job.run(700, 1)
    handles = [job.ranks[0].allreduce(range(100000))]
    abi.forget("sw")
    abi.tool(*command)
    wait_until(gone, "the node is gone", 60)
    handles.append(job.ranks[1].allreduce(range(100000)))
    for rank, handle in zip(job.ranks, handles):
        done = error_of(rank, handle, TOLD)
        equal(done.result, EHOSTDOWN, f"rank {rank.rank}: result ({done})")
        if done.code not in (abi.NODE_DEAD, abi.NODE_GONE):
            raise AssertionError(
                f"rank {rank.rank}: error {done.code}, expected NODE_DEAD or NODE_GONE")
        equal(rank.info()["state"], abi.FAILED, "state")
    job.close()
    none_left("h1", "h2")


@test("gone: the bridge is deleted in mid-operation")
def t_bridge(lab):
    del lab
    node_goes(lambda: True, "ip", "-n", "sw", "link", "del", "br0")
    equal(abi.show("sw", "node"), [], "nodes of sw")
    equal(abi.groups("sw"), [], "groups of sw")
    abi.forget("sw")


@test("gone: the node's namespace is deleted in mid-operation, with all that is in it")
def t_node_namespace(lab):
    del lab
    # what is in it goes in the background, the other ends of its links with it
    node_goes(lambda: "eth0" not in abi.tool("ip", "-n", "h1", "-br", "link"), "ip", "netns",
              "del", "sw")


abi.main(Lab())
