// SPDX-License-Identifier: GPL-2.0-only
/* What a seed stands for: the parameters of a run and its faults. */
#include "sim.h"

u64 pick(struct sim *sim, u64 lo, u64 hi)
{
	return lo + sim_below(sim, hi - lo + 1);
}

bool one_in(struct sim *sim, u32 n)
{
	return !sim_below(sim, n);
}

bool plan_mishap(struct sim *sim)
{
	u32 n = sim->mishaps++, i;

	for (i = 0; i < min_t(u32, sim->plan.nspared, SIM_MAX_SPARED); i++)
		if (sim->plan.spared[i] == n)
			return false;
	if (n >= sim->plan.mishaps)
		return false;
	sim->happened++;
	return true;
}

static enum fault pick_fault(struct sim *sim)
{
	return one_in(sim, 3) ? pick(sim, FAULT_NONE + 1, FAULT_COUNT - 1) : FAULT_NONE;
}

static void pick_round(struct sim *sim, u32 r)
{
	struct plan *p = &sim->plan;
	u32 nops = pick(sim, 1, one_in(sim, 6) ? SIM_MAX_OPS : 7), i, odd = 0;

	if (p->hosts > 1 && one_in(sim, 4))
		odd = pick(sim, 1, 3);
	p->round[r].nops = nops;
	plan_steps(sim, p->round[r].step, nops, odd);
	p->round[r].fault = pick_fault(sim);
	p->round[r].victim = sim_below(sim, p->hosts);
	p->round[r].leave_after = sim_below(sim, nops);
	p->round[r].fault_at = sim_below(sim, one_in(sim, 2) ? 20000 : 300000);
	p->round[r].pause = sim_below(sim, p->dead_ms * NETINC_MS / 2);
	if (p->fallback) {
		/* a rank may go in the middle of what befalls nodes */
		trouble_pick(sim, r);
		if (one_in(sim, 2)) {
			p->round[r].fault_when = pick(sim, WHEN_FORMED, WHEN_COUNT - 1);
			p->round[r].fault_at =
				sim_below(sim, one_in(sim, 2) ? 4 * p->base_delay + 1 : 300000);
		}
	}
	/* one kind of disagreement at a time: which comes first would depend on timing */
	if (p->round[r].fault == FAULT_LEAVES)
		for (i = 0; i < nops; i++)
			p->round[r].step[i].disagree = AGREE;
}

/* Where a group can go; long pauses between operations let it find the way back. */
static void pick_fallback(struct sim *sim)
{
	struct plan *p = &sim->plan;

	if (!one_in(sim, 2))
		return;
	p->fallback = pick(sim, INC_FALLBACK_STANDBY, INC_FALLBACK_EDGE);
	p->standbys = pick(sim, 0, SIM_MAX_STANDBYS);
	if (p->fallback == INC_FALLBACK_EDGE && one_in(sim, 2))
		p->standbys = 0;
	if (p->fallback == INC_FALLBACK_STANDBY && !one_in(sim, 16))
		p->standbys = max(p->standbys, 1u);
	p->networks = one_in(sim, 2);
	if (one_in(sim, 3))
		p->think = pick(sim, 0, 400000);
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

/* Some rank is always late, the others go on without it: operations that allow it, no faults. */
static void pick_partial(struct sim *sim)
{
	struct plan *p = &sim->plan;
	struct plan_step *s;
	u32 i;

	p->late_ms = pick(sim, 10, 100);
	p->think = pick(sim, 0, 4 * p->late_ms) * NETINC_MS;
	p->window = INC_MIN_WINDOW << sim_below(sim, 7);
	p->rounds = 1;
	p->hold_limit = ~0ull;
	p->fallback = INC_FALLBACK_NONE;
	memset(p->round[0].trouble, 0, sizeof(p->round[0].trouble));
	if (p->round[0].fault > FAULT_PAUSE)
		p->round[0].fault = FAULT_NONE;
	for (i = 0; i < p->round[0].nops; i++) {
		s = &p->round[0].step[i];
		s->disagree = AGREE;
		if (!netinc_coll_reduces(s->op.coll) || netinc_coll_chains(s->op.coll) ||
		    plan_has_counts(&s->op))
			s->op = (struct plan_op){ .coll = INC_COLL_ALLREDUCE, .type = INC_TYPE_I32,
						  .op = INC_OP_SUM, .in_place = s->op.in_place,
						  .count = s->op.count };
		s->op.count += !s->op.count;
		s->odd = s->op;
	}
}

/*
 * Results by multicast; now and then some hosts cannot join, or it ceases to reach some, or never
 * does. By dice of its own: a seed is the same otherwise.
 */
static void pick_multicast(struct sim *sim)
{
	static const u64 key[2] = { 0x6d756c7469636173, 0x74 };
	struct plan *p = &sim->plan;
	u32 all = (1u << p->hosts) - 1;
	u64 dice[2] = { sim->seed, 0 };

	dice[0] = netinc_siphash(dice, sizeof(dice), key);
	dice[1] = netinc_siphash(dice, sizeof(dice), key);
	p->multicast = !(dice[0] & 3);
	if (dice[0] & 4)
		p->deaf = all & (dice[0] >> 3) & (dice[0] >> 19);
	if (dice[0] >> 62 == 3)
		p->unable = all & (dice[0] >> 35);
	if (dice[1] & 1)
		p->deaf_at = (dice[1] >> 1) % 300000;
}

void plan_make(struct sim *sim)
{
	struct plan *p = &sim->plan;
	u32 i, spread;

	memset(p, 0, sizeof(*p));
	p->calm = ~0ull;
	p->mishaps = ~0u;
	p->hosts = one_in(sim, 3) ? pick(sim, 1, SIM_MAX_HOSTS) : pick(sim, 2, 4);
	p->window = INC_MIN_WINDOW << sim_below(sim, 5);
	p->rounds = one_in(sim, 4) ? 2 : 1;
	p->dead_ms = pick(sim, 500, 2000);
	if (!(p->dead_ms % 8))
		p->dead_ms = 10000;	/* as nodes have it without another word */
	p->late_ms = 0;
	p->block[0] = INC_MIN_BLOCK + INC_BLOCK_ALIGN * sim_below(sim, 12);
	for (i = 1; i < p->hosts; i++)
		p->block[i] =
			p->block[0] + (one_in(sim, 4) ? INC_BLOCK_ALIGN * sim_below(sim, 8) : 0);
	p->super_packet = one_in(sim, 2) ? pick(sim, 1, 44) : 4;
	p->gso = one_in(sim, 2);
	if (one_in(sim, 3))
		p->first_block = (one_in(sim, 2) ? 0 : 1ull << 32) - pick(sim, 1, 3 * p->window);
	/* results of two windows have to fit, contributions need not */
	p->hold_limit = ~0ull;
	if (one_in(sim, 3))
		p->hold_limit = 2 * p->window * (p->block[0] + 48) +
				pick(sim, p->window * p->hosts * p->block[0] / 4,
				     p->window * p->hosts * p->block[0]);
	p->inflight = pick(sim, 1, one_in(sim, 2) ? 1 : 8);
	p->think = one_in(sim, 2) ? 0 : pick(sim, 0, 20000);
	spread = one_in(sim, 4) ? 500000 : 2000;
	for (i = 0; i < p->hosts; i++)
		p->start[i] = sim_below(sim, spread);
	pick_network(sim);
	pick_fallback(sim);
	for (i = 0; i < p->rounds; i++)
		pick_round(sim, i);
	if (p->hosts > 1 && one_in(sim, 8))
		pick_partial(sim);
	tree_pick(sim);
	pick_multicast(sim);
}

static const char *const fault_names[FAULT_COUNT] = {
	"none", "pause", "freeze", "kill", "buffer", "node-silent", "node-forgets", "node-removed",
	"leaves", "path",
};

void plan_print(const struct sim *sim)
{
	const struct plan *p = &sim->plan;
	u32 r, i;

	printf("# %u hosts, W %u, block %u, super-packet %u, gso %d, first block %#llx, dead %u ms\n",
	       p->hosts, p->window, p->block[0], p->super_packet, p->gso,
	       (unsigned long long)p->first_block, p->dead_ms);
	if (p->multicast)
		printf("# results by multicast, hosts %#x are not in the group, %#x deaf from %llu us on\n",
		       p->unable, p->deaf, (unsigned long long)p->deaf_at);
	if (p->late_ms)
		printf("# late %u ms: partial\n", p->late_ms);
	printf("# loss %u burst %u dup %u reorder %u corrupt %u per 1000, delay %u + %u, late copies %u us\n",
	       p->loss, p->burst, p->duplicate, p->reorder, p->corrupt, p->base_delay, p->jitter,
	       p->late_delay);
	printf("# fail hold %u fold %u deliver %u send %u per 1000, hold limit %lld; in flight %u, think %u us\n",
	       p->fail_hold, p->fail_fold, p->fail_deliver, p->fail_send, (long long)p->hold_limit,
	       p->inflight, p->think);
	tree_print(sim);
	hostile_print(sim);
	others_print(sim);
	printf("# fallback %u, %u standby nodes, networks %d\n", p->fallback, p->standbys,
	       p->networks);
	for (r = 0; r < p->rounds; r++) {
		printf("# round %u: fault %s, victim %u, node %u, %llu us after %s; %u operations:",
		       r, fault_names[p->round[r].fault], p->round[r].victim,
		       p->round[r].fault_node,
		       (unsigned long long)p->round[r].fault_at,
		       trouble_when(p->round[r].fault_when), p->round[r].nops);
		for (i = 0; i < p->round[r].nops; i++)
			plan_print_step(&p->round[r].step[i]);
		printf("\n");
		trouble_print(sim, r);
	}
}

/*
 * What ranks sent in the round before has arrived by then, but for late copies; and these too if
 * the group did not end in order: late JOINs of a process that is gone could make it a member.
 */
u64 plan_pause(const struct sim *sim)
{
	if (!sim->round)
		return 0;
	if (sim->plan.round[sim->round - 1].fault <= FAULT_PAUSE && !sim->troubled)
		return 20 * sim->plan.base_delay;
	return 20 * sim->plan.base_delay + sim->plan.late_delay + 400 * NETINC_MS;
}
