// SPDX-License-Identifier: GPL-2.0-only
/*
 * A group that three nodes serve in a tree, driven by a stream of decisions. Some of the nodes and
 * ranks lie: what they send is altered on its way, field by field, or made up, with the cookies,
 * nonces and numbers that their peers expect. Packets are lost, repeated and overtaken, time
 * passes, there is no memory.
 *
 * What holds at each node stands in tree_check.c; what leaves is what has been contributed, and
 * bounded, and strangers get no answer (tree_in.c, tree_out.c); who is honest gets the right
 * results or an error, and soon (tree_rank.c).
 */
#include "tree_env.h"
#include "reduce/reduce.h"
#include "siphash.h"

/* ---- Lies in packets ----------------------------------------------------- */

/* Next to what it is, or anything. */
static u64 near_value(u64 value)
{
	u8 how = read_u8(&env.r);

	if (how < 0x80)
		return value + (u64)(s64)((s32)(how % 16) - 8);
	if (how < 0xa0)
		return 0;
	if (how < 0xc0)
		return ~0ull;
	if (how < 0xe0)
		return value ^ 1ull << how % 64;
	return read_u32(&env.r) * 0x100000001ull;
}

/* A field of a body, big-endian as all are. */
static void lie_field(u8 *body, u32 len)
{
	u32 width = 1u << read_u8(&env.r) % 4, at, i;
	u64 value = 0;

	if (len < width)
		return;
	at = read_u8(&env.r) % (len / width) * width;
	for (i = 0; i < width; i++)
		value = value << 8 | body[at + i];
	value = near_value(value);
	for (i = width; i--; value >>= 8)
		body[at + i] = (u8)value;
}

static void lie_length(struct frame *f)
{
	u8 how = read_u8(&env.r);
	u32 len = f->pkt.len;

	if (how < 0x40)
		len *= 2;
	else if (how < 0x80)
		len += 4;
	else if (how < 0xc0)
		len -= min_t(u32, len, how % 32);
	else
		len = read_u8(&env.r);
	tree_resize(f, min_t(u32, len, MAX_LEN));
}

static void lie_operation(struct netinc_pkt *pkt)
{
	pkt->dtype = read_u8(&env.r) % (INC_TYPE_MAX + 1);
	pkt->dop = read_u8(&env.r) % __INC_OP_MAX;
	pkt->mode = read_u8(&env.r) & INC_MODE_WIRE;
}

/* As the parser would let it pass. */
static void make_valid(struct frame *f)
{
	struct netinc_pkt *pkt = &f->pkt;

	pkt->flags &= INC_F_ALL;
	if (pkt->type != INC_PKT_PROBE && pkt->type != INC_PKT_PEERS)
		pkt->flags &= ~INC_F_MULTICAST;
	if (!netinc_is_data(pkt->type)) {
		pkt->flags &= ~INC_F_ZERO;
		return;
	}
	if (pkt->type == INC_PKT_CONTRIB)
		pkt->flags &= ~INC_F_PARTIAL;
	if (pkt->len)
		pkt->flags |= INC_F_PAYLOAD;
	else
		pkt->flags &= ~(INC_F_PAYLOAD | INC_F_FINAL | INC_F_WIDE);
	if (pkt->type == INC_PKT_RESULT)
		pkt->flags &= ~(INC_F_WIDE | INC_F_PART);
	if (pkt->flags & INC_F_PART)
		pkt->flags &= ~(INC_F_FINAL | INC_F_LEAVE);
	else
		pkt->part = 0;
	if (!pkt->len || (pkt->flags & (INC_F_FINAL | INC_F_DESC)))
		pkt->flags &= ~INC_F_ZERO;
	if (pkt->flags & INC_F_ZERO)
		memset(f->body, 0, pkt->len);
	else if (pkt->flags & INC_F_PAYLOAD)
		pkt->span = 1;
	if (pkt->flags & (INC_F_DESC | INC_F_PART))
		pkt->span = 1;
}

/* What says whose it is, of when and where: mostly such packets are dropped. */
static void lie_identity(struct netinc_pkt *pkt)
{
	switch (read_u8(&env.r) % 6) {
	case 0:
		pkt->epoch = near_value(pkt->epoch);
		break;
	case 1:
		pkt->incarnation = near_value(pkt->incarnation);
		break;
	case 2:
		pkt->child = near_value(pkt->child);
		break;
	case 3:
		pkt->cookie = near_value(pkt->cookie);
		break;
	case 4:
		pkt->tree = near_value(pkt->tree);
		break;
	default:
		pkt->type = 1 + read_u8(&env.r) % INC_PKT_MAX;
		break;
	}
}

static void lie_header(struct frame *f)
{
	struct netinc_pkt *pkt = &f->pkt;

	switch (read_u8(&env.r) % 10) {
	case 0 ... 1:
		pkt->flags ^= 1u << read_u8(&env.r) % 12;
		break;
	case 2:
		pkt->psn = near_value(pkt->psn);
		break;
	case 3:
		pkt->opseq = near_value(pkt->opseq);
		break;
	case 4:
		pkt->sig = near_value(pkt->sig);
		break;
	case 5:
		pkt->span = near_value(pkt->span) ?: 1;
		break;
	case 6:
		lie_operation(pkt);
		break;
	case 7:
		pkt->part = read_u8(&env.r) % (MAX_RANKS + 1);
		pkt->flags |= pkt->type == INC_PKT_CONTRIB ? INC_F_PART : 0;
		pkt->ce = true;
		break;
	case 8:
		pkt->tstamp = near_value(pkt->tstamp);
		break;
	default:
		lie_identity(pkt);
		break;
	}
}

static void lie_somehow(struct frame *f)
{
	u8 how = read_u8(&env.r) % 8;

	if (how < 4 && f->pkt.len)
		lie_field(f->body, f->pkt.len);
	else if (how == 4)
		lie_length(f);
	else
		lie_header(f);
	make_valid(f);
}

static void send_again(const struct frame *f)
{
	bool desc = f->pkt.flags & INC_F_DESC;

	tree_send(f->from, f->to, &f->pkt, desc ? &f->desc : NULL, f->body, f->pkt.len);
}

bool liar_alters(struct frame *f)
{
	u8 how = read_u8(&env.r), lies;

	if (how < 0xa0)
		return true;
	if (how < 0xb0)
		return false;
	if (how < 0xb8)
		send_again(f);
	for (lies = how % 4; how >= 0xb8 && lies--;)
		lie_somehow(f);
	return true;
}

/* ---- Packets of liars that nothing but lies makes ------------------------ */

static bool pick_liar(u32 *addr)
{
	u32 n = TREE_NODES + env.size, i, first = read_u8(&env.r) % n;

	for (i = 0; i < n; i++) {
		u32 bit = (first + i) % n;

		*addr = bit < TREE_NODES ? bit : RANK_AT + bit - TREE_NODES;
		if (is_liar_at(*addr))
			return true;
	}
	return false;
}

/* A block near those that are under way. */
static u64 near_block(const struct netinc_agg *agg)
{
	u8 how = read_u8(&env.r);

	return agg->una + (how < 0xc0 ? how % agg->window : (u64)(s64)(s8)(how << 2));
}

static void set_body(struct frame *f, const void *body, u32 len)
{
	f->body = malloc(len);
	f->pkt.len = len;
	if (len)
		memcpy(f->body, body, len);
}

static void say_error(struct frame *f, const struct netinc_group *g)
{
	struct netinc_error e = { .block = near_block(&g->agg),
				  .opseq = g->agg.opseq + read_u8(&env.r) % 4,
				  .code = read_u8(&env.r) % (INC_ERR_MAX + 2) };
	u8 ranks = read_u8(&env.r), how = read_u8(&env.r);
	struct inc_error_pkt body;

	e.resume = how & 1 ? 0 : e.opseq + 1 + how / 64;
	e.rank[0] = ranks % 8 == 7 ? NETINC_NO_RANK : ranks % 8;
	e.rank[1] = ranks / 8 % 8 == 7 ? NETINC_NO_RANK : ranks / 8 % 8;
	netinc_error_build(&body, &e);
	f->pkt.psn = (u32)e.block;
	f->pkt.flags = how & 2 ? INC_F_LEAVE : 0;
	set_body(f, &body, sizeof(body));
}

static u32 fill_map(__be32 *map)
{
	u32 words = read_u8(&env.r) % 9;

	if (words && read_u8(&env.r) & 1)
		read_bytes(&env.r, map, 4 * words);
	return words;
}

/* What goes to a child that is a node. */

static void say_result(struct frame *f, const struct netinc_group *g)
{
	u64 q = near_block(&g->agg);
	const struct netinc_slot *slot = netinc_agg_slot(&g->agg, q);
	u8 how = read_u8(&env.r), data[MAX_LEN];
	u32 i;

	f->pkt.psn = (u32)q;
	f->pkt.flags = slot->flags & (INC_F_PAYLOAD | INC_F_WANT | INC_F_DESC);
	f->pkt.opseq = slot->opseq;
	f->pkt.sig = slot->sig;
	f->pkt.dtype = slot->dtype;
	f->pkt.dop = slot->dop;
	f->pkt.mode = slot->mode;
	for (i = 0; i < sizeof(data); i++)
		data[i] = (u8)(how + i);
	set_body(f, data, how & 0x80 ? 0 : min_t(u32, slot->len, MAX_LEN));
	if (how & 0x80)
		f->pkt.span = 1 + read_u8(&env.r) % (g->agg.window + 1);
	make_valid(f);
}

static void say_status(struct frame *f, const struct netinc_group *g)
{
	struct {
		struct inc_status status;
		__be32 map[8];
	} m;
	u32 words;

	memset(&m, 0, sizeof(m));
	words = fill_map(m.map);
	m.status.waiting = cpu_to_be32(read_u8(&env.r) % 8);
	m.status.bits = cpu_to_be16(32 * words);
	m.status.slack = cpu_to_be16(read_u8(&env.r));
	f->pkt.psn = (u32)near_block(&g->agg);
	f->pkt.tstamp = (u32)g->up.probed;
	set_body(f, &m, sizeof(m.status) + 4 * words);
}

static void say_nack(struct frame *f, const struct netinc_group *g)
{
	f->pkt.psn = (u32)near_block(&g->agg);
	f->pkt.span = 1 + read_u8(&env.r) % (2 * g->agg.window);
	set_body(f, NULL, 0);
}

/* As it is expected. */
static void say_ready(struct frame *f, const struct netinc_group *g)
{
	u32 up = g->cfg.up_block, window = g->cfg.settings.window, block, i;
	struct inc_ready body = { .nonce = cpu_to_be32(g->cfg.up_nonce),
				  .size = cpu_to_be32(g->cfg.size),
				  .children = cpu_to_be16(g->joined),
				  .trees = cpu_to_be16(1),
				  .rank = cpu_to_be16(g->up.child),
				  .dead_ms = cpu_to_be32(DEAD_MS),
				  .height = 1 + read_u8(&env.r) % 2 };
	u8 how = read_u8(&env.r);
	u64 start = FIRST_BLOCK;

	for (i = 0; i < g->nmembers; i++)
		if (g->members[i].present)
			start = g->members[i].next;
	/* as much as there is, less, or more */
	window = how & 1 ? window : how & 0x20 ? window / 2 : 2 * window;
	block = g->epoch ? g->block : how & 2 ? up : INC_MIN_BLOCK;
	block += how & 0x18 ? 0 : INC_BLOCK_ALIGN;
	body.window = cpu_to_be32(max_t(u32, window, INC_MIN_WINDOW));
	body.start = cpu_to_be64(start);
	body.up_cookie = cpu_to_be64(1 + how);
	body.down_cookie = cpu_to_be64(2 + how);
	body.block = cpu_to_be16(block);
	body.opseq = cpu_to_be32(g->error.resume + how / 32);
	body.lineage = cpu_to_be64(g->epoch || g->cfg.returns ? g->cfg.lineage : 1 + how);
	body.move = cpu_to_be32(g->move);
	body.fallback = g->cfg.returns ? g->cfg.settings.fallback : INC_FALLBACK_NONE;
	if (g->epoch)
		body.height = g->levels;
	f->pkt.epoch = g->epoch + 1 + how / 64;
	f->pkt.child = g->up.child;
	f->pkt.incarnation = how & 4 ? g->up.incarnation : 9;
	set_body(f, &body, sizeof(body));
}

static void say_wait(struct frame *f, const struct netinc_group *g)
{
	u8 how = read_u8(&env.r);
	struct inc_wait_pkt body = {
		.nonce = cpu_to_be32(g->cfg.up_nonce),
		.joined = cpu_to_be32(how & 1 ? g->cfg.size : read_u8(&env.r)),
		.missing = cpu_to_be32(how & 2 ? NETINC_NO_RANK : how / 16),
		.pause = cpu_to_be32(how & 4 ? 0 : how & 8 ? 5000 : read_u32(&env.r)),
	};

	f->pkt.child = g->up.child;
	set_body(f, &body, sizeof(body));
}

static void say_challenge(struct frame *f, const struct netinc_group *g)
{
	struct inc_challenge body = { .nonce = cpu_to_be32(g->cfg.up_nonce),
				      .challenge = cpu_to_be64(read_u8(&env.r)) };

	set_body(f, &body, sizeof(body));
}

static void say_refuse(struct frame *f, const struct netinc_group *g)
{
	struct inc_refuse body = { .nonce = cpu_to_be32(g->cfg.up_nonce),
				   .code = cpu_to_be16(read_u8(&env.r) % (__INC_REFUSE_MAX + 1)),
				   .detail = cpu_to_be64(read_u8(&env.r)) };

	f->pkt.cookie = g->up.up_cookie;
	set_body(f, &body, sizeof(body));
}

static const struct {
	u8 type;
	void (*say)(struct frame *f, const struct netinc_group *g);
} downward[] = {
	{ INC_PKT_RESULT, say_result },	{ INC_PKT_RESULT, say_result },
	{ INC_PKT_RESULT, say_result },	{ INC_PKT_STATUS, say_status },
	{ INC_PKT_NACK, say_nack },	{ INC_PKT_ERROR, say_error },
	{ INC_PKT_READY, say_ready },	{ INC_PKT_READY, say_ready },
	{ INC_PKT_WAIT, say_wait },	{ INC_PKT_CHALLENGE, say_challenge },
	{ INC_PKT_REFUSE, say_refuse },
};

static void make_down(struct frame *f, const struct netinc_group *g)
{
	u32 what = read_u8(&env.r) % ARRAY_SIZE(downward);

	f->pkt.type = downward[what].type;
	f->pkt.incarnation = g->up.incarnation;
	f->pkt.epoch = g->epoch;
	f->pkt.cookie = g->up.down_cookie;
	downward[what].say(f, g);
}

/* What goes to a parent. */

static u32 wider_of(const struct netinc_pkt *pkt)
{
	const struct netinc_reduce *kernel =
		netinc_reduce_find(pkt->dtype, pkt->dop, pkt->mode, false);

	return kernel ? kernel->acc_size / kernel->elem_size : 1;
}

static void say_contrib(struct frame *f, const struct netinc_group *g)
{
	u64 q = near_block(&g->agg);
	const struct netinc_slot *slot = netinc_agg_slot(&g->agg, q);
	struct plan plan = rank_plan_of(&env.node[f->to]);
	u8 how = read_u8(&env.r), data[MAX_LEN] = {};
	u32 len;

	if (!g->running || (s64)(q - plan.start) < 0)
		q = plan.start;
	rank_plan(&plan, f->pkt.child % plan.size, q, &f->pkt, data);
	len = f->pkt.len;
	if (slot->q == q && slot->missing < g->agg.children && how & 1) {
		f->pkt.opseq = slot->opseq;
		f->pkt.sig = slot->sig;
	}
	if (how & 2 && f->pkt.dop && f->pkt.dtype != INC_TYPE_I32) {
		f->pkt.flags |= INC_F_WIDE;
		len *= wider_of(&f->pkt);
	}
	if (how & 4) {
		f->pkt.flags &= ~(INC_F_PAYLOAD | INC_F_DESC);
		f->pkt.span = 1 + read_u8(&env.r) % (g->agg.window + 1);
		len = 0;
	}
	f->pkt.flags |= (how & 8 ? INC_F_RETRANS : 0) | (how & 0x30 ? 0 : INC_F_LEAVE);
	if (env.asks && (how & 0x40)) {
		f->pkt.part = how >> 4 & 3;
		f->pkt.flags |= INC_F_PART;
	}
	set_body(f, data, min_t(u32, len, MAX_LEN));
	make_valid(f);
}

static void say_probe(struct frame *f, const struct netinc_group *g)
{
	struct {
		struct inc_probe probe;
		__be32 map[8];
	} m;
	u32 words;

	memset(&m, 0, sizeof(m));
	words = fill_map(m.map);
	m.probe.bits = cpu_to_be16(32 * words);
	f->pkt.psn = (u32)near_block(&g->agg);
	f->pkt.opseq = read_u8(&env.r) % 8;
	f->pkt.flags = INC_F_RETRANS;
	set_body(f, &m, max_t(u32, sizeof(m.probe) + 4 * words, sizeof(struct inc_refuse)));
}

static void say_join(struct frame *f, const struct netinc_group *g)
{
	u8 how = read_u8(&env.r), among = read_u8(&env.r), i;
	struct {
		struct inc_join join;
		__be32 ranks[2];
		struct inc_addr edge;	/* a word ahead if the size takes one only */
	} m = { .join = { .size = cpu_to_be32(g->cfg.size),
			  .nonce = cpu_to_be32(how & 1 ? 1 : 0x901 + read_u8(&env.r)),
			  .next = cpu_to_be64(g->running ? g->agg.una : FIRST_BLOCK),
			  .block = cpu_to_be16(tree_rank_block()),
			  .below = (how & 6 ? 1 : 2) | (how & 8 ? INC_JOIN_STALE : 0),
			  .flags = env.asks ? how & (INC_JOIN_CANONICAL | INC_JOIN_MANY_PARTS) : 0,
			  .window = cpu_to_be16(INC_MIN_WINDOW << how % 4),
			  .challenge = cpu_to_be64(7) } };

	if (g->cfg.returns) {
		m.join.below |= INC_JOIN_RETURN;
		m.join.lineage = cpu_to_be64(LINEAGE);
		m.join.move = cpu_to_be32(g->move + (how & 0x80 ? among % 4 : 0));
	}
	f->pkt.cookie = how & 0x10 ? f->pkt.cookie : 0;
	if (!g->epoch || how & 0x20)
		f->pkt.incarnation = 0;
	for (i = 0; i < g->cfg.size; i++)
		if (among >> i & 1)
			netinc_bit_set(m.ranks, i);
	if (how & 0x40)
		for (i = 0; i < g->cfg.size; i++)
			if (among >> i & 1)
				break;
	if (how & 0x40)
		f->pkt.child = i;
	set_body(f, &m, sizeof(m.join) + netinc_join_tail_bytes(&m.join));
}

static void make_up(struct frame *f, const struct netinc_group *g)
{
	static const u8 types[] = { INC_PKT_CONTRIB, INC_PKT_CONTRIB, INC_PKT_CONTRIB,
				    INC_PKT_PROBE,   INC_PKT_ABORT,   INC_PKT_JOIN };
	u32 i;

	f->pkt.type = types[read_u8(&env.r) % ARRAY_SIZE(types)];
	f->pkt.incarnation = g->cfg.incarnation;
	f->pkt.epoch = g->epoch;
	for (i = 0; i < g->nmembers; i++) {
		if (!g->members[i].present || g->members[i].peer.addr[3] != f->from)
			continue;
		f->pkt.child = g->members[i].low;
		f->pkt.cookie = g->members[i].cookie;
	}
	if (f->pkt.type == INC_PKT_CONTRIB)
		say_contrib(f, g);
	else if (f->pkt.type == INC_PKT_PROBE)
		say_probe(f, g);
	else if (f->pkt.type == INC_PKT_ABORT)
		say_error(f, g);
	else
		say_join(f, g);
}

/* A liar says something, to any node, as one that is above it or below. */
static void say_lie(bool same)
{
	struct frame f = { .pkt = { .group = GROUP, .span = 1 } };
	u8 how = read_u8(&env.r);
	const struct node *to;

	if (!pick_liar(&f.from))
		return;
	f.to = how % NODES;
	to = &env.node[f.to];
	if (!to->mem)
		return;
	if (to->parent == f.from)
		make_down(&f, &to->g);
	else
		make_up(&f, &to->g);
	if (f.from >= RANK_AT && f.pkt.type == INC_PKT_JOIN && !(how & 4))
		f.pkt.child = f.from - RANK_AT;
	for (how /= 64; how--;)
		lie_somehow(&f);
	tree_arrives(&f, same);
}

/* ---- What else happens --------------------------------------------------- */

static void all_turn(u32 blocks, bool probe)
{
	u32 i;

	for (i = 0; i < ALL_RANKS; i++)
		rank_turn(i, blocks, probe);
	tree_pump_beside();
}

/* What is next in the queue comes once more, or is lost, or overtaken by what is behind it. */
static void disturb_queue(u8 how)
{
	struct queue *q = &env.tree;
	struct frame *f = &q->frame[q->first % QUEUE], g;

	if (q->last - q->first < 2)
		return;
	if (how < 0x50) {
		send_again(f);
	} else if (how < 0xb0) {
		free(f->body);
		q->first++;
	} else {
		g = *f;
		*f = q->frame[(q->first + 1) % QUEUE];
		q->frame[(q->first + 1) % QUEUE] = g;
	}
}

static void run_on(u32 rounds)
{
	while (rounds--) {
		all_turn(OP_BLOCKS, true);
		tree_pump();
		env.now += 10 * NETINC_MS;
		tree_tick();
	}
}

/* The other group's ranks are never silent for long. */
static void pass_time(u64 us)
{
	u32 i;

	env.now += us;
	for (i = MAX_RANKS; i < ALL_RANKS; i++)
		rank_turn(i, 1, true);
	tree_pump_beside();
	tree_tick();
}

static void remove_node(u32 i)
{
	if (env.node[i].mem)
		netinc_group_remove(&env.node[i].g, env.now);
}

static void next_step(void)
{
	u8 what = read_u8(&env.r), n;

	switch (what % 16) {
	case 0 ... 1:
		n = what / 16;
		rank_turn(n % MAX_RANKS, read_u8(&env.r) % 32, n & 8);
		break;
	case 2:
		all_turn(what / 16, what & 0x80);
		break;
	case 3:
		for (n = 0; n <= what / 16; n++)
			tree_deliver(n && what & 0x80);
		break;
	case 4:
		tree_pump();
		break;
	case 5:
		disturb_queue(what);
		break;
	case 6 ... 11:
		say_lie(what & 0x80);
		break;
	case 12:
		pass_time(read_u16(&env.r) % 20000);
		break;
	case 13:
		pass_time((1 + what / 16) * 5 * NETINC_MS);
		break;
	case 14:
		env.no_fold = what & 0x10;
		env.no_hold = what & 0x20;
		break;
	default:
		if (what / 16 == 15)
			remove_node(read_u8(&env.r) % TREE_NODES);
		else
			run_on(what / 16 % 4);
		break;
	}
}

/* ---- Beginning and end --------------------------------------------------- */

static void configure(void)
{
	/*
	 * for no accumulator of block floats, for one, for one and a descriptor, for two and that
	 */
	static const u32 long_block[4] = { 128, 144, 176, 304 };
	u32 parent[TREE_NODES] = { NOBODY, 0, 0 }, window[TREE_NODES], up_block[TREE_NODES];
	u32 at[MAX_RANKS], room[TREE_NODES], i;
	u8 policy, kind = read_u8(&env.r), place = read_u8(&env.r);

	env.size = 2 + kind % (MAX_RANKS - 1);
	if (kind & 0x80)
		parent[2] = 1;
	for (i = 0; i < TREE_NODES; i++) {
		u8 how = read_u8(&env.r);

		window[i] = INC_MIN_WINDOW << how % 6;
		room[i] = how / 64;
	}
	for (i = 0; i < MAX_RANKS; i++)
		at[i] = place & 0x80 ? 1 + (place >> i & 1) : (i + (place >> i & 1)) % TREE_NODES;
	env.liars = read_u8(&env.r);
	/* ranks less often than nodes, which are more */
	env.liars = (env.liars & ((1u << TREE_NODES) - 1)) |
		    (env.liars & 0x80 ? (u32)read_u8(&env.r) << TREE_NODES : 0);
	policy = read_u8(&env.r);
	env.long_blocks = (policy & 0x38) == 0x28;
	for (i = 0; i < TREE_NODES; i++)
		up_block[i] = env.long_blocks ? long_block[room[i]] :
						INC_MIN_BLOCK + room[i] * INC_BLOCK_ALIGN;
	tree_begin(parent, window, up_block, policy);
	rank_start(at);
}

/* Most inputs would never get to the first epoch else. */
static void form_group(void)
{
	u8 rounds = read_u8(&env.r) % 32;

	/* the other group is there already */
	pass_time(1000);
	pass_time(1000);
	env.truth = true;
	run_on(rounds);
	env.truth = false;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u32 run = env.run + 1;
	u8 end;

	if (size > 4096)
		return 0;
	memset(env.node, 0, sizeof(env.node));
	env.asks = false;
	env.long_blocks = false;
	env.truth = false;
	env.mute = false;
	env.stalls = false;
	env.no_hold = false;
	env.no_fold = false;
	env.loads = 0;
	env.run = run;
	env.r = (struct reader){ data, size };
	env.now = 1000000;
	netinc_reduce_init(0);
	configure();
	end = read_u8(&env.r);
	env.asks = end & 8;
	form_group();
	while (env.r.left) {
		next_step();
		tree_check();
	}
	env.mute = end & 1;
	env.stalls = end & 4;
	rank_finish(end & 2);
	tree_end();
	return 0;
}
