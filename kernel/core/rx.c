// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets in. Both hooks lead here with an skb whose data begins at the IP header. What is not
 * INC's is left alone; for the rest everything is checked that nobody has checked yet, then
 * dispatch.c sees whether a node or a rank of this box is meant.
 */
#include <linux/inetdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netfilter.h>
#include <linux/prefetch.h>
#include <linux/udp.h>
#include <net/addrconf.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/route.h>
#include <net/xfrm.h>
#include "core/nf_hooks.h"
#include "core/skb_contig.h"
#include "core/rx.h"
#include "core/trace.h"

void netinc_rx_dropped(struct netinc_rx *rx, u32 group, enum inc_counter reason)
{
	rx->drop = reason;
	trace_netinc_drop(rx->skb, group, reason);
}

void netinc_rx_drop(struct netinc_rx *rx, enum inc_counter reason)
{
	netinc_net_count(rx->nn, reason, 1);
	netinc_rx_dropped(rx, rx->pkt.group, reason);
}

static bool take_one(struct netinc_rx *rx, u32 *left)
{
	if (!*left) {
		netinc_rx_drop(rx, INC_C_DROP_WORK);
		return false;
	}
	--*left;
	return true;
}

bool netinc_rx_may_offer(struct netinc_rx *rx)
{
	return take_one(rx, &rx->work);
}

bool netinc_rx_may_hand(struct netinc_rx *rx)
{
	return take_one(rx, &rx->takers);
}

/*
 * The reason that dropwatch and the like are shown; counters and the tracepoint are more precise.
 */
static enum skb_drop_reason drop_reason(enum inc_counter drop)
{
	switch (drop) {
	case INC_C_DROP_CHECKSUM:
		return SKB_DROP_REASON_UDP_CSUM;
	case INC_C_DROP_MEMORY:
		return SKB_DROP_REASON_NOMEM;
	case INC_C_DROP_NO_NODE:
	case INC_C_DROP_NO_GROUP:
		return SKB_DROP_REASON_NO_SOCKET;
	case INC_C_DROP_MALFORMED:
		return SKB_DROP_REASON_HDR_TRUNC;
	case INC_C_DROP_POLICY:
		return SKB_DROP_REASON_XFRM_POLICY;
	default:
		return SKB_DROP_REASON_NOT_SPECIFIED;
	}
}

/* A group that keeps the skb has a reference of its own. */
static void free_rx(struct netinc_rx *rx)
{
	if (rx->drop && !rx->used)
		kfree_skb_reason(rx->skb, drop_reason(rx->drop));
	else
		consume_skb(rx->skb);
}

void netinc_skb_hold(struct sk_buff *skb)
{
	skb_orphan(skb);
	skb_dst_drop(skb);
	nf_reset_ct(skb);
	skb_ext_reset(skb);
	skb->dev = NULL;
}

/* Where the header at rx->at lies, if that is contiguous: rx->contig bytes from there on are. */
static const void *find_header(struct netinc_rx *rx)
{
	const void *h = netinc_skb_contig_at(rx->skb, rx->at, &rx->contig);

	return h && rx->contig >= sizeof(struct inc_hdr) ? h : NULL;
}

/* The header behind the one of @len bytes with its body that rx->next has been. */
static const void *header_behind(struct netinc_rx *rx, u32 len)
{
	if (rx->left < sizeof(struct inc_hdr))
		return NULL;
	if (!rx->next || rx->contig < len + sizeof(struct inc_hdr))
		return find_header(rx);
	rx->contig -= len;
	return (const void *)rx->next + len;
}

/* @h: the header of the next segment, of @len bytes. */
static int take_header(struct netinc_rx *rx, const void *h, u32 len)
{
	int err;

	if (!rx->last || len != rx->seg_size || !netinc_parse_next(h, rx->last, &rx->pkt)) {
		err = netinc_parse(h, len, &rx->pkt);
		if (err)
			return err;
	}
	rx->last = len == rx->seg_size ? rx->next : NULL;
	rx->pkt.ce = rx->ce;
	rx->pkt.multicast = rx->multicast;
	rx->body = rx->at + sizeof(struct inc_hdr);
	rx->at += len;
	rx->left -= len;
	/* other packets have been looked at since it was written */
	rx->next = header_behind(rx, len);
	prefetch(rx->next);
	return 1;
}

/* Apart from the rest for its buffer, which the compiler may clear at every call. */
static noinline int take_copied(struct netinc_rx *rx, u32 len)
{
	u8 buf[sizeof(struct inc_hdr)];

	if (skb_copy_bits(rx->skb, rx->at, buf, sizeof(buf)))
		return -INC_C_DROP_MALFORMED;
	return take_header(rx, buf, len);
}

int netinc_rx_parse(struct netinc_rx *rx)
{
	u32 len = min(rx->left, rx->seg_size);

	if (len < sizeof(struct inc_hdr))
		return -INC_C_DROP_MALFORMED;
	if (!rx->next)
		rx->next = find_header(rx);
	return rx->next ? take_header(rx, rx->next, len) : take_copied(rx, len);
}

bool netinc_rx_nonce(const struct netinc_rx *rx, u32 *nonce)
{
	__be32 said;

	if (skb_copy_bits(rx->skb, rx->body, &said, sizeof(said)))
		return false;
	*nonce = be32_to_cpu(said);
	return true;
}

const void *netinc_rx_body(const struct netinc_rx *rx, void *buf)
{
	if (rx->pkt.len > NETINC_MAX_BODY)
		return NULL;
	return skb_header_pointer(rx->skb, rx->body, rx->pkt.len, buf);
}

/*
 * To our port; or, as an answer to a rank that is here, from our port to the one that it has sent
 * from: who lets only answers in, or translates addresses on the way, has an entry for these. The
 * bridge's hook takes packets for nodes only.
 */
static bool is_inc(const struct netinc_rx *rx, const struct udphdr *uh)
{
	if (uh->dest == htons(netinc_port))
		return true;
	return uh->source == htons(netinc_port) && rx->via == rx->dev &&
	       netinc_dispatch_answer(rx, uh->dest);
}

/* The UDP header, if this is INC over IPv4; rx->headers and rx->peer are filled in. */
static const struct udphdr *find_udp4(struct netinc_rx *rx, struct iphdr *ip, struct udphdr *udp)
{
	const struct iphdr *iph = skb_header_pointer(rx->skb, 0, sizeof(*ip), ip);
	const struct udphdr *uh;

	if (!iph || iph->version != 4 || iph->ihl < 5 || iph->protocol != IPPROTO_UDP ||
	    (iph->frag_off & htons(IP_OFFSET)))
		return NULL;
	*ip = *iph;
	rx->headers = ip->ihl * 4 + sizeof(*udp);
	uh = skb_header_pointer(rx->skb, ip->ihl * 4, sizeof(*udp), udp);
	if (!uh || !is_inc(rx, uh))
		return NULL;
	rx->ce = INET_ECN_is_ce(ip->tos);
	rx->peer.family = AF_INET;
	memcpy(rx->peer.addr, &ip->saddr, sizeof(ip->saddr));
	memcpy(rx->local, &ip->daddr, sizeof(ip->daddr));
	return uh;
}

/*
 * The UDP header's offset, also behind extension headers and in a first fragment: these are to be
 * dropped and not to be passed by, to a socket that nobody reads. 0: it is no UDP.
 */
static u32 udp6_offset(const struct netinc_rx *rx, const struct ipv6hdr *ip6)
{
	u8 next = ip6->nexthdr;
	__be16 frag;
	int off;

	off = ipv6_skip_exthdr(rx->skb, sizeof(*ip6), &next, &frag);
	return off < 0 || next != IPPROTO_UDP || (frag & htons(IP6_OFFSET)) ? 0 : off;
}

static const struct udphdr *find_udp6(struct netinc_rx *rx, struct ipv6hdr *ip6, struct udphdr *udp)
{
	const struct ipv6hdr *ip6h = skb_header_pointer(rx->skb, 0, sizeof(*ip6), ip6);
	const struct udphdr *uh;
	u32 at;

	if (!ip6h || ip6h->version != 6)
		return NULL;
	*ip6 = *ip6h;
	at = udp6_offset(rx, ip6);
	if (!at)
		return NULL;
	rx->headers = at + sizeof(*udp);
	uh = skb_header_pointer(rx->skb, at, sizeof(*udp), udp);
	if (!uh || !is_inc(rx, uh))
		return NULL;
	rx->ce = INET_ECN_is_ce(ipv6_get_dsfield(ip6));
	rx->peer.family = AF_INET6;
	memcpy(rx->peer.addr, &ip6->saddr, sizeof(ip6->saddr));
	memcpy(rx->local, &ip6->daddr, sizeof(ip6->daddr));
	return uh;
}

/* The usual case is looked up here: cheaper than a route. */
static bool has_addr4(const struct net_device *dev, __be32 addr)
{
	const struct in_device *in_dev = __in_dev_get_rcu(dev);
	const struct in_ifaddr *ifa;

	if (!in_dev)
		return false;
	in_dev_for_each_ifa_rcu(ifa, in_dev)
		if (ifa->ifa_local == addr)
			return true;
	return false;
}

/*
 * Sent to one machine, by its link and by IP? Who answers what is sent to many lends himself to
 * whoever's address it bears. The bridge's hook has seen that the address is one of this box.
 */
static bool sent_to_one(const struct netinc_rx *rx, u8 family, const struct ipv6hdr *ip6)
{
	const struct rtable *rt = skb_rtable(rx->skb);

	if (rx->skb->pkt_type != PACKET_HOST)
		return false;
	if (rx->via != rx->dev)
		return true;
	return family == NFPROTO_IPV4 ? rt && rt->rt_type == RTN_LOCAL :
					!ipv6_addr_is_multicast(&ip6->daddr);
}

/*
 * To an IPv4 multicast group that this machine has joined, by its link and by IP alike? Those of
 * the link itself (224.0.0.x) are never joined for results.
 */
static bool sent_to_group(const struct netinc_rx *rx, u8 family)
{
	const struct rtable *rt = skb_rtable(rx->skb);

	return family == NFPROTO_IPV4 && rx->via == rx->dev &&
	       rx->skb->pkt_type == PACKET_MULTICAST && rt && rt->rt_type == RTN_MULTICAST &&
	       !ipv4_is_local_multicast(ip_hdr(rx->skb)->daddr);
}

/* At the bridge's hook a frame may be for an address behind this box. */
static bool is_local(const struct netinc_rx *rx, u8 family, const struct iphdr *ip,
		     const struct ipv6hdr *ip6)
{
	if (family == NFPROTO_IPV4)
		return has_addr4(rx->via, ip->daddr) ||
		       inet_addr_type_dev_table(rx->nn->net, rx->via, ip->daddr) == RTN_LOCAL;
	return ipv6_chk_addr(rx->nn->net, &ip6->daddr, rx->via, 0);
}

/* At the inet hook IP has put fragments together already. */
static bool was_reassembled(const struct netinc_rx *rx, u8 family)
{
	if (rx->via != rx->dev)
		return false;
	return family == NFPROTO_IPV4 ? IPCB(rx->skb)->frag_max_size :
					IP6CB(rx->skb)->frag_max_size;
}

static int check_ip4(struct netinc_rx *rx, const struct iphdr *ip)
{
	u32 len = ntohs(ip->tot_len);

	if (!pskb_may_pull(rx->skb, ip->ihl * 4) || ip_fast_csum(rx->skb->data, ip->ihl))
		return -INC_C_DROP_CHECKSUM;
	if ((ip->frag_off & htons(IP_MF)) || was_reassembled(rx, NFPROTO_IPV4))
		return -INC_C_DROP_FRAGMENT;
	if (len < rx->headers || len > rx->skb->len || pskb_trim_rcsum(rx->skb, len))
		return -INC_C_DROP_MALFORMED;
	return 0;
}

static int check_ip6(struct netinc_rx *rx, const struct ipv6hdr *ip6)
{
	u32 len = sizeof(*ip6) + ntohs(ip6->payload_len);

	if (ip6->nexthdr == NEXTHDR_FRAGMENT || was_reassembled(rx, NFPROTO_IPV6))
		return -INC_C_DROP_FRAGMENT;
	/* nf_checksum() reads the addresses where they stand */
	if (ip6->nexthdr != IPPROTO_UDP || len < rx->headers || len > rx->skb->len ||
	    !pskb_may_pull(rx->skb, sizeof(*ip6)) || pskb_trim_rcsum(rx->skb, len))
		return -INC_C_DROP_MALFORMED;
	return 0;
}

static int check_udp(struct netinc_rx *rx, u16 len, __sum16 check, u16 family)
{
	u32 at = rx->headers - sizeof(struct udphdr);
	struct sk_buff *skb = rx->skb;

	if (len != skb->len - at)
		return -INC_C_DROP_MALFORMED;
	if (!check && skb->ip_summed != CHECKSUM_PARTIAL)
		return -INC_C_DROP_CHECKSUM;
	if (nf_checksum(skb, NF_INET_LOCAL_IN, at, IPPROTO_UDP, family))
		return -INC_C_DROP_CHECKSUM;
	if (skb_is_gso(skb) && !(skb_shinfo(skb)->gso_type & SKB_GSO_UDP_L4))
		return -INC_C_DROP_MALFORMED;
	rx->at = rx->headers;
	rx->left = skb->len - rx->headers;
	if (!rx->left)
		return -INC_C_DROP_MALFORMED;
	rx->seg_size = skb_is_gso(skb) ? skb_shinfo(skb)->gso_size : rx->left;
	return 0;
}

bool netinc_rx(struct netinc_net *nn, struct sk_buff *skb, struct net_device *port,
	       struct net_device *via, u8 family)
{
	struct netinc_rx rx = {
		.nn = nn, .skb = skb, .dev = port, .via = via,
		.vrf = l3mdev_master_ifindex_rcu(via),
		.work = NETINC_BUFFER_LOOKS, .takers = INC_MAX_RANKS,
	};
	const struct udphdr *uh;
	struct udphdr udp;
	struct ipv6hdr ip6;
	struct iphdr ip;
	u16 af, len;
	__sum16 check;
	int err;

	uh = family == NFPROTO_IPV4 ? find_udp4(&rx, &ip, &udp) : find_udp6(&rx, &ip6, &udp);
	if (!uh || (via != port &&
		    (!netinc_dispatch_at(&rx) || !is_local(&rx, family, &ip, &ip6))))
		return false;
	/* a bridge that listens to everything hands over copies of what is for others */
	if (skb->pkt_type == PACKET_OTHERHOST)
		return false;
	/* a peer takes what it has not asked for at our port, whatever port it sends from */
	rx.peer.udp_port = htons(netinc_port);
	rx.sport = uh->source ?: htons(netinc_port);
	rx.peer.ifindex = port->ifindex;
	len = ntohs(uh->len);
	check = uh->check;
	af = family == NFPROTO_IPV4 ? AF_INET : AF_INET6;
	rx.multicast = sent_to_group(&rx, family);
	err = rx.multicast || sent_to_one(&rx, family, &ip6) ? 0 : -INC_C_DROP_ADDRESS;
	/* as UDP would ask; what a bridge hands over has been nowhere near IP */
	if (!err && via == port && !xfrm_policy_check(NULL, XFRM_POLICY_IN, skb, af))
		err = -INC_C_DROP_POLICY;
	/*
	 * memory of a device is out of the CPU's reach; pages that a guest waits for would be kept
	 * from it as long as a group keeps the packet
	 */
	if (!err && (!skb_frags_readable(skb) || skb_orphan_frags_rx(skb, GFP_ATOMIC)))
		err = -INC_C_DROP_MEMORY;
	if (!err)
		err = family == NFPROTO_IPV4 ? check_ip4(&rx, &ip) : check_ip6(&rx, &ip6);
	if (!err)
		err = check_udp(&rx, len, check, af);
	if (!err)
		*NETINC_CB(skb) = (struct netinc_skb_cb){ .packets = netinc_rx_packets(&rx) };
	if (err)
		netinc_rx_drop(&rx, -err);
	else
		netinc_dispatch(&rx);
	free_rx(&rx);
	return true;
}
