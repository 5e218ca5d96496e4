// SPDX-License-Identifier: GPL-2.0-only
/* A link that carries PROBE and STATUS, but no blocks: when a rank notices, and what it does. */
#include "ep_env.h"

#define ALL	(~0u)	/* the node has all contributions */
#define NONE	0u

/* PROBEs are answered with this for so many milliseconds; true: until the rank says it is stuck. */
static bool answered(u64 psn, u32 here, u32 ms)
{
	u64 end = env.now + ms * NETINC_MS;

	while (env.now < end) {
		netinc_ep_timer(&env.ep, env.now);
		env.now += 10 * NETINC_MS;
		status(psn, here);
		for (; env.seen < env.logged; env.seen++) {
			u8 type = env.log[env.seen % LOG].type;

			if (type == INC_PKT_ABORT || type == INC_PKT_MOVE)
				return true;
		}
	}
	return false;
}

static void expect_abort(void)
{
	const struct inc_error_pkt *body = (const void *)expect_sent(INC_PKT_ABORT)->body;

	expect(be16_to_cpu(body->code) == INC_ERR_RANK_PATH && be32_to_cpu(body->rank[0]) == RANK,
	       "ABORT");
}

static int error_of_rank(u64 block, u32 rank)
{
	struct netinc_error e = { .block = block, .code = INC_ERR_RANK_PATH,
				  .rank = { rank, NETINC_NO_RANK } };
	struct netinc_pkt pkt = from_node(INC_PKT_ERROR);
	struct inc_error_pkt body;

	pkt.psn = (u32)block;
	pkt.epoch = env.ep.epoch;
	netinc_error_build(&body, &e);
	return control(pkt, &body, sizeof(body));
}

static void submitted(u8 fallback, struct netinc_op *op)
{
	if (fallback)
		ready_to_move(0, fallback, 0);
	else
		ready(0);
	*op = allreduce(8 + 16 * 3);
	submit_op(op);
	env.seen = env.logged;
}

/* What is sent again does not come, again and again. */
static void test_up(void)
{
	struct netinc_op op;
	u64 begin;

	submitted(INC_FALLBACK_NONE, &op);
	begin = env.now;
	expect(answered(0, NONE, 2 * DEAD), "it is not noticed");
	expect(env.now - begin >= DEAD * NETINC_MS, "after %llu us",
	       (unsigned long long)(env.now - begin));
	expect_abort();
	expect(!answered(0, NONE, 10), "ABORT once more, without a pause");
	expect(!error_of_rank(0, RANK), "the error comes down");
	expect_state(INC_STATE_FAILED);
	expect(env.failed == 1 && op.error.code == INC_ERR_RANK_PATH && op.error.rank[0] == RANK,
	       "code %u", op.error.code);
}

/* They come, and are not taken; or others are late; or some come through, with much patience. */
static void test_not_up(void)
{
	struct netinc_op op;
	u32 i;

	submitted(INC_FALLBACK_NONE, &op);
	expect(!answered(0, ALL, 10 * DEAD), "another rank is late");
	for (i = 0; i < 40; i++, env.come++)
		expect(!answered(0, NONE, DEAD / 2), "the node has no room");
	expect(!answered(0, NONE, DEAD / 2), "once more");
	env.come++;
	expect(!answered(0, NONE, DEAD * 3 / 4), "one had come");
	expect(!result(&op, 0), "the result");
	expect(!answered(1, ~3u, DEAD * 3 / 4), "one more had come");
	expect_state(INC_STATE_READY);
	expect(answered(1, ~3u, DEAD), "no more do");
}

/* Results that the node has sent again do not come; nor those before an error. */
static void test_down(void)
{
	struct netinc_op op;
	u32 i;

	submitted(INC_FALLBACK_NONE, &op);
	expect(answered(4, ALL, 2 * DEAD), "it is not noticed");
	expect_abort();
	expect(!error_of_rank(4, RANK), "the error comes down");
	expect_state(INC_STATE_FAILED);
	submitted(INC_FALLBACK_NONE, &op);
	expect(!error(4, 0, 0, INC_ERR_RANK_DEAD), "an error behind results");
	expect_state(INC_STATE_READY);
	expect(answered(4, ALL, 2 * DEAD), "it is not noticed");
	expect_state(INC_STATE_FAILED);
	expect(op.error.code == INC_ERR_RANK_PATH && op.error.rank[0] == RANK, "code %u",
	       op.error.code);
	/* that of another rank stays behind the results */
	submitted(INC_FALLBACK_NONE, &op);
	expect(!error_of_rank(4, RANK + 1), "another's error");
	expect_state(INC_STATE_READY);
	/* they come, but there is no room */
	submitted(INC_FALLBACK_NONE, &op);
	env.no_room = true;
	expect(!answered(4, ALL, DEAD / 2) && result(&op, 0) && !answered(4, ALL, DEAD * 3 / 4),
	       "without room");
	env.no_room = false;
	/* they come, but wait for others, which happen to be lost */
	ready(0);
	op = allreduce(8);
	op.coll = INC_COLL_SCAN;
	submit_op(&op);
	env.seen = env.logged;
	expect(!answered(4, ALL, DEAD / 2) && result(&op, 1) == -INC_C_DROP_ORDER &&
	       !answered(4, ALL, DEAD * 3 / 4), "before their turn");
	/* and come again and again, which may be a node's lie */
	for (i = 0; i < 400 && !answered(4, ALL, 20); i++)
		result(&op, 1);
	expect(i < 400, "for ever");
	ready(0);
	op = allreduce(8);
	op.coll = INC_COLL_SCAN;
	submit_op(&op);
	env.seen = env.logged;
	expect(!answered(4, ALL, DEAD / 2), "once more");
	/* but those without elements say nothing of those with */
	expect(result(&op, 2) == -INC_C_DROP_ORDER && answered(4, ALL, DEAD * 3 / 4), "short ones");
}

/* Elsewhere it may be better; where it is not, the others are told. */
static void test_moves(void)
{
	struct netinc_op op;

	submitted(INC_FALLBACK_EDGE, &op);
	expect(answered(0, NONE, 2 * DEAD), "it is not noticed");
	expect_state(INC_STATE_RESYNC);
	expect(env.ep.move == 1, "move %u", env.ep.move);
	ready_again(2, 0);
	env.seen = env.logged;
	expect(answered(0, NONE, 2 * DEAD), "it is not noticed there");
	expect_state(INC_STATE_READY);
	expect(env.ep.move == 1, "move %u", env.ep.move);
	expect_abort();
	netinc_ep_retain_drop(&env.ep);
}

/* It takes so many STATUSes, however long that is. */
static void test_how_often(void)
{
	struct netinc_op op;
	u32 n = 0;

	submitted(INC_FALLBACK_EDGE, &op);
	while (env.ep.state == INC_STATE_READY && n++ < 40) {
		env.now += DEAD / 8 * NETINC_MS;
		netinc_ep_timer(&env.ep, env.now);
		status(4, ALL);
	}
	expect(n == 16, "after %u", n);
	netinc_ep_retain_drop(&env.ep);
}

static const struct ktap_test tests[] = {
	KTAP(test_up), KTAP(test_not_up), KTAP(test_down), KTAP(test_moves), KTAP(test_how_often),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
