// SPDX-License-Identifier: GPL-2.0-only
/* Lies in a tree of nodes: of a child that is a node; and who may send sums. */
#include "nodes_env.h"
#include "reduce/reduce.h"

#define INVALID	(-INC_C_DROP_MALFORMED)

/* A packet to node 0 as node 1, its child, would send it. */
static struct frame as_child(u8 type)
{
	const struct netinc_group *g = &net.node[1].g;

	return (struct frame){ .from = 1, .to = 0,
			       .pkt = { .type = type, .group = 77, .span = 1, .epoch = g->epoch,
					.incarnation = g->up.incarnation, .child = g->up.child,
					.cookie = g->up.up_cookie } };
}

static int say_abort(u64 block, u32 psn, u16 code, u32 resume, u32 a, u32 b)
{
	struct netinc_error e = { .block = block, .code = code, .resume = resume, .opseq = 1,
				  .rank = { a, b } };
	struct frame f = as_child(INC_PKT_ABORT);

	f.pkt.psn = psn;
	f.pkt.len = sizeof(struct inc_error_pkt);
	netinc_error_build((void *)f.body, &e);
	return at_node(&net.node[0], &f);
}

static void test_lying_aborts(void)
{
	const struct netinc_group *g = &net.node[0].g;

	form_tree(false, 1, 2, 1, 2);
	reduce(0, 0);
	expect(say_abort(1, 1, INC_ERR_NONE, 2, 0, 2) == INVALID, "no code");
	expect(say_abort(1, 1, INC_ERR_MAX + 1, 2, 0, 2) == INVALID, "unknown code");
	expect(say_abort(1, 2, INC_ERR_MISMATCH, 2, 0, 2) == INVALID, "another psn");
	expect(say_abort(1, 1, INC_ERR_MISMATCH, 2, 0, 1) == INVALID, "a rank of another node");
	expect(say_abort(1, 1, INC_ERR_MISMATCH, 2, 0, 77) == INVALID, "nobody");
	expect(say_abort(1, 1, INC_ERR_RANK_LATE, 0, 3, NETINC_NO_RANK) == INVALID, "not its own");
	expect(g->state == INC_GROUP_ACTIVE && !g->reported.code, "state %u", g->state);
	say_abort(0, 0, INC_ERR_MISMATCH, 2, 0, 2);
	say_abort(1 + W, 1 + W, INC_ERR_MISMATCH, 2, 0, 2);
	say_abort(~0ull, ~0u, INC_ERR_MISMATCH, 2, 0, 2);
	expect(g->state == INC_GROUP_ACTIVE && !g->reported.code, "a block that cannot be");
	expect(!say_abort(1, 1, INC_ERR_MISMATCH, 2, 0, 2), "a good one");
	expect(!contrib(1, 1, 1, 5, 1) && !contrib(3, 1, 1, 5, 1), "the others");
	pump();
	expect_error(1, INC_ERR_MISMATCH, 0, 2);
	end_tree();
}

/* A rank has gone that is not below the child, or is none: the group ends, and names nobody. */
static void test_others_gone(void)
{
	static const u32 ranks[] = { 3, 77 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ranks); i++) {
		form_tree(false, 1, 2, 1, 2);
		reduce(0, 0);
		expect(!say_abort(1, 1, INC_ERR_RANK_DEAD, 0, ranks[i], NETINC_NO_RANK), "ABORT");
		pump();
		expect_states(INC_GROUP_FAILED);
		expect_error(1, INC_ERR_RANK_DEAD, NETINC_NO_RANK, NETINC_NO_RANK);
		end_tree();
	}
}

/* A rank below has left, says the child, about a block that has its contribution, or cannot be. */
static void test_left_about_nothing(void)
{
	static const u64 blocks[] = { 0, 1, 1 + W, 1ull << 40, ~0ull };
	const struct netinc_group *g = &net.node[0].g;
	u64 b;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(blocks); i++) {
		form_tree(false, 1, 2, 1, 2);
		reduce(0, 0);
		expect(!contrib(0, 1, 1, 5, 1) && !contrib(2, 1, 1, 5, 1), "block 1 goes up");
		pump();
		b = blocks[i];
		expect(say_abort(b, (u32)b, INC_ERR_LEFT, 2, 2, NETINC_NO_RANK) == INVALID,
		       "case %u: the group is to go on", i);
		expect(say_abort(b, (u32)b, INC_ERR_LEFT, 0, 1, NETINC_NO_RANK) == INVALID,
		       "case %u: a rank of another node", i);
		expect(g->state == INC_GROUP_ACTIVE && !g->reported.code, "case %u: state %u", i,
		       g->state);
		expect(!say_abort(b, (u32)b, INC_ERR_LEFT, 0, 2, 0), "case %u: LEFT", i);
		pump();
		expect_states(INC_GROUP_FAILED);
		expect_error(0, INC_ERR_LEFT, 2, NETINC_NO_RANK);
		expect_error(1, INC_ERR_LEFT, 2, NETINC_NO_RANK);
		end_tree();
	}
}

/* About one that waits for the child: it is decided there, when all have contributed. */
static void test_left_about_block(void)
{
	const struct netinc_group *g = &net.node[0].g;

	form_tree(false, 1, 2, 1, 2);
	expect(!say_abort(0, 0, INC_ERR_LEFT, 0, 2, NETINC_NO_RANK), "LEFT");
	pump();
	expect(g->state == INC_GROUP_ACTIVE, "state %u", g->state);
	expect(!contrib(1, 0, 0, 5, 1) && !contrib(3, 0, 0, 5, 1), "the others");
	pump();
	expect_states(INC_GROUP_FAILED);
	expect_error(1, INC_ERR_LEFT, 2, NETINC_NO_RANK);
	end_tree();
}

/* Said to a node that is not the root, it is an error of that node's oldest block. */
static void test_left_below(void)
{
	const struct netinc_group *g = &net.node[2].g;
	struct netinc_error e = { .block = ~0ull, .code = INC_ERR_LEFT,
				  .rank = { 3, NETINC_NO_RANK } };
	struct frame f = { .from = 2, .to = 1, .pkt = { .type = INC_PKT_ABORT, .group = 77 } };
	u32 i;

	form_tree(true, 2, 1, 0, 2);
	f.pkt.span = 1;
	f.pkt.epoch = g->epoch;
	f.pkt.incarnation = g->up.incarnation;
	f.pkt.child = g->up.child;
	f.pkt.cookie = g->up.up_cookie;
	f.pkt.psn = ~0u;
	f.pkt.len = sizeof(struct inc_error_pkt);
	netinc_error_build((void *)f.body, &e);
	expect(!at_node(&net.node[1], &f), "LEFT");
	pump();
	expect(net.node[0].g.state == INC_GROUP_ACTIVE, "state %u", net.node[0].g.state);
	for (i = 0; i < RANKS; i++)
		contrib(i, 0, 0, 5, 1);
	pump();
	expect_states(INC_GROUP_FAILED);
	for (i = 0; i < RANKS; i++)
		expect_error(i, INC_ERR_LEFT, 3, NETINC_NO_RANK);
	end_tree();
}

static int join_as_child(u8 below, u16 window, u32 child, u32 ranks, u64 *detail)
{
	struct {
		struct inc_join join;
		__be32 ranks[INC_MAX_RANKS / 32];
		struct inc_addr edge;
	} m = { .join = { .size = cpu_to_be32(RANKS), .nonce = cpu_to_be32(5),
			  .block = cpu_to_be16(128), .below = below,
			  .window = cpu_to_be16(window) },
		.ranks = { cpu_to_be32(ranks) } };
	struct netinc_pkt pkt = { .type = INC_PKT_JOIN, .group = 77, .span = 1, .child = child };
	struct netinc_peer peer = peer_of(1);

	return netinc_group_join(&net.node[0].g, &pkt, &m.join, &peer, net.now, detail);
}

static void test_lying_joins(void)
{
	u64 detail;

	begin_tree(false, 0, 0, 0, 0);
	join(0);
	expect(join_as_child(INC_MAX_HEIGHT, W, 1, 2, &detail) == INC_REFUSE_TREE &&
	       detail == INC_MAX_HEIGHT - 1, "too high");
	expect(join_as_child(1, 3, 1, 2, &detail) == INC_REFUSE_SIZE, "window 3");
	expect(join_as_child(1, 12, 1, 2, &detail) == INC_REFUSE_SIZE, "window 12");
	expect(join_as_child(1, 0, 1, 2, &detail) == INC_REFUSE_SIZE, "window 0");
	expect(join_as_child(1, W, 1, 0, &detail) == INC_REFUSE_SIZE, "no ranks");
	expect(join_as_child(1, W, 2, 6, &detail) == INC_REFUSE_SIZE, "not the lowest");
	expect(join_as_child(1, W, 2, 2, &detail) == INC_REFUSE_SIZE, "not its own");
	expect(join_as_child(1, W, RANKS, 1 << RANKS, &detail) == INC_REFUSE_SIZE, "no such rank");
	expect(join_as_child(1, W, 0, 1, &detail) == INC_REFUSE_RANK_TAKEN, "rank 0 is here");
	expect(join_as_child(1, W, 1, 2 | 1, &detail) == INC_REFUSE_SIZE, "and is lower");
	expect(net.node[0].g.joined == 1, "%u ranks", net.node[0].g.joined);
	expect(!join_as_child(1, W, 1, 2, &detail) && net.node[0].g.joined == 2, "a good one");
	end_tree();
}

/* A node joins a group that forms for the first time, and none that has been anywhere. */
static void test_joins_too_late(void)
{
	struct netinc_group *g = &net.node[0].g;
	u64 detail = 1;

	begin_tree(false, 0, 0, 0, 0);
	join(0);
	g->cfg.settings.late_policy = INC_LATE_PARTIAL;
	expect(join_as_child(1, W, 1, 2, &detail) == INC_REFUSE_TREE && !detail, "late ranks");
	g->cfg.settings.late_policy = INC_LATE_WAIT;
	g->cfg.spread = true;
	expect(join_as_child(1, W, 1, 2, &detail) == INC_REFUSE_TREE, "at the edge");
	g->cfg.spread = false;
	g->epoch = 1;
	expect(join_as_child(1, W, 1, 2, &detail) == INC_REFUSE_TREE, "it has been here");
	g->epoch = 0;
	expect(g->joined == 1 && !g->owner[1], "%u ranks have joined", g->joined);
	join(1);
	join(2);
	join(3);
	expect(g->state == INC_GROUP_ACTIVE && g->nmembers == RANKS, "state %u", g->state);
	expect(join_as_child(1, W, 1, 2, &detail) == INC_REFUSE_BUSY, "it has formed");
	expect(g->members[1].peer.addr[3] == RANK_AT + 1 && !g->members[1].height,
	       "rank 1 is somebody else");
	end_tree();
}

/* Well-formed JOINs of a node in groups that move, and that go on without those who are gone. */
static void test_joins_moved(void)
{
	struct {
		struct inc_join join;
		__be32 ranks[INC_MAX_RANKS / 32];
		struct inc_addr edge;
	} m = { .join = { .size = cpu_to_be32(RANKS), .nonce = cpu_to_be32(5),
			  .block = cpu_to_be16(128), .below = 1, .window = cpu_to_be16(W),
			  .lineage = cpu_to_be64(7), .move = cpu_to_be32(1),
			  .fallback = INC_FALLBACK_EDGE },
		.ranks = { cpu_to_be32(2) } };
	struct netinc_pkt pkt = { .type = INC_PKT_JOIN, .group = 77, .span = 1, .child = 1 };
	struct netinc_group *g = &net.node[0].g;
	struct netinc_peer peer = peer_of(1);
	u64 detail;
	int code;

	begin_tree(false, 0, 0, 0, 0);
	g->cfg.settings.fallback = INC_FALLBACK_EDGE;
	g->cfg.move = 1;
	g->move = 1;
	code = netinc_group_join(g, &pkt, &m.join, &peer, net.now, &detail);
	expect(code == INC_REFUSE_TREE, "it moves: %d", code);
	end_tree();
	begin_tree(false, 0, 0, 0, 0);
	g->cfg.ancestor = 5;
	g->old_size = RANKS;
	m.join.flags |= INC_JOIN_SHRINK;
	m.join.move = 0;
	m.join.lineage = cpu_to_be64(5);
	code = netinc_group_join(g, &pkt, &m.join, &peer, net.now, &detail);
	expect(code == INC_REFUSE_TREE, "it shrinks: %d", code);
	end_tree();
}

/* Accumulators come from nodes only. */
static void test_wide(void)
{
	struct netinc_pkt pkt;
	struct load *l;

	form_tree(false, 1, 2, 1, 2);
	l = load_new(1);
	pkt = rank_pkt(0, INC_PKT_CONTRIB);
	pkt.flags = INC_F_PAYLOAD | INC_F_WANT | INC_F_WIDE;
	pkt.dtype = INC_TYPE_F16;
	pkt.dop = INC_OP_SUM;
	pkt.len = 8;
	expect(rank_says(0, &pkt, NULL, 0, l) == INVALID, "of a rank");
	pkt.flags = INC_F_PAYLOAD | INC_F_WANT;
	expect(!rank_says(0, &pkt, NULL, 0, l), "elements");
	pkt.child = 2;
	pkt.cookie = be64_to_cpu(net.told[2].ready.up_cookie);
	expect(!rank_says(2, &pkt, NULL, 0, l), "the other rank's");
	load_put(l);
	expect((net.queue[net.first % QUEUE].pkt.flags & INC_F_WIDE) &&
	       net.queue[net.first % QUEUE].pkt.len == 16, "a partial of %u bytes",
	       net.queue[net.first % QUEUE].pkt.len);
	end_tree();
}

/*
 * What would be no accumulators, what would go up longer than a block, and results of an older
 * epoch, which nobody retains here.
 */
static void test_lying_width(void)
{
	struct netinc_pkt pkt;
	struct load *l;

	form_tree(false, 1, 2, 1, 2);
	l = load_new(1);
	pkt = rank_pkt(0, INC_PKT_CONTRIB);
	pkt.flags = INC_F_PAYLOAD | INC_F_WANT;
	pkt.dtype = INC_TYPE_F16;
	pkt.dop = INC_OP_SUM;
	pkt.len = net.node[1].g.block;
	expect(rank_says(0, &pkt, NULL, 0, l) == INVALID, "twice as long as a block");
	pkt.len = 8;
	pkt.flags |= INC_F_FINAL;
	expect(rank_says(0, &pkt, NULL, 0, l) == INVALID, "FINAL");
	pkt.flags = INC_F_PAYLOAD | INC_F_WANT | INC_F_WIDE;
	pkt.dtype = INC_TYPE_U32;
	pkt.dop = INC_OP_BAND;
	net.node[1].g.members[0].height = 1;
	expect(rank_says(0, &pkt, NULL, 0, l) == INVALID, "no accumulators are wider");
	net.node[1].g.members[0].height = 0;
	load_put(l);
	end_tree();
}

/* A contribution of rank 0 to block 0, at a node whose blocks have @block bytes. */
static int give_blocks(u32 block, u8 type, u8 op, u16 len, u16 flags)
{
	struct netinc_group *g = &net.node[1].g;
	struct netinc_pkt pkt;
	struct load *l;
	int err;

	form_tree(false, 1, 2, 1, 2);
	g->block = block;
	g->agg.block = block;
	g->members[0].height = !!(flags & INC_F_WIDE);
	l = load_new(1);
	l->has_desc = flags & INC_F_DESC;
	pkt = rank_pkt(0, INC_PKT_CONTRIB);
	pkt.flags = INC_F_PAYLOAD | INC_F_WANT | flags;
	pkt.dtype = type;
	pkt.dop = op;
	pkt.len = len;
	err = rank_says(0, &pkt, NULL, 0, l);
	g->members[0].height = 0;
	load_put(l);
	end_tree();
	return err;
}

/*
 * Block floats, of which an accumulator is four or eight times as long: what does not fit, what is
 * no whole element, nor whole accumulator, and what nobody folds.
 */
static void test_lying_blocks(void)
{
	static const struct {
		u16 block;
		u8 type, op;
		u16 len, flags;
		int err;
	} cases[] = {
		{ 128, INC_TYPE_MXF8E4M3, INC_OP_SUM, 33, 0, INVALID },
		{ 144, INC_TYPE_MXF8E4M3, INC_OP_SUM, 33, 0, 0 },
		{ 144, INC_TYPE_MXF8E4M3, INC_OP_SUM, 33, INC_F_DESC, INVALID },
		{ 176, INC_TYPE_MXF8E4M3, INC_OP_SUM, 33, INC_F_DESC, 0 },
		{ 128, INC_TYPE_MXF4E2M1, INC_OP_MAX, 17, 0, INVALID },
		{ 144, INC_TYPE_MXF4E2M1, INC_OP_MAX, 17, 0, 0 },
		{ 160, INC_TYPE_MXF4E2M1, INC_OP_MAX, 17, INC_F_DESC, INVALID },
		{ 144, INC_TYPE_MXF4E2M1, INC_OP_MAX, 34, 0, INVALID },
		{ 144, INC_TYPE_MXF4E2M1, INC_OP_MAX, 16, 0, INVALID },
		{ 144, INC_TYPE_MXI8, INC_OP_AVG, 32, 0, INVALID },
		{ 144, INC_TYPE_MXI8, INC_OP_AVG, 132, INC_F_WIDE, 0 },
		{ 144, INC_TYPE_MXI8, INC_OP_AVG, 136, INC_F_WIDE, INVALID },
		{ 144, INC_TYPE_MXF4E2M1, INC_OP_MIN, 136, INC_F_WIDE, 0 },
		{ 144, INC_TYPE_MXF4E2M1, INC_OP_MIN, 132, INC_F_WIDE, INVALID },
		{ 144, INC_TYPE_MXF4E2M1, INC_OP_MIN, 68, INC_F_WIDE, INVALID },
		{ 128, INC_TYPE_MXF4E2M1, INC_OP_MIN, 136, INC_F_WIDE, INVALID },
		{ 144, INC_TYPE_MXF4E2M1, INC_OP_MIN, 136, INC_F_WIDE | INC_F_DESC, INVALID },
		/* there is no product: no accumulators, and elements that cannot be folded */
		{ 144, INC_TYPE_MXI8, INC_OP_PROD, 132, INC_F_WIDE, INVALID },
		{ 144, INC_TYPE_MXI8, INC_OP_PROD, 132, 0, 0 },
		{ 144, __INC_TYPE_MAX, INC_OP_SUM, 33, 0, 0 },
		{ 144, __INC_TYPE_MAX, INC_OP_SUM, 132, INC_F_WIDE, INVALID },
	};
	u32 i;
	int err;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		err = give_blocks(cases[i].block, cases[i].type, cases[i].op, cases[i].len,
				  cases[i].flags);
		expect(err == cases[i].err, "case %u: %d", i, err);
	}
}

/* To block 0 of operation 0: with a descriptor, or with so many bytes of elements. */
static void give_part(u32 rank, u8 type, u16 len)
{
	struct netinc_pkt pkt = rank_pkt(rank, INC_PKT_CONTRIB);
	struct load *l = load_new(1);

	pkt.flags = INC_F_WANT | (len ? INC_F_PAYLOAD : INC_F_DESC);
	pkt.dtype = len ? type : INC_TYPE_NONE;
	pkt.dop = len ? INC_OP_SUM : INC_OP_NONE;
	pkt.len = len;
	l->has_desc = !len;
	l->desc.count = cpu_to_be64(7);
	expect(!rank_says(rank, &pkt, NULL, 0, l), "rank %u, %u bytes", rank, len);
	load_put(l);
}

/*
 * Two ranks below a node: one sends the descriptor, the other one the elements. The block goes up
 * if both are no longer than a block, also as accumulators; else the ranks disagree, and the group
 * gets over that.
 */
static void test_descriptor_apart(void)
{
	static const struct {
		u8 type;
		u16 len, up;
	} cases[] = {
		{ INC_TYPE_I64, 96, 96 }, { INC_TYPE_I64, 104, 0 }, { INC_TYPE_I64, 128, 0 },
		{ INC_TYPE_F16, 48, 96 }, { INC_TYPE_F16, 50, 0 }, { INC_TYPE_F16, 64, 0 },
	};
	const struct netinc_pkt *up;
	u32 i, first;

	for (i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		first = i % 2;
		form_tree(false, 1, 2, 1, 2);
		expect(net.node[1].g.block == 128, "blocks of %u bytes", net.node[1].g.block);
		if (first)
			give_part(2, cases[i / 2].type, cases[i / 2].len);
		give_part(0, INC_TYPE_NONE, 0);
		if (!first)
			give_part(2, cases[i / 2].type, cases[i / 2].len);
		expect(net.last - net.first == 1, "case %u: %u packets go up", i,
		       net.last - net.first);
		up = &net.queue[net.first % QUEUE].pkt;
		if (cases[i / 2].up) {
			expect(up->type == INC_PKT_CONTRIB && up->len == cases[i / 2].up &&
			       (up->flags & INC_F_DESC), "case %u: type %u, %u bytes", i, up->type,
			       up->len);
			end_tree();
			continue;
		}
		expect(up->type == INC_PKT_ABORT, "case %u: type %u", i, up->type);
		contrib(1, 0, 0, 5, 1);
		contrib(3, 0, 0, 5, 1);
		pump();
		expect_error(1, INC_ERR_MISMATCH, 0, 2);
		expect_states(INC_GROUP_RESYNC);
		end_tree();
	}
}

static const struct ktap_test tests[] = {
	KTAP(test_lying_aborts), KTAP(test_others_gone),
	KTAP(test_left_about_nothing),
	KTAP(test_left_about_block),
	KTAP(test_left_below),
	KTAP(test_lying_joins),
	KTAP(test_joins_too_late),
	KTAP(test_joins_moved),
	KTAP(test_wide),
	KTAP(test_lying_width),
	KTAP(test_lying_blocks),
	KTAP(test_descriptor_apart),
};

int main(int argc, char **argv)
{
	netinc_reduce_init(0);
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
