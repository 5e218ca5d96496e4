// SPDX-License-Identifier: GPL-2.0-only
/* A group that several nodes serve: how it forms, reduces, fails, goes on, and what lies do. */
#include "nodes_env.h"
#include "reduce/reduce.h"

#define INVALID	(-INC_C_DROP_MALFORMED)

/* The @n-th order of the ranks. */
static void order_of(u32 n, u32 rank[RANKS])
{
	u32 left[RANKS] = { 0, 1, 2, 3 }, i, k;

	for (i = 0; i < RANKS; i++) {
		k = n % (RANKS - i);
		n /= RANKS - i;
		rank[i] = left[k];
		for (; k + 1 < RANKS - i; k++)
			left[k] = left[k + 1];
	}
}

/* Whoever comes first: nodes know the same children, in the same order. */
static void test_any_order(void)
{
	u32 n, i, rank[RANKS];

	for (n = 0; n < 24; n++) {
		order_of(n, rank);
		begin_tree(false, 1, 2, 1, 2);
		for (i = 0; i < RANKS; i++)
			join(rank[i]);
		wait_ms(50);
		expect_states(INC_GROUP_ACTIVE);
		expect(net.node[0].g.nmembers == 2 && net.node[0].g.members[0].low == 0 &&
		       net.node[0].g.members[1].low == 1, "order %u: children", n);
		for (i = 0; i < RANKS; i++) {
			const struct inc_ready *r = &net.told[i].ready;

			expect(net.told[i].readies >= 1 && r->height == 1, "order %u: height %u", n,
			       r->height);
			expect(be32_to_cpu(r->size) == RANKS && be16_to_cpu(r->children) == 1 &&
			       be16_to_cpu(r->rank) == i && be32_to_cpu(r->window) == W / 2,
			       "order %u: READY of rank %u", n, i);
		}
		end_tree();
	}
}

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

/* What READY must say, and a change of it that is refused. */
static const struct {
	const char *what;
	size_t offset;
	u32 size;
	u32 value;
} wrong[] = {
#define AT(field)	offsetof(struct inc_ready, field)
	{ "size", AT(size), 4, RANKS + 1 },
	{ "size", AT(size), 4, 0 },
	{ "window", AT(window), 4, 4 * W },
	{ "window", AT(window), 4, 3 },
	{ "window", AT(window), 4, 0 },
	{ "start", AT(start), 8, 5 },
	{ "trees", AT(trees), 2, 2 },
	{ "trees", AT(trees), 2, 0 },
	{ "block", AT(block), 2, 0 },
	{ "block", AT(block), 2, 72 },
	{ "block", AT(block), 2, 256 },
	{ "rank", AT(rank), 2, 3 },
	{ "rank", AT(rank), 2, 0 },
	{ "dead_ms", AT(dead_ms), 4, 0 },
	{ "move", AT(move), 4, 1 },
	{ "fallback", AT(fallback), 1, INC_FALLBACK_EDGE },
	{ "late_policy", AT(late_policy), 1, INC_LATE_PARTIAL },
	{ "height", AT(height), 1, 0 },
	{ "height", AT(height), 1, INC_MAX_HEIGHT },
	{ "lineage", AT(lineage), 8, 0 },
	{ "nonce", AT(nonce), 4, 1 },
};

static void set_field(struct inc_ready *r, u32 i)
{
	u64 v = (u64)wrong[i].value << (64 - 8 * wrong[i].size);
	__be64 be = cpu_to_be64(v);

	memcpy((u8 *)r + wrong[i].offset, &be, wrong[i].size);
}

static void test_ready_wrong(void)
{
	struct inc_ready ready;
	struct frame f, lie;
	u32 i;

	begin_tree(false, 0, 1, 2, 1);
	for (i = 0; i < RANKS; i++)
		expect(!join_from(i, 0), "rank %u", i);
	f = catch_one(1, INC_PKT_READY);
	memcpy(&ready, f.body, sizeof(ready));
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		lie = f;
		memcpy(lie.body, &ready, sizeof(ready));
		set_field((struct inc_ready *)lie.body, i);
		expect(at_node(&net.node[1], &lie) < 0, "%s %u", wrong[i].what, wrong[i].value);
		expect(net.node[1].g.state == INC_GROUP_JOINING, "state after %s", wrong[i].what);
	}
	lie = f;
	lie.pkt.child = 2;
	expect(at_node(&net.node[1], &lie) < 0, "another child's");
	lie = f;
	lie.pkt.epoch = 0;
	expect(at_node(&net.node[1], &lie) < 0, "epoch 0");
	expect(!at_node(&net.node[1], &f), "the true one");
	expect(at_node(&net.node[1], &f) == -INC_C_DROP_DUPLICATE, "and once more");
	wait_ms(50);
	expect_states(INC_GROUP_ACTIVE);
	end_tree();
}

/* All contribute, and have the sum of all, wherever they are. */
static void reduce(u64 block, u32 opseq)
{
	u32 i;

	for (i = 0; i < RANKS; i++)
		expect(!contrib(i, block, opseq, 5, 1u << (4 * i)), "rank %u", i);
	pump();
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

	form_tree(true, 2, 1, 0, 2);
	for (b = 0; b < 3 * W; b++) {
		reduce(b, (u32)b);
		expect_sums(b);
	}
	expect(net.node[0].g.agg.una == 3 * W && net.node[2].g.agg.una == 3 * W, "una");
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

/* Blocks of operation @opseq: ranks @a and @b say different things of it. */
static void disagree(u32 odd, u64 block, u32 opseq)
{
	u32 i;

	for (i = 0; i < RANKS; i++)
		expect(!contrib(i, block, opseq, i == odd ? 6 : 5, 1), "rank %u", i);
	pump();
}

static void expect_error(u32 rank, u16 code, u32 a, u32 b)
{
	const struct netinc_error *e = &net.told[rank].error;

	expect(net.told[rank].errors && e->code == code && e->rank[0] == a && e->rank[1] == b,
	       "rank %u: %u errors, code %u, ranks %d and %d, not %u, %d and %d", rank,
	       net.told[rank].errors, e->code, (int)e->rank[0], (int)e->rank[1], code, (int)a,
	       (int)b);
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

/* ---- Lies ---- */

/* A packet to node 1 as its parent would send it. */
static struct frame as_parent(u8 type)
{
	const struct netinc_group *g = &net.node[1].g;

	return (struct frame){ .from = 0, .to = 1,
			       .pkt = { .type = type, .group = 77, .span = 1, .epoch = g->epoch,
					.incarnation = g->up.incarnation,
					.cookie = g->up.down_cookie } };
}

static int say_error(u64 block, u32 psn, u16 code, u32 resume)
{
	struct netinc_error e = { .block = block, .code = code, .resume = resume, .opseq = 1,
				  .rank = { 0, 1 } };
	struct frame f = as_parent(INC_PKT_ERROR);

	f.pkt.psn = psn;
	f.pkt.len = sizeof(struct inc_error_pkt);
	netinc_error_build((void *)f.body, &e);
	return at_node(&net.node[1], &f);
}

static void test_lying_errors(void)
{
	form_tree(false, 1, 2, 1, 2);
	reduce(0, 0);
	expect(say_error(1, 1, INC_ERR_NONE, 0) == INVALID, "no code");
	expect(say_error(1, 1, INC_ERR_MAX + 1, 0) == INVALID, "unknown code");
	expect(say_error(0, 0, INC_ERR_MISMATCH, 2) == INVALID, "a block that has its result");
	expect(say_error(1, 2, INC_ERR_MISMATCH, 2) == INVALID, "another psn");
	expect(say_error(2 + W, 2 + W, INC_ERR_MISMATCH, 2) == INVALID, "beyond the window");
	expect(say_error(1ull << 40 | 1, 1, INC_ERR_MISMATCH, 2) == INVALID, "far beyond it");
	expect(net.node[1].g.state == INC_GROUP_ACTIVE, "state %u", net.node[1].g.state);
	expect(!say_error(1, 1, INC_ERR_MISMATCH, 2), "a good one");
	expect(say_error(1, 1, INC_ERR_MISMATCH, 2) == -INC_C_DROP_DUPLICATE, "again");
	expect(!say_error(1, 1, INC_ERR_RANK_DEAD, 0), "one that ends the group");
	expect(net.node[1].g.state == INC_GROUP_FAILED, "state %u", net.node[1].g.state);
	end_tree();
}

/* What is told of an error is that fewer results will come: its parent has lost its own. */
static void test_lower_error(void)
{
	form_tree(true, 2, 1, 0, 2);
	reduce(0, 0);
	expect(!say_error(3, 3, INC_ERR_RANK_DEAD, 0), "the first one");
	pump();
	expect(net.told[0].errors && net.told[0].error.block == 3, "rank 0 has heard");
	net.node[1].g.up.lost = INC_ERR_NODE_GONE;
	expect(say_error(3, 3, INC_ERR_RANK_DEAD, 0) == -INC_C_DROP_DUPLICATE, "again");
	pump();
	expect(net.told[0].error.block == 1 && net.node[2].g.error.block == 1, "block %llu",
	       (unsigned long long)net.told[0].error.block);
	end_tree();
}

/* A result of block 1, which has gone up. */
static struct frame a_result(struct load *l)
{
	struct frame f = as_parent(INC_PKT_RESULT);

	f.load = l;
	f.pkt.psn = 1;
	f.pkt.opseq = 1;
	f.pkt.sig = 5;
	f.pkt.len = 8;
	f.pkt.flags = INC_F_PAYLOAD | INC_F_WANT;
	f.pkt.dtype = INC_TYPE_I64;
	f.pkt.dop = INC_OP_SUM;
	return f;
}

static int with(struct load *l, void (*change)(struct netinc_pkt *pkt))
{
	struct frame f = a_result(l);

	change(&f.pkt);
	return at_node(&net.node[1], &f);
}

static void no_change(struct netinc_pkt *p) { (void)p; }
static void other_sig(struct netinc_pkt *p) { p->sig++; }
static void other_op(struct netinc_pkt *p) { p->opseq++; }
static void longer(struct netinc_pkt *p) { p->len = 16; }
static void other_type(struct netinc_pkt *p) { p->dtype = INC_TYPE_U64; }
static void other_fold(struct netinc_pkt *p) { p->dop = INC_OP_MAX; }
static void other_cookie(struct netinc_pkt *p) { p->cookie++; }
static void other_epoch(struct netinc_pkt *p) { p->epoch++; }
static void other_tree(struct netinc_pkt *p) { p->tree = 1; }
static void other_run(struct netinc_pkt *p) { p->incarnation++; }
static void ahead(struct netinc_pkt *p) { p->psn = 2; }
static void behind(struct netinc_pkt *p) { p->psn -= 1; }
static void huge(struct netinc_pkt *p) { p->len = 512; }

static void many(struct netinc_pkt *p)
{
	p->flags = INC_F_WANT;
	p->len = 0;
	p->span = 65535;
}

static void test_lying_results(void)
{
	struct load *l;
	struct frame f;

	form_tree(false, 1, 2, 1, 2);
	l = load_new(42);
	reduce(0, 0);
	expect(!contrib(0, 1, 1, 5, 1) && !contrib(2, 1, 1, 5, 1), "block 1 goes up");
	expect(with(l, other_sig) == -INC_C_DROP_MISMATCH, "signature");
	expect(with(l, other_op) == -INC_C_DROP_MISMATCH, "operation");
	expect(with(l, longer) == -INC_C_DROP_MISMATCH, "length");
	expect(with(l, other_type) == -INC_C_DROP_MISMATCH, "type");
	expect(with(l, other_fold) == -INC_C_DROP_MISMATCH, "fold");
	expect(with(l, other_cookie) == -INC_C_DROP_COOKIE, "cookie");
	expect(with(l, other_epoch) == -INC_C_DROP_EPOCH, "epoch");
	expect(with(l, other_tree) == -INC_C_DROP_EPOCH, "tree");
	expect(with(l, other_run) == -INC_C_DROP_NO_GROUP, "run");
	expect(with(l, ahead) == -INC_C_DROP_AHEAD, "a block that has not gone up");
	expect(with(l, behind) == -INC_C_DROP_DUPLICATE, "one that has its result");
	expect(with(l, huge) == INVALID, "longer than a block");
	expect(with(NULL, many) == -INC_C_DROP_AHEAD, "many blocks");
	expect(net.node[1].g.agg.una == 1, "una");
	expect(!with(l, no_change), "a good one");
	pump();
	expect(net.told[0].value[1] == 42, "%llu", (unsigned long long)net.told[0].value[1]);
	/* without elements, though they have been contributed */
	expect(!contrib(0, 2, 2, 5, 1) && !contrib(2, 2, 2, 5, 1), "block 2 goes up");
	f = a_result(l);
	f.pkt.psn = 2;
	f.pkt.opseq = 2;
	f.pkt.len = 0;
	f.pkt.flags = INC_F_WANT | INC_F_DESC;
	expect(!at_node(&net.node[1], &f), "without elements");
	expect(!netinc_agg_slot(&net.node[1].g.agg, 2)->len, "it has a length");
	load_put(l);
	end_tree();
}

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
	expect(say_abort(1, 1, INC_ERR_RANK_DEAD, 0, 3, NETINC_NO_RANK) == INVALID, "likewise");
	expect(say_abort(1, 1, INC_ERR_RANK_DEAD, 0, 77, NETINC_NO_RANK) == INVALID, "nobody");
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

static int join_as_child(u8 below, u16 window, u32 child, u32 ranks, u64 *detail)
{
	struct {
		struct inc_join join;
		__be32 ranks[INC_MAX_RANKS / 32];
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

static const struct ktap_test tests[] = {
	KTAP(test_any_order),
	KTAP(test_all_local),
	KTAP(test_refused),
	KTAP(test_lowest_changes),
	KTAP(test_overlap),
	KTAP(test_ghost),
	KTAP(test_ready_wrong),
	KTAP(test_reduce),
	KTAP(test_loss),
	KTAP(test_loss_of_ready),
	KTAP(test_mismatch),
	KTAP(test_late_mismatch),
	KTAP(test_abort),
	KTAP(test_node_dead),
	KTAP(test_node_gone),
	KTAP(test_leave),
	KTAP(test_left),
	KTAP(test_lying_errors),
	KTAP(test_lower_error),
	KTAP(test_lying_results),
	KTAP(test_lying_aborts),
	KTAP(test_lying_joins),
	KTAP(test_wide),
	KTAP(test_lying_width),
};

int main(int argc, char **argv)
{
	netinc_reduce_init(0);
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
