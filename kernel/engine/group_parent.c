// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the parent of a node changes in a group here: READY begins an epoch, ERROR ends it or the
 * group, RESULT completes a block, and the loss of the parent ends the group. Everything else that
 * the two say to each other is in group_uplink.c. Rules: "Trees of nodes" in protocol.rst.
 */
#include "group.h"

/* The group has failed, and results do not come as far as has been said, but only before @block. */
static void end_at(struct netinc_group *g, u64 block)
{
	g->error.block = block;
	g->agg.limit = block;
	netinc_group_send_error(g, NETINC_ALL);
}

void netinc_parent_lost(struct netinc_group *g, u64 now)
{
	u16 code = g->up.lost;
	u32 rank = g->up.abort.code ? g->up.abort.rank[0] : NETINC_NO_RANK;

	if (!code)
		return;
	g->up.lost = INC_ERR_NONE;
	if (netinc_group_over(g)) {
		if (g->state == INC_GROUP_FAILED && (s64)(g->error.block - g->agg.una) > 0)
			end_at(g, g->agg.una);
		return;
	}
	/*
	 * all have left here, so they have above: that was the last word, and it is lost. Where
	 * there is another place to go to, ranks that have not may need them there
	 */
	if (g->nleft == g->nmembers && !g->cfg.settings.fallback) {
		g->up.left = true;
		netinc_end_if_left(g, now);
		return;
	}
	netinc_end_here(g, code, rank, now);
}

/* It was passed on to the children: who said so cannot say that there is none. */
static bool has_result(const struct netinc_agg *agg, u64 block)
{
	const struct netinc_slot *slot = netinc_agg_slot(agg, block);

	return slot->q == block && slot->state == NETINC_SLOT_DONE;
}

/* ERROR of the parent. 0 or a negative counter. */
static int parent_error(struct netinc_group *g, const struct netinc_pkt *pkt, const void *body,
			u64 now)
{
	struct netinc_error e;

	netinc_error_parse(body, &e);
	if (e.code == INC_ERR_NONE || e.code > INC_ERR_MAX || (u32)e.block != pkt->psn ||
	    (s64)(e.block - g->agg.una) < 0 || e.block - g->agg.una > g->agg.window ||
	    has_result(&g->agg, e.block))
		return -INC_C_DROP_MALFORMED;
	/* the parent has lost its own, and with that results that were to come */
	if (g->state == INC_GROUP_FAILED && (s64)(e.block - g->error.block) < 0) {
		/* who lies says a lower block each time, which all children are told */
		if (!netinc_agg_take_work(&g->agg, g->nmembers))
			return -INC_C_DROP_WORK;
		end_at(g, e.block);
		return 0;
	}
	if (netinc_group_over(g) || (g->error.code && e.resume))
		return -INC_C_DROP_DUPLICATE;
	g->error = e;
	g->agg.closed = true;
	g->agg.limit = e.block;
	if (!e.resume || !netinc_error_is_final(&g->up.abort))
		g->up.abort.code = INC_ERR_NONE;
	g->up.error_since = now;
	if (e.resume) {
		g->up.state = NETINC_UPLINK_RESYNC;
		g->state = INC_GROUP_RESYNC;
	} else {
		g->state = INC_GROUP_FAILED;
		g->ended = now;
	}
	netinc_group_send_error(g, NETINC_ALL);
	g->ops->event(g, INC_EVENT_GROUP_ERROR, e.rank[0]);
	return 0;
}

/*
 * Are other ranks here, or in another order, than the JOIN said that this READY answers? @lacks:
 * what nodes here had not folded before it came.
 */
static bool is_outdated(struct netinc_group *g, const struct inc_ready *ready,
			struct netinc_kinds lacks)
{
	return be16_to_cpu(ready->children) != g->joined || g->up.news ||
	       netinc_kinds_any(netinc_kinds_less(lacks, netinc_ready_lacks(ready))) ||
	       (!netinc_ready_tree_order(ready) && !netinc_children_can_order(g));
}

static int parent_ready(struct netinc_group *g, const struct netinc_pkt *pkt,
			const struct inc_ready *ready, u64 now)
{
	/* who does not know the nonce is not to make the node look at all members */
	bool first = g->state == INC_GROUP_JOINING && be32_to_cpu(ready->nonce) == g->cfg.up_nonce;
	struct netinc_kinds lacks = {};
	int err;

	if (first)
		lacks = netinc_children_lack(g);
	err = netinc_group_over(g) ? -INC_C_DROP_STATE : netinc_group_ready(g, pkt, ready, now);
	if (err || !first || !is_outdated(g, ready, lacks))
		return err;
	/*
	 * Somebody has gone since. The parent may not hear of that before the others contribute,
	 * and takes what comes from here for all that it knows of: nothing may.
	 */
	g->agg.closed = true;
	g->agg.limit = g->agg.start;
	netinc_group_fail(g, g->up.gone == NETINC_NO_RANK ? INC_ERR_RANK_ABORT : g->up.gone_code,
			  g->up.gone, now);
	return 0;
}

int netinc_group_from_parent(struct netinc_group *g, const struct netinc_pkt *pkt,
			     const void *body, u64 now)
{
	int err = netinc_uplink_check(g, pkt, now);

	if (err)
		return err;
	if (pkt->type == INC_PKT_ERROR)
		err = parent_error(g, pkt, body, now);
	else if (pkt->type == INC_PKT_READY)
		err = parent_ready(g, pkt, body, now);
	else
		err = netinc_uplink_rx(g, pkt, body, now);
	netinc_parent_lost(g, now);
	netinc_end_if_left(g, now);
	if (err)
		netinc_count(g->counters, -err);
	return err;
}

int netinc_group_result(struct netinc_group *g, const struct netinc_pkt *pkt,
			const struct netinc_pay *pay, u64 now)
{
	u64 before = g->counters[INC_C_RESULTS];
	int err = netinc_uplink_check(g, pkt, now);

	if (err)
		return err;
	if (netinc_full_len(pkt) > g->block) {
		netinc_count(g->counters, INC_C_DROP_MALFORMED);
		return -INC_C_DROP_MALFORMED;
	}
	err = netinc_agg_result(&g->agg, pkt, pay, now);
	netinc_uplink_results(g, (u32)(g->counters[INC_C_RESULTS] - before), now);
	netinc_end_if_left(g, now);
	return err;
}
