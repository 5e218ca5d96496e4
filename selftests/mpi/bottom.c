// SPDX-License-Identifier: GPL-2.0-only
/* Datatypes of absolute addresses, with MPI_BOTTOM as the buffer: it is NULL in C. */
#include "mpi-coll.h"

static int first[4], last[2 * MAX_RANKS];

/* Two elements of @first, and those of a rank in @last. */
static MPI_Datatype absolute(int who)
{
	int lengths[] = { 1, 1, 2 };
	MPI_Aint at[3];
	MPI_Datatype type;

	MPI_Get_address(&first[0], &at[0]);
	MPI_Get_address(&first[3], &at[1]);
	MPI_Get_address(&last[2 * who], &at[2]);
	MPI_Type_create_hindexed(3, lengths, at, MPI_INT, &type);
	MPI_Type_commit(&type);
	return type;
}

static void put(int by)
{
	memset(last, -1, sizeof(last));
	for (int i = 0; i < 4; i++)
		first[i] = by + i;
	last[0] = by + 4;
	last[1] = by + 5;
}

static void look(const char *what, int by)
{
	if (first[0] != by || first[3] != by + 3 || last[0] != by + 4 || last[1] != by + 5)
		fail("bottom: %s: %d %d %d %d instead of %d and more", what, first[0], first[3],
		     last[0], last[1], by);
	if (rank && (first[1] != 100 * rank + 1 || first[2] != 100 * rank + 2))
		fail("bottom: %s: what lies between is %d %d", what, first[1], first[2]);
}

static void from_root(void)
{
	uint64_t before[] = { count_of("bcast"), count_of("ibcast") };
	MPI_Datatype type = absolute(0);
	MPI_Request request;

	put(100 * rank);
	MPI_Bcast(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD);
	look("bcast", 0);
	put(100 * rank);
	MPI_Ibcast(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD, &request);
	MPI_Type_free(&type);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	look("ibcast", 0);
	expect_inc("bottom", "bcast", before[0], size > 1);
	expect_inc("bottom", "ibcast", before[1], size > 1);
}

static void from_all(void)
{
	int got[4 * MAX_RANKS], counts[MAX_RANKS], none[MAX_RANKS] = { 0 };
	uint64_t before = count_of("allgather"), before_w = count_of("alltoallw");
	MPI_Datatype own = absolute(0), pairs[MAX_RANKS], parts[MAX_RANKS];
	MPI_Aint at;

	put(100 * rank);
	MPI_Allgather(MPI_BOTTOM, 1, own, got, 4, MPI_INT, MPI_COMM_WORLD);
	for (int i = 0; i < size; i++)
		if (got[4 * i] != 100 * i || got[4 * i + 1] != 100 * i + 3 ||
		    got[4 * i + 3] != 100 * i + 5)
			fail("bottom: allgather: %d from %d", got[4 * i], i);
	for (int i = 0; i < size; i++) {
		counts[i] = 1;
		pairs[i] = MPI_INT;
		MPI_Get_address(&last[2 * i + 1], &at);
		MPI_Type_create_hindexed(1, &counts[i], &at, MPI_INT, &parts[i]);
		MPI_Type_commit(&parts[i]);
	}
	MPI_Alltoallw(&rank, counts, none, pairs, MPI_BOTTOM, counts, none, parts, MPI_COMM_WORLD);
	for (int i = 0; i < size; i++)
		if (last[2 * i + 1] != i || last[2 * i] != (i ? -1 : 100 * rank + 4))
			fail("bottom: alltoallw: %d from %d", last[2 * i + 1], i);
	for (int i = 0; i < size; i++)
		MPI_Type_free(&parts[i]);
	MPI_Type_free(&own);
	expect_inc("bottom", "allgather", before, size > 1);
	expect_inc("bottom", "alltoallw", before_w, size > 1);
}

void test_bottom(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
	from_root();
	from_all();
}
