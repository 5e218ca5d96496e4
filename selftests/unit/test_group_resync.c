// SPDX-License-Identifier: GPL-2.0-only
/* Ranks disagree, or one says that they do: the members of a group join its next epoch. */
#include "group_env.h"

/* Ranks disagree: all get the error with both sides; when all are back, an epoch begins there. */
static void test_resync(void)
{
	struct netinc_error e;
	u32 i;

	form(1000);
	for (i = 0; i < SIZE; i++)
		expect(!contrib(i, 1000, 0, 5, 0, 2000), "operation 0 of rank %u", i);
	expect(env.results == 1, "%u results", env.results);
	expect(!contrib(0, 1001, 1, 6, 0, 2000) && !contrib(0, 1002, 2, 9, 0, 2000),
	       "rank 0 goes on");
	expect(!contrib(1, 1001, 1, 6, 0, 2000) && !contrib(2, 1001, 1, 7, 0, 2000),
	       "rank 2 differs");
	e = error_of(expect_sent(INC_PKT_ERROR, NETINC_ALL));
	expect(e.code == INC_ERR_MISMATCH && e.block == 1001 && e.opseq == 1 && e.resume == 3 &&
	       e.rank[0] == 0 && e.rank[1] == 2,
	       "code %u, block %llu, operations %u..%u, ranks %u and %u", e.code,
	       (unsigned long long)e.block, e.opseq, e.resume, e.rank[0], e.rank[1]);
	expect(be64_to_cpu(e.desc[0].count) == 6 && be64_to_cpu(e.desc[1].count) == 7,
	       "the descriptors");
	expect(env.g.state == INC_GROUP_RESYNC && env.events[INC_EVENT_GROUP_ERROR] == 1,
	       "state %u", env.g.state);
	expect(contrib(1, 1002, 2, 9, 0, 2000) == -INC_C_DROP_ERROR, "after the error");
	expect_sent(INC_PKT_ERROR, 1);
	send_probe(2, 2001);
	expect_sent(INC_PKT_ERROR, 2);
	expect(env.statuses == 1, "%u STATUS", env.statuses);
	expect(!join(0, 1001, 3000) && !join(0, 1001, 3001) && !join(1, 1001, 3000), "rejoin");
	expect_sent(INC_PKT_WAIT, 0);
	expect_sent(INC_PKT_WAIT, 0);
	expect_sent(INC_PKT_WAIT, 1);
	expect(!join(2, 1001, 3002), "the last one");
	for (i = 0; i < SIZE; i++) {
		const struct sent *s = expect_sent(INC_PKT_READY, i);
		const struct inc_ready *ready = (const void *)s->body;

		expect(s->pkt.epoch == 2 && be64_to_cpu(ready->start) == 1001 &&
		       be32_to_cpu(ready->opseq) == 3,
		       "READY of rank %u: epoch %u, start %llu, operation %u", i, s->pkt.epoch,
		       (unsigned long long)be64_to_cpu(ready->start), be32_to_cpu(ready->opseq));
	}
	expect(env.events[INC_EVENT_GROUP_EPOCH] == 1, "%u events",
	       env.events[INC_EVENT_GROUP_EPOCH]);
	for (i = 0; i < SIZE; i++)
		expect(!contrib(i, 1001, 3, 5, 0, 4000), "operation 3 of rank %u", i);
	expect(env.results == 2, "%u results", env.results);
	end();
}

/* A JOIN of the old epoch does not make a rank a member of the next one. */
static void test_rejoin_checks(void)
{
	struct netinc_pkt pkt;
	struct netinc_peer peer = peer_of(0);
	struct inc_join j = join_of(0, 0);

	form(0);
	contrib(0, 0, 0, 1, 0, 1000);
	contrib(1, 0, 0, 2, 0, 1000);
	contrib(2, 0, 0, 2, 0, 1000);
	expect_sent(INC_PKT_ERROR, NETINC_ALL);
	pkt = pkt_of(INC_PKT_JOIN, 0);
	pkt.cookie ^= 1;
	expect(netinc_group_join(&env.g, &pkt, &j, &peer, 1000, &env.detail) == INC_REFUSE_UNKNOWN,
	       "wrong cookie");
	pkt = pkt_of(INC_PKT_JOIN, 0);
	pkt.epoch = 0;
	expect(netinc_group_join(&env.g, &pkt, &j, &peer, 1000, &env.detail) == INC_REFUSE_UNKNOWN,
	       "old epoch");
	expect(!env.g.rejoined, "%u have rejoined", env.g.rejoined);
	end();
}

/* After an error a rank lacks no block that is further than a window from the oldest one. */
static void test_next(void)
{
	u32 i;

	begin();
	env.g.cfg.settings.fallback = INC_FALLBACK_EDGE;
	for (i = 0; i < SIZE; i++)
		expect(!join(i, 50, 1000), "rank %u", i);
	for (i = 0; i < SIZE; i++)
		contrib(i, 50, 1, i, 0, 2000);
	expect(env.g.state == INC_GROUP_RESYNC, "state %u", env.g.state);
	expect(join(0, 50 + W + 1, 2000) == INC_REFUSE_NEXT && env.detail == 50, "too far ahead");
	expect(join(0, 50 - W - 1, 2000) == INC_REFUSE_NEXT, "too far behind");
	expect(!join(0, 50 + W, 2000) && !join(1, 50 - W, 2000), "a window");
	env.seen = env.logged;
	end();
}

/*
 * A member lies about its blocks when it joins the next epoch: READY with shorter ones is none that
 * the others take, who would be kept from going on.
 */
static void test_other_blocks(void)
{
	static const u16 lies[] = { INC_MIN_BLOCK, 96, 128, INC_MAX_BLOCK };
	struct netinc_peer peer = peer_of(1);
	struct netinc_pkt pkt;
	struct inc_join j;
	u32 i;

	begin();
	env.blocks = 112;
	for (i = 0; i < SIZE; i++)
		expect(!join(i, 50, 1000), "rank %u", i);
	expect(env.g.block == 112, "blocks of %u", env.g.block);
	for (i = 0; i < SIZE; i++)
		contrib(i, 50, 1, i, 0, 2000);
	expect(!join(0, 50, 2000), "rank 0");
	j = join_of(1, 50);
	pkt = pkt_of(INC_PKT_JOIN, 1);
	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		j.block = cpu_to_be16(lies[i]);
		expect(netinc_group_join(&env.g, &pkt, &j, &peer, 2000, &env.detail) ==
		       INC_REFUSE_BLOCK && env.detail == 112, "blocks of %u, detail %llu", lies[i],
		       (unsigned long long)env.detail);
	}
	expect(env.g.rejoined == 1 && env.g.members[1].block == 112, "%u have rejoined",
	       env.g.rejoined);
	expect(!join(1, 50, 2001) && !join(2, 50, 2001), "the others");
	expect(env.g.state == INC_GROUP_ACTIVE && env.g.epoch == 2 && env.g.block == 112,
	       "state %u, blocks of %u", env.g.state, env.g.block);
	env.seen = env.logged;
	end();
}

/*
 * Two ranks lie about their operations so that no number is the latest of all: whatever the node
 * says to go on from, rank 0 has not contributed to it.
 */
static void test_far_operations(void)
{
	struct netinc_peer peer = peer_of(1);
	struct inc_join j = join_of(1, 0);
	struct netinc_pkt pkt;
	u32 resume;

	form(0);
	expect(!contrib(0, 0, 5, 1, 0, 1000), "rank 0");
	expect(contrib(1, 1, 5 + (3u << 29), 1, 0, 1000) == -INC_C_DROP_MALFORMED, "far ahead");
	expect(contrib(2, 2, 5 + (6u << 29), 1, 0, 1000) == -INC_C_DROP_MALFORMED, "far behind");
	expect_count(DROP_MALFORMED, 2u);
	expect(!contrib(1, 0, 5 - (1u << 28), 1, 0, 1000), "behind");
	expect(!contrib(2, 0, (1u << 28) - 1, 1, 0, 1000), "ahead");
	resume = error_of(expect_sent(INC_PKT_ERROR, NETINC_ALL)).resume;
	expect(resume == 1u << 28, "operations go on from %u", resume);
	pkt = pkt_of(INC_PKT_JOIN, 1);
	pkt.opseq = 5 + (3u << 29);
	expect(netinc_group_join(&env.g, &pkt, &j, &peer, 1000, &env.detail) == INC_REFUSE_NEXT,
	       "JOIN of who says that it has contributed to far ones");
	end();
}

/* The same in the JOINs of a group that comes from elsewhere. */
static void test_far_operations_moved(void)
{
	struct netinc_peer peer;
	struct inc_join j;
	struct netinc_pkt pkt;
	u32 i;

	begin();
	for (i = 0; i < 2; i++) {
		peer = peer_of(i);
		j = join_of(i, 0);
		pkt = pkt_of(INC_PKT_JOIN, i);
		pkt.opseq = 5 + i * (3u << 29);
		expect(netinc_group_join(&env.g, &pkt, &j, &peer, 1000, &env.detail) ==
		       (i ? INC_REFUSE_NEXT : 0), "rank %u", i);
	}
	/* as far as it may be: the others go on even so */
	pkt.opseq = 4 + NETINC_OPSEQ_NEAR;
	expect(!netinc_group_join(&env.g, &pkt, &j, &peer, 1000, &env.detail), "a liar");
	peer = peer_of(2);
	j = join_of(2, 0);
	pkt = pkt_of(INC_PKT_JOIN, 2);
	pkt.opseq = 5;
	expect(!netinc_group_join(&env.g, &pkt, &j, &peer, 1000, &env.detail), "rank 2");
	expect(env.g.state == INC_GROUP_ACTIVE, "state %u", env.g.state);
	expect(!contrib(0, 0, 2, 1, 0, 1000) && !contrib(2, 0, 2, 1, 0, 1000), "what is retained");
	env.seen = env.logged;
	end();
}

/* JOIN as one sends it that has not heard of an epoch yet. */
static int join_first(u32 rank, u64 next, u64 now)
{
	struct netinc_peer peer = peer_of(rank);
	struct inc_join j = join_of(rank, next);
	struct netinc_pkt pkt = { .type = INC_PKT_JOIN, .group = 77, .span = 1, .child = rank };

	return netinc_group_join(&env.g, &pkt, &j, &peer, now, &env.detail);
}

/* Two ranks disagree at once, and a third one has lost READY: it gets it, and then the error. */
static void test_lost_ready(void)
{
	u64 now = 2000;

	form(0);
	env.g.members[2].confirmed = false;
	contrib(0, 0, 0, 1, 0, now);
	contrib(1, 0, 0, 2, 0, now);
	contrib(2, 0, 0, 2, 0, now);
	env.g.members[2].confirmed = false;
	expect_sent(INC_PKT_ERROR, NETINC_ALL);
	expect(env.g.state == INC_GROUP_RESYNC, "state %u", env.g.state);
	expect(!join_first(2, 0, now), "JOIN of who has lost READY");
	expect(expect_sent(INC_PKT_READY, 2)->pkt.epoch == 1, "not the epoch that failed");
	expect(!env.g.rejoined, "that JOIN is not for the next epoch");
	now += DEAD * NETINC_MS / 2;
	expect(!netinc_group_tick(&env.g, now), "expired");
	expect_sent(INC_PKT_READY, 2);
	send_probe(2, now);
	expect_sent(INC_PKT_ERROR, 2);
	expect(join_first(2, 0, now) == INC_REFUSE_UNKNOWN, "JOIN of who has it");
	end();
}

/* As form() does; each rank's host is the root of a tree. */
static void form_spread(u64 next)
{
	form(next);
	env.g.agg.spread.trees = SIZE;
}

/*
 * Only one rank says that there is an error in another tree, after it has said that it leaves, and
 * is not heard of any more: the others do not wait for it.
 */
static void test_leaver_rejoins(void)
{
	u64 now = 1000, end_at = now + 2 * DEAD * NETINC_MS;
	struct netinc_pkt pkt;
	struct inc_probe body = { .srtt = 0 };

	form_spread(0);
	pkt = pkt_of(INC_PKT_PROBE, 1);
	pkt.len = sizeof(body);
	pkt.flags = INC_F_LEAVE;
	expect(!check(1, INC_PKT_PROBE, now) && !rx_control(&pkt, &body, now), "LEAVE");
	expect(env.g.members[1].left, "it has not left");
	expect(!join(1, 0, now) && env.g.state == INC_GROUP_RESYNC, "state %u", env.g.state);
	for (; now < end_at && env.g.state == INC_GROUP_RESYNC; now += DEAD * NETINC_MS / 4) {
		expect(!check(0, INC_PKT_PROBE, now) && !check(2, INC_PKT_PROBE, now), "life");
		netinc_group_tick(&env.g, now);
	}
	expect(env.g.state == INC_GROUP_FAILED && env.g.error.code == INC_ERR_RANK_DEAD &&
	       env.g.error.rank[0] == 1, "state %u, code %u, rank %u", env.g.state,
	       env.g.error.code, env.g.error.rank[0]);
	env.seen = env.logged;
	end();
}

/* Who had left before an error that all must join again after does not stay away silently. */
static void test_leaver_stays_away(void)
{
	u64 now = 1000, end_at = now + 2 * DEAD * NETINC_MS;

	form(0);
	contrib(1, 0, 0, 2, 0, now);
	contrib(1, 1, 1, 0, INC_F_LEAVE, now);
	contrib(0, 0, 0, 1, 0, now);
	contrib(2, 0, 0, 1, 0, now);
	expect(env.g.members[1].left && env.g.state == INC_GROUP_RESYNC, "state %u", env.g.state);
	for (; now < end_at && env.g.state == INC_GROUP_RESYNC; now += DEAD * NETINC_MS / 4) {
		expect(!join(0, 0, now) && !join(2, 0, now), "the others join again");
		netinc_group_tick(&env.g, now);
	}
	expect(env.g.state == INC_GROUP_FAILED && env.g.error.rank[0] == 1, "state %u, rank %u",
	       env.g.state, env.g.error.rank[0]);
	env.seen = env.logged;
	end();
}

/* Who says that there is an error in another tree is late all the same. */
static void test_late_rejoins(void)
{
	u64 now = 1000, dead = DEAD * NETINC_MS, end_at = now + 2 * dead;

	form_spread(0);
	env.g.cfg.settings.late_policy = INC_LATE_FAIL;
	env.g.cfg.settings.late_ms = DEAD / 2;
	contrib(0, 0, 0, 1, 0, now);
	contrib(2, 0, 0, 1, 0, now);
	expect(!join(1, 0, now) && env.g.state == INC_GROUP_RESYNC, "state %u", env.g.state);
	for (; now < end_at && env.g.state == INC_GROUP_RESYNC; now += DEAD * NETINC_MS / 8) {
		expect(!check(0, INC_PKT_PROBE, now) && !check(1, INC_PKT_PROBE, now) &&
		       !check(2, INC_PKT_PROBE, now), "life");
		netinc_group_tick(&env.g, now);
		/* it may be true: then others have stopped for the error, and are not late */
		expect(env.g.state == INC_GROUP_RESYNC || now > 1000 + dead, "after %llu us",
		       (unsigned long long)(now - 1000));
	}
	expect(env.g.state == INC_GROUP_FAILED && env.g.error.code == INC_ERR_RANK_LATE &&
	       env.g.error.rank[0] == 1, "state %u, code %u, rank %u", env.g.state,
	       env.g.error.code, env.g.error.rank[0]);
	env.seen = env.logged;
	end();
}

/*
 * A member answers, but does not join the next epoch: it is given up, by its own number, but only
 * when another one has waited for it for so long.
 */
static void test_never_rejoins(void)
{
	u64 limit = 3 * DEAD * NETINC_MS, begin = 2 * limit, now;
	struct netinc_error e;
	u32 i;

	form(0);
	for (i = 0; i < SIZE; i++)
		contrib(i, 0, 0, i, 0, begin);
	expect_sent(INC_PKT_ERROR, NETINC_ALL);
	netinc_group_tick(&env.g, begin);
	expect(env.g.state == INC_GROUP_RESYNC, "given up though nobody has joined again yet");
	expect(!join(0, 0, begin) && !join(2, 0, begin), "the others");
	env.seen = env.logged;
	for (now = begin; now <= begin + limit; now += DEAD * NETINC_MS / 8) {
		for (i = 0; i < SIZE; i++)
			send_probe(i, now);
		netinc_group_tick(&env.g, now);
		expect(env.g.state == INC_GROUP_RESYNC, "given up after %llu us",
		       (unsigned long long)(now - begin));
	}
	env.seen = env.logged;
	netinc_group_tick(&env.g, begin + limit + 1);
	e = error_of(expect_sent(INC_PKT_ERROR, NETINC_ALL));
	expect(e.code == INC_ERR_RANK_DEAD && e.rank[0] == 1 && !e.resume, "code %u, rank %u",
	       e.code, e.rank[0]);
	expect(env.events[INC_EVENT_RANK_DEAD] == 1, "%u events", env.events[INC_EVENT_RANK_DEAD]);
	end();
}

static const struct ktap_test tests[] = {
	KTAP(test_resync), KTAP(test_rejoin_checks), KTAP(test_next), KTAP(test_lost_ready),
	KTAP(test_far_operations), KTAP(test_far_operations_moved), KTAP(test_other_blocks),
	KTAP(test_leaver_rejoins), KTAP(test_leaver_stays_away), KTAP(test_late_rejoins),
	KTAP(test_never_rejoins),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
