// SPDX-License-Identifier: GPL-2.0-only
/*
 * Membership at a node: joins, epochs, errors, death and departure; rules 5, 6, 10 and 11 of
 * protocol.rst as far as one node needs them. Data goes to the aggregator.
 */
#include "group.h"

/* that are answered per dead limit while little can be afforded */
#define RARE_PROBES	32u

size_t netinc_group_bytes(u32 size, u32 window)
{
	return size * (sizeof(struct netinc_member) + sizeof(u64)) +
	       netinc_agg_bytes(size, 1, window);
}

void netinc_group_buffer_begin(struct netinc_group *g)
{
	g->buffer++;
	netinc_agg_buffer_begin(&g->agg);
}

enum answer {
	ANSWER_STATUS = 1 << 0,
	ANSWER_ERROR = 1 << 1,
	ANSWER_WAIT = 1 << 2,
};

/* Each at most once per received buffer and member, however often it asks. */
static bool may_answer(struct netinc_group *g, u32 child, enum answer what)
{
	struct netinc_member *m = &g->members[child];

	if (m->buffer != g->buffer) {
		m->buffer = g->buffer;
		m->answered = 0;
	}
	if (m->answered & what)
		return false;
	m->answered |= what;
	return true;
}

static struct netinc_group *group_of(struct netinc_agg *agg)
{
	return container_of(agg, struct netinc_group, agg);
}

void netinc_group_init(struct netinc_group *g, const struct netinc_group_cfg *cfg, void *mem,
		       const struct netinc_group_ops *ops, const struct netinc_agg_ops *agg_ops)
{
	memset(g, 0, sizeof(*g));
	g->cfg = *cfg;
	g->ops = ops;
	g->state = INC_GROUP_JOINING;
	g->late_rank = NETINC_NO_RANK;
	g->move = cfg->move;
	g->members = mem;
	g->agg.ops = agg_ops;
	g->agg.counters = g->counters;
	g->agg.header.group = cfg->id;
	g->agg.header.incarnation = cfg->incarnation;
	netinc_agg_init(&g->agg, g->members + cfg->size, cfg->size, 1, cfg->settings.window);
	g->owner = mem + cfg->size * sizeof(struct netinc_member) +
		   netinc_agg_bytes(cfg->size, 1, cfg->settings.window);
	netinc_children_init(g);
	netinc_shrink_init(g);
}

/* The ports that other hosts' packets come in by are not known beforehand. */
static bool is_from(const struct netinc_group *g, const struct netinc_peer *member,
		    const struct netinc_peer *peer)
{
	if (!netinc_group_is_branch(g))
		return netinc_peer_same(member, peer);
	return netinc_peer_same_host(member, peer);
}

/* Is it from the member that it says? 0 or a negative counter. */
static int check_sender(const struct netinc_group *g, struct netinc_pkt *pkt,
			const struct netinc_peer *peer)
{
	u32 child = netinc_group_child(g, pkt->child);

	if (child == NETINC_NO_RANK)
		return -INC_C_DROP_CHILD;
	pkt->child = child;
	if (pkt->epoch != g->epoch || pkt->tree != g->agg.tree)
		return -INC_C_DROP_EPOCH;
	if (!g->members[pkt->child].present || (pkt->cookie ^ g->members[pkt->child].cookie))
		return -INC_C_DROP_COOKIE;
	return is_from(g, &g->members[pkt->child].peer, peer) ? 0 : -INC_C_DROP_PORT;
}

int netinc_group_check(struct netinc_group *g, struct netinc_pkt *pkt,
		       const struct netinc_peer *peer, u64 now)
{
	int err = check_sender(g, pkt, peer);

	if (err) {
		netinc_count(g->counters, -err);
		return err;
	}
	/* before READY there is no cookie: only JOIN shows that it is the member */
	if (g->state == INC_GROUP_JOINING)
		return 0;
	g->members[pkt->child].heard = now;
	g->members[pkt->child].confirmed = true;
	return 0;
}

static u64 agg_block(const struct netinc_group *g, const struct netinc_pkt *pkt)
{
	return netinc_extend(g->agg.una, pkt->psn);
}

/*
 * Does nobody lack a result before block @b? Only then may a rank go that leaves at @b: if the node
 * were lost, the others would need what it keeps. Idle ranks PROBE often enough.
 */
static bool all_have(const struct netinc_group *g, u64 b)
{
	u32 i;

	for (i = 0; g->cfg.settings.fallback && i < g->nmembers; i++)
		if (!g->members[i].left && (s64)(g->members[i].una - b) < 0)
			return false;
	return true;
}

/* Is its contribution to block @b LEAVE? Said of another block it is a lie. */
static bool has_contributed_leave(const struct netinc_group *g, u32 child, u64 b)
{
	const struct netinc_slot *slot = netinc_agg_slot(&g->agg, b);

	return slot->q == b && netinc_bits_get(slot->have, child) &&
	       (slot->in[child].flags & INC_F_LEAVE);
}

static void mark_left(struct netinc_group *g, u32 child)
{
	if (!g->members[child].left)
		g->nleft++;
	g->members[child].left = true;
}

/* All have left, and, in a tree of nodes, nobody above asks for that again. */
static void end_if_left(struct netinc_group *g, u64 now)
{
	bool there = !netinc_uplink_in_use(&g->up) || g->up.left ||
		     (s64)(g->agg.una - g->leave) > 0;

	if (g->nleft < g->nmembers || !there || netinc_group_over(g))
		return;
	g->state = INC_GROUP_LEFT;
	g->ended = now;
	g->ops->event(g, INC_EVENT_GROUP_LEFT, NETINC_NO_RANK);
}

/* It has contributed all that it will before block @b, and goes as soon as it hears that it may. */
static void note_leave(struct netinc_group *g, u32 child, u64 b, u64 now)
{
	/* LEAVE is the one contribution that is acknowledged by itself */
	mark_left(g, child);
	g->leave = b;
	if (may_answer(g, child, ANSWER_WAIT) && netinc_agg_take_work(&g->agg, g->nmembers) &&
	    all_have(g, b))
		netinc_group_send_wait(g, child, netinc_form_pause(g, now));
	end_if_left(g, now);
}

int netinc_group_contrib(struct netinc_group *g, const struct netinc_pkt *pkt,
			 const struct netinc_pay *pay, u64 now)
{
	u64 b;
	int err;

	if (!g->running) {
		netinc_count(g->counters, INC_C_DROP_STATE);
		return -INC_C_DROP_STATE;
	}
	/* memory is set aside for blocks of that size; and who leaves has no elements */
	if (pkt->len > g->block ||
	    (pkt->flags & (INC_F_LEAVE | INC_F_PAYLOAD)) == (INC_F_LEAVE | INC_F_PAYLOAD) ||
	    ((pkt->flags & INC_F_WIDE) && !g->members[pkt->child].height) ||
	    /* nobody retains results there */
	    ((pkt->flags & INC_F_FINAL) && g->levels)) {
		netinc_count(g->counters, INC_C_DROP_MALFORMED);
		return -INC_C_DROP_MALFORMED;
	}
	b = agg_block(g, pkt);
	err = netinc_agg_contrib(&g->agg, pkt->child, pkt, pay, now);
	/* with several trees it may be another one's block: PROBE says it to the group's root */
	if ((pkt->flags & INC_F_LEAVE) && (!err || err == -INC_C_DROP_DUPLICATE) &&
	    g->agg.spread.trees <= 1 && has_contributed_leave(g, pkt->child, b))
		note_leave(g, pkt->child, b, now);
	if (err == -INC_C_DROP_ERROR && may_answer(g, pkt->child, ANSWER_ERROR))
		netinc_group_send_error(g, pkt->child);
	/* it disagrees about what was completed without it: that cannot be undone */
	if (err == -INC_C_DROP_MISMATCH)
		netinc_group_fail(g, INC_ERR_MISMATCH, g->members[pkt->child].low, now);
	return err;
}

void netinc_group_ignored(struct netinc_group *g, const struct netinc_pkt *pkt)
{
	if (g->running)
		g->agg.child[pkt->child].seen++;
}

bool netinc_group_rare_probe(struct netinc_group *g, u32 child, u64 now)
{
	struct netinc_member *m = &g->members[child];

	if (now - m->probed < g->cfg.settings.dead_ms * NETINC_MS / RARE_PROBES)
		return false;
	m->probed = now;
	return true;
}

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

/* The group is over here, whatever is above. */
static void fail_here(struct netinc_group *g, enum inc_err_code code, u32 rank, u64 now)
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

		if (slot->q == g->agg.una && slot->missing != g->agg.children)
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
		fail_here(g, code, rank, now);
}

void netinc_group_remove(struct netinc_group *g, u64 now)
{
	if (netinc_group_over(g))
		return;
	netinc_group_fail(g, INC_ERR_NODE_GONE, NETINC_NO_RANK, now);
	/* there will be nobody to hear what the parent says */
	if (!netinc_group_over(g))
		fail_here(g, INC_ERR_NODE_GONE, NETINC_NO_RANK, now);
}

void netinc_group_asked_to_shrink(struct netinc_group *g, const struct inc_join *join, u32 child,
				  u64 now)
{
	u32 i;

	if (!netinc_shrink_asked(g, join, child))
		return;
	for (i = 0; i < g->nmembers && !g->members[i].left; i++)
		;
	if (i < g->nmembers)
		netinc_group_fail(g, INC_ERR_LEFT, g->members[i].low, now);
	else
		netinc_group_fail(g, INC_ERR_RANK_ABORT, child, now);
}

/* Late members are reported; one that has been late for too long ends the group. */
static void check_late(struct netinc_group *g, u64 now)
{
	u32 child = netinc_group_check_late(g, now);
	u64 since = now;

	if (child == NETINC_NO_RANK || netinc_error_is_final(&g->up.abort))
		return;
	if (g->members[child].height && g->agg.child[child].waits_for != NETINC_NO_RANK)
		netinc_group_fail(g, INC_ERR_RANK_LATE, netinc_agg_waiting_rank(&g->agg, &since),
				  now);
	else
		netinc_group_fail(g, INC_ERR_RANK_LATE, g->members[child].low, now);
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
		if (slot->q == q && slot->missing < agg->children && (s32)(slot->newest - last) > 0)
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
			netinc_uplink_abort(g, &e, slot->last);
		return;
	}
	g->error = e;
	g->state = e.resume ? INC_GROUP_RESYNC : INC_GROUP_FAILED;
	if (!e.resume)
		g->ended = slot->since;
	raise_error(g);
}

static void member_gone(struct netinc_group *g, u32 rank, enum inc_err_code code, u64 now)
{
	g->members[rank].gone = code != INC_ERR_RANK_FAULT &&
				(g->state != INC_GROUP_JOINING || netinc_group_shrinking(g));
	if (g->state == INC_GROUP_JOINING) {
		netinc_children_release(g, rank);
		g->members[rank].aborted = code != INC_ERR_RANK_DEAD;
		g->up.gone = g->members[rank].low;
		g->up.gone_code = code;
		g->up.news = true;
		if (!g->joined) {
			netinc_uplink_leave(g);
			g->state = INC_GROUP_FAILED;
			g->ended = now;
		}
		g->called = 0;
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

static int probe_rx(struct netinc_group *g, const struct netinc_pkt *pkt,
		    const struct inc_probe *probe, u64 now)
{
	u32 child = pkt->child;

	if (!may_answer(g, child, ANSWER_STATUS)) {
		netinc_count(g->counters, INC_C_DROP_WORK);
		return -INC_C_DROP_WORK;
	}
	netinc_count(g->counters, INC_C_PROBES);
	if ((s64)(agg_block(g, pkt) - g->members[child].una) > 0)
		g->members[child].una = agg_block(g, pkt);
	if (g->members[child].height)
		g->agg.child[child].waits_for =
			netinc_children_has(g, child, pkt->opseq) ? pkt->opseq : NETINC_NO_RANK;
	else if (g->cfg.settings.fallback && pkt->opseq < g->cfg.size)
		netinc_group_send_peers(g, child, pkt->opseq);
	if (!netinc_agg_probe(&g->agg, child, pkt, probe, now)) {
		netinc_count(g->counters, INC_C_DROP_WORK);
		return -INC_C_DROP_WORK;
	}
	if ((pkt->flags & INC_F_LEAVE) && g->agg.spread.trees > 1 && !netinc_group_is_branch(g))
		note_leave(g, child, agg_block(g, pkt) + pkt->span - 1, now);
	if (g->error.code && may_answer(g, child, ANSWER_ERROR))
		netinc_group_send_error(g, child);
	netinc_uplink_poke(g, now);
	return 0;
}

/* Ranks below the node @child disagree. 0 or a negative counter. */
static int disagree_below(struct netinc_group *g, u32 child, const struct netinc_error *e, u64 now)
{
	struct netinc_error before = g->reported;
	bool lowest = !before.code || (s64)(e->block - before.block) < 0;

	if (e->code != INC_ERR_MISMATCH && e->code != INC_ERR_UNSUPPORTED &&
	    e->code != INC_ERR_LEFT)
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
	for (i = 0; i < 2; i++)
		if (e.rank[i] != NETINC_NO_RANK && !netinc_children_has(g, child, e.rank[i]))
			return -INC_C_DROP_MALFORMED;
	if (netinc_group_over(g) || g->error.code) {
		if (g->error.code && may_answer(g, child, ANSWER_ERROR))
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

	/* before READY there are no cookies */
	if (g->state == INC_GROUP_JOINING && be32_to_cpu(abort->resume) != m->nonce)
		return -INC_C_DROP_COOKIE;
	if ((code == INC_ERR_NONE || code == INC_ERR_LEFT) && (pkt->flags & INC_F_LEAVE))
		return may_be_done(g, pkt->child, code) ? 0 : -INC_C_DROP_STATE;
	return code == INC_ERR_RANK_ABORT || code == INC_ERR_RANK_FAULT ||
	       code == INC_ERR_RANK_PATH ? 0 : -INC_C_DROP_MALFORMED;
}

static int abort_rx(struct netinc_group *g, const struct netinc_pkt *pkt,
		    const struct inc_error_pkt *abort, u64 now)
{
	struct netinc_member *m = &g->members[pkt->child];
	u16 code = be16_to_cpu(abort->code);
	int err;

	if (m->height && g->state != INC_GROUP_JOINING)
		err = abort_of_node(g, pkt, abort, now);
	else
		err = check_abort(g, pkt, abort);
	if (err) {
		netinc_count(g->counters, -err);
		return err;
	}
	if (pkt->flags & INC_F_LEAVE)
		m->done = true;
	if (m->height && g->state != INC_GROUP_JOINING)
		return 0;
	if (netinc_group_over(g) && g->error.code) {
		also_gone(g, pkt->child, code);
		/* what it repeats ABORT for */
		if (!m->done && may_answer(g, pkt->child, ANSWER_ERROR))
			netinc_group_send_error(g, pkt->child);
	} else if (!netinc_group_over(g) && code == INC_ERR_LEFT) {
		mark_left(g, pkt->child);
		end_if_left(g, now);
	} else if (!netinc_group_over(g)) {
		member_gone(g, pkt->child, code, now);
	}
	return 0;
}

int netinc_group_control(struct netinc_group *g, const struct netinc_pkt *pkt, const void *body,
			 u64 now)
{
	const struct inc_probe *probe = body;

	switch (pkt->type) {
	case INC_PKT_PROBE:
		if (!g->running) {
			netinc_count(g->counters, INC_C_DROP_STATE);
			return -INC_C_DROP_STATE;
		}
		if (sizeof(*probe) + be16_to_cpu(probe->bits) / 8 > pkt->len ||
		    be16_to_cpu(probe->bits) % 32)
			break;
		return probe_rx(g, pkt, probe, now);
	case INC_PKT_ABORT:
		return abort_rx(g, pkt, body, now);
	default:
		netinc_count(g->counters, INC_C_DROP_STATE);
		return -INC_C_DROP_STATE;
	}
	netinc_count(g->counters, INC_C_DROP_MALFORMED);
	return -INC_C_DROP_MALFORMED;
}

/*
 * This box has stood still: what members sent meanwhile is yet to be read, so that their silence
 * says nothing.
 */
static void forgive_stall(struct netinc_group *g, u64 now)
{
	u64 dead = g->cfg.settings.dead_ms * NETINC_MS;
	bool stalled = g->ticked && now - g->ticked > dead / 2;
	u32 i;

	g->ticked = now;
	for (i = 0; stalled && i < g->nmembers; i++)
		if (now - g->members[i].heard > dead / 2)
			g->members[i].heard = now - dead / 2;
}

/* Some ranks have not come along, or have gone again: who comes or asks is told. */
static void not_moved(struct netinc_group *g, u64 now)
{
	u32 rank[2] = { NETINC_NO_RANK, NETINC_NO_RANK }, i, n = 0;

	for (i = 0; i < g->nmembers; i++) {
		if (netinc_form_is_fresh(g, i, now))
			continue;
		if (n < 2)
			rank[n++] = i;
		g->members[i].gone = true;
		g->ops->event(g, INC_EVENT_RANK_DEAD, i);
	}
	if (!n)
		return;		/* all are there: with the next JOIN the epoch begins */
	memset(&g->error, 0, sizeof(g->error));
	g->error.code = INC_ERR_RANK_DEAD;
	memcpy(g->error.rank, rank, sizeof(rank));
	g->state = INC_GROUP_FAILED;
	g->ended = now;
	g->ops->event(g, INC_EVENT_GROUP_ERROR, g->error.rank[0]);
}

/* Others have contributed to the oldest block, and this one has not. */
static bool is_waited_for(const struct netinc_group *g, u32 rank)
{
	const struct netinc_slot *slot = netinc_agg_slot(&g->agg, g->agg.una);

	return g->running && slot->q == g->agg.una && slot->state == NETINC_SLOT_FILLING &&
	       slot->missing < g->agg.children && !netinc_bits_get(slot->have, rank);
}

/*
 * It has left and may be silent. After a move LEAVE may be there while contributions before it are
 * not; and who lies says LEAVE in the middle of an operation, or wants the next epoch after it, and
 * is not heard of again: the others must not wait for it for ever, nor for one that an error here
 * makes join again.
 */
static bool has_gone(const struct netinc_group *g, u32 rank)
{
	const struct netinc_member *m = &g->members[rank];
	const struct netinc_child *c = &g->agg.child[rank];

	return m->left && !m->rejoined && !g->agg.closed && c->frontier == c->end &&
	       !is_waited_for(g, rank);
}

/*
 * Is who does not contribute late? In several trees one rank's JOIN is enough for RESYNC, and the
 * error that it says there is elsewhere may be a lie: it would be late for ever. If it is none, the
 * others have stopped for it, and join again before they count as dead.
 */
static bool counts_as_late(const struct netinc_group *g, u64 now)
{
	if (g->state == INC_GROUP_RESYNC && !g->agg.closed)
		return now - g->resync > g->cfg.settings.dead_ms * NETINC_MS;
	return g->state == INC_GROUP_ACTIVE;
}

/*
 * Does no member want to hear of the group any more? Who is dead, and may be there all the same,
 * has not said so.
 */
static bool all_done(const struct netinc_group *g)
{
	u32 i;

	for (i = 0; i < g->nmembers && g->members[i].done; i++)
		;
	return i == g->nmembers;
}

/* Does nobody ask for a group that is over any more? */
static bool has_expired(const struct netinc_group *g, u64 now)
{
	return (g->state == INC_GROUP_LEFT && !g->cfg.settings.fallback) ||
	       (!g->epoch && !g->forming) || all_done(g) ||
	       now - g->ended > 2 * g->cfg.settings.dead_ms * NETINC_MS;
}

/* The group has failed, and results do not come as far as has been said, but only before @block. */
static void end_at(struct netinc_group *g, u64 block)
{
	g->error.block = block;
	g->agg.limit = block;
	netinc_group_send_error(g, NETINC_ALL);
}

/* The parent is lost, or says nothing of an error: the group is over here. */
static void parent_lost(struct netinc_group *g, u64 now)
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
	/* all have left here, so they have above: that was the last word, and it is lost */
	if (g->nleft == g->nmembers) {
		g->up.left = true;
		end_if_left(g, now);
		return;
	}
	fail_here(g, code, rank, now);
}

/* ERROR of the parent. 0 or a negative counter. */
static int parent_error(struct netinc_group *g, const struct netinc_pkt *pkt, const void *body,
			u64 now)
{
	struct netinc_error e;

	netinc_error_parse(body, &e);
	if (e.code == INC_ERR_NONE || e.code > INC_ERR_MAX || (u32)e.block != pkt->psn ||
	    (s64)(e.block - g->agg.una) < 0 || e.block - g->agg.una > g->agg.window)
		return -INC_C_DROP_MALFORMED;
	/* the parent has lost its own, and with that results that were to come */
	if (g->state == INC_GROUP_FAILED && (s64)(e.block - g->error.block) < 0) {
		end_at(g, e.block);
		return 0;
	}
	if (netinc_group_over(g) || (g->error.code && e.resume))
		return -INC_C_DROP_DUPLICATE;
	g->error = e;
	g->agg.closed = true;
	g->agg.limit = e.block;
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

static int parent_ready(struct netinc_group *g, const struct netinc_pkt *pkt,
			const struct inc_ready *ready, u64 now)
{
	bool first = g->state == INC_GROUP_JOINING;
	int err = netinc_group_ready(g, pkt, ready, now);

	/* somebody has gone since the JOIN that this answers */
	if (!err && first && be16_to_cpu(ready->children) != g->joined)
		netinc_group_fail(g, g->up.gone == NETINC_NO_RANK ? INC_ERR_RANK_ABORT :
								    g->up.gone_code,
				  g->up.gone, now);
	return err;
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
	parent_lost(g, now);
	end_if_left(g, now);
	if (err)
		netinc_count(g->counters, -err);
	return err;
}

int netinc_group_result(struct netinc_group *g, const struct netinc_pkt *pkt,
			const struct netinc_pay *pay, u64 now)
{
	int err = netinc_uplink_check(g, pkt, now);

	if (err)
		return err;
	if (pkt->len > g->block) {
		netinc_count(g->counters, INC_C_DROP_MALFORMED);
		return -INC_C_DROP_MALFORMED;
	}
	err = netinc_agg_result(&g->agg, pkt, pay, now);
	end_if_left(g, now);
	return err;
}

/* It is over, or will be when the parent has heard why. */
static bool is_ending(const struct netinc_group *g)
{
	return netinc_group_over(g) || netinc_error_is_final(&g->up.abort);
}

bool netinc_group_tick(struct netinc_group *g, u64 now)
{
	u64 dead = g->cfg.settings.dead_ms * NETINC_MS, patience = netinc_form_patience(g);
	u32 i;

	if (netinc_group_is_branch(g)) {
		/* who is dead, and when all is over, is the root's business */
		if (g->state == INC_GROUP_ACTIVE)
			check_late(g, now);
		return g->ended && now - g->ended > 2 * dead;
	}
	forgive_stall(g, now);
	/*
	 * who lost the last word of a group that all have left is told that it is unknown, which
	 * says the same
	 */
	if (netinc_group_over(g)) {
		if (!has_expired(g, now))
			return false;
		netinc_uplink_done(g, now);
		return true;
	}
	if (g->state == INC_GROUP_JOINING && g->move && g->forming && now - g->forming > dead)
		not_moved(g, now);
	for (i = 0; i < g->nmembers && !is_ending(g); i++) {
		const struct netinc_member *m = &g->members[i];

		if (m->present && !has_gone(g, i) && now - m->heard > patience)
			member_gone(g, i, INC_ERR_RANK_DEAD, now);
	}
	netinc_uplink_tick(g, now);
	parent_lost(g, now);
	if (netinc_group_over(g))
		return false;
	netinc_form_call(g, now);
	netinc_form_repeat_ready(g, now);
	if (counts_as_late(g, now))
		check_late(g, now);
	if (g->state == INC_GROUP_JOINING && !g->joined) {
		/* made for a JOIN that was not repeated */
		if (!g->ended)
			g->ended = now;
		else if (now - g->ended > dead)
			g->state = INC_GROUP_FAILED;
	}
	return false;
}
