// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks at a host. Out: payload is copied, once, from pinned user pages into the segments of a
 * super-packet; blocks without payload, and those of which all bytes are 0, become spans, headers
 * that stand for many of them. In: results are copied from received packets into pinned user pages.
 * The exchange of counts has kernel memory instead.
 */
#include "host/payload.h"
#include "host/scan.h"
#include "host/counts.h"
#include "host/convert.h"
#include "host/retain.h"
#include "host/rank.h"
#include "reduce/reduce.h"

static struct netinc_op_request *req_of(const struct netinc_rank *rank, struct netinc_op *op)
{
	if (op == &rank->leave || (op->mode & INC_MODE_COUNTS_PHASE))
		return NULL;
	return container_of(op, struct netinc_op_request, op);
}

/* Is the memory there that the block is read from, and that where its result will go? */
static bool has_memory(struct netinc_rank *rank, struct netinc_op_request *req,
		       const struct netinc_block *b)
{
	if (!req || !req->mm)
		return true;
	switch (netinc_op_request_memory(req, b)) {
	case NETINC_MEMORY_THERE:
		return true;
	case NETINC_MEMORY_NOT_YET:
		netinc_pin_stalled(rank);
		return false;
	case NETINC_MEMORY_DONE:
		netinc_pin_outside(rank, req);
		return false;
	}
	return false;
}

static void fill_payload(const struct netinc_batch *bt, const struct netinc_block *b, void *to,
			 u32 len)
{
	struct netinc_fpu_section *section = &bt->rank->section;

	if (bt->req) {
		/* what was in the page before is another's */
		if (!netinc_convert_get(bt->req, b->send, to, b->elems,
					netinc_convert_enter(section)))
			memset(to, 0, len);
		netinc_convert_leave(section);
	} else {
		memcpy(to, container_of(bt->op, struct netinc_counts, op)->mine + b->send, len);
	}
	memset(to + len, 0, round_up(len, 4) - len);
}

/*
 * A segment with its header; returns where the rest goes. NULL: it does not fit behind those before
 * it, or no memory.
 */
static void *new_segment(struct netinc_batch *bt, const struct netinc_pkt *pkt)
{
	u32 size = sizeof(struct inc_hdr) + netinc_body_len(pkt);
	struct netinc_gso_buf *s = bt->data;
	void *to;

	if (s && (s->n == s->max || s->last != s->seg_size || size > s->seg_size))
		return NULL;
	if (!s && netinc_gso_buf_init(&bt->segments, size, bt->most)) {
		s = &bt->segments;
		bt->data = s;
	}
	if (!s) {
		bt->rank->retry = true;
		return NULL;
	}
	to = netinc_gso_buf_segment(s, s->n);
	netinc_build(to, pkt);
	s->n++;
	s->last = size;
	return to + sizeof(struct inc_hdr);
}

/* May it be kept? Who wants the result keeps that, and until it is there has the input. */
static bool retains_own(const struct netinc_batch *bt, const struct netinc_pkt *pkt)
{
	return netinc_ep_retains(&bt->rank->ep) &&
	       (pkt->flags & (INC_F_PAYLOAD | INC_F_WANT)) == INC_F_PAYLOAD;
}

/* False: there is no memory now. */
static bool place_for_own(struct netinc_batch *bt, const struct netinc_pkt *pkt)
{
	if (retains_own(bt, pkt) && !bt->place)
		bt->place = netinc_retain_place(bt->rank);
	return bt->place || !retains_own(bt, pkt);
}

/* The engine is told, and says whether the @payload is to be kept. */
static void note_sent(struct netinc_batch *bt, u64 block, const struct netinc_pkt *pkt,
		      const void *payload)
{
	struct netinc_pay pay = { .obj = bt->place, .len = pkt->len, .flags = pkt->flags };

	if (!netinc_ep_sent(&bt->rank->ep, block, pkt, retains_own(bt, pkt) ? &pay : NULL))
		return;
	memcpy(bt->place, payload, pkt->len);
	bt->place = NULL;
}

/* A block with neither, or of zeros; it continues a span if the one before it did. */
static bool add_to_span(struct netinc_batch *bt, const struct netinc_pkt *pkt)
{
	struct netinc_span *last = bt->nspans ? &bt->span[bt->nspans - 1] : NULL;

	if (last && (bt->last.opseq != pkt->opseq || bt->last.sig != pkt->sig))
		return false;
	if (last && last->psn + last->blocks == pkt->psn && last->flags == pkt->flags &&
	    last->len == pkt->len) {
		last->blocks++;		/* at most a window of them, far below 2^16 */
		return true;
	}
	if (bt->nspans == NETINC_MAX_SPANS)
		return false;
	bt->span[bt->nspans++] = (struct netinc_span){
		.psn = pkt->psn, .blocks = 1, .flags = pkt->flags, .len = pkt->len
	};
	bt->last = *pkt;
	return true;
}

/* Most often the first bytes say that it is not. Payload begins at a multiple of 4. */
static bool is_zeros(const void *payload, u32 len)
{
	return (len < sizeof(u32) || !*(const u32 *)payload) && !memchr_inv(payload, 0, len);
}

/* The block with this @payload, the last one of the segments, is one of a span if it is all 0. */
static void shorten_zeros(struct netinc_batch *bt, const struct netinc_pkt *pkt,
			  const void *payload)
{
	struct netinc_pkt zero;

	if (likely(!is_zeros(payload, pkt->len)) || (pkt->flags & INC_F_DESC))
		return;
	zero = *pkt;
	zero.flags |= INC_F_ZERO;
	if (!add_to_span(bt, &zero))
		return;
	bt->data->n--;
	bt->data->last = bt->data->seg_size;
	netinc_count(bt->rank->ep.counters, INC_C_BLOCKS_ZERO);
}

/* A block with payload or descriptor. */
static bool add_segment(struct netinc_batch *bt, u64 block, const struct netinc_block *b,
			const struct netinc_pkt *pkt)
{
	void *to;

	if (!place_for_own(bt, pkt)) {
		bt->rank->retry = true;
		return false;
	}
	to = new_segment(bt, pkt);
	if (!to)
		return false;
	if (pkt->flags & INC_F_DESC) {
		netinc_coll_desc(bt->op, to);
		to += sizeof(struct inc_desc);
	}
	if (pkt->flags & INC_F_PAYLOAD)
		fill_payload(bt, b, to, pkt->len);
	note_sent(bt, block, pkt, to);
	if (pkt->flags & INC_F_PAYLOAD)
		shorten_zeros(bt, pkt, to);
	return true;
}

static bool add_block(struct netinc_batch *bt, u64 idx)
{
	struct netinc_block b;
	struct netinc_pkt pkt;

	netinc_coll_block(bt->op, idx, &b);
	if (!has_memory(bt->rank, bt->req, &b))
		return false;
	netinc_ep_block_header(&bt->rank->ep, bt->op, idx, &b, &pkt);
	pkt.flags |= bt->flags;
	if (pkt.flags & (INC_F_PAYLOAD | INC_F_DESC))
		return add_segment(bt, bt->op->first + idx, &b, &pkt);
	if (!add_to_span(bt, &pkt))
		return false;
	netinc_ep_sent(&bt->rank->ep, bt->op->first + idx, &pkt, NULL);
	return true;
}

/* A block that has its result: what was kept of it. */
static bool add_retained(struct netinc_batch *bt, u64 block)
{
	const struct netinc_pay *pay;
	struct netinc_pkt pkt;
	void *to;

	pay = netinc_ep_retained_header(&bt->rank->ep, block, &pkt);
	pkt.flags |= bt->flags;
	if (!pay)
		return add_to_span(bt, &pkt);
	to = new_segment(bt, &pkt);
	if (!to)
		return false;
	memcpy(to, pay->obj, pkt.len);
	memset(to + pkt.len, 0, round_up(pkt.len, 4) - pkt.len);
	return true;
}

/* Behind the segments, whose descriptor it takes: these have left. */
static void flush_spans(struct netinc_batch *bt)
{
	struct netinc_gso_buf *s = &bt->segments;
	u32 i;

	if (!bt->nspans)
		return;
	if (!netinc_gso_buf_init(s, sizeof(struct inc_hdr), bt->nspans)) {
		netinc_rank_transmit(bt->rank, bt->tree, NULL);	/* lost */
		return;
	}
	for (i = 0; i < s->max; i++) {
		bt->last.psn = bt->span[i].psn;
		bt->last.span = bt->span[i].blocks;
		bt->last.flags = bt->span[i].flags;
		bt->last.len = bt->span[i].len;
		netinc_build(netinc_gso_buf_segment(s, i), &bt->last);
	}
	netinc_rank_transmit(bt->rank, bt->tree, netinc_gso_buf_skb(s, 0, s->max));
	netinc_gso_buf_release(s);
}

/* If it cannot leave it is a lost packet. */
static void flush_batch(struct netinc_batch *bt)
{
	struct netinc_gso_buf *s = bt->data;

	bt->data = NULL;
	if (s && s->n)
		netinc_rank_transmit(bt->rank, bt->tree, netinc_gso_buf_skb(s, 0, s->n));
	if (s)
		netinc_gso_buf_release(s);
	flush_spans(bt);
}

void netinc_payload_flush(struct netinc_rank *rank)
{
	lockdep_assert_held(&rank->lock);
	if (rank->batch.data)
		flush_batch(&rank->batch);
}

/* The rank's batch, of @most segments for @tree. What is not set is written before it is read. */
static struct netinc_batch *begin_batch(struct netinc_rank *rank, u32 tree, u32 most, u16 flags)
{
	struct netinc_batch *bt = &rank->batch;

	netinc_payload_flush(rank);
	bt->rank = rank;
	bt->op = NULL;
	bt->req = NULL;
	bt->data = NULL;
	bt->place = NULL;
	bt->most = most;
	bt->tree = tree;
	bt->flags = flags;
	bt->nspans = 0;
	return bt;
}

/* Are there so many bytes of it, or is so much done with each, that an FPU section is worth it? */
static void want_section(struct netinc_rank *rank, struct netinc_op *op, u32 blocks)
{
	const struct netinc_op_request *req = req_of(rank, op);

	if (req && (!netinc_convert_plain(req) || blocks * rank->ep.block >= NETINC_FPU_WORTH))
		netinc_fpu_section_want(&rank->section);
}

/*
 * Packets wait in the rank's queue while another CPU sends them, whose memory only this bounds: who
 * has sent enough goes on a little later.
 */
static bool waits_for_queue(struct netinc_rank *rank)
{
	if (!netinc_txq_is_long(&rank->txq))
		return false;
	rank->retry = true;
	return true;
}

/* Blocks of @op from @idx on, at most @n; returns how many have been added. */
static u32 add_blocks(struct netinc_batch *bt, struct netinc_op *op, u64 idx, u32 n)
{
	u32 i = 0;

	bt->op = op;
	bt->req = req_of(bt->rank, op);
	/* where there is no room for spans zeros would go as elements: they begin the next batch */
	while (i < n && bt->nspans < NETINC_MAX_SPANS && add_block(bt, idx + i))
		i++;
	if (bt->place)
		netinc_retain_release(&bt->rank->ep, &(struct netinc_pay){ .obj = bt->place });
	bt->place = NULL;
	return i;
}

/* The segments that there is room for: also for those of what follows @op, if its last are sent. */
static u32 count_segments(const struct netinc_op *op, u64 idx, u32 n, u32 most)
{
	return idx + n == op->blocks && op->next ? most : min(n, most);
}

/*
 * What has been added may leave with blocks of the next operation: it waits for them, and for the
 * lock to be dropped. Spans would leave behind those: they do not wait.
 */
u32 netinc_payload_send(struct netinc_ep *ep, struct netinc_op *op, u64 idx, u32 n, u32 most,
			u16 flags)
{
	struct netinc_rank *rank = netinc_rank_of(ep);
	u32 tree = netinc_tree_of(&ep->spread, op->first + idx), i = 0;
	struct netinc_batch *bt = &rank->batch;

	if (waits_for_queue(rank))
		return 0;
	want_section(rank, op, n);
	if (bt->data && bt->tree == tree && bt->flags == flags)
		i = add_blocks(bt, op, idx, n);
	if (!i) {
		bt = begin_batch(rank, tree, count_segments(op, idx, n, most), flags);
		i = add_blocks(bt, op, idx, n);
	}
	if (bt->nspans || i < n || !op->next)
		flush_batch(bt);
	return i;
}

u32 netinc_payload_send_retained(struct netinc_ep *ep, u64 block, u32 n, u16 flags)
{
	struct netinc_rank *rank = netinc_rank_of(ep);
	struct netinc_batch *bt = begin_batch(rank, netinc_tree_of(&ep->spread, block),
					      min_t(u32, n, ep->cfg.super_packet), flags);
	u32 i = 0;

	if (waits_for_queue(rank))
		return 0;
	while (i < n && add_retained(bt, block + i))
		i++;
	flush_batch(bt);
	return i;
}

static bool deliver_converted(const struct netinc_op_request *req, const struct netinc_block *b,
			      const struct netinc_pay *pay, bool fpu)
{
	u32 size = netinc_reduce_elem_size(req->op.wire), i, n;
	void *scratch = netinc_convert_scratch(0);
	bool ok = true;

	for (i = 0; i < b->elems && ok; i += n) {
		n = min(b->elems - i, NETINC_ELEMS_CHUNK);
		ok = netinc_payload_read(pay, i * size, scratch, n * size) &&
		     netinc_convert_put(req, b->recv + i, scratch, n, fpu);
	}
	return ok;
}

bool netinc_payload_read(const struct netinc_pay *pay, u32 from, void *to, u32 len)
{
	if (!(pay->flags & INC_F_ZERO))
		return !skb_copy_bits(pay->obj, netinc_pay_off(pay) + from, to, len);
	memset(to, 0, len);
	return true;
}

/* Elements that are not converted: bytes from @at on of the user's. */
static bool deliver_plain(const struct netinc_buf *buf, u64 at, const struct netinc_pay *pay,
			  bool fpu)
{
	if (pay->flags & INC_F_ZERO)
		return netinc_buf_clear(buf, at, pay->len);
	return netinc_buf_write(buf, at, pay->obj, netinc_pay_off(pay), pay->len, fpu);
}

bool netinc_payload_deliver(struct netinc_ep *ep, struct netinc_op *op,
			    const struct netinc_block *b, const struct netinc_pay *pay)
{
	struct netinc_rank *rank = netinc_rank_of(ep);
	struct netinc_op_request *req = req_of(rank, op);
	bool fpu, ok;

	if (!has_memory(rank, req, b))
		return false;
	if (req && req->chain)
		return netinc_scan_deliver(rank, req, b, pay);
	if (!(b->bits & INC_F_WANT))
		return true;
	if (!req)
		return netinc_payload_read(pay, 0,
					   container_of(op, struct netinc_counts, op)->theirs +
					   b->recv, b->elems * sizeof(__le32));
	if (op->type != op->wire)
		netinc_fpu_section_want(&rank->section);
	fpu = netinc_convert_enter(&rank->section);
	if (op->type != op->wire)
		ok = deliver_converted(req, b, pay, fpu);
	else
		ok = deliver_plain(netinc_op_request_recv_buf(req),
				   b->recv * netinc_reduce_elem_size(op->type), pay, fpu);
	netinc_convert_leave(&rank->section);
	return ok;
}
