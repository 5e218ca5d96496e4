// SPDX-License-Identifier: GPL-2.0-only
/*
 * Nodes of a tree whose ranks have other places to go to: what READY says of these, how a rank that
 * goes calls the others, when a node is lost for another one, and when a rank may leave.
 */
#include "nodes_env.h"
#include "reduce/reduce.h"

#define STANDBY_AT	50u

static void form_moving(bool chain, u32 at0, u32 at1, u32 at2, u32 at3)
{
	u32 i;

	begin_tree(chain, at0, at1, at2, at3);
	net.node[0].g.cfg.settings.fallback = INC_FALLBACK_EDGE;
	for (i = 0; i < RANKS; i++)
		join(i);
	wait_ms(50);
	expect_states(INC_GROUP_ACTIVE);
}

static bool is_at(const struct inc_addr *addr, u32 where)
{
	struct netinc_peer want = peer_of(where), got;

	netinc_addr_parse(addr, &got);
	return netinc_peer_same_host(&got, &want) && got.udp_port == want.udp_port;
}

/* Wherever they are, all ranks hear the same: what the root has been told, and where rank 0 is. */
static void test_plan(void)
{
	u32 i;

	begin_tree(true, 2, 1, 0, 2);
	net.node[0].g.cfg.settings.fallback = INC_FALLBACK_EDGE;
	net.node[0].g.cfg.nstandby = 1;
	net.node[0].g.cfg.standby[0] = peer_of(STANDBY_AT);
	for (i = 0; i < RANKS; i++)
		join(i);
	wait_ms(50);
	expect_states(INC_GROUP_ACTIVE);
	for (i = 0; i < RANKS; i++) {
		const struct inc_ready *r = &net.told[i].ready;

		expect(r->height == (2 | INC_READY_TREE_ORDER) &&
		       r->fallback == INC_FALLBACK_EDGE && !r->move,
		       "rank %u: height %u, fallback %u", i, r->height, r->fallback);
		expect(r->standbys == 1 && is_at(&r->standby[0], STANDBY_AT),
		       "rank %u: %u standby nodes", i, r->standbys);
		expect(is_at(&r->edge, RANK_AT), "rank %u: another edge", i);
	}
	end_tree();
}

/* JOIN of node 1, for rank 0, which it says to be at @edge: what node 0 makes of it. */
static u16 edge_said(struct netinc_peer edge)
{
	struct {
		struct inc_join join;
		__be32 ranks[1];
		struct inc_addr edge;
	} m = { .join = { .size = cpu_to_be32(RANKS), .nonce = cpu_to_be32(5),
			  .block = cpu_to_be16(128), .below = 1, .window = cpu_to_be16(W) },
		.ranks = { cpu_to_be32(1) } };
	struct netinc_pkt pkt = { .type = INC_PKT_JOIN, .group = 77, .span = 1 };
	struct netinc_peer peer = peer_of(1);
	u64 detail;
	u16 family;

	static_assert(offsetof(typeof(m), edge) == sizeof(m.join) + sizeof(m.ranks));
	begin_tree(false, 0, 0, 0, 0);
	netinc_addr_build(&m.edge, &edge);
	expect(!netinc_group_join(&net.node[0].g, &pkt, &m.join, &peer, net.now, &detail), "JOIN");
	family = netinc_group_edge(&net.node[0].g)->family;
	end_tree();
	return family;
}

/* A node that lies sends all ranks to where it likes; but to a host, and to INC's port there. */
static void test_edge_said(void)
{
	struct netinc_peer edge = peer_of(RANK_AT);

	expect(edge_said(edge) == NETINC_AF_INET, "a host");
	edge.addr[0] = 224;
	expect(!edge_said(edge), "a group of hosts");
	edge.addr[0] = 127;
	expect(!edge_said(edge), "every host");
	edge.addr[0] = 169;
	edge.addr[1] = 254;
	expect(!edge_said(edge), "a host of one link");
	edge = peer_of(RANK_AT);
	edge.udp_port = cpu_to_be16(53);
	expect(!edge_said(edge), "another port");
	edge.family = 0;
	expect(!edge_said(edge), "nowhere");
}

/* Without an edge, and without standby nodes, there is nowhere to go to. */
static void test_nowhere(void)
{
	u32 i;

	begin_tree(false, 1, 1, 2, 2);
	net.node[0].g.cfg.settings.fallback = INC_FALLBACK_EDGE;
	for (i = 0; i < RANKS; i++)
		join(i);
	/* what node 1 says of rank 0's host is lost on the way */
	while (net.node[0].g.state == INC_GROUP_JOINING) {
		net.node[1].g.members[0].peer.udp_port = 0;
		tick_nodes();
		while (net.first != net.last) {
			net.node[1].g.members[0].peer.udp_port = 0;
			deliver();
		}
	}
	expect(net.node[0].g.cfg.settings.fallback == INC_FALLBACK_NONE, "fallback %u",
	       net.node[0].g.cfg.settings.fallback);
	end_tree();
}

/* One rank goes elsewhere: all others hear so, by the tree. */
static void test_called(void)
{
	u32 i;

	form_moving(true, 2, 1, 0, 2);
	reduce(0, 1);
	expect(!abort_rank(3, INC_ERR_NODE_GONE), "ABORT");
	pump();
	wait_ms(20);
	expect_states(INC_GROUP_FAILED);
	for (i = 0; i < RANKS; i++)
		expect_error(i, INC_ERR_NODE_GONE, NETINC_NO_RANK, NETINC_NO_RANK);
	end_tree();

	/* where there is no other place, nobody says that */
	form_tree(true, 2, 1, 0, 2);
	expect(abort_rank(3, INC_ERR_NODE_GONE) == -INC_C_DROP_MALFORMED, "ABORT");
	wait_ms(20);
	expect_states(INC_GROUP_ACTIVE);
	end_tree();
}

/* Node 2, with ranks 2 and 3, falls silent: what ranks 0 and 1 are told, and when. */
static void silent_node(bool moving, u32 ms, u16 code)
{
	u32 i;

	if (moving)
		form_moving(false, 1, 1, 2, 2);
	else
		form_tree(false, 1, 1, 2, 2);
	net.lose_from = 2;
	net.lose = ~0u;
	/* it has been heard at most a quarter of the dead limit ago */
	ask_for(ms - DEAD / 4 - 50, 0);
	for (i = 0; i < 2; i++)
		expect(!net.told[i].errors, "rank %u is told after %u ms", i, ms - DEAD / 4 - 50);
	ask_for(DEAD / 4 + 150, 0);
	for (i = 0; i < 2; i++)
		expect_error(i, code, 2, NETINC_NO_RANK);
	expect(net.node[0].events[INC_EVENT_RANK_DEAD] == !moving, "%u ranks are dead",
	       net.node[0].events[INC_EVENT_RANK_DEAD]);
	end_tree();
}

/* The ranks below need not be dead: they wait elsewhere, for as long as a dead limit. */
static void test_silent_node(void)
{
	silent_node(true, DEAD - DEAD / 4, INC_ERR_NODE_DEAD);
	silent_node(false, DEAD, INC_ERR_RANK_DEAD);
}

/* What a rank says that is closed before it may go, or goes elsewhere. */
static int close_rank(u32 rank, u16 code)
{
	struct netinc_pkt pkt = rank_pkt(rank, INC_PKT_ABORT);
	struct inc_error_pkt body = { .code = cpu_to_be16(code),
				      .rank = { cpu_to_be32(rank), cpu_to_be32(~0u) } };

	pkt.flags = INC_F_LEAVE;
	return rank_says(rank, &pkt, &body, sizeof(body), NULL);
}

/* A rank whose results others may need does not go before all have left. */
static void test_leave(void)
{
	u32 waits, i;

	form_moving(false, 1, 1, 2, 2);
	reduce(0, 1);
	waits = net.told[0].waits;
	expect(!leave(0, 1, 2), "LEAVE");
	pump();
	expect(net.told[0].waits == waits, "it may go");
	/* it is closed all the same: that ends nothing */
	expect(!close_rank(0, INC_ERR_RANK_ABORT), "ABORT");
	pump();
	expect_states(INC_GROUP_ACTIVE);
	expect(!net.node[1].events[INC_EVENT_RANK_DEAD], "it is dead");
	for (i = 1; i < RANKS; i++)
		expect(!leave(i, 1, 2), "LEAVE of rank %u", i);
	pump();
	expect_states(INC_GROUP_LEFT);
	/* the result is lost: it asks again */
	leave(0, 1, 2);
	pump();
	expect(net.told[0].waits == waits + 1, "it is told nothing");
	end_tree();

	form_tree(false, 1, 1, 2, 2);
	reduce(0, 1);
	waits = net.told[0].waits;
	expect(!leave(0, 1, 2), "LEAVE");
	pump();
	expect(net.told[0].waits == waits + 1, "it may not go");
	end_tree();
}

/* The parent knows the group no more, and all ranks here have left. */
static void forgotten(bool moving, u8 state)
{
	struct inc_refuse body = { .code = cpu_to_be16(INC_REFUSE_UNKNOWN) };
	struct frame f = { .from = 0, .to = 1 };

	if (moving)
		form_moving(false, 1, 1, 2, 2);
	else
		form_tree(false, 1, 1, 2, 2);
	expect(!leave(0, 0, 1) && !leave(1, 0, 1), "LEAVE");
	f.pkt = (struct netinc_pkt){ .type = INC_PKT_REFUSE, .group = 77, .span = 1,
				     .len = sizeof(body), .cookie = net.node[1].g.up.up_cookie,
				     .incarnation = net.node[1].g.up.incarnation };
	memcpy(f.body, &body, sizeof(body));
	expect(!at_node(&net.node[1], &f), "REFUSE");
	expect(net.node[1].g.state == state, "state %u, not %u", net.node[1].g.state, state);
	pump();
	if (moving)
		expect_error(0, INC_ERR_NODE_GONE, NETINC_NO_RANK, NETINC_NO_RANK);
	end_tree();
}

/* Others may need them elsewhere. */
static void test_forgotten(void)
{
	forgotten(true, INC_GROUP_FAILED);
	forgotten(false, INC_GROUP_LEFT);
}

/* What has been a tree begins anew at none of its nodes, whoever comes back to it. */
static void test_no_return(void)
{
	struct netinc_pkt pkt = { .type = INC_PKT_JOIN, .group = 77, .span = 1, .child = 0 };
	struct inc_join j = { .size = cpu_to_be32(RANKS), .nonce = cpu_to_be32(100),
			      .block = cpu_to_be16(128), .move = cpu_to_be32(1) };

	form_moving(false, 1, 1, 2, 2);
	j.lineage = cpu_to_be64(net.node[1].g.cfg.lineage);
	netinc_settings_to_join(&net.node[1].g.cfg.settings, &j);
	expect(rank_says(0, &pkt, &j, sizeof(j), NULL) == INC_REFUSE_MOVED, "JOIN of move 1");
	expect_states(INC_GROUP_ACTIVE);
	reduce(0, 1);
	expect(net.told[3].results[0], "no result");
	end_tree();
}

/* All ranks came to node 1 while it asked its parent, and come back to it from elsewhere. */
static void test_comes_back(void)
{
	struct netinc_pkt pkt = { .type = INC_PKT_JOIN, .group = 77, .span = 1, .child = 0 };
	struct inc_join j = { .size = cpu_to_be32(RANKS), .nonce = cpu_to_be32(100),
			      .block = cpu_to_be16(128), .move = cpu_to_be32(2) };
	u32 i;

	begin_tree(false, 1, 1, 1, 1);
	net.node[1].g.cfg.settings.fallback = INC_FALLBACK_EDGE;
	join(0);
	wait_ms(100);
	expect(net.told[0].wait.missing == cpu_to_be32(1), "node 0 has not said who is missing");
	for (i = 1; i < RANKS; i++)
		join(i);
	wait_ms(50);
	expect(net.node[1].g.state == INC_GROUP_ACTIVE && !net.node[1].g.levels, "no group");
	j.lineage = cpu_to_be64(net.node[1].g.cfg.lineage);
	netinc_settings_to_join(&net.node[1].g.cfg.settings, &j);
	for (i = 0; i < RANKS - 1; i++) {
		pkt.child = i;
		j.nonce = cpu_to_be32(100 + i);
		expect(!rank_says(i, &pkt, &j, sizeof(j), NULL), "JOIN of rank %u", i);
		pump();
		expect(net.told[i].wait.joined == cpu_to_be32(i + 1) &&
		       net.told[i].wait.missing == cpu_to_be32(i + 1),
		       "rank %u hears that %u have come, and %u is missing", i,
		       be32_to_cpu(net.told[i].wait.joined),
		       be32_to_cpu(net.told[i].wait.missing));
	}
	end_tree();
}

/* A rank that waits for others to leave follows one that goes elsewhere: all others hear so. */
static void test_left_is_called(void)
{
	u32 i;

	form_moving(false, 1, 1, 2, 2);
	reduce(0, 1);
	expect(!leave(0, 1, 2), "LEAVE");
	pump();
	expect(!close_rank(0, INC_ERR_NODE_GONE), "ABORT");
	pump();
	wait_ms(20);
	expect_states(INC_GROUP_FAILED);
	for (i = 1; i < RANKS; i++)
		expect_error(i, INC_ERR_NODE_GONE, NETINC_NO_RANK, NETINC_NO_RANK);
	end_tree();
}

/* A rank is closed while READY of the next epoch is on its way: what ends the group is repeated. */
static void test_abort_crosses(void)
{
	struct frame ready;
	u32 i;

	form_tree(false, 1, 1, 2, 2);
	for (i = 0; i < RANKS; i++)
		contrib(i, 0, 0, i == 3 ? 6 : 5, 1);
	pump();
	wait_ms(60);
	expect_states(INC_GROUP_RESYNC);
	for (i = 0; i < RANKS; i++)
		join_from(i, 0);
	ready = catch_one(1, INC_PKT_READY);
	expect(net.node[0].g.epoch == 2 && net.node[1].g.epoch == 1, "epochs %u and %u",
	       net.node[0].g.epoch, net.node[1].g.epoch);
	expect(!close_rank(0, INC_ERR_RANK_ABORT), "ABORT");
	pump();
	expect(!at_node(&net.node[1], &ready), "READY");
	wait_ms(100);
	expect_states(INC_GROUP_FAILED);
	for (i = 2; i < RANKS; i++)
		expect_error(i, INC_ERR_RANK_ABORT, 0, NETINC_NO_RANK);
	end_tree();
}

static const struct ktap_test tests[] = {
	KTAP(test_plan),
	KTAP(test_edge_said),
	KTAP(test_nowhere),
	KTAP(test_called),
	KTAP(test_silent_node),
	KTAP(test_leave),
	KTAP(test_forgotten),
	KTAP(test_no_return),
	KTAP(test_comes_back),
	KTAP(test_left_is_called),
	KTAP(test_abort_crosses),
};

int main(int argc, char **argv)
{
	netinc_reduce_init(0);
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
