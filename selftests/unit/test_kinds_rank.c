// SPDX-License-Identifier: GPL-2.0-only
/* A rank of a group whose nodes do not fold every type or operation, or that asks for some. */
#include "ep_env.h"

enum {
	I32 = 1 << INC_TYPE_I32,
	BF16 = 1 << INC_TYPE_BF16,
	SUM = 1 << INC_OP_SUM,
	PROD = 1 << INC_OP_PROD,
};

static struct netinc_ready_body ready_lacking(u32 types, u32 ops)
{
	struct netinc_settings lacks = { .lacks = { types, ops } };
	struct netinc_ready_body body = { .ready = ready_body(0) };
	struct inc_ready told = body.ready;

	netinc_settings_to_ready(&lacks, &body);
	told.height = body.ready.height;
	body.ready = told;
	return body;
}

static int give_lacking(u32 epoch, u32 types, u32 ops)
{
	struct netinc_pkt pkt = from_node(INC_PKT_READY);
	struct netinc_ready_body body = ready_lacking(types, ops);

	pkt.epoch = epoch;
	pkt.child = RANK;
	return control(pkt, &body, body.ready.height ? sizeof(body) : sizeof(body.ready));
}

static int submit(struct netinc_op *op, u8 coll, u8 type, u8 op_nr)
{
	*op = (struct netinc_op){ .coll = coll, .type = type, .wire = type, .op = op_nr,
				  .count = 4 };
	return netinc_ep_submit(&env.ep, op, env.now);
}

static struct netinc_kinds said(const struct sent *s, bool asks)
{
	const struct inc_join *join = (const void *)s->body;

	return asks ? netinc_join_asks(join) : netinc_join_lacks(join);
}

/*
 * What a node lacks fails at once, and is no operation: the next one has its number. What is only
 * moved, and what is folded as another type, is not concerned.
 */
static void test_submit(void)
{
	struct netinc_op op[6];

	begin(0);
	netinc_ep_connect(&env.ep, env.now);
	expect(!give_lacking(1, BF16, PROD), "READY");
	expect_state(INC_STATE_READY);
	env.seen = env.logged;
	expect(submit(&op[0], INC_COLL_ALLREDUCE, INC_TYPE_BF16, INC_OP_SUM) == -EOPNOTSUPP,
	       "the type");
	expect(submit(&op[0], INC_COLL_REDUCE, INC_TYPE_I32, INC_OP_PROD) == -EOPNOTSUPP,
	       "the operation");
	expect(env.seen == env.logged && !env.ep.next_seq && !env.ep.submitted, "it is submitted");
	expect(!submit(&op[1], INC_COLL_BROADCAST, INC_TYPE_BF16, INC_OP_NONE), "moved only");
	expect(!submit(&op[2], INC_COLL_SCAN, INC_TYPE_I32, INC_OP_PROD), "folded by ranks");
	expect(!submit(&op[3], INC_COLL_BARRIER, 0, 0), "nothing to fold");
	op[4] = (struct netinc_op){ .coll = INC_COLL_ALLREDUCE, .type = INC_TYPE_BF16,
				    .wire = INC_TYPE_F32, .op = INC_OP_SUM, .count = 4 };
	expect(!netinc_ep_submit(&env.ep, &op[4], env.now), "folded as f32");
	op[5] = (struct netinc_op){ .coll = INC_COLL_ALLREDUCE, .type = INC_TYPE_F32,
				    .wire = INC_TYPE_BF16, .op = INC_OP_SUM, .count = 4 };
	expect(netinc_ep_submit(&env.ep, &op[5], env.now) == -EOPNOTSUPP, "folded as bf16");
	expect(env.ep.next_seq == 4, "next is %u", env.ep.next_seq);
}

/* A weighted sum is a sum. */
static void test_weighted(void)
{
	struct netinc_op op;

	begin(0);
	netinc_ep_connect(&env.ep, env.now);
	expect(!give_lacking(1, 0, SUM), "READY");
	expect(submit(&op, INC_COLL_ALLREDUCE, INC_TYPE_F32, INC_OP_WSUM) == -EOPNOTSUPP, "wsum");
	expect(!submit(&op, INC_COLL_ALLREDUCE, INC_TYPE_F32, INC_OP_MAX), "max");
}

/* What it asks for is in each JOIN; READY that lacks some of it ends the group. */
static void test_asks(void)
{
	const struct sent *s;

	begin(0);
	env.ep.cfg.asks = (struct netinc_kinds){ I32, SUM | PROD };
	netinc_ep_connect(&env.ep, env.now);
	s = expect_sent(INC_PKT_JOIN);
	expect(said(s, true).types == I32 && said(s, true).ops == (SUM | PROD) &&
	       !netinc_kinds_any(said(s, false)), "JOIN");
	expect(!give_lacking(1, BF16, PROD), "READY");
	expect_state(INC_STATE_FAILED);
	expect(env.ep.refused == INC_REFUSE_KINDS && env.ep.refuse_detail == (u64)PROD << 32,
	       "refused: %u, 0x%llx", env.ep.refused, (unsigned long long)env.ep.refuse_detail);
	expect_sent(INC_PKT_ABORT);

	begin(0);
	env.ep.cfg.asks = (struct netinc_kinds){ I32, SUM };
	netinc_ep_connect(&env.ep, env.now);
	expect(!give_lacking(1, BF16, PROD), "READY");
	expect_state(INC_STATE_READY);
}

/* Why the group ends is one reason, with its own detail: what is lacked belongs to KINDS. */
static void test_other_reason(void)
{
	struct netinc_pkt pkt = from_node(INC_PKT_READY);
	struct netinc_ready_body body = ready_lacking(BF16, PROD);
	u32 i;

	pkt.child = RANK;
	for (i = 0; i < 2; i++) {
		begin(0);
		env.ep.cfg.asks = (struct netinc_kinds){ BF16, PROD };
		env.ep.cfg.canonical = i;
		if (i)
			body.ready.height |= INC_READY_TREE_ORDER | 1;
		else
			env.ep.cfg.stripe = INC_STRIPE(2, 4);
		netinc_ep_connect(&env.ep, env.now);
		expect(!control(pkt, &body, sizeof(body)), "READY");
		expect_state(INC_STATE_FAILED);
		expect(env.ep.refused == (i ? INC_REFUSE_ORDER : INC_REFUSE_STRIPES) &&
		       !env.ep.refuse_detail, "refused: %u, 0x%llx", env.ep.refused,
		       (unsigned long long)env.ep.refuse_detail);
	}
}

/* It goes with the rank wherever that moves to, and nothing else is taken there, or later. */
static void test_moves(void)
{
	const struct sent *s;
	u32 i;

	begin(0);
	env.fallback = INC_FALLBACK_EDGE;
	netinc_ep_connect(&env.ep, env.now);
	expect(!give_lacking(1, BF16, PROD), "READY");
	env.seen = env.logged;
	expect(!error(0, 0, 1, INC_ERR_MISMATCH), "ERROR");
	netinc_ep_packet_end(&env.ep, 0, env.now);
	s = expect_sent(INC_PKT_JOIN);
	expect(said(s, false).types == BF16 && said(s, false).ops == PROD, "JOIN");
	expect(give_lacking(2, BF16, 0) == -INC_C_DROP_MALFORMED, "less");
	expect(give_lacking(2, 0, 0) == -INC_C_DROP_MALFORMED, "nothing");
	expect(give_lacking(2, BF16, PROD | SUM) == -INC_C_DROP_MALFORMED, "more");
	expect(!give_lacking(2, BF16, PROD), "the same");
	env.seen = env.logged;
	netinc_ep_lost(&env.ep, INC_ERR_NODE_DEAD, env.now);
	for (i = 0; i < LOG; i++) {
		s = next_sent();
		if (s->type == INC_PKT_JOIN)
			break;
	}
	expect(s->type == INC_PKT_JOIN && said(s, false).types == BF16 &&
	       said(s, false).ops == PROD && ((const struct inc_join *)s->body)->move, "moved");
}

/* In the next run, of those that are left, what the last one has lacked is said, and may change. */
static void test_shrinks(void)
{
	const struct sent *s;

	begin(0);
	env.ep.cfg.prev = (struct netinc_ep_prev_group){
		.lineage = 9, .settings = { .window = W, .dead_ms = DEAD, .lacks = { I32, SUM } } };
	netinc_ep_connect(&env.ep, env.now);
	s = expect_sent(INC_PKT_JOIN);
	expect(said(s, false).types == I32 && said(s, false).ops == SUM, "JOIN");
	expect(!give_lacking(1, BF16, 0), "READY");
	expect_state(INC_STATE_READY);
	expect(env.ep.settings.lacks.types == BF16 && !env.ep.settings.lacks.ops, "the last one's");
}

/* READY that says that there is more behind it, and is too short for that. */
static void test_short(void)
{
	struct netinc_pkt pkt = from_node(INC_PKT_READY);
	struct netinc_ready_body body = ready_lacking(BF16, 0);
	u32 len;

	pkt.child = RANK;
	begin(0);
	netinc_ep_connect(&env.ep, env.now);
	for (len = sizeof(body.ready); len < sizeof(body); len += 4)
		expect(control(pkt, &body, len) == -INC_C_DROP_MALFORMED, "%u bytes", len);
	expect(!control(pkt, &body, len), "all of it");
}

static const struct ktap_test tests[] = {
	KTAP(test_submit), KTAP(test_weighted), KTAP(test_asks), KTAP(test_other_reason),
	KTAP(test_moves), KTAP(test_shrinks), KTAP(test_short),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
