// SPDX-License-Identifier: GPL-2.0-only
/* The aggregator's slots: what counts once, what is dropped and why, what is sent to whom. */
#include "agg_env.h"

#define W	8u
#define S	(2 * W)

static void begin(u32 children, u64 start)
{
	env_begin(children, children, W, start);
	env_seen = 0;
}

static void complete_block(u64 q)
{
	u32 i;

	for (i = 0; i < env.agg.children; i++)
		expect(!env_give(i, q, 1000), "child %u, block %llu", i, (unsigned long long)q);
	expect_sent('R', NETINC_ALL, q, 0);
}

/* All orders of arrival of four children give the same result, once. */
static void test_order(void)
{
	u32 a, b, c, d, q = 0;

	begin(4, 0);
	for (a = 0; a < 4; a++) {
		for (b = 0; b < 4; b++) {
			for (c = 0; c < 4; c++) {
				d = 6 - a - b - c;
				if (a == b || a == c || b == c)
					continue;
				env_give(a, q, 0);
				env_give(b, q, 0);
				env_give(c, q, 0);
				expect_quiet();
				env_give(d, q, 0);
				expect_sent('R', NETINC_ALL, q, 0);
				expect(env.log[env.logged - 1].value == env_expected(q),
				       "order %u%u%u%u", a, b, c, d);
				q++;
			}
		}
	}
	expect_count(CONTRIBS, 96u);
	expect_count(BLOCKS, 24u);
	expect(env.held == S, "%u objects are held, expected %u results", env.held, S);
	env_end();
}

static void test_duplicate(void)
{
	begin(2, 0);
	expect(!env_give(0, 0, 0), "first");
	expect(env_give(0, 0, 0) == -INC_C_DROP_DUPLICATE, "again");
	expect(!env_give(1, 0, 0), "the other");
	expect(env_give(1, 0, 0) == -INC_C_DROP_DUPLICATE, "after completion");
	expect_sent('R', NETINC_ALL, 0, 0);
	expect(env.log[0].value == env_expected(0), "a duplicate was folded");
	expect_quiet();
	expect_count(CONTRIBS, 2u);
	expect_count(DROP_DUPLICATE, 2u);
	env_end();
}

/* Rule 2: a slot takes its block, or the one S later once that is done; nobody is W ahead. */
static void reuse(u64 start)
{
	u64 q;

	begin(2, start);
	expect(env_give(0, start + W, 0) == -INC_C_DROP_AHEAD, "W ahead");
	expect(env_give(0, start + S, 0) == -INC_C_DROP_AHEAD, "S ahead");
	expect(env_give(0, start + 2 * S, 0) == -INC_C_DROP_AHEAD, "2 S ahead");
	expect(env_give(0, start - 1, 0) == -INC_C_DROP_STALE, "before the start");
	for (q = start; q != start + S; q++)
		complete_block(q);
	expect(env_give(0, start, 0) == -INC_C_DROP_DUPLICATE, "the oldest that is kept");
	expect(env_give(0, start - 1, 0) == -INC_C_DROP_STALE, "one older");
	for (; q != start + 5 * S; q++) {
		complete_block(q);
		expect(env_give(1, q - S, 0) == -INC_C_DROP_STALE, "block %llu after %llu",
		       (unsigned long long)(q - S), (unsigned long long)q);
		expect(env_give(1, q - S + 1, 0) == -INC_C_DROP_DUPLICATE, "block %llu after %llu",
		       (unsigned long long)(q - S + 1), (unsigned long long)q);
	}
	expect_quiet();
	expect_count(DROP_AHEAD, 3u);
	expect_count(DROP_STALE, 2 + 4 * S);
	expect_count(BLOCKS, 5 * S);
	env_end();
}

static void test_reuse(void)
{
	reuse(0);
	reuse(1000);
	reuse((1ull << 32) - 3);
	reuse(-3ull);
}

/* A slot that is not done takes nothing else, whoever asks. */
static void test_not_done(void)
{
	u32 q;

	begin(2, 0);
	env_give(0, 0, 0);
	for (q = 1; q < W; q++)
		complete_block(q);
	expect(env_give(0, W, 0) == -INC_C_DROP_AHEAD, "a block W after one that is not done");
	expect(env_give(0, S, 0) == -INC_C_DROP_AHEAD, "S after one that is not done");
	expect(!env_give(1, 0, 0), "the missing one");
	expect_sent('R', NETINC_ALL, 0, 0);
	expect(!env_give(0, W, 0), "now it may");
	env_end();
}

/* Rule 13: the oldest block is forced, at the limit the youngest goes first. */
static void test_limit(void)
{
	u32 q;

	begin(3, 0);
	env.room = 4;
	for (q = 0; q < 4; q++)
		expect(!env_give(1, q, 0), "block %u", q);
	expect(env.forced == 1, "%u were forced, expected block 0 only", env.forced);
	expect(env_give(1, 4, 0) == -INC_C_DROP_MEMORY, "the youngest at the limit");
	expect_count(DROP_MEMORY, 1u);
	expect(!env_give(2, 1, 0), "an older one");
	expect_count(DROP_MEMORY, 2u);
	expect(env.held == 4, "%u are held", env.held);
	expect(env_give(1, 2, 0) == -INC_C_DROP_DUPLICATE, "block 2 has been kept");
	expect(env_give(1, 3, 0) == -INC_C_DROP_MEMORY,
	       "block 3 has not, and there is no room for it");
	expect(!env_give(0, 0, 0) && !env_give(2, 0, 0), "the oldest is never refused");
	expect_sent('R', NETINC_ALL, 0, 0);
	expect(env.log[0].value == env_expected(0), "a result without what was evicted");
	env.room = 100;
	for (q = 1; q < 4; q++) {
		env_give(0, q, 0);
		env_give(1, q, 0);
		env_give(2, q, 0);
		expect_sent('R', NETINC_ALL, q, 0);
		expect(env.log[q].value == env_expected(q), "block %u is wrong after an eviction",
		       q);
	}
	expect_quiet();
	env_end();
}

/* No memory for the result: the last contribution has not been, and comes again. */
static void test_fold_fails(void)
{
	begin(2, 0);
	env.fail_fold = 2;
	expect(!env_give(0, 0, 0), "first");
	expect(env_give(1, 0, 0) == -INC_C_DROP_MEMORY, "no memory");
	expect(env_give(1, 0, 0) == -INC_C_DROP_MEMORY, "still none");
	expect_quiet();
	expect(!env_give(1, 0, 0), "now");
	expect_sent('R', NETINC_ALL, 0, 0);
	expect(env.log[0].value == env_expected(0), "the result is wrong");
	expect_count(DROP_MEMORY, 2u);
	expect_count(CONTRIBS, 2u);
	env_end();
}

static void packet(u32 child, u64 q, u64 now)
{
	env_give(child, q, now);
	env_packet_end(child, now);
}

/* Holes are asked for once they are older than the slack, and again only after a round trip. */
static void test_nack(void)
{
	begin(2, 0);
	env.agg.child[0].srtt = 100000;
	packet(0, 0, 1000);
	packet(0, 2, 1001);
	packet(0, 3, 1002);
	packet(0, 6, 1000 + NETINC_SLACK_FIRST);
	expect_quiet();
	packet(0, 7, 1001 + NETINC_SLACK_FIRST);
	expect_sent('N', 0, 1, 1);
	expect_sent('N', 0, 4, 2);
	packet(0, 7, 1002 + NETINC_SLACK_FIRST);
	expect_quiet();
	packet(0, 4, 85000);
	expect_sent('N', 0, 1, 1);
	expect_sent('N', 0, 5, 1);
	packet(0, 1, 85001);
	packet(0, 5, 85002);
	expect_quiet();
	expect(env.agg.child[0].frontier == 8 && env.agg.child[0].end == 8,
	       "child 0 is at %llu of %llu", (unsigned long long)env.agg.child[0].frontier,
	       (unsigned long long)env.agg.child[0].end);
	expect(env.agg.child[1].frontier == 0, "child 1 has moved");
	env_end();
}

static void probe(u32 child, u64 q, const __be32 *map, u32 bits, u64 now)
{
	struct netinc_pkt pkt = { .type = INC_PKT_PROBE, .flags = INC_F_RETRANS, .psn = (u32)q,
				  .span = 1, .tstamp = (u32)now };
	struct {
		struct inc_probe probe;
		__be32 map[4];
	} m = { .probe = { .srtt = cpu_to_be32(100000), .bits = cpu_to_be16(bits) } };

	if (bits)
		memcpy(m.map, map, bits / 8);
	env_probe(child, &pkt, &m.probe, now);
}

static void test_status(void)
{
	u32 i;

	begin(3, 100);
	complete_block(100);
	env_give(1, 101, 5000);
	env_give(1, 103, 6000);
	env_give(0, 103, 6000);
	complete_block(104);
	probe(1, 101, NULL, 0, 9000);
	expect_sent('S', 1, 101, 0);
	expect(env.log[env.logged - 1].value == 9000, "the time stamp is not echoed");
	expect(be32_to_cpu(env.status.waiting) == 0 && be32_to_cpu(env.status.waited) == 4,
	       "waits for %u, %u ms", be32_to_cpu(env.status.waiting),
	       be32_to_cpu(env.status.waited));
	expect(be16_to_cpu(env.status.bits) == 32, "%u bits", be16_to_cpu(env.status.bits));
	for (i = 0; i < 32; i++)
		expect(netinc_bit(env.map, i) == (i == 0 || i == 2 || i == 3), "bit %u of child 1",
		       i);
	expect(be32_to_cpu(env.status.seen) == 2, "child 1 was seen %u times",
	       be32_to_cpu(env.status.seen));
	probe(2, 101, NULL, 0, 9001);
	expect(be32_to_cpu(env.status.seen) == 1, "child 2 was seen %u times",
	       be32_to_cpu(env.status.seen));
	expect_sent('S', 2, 101, 0);
	for (i = 0; i < 32; i++)
		expect(netinc_bit(env.map, i) == (i == 3), "bit %u of child 2", i);
	expect_quiet();
	expect_count(STATUSES, 2u);
	expect_count(RESULTS_RESENT, 0u);
	env_end();
	begin(3, 0);
	probe(0, 0, NULL, 0, 1);
	expect(be32_to_cpu(env.status.waiting) == NETINC_NO_RANK,
	       "waits for somebody where nobody has come");
	env_end();
}

/* A result goes again to who lacks it, to nobody else, and not while it may be under way. */
static void test_probe_results(void)
{
	__be32 map[1] = { 0 };
	u32 q;

	begin(2, 0);
	for (q = 0; q < 4; q++)
		complete_block(q);
	netinc_bit_set(map, 1);
	netinc_bit_set(map, 3);
	probe(1, 0, map, 32, 75999);
	expect_sent('S', 1, 4, 0);
	expect_quiet();
	probe(1, 0, map, 32, 76000);
	expect_sent('R', 1, 0, 0);
	expect_sent('R', 1, 2, 0);
	expect_sent('S', 1, 4, 0);
	expect_quiet();
	probe(1, 0, map, 32, 150999);
	expect_sent('S', 1, 4, 0);
	expect_quiet();
	probe(1, 0, map, 32, 151000);
	expect_sent('R', 1, 0, 0);
	expect_sent('R', 1, 2, 0);
	expect_sent('S', 1, 4, 0);
	expect_quiet();
	expect_count(RESULTS_RESENT, 4u);
	/* what was just sent to one is not under way to the other */
	probe(0, 0, map, 32, 151001);
	expect_sent('R', 0, 0, 0);
	expect_sent('R', 0, 2, 0);
	expect_sent('S', 0, 4, 0);
	expect_quiet();
	env_end();
}

static void test_retransmission(void)
{
	struct netinc_pkt pkt = env_pkt(0);

	begin(2, 0);
	complete_block(0);
	expect(env_contrib(1, pkt, 0, 100000) == -INC_C_DROP_DUPLICATE, "duplicate");
	expect_quiet();
	pkt.flags |= INC_F_RETRANS;
	expect(env_contrib(1, pkt, 0, 100000) == -INC_C_DROP_DUPLICATE, "sent again");
	expect_sent('R', 1, 0, 0);
	env_contrib(1, pkt, 0, 100001);
	expect_quiet();
	expect_count(RESULTS_RESENT, 1u);
	env_end();
}

/* Rule 7: one FINAL is enough, and is the result bit for bit. */
static void test_final(void)
{
	struct netinc_pkt pkt = env_pkt(0);

	begin(3, 0);
	env_give(0, 0, 0);
	pkt.flags |= INC_F_FINAL;
	env_contrib(1, pkt, 4711, 0);
	expect_quiet();
	env_give(2, 0, 0);
	expect_sent('R', NETINC_ALL, 0, 0);
	expect(env.log[0].value == 4711, "the result is %llu",
	       (unsigned long long)env.log[0].value);
	expect(netinc_agg_slot(&env.agg, 0)->flags & INC_F_FINAL, "the result is not FINAL");
	env_end();
}

/* A result that somebody has already is the common one: all have it, or the operation fails. */
static void test_final_differs(void)
{
	struct netinc_pkt pkt = env_pkt(0);
	u64 q;

	begin(4, 0);
	pkt.flags |= INC_F_FINAL;
	for (q = 0; q < 2; q++) {
		pkt.psn = (u32)q;
		env_contrib(2, pkt, 4711, 0);
		env_give(0, q, 0);
		env_contrib(1, pkt, 4711, 0);
		env_contrib(3, pkt, 4711 + q, 0);
	}
	expect_sent('R', NETINC_ALL, 0, 0);
	expect_sent('M', 1, 1, 3);
	expect_quiet();
	expect(netinc_agg_slot(&env.agg, 1)->state == NETINC_SLOT_BAD &&
	       netinc_agg_slot(&env.agg, 1)->bad == INC_ERR_MISMATCH, "block 1 is not BAD");
	expect_count(BLOCKS, 1u);
	env_end();
}

/* Those of a block that waits for the ones before it are named when it is their turn. */
static void test_final_differs_later(void)
{
	struct netinc_pkt pkt = env_pkt(1);

	begin(2, 0);
	pkt.flags |= INC_F_FINAL;
	env.fail_fold = 1;
	env_contrib(0, pkt, 1, 0);
	expect(env_contrib(1, pkt, 2, 0) == -INC_C_DROP_MEMORY, "no memory for the result");
	expect(env_contrib(1, pkt, 2, 0) == 0, "it comes again");
	expect_quiet();
	complete_block(0);
	expect_sent('M', 0, 1, 1);
	expect_quiet();
	env_end();
}

/* What was taken back counts for nothing, also what it said of itself. */
static void test_final_taken_back(void)
{
	struct netinc_pkt pkt = env_pkt(0);

	begin(2, 0);
	env.fail_fold = 1;
	env_give(0, 0, 0);
	pkt.flags |= INC_F_FINAL;
	expect(env_contrib(1, pkt, 4711, 0) == -INC_C_DROP_MEMORY, "no memory for FINAL");
	expect(!env_give(1, 0, 0), "an ordinary one instead");
	expect_sent('R', NETINC_ALL, 0, 0);
	expect(env.log[0].value == env_expected(0), "the result is %llu",
	       (unsigned long long)env.log[0].value);
	env_end();
}

/* Rule 10: what disagrees waits until all blocks before it are done; then who differs is named. */
static void test_mismatch(void)
{
	struct netinc_pkt odd = env_pkt(2);

	begin(3, 0);
	odd.sig = 99;
	env_give(0, 2, 0);
	env_give(1, 2, 0);
	env_contrib(2, odd, 0, 0);
	expect_quiet();
	expect(netinc_agg_slot(&env.agg, 2)->state == NETINC_SLOT_BAD, "block 2 is not BAD");
	complete_block(3);
	complete_block(1);
	expect_quiet();
	env_give(0, 0, 0);
	env_give(1, 0, 0);
	env_give(2, 0, 0);
	expect_sent('R', NETINC_ALL, 0, 0);
	expect_sent('M', 0, 2, 2);
	expect(env_give(0, 4, 0) == -INC_C_DROP_ERROR, "a block after the error");
	expect(env_give(0, 1, 0) == -INC_C_DROP_DUPLICATE, "a block before the error");
	expect_quiet();
	expect_count(DROP_ERROR, 1u);
	expect_count(BLOCKS, 3u);
	env_end();
}

/* Elements that are only moved come from one rank, not two; empty ones of others do not count. */
static void test_moved(void)
{
	struct netinc_pkt pkt = env_pkt(0), empty = env_pkt(0);

	begin(3, 0);
	pkt.dop = INC_OP_NONE;
	empty.dop = INC_OP_NONE;
	empty.flags = INC_F_WANT;
	empty.len = 0;
	env_contrib(1, pkt, 5, 0);
	env_contrib(0, empty, 0, 0);
	env_contrib(2, empty, 0, 0);
	expect(netinc_agg_slot(&env.agg, 0)->state == NETINC_SLOT_DONE, "one sender is not enough");
	pkt.psn = 1;
	empty.psn = 1;
	env_contrib(0, empty, 0, 0);
	env_contrib(1, pkt, 5, 0);
	env_contrib(2, pkt, 6, 0);
	expect(netinc_agg_slot(&env.agg, 1)->state == NETINC_SLOT_BAD &&
	       netinc_agg_slot(&env.agg, 1)->bad == INC_ERR_MISMATCH, "two senders");
	env_end();
}

/* What the node has no kernel for is an error of the operation, and names who sent it first. */
static void test_unsupported(void)
{
	struct netinc_pkt pkt = env_pkt(0), empty = env_pkt(0);

	begin(3, 0);
	pkt.dop = INC_OP_WSUM;	/* what env_can_fold() refuses */
	empty.dop = INC_OP_WSUM;
	empty.flags = INC_F_WANT;
	empty.len = 0;
	env_contrib(0, empty, 0, 0);
	env_contrib(2, pkt, 6, 0);
	expect_quiet();
	env_contrib(1, pkt, 5, 0);
	expect_sent('M', 1, 0, NETINC_NO_RANK);
	expect(netinc_agg_slot(&env.agg, 0)->bad == INC_ERR_UNSUPPORTED, "another error");
	env_end();
}

/* Everything that may differ is noticed, whoever differs. */
static void test_disagreement(void)
{
	struct netinc_pkt odd;
	u32 what, who, i;

	for (what = 0; what < 5; what++) {
		for (who = 0; who < 3; who++) {
			begin(3, 0);
			odd = env_pkt(0);
			switch (what) {
			case 0:
				odd.sig = 1;
				break;
			case 1:
				odd.opseq = 1;
				break;
			case 2:
				odd.len = 60;
				break;
			case 3:
				odd.dtype = INC_TYPE_F32;
				break;
			default:
				odd.dop = INC_OP_MAX;
				break;
			}
			for (i = 0; i < 3; i++)
				env_contrib(i, i == who ? odd : env_pkt(0), i, 0);
			expect(env.logged == 1 && env.log[0].kind == 'M',
			       "disagreement %u of child %u", what, who);
			expect_count(BLOCKS, 0u);
			env_end();
		}
	}
}

/* Credit: an empty contribution for several blocks. */
static void test_span(void)
{
	struct netinc_pkt credit = env_pkt(1);

	begin(2, 0);
	credit.flags = 0;
	credit.len = 0;
	credit.span = 3;
	expect(!env_contrib(0, credit, 0, 0), "credit for 1..3");
	expect_count(CONTRIBS, 3u);
	expect(env_contrib(0, credit, 0, 0) == -INC_C_DROP_DUPLICATE, "again");
	expect_count(DROP_DUPLICATE, 1u);
	credit.span = 4;
	expect(!env_contrib(0, credit, 0, 0), "one more");
	expect_count(CONTRIBS, 4u);
	credit.psn = 5;
	credit.span = W;
	expect(!env_contrib(0, credit, 0, 0), "as far as the window goes");
	expect_count(CONTRIBS, 7u);
	credit.span = W + 1;
	expect(env_contrib(1, credit, 0, 0) == -INC_C_DROP_AHEAD, "longer than the window");
	expect_count(CONTRIBS, 7u);
	expect(!env.held, "credit holds something");
	env_give(1, 1, 0);
	expect_sent('R', NETINC_ALL, 1, 0);
	expect(env.log[0].value == env_mix(0, env_input(1, 1)), "credit was folded");
	env_end();
}

/* Random arrival, duplication, refusal over many windows: every block once, with the right bits. */
static void random_run(u64 start)
{
	u64 q, last = start + 40 * S;
	u32 children = 2 + ktap_below(4), tries = 0, blocks = 0, i;

	begin(children, start);
	while (env.agg.una != last) {
		if (!expect(tries++ < 1000 * 40 * S, "stands still at %llu",
			    (unsigned long long)env.agg.una))
			break;
		i = ktap_below(children);
		q = env.agg.una + ktap_below(W);
		if ((s64)(q - last) >= 0)
			continue;
		env.fail_hold = !ktap_below(4);
		env.fail_fold = !ktap_below(4);
		env_give(i, q, 0);
		env_packet_end(i, 0);
		env.logged = min(env.logged, ENV_LOG);
		for (; env_seen < env.logged; env_seen++) {
			if (env.log[env_seen].kind != 'R')
				continue;
			blocks++;
			expect(env.log[env_seen].value == env_expected(env.log[env_seen].q),
			       "block %llu is wrong", (unsigned long long)env.log[env_seen].q);
		}
		env.logged = 0;
		env_seen = 0;
		expect(env.held <= S + children * W, "%u are held", env.held);
	}
	expect(blocks == 40 * S, "%u results, expected %u", blocks, 40 * S);
	expect_count(BLOCKS, 40 * S);
	env_end();
}

static void test_random(void)
{
	u32 i;

	for (i = 0; i < 20; i++) {
		random_run(ktap_random());
		random_run((1ull << 32) - ktap_below(100));
		random_run(-1ull - ktap_below(100));
	}
}

/* Congestion that one contribution met is in the result, whether IP or the child says so. */
static void test_congestion(void)
{
	struct netinc_pkt pkt;

	env_begin(3, 3, 4, 0);
	pkt = env_pkt(0);
	pkt.ce = true;
	env_contrib(0, pkt, 1, 0);
	env_give(1, 0, 0);
	env_give(2, 0, 0);
	expect(netinc_agg_slot(&env.agg, 0)->flags & INC_F_CE, "IP's mark is lost");
	env_give(0, 1, 0);
	pkt = env_pkt(1);
	pkt.flags |= INC_F_ECE;
	env_contrib(1, pkt, 1, 0);
	env_give(2, 1, 0);
	expect((netinc_agg_slot(&env.agg, 1)->flags & (INC_F_CE | INC_F_ECE)) == INC_F_ECE,
	       "the echo is lost");
	env_end();
}

/* Packets say which group, run and epoch they are of, whom they are for, and what about. */
static void test_headers(void)
{
	const u64 start = 0x500000000ull;
	struct netinc_pkt pkt;
	struct netinc_slot slot = { .q = start + 5,
				    .flags = INC_F_PAYLOAD | INC_F_WANT | INC_F_FINAL | INC_F_DESC |
					     INC_F_LEAVE | INC_F_CE,
				    .len = 40,
				    .set = 9,
				    .opseq = 6,
				    .sig = 7,
				    .dtype = INC_TYPE_F32,
				    .dop = INC_OP_MAX,
				    .mode = INC_MODE_SATURATE };

	begin(2, start);
	packet(1, start + 1, 1000);
	packet(1, start + 3, 1001);
	packet(1, start + 6, 1000 + NETINC_SLACK_FIRST);
	packet(1, start + 7, 1001 + NETINC_SLACK_FIRST);
	expect_sent('N', 1, start, 1);
	expect_sent('N', 1, start + 2, 1);
	expect_sent('N', 1, start + 4, 2);
	expect_header(INC_PKT_NACK, .psn = 4, .span = 2, .child = 1);
	expect_count(NACKS, 3u);
	complete_block(start);
	probe(1, start, NULL, 0, 9000);
	expect_header(INC_PKT_STATUS, .psn = 1, .span = 1, .child = 1, .tstamp = 9000);
	netinc_agg_result_header(&env.agg, &slot, true, &pkt);
	env_header_at(__FILE__, __LINE__, &pkt,
		      (struct netinc_pkt){ .type = INC_PKT_RESULT,
					   .flags = slot.flags & ~INC_F_LEAVE,
					   .psn = 5,
					   .span = 1,
					   .len = 40,
					   .opseq = 6,
					   .sig = 7,
					   .dtype = INC_TYPE_F32,
					   .dop = INC_OP_MAX,
					   .mode = INC_MODE_SATURATE });
	slot.flags |= INC_F_PARTIAL;
	netinc_agg_result_header(&env.agg, &slot, false, &pkt);
	env_header_at(__FILE__, __LINE__, &pkt,
		      (struct netinc_pkt){ .type = INC_PKT_RESULT,
					   .flags = INC_F_WANT | INC_F_CE | INC_F_PARTIAL,
					   .psn = 5,
					   .span = 1,
					   .child = 9,
					   .opseq = 6,
					   .sig = 7,
					   .dtype = INC_TYPE_F32,
					   .dop = INC_OP_MAX,
					   .mode = INC_MODE_SATURATE });
	env_end();
}

/* Behind what has been asked for, as many blocks as a super-packet has may still be overtaken. */
static void test_nack_far(void)
{
	u64 now = 1000 + NETINC_SLACK_FIRST, q;

	env_begin(2, 2, 256, 0);
	env_seen = 0;
	packet(0, 1, 1000);
	packet(0, 2, now);
	packet(0, 3, now);
	expect_sent('N', 0, 0, 1);
	for (q = 5; q < 4 + 88; q++)
		packet(0, q, now);
	expect_quiet();
	packet(0, q, now);
	expect_sent('N', 0, 4, 1);
	env_end();
}

/* A packet makes the node ask for so many ranges, and no more. */
static void test_nack_ranges(void)
{
	u64 now = 1000 + NETINC_SLACK_FIRST, q;
	u32 i;

	env_begin(2, 2, 256, 0);
	env_seen = 0;
	for (q = 1; q < 40; q += 2)
		env_give(0, q, 1000);
	packet(0, 41, 1000);
	packet(0, 43, 1000);
	packet(0, 45, now);
	for (i = 0; i < 16; i++)
		expect_sent('N', 0, 2 * i, 1);
	expect_quiet();
	env_end();
}

/* PROBE is about two windows of blocks, whatever it says. */
static void test_probe_far(void)
{
	__be32 map[1] = { 0 };
	u32 i, q;

	begin(2, 0);
	for (q = 0; q < 3 * W; q++)
		complete_block(q);
	probe(1, 0, map, 32, 1000000);
	for (i = W; i < 2 * W; i++)
		expect_sent('R', 1, i, 0);
	expect_sent('S', 1, 3 * W, 0);
	expect_quiet();
	env_end();
}

static const struct ktap_test tests[] = {
	KTAP(test_order), KTAP(test_duplicate), KTAP(test_reuse), KTAP(test_not_done),
	KTAP(test_limit), KTAP(test_fold_fails), KTAP(test_nack), KTAP(test_status),
	KTAP(test_probe_results), KTAP(test_retransmission), KTAP(test_final),
	KTAP(test_final_differs), KTAP(test_final_differs_later),
	KTAP(test_final_taken_back), KTAP(test_mismatch), KTAP(test_disagreement), KTAP(test_span),
	KTAP(test_random), KTAP(test_congestion), KTAP(test_moved), KTAP(test_unsupported),
	KTAP(test_headers), KTAP(test_nack_far), KTAP(test_nack_ranges), KTAP(test_probe_far),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
