/* SPDX-License-Identifier: GPL-2.0-only */
/* inc-mpi-tune: what its files know of one another. */
#ifndef INC_MPI_TUNE_H
#define INC_MPI_TUNE_H

#include <stdbool.h>
#include <stddef.h>

#include <mpi.h>

/* Functions whose size all ranks know, and barrier: a table can choose by nothing else. */
enum fn {
	BARRIER, BCAST, REDUCE, ALLREDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN, EXSCAN,
	GATHER, SCATTER, ALLGATHER, ALLGATHERV, ALLTOALL, NR_FNS,
};

/* What is reduced, with the name that a table has for it; "any" is measured with floats. */
struct element {
	const char *class;
	MPI_Datatype type;
	MPI_Op op;
	size_t size;
};

/*
 * Both ways to the same ranks: a communicator that INC serves, called by MPI_X, and one that it
 * does not, called by PMPI_X, which is the MPI's own whether INC stands before the MPI or in it.
 */
struct ways {
	MPI_Comm inc, mpi;
	int rank, size;
};

/* A call: @count elements in each share, with memory for the largest. */
struct tune_call {
	const struct ways *ways;
	enum fn fn;
	const struct element *element;
	int count;
	void *send, *recv;
	int *counts, *displs;
};

extern const char *const tune_fn_names[NR_FNS];

bool tune_fn_reduces(enum fn fn);
/* The largest buffer of a rank has a share for each. */
bool tune_fn_has_shares(enum fn fn);
/* Sets @count, and what goes with it, so that the largest buffer has about @bytes. */
void tune_call_fill(struct tune_call *call, size_t bytes);
/* Of the largest buffer, as a table counts them. */
size_t tune_call_bytes(const struct tune_call *call);
void tune_call_run(const struct tune_call *call, bool by_inc);

#endif
