// SPDX-License-Identifier: GPL-2.0-only
/* A group that goes on with the ranks that are left: whom it waits for, what numbers they get. */
#define SIZE	4u
#include "group_env.h"

#define PAST	0x77ull		/* lineage of the group that failed */
#define LIMIT	(DEAD * NETINC_MS)

/* @ngone ranks are known to be gone: those of @gone. */
static void begin_shrink(bool known, u32 ngone, const u16 *gone)
{
	struct netinc_group_cfg cfg = { .id = 77, .incarnation = 0x1234, .size = SIZE,
					.block = INC_MAX_BLOCK,
					.settings = { .window = W, .dead_ms = DEAD },
					.secret = { 1, 2 }, .lineage = 5,
					.ancestor = PAST, .known = known, .ngone = ngone };

	for (u32 i = 0; i < ngone; i++)
		cfg.gone[i] = gone[i];
	memset(&env, 0, sizeof(env));
	env.mem = calloc(1, netinc_group_bytes(SIZE, W));
	netinc_group_init(&env.g, &cfg, env.mem, &ops, &agg_ops);
}

static struct inc_join shrink_of(u32 rank)
{
	struct inc_join j = join_of(rank, 0);

	j.flags |= INC_JOIN_SHRINK;
	j.lineage = cpu_to_be64(PAST);
	j.srtt = cpu_to_be32(1000 + rank);
	return j;
}

static int give(struct inc_join j, u32 rank, u64 now)
{
	struct netinc_pkt pkt = { .type = INC_PKT_JOIN, .group = 77, .span = 1, .child = rank };
	struct netinc_peer peer = peer_of(rank);

	return netinc_group_join(&env.g, &pkt, &j, &peer, now, &env.detail);
}

static int come(u32 rank, u64 now)
{
	return give(shrink_of(rank), rank, now);
}

/* READY for the member that was @old and is now @rank of @size. */
static void expect_ready(u32 old, u32 rank, u32 size)
{
	const struct sent *s = expect_sent(INC_PKT_READY, rank);
	const struct inc_ready *r = (const void *)s->body;

	expect(s->pkt.child == old && be16_to_cpu(r->rank) == rank &&
	       be32_to_cpu(r->size) == size && be16_to_cpu(r->children) == 1 &&
	       be32_to_cpu(r->nonce) == 100 + old &&
	       be64_to_cpu(r->up_cookie) == env.g.members[rank].cookie,
	       "READY for child %u says rank %u of %u, nonce %u", s->pkt.child,
	       be16_to_cpu(r->rank), be32_to_cpu(r->size), be32_to_cpu(r->nonce));
	expect(env.g.agg.child[rank].srtt == 1000 + old, "srtt of rank %u is %u", rank,
	       env.g.agg.child[rank].srtt);
}

/* Nobody is missing but who is known to be gone: no waiting. */
static void test_at_once(void)
{
	const struct inc_wait_pkt *wait;
	const u16 gone[] = { 1 };

	begin_shrink(true, 1, gone);
	expect(!come(3, 1000) && !come(0, 1001), "ranks 3 and 0");
	expect_sent(INC_PKT_WAIT, 3);
	wait = (const void *)expect_sent(INC_PKT_WAIT, 0)->body;
	expect(be32_to_cpu(wait->missing) == 2, "rank 2 is missing");
	expect(!come(2, 1002), "rank 2");
	expect_ready(0, 0, 3);
	expect_ready(2, 1, 3);
	expect_ready(3, 2, 3);
	expect(env.renumbered == 2 && env.from[0] == 2 && env.to[0] == 1 && env.from[1] == 3 &&
	       env.to[1] == 2,
	       "%u were renumbered", env.renumbered);
	expect(env.g.cfg.size == 3 && env.g.agg.children == 3 && env.g.state == INC_GROUP_ACTIVE,
	       "size %u", env.g.cfg.size);
	/* it works under the new numbers, and the old ones are good for lost READYs only */
	expect(!contrib(0, 0, 0, 9, 0, 2000) && !contrib(1, 0, 0, 9, 0, 2000) &&
	       !contrib(2, 0, 0, 9, 0, 2000),
	       "contributions");
	expect(env.results == 1, "%u results", env.results);
	expect(check(3, INC_PKT_CONTRIB, 2000) == -INC_C_DROP_CHILD, "an old number");
	expect(!come(3, 2000), "READY was lost");
	expect_ready(3, 2, 3);
	expect(come(1, 2000) == INC_REFUSE_OUT && env.detail == 1, "rank 1 is out");
	end();
}

/* One that is not known to be gone does not come: the others wait, but not for ever. */
static void test_in_time(void)
{
	u64 now = 1000;
	u32 i, old;

	begin_shrink(true, 0, NULL);
	for (i = 0; i < 3; i++, now += LIMIT / 2)
		expect(!come(i ? i + 1 : 0, now), "rank %u", i);
	now -= LIMIT / 2;
	/* the last one has come just now: all repeat their JOINs */
	expect(!come(0, now + LIMIT) && !come(2, now + LIMIT),
	       "not yet: who has come is to say so again");
	expect(env.g.state == INC_GROUP_JOINING, "state %u", env.g.state);
	expect(!come(0, now + LIMIT + 1) && !come(2, now + LIMIT + 1) && !come(3, now + LIMIT + 1),
	       "again");
	expect(env.g.state == INC_GROUP_ACTIVE && env.g.cfg.size == 3, "state %u", env.g.state);
	while (env.log[env.seen].type == INC_PKT_WAIT)
		env.seen++;
	for (i = 0; i < 3; i++) {
		old = i ? i + 1 : 0;
		expect_ready(old, i, 3);
	}
	expect(come(1, now + LIMIT + 2) == INC_REFUSE_OUT, "rank 1 is out");
	end();
}

/* However they dribble in: it ends. */
static void test_longest(void)
{
	u64 now = 1000;

	begin_shrink(true, 0, NULL);
	come(0, now);
	come(1, now + LIMIT - 1);
	come(2, now + 2 * LIMIT - 2);
	while (env.g.state == INC_GROUP_JOINING && now < 10 * LIMIT) {
		now += 50 * NETINC_MS;
		come(0, now);
		come(1, now);
		come(2, now);
	}
	expect(env.g.cfg.size == 3 && now < 4 * LIMIT, "size %u after %llu us", env.g.cfg.size,
	       (unsigned long long)now);
	env.seen = env.logged;
	end();
}

/* Another rank goes while they gather: with ABORT, or in silence. */
static void test_one_more(void)
{
	const u16 gone[] = { 1 };
	u64 now = 1000;

	begin_shrink(true, 1, gone);
	come(0, now);
	come(2, now);
	expect(!abort_rank(2, INC_ERR_RANK_ABORT, 102, now), "ABORT of rank 2");
	expect(!come(3, now + 1), "rank 3");
	expect(env.g.state == INC_GROUP_ACTIVE && env.g.cfg.size == 2, "size %u", env.g.cfg.size);
	env.seen = env.logged - 2;
	expect_ready(0, 0, 2);
	expect_ready(3, 1, 2);
	end();
	begin_shrink(true, 1, gone);
	come(0, now);
	come(2, now);
	for (; now < 2 * LIMIT && env.g.state == INC_GROUP_JOINING; now += 50 * NETINC_MS) {
		netinc_group_tick(&env.g, now);
		come(2, now);
		if (now > LIMIT / 2)
			come(3, now);
	}
	expect(now > LIMIT && env.g.cfg.size == 2 && env.g.members[0].old == 2 &&
	       env.g.members[1].old == 3,
	       "size %u, ranks %u and %u", env.g.cfg.size, env.g.members[0].old,
	       env.g.members[1].old);
	env.seen = env.logged;
	end();
}

static void test_alone(void)
{
	const u16 gone[] = { 0, 1, 3 };

	begin_shrink(true, 3, gone);
	expect(!come(2, 1000), "rank 2");
	expect_ready(2, 0, 1);
	expect(!contrib(0, 0, 0, 9, 0, 2000) && env.results == 1, "%u results", env.results);
	expect(come(0, 2000) == INC_REFUSE_OUT, "rank 0 is out");
	end();
}

/* Who is taken for dead and comes in time is welcome. */
static void test_back_in_time(void)
{
	const u16 gone[] = { 1 };
	u32 i;

	begin_shrink(true, 1, gone);
	for (i = 0; i < SIZE; i++)
		expect(!come((i + 1) % SIZE, 1000), "rank %u", (i + 1) % SIZE);
	expect(env.g.state == INC_GROUP_ACTIVE && env.g.cfg.size == SIZE && !env.renumbered,
	       "size %u", env.g.cfg.size);
	env.seen = env.logged;
	end();
}

/* Where it is not known how it failed, a half may not go on: the other one may do so elsewhere. */
static void test_majority(void)
{
	u64 now;

	begin_shrink(false, 0, NULL);
	for (now = 1000; now < 10 * LIMIT; now += 50 * NETINC_MS) {
		come(0, now);
		come(1, now);
	}
	expect(env.g.state == INC_GROUP_JOINING, "a half is enough");
	for (; now < 12 * LIMIT; now += 50 * NETINC_MS) {
		come(0, now);
		come(1, now);
		come(3, now);
	}
	expect(env.g.state == INC_GROUP_ACTIVE && env.g.cfg.size == 3, "state %u, size %u",
	       env.g.state, env.g.cfg.size);
	env.seen = env.logged;
	end();
}

/* What is not of this group, or not of this kind. */
static void test_strangers(void)
{
	struct inc_join j = shrink_of(1);
	const u16 gone[] = { 1 };

	begin_shrink(true, 1, gone);
	expect(give(join_of(1, 0), 1, 1000) == INC_REFUSE_BUSY, "who never was a member");
	j.lineage = cpu_to_be64(PAST + 1);
	expect(give(j, 1, 1000) == INC_REFUSE_BUSY, "another lineage");
	j = shrink_of(1);
	j.size = cpu_to_be32(SIZE + 1);
	expect(give(j, 1, 1000) == INC_REFUSE_SIZE && env.detail == SIZE, "another size");
	expect(give(shrink_of(1), SIZE, 1000) == INC_REFUSE_SIZE, "no such rank");
	expect(!env.g.joined, "%u have joined", env.g.joined);
	end();
	/* an ordinary group knows nothing of this */
	begin();
	expect(give(shrink_of(1), 1, 1000) == INC_REFUSE_BUSY, "an ordinary group");
	end();
	/* the group has failed again: its member hears that, whoever is out hears this */
	begin_shrink(true, 1, gone);
	come(0, 1000);
	come(2, 1000);
	come(3, 1000);
	netinc_group_fail(&env.g, INC_ERR_NODE_GONE, NETINC_NO_RANK, 2000);
	env.seen = env.logged;
	expect(!come(3, 3000), "READY was lost");
	expect_ready(3, 2, 3);
	expect(come(1, 3000) == INC_REFUSE_OUT, "rank 1 is out");
	j = shrink_of(3);
	j.nonce++;
	expect(give(j, 3, 3000) == INC_REFUSE_OUT,
	       "rank 3 has come again, to a run that it has left");
	end();
}

/* After an error of the new run all rejoin it by their new numbers. */
static void test_resync(void)
{
	const u16 gone[] = { 0 };
	const struct sent *s;
	u32 i;

	begin_shrink(true, 1, gone);
	for (i = 1; i < SIZE; i++)
		come(i, 1000);
	contrib(0, 0, 0, 1, 0, 2000);
	contrib(1, 0, 0, 2, 0, 2000);
	contrib(2, 0, 0, 1, 0, 2000);
	expect(env.g.state == INC_GROUP_RESYNC, "state %u", env.g.state);
	env.seen = env.logged;
	for (i = 0; i < 3; i++) {
		struct netinc_pkt pkt = pkt_of(INC_PKT_JOIN, i);
		struct inc_join j = join_of(i + 1, 0);
		struct netinc_peer peer = peer_of(i + 1);

		j.size = cpu_to_be32(3);
		expect(!netinc_group_join(&env.g, &pkt, &j, &peer, 3000, &env.detail), "rank %u",
		       i);
	}
	expect_sent(INC_PKT_WAIT, 0);
	expect_sent(INC_PKT_WAIT, 1);
	for (i = 0; i < 3; i++) {
		s = expect_sent(INC_PKT_READY, i);
		expect(s->pkt.child == i && s->pkt.epoch == 2, "child %u, epoch %u", s->pkt.child,
		       s->pkt.epoch);
	}
	end();
}

/* Who is gone, for the run to come: the dead, the closed, also after the end; not who is late. */
static void test_gone(void)
{
	u32 i;

	begin();
	for (i = 0; i < SIZE; i++)
		join(i, 0, 1000);
	env.seen = env.logged;
	contrib(0, 0, 0, 9, INC_F_LEAVE, 2000);
	abort_rank(1, INC_ERR_RANK_ABORT, 0, 2000);
	expect(env.g.state == INC_GROUP_FAILED && env.events[INC_EVENT_RANK_DEAD] == 1, "state %u",
	       env.g.state);
	abort_rank(2, INC_ERR_RANK_ABORT, 0, 2001);
	abort_rank(2, INC_ERR_RANK_ABORT, 0, 2002);
	abort_rank(3, INC_ERR_RANK_FAULT, 0, 2003);
	expect(env.events[INC_EVENT_RANK_DEAD] == 2 && env.event_rank == 2, "%u events",
	       env.events[INC_EVENT_RANK_DEAD]);
	expect(netinc_group_gone(&env.g, 0) && netinc_group_gone(&env.g, 1) &&
	       netinc_group_gone(&env.g, 2) && !netinc_group_gone(&env.g, 3),
	       "who is gone");
	env.seen = env.logged;
	end();
}

/* Policy `partial` goes by the new numbers. */
static void test_late(void)
{
	struct netinc_pay pay = { .flags = INC_F_PAYLOAD | INC_F_WANT, .len = 64 };
	const u16 gone[] = { 1 };
	struct netinc_pkt pkt;
	u32 i;

	begin_shrink(true, 1, gone);
	env.g.cfg.settings.late_ms = 200;
	env.g.cfg.settings.late_policy = INC_LATE_PARTIAL;
	expect(!come(3, 1000) && !come(2, 1001) && !come(0, 1002) && env.g.cfg.size == 3, "size %u",
	       env.g.cfg.size);
	for (i = 0; i < 2; i++) {
		pkt = pkt_of(INC_PKT_CONTRIB, i);
		pay.obj = &env.desc[i][0];
		pkt.flags = pay.flags;
		pkt.len = pay.len;
		pkt.dtype = INC_TYPE_I32;
		pkt.dop = INC_OP_SUM;
		expect(!rx_contrib(&pkt, &pay, 2000), "contribution of rank %u", i);
	}
	netinc_group_tick(&env.g, 2000 + 199 * NETINC_MS);
	expect(!env.results, "too early");
	netinc_group_tick(&env.g, 2000 + 200 * NETINC_MS);
	expect(env.results == 1 && env.set == 1 && env.g.agg.child[2].missed == 1,
	       "%u results, set %u", env.results, env.set);
	expect(env.g.agg.contributors[0] == 3, "of ranks %#lx", env.g.agg.contributors[0]);
	env.seen = env.logged;
	end();
}

/* What becomes of a rank of a group whose node is lost to some of them. */
enum fate {
	STAYS,		/* it hears of the end, and goes on at the node */
	STOPS,		/* it hears of the end, and that was its last word */
	CLOSED,
	LOST,		/* it loses the node, and wants to go on at the edge */
	DEAD_RANK,
	FATES
};

static enum fate fate_of(u32 fates, u32 rank)
{
	while (rank--)
		fates /= FATES;
	return fates % FATES;
}

static u32 count_fates(u32 fates, enum fate lo, enum fate hi)
{
	u32 i, n = 0;

	for (i = 0; i < SIZE; i++)
		n += fate_of(fates, i) >= lo && fate_of(fates, i) <= hi;
	return n;
}

/* It wants nothing more of the group: it is closed, or has heard of the end. */
static void say_done(u32 rank, u16 code, u64 now)
{
	struct netinc_pkt pkt = pkt_of(INC_PKT_ABORT, rank);
	struct inc_error_pkt body = { .code = cpu_to_be16(code) };

	pkt.flags = INC_F_LEAVE;
	pkt.len = sizeof(body);
	expect(!rx_control(&pkt, &body, now), "ABORT of rank %u", rank);
}

/* The group fails at its node. Returns which ranks go on nowhere else, as far as the node knows. */
static u32 fail_at_node(u32 fates)
{
	u64 now = 2000;
	u32 i, ended = 0;

	form(0);
	env.g.cfg.settings.fallback = INC_FALLBACK_EDGE;
	for (i = 0; i < SIZE; i++)
		if (fate_of(fates, i) == CLOSED)
			say_done(i, INC_ERR_RANK_ABORT, now);
	for (; env.g.state == INC_GROUP_ACTIVE && now < 3 * LIMIT; now += 50 * NETINC_MS) {
		for (i = 0; i < SIZE; i++)
			if (fate_of(fates, i) <= STOPS)
				env.g.members[i].heard = now;
		netinc_group_tick(&env.g, now);
	}
	expect(env.g.state == INC_GROUP_FAILED, "fates %u: state %u", fates, env.g.state);
	for (i = 0; i < SIZE; i++)
		if (fate_of(fates, i) <= STOPS)
			say_done(i, INC_ERR_NONE, now);
	for (i = 0; i < SIZE; i++)
		ended |= netinc_group_ended(&env.g, i) << i;
	env.seen = env.logged;
	end();
	return ended;
}

/* Those of one fate ask to go on, for as long as it takes. Do they? */
static bool goes_on(bool node, u32 ended, u32 fates, enum fate fate)
{
	bool formed;
	u64 now;
	u32 i;

	begin_shrink(node, 0, NULL);
	env.g.cfg.fallback = true;
	for (now = 1000; now < 10 * LIMIT; now += 50 * NETINC_MS) {
		for (i = 0; i < SIZE; i++)
			if (fate_of(fates, i) == fate)
				expect(!come(i, now), "rank %u", i);
		/* somebody hears of the end later than others ask */
		netinc_shrink_ended(&env.g, &ended);
	}
	formed = env.g.state == INC_GROUP_ACTIVE;
	env.seen = env.logged;
	end();
	return formed;
}

/*
 * Whatever becomes of each rank: ranks never go on at the node and at the edge. At the node those
 * do that can, the half of all being enough if the others have not been heard of.
 */
static void test_one_part(void)
{
	u32 fates, all = 1, i, ended, node = 0, edge = 0, would = 0;
	bool here, there;

	for (i = 0; i < SIZE; i++)
		all *= FATES;
	for (fates = 0; fates < all; fates++) {
		/* or the group does not fail */
		if (!count_fates(fates, CLOSED, DEAD_RANK))
			continue;
		ended = fail_at_node(fates);
		here = goes_on(true, ended, fates, STAYS);
		there = goes_on(false, 0, fates, LOST);
		expect(!here || !there, "fates %u: two parts go on", fates);
		expect(here == (count_fates(fates, STAYS, STAYS) &&
				2 * count_fates(fates, LOST, DEAD_RANK) <= SIZE),
		       "fates %u: some go on at the node: %d", fates, here);
		node += here;
		edge += there;
		would += there && count_fates(fates, STAYS, STAYS);
	}
	expect(node > 100 && edge > 10 && would > 3, "%u, %u and %u cases", node, edge, would);
}

/* Without a fallback all that are left are here: one is enough. */
static void test_no_fallback(void)
{
	u64 now;

	begin_shrink(true, 0, NULL);
	for (now = 1000; now < 10 * LIMIT; now += 50 * NETINC_MS)
		come(3, now);
	expect(env.g.state == INC_GROUP_ACTIVE && env.g.cfg.size == 1, "state %u, size %u",
	       env.g.state, env.g.cfg.size);
	env.seen = env.logged;
	end();
}

static const struct ktap_test tests[] = {
	KTAP(test_at_once), KTAP(test_in_time), KTAP(test_longest), KTAP(test_one_more),
	KTAP(test_alone), KTAP(test_back_in_time), KTAP(test_majority), KTAP(test_strangers),
	KTAP(test_resync), KTAP(test_gone), KTAP(test_late),
	KTAP(test_one_part), KTAP(test_no_fallback),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
