// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which page of a buffer holds which byte of the stream, and all access to these bytes.
 */
#include <linux/highmem.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "core/limits.h"
#include "core/skb_contig.h"
#include "reduce/reduce.h"
#include "host/user_buf.h"

/* The range that holds the stream's byte @at. */
static const struct netinc_user_range *range_at(const struct netinc_buf *b, u64 at)
{
	u32 lo = 0, hi = b->nranges, mid;

	if (likely(hi == 1))
		return b->range;
	while (hi - lo > 1) {
		mid = (lo + hi) / 2;
		if (b->range[mid].at <= at)
			lo = mid;
		else
			hi = mid;
	}
	return &b->range[lo];
}

const struct netinc_user_range *netinc_buf_range_of_page(const struct netinc_buf *b, u32 n)
{
	u32 lo = 0, hi = b->nranges, mid;

	while (hi - lo > 1) {
		mid = (lo + hi) / 2;
		if (b->range[mid].page <= n)
			lo = mid;
		else
			hi = mid;
	}
	return &b->range[lo];
}

static u32 page_in(const struct netinc_user_range *p, u64 at)
{
	return p->page + ((offset_in_page(p->addr) + at - p->at) >> PAGE_SHIFT);
}

u32 netinc_buf_page_of(const struct netinc_buf *b, u64 at)
{
	return at < b->len && b->npages ? page_in(range_at(b, at), at) : b->npages;
}

u64 netinc_buf_bytes_before(const struct netinc_buf *b, u32 n)
{
	const struct netinc_user_range *p;

	if (n == b->npages)
		return b->len;
	p = netinc_buf_range_of_page(b, n);
	if (n == p->page)
		return p->at;
	return p->at + ((u64)(n - p->page) << PAGE_SHIFT) - offset_in_page(p->addr);
}

int netinc_buf_init(struct netinc_buf *b, struct netinc_user_range *range, u32 nranges, bool write,
		    u32 ahead, struct netinc_mem *mem)
{
	u32 ring;

	b->range = range;
	b->nranges = nranges;
	b->len = range[nranges].at;
	b->npages = range[nranges].page;
	b->write = write;
	if (!b->npages)
		return 0;
	ring = roundup_pow_of_two(min(b->npages, ahead));
	b->mask = ring - 1;
	b->ring = ring <= ARRAY_SIZE(b->few) ? b->few :
					       netinc_mem_alloc(mem, ring, sizeof(*b->ring));
	return b->ring ? 0 : -ENOMEM;
}

/* What is to be written can be: its first and its last byte are, as they were. */
static bool copy_range(u8 *copy, u64 addr, u32 len, bool write)
{
	u8 __user *from = u64_to_user_ptr(addr);

	if (copy_from_user(copy, from, len))
		return false;
	return !write || !(put_user(copy[0], from) || put_user(copy[len - 1], from + len - 1));
}

/* A stream without pages of its own: all of it is there as long as the operation. */
static void init_whole(struct netinc_buf *b, struct netinc_user_range *range, u32 nranges,
		       bool write)
{
	b->range = range;
	b->nranges = nranges;
	b->len = range[nranges].at;
	b->write = write;
	b->hi = b->len;
}

int netinc_buf_copy(struct netinc_buf *b, struct netinc_user_range *range, u32 nranges, bool write,
		    u8 *copy)
{
	u32 i;

	init_whole(b, range, nranges, write);
	b->copy = copy;
	for (i = 0; i < nranges; i++)
		if (!copy_range(copy + range[i].at, range[i].addr, range[i + 1].at - range[i].at,
				write))
			return -EFAULT;
	return 0;
}

void netinc_buf_registered(struct netinc_buf *b, struct netinc_user_range *range, u32 nranges,
			   bool write, struct page **pages, u64 base)
{
	init_whole(b, range, nranges, write);
	b->pages = pages;
	b->base = base;
}

int netinc_buf_copy_back(const struct netinc_buf *b)
{
	u32 i;

	for (i = 0; i < b->nranges; i++)
		if (copy_to_user(u64_to_user_ptr(b->range[i].addr), b->copy + b->range[i].at,
				 b->range[i + 1].at - b->range[i].at))
			return -EFAULT;
	return 0;
}

void netinc_buf_free(struct netinc_buf *b)
{
	if (b->ring != b->few)
		kvfree(b->ring);
	if (b->range != b->whole)
		kvfree(b->range);
}

/*
 * The pinned page at @at, and how many bytes of it follow, at most @len. All access to user memory
 * goes through here, and none of it leaves [lo, hi). NULL: @at is outside.
 */
static struct page *pinned_page(const struct netinc_buf *b, u64 at, u32 len, u32 *off, u32 *n)
{
	const struct netinc_user_range *p;

	if (WARN_ON_ONCE(at < b->lo || at >= b->hi || len > b->hi - at))
		return NULL;
	p = range_at(b, at);
	*off = offset_in_page(p->addr + at - p->at);
	*n = min3(len, (u32)PAGE_SIZE - *off, (u32)min_t(u64, p[1].at - at, U32_MAX));
	if (b->pages)
		return b->pages[(p->addr + at - p->at - b->base) >> PAGE_SHIFT];
	return b->ring[page_in(p, at) & b->mask];
}

/* Where bytes [@at, @at + @len) of a copied stream are; NULL: outside. */
static void *copied_bytes(const struct netinc_buf *b, u64 at, u32 len)
{
	return WARN_ON_ONCE(at > b->len || len > b->len - at) ? NULL : b->copy + at;
}

bool netinc_buf_read(const struct netinc_buf *b, u64 at, void *to, u32 len, bool fpu)
{
	struct page *page;
	u32 off, n;
	void *from;

	if (b->copy) {
		from = copied_bytes(b, at, len);
		if (from)
			memcpy(to, from, len);
		else
			memset(to, 0, len);
		return from;
	}
	for (; len; at += n, to += n, len -= n) {
		page = pinned_page(b, at, len, &off, &n);
		if (!page) {
			memset(to, 0, len);
			return false;
		}
		from = kmap_local_page(page);
		netinc_copy(to, from + off, n, fpu);
		kunmap_local(from);
	}
	return true;
}

bool netinc_buf_store(const struct netinc_buf *b, u64 at, const void *from, u32 len, bool fpu)
{
	struct page *page;
	u32 off, n;
	void *to;

	if (b->copy) {
		to = copied_bytes(b, at, len);
		if (to)
			memcpy(to, from, len);
		return to;
	}
	for (; len; at += n, from += n, len -= n) {
		page = pinned_page(b, at, len, &off, &n);
		if (!page)
			return false;
		to = kmap_local_page(page);
		netinc_copy(to + off, from, n, fpu);
		kunmap_local(to);
		flush_dcache_page(page);
	}
	return true;
}

bool netinc_buf_clear(const struct netinc_buf *b, u64 at, u32 len)
{
	struct page *page;
	u32 off, n;
	void *to;

	if (b->copy) {
		to = copied_bytes(b, at, len);
		if (to)
			memset(to, 0, len);
		return to;
	}
	for (; len; at += n, len -= n) {
		page = pinned_page(b, at, len, &off, &n);
		if (!page)
			return false;
		/* flushes the data cache, too */
		memzero_page(page, off, n);
	}
	return true;
}

bool netinc_buf_write(const struct netinc_buf *b, u64 at, const struct sk_buff *skb, u32 from,
		      u32 len, bool fpu)
{
	const void *src = netinc_skb_contig(skb, from, len);
	struct page *page;
	u32 off, n;
	void *to;
	int err;

	if (src)
		return netinc_buf_store(b, at, src, len, fpu);
	if (b->copy) {
		to = copied_bytes(b, at, len);
		return to && !skb_copy_bits(skb, from, to, len);
	}
	for (; len; at += n, from += n, len -= n) {
		page = pinned_page(b, at, len, &off, &n);
		if (!page)
			return false;
		to = kmap_local_page(page);
		err = skb_copy_bits(skb, from, to + off, n);
		kunmap_local(to);
		flush_dcache_page(page);
		if (err)
			return false;
	}
	return true;
}
