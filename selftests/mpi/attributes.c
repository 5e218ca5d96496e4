// SPDX-License-Identifier: GPL-2.0-only
/* Attributes of the program's, beside those of libinc-mpi. */
#include "mpi-coll.h"

static int nr_deleted;

/* A communicator that is being freed is still one: this is a collective of all its ranks. */
static int sum_up(MPI_Comm comm, int keyval, void *value, void *extra)
{
	int sum = 0;

	(void)keyval;
	(void)value;
	(void)extra;
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
	if (sum != size * (size - 1) / 2)
		fail("allreduce of a communicator that is being freed: %d", sum);
	nr_deleted++;
	return MPI_SUCCESS;
}

/* Before or after libinc-mpi has set its own. */
static void free_with_callback(int keyval, bool used_before)
{
	MPI_Comm comm, disconnected;
	int mark;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_dup(MPI_COMM_WORLD, &disconnected);
	if (used_before) {
		MPI_Barrier(comm);
		MPI_Barrier(disconnected);
	}
	MPI_Comm_set_attr(comm, keyval, &mark);
	MPI_Comm_set_attr(disconnected, keyval, &mark);
	MPI_Barrier(comm);
	MPI_Barrier(disconnected);
	MPI_Comm_free(&comm);
	MPI_Comm_disconnect(&disconnected);
}

void test_attributes(void)
{
	int keyval;

	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, sum_up, &keyval, NULL);
	for (int i = 0; i < 4; i++)
		free_with_callback(keyval, i % 2);
	MPI_Comm_free_keyval(&keyval);
	if (nr_deleted != 8)
		fail("attributes of communicators were deleted %d times", nr_deleted);
}
