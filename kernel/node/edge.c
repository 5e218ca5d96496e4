// SPDX-License-Identifier: GPL-2.0-only
/*
 * The edge: what a host is to groups that have lost their node and have a rank here, and to those
 * that meet at their rank 0, which is here. It is a node without a device. Where several hosts are
 * roots of trees, ranks ask for the trees whose root is here: what comes for a tree before it is
 * there is lost, and sent again.
 */
#include <linux/memcontrol.h>
#include <linux/slab.h>
#include "node/edge.h"
#include "node/history.h"
#include "node/node.h"
#include "node/node_group.h"

#define MAX_TREE_REQUESTS	64	/* that have been asked for and not been made */

static void free_request(struct netinc_tree_request *request)
{
	sock_put(request->payer);
	kfree(request);
}

bool netinc_edge_request_tree(struct netinc_net *nn, struct netinc_tree_request *request)
{
	struct netinc_node *edge = nn->edge;
	bool taken;

	spin_lock_bh(&edge->lock);
	taken = !edge->dead && edge->ntree_requests < MAX_TREE_REQUESTS;
	if (taken) {
		list_add_tail(&request->list, &edge->tree_requests);
		edge->ntree_requests++;
		netinc_node_work(edge);
	}
	spin_unlock_bh(&edge->lock);
	if (!taken)
		free_request(request);
	return taken;
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

static void make_trees(struct netinc_node *edge)
{
	struct netinc_tree_request *request;

	while ((request = next_tree_request(edge))) {
		/*
		 * one for which there is no room is a root that does not answer, which the ranks
		 * notice
		 */
		netinc_node_group_create_tree(edge, request);
		free_request(request);
	}
}

static void drop_tree_requests(struct netinc_node *edge)
{
	struct netinc_tree_request *request;

	while ((request = next_tree_request(edge)))
		free_request(request);
}

/*
 * Port and hooks are open as long as the edge has groups, and before it makes one, as far as that
 * is known: a JOIN may come at any time.
 */
static void open_or_close(struct netinc_node *edge)
{
	bool wanted;

	mutex_lock(&edge->nn->mutex);
	wanted = atomic_read(&edge->ngroups) || READ_ONCE(edge->npending) ||
		 READ_ONCE(edge->ntree_requests);
	if (wanted && !edge->in_use) {
		edge->in_use = !netinc_history_init(edge->nn) && !netinc_net_use(edge->nn);
	} else if (!wanted && edge->in_use) {
		edge->in_use = false;
		netinc_net_unuse(edge->nn);
	}
	mutex_unlock(&edge->nn->mutex);
}

static void edge_work(struct work_struct *work)
{
	struct netinc_node *edge = container_of(work, struct netinc_node, work);

	open_or_close(edge);
	netinc_node_make_groups(edge);
	make_trees(edge);
	open_or_close(edge);
	netinc_node_put(edge);
}

int netinc_edge_init(struct netinc_net *nn)
{
	struct netinc_node_cfg cfg;

	netinc_node_cfg_init(&cfg);
	/* of groups that have never been elsewhere */
	cfg.settings.fallback = INC_FALLBACK_EDGE;
	/* who has its ranks pays for each */
	cfg.max_groups = NETINC_MAX_GROUPS;
	nn->edge = netinc_node_alloc(nn, &cfg);
	if (!nn->edge)
		return -ENOMEM;
	INIT_WORK(&nn->edge->work, edge_work);
	return 0;
}

void netinc_edge_gone(struct netinc_net *nn)
{
	netinc_node_work(nn->edge);
}

void netinc_edge_fini(struct netinc_net *nn)
{
	struct netinc_node *edge = nn->edge;

	spin_lock_bh(&edge->lock);
	edge->dead = true;
	spin_unlock_bh(&edge->lock);
	flush_work(&edge->work);
	drop_tree_requests(edge);
	netinc_node_end_groups(edge);
	/*
	 * A timer that has just taken its group out of the hash is about to say that it is gone,
	 * and to give back what the group holds. Where no hook has ever been there are no groups.
	 */
	if (nn->answers)
		synchronize_net();
	flush_work(&edge->work);
	netinc_node_put(edge);
}
