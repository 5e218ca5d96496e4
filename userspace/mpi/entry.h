/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a program calls here between begin and end, how many arguments it has. pmpi_own_* are what
 * is done if the program's MPI is the one that this library is for.
 */
#ifndef INCMPI_ENTRY_H
#define INCMPI_ENTRY_H

#define PMPI_ENTRIES(entry)		\
	entry(Barrier, 1)		\
	entry(Ibarrier, 2)		\
	entry(Bcast, 5)			\
	entry(Ibcast, 6)		\
	entry(Allreduce, 6)		\
	entry(Iallreduce, 7)		\
	entry(Reduce, 7)		\
	entry(Ireduce, 8)		\
	entry(Scan, 6)			\
	entry(Iscan, 7)			\
	entry(Exscan, 6)		\
	entry(Iexscan, 7)		\
	entry(Reduce_scatter, 6)	\
	entry(Ireduce_scatter, 7)	\
	entry(Reduce_scatter_block, 6)	\
	entry(Ireduce_scatter_block, 7)	\
	entry(Gather, 8)		\
	entry(Igather, 9)		\
	entry(Gatherv, 9)		\
	entry(Igatherv, 10)		\
	entry(Scatter, 8)		\
	entry(Iscatter, 9)		\
	entry(Scatterv, 9)		\
	entry(Iscatterv, 10)		\
	entry(Allgather, 7)		\
	entry(Iallgather, 8)		\
	entry(Allgatherv, 8)		\
	entry(Iallgatherv, 9)		\
	entry(Alltoall, 7)		\
	entry(Ialltoall, 8)		\
	entry(Alltoallv, 9)		\
	entry(Ialltoallv, 10)		\
	entry(Alltoallw, 9)		\
	entry(Request_get_status, 3)

#endif
