#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
One rank of a Python program that uses the package `inc`, compared with what NumPy computes.

    python_ranks.py TEST...     as rank INC_RANK of INC_SIZE in groups from INC_GROUP on

SEED: of random numbers; FILE: how names of files begin by which ranks tell others how far they are.
Prints "TEST: passed" for every test, or ends with what was wrong.
"""
import array
import errno
import gc
import os
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np

import inc

RANK = int(os.environ["INC_RANK"])
SIZE = int(os.environ["INC_SIZE"])
GROUP = int(os.environ["INC_GROUP"])
SEED = int(os.environ["SEED"])


def expect(what, got, want):
    if got != want:
        sys.exit(f"rank {RANK}: {what} is {got!r}, expected {want!r}")


def equal(what, got, want):
    """Bit for bit."""
    want = np.asarray(want, got.dtype)
    if got.tobytes() != want.tobytes():
        at = np.flatnonzero(np.asarray(got).ravel() != want.ravel())[:1]
        sys.exit(
            f"rank {RANK}: {what}: element {at} is {got.ravel()[at]}, expected {want.ravel()[at]}")


def fails(function, *args, **options):
    """The inc.Error that it raises."""
    try:
        function(*args, **options)
    except inc.Error as error:
        return error
    sys.exit(f"rank {RANK}: no inc.Error was raised")


def until(what, condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"rank {RANK}: waited too long until {what}")
        time.sleep(0.02)


def said(what):
    """Whether some rank has said it in this test."""
    return os.path.exists(f"{os.environ['FILE']}.{GROUP}.{what}")


def say(what):
    open(f"{os.environ['FILE']}.{GROUP}.{what}", "w", encoding="utf-8").close()


def at_node(counter):
    """What the node has counted."""
    stats = subprocess.run(["inc", "-n", "sw", "-j", "-s", "stats", "show"], check=True,
                           stdout=subprocess.PIPE)
    return int(re.search(rb'"%s":(\d+)' % counter.encode(), stats.stdout)[1])


def inputs(n, dtype, k=0):
    """What every rank has: each can compute what all get."""
    random = np.random.default_rng([SEED, n, k])
    if np.dtype(dtype).kind == "f":
        return [random.standard_normal(n).astype(dtype) for _ in range(SIZE)]
    return [random.integers(0, 100, n).astype(dtype) for _ in range(SIZE)]


def fold(function, vectors):
    """Along a binary tree over the ranks, as the node does."""
    if len(vectors) == 1:
        return vectors[0].copy()
    half = 1 << (len(vectors) - 1).bit_length() - 1
    return function(fold(function, vectors[:half]), fold(function, vectors[half:])).astype(
        vectors[0].dtype)


def as_bf16(x):
    """f32 rounded to bf16, to nearest even, as u16; no NaN."""
    bits = x.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> np.uint64(16) & np.uint64(1)))
            >> np.uint64(16)).astype(np.uint16)


def from_bf16(x):
    return (x.astype(np.uint32) << np.uint32(16)).view(np.float32)


# ---- Collectives ---------------------------------------------------------------------------------

def reductions(group):
    functions = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}
    for k, (dtype, op) in enumerate((("f4", "sum"), ("f8", "sum"), ("i4", "sum"), ("f4", "max"),
                                     ("i8", "min"),
                                     ("f8", "prod"), ("u2", "sum"))):
        each = inputs(1000 + k, dtype, k)
        want = fold(functions[op], each)
        own = each[group.rank].copy()
        got = np.zeros_like(own)
        group.allreduce(own, got, op)
        equal(f"allreduce {dtype} {op}", got, want)
        equal("what was sent", own, each[group.rank])
        group.allreduce(own, op=op)
        equal(f"allreduce {dtype} {op} in place", own, want)
    bits = inputs(300, "u4")
    own = bits[group.rank].copy()
    group.allreduce(own, op=inc.Op.BXOR)
    equal("bxor", own, fold(np.bitwise_xor, bits))
    each = inputs(700, "f4", 5)
    for root in range(SIZE):
        got = np.zeros(700, "f4")
        group.reduce(each[group.rank], got, root=root)
        equal("reduce", got, fold(np.add, each) if root == group.rank else np.zeros(700))
        own = each[group.rank].copy()
        group.reduce(own, root=root)
        equal("reduce in place", own,
              fold(np.add, each) if root == group.rank else each[group.rank])
    got = np.zeros(700, "f4")
    group.scan(each[group.rank], got)
    equal("scan", got, fold(np.add, each[:group.rank + 1]))
    got = np.full(700, 7, "f4")
    group.exscan(each[group.rank], got)
    equal("exscan", got, fold(np.add, each[:group.rank]) if group.rank else np.full(700, 7))
    means = inputs(64, "i4", 6)
    own = means[group.rank].copy()
    group.allreduce(own, op="avg")
    equal("avg", own, np.trunc(fold(np.add, means) / SIZE))
    weights = [0.5, 0.25, 2.0, 1.0]
    own = each[group.rank].copy()
    group.allreduce(own, op="wsum", weight=weights[group.rank])
    equal("wsum", own, fold(np.add, [np.float32(w) * x for w, x in zip(weights, each)]))
    pairs = np.zeros(5, [("v", "f4"), ("i", "i4")])
    pairs["v"], pairs["i"] = each[group.rank][:5], group.rank
    group.allreduce(pairs, op="maxloc")
    stack = np.stack([x[:5] for x in each])
    equal("maxloc's values", pairs["v"].copy(), stack.max(0))
    equal("maxloc's ranks", pairs["i"].copy(), stack.argmax(0))


def shares(group):
    rank, size = group.rank, group.size
    each = inputs(size * 50, "f4", 7)
    total = fold(np.add, each)
    got = np.zeros(50, "f4")
    group.reduce_scatter(each[rank], got)
    equal("reduce-scatter", got, total[rank * 50:rank * 50 + 50])
    own = each[rank].copy()
    group.reduce_scatter(own)
    equal("reduce-scatter in place", own[:50], total[rank * 50:rank * 50 + 50])
    counts = [10 * r for r in range(size)]
    ends = np.cumsum(counts)
    got = np.zeros(counts[rank], "f4")
    group.reduce_scatterv(each[rank][:sum(counts)].copy(), got, counts)
    equal("reduce-scatter with counts", got, total[ends[rank] - counts[rank]:ends[rank]])

    mine = [x[:40] for x in each]
    every = np.concatenate(mine)
    got = np.zeros(40 * size, "f4")
    group.allgather(mine[rank], got)
    equal("allgather", got, every)
    got = np.zeros((size, 40), "f4")
    got[rank] = mine[rank]
    group.allgather(None, got)
    equal("allgather in place", got, every.reshape(size, 40))
    got = np.zeros(100, "f4")
    displs = [60, 30, 15, 0]
    group.allgatherv(mine[rank][:5 + rank], got, [5 + r for r in range(size)], displs)
    want = np.zeros(100, "f4")
    for r in range(size):
        want[displs[r]:displs[r] + 5 + r] = mine[r][:5 + r]
    equal("allgather with counts", got, want)
    for root in (0, size - 1):
        got = np.zeros(40 * size if rank == root else 0, "f4")
        group.gather(mine[rank], got, root)
        equal("gather", got, every if rank == root else [])
        group.gatherv(mine[rank][:rank], got[:6], [0, 1, 2, 3], root=root)
        if rank == root:
            equal("gather with counts", got[:6], np.concatenate([mine[r][:r] for r in range(size)]))
        got = np.zeros(50, "f4")
        group.scatter(each[root] if rank == root else None, got, root)
        equal("scatter", got, each[root][rank * 50:rank * 50 + 50])
        got = np.zeros(rank + 1, "f4")
        begin = [9, 7, 5, 9][rank]
        group.scatterv(each[root] if rank == root else None, got, [1, 2, 3, 4], [9, 7, 5, 9], root)
        equal("scatter with counts", got, each[root][begin:begin + rank + 1])
    for n in (50, 3):
        own = each[rank][:size * n].copy()
        want = np.concatenate([x[rank * n:rank * n + n] for x in each])
        got = np.zeros(size * n, "f4")
        group.alltoall(own, got)
        equal("alltoall", got, want)
        group.alltoall(own)
        equal("alltoall in place", own, want)
    got = np.zeros(sum(r + 1 for r in range(size)), "f4")
    send_counts = [rank + 1] * size
    recv_counts = [r + 1 for r in range(size)]
    group.alltoallv(each[rank][:size * (rank + 1)].copy(), got, send_counts, recv_counts)
    equal("alltoall with counts", got,
          np.concatenate([each[r][rank * (r + 1):(rank + 1) * (r + 1)] for r in range(size)]))
    for root in range(size):
        own = each[root].copy() if rank == root else np.zeros_like(each[0])
        group.broadcast(own, root)
        equal("broadcast", own, each[root])


def other_buffers(group):
    rank = group.rank
    numbers = array.array("q", range(100))
    group.allreduce(numbers)
    expect("array.array", list(numbers), [SIZE * i for i in range(100)])
    text = bytearray(b"from rank %d" % rank)
    group.broadcast(text, 2)
    expect("bytearray", bytes(text), b"from rank 2")
    got = bytearray(SIZE)
    group.allgather(bytes([rank]), got)
    expect("bytes", bytes(got), bytes(range(SIZE)))
    group.allreduce(memoryview(got)[1:3])
    expect("memoryview", bytes(got), bytes([0, SIZE, 2 * SIZE, 3]))


def on_the_wire(group):
    rank = group.rank
    each = inputs(500, "f4", 9)
    small = [as_bf16(x) for x in each]
    total = fold(np.add, [from_bf16(x) for x in small])
    own = each[rank].copy()
    group.allreduce(own, wire="bf16")
    equal("f32 as bf16", own, from_bf16(as_bf16(total)))
    own = small[rank].copy()
    group.allreduce(own, type="bf16")
    equal("bf16", own, as_bf16(total))
    halves = [x.astype("f2") for x in each]
    own = halves[rank].copy()
    group.allreduce(own)
    equal("f16", own, fold(np.add, [x.astype("f4") for x in halves]).astype("f2"))
    own = each[rank].copy()
    group.allreduce(own, wire="f16")
    equal("f32 as f16", own,
          fold(np.add, [x.astype("f4") for x in halves]).astype("f2").astype("f4"))
    # 8-bit floats hold small integers exactly
    whole = np.full(16, rank + 1, "f4")
    group.allreduce(whole, wire=inc.Type.F8E4M3)
    equal("f32 as f8e4m3", whole, np.full(16, 10))
    blocks_of_values(group)
    eights = np.full(10, 100, "i1")
    group.allreduce(eights, saturate=True)
    equal("saturating", eights, np.full(10, 127))


def blocks_of_values(group):
    """Gradients of 70 values: as blocks they are 3, the last of them with 26 zeros."""
    gradient = np.arange(70, dtype="f4") * (group.rank + 1)
    blocks = inc.mx_pack(gradient, "mxi8")
    expect("bytes of blocks", len(blocks), inc.mx_bytes(70, "mxi8"))
    each = []
    for rank in range(SIZE):
        own = np.zeros(70, "f4")
        inc.mx_unpack(inc.mx_pack(np.arange(70, dtype="f4") * (rank + 1), "mxi8"), "mxi8", own)
        each.append(own)
    group.allreduce(blocks, op="avg", type="mxi8")
    inc.mx_unpack(blocks, "mxi8", gradient)
    want = np.zeros(70, "f4")
    inc.mx_unpack(inc.mx_pack(fold(np.add, each) / np.float32(SIZE), "mxi8"), "mxi8", want)
    equal("mxi8", gradient, want)


def test_collectives():
    with inc.Group() as group:
        expect("who", (group.rank, group.size, group.group), (RANK, SIZE, GROUP))
        reductions(group)
        shares(group)
        other_buffers(group)
        on_the_wire(group)
        for _ in range(3):
            group.barrier()
        expect("why", group.why("allreduce", "f32", "sum", 100)[0], True)
        expect("why, a sum of f32", group.why("allreduce")[0], True)
        error = fails(group.allreduce, np.zeros(3, "f4"), op="bxor")
        expect("errno of what there is not", error.errno, errno.EOPNOTSUPP)
        expect("its text", "f32 has no bxor" in str(error), True)
        group.barrier()
    expect("closed", group.closed, True)


def test_counted():
    """
    While the others wait: the node has counted every contribution of an allreduce, and reduced
    every block once.
    """
    blocks = 50
    with inc.Group() as group:
        # the first one holds the descriptor, too, of 32 bytes
        x = np.ones((blocks * group.info().block - 32) // 4, "f4")
        group.barrier()
        if RANK == 0:
            before = {name: at_node(name) for name in ("contribs", "blocks", "drop_duplicate")}
            say("counted")
        until("rank 0 has asked the node", lambda: said("counted"))
        sent = group.info()
        group.allreduce(x)
        equal("sum", x, np.full(len(x), SIZE))
        expect("blocks sent", group.info().blocks_sent - sent.blocks_sent, blocks)
        expect("operations", group.info().completed - sent.completed, 1)
        if RANK == 0:
            new = {name: at_node(name) - before[name] for name in before}
            expect("contributions, less duplicates", new["contribs"], SIZE * blocks)
            expect("blocks reduced", new["blocks"], blocks)
            say("looked")
        until("rank 0 has asked again", lambda: said("looked"))


def test_nonblocking():
    with inc.Group() as group:
        vectors = [inputs(800, "f4", k) for k in range(6)]
        own = [each[RANK].copy() for each in vectors]
        requests = [group.iallreduce(x) for x in own]
        barrier = group.ibarrier()
        until("the barrier has ended", barrier.test)
        for x, each, request in zip(own, vectors, requests):
            request.wait(30)
            expect("done, test", (request.done, request.test()), (True, True))
            expect("contributed", request.contributed(), frozenset(range(SIZE)))
            equal("iallreduce", x, fold(np.add, each))
        # dropped: the buffers are libinc's until they have ended
        last, dropped = [x.copy() for x in (vectors[0][RANK], vectors[1][RANK])], bytearray(400)
        if RANK == 1:
            until("the others wait", lambda: said("go"))
        group.iallreduce(last[0])
        group.iallreduce(last[1])
        group.ibroadcast(dropped)
        gc.collect()
        last_barrier = group.ibarrier()
        if RANK == 0:
            try:
                dropped.extend(b"x")
                sys.exit("rank 0: a buffer in use was resized")
            except BufferError:
                pass
            error = fails(last_barrier.wait, 3)
            expect("a limit", (type(error), error.errno, error.ranks),
                   (inc.Timeout, errno.ETIMEDOUT, (1,)))
            say("go")
        del last_barrier
    for k in range(2):
        equal("dropped", last[k], fold(np.add, vectors[k]))
    dropped.extend(b"x")


def test_memory():
    """Arrays in registered memory, of parts of it, and after it."""
    with inc.Group() as group:
        pool = np.zeros(100000, "f4")
        x, y = pool[:40000], pool[50000:]
        with group.register(pool) as memory:
            for k in range(4):
                vectors = inputs(40000, "f4", k)
                x[:] = vectors[RANK]
                group.allreduce(x)
                equal("in registered memory", x, fold(np.add, vectors))
            if RANK == 1:
                until("rank 0 has tried to release it", lambda: said("busy"))
            request = group.iallreduce(y)
            if RANK == 0:
                expect("released before its time", fails(memory.release).errno, errno.EBUSY)
                say("busy")
            request.wait()
        expect("released", (memory.released, memory.nbytes), (True, 0))
        kept = group.register(pool)
        group.barrier()
    expect("over with its group", kept.released, True)


def test_asyncio():
    import asyncio

    async def main():
        group = await inc.Group.join()
        expect("who", (group.rank, group.size), (RANK, SIZE))
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                await asyncio.sleep(0.05)
                ticks += 1

        async def one(k):
            each = inputs(600 + k, "f4", k)
            own = each[RANK].copy()
            await group.iallreduce(own)
            equal("awaited", own, fold(np.add, each))

        ticking = asyncio.ensure_future(tick())
        # tasks start in this order at all ranks
        await asyncio.gather(*(one(k) for k in range(8)))
        if RANK == 2:
            # the loops of the others go on meanwhile
            until("the others' loops ran", lambda: all(said(r) for r in (0, 1, 3)))
            await group.ibarrier()
        else:
            barrier = group.ibarrier()
            before = ticks
            while ticks < before + 5:
                try:
                    await asyncio.wait_for(wait(barrier), 0.2)
                    sys.exit(f"rank {RANK}: the barrier ended without rank 2")
                except asyncio.TimeoutError:
                    pass
            say(RANK)
            await barrier
        ticking.cancel()
        group.leave()

    async def wait(request):
        await request

    asyncio.run(main())


def test_split():
    with inc.Group(GROUP, RANK, SIZE) as group:
        half = group.split(RANK % 2, -RANK)
        others = list(range(RANK % 2, SIZE, 2))
        expect("rank and size", (half.rank, half.size), (others[::-1].index(RANK), len(others)))
        both = np.zeros(half.size, np.int32)
        half.allgather(np.array([RANK], np.int32), both)
        equal("the half", both, others[::-1])
        rest = group.split(None if RANK == SIZE - 1 else 5)
        expect("is in none", rest is None, RANK == SIZE - 1)
        if rest is not None:
            with rest:
                expect("rank and size", (rest.rank, rest.size), (RANK, SIZE - 1))
        with half.dup() as copy:
            expect("rank and size", (copy.rank, copy.size), (half.rank, half.size))
        # both groups have operations under way; that of the whole group waits for its last rank
        slow, fast = np.ones(10, np.int32), np.ones(10, np.int32)
        if RANK == SIZE - 1:
            half.iallreduce(fast).wait()
            until("the others have seen theirs end first",
                  lambda: all(said(f"any{r}") for r in range(SIZE - 1)))
            group.iallreduce(slow).wait()
        else:
            requests = [None, group.iallreduce(slow), half.iallreduce(fast)]
            expect("the first", inc.wait_any(requests), 2)
            expect("the error", type(fails(inc.wait_any, requests[:2], 0.05)), inc.Timeout)
            say(f"any{RANK}")
            inc.wait_all(requests, 60)
        equal("of all", slow, np.full(10, SIZE))
        equal("of the half", fast, np.full(10, half.size))
        half.leave()


def test_launcher():
    """As torchrun starts it; the job is what inc.h says of the hash, and the node has it."""
    port = str(20000 + GROUP % 40000)
    kept = {name: os.environ.pop(name) for name in ("INC_RANK", "INC_SIZE", "INC_GROUP")}
    os.environ.update(RANK=str(RANK), WORLD_SIZE=str(SIZE), MASTER_ADDR="10.7.0.1",
                      MASTER_PORT=port, LOCAL_RANK="0", LOCAL_WORLD_SIZE="1")
    value = 0xCBF29CE484222325
    for text in ("torchrun", "MASTER_ADDR", "10.7.0.1", "MASTER_PORT", port):
        for byte in text.encode() + b"\0":
            value = (value ^ byte) * 0x100000001B3 % 2**64
    with inc.Group() as group:
        expect("who", (group.rank, group.size, group.group), (RANK, SIZE, 0))
        x = np.full(4, RANK, "i4")
        group.allreduce(x)
        equal("sum", x, np.full(4, SIZE * (SIZE - 1) // 2))
        if RANK == 0:
            groups = subprocess.run(["inc", "-n", "sw", "-j", "group", "show"], check=True,
                                    stdout=subprocess.PIPE)
            expect("the node has it", b'"job":%d' % value in groups.stdout.replace(b" ", b""), True)
        group.barrier()
    os.environ.update(kept)


# ---- What goes wrong -----------------------------------------------------------------------------

def test_mismatch():
    with inc.Group() as group:
        error = fails(group.allreduce, np.zeros(100 + (RANK == 1), "f4"))
        expect("errno", error.errno, errno.EPROTO)
        expect("ranks", 1 in error.ranks and len(error.ranks) == 2, True)
        for text in ("rank 1: allreduce f32 sum 101", "allreduce f32 sum 100"):
            expect("both sides", text in str(error), True)
        x = np.ones(10, "f4")
        group.allreduce(x)
        equal("sum", x, np.full(10, SIZE))


def interrupt_when(condition):
    """What Ctrl-C does, once something is so; a list of when that was."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    when = []

    def work():
        until("this rank waits", condition)
        when.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=work, daemon=True).start()
    return when


def main_is_in(function):
    """Whether the main thread is in this function of the package, which calls libinc."""
    return lambda: sys._current_frames()[threading.main_thread().ident].f_code.co_name == function


def test_interrupt():
    """Rank 0 gets Ctrl-C in a blocking call while rank 3 is missing; the others are told."""
    group = inc.Group()
    group.barrier()
    x = np.ones(1000, "f4")
    if RANK == 0:
        when = interrupt_when(lambda: group.info().submitted > group.info().completed)
        try:
            group.allreduce(x)
            sys.exit("rank 0: not interrupted")
        except KeyboardInterrupt:
            took = time.monotonic() - when[0]
        expect(f"interrupted within 5 s ({took:.1f})", took < 5, True)
        expect("closed", group.closed, True)
        expect("errno afterwards", fails(group.barrier).errno, errno.ENOTCONN)
        x.resize(2000)
        say("go")
    elif RANK == 3:
        until("rank 0 was interrupted", lambda: said("go"))
        error = fails(group.allreduce, x)
        expect("errno, ranks", (error.errno, error.ranks), (errno.ECONNRESET, (0,)))
        group.leave()
    else:
        error = fails(group.allreduce, x)
        expect("errno, ranks", (error.errno, error.ranks), (errno.ECONNRESET, (0,)))
        expect("the text names it", "rank 0" in str(error), True)
        group.leave()


def test_interrupt_wait():
    """
    Ctrl-C in Request.wait() and in the constructor: the first leaves all as it is, the second ends
    the join.
    """
    group = inc.Group()
    x = np.ones(1000, "f4")
    if RANK == 0:
        request = group.iallreduce(x)
        interrupt_when(main_is_in("_wait_slice"))
        try:
            request.wait()
            sys.exit("rank 0: not interrupted")
        except KeyboardInterrupt:
            pass
        expect("closed, done", (group.closed, request.done), (False, False))
        say("go")
        request.wait()
    else:
        until("rank 0 was interrupted", lambda: said("go"))
        group.allreduce(x)
    equal("sum", x, np.full(1000, SIZE))
    group.leave()
    if RANK == 0:
        when = interrupt_when(main_is_in("_join_poll"))
        try:
            inc.Group(GROUP + 500000, 0, 2, timeout=None)
            sys.exit("rank 0: the join was not interrupted")
        except KeyboardInterrupt:
            expect("interrupted within 5 s", time.monotonic() - when[0] < 5, True)
        error = fails(inc.Group, GROUP + 500001, 0, 2, timeout=3)
        expect("a join with a limit", (type(error), error.errno, error.ranks),
               (inc.Timeout, errno.ETIMEDOUT, (1,)))
        expect("its text", "1 of 2 ranks have joined, rank 1 is missing" in str(error), True)


def test_dead():
    """Rank 3 dies of SIGKILL in mid-operation; the others are told, shrink the group and go on."""
    group = inc.Group()
    group.barrier()
    x = np.ones(1000, "f4")
    if RANK == 3:
        group.iallreduce(x)
        os.kill(os.getpid(), signal.SIGKILL)
    error = None
    try:
        # what it has sent may be enough for this one
        group.iallreduce(x).wait()
        group.barrier()
    except inc.Error as caught:
        error = caught
    if error is None:
        sys.exit(f"rank {RANK}: nothing was raised")
    expect("errno, ranks", (error.errno, error.ranks), (errno.ECONNRESET, (3,)))
    expect("the text names it", "rank 3" in str(error), True)
    group.shrink()
    expect("who is left", (group.rank, group.size), (RANK, 3))
    y = np.full(100, RANK, "i4")
    group.allreduce(y)
    equal("sum of those that are left", y, np.full(100, 3))
    group.leave()


def test_late():
    """The node goes on without late ranks: rank 3 is."""
    with inc.Group() as group:
        group.barrier()
        x = np.ones(100, "f4")
        if RANK == 3:
            until("the others have a result", lambda: all(said(r) for r in range(3)))
        request = group.iallreduce(x)
        error = fails(request.wait)
        expect("exception, ranks", (type(error), error.ranks), (inc.Partial, (3,)))
        expect("contributed", request.contributed(), frozenset((0, 1, 2)))
        equal("partial sum", x, np.full(100, 3))
        if RANK != 3:
            say(RANK)


if __name__ == "__main__":
    for test in sys.argv[1:]:
        GROUP += 1
        os.environ["INC_GROUP"] = str(GROUP)
        begin = time.monotonic()
        globals()["test_" + test]()
        print(f"# {test} took {time.monotonic() - begin:.1f} s", flush=True)
        print(f"{test}: passed", flush=True)
