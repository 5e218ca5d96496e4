// SPDX-License-Identifier: GPL-2.0-only
/* What a rank keeps of its last blocks, and how it contributes them elsewhere: rules 7 and 8. */
#include "ep_env.h"

/* Now the node is lost. */
static void move(void)
{
	netinc_ep_lost(&env.ep, INC_ERR_NODE_DEAD, env.now);
	expect_state(INC_STATE_RESYNC);
	env.seen = env.logged;
}

static u64 next_of(const struct sent *s)
{
	return be64_to_cpu(((const struct inc_join *)s->body)->next);
}

/* Contributed again: as the result (FINAL), as input, or with nothing. */
static const struct sent *expect_kept(u64 block, u16 flags)
{
	const struct sent *s = expect_sent(INC_PKT_CONTRIB);

	expect(s->block == block && s->pkt.psn == (u32)block && s->pkt.flags == flags &&
	       !s->pay == !(flags & INC_F_PAYLOAD),
	       "block %llu with flags %#x, expected %llu with %#x", (unsigned long long)s->block,
	       s->pkt.flags, (unsigned long long)block, flags);
	return s;
}

/* Without a fallback nothing is kept. */
static void test_nothing(void)
{
	struct netinc_op a = allreduce(24);

	ready(0);
	submit_op(&a);
	expect(!result(&a, 0) && !env.retained && !env.ep.retained[0] && env.ep.begun == 1,
	       "something is kept");
	expect(netinc_ep_next(&env.ep) == 1, "next");
}

/* Results that came are FINAL, other blocks come from the buffer, LEAVE and all others follow. */
static void test_results(void)
{
	struct netinc_op a = allreduce(24), b = allreduce(8), c = barrier();

	ready_to_move(100, INC_FALLBACK_EDGE, 0);
	submit_op(&a);
	submit_op(&b);
	submit_op(&c);
	expect(!result(&a, 100) && !result(&b, 102), "results of blocks 100 and 102");
	expect(env.retained == 2, "%d payloads are kept", env.retained);
	expect(netinc_ep_next(&env.ep) == 101 && netinc_ep_delivered(&env.ep, 102) &&
	       !netinc_ep_delivered(&env.ep, 101), "what has come");
	move();
	env.seen--;
	expect(next_of(expect_sent(INC_PKT_JOIN)) == 101, "next in JOIN");
	env.move = 1;
	/* another rank lacks 99 */
	expect(give_ready(2, 101 - W - 1, 0) == -INC_C_DROP_MALFORMED,
	       "a start further back than a window");
	expect(give_ready(2, 99, 0) == -INC_C_DROP_MALFORMED,
	       "a start before all that was ever contributed");
	expect(!give_ready(2, 100, 0), "READY");
	expect_kept(100, INC_F_PAYLOAD | INC_F_FINAL);
	expect_blocks(101ull, 1u, 0);
	expect_kept(102, INC_F_PAYLOAD | INC_F_FINAL);
	expect_blocks(103ull, 1u, 0);
	expect_quiet();
	env.seen = env.logged;
	expect(!result(&a, 100) && env.done == 0 && a.done == 1,
	       "a result that was here counts twice");
	expect(!result(&a, 101) && env.done == 2, "%u are done", env.done);
	expect(!result(&b, 102) && !result(&c, 103) && env.done == 3, "%u are done", env.done);
	expect(env.retained == 3, "%d payloads are kept", env.retained);
	netinc_ep_retain_drop(&env.ep);
	expect(!env.retained, "%d are kept after all", env.retained);
}

/* Whose result has no elements for this rank: it contributes its input again, from what it kept. */
static void test_input(void)
{
	struct netinc_op a = allreduce(24);

	a.coll = INC_COLL_REDUCE;
	ready_to_move(0, INC_FALLBACK_EDGE, 0);
	submit_op(&a);
	expect(env.retained == 2, "%d payloads are kept", env.retained);
	expect(!result(&a, 0) && !result(&a, 1) && env.done == 1, "the results");
	expect(env.retained == 2, "%d payloads are kept", env.retained);
	move();
	ready_again(2, 0);
	env.seen -= 2;
	expect(expect_kept(0, INC_F_PAYLOAD)->pkt.len == 4 * 8, "the first block's length");
	expect(expect_kept(1, INC_F_PAYLOAD)->pkt.len == 4 * 16, "the second block's length");
	/* asked for again: the same */
	env.now += 100000;
	status(0, 1);
	expect(expect_kept(1, INC_F_PAYLOAD)->flags == INC_F_RETRANS, "not marked as sent before");
	netinc_ep_retain_drop(&env.ep);
	expect(!env.retained, "%d are kept after all", env.retained);
}

/* Two windows are kept and no more; a block with an empty result has nothing to keep. */
static void test_ring(void)
{
	struct netinc_op a = allreduce(8 + 16 * (3 * W - 1)), b = barrier();
	u64 i;

	ready_to_move(0, INC_FALLBACK_EDGE, 0);
	submit_op(&a);
	for (i = 0; i < 3 * W; i++)
		expect(!result(&a, i), "result %llu", (unsigned long long)i);
	expect(env.done == 1 && env.retained == 2 * W, "%d payloads are kept", env.retained);
	submit_op(&b);
	expect(!result(&b, 3 * W) && env.retained == 2 * W - 1, "%d payloads are kept",
	       env.retained);
	expect(netinc_ep_delivered(&env.ep, W + 1) && !netinc_ep_delivered(&env.ep, W),
	       "what is kept");
	expect(env.ep.begun == 2, "operations before %u have been begun", env.ep.begun);
	netinc_ep_retain_drop(&env.ep);
	expect(!env.retained, "%d are kept after all", env.retained);
}

/* There is no memory: READY is dropped, a result is not taken; both come again. */
static void test_no_memory(void)
{
	struct netinc_op a = allreduce(8);

	begin(0);
	env.fallback = INC_FALLBACK_EDGE;
	env.no_keep = true;
	netinc_ep_connect(&env.ep, env.now);
	expect(give_ready(1, 0, 0) == -INC_C_DROP_MEMORY, "READY without memory");
	expect_state(INC_STATE_JOINING);
	env.no_keep = false;
	expect(!give_ready(1, 0, 0), "READY");
	submit_op(&a);
	env.no_keep = true;
	expect(result(&a, 0) == -INC_C_DROP_MEMORY && !env.delivered,
	       "a result that cannot be kept");
	env.no_keep = false;
	env.no_room = true;
	expect(result(&a, 0) == -INC_C_DROP_MEMORY && !env.retained,
	       "one that cannot be delivered is kept");
	env.no_room = false;
	expect(!result(&a, 0) && env.done == 1, "it comes again");
	netinc_ep_retain_drop(&env.ep);
}

/* There will be none: the others are told so by the member that READY has made of this rank. */
static void test_decline(void)
{
	struct netinc_pkt pkt = from_node(INC_PKT_READY);
	struct inc_ready body = ready_body(0);
	const struct inc_error_pkt *e;
	const struct sent *s;
	u32 i;

	begin(0);
	env.fallback = INC_FALLBACK_EDGE;
	env.no_keep = true;
	netinc_ep_connect(&env.ep, env.now);
	expect(give_ready(1, 0, 0) == -INC_C_DROP_MEMORY, "READY without memory");
	env.seen = env.logged;
	netinc_ep_decline(&env.ep, &pkt, &body, env.now);
	for (i = 0; i < 2; i++) {
		s = expect_sent(INC_PKT_ABORT);
		e = (const void *)s->body;
		expect(s->pkt.incarnation == 5 && s->pkt.epoch == 1, "ABORT %u", i);
		expect(s->pkt.cookie == UP, "its cookie");
		expect(be16_to_cpu(e->code) == INC_ERR_RANK_ABORT, "its code");
	}
	expect_quiet();
	expect_state(INC_STATE_FAILED);
	env.no_keep = false;
	expect(give_ready(1, 0, 0) < 0, "another READY");
	expect_state(INC_STATE_FAILED);
}

/* Blocks from an error on will be others: nothing of them is kept. */
static void test_cut(void)
{
	struct netinc_op a = allreduce(8), b = allreduce(8), c = allreduce(8);

	ready_to_move(0, INC_FALLBACK_EDGE, 0);
	submit_op(&a);
	submit_op(&b);
	c.coll = INC_COLL_REDUCE;
	submit_op(&c);
	expect(!result(&a, 0) && !result(&b, 1) && env.retained == 3,
	       "results, and an input: %d payloads", env.retained);
	expect(env.ep.begun == 3, "operations before %u have been begun", env.ep.begun);
	expect(!error(2, 2, 3, INC_ERR_MISMATCH), "ERROR");
	expect_state(INC_STATE_RESYNC);
	expect(env.retained == 2 && netinc_ep_next(&env.ep) == 2, "%d payloads are kept",
	       env.retained);
	expect(!give_ready(2, 2, 3), "READY");
	c = allreduce(40);
	submit_op(&c);
	expect(netinc_ep_next(&env.ep) == 2 && !netinc_ep_delivered(&env.ep, 2),
	       "a block of before the error");
	netinc_ep_retain_drop(&env.ep);
	expect(!env.retained, "%d are kept after all", env.retained);
}

/* Operations go on where the last epoch ended, results of a chain in order across both. */
static void test_chain(void)
{
	struct netinc_op a = allreduce(8);

	a.coll = INC_COLL_SCAN;
	ready_to_move(0, INC_FALLBACK_EDGE, 0);
	submit_op(&a);
	expect(!result(&a, 0), "of rank 0");
	move();
	ready_again(2, 0);
	expect(result(&a, 2) == -INC_C_DROP_ORDER, "of this rank, before that of rank 1");
	expect(!result(&a, 1), "of rank 1, that of rank 0 having come before");
	netinc_ep_retain_drop(&env.ep);
}

/* A result with elements that are for another rank of this host: they are not kept. */
static void test_of_others(void)
{
	struct netinc_op a = allreduce(24);
	struct netinc_pkt pkt;

	a.coll = INC_COLL_REDUCE;
	ready_to_move(0, INC_FALLBACK_EDGE, 0);
	submit_op(&a);
	pkt = result_of(&a, 0);
	pkt.len = 32;
	pkt.flags = INC_F_PAYLOAD | INC_F_WANT;
	expect(!give(pkt), "the result");
	move();
	ready_again(2, 0);
	env.seen -= 2;
	expect_kept(0, INC_F_PAYLOAD);
	netinc_ep_retain_drop(&env.ep);
}

static const struct ktap_test tests[] = {
	KTAP(test_nothing), KTAP(test_results), KTAP(test_input), KTAP(test_ring),
	KTAP(test_no_memory), KTAP(test_decline), KTAP(test_cut), KTAP(test_chain),
	KTAP(test_of_others),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
