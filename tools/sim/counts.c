// SPDX-License-Identifier: GPL-2.0-only
/*
 * The exchange of counts before a gather, scatter or alltoall whose counts differ: the root tells
 * what it expects or gives, the others their own; of an alltoall everybody tells what it sends to
 * all and what it expects of all.
 */
#include "sim.h"

/* Number @i of what @rank has told. */
static u32 told(const struct sim_op *x, u32 rank, u32 i)
{
	__le32 v;

	memcpy(&v, x->recv + (x->recv_at.at[rank] + i) * sizeof(v), sizeof(v));
	return le32_to_cpu(v);
}

static void tell(struct sim_op *x, u32 i, u64 count)
{
	__le32 v = cpu_to_le32((u32)count);

	memcpy(x->send + (x->send_at.at[x->op.rank] + i) * sizeof(v), &v, sizeof(v));
}

struct sim_op *counts_exchange(struct sim *sim, struct app_op *a, u32 rank)
{
	struct plan_op o = plan_op_of(sim, a->idx, rank);
	u32 n = sim->plan.hosts, counts[SIM_MAX_HOSTS], i;
	struct sim_op *x;

	for (i = 0; i < n; i++)
		counts[i] = o.coll == INC_COLL_ALLTOALL ? 2 * n : i == o.root ? n : 1;
	x = buffer_new_exchange(sim, a, rank, counts);
	for (i = 0; i < n; i++) {
		if (o.coll == INC_COLL_ALLTOALL) {
			tell(x, i, plan_count(sim, a->idx, rank, rank * n + i));
			tell(x, n + i, plan_count(sim, a->idx, rank, i * n + rank));
		} else if (rank == o.root) {
			tell(x, i, plan_count(sim, a->idx, rank, i));
		}
	}
	if (o.coll != INC_COLL_ALLTOALL && rank != o.root)
		tell(x, 0, plan_count(sim, a->idx, rank, rank));
	return x;
}

/* All ranks see the same, and so find the same. */
static void contradiction(struct netinc_op *op, u32 from, u32 to)
{
	if (op->error.code)
		return;
	op->error.code = INC_ERR_COUNTS;
	op->error.opseq = op->seq;
	op->error.rank[0] = from;
	op->error.rank[1] = to;
}

static void take_pairs(struct sim_op *o, const struct sim_op *x)
{
	u32 n = o->op.size, from, to;

	for (from = 0; from < n; from++) {
		for (to = 0; to < n; to++) {
			o->counts[from * n + to] = told(x, from, to);
			if (told(x, from, to) != told(x, to, n + from))
				contradiction(&o->op, from, to);
		}
	}
}

static void take_ranks(struct sim_op *o, const struct sim_op *x)
{
	u32 root = o->op.root, i;

	for (i = 0; i < o->op.size; i++) {
		o->counts[i] = told(x, root, i);
		if (i == root || told(x, i, 0) == o->counts[i])
			continue;
		if (o->op.coll == INC_COLL_GATHER)
			contradiction(&o->op, i, root);
		else
			contradiction(&o->op, root, i);
	}
}

void counts_exchanged(struct app_op *a)
{
	struct sim_op *o = a->main;
	u32 n = o->op.coll == INC_COLL_ALLTOALL ? o->op.size * o->op.size : o->op.size, i;

	o->counts = calloc(n, sizeof(*o->counts));
	if (o->op.coll == INC_COLL_ALLTOALL)
		take_pairs(o, a->exchange);
	else
		take_ranks(o, a->exchange);
	for (i = 0; i < n; i++)
		o->op.count += o->counts[i];
	o->op.counts = o->counts;
	o->op.hold = false;
}
