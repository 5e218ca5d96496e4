// SPDX-License-Identifier: GPL-2.0-only
/* What a seed stands for: the parameters of a run, its operations and its faults. */
#include "sim.h"

static u64 pick(struct sim *sim, u64 lo, u64 hi)
{
	return lo + sim_below(sim, hi - lo + 1);
}

static bool one_in(struct sim *sim, u32 n)
{
	return !sim_below(sim, n);
}

/* Elements: none, few, about a packet's, about a window's, up to three windows. */
static u64 pick_count(struct sim *sim)
{
	const struct plan *p = &sim->plan;
	u64 full = p->block[0] / 4, head = (p->block[0] - sizeof(struct inc_desc)) / 4;

	switch (sim_below(sim, 8)) {
	case 0:
		return 0;
	case 1:
		return pick(sim, 1, 5);
	case 2:
		return head + pick(sim, 0, 2) - 1;
	case 3:
		return head + full + pick(sim, 0, 2) - 1;
	case 4:
		return p->window * full + pick(sim, 0, full);
	default:
		return pick(sim, 1, (one_in(sim, 3) ? 3 : 1) * p->window * full);
	}
}

static void pick_op(struct sim *sim, struct plan_op *o)
{
	memset(o, 0, sizeof(*o));
	if (one_in(sim, 5)) {
		o->coll = INC_COLL_BARRIER;
		return;
	}
	o->coll = INC_COLL_ALLREDUCE;
	o->type = one_in(sim, 2) ? INC_TYPE_I32 : INC_TYPE_F32;
	o->in_place = one_in(sim, 2);
	o->count = pick_count(sim);
}

/* One rank disagrees: about the collective, the type or the count. */
static void pick_mismatch(struct sim *sim, struct plan_op *o)
{
	o->mismatch = true;
	o->odd_rank = sim_below(sim, sim->plan.hosts);
	o->odd_coll = INC_COLL_ALLREDUCE;
	o->odd_type = o->type == INC_TYPE_I32 ? INC_TYPE_F32 : INC_TYPE_I32;
	o->odd_count = o->count;
	if (o->coll == INC_COLL_BARRIER)
		return;
	if (one_in(sim, 3)) {
		o->odd_coll = INC_COLL_BARRIER;
		o->odd_type = 0;
		o->odd_count = 0;
	} else if (one_in(sim, 2)) {
		o->odd_type = o->type;
		do
			o->odd_count = pick_count(sim);
		while (o->odd_count == o->count);
	}
}

static enum fault pick_fault(struct sim *sim)
{
	return one_in(sim, 3) ? pick(sim, FAULT_NONE + 1, FAULT_COUNT - 1) : FAULT_NONE;
}

static void pick_round(struct sim *sim, u32 r)
{
	struct plan *p = &sim->plan;
	u32 nops = pick(sim, 1, one_in(sim, 4) ? SIM_MAX_OPS : 10), i, odd = 0;

	if (one_in(sim, 4))
		odd = pick(sim, 1, 3);
	p->round[r].nops = nops;
	for (i = 0; i < nops; i++) {
		pick_op(sim, &p->round[r].op[i]);
		if (odd && sim_below(sim, nops) < odd)
			pick_mismatch(sim, &p->round[r].op[i]);
	}
	p->round[r].fault = pick_fault(sim);
	p->round[r].victim = sim_below(sim, p->hosts);
	p->round[r].leave_after = sim_below(sim, nops);
	p->round[r].fault_at = sim_below(sim, one_in(sim, 2) ? 20000 : 300000);
	p->round[r].pause = sim_below(sim, p->dead_ms * NETINC_MS / 2);
	/* one kind of disagreement at a time: which comes first would depend on timing */
	if (p->round[r].fault == FAULT_LEAVES)
		for (i = 0; i < nops; i++)
			p->round[r].op[i].mismatch = false;
}

static void pick_network(struct sim *sim)
{
	struct plan *p = &sim->plan;

	if (!one_in(sim, 4)) {
		p->loss = one_in(sim, 2) ? pick(sim, 0, 20) : pick(sim, 0, 120);
		p->burst = one_in(sim, 4) ? pick(sim, 0, 5) : 0;
		p->duplicate = one_in(sim, 2) ? pick(sim, 0, 100) : 0;
		p->reorder = one_in(sim, 2) ? pick(sim, 0, 200) : 0;
		p->corrupt = one_in(sim, 3) ? pick(sim, 0, 50) : 0;
		p->late_delay = one_in(sim, 3) ? pick(sim, 1, 3000000) : pick(sim, 1, 5000);
	}
	p->base_delay = pick(sim, 1, one_in(sim, 4) ? 5000 : 100);
	p->jitter = one_in(sim, 2) ? pick(sim, 0, 2 * p->base_delay) : 0;
	if (one_in(sim, 3)) {
		p->fail_hold = pick(sim, 0, 100);
		p->fail_fold = pick(sim, 0, 100);
		p->fail_deliver = pick(sim, 0, 50);
		p->fail_send = pick(sim, 0, 100);
	}
	/* that a network should lose all of a dozen probes is not what is looked for */
	if (p->loss > 30 || p->burst)
		p->dead_ms += 1500;
	p->calm = 3 * SIM_SEC + sim_below(sim, SIM_SEC);
}

void plan_make(struct sim *sim)
{
	struct plan *p = &sim->plan;
	u32 i, spread;

	memset(p, 0, sizeof(*p));
	p->calm = ~0ull;
	p->hosts = one_in(sim, 2) ? pick(sim, 2, 4) : pick(sim, 2, SIM_MAX_HOSTS);
	p->window = INC_MIN_WINDOW << sim_below(sim, 5);
	p->rounds = one_in(sim, 4) ? 2 : 1;
	p->dead_ms = pick(sim, 500, 2000);
	p->late_ms = 0;
	p->block[0] = INC_MIN_BLOCK + INC_BLOCK_ALIGN * sim_below(sim, 12);
	for (i = 1; i < p->hosts; i++)
		p->block[i] = p->block[0] + (one_in(sim, 4) ? INC_BLOCK_ALIGN * sim_below(sim, 8) : 0);
	p->super_packet = one_in(sim, 2) ? pick(sim, 1, 44) : 4;
	p->gso = one_in(sim, 2);
	if (one_in(sim, 3))
		p->first_block = (one_in(sim, 2) ? 0 : 1ull << 32) - pick(sim, 1, 3 * p->window);
	/* results of two windows have to fit, contributions need not */
	p->hold_limit = ~0ull;
	if (one_in(sim, 3))
		p->hold_limit = 2 * p->window * (p->block[0] + 48) + pick(sim, p->window * p->hosts * p->block[0] / 4,
									       p->window * p->hosts * p->block[0]);
	p->inflight = pick(sim, 1, one_in(sim, 2) ? 1 : 8);
	p->think = one_in(sim, 2) ? 0 : pick(sim, 0, 20000);
	spread = one_in(sim, 4) ? 500000 : 2000;
	for (i = 0; i < p->hosts; i++)
		p->start[i] = sim_below(sim, spread);
	pick_network(sim);
	for (i = 0; i < p->rounds; i++)
		pick_round(sim, i);
}

static const char * const fault_names[FAULT_COUNT] = {
	"none", "pause", "freeze", "kill", "buffer", "node-silent", "node-forgets", "node-removed", "leaves",
};

void plan_print(const struct sim *sim)
{
	const struct plan *p = &sim->plan;
	u32 r, i;

	printf("# %u hosts, W %u, block %u, super-packet %u, gso %d, first block %#llx, dead %u ms\n", p->hosts,
	       p->window, p->block[0], p->super_packet, p->gso, (unsigned long long)p->first_block, p->dead_ms);
	printf("# loss %u burst %u dup %u reorder %u corrupt %u per 1000, delay %u + %u, late copies %u us\n", p->loss,
	       p->burst, p->duplicate, p->reorder, p->corrupt, p->base_delay, p->jitter, p->late_delay);
	printf("# fail hold %u fold %u deliver %u send %u per 1000, hold limit %lld; in flight %u, think %u us\n",
	       p->fail_hold, p->fail_fold, p->fail_deliver, p->fail_send, (long long)p->hold_limit, p->inflight,
	       p->think);
	for (r = 0; r < p->rounds; r++) {
		printf("# round %u: fault %s, victim %u, at %llu us; %u operations:", r,
		       fault_names[p->round[r].fault], p->round[r].victim,
		       (unsigned long long)p->round[r].fault_at, p->round[r].nops);
		for (i = 0; i < p->round[r].nops; i++) {
			const struct plan_op *o = &p->round[r].op[i];

			printf(" %c%llu%s", o->coll == INC_COLL_BARRIER ? 'b' : o->type == INC_TYPE_I32 ? 'i' : 'f',
			       (unsigned long long)o->count, o->mismatch ? "!" : "");
		}
		printf("\n");
	}
}

/*
 * What ranks sent in the round before has arrived by then, but for late copies; and these too if the group did not end
 * in order: late JOINs of a process that is gone could make it a member again.
 */
u64 plan_pause(const struct sim *sim)
{
	if (!sim->round)
		return 0;
	if (sim->plan.round[sim->round - 1].fault <= FAULT_PAUSE)
		return 20 * sim->plan.base_delay;
	return 20 * sim->plan.base_delay + sim->plan.late_delay + 400 * NETINC_MS;
}

void plan_op_of(const struct sim *sim, u32 idx, u32 rank, struct netinc_op *op, bool *in_place)
{
	const struct plan_op *o = &sim->plan.round[sim->round].op[idx];
	bool odd = o->mismatch && o->odd_rank == rank;

	memset(op, 0, sizeof(*op));
	op->coll = odd ? o->odd_coll : o->coll;
	op->count = odd ? o->odd_count : o->count;
	op->type = odd ? o->odd_type : o->type;
	op->wire = op->type;
	op->op = op->coll == INC_COLL_ALLREDUCE ? INC_OP_SUM : INC_OP_NONE;
	*in_place = o->in_place;
}

/* Floats of very different size, so that another order of additions gives other bits; infinities now and then. */
static u32 float_bits(u64 r)
{
	if (!(r & 0xffff))
		return 0x7f800000u | (u32)(r >> 63) << 31;
	return (u32)(r >> 63) << 31 | (u32)(110 + (r >> 8) % 30) << 23 | (u32)(r >> 32 & 0x7fffff);
}

void plan_input(const struct sim *sim, u32 idx, u32 rank, u8 type, u8 *buf, u64 n)
{
	u64 x = sim->seed * 0x9e3779b97f4a7c15ull + ((u64)sim->round << 40 | (u64)idx << 20 | rank) + 1, i, r;
	__le32 v;

	x ^= x >> 31;
	x *= 0xbf58476d1ce4e5b9ull;
	x |= 1;
	for (i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		r = x * 0x2545f4914f6cdd1dull;
		v = cpu_to_le32(type == INC_TYPE_F32 ? float_bits(r) : (u32)(r >> 32));
		memcpy(buf + 4 * i, &v, sizeof(v));
	}
}
