// SPDX-License-Identifier: GPL-2.0-only
/* One seed: one run. */
#include <inttypes.h>
#include <stdarg.h>

#include "sim.h"
#include "siphash.h"

#define MAX_STEPS	20000000ull

void sim_trace(struct sim *sim, const char *fmt, ...)
{
	va_list ap;

	if (!sim->trace)
		return;
	printf("%10" PRIu64 " ", sim->now);
	if (sim->main)
		printf("group %#x: ", sim->group);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

void sim_fail(struct sim *sim, const char *fmt, ...)
{
	struct sim *top = sim->main ?: sim;
	va_list ap;

	top->failure = fmt;
	printf("# seed %" PRIu64 ", %" PRIu64 " us, round %u: ", top->seed, sim->now, top->round);
	if (sim->main)
		printf("group %#x: ", sim->group);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	longjmp(*top->bail, 1);
}

bool run_all_finished(const struct sim *sim)
{
	u32 i;

	for (i = 0; i < sim->plan.hosts; i++)
		if (!sim->host[i].finished && !hostile_is_rank(sim, i))
			return false;
	return true;
}

/* When everything has to be over: nothing goes wrong any more, all have begun, pauses are over. */
u64 run_deadline(const struct sim *sim)
{
	const struct plan *p = &sim->plan;
	u64 begin = sim->round_begin + p->round[sim->round].fault_at + p->round[sim->round].pause;
	u32 i;

	for (i = 0; i < p->hosts; i++)
		begin = max(begin, sim->round_begin + p->start[i]);
	if (p->round[sim->round].fault_when)
		begin += 5 * p->dead_ms * NETINC_MS;
	return max(begin, p->calm) +
	       (u64)p->round[sim->round].nops * (p->think + 20 * p->base_delay) +
	       plan_blocks(sim) * (2 * p->base_delay + p->jitter) + 6 * p->dead_ms * NETINC_MS +
	       5 * SIM_SEC + hostile_bound(sim);
}

static void print_ranks(const struct sim *sim)
{
	u32 i;

	for (i = 0; i < sim->plan.hosts; i++) {
		const struct host *h = &sim->host[i];

		printf("# rank %u: state %u, epoch %u, %u of %u operations done, una %" PRIu64
		       ", snd %" PRIu64 ", move %u of %u, finished %d\n",
		       i, h->ep.state, h->ep.epoch, h->done, h->next, h->ep.una, h->ep.snd,
		       h->ep.settled, h->ep.move, h->finished);
	}
}

static void run_round(struct sim *sim, u32 round)
{
	bool more;
	u64 limit, after = 0;
	u32 i;

	sim->round = round;
	sim->round_begin = sim->now + plan_pause(sim);
	for (i = 0; i < SIM_MAX_NODES; i++)
		sim->node[i].silent = false;
	sim->rounds_deep += tree_is_deep(sim);
	sim->edge_lineage = 0;
	sim->edge_epoch = 0;
	for (i = 0; i < sim->plan.hosts; i++)
		host_start(sim, i);
	trouble_start(sim);
	hostile_start(sim);
	limit = run_deadline(sim);
	for (i = 0; i < SIM_MAX_TROUBLES; i++)
		if (sim->plan.round[round].trouble[i].kind)
			after += 4 * sim->plan.dead_ms * NETINC_MS + 3 * SIM_SEC;
	while (!run_all_finished(sim)) {
		more = others_step(sim);
		if (more && sim->now <= max(limit, sim->trouble_end) + after &&
		    sim->steps <= MAX_STEPS)
			continue;
		print_ranks(sim);
		if (!more)
			sim_fail(sim, "nothing is left to happen after %" PRIu64 " steps",
				 sim->steps);
		sim_fail(sim, "not finished in time, after %" PRIu64 " steps", sim->steps);
	}
	hostile_end(sim);
	check_round_done(sim);
}

/* Afterwards the node gets rid of the group by itself. */
static void run_out(struct sim *sim)
{
	u64 limit = sim->now + 4 * sim->plan.dead_ms * NETINC_MS + sim->plan.late_delay +
		    hostile_bound(sim);

	/* a node whose last word is lost is waited for as long as its ranks may be silent */
	if (sim->plan.tree.nodes)
		limit += 16 * SIM_SEC;
	while (node_has_groups(sim) && others_step(sim))
		if (sim->now > limit)
			sim_fail(sim, "the node still has the group");
}

void run_clean(struct sim *sim)
{
	u32 i;

	sim_drop_events(sim);
	hostile_free(sim);
	for (i = 0; i < SIM_MAX_HOSTS; i++)
		host_free(&sim->host[i]);
	node_free(sim);
	free(sim->heap);
	if (sim->live)
		sim_fail(sim, "%" PRIu64 " datagrams leak", sim->live);
}

bool run_seed(struct sim *sim, u64 seed, const struct overrides *overrides, bool trace)
{
	jmp_buf bail;
	u32 r;

	memset(sim, 0, sizeof(*sim));
	sim->group = SIM_GROUP;
	sim->seed = seed;
	sim->random = seed;
	sim->trace = trace;
	sim->bail = &bail;
	if (setjmp(bail)) {
		if (!trace)
			plan_print(sim);
		return false;
	}
	plan_make(sim);
	hostile_pick(sim, (u32)override_get(overrides, SET_HOSTILE));
	override_apply(sim, overrides);
	if (trace)
		plan_print(sim);
	node_init(sim);
	others_start(sim);
	for (r = 0; r < sim->plan.rounds; r++)
		run_round(sim, r);
	run_out(sim);
	others_end(sim);
	run_clean(sim);
	return true;
}
