#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
The backend "inc" of PyTorch where there is no INC: some processes of this machine, over its
loopback.

    torch_alone.py [TEST...]

Prints "ok - NAME" or "not ok - NAME" for each of the tests, and "end".
"""
import datetime
import sys
import threading
import time
import types
from concurrent import futures

import torch
import torch.distributed as dist

import inc_torch
import torch_colls
import torch_two
from torch_lab import Place, await_interrupt, counted, expect, interrupt, raises, run

RANKS = 3


def why(name):
    """All that was done was done by Gloo, for this reason."""
    counts = inc_torch.counters()
    done = sum(n for key, n in counts.items() if key.startswith("gloo."))
    expect("calls by Gloo", counts["why." + name], done)
    expect("calls by INC", sum(counts[key[5:]] for key in counts if key.startswith("gloo.")), 0)
    expect("process groups of Gloo's alone", counts["refused"], 1)
    return done


def no_module():
    expect("the group's number", inc_torch.group_number(), None)
    gloo = dist.new_group(backend="gloo")
    torch_colls.reductions(gloo, None, ((5,), (2, 3)))
    torch_colls.moves(gloo)
    torch_colls.coalesced()
    torch_colls.tensor_lists()
    torch_colls.empty_shares()
    expect("calls are counted", why("no_group") > 300, True)


def off():
    dist.all_reduce(torch.ones(3))
    dist.barrier()
    expect("calls", why("off"), 2)


def one_rank_off():
    dist.all_reduce(torch.ones(3))
    expect("calls", why("off"), 1)


def works():
    """Those that wait for Gloo and then do something are like any other."""
    rank = dist.get_rank()
    x = torch.full((4,), float(rank), dtype=torch.bfloat16)
    work = dist.all_reduce(x, op=dist.ReduceOp.AVG, async_op=True)
    value = work.get_future().wait()
    torch_colls.exact("the future's value", value[0], torch.full((4,), 1.0, dtype=torch.bfloat16))
    work.wait()
    torch_colls.exact("an average", x, torch.full((4,), 1.0, dtype=torch.bfloat16))
    expect("is_completed, is_success", (work.is_completed(), work.is_success()), (True, True))
    x = torch.zeros(6, 2)
    x.t()[1].fill_(1.0)
    dist.all_reduce(x.t()[1])
    torch_colls.exact("a column", x, torch.tensor([[0.0, RANKS]] * 6))
    dist.all_gather_into_tensor(torch.empty(0), torch.empty(0))
    dist.send(x, (rank + 1) % RANKS) if rank == 0 else dist.recv(x) if rank == 1 else None


def completed():
    """What is_completed() says to have ended has its results, without a wait()."""
    for dtype, op, want in ((torch.bfloat16, "SUM", 3.0), (torch.float32, "AVG", 1.0),
                            (torch.bool, "SUM", 1.0)):
        x = torch.full((4,), float(dist.get_rank())).to(dtype)
        work = dist.all_reduce(x, op=getattr(dist.ReduceOp, op), async_op=True)
        deadline = time.monotonic() + 60
        while not work.is_completed() and time.monotonic() < deadline:
            time.sleep(0.001)
        torch_colls.exact(f"{op} of {dtype}", x, torch.full((4,), want).to(dtype))
        work.wait()
        torch_colls.exact(f"{op} of {dtype}, once", x, torch.full((4,), want).to(dtype))


def complex_numbers():
    """They are two real ones each for Gloo, which is right for sums and nothing else."""
    torch_colls.complex_sums()
    for op in ("PRODUCT", "MAX"):
        which = getattr(dist.ReduceOp, op)
        for call in (lambda x, y, op: dist.reduce(x, 0, op=op),
                     lambda x, y, op: dist.reduce_scatter_tensor(x, y, op=op)):
            try:
                call(torch.ones(2, dtype=torch.complex64),
                     torch.ones(2 * RANKS, dtype=torch.complex64), which)
            except ValueError as error:
                expect(f"{op}: {error}", "complex" in str(error), True)
            else:
                raise AssertionError(f"{op} of complex numbers was done")
    x = torch.ones(2, requires_grad=True)
    dist.all_reduce(x, op=dist.ReduceOp.AVG)
    torch_colls.exact("an average of parameters", x.detach(), torch.ones(2))


def no_tensors():
    torch_colls.no_tensors(dist.new_group(backend="gloo"))


def groups():
    mine = [dist.new_group([0, 1]), dist.new_group([1, 2])]
    for n, group in enumerate(mine):
        if dist.get_rank() in (n, n + 1):
            x = torch.ones(2)
            dist.all_reduce(x, group=group)
            torch_colls.exact("a sum of two", x, torch.full((2,), 2.0))
            expect("calls of this group", inc_torch.counters(group)["gloo.allreduce"], 1)
    expect("calls of the first group", counted("gloo.allreduce"), 0)


def same_store():
    """Process groups with one store, one after the other: each has its own keys in it."""
    store = dist.PrefixStore("again", dist.distributed_c10d._get_default_store())
    asked = types.SimpleNamespace(store=store, group_rank=dist.get_rank(), group_size=RANKS,
                                  timeout=datetime.timedelta(seconds=30))
    for n in range(3):
        group = inc_torch._create(asked)
        x = torch.full((2,), float(n))
        group.allreduce([x]).wait()
        torch_colls.exact("a sum", x, torch.full((2,), float(n * RANKS)))
        dist.barrier()
        del group


def beside_objects():
    """
    Process groups are made while another thread makes and frees objects of PyTorch's all the time:
    each is entered among them, and taken out, with Python's lock. It would end by SIGABRT.
    """
    stores = [dist.HashStore() for _ in range(50)]
    over = threading.Event()

    def churn():
        while not over.is_set():
            [dist.PrefixStore("x", store) for store in stores]

    def make():
        for _ in range(150):
            asked = types.SimpleNamespace(store=dist.HashStore(), group_rank=0, group_size=1,
                                          timeout=datetime.timedelta(seconds=60))
            inc_torch._create(asked).allreduce([x := torch.ones(2)]).wait()
            torch_colls.exact("a sum", x, torch.ones(2))

    sys.setswitchinterval(1e-5)
    with futures.ThreadPoolExecutor(5) as pool:
        churning = pool.submit(churn)
        made = [pool.submit(make) for _ in range(4)]
        futures.wait(made)
        over.set()
    for one_of in (*made, churning):
        one_of.result()


def options():
    """What is wrong is said."""
    for bad, text in (({"wire": "f64"}, "INC_TORCH_WIRE"),
                      ({"colls": "allreduce,alltoal"}, "alltoal"),
                      ({"min": "-1"}, "a number of bytes"), ({"mode": "yes"}, "on, off or verbose"),
                      ({"gloo": "never"}, "init or lazy"), ({"timeout": 600001}, "600000"),
                      ({"timeout": 0}, "1 to 600000")):
        try:
            inc_torch.Options(**bad) and dist.new_group(pg_options=inc_torch.Options(**bad))
        except ValueError as error:
            expect(f"{bad}: {error}", text in str(error), True)
        else:
            raise AssertionError(f"{bad} was taken")
    for bad in ("wier", "WIRE", "INC_TORCH_WIRE"):
        try:
            inc_torch.Options(min=1, **{bad: "bf16"})
        except TypeError as error:
            expect(f"{bad}: {error}", bad in str(error) and "one_host" in str(error), True)
        else:
            raise AssertionError(f"a setting {bad} was taken")
    known = "wire min max colls timeout one_host report gloo tune mode".split()
    expect("settings", len(inc_torch.Options(**dict.fromkeys(known, "1"))), len(known))
    expect("it goes on", raises(dist.all_reduce, torch.ones(1), op=dist.ReduceOp.BAND) != "", True)


def interrupted():
    """Ctrl-C ends the making of a group to which a rank does not come."""
    interrupt(dist.new_group) if dist.get_rank() == 0 else await_interrupt()
    dist.all_reduce(x := torch.ones(3))
    torch_colls.exact("a sum", x, torch.full((3,), float(RANKS)))


def one():
    x = torch.ones(3)
    dist.all_reduce(x)
    dist.all_reduce(x, op=dist.ReduceOp.AVG)
    torch_colls.exact("a group of one", x, torch.ones(3))
    why("one_rank")


def main():
    place = Place(RANKS, 0)
    message = "libinc-torch: group of 3 ranks: Gloo does everything: rank 0: "
    tests = [
        ("without the module everything is Gloo's, and is what it was", no_module,
         {"says": message}),
        ("INC_TORCH=off", off, {"environment": lambda rank: {"INC_TORCH": "off"}}),
        ("INC_TORCH=off at one rank is so at all", one_rank_off,
         {"environment": lambda rank: {"INC_TORCH": "off" if rank == 2 else "verbose"},
          "says": "Gloo does everything: rank "}),
        ("works that are more than Gloo's", works, {}),
        ("works that have ended have their results", completed, {}),
        ("complex numbers", complex_numbers, {}),
        ("lists without tensors", no_tensors, {}),
        ("process groups of some ranks", groups, {}),
        ("process groups with one store, one after the other", same_store, {}),
        ("options that are refused", options, {}),
        ("Ctrl-C ends the making of a group", interrupted, {}),
        ("a tuning table that is none", off,
         {"environment": lambda rank: {"INC_TORCH": "off", "INC_TORCH_TUNE": __file__},
          "says": "; there is no tuning table"}),
        ("a report at the end", off,
         {"environment": lambda rank: {"INC_TORCH": "off", "INC_TORCH_REPORT": "1"},
          "says": "libinc-torch: by Gloo: off (INC_TORCH=off at some rank): 2 calls"}),
    ]
    tests += [(name, test, {}) for name, test in torch_two.TESTS]
    for name, test, how in tests:
        if not sys.argv[1:] or test.__name__ in sys.argv[1:]:
            run(place, name, test, **how)
    if not sys.argv[1:] or "one" in sys.argv[1:]:
        run(Place(1, 0), "a group of one rank", one)
    if not sys.argv[1:] or "beside_objects" in sys.argv[1:]:
        run(Place(1, 0), "groups that are made beside objects of PyTorch", beside_objects)
    print("end")


main()
