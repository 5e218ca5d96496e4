// SPDX-License-Identifier: GPL-2.0-only
/*
 * Results by IP multicast, at a node: the ranks are told to which group of addresses these go, and
 * are called there; who answers a call of this epoch hears. The environment sends results to all
 * who do at once, everything else to each. Rule 15 of protocol.rst.
 */
#include "group.h"

/* until a rank that does not hear is told again, or called; then doubled, up to the longest */
#define TELL_FIRST	(20 * NETINC_MS)
#define TELL_MAX	(60000 * NETINC_MS)
/* of the results of so many blocks at a time it is counted how many had to be sent again */
#define DEAF_BLOCKS	1024u
/* with fewer of them a rank is not taken for deaf */
#define DEAF_RESENT	16u

/* Can this child be reached in that way, as far as the node knows? */
static bool may_hear(struct netinc_group *g, u32 child)
{
	const struct netinc_member *m = &g->members[child];

	return g->cfg.multicast.family && !netinc_group_is_branch(g) && m->present && !m->height &&
	       (!g->ops->multicast || g->ops->multicast(g, child));
}

/* @call: its number, to all; 0: what @child is to join. */
static void send_multicast(struct netinc_group *g, u32 child, u32 call)
{
	struct {
		struct inc_peers peers;
		struct inc_peer peer;
	} m = { .peers = { .first = cpu_to_be32(call), .n = cpu_to_be32(1) } };
	struct netinc_pkt pkt;

	netinc_addr_build(&m.peer.addr, &g->cfg.multicast);
	netinc_agg_header(&g->agg, &pkt, INC_PKT_PEERS);
	pkt.flags = INC_F_MULTICAST;
	pkt.multicast = call;
	pkt.child = call ? 0 : g->members[child].low;
	g->ops->send(g, call ? NETINC_ALL : child, &pkt, &m, sizeof(m));
}

static void set_hears(struct netinc_group *g, u32 child, bool hears)
{
	struct netinc_member *m = &g->members[child];

	if (m->hears == hears)
		return;
	m->hears = hears;
	m->resent_before = g->agg.child[child].resent;
	m->una_before = g->agg.una;
	g->multicast.hearing += hears ? 1 : -1;
	g->multicast.changes++;
}

void netinc_multicast_begin(struct netinc_group *g, u32 child, u64 now)
{
	struct netinc_member *m = &g->members[child];

	m->hears = false;
	m->listened = false;
	m->call_needed = g->multicast.call + 1;
	m->told = now;
	m->tell_pause = TELL_FIRST;
	if (may_hear(g, child))
		send_multicast(g, child, 0);
}

/* Does it lack at least half of what has gone out? Then multicast does not reach it any more. */
static bool is_deaf(struct netinc_group *g, u32 child)
{
	u32 resent = g->agg.child[child].resent - g->members[child].resent_before;
	u64 blocks = g->agg.una - g->members[child].una_before;

	if (resent < DEAF_RESENT && blocks < DEAF_BLOCKS)
		return false;
	g->members[child].resent_before = g->agg.child[child].resent;
	g->members[child].una_before = g->agg.una;
	return resent >= DEAF_RESENT && 2 * (u64)resent >= blocks;
}

/* Has a call come by which the member shows that it hears? It is of somebody, who may lie. */
static bool is_heard_call(const struct netinc_group *g, const struct netinc_member *m, u32 call)
{
	return call && (s32)(call - m->call_needed) >= 0 && (s32)(g->multicast.call - call) >= 0;
}

void netinc_multicast_probed(struct netinc_group *g, u32 child, const struct netinc_pkt *pkt,
			     u64 now)
{
	struct netinc_member *m = &g->members[child];
	bool listens = pkt->flags & INC_F_MULTICAST;
	bool first = listens && !m->listened;

	if (!may_hear(g, child)) {
		set_hears(g, child, false);
		return;
	}
	if (m->hears && is_deaf(g, child))
		m->call_needed = g->multicast.call + 1;
	set_hears(g, child, listens && is_heard_call(g, m, pkt->sig));
	if (m->hears || (!first && now - m->told < m->tell_pause))
		return;
	m->told = now;
	if (first)
		m->listened = true;	/* once in an epoch it need not wait for that */
	else
		m->tell_pause = min_t(u64, 2 * m->tell_pause, TELL_MAX);
	if (listens)
		g->multicast.due = true;
	else
		send_multicast(g, child, 0);
}

void netinc_multicast_tick(struct netinc_group *g)
{
	if (!g->multicast.due)
		return;
	g->multicast.due = false;
	if (!g->running || !g->cfg.multicast.family)
		return;
	if (!++g->multicast.call)
		g->multicast.call++;
	send_multicast(g, NETINC_ALL, g->multicast.call);
}
