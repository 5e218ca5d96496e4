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
	return size * sizeof(struct netinc_member) + netinc_agg_bytes(size, 1, window);
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
static int check_sender(const struct netinc_group *g, const struct netinc_pkt *pkt,
			const struct netinc_peer *peer)
{
	if (pkt->child >= g->cfg.size)
		return -INC_C_DROP_CHILD;
	if (pkt->epoch != g->epoch || pkt->tree != g->agg.tree)
		return -INC_C_DROP_EPOCH;
	if (!g->members[pkt->child].present || (pkt->cookie ^ g->members[pkt->child].cookie))
		return -INC_C_DROP_COOKIE;
	return is_from(g, &g->members[pkt->child].peer, peer) ? 0 : -INC_C_DROP_PORT;
}

int netinc_group_check(struct netinc_group *g, const struct netinc_pkt *pkt,
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

	for (i = 0; g->cfg.settings.fallback && i < g->cfg.size; i++)
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

static void end_if_left(struct netinc_group *g, u64 now)
{
	if (g->nleft < g->cfg.size || netinc_group_over(g))
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
	if (may_answer(g, child, ANSWER_WAIT) && netinc_agg_take_work(&g->agg, g->cfg.size) &&
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
	    (pkt->flags & (INC_F_LEAVE | INC_F_PAYLOAD)) == (INC_F_LEAVE | INC_F_PAYLOAD)) {
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
		netinc_group_fail(g, INC_ERR_MISMATCH, pkt->child, now);
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

void netinc_group_fail(struct netinc_group *g, enum inc_err_code code, u32 rank, u64 now)
{
	bool formed = g->state != INC_GROUP_JOINING;

	if (netinc_group_over(g))
		return;
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

void netinc_group_asked_to_shrink(struct netinc_group *g, const struct inc_join *join, u32 child,
				  u64 now)
{
	u32 i;

	if (!netinc_shrink_asked(g, join, child))
		return;
	for (i = 0; i < g->cfg.size && !g->members[i].left; i++)
		;
	if (i < g->cfg.size)
		netinc_group_fail(g, INC_ERR_LEFT, i, now);
	else
		netinc_group_fail(g, INC_ERR_RANK_ABORT, child, now);
}

/* Late members are reported; one that has been late for too long ends the group. */
static void check_late(struct netinc_group *g, u64 now)
{
	u32 rank = netinc_group_check_late(g, now);

	if (rank != NETINC_NO_RANK)
		netinc_group_fail(g, INC_ERR_RANK_LATE, rank, now);
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

void netinc_group_mismatch(struct netinc_agg *agg, const struct netinc_slot *slot, u32 a, u32 b)
{
	struct netinc_group *g = group_of(agg);
	struct netinc_error *e = &g->error;

	/* who contributes to a group that all have left does not bring it back */
	if (netinc_group_over(g))
		return;
	memset(e, 0, sizeof(*e));
	e->code = slot->flags & INC_F_LEAVE ? INC_ERR_LEFT : slot->bad;
	if (b != NETINC_NO_RANK && (slot->in[b].flags & INC_F_LEAVE)) {
		u32 left = b;	/* the one that left is named first */

		b = a;
		a = left;
	}
	e->opseq = slot->opseq;
	e->rank[0] = a;
	e->rank[1] = b;
	agg->ops->desc(agg, &slot->in[a], &e->desc[0]);
	if (b != NETINC_NO_RANK)
		agg->ops->desc(agg, &slot->in[b], &e->desc[1]);
	if (e->code == INC_ERR_LEFT) {
		g->state = INC_GROUP_FAILED;
		g->ended = slot->since;
	} else {
		e->resume = last_opseq(g, slot->opseq) + 1;
		if (g->cfg.settings.fallback && (s32)(g->begun - e->resume) > 0)
			e->resume = g->begun;
		if (!e->resume)
			e->resume = 1;
		g->state = INC_GROUP_RESYNC;
	}
	raise_error(g);
}

static void member_gone(struct netinc_group *g, u32 rank, enum inc_err_code code, u64 now)
{
	g->members[rank].gone = code != INC_ERR_RANK_FAULT &&
				(g->state != INC_GROUP_JOINING || netinc_group_shrinking(g));
	if (g->state == INC_GROUP_JOINING) {
		g->members[rank].present = false;
		g->members[rank].aborted = code != INC_ERR_RANK_DEAD;
		if (!--g->joined) {
			g->state = INC_GROUP_FAILED;
			g->ended = now;
		}
		g->called = 0;
		return;
	}
	g->ops->event(g, INC_EVENT_RANK_DEAD, rank);
	netinc_group_fail(g, code, rank, now);
}

/* The group has failed already; those that are left will not have to wait for this one. */
static void also_gone(struct netinc_group *g, u32 rank, enum inc_err_code code)
{
	if (code != INC_ERR_RANK_ABORT || netinc_group_gone(g, rank))
		return;
	g->members[rank].gone = true;
	g->ops->event(g, INC_EVENT_RANK_DEAD, rank);
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
	if (g->cfg.settings.fallback && pkt->opseq < g->cfg.size)
		netinc_group_send_peers(g, child, pkt->opseq);
	if (!netinc_agg_probe(&g->agg, child, pkt, probe, now)) {
		netinc_count(g->counters, INC_C_DROP_WORK);
		return -INC_C_DROP_WORK;
	}
	if ((pkt->flags & INC_F_LEAVE) && g->agg.spread.trees > 1 && !netinc_group_is_branch(g))
		note_leave(g, child, agg_block(g, pkt) + pkt->span - 1, now);
	if (g->error.code && may_answer(g, child, ANSWER_ERROR))
		netinc_group_send_error(g, child);
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
	int err = check_abort(g, pkt, abort);

	if (err) {
		netinc_count(g->counters, -err);
		return err;
	}
	if (pkt->flags & INC_F_LEAVE)
		m->done = true;
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
	for (i = 0; stalled && i < g->cfg.size; i++)
		if (now - g->members[i].heard > dead / 2)
			g->members[i].heard = now - dead / 2;
}

/* Some ranks have not come along, or have gone again: who comes or asks is told. */
static void not_moved(struct netinc_group *g, u64 now)
{
	u32 rank[2] = { NETINC_NO_RANK, NETINC_NO_RANK }, i, n = 0;

	for (i = 0; i < g->cfg.size; i++) {
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

	for (i = 0; i < g->cfg.size && g->members[i].done; i++)
		;
	return i == g->cfg.size;
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
	if (netinc_group_over(g))
		return (g->state == INC_GROUP_LEFT && !g->cfg.settings.fallback) ||
		       (!g->epoch && !g->forming) || all_done(g) || now - g->ended > 2 * dead;
	if (g->state == INC_GROUP_JOINING && g->move && g->forming && now - g->forming > dead)
		not_moved(g, now);
	for (i = 0; i < g->cfg.size && !netinc_group_over(g); i++) {
		const struct netinc_member *m = &g->members[i];

		if (m->present && !has_gone(g, i) && now - m->heard > patience)
			member_gone(g, i, INC_ERR_RANK_DEAD, now);
	}
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
