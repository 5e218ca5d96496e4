// SPDX-License-Identifier: GPL-2.0-only
/* The control packets that a group sends to its members: WAIT, READY, PEERS, ERROR. */
#include "group.h"

#define PEERS		20u			/* addresses in one packet */

bool netinc_group_may_answer(struct netinc_group *g, u32 child, enum netinc_group_answer what)
{
	struct netinc_member *m = &g->members[child];

	if (m->buffer != g->buffer) {
		m->buffer = g->buffer;
		m->answered = 0;
	}
	if (m->answered & what)
		return false;
	m->answered |= what;
	return true;
}

/* The lowest rank that is waited for, NETINC_NO_RANK: none. */
static u32 missing_rank(const struct netinc_group *g)
{
	const struct netinc_member *m;
	u32 i;

	for (i = 0; i < g->nmembers; i++) {
		m = &g->members[i];
		if (g->state == INC_GROUP_RESYNC ? !m->rejoined :
						   !m->present && !m->gone && !g->owner[m->low])
			return m->low;
	}
	return NETINC_NO_RANK;
}

void netinc_group_send_wait(struct netinc_group *g, u32 child, u32 pause)
{
	const struct netinc_member *m = &g->members[child];
	struct inc_wait_pkt body = { .nonce = cpu_to_be32(m->nonce),
				     .joined = cpu_to_be32(g->joined),
				     .pause = cpu_to_be32(pause),
				     .missing = cpu_to_be32(missing_rank(g)) };
	struct netinc_pkt pkt;

	if (g->up.counts_valid) {
		body.joined = cpu_to_be32(g->up.joined);
		body.missing = cpu_to_be32(g->up.missing);
	}
	netinc_agg_header(&g->agg, &pkt, INC_PKT_WAIT);
	pkt.child = m->low;
	g->ops->send(g, child, &pkt, &body, sizeof(body));
}

void netinc_group_send_ready(struct netinc_group *g, u32 child)
{
	const struct netinc_member *m = &g->members[child];
	struct netinc_pkt pkt;
	struct netinc_ready_body body = { .ready = {
		.nonce = cpu_to_be32(m->nonce),
		.start = cpu_to_be64(g->agg.start),
		.up_cookie = cpu_to_be64(m->cookie),
		.down_cookie = cpu_to_be64(g->down_cookie),
		.size = cpu_to_be32(g->cfg.size),
		.children = cpu_to_be16(m->ranks),
		.trees = cpu_to_be16(g->agg.spread.trees),
		.block = cpu_to_be16(g->block),
		.rank = cpu_to_be16(m->low),
		.opseq = cpu_to_be32(g->opseq),
		.move = cpu_to_be32(g->move),
		.standbys = g->cfg.nstandby,
		.late_policy = g->cfg.stripe << INC_JOIN_STRIPE_SHIFT,
		.height = g->levels | (g->tree_order ? INC_READY_TREE_ORDER : 0),
		.lineage = cpu_to_be64(g->cfg.lineage),
	} };
	bool lacks = netinc_kinds_any(g->cfg.settings.lacks);
	u64 key[2];
	u32 i;

	netinc_settings_to_ready(&g->cfg.settings, &body);
	if (child && child < g->agg.spread.trees) {
		netinc_tree_key(g, child, key);
		body.ready.tree_key[0] = cpu_to_be64(key[0]);
		body.ready.tree_key[1] = cpu_to_be64(key[1]);
	}
	netinc_addr_build(&body.ready.edge, netinc_group_edge(g));
	for (i = 0; i < g->cfg.nstandby; i++)
		netinc_addr_build(&body.ready.standby[i], &g->cfg.standby[i]);
	netinc_agg_header(&g->agg, &pkt, INC_PKT_READY);
	/* the number by which it knows itself as long as it has not had this */
	pkt.child = g->shrunk && g->shrunk == g->epoch ? m->old : m->low;
	g->ops->send(g, child, &pkt, &body,
		     sizeof(body.ready) + (lacks ? sizeof(body.lacks) : 0));
}

/* Where rank @rank is, and how @child makes itself known to its tree. */
static void build_peer(const struct netinc_group *g, u32 child, u32 rank, struct inc_peer *peer)
{
	u64 key[2], c;

	memset(peer, 0, sizeof(*peer));
	netinc_addr_build(&peer->addr, &g->members[rank].peer);
	if (!rank || rank >= g->agg.spread.trees)
		return;
	netinc_tree_key(g, rank, key);
	c = netinc_tree_cookie(key, child);
	peer->cookie[0] = cpu_to_be32((u32)(c >> 32));
	peer->cookie[1] = cpu_to_be32((u32)c);
}

void netinc_group_send_peers(struct netinc_group *g, u32 child, u32 first)
{
	struct {
		struct inc_peers peers;
		struct inc_peer peer[PEERS];
	} m;
	u32 n = min(g->cfg.size - first, PEERS), i;
	struct netinc_pkt pkt;

	/* where nodes are children nobody knows all */
	if (!g->cfg.settings.fallback || g->levels)
		return;
	m.peers.first = cpu_to_be32(first);
	m.peers.n = cpu_to_be32(n);
	for (i = 0; i < n; i++)
		build_peer(g, child, first + i, &m.peer[i]);
	netinc_agg_header(&g->agg, &pkt, INC_PKT_PEERS);
	pkt.child = child;
	g->ops->send(g, child, &pkt, &m, sizeof(m.peers) + n * sizeof(m.peer[0]));
}

void netinc_group_send_error(struct netinc_group *g, u32 child)
{
	struct inc_error_pkt body;
	struct netinc_pkt pkt;

	netinc_agg_header(&g->agg, &pkt, INC_PKT_ERROR);
	pkt.child = child == NETINC_ALL ? 0 : g->members[child].low;
	pkt.psn = (u32)g->error.block;
	netinc_error_build(&body, &g->error);
	netinc_count(g->counters, INC_C_ERRORS);
	g->ops->send(g, child, &pkt, &body, sizeof(body));
}
