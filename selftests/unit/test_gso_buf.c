// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets that go out (kernel/core/gso_buf.c): which bytes of which pages they are, whatever the
 * lengths, that short ones are copies, and that nobody who gets one may write to these pages, to
 * which others refer, too.
 */
#include "ktap.h"
#include "siphash.h"

/* instead of these */
#define NETINC_CORE_FPU_SECTION_H
#define NETINC_CORE_PAGE_RING_H
#define INC_STUB_SKBUFF_H
#define INC_STUB_SLAB_H
#include "stub/gso_buf.h"
#include "core/gso_buf.c"

static u32 pages;

struct page *netinc_page_ring_get(u32 order)
{
	struct page *page = calloc(1, sizeof(*page));

	expect(order <= NETINC_PAGE_RING_MAX_ORDER, "order %u", order);
	page->refs = 1;
	pages++;
	return page;
}

void netinc_page_ring_put(struct page *page, u32 order)
{
	(void)order;
	if (--page->refs)
		return;
	free(page);
	pages--;
}

void *netinc_page_ring_frag(u32 size)
{
	return malloc(size);
}

struct sk_buff *build_skb(void *head, u32 size)
{
	(void)size;
	free(head);
	return calloc(1, sizeof(struct sk_buff));
}

struct sk_buff *alloc_skb(u32 size, u32 gfp)
{
	(void)size;
	(void)gfp;
	return calloc(1, sizeof(struct sk_buff));
}

void *skb_put(struct sk_buff *skb, u32 len)
{
	expect(skb->len + len <= sizeof(skb->data), "%u bytes behind %u", len, skb->len);
	skb->len += len;
	return skb->data + skb->len - len;
}

void *skb_put_zero(struct sk_buff *skb, u32 len)
{
	skb->len += len;
	return skb->data;
}

void *skb_put_data(struct sk_buff *skb, const void *data, u32 len)
{
	expect(!skb->len && len <= sizeof(skb->data), "%u bytes behind %u", len, skb->len);
	skb->len += len;
	return memcpy(skb->data, data, len);
}

void skb_add_rx_frag(struct sk_buff *skb, u32 i, struct page *page, u32 off, u32 len, u32 truesize)
{
	expect(i == skb->shared.nr_frags && i < MAX_SKB_FRAGS, "fragment %u", i);
	expect(len <= truesize && off + len <= sizeof(page->data), "%u bytes at %u", len, off);
	skb->shared.frags[i].page = page;
	skb->shared.frags[i].off = off;
	skb->shared.frags[i].len = len;
	skb->shared.nr_frags++;
	skb->len += len;
}

static void free_packet(struct sk_buff *skb)
{
	u32 i;

	for (i = 0; i < skb->shared.nr_frags; i++)
		netinc_page_ring_put(skb->shared.frags[i].page, 0);
	free(skb);
}

/* Segments [first, first + n) of @s, each of which is filled with its number. */
static void check_packet(const struct netinc_gso_buf *s, u32 first, u32 n)
{
	u32 last = first + n == s->n ? s->last : s->seg_size, at = 0, i, k;
	struct sk_buff *skb = netinc_gso_buf_skb(s, first, n);
	u32 bytes = (n - 1) * s->seg_size + last;

	expect(skb->len == bytes, "%u bytes instead of %u", skb->len, bytes);
	expect(netinc_skb_packets(skb) == n, "%u packets, not %u", netinc_skb_packets(skb), n);
	expect(!skb->shared.nr_frags == (n == 1 && bytes <= sizeof(skb->data)),
	       "%u fragments for %u bytes", skb->shared.nr_frags, bytes);
	while (!skb->shared.nr_frags && at < bytes && skb->data[at] == first)
		at++;
	for (i = 0; i < skb->shared.nr_frags; i++)
		for (k = 0; k < skb->shared.frags[i].len; k++, at++)
			if (skb->shared.frags[i].page->data[skb->shared.frags[i].off + k] !=
			    first + at / s->seg_size)
				break;
	expect(at == bytes, "byte %u of segments %u and %u more of %u bytes", at, first, n - 1,
	       s->seg_size);
	expect(!skb->shared.nr_frags || (skb->shared.flags & SKBFL_SHARED_FRAG), "who gets it may write to its pages");
	free_packet(skb);
}

static void test_packets(void)
{
	static const u32 sizes[] = { 48, 76, 256, 260, 1456, 4096, 4100, 16464 };
	struct netinc_gso_buf *s;
	u32 i, n, k;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		for (n = 1; n <= NETINC_MAX_SEGMENTS && n * sizes[i] <= 65000; n++) {
			s = netinc_gso_buf_alloc(sizes[i], n);
			if (!expect(s && s->max, "%u segments of %u bytes", n, sizes[i]))
				return;
			for (k = 0; k < s->max; k++)
				memset(netinc_gso_buf_segment(s, k), k, sizes[i]);
			s->n = s->max;
			s->last = sizes[i] - 4 * (n % 2);
			check_packet(s, 0, s->n);
			check_packet(s, s->n - 1, 1);
			check_packet(s, s->n / 2, (s->n + 1) / 2);
			netinc_gso_buf_put(s);
			expect(!pages, "%u pages are left", pages);
		}
}

static const struct ktap_test tests[] = { KTAP(test_packets) };

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
