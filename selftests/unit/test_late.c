// SPDX-License-Identifier: GPL-2.0-only
/* Late children of an aggregator: who is charged with what. */
#include "reduce/reduce.h"
#include "agg_env.h"

#define W	8u
#define S	(2 * W)

static void begin(u32 children)
{
	env_begin(children, children, W, 0);
	env_seen = 0;
}

static const struct netinc_late *late_of(u32 child)
{
	return &env.agg.child[child].late;
}

static void expect_late_at(const char *file, int line, u32 child, u64 blocks, u64 sum, u64 max)
{
	const struct netinc_late *l = late_of(child);

	if ((l->blocks != blocks || l->sum != sum || l->max != max) && ktap_fail(file, line))
		printf("child %u: %llu blocks, %llu us, at most %llu; expected %llu, %llu, %llu\n",
		       child, (unsigned long long)l->blocks, (unsigned long long)l->sum,
		       (unsigned long long)l->max, (unsigned long long)blocks,
		       (unsigned long long)sum, (unsigned long long)max);
}

#define expect_late(child, blocks, sum, max) \
	expect_late_at(__FILE__, __LINE__, child, blocks, sum, max)

/* Each block is charged to one child, with the time since the last of the others. */
static void test_last(void)
{
	begin(3);
	env_give(0, 0, 1000);
	env_give(2, 0, 1500);
	env_give(1, 0, 4500);
	env_give(1, 1, 5000);
	env_give(2, 1, 5000);
	env_give(0, 1, 5000);
	env_give(0, 2, 6000);
	env_give(2, 2, 6001);
	env_give(1, 2, 6101);
	expect_late(0, 1, 0, 0);
	expect_late(1, 2, 3100, 3000);
	expect_late(2, 0, 0, 0);
	/* what comes twice is as early as the first of it */
	env_give(0, 3, 7000);
	env_give(0, 3, 9000);
	env_give(1, 3, 7100);
	env_give(2, 3, 7300);
	expect_late(2, 1, 200, 200);
	expect_sent('R', NETINC_ALL, 0, 0);
	expect(env.log[0].value == env_expected(0), "the value of block 0");
	expect_count(BLOCKS, 4u);
	env_end();
}

static void test_alone(void)
{
	begin(1);
	env_give(0, 0, 1000);
	expect_late(0, 0, 0, 0);
	env_end();
}

/* The parts of a child are one contribution, which comes with the last of them. */
static void test_parts(void)
{
	struct netinc_pkt pkt = env_pkt(0);
	static const struct {
		u32 child, part;
		u64 at;
	} in[] = {
		{ 0, 0, 100 }, { 1, 0, 200 }, { 0, 1, 300 }, { 1, 1, 450 }, { 1, 2, 500 },
		{ 0, 2, 900 },
	};
	u32 i;

	env_begin(2, 6, W, 0);
	for (i = 0; i < 2; i++) {
		env.agg.child[i].parts = 3;
		env.agg.child[i].further = 2 + 2 * i;
	}
	for (i = 0; i < 6; i++)
		env.agg.operand[i] = (struct netinc_operand){ i, 1 };
	pkt.flags |= INC_F_PART;
	pkt.dtype = INC_TYPE_F32;
	for (i = 0; i < ARRAY_SIZE(in); i++) {
		pkt.part = in[i].part;
		expect(!env_contrib(in[i].child, pkt, i, in[i].at), "contribution %u", i);
	}
	expect_late(0, 1, 400, 400);
	pkt = env_pkt(1);
	pkt.flags |= INC_F_PART;
	pkt.dtype = INC_TYPE_F32;
	for (i = 0; i < 3; i++) {
		pkt.part = i;
		env_contrib(0, pkt, i, 1000 + i);
	}
	for (i = 0; i < 3; i++) {
		pkt.part = i;
		env_contrib(1, pkt, i, 2000 + i);
	}
	expect_late(1, 1, 1000, 1000);
	env_end();
}

static void test_buckets(void)
{
	static const struct {
		u64 us;
		u32 bucket;
	} of[] = {
		{ 0, 0 }, { 1, 1 }, { 2, 2 }, { 3, 2 }, { 4, 3 }, { 1023, 10 }, { 1024, 11 },
		{ (1 << 22) - 1, 22 }, { 1 << 22, 23 }, { 1 << 23, 23 }, { 0xffffffffull, 23 },
		{ 0x100000000ull, 23 },
	};
	struct netinc_late late;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(of); i++) {
		memset(&late, 0, sizeof(late));
		netinc_late_add(&late, of[i].us);
		expect(late.hist[of[i].bucket] == 1 && late.blocks == 1 && late.sum == of[i].us &&
		       late.max == of[i].us,
		       "%llu us are not in bucket %u", (unsigned long long)of[i].us, of[i].bucket);
	}
}

/* Nobody is charged where the node itself made children send again. */
static void test_taken_back(void)
{
	begin(2);
	env_give(0, 0, 1000);
	env.fail_fold = 1;
	expect(env_give(1, 0, 2000) == -INC_C_DROP_MEMORY, "fold");
	expect(!env_give(1, 0, 9000), "again");
	expect_late(0, 0, 0, 0);
	expect_late(1, 0, 0, 0);
	env_give(0, 1, 10000);
	env_give(1, 1, 10001);
	expect_late(1, 1, 1, 1);
	env_end();
}

/* The same where a younger block gives up its room. */
static void test_evicted(void)
{
	begin(2);
	env.room = 1;
	expect(!env_give(0, 2, 1000), "the youngest block");
	expect(!env_give(1, 1, 2000), "an older one gets its room");
	env.room = ~0u;
	expect(!env_give(1, 2, 3000) && !env_give(0, 2, 9000), "again");
	expect_late(0, 0, 0, 0);
	expect_late(1, 0, 0, 0);
	env_end();
}

/* A rank's figures outlast an epoch; every block is charged once. */
static void test_sum(void)
{
	u64 q, now = 5000, sum = 0;
	u32 i, j, order[4] = { 0, 1, 2, 3 };

	begin(4);
	for (q = 0; q < 100; q++) {
		if (q == 50)
			netinc_agg_start(&env.agg, q);
		for (i = 3; i; i--) {
			j = ktap_below(i + 1);
			order[i] ^= order[j] * (i != j);
			order[j] ^= order[i] * (i != j);
			order[i] ^= order[j] * (i != j);
		}
		for (i = 0; i < 4; i++)
			env_give(order[i], q, now += ktap_below(1000));
	}
	for (i = 0; i < 4; i++)
		sum += late_of(i)->blocks;
	expect(sum == 100, "%llu blocks were charged, expected 100", (unsigned long long)sum);
	env_end();
}

static const struct ktap_test tests[] = {
	KTAP(test_last), KTAP(test_alone), KTAP(test_parts), KTAP(test_buckets),
	KTAP(test_taken_back), KTAP(test_evicted), KTAP(test_sum),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
