// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets out, by a cached route. UDP and IP headers are written here and not by
 * udp_tunnel_xmit_skb(), which leaves csum_start unset for GSO.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/jhash.h>
#include <linux/udp.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/udp.h>
#include "core/fpu_section.h"
#include "core/trace.h"
#include "core/path.h"

__be16 netinc_sport(u64 job, u32 group, u32 tree, u8 stripe)
{
	u32 path = tree | INC_STRIPE_INDEX(stripe) << 16;
	u32 hash = jhash_3words(group, path, lower_32_bits(job), upper_32_bits(job));

	return htons(INC_SPORT_BASE + (hash & 0x3fff));
}

int netinc_path_init(struct netinc_path *path, struct net *net, const struct netinc_peer *peer,
		     __be16 sport, u32 oif, gfp_t gfp)
{
	path->net = net;
	path->peer = *peer;
	path->sport = sport;
	path->oif = oif;
	path->multicast = false;
	path->cached_oif = 0;
	path->cached_mark = 0;
	return dst_cache_init(&path->dst, gfp);
}

void netinc_path_destroy(struct netinc_path *path)
{
	dst_cache_destroy(&path->dst);
}

void netinc_path_turn(struct netinc_path *path, const struct netinc_peer *peer, u32 oif,
		      const u8 *local)
{
	path->peer = *peer;
	path->oif = oif;
	memcpy(path->local, local, sizeof(path->local));
	dst_cache_reset_now(&path->dst);
}

static u32 path_oif(const struct netinc_path *path)
{
	return path->oif ?: path->sk ? READ_ONCE(path->sk->sk_bound_dev_if) : 0;
}

static u32 path_mark(const struct netinc_path *path)
{
	return path->sk ? READ_ONCE(path->sk->sk_mark) : 0;
}

static kuid_t path_uid(const struct netinc_path *path)
{
	return sock_net_uid(path->net, path->sk);
}

static struct dst_entry *lookup_route4(struct netinc_path *path, __be32 *saddr)
{
	struct flowi4 fl = { .flowi4_proto = IPPROTO_UDP,
			     .flowi4_oif = path->cached_oif,
			     .flowi4_mark = path->cached_mark,
			     .flowi4_uid = path_uid(path),
			     .fl4_sport = path->sport,
			     .fl4_dport = path->peer.udp_port };
	struct rtable *rt = dst_cache_get_ip4(&path->dst, saddr);

	if (rt)
		return &rt->dst;
	memcpy(&fl.daddr, path->peer.addr, sizeof(fl.daddr));
	memcpy(&fl.saddr, path->local, sizeof(fl.saddr));
	/*
	 * it may be what a non-member calls its address, or a member others': by that nothing goes
	 * to many
	 */
	if (ipv4_is_zeronet(fl.daddr))
		return ERR_PTR(-EADDRNOTAVAIL);
	rt = ip_route_output_key(path->net, &fl);
	if (IS_ERR(rt))
		return ERR_CAST(rt);
	if ((rt->rt_flags & RTCF_BROADCAST) ||
	    !!(rt->rt_flags & RTCF_MULTICAST) != path->multicast) {
		ip_rt_put(rt);
		return ERR_PTR(-EADDRNOTAVAIL);
	}
	*saddr = fl.saddr;
	dst_cache_set_ip4(&path->dst, &rt->dst, fl.saddr);
	return &rt->dst;
}

static struct dst_entry *lookup_route6(struct netinc_path *path, struct in6_addr *saddr)
{
#if IS_ENABLED(CONFIG_IPV6)
	struct flowi6 fl = { .flowi6_proto = IPPROTO_UDP,
			     .flowi6_oif = path->cached_oif,
			     .flowi6_mark = path->cached_mark,
			     .flowi6_uid = path_uid(path),
			     .fl6_sport = path->sport,
			     .fl6_dport = path->peer.udp_port };
	struct dst_entry *dst = dst_cache_get_ip6(&path->dst, saddr);

	if (dst)
		return dst;
	memcpy(&fl.daddr, path->peer.addr, sizeof(fl.daddr));
	memcpy(&fl.saddr, path->local, sizeof(fl.saddr));
	if (ipv6_addr_any(&fl.daddr) || ipv6_addr_is_multicast(&fl.daddr))
		return ERR_PTR(-EADDRNOTAVAIL);
	dst = ip6_dst_lookup_flow(path->net, NULL, &fl, NULL);
	if (IS_ERR(dst))
		return dst;
	*saddr = fl.saddr;
	dst_cache_set_ip6(&path->dst, dst, &fl.saddr);
	return dst;
#else
	return ERR_PTR(-EAFNOSUPPORT);
#endif
}

/* SO_MARK or SO_BINDTODEVICE may have been set since: routes of before do not serve any more. */
static void forget_old_routes(struct netinc_path *path)
{
	u32 oif = path_oif(path), mark = path_mark(path);

	if (path->cached_oif == oif && path->cached_mark == mark)
		return;
	dst_cache_reset_now(&path->dst);
	path->cached_oif = oif;
	path->cached_mark = mark;
}

static struct dst_entry *lookup_route(struct netinc_path *path, struct in6_addr *saddr)
{
	forget_old_routes(path);
	if (path->peer.family == AF_INET6)
		return lookup_route6(path, saddr);
	return lookup_route4(path, &saddr->s6_addr32[0]);
}

int netinc_path_mtu(struct netinc_path *path)
{
	u32 headers =
		sizeof(struct udphdr) +
		(path->peer.family == AF_INET6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr));
	struct in6_addr saddr;
	struct dst_entry *dst;
	int mtu;

	local_bh_disable();
	dst = lookup_route(path, &saddr);
	local_bh_enable();
	if (IS_ERR(dst))
		return PTR_ERR(dst);
	mtu = min_t(u32, dst_mtu(dst), 65535);
	dst_release(dst);
	return mtu > headers ? mtu - headers : -EMSGSIZE;
}

u32 netinc_path_ifindex(struct netinc_path *path)
{
	struct in6_addr saddr;
	struct dst_entry *dst;
	u32 ifindex;

	local_bh_disable();
	dst = lookup_route(path, &saddr);
	local_bh_enable();
	if (IS_ERR(dst))
		return 0;
	ifindex = dst->dev->flags & IFF_LOOPBACK ? 0 : dst->dev->ifindex;
	dst_release(dst);
	return ifindex;
}

static void push_udp(struct netinc_path *path, struct sk_buff *skb, const struct in6_addr *saddr)
{
	const struct in6_addr *daddr = (const void *)path->peer.addr;
	u32 len = skb->len + sizeof(struct udphdr);
	struct udphdr *uh = skb_push(skb, sizeof(*uh));

	skb_reset_transport_header(skb);
	uh->source = path->sport;
	uh->dest = path->peer.udp_port;
	uh->len = htons(len);
	if (path->peer.family == AF_INET6)
		uh->check = ~udp_v6_check(len, saddr, daddr, 0);
	else
		uh->check = ~udp_v4_check(len, saddr->s6_addr32[0], daddr->s6_addr32[0], 0);
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct udphdr, check);
}

static void push_ip4(struct netinc_path *path, struct sk_buff *skb, const struct in6_addr *saddr,
		     const struct dst_entry *dst)
{
	struct iphdr *iph = skb_push(skb, sizeof(*iph));

	skb_reset_network_header(skb);
	memset(iph, 0, sizeof(*iph));
	iph->version = 4;
	iph->ihl = sizeof(*iph) / 4;
	iph->tos = INET_ECN_ECT_0;
	iph->frag_off = htons(IP_DF);
	iph->protocol = IPPROTO_UDP;
	iph->saddr = saddr->s6_addr32[0];
	memcpy(&iph->daddr, path->peer.addr, sizeof(iph->daddr));
	iph->ttl = path->multicast ? 1 : ip4_dst_hoplimit(dst);
	skb->protocol = htons(ETH_P_IP);
}

static void push_ip6(struct netinc_path *path, struct sk_buff *skb, const struct in6_addr *saddr,
		     struct dst_entry *dst)
{
	struct ipv6hdr *ip6h = skb_push(skb, sizeof(*ip6h));

	skb_reset_network_header(skb);
	memset(ip6h, 0, sizeof(*ip6h));
	ip6_flow_hdr(ip6h, INET_ECN_ECT_0, 0);
	ip6h->payload_len = htons(skb->len - sizeof(*ip6h));
	ip6h->nexthdr = IPPROTO_UDP;
	ip6h->hop_limit = ip6_dst_hoplimit(dst);
	ip6h->saddr = *saddr;
	memcpy(&ip6h->daddr, path->peer.addr, sizeof(ip6h->daddr));
	skb->protocol = htons(ETH_P_IPV6);
}

int netinc_path_queue(struct netinc_path *path, struct sk_buff *skb, struct sk_buff_head *q)
{
	struct in6_addr saddr = {};
	struct dst_entry *dst;

	netinc_fpu_section_outside();
	dst = lookup_route(path, &saddr);
	if (IS_ERR(dst)) {
		kfree_skb(skb);
		return PTR_ERR(dst);
	}
	push_udp(path, skb, &saddr);
	if (path->peer.family == AF_INET6)
		push_ip6(path, skb, &saddr, dst);
	else
		push_ip4(path, skb, &saddr, dst);
	skb_dst_set(skb, dst);
	skb->mark = path->cached_mark;
	if (path->sk)
		skb->priority = READ_ONCE(path->sk->sk_priority);
	__skb_queue_tail(q, skb);
	return 0;
}

void netinc_tx_flush(struct net *net, struct sk_buff_head *q)
{
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(q))) {
		trace_netinc_tx(skb);
		if (skb->protocol == htons(ETH_P_IP)) {
			memset(IPCB(skb), 0, sizeof(*IPCB(skb)));
			ip_local_out(net, NULL, skb);
		} else {
			memset(IP6CB(skb), 0, sizeof(*IP6CB(skb)));
			ip6_local_out(net, NULL, skb);
		}
	}
}
