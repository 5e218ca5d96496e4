// SPDX-License-Identifier: GPL-2.0-only
/*
 * At the edge every rank's host is the root of a tree, see spread.h. The first one's root, at rank
 * 0's host, is that of the group: it alone knows who joins, leaves and dies. The others begin with
 * what READY and PEERS have told the rank that lives there, reduce the blocks that are theirs, and
 * end when that rank has gone or the epoch is over.
 */
#include "group.h"

void netinc_tree_key(const struct netinc_group *g, u32 tree, u64 key[2])
{
	__be32 m[6] = { cpu_to_be32(g->cfg.id), cpu_to_be32(g->cfg.incarnation),
			cpu_to_be32(g->epoch),
			/* 1 and 2 are the root's own cookies */
			cpu_to_be32(3), cpu_to_be32(tree) };

	key[0] = netinc_siphash(m, sizeof(m), g->cfg.secret);
	m[5] = cpu_to_be32(1);
	key[1] = netinc_siphash(m, sizeof(m), g->cfg.secret);
}

u64 netinc_tree_cookie(const u64 key[2], u32 child)
{
	__be32 m = cpu_to_be32(child);

	return netinc_siphash(&m, sizeof(m), key);
}

void netinc_tree_describe(struct netinc_tree_cfg *tree, const struct netinc_ep *ep)
{
	*tree = (struct netinc_tree_cfg){
		.job = ep->cfg.job,
		.id = ep->cfg.group,
		.stripe = ep->cfg.stripe,
		.incarnation = ep->incarnation,
		.epoch = ep->epoch,
		.size = ep->cfg.size,
		.trees = ep->spread.trees,
		.tree = ep->cfg.rank,
		.settings = ep->settings,
		.move = ep->move,
		.lineage = ep->lineage,
		.start = ep->start,
		.opseq = ep->next_seq,
		.down_cookie = ep->down_cookie,
		.key = { ep->tree_key[0], ep->tree_key[1] },
		.block = ep->block,
	};
}

void netinc_tree_group_cfg(const struct netinc_tree_cfg *tree, struct netinc_group_cfg *cfg)
{
	*cfg = (struct netinc_group_cfg){
		.job = tree->job,
		.id = tree->id,
		.stripe = tree->stripe,
		.incarnation = tree->incarnation,
		.size = tree->size,
		.block = tree->block,
		.settings = tree->settings,
		.lineage = tree->lineage,
		.move = tree->move,
	};
}

void netinc_tree_begin(struct netinc_group *g, const struct netinc_tree_cfg *tree,
		       const struct netinc_peer *peers, u64 now)
{
	u32 i;

	for (i = 0; i < tree->size; i++) {
		g->members[i] = (struct netinc_member){
			.present = true,
			.low = i,
			.ranks = 1,
			.block = tree->block,
			.next = tree->start,
			.una = tree->start,
			.heard = now,
			.cookie = netinc_tree_cookie(tree->key, i),
			.peer = peers[i],
		};
	}
	g->joined = tree->size;
	g->state = INC_GROUP_ACTIVE;
	g->running = true;
	g->epoch = tree->epoch;
	g->block = tree->block;
	g->down_cookie = tree->down_cookie;
	g->agg.tree = tree->tree;
	g->agg.header.epoch = tree->epoch;
	g->agg.header.cookie = tree->down_cookie;
	netinc_spread_init(&g->agg.spread, tree->trees, tree->settings.window);
	g->agg.block = tree->block;
	g->agg.lacks = tree->settings.lacks;
	netinc_agg_start(&g->agg, tree->start);
	g->agg.limit = tree->start;
	g->agg.opseq = tree->opseq;
}
