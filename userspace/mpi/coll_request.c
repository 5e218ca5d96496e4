// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Requests of the component's non-blocking collectives. Open MPI keeps datatypes and reductions in
 * the requests that it gets from a component (ompi_coll_base_retain_op() and the like), so they are
 * of its class for that, not generalized requests. The header of that class needs others that
 * libopenmpi-dev does not have; its size, which is another one in other versions, is in the class.
 */
#include <errno.h>

#include "coll.h"

#include <ompi/constants.h>
#include <ompi/request/request.h>
#include <opal/runtime/opal_progress.h>

/* What is ours lies behind what is Open MPI's. */
struct coll_request {
	struct pmpi_watch watch;	/* first */
	ompi_request_t *request;
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

static struct coll_request *request_new(struct pmpi_comm *c)
{
	ompi_request_t *request = (ompi_request_t *)opal_obj_new(&request_class);
	struct coll_request *r;

	if (!request)
		return NULL;
	OMPI_REQUEST_INIT(request, false);
	request->req_type = OMPI_REQUEST_COLL;
	request->req_state = OMPI_REQUEST_ACTIVE;
	request->req_status = ompi_status_empty;
	request->req_free = free_request;
	request->req_cancel = cancel_request;
	request->req_mpi_object.comm = c->comm;
	r = request_of(request);
	r->watch.ended = request_ended;
	r->watch.c = c;
	r->request = request;
	return r;
}

int pmpi_request_start(struct pmpi_comm *c, const struct incmpi_call *call, MPI_Request *request)
{
	struct coll_request *r = request_new(c);
	int ret;

	*request = MPI_REQUEST_NULL;
	if (!r) {
		incmpi_comm_break(c->mid);
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

bool pmpi_requests_init(void)
{
	request_class.cls_sizeof = size_of_theirs() + sizeof(struct coll_request);
	return !opal_progress_register(pmpi_watch_look);
}

void pmpi_requests_exit(void)
{
	opal_progress_unregister(pmpi_watch_look);
}
