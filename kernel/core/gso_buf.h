/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packets that go out, in pages of their own.
 *
 * A netinc_gso_buf is a run of segments, [header, descriptor if any, payload] each, all of one size
 * except the last, in a few page fragments of which none cuts a segment. It is built once; packets
 * (one per child) and cached results refer to its pages.
 */
#ifndef NETINC_CORE_GSO_BUF_H
#define NETINC_CORE_GSO_BUF_H

#include <linux/refcount.h>
#include <linux/skbuff.h>
#include "engine/engine.h"

/* In front of every packet: headers of UDP, IP and the link. */
#define NETINC_HEADROOM	(LL_MAX_HEADER + sizeof(struct ipv6hdr) + sizeof(struct udphdr))
#define NETINC_GSO_BUF_PAGES	8
#define NETINC_MAX_SEGMENTS	64	/* UDP_MAX_SEGMENTS of the oldest kernels */

struct netinc_gso_buf {
	refcount_t refs;
	u16 seg_size;		/* bytes of a segment */
	u16 per_page;		/* segments in one page fragment */
	u16 max;		/* segments that there is room for */
	u16 n;			/* segments in use */
	u16 last;		/* bytes of the last segment in use */
	u16 npages;
	u32 order;
	struct page *page[NETINC_GSO_BUF_PAGES];
};

/*
 * Room for up to @n segments of @seg_size bytes; may be less when memory is short, NULL if there is
 * none. Softirq-safe.
 */
struct netinc_gso_buf *netinc_gso_buf_alloc(u32 seg_size, u32 n);
void netinc_gso_buf_put(struct netinc_gso_buf *s);
/*
 * The same in memory of the caller's, who releases it; nobody else refers to it. False: no memory.
 */
bool netinc_gso_buf_init(struct netinc_gso_buf *s, u32 seg_size, u32 n);
void netinc_gso_buf_release(struct netinc_gso_buf *s);

static inline void netinc_gso_buf_get(struct netinc_gso_buf *s)
{
	refcount_inc(&s->refs);
}

/* Segment @i: its header; the rest follows at once. */
static inline void *netinc_gso_buf_segment(const struct netinc_gso_buf *s, u32 i)
{
	return page_address(s->page[i / s->per_page]) + (i % s->per_page) * s->seg_size;
}

/* Bytes of memory that @s stands for. */
static inline u32 netinc_gso_buf_truesize(const struct netinc_gso_buf *s)
{
	return s->npages * (PAGE_SIZE << s->order);
}

/*
 * A packet that refers to segments [first, first + n) of @s; a super-packet if n > 1. Headers of
 * UDP and below are for netinc_path_queue().
 */
struct sk_buff *netinc_gso_buf_skb(const struct netinc_gso_buf *s, u32 first, u32 n);
/* A packet that is a header and nothing else; not shared with anybody. */
struct sk_buff *netinc_header_skb(const struct netinc_pkt *pkt);
/* Likewise, with @len bytes of body, padded. */
struct sk_buff *netinc_control_skb(const struct netinc_pkt *pkt, const void *body, u32 len);

/* INC packets in @skb, and the IP bytes that they are on a link of the MTU they were made for. */
static inline u32 netinc_skb_packets(const struct sk_buff *skb)
{
	return skb_is_gso(skb) ? skb_shinfo(skb)->gso_segs : 1;
}

u32 netinc_skb_ip_bytes(const struct sk_buff *skb, u32 headers);

#endif
