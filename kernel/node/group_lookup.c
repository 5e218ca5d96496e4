// SPDX-License-Identifier: GPL-2.0-only
/* How a packet or a JOIN finds its group at a node. */
#include <linux/rculist.h>
#include "node/node_group.h"

static struct hlist_head *groups_of(struct netinc_net *nn, u32 id, u64 job)
{
	return &nn->groups[netinc_bucket(nn, id, job)];
}

/* Others are in the same bucket. */
static bool is_named(const struct netinc_node_group *g, u32 id, u64 job)
{
	return g->grp.cfg.id == id && g->grp.cfg.job == job;
}

struct netinc_node_group *netinc_node_group_find(struct netinc_net *nn, u32 id, u32 incarnation,
						 u32 vrf)
{
	struct netinc_demux_key key = { .number = incarnation, .group = id,
					.kind = NETINC_DEMUX_GROUP };
	struct netinc_node_group *g;
	struct rhlist_head *pos;

	rhl_for_each_entry_rcu(g, pos, netinc_demux_find(nn, &key), by_run.list)
		if (netinc_node_group_in_vrf(g, vrf))
			return g;
	return NULL;
}

/* Is it a member of this group that has not heard yet, as far as is known, that it has formed? */
static bool is_joining(const struct netinc_group *grp, const struct netinc_rx *rx, u32 nonce)
{
	u32 child = netinc_group_child(grp, rx->pkt.child);
	const struct netinc_member *m;

	if (child == NETINC_NO_RANK)
		return false;
	m = &grp->members[child];
	return m->present && m->nonce == nonce &&
	       (grp->state == INC_GROUP_JOINING || !m->confirmed) &&
	       netinc_peer_same_host(&m->peer, &rx->peer) && m->peer.ifindex == rx->peer.ifindex;
}

struct netinc_node_group *netinc_node_group_find_joining(const struct netinc_rx *rx, u64 job,
							 u32 nonce)
{
	struct netinc_node_group *g;
	bool found;

	hlist_for_each_entry_rcu(g, groups_of(rx->nn, rx->pkt.group, job), hash) {
		if (!is_named(g, rx->pkt.group, job) || netinc_group_is_branch(&g->grp) ||
		    !netinc_node_group_in_vrf(g, rx->vrf))
			continue;
		/*
		 * Nobody may take the locks of all groups here, so this looks without a lock first,
		 * and again under it. RCU keeps the members as it keeps the group. What is read
		 * while it changes can only hide a rank that gives up, and then the rank is waited
		 * for until it counts as dead.
		 */
		if (!data_race(is_joining(&g->grp, rx, nonce)))
			continue;
		spin_lock_bh(&g->lock);
		found = !g->dead && is_joining(&g->grp, rx, nonce);
		spin_unlock_bh(&g->lock);
		if (found)
			return g;
	}
	return NULL;
}

struct netinc_node_group *netinc_node_group_find_for(struct netinc_net *nn, u64 job, u32 id,
						     u8 stripe,
						     const struct netinc_tenant *tenant,
						     u32 vrf)
{
	struct netinc_node_group *g;

	hlist_for_each_entry_rcu(g, groups_of(nn, id, job), hash)
		if (is_named(g, id, job) && netinc_stripe_same(g->grp.cfg.stripe, stripe) &&
		    !netinc_group_is_branch(&g->grp) && !g->moved &&
		    !netinc_group_over(&g->grp) && (!g->tenant || g->tenant == tenant) &&
		    netinc_node_group_in_vrf(g, vrf))
			return g;
	return NULL;
}

/* The incarnation of a tree at the edge is what its root was told: others may be told the same. */
static bool is_from_child(const struct netinc_group *grp, const struct netinc_pkt *pkt)
{
	u32 child = netinc_group_child(grp, pkt->child);

	return child != NETINC_NO_RANK && !(pkt->cookie ^ grp->members[child].cookie);
}

struct netinc_node_group *netinc_node_group_find_tree(struct netinc_net *nn,
						      const struct netinc_pkt *pkt)
{
	struct netinc_demux_key key = { .token = pkt->tree, .number = pkt->incarnation,
					.group = pkt->group, .kind = NETINC_DEMUX_TREE };
	struct netinc_node_group *g;
	struct rhlist_head *pos;

	rhl_for_each_entry_rcu(g, pos, netinc_demux_find(nn, &key), by_run.list)
		if (is_from_child(&g->grp, pkt))
			return g;
	return NULL;
}

struct netinc_node_group *netinc_node_group_find_moved(struct netinc_node *node, u64 job, u32 id,
						       u64 lineage, u32 move, bool returns,
						       u32 vrf)
{
	struct netinc_node_group *g;

	hlist_for_each_entry_rcu(g, groups_of(node->nn, id, job), hash)
		if (g->node == node && is_named(g, id, job) &&
		    netinc_group_is_for(&g->grp, lineage, move, returns) &&
		    !netinc_group_is_branch(&g->grp) && netinc_node_group_in_vrf(g, vrf))
			return g;
	return NULL;
}

bool netinc_node_group_ended(const struct netinc_rx *rx, const struct inc_join *join)
{
	u64 lineage = be64_to_cpu(join->lineage), job = be64_to_cpu(join->job);
	struct netinc_node_group *g;
	bool found;

	hlist_for_each_entry_rcu(g, groups_of(rx->nn, rx->pkt.group, job), hash) {
		if (!is_named(g, rx->pkt.group, job) || g->grp.cfg.lineage != lineage ||
		    netinc_group_over(&g->grp) || netinc_group_is_branch(&g->grp) ||
		    netinc_group_awaits_return(&g->grp) || !netinc_node_group_in_vrf(g, rx->vrf))
			continue;
		netinc_node_group_lock(g);
		found = !g->dead;
		if (found)
			netinc_group_asked_to_shrink(&g->grp, join, rx->pkt.child, &rx->peer,
						     netinc_now());
		netinc_node_group_unlock(g);
		if (found)
			return true;
	}
	return false;
}

struct netinc_node_group *netinc_node_group_find_shrunk(struct netinc_net *nn, u64 job, u32 id,
							u64 lineage)
{
	struct netinc_node_group *g;

	hlist_for_each_entry_rcu(g, groups_of(nn, id, job), hash)
		if (is_named(g, id, job) && g->grp.cfg.ancestor == lineage &&
		    (READ_ONCE(g->grp.epoch) || !netinc_group_over(&g->grp)))
			return g;
	return NULL;
}

struct netinc_node_group *netinc_node_group_find_over(const struct netinc_rx *rx,
						      const struct inc_join *join)
{
	u64 job = be64_to_cpu(join->job);
	struct netinc_node_group *g;
	bool knows;

	hlist_for_each_entry_rcu(g, groups_of(rx->nn, rx->pkt.group, job), hash) {
		if (!is_named(g, rx->pkt.group, job) || !netinc_group_over(&g->grp) ||
		    netinc_group_is_branch(&g->grp) || !netinc_node_group_in_vrf(g, rx->vrf))
			continue;
		/* as in netinc_node_group_find_joining() */
		if (!data_race(netinc_group_knows(&g->grp, &rx->pkt, join, &rx->peer)))
			continue;
		spin_lock_bh(&g->lock);
		knows = !g->dead && netinc_group_knows(&g->grp, &rx->pkt, join, &rx->peer);
		spin_unlock_bh(&g->lock);
		if (knows)
			return g;
	}
	return NULL;
}
