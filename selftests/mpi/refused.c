// SPDX-License-Identifier: GPL-2.0-only
/* Calls that the MPI refuses: it does so itself, at once, with its own error, and once. */
#include "mpi-coll.h"

#define CALL(fn, ...) (plain ? PMPI_##fn(__VA_ARGS__) : MPI_##fn(__VA_ARGS__))

static int a[2 * MAX_RANKS], b[2 * MAX_RANKS], counts[MAX_RANKS], displs[MAX_RANKS];
static MPI_Datatype ints[MAX_RANKS], new_type, spaced;
static int nr_errors;

static int bcast_count(bool plain, MPI_Comm comm)
{
	return CALL(Bcast, a, -1, MPI_INT, 0, comm);
}

static int bcast_root(bool plain, MPI_Comm comm)
{
	return CALL(Bcast, a, 1, MPI_INT, size, comm);
}

static int bcast_no_type(bool plain, MPI_Comm comm)
{
	return CALL(Bcast, a, 1, MPI_DATATYPE_NULL, 0, comm);
}

static int bcast_new_type(bool plain, MPI_Comm comm)
{
	return CALL(Bcast, a, 1, new_type, 0, comm);
}

static int allreduce_no_op(bool plain, MPI_Comm comm)
{
	return CALL(Allreduce, a, b, 2, MPI_INT, MPI_OP_NULL, comm);
}

static int allreduce_nowhere(bool plain, MPI_Comm comm)
{
	return CALL(Allreduce, a, MPI_IN_PLACE, 2, MPI_INT, MPI_SUM, comm);
}

static int allreduce_one_buffer(bool plain, MPI_Comm comm)
{
	return CALL(Allreduce, a, a, 2, MPI_INT, MPI_SUM, comm);
}

/* At the root only. */
static int reduce_one_buffer(bool plain, MPI_Comm comm)
{
	return CALL(Reduce, a, a, 2, MPI_INT, MPI_SUM, rank, comm);
}

static int alltoall_nowhere(bool plain, MPI_Comm comm)
{
	return CALL(Alltoall, a, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm);
}

#ifdef MPICH_VERSION

/* No handles of anything. */
static int bcast_not_a_comm(bool plain, MPI_Comm comm)
{
	(void)comm;
	return CALL(Bcast, a, 1, MPI_INT, 0, (MPI_Comm)0x12345);
}

static int ibarrier_not_a_comm(bool plain, MPI_Comm comm)
{
	MPI_Request request;

	(void)comm;
	return CALL(Ibarrier, (MPI_Comm)0x12345, &request);
}

static int bcast_not_a_type(bool plain, MPI_Comm comm)
{
	return CALL(Bcast, a, 1, (MPI_Datatype)0x12345, 0, comm);
}

static int bcast_null(bool plain, MPI_Comm comm)
{
	return CALL(Bcast, NULL, 1, MPI_INT, 0, comm);
}

static int bcast_null_spaced(bool plain, MPI_Comm comm)
{
	return CALL(Bcast, NULL, 1, spaced, 0, comm);
}

static int exscan_null(bool plain, MPI_Comm comm)
{
	return CALL(Exscan, a, NULL, 1, MPI_INT, MPI_SUM, comm);
}

/* The first share is at NULL, the others are where it might be. */
static int alltoallv_null(bool plain, MPI_Comm comm)
{
	return CALL(Alltoallv, NULL, counts, displs, MPI_INT, b, counts, displs, MPI_INT, comm);
}

static int alltoallw_null(bool plain, MPI_Comm comm)
{
	return CALL(Alltoallw, a, counts, displs, ints, NULL, counts, displs, ints, comm);
}

static int exscan_one_buffer(bool plain, MPI_Comm comm)
{
	return CALL(Exscan, a, a, 2, MPI_INT, MPI_SUM, comm);
}

static int reduce_scatter_one_buffer(bool plain, MPI_Comm comm)
{
	return CALL(Reduce_scatter, a, a, counts, MPI_INT, MPI_SUM, comm);
}

static int gather_own_share(bool plain, MPI_Comm comm)
{
	return CALL(Gather, a + 2 * rank, 2, MPI_INT, a, 2, MPI_INT, rank, comm);
}

static int scatterv_own_share(bool plain, MPI_Comm comm)
{
	return CALL(Scatterv, a, counts, displs, MPI_INT, a + displs[rank], 1, MPI_INT, rank,
		    comm);
}

static int allgather_own_share(bool plain, MPI_Comm comm)
{
	return CALL(Allgather, a + rank, 1, MPI_INT, a, 1, MPI_INT, comm);
}

static int alltoall_one_buffer(bool plain, MPI_Comm comm)
{
	return CALL(Alltoall, a, 1, MPI_INT, a, 1, MPI_INT, comm);
}

static int alltoallv_one_buffer(bool plain, MPI_Comm comm)
{
	return CALL(Alltoallv, a, counts, displs, MPI_INT, a, counts, displs, MPI_INT, comm);
}

static int alltoallw_one_buffer(bool plain, MPI_Comm comm)
{
	return CALL(Alltoallw, a, counts, displs, ints, a, counts, displs, ints, comm);
}

#else

static int alltoall_sizes(bool plain, MPI_Comm comm)
{
	return CALL(Alltoall, a, 1, MPI_INT, b, 2, MPI_INT, comm);
}

static int alltoallw_sizes(bool plain, MPI_Comm comm)
{
	static int more[MAX_RANKS];

	for (int i = 0; i < size; i++)
		more[i] = 2;
	return CALL(Alltoallw, a, counts, displs, ints, b, more, displs, ints, comm);
}

static int alltoallv_no_displs(bool plain, MPI_Comm comm)
{
	return CALL(Alltoallv, a, counts, NULL, MPI_INT, b, counts, displs, MPI_INT, comm);
}

static int allgatherv_no_displs(bool plain, MPI_Comm comm)
{
	return CALL(Allgatherv, a, 1, MPI_INT, b, counts, NULL, MPI_INT, comm);
}

#endif

#define REFUSED(fn) { fn, #fn }

static const struct {
	int (*call)(bool plain, MPI_Comm comm);
	const char *name;
} refused[] = {
	REFUSED(bcast_count), REFUSED(bcast_root), REFUSED(bcast_no_type), REFUSED(bcast_new_type),
	REFUSED(allreduce_no_op), REFUSED(allreduce_nowhere), REFUSED(allreduce_one_buffer),
	REFUSED(reduce_one_buffer), REFUSED(alltoall_nowhere),
#ifdef MPICH_VERSION
	REFUSED(bcast_not_a_comm), REFUSED(ibarrier_not_a_comm), REFUSED(bcast_not_a_type),
	REFUSED(bcast_null), REFUSED(bcast_null_spaced),
	REFUSED(exscan_null),
	REFUSED(alltoallv_null), REFUSED(alltoallw_null),
	REFUSED(exscan_one_buffer), REFUSED(reduce_scatter_one_buffer), REFUSED(gather_own_share),
	REFUSED(scatterv_own_share), REFUSED(allgather_own_share), REFUSED(alltoall_one_buffer),
	REFUSED(alltoallv_one_buffer), REFUSED(alltoallw_one_buffer),
#else
	REFUSED(alltoall_sizes), REFUSED(alltoallw_sizes), REFUSED(alltoallv_no_displs),
	REFUSED(allgatherv_no_displs),
#endif
};

static void count_error(MPI_Comm *comm, int *code, ...)
{
	(void)comm;
	(void)code;
	nr_errors++;
}

static void refuse_all(MPI_Comm comm, MPI_Comm plain)
{
	int code, class, want;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		code = refused[i].call(true, plain);
		if (!code)
			fail("refused: MPI does %s", refused[i].name);
		MPI_Error_class(code, &want);
		nr_errors = 0;
		code = refused[i].call(false, comm);
		MPI_Error_class(code, &class);
		if (class != want || nr_errors != 1)
			fail("refused: %s: class %d instead of %d, %d errors", refused[i].name,
			     class, want, nr_errors);
	}
}

static void sum_all(MPI_Comm comm)
{
	uint64_t before = count_of("allreduce");
	int sum;

	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
	if (sum != size * (size - 1) / 2)
		fail("refused: then the sum is %d", sum);
	expect_inc("refused", "allreduce", before, size > 1);
}

/* The request goes on to its end. */
static int cancelled(bool plain, MPI_Comm comm)
{
	MPI_Request request;
	int code, class;

	if (plain)
		PMPI_Ibarrier(comm, &request);
	else
		MPI_Ibarrier(comm, &request);
	code = MPI_Cancel(&request);
	MPI_Error_class(code, &class);
	if (MPI_Wait(&request, MPI_STATUS_IGNORE))
		fail("refused: cancel: the request has failed");
	return class;
}

static void cancel_requests(MPI_Comm comm, MPI_Comm plain)
{
	uint64_t before = count_of("ibarrier");
	int want = cancelled(true, plain), class = cancelled(false, comm);

	if (!want || class != want)
		fail("refused: cancel: class %d instead of %d", class, want);
	expect_inc("refused", "ibarrier", before, 1);
}

/* By one rank before there is a group, by all, and by one again: that disturbs no other. */
void test_refused(void)
{
	MPI_Errhandler handler, world_handler;
	MPI_Comm comm, plain;

	if (size < 2)
		return;
	for (int i = 0; i < size; i++) {
		counts[i] = 1;
		displs[i] = i;
		ints[i] = MPI_INT;
	}
	MPI_Type_vector(3, 1, 2, MPI_INT, &new_type);
	MPI_Type_vector(3, 1, 2, MPI_INT, &spaced);
	MPI_Type_commit(&spaced);
	MPI_Comm_get_errhandler(MPI_COMM_WORLD, &world_handler);
	MPI_Comm_create_errhandler(count_error, &handler);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	plain = plain_comm(comm);
	MPI_Comm_set_errhandler(comm, handler);
	MPI_Comm_set_errhandler(plain, handler);
	if (rank == size - 1)
		refuse_all(comm, plain);
	PMPI_Barrier(MPI_COMM_WORLD);
	refuse_all(comm, plain);
	sum_all(comm);
	if (!rank)
		refuse_all(comm, plain);
	sum_all(comm);
	cancel_requests(comm, plain);
	MPI_Type_commit(&new_type);
	if (MPI_Bcast(a, 1, new_type, 0, comm))
		fail("refused: a type that has been committed since");
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, world_handler);
	MPI_Errhandler_free(&world_handler);
	MPI_Errhandler_free(&handler);
	MPI_Type_free(&new_type);
	MPI_Type_free(&spaced);
	MPI_Comm_free(&comm);
}
