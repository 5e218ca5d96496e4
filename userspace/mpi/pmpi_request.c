// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Requests of non-blocking calls: generalized requests, that the MPI's own MPI_Wait(), MPI_Test()
 * and their like complete. What looks after them is called by the MPI: by the progress engine of
 * Open MPI (opal_progress_register()), and by what waits or tests in MPICH (MPIX_Grequest_start()).
 * So it does not matter who waits. The kernel needs neither: it goes on by itself.
 *
 * With MPI_THREAD_MULTIPLE, MPICH has released its lock while it calls that (4.0), but not while it
 * frees a request: what is freed is put into a list, and goes when MPICH's function has returned.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "pmpi_call.h"

/* What of a request's end has come: each is set once, by any thread; the later one frees it. */
enum {
	COMPLETE = 1,		/* MPI has been told */
	GONE = 2,		/* the program has waited for it, or freed it before it had ended */
};

struct pmpi_request {
	struct pmpi_watch watch;	/* first */
	struct pmpi_kept *kept;	/* the persistent call that it is a start of, or NULL */
	MPI_Request request;
	atomic_uint state;
	struct pmpi_request *next_gone;
	bool raised;
	int code;		/* of its failure */
	char text[MPI_MAX_ERROR_STRING];
};

static int query_request(void *extra, MPI_Status *status)
{
	struct pmpi_request *r = extra;
	int ret = incmpi_test(r->watch.op);

	PMPI_Status_set_elements(status, MPI_BYTE, 0);
	PMPI_Status_set_cancelled(status, 0);
	status->MPI_SOURCE = MPI_UNDEFINED;
	status->MPI_TAG = MPI_UNDEFINED;
	if (!ret)
		return MPI_SUCCESS;
	if (!r->raised)
		r->code = pmpi_raise(r->watch.c, ret, r->text);
	r->raised = true;
	return r->code;
}

static void request_gone(struct pmpi_request *r)
{
	incmpi_op_free(r->watch.op);
	if (r->kept)
		pmpi_kept_release(r->kept);
	pmpi_comm_release(r->watch.c);
	free(r);
}

/* Those that are to be freed where no lock of MPICH is held; pushed and taken without one. */
static struct pmpi_request *_Atomic all_gone;

void pmpi_requests_collect(void)
{
	struct pmpi_request *r, *next;

	if (!atomic_load_explicit(&all_gone, memory_order_relaxed))
		return;
	for (r = atomic_exchange(&all_gone, NULL); r; r = next) {
		next = r->next_gone;
		request_gone(r);
	}
}

#ifdef MPICH_NAME
#define CANNOT_CANCEL	MPI_ERR_INTERN
#else
#define CANNOT_CANCEL	MPI_ERR_REQUEST
#endif

/* MPI does not allow it for collectives, and this is what it says of its own. */
static int cancel_request(void *extra, int complete)
{
	(void)extra;
	(void)complete;
	return CANNOT_CANCEL;
}

/*
 * MPI forbids MPI_Request_free() for collectives, but MPICH calls this then, in the midst of the
 * operation: it goes on to its end, as with other requests. MPICH has its lock, which functions
 * that free a datatype or communicator take.
 */
static int free_request(void *extra)
{
	struct pmpi_request *r = extra;

	if (!(atomic_fetch_or(&r->state, GONE) & COMPLETE))
		return MPI_SUCCESS;
	r->next_gone = atomic_load(&all_gone);
	while (!atomic_compare_exchange_weak(&all_gone, &r->next_gone, r))
		;
	return MPI_SUCCESS;
}

/* The text is of this thread, so it is kept. */
static void request_ended(struct pmpi_watch *w, int ret)
{
	struct pmpi_request *r = (struct pmpi_request *)w;
	MPI_Request request = r->request;

	if (ret)
		snprintf(r->text, sizeof(r->text), "%s", incmpi_errmsg());
	/* from here on @r may be freed by another thread */
	if (atomic_fetch_or(&r->state, COMPLETE) & GONE)
		request_gone(r);
	else
		PMPI_Grequest_complete(request);
}

#ifdef MPICH_NAME

/*
 * MPI_Wait() calls nothing but this, again and again: what other ranks wait for before they enter
 * the collective has to go on meanwhile.
 */
static int poll_request(void *extra, MPI_Status *status)
{
	(void)extra;
	(void)status;
	pmpi_skin.progress();
	return MPI_SUCCESS;
}

static bool is_complete(struct pmpi_request *r)
{
	return atomic_load(&r->state) & COMPLETE;
}

/* MPICH calls it with what it waits for, and expects all of it to be complete then. */
static int wait_requests(int n, void **extras, double timeout, MPI_Status *status)
{
	(void)timeout;
	(void)status;
	for (int i = 0; i < n; i++) {
		struct pmpi_request *r = extras[i];

		for (pmpi_watch_look(); !is_complete(r); pmpi_watch_look()) {
			pmpi_skin.progress();
			incmpi_pause(r->watch.op);
		}
	}
	return MPI_SUCCESS;
}

bool pmpi_requests_init(void)
{
	return true;
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
	return progress_register && progress_unregister && !progress_register(pmpi_watch_look);
}

void pmpi_requests_exit(void)
{
	if (progress_unregister)
		progress_unregister(pmpi_watch_look);
}

static int request_new(struct pmpi_request *r)
{
	return PMPI_Grequest_start(query_request, free_request, cancel_request, r, &r->request);
}

#endif

static int start_request(struct pmpi_comm *c, struct incmpi_comm *group,
			 const struct incmpi_call *call, struct pmpi_kept *kept,
			 MPI_Request *request)
{
	struct pmpi_request *r = calloc(1, sizeof(*r));
	int ret;

	if (!r) {
		incmpi_comm_break(group, "no memory for a request");
		return pmpi_fail(c, -ENOMEM, "no memory for a request");
	}
	ret = incmpi_start(group, call, &r->watch.op);
	if (ret) {
		free(r);
		return pmpi_fail(c, ret, incmpi_errmsg());
	}
	r->watch.ended = request_ended;
	r->watch.c = c;
	r->watch.looked = kept ? &kept->looked : &c->looked;
	r->kept = kept;
	pmpi_comm_hold(c);
	if (kept)
		pmpi_kept_hold(kept);
	ret = request_new(r);
	if (ret != MPI_SUCCESS) {
		/* The operation goes on in buffers of the program: to its end. */
		while (incmpi_test(r->watch.op) == -EAGAIN)
			pmpi_skin.progress();
		request_gone(r);
		return ret;
	}
	*request = r->request;
	pmpi_watch(&r->watch);
	return MPI_SUCCESS;
}

int pmpi_request_start(struct pmpi_comm *c, const struct incmpi_call *call, MPI_Request *request)
{
	return start_request(c, c->mid, call, NULL, request);
}

int pmpi_request_start_kept(struct pmpi_kept *k, MPI_Request *request)
{
	return start_request(k->call.c, k->group, &k->call.mid, k, request);
}
