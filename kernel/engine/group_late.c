// SPDX-License-Identifier: GPL-2.0-only
/* Late members: reports, and what the group's policy says; rule 5 of protocol.rst. */
#include "group.h"

/* A node that is late waits for a rank itself. */
static u32 late_number(const struct netinc_group *g, u32 child)
{
	const struct netinc_child *c = &g->agg.child[child];

	return c->waits_for != NETINC_NO_RANK ? c->waits_for : c->number;
}

static void report_late(struct netinc_group *g, u32 rank, u64 block, u64 since, u64 now)
{
	g->late_rank = rank;
	g->late_block = block;
	g->late_since = since;
	g->late_us = now - since;
	g->agg.watch = (struct netinc_watch){ .child = rank, .q = block };
	g->ops->event(g, INC_EVENT_RANK_LATE, late_number(g, rank));
}

static void report_back(struct netinc_group *g, u64 now)
{
	g->late_us = (g->agg.watch.came ?: now) - g->late_since;
	g->ops->event(g, INC_EVENT_RANK_BACK, late_number(g, g->late_rank));
	g->late_rank = NETINC_NO_RANK;
}

/*
 * The rank that others wait for. Who has left does not wait any more, and who is to leave last
 * keeps nobody.
 */
static u32 late_rank(const struct netinc_group *g, u64 *since)
{
	const struct netinc_slot *slot = netinc_agg_slot(&g->agg, g->agg.una);

	if (slot->q == g->agg.una && (slot->flags & INC_F_LEAVE) && !slot->bad)
		return NETINC_NO_RANK;
	return netinc_agg_waiting(&g->agg, since);
}

static u64 event_limit(const struct netinc_group *g)
{
	const struct netinc_settings *s = &g->cfg.settings;

	return s->late_ms && s->late_policy == INC_LATE_WAIT ? s->late_ms * NETINC_MS :
							       NETINC_LATE_EVENT;
}

u32 netinc_group_check_late(struct netinc_group *g, u64 now)
{
	u64 since = now, limit = g->cfg.settings.late_ms * NETINC_MS, block = g->agg.una;
	u32 rank;

	if (g->late_rank != NETINC_NO_RANK &&
	    (s64)(g->agg.child[g->late_rank].frontier - g->late_block) > 0)
		report_back(g, now);
	rank = late_rank(g, &since);
	if (rank == NETINC_NO_RANK)
		return NETINC_NO_RANK;
	if (g->late_rank == NETINC_NO_RANK && now - since >= event_limit(g))
		report_late(g, rank, block, since, now);
	if (!limit || g->cfg.settings.late_policy == INC_LATE_WAIT || now - since < limit)
		return NETINC_NO_RANK;
	if (g->cfg.settings.late_policy == INC_LATE_PARTIAL) {
		u32 stuck = netinc_agg_pass(&g->agg, limit, now);

		if (g->agg.una != block && g->late_rank == NETINC_NO_RANK)
			report_late(g, rank, block, since, now);
		return stuck;
	}
	return rank;
}
