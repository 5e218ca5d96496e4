// SPDX-License-Identifier: GPL-2.0-only
/* Calls of several threads, each on a communicator of its own. */
#include <pthread.h>

#include "mpi-coll.h"

static int nr_wrong;

static void *thread_main(void *arg)
{
	MPI_Comm comm = *(MPI_Comm *)arg;
	int in, out, me, n;

	PMPI_Comm_rank(comm, &me);
	PMPI_Comm_size(comm, &n);
	for (int i = 0; i < 30; i++) {
		in = me + i;
		MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm);
		if (out != n * i + n * (n - 1) / 2)
			__atomic_fetch_add(&nr_wrong, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* forms_first: no thread has to wait within the MPI while others do. */
static void call_from_threads(const char *what, bool forms_first)
{
	uint64_t before = count_of("allreduce");
	pthread_t threads[3];
	MPI_Comm comms[3];

	if (!has_threads)
		fail("%s: no MPI_THREAD_MULTIPLE", what);
	for (int i = 0; i < 3; i++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
		if (forms_first)
			MPI_Barrier(comms[i]);
	}
	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, thread_main, &comms[i]))
			fail("no thread");
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 3; i++)
		MPI_Comm_free(&comms[i]);
	if (nr_wrong)
		fail("%s: %d wrong results", what, nr_wrong);
	expect_inc(what, "allreduce", before, size > 1 ? 90 : 0);
}

void test_threads(void)
{
	call_from_threads("threads", false);
}

void test_formed(void)
{
	call_from_threads("formed", true);
}
