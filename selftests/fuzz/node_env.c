// SPDX-License-Identifier: GPL-2.0-only
/* See node_env.h. */
#include "honest.h"
#include "node_env.h"
#include "fold_operands.h"

struct node_env env;

static struct said said[2 * MAX_WINDOW][MAX_SIZE];
static struct outcome outcomes[2 * MAX_WINDOW];

/* ---- Payload ------------------------------------------------------------- */

static void put(struct obj *o)
{
	netinc_assert(o->refs);
	if (--o->refs)
		return;
	env.objs--;
	free(o->data);
	free(o->desc);
	free(o);
}

static struct obj *new_obj(u16 len, bool desc)
{
	struct obj *o = calloc(1, sizeof(*o));

	o->refs = 1;
	o->len = len;
	o->data = malloc(len);
	if (desc)
		o->desc = calloc(1, sizeof(*o->desc));
	env.objs++;
	return o;
}

static u64 charged(const struct obj *o)
{
	return sizeof(struct inc_hdr) + o->len;
}

static bool hold(struct netinc_agg *agg, struct netinc_pay *pay, bool force)
{
	struct obj *o = pay->obj;

	(void)agg;
	if (!force && (env.no_hold || (env.limit && env.bytes + charged(o) > env.limit))) {
		env.no_hold = false;
		return false;
	}
	o->refs++;
	env.held++;
	env.bytes += charged(o);
	return true;
}

static void release(struct netinc_agg *agg, struct netinc_pay *pay)
{
	struct obj *o = pay->obj;

	(void)agg;
	netinc_assert(env.held);
	env.held--;
	/* results are the group's own */
	if (pay->kind != NETINC_PAY_RESULT) {
		netinc_assert(env.bytes >= charged(o));
		env.bytes -= charged(o);
	}
	put(o);
}

static void desc(struct netinc_agg *agg, const struct netinc_pay *pay, struct inc_desc *d)
{
	const struct obj *o = pay->obj;

	(void)agg;
	memset(d, 0, sizeof(*d));
	if (o && (pay->flags & INC_F_DESC))
		*d = *o->desc;
}

static bool can_fold(struct netinc_agg *agg, u8 dtype, u8 dop, u8 mode)
{
	(void)agg;
	return dop == INC_OP_NONE || netinc_reduce_find(dtype, dop, mode, false);
}

/* ---- Folding ------------------------------------------------------------- */

static const u8 zeros[MAX_LEN];

/* Is what @child has contributed a part of the result? */
static bool takes_part(const struct netinc_slot *slot, u32 child)
{
	const struct said *s = node_env_said(child, slot->q);

	return s && (s->flags & INC_F_PAYLOAD) &&
	       (!(slot->flags & INC_F_PARTIAL) || netinc_bits_get(slot->contributors, child));
}

/* The elements of all that take part, from the record. */
static u32 recorded(const struct netinc_agg *agg, const struct netinc_slot *slot, const void **src)
{
	u32 i, n = 0;

	for (i = 0; i < agg->children; i++)
		if (takes_part(slot, i))
			src[n++] = node_env_said(i, slot->q)->data;
	return n;
}

static void run_kernel(const struct netinc_slot *slot, u8 *to, const void **src, u32 n, u32 ranks)
{
	const struct netinc_reduce *r =
		netinc_reduce_find(slot->dtype, slot->dop, slot->mode, false);
	struct fold_stack f;
	u32 i;

	netinc_assert(r && n && ranks);
	fold_stack_init(&f, r, slot->len / r->elem_size);
	for (i = 0; i < n; i++)
		fold_stack_add(&f, &(struct fold_operand){ src[i], 1, false });
	fold_stack_end(&f, to, ranks, false);
}

static u32 ranks_of(const struct netinc_agg *agg, const struct netinc_slot *slot, u32 n)
{
	return slot->flags & INC_F_PARTIAL ? n : agg->children;
}

/* What the node has is what the members have sent, and as long as it takes it for. */
static u32 inputs(const struct netinc_agg *agg, const struct netinc_slot *slot, const void **src)
{
	u32 i, n = 0;

	for (i = 0; i < agg->children; i++) {
		const struct obj *o = slot->in[i].obj;

		netinc_assert(!(slot->in[i].flags & INC_F_PAYLOAD) == !takes_part(slot, i));
		if (!(slot->in[i].flags & INC_F_PAYLOAD))
			continue;
		if (slot->in[i].flags & INC_F_ZERO) {
			netinc_assert(!o && slot->in[i].len == slot->len);
			src[n++] = zeros;
			continue;
		}
		netinc_assert(o && slot->in[i].len == o->len && o->len == slot->len);
		netinc_assert(!memcmp(o->data, node_env_said(i, slot->q)->data, o->len));
		src[n++] = o->data;
	}
	return n;
}

static void have_desc(const struct netinc_agg *agg, const struct netinc_slot *slot)
{
	u32 i;

	for (i = 0; i < agg->children && !(slot->in[i].flags & INC_F_DESC); i++)
		;
	netinc_assert(i < agg->children && slot->in[i].obj &&
		      ((struct obj *)slot->in[i].obj)->desc);
}

/* A result of zeros is that of zeros, and nothing else. */
static void check_zero(const struct netinc_agg *agg, const struct netinc_slot *slot)
{
	const void *know[MAX_SIZE];
	u8 right[MAX_LEN];
	u32 m = recorded(agg, slot, know);

	netinc_assert(m && slot->len && !slot->result.obj);
	netinc_assert(!(slot->flags & (INC_F_FINAL | INC_F_DESC)));
	if (slot->dop)
		run_kernel(slot, right, know, m, ranks_of(agg, slot, m));
	else
		memcpy(right, know[0], slot->len);
	netinc_assert(!memcmp(right, zeros, slot->len));
}

/* Room for the result, in the slot. NULL: no memory. */
static struct obj *begin_result(const struct netinc_agg *agg, struct netinc_slot *slot, u16 len)
{
	struct obj *o;

	if (env.no_fold)
		return NULL;
	if (slot->flags & INC_F_DESC)
		have_desc(agg, slot);
	o = new_obj(len, false);
	slot->result = (struct netinc_pay){ .obj = o, .kind = NETINC_PAY_RESULT, .len = len };
	env.held++;
	return o;
}

static bool fold(struct netinc_agg *agg, struct netinc_slot *slot, u32 part)
{
	const void *src[MAX_SIZE], *know[MAX_SIZE];
	struct obj *o = begin_result(agg, slot, slot->len);
	u8 right[MAX_LEN];
	u32 n, m;

	netinc_assert(part == NETINC_WHOLE);
	if (!o)
		return false;
	n = inputs(agg, slot, src);
	m = recorded(agg, slot, know);
	netinc_assert(!slot->len == !n && !n == !m);
	if (slot->len && slot->dop) {
		run_kernel(slot, o->data, src, n, ranks_of(agg, slot, n));
		run_kernel(slot, right, know, m, ranks_of(agg, slot, m));
	} else if (slot->len) {
		netinc_assert(n == 1);
		memcpy(o->data, src[0], slot->len);
		memcpy(right, know[0], slot->len);
	}
	netinc_assert(!memcmp(o->data, right, slot->len));
	return true;
}

static bool is_copy(struct netinc_agg *agg, const struct netinc_slot *slot, u32 i)
{
	const struct obj *result = slot->result.obj, *in = slot->in[i].obj;

	(void)agg;
	netinc_assert(result->len == slot->len && in->len == slot->len);
	return !memcmp(result->data, in->data, slot->len);
}

static bool copy(struct netinc_agg *agg, struct netinc_slot *slot, u32 i)
{
	const struct said *s = node_env_said(i, slot->q);
	struct obj *in = slot->in[i].obj, *o;

	netinc_assert(s && (s->flags & INC_F_FINAL) && in && slot->in[i].len == in->len);
	slot->len = slot->in[i].len;
	o = begin_result(agg, slot, slot->len);
	if (!o)
		return false;
	memcpy(o->data, in->data, slot->len);
	netinc_assert(s->len == in->len && !memcmp(s->data, in->data, in->len));
	return true;
}

/* ---- What leaves --------------------------------------------------------- */

static void check_child(u32 child)
{
	netinc_assert(child == NETINC_ALL || child < env.g.cfg.size);
}

/* A packet to all costs what its members are; one to a single member is an answer, and bounded. */
static void count_control(u32 child)
{
	if (child == NETINC_ALL)
		env.shared++;
	else
		env.control++;
}

static struct outcome *outcome_of(u64 q)
{
	return &outcomes[q & (2 * MAX_WINDOW - 1)];
}

static u32 result_len(const struct netinc_slot *slot)
{
	const struct obj *o = slot->result.obj;

	if (slot->flags & INC_F_ZERO)
		return slot->len;
	return o ? o->len : 0;
}

static void note_outcome(const struct netinc_slot *slot)
{
	const struct obj *o = slot->result.obj;
	struct outcome *oc = outcome_of(slot->q);
	u32 i;

	oc->run = env.run;
	oc->q = slot->q;
	oc->flags = slot->flags;
	oc->len = result_len(slot);
	netinc_assert(oc->len <= MAX_LEN && !oc->len == !(slot->flags & INC_F_PAYLOAD));
	if (oc->len)
		memcpy(oc->data, o ? o->data : zeros, oc->len);
	oc->honest = true;
	for (i = 0; i < env.g.cfg.size; i++)
		oc->honest &= honest_said(i, slot->q, node_env_said(i, slot->q));
}

static void send_result(struct netinc_agg *agg, const struct netinc_slot *slot, u32 child)
{
	const struct obj *o = slot->result.obj;
	const struct outcome *oc = outcome_of(slot->q);
	u32 i;

	check_child(child);
	netinc_assert(slot->state == NETINC_SLOT_DONE &&
		      (!slot->missing || (slot->flags & INC_F_PARTIAL)));
	if (child == NETINC_ALL) {
		env.shared++;
		if (slot->flags & INC_F_ZERO)
			check_zero(agg, slot);
		note_outcome(slot);
	} else {
		env.repeated++;
	}
	/* it stays what it was */
	netinc_assert(oc->run == env.run && oc->q == slot->q && oc->len == result_len(slot));
	netinc_assert(!oc->len || !memcmp(oc->data, o ? o->data : zeros, oc->len));
	for (i = 0; i < agg->children; i++)
		if (child == NETINC_ALL || child == i)
			honest_result(i, oc);
}

static void send_up(struct netinc_agg *agg, const struct netinc_slot *slot, u32 part, bool again)
{
	(void)part;
	(void)again;
	(void)agg;
	(void)slot;
	netinc_assert(false);
}

/* It says what it is, and to whom. */
static void check_control(u32 child, const struct netinc_pkt *pkt, const void *body, u32 len)
{
	struct netinc_pkt p = *pkt, back;
	u8 buf[1024];

	check_child(child);
	p.len = len;
	memset(buf, 0, sizeof(buf));
	netinc_assert(len <= sizeof(buf) - sizeof(struct inc_hdr));
	netinc_build((struct inc_hdr *)buf, &p);
	if (len)
		memcpy(buf + sizeof(struct inc_hdr), body, len);
	netinc_assert(!netinc_parse(buf, sizeof(struct inc_hdr) + netinc_body_len(&p), &back));
	netinc_assert(back.group == env.g.cfg.id && back.incarnation == env.g.cfg.incarnation &&
		      back.epoch == env.g.epoch && back.cookie == env.g.down_cookie &&
		      back.tree == env.g.agg.tree);
}

static void sent_nack(const struct netinc_agg *agg, u32 child, const struct netinc_pkt *pkt)
{
	u64 q = netinc_extend(agg->una, pkt->psn);

	netinc_assert(pkt->span && pkt->span <= agg->window && (s64)(q - agg->una) >= 0);
	env.nacks++;
	honest_nack(child, q, pkt->span);
}

static void sent_status(const struct netinc_agg *agg, u32 child, const struct netinc_pkt *pkt,
			const struct inc_status *body, u32 len)
{
	count_control(child);
	netinc_assert(pkt->psn == (u32)agg->una);
	netinc_assert(len == sizeof(*body) + be16_to_cpu(body->bits) / 8);
	honest_status(child, agg->una, body);
}

static void sent_partial(const struct netinc_agg *agg, u32 child, const struct inc_partial *body,
			 u32 len)
{
	netinc_assert(agg->set && be16_to_cpu(body->set) &&
		      len == sizeof(*body) + be16_to_cpu(body->bits) / 8);
	if (child == NETINC_ALL)
		env.shared++;
	else
		env.sets++;
}

static void agg_send(struct netinc_agg *agg, u32 child, const struct netinc_pkt *pkt,
		     const void *body, u32 len)
{
	check_control(child, pkt, body, len);
	netinc_assert(pkt->type == INC_PKT_PARTIAL || pkt->child == child);
	if (pkt->type == INC_PKT_NACK)
		sent_nack(agg, child, pkt);
	else if (pkt->type == INC_PKT_STATUS)
		sent_status(agg, child, pkt, body, len);
	else if (pkt->type == INC_PKT_PARTIAL)
		sent_partial(agg, child, body, len);
	else
		netinc_assert(false);
}

const struct netinc_agg_ops node_env_agg_ops = {
	.hold = hold,
	.release = release,
	.desc = desc,
	.can_fold = can_fold,
	.fold = fold,
	.copy = copy,
	.is_copy = is_copy,
	.send_result = send_result,
	.send_up = send_up,
	.send = agg_send,
	.mismatch = netinc_group_mismatch,
};

static void send(struct netinc_group *g, u32 child, const struct netinc_pkt *pkt, const void *body,
		 u32 len)
{
	u32 i;

	(void)g;
	check_control(child, pkt, body, len);
	/* an epoch begins for all: READY and PEERS are no answers to the one that came last */
	if (pkt->type != INC_PKT_READY && pkt->type != INC_PKT_PEERS)
		count_control(child);
	for (i = 0; i < env.g.cfg.size; i++)
		if (child == NETINC_ALL || child == i)
			honest_control(i, pkt, body);
}

static void event(struct netinc_group *g, enum inc_event what, u32 rank)
{
	(void)g;
	netinc_assert(what && what < __INC_EVENT_MAX);
	netinc_assert(rank == NETINC_NO_RANK || rank < env.g.cfg.size);
}

/* The way to a member is another one from here on. Who is there already keeps its own. */
static bool link_member(struct netinc_group *g, u32 rank, const struct netinc_peer *peer)
{
	netinc_assert(rank < g->cfg.size && !g->members[rank].present && peer->family);
	env.linked = true;
	return true;
}

static void renumber(struct netinc_group *g, u32 from, u32 to)
{
	netinc_assert(to < from && from < g->old_size);
	env.who[to] = env.who[from];
}

const struct netinc_group_ops node_env_ops = {
	.send = send,
	.event = event,
	.link = link_member,
	.renumber = renumber,
};

/* ---- The record ---------------------------------------------------------- */

static struct said *said_at(u32 child, u64 q)
{
	return &said[q & (2 * MAX_WINDOW - 1)][child];
}

static bool has_bit(u32 child, u64 q)
{
	const struct netinc_slot *slot = netinc_agg_slot(&env.g.agg, q);

	return slot->q == q && netinc_bits_get(slot->have, child);
}

const struct said *node_env_said(u32 child, u64 q)
{
	const struct said *s = said_at(child, q);

	return has_bit(child, q) && s->run == env.run && s->q == q ? s : NULL;
}

static void note_said(const struct netinc_pkt *pkt, u64 q, const u8 *data)
{
	struct said *s = said_at(pkt->child, q);

	s->run = env.run;
	s->q = q;
	s->flags = pkt->flags;
	s->len = pkt->len;
	s->opseq = pkt->opseq;
	s->sig = pkt->sig;
	s->dtype = pkt->dtype;
	s->dop = pkt->dop;
	s->mode = pkt->mode;
	memcpy(s->data, data, pkt->len);
}

static int contribute(const struct netinc_pkt *pkt, const u8 *data)
{
	struct netinc_pay pay = { .len = pkt->len, .flags = pkt->flags };
	struct obj *o = new_obj(pkt->len, pkt->flags & INC_F_DESC);
	int err;

	memcpy(o->data, data, pkt->len);
	if (o->desc)
		o->desc->opseq = cpu_to_be32(pkt->opseq);
	pay.obj = o;
	err = netinc_group_contrib(&env.g, pkt, &pay, env.now);
	put(o);
	return err;
}

int node_env_give(const struct netinc_pkt *pkt, const u8 *data)
{
	u64 q = netinc_extend(env.g.agg.una, pkt->psn);
	bool had[2 * MAX_WINDOW];
	u32 n = min_t(u32, pkt->span, env.g.agg.window), i;
	int err;

	netinc_assert(pkt->len <= MAX_LEN);
	for (i = 0; i < n; i++) {
		had[i] = has_bit(pkt->child, q + i) || (s64)(q + i - env.g.agg.una) < 0;
		if (!had[i])
			note_said(pkt, q + i, data);
	}
	err = contribute(pkt, data);
	for (i = 0; i < n; i++)
		if (!had[i] && !has_bit(pkt->child, q + i))
			said_at(pkt->child, q + i)->run = 0;
	return err;
}

/* ---- Bounds, invariants -------------------------------------------------- */

void node_env_packet(void)
{
	env.repeated = 0;
	env.control = 0;
	env.nacks = 0;
	env.sets = 0;
	env.shared = 0;
	env.linked = false;
	netinc_group_buffer_begin(&env.g);
}

void node_env_bounded(void)
{
	netinc_assert(env.repeated <= MOST_REPEATED && env.sets <= MOST_REPEATED);
	netinc_assert(env.control <= MOST_CONTROL && env.nacks <= MOST_NACKS);
}
