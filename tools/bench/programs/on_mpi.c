// SPDX-License-Identifier: GPL-2.0-only
/* The benchmark through MPI: Open MPI or MPICH. Which algorithm is said to its launcher. */
#include "bench.h"

#include <mpi.h>

static MPI_Request request;

static void start(struct bench_place *place, int *argc, char ***argv)
{
	MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &place->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &place->size);
}

static void allreduce(const float *send, float *recv, size_t count)
{
	MPI_Allreduce(send, recv, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void barrier(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
}

static void begin(const float *send, float *recv, size_t count)
{
	MPI_Iallreduce(send, recv, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
}

static void end(void)
{
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void stop(void)
{
	MPI_Finalize();
}

const struct bench_library library = {
	BENCH_MPI, start, NULL, allreduce, barrier, begin, end, stop
};
