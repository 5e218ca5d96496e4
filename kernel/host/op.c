// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations of an application: checked, submitted, completed, waited for, collected. A completion
 * is collected once; one that somebody waits for by its handle is that waiter's.
 */
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/sock.h>
#include "host/scan.h"
#include "host/contributors.h"
#include "host/counts.h"
#include "host/rank.h"
#include "reduce/reduce.h"
#include "host/op.h"
#include "host/op_layout.h"
#include "host/registered.h"
#include "host/socket.h"

/* pages of a buffer that may be pinned at once */
#define MIN_AHEAD	((u32)(SZ_2M >> PAGE_SHIFT))
#define MAX_AHEAD	((u32)(SZ_16M >> PAGE_SHIFT))

int netinc_error_errno(u16 code)
{
	switch (code) {
	case INC_ERR_NONE:
		return 0;
	case INC_ERR_MISMATCH:
		return -EPROTO;
	case INC_ERR_CANCELED:
		return -ECANCELED;
	case INC_ERR_RANK_LATE:
		return -ETIME;
	case INC_ERR_RANK_FAULT:
		return -EFAULT;
	case INC_ERR_UNSUPPORTED:
		return -EOPNOTSUPP;
	case INC_ERR_COUNTS:
		return -EMSGSIZE;
	case INC_ERR_NODE_DEAD:
	case INC_ERR_NODE_GONE:
		return -EHOSTDOWN;
	default:
		return -ECONNRESET;	/* RANK_DEAD, RANK_ABORT, RANK_PATH, LEFT */
	}
}

void netinc_error_info(const struct netinc_error *e, struct inc_error_info *info)
{
	int i;

	memset(info, 0, sizeof(*info));
	if (!e->code)
		return;
	info->code = e->code;
	info->opseq = e->opseq;
	for (i = 0; i < 2; i++) {
		info->rank[i] = e->rank[i];
		info->desc[i].coll = e->desc[i].coll;
		info->desc[i].type = e->desc[i].type;
		info->desc[i].op = e->desc[i].op;
		info->desc[i].wire = e->desc[i].wire;
		info->desc[i].root = be32_to_cpu(e->desc[i].root);
		info->desc[i].count = be64_to_cpu(e->desc[i].count);
		info->desc[i].mode = e->desc[i].mode;
		info->desc[i].counts = (u32)be64_to_cpu(e->desc[i].counts_hash);
	}
}

/* Results that were not written where they belong go there, by whom they are collected. */
static int copy_back(const struct netinc_op_request *req)
{
	if (!req->copy_mm || req->op.error.code)
		return 0;
	/* it was interrupted, and another process collects it */
	if (req->copy_mm != current->mm)
		return -EFAULT;
	return netinc_buf_copy_back(netinc_op_request_recv_buf(req));
}

void netinc_op_request_completion(const struct netinc_op_request *req, struct inc_completion *c)
{
	memset(c, 0, sizeof(*c));
	c->handle = req->handle;
	c->user_data = req->user_data;
	c->result = netinc_error_errno(req->op.error.code) ?: copy_back(req);
	c->missing = netinc_contributed_missing(req);
	netinc_error_info(&req->op.error, &c->error);
}

static enum netinc_memory range_state(const struct netinc_buf *buf, u64 begin, u64 end)
{
	if (begin < buf->lo)
		return NETINC_MEMORY_DONE;
	return min(end, buf->len) <= buf->hi ? NETINC_MEMORY_THERE : NETINC_MEMORY_NOT_YET;
}

enum netinc_memory netinc_op_request_memory(const struct netinc_op_request *req,
					    const struct netinc_block *b)
{
	enum netinc_memory send = NETINC_MEMORY_THERE, recv = NETINC_MEMORY_THERE;
	u32 size = netinc_reduce_elem_size(req->op.type);
	/*
	 * a round of a chain is written, and for a scan read again, when the own block has its
	 * result
	 */
	bool own = req->chain && b->owner == req->op.rank;

	if (!b->elems)
		return NETINC_MEMORY_THERE;
	if ((b->bits & INC_F_PAYLOAD) || own)
		send = range_state(&req->send, b->send * size, (b->send + b->elems) * size);
	if ((b->bits & INC_F_WANT) || own)
		recv = range_state(netinc_op_request_recv_buf(req), b->recv * size,
				   (b->recv + b->elems) * size);
	return max(send, recv);
}

/* Everything about an operation but its memory. */
static int check_submit(const struct netinc_rank *rank, const struct inc_submit *sub,
			struct netinc_op *op)
{
	struct netinc_kinds lacks;
	int err;

	if (sub->resv0[0] || sub->resv0[1] || sub->resv0[2] || sub->flags)
		return -EINVAL;
	if (sub->weight && sub->op != INC_OP_WSUM)
		return -EINVAL;
	op->coll = sub->coll;
	op->type = sub->type;
	op->op = sub->op;
	op->wire = sub->wire ?: sub->type;
	op->mode = sub->mode;
	op->root = sub->root;
	op->count = sub->count;
	op->rank = rank->ep.cfg.rank;
	op->size = rank->ep.cfg.size;
	err = netinc_coll_check(op);
	if (err)
		return err;
	/* the engine looks again, when own elements have been copied and pages pinned */
	lacks = (struct netinc_kinds){ .types = READ_ONCE(rank->ep.settings.lacks.types),
				       .ops = READ_ONCE(rank->ep.settings.lacks.ops) };
	return netinc_coll_fits(op, READ_ONCE(rank->ep.block)) && !netinc_coll_lacks(op, lacks) ?
		       0 : -EOPNOTSUPP;
}

static u32 count_ahead(const struct netinc_rank *rank)
{
	u64 window = (u64)READ_ONCE(rank->ep.settings.window) * READ_ONCE(rank->ep.block);

	return clamp_t(u64, 2 * window >> PAGE_SHIFT, MIN_AHEAD, MAX_AHEAD);
}

/* Where result elements take the place of those that were sent, one by one. */
static bool shares_buffer(const struct netinc_op *op)
{
	return op->in_place && (op->coll == INC_COLL_ALLREDUCE || op->coll == INC_COLL_REDUCE);
}

static int init_stream(struct netinc_op_request *req, struct netinc_buf *b,
		       const struct netinc_layout *s, bool send, bool write, u32 pages)
{
	const struct netinc_registered *reg = write ? s->recv.reg : s->send.reg;
	struct netinc_user_range *range;
	u32 n;
	int err;

	err = netinc_layout_ranges(s, &req->op, send, &req->mem, b->whole, &range, &n);
	if (err)
		return err;
	if (range[n].at > NETINC_COPIED || (write && !s->copied)) {
		if (!netinc_registered_holds_all(reg, range, n, write))
			return netinc_buf_init(b, range, n, write, pages, &req->mem);
		netinc_buf_registered(b, range, n, write, reg->pages, reg->addr & PAGE_MASK);
		return 0;
	}
	if (write && n && !req->copy_mm) {
		req->copy_mm = current->mm;
		mmgrab(req->copy_mm);
	}
	return netinc_buf_copy(b, range, n, write, req->copied[!send]);
}

/*
 * The process that has joined has its address space anyway; another one may end, and what it leaves
 * is kept until its operation has been collected.
 */
static int charge_address_space(const struct netinc_rank *rank, struct netinc_op_request *req)
{
	if (netinc_rank_is_own(rank))
		return 0;
	return netinc_mem_charge(&req->mem, sizeof(struct mm_struct) + 2 * PAGE_SIZE);
}

static int init_buffers(struct netinc_rank *rank, struct netinc_op_request *req,
			const struct netinc_layout *s)
{
	u32 pages = count_ahead(rank);
	int err;

	req->shared = shares_buffer(&req->op);
	err = init_stream(req, &req->send, s, true, req->shared, pages);
	if (!err && !req->shared)
		err = init_stream(req, &req->recv, s, false, true, pages);
	if (err || !(req->send.len || req->recv.len))
		return err;
	if (req->send.npages || req->recv.npages) {
		req->mm = current->mm;
		mmgrab(req->mm);
	}
	err = charge_address_space(rank, req);
	if (err)
		return err;
	if (!netinc_coll_chains(req->op.coll))
		return 0;
	req->chain = netinc_scan_alloc(rank, &req->op, &req->mem);
	return req->chain ? 0 : -ENOMEM;
}

static int get_registered(struct netinc_rank *rank, struct netinc_op_request *req,
			  const struct inc_submit *sub)
{
	const u32 id[2] = { sub->send_reg, sub->recv_reg };
	struct netinc_registered *r;
	int i;

	for (i = 0; i < 2; i++) {
		r = netinc_registered_get(netinc_sk(rank->sk), id[i]);
		if (IS_ERR(r))
			return PTR_ERR(r);
		req->reg[i] = r;
	}
	return 0;
}

/*
 * It is done with, or nothing has come of it: who has collected it may unregister what it has used
 * before all that it has pinned is given back.
 */
static void put_registered(struct netinc_op_request *req)
{
	int i;

	for (i = 0; i < 2; i++) {
		netinc_registered_put(req->reg[i]);
		req->reg[i] = NULL;
	}
}

/*
 * Its memory, and what it needs beside that. Nothing that the caller could see has been done if it
 * fails.
 */
static int prepare_request(struct netinc_rank *rank, struct netinc_op_request *req,
			   const struct inc_submit *sub, bool copied)
{
	struct netinc_layout shares;
	int err;

	err = netinc_layout_get(&shares, sub, copied, &req->op, &req->mem);
	shares.send.reg = req->reg[0];
	shares.recv.reg = req->reg[1];
	if (!err)
		err = netinc_layout_check(&shares, &req->op);
	if (!err)
		err = init_buffers(rank, req, &shares);
	if (!err && (req->op.mode & INC_MODE_COUNTS) && netinc_coll_asks_counts(req->op.coll)) {
		req->counts = netinc_counts_alloc(&req->op, &req->mem);
		err = req->counts ? 0 : -ENOMEM;
	}
	if (!err)
		err = netinc_layout_copy_own(&shares, &req->op);
	netinc_layout_put(&shares);
	return err;
}

/* As if its memory was new. What is not cleared is written before it is read. */
static void reset_request(struct netinc_op_request *req)
{
	memset(&req->op, 0, offsetof(struct netinc_op, absent));
	memset(&req->send, 0, offsetof(struct netinc_buf, whole));
	memset(&req->recv, 0, offsetof(struct netinc_buf, whole));
	req->counts = NULL;
	req->chain = NULL;
	req->mm = NULL;
	req->copy_mm = NULL;
	req->shared = false;
	req->done = false;
	req->fault = false;
	req->outside = false;
}

/*
 * A new one costs as much as all that is done with it beside moving its data: the last one that has
 * been freed is used again.
 */
static struct netinc_op_request *get_request(struct netinc_rank *rank, struct netinc_mem *mem)
{
	struct netinc_op_request *req = xchg(&rank->spare, NULL);

	if (!req)
		return netinc_mem_zalloc(mem, 1, sizeof(*req));
	if (netinc_mem_charge(mem, sizeof(*req))) {
		kvfree(req);
		return NULL;
	}
	reset_request(req);
	return req;
}

/* The operation is charged, with all the kernel memory that it will take. */
static struct netinc_op_request *req_alloc(struct netinc_rank *rank)
{
	struct netinc_mem mem = { .nn = rank->nn, .user = rank->user };
	struct netinc_op_request *req;
	int err;

	err = netinc_charge(mem.nn, mem.user, INC_LIMIT_OPERATIONS, 1);
	if (err)
		return ERR_PTR(err);
	req = get_request(rank, &mem);
	if (!req) {
		netinc_mem_done(&mem);
		netinc_uncharge(mem.nn, mem.user, INC_LIMIT_OPERATIONS, 1);
		return ERR_PTR(mem.err ?: -ENOMEM);
	}
	req->mem = mem;
	INIT_LIST_HEAD(&req->list);
	INIT_LIST_HEAD(&req->pin);
	return req;
}

void netinc_op_request_free_rest(struct netinc_rank *rank, struct netinc_op_request *req)
{
	struct netinc_mem mem = req->mem;

	netinc_counts_release(rank, req->counts);
	netinc_scan_free(req->chain);
	kvfree(req->op.counts);
	kvfree(req->op.before);
	/* KASAN is to see who uses it after this */
	kvfree(IS_ENABLED(CONFIG_KASAN) ? req : xchg(&rank->spare, req));
	netinc_mem_done(&mem);
	netinc_uncharge(mem.nn, mem.user, INC_LIMIT_OPERATIONS, 1);
}

/*
 * In order with the others; the request is the rank's from here on, or the caller's still if this
 * fails.
 */
static int add_request(struct netinc_rank *rank, struct netinc_op_request *req)
{
	int err;

	lockdep_assert_held(&rank->lock);
	if (rank->dead)
		return -ENOTCONN;
	if (rank->nreqs >= NETINC_MAX_REQS)
		return -EAGAIN;
	rank->nreqs++;
	req->handle = ++rank->last_handle;
	list_add_tail(&req->list, &rank->pending);
	err = req->counts ? netinc_ep_add(&rank->ep, &req->counts->op) : 0;
	if (!err)
		err = netinc_ep_add(&rank->ep, &req->op);
	if (err) {
		list_del_init(&req->list);
		rank->nreqs--;
	}
	return err;
}

static int add_requests(struct netinc_rank *rank, struct netinc_op_request **req, u32 n,
			u64 *handle, u32 *taken)
{
	int err = 0;
	u32 i;

	netinc_rank_lock(rank);
	*handle = rank->last_handle + 1;
	for (i = 0; i < n; i++) {
		err = add_request(rank, req[i]);
		if (err)
			break;
	}
	if (i)
		netinc_ep_pump(&rank->ep, rank->now);
	netinc_rank_unlock(rank);
	*taken = i;
	return err;
}

/* Bytes of user memory that a full block stands for. */
static u32 block_bytes(const struct netinc_rank *rank, const struct netinc_op *op)
{
	return READ_ONCE(rank->ep.block) / netinc_reduce_elem_size(op->wire) *
	       netinc_reduce_elem_size(op->type);
}

static int add_with_memory(struct netinc_rank *rank, struct netinc_op_request *req, u64 *handle,
			   u32 *taken)
{
	int err, more;

	if (mutex_lock_interruptible(&rank->pin.mutex))
		return -ERESTARTSYS;
	more = netinc_pin_begin(rank, req, block_bytes(rank, &req->op));
	err = more < 0 ? more : add_requests(rank, &req, 1, handle, taken);
	mutex_unlock(&rank->pin.mutex);
	if (!err && more)
		netinc_pin_kick(rank);
	return err;
}

int netinc_op_request_enqueue(struct netinc_rank *rank, struct netinc_op_request **req, u32 n,
			      u64 *handle, u32 *taken)
{
	*taken = 0;
	return req[0]->mm ? add_with_memory(rank, req[0], handle, taken) :
			    add_requests(rank, req, n, handle, taken);
}

/*
 * Tells, without a guarantee, what submitting would: the same error before and after memory has
 * been looked at.
 */
static int may_submit(struct netinc_rank *rank)
{
	switch (READ_ONCE(rank->ep.state)) {
	case INC_STATE_READY:
	case INC_STATE_RESYNC:
	case INC_STATE_FAILED:
		if (!READ_ONCE(rank->joined))
			return -ENOTCONN;
		return READ_ONCE(rank->nreqs) >= NETINC_MAX_REQS ? -EAGAIN : 0;
	case INC_STATE_LEAVING:
		return -ESHUTDOWN;
	default:
		return -ENOTCONN;
	}
}

struct netinc_op_request *netinc_op_request_new(struct netinc_rank *rank,
						const struct inc_submit *sub,
						enum netinc_submission how)
{
	struct netinc_op_request *req;
	int err;

	err = may_submit(rank);
	if (err)
		return ERR_PTR(err);
	req = req_alloc(rank);
	if (IS_ERR(req))
		return req;
	req->user_data = sub->user_data;
	req->waiters = how == NETINC_SUBMIT_AWAITED;
	req->weight = sub->weight;
	err = check_submit(rank, sub, &req->op);
	if (!err)
		err = get_registered(rank, req, sub);
	if (!err)
		err = prepare_request(rank, req, sub, how != NETINC_SUBMIT_PINNED);
	if (!err)
		return req;
	if (err == -ENOMEM && req->mem.err)
		err = req->mem.err;
	netinc_op_request_free(rank, req);
	return ERR_PTR(err);
}

int netinc_op_request_submit(struct netinc_rank *rank, const struct inc_submit *sub,
			     enum netinc_submission how, u64 *handle)
{
	struct netinc_op_request *req = netinc_op_request_new(rank, sub, how);
	u32 taken;
	int err;

	if (IS_ERR(req))
		return PTR_ERR(req);
	err = netinc_op_request_enqueue(rank, &req, 1, handle, &taken);
	if (err)
		netinc_op_request_free(rank, req);
	return err;
}

void netinc_op_request_done(struct netinc_rank *rank, struct netinc_op *op)
{
	struct netinc_op_request *req = container_of(op, struct netinc_op_request, op);

	lockdep_assert_held(&rank->lock);
	req->done = true;
	list_move_tail(&req->list, &rank->completed);
	if (req->mm) {
		list_add_tail(&req->pin, &rank->pin.unpin);
		/* who waits for it unpins it, unless others are in need */
		if (!req->waiters || rank->pin.starved)
			netinc_pin_kick(rank);
	}
	rank->wake(rank, EPOLLIN | EPOLLRDNORM);
}

static struct netinc_op_request *find_request(struct netinc_rank *rank, u64 handle)
{
	struct netinc_op_request *req;

	lockdep_assert_held(&rank->lock);
	list_for_each_entry(req, &rank->completed, list)
		if (req->handle == handle)
			return req;
	list_for_each_entry(req, &rank->pending, list)
		if (req->handle == handle)
			return req;
	return NULL;
}

/* The oldest completion that nobody waits for. */
static struct netinc_op_request *any_completed(const struct netinc_rank *rank)
{
	struct netinc_op_request *req;

	lockdep_assert_held(&rank->lock);
	list_for_each_entry(req, &rank->completed, list)
		if (!req->waiters)
			return req;
	return NULL;
}

bool netinc_op_request_readable(const struct netinc_rank *rank)
{
	return any_completed(rank);
}

static struct netinc_op_request *collect_request(struct netinc_rank *rank,
						 struct netinc_op_request *req)
{
	list_del_init(&req->list);
	list_del_init(&req->pin);
	rank->nreqs--;
	/* who waits for any operation has nothing to wait for any more */
	if (!rank->nreqs && rank->any_waiters)
		rank->wake(rank, EPOLLIN | EPOLLRDNORM);
	return req;
}

/* Collects what there is now, or returns ERR_PTR(-EAGAIN). */
static struct netinc_op_request *poll_one(struct netinc_rank *rank, u64 handle)
{
	struct netinc_op_request *req, *ret = ERR_PTR(-EAGAIN);

	spin_lock_bh(&rank->lock);
	req = handle ? find_request(rank, handle) : any_completed(rank);
	if (req && req->done)
		ret = collect_request(rank, req);
	else if (handle ? !req : !rank->nreqs)
		ret = ERR_PTR(-ENOENT);
	spin_unlock_bh(&rank->lock);
	return ret;
}

static struct netinc_op_request *poll_recv(struct netinc_rank *rank)
{
	struct netinc_op_request *req, *ret = ERR_PTR(-EAGAIN);
	const struct netinc_ep *ep = &rank->ep;

	spin_lock_bh(&rank->lock);
	req = any_completed(rank);
	if (req)
		ret = collect_request(rank, req);
	else if (rank->dead || ep->state == INC_STATE_FAILED)
		ret = ERR_PTR(netinc_error_errno(ep->error.code) ?: -ENOTCONN);
	spin_unlock_bh(&rank->lock);
	return ret;
}

static bool is_pending(const struct netinc_op_request *req)
{
	return req == ERR_PTR(-EAGAIN);
}

/* The error of a wait that has not been successful. */
static struct netinc_op_request *not_yet(long timeo, long left)
{
	if (!timeo)
		return ERR_PTR(-EAGAIN);
	return ERR_PTR(left < 0 ? -ERESTARTSYS : -ETIMEDOUT);
}

/* Counts in and out a waiter for just this handle; 0: for any operation. */
static void count_waiter(struct netinc_rank *rank, u64 handle, int n)
{
	struct netinc_op_request *req;

	spin_lock_bh(&rank->lock);
	if (!handle)
		rank->any_waiters += n;
	req = handle ? find_request(rank, handle) : NULL;
	/* none are left if another waiter has had it and gave it back */
	if (req && (n > 0 || req->waiters))
		req->waiters += n;
	if (req && n < 0 && req->done && !req->waiters) {
		netinc_pin_kick(rank);
		rank->wake(rank, EPOLLIN | EPOLLRDNORM);
	}
	spin_unlock_bh(&rank->lock);
}

struct netinc_op_request *netinc_op_request_wait(struct netinc_rank *rank, u64 handle, bool awaited,
						 long timeo)
{
	struct netinc_op_request *req;
	long left;

	if (!awaited) {
		req = poll_one(rank, handle);
		if (!is_pending(req) || !timeo)
			return req;
		count_waiter(rank, handle, 1);
	}
	/* without its first look: it has just been looked, or submitted */
	left = __wait_event_interruptible_timeout(*sk_sleep(rank->sk),
						  !is_pending(req = poll_one(rank, handle)), timeo);
	if (!handle || is_pending(req))
		count_waiter(rank, handle, -1);
	return is_pending(req) ? not_yet(timeo, left) : req;
}

struct netinc_op_request *netinc_op_request_recv(struct netinc_rank *rank, long timeo)
{
	struct netinc_op_request *req;
	long left;

	left = wait_event_interruptible_timeout(*sk_sleep(rank->sk),
						!is_pending(req = poll_recv(rank)), timeo);
	return is_pending(req) ? not_yet(timeo, left) : req;
}

void netinc_op_request_back(struct netinc_rank *rank, struct netinc_op_request *req)
{
	spin_lock_bh(&rank->lock);
	if (rank->dead) {
		/* the socket has another one by now */
		spin_unlock_bh(&rank->lock);
		netinc_op_request_free(rank, req);
		return;
	}
	rank->nreqs++;
	req->waiters = 0;
	list_add(&req->list, &rank->completed);
	if (req->mm) {
		list_add_tail(&req->pin, &rank->pin.unpin);
		netinc_pin_kick(rank);
	}
	rank->wake(rank, EPOLLIN | EPOLLRDNORM);
	spin_unlock_bh(&rank->lock);
}

void netinc_op_request_free(struct netinc_rank *rank, struct netinc_op_request *req)
{
	put_registered(req);
	netinc_pin_drop(rank, req);
}

void netinc_op_request_purge(struct netinc_rank *rank)
{
	struct netinc_op_request *req;

	do {
		spin_lock_bh(&rank->lock);
		req = list_first_entry_or_null(&rank->completed, struct netinc_op_request, list);
		if (req)
			collect_request(rank, req);
		spin_unlock_bh(&rank->lock);
		if (req)
			netinc_op_request_free(rank, req);
	} while (req);
}
