# SPDX-License-Identifier: GPL-2.0-only
"""
What PyTorch has since 2.0, and how its own parts use a backend: names of backends by device,
functional collectives, device meshes, distributed tensors, sharded modules. Each test is for
process groups that INC serves and for those that it does not.
"""
import torch
import torch.distributed as dist

import inc_torch
from torch_colls import close, exact
from torch_lab import expect

# Older ones have none of this.
IS_THERE = int(torch.__version__.split(".", maxsplit=1)[0]) >= 2 and hasattr(dist, "init_device_mesh")


def sum_of_ranks():
    return float(sum(range(dist.get_world_size())))


def done(name):
    """How often a function was called, whoever has done it."""
    counts = inc_torch.counters()
    return counts[name] + counts["gloo." + name]


def by_device():
    """The process group was made by its name for a device: see `backend`."""
    expect("the backend's name", dist.get_backend(), "cpu:inc")
    dist.all_reduce(x := torch.full((3,), float(dist.get_rank()), dtype=torch.bfloat16))
    exact("all_reduce", x, torch.full((3,), sum_of_ranks(), dtype=torch.bfloat16))
    expect("allreduces", done("allreduce"), 1)
    dist.barrier()


def functional():
    """Collectives that give new tensors, and lists of them."""
    from torch.distributed import _functional_collectives as fc
    rank, size, world = dist.get_rank(), dist.get_world_size(), dist.group.WORLD
    x = torch.full((4,), float(rank))
    exact("all_reduce", fc.all_reduce(x, "sum", world) + 0, torch.full((4,), sum_of_ranks()))
    want = torch.arange(float(size)).repeat_interleave(4)
    exact("all_gather_tensor", fc.all_gather_tensor(x, 0, world) + 0, want)
    exact("reduce_scatter_tensor", fc.reduce_scatter_tensor(want, "sum", 0, world) + 0,
          torch.full((4,), float(rank * size)))
    exact("broadcast", fc.broadcast(x, 1, world) + 0, torch.ones(4))
    exact("all_to_all_single", fc.all_to_all_single(want[::4] + size * rank, None, None, world) + 0,
          torch.arange(float(size)) * size + rank)
    for got in fc.all_reduce_coalesced([x, x], "sum", world):
        exact("all_reduce_coalesced", got + 0, torch.full((4,), sum_of_ranks()))
    for got in fc.all_gather_into_tensor_coalesced([x, x], world):
        exact("all_gather_into_tensor_coalesced", got + 0, want)
    for got in fc.reduce_scatter_tensor_coalesced([want, want], "avg", [0, 0], world):
        exact("reduce_scatter_tensor_coalesced", got + 0, torch.full((4,), float(rank)))
    names = ("allreduce", "_allgather_base", "_reduce_scatter_base", "broadcast", "alltoall_base",
             "allreduce_coalesced")
    expect("calls", [done(name) for name in names], [1, 3, 3, 1, 1, 1])


def meshes():
    """Device meshes make process groups of the default backend; tensors are sharded over them."""
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    size = dist.get_world_size()
    mesh = dist.init_device_mesh("cpu", (size,))
    expect("the mesh's backend", dist.get_backend(mesh.get_group()), "inc")
    whole = torch.arange(8.0 * size).reshape(2 * size, 4)
    shared = distribute_tensor(whole, mesh, [Shard(0)])
    exact("a tensor in one piece", shared.redistribute(mesh, [Replicate()]).to_local(), whole)
    close("a sum", shared.sum().full_tensor(), whole.sum())


def sharded_modules():
    """A module whose parameters are sharded, and an optimizer whose state is, learn as they would."""
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.optim import ZeroRedundancyOptimizer

    def trained(wrap, make):
        torch.manual_seed(1)
        model = wrap(torch.nn.Linear(8, 8))
        optimizer = make(model.parameters())
        for step in range(3):
            optimizer.zero_grad()
            model(torch.full((2, 8), 1.0 + dist.get_rank() + step)).square().mean().backward()
            optimizer.step()
        return model(torch.ones(1, 8)).detach()

    def sgd(parameters):
        return torch.optim.SGD(parameters, lr=0.01)

    def zero(parameters):
        return ZeroRedundancyOptimizer(parameters, torch.optim.SGD, lr=0.01)

    def fully(module):
        return FullyShardedDataParallel(module, device_id=torch.device("cpu"))

    def plain(module):
        return torch.nn.parallel.DistributedDataParallel(module, gradient_as_bucket_view=True)

    want = trained(plain, sgd)
    close("by FSDP", trained(fully, sgd), want)
    close("by ZeRO", trained(plain, zero), want)
    expect("FSDP's collectives", done("allgather") > 0 and done("_reduce_scatter_base") > 0, True)


def lists_of_calls():
    """Calls that begin together: sends and receives, and allreduces as one."""
    rank, size = dist.get_rank(), dist.get_world_size()
    got = torch.zeros(2)
    for work in dist.batch_isend_irecv([
            dist.P2POp(dist.isend, torch.full((2,), float(rank)), (rank + 1) % size),
            dist.P2POp(dist.irecv, got, (rank - 1) % size)]):
        work.wait()
    exact("a ring of sends", got, torch.full((2,), float((rank - 1) % size)))
    many = [torch.full((n,), float(rank)) for n in (3, 5)]
    with dist.distributed_c10d._coalescing_manager():
        for tensor in many:
            dist.all_reduce(tensor)
    for tensor in many:
        exact("all_reduce of several", tensor, torch.full_like(tensor, sum_of_ranks()))
    expect("allreduces as one", done("allreduce_coalesced"), 1)


by_device.backend = "cpu:inc"
TESTS = [
    ("a backend for one kind of device", by_device),
    ("functional collectives", functional),
    ("device meshes and distributed tensors", meshes),
    ("sharded modules and optimizers", sharded_modules),
    ("calls that begin together", lists_of_calls),
] if IS_THERE else []
