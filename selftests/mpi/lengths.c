// SPDX-License-Identifier: GPL-2.0-only
/* A rank's own share has two sizes: the call fails, and no buffer is exceeded. */
#include "mpi-coll.h"

#define LARGE	10

static int in[LARGE * MAX_RANKS], out[LARGE * MAX_RANKS], counts[MAX_RANKS], displs[MAX_RANKS];

static void expect_failure(const char *what, int err, int from)
{
	uint64_t before = count_of("allreduce");
	int sum;

	if (!err)
		fail("lengths: %s is no error", what);
	for (int i = from; i < LARGE * size; i++)
		if (out[i] != -1)
			fail("lengths: %s: element %d has been written", what, i);
	memset(out, -1, sizeof(out));
	/* the group goes on */
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (sum != size * (size - 1) / 2)
		fail("lengths: the sum after %s is %d", what, sum);
	expect_inc("lengths", "allreduce", before, 1);
}

/* By rank 0's fault. INC says so; an MPI may as well hang. */
void test_lengths(void)
{
	int small = rank ? LARGE : 1, err;
	MPI_Errhandler handler;

	if (expected != EXPECT_INC || size < 2)
		return;
	MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	memset(out, -1, sizeof(out));
	for (int i = 0; i < size; i++) {
		counts[i] = LARGE;
		displs[i] = LARGE * i;
	}
	err = MPI_Gather(in, LARGE, MPI_INT, out, small, MPI_INT, 0, MPI_COMM_WORLD);
	expect_failure("gather", err, rank ? 0 : size);
	err = MPI_Scatter(in, small, MPI_INT, out, LARGE, MPI_INT, 0, MPI_COMM_WORLD);
	expect_failure("scatter", err, LARGE);
	err = MPI_Allgather(in, LARGE, MPI_INT, out, small, MPI_INT, MPI_COMM_WORLD);
	expect_failure("allgather", err, rank ? LARGE * size : size);
	err = MPI_Allgather(in, small, MPI_INT, out, LARGE, MPI_INT, MPI_COMM_WORLD);
	expect_failure("allgather of less", err, LARGE * size);
	err = MPI_Allgatherv(in, small, MPI_INT, out, counts, displs, MPI_INT, MPI_COMM_WORLD);
	expect_failure("allgatherv", err, LARGE * size);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
	MPI_Errhandler_free(&handler);
}
