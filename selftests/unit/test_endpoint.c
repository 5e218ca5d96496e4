// SPDX-License-Identifier: GPL-2.0-only
/* A rank at its host: its window. When it sends what, what results it takes, how operations end. */
#include "ep_env.h"

/* Rule 1: no block before the results of all W before it; super-packets as large as allowed. */
static void window(u64 start)
{
	struct netinc_op op = allreduce(8 + 16 * 29);	/* 30 blocks */
	u64 b;

	ready(start);
	submit_op(&op);
	expect(op.blocks == 30 && op.first == start, "%llu blocks", (unsigned long long)op.blocks);
	expect_blocks(start, 4u, 0);
	expect_blocks(start + 4, 4u, 0);
	expect_quiet();
	expect(!result(&op, start + 1) && !result(&op, start + 3), "results out of order");
	expect_quiet();
	expect(result(&op, start + 1) == -INC_C_DROP_DUPLICATE, "a result again");
	expect(result(&op, start + 8) == -INC_C_DROP_AHEAD, "a result of what was not sent");
	expect(!result(&op, start), "the oldest");
	expect_blocks(start + 8, 2u, 0);
	expect(env.ep.una == start + 2, "una");
	expect(result(&op, start) == -INC_C_DROP_DUPLICATE, "an old result");
	for (b = start + 2; b != start + 30; b++)
		if (!netinc_ep_has(&env.ep, b))
			expect(!result(&op, b), "block %llu", (unsigned long long)(b - start));
	expect(env.done == 1 && !env.failed && env.ep.una == start + 30 && !env.ep.head, "%u done",
	       env.done);
	expect(env.delivered == op.count && env.first == op.count - 16, "%llu elements",
	       (unsigned long long)env.delivered);
	expect_count(CONTRIBS_SENT, 30u);
	expect_count(CONTRIBS_RESENT, 0u);
	expect_count(RESULTS, 30u);
	expect_count(DROP_DUPLICATE, 2u);
	expect_count(DROP_AHEAD, 1u);
	expect_count(OPS, 1u);
}

static void test_window(void)
{
	window(0);
	window((1ull << 32) - 3);
	window(-3ull);
}

/* A header says everything that a node and the other ranks need. */
static void test_header(void)
{
	struct netinc_op op = allreduce(8 + 16 + 3);
	const struct netinc_pkt *p;
	struct netinc_block b;
	struct netinc_pkt pkt;

	ready(0);
	submit_op(&op);
	p = &expect_sent(INC_PKT_CONTRIB)->pkt;
	expect(p->group == 77 && p->incarnation == 5 && p->epoch == 1 && p->child == RANK &&
	       p->cookie == UP && p->sig == op.sig && p->dtype == INC_TYPE_I32 &&
	       p->dop == INC_OP_SUM && p->span == 1,
	       "the header");
	expect(p->flags == (INC_F_PAYLOAD | INC_F_WANT | INC_F_DESC) && p->len == 32,
	       "the first block");
	netinc_coll_block(&op, 1, &b);
	netinc_ep_block_header(&env.ep, &op, 1, &b, &pkt);
	expect(pkt.flags == (INC_F_PAYLOAD | INC_F_WANT) && pkt.len == 64 && pkt.psn == 1,
	       "the second");
	netinc_coll_block(&op, 2, &b);
	netinc_ep_block_header(&env.ep, &op, 2, &b, &pkt);
	expect(pkt.len == 12, "the last has %u bytes", pkt.len);
}

static void test_result_checks(void)
{
	struct netinc_op op = allreduce(100);
	struct netinc_pkt pkt;

	ready(0);
	submit_op(&op);
	pkt = result_of(&op, 1);
	pkt.cookie = UP;
	expect(give(pkt) == -INC_C_DROP_COOKIE, "the up cookie");
	pkt = result_of(&op, 1);
	pkt.epoch++;
	expect(give(pkt) == -INC_C_DROP_EPOCH, "epoch");
	pkt = result_of(&op, 1);
	pkt.tree = 1;
	expect(give(pkt) == -INC_C_DROP_EPOCH, "tree");
	pkt = result_of(&op, 1);
	pkt.incarnation++;
	expect(give(pkt) == -INC_C_DROP_NO_GROUP, "incarnation");
	pkt = result_of(&op, 1);
	pkt.sig++;
	expect(give(pkt) == -INC_C_DROP_MISMATCH, "signature");
	pkt = result_of(&op, 1);
	pkt.opseq++;
	expect(give(pkt) == -INC_C_DROP_MISMATCH, "operation");
	pkt = result_of(&op, 1);
	pkt.len -= 4;
	expect(give(pkt) == -INC_C_DROP_MISMATCH, "length");
	env.no_room = true;
	expect(result(&op, 1) == -INC_C_DROP_MEMORY, "no room");
	env.no_room = false;
	expect(!env.delivered && !netinc_ep_has(&env.ep, 1), "was taken");
	expect(!result(&op, 1) && env.delivered == 16, "the right one");
	expect_count(DROP_COOKIE, 1u);
	expect_count(DROP_EPOCH, 2u);
	expect_count(DROP_NO_GROUP, 1u);
	expect_count(DROP_MISMATCH, 3u);
	expect_count(DROP_MEMORY, 1u);
}

/* Empty results of a run of blocks come as one; a run longer than the window is nobody's. */
static void test_span(void)
{
	struct netinc_op op = allreduce(8 + 16 * 3);
	struct netinc_pkt pkt;

	ready(0);
	op.coll = INC_COLL_REDUCE;
	submit_op(&op);
	pkt = result_of(&op, 0);
	expect(!pkt.len, "rank %u is not the root", RANK);
	pkt.span = env.ep.settings.window + 1;
	expect(give(pkt) == -INC_C_DROP_AHEAD && !env.ep.una, "longer than the window");
	pkt.span = 3;
	expect(!give(pkt) && env.ep.una == 3, "three at once: %llu",
	       (unsigned long long)env.ep.una);
	pkt.psn = 1;
	expect(!give(pkt) && env.done == 1 && !env.failed, "the last with two again");
	expect(give(pkt) == -INC_C_DROP_DUPLICATE, "all again");
	expect_count(RESULTS, 4u);
	expect_count(DROP_AHEAD, 1u);
	expect_count(DROP_DUPLICATE, 1u);
}

/* Congestion, wherever it was, cuts the window; on the way down to this rank it is echoed, once. */
static void test_congestion(void)
{
	struct netinc_op op = allreduce(8 + 16 * 20);
	struct netinc_pkt pkt;
	u32 cwnd;

	ready(0);
	submit_op(&op);
	while (next_sent()->type == INC_PKT_CONTRIB)
		;
	cwnd = env.ep.cc.cwnd;
	env.now += 10 * NETINC_MS;
	pkt = result_of(&op, 0);
	pkt.flags |= INC_F_CE;
	expect(!give(pkt) && env.ep.cc.cwnd <= max(cwnd, env.ep.cc.floor), "another rank's way up");
	expect(next_sent()->type != INC_PKT_CONTRIB, "a packet for a single block");
	expect(!result(&op, 1), "room for two");
	expect(!(expect_sent(INC_PKT_CONTRIB)->pkt.flags & INC_F_ECE), "is no matter of ours");
	env.now += 10 * NETINC_MS;
	while (next_sent()->type == INC_PKT_CONTRIB)
		;
	pkt = result_of(&op, 2);
	pkt.ce = true;
	expect(!give(pkt), "our way down");
	expect(!result(&op, 3), "room for two");
	expect(expect_sent(INC_PKT_CONTRIB)->pkt.flags & INC_F_ECE, "not echoed");
	while (next_sent()->type == INC_PKT_CONTRIB)
		;
	expect(!result(&op, 4) && !result(&op, 5), "results");
	expect(!(expect_sent(INC_PKT_CONTRIB)->pkt.flags & INC_F_ECE), "echoed twice");
	expect_count(CWND_CUTS, 2u);
}

/* What could not be sent is sent when the environment says so. */
static void test_partial_send(void)
{
	struct netinc_op op = allreduce(8 + 16 * 5);

	ready(0);
	env.most = 0;
	submit_op(&op);
	expect_blocks(0ull, 0u, 0);
	expect_quiet();
	env.most = 4;
	netinc_ep_pump(&env.ep, env.now);
	expect_blocks(0ull, 4u, 0);
	expect_blocks(4ull, 2u, 0);
	expect_quiet();
	expect_count(CONTRIBS_SENT, 6u);
}

/* Only what STATUS or NACK names, has no result, and was sent before them, goes again. */
static void test_resend(void)
{
	struct netinc_op op = allreduce(8 + 16 * 7);
	struct netinc_pkt nack = from_node(INC_PKT_NACK);

	ready(0);
	submit_op(&op);
	env.seen = env.logged;
	env.now += 10000;
	expect(!result(&op, 2), "block 2");
	status(0, 0x29);	/* the node has 0, 3 and 5 */
	expect_blocks(1ull, 1u, INC_F_RETRANS);
	expect_blocks(4ull, 1u, INC_F_RETRANS);
	expect_blocks(6ull, 2u, INC_F_RETRANS);
	expect_quiet();
	expect(env.ep.waiting == 3 && env.ep.waited_ms == 17, "waits for %u", env.ep.waiting);
	expect_count(CONTRIBS_RESENT, 4u);
	env.now += 100;
	status(0, 0x29);
	expect_quiet();
	env.now += 10000;
	nack.psn = 4;
	nack.span = 0xffff;
	expect(!control(nack, NULL, 0), "NACK");
	expect_blocks(4ull, 4u, INC_F_RETRANS);
	env.now += 100;
	expect(!control(nack, NULL, 0), "NACK of what is under way once more");
	expect_quiet();
	nack.psn = (u32)-5;
	nack.span = 3;
	expect(!control(nack, NULL, 0), "NACK of what is long done");
	nack.psn = 8;
	nack.span = 3;
	expect(!control(nack, NULL, 0), "NACK of what was not sent");
	expect_quiet();
	expect_count(CONTRIBS_RESENT, 8u);
	expect_count(NACKS, 4u);
	expect_count(STATUSES, 2u);
}

/*
 * A node may take back what it has held for a rank that is late, however late: by then the low bits
 * of the time at which it was sent have gone half round, or more.
 */
static void test_resend_after_late(void)
{
	static const u64 minutes[] = { 1, 35, 36, 50, 71, 72, 110, 600 };
	struct netinc_pkt nack = from_node(INC_PKT_NACK);
	struct netinc_op op;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(minutes); i++) {
		op = allreduce(8 + 16 * 7);
		ready(0);
		submit_op(&op);
		env.seen = env.logged;
		env.now += minutes[i] * 60 * 1000 * NETINC_MS;
		nack.span = 4;
		expect(!control(nack, NULL, 0), "NACK");
		expect_blocks(0ull, 4u, INC_F_RETRANS);
		status(0, 0xf);
		expect_blocks(4ull, 4u, INC_F_RETRANS);
		expect_quiet();
		expect_count(CONTRIBS_RESENT, 8u);
	}
}

/* A PROBE from @psn on that lacks blocks [@lost, @end) only, and asks for them if there are any. */
static void expect_probe(u32 psn, u32 lost, u32 end)
{
	const struct sent *s = expect_sent(INC_PKT_PROBE);
	const struct inc_probe *probe = (const void *)s->body;
	u32 i;

	expect(s->pkt.psn == psn && be16_to_cpu(probe->bits) == 32 && s->pkt.tstamp == (u32)env.now,
	       "psn %u, %u bits", s->pkt.psn, be16_to_cpu(probe->bits));
	expect(!(s->pkt.flags & INC_F_RETRANS) == (lost == end), "flags %#x", s->pkt.flags);
	for (i = 0; i < 32; i++)
		expect(netinc_bit(probe->bitmap, i) == (psn + i < lost || psn + i >= end), "bit %u",
		       i);
	expect_quiet();
}

/*
 * PROBE names the first missing block. It asks for nothing: what has not come may be in a queue, in
 * which the answer comes behind it. Below the block that the answer names it is lost.
 */
static void test_probe(void)
{
	struct netinc_op op = allreduce(8 + 16 * 5);
	u64 at;

	ready(0);
	submit_op(&op);
	env.seen = env.logged;
	env.now += 100;
	expect(!result(&op, 0) && !result(&op, 2), "results");
	at = netinc_ep_timer(&env.ep, env.now);
	expect_quiet();
	expect(at > env.now, "the timer is in the past");
	env.now = at;
	netinc_ep_timer(&env.ep, env.now);
	expect_probe(1, 0, 0);
	status(1, ~0u);
	expect_quiet();
	status(2, ~0u);
	expect_probe(1, 1, 2);
	/* and not again unless that is lost, too */
	status(2, ~0u);
	expect_quiet();
	env.now += 500;
	status(2, ~0u);
	expect_probe(1, 1, 2);
	/* all of them, at the end of the operation, when the rest is complete */
	expect(!result(&op, 1), "result");
	env.now += NETINC_SLACK_FIRST;
	status(6, ~0u);
	expect_probe(3, 3, 6);
	expect_count(PROBES, 4u);
}

/* Results that overtake one another: the node is asked about the hole at once, once a trip. */
static void test_gap(void)
{
	struct netinc_op op = allreduce(8 + 16 * 7);

	ready(0);
	submit_op(&op);
	env.seen = env.logged;
	env.now += 5000;
	result(&op, 1);
	result(&op, 2);
	expect_quiet();
	result(&op, 3);
	expect_probe(0, 0, 0);
	/* queues of CPUs may have changed the order */
	env.now += NETINC_SLACK_FIRST - 1;
	status(4, ~0u);
	expect_quiet();
	env.now++;
	result(&op, 4);
	/* the hole; 5 and 6 may still come */
	expect_probe(0, 0, 1);
	result(&op, 5);
	expect_quiet();
}

/* Behind a lost block others go on, up to the window: with a result they are not under way. */
static void test_hole(void)
{
	struct netinc_op op = allreduce(8 + 16 * 40);
	u32 i;

	ready(0);
	submit_op(&op);
	env.ep.cc.cwnd = 4;
	env.seen = env.logged;
	for (i = 1; i < W; i++)
		expect(!result(&op, i) && env.ep.snd == W, "result %u: %llu sent", i,
		       (unsigned long long)env.ep.snd);
	expect(env.ep.una == 0 && env.ep.early == W - 1, "%u early", env.ep.early);
	env.ep.cc.cwnd = 4;
	expect(!result(&op, 0) && env.ep.una == W && !env.ep.early, "%u early", env.ep.early);
	expect(env.ep.snd > W && env.ep.snd <= 2 * W, "%llu sent", (unsigned long long)env.ep.snd);
}

/* Operations complete in order, also where results do not. */
static void test_order(void)
{
	struct netinc_op a = allreduce(24), b = barrier();

	ready(0);
	submit_op(&a);
	submit_op(&b);
	expect(b.first == 2 && b.blocks == 1, "the barrier is block %llu",
	       (unsigned long long)b.first);
	expect(!result(&b, 2) && !result(&a, 1) && !env.done, "%u are done", env.done);
	expect(!result(&a, 0) && env.done == 2 && env.last_done == 1, "%u are done", env.done);
}

/* A gather with its exchange of counts before it, one block each. */
static struct {
	struct netinc_op exchange, op;
	u32 ask[SIZE], counts[SIZE];
	u64 before[2][NETINC_BEFORE(SIZE)];
} asking;

static void submit_asking(u16 counts_error)
{
	u32 i;

	memset(&asking, 0, sizeof(asking));
	for (i = 0; i < SIZE; i++)
		asking.ask[i] = i ? 1 : SIZE;
	asking.op = (struct netinc_op){
		.coll = INC_COLL_GATHER, .type = INC_TYPE_I32, .wire = INC_TYPE_I32,
		.mode = INC_MODE_COUNTS, .counts = asking.counts, .before = asking.before[0],
		.hold = true,
	};
	asking.exchange = asking.op;
	asking.exchange.hold = false;
	asking.exchange.mode |= INC_MODE_COUNTS_PHASE;
	asking.exchange.counts = asking.ask;
	asking.exchange.before = asking.before[1];
	env.held = &asking.op;
	env.counts_error = counts_error;
	submit_op(&asking.exchange);
	submit_op(&asking.op);
}

/* What is on hold, and all after it, has no blocks until the exchange is done. Both are one. */
static void test_hold(void)
{
	struct netinc_op after = barrier();

	ready(0);
	submit_asking(0);
	submit_op(&after);
	expect(asking.op.seq == asking.exchange.seq && after.seq == asking.op.seq + 1,
	       "numbers %u, %u, %u", asking.exchange.seq, asking.op.seq, after.seq);
	expect(asking.exchange.blocks == SIZE && env.ep.end == SIZE, "%llu blocks",
	       (unsigned long long)env.ep.end);
	while (env.ep.una < SIZE)
		expect(!result(&asking.exchange, env.ep.una), "result");
	expect(env.done == 1 && env.ep.end == SIZE + 2, "%llu blocks",
	       (unsigned long long)env.ep.end);
	expect(!result(&asking.op, SIZE) && !result(&after, SIZE + 1) && env.done == 3,
	       "%u are done", env.done);
	expect_count(OPS, 2);
}

static void test_contradiction(void)
{
	struct netinc_op after = barrier();

	ready(0);
	submit_asking(INC_ERR_COUNTS);
	submit_op(&after);
	for (; env.ep.una < SIZE; )
		expect(!result(&asking.exchange, env.ep.una), "result");
	expect(env.done == 2 && env.failed == 1 && after.first == SIZE, "%u are done", env.done);
	expect(!result(&after, SIZE) && env.done == 3, "%u are done", env.done);
	expect_count(OPS, 1);
	expect_count(OPS_FAILED, 1);
}

/* The exchange and what it is for fail together, as one, also where they are submitted too late. */
static void test_hold_fails(void)
{
	ready(0);
	submit_asking(0);
	expect(!error(0, 0, 2, INC_ERR_MISMATCH) && env.done == 2 && env.failed == 2, "%u are done",
	       env.done);
	expect(asking.op.error.code == INC_ERR_MISMATCH, "code %u", asking.op.error.code);
	expect_count(OPS_FAILED, 1);
	submit_asking(0);
	expect(env.done == 4 && env.failed == 4 && asking.op.error.code == INC_ERR_CANCELED,
	       "%u are done", env.done);
	expect_count(OPS_FAILED, 2);
}

static void test_submit_states(void)
{
	struct netinc_op a = barrier();

	begin(0);
	expect(netinc_ep_submit(&env.ep, &a, env.now) == -ENOTCONN, "closed");
	netinc_ep_connect(&env.ep, env.now);
	expect(netinc_ep_submit(&env.ep, &a, env.now) == -ENOTCONN, "joining");
	wait(4711, 0, 0, 0);
	expect(netinc_ep_submit(&env.ep, &a, env.now) == -ENOTCONN, "waiting");
	refuse(4711, INC_REFUSE_KEY, 0);
	expect(netinc_ep_submit(&env.ep, &a, env.now) == -ENOTCONN, "refused");
}

/* How long results take is known from what was sent once. */
static void test_result_rtt(void)
{
	struct netinc_op op = allreduce(24);

	ready(0);
	submit_op(&op);
	env.now += 20000;
	status(0, 0);
	expect_count(CONTRIBS_RESENT, 2u);
	env.now += 20000;
	result(&op, 0);
	expect(!env.ep.cc.least, "what was sent twice took %u us", env.ep.cc.least);
	result(&op, 1);
	submit_op(&op);
	env.now += 4000;
	result(&op, 2);
	expect(env.ep.cc.least == 4000, "%u us", env.ep.cc.least);
}

/* STATUS whose map is longer than the packet, or ends in the middle of a word. */
static void test_bad_status(void)
{
	struct netinc_pkt pkt = from_node(INC_PKT_STATUS);
	struct {
		struct inc_status status;
		__be32 map[1];
	} m = { .status = { .bits = cpu_to_be16(32) } };
	u32 len;

	ready(0);
	for (len = sizeof(m.status); len < sizeof(m); len++)
		expect(control(pkt, &m, len) == -INC_C_DROP_MALFORMED, "%u bytes", len);
	m.status.bits = cpu_to_be16(24);
	expect(control(pkt, &m, sizeof(m)) == -INC_C_DROP_MALFORMED, "24 bits");
	m.status.bits = cpu_to_be16(32);
	expect(!control(pkt, &m, sizeof(m)), "the right one");
	expect_count(STATUSES, 1u);
}

/* PROBE says how long results may overtake one another. */
static void test_probe_slack(void)
{
	const struct inc_probe *probe;

	ready(0);
	env.ep.tree[0].down.slack = 3200;
	netinc_ep_probe(&env.ep, 0, env.now);
	probe = (const void *)expect_sent(INC_PKT_PROBE)->body;
	expect(be16_to_cpu(probe->slack) == 200, "%u units", be16_to_cpu(probe->slack));
}

/* The first PROBE after something is out comes sooner than those that repeat it. */
static void test_first_probe(void)
{
	struct netinc_op op = barrier();
	u64 when;

	ready(0);
	netinc_cc_rtt(&env.ep.cc, 5000);
	env.ep.tree[0].quiet = 3;
	submit_op(&op);
	when = netinc_ep_timer(&env.ep, env.now);
	expect(when == env.now + 10000, "after %llu us", (unsigned long long)(when - env.now));
}

/* What the node has, and whose result is not here, is asked for; it is not contributed again. */
static void test_status_ahead(void)
{
	struct netinc_op op = allreduce(8 + 16 * 3);

	ready(0);
	submit_op(&op);
	env.now += 20000;
	status(2, ~0u);
	expect_count(CONTRIBS_RESENT, 0u);
	env.now += 20000;
	status(2, ~1u);
	expect_count(CONTRIBS_RESENT, 1u);
}

/* The congestion window grows by the results that come. */
static void test_grow(void)
{
	struct netinc_op op = allreduce(8 + 16 * 7);

	ready(0);
	env.ep.cc.cwnd = 4;
	submit_op(&op);
	expect_blocks(0ull, 4u, 0);
	expect_quiet();
	result(&op, 1);
	expect(env.ep.cc.cwnd == 5, "%u behind a hole", env.ep.cc.cwnd);
	result(&op, 0);
	expect(env.ep.cc.cwnd == 6, "%u after two results", env.ep.cc.cwnd);
}

/*
 * Short operations that are there at once: nothing leaves before they are to, then one behind the
 * other as far as the window goes; one more waits for the one behind it, the last one for nothing.
 */
static void test_many_short(void)
{
	struct netinc_op op[W + 3];
	u32 i;

	ready(0);
	for (i = 0; i < ARRAY_SIZE(op); i++) {
		op[i] = allreduce(2);
		expect(!netinc_ep_add(&env.ep, &op[i]) && op[i].seq == i, "operation %u is %u", i,
		       op[i].seq);
	}
	expect_quiet();
	netinc_ep_pump(&env.ep, env.now);
	for (i = 0; i < W; i++)
		expect_blocks(i, 1, 0);
	expect_quiet();
	expect(!result(&op[0], 0), "a result");
	expect_quiet();
	expect(!result(&op[1], 1), "a result");
	expect_blocks(W, 1, 0);
	expect_blocks(W + 1, 1, 0);
	expect_quiet();
	expect(!result(&op[2], 2), "a result");
	expect_blocks(W + 2, 1, 0);
	for (i = 3; i < ARRAY_SIZE(op); i++)
		expect(!result(&op[i], i), "result %u", i);
	expect_quiet();
	expect(env.done == ARRAY_SIZE(op) && !env.failed, "%u are done, %u failed", env.done,
	       env.failed);
}

static const struct ktap_test tests[] = {
	KTAP(test_window), KTAP(test_header), KTAP(test_result_checks), KTAP(test_partial_send),
	KTAP(test_congestion), KTAP(test_span), KTAP(test_resend),
	KTAP(test_resend_after_late), KTAP(test_probe), KTAP(test_gap),
	KTAP(test_hole), KTAP(test_order), KTAP(test_hold), KTAP(test_contradiction),
	KTAP(test_hold_fails), KTAP(test_submit_states), KTAP(test_result_rtt),
	KTAP(test_bad_status), KTAP(test_probe_slack), KTAP(test_first_probe),
	KTAP(test_status_ahead), KTAP(test_grow), KTAP(test_many_short),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
