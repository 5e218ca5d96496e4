// SPDX-License-Identifier: GPL-2.0-only
/*
 * The endpoint's membership: join, epochs, errors, leave; rules 4, 5, 6, 10 and 11 of protocol.rst.
 */
#include "endpoint.h"

/* packets of results that may overtake before a hole is asked about */
#define PROBE_SLACK	2

void netinc_ep_connect(struct netinc_ep *ep, u64 now)
{
	ep->tree[0].heard = now;
	netinc_ep_set_state(ep, INC_STATE_JOINING);
	netinc_ep_send_join(ep, now);
}

/*
 * Does this error come before the one that is known? Trees find theirs independently, and a node
 * may lose its parent before it has all results: the lowest block's counts.
 */
static bool comes_before(const struct netinc_ep *ep, const struct netinc_error *e)
{
	return ep->failing && (ep->spread.trees > 1 || ep->deep) &&
	       (s64)(e->block - ep->error.block) < 0;
}

/* The block before which there will be results, of all trees and for this rank. */
static u64 error_block(const struct netinc_ep *ep, const struct netinc_error *e)
{
	/*
	 * LEAVE, like other disagreement, is found when all have contributed so far; but a rank
	 * that is dead or late has not
	 */
	if (ep->spread.trees > 1 && !e->resume && e->code != INC_ERR_LEFT)
		return ep->una;
	/* a rank that has said that it cannot get the results that it lacks will not */
	if (e->code == INC_ERR_RANK_PATH && e->rank[0] == ep->cfg.rank)
		return ep->una;
	return e->block;
}

static int rx_error(struct netinc_ep *ep, const struct netinc_pkt *pkt, const void *body, u64 now)
{
	bool first = !ep->failing;
	struct netinc_error e;

	netinc_error_parse(body, &e);
	if (e.code == INC_ERR_NONE || e.code > INC_ERR_MAX || (u32)e.block != pkt->psn)
		return -INC_C_DROP_MALFORMED;
	e.block = error_block(ep, &e);
	if ((s64)(e.block - ep->una) < 0 || e.block - ep->una > ep->settings.window)
		return -INC_C_DROP_MALFORMED;
	/*
	 * a late rank, without which others have come further: it will be told again when it has
	 * submitted as much
	 */
	if ((s64)(e.block - ep->snd) > 0 && (e.resume || !netinc_ep_may_miss(ep)))
		return netinc_ep_may_miss(ep) ? 0 : -INC_C_DROP_MALFORMED;
	if ((ep->failing && !comes_before(ep, &e)) || (ep->state == INC_STATE_RESYNC && e.resume))
		return 0;
	netinc_count(ep->counters, INC_C_ERRORS);
	if (netinc_ep_may_go_on(ep, e.code, now)) {
		netinc_ep_leave_place(ep, &e, now);
		return 0;
	}
	ep->error = e;
	ep->fatal = !e.resume;
	ep->failing = true;
	if (!ep->error_since)
		ep->error_since = now;
	if (ep->una != e.block) {
		netinc_ep_complete(ep, pkt->tree, e.block);
		/* who lies says a lower block each time; what is due the timer asks for as well */
		if (first || netinc_ep_take_work(ep, (u32)(ep->snd - ep->una)))
			netinc_ep_probe(ep, pkt->tree, now);
	}
	netinc_ep_settle(ep, now);
	return 0;
}

static int rx_challenge(struct netinc_ep *ep, const void *body, u64 now)
{
	const struct inc_challenge *c = body;

	if (be32_to_cpu(c->nonce) != ep->cfg.nonce)
		return -INC_C_DROP_STATE;
	if (ep->incarnation) {
		if (!ep->rebind_asked ||
		    (!netinc_ep_is_member(ep) && ep->state != INC_STATE_RESYNC))
			return -INC_C_DROP_DUPLICATE;
		/* it says nothing of the group: that this is still there is not known by it */
		netinc_ep_prove_rebind(ep, be64_to_cpu(c->challenge), now);
		if (netinc_ep_is_member(ep))
			netinc_ep_probe(ep, 0, now);
		else
			netinc_ep_send_join(ep, now);
		return 0;
	}
	if (ep->state != INC_STATE_JOINING && ep->state != INC_STATE_WAITING &&
	    ep->state != INC_STATE_RESYNC)
		/* JOIN was repeated, and READY has come meanwhile */
		return -INC_C_DROP_DUPLICATE;
	if (!ep->tree[0].unanswered)
		netinc_cc_rtt(&ep->cc, (u32)(now - ep->tree[0].asked));
	ep->challenge = be64_to_cpu(c->challenge);
	ep->tree[0].heard = now;
	ep->tree[0].unanswered = 0;
	netinc_ep_send_join(ep, now);
	return 0;
}

static int rx_wait(struct netinc_ep *ep, const struct netinc_pkt *pkt, const void *body, u64 now)
{
	const struct inc_wait_pkt *w = body;

	if (be32_to_cpu(w->nonce) != ep->cfg.nonce)
		return -INC_C_DROP_STATE;
	ep->tree[0].heard = now;
	ep->tree[0].unanswered = 0;
	ep->busy_since = 0;
	switch (ep->state) {
	case INC_STATE_JOINING:
	case INC_STATE_WAITING:
		ep->joined = be32_to_cpu(w->joined);
		ep->waiting = be32_to_cpu(w->missing);
		ep->pause = netinc_ep_clamp_pause(ep, be32_to_cpu(w->pause));
		netinc_ep_set_state(ep, INC_STATE_WAITING);
		return 0;
	case INC_STATE_RESYNC:
		ep->welcome = true;
		netinc_ep_notify_move(ep, be32_to_cpu(w->missing));
		return 0;
	case INC_STATE_LEAVING:
		/* a WAIT from when the group formed or resynced may be late */
		if (pkt->epoch != ep->epoch || (pkt->cookie ^ ep->down_cookie))
			return -INC_C_DROP_EPOCH;
		netinc_ep_left(ep, now);
		return 0;
	case INC_STATE_READY:
		/* JOIN was repeated, and READY has come meanwhile */
		return -INC_C_DROP_DUPLICATE;
	default:
		return -INC_C_DROP_STATE;
	}
}

/* A tree of nodes is where it was; but one that the group returns to may have become one node. */
static bool height_fits(const struct netinc_ep *ep, const struct inc_ready *r)
{
	if (netinc_ep_returning(ep))
		return true;
	return !!netinc_ready_height(r) == (ep->deep && !netinc_ep_moving(ep));
}

/* Does READY leave as it is what it must not change once the group has been formed? */
static bool ready_fits(const struct netinc_ep *ep, const struct inc_ready *r)
{
	u64 next = netinc_ep_next(ep), start = be64_to_cpu(r->start);

	if (!ep->lineage)
		return be16_to_cpu(r->block) <= ep->cfg.block && start == next;
	return be64_to_cpu(r->lineage) == ep->lineage && be16_to_cpu(r->block) == ep->block &&
	       height_fits(ep, r) &&
	       netinc_kinds_same(netinc_ready_lacks(r), ep->settings.lacks) &&
	       be32_to_cpu(r->window) == ep->settings.window &&
	       next - start <= (netinc_ep_retains(ep) && !netinc_ready_height(r) ?
				ep->settings.window : 0) &&
	       netinc_ep_next_from(ep, start) == next;
}

/* Rank and size: as they were, but where the group shrinks both may have become less. */
static bool numbers_fit(const struct netinc_ep *ep, const struct inc_ready *r)
{
	u32 rank = be16_to_cpu(r->rank), size = be32_to_cpu(r->size);

	if (netinc_ep_shrinking(ep))
		return rank <= ep->cfg.rank && rank < size && size <= ep->cfg.size;
	return rank == ep->cfg.rank && size == ep->cfg.size;
}

/* Several trees are for the edge, where all ranks know one another. */
static bool trees_ok(const struct netinc_ep *ep, const struct inc_ready *r)
{
	u32 trees = be16_to_cpu(r->trees);

	if (trees == 1)
		return true;
	return trees && !netinc_ready_height(r) && trees <= INC_MAX_TREES &&
	       trees <= be32_to_cpu(r->size) && trees <= be32_to_cpu(r->window) &&
	       r->fallback == INC_FALLBACK_EDGE && ep->peers;
}

/* Operations go on from there: not from one that this rank has contributed to. */
static bool resume_fits(const struct netinc_ep *ep, const struct inc_ready *r)
{
	return !ep->lineage || netinc_ep_moving(ep) ||
	       (s32)(be32_to_cpu(r->opseq) - ep->begun) >= 0;
}

/* After an error it is the run that it was: only a move leads to another one. */
static bool run_fits(const struct netinc_ep *ep, const struct netinc_pkt *pkt)
{
	return pkt->incarnation && (!ep->incarnation || pkt->incarnation == ep->incarnation);
}

static bool ready_ok(const struct netinc_ep *ep, const struct netinc_pkt *pkt,
		     const struct inc_ready *r)
{
	struct netinc_settings settings = netinc_settings_from_ready(r);
	u32 block = be16_to_cpu(r->block);

	return be32_to_cpu(r->nonce) == ep->cfg.nonce && pkt->child == ep->cfg.rank &&
	       run_fits(ep, pkt) && pkt->epoch <= NETINC_MAX_EPOCH && numbers_fit(ep, r) &&
	       trees_ok(ep, r) && netinc_settings_ok(&settings) && block >= INC_MIN_BLOCK &&
	       block <= INC_MAX_BLOCK && !(block % INC_BLOCK_ALIGN) && netinc_ready_ok(r) &&
	       be32_to_cpu(r->move) == ep->move && r->lineage && netinc_ep_plan_ok(ep, r) &&
	       ready_fits(ep, r) && resume_fits(ep, r);
}

/* The epoch's first block is to be sent next. */
static void restart_window(struct netinc_ep *ep, u64 start, u64 now)
{
	u32 i;

	ep->start = start;
	ep->ready_at = now;
	ep->leave_there = false;
	ep->rebind_asked = false;
	ep->multicast.call = 0;
	ep->una = start;
	ep->snd = start;
	ep->snd_op = ep->head && ep->head->numbered ? ep->head : NULL;
	memset(ep->got, 0, sizeof(ep->got));
	ep->early = 0;
	ep->busy_since = 0;
	ep->joined = ep->cfg.size;
	ep->waiting = NETINC_NO_RANK;
	netinc_cc_start(&ep->cc, ep->settings.window, ep->cfg.super_packet);
	for (i = 0; i < ep->spread.trees; i++) {
		struct netinc_ep_tree *w = &ep->tree[i];

		*w = (struct netinc_ep_tree){ .up_cookie = w->up_cookie,
					      .una = start,
					      .high = start,
					      .heard = now,
					      .silent_since = w->silent_since,
					      .progress = w->progress,
					      .asked = now,
					      .up_slack = NETINC_SLACK_FIRST,
					      .down.slack = NETINC_SLACK_FIRST,
					      .quiet = w->quiet,
					      .answered = true,
					      .due = start };
	}
	/* where they have no trees, roots are not silent */
	for (; i < INC_MAX_TREES; i++)
		ep->tree[i].silent_since = 0;
}

/* Has the rank asked for something else than the group that has formed? */
static bool declines_ready(struct netinc_ep *ep, const struct inc_ready *r)
{
	struct netinc_kinds missing = netinc_kinds_and(netinc_ready_lacks(r), ep->cfg.asks);

	if (ep->cfg.canonical && netinc_ready_tree_order(r)) {
		ep->refused = INC_REFUSE_ORDER;
	} else if (netinc_ready_stripe(r) != ep->cfg.stripe) {
		ep->refused = INC_REFUSE_STRIPES;
	} else if (netinc_kinds_any(missing)) {
		ep->refused = INC_REFUSE_KINDS;
		ep->refuse_detail = netinc_kinds_detail(missing);
	} else {
		return false;
	}
	return true;
}

static int rx_ready(struct netinc_ep *ep, const struct netinc_pkt *pkt, const void *body, u64 now)
{
	const struct inc_ready *r = body;
	bool first = !ep->lineage, same = ep->move == ep->settled;

	if (ep->state != INC_STATE_JOINING && ep->state != INC_STATE_WAITING &&
	    ep->state != INC_STATE_RESYNC)
		return be32_to_cpu(r->nonce) == ep->cfg.nonce ? -INC_C_DROP_DUPLICATE :
								-INC_C_DROP_STATE;
	if ((s32)(pkt->epoch - ep->epoch) <= 0)
		return -INC_C_DROP_EPOCH;
	if (!netinc_ready_whole(r, pkt->len) || !ready_ok(ep, pkt, r))
		return -INC_C_DROP_MALFORMED;
	if (declines_ready(ep, r)) {
		netinc_ep_decline(ep, pkt, r, now);
		return 0;
	}
	if (r->fallback && !netinc_ep_retain_init(ep, be32_to_cpu(r->window)))
		return -INC_C_DROP_MEMORY;
	if (first) {
		ep->next_seq = be32_to_cpu(r->opseq);
		ep->begun = ep->next_seq;
		ep->cfg.rank = be16_to_cpu(r->rank);
		ep->cfg.size = be32_to_cpu(r->size);
	}
	if (first || same)
		ep->resume = be32_to_cpu(r->opseq);
	ep->epoch = pkt->epoch;
	ep->incarnation = pkt->incarnation;
	ep->tree[0].up_cookie = be64_to_cpu(r->up_cookie);
	ep->down_cookie = be64_to_cpu(r->down_cookie);
	ep->tree_key[0] = be64_to_cpu(r->tree_key[0]);
	ep->tree_key[1] = be64_to_cpu(r->tree_key[1]);
	ep->settings = netinc_settings_from_ready(r);
	netinc_spread_init(&ep->spread, be16_to_cpu(r->trees), ep->settings.window);
	ep->spread_out = ep->spread.trees == 1;
	ep->block = be16_to_cpu(r->block);
	ep->deep = netinc_ready_height(r);
	ep->tree_order = netinc_ready_tree_order(r);
	netinc_ep_plan(ep, r);
	netinc_ep_reset_home(ep);
	if (!ep->abort)
		ep->error_since = 0;
	restart_window(ep, be64_to_cpu(r->start), now);
	/* each tree knows only of its own blocks how far the operations had come that failed */
	while (same && ep->head && netinc_ep_op_failed(ep, ep->head))
		netinc_ep_fail_op(ep, ep->head);
	netinc_ep_set_state(ep, ep->leaving ? INC_STATE_LEAVING : INC_STATE_READY);
	netinc_ep_number(ep);
	netinc_ep_pump(ep, now);
	return 0;
}

/*
 * The older run of the group may just be ending: a dead rank is found, then the group expires. One
 * that was still waiting for others is given up after four of its pauses.
 */
static u64 busy_patience(const struct netinc_ep *ep)
{
	u64 most = 4 * max_t(u64, ep->settings.dead_ms * NETINC_MS,
			     NETINC_WAIT_PER_RANK * ep->cfg.size);

	return max_t(u64, most, ep->cfg.busy_ms * NETINC_MS);
}

static int rx_refuse(struct netinc_ep *ep, const struct netinc_pkt *pkt, const void *body, u64 now)
{
	const struct inc_refuse *r = body;
	u32 code = be16_to_cpu(r->code);

	if (!code || code >= __INC_REFUSE_MAX)
		return -INC_C_DROP_MALFORMED;
	if (ep->state == INC_STATE_RESYNC && !ep->incarnation) {
		if (be32_to_cpu(r->nonce) != ep->cfg.nonce)
			return -INC_C_DROP_STATE;
		ep->tree[0].heard = now;
		netinc_ep_move_refused(ep, code, be64_to_cpu(r->detail), now);
		return 0;
	}
	if (ep->state == INC_STATE_READY || ep->state == INC_STATE_LEAVING ||
	    ep->state == INC_STATE_RESYNC) {
		/* only who saw our packets knows their cookie */
		if (code != INC_REFUSE_UNKNOWN || pkt->cookie != ep->tree[0].up_cookie)
			return -INC_C_DROP_STATE;
		if (ep->state == INC_STATE_LEAVING && !netinc_ep_retains(ep))
			/* all have left, the node forgot */
			netinc_ep_set_state(ep, INC_STATE_CLOSED);
		else
			netinc_ep_lost(ep, INC_ERR_NODE_GONE, now);
		return 0;
	}
	if ((ep->state != INC_STATE_JOINING && ep->state != INC_STATE_WAITING) ||
	    be32_to_cpu(r->nonce) != ep->cfg.nonce)
		return -INC_C_DROP_STATE;
	ep->tree[0].heard = now;
	if (!ep->busy_since)
		ep->busy_since = now;
	if ((code == INC_REFUSE_BUSY || code == INC_REFUSE_RANK_TAKEN) &&
	    now - ep->busy_since <= busy_patience(ep))
		return 0;
	/* without a node, a host becomes one when rank 0 is there, which rank 0 itself is */
	if (code == INC_REFUSE_NO_NODE && ep->cfg.at_edge && ep->cfg.rank && netinc_ep_is_new(ep) &&
	    now - ep->busy_since <= netinc_ep_join_patience(ep))
		return 0;
	/*
	 * at the edge a host is a node as long as a rank of the group is there, which may be
	 * between two runs
	 */
	if (code == INC_REFUSE_NO_NODE && netinc_ep_shrinking(ep) &&
	    ep->cfg.prev.settings.fallback == INC_FALLBACK_EDGE &&
	    now - ep->busy_since <= ep->cfg.prev.settings.dead_ms * NETINC_MS)
		return 0;
	ep->refused = code;
	ep->refuse_detail = be64_to_cpu(r->detail);
	netinc_ep_set_state(ep, INC_STATE_FAILED);
	return 0;
}

void netinc_ep_packet_end(struct netinc_ep *ep, u32 tree, u64 now)
{
	u32 at = tree < ep->spread.trees ? tree : 0,
	    pause = max3(ep->cc.srtt, ep->cc.least / 16, 500u);
	struct netinc_ep_tree *w = &ep->tree[at];
	bool hole = (s64)(w->high - netinc_ep_tree_una(ep, at)) > 0;

	/* a hole has its age from here on: result_lost() asks for it */
	netinc_reorder_lost(&w->down, hole, now);
	netinc_ep_settle(ep, now);
	netinc_ep_follow_recall(ep, now);
	if (!netinc_ep_is_member(ep))
		return;
	if (!hole)
		w->gap = 0;
	else if (++w->gap > PROBE_SLACK &&
		 now - w->asked >= (w->answered ? pause : netinc_cc_rto(&ep->cc)) &&
		 netinc_ep_take_work(ep, (u32)(ep->snd - ep->una)))
		netinc_ep_probe(ep, at, now);
	netinc_ep_pump(ep, now);
}

/* How many of the blocks that NACK names are looked at? Those that are out. */
static u32 nacked_blocks(const struct netinc_ep *ep, const struct netinc_pkt *pkt)
{
	u64 first = netinc_extend(ep->una, pkt->psn), end = first + pkt->span;

	if ((s64)(first - ep->una) < 0)
		first = ep->una;
	if ((s64)(end - ep->snd) > 0)
		end = ep->snd;
	return (s64)(end - first) > 0 ? (u32)(end - first) : 0;
}

/* What the packet costs, in looks at blocks; rule 14. */
static u32 looks_of(const struct netinc_ep *ep, const struct netinc_pkt *pkt, const void *body)
{
	const struct inc_status *status = body;
	const struct inc_peers *peers = body;

	switch (pkt->type) {
	case INC_PKT_STATUS:
		return 1 + be16_to_cpu(status->bits);
	case INC_PKT_NACK:
		return 1 + nacked_blocks(ep, pkt);
	case INC_PKT_PEERS:
		return 1 + min_t(u32, be32_to_cpu(peers->n), pkt->len);
	default:
		return 1;
	}
}

/* Packets of the epoch: they come with the down cookie. */
static int rx_member(struct netinc_ep *ep, const struct netinc_pkt *pkt, const void *body, u64 now)
{
	int err = netinc_ep_check(ep, pkt);
	bool stalled = false;

	if (err)
		return err;
	if (!netinc_ep_take_work(ep, looks_of(ep, pkt, body))) {
		netinc_count(ep->counters, INC_C_DROP_WORK);
		return -INC_C_DROP_WORK;
	}
	ep->tree[pkt->tree].heard = now;
	ep->tree[pkt->tree].unanswered = 0;
	switch (pkt->type) {
	case INC_PKT_STATUS:
		err = netinc_ep_status(ep, pkt, body, now, &stalled);
		if (stalled)
			netinc_ep_path_lost(ep, now);
		break;
	case INC_PKT_NACK:
		err = netinc_ep_nack(ep, pkt, now);
		break;
	case INC_PKT_PEERS:
		err = pkt->flags & INC_F_MULTICAST ? netinc_ep_multicast(ep, pkt, body, now) :
						     netinc_ep_peers(ep, pkt, body);
		break;
	case INC_PKT_PARTIAL:
		err = netinc_ep_partial(ep, pkt, body);
		break;
	default:
		err = rx_error(ep, pkt, body, now);
		break;
	}
	if (err)
		netinc_count(ep->counters, -err);
	else
		netinc_ep_pump(ep, now);
	return err;
}

/* Is it a packet that only the group's root may send, and not that of another tree? */
static bool of_membership(u8 type)
{
	return type == INC_PKT_CHALLENGE || type == INC_PKT_WAIT || type == INC_PKT_READY ||
	       type == INC_PKT_REFUSE || type == INC_PKT_PEERS;
}

int netinc_ep_control(struct netinc_ep *ep, const struct netinc_pkt *pkt, const void *body, u64 now)
{
	int err;

	if (pkt->tree && of_membership(pkt->type)) {
		netinc_count(ep->counters, INC_C_DROP_EPOCH);
		return -INC_C_DROP_EPOCH;
	}
	switch (pkt->type) {
	case INC_PKT_STATUS:
	case INC_PKT_NACK:
	case INC_PKT_ERROR:
	case INC_PKT_PEERS:
	case INC_PKT_PARTIAL:
		return rx_member(ep, pkt, body, now);
	case INC_PKT_CHALLENGE:
		err = rx_challenge(ep, body, now);
		break;
	case INC_PKT_WAIT:
		err = rx_wait(ep, pkt, body, now);
		break;
	case INC_PKT_READY:
		err = rx_ready(ep, pkt, body, now);
		break;
	case INC_PKT_REFUSE:
		err = rx_refuse(ep, pkt, body, now);
		break;
	default:
		err = -INC_C_DROP_STATE;
		break;
	}
	if (err)
		netinc_count(ep->counters, -err);
	return err;
}

int netinc_ep_leave(struct netinc_ep *ep, struct netinc_op *op, u64 now)
{
	if (ep->state != INC_STATE_READY || ep->head || ep->failing)
		return -EBUSY;
	memset(op, 0, sizeof(*op));
	op->coll = INC_COLL_LEAVE;
	netinc_ep_submit(ep, op, now);
	ep->leaving = true;
	if (ep->state == INC_STATE_READY)
		netinc_ep_set_state(ep, INC_STATE_LEAVING);
	netinc_ep_pump(ep, now);
	if (ep->spread.trees > 1 && ep->snd != ep->una)
		netinc_ep_probe(ep, netinc_tree_of(&ep->spread, ep->end - 1), now);
	return 0;
}

/* A rank that is no member yet tells the node that it gives up, and is done. */
static void give_up_joining(struct netinc_ep *ep, u64 now)
{
	netinc_ep_abort(ep, INC_ERR_RANK_ABORT, false, now);
	netinc_ep_send_abort(ep, now);	/* nobody will repeat it */
	netinc_ep_fail(ep, INC_ERR_RANK_ABORT, ep->cfg.rank, NETINC_NO_RANK);
}

void netinc_ep_cancel(struct netinc_ep *ep, u64 now)
{
	switch (ep->state) {
	case INC_STATE_JOINING:
	case INC_STATE_WAITING:
		give_up_joining(ep, now);
		break;
	case INC_STATE_READY:
	case INC_STATE_RESYNC:
		/* the node tells everybody where the group has ended, this rank as well */
		if (!ep->abort)
			netinc_ep_abort(ep, INC_ERR_RANK_ABORT, false, now);
		break;
	default:
		break;
	}
}

void netinc_ep_decline(struct netinc_ep *ep, const struct netinc_pkt *pkt,
		       const struct inc_ready *ready, u64 now)
{
	/* the node believes who answers as the member that READY has made of it */
	ep->incarnation = pkt->incarnation;
	ep->epoch = pkt->epoch;
	ep->tree[0].up_cookie = be64_to_cpu(ready->up_cookie);
	give_up_joining(ep, now);
}
