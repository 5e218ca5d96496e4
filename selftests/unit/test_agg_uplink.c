// SPDX-License-Identifier: GPL-2.0-only
/* An aggregator below a parent: partials go up, also once more, and results come down. */
#include "agg_env.h"

#define W	8u

static void begin_below(u32 children)
{
	env_begin(children, children, W, 0);
	env_seen = 0;
	env.agg.root = false;
}

static int result(u64 q, u16 flags, u32 sig, u64 value)
{
	struct netinc_pkt pkt = env_pkt(q);
	struct env_obj *o = env_new(value);
	struct netinc_pay pay = { .obj = o, .len = 64, .flags = flags };
	int err;

	pkt.type = INC_PKT_RESULT;
	pkt.flags = flags;
	pkt.len = flags & INC_F_PAYLOAD ? pkt.len : 0;
	pkt.sig = sig;
	err = netinc_agg_result(&env.agg, &pkt, &pay, 100);
	env_put(o);
	return err;
}

/* Not the root: partials go up, results from there go down; who repeats makes the node repeat. */
static void test_inner_node(void)
{
	struct netinc_pkt again = env_pkt(0), empty = env_pkt(1);
	const __be32 all = cpu_to_be32(3), none = 0;

	begin_below(2);
	env_give(0, 0, 0);
	env_give(1, 0, 0);
	expect_sent('U', 0, 0, 0);
	expect(env.log[0].value == env_expected(0), "the partial is wrong");
	expect_count(BLOCKS, 0u);
	expect(result(1, INC_F_PAYLOAD, 0, 5) == -INC_C_DROP_AHEAD,
	       "a result that nobody waits for");
	expect(result(0, INC_F_PAYLOAD, 7, 5) == -INC_C_DROP_MISMATCH,
	       "another operation's result");
	/* who repeats is told by STATUS that it is here; what is lost above is PROBEd there */
	again.flags |= INC_F_RETRANS;
	env_contrib(0, again, 0, 100000);
	expect_quiet();
	env_repeat_up(0, 2, &all, 1, 50);
	env_repeat_up(1, 1, NULL, 1, 50);
	expect_quiet();
	env_repeat_up(0, 2, &none, 1, 50);
	expect_sent('u', 0, 0, 0);
	expect(env.log[env.logged - 1].value == env_expected(0), "another partial goes up again");
	env_repeat_up(0, 1, NULL, 49, 51);
	expect_quiet();
	expect_count(CONTRIBS_RESENT, 1u);
	expect(!result(0, INC_F_PAYLOAD | INC_F_WANT, 0, 1234), "the result");
	expect_sent('R', NETINC_ALL, 0, 0);
	expect(env.log[env.logged - 1].value == 1234, "the partial was passed on as the result");
	expect(result(0, INC_F_PAYLOAD, 0, 1234) == -INC_C_DROP_DUPLICATE, "again");
	empty.flags = 0;
	empty.len = 0;
	env_contrib(0, empty, 0, 0);
	env_contrib(1, empty, 0, 0);
	expect_sent('U', 0, 1, 0);
	expect(!result(1, 0, 0, 99), "an empty result");
	expect_sent('R', NETINC_ALL, 1, 0);
	expect(env.held == 1, "%u are held, expected the result of block 0", env.held);
	expect_quiet();
	expect_count(BLOCKS, 2u);
	env_end();
}

static void give_both(u64 q, u64 now)
{
	env_give(0, q, now);
	env_give(1, q, now);
	expect_sent('U', 0, q, 0);
}

/*
 * A result is overtaken by that of a partial that went up the slack later; one that went up twice
 * says nothing of others. Who is not to slow down for what was lost is not told to.
 */
static void test_overtaken(void)
{
	struct netinc_repeat r = { .before = 9000, .again = 5000 };
	struct netinc_slot *slot;

	begin_below(2);
	give_both(0, 1000);
	give_both(1, 1000);
	give_both(2, 4000);
	slot = netinc_agg_slot(&env.agg, 0);
	expect(!netinc_agg_overtaken(&env.agg, slot, 0), "by none");
	expect(netinc_agg_repeat_up(&env.agg, 1, 1, &r, 9000) == 1, "lost for the first time");
	expect_sent('u', 0, 1, 0);
	expect(!netinc_agg_repeat_up(&env.agg, 1, 1, &r, 9001), "again too soon");
	expect_quiet();
	r.again = 9000;
	r.slow = true;
	expect(!netinc_agg_repeat_up(&env.agg, 1, 1, &r, 9100), "lost for the first time again");
	expect_sent('u', 0, 1, 0);
	expect(!result(1, INC_F_PAYLOAD, 0, 5) && !env.agg.up_sent && !env.agg.up_trip &&
	       env.agg.up_high == 2, "a result of what went up twice: %llu, %llu",
	       (unsigned long long)env.agg.up_sent, (unsigned long long)env.agg.up_high);
	expect(netinc_agg_slot(&env.agg, 1)->flags & INC_F_CE, "nobody slows down");
	expect_sent('R', NETINC_ALL, 1, 0);
	expect(!result(2, INC_F_PAYLOAD, 0, 5), "the result of the last one");
	expect_sent('R', NETINC_ALL, 2, 0);
	expect(netinc_agg_overtaken(&env.agg, slot, 2999) &&
	       !netinc_agg_overtaken(&env.agg, slot, 3000), "by %llu",
	       (unsigned long long)env.agg.up_sent);
	r.slow = false;
	netinc_agg_repeat_up(&env.agg, 0, 1, &r, 9200);
	expect_sent('u', 0, 0, 0);
	expect(!result(0, INC_F_PAYLOAD, 0, 5), "the first one's");
	expect(!(slot->flags & INC_F_CE), "all slow down for chance");
	env_end();
}

static const struct ktap_test tests[] = {
	KTAP(test_inner_node), KTAP(test_overtaken),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
