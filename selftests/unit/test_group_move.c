// SPDX-License-Identifier: GPL-2.0-only
/* A group at a node that it moves to, or comes back to: lineage, moves, missing ranks, leaving. */
#include "group_env.h"

/* from one later move that is followed to the next */
#define RESTART_PAUSE	(50 * NETINC_MS)

static struct inc_join join_at(u32 rank, u32 move, u64 next)
{
	struct inc_join j = join_of(rank, next);

	j.fallback = INC_FALLBACK_EDGE;
	j.move = cpu_to_be32(move);
	j.lineage = cpu_to_be64(LINEAGE);
	return j;
}

/* @epoch: the last one that the rank knows; it has contributed to operations before @begun. */
static int come(u32 rank, u32 move, u64 next, u32 epoch, u32 begun, u64 now)
{
	struct netinc_pkt pkt = { .type = INC_PKT_JOIN, .group = 77, .span = 1, .child = rank,
				  .epoch = epoch, .opseq = begun };
	struct inc_join j = join_at(rank, move, next);
	struct netinc_peer peer = peer_of(rank);

	return netinc_group_join(&env.g, &pkt, &j, &peer, now, &env.detail);
}

static void begin_at(u32 move)
{
	begin();
	env.g.cfg.settings.fallback = INC_FALLBACK_EDGE;
	env.g.cfg.lineage = LINEAGE;
	env.g.cfg.nstandby = 1;
	env.g.cfg.standby[0] = peer_of(50);
	env.g.cfg.move = move;
	env.g.move = move;
}

/* All ranks are there, at @move. */
static void form_at(u32 move, u64 next, u64 now)
{
	u32 i;

	for (i = 0; i < SIZE; i++)
		expect(!come(i, move, next, 3, 0, now), "rank %u", i);
	expect(env.g.state == INC_GROUP_ACTIVE && env.g.move == move, "state %u", env.g.state);
	env.seen = env.logged;
}

/*
 * One of the ranks that come says that its blocks are others than they were elsewhere: with a READY
 * of his none of the rest would go on here. Who is not heard of any more does not count.
 */
static void test_other_blocks(void)
{
	begin_at(2);
	env.blocks = 112;
	expect(!come(0, 2, 50, 3, 0, 1000), "rank 0");
	env.blocks = 96;
	expect(come(1, 2, 50, 3, 0, 1000) == INC_REFUSE_BLOCK && env.detail == 112,
	       "shorter ones, detail %llu", (unsigned long long)env.detail);
	env.blocks = 128;
	expect(come(1, 2, 50, 3, 0, 1000) == INC_REFUSE_BLOCK, "longer ones");
	expect(env.g.joined == 1 && !env.g.members[1].present, "%u have come", env.g.joined);
	env.blocks = 112;
	expect(!come(1, 2, 50, 3, 0, 1000) && !come(2, 2, 50, 3, 0, 1000), "the others");
	expect(env.g.state == INC_GROUP_ACTIVE && env.g.block == 112, "blocks of %u", env.g.block);
	env.seen = env.logged;
	end();
	begin_at(2);
	env.blocks = 96;
	expect(!come(0, 2, 50, 3, 0, 1000), "rank 0");
	env.blocks = 112;
	expect(!come(1, 2, 50, 3, 0, 1000 + 2 * DEAD * NETINC_MS), "when that is gone");
	env.seen = env.logged;
	end();
}

static void probe_from(u32 rank, u64 una, u32 peers, u64 now)
{
	struct netinc_pkt pkt = pkt_of(INC_PKT_PROBE, rank);
	struct inc_probe body = { .srtt = 0 };

	pkt.len = sizeof(body);
	pkt.psn = (u32)una;
	pkt.opseq = peers;
	env.g.members[rank].heard = now;
	expect(!rx_control(&pkt, &body, now), "PROBE of rank %u", rank);
}

/* READY says where the group can go, PEERS where its ranks are: with READY, and to who asks. */
static void test_plan(void)
{
	const struct inc_ready *r;
	const struct inc_peers *p;
	u32 i;

	begin_at(0);
	for (i = 0; i < SIZE; i++)
		expect(!join(i, 50, 1000), "rank %u", i);
	expect_sent(INC_PKT_WAIT, 0);
	expect_sent(INC_PKT_WAIT, 1);
	for (i = 0; i < SIZE; i++) {
		r = (const void *)expect_sent(INC_PKT_READY, i)->body;
		expect(r->fallback == INC_FALLBACK_EDGE && be64_to_cpu(r->lineage) == LINEAGE &&
		       r->standbys == 1 && r->standby[0].addr[3] == 50 &&
		       r->edge.addr[3] == 0 && be16_to_cpu(r->edge.family) == 4 && !r->move,
		       "READY of rank %u", i);
		p = (const void *)expect_sent(INC_PKT_PEERS, i)->body;
		expect(!p->first && be32_to_cpu(p->n) == SIZE && p->peer[2].addr.addr[3] == 2,
		       "PEERS of rank %u", i);
	}
	probe_from(1, 50, 1, 2000);
	p = (const void *)expect_sent(INC_PKT_PEERS, 1)->body;
	expect(be32_to_cpu(p->first) == 1 && be32_to_cpu(p->n) == SIZE - 1 &&
	       p->peer[0].addr.addr[3] == 1,
	       "PEERS");
	probe_from(1, 50, SIZE, 2000);
	end();
}

/* A new node: the epoch is the next one, the start the lowest next. */
static void test_arrive(void)
{
	const struct inc_ready *r;
	u32 i;

	begin_at(1);
	expect(!come(0, 1, 52, 3, 0, 1000) && !come(1, 1, 50, 2, 0, 1000) &&
	       !come(2, 1, 53, 3, 0, 1000),
	       "JOIN");
	env.seen += 2;
	for (i = 0; i < SIZE; i++) {
		const struct sent *s = expect_sent(INC_PKT_READY, i);

		r = (const void *)s->body;
		expect(s->pkt.epoch == 4 && be64_to_cpu(r->start) == 50 &&
		       be32_to_cpu(r->move) == 1,
		       "READY: epoch %u, start %llu", s->pkt.epoch,
		       (unsigned long long)be64_to_cpu(r->start));
		expect_sent(INC_PKT_PEERS, i);
	}
	end();
}

/* A later move begins the group anew, whatever it is doing; who is behind hears of it. */
static void test_restart(void)
{
	struct netinc_pkt old;
	struct netinc_peer peer = peer_of(1);

	begin_at(1);
	form_at(1, 50, 1000);
	expect(!contrib(0, 50, 0, 5, 0, 2000) && !contrib(1, 50, 0, 5, 0, 2000) && env.held == 2,
	       "contributions");
	old = pkt_of(INC_PKT_PROBE, 1);
	expect(!come(0, 3, 50, 4, 0, 3000), "a later move");
	expect(env.g.state == INC_GROUP_JOINING && env.g.joined == 1 && env.g.move == 3 &&
	       !env.held,
	       "state %u, %u held", env.g.state, env.held);
	expect_sent(INC_PKT_WAIT, 0);
	expect(netinc_group_check(&env.g, &old, &peer, 3000) == -INC_C_DROP_COOKIE,
	       "a packet of the old epoch");
	expect(come(1, 1, 50, 4, 0, 3000) == INC_REFUSE_MOVED && env.detail == 3,
	       "a JOIN of the old move");
	expect(come(1, 2, 50, 4, 0, 3000) == INC_REFUSE_MOVED && env.detail == 3, "of one between");
	expect(join(1, 50, 3000) == INC_REFUSE_BUSY, "a new run of the group");
	form_at(3, 50, 3100);
	expect(env.g.epoch == 5, "epoch %u", env.g.epoch);
	/* also when it was over */
	netinc_group_fail(&env.g, INC_ERR_RANK_DEAD, 1, 4000);
	expect_sent(INC_PKT_ERROR, NETINC_ALL);
	expect(!come(2, 4, 50, 5, 0, 3000 + RESTART_PAUSE), "after an error");
	expect_sent(INC_PKT_WAIT, 2);
	expect(!env.g.error.code && !netinc_group_tick(&env.g, 3001 + RESTART_PAUSE), "is over");
	end();
}

/* One that says later moves all the time has the group begin anew now and then, however. */
static void test_restarts(void)
{
	u32 move, restarts = 0;

	begin_at(1);
	form_at(1, 50, 1000);
	for (move = 2; move < 2 + 200; move++) {
		u64 now = 2000 + (u64)(move - 2) * NETINC_MS;
		int code = come(0, move, 50, 4, 0, now);

		expect(!code || (code == INC_REFUSE_BUSY && env.detail == 0), "move %u: %d", move,
		       code);
		restarts += !code;
		expect((env.g.move == move) == !code, "move %u: at %u", move, env.g.move);
	}
	expect(restarts == 4, "%u times", restarts);
	env.seen = env.logged;
	/* what is not a later move is not kept waiting */
	form_at(env.g.move, 50, 2000 + 199 * NETINC_MS);
	end();
}

/* Some ranks do not come: who is there, or comes then, hears who. Who went is missing, too. */
static void test_not_moved(void)
{
	u64 now = 1000 + DEAD * NETINC_MS;

	begin_at(1);
	expect(!come(1, 1, 50, 3, 0, 1000), "rank 1");
	expect_sent(INC_PKT_WAIT, 1);
	expect(!come(1, 1, 50, 3, 0, now), "rank 1 again");
	expect_sent(INC_PKT_WAIT, 1);
	netinc_group_tick(&env.g, now);
	expect(env.g.state == INC_GROUP_JOINING, "too early");
	netinc_group_tick(&env.g, now + 1);
	expect(env.g.state == INC_GROUP_FAILED && env.events[INC_EVENT_RANK_DEAD] == 2, "state %u",
	       env.g.state);
	expect(come(1, 1, 50, 3, 0, now + 2) == INC_REFUSE_RANK_DEAD && env.detail == (2ull << 32),
	       "detail %#llx", (unsigned long long)env.detail);
	expect(env.g.members[0].gone && !env.g.members[1].gone && env.g.members[2].gone,
	       "who is gone");
	expect(come(2, 1, 50, 3, 0, now + 2) == INC_REFUSE_RANK_DEAD, "who comes late");
	expect(!netinc_group_tick(&env.g, now + 2 * DEAD * NETINC_MS), "is gone too early");
	expect(!come(1, 3, 50, 3, 0, now + 3), "a later move");
	expect_sent(INC_PKT_WAIT, 1);
	end();
	begin_at(1);
	come(0, 1, 50, 3, 0, 1000);
	come(1, 1, 50, 3, 0, now);
	come(2, 1, 50, 3, 0, now);
	env.seen = env.logged;
	expect(env.g.state == INC_GROUP_JOINING, "forms with a ghost");
	netinc_group_tick(&env.g, now + 1);
	expect(come(1, 1, 50, 3, 0, now + 2) == INC_REFUSE_RANK_DEAD &&
	       env.detail == 0xffffffff00000000ull,
	       "detail %#llx", (unsigned long long)env.detail);
	end();
}

/* Late packets of the epoch before, of a rank that is here, to a group whose slots are empty. */
static void test_late_packets(void)
{
	u64 now = 3000 + (DEAD + 100) * NETINC_MS;
	struct netinc_pkt pkt;
	struct inc_probe body = { .srtt = 0 };
	u32 i;

	begin_at(1);
	form_at(1, 50, 1000);
	for (i = 0; i < SIZE; i++)
		expect(!contrib(i, 50, 0, 5, 0, 2000), "rank %u", i);
	expect(env.results == 1, "%u results", env.results);
	expect(!come(0, 2, 51, 4, 1, 3000), "rank 0 moves");
	env.seen = env.logged;
	for (i = 0; i < 2; i++) {
		expect(!check(0, INC_PKT_PROBE, now) &&
		       contrib(0, 50, 0, 5, INC_F_RETRANS, now) == -INC_C_DROP_STATE,
		       "a late contribution in state %u", env.g.state);
		pkt = pkt_of(INC_PKT_PROBE, 0);
		pkt.len = sizeof(body);
		pkt.psn = 50;
		pkt.flags = INC_F_RETRANS;
		expect(rx_control(&pkt, &body, now) == -INC_C_DROP_STATE, "a late PROBE");
		netinc_group_tick(&env.g, now);
		expect(env.g.state == INC_GROUP_FAILED, "state %u", env.g.state);
	}
	expect(env.results == 1 && !env.statuses, "%u results, %u STATUS", env.results,
	       env.statuses);
	end();
}

/* A JOIN of a later move that is refused changes nothing. */
static void test_refused(void)
{
	struct netinc_pkt pkt = {
		.type = INC_PKT_JOIN, .group = 77, .span = 1, .child = 1, .epoch = 4,
	};
	struct inc_join j = join_at(1, 2, 50);
	struct netinc_peer peer = peer_of(1);

	begin_at(1);
	form_at(1, 50, 1000);
	expect(!contrib(0, 50, 0, 5, 0, 2000), "rank 0");
	j.size = cpu_to_be32(SIZE + 1);
	expect(netinc_group_join(&env.g, &pkt, &j, &peer, 3000, &env.detail) == INC_REFUSE_SIZE &&
	       env.detail == SIZE,
	       "of another size, detail %llu", (unsigned long long)env.detail);
	j = join_at(1, 2, 50);
	j.block = 0;
	expect(netinc_group_join(&env.g, &pkt, &j, &peer, 3000, &env.detail) == INC_REFUSE_BLOCK,
	       "with empty blocks");
	j = join_at(1, 2, 50);
	j.below = 1;
	expect(netinc_group_join(&env.g, &pkt, &j, &peer, 3000, &env.detail) == INC_REFUSE_TREE,
	       "of a node");
	env.g.epoch = NETINC_MAX_EPOCH;
	expect(come(1, 2, 50, 4, 0, 3000) == INC_REFUSE_NEXT, "after the last epoch");
	env.g.epoch = 4;
	expect(env.g.state == INC_GROUP_ACTIVE && env.g.move == 1 && env.held == 1,
	       "state %u, move %u, %u held", env.g.state, env.g.move, env.held);
	expect(!contrib(1, 50, 0, 5, 0, 4000) && !contrib(2, 50, 0, 5, 0, 4000) && env.results == 1,
	       "%u results", env.results);
	end();
}

/* A parent that did not take the group when it was new has no say when it comes back. */
static void test_refused_above(void)
{
	begin_at(1);
	form_at(1, 50, 1000);
	env.g.up.refused = INC_REFUSE_LIMIT;
	env.g.up.refused_at = 500;
	expect(!come(0, 2, 50, 4, 0, 500 + 2 * env.g.cfg.settings.dead_ms * NETINC_MS),
	       "rank 0, detail %llu", (unsigned long long)env.detail);
	env.seen = env.logged;
	end();
}

/* Where a group that moves here does not form, and nobody is coming, contributions are dropped. */
static void test_thrown_away(void)
{
	u32 i;

	begin_at(1);
	form_at(1, 50, 1000);
	expect(!contrib(0, 50, 0, 5, 0, 2000) && !come(0, 2, 50, 4, 0, 3000) && !env.held,
	       "rank 0 moves");
	env.seen = env.logged;
	netinc_group_fail(&env.g, INC_ERR_RANK_ABORT, 0, 4000);
	env.g.forming = 0;
	env.seen = env.logged;
	for (i = 0; i < SIZE; i++)
		expect(contrib(i, 50, 0, 5, 0, 5000) == -INC_C_DROP_STATE, "rank %u in state %u", i,
		       env.g.state);
	end();
}

/* A rank may go only when all others have said that they have what it keeps. */
static void test_leave(void)
{
	u32 i;

	begin_at(0);
	form_at(0, 0, 1000);
	for (i = 0; i < SIZE; i++)
		expect(!contrib(i, 0, 0, 5, 0, 2000), "rank %u", i);
	expect(env.results == 1, "%u results", env.results);
	expect(!contrib(1, 1, 1, 9, INC_F_LEAVE, 2000), "LEAVE");
	expect(env.seen == env.logged,
	       "acknowledged though nobody has said that it has the result");
	probe_from(0, 1, SIZE, 2000);
	contrib(1, 1, 1, 9, INC_F_LEAVE, 2001);
	expect(env.seen == env.logged, "acknowledged though rank 2 has not");
	probe_from(2, 1, SIZE, 2000);
	contrib(1, 1, 1, 9, INC_F_LEAVE, 2002);
	expect_sent(INC_PKT_WAIT, 1);
	/* who leaves has all, and says nothing more */
	contrib(0, 1, 1, 9, INC_F_LEAVE, 2003);
	expect_sent(INC_PKT_WAIT, 0);
	contrib(2, 1, 1, 9, INC_F_LEAVE, 2003);
	expect_sent(INC_PKT_WAIT, 2);
	expect(env.g.state == INC_GROUP_LEFT, "state %u", env.g.state);
	/* it stays for a while, for who has lost the last word */
	expect(!netinc_group_tick(&env.g, 2004), "is gone at once");
	contrib(2, 1, 1, 9, INC_F_LEAVE, 2005);
	expect_sent(INC_PKT_WAIT, 2);
	expect(netinc_group_tick(&env.g, 2004 + 2 * DEAD * NETINC_MS), "does not expire");
	end();
}

/* Who may have lost READY cannot know of the epoch in which others leave. */
static void test_leave_unheard(void)
{
	begin_at(0);
	form_at(0, 0, 1000);
	expect(!contrib(1, 0, 0, 9, INC_F_LEAVE, 2000), "LEAVE");
	expect(env.seen == env.logged, "acknowledged though no other one has been heard");
	env.g.members[0].confirmed = true;
	contrib(1, 0, 0, 9, INC_F_LEAVE, 2001);
	expect(env.seen == env.logged, "acknowledged though rank 2 has not");
	env.g.members[2].confirmed = true;
	contrib(1, 0, 0, 9, INC_F_LEAVE, 2002);
	expect_sent(INC_PKT_WAIT, 1);
	end();
}

/* Of operations begun elsewhere a rank may have results: they fail with the one in dispute. */
static void test_begun(void)
{
	struct netinc_error e;

	begin_at(1);
	expect(!come(0, 1, 50, 3, 2, 1000) && !come(1, 1, 50, 3, 5, 1000) &&
	       !come(2, 1, 50, 3, 1, 1000),
	       "JOIN");
	env.seen = env.logged;
	contrib(0, 50, 1, 5, 0, 2000);
	contrib(1, 50, 1, 5, 0, 2000);
	contrib(2, 50, 1, 6, 0, 2000);
	e = error_of(expect_sent(INC_PKT_ERROR, NETINC_ALL));
	expect(e.code == INC_ERR_MISMATCH && e.opseq == 1 && e.resume == 5, "operations %u..%u",
	       e.opseq, e.resume);
	end();
}

/* READY is repeated with the addresses of all. */
static void test_plan_again(void)
{
	const struct inc_peers *p;
	u32 i;

	begin_at(1);
	form_at(1, 50, 1000);
	netinc_group_tick(&env.g, 1000 + DEAD * NETINC_MS * 3 / 80 - 1);
	expect(env.seen == env.logged, "too early");
	netinc_group_tick(&env.g, 1000 + DEAD * NETINC_MS * 3 / 80);
	for (i = 0; i < SIZE; i++) {
		expect_sent(INC_PKT_READY, i);
		p = (const void *)expect_sent(INC_PKT_PEERS, i)->body;
		expect(!p->first && be32_to_cpu(p->n) == SIZE, "PEERS from %u on, %u",
		       be32_to_cpu(p->first), be32_to_cpu(p->n));
	}
	end();
}

/* That all were called when the group first formed says nothing of who comes after a move. */
static void test_restart_ghost(void)
{
	u64 now = 1000 + 400 * NETINC_MS;
	u32 i;

	begin_at(0);
	for (i = 0; i < SIZE; i++)
		expect(!join(i, 50, i ? now : 1000), "rank %u", i);
	expect(env.g.called == now, "nobody has been called");
	expect(!join(0, 50, now) && env.g.state == INC_GROUP_ACTIVE, "state %u", env.g.state);
	expect(!come(0, 1, 50, 1, 0, now + 1), "rank 0 moves");
	now += 400 * NETINC_MS;
	expect(!come(1, 1, 50, 1, 0, now) && !come(2, 1, 50, 1, 0, now), "the others");
	expect(env.g.state == INC_GROUP_JOINING, "the group forms with a ghost");
	expect(!come(0, 1, 50, 1, 0, now) && env.g.state == INC_GROUP_ACTIVE, "state %u",
	       env.g.state);
	env.seen = env.logged;
	end();
}

static int join_moved(u32 rank, u32 move, u64 now)
{
	struct netinc_peer peer = peer_of(rank);
	struct inc_join j = join_of(rank, 0);
	struct netinc_pkt pkt = { .type = INC_PKT_JOIN, .group = 77, .span = 1, .child = rank };

	j.lineage = cpu_to_be64(LINEAGE);
	j.move = cpu_to_be32(move);
	return netinc_group_join(&env.g, &pkt, &j, &peer, now, &env.detail);
}

/* The first one that has come after a move goes again: what do the others hear who come then? */
static void test_first_mover_goes(void)
{
	struct netinc_group_cfg cfg = { .id = 77, .incarnation = 0x1234, .size = SIZE,
					.block = INC_MAX_BLOCK,
					.settings = { .window = W, .dead_ms = DEAD,
						      .fallback = INC_FALLBACK_EDGE },
					.secret = { 1, 2 }, .lineage = LINEAGE, .move = 1 };
	u64 now = 2000;
	int code;

	memset(&env, 0, sizeof(env));
	env.mem = calloc(1, netinc_group_bytes(SIZE, W));
	netinc_group_init(&env.g, &cfg, env.mem, &ops, &agg_ops);
	expect(!join_moved(0, 1, now), "rank 0");
	expect(!abort_rank(0, INC_ERR_RANK_ABORT, 100, now + 1), "and gives up");
	expect(!netinc_group_tick(&env.g, now + 2), "the group is still there");
	code = join_moved(1, 1, now + 3);
	expect(!code, "rank 1: %d; state %u, error %u", code, env.g.state, env.g.error.code);
	code = join_moved(1, 1, now + DEAD * NETINC_MS + 3);
	expect(!code, "rank 1 a dead limit later: %d", code);
	env.seen = env.logged;
	end();
}

static const struct ktap_test tests[] = {
	KTAP(test_other_blocks), KTAP(test_plan), KTAP(test_arrive), KTAP(test_restart),
	KTAP(test_restarts),
	KTAP(test_not_moved), KTAP(test_late_packets), KTAP(test_refused), KTAP(test_refused_above),
	KTAP(test_thrown_away), KTAP(test_leave), KTAP(test_leave_unheard),
	KTAP(test_begun), KTAP(test_plan_again), KTAP(test_restart_ghost),
	KTAP(test_first_mover_goes),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
