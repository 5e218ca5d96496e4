// SPDX-License-Identifier: GPL-2.0-only
/* Single cases: what is easily got wrong, and has no place among random calls. */
#include "mpi-coll.h"

/* A communicator that is freed with a call under way, and a type. */
void test_comms(void)
{
	MPI_Request request;
	MPI_Datatype spaced;
	MPI_Comm comm;
	uint64_t before = count_of("ibcast"), groups_before = groups_found();
	int value[6];

	for (int i = 0; i < 3; i++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		MPI_Barrier(comm);
		MPI_Type_vector(3, 1, 2, MPI_INT, &spaced);
		MPI_Type_commit(&spaced);
		for (int j = 0; j < 6; j++)
			value[j] = rank ? -1 : 10 * i + j;
		MPI_Ibcast(value, 1, spaced, 0, comm, &request);
		MPI_Type_free(&spaced);
		MPI_Comm_free(&comm);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		for (int j = 0; j < 6; j++)
			if (value[j] != (j % 2 && rank ? -1 : 10 * i + j))
				fail("comms: value %d is %d", j, value[j]);
	}
	expect_inc("comms", "ibcast", before, 3);
	expect_groups("comms", groups_before, 3);
}

/* The request is waited for alone, by the function that looks at no other. */
static void wait_for_all(bool blocking)
{
	MPI_Request request;

	if (blocking) {
		MPI_Barrier(MPI_COMM_WORLD);
		return;
	}
	MPI_Ibarrier(MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void send_around(char *data, size_t n, bool blocking)
{
	MPI_Request request;

	for (int from = 0; from < size; from++) {
		int to = (from + 1) % size;

		memset(data, rank == from ? from + 1 : 0, n);
		if (rank == from)
			MPI_Isend(data, (int)n, MPI_BYTE, to, 7, MPI_COMM_WORLD, &request);
		if (rank == to && size > 1)
			MPI_Recv(data, (int)n, MPI_BYTE, from, 7, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
		wait_for_all(blocking);
		if (rank == from && size > 1)
			MPI_Wait(&request, MPI_STATUS_IGNORE);
		if (rank == to && data[n - 1] != from + 1)
			fail("progress: received %d from %d", data[n - 1], from);
	}
}

/* MPI must go on with messages while a rank waits in a collective, or for the end of one. */
void test_progress(void)
{
	size_t n = 4 << 20;
	char *data = malloc(n);
	uint64_t before = count_of("barrier"), before_i = count_of("ibarrier");

	if (!data)
		fail("no memory");
	MPI_Barrier(MPI_COMM_WORLD);
	send_around(data, n, true);
	send_around(data, n, false);
	free(data);
	expect_inc("progress", "barrier", before, size > 1 ? (uint64_t)size + 1 : 0);
	expect_inc("progress", "ibarrier", before_i, size > 1 ? (uint64_t)size : 0);
}

static void user_sum(void *in, void *inout, int *n, MPI_Datatype *type)
{
	int *a = in, *b = inout;

	(void)type;
	for (int i = 0; i < *n; i++)
		b[i] = 2 * a[i] + b[i];
}

/* What is easily got wrong. */
/* Rank 0 has the lowest value, and no share of the result. */
static void give_without_share(void)
{
	struct { short value; int index; } pair;
	int *counts = calloc((size_t)size, sizeof(*counts));

	if (!counts)
		fail("no memory");
	counts[size - 1] = 1;
	memset(&pair, 0x5a, sizeof(pair));	/* the gap */
	pair.value = (short)(rank ? rank : -5);
	pair.index = 100 + rank;
	MPI_Reduce_scatter(MPI_IN_PLACE, &pair, counts, MPI_SHORT_INT, MPI_MINLOC, MPI_COMM_WORLD);
	free(counts);
	if (rank == size - 1 && (pair.value != -5 || pair.index != 100))
		fail("minloc of who has no share: %d of %d", pair.value, pair.index);
}

/* Rank 0 gets nothing of an exscan: it need not say where to. MPICH wants to know even so. */
static void give_without_buffer(void)
{
#ifndef MPICH_VERSION
	uint64_t before = count_of("exscan"), before_i = count_of("iexscan");
	int in = rank + 1, out[2] = { 0, 0 };
	MPI_Request request;
	MPI_Comm comm;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Exscan(&in, rank ? &out[0] : NULL, 1, MPI_INT, MPI_SUM, comm);
	MPI_Iexscan(&in, rank ? &out[1] : NULL, 1, MPI_INT, MPI_SUM, comm, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Comm_free(&comm);
	if (out[0] != rank * (rank + 1) / 2 || out[1] != out[0])
		fail("exscan without a buffer at rank 0: %d, %d", out[0], out[1]);
	expect_inc("semantics", "exscan", before, size > 1);
	expect_inc("semantics", "iexscan", before_i, size > 1);
#endif
}

void test_semantics(void)
{
	int in = rank + 5, out = -7, err;
	uint64_t before = count_of("why.operation"), types_before = count_of("why.type");
	struct { double value; int index; } pair, least;
	double nan_in = strtod("nan(0x1234)", NULL), nan_out;
	MPI_Errhandler handler;
	MPI_Op op;

	/* a single operand stays what it is */
	MPI_Scan(&in, &out, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
	if (out != (rank ? 1 : 5))
		fail("scan land: %d", out);
	out = -7;
	MPI_Exscan(&in, &out, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
	if (out != (rank == 0 ? -7 : rank == 1 ? 5 : 1))
		fail("exscan lor: %d", out);
	out = -7;
	MPI_Exscan(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (out != (rank ? 5 * rank + rank * (rank - 1) / 2 : -7))
		fail("exscan sum: %d", out);
	MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_LAND, MPI_COMM_SELF);
	if (out != in)
		fail("land at a communicator of one: %d", out);
	out = in;
	MPI_Scan(MPI_IN_PLACE, &out, 1, MPI_INT, MPI_LXOR, MPI_COMM_WORLD);
	if (out != (rank ? !(rank % 2) : 5))
		fail("scan lxor in place: %d", out);
	MPI_Scan(&nan_in, &nan_out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	if (!rank && memcmp(&nan_in, &nan_out, sizeof(nan_in)))
		fail("scan of a NaN: other bits");
	/* -0 equals 0: the lower index */
	pair.value = rank % 2 ? -0.0 : 0.0;
	pair.index = 100 + rank;
	MPI_Allreduce(&pair, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
	if (least.index != 100 || least.value != 0)
		fail("minloc of zeros: index %d", least.index);
	pair.value = rank % 2 ? 0.0 : -0.0;
	MPI_Allreduce(&pair, &least, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
	if (least.index != 100)
		fail("maxloc of zeros: index %d", least.index);
	give_without_share();
	give_without_buffer();
	/* the MPI's own: an operation of the program, in order */
	MPI_Op_create(user_sum, 0, &op);
	MPI_Allreduce(&in, &out, 1, MPI_INT, op, MPI_COMM_WORLD);
	PMPI_Allreduce(&in, &err, 1, MPI_INT, op, plain_comm(MPI_COMM_WORLD));
	MPI_Op_free(&op);
	if (out != err)
		fail("an operation of the program: %d, expected %d", out, err);
	if (expected == EXPECT_INC && size > 1 && count_of("why.operation") - before != 1)
		fail("an operation of the program was counted %lld times",
		     (long long)(count_of("why.operation") - before));
	/* MPI refuses what it does not have */
	MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	err = MPI_Allreduce(&nan_in, &nan_out, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD);
	if (!err)
		fail("band of doubles is no error");
	/* MPI asks a component for nothing that it refuses */
	if (expected == EXPECT_INC && size > 1 &&
	    count_of("why.type") - types_before != !has_component)
		fail("band of doubles was counted %lld times",
		     (long long)(count_of("why.type") - types_before));
	err = MPI_Bcast(&in, 1, MPI_INT, size, MPI_COMM_WORLD);
	if (!err)
		fail("root %d of %d ranks is no error", size, size);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
	MPI_Errhandler_free(&handler);
}

void test_inter(void)
{
	MPI_Comm half, inter;
	int in = rank, out = -1, color = rank % 2, want = 0;
	uint64_t before = count_of("why.intercommunicator");

	if (size < 2)
		return;
	MPI_Comm_split(MPI_COMM_WORLD, color, rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, !color, 3, &inter);
	MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, inter);
	for (int i = !color; i < size; i += 2)
		want += i;
	if (out != want)
		fail("allreduce of an intercommunicator: %d, expected %d", out, want);
	/* the component is in none of these */
	if (expected == EXPECT_INC && count_of("why.intercommunicator") - before != !has_component)
		fail("an intercommunicator was counted %lld times",
		     (long long)(count_of("why.intercommunicator") - before));
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
}

/*
 * Arrays of an intercommunicator have an entry for each rank of the other group: here one, or all
 * but one.
 */
void test_inter_arrays(void)
{
	int in[MAX_RANKS], out[MAX_RANKS], counts[MAX_RANKS], displs[MAX_RANKS];
	int others = rank ? 1 : size - 1;
	MPI_Datatype *of;
	MPI_Comm half, inter;

	if (size < 3)
		return;
	MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, !rank, 4, &inter);
	/* who reads behind them reads what is no type */
	of = malloc((size_t)others * sizeof(*of));
	for (int i = 0; i < others; i++) {
		in[i] = 1000 * rank + i;
		out[i] = -1;
		counts[i] = 1;
		displs[i] = i * (int)sizeof(int);
		of[i] = MPI_INT;
	}
	MPI_Alltoallw(in, counts, displs, of, out, counts, displs, of, inter);
	for (int i = 0; i < others; i++)
		if (out[i] != (rank ? rank - 1 : 1000 * (i + 1)))
			fail("alltoallw of an intercommunicator: %d from %d", out[i], i);
	free(of);
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
}

#define MANY	4200	/* more than the kernel holds for a rank */

/* More requests than a group has: they are collected although nobody waits. */
void test_many(void)
{
	static MPI_Request requests[MANY];

	if (expected != EXPECT_INC)
		return;
	for (int i = 0; i < MANY; i++)
		MPI_Ibarrier(MPI_COMM_WORLD, &requests[i]);
	MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
}

/*
 * Communicators that are made while blocking collectives of their parent go on, at ranks that are
 * out of step: MPI may use collectives of the parent for it, whenever it gets to run.
 */
void test_idup(void)
{
	MPI_Comm parent, child;
	MPI_Request request;
	int sum, flag;

	for (int i = 0; i < 6; i++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &parent);
		if (i % 2)
			MPI_Barrier(parent);
		MPI_Comm_idup(parent, &child, &request);
		for (int j = 0; (i + rank) % 3 == 0 && j < 1000; j++)
			MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
		for (int j = 0; j < 5; j++) {
			MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, parent);
			if (sum != size * (size - 1) / 2)
				fail("allreduce beside MPI_Comm_idup: %d", sum);
		}
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		MPI_Barrier(child);
		MPI_Comm_free(&child);
		MPI_Comm_free(&parent);
	}
}
