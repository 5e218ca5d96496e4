// SPDX-License-Identifier: GPL-2.0-only
/* A rank whose group has formed over several nodes and goes elsewhere: when, whom it calls. */
#include "ep_env.h"

#define EDGE_AT	110u

static int challenged(void)
{
	struct inc_challenge body = { .nonce = cpu_to_be32(4711), .challenge = cpu_to_be64(5) };

	return control(from_node(INC_PKT_CHALLENGE), &body, sizeof(body));
}

/* To the node that it has left: as what it was there, it goes. */
static void expect_gone(void)
{
	const struct sent *s = expect_sent(INC_PKT_ABORT);
	const struct inc_error_pkt *body = (const void *)s->body;

	expect(s->to == 100 && s->pkt.incarnation == 5 && s->pkt.epoch == 1 &&
	       s->pkt.cookie == UP && s->pkt.flags == INC_F_LEAVE &&
	       be16_to_cpu(body->code) == INC_ERR_NODE_GONE,
	       "ABORT to %u: incarnation %u, epoch %u, flags %#x, code %u", s->to,
	       s->pkt.incarnation, s->pkt.epoch, s->pkt.flags, be16_to_cpu(body->code));
}

static u32 joined_move(void)
{
	const struct sent *s = expect_sent(INC_PKT_JOIN);

	return be32_to_cpu(((const struct inc_join *)s->body)->move);
}

/* Of the ranks it knows one, which it calls; all others hear of it by the tree. */
static void test_calls(void)
{
	const struct sent *s;

	in_tree(INC_FALLBACK_EDGE, 0);
	expect(!error(0, 0, 0, INC_ERR_NODE_DEAD), "ERROR");
	expect_state(INC_STATE_RESYNC);
	s = expect_sent(INC_PKT_MOVE);
	expect(s->to == EDGE_AT && !s->pkt.child, "MOVE to %u for rank %u", s->to, s->pkt.child);
	expect_gone();
	expect(joined_move() == 1 && env.place == 1, "place %u", env.place);
	expect_quiet();
	/* once more with every JOIN, until there is READY */
	run_timer(env.now + 10000);
	expect_gone();
	expect_sent(INC_PKT_JOIN);
	ready_again(2, 0);
	expect_state(INC_STATE_READY);
	/* one that is dead is dead at the edge, too */
	netinc_ep_lost(&env.ep, INC_ERR_NODE_DEAD, env.now);
	expect(env.ep.move == 3 && env.place == 1, "place %u", env.place);
	netinc_ep_retain_drop(&env.ep);
}

/*
 * What a rank says or does not do ends the group, without a fallback all codes do. A rank that its
 * own node hears no more may be heard elsewhere.
 */
static void test_codes(void)
{
	static const u16 final[] = { INC_ERR_RANK_ABORT, INC_ERR_RANK_FAULT, INC_ERR_RANK_LATE };
	static const u16 fatal[] = { INC_ERR_NODE_DEAD, INC_ERR_RANK_DEAD };
	u32 i;

	in_tree(INC_FALLBACK_EDGE, 0);
	expect(!error(0, 0, 0, INC_ERR_RANK_DEAD), "ERROR");
	expect_state(INC_STATE_RESYNC);
	expect(env.ep.move == 1 && env.place == 1, "place %u", env.place);
	netinc_ep_retain_drop(&env.ep);
	for (i = 0; i < ARRAY_SIZE(final); i++) {
		in_tree(INC_FALLBACK_EDGE, 0);
		expect(!error(0, 0, 0, final[i]), "ERROR");
		expect_state(INC_STATE_FAILED);
		netinc_ep_retain_drop(&env.ep);
	}
	for (i = 0; i < ARRAY_SIZE(fatal); i++) {
		in_tree(INC_FALLBACK_NONE, 0);
		expect(!error(0, 0, 0, fatal[i]), "ERROR");
		expect_state(INC_STATE_FAILED);
	}
}

/* Who has left because a rank was taken for dead says so when there is no place without it. */
static void test_nowhere(void)
{
	struct netinc_op op = { .seq = 0 };
	u32 i;

	in_tree(INC_FALLBACK_EDGE, 0);
	submit_op(&op);
	expect(!error(0, 0, 0, INC_ERR_RANK_DEAD), "ERROR");
	for (i = 0; i < 1000 && env.ep.state != INC_STATE_FAILED; i++)
		run_timer(env.now + 100 * NETINC_MS);
	expect_state(INC_STATE_FAILED);
	expect(op.error.code == INC_ERR_RANK_DEAD && op.error.rank[0] == 0 &&
	       op.error.rank[1] == NETINC_NO_RANK, "code %u, rank %u", op.error.code,
	       op.error.rank[0]);
	/* but not for that of before the last place that worked */
	in_tree(INC_FALLBACK_EDGE, 0);
	expect(!error(0, 0, 0, INC_ERR_RANK_DEAD), "ERROR");
	ready_again(2, 0);
	for (i = 0; i < 1000 && env.ep.state != INC_STATE_FAILED; i++) {
		env.now += 100 * NETINC_MS;
		netinc_ep_lost(&env.ep, INC_ERR_NODE_DEAD, env.now);
	}
	expect(env.ep.error.code == INC_ERR_NODE_DEAD, "code %u", env.ep.error.code);
	netinc_ep_retain_drop(&env.ep);
}

/* Move by move to all places but the first one, to which only a call leads. */
static void test_places(void)
{
	in_tree(INC_FALLBACK_EDGE, 1);
	expect(!call_to(1) && env.place == 1, "place %u", env.place);
	expect(!call_to(2) && env.place == 2, "place %u", env.place);
	netinc_ep_lost(&env.ep, INC_ERR_NODE_DEAD, env.now);
	expect(env.ep.move == 4 && env.place == 1, "place %u", env.place);
	ready_again(2, 0);
	expect(!call_to(5) && env.place == 2, "place %u", env.place);
	expect(!call_to(6) && env.place == 0, "place %u", env.place);
	netinc_ep_retain_drop(&env.ep);
}

/* Whoever calls it round and round: it does not come to where it is, or was. */
static void test_round(void)
{
	in_tree(INC_FALLBACK_EDGE, 0);
	expect(!call_to(0x7fffffff), "half way round");
	expect(call_to(0xfffffffe) == -INC_C_DROP_DUPLICATE, "and on");
	expect(call_to(0) == -INC_C_DROP_DUPLICATE, "back where it was");
	expect(netinc_ep_moving(&env.ep) && env.place == 1, "place %u", env.place);
	netinc_ep_retain_drop(&env.ep);
}

/* It has been at a place that others may come to, or are at, and goes on: that place is told. */
static void test_leaves_word(void)
{
	in_tree(INC_FALLBACK_EDGE, 1);
	expect(!call_to(1), "MOVE");
	env.seen = env.logged;
	expect(!challenged(), "CHALLENGE");
	expect(joined_move() == 1, "JOIN");
	expect(!call_to(2), "MOVE");
	expect(joined_move() == 2, "nothing for who waits there");
	expect_gone();
	expect(joined_move() == 2 && env.place == 2, "place %u", env.place);
	/* there it knows nobody yet */
	expect(!call_to(3), "MOVE");
	expect_gone();
	expect(joined_move() == 3, "JOIN");
	expect_quiet();
	netinc_ep_retain_drop(&env.ep);
}

/* A tree of nodes has one root, and blocks that hold its accumulators, wherever it goes. */
static void test_blocks(void)
{
	struct netinc_op a = allreduce(3 * 16), b = allreduce(3 * 16);

	begin(0);
	env.fallback = INC_FALLBACK_EDGE;
	netinc_ep_connect(&env.ep, env.now);
	expect(tree_ready(1, 0, 2) == -INC_C_DROP_MALFORMED, "two roots");
	in_tree(INC_FALLBACK_EDGE, 0);
	submit_op(&a);
	expect(!call_to(1), "MOVE");
	ready_again(2, 0);
	submit_op(&b);
	expect(a.deep && b.deep, "blocks of another length");
	env.move = 1;
	netinc_ep_abort(&env.ep, INC_ERR_RANK_ABORT, true, env.now);
	netinc_ep_retain_drop(&env.ep);
}

static const struct ktap_test tests[] = {
	KTAP(test_calls), KTAP(test_codes), KTAP(test_nowhere), KTAP(test_places), KTAP(test_round),
	KTAP(test_leaves_word), KTAP(test_blocks),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
