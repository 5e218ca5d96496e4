// SPDX-License-Identifier: GPL-2.0-only
/* A rank becomes a member: JOIN and what it is answered with; whom the rank believes what. */
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
	pkt.incarnation = 0;
	expect(control(pkt, &body, sizeof(body)) == -INC_C_DROP_MALFORMED, "no incarnation");
	pkt.incarnation = 5;
	pkt.epoch = 0;
	expect(control(pkt, &body, sizeof(body)) == -INC_C_DROP_EPOCH, "epoch 0");
	expect_state(INC_STATE_JOINING);
	expect_count(DROP_MALFORMED, (u32)ARRAY_SIZE(bad) + 2);
	expect_count(DROP_EPOCH, 1u);
}

static struct netinc_op block_floats(u8 coll)
{
	return (struct netinc_op){ .coll = coll, .type = INC_TYPE_MXF8E4M3,
				   .wire = INC_TYPE_MXF8E4M3, .count = 1,
				   .op = coll == INC_COLL_BROADCAST ? INC_OP_NONE : INC_OP_SUM };
}

static struct netinc_op one_float(void)
{
	return (struct netinc_op){ .coll = INC_COLL_ALLREDUCE, .type = INC_TYPE_F32,
				   .wire = INC_TYPE_F32, .op = INC_OP_SUM, .count = 1 };
}

/*
 * Blocks of 64 bytes have no room for an accumulator of block floats: no node would take what would
 * be sent. It is said at once, also while the rank joins another epoch, and counts as no operation.
 */
static void test_too_long(void)
{
	struct netinc_op sum = block_floats(INC_COLL_ALLREDUCE), again = sum, other = one_float();
	struct netinc_op moved = block_floats(INC_COLL_BROADCAST);

	begin(0);
	expect(netinc_ep_submit(&env.ep, &sum, env.now) == -ENOTCONN, "before it has joined");
	ready(0);
	expect(netinc_ep_submit(&env.ep, &sum, env.now) == -EOPNOTSUPP, "of a member");
	expect(!env.ep.head && !env.ep.next_seq && !env.ep.submitted, "operation %u is next",
	       env.ep.next_seq);
	expect_quiet();
	expect(!netinc_ep_submit(&env.ep, &moved, env.now) && moved.seq == 0, "what is moved");
	expect(!error(0, 0, 1, INC_ERR_MISMATCH), "ERROR");
	expect_state(INC_STATE_RESYNC);
	expect(netinc_ep_submit(&env.ep, &again, env.now) == -EOPNOTSUPP, "after an error");
	expect(!netinc_ep_submit(&env.ep, &other, env.now) && other.seq == 1, "f32 is operation %u",
	       other.seq);
	expect(env.done == 1 && env.failed == 1, "%u are done, %u failed", env.done, env.failed);
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

/* A rank that asks for the order of the ranks ends a group that has another one. */
static void test_order(void)
{
	struct netinc_pkt pkt = from_node(INC_PKT_READY);
	struct inc_ready body;
	const struct sent *s;

	begin(0);
	netinc_ep_connect(&env.ep, env.now);
	s = expect_sent(INC_PKT_JOIN);
	expect(!((const struct inc_join *)s->body)->flags, "it asks for an order");
	begin(0);
	env.ep.cfg.canonical = true;
	netinc_ep_connect(&env.ep, env.now);
	s = expect_sent(INC_PKT_JOIN);
	expect(((const struct inc_join *)s->body)->flags == INC_JOIN_CANONICAL, "it does not ask");
	pkt.child = RANK;
	body = ready_body(0);
	body.height = 1 | INC_READY_TREE_ORDER;
	expect(!control(pkt, &body, sizeof(body)), "READY");
	expect_state(INC_STATE_FAILED);
	expect(env.ep.refused == INC_REFUSE_ORDER, "refused: %u", env.ep.refused);
	s = expect_sent(INC_PKT_ABORT);
	expect(s->pkt.cookie == UP && s->pkt.epoch == pkt.epoch, "not as a member");
	/* and takes one that has it, over several nodes or not */
	for (body.height = 0; body.height < 2; body.height++) {
		begin(0);
		env.ep.cfg.canonical = true;
		netinc_ep_connect(&env.ep, env.now);
		expect(!control(pkt, &body, sizeof(body)), "READY");
		expect_state(INC_STATE_READY);
	}
}

/* Which stripe it joins is in all of its JOINs, beside what READY has said; READY repeats it. */
static void test_stripes(void)
{
	struct netinc_pkt pkt = from_node(INC_PKT_READY);
	struct inc_ready body = ready_body(0);
	const struct sent *s;
	u32 i;

	pkt.child = RANK;
	for (i = 0; i < 2; i++) {
		begin(0);
		env.ep.cfg.stripe = INC_STRIPE(2, 4);
		netinc_ep_connect(&env.ep, env.now);
		s = expect_sent(INC_PKT_JOIN);
		expect(netinc_join_stripe((const void *)s->body) == INC_STRIPE(2, 4),
		       "JOIN says 0x%x", ((const struct inc_join *)s->body)->late_policy);
		/* a node that knows of no stripes, or a group of others */
		body.late_policy = i ? INC_STRIPE(2, 5) << INC_JOIN_STRIPE_SHIFT : 0;
		expect(!control(pkt, &body, sizeof(body)), "READY");
		expect_state(INC_STATE_FAILED);
		expect(env.ep.refused == INC_REFUSE_STRIPES, "refused: %u", env.ep.refused);
		s = expect_sent(INC_PKT_ABORT);
		expect(s->pkt.cookie == UP && s->pkt.epoch == pkt.epoch, "not as a member");
	}
	begin(0);
	env.ep.cfg.stripe = INC_STRIPE(2, 4);
	netinc_ep_connect(&env.ep, env.now);
	expect_sent(INC_PKT_JOIN);
	body.late_ms = cpu_to_be32(100);
	body.late_policy = INC_LATE_FAIL | INC_STRIPE(2, 4) << INC_JOIN_STRIPE_SHIFT;
	expect(!control(pkt, &body, sizeof(body)), "READY");
	expect_state(INC_STATE_READY);
	expect(env.ep.settings.late_policy == INC_LATE_FAIL, "late policy %u",
	       env.ep.settings.late_policy);
	netinc_ep_send_join(&env.ep, env.now);
	s = expect_sent(INC_PKT_JOIN);
	expect(((const struct inc_join *)s->body)->late_policy == body.late_policy,
	       "JOIN says 0x%x", ((const struct inc_join *)s->body)->late_policy);
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
	expect(s->pkt.child == RANK && !s->pkt.epoch && j->flags == INC_JOIN_SHRINK &&
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
	expect(s->pkt.child == 1 && !j->flags && be64_to_cpu(j->lineage) == 7 &&
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

/* The next JOIN of a member that PROBEs in vain. */
static const struct inc_join *expect_rebind(void)
{
	const struct inc_join *join;
	const struct sent *s;

	do {
		s = next_sent();
	} while (s->type == INC_PKT_PROBE || s->type == INC_PKT_CONTRIB);
	join = (const void *)s->body;
	expect(s->type == INC_PKT_JOIN && join->flags == INC_JOIN_REBIND &&
	       s->pkt.incarnation == 5 && s->pkt.epoch == 1 && s->pkt.cookie == UP,
	       "type %u, flags %x", s->type, join->flags);
	return join;
}

/*
 * Its packets may come by another port of the node: it says so when nothing is answered, and
 * proves it, once for each time that it asks. A CHALLENGE alone is no sign of life.
 */
static void test_rebind(void)
{
	struct inc_challenge challenge = { .nonce = cpu_to_be32(4711),
					   .challenge = cpu_to_be64(0xabcdef) };
	struct netinc_pkt pkt = from_node(INC_PKT_CHALLENGE);
	struct netinc_op op = barrier();
	const struct inc_join *join;

	ready(0);
	submit_op(&op);
	expect(control(pkt, &challenge, sizeof(challenge)) == -INC_C_DROP_DUPLICATE,
	       "it has not asked");
	while (env.ep.tree[0].unanswered < 3)
		env.now = netinc_ep_timer(&env.ep, env.now);
	expect(!expect_rebind()->challenge, "a challenge from nowhere");
	expect(!control(pkt, &challenge, sizeof(challenge)), "CHALLENGE");
	join = expect_rebind();
	expect(be64_to_cpu(join->challenge) == 0xabcdef && (join->proof[0] || join->proof[1]),
	       "the proof");
	expect(control(pkt, &challenge, sizeof(challenge)) == -INC_C_DROP_DUPLICATE, "again");
	expect(give_ready(1, 0, 0) == -INC_C_DROP_DUPLICATE, "READY says nothing new");
	expect_state(INC_STATE_READY);
	expect(env.ep.tree[0].unanswered >= 3, "the node has answered");
	/* one that answers nothing else is dead */
	while (env.ep.state == INC_STATE_READY && env.now < 10 * NETINC_LOST_MAX) {
		env.now = max(env.now + 1, netinc_ep_timer(&env.ep, env.now));
		control(pkt, &challenge, sizeof(challenge));
	}
	expect_state(INC_STATE_FAILED);
	expect(env.ep.error.code == INC_ERR_NODE_DEAD, "code %u", env.ep.error.code);
	env.ep.rebind_asked = true;
	expect(control(pkt, &challenge, sizeof(challenge)) == -INC_C_DROP_DUPLICATE,
	       "one that has failed comes back");
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

/* Who has never been a member asks for as long as the environment wants. */
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
static void test_clamp_pause(void)
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

/* Where an older run of the group is ending JOIN goes again soon, and then more rarely. */
static void test_busy_pace(void)
{
	static const u32 at[] = { 5000, 10000, 15000, 22500, 33750, 50625 };
	u64 begun, when;
	u32 i;

	begin(0);
	netinc_ep_connect(&env.ep, env.now);
	begun = env.now;
	for (i = 0; i < ARRAY_SIZE(at); i++) {
		refuse(4711, INC_REFUSE_BUSY, 0);
		when = netinc_ep_timer(&env.ep, env.now);
		expect(when == begun + at[i], "JOIN %u after %llu us, expected %u", i,
		       (unsigned long long)(when - begun), at[i]);
		env.now = when;
	}
}

/* What a rank has sent while nobody answered, and when. */
struct sayings {
	struct {
		u64 at;
		u8 type;
	} said[LOG];
	u32 n;
};

static void note_sent(struct sayings *all)
{
	for (; env.seen < env.logged && all->n < LOG; all->n++) {
		all->said[all->n].at = env.now;
		all->said[all->n].type = env.log[env.seen++ % LOG].type;
	}
}

/* Packets that are for another rank or run: they are dropped. */
static void give_strange(void)
{
	static const u8 types[] = { INC_PKT_WAIT, INC_PKT_CHALLENGE, INC_PKT_READY, INC_PKT_STATUS,
				    INC_PKT_NACK, INC_PKT_ERROR, INC_PKT_PEERS };
	u64 body[64] = { 0 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct netinc_pkt pkt = from_node(types[i]);

		pkt.cookie = ~DOWN;
		expect(control(pkt, body, sizeof(body)) < 0, "type %u is taken", types[i]);
	}
}

/* From @start() on, for half the dead limit: its timer runs, and, if @beside, others look at it. */
static void listen_to(void (*start)(void), bool beside, struct sayings *all)
{
	u64 end, when, looks;

	start();
	env.seen = env.logged;
	end = env.now + DEAD / 2 * NETINC_MS;
	all->n = 0;
	for (when = netinc_ep_timer(&env.ep, env.now); when && when < end;
	     when = netinc_ep_timer(&env.ep, env.now)) {
		note_sent(all);
		if (!expect(when > env.now, "the timer stands still"))
			return;
		for (looks = beside ? ktap_below(4) : 0; looks && when - env.now > 2; looks--) {
			env.now += 1 + ktap_below(when - env.now - 1);
			give_strange();
			expect(netinc_ep_timer(&env.ep, env.now) == when,
			       "it asks at another time, at %llu", (unsigned long long)env.now);
			note_sent(all);
		}
		env.now = when;
	}
	note_sent(all);
}

static struct netinc_op out;

static void start_joining(void)
{
	begin(0);
	netinc_ep_connect(&env.ep, env.now);
}

static void start_waiting(void)
{
	start_joining();
	expect(join_after(40 * NETINC_MS), "it does not wait");
}

static void start_idle(void)
{
	ready(0);
}

static void start_busy(void)
{
	ready(0);
	out = barrier();
	submit_op(&out);
}

static void start_over(void)
{
	start_busy();
	expect(!error(0, 0, 1, INC_ERR_MISMATCH), "ERROR");
	expect_state(INC_STATE_RESYNC);
}

static void start_abort(void)
{
	start_busy();
	netinc_ep_abort(&env.ep, INC_ERR_RANK_FAULT, false, env.now);
}

static void start_leaving(void)
{
	ready(0);
	expect(!netinc_ep_leave(&env.ep, &out, env.now), "it does not leave");
}

/*
 * When it asks, and how often, does not depend on how often somebody looks, which also packets do
 * that it drops.
 */
static void test_same_time(void)
{
	static void (*const starts[])(void) = {
		start_joining, start_waiting, start_idle, start_busy, start_over, start_abort,
		start_leaving,
	};
	struct sayings alone, beside;
	u32 i, j, n;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		listen_to(starts[i], false, &alone);
		expect(alone.n >= 2, "%u: it says only %u things", i, alone.n);
		for (n = 0; n < 20; n++) {
			listen_to(starts[i], true, &beside);
			for (j = 0; j < min(alone.n, beside.n) &&
			     alone.said[j].at == beside.said[j].at &&
			     alone.said[j].type == beside.said[j].type; j++)
				;
			expect(j == alone.n && j == beside.n,
			       "%u: it says something else, %u of %u and %u things", i, j, alone.n,
			       beside.n);
		}
	}
}

static const struct ktap_test tests[] = {
	KTAP(test_join), KTAP(test_bad_ready), KTAP(test_too_long),
	KTAP(test_refuse), KTAP(test_order),
	KTAP(test_stripes), KTAP(test_shrink), KTAP(test_limits_of_node), KTAP(test_patience),
	KTAP(test_clamp_pause), KTAP(test_join_rtt), KTAP(test_ready_shown), KTAP(test_join_pace),
	KTAP(test_busy_pace), KTAP(test_same_time), KTAP(test_rebind),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
