// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks at a host. Out: payload is copied, once, from pinned user pages into the units of a super-packet; blocks
 * without payload become spans, headers that stand for many of them. In: results are copied from received packets into
 * pinned user pages. The exchange of counts has kernel memory instead.
 */
#include "blocks.h"
#include "chain.h"
#include "counts.h"
#include "elems.h"
#include "failover.h"
#include "rank.h"
#include "reduce/reduce.h"

#define MAX_SPANS	16	/* per call */

/* A header that stands for blocks without payload. */
struct span {
	u32 psn;
	u16 blocks;
	u16 flags;
};

/* What one call of netinc_blocks_send() puts together. */
struct batch {
	struct netinc_rank *rank;
	struct netinc_op *op;
	struct netinc_req *req;		/* NULL: no user memory */
	struct netinc_super *data;
	u32 most;			/* units of it */
	u32 tree;			/* all blocks are this one's */
	u16 flags;
	u32 nspans;
	struct span span[MAX_SPANS];
	struct netinc_pkt last;		/* the last block's header; spans differ only in what is in span[] */
};

static struct netinc_req *req_of(const struct netinc_rank *rank, struct netinc_op *op)
{
	if (op == &rank->leave || (op->mode & INC_MODE_COUNTS_PHASE))
		return NULL;
	return container_of(op, struct netinc_req, op);
}

/* Is the memory pinned that the block is read from, and that where its result will go? */
static bool pinned(const struct netinc_req *req, const struct netinc_block *b)
{
	u32 size;

	if (!req || !req->mm)
		return true;
	size = netinc_reduce_elem_size(req->op.type);
	if ((b->bits & INC_F_PAYLOAD) && (b->send + b->elems) * size > req->send.hi)
		return false;
	/* a round of a chain is written when the own block has its result */
	if ((b->bits & INC_F_WANT) || (req->chain && b->owner == req->op.rank))
		return min((b->recv + b->elems) * size, netinc_req_recv_buf(req)->len) <= netinc_req_recv_buf(req)->hi;
	return true;
}

static void fill_payload(const struct batch *bt, const struct netinc_block *b, void *to, u32 len)
{
	if (bt->req)
		netinc_elems_get(bt->req, b->send, to, b->elems, bt->rank->fpu);
	else
		memcpy(to, container_of(bt->op, struct netinc_counts, op)->mine + b->send, len);
	memset(to + len, 0, round_up(len, 4) - len);
}

/* A unit with its header; returns where the rest goes. NULL: it does not fit behind those before it, or no memory. */
static void *new_unit(struct batch *bt, const struct netinc_pkt *pkt)
{
	u32 size = sizeof(struct inc_hdr) + netinc_body_len(pkt);
	struct netinc_super *s = bt->data;
	void *to;

	if (s && (s->n == s->max || s->last != s->unit || size > s->unit))
		return NULL;
	if (!s) {
		s = netinc_super_alloc(size, bt->most);
		bt->data = s;
	}
	if (!s) {
		bt->rank->retry = true;
		return NULL;
	}
	to = netinc_super_unit(s, s->n);
	netinc_build(to, pkt);
	s->n++;
	s->last = size;
	return to + sizeof(struct inc_hdr);
}

/* A block with payload or descriptor. */
static bool add_unit(struct batch *bt, u64 block, const struct netinc_block *b, const struct netinc_pkt *pkt)
{
	void *to = new_unit(bt, pkt);
	struct netinc_pay pay;

	if (!to)
		return false;
	if (pkt->flags & INC_F_DESC) {
		netinc_coll_desc(bt->op, to);
		to += sizeof(struct inc_desc);
	}
	if (pkt->flags & INC_F_PAYLOAD)
		fill_payload(bt, b, to, pkt->len);
	pay = (struct netinc_pay){ .obj = bt->data, .off = bt->data->n - 1, .len = pkt->len, .flags = pkt->flags };
	if (netinc_ep_sent(&bt->rank->ep, block, pkt, &pay))
		netinc_super_get(bt->data);
	return true;
}

/* A block with neither; it continues a span if the one before it did. */
static bool add_to_span(struct batch *bt, const struct netinc_pkt *pkt)
{
	struct span *last = bt->nspans ? &bt->span[bt->nspans - 1] : NULL;

	if (last && (bt->last.opseq != pkt->opseq || bt->last.sig != pkt->sig))
		return false;
	if (last && last->psn + last->blocks == pkt->psn && last->flags == pkt->flags) {
		last->blocks++;		/* at most a window of them, far below 2^16 */
		return true;
	}
	if (bt->nspans == MAX_SPANS)
		return false;
	bt->span[bt->nspans++] = (struct span){ .psn = pkt->psn, .blocks = 1, .flags = pkt->flags };
	bt->last = *pkt;
	return true;
}

static bool add_block(struct batch *bt, u64 idx)
{
	struct netinc_block b;
	struct netinc_pkt pkt;

	netinc_coll_block(bt->op, idx, &b);
	if (!pinned(bt->req, &b)) {
		netinc_umem_stalled(bt->rank);
		return false;
	}
	netinc_ep_block_header(&bt->rank->ep, bt->op, idx, &b, &pkt);
	pkt.flags |= bt->flags;
	if (pkt.flags & (INC_F_PAYLOAD | INC_F_DESC))
		return add_unit(bt, bt->op->first + idx, &b, &pkt);
	if (!add_to_span(bt, &pkt))
		return false;
	netinc_ep_sent(&bt->rank->ep, bt->op->first + idx, &pkt, NULL);
	return true;
}

/* A block that has its result: what was kept of it. */
static bool add_kept(struct batch *bt, u64 block)
{
	const struct netinc_pay *pay;
	struct netinc_pkt pkt;
	void *to;

	pay = netinc_ep_kept_header(&bt->rank->ep, block, &pkt);
	pkt.flags |= bt->flags;
	if (!pay)
		return add_to_span(bt, &pkt);
	to = new_unit(bt, &pkt);
	if (!to)
		return false;
	netinc_failover_copy(pay, to, pkt.len);
	memset(to + pkt.len, 0, round_up(pkt.len, 4) - pkt.len);
	return true;
}

static void flush_spans(struct batch *bt)
{
	struct netinc_super *s;
	u32 i;

	if (!bt->nspans)
		return;
	s = netinc_super_alloc(sizeof(struct inc_hdr), bt->nspans);
	if (!s) {
		netinc_rank_transmit(bt->rank, bt->tree, NULL);	/* lost */
		return;
	}
	for (i = 0; i < s->max; i++) {
		bt->last.psn = bt->span[i].psn;
		bt->last.span = bt->span[i].blocks;
		bt->last.flags = bt->span[i].flags;
		netinc_build(netinc_super_unit(s, i), &bt->last);
	}
	netinc_rank_transmit(bt->rank, bt->tree, netinc_super_skb(s, 0, s->max));
	netinc_super_put(s);
}

/* If it cannot leave it is a lost packet. */
static void flush(struct batch *bt)
{
	struct netinc_super *s = bt->data;

	if (s) {
		netinc_rank_transmit(bt->rank, bt->tree, netinc_super_skb(s, 0, s->n));
		netinc_super_put(s);
	}
	flush_spans(bt);
}

u32 netinc_blocks_send(struct netinc_ep *ep, struct netinc_op *op, u64 idx, u32 n, u32 most, u16 flags)
{
	struct netinc_rank *rank = netinc_rank_of(ep);
	struct batch bt = { .rank = rank, .op = op, .req = req_of(rank, op), .most = min(n, most), .flags = flags,
			    .tree = netinc_tree_of(&ep->spread, op->first + idx) };
	u32 i = 0;

	if (bt.req && (!netinc_elems_plain(bt.req) || n * ep->block >= NETINC_FPU_WORTH))
		netinc_rank_fpu(rank);
	while (i < n && add_block(&bt, idx + i))
		i++;
	flush(&bt);
	return i;
}

u32 netinc_blocks_send_kept(struct netinc_ep *ep, u64 block, u32 n, u16 flags)
{
	struct netinc_rank *rank = netinc_rank_of(ep);
	struct batch bt = { .rank = rank, .most = min_t(u32, n, ep->cfg.super_packet), .flags = flags,
			    .tree = netinc_tree_of(&ep->spread, block) };
	u32 i = 0;

	while (i < n && add_kept(&bt, block + i))
		i++;
	flush(&bt);
	return i;
}

static bool deliver_converted(struct netinc_rank *rank, const struct netinc_req *req, const struct netinc_block *b,
			      const struct sk_buff *skb, u32 off)
{
	u32 size = netinc_reduce_elem_size(req->op.wire), i, n;
	bool fpu = netinc_rank_fpu(rank), ok = true;
	void *room = netinc_elems_room(0);

	for (i = 0; i < b->elems && ok; i += n) {
		n = min(b->elems - i, NETINC_ELEMS_CHUNK);
		ok = !skb_copy_bits(skb, off + i * size, room, n * size);
		if (ok)
			netinc_elems_put(req, b->recv + i, room, n, fpu);
	}
	return ok;
}

bool netinc_blocks_deliver(struct netinc_ep *ep, struct netinc_op *op, const struct netinc_block *b,
			   const struct netinc_pay *pay)
{
	u32 off = pay->off + (pay->flags & INC_F_DESC ? sizeof(struct inc_desc) : 0), size;
	struct netinc_rank *rank = netinc_rank_of(ep);
	struct netinc_req *req = req_of(rank, op);
	const struct netinc_buf *buf;

	if (req && req->chain)
		return netinc_chain_deliver(rank, req, b, pay);
	if (!(b->bits & INC_F_WANT))
		return true;
	if (!req)
		return !skb_copy_bits(pay->obj, off, container_of(op, struct netinc_counts, op)->theirs + b->recv,
				      b->elems * sizeof(__le32));
	size = netinc_reduce_elem_size(op->type);
	buf = netinc_req_recv_buf(req);
	if (netinc_assert(b->recv * size >= buf->lo && (b->recv + b->elems) * size <= buf->hi))
		return false;
	if (op->type != op->wire)
		return deliver_converted(rank, req, b, pay->obj, off);
	return netinc_buf_write(buf, b->recv * size, pay->obj, off, pay->len, rank->fpu);
}
