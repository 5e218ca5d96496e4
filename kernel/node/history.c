// SPDX-License-Identifier: GPL-2.0-only
/* How groups have ended. */
#include <linux/slab.h>
#include "node/history.h"

int netinc_history_init(struct netinc_net *nn)
{
	struct netinc_history *history;

	lockdep_assert_held(&nn->mutex);
	if (nn->history)
		return 0;
	history = kvzalloc(sizeof(*history), GFP_KERNEL_ACCOUNT);
	if (!history)
		return -ENOMEM;
	spin_lock_bh(&nn->hash_lock);
	nn->history = history;
	spin_unlock_bh(&nn->hash_lock);
	return 0;
}

void netinc_history_fini(struct netinc_net *nn)
{
	kvfree(nn->history);
}

static struct netinc_group_history *find_history(struct netinc_net *nn, u32 group, u64 lineage)
{
	struct netinc_group_history *entry;
	u32 i;

	lockdep_assert_held(&nn->hash_lock);
	for (i = 0; nn->history && i < NETINC_HISTORY; i++) {
		entry = &nn->history->group[i];
		if (entry->lineage == lineage && entry->group == group)
			return entry;
	}
	return NULL;
}

/* Entries of some kind, and the oldest of them. */
struct history_usage {
	u32 entries;
	struct netinc_group_history *oldest;
};

static void add_to_history(struct history_usage *usage, struct netinc_group_history *entry)
{
	usage->entries++;
	if (!usage->oldest || entry->age < usage->oldest->age)
		usage->oldest = entry;
}

/* The entry that a group of @by overwrites; one that is free is the oldest of all. */
static struct netinc_group_history *find_oldest(struct netinc_history *history,
						const struct netinc_creator *by)
{
	struct history_usage all = {}, host = {}, port = {};
	struct netinc_group_history *entry;
	u32 i;

	for (i = 0; i < NETINC_HISTORY; i++) {
		entry = &history->group[i];
		add_to_history(&all, entry);
		if (entry->age && netinc_peer_same_host(&entry->creator, &by->peer))
			add_to_history(&host, entry);
		if (entry->age && entry->ifindex == by->ifindex)
			add_to_history(&port, entry);
	}
	if (host.entries >= NETINC_HISTORY / 4)
		return host.oldest;
	return port.entries >= NETINC_HISTORY / 2 ? port.oldest : all.oldest;
}

/* NULL: there has been no memory for the history. */
static struct netinc_group_history *find_or_make(struct netinc_net *nn, u32 group, u64 lineage,
						 const struct netinc_creator *by)
{
	struct netinc_group_history *entry = find_history(nn, group, lineage);

	if (entry || !nn->history)
		return entry;
	entry = find_oldest(nn->history, by);
	*entry = (struct netinc_group_history){
		.age = ++nn->history->age, .group = group, .lineage = lineage,
		.creator = by->peer, .ifindex = by->ifindex,
	};
	return entry;
}

static void note_ended(struct netinc_group_history *entry, const struct netinc_group *g)
{
	u32 i;

	for (i = 0; i < g->nmembers; i++)
		if (netinc_group_ended(g, i))
			entry->ended[i / 32] |= BIT(i % 32);
}

void netinc_history_ended(struct netinc_net *nn, const struct netinc_group *g)
{
	struct netinc_group_history *entry;

	spin_lock_bh(&nn->hash_lock);
	entry = find_history(nn, g->cfg.id, g->cfg.lineage);
	if (entry && entry->move == g->move)
		note_ended(entry, g);
	spin_unlock_bh(&nn->hash_lock);
}

void netinc_history_failed(struct netinc_net *nn, const struct netinc_group *g,
			   const struct netinc_creator *by)
{
	struct netinc_group_history *entry;
	u32 i;

	spin_lock_bh(&nn->hash_lock);
	entry = find_or_make(nn, g->cfg.id, g->cfg.lineage, by);
	if (!entry)
		goto out;
	/* it has been elsewhere since it failed here before */
	if (entry->move != g->move)
		memset(entry->ended, 0, sizeof(entry->ended));
	entry->failed = true;
	entry->move = g->move;
	entry->fallback = g->cfg.settings.fallback;
	note_ended(entry, g);
	entry->ngone = 0;
	for (i = 0; i < g->nmembers && entry->ngone < NETINC_MAX_GONE; i++)
		if (netinc_group_gone(g, i))
			entry->gone[entry->ngone++] = i;
out:
	spin_unlock_bh(&nn->hash_lock);
}

void netinc_history_formed(struct netinc_net *nn, const struct netinc_group *g,
			   const struct netinc_creator *by)
{
	struct netinc_group_history *entry;

	spin_lock_bh(&nn->hash_lock);
	entry = find_or_make(nn, g->cfg.id, g->cfg.ancestor, by);
	if (entry)
		entry->formed = true;
	spin_unlock_bh(&nn->hash_lock);
}

bool netinc_history_went_on(struct netinc_net *nn, u32 group, u64 lineage)
{
	const struct netinc_group_history *found;
	bool formed;

	spin_lock_bh(&nn->hash_lock);
	found = find_history(nn, group, lineage);
	formed = found && found->formed;
	spin_unlock_bh(&nn->hash_lock);
	return formed;
}

bool netinc_history_find(struct netinc_net *nn, u32 group, u64 lineage,
			 struct netinc_group_history *entry)
{
	const struct netinc_group_history *found;

	spin_lock_bh(&nn->hash_lock);
	found = find_history(nn, group, lineage);
	if (found)
		*entry = *found;
	spin_unlock_bh(&nn->hash_lock);
	return found;
}
