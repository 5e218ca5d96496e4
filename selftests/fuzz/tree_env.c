// SPDX-License-Identifier: GPL-2.0-only
/* See tree_env.h. */
#include "tree_env.h"
#include "reduce/reduce.h"

struct tree_env env;

static struct said all_said[NODES][MAX_RANKS][RING];
static struct left gone_up[NODES][RING];
static struct left gone_down[NODES][RING];

static struct {
	u32 window[TREE_NODES];
	u32 up_block[TREE_NODES];
	u8 policy;
} setup;

static struct node *node_of(struct netinc_group *g)
{
	return container_of(g, struct node, g);
}

static struct node *node_of_agg(struct netinc_agg *agg)
{
	return container_of(agg, struct node, g.agg);
}

static u32 number_of(const struct node *n)
{
	return (u32)(n - env.node);
}

struct netinc_peer tree_peer(u32 addr)
{
	return (struct netinc_peer){ .addr = { 10, 0, 0, (u8)addr },
				     .family = NETINC_AF_INET,
				     .udp_port = cpu_to_be16(INC_PORT),
				     .ifindex = 1 };
}

/* ---- Payload ------------------------------------------------------------- */

static struct load *new_load(u32 len)
{
	struct load *l = calloc(1, sizeof(*l));

	l->refs = 1;
	l->len = len;
	l->data = calloc(1, len);
	env.loads++;
	return l;
}

static void put_load(struct load *l)
{
	netinc_assert(l->refs);
	if (--l->refs)
		return;
	env.loads--;
	free(l->data);
	free(l);
}

static bool hold_load(struct netinc_agg *agg, struct netinc_pay *pay, bool force)
{
	if (!force && env.no_hold) {
		env.no_hold = false;
		return false;
	}
	((struct load *)pay->obj)->refs++;
	node_of_agg(agg)->held++;
	return true;
}

static void release_load(struct netinc_agg *agg, struct netinc_pay *pay)
{
	netinc_assert(node_of_agg(agg)->held);
	node_of_agg(agg)->held--;
	put_load(pay->obj);
}

static void get_desc(struct netinc_agg *agg, const struct netinc_pay *pay, struct inc_desc *d)
{
	const struct load *l = pay->obj;

	(void)agg;
	memset(d, 0, sizeof(*d));
	if (l && (pay->flags & INC_F_DESC)) {
		netinc_assert(l->has_desc);
		*d = l->desc;
	}
}

static bool can_fold(struct netinc_agg *agg, u8 dtype, u8 dop, u8 mode)
{
	(void)agg;
	return dop == INC_OP_NONE || netinc_reduce_find(dtype, dop, mode, false);
}

/* ---- Folding ------------------------------------------------------------- */

/* What is held of @i is what it has said. */
static const u8 *input_of(struct node *n, const struct netinc_slot *slot, u32 i)
{
	const struct said *s = tree_said(n, i, slot->q);
	const struct load *l = slot->in[i].obj;

	netinc_assert(s && l && l->len == s->pkt.len && slot->in[i].len == l->len);
	netinc_assert(!memcmp(l->data, s->data, l->len));
	return l->data;
}

/* Accumulators as if they were elements. */
static const struct netinc_reduce *of_accumulators(const struct netinc_reduce *kernel)
{
	u8 type = kernel->mode & INC_MODE_SATURATE ? INC_TYPE_I32 : INC_TYPE_F32;

	return netinc_reduce_find(type, kernel->op == INC_OP_AVG ? INC_OP_SUM : kernel->op, 0,
				  false);
}

/* Adds what child @i has said to @acc; false: it has no elements. */
static bool add_input(struct node *n, const struct netinc_slot *slot, u32 i,
		      const struct netinc_reduce *kernel, u8 *acc, bool any)
{
	struct netinc_fold_args args = { .ranks = n->g.cfg.size, .flags = NETINC_FOLD_UNROUNDED };
	u32 wider = kernel->acc_size / kernel->elem_size, elems = slot->len / kernel->elem_size;
	const void *src[2] = { acc };
	u8 to[4 * MAX_LEN];

	if (!(slot->in[i].flags & INC_F_PAYLOAD))
		return false;
	src[any] = input_of(n, slot, i);
	if (!(slot->in[i].flags & INC_F_WIDE)) {
		netinc_assert(slot->in[i].len == slot->len);
		args.flags |= any ? NETINC_FOLD_CONTINUE : 0;
		kernel->fold(to, src, 1 + any, elems, &args);
	} else {
		/* only nodes have accumulators, of what has wider ones */
		netinc_assert(n->g.members[i].height && wider > 1);
		netinc_assert(slot->in[i].len == slot->len * wider);
		args.flags = 0;
		kernel = of_accumulators(kernel);
		kernel->fold(to, src, 1 + any, slot->len * wider / kernel->elem_size, &args);
	}
	memcpy(acc, to, slot->len * wider);
	return true;
}

static void fold_all(struct node *n, const struct netinc_slot *slot, u8 *to)
{
	const struct netinc_reduce *kernel =
		netinc_reduce_find(slot->dtype, slot->dop, slot->mode, false);
	struct netinc_fold_args args = { .ranks = n->g.cfg.size, .flags = NETINC_FOLD_CONTINUE };
	u8 acc[4 * MAX_LEN];
	const void *src[1] = { acc };
	bool any = false;
	u32 i;

	netinc_assert(kernel && !(slot->len % kernel->elem_size));
	for (i = 0; i < n->g.agg.children; i++)
		any |= add_input(n, slot, i, kernel, acc, any);
	netinc_assert(any);
	args.flags |= n->g.agg.root ? 0 : NETINC_FOLD_UNROUNDED;
	kernel->fold(to, src, 1, slot->len / kernel->elem_size, &args);
}

static void move_one(struct node *n, const struct netinc_slot *slot, u8 *to)
{
	u32 i, found = 0;

	for (i = 0; i < n->g.agg.children; i++) {
		if (!(slot->in[i].flags & INC_F_PAYLOAD))
			continue;
		netinc_assert(slot->in[i].len == slot->len);
		memcpy(to, input_of(n, slot, i), slot->len);
		found++;
	}
	netinc_assert(found == 1);
}

/* The slot's result from now on. */
static struct load *set_result(struct node *n, struct netinc_slot *slot, u32 len)
{
	struct load *l = new_load(len);

	netinc_assert(!slot->result.obj);
	slot->result = (struct netinc_pay){
		.obj = l, .kind = NETINC_PAY_RESULT, .len = len, .flags = slot->flags
	};
	l->has_desc = slot->flags & INC_F_DESC;
	n->held++;
	return l;
}

/* Accumulators have room where elements have. */
static bool fold_slot(struct netinc_agg *agg, struct netinc_slot *slot)
{
	struct node *n = node_of_agg(agg);
	u32 len = agg->root ? slot->len : slot->len * slot->wider, i;
	u8 to[4 * MAX_LEN];
	struct load *l;

	if (env.no_fold)
		return false;
	netinc_assert(!slot->missing && !slot->bad && slot->len <= n->g.block);
	netinc_assert(len <= n->g.block);
	if (slot->len && slot->dop)
		fold_all(n, slot, to);
	else if (slot->len)
		move_one(n, slot, to);
	l = set_result(n, slot, len);
	memcpy(l->data, to, len);
	for (i = 0; i < agg->children && l->has_desc; i++)
		if (slot->in[i].flags & INC_F_DESC)
			break;
	netinc_assert(i < agg->children);
	if (l->has_desc)
		get_desc(agg, &slot->in[i], &l->desc);
	return true;
}

/* Nobody retains results in trees; where all ranks come to one node a liar says that he does. */
static bool copy_final(struct netinc_agg *agg, struct netinc_slot *slot, u32 i)
{
	struct node *n = node_of_agg(agg);
	struct load *l;

	netinc_assert(agg->root && !n->g.levels && slot->in[i].flags & INC_F_FINAL);
	if (env.no_fold)
		return false;
	l = set_result(n, slot, slot->len);
	netinc_assert(slot->in[i].len == slot->len);
	memcpy(l->data, input_of(n, slot, i), slot->len);
	return true;
}

static bool take_result(struct netinc_agg *agg, struct netinc_slot *slot,
			const struct netinc_pay *pay)
{
	struct node *n = node_of_agg(agg);
	const struct load *from = pay->obj;
	struct load *l;

	if (env.no_fold)
		return false;
	netinc_assert(!agg->root && from->len <= n->g.block && slot->len == from->len);
	netinc_assert(!(slot->flags & INC_F_DESC) || from->has_desc);
	l = set_result(n, slot, from->len);
	memcpy(l->data, from->data, from->len);
	l->desc = from->desc;
	return true;
}

/* ---- The queue ----------------------------------------------------------- */

static bool is_beside(u32 addr)
{
	return addr == OTHER || addr >= RANK_AT + MAX_RANKS;
}

void tree_send(u32 from, u32 to, const struct netinc_pkt *pkt, const struct inc_desc *desc,
	       const void *body, u32 len)
{
	struct queue *q = is_beside(from) || is_beside(to) ? &env.beside : &env.tree;
	struct frame *f = &q->frame[q->last % QUEUE];

	env.sent++;
	if (to == NOBODY || q->last - q->first == QUEUE)
		return;
	q->last++;
	*f = (struct frame){ .from = from, .to = to, .pkt = *pkt };
	f->pkt.len = len;
	f->body = malloc(len);
	if (len)
		memcpy(f->body, body, len);
	if (desc)
		f->desc = *desc;
}

void tree_resize(struct frame *f, u32 len)
{
	u8 *body = calloc(1, len);

	if (f->pkt.len && len)
		memcpy(body, f->body, min_t(u32, len, f->pkt.len));
	free(f->body);
	f->body = body;
	f->pkt.len = len;
}

void tree_copy(struct frame *to, const struct frame *from)
{
	*to = *from;
	to->body = malloc(from->pkt.len);
	if (from->pkt.len)
		memcpy(to->body, from->body, from->pkt.len);
}

/* ---- What leaves --------------------------------------------------------- */

static struct left *left_at(struct left *all, u64 q)
{
	return &all[q % RING];
}

static bool same_header(const struct netinc_pkt *a, const struct netinc_pkt *b)
{
	struct inc_hdr x, y;

	netinc_build(&x, a);
	netinc_build(&y, b);
	return !memcmp(&x, &y, sizeof(x));
}

/* What leaves for a block is the same for ever. False: it is the first time. */
static bool same_as_before(const struct node *n, struct left *l, const struct netinc_slot *slot,
			   const struct netinc_pkt *pkt)
{
	const struct load *load = slot->result.obj;

	netinc_assert(!(pkt->flags & (INC_F_PAYLOAD | INC_F_DESC)) == !load);
	netinc_assert((load ? load->len : 0) == pkt->len && pkt->len <= MAX_LEN);
	netinc_assert(!(pkt->flags & INC_F_PAYLOAD) == !pkt->len);
	if (l->run == env.run && l->incarnation == n->g.cfg.incarnation &&
	    l->epoch == n->g.epoch && l->q == slot->q) {
		netinc_assert(same_header(&l->pkt, pkt));
		netinc_assert(!pkt->len || !memcmp(l->data, load->data, pkt->len));
		return true;
	}
	*l = (struct left){ .run = env.run,
			    .incarnation = n->g.cfg.incarnation,
			    .epoch = n->g.epoch,
			    .q = slot->q,
			    .pkt = *pkt };
	if (pkt->len)
		memcpy(l->data, load->data, pkt->len);
	return false;
}

static void check_child(const struct node *n, u32 child)
{
	netinc_assert(child == NETINC_ALL || child < n->g.nmembers);
}

static void send_result(struct netinc_agg *agg, const struct netinc_slot *slot, u32 child)
{
	struct node *n = node_of_agg(agg);
	const struct load *l = slot->result.obj;
	struct netinc_pkt pkt, empty;
	bool again;
	u32 i;

	check_child(n, child);
	netinc_assert(slot->state == NETINC_SLOT_DONE && !slot->missing && !slot->bad);
	netinc_agg_result_header(agg, slot, true, &pkt);
	again = same_as_before(n, left_at(gone_down[number_of(n)], slot->q), slot, &pkt);
	netinc_assert(again == (child != NETINC_ALL));
	n->results += again;
	netinc_agg_result_header(agg, slot, false, &empty);
	for (i = 0; i < agg->children; i++) {
		u32 to = n->g.members[i].peer.addr[3];

		if (child != NETINC_ALL && child != i)
			continue;
		if (l && ((slot->in[i].flags & INC_F_WANT) || !(slot->flags & INC_F_PAYLOAD)))
			tree_send(number_of(n), to, &pkt, l->has_desc ? &l->desc : NULL, l->data,
				  l->len);
		else
			tree_send(number_of(n), to, &empty, NULL, NULL, 0);
	}
}

/* No liar is below: what goes up is what the ranks amount to. */
static bool is_clean_below(const struct node *n)
{
	u32 i;

	for (i = 0; i < n->g.nmembers; i++) {
		u32 addr = n->g.members[i].peer.addr[3];

		if (is_liar_at(addr) ||
		    (addr < NODES && env.node[addr].mem && !is_clean_below(&env.node[addr])))
			return false;
	}
	return true;
}

static void check_partial(const struct node *n, const struct netinc_slot *slot)
{
	const struct load *l = slot->result.obj;
	struct plan plan = rank_plan_of(n);
	u8 right[4 * MAX_LEN];
	u32 ranks = 0, i;

	if ((slot->flags & INC_F_LEAVE) || !is_clean_below(n))
		return;
	for (i = 0; i < n->g.cfg.size; i++)
		ranks |= n->g.owner[i] ? 1u << i : 0;
	netinc_assert(rank_expected(&plan, ranks, slot->q, true, right) == (l ? l->len : 0));
	netinc_assert(!l || !memcmp(right, l->data, l->len));
}

static void send_partial(struct netinc_agg *agg, const struct netinc_slot *slot, bool again)
{
	struct node *n = node_of_agg(agg);
	const struct load *l = slot->result.obj;
	struct netinc_pkt pkt;

	netinc_assert(!agg->root && netinc_uplink_in_use(&n->g.up));
	netinc_assert(slot->state == NETINC_SLOT_UP && !slot->missing && !slot->bad);
	netinc_agg_up_header(agg, slot, &pkt);
	netinc_assert(pkt.len <= n->g.block && !(pkt.flags & (INC_F_FINAL | INC_F_PARTIAL)));
	netinc_assert(same_as_before(n, left_at(gone_up[number_of(n)], slot->q), slot, &pkt) ==
		      again);
	n->partials += again;
	if (!again)
		check_partial(n, slot);
	pkt.flags |= again ? INC_F_RETRANS : 0;
	tree_send(number_of(n), n->parent, &pkt, l && l->has_desc ? &l->desc : NULL,
		  l ? l->data : NULL, pkt.len);
}

/* A packet that anybody sends is a good one. */
static void check_wire(const struct netinc_pkt *pkt, const void *body, u32 len)
{
	struct netinc_pkt p = *pkt, back;
	u8 buf[1024];

	p.len = len;
	memset(buf, 0, sizeof(buf));
	netinc_assert(len <= sizeof(buf) - sizeof(struct inc_hdr));
	netinc_build((struct inc_hdr *)buf, &p);
	if (len)
		memcpy(buf + sizeof(struct inc_hdr), body, len);
	netinc_assert(!netinc_parse(buf, sizeof(struct inc_hdr) + netinc_body_len(&p), &back));
	netinc_assert(back.group == GROUP);
}

static void count_sent(struct node *n, u32 child, u8 type)
{
	if (type == INC_PKT_STATUS)
		n->statuses[child]++;
	else if (type == INC_PKT_NACK)
		n->nacks[child]++;
	else
		n->others[child]++;
}

static void send_control(struct node *n, u32 child, const struct netinc_pkt *pkt, const void *body,
			 u32 len)
{
	u32 i;

	check_child(n, child);
	check_wire(pkt, body, len);
	netinc_assert(pkt->incarnation == n->g.cfg.incarnation && pkt->epoch == n->g.epoch);
	netinc_assert(child == NETINC_ALL || pkt->child == n->g.members[child].low);
	for (i = 0; i < n->g.nmembers; i++) {
		if ((child != NETINC_ALL || !n->g.members[i].present) && child != i)
			continue;
		count_sent(n, i, pkt->type);
		tree_send(number_of(n), n->g.members[i].peer.addr[3], pkt, NULL, body, len);
	}
}

static void agg_send(struct netinc_agg *agg, u32 child, const struct netinc_pkt *pkt,
		     const void *body, u32 len)
{
	netinc_assert(pkt->type == INC_PKT_NACK || pkt->type == INC_PKT_STATUS);
	send_control(node_of_agg(agg), child, pkt, body, len);
}

static void group_send(struct netinc_group *g, u32 child, const struct netinc_pkt *pkt,
		       const void *body, u32 len)
{
	send_control(node_of(g), child, pkt, body, len);
}

static void group_up(struct netinc_group *g, const struct netinc_pkt *pkt, const void *body,
		     u32 len)
{
	struct node *n = node_of(g);

	check_wire(pkt, body, len);
	/* who goes says the number that the parent has named last */
	netinc_assert(g->cfg.has_parent && (pkt->child < g->cfg.size ||
					    (pkt->type == INC_PKT_ABORT && !pkt->epoch &&
					     pkt->child == (u16)g->up.known)));
	/* who does not know us answers in no more bytes */
	netinc_assert(len >= sizeof(struct inc_refuse));
	n->up_control++;
	tree_send(number_of(n), n->parent, pkt, NULL, body, len);
}

static void group_event(struct netinc_group *g, enum inc_event what, u32 rank)
{
	netinc_assert(what && what < __INC_EVENT_MAX);
	netinc_assert(what != INC_EVENT_RANK_DEAD || rank < g->cfg.size);
}

static bool group_link(struct netinc_group *g, u32 rank, const struct netinc_peer *peer)
{
	netinc_assert(rank < g->cfg.size && !g->members[rank].present && peer->family);
	return true;
}

/* Said records move with the child: nothing has been said yet. */
static void group_renumber(struct netinc_group *g, u32 from, u32 to)
{
	netinc_assert(from != to && from < g->cfg.size && to < g->cfg.size && !g->running);
}

static const struct netinc_agg_ops tree_agg_ops = {
	.hold = hold_load,
	.release = release_load,
	.desc = get_desc,
	.can_fold = can_fold,
	.fold = fold_slot,
	.copy = copy_final,
	.take_result = take_result,
	.send_result = send_result,
	.send_up = send_partial,
	.send = agg_send,
	.mismatch = netinc_group_mismatch,
};

static const struct netinc_group_ops tree_ops = {
	.send = group_send,
	.event = group_event,
	.link = group_link,
	.renumber = group_renumber,
	.send_up = group_up,
};

/* ---- The record ---------------------------------------------------------- */

static struct said *said_at(const struct node *n, u32 child, u64 q)
{
	return &all_said[number_of(n)][child][q % RING];
}

static bool has_bit(const struct node *n, u32 child, u64 q)
{
	const struct netinc_slot *slot = netinc_agg_slot(&n->g.agg, q);

	return slot->q == q && netinc_bits_get(slot->have, child);
}

const struct said *tree_said(const struct node *n, u32 child, u64 q)
{
	const struct said *s = said_at(n, child, q);

	return has_bit(n, child, q) && s->run == env.run && s->q == q &&
			       s->incarnation == n->g.cfg.incarnation && s->epoch == n->g.epoch ?
		       s :
		       NULL;
}

static void note_said(struct node *n, const struct netinc_pkt *pkt, u64 q, const u8 *data)
{
	struct said *s = said_at(n, pkt->child, q);

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
	l = new_load(pkt->len);
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
	bool had[RING];
	int err;

	for (i = 0; i < span; i++) {
		had[i] = has_bit(n, pkt->child, q + i) || q + i - n->g.agg.una >= n->g.agg.window;
		if (!had[i])
			note_said(n, pkt, q + i, f->body);
	}
	pay.obj = load_of(f, pkt);
	err = netinc_group_contrib(&n->g, pkt, &pay, env.now);
	if (pay.obj)
		put_load(pay.obj);
	for (i = 0; i < span; i++)
		if (!had[i] && !has_bit(n, pkt->child, q + i))
			said_at(n, pkt->child, q + i)->run = 0;
	if (n->g.running)
		netinc_agg_packet_end(&n->g.agg, pkt->child, env.now);
	return err;
}

/* ---- What comes ---------------------------------------------------------- */

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
	/* of moves and groups that shrink fuzz_node knows more */
	if (join->shrink || join->move)
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
	netinc_assert(is_known(n, f, &pkt));
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
		put_load(pay.obj);
	for (i = 0; i < span; i++) {
		l = left_at(gone_up[number_of(n)], q + i);
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

static void at_node(struct node *n, const struct frame *f, bool same)
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

/* Only what the parser lets through arrives. */
static bool passes_parser(struct frame *f)
{
	u32 len = (u32)sizeof(struct inc_hdr) + netinc_body_len(&f->pkt);
	struct netinc_pkt back;
	u8 *buf = calloc(1, len);
	bool good;

	netinc_build((struct inc_hdr *)buf, &f->pkt);
	good = !netinc_parse(buf, len, &back) && back.group == GROUP;
	free(buf);
	if (!good)
		return false;
	back.ce = f->pkt.ce;
	f->pkt = back;
	return true;
}

/* A liar may set a dead limit of a minute, but then all that is to come takes as long. */
static void limit_dead(struct frame *f)
{
	struct inc_ready *ready = (void *)f->body;
	u32 dead = be32_to_cpu(ready->dead_ms);

	if (dead > MOST_DEAD_MS && dead <= NETINC_MAX_DEAD_MS)
		ready->dead_ms = cpu_to_be32(MOST_DEAD_MS);
}

void tree_arrives(struct frame *f, bool same)
{
	bool good = passes_parser(f);

	if (good && f->pkt.type == INC_PKT_READY)
		limit_dead(f);
	if (!good)
		;
	else if (f->to < NODES)
		at_node(&env.node[f->to], f, same);
	else if (f->to >= RANK_AT && f->to < RANK_AT + ALL_RANKS)
		rank_receives(f->to - RANK_AT, f);
	free(f->body);
}

void tree_deliver(bool same)
{
	struct queue *q = &env.tree;
	static u32 from, to;
	struct frame f;

	if (q->first == q->last)
		return;
	f = q->frame[q->first++ % QUEUE];
	if (is_liar_at(f.from) && (env.mute || (!env.truth && !liar_alters(&f)))) {
		free(f.body);
		return;
	}
	same &= f.from == from && f.to == to;
	from = f.from;
	to = f.to;
	env.now++;
	tree_arrives(&f, same);
}

void tree_pump_beside(void)
{
	struct queue *q = &env.beside;
	struct frame f;

	while (q->first != q->last) {
		f = q->frame[q->first++ % QUEUE];
		tree_arrives(&f, false);
	}
}

void tree_pump(void)
{
	u32 most = 4 * QUEUE;

	tree_pump_beside();
	while (env.tree.first != env.tree.last && most--)
		tree_deliver(false);
}

/* ---- Beginning and end --------------------------------------------------- */

static void forget_node(struct node *n)
{
	netinc_agg_drain(&n->g.agg);
	netinc_assert(!n->held);
	free(n->mem);
	n->mem = NULL;
}

void tree_tick(void)
{
	struct node *n;
	u32 i;

	for (i = 0; i < NODES; i++) {
		n = &env.node[i];
		if (n->mem && netinc_group_tick(&n->g, env.now))
			forget_node(n);
	}
}

static void say_wait(u32 i)
{
	const struct netinc_group *g = &env.node[i].g;
	struct inc_wait_pkt body = { .nonce = cpu_to_be32(g->cfg.up_nonce) };
	struct netinc_pkt pkt = { .type = INC_PKT_WAIT,
				  .group = GROUP,
				  .incarnation = g->up.incarnation,
				  .epoch = g->epoch,
				  .cookie = g->up.down_cookie,
				  .child = g->up.child,
				  .span = 1 };

	tree_send(env.node[i].parent, i, &pkt, NULL, &body, sizeof(body));
}

/* An error is over after a while, though the parent is there. */
void tree_stall(void)
{
	const struct netinc_group *g;
	u32 i;

	for (i = 0; i < TREE_NODES && env.stalls && !env.mute; i++) {
		g = &env.node[i].g;
		if (!env.node[i].mem || g->up.state != NETINC_UPLINK_RESYNC ||
		    !is_liar_at(env.node[i].parent))
			continue;
		say_wait(i);
	}
}

void tree_begin_node(u32 i)
{
	struct node *n = &env.node[i];
	bool other = i == OTHER;
	struct netinc_group_cfg cfg = {
		.id = GROUP,
		.incarnation = 0x1000 + 16 * n->lives + i,
		.size = other ? OTHER_RANKS : env.size,
		.settings = { .window = other ? INC_MIN_WINDOW : setup.window[i],
			      .dead_ms = DEAD_MS },
		.secret = { 1, 2 },	/* one box may be all of them */
		.lineage = 0x7777 + i,
		.has_parent = n->parent != NOBODY,
		.up_block = other ? 0 : setup.up_block[i],
		.up_nonce = 0x900 + 16 * n->lives + i,
	};

	if (!other) {
		cfg.settings.late_policy = setup.policy % INC_LATE_PARTIAL;
		cfg.settings.late_ms = cfg.settings.late_policy ? DEAD_MS / 4 : 0;
	}
	n->lives++;
	n->mem = calloc(1, netinc_group_bytes(cfg.size, cfg.settings.window));
	netinc_group_init(&n->g, &cfg, n->mem, &tree_ops, &tree_agg_ops);
}

void tree_begin(const u32 *parent, const u32 *window, const u32 *up_block, u8 policy)
{
	u32 i;

	memcpy(setup.window, window, sizeof(setup.window));
	memcpy(setup.up_block, up_block, sizeof(setup.up_block));
	setup.policy = policy;
	for (i = 0; i < NODES; i++) {
		env.node[i].parent = i == OTHER ? NOBODY : parent[i];
		tree_begin_node(i);
	}
}

static void free_queue(struct queue *q)
{
	while (q->first != q->last)
		free(q->frame[q->first++ % QUEUE].body);
}

void tree_end(void)
{
	u32 i;

	free_queue(&env.tree);
	free_queue(&env.beside);
	for (i = 0; i < NODES; i++)
		if (env.node[i].mem)
			forget_node(&env.node[i]);
	netinc_assert(!env.loads);
}
