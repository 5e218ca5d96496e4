// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Requests of non-blocking calls: generalized requests, that the MPI's own MPI_Wait(), MPI_Test()
 * and their like complete. What looks after them is called by the MPI: by the progress engine of
 * Open MPI (opal_progress_register()), and by what waits or tests in MPICH (MPIX_Grequest_start()).
 * So it does not matter who waits. The kernel needs neither: it goes on by itself.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "pmpi.h"

struct pmpi_request {
	struct pmpi_comm *c;
	struct incmpi_op *op;
	MPI_Request request;
	bool complete;		/* MPI has been told */
	bool orphan;		/* the program has freed it before it had ended */
	bool raised;
	int code;		/* of its failure */
	char text[MPI_MAX_ERROR_STRING];
	struct pmpi_request *next;
};

static int query_request(void *extra, MPI_Status *status)
{
	struct pmpi_request *r = extra;
	int ret = incmpi_test(r->op);

	PMPI_Status_set_elements(status, MPI_BYTE, 0);
	PMPI_Status_set_cancelled(status, 0);
	status->MPI_SOURCE = MPI_UNDEFINED;
	status->MPI_TAG = MPI_UNDEFINED;
	if (!ret)
		return MPI_SUCCESS;
	if (!r->raised)
		r->code = pmpi_raise(r->c, ret, r->text);
	r->raised = true;
	return r->code;
}

static void request_gone(struct pmpi_request *r)
{
	incmpi_op_free(r->op);
	pmpi_comm_release(r->c);
	free(r);
}

/* MPI does not allow it for collectives. */
static int cancel_request(void *extra, int complete)
{
	(void)extra;
	(void)complete;
	return MPI_SUCCESS;
}

/* Whether it has ended; the text is of this thread, so it is kept. */
static bool has_ended(struct pmpi_request *r)
{
	int ret;

	if (r->complete)
		return true;
	ret = incmpi_test(r->op);
	if (ret == -EAGAIN)
		return false;
	if (ret)
		snprintf(r->text, sizeof(r->text), "%s", incmpi_errmsg());
	r->complete = true;
	return true;
}

static pthread_mutex_t watched_lock = PTHREAD_MUTEX_INITIALIZER;
static struct pmpi_request *watched;
static _Atomic unsigned int nr_watched;

/*
 * MPI forbids MPI_Request_free() for collectives, but MPICH calls this then, in the midst of the
 * operation: it goes on to its end, as with other requests.
 */
static int free_request(void *extra)
{
	struct pmpi_request *r = extra;

	if (r->complete)
		request_gone(r);
	else
		r->orphan = true;
	return MPI_SUCCESS;
}

/* Returns how many have ended. */
static int look_at_requests(void)
{
	struct pmpi_request **at, *r;
	int ended = 0;

	if (!atomic_load_explicit(&nr_watched, memory_order_acquire) ||
	    pthread_mutex_trylock(&watched_lock))
		return 0;
	at = &watched;
	while ((r = *at)) {
		if (!has_ended(r)) {
			at = &r->next;
			continue;
		}
		*at = r->next;
		atomic_fetch_sub(&nr_watched, 1);
		ended++;
		/* from here on @r may be freed by another thread */
		if (r->orphan)
			request_gone(r);
		else
			PMPI_Grequest_complete(r->request);
	}
	pthread_mutex_unlock(&watched_lock);
	return ended;
}

void pmpi_requests_look(void)
{
	look_at_requests();
}

static void watch_request(struct pmpi_request *r)
{
	pthread_mutex_lock(&watched_lock);
	r->next = watched;
	watched = r;
	atomic_fetch_add(&nr_watched, 1);
	pthread_mutex_unlock(&watched_lock);
}

/* MPICH looks at requests only in functions that wait or test, of which this is none. */
int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
	look_at_requests();
	return PMPI_Request_get_status(request, flag, status);
}

#ifdef MPICH_NAME

static int poll_request(void *extra, MPI_Status *status)
{
	(void)extra;
	(void)status;
	look_at_requests();
	return MPI_SUCCESS;
}

/* MPICH calls it with what it waits for, and expects all of it to be complete then. */
static int wait_requests(int n, void **extras, double timeout, MPI_Status *status)
{
	(void)timeout;
	(void)status;
	for (int i = 0; i < n; i++) {
		struct pmpi_request *r = extras[i];

		for (look_at_requests(); !r->complete; look_at_requests()) {
			pmpi_skin.progress();
			incmpi_pause(r->op);
		}
	}
	return MPI_SUCCESS;
}

/* What waits holds locks of MPICH: another thread could not do what other ranks wait for. */
bool pmpi_requests_init(void)
{
	int level;

	return !PMPI_Query_thread(&level) && level < MPI_THREAD_MULTIPLE;
}

void pmpi_requests_exit(void)
{
}

static int request_new(struct pmpi_request *r)
{
	return PMPIX_Grequest_start(query_request, free_request, cancel_request, poll_request,
				    wait_requests, r, &r->request);
}

#else

/* Open MPI's progress engine, not part of its interface but used by what is loaded into it. */
static int (*progress_register)(int (*callback)(void));
static int (*progress_unregister)(int (*callback)(void));

bool pmpi_requests_init(void)
{
	*(void **)&progress_register = dlsym(RTLD_DEFAULT, "opal_progress_register");
	*(void **)&progress_unregister = dlsym(RTLD_DEFAULT, "opal_progress_unregister");
	return progress_register && progress_unregister && !progress_register(look_at_requests);
}

void pmpi_requests_exit(void)
{
	if (progress_unregister)
		progress_unregister(look_at_requests);
}

static int request_new(struct pmpi_request *r)
{
	return PMPI_Grequest_start(query_request, free_request, cancel_request, r, &r->request);
}

#endif

int pmpi_request_start(struct pmpi_comm *c, const struct incmpi_call *call, MPI_Request *request)
{
	struct pmpi_request *r = calloc(1, sizeof(*r));
	int ret;

	if (!r) {
		incmpi_comm_break(c->mid);
		return pmpi_raise(c, -ENOMEM, "no memory for a request");
	}
	ret = incmpi_start(c->mid, call, &r->op);
	if (ret) {
		free(r);
		return pmpi_raise(c, ret, incmpi_errmsg());
	}
	r->c = c;
	pmpi_comm_hold(c);
	ret = request_new(r);
	if (ret != MPI_SUCCESS) {
		/* The operation goes on in buffers of the program: to its end. */
		while (incmpi_test(r->op) == -EAGAIN)
			pmpi_skin.progress();
		request_gone(r);
		return ret;
	}
	*request = r->request;
	watch_request(r);
	return MPI_SUCCESS;
}
