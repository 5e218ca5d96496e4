// SPDX-License-Identifier: GPL-2.0-only
/*
 * The endpoint's window: contributions out, results in, rules 1, 4 and 10 of protocol.rst.
 */
#include "endpoint.h"
#include "reduce/reduce.h"

/* microseconds: a duplicate within that time after a PROBE was asked for */
#define VAIN_PROBE	200000
/* looks at blocks that it costs to send one again: it is read and copied */
#define LOOKS_RESENT	16u
/* bytes of a result that is ZERO, which are written without having come, for each look */
#define ZEROS_PER_LOOK	512u
/* blocks that go out little by little between sites: as many wait for no more */
#define LEAST_PACED	32u
/* that results which wait for another one show that the link carries it, too */
#define MOST_WAITS	64u

void netinc_ep_init(struct netinc_ep *ep, const struct netinc_ep_cfg *cfg,
		    const struct netinc_ep_ops *ops)
{
	ep->ops = ops;
	ep->cfg = *cfg;
	ep->state = INC_STATE_CLOSED;
	ep->settings.dead_ms = cfg->dead_ms;
	ep->una = cfg->first_block;
	ep->snd = cfg->first_block;
	ep->end = cfg->first_block;
	ep->waiting = NETINC_NO_RANK;
	ep->work_left = NETINC_BUFFER_LOOKS;
}

void netinc_ep_block_header(const struct netinc_ep *ep, const struct netinc_op *op, u64 idx,
			    const struct netinc_block *b, struct netinc_pkt *pkt)
{
	netinc_ep_header(ep, pkt, INC_PKT_CONTRIB);
	netinc_ep_to_tree(ep, pkt, netinc_ep_tree_of(ep, op->first + idx));
	pkt->psn = (u32)(op->first + idx);
	pkt->opseq = op->seq;
	pkt->sig = op->sig;
	pkt->flags = b->bits;
	if (!idx)
		pkt->flags |= INC_F_DESC;
	if (op->coll == INC_COLL_LEAVE)
		pkt->flags |= INC_F_LEAVE;
	if (ep->echo)
		pkt->flags |= INC_F_ECE;
	pkt->dtype = netinc_coll_wire_type(op);
	pkt->dop = netinc_coll_wire_op(op);
	pkt->mode = op->mode & INC_MODE_WIRE;
	if (pkt->flags & INC_F_PAYLOAD)
		pkt->len = b->elems * netinc_reduce_elem_size(pkt->dtype);
}

/* Blocks [op->first, op->first + op->blocks) are this operation's from now on. */
static void number_op(struct netinc_ep *ep, struct netinc_op *op)
{
	op->deep = ep->from_tree;
	netinc_coll_cut(op, ep->block);
	op->first = ep->end;
	op->done = 0;
	op->partial = false;
	op->sig = netinc_coll_sig(op);
	op->numbered = true;
	ep->end += op->blocks;
	if (!ep->snd_op)
		ep->snd_op = op;
}

/* An exchange of counts is a part of the operation that it is for, and fails with it. */
void netinc_ep_failed(struct netinc_ep *ep, struct netinc_op *op)
{
	if (!(op->mode & INC_MODE_COUNTS_PHASE))
		netinc_count(ep->counters, INC_C_OPS_FAILED);
	ep->ops->op_done(ep, op);
}

void netinc_ep_number(struct netinc_ep *ep)
{
	struct netinc_op *op;

	while ((op = ep->new_op) && !op->hold && netinc_ep_is_member(ep) && !ep->failing) {
		ep->new_op = op->next;
		if (!op->error.code) {
			number_op(ep, op);
			continue;
		}
		/* the exchange of counts has shown that it cannot be done: all ranks know */
		netinc_ep_unlink(ep, op);
		netinc_ep_failed(ep, op);
	}
}

static void append_op(struct netinc_ep *ep, struct netinc_op *op)
{
	op->next = NULL;
	op->prev = ep->tail;
	if (ep->tail)
		ep->tail->next = op;
	else
		ep->head = op;
	ep->tail = op;
	if (!ep->new_op)
		ep->new_op = op;
}

void netinc_ep_unlink(struct netinc_ep *ep, struct netinc_op *op)
{
	if (ep->snd_op == op)
		ep->snd_op = op->next && op->next->numbered ? op->next : NULL;
	if (ep->new_op == op)
		ep->new_op = op->next;
	if (ep->near == op)
		ep->near = op->next ?: op->prev;
	if (op->prev)
		op->prev->next = op->next;
	else
		ep->head = op->next;
	if (op->next)
		op->next->prev = op->prev;
	else
		ep->tail = op->prev;
}

int netinc_ep_add(struct netinc_ep *ep, struct netinc_op *op)
{
	switch (ep->state) {
	case INC_STATE_READY:
	case INC_STATE_RESYNC:
	case INC_STATE_LEAVING:
		break;
	case INC_STATE_FAILED:
		if (!ep->fatal)
			return -ENOTCONN;	/* never was a member: refused */
		break;
	default:
		return -ENOTCONN;
	}
	if (ep->leaving)
		return -ESHUTDOWN;
	/* the same at all ranks, whenever they submit it: it has no number */
	if (!ep->fatal && (!netinc_coll_fits(op, ep->block) ||
			   netinc_coll_lacks(op, ep->settings.lacks)))
		return -EOPNOTSUPP;
	op->seq = ep->next_seq;
	op->rank = ep->cfg.rank;
	op->size = ep->cfg.size;
	op->numbered = false;
	memset(&op->error, 0, sizeof(op->error));
	if (!(op->mode & INC_MODE_COUNTS_PHASE)) {
		ep->next_seq++;
		ep->submitted++;
	}
	if (ep->fatal || netinc_ep_op_failed(ep, op)) {
		op->error = ep->error;
		if (!ep->fatal && op->seq != ep->error.opseq)
			op->error.code = INC_ERR_CANCELED;
		netinc_ep_failed(ep, op);
		return 0;
	}
	ep->resume = op->seq;	/* so that it never gets half the number space behind */
	append_op(ep, op);
	netinc_ep_number(ep);
	return 0;
}

int netinc_ep_submit(struct netinc_ep *ep, struct netinc_op *op, u64 now)
{
	int err = netinc_ep_add(ep, op);

	if (!err)
		netinc_ep_pump(ep, now);
	return err;
}

/*
 * Super-packets get smaller towards the end of an operation, and at most half a millisecond of the
 * current rate.
 */
static u32 packet_blocks(const struct netinc_ep *ep, u64 left)
{
	u64 n = max_t(u64, left / 4, 8);

	return min_t(u64, n, min(netinc_cc_burst(&ep->cc), ep->cfg.super_packet));
}

/* Is there another operation behind @op that may be contributed to? */
static bool is_followed(const struct netinc_op *op)
{
	return op->next && op->next->numbered;
}

/*
 * The ends of operations share a packet with what follows them: of short ones many do, as many as
 * are as long as the full blocks that may go out at once.
 */
static u32 shared_blocks(const struct netinc_ep *ep, const struct netinc_op *op)
{
	u32 size = netinc_reduce_elem_size(netinc_coll_wire_type(op)), len;
	u32 most = ep->cfg.super_packet;
	struct netinc_block b;

	netinc_coll_block(op, op->blocks - 1, &b);
	len = sizeof(struct inc_hdr) + sizeof(struct inc_desc) + b.elems * size;
	return min(min(netinc_cc_burst(&ep->cc), most) * max(ep->block / len, 1u), most);
}

/*
 * How many of @left blocks may go out now: rule 1, the congestion window, and nothing at or after
 * an error. What is behind a lost block and has its result does not count as under way: a loss does
 * not end the flow before W does.
 *
 * A packet for each block for which a result makes room costs as much as one for many: while
 * results are to come, it waits until it is worth its while, @most blocks, or a quarter of the
 * window.
 */
static u32 sendable_blocks(struct netinc_ep *ep, u64 left, u32 most, u64 now)
{
	u32 window = min(ep->cc.cwnd, ep->settings.window), all = (u32)(ep->snd - ep->una),
	    out = all - ep->early, paced = netinc_cc_may_send(&ep->cc, now), n;

	if (ep->failing || out >= window || !ep->spread_out)
		return 0;
	n = min(window - out, ep->settings.window - all);
	if (out && n < min_t(u64, left, min(most, window / 4)))
		return 0;
	n = min_t(u64, left, n);
	if (paced < min(min(n, most), LEAST_PACED)) {
		ep->pace_at = netinc_cc_more_at(&ep->cc, now);
		return 0;
	}
	return min(n, paced);
}

/* A step from one operation to the next costs a look, too; who has begun to go gets there. */
static void note_step(struct netinc_ep *ep)
{
	ep->work_left -= min(ep->work_left, 1u);
}

/*
 * The operation of block @b, or NULL. The way there is as long as there are operations between it
 * and the one that was found before: of thousands no packet is to walk over all for each block.
 */
static struct netinc_op *op_of(struct netinc_ep *ep, u64 b)
{
	struct netinc_op *op = ep->near && ep->near->numbered ? ep->near : ep->head;

	if (!ep->head || (s64)(b - ep->head->first) < 0)
		return NULL;
	for (; op && op->numbered && (s64)(b - op->first) < 0; op = op->prev)
		note_step(ep);
	for (; op && op->numbered && (s64)(b - op->first) >= 0; op = op->next) {
		if (b - op->first < op->blocks) {
			ep->near = op;
			return op;
		}
		note_step(ep);
	}
	return NULL;
}

/*
 * How many of the @n blocks from @b on are alike: their results came in an older epoch, or did not.
 */
static u32 count_alike(const struct netinc_ep *ep, u64 b, u32 n, bool delivered)
{
	u32 i;

	if (!netinc_ep_retains(ep))
		return n;
	for (i = 1; i < n && netinc_ep_delivered(ep, b + i) == delivered; i++)
		;
	return i;
}

/*
 * Contributes blocks from @b on, at most @n and of one tree, none of which has a result in this
 * epoch; returns how many went out.
 */
static u32 send_run(struct netinc_ep *ep, struct netinc_op *op, u64 b, u32 n, u32 most, u16 flags,
		    u64 now)
{
	u32 sent, i;

	n = netinc_tree_run(&ep->spread, b, n);
	if (netinc_ep_delivered(ep, b)) {
		sent = ep->ops->send_retained(ep, b, count_alike(ep, b, n, true), flags);
		ep->counters[INC_C_RETAINED_SENT] += sent;
	} else {
		if (netinc_assert(op && b - op->first < op->blocks))
			return 0;
		n = min_t(u64, n, op->first + op->blocks - b);
		sent = ep->ops->send_blocks(ep, op, b - op->first, count_alike(ep, b, n, false),
					    most, flags);
	}
	netinc_assert(sent <= n);
	if (sent && op && (s32)(op->seq + 1 - ep->begun) > 0)
		ep->begun = op->seq + 1;
	for (i = 0; i < sent; i++) {
		u32 at = netinc_ep_ring(ep, b + i);

		ep->sent_at[at] = (u32)now;
		if (flags & INC_F_RETRANS)
			netinc_bits_set(ep->again, at);
		else
			netinc_bits_clear(ep->again, at);
	}
	return sent;
}

/* The operation that @snd is in, or that comes next; NULL: all is sent. */
static void find_snd_op(struct netinc_ep *ep)
{
	struct netinc_op *op = ep->snd_op;

	while (op && op->numbered && (s64)(ep->snd - op->first) >= (s64)op->blocks)
		op = op->next;
	ep->snd_op = op && op->numbered ? op : NULL;
}

/* Something goes out to @tree from now on. */
static void awaken_tree(struct netinc_ep *ep, u32 tree, u64 now)
{
	struct netinc_ep_tree *w = &ep->tree[tree];

	if (netinc_ep_tree_una(ep, tree) != ep->snd)
		return;
	w->progress = now;
	w->quiet = 0;
	/* all but the first are not asked for signs of life while there is nothing to do */
	if (tree) {
		w->heard = now;
		w->asked = now;
		w->unanswered = 0;
	}
}

/* One past the last block that may be contributed here. */
static u64 pump_end(const struct netinc_ep *ep)
{
	return ep->recall.move ? ep->recall.block : ep->end;
}

void netinc_ep_pump(struct netinc_ep *ep, u64 now)
{
	u32 n, most, sent, more = 0;	/* of a packet that the end of an operation is in */
	struct netinc_op *op;
	u64 left;

	ep->pace_at = 0;
	if (!netinc_ep_is_member(ep))
		return;
	while ((s64)(pump_end(ep) - ep->snd) > 0) {
		op = ep->snd_op;
		left = op && !netinc_ep_delivered(ep, ep->snd) ? op->first + op->blocks - ep->snd :
								 ep->end - ep->snd;
		left = min(left, pump_end(ep) - ep->snd);
		most = packet_blocks(ep, left);
		if (left < most && op && is_followed(op)) {
			left = pump_end(ep) - ep->snd;
			most = shared_blocks(ep, op);
		}
		n = more ?: sendable_blocks(ep, left, most, now);
		if (!n)
			return;
		awaken_tree(ep, netinc_ep_tree_of(ep, ep->snd), now);
		sent = send_run(ep, op, ep->snd, n, most, 0, now);
		if (!sent)
			return;
		ep->echo = false;
		ep->snd += sent;
		netinc_assert(ep->snd - ep->una <= ep->settings.window);
		ep->counters[INC_C_CONTRIBS_SENT] += sent;
		netinc_cc_count_sent(&ep->cc, sent, now);
		find_snd_op(ep);
		n = min(n, most);
		more = ep->snd_op != op && n > sent ? n - sent : 0;
	}
}

/*
 * Is block @b lost, see netinc_ep_resend()? It may have waited for a late rank for longer than a
 * difference of low bits can say with a sign.
 */
static bool contrib_lost(const struct netinc_ep *ep, u64 b, u32 before, u32 again, u64 now)
{
	u32 i = netinc_ep_ring(ep, b);

	if (netinc_bits_get(ep->again, i))
		before = again;
	return !netinc_ep_has(ep, b) && (u32)now - ep->sent_at[i] > (u32)now - before;
}

void netinc_ep_resend(struct netinc_ep *ep, u64 first, u32 n, u32 before, u32 again, u64 now)
{
	u64 b = first, end = first + n;
	struct netinc_op *op = NULL;
	u32 run, sent, most;

	if ((s64)(b - ep->una) < 0)
		b = ep->una;
	if ((s64)(end - ep->snd) > 0)
		end = ep->snd;
	while ((s64)(end - b) > 0) {
		if (!contrib_lost(ep, b, before, again, now)) {
			b++;
			continue;
		}
		if (!op || b - op->first >= op->blocks)
			op = op_of(ep, b);
		/* not more than goes out at once is looked at */
		most = netinc_tree_run(&ep->spread, b, (u32)(end - b));
		if (op)
			most = min_t(u64, most, op->first + op->blocks - b);
		for (run = 1; run < most && contrib_lost(ep, b + run, before, again, now); run++)
			;
		sent = send_run(ep, op, b, run, ep->cfg.super_packet, INC_F_RETRANS, now);
		ep->counters[INC_C_CONTRIBS_RESENT] += sent;
		ep->tree[netinc_ep_tree_of(ep, b)].resent |= sent;
		netinc_cc_count_lost(&ep->cc, sent);
		if (netinc_cc_lost(&ep->cc, now))
			netinc_count(ep->counters, INC_C_CWND_CUTS);
		ep->work_left -= min(ep->work_left, sent * LOOKS_RESENT);
		if (!sent || !ep->work_left)
			return;
		b += sent;
	}
}

int netinc_ep_check(struct netinc_ep *ep, const struct netinc_pkt *pkt)
{
	int err = 0;

	if (!netinc_ep_is_member(ep) &&
	    (ep->state != INC_STATE_RESYNC || pkt->type != INC_PKT_ERROR))
		err = -INC_C_DROP_STATE;
	else if (pkt->incarnation != ep->incarnation)
		err = -INC_C_DROP_NO_GROUP;
	else if (pkt->epoch != ep->epoch || (pkt->tree && pkt->tree >= ep->spread.trees))
		err = -INC_C_DROP_EPOCH;
	else if (pkt->cookie ^ ep->down_cookie)
		err = -INC_C_DROP_COOKIE;
	if (err)
		netinc_count(ep->counters, -err);
	return err;
}

/*
 * May the result of block @b be used before all that come before it? A chain is folded in the order
 * of ranks, up to the rank's own contribution, after which its input may be overwritten; where
 * results go to the front of the input, all that was read from there must have arrived.
 */
static bool in_order(const struct netinc_ep *ep, const struct netinc_op *op, u64 b,
		     const struct netinc_block *blk)
{
	if (netinc_coll_chains(op->coll))
		return !blk->owner || blk->owner > op->rank || netinc_ep_has(ep, b - 1) ||
		       netinc_ep_delivered(ep, b - 1);
	if (op->coll == INC_COLL_REDUCE_SCATTER && op->in_place && (blk->bits & INC_F_WANT))
		return b == ep->una || (netinc_ep_retains(ep) && b == netinc_ep_next(ep));
	return true;
}

static int deliver_block(struct netinc_ep *ep, struct netinc_op *op, u64 b,
			 const struct netinc_block *blk, const struct netinc_pay *pay)
{
	struct netinc_pay kept;
	bool keep;

	if (!netinc_ep_retains(ep))
		return ep->ops->deliver(ep, op, blk, pay) ? 0 : -INC_C_DROP_MEMORY;
	keep = (blk->bits & INC_F_WANT) && pay->len;
	kept = *pay;
	kept.kind = NETINC_PAY_RETAINED_RESULT;
	if (keep && !ep->ops->retain(ep, &kept))
		return -INC_C_DROP_MEMORY;
	if (!ep->ops->deliver(ep, op, blk, pay)) {
		if (keep)
			ep->ops->retain_release(ep, &kept);
		return -INC_C_DROP_MEMORY;
	}
	netinc_ep_retain_result(ep, b, keep ? &kept : NULL);
	return 0;
}

static int accept_result(struct netinc_ep *ep, struct netinc_op *op, u64 b,
			 const struct netinc_pkt *pkt, const struct netinc_pay *pay)
{
	u32 size = netinc_reduce_elem_size(netinc_coll_wire_type(op));
	struct netinc_block blk;

	if (op->seq != pkt->opseq || op->sig != pkt->sig)
		return -INC_C_DROP_MISMATCH;
	netinc_coll_block(op, b - op->first, &blk);
	/* elements that come although they are not wanted are for another rank of this host */
	if ((blk.bits & INC_F_WANT) && blk.elems * size != pkt->len)
		return -INC_C_DROP_MISMATCH;
	if (!in_order(ep, op, b, &blk))
		return -INC_C_DROP_ORDER;
	return deliver_block(ep, op, b, &blk, pay);
}

static void mark_received(struct netinc_ep *ep, struct netinc_ep_tree *w, u64 b, u64 now)
{
	u32 i = netinc_ep_ring(ep, b);

	if (!netinc_bits_get(ep->again, i))
		netinc_cc_result_rtt(&ep->cc, (u32)now - ep->sent_at[i]);
	netinc_bits_set(ep->got, i);
	ep->early++;
	while (ep->una != ep->snd) {
		i = netinc_ep_ring(ep, ep->una);
		if (!netinc_bits_get(ep->got, i))
			break;
		netinc_bits_clear(ep->got, i);
		ep->early--;
		ep->una++;
	}
	if ((s64)(b + 1 - w->high) > 0)
		w->high = b + 1;
	netinc_cc_acked(&ep->cc, 1);
	w->progress = now;
	w->quiet = 0;
}

/*
 * Operations complete in order: while an earlier one may still fail at all ranks, and with it what
 * came after it, none may have succeeded at some.
 */
static void complete_ops(struct netinc_ep *ep)
{
	struct netinc_op *op;

	while ((op = ep->head) && op->numbered && op->done == op->blocks) {
		netinc_ep_unlink(ep, op);
		if (!(op->mode & INC_MODE_COUNTS_PHASE))
			netinc_count(ep->counters, INC_C_OPS);
		if (op->partial)
			netinc_count(ep->counters, INC_C_OPS_PARTIAL);
		ep->ops->op_done(ep, op);
		netinc_ep_number(ep);
	}
}

/* Is it no shorter than the oldest result that is missing? Then that is not too long for a link. */
static bool is_as_long(struct netinc_ep *ep, const struct netinc_pkt *pkt)
{
	u64 una = netinc_ep_tree_una(ep, pkt->tree);
	const struct netinc_op *op = op_of(ep, una);
	struct netinc_block blk;

	if (!op)
		return false;
	netinc_coll_block(op, una - op->first, &blk);
	return !(blk.bits & INC_F_WANT) ||
	       (!(pkt->flags & INC_F_ZERO) &&
		pkt->len >= blk.elems * netinc_reduce_elem_size(netinc_coll_wire_type(op)));
}

static int result_one(struct netinc_ep *ep, u64 b, const struct netinc_pkt *pkt,
		      const struct netinc_pay *pay, u64 now)
{
	struct netinc_ep_tree *w = &ep->tree[pkt->tree];
	struct netinc_op *op = NULL;
	int err = 0;

	if (netinc_ep_tree_of(ep, b) != pkt->tree) {
		err = -INC_C_DROP_MALFORMED;
	} else if ((s64)(b - ep->una) < 0 || netinc_ep_has(ep, b)) {
		err = -INC_C_DROP_DUPLICATE;
		if (now - w->asked < VAIN_PROBE)
			netinc_reorder_spurious(&w->down, now);
	} else if ((s64)(b - ep->snd) >= 0) {
		err = -INC_C_DROP_AHEAD;
	} else if (ep->failing && (s64)(b - ep->error.block) >= 0) {
		err = -INC_C_DROP_ERROR;
	} else if (!netinc_ep_set_known(ep, pkt)) {
		err = -INC_C_DROP_ORDER;
	} else if (!netinc_ep_delivered(ep, b)) {
		op = op_of(ep, b);
		err = netinc_assert(op) ? -INC_C_DROP_AHEAD : accept_result(ep, op, b, pkt, pay);
	}
	if (!err || err == -INC_C_DROP_MEMORY)
		w->stalled = 0;
	if (err)
		return err;
	netinc_count(ep->counters, INC_C_RESULTS);
	w->waits = 0;
	mark_received(ep, w, b, now);
	if (op) {
		op->done++;
		if (pkt->flags & INC_F_PARTIAL)
			netinc_ep_note_absent(ep, op);
		complete_ops(ep);
	}
	return 0;
}

/* Congestion on any rank's way up or down concerns all: they are to slow down together. */
static void note_congestion(struct netinc_ep *ep, const struct netinc_pkt *pkt, u64 now)
{
	if (pkt->ce)
		ep->echo = true;
	if (netinc_cc_marked(&ep->cc, now))
		netinc_count(ep->counters, INC_C_CWND_CUTS);
}

/*
 * The blocks [*first, *end) of the @n from @b on that are looked at: of those before una the last
 * one, of those from snd on the first one stands for all.
 */
static void clip_span(const struct netinc_ep *ep, u64 b, u32 n, u32 *first, u32 *end)
{
	u64 before = (s64)(ep->una - b) > 0 ? ep->una - b : 0;
	u64 to = (s64)(ep->snd - b) > 0 ? ep->snd - b : 0;

	before = min_t(u64, before, n);
	*first = before ? (u32)before - 1 : 0;
	*end = (u32)min_t(u64, to + 1, n);
}

/*
 * What it costs to take a block of such a result. Elements that have come are bounded by the buffer
 * that they have come in, zeros by nothing but this: all that a buffer may cost are about as many
 * bytes of them as of elements in it that go to as many ranks as there may be.
 */
static u32 looks_per_block(const struct netinc_pkt *pkt)
{
	return pkt->flags & INC_F_ZERO ? DIV_ROUND_UP(pkt->len, ZEROS_PER_LOOK) : 1;
}

int netinc_ep_result(struct netinc_ep *ep, const struct netinc_pkt *pkt,
		     const struct netinc_pay *pay, u64 now)
{
	u64 b = netinc_extend(ep->una, pkt->psn);
	/* what is sent never reaches further */
	u32 blocks = pkt->span <= ep->settings.window ? pkt->span : 0, first, end, looks, i;
	struct netinc_ep_tree *w = &ep->tree[pkt->tree];
	int err = -INC_C_DROP_AHEAD, one;
	bool counted = false, waits = false;

	w->heard = now;
	w->unanswered = 0;
	if (pkt->ce || (pkt->flags & (INC_F_CE | INC_F_ECE)))
		note_congestion(ep, pkt, now);
	clip_span(ep, b, blocks, &first, &end);
	looks = max(end - first, 1u) * looks_per_block(pkt);
	if (!netinc_ep_take_work(ep, looks)) {
		netinc_count(ep->counters, INC_C_DROP_WORK);
		return -INC_C_DROP_WORK;
	}
	for (i = first; i < end; i++) {
		one = result_one(ep, b + i, pkt, pay, now);
		if (!one)
			counted = true;
		else if (i == first || one != -INC_C_DROP_DUPLICATE)
			err = one;
		waits |= one == -INC_C_DROP_ORDER;
	}
	/* not for ever: the one that they wait for may come each time, and be no good */
	if (waits && w->stalled && w->waits < MOST_WAITS && is_as_long(ep, pkt)) {
		w->stalled = 0;
		w->waits++;
	}
	if (counted)
		return 0;
	netinc_count(ep->counters, -err);
	return err;
}
