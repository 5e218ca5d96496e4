// SPDX-License-Identifier: GPL-2.0-only
/*
 * A group of so many ranks that a node that sends to all of them at once fills a queue, and gets
 * more answers than it has read when it sends again: a millisecond for each, and bursts of 200.
 */
#define SIZE	300u
#include "group_env.h"

#define BURST	200u

/* All have joined, and nobody has said yet that it has READY. */
static void begin_formed(void)
{
	u32 i;

	begin();
	env.g.cfg.settings.dead_ms = 10000;
	for (i = 0; i < SIZE; i++)
		expect(!join(i, 0, 0), "rank %u", i);
	expect(env.g.state == INC_GROUP_ACTIVE, "state %u", env.g.state);
	env.seen = env.logged - SIZE;
	for (i = 0; i < SIZE; i++)
		expect_sent(INC_PKT_READY, i);
}

static void expect_bursts_from(u64 now, u32 first, u32 n)
{
	u32 i;

	netinc_group_tick(&env.g, now - 1);
	expect(env.seen == env.logged, "it goes again too soon");
	netinc_group_tick(&env.g, now);
	for (i = 0; i < n; i++)
		expect_sent(INC_PKT_READY, (first + i) % SIZE);
	expect(env.seen == env.logged, "it goes to more than %u", n);
}

static void test_ready_in_turn(void)
{
	u64 now = SIZE * NETINC_MS;
	u32 i;

	begin_formed();
	expect_bursts_from(now, 0, BURST);
	expect_bursts_from(now += BURST * NETINC_MS, BURST, BURST);
	/* 99 .. 299 have it now: those before them are next in any case */
	for (i = 99; i < SIZE; i++)
		env.g.members[i].confirmed = true;
	expect_bursts_from(now += BURST * NETINC_MS, 0, 99);
	for (i = 0; i < SIZE; i++)
		env.g.members[i].confirmed = true;
	netinc_group_tick(&env.g, now += BURST * NETINC_MS);
	expect(env.seen == env.logged && !env.g.ready_pause, "all have it");
	end();
}

static void expect_called(u32 rank)
{
	const struct inc_wait_pkt *w = (const void *)expect_sent(INC_PKT_WAIT, rank)->body;

	expect(!w->pause, "rank %u is told to wait for %u us", rank, be32_to_cpu(w->pause));
}

static void test_called_in_turn(void)
{
	u64 now = 1000 * NETINC_MS;
	u32 i;

	begin();
	env.g.cfg.settings.dead_ms = 10000;
	for (i = 0; i + 1 < SIZE; i++)
		expect(!join(i, 0, 0), "rank %u", i);
	env.seen = env.logged;
	expect(!join(SIZE - 1, 0, now), "the last one");
	expect_sent(INC_PKT_WAIT, SIZE - 1);
	for (i = 0; i + 1 < SIZE; i++)
		expect_called(i);
	netinc_group_tick(&env.g, now + (SIZE - 1) * NETINC_MS - 1);
	expect(env.seen == env.logged, "they are called again while they answer");
	expect(!join(7, 0, now + 1), "one answers");
	expect_sent(INC_PKT_WAIT, 7);
	netinc_group_tick(&env.g, now + (SIZE - 1) * NETINC_MS);
	for (i = 0; i + 1 < SIZE; i++)
		if (i != 7)
			expect_called(i);
	expect(env.seen == env.logged, "others are called, too");
	end();
}

static const struct ktap_test tests[] = { KTAP(test_ready_in_turn), KTAP(test_called_in_turn) };

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
