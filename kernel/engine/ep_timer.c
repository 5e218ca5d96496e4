// SPDX-License-Identifier: GPL-2.0-only
/*
 * The endpoint's timers: JOINs and PROBEs that are repeated, how often, and when a node that does
 * not answer is given up; rules 4 and 5 of protocol.rst.
 */
#include "endpoint.h"

/* microseconds until the first JOIN is repeated, then doubled */
#define JOIN_FIRST	5000u
#define JOIN_MAX	200000u
/* until an idle rank shows that it has READY: before the node says that again */
#define READY_SHOWN	50000u
/* longest pause between PROBEs while something is out, in a group of at most 250 ranks */
#define PROBE_MAX	250000u
/* a place to move to that does not answer so long is none */
#define MOVE_DEAD	(1000 * NETINC_MS)
/* a node is dead only after as many unanswered ones */
#define DEAD_PROBES	3
/* ... and after as many without STATUS it may be that it takes ours for somebody else's packets */
#define REBIND_PROBES	2
/* shortest pause between PROBEs that say what an idle rank has */
#define PARTIAL_MIN	10000u

u64 netinc_ep_join_patience(const struct netinc_ep *ep)
{
	return netinc_ep_is_new(ep) && ep->cfg.join_ms ? ep->cfg.join_ms * NETINC_MS :
							 netinc_ep_lost_limit(ep);
}

u64 netinc_ep_clamp_pause(const struct netinc_ep *ep, u32 pause)
{
	return clamp_t(u64, pause, JOIN_FIRST, netinc_ep_join_patience(ep) / 4);
}

/*
 * Microseconds after which a rank repeats something at most: @most, or longer in a large group, so
 * that a node that is late for all of its ranks gets a bounded number of packets in a second.
 */
static u64 in_turn(const struct netinc_ep *ep, u64 most)
{
	return max_t(u64, most, (u64)ep->cfg.size * NETINC_TURN);
}

/* An older run of the group is ending, most of the time at once. */
static u64 busy_join_pause(const struct netinc_ep *ep, u64 longest)
{
	u64 asked = max(ep->tree[0].asked, ep->busy_since) - ep->busy_since;

	longest = min_t(u64, longest, in_turn(ep, JOIN_MAX / 4));
	return clamp_t(u64, asked / 2, min_t(u64, longest, JOIN_FIRST), longest);
}

/*
 * Until JOIN is repeated: no longer than lets a dozen of them get lost before the node counts as
 * dead. Who moves asks often at first, but not for as long as the node has to wait for others:
 * every WAIT makes those who call do so again.
 */
static u64 join_pause(const struct netinc_ep *ep)
{
	u64 longest = min_t(u64, in_turn(ep, JOIN_MAX), netinc_ep_join_patience(ep) / 16);
	u32 unanswered = ep->tree[0].unanswered;

	if (netinc_ep_moving(ep))
		return min_t(u64, longest,
			     clamp_t(u64, (ep->tree[0].asked - ep->moved) / 2, JOIN_FIRST,
				     in_turn(ep, JOIN_MAX / 4)));
	if (ep->state == INC_STATE_WAITING && !unanswered)
		return ep->pause;
	if (ep->busy_since && ep->cfg.at_edge && netinc_ep_is_new(ep))
		return max_t(u64, JOIN_MAX / 4, NETINC_WAIT_PER_RANK * ep->cfg.size);
	if (ep->busy_since)
		return busy_join_pause(ep, longest);
	if (ep->state == INC_STATE_WAITING)
		return min_t(u64, longest, JOIN_MAX / 4 << min(unanswered - 1, 8u));
	return min_t(u64, longest, (u64)JOIN_FIRST << min(unanswered, 12u));
}

/*
 * A node that is alive answers, but need not do what it should: after an error nobody waits for it
 * longer than it takes to find that a rank is dead, and some more.
 */
static bool error_lasts(const struct netinc_ep *ep, u64 now)
{
	return ep->error_since &&
	       now - ep->error_since >= NETINC_ERROR_DEADS * ep->settings.dead_ms * NETINC_MS;
}

/*
 * Microseconds until READY must have come at the place that a move is to. In a tree of nodes to
 * which the group returns all were there a moment ago, and it has a place that works.
 */
static u64 ready_patience(const struct netinc_ep *ep)
{
	u64 dead = ep->settings.dead_ms * NETINC_MS;

	return netinc_ep_returning(ep) ? min_t(u64, dead - dead / 4, NETINC_LOST_MAX) : 2 * dead;
}

/* While joining: repeat JOIN, give up when nobody answers. */
static u64 join_timer(struct netinc_ep *ep, u64 now)
{
	struct netinc_ep_tree *w = &ep->tree[0];
	u64 dead = netinc_ep_join_patience(ep);

	if (netinc_ep_moving(ep))
		dead = clamp_t(u64, ep->settings.dead_ms * NETINC_MS / 2, 100 * NETINC_MS,
			       MOVE_DEAD);
	/* nor does it go on for ever where somebody answers */
	if ((now - w->heard >= dead && w->unanswered >= DEAD_PROBES) ||
	    (netinc_ep_moving(ep) && now - ep->moved >= ready_patience(ep)) ||
	    error_lasts(ep, now)) {
		ep->refusals = 0;
		netinc_ep_lost(ep, INC_ERR_NODE_DEAD, now);
		return ep->state == INC_STATE_RESYNC ? w->asked + join_pause(ep) : 0;
	}
	if (now - w->asked >= join_pause(ep)) {
		w->unanswered++;
		netinc_ep_move_join(ep, now);
		if (ep->incarnation && w->unanswered > REBIND_PROBES)
			netinc_ep_rebind(ep, now);
	}
	return w->asked + join_pause(ep);
}

/* Ask the root of @tree, or repeat what it is to know. */
static void ask_root(struct netinc_ep *ep, u32 tree, u64 now)
{
	struct netinc_ep_tree *w = &ep->tree[tree];

	w->quiet++;
	if (ep->state == INC_STATE_LEAVING && netinc_tree_of(&ep->spread, ep->una) == tree)
		netinc_ep_resend(ep, ep->una, 1, (u32)now, (u32)now, now);
	if (!tree)
		netinc_ep_spread_out(ep);
	if (!tree && ep->abort && !ep->failing)
		netinc_ep_send_abort(ep, now);
	else
		netinc_ep_probe(ep, tree, now);
	if (!tree && w->probes_lost > REBIND_PROBES)
		netinc_ep_rebind(ep, now);
}

/*
 * The longest pause between PROBEs while something is out, in microseconds: a node that is late for
 * all its ranks gets a bounded number of them in a second. A node that is lost is still found in
 * time: three are out by then.
 */
static u64 probe_max(const struct netinc_ep *ep)
{
	u64 most = min_t(u64, ep->settings.dead_ms * NETINC_MS / 8, netinc_ep_lost_limit(ep) / 4);

	return min(in_turn(ep, PROBE_MAX), most);
}

/*
 * Microseconds without a result after which the root of a tree is asked, while blocks are out.
 * Results are answers; without one the pauses get longer, since it may be for a rank that is late.
 */
static u64 busy_pause(const struct netinc_ep *ep, const struct netinc_ep_tree *w)
{
	u64 pause;

	pause = w->quiet ? (u64)netinc_cc_rto(&ep->cc) << min(w->quiet - 1, 8u) :
			   netinc_cc_pto(&ep->cc);
	return min_t(u64, pause, probe_max(ep));
}

/*
 * Microseconds until an idle rank shows that it has READY. The ranks of a large group do so one
 * after the other.
 */
static u64 shown_pause(const struct netinc_ep *ep)
{
	u64 most = ep->settings.dead_ms * NETINC_MS / 40;

	if (most <= READY_SHOWN)
		return most;
	return READY_SHOWN + (u64)ep->cfg.rank * NETINC_TURN % (most - READY_SHOWN);
}

/* Microseconds between two PROBEs of an idle rank: fewer once one has not been answered. */
static u64 rest_pause(const struct netinc_ep *ep, const struct netinc_ep_tree *w)
{
	u64 pause = ep->settings.dead_ms * NETINC_MS / 4;

	return w->unanswered ? min_t(u64, pause, in_turn(ep, pause / 4)) : pause;
}

/* Microseconds after which the group's root is asked for a sign of life while nothing is out. */
static u64 idle_pause(const struct netinc_ep *ep, const struct netinc_ep_tree *w)
{
	u64 pause = rest_pause(ep, w);

	/* nothing has gone to the node in this epoch */
	if (w->asked == ep->ready_at && ep->snd == ep->start)
		pause = shown_pause(ep);
	/* the others' leaving waits for what this PROBE says */
	if (netinc_ep_retains(ep))
		pause = min_t(u64, pause, probe_max(ep));
	/* nothing is completed without us unless the node knows what results we have */
	if (netinc_ep_may_miss(ep))
		pause = min_t(u64, pause,
			      max_t(u64, ep->settings.late_ms * NETINC_MS / 2, PARTIAL_MIN));
	return pause;
}

/* From one PROBE to the next. */
static u64 ask_pause(const struct netinc_ep *ep, const struct netinc_ep_tree *w, bool out)
{
	return out ? busy_pause(ep, w) : idle_pause(ep, w);
}

/*
 * The first tree's root is the group's: it is asked for signs of life, and gives them, also while
 * nothing is out.
 */
static u64 tree_timer(struct netinc_ep *ep, u32 tree, u64 now)
{
	bool wait = !tree &&
		    (ep->failing || ep->abort || ep->state == INC_STATE_LEAVING || !ep->spread_out);
	bool out = netinc_ep_tree_una(ep, tree) != ep->snd || wait;
	struct netinc_ep_tree *w = &ep->tree[tree];
	u64 base;

	if (tree && !out)
		return 0;
	if (now - w->heard >= netinc_ep_lost_limit(ep) && w->unanswered >= DEAD_PROBES) {
		netinc_ep_lost(ep, INC_ERR_NODE_DEAD, now);
		return ep->state == INC_STATE_RESYNC ? ep->tree[0].asked + join_pause(ep) : 0;
	}
	base = out ? max(w->asked, w->progress) : w->asked;
	if (now - base >= ask_pause(ep, w, out)) {
		ask_root(ep, tree, now);
		base = now;
	}
	/* not as long as it was before: whoever looks again meanwhile finds the same time */
	return base + max_t(u64, ask_pause(ep, w, out), 500);
}

/* Blocks go out little by little; @first: when the timers want to look next. */
static u64 pace_timer(struct netinc_ep *ep, u64 first, u64 now)
{
	if (ep->pace_at && ep->pace_at <= now)
		netinc_ep_pump(ep, now);
	return ep->pace_at && first ? min(first, ep->pace_at) : first;
}

static u64 ready_timer(struct netinc_ep *ep, u64 now)
{
	u64 first, when;
	u32 i;

	if (error_lasts(ep, now)) {
		netinc_ep_fail(ep, ep->abort ?: INC_ERR_NODE_DEAD,
			       ep->abort ? ep->cfg.rank : NETINC_NO_RANK, NETINC_NO_RANK);
		return 0;
	}
	first = tree_timer(ep, 0, now);

	for (i = 1; i < ep->spread.trees && netinc_ep_is_member(ep); i++) {
		when = tree_timer(ep, i, now);
		first = when ? min(first, when) : first;
	}
	return pace_timer(ep, first, now);
}

u64 netinc_ep_timer(struct netinc_ep *ep, u64 now)
{
	u64 when, look;

	switch (ep->state) {
	case INC_STATE_JOINING:
	case INC_STATE_WAITING:
	case INC_STATE_RESYNC:
		return join_timer(ep, now);
	case INC_STATE_READY:
	case INC_STATE_LEAVING:
		when = ready_timer(ep, now);
		look = ep->state == INC_STATE_READY ? netinc_ep_check_home(ep, now) : 0;
		return look ? min(when, look) : when;
	default:
		return 0;
	}
}
