// SPDX-License-Identifier: GPL-2.0-only
/* Buffers that lie between the shares of others, and shares that overlap. */
#include "mpi-coll.h"

static int array[4 * MAX_RANKS], counts[MAX_RANKS], displs[MAX_RANKS];

/* Every second element is a share; what a rank sends lies between them. */
static int *make_array(void)
{
	for (int i = 0; i < 4 * size; i++)
		array[i] = -1;
	for (int i = 0; i < size; i++) {
		counts[i] = 1;
		displs[i] = 2 * i;
	}
	array[1] = 10 + rank;
	return &array[1];
}

static void look_at_array(const char *what)
{
	for (int i = 0; i < size; i++)
		if (array[2 * i] != 10 + i)
			fail("overlap: %s: %d from %d", what, array[2 * i], i);
	if (array[1] != 10 + rank)
		fail("overlap: %s: what was sent is %d", what, array[1]);
}

/* As MPI allows it. */
static void between_shares(void)
{
	uint64_t before[] = {
		count_of("gatherv"), count_of("allgatherv"), count_of("iallgatherv"),
	};
	MPI_Request request;

	MPI_Gatherv(make_array(), 1, MPI_INT, array, counts, displs, MPI_INT, 0, MPI_COMM_WORLD);
	if (!rank)
		look_at_array("gatherv");
	MPI_Allgatherv(make_array(), 1, MPI_INT, array, counts, displs, MPI_INT, MPI_COMM_WORLD);
	look_at_array("allgatherv");
	MPI_Iallgatherv(make_array(), 1, MPI_INT, array, counts, displs, MPI_INT, MPI_COMM_WORLD,
			&request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	look_at_array("iallgatherv");
	expect_inc("overlap", "gatherv", before[0], size > 1);
	expect_inc("overlap", "allgatherv", before[1], size > 1);
	expect_inc("overlap", "iallgatherv", before[2], size > 1);
}

/* Nobody says anything of it, and all shares have the same. */
static void same_shares(void)
{
	uint64_t before = count_of("allgatherv");
	int value = 7;

	make_array();
	memset(displs, 0, sizeof(displs));
	MPI_Allgatherv(&value, 1, MPI_INT, array, counts, displs, MPI_INT, MPI_COMM_WORLD);
	if (array[0] != 7)
		fail("overlap: allgatherv of one value: %d", array[0]);
	expect_inc("overlap", "allgatherv", before, size > 1);
}

/* Open MPI takes it for what it looks like. */
#ifndef MPICH_VERSION
static void same_buffer(void)
{
	uint64_t before = count_of("allreduce"), scans_before = count_of("scan");
	int value = rank + 1;

	MPI_Allreduce(&value, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (value != size * (size + 1) / 2)
		fail("overlap: allreduce from and to one buffer: %d", value);
	value = rank + 1;
	MPI_Scan(&value, &value, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	if (value != rank + 1)
		fail("overlap: scan from and to one buffer: %d", value);
	expect_inc("overlap", "allreduce", before, size > 1);
	expect_inc("overlap", "scan", scans_before, size > 1);
}
#endif

void test_overlap(void)
{
	uint64_t before = count_of("staged.overlap");

	between_shares();
	same_shares();
#ifndef MPICH_VERSION
	same_buffer();
#endif
	if (expected == EXPECT_INC && size > 1 && count_of("staged.overlap") == before)
		fail("overlap: nothing has been copied");
}
