// SPDX-License-Identifier: GPL-2.0-only
/*
 * Datatypes of absolute addresses, and displacements that are some, with MPI_BOTTOM as the buffer:
 * it is NULL in C.
 */
#include <limits.h>
#include <sys/mman.h>

#include "mpi-coll.h"

static int first[4], last[2 * MAX_RANKS];
static int *low;	/* at an address that fits into a displacement */

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

static void make_low(void)
{
	low = mmap((void *)0x20000000, 4 * MAX_RANKS * sizeof(*low), PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (low == MAP_FAILED || (uintptr_t)low > INT_MAX)
		fail("bottom: no memory at a low address");
}

/* Every second element of @low, as MPI has it at some ranks by address and at others not. */
static void *lay_shares(int displs[], size_t extent, bool by_address)
{
	uintptr_t at = by_address ? (uintptr_t)low : 0;

	for (int i = 0; i < size; i++)
		displs[i] = (int)((at + 2 * (size_t)i * sizeof(*low)) / extent);
	return by_address ? MPI_BOTTOM : low;
}

static void fill_low(int by)
{
	for (int i = 0; i < 2 * size; i++)
		low[i] = by < 0 ? -1 : by + i;
}

static void look_at_low(const char *what)
{
	for (int i = 0; i < size; i++)
		if (low[2 * i] != 10 * i + rank || low[2 * i + 1] != -1)
			fail("bottom: %s of addresses: %d from %d", what, low[2 * i], i);
}

static int counts[MAX_RANKS], displs[MAX_RANKS], plain_displs[MAX_RANKS], values[MAX_RANKS];
static MPI_Datatype ints[MAX_RANKS];

static void gather_low(MPI_Comm comm)
{
	int value = 10 * rank + size - 1;

	fill_low(-1);
	MPI_Gatherv(&value, 1, MPI_INT, lay_shares(displs, sizeof(int), true), counts, displs,
		    MPI_INT, size - 1, comm);
	if (rank == size - 1)
		look_at_low("gatherv");
}

static void scatter_low(MPI_Comm comm)
{
	int value = -1;

	fill_low(100);
	MPI_Scatterv(lay_shares(displs, sizeof(int), true), counts, displs, MPI_INT, &value, 1,
		     MPI_INT, 0, comm);
	if (value != 100 + 2 * rank)
		fail("bottom: scatterv of addresses: %d", value);
}

static void allgather_low(MPI_Comm comm)
{
	void *to = lay_shares(displs, sizeof(int), rank == size - 1);

	/* not what the others have */
	for (int i = 0; i < size; i++)
		values[i] = 10 * i + rank;
	fill_low(-1);
	MPI_Allgatherv(&rank, 1, MPI_INT, to, counts, displs, MPI_INT, comm);
	for (int i = 0; i < size; i++)
		low[2 * i] = low[2 * i] == i ? values[i] : -2;
	look_at_low("allgatherv");
}

static void alltoall_low(MPI_Comm comm)
{
	void *to = lay_shares(displs, sizeof(int), !rank);

	for (int i = 0; i < size; i++) {
		values[i] = 10 * rank + i;
		plain_displs[i] = i;
	}
	fill_low(-1);
	MPI_Alltoallv(values, counts, plain_displs, MPI_INT, to, counts, displs, MPI_INT, comm);
	look_at_low("alltoallv");
}

static void alltoallw_low(MPI_Comm comm)
{
	void *from = lay_shares(displs, 1, rank == size - 1);

	fill_low(-1);
	for (int i = 0; i < size; i++) {
		low[2 * i] = 10 * rank + i;
		plain_displs[i] = i * (int)sizeof(int);
		values[i] = -1;
	}
	MPI_Alltoallw(from, counts, displs, ints, values, counts, plain_displs, ints, comm);
	for (int i = 0; i < size; i++)
		low[2 * i] = values[i];
	look_at_low("alltoallw");
}

/* Both buffers, of which MPICH takes two for one by the array of counts. */
static void both_low(MPI_Comm comm)
{
	int *got = low + 2 * MAX_RANKS, got_counts[MAX_RANKS];

	memcpy(got_counts, counts, sizeof(got_counts));
	lay_shares(displs, sizeof(int), true);
	fill_low(-1);
	for (int i = 0; i < size; i++) {
		low[2 * i] = 10 * rank + i;
		plain_displs[i] = displs[i] + 2 * MAX_RANKS;
	}
	MPI_Alltoallv(MPI_BOTTOM, counts, displs, MPI_INT, MPI_BOTTOM, got_counts, plain_displs,
		      MPI_INT, comm);
	for (int i = 0; i < size; i++)
		low[2 * i] = got[2 * i];
	look_at_low("alltoallv from and to");
}

/* Each is the first collective of its communicator, for which all ranks have to decide alike. */
static void by_addresses(void)
{
	static const struct {
		void (*call)(MPI_Comm comm);
		const char *name;
	} calls[] = {
		{ gather_low, "gatherv" }, { scatter_low, "scatterv" },
		{ allgather_low, "allgatherv" }, { alltoall_low, "alltoallv" },
		{ alltoallw_low, "alltoallw" },
		{ both_low, "alltoallv" },
	};
	uint64_t before;
	MPI_Comm comm;

	make_low();
	for (int i = 0; i < size; i++) {
		counts[i] = 1;
		ints[i] = MPI_INT;
	}
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		before = count_of(calls[i].name);
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		calls[i].call(comm);
		MPI_Comm_free(&comm);
		expect_inc("bottom", calls[i].name, before, size > 1);
	}
	munmap(low, 4 * MAX_RANKS * sizeof(*low));
}

void test_bottom(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
	from_root();
	from_all();
	by_addresses();
}
