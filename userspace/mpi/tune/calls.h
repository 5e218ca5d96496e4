/* SPDX-License-Identifier: GPL-2.0-only */
/* inc-mpi-tune: what its files know of one another. */
#ifndef INC_MPI_TUNE_CALLS_H
#define INC_MPI_TUNE_CALLS_H

#include <stdbool.h>
#include <stddef.h>

#include <mpi.h>

#include "../tune.h"

/* What is reduced. */
struct element {
	enum incmpi_class class;
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
	enum incmpi_fn fn;
	const struct element *element;
	int count;
	void *send, *recv;
	int *counts, *displs;
};

/* Those whose size all ranks know, and barrier: a table can choose others by nothing. */
bool tune_fn_is_measured(enum incmpi_fn fn);
/* The largest buffer of a rank has a share for each. */
bool tune_fn_has_shares(enum incmpi_fn fn);
/* Sets @count, and what goes with it, so that the largest buffer has about @bytes. */
void tune_call_fill(struct tune_call *call, size_t bytes);
/* Of the largest buffer, as a table counts them. */
size_t tune_call_bytes(const struct tune_call *call);
void tune_call_run(const struct tune_call *call, bool by_inc);

#endif
