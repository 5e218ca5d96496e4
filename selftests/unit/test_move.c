// SPDX-License-Identifier: GPL-2.0-only
/* A rank on its way elsewhere: when and where it goes, whom it calls, giving up, coming back. */
#include "ep_env.h"

/* MOVE to all others, then JOIN with what the group is. */
static void expect_called(u32 move)
{
	const struct inc_join *join;
	const struct sent *s;
	u32 i;

	for (i = 0; i < SIZE; i++) {
		if (i == RANK)
			continue;
		s = expect_sent(INC_PKT_MOVE);
		expect(s->to == 200 + i && s->pkt.child == i && !s->pkt.cookie &&
		       be32_to_cpu(((const struct inc_move *)s->body)->move) == move &&
		       be64_to_cpu(((const struct inc_move *)s->body)->lineage) == 7,
		       "MOVE to %u", s->to);
	}
	s = expect_sent(INC_PKT_JOIN);
	join = (const void *)s->body;
	expect(!s->pkt.incarnation && !s->pkt.cookie && !join->challenge &&
	       be32_to_cpu(join->move) == move && be64_to_cpu(join->lineage) == 7 &&
	       be16_to_cpu(join->window) == W && be32_to_cpu(join->dead_ms) == DEAD &&
	       join->fallback == env.fallback,
	       "JOIN");
}

static int call(u32 move, u64 lineage)
{
	struct inc_move body = { .lineage = cpu_to_be64(lineage), .move = cpu_to_be32(move) };
	struct netinc_pkt pkt = {
		.type = INC_PKT_MOVE, .group = 77, .child = RANK, .span = 1, .len = sizeof(body),
	};
	struct netinc_peer from = peer_at(201);

	return netinc_ep_non_parent(&env.ep, &pkt, &body, &from, env.now);
}

static int refused(u16 code, u64 detail)
{
	struct netinc_pkt pkt = { .type = INC_PKT_REFUSE, .group = 77, .span = 1 };
	struct inc_refuse body = { .nonce = cpu_to_be32(4711), .code = cpu_to_be16(code),
				   .detail = cpu_to_be64(detail) };

	return control(pkt, &body, sizeof(body));
}

static int challenge(u8 from, u32 nonce)
{
	struct inc_challenge body = { .nonce = cpu_to_be32(nonce), .challenge = cpu_to_be64(5) };
	struct netinc_pkt pkt = {
		.type = INC_PKT_CHALLENGE, .group = 77, .span = 1, .len = sizeof(body),
	};
	struct netinc_peer peer = peer_at(from);

	return netinc_ep_non_parent(&env.ep, &pkt, &body, &peer, env.now);
}

/* The node is silent: that is noticed before the node would take the rank for dead. */
static void test_silent(void)
{
	struct netinc_op a = barrier();
	u64 start;

	ready_to_move(0, INC_FALLBACK_STANDBY, 2);
	submit_op(&a);
	start = env.now;
	run_timer(start + DEAD * NETINC_MS * 3 / 4 - 1);
	expect_state(INC_STATE_READY);
	env.seen = env.logged;
	while (env.ep.state == INC_STATE_READY)
		run_timer(env.now + 10000), env.now += 1000;
	expect(env.now - start <= DEAD * NETINC_MS * 7 / 8 + 2000, "after %llu us",
	       (unsigned long long)(env.now - start));
	while (env.seen < env.logged && env.log[env.seen % LOG].type != INC_PKT_MOVE)
		env.seen++;
	expect_called(1);
	expect(env.place == 1 && netinc_ep_moving(&env.ep) &&
	       netinc_ep_placement(&env.ep) == INC_PLACEMENT_STANDBY,
	       "place %u", env.place);
	expect(!env.done, "an operation has failed");
	env.move = 1;
	expect(!give_ready(2, 0, 0), "READY");
	expect(!netinc_ep_moving(&env.ep) && !env.ep.npeers, "is still moving");
	expect(!result(&a, 0) && env.done == 1 && !env.failed, "the operation goes on");
	expect_count(MOVES, 1u);
	netinc_ep_retain_drop(&env.ep);
}

/* Whatever says that the node is gone: without a fallback an error, with one a move. */
static void test_gone(void)
{
	u32 i;

	for (i = 0; i < 3; i++) {
		struct netinc_op a = barrier();

		ready_to_move(0, i ? INC_FALLBACK_EDGE : INC_FALLBACK_NONE, 0);
		submit_op(&a);
		env.seen = env.logged;
		if (i == 1)
			expect(!error(0, 0, 0, INC_ERR_NODE_GONE), "ERROR");
		else
			expect(!refuse(0, INC_REFUSE_UNKNOWN, UP), "REFUSE");
		if (!i) {
			expect(env.ep.state == INC_STATE_FAILED && env.failed == 1, "goes on");
			continue;
		}
		expect_called(1);
		expect_state(INC_STATE_RESYNC);
		expect(netinc_ep_placement(&env.ep) == INC_PLACEMENT_EDGE, "placement");
		netinc_ep_retain_drop(&env.ep);
	}
}

/* Another one calls: to a later move, of this group, in every state in which there is one. */
static void test_called(void)
{
	struct netinc_op a = barrier();

	ready_to_move(0, INC_FALLBACK_EDGE, 1);
	submit_op(&a);
	env.seen = env.logged;
	expect(call(1, 8) == -INC_C_DROP_COOKIE, "another group's");
	expect(call(0, 7) == -INC_C_DROP_DUPLICATE, "no later move");
	expect_state(INC_STATE_READY);
	expect(!call(2, 7), "MOVE");
	expect_state(INC_STATE_RESYNC);
	expect(env.place == 2, "place %u", env.place);
	expect_sent(INC_PKT_JOIN);
	expect_quiet();
	expect(result(&a, 0) == -INC_C_DROP_STATE, "a result of the old epoch");
	expect(error(0, 0, 0, INC_ERR_RANK_DEAD) == -INC_C_DROP_NO_GROUP,
	       "an error of the old epoch");
	expect_state(INC_STATE_RESYNC);
	expect(call(2, 7) == -INC_C_DROP_DUPLICATE && call(1, 7) == -INC_C_DROP_DUPLICATE, "again");
	expect(!call(4, 7) && env.place == 1, "place %u", env.place);
	expect(give_ready(2, 0, 0) == -INC_C_DROP_MALFORMED, "READY of another move");
	env.move = 4;
	expect(!give_ready(2, 0, 0), "READY");
	netinc_ep_abort(&env.ep, INC_ERR_RANK_ABORT, true, env.now);
	expect(call(9, 7) == -INC_C_DROP_STATE, "a closed one moves");
	netinc_ep_retain_drop(&env.ep);
	ready(0);
	expect(call(1, 7) == -INC_C_DROP_COOKIE, "without a fallback");
	begin(0);
	netinc_ep_connect(&env.ep, env.now);
	expect(call(1, 0) == -INC_C_DROP_STATE, "before READY");
}

/* WAIT says who is missing: who has found out calls it again, the others do not. */
static void test_wait(void)
{
	ready_to_move(0, INC_FALLBACK_EDGE, 0);
	netinc_ep_lost(&env.ep, INC_ERR_NODE_DEAD, env.now);
	env.seen = env.logged;
	wait(4711, 0, 0, 0);
	expect(expect_sent(INC_PKT_MOVE)->to == 201, "MOVE");
	expect_quiet();
	netinc_ep_retain_drop(&env.ep);
	ready_to_move(0, INC_FALLBACK_EDGE, 0);
	expect(!call(1, 7), "MOVE");
	env.seen = env.logged;
	wait(4711, 0, 0, 0);
	expect_quiet();
	netinc_ep_retain_drop(&env.ep);
}

/* Place after place, once round the plan, each for a short time; then the error. */
static void test_nowhere(void)
{
	struct netinc_op a = barrier();
	u64 start, limit = 3 * DEAD / 2 * NETINC_MS + 3 * 100 * NETINC_MS;

	ready_to_move(0, INC_FALLBACK_EDGE, 1);
	submit_op(&a);
	netinc_ep_lost(&env.ep, INC_ERR_NODE_DEAD, env.now);
	start = env.now;
	run_timer(start + limit);
	expect_state(INC_STATE_FAILED);
	expect(env.ep.move == 3 && env.place == 0, "gave up at move %u", env.ep.move);
	expect(env.failed == 1 && a.error.code == INC_ERR_NODE_DEAD, "code %u", a.error.code);
	expect_count(MOVES, 3u);
	/* somebody answers, but the others do not come: not for ever */
	netinc_ep_retain_drop(&env.ep);
	ready_to_move(0, INC_FALLBACK_EDGE, 0);
	netinc_ep_lost(&env.ep, INC_ERR_NODE_DEAD, env.now);
	start = env.now;
	while (env.ep.move == 1 && env.now - start < 3 * DEAD * NETINC_MS) {
		wait(4711, 0, 0, 0);
		run_timer(env.now + 50000);
		env.now += 50000;
	}
	expect(env.ep.move == 2 && env.now - start <= (2 * DEAD + 200) * NETINC_MS,
	       "waits for %llu us", (unsigned long long)(env.now - start));
	netinc_ep_retain_drop(&env.ep);
}

/*
 * Looking elsewhere does not wait for a long dead limit; giving up does, since nobody says yet that
 * the rank is dead.
 */
static void test_two_limits(void)
{
	struct netinc_op a = barrier();
	u64 start, dead = 10 * DEAD * NETINC_MS;

	ready_to_move(0, INC_FALLBACK_EDGE, 1);
	env.ep.settings.dead_ms = 10 * DEAD;
	submit_op(&a);
	start = env.now;
	run_timer(start + NETINC_LOST_MAX - 1);
	expect_state(INC_STATE_READY);
	run_timer(start + NETINC_LOST_MAX + 300 * NETINC_MS);
	expect(netinc_ep_moving(&env.ep), "is still waiting for its node");
	run_timer(start + dead - NETINC_MS);
	expect_state(INC_STATE_RESYNC);
	expect(env.ep.move > 2 * 3, "only %u places in that time", env.ep.move);
	run_timer(start + dead + 1100 * NETINC_MS);
	expect_state(INC_STATE_FAILED);
	expect(env.failed == 1 && a.error.code == INC_ERR_NODE_DEAD, "code %u", a.error.code);
	netinc_ep_retain_drop(&env.ep);
}

static void test_refused(void)
{
	ready_to_move(0, INC_FALLBACK_EDGE, 2);
	netinc_ep_lost(&env.ep, INC_ERR_NODE_DEAD, env.now);
	expect(!refused(INC_REFUSE_MOVED, 1) && env.ep.move == 1, "the same move");
	expect(!refused(INC_REFUSE_BUSY, 0) && !refused(INC_REFUSE_UNKNOWN, 0) && env.ep.move == 1,
	       "what passes");
	expect(!refused(INC_REFUSE_MOVED, 2) && env.ep.move == 2 && env.place == 2, "a later move");
	expect(!refused(INC_REFUSE_NO_NODE, 0) && env.ep.move == 3 && env.place == 3,
	       "no node there");
	expect(!refused(INC_REFUSE_RANK_DEAD, 3 | 1ull << 32), "others have not come");
	expect_state(INC_STATE_FAILED);
	expect(env.ep.error.code == INC_ERR_RANK_DEAD && env.ep.error.rank[0] == 3 &&
	       env.ep.error.rank[1] == 1,
	       "ranks %u and %u", env.ep.error.rank[0], env.ep.error.rank[1]);
	netinc_ep_retain_drop(&env.ep);
}

/* It goes round, and is refused with @code as soon as it asks; returns after how many refusals. */
static u32 refused_until_failed(u32 code)
{
	u64 end = env.now + 20 * DEAD * NETINC_MS, start;
	u32 n = 0;

	netinc_ep_lost(&env.ep, INC_ERR_NODE_DEAD, env.now);
	while (env.ep.state == INC_STATE_RESYNC && env.now < end) {
		expect(!refused(code, 0), "place %u", env.place);
		n++;
		start = env.now;
		run_timer(start + 20 * NETINC_MS);
		env.now = start + 20 * NETINC_MS;
	}
	expect_state(INC_STATE_FAILED);
	expect(env.ep.error.code == INC_ERR_NODE_DEAD, "code %u", env.ep.error.code);
	return n;
}

/*
 * Who is refused everywhere does not go round and round until the dead limit is over, but where
 * nodes have been removed: they may be there again. Then it goes round slowly.
 */
static void test_refused_everywhere(void)
{
	u64 start;
	u32 n;

	ready_to_move(0, INC_FALLBACK_STANDBY, 2);
	env.ep.settings.dead_ms = 10 * DEAD;
	n = refused_until_failed(INC_REFUSE_KEY);
	expect(n == 3 && env.ep.move == 3, "%u refusals, move %u", n, env.ep.move);
	netinc_ep_retain_drop(&env.ep);

	ready_to_move(0, INC_FALLBACK_STANDBY, 2);
	env.ep.settings.dead_ms = 10 * DEAD;
	start = env.now;
	n = refused_until_failed(INC_REFUSE_NO_NODE);
	expect(env.now - start >= 10 * DEAD * NETINC_MS &&
	       env.now - start <= 11 * DEAD * NETINC_MS,
	       "failed after %llu us", (unsigned long long)(env.now - start));
	expect(n > 20 && env.ep.move > 12 && env.ep.move <= 20, "%u refusals, move %u", n,
	       env.ep.move);
	netinc_ep_retain_drop(&env.ep);
}

/* ... but one place that refuses is not all: the others may have been silent for a while only. */
static void test_refused_once(void)
{
	ready_to_move(0, INC_FALLBACK_STANDBY, 2);
	env.ep.settings.dead_ms = 10 * DEAD;
	netinc_ep_lost(&env.ep, INC_ERR_NODE_DEAD, env.now);
	while (env.ep.move < 4 && env.ep.state == INC_STATE_RESYNC) {
		env.now += 100 * NETINC_MS;
		run_timer(env.now);
	}
	expect(!refused(INC_REFUSE_NO_NODE, 0) && env.ep.move == 5, "move %u", env.ep.move);
	expect_state(INC_STATE_RESYNC);
	netinc_ep_retain_drop(&env.ep);
}

/* Rank 0's process may be between two runs when its host is asked how the first one has ended. */
static void test_refused_between_runs(void)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		ready_to_move(0, INC_FALLBACK_EDGE, 0);
		netinc_ep_lost(&env.ep, INC_ERR_NODE_DEAD, env.now);
		expect(env.ep.move == 1, "move %u", env.ep.move);
		wait(4711, 0, 0, 0);
		env.now += 2000 * NETINC_MS;
		expect(!refused(INC_REFUSE_NO_NODE, 0), "no rank is there");
		env.now += DEAD * NETINC_MS;
		expect(!refused(INC_REFUSE_NO_NODE, 0), "still none");
		expect_state(INC_STATE_RESYNC);
		if (!i) {
			refused(INC_REFUSE_RANK_DEAD, 3 | 1ull << 32);
			expect_state(INC_STATE_FAILED);
			expect(env.ep.error.code == INC_ERR_RANK_DEAD, "code %u",
			       env.ep.error.code);
		} else {
			env.now += 1;
			refused(INC_REFUSE_NO_NODE, 0);
			expect(env.ep.move == 2 && !env.ep.welcome, "waits there, move %u",
			       env.ep.move);
		}
		netinc_ep_retain_drop(&env.ep);
	}
	/* where nobody was from the beginning, nobody is waited for */
	ready_to_move(0, INC_FALLBACK_EDGE, 0);
	netinc_ep_lost(&env.ep, INC_ERR_NODE_DEAD, env.now);
	env.now += 2000 * NETINC_MS;
	refused(INC_REFUSE_NO_NODE, 0);
	refused(INC_REFUSE_NO_NODE, 0);
	expect_state(INC_STATE_FAILED);
	netinc_ep_retain_drop(&env.ep);
}

/* A plan that makes no sense, or not the one of before. */
static void test_bad_plan(void)
{
	struct netinc_pkt pkt = from_node(INC_PKT_READY);
	struct inc_ready body;

	begin(0);
	netinc_ep_connect(&env.ep, env.now);
	pkt.child = RANK;
	body = ready_body(0);
	body.fallback = __INC_FALLBACK_MAX;
	expect(control(pkt, &body, sizeof(body)) == -INC_C_DROP_MALFORMED, "fallback");
	body = ready_body(0);
	body.standbys = INC_MAX_STANDBY + 1;
	expect(control(pkt, &body, sizeof(body)) == -INC_C_DROP_MALFORMED, "standbys");
	body.standbys = 1;
	expect(control(pkt, &body, sizeof(body)) == -INC_C_DROP_MALFORMED,
	       "a standby node without address");
	ready_to_move(0, INC_FALLBACK_EDGE, 0);
	netinc_ep_lost(&env.ep, INC_ERR_NODE_DEAD, env.now);
	env.move = 1;
	env.fallback = INC_FALLBACK_NONE;
	expect(give_ready(2, 0, 0) == -INC_C_DROP_MALFORMED, "another policy");
	env.fallback = INC_FALLBACK_EDGE;
	body = ready_body(0);
	body.lineage = cpu_to_be64(8);
	pkt.epoch = 2;
	expect(control(pkt, &body, sizeof(body)) == -INC_C_DROP_MALFORMED, "another group");
	/* of other lengths operations that wait would be cut differently, or not fit */
	body = ready_body(0);
	body.block = cpu_to_be16(BLOCK + INC_BLOCK_ALIGN);
	expect(control(pkt, &body, sizeof(body)) == -INC_C_DROP_MALFORMED, "longer blocks");
	env.ep.block = BLOCK + INC_BLOCK_ALIGN;
	body.block = cpu_to_be16(BLOCK);
	expect(control(pkt, &body, sizeof(body)) == -INC_C_DROP_MALFORMED, "shorter blocks");
	env.ep.block = BLOCK;
	expect(!give_ready(2, 0, 0), "the right one");
	netinc_ep_retain_drop(&env.ep);
}

/* Rank 0 looks for the node; when it is there and nothing is under way, it calls all home. */
static void test_home(void)
{
	struct netinc_op a = barrier();
	const struct inc_join *join;
	const struct sent *s;
	u64 start;

	ready_to_move(0, INC_FALLBACK_EDGE, 0);
	env.ep.cfg.rank = 0;
	netinc_ep_lost(&env.ep, INC_ERR_NODE_DEAD, env.now);
	env.ep.challenge = 99;
	env.move = 1;
	expect(challenge(100, 4711) == -INC_C_DROP_STATE, "on the way");
	env.ep.cfg.rank = RANK;
	ready_again(2, 0);
	expect(challenge(100, 4711) == -INC_C_DROP_STATE, "a rank that does not look");
	env.ep.cfg.rank = 0;
	start = env.now;
	while (env.now - start < DEAD * NETINC_MS) {
		status(0, 1);
		run_timer(env.now + 10000);
		env.now += 10000;
		while (env.seen < env.logged && !env.log[env.seen % LOG].to)
			env.seen++;
		if (env.seen < env.logged)
			break;
	}
	s = expect_sent(INC_PKT_JOIN);
	join = (const void *)s->body;
	expect(s->to == 100 && !s->pkt.incarnation && !s->pkt.cookie && !join->challenge &&
	       !join->proof[0],
	       "looks at %u", s->to);
	expect(env.now - start >= DEAD * NETINC_MS / 2, "too early");
	expect(challenge(101, 4711) == -INC_C_DROP_STATE, "somebody else");
	expect(challenge(100, 4712) == -INC_C_DROP_STATE, "another's");
	submit_op(&a);
	expect(challenge(100, 4711) == -INC_C_DROP_STATE, "in the middle of an operation");
	expect(!result(&a, 0), "its result");
	env.seen = env.logged;
	expect(!challenge(100, 4711), "the node is there");
	expect(env.place == 0 && env.ep.move == 2, "move %u", env.ep.move);
	expect(expect_sent(INC_PKT_MOVE)->to == 201, "calls nobody");
	expect(env.ep.home_pause == DEAD, "looks again after %u ms", env.ep.home_pause);
	env.ep.cfg.rank = RANK;
	ready_again(3, 1);
	env.ep.cfg.rank = 0;
	expect(challenge(100, 4711) == -INC_C_DROP_STATE, "is there already");
	netinc_ep_retain_drop(&env.ep);
}

/* Who leaves goes along, too: the others may need what it keeps. */
static void test_leaving(void)
{
	struct netinc_op a = allreduce(8), leave;

	ready_to_move(0, INC_FALLBACK_EDGE, 0);
	submit_op(&a);
	expect(!result(&a, 0), "the result");
	expect(!netinc_ep_leave(&env.ep, &leave, env.now), "leave");
	expect(!refuse(0, INC_REFUSE_UNKNOWN, UP), "the node is gone");
	expect_state(INC_STATE_RESYNC);
	env.move = 1;
	env.seen = env.logged;
	expect(!give_ready(2, 0, 0), "READY");
	expect_state(INC_STATE_LEAVING);
	expect(expect_sent(INC_PKT_CONTRIB)->pkt.flags == (INC_F_PAYLOAD | INC_F_FINAL),
	       "what is kept");
	expect(expect_sent(INC_PKT_CONTRIB)->pkt.flags == (INC_F_LEAVE | INC_F_DESC), "LEAVE");
	wait(4711, 2, DOWN ^ 1, -INC_C_DROP_EPOCH);
	expect(!result(&a, 0), "again");
	expect_state(INC_STATE_LEAVING);
	wait(4711, 2, DOWN, 0);
	expect_state(INC_STATE_CLOSED);
	netinc_ep_retain_drop(&env.ep);
}

static void peers_from(u32 first)
{
	struct netinc_pkt pkt = from_node(INC_PKT_PEERS);
	struct {
		struct inc_peers peers;
		struct inc_peer peer;
	} m = { .peers = { .first = cpu_to_be32(first), .n = cpu_to_be32(1) } };
	struct netinc_peer peer = peer_at(200 + first);

	netinc_addr_build(&m.peer.addr, &peer);
	expect(!control(pkt, &m, sizeof(m)), "PEERS from %u", first);
}

/* How many are known, without a gap: what is asked for next. */
static void test_known_peers(void)
{
	ready(0);
	peers_from(1);
	expect(!env.ep.npeers, "%u without the first", env.ep.npeers);
	peers_from(0);
	expect(env.ep.npeers == 1, "%u with the first", env.ep.npeers);
	peers_from(1);
	peers_from(0);
	expect(env.ep.npeers == 2, "%u with the first again", env.ep.npeers);
}

static void test_bad_peers(void)
{
	struct netinc_pkt pkt = from_node(INC_PKT_PEERS);
	struct {
		struct inc_peers peers;
		struct inc_peer peer[SIZE];
	} m = { .peers = { .first = cpu_to_be32(1), .n = cpu_to_be32(SIZE) } };

	ready_to_move(0, INC_FALLBACK_EDGE, 0);
	expect(control(pkt, &m, sizeof(m)) == -INC_C_DROP_MALFORMED, "one rank too many");
	m.peers.first = cpu_to_be32(SIZE + 1);
	m.peers.n = 0;
	expect(control(pkt, &m, sizeof(m)) == -INC_C_DROP_MALFORMED, "no such rank");
	m.peers.first = 0;
	m.peers.n = cpu_to_be32(SIZE);
	expect(control(pkt, &m, sizeof(m) - 1) == -INC_C_DROP_MALFORMED, "not all there");
	m.peers.n = cpu_to_be32(0x10000000);
	expect(control(pkt, &m, sizeof(m)) == -INC_C_DROP_MALFORMED, "a number that overflows");
	netinc_ep_retain_drop(&env.ep);
}

/*
 * What is no host, or one at another port than the node's: nobody is made to send there. Ports are
 * as one writes them.
 */
static const struct netinc_peer no_ranks[] = {
	{ .addr = { 224, 0, 0, 1 }, .family = NETINC_AF_INET, .udp_port = 9 },
	{ .addr = { 239, 255, 255, 255 }, .family = NETINC_AF_INET, .udp_port = 9 },
	{ .addr = { 255, 255, 255, 255 }, .family = NETINC_AF_INET, .udp_port = 9 },
	{ .addr = { 0, 1, 2, 3 }, .family = NETINC_AF_INET, .udp_port = 9 },
	{ .addr = { 0xff, 2, [15] = 1 }, .family = NETINC_AF_INET6, .udp_port = 9 },
	{ .family = NETINC_AF_INET6, .udp_port = 9 },
	{ .addr = { [10] = 0xff, 0xff, 10, 0, 0, 1 }, .family = NETINC_AF_INET6, .udp_port = 9 },
	{ .addr = { 10, 1 }, .family = 77, .udp_port = 9 },
	{ .addr = { 10, 1 }, .family = NETINC_AF_INET, .udp_port = 0 },
	{ .addr = { 10, 1 }, .family = NETINC_AF_INET, .udp_port = 53 },
	{ .addr = { 0xfd, [15] = 1 }, .family = NETINC_AF_INET6, .udp_port = 53 },
};

/* These of them are no hosts at whatever port. */
#define NO_HOSTS	9u

static void name_bad(struct inc_addr *addr, u32 which)
{
	struct netinc_peer peer = no_ranks[which];

	peer.udp_port = cpu_to_be16(peer.udp_port);
	netinc_addr_build(addr, &peer);
	/* which knows no other families */
	if (peer.family == 77)
		addr->family = 77;
}

/* PEERS with one bad address among good ones, in the middle or at an end. */
static void expect_bad_peer(u32 which)
{
	struct netinc_pkt pkt = from_node(INC_PKT_PEERS);
	struct {
		struct inc_peers peers;
		struct inc_peer peer[SIZE];
	} m = { .peers = { .n = cpu_to_be32(SIZE) } };
	struct netinc_peer peer;
	u32 i, at;

	for (at = 0; at < SIZE; at++) {
		ready(0);
		memset(env.peers, 0, sizeof(env.peers));
		for (i = 0; i < SIZE; i++) {
			peer = peer_at(200 + i);
			netinc_addr_build(&m.peer[i].addr, &peer);
		}
		name_bad(&m.peer[at].addr, which);
		expect(control(pkt, &m, sizeof(m)) == -INC_C_DROP_MALFORMED,
		       "address %u as that of rank %u", which, at);
		expect(!env.ep.npeers, "address %u: %u are known", which, env.ep.npeers);
		for (i = 0; i < SIZE; i++)
			expect(!env.peers[i].family, "address %u: rank %u is known", which, i);
	}
}

/* READY with this address of @place: a standby node's, or SIZE: that of the edge. */
static int ready_with(const struct inc_addr *addr, u32 place)
{
	struct netinc_pkt pkt = from_node(INC_PKT_READY);
	struct inc_ready body;

	begin(0);
	env.fallback = INC_FALLBACK_EDGE;
	env.standbys = 2;
	netinc_ep_connect(&env.ep, env.now);
	body = ready_body(0);
	*(place < SIZE ? &body.standby[place] : &body.edge) = *addr;
	pkt.child = RANK;
	return control(pkt, &body, sizeof(body));
}

static void expect_bad_place(u32 which)
{
	struct inc_addr addr;
	u32 i;

	name_bad(&addr, which);
	for (i = 0; i < 2 && which < NO_HOSTS; i++) {
		expect(ready_with(&addr, i) == -INC_C_DROP_MALFORMED,
		       "address %u as that of standby node %u", which, i);
		expect_state(INC_STATE_JOINING);
	}
	/* one of no known family is none: the edge need not be known */
	if (no_ranks[which].family == 77)
		return;
	expect(ready_with(&addr, SIZE) == -INC_C_DROP_MALFORMED,
	       "address %u as that of the edge", which);
	expect_state(INC_STATE_JOINING);
}

static void test_bad_addresses(void)
{
	struct netinc_peer peer = peer_at(101);
	struct inc_addr addr;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(no_ranks); i++) {
		expect_bad_peer(i);
		expect_bad_place(i);
	}
	/* and what is good is taken there */
	ready(0);
	expect(!give_peers(SIZE) && env.ep.npeers == SIZE, "%u are known", env.ep.npeers);
	peer.udp_port = cpu_to_be16(53);
	netinc_addr_build(&addr, &peer);
	expect(!ready_with(&addr, 1), "a standby node at another port");
	netinc_ep_retain_drop(&env.ep);
	peer = (struct netinc_peer){ .addr = { 0xfd, [15] = 1 }, .family = NETINC_AF_INET6,
				     .udp_port = cpu_to_be16(9) };
	netinc_addr_build(&addr, &peer);
	expect(!ready_with(&addr, SIZE), "the edge, by IPv6");
	expect(!memcmp(&env.ep.plan[3], &peer, sizeof(peer)), "the edge is elsewhere");
	netinc_ep_retain_drop(&env.ep);
}

/* A place that answers is not left before all had time to come, though it says that it is busy. */
static void test_busy_place(void)
{
	u64 end;

	ready_to_move(0, INC_FALLBACK_STANDBY, 2);
	expect(!refuse(0, INC_REFUSE_UNKNOWN, UP) && env.ep.move == 1, "move %u", env.ep.move);
	for (end = env.now + 3 * DEAD / 2 * NETINC_MS; env.now < end; env.now += 50 * NETINC_MS) {
		netinc_ep_timer(&env.ep, env.now);
		expect(!refused(INC_REFUSE_BUSY, 0), "REFUSE");
	}
	expect(env.ep.move == 1, "move %u", env.ep.move);
	netinc_ep_retain_drop(&env.ep);
}

/* What the old node has asked is not answered at the new one. */
static void test_old_challenge(void)
{
	struct netinc_op a = barrier();
	struct inc_challenge body = { .nonce = cpu_to_be32(4711), .challenge = cpu_to_be64(5) };

	ready_to_move(0, INC_FALLBACK_STANDBY, 2);
	submit_op(&a);
	expect(!error(0, 0, 1, INC_ERR_MISMATCH), "ERROR");
	expect_state(INC_STATE_RESYNC);
	env.ep.rebind_asked = true;
	expect(!control(from_node(INC_PKT_CHALLENGE), &body, sizeof(body)), "CHALLENGE");
	env.seen = env.logged;
	expect(!call(1, 7), "MOVE");
	expect(!((const struct inc_join *)expect_sent(INC_PKT_JOIN)->body)->challenge,
	       "JOIN with the challenge of another node");
	netinc_ep_retain_drop(&env.ep);
}

/* Who moves asks often at first, then each time half as long again after it has moved. */
static void test_move_pace(void)
{
	static const u32 at[] = { 5000, 10000, 15000, 22500, 33750, 50625 };
	u64 begin;
	u32 i;

	ready_to_move(0, INC_FALLBACK_STANDBY, 2);
	begin = env.now;
	expect(!call(1, 7), "MOVE");
	for (i = 0; i < ARRAY_SIZE(at); i++) {
		u64 when = netinc_ep_timer(&env.ep, env.now);

		expect(when == begin + at[i], "JOIN %u after %llu us, expected %u", i,
		       (unsigned long long)(when - begin), at[i]);
		env.now = when;
	}
	netinc_ep_retain_drop(&env.ep);
}

/* The node is looked for at the very time that the timer says. */
static void test_home_time(void)
{
	u64 when;

	ready_to_move(0, INC_FALLBACK_EDGE, 0);
	netinc_ep_lost(&env.ep, INC_ERR_NODE_DEAD, env.now);
	ready_again(2, 0);
	env.ep.cfg.rank = 0;
	when = netinc_ep_check_home(&env.ep, env.now);
	expect(when == env.now + DEAD / 2 * NETINC_MS, "after %llu us",
	       (unsigned long long)(when - env.now));
	expect_quiet();
	env.now = when;
	netinc_ep_check_home(&env.ep, env.now);
	expect(expect_sent(INC_PKT_JOIN)->to == 100, "not at the node");
	netinc_ep_retain_drop(&env.ep);
}

static const struct ktap_test tests[] = {
	KTAP(test_silent), KTAP(test_gone), KTAP(test_called), KTAP(test_wait), KTAP(test_nowhere),
	KTAP(test_two_limits), KTAP(test_refused_everywhere),
	KTAP(test_refused_once),
	KTAP(test_refused_between_runs),
	KTAP(test_refused), KTAP(test_bad_plan), KTAP(test_home), KTAP(test_leaving),
	KTAP(test_known_peers), KTAP(test_bad_peers), KTAP(test_bad_addresses),
	KTAP(test_busy_place),
	KTAP(test_old_challenge), KTAP(test_move_pace), KTAP(test_home_time),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
