// SPDX-License-Identifier: GPL-2.0-only
/*
 * Other groups that the node serves while somebody lies to it or to the group that is looked at.
 * Nothing may happen to them. Each is a system of its own, with a plan, a network and random
 * numbers that nobody else uses; its node's groups, though, are in the same box. It runs twice:
 * first alone, and then beside the others. Whatever its ranks do, whatever is sent, whatever is
 * counted has to be the same, and at the same time.
 */
#include "sim.h"

#define MOST_HOSTS	4
#define LATEST		1000000		/* microseconds after the first group */

struct sim *others_find(struct sim *sim, u32 group)
{
	struct sim *top = sim->main ?: sim;
	u32 i;

	if (group == sim->group || group == top->group)
		return group == sim->group ? sim : top;
	for (i = 0; i < SIM_MAX_OTHERS; i++)
		if (top->other[i] && top->other[i]->group == group)
			return top->other[i];
	return NULL;
}

void others_print(const struct sim *sim)
{
	u32 i;

	for (i = 0; i < SIM_MAX_OTHERS; i++) {
		if (!sim->other[i])
			continue;
		printf("# another group, %#x:\n", sim->other[i]->group);
		plan_print(sim->other[i]);
		printf("# the group that is looked at:\n");
	}
}

static u64 mix(u64 hash, u64 value)
{
	hash ^= value;
	hash *= 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

void others_sent(struct sim *sim, const struct frame *f)
{
	struct netinc_pkt pkt = { 0 };
	u64 hash;
	u32 i;

	/* late copies may still come when it is over: how long they are waited for differs */
	if (!sim->main || sim->story.over)
		return;
	hash = mix(mix(sim->story.sent, sim->now), (u64)f->from << 32 | f->to);
	for (i = 0; i < f->n; i++) {
		netinc_parse(f->d[i]->data, f->d[i]->len, &pkt);
		hash = mix(mix(hash, (u64)pkt.psn << 32 | pkt.opseq),
			   (u64)f->d[i]->len << 32 | pkt.flags << 8 | pkt.type);
	}
	sim->story.sent = hash;
}

void others_done(struct host *h, u32 idx)
{
	h->sim->story.done[h->rank][idx] = h->sim->now;
}

/* An honest group, whose members, nodes and ways last; its network is as bad as any. */
static void plan_other(struct sim *o)
{
	struct overrides few = { 0 };
	struct plan *p = &o->plan;
	u64 later;
	u32 i;

	plan_make(o);
	p->rounds = 1;
	p->tree.nodes = 0;
	p->round[0].fault = FAULT_NONE;
	memset(p->round[0].trouble, 0, sizeof(p->round[0].trouble));
	later = sim_below(o, one_in(o, 2) ? 1 : LATEST);
	for (i = 0; i < p->hosts; i++)
		p->start[i] += later;
	override_set(&few, override_of(SET_HOSTS, 0, 0, min_t(u32, p->hosts, MOST_HOSTS)));
	override_apply(o, &few);
}

static struct sim *other_new(struct sim *sim, u32 i, bool alone)
{
	struct sim *o = calloc(1, sizeof(*o));

	o->main = sim;
	o->group = SIM_GROUP + 1 + i;
	o->seed = sim->seed * SIM_MAX_OTHERS + i;
	o->random = ~o->seed * 0xd1342543de82ef95ull;
	o->trace = sim->trace && !alone;
	plan_other(o);
	node_init(o);
	if (alone)
		o->node[0].box = &o->box[0];
	for (i = 0; i < o->plan.hosts; i++)
		host_start(o, i);
	trouble_start(o);
	return o;
}

static bool is_over(const struct sim *o)
{
	return run_all_finished(o) && !node_has_groups(o);
}

static void see_end(struct sim *o)
{
	if (!o->story.end && run_all_finished(o))
		o->story.end = o->now;
	o->story.over |= o->story.end && is_over(o);
}

static void count_story(struct sim *o)
{
	u32 i, k;

	for (i = 0; i < o->plan.hosts; i++)
		for (k = 0; k < __INC_C_MAX; k++)
			o->story.counters[k] += o->host[i].ep.counters[k];
	for (k = 0; k < __INC_C_MAX; k++)
		o->story.counters[k] += o->totals[k];
	check_round_done(o);
}

static struct story run_alone(struct sim *sim, u32 i)
{
	struct sim *o = other_new(sim, i, true);
	u64 limit = run_deadline(o);
	struct story story;

	while (!o->story.over) {
		if (!sim_step(o) || o->now > limit + 4 * o->plan.dead_ms * NETINC_MS)
			sim_fail(o, "alone it is not finished in time");
		see_end(o);
	}
	count_story(o);
	story = o->story;
	run_clean(o);
	free(o);
	return story;
}

void others_start(struct sim *sim)
{
	u32 i;

	if (!sim->plan.hostile.who || hostile_nodes(sim))
		return;
	for (i = 0; i < min_t(u32, sim->plan.others, SIM_MAX_OTHERS); i++) {
		sim->alone[i] = run_alone(sim, i);
		sim->other[i] = other_new(sim, i, false);
	}
	if (sim->trace)
		others_print(sim);
}

/*
 * What somebody says to another group comes behind all that is to happen there at that time: the
 * timers that it would set off are those of the right host, but in another order.
 */
static struct sim *others_next(struct sim *sim)
{
	struct sim *next = NULL, *o;
	u32 i;

	for (i = 0; i < SIM_MAX_OTHERS; i++) {
		o = sim->other[i];
		if (o && o->events && (!next || o->heap[0].at < next->heap[0].at))
			next = o;
	}
	if (sim->events && (!next || sim->heap[0].at < next->heap[0].at))
		next = sim;
	return next;
}

bool others_step(struct sim *sim)
{
	struct sim *next = others_next(sim);
	u32 i;
	bool more;

	if (!next)
		return false;
	/* what comes to one by another one's network comes now */
	sim->now = next->heap[0].at;
	for (i = 0; i < SIM_MAX_OTHERS; i++)
		if (sim->other[i])
			sim->other[i]->now = sim->now;
	more = sim_step(next);
	if (next != sim)
		see_end(next);
	return more;
}

/* Drops are counted where somebody sends what is not his to send. */
static bool is_drop(u32 counter)
{
	static const char * const names[__INC_C_MAX] = {
#define INC_COUNTER(name, ...) [INC_C_##name] = #name,
#include <linux/inc_counters.h>
#undef INC_COUNTER
	};

	return names[counter] && !strncmp(names[counter], "DROP_", 5);
}

static void compare_times(struct sim *o, const struct story *alone)
{
	u32 i, k;

	for (k = 0; k < o->plan.round[0].nops; k++)
		for (i = 0; i < o->plan.hosts; i++)
			if (o->story.done[i][k] != alone->done[i][k])
				sim_fail(o,
					 "rank %u has been done with operation %u at %llu us, alone it is at %llu us",
					 i, k, (unsigned long long)o->story.done[i][k],
					 (unsigned long long)alone->done[i][k]);
	if (o->story.end != alone->end)
		sim_fail(o, "it has ended at %llu us, alone it does at %llu us",
			 (unsigned long long)o->story.end, (unsigned long long)alone->end);
}

static void compare(struct sim *o, const struct story *alone)
{
	u32 k;

	compare_times(o, alone);
	for (k = 0; k < __INC_C_MAX; k++)
		if (!is_drop(k) && o->story.counters[k] != alone->counters[k])
			sim_fail(o, "counter %u is %llu, alone it is %llu", k,
				 (unsigned long long)o->story.counters[k],
				 (unsigned long long)alone->counters[k]);
	if (o->story.sent != alone->sent)
		sim_fail(o, "its ranks and its node send something else than alone");
}

static bool all_over(const struct sim *sim)
{
	u32 i;

	for (i = 0; i < SIM_MAX_OTHERS; i++)
		if (sim->other[i] && !sim->other[i]->story.over)
			return false;
	return true;
}

void others_end(struct sim *sim)
{
	u64 limit = sim->now;
	u32 i;

	for (i = 0; i < SIM_MAX_OTHERS; i++)
		if (sim->other[i])
			limit = max(limit, sim->alone[i].end +
				    8 * sim->other[i]->plan.dead_ms * NETINC_MS);
	while (!all_over(sim) && sim->now <= limit)
		others_step(sim);
	for (i = 0; i < SIM_MAX_OTHERS; i++) {
		if (!sim->other[i])
			continue;
		if (!sim->other[i]->story.over)
			sim_fail(sim->other[i], "it has not ended, alone it does at %llu us",
				 (unsigned long long)sim->alone[i].end);
		count_story(sim->other[i]);
		compare(sim->other[i], &sim->alone[i]);
		run_clean(sim->other[i]);
		sim->served++;
		free(sim->other[i]);
		sim->other[i] = NULL;
	}
}
