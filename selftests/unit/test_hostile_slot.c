// SPDX-License-Identifier: GPL-2.0-only
/* A member that lies, and memory that is short: what a slot of the aggregator makes of it. */
#include "agg_env.h"

#define W	8u
#define MANY	512u

/* A slot says nothing that no counted contribution says. */
static void expect_described(u64 q)
{
	const struct netinc_slot *slot = netinc_agg_slot(&env.agg, q);
	u16 flags = 0;
	u32 i;

	for (i = 0; i < env.agg.children; i++)
		if (netinc_bits_get(slot->have, i))
			flags |= slot->in[i].flags;
	expect(!((slot->flags ^ flags) & (INC_F_PAYLOAD | INC_F_DESC | INC_F_FINAL | INC_F_LEAVE)),
	       "block %llu: flags %#x of contributions with %#x", (unsigned long long)q,
	       slot->flags, flags);
	expect(!slot->len == !(flags & INC_F_PAYLOAD) && !slot->dtype == !slot->len &&
	       !slot->dop == !slot->len,
	       "block %llu: %u bytes of type %u, operation %u", (unsigned long long)q, slot->len,
	       slot->dtype, slot->dop);
}

static int give_empty(u32 child, u64 q, u16 flags)
{
	struct netinc_pkt pkt = env_pkt(q);

	pkt.flags = flags;
	pkt.len = 0;
	pkt.dtype = INC_TYPE_NONE;
	pkt.dop = INC_OP_NONE;
	return env_contrib(child, pkt, 0, 0);
}

/* A block whose payload was taken back, contributed again without any, once with a descriptor. */
static void test_evicted(void)
{
	const struct netinc_slot *slot;
	u32 i;

	env_begin(3, 1, W, 0);
	env_seen = 0;
	env.room = 1;
	expect(!env_give(0, 2, 0), "payload of the youngest block");
	expect(!give_empty(1, 2, INC_F_WANT), "and nothing of another child");
	expect(!env_give(1, 1, 0), "an older block needs the room");
	expect_count(DROP_MEMORY, 2u);
	expect_described(2);
	slot = netinc_agg_slot(&env.agg, 2);
	expect(slot->missing == 3 && !slot->opseq && !slot->sig && !slot->bad, "%u are missing",
	       slot->missing);
	env.room = 100;
	expect(!give_empty(0, 2, INC_F_WANT | INC_F_DESC), "without payload");
	expect(!give_empty(1, 2, INC_F_WANT) && !give_empty(2, 2, INC_F_WANT), "the others, too");
	expect_described(2);
	expect_sent('R', NETINC_ALL, 2, 0);
	for (i = 0; i < 3; i++)
		env_give(i, 1, 0);
	env_end();
}

/* Who has left will not contribute again: what it has contributed stays. */
static void test_leave_stays(void)
{
	env_begin(2, 1, W, 0);
	env_seen = 0;
	env.room = 1;
	expect(!give_empty(0, 2, INC_F_LEAVE | INC_F_DESC), "LEAVE, with its descriptor");
	expect(env_give(1, 1, 0) == -INC_C_DROP_MEMORY, "an older block finds no room");
	expect(netinc_bits_get(netinc_agg_slot(&env.agg, 2)->have, 0), "LEAVE has been taken back");
	expect(!env_give(1, 0, 0), "the oldest always has");
	env_end();
}

/* The last contribution, the only one with payload, finds no memory for the result. */
static void test_no_memory_for_result(void)
{
	env_begin(2, 1, W, 0);
	env_seen = 0;
	env.fail_fold = 1;
	expect(!give_empty(0, 0, INC_F_WANT), "nothing");
	expect(env_give(1, 0, 0) == -INC_C_DROP_MEMORY, "no memory");
	expect_described(0);
	expect(!give_empty(1, 0, INC_F_WANT | INC_F_DESC), "now without payload");
	expect_described(0);
	expect_sent('R', NETINC_ALL, 0, 0);
	expect(netinc_agg_slot(&env.agg, 0)->result.len == 0, "%u bytes",
	       netinc_agg_slot(&env.agg, 0)->result.len);
	env_end();
}

static u32 results_sent(void)
{
	u32 n = 0;

	for (; env_seen < env.logged; env_seen++)
		n += env.log[env_seen].kind == 'R';
	return n;
}

/* A packet that asks for a whole window again gets 64 results; so does a buffer of many packets. */
static void test_results_per_buffer(void)
{
	struct netinc_pkt pkt = env_pkt(0);
	struct netinc_pay pay = { .flags = INC_F_RETRANS };
	u32 i;

	env_begin(2, 1, MANY, 0);
	for (i = 0; i < MANY; i++) {
		env_give(0, i, 0);
		env_give(1, i, 0);
	}
	env_seen = env.logged;
	pkt.flags = INC_F_RETRANS;
	pkt.len = 0;
	pkt.dop = INC_OP_NONE;
	pkt.span = MANY;
	expect(env_contrib(1, pkt, 0, 1000000) == -INC_C_DROP_DUPLICATE, "the whole window again");
	expect(results_sent() == 64, "more than 64 results");
	pkt.span = 1;
	netinc_agg_buffer_begin(&env.agg);
	for (i = 0; i < MANY; i++) {
		pkt.psn = i;
		netinc_agg_contrib(&env.agg, i % 2, &pkt, &pay, 9000000);
	}
	expect(results_sent() == 64, "more than 64 results for a buffer");
	env_end();
}

/* A buffer may ask for so many looks at a block, and no more. */
static void test_work_per_buffer(void)
{
	struct netinc_pay pay = { .flags = INC_F_WANT };
	struct netinc_pkt pkt = env_pkt(0);
	u32 taken = 0, i;

	env_begin(2, 1, MANY, 0);
	pkt.flags = INC_F_WANT;
	pkt.len = 0;
	pkt.dop = INC_OP_NONE;
	pkt.span = MANY;
	netinc_agg_buffer_begin(&env.agg);
	for (i = 0; i < 1365; i++)
		taken += netinc_agg_contrib(&env.agg, 0, &pkt, &pay, 0) != -INC_C_DROP_WORK;
	expect(taken == 32768 / MANY, "%u packets of %u blocks each", taken, MANY);
	expect_count(DROP_WORK, (u64)(1365 - taken));
	env_end();
}

/* To look for a block that gives up its room is work, too. */
static void test_work_of_eviction(void)
{
	struct netinc_pay pay = { .flags = INC_F_PAYLOAD | INC_F_WANT };
	struct netinc_pkt pkt = env_pkt(1);
	u32 left;
	int err;

	for (left = 1; left < 3; left++) {
		env_begin(2, 1, W, 0);
		env.room = 1;
		expect(!env_give(0, 2, 0), "payload of a younger block");
		pay.obj = env_new(1);
		env.agg.work_left = left;
		err = netinc_agg_contrib(&env.agg, 1, &pkt, &pay, 0);
		expect(err == (left < 2 ? -INC_C_DROP_MEMORY : 0), "with work for %u blocks: %d",
		       left, err);
		env_put(pay.obj);
		env_end();
	}
}

static const struct ktap_test tests[] = {
	KTAP(test_evicted), KTAP(test_leave_stays), KTAP(test_no_memory_for_result),
	KTAP(test_results_per_buffer), KTAP(test_work_per_buffer), KTAP(test_work_of_eviction),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
