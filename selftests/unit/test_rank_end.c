// SPDX-License-Identifier: GPL-2.0-only
/* A rank's membership ends: errors, death of the node, ABORT, leaving. */
#include "ep_env.h"

/* An error in the middle: all before it completes, what it names fails, the rest is renumbered. */
static void test_error(void)
{
	/* with b the window is full */
	struct netinc_op a = allreduce(24), b = allreduce(88), c = barrier(), d = allreduce(40),
			 late = barrier();

	ready(100);
	submit_op(&a);
	submit_op(&b);
	submit_op(&c);
	submit_op(&d);
	env.seen = env.logged;
	expect(!error(102, 1, 3, INC_ERR_MISMATCH), "ERROR");
	expect_sent(INC_PKT_PROBE);
	expect_state(INC_STATE_READY);
	expect(result(&b, 102) == -INC_C_DROP_ERROR, "a result after the error");
	expect(!result(&a, 100) && !env.done, "a result before it");
	expect(!result(&a, 101), "the last one");
	expect(env.done == 3 && env.failed == 2, "%u done, %u failed", env.done, env.failed);
	expect(!a.error.code && b.error.code == INC_ERR_MISMATCH &&
	       c.error.code == INC_ERR_CANCELED,
	       "codes %u, %u, %u", a.error.code, b.error.code, c.error.code);
	expect(b.error.rank[0] == 0 && b.error.rank[1] == 1, "the ranks");
	expect_state(INC_STATE_RESYNC);
	expect(be64_to_cpu(((const struct inc_join *)expect_sent(INC_PKT_JOIN)->body)->next) == 102,
	       "JOIN");
	submit_op(&late);
	expect_quiet();
	expect(give_ready(1, 102, 3) == -INC_C_DROP_EPOCH, "the old epoch");
	expect(!give_ready(2, 102, 3), "READY");
	expect_state(INC_STATE_READY);
	expect(d.first == 102 && d.blocks == 3 && late.first == 105, "numbers %llu, %llu",
	       (unsigned long long)d.first, (unsigned long long)late.first);
	expect_blocks(102ull, 3u, 0);
	expect_blocks(105ull, 1u, 0);
	expect_quiet();
	expect_count(OPS_FAILED, 2u);
	expect_count(OPS, 1u);
	expect_count(ERRORS, 1u);
}

/*
 * A node that says that an operation goes on, of which blocks have been sent, is not believed: the
 * operation fails, and so does an epoch that would begin with it.
 */
static void test_never_anew(void)
{
	struct netinc_op a = barrier(), b = barrier(), c = allreduce(24), d = barrier();

	ready(100);
	submit_op(&a);
	submit_op(&b);
	submit_op(&c);
	expect(env.ep.begun == 3 && env.ep.snd == 104, "begun %u, snd %llu", env.ep.begun,
	       (unsigned long long)env.ep.snd);
	expect(!result(&a, 100) && !result(&c, 102) && env.done == 1,
	       "results, also of the third operation");
	expect(!error(101, 1, 1, INC_ERR_MISMATCH), "an error by which the second one goes on");
	expect_state(INC_STATE_RESYNC);
	expect(env.failed == 2 && b.error.code == INC_ERR_MISMATCH &&
	       c.error.code == INC_ERR_CANCELED,
	       "%u failed, codes %u, %u", env.failed, b.error.code, c.error.code);
	submit_op(&d);
	expect(give_ready(2, 101, 2) == -INC_C_DROP_MALFORMED,
	       "READY by which the third one goes on");
	expect_state(INC_STATE_RESYNC);
	expect(!give_ready(2, 101, 3), "READY");
	expect_state(INC_STATE_READY);
	expect(d.numbered && d.first == 101 && env.failed == 2, "block %llu",
	       (unsigned long long)d.first);
}

/* A node that answers, but does not get over an error, is given up after four dead limits. */
static void test_error_lasts(void)
{
	struct netinc_op a = barrier();
	struct inc_wait_pkt wait = { .nonce = cpu_to_be32(4711) };
	u64 end;

	ready(100);
	submit_op(&a);
	expect(!error(100, 0, 1, INC_ERR_MISMATCH), "ERROR");
	expect_state(INC_STATE_RESYNC);
	end = env.now + 4 * DEAD * NETINC_MS;
	for (env.now += DEAD * NETINC_MS / 4; env.now < end; env.now += DEAD * NETINC_MS / 4) {
		expect(!control(from_node(INC_PKT_WAIT), &wait, sizeof(wait)), "WAIT");
		netinc_ep_timer(&env.ep, env.now);
		expect_state(INC_STATE_RESYNC);
	}
	env.now = end;
	expect(!control(from_node(INC_PKT_WAIT), &wait, sizeof(wait)), "WAIT");
	netinc_ep_timer(&env.ep, env.now);
	expect_state(INC_STATE_FAILED);
	expect(env.ep.error.code == INC_ERR_NODE_DEAD, "code %u", env.ep.error.code);
}

/* Operations that the others had begun and this rank had not fail as soon as they are submitted. */
static void test_error_ahead(void)
{
	struct netinc_op a = barrier(), b = barrier(), c = barrier();

	ready(0);
	submit_op(&a);
	expect(!error(0, 0, 2, INC_ERR_MISMATCH), "ERROR");
	expect(env.done == 1 && a.error.code == INC_ERR_MISMATCH, "the first");
	submit_op(&b);
	expect(env.done == 2 && b.error.code == INC_ERR_CANCELED && b.error.opseq == 0,
	       "the second: code %u", b.error.code);
	submit_op(&c);
	expect(env.done == 2, "the third");
	expect(!give_ready(2, 0, 2), "READY");
	expect(c.first == 0 && c.seq == 2, "operation %u is block %llu", c.seq,
	       (unsigned long long)c.first);
	/* half the number space later nothing has failed */
	expect(!result(&c, 0), "result of the third");
	env.ep.next_seq = 0x7ffffff0u;
	submit_op(&a);
	expect(!result(&a, 1), "its result");
	env.ep.next_seq = 0x80000010u;
	submit_op(&b);
	expect(env.failed == 2, "an operation failed for its number");
}

static void test_bad_error(void)
{
	struct netinc_op a = allreduce(24);

	ready(10);
	submit_op(&a);
	result(&a, 10);
	expect(error(11, 0, 1, INC_ERR_NONE) == -INC_C_DROP_MALFORMED, "no code");
	expect(error(11, 0, 1, __INC_ERR_MAX) == -INC_C_DROP_MALFORMED, "unknown code");
	expect(error(10, 0, 1, INC_ERR_MISMATCH) == -INC_C_DROP_MALFORMED,
	       "a block that has a result");
	expect(error(13, 0, 1, INC_ERR_MISMATCH) == -INC_C_DROP_MALFORMED,
	       "a block that was not sent");
	expect(!env.done && !env.ep.failing, "was believed");
	expect(!error(12, 1, 2, INC_ERR_MISMATCH), "the first block that was not sent");
	expect_count(DROP_MALFORMED, 4u);
}

static void test_fatal(void)
{
	struct netinc_op a = allreduce(24), b = barrier();

	ready(0);
	submit_op(&a);
	submit_op(&b);
	expect(!error(0, 0, 0, INC_ERR_RANK_DEAD), "ERROR");
	expect_state(INC_STATE_FAILED);
	expect(env.failed == 2, "%u failed", env.failed);
	expect(a.error.code == INC_ERR_RANK_DEAD && b.error.code == INC_ERR_RANK_DEAD,
	       "codes %u, %u", a.error.code, b.error.code);
	submit_op(&b);
	expect(env.failed == 3, "a later operation");
	expect(!netinc_ep_timer(&env.ep, env.now), "has a timer");
	/* the group may also fail while the ranks are joining again */
	ready(0);
	submit_op(&a);
	error(0, 0, 1, INC_ERR_MISMATCH);
	expect_state(INC_STATE_RESYNC);
	expect(!error(0, 0, 1, INC_ERR_MISMATCH), "again");
	expect_state(INC_STATE_RESYNC);
	expect(!error(0, 0, 0, INC_ERR_RANK_DEAD), "a fatal one");
	expect_state(INC_STATE_FAILED);
}

/* A silent node is dead after the limit, not earlier, in every state; probes get rarer. */
static void test_dead(void)
{
	struct netinc_op a = barrier();
	u64 start;

	begin(0);
	start = env.now;
	netinc_ep_connect(&env.ep, env.now);
	run_timer(start + DEAD * NETINC_MS - 1);
	expect_state(INC_STATE_JOINING);
	run_timer(start + DEAD * NETINC_MS * 5 / 4);
	expect_state(INC_STATE_FAILED);
	expect(env.ep.error.code == INC_ERR_NODE_DEAD, "code %u", env.ep.error.code);
	expect(env.logged > 10 && env.logged < 40, "%u JOINs", env.logged);
	ready(0);
	submit_op(&a);
	start = env.now;
	run_timer(start + DEAD * NETINC_MS - 1);
	expect_state(INC_STATE_READY);
	run_timer(start + DEAD * NETINC_MS * 5 / 4);
	expect_state(INC_STATE_FAILED);
	expect(env.failed == 1 && a.error.code == INC_ERR_NODE_DEAD, "code %u", a.error.code);
	expect(env.ep.counters[INC_C_PROBES] > 8 && env.ep.counters[INC_C_PROBES] < 40,
	       "%llu PROBEs", (unsigned long long)env.ep.counters[INC_C_PROBES]);
	/* idle: it is noticed as well */
	ready(0);
	start = env.now;
	run_timer(start + DEAD * NETINC_MS * 5 / 4);
	expect_state(INC_STATE_FAILED);
	expect(env.ep.counters[INC_C_PROBES] > 8, "%llu PROBEs",
	       (unsigned long long)env.ep.counters[INC_C_PROBES]);
}

/* How many packets a rank of a group of @size ranks sends to a node that has gone. */
static u32 count_asked(u32 rank, u32 size, u32 dead_ms, bool join)
{
	u32 before;
	u64 start;

	begin(0);
	env.ep.cfg.rank = rank;
	env.ep.cfg.size = size;
	if (join) {
		env.ep.cfg.dead_ms = dead_ms;
		env.ep.settings.dead_ms = dead_ms;
		netinc_ep_connect(&env.ep, env.now);
	} else {
		ready(0);
		env.ep.cfg.rank = rank;
		env.ep.cfg.size = size;
		env.ep.settings.dead_ms = dead_ms;
	}
	before = env.logged;
	start = env.now;
	run_timer(start + dead_ms * NETINC_MS * 5 / 4);
	expect_state(INC_STATE_FAILED);
	return env.logged - before;
}

/*
 * Nobody knows whether the node is dead or late for its many ranks: these ask the less often the
 * more they are, but often enough to find that it is dead.
 */
static void test_asked_by_many(void)
{
	u32 few, many;

	few = count_asked(0, 4, 10000, true);
	many = count_asked(0, 2000, 10000, true);
	expect(few > 30 && many < few / 2 && many > 3, "%u and %u JOINs", few, many);
	few = count_asked(0, 4, 10000, false);
	many = count_asked(0, 2000, 10000, false);
	expect(few > 9 && many < few && many > 3, "%u and %u PROBEs", few, many);
}

/* A node that answers is not dead, however long a rank is late. */
static void test_late(void)
{
	struct netinc_op a = barrier();
	u32 i;

	ready(0);
	submit_op(&a);
	for (i = 0; i < 100; i++) {
		run_timer(env.now + DEAD * NETINC_MS / 2);
		env.now += DEAD * NETINC_MS / 2;
		status(0, 1);
		expect_state(INC_STATE_READY);
	}
	expect(env.ep.counters[INC_C_PROBES] < 1000, "%llu PROBEs in 50 s",
	       (unsigned long long)env.ep.counters[INC_C_PROBES]);
	expect(!result(&a, 0) && env.done == 1, "the result after all");
}

static void test_leave(void)
{
	struct netinc_op a = barrier(), leave;

	ready(0);
	submit_op(&a);
	expect(netinc_ep_leave(&env.ep, &leave, env.now) == -EBUSY, "with an operation under way");
	result(&a, 0);
	env.seen = env.logged;
	expect(!netinc_ep_leave(&env.ep, &leave, env.now), "leave");
	expect_state(INC_STATE_LEAVING);
	expect(expect_sent(INC_PKT_CONTRIB)->pkt.flags == (INC_F_LEAVE | INC_F_DESC), "LEAVE");
	expect(netinc_ep_submit(&env.ep, &a, env.now) == -ESHUTDOWN, "an operation after it");
	wait(4711, 0, 0, -INC_C_DROP_EPOCH);
	wait(4711, 1, UP, -INC_C_DROP_EPOCH);
	expect_state(INC_STATE_LEAVING);
	wait(4711, 1, DOWN, 0);
	expect_state(INC_STATE_CLOSED);
	expect(env.ep.left, "does not know that it has left");
	/* the answer is lost, the result says the same */
	ready(0);
	netinc_ep_leave(&env.ep, &leave, env.now);
	expect(!result(&leave, 0), "the result");
	expect_state(INC_STATE_CLOSED);
	/* all is lost, the node has forgotten the group */
	ready(0);
	netinc_ep_leave(&env.ep, &leave, env.now);
	env.seen = env.logged;
	run_timer(env.now + 100000);
	expect_blocks(0ull, 1u, INC_F_RETRANS);
	expect_sent(INC_PKT_PROBE);
	expect(!refuse(0, INC_REFUSE_UNKNOWN, UP), "unknown");
	expect_state(INC_STATE_CLOSED);
}

/* Whatever a node says that others have begun: a rank that leaves can do so. */
static void test_leave_past(void)
{
	struct netinc_op a = barrier(), b = barrier(), leave;

	ready(100);
	submit_op(&a);
	expect(!error(100, 0, 50, INC_ERR_MISMATCH), "an error that takes many operations with it");
	expect(!give_ready(2, 100, 50), "READY");
	submit_op(&b);
	expect(env.failed == 2 && b.error.code == INC_ERR_CANCELED, "%u failed, code %u",
	       env.failed, b.error.code);
	env.seen = env.logged;
	expect(!netinc_ep_leave(&env.ep, &leave, env.now), "leave");
	expect_state(INC_STATE_LEAVING);
	expect(expect_sent(INC_PKT_CONTRIB)->pkt.flags == (INC_F_LEAVE | INC_F_DESC), "LEAVE");
	/* likewise when it has begun to */
	expect(!error(100, 2, 60, INC_ERR_MISMATCH), "an error at the block of LEAVE");
	expect_state(INC_STATE_RESYNC);
	expect(!give_ready(3, 100, 60), "READY");
	expect_state(INC_STATE_LEAVING);
	expect_sent(INC_PKT_JOIN);
	expect(expect_sent(INC_PKT_CONTRIB)->pkt.flags == (INC_F_LEAVE | INC_F_DESC),
	       "LEAVE again");
	expect(!result(&leave, 100), "the result");
	expect_state(INC_STATE_CLOSED);
}

static void test_abort(void)
{
	struct netinc_op a = barrier();
	const struct inc_error_pkt *body;
	const struct sent *s;

	ready(0);
	submit_op(&a);
	env.seen = env.logged;
	netinc_ep_abort(&env.ep, INC_ERR_RANK_FAULT, false, env.now);
	s = expect_sent(INC_PKT_ABORT);
	body = (const void *)s->body;
	expect(be16_to_cpu(body->code) == INC_ERR_RANK_FAULT &&
	       be32_to_cpu(body->rank[0]) == RANK && be32_to_cpu(body->resume) == 4711 &&
	       s->pkt.cookie == UP,
	       "ABORT");
	expect_state(INC_STATE_READY);
	run_timer(env.now + 30000);
	expect_sent(INC_PKT_ABORT);
	expect(!error(0, 0, 0, INC_ERR_RANK_FAULT), "the error comes down");
	expect_state(INC_STATE_FAILED);
	expect(env.failed == 1, "%u failed", env.failed);
	/* with results to come before the error: it asks for them */
	ready(0);
	submit_op(&a);
	netinc_ep_abort(&env.ep, INC_ERR_RANK_FAULT, false, env.now);
	error(1, 1, 0, INC_ERR_RANK_FAULT);
	expect_state(INC_STATE_READY);
	env.seen = env.logged;
	run_timer(env.now + 30000);
	expect_sent(INC_PKT_PROBE);
	expect(!result(&a, 0) && !env.failed, "%u failed", env.failed);
	expect_state(INC_STATE_FAILED);
	/* close: twice, and nothing more */
	ready(0);
	submit_op(&a);
	env.seen = env.logged;
	netinc_ep_abort(&env.ep, INC_ERR_RANK_ABORT, true, env.now);
	expect_sent(INC_PKT_ABORT);
	expect_sent(INC_PKT_ABORT);
	expect_quiet();
	expect_state(INC_STATE_CLOSED);
	expect(env.failed == 1 && a.error.code == INC_ERR_RANK_ABORT, "code %u", a.error.code);
	expect(a.error.rank[0] == RANK && a.error.rank[1] == NETINC_NO_RANK, "ranks %u, %u",
	       a.error.rank[0], a.error.rank[1]);
	expect(!netinc_ep_timer(&env.ep, env.now), "has a timer");
}

/* A rank ends the group: a member with an error for all, another one by itself. */
static void test_cancel(void)
{
	struct netinc_op a = barrier();

	begin(0);
	netinc_ep_connect(&env.ep, env.now);
	expect_sent(INC_PKT_JOIN);
	netinc_ep_cancel(&env.ep, env.now);
	expect_sent(INC_PKT_ABORT);
	expect_sent(INC_PKT_ABORT);
	expect_quiet();
	expect_state(INC_STATE_FAILED);
	expect(env.ep.error.code == INC_ERR_RANK_ABORT && env.ep.error.rank[0] == RANK,
	       "code %u of rank %u", env.ep.error.code, env.ep.error.rank[0]);
	netinc_ep_cancel(&env.ep, env.now);
	expect_quiet();
	ready(0);
	submit_op(&a);
	env.seen = env.logged;
	netinc_ep_cancel(&env.ep, env.now);
	expect_sent(INC_PKT_ABORT);
	netinc_ep_cancel(&env.ep, env.now);
	expect_quiet();
	expect_state(INC_STATE_READY);
	expect(!error(0, 0, 0, INC_ERR_RANK_ABORT), "the error comes down");
	expect_state(INC_STATE_FAILED);
	expect(env.failed == 1, "%u failed", env.failed);
}

static void expect_abort(u16 code, u16 flags)
{
	const struct sent *s = expect_sent(INC_PKT_ABORT);
	const struct inc_error_pkt *body = (const void *)s->body;

	expect(be16_to_cpu(body->code) == code && s->pkt.flags == flags && s->pkt.cookie == UP,
	       "code %u, flags %#x", be16_to_cpu(body->code), s->pkt.flags);
}

/* Who wants nothing more of its node says so: it has heard of the end, closes, or has left. */
static void test_done(void)
{
	struct netinc_op leave;
	u8 fallback;

	ready(0);
	expect(!error(0, 0, 1, INC_ERR_MISMATCH), "an error that it gets over");
	expect_sent(INC_PKT_JOIN);
	ready(0);
	expect(!error(0, 0, 0, INC_ERR_RANK_DEAD), "the end");
	expect_state(INC_STATE_FAILED);
	expect_abort(INC_ERR_NONE, INC_F_LEAVE);
	ready(0);
	expect(!error(0, 0, 0, INC_ERR_NODE_GONE), "the node goes");
	expect_state(INC_STATE_FAILED);
	expect_quiet();
	ready(0);
	netinc_ep_cancel(&env.ep, env.now);
	expect_abort(INC_ERR_RANK_ABORT, 0);
	netinc_ep_abort(&env.ep, INC_ERR_RANK_ABORT, true, env.now);
	expect_abort(INC_ERR_RANK_ABORT, INC_F_LEAVE);
	expect_abort(INC_ERR_RANK_ABORT, INC_F_LEAVE);
	expect_quiet();
	for (fallback = INC_FALLBACK_NONE; fallback <= INC_FALLBACK_STANDBY; fallback++) {
		begin(0);
		env.fallback = fallback;
		netinc_ep_connect(&env.ep, env.now);
		expect(!give_ready(1, 0, 0) && !netinc_ep_leave(&env.ep, &leave, env.now), "leave");
		env.seen = env.logged;
		wait(4711, 1, DOWN, 0);
		expect_state(INC_STATE_CLOSED);
		if (fallback)
			expect_abort(INC_ERR_LEFT, INC_F_LEAVE);
		expect_quiet();
		netinc_ep_retain_drop(&env.ep);
	}
}

/* ABORT is repeated soon, also by who has nothing else to do. */
static void test_abort_idle(void)
{
	ready(0);
	netinc_ep_abort(&env.ep, INC_ERR_RANK_ABORT, false, env.now);
	expect_sent(INC_PKT_ABORT);
	run_timer(env.now + 30000);
	expect_sent(INC_PKT_ABORT);
}

static const struct ktap_test tests[] = {
	KTAP(test_error), KTAP(test_never_anew), KTAP(test_error_lasts), KTAP(test_error_ahead),
	KTAP(test_bad_error), KTAP(test_fatal), KTAP(test_dead), KTAP(test_asked_by_many),
	KTAP(test_late), KTAP(test_leave), KTAP(test_leave_past), KTAP(test_abort),
	KTAP(test_cancel), KTAP(test_done), KTAP(test_abort_idle),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
