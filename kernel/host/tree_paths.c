// SPDX-License-Identifier: GPL-2.0-only
/*
 * An epoch of several trees, see engine/spread.h: a rank that has heard of all its peers finds the
 * paths to the roots, and asks the edge of its own box for the tree whose root is here.
 */
#include <linux/slab.h>
#include "host/rank.h"
#include "host/tree_paths.h"
#include "node/edge.h"

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
	u64 job = ep->cfg.job;

	/* what has been charged for is room for those of one epoch */
	netinc_tree_paths_fini(rank);
	tree_paths = kcalloc(n, sizeof(*tree_paths), GFP_ATOMIC | __GFP_NOWARN);
	if (!tree_paths)
		return false;
	for (i = 0; i < n; i++) {
		const struct netinc_peer *peer = &ep->peers[i + 1];

		if (!peer->family || netinc_path_init(&tree_paths[i], rank->nn->net, peer,
						      netinc_sport(job, ep->cfg.group, i + 1,
								   ep->cfg.stripe),
						      netinc_rank_oif(rank, peer), GFP_ATOMIC)) {
			free_tree_paths(tree_paths, i);
			return false;
		}
		tree_paths[i].sk = rank->sk;
	}
	rank->tree_paths = tree_paths;
	rank->ntree_paths = n;
	return true;
}

static bool ask_for_tree(struct netinc_rank *rank)
{
	const struct netinc_ep *ep = &rank->ep;
	struct netinc_tree_request *request = kmalloc(sizeof(*request), GFP_ATOMIC | __GFP_NOWARN);

	if (!request)
		return false;
	request->payer = rank->sk;
	sock_hold(rank->sk);
	request->vrf = rank->vrf;
	request->root_nonce = ep->cfg.nonce;
	netinc_tree_describe(&request->tree, ep);
	return netinc_edge_request_tree(rank->nn, request);
}

bool netinc_tree_paths_find(struct netinc_ep *ep)
{
	struct netinc_rank *rank = netinc_rank_of(ep);

	lockdep_assert_held(&rank->lock);
	if (!find_tree_paths(rank))
		return false;
	return !ep->cfg.rank || ep->cfg.rank >= ep->spread.trees || ask_for_tree(rank);
}
