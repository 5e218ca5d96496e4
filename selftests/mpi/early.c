// SPDX-License-Identifier: GPL-2.0-only
/* Programs with non-blocking collectives only: when their communicators have groups. */
#include <stdlib.h>

#include "mpi-coll.h"

static void sum_ranks(MPI_Comm comm)
{
	int me, n, out = -1;
	MPI_Request request;

	PMPI_Comm_rank(comm, &me);
	PMPI_Comm_size(comm, &n);
	MPI_Iallreduce(&me, &out, 1, MPI_INT, MPI_SUM, comm, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	if (out != n * (n - 1) / 2)
		fail("early: the sum of %d ranks is %d", n, out);
}

static void sum_and_expect(const char *what, MPI_Comm comm, int by)
{
	uint64_t before = count_of("iallreduce");

	sum_ranks(comm);
	expect_inc(what, "iallreduce", before, by);
}

static void sum_and_free(const char *what, MPI_Comm *comm)
{
	sum_and_expect(what, *comm, 1);
	MPI_Comm_free(comm);
}

/*
 * Nothing says that groups are wanted: one is there as soon as the communicator has had
 * non-blocking calls and all ranks are in a function that makes another one, which has one, too.
 */
void test_unasked(void)
{
	MPI_Comm first, second, half;

	MPI_Comm_dup(MPI_COMM_WORLD, &first);
	sum_and_expect("the first call", first, 0);
	MPI_Comm_dup(first, &second);
	sum_and_expect("after a copy of its communicator", first, 1);
	sum_and_free("in a copy of one that had calls", &second);
	MPI_Comm_split(first, rank & 1, -rank, &half);
	sum_and_free("in a half of one that had calls", &half);
	MPI_Comm_free(&first);
}

static void test_parts(MPI_Group all)
{
	MPI_Comm comm, half, bridge;
	int ranks[2] = { 0, 1 };
	MPI_Group two;

	MPI_Comm_split(MPI_COMM_WORLD, rank & 1, -rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank & 1 ? size - 2 : size - 1, 1, &bridge);
	sum_and_free("early: a half", &half);
	MPI_Intercomm_merge(bridge, rank & 1, &comm);
	MPI_Comm_free(&bridge);
	sum_and_free("early: merged", &comm);
	MPI_Group_incl(all, 2, ranks, &two);
	MPI_Comm_create(MPI_COMM_WORLD, two, &comm);
	if (comm != MPI_COMM_NULL)
		sum_and_free("early: created", &comm);
	if (rank < 2) {
		MPI_Comm_create_group(MPI_COMM_WORLD, two, 1, &comm);
		sum_and_free("early: created by a group", &comm);
	}
	MPI_Group_free(&two);
}

static void test_topologies(void)
{
	const int dims[2] = { 2, size / 2 }, periods[2] = { 0 }, remain[2] = { 1, 0 };
	const int weights[1] = { 1 };
	MPI_Comm grid, line;

	MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
	MPI_Cart_sub(grid, remain, &line);
	sum_and_free("early: a line of a grid", &line);
	sum_and_free("early: a grid", &grid);
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &rank, weights, 1, &rank, weights,
				       MPI_INFO_NULL, 0, &grid);
	sum_and_free("early: a graph", &grid);
}

static void scan_and_free(MPI_Comm *comm)
{
	int me, sum = -1;

	PMPI_Comm_rank(*comm, &me);
	MPI_Scan(&me, &sum, 1, MPI_INT, MPI_SUM, *comm);
	if (sum != me * (me + 1) / 2)
		fail("again: the sum up to rank %d is %d", me, sum);
	MPI_Comm_free(comm);
}

#define NR_AGAIN	20

/*
 * The group of a communicator that has been freed is used by the next one of the same ranks in the
 * same order; the last two are kept.
 */
void test_again(void)
{
	uint64_t groups, again;
	MPI_Comm comm;

	MPI_Barrier(MPI_COMM_WORLD);
	groups = count_of("groups");
	again = count_of("again");
	for (int i = 0; i < NR_AGAIN; i++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		scan_and_free(&comm);
		MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
		scan_and_free(&comm);
	}
	expect_inc("again: groups joined", "groups", groups, 2);
	expect_inc("again: groups used again", "again", again, 2 * NR_AGAIN - 2);
	/* a third one takes the place of the first */
	MPI_Comm_split(MPI_COMM_WORLD, rank & 1, rank, &comm);
	scan_and_free(&comm);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	scan_and_free(&comm);
	expect_inc("again: groups joined", "groups", groups, 4);
}

/*
 * MPI_COLL_RUN takes the node of a group away that is kept, until all ranks have heard of it, and
 * may add another one. INC or the MPI does what follows.
 */
void test_gone(void)
{
	const char *command = getenv("MPI_COLL_RUN");
	MPI_Comm comm;

	if (!command)
		fail("gone: there is no MPI_COLL_RUN");
	for (int i = 0; i < 4; i++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		scan_and_free(&comm);
		PMPI_Barrier(MPI_COMM_WORLD);
		if (!i && !rank && system(command))
			fail("gone: %s", command);
		PMPI_Barrier(MPI_COMM_WORLD);
	}
}

/* INC_MPI_EARLY is 1: all have groups from the beginning. */
void test_early(void)
{
	MPI_Group all;
	MPI_Comm comm;

	if (size != 4)
		fail("early: %d ranks: expected 4", size);
	sum_and_expect("early: the world", MPI_COMM_WORLD, 1);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	sum_and_free("early: a copy", &comm);
	MPI_Comm_group(MPI_COMM_WORLD, &all);
	test_parts(all);
	test_topologies();
	MPI_Group_free(&all);
}
