// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * From a call of MPI to arguments of libinc. Data that is moved travels as bytes: all ranks have
 * machines of one type, see agree.c. Elements without gaps and in order are sent and received where
 * they are; others are packed, and pairs are converted, in buffers of ours.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { SEND_COUNTS, SEND_DISPLS, RECV_COUNTS, RECV_DISPLS, NR_ARRAYS };

/* Which shares of its own buffer a rank that is in place gives. */
enum given { GIVES_NONE, GIVES_OWN, GIVES_ALL };

const struct incmpi_type *incmpi_share_type(const struct incmpi_side *side, int i)
{
	return &side->types[side->type_per_rank ? i : 0];
}

uint64_t incmpi_share_count(const struct incmpi_side *side, int i)
{
	return side->shares.counts ? (uint64_t)incmpi_count_at(&side->shares, i) : side->count;
}

static bool is_reduction(const struct incmpi_op *op)
{
	return op->args.op;
}

static bool is_vector(enum incmpi_fn fn)
{
	switch (fn) {
	case INCMPI_REDUCE_SCATTER:
	case INCMPI_GATHERV:
	case INCMPI_SCATTERV:
	case INCMPI_ALLGATHERV:
	case INCMPI_ALLTOALLV:
	case INCMPI_ALLTOALLW:
		return true;
	default:
		return false;
	}
}

static bool is_root(const struct incmpi_op *op)
{
	return op->call.root == op->comm->rank;
}

/* How many shares the buffer has at this rank; 0: it is not looked at. */
static int send_shares(const struct incmpi_op *op)
{
	switch (op->args.coll) {
	case INC_COLL_BARRIER:
	case INC_COLL_BROADCAST:
		return 0;
	case INC_COLL_SCATTER:
		return is_root(op) ? op->comm->size : 0;
	case INC_COLL_REDUCE_SCATTER:
	case INC_COLL_ALLTOALL:
		return op->comm->size;
	default:
		return 1;
	}
}

static int recv_shares(const struct incmpi_op *op)
{
	switch (op->args.coll) {
	case INC_COLL_BARRIER:
		return 0;
	case INC_COLL_REDUCE:
		return is_root(op);
	case INC_COLL_GATHER:
		return is_root(op) ? op->comm->size : 0;
	case INC_COLL_ALLGATHER:
	case INC_COLL_ALLTOALL:
		return op->comm->size;
	default:
		return 1;
	}
}

/* Elements of libinc in a share: reduced ones, or bytes. */
static uint64_t share_units(const struct incmpi_op *op, const struct incmpi_side *side, int i)
{
	return incmpi_times(incmpi_share_count(side, i),
			    is_reduction(op) ? 1 : incmpi_share_type(side, i)->size);
}

static size_t unit_size(const struct incmpi_op *op)
{
	return is_reduction(op) ? inc_type_size(op->args.type) : 1;
}

static uint64_t all_units(const struct incmpi_op *op, const struct incmpi_side *side, int shares)
{
	uint64_t units = 0;

	for (int i = 0; i < shares; i++)
		units = incmpi_plus(units, share_units(op, side, i));
	return units;
}

/* Where a share begins, in bytes from the buffer's address. */
static ptrdiff_t share_at(const struct incmpi_side *side, int i)
{
	size_t extent = (size_t)incmpi_share_type(side, i)->extent, before = 0;

	if (side->shares.displs)
		before = (size_t)incmpi_displ_at(&side->shares, i);
	else if (!side->shares.counts)
		before = side->count * (size_t)i;
	for (int j = 0; side->shares.counts && !side->shares.displs && j < i; j++)
		before += incmpi_share_count(side, j);
	return (ptrdiff_t)(before * (side->shares.displs && side->type_per_rank ? 1 : extent));
}

static unsigned int why_bit(enum incmpi_staged why)
{
	return 1u << why;
}

/*
 * What keeps libinc from using the buffer as it is, as bits; 0: nothing. NULL is no buffer of
 * libinc's, but of MPI's: that from which addresses count, or one that is not looked at.
 */
static unsigned int why_staged(const struct incmpi_op *op, const struct incmpi_side *side,
			       int shares)
{
	unsigned int why = op->not_given;

	for (int i = 0; i < shares; i++) {
		const struct incmpi_type *type = incmpi_share_type(side, i);
		ptrdiff_t at = share_at(side, i);

		if (!incmpi_share_count(side, i))
			continue;
		if (type->pair)
			why |= why_bit(INCMPI_STAGED_PAIRS);
		else if (!type->dense || !side->buf || at < 0 || at > (ptrdiff_t)INC_MAX_COUNT)
			why |= why_bit(INCMPI_STAGED_GAPS);
	}
	return why;
}

/* Memory that the kernel cannot have may be one that only MPI can read, as a device's. */
static bool is_copied(const struct incmpi_op *op, const struct incmpi_type *type)
{
	return type->dense && !(op->not_given & why_bit(INCMPI_STAGED_MEMORY));
}

static void fill_counts(struct incmpi_op *op, const struct incmpi_side *side, int shares,
			bool displs, uint64_t *counts, uint64_t *at)
{
	for (int i = 0; i < shares; i++) {
		counts[i] = share_units(op, side, i);
		if (displs)
			at[i] = counts[i] ? (uint64_t)share_at(side, i) : 0;
	}
}

static uint64_t *op_array(struct incmpi_op *op, int which)
{
	return op->counts + (size_t)which * op->comm->size;
}

static int load_share(struct incmpi_op *op, const struct incmpi_side *side, int i, char *to)
{
	const struct incmpi_type *type = incmpi_share_type(side, i);
	const char *from = (const char *)side->buf + share_at(side, i);
	uint64_t count = incmpi_share_count(side, i);

	if (!count)
		return 0;
	if (is_reduction(op) && type->pair)
		incmpi_pair_load(type->pair, from, count, to);
	else if (is_copied(op, type))
		memcpy(to, from, count * type->size);
	else
		return incmpi_skin()->pack(type->handle, from, count, to, count * type->size);
	return 0;
}

static int store_share(struct incmpi_op *op, const struct incmpi_side *side, int i,
		       const char *from)
{
	const struct incmpi_type *type = incmpi_share_type(side, i);
	char *to = (char *)side->buf + share_at(side, i);
	uint64_t count = incmpi_share_count(side, i);

	if (!count)
		return 0;
	if (is_reduction(op) && type->pair)
		incmpi_pair_store(type->pair, from, count, to);
	else if (is_copied(op, type))
		memcpy(to, from, count * type->size);
	else
		return incmpi_skin()->unpack(type->handle, from, count * type->size, to, count);
	return 0;
}

static int load_shares(struct incmpi_op *op, const struct incmpi_side *side, int shares,
		       enum given given, char *to)
{
	uint64_t size = unit_size(op);
	int ret = 0;

	for (int i = 0; i < shares && !ret; i++) {
		if (given == GIVES_ALL || (given == GIVES_OWN && i == op->comm->rank))
			ret = load_share(op, side, i, to);
		to += share_units(op, side, i) * size;
	}
	return ret ? -EINVAL : 0;
}

/*
 * A buffer that holds nothing may be NULL, which libinc may take for one in place: it gets another
 * address.
 */
static void *buffer_of(const struct incmpi_side *side)
{
	static char nothing;

	return side->buf ?: &nothing;
}

static void *stage_alloc(uint64_t bytes)
{
	return malloc(bytes ?: 1);
}

static int stage_send(struct incmpi_op *op)
{
	const struct incmpi_side *side = &op->call.send;
	int shares = send_shares(op);
	unsigned int why;
	bool direct;

	if (!shares)
		return 0;
	if (side->in_place) {
		op->args.send = INC_IN_PLACE;
		return 0;
	}
	why = why_staged(op, side, shares);
	op->staged |= why;
	direct = !why;
	if (op->counts && op->args.coll != INC_COLL_REDUCE_SCATTER && shares > 1) {
		fill_counts(op, side, shares, direct, op_array(op, SEND_COUNTS),
			    op_array(op, SEND_DISPLS));
		op->args.send_counts = op_array(op, SEND_COUNTS);
		op->args.send_displs = direct ? op_array(op, SEND_DISPLS) : NULL;
	}
	op->args.send = buffer_of(side);
	if (direct)
		return 0;
	op->send_mem = stage_alloc(all_units(op, side, shares) * unit_size(op));
	op->args.send = op->send_mem;
	if (!op->send_mem)
		return -ENOMEM;
	return load_shares(op, side, shares, GIVES_ALL, op->send_mem);
}

/*
 * What a scan gives rank 0 is its operand, bit for bit: libinc would make 0 or 1 of a logical one,
 * and one NaN of all. Its result goes elsewhere.
 */
static bool keeps_operand(const struct incmpi_op *op)
{
	return op->call.fn == INCMPI_SCAN && !op->comm->rank;
}

/* What in-place calls have in the buffer that they receive into. */
static enum given given_in_place(const struct incmpi_op *op)
{
	if (op->args.coll == INC_COLL_BROADCAST)
		return is_root(op) ? GIVES_ALL : GIVES_NONE;
	if (!op->call.send.in_place)
		return GIVES_NONE;
	return op->args.coll == INC_COLL_ALLGATHER || op->args.coll == INC_COLL_GATHER ?
	       GIVES_OWN : GIVES_ALL;
}

/* A reduce-scatter in place has all shares in the buffer that it receives one into. */
static struct incmpi_side input_side(const struct incmpi_op *op)
{
	struct incmpi_side side = op->call.recv;

	if (op->args.coll == INC_COLL_REDUCE_SCATTER && op->call.send.in_place) {
		side.shares = op->call.send.shares;
		side.count = op->call.send.count;
	}
	return side;
}

static int stage_recv_mem(struct incmpi_op *op, const struct incmpi_side *side, int shares)
{
	op->recv_mem = stage_alloc(all_units(op, side, shares) * unit_size(op));
	op->args.recv = op->recv_mem;
	if (!op->recv_mem)
		return -ENOMEM;
	return load_shares(op, side, shares, given_in_place(op), op->recv_mem);
}

/*
 * A rank's own share may have two sizes by the program's fault. INC takes the smaller one, as no
 * buffer is to be exceeded: that is another one than other ranks have, and the call fails at all.
 */
static uint64_t smaller_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Of an allgatherv: of others that have counts, each side's are exchanged, and compared. */
static void limit_own_share(struct incmpi_op *op)
{
	uint64_t *own = &op_array(op, RECV_COUNTS)[op->comm->rank];

	if (op->args.coll == INC_COLL_ALLGATHER && !op->call.send.in_place)
		*own = smaller_of(*own, share_units(op, &op->call.send, 0));
}

static int stage_recv(struct incmpi_op *op)
{
	const struct incmpi_side *side = &op->call.recv;
	struct incmpi_side input = input_side(op);
	int shares = recv_shares(op), inputs = shares;
	unsigned int why;
	bool direct;

	if (!shares)
		return 0;
	if (side->in_place) {
		op->args.recv = INC_IN_PLACE;
		return 0;
	}
	if (op->args.coll == INC_COLL_REDUCE_SCATTER && op->call.send.in_place)
		inputs = op->comm->size;
	/* who gets nothing of a reduce-scatter gives all the same */
	why = why_staged(op, &input, inputs);
	if (keeps_operand(op))
		why |= why_bit(INCMPI_STAGED_OPERAND);
	op->staged |= why;
	direct = !why;
	if (op->counts && shares > 1) {
		fill_counts(op, side, shares, direct, op_array(op, RECV_COUNTS),
			    op_array(op, RECV_DISPLS));
		op->args.recv_counts = op_array(op, RECV_COUNTS);
		op->args.recv_displs = direct ? op_array(op, RECV_DISPLS) : NULL;
		limit_own_share(op);
	}
	op->args.recv = side->buf;
	return direct ? 0 : stage_recv_mem(op, &input, inputs);
}

static uint64_t smaller_share(const struct incmpi_op *op)
{
	const struct incmpi_call *call = &op->call;

	if (call->send.in_place)
		return share_units(op, &call->recv, 0);
	if (call->recv.in_place)
		return share_units(op, &call->send, 0);
	return smaller_of(share_units(op, &call->send, 0), share_units(op, &call->recv, 0));
}

/* The number of elements that libinc wants to know beside the shares' counts. */
static uint64_t stage_count(const struct incmpi_op *op)
{
	const struct incmpi_call *call = &op->call;

	switch (op->args.coll) {
	case INC_COLL_BARRIER:
		return 0;
	case INC_COLL_GATHER:
		if (is_root(op) && !is_vector(call->fn))
			return smaller_share(op);
		return call->send.in_place ? 0 : share_units(op, &call->send, 0);
	case INC_COLL_SCATTER:
		if (is_root(op) && !is_vector(call->fn))
			return smaller_share(op);
		return call->recv.in_place ? 0 : share_units(op, &call->recv, 0);
	case INC_COLL_ALLGATHER:
	case INC_COLL_ALLTOALL:
		return is_vector(call->fn) ? 0 : smaller_share(op);
	default:
		return is_vector(call->fn) ? 0 : share_units(op, &call->recv, 0);
	}
}

static int stage_counts(struct incmpi_op *op)
{
	if (!is_vector(op->call.fn))
		return 0;
	op->args.mode = INC_MODE_COUNTS;
	op->counts = calloc((size_t)op->comm->size * NR_ARRAYS, sizeof(*op->counts));
	if (!op->counts)
		return -ENOMEM;
	if (op->args.coll == INC_COLL_REDUCE_SCATTER) {
		fill_counts(op, &op->call.send, op->comm->size, false, op_array(op, RECV_COUNTS),
			    NULL);
		op->args.recv_counts = op_array(op, RECV_COUNTS);
	}
	return 0;
}

static uint64_t moved_bytes(const struct incmpi_op *op)
{
	uint64_t send = 0, recv = 0;

	if (!op->call.send.in_place)
		send = incmpi_times(all_units(op, &op->call.send, send_shares(op)), unit_size(op));
	if (!op->call.recv.in_place)
		recv = incmpi_times(all_units(op, &op->call.recv, recv_shares(op)), unit_size(op));
	return send > recv ? send : recv;
}

/*
 * Ranks exchange the counts of such a call before anything else of it. One whose shares are too
 * large, or contradict one another, says other counts than it has: nothing where there is
 * something, and a byte where there is nothing. All ranks then find the same contradiction, and
 * leave the call to the MPI; if all of them do so, there is none, but each knows.
 */
static uint64_t wrong_count(uint64_t units)
{
	return !units;
}

static void fill_wrong(const struct incmpi_op *op, const struct incmpi_side *side, uint64_t *counts)
{
	for (int i = 0; i < op->comm->size; i++)
		counts[i] = wrong_count(share_units(op, side, i));
}

/* What the rank says of its share beside the counts of all. */
static uint64_t wrong_own(const struct incmpi_op *op)
{
	const struct incmpi_side *all = &op->call.recv, *own = &op->call.send;

	if (op->args.coll == INC_COLL_SCATTER) {
		all = &op->call.send;
		own = &op->call.recv;
	}
	return wrong_count(is_root(op) ? share_units(op, all, op->comm->rank) :
					 share_units(op, own, 0));
}

static int stage_refusal(struct incmpi_op *op)
{
	uint64_t *send = op_array(op, SEND_COUNTS), *recv = op_array(op, RECV_COUNTS);
	bool pairs = op->args.coll == INC_COLL_ALLTOALL;
	int size = op->comm->size;

	op->refuses = true;
	op->send_mem = calloc((size_t)size, 1);
	op->recv_mem = calloc((size_t)size, 1);
	if (!op->send_mem || !op->recv_mem)
		return -ENOMEM;
	op->args.send = op->send_mem;
	op->args.recv = op->recv_mem;
	if (!pairs)
		op->args.count = wrong_own(op);
	if (pairs || (op->args.coll == INC_COLL_GATHER && is_root(op))) {
		fill_wrong(op, &op->call.recv, recv);
		op->args.recv_counts = recv;
	}
	if (pairs || (op->args.coll == INC_COLL_SCATTER && is_root(op))) {
		fill_wrong(op, op->call.send.in_place ? &op->call.recv : &op->call.send, send);
		op->args.send_counts = send;
	}
	if (pairs)
		recv[op->comm->rank] = send[op->comm->rank];
	return 0;
}

/*
 * An alltoall's own share may have two sizes by the program's fault, which the kernel refuses at
 * this rank alone. MPICH takes one that is received as larger than it is sent.
 */
static bool contradicts_itself(const struct incmpi_op *op)
{
	const struct incmpi_side *send = &op->call.send, *recv = &op->call.recv;
	int rank = op->comm->rank;

	return op->args.coll == INC_COLL_ALLTOALL && !send->in_place &&
	       share_units(op, send, rank) != share_units(op, recv, rank);
}

/* Of a function whose shares no rank knows all: is this call to be the MPI's at all ranks? */
static bool must_refuse(const struct incmpi_op *op)
{
	return incmpi_has_unknown_shares(op->call.fn) &&
	       (op->bytes > op->comm->set.max || contradicts_itself(op));
}

bool incmpi_refuses(struct incmpi_comm *c, const struct incmpi_call *call)
{
	struct incmpi_op op = { .comm = c, .call = *call };

	if (!incmpi_has_unknown_shares(call->fn))
		return false;
	op.args.coll = incmpi_fn_coll(call->fn);
	op.bytes = moved_bytes(&op);
	return must_refuse(&op);
}

int incmpi_stage(struct incmpi_op *op)
{
	struct inc_args *args = &op->args;
	int ret;

	args->coll = incmpi_fn_coll(op->call.fn);
	if (args->coll == INC_COLL_BARRIER)
		return 0;
	if (incmpi_fn_reduces(op->call.fn))
		args->op = op->call.op;
	args->type = args->op ? op->call.recv.types->type : INC_TYPE_U8;
	args->root = (uint32_t)op->call.root;
	args->count = stage_count(op);
	op->bytes = moved_bytes(op);
	ret = stage_counts(op);
	if (!ret && must_refuse(op))
		return stage_refusal(op);
	return ret ?: stage_send(op) ?: stage_recv(op);
}

/* A scan's operand, as it is. */
static int copy_operand(struct incmpi_op *op)
{
	const struct incmpi_type *type = op->call.recv.types;
	uint64_t count = op->call.recv.count;
	size_t bytes = count * type->size;
	int ret;

	if (op->call.send.in_place)
		return 0;
	if (is_copied(op, type)) {
		memmove(op->call.recv.buf, op->call.send.buf, bytes);
		return 0;
	}
	ret = incmpi_skin()->pack(type->handle, op->call.send.buf, count, op->recv_mem, bytes);
	if (!ret)
		ret = incmpi_skin()->unpack(type->handle, op->recv_mem, bytes, op->call.recv.buf,
					    count);
	return ret ? -EINVAL : 0;
}

/* Once more, with memory of the library's own instead of the program's. */
int incmpi_stage_again(struct incmpi_op *op, enum incmpi_staged why)
{
	incmpi_stage_free(op);
	memset(&op->args, 0, sizeof(op->args));
	op->not_given = why_bit(why);
	return incmpi_stage(op);
}

void incmpi_count_staged(const struct incmpi_op *op)
{
	for (int i = 0; i < INCMPI_NR_STAGED; i++)
		if (op->staged & why_bit(i))
			incmpi_count(INCMPI_COUNT_STAGED + i, 1);
}

/* After the operation has succeeded. */
int incmpi_unstage(struct incmpi_op *op)
{
	const struct incmpi_side *side = &op->call.recv;
	bool own = given_in_place(op) == GIVES_OWN;
	const char *from = op->recv_mem;
	uint64_t size;
	int ret = 0;

	if (!op->recv_mem)
		return 0;
	if (keeps_operand(op))
		return copy_operand(op);
	if (op->call.fn == INCMPI_EXSCAN && !op->comm->rank)
		return 0;
	if (op->args.coll == INC_COLL_BROADCAST && is_root(op))
		return 0;
	size = unit_size(op);
	for (int i = 0; i < recv_shares(op) && !ret; i++) {
		if (!own || i != op->comm->rank)
			ret = store_share(op, side, i, from);
		from += share_units(op, side, i) * size;
	}
	return ret ? -EINVAL : 0;
}

void incmpi_stage_free(struct incmpi_op *op)
{
	free(op->send_mem);
	free(op->recv_mem);
	free(op->counts);
	op->send_mem = NULL;
	op->recv_mem = NULL;
	op->counts = NULL;
}
