// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets that go out. Payload is copied once, into fresh pages of a netinc_gso_buf; packets refer
 * to them by page fragments. Short ones have a copy: that costs less than a fragment.
 */
#include <linux/ipv6.h>
#include <linux/slab.h>
#include <linux/udp.h>
#include "core/fpu_section.h"
#include "core/gso_buf.h"
#include "core/page_ring.h"

#define SHORT_PACKET	256	/* bytes of one that is copied, at most */

void netinc_gso_buf_release(struct netinc_gso_buf *s)
{
	while (s->npages)
		netinc_page_ring_put(s->page[--s->npages], s->order);
}

void netinc_gso_buf_put(struct netinc_gso_buf *s)
{
	if (!refcount_dec_and_test(&s->refs))
		return;
	netinc_gso_buf_release(s);
	kfree(s);
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

bool netinc_gso_buf_init(struct netinc_gso_buf *s, u32 seg_size, u32 n)
{
	u32 order = min_t(u32, get_order(seg_size * n), NETINC_PAGE_RING_MAX_ORDER);

	s->seg_size = seg_size;
	s->n = 0;
	s->last = 0;
	s->npages = 0;
	refcount_set(&s->refs, 1);
	return gso_buf_alloc_pages(s, n, order) || gso_buf_alloc_pages(s, n, get_order(seg_size));
}

struct netinc_gso_buf *netinc_gso_buf_alloc(u32 seg_size, u32 n)
{
	struct netinc_gso_buf *s;

	netinc_fpu_section_outside();
	s = kmalloc(sizeof(*s), GFP_ATOMIC | __GFP_NOWARN);
	if (s && netinc_gso_buf_init(s, seg_size, n))
		return s;
	kfree(s);
	return NULL;
}

/* Room for headers, and for @len bytes behind them. */
static struct sk_buff *head_skb(u32 len)
{
	u32 size = SKB_DATA_ALIGN(NETINC_HEADROOM + len) +
		   SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	void *head = netinc_page_ring_frag(size);
	struct sk_buff *skb;

	if (!head)
		return NULL;
	skb = build_skb(head, size);
	if (skb)
		skb_reserve(skb, NETINC_HEADROOM);
	else
		skb_free_frag(head);
	return skb;
}

static struct sk_buff *short_skb(const void *data, u32 len)
{
	struct sk_buff *skb = head_skb(len);

	if (skb)
		skb_put_data(skb, data, len);
	return skb;
}

struct sk_buff *netinc_gso_buf_skb(const struct netinc_gso_buf *s, u32 first, u32 n)
{
	u32 i, end = first + n, last = end == s->n ? s->last : s->seg_size, here, len;
	struct sk_buff *skb;

	if (n == 1 && last <= SHORT_PACKET)
		return short_skb(netinc_gso_buf_segment(s, first), last);
	skb = head_skb(0);
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
	/*
	 * the packets for other children, and the result that is kept, refer to these pages, too:
	 * who changes a packet in place, as ESP does that decrypts, is to take a copy
	 */
	skb_shinfo(skb)->flags |= SKBFL_SHARED_FRAG;
	if (n > 1) {
		skb_shinfo(skb)->gso_size = s->seg_size;
		skb_shinfo(skb)->gso_segs = n;
		skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4;
	}
	return skb;
}

/* With @room bytes behind the header, of 0. */
static struct sk_buff *packet_skb(const struct netinc_pkt *pkt, u32 room)
{
	struct sk_buff *skb;

	netinc_fpu_section_outside();
	skb = alloc_skb(NETINC_HEADROOM + sizeof(struct inc_hdr) + room,
			GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return NULL;
	skb_reserve(skb, NETINC_HEADROOM);
	netinc_build(skb_put(skb, sizeof(struct inc_hdr)), pkt);
	skb_put_zero(skb, room);
	return skb;
}

struct sk_buff *netinc_header_skb(const struct netinc_pkt *pkt)
{
	return packet_skb(pkt, 0);
}

struct sk_buff *netinc_control_skb(const struct netinc_pkt *pkt, const void *body, u32 len)
{
	struct netinc_pkt p = *pkt;
	struct sk_buff *skb;

	p.len = len;
	skb = packet_skb(&p, round_up(len, 4));
	if (skb)
		memcpy(skb->data + sizeof(struct inc_hdr), body, len);
	return skb;
}

u32 netinc_skb_ip_bytes(const struct sk_buff *skb, u32 headers)
{
	return skb->len + (netinc_skb_packets(skb) - 1) * headers;
}
