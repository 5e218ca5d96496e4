// SPDX-License-Identifier: GPL-2.0-only
/*
 * What comes to the nodes of fuzz_tree, and the record of what each child has said of each block:
 * strangers change nothing, and no buffer costs more than it may.
 */
#include "tree_parts.h"

static struct said all_said[NODES][MAX_RANKS][RING];

static struct said *said_at(const struct node *n, u32 input, u64 q)
{
	return &all_said[number_of(n)][input][q % RING];
}

bool tree_has_input(const struct node *n, u32 input, u64 q)
{
	const struct netinc_slot *slot = netinc_agg_slot(&n->g.agg, q);

	return slot->q == q &&
	       ((slot->in[input].flags & INC_F_PART) ||
		(input < n->g.agg.children && netinc_bits_get(slot->have, input)));
}

const struct said *tree_said(const struct node *n, u32 input, u64 q)
{
	const struct said *s = said_at(n, input, q);

	return tree_has_input(n, input, q) && s->run == env.run && s->q == q &&
			       s->incarnation == n->g.cfg.incarnation && s->epoch == n->g.epoch ?
		       s :
		       NULL;
}

static void note_said(struct node *n, const struct netinc_pkt *pkt, u32 input, u64 q,
		      const u8 *data)
{
	struct said *s = said_at(n, input, q);

	s->run = env.run;
	s->incarnation = n->g.cfg.incarnation;
	s->epoch = n->g.epoch;
	s->q = q;
	s->pkt = *pkt;
	if (pkt->len && pkt->len <= MAX_LEN)
		memcpy(s->data, data, pkt->len);
}

static struct load *load_of(const struct frame *f, const struct netinc_pkt *pkt)
{
	struct load *l;

	if (!(pkt->flags & (INC_F_PAYLOAD | INC_F_DESC)))
		return NULL;
	l = tree_load_new(pkt->len);
	if (pkt->len)
		memcpy(l->data, f->body, pkt->len);
	l->has_desc = pkt->flags & INC_F_DESC;
	l->desc = f->desc;
	return l;
}

/* A contribution that has passed. */
static int give_contrib(struct node *n, const struct frame *f, const struct netinc_pkt *pkt)
{
	u64 q = netinc_extend(n->g.agg.una, pkt->psn);
	struct netinc_pay pay = { .len = pkt->len, .flags = pkt->flags };
	u32 span = n->g.running ? min_t(u32, pkt->span, n->g.agg.window) : 0, i;
	u32 input = n->g.running ? netinc_agg_input(&n->g.agg, pkt->child, pkt) : NETINC_NO_RANK;
	bool had[RING];
	int err;

	if (input == NETINC_NO_RANK)
		span = 0;
	for (i = 0; i < span; i++) {
		had[i] = tree_has_input(n, input, q + i) ||
			 q + i - n->g.agg.una >= n->g.agg.window;
		if (!had[i])
			note_said(n, pkt, input, q + i, f->body);
	}
	pay.obj = load_of(f, pkt);
	err = netinc_group_contrib(&n->g, pkt, &pay, env.now);
	if (pay.obj)
		tree_load_put(pay.obj);
	for (i = 0; i < span; i++)
		if (!had[i] && !tree_has_input(n, input, q + i))
			said_at(n, input, q + i)->run = 0;
	if (n->g.running)
		netinc_agg_packet_end(&n->g.agg, pkt->child, env.now);
	return err;
}

static void refuse(u32 node, const struct frame *f, u32 nonce, u32 code, u64 detail)
{
	struct inc_refuse body = { .nonce = cpu_to_be32(nonce),
				   .code = cpu_to_be16(code),
				   .detail = cpu_to_be64(detail) };
	struct netinc_pkt pkt = { .type = INC_PKT_REFUSE,
				  .group = GROUP,
				  .incarnation = f->pkt.incarnation,
				  .epoch = f->pkt.epoch,
				  .cookie = f->pkt.cookie,
				  .child = f->pkt.child,
				  .span = 1 };

	if (netinc_body_len(&f->pkt) >= sizeof(body))
		tree_send(node, f->from, &pkt, NULL, &body, sizeof(body));
}

static void challenge(u32 node, const struct frame *f, const struct inc_join *join)
{
	struct inc_challenge body = { .nonce = join->nonce, .challenge = cpu_to_be64(7) };
	struct netinc_pkt pkt = { .type = INC_PKT_CHALLENGE,
				  .group = GROUP,
				  .child = f->pkt.child,
				  .span = 1 };

	tree_send(node, f->from, &pkt, NULL, &body, sizeof(body));
}

static void join_rx(struct node *n, const struct frame *f)
{
	const struct inc_join *join = (const void *)f->body;
	struct netinc_peer peer = tree_peer(f->from);
	u32 joined = n->g.joined, epoch = n->g.epoch;
	u8 state = n->g.state;
	u64 detail = 0, sent;
	int code;

	if (!netinc_join_whole(join, f->pkt.len))
		return;
	if (f->pkt.incarnation && f->pkt.incarnation != n->g.cfg.incarnation) {
		refuse(number_of(n), f, be32_to_cpu(join->nonce), INC_REFUSE_UNKNOWN, 0);
		return;
	}
	if (!f->pkt.incarnation && f->from < RANK_AT && !join->challenge) {
		challenge(number_of(n), f, join);
		return;
	}
	/* of other moves, and of groups that shrink, fuzz_node knows more */
	if (netinc_join_shrinks(join) || (join->move && !n->g.cfg.returns))
		return;
	sent = env.sent;
	code = netinc_group_join(&n->g, &f->pkt, join, &peer, env.now, &detail);
	netinc_assert(code >= 0 && code < __INC_REFUSE_MAX);
	if (!code)
		return;
	/* who is refused changes nothing */
	netinc_assert(n->g.joined == joined && n->g.epoch == epoch && n->g.state == state);
	netinc_assert(env.sent == sent);
	refuse(number_of(n), f, be32_to_cpu(join->nonce), (u32)code, detail);
}

/* Whoever has the cookie, and is where the member is, is believed; nobody else. */
static bool is_known(const struct node *n, const struct frame *f, const struct netinc_pkt *pkt)
{
	const struct netinc_member *m = &n->g.members[pkt->child];

	return pkt->child < n->g.nmembers && m->present && m->low == f->pkt.child &&
	       m->cookie == f->pkt.cookie && m->peer.addr[3] == f->from &&
	       f->pkt.epoch == n->g.epoch && !f->pkt.tree;
}

/* It gives up before it has had READY: its nonce, in the body, is looked at with what it says. */
static bool crosses_ready(const struct node *n, const struct frame *f, const struct netinc_pkt *pkt)
{
	const struct netinc_member *m = &n->g.members[pkt->child];

	return pkt->type == INC_PKT_ABORT && pkt->child < n->g.nmembers && m->present &&
	       m->peer.addr[3] == f->from && f->pkt.epoch == m->epoch &&
	       (n->g.state == INC_GROUP_JOINING || !m->confirmed);
}

static void from_below(struct node *n, const struct frame *f)
{
	struct netinc_peer peer = tree_peer(f->from);
	struct netinc_pkt pkt = f->pkt;
	u64 sent = env.sent;

	if (pkt.type == INC_PKT_JOIN) {
		join_rx(n, f);
		return;
	}
	/* before READY there is no incarnation, and ABORT shows the nonce */
	if (pkt.incarnation != n->g.cfg.incarnation &&
	    (pkt.type != INC_PKT_ABORT || pkt.incarnation || n->g.state != INC_GROUP_JOINING)) {
		refuse(number_of(n), f, 0, INC_REFUSE_UNKNOWN, 0);
		return;
	}
	if (netinc_group_check(&n->g, &pkt, &peer, env.now)) {
		netinc_assert(env.sent == sent);
		return;
	}
	netinc_assert(is_known(n, f, &pkt) || crosses_ready(n, f, &pkt));
	netinc_assert(number_of(n) != OTHER || f->from >= RANK_AT + MAX_RANKS);
	if (pkt.type == INC_PKT_CONTRIB)
		give_contrib(n, f, &pkt);
	else
		netinc_group_control(&n->g, &pkt, f->body, env.now);
}

/* Does the group know who its parent is by this packet? */
static bool is_parents(const struct node *n, const struct frame *f)
{
	const struct netinc_uplink *up = &n->g.up;
	__be32 nonce;

	switch (f->pkt.type) {
	case INC_PKT_CHALLENGE:
	case INC_PKT_WAIT:
	case INC_PKT_READY:
	case INC_PKT_REFUSE:
		memcpy(&nonce, f->body, sizeof(nonce));
		return be32_to_cpu(nonce) == n->g.cfg.up_nonce ||
		       (netinc_uplink_in_use(up) && f->pkt.type == INC_PKT_REFUSE &&
			f->pkt.cookie == up->up_cookie);
	default:
		return netinc_uplink_in_use(up) && f->pkt.incarnation == up->incarnation &&
		       f->pkt.epoch == n->g.epoch && f->pkt.cookie == up->down_cookie &&
		       !f->pkt.tree;
	}
}

static bool is_in_state(const struct node *n, u64 q, u8 state)
{
	const struct netinc_slot *slot = netinc_agg_slot(&n->g.agg, q);

	return slot->q == q && slot->state == state;
}

/* What is taken for a result is one of what has gone up. */
static int give_result(struct node *n, const struct frame *f)
{
	struct netinc_pay pay = { .len = f->pkt.len, .flags = f->pkt.flags };
	u64 q = netinc_extend(n->g.agg.una, f->pkt.psn);
	u32 span = n->g.running ? min_t(u32, f->pkt.span, n->g.agg.window) : 0, i;
	const struct left *l;
	bool was_up[RING];
	int err;

	for (i = 0; i < span; i++)
		was_up[i] = is_in_state(n, q + i, NETINC_SLOT_UP);
	pay.obj = load_of(f, &f->pkt);
	err = netinc_group_result(&n->g, &f->pkt, &pay, env.now);
	if (pay.obj)
		tree_load_put(pay.obj);
	for (i = 0; i < span; i++) {
		l = tree_gone_up(n, q + i);
		if (was_up[i] && is_in_state(n, q + i, NETINC_SLOT_DONE))
			netinc_assert(l->q == q + i && l->pkt.opseq == f->pkt.opseq &&
				      l->pkt.sig == f->pkt.sig);
	}
	return err;
}

static void from_above(struct node *n, const struct frame *f)
{
	bool known = is_parents(n, f);
	u8 state = n->g.state, up_state = n->g.up.state;
	u64 una = n->g.agg.una, heard = n->g.up.heard, sent = env.sent;
	int err;

	if (f->pkt.type == INC_PKT_RESULT)
		err = give_result(n, f);
	else
		err = netinc_group_from_parent(&n->g, &f->pkt, f->body, env.now);
	if (known)
		return;
	/* to strangers nothing is said, and they change nothing */
	netinc_assert(err < 0 && env.sent == sent && n->g.agg.una == una);
	netinc_assert(n->g.state == state && n->g.up.state == up_state && n->g.up.heard == heard);
}

static void begin_buffer(struct node *n)
{
	n->results = 0;
	n->partials = 0;
	memset(n->statuses, 0, sizeof(n->statuses));
	memset(n->nacks, 0, sizeof(n->nacks));
	netinc_group_buffer_begin(&n->g);
}

static void check_bounds(const struct node *n)
{
	u32 i;

	netinc_assert(n->results <= MOST_AGAIN && n->partials <= MOST_AGAIN);
	netinc_assert(n->up_control <= MOST_UP);
	for (i = 0; i < MAX_RANKS; i++) {
		netinc_assert(n->statuses[i] <= 1 && n->nacks[i] <= MOST_NACKS);
		netinc_assert(n->others[i] <= 4);
	}
}

static bool goes_up(u8 type)
{
	return type == INC_PKT_CONTRIB || type == INC_PKT_PROBE || type == INC_PKT_JOIN ||
	       type == INC_PKT_ABORT;
}

void tree_at_node(struct node *n, const struct frame *f, bool same)
{
	if (!n->mem && f->pkt.type == INC_PKT_JOIN && !f->pkt.incarnation &&
	    number_of(n) != OTHER) {
		tree_begin_node(number_of(n));
	} else if (!n->mem) {
		if (goes_up(f->pkt.type))
			refuse(number_of(n), f, 0, INC_REFUSE_UNKNOWN, 0);
		return;
	}
	if (!same || f->pkt.type == INC_PKT_JOIN)
		begin_buffer(n);
	n->up_control = 0;
	memset(n->others, 0, sizeof(n->others));
	if (goes_up(f->pkt.type))
		from_below(n, f);
	else if (f->from == n->parent)
		from_above(n, f);
	check_bounds(n);
}
