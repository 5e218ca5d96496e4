// SPDX-License-Identifier: GPL-2.0-only
/*
 * How an epoch begins at a node, when all JOINs are in or the parent has said READY; rules 6 and 8
 * of protocol.rst as far as one node needs them.
 */
#include "group.h"

static u64 make_cookie(const struct netinc_group *g, u32 epoch, u32 what, u32 child)
{
	__be32 m[5] = { cpu_to_be32(g->cfg.id), cpu_to_be32(g->cfg.incarnation),
			cpu_to_be32(epoch), cpu_to_be32(what), cpu_to_be32(child) };

	return netinc_siphash(m, sizeof(m), g->cfg.secret);
}

u64 netinc_group_member_cookie(const struct netinc_group *g, u32 epoch, u32 child)
{
	return make_cookie(g, epoch, 2, child);
}

static u32 count_trees(const struct netinc_group *g)
{
	u32 most = min(g->cfg.size, g->cfg.settings.window);

	return g->cfg.spread ? min_t(u32, most, INC_MAX_TREES) : 1;
}

/* The epoch that everything has been prepared for begins at block @start. */
static void start_epoch(struct netinc_group *g, u64 start, bool first, u64 now)
{
	struct netinc_member *m = g->members;
	u32 i;

	g->state = INC_GROUP_ACTIVE;
	g->running = true;
	g->forming = 0;
	g->nleft = 0;
	g->rejoined = 0;
	g->late_rank = NETINC_NO_RANK;
	memset(&g->error, 0, sizeof(g->error));
	g->reported.code = INC_ERR_NONE;
	g->down_cookie = make_cookie(g, g->epoch, 1, 0);
	g->agg.header.epoch = g->epoch;
	g->agg.header.cookie = g->down_cookie;
	netinc_spread_init(&g->agg.spread, count_trees(g), g->cfg.settings.window);
	g->agg.block = g->block;
	g->agg.lacks = g->cfg.settings.lacks;
	netinc_agg_start(&g->agg, start);
	g->agg.limit = start;
	g->agg.opseq = first ? g->begun : g->opseq;
	netinc_form_ready_sent(g, now);
	g->multicast.hearing = 0;
	g->multicast.changes++;
	for (i = 0; i < g->nmembers; i++) {
		m[i].cookie = netinc_group_member_cookie(g, g->epoch, m[i].low);
		m[i].rejoined = false;
		m[i].confirmed = false;
		m[i].left = false;	/* of the epoch that failed */
		m[i].heard = now;
		m[i].una = start;
		g->agg.child[i].waits_for = NETINC_NO_RANK;
		netinc_group_send_ready(g, i);
		netinc_group_send_peers(g, i, 0);
		netinc_multicast_begin(g, i, now);
	}
	g->ops->event(g, first ? INC_EVENT_GROUP_FORMED : INC_EVENT_GROUP_EPOCH, NETINC_NO_RANK);
}

/* What the members have said of themselves: returns the lowest block that one of them lacks. */
static u64 survey_members(struct netinc_group *g, u32 *epoch)
{
	const struct netinc_member *m = g->members;
	u64 start = m->next;
	u32 i;

	*epoch = g->epoch;
	g->block = g->cfg.block;
	for (i = 0; i < g->nmembers; i++) {
		if ((s64)(m[i].next - start) < 0)
			start = m[i].next;
		*epoch = max(*epoch, m[i].epoch);
		if (!i || (s32)(m[i].begun - g->begun) > 0)
			g->begun = m[i].begun;
		g->block = min(g->block, m[i].block);
	}
	return start;
}

/*
 * The first epoch: from now on it is settled who is below whom. Where nodes are children it may be
 * that nobody knows where rank 0 is.
 */
static void settle_children(struct netinc_group *g)
{
	u32 window = netinc_children_window(g);

	g->tree_order = !netinc_children_canonical(g) &&
			(!netinc_children_ask_order(g) || netinc_children_many_parts(g));
	netinc_children_number(g, window);
	WRITE_ONCE(g->levels, g->height);
	g->cfg.settings.window = window;
	g->cfg.settings.lacks = netinc_children_lack(g);
	/* who returns has a plan already, which does not change */
	if (g->cfg.returns)
		return;
	if (g->height && !netinc_peer_is_far(netinc_group_edge(g)) && !g->cfg.nstandby)
		g->cfg.settings.fallback = INC_FALLBACK_NONE;
}

void netinc_group_begin_epoch(struct netinc_group *g, u64 now)
{
	bool first = g->state == INC_GROUP_JOINING, shrinks = netinc_group_shrinking(g);
	u32 epoch;
	u64 start;

	netinc_uplink_leave(g);
	if (shrinks)
		netinc_shrink(g);
	else if (!g->settled)
		settle_children(g);
	start = survey_members(g, &epoch);
	if (!first)
		g->opseq = g->error.resume;
	/* contributions that have not come, or were another tree's, have been sent all the same */
	if (!first && (!g->opseq || (s32)(g->begun - g->opseq) > 0))
		g->opseq = g->begun ?: 1;
	WRITE_ONCE(g->epoch, epoch + 1);
	if (shrinks)
		g->shrunk = g->epoch;
	start_epoch(g, start, first, now);
}

/* Does READY of the parent leave as it is what it must not change? */
static bool parent_ready_fits(const struct netinc_group *g, const struct netinc_pkt *pkt,
			      const struct inc_ready *r, u64 start, u16 block)
{
	const struct netinc_settings settings = netinc_settings_from_ready(r);
	const struct netinc_member *m = g->members;
	u32 i;

	for (i = 0; i < g->nmembers; i++) {
		if (!m[i].present)
			continue;
		/* nobody retains results, so all lack the same block */
		if (m[i].next != start || m[i].block < block ||
		    (s32)(pkt->epoch - m[i].epoch) <= 0)
			return false;
		if (g->epoch && (s32)(be32_to_cpu(r->opseq) - m[i].begun) < 0)
			return false;
	}
	if (g->cfg.returns && (be64_to_cpu(r->lineage) != g->cfg.lineage ||
			       settings.window != g->cfg.settings.window ||
			       !netinc_kinds_same(settings.lacks, g->cfg.settings.lacks) ||
			       settings.fallback != g->cfg.settings.fallback))
		return false;
	if (!g->epoch)
		return settings.window <= g->cfg.settings.window;
	return be64_to_cpu(r->lineage) == g->cfg.lineage && block == g->block &&
	       settings.window == g->cfg.settings.window && netinc_ready_height(r) == g->levels &&
	       netinc_ready_tree_order(r) == g->tree_order &&
	       netinc_kinds_same(settings.lacks, g->cfg.settings.lacks) &&
	       settings.fallback == g->cfg.settings.fallback;
}

/* The address of a member: the port of hosts and nodes is the same for all. */
static const struct netinc_peer *any_member(const struct netinc_group *g)
{
	static const struct netinc_peer none;
	u32 i;

	for (i = 0; i < g->nmembers; i++)
		if (g->members[i].present)
			return &g->members[i].peer;
	return &none;
}

/* Ranks take READY only if the places that they may move to can be such. */
static bool parent_plan_ok(const struct netinc_group *g, const struct inc_ready *r)
{
	const struct netinc_peer *member = any_member(g);
	struct netinc_peer peer;
	u32 i;

	if (r->standbys > INC_MAX_STANDBY)
		return false;
	for (i = 0; i < r->standbys; i++) {
		netinc_addr_parse(&r->standby[i], &peer);
		if (!netinc_peer_is_place(&peer, member))
			return false;
	}
	netinc_addr_parse(&r->edge, &peer);
	return !peer.family ||
	       (netinc_peer_is_host(&peer) && peer.udp_port == member->udp_port);
}

static void take_parent_plan(struct netinc_group *g, const struct inc_ready *r)
{
	u32 i;

	g->cfg.nstandby = r->standbys;
	for (i = 0; i < r->standbys; i++)
		netinc_addr_parse(&r->standby[i], &g->cfg.standby[i]);
	netinc_addr_parse(&r->edge, &g->edge);
}

static bool parent_ready_ok(const struct netinc_group *g, const struct netinc_pkt *pkt,
			    const struct inc_ready *r)
{
	struct netinc_settings settings = netinc_settings_from_ready(r);
	u16 block = be16_to_cpu(r->block);

	return be32_to_cpu(r->size) == g->cfg.size && pkt->child == g->up.child &&
	       be16_to_cpu(r->rank) == g->up.child && be16_to_cpu(r->trees) == 1 && r->lineage &&
	       be32_to_cpu(r->move) == g->move && netinc_settings_ok(&settings) &&
	       netinc_ready_stripe(r) == g->cfg.stripe &&
	       parent_plan_ok(g, r) && settings.late_policy != INC_LATE_PARTIAL &&
	       netinc_ready_height(r) &&
	       netinc_ready_ok(r) && block >= INC_MIN_BLOCK && block <= g->cfg.up_block &&
	       block <= g->cfg.block && !(block % INC_BLOCK_ALIGN) &&
	       (s32)(pkt->epoch - g->epoch) > 0 &&
	       pkt->incarnation && pkt->epoch <= NETINC_MAX_EPOCH &&
	       parent_ready_fits(g, pkt, r, be64_to_cpu(r->start), block);
}

int netinc_group_ready(struct netinc_group *g, const struct netinc_pkt *pkt,
		       const struct inc_ready *ready, u64 now)
{
	bool first = g->state == INC_GROUP_JOINING;
	u32 epoch;

	if (be32_to_cpu(ready->nonce) != g->cfg.up_nonce)
		return -INC_C_DROP_STATE;
	if (g->up.state != NETINC_UPLINK_ASKING && g->up.state != NETINC_UPLINK_RESYNC)
		return -INC_C_DROP_DUPLICATE;
	if (g->up.state == NETINC_UPLINK_RESYNC && g->rejoined != g->nmembers)
		return -INC_C_DROP_STATE;
	if (!netinc_ready_whole(ready, pkt->len) || !parent_ready_ok(g, pkt, ready))
		return -INC_C_DROP_MALFORMED;
	g->cfg.settings = netinc_settings_from_ready(ready);
	/* who looks for a group that has moved there does not find this one: levels first */
	WRITE_ONCE(g->levels, netinc_ready_height(ready));
	g->tree_order = netinc_ready_tree_order(ready);
	WRITE_ONCE(g->cfg.lineage, be64_to_cpu(ready->lineage));
	take_parent_plan(g, ready);
	if (!g->settled)
		netinc_children_number(g, g->cfg.settings.window);
	survey_members(g, &epoch);
	g->opseq = be32_to_cpu(ready->opseq);
	g->block = be16_to_cpu(ready->block);
	WRITE_ONCE(g->epoch, pkt->epoch);
	start_epoch(g, be64_to_cpu(ready->start), first, now);
	netinc_uplink_begin(g, pkt, ready, now);
	return 0;
}
