// SPDX-License-Identifier: GPL-2.0-only
/*
 * JOINs at a node: who is a member, and the epoch that begins when all are in; rules 5, 6 and 8 of
 * protocol.rst as far as one node needs them.
 */
#include "group.h"

static u64 member_cookie(const struct netinc_group *g, u32 what, u32 child)
{
	__be32 m[5] = { cpu_to_be32(g->cfg.id), cpu_to_be32(g->cfg.incarnation),
			cpu_to_be32(g->epoch), cpu_to_be32(what), cpu_to_be32(child) };

	return netinc_siphash(m, sizeof(m), g->cfg.secret);
}

static u32 count_trees(const struct netinc_group *g)
{
	u32 most = min(g->cfg.size, g->cfg.settings.window);

	return g->cfg.spread ? min_t(u32, most, INC_MAX_TREES) : 1;
}

/* All JOINs are in: a new epoch, from the lowest block that anybody lacks. */
static void begin_epoch(struct netinc_group *g, u64 now)
{
	struct netinc_member *m = g->members;
	u32 epoch = g->epoch, i;
	bool first = g->state == INC_GROUP_JOINING, shrinks = netinc_group_shrinking(g);
	u64 start;

	if (shrinks)
		netinc_shrink(g);
	start = m->next;
	g->block = INC_MAX_BLOCK;
	for (i = 0; i < g->cfg.size; i++) {
		if ((s64)(m[i].next - start) < 0)
			start = m[i].next;
		epoch = max(epoch, m[i].epoch);
		if (!i || (s32)(m[i].begun - g->begun) > 0)
			g->begun = m[i].begun;
		g->block = min(g->block, m[i].block);
	}
	if (!first)
		g->opseq = g->error.resume;
	/* contributions that have not come, or were another tree's, have been sent all the same */
	if (!first && (!g->opseq || (s32)(g->begun - g->opseq) > 0))
		g->opseq = g->begun ?: 1;
	g->epoch = epoch + 1;
	if (shrinks)
		g->shrunk = g->epoch;
	g->state = INC_GROUP_ACTIVE;
	g->running = true;
	g->forming = 0;
	g->nleft = 0;
	g->rejoined = 0;
	g->late_rank = NETINC_NO_RANK;
	memset(&g->error, 0, sizeof(g->error));
	g->down_cookie = member_cookie(g, 1, 0);
	g->agg.header.epoch = g->epoch;
	g->agg.header.cookie = g->down_cookie;
	netinc_spread_init(&g->agg.spread, count_trees(g), g->cfg.settings.window);
	netinc_agg_start(&g->agg, start);
	g->agg.limit = start;
	g->agg.opseq = first ? g->begun : g->opseq;
	g->ready_sent = now;
	for (i = 0; i < g->cfg.size; i++) {
		m[i].cookie = member_cookie(g, 2, i);
		m[i].rejoined = false;
		m[i].confirmed = false;
		m[i].left = false;	/* of the epoch that failed */
		m[i].heard = now;
		m[i].una = start;
		netinc_group_send_ready(g, i);
		if (g->cfg.settings.fallback)
			netinc_group_send_peers(g, i, 0);
	}
	g->ops->event(g, first ? INC_EVENT_GROUP_FORMED : INC_EVENT_GROUP_EPOCH, NETINC_NO_RANK);
}

static void member_update(struct netinc_group *g, u32 rank, const struct netinc_pkt *pkt,
			  const struct inc_join *join, u64 now)
{
	struct netinc_member *m = &g->members[rank];

	m->nonce = be32_to_cpu(join->nonce);
	m->done = false;
	m->epoch = pkt->epoch;
	m->begun = pkt->opseq;
	m->next = be64_to_cpu(join->next);
	m->block = be16_to_cpu(join->block);
	m->heard = now;
	m->srtt = be32_to_cpu(join->srtt);
	g->agg.child[rank].srtt = m->srtt;
}

/*
 * The first block that a member lacks is no further than a window from what another one lacks, and
 * the same where nobody keeps results: another one would make an epoch begin where the others
 * cannot.
 */
static bool next_fits(const struct netinc_group *g, u64 next, u64 other, u32 windows)
{
	const struct netinc_settings *s = &g->cfg.settings;
	s64 off = (s64)(next - other), most = s->fallback ? windows * s->window : 0;

	return off >= -most && off <= most;
}

/*
 * Does the first block that a rank lacks fit those of the others, in a group that is yet to form?
 * In one that forms anew all who have come have the same to say, however long ago; elsewhere one
 * that is gone may have been at another block.
 */
static bool next_fits_others(const struct netinc_group *g, u32 rank, u64 next, u64 now, u64 *detail)
{
	u32 i;

	for (i = 0; i < g->cfg.size; i++) {
		if (i == rank || !g->members[i].present ||
		    (!netinc_form_is_new(g) && !netinc_form_is_fresh(g, i, now)))
			continue;
		if (next_fits(g, next, g->members[i].next, 1))
			return true;
		*detail = g->members[i].next;
		return false;
	}
	return true;
}

/* Of what the ranks say that they have contributed to, one is to be the furthest. */
static bool begun_fits_others(const struct netinc_group *g, u32 rank, u32 begun)
{
	u32 i;

	for (i = 0; i < g->cfg.size; i++)
		if (i != rank && g->members[i].present &&
		    !netinc_opseq_near(begun, g->members[i].begun))
			return false;
	return true;
}

/*
 * Where the group has been before, a rank comes with the nonce that it had: it keeps it for life.
 */
static bool was_member(const struct netinc_group *g, u32 rank, const struct inc_join *join)
{
	return !g->epoch || g->members[rank].nonce == be32_to_cpu(join->nonce);
}

static int join_new(struct netinc_group *g, u32 rank, const struct netinc_pkt *pkt,
		    const struct inc_join *join, const struct netinc_peer *peer, u64 now,
		    u64 *detail)
{
	struct netinc_member *m = &g->members[rank];
	bool all;

	*detail = rank;
	if (g->move && !was_member(g, rank, join))
		return INC_REFUSE_RANK_TAKEN;
	if (!next_fits_others(g, rank, be64_to_cpu(join->next), now, detail))
		return INC_REFUSE_NEXT;
	if (!begun_fits_others(g, rank, pkt->opseq))
		return INC_REFUSE_NEXT;
	if (!m->present && !g->ops->link(g, rank, peer))
		return INC_REFUSE_LIMIT;
	if (!m->present) {
		g->joined++;
		g->news = now;
	}
	if ((g->move || netinc_group_shrinking(g)) && !g->forming)
		g->forming = now;
	g->ended = 0;
	m->present = true;
	m->gone = false;
	m->peer = *peer;
	member_update(g, rank, pkt, join, now);
	all = netinc_group_shrinking(g) ? netinc_shrink_complete(g, now) : g->joined == g->cfg.size;
	if (all && netinc_form_all_heard(g, now)) {
		begin_epoch(g, now);
		return 0;
	}
	netinc_group_send_wait(g, rank, netinc_form_pause(g, now));
	if (!g->called)
		netinc_form_call(g, now);
	return 0;
}

static int join_again(struct netinc_group *g, u32 rank, const struct netinc_pkt *pkt,
		      const struct inc_join *join, u64 now, u64 *detail)
{
	struct netinc_member *m = &g->members[rank];

	m->heard = now;
	/* an error is for those who are in this epoch, and it has lost READY */
	if (g->state == INC_GROUP_RESYNC && !m->confirmed && pkt->epoch != g->epoch) {
		netinc_group_send_ready(g, rank);
		return 0;
	}
	/* of an error in another tree only ranks hear: who is in this epoch wants the next */
	if (g->state == INC_GROUP_ACTIVE && (g->agg.spread.trees <= 1 || pkt->epoch != g->epoch)) {
		netinc_group_send_ready(g, rank);
		return 0;
	}
	if (pkt->cookie != m->cookie || pkt->epoch != g->epoch)
		return INC_REFUSE_UNKNOWN;
	/* of several trees this one may be a window ahead of the one in which the error is */
	if (!next_fits(g, be64_to_cpu(join->next), g->agg.una, g->agg.spread.trees > 1 ? 2 : 1) ||
	    !netinc_opseq_near(pkt->opseq, g->agg.opseq)) {
		*detail = g->agg.una;
		return INC_REFUSE_NEXT;
	}
	g->state = INC_GROUP_RESYNC;
	if (!g->rejoined)
		g->resync = now;
	if (!m->rejoined)
		g->rejoined++;
	m->rejoined = true;
	member_update(g, rank, pkt, join, now);
	if (g->rejoined == g->cfg.size)
		begin_epoch(g, now);
	else
		netinc_group_send_wait(g, rank, netinc_form_pause(g, now));
	return 0;
}

static bool knows_sender(const struct netinc_group *g, u32 child, const struct inc_join *join,
			 const struct netinc_peer *peer)
{
	const struct netinc_member *m = &g->members[child];

	return g->epoch && child < g->cfg.size && m->nonce == be32_to_cpu(join->nonce) &&
	       netinc_peer_same(&m->peer, peer);
}

bool netinc_group_knows(const struct netinc_group *g, const struct netinc_pkt *pkt,
			const struct inc_join *join, const struct netinc_peer *peer)
{
	return knows_sender(g, pkt->child, join, peer);
}

bool netinc_group_moves(const struct netinc_group *g, const struct netinc_pkt *pkt,
			const struct inc_join *join)
{
	return !pkt->incarnation && g->cfg.settings.fallback &&
	       be64_to_cpu(join->lineage) == g->cfg.lineage &&
	       (s32)(be32_to_cpu(join->move) - g->move) > 0;
}

/*
 * The group, or what is left of it here, begins anew: it has been elsewhere, or is on its way to
 * here.
 */
static void restart_group(struct netinc_group *g, u32 move)
{
	u32 i;

	netinc_agg_drain(&g->agg);
	g->running = false;
	g->state = INC_GROUP_JOINING;
	g->move = move;
	g->joined = 0;
	g->nleft = 0;
	g->rejoined = 0;
	g->forming = 0;
	g->called = 0;
	g->ended = 0;
	memset(&g->error, 0, sizeof(g->error));
	for (i = 0; i < g->cfg.size; i++) {
		g->members[i].present = false;
		g->members[i].left = false;
		g->members[i].aborted = false;
		g->members[i].gone = false;
		g->members[i].done = false;
		g->members[i].rejoined = false;
	}
}

/*
 * The group is over: a member that has not heard it, perhaps not even of the epoch that failed,
 * hears it now.
 */
static int join_over(struct netinc_group *g, u32 child, const struct netinc_pkt *pkt,
		     const struct inc_join *join, const struct netinc_peer *peer, u64 *detail)
{
	*detail = child;
	if (!g->error.code || !knows_sender(g, child, join, peer))
		return join->shrink ? INC_REFUSE_OUT : INC_REFUSE_BUSY;
	if (pkt->epoch != g->epoch)
		netinc_group_send_ready(g, child);
	else
		netinc_group_send_error(g, child);
	return 0;
}

/* 0 or enum inc_refuse_code: does the group look like this to its member @child? */
static int check_shape(const struct netinc_group *g, u32 child, const struct inc_join *join,
		       u64 *detail)
{
	u16 block = be16_to_cpu(join->block);

	*detail = g->cfg.size;
	if (!join->shrink && (be32_to_cpu(join->size) != g->cfg.size || child >= g->cfg.size))
		return INC_REFUSE_SIZE;
	*detail = INC_MIN_BLOCK;
	return block < INC_MIN_BLOCK || block > INC_MAX_BLOCK || block % INC_BLOCK_ALIGN ?
		       INC_REFUSE_BLOCK :
		       0;
}

/* The group begins anew here if this JOIN is of a later move. 0 or enum inc_refuse_code */
static int follow_move(struct netinc_group *g, const struct netinc_pkt *pkt,
		       const struct inc_join *join, u64 *detail)
{
	int code;

	if (!netinc_group_moves(g, pkt, join))
		return 0;
	code = check_shape(g, pkt->child, join, detail);
	if (code)
		return code;
	*detail = pkt->child;
	if (!was_member(g, pkt->child, join))
		return INC_REFUSE_RANK_TAKEN;
	restart_group(g, be32_to_cpu(join->move));
	return 0;
}

/* 0 or enum inc_refuse_code: is it here, in this run, that the rank wants to join? */
static int check_run(struct netinc_group *g, const struct netinc_pkt *pkt,
		     const struct inc_join *join, u64 *detail)
{
	int code = follow_move(g, pkt, join, detail);

	if (code)
		return code;
	*detail = g->move;
	if (!pkt->incarnation && join->lineage && be32_to_cpu(join->move) != g->move)
		return INC_REFUSE_MOVED;
	/* a new run of the group is not the one that is on its way here */
	return !join->lineage && g->move ? INC_REFUSE_BUSY : 0;
}

/* 0 or enum inc_refuse_code: is the sender the rank that it says, as far as that one is known? */
static int check_rank(const struct netinc_group *g, u32 child, const struct inc_join *join,
		      const struct netinc_peer *peer, u64 *detail)
{
	const struct netinc_member *m = &g->members[child];
	bool same = m->nonce == be32_to_cpu(join->nonce);

	*detail = child;
	if (!m->present)
		return m->aborted && same ? INC_REFUSE_UNKNOWN : 0;	/* a late copy */
	if (same && netinc_peer_same(&m->peer, peer))
		return 0;
	return g->state == INC_GROUP_JOINING ? INC_REFUSE_RANK_TAKEN : INC_REFUSE_BUSY;
}

int netinc_group_join(struct netinc_group *g, const struct netinc_pkt *pkt,
		      const struct inc_join *join, const struct netinc_peer *peer, u64 now,
		      u64 *detail)
{
	u32 child = pkt->child;
	int code;

	/* nobody joins a tree whose group has its root elsewhere */
	if (netinc_group_is_branch(g))
		return INC_REFUSE_UNKNOWN;
	if (join->shrink || netinc_group_shrinking(g))
		code = netinc_shrink_check(g, join, &child, detail);
	else
		code = check_run(g, pkt, join, detail);
	if (code)
		return code;
	if (g->state == INC_GROUP_FAILED && g->forming && g->move && g->error.code) {
		*detail = g->error.rank[0] | (u64)g->error.rank[1] << 32;
		return INC_REFUSE_RANK_DEAD;
	}
	if (netinc_group_over(g))
		return join_over(g, child, pkt, join, peer, detail);
	code = check_shape(g, child, join, detail);
	if (!code)
		code = check_rank(g, child, join, peer, detail);
	if (code)
		return code;
	if (g->state == INC_GROUP_JOINING)
		return join_new(g, child, pkt, join, peer, now, detail);
	return join_again(g, child, pkt, join, now, detail);
}
