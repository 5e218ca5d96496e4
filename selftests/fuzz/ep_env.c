// SPDX-License-Identifier: GPL-2.0-only
/*
 * See ep_env.h. Elements are the same on the wire and in memory: what is converted is not the
 * engine's business.
 */
#include <sanitizer/asan_interface.h>

#include "ep_env.h"

struct ep_env env;

/* ---- Memory -------------------------------------------------------------- */

/* Byte @at of what operation @seq sends; results are the complement. */
static u8 pattern(u32 seq, u64 at)
{
	return (u8)(at * 167 + (at >> 8) * 29 + seq * 41 + 1);
}

static u64 stream_length(const struct netinc_op *op, bool send)
{
	struct netinc_share s;
	u64 n = 0;
	u32 i;

	for (i = 0; send ? netinc_coll_send_share(op, i, &s) : netinc_coll_recv_share(op, i, &s);
	     i++)
		n += s.elems;
	return n * ep_env_elem(op);
}

/* Where result elements take the place of those that were sent, one by one. */
static bool is_shared(const struct netinc_op *op)
{
	return op->in_place && (op->coll == INC_COLL_ALLREDUCE || op->coll == INC_COLL_REDUCE);
}

/*
 * Two buffers that are pinned each for itself, of the same memory: results go to the front of the
 * input.
 */
static bool is_alias(const struct netinc_op *op)
{
	return op->in_place && op->coll == INC_COLL_REDUCE_SCATTER;
}

static struct buf *recv_buf(struct op *o)
{
	return is_shared(&o->op) ? &o->send : &o->recv;
}

static void buf_alloc(struct buf *b, u64 len, u8 *same)
{
	b->len = len;
	b->lo = 0;
	b->hi = min_t(u64, len, FIRST_PINNED);
	b->data = same ?: malloc(max_t(u64, len, 1));
}

void ep_env_alloc(struct op *o)
{
	const u32 *counts = o->op.counts;
	u64 i;

	if (o->op.mode & INC_MODE_COUNTS)
		o->op.counts = o->counts;
	buf_alloc(&o->send, stream_length(&o->op, true), NULL);
	if (!is_shared(&o->op))
		buf_alloc(&o->recv, stream_length(&o->op, false),
			  is_alias(&o->op) ? o->send.data : NULL);
	o->op.counts = counts;
	for (i = 0; i < o->send.len; i++)
		o->send.data[i] = pattern(env.ep.next_seq, i);
	if (!is_alias(&o->op) && !is_shared(&o->op))
		for (i = 0; i < o->recv.len; i++)
			o->recv.data[i] = 0;
}

static void buf_poison(struct buf *b, u64 lo)
{
	ASAN_POISON_MEMORY_REGION(b->data, round_down(lo, 8ull));
}

static void buf_free(struct buf *b)
{
	if (b->data)
		ASAN_UNPOISON_MEMORY_REGION(b->data, b->len);
	free(b->data);
	b->data = NULL;
}

/* As its owner may do when it has ended: nothing is touched any more. */
void ep_env_free_op(struct op *o)
{
	if (is_alias(&o->op))
		o->recv.data = NULL;
	buf_free(&o->send);
	buf_free(&o->recv);
}

void ep_env_free(void)
{
	u32 i;

	for (i = 0; i < MAX_OPS; i++)
		ep_env_free_op(&env.op[i]);
}

/* The operation whose memory that is; NULL: it has none. */
static struct op *op_of(struct netinc_op *op)
{
	if (op == &env.leave || (op->mode & INC_MODE_COUNTS_PHASE))
		return NULL;
	return container_of(op, struct op, op);
}

void ep_env_progress(void)
{
	struct netinc_op *head = env.ep.head;
	struct op *o = head ? op_of(head) : NULL;
	struct netinc_block b;
	u64 next;

	if (!o || !head->numbered)
		return;
	next = netinc_ep_next(&env.ep);
	if ((s64)(next - head->first) <= 0 || next - head->first >= head->blocks)
		return;
	netinc_coll_block(head, next - head->first, &b);
	o->send.lo = b.send * ep_env_elem(head);
	o->recv.lo = b.recv * ep_env_elem(head);
	netinc_assert(o->send.lo <= o->send.len && (is_shared(head) || o->recv.lo <= o->recv.len));
	if (is_alias(head))
		return;
	buf_poison(&o->send, o->send.lo);
	if (!is_shared(head))
		buf_poison(&o->recv, o->recv.lo);
}

void ep_env_pin(u64 bytes)
{
	struct netinc_op *op;
	struct op *o;

	for (op = env.ep.head; op; op = op->next) {
		o = op_of(op);
		if (!o || (o->send.hi == o->send.len && o->recv.hi == o->recv.len))
			continue;
		o->send.hi = min(o->send.hi + bytes, o->send.len);
		o->recv.hi = min(o->recv.hi + bytes, o->recv.len);
		return;
	}
}

/* All accesses. Bytes that are not pinned are somebody else's. */
static u8 *access_buf(struct buf *b, u64 at, u64 len)
{
	netinc_assert(at >= b->lo && at + len <= b->hi && b->hi <= b->len);
	return b->data + at;
}

/* As pinned() of host/payload.c: is what is not there at the upper end only? */
static bool is_pinned(struct op *o, const struct netinc_block *b)
{
	u32 size = ep_env_elem(&o->op);
	struct buf *to = recv_buf(o);

	if ((b->bits & INC_F_PAYLOAD) && (b->send + b->elems) * size > o->send.hi)
		return false;
	if ((b->bits & INC_F_WANT) || (netinc_coll_chains(o->op.coll) && b->owner == RANK))
		return min((b->recv + b->elems) * size, to->len) <= to->hi;
	return true;
}

static void read_input(struct op *o, const struct netinc_block *b)
{
	u32 size = ep_env_elem(&o->op), i;
	const u8 *p = access_buf(&o->send, b->send * size, b->elems * size);

	for (i = 0; i < b->elems * size; i++)
		netinc_assert(p[i] == pattern(o->op.seq, b->send * size + i));
}

static void write_result(struct op *o, const struct netinc_block *b)
{
	u32 size = ep_env_elem(&o->op), i;
	u8 *p = access_buf(recv_buf(o), b->recv * size, b->elems * size);

	for (i = 0; i < b->elems * size; i++)
		p[i] = (u8)~pattern(o->op.seq, b->recv * size + i);
}

/* An operation that was successful: each byte of its result has been written. */
static void check_result(struct op *o)
{
	struct buf *b = recv_buf(o);
	u64 i;

	ASAN_UNPOISON_MEMORY_REGION(b->data, b->len);
	if (is_shared(&o->op) && !stream_length(&o->op, false))
		return;
	for (i = 0; i < (is_shared(&o->op) ? b->len : o->recv.len); i++)
		netinc_assert(b->data[i] == (u8)~pattern(o->op.seq, i));
}

/* ---- Environment --------------------------------------------------------- */

static void note_begun(struct netinc_op *op)
{
	struct begun *b;

	if (op == &env.leave)
		b = &env.left;
	else if (op->mode & INC_MODE_COUNTS_PHASE)
		b = &container_of(op, struct op, exchange)->began[1];
	else
		b = &container_of(op, struct op, op)->began[0];
	netinc_assert(!b->begun || b->first == op->first);
	b->begun = true;
	b->first = op->first;
}

static u32 send_blocks(struct netinc_ep *ep, struct netinc_op *op, u64 idx, u32 n, u32 most,
		       u16 flags)
{
	struct netinc_pay pay = { .obj = &env };
	struct op *o = op_of(op);
	u32 i, payloads = 0;
	struct netinc_block b;
	struct netinc_pkt pkt;

	(void)flags;
	netinc_assert(n && most && most <= SUPER && idx + n <= op->blocks);
	if (env.short_send)
		n /= 2;
	env.short_send = false;
	for (i = 0; i < n && payloads < most; i++) {
		netinc_coll_block(op, idx + i, &b);
		if (o && !is_pinned(o, &b))
			break;
		note_begun(op);
		netinc_ep_block_header(ep, op, idx + i, &b, &pkt);
		netinc_assert(pkt.len <= BLOCK && (!pkt.len == !(pkt.flags & INC_F_PAYLOAD)));
		if (pkt.len && o)
			read_input(o, &b);
		payloads += !!pkt.len;
		pay.len = pkt.len;
		env.own += netinc_ep_sent(ep, op->first + idx + i, &pkt, pkt.len ? &pay : NULL);
	}
	env.packets++;
	return i;
}

static u32 send_retained(struct netinc_ep *ep, u64 block, u32 n, u16 flags)
{
	const struct netinc_pay *pay;
	struct netinc_pkt pkt;
	u32 i;

	(void)flags;
	netinc_assert(n);
	if (env.short_send)
		n /= 2;
	env.short_send = false;
	for (i = 0; i < n; i++) {
		pay = netinc_ep_retained_header(ep, block + i, &pkt);
		netinc_assert(pkt.psn == (u32)(block + i) &&
			      (!pay == !(pkt.flags & INC_F_PAYLOAD)));
		netinc_assert(!pay || (pay->obj == &env && pay->len && pay->len == pkt.len &&
				       pkt.len <= BLOCK));
	}
	env.packets++;
	return n;
}

static bool retain_init(struct netinc_ep *ep, u32 n)
{
	static struct netinc_retained room[DIV_ROUND_UP(2 * MAX_WINDOW, NETINC_RETAIN_CHUNK)]
				      [NETINC_RETAIN_CHUNK];
	u32 i;

	netinc_assert(n && n <= ARRAY_SIZE(ep->retained));
	if (env.no_keep || n > ARRAY_SIZE(room))
		return false;
	memset(room, 0, sizeof(room));
	for (i = 0; i < n; i++)
		ep->retained[i] = room[i];
	return true;
}

static bool keep(struct netinc_ep *ep, struct netinc_pay *pay)
{
	(void)ep;
	if (env.no_keep)
		return false;
	pay->obj = &env;
	env.results++;
	return true;
}

static void forget(struct netinc_ep *ep, struct netinc_pay *pay)
{
	u32 *retained = pay->kind == NETINC_PAY_RETAINED_RESULT ? &env.results : &env.own;

	(void)ep;
	netinc_assert(pay->obj == &env && *retained);
	--*retained;
}

static bool spread(struct netinc_ep *ep)
{
	netinc_assert(ep->npeers == SIZE && ep->spread.trees > 1);
	return !env.no_keep;
}

static bool retarget(struct netinc_ep *ep, u32 at)
{
	netinc_assert(at < ep->nplan);
	return true;
}

static void send(struct netinc_ep *ep, const struct netinc_pkt *pkt, const void *body, u32 len)
{
	struct netinc_pkt p = *pkt, back;
	u8 buf[1024];

	(void)ep;
	p.len = len;
	memset(buf, 0, sizeof(buf));
	netinc_assert(len <= sizeof(buf) - sizeof(struct inc_hdr));
	netinc_build((struct inc_hdr *)buf, &p);
	memcpy(buf + sizeof(struct inc_hdr), body, len);
	netinc_assert(!netinc_parse(buf, sizeof(struct inc_hdr) + netinc_body_len(&p), &back));
	env.packets++;
}

static void send_to(struct netinc_ep *ep, const struct netinc_peer *peer,
		    const struct netinc_pkt *pkt, const void *body, u32 len)
{
	netinc_assert((peer >= env.peers && peer < env.peers + SIZE) ||
		      (peer >= ep->plan && peer < ep->plan + ep->nplan));
	send(ep, pkt, body, len);
}

/*
 * As kernel/host/scan.c: the own input is read, and a round written, when the own contribution has
 * come back.
 */
static void deliver_chain(struct op *o, const struct netinc_block *b)
{
	if (b->owner != RANK || !b->elems)
		return;
	if (o->op.coll == INC_COLL_SCAN)
		read_input(o, b);
	write_result(o, b);
}

static bool deliver(struct netinc_ep *ep, struct netinc_op *op, const struct netinc_block *b,
		    const struct netinc_pay *pay)
{
	struct op *o = op_of(op);

	(void)ep;
	/* what is not wanted may be there, for another rank of the host */
	netinc_assert(!(b->bits & INC_F_WANT) || ep_env_elem(op) * b->elems == pay->len);
	if (env.no_room) {
		env.no_room = false;
		return false;
	}
	note_begun(op);
	if (o && netinc_coll_chains(op->coll))
		deliver_chain(o, b);
	else if (o && (b->bits & INC_F_WANT))
		write_result(o, b);
	return true;
}

/* The node may have told anything: the counts are what the input says. */
static void exchanged(struct op *o)
{
	if (o->exchange.error.code)
		return;
	netinc_assert(!o->done && o->exchange.done == o->exchange.blocks);
	o->op.counts = o->counts;
	o->op.hold = false;
	if (!o->contradiction)
		return;
	o->op.error.code = INC_ERR_COUNTS;
	o->op.error.opseq = o->op.seq;
}

static void op_done(struct netinc_ep *ep, struct netinc_op *op)
{
	struct op *o;

	(void)ep;
	if (op == &env.leave)
		return;
	if (op->mode & INC_MODE_COUNTS_PHASE) {
		exchanged(container_of(op, struct op, exchange));
		return;
	}
	o = container_of(op, struct op, op);
	netinc_assert(o->submitted && !o->done);
	netinc_assert(op->error.code || (op->done == op->blocks && !o->contradiction));
	if (!op->error.code)
		check_result(o);
	ep_env_free_op(o);
	o->done = true;
	env.pending--;
}

static void state(struct netinc_ep *ep, u8 old)
{
	netinc_assert(ep->state != old && ep->state <= INC_STATE_FAILED);
}

const struct netinc_ep_ops ep_env_ops = {
	.send_blocks = send_blocks,
	.send = send,
	.send_retained = send_retained,
	.retain_init = retain_init,
	.retain = keep,
	.retain_release = forget,
	.retarget = retarget,
	.send_to = send_to,
	.deliver = deliver,
	.op_done = op_done,
	.state = state,
	.spread = spread,
};
