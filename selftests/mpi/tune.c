// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tuning tables: who does a call is what the table of the communicator's rank 0 says, at all ranks.
 * Ranks have files of their own, PREFIX.RANK; that of rank 0 is such as 60-mpi.sh writes, and those
 * of the others leave to the MPI what it does not, and the reverse.
 */
#include "mpi-coll.h"

#define MAX_FLOATS	65536

static float given[MAX_FLOATS], summed[MAX_FLOATS];
static int given_ints[1024], summed_ints[1024];

static void sum_floats(MPI_Comm comm, int n, bool blocking)
{
	MPI_Request request;
	int size;

	PMPI_Comm_size(comm, &size);
	for (int i = 0; i < n; i++)
		given[i] = (float)(i % 1000);
	if (blocking) {
		MPI_Allreduce(given, summed, n, MPI_FLOAT, MPI_SUM, comm);
	} else {
		MPI_Iallreduce(given, summed, n, MPI_FLOAT, MPI_SUM, comm, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	for (int i = 0; i < n; i++)
		if (summed[i] != (float)(i % 1000 * size))
			fail("tune: element %d of %d is %g", i, n, summed[i]);
}

static void sum_ints(MPI_Comm comm, int n)
{
	int size;

	PMPI_Comm_size(comm, &size);
	for (int i = 0; i < n; i++)
		given_ints[i] = i;
	MPI_Allreduce(given_ints, summed_ints, n, MPI_INT, MPI_SUM, comm);
	for (int i = 0; i < n; i++)
		if (summed_ints[i] != i * size)
			fail("tune: integer %d of %d is %d", i, n, summed_ints[i]);
}

static const char *const watched[] = {
	"allreduce", "iallreduce", "bcast", "barrier", "timed", "saved_ns", "why.below_table",
	"why.above_table", "why.table", "errors",
};

#define NR_WATCHED (sizeof(watched) / sizeof(watched[0]))

static uint64_t counted[NR_WATCHED];

static void watch(void)
{
	for (size_t i = 0; i < NR_WATCHED; i++)
		counted[i] = count_of(watched[i]);
}

/* Since watch(), these have grown, as "NAME N ..." says, and no others. */
static void expect_counts(const char *what, const char *text)
{
	uint64_t want[NR_WATCHED] = { 0 };
	char name[32];
	unsigned int n;
	int len;

	for (; sscanf(text, " %31s %u%n", name, &n, &len) == 2; text += len)
		for (size_t i = 0; i < NR_WATCHED; i++)
			if (!strcmp(watched[i], name))
				want[i] = n;
	for (size_t i = 0; i < NR_WATCHED; i++)
		if (count_of(watched[i]) - counted[i] != want[i])
			fail("tune: %s: %s: %llu, not %llu", what, watched[i],
			     (unsigned long long)(count_of(watched[i]) - counted[i]),
			     (unsigned long long)want[i]);
}

static void test_sizes(MPI_Comm comm)
{
	watch();
	for (int i = 0; i < 10; i++)
		sum_floats(comm, 1023, true);
	expect_counts("small sums", "why.below_table 10");
	watch();
	for (int i = 0; i < 10; i++)
		sum_floats(comm, 1024, true);
	sum_floats(comm, 16384, true);
	expect_counts("sums in the range of INC", "allreduce 11 timed 11 saved_ns 220000");
	watch();
	sum_floats(comm, 16385, true);
	expect_counts("a sum of which no line says anything", "allreduce 1");
	watch();
	sum_floats(comm, MAX_FLOATS, true);
	expect_counts("a large sum", "why.above_table 1");
	watch();
	sum_floats(comm, 4, false);
	expect_counts("a small sum, non-blocking", "why.below_table 1");
	watch();
	sum_floats(comm, 1024, false);
	expect_counts("a sum, non-blocking", "iallreduce 1");
}

static void test_functions(MPI_Comm comm)
{
	int value = 1;

	watch();
	sum_ints(comm, 1024);
	expect_counts("integers", "why.table 1");
	watch();
	MPI_Barrier(comm);
	expect_counts("a barrier", "why.table 1");
	watch();
	MPI_Bcast(&value, 1, MPI_INT, 0, comm);
	expect_counts("a broadcast to four", "bcast 1");
}

/* Ranks 0 and 2 have the table of rank 0, 1 and 3 that of rank 1. */
static void test_halves(void)
{
	int value = 1;
	MPI_Comm half;

	MPI_Comm_split(MPI_COMM_WORLD, rank & 1, rank, &half);
	/* the first blocking call makes the group */
	sum_ints(half, 1);
	watch();
	MPI_Bcast(&value, 1, MPI_INT, 0, half);
	sum_floats(half, 4, true);
	expect_counts("a half", rank & 1 ? "bcast 1 allreduce 1" : "why.table 1 why.below_table 1");
	MPI_Comm_free(&half);
}

void test_tune(void)
{
	MPI_Comm comm;

	if (size != 4)
		fail("tune: %d ranks: expected 4", size);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	sum_floats(comm, 4, true);
	test_sizes(comm);
	test_functions(comm);
	MPI_Comm_free(&comm);
	test_halves();
}

/* Where there is no table, or none that can be read, INC does it. */
void test_untuned(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
	watch();
	sum_floats(MPI_COMM_WORLD, 4, true);
	sum_floats(MPI_COMM_WORLD, MAX_FLOATS, true);
	expect_counts("without a table", "allreduce 2");
}
