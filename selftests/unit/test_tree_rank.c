// SPDX-License-Identifier: GPL-2.0-only
/* A rank whose epoch has several trees: what goes where, errors of each, leaving, a silent root. */
#include "ep_env.h"

#define TREES	SIZE

static void ready_spread(u64 start)
{
	begin(start);
	env.fallback = INC_FALLBACK_EDGE;
	env.trees = TREES;
	netinc_ep_connect(&env.ep, env.now);
	expect(!give_ready(1, start, 0), "READY");
	expect_state(INC_STATE_READY);
	expect(!give_peers(SIZE), "PEERS");
	env.seen = env.logged;
}

static void end(void)
{
	netinc_ep_abort(&env.ep, INC_ERR_RANK_ABORT, true, env.now);
	netinc_ep_retain_drop(&env.ep);
}

static u32 tree_at(u64 b)
{
	return netinc_tree_of(&env.ep.spread, b);
}

static int result_by(const struct netinc_op *op, u64 b, u32 tree)
{
	struct netinc_pkt pkt = result_of(op, b);

	pkt.tree = tree;
	return give(pkt);
}

static int error_by(u32 tree, u64 block, u32 opseq, u32 resume, u16 code)
{
	struct netinc_pkt pkt = from_node(INC_PKT_ERROR);
	struct netinc_error e = {
		.block = block, .opseq = opseq, .resume = resume, .code = code, .rank = { 0, 1 },
	};
	struct inc_error_pkt body;

	pkt.psn = (u32)block;
	pkt.tree = tree;
	netinc_error_build(&body, &e);
	return control(pkt, &body, sizeof(body));
}

/* Nothing is sent before all ways are known; then every block goes to its tree, with its cookie. */
static void test_ways(void)
{
	struct netinc_op op = allreduce(8 + 7 * 16);
	const struct sent *s;
	u32 i;

	begin(0);
	env.fallback = INC_FALLBACK_EDGE;
	env.trees = TREES;
	netinc_ep_connect(&env.ep, env.now);
	expect(!give_ready(1, 0, 0), "READY");
	env.seen = env.logged;
	submit_op(&op);
	netinc_ep_pump(&env.ep, env.now);
	expect_quiet();
	expect(!give_peers(2), "some peers");
	expect(!env.spread, "spread before all are known");
	netinc_ep_pump(&env.ep, env.now);
	expect_quiet();
	env.no_spread = true;
	expect(!give_peers(SIZE) && env.spread == 1, "no memory");
	expect_quiet();
	env.no_spread = false;
	env.now += 100000;
	netinc_ep_timer(&env.ep, env.now);
	expect(env.spread == 2, "asked again");
	expect_sent(INC_PKT_PROBE);
	netinc_ep_pump(&env.ep, env.now);
	for (i = 0; i < env.ep.snd; i++) {
		s = expect_sent(INC_PKT_CONTRIB);
		expect(s->block == i && s->n == 1 && s->pkt.tree == tree_at(i) &&
		       s->pkt.cookie == (tree_at(i) ? COOKIE(tree_at(i)) : UP), "block %u", i);
	}
	expect(i >= 2, "%u blocks", i);
	end();
}

/* READYs that make no sense. */
static void test_bad_ready(void)
{
	begin(0);
	netinc_ep_connect(&env.ep, env.now);
	env.trees = 2;
	expect(give_ready(1, 0, 0) == -INC_C_DROP_MALFORMED, "without the edge");
	env.fallback = INC_FALLBACK_EDGE;
	env.trees = SIZE + 1;
	expect(give_ready(1, 0, 0) == -INC_C_DROP_MALFORMED, "more trees than ranks");
	env.ep.peers = NULL;
	env.trees = 2;
	expect(give_ready(1, 0, 0) == -INC_C_DROP_MALFORMED, "without room for peers");
	end();
}

static void test_results(void)
{
	struct netinc_op op = allreduce(8 + 7 * 16);
	struct netinc_pkt pkt;

	ready_spread(0);
	submit_op(&op);
	expect(result_by(&op, 1, 2) == -INC_C_DROP_MALFORMED, "block 1 by tree 2");
	pkt = result_of(&op, 1);
	pkt.tree = TREES;
	expect(give(pkt) == -INC_C_DROP_EPOCH, "by a tree that there is not");
	expect(!result_by(&op, 1, 1) && env.ep.una == 0, "block 1");
	expect(netinc_ep_tree_una(&env.ep, 1) > 1 && !netinc_ep_tree_una(&env.ep, 0),
	       "what the trees owe");
	expect(!result_by(&op, 0, 0) && env.ep.una == 2, "block 0: una %u", (u32)env.ep.una);
	end();
}

/* Of two trees' errors that of the lower block counts; operations begun by others fail, too. */
static void test_errors(void)
{
	struct netinc_op a = barrier(), b = barrier(), c = barrier(), d = barrier(), e = barrier();

	ready_spread(0);
	submit_op(&a);
	submit_op(&b);
	submit_op(&c);
	expect(!error_by(2, 2, 2, 3, INC_ERR_MISMATCH), "tree 2");
	expect_state(INC_STATE_READY);
	expect(!result_by(&a, 0, 0) && env.done == 1, "the block before");
	expect(!error_by(1, 1, 1, 2, INC_ERR_MISMATCH), "tree 1");
	expect_state(INC_STATE_RESYNC);
	expect(env.ep.error.block == 1 && env.failed == 2 && env.last_done == 2,
	       "%u failed, the last %u", env.failed, env.last_done);
	submit_op(&d);
	submit_op(&e);
	expect(!give_ready(2, 1, 4), "READY");
	expect_state(INC_STATE_READY);
	expect(env.failed == 3 && env.last_done == 3 && env.ep.head == &e, "%u failed, the last %u",
	       env.failed, env.last_done);
	end();
}

/* Who is dead the root knows alone, and not how far the trees are: all ends at once. */
static void test_fatal(void)
{
	struct netinc_op op = allreduce(8 + 7 * 16);

	ready_spread(0);
	submit_op(&op);
	expect(!error_by(0, 77, 0, 0, INC_ERR_RANK_ABORT), "ERROR");
	expect_state(INC_STATE_FAILED);
	expect(env.failed == 1, "%u failed", env.failed);
	netinc_ep_retain_drop(&env.ep);
}

static void status_of(u32 tree, u64 psn, u32 here)
{
	struct netinc_pkt pkt = from_node(INC_PKT_STATUS);
	struct {
		struct inc_status status;
		__be32 map[1];
	} m = { .status = { .bits = cpu_to_be16(32) }, .map = { cpu_to_be32(here) } };

	pkt.tree = tree;
	pkt.psn = (u32)psn;
	pkt.tstamp = (u32)env.now;
	expect(!control(pkt, &m, sizeof(m)), "STATUS");
}

/* LEAVE goes to the tree of its block; when that has it the root is told, and answers. */
static void test_leave(void)
{
	struct netinc_op leave;
	const struct sent *s;

	ready_spread(1);
	expect(!netinc_ep_leave(&env.ep, &leave, env.now), "leave");
	s = expect_sent(INC_PKT_CONTRIB);
	expect(s->pkt.tree == 1 && (s->pkt.flags & INC_F_LEAVE), "LEAVE");
	s = expect_sent(INC_PKT_PROBE);
	expect(s->pkt.tree == 1 && !(s->pkt.flags & INC_F_LEAVE), "PROBE of its tree");
	status_of(1, 1, ~1u);
	expect(!env.ep.leave_there, "it has not come");
	env.seen = env.logged;
	netinc_ep_probe(&env.ep, 0, env.now);
	expect(!(expect_sent(INC_PKT_PROBE)->pkt.flags & INC_F_LEAVE),
	       "the root is told too early");
	status_of(1, 1, ~0u);
	s = expect_sent(INC_PKT_PROBE);
	expect(!s->pkt.tree && (s->pkt.flags & INC_F_LEAVE) && s->pkt.psn == 1 && s->pkt.span == 1,
	       "to the root");
	wait(4711, 1, DOWN, 0);
	expect_state(INC_STATE_CLOSED);
	netinc_ep_retain_drop(&env.ep);
}

/* All roots answer but that of tree 1: until the rank has had enough of it. */
static void silence(void)
{
	u64 begin = env.now, at;

	while (env.ep.state == INC_STATE_READY && env.now < begin + 2 * DEAD * NETINC_MS) {
		at = netinc_ep_timer(&env.ep, env.now);
		env.ep.tree[0].heard = env.now;
		env.ep.tree[2].heard = env.now;
		env.ep.tree[3].heard = env.now;
		env.now = max(at, env.now + 1);
	}
}

/* The root answers, tree 1 does not. */
static void test_silent(void)
{
	struct netinc_op op = allreduce(8 + 7 * 16);
	u64 heard;

	ready_spread(0);
	submit_op(&op);
	expect(!result_by(&op, 0, 0), "block 0");
	heard = env.now;
	silence();
	expect(env.ep.state != INC_STATE_READY && env.now >= heard + DEAD * NETINC_MS * 3 / 4,
	       "state %u after %u ms", env.ep.state, (u32)((env.now - heard) / NETINC_MS));
	end();
}

/* The group is where it was, in another epoch. */
static void come_back(void)
{
	expect_state(INC_STATE_RESYNC);
	env.move = env.ep.move;
	expect(!give_ready(env.ep.epoch + 1, 0, 0) && !give_peers(SIZE), "READY after move %u",
	       env.move);
}

/* The root of tree 1 shows that it is there, and no more. */
static void speak(void)
{
	struct netinc_pkt pkt = from_node(INC_PKT_NACK);

	pkt.epoch = env.ep.epoch;
	pkt.tree = 1;
	env.now += 1000;
	expect(!control(pkt, NULL, 0), "a word of tree 1");
}

/* Silent wherever the group comes from: it does not move for ever, but for the dead limit. */
static void test_silent_again(void)
{
	struct netinc_op op = allreduce(8 + 7 * 16);
	u64 since;
	u32 moves;

	ready_spread(0);
	submit_op(&op);
	since = env.now;
	for (moves = 0; moves < 10; moves++) {
		silence();
		if (env.ep.state == INC_STATE_FAILED)
			break;
		come_back();
	}
	expect(moves == 2 && env.ep.error.code == INC_ERR_NODE_DEAD &&
	       env.now - since >= DEAD * NETINC_MS, "%u moves, code %u after %u ms", moves,
	       env.ep.error.code, (u32)((env.now - since) / NETINC_MS));
	end();
}

/* A root that is silent for less than the dead limit each time ends nothing, however often. */
static void test_silent_now_and_then(void)
{
	struct netinc_op op = allreduce(8 + 7 * 16);
	u32 moves;

	ready_spread(0);
	submit_op(&op);
	for (moves = 0; moves < 20; moves++) {
		silence();
		come_back();
		speak();
	}
	expect(!result_by(&op, 0, 0), "block 0");
	/* ... but for one of which nothing comes */
	for (moves = 0; moves < 100; moves++) {
		silence();
		if (env.ep.state == INC_STATE_FAILED)
			break;
		come_back();
		speak();
	}
	expect(moves == 32 && env.ep.error.code == INC_ERR_NODE_DEAD, "%u moves, code %u", moves,
	       env.ep.error.code);
	end();
}

/* At a node there are no other trees: what has been at the edge before does not count. */
static void test_silent_elsewhere(void)
{
	struct netinc_op op = allreduce(8 + 7 * 16);
	u32 round;

	ready_spread(0);
	submit_op(&op);
	for (round = 0; round < 3; round++) {
		silence();
		env.trees = 1;
		come_back();
		env.now += 3 * DEAD * NETINC_MS;
		netinc_ep_lost(&env.ep, INC_ERR_NODE_GONE, env.now);
		env.trees = TREES;
		come_back();
	}
	expect_state(INC_STATE_READY);
	end();
}

/* The roots of other trees have no say in who is a member and where. */
static void test_not_root(void)
{
	struct inc_wait_pkt wait_body = { .nonce = cpu_to_be32(4711) };
	struct inc_peers peers_body = { .n = 0 };
	struct inc_refuse refuse_body = { .code = cpu_to_be16(INC_REFUSE_UNKNOWN) };
	struct inc_challenge challenge_body = { .nonce = cpu_to_be32(4711) };
	struct inc_ready again = ready_body(0);
	const struct {
		u8 type;
		const void *body;
		u32 len;
	} packets[] = {
		{ INC_PKT_WAIT, &wait_body, sizeof(wait_body) },
		{ INC_PKT_PEERS, &peers_body, sizeof(peers_body) },
		{ INC_PKT_REFUSE, &refuse_body, sizeof(refuse_body) },
		{ INC_PKT_CHALLENGE, &challenge_body, sizeof(challenge_body) },
		{ INC_PKT_READY, &again, sizeof(again) },
	};
	struct netinc_op leave;
	u32 i;

	ready_spread(0);
	expect(!netinc_ep_leave(&env.ep, &leave, env.now), "leave");
	for (i = 0; i < ARRAY_SIZE(packets); i++) {
		struct netinc_pkt pkt = from_node(packets[i].type);

		pkt.tree = 1;
		pkt.cookie = packets[i].type == INC_PKT_REFUSE ? UP : DOWN;
		expect(control(pkt, packets[i].body, packets[i].len) == -INC_C_DROP_EPOCH,
		       "type %u", packets[i].type);
		expect_state(INC_STATE_LEAVING);
	}
	expect_count(DROP_EPOCH, i);
	end();
}

/* As many trees as there can be, and one more. */
static void test_most_trees(void)
{
	struct netinc_pkt pkt = from_node(INC_PKT_READY);
	struct inc_ready body;
	u32 more;

	for (more = 2; more--;) {
		begin(0);
		env.ep.cfg.size = 2 * INC_MAX_TREES;
		env.fallback = INC_FALLBACK_EDGE;
		netinc_ep_connect(&env.ep, env.now);
		body = ready_body(0);
		body.size = cpu_to_be32(2 * INC_MAX_TREES);
		body.window = cpu_to_be32(2 * INC_MAX_TREES);
		body.trees = cpu_to_be16(INC_MAX_TREES + more);
		pkt.child = RANK;
		expect(control(pkt, &body, sizeof(body)) == (more ? -INC_C_DROP_MALFORMED : 0),
		       "%u trees", INC_MAX_TREES + more);
	}
}

static const struct ktap_test tests[] = {
	KTAP(test_ways), KTAP(test_bad_ready), KTAP(test_results), KTAP(test_errors),
	KTAP(test_fatal), KTAP(test_leave), KTAP(test_silent), KTAP(test_silent_again),
	KTAP(test_silent_now_and_then), KTAP(test_silent_elsewhere), KTAP(test_not_root),
	KTAP(test_most_trees),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
