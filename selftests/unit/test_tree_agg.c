// SPDX-License-Identifier: GPL-2.0-only
/* Slots of one tree of several: blocks of the others are nobody's business here. */
#include "agg_env.h"

#define W	16u
#define TREES	3u
#define TREE	1u
#define CHILDREN 2u

static u64 first_after(u64 q)
{
	while (!netinc_agg_mine(&env.agg, q))
		q++;
	return q;
}

static void begin(u64 start)
{
	env_begin(CHILDREN, CHILDREN, W, start);
	env.agg.tree = TREE;
	netinc_spread_init(&env.agg.spread, TREES, W);
	netinc_agg_start(&env.agg, start);
	env_seen = 0;
}

/* Many windows of blocks, each contributed to in its turn; what is in flight spans the window. */
static void test_through(void)
{
	u64 start = (1ull << 32) - 40, q, n = 0;

	begin(start);
	for (q = start; q != start + 20 * W; q++) {
		if (!netinc_agg_mine(&env.agg, q)) {
			expect(env_give(0, q, 1000) == -INC_C_DROP_MALFORMED,
			       "a block of another tree");
			continue;
		}
		expect(env.agg.una == q, "una %llu, expected %llu", (unsigned long long)env.agg.una,
		       (unsigned long long)q);
		expect(!env_give(1, q, 1000) && !env_give(0, q, 1000), "block %llu",
		       (unsigned long long)q);
		expect_sent('R', NETINC_ALL, q, 0);
		expect(env.log[env_seen - 1].value == env_expected(q), "its result");
		n++;
	}
	expect(env.agg.una == first_after(q) && (s64)(env.agg.top - env.agg.una) >= 0,
	       "una and top");
	expect_count(BLOCKS, n);
	env_end();
}

/* A hole is one in this tree's blocks only. */
static void test_nack(void)
{
	u64 hole, q, last = 0;
	u32 n = 0;

	begin(0);
	hole = first_after(0);
	for (q = hole + 1; q != W; q++) {
		if (!netinc_agg_mine(&env.agg, q))
			continue;
		expect(!env_give(0, q, 1000), "block %llu", (unsigned long long)q);
		last = q;
		n++;
	}
	expect(n >= 3 && last > hole, "%u blocks behind the hole", n);
	for (n = 0; n < 8 && env_seen == env.logged; n++)
		env_packet_end(0, 1000 + 10000 * n);
	expect_sent('N', 0, hole, 1);
	expect_quiet();
	env_end();
}

/* STATUS asks for nothing of another tree. */
static void test_status(void)
{
	struct inc_probe probe = { .bits = 0 };
	struct netinc_pkt pkt = { .type = INC_PKT_PROBE, .span = 1, .tstamp = 7 };
	u32 i, missing = 0;

	begin(0);
	expect(!env_give(0, first_after(0), 1000), "the first");
	env_probe(0, &pkt, &probe, 2000);
	expect_sent('S', 0, first_after(0), 0);
	expect_header(INC_PKT_STATUS, .psn = (u32)first_after(0), .span = 1, .tree = TREE,
		      .tstamp = 7);
	for (i = 0; i < W; i++) {
		if (netinc_bit(env.map, i))
			continue;
		missing++;
		expect(netinc_agg_mine(&env.agg, env.agg.una + i) && i, "block %u is asked for", i);
	}
	expect(missing >= W / TREES - 1, "%u are asked for", missing);
	env_end();
}

static const struct ktap_test tests[] = { KTAP(test_through), KTAP(test_nack), KTAP(test_status) };

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
