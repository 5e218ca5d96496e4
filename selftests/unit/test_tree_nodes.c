// SPDX-License-Identifier: GPL-2.0-only
/* A group that several nodes serve: how it forms, reduces, fails and goes on. */
#include "nodes_env.h"
#include "reduce/reduce.h"
#include "tree_order.h"

/* The lowest node that all come to is the root, and its parent need not wait for it. */
static void test_all_local(void)
{
	u32 i;

	form_tree(true, 2, 2, 2, 2);
	expect(net.node[2].g.state == INC_GROUP_ACTIVE && net.node[2].g.agg.root, "no root");
	for (i = 0; i < RANKS; i++)
		expect(!net.told[i].ready.height, "height of rank %u", i);
	expect(!net.node[1].g.joined && !net.node[0].g.joined, "somebody waits for them");
	expect(net.node[2].g.up.state == NETINC_UPLINK_NONE, "it still asks");
	end_tree();

	form_tree(true, 1, 2, 2, 2);
	expect(net.node[1].g.agg.root && !net.node[2].g.agg.root, "the wrong root");
	expect(!net.node[0].g.joined, "somebody waits for them");
	end_tree();
}

/* A parent that says nothing does not matter to them either, and then counts as silent no more. */
static void test_silent_parent(void)
{
	const struct netinc_uplink *up = &net.node[1].g.up;
	u32 i;

	begin_tree(false, 1, 1, 1, 1);
	net.lose_from = 0;
	net.lose = ~0u;
	for (i = 0; i < 8; i++) {
		join(0);
		wait_ms(100);
	}
	expect(up->state == NETINC_UPLINK_ASKING && up->unanswered >= 3, "%u are unanswered",
	       up->unanswered);
	for (i = 0; i < RANKS; i++)
		join(i);
	wait_ms(50);
	expect(net.node[1].g.state == INC_GROUP_ACTIVE && net.node[1].g.agg.root, "state %u",
	       net.node[1].g.state);
	expect(up->state == NETINC_UPLINK_NONE && !up->unanswered, "state %u, %u are unanswered",
	       up->state, up->unanswered);
	end_tree();
}

/* The parent takes no nodes, which does not matter to ranks that all come to one, and soon. */
static void test_refused(void)
{
	u32 i;

	begin_tree(false, 1, 1, 1, 1);
	net.node[0].g.cfg.settings.late_policy = INC_LATE_PARTIAL;
	join(0);
	wait_ms(50);
	expect(net.node[1].g.up.refused == INC_REFUSE_TREE, "refused: %u",
	       net.node[1].g.up.refused);
	for (i = 1; i < RANKS; i++)
		join(i);
	wait_ms(50);
	expect(net.node[1].g.state == INC_GROUP_ACTIVE && net.node[1].g.agg.root, "no root");
	/* long after that an operation fails, and all come back: nobody above is needed */
	ask_for(2 * DEAD, 0);
	disagree(3, 0, 0);
	ask_for(100, 0);
	expect(net.node[1].g.state == INC_GROUP_RESYNC, "state %u", net.node[1].g.state);
	for (i = 0; i < RANKS; i++)
		expect(!join_from(i, 0), "rank %u is refused", i);
	pump();
	expect(net.node[1].g.state == INC_GROUP_ACTIVE && net.node[1].g.epoch == 2, "epoch %u",
	       net.node[1].g.epoch);
	end_tree();

	begin_tree(false, 1, 1, 1, 1);
	net.node[0].g.cfg.settings.late_policy = INC_LATE_PARTIAL;
	join(0);
	wait_ms(DEAD / 2);
	join(0);
	wait_ms(DEAD / 2 + 100);
	expect(join_from(1, 0) == INC_REFUSE_TREE, "for ever");
	end_tree();
}

/* Nodes hand on which stripe it is; to one with another number of stripes they are no children. */
static void test_stripes(void)
{
	u32 i;

	begin_tree(false, 0, 1, 2, 1);
	net.stripe = INC_STRIPE(1, 2);
	for (i = 0; i < NODES; i++)
		net.node[i].g.cfg.stripe = net.stripe;
	for (i = 0; i < RANKS; i++)
		join(i);
	wait_ms(50);
	for (i = 0; i < 3; i++)
		expect(net.node[i].g.state == INC_GROUP_ACTIVE && net.node[i].g.levels == 1,
		       "node %u: state %u", i, net.node[i].g.state);
	end_tree();

	begin_tree(false, 0, 1, 2, 1);
	net.stripe = INC_STRIPE(1, 2);
	for (i = 1; i < NODES; i++)
		net.node[i].g.cfg.stripe = net.stripe;
	net.node[0].g.cfg.stripe = INC_STRIPE(1, 3);
	join(1);
	wait_ms(50);
	expect(net.node[1].g.up.refused == INC_REFUSE_STRIPES &&
	       net.node[1].g.up.refuse_detail == 3, "refused: %u", net.node[1].g.up.refused);
	expect(!net.node[0].g.joined, "it is a child");
	end_tree();
}

/* Who is missing in a later epoch the node says that all ranks are at, not a parent of long ago. */
static void test_who_is_missing(void)
{
	const struct inc_wait_pkt *wait = &net.told[1].wait;
	u32 i;

	begin_tree(false, 1, 1, 1, 1);
	join(0);
	wait_ms(300);
	join(0);
	expect(be32_to_cpu(net.told[0].wait.joined) == 1 &&
	       be32_to_cpu(net.told[0].wait.missing) == 1, "the parent says: %u joined, %u missing",
	       be32_to_cpu(net.told[0].wait.joined), be32_to_cpu(net.told[0].wait.missing));
	for (i = 1; i < RANKS; i++)
		join(i);
	disagree(3, 0, 0);
	ask_for(100, 0);
	join(1);
	join(2);
	join(1);
	expect(be32_to_cpu(wait->joined) == RANKS && !be32_to_cpu(wait->missing),
	       "the node says: %u joined, %u missing", be32_to_cpu(wait->joined),
	       be32_to_cpu(wait->missing));
	expect(be32_to_cpu(wait->pause), "JOIN is to come again at once");
	end_tree();
}

/* Its lowest rank is the number of a node: that changes while ranks come and go. */
static void test_lowest_changes(void)
{
	struct netinc_group *top = &net.node[0].g;

	begin_tree(false, 0, 1, 2, 1);
	join(3);
	expect(top->members[3].present && top->members[3].height == 1, "not under its number");
	join(1);
	wait_ms(30);
	expect(top->members[1].present && !top->members[3].present && top->joined == 2,
	       "it has not moved");
	expect(net.node[0].renumbered == 1 && netinc_children_has(top, 1, 3), "nor its ranks");
	expect(!abort_rank(1, INC_ERR_RANK_ABORT), "rank 1 goes");
	wait_ms(250);
	expect(top->members[3].present && !top->members[1].present && top->joined == 1,
	       "it has not moved back");
	join(0);
	join(2);
	expect(net.node[0].g.state == INC_GROUP_JOINING, "without rank 1");
	net.at[1] = 0;
	join(1);
	wait_ms(50);
	expect_states(INC_GROUP_ACTIVE);
	end_tree();
}

/* Nobody is below two nodes. The second one goes on asking. */
static void test_overlap(void)
{
	u32 i;

	begin_tree(false, 0, 1, 1, 2);
	join(1);
	join(2);
	wait_ms(30);
	join(3);
	net.at[2] = 2;
	expect(!join_from(2, 0), "rank 2 also goes to another node");
	wait_ms(300);
	join(0);
	wait_ms(100);
	expect(net.node[0].g.state == INC_GROUP_JOINING, "it forms with one rank twice");
	expect(net.node[2].g.up.state == NETINC_UPLINK_ASKING, "state %u",
	       net.node[2].g.up.state);
	net.at[2] = 1;
	expect(!abort_rank(2, INC_ERR_RANK_ABORT), "it leaves the first one");
	wait_ms(250);
	net.at[2] = 2;
	for (i = 0; i < RANKS; i++)
		join(i);
	wait_ms(100);
	expect_states(INC_GROUP_ACTIVE);
	expect(net.node[0].g.nmembers == 3, "%u children", net.node[0].g.nmembers);
	end_tree();
}

/* A node whose last word is lost is called before the group forms with it. */
static void test_ghost(void)
{
	u32 i;

	begin_tree(false, 1, 1, 1, 1);
	join(0);
	wait_ms(10);
	net.lose_type = INC_PKT_ABORT;
	net.lose_from = 1;
	net.lose = 1;
	for (i = 1; i < RANKS; i++)
		join(i);
	wait_ms(30);
	expect(net.node[1].g.agg.root && net.node[0].g.joined, "no ghost");
	/* others come to the parent: of another run of the group */
	for (i = 1; i < RANKS; i++)
		net.at[i] = 0;
	memset(net.told, 0, sizeof(net.told));
	for (i = 1; i < RANKS; i++)
		join(i);
	wait_ms(50);
	expect(net.node[0].g.state == INC_GROUP_JOINING, "it forms with a ghost");
	expect(!net.node[0].g.owner[0] && net.node[0].g.joined == 3,
	       "the ghost is there still: %u, %u ranks", net.node[0].g.owner[0],
	       net.node[0].g.joined);
	end_tree();
}

static void expect_sums(u64 block)
{
	u32 i;

	for (i = 0; i < RANKS; i++)
		expect(net.told[i].results[block % BLOCKS] &&
		       net.told[i].value[block % BLOCKS] == 0x1111,
		       "rank %u has %u results of block %llu: %#llx", i,
		       net.told[i].results[block % BLOCKS], (unsigned long long)block,
		       (unsigned long long)net.told[i].value[block % BLOCKS]);
}

static void test_reduce(void)
{
	u64 b;
	u32 i;

	form_tree(true, 2, 1, 0, 2);
	for (b = 0; b < 3 * W; b++) {
		reduce(b, (u32)b);
		expect_sums(b);
	}
	expect(net.node[0].g.agg.una == 3 * W && net.node[2].g.agg.una == 3 * W, "una");
	for (i = 1; i < NODES; i++)
		expect(net.node[i].g.counters[INC_C_RESULTS] == 3 * W, "node %u: %llu results", i,
		       (unsigned long long)net.node[i].g.counters[INC_C_RESULTS]);
	end_tree();
}

/* Of every kind of packet between nodes the first is lost. */
static void test_loss(void)
{
	static const struct {
		u8 type;
		u32 from;
	} lost[] = {
		{ INC_PKT_CONTRIB, 1 }, { INC_PKT_CONTRIB, 2 }, { INC_PKT_RESULT, 0 },
		{ INC_PKT_RESULT, 1 }, { INC_PKT_STATUS, 0 }, { INC_PKT_PROBE, 1 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(lost); i++) {
		form_tree(true, 2, 1, 0, 2);
		/* nobody PROBEs where nothing else is lost */
		net.lose_contrib = lost[i].type == INC_PKT_STATUS || lost[i].type == INC_PKT_PROBE;
		net.lose_type = lost[i].type;
		net.lose_from = lost[i].from;
		net.lose = 1;
		reduce(0, 0);
		reduce(1, 1);
		ask_for(200, 0);
		expect(!net.lose, "case %u: it has not been lost", i);
		expect_sums(0);
		expect_sums(1);
		end_tree();
	}
}

/* However long a rank was late: results lost after that are asked for once a round trip. */
static void test_loss_after_late(void)
{
	u32 i;

	form_tree(false, 1, 2, 0, 1);
	for (i = 0; i < RANKS; i++)
		expect(i == 2 || !contrib(i, 0, 0, 5, 1u << (4 * i)), "rank %u", i);
	ask_for(20000, 0);
	expect(!net.told[0].results[0], "a result without rank 2");
	net.lose_type = INC_PKT_RESULT;
	net.lose_from = 0;
	net.lose = 8;
	expect(!contrib(2, 0, 0, 5, 0x100), "rank 2");
	ask_for(300, 0);
	expect(!net.lose, "%u results have not been lost", net.lose);
	expect_sums(0);
	end_tree();
}

/* Of the node at ranks 0 and 3: how many PROBEs have gone to the parent with this operation. */
static u64 probes_for(u64 block, u32 after_ms)
{
	u64 before = net.node[1].g.counters[INC_C_PROBES];

	net.now += after_ms * NETINC_MS;
	reduce(block, (u32)block);
	return net.node[1].g.counters[INC_C_PROBES] - before;
}

/* Where only later results show that one is lost it is asked for ever more rarely. */
static void test_hole(void)
{
	form_tree(false, 1, 2, 0, 1);
	net.lose_type = INC_PKT_RESULT;
	net.lose_from = 0;
	net.lose = 1;
	expect(!probes_for(0, 0) && !net.lose, "the result has not been lost");
	net.lose_type = INC_PKT_PROBE;
	net.lose_from = 1;
	net.lose = 1;
	expect(probes_for(1, 5) == 1 && !net.lose, "it is not asked for");
	expect(!probes_for(2, 1), "it is asked for again after 1 ms of 6");
	expect(!net.told[0].results[0], "it has come by itself");
	expect(probes_for(3, 2) == 1, "it is not asked for after 3 ms of 8");
	expect_sums(0);
	end_tree();
}

static void test_loss_of_ready(void)
{
	u32 i;

	for (i = 1; i <= 2; i++) {
		begin_tree(true, 2, 1, 0, 2);
		net.lose_type = INC_PKT_READY;
		net.lose_from = i - 1;
		net.lose = 1;
		join(0);
		join(1);
		join(2);
		join(3);
		wait_ms(700);
		expect_states(INC_GROUP_ACTIVE);
		end_tree();
	}
}

/* Who is odd: the ranks named, with what they have said; then all go on in the next epoch. */
static void resync(u32 odd, u32 a, u32 b, u8 lose)
{
	u32 i;

	form_tree(true, 2, 1, 0, 2);
	reduce(0, 0);
	net.lose_type = lose;
	net.lose_from = lose == INC_PKT_ABORT ? 2 : 0;
	net.lose = lose ? 1 : 0;
	disagree(odd, 1, 1);
	ask_for(200, 1);
	for (i = 0; i < RANKS; i++) {
		const struct netinc_error *e = &net.told[i].error;

		expect_error(i, INC_ERR_MISMATCH, a, b);
		expect(e->opseq == 1 && e->resume == 2 && e->block == 1, "operation %u, %u, block",
		       e->opseq, e->resume);
		expect(be64_to_cpu(e->desc[0].count) == (a == odd ? 6 : 5) &&
		       be64_to_cpu(e->desc[1].count) == (b == odd ? 6 : 5), "descriptors");
	}
	expect_states(INC_GROUP_RESYNC);
	for (i = 0; i < RANKS; i++) {
		expect(!join_from(i, 1), "rank %u joins again", i);
		pump();
	}
	wait_ms(250);
	expect_states(INC_GROUP_ACTIVE);
	for (i = 0; i < RANKS; i++)
		expect(net.told[i].pkt.epoch == 2 && be32_to_cpu(net.told[i].ready.opseq) == 2,
		       "rank %u: epoch %u", i, net.told[i].pkt.epoch);
	reduce(1, 2);
	expect_sums(1);
	end_tree();
}

static void test_mismatch(void)
{
	/* ranks 0 and 3 are at node 2, which finds it; the root finds the others */
	resync(3, 0, 3, 0);
	resync(0, 0, 3, 0);
	resync(1, 0, 1, 0);
	resync(2, 0, 2, 0);
	resync(3, 0, 3, INC_PKT_ABORT);
	resync(3, 0, 3, INC_PKT_ERROR);
}

/* What is found below is decided when all have come so far, however long that takes. */
static void test_late_mismatch(void)
{
	u32 i;

	form_tree(true, 2, 1, 0, 2);
	expect(!contrib(0, 0, 0, 5, 1) && !contrib(3, 0, 0, 6, 1), "they disagree");
	ask_for(5 * DEAD, 0);
	for (i = 0; i < NODES; i++)
		expect(net.node[i].g.state == INC_GROUP_ACTIVE, "node %u: state %u", i,
		       net.node[i].g.state);
	expect(!contrib(1, 0, 0, 5, 1) && !contrib(2, 0, 0, 5, 1), "the others");
	pump();
	for (i = 0; i < RANKS; i++)
		expect_error(i, INC_ERR_MISMATCH, 0, 3);
	end_tree();
}

/* A rank below a node is gone, in the middle or before READY. */
static void test_abort(void)
{
	struct frame f;
	u32 i;

	form_tree(true, 2, 1, 0, 2);
	expect(!abort_rank(3, INC_ERR_RANK_FAULT), "rank 3 goes");
	pump();
	for (i = 0; i < RANKS; i++)
		expect_error(i, INC_ERR_RANK_FAULT, 3, NETINC_NO_RANK);
	expect_states(INC_GROUP_FAILED);
	expect(net.node[0].events[INC_EVENT_RANK_DEAD] == 1 && net.node[0].event_rank == 3,
	       "the root has no event");
	end_tree();

	begin_tree(true, 2, 1, 0, 2);
	for (i = 0; i < RANKS; i++)
		expect(!join_from(i, 0), "rank %u", i);
	f = catch_one(2, INC_PKT_READY);
	expect(!abort_rank(3, INC_ERR_RANK_ABORT), "rank 3 goes");
	expect(!at_node(&net.node[2], &f), "READY");
	pump();
	for (i = 0; i < 3; i++)
		expect_error(i, INC_ERR_RANK_ABORT, 3, NETINC_NO_RANK);
	expect_states(INC_GROUP_FAILED);
	end_tree();
}

/*
 * The same, and the parent does not hear of it: no block may complete without what that rank would
 * have contributed.
 */
static void test_abort_unheard(void)
{
	struct frame f;
	u32 i;

	begin_tree(true, 2, 1, 0, 2);
	for (i = 0; i < RANKS; i++)
		expect(!join_from(i, 0), "rank %u", i);
	f = catch_one(2, INC_PKT_READY);
	expect(!abort_rank(3, INC_ERR_RANK_ABORT), "rank 3 goes");
	net.lose_type = INC_PKT_ABORT;
	net.lose_from = 2;
	net.lose = 1;
	expect(!at_node(&net.node[2], &f), "READY");
	pump();
	expect(!net.lose && net.node[0].g.state == INC_GROUP_ACTIVE, "it has been heard");
	for (i = 0; i < 3; i++)
		contrib(i, 0, 0, 5, 1);
	pump();
	for (i = 0; i < 3; i++)
		expect(!net.told[i].results[0], "rank %u has a result without rank 3", i);
	for (i = 0; i < 3; i++)
		expect(!net.told[i].errors, "rank %u is told what nobody has decided", i);
	wait_ms(700);
	for (i = 0; i < 3; i++)
		expect_error(i, INC_ERR_RANK_ABORT, 3, NETINC_NO_RANK);
	expect_states(INC_GROUP_FAILED);
	end_tree();
}

/* What a node has told its parent first stands, unless the group ends by what comes later. */
static void test_abort_twice(void)
{
	struct netinc_error first = { .code = INC_ERR_MISMATCH, .opseq = 1, .block = 1,
				      .resume = 2, .rank = { 0, 1 } }, later = first;
	struct netinc_group *g = &net.node[1].g;

	later.opseq = 2;
	later.block = 2;
	later.resume = 3;
	form_tree(false, 0, 1, 1, 2);
	netinc_uplink_abort(g, &first, net.now);
	netinc_uplink_abort(g, &later, net.now);
	expect(g->up.abort.block == 1, "it is of block %llu",
	       (unsigned long long)g->up.abort.block);
	later.code = INC_ERR_RANK_DEAD;
	later.resume = 0;
	netinc_uplink_abort(g, &later, net.now);
	expect(g->up.abort.code == INC_ERR_RANK_DEAD, "its code is %u", g->up.abort.code);
	netinc_uplink_abort(g, &first, net.now);
	expect(g->up.abort.code == INC_ERR_RANK_DEAD, "its code is %u after it", g->up.abort.code);
	end_tree();
}

/* A node that is silent: those above miss its ranks, those below miss it. */
static void test_node_dead(void)
{
	u32 i;

	form_tree(true, 2, 1, 0, 2);
	for (i = 0; i < 300 && net.node[0].g.state == INC_GROUP_ACTIVE; i++) {
		net.now += 10 * NETINC_MS;
		probe(2, 0);
		netinc_group_tick(&net.node[0].g, net.now);
		pump();
	}
	expect_error(2, INC_ERR_RANK_DEAD, 0, NETINC_NO_RANK);
	end_tree();

	form_tree(true, 2, 1, 0, 2);
	net.node[2].parent = NOBODY;
	net.lose_from = 1;
	for (i = 0; i < 300 && net.node[2].g.state == INC_GROUP_ACTIVE; i++) {
		net.now += 10 * NETINC_MS;
		probe(0, 0);
		probe(3, 0);
		netinc_group_tick(&net.node[2].g, net.now);
		pump();
	}
	expect_error(0, INC_ERR_NODE_DEAD, NETINC_NO_RANK, NETINC_NO_RANK);
	expect_error(3, INC_ERR_NODE_DEAD, NETINC_NO_RANK, NETINC_NO_RANK);
	end_tree();
}

/* A node whose packets come to its parent by another port stays its child, in the same epoch. */
static void test_rebind(void)
{
	struct netinc_group *root = &net.node[0].g;
	u32 i;

	form_tree(true, 2, 1, 0, 2);
	net.elsewhere = 1;
	reduce(0, 1);
	for (i = 0; i < DEAD / 20 && !root->counters[INC_C_REBINDS]; i++)
		wait_ms(10);
	wait_ms(100);
	for (i = 0; i < RANKS; i++)
		expect(net.told[i].results[0] == 1, "rank %u: %u results", i,
		       net.told[i].results[0]);
	expect_states(INC_GROUP_ACTIVE);
	expect(root->counters[INC_C_REBINDS] == 1 && root->counters[INC_C_DROP_PORT] && net.links,
	       "%llu times, %llu dropped",
	       (unsigned long long)root->counters[INC_C_REBINDS],
	       (unsigned long long)root->counters[INC_C_DROP_PORT]);
	expect(root->epoch == 1, "epoch %u", root->epoch);
	end_tree();
}

/* The administrator removes one: all hear that. */
static void test_node_gone(void)
{
	u32 n, i;

	for (n = 0; n < NODES; n++) {
		form_tree(true, 2, 1, 0, 2);
		netinc_group_remove(&net.node[n].g, net.now);
		pump();
		for (i = 0; i < RANKS; i++)
			expect_error(i, INC_ERR_NODE_GONE, NETINC_NO_RANK, NETINC_NO_RANK);
		expect_states(INC_GROUP_FAILED);
		end_tree();
	}
}

/* All leave, though the last word is lost. */
static void test_leave(void)
{
	static const struct {
		u8 type;
		u32 from;
	} lost[] = {
		{ 0, 0 }, { INC_PKT_CONTRIB, 2 }, { INC_PKT_CONTRIB, 1 }, { INC_PKT_WAIT, 0 },
		{ INC_PKT_RESULT, 0 }, { INC_PKT_WAIT, 1 }, { INC_PKT_RESULT, 1 },
	};
	u32 i, r;

	for (i = 0; i < ARRAY_SIZE(lost); i++) {
		form_tree(true, 2, 1, 0, 2);
		reduce(0, 0);
		net.lose_type = lost[i].type;
		net.lose_from = lost[i].from;
		net.lose = lost[i].type ? 1 : 0;
		for (r = 0; r < RANKS; r++)
			expect(!leave(r, 1, 1), "rank %u", r);
		pump();
		wait_ms(3 * DEAD);
		expect(!net.lose, "case %u: it has not been lost", i);
		for (r = 0; r < RANKS; r++)
			expect(!net.told[r].errors, "case %u, rank %u: error %u", i, r,
			       net.told[r].error.code);
		expect_states(INC_GROUP_LEFT);
		end_tree();
	}
}

/* One leaves in the middle: the others hear who it was. */
static void test_left(void)
{
	u32 i;

	form_tree(true, 2, 1, 0, 2);
	expect(!leave(3, 0, 0), "rank 3 leaves");
	for (i = 0; i < 3; i++)
		expect(!contrib(i, 0, 0, 5, 1), "rank %u", i);
	pump();
	for (i = 0; i < 3; i++)
		expect_error(i, INC_ERR_LEFT, 3, 0);
	end_tree();
}

static int up_len;

static void note_up(struct netinc_group *g, const struct netinc_pkt *pkt, const void *body, u32 len)
{
	(void)g;
	(void)body;
	expect(pkt->type == INC_PKT_JOIN, "packet %u", pkt->type);
	up_len = (int)len;
}

/*
 * A node of a group of @size ranks, of which one is here, asks its parent by a path that carries
 * @up_block bytes. Returns how many bytes it says, or with what, negative, ranks will be refused.
 */
static int ask_parent(u32 size, u32 up_block, u64 *detail)
{
	static const struct netinc_group_ops ops = { .send_up = note_up };
	const struct netinc_group_cfg cfg = { .id = 77, .incarnation = 1, .size = size,
					      .block = INC_MAX_BLOCK, .has_parent = true,
					      .settings = { .window = W, .dead_ms = DEAD },
					      .secret = { 1, 2 }, .lineage = 3,
					      .up_block = up_block, .up_nonce = 4 };
	void *mem = calloc(1, netinc_group_bytes(size, W));
	struct netinc_group g;

	up_len = 0;
	netinc_group_init(&g, &cfg, mem, &ops, &nodes_agg_ops);
	g.joined = 1;
	netinc_uplink_ask(&g, 1000000);
	*detail = g.up.refuse_detail;
	free(mem);
	return up_len ?: -(int)g.up.refused;
}

/* JOIN is one packet, with a bit for each rank: so many ranks need a path that carries it. */
static void test_long_join(void)
{
	const int fixed = sizeof(struct inc_join) + sizeof(struct inc_addr);
	u64 detail;

	expect(ask_parent(INC_MAX_RANKS, fixed + INC_MAX_RANKS / 8, &detail) ==
	       fixed + INC_MAX_RANKS / 8, "%d bytes", up_len);
	expect(ask_parent(INC_MAX_RANKS, fixed + INC_MAX_RANKS / 8 - 1, &detail) ==
	       -INC_REFUSE_BLOCK && (int)detail == fixed + INC_MAX_RANKS / 8, "detail %llu",
	       (unsigned long long)detail);
	expect(ask_parent(2784, INC_MIN_BLOCK, &detail) == fixed + 348, "%d bytes", up_len);
	expect(ask_parent(2785, INC_MIN_BLOCK, &detail) == -INC_REFUSE_BLOCK, "refused");
}

static const struct ktap_test tests[] = {
	KTAP(test_long_join),
	KTAP(test_any_order),
	KTAP(test_order),
	KTAP(test_canonical),
	KTAP(test_many_parts),
	KTAP(test_many_parts_below),
	KTAP(test_all_local), KTAP(test_silent_parent),
	KTAP(test_refused), KTAP(test_stripes),
	KTAP(test_who_is_missing),
	KTAP(test_lowest_changes),
	KTAP(test_overlap),
	KTAP(test_ghost),
	KTAP(test_reduce),
	KTAP(test_loss),
	KTAP(test_loss_after_late),
	KTAP(test_hole),
	KTAP(test_loss_of_ready),
	KTAP(test_mismatch),
	KTAP(test_late_mismatch),
	KTAP(test_abort),
	KTAP(test_abort_unheard),
	KTAP(test_abort_twice),
	KTAP(test_node_dead),
	KTAP(test_node_gone), KTAP(test_rebind),
	KTAP(test_leave),
	KTAP(test_left),
};

int main(int argc, char **argv)
{
	netinc_reduce_init(0);
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
