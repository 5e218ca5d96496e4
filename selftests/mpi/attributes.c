// SPDX-License-Identifier: GPL-2.0-only
/* Attributes of the program's, of communicators and datatypes, beside those of libinc-mpi. */
#include "mpi-coll.h"

static int nr_deleted, nr_copied;

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

static bool refuses;

static int refuse_once(MPI_Comm comm, int keyval, void *value, void *extra)
{
	(void)comm;
	(void)keyval;
	(void)value;
	(void)extra;
	return refuses ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/*
 * A communicator that a callback has kept from being freed is the same as before, at all ranks. The
 * classes of errors that MPICH tells of later are not what they were.
 */
void test_stays(void)
{
	uint64_t before = count_of("barrier");
	MPI_Comm comm, kept;
	int keyval, mark;

	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse_once, &keyval, NULL);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	/* before or after that of libinc-mpi */
	if (rank % 2)
		MPI_Comm_set_attr(comm, keyval, &mark);
	MPI_Barrier(comm);
	if (!(rank % 2))
		MPI_Comm_set_attr(comm, keyval, &mark);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	refuses = true;
	kept = comm;
	if (MPI_Comm_free(&comm) == MPI_SUCCESS || comm != kept)
		fail("a communicator is freed although a callback has refused");
	refuses = false;
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
	MPI_Barrier(comm);
	MPI_Comm_free(&comm);
	MPI_Comm_free_keyval(&keyval);
	expect_inc("stays", "barrier", before, 2);
}

static int refuse_copy(MPI_Datatype type, int keyval, void *extra, void *in, void *out, int *flag)
{
	(void)type;
	(void)keyval;
	(void)extra;
	(void)in;
	(void)out;
	*flag = 0;
	nr_copied++;
	return MPI_ERR_OTHER;
}

/* Of a datatype that the program may free before the call has ended. */
static void use_type(int keyval)
{
	int value[6] = { 1, 1, 1, 1, 1, 1 };
	MPI_Datatype spaced;
	MPI_Request request;

	MPI_Type_vector(3, 1, 2, MPI_INT, &spaced);
	MPI_Type_commit(&spaced);
	MPI_Type_set_attr(spaced, keyval, value);
	for (int i = 0; i < 6; i++)
		value[i] = rank ? -1 : i;
	MPI_Ibcast(value, 1, spaced, 0, MPI_COMM_WORLD, &request);
	MPI_Type_free(&spaced);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	for (int i = 0; i < 6; i++)
		if (value[i] != (i % 2 && rank ? -1 : i))
			fail("ibcast of a datatype with an attribute: value %d is %d", i, value[i]);
	if (nr_copied)
		fail("an attribute of a datatype has been copied %d times", nr_copied);
}

#define NR_AT_END	1000000

static MPI_Request at_end;
static int *in_at_end, *out_at_end;

static int wait_at_end(MPI_Comm comm, int keyval, void *value, void *extra)
{
	(void)comm;
	(void)keyval;
	(void)value;
	(void)extra;
	MPI_Wait(&at_end, MPI_STATUS_IGNORE);
	for (int i = 0; i < NR_AT_END; i++)
		if (out_at_end[i] != i * size + size * (size - 1) / 2)
			fail("iallreduce that ends in MPI_Finalize(): %d", out_at_end[i]);
	free(in_at_end);
	free(out_at_end);
	return MPI_SUCCESS;
}

/* Something that takes a while, and is waited for when MPI_Finalize() calls. */
void test_end(void)
{
	uint64_t before = count_of("barrier");
	int keyval;

	in_at_end = malloc(NR_AT_END * sizeof(*in_at_end));
	out_at_end = malloc(NR_AT_END * sizeof(*out_at_end));
	if (!in_at_end || !out_at_end)
		fail("no memory");
	for (int i = 0; i < NR_AT_END; i++)
		in_at_end[i] = i + rank;
	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, wait_at_end, &keyval, NULL);
	MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
	MPI_Comm_free_keyval(&keyval);
	MPI_Barrier(MPI_COMM_WORLD);
	expect_inc("end", "barrier", before, size > 1);
	MPI_Iallreduce(in_at_end, out_at_end, NR_AT_END, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
		       &at_end);
}

void test_attributes(void)
{
	uint64_t before = count_of("ibcast");
	int keyval, type_keyval;

	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, sum_up, &keyval, NULL);
	for (int i = 0; i < 4; i++)
		free_with_callback(keyval, i % 2);
	MPI_Comm_free_keyval(&keyval);
	if (nr_deleted != 8)
		fail("attributes of communicators were deleted %d times", nr_deleted);
	MPI_Type_create_keyval(refuse_copy, MPI_TYPE_NULL_DELETE_FN, &type_keyval, NULL);
	MPI_Barrier(MPI_COMM_WORLD);
	use_type(type_keyval);
	MPI_Type_free_keyval(&type_keyval);
	expect_inc("attributes", "ibcast", before, 1);
}
