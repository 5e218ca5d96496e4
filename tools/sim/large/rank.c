// SPDX-License-Identifier: GPL-2.0-only
/* A host with one rank: what the kernel's glue does around an endpoint, and its application. */
#include "large.h"

#define SUPER_PACKET	16	/* blocks that leave at once, one packet each on the link */

static struct rank *rank_of(struct netinc_ep *ep)
{
	return container_of(ep, struct rank, ep);
}

/* What rank @rank contributes to block @round of an operation, and the sum of all ranks. */
static u64 share_of(u32 rank, u64 round)
{
	return rank + 1 + (round << 32);
}

static u64 sum_of(u64 ranks, u64 round)
{
	return ranks * (ranks + 1) / 2 + (round * ranks << 32);
}

static void send_up(struct rank *r, const struct netinc_pkt *pkt, const void *body, u32 len,
		    struct load *load)
{
	net_send(r->sys, addr_of_rank(r->sys, r->rank), r->node, pkt, body, len, load);
}

static u32 ep_send_blocks(struct netinc_ep *ep, struct netinc_op *op, u64 idx, u32 n, u32 most,
			  u16 flags)
{
	struct rank *r = rank_of(ep);
	struct netinc_block b;
	struct netinc_pkt pkt;
	struct load *l;
	u32 i;

	for (i = 0; i < n && i < most; i++) {
		netinc_coll_block(op, idx + i, &b);
		netinc_ep_block_header(ep, op, idx + i, &b, &pkt);
		pkt.flags |= flags;
		l = load_new(r->sys, share_of(r->rank, b.round));
		l->has_desc = pkt.flags & INC_F_DESC;
		netinc_coll_desc(op, &l->desc);
		send_up(r, &pkt, NULL, 0, l);
		load_put(r->sys, l);
	}
	return i;
}

static void ep_send(struct netinc_ep *ep, const struct netinc_pkt *pkt, const void *body, u32 len)
{
	send_up(rank_of(ep), pkt, body, len, NULL);
}

static bool ep_deliver(struct netinc_ep *ep, struct netinc_op *op, const struct netinc_block *b,
		       const struct netinc_pay *pay)
{
	const struct load *l = pay->obj;
	struct rank *r = rank_of(ep);

	(void)op;
	r->wrong += !l || l->value != sum_of(r->sys->cfg.ranks, b->round);
	return true;
}

static void ep_op_done(struct netinc_ep *ep, struct netinc_op *op)
{
	struct rank *r = rank_of(ep);

	if (op->error.code)
		return;
	r->done_at = r->sys->now;
	net_came(r->sys, AWAIT_DONE);
}

static void ep_state(struct netinc_ep *ep, u8 old)
{
	struct rank *r = rank_of(ep);

	(void)old;
	if (ep->state == INC_STATE_READY) {
		r->ready_at = r->sys->now;
		net_came(r->sys, AWAIT_READY);
	} else if (ep->state == INC_STATE_FAILED) {
		r->ended_at = r->sys->now;
		net_came(r->sys, AWAIT_ENDED);
	}
}

/* Without a fallback none of these is called. */
static bool ep_retarget(struct netinc_ep *ep, u32 at)
{
	die(rank_of(ep)->sys, "rank %u moves to place %u", rank_of(ep)->rank, at);
	return false;
}

static void ep_send_to(struct netinc_ep *ep, const struct netinc_peer *peer,
		       const struct netinc_pkt *pkt, const void *body, u32 len)
{
	(void)peer;
	(void)body;
	(void)len;
	die(rank_of(ep)->sys, "rank %u sends type %u to another rank", rank_of(ep)->rank,
	    pkt->type);
}

static const struct netinc_ep_ops ep_ops = {
	.send_blocks = ep_send_blocks,
	.send = ep_send,
	.retarget = ep_retarget,
	.send_to = ep_send_to,
	.deliver = ep_deliver,
	.op_done = ep_op_done,
	.state = ep_state,
};

/* Is a timer wanted earlier than the one that is queued? */
static void arm(struct rank *r)
{
	u64 at = netinc_ep_timer(&r->ep, engine_now(r->sys));

	if (!at)
		return;
	at = max((at - 1000000) * 1000, r->sys->now + 1000);
	if (r->timer_at && r->timer_at <= at)
		return;
	r->timer_at = at;
	net_timer(r->sys, at, addr_of_rank(r->sys, r->rank));
}

void rank_timer(struct large *sys, u32 i)
{
	struct rank *r = &sys->rank[i];

	if (sys->now != r->timer_at)
		return;	/* it has been wanted earlier since */
	r->timer_at = 0;
	arm(r);
}

void rank_rx(struct large *sys, u32 i, const struct frame *f)
{
	struct netinc_pay pay = { .obj = f->load, .len = f->pkt.len, .flags = f->pkt.flags };
	struct rank *r = &sys->rank[i];
	u64 now = engine_now(sys);

	if (r->ep.state == INC_STATE_CLOSED)
		return;
	netinc_ep_buffer_begin(&r->ep, NETINC_BUFFER_LOOKS);
	if (f->pkt.type != INC_PKT_RESULT) {
		netinc_ep_control(&r->ep, &f->pkt, f->body, now);
	} else if (!netinc_ep_check(&r->ep, &f->pkt)) {
		netinc_ep_result(&r->ep, &f->pkt, &pay, now);
		netinc_ep_packet_end(&r->ep, 0, now);
	}
	arm(r);
}

void rank_submit(struct large *sys, u32 i, u64 bytes)
{
	struct rank *r = &sys->rank[i];
	int err;

	r->op = (struct netinc_op){ .coll = INC_COLL_ALLREDUCE, .type = INC_TYPE_I64,
				    .op = INC_OP_SUM, .wire = INC_TYPE_I64, .rank = i,
				    .size = sys->cfg.ranks, .count = bytes / 8 };
	r->done_at = 0;
	err = netinc_coll_check(&r->op) ?: netinc_ep_submit(&r->ep, &r->op, engine_now(sys));
	if (err)
		die(sys, "rank %u cannot submit: %d", i, err);
	arm(r);
}

void rank_connect(struct large *sys, u32 i)
{
	struct rank *r = &sys->rank[i];
	struct netinc_ep_cfg cfg = {
		.group = LARGE_GROUP,
		.rank = i,
		.size = sys->cfg.ranks,
		.dead_ms = sys->cfg.dead_ms,
		.nonce = ++sys->nonces,
		.block = sys->cfg.block,
		.super_packet = SUPER_PACKET,
	};

	memset(&r->ep, 0, sizeof(r->ep));
	r->sys = sys;
	r->rank = i;
	r->ready_at = 0;
	r->ended_at = 0;
	netinc_ep_init(&r->ep, &cfg, &ep_ops);
	r->ep.plan[0] = peer_of(r->node);
	netinc_ep_connect(&r->ep, engine_now(sys));
	arm(r);
}
