// SPDX-License-Identifier: GPL-2.0-only
/*
 * Senders of packets: what a source address may be that somebody here is to answer, and where the
 * way back leads.
 */
#include <linux/inetdevice.h>
#include <net/addrconf.h>
#include <net/ip_fib.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/route.h>
#include "core/nf_hooks.h"
#include "core/rx.h"

/* A device by which this box hears what it sends itself. */
static bool is_loop(const struct net_device *dev)
{
	return (dev->flags & IFF_LOOPBACK) || netif_is_l3_master(dev);
}

bool netinc_rx_is_own(const struct netinc_rx *rx)
{
	return is_loop(rx->via);
}

static bool sender_ok4(const struct netinc_rx *rx)
{
	unsigned int type;
	__be32 addr;

	memcpy(&addr, rx->peer.addr, sizeof(addr));
	type = inet_addr_type_dev_table(rx->nn->net, rx->via, addr);
	/*
	 * what a bridge hands over IP has not looked at; of the rest it has judged what may come
	 * from this box
	 */
	if (rx->via != rx->dev)
		return type == RTN_UNICAST && !ipv4_is_loopback(addr);
	return type == RTN_UNICAST || type == RTN_LOCAL;
}

static bool sender_ok6(const struct netinc_rx *rx)
{
	const struct in6_addr *addr = (const void *)rx->peer.addr;

	if (!(ipv6_addr_type(addr) & IPV6_ADDR_UNICAST))
		return false;
	return is_loop(rx->via) ||
	       (!ipv6_addr_loopback(addr) && !ipv6_chk_addr(rx->nn->net, addr, rx->via, 0));
}

bool netinc_rx_sender_ok(const struct netinc_rx *rx)
{
	return rx->peer.family == AF_INET ? sender_ok4(rx) : sender_ok6(rx);
}

u32 netinc_rx_oif(const struct netinc_rx *rx)
{
	const struct in6_addr *peer = (const void *)rx->peer.addr, *local = (const void *)rx->local;

	if (rx->peer.family == AF_INET6 &&
	    ((ipv6_addr_type(peer) | ipv6_addr_type(local)) & IPV6_ADDR_LINKLOCAL))
		return rx->via->ifindex;
	return rx->vrf;
}

static bool comes_back4(const struct netinc_rx *rx)
{
	struct flowi4 fl = { .flowi4_iif = LOOPBACK_IFINDEX,
			     .flowi4_l3mdev = rx->vrf,
			     .flowi4_proto = IPPROTO_UDP,
			     .fl4_sport = htons(netinc_port),
			     .fl4_dport = rx->sport };
	struct fib_result res;

	memcpy(&fl.daddr, rx->peer.addr, sizeof(fl.daddr));
	memcpy(&fl.saddr, rx->local, sizeof(fl.saddr));
	return !fib_lookup(rx->nn->net, &fl, &res, FIB_LOOKUP_IGNORE_LINKSTATE) &&
	       res.type == RTN_UNICAST && fib_info_nh_uses_dev(res.fi, rx->via);
}

static bool comes_back6(const struct netinc_rx *rx)
{
#if IS_ENABLED(CONFIG_IPV6)
	struct flowi6 fl = { .flowi6_iif = LOOPBACK_IFINDEX,
			     .flowi6_oif = rx->via->ifindex,
			     .flowi6_l3mdev = rx->vrf,
			     .flowi6_proto = IPPROTO_UDP,
			     .fl6_sport = htons(netinc_port),
			     .fl6_dport = rx->sport };
	struct dst_entry *dst;
	struct rt6_info *rt;
	bool ret;

	memcpy(&fl.daddr, rx->peer.addr, sizeof(fl.daddr));
	memcpy(&fl.saddr, rx->local, sizeof(fl.saddr));
	dst = ip6_route_lookup(rx->nn->net, &fl, NULL, RT6_LOOKUP_F_HAS_SADDR);
	rt = (struct rt6_info *)dst;
	ret = !dst->error && !(rt->rt6i_flags & (RTF_REJECT | RTF_ANYCAST | RTF_LOCAL)) &&
	      rt->rt6i_idev && rt->rt6i_idev->dev == rx->via;
	dst_release(dst);
	return ret;
#else
	return false;
#endif
}

bool netinc_rx_comes_back(const struct netinc_rx *rx)
{
	if (is_loop(rx->via))
		return true;
	return rx->peer.family == AF_INET ? comes_back4(rx) : comes_back6(rx);
}
