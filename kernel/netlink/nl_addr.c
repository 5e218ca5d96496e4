// SPDX-License-Identifier: GPL-2.0-only
/*
 * Addresses in requests: of parents and standby nodes. A refusal says which one is wrong and what
 * was expected.
 */
#include <linux/netdevice.h>
#include <linux/netlink.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <net/netlink.h>
#include <net/route.h>
#include "core/nf_hooks.h"
#include "netlink/nl_addr.h"
#include "node/node.h"

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

int netinc_nl_check_addr(const struct netinc_peer *peer, struct netlink_ext_ack *extack)
{
	return peer->family == AF_INET ? check_ipv4(peer, extack) : check_ipv6(peer, extack);
}

int netinc_nl_parse_addr(struct netinc_peer *peer, struct nlattr **tb,
			 struct netlink_ext_ack *extack)
{
	const struct nlattr *addr = tb[INC_A_PARENT_ADDR], *port = tb[INC_A_PARENT_PORT];
	u32 number = port ? nla_get_u32(port) : netinc_port;
	int len = addr ? nla_len(addr) : 0;

	if (len != 4 && len != 16) {
		NL_SET_ERR_MSG_FMT(extack, "address of %d bytes: expected 4 (IPv4) or 16 (IPv6)",
				   len);
		return -EINVAL;
	}
	if (!number || number > U16_MAX) {
		NL_SET_ERR_MSG_FMT(extack, "port %u: expected 1..65535", number);
		return -ERANGE;
	}
	peer->family = len == 4 ? AF_INET : AF_INET6;
	memcpy(peer->addr, nla_data(addr), len);
	peer->udp_port = htons(number);
	if (tb[INC_A_PARENT_IFINDEX])
		peer->ifindex = nla_get_u32(tb[INC_A_PARENT_IFINDEX]);
	return 0;
}

static bool is_loopback_addr(const struct netinc_peer *peer)
{
	if (peer->family == AF_INET6)
		return ipv6_addr_loopback((const struct in6_addr *)peer->addr);
	return peer->addr[0] == IN_LOOPBACKNET;
}

/*
 * Is @peer the INC of this network namespace? Addresses of a VRF are asked for where @dev, the
 * node's device, is in it: elsewhere they may be another box's. NULL: dev all.
 */
static bool is_own_addr(struct net *net, struct net_device *dev, const struct netinc_peer *peer)
{
	struct net_device *via = NULL;
	__be32 addr;
	bool own;

	if (peer->udp_port != htons(netinc_port))
		return false;
	if (is_loopback_addr(peer))
		return true;
	rcu_read_lock();
	if (peer->ifindex)
		via = dev_get_by_index_rcu(net, peer->ifindex);
	via = via ?: dev;
	memcpy(&addr, peer->addr, sizeof(addr));
	if (peer->family == AF_INET)
		own = inet_addr_type_dev_table(net, via, addr) == RTN_LOCAL;
	else
		own = ipv6_chk_addr(net, (const struct in6_addr *)peer->addr, via, !!peer->ifindex);
	rcu_read_unlock();
	return own;
}

/*
 * A node that joined a group at its own box would wait for itself: the way from parent to parent
 * leads to no network namespace twice.
 */
int netinc_nl_check_parents(struct net *net, struct net_device *dev,
			    const struct netinc_node_cfg *cfg, struct netlink_ext_ack *extack)
{
	static const char expected[] = "is this box; expected another";
	const struct netinc_peer *peer;

	for (peer = cfg->parent; peer < cfg->parent + cfg->nparents; peer++) {
		if (!is_own_addr(net, dev, peer))
			continue;
		if (peer->family == AF_INET6)
			NL_SET_ERR_MSG_FMT(extack, "parent %pI6c: %s", peer->addr, expected);
		else
			NL_SET_ERR_MSG_FMT(extack, "parent %pI4: %s", peer->addr, expected);
		return -EADDRNOTAVAIL;
	}
	return 0;
}

/* It is told to ranks, to whom this box's interfaces mean nothing, nor its own addresses. */
int netinc_nl_check_standby(const struct netinc_peer *peer, struct netlink_ext_ack *extack)
{
	int type = peer->family == AF_INET6 ? ipv6_addr_type((const struct in6_addr *)peer->addr) :
					      0;

	if (type & IPV6_ADDR_LINKLOCAL && !(type & IPV6_ADDR_MULTICAST)) {
		NL_SET_ERR_MSG_FMT(extack, "standby %pI6c: expected no link-local address",
				   peer->addr);
		return -EADDRNOTAVAIL;
	}
	if (is_loopback_addr(peer)) {
		if (peer->family == AF_INET6)
			NL_SET_ERR_MSG_FMT(extack, "standby %pI6c: expected no loopback address",
					   peer->addr);
		else
			NL_SET_ERR_MSG_FMT(extack, "standby %pI4: expected no loopback address",
					   peer->addr);
		return -EADDRNOTAVAIL;
	}
	if (peer->ifindex) {
		NL_SET_ERR_MSG_FMT(extack, "standby: interface %u: expected none", peer->ifindex);
		return -EINVAL;
	}
	return netinc_nl_check_addr(peer, extack);
}
