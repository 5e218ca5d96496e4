// SPDX-License-Identifier: GPL-2.0-only
/* Members, or a place, that call a rank on and on: it follows within limits. */
#include "ep_env.h"

/* so many dead limits are more than all limits of an operation together */
#define FOREVER	200u

static int say_moved(u32 move)
{
	struct netinc_pkt pkt = { .type = INC_PKT_REFUSE, .group = 77, .span = 1 };
	struct inc_refuse body = { .nonce = cpu_to_be32(4711),
				   .code = cpu_to_be16(INC_REFUSE_MOVED),
				   .detail = cpu_to_be64(move) };

	return control(pkt, &body, sizeof(body));
}

/*
 * A member calls on and on, now and then: the operation of a rank that follows neither ends, nor
 * is a rank shown as late.
 */
static void test_called_on_and_on(void)
{
	struct netinc_op a = barrier();
	u64 since;
	u32 move = 0;

	ready_to_move(0, INC_FALLBACK_EDGE, 0);
	submit_op(&a);
	since = env.now;
	while (!env.done && env.now - since < FOREVER * DEAD * NETINC_MS) {
		call_to(++move);
		run_timer(env.now + 400 * NETINC_MS);
	}
	expect(env.now - since < 11 * DEAD * NETINC_MS, "it has followed for %llu ms",
	       (unsigned long long)((env.now - since) / NETINC_MS));
	expect(env.done, "after %u dead limits, and %llu moves, it is in state %u", FOREVER,
	       (unsigned long long)env.ep.counters[INC_C_MOVES], env.ep.state);
	netinc_ep_retain_drop(&env.ep);
}

/* The place that it goes to says each time that the group is at a later move, there as well. */
static void test_moved_on_and_on(void)
{
	struct netinc_op a = barrier();
	u32 packets, n = 0;
	u64 since;

	ready_to_move(0, INC_FALLBACK_STANDBY, 1);
	submit_op(&a);
	netinc_ep_lost(&env.ep, INC_ERR_NODE_DEAD, env.now);
	expect(env.ep.move == 1 && env.place == 1, "place %u", env.place);
	since = env.now;
	packets = env.logged;
	while (!env.done && env.now - since < FOREVER * DEAD * NETINC_MS) {
		say_moved(env.ep.move + 2);
		run_timer(env.now + 100 * NETINC_MS);
		n++;
	}
	expect(env.done, "after %u dead limits it is in state %u, has moved %llu times, and sent %u packets for %u",
	       FOREVER, env.ep.state, (unsigned long long)env.ep.counters[INC_C_MOVES],
	       env.logged - packets, n);
	netinc_ep_retain_drop(&env.ep);
}

/*
 * The same, and all meet each time, where a rank that does not contribute calls the others away
 * again before it counts as late. While there is nothing to wait for, or results come, or seldom,
 * calls are followed.
 */
static void test_called_from_place_to_place(void)
{
	struct netinc_op a = barrier();
	u32 epoch = 1, moves, i;

	ready_to_move(0, INC_FALLBACK_EDGE, 0);
	for (moves = 0; moves < 100 && !call_to(env.ep.move + 1); moves++)
		ready_again(++epoch, 0);
	expect(moves == 100, "idle it has followed %u times", moves);
	submit_op(&a);
	for (moves = 0; moves < 100 && !call_to(env.ep.move + 1); moves++) {
		env.now += (4 * DEAD + 1) * NETINC_MS;
		ready_again(++epoch, 0);
	}
	expect(moves == 100, "now and then it has followed %u times", moves);
	for (moves = 0; moves < 100 && !call_to(env.ep.move + 1); moves++) {
		run_timer(env.now + 100 * NETINC_MS);
		ready_again(++epoch, 0);
		run_timer(env.now + 100 * NETINC_MS);
	}
	expect(moves == 32, "it has followed %u times", moves);
	expect(call_to(env.ep.move + 1) == -INC_C_DROP_STATE, "and again");
	expect_state(INC_STATE_READY);
	expect(!result(&a, 0), "the result");
	for (i = 0; i < 2; i++) {
		a = barrier();
		submit_op(&a);
		expect(!call_to(env.ep.move + 1), "a call after a result");
		ready_again(++epoch, env.ep.una);
		expect(!result(&a, env.ep.una), "the result");
	}
	netinc_ep_retain_drop(&env.ep);
}

/* How often calls are followed that come with a pause of so many milliseconds. */
static u32 count_followed(u32 dead_ms, u32 late_ms, u32 pause_ms)
{
	struct netinc_op a = barrier();
	u32 epoch = 1, moves;

	ready_to_move(0, INC_FALLBACK_EDGE, 0);
	submit_op(&a);
	for (moves = 0; moves < 100; moves++) {
		env.ep.settings.dead_ms = dead_ms;
		env.ep.settings.late_ms = late_ms;
		if (call_to(env.ep.move + 1))
			break;
		env.now += pause_ms * NETINC_MS;
		ready_again(++epoch, 0);
	}
	expect(!result(&a, 0), "the result");
	netinc_ep_retain_drop(&env.ep);
	return moves;
}

/*
 * Nor do they keep a place from finding that a rank is late, from saying so after a second, and
 * from doing what is to be done about it after the late limit.
 */
static void test_called_before_late(void)
{
	static const struct {
		u32 dead, late, pause, followed;
	} cases[] = {
		{ 1000, 0, 4000, 32 }, { 1000, 0, 4001, 100 },
		{ 1000, 5000, 6000, 32 }, { 1000, 5000, 6001, 100 },
		{ 200, 0, 1200, 32 }, { 200, 0, 1201, 100 },
		{ 200, 900, 1200, 32 }, { 200, 3000, 3200, 32 },
	};
	u32 i, moves;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		moves = count_followed(cases[i].dead, cases[i].late, cases[i].pause);
		expect(moves == cases[i].followed, "case %u: it has followed %u times", i, moves);
	}
}

static const struct ktap_test tests[] = {
	KTAP(test_called_from_place_to_place), KTAP(test_called_before_late),
	KTAP(test_called_on_and_on), KTAP(test_moved_on_and_on),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
