// SPDX-License-Identifier: GPL-2.0-only
/*
 * User memory: pinned pages of the operations under way, the budget that they share, and the worker
 * that moves the pinned part of a long buffer along with the window.
 *
 * Why this cannot deadlock: only the oldest operation that is not pinned to its end gets pages, the
 * ones before it only give back; each of its two buffers may hold half of what there is, and half
 * of the least budget covers one block; so the block at una can always be sent and its result
 * written.
 *
 * The owner's memory may be gone, or a page fault may take for ever (a FUSE file, userfaultfd): the
 * worker holds pin->mutex then, and those who only want to give back use trylock and leave the
 * rest to it. Every user has workers of his own, so that he keeps nobody else from getting pages.
 * Such a worker holds memory map, socket, netns and module until the fault ends: with its answer,
 * or when who was to give it goes away.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/highmem.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "core/skb_contig.h"
#include "host/rank.h"
#include "reduce/reduce.h"
#include "host/pin.h"

/* of each buffer, by the submitter */
#define FIRST_PAGES	(max_t(u32, SZ_256K >> PAGE_SHIFT, 2))
#define TURN_PAGES	(max_t(u32, SZ_4M >> PAGE_SHIFT, 4))	/* by the worker in one turn */
/* of one rank, whatever its user may */
#define MAX_BUDGET	((u32)(SZ_64M >> PAGE_SHIFT))

static LIST_HEAD(peers);
static DEFINE_SPINLOCK(peers_lock);

static struct netinc_rank *rank_of(struct netinc_pin *u)
{
	return container_of(u, struct netinc_rank, pin);
}

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

/* The range that page @n belongs to. */
static const struct netinc_user_range *range_of_page(const struct netinc_buf *b, u32 n)
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

/* The page with the byte @at; behind the last byte: how many pages there are. */
static u32 page_of(const struct netinc_buf *b, u64 at)
{
	return at < b->len && !b->copy ? page_in(range_at(b, at), at) : b->npages;
}

/* How many bytes of the stream lie before page @n. */
static u64 bytes_before(const struct netinc_buf *b, u32 n)
{
	const struct netinc_user_range *p;

	if (n == b->npages)
		return b->len;
	p = range_of_page(b, n);
	if (n == p->page)
		return p->at;
	return p->at + ((u64)(n - p->page) << PAGE_SHIFT) - offset_in_page(p->addr);
}

/*
 * Pages of @b that are pinned. Not more are freed than are pinned: read in this order it is never
 * negative, also while pages come and go.
 */
static u32 pages_held(const struct netinc_buf *b)
{
	u32 freed = smp_load_acquire(&b->freed);	/* pairs with unpin_pages() */

	return READ_ONCE(b->pinned) - freed;
}

static bool all_pinned(const struct netinc_buf *b)
{
	return b->pinned == b->npages;
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

int netinc_buf_copy(struct netinc_buf *b, struct netinc_user_range *range, u32 nranges, u8 *to)
{
	u32 i;

	b->range = range;
	b->nranges = nranges;
	b->len = range[nranges].at;
	b->hi = b->len;
	b->copy = to;
	for (i = 0; i < nranges; i++)
		if (copy_from_user(to + range[i].at, u64_to_user_ptr(range[i].addr),
				   range[i + 1].at - range[i].at))
			return -EFAULT;
	return 0;
}

static void buf_free(struct netinc_buf *b)
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
	return b->ring[page_in(p, at) & b->mask];
}

bool netinc_buf_read(const struct netinc_buf *b, u64 at, void *to, u32 len, bool fpu)
{
	struct page *page;
	u32 off, n;
	void *from;

	if (b->copy) {
		if (WARN_ON_ONCE(at > b->len || len > b->len - at)) {
			memset(to, 0, len);
			return false;
		}
		memcpy(to, b->copy + at, len);
		return true;
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

/*
 * A stack grows by being touched, but not by being pinned: vma_lookup() in __get_user_pages() does
 * not extend it (since 6.5, and in the stable kernels of 6.1).
 */
static void grow_stack(u64 at)
{
	fault_in_readable(u64_to_user_ptr(at), 1);
}

static struct vm_area_struct *find_area(struct mm_struct *mm, u64 at)
{
	struct vm_area_struct *vma = find_vma(mm, at);

	if (!vma || vma->vm_start <= at || !(vma->vm_flags & VM_GROWSDOWN))
		return vma;
	mmap_read_unlock(mm);
	grow_stack(at);
	mmap_read_lock(mm);
	return find_vma(mm, at);
}

/*
 * Why the memory map is walked, and pin_user_pages_fast() is not left to find out: only the first
 * pages of a buffer are pinned while its submitter is there to be told -EFAULT. What the worker
 * cannot pin later ends the group, for all its ranks. No FOLL flag asks without pinning, and to
 * touch every page costs a fault for each that is not there yet. The walk only decides what the
 * submitter is told: memory is reached through pin_user_pages_fast() alone, which checks again.
 */
int netinc_pin_check(u64 addr, u64 len, bool read, bool write)
{
	unsigned long need = (read ? VM_READ : 0) | (write ? VM_WRITE : 0);
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	u64 at, end = addr + len;
	int err = 0;

	if (end < addr || end != (unsigned long)end || !access_ok(u64_to_user_ptr(addr), len))
		return -EFAULT;
	mmap_read_lock(mm);
	for (at = addr; at < end && !err; at = vma->vm_end) {
		vma = find_area(mm, at);
		if (!vma || vma->vm_start > at || (vma->vm_flags & need) != need ||
		    (vma->vm_flags & (VM_IO | VM_PFNMAP))) {
			err = -EFAULT;
			break;
		}
	}
	mmap_read_unlock(mm);
	return err;
}

/*
 * Wait for the pages as any access of a process does: not holding its memory map, and only while it
 * is not killed. Pinning does neither on all kernels.
 */
static int await_pages(unsigned long addr, u32 n)
{
	fault_in_readable((void __user *)addr, (size_t)n << PAGE_SHIFT);
	return fatal_signal_pending(current) ? -EINTR : 0;
}

/*
 * Pin up to @n pages behind those that are, as the owner of the memory. Returns how many, or a
 * negative errno.
 */
static int pin_pages(struct netinc_pin *u, struct netinc_buf *b, u32 n)
{
	u32 slot = b->pinned & b->mask, room = b->mask + 1 - pages_held(b);
	const struct netinc_user_range *p = range_of_page(b, b->pinned);
	unsigned long addr;
	int got;

	n = min3(n, room, min(b->mask + 1 - slot, p[1].page - b->pinned));
	if (!n)
		return 0;
	addr = (p->addr & PAGE_MASK) + ((u64)(b->pinned - p->page) << PAGE_SHIFT);
	got = await_pages(addr, n);
	if (got)
		return got;
	got = pin_user_pages_fast(addr, n, FOLL_LONGTERM | (b->write ? FOLL_WRITE : 0),
				  &b->ring[slot]);
	if (got <= 0)
		return got ?: -EFAULT;
	WRITE_ONCE(b->pinned, b->pinned + got);
	u->used += got;
	return got;
}

/* Unpin what lies before page @end. */
static void unpin_pages(struct netinc_pin *u, struct netinc_buf *b, u32 end)
{
	while (b->freed != end) {
		u32 slot = b->freed & b->mask, n = min(end - b->freed, b->mask + 1 - slot);

		unpin_user_pages_dirty_lock(&b->ring[slot], n, b->write);
		smp_store_release(&b->freed, b->freed + n);	/* pairs with pages_held() */
		u->used -= n;
	}
}

static void unpin_all(struct netinc_pin *u, struct netinc_op_request *req)
{
	lockdep_assert_held(&u->mutex);
	unpin_pages(u, &req->send, req->send.pinned);
	unpin_pages(u, &req->recv, req->recv.pinned);
}

/* Unpins the pages before lo, so that others can take their place. */
static void unpin_used(struct netinc_rank *rank, struct netinc_op_request *req)
{
	u32 send, recv;

	spin_lock_bh(&rank->lock);
	send = min(page_of(&req->send, req->send.lo), req->send.pinned);
	recv = min(page_of(&req->recv, req->recv.lo), req->recv.pinned);
	spin_unlock_bh(&rank->lock);
	unpin_pages(&rank->pin, &req->send, send);
	unpin_pages(&rank->pin, &req->recv, recv);
}

/*
 * Pinning goes in steps. A step (pin_step) adds some pages to that buffer of one request of which
 * less is pinned. A turn is steps for one request, until it has got TURN_PAGES, or all, or the
 * budget is used up: the submitter makes the first (fill_new), the worker the others (pin_round ->
 * serve_request -> pin_request), each for the oldest request that wants pages (next_wanting), after
 * what is used no more has been given back (return_budget).
 */

/* The buffer to go on with: that of which less is pinned; NULL: both are pinned to their end. */
static struct netinc_buf *shorter_buffer(struct netinc_op_request *req)
{
	struct netinc_buf *a = &req->send, *b = &req->recv;

	if (all_pinned(a))
		return all_pinned(b) ? NULL : b;
	if (all_pinned(b))
		return a;
	return bytes_before(b, b->pinned) < bytes_before(a, a->pinned) ? b : a;
}

/*
 * How many more pages of the budget buffer @b of @req may have: while the other one wants some,
 * too, each may hold half of what the two can have.
 */
static u32 pages_left(const struct netinc_pin *u, const struct netinc_op_request *req,
		      const struct netinc_buf *b)
{
	u32 room = u->budget > u->used ? u->budget - u->used : 0, half;

	if (all_pinned(&req->send) || all_pinned(&req->recv))
		return room;
	half = (room + pages_held(&req->send) + pages_held(&req->recv)) / 2;
	return min(room, half > pages_held(b) ? half - pages_held(b) : 0);
}

/*
 * One step towards the end of the buffers of @req, the two side by side, of at most @most pages.
 * Returns how many were pinned, 0 (no budget, or nothing is left to pin) or a negative errno.
 */
static int pin_step(struct netinc_pin *u, struct netinc_op_request *req, u32 most)
{
	struct netinc_buf *b = shorter_buffer(req);

	return b ? pin_pages(u, b, min(pages_left(u, req, b), most)) : 0;
}

/* From now on blocks may be read from and written to all that is pinned. */
static void show_pinned(struct netinc_op_request *req)
{
	req->send.hi = bytes_before(&req->send, req->send.pinned);
	req->recv.hi = bytes_before(&req->recv, req->recv.pinned);
}

/* The first turn, for a request that nobody else knows yet. 0 or a negative errno. */
static int fill_new(struct netinc_pin *u, struct netinc_op_request *req, u32 most)
{
	int got = 0;
	u32 total;

	for (total = 0; total < most; total += got) {
		got = pin_step(u, req, most - total);
		if (got <= 0)
			break;
	}
	show_pinned(req);
	return got < 0 ? got : 0;
}

/*
 * A turn for a request that is under way: after each step blocks go out, and what they have been
 * read from makes room for the next. Returns how many pages were pinned, or, if none, as
 * pin_step().
 */
static int pin_request(struct netinc_rank *rank, struct netinc_op_request *req, u32 most)
{
	int got = 0;
	u32 total;

	for (total = 0; total < most; total += got) {
		unpin_used(rank, req);
		got = pin_step(&rank->pin, req, most - total);
		if (got <= 0)
			break;
		netinc_rank_lock(rank);
		show_pinned(req);
		if (!rank->dead)
			netinc_ep_pump(&rank->ep, netinc_now());
		netinc_rank_unlock(rank);
	}
	return total ?: got;
}

/*
 * The oldest operation that is not pinned to its end; NULL also if that one has no memory any more.
 */
static struct netinc_op_request *next_wanting(struct netinc_rank *rank)
{
	struct netinc_op_request *req;

	lockdep_assert_held(&rank->lock);
	list_for_each_entry(req, &rank->pending, list)
		if (!all_pinned(&req->send) || !all_pinned(&req->recv))
			return req->fault ? NULL : req;
	return NULL;
}

/* The oldest operation under way; NULL: there is none. */
static struct netinc_op_request *oldest_request(struct netinc_rank *rank)
{
	lockdep_assert_held(&rank->lock);
	return list_first_entry_or_null(&rank->pending, struct netinc_op_request, list);
}

/* How many pages the oldest operation needs no more. */
static u32 idle_pages(struct netinc_rank *rank)
{
	struct netinc_op_request *req = oldest_request(rank);

	if (!req)
		return 0;
	return page_of(&req->send, req->send.lo) - READ_ONCE(req->send.freed) +
	       page_of(&req->recv, req->recv.lo) - READ_ONCE(req->recv.freed);
}

static void fault_request(struct netinc_rank *rank, struct netinc_op_request *req,
			  enum inc_err_code code)
{
	netinc_rank_lock(rank);
	req->fault = true;
	if (!req->done && !rank->dead)
		netinc_ep_abort(&rank->ep, code, false, netinc_now());
	netinc_rank_unlock(rank);
}

/* Pin for @req as its owner; false: nothing could be done. */
static bool serve_request(struct netinc_rank *rank, struct netinc_op_request *req)
{
	int got;

	if (!mmget_not_zero(req->mm)) {
		/* its process has ended, or is about to close us */
		fault_request(rank, req, INC_ERR_RANK_ABORT);
		return false;
	}
	kthread_use_mm(req->mm);
	got = pin_request(rank, req, TURN_PAGES);
	kthread_unuse_mm(req->mm);
	mmput(req->mm);
	if (got < 0)
		fault_request(rank, req, INC_ERR_RANK_FAULT);
	return got > 0;
}

/* A request that is done and has pages, off their list; NULL: there is none. */
static struct netinc_op_request *take_done(struct netinc_rank *rank)
{
	struct netinc_op_request *req;

	spin_lock_bh(&rank->lock);
	req = list_first_entry_or_null(&rank->pin.unpin, struct netinc_op_request, pin);
	if (req)
		list_del_init(&req->pin);
	spin_unlock_bh(&rank->lock);
	return req;
}

/* A request that is to be freed, off their list; NULL: there is none. */
static struct netinc_op_request *take_dropped(struct netinc_rank *rank)
{
	struct netinc_op_request *req;

	spin_lock_bh(&rank->lock);
	req = list_first_entry_or_null(&rank->pin.reap, struct netinc_op_request, list);
	if (req)
		list_del_init(&req->list);
	spin_unlock_bh(&rank->lock);
	return req;
}

/* Frees all of the request but pinned pages. */
static void parts_free(struct netinc_op_request *req)
{
	buf_free(&req->send);
	buf_free(&req->recv);
	if (req->mm)
		mmdrop(req->mm);
	netinc_op_request_free_rest(req);
}

static void req_free(struct netinc_pin *u, struct netinc_op_request *req)
{
	unpin_all(u, req);
	parts_free(req);
}

/*
 * Gives the budget back: with nothing pinned and nothing to come, others of this user may have the
 * budget.
 */
static void uncharge_pages(struct netinc_rank *rank)
{
	struct netinc_pin *u = &rank->pin;
	bool idle;

	lockdep_assert_held(&u->mutex);
	spin_lock_bh(&rank->lock);
	idle = !u->used && list_empty(&rank->pending);
	spin_unlock_bh(&rank->lock);
	if (!idle || !u->budget)
		return;
	mm_unaccount_pinned_pages(&u->charge);
	memset(&u->charge, 0, sizeof(u->charge));
	netinc_uncharge(rank->nn, rank->user, INC_LIMIT_PINNED_MEMORY,
			(s64)u->budget << PAGE_SHIFT);
	u->budget = 0;
}

/* Unpins all that nobody needs any more, and frees what has been dropped. */
static void return_budget(struct netinc_rank *rank)
{
	struct netinc_op_request *req;

	while ((req = take_done(rank)))
		unpin_all(&rank->pin, req);
	while ((req = take_dropped(rank)))
		req_free(&rank->pin, req);
	spin_lock_bh(&rank->lock);
	req = oldest_request(rank);
	spin_unlock_bh(&rank->lock);
	if (req)
		unpin_used(rank, req);
	uncharge_pages(rank);
}

/* An operation that has been asked for memory that is done with ends: see netinc_pin_outside(). */
static void end_outside(struct netinc_rank *rank)
{
	struct netinc_op_request *req;
	bool found = false;

	spin_lock_bh(&rank->lock);
	list_for_each_entry(req, &rank->pending, list)
		found |= req->outside;
	spin_unlock_bh(&rank->lock);
	if (!found)
		return;
	netinc_rank_lock(rank);
	if (!rank->dead)
		netinc_ep_abort(&rank->ep, INC_ERR_RANK_FAULT, false, netinc_now());
	netinc_rank_unlock(rank);
}

/* One turn of the worker; true: there is more to do at once. */
static bool pin_round(struct netinc_rank *rank)
{
	struct netinc_pin *u = &rank->pin;
	struct netinc_op_request *req;
	bool more;

	spin_lock_bh(&rank->lock);
	u->starved = false;
	spin_unlock_bh(&rank->lock);
	end_outside(rank);
	return_budget(rank);
	spin_lock_bh(&rank->lock);
	req = next_wanting(rank);
	spin_unlock_bh(&rank->lock);
	if (!req)
		return false;
	if (serve_request(rank, req))
		return true;
	spin_lock_bh(&rank->lock);
	u->starved = !req->fault;
	more = idle_pages(rank) || !list_empty(&u->unpin);
	spin_unlock_bh(&rank->lock);
	return more;
}

static void pin_work(struct work_struct *work)
{
	struct netinc_pin *u = container_of(work, struct netinc_pin, work);
	struct netinc_rank *rank = rank_of(u);
	bool more;

	mutex_lock(&u->mutex);
	more = pin_round(rank);
	mutex_unlock(&u->mutex);
	if (more)
		netinc_pin_kick(rank);
	complete(&u->turned);
	netinc_rank_put(rank);
}

void netinc_pin_kick(struct netinc_rank *rank)
{
	netinc_rank_get(rank);
	if (!queue_work(rank->user->wq, &rank->pin.work))
		netinc_rank_put(rank);
}

void netinc_pin_progress(struct netinc_rank *rank)
{
	struct netinc_op_request *req = oldest_request(rank);
	struct netinc_ep *ep = &rank->ep;
	struct netinc_block b;
	u32 size, idle;
	u64 next;

	if (!req || !req->mm || &req->op != ep->head || !req->op.numbered)
		return;
	next = netinc_ep_next(ep);
	if ((s64)(next - req->op.first) <= 0 || next - req->op.first >= req->op.blocks)
		return;
	netinc_coll_block(&req->op, next - req->op.first, &b);
	size = netinc_reduce_elem_size(req->op.type);
	req->send.lo = max(req->send.lo, b.send * size);
	req->recv.lo = max(req->recv.lo, b.recv * size);
	if (!rank->pin.starved && req->send.hi == req->send.len && req->recv.hi == req->recv.len)
		return;
	idle = idle_pages(rank);
	if (idle &&
	    (rank->pin.starved || idle >= (pages_held(&req->send) + pages_held(&req->recv)) / 4))
		netinc_pin_kick(rank);
}

void netinc_pin_outside(struct netinc_rank *rank, struct netinc_op_request *req)
{
	lockdep_assert_held(&rank->lock);
	if (req->outside)
		return;
	req->outside = true;
	netinc_pin_kick(rank);
}

void netinc_pin_stalled(struct netinc_rank *rank)
{
	lockdep_assert_held(&rank->lock);
	if (rank->pin.starved)
		return;
	rank->pin.starved = true;
	netinc_pin_kick(rank);
}

/*
 * The pages of RLIMIT_MEMLOCK that one rank of a user may have, so that all the user's ranks of
 * this machine get on.
 */
static u32 fair_share(const struct netinc_pin *u)
{
	unsigned long limit = min_t(unsigned long, rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT, U32_MAX);
	const struct netinc_pin *peer;
	u32 n = 0;

	if (capable(CAP_IPC_LOCK))
		return U32_MAX;
	spin_lock(&peers_lock);
	list_for_each_entry(peer, &peers, peers)
		n += uid_eq(peer->uid, u->uid);
	spin_unlock(&peers_lock);
	return limit / max(n, 1u);
}

/* mm_account_pinned_pages() adds two pages to the size that it is given. */
static int account_pages(struct netinc_pin *u, u32 n)
{
	struct netinc_rank *rank = rank_of(u);
	s64 bytes;
	int err;

	n = max(n, 2u);
	bytes = (s64)n << PAGE_SHIFT;
	err = netinc_charge(rank->nn, rank->user, INC_LIMIT_PINNED_MEMORY, bytes);
	if (err)
		return err;
	if (mm_account_pinned_pages(&u->charge, n == 2 ? 1 : (size_t)(n - 2) << PAGE_SHIFT)) {
		netinc_uncharge(rank->nn, rank->user, INC_LIMIT_PINNED_MEMORY, bytes);
		return -ENOMEM;
	}
	u->budget += n;
	return 0;
}

/*
 * Budget for @want pages beside those in use, or as many as can be had; an errno if it stays below
 * @need.
 */
static int charge_pages(struct netinc_pin *u, u32 need, u32 want)
{
	u32 grow, target;

	if (u->budget >= u->used + want)
		return 0;
	target = u->used + want;
	if (target > need)
		target = min3(target, max(fair_share(u), need), max(MAX_BUDGET, need));
	for (grow = target > u->budget ? target - u->budget : 0; grow; grow /= 2) {
		if (u->budget + grow < need)
			break;
		if (!account_pages(u, grow))
			return 0;
	}
	return u->budget >= need ? 0 : account_pages(u, need - u->budget);
}

int netinc_pin_begin(struct netinc_rank *rank, struct netinc_op_request *req, u32 block)
{
	u32 span = ((block - 1) >> PAGE_SHIFT) + 2, ahead_send, ahead_recv;
	struct netinc_pin *u = &rank->pin;
	struct netinc_op_request *older;
	int got;

	lockdep_assert_held(&u->mutex);
	ahead_send = min(req->send.npages, req->send.mask + 1);
	ahead_recv = min(req->recv.npages, req->recv.mask + 1);
	got = charge_pages(u, min(req->send.npages, span) + min(req->recv.npages, span),
			   ahead_send + ahead_recv);
	if (got)
		return got;
	spin_lock_bh(&rank->lock);
	older = next_wanting(rank);
	spin_unlock_bh(&rank->lock);
	if (older)
		return 1;
	got = fill_new(u, req, 2 * FIRST_PAGES);
	return got ?: !all_pinned(&req->send) || !all_pinned(&req->recv);
}

void netinc_pin_drop(struct netinc_rank *rank, struct netinc_op_request *req)
{
	struct netinc_pin *u = &rank->pin;

	if (!req->mm) {
		parts_free(req);
		return;
	}
	if (!mutex_trylock(&u->mutex)) {
		spin_lock_bh(&rank->lock);
		list_add_tail(&req->list, &u->reap);
		spin_unlock_bh(&rank->lock);
		netinc_pin_kick(rank);
		return;
	}
	req_free(u, req);
	uncharge_pages(rank);
	mutex_unlock(&u->mutex);
	/*
	 * the worker may have found nothing to give back while this one was on its way from the
	 * list to here
	 */
	spin_lock_bh(&rank->lock);
	if (u->starved)
		netinc_pin_kick(rank);
	spin_unlock_bh(&rank->lock);
}

void netinc_pin_init(struct netinc_pin *u)
{
	mutex_init(&u->mutex);
	init_completion(&u->turned);
	INIT_WORK(&u->work, pin_work);
	INIT_LIST_HEAD(&u->unpin);
	INIT_LIST_HEAD(&u->reap);
	u->uid = current_uid();
	spin_lock(&peers_lock);
	list_add(&u->peers, &peers);
	spin_unlock(&peers_lock);
}

void netinc_pin_drain(struct netinc_rank *rank)
{
	struct netinc_pin *u = &rank->pin;

	while (!mutex_trylock(&u->mutex)) {
		reinit_completion(&u->turned);
		netinc_pin_kick(rank);
		if (!wait_for_completion_timeout(&u->turned, HZ))
			return;
	}
	return_budget(rank);
	mutex_unlock(&u->mutex);
	if (cancel_work_sync(&u->work))
		netinc_rank_put(rank);
}

void netinc_pin_fini(struct netinc_pin *u)
{
	WARN_ON_ONCE(u->used || u->budget || !list_empty(&u->unpin) || !list_empty(&u->reap));
	spin_lock(&peers_lock);
	list_del(&u->peers);
	spin_unlock(&peers_lock);
}
