// SPDX-License-Identifier: GPL-2.0-only
/* Lies of the parent of a node: what a group that has it makes of them. */
#include "nodes_env.h"
#include "reduce/reduce.h"

#define INVALID	(-INC_C_DROP_MALFORMED)

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
	{ "fallback", AT(fallback), 1, __INC_FALLBACK_MAX },
	{ "standbys", AT(standbys), 1, INC_MAX_STANDBY + 1 },
	{ "standby nodes without an address", AT(standbys), 1, 1 },
	{ "edge, that is no host", AT(edge.addr), 1, 224 },
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

static void huge_with_descriptor(struct netinc_pkt *p)
{
	p->len = 104;
	p->flags |= INC_F_DESC;
}

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
	expect(with(l, huge_with_descriptor) == INVALID, "longer than that behind a descriptor");
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

static const struct ktap_test tests[] = {
	KTAP(test_ready_wrong),
	KTAP(test_lying_errors),
	KTAP(test_lower_error),
	KTAP(test_lying_results),
};

int main(int argc, char **argv)
{
	netinc_reduce_init(0);
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
