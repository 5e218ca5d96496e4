/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pages for packets, used again: many kernels clear every page that they give (init_on_alloc),
 * which takes as long as copying the payload into it. A page that its packets may still refer to
 * waits until they have gone.
 */
#ifndef NETINC_CORE_PAGE_RING_H
#define NETINC_CORE_PAGE_RING_H

#include <linux/mm_types.h>

#define NETINC_PAGE_RING_MAX_ORDER	3

/*
 * 2^order contiguous pages, with what others have left in them; softirqs are off. NULL: no
 * memory.
 */
struct page *netinc_page_ring_get(u32 order);
/* The caller's reference is given up. */
void netinc_page_ring_put(struct page *page, u32 order);

/*
 * @size bytes of such a page, with a reference to it; a page at most, and a multiple of what all
 * fragments are aligned to. Softirqs are off. NULL: no memory.
 */
void *netinc_page_ring_frag(u32 size);

int netinc_page_ring_init(void);
void netinc_page_ring_fini(void);

#endif
