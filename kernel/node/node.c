// SPDX-License-Identifier: GPL-2.0-only
/*
 * Nodes: their configuration and lifetime. Groups that have been asked for are made here, in
 * process context.
 */
#include <linux/inetdevice.h>
#include <linux/memcontrol.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/l3mdev.h>
#include "core/events.h"
#include "node/node_group.h"
#include "node/node.h"
#include "node/history.h"
#include "node/tenant.h"

void netinc_node_cfg_init(struct netinc_node_cfg *cfg)
{
	memset(cfg, 0, sizeof(*cfg));
	cfg->settings.dead_ms = READ_ONCE(netinc_dead_ms);
	cfg->settings.window = 512;
	cfg->max_groups = 64;
	cfg->max_memory = 64 << 20;
}

static void node_free(struct rcu_head *rcu)
{
	kfree_sensitive(container_of(rcu, struct netinc_node, rcu));
}

static void node_release(struct kref *ref)
{
	struct netinc_node *node = container_of(ref, struct netinc_node, ref);

	netinc_ports_free(node);
	mem_cgroup_put(node->memcg);
	call_rcu(&node->rcu, node_free);
}

void netinc_node_get(struct netinc_node *node)
{
	kref_get(&node->ref);
}

void netinc_node_put(struct netinc_node *node)
{
	kref_put(&node->ref, node_release);
}

static bool owns_addr4(const struct net_device *dev, const u8 *local)
{
	const struct in_device *in_dev = __in_dev_get_rcu(dev);
	const struct in_ifaddr *ifa;

	if (!in_dev)
		return false;
	in_dev_for_each_ifa_rcu(ifa, in_dev)
		if (!memcmp(&ifa->ifa_local, local, sizeof(ifa->ifa_local)))
			return true;
	return false;
}

/* Is what @rx was sent to an address of @dev, in the VRF that it came by? */
static bool is_address_of(struct net_device *dev, const struct netinc_rx *rx)
{
	if (l3mdev_master_ifindex_rcu(dev) != rx->vrf)
		return false;
	if (rx->peer.family == AF_INET)
		return owns_addr4(dev, rx->local);
	return ipv6_chk_addr(rx->nn->net, (const void *)rx->local, dev, 1);
}

/* How well a node fits a packet, see netinc_node_for(); 0: not at all. */
static int node_fit(const struct netinc_node *node, const struct netinc_rx *rx)
{
	if (!node->dev)
		return 1;
	if (node->dev == rx->via)
		return 4;
	if (is_address_of(node->dev, rx))
		return 3;
	return rx->vrf && node->ifindex == rx->vrf ? 2 : 0;
}

struct netinc_node *netinc_node_for(const struct netinc_rx *rx)
{
	struct netinc_node *node, *best = NULL;
	int fit, best_fit = 0;

	list_for_each_entry_rcu(node, &rx->nn->nodes, list) {
		fit = node_fit(node, rx);
		if (fit > best_fit) {
			best = node;
			best_fit = fit;
		}
	}
	return best;
}

struct netinc_node *netinc_node_find(struct netinc_net *nn, u32 ifindex)
{
	struct netinc_node *node;

	list_for_each_entry_rcu(node, &nn->nodes, list, lockdep_is_held(&nn->mutex))
		if (node->ifindex == ifindex)
			return node;
	return NULL;
}

/* Groups are made here, in process context, where memory for their slots may be waited for. */
void netinc_node_make_groups(struct netinc_node *node)
{
	struct netinc_pending_group pending;

	for (;;) {
		spin_lock_bh(&node->lock);
		if (!node->npending || node->dead) {
			while (node->npending)
				netinc_tenant_put(node->pending[--node->npending].tenant);
			spin_unlock_bh(&node->lock);
			break;
		}
		pending = node->pending[0];
		spin_unlock_bh(&node->lock);
		netinc_node_group_create(node, &pending);
		/*
		 * stood there until now, so that the JOIN's repetitions do not ask for the group
		 * once more
		 */
		spin_lock_bh(&node->lock);
		if (node->npending) {
			memmove(node->pending, node->pending + 1,
				--node->npending * sizeof(pending));
			netinc_tenant_put(pending.tenant);
		}
		spin_unlock_bh(&node->lock);
	}
}

static void node_work(struct work_struct *work)
{
	struct netinc_node *node = container_of(work, struct netinc_node, work);

	netinc_node_make_groups(node);
	netinc_node_put(node);
}

struct netinc_node *netinc_node_alloc(struct netinc_net *nn, const struct netinc_node_cfg *cfg)
{
	struct netinc_node *node = kzalloc(sizeof(*node), GFP_KERNEL_ACCOUNT);

	if (!node)
		return NULL;
	kref_init(&node->ref);
	spin_lock_init(&node->lock);
	INIT_HLIST_HEAD(&node->ports);
	INIT_LIST_HEAD(&node->tree_requests);
	node->nn = nn;
	node->cfg = *cfg;
	return node;
}

int netinc_node_add(struct netinc_net *nn, struct net_device *dev,
		    const struct netinc_node_cfg *cfg)
{
	struct netinc_node *node;
	int err;

	lockdep_assert_held(&nn->mutex);
	if (netinc_node_find(nn, dev ? dev->ifindex : 0))
		return -EEXIST;
	node = netinc_node_alloc(nn, cfg);
	if (!node)
		return -ENOMEM;
	err = netinc_history_init(nn) ?: netinc_net_use(nn);
	if (err) {
		kfree_sensitive(node);
		return err;
	}
	node->memcg = get_mem_cgroup_from_mm(current->mm);
	INIT_WORK(&node->work, node_work);
	node->dev = dev;
	node->ifindex = dev ? dev->ifindex : 0;
	/* a name that is just being changed is told to the notifier, which waits for nn->mutex */
	strscpy(node->ifname, dev ? dev->name : NETINC_ALL_DEVICES, sizeof(node->ifname));
	netdev_hold(dev, &node->tracker, GFP_KERNEL);
	list_add_tail_rcu(&node->list, &nn->nodes);
	netinc_list_changed(nn, NETINC_LIST_NODES);
	netinc_event_node(nn->net, INC_EVENT_NODE_ADD, node->ifindex);
	return 0;
}

void netinc_node_work(struct netinc_node *node)
{
	netinc_node_get(node);
	if (!queue_work(system_unbound_wq, &node->work))
		netinc_node_put(node);
}

static struct netinc_node_group *any_group(struct netinc_node *node)
{
	struct netinc_node_group *g;
	int i;

	for (i = 0; i < ARRAY_SIZE(node->nn->groups); i++)
		hlist_for_each_entry(g, &node->nn->groups[i], hash)
			if (g->node == node && kref_get_unless_zero(&g->ref))
				return g;
	return NULL;
}

/* No new groups; those that there are go. Packets find the node no more. */
void netinc_node_end_groups(struct netinc_node *node)
{
	struct netinc_net *nn = node->nn;
	struct netinc_node_group *g;

	for (;;) {
		spin_lock_bh(&nn->hash_lock);
		g = any_group(node);
		spin_unlock_bh(&nn->hash_lock);
		if (!g)
			break;
		netinc_node_group_destroy(g);
		netinc_node_group_put(g);
	}
}

/*
 * The node is out of the list, so that after the grace period no packet finds it and no work is
 * queued any more; then its groups, which their members hear of, can only get fewer.
 */
static void node_remove(struct netinc_node *node)
{
	struct netinc_net *nn = node->nn;

	lockdep_assert_held(&nn->mutex);
	list_del_rcu(&node->list);
	netinc_list_changed(nn, NETINC_LIST_NODES);
	spin_lock_bh(&node->lock);
	node->dead = true;
	spin_unlock_bh(&node->lock);
	synchronize_net();
	flush_work(&node->work);
	netinc_node_end_groups(node);
	netinc_event_node(nn->net, INC_EVENT_NODE_DEL, node->ifindex);
	netdev_put(node->dev, &node->tracker);
	netinc_net_unuse(nn);
	netinc_node_put(node);
}

int netinc_node_del(struct netinc_net *nn, u32 ifindex)
{
	struct netinc_node *node = netinc_node_find(nn, ifindex);

	if (!node)
		return -ENODEV;
	node_remove(node);
	return 0;
}

void netinc_node_del_all(struct netinc_net *nn)
{
	struct netinc_node *node, *tmp;

	list_for_each_entry_safe(node, tmp, &nn->nodes, list)
		node_remove(node);
}

void netinc_node_set(struct netinc_node *node, const struct netinc_node_cfg *cfg)
{
	spin_lock_bh(&node->lock);
	node->cfg = *cfg;
	spin_unlock_bh(&node->lock);
}

u64 netinc_node_memory(struct netinc_node *node)
{
	struct netinc_node_group *g;
	u64 held = 0;
	int i;

	rcu_read_lock();
	for (i = 0; i < ARRAY_SIZE(node->nn->groups); i++)
		hlist_for_each_entry_rcu(g, &node->nn->groups[i], hash)
			if (g->node == node)
				held += READ_ONCE(g->held) + READ_ONCE(g->results);
	rcu_read_unlock();
	return held;
}

/* The device goes, or has another name. */
static void update_ports(struct netinc_net *nn, const struct net_device *dev, bool goes)
{
	void (*update)(struct netinc_node *node, const struct net_device *dev) =
		goes ? netinc_port_gone : netinc_port_renamed;
	struct netinc_node *node;

	lockdep_assert_held(&nn->mutex);
	list_for_each_entry(node, &nn->nodes, list)
		update(node, dev);
	update(nn->edge, dev);
}

static int node_netdev(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr);
	struct netinc_net *nn = netinc_net(dev_net(dev));
	struct netinc_node *node;

	if (event != NETDEV_UNREGISTER && event != NETDEV_CHANGENAME)
		return NOTIFY_DONE;
	mutex_lock(&nn->mutex);
	update_ports(nn, dev, event == NETDEV_UNREGISTER);
	node = netinc_node_find(nn, dev->ifindex);
	if (node && event == NETDEV_UNREGISTER)
		node_remove(node);
	else if (node)
		strscpy(node->ifname, dev->name, sizeof(node->ifname));
	mutex_unlock(&nn->mutex);
	return NOTIFY_DONE;
}

static struct notifier_block node_notifier = { .notifier_call = node_netdev };

int netinc_node_init(void)
{
	return register_netdevice_notifier(&node_notifier);
}

void netinc_node_fini(void)
{
	unregister_netdevice_notifier(&node_notifier);
}
