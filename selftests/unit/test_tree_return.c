// SPDX-License-Identifier: GPL-2.0-only
/* Nodes of a tree to which a group returns: it gathers, and begins when all ranks have come. */
#include "nodes_env.h"

#define LINEAGE	0x7777u
#define MOVE	6u

static void begin_return(bool chain)
{
	struct netinc_settings settings = { .window = W, .dead_ms = DEAD,
					    .fallback = INC_FALLBACK_EDGE };
	u32 i;

	begin_tree(chain, 2, 1, 0, 2);
	for (i = 0; i < NODES; i++) {
		struct node *n = &net.node[i];
		struct netinc_group_cfg cfg = n->g.cfg;

		cfg.returns = true;
		cfg.move = MOVE;
		cfg.lineage = LINEAGE;
		cfg.settings = settings;
		free(n->mem);
		n->mem = calloc(1, netinc_group_bytes(RANKS, W));
		netinc_group_init(&n->g, &cfg, n->mem, &nodes_ops, &nodes_agg_ops);
	}
}

static struct inc_join join_body(u32 rank, u32 move, u64 next, u8 below)
{
	return (struct inc_join){ .size = cpu_to_be32(RANKS), .nonce = cpu_to_be32(100 + rank),
				  .next = cpu_to_be64(next), .block = cpu_to_be16(128),
				  .move = cpu_to_be32(move), .lineage = cpu_to_be64(LINEAGE),
				  .below = below, .fallback = INC_FALLBACK_EDGE,
				  .window = cpu_to_be16(W), .dead_ms = cpu_to_be32(DEAD) };
}

/* JOIN of a rank that returns, or would if all could. */
static int come(u32 rank, u32 move, u64 next, u8 below)
{
	struct netinc_pkt pkt = rank_pkt(rank, INC_PKT_JOIN);
	struct inc_join j = join_body(rank, move, next, below);
	int err;

	pkt.incarnation = 0;
	pkt.epoch = 9;
	err = rank_says(rank, &pkt, &j, sizeof(j), NULL);
	pump();
	return err;
}

static void ask_all(u32 move)
{
	u32 i;

	for (i = 0; i < RANKS; i++)
		expect(!come(i, move, 3 * i, INC_JOIN_RETURN | INC_JOIN_STALE), "rank %u", i);
}

static void come_all(u32 move)
{
	u32 i;

	for (i = 0; i < RANKS; i++)
		expect(!come(i, move, 40, INC_JOIN_RETURN), "rank %u", i);
}

static bool is_called(u32 rank)
{
	const struct inc_wait_pkt *w = &net.told[rank].wait;

	return net.told[rank].waits && !w->pause && be32_to_cpu(w->missing) == NETINC_NO_RANK;
}

static void expect_returned(u32 move)
{
	u32 i;

	expect_states(INC_GROUP_ACTIVE);
	for (i = 0; i < RANKS; i++) {
		const struct inc_ready *r = &net.told[i].ready;

		expect(net.told[i].readies && be64_to_cpu(r->start) == 40 &&
		       be32_to_cpu(r->move) == move && be64_to_cpu(r->lineage) == LINEAGE &&
		       netinc_ready_height(r) && net.told[i].pkt.epoch == 10,
		       "rank %u: %u READY, start %llu, move %u, epoch %u", i, net.told[i].readies,
		       (unsigned long long)be64_to_cpu(r->start), be32_to_cpu(r->move),
		       net.told[i].pkt.epoch);
	}
}

/* Ranks are elsewhere: when all have asked they are called, and nothing begins before they come. */
static void test_gathers(void)
{
	u32 chain, i;

	for (chain = 0; chain < 2; chain++) {
		begin_return(chain);
		for (i = 0; i < RANKS - 1; i++)
			expect(!come(i, MOVE, i, INC_JOIN_RETURN | INC_JOIN_STALE), "rank %u", i);
		wait_ms(50);
		expect(!is_called(0), "called though rank 3 has not asked");
		ask_all(MOVE);
		wait_ms(100);
		expect(is_called(0), "rank 0 is not called");
		expect_states(INC_GROUP_JOINING);
		come_all(MOVE);
		wait_ms(100);
		expect_returned(MOVE);
		for (i = 0; i < RANKS; i++)
			expect(!contrib(i, 40, 0, 5, 1u << (4 * i)), "rank %u", i);
		pump();
		expect(net.told[0].value[40 % BLOCKS] == 0x1111, "result");
		end_tree();
	}
}

/* Nobody has a result that others lack: they would be wanted for ever. */
static void test_same_block(void)
{
	begin_return(false);
	ask_all(MOVE);
	expect(!come(0, MOVE, 40, INC_JOIN_RETURN), "rank 0");
	expect(come(3, MOVE, 41, INC_JOIN_RETURN) == INC_REFUSE_NEXT, "another block");
	expect(!come(1, MOVE, 41, INC_JOIN_RETURN), "at another node");
	come(2, MOVE, 40, INC_JOIN_RETURN);
	come(3, MOVE, 40, INC_JOIN_RETURN);
	wait_ms(100);
	expect_states(INC_GROUP_JOINING);
	end_tree();
}

/* A later move begins it anew at all nodes, whoever was there; an older one is told of it. */
static void test_later_move(void)
{
	begin_return(true);
	ask_all(MOVE);
	expect(!come(0, MOVE, 40, INC_JOIN_RETURN), "rank 0");
	ask_all(MOVE + 3);
	expect(come(0, MOVE, 40, INC_JOIN_RETURN) == INC_REFUSE_MOVED, "an older move");
	wait_ms(100);
	come_all(MOVE + 3);
	wait_ms(100);
	expect_returned(MOVE + 3);
	end_tree();
}

/* What returns is apart from what moves: neither begins the other anew. */
static void test_apart(void)
{
	const struct netinc_group *g = &net.node[0].g;

	begin_return(false);
	ask_all(MOVE);
	expect(netinc_group_is_for(g, LINEAGE, MOVE, true), "not for who returns");
	expect(netinc_group_is_for(g, LINEAGE, MOVE + 3, true), "not for a later one");
	expect(!netinc_group_is_for(g, LINEAGE, MOVE + 1, false), "for who moves here");
	expect(!netinc_group_is_for(g, LINEAGE + 1, MOVE, true), "for another group");
	expect(come(2, MOVE + 1, 40, 0) == INC_REFUSE_BUSY, "a move here");
	come_all(MOVE);
	wait_ms(100);
	expect_returned(MOVE);
	expect(netinc_group_is_for(g, LINEAGE, MOVE, true), "not for who has lost READY");
	expect(!netinc_group_is_for(g, LINEAGE, MOVE + 3, true), "for the next return");
	end_tree();
}

/* Who does not ask any more is not there any more. */
static void test_goes(void)
{
	u32 i;

	begin_return(false);
	ask_all(MOVE);
	for (i = 0; i < 12; i++) {
		wait_ms(DEAD / 4);
		come(0, MOVE, 0, INC_JOIN_RETURN | INC_JOIN_STALE);
	}
	expect(net.node[2].g.joined == 1 && !net.node[1].g.joined, "ranks that are gone");
	expect(be32_to_cpu(net.told[0].wait.missing) != NETINC_NO_RANK, "rank 0 is called");
	end_tree();
}

/* Who has left asks no more, and says so: the others are not called then. */
static void test_left(void)
{
	struct netinc_error e = { .code = INC_ERR_RANK_ABORT, .resume = 103,
				  .rank = { 3, NETINC_NO_RANK } };
	struct netinc_pkt pkt = { .type = INC_PKT_ABORT, .group = 77, .span = 1, .child = 3,
				  .epoch = 9 };
	struct inc_error_pkt body;
	u32 i;

	begin_return(false);
	for (i = 0; i < RANKS; i++)
		if (i != 2)
			expect(!come(i, MOVE, 0, INC_JOIN_RETURN | INC_JOIN_STALE), "rank %u", i);
	netinc_error_build(&body, &e);
	expect(!rank_says(3, &pkt, &body, sizeof(body), NULL), "ABORT");
	wait_ms(100);
	expect(!come(2, MOVE, 0, INC_JOIN_RETURN | INC_JOIN_STALE), "rank 2");
	wait_ms(200);
	expect(!is_called(0), "rank 0 is called, and rank 3 does not come");
	end_tree();
}

/* Blocks are as long as they were: a way up that carries less by now leads nowhere. */
static void test_narrow(void)
{
	begin_return(false);
	net.node[1].g.cfg.up_block = 112;
	ask_all(MOVE);
	wait_ms(100);
	expect(!is_called(0) && !is_called(3), "called to where the group cannot form");
	expect(net.told[0].waits, "rank 0 is told nothing");
	end_tree();
}

/* The plan is that of before: where rank 0 is, nobody needs to know anew. */
static void test_keeps_fallback(void)
{
	struct netinc_peer local = { .addr = { 169, 254, 0, RANK_AT }, .family = NETINC_AF_INET,
				     .udp_port = cpu_to_be16(5227), .ifindex = 1 };
	struct netinc_pkt pkt = { .type = INC_PKT_JOIN, .group = 77, .span = 1, .epoch = 9 };
	struct inc_join j = join_body(0, MOVE, 40, INC_JOIN_RETURN);
	u64 detail;
	u32 i;

	begin_return(false);
	for (i = 1; i < RANKS; i++)
		expect(!come(i, MOVE, 40, INC_JOIN_RETURN), "rank %u", i);
	expect(!netinc_group_join(&net.node[1].g, &pkt, &j, &local, net.now, &detail), "rank 0");
	pump();
	wait_ms(100);
	expect_returned(MOVE);
	expect(net.told[3].ready.fallback == INC_FALLBACK_EDGE, "fallback %u",
	       net.told[3].ready.fallback);
	end_tree();
}

/* All at one node, which has formed the group: the next return does not begin this one anew. */
static void test_next_return(void)
{
	const struct netinc_group *g = &net.node[1].g;
	u32 i;

	begin_return(false);
	for (i = 0; i < RANKS; i++)
		net.at[i] = 1;
	come_all(MOVE);
	expect(g->state == INC_GROUP_ACTIVE && !g->levels, "state %u", g->state);
	expect(come(3, MOVE + 3, 40, INC_JOIN_RETURN) == INC_REFUSE_MOVED, "a later move");
	expect(g->state == INC_GROUP_ACTIVE && g->move == MOVE, "it begins anew");
	expect(!netinc_group_is_for(g, LINEAGE, MOVE + 3, true), "for the next return");
	end_tree();
}

/* A node that is refused begins nothing anew. */
static void test_refused_node(void)
{
	struct {
		struct inc_join join;
		__be32 ranks[1];
		struct inc_addr edge;
	} m = { .join = join_body(0, MOVE + 3, 40, INC_JOIN_RETURN | 1) };
	struct frame f = { .from = 2, .to = 0,
			   .pkt = { .type = INC_PKT_JOIN, .group = 77, .span = 1, .epoch = 9,
				    .len = sizeof(m) } };
	const struct netinc_group *g = &net.node[0].g;
	u32 joined;

	begin_return(false);
	ask_all(MOVE);
	wait_ms(50);
	joined = g->joined;
	memcpy(f.body, &m, sizeof(m));
	expect(at_node(&net.node[0], &f) == INC_REFUSE_SIZE, "no ranks are below it");
	netinc_bit_set(m.ranks, 1);
	memcpy(f.body, &m, sizeof(m));
	expect(at_node(&net.node[0], &f) == INC_REFUSE_SIZE, "another rank is the lowest");
	netinc_bit_set(m.ranks, 0);
	m.join.window = cpu_to_be16(7);
	memcpy(f.body, &m, sizeof(m));
	expect(at_node(&net.node[0], &f) == INC_REFUSE_SIZE, "its window is none");
	expect(g->move == MOVE && g->joined == joined && joined == RANKS, "%u ranks at move %u",
	       g->joined, g->move);
	end_tree();
}

/* Nor has anybody in a new group, whatever its ranks retain later. */
static void test_new_group(void)
{
	begin_tree(false, 0, 0, 0, 0);
	net.node[0].g.cfg.settings.fallback = INC_FALLBACK_EDGE;
	expect(!join_from(0, 3), "rank 0");
	expect(join_from(1, 2) == INC_REFUSE_NEXT, "a block before that of rank 0");
	expect(join_from(1, 4) == INC_REFUSE_NEXT, "a block after that of rank 0");
	expect(!join_from(1, 3), "rank 1");
	end_tree();
}

static const struct ktap_test tests[] = {
	KTAP(test_gathers), KTAP(test_new_group), KTAP(test_same_block), KTAP(test_later_move),
	KTAP(test_apart), KTAP(test_goes), KTAP(test_left), KTAP(test_narrow),
	KTAP(test_keeps_fallback), KTAP(test_next_return), KTAP(test_refused_node),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
