/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Several nodes of a tree in memory: what they say to one another goes through a queue, from which
 * a test may take packets, lose them and change them; what they say to ranks is written down.
 */
#ifndef INC_NODES_ENV_H
#define INC_NODES_ENV_H

#include "engine/group.h"

#include "ktap.h"
#include "siphash.h"

#define RANKS	4u
#define NODES	3u
#define W	8u
#define DEAD	1000u		/* ms */
#define NOBODY	99u
#define RANK_AT	10u		/* address of rank 0; those of nodes are 0 .. NODES - 1 */
#define QUEUE	256u
#define BLOCKS	32u

/* What a contribution or a result holds. */
struct load {
	u32 refs;
	bool has_desc;
	struct inc_desc desc;
	u64 value;
};

struct frame {
	u32 from, to;
	struct netinc_pkt pkt;
	u8 body[768];
	struct load *load;	/* NULL: no elements and no descriptor */
};

struct node {
	struct netinc_group g;
	void *mem;
	u32 parent;		/* NOBODY: none */
	u32 renumbered;
	u32 events[__INC_EVENT_MAX];
	u32 event_rank;
};

/* What a rank has been told. */
struct told {
	u32 readies, errors, waits, refused;
	struct netinc_pkt pkt;	/* header of the last READY */
	struct inc_ready ready;
	struct inc_kinds lacks;	/* behind it, if it is */
	struct inc_wait_pkt wait;
	struct netinc_error error;
	u32 results[BLOCKS];
	u64 value[BLOCKS];
};

static struct {
	struct node node[NODES];
	u32 at[RANKS];		/* the node that each rank is at */
	u32 asks;		/* bit i: rank i asks for INC_ORDER_CANONICAL */
	u8 stripe;		/* INC_STRIPE(): that all ranks join */
	struct netinc_kinds kinds[RANKS];	/* what each rank asks to be folded */
	struct told told[RANKS];
	struct frame queue[QUEUE];
	u32 first, last;
	u32 loads;
	u64 now;
	/* so many packets of this type (0: any) from that address, which are lost */
	u8 lose_type;
	u32 lose_from, lose;
	u32 lose_contrib;	/* the next contributions of node 1 */
	/* the port behind which a JOIN comes, and those of the root's children */
	u16 port, child_port[RANKS];
	u32 links;		/* paths to these that have been made */
	u32 elsewhere;		/* the node whose packets come by another port by now; 0: none */
} net;

static inline struct node *node_of(struct netinc_group *g)
{
	return container_of(g, struct node, g);
}

static inline struct node *node_of_agg(struct netinc_agg *agg)
{
	return container_of(agg, struct node, g.agg);
}

static inline u32 number_of(const struct node *n)
{
	return (u32)(n - net.node);
}

static inline struct netinc_peer peer_of(u32 addr)
{
	return (struct netinc_peer){ .addr = { 10, 0, 0, (u8)addr }, .family = NETINC_AF_INET,
				     .udp_port = cpu_to_be16(5227), .ifindex = 1 };
}

static inline struct load *load_new(u64 value)
{
	struct load *l = calloc(1, sizeof(*l));

	l->refs = 1;
	l->value = value;
	net.loads++;
	return l;
}

static inline void load_put(struct load *l)
{
	if (!l || --l->refs)
		return;
	net.loads--;
	free(l);
}

static inline struct frame *queue_add(u32 from, u32 to, const struct netinc_pkt *pkt,
				      const void *body, u32 len, struct load *load)
{
	struct frame *f = &net.queue[net.last++ % QUEUE];

	expect(net.last - net.first <= QUEUE, "the queue is full");
	*f = (struct frame){ .from = from, .to = to, .pkt = *pkt, .load = load };
	if (len)
		memcpy(f->body, body, len);
	if (load)
		load->refs++;
	else if (pkt->type != INC_PKT_RESULT && pkt->type != INC_PKT_CONTRIB)
		f->pkt.len = len;
	return f;
}

/* ---- What an aggregator needs ---- */

static inline bool hold(struct netinc_agg *agg, struct netinc_pay *pay, bool force)
{
	(void)agg;
	(void)force;
	((struct load *)pay->obj)->refs++;
	return true;
}

static inline void release(struct netinc_agg *agg, struct netinc_pay *pay)
{
	(void)agg;
	load_put(pay->obj);
}

static inline void get_desc(struct netinc_agg *agg, const struct netinc_pay *pay,
			    struct inc_desc *d)
{
	const struct load *l = pay->obj;

	(void)agg;
	memset(d, 0, sizeof(*d));
	if (l && l->has_desc)
		*d = l->desc;
}

static inline bool can_fold(struct netinc_agg *agg, u8 dtype, u8 dop, u8 mode)
{
	(void)agg;
	(void)dtype;
	(void)mode;
	return dop != INC_OP_WSUM;
}

static inline bool fold(struct netinc_agg *agg, struct netinc_slot *slot, u32 part)
{
	struct netinc_part p = netinc_agg_part(agg, part);
	struct load *sum = load_new(0), *l;
	u32 i;

	for (i = p.from; i < p.to; i++) {
		l = slot->in[agg->operand[i].input].obj;
		if (!l)
			continue;
		sum->value += l->value;
		if (l->has_desc && !sum->has_desc) {
			sum->desc = l->desc;
			sum->has_desc = true;
		}
	}
	slot->result = (struct netinc_pay){ .obj = sum, .flags = slot->flags };
	return true;
}

static inline bool copy(struct netinc_agg *agg, struct netinc_slot *slot, u32 i)
{
	(void)i;
	return fold(agg, slot, NETINC_WHOLE);
}

static inline bool is_copy(struct netinc_agg *agg, const struct netinc_slot *slot, u32 i)
{
	(void)agg;
	(void)slot;
	(void)i;
	return true;
}

static inline bool take_result(struct netinc_agg *agg, struct netinc_slot *slot,
			       const struct netinc_pay *pay)
{
	const struct load *l = pay->obj;
	struct load *mine = load_new(l->value);

	(void)agg;
	mine->desc = l->desc;
	mine->has_desc = l->has_desc;
	slot->result = (struct netinc_pay){ .obj = mine, .flags = slot->flags };
	return true;
}

static inline void send_result(struct netinc_agg *agg, const struct netinc_slot *slot, u32 child)
{
	struct node *n = node_of_agg(agg);
	struct netinc_pkt pkt;
	u32 i;

	netinc_agg_result_header(agg, slot, true, &pkt);
	for (i = 0; i < agg->children; i++)
		if (child == NETINC_ALL || child == i)
			queue_add(number_of(n), n->g.members[i].peer.addr[3], &pkt, NULL, 0,
				  slot->result.obj);
}

static inline void send_up(struct netinc_agg *agg, const struct netinc_slot *slot, u32 part,
			   bool again)
{
	struct node *n = node_of_agg(agg);
	struct netinc_pkt pkt;

	netinc_agg_up_header(agg, slot, part, &pkt);
	pkt.flags |= again ? INC_F_RETRANS : 0;
	queue_add(number_of(n), n->parent, &pkt, NULL, 0,
		  netinc_agg_partial(slot, part).obj);
}

static inline void agg_send(struct netinc_agg *agg, u32 child, const struct netinc_pkt *pkt,
			    const void *body, u32 len)
{
	struct node *n = node_of_agg(agg);

	queue_add(number_of(n), n->g.members[child].peer.addr[3], pkt, body, len, NULL);
}

static const struct netinc_agg_ops nodes_agg_ops = {
	.hold = hold,
	.release = release,
	.desc = get_desc,
	.can_fold = can_fold,
	.fold = fold,
	.copy = copy,
	.is_copy = is_copy,
	.take_result = take_result,
	.send_result = send_result,
	.send_up = send_up,
	.send = agg_send,
	.mismatch = netinc_group_mismatch,
};

/* ---- What a group needs ---- */

static inline void group_send(struct netinc_group *g, u32 child, const struct netinc_pkt *pkt,
			      const void *body, u32 len)
{
	u32 i;

	for (i = 0; i < g->nmembers; i++)
		if ((child == NETINC_ALL && g->members[i].present) || child == i)
			queue_add(number_of(node_of(g)), g->members[i].peer.addr[3], pkt, body, len,
				  NULL);
}

static inline void group_up(struct netinc_group *g, const struct netinc_pkt *pkt, const void *body,
			    u32 len)
{
	queue_add(number_of(node_of(g)), node_of(g)->parent, pkt, body, len, NULL);
}

static inline void group_event(struct netinc_group *g, enum inc_event what, u32 rank)
{
	node_of(g)->events[what]++;
	node_of(g)->event_rank = rank;
}

static inline bool group_link(struct netinc_group *g, u32 rank, const struct netinc_peer *peer)
{
	(void)peer;
	if (!number_of(node_of(g))) {
		net.child_port[rank] = net.port;
		net.links++;
	}
	return true;
}

static inline bool group_same_port(const struct netinc_group *g, u32 child)
{
	(void)g;
	return net.child_port[child] == net.port;
}

static inline void group_renumber(struct netinc_group *g, u32 from, u32 to)
{
	u16 port = net.child_port[from];

	if (!number_of(node_of(g))) {
		net.child_port[from] = net.child_port[to];
		net.child_port[to] = port;
	}
	node_of(g)->renumbered++;
}

static const struct netinc_group_ops nodes_ops = {
	.send = group_send, .event = group_event, .link = group_link, .renumber = group_renumber,
	.same_port = group_same_port, .send_up = group_up,
};

/* ---- The network ---- */

static inline void at_rank(struct told *t, const struct frame *f)
{
	u32 b = f->pkt.psn % BLOCKS, i;

	switch (f->pkt.type) {
	case INC_PKT_READY:
		t->readies++;
		t->pkt = f->pkt;
		memcpy(&t->ready, f->body, sizeof(t->ready));
		memcpy(&t->lacks, f->body + sizeof(t->ready), sizeof(t->lacks));
		break;
	case INC_PKT_ERROR:
		t->errors++;
		netinc_error_parse((const void *)f->body, &t->error);
		break;
	case INC_PKT_WAIT:
		t->waits++;
		memcpy(&t->wait, f->body, sizeof(t->wait));
		break;
	case INC_PKT_RESULT:
		for (i = 0; i < f->pkt.span; i++)
			t->results[(b + i) % BLOCKS]++;
		t->value[b] = f->load ? f->load->value : 0;
		break;
	default:
		break;
	}
}

static inline void refuse(struct node *n, const struct frame *f, u32 nonce, u16 code, u64 detail)
{
	struct inc_refuse body = { .nonce = cpu_to_be32(nonce), .code = cpu_to_be16(code),
				   .detail = cpu_to_be64(detail) };
	struct netinc_pkt pkt = { .type = INC_PKT_REFUSE, .group = f->pkt.group,
				  .incarnation = f->pkt.incarnation, .epoch = f->pkt.epoch,
				  .cookie = f->pkt.cookie, .span = 1 };

	queue_add(number_of(n), f->from, &pkt, &body, sizeof(body), NULL);
}

/* Returns what has become of it: 0, a negative counter, or enum inc_refuse_code. */
static inline int from_below(struct node *n, const struct frame *f)
{
	const struct inc_join *join = (const void *)f->body;
	struct netinc_peer peer = peer_of(f->from);
	struct netinc_pay pay = { .obj = f->load, .len = f->pkt.len, .flags = f->pkt.flags };
	struct netinc_pkt pkt = f->pkt;
	u64 detail = 0;
	int err;

	if (net.elsewhere && f->from == net.elsewhere)
		peer.ifindex++;
	if (pkt.type == INC_PKT_JOIN) {
		err = netinc_group_join(&n->g, &pkt, join, &peer, net.now, &detail);
		if (err)
			refuse(n, f, be32_to_cpu(join->nonce), err, detail);
		return err;
	}
	err = netinc_group_check(&n->g, &pkt, &peer, net.now);
	if (err)
		return err;
	if (pkt.type != INC_PKT_CONTRIB)
		return netinc_group_control(&n->g, &pkt, f->body, net.now);
	err = netinc_group_contrib(&n->g, &pkt, &pay, net.now);
	netinc_agg_packet_end(&n->g.agg, pkt.child, net.now);
	return err;
}

static inline int at_node(struct node *n, const struct frame *f)
{
	struct netinc_pay pay = { .obj = f->load, .len = f->pkt.len, .flags = f->pkt.flags };

	netinc_group_buffer_begin(&n->g);
	if (f->from != n->parent)
		return from_below(n, f);
	if (f->pkt.type != INC_PKT_RESULT)
		return netinc_group_from_parent(&n->g, &f->pkt, f->body, net.now);
	return netinc_group_result(&n->g, &f->pkt, &pay, net.now);
}

/* The next packet, or all of them, arrive. */
static inline void deliver(void)
{
	struct frame f = net.queue[net.first++ % QUEUE];

	net.now++;
	if (net.lose_contrib && f.pkt.type == INC_PKT_CONTRIB && f.from == 1)
		net.lose_contrib--;
	else if (net.lose && (!net.lose_type || f.pkt.type == net.lose_type) &&
		 f.from == net.lose_from)
		net.lose--;
	else if (f.to >= RANK_AT && f.to < RANK_AT + RANKS)
		at_rank(&net.told[f.to - RANK_AT], &f);
	else if (f.to < NODES)
		at_node(&net.node[f.to], &f);
	load_put(f.load);
}

static inline void pump(void)
{
	while (net.first != net.last)
		deliver();
}

/* Time goes on, and all nodes notice. */
static inline void tick_nodes(void)
{
	u32 i;

	net.now += 10 * NETINC_MS;
	for (i = 0; i < NODES; i++)
		netinc_group_tick(&net.node[i].g, net.now);
}

static inline void wait_ms(u32 ms)
{
	u64 end = net.now + ms * NETINC_MS;

	while (net.now < end) {
		tick_nodes();
		pump();
	}
}

/* Up to the next packet of that type for @to, which does not arrive: a copy. */
static inline struct frame catch_one(u32 to, u8 type)
{
	struct frame f = { .to = NOBODY };
	u32 ticks = 0;

	while (ticks < 100) {
		if (net.first == net.last) {
			tick_nodes();
			ticks++;
			continue;
		}
		f = net.queue[net.first % QUEUE];
		if (f.to == to && f.pkt.type == type) {
			net.first++;
			return f;
		}
		deliver();
	}
	expect(false, "no packet of type %u for %u", type, to);
	return f;
}

/* ---- Ranks ---- */

/* The member that @rank is at its node. */
static inline const struct netinc_member *member_of(u32 rank)
{
	const struct netinc_group *g = &net.node[net.at[rank]].g;
	u32 child = netinc_group_child(g, rank);

	return child == NETINC_NO_RANK ? NULL : &g->members[child];
}

static inline struct netinc_pkt rank_pkt(u32 rank, u8 type)
{
	const struct told *t = &net.told[rank];

	return (struct netinc_pkt){ .type = type, .group = 77, .span = 1, .child = rank,
				    .epoch = t->pkt.epoch, .incarnation = t->pkt.incarnation,
				    .cookie = be64_to_cpu(t->ready.up_cookie) };
}

static inline int rank_says(u32 rank, const struct netinc_pkt *pkt, const void *body, u32 len,
			    struct load *load)
{
	struct frame f = { .from = RANK_AT + rank, .to = net.at[rank], .pkt = *pkt, .load = load };

	if (len) {
		memcpy(f.body, body, len);
		f.pkt.len = len;
	}
	return at_node(&net.node[f.to], &f);
}

/* The first JOIN, or, with READY, one for the next epoch. */
static inline int join_from(u32 rank, u64 next)
{
	struct netinc_pkt pkt = rank_pkt(rank, INC_PKT_JOIN);
	struct {
		struct inc_join join;
		struct inc_join_kinds kinds;
	} m = { .join = { .size = cpu_to_be32(RANKS), .nonce = cpu_to_be32(100 + rank),
			  .next = cpu_to_be64(next), .block = cpu_to_be16(128),
			  .late_policy = net.stripe << INC_JOIN_STRIPE_SHIFT,
			  .flags = net.asks >> rank & 1 ? INC_JOIN_CANONICAL : 0 } };

	netinc_join_add_kinds(&m.join, (struct netinc_kinds){}, net.kinds[rank]);
	pkt.opseq = net.told[rank].readies ? net.told[rank].error.resume : 0;
	return rank_says(rank, &pkt, &m, sizeof(m.join) + netinc_join_tail_bytes(&m.join), NULL);
}

static inline void join(u32 rank)
{
	expect(!join_from(rank, 0), "JOIN of rank %u", rank);
	pump();
}

/* The first block of an operation, of which one says @sig. */
static inline int contrib(u32 rank, u64 block, u32 opseq, u32 sig, u64 value)
{
	struct netinc_pkt pkt = rank_pkt(rank, INC_PKT_CONTRIB);
	struct load *l = load_new(value);
	int err;

	pkt.psn = (u32)block;
	pkt.flags = INC_F_PAYLOAD | INC_F_WANT | INC_F_DESC;
	pkt.len = 8;
	pkt.dtype = INC_TYPE_I64;
	pkt.dop = INC_OP_SUM;
	pkt.opseq = opseq;
	pkt.sig = sig;
	l->has_desc = true;
	l->desc.opseq = cpu_to_be32(opseq);
	l->desc.count = cpu_to_be64(sig);
	err = rank_says(rank, &pkt, NULL, 0, l);
	load_put(l);
	return err;
}

static inline int leave(u32 rank, u64 block, u32 opseq)
{
	struct netinc_pkt pkt = rank_pkt(rank, INC_PKT_CONTRIB);

	pkt.psn = (u32)block;
	pkt.flags = INC_F_LEAVE;
	pkt.opseq = opseq;
	return rank_says(rank, &pkt, NULL, 0, NULL);
}

static inline void probe(u32 rank, u64 block)
{
	struct netinc_pkt pkt = rank_pkt(rank, INC_PKT_PROBE);
	struct inc_probe body = { .srtt = 0 };

	pkt.psn = (u32)block;
	pkt.flags = INC_F_RETRANS;
	rank_says(rank, &pkt, &body, sizeof(body), NULL);
}

/* While time goes on all ranks ask for what they lack from @block on. */
static inline void ask_for(u32 ms, u64 block)
{
	u64 end = net.now + ms * NETINC_MS;
	u32 i;

	while (net.now < end) {
		for (i = 0; i < RANKS; i++)
			if (net.told[i].readies)
				probe(i, block);
		pump();
		wait_ms(20);
	}
}

static inline int abort_rank(u32 rank, u16 code)
{
	struct netinc_pkt pkt = rank_pkt(rank, INC_PKT_ABORT);
	struct inc_error_pkt body = { .code = cpu_to_be16(code),
				      .resume = cpu_to_be32(100 + rank),
				      .rank = { cpu_to_be32(rank), cpu_to_be32(~0u) } };

	return rank_says(rank, &pkt, &body, sizeof(body), NULL);
}

static inline void begin_node(u32 i, u32 parent, u32 window)
{
	struct node *n = &net.node[i];
	struct netinc_group_cfg cfg = { .id = 77, .incarnation = 0x1000 + i, .size = RANKS,
					.block = INC_MAX_BLOCK,
					.settings = { .window = window, .dead_ms = DEAD },
					.secret = { 1 + i, 2 }, .lineage = 0x7777 + i,
					.has_parent = parent != NOBODY, .up_block = 128,
					.up_nonce = 0x900 + i };

	n->parent = parent;
	n->mem = calloc(1, netinc_group_bytes(RANKS, window));
	netinc_group_init(&n->g, &cfg, n->mem, &nodes_ops, &nodes_agg_ops);
}

/* Two nodes below node 0 (@chain: node 2 below node 1), and where the ranks are. */
static inline void begin_tree(bool chain, u32 at0, u32 at1, u32 at2, u32 at3)
{
	memset(&net, 0, sizeof(net));
	net.now = 1000000;
	net.at[0] = at0;
	net.at[1] = at1;
	net.at[2] = at2;
	net.at[3] = at3;
	begin_node(0, NOBODY, W);
	begin_node(1, 0, 2 * W);
	begin_node(2, chain ? 1 : 0, W / 2);
}

static inline void end_tree(void)
{
	u32 i;

	while (net.first != net.last)
		load_put(net.queue[net.first++ % QUEUE].load);
	for (i = 0; i < NODES; i++) {
		netinc_agg_drain(&net.node[i].g.agg);
		free(net.node[i].mem);
	}
	expect(!net.loads, "%u loads leak", net.loads);
}

/* Ranks join, which takes as long as it takes. */
/* What begin_tree() has begun. */
static inline void join_all(void)
{
	u32 i;

	for (i = 0; i < RANKS; i++)
		join(i);
	wait_ms(50);
	for (i = 0; i < RANKS; i++)
		expect(net.told[i].readies, "rank %u has no READY", i);
}

static inline void form_tree(bool chain, u32 at0, u32 at1, u32 at2, u32 at3)
{
	begin_tree(chain, at0, at1, at2, at3);
	join_all();
}

static inline void expect_states(u8 state)
{
	u32 i;

	for (i = 0; i < NODES; i++)
		expect(net.node[i].g.state == state, "node %u is in state %u, not %u", i,
		       net.node[i].g.state, state);
}

/* All contribute, and have the sum of all, wherever they are. */
static inline void reduce(u64 block, u32 opseq)
{
	u32 i;

	for (i = 0; i < RANKS; i++)
		expect(!contrib(i, block, opseq, 5, 1u << (4 * i)), "rank %u", i);
	pump();
}

/* All contribute to operation @opseq, of which rank @odd says something else. */
static inline void disagree(u32 odd, u64 block, u32 opseq)
{
	u32 i;

	for (i = 0; i < RANKS; i++)
		expect(!contrib(i, block, opseq, i == odd ? 6 : 5, 1), "rank %u", i);
	pump();
}

static inline void expect_error(u32 rank, u16 code, u32 a, u32 b)
{
	const struct netinc_error *e = &net.told[rank].error;

	expect(net.told[rank].errors && e->code == code && e->rank[0] == a && e->rank[1] == b,
	       "rank %u: %u errors, code %u, ranks %d and %d, not %u, %d and %d", rank,
	       net.told[rank].errors, e->code, (int)e->rank[0], (int)e->rank[1], code, (int)a,
	       (int)b);
}

#endif
