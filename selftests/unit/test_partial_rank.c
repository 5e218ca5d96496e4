// SPDX-License-Identifier: GPL-2.0-only
/* Partial results at an endpoint: of whose contributions they are; a rank that is left behind. */
#include "ep_env.h"

#define LATE	200u	/* ms */

static void ready_partial(u64 start, u8 policy)
{
	struct netinc_pkt pkt;
	struct inc_ready body;

	begin(start);
	netinc_ep_connect(&env.ep, env.now);
	pkt = from_node(INC_PKT_READY);
	body = ready_body(start);
	body.late_ms = cpu_to_be32(LATE);
	body.late_policy = policy;
	pkt.epoch = 1;
	pkt.child = RANK;
	expect(!control(pkt, &body, sizeof(body)), "READY");
	env.seen = env.logged;
}

static int give_set(u16 set, u32 who)
{
	struct netinc_pkt pkt = from_node(INC_PKT_PARTIAL);
	struct {
		struct inc_partial partial;
		__be32 map[1];
	} m = { .partial = { .set = cpu_to_be16(set), .bits = cpu_to_be16(32) },
		.map = { cpu_to_be32(who) } };

	pkt.epoch = env.ep.epoch;
	return control(pkt, &m, sizeof(m));
}

static int partial_result(const struct netinc_op *op, u64 b, u16 set)
{
	struct netinc_pkt pkt = result_of(op, b);

	pkt.flags |= INC_F_PARTIAL;
	pkt.child = set;
	return give(pkt);
}

/* The result of a block is taken only when it is known of whose contributions it is. */
static void test_set(void)
{
	struct netinc_op a = allreduce(24), b = allreduce(24);

	ready_partial(0, INC_LATE_PARTIAL);
	submit_op(&a);
	expect(partial_result(&a, 0, 1) == -INC_C_DROP_ORDER, "without a set");
	expect(!give_set(1, 0x7) && !partial_result(&a, 0, 1), "with its set");
	expect(partial_result(&a, 1, 2) == -INC_C_DROP_ORDER, "with another set");
	expect(!give_set(2, 0xd) && !partial_result(&a, 1, 2), "with the other set");
	expect(env.done == 1 && a.partial && !a.error.code, "%u done", env.done);
	expect(a.absent[0] == 0xa, "%#x are absent", a.absent[0]);
	expect_count(OPS_PARTIAL, 1u);
	submit_op(&b);
	expect(!result(&b, 2) && !result(&b, 3), "results of all");
	expect(!b.partial && env.done == 2, "what all have contributed to is partial");
	/* of another epoch, perhaps of another node */
	a = allreduce(24);
	submit_op(&a);
	env.ep.epoch++;
	expect(partial_result(&a, 4, 2) == -INC_C_DROP_ORDER, "a set of another epoch");
}

static void test_bad_set(void)
{
	struct netinc_pkt pkt;
	struct {
		struct inc_partial partial;
		__be32 map[2];
	} m = { .partial = { .set = cpu_to_be16(1), .bits = cpu_to_be16(64) } };

	ready_partial(0, INC_LATE_PARTIAL);
	pkt = from_node(INC_PKT_PARTIAL);
	pkt.epoch = 1;
	expect(control(pkt, &m, sizeof(m)) == -INC_C_DROP_MALFORMED,
	       "of more ranks than there are");
	m.partial.bits = cpu_to_be16(0);
	expect(control(pkt, &m, sizeof(m.partial)) == -INC_C_DROP_MALFORMED, "of none");
	m.partial.bits = cpu_to_be16(32);
	expect(control(pkt, &m, sizeof(m.partial)) == -INC_C_DROP_MALFORMED, "too short");
	expect(give_set(0, 1) == -INC_C_DROP_MALFORMED, "set 0");
	pkt.cookie = 5;
	expect(control(pkt, &m, sizeof(m)) == -INC_C_DROP_COOKIE, "a wrong cookie");
	expect(!env.ep.set, "was believed");
}

/* An idle rank of such a group says soon what it has; others do so now and then. */
static void test_probes(void)
{
	u32 i, n[2] = { 0, 0 };
	u64 at, end;

	for (i = 0; i < 2; i++) {
		ready_partial(0, i ? INC_LATE_PARTIAL : INC_LATE_FAIL);
		end = env.now + 2 * DEAD * NETINC_MS;
		while ((at = netinc_ep_timer(&env.ep, env.now)) && at < end) {
			env.now = max(at, env.now + 1);
			if (env.seen == env.logged)
				continue;
			expect_sent(INC_PKT_PROBE);
			status(0, 0);
			n[i]++;
		}
	}
	expect(n[0] >= 6 && n[0] <= 9 && n[1] >= 18 && n[1] <= 21, "%u and %u PROBEs", n[0], n[1]);
}

/* The others have come further than this rank has submitted. */
static void test_behind(void)
{
	struct netinc_op a = allreduce(24), b = allreduce(24);

	ready_partial(0, INC_LATE_PARTIAL);
	expect(!error(4, 0, 1, INC_ERR_MISMATCH), "an error of later operations");
	expect_state(INC_STATE_READY);
	submit_op(&a);
	expect(!give_set(1, 0xb) && !partial_result(&a, 0, 1), "the first block");
	expect(!error(4, 0, 0, INC_ERR_RANK_DEAD), "the group is over");
	submit_op(&b);
	expect(env.done == 1 && b.error.code == INC_ERR_RANK_DEAD,
	       "ended before the result that there is");
	expect(!partial_result(&a, 1, 1), "the second block");
	expect(env.done == 2 && env.failed == 1 && a.partial, "%u done, %u failed", env.done,
	       env.failed);
	expect_state(INC_STATE_FAILED);
	/* nothing is under way */
	ready_partial(0, INC_LATE_PARTIAL);
	expect(!error(4, 0, 0, INC_ERR_RANK_LATE), "the group is over");
	expect_state(INC_STATE_FAILED);
	ready_partial(0, INC_LATE_PARTIAL);
	expect(error(W + 1, 0, 0, INC_ERR_RANK_LATE) == -INC_C_DROP_MALFORMED,
	       "an error beyond the window");
	ready_partial(0, INC_LATE_FAIL);
	expect(error(4, 0, 0, INC_ERR_RANK_LATE) == -INC_C_DROP_MALFORMED,
	       "in a group that waits for all");
}

/* What others have completed without it is not what it has submitted: no result will fit. */
static void test_disagrees(void)
{
	struct netinc_pkt pkt;
	struct netinc_error e = { .block = 4, .code = INC_ERR_MISMATCH,
				  .rank = { RANK, NETINC_NO_RANK } };
	struct netinc_op a = allreduce(24);
	struct inc_error_pkt body;

	ready_partial(0, INC_LATE_PARTIAL);
	submit_op(&a);
	pkt = from_node(INC_PKT_ERROR);
	pkt.epoch = 1;
	pkt.psn = 4;
	netinc_error_build(&body, &e);
	expect(!control(pkt, &body, sizeof(body)), "ERROR");
	expect_state(INC_STATE_FAILED);
	expect(a.error.code == INC_ERR_MISMATCH, "code %u", a.error.code);
}

/* A policy that there is not, or that cannot be with what else READY says. */
static void test_bad_policy(void)
{
	struct netinc_pkt pkt = from_node(INC_PKT_READY);
	struct inc_ready body;

	begin(0);
	netinc_ep_connect(&env.ep, env.now);
	pkt.child = RANK;
	body = ready_body(0);
	body.late_ms = cpu_to_be32(LATE);
	body.late_policy = __INC_LATE_MAX;
	expect(control(pkt, &body, sizeof(body)) == -INC_C_DROP_MALFORMED, "an unknown policy");
	body.late_policy = INC_LATE_PARTIAL;
	body.fallback = INC_FALLBACK_EDGE;
	expect(control(pkt, &body, sizeof(body)) == -INC_C_DROP_MALFORMED,
	       "partial, with a fallback");
	body.fallback = INC_FALLBACK_NONE;
	body.late_ms = 0;
	expect(control(pkt, &body, sizeof(body)) == -INC_C_DROP_MALFORMED,
	       "partial, without a limit");
	body.late_ms = cpu_to_be32(LATE);
	expect(!control(pkt, &body, sizeof(body)), "partial");
}

/* The place that a group moves to is told what to do with late ranks. */
static void test_moves(void)
{
	struct netinc_pkt pkt = from_node(INC_PKT_READY);
	const struct inc_join *join;
	struct inc_ready body;

	begin(0);
	env.fallback = INC_FALLBACK_EDGE;
	netinc_ep_connect(&env.ep, env.now);
	pkt.child = RANK;
	body = ready_body(0);
	body.late_ms = cpu_to_be32(LATE);
	body.late_policy = INC_LATE_FAIL;
	expect(!control(pkt, &body, sizeof(body)), "READY");
	env.seen = env.logged;
	netinc_ep_lost(&env.ep, INC_ERR_NODE_DEAD, env.now);
	join = (const void *)expect_sent(INC_PKT_JOIN)->body;
	expect(join->late_policy == INC_LATE_FAIL && be32_to_cpu(join->late_ms) == LATE &&
	       !join->below,
	       "JOIN");
	netinc_ep_retain_drop(&env.ep);
}

static const struct ktap_test tests[] = {
	KTAP(test_set), KTAP(test_bad_set), KTAP(test_probes), KTAP(test_behind),
	KTAP(test_disagrees), KTAP(test_bad_policy), KTAP(test_moves),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
