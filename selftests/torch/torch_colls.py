# SPDX-License-Identifier: GPL-2.0-only
"""
Every collective of c10d with every type and operation, compared with what Gloo gives in the same
process.
"""
import torch
import torch.distributed as dist

import inc_torch
from torch_lab import expect, raises

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTS = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]
TYPES = FLOATS + INTS + [torch.bool]
OPS = ["SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"]
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12, torch.float16: 4e-3, torch.bfloat16: 4e-2}
# In what Gloo, which lacks some types, computes what the result is compared with.
WIDER = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.int16: torch.int32,
         torch.bool: torch.uint8}


def has(op, dtype):
    """The operation means something for this type."""
    if dtype in FLOATS:
        return op not in ("BAND", "BOR", "BXOR")
    return not (dtype == torch.bool and op == "AVG")


def sample(shape, dtype, rank, seed=0):
    """What a rank has: every rank can make that of all others."""
    random = torch.Generator().manual_seed(1000 * seed + rank + 1)
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=random).bool()
    if dtype in FLOATS:
        return (torch.rand(shape, generator=random) + 0.5).to(dtype)
    low = 0 if dtype == torch.uint8 else -3
    return torch.randint(low, 4, shape, generator=random).to(dtype)


def equal(what, got, want):
    """
    Bit for bit where every order of operations gives the same, else within the type's tolerance.
    """
    if got.dtype in FLOATS:
        good = torch.allclose(got.double(), want.double(), rtol=TOLERANCE[got.dtype], atol=0)
    else:
        good = torch.equal(got, want.to(got.dtype))
    if not good:
        raise AssertionError(f"{what}: {got.flatten()[:8]}, expected {want.flatten()[:8]}")


def exact(what, got, want):
    if not torch.equal(got, want):
        raise AssertionError(f"{what}: {got.flatten()[:8]}, expected {want.flatten()[:8]}")


def by_gloo(tensor, op, gloo):
    """What an allreduce gives, in a type and by an operation that Gloo has."""
    size = dist.get_world_size(gloo)
    wide = tensor.to(WIDER.get(tensor.dtype, tensor.dtype), copy=True)
    which = "SUM" if op == "AVG" else op
    if tensor.dtype == torch.bool:
        which = {"SUM": "MAX", "PRODUCT": "MIN"}.get(op, op)
    dist.all_reduce(wide, op=getattr(dist.ReduceOp, which), group=gloo)
    if op == "AVG":
        wide = wide.div(size) if wide.is_floating_point() else wide.div(size, rounding_mode="trunc")
    if tensor.dtype == torch.bool:
        return wide != 0
    return wide if tensor.dtype in FLOATS else wide.to(tensor.dtype)


def reductions(gloo, group=None, shapes=((1000,), (3, 5))):
    """allreduce, reduce, reduce_scatter of all types and operations; how many were compared."""
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    done = 0
    for dtype in TYPES:
        for op in OPS:
            if not has(op, dtype):
                continue
            for shape in shapes:
                done += one_reduction(gloo, group, dtype, op, shape, rank, size)
    return done


def one_reduction(gloo, group, dtype, op, shape, rank, size):
    what = f"{op} of {dtype} {shape}"
    which = getattr(dist.ReduceOp, op)
    own = sample(shape, dtype, rank)
    want = by_gloo(own, op, gloo)
    got = own.clone()
    dist.all_reduce(got, op=which, group=group)
    equal(f"all_reduce {what}", got, want)
    root = len(op) % size
    got = own.clone()
    dist.reduce(got, dist.get_global_rank(group, root) if group else root, op=which, group=group)
    if rank == root:
        equal(f"reduce {what}", got, want)
    elif inc_torch.group_number(group) is not None:
        # Gloo writes to it
        exact(f"reduce {what}: what a rank sends", got, own)
    shares = sample((size,) + shape, dtype, rank, 1)
    want = by_gloo(shares, op, gloo)[rank]
    got = torch.empty(shape, dtype=dtype)
    dist.reduce_scatter(got, list(shares.unbind(0)), op=which, group=group)
    equal(f"reduce_scatter {what}", got, want)
    got = torch.empty(shape, dtype=dtype)
    dist.reduce_scatter_tensor(got, shares, op=which, group=group)
    equal(f"reduce_scatter_tensor {what}", got, want)
    return 4


def complex_sums():
    """
    Sums and averages of complex numbers, and alltoall of them, of which Python's function hands on
    real ones; how many were compared.
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    for dtype in (torch.complex64, torch.complex128):
        have = [torch.arange(6 * size).reshape(size, 2, 3).to(dtype) * (1 + 2j) + r
                for r in range(size)]
        for op in ("SUM", "AVG"):
            which = getattr(dist.ReduceOp, op)
            want = sum(have) / (size if op == "AVG" else 1)
            got = torch.zeros(2, 3, dtype=dtype)
            dist.reduce_scatter(got, list(have[rank].unbind(0)), op=which)
            close(f"reduce_scatter, {op} of {dtype}", got, want[rank])
            got = torch.zeros(3, 2, dtype=dtype).t()
            dist.reduce_scatter_tensor(got, have[rank].conj(), op=which)
            close(f"reduce_scatter_tensor, {op} of {dtype}", got, want[rank].conj())
            got = have[rank].clone()
            dist.reduce(got, 1, op=which)
            if rank == 1:
                close(f"reduce, {op} of {dtype}", got, want)
        outs = [torch.zeros(2, 3, dtype=dtype) for _ in range(size)]
        dist.distributed_c10d._get_default_group().alltoall(outs, list(have[rank].unbind(0))).wait()
        for r in range(size):
            exact(f"alltoall of {dtype}", outs[r], have[r][rank])
    return 14


def close(what, got, want):
    if not torch.allclose(got, want, rtol=1e-5):
        raise AssertionError(f"{what}: {got.flatten()[:8]}, expected {want.flatten()[:8]}")


def moves(gloo, shape=(7, 3)):
    """All collectives that move elements, of all types; how many were compared."""
    rank, size = dist.get_rank(), dist.get_world_size()
    done = 0
    for number, dtype in enumerate(TYPES + [torch.complex64, torch.complex128]):
        root = number % size
        all_have = [sample(shape, torch.float32 if dtype.is_complex else dtype, r, 2).to(dtype)
                    for r in range(size)]
        done += one_to_all(all_have, rank, size, root)
        done += all_to_all(all_have, rank, size)
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    expect("all_gather_object", objects, [{"rank": r} for r in range(size)])
    # Gloo has these, too
    ours, theirs = [[torch.zeros(5) for _ in range(size)] for _ in range(2)]
    dist.all_gather(ours, torch.full((5,), rank + 0.5))
    dist.all_gather(theirs, torch.full((5,), rank + 0.5), group=gloo)
    for one, other in zip(ours, theirs):
        exact("all_gather by INC and by Gloo", one, other)
    return done


def one_to_all(all_have, rank, size, root):
    own = all_have[rank]
    got = own.clone()
    dist.broadcast(got, root)
    exact("broadcast", got, all_have[root])
    outs = [torch.zeros_like(own) for _ in range(size)] if rank == root else None
    dist.gather(own, outs, dst=root)
    for r in range(size if rank == root else 0):
        exact("gather", outs[r], all_have[r])
    got = torch.zeros_like(own)
    dist.scatter(got, all_have if rank == root else None, src=root)
    exact("scatter", got, own)
    return 3


def all_to_all(all_have, rank, size):
    own = all_have[rank]
    outs = [torch.zeros_like(own) for _ in range(size)]
    dist.all_gather(outs, own)
    for r in range(size):
        exact("all_gather", outs[r], all_have[r])
    got = torch.zeros((size,) + tuple(own.shape), dtype=own.dtype)
    dist.all_gather_into_tensor(got, own)
    exact("all_gather_into_tensor", got, torch.stack(all_have))
    # to rank r goes what r has, with a row that says from whom
    sends = [torch.cat([all_have[r], own[:1]]) for r in range(size)]
    outs = [torch.zeros_like(sends[0]) for _ in range(size)]
    dist.all_to_all(outs, sends)
    for r in range(size):
        exact("all_to_all", outs[r], torch.cat([own, all_have[r][:1]]))
    got = torch.zeros((size * 8, 3), dtype=own.dtype)
    dist.all_to_all_single(got, torch.cat(sends))
    exact("all_to_all_single", got, torch.cat(outs))
    # rank r gets r + 1 rows of everybody
    ins = torch.cat([own[:r + 1] for r in range(size)])
    got = torch.zeros((size * (rank + 1), 3), dtype=own.dtype)
    dist.all_to_all_single(got, ins, [rank + 1] * size, [r + 1 for r in range(size)])
    exact("all_to_all_single with splits", got, torch.cat([x[:rank + 1] for x in all_have]))
    return 5


def empty_shares():
    """
    all_to_all as a mixture of experts has it: some rank sends nothing, another one receives
    nothing. What is sent counts sender and receiver.
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    silent, deaf, both, none = (0, -1), (-1, 1), (0, size - 1), (range(size), -1)
    for no_sender, no_receiver in (silent, deaf, both, (1, 1), none):
        idle = no_sender if isinstance(no_sender, range) else (no_sender,)

        def share(s, r, idle=idle, no_receiver=no_receiver, dtype=torch.float32):
            length = 0 if s in idle or r == no_receiver else 1 + (s + r) % 3
            return torch.full((length,), 10.0 * s + r, dtype=dtype)

        what = f"{no_sender} sends and {no_receiver} receives nothing"
        ins = [share(rank, r) for r in range(size)]
        want = [share(s, rank) for s in range(size)]
        got = torch.zeros(sum(map(len, want)))
        dist.all_to_all_single(got, torch.cat(ins), [len(x) for x in want], [len(x) for x in ins])
        exact(f"all_to_all_single, {what}", got, torch.cat(want))
        outs = [torch.zeros_like(x) for x in want]
        dist.all_to_all(outs, ins)
        exact(f"all_to_all, {what}", torch.cat(outs), torch.cat(want))
        # conjugates are copied, which makes memory of no bytes of them
        kind = torch.complex64
        ins = [share(rank, r, dtype=kind).conj() for r in range(size)]
        outs = [torch.zeros_like(x, dtype=kind) for x in want]
        dist.distributed_c10d._get_default_group().alltoall(outs, ins).wait()
        exact(f"alltoall of conjugates, {what}", torch.cat(outs), torch.cat(want).to(kind))


def no_tensors(gloo):
    """Lists of none are Gloo's to refuse, and so are roots that there are not."""
    group, gloo = inc_torch._backend_of(None), inc_torch._backend_of(gloo)
    wrong_root = dist.BroadcastOptions()
    wrong_root.rootRank = dist.get_world_size()
    wrong_root.rootTensor = 0
    for name, *args in (("allreduce", [], dist.AllreduceOptions()),
                        ("allreduce_coalesced", [], dist.AllreduceCoalescedOptions()),
                        ("reduce", [], dist.ReduceOptions()),
                        ("broadcast", [], dist.BroadcastOptions()),
                        ("broadcast", [torch.empty(0)], wrong_root),
                        ("allgather", [[]], []),
                        ("allgather_coalesced", [[]] * dist.get_world_size(), []),
                        ("scatter", [], [], dist.ScatterOptions())):
        errors = [raises(getattr(which, name), *args).split("\n")[0] for which in (group, gloo)]
        expect(name, errors[0], errors[1])
        expect(f"{name}: {errors[0]}", "Gloo" in errors[0], True)
    expect("empty", inc_torch.counters()["empty"], 0)
    dist.all_reduce(x := torch.ones(3))
    exact("all_reduce", x, torch.full((3,), float(dist.get_world_size())))


def coalesced():
    """Lists of tensors in one call, of all types, some with gaps."""
    rank, size = dist.get_rank(), dist.get_world_size()
    tensors = [torch.full((3,), float(rank)), torch.full((2, 2), rank + 1.0)]
    dist.all_reduce_coalesced(tensors)
    exact("all_reduce_coalesced", tensors[0], torch.full((3,), size * (size - 1) / 2))
    exact("all_reduce_coalesced", tensors[1], torch.full((2, 2), size * (size + 1) / 2))
    lists = [[torch.zeros(3), torch.zeros(2)] for _ in range(size)]
    dist.all_gather_coalesced(lists,
                              [torch.full((3,), float(rank)), torch.full((2,), -float(rank))])
    for r in range(size):
        exact("all_gather_coalesced", lists[r][0], torch.full((3,), float(r)))
        exact("all_gather_coalesced", lists[r][1], torch.full((2,), -float(r)))
    for dtype in TYPES:
        for op in OPS:
            if has(op, dtype):
                coalesced_reduction(dtype, op, rank, size)
        coalesced_move(dtype, rank, size)
    coalesced_move(torch.complex64, rank, size)


def tensor_lists():
    """Lists of single tensors in one call: all-gather and reduce-scatter of each."""
    rank, size = dist.get_rank(), dist.get_world_size()
    group = inc_torch._backend_of(None)
    for dtype in (torch.float32, torch.bfloat16, torch.int64):
        shapes = ((3,), (2, 2), (0,), (500,))
        have = [[sample(shape, dtype, r, 7) for shape in shapes] for r in range(size)]
        outs = [torch.zeros((size,) + shape, dtype=dtype) for shape in shapes]
        work = inc_torch._c10d.allgather_into_tensor_coalesced(group, outs, have[rank])
        got = work.get_future().wait() if dtype == torch.int64 else outs
        work.wait()
        expect("is_completed, is_success", (work.is_completed(), work.is_success()), (True, True))
        for i in range(len(shapes)):
            exact(f"allgather_into_tensor_coalesced of {dtype}", got[i],
                  torch.stack([have[r][i] for r in range(size)]))
        for op in ("SUM", "AVG"):
            opts = dist.ReduceScatterOptions()
            opts.reduceOp = getattr(dist.ReduceOp, op)
            ins = [sample((size,) + shape, dtype, rank, 8) for shape in shapes]
            got, want = [[torch.zeros(shape, dtype=dtype) for shape in shapes] for _ in range(2)]
            inc_torch._c10d.reduce_scatter_tensor_coalesced(group, got, ins, opts).wait()
            for i in range(len(shapes)):
                dist.reduce_scatter_tensor(want[i], ins[i], op=opts.reduceOp)
                exact(f"reduce_scatter_tensor_coalesced, {op} of {dtype}", got[i], want[i])
    for outs in ([], [torch.zeros(size)]):
        try:
            inc_torch._c10d.allgather_into_tensor_coalesced(group, outs, [])
        except ValueError as error:
            expect(str(error), "an output for each input" in str(error), True)
        else:
            raise AssertionError("a list of no tensors was taken")


def three(dtype, rank):
    """A plain one, one with gaps, and one whose elements are in another order."""
    basis = torch.float32 if dtype.is_complex else dtype
    have = [sample(shape, basis, rank, seed).to(dtype)
            for seed, shape in enumerate(((5,), (4, 2), (2, 3)), 3)]
    return [have[0], have[1].repeat(1, 2)[:, :2], have[2].t()]


def coalesced_reduction(dtype, op, rank, size):
    """As all_reduce of each."""
    which = getattr(dist.ReduceOp, op)
    got, want = three(dtype, rank), three(dtype, rank)
    dist.all_reduce_coalesced(got, op=which)
    for one, other in zip(got, want):
        other = other.contiguous()
        dist.all_reduce(other, op=which)
        equal(f"all_reduce_coalesced, {op} of {dtype} by {size}", one, other)


def coalesced_move(dtype, rank, size):
    lists = [[torch.zeros_like(x) for x in three(dtype, r)] for r in range(size)]
    lists[0][1] = torch.zeros(4, 4, dtype=dtype)[:, :2]
    dist.all_gather_coalesced(lists, three(dtype, rank))
    for r in range(size):
        for got, want in zip(lists[r], three(dtype, r)):
            exact(f"all_gather_coalesced of {dtype}", got, want)
