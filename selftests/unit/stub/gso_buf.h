/* SPDX-License-Identifier: GPL-2.0-only */
/* Of Linux, and of core/page_ring.h, what core/gso_buf.c uses, for test_gso_buf.c. */
#ifndef INC_STUB_GSO_BUF_H
#define INC_STUB_GSO_BUF_H

#include <linux/ipv6.h>
#include <linux/udp.h>
#include <stdlib.h>

#include "reduce/platform.h"

#define PAGE_SIZE		4096u
#define LL_MAX_HEADER		128
#define MAX_SKB_FRAGS		17
#define GFP_ATOMIC		0
#define __GFP_NOWARN		0
#define SKB_GSO_UDP_L4		BIT(17)
#define SKBFL_SHARED_FRAG	BIT(1)
#define BIT(n)			(1u << (n))
#define SKB_DATA_ALIGN(n)	round_up(n, 64)
#define NETINC_PAGE_RING_MAX_ORDER	3

#define kmalloc(size, gfp)	malloc(size)
#define kfree(p)		free(p)
#define netinc_fpu_section_outside()	((void)0)

struct page {
	u32 refs;
	u8 data[PAGE_SIZE << NETINC_PAGE_RING_MAX_ORDER];
};

struct skb_shared_info {
	u8 flags, nr_frags;
	u16 gso_size, gso_segs;
	u32 gso_type;
	struct {
		struct page *page;
		u32 off, len;
	} frags[MAX_SKB_FRAGS];
};

struct sk_buff {
	u32 len;
	struct skb_shared_info shared;
	u8 data[256];
};

#define skb_shinfo(skb)		(&(skb)->shared)
#define skb_is_gso(skb)		((skb)->shared.gso_size)
#define page_address(page)	((void *)(page)->data)
#define get_page(page)		((page)->refs++)
#define skb_reserve(skb, n)	((void)(skb), (void)(n))
#define skb_free_frag(p)	free(p)

static inline u32 get_order(u32 size)
{
	u32 order = 0;

	while (PAGE_SIZE << order < size)
		order++;
	return order;
}

struct sk_buff *build_skb(void *head, u32 size);
struct sk_buff *alloc_skb(u32 size, u32 gfp);
void *skb_put(struct sk_buff *skb, u32 len);
void *skb_put_zero(struct sk_buff *skb, u32 len);
void *skb_put_data(struct sk_buff *skb, const void *data, u32 len);
void skb_add_rx_frag(struct sk_buff *skb, u32 i, struct page *page, u32 off, u32 len, u32 truesize);
struct page *netinc_page_ring_get(u32 order);
void netinc_page_ring_put(struct page *page, u32 order);
void *netinc_page_ring_frag(u32 size);

#endif
