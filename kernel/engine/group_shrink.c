// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shrinking: a group has failed because ranks of it are gone, and those that are left go on without
 * them, in a new run with new numbers.
 *
 * The run is made for the first JOIN of this kind, which names the lineage of the group that has
 * failed: who knows it was a member. Members gather under their old numbers. The run forms when all
 * have come that are not known to be gone, or when nobody has come for a while: who is dead must
 * not keep the others. From then on it is a group like any other, except that a JOIN may still
 * carry an old number: of a member that has lost READY, or of one that is out.
 *
 * No two parts of one group may go on beside each other. A rank asks at one place only. A node that
 * does not know how the group has failed, because it was another one or has forgotten, cannot tell
 * whether others have gone on elsewhere: there only a majority may. The node that knows it is the
 * one place where less is enough; but with a fallback ranks that it has not heard of since may be
 * such a majority elsewhere, and then it may not.
 */
#include "group.h"

#define LONGEST		4u	/* dead limits from the first JOIN on, however many come */

void netinc_shrink_init(struct netinc_group *g)
{
	u32 i;

	if (!g->cfg.ancestor)
		return;
	g->old_size = g->cfg.size;
	for (i = 0; i < g->cfg.ngone; i++)
		if (g->cfg.gone[i] < g->cfg.size)
			g->members[g->cfg.gone[i]].gone = true;
}

void netinc_shrink_ended(struct netinc_group *g, const u32 *ended)
{
	u32 i;

	for (i = 0; i < g->old_size && netinc_group_shrinking(g); i++)
		g->members[i].ended |= ended[i / 32] >> i % 32 & 1;
}

/* Can those that are not here be no majority, which might go on elsewhere? */
static bool others_are_few(const struct netinc_group *g)
{
	u32 i, others = 0;

	for (i = 0; i < g->old_size; i++)
		others += !g->members[i].present && !g->members[i].ended;
	return 2 * others <= g->old_size;
}

bool netinc_shrink_asked(const struct netinc_group *g, const struct inc_join *join, u32 child,
			 const struct netinc_peer *peer)
{
	child = netinc_group_child(g, child);
	return g->epoch && !netinc_group_over(g) && be32_to_cpu(join->size) == g->cfg.size &&
	       child != NETINC_NO_RANK && g->members[child].present &&
	       netinc_peer_same_host(&g->members[child].peer, peer);
}

int netinc_shrink_check(const struct netinc_group *g, const struct inc_join *join, u32 *child,
			u64 *detail)
{
	u32 i;

	*detail = g->old_size;
	if (!netinc_join_shrinks(join) || !g->cfg.ancestor ||
	    be64_to_cpu(join->lineage) != g->cfg.ancestor)
		return INC_REFUSE_BUSY;
	if (be32_to_cpu(join->size) != g->old_size || *child >= g->old_size)
		return INC_REFUSE_SIZE;
	if (!g->shrunk)
		return 0;
	*detail = *child;
	for (i = 0; i < g->cfg.size && g->members[i].old != *child; i++)
		;
	if (i == g->cfg.size)
		return INC_REFUSE_OUT;
	*child = i;
	return g->shrunk == g->epoch && g->state != INC_GROUP_JOINING ? 0 : INC_REFUSE_BUSY;
}

bool netinc_shrink_complete(const struct netinc_group *g, u64 now)
{
	u64 dead = g->cfg.settings.dead_ms * NETINC_MS;
	u32 i, missing = 0;

	for (i = 0; i < g->old_size; i++)
		missing += !g->members[i].present && !g->members[i].gone;
	if (missing && now - g->news <= dead && now - g->forming <= LONGEST * dead)
		return false;
	if (!g->cfg.known)
		return 2 * g->joined > g->old_size;
	return !g->cfg.fallback || others_are_few(g);
}

void netinc_shrink(struct netinc_group *g)
{
	struct netinc_member *m = g->members;
	u32 i, n = 0;

	for (i = 0; i < g->old_size; i++) {
		if (!m[i].present)
			continue;
		if (n != i) {
			m[n] = m[i];
			g->ops->renumber(g, i, n);
		}
		m[n++].old = i;
	}
	memset(&m[n], 0, (g->old_size - n) * sizeof(*m));
	memset(g->agg.slots, 0, netinc_agg_bytes(g->old_size, g->old_size, g->cfg.settings.window));
	netinc_agg_init(&g->agg, g->agg.slots, n, n, g->cfg.settings.window);
	for (i = 0; i < n; i++) {
		g->agg.child[i].srtt = m[i].srtt;
		m[i].low = i;
		g->owner[i] = i + 1;
	}
	g->settled = true;
	g->cfg.size = n;
	g->nmembers = n;
	g->joined = n;
}
