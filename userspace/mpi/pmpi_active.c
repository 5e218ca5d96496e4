// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Requests of persistent collectives that INC does. The program has a persistent request of the
 * MPI's for each, which is never started. While an operation of INC's is under way, a generalized
 * request (pmpi_request.c) stands for it in each function of MPI that waits or tests; of one that
 * is not started, it is MPI_REQUEST_NULL, which is the same to MPI as an inactive request.
 *
 * Fortran of Open MPI and mpi_f08 of MPICH call functions PMPI_*: these are here too, as they may
 * get requests that have been made from C.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "pmpi_call.h"

#define NR_BUCKETS	64
#define FEW		8	/* requests of a call that need no memory */

static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static struct pmpi_kept *buckets[NR_BUCKETS];
static atomic_uint nr_kept;

/* The MPI's own function, behind ours of the same name. */
#define NEXT(name)								\
({										\
	static __typeof__(PMPI_##name) *next_;					\
										\
	if (!next_)								\
		next_ = (__typeof__(next_))dlsym(RTLD_NEXT, "PMPI_" #name);	\
	next_;									\
})

/* ---- By the MPI's request -------------------------------------------------- */

static struct pmpi_kept **bucket_of(MPI_Request request)
{
	uintptr_t key = (uintptr_t)request;

	return &buckets[(key ^ key >> 6 ^ key >> 12) % NR_BUCKETS];
}

void pmpi_active_add(struct pmpi_kept *k, MPI_Request request)
{
	struct pmpi_kept **at = bucket_of(request);

	pthread_mutex_lock(&kept_lock);
	k->request = request;
	k->next = *at;
	*at = k;
	atomic_fetch_add(&nr_kept, 1);
	pthread_mutex_unlock(&kept_lock);
}

static bool has_kept(void)
{
	return atomic_load_explicit(&nr_kept, memory_order_acquire);
}

/* With the lock. */
static struct pmpi_kept **find_kept(MPI_Request request)
{
	struct pmpi_kept **at = bucket_of(request);

	while (*at && (*at)->request != request)
		at = &(*at)->next;
	return at;
}

/* NULL: it is no request of ours. */
static struct pmpi_kept *kept_of(MPI_Request request)
{
	struct pmpi_kept *k;

	if (!has_kept() || request == MPI_REQUEST_NULL)
		return NULL;
	pthread_mutex_lock(&kept_lock);
	k = *find_kept(request);
	pthread_mutex_unlock(&kept_lock);
	return k;
}

static struct pmpi_kept *take_kept(MPI_Request request)
{
	struct pmpi_kept **at, *k;

	if (!has_kept() || request == MPI_REQUEST_NULL)
		return NULL;
	pthread_mutex_lock(&kept_lock);
	at = find_kept(request);
	k = *at;
	if (k) {
		*at = k->next;
		atomic_fetch_sub(&nr_kept, 1);
	}
	pthread_mutex_unlock(&kept_lock);
	return k;
}

void pmpi_active_exit(void)
{
	struct pmpi_kept *k;

	pthread_mutex_lock(&kept_lock);
	for (int i = 0; i < NR_BUCKETS; i++) {
		while ((k = buckets[i])) {
			buckets[i] = k->next;
			pmpi_kept_release(k);
		}
	}
	atomic_store(&nr_kept, 0);
	pthread_mutex_unlock(&kept_lock);
}

/* ---- Start and end --------------------------------------------------------- */

static int raise_in(struct pmpi_comm *c, int code)
{
	if (!c->freed)
		PMPI_Comm_call_errhandler(c->comm, code);
	return code;
}

static int start_kept(struct pmpi_kept *k)
{
	if (k->active != MPI_REQUEST_NULL)
		return raise_in(k->call.c, MPI_ERR_REQUEST);
	return pmpi_request_start_kept(k, &k->active);
}

int PMPI_Start(MPI_Request *request)
{
	struct pmpi_kept *k = request ? kept_of(*request) : NULL;

	return k ? start_kept(k) : NEXT(Start)(request);
}

static bool any_kept(int n, const MPI_Request requests[])
{
	if (!has_kept() || !requests)
		return false;
	for (int i = 0; i < n; i++)
		if (kept_of(requests[i]))
			return true;
	return false;
}

/* MPI allows any order. */
int PMPI_Startall(int n, MPI_Request requests[])
{
	int ret = MPI_SUCCESS;

	if (!any_kept(n, requests))
		return NEXT(Startall)(n, requests);
	for (int i = 0; i < n && ret == MPI_SUCCESS; i++)
		ret = PMPI_Start(&requests[i]);
	return ret;
}

/* What is under way goes on to its end. */
int PMPI_Request_free(MPI_Request *request)
{
	struct pmpi_kept *k = request ? take_kept(*request) : NULL;
	int ret;

	ret = NEXT(Request_free)(request);
	if (k && k->active != MPI_REQUEST_NULL)
		NEXT(Request_free)(&k->active);
	if (k)
		pmpi_kept_release(k);
	pmpi_requests_collect();
	return ret;
}

int PMPI_Cancel(MPI_Request *request)
{
	struct pmpi_kept *k = request ? kept_of(*request) : NULL;

	return NEXT(Cancel)(k && k->active != MPI_REQUEST_NULL ? &k->active : request);
}

/* MPICH looks at requests only in functions that wait or test, of which this is none. */
int PMPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
	struct pmpi_kept *k = kept_of(request);

	pmpi_watch_look();
	return NEXT(Request_get_status)(k ? k->active : request, flag, status);
}

/* ---- Waiting and testing ---------------------------------------------------- */

/* The program's requests, and those that the MPI gets instead of them. */
struct swapped {
	MPI_Request *program, *mpi;
	struct pmpi_kept **kept;	/* of those that are ours, else NULL */
	int n;
	MPI_Request few_requests[FEW];
	struct pmpi_kept *few_kept[FEW];
};

static bool swap_alloc(struct swapped *s)
{
	s->mpi = s->few_requests;
	s->kept = s->few_kept;
	if (s->n <= FEW)
		return true;
	s->mpi = malloc((size_t)s->n * sizeof(*s->mpi));
	s->kept = malloc((size_t)s->n * sizeof(struct pmpi_kept *));
	return s->mpi && s->kept;
}

static void swap_free(struct swapped *s)
{
	if (s->mpi != s->few_requests)
		free(s->mpi);
	if (s->kept != s->few_kept)
		free(s->kept);
}

/* False: no memory, which the error handler has been told. */
static bool swap_in(struct swapped *s, int n, MPI_Request requests[])
{
	s->program = requests;
	s->mpi = requests;
	s->kept = NULL;
	s->n = n;
	if (!any_kept(n, requests))
		return true;
	if (!swap_alloc(s)) {
		swap_free(s);
		PMPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
		return false;
	}
	for (int i = 0; i < n; i++) {
		s->kept[i] = kept_of(requests[i]);
		s->mpi[i] = s->kept[i] ? s->kept[i]->active : requests[i];
	}
	return true;
}

static int swap_out(struct swapped *s, int ret)
{
	pmpi_requests_collect();
	if (!s->kept)
		return ret;
	for (int i = 0; i < s->n; i++) {
		if (s->kept[i])
			s->kept[i]->active = s->mpi[i];
		else
			s->program[i] = s->mpi[i];
	}
	swap_free(s);
	return ret;
}

int PMPI_Wait(MPI_Request *request, MPI_Status *status)
{
	struct swapped s;

	return swap_in(&s, 1, request) ? swap_out(&s, NEXT(Wait)(s.mpi, status)) : MPI_ERR_NO_MEM;
}

int PMPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	struct swapped s;

	return swap_in(&s, 1, request) ?
	       swap_out(&s, NEXT(Test)(s.mpi, flag, status)) : MPI_ERR_NO_MEM;
}

int PMPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[])
{
	struct swapped s;

	return swap_in(&s, n, requests) ?
	       swap_out(&s, NEXT(Waitall)(n, s.mpi, statuses)) : MPI_ERR_NO_MEM;
}

int PMPI_Testall(int n, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
	struct swapped s;

	return swap_in(&s, n, requests) ?
	       swap_out(&s, NEXT(Testall)(n, s.mpi, flag, statuses)) : MPI_ERR_NO_MEM;
}

int PMPI_Waitany(int n, MPI_Request requests[], int *index, MPI_Status *status)
{
	struct swapped s;

	return swap_in(&s, n, requests) ?
	       swap_out(&s, NEXT(Waitany)(n, s.mpi, index, status)) : MPI_ERR_NO_MEM;
}

int PMPI_Testany(int n, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
	struct swapped s;

	return swap_in(&s, n, requests) ?
	       swap_out(&s, NEXT(Testany)(n, s.mpi, index, flag, status)) : MPI_ERR_NO_MEM;
}

int PMPI_Waitsome(int n, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[])
{
	struct swapped s;

	return swap_in(&s, n, requests) ?
	       swap_out(&s, NEXT(Waitsome)(n, s.mpi, done, indices, statuses)) : MPI_ERR_NO_MEM;
}

int PMPI_Testsome(int n, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[])
{
	struct swapped s;

	return swap_in(&s, n, requests) ?
	       swap_out(&s, NEXT(Testsome)(n, s.mpi, done, indices, statuses)) : MPI_ERR_NO_MEM;
}

/* ---- The same by their other names ------------------------------------------ */

int MPI_Start(MPI_Request *request)
{
	return PMPI_Start(request);
}

int MPI_Startall(int n, MPI_Request requests[])
{
	return PMPI_Startall(n, requests);
}

int MPI_Request_free(MPI_Request *request)
{
	return PMPI_Request_free(request);
}

int MPI_Cancel(MPI_Request *request)
{
	return PMPI_Cancel(request);
}

int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
	return PMPI_Request_get_status(request, flag, status);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
	return PMPI_Wait(request, status);
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	return PMPI_Test(request, flag, status);
}

int MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[])
{
	return PMPI_Waitall(n, requests, statuses);
}

int MPI_Testall(int n, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
	return PMPI_Testall(n, requests, flag, statuses);
}

int MPI_Waitany(int n, MPI_Request requests[], int *index, MPI_Status *status)
{
	return PMPI_Waitany(n, requests, index, status);
}

int MPI_Testany(int n, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
	return PMPI_Testany(n, requests, index, flag, status);
}

int MPI_Waitsome(int n, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[])
{
	return PMPI_Waitsome(n, requests, done, indices, statuses);
}

int MPI_Testsome(int n, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[])
{
	return PMPI_Testsome(n, requests, done, indices, statuses);
}
