// SPDX-License-Identifier: GPL-2.0-only
/* Ranks that come and go, or lie, just when their nodes form a group, or end it. */
#include "nodes_env.h"
#include "reduce/reduce.h"

/* A stranger or member at node @n says that it is rank @rank, from the address of rank @from. */
static int join_as(u32 n, u32 from, u32 rank, u32 nonce)
{
	struct inc_join j = { .size = cpu_to_be32(RANKS), .nonce = cpu_to_be32(nonce),
			      .block = cpu_to_be16(128) };
	struct frame f = { .from = RANK_AT + from, .to = n,
			   .pkt = { .type = INC_PKT_JOIN, .group = 77, .span = 1, .child = rank,
				    .len = sizeof(j) } };

	memcpy(f.body, &j, sizeof(j));
	return at_node(&net.node[n], &f);
}

static int give_up_as(u32 n, u32 from, u32 rank, u32 nonce)
{
	struct inc_error_pkt body = { .code = cpu_to_be16(INC_ERR_RANK_ABORT),
				      .resume = cpu_to_be32(nonce),
				      .rank = { cpu_to_be32(rank), cpu_to_be32(~0u) } };
	struct frame f = { .from = RANK_AT + from, .to = n,
			   .pkt = { .type = INC_PKT_ABORT, .group = 77, .span = 1, .child = rank,
				    .len = sizeof(body) } };

	memcpy(f.body, &body, sizeof(body));
	return at_node(&net.node[n], &f);
}

/*
 * Between the JOIN and the READY one rank goes and another one comes: as many, but others. Rank 2's
 * contribution is missing, and nobody is told.
 */
static void test_swapped(void)
{
	const struct netinc_group *g = &net.node[1].g;
	struct load *l;
	struct frame f;
	u32 i, child;

	begin_tree(false, 1, 2, 1, 2);
	for (i = 0; i < RANKS; i++)
		expect(!join_from(i, 0), "rank %u", i);
	f = catch_one(1, INC_PKT_READY);
	expect(!abort_rank(2, INC_ERR_RANK_ABORT), "rank 2 goes");
	expect(!join_as(1, 2, 1, 999), "its host says that rank 1 is there");
	expect(!at_node(&net.node[1], &f), "READY");
	pump();
	contrib(0, 0, 0, 5, 0x1);
	contrib(1, 0, 0, 5, 0x10);
	contrib(3, 0, 0, 5, 0x1000);
	child = netinc_group_child(g, 1);
	if (child != NETINC_NO_RANK) {
		struct frame c = { .from = RANK_AT + 2, .to = 1,
				   .pkt = { .type = INC_PKT_CONTRIB, .group = 77, .span = 1,
					    .child = 1, .epoch = g->epoch,
					    .incarnation = g->cfg.incarnation,
					    .cookie = g->members[child].cookie,
					    .flags = INC_F_PAYLOAD | INC_F_WANT | INC_F_DESC,
					    .len = 8, .dtype = INC_TYPE_I64, .dop = INC_OP_SUM,
					    .sig = 5 } };
		l = load_new(0x7000000);
		l->has_desc = true;
		l->desc.count = cpu_to_be64(5);
		c.load = l;
		at_node(&net.node[1], &c);
		load_put(l);
	}
	pump();
	wait_ms(200);
	for (i = 0; i < RANKS; i++)
		expect(i == 2 || !net.told[i].results[0],
		       "rank %u has a result without rank 2: %#llx", i,
		       (unsigned long long)net.told[i].value[0]);
	end_tree();
}

/* READY is taken by node 1, from which a rank has gone: rank 2 is to hear at once, of @rank. */
static void expect_named(const struct frame *ready, u32 rank)
{
	u64 since = net.now;

	expect(!at_node(&net.node[1], ready), "READY");
	pump();
	while (!net.told[2].errors && net.now - since < 5 * DEAD * NETINC_MS)
		ask_for(20, 0);
	expect(net.now - since < DEAD * NETINC_MS / 2, "rank 2 has heard after %llu ms, code %u",
	       (unsigned long long)((net.now - since) / NETINC_MS), net.told[2].error.code);
	expect(net.told[2].error.rank[0] == rank, "of rank %u, not %u",
	       net.told[2].error.rank[0], rank);
}

/*
 * Rank 1 has gone between JOIN and READY, and somebody has said behind it that he is rank 3, and
 * that he goes: the parent is told of the one that it knows.
 */
static void test_wrong_one_gone(void)
{
	struct frame f;
	u32 i;

	begin_tree(false, 1, 1, 2, 2);
	for (i = 0; i < RANKS; i++)
		expect(!join_from(i, 0), "rank %u", i);
	f = catch_one(1, INC_PKT_READY);
	expect(!abort_rank(1, INC_ERR_RANK_ABORT), "rank 1 goes");
	expect(!join_as(1, 1, 3, 999), "its host says that rank 3 is there");
	expect(!give_up_as(1, 1, 3, 999), "and that it goes");
	expect_named(&f, 1);
	end_tree();
}

/*
 * Rank 1 has gone, and come elsewhere; somebody says that he is rank 3, and then rank 0 goes, or
 * nobody does.
 */
static void gone_before(bool again)
{
	struct frame f;

	begin_tree(false, 1, 1, 2, 2);
	expect(!join_from(0, 0) && !join_from(1, 0), "ranks 0 and 1");
	pump();
	expect(!join_from(2, 0), "rank 2");
	pump();
	wait_ms(100);
	expect(!abort_rank(1, INC_ERR_RANK_ABORT), "rank 1 goes");
	wait_ms(100);
	expect(!join_as(2, 1, 1, 998), "rank 1 at node 2");
	expect(!join_from(3, 0), "rank 3");
	f = catch_one(1, INC_PKT_READY);
	expect(!join_as(1, 1, 3, 999), "its host says that rank 3 is there");
	if (again)
		expect(!abort_rank(0, INC_ERR_RANK_ABORT), "rank 0 goes");
	expect_named(&f, again ? 0 : NETINC_NO_RANK);
	end_tree();
}

static void test_gone_before(void)
{
	gone_before(true);
	gone_before(false);
}

/* Somebody says that he is rank 3, and then rank 1 goes. */
static void test_gone_behind(void)
{
	struct frame f;
	u32 i;

	begin_tree(false, 1, 1, 2, 2);
	for (i = 0; i < RANKS; i++)
		expect(!join_from(i, 0), "rank %u", i);
	f = catch_one(1, INC_PKT_READY);
	expect(!join_as(1, 1, 3, 999), "its host says that rank 3 is there");
	expect(!abort_rank(1, INC_ERR_RANK_ABORT), "rank 1 goes");
	expect_named(&f, 1);
	end_tree();
}

/* A rank is closed, and the one ABORT of its node that says so is lost; then comes an error. */
static void test_abort_before_error(void)
{
	u64 since;
	u32 i;

	form_tree(true, 2, 1, 0, 2);
	reduce(0, 0);
	for (i = 0; i < RANKS; i++)
		expect(!contrib(i, 1, 1, i == 1 ? 6 : 5, 1), "rank %u", i);
	net.lose_type = INC_PKT_ABORT;
	net.lose_from = 2;
	net.lose = 1;
	expect(!abort_rank(3, INC_ERR_RANK_ABORT), "rank 3 is closed");
	since = net.now;
	pump();
	expect(!net.lose && net.node[2].g.state == INC_GROUP_RESYNC, "the error is there");
	for (i = 0; i < 3; i++)
		expect(!join_from(i, 1), "rank %u joins again", i);
	pump();
	while (net.node[0].g.state != INC_GROUP_FAILED && net.now - since < 5 * DEAD * NETINC_MS) {
		for (i = 0; i < 3; i++)
			join_from(i, 1);
		pump();
		wait_ms(20);
	}
	for (i = 0; i < 3; i++)
		expect_error(i, INC_ERR_RANK_ABORT, 3, NETINC_NO_RANK);
	expect(net.now - since < DEAD * NETINC_MS / 2, "after %llu ms",
	       (unsigned long long)((net.now - since) / NETINC_MS));
	end_tree();
}

/* The parent has been silent, the group is over here, and all below know; then READY comes. */
static void test_revived(void)
{
	struct netinc_group *g = &net.node[1].g;
	struct frame f;
	u32 i;

	form_tree(false, 1, 2, 1, 2);
	reduce(0, 0);
	for (i = 0; i < RANKS; i++)
		expect(!contrib(i, 1, 1, i == 1 ? 6 : 5, 1), "rank %u", i);
	pump();
	expect_states(INC_GROUP_RESYNC);
	for (i = 0; i < RANKS; i++)
		expect(!join_from(i, 1), "rank %u joins again", i);
	f = catch_one(1, INC_PKT_READY);
	/* the link is down for a while */
	while (g->state != INC_GROUP_FAILED) {
		net.now += 10 * NETINC_MS;
		join_from(0, 1);
		join_from(2, 1);
		netinc_group_tick(g, net.now);
		while (net.first != net.last) {
			struct frame q = net.queue[net.first++ % QUEUE];

			if (q.to >= RANK_AT)
				at_rank(&net.told[q.to - RANK_AT], &q);
			load_put(q.load);
		}
	}
	expect_error(0, INC_ERR_NODE_DEAD, NETINC_NO_RANK, NETINC_NO_RANK);
	expect_error(2, INC_ERR_NODE_DEAD, NETINC_NO_RANK, NETINC_NO_RANK);
	expect(at_node(&net.node[1], &f) < 0, "READY of the parent is taken");
	expect(g->state == INC_GROUP_FAILED && g->error.code == INC_ERR_NODE_DEAD,
	       "a group that is over is in state %u again, epoch %u, error %u", g->state, g->epoch,
	       g->error.code);
	end_tree();
}

/*
 * Ranks 0 and 3 have disagreed long ago, which the root decides when all have come so far. Then
 * rank 3 is closed, and the one ABORT that says so is lost: the node ends the group by itself, and
 * does not say so any more.
 */
static void test_old_abort(void)
{
	u64 since;

	form_tree(true, 2, 1, 0, 2);
	expect(!contrib(0, 0, 0, 5, 1) && !contrib(3, 0, 0, 6, 1), "they disagree");
	ask_for(2 * DEAD, 0);
	expect(net.node[2].g.state == INC_GROUP_ACTIVE, "state %u", net.node[2].g.state);
	net.lose_type = INC_PKT_ABORT;
	net.lose_from = 2;
	net.lose = 1;
	expect(!abort_rank(3, INC_ERR_RANK_ABORT), "rank 3 is closed");
	since = net.now;
	pump();
	expect(!net.lose && net.node[0].g.state == INC_GROUP_ACTIVE, "the root has heard");
	wait_ms(11);
	expect(!net.told[0].errors, "rank 0 hears %u, which the root, in state %u, has not decided",
	       net.told[0].error.code, net.node[0].g.state);
	while (net.node[0].g.state == INC_GROUP_ACTIVE && net.now - since < 5 * DEAD * NETINC_MS) {
		probe(0, 0);
		probe(1, 0);
		probe(2, 0);
		pump();
		wait_ms(20);
	}
	expect_error(2, INC_ERR_RANK_ABORT, 3, NETINC_NO_RANK);
	expect(net.now - since < DEAD * NETINC_MS / 2, "after %llu ms",
	       (unsigned long long)((net.now - since) / NETINC_MS));
	end_tree();
}

/* Rank 0 leaves in the middle, and rank 3, which has found that, is closed. */
static void test_aborts_after_left(void)
{
	u64 since;

	form_tree(true, 2, 1, 0, 2);
	reduce(0, 0);
	expect(!leave(0, 1, 1), "rank 0 leaves");
	expect(!contrib(3, 1, 1, 5, 1) && !contrib(1, 1, 1, 5, 1), "ranks 3 and 1");
	pump();
	expect(!abort_rank(3, INC_ERR_RANK_ABORT), "rank 3 is closed");
	since = net.now;
	pump();
	while (!net.told[1].errors && net.now - since < 50 * DEAD * NETINC_MS) {
		probe(1, 1);
		probe(2, 1);
		pump();
		wait_ms(20);
	}
	expect(net.told[1].errors, "rank 1 has waited for %llu dead limits",
	       (unsigned long long)((net.now - since) / DEAD / NETINC_MS));
	end_tree();
}

/* JOIN of node @n at node @to with this nonce, for the ranks whose bits of @below are set. */
static int node_joins_at(u32 to, u32 n, u32 nonce, u32 below, bool stale)
{
	struct {
		struct inc_join join;
		__be32 ranks[1];
		struct inc_addr edge;
	} m = { .join = { .size = cpu_to_be32(RANKS), .nonce = cpu_to_be32(nonce),
			  .block = cpu_to_be16(128), .window = cpu_to_be16(W),
			  .below = 1 | (stale ? INC_JOIN_STALE : 0) } };
	struct frame f = { .from = n, .to = to,
			   .pkt = { .type = INC_PKT_JOIN, .group = 77, .span = 1,
				    .child = RANKS, .len = sizeof(m) } };
	u32 i;

	for (i = 0; i < RANKS; i++) {
		if (!(below >> i & 1))
			continue;
		netinc_bit_set(m.ranks, i);
		f.pkt.child = min_t(u16, f.pkt.child, i);
	}
	memcpy(f.body, &m, sizeof(m));
	return at_node(&net.node[to], &f);
}

/* ... at the root, of which nobody hears anything. */
static int node_joins_as(u32 n, u32 nonce, u32 below, bool stale)
{
	int err = node_joins_at(0, n, nonce, below, stale);

	while (net.first != net.last)
		load_put(net.queue[net.first++ % QUEUE].load);
	return err;
}

static int node_joins_for(u32 n, u32 below, bool stale)
{
	return node_joins_as(n, 0x900 + n, below, stale);
}

/* ... for ranks 2 n - 2 and 2 n - 1. */
static int node_joins(u32 n, bool stale)
{
	return node_joins_for(n, 3u << (2 * n - 2), stale);
}

/*
 * A node has come with all ranks, and has been called; a late copy of its first JOIN, for one of
 * them, comes behind that, and it goes unheard. With the others that come from elsewhere the group
 * does not form before it has answered.
 */
static void test_called_before(void)
{
	u32 i;

	begin_tree(false, 0, 0, 0, 0);
	expect(!node_joins_for(1, 0xf, true), "the node comes with all");
	net.now += NETINC_MS;
	expect(!node_joins_for(1, 0x1, false), "a late copy");
	for (i = 1; i < RANKS; i++) {
		net.now += NETINC_MS;
		expect(!join_from(i, 0), "rank %u", i);
		expect(net.node[0].g.state == INC_GROUP_JOINING, "with rank %u: state %u", i,
		       net.node[0].g.state);
	}
	net.now += 60 * NETINC_MS;
	netinc_group_tick(&net.node[0].g, net.now);
	for (i = 1; i < RANKS; i++)
		join_from(i, 0);
	net.now += NETINC_MS;
	expect(!node_joins_for(1, 0x1, false), "it is there");
	expect(net.node[0].g.state == INC_GROUP_ACTIVE, "state %u", net.node[0].g.state);
	end_tree();
}

/*
 * A node has begun anew, with other ranks below it; what it has said before keeps nobody out, and a
 * late copy of that is not taken for its answer to a call.
 */
static void test_begun_anew(void)
{
	struct netinc_group *g = &net.node[0].g;
	u32 i;

	begin_tree(false, 0, 0, 0, 0);
	expect(!node_joins_as(1, 0x800, 0x5, false), "the node comes with ranks 0 and 2");
	net.now += NETINC_MS;
	expect(!node_joins_as(1, 0x801, 0xa, true), "and with 1 and 3 after it has begun anew");
	net.now += NETINC_MS;
	expect(!join_from(0, 0) && !join_from(2, 0), "ranks 0 and 2 come from elsewhere");
	expect(g->joined == RANKS && g->state == INC_GROUP_JOINING, "%u, state %u", g->joined,
	       g->state);
	net.now += NETINC_MS;
	expect(node_joins_as(1, 0x800, 0x5, false) == INC_REFUSE_RANK_TAKEN, "a late copy");
	expect(g->state == INC_GROUP_JOINING, "the group forms with a late copy");
	for (i = 0; i < 3; i++) {
		net.now += 60 * NETINC_MS;
		netinc_group_tick(g, net.now);
		join_from(0, 0);
		join_from(2, 0);
		expect(g->state == INC_GROUP_JOINING, "without the node: state %u", g->state);
	}
	net.now += NETINC_MS;
	expect(!node_joins_as(1, 0x801, 0xa, false), "it is there");
	expect(g->state == INC_GROUP_ACTIVE, "state %u", g->state);
	end_tree();
}

/* The same, with the same lowest rank, in a group that nobody else is in yet. */
static void test_begun_anew_same(void)
{
	const struct netinc_group *g = &net.node[0].g;

	begin_tree(false, 0, 0, 0, 0);
	expect(!node_joins_as(1, 0x800, 0x7, true), "the node comes with three");
	net.now += NETINC_MS;
	expect(!node_joins_as(1, 0x801, 0x5, true), "and with two after it has begun anew");
	expect(g->joined == 2 && !g->owner[1], "%u ranks", g->joined);
	expect(!node_joins_as(1, 0x802, 0x6, true), "and with another one");
	expect(g->joined == 2 && !g->owner[0] && g->owner[1] == 2 && g->owner[2] == 2, "%u ranks",
	       g->joined);
	expect(node_joins_as(2, 0x803, 0x2, true) == INC_REFUSE_RANK_TAKEN, "another node");
	end_tree();
}

/* A node answers a call, and begins anew: its answer is gone, and so are late copies of it. */
static void anew_after_answer(bool copied)
{
	struct netinc_group *g = &net.node[0].g;

	begin_tree(false, 1, 1, 2, 2);
	expect(!node_joins_as(1, 0x800, 0x3, true) && !node_joins(2, true), "JOIN");
	net.now += NETINC_MS;
	expect(!node_joins_as(1, 0x800, 0x3, false), "node 1 answers");
	net.now += NETINC_MS;
	expect(!node_joins_as(1, 0x801, 0x3, true), "and begins anew");
	net.now += NETINC_MS;
	if (copied)
		expect(node_joins_as(1, 0x800, 0x3, false) == INC_REFUSE_UNKNOWN, "a late copy");
	expect(!node_joins(2, false) && g->state == INC_GROUP_JOINING, "node 2 answers: state %u",
	       g->state);
	net.now += NETINC_MS;
	expect(!node_joins_as(1, 0x801, 0x3, false) && g->state == INC_GROUP_ACTIVE,
	       "node 1, too: state %u", g->state);
	end_tree();
}

static void test_begun_anew_answered(void)
{
	anew_after_answer(false);
}

static void test_late_answer(void)
{
	anew_after_answer(true);
}

/* However often it has begun anew, and where it has left: none of its former lives comes back. */
static void test_former_lives(void)
{
	const struct netinc_group *g = &net.node[0].g;
	u32 i;

	begin_tree(false, 1, 1, 2, 2);
	for (i = 0; i < NETINC_MAX_FORMER; i++)
		expect(!node_joins_as(1, 0x800 + i, 0x3, true), "life %u", i);
	for (i = 0; i < NETINC_MAX_FORMER - 1; i++)
		expect(node_joins_as(1, 0x800 + i, 0x3, false) == INC_REFUSE_UNKNOWN, "copy %u", i);
	netinc_end_member(&net.node[0].g, 0, INC_ERR_RANK_ABORT, net.now);
	expect(!g->joined && g->state == INC_GROUP_FAILED, "it has left: state %u", g->state);
	end_tree();

	begin_tree(false, 1, 1, 2, 2);
	expect(!node_joins_as(1, 0x800, 0x3, true) && !node_joins(2, true), "JOIN");
	netinc_end_member(&net.node[0].g, 0, INC_ERR_RANK_ABORT, net.now);
	expect(!node_joins_as(1, 0x801, 0x1, true), "it comes again, with one rank");
	expect(node_joins_as(1, 0x800, 0x3, false) == INC_REFUSE_UNKNOWN, "a late copy");
	expect(!node_joins_as(1, 0x801, 0x3, true) && g->joined == RANKS, "%u ranks", g->joined);
	end_tree();
}

/* One that begins anew may ask another address of its parent: it is answered from there. */
static void test_anew_elsewhere(void)
{
	begin_tree(false, 1, 1, 2, 2);
	expect(!node_joins_as(1, 0x800, 0x3, true) && net.links == 1, "%u paths", net.links);
	expect(!node_joins_as(1, 0x800, 0x3, true) && net.links == 1, "%u paths", net.links);
	expect(!node_joins_as(1, 0x801, 0x3, true) && net.links == 2, "%u paths", net.links);
	end_tree();
}

/* Two nodes behind an address that is translated differ by their ports. */
static void test_one_address(void)
{
	struct netinc_group *g = &net.node[0].g;
	u32 i;

	begin_tree(false, 0, 0, 0, 0);
	for (i = 0; i < 20 && g->state == INC_GROUP_JOINING; i++) {
		net.port = 1;
		expect(!node_joins_as(1, 0x800, 0x3, false), "the first");
		net.now += NETINC_MS;
		net.port = 2;
		expect(!node_joins_as(1, 0x801, 0xc, false), "the second");
		net.now += 20 * NETINC_MS;
		netinc_group_tick(g, net.now);
	}
	expect(g->state == INC_GROUP_ACTIVE, "after %u rounds %u ranks, state %u", i, g->joined,
	       g->state);
	end_tree();
}

/* Who has a node's address, but not its port, does not take its place. */
static void test_thrown_out(void)
{
	const struct netinc_group *g = &net.node[0].g;

	begin_tree(false, 1, 1, 2, 2);
	net.port = 1;
	expect(!node_joins_as(1, 0x800, 0x3, true), "node 1");
	net.now += NETINC_MS;
	net.port = 2;
	expect(node_joins_as(1, 0x801, 0x2, true) == INC_REFUSE_RANK_TAKEN, "another port");
	expect(node_joins_as(1, 0x801, 0x3, true) == INC_REFUSE_RANK_TAKEN, "and all its ranks");
	expect(g->joined == 2 && g->owner[0] == 1, "%u ranks", g->joined);
	end_tree();
}

/*
 * A node that is neither root nor leaf tells its parent that the ranks of a child which has begun
 * anew are others, though they are as many: READY for those before is none for it.
 */
static void test_begun_anew_news(void)
{
	const struct netinc_group *g = &net.node[1].g;

	begin_tree(true, 0, 0, 0, 0);
	expect(!node_joins_at(1, 2, 0x800, 0x4, false), "with rank 2");
	expect(g->up.state == NETINC_UPLINK_ASKING && !g->up.news && g->up.below[0] == 0x4,
	       "state %u, news %u, ranks %#x", g->up.state, g->up.news, g->up.below[0]);
	net.now++;
	expect(!node_joins_at(1, 2, 0x801, 0x8, false), "and anew with rank 3");
	expect(g->up.news && g->up.gone == 2, "news %u, gone %d", g->up.news, (int)g->up.gone);
	end_tree();
}

/*
 * Rank 1 goes, which its node says; but READY for what it had said before comes. No result is to
 * come about without rank 1.
 */
static void test_ready_crosses_join(void)
{
	struct frame ready, f;
	u64 end;
	u32 i;

	begin_tree(false, 1, 1, 2, 2);
	for (i = 0; i < RANKS; i++)
		expect(!join_from(i, 0), "rank %u", i);
	ready = catch_one(1, INC_PKT_READY);
	expect(!abort_rank(1, INC_ERR_RANK_ABORT), "rank 1 goes");
	/* all between node 1 and its parent is lost */
	for (end = net.now + 60 * NETINC_MS; net.now < end;) {
		tick_nodes();
		while (net.first != net.last) {
			f = net.queue[net.first % QUEUE];
			if (f.to != 1 && f.from != 1) {
				deliver();
				continue;
			}
			net.first++;
			load_put(f.load);
		}
	}
	expect(!net.node[1].g.up.news, "the parent has been told");
	expect(!at_node(&net.node[1], &ready), "READY");
	pump();
	contrib(0, 0, 0, 5, 0x1);
	contrib(2, 0, 0, 5, 0x100);
	contrib(3, 0, 0, 5, 0x1000);
	pump();
	wait_ms(200);
	for (i = 0; i < RANKS; i++)
		expect(!net.told[i].results[0], "rank %u has a result without rank 1: %#llx", i,
		       (unsigned long long)net.told[i].value[0]);
	end_tree();
}

/*
 * All ranks have come to two nodes, which answer each call, one after the other. Each JOINs every
 * 200 ms, too, and says then that its ranks have not been heard just now.
 */
static void test_never_forms(void)
{
	u32 i;

	begin_tree(false, 1, 1, 2, 2);
	expect(!node_joins(1, true) && !node_joins(2, true), "JOIN");
	for (i = 0; i < 100 && net.node[0].g.state == INC_GROUP_JOINING; i++) {
		net.now += NETINC_MS;
		node_joins(1, false);
		net.now += 100 * NETINC_MS;
		netinc_group_tick(&net.node[0].g, net.now);
		node_joins(1, true);
		net.now += NETINC_MS;
		node_joins(2, false);
		net.now += 100 * NETINC_MS;
		netinc_group_tick(&net.node[0].g, net.now);
		node_joins(2, true);
	}
	expect(net.node[0].g.state == INC_GROUP_ACTIVE, "state %u after %u dead limits",
	       net.node[0].g.state, i / 5);
	end_tree();
}

/*
 * A node in the middle and the one below it have been called, which has answered for rank 1; then
 * comes a late copy of what that had said when rank 0 was there, too, and no rank had been heard
 * for long. The answer was not for rank 0: the group does not form here, with a rank that is
 * elsewhere.
 */
static void test_copy_after_answer(void)
{
	const struct netinc_group *g = &net.node[1].g;
	const struct inc_join *said;
	struct frame f;
	u32 i;

	begin_tree(true, 0, 2, 1, 1);
	for (i = 1; i < RANKS; i++)
		expect(!join_from(i, 0), "rank %u", i);
	pump();
	wait_ms(50);
	expect(!join_from(0, 0), "rank 0 comes to the root, which calls");
	do {
		f = catch_one(0, INC_PKT_JOIN);
		said = (const void *)f.body;
	} while (f.to == 0 && (said->below & INC_JOIN_STALE));
	expect(g->called && !g->members[1].stale && g->members[1].heard > g->called,
	       "node 2 has not answered");
	net.now += NETINC_MS;
	expect(!node_joins_at(1, 2, 0x902, 0x3, true), "the late copy");
	expect(g->state == INC_GROUP_JOINING, "state %u", g->state);
	for (i = 0; i < 10; i++) {
		wait_ms(30);
		join(i % RANKS);
	}
	expect_states(INC_GROUP_ACTIVE);
	expect(net.node[0].g.nmembers == 2 && g->nmembers == 3, "%u and %u children",
	       net.node[0].g.nmembers, g->nmembers);
	end_tree();
}

/* WAIT of node 0 to node 1, of which all ranks but @missing have come. */
static int parent_waits(u32 missing, u32 pause)
{
	struct inc_wait_pkt w = { .nonce = cpu_to_be32(0x901), .joined = cpu_to_be32(RANKS),
				  .missing = cpu_to_be32(missing), .pause = cpu_to_be32(pause) };
	struct frame f = { .from = 0, .to = 1,
			   .pkt = { .type = INC_PKT_WAIT, .group = 77, .span = 1, .child = 1,
				    .len = sizeof(w) } };

	memcpy(f.body, &w, sizeof(w));
	return at_node(&net.node[1], &f);
}

/*
 * The parent has called by mistake, and says so before the next tick; ranks that come here then do
 * not form a group with one that may have gone since the call.
 */
static void test_call_taken_back(void)
{
	const struct netinc_group *g = &net.node[1].g;

	begin_tree(true, 1, 1, 1, 1);
	expect(!join_from(1, 0) && !join_from(2, 0), "ranks 1 and 2");
	net.now += 400 * NETINC_MS;
	expect(!parent_waits(NETINC_NO_RANK, 0), "the parent calls");
	net.now += NETINC_MS;
	expect(g->called && !join_from(1, 0), "rank 1 answers");
	expect(!parent_waits(3, 50000), "rank 3 is missing");
	net.now += 400 * NETINC_MS;
	expect(!join_from(0, 0) && !join_from(2, 0) && !join_from(3, 0), "all but rank 1");
	expect(g->joined == RANKS && g->state == INC_GROUP_JOINING, "%u ranks, state %u",
	       g->joined, g->state);
	expect(!join_from(1, 0) && g->state == INC_GROUP_ACTIVE, "with rank 1: state %u",
	       g->state);
	end_tree();
}

static const struct ktap_test tests[] = {
	KTAP(test_swapped), KTAP(test_ready_crosses_join), KTAP(test_wrong_one_gone),
	KTAP(test_abort_before_error), KTAP(test_revived), KTAP(test_old_abort),
	KTAP(test_never_forms), KTAP(test_copy_after_answer),
	KTAP(test_call_taken_back),
	KTAP(test_called_before), KTAP(test_begun_anew),
	KTAP(test_begun_anew_same), KTAP(test_begun_anew_answered), KTAP(test_begun_anew_news),
	KTAP(test_late_answer), KTAP(test_former_lives), KTAP(test_anew_elsewhere),
	KTAP(test_one_address), KTAP(test_thrown_out),
	KTAP(test_gone_before), KTAP(test_gone_behind), KTAP(test_aborts_after_left),
};

int main(int argc, char **argv)
{
	netinc_reduce_init(0);
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
