// SPDX-License-Identifier: GPL-2.0-only
/*
 * The generic netlink family "inc" and the changes; nl_policy.c, which is made from the netlink
 * spec, is its table of commands. A refusal says which value is wrong and what was expected;
 * nothing has changed then.
 *
 * Every request runs for itself (parallel_ops): nn->mutex is what keeps changes apart.
 */
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/netlink.h>
#include <net/genetlink.h>
#include "core/nf_hooks.h"
#include "core/events.h"
#include "netlink/nl_addr.h"
#include "netlink/nl_family.h"
#include "netlink/nl_policy.h"
#include "core/netns.h"
#include "node/node.h"

#define MIN_LATE_MS	10
#define MIN_MEMORY	65536ULL
#define MAX_MEMORY	BIT_ULL(40)

/*
 * Between genl_register_family() and genl_unregister_family(): namespaces outlive the family and
 * have last words.
 */
static bool registered;

/* Attributes that requests take, and that only answers have */

#define NODE_ID		(BIT_ULL(INC_A_NODE_IFINDEX) | BIT_ULL(INC_A_NODE_IFNAME))
#define NODE_OUT	(BIT_ULL(INC_A_NODE_GROUPS) | BIT_ULL(INC_A_NODE_MEMORY) | \
			 BIT_ULL(INC_A_NODE_KEYED))

int netinc_nl_takes(struct nlattr **tb, int max, u64 takes, const char *nest,
		    struct netlink_ext_ack *extack)
{
	int i;

	for (i = 1; i <= max; i++) {
		if (!tb[i] || takes & BIT_ULL(i))
			continue;
		NL_SET_ERR_MSG_FMT(extack, "%s: attribute %d is not for this request", nest, i);
		NL_SET_BAD_ATTR(extack, tb[i]);
		return -EINVAL;
	}
	return 0;
}

/* Which node */

/* The node of all devices is named so; it is shown with interface 0, too. */
static bool names_all(struct nlattr **tb)
{
	const struct nlattr *name = tb[INC_A_NODE_IFNAME], *index = tb[INC_A_NODE_IFINDEX];

	return name && !strcmp(nla_data(name), NETINC_ALL_DEVICES) &&
	       (!index || !nla_get_u32(index));
}

/* Finds a device by name or index, with a reference; both must mean one interface. */
static struct net_device *get_dev(struct net *net, const struct nlattr *index,
				  const struct nlattr *name, bool *differ)
{
	struct net_device *dev, *named;

	*differ = false;
	if (!index)
		return dev_get_by_name(net, nla_data(name));
	dev = dev_get_by_index(net, nla_get_u32(index));
	if (!dev || !name)
		return dev;
	named = dev_get_by_name(net, nla_data(name));
	*differ = named != dev;
	dev_put(named);
	if (!*differ)
		return dev;
	dev_put(dev);
	return NULL;
}

/*
 * Finds the device of a new node, with a reference. An interface that goes, or goes to another
 * namespace, leaves the namespace's list first, and then its node is ended by the notifier, under
 * nn->mutex: one that is found here, under the same mutex, may be made a node without rtnl, as the
 * notifier is still to come.
 */
static struct net_device *find_dev(struct netinc_net *nn, struct nlattr **tb,
				   struct netlink_ext_ack *extack)
{
	const struct nlattr *index = tb[INC_A_NODE_IFINDEX], *name = tb[INC_A_NODE_IFNAME];
	struct net_device *dev;
	bool differ;

	lockdep_assert_held(&nn->mutex);
	if (!index && !name) {
		NL_SET_ERR_MSG(extack, "dev: missing; expected the index or name of an interface");
		return NULL;
	}
	dev = get_dev(nn->net, index, name, &differ);
	if (dev)
		return dev;
	if (differ)
		NL_SET_ERR_MSG_FMT(extack, "dev %s: interface %u has another name",
				   (char *)nla_data(name), nla_get_u32(index));
	else if (name)
		NL_SET_ERR_MSG_FMT(extack, "dev %s: no such interface in this network namespace",
				   (char *)nla_data(name));
	else
		NL_SET_ERR_MSG_FMT(extack,
				   "ifindex %u: no such interface in this network namespace",
				   nla_get_u32(index));
	return NULL;
}

static int parse_node(struct genl_info *info, struct nlattr **tb, u64 takes)
{
	int err;

	if (!info->attrs[INC_A_NODE]) {
		NL_SET_ERR_MSG(info->extack, "node: missing; expected which one");
		return -EINVAL;
	}
	/* the family's policy has validated the nest already */
	err = nla_parse_nested(tb, INC_A_NODE_MAX, info->attrs[INC_A_NODE], NULL, info->extack);
	return err ?: netinc_nl_takes(tb, INC_A_NODE_MAX, takes, "node", info->extack);
}

static struct netinc_node *find_node(struct netinc_net *nn, struct nlattr **tb,
				     struct netlink_ext_ack *extack)
{
	struct net_device *dev = NULL;
	struct netinc_node *node;

	lockdep_assert_held(&nn->mutex);
	if (!names_all(tb)) {
		dev = find_dev(nn, tb, extack);
		if (!dev)
			return NULL;
	}
	node = netinc_node_find(nn, dev ? dev->ifindex : 0);
	if (!node)
		NL_SET_ERR_MSG_FMT(extack, "dev %s: is no node",
				   dev ? dev->name : NETINC_ALL_DEVICES);
	dev_put(dev);
	return node;
}

struct netinc_node *netinc_nl_node(struct netinc_net *nn, struct genl_info *info)
{
	struct nlattr *tb[INC_A_NODE_MAX + 1];
	int err = parse_node(info, tb, NODE_ID);

	return err ? ERR_PTR(err) : find_node(nn, tb, info->extack) ?: ERR_PTR(-ENODEV);
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
		cfg->settings.dead_ms = v;
	}
	if (tb[INC_A_NODE_LATE_MS]) {
		v = nla_get_u32(tb[INC_A_NODE_LATE_MS]);
		if (v && (v < MIN_LATE_MS || v > NETINC_MAX_LATE_MS)) {
			NL_SET_ERR_MSG_FMT(extack, "late %u: expected 0 or milliseconds in %u..%u",
					   v, MIN_LATE_MS, NETINC_MAX_LATE_MS);
			return -ERANGE;
		}
		cfg->settings.late_ms = v;
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
		u32 v = nla_get_u32(tb[INC_A_NODE_LATE_POLICY]);

		if (v > INC_LATE_MAX) {
			NL_SET_ERR_MSG_FMT(extack, "late-policy %u: expected 0..%u", v,
					   INC_LATE_MAX);
			return -ERANGE;
		}
		cfg->settings.late_policy = v;
	} else if (tb[INC_A_NODE_LATE_MS]) {
		if (!cfg->settings.late_ms)
			cfg->settings.late_policy = INC_LATE_WAIT;
		else if (cfg->settings.late_policy == INC_LATE_WAIT)
			cfg->settings.late_policy = INC_LATE_FAIL;
	}
	if (cfg->settings.late_policy != INC_LATE_WAIT && !cfg->settings.late_ms) {
		NL_SET_ERR_MSG_FMT(extack, "late-policy %s: needs a limit: late in %u..%u",
				   names[cfg->settings.late_policy], MIN_LATE_MS,
				   NETINC_MAX_LATE_MS);
		return -EINVAL;
	}
	/* whose contributions a result is made of is not kept for another place */
	if (cfg->settings.late_policy == INC_LATE_PARTIAL && cfg->settings.fallback) {
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
		cfg->settings.window = v;
	}
	if (tb[INC_A_NODE_MAX_GROUPS]) {
		u32 v = nla_get_u32(tb[INC_A_NODE_MAX_GROUPS]);

		if (!v || v > NETINC_MAX_GROUPS) {
			NL_SET_ERR_MSG_FMT(extack, "max-groups %u: expected 1..%u", v,
					   NETINC_MAX_GROUPS);
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

/* The last of @n peers is none of those before it. */
static int check_once(const struct netinc_peer *peers, int n, const char *what,
		      struct netlink_ext_ack *extack)
{
	int i;

	for (i = 0; i < n - 1; i++) {
		if (!netinc_peer_same(&peers[i], &peers[n - 1]))
			continue;
		NL_SET_ERR_MSG_FMT(extack, "%s: address %d is address %d, expected each once", what,
				   n, i + 1);
		return -EINVAL;
	}
	return 0;
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
		if (!err)
			err = netinc_nl_parse_addr(&cfg->standby[n], tb, extack);
		if (!err)
			err = netinc_nl_check_standby(&cfg->standby[n], extack);
		n++;
		if (!err)
			err = check_once(cfg->standby, n, "standby", extack);
		if (err)
			return err;
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
		u32 v = nla_get_u32(tb[INC_A_NODE_FALLBACK]);

		if (v >= __INC_FALLBACK_MAX) {
			NL_SET_ERR_MSG_FMT(extack, "fallback %u: expected none, standby or edge",
					   v);
			return -ERANGE;
		}
		cfg->settings.fallback = v;
	}
	if (cfg->settings.fallback == INC_FALLBACK_STANDBY && !cfg->nstandby) {
		NL_SET_ERR_MSG(extack, "fallback standby: expected the address of a standby node");
		return -EINVAL;
	}
	return 0;
}

static int parse_parent(struct netinc_peer *parent, const struct nlattr *attr,
			struct netlink_ext_ack *extack)
{
	struct nlattr *nest[INC_A_PARENT_MAX + 1];

	memset(parent, 0, sizeof(*parent));
	return nla_parse_nested(nest, INC_A_PARENT_MAX, attr, NULL, extack) ?:
		       netinc_nl_parse_addr(parent, nest, extack);
}

/* An address of zeros, alone, takes the parents away. */
static bool is_no_parent(const struct netinc_peer *parent)
{
	return !memchr_inv(parent->addr, 0, sizeof(parent->addr));
}

static int add_parent(struct netinc_node_cfg *cfg, const struct nlattr *attr,
		      struct netlink_ext_ack *extack)
{
	struct netinc_peer *parent = &cfg->parent[cfg->nparents];
	int err = parse_parent(parent, attr, extack) ?: netinc_nl_check_addr(parent, extack);

	if (err)
		return err;
	cfg->nparents++;
	return check_once(cfg->parent, cfg->nparents, "parent", extack);
}

/* All parents that the request names, instead of those of before. */
static int take_parents(struct netinc_node_cfg *cfg, const struct nlattr *node,
			struct nlattr **tb, struct netlink_ext_ack *extack)
{
	struct netinc_peer parent;
	const struct nlattr *attr;
	int rem, err, n = 0;

	nla_for_each_nested(attr, node, rem)
		n += nla_type(attr) == INC_A_NODE_PARENT;
	if (n > INC_MAX_STRIPES) {
		NL_SET_ERR_MSG_FMT(extack, "parent: %d nodes, expected at most %u", n,
				   INC_MAX_STRIPES);
		return -E2BIG;
	}
	if (!n)
		return 0;
	cfg->nparents = 0;
	err = parse_parent(&parent, tb[INC_A_NODE_PARENT], extack);
	if (err || (n == 1 && is_no_parent(&parent)))
		return err;
	nla_for_each_nested(attr, node, rem) {
		err = nla_type(attr) == INC_A_NODE_PARENT ? add_parent(cfg, attr, extack) : 0;
		if (err)
			return err;
	}
	return 0;
}

/*
 * 224.0.0.x is for the protocols of a link, 232.x.x.x for those who name a source. Switches send
 * on to everybody what has the link address of the former, which the last 23 bits make.
 */
static int check_multicast(u32 addr, u32 len, struct netlink_ext_ack *extack)
{
	u32 bits = len < 32 ? U32_MAX >> len : 0;
	__be32 said = cpu_to_be32(addr);

	if (len < NETINC_MIN_MULTICAST_LEN || len > 32) {
		NL_SET_ERR_MSG_FMT(extack, "multicast: prefix of %u bits: expected %u..32", len,
				   NETINC_MIN_MULTICAST_LEN);
		return -ERANGE;
	}
	if (!ipv4_is_multicast(said) || addr >> 24 == 232) {
		NL_SET_ERR_MSG_FMT(extack,
				   "multicast %pI4/%u: expected groups as 239.1.0.0/16, not 232.0.0.0/8",
				   &said, len);
		return -EADDRNOTAVAIL;
	}
	if (!(addr & 0x7fff00) && !(bits & 0x100)) {
		NL_SET_ERR_MSG_FMT(extack,
				   "multicast %pI4/%u: has link addresses of 224.0.0.0/24", &said,
				   len);
		return -EADDRNOTAVAIL;
	}
	if (addr & bits) {
		NL_SET_ERR_MSG_FMT(extack, "multicast %pI4/%u: bits behind the prefix are set",
				   &said, len);
		return -EINVAL;
	}
	return 0;
}

/* A length of 0 takes the range away. */
static int take_multicast(struct netinc_node_cfg *cfg, const struct nlattr *nest,
			  struct netlink_ext_ack *extack)
{
	struct nlattr *tb[INC_A_PREFIX_MAX + 1];
	const struct nlattr *addr;
	int err;
	u32 len;

	if (!nest)
		return 0;
	err = nla_parse_nested(tb, INC_A_PREFIX_MAX, nest, NULL, extack);
	if (err)
		return err;
	addr = tb[INC_A_PREFIX_ADDR];
	len = tb[INC_A_PREFIX_LEN] ? nla_get_u32(tb[INC_A_PREFIX_LEN]) : 32;
	if (len && (!addr || nla_len(addr) != 4)) {
		NL_SET_ERR_MSG_FMT(extack, "multicast: address of %d bytes: expected 4 (IPv4)",
				   addr ? nla_len(addr) : 0);
		return -EINVAL;
	}
	if (len)
		err = check_multicast(be32_to_cpu(nla_get_in_addr(addr)), len, extack);
	if (err)
		return err;
	cfg->multicast = len ? nla_get_in_addr(addr) : 0;
	cfg->multicast_len = len;
	return 0;
}

static int take_lacks(u32 *lacks, const struct nlattr *attr, u32 all, const char *what,
		      struct netlink_ext_ack *extack)
{
	u32 bits;

	if (!attr)
		return 0;
	bits = nla_get_u32(attr);
	/* a node that reduces nothing is none */
	if (bits & ~all || bits == all) {
		NL_SET_ERR_MSG_FMT(extack, "%s 0x%x: expected bits of 0x%x, not all of them", what,
				   bits, all);
		NL_SET_BAD_ATTR(extack, attr);
		return -EINVAL;
	}
	*lacks = bits;
	return 0;
}

/* What the node does not reduce. */
static int take_kinds(struct netinc_node_cfg *cfg, struct nlattr **tb,
		      struct netlink_ext_ack *extack)
{
	return take_lacks(&cfg->settings.lacks.types, tb[INC_A_NODE_LACKS_TYPES],
			  NETINC_ALL_TYPES, "lacks-types", extack) ?:
		       take_lacks(&cfg->settings.lacks.ops, tb[INC_A_NODE_LACKS_OPERATIONS],
				  NETINC_ALL_OPS, "lacks-operations", extack);
}

static int take_limits(struct netinc_node_cfg *cfg, const struct nlattr *node, struct nlattr **tb,
		       struct netlink_ext_ack *extack)
{
	int err;

	if (tb[INC_A_NODE_KEY]) {
		nla_memcpy(cfg->key, tb[INC_A_NODE_KEY], sizeof(cfg->key));
		cfg->keyed = memchr_inv(cfg->key, 0, sizeof(cfg->key));
	}
	err = take_times(cfg, tb, extack);
	if (!err)
		err = take_sizes(cfg, tb, extack);
	if (!err)
		err = take_fallback(cfg, node, tb, extack);
	if (!err)
		err = take_parents(cfg, node, tb, extack);
	if (!err)
		err = take_policy(cfg, tb, extack);
	if (!err)
		err = take_multicast(cfg, tb[INC_A_NODE_MULTICAST], extack);
	if (!err)
		err = take_kinds(cfg, tb, extack);
	return err;
}

/* Nodes */

/* A node that is there already gets the settings of a new one, and keeps its groups. */
static int replace_node(struct netinc_net *nn, struct net_device *dev,
			const struct netinc_node_cfg *cfg)
{
	struct netinc_node *node = netinc_node_find(nn, dev ? dev->ifindex : 0);

	if (!node)
		return netinc_node_add(nn, dev, cfg);
	netinc_node_set(node, cfg);
	netinc_event_node(nn->net, INC_EVENT_NODE_SET, node->ifindex);
	return 0;
}

static int add_node(struct netinc_net *nn, struct nlattr **tb, const struct netinc_node_cfg *cfg,
		    const struct genl_info *info)
{
	struct netlink_ext_ack *extack = info->extack;
	bool all = names_all(tb);
	struct net_device *dev = all ? NULL : find_dev(nn, tb, extack);
	int err;

	if (!dev && !all)
		return -ENODEV;
	err = netinc_nl_check_parents(nn->net, dev, cfg, extack);
	if (err)
		goto put;
	err = info->attrs[INC_A_REPLACE] ? replace_node(nn, dev, cfg) :
					   netinc_node_add(nn, dev, cfg);
	if (err == -EEXIST)
		NL_SET_ERR_MSG_FMT(extack, "dev %s: is a node already; `set` changes it",
				   all ? NETINC_ALL_DEVICES : dev->name);
	else if (err == -EADDRINUSE)
		NL_SET_ERR_MSG_FMT(extack, "UDP port %u is in use by another program", netinc_port);
put:
	dev_put(dev);
	return err;
}

int inc_nl_node_add_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct netinc_net *nn = netinc_net(genl_info_net(info));
	struct nlattr *tb[INC_A_NODE_MAX + 1];
	struct netinc_node_cfg cfg;
	int err;

	netinc_node_cfg_init(&cfg);
	err = parse_node(info, tb, ~NODE_OUT) ?:
		      take_limits(&cfg, info->attrs[INC_A_NODE], tb, info->extack);
	if (!err) {
		mutex_lock(&nn->mutex);
		err = add_node(nn, tb, &cfg, info);
		mutex_unlock(&nn->mutex);
	}
	memzero_explicit(&cfg, sizeof(cfg));
	return err;
}

static int change_node(struct netinc_net *nn, struct genl_info *info)
{
	struct nlattr *tb[INC_A_NODE_MAX + 1];
	struct netinc_node_cfg cfg;
	struct netinc_node *node;
	int err = parse_node(info, tb, ~NODE_OUT);

	if (err)
		return err;
	node = find_node(nn, tb, info->extack);
	if (!node)
		return -ENODEV;
	/* only requests change it, and nn->mutex is held */
	cfg = node->cfg;
	err = take_limits(&cfg, info->attrs[INC_A_NODE], tb, info->extack);
	if (!err && tb[INC_A_NODE_PARENT])
		err = netinc_nl_check_parents(nn->net, node->dev, &cfg, info->extack);
	if (!err) {
		netinc_node_set(node, &cfg);
		netinc_event_node(nn->net, INC_EVENT_NODE_SET, node->ifindex);
	}
	memzero_explicit(&cfg, sizeof(cfg));
	return err;
}

int inc_nl_node_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct netinc_net *nn = netinc_net(genl_info_net(info));
	int err;

	mutex_lock(&nn->mutex);
	err = change_node(nn, info);
	mutex_unlock(&nn->mutex);
	return err;
}

int inc_nl_node_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct netinc_net *nn = netinc_net(genl_info_net(info));
	struct netinc_node *node;
	int err;

	mutex_lock(&nn->mutex);
	node = netinc_nl_node(nn, info);
	err = PTR_ERR_OR_ZERO(node) ?: netinc_node_del(nn, node->ifindex);
	mutex_unlock(&nn->mutex);
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

/* Ranks hear what comes from the port that is INC's here, and nothing else. */
static int check_parent_port(const struct netinc_peer *parent, struct netlink_ext_ack *extack)
{
	if (parent->udp_port == htons(netinc_port))
		return 0;
	NL_SET_ERR_MSG_FMT(extack, "port %u: expected %u, the module's here (its parameter port)",
			   ntohs(parent->udp_port), netinc_port);
	return -ERANGE;
}

int inc_nl_parent_set_doit(struct sk_buff *skb, struct genl_info *info)
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
		err = netinc_nl_parse_addr(&parent, tb, info->extack);
	if (!err)
		err = netinc_nl_check_addr(&parent, info->extack);
	if (!err)
		err = check_parent_port(&parent, info->extack);
	if (!err)
		change_parent(netinc_net(genl_info_net(info)), &parent);
	return err;
}

int inc_nl_parent_del_doit(struct sk_buff *skb, struct genl_info *info)
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

/* Who asks for the family has the module loaded. */
MODULE_ALIAS_GENL_FAMILY(INC_GENL_NAME);

static const struct genl_multicast_group mcgrps[] = {
	[INC_NLGRP_EVENTS] = { .name = INC_GENL_MCGRP },
	[INC_NLGRP_DETAILS] = { .name = INC_GENL_MCGRP_DETAILS, .flags = GENL_MCAST_CAP_NET_ADMIN },
};

struct genl_family netinc_nl_family __ro_after_init = {
	.name = INC_GENL_NAME,
	.version = INC_GENL_VERSION,
	.module = THIS_MODULE,
	.netnsok = true,
	.parallel_ops = true,
	.mcgrps = mcgrps,
	.n_mcgrps = ARRAY_SIZE(mcgrps),
};

bool netinc_nl_ready(void)
{
	return READ_ONCE(registered);
}

int netinc_nl_init(void)
{
	int err;

	netinc_genl_set_ops(&netinc_nl_family, inc_nl_ops, ARRAY_SIZE(inc_nl_ops));
	err = genl_register_family(&netinc_nl_family);
	if (!err)
		WRITE_ONCE(registered, true);
	return err;
}

void netinc_nl_fini(void)
{
	WRITE_ONCE(registered, false);
	genl_unregister_family(&netinc_nl_family);
}
