# SPDX-License-Identifier: GPL-2.0-only
"""
Trainings of a small net on the handwritten digits of the demo: data-parallel by DDP, and with
sharded parameters.
"""
import hashlib
import os
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                    "../../userspace/demo/data/digits.csv")
PER_RANK = 32


def digits():
    """Pixels from 0 to 1, and which digit it is."""
    with open(DATA, encoding="ascii") as file:
        rows = torch.tensor([[float(x) for x in line.split(",")] for line in file if line.strip()])
    return rows[:, :64] / 16, rows[:, 64].long()


def net():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(64, 48), torch.nn.ReLU(), torch.nn.Linear(48, 10))


def share(data, step):
    """This rank's part of a step's batch."""
    rank, size = dist.get_rank(), dist.get_world_size()
    begin = (step * size + rank) * PER_RANK % (len(data[0]) - PER_RANK)
    return data[0][begin:begin + PER_RANK], data[1][begin:begin + PER_RANK]


def bits(model):
    """A hash of all parameters, bit for bit."""
    whole = hashlib.sha256()
    for parameter in model.parameters():
        whole.update(parameter.detach().numpy().tobytes())
    return whole.hexdigest()


def mean_loss(loss, gloo):
    """Over all ranks, by Gloo, which is not what is tested."""
    value = loss.detach().double()
    dist.all_reduce(value, group=gloo)
    return float(value) / dist.get_world_size(gloo)


def train_ddp(group, gloo, steps):
    """Losses, a hash of the parameters, and seconds in all."""
    data = digits()
    model = DistributedDataParallel(net(), process_group=group, bucket_cap_mb=0.01)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    begin = time.monotonic()
    for step in range(steps):
        pixels, wanted = share(data, step)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(pixels), wanted)
        loss.backward()
        optimizer.step()
        losses.append(mean_loss(loss, gloo))
    return losses, bits(model.module), time.monotonic() - begin


def flatten(tensors, size):
    """One vector that the number of ranks divides."""
    flat = torch.cat([tensor.detach().reshape(-1) for tensor in tensors])
    return torch.cat([flat, torch.zeros(-len(flat) % size)])


def train_sharded(gloo, steps):
    """
    As FSDP does it: each rank keeps a share of the parameters; all are gathered before a step,
    gradients are summed and scattered after it. Losses, and a hash of the parameters.
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    data, model, losses = digits(), net(), []
    whole = flatten(model.parameters(), size)
    mine = whole.chunk(size)[rank].clone()
    for step in range(steps):
        # in place: the own share is where it belongs
        whole.chunk(size)[rank].copy_(mine)
        dist.all_gather_into_tensor(whole, whole.chunk(size)[rank])
        torch.nn.utils.vector_to_parameters(whole[:sum(p.numel() for p in model.parameters())],
                                            model.parameters())
        pixels, wanted = share(data, step)
        model.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(pixels), wanted)
        loss.backward()
        gradients = flatten([p.grad for p in model.parameters()], size)
        own = gradients.chunk(size)[rank]
        dist.reduce_scatter_tensor(own, gradients, op=dist.ReduceOp.AVG)
        mine -= 0.1 * own
        losses.append(mean_loss(loss, gloo))
    return losses, bits(model)
