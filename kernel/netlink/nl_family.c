// SPDX-License-Identifier: GPL-2.0-only
/*
 * The generic netlink family "inc": its table of commands, what each takes, and the changes. A
 * refusal says which value is wrong and what was expected; nothing has changed then.
 *
 * Every request runs for itself (parallel_ops): nn->mutex is what keeps changes apart.
 */
#include <linux/log2.h>
#include <linux/netdevice.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/genetlink.h>
#include <net/ipv6.h>
#include "core/nf_hooks.h"
#include "core/events.h"
#include "netlink/nl_family.h"
#include "core/netns.h"
#include "node/node.h"

#define MIN_LATE_MS	10
#define MAX_GROUPS	65536
#define MIN_MEMORY	65536ULL
#define MAX_MEMORY	BIT_ULL(40)

/*
 * Between genl_register_family() and genl_unregister_family(): namespaces outlive the family and
 * have last words.
 */
static bool registered;

/* Which node */

static struct net_device *find_dev(struct net *net, struct nlattr **tb,
				   struct netlink_ext_ack *extack)
{
	const struct nlattr *index = tb[INC_A_NODE_IFINDEX], *name = tb[INC_A_NODE_IFNAME];
	struct net_device *dev;

	ASSERT_RTNL();
	if (!index && !name) {
		NL_SET_ERR_MSG(extack, "dev: missing; expected the index or name of an interface");
		return NULL;
	}
	dev = index ? __dev_get_by_index(net, nla_get_u32(index)) :
		      __dev_get_by_name(net, nla_data(name));
	if (!dev && name)
		NL_SET_ERR_MSG_FMT(extack, "dev %s: no such interface in this network namespace",
				   (char *)nla_data(name));
	else if (!dev)
		NL_SET_ERR_MSG_FMT(extack,
				   "ifindex %u: no such interface in this network namespace",
				   nla_get_u32(index));
	else if (name && strcmp(dev->name, nla_data(name)))
		NL_SET_ERR_MSG_FMT(extack, "dev %s: interface %u has another name",
				   (char *)nla_data(name), nla_get_u32(index));
	else
		return dev;
	return NULL;
}

static int parse_node(struct genl_info *info, struct nlattr **tb)
{
	if (!info->attrs[INC_A_NODE]) {
		NL_SET_ERR_MSG(info->extack, "node: missing; expected which one");
		return -EINVAL;
	}
	/* the family's policy has validated the nest already */
	return nla_parse_nested(tb, INC_A_NODE_MAX, info->attrs[INC_A_NODE], NULL, info->extack);
}

struct netinc_node *netinc_nl_node(struct netinc_net *nn, struct genl_info *info)
{
	struct nlattr *tb[INC_A_NODE_MAX + 1];
	struct netinc_node *node;
	struct net_device *dev;

	lockdep_assert_held(&nn->mutex);
	if (parse_node(info, tb))
		return NULL;
	dev = find_dev(nn->net, tb, info->extack);
	if (!dev)
		return NULL;
	node = netinc_node_find(nn, dev->ifindex);
	if (!node)
		NL_SET_ERR_MSG_FMT(info->extack, "dev %s: is no node", dev->name);
	return node;
}

/*
 * rtnl keeps the interface from going away between its name and its entry; it comes before
 * nn->mutex.
 */
static void lock_config(struct netinc_net *nn)
{
	rtnl_lock();
	mutex_lock(&nn->mutex);
}

static void unlock_config(struct netinc_net *nn)
{
	mutex_unlock(&nn->mutex);
	rtnl_unlock();
}

/* Addresses */

static int check_ipv4(const struct netinc_peer *peer, struct netlink_ext_ack *extack)
{
	__be32 addr;

	memcpy(&addr, peer->addr, sizeof(addr));
	if (!ipv4_is_multicast(addr) && !ipv4_is_lbcast(addr) && !ipv4_is_zeronet(addr))
		return 0;
	NL_SET_ERR_MSG_FMT(extack, "%pI4: expected a unicast address", &addr);
	return -EADDRNOTAVAIL;
}

static int check_ipv6(const struct netinc_peer *peer, struct netlink_ext_ack *extack)
{
	int type = ipv6_addr_type((const struct in6_addr *)peer->addr);

	if (type == IPV6_ADDR_ANY || type & (IPV6_ADDR_MULTICAST | IPV6_ADDR_MAPPED)) {
		NL_SET_ERR_MSG_FMT(extack, "%pI6c: expected a unicast address", peer->addr);
		return -EADDRNOTAVAIL;
	}
	if (type & IPV6_ADDR_LINKLOCAL && !peer->ifindex) {
		NL_SET_ERR_MSG_FMT(extack, "%pI6c: a link-local address needs its interface",
				   peer->addr);
		return -EINVAL;
	}
	return 0;
}

static int check_parent_addr(const struct netinc_peer *peer, struct netlink_ext_ack *extack)
{
	return peer->family == AF_INET ? check_ipv4(peer, extack) : check_ipv6(peer, extack);
}

static int parse_addr(struct netinc_peer *peer, struct nlattr **tb, struct netlink_ext_ack *extack)
{
	const struct nlattr *addr = tb[INC_A_PARENT_ADDR], *port = tb[INC_A_PARENT_PORT];
	int len = addr ? nla_len(addr) : 0;

	if (len != 4 && len != 16) {
		NL_SET_ERR_MSG_FMT(extack, "address of %d bytes: expected 4 (IPv4) or 16 (IPv6)",
				   len);
		return -EINVAL;
	}
	if (port && !nla_get_u16(port)) {
		NL_SET_ERR_MSG(extack, "port 0: expected 1..65535");
		return -ERANGE;
	}
	peer->family = len == 4 ? AF_INET : AF_INET6;
	memcpy(peer->addr, nla_data(addr), len);
	peer->udp_port = (__force u16)htons(port ? nla_get_u16(port) : INC_PORT);
	if (tb[INC_A_PARENT_IFINDEX])
		peer->ifindex = nla_get_u32(tb[INC_A_PARENT_IFINDEX]);
	return 0;
}

/* Limits */

static int take_times(struct netinc_node_cfg *cfg, struct nlattr **tb,
		      struct netlink_ext_ack *extack)
{
	u32 v;

	if (tb[INC_A_NODE_DEAD_MS]) {
		v = nla_get_u32(tb[INC_A_NODE_DEAD_MS]);
		if (v < NETINC_MIN_DEAD_MS || v > NETINC_MAX_DEAD_MS) {
			NL_SET_ERR_MSG_FMT(extack, "dead %u: expected milliseconds in %u..%u", v,
					   NETINC_MIN_DEAD_MS, NETINC_MAX_DEAD_MS);
			return -ERANGE;
		}
		cfg->dead_ms = v;
	}
	if (tb[INC_A_NODE_LATE_MS]) {
		v = nla_get_u32(tb[INC_A_NODE_LATE_MS]);
		if (v && (v < MIN_LATE_MS || v > NETINC_MAX_LATE_MS)) {
			NL_SET_ERR_MSG_FMT(extack, "late %u: expected 0 or milliseconds in %u..%u",
					   v, MIN_LATE_MS, NETINC_MAX_LATE_MS);
			return -ERANGE;
		}
		cfg->late_ms = v;
	}
	return 0;
}

/*
 * Without a policy the limit says it: 0 is wait, and fail is what it has always meant, unless
 * partial is set.
 */
static int take_policy(struct netinc_node_cfg *cfg, struct nlattr **tb,
		       struct netlink_ext_ack *extack)
{
	static const char * const names[] = { "wait", "fail", "partial" };

	if (tb[INC_A_NODE_LATE_POLICY]) {
		cfg->late_policy = nla_get_u8(tb[INC_A_NODE_LATE_POLICY]);
		if (cfg->late_policy > INC_LATE_MAX) {
			NL_SET_ERR_MSG_FMT(extack, "late-policy %u: expected 0..%u",
					   cfg->late_policy, INC_LATE_MAX);
			return -ERANGE;
		}
	} else if (tb[INC_A_NODE_LATE_MS]) {
		if (!cfg->late_ms)
			cfg->late_policy = INC_LATE_WAIT;
		else if (cfg->late_policy == INC_LATE_WAIT)
			cfg->late_policy = INC_LATE_FAIL;
	}
	if (cfg->late_policy != INC_LATE_WAIT && !cfg->late_ms) {
		NL_SET_ERR_MSG_FMT(extack, "late-policy %s: needs a limit: late in %u..%u",
				   names[cfg->late_policy], MIN_LATE_MS, NETINC_MAX_LATE_MS);
		return -EINVAL;
	}
	/* whose contributions a result is made of is not kept for another place */
	if (cfg->late_policy == INC_LATE_PARTIAL && cfg->fallback) {
		NL_SET_ERR_MSG(extack, "late-policy partial: expected fallback none");
		return -EINVAL;
	}
	return 0;
}

static int take_sizes(struct netinc_node_cfg *cfg, struct nlattr **tb,
		      struct netlink_ext_ack *extack)
{
	if (tb[INC_A_NODE_WINDOW]) {
		u32 v = nla_get_u32(tb[INC_A_NODE_WINDOW]);

		if (!is_power_of_2(v) || v < INC_MIN_WINDOW || v > INC_MAX_WINDOW) {
			NL_SET_ERR_MSG_FMT(extack, "window %u: expected a power of two in %u..%u",
					   v, INC_MIN_WINDOW, INC_MAX_WINDOW);
			return -ERANGE;
		}
		cfg->window = v;
	}
	if (tb[INC_A_NODE_MAX_GROUPS]) {
		u32 v = nla_get_u32(tb[INC_A_NODE_MAX_GROUPS]);

		if (!v || v > MAX_GROUPS) {
			NL_SET_ERR_MSG_FMT(extack, "max-groups %u: expected 1..%u", v, MAX_GROUPS);
			return -ERANGE;
		}
		cfg->max_groups = v;
	}
	if (tb[INC_A_NODE_MAX_MEMORY]) {
		u64 v = nla_get_u64(tb[INC_A_NODE_MAX_MEMORY]);

		if (v < MIN_MEMORY || v > MAX_MEMORY) {
			NL_SET_ERR_MSG_FMT(extack, "max-memory %llu: expected bytes in %llu..%llu",
					   v, MIN_MEMORY, MAX_MEMORY);
			return -ERANGE;
		}
		cfg->max_memory = v;
	}
	return 0;
}

/* It is told to ranks, to whom this box's interfaces mean nothing. */
static int check_standby(const struct netinc_peer *peer, struct netlink_ext_ack *extack)
{
	int type = peer->family == AF_INET6 ? ipv6_addr_type((const struct in6_addr *)peer->addr) :
					      0;

	if (type & IPV6_ADDR_LINKLOCAL && !(type & IPV6_ADDR_MULTICAST)) {
		NL_SET_ERR_MSG_FMT(extack, "standby %pI6c: expected no link-local address",
				   peer->addr);
		return -EADDRNOTAVAIL;
	}
	if (peer->ifindex) {
		NL_SET_ERR_MSG_FMT(extack, "standby: interface %u: expected none", peer->ifindex);
		return -EINVAL;
	}
	return check_parent_addr(peer, extack);
}

/* All standby nodes that the request names, instead of those of before. */
static int take_standbys(struct netinc_node_cfg *cfg, const struct nlattr *node,
			 struct netlink_ext_ack *extack)
{
	struct nlattr *tb[INC_A_PARENT_MAX + 1];
	const struct nlattr *attr;
	int rem, err, n = 0;

	nla_for_each_nested(attr, node, rem)
		n += nla_type(attr) == INC_A_NODE_STANDBY;
	if (n > INC_MAX_STANDBY) {
		NL_SET_ERR_MSG_FMT(extack, "standby: %d nodes, expected at most %u", n,
				   INC_MAX_STANDBY);
		return -E2BIG;
	}
	n = 0;
	nla_for_each_nested(attr, node, rem) {
		if (nla_type(attr) != INC_A_NODE_STANDBY)
			continue;
		memset(&cfg->standby[n], 0, sizeof(cfg->standby[n]));
		err = nla_parse_nested(tb, INC_A_PARENT_MAX, attr, NULL, extack);
		err = err					       ?:
			      parse_addr(&cfg->standby[n], tb, extack) ?:
			      check_standby(&cfg->standby[n], extack);
		if (err)
			return err;
		n++;
	}
	if (n)
		cfg->nstandby = n;
	return 0;
}

static int take_fallback(struct netinc_node_cfg *cfg, const struct nlattr *node, struct nlattr **tb,
			 struct netlink_ext_ack *extack)
{
	int err = take_standbys(cfg, node, extack);

	if (err)
		return err;
	if (tb[INC_A_NODE_FALLBACK]) {
		u8 v = nla_get_u8(tb[INC_A_NODE_FALLBACK]);

		if (v >= __INC_FALLBACK_MAX) {
			NL_SET_ERR_MSG_FMT(extack, "fallback %u: expected none, standby or edge",
					   v);
			return -ERANGE;
		}
		cfg->fallback = v;
	}
	if (cfg->fallback == INC_FALLBACK_STANDBY && !cfg->nstandby) {
		NL_SET_ERR_MSG(extack, "fallback standby: expected the address of a standby node");
		return -EINVAL;
	}
	return 0;
}

static int take_limits(struct netinc_node_cfg *cfg, const struct nlattr *node, struct nlattr **tb,
		       struct netlink_ext_ack *extack)
{
	if (tb[INC_A_NODE_KEY]) {
		nla_memcpy(cfg->key, tb[INC_A_NODE_KEY], sizeof(cfg->key));
		cfg->keyed = memchr_inv(cfg->key, 0, sizeof(cfg->key));
	}
	return take_times(cfg, tb, extack)		    ?:
		       take_sizes(cfg, tb, extack)	    ?:
		       take_fallback(cfg, node, tb, extack) ?:
							      take_policy(cfg, tb, extack);
}

/* Nodes */

static int add_node(struct netinc_net *nn, struct nlattr **tb, const struct netinc_node_cfg *cfg,
		    struct netlink_ext_ack *extack)
{
	struct net_device *dev = find_dev(nn->net, tb, extack);
	int err;

	if (!dev)
		return -ENODEV;
	err = netinc_node_add(nn, dev, cfg);
	if (err == -EEXIST)
		NL_SET_ERR_MSG_FMT(extack, "dev %s: is a node already; `set` changes it",
				   dev->name);
	return err;
}

static int do_node_add(struct sk_buff *skb, struct genl_info *info)
{
	struct netinc_net *nn = netinc_net(genl_info_net(info));
	struct nlattr *tb[INC_A_NODE_MAX + 1];
	struct netinc_node_cfg cfg;
	int err;

	netinc_node_cfg_init(&cfg);
	err = parse_node(info, tb) ?: take_limits(&cfg, info->attrs[INC_A_NODE], tb, info->extack);
	if (err)
		return err;
	/*
	 * the port is opened and the hooks are registered here, where a protocol's module may still
	 * be loaded: that takes rtnl itself
	 */
	mutex_lock(&nn->mutex);
	err = netinc_net_use(nn);
	mutex_unlock(&nn->mutex);
	if (err == -EADDRINUSE)
		NL_SET_ERR_MSG_FMT(info->extack, "UDP port %u is in use by another program",
				   netinc_port);
	if (err)
		return err;
	lock_config(nn);
	err = add_node(nn, tb, &cfg, info->extack);
	unlock_config(nn);
	mutex_lock(&nn->mutex);
	netinc_net_unuse(nn);
	mutex_unlock(&nn->mutex);
	return err;
}

static int change_node(struct netinc_net *nn, struct genl_info *info)
{
	struct netinc_node *node = netinc_nl_node(nn, info);
	struct nlattr *tb[INC_A_NODE_MAX + 1];
	struct netinc_node_cfg cfg;
	int err;

	if (!node)
		return -ENODEV;
	err = parse_node(info, tb);
	if (err)
		return err;
	/* only requests change it, and nn->mutex is held */
	cfg = node->cfg;
	err = take_limits(&cfg, info->attrs[INC_A_NODE], tb, info->extack);
	if (!err)
		netinc_node_set(node, &cfg);
	return err;
}

static int do_node_set(struct sk_buff *skb, struct genl_info *info)
{
	struct netinc_net *nn = netinc_net(genl_info_net(info));
	int err;

	lock_config(nn);
	err = change_node(nn, info);
	unlock_config(nn);
	return err;
}

static int do_node_del(struct sk_buff *skb, struct genl_info *info)
{
	struct netinc_net *nn = netinc_net(genl_info_net(info));
	struct netinc_node *node;
	int err = -ENODEV;

	lock_config(nn);
	node = netinc_nl_node(nn, info);
	if (node)
		err = netinc_node_del(nn, node->ifindex);
	unlock_config(nn);
	return err;
}

/* Default parent */

static void change_parent(struct netinc_net *nn, const struct netinc_peer *parent)
{
	mutex_lock(&nn->mutex);
	spin_lock_bh(&nn->hash_lock);
	nn->parent = *parent;
	spin_unlock_bh(&nn->hash_lock);
	mutex_unlock(&nn->mutex);
	netinc_event_parent(nn->net, parent);
}

static int do_parent_set(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *tb[INC_A_PARENT_MAX + 1];
	struct netinc_peer parent = {};
	int err;

	if (!info->attrs[INC_A_PARENT]) {
		NL_SET_ERR_MSG(info->extack, "parent: missing; expected an address");
		return -EINVAL;
	}
	err = nla_parse_nested(tb, INC_A_PARENT_MAX, info->attrs[INC_A_PARENT], NULL, info->extack);
	if (!err)
		err = parse_addr(&parent, tb, info->extack);
	if (!err)
		err = check_parent_addr(&parent, info->extack);
	if (!err)
		change_parent(netinc_net(genl_info_net(info)), &parent);
	return err;
}

static int do_parent_del(struct sk_buff *skb, struct genl_info *info)
{
	struct netinc_net *nn = netinc_net(genl_info_net(info));
	const struct netinc_peer none = {};

	if (!READ_ONCE(nn->parent.family)) {
		NL_SET_ERR_MSG(info->extack, "no parent is set");
		return -ENOENT;
	}
	change_parent(nn, &none);
	return 0;
}

/* Family */

static const struct nla_policy node_name_policy[INC_A_NODE_MAX + 1] = {
	[INC_A_NODE_IFINDEX]	= { .type = NLA_U32 },
	[INC_A_NODE_IFNAME]	= { .type = NLA_NUL_STRING, .len = IFNAMSIZ - 1 },
};

static const struct nla_policy parent_policy[INC_A_PARENT_MAX + 1] = {
	[INC_A_PARENT_ADDR]	= { .type = NLA_BINARY, .len = sizeof(struct in6_addr) },
	[INC_A_PARENT_PORT]	= { .type = NLA_U16 },
	[INC_A_PARENT_IFINDEX]	= { .type = NLA_U32 },
};

static const struct nla_policy node_policy[INC_A_NODE_MAX + 1] = {
	[INC_A_NODE_IFINDEX]	= { .type = NLA_U32 },
	[INC_A_NODE_IFNAME]	= { .type = NLA_NUL_STRING, .len = IFNAMSIZ - 1 },
	[INC_A_NODE_DEAD_MS]	= { .type = NLA_U32 },
	[INC_A_NODE_LATE_MS]	= { .type = NLA_U32 },
	[INC_A_NODE_WINDOW]	= { .type = NLA_U32 },
	[INC_A_NODE_MAX_GROUPS]	= { .type = NLA_U32 },
	[INC_A_NODE_MAX_MEMORY]	= { .type = NLA_U64 },
	[INC_A_NODE_KEY]	= NLA_POLICY_EXACT_LEN(INC_KEY_LEN),
	[INC_A_NODE_FALLBACK]	= { .type = NLA_U8 },
	[INC_A_NODE_STANDBY]	= NLA_POLICY_NESTED(parent_policy),
	[INC_A_NODE_LATE_POLICY] = { .type = NLA_U8 },
};

static const struct nla_policy limit_values_policy[INC_LIMIT_MAX + 1] = {
	[1 ... INC_LIMIT_MAX]	= { .type = NLA_U64 },
};

static const struct nla_policy limit_policy[INC_A_LIMIT_MAX + 1] = {
	[INC_A_LIMIT_SCOPE]	= NLA_POLICY_MAX(NLA_U8, INC_SCOPE_USER),
	[INC_A_LIMIT_VALUES]	= NLA_POLICY_NESTED(limit_values_policy),
};

static const struct nla_policy prefix_policy[INC_A_PREFIX_MAX + 1] = {
	[INC_A_PREFIX_ADDR]	= { .type = NLA_BINARY, .len = sizeof(struct in6_addr) },
	[INC_A_PREFIX_LEN]	= { .type = NLA_U8 },
};

static const struct nla_policy tenant_policy[INC_A_TENANT_MAX + 1] = {
	[INC_A_TENANT_NAME]	= { .type = NLA_NUL_STRING, .len = INC_TENANT_NAME - 1 },
	[INC_A_TENANT_KEY]	= NLA_POLICY_EXACT_LEN(INC_KEY_LEN),
	[INC_A_TENANT_PREFIX]	= NLA_POLICY_NESTED(prefix_policy),
	[INC_A_TENANT_PORT]	= { .type = NLA_U32 },
	[INC_A_TENANT_MAX_GROUPS] = { .type = NLA_U32 },
	[INC_A_TENANT_MAX_SLOTS] = { .type = NLA_U32 },
	[INC_A_TENANT_MAX_MEMORY] = { .type = NLA_U64 },
	[INC_A_TENANT_CPU]	= { .type = NLA_U32 },
	[INC_A_TENANT_RATE]	= { .type = NLA_U64 },
};

static const struct nla_policy tenant_name_policy[INC_A_TENANT_MAX + 1] = {
	[INC_A_TENANT_NAME]	= { .type = NLA_NUL_STRING, .len = INC_TENANT_NAME - 1 },
};

/* What each command takes at the top level; anything else is refused. */

static const struct nla_policy take_nothing[INC_A_MAX + 1] = {};

static const struct nla_policy take_node_name[INC_A_MAX + 1] = {
	[INC_A_NODE]		= NLA_POLICY_NESTED(node_name_policy),
};

static const struct nla_policy take_node[INC_A_MAX + 1] = {
	[INC_A_NODE]		= NLA_POLICY_NESTED(node_policy),
};

static const struct nla_policy take_parent[INC_A_MAX + 1] = {
	[INC_A_PARENT]		= NLA_POLICY_NESTED(parent_policy),
};

static const struct nla_policy take_group_id[INC_A_MAX + 1] = {
	[INC_A_GROUP_ID]	= { .type = NLA_U32 },
};

static const struct nla_policy take_limit[INC_A_MAX + 1] = {
	[INC_A_LIMIT]		= NLA_POLICY_NESTED(limit_policy),
};

static const struct nla_policy take_tenant[INC_A_MAX + 1] = {
	[INC_A_TENANT]		= NLA_POLICY_NESTED(tenant_policy),
};

static const struct nla_policy take_tenant_name[INC_A_MAX + 1] = {
	[INC_A_TENANT]		= NLA_POLICY_NESTED(tenant_name_policy),
};

static const struct genl_ops ops[] = {
	{ .cmd = INC_CMD_CAPS_GET,
	  .doit = netinc_nl_caps_get,
	  .policy = take_nothing,
	  .maxattr = INC_A_MAX },
	{ .cmd = INC_CMD_NODE_GET,
	  .doit = netinc_nl_node_get,
	  .dumpit = netinc_nl_node_dump,
	  .policy = take_node_name,
	  .maxattr = INC_A_MAX },
	{ .cmd = INC_CMD_NODE_ADD,
	  .doit = do_node_add,
	  .policy = take_node,
	  .maxattr = INC_A_MAX,
	  .flags = GENL_UNS_ADMIN_PERM },
	{ .cmd = INC_CMD_NODE_SET, .doit = do_node_set, .policy = take_node, .maxattr = INC_A_MAX,
	  .flags = GENL_UNS_ADMIN_PERM },
	{ .cmd = INC_CMD_NODE_DEL,
	  .doit = do_node_del,
	  .policy = take_node_name,
	  .maxattr = INC_A_MAX,
	  .flags = GENL_UNS_ADMIN_PERM },
	{ .cmd = INC_CMD_PARENT_GET,
	  .doit = netinc_nl_parent_get,
	  .policy = take_nothing,
	  .maxattr = INC_A_MAX },
	{ .cmd = INC_CMD_PARENT_SET,
	  .doit = do_parent_set,
	  .policy = take_parent,
	  .maxattr = INC_A_MAX,
	  .flags = GENL_UNS_ADMIN_PERM },
	{ .cmd = INC_CMD_PARENT_DEL,
	  .doit = do_parent_del,
	  .policy = take_nothing,
	  .maxattr = INC_A_MAX,
	  .flags = GENL_UNS_ADMIN_PERM },
	{ .cmd = INC_CMD_GROUP_GET,
	  .dumpit = netinc_nl_group_dump,
	  .policy = take_group_id,
	  .maxattr = INC_A_MAX },
	{ .cmd = INC_CMD_MEMBER_GET,
	  .dumpit = netinc_nl_member_dump,
	  .policy = take_group_id,
	  .maxattr = INC_A_MAX },
	{ .cmd = INC_CMD_STATS_GET,
	  .doit = netinc_nl_stats_get,
	  .policy = take_nothing,
	  .maxattr = INC_A_MAX },
	{ .cmd = INC_CMD_PORT_GET,
	  .dumpit = netinc_nl_port_dump,
	  .policy = take_nothing,
	  .maxattr = INC_A_MAX },
	{ .cmd = INC_CMD_LIMIT_GET,
	  .dumpit = netinc_nl_limit_dump,
	  .policy = take_nothing,
	  .maxattr = INC_A_MAX },
	{ .cmd = INC_CMD_LIMIT_SET,
	  .doit = netinc_nl_limit_set,
	  .policy = take_limit,
	  .maxattr = INC_A_MAX,
	  .flags = GENL_UNS_ADMIN_PERM },
	{ .cmd = INC_CMD_TENANT_GET,
	  .dumpit = netinc_nl_tenant_dump,
	  .policy = take_nothing,
	  .maxattr = INC_A_MAX },
	{ .cmd = INC_CMD_TENANT_ADD,
	  .doit = netinc_nl_tenant_add,
	  .policy = take_tenant,
	  .maxattr = INC_A_MAX,
	  .flags = GENL_UNS_ADMIN_PERM },
	{ .cmd = INC_CMD_TENANT_SET,
	  .doit = netinc_nl_tenant_set,
	  .policy = take_tenant,
	  .maxattr = INC_A_MAX,
	  .flags = GENL_UNS_ADMIN_PERM },
	{ .cmd = INC_CMD_TENANT_DEL,
	  .doit = netinc_nl_tenant_del,
	  .policy = take_tenant_name,
	  .maxattr = INC_A_MAX,
	  .flags = GENL_UNS_ADMIN_PERM },
};

static const struct genl_multicast_group mcgrps[] = {
	{ .name = INC_GENL_MCGRP },
};

struct genl_family netinc_nl_family __ro_after_init = {
	.name = INC_GENL_NAME,
	.version = INC_GENL_VERSION,
	.module = THIS_MODULE,
	.netnsok = true,
	.parallel_ops = true,
	.ops = ops,
	.n_ops = ARRAY_SIZE(ops),
	.resv_start_op = INC_CMD_MAX + 1,
	.mcgrps = mcgrps,
	.n_mcgrps = ARRAY_SIZE(mcgrps),
};

bool netinc_nl_ready(void)
{
	return READ_ONCE(registered);
}

int netinc_nl_init(void)
{
	int err = genl_register_family(&netinc_nl_family);

	if (!err)
		WRITE_ONCE(registered, true);
	return err;
}

void netinc_nl_fini(void)
{
	WRITE_ONCE(registered, false);
	genl_unregister_family(&netinc_nl_family);
}
