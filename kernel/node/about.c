// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a node tells whoever asks with INC_JOIN_ASK and could join here: what it can do, how much it
 * has to do, and which node is above it. All groups of the namespace are walked for that with
 * node->lock held, so this happens ten times a second at most, however many ask.
 */
#include <linux/rculist.h>
#include "node/node.h"
#include "node/node_group.h"
#include "reduce/reduce.h"

#define SURVEY_US	(100 * NETINC_MS)

/* Adds up all groups of the node that are not over. */
static void survey_groups(struct netinc_node *node)
{
	struct netinc_survey *s = &node->survey;
	const struct netinc_node_group *g;
	int i;

	lockdep_assert_held(&node->lock);
	*s = (struct netinc_survey){ .at = netinc_now() };
	for (i = 0; i < ARRAY_SIZE(node->nn->groups); i++)
		hlist_for_each_entry_rcu(g, &node->nn->groups[i], hash) {
			if (g->node != node || netinc_group_over(&g->grp))
				continue;
			s->groups++;
			s->children += READ_ONCE(g->grp.running) ? READ_ONCE(g->grp.nmembers) :
								   READ_ONCE(g->grp.joined);
			s->nsec += READ_ONCE(g->grp.counters[INC_C_NODE_NSEC]);
		}
}

/* Bytes that groups of this namespace may still take for their slots. */
static u64 memory_left(const struct netinc_net *nn)
{
	s64 left = atomic64_read(&nn->max[INC_LIMIT_SLOT_MEMORY]) -
		   atomic64_read(&nn->account.use[INC_LIMIT_SLOT_MEMORY]);

	return max_t(s64, left, 0);
}

static void tell_load(struct netinc_node *node, struct inc_about *about)
{
	const struct netinc_survey *s = &node->survey;

	if (!s->at || netinc_now() - s->at >= SURVEY_US)
		survey_groups(node);
	about->groups = cpu_to_be32(s->groups);
	about->children = cpu_to_be32(s->children);
	about->nsec = cpu_to_be64(s->nsec);
	about->memory_left = cpu_to_be64(memory_left(node->nn));
	/* a link-local address means nothing on other links */
	if (node->cfg.nparents && netinc_peer_is_far(&node->cfg.parent[0]))
		netinc_addr_build(&about->parent, &node->cfg.parent[0]);
}

/* The same at nodes that reduce the same; of those that lack nothing, what it has always been. */
static u32 digest_of(struct netinc_kinds lacks)
{
	const struct inc_kinds said = netinc_kinds_build(lacks);
	const u64 key[2] = { netinc_reduce_digest() };

	return netinc_kinds_any(lacks) ? (u32)netinc_siphash(&said, sizeof(said), key) :
					 netinc_reduce_digest();
}

void netinc_node_about(struct netinc_node *node, const struct netinc_tenant *tenant,
		       struct inc_about *about)
{
	memset(about, 0, sizeof(*about));
	spin_lock_bh(&node->lock);
	about->caps = cpu_to_be32(digest_of(node->cfg.settings.lacks));
	about->lacks = netinc_kinds_build(node->cfg.settings.lacks);
	about->max_groups = cpu_to_be32(node->cfg.max_groups);
	about->window = cpu_to_be16(node->cfg.settings.window);
	about->fallback = node->cfg.settings.fallback;
	about->flags = (node->cfg.keyed ? INC_ABOUT_KEYED : 0) |
		       (tenant ? INC_ABOUT_TENANT : 0) |
		       (node->cfg.nparents ? INC_ABOUT_PARENT : 0);
	/* a tenant learns neither what others use nor whether a node is above */
	if (tenant)
		about->flags &= ~INC_ABOUT_PARENT;
	else
		tell_load(node, about);
	spin_unlock_bh(&node->lock);
}
