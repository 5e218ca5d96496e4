// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Collectives as MPI has them. Each has a function that fills in a call of the middle from its
 * arguments, and does or starts it; false: it is for the MPI's own implementation.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pmpi_call.h"

MPI_Request pmpi_persistent;

/* False: call->raised is what the caller is to return. */
static bool enter_call(struct pmpi_call *call, struct pmpi_comm *c, enum incmpi_fn fn, int root,
		       MPI_Request *request)
{
	call->raised = c && c->error;
	if (call->raised)
		call->ret = c->error;
	if (!c || call->raised)
		return false;
	call->c = c;
	memset(&call->mid, 0, sizeof(call->mid));
	call->mid.fn = fn;
	call->mid.blocking = !request;
	call->mid.persistent = request == &pmpi_persistent;
	call->no_memory = false;
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

/* The MPI refuses buffers that are one where they must be two. */
static bool looks_for_aliases;

void pmpi_look_for_aliases(bool does)
{
	looks_for_aliases = does;
}

static bool is_root(const struct pmpi_call *call)
{
	return call->mid.root == call->c->rank;
}

static int nr_ranks(const struct pmpi_call *call)
{
	return incmpi_comm_size(call->c->mid);
}

/*
 * Would a share at @buf be where nothing is? Open MPI takes every address. MPICH refuses NULL, but
 * for types whose elements lie elsewhere (MPI_BOTTOM).
 */
#ifdef MPICH_NAME
static bool is_nowhere(const void *buf, const struct incmpi_type *type, MPI_Datatype of)
{
	MPI_Aint begin, extent;

	return !buf && type->size &&
	       (PMPI_Type_get_true_extent(of, &begin, &extent) != MPI_SUCCESS || !begin);
}
#else
static bool is_nowhere(const void *buf, const struct incmpi_type *type, MPI_Datatype of)
{
	(void)buf;
	(void)type;
	(void)of;
	return false;
}
#endif

/* Of a share that has data. MPI_IN_PLACE, which is seen before where it is allowed, is none. */
static bool has_buffer(const struct incmpi_side *side, const struct incmpi_type *type,
		       MPI_Datatype of)
{
	return side->buf != MPI_IN_PLACE && !is_nowhere(side->buf, type, of);
}

/* The same of share @i: a displacement from MPI_BOTTOM is an address, and no more is known. */
static bool has_share(const struct incmpi_side *side, int i, const struct incmpi_type *type,
		      MPI_Datatype of)
{
	if (!side->buf && side->shares.displs && incmpi_displ_at(&side->shares, i))
		return true;
	return has_buffer(side, type, of);
}

/* One share, or shares of one count. */
static void fill_side(struct incmpi_side *side, struct incmpi_type *type, MPI_Datatype *handle,
		      const void *buf, MPI_Count count, MPI_Datatype of)
{
	side->buf = (void *)buf;
	side->count = count > 0 ? (uint64_t)count : 0;
	side->types = type;
	side->valid = pmpi_type_get(type, handle, of) && count >= 0 &&
		      (!count || has_buffer(side, type, of));
}

static void fill_shares(const struct pmpi_call *call, struct incmpi_side *side,
			struct incmpi_type *type, MPI_Datatype *handle, const void *buf,
			struct incmpi_shares shares, MPI_Datatype of)
{
	side->buf = (void *)buf;
	side->types = type;
	side->shares = shares;
	side->valid = shares.counts && pmpi_type_get(type, handle, of);
	for (int i = 0; side->valid && i < nr_ranks(call); i++) {
		int64_t count = incmpi_count_at(&shares, i);

		side->valid = count >= 0 && (!count || has_share(side, i, type, of));
	}
}

static void fill_send(struct pmpi_call *call, const void *buf, MPI_Count count, MPI_Datatype type)
{
	fill_side(&call->mid.send, &call->send_type, &call->send_handle, buf, count, type);
}

static void in_place(struct incmpi_side *side, bool allowed)
{
	side->in_place = true;
	side->valid = allowed;
}

/* What a reduction reduces; in place, it is in @recv, where that is @allowed. */
static void fill_operand(struct pmpi_call *call, const void *send, void *recv, MPI_Count count,
			 MPI_Datatype type, MPI_Op op, bool allowed)
{
	bool is_in_place = send == MPI_IN_PLACE;

	call->mid.op = pmpi_op_get(op);
	fill_send(call, is_in_place ? recv : send, count, type);
	if (is_in_place)
		in_place(&call->mid.send, call->mid.send.valid && allowed);
	if (op == MPI_OP_NULL)
		call->mid.send.valid = false;
}

static void fill_recv(struct pmpi_call *call, void *buf, MPI_Count count, MPI_Datatype type)
{
	fill_side(&call->mid.recv, &call->recv_type, &call->recv_handle, buf, count, type);
}

static void fill_sendv(struct pmpi_call *call, const void *buf, struct incmpi_shares shares,
		       MPI_Datatype type)
{
	fill_shares(call, &call->mid.send, &call->send_type, &call->send_handle, buf, shares, type);
	call->mid.send.valid = call->mid.send.valid && shares.displs;
}

static void fill_recvv(struct pmpi_call *call, void *buf, struct incmpi_shares shares,
		       MPI_Datatype type)
{
	fill_shares(call, &call->mid.recv, &call->recv_type, &call->recv_handle, buf, shares, type);
	call->mid.recv.valid = call->mid.recv.valid && shares.displs;
}

static bool is_one_buffer(const struct pmpi_call *call)
{
	return call->mid.send.buf == call->mid.recv.buf;
}

#ifdef MPICH_NAME

/* The rank's own share, at @own, is where it is among those of @all. */
static bool is_own_share(const struct pmpi_call *call, const struct incmpi_side *all,
			 const struct incmpi_side *own)
{
	const struct incmpi_shares *shares = &all->shares;
	int rank = call->c->rank;
	ptrdiff_t at;

	if (call->send_handle != call->recv_handle || !own->count)
		return false;
	if (shares->counts ? !incmpi_count_at(shares, rank) : all->count != own->count)
		return false;
	at = shares->displs ? incmpi_displ_at(shares, rank) : rank * (ptrdiff_t)all->count;
	return own->buf == (char *)all->buf + at * (ptrdiff_t)all->types->size;
}

static bool reduces_something(const struct pmpi_call *call)
{
	const struct incmpi_shares *shares = &call->mid.send.shares;

	for (int i = 0; shares->counts && i < nr_ranks(call); i++)
		if (incmpi_count_at(shares, i))
			return true;
	return !shares->counts && call->mid.recv.count;
}

/* As MPICH 4.0 has it. What it does not refuse must not be left to it by one rank alone. */
static bool is_aliased(const struct pmpi_call *call)
{
	const struct incmpi_side *send = &call->mid.send, *recv = &call->mid.recv;

	switch (call->mid.fn) {
	case INCMPI_BARRIER:
	case INCMPI_BCAST:
		return false;
	case INCMPI_GATHER:
	case INCMPI_GATHERV:
		return is_root(call) && is_own_share(call, recv, send);
	case INCMPI_SCATTER:
	case INCMPI_SCATTERV:
		return is_root(call) && is_own_share(call, send, recv);
	case INCMPI_ALLGATHER:
	case INCMPI_ALLGATHERV:
		return is_own_share(call, recv, send);
	case INCMPI_ALLTOALL:
	case INCMPI_ALLTOALLV:
		return call->send_handle == call->recv_handle && is_one_buffer(call) &&
		       send->shares.counts == recv->shares.counts && send->count == recv->count &&
		       (send->shares.counts || send->count);
	case INCMPI_ALLTOALLW:
		return is_one_buffer(call) && send->shares.counts == recv->shares.counts &&
		       call->one_type_array;
	case INCMPI_REDUCE:
		return is_root(call) && is_one_buffer(call) && recv->count;
	default:
		return is_one_buffer(call) && reduces_something(call);
	}
}

#else

static uint64_t own_bytes(const struct pmpi_call *call, const struct incmpi_side *side)
{
	const struct incmpi_type *type = side->types;

	if (side->type_per_rank)
		type += call->c->rank;
	return (side->shares.counts ? (uint64_t)incmpi_count_at(&side->shares, call->c->rank) :
				      side->count) * type->size;
}

/* As Open MPI 4.1 has it, which looks at a share that a rank sends itself as well. */
static bool is_aliased(const struct pmpi_call *call)
{
	const struct incmpi_side *send = &call->mid.send, *recv = &call->mid.recv;

	switch (call->mid.fn) {
	case INCMPI_ALLREDUCE:
		return is_one_buffer(call) && recv->buf && recv->count > 1;
	case INCMPI_REDUCE:
		return is_root(call) && is_one_buffer(call) && recv->count;
	case INCMPI_ALLTOALL:
	case INCMPI_ALLTOALLV:
	case INCMPI_ALLTOALLW:
		return own_bytes(call, send) != own_bytes(call, recv);
	default:
		return false;
	}
}

#endif

/* What the MPI refuses at a rank that looks at its own arguments only. */
static void look_for_aliases(struct pmpi_call *call)
{
	struct incmpi_side *send = &call->mid.send, *recv = &call->mid.recv;

	if (looks_for_aliases && send->valid && recv->valid && !send->in_place && !recv->in_place)
		recv->valid = !is_aliased(call);
}

static bool take_persistent(struct pmpi_call *call)
{
	struct pmpi_kept *k = call->no_memory ? NULL : pmpi_keep(call);
	struct incmpi_comm *group;

	call->kept = k;
	call->ret = MPI_SUCCESS;
	if (incmpi_decide_init(call->c->mid, k ? &k->call.mid : &call->mid, k, &group)) {
		if (k)
			pmpi_kept_release(k);
		return false;
	}
	k->group = group;
	return true;
}

/* False: it is the MPI's. */
static bool take_call(struct pmpi_call *call)
{
	int ret;

	look_for_aliases(call);
	if (call->mid.persistent)
		return take_persistent(call);
	if (incmpi_decide(call->c->mid, &call->mid))
		return false;
	if (call->request) {
		call->ret = pmpi_request_start(call->c, &call->mid, call->request);
		return true;
	}
	ret = incmpi_run(call->c->mid, &call->mid);
	if (ret == INCMPI_BY_MPI)
		return false;
	call->ret = ret ? pmpi_fail(call->c, ret, incmpi_errmsg()) : MPI_SUCCESS;
	return true;
}

/* ---- Barrier, broadcast ---------------------------------------------------- */

bool pmpi_do_barrier(struct pmpi_call *call, struct pmpi_comm *c, MPI_Request *request)
{
	if (!enter_call(call, c, INCMPI_BARRIER, 0, request))
		return call->raised;
	return take_call(call);
}

bool pmpi_do_bcast(struct pmpi_call *call, struct pmpi_comm *c, void *buf, MPI_Count count,
		   MPI_Datatype type, int root, MPI_Request *request)
{
	if (!enter_call(call, c, INCMPI_BCAST, root, request))
		return call->raised;
	fill_recv(call, buf, count, type);
	return take_call(call);
}

/* ---- Reductions ------------------------------------------------------------- */

/*
 * Rank 0 gets nothing of an exscan, and its buffer is none that MPI looks at, unless it has the
 * operand. MPICH refuses even so what it refuses at others.
 */
static bool gets_result(const struct pmpi_call *call)
{
	if (call->mid.fn == INCMPI_REDUCE)
		return is_root(call);
#ifndef MPICH_NAME
	if (call->mid.fn == INCMPI_EXSCAN)
		return call->c->rank || call->mid.send.in_place;
#endif
	return true;
}

/*
 * Those where every rank gives @count elements and gets as many; of a reduce only the root gets
 * them.
 */
bool pmpi_do_reduction(struct pmpi_call *call, struct pmpi_comm *c, enum incmpi_fn fn,
		       const void *send, void *recv, MPI_Count count, MPI_Datatype type, MPI_Op op,
		       int root, MPI_Request *request)
{
	if (!enter_call(call, c, fn, root, request))
		return call->raised;
	fill_operand(call, send, recv, count, type, op,
		     fn != INCMPI_REDUCE || is_root(call));
	fill_recv(call, recv, count, type);
	if (!gets_result(call))
		call->mid.recv.valid = call->mid.send.valid;
	return take_call(call);
}

bool pmpi_do_reduce_scatter(struct pmpi_call *call, struct pmpi_comm *c, const void *send,
			    void *recv, struct incmpi_shares shares, MPI_Datatype type, MPI_Op op,
			    MPI_Request *request)
{
	if (!enter_call(call, c, INCMPI_REDUCE_SCATTER, 0, request))
		return call->raised;
	call->mid.op = pmpi_op_get(op);
	fill_shares(call, &call->mid.send, &call->send_type, &call->send_handle,
		    send == MPI_IN_PLACE ? recv : send, shares, type);
	if (send == MPI_IN_PLACE)
		in_place(&call->mid.send, call->mid.send.valid);
	if (op == MPI_OP_NULL)
		call->mid.send.valid = false;
	fill_recv(call, recv, shares.counts ? incmpi_count_at(&shares, call->c->rank) : -1, type);
	return take_call(call);
}

bool pmpi_do_reduce_scatter_block(struct pmpi_call *call, struct pmpi_comm *c, const void *send,
				  void *recv, MPI_Count count, MPI_Datatype type, MPI_Op op,
				  MPI_Request *request)
{
	if (!enter_call(call, c, INCMPI_REDUCE_SCATTER_BLOCK, 0, request))
		return call->raised;
	fill_operand(call, send, recv, count, type, op, true);
	fill_recv(call, recv, count, type);
	return take_call(call);
}

/* ---- Gather and scatter: the root's arguments for all shares count at the root only ---------- */

bool pmpi_do_gather(struct pmpi_call *call, struct pmpi_comm *c, const void *send,
		    MPI_Count send_count, MPI_Datatype send_type, void *recv, MPI_Count recv_count,
		    MPI_Datatype recv_type, int root, MPI_Request *request)
{
	if (!enter_call(call, c, INCMPI_GATHER, root, request))
		return call->raised;
	if (send == MPI_IN_PLACE)
		in_place(&call->mid.send, is_root(call));
	else
		fill_send(call, send, send_count, send_type);
	if (is_root(call))
		fill_recv(call, recv, recv_count, recv_type);
	return take_call(call);
}

bool pmpi_do_gatherv(struct pmpi_call *call, struct pmpi_comm *c, const void *send,
		     MPI_Count send_count, MPI_Datatype send_type, void *recv,
		     struct incmpi_shares shares, MPI_Datatype recv_type, int root,
		     MPI_Request *request)
{
	if (!enter_call(call, c, INCMPI_GATHERV, root, request))
		return call->raised;
	if (send == MPI_IN_PLACE)
		in_place(&call->mid.send, is_root(call));
	else
		fill_send(call, send, send_count, send_type);
	if (is_root(call))
		fill_recvv(call, recv, shares, recv_type);
	return take_call(call);
}

bool pmpi_do_scatter(struct pmpi_call *call, struct pmpi_comm *c, const void *send,
		     MPI_Count send_count, MPI_Datatype send_type, void *recv, MPI_Count recv_count,
		     MPI_Datatype recv_type, int root, MPI_Request *request)
{
	if (!enter_call(call, c, INCMPI_SCATTER, root, request))
		return call->raised;
	if (is_root(call))
		fill_send(call, send, send_count, send_type);
	if (recv == MPI_IN_PLACE)
		in_place(&call->mid.recv, is_root(call));
	else
		fill_recv(call, recv, recv_count, recv_type);
	return take_call(call);
}

bool pmpi_do_scatterv(struct pmpi_call *call, struct pmpi_comm *c, const void *send,
		      struct incmpi_shares shares, MPI_Datatype send_type, void *recv,
		      MPI_Count recv_count, MPI_Datatype recv_type, int root, MPI_Request *request)
{
	if (!enter_call(call, c, INCMPI_SCATTERV, root, request))
		return call->raised;
	if (is_root(call))
		fill_sendv(call, send, shares, send_type);
	if (recv == MPI_IN_PLACE)
		in_place(&call->mid.recv, is_root(call));
	else
		fill_recv(call, recv, recv_count, recv_type);
	return take_call(call);
}

/* ---- Allgather and alltoall ---------------------------------------------------- */

bool pmpi_do_shares(struct pmpi_call *call, struct pmpi_comm *c, enum incmpi_fn fn,
		    const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
		    MPI_Count recv_count, MPI_Datatype recv_type, MPI_Request *request)
{
	if (!enter_call(call, c, fn, 0, request))
		return call->raised;
	if (send == MPI_IN_PLACE)
		in_place(&call->mid.send, true);
	else
		fill_send(call, send, send_count, send_type);
	fill_recv(call, recv, recv_count, recv_type);
	return take_call(call);
}

bool pmpi_do_allgatherv(struct pmpi_call *call, struct pmpi_comm *c, const void *send,
			MPI_Count send_count, MPI_Datatype send_type, void *recv,
			struct incmpi_shares shares, MPI_Datatype recv_type, MPI_Request *request)
{
	if (!enter_call(call, c, INCMPI_ALLGATHERV, 0, request))
		return call->raised;
	if (send == MPI_IN_PLACE)
		in_place(&call->mid.send, true);
	else
		fill_send(call, send, send_count, send_type);
	fill_recvv(call, recv, shares, recv_type);
	return take_call(call);
}

bool pmpi_do_alltoallv(struct pmpi_call *call, struct pmpi_comm *c, const void *send,
		       struct incmpi_shares sent, MPI_Datatype send_type, void *recv,
		       struct incmpi_shares got, MPI_Datatype recv_type, MPI_Request *request)
{
	if (!enter_call(call, c, INCMPI_ALLTOALLV, 0, request))
		return call->raised;
	if (send == MPI_IN_PLACE)
		in_place(&call->mid.send, true);
	else
		fill_sendv(call, send, sent, send_type);
	fill_recvv(call, recv, got, recv_type);
	return take_call(call);
}

/* ---- Alltoallw: a type for every share ------------------------------------------ */

static void fill_typed(struct pmpi_call *call, struct incmpi_side *side, struct incmpi_type *types,
		       MPI_Datatype *handles, const void *buf, struct incmpi_shares shares,
		       const MPI_Datatype of[])
{
	side->buf = (void *)buf;
	side->types = types;
	side->type_per_rank = true;
	side->shares = shares;
	side->valid = shares.counts && shares.displs && of && buf != MPI_IN_PLACE;
	for (int i = 0; side->valid && i < nr_ranks(call); i++) {
		int64_t count = incmpi_count_at(&shares, i);

		/* the type of a share without elements need not be one */
		if (count)
			side->valid = count > 0 &&
				      pmpi_type_get(&types[i], &handles[i], of[i]) &&
				      has_share(side, i, &types[i], of[i]);
	}
}

static const char no_types[] = "alltoallw: no memory for its types";

bool pmpi_do_alltoallw(struct pmpi_call *call, struct pmpi_comm *c, const void *send,
		       struct incmpi_shares sent, const MPI_Datatype send_types[], void *recv,
		       struct incmpi_shares got, const MPI_Datatype recv_types[],
		       MPI_Request *request)
{
	struct incmpi_type *types;
	MPI_Datatype *handles;
	bool taken;
	size_t n;

	if (!enter_call(call, c, INCMPI_ALLTOALLW, 0, request))
		return call->raised;
	call->one_type_array = send_types == recv_types;
	n = (size_t)nr_ranks(call);
	types = calloc(2 * n, sizeof(*types));
	handles = calloc(2 * n, sizeof(*handles));
	if (types && handles) {
		if (send == MPI_IN_PLACE)
			in_place(&call->mid.send, true);
		else
			fill_typed(call, &call->mid.send, types, handles, send, sent, send_types);
		fill_typed(call, &call->mid.recv, types + n, handles + n, recv, got, recv_types);
		taken = take_call(call);
	} else if (call->mid.persistent) {
		call->no_memory = true;
		taken = take_call(call);
	} else {
		incmpi_comm_break(call->c->mid, no_types);
		call->ret = pmpi_fail(call->c, -ENOMEM, no_types);
		taken = true;
	}
	free(types);
	free(handles);
	return taken;
}
