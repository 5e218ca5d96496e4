// SPDX-License-Identifier: GPL-2.0-only
/* A group at a node: who gets in, how it forms, what its members are told, whom it believes. */
#include "group_env.h"

static void test_form(void)
{
	const struct inc_wait_pkt *wait;
	const struct inc_ready *ready;
	const struct sent *s;
	u32 i;

	begin();
	expect(!join(2, 50, 1000), "rank 2");
	s = expect_sent(INC_PKT_WAIT, 2);
	wait = (const void *)s->body;
	expect(be32_to_cpu(wait->nonce) == 102 && be32_to_cpu(wait->joined) == 1 &&
	       !be32_to_cpu(wait->missing),
	       "WAIT says %u joined, %u is missing", be32_to_cpu(wait->joined),
	       be32_to_cpu(wait->missing));
	expect(!join(2, 50, 1001), "again");
	expect_sent(INC_PKT_WAIT, 2);
	expect(!join(0, 50, 1002), "rank 0");
	s = expect_sent(INC_PKT_WAIT, 0);
	wait = (const void *)s->body;
	expect(be32_to_cpu(wait->joined) == 2 && be32_to_cpu(wait->missing) == 1,
	       "WAIT says %u joined, %u is missing", be32_to_cpu(wait->joined),
	       be32_to_cpu(wait->missing));
	expect(!join(1, 50, 1003), "rank 1");
	for (i = 0; i < SIZE; i++) {
		s = expect_sent(INC_PKT_READY, i);
		ready = (const void *)s->body;
		expect(be32_to_cpu(ready->nonce) == 100 + i && be64_to_cpu(ready->start) == 50 &&
		       s->pkt.child == i && be32_to_cpu(ready->window) == W &&
		       be16_to_cpu(ready->block) == 64 && s->pkt.epoch == 1 &&
		       be32_to_cpu(ready->size) == SIZE &&
		       be32_to_cpu(ready->dead_ms) == DEAD &&
		       be16_to_cpu(ready->trees) == 1 && !ready->opseq,
		       "READY of rank %u", i);
		expect(be64_to_cpu(ready->up_cookie) == env.g.members[i].cookie &&
		       env.g.members[i].cookie &&
		       be64_to_cpu(ready->down_cookie) == env.g.down_cookie,
		       "cookies of rank %u", i);
	}
	expect(env.g.members[0].cookie != env.g.members[1].cookie &&
	       env.g.members[0].cookie != env.g.down_cookie,
	       "cookies are the same");
	expect(env.events[INC_EVENT_GROUP_FORMED] == 1, "%u events",
	       env.events[INC_EVENT_GROUP_FORMED]);
	expect(!join(1, 50, 2000), "READY was lost");
	expect_sent(INC_PKT_READY, 1);
	end();
}

static void expect_refused(struct inc_join j, u32 rank, struct netinc_peer peer, int code,
			   u64 detail, const char *what)
{
	struct netinc_pkt pkt = pkt_of(INC_PKT_JOIN, rank);
	int got = netinc_group_join(&env.g, &pkt, &j, &peer, 1000, &env.detail);

	expect(got == code, "%s: refused with %d, expected %d", what, got, code);
	expect(env.detail == detail, "%s: detail is %llu, expected %llu", what,
	       (unsigned long long)env.detail, (unsigned long long)detail);
}

/* Whose path carries no PARTIAL, which has a bit for each rank, would not know what it has got. */
static void test_partial_block(void)
{
	const u32 least = sizeof(struct inc_partial) + INC_MAX_RANKS / 8;
	struct inc_join j = join_of(0, 50);

	begin();
	env.g.cfg.size = INC_MAX_RANKS;
	j.size = cpu_to_be32(INC_MAX_RANKS);
	j.block = cpu_to_be16(round_up(least, INC_BLOCK_ALIGN) - INC_BLOCK_ALIGN);
	env.g.cfg.settings.late_ms = 100;
	env.g.cfg.settings.late_policy = INC_LATE_PARTIAL;
	expect_refused(j, 0, peer_of(0), INC_REFUSE_BLOCK, least, "too small a block");
	env.g.cfg.size = SIZE;
	expect_refused(join_of(0, 50), 0, peer_of(0), 0, 0, "fewer ranks");
	expect_sent(INC_PKT_WAIT, 0);
	end();
}

/* Memory has been reserved for blocks as the first JOIN said: no later one makes them larger. */
static void test_block(void)
{
	const struct inc_ready *ready;
	u32 i;

	begin();
	env.g.cfg.block = 80;
	for (i = 0; i < SIZE; i++) {
		struct inc_join j = join_of(i, 50);
		struct netinc_pkt pkt = pkt_of(INC_PKT_JOIN, i);
		struct netinc_peer peer = peer_of(i);

		j.block = cpu_to_be16(INC_MAX_BLOCK);
		expect(!netinc_group_join(&env.g, &pkt, &j, &peer, 1000, &env.detail),
		       "rank %u", i);
		if (i < SIZE - 1)
			expect_sent(INC_PKT_WAIT, i);
	}
	for (i = 0; i < SIZE; i++) {
		ready = (const void *)expect_sent(INC_PKT_READY, i)->body;
		expect(be16_to_cpu(ready->block) == 80, "READY says a block of %u",
		       be16_to_cpu(ready->block));
	}
	end();
}

static void test_refuse(void)
{
	struct inc_join j = join_of(1, 0);

	begin();
	expect_refused(j, SIZE, peer_of(1), INC_REFUSE_SIZE, SIZE, "rank out of range");
	expect_refused(j, 0xffff, peer_of(1), INC_REFUSE_SIZE, SIZE, "rank far out of range");
	j.size = cpu_to_be32(SIZE + 1);
	expect_refused(j, 1, peer_of(1), INC_REFUSE_SIZE, SIZE, "another size");
	j = join_of(1, 0);
	j.block = cpu_to_be16(INC_MIN_BLOCK - 16);
	expect_refused(j, 1, peer_of(1), INC_REFUSE_BLOCK, INC_MIN_BLOCK, "small block");
	j.block = cpu_to_be16(INC_MAX_BLOCK + 16);
	expect_refused(j, 1, peer_of(1), INC_REFUSE_BLOCK, INC_MIN_BLOCK, "large block");
	j.block = cpu_to_be16(72);
	expect_refused(j, 1, peer_of(1), INC_REFUSE_BLOCK, INC_MIN_BLOCK, "odd block");
	expect(!join(1, 0, 1000), "the right one");
	expect_sent(INC_PKT_WAIT, 1);
	j = join_of(1, 0);
	j.nonce = cpu_to_be32(5);
	expect_refused(j, 1, peer_of(1), INC_REFUSE_RANK_TAKEN, 1,
		       "another process of the same host");
	expect_refused(join_of(1, 0), 1, peer_of(2), INC_REFUSE_RANK_TAKEN, 1, "another host");
	expect(!join(0, 0, 1000) && !join(2, 0, 1000), "the others");
	expect_sent(INC_PKT_WAIT, 0);
	env.seen += SIZE;
	expect_refused(j, 1, peer_of(1), INC_REFUSE_BUSY, 1,
		       "a newcomer to a group that has formed");
	end();
}

/* A group of another number of stripes, or another stripe, is not this one: nothing changes. */
static void test_stripes(void)
{
	const u8 own = INC_STRIPE(1, 3);
	const struct inc_ready *ready;
	struct inc_join j;
	u32 i;

	begin();
	env.g.cfg.stripe = own;
	for (i = 0; i < 64; i++) {
		j = join_of(1, 0);
		j.late_policy = i << INC_JOIN_STRIPE_SHIFT;
		if (i != own)
			expect_refused(j, 1, peer_of(1), INC_REFUSE_STRIPES, 3, "another stripe");
		expect(!env.g.joined, "stripe 0x%x has joined", i);
	}
	for (i = 0; i < SIZE; i++) {
		struct netinc_pkt pkt = pkt_of(INC_PKT_JOIN, i);
		struct netinc_peer peer = peer_of(i);

		j = join_of(i, 0);
		j.late_policy = own << INC_JOIN_STRIPE_SHIFT;
		expect(!netinc_group_join(&env.g, &pkt, &j, &peer, 1000, &env.detail),
		       "rank %u", i);
		if (i < SIZE - 1)
			expect_sent(INC_PKT_WAIT, i);
	}
	for (i = 0; i < SIZE; i++) {
		ready = (const void *)expect_sent(INC_PKT_READY, i)->body;
		expect(netinc_ready_stripe(ready) == own, "READY says 0x%x", ready->late_policy);
	}
	j = join_of(1, 0);
	expect_refused(j, 1, peer_of(1), INC_REFUSE_STRIPES, 3, "a member that lies");
	expect(env.g.state == INC_GROUP_ACTIVE, "state %u", env.g.state);
	end();
}

/* A JOIN of a rank that the group's move @move has brought here. */
static int join_moved(u32 rank, u64 lineage, u32 move, bool named, u64 now)
{
	struct netinc_peer peer = peer_of(rank);
	struct inc_join j = join_of(rank, 50);
	struct netinc_pkt pkt = pkt_of(INC_PKT_JOIN, rank);

	pkt.cookie = 0;
	if (!named)
		pkt.incarnation = 0;
	j.lineage = cpu_to_be64(lineage);
	j.move = cpu_to_be32(move);
	return netinc_group_join(&env.g, &pkt, &j, &peer, now, &env.detail);
}

/* Only a challenged member begins the group anew; one of an older move is told the group's. */
static void test_moved(void)
{
	struct netinc_peer stranger = peer_of(9);
	struct netinc_pkt pkt;
	struct inc_join j;
	u32 i;

	form(50);
	expect(join_moved(1, LINEAGE, 2, false, 2000) == INC_REFUSE_MOVED,
	       "a group without a fallback moves");
	env.g.cfg.settings.fallback = INC_FALLBACK_STANDBY;
	/* names the incarnation, as nobody does who has moved: a JOIN that was not challenged */
	expect(!join_moved(1, LINEAGE, 1, true, 2000), "READY again");
	expect_sent(INC_PKT_READY, 1);
	expect(join_moved(1, LINEAGE + 1, 1, false, 2000) == INC_REFUSE_MOVED, "another lineage");
	pkt = pkt_of(INC_PKT_JOIN, 0);
	j = join_of(0, 50);
	j.lineage = cpu_to_be64(5);
	j.move = cpu_to_be32(1);
	expect(netinc_group_join(&env.g, &pkt, &j, &stranger, 2000, &env.detail) == INC_REFUSE_BUSY,
	       "a stranger");
	expect(env.g.state == INC_GROUP_ACTIVE && !env.g.move, "state %u, move %u", env.g.state,
	       env.g.move);

	expect(!join_moved(1, LINEAGE, 2, false, 3000), "a member that has moved");
	expect_sent(INC_PKT_WAIT, 1);
	expect(env.g.state == INC_GROUP_JOINING && env.g.move == 2, "state %u, move %u",
	       env.g.state, env.g.move);
	expect(join_moved(0, LINEAGE, 1, false, 3000) == INC_REFUSE_MOVED && env.detail == 2,
	       "an older move");
	expect(join_moved(0, 0, 0, false, 3000) == INC_REFUSE_BUSY, "a rank of another run");
	for (i = 0; i < SIZE; i += 2)
		expect(!join_moved(i, LINEAGE, 2, false, 4000), "rank %u", i);
	expect_sent(INC_PKT_WAIT, 0);
	for (i = 0; i < SIZE; i++) {
		expect_sent(INC_PKT_READY, i);
		expect_sent(INC_PKT_PEERS, i);
	}
	expect(env.g.state == INC_GROUP_ACTIVE && env.g.epoch == 2, "state %u, epoch %u",
	       env.g.state, env.g.epoch);
	end();
}

/* Who does not come along within the dead limit is missing: the others are told when they ask. */
static void test_not_moved(void)
{
	u64 dead = DEAD * NETINC_MS, now;

	form(50);
	env.g.cfg.settings.fallback = INC_FALLBACK_STANDBY;
	expect(!join_moved(1, LINEAGE, 1, false, 2000), "rank 1 has moved");
	expect_sent(INC_PKT_WAIT, 1);
	for (now = 2000; now <= 2000 + dead; now += dead / 8) {
		expect(!netinc_group_tick(&env.g, now), "the group has expired");
		expect(!join_moved(1, LINEAGE, 1, false, now), "rank 1 goes on asking");
		expect_sent(INC_PKT_WAIT, 1);
	}
	expect(!netinc_group_tick(&env.g, now), "the group has expired");
	expect(env.g.state == INC_GROUP_FAILED && env.events[INC_EVENT_RANK_DEAD] == 2,
	       "state %u, %u events", env.g.state, env.events[INC_EVENT_RANK_DEAD]);
	expect(join_moved(1, LINEAGE, 1, false, now) == INC_REFUSE_RANK_DEAD &&
	       env.detail == (2ull << 32),
	       "ranks 0 and 2 are missing: detail %llx", (unsigned long long)env.detail);
	expect(!join_moved(2, LINEAGE, 2, false, now), "a later move brings them all here");
	expect_sent(INC_PKT_WAIT, 2);
	end();
}

/* Every check by its counter; a packet that passes counts as a sign of life. */
static void test_check(void)
{
	struct netinc_peer peer = peer_of(1), other;
	struct netinc_pkt pkt;

	form(0);
	expect(!check(1, INC_PKT_PROBE, 5000), "a good packet");
	expect(env.g.members[1].heard == 5000, "has not been heard");
	pkt = pkt_of(INC_PKT_PROBE, 1);
	pkt.child = SIZE;
	expect(netinc_group_check(&env.g, &pkt, &peer, 6000) == -INC_C_DROP_CHILD, "child");
	pkt = pkt_of(INC_PKT_PROBE, 1);
	pkt.cookie ^= 1ull << 63;
	expect(netinc_group_check(&env.g, &pkt, &peer, 6000) == -INC_C_DROP_COOKIE, "cookie");
	pkt.cookie = env.g.members[0].cookie;
	expect(netinc_group_check(&env.g, &pkt, &peer, 6000) == -INC_C_DROP_COOKIE,
	       "another member's cookie");
	pkt = pkt_of(INC_PKT_PROBE, 1);
	pkt.epoch++;
	expect(netinc_group_check(&env.g, &pkt, &peer, 6000) == -INC_C_DROP_EPOCH, "epoch");
	pkt = pkt_of(INC_PKT_PROBE, 1);
	pkt.tree = 1;
	expect(netinc_group_check(&env.g, &pkt, &peer, 6000) == -INC_C_DROP_EPOCH, "tree");
	pkt = pkt_of(INC_PKT_PROBE, 1);
	other = peer;
	other.ifindex++;
	expect(netinc_group_check(&env.g, &pkt, &other, 6000) == -INC_C_DROP_PORT, "port");
	other = peer;
	other.addr[15]++;
	expect(netinc_group_check(&env.g, &pkt, &other, 6000) == -INC_C_DROP_PORT, "address");
	other = peer;
	other.udp_port++;
	expect(netinc_group_check(&env.g, &pkt, &other, 6000) == -INC_C_DROP_PORT, "UDP port");
	expect(env.g.members[1].heard == 5000, "a bad packet is a sign of life");
	expect_count(DROP_CHILD, 1u);
	expect_count(DROP_COOKIE, 2u);
	expect_count(DROP_EPOCH, 2u);
	expect_count(DROP_PORT, 3u);
	end();
}

static void test_state(void)
{
	struct netinc_pkt pkt;
	struct inc_probe body = { .bits = cpu_to_be16(32) };

	begin();
	join(0, 0, 0);
	expect_sent(INC_PKT_WAIT, 0);
	expect(contrib(0, 0, 0, 0, 0, 0) == -INC_C_DROP_STATE, "a contribution before READY");
	pkt = pkt_of(INC_PKT_PROBE, 0);
	pkt.len = sizeof(body);
	expect(rx_control(&pkt, &body, 0) == -INC_C_DROP_STATE, "PROBE before READY");
	expect_count(DROP_STATE, 2u);
	end();
	form(0);
	pkt = pkt_of(INC_PKT_PROBE, 0);
	pkt.len = sizeof(body);
	expect(rx_control(&pkt, &body, 0) == -INC_C_DROP_MALFORMED, "a bitmap that is not there");
	pkt.len = sizeof(body) + 4;
	body.bits = cpu_to_be16(31);
	expect(rx_control(&pkt, &body, 0) == -INC_C_DROP_MALFORMED, "31 bits");
	pkt = pkt_of(INC_PKT_READY, 0);
	expect(rx_control(&pkt, &body, 0) == -INC_C_DROP_STATE, "READY of a member");
	expect_count(DROP_MALFORMED, 2u);
	end();
}

/* Before the group has formed a rank can go, and another process can be it. */
static void test_abort_joining(void)
{
	struct inc_join j = join_of(1, 0);

	begin();
	join(0, 0, 0);
	join(1, 0, 0);
	expect_sent(INC_PKT_WAIT, 0);
	expect_sent(INC_PKT_WAIT, 1);
	expect(abort_rank(1, INC_ERR_RANK_ABORT, 5, 0) == -INC_C_DROP_COOKIE,
	       "another process's ABORT");
	expect(!abort_rank(1, INC_ERR_RANK_ABORT, 101, 0) && env.g.joined == 1, "%u have joined",
	       env.g.joined);
	expect_refused(j, 1, peer_of(1), INC_REFUSE_UNKNOWN, 1, "a late copy of its JOIN");
	j.nonce = cpu_to_be32(5);
	expect_refused(j, 1, peer_of(1), 0, 1, "another process");
	expect_sent(INC_PKT_WAIT, 1);
	expect(!abort_rank(0, INC_ERR_RANK_ABORT, 100, 0) && env.g.state == INC_GROUP_JOINING,
	       "state %u", env.g.state);
	expect(!abort_rank(1, INC_ERR_RANK_ABORT, 5, 0) && env.g.state == INC_GROUP_FAILED,
	       "the last one goes");
	expect(netinc_group_tick(&env.g, 1), "a group that never formed does not expire at once");
	end();
}

/* A group does not form with somebody who has not been heard for long. */
static void test_ghost(void)
{
	u64 later = 400 * NETINC_MS;

	begin();
	join(0, 0, 0);
	join(1, 0, later);
	join(2, 0, later);
	expect(env.g.state == INC_GROUP_JOINING && env.g.joined == 3, "formed with a ghost");
	netinc_group_tick(&env.g, DEAD * NETINC_MS + 1);
	expect(env.g.joined == 2, "%u are there", env.g.joined);
	join(0, 0, DEAD * NETINC_MS + 2);
	expect(env.g.state == INC_GROUP_JOINING, "formed though ranks 1 and 2 are silent");
	join(1, 0, DEAD * NETINC_MS + 3);
	join(2, 0, DEAD * NETINC_MS + 3);
	expect(env.g.state == INC_GROUP_ACTIVE, "state %u", env.g.state);
	env.seen = env.logged;
	end();
}

/* WAIT to @rank with this pause, in milliseconds. */
static void expect_wait(u32 rank, u32 ms)
{
	const struct inc_wait_pkt *wait = (const void *)expect_sent(INC_PKT_WAIT, rank)->body;

	expect(be32_to_cpu(wait->pause) == ms * NETINC_MS, "rank %u is to wait %u us, not %u ms",
	       rank, be32_to_cpu(wait->pause), ms);
}

/* Who waits asks the more seldom the longer nobody comes, and is not taken for dead meanwhile. */
static void test_wait_pause(void)
{
	u64 now = 1000;

	begin();
	expect(!join(0, 50, now), "rank 0");
	expect_wait(0, DEAD / 4);
	expect(!join(0, 50, now += 2 * DEAD * NETINC_MS), "again");
	expect_wait(0, DEAD / 2);
	expect(!join(0, 50, now += 10 * DEAD * NETINC_MS), "again");
	expect_wait(0, DEAD);
	now += 10;
	expect(!join(1, 50, now), "rank 1");
	expect_wait(1, DEAD / 4);
	netinc_group_tick(&env.g, now + 4 * DEAD * NETINC_MS - 10);
	expect(env.g.joined == 2, "%u have joined", env.g.joined);
	netinc_group_tick(&env.g, now + 4 * DEAD * NETINC_MS + 1);
	netinc_group_tick(&env.g, now + 4 * DEAD * NETINC_MS + 2);
	expect(env.g.joined < 2, "%u have joined", env.g.joined);
	end();
}

/* milliseconds between calls of one rank, at least */
#define CALL	50

/* When the last rank has come, those that have been silent show that they are there. */
static void test_call(void)
{
	u64 now = 1000;
	u32 i;

	begin();
	expect(!join(0, 50, now), "rank 0");
	expect_wait(0, DEAD / 4);
	expect(!join(1, 50, now), "rank 1");
	expect_wait(1, DEAD / 4);
	now += 400 * NETINC_MS;
	expect(!join(2, 50, now), "rank 2");
	expect_wait(2, 50);
	expect_wait(0, 0);
	expect_wait(1, 0);
	expect(!join(2, 50, now + 1), "again");	/* calls nobody */
	expect_wait(2, 50);
	expect(!join(0, 50, now + 1), "rank 0");
	expect_wait(0, 50);
	/* the call has been lost */
	netinc_group_tick(&env.g, now + CALL * NETINC_MS - 1);
	expect(env.seen == env.logged, "called again within %u ms", CALL);
	netinc_group_tick(&env.g, now + CALL * NETINC_MS);
	expect_wait(1, 0);
	netinc_group_tick(&env.g, now + 2 * CALL * NETINC_MS - 1);
	expect(env.seen == env.logged, "called again within %u ms", CALL);
	netinc_group_tick(&env.g, now + 400 * NETINC_MS);
	expect_wait(1, 0);
	netinc_group_tick(&env.g, now + 400 * NETINC_MS + 1);
	expect(env.g.state == INC_GROUP_JOINING, "formed without rank 1");
	/* who has answered the call need not do so again */
	expect(!join(1, 50, now + 500 * NETINC_MS), "rank 1");
	for (i = 0; i < SIZE; i++)
		expect_sent(INC_PKT_READY, i);
	end();
}

/* One that goes before all have answered is not waited for, and comes back as a new one. */
static void test_call_gone(void)
{
	u64 now = 400 * NETINC_MS;

	begin();
	expect(!join(0, 50, 0) && !join(1, 50, 0) && !join(2, 50, now), "three ranks");
	expect(!join(0, 50, now), "one answers");
	env.seen = env.logged;
	netinc_group_tick(&env.g, DEAD * NETINC_MS + 1);
	expect(env.g.joined == 2 && !env.g.called, "%u have joined", env.g.joined);
	expect(!join(0, 50, now + DEAD * NETINC_MS), "one goes on asking");
	expect_wait(0, DEAD / 4);
	expect(!join(1, 50, now + DEAD * NETINC_MS + 1), "the other one");
	expect_wait(1, 50);
	expect_wait(2, 0);
	expect(!join(2, 50, now + DEAD * NETINC_MS + 2), "and the one that is called");
	env.seen = env.logged;
	expect(env.g.state == INC_GROUP_ACTIVE, "state %u", env.g.state);
	end();
}

/* One that waits may ask again too late: READY that has been lost comes again by itself. */
static void test_ready_again(void)
{
	/* when idle ranks have shown that they have it, then twice as late, and so on */
	static const u32 pauses[] = { 37500, 75000, 100000, 100000, 100000 };
	u64 now = 1000;
	u32 i;

	form(0);
	env.g.members[0].confirmed = false;
	env.g.members[2].confirmed = false;
	for (i = 0; i < ARRAY_SIZE(pauses); i++) {
		netinc_group_tick(&env.g, now + pauses[i] - 1);
		expect(env.seen == env.logged, "more often than is good");
		netinc_group_tick(&env.g, now += pauses[i]);
		expect_sent(INC_PKT_READY, 0);
		expect_sent(INC_PKT_READY, 2);
	}
	expect(!check(0, INC_PKT_PROBE, now), "rank 0 has READY");
	netinc_group_tick(&env.g, now += DEAD / 10 * NETINC_MS);
	expect_sent(INC_PKT_READY, 2);
	expect(!check(2, INC_PKT_PROBE, now), "rank 2 has READY");
	netinc_group_tick(&env.g, now + DEAD / 10 * NETINC_MS);
	expect(env.seen == env.logged && !env.g.ready_pause, "all have it");
	end();
}

/* Who says another first block than all who have come is refused, however long these are silent. */
static void test_false_next(void)
{
	u64 now = 1000;

	begin();
	expect(!join(0, 50, now) && !join(1, 50, now), "two ranks");
	expect(join(2, 51, now + DEAD / 2 * NETINC_MS) == INC_REFUSE_NEXT && env.detail == 50,
	       "a false one is refused");
	expect(!join(0, 50, now + DEAD / 2 * NETINC_MS + 1), "an honest one goes on asking");
	expect(!join(2, 50, now + DEAD / 2 * NETINC_MS + 2), "and the third one comes");
	env.seen = env.logged;
	end();
}

static const struct ktap_test tests[] = {
	KTAP(test_form), KTAP(test_partial_block), KTAP(test_block), KTAP(test_refuse),
	KTAP(test_stripes), KTAP(test_check), KTAP(test_state), KTAP(test_moved),
	KTAP(test_not_moved), KTAP(test_abort_joining), KTAP(test_ghost), KTAP(test_wait_pause),
	KTAP(test_call), KTAP(test_call_gone), KTAP(test_ready_again), KTAP(test_false_next),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
