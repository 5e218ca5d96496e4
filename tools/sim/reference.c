// SPDX-License-Identifier: GPL-2.0-only
/* What every collective is to give, the plain way: from all inputs, one rank after the other. */
#include "arithmetic.h"
#include "reduce/reduce.h"
#include "sim.h"

struct ref {
	struct sim *sim;
	struct outcome *retained;
	struct plan_op op;
	u32 idx, rank, size;
	struct layout send[SIM_MAX_HOSTS], recv[SIM_MAX_HOSTS];
	u32 absent;		/* bits of ranks that do not count */
	u8 *without;		/* the fold of the others */
	u8 *out;
};

static const u8 *input(struct ref *r, u32 rank)
{
	return plan_input(r->sim, r->idx, rank);
}

static const u8 *folded_without(struct ref *r)
{
	struct arithmetic a = { .type = r->op.type, .op = r->op.op,
				.mode = r->op.mode & INC_MODE_WIRE, .size = r->size };
	const void *in[SIM_MAX_HOSTS];
	u32 i;

	for (i = 0; i < r->sim->plan.hosts; i++)
		if (!(r->absent >> i & 1))
			in[a.ranks++] = input(r, i);
	r->without = malloc(r->send[0].length * r->size + 1);
	arithmetic_fold(&a, in, a.ranks, r->without, r->send[0].length);
	return r->without;
}

bool reference_is_ordered(const struct plan_op *o)
{
	bool sum = o->op == INC_OP_SUM || o->op == INC_OP_PROD || o->op == INC_OP_AVG;

	switch (o->type) {
	case INC_TYPE_F16:
	case INC_TYPE_BF16:
	case INC_TYPE_F8E4M3:
	case INC_TYPE_F8E5M2:
	case INC_TYPE_F32:
	case INC_TYPE_F64:
	case INC_TYPE_C32:
	case INC_TYPE_C64:
	case INC_TYPE_MXF8E4M3:
	case INC_TYPE_MXF8E5M2:
	case INC_TYPE_MXF4E2M1:
	case INC_TYPE_MXI8:
		return sum;
	default:
		return false;
	}
}

/* A fold in a tree: what the ranks have, as accumulators. */
struct deep {
	struct sim *sim;
	struct arithmetic a;
	const void *in[SIM_MAX_HOSTS];
	u64 n;			/* elements */
};

/* At one node: its ranks, and nodes below it, in the order of their lowest ranks. */
static u8 *fold_node(const struct deep *d, u32 node)
{
	u8 *out = malloc(d->n * d->a.size + 1), *made[SIM_MAX_NODES];
	struct arithmetic a = d->a;
	const void *in[SIM_MAX_HOSTS] = { NULL };
	u32 i, child, k = 0, n = 0;

	for (i = 0; i < d->sim->plan.hosts; i++) {
		child = tree_child_of(d->sim, node, i);
		if (tree_at(d->sim, i) == node) {
			in[k++] = d->in[i];
		} else if (child && !(tree_ranks(d->sim, child) & ((1u << i) - 1))) {
			made[n] = fold_node(d, child);
			in[k++] = made[n++];
		}
	}
	if (a.op == INC_OP_AVG && node != tree_root(d->sim))
		a.op = INC_OP_SUM;
	arithmetic_fold(&a, in, k, out, d->n);
	while (n)
		free(made[--n]);
	return out;
}

static void widen(u8 type, const void *from, u64 n, void *to)
{
	if (arithmetic_is_block(type))
		arithmetic_unpack(type, from, n, to);
	else
		netinc_convert_find(type, INC_TYPE_F32, true)->convert(to, from, n);
}

static void narrow(u8 type, const void *from, u64 n, void *to)
{
	if (arithmetic_is_block(type))
		arithmetic_pack(type, from, n, to);
	else
		netinc_convert_find(INC_TYPE_F32, type, true)->convert(to, from, n);
}

/* The small floats and blocks are folded as f32, and rounded once. */
static void fold_deep(struct ref *r, u64 n, u8 *out)
{
	bool block = arithmetic_is_block(r->op.type), small = r->size < 4 || block;
	struct deep d = { .sim = r->sim, .n = n * (block ? INC_MX_VALUES : 1),
			  .a = { .type = r->op.type, .op = r->op.op, .ranks = r->sim->plan.hosts,
				 .size = r->size } };
	u8 *f;
	u32 i;

	for (i = 0; i < r->sim->plan.hosts; i++) {
		d.in[i] = input(r, i);
		if (!small)
			continue;
		d.a.type = INC_TYPE_F32;
		d.a.size = 4;
		f = malloc(d.n * 4 + 1);
		widen(r->op.type, d.in[i], n, f);
		d.in[i] = f;
	}
	f = fold_node(&d, tree_root(r->sim));
	if (small)
		narrow(r->op.type, f, n, out);
	else
		memcpy(out, f, n * r->size);
	free(f);
	for (i = 0; small && i < r->sim->plan.hosts; i++)
		free((void *)d.in[i]);
}

/* Are these ranks a node of the binary tree over all? It is cut at powers of two. */
static bool is_subtree(u32 mask, u32 hosts)
{
	u32 first = 0, n = 0, size = 1;

	while (!(mask >> first & 1))
		first++;
	while (first + n < hosts && (mask >> (first + n) & 1))
		n++;
	while (size < n)
		size *= 2;
	return mask == (u32)(((1ull << n) - 1) << first) && !(first % size) &&
	       (size == n || first + n == hosts);
}

/* Do all nodes of the tree fold what the tree over the ranks has as one? */
static bool is_canonical(const struct sim *sim)
{
	u32 node, mask;

	for (node = 0; node < sim->plan.tree.nodes; node++) {
		mask = tree_ranks(sim, node);
		if (mask && !is_subtree(mask, sim->plan.hosts))
			return false;
	}
	return true;
}

/* Of ranks 0 .. last, all that they send. */
static const u8 *folded(struct ref *r, u32 last)
{
	struct arithmetic a = { .type = r->op.type, .op = r->op.op,
				.mode = r->op.mode & INC_MODE_WIRE, .ranks = r->sim->plan.hosts,
				.size = r->size };
	u64 n = r->send[0].length;
	const void *in[SIM_MAX_HOSTS];
	u32 k = 0, i;

	if (r->absent)
		return folded_without(r);
	if (r->retained->fold[last])
		return r->retained->fold[last];
	r->retained->fold[last] = malloc(n * r->size + 1);
	if (r->sim->plan.tree.nodes && !netinc_coll_chains(r->op.coll) &&
	    reference_is_ordered(&r->op) && !r->sim->plan.tree.asks &&
	    !is_canonical(r->sim)) {
		fold_deep(r, n, r->retained->fold[last]);
		return r->retained->fold[last];
	}
	if (last && netinc_coll_chains(r->op.coll) && arithmetic_is_narrow(&a) &&
	    !reference_is_ordered(&r->op)) {
		in[k++] = folded(r, last - 1);
		in[k++] = input(r, last);
	}
	for (i = 0; k != 2 && i <= last; i++)
		in[i] = input(r, i);
	arithmetic_fold(&a, in, k ? k : last + 1, r->retained->fold[last], n);
	return r->retained->fold[last];
}

/* @count elements from element @from of @src to element @to of the buffer. */
static void put(struct ref *r, u64 to, const u8 *src, u64 from, u64 count)
{
	memcpy(r->out + to * r->size, src + from * r->size, count * r->size);
}

static u64 share(const struct ref *r, u32 i)
{
	return plan_count(r->sim, r->idx, r->rank, i);
}

static void alltoall(struct ref *r)
{
	u32 n = r->sim->plan.hosts, i;

	for (i = 0; i < n; i++)
		put(r, r->recv[r->rank].at[i], input(r, i), r->send[i].at[r->rank],
		    share(r, i * n + r->rank));
}

static void gather(struct ref *r)
{
	u32 i;

	for (i = 0; i < r->sim->plan.hosts; i++)
		put(r, r->recv[r->rank].at[i], input(r, i), r->send[i].at[i], share(r, i));
}

/* What is done to the receive buffer of rank r->rank. */
static void perform(struct ref *r)
{
	u32 last = r->sim->plan.hosts - 1, me = r->rank, root = r->op.root;
	u64 count = r->op.count;

	switch (r->op.coll) {
	case INC_COLL_ALLREDUCE:
		put(r, 0, folded(r, last), 0, count);
		break;
	case INC_COLL_REDUCE:
		if (me == root)
			put(r, 0, folded(r, last), 0, count);
		break;
	case INC_COLL_REDUCE_SCATTER:
		put(r, 0, folded(r, last), r->send[me].at[me], share(r, me));
		break;
	case INC_COLL_BROADCAST:
		if (me != root)
			put(r, 0, input(r, root), 0, count);
		break;
	case INC_COLL_GATHER:
		if (me != root)
			break;
		fallthrough;
	case INC_COLL_ALLGATHER:
		gather(r);
		break;
	case INC_COLL_SCATTER:
		if (me != root || !plan_op_of(r->sim, r->idx, me).in_place)
			put(r, 0, input(r, root), r->send[root].at[me], share(r, me));
		break;
	case INC_COLL_ALLTOALL:
		alltoall(r);
		break;
	case INC_COLL_SCAN:
		put(r, 0, folded(r, me), 0, count);
		break;
	case INC_COLL_EXSCAN:
		if (me)
			put(r, 0, folded(r, me - 1), 0, count);
		break;
	default:
		break;
	}
}

u8 *reference(struct sim *sim, u32 idx, u32 rank, u8 flip, u32 absent, u64 *bytes)
{
	struct ref r = { .sim = sim, .retained = &sim->outcome[idx],
			 .op = sim_step_of(sim, idx)->op, .idx = idx, .rank = rank,
			 .absent = absent };
	bool in_place = plan_op_of(sim, idx, rank).in_place;
	u64 at;
	u32 i;

	r.size = netinc_reduce_elem_size(r.op.type);
	for (i = 0; i < sim->plan.hosts; i++)
		plan_layouts(sim, idx, i, &r.send[i], &r.recv[i]);
	*bytes = (in_place ? r.send[rank].length : r.recv[rank].length) * r.size;
	r.out = malloc(*bytes + 1);
	if (in_place)
		memcpy(r.out, input(&r, rank), *bytes);
	else
		buffer_poison(r.out, *bytes);
	for (at = 0; flip && at < *bytes; at++)
		r.out[at] ^= flip;
	perform(&r);
	free(r.without);
	return r.out;
}

/* All shares that rank @rank gets from others. */
static u64 others_shares(const struct sim *sim, u32 idx, u32 rank, bool pairs)
{
	u32 n = sim->plan.hosts, i;
	u64 all = 0;

	for (i = 0; i < n; i++)
		all += i == rank ? 0 : plan_count(sim, idx, rank, pairs ? i * n + rank : i);
	return all;
}

u64 reference_received(const struct sim *sim, u32 idx, u32 rank)
{
	struct plan_op o = plan_op_of(sim, idx, rank);
	bool root = rank == o.root;

	switch (o.coll) {
	case INC_COLL_REDUCE:
		return root ? o.count : 0;
	case INC_COLL_REDUCE_SCATTER:
		return plan_count(sim, idx, rank, rank);
	case INC_COLL_BROADCAST:
		return root ? 0 : o.count;
	case INC_COLL_ALLGATHER:
		return others_shares(sim, idx, rank, false);
	case INC_COLL_GATHER:
		return root ? others_shares(sim, idx, rank, false) : 0;
	case INC_COLL_SCATTER:
		return root ? 0 : plan_count(sim, idx, rank, rank);
	case INC_COLL_ALLTOALL:
		return others_shares(sim, idx, rank, true);
	case INC_COLL_SCAN:
	case INC_COLL_EXSCAN:
		return rank * o.count;
	default:
		return o.count;
	}
}

void reference_contradiction(const struct sim *sim, u32 idx, u32 rank[2])
{
	const struct plan_step *s = sim_step_of(sim, idx);
	u32 n = sim->plan.hosts;

	if (s->op.coll == INC_COLL_ALLTOALL) {
		rank[0] = s->odd_count / n;
		rank[1] = s->odd_count % n;
	} else {
		rank[0] = s->op.coll == INC_COLL_GATHER ? s->odd_count : s->op.root;
		rank[1] = s->op.coll == INC_COLL_GATHER ? s->op.root : s->odd_count;
	}
}

void reference_free(struct outcome *o)
{
	u32 i;

	for (i = 0; i < SIM_MAX_HOSTS; i++) {
		free(o->input[i]);
		free(o->fold[i]);
	}
	memset(o, 0, sizeof(*o));
}
