/* SPDX-License-Identifier: GPL-2.0-only */
/* Received packets where they lie. */
#ifndef NETINC_CORE_SKB_CONTIG_H
#define NETINC_CORE_SKB_CONTIG_H

#include <linux/highmem.h>
#include <linux/skbuff.h>

/*
 * Where byte @off of @skb lies, with @left contiguous bytes of the skb, that one included. NULL:
 * it is not mapped, or behind the end.
 */
static inline const void *netinc_skb_contig_at(const struct sk_buff *skb, u32 off, u32 *left)
{
	u32 head = skb_headlen(skb);
	int i;

	if (off < head) {
		*left = head - off;
		return skb->data + off;
	}
	off -= head;
	for (i = 0; i < skb_shinfo(skb)->nr_frags; i++) {
		const skb_frag_t *frag = &skb_shinfo(skb)->frags[i];

		if (off < skb_frag_size(frag)) {
			*left = skb_frag_size(frag) - off;
			return PageHighMem(skb_frag_page(frag)) ? NULL :
								  skb_frag_address(frag) + off;
		}
		off -= skb_frag_size(frag);
	}
	return NULL;
}

/*
 * Where bytes [off, off + len) of @skb lie, if they are contiguous and mapped; NULL if not.
 */
static inline const void *netinc_skb_contig(const struct sk_buff *skb, u32 off, u32 len)
{
	const void *at;
	u32 left;

	at = netinc_skb_contig_at(skb, off, &left);
	return at && left >= len ? at : NULL;
}

#endif
