// SPDX-License-Identifier: GPL-2.0-only
/*
 * Trees of groups at the edge. A rank that has heard of all its peers finds the ways to their trees, and asks for its
 * own to be made: the edge, see node.h, does that in process context and then has one more group. What comes for a tree
 * before it is there is lost, and sent again.
 */
#include <linux/rculist.h>
#include <linux/slab.h>
#include "host/retain.h"
#include "node/node_group.h"
#include "node/node.h"
#include "host/rank.h"
#include "node/edge_trees.h"

#define MAX_PLANTS	64	/* that have been asked for and not been made */

static void free_ways(struct netinc_path *ways, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		netinc_path_destroy(&ways[i]);
	kfree(ways);
}

void netinc_trees_fini(struct netinc_rank *rank)
{
	free_ways(rank->ways, rank->nways);
	rank->ways = NULL;
	rank->nways = 0;
}

static bool find_ways(struct netinc_rank *rank)
{
	const struct netinc_ep *ep = &rank->ep;
	u32 n = ep->spread.trees - 1, i;
	struct netinc_path *ways;

	ways = kcalloc(n, sizeof(*ways), GFP_ATOMIC | __GFP_NOWARN);
	if (!ways)
		return false;
	for (i = 0; i < n; i++) {
		const struct netinc_peer *peer = &ep->peers[i + 1];

		if (!peer->family || netinc_path_init(&ways[i], rank->nn->net, peer, netinc_sport(ep->cfg.group, i + 1),
						      netinc_failover_oif(rank, peer), GFP_ATOMIC)) {
			free_ways(ways, i);
			return false;
		}
	}
	netinc_trees_fini(rank);
	rank->ways = ways;
	rank->nways = n;
	return true;
}

static bool ask_for_tree(struct netinc_rank *rank)
{
	struct netinc_node *edge = rank->nn->edge;
	const struct netinc_ep *ep = &rank->ep;
	struct netinc_plant *plant;
	bool room;
	u32 i;

	plant = kmalloc(struct_size(plant, peers, ep->cfg.size), GFP_ATOMIC | __GFP_NOWARN);
	if (!plant)
		return false;
	netinc_tree_describe(&plant->tree, ep);
	for (i = 0; i < ep->cfg.size; i++) {
		plant->peers[i] = ep->peers[i];
		plant->peers[i].ifindex = netinc_failover_oif(rank, &ep->peers[i]);
	}
	spin_lock(&edge->lock);
	room = !edge->dead && edge->nplants < MAX_PLANTS;
	if (room) {
		list_add_tail(&plant->list, &edge->plants);
		edge->nplants++;
		netinc_node_work(edge);
	}
	spin_unlock(&edge->lock);
	if (!room)
		kfree(plant);
	return room;
}

bool netinc_trees_spread(struct netinc_ep *ep)
{
	struct netinc_rank *rank = netinc_rank_of(ep);

	lockdep_assert_held(&rank->lock);
	if (!find_ways(rank))
		return false;
	return !ep->cfg.rank || ep->cfg.rank >= ep->spread.trees || ask_for_tree(rank);
}

static struct netinc_plant *next_plant(struct netinc_node *edge)
{
	struct netinc_plant *plant;

	spin_lock_bh(&edge->lock);
	plant = list_first_entry_or_null(&edge->plants, struct netinc_plant, list);
	if (plant) {
		list_del(&plant->list);
		edge->nplants--;
	}
	spin_unlock_bh(&edge->lock);
	return plant;
}

void netinc_trees_plant(struct netinc_node *edge)
{
	struct netinc_plant *plant;

	while ((plant = next_plant(edge))) {
		/* one for which there is no room is a root that does not answer, which the ranks notice */
		netinc_ngroup_plant(edge, plant);
		kfree(plant);
	}
}

void netinc_trees_forget(struct netinc_node *edge)
{
	struct netinc_plant *plant;

	while ((plant = next_plant(edge)))
		kfree(plant);
}

bool netinc_trees_inhabited(const struct netinc_ngroup *g)
{
	const struct netinc_group *eng = &g->eng;
	const struct netinc_rank *rank;
	bool found = false;

	rcu_read_lock();
	hlist_for_each_entry_rcu(rank, netinc_hash(g->nn->ranks, eng->cfg.id), hash) {
		const struct netinc_ep *ep = &rank->ep;

		found |= ep->cfg.group == eng->cfg.id && READ_ONCE(ep->cfg.rank) == eng->agg.tree &&
			 READ_ONCE(ep->incarnation) == eng->cfg.incarnation && READ_ONCE(ep->epoch) == eng->epoch &&
			 READ_ONCE(ep->state) != INC_STATE_FAILED;
	}
	rcu_read_unlock();
	return found;
}
