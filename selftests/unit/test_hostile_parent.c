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
	{ "stripe", AT(late_policy), 1, INC_STRIPE(0, 2) << INC_JOIN_STRIPE_SHIFT },
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
	/* partial results are no tree's */
	lie = f;
	((struct inc_ready *)lie.body)->late_ms = cpu_to_be32(500);
	((struct inc_ready *)lie.body)->late_policy = INC_LATE_PARTIAL;
	expect(at_node(&net.node[1], &lie) < 0, "partial results");
	lie = f;
	lie.pkt.incarnation = 0;
	expect(at_node(&net.node[1], &lie) < 0, "no incarnation");
	expect(!at_node(&net.node[1], &f), "the true one");
	expect(at_node(&net.node[1], &f) == -INC_C_DROP_DUPLICATE, "and once more");
	wait_ms(50);
	expect_states(INC_GROUP_ACTIVE);
	end_tree();
}

/*
 * Ranks 0, 2 and 3 come to node 1, 2 and 3 by node 2: no node of the tree over the ranks, and
 * nobody has asked for that order. The parent says that it is so, and gets what that takes.
 */
static void test_order_said(void)
{
	const struct netinc_group *g = &net.node[1].g;
	struct frame f;
	u32 i;

	begin_tree(true, 1, 0, 2, 2);
	for (i = 0; i < RANKS; i++)
		expect(!join_from(i, 0), "rank %u", i);
	f = catch_one(1, INC_PKT_READY);
	expect(netinc_ready_tree_order((void *)f.body), "the order is not that of the tree");
	((struct inc_ready *)f.body)->height &= INC_READY_HEIGHT;
	expect(!at_node(&net.node[1], &f), "READY without it");
	expect(g->agg.children == 2 && g->agg.inputs == 2, "%u children", g->agg.children);
	for (i = 0; i < g->agg.children; i++)
		expect(g->agg.operand[i].weight == i + 1, "child %u has weight %u", i,
		       g->agg.operand[i].weight);
	expect(g->agg.nparts == 2 && g->agg.part[0].to == 1 && g->agg.part[1].to == 2,
	       "%u parts go up", g->agg.nparts);
	expect(!g->up.abort.code, "the group is to end, because of %u", g->up.abort.code);
	end_tree();
}

/* A node below has said that it has too many parts, and the parent says READY as if it had not. */
static void test_order_denied(void)
{
	struct inc_join *join;
	struct frame *f, ready;
	u32 i, tries;

	begin_tree(true, 1, 0, 2, 2);
	for (i = 0; i < RANKS; i++)
		expect(!join_from(i, 0), "rank %u", i);
	for (tries = 0; tries < 1000; tries++) {
		if (net.first == net.last)
			tick_nodes();
		f = &net.queue[net.first % QUEUE];
		if (net.first == net.last)
			continue;
		if (f->pkt.type == INC_PKT_READY && f->to == 1)
			break;
		join = (struct inc_join *)f->body;
		if (f->pkt.type == INC_PKT_JOIN && f->from == 2) {
			join->below |= INC_JOIN_TREE_ORDER;
			join->flags |= INC_JOIN_MANY_PARTS;
		}
		deliver();
	}
	ready = catch_one(1, INC_PKT_READY);
	expect(netinc_ready_tree_order((void *)ready.body), "the order is not that of the tree");
	((struct inc_ready *)ready.body)->height &= INC_READY_HEIGHT;
	expect(!at_node(&net.node[1], &ready), "READY without it");
	expect(net.node[1].g.up.abort.code == INC_ERR_RANK_ABORT, "the group is to end, not %u",
	       net.node[1].g.up.abort.code);
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

static struct frame error_frame(u64 block, u32 psn, u16 code, u32 resume)
{
	struct netinc_error e = { .block = block, .code = code, .resume = resume, .opseq = 1,
				  .rank = { 0, 1 } };
	struct frame f = as_parent(INC_PKT_ERROR);

	f.pkt.psn = psn;
	f.pkt.len = sizeof(struct inc_error_pkt);
	netinc_error_build((void *)f.body, &e);
	return f;
}

static int say_error(u64 block, u32 psn, u16 code, u32 resume)
{
	struct frame f = error_frame(block, psn, code, resume);

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

/* Each lower block is told to all children, which costs a look for each of them. */
static void test_looks_of_error(void)
{
	struct netinc_group *g = &net.node[1].g;
	u64 last, block;
	struct frame f;
	u32 told = 0;

	form_tree(false, 1, 2, 1, 2);
	reduce(0, 0);
	last = g->agg.una + g->agg.window;
	expect(!say_error(last, (u32)last, INC_ERR_RANK_DEAD, 0), "the first one");
	pump();
	netinc_group_buffer_begin(g);
	g->agg.work_left = 2 * g->nmembers + 1;
	for (block = last - 1; block != g->agg.una; block--) {
		f = error_frame(block, (u32)block, INC_ERR_RANK_DEAD, 0);
		told += !netinc_group_from_parent(g, &f.pkt, f.body, net.now);
	}
	expect(g->nmembers == 2 && told == 2 && g->agg.work_left == 1, "%u are told, %u are left",
	       told, g->agg.work_left);
	expect(g->error.block == last - 2, "block %llu", (unsigned long long)g->error.block);
	expect(!say_error(g->agg.una, (u32)g->agg.una, INC_ERR_RANK_DEAD, 0), "the next buffer");
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

static void huge_zeros(struct netinc_pkt *p)
{
	p->len = 512;
	p->flags |= INC_F_ZERO;
	p->span = 2;
}

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
	expect(with(l, huge_zeros) == INVALID, "zeros longer than a block");
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

/* Block 2 has its result before block 1: an error there would be one that ranks do not believe. */
static void test_error_at_result(void)
{
	const struct netinc_group *g = &net.node[1].g;
	struct load *l;
	struct frame f;
	u32 i;

	form_tree(false, 1, 2, 1, 2);
	l = load_new(42);
	reduce(0, 0);
	for (i = 1; i <= 2; i++)
		expect(!contrib(0, i, i, 5, 1) && !contrib(2, i, i, 5, 1), "block %u goes up", i);
	f = a_result(l);
	f.pkt.psn = 2;
	f.pkt.opseq = 2;
	expect(!at_node(&net.node[1], &f) && g->agg.una == 1, "the result of block 2");
	expect(say_error(2, 2, INC_ERR_MISMATCH, 3) == INVALID && g->state == INC_GROUP_ACTIVE,
	       "an error at block 2: state %u", g->state);
	expect(!say_error(1, 1, INC_ERR_MISMATCH, 2) && g->state == INC_GROUP_RESYNC,
	       "at block 1: state %u", g->state);
	load_put(l);
	end_tree();
}

/* ---- READYs after the first ---- */

/*
 * Node 1 is alone with ranks 0 and 2: what it says to its parent is lost, and the test is that one.
 * So many contributions have gone up; the last one is in @last.
 */
static u32 say_to_ranks(struct frame *last)
{
	const struct frame *f;
	u32 n = 0;

	while (net.first != net.last) {
		f = &net.queue[net.first % QUEUE];
		if (f->to >= RANK_AT) {
			deliver();
			continue;
		}
		if (f->to == 0 && f->pkt.type == INC_PKT_CONTRIB) {
			n++;
			*last = *f;
		}
		net.first++;
		load_put(f->load);
	}
	return n;
}

static void discard(void)
{
	struct frame last;

	say_to_ranks(&last);
}

/* The group forms; *ready is what the parent has said to node 1. */
static void form_alone(struct frame *ready)
{
	u32 i;

	begin_tree(false, 1, 2, 1, 2);
	for (i = 0; i < RANKS; i++)
		expect(!join_from(i, 0), "rank %u", i);
	*ready = catch_one(1, INC_PKT_READY);
	expect(!at_node(&net.node[1], ready), "the first READY");
	discard();
	expect(net.told[0].pkt.epoch == 1 && net.told[2].pkt.epoch == 1, "epochs %u and %u",
	       net.told[0].pkt.epoch, net.told[2].pkt.epoch);
}

static int say_ready(const struct frame *ready, u32 epoch, u32 opseq)
{
	struct frame f = *ready;
	struct inc_ready *r = (struct inc_ready *)f.body;

	f.pkt.epoch = epoch;
	r->opseq = cpu_to_be32(opseq);
	return at_node(&net.node[1], &f);
}

/* After an error that it has told of, so that the ranks say that they have begun operations 0, 1 */
static void rejoin_below(void)
{
	expect(!join_from(0, 0) && !join_from(2, 0), "ranks 0 and 2 join again");
	discard();
}

/*
 * An epoch begins after the one that is over, when all have joined again, and with an operation
 * that nobody below has contributed to.
 */
static void test_ready_opseq(void)
{
	static const struct {
		u32 epoch, opseq;
	} lies[] = {
		{ 0, 2 }, { 1, 2 }, { 1 + (1u << 31), 2 }, { ~0u, 2 },
		{ 2, 0 }, { 2, 1 }, { 2, 2 + (1u << 31) }, { 2, ~0u },
	};
	const struct netinc_group *g = &net.node[1].g;
	struct frame ready;
	u32 i;

	form_alone(&ready);
	expect(!say_error(0, 0, INC_ERR_MISMATCH, 2), "ERROR");
	discard();
	expect(say_ready(&ready, 2, 2) == -INC_C_DROP_STATE, "nobody has joined again");
	expect(!join_from(0, 0), "rank 0");
	expect(say_ready(&ready, 2, 2) == -INC_C_DROP_STATE, "one has");
	rejoin_below();
	for (i = 0; i < ARRAY_SIZE(lies); i++)
		expect(say_ready(&ready, lies[i].epoch, lies[i].opseq) == INVALID &&
		       g->state == INC_GROUP_RESYNC && g->epoch == 1,
		       "epoch %u, operation %u: state %u, epoch %u", lies[i].epoch, lies[i].opseq,
		       g->state, g->epoch);
	discard();
	expect(net.told[0].readies == 1 && net.told[2].readies == 1, "a rank has had READY");
	expect(!say_ready(&ready, 57, 9), "a later one, of which nobody knows the others");
	discard();
	for (i = 0; i <= 2; i += 2)
		expect(net.told[i].pkt.epoch == 57 && be32_to_cpu(net.told[i].ready.opseq) == 9,
		       "rank %u: epoch %u, operation %u", i, net.told[i].pkt.epoch,
		       be32_to_cpu(net.told[i].ready.opseq));
	expect(say_ready(&ready, 58, 10) == -INC_C_DROP_DUPLICATE && g->epoch == 57 &&
	       g->state == INC_GROUP_ACTIVE, "unbidden: state %u, epoch %u", g->state, g->epoch);
	discard();
	expect(net.told[0].readies == 2, "READY %u times", net.told[0].readies);
	end_tree();
}

/* The last epoch that there is may begin. After an error in it the group ends. */
static void test_epoch_end(void)
{
	const struct netinc_group *g = &net.node[1].g;
	struct frame ready;
	u64 end;

	form_alone(&ready);
	expect(!say_error(0, 0, INC_ERR_MISMATCH, 2), "ERROR");
	rejoin_below();
	expect(say_ready(&ready, NETINC_MAX_EPOCH + 1, 2) == INVALID, "behind the last one");
	expect(!say_ready(&ready, NETINC_MAX_EPOCH, 2), "the last one");
	discard();
	expect(net.told[0].pkt.epoch == NETINC_MAX_EPOCH && g->state == INC_GROUP_ACTIVE,
	       "epoch %u, state %u", net.told[0].pkt.epoch, g->state);
	expect(!say_error(0, 0, INC_ERR_MISMATCH, 3), "an error in it");
	discard();
	expect(join_from(0, 0) == INC_REFUSE_NEXT && join_from(2, 0) == INC_REFUSE_NEXT,
	       "they join again");
	expect(say_ready(&ready, NETINC_MAX_EPOCH + 1, 3) < 0 && say_ready(&ready, 1, 3) < 0 &&
	       say_ready(&ready, ~0u, 3) < 0, "another epoch");
	end = net.now + 3 * DEAD * NETINC_MS;
	while (net.now < end) {
		net.now += DEAD * NETINC_MS / 8;
		join_from(0, 0);
		netinc_group_tick(&net.node[1].g, net.now);
		discard();
	}
	expect(g->state == INC_GROUP_FAILED && g->epoch == NETINC_MAX_EPOCH, "state %u, epoch %u",
	       g->state, g->epoch);
	/* the ranks have not come into another epoch either: the first one is named */
	expect_error(0, INC_ERR_NODE_DEAD, 0, NETINC_NO_RANK);
	end_tree();
}

/*
 * A parent that answers, and says its error again, but begins no epoch: after four dead limits it
 * is given up. All ranks below are there.
 */
static void test_error_lasts(void)
{
	const struct netinc_group *g = &net.node[1].g;
	struct inc_wait_pkt wait = { .missing = cpu_to_be32(1) };
	struct frame ready, f;
	u64 since;

	form_alone(&ready);
	expect(!say_error(0, 0, INC_ERR_MISMATCH, 2), "ERROR");
	since = net.now;
	while (net.now <= since + 4 * DEAD * NETINC_MS) {
		rejoin_below();
		f = as_parent(INC_PKT_WAIT);
		wait.nonce = cpu_to_be32(g->cfg.up_nonce);
		memcpy(f.body, &wait, sizeof(wait));
		f.pkt.len = sizeof(wait);
		expect(!at_node(&net.node[1], &f) && g->up.heard == net.now, "WAIT");
		expect(say_error(0, 0, INC_ERR_MISMATCH, 2) == -INC_C_DROP_DUPLICATE, "ERROR");
		expect(say_ready(&ready, 1, 2) == INVALID, "READY");
		netinc_group_tick(&net.node[1].g, net.now);
		discard();
		expect(g->state == INC_GROUP_RESYNC, "state %u after %llu ms", g->state,
		       (unsigned long long)((net.now - since) / NETINC_MS));
		net.now += DEAD * NETINC_MS / 16;
	}
	netinc_group_tick(&net.node[1].g, net.now);
	discard();
	expect(g->state == INC_GROUP_FAILED, "state %u", g->state);
	expect_error(0, INC_ERR_NODE_DEAD, NETINC_NO_RANK, NETINC_NO_RANK);
	expect_error(2, INC_ERR_NODE_DEAD, NETINC_NO_RANK, NETINC_NO_RANK);
	end_tree();
}

/* ---- What it says is lost ---- */

static int say_nack(u32 psn, u16 span)
{
	struct frame f = as_parent(INC_PKT_NACK);

	f.pkt.psn = psn;
	f.pkt.span = span;
	return at_node(&net.node[1], &f);
}

/* STATUS that lacks all of 32 blocks, as an answer to a PROBE of that time. */
static int say_status(u64 tstamp, u16 slack)
{
	struct {
		struct inc_status status;
		__be32 map[1];
	} m = { .status = { .waiting = cpu_to_be32(~0u), .bits = cpu_to_be16(32),
			    .slack = cpu_to_be16(slack) } };
	struct frame f = as_parent(INC_PKT_STATUS);

	memcpy(f.body, &m, sizeof(m));
	f.pkt.len = sizeof(m);
	f.pkt.tstamp = (u32)tstamp;
	return at_node(&net.node[1], &f);
}

/* Nothing goes up, or @f again, with the same bits but RETRANS. */
static void expect_again(const char *what, const struct frame *f, bool again)
{
	struct inc_hdr is, should;
	struct frame last = *f;
	struct netinc_pkt pkt = f->pkt;
	u32 n = say_to_ranks(&last);

	expect(n == again, "%s: %u contributions", what, n);
	if (!again || n != 1)
		return;
	pkt.flags |= INC_F_RETRANS;
	netinc_build(&is, &last.pkt);
	netinc_build(&should, &pkt);
	expect(!memcmp(&is, &should, sizeof(is)) && last.load == f->load, "%s: it is another one",
	       what);
}

/*
 * A contribution goes up again when it may be lost, and not before it may have come: NACK and
 * STATUS, as often as they come and whatever they say, are believed after 2 ms, or three quarters
 * and a quarter of a round trip; NACK of what has gone again already after a whole one.
 */
static void test_again_too_soon(void)
{
	static const u32 srtts[] = { 0, 100000 };
	u32 i, k, flight, quarter;
	struct frame ready, f;
	u64 sent;

	for (i = 0; i < ARRAY_SIZE(srtts); i++) {
		form_alone(&ready);
		net.node[1].g.up.cc.srtt = srtts[i];
		quarter = max(srtts[i] / 4, 2000u);
		expect(!contrib(0, 0, 0, 5, 1) && !contrib(2, 0, 0, 5, 2), "block 0");
		sent = net.now;
		expect(say_to_ranks(&f) == 1, "it has not gone up once");
		for (k = 0; k < 3; k++) {
			flight = max(k ? srtts[i] : srtts[i] / 4 * 3, 2000u);
			expect(!say_nack(0, 1), "NACK");
			expect_again("at once", &f, false);
			net.now = sent + flight - 1;
			expect(!say_nack(0, 1) && !say_nack(-7, 65535), "NACK");
			expect_again("before it may have come", &f, false);
			net.now = sent + flight;
			expect(!say_nack(0, 1) && !say_nack(0, 1), "NACK");
			expect_again("NACK", &f, true);
			sent = net.now;

			expect(!say_status(net.now, 0), "STATUS");
			expect(say_status(net.now + 1, 0) == -INC_C_DROP_MALFORMED &&
			       say_status(net.now + (1u << 31) - 1, 0) == -INC_C_DROP_MALFORMED,
			       "STATUS of what is yet to come");
			expect_again("at once", &f, false);
			net.now = sent + quarter - 1;
			expect(!say_status(net.now, 0) &&
			       say_status(net.now + 5000, 0) == -INC_C_DROP_MALFORMED, "STATUS");
			expect_again("before a quarter", &f, false);
			net.now = sent + quarter;
			expect(!say_status(sent, 0) && !say_status(sent + quarter - 1, 0),
			       "STATUS of older PROBEs");
			expect_again("it had not been sent then", &f, false);
			expect(!say_status(net.now, 0) && !say_status(net.now, 0), "STATUS");
			expect_again("STATUS", &f, true);
			sent = net.now;
		}
		end_tree();
	}
}

/* CHALLENGE is answered with JOIN, which costs more than it: once in a buffer of many. */
static void test_challenges(void)
{
	struct inc_challenge challenge = { .challenge = cpu_to_be64(5) };
	struct netinc_pkt pkt = { .type = INC_PKT_CHALLENGE, .span = 1, .group = 77 };
	struct netinc_group *g = &net.node[1].g;
	u64 joins;
	u32 i;

	begin_tree(false, 0, 1, 2, 1);
	expect(!join_from(1, 0), "rank 1");
	for (i = 0; i < 100 && g->up.state != NETINC_UPLINK_ASKING; i++)
		tick_nodes();
	expect(g->up.state == NETINC_UPLINK_ASKING, "state %u", g->up.state);
	challenge.nonce = cpu_to_be32(g->cfg.up_nonce);
	joins = g->counters[INC_C_JOINS];
	netinc_group_buffer_begin(g);
	for (i = 0; i < 64; i++)
		expect(netinc_group_from_parent(g, &pkt, &challenge, net.now) ==
		       (i ? -INC_C_DROP_WORK : 0), "CHALLENGE %u", i);
	expect(g->counters[INC_C_JOINS] == joins + 1, "%llu JOINs",
	       (unsigned long long)(g->counters[INC_C_JOINS] - joins));
	netinc_group_buffer_begin(g);
	expect(!netinc_group_from_parent(g, &pkt, &challenge, net.now), "the next buffer");
	end_tree();
}

static const struct ktap_test tests[] = {
	KTAP(test_challenges),
	KTAP(test_ready_wrong),
	KTAP(test_order_said), KTAP(test_order_denied),
	KTAP(test_lying_errors),
	KTAP(test_lower_error), KTAP(test_looks_of_error),
	KTAP(test_lying_results),
	KTAP(test_error_at_result),
	KTAP(test_ready_opseq),
	KTAP(test_epoch_end),
	KTAP(test_error_lasts),
	KTAP(test_again_too_soon),
};

int main(int argc, char **argv)
{
	netinc_reduce_init(0);
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
