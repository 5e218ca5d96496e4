// SPDX-License-Identifier: GPL-2.0-only
/*
 * May a node have one more group? Its own limit, what one peer may have for itself, and the limits
 * of the namespace and its owner. A peer whose groups nobody else has joined, for instance because
 * nobody else ever will, gets at most a quarter of what the node has, and all behind one port of
 * the bridge together half, of its groups and of the memory that the namespace has for them: the
 * others can always form theirs.
 */
#include <linux/rculist.h>
#include "node/node_group.h"
#include "node/node.h"
#include "node/tenant.h"

/* Groups, also those that are over, and the bytes that were reserved for them. */
struct quota_usage {
	u32 groups;
	u64 bytes;
};

struct group_usage {
	u32 live;			/* groups that are not over */
	struct quota_usage peer;	/* with nobody from another address than the asking one's */
	struct quota_usage port;	/* with nobody from another port */
};

static void add_to_quota(struct quota_usage *usage, bool alone, u64 bytes)
{
	usage->groups += alone;
	usage->bytes += alone ? bytes : 0;
}

static void count_group(struct group_usage *c, const struct netinc_creator *f,
			const struct netinc_creator *asking, bool live, u64 bytes)
{
	bool peer = !READ_ONCE(f->others) && netinc_peer_same_host(&f->peer, &asking->peer);
	bool port = !READ_ONCE(f->ports) && f->ifindex == asking->ifindex;

	c->live += live;
	add_to_quota(&c->peer, peer, bytes);
	add_to_quota(&c->port, port, bytes);
}

/*
 * Groups that are over are kept to answer their members. They are in nobody's way but their
 * maker's, who could have all memory for groups in those that fail one after the other.
 */
static void count_groups(struct netinc_node *node, const struct netinc_creator *asking,
			 struct group_usage *c)
{
	const struct netinc_node_group *g;
	u32 i;

	lockdep_assert_held(&node->lock);
	memset(c, 0, sizeof(*c));
	for (i = 0; i < node->npending; i++)
		if (!netinc_node_group_find_for(node->nn, node->pending[i].job,
						node->pending[i].group, node->pending[i].stripe,
						node->pending[i].tenant,
						node->pending[i].creator.vrf))
			count_group(c, &node->pending[i].creator, asking, true,
				    netinc_node_group_memory(&node->cfg, &node->pending[i]));
	for (i = 0; i < ARRAY_SIZE(node->nn->groups); i++)
		hlist_for_each_entry_rcu(g, &node->nn->groups[i], hash)
			if (g->node == node)
				count_group(c, &g->creator, asking, !netinc_group_over(&g->grp),
					    g->memory);
}

/*
 * Is the device by which it asks one of several? That of a node on a NIC is not; and what comes by
 * a bridge itself is a frame of which the bridge's hook could not say for which device it was.
 */
static bool has_ports(const struct netinc_node *node, const struct netinc_creator *asking)
{
	return asking->ifindex != node->ifindex ||
	       (node->dev && netif_is_bridge_master(node->dev));
}

/* May these, who have one group always, have one more that needs @bytes? */
static bool quota_is_full(const struct quota_usage *usage, u32 groups, u64 memory, u64 bytes,
			  u64 *limit)
{
	if (usage->groups >= max(groups, 1u)) {
		*limit = max(groups, 1u);
		return true;
	}
	*limit = memory;
	return usage->groups && usage->bytes + bytes > memory;
}

/*
 * At the node's own limits? Those groups that are over may be a few times as many. At the edge only
 * ranks of this host have groups made, and their users are charged: the memory is not divided.
 */
static bool node_full(struct netinc_node *node, const struct netinc_pending_group *pending,
		      u64 *limit)
{
	u64 memory = netinc_node_is_edge(node) ?
			     U64_MAX : atomic64_read(&node->nn->max[INC_LIMIT_SLOT_MEMORY]);
	u64 used = atomic64_read(&node->nn->account.use[INC_LIMIT_SLOT_MEMORY]);
	u64 bytes = netinc_node_group_memory(&node->cfg, pending);
	u32 max = node->cfg.max_groups, all = atomic_read(&node->ngroups);
	const struct netinc_creator *asking = &pending->creator;
	struct group_usage c;

	if (all + node->npending < max(max / 4, 1u) &&
	    used + (node->npending + 1) * bytes <= memory / 4)
		return false;
	count_groups(node, asking, &c);
	if (quota_is_full(&c.peer, max / 4, memory / 4, bytes, limit))
		return true;
	if (has_ports(node, asking) &&
	    quota_is_full(&c.port, max / 2, memory / 2, bytes, limit))
		return true;
	*limit = max;
	return c.live >= max || all >= 8 * max;
}

/*
 * Those that wait to be made are not charged yet, and may be refused then. A peer hears of the
 * namespace's limit also where its owner has met his.
 */
static int check_charges(const struct netinc_node *node, const struct netinc_pending_group *pending,
			 struct netinc_user *payer, u64 *limit)
{
	struct netinc_charge_item item[NETINC_GROUP_CHARGES];
	u32 n = netinc_node_group_charges(node->nn, payer, &node->cfg, pending, item);
	const struct netinc_charge_item *full = netinc_charge_all(item, n);
	struct netinc_tenant *tenant = pending->tenant;

	if (!full) {
		netinc_uncharge_all(item, n);
		return 0;
	}
	if (tenant && full->account == &tenant->account) {
		*limit = atomic64_read(&tenant->max[full->what]);
		return INC_REFUSE_QUOTA;
	}
	*limit = atomic64_read(&node->nn->max[full->what]);
	return INC_REFUSE_LIMIT;
}

int netinc_quota_check(struct netinc_node *node, const struct netinc_pending_group *pending,
		       u64 *limit)
{
	struct netinc_user *payer;
	int code;

	lockdep_assert_held(&node->lock);
	*limit = node->cfg.max_groups;
	if (node_full(node, pending, limit))
		return INC_REFUSE_LIMIT;
	payer = netinc_node_payer(node, pending);
	if (!payer)
		return INC_REFUSE_NO_NODE;
	code = check_charges(node, pending, payer, limit);
	netinc_user_put(payer);
	return code;
}

void netinc_creator_note(struct netinc_creator *f, const struct netinc_peer *peer, u32 ifindex)
{
	if (!netinc_peer_same_host(&f->peer, peer))
		WRITE_ONCE(f->others, true);
	if (f->ifindex != ifindex)
		WRITE_ONCE(f->ports, true);
}
