// SPDX-License-Identifier: GPL-2.0-only
/* Ports of a node: what came and went by each of them. */
#include <linux/slab.h>
#include "node/node.h"

static void port_free(struct rcu_head *rcu)
{
	struct netinc_port *port = container_of(rcu, struct netinc_port, rcu);

	free_percpu(port->stats);
	kfree(port);
}

struct netinc_port *netinc_port_get(struct netinc_node *node, const struct net_device *dev)
{
	struct netinc_port *port;

	spin_lock_bh(&node->lock);
	hlist_for_each_entry(port, &node->ports, list)
		if (port->ifindex == dev->ifindex)
			goto out;
	port = NULL;
	if (node->nports >= NETINC_MAX_PORTS)
		goto out;
	port = kzalloc(sizeof(*port), GFP_ATOMIC);
	if (!port)
		goto out;
	port->stats = netinc_stats_alloc(GFP_ATOMIC | __GFP_NOWARN);
	if (!port->stats) {
		kfree(port);
		port = NULL;
		goto out;
	}
	port->ifindex = dev->ifindex;
	strscpy(port->name, dev->name, sizeof(port->name));
	node->nports++;
	hlist_add_head_rcu(&port->list, &node->ports);
out:
	spin_unlock_bh(&node->lock);
	return port;
}

void netinc_ports_free(struct netinc_node *node)
{
	struct netinc_port *port;
	struct hlist_node *tmp;

	hlist_for_each_entry_safe(port, tmp, &node->ports, list)
		call_rcu(&port->rcu, port_free);
}
