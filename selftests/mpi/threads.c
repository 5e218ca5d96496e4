// SPDX-License-Identifier: GPL-2.0-only
/* Calls of several threads, each on a communicator of its own. */
#include <pthread.h>
#include <sched.h>

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

/* ---- Requests ------------------------------------------------------------- */

#define NR_THREADS	3
#define NR_ROUNDS	20	/* each function that completes requests, twice */
#define NR_SUMS		3

struct waiter {
	MPI_Comm comm;
	MPI_Request barrier;	/* persistent */
	bool has_barrier;
	int nr;
};

static void sum_and_complete(const struct waiter *w, int round)
{
	int in[NR_SUMS], out[NR_SUMS], me, n;
	MPI_Request requests[NR_SUMS];

	PMPI_Comm_rank(w->comm, &me);
	PMPI_Comm_size(w->comm, &n);
	for (int i = 0; i < NR_SUMS; i++) {
		in[i] = me + round + i;
		MPI_Iallreduce(&in[i], &out[i], 1, MPI_INT, MPI_SUM, w->comm, &requests[i]);
	}
	complete_some(requests, NR_SUMS, NR_SUMS, (unsigned int)(round + w->nr) % 10);
	for (int i = 0; i < NR_SUMS; i++)
		if (requests[i] != MPI_REQUEST_NULL ||
		    out[i] != n * (round + i) + n * (n - 1) / 2)
			__atomic_fetch_add(&nr_wrong, 1, __ATOMIC_RELAXED);
}

static void *waiter_main(void *arg)
{
	struct waiter *w = arg;

	for (int i = 0; i < NR_ROUNDS; i++) {
		sum_and_complete(w, i);
		if (!w->has_barrier)
			continue;
		MPI_Start(&w->barrier);
		MPI_Wait(&w->barrier, MPI_STATUS_IGNORE);
	}
	return NULL;
}

static void wait_in_threads(void)
{
	uint64_t before = count_of("iallreduce"), starts_before = count_of("barrier_init");
	struct waiter waiters[NR_THREADS];
	pthread_t threads[NR_THREADS];

	for (int i = 0; i < NR_THREADS; i++) {
		struct waiter *w = &waiters[i];

		w->nr = i;
		MPI_Comm_dup(MPI_COMM_WORLD, &w->comm);
		/* makes its group: no thread has to wait within the MPI */
		MPI_Barrier(w->comm);
		w->has_barrier = make_barrier(w->comm, &w->barrier);
	}
	for (int i = 0; i < NR_THREADS; i++)
		if (pthread_create(&threads[i], NULL, waiter_main, &waiters[i]))
			fail("no thread");
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	expect_inc("waits", "iallreduce", before, size > 1 ? NR_THREADS * NR_ROUNDS * NR_SUMS : 0);
	expect_inc("waits", "barrier_init", starts_before,
		   size > 1 && waiters[0].has_barrier ? NR_THREADS * NR_ROUNDS : 0);
	for (int i = 0; i < NR_THREADS; i++) {
		if (waiters[i].has_barrier)
			MPI_Request_free(&waiters[i].barrier);
		MPI_Comm_free(&waiters[i].comm);
	}
}

/* Of rank 0: waits for a sum that the others do not begin before its other thread has sent. */
struct needed {
	MPI_Comm comm;
	unsigned int how;
	int sum;
	bool waits;
};

static void *needed_main(void *arg)
{
	struct needed *w = arg;
	MPI_Request request;
	int one = 1;

	MPI_Iallreduce(&one, &w->sum, 1, MPI_INT, MPI_SUM, w->comm, &request);
	__atomic_store_n(&w->waits, true, __ATOMIC_RELEASE);
	complete_some(&request, 1, 1, w->how);
	return NULL;
}

static void send_to_all(struct needed *w)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, needed_main, w))
		fail("no thread");
	while (!__atomic_load_n(&w->waits, __ATOMIC_ACQUIRE))
		sched_yield();
	/* so that it is within the function that waits */
	for (int i = 0; i < 100; i++)
		sched_yield();
	for (int to = 1; to < size; to++)
		MPI_Send(NULL, 0, MPI_BYTE, to, 0, MPI_COMM_WORLD);
	pthread_join(thread, NULL);
}

static void wait_while_needed(void)
{
	uint64_t before = count_of("iallreduce");
	MPI_Comm comm;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Barrier(comm);
	for (unsigned int how = 0; how < 10; how++) {
		struct needed w = { .comm = comm, .how = how };

		if (!rank) {
			send_to_all(&w);
		} else {
			MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			needed_main(&w);
		}
		if (w.sum != size)
			fail("waits: a sum of %d", w.sum);
	}
	expect_inc("waits", "iallreduce", before, size > 1 ? 10 : 0);
	MPI_Comm_free(&comm);
}

void test_waits(void)
{
	if (!has_threads)
		fail("waits: no MPI_THREAD_MULTIPLE");
	wait_in_threads();
	wait_while_needed();
	if (nr_wrong)
		fail("waits: %d wrong results", nr_wrong);
}
