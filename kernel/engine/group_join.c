// SPDX-License-Identifier: GPL-2.0-only
/*
 * JOINs at a node: who is a member, and when all are in; rules 5, 6 and 8 of protocol.rst as far as
 * one node needs them.
 */
#include "group.h"

/* a member is silent so long before it may be elsewhere, and is there for as long */
#define REBIND_SILENCE	(100 * NETINC_MS)
/* from one later move that is followed to the next */
#define RESTART_PAUSE	(50 * NETINC_MS)

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
 * the same where nobody keeps results, or they have been nowhere else: another one would make an
 * epoch begin where the others cannot.
 */
static bool next_fits(const struct netinc_group *g, u64 next, u64 other, u32 windows)
{
	const struct netinc_settings *s = &g->cfg.settings;
	bool same = !s->fallback || g->levels || netinc_form_is_new(g);
	s64 off = (s64)(next - other), most = same ? 0 : windows * s->window;

	return off >= -most && off <= most;
}

/*
 * Does the first block that a rank lacks fit those of the others, in a group that is yet to form?
 * In one that forms anew all who have come have the same to say, however long ago; elsewhere one
 * that is gone may have been at another block.
 */
static bool next_fits_others(const struct netinc_group *g, u32 rank, const struct inc_join *join,
			     u64 now, u64 *detail)
{
	u64 next = be64_to_cpu(join->next);
	u32 i;

	/* who is elsewhere still goes on there */
	if (g->cfg.returns && (join->below & INC_JOIN_STALE))
		return true;
	for (i = 0; i < g->nmembers; i++) {
		if (i == rank || !g->members[i].present ||
		    (g->cfg.returns && g->members[i].stale) ||
		    (!netinc_form_is_new(g) && !netinc_form_is_fresh(g, i, now)))
			continue;
		if (next_fits(g, next, g->members[i].next, 1))
			return true;
		*detail = g->members[i].next;
		return false;
	}
	return true;
}

/*
 * Blocks of a group that comes from elsewhere are as long as they were there. One that makes them
 * shorter would make READY one that nobody takes.
 */
static bool block_fits_others(const struct netinc_group *g, u32 rank, const struct inc_join *join,
			      u64 now, u64 *detail)
{
	u32 i;

	if (netinc_group_shrinking(g) || (!g->move && !g->cfg.returns))
		return true;
	for (i = 0; i < g->nmembers; i++) {
		if (i == rank || !g->members[i].present || !netinc_form_is_fresh(g, i, now))
			continue;
		*detail = g->members[i].block;
		return be16_to_cpu(join->block) == g->members[i].block;
	}
	return true;
}

/* Of what the ranks say that they have contributed to, one is to be the furthest. */
static bool begun_fits_others(const struct netinc_group *g, u32 rank, u32 begun)
{
	u32 i;

	for (i = 0; i < g->nmembers; i++)
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

/*
 * Will the group not get further than this node? For a while all ranks may yet come here, and then
 * nobody above is needed. A group that comes back here has not been refused: see restart_group().
 */
static bool parent_has_refused(const struct netinc_group *g, u64 now)
{
	return g->up.refused &&
	       now - g->up.refused_at > g->cfg.settings.dead_ms * NETINC_MS;
}

/* 0 or enum inc_refuse_code: may a node be a child of this group? */
static int check_node(const struct netinc_group *g, const struct inc_join *join, u64 *detail)
{
	u32 window = be16_to_cpu(join->window);

	if (!netinc_join_height(join))
		return 0;
	*detail = INC_MAX_HEIGHT - 1;
	if (netinc_join_height(join) >= INC_MAX_HEIGHT)
		return INC_REFUSE_TREE;
	*detail = 0;
	if ((g->move && !g->cfg.returns) || g->cfg.ancestor || g->cfg.spread || g->epoch ||
	    g->cfg.settings.late_policy == INC_LATE_PARTIAL)
		return INC_REFUSE_TREE;
	*detail = window;
	return window < INC_MIN_WINDOW || window > INC_MAX_WINDOW || (window & (window - 1)) ?
		       INC_REFUSE_SIZE : 0;
}

/* All ranks have come, and all have been heard lately. */
static bool may_begin(const struct netinc_group *g, u64 now)
{
	bool all = netinc_group_shrinking(g) ? netinc_shrink_complete(g, now) :
					       g->joined == g->cfg.size;

	return all && netinc_form_all_heard(g, now);
}

/* A node whose JOIN has been accepted may know where rank 0 is: it is believed if that can be. */
static void take_edge(struct netinc_group *g, const struct inc_join *join,
		      const struct netinc_peer *peer)
{
	if (!netinc_join_height(join) || !netinc_bit(join->ranks, 0))
		return;
	netinc_addr_parse(netinc_join_edge(join), &g->edge);
	if (!netinc_peer_is_far(&g->edge) || g->edge.udp_port != peer->udp_port)
		g->edge.family = 0;
}

static bool has_just_moved(const struct netinc_member *m, u64 now)
{
	return m->rebound && now - m->rebound < REBIND_SILENCE;
}

/* Has the JOIN at hand come by the way that answers to member @rank take? */
static bool comes_as_before(const struct netinc_group *g, u32 rank, const struct netinc_peer *peer)
{
	return netinc_peer_same(&g->members[rank].peer, peer) &&
	       (!g->ops->same_port || g->ops->same_port(g, rank));
}

/* One that has begun anew may have come another way; one that comes by others in turn waits. */
static bool link_child(struct netinc_group *g, u32 rank, const struct inc_join *join,
		       const struct netinc_peer *peer, u64 now)
{
	struct netinc_member *m = &g->members[rank];
	bool present = m->present;

	if (present && !netinc_children_outdated(g, rank, join, peer) &&
	    (comes_as_before(g, rank, peer) || has_just_moved(m, now)))
		return true;
	m->rebound = present ? now : 0;
	if (g->ops->link(g, rank, peer))
		return true;
	/* nothing reaches it any more */
	if (present)
		netinc_children_release(g, rank);
	return false;
}

static int join_new(struct netinc_group *g, u32 rank, const struct netinc_pkt *pkt,
		    const struct inc_join *join, const struct netinc_peer *peer, u64 now,
		    u64 *detail)
{
	struct netinc_member *m = &g->members[rank];
	u32 joined = g->joined;
	int code;

	code = check_node(g, join, detail);
	if (code)
		return code;
	*detail = rank;
	if (netinc_join_height(join) && netinc_children_former(g, join))
		return INC_REFUSE_UNKNOWN;
	code = netinc_children_check(g, rank, pkt, join, peer, detail);
	if (code)
		return code;
	code = netinc_children_check_kinds(g, rank, join, peer, detail);
	if (code)
		return code;
	*detail = g->up.refuse_detail;
	if (parent_has_refused(g, now))
		return g->up.refused;
	/* a group that has been here before: in which epoch, one of them may have made up */
	*detail = g->epoch;
	if (g->epoch >= NETINC_MAX_EPOCH)
		return INC_REFUSE_NEXT;
	*detail = rank;
	if (g->move && !was_member(g, rank, join))
		return INC_REFUSE_RANK_TAKEN;
	if (!next_fits_others(g, rank, join, now, detail))
		return INC_REFUSE_NEXT;
	if (!begun_fits_others(g, rank, pkt->opseq))
		return INC_REFUSE_NEXT;
	if (!block_fits_others(g, rank, join, now, detail))
		return INC_REFUSE_BLOCK;
	/* a shortage of memory passes, as a limit does not */
	if (!link_child(g, rank, join, peer, now))
		return INC_REFUSE_BUSY;
	rank = netinc_children_take(g, rank, pkt, join, peer);
	m = &g->members[rank];
	netinc_children_take_kinds(g, m, join);
	if (g->joined != joined) {
		g->news = now;
		g->up.news = true;
	}
	if (!netinc_form_is_new(g) && !g->forming)
		g->forming = now;
	g->ended = 0;
	m->present = true;
	m->gone = false;
	m->peer = *peer;
	take_edge(g, join, peer);
	member_update(g, rank, pkt, join, now);
	if (may_begin(g, now)) {
		netinc_group_begin_epoch(g, now);
		return 0;
	}
	if (netinc_form_is_new(g) && g->joined != g->cfg.size)
		netinc_uplink_ask(g, now);
	netinc_group_send_wait(g, rank, netinc_form_pause(g, now));
	if (!g->called)
		netinc_form_call(g, now);
	return 0;
}

static int join_again(struct netinc_group *g, u32 rank, const struct netinc_pkt *pkt,
		      const struct inc_join *join, u64 now, u64 *detail)
{
	struct netinc_member *m = &g->members[rank];
	bool last;

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
	*detail = g->block;
	if (be16_to_cpu(join->block) != g->block)
		return INC_REFUSE_BLOCK;
	g->state = INC_GROUP_RESYNC;
	if (!g->rejoined)
		g->resync = now;
	last = !m->rejoined && g->rejoined + 1 == g->nmembers;
	if (!m->rejoined)
		g->rejoined++;
	m->rejoined = true;
	member_update(g, rank, pkt, join, now);
	/* to the parent once; what is lost is said again by the tick */
	if (last && netinc_uplink_in_use(&g->up))
		netinc_uplink_join(g, now);
	else if (last)
		netinc_group_begin_epoch(g, now);
	if (g->state == INC_GROUP_RESYNC)
		netinc_group_send_wait(g, rank, netinc_form_pause(g, now));
	return 0;
}

static bool knows_sender(const struct netinc_group *g, u32 child, const struct inc_join *join,
			 const struct netinc_peer *peer)
{
	const struct netinc_member *m = &g->members[child];

	return g->epoch && child < g->nmembers && m->nonce == be32_to_cpu(join->nonce) &&
	       netinc_peer_same(&m->peer, peer);
}

bool netinc_group_knows(const struct netinc_group *g, const struct netinc_pkt *pkt,
			const struct inc_join *join, const struct netinc_peer *peer)
{
	return knows_sender(g, netinc_group_child(g, pkt->child), join, peer);
}

bool netinc_group_is_for(const struct netinc_group *g, u64 lineage, u32 move, bool returns)
{
	if (READ_ONCE(g->cfg.lineage) != lineage || g->cfg.returns != returns)
		return false;
	if (!returns)
		return !READ_ONCE(g->levels);
	/* when it has formed, it is for who has not had READY yet */
	return netinc_group_awaits_return(g) ||
	       (READ_ONCE(g->move) == move && !netinc_group_over(g));
}

bool netinc_group_moves(const struct netinc_group *g, const struct netinc_pkt *pkt,
			const struct inc_join *join)
{
	/* the next return is of another group than the one that has formed */
	return !pkt->incarnation && g->cfg.returns == netinc_join_returns(join) &&
	       g->cfg.settings.fallback &&
	       (g->cfg.returns ? netinc_group_awaits_return(g) : !g->levels) &&
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

	/* what an epoch holds that is over has been given back already */
	if (g->running)
		netinc_agg_drain(&g->agg);
	g->running = false;
	g->state = INC_GROUP_JOINING;
	WRITE_ONCE(g->move, move);
	g->joined = 0;
	memset(g->owner, 0, g->cfg.size * sizeof(*g->owner));
	g->nleft = 0;
	g->nformer = 0;
	g->rejoined = 0;
	g->forming = 0;
	g->called = 0;
	g->ended = 0;
	g->up.counts_valid = false;
	g->up.called = false;
	g->up.refused = 0;
	g->up.news = true;
	memset(&g->error, 0, sizeof(g->error));
	for (i = 0; i < g->nmembers; i++) {
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
		return netinc_join_shrinks(join) ? INC_REFUSE_OUT : INC_REFUSE_BUSY;
	if (pkt->epoch != g->epoch)
		netinc_group_send_ready(g, child);
	else
		netinc_group_send_error(g, child);
	return 0;
}

/* PARTIAL, which has a bit for each rank, is one packet. */
static u32 least_block(const struct netinc_group *g)
{
	if (g->cfg.settings.late_policy != INC_LATE_PARTIAL)
		return INC_MIN_BLOCK;
	return max_t(u32, INC_MIN_BLOCK,
		     sizeof(struct inc_partial) + round_up(g->cfg.size, 32u) / 8);
}

/* 0 or enum inc_refuse_code: does the group look like this to its member @child? */
static int check_shape(const struct netinc_group *g, u32 child, const struct inc_join *join,
		       u64 *detail)
{
	*detail = INC_STRIPE_COUNT(g->cfg.stripe);
	if (netinc_join_stripe(join) != g->cfg.stripe)
		return INC_REFUSE_STRIPES;
	*detail = g->cfg.size;
	if (!netinc_join_shrinks(join) && be32_to_cpu(join->size) != g->cfg.size)
		return INC_REFUSE_SIZE;
	/* where nodes are children, a rank of the next run may have another number than all here */
	if (!netinc_join_shrinks(join) && child >= g->nmembers)
		return g->nmembers == g->cfg.size ? INC_REFUSE_SIZE : INC_REFUSE_BUSY;
	*detail = least_block(g);
	return netinc_join_block_ok(join) && be16_to_cpu(join->block) >= *detail ?
		       0 : INC_REFUSE_BLOCK;
}

/*
 * The group begins anew here if this JOIN is of a later move, and will be taken: one that is
 * refused must not end what is here. 0 or enum inc_refuse_code
 */
static int follow_move(struct netinc_group *g, const struct netinc_pkt *pkt,
		       const struct inc_join *join, u64 now, u64 *detail)
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
	code = check_node(g, join, detail);
	if (code)
		return code;
	*detail = pkt->child;
	if (netinc_join_height(join) && netinc_children_first(g, join) != pkt->child)
		return INC_REFUSE_SIZE;
	*detail = g->epoch;
	if (g->epoch >= NETINC_MAX_EPOCH)
		return INC_REFUSE_NEXT;
	*detail = pkt->child;
	if (g->restarted && now - g->restarted < RESTART_PAUSE)
		return INC_REFUSE_BUSY;
	g->restarted = now;
	restart_group(g, be32_to_cpu(join->move));
	return 0;
}

/* 0 or enum inc_refuse_code: is it here, in this run, that the rank wants to join? */
static int check_run(struct netinc_group *g, const struct netinc_pkt *pkt,
		     const struct inc_join *join, u64 now, u64 *detail)
{
	int code = follow_move(g, pkt, join, now, detail);

	if (code)
		return code;
	*detail = 0;
	if (!pkt->incarnation && g->cfg.returns != netinc_join_returns(join))
		return INC_REFUSE_BUSY;
	*detail = g->move;
	if (!pkt->incarnation && join->lineage && be32_to_cpu(join->move) != g->move)
		return INC_REFUSE_MOVED;
	/* a new run of the group is not the one that is on its way here */
	return !join->lineage && g->move ? INC_REFUSE_BUSY : 0;
}

/*
 * May a member that has proved who it is come by another port than it did? While it is heard by
 * the old one, whoever says so is somebody else.
 */
static bool may_rebind(const struct netinc_group *g, u32 child, const struct inc_join *join,
		       const struct netinc_peer *peer, u64 now)
{
	const struct netinc_member *m = &g->members[child];

	return (g->state == INC_GROUP_JOINING || netinc_join_rebinds(join)) &&
	       netinc_peer_same_host(&m->peer, peer) && now - m->heard >= REBIND_SILENCE;
}

/* 0 or enum inc_refuse_code: is the sender the rank that it says, as far as that one is known? */
static int check_rank(const struct netinc_group *g, u32 child, const struct inc_join *join,
		      const struct netinc_peer *peer, u64 now, u64 *detail)
{
	const struct netinc_member *m = &g->members[child];
	bool same = m->nonce == be32_to_cpu(join->nonce);

	*detail = child;
	if (!m->present)
		return m->aborted && same ? INC_REFUSE_UNKNOWN : 0;	/* a late copy */
	if (same && (netinc_peer_same(&m->peer, peer) || may_rebind(g, child, join, peer, now)))
		return 0;
	if (netinc_children_outdated(g, child, join, peer))
		return 0;
	return g->state == INC_GROUP_JOINING ? INC_REFUSE_RANK_TAKEN : INC_REFUSE_BUSY;
}

/*
 * A member is where this JOIN has come from, as it has proved; that is all that such a JOIN says.
 * 0 or enum inc_refuse_code; one that does so all the time has to wait.
 */
static int rebind_member(struct netinc_group *g, u32 child, const struct netinc_pkt *pkt,
			 const struct inc_join *join, const struct netinc_peer *peer, u64 now,
			 u64 *detail)
{
	int code = check_shape(g, child, join, detail) ?:
		   check_rank(g, child, join, peer, now, detail);
	struct netinc_member *m = &g->members[child];
	struct netinc_peer old;

	if (code)
		return code;
	/* it may not have heard of an error, or of the epoch after that */
	if (!m->present || !pkt->incarnation ||
	    (pkt->cookie ^ netinc_group_member_cookie(g, pkt->epoch, m->low)))
		return INC_REFUSE_UNKNOWN;
	if (comes_as_before(g, child, peer)) {
		m->heard = now;
		return 0;
	}
	if (has_just_moved(m, now))
		return INC_REFUSE_BUSY;
	old = m->peer;
	m->peer = *peer;
	if (!g->ops->link(g, child, peer)) {
		m->peer = old;
		return INC_REFUSE_BUSY;
	}
	m->heard = now;
	m->rebound = now;
	netinc_count(g->counters, INC_C_REBINDS);
	return 0;
}

int netinc_group_join(struct netinc_group *g, const struct netinc_pkt *pkt,
		      const struct inc_join *join, const struct netinc_peer *peer, u64 now,
		      u64 *detail)
{
	u32 child = pkt->child;
	int code;

	*detail = g->epoch;
	if (pkt->epoch >= NETINC_MAX_EPOCH)
		return INC_REFUSE_NEXT;
	/* nobody joins a tree whose group has its root elsewhere */
	if (netinc_group_is_branch(g))
		return INC_REFUSE_UNKNOWN;
	if (netinc_join_shrinks(join) || netinc_group_shrinking(g))
		code = netinc_shrink_check(g, join, &child, detail);
	else
		code = check_run(g, pkt, join, now, detail);
	if (code)
		return code;
	if (!netinc_join_shrinks(join) && !netinc_group_shrinking(g))
		child = netinc_children_find(g, pkt, join, peer);
	if (g->state == INC_GROUP_FAILED && g->forming && g->move && g->error.code) {
		*detail = g->error.rank[0] | (u64)g->error.rank[1] << 32;
		return INC_REFUSE_RANK_DEAD;
	}
	if (netinc_join_rebinds(join) && g->state != INC_GROUP_JOINING) {
		code = rebind_member(g, child, pkt, join, peer, now, detail);
		if (code || !netinc_group_over(g))
			return code;
	}
	if (netinc_group_over(g))
		return join_over(g, child, pkt, join, peer, detail);
	code = check_shape(g, child, join, detail);
	if (!code)
		code = check_rank(g, child, join, peer, now, detail);
	if (code)
		return code;
	if (g->state == INC_GROUP_JOINING)
		return join_new(g, child, pkt, join, peer, now, detail);
	return join_again(g, child, pkt, join, now, detail);
}
