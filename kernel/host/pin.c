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
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sizes.h>
#include "host/pin_pages.h"
#include "host/rank.h"
#include "host/pin.h"

/* of each buffer, by the submitter */
#define FIRST_PAGES	(max_t(u32, SZ_256K >> PAGE_SHIFT, 2))
#define TURN_PAGES	(max_t(u32, SZ_4M >> PAGE_SHIFT, 4))	/* by the worker in one turn */

static void unpin_all(struct netinc_pin *u, struct netinc_op_request *req)
{
	lockdep_assert_held(&u->mutex);
	netinc_unpin_pages(u, &req->send, req->send.pinned);
	netinc_unpin_pages(u, &req->recv, req->recv.pinned);
}

/* Unpins the pages before lo, so that others can take their place. */
static void unpin_used(struct netinc_rank *rank, struct netinc_op_request *req)
{
	u32 send, recv;

	spin_lock_bh(&rank->lock);
	send = min(netinc_buf_page_of(&req->send, req->send.lo), req->send.pinned);
	recv = min(netinc_buf_page_of(&req->recv, req->recv.lo), req->recv.pinned);
	spin_unlock_bh(&rank->lock);
	netinc_unpin_pages(&rank->pin, &req->send, send);
	netinc_unpin_pages(&rank->pin, &req->recv, recv);
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

	if (netinc_buf_all_pinned(a))
		return netinc_buf_all_pinned(b) ? NULL : b;
	if (netinc_buf_all_pinned(b))
		return a;
	if (netinc_buf_bytes_before(b, b->pinned) < netinc_buf_bytes_before(a, a->pinned))
		return b;
	return a;
}

/*
 * How many more pages of the budget buffer @b of @req may have: while the other one wants some,
 * too, each may hold half of what the two can have.
 */
static u32 pages_left(const struct netinc_pin *u, const struct netinc_op_request *req,
		      const struct netinc_buf *b)
{
	u32 left = u->budget > u->used ? u->budget - u->used : 0, half;

	if (netinc_buf_all_pinned(&req->send) || netinc_buf_all_pinned(&req->recv))
		return left;
	half = (left + netinc_buf_pages_held(&req->send) + netinc_buf_pages_held(&req->recv)) / 2;
	return min(left, half > netinc_buf_pages_held(b) ? half - netinc_buf_pages_held(b) : 0);
}

static int pin_pages_of(struct netinc_pin *u, struct netinc_op_request *req, struct netinc_buf *b,
			u32 most)
{
	return netinc_pin_pages(u, b, min(pages_left(u, req, b), most));
}

/*
 * One step towards the end of the buffers of @req, the two side by side, of at most @most pages.
 * The one that is behind may have all that it can have and not be needed for long, as the result of
 * a reduce-scatter is while the other ranks' shares go by: then the other one goes on.
 * Returns how many were pinned, 0 (no budget, or nothing is left to pin) or a negative errno.
 */
static int pin_step(struct netinc_pin *u, struct netinc_op_request *req, u32 most)
{
	struct netinc_buf *b = shorter_buffer(req);
	int got;

	if (!b)
		return 0;
	got = pin_pages_of(u, req, b, most);
	if (got)
		return got;
	b = b == &req->send ? &req->recv : &req->send;
	return netinc_buf_all_pinned(b) ? 0 : pin_pages_of(u, req, b, most);
}

/* From now on blocks may be read from and written to all that is pinned. */
static void show_pinned(struct netinc_op_request *req)
{
	req->send.hi = netinc_buf_bytes_before(&req->send, req->send.pinned);
	req->recv.hi = netinc_buf_bytes_before(&req->recv, req->recv.pinned);
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
			netinc_ep_pump(&rank->ep, rank->now);
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
		if (!netinc_buf_all_pinned(&req->send) || !netinc_buf_all_pinned(&req->recv))
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
	return netinc_buf_page_of(&req->send, req->send.lo) - READ_ONCE(req->send.freed) +
	       netinc_buf_page_of(&req->recv, req->recv.lo) - READ_ONCE(req->recv.freed);
}

static void fault_request(struct netinc_rank *rank, struct netinc_op_request *req,
			  enum inc_err_code code)
{
	netinc_rank_lock(rank);
	req->fault = true;
	if (!req->done && !rank->dead)
		netinc_ep_abort(&rank->ep, code, false, rank->now);
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
static void parts_free(struct netinc_rank *rank, struct netinc_op_request *req)
{
	netinc_buf_free(&req->send);
	netinc_buf_free(&req->recv);
	if (req->mm)
		mmdrop(req->mm);
	if (req->copy_mm)
		mmdrop(req->copy_mm);
	netinc_op_request_free_rest(rank, req);
}

static void req_free(struct netinc_rank *rank, struct netinc_op_request *req)
{
	unpin_all(&rank->pin, req);
	parts_free(rank, req);
}

/* Unpins all that nobody needs any more, and frees what has been dropped. */
static void return_budget(struct netinc_rank *rank)
{
	struct netinc_op_request *req;

	while ((req = take_done(rank)))
		unpin_all(&rank->pin, req);
	while ((req = take_dropped(rank)))
		req_free(rank, req);
	spin_lock_bh(&rank->lock);
	req = oldest_request(rank);
	/* who collects one without pages frees it without the mutex, as soon as the lock is free */
	if (req && !req->mm)
		req = NULL;
	spin_unlock_bh(&rank->lock);
	if (req)
		unpin_used(rank, req);
	netinc_pin_uncharge(rank);
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
		netinc_ep_abort(&rank->ep, INC_ERR_RANK_FAULT, false, rank->now);
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
	struct netinc_rank *rank = container_of(u, struct netinc_rank, pin);
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
	u32 size, idle, held;
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
	held = netinc_buf_pages_held(&req->send) + netinc_buf_pages_held(&req->recv);
	if (idle && (rank->pin.starved || idle >= held / 4))
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

int netinc_pin_begin(struct netinc_rank *rank, struct netinc_op_request *req, u32 block)
{
	u32 span = ((block - 1) >> PAGE_SHIFT) + 2, ahead_send, ahead_recv;
	struct netinc_pin *u = &rank->pin;
	struct netinc_op_request *older;
	int got;

	lockdep_assert_held(&u->mutex);
	ahead_send = min(req->send.npages, req->send.mask + 1);
	ahead_recv = min(req->recv.npages, req->recv.mask + 1);
	got = netinc_pin_charge(rank, min(req->send.npages, span) + min(req->recv.npages, span),
				ahead_send + ahead_recv);
	if (got)
		return got;
	spin_lock_bh(&rank->lock);
	older = next_wanting(rank);
	spin_unlock_bh(&rank->lock);
	if (older)
		return 1;
	got = fill_new(u, req, 2 * FIRST_PAGES);
	return got ?: !netinc_buf_all_pinned(&req->send) || !netinc_buf_all_pinned(&req->recv);
}

void netinc_pin_drop(struct netinc_rank *rank, struct netinc_op_request *req)
{
	struct netinc_pin *u = &rank->pin;

	if (!req->mm) {
		parts_free(rank, req);
		return;
	}
	if (!mutex_trylock(&u->mutex)) {
		spin_lock_bh(&rank->lock);
		list_add_tail(&req->list, &u->reap);
		spin_unlock_bh(&rank->lock);
		netinc_pin_kick(rank);
		return;
	}
	req_free(rank, req);
	netinc_pin_uncharge(rank);
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
}

void netinc_pin_drain(struct netinc_rank *rank)
{
	struct netinc_pin *u = &rank->pin;

	while (!mutex_trylock(&u->mutex)) {
		reinit_completion(&u->turned);
		netinc_pin_kick(rank);
		if (!wait_for_completion_timeout(&u->turned, netinc_rank_patience(rank, HZ)))
			return;
	}
	return_budget(rank);
	mutex_unlock(&u->mutex);
	if (cancel_work_sync(&u->work))
		netinc_rank_put(rank);
}

void netinc_pin_fini(struct netinc_pin *u)
{
	WARN_ON_ONCE(!list_empty(&u->unpin) || !list_empty(&u->reap) || u->used || u->budget);
}
