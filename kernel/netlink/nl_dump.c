// SPDX-License-Identifier: GPL-2.0-only
/*
 * This network namespace as generic netlink shows it: what the module can do, counters, the default
 * parent, nodes and the traffic of their ports. Groups are in nl_group.c.
 */
#include <linux/netdevice.h>
#include <linux/rculist.h>
#include "core/nf_hooks.h"
#include "netlink/nl_policy.h"
#include "netlink/nl_put.h"
#include "node/node.h"
#include "reduce/reduce.h"
#include "host/socket.h"

#define MAX_REPLY	4096	/* bytes; a list of kernels comes on top */
/* bytes of a reduction kernel: five heads, the mode in 12, other names in 8 each */
#define MAX_KERNEL	64

int netinc_nl_put(struct sk_buff *skb, const struct netinc_nl_message *m, void *obj, u32 arg)
{
	struct nlattr *nest;
	void *hdr;

	hdr = genlmsg_put(skb, m->portid, m->seq, &netinc_nl_family, m->flags, m->cmd);
	if (!hdr)
		return -EMSGSIZE;
	if (m->cb)
		genl_dump_check_consistent(m->cb, hdr);
	nest = nla_nest_start(skb, m->attr);
	if (!nest || m->fill(skb, obj, arg)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	genlmsg_end(skb, hdr);
	return 0;
}

static int reply_of(size_t size, struct genl_info *info, u8 cmd, int attr, netinc_nl_fill_fn fill,
		    void *obj)
{
	struct netinc_nl_message m = {
		.portid = info->snd_portid,
		.seq = info->snd_seq,
		.cmd = cmd,
		.attr = attr,
		.fill = fill,
	};
	struct sk_buff *skb = genlmsg_new(size, GFP_KERNEL);
	int err;

	if (!skb)
		return -ENOMEM;
	err = netinc_nl_put(skb, &m, obj, 0);
	if (err) {
		nlmsg_free(skb);
		return err;
	}
	return genlmsg_reply(skb, info);
}

static int reply_one(struct genl_info *info, u8 cmd, int attr, netinc_nl_fill_fn fill, void *obj)
{
	return reply_of(MAX_REPLY, info, cmd, attr, fill, obj);
}

int netinc_nl_put_counters(struct sk_buff *skb, const u64 *counters)
{
	int c;

	for (c = 1; c <= INC_C_MAX; c++)
		if (netinc_nl_put_u64(skb, c, counters[c]))
			return -EMSGSIZE;
	return 0;
}

int netinc_nl_put_parent(struct sk_buff *skb, const struct netinc_peer *peer)
{
	if (netinc_nl_put_addr(skb, INC_A_PARENT_ADDR, peer) ||
	    nla_put_u32(skb, INC_A_PARENT_PORT, netinc_nl_peer_port(peer)))
		return -EMSGSIZE;
	return peer->ifindex ? nla_put_u32(skb, INC_A_PARENT_IFINDEX, peer->ifindex) : 0;
}

int netinc_nl_put_parent_nest(struct sk_buff *skb, int attr, const struct netinc_peer *peer)
{
	struct nlattr *nest = nla_nest_start(skb, attr);

	if (!nest || netinc_nl_put_parent(skb, peer))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/*
 * The reduction kernel that comes after *type, *op and *mode, which start as 0; NULL after the last
 * one.
 */
static const struct netinc_reduce *next_kernel(u8 *type, u8 *op, u8 *mode)
{
	const struct netinc_reduce *r = NULL;

	while (!r && *type < __INC_TYPE_MAX) {
		if (++*mode > INC_MODE_SATURATE) {
			*mode = 0;
			if (++*op == __INC_OP_MAX) {
				*op = 0;
				++*type;
			}
		}
		r = netinc_reduce_find(*type, *op, *mode, true);
	}
	return r;
}

static int put_kernel(struct sk_buff *skb, const struct netinc_reduce *r)
{
	struct nlattr *nest = nla_nest_start(skb, INC_A_CAPS_KERNEL);

	if (!nest || nla_put_string(skb, INC_A_KERNEL_TYPE, netinc_type_name(r->type)) ||
	    nla_put_string(skb, INC_A_KERNEL_OP, netinc_op_name(r->op)) ||
	    nla_put_string(skb, INC_A_KERNEL_VARIANT, netinc_variant_name(r->variant)) ||
	    (r->mode && nla_put_string(skb, INC_A_KERNEL_MODE, "saturate")))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int fill_caps(struct sk_buff *skb, void *obj, u32 arg)
{
	u8 type = 0, op = 0, mode = 0;
	const struct netinc_reduce *r;

	if (nla_put_u32(skb, INC_A_CAPS_FAMILY_NUMBER, netinc_family) ||
	    nla_put_u32(skb, INC_A_CAPS_WIRE_VERSION, INC_WIRE_VERSION) ||
	    nla_put_u32(skb, INC_A_CAPS_PORT, netinc_port) ||
	    nla_put_u32(skb, INC_A_CAPS_MAX_RANKS, INC_MAX_RANKS))
		return -EMSGSIZE;
	while ((r = next_kernel(&type, &op, &mode)))
		if (put_kernel(skb, r))
			return -EMSGSIZE;
	return 0;
}

int inc_nl_caps_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	u8 type = 0, op = 0, mode = 0;
	size_t size = MAX_REPLY;

	if (!netinc_socket_ready()) {
		NL_SET_ERR_MSG(info->extack, "the module could not be loaded");
		return -EAFNOSUPPORT;
	}
	while (next_kernel(&type, &op, &mode))
		size += MAX_KERNEL;
	return reply_of(size, info, INC_CMD_CAPS_GET, INC_A_CAPS, fill_caps, NULL);
}

static int fill_stats(struct sk_buff *skb, void *obj, u32 arg)
{
	return netinc_nl_put_counters(skb, obj);
}

int inc_nl_stats_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	u64 *sum = kcalloc(__INC_C_MAX, sizeof(*sum), GFP_KERNEL);
	int err;

	if (!sum)
		return -ENOMEM;
	netinc_net_read_counters(netinc_net(genl_info_net(info)), sum);
	err = reply_one(info, INC_CMD_STATS_GET, INC_A_STATS, fill_stats, sum);
	kfree(sum);
	return err;
}

static int fill_parent(struct sk_buff *skb, void *obj, u32 arg)
{
	const struct netinc_peer *peer = obj;

	return peer->family ? netinc_nl_put_parent(skb, peer) : 0;
}

int inc_nl_parent_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct netinc_net *nn = netinc_net(genl_info_net(info));
	struct netinc_peer parent;

	mutex_lock(&nn->mutex);
	parent = nn->parent;
	mutex_unlock(&nn->mutex);
	return reply_one(info, INC_CMD_PARENT_GET, INC_A_PARENT, fill_parent, &parent);
}

static int put_multicast(struct sk_buff *skb, const struct netinc_node_cfg *cfg)
{
	struct nlattr *nest;

	if (!cfg->multicast_len)
		return 0;
	nest = nla_nest_start(skb, INC_A_NODE_MULTICAST);
	if (!nest || nla_put_in_addr(skb, INC_A_PREFIX_ADDR, cfg->multicast) ||
	    nla_put_u32(skb, INC_A_PREFIX_LEN, cfg->multicast_len))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* What has been set, but the key. */
static int put_node_cfg(struct sk_buff *skb, const struct netinc_node_cfg *cfg)
{
	u32 i;

	if (nla_put_u32(skb, INC_A_NODE_DEAD_MS, cfg->settings.dead_ms) ||
	    nla_put_u32(skb, INC_A_NODE_LATE_MS, cfg->settings.late_ms) ||
	    nla_put_u32(skb, INC_A_NODE_LATE_POLICY, cfg->settings.late_policy) ||
	    nla_put_u32(skb, INC_A_NODE_WINDOW, cfg->settings.window) ||
	    nla_put_u32(skb, INC_A_NODE_MAX_GROUPS, cfg->max_groups) ||
	    netinc_nl_put_u64(skb, INC_A_NODE_MAX_MEMORY, cfg->max_memory) ||
	    nla_put_u32(skb, INC_A_NODE_FALLBACK, cfg->settings.fallback))
		return -EMSGSIZE;
	for (i = 0; i < cfg->nstandby; i++)
		if (netinc_nl_put_parent_nest(skb, INC_A_NODE_STANDBY, &cfg->standby[i]))
			return -EMSGSIZE;
	for (i = 0; i < cfg->nparents; i++)
		if (netinc_nl_put_parent_nest(skb, INC_A_NODE_PARENT, &cfg->parent[i]))
			return -EMSGSIZE;
	if (put_multicast(skb, cfg) ||
	    nla_put_u32(skb, INC_A_NODE_LACKS_TYPES, cfg->settings.lacks.types) ||
	    nla_put_u32(skb, INC_A_NODE_LACKS_OPERATIONS, cfg->settings.lacks.ops))
		return -EMSGSIZE;
	return cfg->keyed ? nla_put_flag(skb, INC_A_NODE_KEYED) : 0;
}

static int fill_node(struct sk_buff *skb, void *obj, u32 arg)
{
	struct netinc_node *node = obj;
	int err;

	if (nla_put_u32(skb, INC_A_NODE_IFINDEX, node->ifindex) ||
	    nla_put_string(skb, INC_A_NODE_IFNAME, node->ifname) ||
	    nla_put_u32(skb, INC_A_NODE_GROUPS, atomic_read(&node->ngroups)) ||
	    netinc_nl_put_u64(skb, INC_A_NODE_MEMORY, netinc_node_memory(node)))
		return -EMSGSIZE;
	spin_lock_bh(&node->lock);
	err = put_node_cfg(skb, &node->cfg);
	spin_unlock_bh(&node->lock);
	return err;
}

int inc_nl_node_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct netinc_net *nn = netinc_net(genl_info_net(info));
	struct netinc_node *node;
	int err;

	mutex_lock(&nn->mutex);
	node = netinc_nl_node(nn, info);
	err = PTR_ERR_OR_ZERO(node) ?:
		      reply_one(info, INC_CMD_NODE_GET, INC_A_NODE, fill_node, node);
	mutex_unlock(&nn->mutex);
	return err;
}

int inc_nl_node_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct netinc_nl_message m =
		netinc_nl_dump_message(cb, INC_CMD_NODE_GET, INC_A_NODE, fill_node);
	struct netinc_net *nn = netinc_nl_dump_net(cb);
	struct netinc_node *node;
	u32 index = 0;
	int err = 0;

	netinc_nl_dump_list(cb, NETINC_LIST_NODES);
	mutex_lock(&nn->mutex);
	list_for_each_entry(node, &nn->nodes, list) {
		if (index++ < netinc_nl_cursor(cb)->index)
			continue;
		err = netinc_nl_put(skb, &m, node, 0);
		if (err)
			break;
		netinc_nl_cursor(cb)->index = index;
	}
	mutex_unlock(&nn->mutex);
	return netinc_nl_dump_status(skb, err);
}

static int fill_port(struct sk_buff *skb, void *obj, u32 arg)
{
	struct netinc_port *port = obj;

	if (nla_put_u32(skb, INC_A_PORT_NODE, arg) ||
	    nla_put_u32(skb, INC_A_PORT_IFINDEX, port->ifindex) ||
	    nla_put_string(skb, INC_A_PORT_IFNAME, port->name) ||
	    netinc_nl_put_u64(skb, INC_A_PORT_RX_PACKETS,
			      netinc_stats_sum(port->stats, NETINC_PORT_RX_PACKETS)) ||
	    netinc_nl_put_u64(skb, INC_A_PORT_RX_BYTES,
			      netinc_stats_sum(port->stats, NETINC_PORT_RX_BYTES)) ||
	    netinc_nl_put_u64(skb, INC_A_PORT_RX_SKBS,
			      netinc_stats_sum(port->stats, NETINC_PORT_RX_SKBS)) ||
	    netinc_nl_put_u64(skb, INC_A_PORT_TX_PACKETS,
			      netinc_stats_sum(port->stats, NETINC_PORT_TX_PACKETS)) ||
	    netinc_nl_put_u64(skb, INC_A_PORT_TX_BYTES,
			      netinc_stats_sum(port->stats, NETINC_PORT_TX_BYTES)) ||
	    netinc_nl_put_u64(skb, INC_A_PORT_TX_SKBS,
			      netinc_stats_sum(port->stats, NETINC_PORT_TX_SKBS)))
		return -EMSGSIZE;
	return 0;
}

static int dump_ports_of(struct sk_buff *skb, struct netlink_callback *cb, struct netinc_node *node)
{
	struct netinc_nl_message m =
		netinc_nl_dump_message(cb, INC_CMD_PORT_GET, INC_A_PORT, fill_port);
	struct netinc_nl_cursor *at = netinc_nl_cursor(cb);
	struct netinc_port *port;
	u32 sub = 0;

	if (at->id != node->ifindex)
		at->sub = 0;
	at->id = node->ifindex;
	hlist_for_each_entry_rcu(port, &node->ports, list) {
		if (sub++ < at->sub)
			continue;
		if (netinc_nl_put(skb, &m, port, node->ifindex))
			return -EMSGSIZE;
		at->sub = sub;
	}
	return 0;
}

int inc_nl_port_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct netinc_net *nn = netinc_nl_dump_net(cb);
	struct netinc_node *node;
	u32 index = 0;
	int err = 0;

	netinc_nl_dump_list(cb, NETINC_LIST_NODES);
	rcu_read_lock();
	list_for_each_entry_rcu(node, &nn->nodes, list) {
		if (index++ < netinc_nl_cursor(cb)->index)
			continue;
		err = dump_ports_of(skb, cb, node);
		if (err)
			break;
		netinc_nl_cursor(cb)->index = index;
		netinc_nl_cursor(cb)->sub = 0;
	}
	rcu_read_unlock();
	return netinc_nl_dump_status(skb, err);
}
