// SPDX-License-Identifier: GPL-2.0-only
/*
 * mpi_begin c|mixed|spawn|callback|message: a program of MPI in which all ranks call MPI_Init(), or
 * only rank 0 and the others PMPI_Init(), as Fortran of Open MPI does. Those do their collectives
 * by PMPI_*, too. With spawn, a process of another job takes part. With callback, MPI_Finalize()
 * calls the program, which does a communicator's first collective then; with message, it sends at
 * rank 0 what rank 1 waits for before its MPI_Finalize(). Rank 0 prints "passed" if all give what
 * they must.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RANKS 8

static int is_first(void)
{
	const char *rank = getenv("OMPI_COMM_WORLD_RANK");

	if (!rank)
		rank = getenv("PMI_RANK");
	return rank && !strcmp(rank, "0");
}

static int sum(int value, int seen)
{
	int all = -1;

	if (seen)
		MPI_Allreduce(&value, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	else
		PMPI_Allreduce(&value, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	return all;
}

/* A function that has as many arguments as any. */
static int exchange_fails(int rank, int size, int seen)
{
	int send[MAX_RANKS], recv[MAX_RANKS], counts[MAX_RANKS], displs[MAX_RANKS], bad = 0;
	MPI_Request request;

	for (int i = 0; i < size; i++) {
		send[i] = 100 * rank + i;
		recv[i] = -1;
		counts[i] = 1;
		displs[i] = i;
	}
	if (seen)
		MPI_Ialltoallv(send, counts, displs, MPI_INT, recv, counts, displs, MPI_INT,
			       MPI_COMM_WORLD, &request);
	else
		PMPI_Ialltoallv(send, counts, displs, MPI_INT, recv, counts, displs, MPI_INT,
				MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	for (int i = 0; i < size; i++)
		bad += recv[i] != 100 * i + rank;
	return bad;
}

/* Both jobs as one communicator, in which each rank gives its number. */
static int merged_fails(MPI_Comm inter, int late)
{
	int rank, size, all = -1;
	MPI_Comm both;

	MPI_Intercomm_merge(inter, late, &both);
	MPI_Comm_rank(both, &rank);
	MPI_Comm_size(both, &size);
	MPI_Allreduce(&rank, &all, 1, MPI_INT, MPI_SUM, both);
	MPI_Comm_free(&both);
	MPI_Comm_disconnect(&inter);
	return all != size * (size - 1) / 2;
}

static int spawned(int argc, char **argv)
{
	MPI_Comm parent;

	MPI_Init(&argc, &argv);
	MPI_Comm_get_parent(&parent);
	if (parent != MPI_COMM_NULL)
		merged_fails(parent, 1);
	MPI_Finalize();
	return 0;
}

static int spawn_fails(char *program)
{
	char argument[] = "spawned", *arguments[2] = { argument, NULL };
	MPI_Comm inter;

	MPI_Comm_spawn(program, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
		       MPI_ERRCODES_IGNORE);
	return merged_fails(inter, 0);
}

static MPI_Comm late;

/* MPI-3.1, 8.7.1: all of MPI is still there. */
static int sum_late(MPI_Comm comm, int keyval, void *value, void *extra)
{
	int rank, size, sum = -1;

	(void)comm;
	(void)keyval;
	(void)value;
	(void)extra;
	MPI_Comm_rank(late, &rank);
	MPI_Comm_size(late, &size);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, late);
	if (sum != size * (size - 1) / 2) {
		fprintf(stderr, "rank %d: the sum in MPI_Finalize() is %d\n", rank, sum);
		exit(1);
	}
	return MPI_SUCCESS;
}

/*
 * Rank 0 sets its attribute before the job's first collective, the others afterwards: attributes go
 * in the reverse order.
 */
static void sum_at_end(int rank)
{
	int keyval;

	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, sum_late, &keyval, NULL);
	if (!rank)
		MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Comm_dup(MPI_COMM_WORLD, &late);
	if (rank)
		MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
	MPI_Comm_free_keyval(&keyval);
}

/* MPI_Finalize() of rank 0 begins when that of rank 1 has not. */
static int send_late(MPI_Comm comm, int keyval, void *value, void *extra)
{
	int word = 5;

	(void)comm;
	(void)keyval;
	(void)value;
	(void)extra;
	MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
	return MPI_SUCCESS;
}

static void send_at_end(int rank)
{
	int word, keyval;

	if (rank == 1)
		MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (rank)
		return;
	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, send_late, &keyval, NULL);
	MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
	MPI_Comm_free_keyval(&keyval);
}

/* MPICH says that it has been given nothing; Open MPI takes whatever it is given for a pointer. */
static int free_fails(void)
{
	int bad = 0;

#ifdef MPICH_VERSION
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	bad = MPI_Comm_free(NULL) == MPI_SUCCESS || MPI_Comm_disconnect(NULL) == MPI_SUCCESS;
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
#endif
	return bad;
}

int main(int argc, char **argv)
{
	int seen = argc == 2 && (strcmp(argv[1], "mixed") || is_first()), rank, size, got, bad;

	if (argc == 2 && !strcmp(argv[1], "spawned"))
		return spawned(argc, argv);
	if (seen)
		MPI_Init(&argc, &argv);
	else
		PMPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size > MAX_RANKS)
		MPI_Abort(MPI_COMM_WORLD, 1);
	if (!strcmp(argv[1], "callback"))
		sum_at_end(rank);
	got = sum(rank + 1, seen);
	bad = sum(got != size * (size + 1) / 2, seen);
	bad += sum(exchange_fails(rank, size, seen), seen);
	bad += sum(free_fails(), seen);
	if (!strcmp(argv[1], "spawn"))
		bad += spawn_fails(argv[0]);
	if (!rank && !bad)
		puts("passed");
	if (!strcmp(argv[1], "message"))
		send_at_end(rank);
	if (seen)
		MPI_Finalize();
	else
		PMPI_Finalize();
	return bad != 0;
}
