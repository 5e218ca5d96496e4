// SPDX-License-Identifier: GPL-2.0-only
/* A group at a node: members that are silent, late, abort or leave, and how the group ends. */
#include "group_env.h"

static void test_dead(void)
{
	struct netinc_error e;
	u64 now = 1000 + DEAD * NETINC_MS;

	form(0);
	contrib(1, 0, 0, 1, 0, 1000);
	expect(!check(0, INC_PKT_PROBE, now) && !check(1, INC_PKT_PROBE, now), "signs of life");
	expect(!netinc_group_tick(&env.g, now), "expires");
	expect(env.g.state == INC_GROUP_ACTIVE, "dead at the limit, not after it");
	expect(!netinc_group_tick(&env.g, now + 1), "expires");
	expect(env.g.state == INC_GROUP_FAILED, "state %u", env.g.state);
	expect(env.events[INC_EVENT_RANK_DEAD] == 1 && env.events[INC_EVENT_GROUP_ERROR] == 1,
	       "events");
	e = error_of(expect_sent(INC_PKT_ERROR, NETINC_ALL));
	expect(e.code == INC_ERR_RANK_DEAD && e.rank[0] == 2 && e.rank[1] == NETINC_NO_RANK &&
	       !e.resume && !e.block,
	       "code %u, rank %u", e.code, e.rank[0]);
	expect(contrib(0, 0, 0, 1, 0, now) == -INC_C_DROP_ERROR,
	       "a contribution to a failed group");
	expect_sent(INC_PKT_ERROR, 0);
	send_probe(1, now);
	expect_sent(INC_PKT_ERROR, 1);
	expect(join(0, 0, now) == 0, "the error was lost, the rank asks by JOIN");
	expect_sent(INC_PKT_ERROR, 0);
	expect(!netinc_group_tick(&env.g, now + 2 * DEAD * NETINC_MS + 1), "expires too early");
	expect(netinc_group_tick(&env.g, now + 2 * DEAD * NETINC_MS + 2), "does not expire");
	end();
}

/* A node that did not run for longer than the limit does not take its silence for its members'. */
static void test_stall(void)
{
	u64 dead = DEAD * NETINC_MS, now;

	form(0);
	netinc_group_tick(&env.g, 1000);
	now = 1000 + 10 * dead;
	netinc_group_tick(&env.g, now);
	expect(env.g.state == INC_GROUP_ACTIVE, "all are dead at once");
	netinc_group_tick(&env.g, now + dead / 4);
	netinc_group_tick(&env.g, now + dead / 2);
	expect(env.g.state == INC_GROUP_ACTIVE, "dead though they had no time to be heard");
	expect(!check(0, INC_PKT_PROBE, now + dead / 2) && !check(2, INC_PKT_PROBE, now + dead / 2),
	       "signs of life");
	netinc_group_tick(&env.g, now + dead / 2 + 1);
	expect(env.g.state == INC_GROUP_FAILED && env.g.error.rank[0] == 1, "rank %u is dead",
	       env.g.error.rank[0]);
	expect_sent(INC_PKT_ERROR, NETINC_ALL);
	end();
}

/* A member that has lost READY of the failed epoch gets it first: it has the cookie only then. */
static void test_over_without_ready(void)
{
	struct netinc_pkt pkt;
	struct netinc_peer peer = peer_of(1);
	struct inc_join j = join_of(1, 0), stranger = join_of(1, 0);

	form(0);
	netinc_group_fail(&env.g, INC_ERR_NODE_GONE, NETINC_NO_RANK, 2000);
	expect_sent(INC_PKT_ERROR, NETINC_ALL);
	pkt = pkt_of(INC_PKT_JOIN, 1);
	pkt.epoch = 0;
	expect(!netinc_group_join(&env.g, &pkt, &j, &peer, 2000, &env.detail), "a member");
	expect_sent(INC_PKT_READY, 1);
	stranger.nonce = cpu_to_be32(4);
	expect(netinc_group_join(&env.g, &pkt, &stranger, &peer, 2000, &env.detail) ==
	       INC_REFUSE_BUSY,
	       "a stranger");
	expect(netinc_group_knows(&env.g, &pkt, &j, &peer) &&
	       !netinc_group_knows(&env.g, &pkt, &stranger, &peer),
	       "knows the wrong ones");
	end();
}

static void test_late(void)
{
	form(0);
	contrib(0, 0, 0, 1, 0, 10000);
	check(0, INC_PKT_PROBE, 500000);
	check(1, INC_PKT_PROBE, 500000);
	check(2, INC_PKT_PROBE, 500000);
	netinc_group_tick(&env.g, 10000 + 999 * NETINC_MS);
	expect(!env.events[INC_EVENT_RANK_LATE], "late too early");
	netinc_group_tick(&env.g, 10000 + 1000 * NETINC_MS);
	netinc_group_tick(&env.g, 10000 + 1001 * NETINC_MS);
	expect(env.events[INC_EVENT_RANK_LATE] == 1 && env.event_rank == 1, "%u events, rank %u",
	       env.events[INC_EVENT_RANK_LATE], env.event_rank);
	expect(env.late_us[INC_EVENT_RANK_LATE] == 1000000 && !env.g.late_block,
	       "late by %llu us, block %llu", (unsigned long long)env.late_us[INC_EVENT_RANK_LATE],
	       (unsigned long long)env.g.late_block);
	contrib(1, 0, 0, 1, 0, 1110000);
	netinc_group_tick(&env.g, 1200000);
	expect(env.late_us[INC_EVENT_RANK_BACK] == 1100000, "back after %llu us",
	       (unsigned long long)env.late_us[INC_EVENT_RANK_BACK]);
	expect(env.events[INC_EVENT_RANK_BACK] == 1 && env.events[INC_EVENT_RANK_LATE] == 2 &&
	       env.event_rank == 2,
	       "rank 1 is back, now it is rank %u", env.event_rank);
	contrib(2, 0, 0, 1, 0, 1300000);
	netinc_group_tick(&env.g, 1300000);
	expect(env.events[INC_EVENT_RANK_BACK] == 2 && env.g.state == INC_GROUP_ACTIVE,
	       "all are back");
	end();
	form(0);
	env.g.cfg.settings.late_ms = 500;
	env.g.cfg.settings.late_policy = INC_LATE_FAIL;
	contrib(0, 0, 0, 1, 0, 10000);
	netinc_group_tick(&env.g, 10000 + 499 * NETINC_MS);
	expect(env.g.state == INC_GROUP_ACTIVE, "fails too early");
	netinc_group_tick(&env.g, 10000 + 500 * NETINC_MS);
	expect(error_of(expect_sent(INC_PKT_ERROR, NETINC_ALL)).code == INC_ERR_RANK_LATE &&
	       env.g.error.rank[0] == 1,
	       "rank %u is late", env.g.error.rank[0]);
	end();
}

static void late_env(u8 policy, u32 late_ms)
{
	form(0);
	env.g.cfg.settings.late_ms = late_ms;
	env.g.cfg.settings.late_policy = policy;
}

/* One block of an allreduce. */
static int reduce(u32 rank, u64 block, u32 opseq, u32 sig, u64 now)
{
	struct netinc_pkt pkt = pkt_of(INC_PKT_CONTRIB, rank);
	struct netinc_pay pay = { .obj = &env.desc[rank][block % W],
				  .flags = INC_F_PAYLOAD | INC_F_WANT, .len = 64 };

	pkt.psn = (u32)block;
	pkt.flags = INC_F_PAYLOAD | INC_F_WANT;
	pkt.len = 64;
	pkt.dtype = INC_TYPE_I32;
	pkt.dop = INC_OP_SUM;
	pkt.opseq = opseq;
	pkt.sig = sig;
	env.g.members[rank].heard = now;
	return rx_contrib(&pkt, &pay, now);
}

static void all_heard_at(u64 now)
{
	u32 i;

	for (i = 0; i < SIZE; i++)
		check(i, INC_PKT_PROBE, now);
}

/* Policy `wait` does no more than to report, at a time of its own if it has one. */
static void test_late_wait(void)
{
	late_env(INC_LATE_WAIT, 300);
	reduce(0, 0, 0, 1, 10000);
	reduce(2, 0, 0, 1, 10000);
	all_heard_at(10000 + 299 * NETINC_MS);
	netinc_group_tick(&env.g, 10000 + 299 * NETINC_MS);
	expect(!env.events[INC_EVENT_RANK_LATE], "too early");
	netinc_group_tick(&env.g, 10000 + 300 * NETINC_MS);
	expect(env.events[INC_EVENT_RANK_LATE] == 1 && env.event_rank == 1, "rank %u",
	       env.event_rank);
	all_heard_at(10000 + 5000 * NETINC_MS);
	netinc_group_tick(&env.g, 10000 + 5000 * NETINC_MS);
	expect(env.g.state == INC_GROUP_ACTIVE && !env.results, "state %u", env.g.state);
	end();
}

static void test_late_partial(void)
{
	u64 now = 10000 + 300 * NETINC_MS;

	late_env(INC_LATE_PARTIAL, 300);
	reduce(0, 0, 0, 1, 10000);
	reduce(2, 0, 0, 1, 10000);
	all_heard_at(now - 1);
	netinc_group_tick(&env.g, now - 1);
	expect(!env.results, "too early");
	netinc_group_tick(&env.g, now);
	expect(env.results == 1 && env.set == 1 && env.g.agg.una == 1, "%u results", env.results);
	expect(env.events[INC_EVENT_RANK_LATE] == 1 && env.event_rank == 1 &&
	       env.late_us[INC_EVENT_RANK_LATE] == 300000, "rank %u", env.event_rank);
	/* it goes on without it, and says so once */
	reduce(0, 1, 1, 1, now);
	reduce(2, 1, 1, 1, now);
	all_heard_at(now + 300 * NETINC_MS);
	netinc_group_tick(&env.g, now + 300 * NETINC_MS);
	expect(env.results == 2 && env.events[INC_EVENT_RANK_LATE] == 1 &&
	       !env.events[INC_EVENT_RANK_BACK],
	       "%u results", env.results);
	expect(reduce(1, 0, 0, 1, now + 400 * NETINC_MS) == -INC_C_DROP_TOO_LATE &&
	       env.results == 3,
	       "too late");
	netinc_group_tick(&env.g, now + 401 * NETINC_MS);
	expect(env.events[INC_EVENT_RANK_BACK] == 1 && env.late_us[INC_EVENT_RANK_BACK] == 700000,
	       "back after %llu us", (unsigned long long)env.late_us[INC_EVENT_RANK_BACK]);
	/* a barrier that not all come to is none */
	contrib(0, 2, 2, 1, 0, now + 500 * NETINC_MS);
	all_heard_at(now + 800 * NETINC_MS);
	netinc_group_tick(&env.g, now + 800 * NETINC_MS);
	expect(error_of(expect_sent(INC_PKT_ERROR, NETINC_ALL)).code == INC_ERR_RANK_LATE &&
	       env.g.error.rank[0] == 1,
	       "a barrier: rank %u is late", env.g.error.rank[0]);
	end();
}

/* Who disagrees about what is complete cannot be helped: the group is over, for a reason. */
static void test_late_disagrees(void)
{
	u64 now = 10000 + 300 * NETINC_MS;
	struct netinc_error e;

	late_env(INC_LATE_PARTIAL, 300);
	reduce(0, 0, 0, 1, 10000);
	reduce(2, 0, 0, 1, 10000);
	all_heard_at(now);
	netinc_group_tick(&env.g, now);
	expect(reduce(1, 0, 0, 2, now) == -INC_C_DROP_MISMATCH, "is taken");
	e = error_of(expect_sent(INC_PKT_ERROR, NETINC_ALL));
	expect(e.code == INC_ERR_MISMATCH && e.rank[0] == 1 && !e.resume, "code %u, rank %u",
	       e.code, e.rank[0]);
	end();
}

/* Who leaves later than others keeps nobody waiting. */
static void test_late_leave(void)
{
	u8 policy;

	for (policy = INC_LATE_WAIT; policy <= INC_LATE_MAX; policy++) {
		late_env(policy, 300);
		contrib(0, 0, 0, 9, INC_F_LEAVE, 10000);
		expect_sent(INC_PKT_WAIT, 0);
		all_heard_at(5000 * NETINC_MS);
		netinc_group_tick(&env.g, 5000 * NETINC_MS);
		expect(env.g.state == INC_GROUP_ACTIVE && !env.events[INC_EVENT_RANK_LATE],
		       "policy %u: state %u", policy, env.g.state);
		end();
	}
}

static void test_abort(void)
{
	struct netinc_error e;

	form(0);
	expect(!abort_rank(1, INC_ERR_RANK_FAULT, 101, 2000), "ABORT");
	e = error_of(expect_sent(INC_PKT_ERROR, NETINC_ALL));
	expect(e.code == INC_ERR_RANK_FAULT && e.rank[0] == 1, "code %u, rank %u", e.code,
	       e.rank[0]);
	expect(!abort_rank(1, INC_ERR_RANK_FAULT, 101, 2001), "again");
	expect_sent(INC_PKT_ERROR, 1);
	end();
	form(0);
	expect(!abort_rank(2, INC_ERR_RANK_PATH, 102, 2000), "ABORT of who gets no blocks through");
	e = error_of(expect_sent(INC_PKT_ERROR, NETINC_ALL));
	expect(e.code == INC_ERR_RANK_PATH && e.rank[0] == 2 && !e.resume, "code %u, rank %u",
	       e.code, e.rank[0]);
	expect(netinc_group_gone(&env.g, 2), "the others cannot go on without it");
	end();
	form(0);
	expect(abort_rank(2, 0xffff, 102, 2000) == -INC_C_DROP_MALFORMED,
	       "ABORT with a code that is none");
	expect(abort_rank(2, INC_ERR_MISMATCH, 102, 2000) == -INC_C_DROP_MALFORMED,
	       "ABORT with another error's code");
	expect(env.g.state == INC_GROUP_ACTIVE, "state %u", env.g.state);
	end();
}

/* ABORT of a rank that wants nothing more. */
static int say_done(u32 rank, u16 code, u64 now)
{
	struct netinc_pkt pkt = pkt_of(INC_PKT_ABORT, rank);
	struct inc_error_pkt body = { .code = cpu_to_be16(code) };

	pkt.flags = INC_F_LEAVE;
	pkt.len = sizeof(body);
	return rx_control(&pkt, &body, now);
}

/* A group that has failed is kept for who may not have heard it, and for nobody else. */
static void test_all_done(void)
{
	u64 dead = DEAD * NETINC_MS, now = 2000;

	form(0);
	expect(say_done(0, INC_ERR_NONE, now) == -INC_C_DROP_STATE, "of a group that works");
	expect(!say_done(1, INC_ERR_RANK_ABORT, now), "rank 1 closes");
	expect_sent(INC_PKT_ERROR, NETINC_ALL);
	expect(!say_done(1, INC_ERR_RANK_ABORT, now), "says so again");
	expect(env.seen == env.logged, "a rank that is done was answered");
	expect(!say_done(0, INC_ERR_NONE, now), "rank 0 has heard it");
	expect(!netinc_group_gone(&env.g, 0) && netinc_group_gone(&env.g, 1), "who is gone");
	expect(!netinc_group_tick(&env.g, now + dead), "rank 2 may not have");
	expect(!abort_rank(2, INC_ERR_RANK_ABORT, 102, now + dead), "it wants to end the group");
	expect_sent(INC_PKT_ERROR, 2);
	expect(!netinc_group_tick(&env.g, now + dead + 1), "and to hear that it has ended");
	expect(!say_done(2, INC_ERR_NONE, now + dead + 2), "it has");
	expect(netinc_group_tick(&env.g, now + dead + 3), "it is kept for nobody");
	end();
	/* who is dead may be there all the same */
	form(0);
	netinc_group_fail(&env.g, INC_ERR_RANK_DEAD, 1, now);
	say_done(0, INC_ERR_NONE, now);
	say_done(2, INC_ERR_NONE, now);
	expect(!netinc_group_tick(&env.g, now + 2 * dead) &&
	       netinc_group_tick(&env.g, now + 2 * dead + 1), "kept for who is dead");
	env.seen = env.logged;
	end();
}

/* With a fallback a group that all have left is kept until they know it. */
static void test_all_left(void)
{
	u32 i;

	begin();
	env.g.cfg.settings.fallback = INC_FALLBACK_EDGE;
	for (i = 0; i < SIZE; i++)
		join(i, 0, 1000);
	expect(say_done(1, INC_ERR_LEFT, 2000) == -INC_C_DROP_STATE, "who has not left");
	for (i = 0; i < SIZE; i++)
		contrib(i, 0, 0, 9, INC_F_LEAVE, 2000);
	expect(env.g.state == INC_GROUP_LEFT, "state %u", env.g.state);
	for (i = 0; i < SIZE; i++) {
		expect(!netinc_group_tick(&env.g, 3000), "rank %u may not know it", i);
		expect(say_done(i, INC_ERR_NONE, 3000) == -INC_C_DROP_STATE, "of no error");
		expect(!say_done(i, INC_ERR_LEFT, 3000), "rank %u", i);
	}
	expect(netinc_group_tick(&env.g, 3000), "it is kept for nobody");
	env.seen = env.logged;
	end();
}

static void test_leave(void)
{
	u32 i;

	form(0);
	for (i = 0; i < SIZE; i++) {
		expect(!contrib(i, 0, 0, 9, INC_F_LEAVE, 2000), "LEAVE of rank %u", i);
		expect_sent(INC_PKT_WAIT, i);
		expect(contrib(i, 0, 0, 9, INC_F_LEAVE, 2001) == -INC_C_DROP_DUPLICATE, "again");
		expect_sent(INC_PKT_WAIT, i);
		expect(env.g.nleft == i + 1, "%u have left", env.g.nleft);
	}
	expect(env.g.state == INC_GROUP_LEFT && env.events[INC_EVENT_GROUP_LEFT] == 1, "state %u",
	       env.g.state);
	expect(netinc_group_tick(&env.g, 2002), "does not expire");
	end();
}

/* Who has left need not answer any more; who goes on without it gets an error that says so. */
static void test_left(void)
{
	struct netinc_error e;
	u64 now = 2000 + DEAD * NETINC_MS;

	form(0);
	contrib(1, 0, 0, 9, INC_F_LEAVE, 2000);
	expect_sent(INC_PKT_WAIT, 1);
	check(0, INC_PKT_PROBE, now);
	check(2, INC_PKT_PROBE, now);
	netinc_group_tick(&env.g, now + 1);
	expect(env.g.state == INC_GROUP_ACTIVE, "who has left is dead");
	contrib(0, 0, 0, 1, 0, now);
	contrib(2, 0, 0, 1, 0, now);
	e = error_of(expect_sent(INC_PKT_ERROR, NETINC_ALL));
	expect(e.code == INC_ERR_LEFT && e.rank[0] == 1 && e.rank[1] == 0 && !e.resume,
	       "code %u, ranks %u and %u", e.code, e.rank[0], e.rank[1]);
	expect(env.g.state == INC_GROUP_FAILED, "state %u", env.g.state);
	end();
}

/* A group that all have left stays so, whatever is contributed to it. */
static void test_left_over(void)
{
	u32 i;

	form(0);
	for (i = 0; i < SIZE; i++)
		contrib(i, 0, 0, 9, INC_F_LEAVE, 2000);
	env.seen = env.logged;
	for (i = 0; i < SIZE; i++)
		contrib(i, 1, 1, i, 0, 2000);
	expect(env.g.state == INC_GROUP_LEFT && env.logged == env.seen, "state %u", env.g.state);
	expect(netinc_group_tick(&env.g, 2001), "does not expire");
	end();
}

/* One rank has had no time to be heard; that the others have been says nothing of it. */
static void test_stall_one(void)
{
	u64 dead = DEAD * NETINC_MS, now = 1000 + 2 * dead;

	form(0);
	netinc_group_tick(&env.g, 1000);
	expect(!check(1, INC_PKT_PROBE, now) && !check(2, INC_PKT_PROBE, now), "signs of life");
	netinc_group_tick(&env.g, now);
	expect(env.g.state == INC_GROUP_ACTIVE, "rank 0 is dead at once");
	netinc_group_tick(&env.g, now + dead / 2);
	netinc_group_tick(&env.g, now + dead / 2 + 1);
	expect(env.g.state == INC_GROUP_FAILED && env.g.error.rank[0] == 0, "rank %u is dead",
	       env.g.error.rank[0]);
	expect_sent(INC_PKT_ERROR, NETINC_ALL);
	end();
}

/* Where nobody has contributed to the oldest block, an error names no operation. */
static void test_fail_between(void)
{
	struct netinc_error e;
	u32 i, q;

	form(0);
	for (q = 0; q < 2 * W; q++)
		for (i = 0; i < SIZE; i++)
			expect(!contrib(i, q, 7, 5, 0, 2000), "rank %u, block %u", i, q);
	netinc_group_fail(&env.g, INC_ERR_RANK_DEAD, 1, 3000);
	e = error_of(expect_sent(INC_PKT_ERROR, NETINC_ALL));
	expect(e.block == 2 * W && !e.opseq, "operation %u, block %u", e.opseq, (u32)e.block);
	end();
}

/* Rank @rank is closed before it has READY of this epoch: it knows @epoch, and its nonce. */
static int close_early(u32 rank, u32 epoch, u32 nonce, u64 now)
{
	struct netinc_peer peer = peer_of(rank);
	struct netinc_pkt pkt = pkt_of(INC_PKT_ABORT, rank);
	struct inc_error_pkt body = { .code = cpu_to_be16(INC_ERR_RANK_ABORT),
				      .resume = cpu_to_be32(nonce) };
	int err;

	pkt.flags = INC_F_LEAVE;
	pkt.len = sizeof(body);
	pkt.epoch = epoch;
	pkt.cookie = epoch ? 0x5555 : 0;
	err = netinc_group_check(&env.g, &pkt, &peer, now);
	return err ?: rx_control(&pkt, &body, now);
}

/* The others do not wait for it until it counts as dead; but nobody else says that it is closed. */
static void test_abort_crosses_ready(void)
{
	u64 now = 2000;
	u32 i;

	form(0);
	env.g.members[2].confirmed = false;
	expect(close_early(2, 0, 101, now) == -INC_C_DROP_COOKIE, "with another nonce");
	expect(close_early(2, 1, 102, now) == -INC_C_DROP_COOKIE, "of this epoch, with no cookie");
	expect(close_early(1, 0, 101, now) == -INC_C_DROP_EPOCH, "who has READY");
	expect(!env.g.members[2].confirmed, "that shows READY");
	expect(env.g.state == INC_GROUP_ACTIVE, "state %u", env.g.state);
	expect(!close_early(2, 0, 102, now), "ABORT");
	expect(env.g.state == INC_GROUP_FAILED && env.g.members[2].gone && env.g.members[2].done,
	       "state %u", env.g.state);
	expect(error_of(expect_sent(INC_PKT_ERROR, NETINC_ALL)).rank[0] == 2, "another rank");
	end();

	/* the same of an epoch after an error */
	form(0);
	for (i = 0; i < SIZE; i++)
		contrib(i, 0, 0, i == 1, 0, now);
	expect_sent(INC_PKT_ERROR, NETINC_ALL);
	for (i = 0; i < SIZE; i++)
		expect(!join(i, 0, now), "JOIN of rank %u", i);
	env.seen = env.logged;
	expect(env.g.state == INC_GROUP_ACTIVE && env.g.epoch == 2, "epoch %u", env.g.epoch);
	expect(!close_early(2, 1, 102, now), "ABORT");
	expect(env.g.state == INC_GROUP_FAILED, "state %u", env.g.state);
	expect(error_of(expect_sent(INC_PKT_ERROR, NETINC_ALL)).code == INC_ERR_RANK_ABORT, "code");
	end();
}

/*
 * Others wait for long, then the last rank leaves: who has lost the one ERROR must find the group
 * for twice the dead limit.
 */
static void test_late_leaver(void)
{
	u64 now = 2000, dead = DEAD * NETINC_MS, end_of_wait = now + 3 * dead;
	struct netinc_pkt pkt;
	struct netinc_pay pay = {};
	u32 i;

	form(0);
	expect(!contrib(0, 0, 0, 5, INC_F_WANT, now) && !contrib(1, 0, 0, 5, INC_F_WANT, now),
	       "two contribute");
	for (; now < end_of_wait; now += dead / 8) {
		for (i = 0; i < SIZE; i++)
			env.g.members[i].heard = now;
		expect(!netinc_group_tick(&env.g, now), "expired");
	}
	pkt = pkt_of(INC_PKT_CONTRIB, 2);
	pkt.flags = INC_F_LEAVE;
	pkt.sig = 5;
	expect(!rx_contrib(&pkt, &pay, now), "the third one leaves");
	expect(env.g.state == INC_GROUP_FAILED && env.g.error.code == INC_ERR_LEFT,
	       "state %u, code %u", env.g.state, env.g.error.code);
	expect(!netinc_group_tick(&env.g, now + 1000),
	       "it has expired a millisecond after the error: ended %lld ms ago",
	       (long long)(s64)(now - env.g.ended) / 1000);
	env.seen = env.logged;
	end();
}

static const struct ktap_test tests[] = {
	KTAP(test_dead), KTAP(test_stall), KTAP(test_over_without_ready), KTAP(test_late),
	KTAP(test_late_wait), KTAP(test_late_partial), KTAP(test_late_disagrees),
	KTAP(test_late_leave), KTAP(test_abort), KTAP(test_all_done), KTAP(test_all_left),
	KTAP(test_leave), KTAP(test_left), KTAP(test_left_over), KTAP(test_stall_one),
	KTAP(test_fail_between), KTAP(test_abort_crosses_ready),
	KTAP(test_late_leaver),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
