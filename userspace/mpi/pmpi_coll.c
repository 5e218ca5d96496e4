// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The collectives. Each has a function that fills in a call from its arguments;
 * the blocking form and the non-blocking one, which gives a request, go on to the MPI's own if it
 * returns false. MPI_Ialltoallw() and persistent collectives are always the MPI's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pmpi.h"

struct call {
	struct pmpi_comm *c;
	struct incmpi_call mid;
	struct incmpi_type send_type, recv_type;
	MPI_Datatype send_handle, recv_handle;
	MPI_Request *request;
	int ret;
};

static bool enter(struct call *call, enum incmpi_fn fn, int root, MPI_Comm comm,
		  MPI_Request *request)
{
	call->c = pmpi_comm_find(comm);
	if (!call->c)
		return false;
	memset(&call->mid, 0, sizeof(call->mid));
	call->mid.fn = fn;
	call->mid.blocking = !request;
	call->mid.root = root;
	call->mid.send.valid = true;
	call->mid.recv.valid = true;
	call->request = request;
	if (!call->c->inter)
		return true;
	/* it is counted; its arrays have an entry for every rank of the other group */
	incmpi_decide(call->c->mid, &call->mid);
	return false;
}

static bool is_root(const struct call *call)
{
	return call->mid.root == call->c->rank;
}

static int nr_ranks(const struct call *call)
{
	return incmpi_comm_size(call->c->mid);
}

static bool has_buffer(const struct incmpi_side *side, bool data)
{
	return side->buf || !data || !side->types->size || !side->types->dense;
}

/* One share, or shares of one count. */
static void fill(struct incmpi_side *side, struct incmpi_type *type, MPI_Datatype *handle,
		 const void *buf, int count, MPI_Datatype of)
{
	side->buf = (void *)buf;
	side->count = count > 0 ? (uint64_t)count : 0;
	side->types = type;
	side->valid = pmpi_type_get(type, handle, of) && count >= 0 && has_buffer(side, count);
}

static void fill_shares(const struct call *call, struct incmpi_side *side, struct incmpi_type *type,
			MPI_Datatype *handle, const void *buf, const int counts[],
			const int displs[], MPI_Datatype of)
{
	bool data = false;

	side->buf = (void *)buf;
	side->types = type;
	side->counts = counts;
	side->displs = displs;
	side->valid = counts && pmpi_type_get(type, handle, of);
	for (int i = 0; side->valid && i < nr_ranks(call); i++) {
		data |= counts[i] > 0;
		side->valid = counts[i] >= 0;
	}
	side->valid = side->valid && has_buffer(side, data);
}

static void fill_send(struct call *call, const void *buf, int count, MPI_Datatype type)
{
	fill(&call->mid.send, &call->send_type, &call->send_handle, buf, count, type);
}

static void fill_recv(struct call *call, void *buf, int count, MPI_Datatype type)
{
	fill(&call->mid.recv, &call->recv_type, &call->recv_handle, buf, count, type);
}

static void fill_sendv(struct call *call, const void *buf, const int counts[], const int displs[],
		       MPI_Datatype type)
{
	fill_shares(call, &call->mid.send, &call->send_type, &call->send_handle, buf, counts,
		    displs, type);
}

static void fill_recvv(struct call *call, void *buf, const int counts[], const int displs[],
		       MPI_Datatype type)
{
	fill_shares(call, &call->mid.recv, &call->recv_type, &call->recv_handle, buf, counts,
		    displs, type);
}

static void in_place(struct incmpi_side *side, bool allowed)
{
	side->in_place = true;
	side->valid = allowed;
}

/* False: it is the MPI's. */
static bool take(struct call *call)
{
	int ret;

	if (incmpi_decide(call->c->mid, &call->mid))
		return false;
	if (call->request) {
		call->ret = pmpi_request_start(call->c, &call->mid, call->request);
		return true;
	}
	ret = incmpi_run(call->c->mid, &call->mid);
	if (ret == INCMPI_BY_MPI)
		return false;
	call->ret = ret ? pmpi_raise(call->c, ret, incmpi_errmsg()) : MPI_SUCCESS;
	return true;
}

/* ---- Barrier, broadcast ---------------------------------------------------- */

static bool do_barrier(struct call *call, MPI_Comm comm, MPI_Request *request)
{
	return enter(call, INCMPI_BARRIER, 0, comm, request) && take(call);
}

int MPI_Barrier(MPI_Comm comm)
{
	struct call call;

	return do_barrier(&call, comm, NULL) ? call.ret : PMPI_Barrier(comm);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
	struct call call;

	return do_barrier(&call, comm, request) ? call.ret : PMPI_Ibarrier(comm, request);
}

static bool do_bcast(struct call *call, void *buf, int count, MPI_Datatype type, int root,
		     MPI_Comm comm, MPI_Request *request)
{
	if (!enter(call, INCMPI_BCAST, root, comm, request))
		return false;
	fill_recv(call, buf, count, type);
	return take(call);
}

int MPI_Bcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
	struct call call;

	return do_bcast(&call, buf, count, type, root, comm, NULL) ?
	       call.ret : PMPI_Bcast(buf, count, type, root, comm);
}

int MPI_Ibcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm,
	       MPI_Request *request)
{
	struct call call;

	return do_bcast(&call, buf, count, type, root, comm, request) ?
	       call.ret : PMPI_Ibcast(buf, count, type, root, comm, request);
}

/* ---- Reductions ------------------------------------------------------------- */

/* Those where every rank gives and gets @count elements; of a reduce only the root gets them. */
static bool do_reduction(struct call *call, enum incmpi_fn fn, const void *send, void *recv,
			 int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
			 MPI_Request *request)
{
	bool gets;

	if (!enter(call, fn, root, comm, request))
		return false;
	gets = fn != INCMPI_REDUCE || is_root(call);
	call->mid.op = pmpi_op_get(op);
	fill_send(call, send, count, type);
	if (send == MPI_IN_PLACE)
		in_place(&call->mid.send, call->mid.send.valid && gets);
	fill_recv(call, recv, count, type);
	if (!gets)
		call->mid.recv.valid = call->mid.send.valid;
	return take(call);
}

int MPI_Allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
		  MPI_Comm comm)
{
	struct call call;

	return do_reduction(&call, INCMPI_ALLREDUCE, send, recv, count, type, op, 0, comm, NULL) ?
	       call.ret : PMPI_Allreduce(send, recv, count, type, op, comm);
}

int MPI_Iallreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
		   MPI_Comm comm, MPI_Request *request)
{
	struct call call;

	return do_reduction(&call, INCMPI_ALLREDUCE, send, recv, count, type, op, 0, comm,
			    request) ?
	       call.ret : PMPI_Iallreduce(send, recv, count, type, op, comm, request);
}

int MPI_Reduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, int root,
	       MPI_Comm comm)
{
	struct call call;

	return do_reduction(&call, INCMPI_REDUCE, send, recv, count, type, op, root, comm, NULL) ?
	       call.ret : PMPI_Reduce(send, recv, count, type, op, root, comm);
}

int MPI_Ireduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
		int root, MPI_Comm comm, MPI_Request *request)
{
	struct call call;

	return do_reduction(&call, INCMPI_REDUCE, send, recv, count, type, op, root, comm,
			    request) ?
	       call.ret : PMPI_Ireduce(send, recv, count, type, op, root, comm, request);
}

int MPI_Scan(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
	     MPI_Comm comm)
{
	struct call call;

	return do_reduction(&call, INCMPI_SCAN, send, recv, count, type, op, 0, comm, NULL) ?
	       call.ret : PMPI_Scan(send, recv, count, type, op, comm);
}

int MPI_Iscan(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
	      MPI_Comm comm, MPI_Request *request)
{
	struct call call;

	return do_reduction(&call, INCMPI_SCAN, send, recv, count, type, op, 0, comm, request) ?
	       call.ret : PMPI_Iscan(send, recv, count, type, op, comm, request);
}

int MPI_Exscan(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
	       MPI_Comm comm)
{
	struct call call;

	return do_reduction(&call, INCMPI_EXSCAN, send, recv, count, type, op, 0, comm, NULL) ?
	       call.ret : PMPI_Exscan(send, recv, count, type, op, comm);
}

int MPI_Iexscan(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
		MPI_Comm comm, MPI_Request *request)
{
	struct call call;

	return do_reduction(&call, INCMPI_EXSCAN, send, recv, count, type, op, 0, comm, request) ?
	       call.ret : PMPI_Iexscan(send, recv, count, type, op, comm, request);
}

static bool do_reduce_scatter(struct call *call, const void *send, void *recv, const int counts[],
			      MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
	if (!enter(call, INCMPI_REDUCE_SCATTER, 0, comm, request))
		return false;
	call->mid.op = pmpi_op_get(op);
	fill_sendv(call, send, counts, NULL, type);
	if (send == MPI_IN_PLACE)
		in_place(&call->mid.send, call->mid.send.valid);
	fill_recv(call, recv, counts ? counts[call->c->rank] : -1, type);
	return take(call);
}

int MPI_Reduce_scatter(const void *send, void *recv, const int counts[], MPI_Datatype type,
		       MPI_Op op, MPI_Comm comm)
{
	struct call call;

	return do_reduce_scatter(&call, send, recv, counts, type, op, comm, NULL) ?
	       call.ret : PMPI_Reduce_scatter(send, recv, counts, type, op, comm);
}

int MPI_Ireduce_scatter(const void *send, void *recv, const int counts[], MPI_Datatype type,
			MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
	struct call call;

	return do_reduce_scatter(&call, send, recv, counts, type, op, comm, request) ?
	       call.ret : PMPI_Ireduce_scatter(send, recv, counts, type, op, comm, request);
}

static bool do_reduce_scatter_block(struct call *call, const void *send, void *recv, int count,
				    MPI_Datatype type, MPI_Op op, MPI_Comm comm,
				    MPI_Request *request)
{
	if (!enter(call, INCMPI_REDUCE_SCATTER_BLOCK, 0, comm, request))
		return false;
	call->mid.op = pmpi_op_get(op);
	fill_send(call, send, count, type);
	if (send == MPI_IN_PLACE)
		in_place(&call->mid.send, call->mid.send.valid);
	fill_recv(call, recv, count, type);
	return take(call);
}

int MPI_Reduce_scatter_block(const void *send, void *recv, int count, MPI_Datatype type,
			     MPI_Op op, MPI_Comm comm)
{
	struct call call;

	return do_reduce_scatter_block(&call, send, recv, count, type, op, comm, NULL) ?
	       call.ret : PMPI_Reduce_scatter_block(send, recv, count, type, op, comm);
}

int MPI_Ireduce_scatter_block(const void *send, void *recv, int count, MPI_Datatype type,
			      MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
	struct call call;

	return do_reduce_scatter_block(&call, send, recv, count, type, op, comm, request) ?
	       call.ret : PMPI_Ireduce_scatter_block(send, recv, count, type, op, comm, request);
}

/* ---- Gather and scatter: the root's arguments for all shares count at the root only ---------- */

static bool do_gather(struct call *call, const void *send, int send_count, MPI_Datatype send_type,
		      void *recv, int recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm,
		      MPI_Request *request)
{
	if (!enter(call, INCMPI_GATHER, root, comm, request))
		return false;
	if (send == MPI_IN_PLACE)
		in_place(&call->mid.send, is_root(call));
	else
		fill_send(call, send, send_count, send_type);
	if (is_root(call))
		fill_recv(call, recv, recv_count, recv_type);
	return take(call);
}

int MPI_Gather(const void *send, int send_count, MPI_Datatype send_type, void *recv,
	       int recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm)
{
	struct call call;

	return do_gather(&call, send, send_count, send_type, recv, recv_count, recv_type, root,
			 comm, NULL) ?
	       call.ret : PMPI_Gather(send, send_count, send_type, recv, recv_count, recv_type,
				      root, comm);
}

int MPI_Igather(const void *send, int send_count, MPI_Datatype send_type, void *recv,
		int recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm,
		MPI_Request *request)
{
	struct call call;

	return do_gather(&call, send, send_count, send_type, recv, recv_count, recv_type, root,
			 comm, request) ?
	       call.ret : PMPI_Igather(send, send_count, send_type, recv, recv_count, recv_type,
				       root, comm, request);
}

static bool do_gatherv(struct call *call, const void *send, int send_count, MPI_Datatype send_type,
		       void *recv, const int counts[], const int displs[], MPI_Datatype recv_type,
		       int root, MPI_Comm comm, MPI_Request *request)
{
	if (!enter(call, INCMPI_GATHERV, root, comm, request))
		return false;
	if (send == MPI_IN_PLACE)
		in_place(&call->mid.send, is_root(call));
	else
		fill_send(call, send, send_count, send_type);
	if (is_root(call))
		fill_recvv(call, recv, counts, displs, recv_type);
	return take(call);
}

int MPI_Gatherv(const void *send, int send_count, MPI_Datatype send_type, void *recv,
		const int counts[], const int displs[], MPI_Datatype recv_type, int root,
		MPI_Comm comm)
{
	struct call call;

	return do_gatherv(&call, send, send_count, send_type, recv, counts, displs, recv_type,
			  root, comm, NULL) ?
	       call.ret : PMPI_Gatherv(send, send_count, send_type, recv, counts, displs,
				       recv_type, root, comm);
}

int MPI_Igatherv(const void *send, int send_count, MPI_Datatype send_type, void *recv,
		 const int counts[], const int displs[], MPI_Datatype recv_type, int root,
		 MPI_Comm comm, MPI_Request *request)
{
	struct call call;

	return do_gatherv(&call, send, send_count, send_type, recv, counts, displs, recv_type,
			  root, comm, request) ?
	       call.ret : PMPI_Igatherv(send, send_count, send_type, recv, counts, displs,
					recv_type, root, comm, request);
}

static bool do_scatter(struct call *call, const void *send, int send_count, MPI_Datatype send_type,
		       void *recv, int recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm,
		       MPI_Request *request)
{
	if (!enter(call, INCMPI_SCATTER, root, comm, request))
		return false;
	if (is_root(call))
		fill_send(call, send, send_count, send_type);
	if (recv == MPI_IN_PLACE)
		in_place(&call->mid.recv, is_root(call));
	else
		fill_recv(call, recv, recv_count, recv_type);
	return take(call);
}

int MPI_Scatter(const void *send, int send_count, MPI_Datatype send_type, void *recv,
		int recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm)
{
	struct call call;

	return do_scatter(&call, send, send_count, send_type, recv, recv_count, recv_type, root,
			  comm, NULL) ?
	       call.ret : PMPI_Scatter(send, send_count, send_type, recv, recv_count, recv_type,
				       root, comm);
}

int MPI_Iscatter(const void *send, int send_count, MPI_Datatype send_type, void *recv,
		 int recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm,
		 MPI_Request *request)
{
	struct call call;

	return do_scatter(&call, send, send_count, send_type, recv, recv_count, recv_type, root,
			  comm, request) ?
	       call.ret : PMPI_Iscatter(send, send_count, send_type, recv, recv_count, recv_type,
					root, comm, request);
}

static bool do_scatterv(struct call *call, const void *send, const int counts[],
			const int displs[], MPI_Datatype send_type, void *recv, int recv_count,
			MPI_Datatype recv_type, int root, MPI_Comm comm, MPI_Request *request)
{
	if (!enter(call, INCMPI_SCATTERV, root, comm, request))
		return false;
	if (is_root(call))
		fill_sendv(call, send, counts, displs, send_type);
	if (recv == MPI_IN_PLACE)
		in_place(&call->mid.recv, is_root(call));
	else
		fill_recv(call, recv, recv_count, recv_type);
	return take(call);
}

int MPI_Scatterv(const void *send, const int counts[], const int displs[],
		 MPI_Datatype send_type, void *recv, int recv_count, MPI_Datatype recv_type,
		 int root, MPI_Comm comm)
{
	struct call call;

	return do_scatterv(&call, send, counts, displs, send_type, recv, recv_count, recv_type,
			   root, comm, NULL) ?
	       call.ret : PMPI_Scatterv(send, counts, displs, send_type, recv, recv_count,
					recv_type, root, comm);
}

int MPI_Iscatterv(const void *send, const int counts[], const int displs[],
		  MPI_Datatype send_type, void *recv, int recv_count, MPI_Datatype recv_type,
		  int root, MPI_Comm comm, MPI_Request *request)
{
	struct call call;

	return do_scatterv(&call, send, counts, displs, send_type, recv, recv_count, recv_type,
			   root, comm, request) ?
	       call.ret : PMPI_Iscatterv(send, counts, displs, send_type, recv, recv_count,
					 recv_type, root, comm, request);
}

/* ---- Allgather and alltoall ---------------------------------------------------- */

static bool do_shares(struct call *call, enum incmpi_fn fn, const void *send, int send_count,
		      MPI_Datatype send_type, void *recv, int recv_count, MPI_Datatype recv_type,
		      MPI_Comm comm, MPI_Request *request)
{
	if (!enter(call, fn, 0, comm, request))
		return false;
	if (send == MPI_IN_PLACE)
		in_place(&call->mid.send, true);
	else
		fill_send(call, send, send_count, send_type);
	fill_recv(call, recv, recv_count, recv_type);
	return take(call);
}

int MPI_Allgather(const void *send, int send_count, MPI_Datatype send_type, void *recv,
		  int recv_count, MPI_Datatype recv_type, MPI_Comm comm)
{
	struct call call;

	return do_shares(&call, INCMPI_ALLGATHER, send, send_count, send_type, recv, recv_count,
			 recv_type, comm, NULL) ?
	       call.ret : PMPI_Allgather(send, send_count, send_type, recv, recv_count, recv_type,
					 comm);
}

int MPI_Iallgather(const void *send, int send_count, MPI_Datatype send_type, void *recv,
		   int recv_count, MPI_Datatype recv_type, MPI_Comm comm, MPI_Request *request)
{
	struct call call;

	return do_shares(&call, INCMPI_ALLGATHER, send, send_count, send_type, recv, recv_count,
			 recv_type, comm, request) ?
	       call.ret : PMPI_Iallgather(send, send_count, send_type, recv, recv_count, recv_type,
					  comm, request);
}

int MPI_Alltoall(const void *send, int send_count, MPI_Datatype send_type, void *recv,
		 int recv_count, MPI_Datatype recv_type, MPI_Comm comm)
{
	struct call call;

	return do_shares(&call, INCMPI_ALLTOALL, send, send_count, send_type, recv, recv_count,
			 recv_type, comm, NULL) ?
	       call.ret : PMPI_Alltoall(send, send_count, send_type, recv, recv_count, recv_type,
					comm);
}

int MPI_Ialltoall(const void *send, int send_count, MPI_Datatype send_type, void *recv,
		  int recv_count, MPI_Datatype recv_type, MPI_Comm comm, MPI_Request *request)
{
	struct call call;

	return do_shares(&call, INCMPI_ALLTOALL, send, send_count, send_type, recv, recv_count,
			 recv_type, comm, request) ?
	       call.ret : PMPI_Ialltoall(send, send_count, send_type, recv, recv_count, recv_type,
					 comm, request);
}

static bool do_allgatherv(struct call *call, const void *send, int send_count,
			  MPI_Datatype send_type, void *recv, const int counts[],
			  const int displs[], MPI_Datatype recv_type, MPI_Comm comm,
			  MPI_Request *request)
{
	if (!enter(call, INCMPI_ALLGATHERV, 0, comm, request))
		return false;
	if (send == MPI_IN_PLACE)
		in_place(&call->mid.send, true);
	else
		fill_send(call, send, send_count, send_type);
	fill_recvv(call, recv, counts, displs, recv_type);
	return take(call);
}

int MPI_Allgatherv(const void *send, int send_count, MPI_Datatype send_type, void *recv,
		   const int counts[], const int displs[], MPI_Datatype recv_type,
		   MPI_Comm comm)
{
	struct call call;

	return do_allgatherv(&call, send, send_count, send_type, recv, counts, displs, recv_type,
			     comm, NULL) ?
	       call.ret : PMPI_Allgatherv(send, send_count, send_type, recv, counts, displs,
					  recv_type, comm);
}

int MPI_Iallgatherv(const void *send, int send_count, MPI_Datatype send_type, void *recv,
		    const int counts[], const int displs[], MPI_Datatype recv_type,
		    MPI_Comm comm, MPI_Request *request)
{
	struct call call;

	return do_allgatherv(&call, send, send_count, send_type, recv, counts, displs, recv_type,
			     comm, request) ?
	       call.ret : PMPI_Iallgatherv(send, send_count, send_type, recv, counts, displs,
					   recv_type, comm, request);
}

static bool do_alltoallv(struct call *call, const void *send, const int send_counts[],
			 const int send_displs[], MPI_Datatype send_type, void *recv,
			 const int recv_counts[], const int recv_displs[], MPI_Datatype recv_type,
			 MPI_Comm comm, MPI_Request *request)
{
	if (!enter(call, INCMPI_ALLTOALLV, 0, comm, request))
		return false;
	if (send == MPI_IN_PLACE)
		in_place(&call->mid.send, true);
	else
		fill_sendv(call, send, send_counts, send_displs, send_type);
	fill_recvv(call, recv, recv_counts, recv_displs, recv_type);
	return take(call);
}

int MPI_Alltoallv(const void *send, const int send_counts[], const int send_displs[],
		  MPI_Datatype send_type, void *recv, const int recv_counts[],
		  const int recv_displs[], MPI_Datatype recv_type, MPI_Comm comm)
{
	struct call call;

	return do_alltoallv(&call, send, send_counts, send_displs, send_type, recv, recv_counts,
			    recv_displs, recv_type, comm, NULL) ?
	       call.ret : PMPI_Alltoallv(send, send_counts, send_displs, send_type, recv,
					 recv_counts, recv_displs, recv_type, comm);
}

int MPI_Ialltoallv(const void *send, const int send_counts[], const int send_displs[],
		   MPI_Datatype send_type, void *recv, const int recv_counts[],
		   const int recv_displs[], MPI_Datatype recv_type, MPI_Comm comm,
		   MPI_Request *request)
{
	struct call call;

	return do_alltoallv(&call, send, send_counts, send_displs, send_type, recv, recv_counts,
			    recv_displs, recv_type, comm, request) ?
	       call.ret : PMPI_Ialltoallv(send, send_counts, send_displs, send_type, recv,
					  recv_counts, recv_displs, recv_type, comm, request);
}

/* ---- Alltoallw: a type for every share ------------------------------------------ */

static void fill_typed(struct call *call, struct incmpi_side *side, struct incmpi_type *types,
		       MPI_Datatype *handles, const void *buf, const int counts[],
		       const int displs[], const MPI_Datatype of[])
{
	side->buf = (void *)buf;
	side->types = types;
	side->type_per_rank = true;
	side->counts = counts;
	side->displs = displs;
	side->valid = counts && displs && of;
	for (int i = 0; side->valid && i < nr_ranks(call); i++) {
		/* the type of a share without elements need not be one */
		if (counts[i])
			side->valid = counts[i] > 0 &&
				      pmpi_type_get(&types[i], &handles[i], of[i]) &&
				      (buf || !types[i].size || !types[i].dense);
	}
}

static bool do_alltoallw(struct call *call, const void *send, const int send_counts[],
			 const int send_displs[], const MPI_Datatype send_types[], void *recv,
			 const int recv_counts[], const int recv_displs[],
			 const MPI_Datatype recv_types[], MPI_Comm comm)
{
	struct incmpi_type *types;
	MPI_Datatype *handles;
	bool taken;
	size_t n;

	if (!enter(call, INCMPI_ALLTOALLW, 0, comm, NULL))
		return false;
	n = (size_t)nr_ranks(call);
	types = calloc(2 * n, sizeof(*types));
	handles = calloc(2 * n, sizeof(*handles));
	if (types && handles) {
		if (send == MPI_IN_PLACE)
			in_place(&call->mid.send, true);
		else
			fill_typed(call, &call->mid.send, types, handles, send, send_counts,
				   send_displs, send_types);
		fill_typed(call, &call->mid.recv, types + n, handles + n, recv, recv_counts,
			   recv_displs, recv_types);
		taken = take(call);
	} else {
		incmpi_comm_break(call->c->mid);
		call->ret = pmpi_raise(call->c, -ENOMEM, "alltoallw: no memory for its types");
		taken = true;
	}
	free(types);
	free(handles);
	return taken;
}

int MPI_Alltoallw(const void *send, const int send_counts[], const int send_displs[],
		  const MPI_Datatype send_types[], void *recv, const int recv_counts[],
		  const int recv_displs[], const MPI_Datatype recv_types[], MPI_Comm comm)
{
	struct call call;

	return do_alltoallw(&call, send, send_counts, send_displs, send_types, recv, recv_counts,
			    recv_displs, recv_types, comm) ?
	       call.ret : PMPI_Alltoallw(send, send_counts, send_displs, send_types, recv,
					 recv_counts, recv_displs, recv_types, comm);
}
