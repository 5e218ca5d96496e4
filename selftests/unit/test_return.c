// SPDX-License-Identifier: GPL-2.0-only
/* A rank whose group has left a tree of nodes: how it asks for the way back, and goes it. */
#include "ep_env.h"

#define HOME_AT		100u

/* At the edge, with all peers known: move 1 is over. */
static void at_edge(void)
{
	in_tree(INC_FALLBACK_EDGE, 0);
	expect(!call_to(1) && env.place == 1, "place %u", env.place);
	ready_again(2, 0);
	expect(!give_peers(SIZE), "PEERS");
	expect_state(INC_STATE_READY);
	env.seen = env.logged;
}

/* Packets of the node that the group has left. */
static int from_home(u8 type, const void *body, u32 len, u8 at)
{
	struct netinc_pkt pkt = { .type = type, .group = 77, .span = 1, .len = len };
	struct netinc_peer peer = peer_at(at);

	return netinc_ep_non_parent(&env.ep, &pkt, body, &peer, env.now);
}

static int home_challenge(u8 at, u64 challenge)
{
	struct inc_challenge body = { .nonce = cpu_to_be32(4711),
				      .challenge = cpu_to_be64(challenge) };

	return from_home(INC_PKT_CHALLENGE, &body, sizeof(body), at);
}

static int home_wait(u8 at, u32 missing, u32 pause)
{
	struct inc_wait_pkt body = { .nonce = cpu_to_be32(4711), .joined = cpu_to_be32(SIZE),
				     .missing = cpu_to_be32(missing),
				     .pause = cpu_to_be32(pause) };

	return from_home(INC_PKT_WAIT, &body, sizeof(body), at);
}

/* The next JOIN to the node that was, if there is one: its challenge. The edge does not answer. */
static u64 asked(void)
{
	const struct inc_join *join;
	const struct sent *s;

	while ((s = next_sent())->type) {
		if (s->type != INC_PKT_JOIN || s->pkt.incarnation)
			continue;
		join = (const void *)s->body;
		expect(s->to == HOME_AT && !s->pkt.incarnation && !s->pkt.cookie &&
		       join->below == (INC_JOIN_RETURN | INC_JOIN_STALE) &&
		       be32_to_cpu(join->move) == 2 && be64_to_cpu(join->lineage) == 7 &&
		       be16_to_cpu(join->window) == W && join->fallback == INC_FALLBACK_EDGE,
		       "JOIN to %u, move %u, below %#x", s->to, be32_to_cpu(join->move),
		       join->below);
		expect(!join->challenge == !join->proof[0], "proof");
		return be64_to_cpu(join->challenge);
	}
	return ~0ull;
}

/* Every rank asks, now and then; who is challenged proves itself, once for each time. */
static void test_asks(void)
{
	u64 start;

	at_edge();
	start = env.now;
	run_timer(start + DEAD * NETINC_MS / 2 - 1000);
	expect(asked() == ~0ull, "asks at once");
	run_timer(start + DEAD * NETINC_MS / 2);
	expect(!asked(), "does not ask");
	expect(home_challenge(101, 5) == -INC_C_DROP_STATE, "a challenge of somebody else");
	expect(!home_challenge(HOME_AT, 5) && asked() == 5, "does not prove itself");
	expect(home_challenge(HOME_AT, 6) == -INC_C_DROP_DUPLICATE && asked() == ~0ull,
	       "is made to ask and ask");
	expect(!home_wait(HOME_AT, NETINC_NO_RANK, 0), "WAIT");
	env.ep.tree[0].heard = env.now;
	run_timer(start + DEAD * NETINC_MS);
	expect(asked() == 5, "does not ask again");
	expect_state(INC_STATE_READY);
	expect(!netinc_ep_moving(&env.ep), "another than rank 0 has decided");
	netinc_ep_retain_drop(&env.ep);
}

/* It goes when it has what others have, and contributes nothing else before that. */
static void test_recalled(void)
{
	struct netinc_op a = barrier(), b = barrier();

	at_edge();
	submit_op(&a);
	expect(call_from(2, 2) == -INC_C_DROP_MALFORMED, "results of what it has not contributed");
	expect(!call_from(2, 1), "MOVE");
	expect_state(INC_STATE_READY);
	submit_op(&b);
	expect(env.ep.snd == a.first + 1, "contributes on");
	expect(!result(&a, 0) && env.done == 1, "RESULT");
	netinc_ep_packet_end(&env.ep, 0, env.now);
	expect(netinc_ep_returning(&env.ep) && env.place == 0, "place %u", env.place);
	expect_state(INC_STATE_RESYNC);
	env.move = 2;
	expect(tree_ready(3, 0, 1) == -INC_C_DROP_MALFORMED, "a block that it has the result of");
	expect(!tree_ready(3, 1, 1), "READY");
	expect_state(INC_STATE_READY);
	expect(env.ep.deep && !netinc_ep_moving(&env.ep) && env.ep.snd == 2, "does not go on");
	expect(!result(&b, 1) && env.done == 2, "the operation goes on");
	netinc_ep_retain_drop(&env.ep);
}

/* It cannot have more than rank 0 has contributed to. */
static void test_recalled_late(void)
{
	struct netinc_op a = barrier();

	at_edge();
	submit_op(&a);
	expect(!result(&a, 0), "RESULT");
	expect(call_from(2, 0) == -INC_C_DROP_MALFORMED, "it has that result");
	expect(!call_from(2, 1) && env.place == 0, "place %u", env.place);
	netinc_ep_retain_drop(&env.ep);
}

static void expect_calls(u32 next)
{
	const struct sent *s;
	u32 i;

	for (i = 0; i < SIZE; i++) {
		if (i == env.ep.cfg.rank)
			continue;
		while ((s = next_sent())->type && s->type != INC_PKT_MOVE)
			;
		expect(s->type && s->to == 200 + i && s->pkt.psn == next &&
		       be32_to_cpu(((const struct inc_move *)s->body)->move) == 2,
		       "no MOVE to rank %u", i);
	}
}

/* Rank 0 calls the others when all could come, at the end of what has been submitted. */
static void test_decides(void)
{
	struct netinc_op a = barrier(), b = barrier();
	const struct sent *s;

	at_edge();
	env.ep.cfg.rank = 0;
	expect(!home_wait(HOME_AT, 3, 0) && !env.ep.recall.move, "one is missing");
	expect(!home_wait(HOME_AT, NETINC_NO_RANK, 50000) && !env.ep.recall.move, "not called");
	expect(home_wait(101, NETINC_NO_RANK, 0) == -INC_C_DROP_STATE, "somebody else");
	submit_op(&a);
	expect(!home_wait(HOME_AT, NETINC_NO_RANK, 0), "WAIT");
	expect_state(INC_STATE_READY);
	submit_op(&b);
	expect(env.ep.snd == 1, "contributes on");
	env.seen = env.logged;
	expect(!result(&a, 0), "RESULT");
	netinc_ep_packet_end(&env.ep, 0, env.now);
	expect_calls(1);
	s = expect_sent(INC_PKT_JOIN);
	expect(((const struct inc_join *)s->body)->below == INC_JOIN_RETURN && env.place == 0,
	       "JOIN");
	/* once more with the fourth JOIN */
	env.seen = env.logged;
	run_timer(env.now + 100000);
	expect_calls(1);
	netinc_ep_retain_drop(&env.ep);
}

/*
 * Others lack a result that rank 0 has: what it contributes for them must come first, or they wait
 * for it where rank 0 is no more.
 */
static void test_decides_behind_others(void)
{
	struct netinc_op a = barrier();

	in_tree(INC_FALLBACK_EDGE, 0);
	submit_op(&a);
	expect(!result(&a, 0) && env.done == 1, "RESULT");
	expect(!call_to(1) && env.place == 1, "place %u", env.place);
	ready_again(2, 0);
	expect(!give_peers(SIZE), "PEERS");
	env.ep.cfg.rank = 0;
	expect_count(RETAINED_SENT, 1);
	expect(!home_wait(HOME_AT, NETINC_NO_RANK, 0), "WAIT");
	expect_state(INC_STATE_READY);
	expect(env.ep.recall.move == 2 && env.ep.recall.block == 1, "block %u",
	       (u32)env.ep.recall.block);
	env.seen = env.logged;
	expect(!result(&a, 0) && env.done == 1, "RESULT");
	netinc_ep_packet_end(&env.ep, 0, env.now);
	expect_calls(1);
	expect(netinc_ep_returning(&env.ep) && env.place == 0, "place %u", env.place);
	netinc_ep_retain_drop(&env.ep);
}

static int refused_at_home(u16 code)
{
	return refuse(4711, code, 0);
}

/* The tree does not form after all: the group goes on elsewhere, soon. */
/* It answers, and nothing comes of it for so long. */
static void expect_fails(u32 dead_ms, u32 limit_ms)
{
	u64 since;

	at_edge();
	env.ep.settings.dead_ms = dead_ms;
	expect(!call_to(2) && env.place == 0, "place %u", env.place);
	since = env.now;
	while (netinc_ep_returning(&env.ep) && env.now < 10000000) {
		wait(4711, 2, 0, 0);
		env.now += 10000;
		netinc_ep_timer(&env.ep, env.now);
	}
	expect(env.ep.move == 3 && env.place == 1, "place %u", env.place);
	expect(env.now - env.ep.moved < 1000, "it has moved %llu us ago",
	       (unsigned long long)(env.now - env.ep.moved));
	expect(env.now - since <= limit_ms * NETINC_MS + 10000, "after %llu us",
	       (unsigned long long)(env.now - since));
	netinc_ep_retain_drop(&env.ep);
}

static void test_fails(void)
{
	static const u16 codes[] = { INC_REFUSE_RANK_DEAD, INC_REFUSE_NEXT, INC_REFUSE_TREE };
	u32 i;

	expect_fails(DEAD, DEAD * 3 / 4);
	expect_fails(10 * DEAD, 1500);
	for (i = 0; i < ARRAY_SIZE(codes); i++) {
		at_edge();
		expect(!call_to(2), "MOVE");
		refused_at_home(codes[i]);
		expect(env.ep.move == 3 && env.place == 1, "code %u: place %u", codes[i],
		       env.place);
		netinc_ep_retain_drop(&env.ep);
	}
}

/* From a standby node, called back: there is the edge, too. */
static void on_way_back(void)
{
	in_tree(INC_FALLBACK_EDGE, 1);
	expect(!call_to(1) && env.place == 1, "place %u", env.place);
	ready_again(2, 0);
	expect(!call_to(3) && env.place == 0, "place %u", env.place);
}

/* A tree that has not formed is none of the places: all others are tried before it gives up. */
static void test_all_places(void)
{
	on_way_back();
	refused_at_home(INC_REFUSE_TREE);
	expect(env.ep.move == 4 && env.place == 1, "place %u", env.place);
	refused_at_home(INC_REFUSE_NO_NODE);
	expect(env.ep.move == 5 && env.place == 2, "place %u", env.place);
	expect_state(INC_STATE_RESYNC);
	refused_at_home(INC_REFUSE_NO_NODE);
	expect_state(INC_STATE_FAILED);
	netinc_ep_retain_drop(&env.ep);
}

/* But once only: a liar that calls it back again and again does not keep it from giving up. */
static void test_called_again(void)
{
	on_way_back();
	refused_at_home(INC_REFUSE_TREE);
	refused_at_home(INC_REFUSE_NO_NODE);
	expect(!call_to(6) && env.place == 0, "place %u", env.place);
	expect(!call_to(7) && env.place == 1, "place %u", env.place);
	refused_at_home(INC_REFUSE_NO_NODE);
	expect_state(INC_STATE_FAILED);
	netinc_ep_retain_drop(&env.ep);
}

/* What it was silent for while it tried to return does not count where it comes back to. */
static void test_silent_places(void)
{
	on_way_back();
	while (env.ep.state == INC_STATE_RESYNC && env.ep.move < 5 && env.now < 10000000) {
		env.now += 10000;
		netinc_ep_timer(&env.ep, env.now);
	}
	expect(env.ep.move == 5 && env.place == 2, "move %u, place %u", env.ep.move, env.place);
	expect_state(INC_STATE_RESYNC);
	netinc_ep_retain_drop(&env.ep);
}

/* It goes for good: its node of the tree, which counts it as one that could come, hears so. */
static void test_leaves(void)
{
	const struct inc_error_pkt *body;
	struct netinc_op op;
	const struct sent *s;

	at_edge();
	run_timer(env.now + DEAD * NETINC_MS / 2);
	expect(!home_challenge(HOME_AT, 5), "CHALLENGE");
	expect(!netinc_ep_leave(&env.ep, &op, env.now), "LEAVE");
	env.seen = env.logged;
	wait(4711, 2, DOWN, 0);
	expect_state(INC_STATE_CLOSED);
	while ((s = next_sent())->type && s->to != HOME_AT)
		;
	body = (const void *)s->body;
	expect(s->type == INC_PKT_ABORT && !s->pkt.incarnation && !s->pkt.cookie &&
	       s->pkt.epoch == 2 && s->pkt.child == RANK && !s->pkt.flags &&
	       be16_to_cpu(body->code) == INC_ERR_RANK_ABORT && be32_to_cpu(body->resume) == 4711,
	       "type %u", s->type);
	netinc_ep_retain_drop(&env.ep);
}

/* Rank 0 has returned, and the tree is lost again. */
static void return_and_lose(struct netinc_op *op, u32 blocks)
{
	u32 move = env.ep.move, i;
	u64 start;

	expect(!home_wait(HOME_AT, NETINC_NO_RANK, 0), "WAIT");
	expect(env.place == 0, "place %u", env.place);
	/* the test's READY is for another rank */
	env.ep.cfg.rank = RANK;
	env.move = move + 1;
	start = netinc_ep_next(&env.ep);
	expect(!tree_ready(env.ep.epoch + 1, start, 1), "READY");
	for (i = 0; i < blocks; i++) {
		op[i] = barrier();
		submit_op(&op[i]);
		expect(!result(&op[i], start + i), "RESULT");
	}
	expect(!call_to(move + 2) && env.place == 1, "place %u", env.place);
	ready_again(env.ep.epoch + 1, start + blocks);
	env.ep.cfg.rank = 0;
}

/* A tree through which nothing comes is tried ever more seldom, though it says READY each time. */
static void test_pauses(void)
{
	struct netinc_op op[2 * W];

	at_edge();
	env.ep.cfg.rank = 0;
	expect(env.ep.home_pause == DEAD / 2, "%u ms", env.ep.home_pause);
	return_and_lose(op, 0);
	expect(env.ep.home_pause == DEAD, "%u ms", env.ep.home_pause);
	return_and_lose(op, W);
	expect(env.ep.home_pause == 2 * DEAD, "%u ms", env.ep.home_pause);
	return_and_lose(op, W + 1);
	expect(env.ep.home_pause == DEAD / 2, "%u ms", env.ep.home_pause);
	netinc_ep_retain_drop(&env.ep);
}

static const struct ktap_test tests[] = {
	KTAP(test_asks), KTAP(test_recalled), KTAP(test_recalled_late), KTAP(test_decides),
	KTAP(test_decides_behind_others),
	KTAP(test_fails), KTAP(test_all_places), KTAP(test_called_again),
	KTAP(test_silent_places), KTAP(test_leaves), KTAP(test_pauses),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
