// SPDX-License-Identifier: GPL-2.0-only
/* A rank's membership: joining, errors, death of the node, leaving; whom it believes what. */
#include "ep_env.h"

static void test_join(void)
{
	struct inc_challenge challenge = { .nonce = cpu_to_be32(4711),
					   .challenge = cpu_to_be64(0xabcdef) };
	const struct inc_join *join;
	const struct sent *s;
	u8 key[INC_KEY_LEN] = { 0 };
	__be64 proof[2];

	begin(50);
	netinc_ep_connect(&env.ep, env.now);
	expect_state(INC_STATE_JOINING);
	s = expect_sent(INC_PKT_JOIN);
	join = (const void *)s->body;
	expect(!join->challenge && !join->proof[0] && be32_to_cpu(join->nonce) == 4711 &&
	       s->pkt.child == RANK && be64_to_cpu(join->next) == 50 &&
	       be64_to_cpu(join->job) == JOB &&
	       be32_to_cpu(join->size) == SIZE && be16_to_cpu(join->block) == BLOCK &&
	       !s->pkt.incarnation && !s->pkt.epoch && !s->pkt.cookie,
	       "the first JOIN");
	challenge.nonce = cpu_to_be32(1);
	expect(control(from_node(INC_PKT_CHALLENGE), &challenge, sizeof(challenge)) ==
	       -INC_C_DROP_STATE,
	       "a challenge for somebody else");
	challenge.nonce = cpu_to_be32(4711);
	expect(!control(from_node(INC_PKT_CHALLENGE), &challenge, sizeof(challenge)),
	       "the challenge");
	s = expect_sent(INC_PKT_JOIN);
	join = (const void *)s->body;
	netinc_join_proof(key, 77, RANK, join, proof);
	expect(be64_to_cpu(join->challenge) == 0xabcdef &&
	       !memcmp(proof, join->proof, sizeof(proof)),
	       "the proof");
	wait(1, 0, 0, -INC_C_DROP_STATE);
	expect_state(INC_STATE_JOINING);
	wait(4711, 0, 0, 0);
	expect_state(INC_STATE_WAITING);
	expect(env.ep.joined == 2 && env.ep.waiting == 1, "%u have joined, %u is missing",
	       env.ep.joined, env.ep.waiting);
	expect(!give_ready(1, 50, 0), "READY");
	expect_state(INC_STATE_READY);
	expect(env.ep.settings.window == W && env.ep.block == BLOCK &&
	       env.ep.settings.dead_ms == DEAD &&
	       env.ep.tree[0].up_cookie == UP && env.ep.down_cookie == DOWN &&
	       env.ep.incarnation == 5,
	       "what READY said");
	expect(give_ready(1, 50, 0) == -INC_C_DROP_DUPLICATE, "READY again");
	expect_count(JOINS, 2u);
	expect_quiet();
}

/* READY that no node would send. */
static void test_bad_ready(void)
{
	static const struct {
		const char *what;
		u32 off, size;
		u64 value;
	} bad[] = {
		{ "nonce", offsetof(struct inc_ready, nonce), 4, 4712 },
		{ "window", offsetof(struct inc_ready, window), 4, 0 },
		{ "window", offsetof(struct inc_ready, window), 4, 2 },
		{ "window", offsetof(struct inc_ready, window), 4, 12 },
		{ "window", offsetof(struct inc_ready, window), 4, INC_MAX_WINDOW * 2 },
		{ "start", offsetof(struct inc_ready, start), 8, 51 },
		{ "start", offsetof(struct inc_ready, start), 8, 49 },
		{ "size", offsetof(struct inc_ready, size), 4, SIZE + 1 },
		{ "trees", offsetof(struct inc_ready, trees), 2, 2 },
		{ "trees", offsetof(struct inc_ready, trees), 2, 0 },
		{ "block", offsetof(struct inc_ready, block), 2, BLOCK + 16 },
		{ "block", offsetof(struct inc_ready, block), 2, 48 },
		{ "block", offsetof(struct inc_ready, block), 2, 0 },
		{ "rank", offsetof(struct inc_ready, rank), 2, RANK - 1 },
		{ "dead_ms", offsetof(struct inc_ready, dead_ms), 4, 0 },
	};
	struct netinc_pkt pkt = from_node(INC_PKT_READY);
	struct inc_ready body;
	u32 i, k;
	int err;

	begin(50);
	netinc_ep_connect(&env.ep, env.now);
	pkt.child = RANK;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		body = ready_body(50);
		for (k = 0; k < bad[i].size; k++)
			((u8 *)&body)[bad[i].off + k] = bad[i].value >> (8 * (bad[i].size - 1 - k));
		err = control(pkt, &body, sizeof(body));
		expect(err == -INC_C_DROP_MALFORMED, "%s %llu: %d", bad[i].what,
		       (unsigned long long)bad[i].value, err);
	}
	pkt.child = RANK + 1;
	body = ready_body(50);
	expect(control(pkt, &body, sizeof(body)) == -INC_C_DROP_MALFORMED, "another child's READY");
	pkt.child = RANK;
	pkt.epoch = 0;
	expect(control(pkt, &body, sizeof(body)) == -INC_C_DROP_EPOCH, "epoch 0");
	expect_state(INC_STATE_JOINING);
	expect_count(DROP_MALFORMED, (u32)ARRAY_SIZE(bad) + 1);
	expect_count(DROP_EPOCH, 1u);
}

static void test_refuse(void)
{
	begin(0);
	netinc_ep_connect(&env.ep, env.now);
	expect(refuse(1, INC_REFUSE_SIZE, 0) == -INC_C_DROP_STATE, "somebody else's");
	expect(refuse(4711, 0, 0) == -INC_C_DROP_MALFORMED, "code 0");
	expect(refuse(4711, __INC_REFUSE_MAX, 0) == -INC_C_DROP_MALFORMED, "unknown code");
	expect(!refuse(4711, INC_REFUSE_SIZE, 0), "size");
	expect_state(INC_STATE_FAILED);
	expect(env.ep.refused == INC_REFUSE_SIZE && env.ep.refuse_detail == 9, "code %u",
	       env.ep.refused);
	/* busy: the older run may be ending; it is waited for, but not for ever */
	begin(0);
	netinc_ep_connect(&env.ep, env.now);
	expect(!refuse(4711, INC_REFUSE_BUSY, 0), "busy");
	expect_state(INC_STATE_JOINING);
	env.now += 4 * DEAD * NETINC_MS;
	expect(!refuse(4711, INC_REFUSE_RANK_TAKEN, 0), "still");
	expect_state(INC_STATE_JOINING);
	env.now++;
	refuse(4711, INC_REFUSE_BUSY, 0);
	expect_state(INC_STATE_FAILED);
	/* many ranks have long pauses; the node gives up who waits after four of them */
	begin(0);
	env.ep.cfg.size = 1000;
	netinc_ep_connect(&env.ep, env.now);
	expect(!refuse(4711, INC_REFUSE_RANK_TAKEN, 0), "its ghost");
	env.now += 4 * 1000 * NETINC_WAIT_PER_RANK;
	expect(!refuse(4711, INC_REFUSE_RANK_TAKEN, 0), "still");
	expect_state(INC_STATE_JOINING);
	/* no node: there will be one if the group is to meet at rank 0's host */
	begin(0);
	netinc_ep_connect(&env.ep, env.now);
	expect(!refuse(4711, INC_REFUSE_NO_NODE, 0), "no node");
	expect_state(INC_STATE_FAILED);
	begin(0);
	env.ep.cfg.at_edge = true;
	env.ep.cfg.rank = 0;
	netinc_ep_connect(&env.ep, env.now);
	expect(!refuse(4711, INC_REFUSE_NO_NODE, 0), "rank 0 has not been told its own host");
	expect_state(INC_STATE_FAILED);
	begin(0);
	env.ep.cfg.at_edge = true;
	env.ep.cfg.join_ms = 10 * DEAD;
	netinc_ep_connect(&env.ep, env.now);
	expect(!refuse(4711, INC_REFUSE_NO_NODE, 0), "rank 0 has not come");
	env.now += 10 * DEAD * NETINC_MS;
	expect(!refuse(4711, INC_REFUSE_NO_NODE, 0), "still");
	expect_state(INC_STATE_JOINING);
	expect(netinc_ep_placement(&env.ep) == INC_PLACEMENT_EDGE, "placement");
	env.now++;
	refuse(4711, INC_REFUSE_NO_NODE, 0);
	expect_state(INC_STATE_FAILED);
	/* a member believes only who knows its cookie */
	ready(0);
	expect(refuse(4711, INC_REFUSE_UNKNOWN, 0) == -INC_C_DROP_STATE, "without the cookie");
	expect(refuse(4711, INC_REFUSE_SIZE, UP) == -INC_C_DROP_STATE, "another code");
	expect(!refuse(0, INC_REFUSE_UNKNOWN, UP), "the node does not know us");
	expect_state(INC_STATE_FAILED);
	expect(env.ep.error.code == INC_ERR_NODE_GONE, "code %u", env.ep.error.code);
}

/* A rank goes on in a group with fewer: it asks as who it was, and is told who it is. */
static void test_shrink(void)
{
	struct netinc_ep_cfg cfg = { .group = 77,
				     .rank = RANK,
				     .size = SIZE,
				     .dead_ms = DEAD,
				     .nonce = 4711,
				     .block = BLOCK,
				     .super_packet = SUPER,
				     .prev = { .lineage = 6, .move = 3,
					       .settings = { .window = W, .dead_ms = DEAD,
							     .late_ms = 9,
							     .fallback = INC_FALLBACK_EDGE } } };
	static const struct { u32 rank, size; } bad[] = {
		{ RANK + 1, SIZE }, { RANK, RANK }, { 0, SIZE + 1 }, { 0, 0 },
	};
	struct netinc_pkt pkt = from_node(INC_PKT_READY);
	struct netinc_op op = barrier();
	struct inc_ready body;
	const struct inc_join *j;
	const struct sent *s;
	u32 i;

	begin(0);
	netinc_ep_init(&env.ep, &cfg, &ops);
	netinc_ep_connect(&env.ep, env.now);
	s = expect_sent(INC_PKT_JOIN);
	j = (const void *)s->body;
	expect(s->pkt.child == RANK && !s->pkt.epoch && j->shrink == 1 &&
	       be64_to_cpu(j->lineage) == 6 && be32_to_cpu(j->move) == 3 &&
	       be32_to_cpu(j->size) == SIZE && j->fallback == INC_FALLBACK_EDGE &&
	       be32_to_cpu(j->dead_ms) == DEAD && be32_to_cpu(j->late_ms) == 9,
	       "JOIN");
	pkt.child = RANK;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		body = ready_body(0);
		body.rank = cpu_to_be16(bad[i].rank);
		body.size = cpu_to_be32(bad[i].size);
		expect(control(pkt, &body, sizeof(body)) == -INC_C_DROP_MALFORMED, "rank %u of %u",
		       bad[i].rank, bad[i].size);
	}
	body = ready_body(0);
	body.rank = cpu_to_be16(1);
	body.size = cpu_to_be32(3);
	expect(!control(pkt, &body, sizeof(body)), "READY");
	expect_state(INC_STATE_READY);
	expect(env.ep.cfg.rank == 1 && env.ep.cfg.size == 3 && env.ep.lineage == 7, "rank %u of %u",
	       env.ep.cfg.rank, env.ep.cfg.size);
	submit_op(&op);
	s = expect_sent(INC_PKT_CONTRIB);
	expect(s->pkt.child == 1 && op.rank == 1 && op.size == 3, "child %u", s->pkt.child);
	/* from here on it is a rank like any other */
	expect(!error(0, 0, 1, INC_ERR_MISMATCH), "ERROR");
	s = expect_sent(INC_PKT_JOIN);
	j = (const void *)s->body;
	expect(s->pkt.child == 1 && !j->shrink && be64_to_cpu(j->lineage) == 7 &&
	       be32_to_cpu(j->size) == 3,
	       "JOIN as child %u", s->pkt.child);
	/* out */
	begin(0);
	netinc_ep_init(&env.ep, &cfg, &ops);
	netinc_ep_connect(&env.ep, env.now);
	expect(!refuse(4711, INC_REFUSE_OUT, 0), "out");
	expect_state(INC_STATE_FAILED);
	expect(env.ep.refused == INC_REFUSE_OUT && !env.ep.lineage, "code %u", env.ep.refused);
	/* the rank that makes its host a node may be between two runs, too, but not for ever */
	begin(0);
	netinc_ep_init(&env.ep, &cfg, &ops);
	netinc_ep_connect(&env.ep, env.now);
	expect(!refuse(4711, INC_REFUSE_NO_NODE, 0), "no node");
	env.now += DEAD * NETINC_MS;
	expect(!refuse(4711, INC_REFUSE_NO_NODE, 0), "no node");
	expect_state(INC_STATE_JOINING);
	env.now++;
	expect(!refuse(4711, INC_REFUSE_NO_NODE, 0), "no node");
	expect_state(INC_STATE_FAILED);
	expect(env.ep.refused == INC_REFUSE_NO_NODE, "code %u", env.ep.refused);
}

/* An error in the middle: all before it completes, what it names fails, the rest is renumbered. */
static void test_error(void)
{
	/* with b the window is full */
	struct netinc_op a = allreduce(24), b = allreduce(88), c = barrier(), d = allreduce(40),
			 late = barrier();

	ready(100);
	submit_op(&a);
	submit_op(&b);
	submit_op(&c);
	submit_op(&d);
	env.seen = env.logged;
	expect(!error(102, 1, 3, INC_ERR_MISMATCH), "ERROR");
	expect_sent(INC_PKT_PROBE);
	expect_state(INC_STATE_READY);
	expect(result(&b, 102) == -INC_C_DROP_ERROR, "a result after the error");
	expect(!result(&a, 100) && !env.done, "a result before it");
	expect(!result(&a, 101), "the last one");
	expect(env.done == 3 && env.failed == 2, "%u done, %u failed", env.done, env.failed);
	expect(!a.error.code && b.error.code == INC_ERR_MISMATCH &&
	       c.error.code == INC_ERR_CANCELED,
	       "codes %u, %u, %u", a.error.code, b.error.code, c.error.code);
	expect(b.error.rank[0] == 0 && b.error.rank[1] == 1, "the ranks");
	expect_state(INC_STATE_RESYNC);
	expect(be64_to_cpu(((const struct inc_join *)expect_sent(INC_PKT_JOIN)->body)->next) == 102,
	       "JOIN");
	submit_op(&late);
	expect_quiet();
	expect(give_ready(1, 102, 3) == -INC_C_DROP_EPOCH, "the old epoch");
	expect(!give_ready(2, 102, 3), "READY");
	expect_state(INC_STATE_READY);
	expect(d.first == 102 && d.blocks == 3 && late.first == 105, "numbers %llu, %llu",
	       (unsigned long long)d.first, (unsigned long long)late.first);
	expect_blocks(102ull, 3u, 0);
	expect_blocks(105ull, 1u, 0);
	expect_quiet();
	expect_count(OPS_FAILED, 2u);
	expect_count(OPS, 1u);
	expect_count(ERRORS, 1u);
}

/*
 * A node that says that an operation goes on, of which blocks have been sent, is not believed: the
 * operation fails, and so does an epoch that would begin with it.
 */
static void test_never_anew(void)
{
	struct netinc_op a = barrier(), b = barrier(), c = allreduce(24), d = barrier();

	ready(100);
	submit_op(&a);
	submit_op(&b);
	submit_op(&c);
	expect(env.ep.begun == 3 && env.ep.snd == 104, "begun %u, snd %llu", env.ep.begun,
	       (unsigned long long)env.ep.snd);
	expect(!result(&a, 100) && !result(&c, 102) && env.done == 1,
	       "results, also of the third operation");
	expect(!error(101, 1, 1, INC_ERR_MISMATCH), "an error by which the second one goes on");
	expect_state(INC_STATE_RESYNC);
	expect(env.failed == 2 && b.error.code == INC_ERR_MISMATCH &&
	       c.error.code == INC_ERR_CANCELED,
	       "%u failed, codes %u, %u", env.failed, b.error.code, c.error.code);
	submit_op(&d);
	expect(give_ready(2, 101, 2) == -INC_C_DROP_MALFORMED,
	       "READY by which the third one goes on");
	expect_state(INC_STATE_RESYNC);
	expect(!give_ready(2, 101, 3), "READY");
	expect_state(INC_STATE_READY);
	expect(d.numbered && d.first == 101 && env.failed == 2, "block %llu",
	       (unsigned long long)d.first);
}

/* Limits of a node that no administrator can set would make timers run wild. */
static void test_limits_of_node(void)
{
	static const u32 dead[] = { 1, NETINC_MIN_DEAD_MS - 1, NETINC_MAX_DEAD_MS + 1, 0xffffffff };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(dead); i++) {
		struct netinc_pkt pkt = from_node(INC_PKT_READY);
		struct inc_ready body = ready_body(0);

		begin(0);
		netinc_ep_connect(&env.ep, env.now);
		pkt.child = RANK;
		body.dead_ms = cpu_to_be32(dead[i]);
		expect(control(pkt, &body, sizeof(body)) == -INC_C_DROP_MALFORMED, "dead limit %u",
		       dead[i]);
		expect_state(INC_STATE_JOINING);
	}
}

/* A node that answers, but does not get over an error, is given up after four dead limits. */
static void test_error_lasts(void)
{
	struct netinc_op a = barrier();
	struct inc_wait_pkt wait = { .nonce = cpu_to_be32(4711) };
	u64 end;

	ready(100);
	submit_op(&a);
	expect(!error(100, 0, 1, INC_ERR_MISMATCH), "ERROR");
	expect_state(INC_STATE_RESYNC);
	end = env.now + 4 * DEAD * NETINC_MS;
	for (env.now += DEAD * NETINC_MS / 4; env.now < end; env.now += DEAD * NETINC_MS / 4) {
		expect(!control(from_node(INC_PKT_WAIT), &wait, sizeof(wait)), "WAIT");
		netinc_ep_timer(&env.ep, env.now);
		expect_state(INC_STATE_RESYNC);
	}
	env.now = end;
	expect(!control(from_node(INC_PKT_WAIT), &wait, sizeof(wait)), "WAIT");
	netinc_ep_timer(&env.ep, env.now);
	expect_state(INC_STATE_FAILED);
	expect(env.ep.error.code == INC_ERR_NODE_DEAD, "code %u", env.ep.error.code);
}

/* Operations that the others had begun and this rank had not fail as soon as they are submitted. */
static void test_error_ahead(void)
{
	struct netinc_op a = barrier(), b = barrier(), c = barrier();

	ready(0);
	submit_op(&a);
	expect(!error(0, 0, 2, INC_ERR_MISMATCH), "ERROR");
	expect(env.done == 1 && a.error.code == INC_ERR_MISMATCH, "the first");
	submit_op(&b);
	expect(env.done == 2 && b.error.code == INC_ERR_CANCELED && b.error.opseq == 0,
	       "the second: code %u", b.error.code);
	submit_op(&c);
	expect(env.done == 2, "the third");
	expect(!give_ready(2, 0, 2), "READY");
	expect(c.first == 0 && c.seq == 2, "operation %u is block %llu", c.seq,
	       (unsigned long long)c.first);
	/* half the number space later nothing has failed */
	expect(!result(&c, 0), "result of the third");
	env.ep.next_seq = 0x7ffffff0u;
	submit_op(&a);
	expect(!result(&a, 1), "its result");
	env.ep.next_seq = 0x80000010u;
	submit_op(&b);
	expect(env.failed == 2, "an operation failed for its number");
}

static void test_bad_error(void)
{
	struct netinc_op a = allreduce(24);

	ready(10);
	submit_op(&a);
	result(&a, 10);
	expect(error(11, 0, 1, INC_ERR_NONE) == -INC_C_DROP_MALFORMED, "no code");
	expect(error(11, 0, 1, __INC_ERR_MAX) == -INC_C_DROP_MALFORMED, "unknown code");
	expect(error(10, 0, 1, INC_ERR_MISMATCH) == -INC_C_DROP_MALFORMED,
	       "a block that has a result");
	expect(error(13, 0, 1, INC_ERR_MISMATCH) == -INC_C_DROP_MALFORMED,
	       "a block that was not sent");
	expect(!env.done && !env.ep.failing, "was believed");
	expect(!error(12, 1, 2, INC_ERR_MISMATCH), "the first block that was not sent");
	expect_count(DROP_MALFORMED, 4u);
}

static void test_fatal(void)
{
	struct netinc_op a = allreduce(24), b = barrier();

	ready(0);
	submit_op(&a);
	submit_op(&b);
	expect(!error(0, 0, 0, INC_ERR_RANK_DEAD), "ERROR");
	expect_state(INC_STATE_FAILED);
	expect(env.failed == 2, "%u failed", env.failed);
	expect(a.error.code == INC_ERR_RANK_DEAD && b.error.code == INC_ERR_RANK_DEAD,
	       "codes %u, %u", a.error.code, b.error.code);
	submit_op(&b);
	expect(env.failed == 3, "a later operation");
	expect(!netinc_ep_timer(&env.ep, env.now), "has a timer");
	/* the group may also fail while the ranks are joining again */
	ready(0);
	submit_op(&a);
	error(0, 0, 1, INC_ERR_MISMATCH);
	expect_state(INC_STATE_RESYNC);
	expect(!error(0, 0, 1, INC_ERR_MISMATCH), "again");
	expect_state(INC_STATE_RESYNC);
	expect(!error(0, 0, 0, INC_ERR_RANK_DEAD), "a fatal one");
	expect_state(INC_STATE_FAILED);
}

static u64 run_timer(u64 until)
{
	u64 at;

	while ((at = netinc_ep_timer(&env.ep, env.now)) && at <= until) {
		expect(at > env.now, "the timer stands still at %llu", (unsigned long long)env.now);
		env.now = max(at, env.now + 1);
	}
	return at;
}

/* A silent node is dead after the limit, not earlier, in every state; probes get rarer. */
static void test_dead(void)
{
	struct netinc_op a = barrier();
	u64 start;

	begin(0);
	start = env.now;
	netinc_ep_connect(&env.ep, env.now);
	run_timer(start + DEAD * NETINC_MS - 1);
	expect_state(INC_STATE_JOINING);
	run_timer(start + DEAD * NETINC_MS * 5 / 4);
	expect_state(INC_STATE_FAILED);
	expect(env.ep.error.code == INC_ERR_NODE_DEAD, "code %u", env.ep.error.code);
	expect(env.logged > 10 && env.logged < 40, "%u JOINs", env.logged);
	ready(0);
	submit_op(&a);
	start = env.now;
	run_timer(start + DEAD * NETINC_MS - 1);
	expect_state(INC_STATE_READY);
	run_timer(start + DEAD * NETINC_MS * 5 / 4);
	expect_state(INC_STATE_FAILED);
	expect(env.failed == 1 && a.error.code == INC_ERR_NODE_DEAD, "code %u", a.error.code);
	expect(env.ep.counters[INC_C_PROBES] > 8 && env.ep.counters[INC_C_PROBES] < 40,
	       "%llu PROBEs", (unsigned long long)env.ep.counters[INC_C_PROBES]);
	/* idle: it is noticed as well */
	ready(0);
	start = env.now;
	run_timer(start + DEAD * NETINC_MS * 5 / 4);
	expect_state(INC_STATE_FAILED);
	expect(env.ep.counters[INC_C_PROBES] > 8, "%llu PROBEs",
	       (unsigned long long)env.ep.counters[INC_C_PROBES]);
}

/* When it asks next does not depend on how often somebody looks: also packets that it drops do. */
static void test_same_time(void)
{
	u64 when;

	ready(0);
	when = netinc_ep_timer(&env.ep, env.now);
	env.now = when;
	when = netinc_ep_timer(&env.ep, env.now);
	expect_sent(INC_PKT_PROBE);
	expect(when == env.now + DEAD * NETINC_MS / 16, "asks after %llu us",
	       (unsigned long long)(when - env.now));
	expect(netinc_ep_timer(&env.ep, env.now + 1) == when, "asks at another time");
}

/* A node that answers is not dead, however long a rank is late. */
static void test_late(void)
{
	struct netinc_op a = barrier();
	u32 i;

	ready(0);
	submit_op(&a);
	for (i = 0; i < 100; i++) {
		run_timer(env.now + DEAD * NETINC_MS / 2);
		env.now += DEAD * NETINC_MS / 2;
		status(0, 1);
		expect_state(INC_STATE_READY);
	}
	expect(env.ep.counters[INC_C_PROBES] < 1000, "%llu PROBEs in 50 s",
	       (unsigned long long)env.ep.counters[INC_C_PROBES]);
	expect(!result(&a, 0) && env.done == 1, "the result after all");
}

static void test_leave(void)
{
	struct netinc_op a = barrier(), leave;

	ready(0);
	submit_op(&a);
	expect(netinc_ep_leave(&env.ep, &leave, env.now) == -EBUSY, "with an operation under way");
	result(&a, 0);
	env.seen = env.logged;
	expect(!netinc_ep_leave(&env.ep, &leave, env.now), "leave");
	expect_state(INC_STATE_LEAVING);
	expect(expect_sent(INC_PKT_CONTRIB)->pkt.flags == (INC_F_LEAVE | INC_F_DESC), "LEAVE");
	expect(netinc_ep_submit(&env.ep, &a, env.now) == -ESHUTDOWN, "an operation after it");
	wait(4711, 0, 0, -INC_C_DROP_EPOCH);
	wait(4711, 1, UP, -INC_C_DROP_EPOCH);
	expect_state(INC_STATE_LEAVING);
	wait(4711, 1, DOWN, 0);
	expect_state(INC_STATE_CLOSED);
	expect(env.ep.left, "does not know that it has left");
	/* the answer is lost, the result says the same */
	ready(0);
	netinc_ep_leave(&env.ep, &leave, env.now);
	expect(!result(&leave, 0), "the result");
	expect_state(INC_STATE_CLOSED);
	/* all is lost, the node has forgotten the group */
	ready(0);
	netinc_ep_leave(&env.ep, &leave, env.now);
	env.seen = env.logged;
	run_timer(env.now + 100000);
	expect_blocks(0ull, 1u, INC_F_RETRANS);
	expect_sent(INC_PKT_PROBE);
	expect(!refuse(0, INC_REFUSE_UNKNOWN, UP), "unknown");
	expect_state(INC_STATE_CLOSED);
}

/* Whatever a node says that others have begun: a rank that leaves can do so. */
static void test_leave_past(void)
{
	struct netinc_op a = barrier(), b = barrier(), leave;

	ready(100);
	submit_op(&a);
	expect(!error(100, 0, 50, INC_ERR_MISMATCH), "an error that takes many operations with it");
	expect(!give_ready(2, 100, 50), "READY");
	submit_op(&b);
	expect(env.failed == 2 && b.error.code == INC_ERR_CANCELED, "%u failed, code %u",
	       env.failed, b.error.code);
	env.seen = env.logged;
	expect(!netinc_ep_leave(&env.ep, &leave, env.now), "leave");
	expect_state(INC_STATE_LEAVING);
	expect(expect_sent(INC_PKT_CONTRIB)->pkt.flags == (INC_F_LEAVE | INC_F_DESC), "LEAVE");
	/* likewise when it has begun to */
	expect(!error(100, 2, 60, INC_ERR_MISMATCH), "an error at the block of LEAVE");
	expect_state(INC_STATE_RESYNC);
	expect(!give_ready(3, 100, 60), "READY");
	expect_state(INC_STATE_LEAVING);
	expect_sent(INC_PKT_JOIN);
	expect(expect_sent(INC_PKT_CONTRIB)->pkt.flags == (INC_F_LEAVE | INC_F_DESC),
	       "LEAVE again");
	expect(!result(&leave, 100), "the result");
	expect_state(INC_STATE_CLOSED);
}

static void test_abort(void)
{
	struct netinc_op a = barrier();
	const struct inc_error_pkt *body;
	const struct sent *s;

	ready(0);
	submit_op(&a);
	env.seen = env.logged;
	netinc_ep_abort(&env.ep, INC_ERR_RANK_FAULT, false, env.now);
	s = expect_sent(INC_PKT_ABORT);
	body = (const void *)s->body;
	expect(be16_to_cpu(body->code) == INC_ERR_RANK_FAULT &&
	       be32_to_cpu(body->rank[0]) == RANK && be32_to_cpu(body->resume) == 4711 &&
	       s->pkt.cookie == UP,
	       "ABORT");
	expect_state(INC_STATE_READY);
	run_timer(env.now + 30000);
	expect_sent(INC_PKT_ABORT);
	expect(!error(0, 0, 0, INC_ERR_RANK_FAULT), "the error comes down");
	expect_state(INC_STATE_FAILED);
	expect(env.failed == 1, "%u failed", env.failed);
	/* with results to come before the error: it asks for them */
	ready(0);
	submit_op(&a);
	netinc_ep_abort(&env.ep, INC_ERR_RANK_FAULT, false, env.now);
	error(1, 1, 0, INC_ERR_RANK_FAULT);
	expect_state(INC_STATE_READY);
	env.seen = env.logged;
	run_timer(env.now + 30000);
	expect_sent(INC_PKT_PROBE);
	expect(!result(&a, 0) && !env.failed, "%u failed", env.failed);
	expect_state(INC_STATE_FAILED);
	/* close: twice, and nothing more */
	ready(0);
	submit_op(&a);
	env.seen = env.logged;
	netinc_ep_abort(&env.ep, INC_ERR_RANK_ABORT, true, env.now);
	expect_sent(INC_PKT_ABORT);
	expect_sent(INC_PKT_ABORT);
	expect_quiet();
	expect_state(INC_STATE_CLOSED);
	expect(env.failed == 1 && a.error.code == INC_ERR_RANK_ABORT, "code %u", a.error.code);
	expect(a.error.rank[0] == RANK && a.error.rank[1] == NETINC_NO_RANK, "ranks %u, %u",
	       a.error.rank[0], a.error.rank[1]);
	expect(!netinc_ep_timer(&env.ep, env.now), "has a timer");
}

/* A rank ends the group: a member with an error for all, another one by itself. */
static void test_cancel(void)
{
	struct netinc_op a = barrier();

	begin(0);
	netinc_ep_connect(&env.ep, env.now);
	expect_sent(INC_PKT_JOIN);
	netinc_ep_cancel(&env.ep, env.now);
	expect_sent(INC_PKT_ABORT);
	expect_sent(INC_PKT_ABORT);
	expect_quiet();
	expect_state(INC_STATE_FAILED);
	expect(env.ep.error.code == INC_ERR_RANK_ABORT && env.ep.error.rank[0] == RANK,
	       "code %u of rank %u", env.ep.error.code, env.ep.error.rank[0]);
	netinc_ep_cancel(&env.ep, env.now);
	expect_quiet();
	ready(0);
	submit_op(&a);
	env.seen = env.logged;
	netinc_ep_cancel(&env.ep, env.now);
	expect_sent(INC_PKT_ABORT);
	netinc_ep_cancel(&env.ep, env.now);
	expect_quiet();
	expect_state(INC_STATE_READY);
	expect(!error(0, 0, 0, INC_ERR_RANK_ABORT), "the error comes down");
	expect_state(INC_STATE_FAILED);
	expect(env.failed == 1, "%u failed", env.failed);
}

/* Who has never been a member asks for as long as the surroundings want. */
static void test_patience(void)
{
	begin(0);
	netinc_ep_connect(&env.ep, env.now);
	run_timer(env.now + 3 * DEAD * NETINC_MS);
	expect_state(INC_STATE_FAILED);
	begin(0);
	env.ep.cfg.join_ms = 10 * DEAD;
	netinc_ep_connect(&env.ep, env.now);
	run_timer(env.now + 9 * DEAD * NETINC_MS);
	expect_state(INC_STATE_JOINING);
	run_timer(env.now + 3 * DEAD * NETINC_MS);
	expect_state(INC_STATE_FAILED);
	expect(env.ep.error.code == INC_ERR_NODE_DEAD, "code %u", env.ep.error.code);
}

/* The time of the next JOIN after WAIT has said @pause. */
static u64 join_after(u32 pause)
{
	struct inc_wait_pkt body = { .nonce = cpu_to_be32(4711), .pause = cpu_to_be32(pause) };
	u64 begin, when;

	expect(!control(from_node(INC_PKT_WAIT), &body, sizeof(body)), "WAIT");
	begin = env.now;
	when = netinc_ep_timer(&env.ep, env.now);
	expect(env.ep.state == INC_STATE_WAITING, "state %u", env.ep.state);
	return when > begin ? when - env.ep.tree[0].asked : 0;
}

/* Who waits asks again when it is told to; a node that lies does not keep it busy, nor silent. */
static void test_told_pause(void)
{
	u64 when;

	begin(0);
	netinc_ep_connect(&env.ep, env.now);
	expect_sent(INC_PKT_JOIN);
	when = join_after(40 * NETINC_MS);
	expect(when == 40 * NETINC_MS, "asks after %llu us", (unsigned long long)when);
	when = join_after(0);
	expect(when == 5 * NETINC_MS, "asks after %llu us", (unsigned long long)when);
	when = join_after(~0u);
	expect(when == DEAD / 4 * NETINC_MS, "asks after %llu us", (unsigned long long)when);
	env.ep.cfg.join_ms = 8 * DEAD;
	when = join_after(~0u);
	expect(when == 2 * DEAD * NETINC_MS, "asks after %llu us", (unsigned long long)when);
	/* one that is not answered is repeated soon */
	run_timer(env.ep.tree[0].asked + 2 * DEAD * NETINC_MS);
	expect_sent(INC_PKT_JOIN);
	when = netinc_ep_timer(&env.ep, env.now) - env.ep.tree[0].asked;
	expect(when == 50 * NETINC_MS, "asks after %llu us", (unsigned long long)when);
	/* called after a while, at once */
	env.now += 20 * NETINC_MS;
	join_after(0);
	expect_sent(INC_PKT_JOIN);
}

/* The round trip is that of the first JOIN, if it was not repeated. */
static void test_join_rtt(void)
{
	struct inc_challenge challenge = { .nonce = cpu_to_be32(4711) };
	u32 i;

	for (i = 0; i < 2; i++) {
		begin(0);
		netinc_ep_connect(&env.ep, env.now);
		env.now += 6000;
		if (i)
			netinc_ep_timer(&env.ep, env.now);
		expect(!control(from_node(INC_PKT_CHALLENGE), &challenge, sizeof(challenge)),
		       "the challenge");
		expect(env.ep.cc.srtt == (i ? 0 : 6000), "%u us", env.ep.cc.srtt);
	}
}

static void expect_abort(u16 code, u16 flags)
{
	const struct sent *s = expect_sent(INC_PKT_ABORT);
	const struct inc_error_pkt *body = (const void *)s->body;

	expect(be16_to_cpu(body->code) == code && s->pkt.flags == flags && s->pkt.cookie == UP,
	       "code %u, flags %#x", be16_to_cpu(body->code), s->pkt.flags);
}

/* Who wants nothing more of its node says so: it has heard of the end, closes, or has left. */
static void test_done(void)
{
	struct netinc_op leave;
	u8 fallback;

	ready(0);
	expect(!error(0, 0, 1, INC_ERR_MISMATCH), "an error that it gets over");
	expect_sent(INC_PKT_JOIN);
	ready(0);
	expect(!error(0, 0, 0, INC_ERR_RANK_DEAD), "the end");
	expect_state(INC_STATE_FAILED);
	expect_abort(INC_ERR_NONE, INC_F_LEAVE);
	ready(0);
	expect(!error(0, 0, 0, INC_ERR_NODE_GONE), "the node goes");
	expect_state(INC_STATE_FAILED);
	expect_quiet();
	ready(0);
	netinc_ep_cancel(&env.ep, env.now);
	expect_abort(INC_ERR_RANK_ABORT, 0);
	netinc_ep_abort(&env.ep, INC_ERR_RANK_ABORT, true, env.now);
	expect_abort(INC_ERR_RANK_ABORT, INC_F_LEAVE);
	expect_abort(INC_ERR_RANK_ABORT, INC_F_LEAVE);
	expect_quiet();
	for (fallback = INC_FALLBACK_NONE; fallback <= INC_FALLBACK_STANDBY; fallback++) {
		begin(0);
		env.fallback = fallback;
		netinc_ep_connect(&env.ep, env.now);
		expect(!give_ready(1, 0, 0) && !netinc_ep_leave(&env.ep, &leave, env.now), "leave");
		env.seen = env.logged;
		wait(4711, 1, DOWN, 0);
		expect_state(INC_STATE_CLOSED);
		if (fallback)
			expect_abort(INC_ERR_LEFT, INC_F_LEAVE);
		expect_quiet();
		netinc_ep_retain_drop(&env.ep);
	}
}

/* An idle rank shows soon that it has READY, once; one that contributes has shown it. */
static void test_ready_shown(void)
{
	struct netinc_op op = barrier();
	u64 at;

	ready(0);
	at = netinc_ep_timer(&env.ep, env.now) - env.now;
	expect(at == DEAD / 40 * NETINC_MS, "asks after %llu us", (unsigned long long)at);
	run_timer(env.now + at);
	expect_sent(INC_PKT_PROBE);
	status(0, 0);
	at = netinc_ep_timer(&env.ep, env.now) - env.now;
	expect(at == DEAD / 4 * NETINC_MS, "again after %llu us", (unsigned long long)at);
	ready(0);
	submit_op(&op);
	expect_sent(INC_PKT_CONTRIB);
	env.now += 1000;
	expect(!result(&op, 0), "the result");
	at = netinc_ep_timer(&env.ep, env.now) - env.ep.ready_at;
	expect(at == DEAD / 4 * NETINC_MS, "it asks after %llu us", (unsigned long long)at);
	expect_quiet();
}

/* ABORT is repeated soon, also by who has nothing else to do. */
static void test_abort_idle(void)
{
	ready(0);
	netinc_ep_abort(&env.ep, INC_ERR_RANK_ABORT, false, env.now);
	expect_sent(INC_PKT_ABORT);
	run_timer(env.now + 30000);
	expect_sent(INC_PKT_ABORT);
}

/* JOIN that nobody answers is repeated more and more rarely, up to 16 in a dead limit. */
static void test_join_pace(void)
{
	static const u32 at[] = { 5000, 15000, 35000, 75000, 137500, 200000, 262500 };
	u64 begun, when;
	u32 i;

	begin(0);
	begun = env.now;
	netinc_ep_connect(&env.ep, env.now);
	for (i = 0; i < ARRAY_SIZE(at); i++) {
		when = netinc_ep_timer(&env.ep, env.now);
		expect(when == begun + at[i], "JOIN %u after %llu us, expected %u", i,
		       (unsigned long long)(when - begun), at[i]);
		env.now = when;
	}
}

static const struct ktap_test tests[] = {
	KTAP(test_join), KTAP(test_bad_ready), KTAP(test_refuse), KTAP(test_shrink),
	KTAP(test_error), KTAP(test_never_anew), KTAP(test_limits_of_node), KTAP(test_error_lasts),
	KTAP(test_error_ahead), KTAP(test_bad_error), KTAP(test_fatal), KTAP(test_dead),
	KTAP(test_late), KTAP(test_leave), KTAP(test_leave_past), KTAP(test_abort),
	KTAP(test_patience), KTAP(test_told_pause), KTAP(test_cancel), KTAP(test_join_rtt),
	KTAP(test_done), KTAP(test_ready_shown), KTAP(test_abort_idle), KTAP(test_join_pace),
	KTAP(test_same_time),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
