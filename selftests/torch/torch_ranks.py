#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
The backend "inc" of PyTorch with a node: hosts h1, h2, ... in network namespaces around a node in
sw.

    torch_ranks.py HOSTS [TEST...]

Prints "ok - NAME" or "not ok - NAME" for each of the tests, and "end".
"""
import contextlib
import datetime
import os
import resource
import signal
import sys
import tempfile
import threading
import time

import torch
import torch.distributed as dist

import inc_torch
import torch_colls
import torch_train
import torch_two
from torch_lab import Place, at_node, await_interrupt, counted, expect, interrupt, raises, run

STEPS = int(os.environ.get("STEPS", "40"))


def gloo_group():
    return dist.new_group(backend="gloo")


def all_by_inc(*functions):
    """Nothing of this was done by Gloo."""
    for function in functions:
        if not counted(function):
            raise AssertionError(f"INC has done no {function}")
        expect(f"{function} by Gloo", counted("gloo." + function), 0)
    expect("operations that failed", counted("errors"), 0)


def reductions():
    before = at_node("blocks")
    print("#", torch_colls.reductions(gloo_group()), "reductions compared with Gloo's")
    torch_colls.complex_sums()
    all_by_inc("allreduce", "reduce", "reduce_scatter", "_reduce_scatter_base")
    expect("the node has completed blocks", at_node("blocks") - before > 100, True)


def moves():
    print("#", torch_colls.moves(gloo_group()), "collectives compared")
    torch_colls.coalesced()
    torch_colls.tensor_lists()
    all_by_inc("broadcast", "gather", "scatter", "allgather", "_allgather_base", "alltoall",
               "alltoall_base", "allreduce_coalesced", "allgather_coalesced")


def idle_ranks():
    torch_colls.empty_shares()
    all_by_inc("alltoall", "alltoall_base")


def node_reduces():
    """An allreduce of 4 MiB: the node sends each block to all, once it has one of each rank."""
    x = torch.ones(1 << 20)
    dist.barrier()
    before = at_node("blocks")
    dist.all_reduce(x)
    dist.barrier()
    blocks = at_node("blocks") - before
    torch_colls.exact("all_reduce", x, torch.full((1 << 20,), float(dist.get_world_size())))
    expect("blocks of 4 MiB are many and not one for each rank",
           1000 < blocks < 2 * (4 << 20) // 1024, True)
    print(f"# {blocks} blocks at the node")


def layouts():
    """Tensors with gaps, of no elements, views, parts of the output."""
    rank, size = dist.get_rank(), dist.get_world_size()
    total = size * (size + 1) / 2
    x = torch.zeros(6, 4)
    x.t()[1].fill_(rank + 1)
    dist.all_reduce(x.t()[1])
    torch_colls.exact("a column", x.sum(0), torch.tensor([0, 6 * total, 0, 0]))
    dist.all_reduce(torch.empty(0))
    dist.broadcast(torch.empty(0, 3), 0)
    dist.all_gather([torch.empty(0)] * size, torch.empty(0))
    expect("staged", counted("staged"), 1)
    expect("empty", counted("empty"), 3)
    scalar = torch.tensor(float(rank))
    dist.all_reduce(scalar)
    expect("a scalar", float(scalar), size * (size - 1) / 2)
    parameter = torch.nn.Parameter(torch.full((8, 2), rank + 1.0))
    dist.all_reduce(parameter.data.t())
    torch_colls.exact("a transposed parameter", parameter.data, torch.full((8, 2), total))
    whole = torch.arange(4.0 * size)
    own = whole.chunk(size)[rank]
    dist.reduce_scatter_tensor(own, whole)
    torch_colls.exact("the output in the input", own,
                      size * torch.arange(4.0 * rank, 4.0 * rank + 4))


def futures():
    """Many under way; futures and callbacks complete by themselves, by threads of the group."""
    rank, size = dist.get_rank(), dist.get_world_size()
    works = []
    for i in range(200):
        works.append((dist.all_reduce(x := torch.full((50,), float(rank * i)), async_op=True), x,
                      i))
    for work, x, i in reversed(works):
        work.wait()
        expect("is_completed", (work.is_completed(), work.is_success()), (True, True))
        torch_colls.exact("all_reduce", x, torch.full((50,), float(i * size * (size - 1) / 2)))
    expect("threads", counted("threads"), 0)
    seen = threading.Event()
    x = torch.ones(1000)
    after = dist.all_reduce(x, async_op=True).get_future().then(lambda f: (seen.set(),
                                                                           f.value()[0] + 1)[1])
    expect("the callback was called without anybody who waits", seen.wait(60), True)
    torch_colls.exact("what the callback returns", after.wait(), torch.full((1000,), size + 1.0))
    work = dist.barrier(async_op=True)
    deadline = time.monotonic() + 60
    while not work.is_completed() and time.monotonic() < deadline:
        time.sleep(0.001)
    expect("is_completed of a barrier that nobody waits for", work.is_completed(), True)
    # each is freed by the thread that completes it while the next one's future is asked for: two
    # do that, more only where a busy machine keeps both from going on
    for _ in range(300):
        dist.all_reduce(torch.ones(10), async_op=True).get_future().wait()
    expect("threads, one of which is free", counted("threads") < 10, True)
    dist.all_reduce(torch.ones(100000), async_op=True)  # dropped


def nested():
    """
    Callbacks that wait for futures: of operations that they start, as PowerSGD's do, of others, and
    in a thread that waits for another operation.
    """
    size = dist.get_world_size()

    def again(future):
        value = future.value()
        x = (value[0] if isinstance(value, list) else value) / size
        return dist.all_reduce(x, async_op=True).get_future().wait()[0]

    total = torch.full((100,), float(size))
    first = dist.all_reduce(torch.ones(100), async_op=True).get_future()
    torch_colls.exact("a sum of a callback", first.then(again).then(again).wait(), total)
    before, after = [dist.all_reduce(torch.ones(100), async_op=True).get_future() for _ in range(2)]
    both = before.then(lambda future: future.value()[0] + after.wait()[0])
    torch_colls.exact("a sum of two futures", both.wait(), 2 * total)
    for _ in range(10):
        work = dist.all_reduce(torch.ones(100), async_op=True)
        future = work.get_future().then(again)
        other = dist.all_reduce(torch.ones(100), async_op=True)
        work.wait()
        torch_colls.exact("a sum of a callback", future.wait(), total)
        other.wait()


def groups():
    """Process groups of some ranks each, which work side by side."""
    rank, size = dist.get_rank(), dist.get_world_size()
    numbers = {inc_torch.group_number()}
    half = [r for r in range(size) if r % 2 == rank % 2]
    pair = [dist.new_group([r, (r + 1) % size]) for r in range(size)]
    halves = [dist.new_group([r for r in range(size) if r % 2 == odd]) for odd in range(2)]
    mine = halves[rank % 2]
    works = []
    for group, members in [(mine, half), (pair[rank], [rank, (rank + 1) % size]),
                           (pair[rank - 1], [(rank - 1) % size, rank]), (None, range(size))]:
        x = torch.full((300,), float(rank))
        numbers.add(inc_torch.group_number(group))
        works.append((dist.all_reduce(x, group=group, async_op=True), x, sum(members)))
    for work, x, total in works:
        work.wait()
        torch_colls.exact("all_reduce of a group", x, torch.full((300,), float(total)))
    expect("numbers of groups", len(numbers - {None}), 4)
    torch_colls.reductions(gloo_of(halves, rank, size), mine, ((9,),))
    dist.destroy_process_group(mine)


def gloo_of(halves, rank, size):
    """A Gloo group of the same ranks: every rank makes all groups."""
    made = [dist.new_group([r for r in range(size) if r % 2 == odd], backend="gloo")
            for odd in range(len(halves))]
    return made[rank % 2]


def tree_sum(ranks):
    """In the order in which INC folds the elements of ranks: Documentation/reduction.rst."""
    if len(ranks) == 1:
        return ranks[0]
    half = 1 << (len(ranks) - 1).bit_length() - 1
    return tree_sum(ranks[:half]) + tree_sum(ranks[half:])


def wires():
    """
    Sums travel as bf16: as if each rank's elements, and the sum of them in f32, had been rounded
    once.
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    half = dist.new_group(pg_options=inc_torch.Options(wire="bf16"))
    have = [torch_colls.sample((5000,), torch.float32, r) for r in range(size)]
    for group, exact in ((half, False), (None, True)):
        want = tree_sum([x if exact else x.bfloat16().float() for x in have])
        got = have[rank].clone()
        dist.all_reduce(got, group=group)
        torch_colls.exact(f"all_reduce, wire {exact}", got,
                          want if exact else want.bfloat16().float())
    got = torch_colls.sample((50,), torch.int32, rank)
    dist.all_reduce(got, group=half)
    dist.all_reduce(want := torch_colls.sample((50,), torch.int32, rank))
    torch_colls.exact("integers", got, want)


def refused():
    """Arguments that fit to no call: the group works on."""
    size = dist.get_world_size()
    for splits, text in (([-1, size + 1] + [0] * (size - 2), "splits of 0 or more"),
                         ([1] * (size - 1), "a split for each rank")):
        try:
            dist.all_to_all_single(torch.zeros(size), torch.zeros(size), [1] * size, splits)
        except ValueError as error:
            expect(f"{splits}: {error}", text in str(error), True)
        else:
            raise AssertionError(f"{splits} was taken")
    try:
        dist.all_to_all_single(torch.tensor(0.0), torch.tensor(1.0))
    except ValueError as error:
        expect(str(error), "one dimension or more" in str(error), True)
    else:
        raise AssertionError("a tensor without dimensions was split")
    group = inc_torch._backend_of(None)
    for inputs in ([], [torch.zeros(0)] * 2):
        error = raises(group.gather, [], inputs, dist.GatherOptions())
        expect(error, "single-element input" in error, True)
    dist.all_reduce(x := torch.ones(3))
    torch_colls.exact("all_reduce", x, torch.full((3,), float(size)))


def no_tensors():
    torch_colls.no_tensors(gloo_group())


def by_gloo():
    """What INC does not have goes to Gloo, and is counted."""
    rank, size = dist.get_rank(), dist.get_world_size()
    works = [dist.isend(torch.full((5,), float(rank)), (rank + 1) % size),
             dist.irecv(x := torch.zeros(5), (rank - 1) % size)]
    for work in works:
        work.wait()
    torch_colls.exact("a ring of sends", x, torch.full((5,), float((rank - 1) % size)))
    # two ranks, of which the others do not know
    if rank == 0:
        expect("recv from anybody", dist.recv(torch.zeros(3)), 1)
    elif rank == 1:
        dist.send(torch.zeros(3), 0)
    sparse = torch.sparse_coo_tensor([[rank]], [1.0], (size,))
    dist.all_reduce(sparse)
    torch_colls.exact("a sparse sum", sparse.to_dense(), torch.ones(size))
    error = raises(dist.all_reduce, torch.ones(2), op=dist.ReduceOp.BXOR)
    expect("Gloo refuses bxor of floats", "integral" in error or "BXOR" in error, True)
    expect("why", (counted("why.layout"), counted("why.type")), (1, 1))
    expect("sends", counted("gloo.send"), 2 if rank == 1 else 1)


def sends_first():
    """
    Two ranks send to each other, for which Gloo has to have connected all of them, before they make
    the next group; the others are there already, and wait for them.
    """
    rank = dist.get_rank()
    if rank == 1:
        begin_gloo_late(1)
    group = dist.new_group()
    if rank == 0:
        dist.send(torch.ones(3), 2, group=group)
    elif rank == 2:
        dist.recv(x := torch.zeros(3), 0, group=group)
        torch_colls.exact("recv", x, torch.ones(3))
    dist.all_reduce(x := torch.ones(10), group=dist.new_group())
    torch_colls.exact("all_reduce", x, torch.full((10,), float(dist.get_world_size())))


sends_first.timeout = datetime.timedelta(seconds=60)


def ddp():
    """Two trainings by INC give the same bits, one by Gloo the same losses."""
    gloo = gloo_group()
    runs = [torch_train.train_ddp(group, gloo, STEPS) for group in (None, None, gloo)]
    ours, again, theirs = runs
    expect("the parameters of two runs", ours[1], again[1])
    expect("the losses of two runs", ours[0], again[0])
    for step, (one, other) in enumerate(zip(ours[0], theirs[0])):
        if abs(one - other) > 1e-4 * max(1, other):
            raise AssertionError(f"step {step}: the loss is {one}, by Gloo {other}")
    expect("it learns", ours[0][-1] < 0.7 * ours[0][0], True)
    expect("threads that complete futures", 0 < counted("threads") < 10, True)
    expect("allreduces by Gloo", counted("gloo.allreduce"), 0)
    if dist.get_rank() == 0:
        print(f"# loss {ours[0][0]:.4f} to {ours[0][-1]:.4f} in {STEPS} steps: {again[2]:.2f} s by INC, "
              f"{theirs[2]:.2f} s by Gloo")


def sharded():
    gloo = gloo_group()
    ours = torch_train.train_sharded(gloo, STEPS)
    expect("the parameters of two runs", ours[1], torch_train.train_sharded(gloo, STEPS)[1])
    expect("it learns", ours[0][-1] < 0.9 * ours[0][0], True)
    all_by_inc("_allgather_base", "_reduce_scatter_base")
    expect("reduced in place: one copy each", counted("staged"), 2 * STEPS)


def dead():
    """Rank 3 is killed in mid-operation: the others are told, by name."""
    dist.all_reduce(torch.ones(10))
    if dist.get_rank() == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    begin = time.monotonic()
    error = raises(dist.all_reduce, torch.ones(100000))
    expect("it names the rank: " + error, "rank 3" in error, True)
    expect("it took less than 30 s", time.monotonic() - begin < 30, True)
    raises(dist.all_reduce, torch.ones(10))
    expect("errors", counted("errors"), 2)


def late():
    """A rank that does not come within the timeout is named."""
    if dist.get_rank() == 2:
        time.sleep(6)
    else:
        work = dist.all_reduce(torch.ones(10), async_op=True)
        error = raises(work.wait, datetime.timedelta(seconds=1))
        expect("the limit of one wait: " + error, "goes on" in error, True)
        begin = time.monotonic()
        error = raises(work.wait)
        # whose time is over first ends the group: that is not who was waited for
        expect("it names the rank: " + error, "rank 2" in error, True)
        expect("it took less than 4 s", time.monotonic() - begin < 4, True)
    raises(dist.barrier)


late.timeout = datetime.timedelta(seconds=3)


def little_memory():
    """
    A limit of the user, which is another one at each rank, lets fewer operations of several groups
    begin than there are: they begin when others have ended.
    """
    size = dist.get_world_size()
    made = [dist.new_group() for _ in range(11)]
    for length in (100, 3000):
        works = []
        for group in made:
            x = torch.full((length,), 1.0)
            works.append((dist.all_reduce(x, group=group, async_op=True), x))
        for work, x in works:
            work.wait()
            torch_colls.exact("all_reduce", x, torch.full((length,), float(size)))
    expect("errors", inc_torch.process_counters()["errors"], 0)
    expect("groups", inc_torch.process_counters()["groups"], 12)


def become_user(rank):
    """One without privileges, that may pin 64 KiB."""
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))
    os.setgroups([])
    os.setgid(65534)
    os.setuid(60000 + rank)


little_memory.before = become_user
little_memory.timeout = datetime.timedelta(seconds=60)


def interrupted_full():
    """
    So it does where the call has not begun, because others have all the memory of the user: they go
    on, and the other ranks are told of that one.
    """
    made = [dist.new_group() for _ in range(11)]
    works = []

    def fill():
        for group in made:
            works.append(dist.all_reduce(torch.ones(3000), group=group, async_op=True))

    if dist.get_rank() == 0:
        interrupt(fill, progress=lambda: len(works))
        expect("some have begun, and not all", 0 < len(works) < len(made), True)
        for work in works:
            work.wait()
        raises(dist.all_reduce, torch.ones(10), group=made[len(works)])
        return
    await_interrupt()
    with contextlib.suppress(RuntimeError):
        for group in made:
            works.append(dist.all_reduce(torch.ones(3000), group=group))
    expect("groups that are not ended", 0 < len(works) < len(made), True)


interrupted_full.before = become_user
interrupted_full.timeout = datetime.timedelta(seconds=60)


def interrupted_group():
    """So it does where a rank does not come to a new group."""
    interrupt(dist.new_group) if dist.get_rank() == 0 else await_interrupt()


def too_little_memory():
    """Where each rank of a host may pin less than some blocks, Gloo does everything."""
    dist.all_reduce(x := torch.ones(10))
    torch_colls.exact("all_reduce", x, torch.full((10,), float(dist.get_world_size())))
    expect("the group's number", inc_torch.group_number(), None)
    expect("why", counted("why.no_group"), 1)


too_little_memory.before = become_user


def orphan():
    """Rank 3 is killed, and its child lives on: the others are told as if there were none."""
    dist.new_group()
    dist.all_reduce(torch.ones(10))
    if dist.get_rank() == 3:
        if not os.fork():
            signal.alarm(40)
            signal.pause()
        os.kill(os.getpid(), signal.SIGKILL)
    begin = time.monotonic()
    error = raises(dist.all_reduce, torch.ones(100000))
    expect("it says that the rank has died: " + error, "rank 3" in error and "not within" not in
           error, True)
    expect("it took less than 15 s", time.monotonic() - begin < 15, True)


orphan.timeout = datetime.timedelta(seconds=20)


def child_calls():
    """
    A child's calls for the parent's group raise an error, files that it opens are its own, and the
    group goes on.
    """
    work = dist.all_reduce(x := torch.ones(10), async_op=True) if dist.get_rank() else None
    pid = os.fork()
    if not pid:
        signal.alarm(60)
        files = [os.open("/dev/null", os.O_RDONLY) for _ in range(100)]
        error = raises(dist.all_reduce, torch.ones(10))
        if work is not None:
            error += raises(work.wait)
        inc_torch.abort()
        dist.destroy_process_group()
        for file in files:
            os.fstat(file)
        os._exit(0 if "parent" in error else 1)
    expect("the child's status", os.waitpid(pid, 0)[1], 0)
    if work is None:
        work = dist.all_reduce(x := torch.ones(10), async_op=True)
    work.wait()
    torch_colls.exact("all_reduce", x, torch.full((10,), float(dist.get_world_size())))


def aborted():
    """abort() at one rank ends what is under way at all."""
    if dist.get_rank() == 0:
        work = dist.all_reduce(torch.ones(10), async_op=True)
        threading.Timer(0.5, inc_torch.abort).start()
        raises(work.wait)
    elif dist.get_rank() == 1:
        expect("who ended it", "rank 0" in raises(dist.all_reduce, torch.ones(10)), True)
    else:
        time.sleep(1)
        raises(dist.barrier)


def interrupted():
    """Ctrl-C gets out of a call that waits."""
    if dist.get_rank() != 0:
        await_interrupt()
        raises(dist.barrier)
        return
    interrupt(dist.all_reduce, torch.ones(10))
    inc_torch.abort()


def forked():
    """A child that ends as programs do, or destroys groups, ends nothing here."""
    rank = dist.get_rank()
    dist.all_reduce(torch.ones(10), async_op=True).get_future().wait()
    dist.barrier()
    work = dist.all_reduce(x := torch.ones(10), async_op=True) if rank == 0 else None
    pid = os.fork()
    if not pid:
        signal.alarm(60)
        dist.destroy_process_group()
        os._exit(0)
    expect("the child's status", os.waitpid(pid, 0)[1], 0)
    if work is None:
        work = dist.all_reduce(x := torch.ones(10), async_op=True)
    work.wait()
    torch_colls.exact("all_reduce", x, torch.full((10,), float(dist.get_world_size())))
    expect("errors", counted("errors"), 0)


def begin_gloo_late(seconds):
    """Gloo's connections of this rank, for the groups that follow."""
    make_gloo = inc_torch._make_gloo

    def begin(*args):
        time.sleep(seconds)
        return make_gloo(*args)

    inc_torch._make_gloo = begin


def ends():
    """A program that destroys nothing, while Gloo's connections are being made: see ends_so."""
    if dist.get_rank() == 1:
        begin_gloo_late(3)
    dist.all_reduce(torch.ones(10), group=dist.new_group())


ends.ends_so = True


TABLE = """# of rank 0 alone
allreduce float 2- 4000- inc 100000 250000
allreduce float any 0-3999 gloo
allreduce any any any gloo
bcast any 2-3 any inc
bcast any any any gloo
alltoallv any any any gloo
"""


def make_table(rank):
    if rank:
        return
    with tempfile.NamedTemporaryFile("w", encoding="ascii", delete=False) as file:
        file.write(TABLE)
    os.environ.update(INC_TORCH_TUNE=file.name, INC_TORCH_REPORT="1")


def tuned():
    """A tuning table decides, at all ranks the same, though only rank 0 has it."""
    if dist.get_rank() == 0:
        os.unlink(os.environ["INC_TORCH_TUNE"])
    for length, dtype in ((999, torch.float32), (1000, torch.float32), (1000, torch.int32)):
        x = torch.ones(length, dtype=dtype)
        dist.all_reduce(x)
        torch_colls.exact("all_reduce", x, torch.full_like(x, dist.get_world_size()))
    dist.broadcast(torch.ones(5), 1)
    dist.all_gather_into_tensor(torch.zeros(dist.get_world_size()), torch.ones(1))
    dist.all_to_all_single(torch.zeros(dist.get_world_size()), torch.ones(dist.get_world_size()))
    names = ("why.below_table", "why.table", "allreduce", "gloo.allreduce", "gloo.broadcast",
             "_allgather_base", "gloo.alltoall_base", "timed")
    expect("counted", [counted(name) for name in names], [1, 3, 1, 2, 1, 1, 1, 1])


tuned.before = make_table


def no_node():
    """One host knows no node: no rank uses INC, and the program runs."""
    expect("the group's number", inc_torch.group_number(), None)
    torch_colls.reductions(gloo_group(), None, ((9,),))
    torch_colls.moves(gloo_group())
    expect("why", counted("why.no_group") > 100 and counted("why.no_group") == sum(
        n for name, n in inc_torch.counters().items() if name.startswith("gloo.")), True)


def main():
    hosts = int(sys.argv[1])
    place = Place(hosts, hosts)
    killed = [0] * (hosts - 1) + [-signal.SIGKILL]
    tests = [
        ("reductions of all types and operations are what Gloo computes", reductions),
        ("collectives that move elements, of all types", moves),
        ("all_to_all in which a rank sends or receives nothing", idle_ranks),
        ("the node reduces", node_reduces),
        ("tensors with gaps, without elements, in each other", layouts),
        ("many operations under way, futures", futures),
        ("callbacks that wait for operations", nested),
        ("process groups of some ranks", groups),
        ("sums travel as bf16", wires),
        ("arguments that fit to no call", refused),
        ("lists without tensors are refused as Gloo does", no_tensors),
        ("what INC does not have is Gloo's, and counted", by_gloo),
        ("two ranks send while others make the next group", sends_first),
        ("DDP: two runs give the same bits, and Gloo the same losses", ddp),
        ("sharded parameters: all-gather and reduce-scatter", sharded),
        ("a killed rank is named by an exception", dead),
        ("a rank that does not come in time is named", late),
        ("abort() ends what is under way at all ranks", aborted),
        ("Ctrl-C ends a call that waits", interrupted),
        ("Ctrl-C ends a call that waits for memory", interrupted_full),
        ("Ctrl-C ends the making of a group", interrupted_group),
        ("a forked child ends nothing", forked),
        ("a child's calls end nothing, and its files are its own", child_calls),
        ("a rank that is killed while its child lives is named", orphan),
        ("a program that destroys nothing", ends),
        ("operations that a limit of memory keeps from beginning", little_memory),
        ("too little memory for the ranks of a host", too_little_memory),
        ("a tuning table", tuned),
        ("no rank falls back alone", no_node),
        *torch_two.TESTS,
    ]
    for name, test in tests:
        if sys.argv[2:] and test.__name__ not in sys.argv[2:]:
            continue
        options = {}
        if test in (dead, orphan):
            options["want"] = killed
        if test is too_little_memory:
            options["environment"] = lambda rank: {"LOCAL_WORLD_SIZE": "4"}
            options["says"] = "rank 0: RLIMIT_MEMLOCK is 65536 bytes, for 4 ranks on this host"
        if test is no_node:
            options["environment"] = lambda rank: {"INC_PARENT": "192.0.2.1"} if rank == 1 else {}
            options["says"] = "Gloo does everything: rank 1: "
        if test is tuned:
            options["says"] = "saved against the tuning table: 0.000150 s, by 1 calls"
        run(place, name, test, **options)
    print("end")


main()
