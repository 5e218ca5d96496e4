// SPDX-License-Identifier: GPL-2.0-only
/* A group at the edge: what its root tells of the other trees, and a tree that is begun with it. */
#include "group_env.h"

static int come(u32 rank, u32 incarnation, u64 next, u32 epoch, u32 begun, u64 now)
{
	struct netinc_pkt pkt = { .type = INC_PKT_JOIN, .group = 77, .span = 1, .child = rank,
				  .epoch = epoch, .opseq = begun, .incarnation = incarnation,
				  .cookie = incarnation ? env.g.members[rank].cookie : 0 };
	struct netinc_peer peer = peer_of(rank);
	struct inc_join j = join_of(rank, next);

	j.fallback = INC_FALLBACK_EDGE;
	j.move = cpu_to_be32(1);
	j.lineage = cpu_to_be64(LINEAGE);
	return netinc_group_join(&env.g, &pkt, &j, &peer, now, &env.detail);
}

/* READY of rank @rank, and the cookie for tree @tree that PEERS tells it. */
static const struct inc_ready *told(u32 rank, u32 tree, u64 *cookie)
{
	const struct inc_ready *ready =
		(const void *)sent_at(__FILE__, __LINE__, INC_PKT_READY, rank)->body;
	const struct inc_peers *peers =
		(const void *)sent_at(__FILE__, __LINE__, INC_PKT_PEERS, rank)->body;

	*cookie = (u64)be32_to_cpu(peers->peer[tree].cookie[0]) << 32 |
		  be32_to_cpu(peers->peer[tree].cookie[1]);
	return ready;
}

static void begin_spread(u64 start)
{
	u32 i;

	begin();
	env.g.cfg.settings.fallback = INC_FALLBACK_EDGE;
	env.g.cfg.move = 1;
	env.g.cfg.spread = true;
	env.g.move = 1;
	for (i = 0; i < SIZE; i++)
		expect(!come(i, 0, start, 3, 0, 1000), "rank %u", i);
	for (i = 0; i + 1 < SIZE; i++)
		expect_sent(INC_PKT_WAIT, i);
	expect(env.g.agg.spread.trees == SIZE, "%u trees", env.g.agg.spread.trees);
}

/* Every rank has a cookie of its own for each tree, which the tree can make from its key. */
static void test_cookies(void)
{
	u64 cookie[SIZE], key[2], other;
	const struct inc_ready *r;
	u32 i;

	begin_spread(0);
	for (i = 0; i < SIZE; i++) {
		r = told(i, 2, &cookie[i]);
		expect(be16_to_cpu(r->trees) == SIZE, "trees of rank %u", i);
		expect(!!(r->tree_key[0] | r->tree_key[1]) == !!i, "the key of tree %u", i);
		if (i == 2) {
			key[0] = be64_to_cpu(r->tree_key[0]);
			key[1] = be64_to_cpu(r->tree_key[1]);
		}
	}
	for (i = 0; i < SIZE; i++) {
		expect(cookie[i] && cookie[i] == netinc_tree_cookie(key, i), "rank %u", i);
		expect(cookie[i] != cookie[(i + 1) % SIZE], "the same for two ranks");
	}
	expect(key[0] != key[1], "both halves of a key are the same");
	other = key[1];
	netinc_tree_key(&env.g, 1, key);
	expect(key[0] != key[1] && key[1] != other, "half a key is that of another tree");
	other = netinc_tree_cookie(key, 0);
	expect(other != cookie[0], "the same for two trees");
	end();
}

/* Of an error in another tree the root hears by JOINs; the next epoch begins behind all begun. */
static void test_resync(void)
{
	const struct inc_ready *r;
	u64 cookie;
	u32 i;

	begin_spread(50);
	env.seen = env.logged;
	expect(!come(0, 0x1234, 50, 3, 7, 2000), "one that has not had READY");
	expect_sent(INC_PKT_READY, 0);
	expect(env.g.state == INC_GROUP_ACTIVE, "state %u", env.g.state);
	expect(!come(0, 0x1234, 50, 4, 7, 2000) && env.g.state == INC_GROUP_RESYNC,
	       "one that wants the next epoch");
	expect(!come(2, 0x1234, 50, 4, 9, 2000), "another one");
	expect_sent(INC_PKT_WAIT, 0);
	expect_sent(INC_PKT_WAIT, 2);
	expect(!come(1, 0x1234, 50, 4, 8, 2000) && env.g.state == INC_GROUP_ACTIVE, "the last one");
	for (i = 0; i < SIZE; i++) {
		r = told(i, 1, &cookie);
		expect(be32_to_cpu(r->opseq) == 9 && be64_to_cpu(r->start) == 50,
		       "operation %u, block %u", be32_to_cpu(r->opseq), (u32)be64_to_cpu(r->start));
	}
	end();
}

/* Rank @rank says that its LEAVE is at some other tree. */
static int say_leave(u32 rank, u64 now)
{
	struct netinc_pkt pkt = pkt_of(INC_PKT_PROBE, rank);
	struct inc_probe body = { .srtt = 0 };

	pkt.len = sizeof(body);
	pkt.opseq = SIZE;
	pkt.flags = INC_F_LEAVE;
	return rx_control(&pkt, &body, now);
}

/* LEAVE is a contribution to whatever tree, and a PROBE to the root when it is there. */
static void test_leave(void)
{
	u32 i;

	begin_spread(0);
	env.seen = env.logged;
	for (i = 0; i < SIZE; i++) {
		contrib(i, 0, 1, 5, INC_F_LEAVE, 2000);
		expect(!env.g.members[i].left, "rank %u has left", i);
	}
	for (i = 0; i < SIZE; i++) {
		expect(!say_leave(i, 2000) && env.g.members[i].left, "rank %u", i);
		expect_sent(INC_PKT_WAIT, i);
	}
	expect(env.g.state == INC_GROUP_LEFT, "state %u", env.g.state);
	end();
}

/* The result of LEAVE may come to a rank before it has told the root that it is there. */
static void test_leave_result(void)
{
	struct inc_error_pkt body = { .code = cpu_to_be16(INC_ERR_LEFT) };
	struct netinc_pkt pkt;

	begin_spread(0);
	pkt = pkt_of(INC_PKT_ABORT, 2);
	say_leave(0, 2000);
	say_leave(1, 2000);
	pkt.len = sizeof(body);
	pkt.flags = INC_F_LEAVE;
	expect(!rx_control(&pkt, &body, 2000) && env.g.state == INC_GROUP_LEFT, "state %u",
	       env.g.state);
	env.seen = env.logged;
	end();
}

/* Who says LEAVE in mid-operation is not waited for any longer than one that says nothing. */
static void test_left_early(void)
{
	u64 now = 2000 + DEAD * NETINC_MS;
	struct netinc_error e;

	begin_spread(0);
	expect(!check(1, INC_PKT_PROBE, 2000), "a sign of life");
	expect(!say_leave(1, 2000) && env.g.members[1].left, "rank 1");
	env.seen = env.logged;
	expect(!check(0, INC_PKT_PROBE, now) && !check(2, INC_PKT_PROBE, now), "signs of life");
	netinc_group_tick(&env.g, now + 1);
	expect(env.g.state == INC_GROUP_ACTIVE, "nobody waits for it, and it is dead");
	contrib(0, 0, 0, 9, 0, now + 1);
	netinc_group_tick(&env.g, now + 2);
	e = error_of(expect_sent(INC_PKT_ERROR, NETINC_ALL));
	expect(e.code == INC_ERR_RANK_DEAD && e.rank[0] == 1 && !e.resume, "code %u, rank %u",
	       e.code, e.rank[0]);
	end();
}

/* Ranks disagree after some have said LEAVE: these are members of the next epoch like others. */
static void test_left_again(void)
{
	u32 i;

	begin_spread(0);
	for (i = 1; i < SIZE; i++)
		expect(!say_leave(i, 2000), "rank %u", i);
	for (i = 0; i < SIZE; i++)
		contrib(i, 0, 0, i, 0, 2000);
	expect(env.g.state == INC_GROUP_RESYNC && env.g.nleft == SIZE - 1, "state %u, %u have left",
	       env.g.state, env.g.nleft);
	for (i = 0; i < SIZE; i++)
		expect(!come(i, 0x1234, 0, env.g.epoch, 1, 2000), "rank %u again", i);
	expect(env.g.state == INC_GROUP_ACTIVE && !env.g.nleft, "state %u, %u have left",
	       env.g.state, env.g.nleft);
	netinc_group_tick(&env.g, 2001 + DEAD * NETINC_MS);
	expect(env.g.state == INC_GROUP_FAILED && env.g.error.rank[0] == 0, "state %u, rank %u",
	       env.g.state, env.g.error.rank[0]);
	env.seen = env.logged;
	end();
}

/* JOIN of rank @rank, which comes from where rank @from is. */
static void ask_to_shrink(const struct inc_join *join, u32 rank, u32 from)
{
	struct netinc_peer peer = peer_of(from);

	netinc_group_asked_to_shrink(&env.g, join, rank, &peer, 2000);
}

/* Another tree finds that a rank has left before others; the root hears of it by who shrinks. */
static void test_left_elsewhere(void)
{
	struct inc_join j;
	u32 left;

	for (left = 0; left < 2; left++) {
		begin_spread(0);
		env.seen = env.logged;
		env.g.members[2].left = left;
		j = join_of(1, 0);
		ask_to_shrink(&j, SIZE, 1);
		j.size = cpu_to_be32(SIZE + 1);
		ask_to_shrink(&j, 1, 1);
		expect(env.g.state == INC_GROUP_ACTIVE, "state %u after nonsense", env.g.state);
		j.size = cpu_to_be32(SIZE);
		/* who ends the group does not put it on another one */
		ask_to_shrink(&j, 1, 2);
		expect(env.g.state == INC_GROUP_ACTIVE, "state %u: rank 2 says that it is rank 1",
		       env.g.state);
		ask_to_shrink(&j, 1, 1);
		expect(env.g.state == INC_GROUP_FAILED && env.g.error.rank[0] == 1 + left &&
		       !env.g.error.resume &&
		       env.g.error.code == (left ? INC_ERR_LEFT : INC_ERR_RANK_ABORT),
		       "state %u, error %u of rank %u", env.g.state, env.g.error.code,
		       env.g.error.rank[0]);
		expect(netinc_group_gone(&env.g, 2) == left && !netinc_group_gone(&env.g, 1),
		       "who has gone");
		expect_sent(INC_PKT_ERROR, NETINC_ALL);
		ask_to_shrink(&j, 0, 0);
		expect(env.g.error.rank[0] == 1 + left, "rank %u", env.g.error.rank[0]);
		end();
	}
}

static struct netinc_tree_cfg tree_cfg(void)
{
	return (struct netinc_tree_cfg){
		.id = 77, .incarnation = 0x1234, .epoch = 6, .size = SIZE,
		.settings = { .window = W, .dead_ms = DEAD, .fallback = INC_FALLBACK_EDGE },
		.trees = SIZE, .tree = 2, .move = 1, .lineage = LINEAGE,
		.start = 40, .down_cookie = 99, .key = { 3, 4 }, .block = 64,
	};
}

static void begin_branch(void)
{
	struct netinc_tree_cfg tree = tree_cfg();
	struct netinc_peer peers[SIZE];
	struct netinc_group_cfg cfg;
	u32 i;

	memset(&env, 0, sizeof(env));
	for (i = 0; i < SIZE; i++)
		peers[i] = peer_of(i);
	netinc_tree_group_cfg(&tree, &cfg);
	env.mem = calloc(1, netinc_group_bytes(SIZE, W));
	netinc_group_init(&env.g, &cfg, env.mem, &ops, &agg_ops);
	netinc_tree_begin(&env.g, &tree, peers, 1000);
}

static int check_from(u32 rank, u16 tree, u64 cookie, u8 host)
{
	struct netinc_pkt pkt = { .type = INC_PKT_CONTRIB, .group = 77, .incarnation = 0x1234,
				  .epoch = 6, .child = rank, .tree = tree, .cookie = cookie,
				  .span = 1 };
	struct netinc_peer peer = peer_of(host);

	peer.ifindex = 1000;	/* whatever it comes in by */
	return netinc_group_check(&env.g, &pkt, &peer, 2000);
}

static void test_branch_check(void)
{
	const u64 key[2] = { 3, 4 };
	u64 cookie = netinc_tree_cookie(key, 1);

	begin_branch();
	expect(netinc_group_is_branch(&env.g) && env.g.state == INC_GROUP_ACTIVE, "state %u",
	       env.g.state);
	expect(!check_from(1, 2, cookie, 1), "a member");
	expect(env.g.members[1].ranks == 1 && env.g.agg.operand[1].weight == 1,
	       "it stands for %u ranks, its contributions for %u", env.g.members[1].ranks,
	       env.g.agg.operand[1].weight);
	expect(check_from(1, 1, cookie, 1) == -INC_C_DROP_EPOCH, "another tree");
	expect(check_from(1, 0, cookie, 1) == -INC_C_DROP_EPOCH, "the first tree");
	expect(check_from(0, 2, cookie, 0) == -INC_C_DROP_COOKIE, "the cookie of somebody else");
	expect(check_from(1, 2, cookie, 0) == -INC_C_DROP_PORT, "the address of somebody else");
	end();
}

/* Nobody is dead here, however long he is silent; it ends when its environment says so. */
static void test_branch_tick(void)
{
	begin_branch();
	expect(!netinc_group_tick(&env.g, 1000 + 20 * DEAD * NETINC_MS), "it has expired");
	expect(env.g.state == INC_GROUP_ACTIVE, "state %u", env.g.state);
	env.g.ended = 1000 + 20 * DEAD * NETINC_MS;
	expect(!netinc_group_tick(&env.g, env.g.ended + 2 * DEAD * NETINC_MS), "at once");
	expect(netinc_group_tick(&env.g, env.g.ended + 2 * DEAD * NETINC_MS + 1), "it stays");
	end();
}

/* A rank that is late with a block of this tree is reported by it. */
static void test_branch_late(void)
{
	u64 q;

	begin_branch();
	for (q = 40; !netinc_agg_mine(&env.g.agg, q); q++)
		;
	contrib(0, q, 1, 9, 0, 2000);
	contrib(2, q, 1, 9, 0, 2000);
	netinc_group_tick(&env.g, 2000 + 1000 * NETINC_MS);
	expect(env.events[INC_EVENT_RANK_LATE] == 1 && env.event_rank == 1,
	       "%u events, the last of rank %u", env.events[INC_EVENT_RANK_LATE], env.event_rank);
	end();
}

static const struct ktap_test tests[] = {
	KTAP(test_cookies), KTAP(test_resync), KTAP(test_leave), KTAP(test_leave_result),
	KTAP(test_left_early), KTAP(test_left_again), KTAP(test_left_elsewhere),
	KTAP(test_branch_check),
	KTAP(test_branch_tick), KTAP(test_branch_late),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
