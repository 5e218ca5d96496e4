// SPDX-License-Identifier: GPL-2.0-only
/*
 * When the parent is lost: the way to a standby node or to the edge. Rule 6 of protocol.rst.
 *
 * Moves are numbered through the life of a group, and the number says where to: move m is to place
 * m % n of the plan, which all ranks have from READY. A rank that is called (MOVE) to a later move
 * than its own follows; so all meet at the latest one. Who finds no place on one way round the
 * plan, and until the dead limit is over, gives up.
 *
 * Where the group leaves a tree of nodes, its ranks do not know one another. Who begins a move
 * calls rank 0, whose address all have, and the others by what is left of the tree: its own node
 * ends the group there, and says so to its parent.
 */
#include "endpoint.h"

/* so often in a row the root of a tree may fall silent that speaks again each time */
#define SILENT_MOVES		32u
/* so often in a row calls are followed that no result comes between */
#define FOLLOW_MOVES		32u
/* dead limits, for each place of the plan, for which calls are followed on the way */
#define FOLLOW_DEADS		4u
/* dead limits after which a call has nothing to do with the one before, at least */
#define FOLLOW_PAUSE_DEADS	4u
/* JOIN with which MOVE is repeated back to a tree, and with each that has twice the number */
#define RECALL_FIRST		4u

static void send_move(struct netinc_ep *ep, u32 rank)
{
	struct inc_move body = { .lineage = cpu_to_be64(ep->lineage),
				 .move = cpu_to_be32(ep->move) };
	struct netinc_pkt pkt;

	if (!ep->peers || rank == ep->cfg.rank || rank >= ep->cfg.size || !ep->peers[rank].family)
		return;
	netinc_ep_header(ep, &pkt, INC_PKT_MOVE);
	pkt.child = rank;
	pkt.cookie = 0;
	pkt.psn = (u32)netinc_ep_next(ep);
	ep->ops->send_to(ep, &ep->peers[rank], &pkt, &body, sizeof(body));
}

/* To the node of the tree that the rank has left. */
static void send_gone(struct netinc_ep *ep)
{
	struct netinc_error e = { .code = INC_ERR_NODE_GONE,
				  .rank = { ep->cfg.rank, NETINC_NO_RANK } };
	struct inc_error_pkt body;
	struct netinc_pkt pkt;

	if (!ep->left_tree.incarnation)
		return;
	netinc_error_build(&body, &e);
	netinc_ep_header(ep, &pkt, INC_PKT_ABORT);
	pkt.incarnation = ep->left_tree.incarnation;
	pkt.cookie = ep->left_tree.up_cookie;
	pkt.flags = INC_F_LEAVE;
	ep->ops->send_to(ep, &ep->plan[0], &pkt, &body, sizeof(body));
}

static void send_moves(struct netinc_ep *ep)
{
	u32 i;

	for (i = 0; i < ep->cfg.size; i++)
		send_move(ep, i);
}

void netinc_ep_move_join(struct netinc_ep *ep, u64 now)
{
	u32 n;

	send_gone(ep);
	netinc_ep_send_join(ep, now);
	if (!ep->mover || !netinc_ep_returning(ep))
		return;
	/* all ranks have asked there, so WAIT cannot say which of them have not heard MOVE */
	n = ++ep->return_joins;
	if (n >= RECALL_FIRST && !(n & (n - 1)))
		send_moves(ep);
}

/*
 * Has the root of this tree, which is not the first one, said nothing for long, although something
 * is out to it?
 */
static bool is_silent_tree(struct netinc_ep *ep, u32 tree, u64 now)
{
	return netinc_ep_tree_una(ep, tree) != ep->snd &&
	       now - ep->tree[tree].heard >= netinc_ep_lost_limit(ep) * 2 / 3;
}

/* Time of the last packet from the root of @tree, also of an older epoch if none has come since. */
static u64 last_word(const struct netinc_ep *ep, u32 tree)
{
	const struct netinc_ep_tree *w = &ep->tree[tree];

	return w->silent_since && w->heard == ep->ready_at ? w->silent_since : w->heard;
}

/*
 * The host of a silent root is there, or the group would not have formed without another error: it
 * may say nothing wherever the group comes from. It has been silent for as long as others wait for
 * a rank that is; or it speaks for a while each time, and nothing has come of it yet.
 */
static bool is_silent_for_good(struct netinc_ep *ep, u64 now)
{
	u32 i;

	for (i = 1; netinc_ep_is_member(ep) && i < ep->spread.trees; i++)
		if (is_silent_tree(ep, i, now) && ep->silent_moves >= ep->nplan &&
		    (ep->silent_moves >= SILENT_MOVES ||
		     now - last_word(ep, i) >= ep->settings.dead_ms * NETINC_MS))
			return true;
	return false;
}

/* Which trees are silent at a move, and how often that has been so with no result in between. */
static void count_silence(struct netinc_ep *ep, u64 now)
{
	u64 next = netinc_ep_next(ep);
	bool any = false;
	u32 i;

	for (i = 1; netinc_ep_is_member(ep) && i < ep->spread.trees; i++) {
		if (is_silent_tree(ep, i, now)) {
			ep->tree[i].silent_since = last_word(ep, i);
			any = true;
		} else if (ep->tree[i].heard != ep->ready_at) {
			ep->tree[i].silent_since = 0;
		}
	}
	if (!any)
		return;
	if (next != ep->silent_next)
		ep->silent_moves = 0;
	ep->silent_next = next;
	ep->silent_moves++;
}

/*
 * Others may come to where it is, or wait there already: without addresses that place tells them
 * where to go to.
 */
static void leave_word(struct netinc_ep *ep, u64 now)
{
	if (ep->from_tree && !ep->incarnation && ep->challenge)
		netinc_ep_send_join(ep, now);
}

/*
 * Does it leave a tree through which more than a window of blocks has come? Then the next attempt
 * to return comes soon; else they get ever rarer.
 */
static bool has_worked_in_tree(const struct netinc_ep *ep)
{
	return ep->from_tree && ep->move == ep->settled && !netinc_ep_place(ep, ep->move) &&
	       ep->una - ep->start > ep->settings.window;
}

/*
 * Time in which a place finds that a rank is late, says so, and does what is to be done about it:
 * each move makes it begin anew.
 */
static u64 follow_pause(const struct netinc_settings *s)
{
	u64 late = max_t(u64, s->late_ms * NETINC_MS, NETINC_LATE_EVENT);
	u64 dead = s->dead_ms * NETINC_MS;

	return max(FOLLOW_PAUSE_DEADS * dead, late + dead);
}

/* Is this call one of those that keep it from ever getting a result? */
static bool is_followed_again(const struct netinc_ep *ep, u64 now)
{
	return ep->head && ep->followed_next == netinc_ep_next(ep) &&
	       now - ep->followed_at <= follow_pause(&ep->settings);
}

static void count_followed(struct netinc_ep *ep, u64 now)
{
	ep->followed_moves = is_followed_again(ep, now) ? ep->followed_moves + 1 : 1;
	ep->followed_next = netinc_ep_next(ep);
	ep->followed_at = now;
}

void netinc_ep_start_move(struct netinc_ep *ep, u32 move, bool mover, u64 now)
{
	bool tells = netinc_ep_moving(ep) && !netinc_ep_returning(ep);

	count_silence(ep, now);
	if (!mover)
		count_followed(ep, now);
	if (has_worked_in_tree(ep))
		ep->home_pause = 0;
	/*
	 * it had a place that worked, of which nothing has been heard on the way to the tree and
	 * back: once only, whoever calls
	 */
	if (ep->move == ep->settled || (netinc_ep_returning(ep) && ep->round == ep->settled)) {
		ep->unsettled = ep->tree[0].heard;
		ep->round = ep->move;
	}
	ep->move = move;
	if (tells)
		leave_word(ep, now);
	ep->mover = mover;
	ep->welcome = false;
	ep->recall.move = 0;
	ep->return_joins = 0;
	ep->moved = now;
	if (ep->deep && ep->incarnation) {
		ep->left_tree.incarnation = ep->incarnation;
		ep->left_tree.up_cookie = ep->tree[0].up_cookie;
	}
	ep->failing = false;
	ep->error_since = ep->abort ? ep->error_since : 0;
	ep->incarnation = 0;
	ep->tree[0].up_cookie = 0;
	ep->challenge = 0;
	ep->busy_since = 0;
	ep->tree[0].heard = now;
	ep->tree[0].unanswered = 0;
	netinc_count(ep->counters, INC_C_MOVES);
	/* without a way there nobody will answer, which is noticed */
	ep->ops->retarget(ep, netinc_ep_place(ep, move));
	netinc_ep_set_state(ep, INC_STATE_RESYNC);
	if (mover)
		send_moves(ep);
	netinc_ep_move_join(ep, now);
}

/* Has it been everywhere since it had a place, or did not find the tree, which it left that for? */
static bool has_been_round(const struct netinc_ep *ep)
{
	u32 since = netinc_ep_moving(ep) ? ep->round : ep->settled;

	return netinc_ep_next_move(ep) - since > ep->nplan;
}

/*
 * ... and for as long as the others wait for a rank that is silent? If its own link has failed, it
 * comes back in that time or never.
 */
static bool has_tried_all(const struct netinc_ep *ep, u64 now)
{
	return has_been_round(ep) && now - ep->unsettled >= ep->settings.dead_ms * NETINC_MS;
}

/*
 * A later move than the one that it is at, or under way to? Not so far ahead that it would come
 * before that of the last READY: whoever calls from there to there, it goes on.
 */
static bool is_later(const struct netinc_ep *ep, u32 move)
{
	return (s32)(move - ep->move) > 0 && (s32)(move - ep->settled) > 0;
}

/*
 * Has it been under way for longer than it takes to try all places, or been called from one to the
 * other with no result in between? Then it follows nobody any more, and the place that it is at is
 * the last one: whoever calls on and on is not to keep it from ever coming to an end.
 */
static bool has_followed_enough(const struct netinc_ep *ep, u64 now)
{
	u64 dead = ep->settings.dead_ms * NETINC_MS;

	if (netinc_ep_moving(ep) && now - ep->unsettled >= FOLLOW_DEADS * ep->nplan * dead)
		return true;
	return ep->followed_moves >= FOLLOW_MOVES && is_followed_again(ep, now);
}

static bool can_move(const struct netinc_ep *ep, u64 now)
{
	return ep->nplan > 1 && !has_tried_all(ep, now) && !(ep->failing && ep->fatal);
}

/* No place is left to go to. The reason is what the way here began with, if that is known. */
static void fail_everywhere(struct netinc_ep *ep, enum inc_err_code code)
{
	if (ep->moved_for.code)
		netinc_ep_fail(ep, ep->moved_for.code, ep->moved_for.rank, NETINC_NO_RANK);
	else
		netinc_ep_fail(ep, code, NETINC_NO_RANK, NETINC_NO_RANK);
}

void netinc_ep_lost(struct netinc_ep *ep, enum inc_err_code code, u64 now)
{
	/* why the group has ended is known: only results from before that will not come */
	if (ep->failing && ep->fatal) {
		netinc_ep_fail(ep, ep->error.code, ep->error.rank[0], ep->error.rank[1]);
		return;
	}
	if (!can_move(ep, now) || is_silent_for_good(ep, now)) {
		fail_everywhere(ep, code);
		return;
	}
	netinc_ep_start_move(ep, netinc_ep_next_move(ep), true, now);
}

void netinc_ep_leave_place(struct netinc_ep *ep, const struct netinc_error *e, u64 now)
{
	if (e->code == INC_ERR_RANK_DEAD) {
		ep->moved_for.code = e->code;
		ep->moved_for.rank = e->rank[0];
	}
	netinc_ep_lost(ep, e->code, now);
}

/*
 * A link that carries no blocks is its own, most of the time: the others are told when no other
 * place is better.
 */
void netinc_ep_path_lost(struct netinc_ep *ep, u64 now)
{
	if ((s64)(ep->una - ep->stalled_una) > ep->settings.window)
		ep->stalled_moves = 0;
	ep->stalled_una = ep->una;
	if (++ep->stalled_moves < ep->nplan - (ep->from_tree && !ep->deep) && can_move(ep, now)) {
		netinc_ep_start_move(ep, netinc_ep_next_move(ep), true, now);
		return;
	}
	if (!ep->abort)
		netinc_ep_abort(ep, INC_ERR_RANK_PATH, false, now);
	/* the results before an error that is known already will not come */
	if (ep->failing)
		netinc_ep_fail(ep, INC_ERR_RANK_PATH, ep->cfg.rank, NETINC_NO_RANK);
}

/*
 * A rank that the node hears no more may be heard by another node, on links of their own; the edge
 * has the same links as the node. If it is dead indeed it will be missing there. In a tree of nodes
 * it may be another rank's node that hears nothing, and NODE_DEAD is about another node: without
 * either the ranks still hear one another.
 */
bool netinc_ep_may_go_on(const struct netinc_ep *ep, u16 code, u64 now)
{
	bool standbys = ep->nplan > 1 + !!ep->edge &&
			netinc_ep_place(ep, netinc_ep_next_move(ep)) !=
				netinc_ep_place(ep, ep->move);

	return can_move(ep, now) &&
	       (code == INC_ERR_NODE_GONE || (code == INC_ERR_NODE_DEAD && ep->deep) ||
		(code == INC_ERR_RANK_DEAD && (standbys || ep->deep)));
}

/* Where another rank is said to be: a host, at the port that the node has. */
static bool is_rank_address(const struct netinc_ep *ep, const struct netinc_peer *peer)
{
	return netinc_peer_is_host(peer) && peer->udp_port == ep->plan[0].udp_port;
}

/*
 * Takes the address @w of another rank, which is that. A rank that has come to a node of its own
 * box by loopback has one that says nothing to others: it counts as not known.
 */
static void take_rank_address(const struct netinc_ep *ep, const struct inc_addr *w,
			      struct netinc_peer *peer)
{
	netinc_addr_parse(w, peer);
	if (!netinc_peer_is_place(peer, &ep->plan[0]))
		memset(peer, 0, sizeof(*peer));
}

bool netinc_ep_plan_ok(const struct netinc_ep *ep, const struct inc_ready *r)
{
	u32 i, n = r->standbys;
	struct netinc_peer peer;

	if (n > INC_MAX_STANDBY)
		return false;
	for (i = 0; i < n; i++) {
		netinc_addr_parse(&r->standby[i], &peer);
		if (!netinc_peer_is_place(&peer, &ep->plan[0]))
			return false;
	}
	netinc_addr_parse(&r->edge, &peer);
	if (peer.family && !is_rank_address(ep, &peer))
		return false;
	return !ep->lineage || r->fallback == ep->settings.fallback;
}

void netinc_ep_plan(struct netinc_ep *ep, const struct inc_ready *r)
{
	u32 i;

	if (!ep->lineage) {
		ep->lineage = be64_to_cpu(r->lineage);
		ep->nplan = 1;	/* the environment knows the first one */
		for (i = 0; ep->settings.fallback && i < r->standbys; i++)
			netinc_addr_parse(&r->standby[i], &ep->plan[ep->nplan++]);
		if (ep->settings.fallback == INC_FALLBACK_EDGE)
			ep->edge = ep->nplan++;
		ep->from_tree = netinc_ready_height(r);
	}
	ep->left_tree.incarnation = 0;
	/* where all have met: rank 0's own address may be one that says nothing to others */
	if (ep->edge && ep->cfg.at_edge && !ep->cfg.prev.lineage)
		ep->plan[ep->edge] = ep->plan[0];
	else if (ep->edge && r->edge.family)
		take_rank_address(ep, &r->edge, &ep->plan[ep->edge]);
	/* the one rank that others can call: no PEERS will come */
	if (netinc_ready_height(r) && ep->settings.fallback && ep->peers)
		take_rank_address(ep, &r->edge, &ep->peers[0]);
	ep->settled = ep->move;
	ep->moved_for.code = INC_ERR_NONE;
	ep->refusals = 0;
	ep->mover = false;
	ep->npeers = 0;
}

int netinc_ep_peers(struct netinc_ep *ep, const struct netinc_pkt *pkt, const void *body)
{
	const struct inc_peers *p = body;
	u32 first = be32_to_cpu(p->first), n = be32_to_cpu(p->n), i;
	struct netinc_peer addr;

	if (n > pkt->len || sizeof(*p) + n * sizeof(p->peer[0]) > pkt->len ||
	    first > ep->cfg.size || n > ep->cfg.size - first)
		return -INC_C_DROP_MALFORMED;
	for (i = 0; i < n; i++) {
		netinc_addr_parse(&p->peer[i].addr, &addr);
		if (!is_rank_address(ep, &addr))
			return -INC_C_DROP_MALFORMED;
	}
	for (i = 0; ep->peers && i < n; i++) {
		const struct inc_peer *peer = &p->peer[i];

		take_rank_address(ep, &peer->addr, &ep->peers[first + i]);
		/* that of the first tree is in READY */
		if (first + i && first + i < ep->spread.trees)
			ep->tree[first + i].up_cookie = (u64)be32_to_cpu(peer->cookie[0]) << 32 |
						       be32_to_cpu(peer->cookie[1]);
	}
	if (first <= ep->npeers && first + n > ep->npeers)
		ep->npeers = first + n;
	netinc_ep_spread_out(ep);
	return 0;
}

void netinc_ep_spread_out(struct netinc_ep *ep)
{
	if (!ep->spread_out && ep->npeers == ep->cfg.size)
		ep->spread_out = ep->ops->spread(ep);
}

void netinc_ep_notify_move(struct netinc_ep *ep, u32 rank)
{
	if (ep->mover && netinc_ep_moving(ep))
		send_move(ep, rank);
}

/*
 * At the edge a host is a node as long as a rank of the group is there. If it has taken us in, and
 * then is none, its rank may have heard already how this ends, and be about to go on without some.
 */
static bool is_between_runs(struct netinc_ep *ep, u64 now)
{
	if (!ep->welcome || !ep->edge || netinc_ep_place(ep, ep->move) != ep->edge)
		return false;
	if (!ep->busy_since)
		ep->busy_since = now;
	return now - ep->busy_since <= ep->settings.dead_ms * NETINC_MS;
}

/*
 * Every place has refused it, and this one again. Nodes that have been removed may be there again
 * soon, as those that are silent may: they are asked for as long, one after the other, not as often
 * as they answer. At the edge somebody would be there.
 */
static void ask_all_again(struct netinc_ep *ep, u32 code, u64 now)
{
	u64 dead = ep->settings.dead_ms * NETINC_MS;

	if (code != INC_REFUSE_NO_NODE || ep->edge || now - ep->unsettled >= dead)
		fail_everywhere(ep, INC_ERR_NODE_DEAD);
	else if (now - ep->moved >= dead / 16)
		netinc_ep_lost(ep, INC_ERR_NODE_DEAD, now);
}

bool netinc_ep_move_refused(struct netinc_ep *ep, u32 code, u64 detail, u64 now)
{
	switch (code) {
	case INC_REFUSE_MOVED:
		if (is_later(ep, (u32)detail) && !has_followed_enough(ep, now))
			netinc_ep_start_move(ep, (u32)detail, false, now);
		return true;
	case INC_REFUSE_RANK_DEAD:
		if (netinc_ep_returning(ep))
			break;
		netinc_ep_fail(ep, INC_ERR_RANK_DEAD, (u32)detail, (u32)(detail >> 32));
		return true;
	case INC_REFUSE_BUSY:
	case INC_REFUSE_RANK_TAKEN:
	case INC_REFUSE_UNKNOWN:
		return true;	/* that will pass, or the others will be missing us */
	case INC_REFUSE_NO_NODE:
		if (is_between_runs(ep, now))
			return true;
		break;
	default:
		break;
	}
	if (++ep->refusals >= ep->nplan - ep->from_tree && has_been_round(ep))
		ask_all_again(ep, code, now);
	else
		netinc_ep_lost(ep, INC_ERR_NODE_DEAD, now);
	return true;
}

int netinc_ep_check_call(const struct netinc_ep *ep, const struct inc_move *body, u64 now)
{
	if (ep->state != INC_STATE_READY && ep->state != INC_STATE_LEAVING &&
	    ep->state != INC_STATE_RESYNC)
		return -INC_C_DROP_STATE;
	if (!netinc_ep_retains(ep) || be64_to_cpu(body->lineage) != ep->lineage)
		return -INC_C_DROP_COOKIE;
	if (!is_later(ep, be32_to_cpu(body->move)))
		return -INC_C_DROP_DUPLICATE;
	return (ep->failing && ep->fatal) || has_followed_enough(ep, now) ? -INC_C_DROP_STATE : 0;
}
