// SPDX-License-Identifier: GPL-2.0-only
/*
 * Trees of groups at the edge. A rank that has heard of all its peers finds the ways to their
 * trees, and asks for its own to be made: the edge, see node.h, does that in process context and
 * then has one more group. What comes for a tree before it is there is lost, and sent again.
 */
#include <linux/rculist.h>
#include <linux/slab.h>
#include "host/retain.h"
#include "node/node_group.h"
#include "node/node.h"
#include "host/rank.h"
#include "node/edge_trees.h"

#define MAX_TREE_REQUESTS	64	/* that have been asked for and not been made */

static void free_tree_paths(struct netinc_path *tree_paths, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		netinc_path_destroy(&tree_paths[i]);
	kfree(tree_paths);
}

void netinc_tree_paths_fini(struct netinc_rank *rank)
{
	free_tree_paths(rank->tree_paths, rank->ntree_paths);
	rank->tree_paths = NULL;
	rank->ntree_paths = 0;
}

static bool find_tree_paths(struct netinc_rank *rank)
{
	const struct netinc_ep *ep = &rank->ep;
	u32 n = ep->spread.trees - 1, i;
	struct netinc_path *tree_paths;

	tree_paths = kcalloc(n, sizeof(*tree_paths), GFP_ATOMIC | __GFP_NOWARN);
	if (!tree_paths)
		return false;
	for (i = 0; i < n; i++) {
		const struct netinc_peer *peer = &ep->peers[i + 1];

		if (!peer->family || netinc_path_init(&tree_paths[i], rank->nn->net, peer,
						      netinc_sport(ep->cfg.group, i + 1),
						      netinc_rank_oif(rank, peer), GFP_ATOMIC)) {
			free_tree_paths(tree_paths, i);
			return false;
		}
	}
	netinc_tree_paths_fini(rank);
	rank->tree_paths = tree_paths;
	rank->ntree_paths = n;
	return true;
}

static bool ask_for_tree(struct netinc_rank *rank)
{
	struct netinc_node *edge = rank->nn->edge;
	const struct netinc_ep *ep = &rank->ep;
	struct netinc_tree_request *request;
	bool room;
	u32 i;

	request = kmalloc(struct_size(request, peers, ep->cfg.size), GFP_ATOMIC | __GFP_NOWARN);
	if (!request)
		return false;
	netinc_tree_describe(&request->tree, ep);
	for (i = 0; i < ep->cfg.size; i++) {
		request->peers[i] = ep->peers[i];
		request->peers[i].ifindex = netinc_rank_oif(rank, &ep->peers[i]);
	}
	spin_lock(&edge->lock);
	room = !edge->dead && edge->ntree_requests < MAX_TREE_REQUESTS;
	if (room) {
		list_add_tail(&request->list, &edge->tree_requests);
		edge->ntree_requests++;
		netinc_node_work(edge);
	}
	spin_unlock(&edge->lock);
	if (!room)
		kfree(request);
	return room;
}

bool netinc_tree_paths_find(struct netinc_ep *ep)
{
	struct netinc_rank *rank = netinc_rank_of(ep);

	lockdep_assert_held(&rank->lock);
	if (!find_tree_paths(rank))
		return false;
	return !ep->cfg.rank || ep->cfg.rank >= ep->spread.trees || ask_for_tree(rank);
}

static struct netinc_tree_request *next_tree_request(struct netinc_node *edge)
{
	struct netinc_tree_request *request;

	spin_lock_bh(&edge->lock);
	request = list_first_entry_or_null(&edge->tree_requests, struct netinc_tree_request, list);
	if (request) {
		list_del(&request->list);
		edge->ntree_requests--;
	}
	spin_unlock_bh(&edge->lock);
	return request;
}

void netinc_edge_make_trees(struct netinc_node *edge)
{
	struct netinc_tree_request *request;

	while ((request = next_tree_request(edge))) {
		/*
		 * one for which there is no room is a root that does not answer, which the ranks
		 * notice
		 */
		netinc_node_group_create_tree(edge, request);
		kfree(request);
	}
}

void netinc_edge_forget_trees(struct netinc_node *edge)
{
	struct netinc_tree_request *request;

	while ((request = next_tree_request(edge)))
		kfree(request);
}

bool netinc_edge_root_alive(const struct netinc_node_group *g)
{
	const struct netinc_group *grp = &g->grp;
	const struct netinc_rank *rank;
	bool found = false;

	rcu_read_lock();
	hlist_for_each_entry_rcu(rank, netinc_hash(g->nn->ranks, grp->cfg.id), hash) {
		const struct netinc_ep *ep = &rank->ep;

		found |= ep->cfg.group == grp->cfg.id && READ_ONCE(ep->cfg.rank) == grp->agg.tree &&
			 READ_ONCE(ep->incarnation) == grp->cfg.incarnation &&
			 READ_ONCE(ep->epoch) == grp->epoch &&
			 READ_ONCE(ep->state) != INC_STATE_FAILED;
	}
	rcu_read_unlock();
	return found;
}
