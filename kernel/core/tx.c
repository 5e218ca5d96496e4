// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets out. Payload is copied once, into fresh pages of a netinc_gso_buf; packets refer to them
 * by page fragments. UDP and IP headers are written here and not by udp_tunnel_xmit_skb(), which
 * leaves csum_start unset for GSO.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/jhash.h>
#include <linux/slab.h>
#include <linux/udp.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/udp.h>
#include "core/page_ring.h"
#include "core/fpu_section.h"
#include "core/trace.h"
#include "core/tx.h"

#define TX_HEADROOM	(LL_MAX_HEADER + sizeof(struct ipv6hdr) + sizeof(struct udphdr))
#define TXQ_ROUNDS	16	/* that one CPU sends for all */
#define TX_HEAD		(SKB_DATA_ALIGN(TX_HEADROOM) + \
			 SKB_DATA_ALIGN(sizeof(struct skb_shared_info)))

__be16 netinc_sport(u32 group, u32 tree)
{
	return htons(INC_SPORT_BASE + (jhash_2words(group, tree, 0) & 0x3fff));
}

static void gso_buf_free(struct netinc_gso_buf *s)
{
	while (s->npages)
		netinc_page_ring_put(s->page[--s->npages], s->order);
	kfree(s);
}

void netinc_gso_buf_put(struct netinc_gso_buf *s)
{
	if (refcount_dec_and_test(&s->refs))
		gso_buf_free(s);
}

static bool gso_buf_alloc_pages(struct netinc_gso_buf *s, u32 n, u32 order)
{
	s->order = order;
	s->per_page = (PAGE_SIZE << order) / s->seg_size;
	if (!s->per_page)
		return false;
	while (s->npages < NETINC_GSO_BUF_PAGES && s->npages * s->per_page < n) {
		struct page *page = netinc_page_ring_get(order);

		if (!page)
			break;
		s->page[s->npages++] = page;
	}
	s->max = min_t(u32, n, s->npages * s->per_page);
	return s->npages;
}

struct netinc_gso_buf *netinc_gso_buf_alloc(u32 seg_size, u32 n)
{
	u32 order = min_t(u32, get_order(seg_size * n), NETINC_PAGE_RING_MAX_ORDER);
	struct netinc_gso_buf *s;

	netinc_fpu_section_outside();
	s = kzalloc(sizeof(*s), GFP_ATOMIC | __GFP_NOWARN);
	if (!s)
		return NULL;
	refcount_set(&s->refs, 1);
	s->seg_size = seg_size;
	if (gso_buf_alloc_pages(s, n, order))
		return s;
	if (gso_buf_alloc_pages(s, n, get_order(seg_size)))
		return s;
	kfree(s);
	return NULL;
}

/* For headers alone. */
static struct sk_buff *head_skb(void)
{
	void *head = netinc_page_ring_frag(TX_HEAD);
	struct sk_buff *skb;

	if (!head)
		return NULL;
	skb = build_skb(head, TX_HEAD);
	if (skb)
		skb_reserve(skb, TX_HEADROOM);
	else
		skb_free_frag(head);
	return skb;
}

struct sk_buff *netinc_gso_buf_skb(const struct netinc_gso_buf *s, u32 first, u32 n)
{
	u32 i, end = first + n, last = end == s->n ? s->last : s->seg_size, here, len;
	struct sk_buff *skb = head_skb();

	if (!skb)
		return NULL;
	for (i = first; i < end; i += here) {
		struct page *page = s->page[i / s->per_page];

		here = min(end - i, s->per_page - i % s->per_page);
		len = here * s->seg_size;
		if (i + here == end)
			len -= s->seg_size - last;
		get_page(page);
		skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, page,
				(i % s->per_page) * s->seg_size, len, here * s->seg_size);
	}
	if (n > 1) {
		skb_shinfo(skb)->gso_size = s->seg_size;
		skb_shinfo(skb)->gso_segs = n;
		skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4;
	}
	return skb;
}

struct sk_buff *netinc_control_skb(const struct netinc_pkt *pkt, const void *body, u32 len)
{
	u32 size = sizeof(struct inc_hdr) + round_up(len, 4);
	struct netinc_pkt p = *pkt;
	struct sk_buff *skb;
	u8 *data;

	netinc_fpu_section_outside();
	skb = alloc_skb(TX_HEADROOM + size, GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return NULL;
	skb_reserve(skb, TX_HEADROOM);
	data = skb_put_zero(skb, size);
	p.len = len;
	netinc_build((struct inc_hdr *)data, &p);
	memcpy(data + sizeof(struct inc_hdr), body, len);
	return skb;
}

int netinc_path_init(struct netinc_path *path, struct net *net, const struct netinc_peer *peer,
		     __be16 sport, u32 oif, gfp_t gfp)
{
	path->net = net;
	path->peer = *peer;
	path->sport = sport;
	path->oif = oif;
	return dst_cache_init(&path->dst, gfp);
}

void netinc_path_destroy(struct netinc_path *path)
{
	dst_cache_destroy(&path->dst);
}

static struct dst_entry *lookup_route4(struct netinc_path *path, __be32 *saddr)
{
	struct flowi4 fl = { .flowi4_proto = IPPROTO_UDP,
			     .flowi4_oif = path->oif,
			     .fl4_sport = path->sport,
			     .fl4_dport = (__force __be16)path->peer.udp_port };
	struct rtable *rt = dst_cache_get_ip4(&path->dst, saddr);

	if (rt)
		return &rt->dst;
	memcpy(&fl.daddr, path->peer.addr, sizeof(fl.daddr));
	/*
	 * it may be what a stranger calls his address, or a member others': by that nothing goes to
	 * many
	 */
	if (ipv4_is_zeronet(fl.daddr))
		return ERR_PTR(-EADDRNOTAVAIL);
	rt = ip_route_output_key(path->net, &fl);
	if (IS_ERR(rt))
		return ERR_CAST(rt);
	if (rt->rt_flags & (RTCF_BROADCAST | RTCF_MULTICAST)) {
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
			     .flowi6_oif = path->oif,
			     .fl6_sport = path->sport,
			     .fl6_dport = (__force __be16)path->peer.udp_port };
	struct dst_entry *dst = dst_cache_get_ip6(&path->dst, saddr);

	if (dst)
		return dst;
	memcpy(&fl.daddr, path->peer.addr, sizeof(fl.daddr));
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

static struct dst_entry *lookup_route(struct netinc_path *path, struct in6_addr *saddr)
{
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

static void push_udp(struct netinc_path *path, struct sk_buff *skb, const struct in6_addr *saddr)
{
	const struct in6_addr *daddr = (const void *)path->peer.addr;
	u32 len = skb->len + sizeof(struct udphdr);
	struct udphdr *uh = skb_push(skb, sizeof(*uh));

	skb_reset_transport_header(skb);
	uh->source = path->sport;
	uh->dest = (__force __be16)path->peer.udp_port;
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
	iph->ttl = ip4_dst_hoplimit(dst);
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

void netinc_txq_init(struct netinc_txq *txq, u32 max)
{
	__skb_queue_head_init(&txq->queue);
	txq->max = max;
	txq->busy = false;
	txq->tired = false;
}

int netinc_txq_add(struct netinc_txq *txq, struct netinc_path *path, struct sk_buff *skb)
{
	if (skb_queue_len(&txq->queue) >= txq->max) {
		kfree_skb(skb);
		return -ENOBUFS;
	}
	return netinc_path_queue(path, skb, &txq->queue);
}

void netinc_txq_unlock(struct netinc_txq *txq, struct net *net, spinlock_t *lock)
	__releases(lock)
{
	struct sk_buff_head q;
	u32 turn, round = 0;

	if ((txq->busy && !txq->tired) || skb_queue_empty(&txq->queue)) {
		spin_unlock_bh(lock);
		return;
	}
	turn = ++txq->turn;
	txq->busy = true;
	txq->tired = false;
	__skb_queue_head_init(&q);
	do {
		/*
		 * known before the last round: what is queued during it has somebody who sends it
		 */
		txq->tired = ++round >= TXQ_ROUNDS;
		skb_queue_splice_init(&txq->queue, &q);
		spin_unlock(lock);
		netinc_tx_flush(net, &q);
		spin_lock(lock);
		if (txq->turn != turn)
			goto out;
	} while (!skb_queue_empty(&txq->queue));
	txq->busy = false;
out:
	spin_unlock_bh(lock);
}

u32 netinc_skb_ip_bytes(const struct sk_buff *skb, u32 headers)
{
	return skb->len + (netinc_skb_packets(skb) - 1) * headers;
}
