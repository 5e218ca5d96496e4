// SPDX-License-Identifier: GPL-2.0-only
/*
 * Back to where the group formed; rule 6 of protocol.rst, and "Back to the tree" there.
 *
 * To a single node all ranks go when rank 0, which has nothing under way, has found that it is
 * there.
 *
 * A tree of nodes knows no blocks of which some ranks have the result and others do not. So each
 * rank asks its own node, now and then, whether all ranks could come: JOIN for the move that would
 * lead there, of which the nodes make a group that does not begin. When all have asked, the nodes
 * say so. Then rank 0 says at which block the group returns: the first that it has not contributed,
 * which is complete nowhere. It goes when all blocks before that are complete where it is; who has
 * all results before it follows.
 */
#include "endpoint.h"

/* milliseconds between two looks whether the node is there again: at first at most, and later */
#define HOME_PAUSE_FIRST	1000u
#define HOME_PAUSE_MAX		60000u

void netinc_ep_reset_home(struct netinc_ep *ep)
{
	if (!ep->home_pause || (!ep->from_tree && !netinc_ep_place(ep, ep->move)))
		ep->home_pause = clamp_t(u32, ep->settings.dead_ms / 2, 1, HOME_PAUSE_FIRST);
	ep->home_probed = ep->tree[0].heard;
	ep->home_challenge = 0;
	ep->recall.move = 0;
}

/* It is elsewhere, and content there. */
static bool is_away(const struct netinc_ep *ep)
{
	return ep->state == INC_STATE_READY && netinc_ep_place(ep, ep->move) && !ep->failing &&
	       !ep->abort;
}

static bool has_nothing_to_do(const struct netinc_ep *ep)
{
	return !ep->head && ep->snd == ep->end && ep->una == ep->end;
}

/* The next move that leads to the first place. */
static u32 move_home(const struct netinc_ep *ep)
{
	return ep->move + ep->nplan - ep->move % ep->nplan;
}

static void begin_return(struct netinc_ep *ep, u32 move, u64 now)
{
	bool mover = !ep->cfg.rank;

	if (mover)
		ep->home_pause = min(2 * ep->home_pause, HOME_PAUSE_MAX);
	netinc_ep_start_move(ep, move, mover, now);
}

/*
 * The block that it has to wait for here. Rank 0, which goes first, waits for what it has from
 * elsewhere as well: who lacks that needs its contribution.
 */
static u64 first_to_come(const struct netinc_ep *ep)
{
	return ep->cfg.rank ? netinc_ep_next(ep) : ep->una;
}

void netinc_ep_follow_recall(struct netinc_ep *ep, u64 now)
{
	if (ep->recall.move && netinc_ep_is_member(ep) && !ep->failing &&
	    (s64)(first_to_come(ep) - ep->recall.block) >= 0)
		begin_return(ep, ep->recall.move, now);
}

/* Rank 0 calls back to the tree of nodes: from block @b on nothing is complete here. */
static int rx_recall(struct netinc_ep *ep, u32 move, u64 b, u64 now)
{
	u64 next = netinc_ep_next(ep);

	/* it cannot lack more than it has contributed, or have what rank 0 has not contributed */
	if ((s64)(b - next) < 0 || (s64)(b - ep->snd) > 0)
		return -INC_C_DROP_MALFORMED;
	if (b == next) {
		begin_return(ep, move, now);
		return 0;
	}
	if (!netinc_ep_is_member(ep))
		return -INC_C_DROP_STATE;
	ep->recall.move = move;
	ep->recall.block = b;
	return 0;
}

static int rx_move(struct netinc_ep *ep, const struct netinc_pkt *pkt, const struct inc_move *body,
		   u64 now)
{
	int err = netinc_ep_check_call(ep, body, now);
	u32 move = be32_to_cpu(body->move);

	if (err)
		return err;
	if (ep->from_tree && !netinc_ep_place(ep, move))
		return rx_recall(ep, move, netinc_extend(netinc_ep_next(ep), pkt->psn), now);
	netinc_ep_start_move(ep, move, false, now);
	return 0;
}

/* The node that we looked for is there. */
static int rx_home_challenge(struct netinc_ep *ep, const struct inc_challenge *c, u64 now)
{
	if (!ep->from_tree) {
		/* only rank 0 looks: what comes to others is a late copy */
		if (ep->cfg.rank || !has_nothing_to_do(ep))
			return -INC_C_DROP_STATE;
		begin_return(ep, move_home(ep), now);
		return 0;
	}
	/* it is asked again at once, but once only */
	if (ep->home_challenged)
		return -INC_C_DROP_DUPLICATE;
	ep->home_challenged = true;
	ep->home_challenge = be64_to_cpu(c->challenge);
	netinc_ep_probe_home(ep, move_home(ep), now);
	return 0;
}

/* The node of the tree waits for others, or all could come: rank 0 decides when. */
static int rx_home_wait(struct netinc_ep *ep, const struct inc_wait_pkt *w, u64 now)
{
	if (!ep->from_tree)
		return -INC_C_DROP_STATE;
	if (ep->cfg.rank || ep->recall.move || w->pause ||
	    be32_to_cpu(w->missing) != NETINC_NO_RANK)
		return 0;
	ep->recall.move = move_home(ep);
	ep->recall.block = ep->end;
	netinc_ep_follow_recall(ep, now);
	return 0;
}

/* From the node that the group has left, to this rank. Both bodies begin with the nonce. */
static bool is_from_home(const struct netinc_ep *ep, const void *body,
			 const struct netinc_peer *from)
{
	const struct inc_challenge *c = body;

	return is_away(ep) && be32_to_cpu(c->nonce) == ep->cfg.nonce &&
	       netinc_peer_same_host(from, &ep->plan[0]);
}

int netinc_ep_non_parent(struct netinc_ep *ep, const struct netinc_pkt *pkt, const void *body,
			 const struct netinc_peer *from, u64 now)
{
	int err = -INC_C_DROP_PORT;

	if (pkt->type == INC_PKT_MOVE)
		err = rx_move(ep, pkt, body, now);
	else if (pkt->type != INC_PKT_CHALLENGE && pkt->type != INC_PKT_WAIT)
		err = -INC_C_DROP_PORT;
	else if (!is_from_home(ep, body, from))
		err = -INC_C_DROP_STATE;
	else if (pkt->type == INC_PKT_CHALLENGE)
		err = rx_home_challenge(ep, body, now);
	else
		err = rx_home_wait(ep, body, now);
	if (err)
		netinc_count(ep->counters, -err);
	return err;
}

/* Rank 0 looks for the single node while it has nothing to do. */
static u64 probe_single_node(struct netinc_ep *ep, u64 now)
{
	u64 pause = ep->home_pause * NETINC_MS;

	if (ep->cfg.rank)
		return 0;
	if (now - ep->home_probed >= pause) {
		if (is_away(ep) && has_nothing_to_do(ep))
			netinc_ep_probe_home(ep, ep->move, now);
		ep->home_probed = now;
	}
	return ep->home_probed + pause;
}

/* Every rank asks its node of the tree, so often that it does not count as gone there. */
static u64 ask_tree(struct netinc_ep *ep, u64 now)
{
	u64 pause = min_t(u64, ep->settings.dead_ms / 4, HOME_PAUSE_FIRST) * NETINC_MS, next;

	next = max(ep->ready_at + ep->home_pause * NETINC_MS, ep->home_probed + pause);
	if ((s64)(now - next) < 0)
		return next;
	ep->home_challenged = false;
	ep->home_probed = now;
	if (is_away(ep) && !ep->recall.move)
		netinc_ep_probe_home(ep, move_home(ep), now);
	return now + pause;
}

u64 netinc_ep_check_home(struct netinc_ep *ep, u64 now)
{
	if (!netinc_ep_retains(ep) || !netinc_ep_place(ep, ep->move) || ep->leaving)
		return 0;
	return ep->from_tree ? ask_tree(ep, now) : probe_single_node(ep, now);
}
