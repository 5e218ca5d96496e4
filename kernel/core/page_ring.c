// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every CPU has a ring of pages per order, oldest first; each is here with one reference, and free
 * when that is the only one. So there are about as many as have been under way at once, 15 MiB per
 * CPU at most (with pages of 4 KiB); what has not been asked for during a period is given back.
 * Nobody is charged for these pages: what refers to them is, while it does. One more page is cut
 * into fragments. page_pool does not fit: its numbers are in performance.rst.
 */
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include "core/page_ring.h"
#include "core/fpu_section.h"

#define RING		256		/* a power of two */
/* pages that may be found in use before a new one is taken */
#define LOOKS		4
#define PERIOD		(2 * HZ)

struct ring {
	u32 first;
	u32 n;
	bool used;			/* during this period */
	struct page *page[RING];
};

struct pool {
	spinlock_t lock;		/* between this CPU and the worker */
	struct ring ring[NETINC_PAGE_RING_MAX_ORDER + 1];
	struct page *cut;		/* with one reference; NULL: none */
	u32 cut_at;			/* bytes of it that have been given */
};

static struct pool __percpu *pools;

static void trim_rings(struct work_struct *work);
static DECLARE_DELAYED_WORK(trimmer, trim_rings);

static struct page *take_page(struct ring *ring)
{
	struct page *page = ring->page[ring->first++ % RING];

	ring->n--;
	return page;
}

static void add_page(struct ring *ring, struct page *page)
{
	ring->page[(ring->first + ring->n++) % RING] = page;
}

static struct page *find_free_page(struct ring *ring)
{
	u32 looks = min_t(u32, ring->n, LOOKS);
	struct page *page;

	ring->used = true;
	while (looks--) {
		page = take_page(ring);
		if (page_ref_count(page) == 1)
			return page;
		add_page(ring, page);
	}
	return NULL;
}

static struct page *alloc_fresh_page(u32 order)
{
	return alloc_pages(GFP_ATOMIC | __GFP_COMP | __GFP_NOWARN, order);
}

/* Kept for later. False: there are enough; a page given in an emergency is not for keeping. */
static bool recycle_page(struct pool *pool, struct page *page, u32 order)
{
	if (pool->ring[order].n >= RING || page_is_pfmemalloc(page))
		return false;
	add_page(&pool->ring[order], page);
	return true;
}

struct page *netinc_page_ring_get(u32 order)
{
	struct pool *pool = this_cpu_ptr(pools);
	struct page *page;

	netinc_fpu_section_outside();
	spin_lock_bh(&pool->lock);
	page = find_free_page(&pool->ring[order]);
	spin_unlock_bh(&pool->lock);
	return page ?: alloc_fresh_page(order);
}

/* Takes another page to cut; the rest of the one before is given up. */
static bool cut_another(struct pool *pool)
{
	struct page *page = find_free_page(&pool->ring[0]) ?: alloc_fresh_page(0);

	if (!page)
		return false;
	if (pool->cut && !recycle_page(pool, pool->cut, 0))
		put_page(pool->cut);
	pool->cut = page;
	pool->cut_at = 0;
	return true;
}

void *netinc_page_ring_frag(u32 size)
{
	struct pool *pool = this_cpu_ptr(pools);
	void *frag = NULL;

	netinc_fpu_section_outside();
	spin_lock_bh(&pool->lock);
	if ((pool->cut && pool->cut_at + size <= PAGE_SIZE) || cut_another(pool)) {
		frag = page_address(pool->cut) + pool->cut_at;
		pool->cut_at += size;
		get_page(pool->cut);
	}
	spin_unlock_bh(&pool->lock);
	return frag;
}

void netinc_page_ring_put(struct page *page, u32 order)
{
	struct pool *pool;
	bool recycled;

	netinc_fpu_section_outside();
	local_bh_disable();
	pool = this_cpu_ptr(pools);
	spin_lock(&pool->lock);
	recycled = recycle_page(pool, page, order);
	spin_unlock(&pool->lock);
	local_bh_enable();
	if (!recycled)
		__free_pages(page, order);
	else if (!delayed_work_pending(&trimmer))
		schedule_delayed_work(&trimmer, PERIOD);
}

/*
 * The pages of a ring that nobody has used since it was looked at last, or all of them. Returns how
 * many stay.
 */
static u32 trim_ring(struct pool *pool, u32 order, bool all)
{
	struct ring *ring = &pool->ring[order];
	struct page *page = NULL;
	u32 left;

	do {
		spin_lock_bh(&pool->lock);
		page = ring->n && (all || !ring->used) ? take_page(ring) : NULL;
		if (!page)
			ring->used = false;
		left = ring->n;
		spin_unlock_bh(&pool->lock);
		if (page)
			__free_pages(page, order);
	} while (page);
	return left;
}

static u32 trim_all(bool all)
{
	u32 left = 0, order;
	int cpu;

	for_each_possible_cpu(cpu)
		for (order = 0; order <= NETINC_PAGE_RING_MAX_ORDER; order++)
			left += trim_ring(per_cpu_ptr(pools, cpu), order, all);
	return left;
}

static void trim_rings(struct work_struct *work)
{
	if (trim_all(false))
		schedule_delayed_work(&trimmer, PERIOD);
}

int netinc_page_ring_init(void)
{
	int cpu;

	pools = alloc_percpu(struct pool);
	if (!pools)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		spin_lock_init(&per_cpu_ptr(pools, cpu)->lock);
	return 0;
}

void netinc_page_ring_fini(void)
{
	struct pool *pool;
	int cpu;

	cancel_delayed_work_sync(&trimmer);
	trim_all(true);
	for_each_possible_cpu(cpu) {
		pool = per_cpu_ptr(pools, cpu);
		if (pool->cut)
			put_page(pool->cut);
	}
	free_percpu(pools);
}
