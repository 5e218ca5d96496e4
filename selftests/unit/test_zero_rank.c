// SPDX-License-Identifier: GPL-2.0-only
/* Results of zeros at a rank: one packet for several blocks, whose elements are not in it. */
#include "ep_env.h"

#define ELEMS	(8 + 16 * 5)	/* of six blocks */

/* Blocks [@b, @b + @span) of @op are zeros. */
static struct netinc_pkt zeros(const struct netinc_op *op, u64 b, u16 span)
{
	struct netinc_pkt pkt = result_of(op, b);

	pkt.flags |= INC_F_ZERO;
	pkt.span = span;
	return pkt;
}

static void submitted(struct netinc_op *op)
{
	ready(100);
	*op = allreduce(ELEMS);
	submit_op(op);
}

/* Each block of the span gets its elements, whatever else has come before. */
static void test_span(void)
{
	struct netinc_op op;

	submitted(&op);
	expect(!result(&op, 103), "one with elements");
	expect(!give(zeros(&op, 101, 4)), "four, of which one is there");
	expect(env.delivered == 16 * 4 && env.first == 8 + 16 * 3, "%llu elements, the last at %llu",
	       (unsigned long long)env.delivered, (unsigned long long)env.first);
	expect(give(zeros(&op, 101, 4)) == -INC_C_DROP_DUPLICATE, "again");
	expect(!result(&op, 100) && !give(zeros(&op, 105, 1)), "the rest");
	expect(env.done == 1 && !env.failed && env.delivered == ELEMS, "%llu elements",
	       (unsigned long long)env.delivered);
	expect_count(RESULTS, 6u);
}

/* They are as long as elements would be, and of this operation; nothing is taken else. */
static void test_wrong(void)
{
	struct netinc_pkt pkt;
	struct netinc_op op;

	submitted(&op);
	pkt = zeros(&op, 101, 2);
	pkt.len -= 4;
	expect(give(pkt) == -INC_C_DROP_MISMATCH, "shorter");
	pkt = zeros(&op, 101, 2);
	pkt.sig++;
	expect(give(pkt) == -INC_C_DROP_MISMATCH, "of another operation");
	/* the first block is shorter than the others */
	expect(!give(zeros(&op, 100, 2)), "the first one");
	expect(env.delivered == 8, "%llu elements", (unsigned long long)env.delivered);
	expect(give(zeros(&op, 101, W + 1)) == -INC_C_DROP_AHEAD, "more than a window");
	env.no_room = true;
	expect(give(zeros(&op, 101, 5)) == -INC_C_DROP_MEMORY, "without room");
	env.no_room = false;
	expect(!give(zeros(&op, 101, 5)) && env.done == 1, "with it");
}

/* Elements are written that are in no packet: that costs a look for each 512 bytes begun. */
static void test_looks(void)
{
	static const struct {
		u16 len;
		u32 looks;
	} cases[] = { { BLOCK, 1 }, { 512, 1 }, { 516, 2 }, { 8896, 18 }, { INC_MAX_BLOCK, 32 } };
	struct netinc_pkt pkt;
	struct netinc_op op;
	int err;
	u32 i;

	submitted(&op);
	for (i = ARRAY_SIZE(cases); i--;) {
		pkt = zeros(&op, 101, 5);
		pkt.len = cases[i].len;
		netinc_ep_buffer_begin(&env.ep, cases[i].looks * 5 - 1);
		expect(give(pkt) == -INC_C_DROP_WORK && env.ep.work_left == cases[i].looks * 5 - 1,
		       "%u bytes: not dropped, %u looks are left", pkt.len, env.ep.work_left);
		netinc_ep_buffer_begin(&env.ep, cases[i].looks * 5);
		err = give(pkt);
		/* only the first case has blocks of the operation's length */
		expect(err == (i ? -INC_C_DROP_MISMATCH : 0) && !env.ep.work_left,
		       "%u bytes: %d, %u looks are left", pkt.len, err, env.ep.work_left);
	}
	expect_count(RESULTS, 5u);
}

/* They come where blocks do not: that they wait for another one says nothing of the link. */
static void test_link(void)
{
	struct netinc_op op;
	u32 i;

	for (i = 0; i < 2; i++) {
		ready(0);
		op = allreduce(8);
		op.coll = INC_COLL_SCAN;
		submit_op(&op);
		env.ep.tree[0].stalled = 5;
		expect(give(i ? zeros(&op, 1, 1) : result_of(&op, 1)) == -INC_C_DROP_ORDER,
		       "it does not wait");
		expect(env.ep.tree[0].stalled == (i ? 5 : 0), "%u: stalled %u", i,
		       env.ep.tree[0].stalled);
	}
}

/* What is kept of them for another node is a result like all. */
static void test_retained(void)
{
	struct netinc_op op;
	struct netinc_pkt pkt;
	const struct netinc_pay *pay;

	ready_to_move(100, INC_FALLBACK_EDGE, 0);
	op = allreduce(ELEMS);
	submit_op(&op);
	expect(!result(&op, 100) && !give(zeros(&op, 101, 2)), "results");
	expect(env.retained == 3, "%d are kept", env.retained);
	pay = netinc_ep_retained_header(&env.ep, 102, &pkt);
	expect(pay && pkt.flags == (INC_F_PAYLOAD | INC_F_FINAL) && pkt.len == BLOCK,
	       "flags %#x, %u bytes", pkt.flags, pkt.len);
}

static const struct ktap_test tests[] = {
	KTAP(test_span), KTAP(test_wrong), KTAP(test_looks), KTAP(test_link), KTAP(test_retained),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
