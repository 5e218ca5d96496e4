// SPDX-License-Identifier: GPL-2.0-only
/* Ranks that send nothing in an alltoall, and have no buffer for it, but receive. */
#include "mpi-coll.h"

static int send_counts[MAX_RANKS], recv_counts[MAX_RANKS], displs[MAX_RANKS];
static int from[MAX_RANKS], to[MAX_RANKS];
static MPI_Datatype ints[MAX_RANKS];

/* Rank 1 sends nothing. */
static void prepare(void)
{
	for (int i = 0; i < size; i++) {
		send_counts[i] = rank != 1;
		recv_counts[i] = i != 1;
		from[i] = 10 * rank + i;
		to[i] = -1;
	}
}

static void look(const char *what)
{
	for (int i = 0; i < size; i++)
		if (to[i] != (i == 1 ? -1 : 10 * i + rank))
			fail("nothing: %s: %d from %d", what, to[i], i);
}

void test_nothing(void)
{
	uint64_t before[] = {
		count_of("alltoallv"), count_of("alltoallw"), count_of("ialltoallv")
	};
	const void *buf = rank == 1 ? NULL : from;
	int bytes[MAX_RANKS];
	MPI_Request request;

	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < size; i++) {
		displs[i] = i;
		bytes[i] = i * (int)sizeof(int);
		ints[i] = MPI_INT;
	}
	prepare();
	MPI_Alltoallv(buf, send_counts, displs, MPI_INT, to, recv_counts, displs, MPI_INT,
		      MPI_COMM_WORLD);
	look("alltoallv");
	prepare();
	MPI_Alltoallw(buf, send_counts, bytes, ints, to, recv_counts, bytes, ints, MPI_COMM_WORLD);
	look("alltoallw");
	prepare();
	MPI_Ialltoallv(buf, send_counts, displs, MPI_INT, to, recv_counts, displs, MPI_INT,
		       MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	look("ialltoallv");
	expect_inc("nothing", "alltoallv", before[0], size > 1);
	expect_inc("nothing", "alltoallw", before[1], size > 1);
	expect_inc("nothing", "ialltoallv", before[2], size > 1);
}
