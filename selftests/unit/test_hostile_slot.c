// SPDX-License-Identifier: GPL-2.0-only
/* A member that lies, and memory that is short: what a slot of the aggregator makes of it. */
#include "agg_env.h"

#define W	8u

/* A slot says nothing that no counted contribution says. */
static void expect_described(u64 q)
{
	const struct netinc_slot *slot = netinc_agg_slot(&env.agg, q);
	u32 i, held = 0;
	u16 flags = 0;

	for (i = 0; i < env.agg.inputs; i++)
		held += !!slot->in[i].obj;
	/* what may be evicted is known without a look at each of them */
	expect(slot->held == held, "block %llu: %u payloads are held, of %u",
	       (unsigned long long)q, slot->held, held);
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

	env_begin(3, 3, W, 0);
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
	env_begin(2, 2, W, 0);
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
	env_begin(2, 2, W, 0);
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

static const struct ktap_test tests[] = {
	KTAP(test_evicted), KTAP(test_leave_stays), KTAP(test_no_memory_for_result),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
