// SPDX-License-Identifier: GPL-2.0-only
/* Parts of blocks: contributions of nodes whose ranks are no node of the tree over all ranks. */
#include "reduce/order.h"
#include "reduce/reduce.h"
#include "agg_env.h"

#define W	4u

/*
 * A node whose children have ranks of 8 like this, all of them but rank 7: child 0 has 0, 2 and 4,
 * child 1 has 1, 3 and 5, child 2 has 6. Below here is [0, 4), [4, 6) and [6, 7).
 */
static const struct netinc_operand operands[] = {
	{ 0, 1 }, { 1, 1 }, { 3, 1 }, { 5, 1 }, { 4, 1 }, { 6, 1 }, { 2, 1 },
};

static const struct netinc_part parts[] = { { 0, 4 }, { 4, 6 }, { 6, 7 } };

static void begin_parts(bool root)
{
	env_begin(3, ARRAY_SIZE(operands), W, 0);
	env_seen = 0;
	env.agg.root = root;
	env.agg.child[0].parts = 3;
	env.agg.child[0].further = 3;
	env.agg.child[1].parts = 3;
	env.agg.child[1].further = 5;
	memcpy(env.agg.operand, operands, sizeof(operands));
	memcpy(env.agg.part, parts, sizeof(parts));
	env.agg.nparts = root ? 1 : ARRAY_SIZE(parts);
	if (root)
		env.agg.part[0] = (struct netinc_part){ 0, ARRAY_SIZE(operands) };
}

static struct netinc_pkt float_pkt(u64 q)
{
	struct netinc_pkt pkt = env_pkt(q);

	pkt.dtype = INC_TYPE_F32;
	return pkt;
}

static int give_part(u32 child, u32 part, u64 q, u64 now)
{
	struct netinc_pkt pkt = float_pkt(q);

	pkt.flags |= INC_F_PART;
	pkt.part = part;
	return env_contrib(child, pkt, 10 * child + part + 100 * q, now);
}

static void give_child(u32 child, u64 q, u64 now)
{
	u32 part;

	for (part = 0; part < 3; part++)
		expect(!give_part(child, part, q, now), "part %u of child %u", part, child);
}

/* What child 2 sends is one part. */
static int give_last(u64 q, u64 now)
{
	return env_contrib(2, float_pkt(q), 20 + 100 * q, now);
}

static u64 mix(const u32 *values, u32 n, u64 q)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < n; i++)
		sum = env_mix(sum, values[i] + 100 * q);
	return sum;
}

/* The three parts of block @q have gone up, of kind 'U' or 'u'. */
static void expect_parts(char kind, u64 q)
{
	static const u32 first[] = { 0, 10, 1, 11 }, second[] = { 2, 12 }, third[] = { 20 };
	const u64 right[] = { mix(first, 4, q), mix(second, 2, q), mix(third, 1, q) };
	u32 i;

	for (i = 0; i < 3; i++) {
		expect_sent(kind, 0, q, i);
		expect(env.log[env_seen - 1].value == right[i], "value of part %u of block %llu", i,
		       (unsigned long long)q);
	}
}

/* The largest node that begins at a rank and ends before another one, for all of up to 40 ranks. */
static void test_node_end(void)
{
	u32 ranks, first, end, right, got;

	for (ranks = 1; ranks <= 40; ranks++) {
		for (first = 0; first < ranks; first++) {
			for (end = first + 1; end <= ranks; end++) {
				for (right = end; right > first + 1; right--)
					if (netinc_order_is_node(first, right - first, ranks))
						break;
				got = netinc_order_node_end(first, end, ranks);
				expect(got == right, "node at %u before %u of %u: %u, not %u",
				       first, end, ranks, got, right);
			}
		}
	}
}

/* A child has contributed when all its parts are there, whatever the order they come in. */
static void test_all_parts(void)
{
	static const u32 order[] = { 2, 0, 1 };
	u32 i;

	begin_parts(false);
	for (i = 0; i < 3; i++) {
		expect(!give_part(0, order[i], 0, 1), "part %u", order[i]);
		expect(give_part(0, order[i], 0, 1) == -INC_C_DROP_DUPLICATE, "again");
		expect((env.agg.child[0].frontier == 1) == (i == 2), "it is through with part %u",
		       order[i]);
	}
	expect(!netinc_agg_slot(&env.agg, 0)->pending, "parts of who has sent all are waited with");
	expect(!give_last(0, 1), "child 2");
	expect_quiet();
	give_child(1, 0, 1);
	expect_parts('U', 0);
	expect_quiet();
	expect_count(PARTS, 3u);
	expect_count(CONTRIBS_SENT, 1u);
	/* the result comes as one, and takes the place of all */
	expect(env.held == 3, "%u are held, expected the partial", env.held);
	env_end();
}

/* What a root makes of parts is one result, in the order of the ranks. */
static void test_root(void)
{
	static const u32 values[] = { 0, 10, 1, 11, 2, 12, 20 };

	begin_parts(true);
	give_child(1, 0, 1);
	give_child(0, 0, 1);
	expect_quiet();
	expect(!give_last(0, 1), "child 2");
	expect_sent('R', NETINC_ALL, 0, 0);
	expect(env.log[env_seen - 1].value == mix(values, 7, 0), "another order");
	expect_count(PARTS, 0u);
	env_end();
}

/* What has no order is whole, also at nodes that have parts; and it is not both. */
static void test_whole(void)
{
	struct netinc_pkt pkt = env_pkt(0);
	u32 i;

	begin_parts(false);
	expect(!env_contrib(0, pkt, 0, 1), "a sum of integers in one");
	expect(give_part(0, 1, 0, 1) == -INC_C_DROP_DUPLICATE, "a part of what is there");
	for (i = 1; i < 3; i++)
		expect(!env_contrib(i, pkt, i, 1), "child %u", i);
	expect_sent('U', 0, 0, 0);
	expect_quiet();
	expect_count(PARTS, 0u);
	/* and of floats, a child that sends some parts does not send all of it */
	expect(env_contrib(0, float_pkt(1), 0, 1) == -INC_C_DROP_MALFORMED, "floats in one");
	pkt = env_pkt(1);
	pkt.flags |= INC_F_PART;
	expect(env_contrib(0, pkt, 0, 1) == -INC_C_DROP_MALFORMED, "a part of integers");
	expect(!give_part(0, 0, 1, 1), "part 0");
	pkt = float_pkt(1);
	pkt.flags = INC_F_WANT;
	pkt.len = 0;
	expect(env_contrib(0, pkt, 0, 1) == -INC_C_DROP_MALFORMED, "all after a part");
	expect(give_part(0, 3, 1, 1) == -INC_C_DROP_MALFORMED, "a fourth part");
	expect(give_part(2, 0, 1, 1) == -INC_C_DROP_MALFORMED, "a part of what has none");
	pkt = float_pkt(1);
	pkt.part = 1;
	expect(env_contrib(0, pkt, 0, 1) == -INC_C_DROP_MALFORMED, "a part that says that it is none");
	env_end();
}

/* While parts come, none is missing; when the next block comes, one is. */
static void test_lost_part(void)
{
	u32 part;

	begin_parts(false);
	for (part = 0; part < 2; part++) {
		give_part(0, part, 0, 1000);
		env_packet_end(0, 1000);
	}
	expect(env.agg.child[0].frontier == env.agg.child[0].end, "there is a hole");
	expect(!env.agg.child[0].gap, "packets behind a hole");
	expect_quiet();
	for (part = 0; part < 3; part++) {
		give_part(0, part, 1, 1000000);
		env_packet_end(0, 1000000);
	}
	expect(env.agg.child[0].end == 2 && !env.agg.child[0].frontier, "there is no hole");
	give_part(0, 0, 2, 2000000);
	env_packet_end(0, 2000000);
	expect_sent('N', 0, 0, 1);
	env_end();
}

/* Without memory for one of the parts none is made, and the last contribution comes again. */
static void test_no_memory(void)
{
	u32 fails;

	for (fails = 1; fails <= 3; fails++) {
		begin_parts(false);
		give_child(0, 0, 1);
		give_child(1, 0, 1);
		env.fold_until = fails;
		expect(give_last(0, 1) == -INC_C_DROP_MEMORY, "the %u-th fails", fails);
		expect_quiet();
		expect(env.held == 6, "%u are held, expected 6 contributions", env.held);
		expect(!give_last(0, 1), "again");
		expect_parts('U', 0);
		env_end();
	}
	/* likewise if the last one is a part */
	begin_parts(false);
	give_child(0, 0, 1);
	give_last(0, 1);
	give_part(1, 0, 0, 1);
	give_part(1, 2, 0, 1);
	env.fail_fold = 1;
	expect(give_part(1, 1, 0, 1) == -INC_C_DROP_MEMORY, "the last part");
	expect(netinc_agg_slot(&env.agg, 0)->pending == 2, "%u parts of others are there",
	       netinc_agg_slot(&env.agg, 0)->pending);
	expect(give_part(1, 0, 0, 1) == -INC_C_DROP_DUPLICATE, "the first one is there");
	expect_quiet();
	expect(!give_part(1, 1, 0, 1), "again");
	expect_parts('U', 0);
	env_end();
}

/* For want of memory a block goes, and with it the parts of those that have not sent all. */
static void test_evicted(void)
{
	u64 q;

	begin_parts(false);
	give_part(0, 0, 2, 1);
	give_child(1, 2, 1);
	env.room = env.held;
	expect(!give_part(0, 0, 1, 1), "an older block");
	expect(env.held == 1, "%u are held", env.held);
	expect_count(DROP_MEMORY, 2u);
	expect(env.agg.child[0].end == 3 && env.agg.child[1].end == 3, "that is no hole");
	expect(!netinc_agg_slot(&env.agg, 2)->pending, "parts that are gone are counted");
	env.room = ~0u;
	give_part(0, 1, 1, 1);
	give_part(0, 2, 1, 1);
	for (q = 0; q < 3; q++) {
		if (q != 1)
			give_child(0, q, 1);
		give_child(1, q, 1);
		give_last(q, 1);
		expect_parts('U', q);
	}
	env_end();
}

/* What the parent lacks goes again, all of it; when the result comes there is nothing left. */
static void test_repeated(void)
{
	struct netinc_pkt pkt = float_pkt(0);
	struct env_obj *o;
	struct netinc_pay pay;

	begin_parts(false);
	give_child(0, 0, 1);
	give_child(1, 0, 1);
	give_last(0, 1);
	expect_parts('U', 0);
	netinc_agg_buffer_begin(&env.agg);
	env_repeat_up(0, 1, NULL, 100, 101);
	expect_parts('u', 0);
	expect_count(CONTRIBS_RESENT, 1u);
	o = env_new(99);
	pay = (struct netinc_pay){ .obj = o, .len = pkt.len, .flags = pkt.flags };
	pkt.type = INC_PKT_RESULT;
	netinc_agg_buffer_begin(&env.agg);
	env.fail_fold = 1;
	expect(netinc_agg_result(&env.agg, &pkt, &pay, 102) == -INC_C_DROP_MEMORY, "no memory");
	env_repeat_up(0, 1, NULL, 200, 201);
	expect_parts('u', 0);
	expect(!netinc_agg_result(&env.agg, &pkt, &pay, 202), "the result");
	env_put(o);
	expect_sent('R', NETINC_ALL, 0, 0);
	expect(env.held == 1, "%u are held, expected the result", env.held);
	env_repeat_up(0, 1, NULL, 300, 301);
	expect_quiet();
	env_end();
}

/* The result goes once to who repeats all parts of what is done. */
static void test_answered(void)
{
	u32 child, part;

	begin_parts(true);
	for (child = 0; child < 2; child++)
		give_child(child, 0, 1);
	give_last(0, 1);
	expect_sent('R', NETINC_ALL, 0, 0);
	for (part = 0; part < 3; part++) {
		struct netinc_pkt pkt = float_pkt(0);

		pkt.flags |= INC_F_PART | INC_F_RETRANS;
		pkt.part = part;
		env_contrib(1, pkt, 0, 1000000 * (part + 1));
	}
	expect_sent('R', 1, 0, 0);
	expect_quiet();
	env_end();
}

/* Whose elements cannot be folded is known, whichever part of his they are in. */
static void test_unsupported_part(void)
{
	struct netinc_pkt pkt = float_pkt(0);
	u32 part;

	begin_parts(true);
	pkt.flags = INC_F_PART;
	pkt.len = 0;
	expect(!env_contrib(0, pkt, 0, 1), "a part without elements");
	for (part = 1; part < 3; part++)
		give_part(0, part, 0, 1);
	netinc_agg_slot(&env.agg, 0)->bad = INC_ERR_UNSUPPORTED;
	give_child(1, 0, 1);
	give_last(0, 1);
	expect_sent('M', 0, 0, NETINC_NO_RANK);
	env_end();
}

/* One buffer of the parent's makes no more go again than one of a child's, but for one block. */
static void test_work(void)
{
	u32 blocks = 0, q, sent;

	env_begin(1, 256, 512, 0);
	env_seen = 0;
	env.agg.root = false;
	env.agg.child[0].parts = 256;
	env.agg.child[0].further = 1;
	env.agg.nparts = 256;
	for (q = 0; q < 256; q++) {
		env.agg.operand[q] = (struct netinc_operand){ q, 1 };
		env.agg.part[q] = (struct netinc_part){ q, q + 1 };
	}
	for (q = 0; q < 4; q++)
		for (sent = 0; sent < 256; sent++)
			give_part(0, sent, q, 1);
	sent = env.logged;
	netinc_agg_buffer_begin(&env.agg);
	env_repeat_up(0, 4, NULL, 100, 101);
	for (; sent < env.logged; sent++)
		blocks += env.log[sent].kind == 'u' && !env.log[sent].span;
	expect(blocks == 1, "%u blocks went again", blocks);
	env_seen = env.logged;
	env_end();
}

/* Part without elements: nobody that it is made of has any. */
static void test_no_elements(void)
{
	struct netinc_pkt pkt = float_pkt(0);

	begin_parts(false);
	give_child(0, 0, 1);
	give_child(1, 0, 1);
	pkt.flags &= ~INC_F_PAYLOAD;
	pkt.len = 0;
	pkt.dtype = 0;
	pkt.dop = 0;
	expect(!env_contrib(2, pkt, 0, 1), "child 2");
	expect_sent('U', 0, 0, 0);
	expect_sent('U', 0, 0, 1);
	expect_sent('U', 0, 0, 2);
	expect(!env.log[env_seen - 1].value, "the last part has elements");
	netinc_agg_up_header(&env.agg, netinc_agg_slot(&env.agg, 0), 2, &pkt);
	expect((pkt.flags & (INC_F_PART | INC_F_PAYLOAD)) == INC_F_PART, "its flags: %#x",
	       pkt.flags);
	expect(!pkt.len && pkt.part == 2, "its header: part %u, %u bytes", pkt.part, pkt.len);
	env_end();
}

static const struct ktap_test tests[] = {
	KTAP(test_node_end), KTAP(test_all_parts), KTAP(test_root), KTAP(test_whole),
	KTAP(test_lost_part), KTAP(test_no_memory), KTAP(test_evicted), KTAP(test_repeated),
	KTAP(test_work), KTAP(test_no_elements), KTAP(test_answered), KTAP(test_unsupported_part),
};

int main(int argc, char **argv)
{
	netinc_reduce_init(0);
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
