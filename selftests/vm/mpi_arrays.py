#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A program of mpi4py: what its collectives give, the same whoever does them. For 63-programs.sh."""
from array import array

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()


def show(name, value):
    """All ranks' in their order."""
    for who, text in enumerate(comm.gather(list(value), root=0) or []):
        print(name, who, text, flush=True)


def main():
    own, total = array("d", [i % 7 * (rank + 1) for i in range(1000)]), array("d", bytes(8000))
    for op in MPI.SUM, MPI.MAX, MPI.PROD:
        comm.Allreduce(own, total, op=op)
        show("allreduce", total[:8])
    comm.Bcast(total, root=size - 1)
    show("bcast", total[:3])
    every, other = array("i", bytes(20 * size)), array("i", bytes(20 * size))
    comm.Allgather(array("i", [rank] * 5), every)
    show("allgather", every)
    comm.Alltoall(every, other)
    show("alltoall", other)
    counts = [i + 1 for i in range(size)]
    parts = array("f", bytes(4 * sum(counts)))
    comm.Allgatherv(array("f", [rank] * (rank + 1)), [parts, counts])
    show("allgatherv", parts)
    half = comm.Split(rank % 2, rank)
    half.Allreduce(own, total)
    show("of one half", total[:3])
    show("objects", [len(comm.bcast({"rank": 0} if rank == 0 else None)), comm.allreduce(rank)])
    comm.Iallreduce(own, total).Wait()
    show("iallreduce", total[:8])
    comm.Barrier()


main()
