// SPDX-License-Identifier: GPL-2.0-only
/* How groups have ended: a ring of which the oldest entry is overwritten. */
#include "node/history.h"

static struct netinc_past *find(struct netinc_net *nn, u32 group, u64 lineage)
{
	u32 i;

	lockdep_assert_held(&nn->hash_lock);
	for (i = 0; i < NETINC_PASTS; i++)
		if (nn->pasts[i].lineage == lineage && nn->pasts[i].group == group)
			return &nn->pasts[i];
	return NULL;
}

static struct netinc_past *find_or_make(struct netinc_net *nn, u32 group, u64 lineage)
{
	struct netinc_past *past = find(nn, group, lineage);

	if (past)
		return past;
	past = &nn->pasts[nn->next_past++ % NETINC_PASTS];
	*past = (struct netinc_past){ .group = group, .lineage = lineage };
	return past;
}

void netinc_past_failed(struct netinc_net *nn, const struct netinc_group *g)
{
	struct netinc_past *past;
	u32 i;

	spin_lock_bh(&nn->hash_lock);
	past = find_or_make(nn, g->cfg.id, g->cfg.lineage);
	past->failed = true;
	past->move = g->move;
	past->ngone = 0;
	for (i = 0; i < g->cfg.size && past->ngone < NETINC_MAX_GONE; i++)
		if (netinc_group_gone(g, i))
			past->gone[past->ngone++] = i;
	spin_unlock_bh(&nn->hash_lock);
}

void netinc_past_formed(struct netinc_net *nn, const struct netinc_group *g)
{
	spin_lock_bh(&nn->hash_lock);
	find_or_make(nn, g->cfg.id, g->cfg.ancestor)->formed = true;
	spin_unlock_bh(&nn->hash_lock);
}

bool netinc_past_went_on(struct netinc_net *nn, u32 group, u64 lineage)
{
	const struct netinc_past *found;
	bool formed;

	spin_lock_bh(&nn->hash_lock);
	found = find(nn, group, lineage);
	formed = found && found->formed;
	spin_unlock_bh(&nn->hash_lock);
	return formed;
}

bool netinc_past_find(struct netinc_net *nn, u32 group, u64 lineage, struct netinc_past *past)
{
	const struct netinc_past *found;

	spin_lock_bh(&nn->hash_lock);
	found = find(nn, group, lineage);
	if (found)
		*past = *found;
	spin_unlock_bh(&nn->hash_lock);
	return found;
}
