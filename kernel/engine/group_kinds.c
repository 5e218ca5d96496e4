// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the nodes of a group fold, and what its ranks ask for. While the group forms JOINs bring up
 * what nodes lack; READY tells all ranks what any node of the tree lacks, and that is so for the
 * life of the group. Who comes second of two that do not go together, a node that lacks a type or
 * an operation and a rank that asks for it, is refused.
 */
#include "group.h"

/*
 * Does what member @i has said of what it lacks count? Of ranks only the node knows; and of a group
 * that returns it is known already.
 */
static bool is_told_by(const struct netinc_group *g, u32 i)
{
	return g->members[i].present && g->members[i].height && !g->cfg.returns;
}

struct netinc_kinds netinc_children_lack(const struct netinc_group *g)
{
	struct netinc_kinds lacks = g->cfg.settings.lacks;
	u32 i;

	for (i = 0; i < g->nmembers; i++)
		if (is_told_by(g, i))
			lacks = netinc_kinds_or(lacks, g->members[i].lacks);
	return lacks;
}

struct netinc_kinds netinc_children_ask(const struct netinc_group *g)
{
	struct netinc_kinds asks = {};
	u32 i;

	for (i = 0; i < g->nmembers; i++)
		if (g->members[i].present)
			asks = netinc_kinds_or(asks, g->members[i].asks);
	return asks;
}

void netinc_children_take_kinds(struct netinc_group *g, struct netinc_member *m,
				const struct inc_join *join)
{
	struct netinc_kinds lacks = netinc_join_lacks(join), asks = netinc_join_asks(join);

	if (m->present &&
	    (!netinc_kinds_same(m->lacks, lacks) || !netinc_kinds_same(m->asks, asks)))
		g->up.news = true;
	m->lacks = lacks;
	m->asks = asks;
}

static int refuse_lacking(struct netinc_kinds lacks, struct netinc_kinds asks, u64 *detail)
{
	struct netinc_kinds missing = netinc_kinds_and(lacks, asks);

	if (!netinc_kinds_any(missing))
		return 0;
	*detail = netinc_kinds_detail(missing);
	return INC_REFUSE_KINDS;
}

int netinc_children_check_kinds(const struct netinc_group *g, u32 child,
				const struct inc_join *join, const struct netinc_peer *peer,
				u64 *detail)
{
	struct netinc_kinds lacks = g->cfg.settings.lacks, asks = netinc_join_asks(join);
	u32 i;

	if (netinc_join_height(join) && !g->cfg.returns)
		lacks = netinc_kinds_or(lacks, netinc_join_lacks(join));
	for (i = 0; i < g->nmembers; i++) {
		/* what it has been until now */
		if (i == child || !g->members[i].present ||
		    netinc_children_outdated(g, i, join, peer))
			continue;
		asks = netinc_kinds_or(asks, g->members[i].asks);
		if (is_told_by(g, i))
			lacks = netinc_kinds_or(lacks, g->members[i].lacks);
	}
	return refuse_lacking(lacks, asks, detail);
}

int netinc_kinds_admit(struct netinc_kinds own, const struct inc_join *join, u64 *detail)
{
	struct netinc_kinds more = netinc_kinds_less(own, netinc_join_lacks(join));

	if (join->lineage && !netinc_join_shrinks(join) && netinc_kinds_any(more)) {
		*detail = netinc_kinds_detail(more);
		return INC_REFUSE_KINDS;
	}
	return refuse_lacking(own, netinc_join_asks(join), detail);
}
