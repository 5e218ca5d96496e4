// SPDX-License-Identifier: GPL-2.0-only
/* Blocks completed without late children: when, of what they are made, what late ones are told. */
#include "agg_env.h"

#define W	8u
#define S	(2 * W)

static void begin(u32 children)
{
	env_begin(children, children, W, 0);
	env_seen = 0;
}

/* What the contributions of @set (bits) make. */
static u64 fold_of(u32 set, u64 q)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < env.agg.children; i++)
		if (set >> i & 1)
			sum = env_mix(sum, env_input(i, q));
	return sum;
}

static int give_op(u32 child, u64 q, u32 opseq, u64 now)
{
	struct netinc_pkt pkt = env_pkt(q);

	pkt.opseq = opseq;
	return env_contrib(child, pkt, env_input(child, q), now);
}

static void probe(u32 child, u64 q, u16 flags, u64 now)
{
	struct { struct inc_probe p; __be32 map; } m = { .p = { .bits = cpu_to_be16(32) } };
	struct netinc_pkt pkt = { .type = INC_PKT_PROBE, .psn = (u32)q, .flags = flags };

	env_probe(child, &pkt, &m.p, now);
}

static u64 last_value(void)
{
	return env.log[env.logged - 1].value;
}

/* Nobody is late: nothing is different. */
static void test_in_time(void)
{
	begin(2);
	expect(netinc_agg_pass(&env.agg, 0, 1000) == NETINC_NO_RANK, "nothing waits");
	env_give(0, 0, 1000);
	env_give(1, 0, 1000);
	expect_sent('R', NETINC_ALL, 0, 0);
	expect(last_value() == env_expected(0) && !env.agg.set, "partial");
	expect(netinc_agg_pass(&env.agg, 0, 2000) == NETINC_NO_RANK, "nothing waits any more");
	expect_quiet();
	env_end();
}

static void test_pass(void)
{
	u32 stuck;

	begin(3);
	give_op(2, 0, 5, 1000);
	give_op(0, 0, 5, 2000);
	stuck = netinc_agg_pass(&env.agg, 5000, 5999);
	expect(stuck == NETINC_NO_RANK && !env.agg.una, "too early");
	stuck = netinc_agg_pass(&env.agg, 5000, 6000);
	expect(stuck == NETINC_NO_RANK && env.agg.una == 1, "child %d is in the way", (int)stuck);
	expect_sent('P', NETINC_ALL, 1, 3);
	expect(last_value() == fold_of(5, 0), "the fold is not that of 0 and 2");
	expect(env.log[0].value == 5, "children %llx", (unsigned long long)env.log[0].value);
	expect_sent('R', NETINC_ALL, 0, 0);
	expect(env.agg.child[1].missed == 1 && env.agg.child[1].late.max == 4000,
	       "%llu missed, %llu us late", (unsigned long long)env.agg.child[1].missed,
	       (unsigned long long)env.agg.child[1].late.max);
	/* it comes: too late, and gets the result with the set it is of */
	expect(give_op(1, 0, 5, 9000) == -INC_C_DROP_TOO_LATE, "it counts");
	expect_sent('P', 1, 1, 3);
	expect_sent('R', 1, 0, 0);
	expect(last_value() == fold_of(5, 0), "another result");
	expect(give_op(1, 0, 5, 9001) == -INC_C_DROP_DUPLICATE, "it comes twice");
	expect_quiet();
	expect(env.agg.child[1].frontier == 1, "frontier");
	expect_count(DROP_TOO_LATE, 1u);
	expect_count(BLOCKS_PARTIAL, 1u);
	/* the next operation is complete again */
	give_op(0, 1, 6, 10000);
	give_op(1, 1, 6, 10000);
	give_op(2, 1, 6, 10000);
	expect_sent('R', NETINC_ALL, 1, 0);
	expect(last_value() == fold_of(7, 1) &&
	       !(netinc_agg_slot(&env.agg, 1)->flags & INC_F_PARTIAL),
	       "not complete");
	env_end();
}

/* Who has missed a block is out of the operation: not waited for, what it sends is not folded. */
static void test_out(void)
{
	begin(3);
	give_op(0, 0, 5, 1000);
	give_op(1, 0, 5, 1000);
	give_op(0, 1, 5, 1000);
	give_op(1, 1, 5, 1500);
	give_op(1, 2, 5, 1500);
	netinc_agg_pass(&env.agg, 5000, 6000);
	expect_sent('P', NETINC_ALL, 1, 3);
	expect_sent('R', NETINC_ALL, 0, 0);
	expect_sent('R', NETINC_ALL, 1, 0);
	give_op(0, 2, 5, 6100);
	expect_sent('R', NETINC_ALL, 2, 0);
	expect(last_value() == fold_of(3, 2), "block 2");
	/* it comes before the others */
	expect(!give_op(2, 3, 5, 6200), "it is taken");
	give_op(1, 3, 5, 6200);
	expect_quiet();
	give_op(0, 3, 5, 6200);
	expect_sent('R', NETINC_ALL, 3, 0);
	expect(last_value() == fold_of(3, 3), "block 3 has its contribution");
	expect(env.agg.una == 4 && env.agg.child[2].missed == 4, "una %llu, missed %llu",
	       (unsigned long long)env.agg.una, (unsigned long long)env.agg.child[2].missed);
	/* all sets were the same one */
	expect(env.agg.set == 1, "set %u", env.agg.set);
	expect(give_op(2, 4, 6, 6300) == 0 && !env.agg.nexcluded, "it is still out");
	expect_quiet();
	env_end();
}

/* All are out of an operation, each for another block: then who has come counts. */
static void test_all_out(void)
{
	begin(2);
	give_op(0, 0, 5, 1000);
	give_op(1, 1, 5, 1000);
	give_op(1, 2, 5, 1000);
	netinc_agg_pass(&env.agg, 5000, 6000);
	expect_sent('P', NETINC_ALL, 1, 2);
	expect_sent('R', NETINC_ALL, 0, 0);
	expect(env.log[0].value == 1 && env.log[1].value == fold_of(1, 0),
	       "block 0 is not of child 0");
	expect_sent('P', NETINC_ALL, 2, 2);
	expect_sent('R', NETINC_ALL, 1, 0);
	expect(env.log[2].value == 2 && env.log[3].value == fold_of(2, 1),
	       "block 1 is not of child 1");
	expect_sent('R', NETINC_ALL, 2, 0);
	expect(env.agg.child[0].out && env.agg.child[1].out && env.agg.una == 3, "una %llu",
	       (unsigned long long)env.agg.una);
	give_op(0, 3, 5, 7000);
	expect_sent('P', NETINC_ALL, 3, 2);
	expect_header(INC_PKT_PARTIAL, .psn = 3, .span = 1);
	expect_sent('R', NETINC_ALL, 3, 0);
	expect(env.log[env.logged - 2].value == 1 && last_value() == fold_of(1, 3),
	       "block 3 is not of child 0");
	env_end();
}

/* Nothing is completed without a child that could not have contributed: it must find results. */
static void test_bound(void)
{
	u64 q;

	begin(2);
	for (q = 0; q < W; q++)
		give_op(0, q, 5, 1000);
	expect(netinc_agg_pass(&env.agg, 5000, 6000) == NETINC_NO_RANK && env.agg.una == W,
	       "una %llu", (unsigned long long)env.agg.una);
	give_op(0, W, 5, 7000);
	expect(env.agg.una == W, "a block is completed that child 1 could not have contributed to");
	expect(netinc_agg_pass(&env.agg, 5000, 12000) == 1, "child 1 is not in the way");
	env_seen = env.logged;
	probe(1, 1, 0, 12000);
	expect_sent('S', 1, env.agg.una, 0);
	expect(netinc_agg_pass(&env.agg, 5000, 12000) == NETINC_NO_RANK && env.agg.una == W + 1,
	       "una %llu", (unsigned long long)env.agg.una);
	expect_sent('R', NETINC_ALL, W, 0);
	expect(netinc_agg_slot(&env.agg, 0)->q == 0 &&
	       give_op(1, 0, 5, 13000) == -INC_C_DROP_TOO_LATE,
	       "block 0");
	env_end();
}

/* What has no meaning without all ranks is not completed. */
static void test_not_possible(void)
{
	struct netinc_pkt pkt;
	u32 i;

	for (i = 0; i < 6; i++) {
		begin(2);
		pkt = env_pkt(0);
		if (i == 0)
			pkt.dop = INC_OP_NONE;			/* elements are moved */
		if (i == 1)
			pkt.flags |= INC_F_FINAL;
		if (i == 2) {
			pkt.flags = INC_F_DESC;			/* a barrier */
			pkt.len = 0;
		}
		if (i == 3)
			pkt.dop = INC_OP_WSUM;			/* in this env: not to be folded */
		if (i == 4)
			env.agg.root = false;
		env_contrib(0, pkt, 1, 1000);
		if (i == 5)
			env.agg.closed = true, env.agg.limit = 0;
		expect(netinc_agg_pass(&env.agg, 5000, 60000) == 1 && !env.agg.una,
		       "case %u is completed", i);
		expect_quiet();
		env_end();
	}
}

/* A result is repeated with its set. */
static void test_repeat(void)
{
	struct netinc_pkt again = env_pkt(0);

	begin(2);
	again.opseq = 5;
	again.flags |= INC_F_RETRANS;
	give_op(0, 0, 5, 1000);
	netinc_agg_pass(&env.agg, 5000, 6000);
	expect_sent('P', NETINC_ALL, 1, 2);
	expect_sent('R', NETINC_ALL, 0, 0);
	env_contrib(0, again, 0, 100000);
	expect_sent('P', 0, 1, 2);
	expect_sent('R', 0, 0, 0);
	probe(0, 0, INC_F_RETRANS, 200000);
	expect_sent('P', 0, 1, 2);
	expect_sent('R', 0, 0, 0);
	expect_sent('S', 0, 1, 0);
	/* its contribution was lost, but that is not needed any more */
	probe(1, 0, INC_F_RETRANS, 200000);
	expect_sent('P', 1, 1, 2);
	expect_sent('R', 1, 0, 0);
	expect_sent('S', 1, 1, 0);
	expect_quiet();
	env_end();
}

static void test_no_memory(void)
{
	begin(3);
	give_op(0, 0, 5, 1000);
	give_op(1, 0, 5, 1000);
	env.fail_fold = 1;
	expect(netinc_agg_pass(&env.agg, 5000, 6000) == NETINC_NO_RANK && !env.agg.una,
	       "without memory");
	expect(netinc_agg_pass(&env.agg, 5000, 6001) == NETINC_NO_RANK && env.agg.una == 1,
	       "una %llu", (unsigned long long)env.agg.una);
	expect(last_value() == fold_of(3, 0) && env.agg.child[2].missed == 1, "block 0");
	env_end();
	/* it comes between */
	begin(3);
	give_op(0, 0, 5, 1000);
	give_op(1, 0, 5, 1000);
	env.fail_fold = 1;
	netinc_agg_pass(&env.agg, 5000, 6000);
	expect(!give_op(2, 0, 5, 6001) && env.agg.una == 1, "una %llu",
	       (unsigned long long)env.agg.una);
	expect(last_value() == fold_of(3, 0), "block 0");
	env_end();
}

/* What who is out has sent is not needed when there is no memory for a result; it is kept. */
static void test_no_memory_out(void)
{
	const struct netinc_slot *slot;

	begin(3);
	give_op(0, 0, 5, 1000);
	give_op(1, 0, 5, 1000);
	netinc_agg_pass(&env.agg, 5000, 6000);
	give_op(2, 1, 5, 6100);
	give_op(1, 1, 5, 6100);
	env.fail_fold = 1;
	expect(give_op(0, 1, 5, 6200) == -INC_C_DROP_MEMORY, "without memory");
	slot = netinc_agg_slot(&env.agg, 1);
	expect(slot->missing == 1 && !(~slot->in[2].flags & (INC_F_PAYLOAD | INC_F_PARTIAL)),
	       "%u missing, flags %x", slot->missing, slot->in[2].flags);
	expect(!give_op(0, 1, 5, 6300) && last_value() == fold_of(3, 1), "block 1");
	env_end();
}

static void test_disagrees(void)
{
	begin(2);
	give_op(0, 0, 5, 1000);
	netinc_agg_pass(&env.agg, 5000, 6000);
	expect(give_op(1, 0, 6, 7000) == -INC_C_DROP_MISMATCH, "another operation");
	env_end();
}

/* Who is out has contributed to a later block: there it counts, as all are out. */
static void test_later_block(void)
{
	begin(2);
	give_op(1, 0, 5, 1000);
	netinc_agg_pass(&env.agg, 5000, 6000);
	expect(env.agg.child[0].out, "child 0 is not out");
	give_op(0, 2, 5, 6000);
	give_op(1, 1, 5, 6000);
	expect(env.agg.una == 2 && last_value() == fold_of(2, 1), "block 1");
	netinc_agg_pass(&env.agg, 5000, 11000);
	expect(env.agg.una == 3 && last_value() == fold_of(1, 2), "block 2 is not of child 0");
	env_end();
}

/* What goes to who was too late is not under way to others. */
static void test_too_late_only(void)
{
	struct netinc_pkt again = env_pkt(0);

	begin(2);
	again.opseq = 5;
	again.flags |= INC_F_RETRANS;
	give_op(0, 0, 5, 1000);
	netinc_agg_pass(&env.agg, 5000, 6000);
	expect(give_op(1, 0, 5, 9000) == -INC_C_DROP_TOO_LATE, "it counts");
	env_seen = env.logged;
	env_contrib(1, again, 0, 9001);
	expect_quiet();
	env_contrib(0, again, 0, 9001);
	expect_sent('P', 0, 1, 2);
	expect_sent('R', 0, 0, 0);
	env_end();
}

/* Who is too late, and wants no elements, is sent none. */
static void test_too_late_without(void)
{
	struct netinc_pkt pkt = env_pkt(0);

	begin(2);
	give_op(0, 0, 5, 1000);
	netinc_agg_pass(&env.agg, 5000, 6000);
	expect(netinc_agg_slot(&env.agg, 0)->in[1].flags & INC_F_WANT, "it is not known yet");
	pkt.opseq = 5;
	pkt.flags = INC_F_PAYLOAD;
	expect(env_contrib(1, pkt, 0, 9000) == -INC_C_DROP_TOO_LATE, "it counts");
	expect(!(netinc_agg_slot(&env.agg, 0)->in[1].flags & INC_F_WANT), "it gets elements");
	env_end();
}

/* A set of more children than a word has bits is sent as a whole, and nothing behind it. */
static void test_large_set(void)
{
	u32 i;

	begin(56);
	for (i = 0; i < 55; i++)
		give_op(i, 0, 5, 1000);
	netinc_agg_pass(&env.agg, 5000, 6000);
	expect_sent('P', NETINC_ALL, 1, 56);
	expect_sent('R', NETINC_ALL, 0, 0);
	env_end();
}

static const struct ktap_test tests[] = {
	KTAP(test_in_time), KTAP(test_pass), KTAP(test_out), KTAP(test_all_out),
	KTAP(test_bound), KTAP(test_not_possible), KTAP(test_repeat),
	KTAP(test_no_memory), KTAP(test_no_memory_out), KTAP(test_disagrees),
	KTAP(test_later_block), KTAP(test_too_late_only), KTAP(test_too_late_without),
	KTAP(test_large_set),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
