// SPDX-License-Identifier: GPL-2.0-only
/*
 * How an epoch or a group ends at a node: ranks disagree, leave, die or say ABORT. Rules 10 and 11
 * of protocol.rst. In a tree of nodes the root decides, and what is wrong here is said to the
 * parent.
 */
#include "group.h"

/*
 * The error of this epoch: blocks before the oldest that is not done have results, no other will.
 */
static void raise_error(struct netinc_group *g)
{
	g->error.block = g->agg.una;
	g->agg.closed = true;
	g->agg.limit = g->agg.una;
	netinc_group_send_error(g, NETINC_ALL);
	g->ops->event(g, INC_EVENT_GROUP_ERROR, g->error.rank[0]);
}

void netinc_end_here(struct netinc_group *g, enum inc_err_code code, u32 rank, u64 now)
{
	bool formed = g->state != INC_GROUP_JOINING;

	memset(&g->error, 0, sizeof(g->error));
	g->error.code = code;
	g->error.rank[0] = rank;
	g->error.rank[1] = NETINC_NO_RANK;
	g->state = INC_GROUP_FAILED;
	g->ended = now;
	if (formed) {
		const struct netinc_slot *slot = netinc_agg_slot(&g->agg, g->agg.una);

		if (slot->q == g->agg.una && !netinc_agg_is_empty(&g->agg, slot))
			g->error.opseq = slot->opseq;
		raise_error(g);
	}
}

void netinc_group_fail(struct netinc_group *g, enum inc_err_code code, u32 rank, u64 now)
{
	struct netinc_error e = { .block = g->agg.una, .code = code,
				  .rank = { rank, NETINC_NO_RANK } };

	if (netinc_group_over(g))
		return;
	netinc_uplink_leave(g);
	if (netinc_uplink_in_use(&g->up))
		netinc_uplink_abort(g, &e, now);
	else
		netinc_end_here(g, code, rank, now);
}

void netinc_group_remove(struct netinc_group *g, u64 now)
{
	if (netinc_group_over(g))
		return;
	netinc_group_fail(g, INC_ERR_NODE_GONE, NETINC_NO_RANK, now);
	/* there will be nobody to hear what the parent says */
	if (!netinc_group_over(g))
		netinc_end_here(g, INC_ERR_NODE_GONE, NETINC_NO_RANK, now);
}

void netinc_group_asked_to_shrink(struct netinc_group *g, const struct inc_join *join, u32 child,
				  const struct netinc_peer *peer, u64 now)
{
	u32 i;

	if (!netinc_shrink_asked(g, join, child, peer))
		return;
	for (i = 0; i < g->nmembers && !g->members[i].left; i++)
		;
	if (i < g->nmembers)
		netinc_group_fail(g, INC_ERR_LEFT, g->members[i].low, now);
	else
		netinc_group_fail(g, INC_ERR_RANK_ABORT, child, now);
}

/*
 * Does nobody lack a result before block @b, or the epoch? Only then may a rank go that leaves at
 * @b: if the node were lost, the others would need what it keeps, or would not know that it has
 * left. Idle ranks PROBE often enough. Of ranks below other nodes that is known when all have left.
 */
static bool all_have(const struct netinc_group *g, u64 b)
{
	const struct netinc_member *m = g->members;
	u32 i;

	if (!g->cfg.settings.fallback)
		return true;
	if (g->levels)
		return g->state == INC_GROUP_LEFT;
	for (i = 0; i < g->nmembers; i++)
		if (!m[i].left && (!m[i].confirmed || (s64)(m[i].una - b) < 0))
			return false;
	return true;
}

static void mark_left(struct netinc_group *g, u32 child)
{
	if (!g->members[child].left)
		g->nleft++;
	g->members[child].left = true;
}

void netinc_end_if_left(struct netinc_group *g, u64 now)
{
	bool there = !netinc_uplink_in_use(&g->up) || g->up.left ||
		     (s64)(g->agg.una - g->leave) > 0;

	if (g->nleft < g->nmembers || !there || netinc_group_over(g))
		return;
	g->state = INC_GROUP_LEFT;
	g->ended = now;
	g->ops->event(g, INC_EVENT_GROUP_LEFT, NETINC_NO_RANK);
}

void netinc_end_leave(struct netinc_group *g, u32 child, u64 b, u64 now)
{
	/* LEAVE is the one contribution that is acknowledged by itself */
	mark_left(g, child);
	g->leave = b;
	if (netinc_group_may_answer(g, child, NETINC_GROUP_ANSWER_WAIT) &&
	    netinc_agg_take_work(&g->agg, g->nmembers) && all_have(g, b))
		netinc_group_send_wait(g, child, netinc_form_pause(g, now));
	netinc_end_if_left(g, now);
}

static struct netinc_group *group_of(struct netinc_agg *agg)
{
	return container_of(agg, struct netinc_group, agg);
}

/*
 * Ranks disagree. Operations from the one that failed to the last one that anybody has contributed
 * to fail at all ranks: of a later one some rank may hold results already, in place of its input.
 */
static u32 last_opseq(const struct netinc_group *g, u32 first)
{
	const struct netinc_agg *agg = &g->agg;
	const struct netinc_slot *slot;
	u32 last = first;
	u64 q;

	for (q = agg->una; q != agg->top; q++) {
		slot = netinc_agg_slot(agg, q);
		if (slot->q == q && !netinc_agg_is_empty(agg, slot) &&
		    (s32)(slot->newest - last) > 0)
			last = slot->newest;
	}
	return last;
}

/* What is wrong with the block of @slot, as far as its contributions say. */
static void describe_mismatch(struct netinc_group *g, const struct netinc_slot *slot, u32 a, u32 b,
			      struct netinc_error *e)
{
	const struct netinc_agg *agg = &g->agg;

	memset(e, 0, sizeof(*e));
	e->block = slot->q;
	e->code = slot->flags & INC_F_LEAVE ? INC_ERR_LEFT : slot->bad;
	if (b != NETINC_NO_RANK && (slot->in[b].flags & INC_F_LEAVE)) {
		u32 left = b;	/* the one that left is named first */

		b = a;
		a = left;
	}
	e->opseq = slot->opseq;
	e->rank[0] = g->members[a].low;
	e->rank[1] = b == NETINC_NO_RANK ? b : g->members[b].low;
	agg->ops->desc(&g->agg, &slot->in[a], &e->desc[0]);
	if (b != NETINC_NO_RANK)
		agg->ops->desc(&g->agg, &slot->in[b], &e->desc[1]);
	/* ranks that are below one child are named by that */
	if (g->reported.code && g->reported.block == slot->q) {
		u16 code = e->code == INC_ERR_LEFT ? e->code : g->reported.code;

		*e = g->reported;
		e->code = code;
	}
}

void netinc_group_mismatch(struct netinc_agg *agg, const struct netinc_slot *slot, u32 a, u32 b)
{
	struct netinc_group *g = group_of(agg);
	/* what has come now decides, or else the tick: nobody says when */
	u64 now = max(slot->last, g->ticked);
	struct netinc_error e;

	/*
	 * who contributes to a group that all have left does not bring it back, and what has been
	 * said to the parent is said again by the tick
	 */
	if (netinc_group_over(g) || g->up.abort.code)
		return;
	describe_mismatch(g, slot, a, b, &e);
	e.resume = 0;
	if (e.code != INC_ERR_LEFT) {
		e.resume = last_opseq(g, slot->opseq) + 1;
		if (g->cfg.settings.fallback && (s32)(g->begun - e.resume) > 0)
			e.resume = g->begun;
		if (!e.resume)
			e.resume = 1;
	}
	if (netinc_uplink_in_use(&g->up)) {
		/* the root decides; it has been told already if this is said again */
		if (!g->up.abort.code || !g->up.abort.resume)
			netinc_uplink_abort(g, &e, now);
		return;
	}
	g->error = e;
	g->state = e.resume ? INC_GROUP_RESYNC : INC_GROUP_FAILED;
	if (!e.resume)
		g->ended = now;
	raise_error(g);
}

void netinc_end_member(struct netinc_group *g, u32 rank, enum inc_err_code code, u64 now)
{
	g->members[rank].gone = code != INC_ERR_RANK_FAULT &&
				(g->state != INC_GROUP_JOINING || netinc_group_shrinking(g));
	if (g->state == INC_GROUP_JOINING) {
		if (g->members[rank].height && code != INC_ERR_RANK_DEAD)
			netinc_children_forget(g, g->members[rank].nonce);
		netinc_children_gone(g, rank, code);
		netinc_children_release(g, rank);
		g->members[rank].aborted = code != INC_ERR_RANK_DEAD;
		/* who comes after a move is told who is missing */
		if (!g->joined && !(g->move && g->forming)) {
			netinc_uplink_leave(g);
			g->state = INC_GROUP_FAILED;
			g->ended = now;
		}
		return;
	}
	g->ops->event(g, INC_EVENT_RANK_DEAD, g->members[rank].low);
	netinc_group_fail(g, code, g->members[rank].low, now);
}

/* The group has failed already; those that are left will not have to wait for this one. */
static void also_gone(struct netinc_group *g, u32 rank, enum inc_err_code code)
{
	if (code != INC_ERR_RANK_ABORT || netinc_group_gone(g, rank))
		return;
	g->members[rank].gone = true;
	g->ops->event(g, INC_EVENT_RANK_DEAD, g->members[rank].low);
}

/*
 * Ranks below the node @child disagree; or one has left, which ends the group. 0 or a negative
 * counter.
 */
static int disagree_below(struct netinc_group *g, u32 child, const struct netinc_error *e, u64 now)
{
	struct netinc_error before = g->reported;
	bool lowest = !before.code || (s64)(e->block - before.block) < 0;

	if (e->resume && e->code != INC_ERR_MISMATCH && e->code != INC_ERR_UNSUPPORTED)
		return -INC_C_DROP_MALFORMED;
	/* it may be the last contribution to its block, which is decided at once */
	if (lowest)
		g->reported = *e;
	if (!netinc_agg_disagree(&g->agg, child, e->block, e->code, e->opseq,
				 e->resume ? e->resume - 1 : e->opseq, now))
		return 0;
	if (lowest)
		g->reported = before;
	/* it is about no block that anybody waits for, but the group is to end */
	if (!e->resume && !netinc_group_over(g))
		netinc_group_fail(g, e->code, e->rank[0], now);
	return 0;
}

/* Does a rank for which a group fails with this code come no more? */
static bool means_gone(u16 code)
{
	return code == INC_ERR_RANK_DEAD || code == INC_ERR_RANK_ABORT ||
	       code == INC_ERR_RANK_FAULT || code == INC_ERR_RANK_PATH;
}

/* ABORT of a node: what is wrong below it. 0 or a negative counter. */
static int abort_of_node(struct netinc_group *g, const struct netinc_pkt *pkt, const void *body,
			 u64 now)
{
	u32 child = pkt->child, i;
	struct netinc_error e;

	netinc_error_parse(body, &e);
	/* it says only that it is done, which is noted */
	if (e.code == INC_ERR_NONE && (pkt->flags & INC_F_LEAVE))
		return 0;
	if (e.code == INC_ERR_NONE || e.code > INC_ERR_MAX || (u32)e.block != pkt->psn)
		return -INC_C_DROP_MALFORMED;
	for (i = 0; i < 2; i++) {
		if (e.rank[i] == NETINC_NO_RANK || netinc_children_has(g, child, e.rank[i]))
			continue;
		if (e.resume || !means_gone(e.code))
			return -INC_C_DROP_MALFORMED;
		/* it has gone before, and may be elsewhere: that the group ends here stands */
		e.rank[i] = NETINC_NO_RANK;
	}
	if (netinc_group_over(g) || g->error.code) {
		if (g->error.code && netinc_group_may_answer(g, child, NETINC_GROUP_ANSWER_ERROR))
			netinc_group_send_error(g, child);
		if (netinc_group_over(g) || e.resume)
			return 0;
	}
	if (e.resume || e.code == INC_ERR_LEFT)
		return disagree_below(g, child, &e, now);
	if (means_gone(e.code) && e.rank[0] != NETINC_NO_RANK && !g->up.abort.code)
		g->ops->event(g, INC_EVENT_RANK_DEAD, e.rank[0]);
	netinc_group_fail(g, e.code, e.rank[0], now);
	return 0;
}

/*
 * Is it true that this member is done, because it has heard the error, or has left? In several
 * trees the result of LEAVE, of which only ranks hear, lets it go as well.
 */
static bool may_be_done(const struct netinc_group *g, u32 child, u16 code)
{
	if (code == INC_ERR_NONE)
		return netinc_group_over(g) && g->error.code;
	return g->members[child].left ||
	       (g->state == INC_GROUP_ACTIVE && g->agg.spread.trees > 1);
}

/* 0 or a negative counter. Some codes only say that the sender is done. */
static int check_abort(const struct netinc_group *g, const struct netinc_pkt *pkt,
		       const struct inc_error_pkt *abort)
{
	const struct netinc_member *m = &g->members[pkt->child];
	u16 code = be16_to_cpu(abort->code);

	/* who has not had READY does not know its cookie */
	if (!netinc_abort_is_known(g, pkt) && be32_to_cpu(abort->resume) != m->nonce)
		return -INC_C_DROP_COOKIE;
	if ((code == INC_ERR_NONE || code == INC_ERR_LEFT) && (pkt->flags & INC_F_LEAVE))
		return may_be_done(g, pkt->child, code) ? 0 : -INC_C_DROP_STATE;
	if (code == INC_ERR_NODE_GONE)
		return netinc_group_may_move(g) ? 0 : -INC_C_DROP_MALFORMED;
	return code == INC_ERR_RANK_ABORT || code == INC_ERR_RANK_FAULT ||
	       code == INC_ERR_RANK_PATH ? 0 : -INC_C_DROP_MALFORMED;
}

int netinc_end_abort(struct netinc_group *g, const struct netinc_pkt *pkt,
		     const struct inc_error_pkt *abort, u64 now)
{
	struct netinc_member *m = &g->members[pkt->child];
	/* a node that has not had READY only gives up, as a rank does */
	bool of_node = m->height && netinc_abort_is_known(g, pkt);
	u16 code = be16_to_cpu(abort->code);
	int err;

	if (of_node)
		err = abort_of_node(g, pkt, abort, now);
	else
		err = check_abort(g, pkt, abort);
	if (err) {
		netinc_count(g->counters, -err);
		return err;
	}
	if (pkt->flags & INC_F_LEAVE)
		m->done = true;
	if (of_node)
		return 0;
	if (netinc_group_over(g) && g->error.code) {
		also_gone(g, pkt->child, code);
		/* what it repeats ABORT for */
		if (!m->done && netinc_group_may_answer(g, pkt->child, NETINC_GROUP_ANSWER_ERROR))
			netinc_group_send_error(g, pkt->child);
	} else if (!netinc_group_over(g) && code == INC_ERR_LEFT) {
		mark_left(g, pkt->child);
		netinc_end_if_left(g, now);
	} else if (!netinc_group_over(g) && m->left && (pkt->flags & INC_F_LEAVE) &&
		   code != INC_ERR_NODE_GONE) {
		/* it is closed before others have left: who needs it, if a node is lost, is told */
	} else if (code == INC_ERR_NODE_GONE) {
		/* it goes to the next place of the plan, and calls the others by the tree */
		netinc_group_fail(g, code, NETINC_NO_RANK, now);
	} else if (!netinc_group_over(g)) {
		netinc_end_member(g, pkt->child, code, now);
	}
	return 0;
}
