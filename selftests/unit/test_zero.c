// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks of zeros at a node: their elements are not sent, and where all are zeros nothing is
 * folded, held or sent of them but headers.
 */
#include "reduce/reduce.h"
#include "agg_env.h"

#define W	16u
#define ZEROS	(INC_F_PAYLOAD | INC_F_ZERO)

static void begin(u32 children)
{
	env_begin(children, children, W, 0);
	env_seen = 0;
}

static struct netinc_pkt zero_pkt(u64 q, u32 span)
{
	struct netinc_pkt pkt = env_pkt(q);

	pkt.flags |= INC_F_ZERO;
	pkt.span = span;
	return pkt;
}

static struct netinc_slot *slot_of(u64 q)
{
	return netinc_agg_slot(&env.agg, q);
}

/* The header of the result of block @q has exactly these flags, and its length. */
static void expect_result(u64 q, bool elements, u16 flags, u16 len)
{
	struct netinc_pkt pkt;

	netinc_agg_result_header(&env.agg, slot_of(q), elements, &pkt);
	expect(pkt.flags == flags && pkt.len == len, "block %llu: flags %#x, %u bytes",
	       (unsigned long long)q, pkt.flags, pkt.len);
}

static u64 last_value(void)
{
	return env.log[env.logged - 1].value;
}

/* Of zeros only: one packet for several blocks, of which nothing is held. */
static void test_all(void)
{
	struct netinc_pkt pkt = zero_pkt(2, 1);
	u64 q;
	u32 i;

	begin(3);
	for (i = 0; i < 3; i++)
		expect(!env_contrib(i, zero_pkt(0, 4), 99, 1), "child %u", i);
	for (q = 0; q < 4; q++) {
		expect_sent('R', NETINC_ALL, q, 0);
		expect(!env.log[env_seen - 1].value, "it has elements");
		expect_result(q, true, ZEROS | INC_F_WANT, 64);
		expect_result(q, false, INC_F_WANT, 0);
	}
	expect_quiet();
	expect(!env.held && env.agg.una == 4, "%u are held, una %llu", env.held,
	       (unsigned long long)env.agg.una);
	expect_count(CONTRIBS, 12u);
	expect_count(BLOCKS, 4u);
	expect_count(BLOCKS_ZERO, 4u);
	/* it is repeated as it was */
	pkt.flags |= INC_F_RETRANS;
	expect(env_contrib(1, pkt, 99, 1000000) == -INC_C_DROP_DUPLICATE, "again");
	expect_sent('R', 1, 2, 0);
	expect_quiet();
	env_end();
}

/* Zeros and others are folded, each in its place. */
static void test_some(void)
{
	u32 zero, i;

	for (zero = 0; zero < 3; zero++) {
		u64 sum = 0;

		begin(3);
		for (i = 0; i < 3; i++) {
			expect(!env_contrib(i, i == zero ? zero_pkt(0, 1) : env_pkt(0),
					    env_input(i, 0), 1), "child %u", i);
			sum = env_mix(sum, i == zero ? 0 : env_input(i, 0));
		}
		expect_sent('R', NETINC_ALL, 0, 0);
		expect(last_value() == sum, "child %u has zeros: another fold", zero);
		expect_result(0, true, INC_F_PAYLOAD | INC_F_WANT, 64);
		expect_count(BLOCKS_ZERO, 0u);
		env_end();
	}
}

/* The descriptor goes on, whoever sends it, and with it the zeros of others. */
static void test_descriptor(void)
{
	struct netinc_pkt pkt = env_pkt(0);

	begin(2);
	pkt.flags = INC_F_DESC | INC_F_WANT;
	pkt.len = 0;
	expect(!env_contrib(0, pkt, 5, 1), "a descriptor");
	expect(!env_contrib(1, zero_pkt(0, 1), 99, 1), "zeros");
	expect_sent('R', NETINC_ALL, 0, 0);
	expect(env.held == 1, "%u are held, expected the result", env.held);
	expect_result(0, true, INC_F_PAYLOAD | INC_F_WANT | INC_F_DESC, 64);
	expect_count(BLOCKS_ZERO, 0u);
	env_end();
}

/* Elements that are only moved are zeros if those of the one who has them are. */
static void test_moved(void)
{
	struct netinc_pkt pkt = zero_pkt(0, 2), empty = env_pkt(0);

	begin(2);
	empty.flags = INC_F_WANT;
	empty.len = 0;
	empty.span = 2;
	pkt.flags &= ~INC_F_WANT;
	pkt.dop = INC_OP_NONE;
	expect(!env_contrib(0, empty, 0, 1) && !env_contrib(1, pkt, 99, 1), "two blocks");
	expect_sent('R', NETINC_ALL, 0, 0);
	expect_sent('R', NETINC_ALL, 1, 0);
	expect_result(1, true, ZEROS | INC_F_WANT, 64);
	expect_count(BLOCKS_ZERO, 2u);
	/* two who move something disagree, zeros or not */
	empty.psn = 2;
	empty.flags = INC_F_PAYLOAD;
	empty.len = 64;
	empty.span = 1;
	empty.dop = INC_OP_NONE;
	pkt.psn = 2;
	pkt.span = 1;
	expect(!env_contrib(0, empty, 0, 2) && !env_contrib(1, pkt, 99, 2), "block 2");
	expect_sent('M', 0, 2, NETINC_NO_RANK);
	env_end();
}

/* Zeros have a length, a type and an operation like all elements. */
static void test_disagree(void)
{
	static const struct netinc_pkt other[] = {
		{ .len = 128, .dtype = INC_TYPE_I32, .dop = INC_OP_SUM },
		{ .len = 64, .dtype = INC_TYPE_U32, .dop = INC_OP_SUM },
		{ .len = 64, .dtype = INC_TYPE_I32, .dop = INC_OP_MAX },
	};
	struct netinc_pkt pkt;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(other); i++) {
		begin(2);
		pkt = zero_pkt(0, 1);
		pkt.len = other[i].len;
		pkt.dtype = other[i].dtype;
		pkt.dop = other[i].dop;
		expect(!env_contrib(0, pkt, 0, 1), "case %u, child 0", i);
		expect(!env_contrib(1, zero_pkt(0, 1), 0, 1), "case %u, child 1", i);
		expect_sent('M', 0, 0, NETINC_NO_RANK);
		expect_quiet();
		env_end();
	}
	begin(2);
	pkt = zero_pkt(0, 1);
	pkt.len = 66;
	expect(env_contrib(0, pkt, 0, 1) == -INC_C_DROP_MALFORMED, "half an element");
	pkt = zero_pkt(0, W + 1);
	expect(env_contrib(0, pkt, 0, 1) == -INC_C_DROP_AHEAD, "more than a window");
	env_end();
}

/* A result of an older epoch is not folded with zeros. */
static void test_final(void)
{
	struct netinc_pkt pkt = env_pkt(0);

	begin(2);
	pkt.flags |= INC_F_FINAL;
	expect(!env_contrib(0, zero_pkt(0, 1), 0, 1) && !env_contrib(1, pkt, 41, 1), "both");
	expect_sent('R', NETINC_ALL, 0, 0);
	expect(last_value() == 41, "%llu", (unsigned long long)last_value());
	expect_result(0, true, INC_F_PAYLOAD | INC_F_WANT | INC_F_FINAL, 64);
	env_end();
}

/* Without memory for what is folded, who has sent zeros sends them again. */
static void test_no_memory(void)
{
	begin(2);
	env.fail_fold = 1;
	expect(!env_give(0, 0, 1), "elements");
	expect(env_contrib(1, zero_pkt(0, 1), 99, 1) == -INC_C_DROP_MEMORY, "zeros");
	expect(env.held == 1 && slot_of(0)->missing == 1, "%u are held", env.held);
	expect(!env_contrib(1, zero_pkt(0, 1), 99, 1), "again");
	expect_sent('R', NETINC_ALL, 0, 0);
	expect(last_value() == env_mix(env_input(0, 0), 0), "another fold");
	/* and where there is nothing that can be held, nothing is taken back */
	env.room = 0;
	env.fail_fold = 1;
	expect(!env_contrib(0, zero_pkt(1, 3), 99, 1) && !env_contrib(1, zero_pkt(1, 3), 99, 1),
	       "three blocks");
	expect_count(BLOCKS_ZERO, 3u);
	expect_count(DROP_MEMORY, 1u);
	env_seen = env.logged;
	env_end();
}

static int give_result(u64 q, u32 span, u16 flags, u64 value, u64 now)
{
	struct netinc_pkt pkt = env_pkt(q);
	struct env_obj *o = env_new(value);
	struct netinc_pay pay;
	int err;

	pkt.type = INC_PKT_RESULT;
	pkt.flags |= flags;
	pkt.span = span;
	pay = (struct netinc_pay){ .obj = o, .len = pkt.len, .flags = pkt.flags };
	netinc_agg_buffer_begin(&env.agg);
	err = netinc_agg_result(&env.agg, &pkt, &pay, now);
	env_put(o);
	return err;
}

/* To a parent zeros go up as such, and may come down as such; the one does not follow the other. */
static void test_parent(void)
{
	struct netinc_pkt pkt;
	u64 q;
	u32 i;

	begin(2);
	env.agg.root = false;
	for (i = 0; i < 2; i++)
		expect(!env_contrib(i, zero_pkt(0, 3), 99, 1), "child %u", i);
	for (q = 0; q < 3; q++) {
		expect_sent('U', 0, q, 0);
		netinc_agg_up_header(&env.agg, slot_of(q), NETINC_WHOLE, &pkt);
		expect(pkt.flags == (ZEROS | INC_F_WANT) && pkt.len == 64,
		       "up: flags %#x, %u bytes", pkt.flags, pkt.len);
	}
	expect(!env_give(0, 3, 1) && !env_contrib(1, zero_pkt(3, 1), 99, 1), "block 3");
	expect_sent('U', 0, 3, 0);
	netinc_agg_up_header(&env.agg, slot_of(3), NETINC_WHOLE, &pkt);
	expect(pkt.flags == (INC_F_PAYLOAD | INC_F_WANT), "up: flags %#x", pkt.flags);
	expect(env.held == 1, "%u are held, expected one partial", env.held);

	expect(!give_result(0, 2, INC_F_ZERO, 99, 2), "two results of zeros");
	expect_sent('R', NETINC_ALL, 0, 0);
	expect_sent('R', NETINC_ALL, 1, 0);
	expect_result(1, true, ZEROS | INC_F_WANT, 64);
	expect(!give_result(2, 1, 0, 77, 2), "what others have added to zeros");
	expect_sent('R', NETINC_ALL, 2, 0);
	expect(last_value() == 77, "another result");
	expect_result(2, true, INC_F_PAYLOAD | INC_F_WANT, 64);
	expect(!give_result(3, 1, INC_F_ZERO, 99, 2), "what has become zeros");
	expect_sent('R', NETINC_ALL, 3, 0);
	expect_result(3, true, ZEROS | INC_F_WANT, 64);
	expect(env.held == 1, "%u are held, expected one result", env.held);
	expect_count(BLOCKS_ZERO, 3u);
	env_end();
}

/* Zeros that are lost on their way up go again. */
static void test_repeated(void)
{
	struct netinc_pkt pkt;

	begin(1);
	env.agg.root = false;
	expect(!env_contrib(0, zero_pkt(0, 2), 99, 1), "two blocks");
	expect_sent('U', 0, 0, 0);
	expect_sent('U', 0, 1, 0);
	netinc_agg_buffer_begin(&env.agg);
	env_repeat_up(0, 2, NULL, 100, 101);
	expect_sent('u', 0, 0, 0);
	expect_sent('u', 0, 1, 0);
	netinc_agg_up_header(&env.agg, slot_of(1), NETINC_WHOLE, &pkt);
	expect(pkt.flags == (ZEROS | INC_F_WANT), "flags %#x", pkt.flags);
	env_end();
}

/* A part of several is zeros or not by what it is made of. */
static void test_parts(void)
{
	static const u16 flags[] = { ZEROS, INC_F_PAYLOAD, 0 };
	struct netinc_pkt pkt;
	u32 i;

	env_begin(3, 3, W, 0);
	env_seen = 0;
	env.agg.root = false;
	env.agg.nparts = 3;
	for (i = 0; i < 3; i++) {
		env.agg.part[i] = (struct netinc_part){ i, i + 1 };
		pkt = env_pkt(0);
		pkt.dtype = INC_TYPE_F32;
		pkt.flags = flags[i] | INC_F_WANT;
		pkt.len = flags[i] ? 64 : 0;
		if (!flags[i])
			pkt.dop = INC_OP_NONE;
		expect(!env_contrib(i, pkt, 7 + i, 1), "child %u", i);
	}
	for (i = 0; i < 3; i++) {
		expect_sent('U', 0, 0, i);
		netinc_agg_up_header(&env.agg, slot_of(0), i, &pkt);
		expect(pkt.flags == (flags[i] | INC_F_WANT | INC_F_PART), "part %u: flags %#x", i,
		       pkt.flags);
		expect(pkt.len == (flags[i] ? 64 : 0), "part %u: %u bytes", i, pkt.len);
	}
	expect(env.held == 1, "%u are held, expected one part", env.held);
	/* all of them */
	for (i = 0; i < 3; i++) {
		pkt = zero_pkt(1, 1);
		pkt.dtype = INC_TYPE_F32;
		expect(!env_contrib(i, pkt, 7, 1), "child %u", i);
	}
	for (i = 0; i < 3; i++) {
		expect_sent('U', 0, 1, i);
		netinc_agg_up_header(&env.agg, slot_of(1), i, &pkt);
		expect(pkt.flags == (ZEROS | INC_F_WANT | INC_F_PART), "part %u: flags %#x", i,
		       pkt.flags);
	}
	expect(env.held == 1, "%u are held", env.held);
	/* or all that have elements: the others have neither these nor zeros */
	for (i = 0; i < 3; i++) {
		pkt = zero_pkt(2, 1);
		pkt.dtype = INC_TYPE_F32;
		if (i == 1) {
			pkt.flags = INC_F_WANT;
			pkt.len = 0;
			pkt.dop = INC_OP_NONE;
		}
		expect(!env_contrib(i, pkt, 7, 1), "child %u", i);
	}
	for (i = 0; i < 3; i++) {
		expect_sent('U', 0, 2, i);
		netinc_agg_up_header(&env.agg, slot_of(2), i, &pkt);
		expect(pkt.flags == ((i == 1 ? 0 : ZEROS) | INC_F_WANT | INC_F_PART) &&
		       pkt.len == (i == 1 ? 0 : 64), "part %u: flags %#x, %u bytes", i, pkt.flags,
		       pkt.len);
	}
	env_end();
}

/* Without late children it is zeros if what has come is; who is out of it does not count. */
static void test_late(void)
{
	begin(3);
	expect(!env_contrib(0, zero_pkt(0, 2), 0, 1000), "child 0");
	expect(!env_contrib(1, zero_pkt(0, 1), 0, 1000) && !env_give(1, 1, 1000), "child 1");
	netinc_agg_pass(&env.agg, 5000, 6000);
	expect_sent('P', NETINC_ALL, 1, 3);
	expect_sent('R', NETINC_ALL, 0, 0);
	expect_result(0, true, ZEROS | INC_F_WANT | INC_F_PARTIAL, 64);
	expect_sent('R', NETINC_ALL, 1, 0);
	expect(last_value() == env_mix(0, env_input(1, 1)), "another fold");
	expect_result(1, true, INC_F_PAYLOAD | INC_F_WANT | INC_F_PARTIAL, 64);
	/* what is sent too late is not folded; without memory it is as it was before */
	env.fail_fold = 1;
	expect(!env_contrib(2, zero_pkt(2, 1), 0, 7000) && !env_give(0, 2, 7000), "two of three");
	expect(env_give(1, 2, 7000) == -INC_C_DROP_MEMORY, "no memory");
	expect((slot_of(2)->in[2].flags & (ZEROS | INC_F_PARTIAL)) == (ZEROS | INC_F_PARTIAL),
	       "flags %#x", slot_of(2)->in[2].flags);
	expect(!env_give(1, 2, 7000), "again");
	expect_sent('R', NETINC_ALL, 2, 0);
	expect(last_value() == env_mix(env_input(0, 2), env_input(1, 2)), "another fold");
	expect_quiet();
	env_end();
}

static const struct ktap_test tests[] = {
	KTAP(test_all), KTAP(test_some), KTAP(test_descriptor), KTAP(test_moved),
	KTAP(test_disagree), KTAP(test_final), KTAP(test_no_memory), KTAP(test_parent),
	KTAP(test_repeated), KTAP(test_parts), KTAP(test_late),
};

int main(int argc, char **argv)
{
	netinc_reduce_init(0);
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
