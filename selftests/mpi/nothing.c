// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ranks that send nothing in an alltoall, and have no buffer for it, but receive; and collectives
 * of which INC does nothing.
 */
#include "mpi-coll.h"

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

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

/* The MPI's, and counted. */
void test_persistent(void)
{
	uint64_t before = count_of("why.persistent");
	MPI_Request request;
	int sum = -1;

#if MPI_VERSION >= 4
	MPI_Allreduce_init(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
			   &request);
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
	MPIX_Allreduce_init(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
			    &request);
#else
	return;
#endif
	for (int i = 0; i < 2; i++) {
		MPI_Start(&request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	MPI_Request_free(&request);
	if (sum != size * (size - 1) / 2)
		fail("persistent: the sum is %d", sum);
	if ((expected == EXPECT_INC || expected == EXPECT_MPI) &&
	    count_of("why.persistent") - before != !has_component)
		fail("persistent: counted %llu times",
		     (unsigned long long)(count_of("why.persistent") - before));
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
