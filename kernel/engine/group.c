// SPDX-License-Identifier: GPL-2.0-only
/*
 * Membership at a node: what members send is checked, and goes to the aggregator or to the other
 * parts of the group; members that are silent or late are found. Rules 5 and 6 of protocol.rst.
 */
#include "group.h"

/* that are answered per dead limit while little can be afforded */
#define RARE_PROBES	32u

size_t netinc_group_bytes(u32 size, u32 window)
{
	return size * (sizeof(struct netinc_member) + sizeof(u64)) +
	       netinc_agg_bytes(size, size, window);
}

void netinc_group_buffer_begin(struct netinc_group *g)
{
	g->buffer++;
	netinc_agg_buffer_begin(&g->agg);
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
	netinc_agg_init(&g->agg, g->members + cfg->size, cfg->size, cfg->size,
			cfg->settings.window);
	g->owner = mem + cfg->size * sizeof(struct netinc_member) +
		   netinc_agg_bytes(cfg->size, cfg->size, cfg->settings.window);
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

/*
 * It gives up, and has not had READY of the epoch that has begun: its ABORT says the epoch that its
 * JOIN said, and is known by the nonce in the body.
 */
static bool crosses_ready(const struct netinc_group *g, const struct netinc_pkt *pkt)
{
	const struct netinc_member *m = &g->members[pkt->child];

	return pkt->type == INC_PKT_ABORT && !pkt->tree && !netinc_group_is_branch(g) &&
	       m->present && (g->state == INC_GROUP_JOINING || !m->confirmed) &&
	       pkt->epoch == m->epoch && !netinc_abort_is_known(g, pkt);
}

/* Is it from the member that it says? 0 or a negative counter. */
static int check_sender(const struct netinc_group *g, struct netinc_pkt *pkt,
			const struct netinc_peer *peer)
{
	u32 child = netinc_group_child(g, pkt->child);

	if (child == NETINC_NO_RANK)
		return -INC_C_DROP_CHILD;
	pkt->child = child;
	if (crosses_ready(g, pkt))
		return is_from(g, &g->members[child].peer, peer) ? 0 : -INC_C_DROP_PORT;
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
	if (g->state == INC_GROUP_JOINING || crosses_ready(g, pkt))
		return 0;
	g->members[pkt->child].heard = now;
	g->members[pkt->child].confirmed = true;
	return 0;
}

static u64 agg_block(const struct netinc_group *g, const struct netinc_pkt *pkt)
{
	return netinc_extend(g->agg.una, pkt->psn);
}

/* Is its contribution to block @b LEAVE? Said of another block it is a lie. */
static bool has_contributed_leave(const struct netinc_group *g, u32 child, u64 b)
{
	const struct netinc_slot *slot = netinc_agg_slot(&g->agg, b);

	return slot->q == b && netinc_bits_get(slot->have, child) &&
	       (slot->in[child].flags & INC_F_LEAVE);
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
	/*
	 * memory is set aside for blocks of that size, and all paths carry them; and who leaves has
	 * no elements
	 */
	if (netinc_full_len(pkt) > g->block ||
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
		netinc_end_leave(g, pkt->child, b, now);
	/* nothing completes any more, but in a tree the error may not have come down yet */
	if (err == -INC_C_DROP_ERROR && g->error.code &&
	    netinc_group_may_answer(g, pkt->child, NETINC_GROUP_ANSWER_ERROR))
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

static int probe_rx(struct netinc_group *g, const struct netinc_pkt *pkt,
		    const struct inc_probe *probe, u64 now)
{
	u32 child = pkt->child;

	if (!netinc_group_may_answer(g, child, NETINC_GROUP_ANSWER_STATUS)) {
		netinc_count(g->counters, INC_C_DROP_WORK);
		return -INC_C_DROP_WORK;
	}
	netinc_count(g->counters, INC_C_PROBES);
	netinc_multicast_probed(g, child, pkt, now);
	if ((s64)(agg_block(g, pkt) - g->members[child].una) > 0)
		g->members[child].una = agg_block(g, pkt);
	if (g->members[child].height)
		g->agg.child[child].waits_for =
			netinc_children_has(g, child, pkt->opseq) ? pkt->opseq : NETINC_NO_RANK;
	else if (pkt->opseq < g->cfg.size)
		netinc_group_send_peers(g, child, pkt->opseq);
	if (!netinc_agg_probe(&g->agg, child, pkt, probe, now)) {
		netinc_count(g->counters, INC_C_DROP_WORK);
		return -INC_C_DROP_WORK;
	}
	if ((pkt->flags & INC_F_LEAVE) && g->agg.spread.trees > 1 && !netinc_group_is_branch(g))
		netinc_end_leave(g, child, agg_block(g, pkt) + pkt->span - 1, now);
	if (g->error.code && netinc_group_may_answer(g, child, NETINC_GROUP_ANSWER_ERROR))
		netinc_group_send_error(g, child);
	netinc_uplink_poke(g, now);
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
		return netinc_end_abort(g, pkt, body, now);
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
	       !netinc_agg_is_empty(&g->agg, slot) && !netinc_bits_get(slot->have, rank);
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

bool netinc_group_is_done(const struct netinc_group *g)
{
	return netinc_group_over(g) && !netinc_group_is_branch(g) &&
	       ((g->state == INC_GROUP_LEFT && !g->cfg.settings.fallback) || all_done(g));
}

/* Does nobody ask for a group that is over any more? */
static bool has_expired(const struct netinc_group *g, u64 now)
{
	return netinc_group_is_done(g) || (!g->epoch && !g->forming) ||
	       now - g->ended > 2 * g->cfg.settings.dead_ms * NETINC_MS;
}

/* It is over, or will be when the parent has heard why. */
static bool is_ending(const struct netinc_group *g)
{
	return netinc_group_over(g) || netinc_error_is_final(&g->up.abort);
}

/*
 * Others have joined again after an error that this node has told all, and this member, which is
 * heard, has not: whoever is honest does so by itself. A node that waits for such a rank gives it
 * up sooner than its parent gives up the node, and says which rank it was.
 */
static bool stays_behind(const struct netinc_group *g, u32 child, u64 now)
{
	const struct netinc_member *m = &g->members[child];
	u64 dead = g->cfg.settings.dead_ms * NETINC_MS;

	return g->state == INC_GROUP_RESYNC && g->agg.closed && g->rejoined && !m->rejoined &&
	       now - g->resync > NETINC_REJOIN_DEADS * dead + (m->height ? dead / 2 : 0);
}

/* A member has been silent for too long? The ranks below a node need not be dead as well. */
static void check_silence(struct netinc_group *g, u32 child, u64 patience, u64 now)
{
	const struct netinc_member *m = &g->members[child];
	bool node = m->height && netinc_group_may_move(g);

	if (stays_behind(g, child, now)) {
		netinc_end_member(g, child, INC_ERR_RANK_DEAD, now);
		return;
	}
	if (node)
		patience = netinc_group_node_limit(g);
	if (!m->present || has_gone(g, child) || now - m->heard <= patience)
		return;
	if (node)
		netinc_group_fail(g, INC_ERR_NODE_DEAD, m->low, now);
	else
		netinc_end_member(g, child, INC_ERR_RANK_DEAD, now);
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
	for (i = 0; i < g->nmembers && !is_ending(g); i++)
		check_silence(g, i, patience, now);
	netinc_uplink_tick(g, now);
	netinc_parent_lost(g, now);
	if (netinc_group_over(g))
		return false;
	netinc_form_call(g, now);
	netinc_form_repeat_ready(g, now);
	netinc_multicast_tick(g);
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
