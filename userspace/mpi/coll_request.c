// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Requests of the component's non-blocking and persistent collectives. Open MPI keeps datatypes and
 * reductions in the requests that it gets from a component (ompi_coll_base_retain_op() and the
 * like), so they are of its class for that, not generalized requests. The header of that class
 * needs others that libopenmpi-dev does not have; its size, which is another one in other versions,
 * is in the class.
 */
#include <errno.h>

#include "coll.h"
#include "pmpi_call.h"

#include <ompi/constants.h>
#include <ompi/request/request.h>
#include <opal/runtime/opal_progress.h>

/* What is ours lies behind what is Open MPI's. */
struct coll_request {
	struct pmpi_watch watch;	/* first */
	ompi_request_t *request;
	struct pmpi_kept *kept;		/* of a persistent call, else NULL */
	unsigned int refs;		/* of that: the program, and the operation under way */
};

static opal_class_t request_class = {
	.cls_name = "inc_coll_request",
	.cls_parent = &ompi_coll_base_nbc_request_t_class,
};

static size_t size_of_theirs(void)
{
	size_t align = _Alignof(struct coll_request);

	return (request_class.cls_parent->cls_sizeof + align - 1) / align * align;
}

static struct coll_request *request_of(ompi_request_t *request)
{
	return (struct coll_request *)((char *)request + size_of_theirs());
}

/*
 * Open MPI calls it when somebody has seen the end; MPI_Request_free() is not for collectives. Of a
 * request that has failed, Open MPI calls the error handler of MPI_COMM_WORLD, and only after this:
 * that of the communicator is called here.
 */
static int free_request(ompi_request_t **request)
{
	struct coll_request *r = request_of(*request);
	ompi_request_t *object = *request;
	struct ompi_communicator_t *comm = r->watch.c->comm;
	int code = object->req_status.MPI_ERROR;

	if (!REQUEST_COMPLETE(*request))
		return MPI_ERR_REQUEST;
	if (code != MPI_SUCCESS)
		PMPI_Comm_call_errhandler(comm, code);
	OMPI_REQUEST_FINI(object);
	*request = MPI_REQUEST_NULL;
	incmpi_op_free(r->watch.op);
	OBJ_RELEASE(object);
	OBJ_RELEASE(comm);
	return OMPI_SUCCESS;
}

static int cancel_request(ompi_request_t *request, int flag)
{
	(void)request;
	(void)flag;
	return MPI_ERR_REQUEST;
}

/* Who waits gets the code. */
static void request_ended(struct pmpi_watch *w, int ret)
{
	struct coll_request *r = (struct coll_request *)w;
	ompi_request_t *request = r->request;

	request->req_status.MPI_ERROR = ret ? pmpi_fail(w->c, ret, incmpi_errmsg()) : MPI_SUCCESS;
	ompi_request_complete(request, true);
}

static struct coll_request *request_new(struct pmpi_comm *c, bool persistent)
{
	ompi_request_t *request = (ompi_request_t *)opal_obj_new(&request_class);
	struct coll_request *r;

	if (!request)
		return NULL;
	OMPI_REQUEST_INIT(request, persistent);
	request->req_type = OMPI_REQUEST_COLL;
	if (!persistent)
		request->req_state = OMPI_REQUEST_ACTIVE;
	request->req_status = ompi_status_empty;
	request->req_free = free_request;
	request->req_cancel = cancel_request;
	request->req_mpi_object.comm = c->comm;
	r = request_of(request);
	r->watch.ended = request_ended;
	r->watch.c = c;
	r->watch.looked = &c->looked;
	r->request = request;
	r->kept = NULL;
	return r;
}

int pmpi_request_start(struct pmpi_comm *c, const struct incmpi_call *call, MPI_Request *request)
{
	struct coll_request *r = request_new(c, false);
	int ret;

	*request = MPI_REQUEST_NULL;
	if (!r) {
		incmpi_comm_break(c->mid, "no memory for a request");
		return pmpi_fail(c, -ENOMEM, "no memory for a request");
	}
	ret = incmpi_start(c->mid, call, &r->watch.op);
	if (ret) {
		OBJ_RELEASE(r->request);
		return pmpi_fail(c, ret, incmpi_errmsg());
	}
	/* A communicator that is freed stays until its requests have ended. */
	OBJ_RETAIN(c->comm);
	*request = r->request;
	pmpi_watch(&r->watch);
	return MPI_SUCCESS;
}

/* ---- Persistent calls ------------------------------------------------------ */

static void put_kept(struct coll_request *r)
{
	struct ompi_communicator_t *comm = r->watch.c->comm;
	ompi_request_t *object = r->request;

	if (__atomic_fetch_sub(&r->refs, 1, __ATOMIC_ACQ_REL) != 1)
		return;
	OMPI_REQUEST_FINI(object);
	pmpi_kept_release(r->kept);
	OBJ_RELEASE(object);
	OBJ_RELEASE(comm);
}

/*
 * By MPI_Request_free(), after which an operation that is under way goes on to its end; or by Open
 * MPI, of a request that has failed, and before it calls the error handler of MPI_COMM_WORLD.
 */
static int free_kept(ompi_request_t **request)
{
	struct coll_request *r = request_of(*request);
	int code = (*request)->req_status.MPI_ERROR;

	if (REQUEST_COMPLETE(*request) && code != MPI_SUCCESS)
		PMPI_Comm_call_errhandler(r->watch.c->comm, code);
	*request = MPI_REQUEST_NULL;
	put_kept(r);
	return OMPI_SUCCESS;
}

/* From when it is complete, another thread may start it again. */
static void kept_ended(struct pmpi_watch *w, int ret)
{
	struct coll_request *r = (struct coll_request *)w;
	ompi_request_t *request = r->request;

	request->req_status.MPI_ERROR = ret ? pmpi_fail(w->c, ret, incmpi_errmsg()) : MPI_SUCCESS;
	incmpi_op_free(w->op);
	ompi_request_complete(request, true);
	put_kept(r);
}

static int start_kept(ompi_request_t *request)
{
	struct coll_request *r = request_of(request);
	struct pmpi_comm *c = r->watch.c;
	int code = MPI_ERR_REQUEST, ret = 0;

	if (request->req_state == OMPI_REQUEST_INACTIVE) {
		ret = incmpi_start(r->kept->group, &r->kept->call.mid, &r->watch.op);
		code = ret ? pmpi_fail(c, ret, incmpi_errmsg()) : MPI_SUCCESS;
	}
	if (code != MPI_SUCCESS) {
		PMPI_Comm_call_errhandler(c->comm, code);
		return code;
	}
	request->req_status = ompi_status_empty;
	request->req_complete = REQUEST_PENDING;
	request->req_state = OMPI_REQUEST_ACTIVE;
	__atomic_fetch_add(&r->refs, 1, __ATOMIC_RELAXED);
	pmpi_watch(&r->watch);
	return MPI_SUCCESS;
}

static int start_all_kept(size_t n, ompi_request_t **requests)
{
	int ret = MPI_SUCCESS;

	for (size_t i = 0; i < n && ret == MPI_SUCCESS; i++)
		ret = start_kept(requests[i]);
	return ret;
}

int coll_request_keep(struct pmpi_kept *k, MPI_Request *request)
{
	struct pmpi_comm *c = k->call.c;
	struct coll_request *r = request_new(c, true);

	*request = MPI_REQUEST_NULL;
	if (!r) {
		incmpi_comm_break(k->group, "no memory for a request");
		pmpi_kept_release(k);
		return pmpi_fail(c, -ENOMEM, "no memory for a request");
	}
	r->request->req_start = start_all_kept;
	r->request->req_free = free_kept;
	r->watch.ended = kept_ended;
	r->watch.looked = &k->looked;
	r->kept = k;
	r->refs = 1;
	OBJ_RETAIN(c->comm);
	*request = r->request;
	return MPI_SUCCESS;
}

/* ---- All of them ------------------------------------------------------------- */

bool pmpi_requests_init(void)
{
	request_class.cls_sizeof = size_of_theirs() + sizeof(struct coll_request);
	return !opal_progress_register(pmpi_watch_look);
}

void pmpi_requests_exit(void)
{
	opal_progress_unregister(pmpi_watch_look);
}
