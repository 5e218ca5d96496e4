/* SPDX-License-Identifier: GPL-2.0-only */
/* Received packets where they lie. */
#ifndef NETINC_CORE_SKB_CONTIG_H
#define NETINC_CORE_SKB_CONTIG_H

#include <linux/highmem.h>
#include <linux/skbuff.h>

/*
 * Where bytes [off, off + len) of @skb lie, if they lie in one piece that is mapped; NULL if not.
 */
static inline const void *netinc_skb_contig(const struct sk_buff *skb, u32 off, u32 len)
{
	u32 head = skb_headlen(skb);
	int i;

	if (off + len <= head)
		return skb->data + off;
	if (off < head)
		return NULL;
	off -= head;
	for (i = 0; i < skb_shinfo(skb)->nr_frags; i++) {
		const skb_frag_t *frag = &skb_shinfo(skb)->frags[i];

		if (off < skb_frag_size(frag)) {
			if (off + len > skb_frag_size(frag) || PageHighMem(skb_frag_page(frag)))
				return NULL;
			return skb_frag_address(frag) + off;
		}
		off -= skb_frag_size(frag);
	}
	return NULL;
}

#endif
