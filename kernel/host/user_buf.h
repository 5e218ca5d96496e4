/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One stream of one operation in user memory: which of its bytes lies in which page, and how its
 * pinned bytes are read and written in softirq. host/pin.h says who pins the pages.
 */
#ifndef NETINC_HOST_USER_BUF_H
#define NETINC_HOST_USER_BUF_H

#include <linux/compiler.h>
#include <linux/mm_types.h>
#include <linux/skbuff.h>
#include <linux/types.h>
#include <asm/barrier.h>

#define NETINC_COPIED	112		/* bytes of a stream that is not pinned, at most */

struct netinc_mem;

/* A run of a stream's bytes in the user's memory. */
struct netinc_user_range {
	u64 at;			/* bytes of the stream before it */
	u64 addr;		/* user address, any alignment */
	u32 page;		/* pages of the ranges before it */
};

/*
 * One stream of one operation: what a rank sends, or what it gets, range after range. Its pages are
 * numbered through all ranges; those in [freed, pinned) are in the ring, at their number modulo its
 * size.
 */
struct netinc_buf {
	const struct netinc_user_range *range;	/* nranges + 1, the last one is where all end */
	u32 nranges;
	u64 len;		/* bytes; 0: no buffer */
	bool write;		/* results go here */
	u8 *copy;		/* all of it, and no pages; or NULL */
	u64 lo;			/* bytes [0, lo) are done with, and only get more; rank->lock */
	u64 hi;			/* bytes [lo, hi) are pinned; rank->lock */
	u32 npages;
	u32 freed;		/* pin->mutex to write; read without it for hints */
	u32 pinned;		/* likewise */
	u32 mask;		/* size of the ring - 1 */
	struct page **ring;
	struct page **pages;	/* all of registered memory, and no ring; or NULL */
	u64 base;		/* user address of pages[0] */
	/* what a short stream in one range needs, without an allocation */
	struct netinc_user_range whole[2];
	struct page *few[4];
};

/*
 * A stream of which at most @ahead pages are pinned at once. Takes @range, kvmalloc()ed, also when
 * it fails.
 */
int netinc_buf_init(struct netinc_buf *b, struct netinc_user_range *range, u32 nranges, bool write,
		    u32 ahead, struct netinc_mem *mem);
/*
 * A stream of at most NETINC_COPIED bytes, which are copied to @copy, and with @write back with
 * netinc_buf_copy_back(). By the memory's owner. 0 or -EFAULT.
 */
int netinc_buf_copy(struct netinc_buf *b, struct netinc_user_range *range, u32 nranges, bool write,
		    u8 *copy);
int netinc_buf_copy_back(const struct netinc_buf *b);
/* A stream all of which lies in registered memory: @pages, which begin at @base, are pinned. */
void netinc_buf_registered(struct netinc_buf *b, struct netinc_user_range *range, u32 nranges,
			   bool write, struct page **pages, u64 base);
/*
 * Copy between a stream's bytes from @at on and kernel memory or a packet, under rank->lock. Only
 * bytes in [lo, hi) are there: whoever asks looks with netinc_op_request_memory() first. False:
 * they are not, which is a bug, or the packet is too short; what is read is zeros then.
 */
bool netinc_buf_read(const struct netinc_buf *b, u64 at, void *to, u32 len, bool fpu);
bool netinc_buf_store(const struct netinc_buf *b, u64 at, const void *from, u32 len, bool fpu);
bool netinc_buf_write(const struct netinc_buf *b, u64 at, const struct sk_buff *skb, u32 off,
		      u32 len, bool fpu);
/* The same with zeros. */
bool netinc_buf_clear(const struct netinc_buf *b, u64 at, u32 len);
/* Frees what netinc_buf_init() has allocated; its pages are not pinned any more. */
void netinc_buf_free(struct netinc_buf *b);

/* The range that page @n belongs to. */
const struct netinc_user_range *netinc_buf_range_of_page(const struct netinc_buf *b, u32 n);
/* The page with the byte @at; behind the last byte: how many pages there are. */
u32 netinc_buf_page_of(const struct netinc_buf *b, u64 at);
/* How many bytes of the stream lie before page @n. */
u64 netinc_buf_bytes_before(const struct netinc_buf *b, u32 n);

/*
 * Pages of @b that are pinned. Not more are freed than are pinned: read in this order it is never
 * negative, also while pages come and go.
 */
static inline u32 netinc_buf_pages_held(const struct netinc_buf *b)
{
	u32 freed = smp_load_acquire(&b->freed);	/* pairs with netinc_unpin_pages() */

	return READ_ONCE(b->pinned) - freed;
}

static inline bool netinc_buf_all_pinned(const struct netinc_buf *b)
{
	return b->pinned == b->npages;
}

#endif
