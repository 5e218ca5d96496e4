// SPDX-License-Identifier: GPL-2.0-only
/*
 * The buffers of one operation at a host: streams of the endpoint are put where the operation's
 * shares lie. Of scans the results are folded here, in the order in which the endpoint brings them.
 */
#include "fold_operands.h"
#include "sim.h"

/* One rank's object around struct netinc_op. */
static struct sim_op *op_new(struct app_op *a, const struct netinc_op *op, u32 elem_size)
{
	struct sim_op *o = calloc(1, sizeof(*o));

	o->op = *op;
	o->app = a;
	o->elem_size = elem_size;
	o->before = calloc(NETINC_BEFORE(op->size), sizeof(*o->before));
	return o;
}

/* Per-rank counts that all ranks know; others have to be exchanged. */
static void known_counts(const struct sim *sim, struct sim_op *o)
{
	u32 i;

	o->op.count = 0;
	if (netinc_coll_asks_counts(o->op.coll))
		return;
	o->counts = calloc(o->op.size, sizeof(*o->counts));
	for (i = 0; i < o->op.size; i++) {
		o->counts[i] = plan_count(sim, o->app->idx, o->op.rank, i);
		o->op.count += o->counts[i];
	}
	o->op.counts = o->counts;
}

void buffer_poison(u8 *data, u64 bytes)
{
	u64 i;

	for (i = 0; i < bytes; i++)
		data[i] = 0xa5 ^ (u8)(i * 7);
}

struct sim_op *buffer_new(struct sim *sim, struct app_op *a, u32 rank)
{
	struct plan_op p = plan_op_of(sim, a->idx, rank);
	struct netinc_op op = {
		.coll = p.coll, .type = p.type, .op = p.op, .wire = p.type, .mode = p.mode,
		.in_place = p.in_place, .root = p.root, .rank = rank, .size = sim->plan.hosts,
		.count = p.count,
	};
	u32 size = netinc_reduce_elem_size(p.type);
	struct sim_op *o = op_new(a, &op, size);

	if (plan_has_counts(&p))
		known_counts(sim, o);
	o->op.before = o->before;
	plan_layouts(sim, a->idx, rank, &o->send_at, &o->recv_at);
	o->send = malloc(o->send_at.length * size + 1);
	memcpy(o->send, plan_input(sim, a->idx, rank), o->send_at.length * size);
	if (p.in_place) {
		o->recv = o->send;
		return o;
	}
	o->recv = malloc(o->recv_at.length * size + 1);
	buffer_poison(o->recv, o->recv_at.length * size);
	return o;
}

struct sim_op *buffer_new_exchange(struct sim *sim, struct app_op *a, u32 rank, const u32 *counts)
{
	struct plan_op p = plan_op_of(sim, a->idx, rank);
	struct netinc_op op = {
		.coll = p.coll, .type = p.type, .op = p.op, .wire = p.type,
		.mode = p.mode | INC_MODE_COUNTS_PHASE, .root = p.root, .rank = rank,
		.size = sim->plan.hosts,
	};
	struct sim_op *o = op_new(a, &op, sizeof(u32));
	u32 i;

	o->counts = calloc(op.size, sizeof(*o->counts));
	for (i = 0; i < op.size; i++) {
		o->counts[i] = counts[i];
		o->recv_at.at[i] = o->recv_at.length;
		o->recv_at.length += counts[i];
	}
	o->send_at = o->recv_at;
	o->op.counts = o->counts;
	o->op.before = o->before;
	o->recv = calloc(o->recv_at.length, sizeof(u32));
	o->send = o->recv;
	return o;
}

void buffer_drop(struct sim_op *o)
{
	if (o->send != o->recv)
		free(o->send);
	free(o->recv);
	o->send = NULL;
	o->recv = NULL;
}

void buffer_free(struct sim *sim, struct sim_op *o)
{
	if (!o)
		return;
	verify_free(sim, o);
	buffer_drop(o);
	free(o->chain);
	free(o->seen);
	free(o->absent);
	free(o->counts);
	free(o->before);
	free(o);
}

/*
 * The kernel pins a user's buffers while their elements are sent and written, from the front to the
 * back: what lies before the next block without result is let go, and may be anybody's memory soon
 * (host/pin.c, where pages go together).
 */
void buffer_progress(struct host *h)
{
	struct netinc_op *op = h->ep.head;
	struct netinc_block b;
	struct sim_op *o;
	u64 next;

	if (!op || !op->numbered || op->coll == INC_COLL_LEAVE ||
	    (op->mode & INC_MODE_COUNTS_PHASE))
		return;
	next = netinc_ep_next(&h->ep);
	if ((s64)(next - op->first) <= 0 || next - op->first >= op->blocks)
		return;
	o = container_of(op, struct sim_op, op);
	netinc_coll_block(op, next - op->first, &b);
	o->send_gone = max(o->send_gone, b.send);
	o->recv_gone = max(o->recv_gone, b.recv);
}

static void check_pinned(struct sim *sim, const struct sim_op *o, bool send, u64 at)
{
	u64 gone = send ? o->send_gone : o->recv_gone;

	if (at < gone)
		sim_fail(sim,
			 "rank %u: operation %u %s element %llu, memory before %llu has been unpinned",
			 o->op.rank, o->op.seq, send ? "reads" : "writes", (unsigned long long)at,
			 (unsigned long long)gone);
}

static bool share_of(const struct netinc_op *op, bool send, u32 i, struct netinc_share *s)
{
	return send ? netinc_coll_send_share(op, i, s) : netinc_coll_recv_share(op, i, s);
}

/* The bytes of @elems elements at position @at of a stream: they are one run. */
static u8 *share_at(struct sim *sim, const struct sim_op *o, bool send, u64 at, u32 elems)
{
	const struct layout *l = send ? &o->send_at : &o->recv_at;
	struct netinc_share s;
	u32 i;

	for (i = 0; share_of(&o->op, send, i, &s); i++) {
		if (at >= s.elems) {
			at -= s.elems;
			continue;
		}
		if (at + elems > s.elems || l->at[s.peer] + s.elems > l->length)
			break;
		return (send ? o->send : o->recv) + (l->at[s.peer] + at) * o->elem_size;
	}
	sim_fail(sim, "rank %u: operation %u has no elements %llu + %u to %s", o->op.rank,
		 o->app->idx, (unsigned long long)at, elems, send ? "send" : "get");
}

static u8 *stream_at(struct sim *sim, const struct sim_op *o, bool send, u64 at, u32 elems)
{
	if (elems)
		check_pinned(sim, o, send, at);
	return share_at(sim, o, send, at, elems);
}

const u8 *buffer_result(struct sim *sim, const struct sim_op *o, const struct netinc_block *b)
{
	return share_at(sim, o, false, b->recv, b->elems);
}

const u8 *buffer_out(struct sim *sim, const struct sim_op *o, const struct netinc_block *b)
{
	return stream_at(sim, o, true, b->send, b->elems);
}

/* Where the elements of @owner in the block are kept until the own one comes. */
static u8 *chain_at(const struct sim_op *o, const struct netinc_reduce *r,
		    const struct netinc_block *b, u32 owner)
{
	return o->chain + (owner * o->op.count + (o->op.rank ? b->recv : 0)) * r->elem_size;
}

/* The contributions of all ranks before this one are here; write what comes of them. */
static void chain_finish(struct sim *sim, struct sim_op *o, const struct netinc_reduce *r,
			 const struct netinc_block *b)
{
	bool scan = o->op.coll == INC_COLL_SCAN;
	u8 out[INC_MAX_BLOCK];
	struct fold_stack f;
	u32 i;

	if (!o->op.rank && !scan)
		return;
	fold_stack_init(&f, r, b->elems);
	for (i = 0; i < o->op.rank; i++)
		fold_stack_add(&f, &(struct fold_operand){ chain_at(o, r, b, i), 1, false });
	if (scan)
		fold_stack_add(&f, &(struct fold_operand){ buffer_out(sim, o, b), 1, false });
	fold_stack_end(&f, out, o->op.size, false);
	memcpy(stream_at(sim, o, false, b->recv, b->elems), out, b->elems * o->elem_size);
}

static void chain_in(struct sim *sim, struct sim_op *o, const struct netinc_block *b,
		     const u8 *data)
{
	const struct netinc_reduce *r =
		netinc_reduce_find(o->op.wire, o->op.op, o->op.mode & INC_MODE_WIRE, true);

	if (b->owner > o->op.rank || !b->elems)
		return;
	if (!o->chain)
		o->chain = malloc(o->op.rank * o->op.count * r->elem_size + 1);
	if (b->owner == o->op.rank)
		chain_finish(sim, o, r, b);
	else
		memcpy(chain_at(o, r, b, b->owner), data, b->elems * r->elem_size);
}

void buffer_in(struct sim *sim, struct sim_op *o, const struct netinc_block *b, const u8 *data)
{
	if (netinc_coll_chains(o->op.coll))
		chain_in(sim, o, b, data);
	else if (b->bits & INC_F_WANT)
		memcpy(stream_at(sim, o, false, b->recv, b->elems), data, b->elems * o->elem_size);
}

void buffer_own_share(struct sim_op *o)
{
	u32 me = o->op.rank, i = me;

	if (o->send == o->recv || netinc_coll_reduces(o->op.coll) ||
	    o->op.coll == INC_COLL_BROADCAST ||
	    (netinc_coll_rooted(o->op.coll) && o->op.root != me) || !o->elem_size)
		return;
	if (o->op.coll == INC_COLL_ALLTOALL)
		i = me * o->op.size + me;
	memcpy(o->recv + o->recv_at.at[me] * o->elem_size,
	       o->send + o->send_at.at[me] * o->elem_size,
	       (o->op.counts ? o->op.counts[i] : o->op.count) * o->elem_size);
}
