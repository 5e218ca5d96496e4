// SPDX-License-Identifier: GPL-2.0-only
/*
 * Payload at a node. A group keeps received packets, folds them into results (fold_elements.c),
 * sends these.
 *
 * A received super-packet is kept as it is; its cb counts the blocks that slots still need. Results
 * are folded straight into the pages of the super-packet that carries them, which the slots then
 * keep as their cached result. Received payload is never written to: its pages may be the sender's
 * own.
 */
#include <linux/slab.h>
#include "node/node_group.h"
#include "reduce/reduce.h"
#include "node/tenant.h"
#include "node/uplink_io.h"
#include "core/trace.h"

#define HELD_ITEMS	3	/* namespace, payer, tenant */
#define PIECE		512	/* bytes that are compared at once */

static struct netinc_node_group *agg_to_node_group(struct netinc_agg *agg)
{
	return container_of(agg, struct netinc_node_group, grp.agg);
}

/* What @bytes are charged to beside the group, in this order; returns how many it is. */
static u32 held_items(const struct netinc_node_group *g, u32 bytes, struct netinc_charge_item *item)
{
	*item++ = (struct netinc_charge_item){ &g->nn->account, INC_LIMIT_HELD_MEMORY, bytes };
	*item++ = (struct netinc_charge_item){ &g->payer->account, INC_LIMIT_HELD_MEMORY, bytes };
	if (!g->tenant)
		return 2;
	*item = (struct netinc_charge_item){ &g->tenant->account, NETINC_LIMIT_TENANT_MEMORY,
					     bytes };
	return 3;
}

/*
 * @own: g->held or g->results. These are no accounts: under the group's lock plain numbers do,
 * where an account would be one more atomic per packet. @always: more than the limits allow, if
 * need be.
 */
static bool charge_held(struct netinc_node_group *g, u64 *own, u32 bytes, bool always)
{
	struct netinc_charge_item item[HELD_ITEMS];
	u32 n = held_items(g, bytes, item);

	if (always)
		netinc_charge_always(item, n);
	else if (*own + bytes > g->limit || netinc_charge_all(item, n))
		return false;
	*own += bytes;
	return true;
}

static void uncharge_held(struct netinc_node_group *g, u64 *own, u32 bytes)
{
	struct netinc_charge_item item[HELD_ITEMS];

	netinc_uncharge_all(item, held_items(g, bytes, item));
	*own -= bytes;
}

/* A copy of what @pay refers to, in a packet of its own. */
static struct sk_buff *copy_out(struct netinc_pay *pay)
{
	u32 len = netinc_pay_off(pay) - pay->off + pay->len;
	struct sk_buff *skb;

	netinc_fpu_section_outside();
	skb = alloc_skb(len, GFP_ATOMIC | __GFP_NOWARN);
	if (skb) {
		skb_copy_bits(pay->obj, pay->off, skb_put(skb, len), len);
		NETINC_CB(skb)->refs = 1;
	}
	return skb;
}

/*
 * There is no room for the packet, but this block of it may fit. What the oldest block needs is
 * taken always: a copy of each rank's contribution, which the group has been charged for when it
 * was made, and not the packet, which may be as long as its sender likes.
 */
static bool hold_copy(struct netinc_node_group *g, struct netinc_pay *pay, bool always)
{
	struct sk_buff *copy;

	if (!always && g->held + SKB_TRUESIZE(pay->len) > g->limit)
		return false;
	copy = copy_out(pay);
	if (!copy)
		return false;
	if (!charge_held(g, &g->held, copy->truesize, always)) {
		kfree_skb(copy);
		return false;
	}
	netinc_count(g->grp.counters, INC_C_UNSHARED);
	pay->obj = copy;
	pay->off = 0;
	return true;
}

static bool agg_hold(struct netinc_agg *agg, struct netinc_pay *pay, bool always)
{
	struct netinc_node_group *g = agg_to_node_group(agg);
	struct sk_buff *skb = pay->obj;

	if (!NETINC_CB(skb)->refs) {
		if (!charge_held(g, &g->held, skb->truesize, false))
			return hold_copy(g, pay, always);
		netinc_skb_hold(skb);
		NETINC_CB(skb)->refs = 0;
		/*
		 * the receive path has its own: another CPU may release this one as soon as the
		 * lock is dropped
		 */
		skb_get(skb);
	}
	NETINC_CB(skb)->refs++;
	return true;
}

void netinc_fold_put(struct netinc_node_group *g, struct netinc_gso_buf *s)
{
	if (refcount_read(&s->refs) == 1)
		uncharge_held(g, &g->results, netinc_gso_buf_truesize(s));
	netinc_gso_buf_put(s);
}

/*
 * Room for some results; at the limit for one, which the group has been charged for when it was
 * made, if it is taken @always.
 */
static struct netinc_gso_buf *gso_buf_get(struct netinc_node_group *g, u32 len, u32 n, bool always)
{
	struct netinc_gso_buf *s = netinc_gso_buf_alloc(len, n);

	if (!s || charge_held(g, &g->results, netinc_gso_buf_truesize(s), false))
		return s;
	netinc_gso_buf_put(s);
	s = always ? netinc_gso_buf_alloc(len, 1) : NULL;
	if (s)
		charge_held(g, &g->results, netinc_gso_buf_truesize(s), true);
	return s;
}

static void agg_release(struct netinc_agg *agg, struct netinc_pay *pay)
{
	struct netinc_node_group *g = agg_to_node_group(agg);
	struct sk_buff *skb = pay->obj;

	if (pay->kind == NETINC_PAY_RESULT) {
		netinc_fold_put(g, pay->obj);
		return;
	}
	if (--NETINC_CB(skb)->refs)
		return;
	uncharge_held(g, &g->held, skb->truesize);
	consume_skb(skb);
}

static void copy_desc(struct netinc_agg *agg, const struct netinc_pay *pay, struct inc_desc *desc)
{
	memset(desc, 0, sizeof(*desc));
	if (pay->obj && (pay->flags & INC_F_DESC))
		skb_copy_bits(pay->obj, pay->off, desc, sizeof(*desc));
}

static bool can_fold(struct netinc_agg *agg, u8 dtype, u8 dop, u8 mode)
{
	return dop == INC_OP_NONE || netinc_reduce_find(dtype, dop, mode, false);
}

/* Does the memory likely suffice for the parts of a block, as far as the group's own limit goes? */
static bool results_fit(const struct netinc_node_group *g, u32 len)
{
	return g->results + (u64)g->grp.agg.nparts * len <= g->limit;
}

/*
 * May block @next share a super-packet with what is in it? Some blocks in between, and the first
 * parts of this one, may have no elements, or be zeros.
 */
static bool may_follow(const struct netinc_node_group *g, u64 next)
{
	return next - g->build_next < NETINC_MAX_SEGMENTS;
}

/*
 * The segment in which the next result is built; as many as the received packet may complete share
 * a super-packet. @part: likewise one of a partial. A group has been charged for a result of each
 * slot, and for the parts of one block, the oldest one, when it was made.
 */
static void *result_segment(struct netinc_node_group *g, const struct netinc_slot *slot, u32 part,
			    u32 len)
{
	u64 next = part && part != NETINC_WHOLE ? slot->q + 1 : slot->q;
	bool always = part == NETINC_WHOLE || slot->q == g->grp.agg.una;
	struct netinc_gso_buf *s = g->build;
	u32 n = max(g->rx_left, 1u);

	if (part != NETINC_WHOLE)
		n *= g->grp.agg.nparts;
	/* else they would be made and dropped again and again */
	if (!always && !part && !results_fit(g, len))
		return NULL;
	if (s && (s->n == s->max || !may_follow(g, next) || len > s->seg_size ||
		  s->last != s->seg_size)) {
		netinc_fold_put(g, s);
		g->build = NULL;
	}
	if (!g->build) {
		s = gso_buf_get(g, len, min_t(u32, n, min(NETINC_MAX_SEGMENTS, 65000 / len)),
				always);
		if (!s)
			return NULL;
		g->build = s;
	}
	return netinc_gso_buf_segment(s, s->n);
}

/* The first contribution with @flag; the slot's own flags say that there is one. */
static const struct netinc_pay *first_input(const struct netinc_node_group *g,
					    const struct netinc_slot *slot, u16 flag)
{
	static const struct netinc_pay none;
	u32 i;

	for (i = 0; i < g->grp.agg.inputs; i++)
		if (slot->in[i].flags & flag)
			return &slot->in[i];
	WARN_ON_ONCE(1);
	return &none;
}

/*
 * Header, descriptor, which is that of @from, and room for the payload; NULL: no memory. @up: it
 * goes to the parent, or this @part of it does.
 */
static void *result_begin(struct netinc_node_group *g, struct netinc_slot *slot,
			  const struct netinc_pay *from, bool up, u32 part, u32 *size)
{
	u32 desc = slot->flags & INC_F_DESC ? sizeof(struct inc_desc) : 0, len;
	struct netinc_pkt pkt;
	u8 *segment;

	if (up)
		netinc_agg_up_header(&g->grp.agg, slot, part, &pkt);
	else
		netinc_agg_result_header(&g->grp.agg, slot, true, &pkt);
	len = pkt.len;
	*size = sizeof(struct inc_hdr) + desc + round_up(len, 4);
	segment = result_segment(g, slot, part, *size);
	if (!segment)
		return NULL;
	netinc_build((struct inc_hdr *)segment, &pkt);
	segment += sizeof(struct inc_hdr);
	if (desc) {
		copy_desc(&g->grp.agg, from, (struct inc_desc *)segment);
		segment += desc;
	}
	memset(segment + len, 0, round_up(len, 4) - len);
	return segment;
}

/* The contribution that has the operation's descriptor, if the slot says that there is one. */
static const struct netinc_pay *with_desc(const struct netinc_node_group *g,
					  const struct netinc_slot *slot)
{
	return slot->flags & INC_F_DESC ? first_input(g, slot, INC_F_DESC) : NULL;
}

static void result_end(struct netinc_node_group *g, struct netinc_slot *slot, u32 size)
{
	struct netinc_gso_buf *s = g->build;

	slot->result = (struct netinc_pay){ .obj = s,
					    .off = s->n,
					    .kind = NETINC_PAY_RESULT,
					    .len = size,
					    .flags = slot->flags };
	netinc_gso_buf_get(s);
	s->n++;
	s->last = size;
	g->build_next = slot->q + 1;
	trace_netinc_block(g->grp.cfg.id, slot->q, slot->len);
}

/*
 * The payload of one contribution, as it is. A buffer that is shorter than its header said would
 * leave zeros.
 */
static void copy_payload(const struct netinc_slot *slot, const struct netinc_pay *pay, void *dst)
{
	if ((pay->flags & INC_F_ZERO) || WARN_ON_ONCE(!pay->obj || pay->len != slot->len) ||
	    skb_copy_bits(pay->obj, netinc_pay_off(pay), dst, slot->len))
		memset(dst, 0, slot->len);
}

/* The counted flags say what there is to fold, and nothing else does. */
static bool agg_fold(struct netinc_agg *agg, struct netinc_slot *slot, u32 part)
{
	struct netinc_node_group *g = agg_to_node_group(agg);
	bool elements;
	void *dst;
	u32 size;

	dst = result_begin(g, slot, with_desc(g, slot), !agg->root, part, &size);
	if (!dst)
		return false;
	elements = part == NETINC_WHOLE ? slot->flags & INC_F_PAYLOAD :
					  netinc_agg_part_has_elements(agg, slot, part);
	if (elements && slot->dop)
		netinc_fold_elements(g, slot, part, dst);
	else if (elements)
		copy_payload(slot, first_input(g, slot, INC_F_PAYLOAD), dst);
	result_end(g, slot, size);
	return true;
}

static bool copy_one(struct netinc_agg *agg, struct netinc_slot *slot, u32 i)
{
	struct netinc_node_group *g = agg_to_node_group(agg);
	u32 size;
	void *to;

	to = result_begin(g, slot, with_desc(g, slot), !agg->root, NETINC_WHOLE, &size);
	if (!to)
		return false;
	copy_payload(slot, &slot->in[i], to);
	result_end(g, slot, size);
	return true;
}

/* Piece by piece, wherever the packet has them. */
static bool is_copy(struct netinc_agg *agg, const struct netinc_slot *slot, u32 i)
{
	const struct netinc_pay *pay = &slot->in[i], *result = &slot->result;
	const u8 *copy = netinc_gso_buf_segment(result->obj, result->off), *said;
	u32 done, n, from = netinc_pay_off(pay);
	u8 piece[PIECE];

	copy += sizeof(struct inc_hdr);
	if (result->flags & INC_F_DESC)
		copy += sizeof(struct inc_desc);
	for (done = 0; done < slot->len; done += n) {
		n = min_t(u32, slot->len - done, sizeof(piece));
		said = skb_header_pointer(pay->obj, from + done, n, piece);
		if (!said || memcmp(copy + done, said, n))
			return false;
	}
	return true;
}

/* What the parent has sent becomes the result of this node's children, in memory of its own. */
static bool take_parent_result(struct netinc_agg *agg, struct netinc_slot *slot,
			       const struct netinc_pay *pay)
{
	struct netinc_node_group *g = agg_to_node_group(agg);
	void *to;
	u32 size;

	to = result_begin(g, slot, pay, false, NETINC_WHOLE, &size);
	if (!to)
		return false;
	if (slot->flags & INC_F_PAYLOAD)
		copy_payload(slot, pay, to);
	result_end(g, slot, size);
	return true;
}

static void run_flush(struct netinc_node_group *g, struct netinc_run *run, u32 child)
{
	if (!run->s)
		return;
	netinc_node_group_send_run(g, child, run);
	netinc_fold_put(g, run->s);
	run->s = NULL;
}

static void run_add(struct netinc_node_group *g, struct netinc_run *run, u32 child,
		    const struct netinc_pay *result)
{
	if (run->s != result->obj || run->first + run->n != result->off) {
		run_flush(g, run, child);
		*run = (struct netinc_run){ .s = result->obj, .first = result->off };
		netinc_gso_buf_get(run->s);
	}
	run->n++;
}

static struct netinc_pkt *empty_of(struct netinc_node_group *g, u32 child)
{
	return child == NETINC_HEARING ? &g->many_empty : &g->link[child].empty;
}

static void empty_flush(struct netinc_node_group *g, u32 child)
{
	struct netinc_pkt *pkt = empty_of(g, child);

	if (pkt->span)
		netinc_node_group_send(g, child, netinc_header_skb(pkt));
	pkt->span = 0;
}

/* A result that is a header: @elements are 0, or the child wants none. */
static void empty_add(struct netinc_node_group *g, u32 child, const struct netinc_slot *slot,
		      bool elements)
{
	struct netinc_pkt *pkt = empty_of(g, child), next;

	netinc_agg_result_header(&g->grp.agg, slot, elements, &next);
	if (pkt->span && pkt->span < U16_MAX && pkt->psn + pkt->span == next.psn &&
	    pkt->opseq == next.opseq && pkt->sig == next.sig && pkt->flags == next.flags &&
	    pkt->child == next.child && pkt->len == next.len) {
		pkt->span++;
		return;
	}
	empty_flush(g, child);
	*pkt = next;
}

/* Does the host of @child want the elements, for this child or for another one? */
static bool host_wants(const struct netinc_node_group *g, const struct netinc_slot *slot, u32 child)
{
	u32 i;

	if (!(slot->flags & INC_F_PAYLOAD))
		return true;
	for (i = child; i < g->grp.agg.children; i++)
		if (g->link[i].host == child && (slot->in[i].flags & INC_F_WANT))
			return true;
	return false;
}

static void send_child(struct netinc_node_group *g, const struct netinc_slot *slot, u32 child)
{
	struct netinc_run run = { .s = slot->result.obj, .first = slot->result.off, .n = 1 };
	bool wants = host_wants(g, slot, g->link[child].host);
	struct netinc_pkt pkt;

	if (run.s && wants) {
		netinc_node_group_send_run(g, child, &run);
		return;
	}
	netinc_agg_result_header(&g->grp.agg, slot, wants && (slot->flags & INC_F_ZERO), &pkt);
	netinc_node_group_send(g, child, netinc_header_skb(&pkt));
}

static void mark_hosts(const struct netinc_node_group *g, const struct netinc_slot *slot,
		       unsigned long *wants)
{
	u32 i;

	bitmap_zero(wants, g->grp.agg.children);
	for (i = 0; i < g->grp.agg.children; i++)
		if (slot->in[i].flags & INC_F_WANT)
			__set_bit(g->link[i].host, wants);
}

/* To one host, or to all that hear: elements if it @wants them, else an empty result. */
static void add_apart(struct netinc_node_group *g, const struct netinc_slot *slot, u32 child,
		      bool wants)
{
	struct netinc_run *run = child == NETINC_HEARING ? &g->many_run : &g->link[child].run;

	if (slot->result.obj && wants)
		run_add(g, run, child, &slot->result);
	else
		empty_add(g, child, slot, (slot->flags & INC_F_ZERO) && wants);
}

/*
 * Does one result do for all that hear? *@wants: with elements, which whoever wants none gets, too,
 * if at least half of them do; without, if none does.
 */
static bool all_alike(struct netinc_node_group *g, const unsigned long *hosts, bool *wants)
{
	u32 hearing = netinc_node_group_hearing(g), n = 0, i;

	for (i = 0; hearing && i < g->grp.agg.children; i++)
		n += g->link[i].hears && test_bit(i, hosts);
	*wants = n;
	return hearing && (!n || 2 * n >= hearing);
}

/* Elements to the hosts that want them, empty results to the others. */
static void send_apart(struct netinc_node_group *g, const struct netinc_slot *slot)
{
	DECLARE_BITMAP(wants, INC_MAX_RANKS);
	bool alike, elements;
	u32 i;

	mark_hosts(g, slot, wants);
	g->apart = true;
	alike = all_alike(g, wants, &elements);
	if (alike)
		add_apart(g, slot, NETINC_HEARING, elements);
	for (i = 0; i < g->grp.agg.children; i++)
		if (g->link[i].host == i && !(alike && g->link[i].hears))
			add_apart(g, slot, i, test_bit(i, wants));
}

static bool all_want(const struct netinc_node_group *g, const struct netinc_slot *slot)
{
	u32 i;

	for (i = 0; i < g->grp.agg.children; i++)
		if (!(slot->in[i].flags & INC_F_WANT))
			return false;
	return true;
}

static void send_result(struct netinc_agg *agg, const struct netinc_slot *slot, u32 child)
{
	struct netinc_node_group *g = agg_to_node_group(agg);

	if (child != NETINC_ALL)
		send_child(g, slot, child);
	else if (!slot->result.obj || ((slot->flags & INC_F_PAYLOAD) && !all_want(g, slot)))
		send_apart(g, slot);
	else
		run_add(g, &g->run, NETINC_ALL, &slot->result);
}

/* All results that wait for others to leave with. */
static void flush_results(struct netinc_node_group *g)
{
	u32 i;

	run_flush(g, &g->run, NETINC_ALL);
	netinc_uplink_flush(g);
	for (i = 0; g->apart && i < g->grp.agg.children; i++) {
		run_flush(g, &g->link[i].run, i);
		empty_flush(g, i);
	}
	if (g->apart) {
		run_flush(g, &g->many_run, NETINC_HEARING);
		empty_flush(g, NETINC_HEARING);
	}
	g->apart = false;
}

static void agg_send(struct netinc_agg *agg, u32 child, const struct netinc_pkt *pkt,
		     const void *body, u32 len)
{
	netinc_node_group_send(agg_to_node_group(agg), child, netinc_control_skb(pkt, body, len));
}

void netinc_fold_begin(struct netinc_node_group *g)
{
	lockdep_assert_held(&g->lock);
	netinc_fpu_section_want(&g->section);
}

void netinc_fold_end(struct netinc_node_group *g)
{
	lockdep_assert_held(&g->lock);
	flush_results(g);
	if (g->build)
		netinc_fold_put(g, g->build);
	g->build = NULL;
	netinc_fpu_section_end(&g->section);
}

static void unshare_slot(struct netinc_node_group *g, struct netinc_slot *slot)
{
	struct sk_buff *skb, *copy;
	struct netinc_pay *pay;
	u32 i;

	for (i = 0; i < g->grp.agg.inputs; i++) {
		pay = &slot->in[i];
		skb = pay->obj;
		if (!skb || !skb_is_gso(skb) || NETINC_CB(skb)->refs * 4 >= NETINC_CB(skb)->packets)
			continue;
		copy = copy_out(pay);
		if (!copy)
			return;
		agg_release(&g->grp.agg, pay);
		pay->obj = copy;
		pay->off = 0;
		charge_held(g, &g->held, copy->truesize, true);
		netinc_count(g->grp.counters, INC_C_UNSHARED);
	}
}

void netinc_fold_unshare(struct netinc_node_group *g)
{
	struct netinc_slot *slot;
	u64 q;

	lockdep_assert_held(&g->lock);
	for (q = g->grp.agg.una; q != g->grp.agg.top; q++) {
		slot = netinc_agg_slot(&g->grp.agg, q);
		if (slot->q == q && slot->state == NETINC_SLOT_FILLING)
			unshare_slot(g, slot);
	}
}

const struct netinc_agg_ops netinc_fold_ops = {
	.hold = agg_hold,
	.release = agg_release,
	.desc = copy_desc,
	.can_fold = can_fold,
	.fold = agg_fold,
	.copy = copy_one,
	.is_copy = is_copy,
	.send_result = send_result,
	.send = agg_send,
	.send_up = netinc_uplink_send_partial,
	.take_result = take_parent_result,
	.mismatch = netinc_group_mismatch,
};
