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

static void port_release(struct kref *ref)
{
	struct netinc_port *port = container_of(ref, struct netinc_port, ref);

	call_rcu(&port->rcu, port_free);
}

void netinc_port_put(struct netinc_port *port)
{
	if (port)
		kref_put(&port->ref, port_release);
}

static struct netinc_port *find_port(struct netinc_node *node, const struct net_device *dev)
{
	struct netinc_port *port;

	lockdep_assert_held(&node->lock);
	hlist_for_each_entry(port, &node->ports, list)
		if (port->ifindex == dev->ifindex)
			return port;
	return NULL;
}

static struct netinc_port *new_port(struct netinc_node *node, const struct net_device *dev)
{
	struct netinc_port *port;

	if (node->nports >= NETINC_MAX_PORTS)
		return NULL;
	port = kzalloc(sizeof(*port), GFP_ATOMIC);
	if (!port)
		return NULL;
	port->stats = netinc_stats_alloc(GFP_ATOMIC | __GFP_NOWARN);
	if (!port->stats) {
		kfree(port);
		return NULL;
	}
	kref_init(&port->ref);
	port->ifindex = dev->ifindex;
	strscpy(port->name, dev->name, sizeof(port->name));
	node->nports++;
	hlist_add_head_rcu(&port->list, &node->ports);
	netinc_list_changed(node->nn, NETINC_LIST_NODES);
	return port;
}

struct netinc_port *netinc_port_get(struct netinc_node *node, const struct net_device *dev)
{
	struct netinc_port *port;

	spin_lock_bh(&node->lock);
	port = find_port(node, dev) ?: new_port(node, dev);
	if (port)
		kref_get(&port->ref);
	spin_unlock_bh(&node->lock);
	return port;
}

void netinc_port_renamed(struct netinc_node *node, const struct net_device *dev)
{
	struct netinc_port *port;

	spin_lock_bh(&node->lock);
	port = find_port(node, dev);
	if (port)
		strscpy(port->name, dev->name, sizeof(port->name));
	spin_unlock_bh(&node->lock);
}

void netinc_port_gone(struct netinc_node *node, const struct net_device *dev)
{
	struct netinc_port *port;

	spin_lock_bh(&node->lock);
	port = find_port(node, dev);
	if (port) {
		hlist_del_rcu(&port->list);
		netinc_list_changed(node->nn, NETINC_LIST_NODES);
		node->nports--;
	}
	spin_unlock_bh(&node->lock);
	netinc_port_put(port);
}

void netinc_ports_free(struct netinc_node *node)
{
	struct netinc_port *port;
	struct hlist_node *tmp;

	hlist_for_each_entry_safe(port, tmp, &node->ports, list)
		netinc_port_put(port);
}
