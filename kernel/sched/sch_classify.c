// SPDX-License-Identifier: GPL-2.0-only
/* How sch_inc knows INC packets, and the classes they are in. */
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <linux/inc_wire.h>

#include "engine/wire.h"
#include "sched/sch_classify.h"

#define MAX_VLANS	8

/*
 * Offset of the network header of a frame whose VLAN tags stand in its data, and its protocol;
 * negative: none.
 */
static int skip_vlans(const struct sk_buff *skb, __be16 *proto)
{
	int off = offsetof(struct ethhdr, h_proto);
	const __be16 *p;
	__be16 buf;
	int i;

	if (skb->dev->type != ARPHRD_ETHER)
		return -1;
	for (i = 0; i <= MAX_VLANS; i++, off += VLAN_HLEN) {
		p = skb_header_pointer(skb, off, sizeof(buf), &buf);
		if (!p)
			return -1;
		*proto = *p;
		if (!eth_type_vlan(*proto))
			return off + sizeof(buf);
	}
	return -1;
}

/* Offset of the UDP header behind the IPv4 header at @off; negative: no UDP, or a fragment. */
static int udp_in_ipv4(const struct sk_buff *skb, int off)
{
	const struct iphdr *ip;
	struct iphdr buf;

	ip = skb_header_pointer(skb, off, sizeof(buf), &buf);
	if (!ip || ip->version != 4 || ip->ihl < 5 || ip->protocol != IPPROTO_UDP ||
	    ip_is_fragment(ip))
		return -1;
	return off + ip->ihl * 4;
}

static int udp_in_ipv6(const struct sk_buff *skb, int off)
{
	const struct ipv6hdr *ip;
	struct ipv6hdr buf;
	__be16 frag;
	u8 next;

	ip = skb_header_pointer(skb, off, sizeof(buf), &buf);
	if (!ip || ip->version != 6)
		return -1;
	next = ip->nexthdr;
	off = ipv6_skip_exthdr(skb, off + sizeof(*ip), &next, &frag);
	return off < 0 || next != IPPROTO_UDP || frag ? -1 : off;
}

static int udp_offset(const struct sk_buff *skb)
{
	int off = skb_network_offset(skb);
	__be16 proto = skb->protocol;

	if (eth_type_vlan(proto))
		off = skip_vlans(skb, &proto);
	if (off < 0)
		return -1;
	switch (proto) {
	case htons(ETH_P_IP):
		return udp_in_ipv4(skb, off);
	case htons(ETH_P_IPV6):
		return udp_in_ipv6(skb, off);
	default:
		return -1;
	}
}

/*
 * How long the datagrams are that a UDP packet of @len bytes of payload is sent as, but for the
 * last.
 */
static u32 segment_len(const struct sk_buff *skb, u32 len)
{
	const struct skb_shared_info *info = skb_shinfo(skb);

	return info->gso_type & SKB_GSO_UDP_L4 && info->gso_size ? min_t(u32, info->gso_size, len) :
								   len;
}

enum inc_sched_class netinc_sched_classify(const struct sk_buff *skb, u16 port, u32 *group,
					   u32 *blocks)
{
	struct netinc_pkt pkt;
	struct inc_hdr hdr_buf;
	struct udphdr udp_buf;
	const struct inc_hdr *hdr;
	const struct udphdr *udp;
	int off = udp_offset(skb);
	u32 len, seg;

	*blocks = 0;
	if (off < 0)
		return INC_SCHED_OTHER;
	udp = skb_header_pointer(skb, off, sizeof(udp_buf), &udp_buf);
	if (!udp || (udp->dest != htons(port) && udp->source != htons(port)))
		return INC_SCHED_OTHER;
	off += sizeof(*udp);
	len = ntohs(udp->len);
	if (len < sizeof(*udp) + sizeof(*hdr) || len - sizeof(*udp) > skb->len - off)
		return INC_SCHED_OTHER;
	len -= sizeof(*udp);
	seg = segment_len(skb, len);
	hdr = skb_header_pointer(skb, off, sizeof(hdr_buf), &hdr_buf);
	if (!hdr || netinc_parse(hdr, seg, &pkt))
		return INC_SCHED_OTHER;
	*blocks = DIV_ROUND_UP(len, seg);
	*group = pkt.group;
	return pkt.type == INC_PKT_CONTRIB ? INC_SCHED_CONTRIB : INC_SCHED_CONTROL;
}
