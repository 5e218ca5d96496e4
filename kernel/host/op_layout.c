// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shares of user buffers: counts and displacements as MPI has them, taken from the caller, checked,
 * and turned into runs of bytes. Everything here is in the caller's context.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/uaccess.h>
#include "reduce/reduce.h"
#include "host/pin_pages.h"
#include "host/registered.h"
#include "host/op_layout.h"

/* of a displacement, elements: far beyond any address space */
#define MAX_START	BIT_ULL(44)

/*
 * Does a collective with INC_MODE_COUNTS take arrays of this side at this rank? Others it must not
 * have.
 */
static bool wants_arrays(const struct netinc_op *op, bool send)
{
	switch (op->coll) {
	case INC_COLL_REDUCE_SCATTER:
	case INC_COLL_ALLGATHER:
		return !send;
	case INC_COLL_GATHER:
		return !send && op->rank == op->root;
	case INC_COLL_SCATTER:
		return send && op->rank == op->root;
	case INC_COLL_ALLTOALL:
		return true;
	default:
		return false;
	}
}

static int get_array(u64 **to, u64 from, u32 n, u64 limit)
{
	u32 i;

	*to = kvmalloc_array(n, sizeof(**to), GFP_KERNEL_ACCOUNT);
	if (!*to)
		return -ENOMEM;
	if (copy_from_user(*to, u64_to_user_ptr(from), n * sizeof(**to)))
		return -EFAULT;
	for (i = 0; i < n; i++)
		if ((*to)[i] > limit)
			return -EOVERFLOW;
	return 0;
}

/* Shares that follow one another. */
static int pack_slices(struct netinc_side *side, u32 n)
{
	u64 at = 0;
	u32 i;

	side->starts = kvmalloc_array(n, sizeof(*side->starts), GFP_KERNEL_ACCOUNT);
	if (!side->starts)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		side->starts[i] = at;
		at += side->counts[i];
	}
	return 0;
}

static int get_side(struct netinc_side *side, const struct netinc_op *op, u64 counts, u64 displs,
		    bool wanted)
{
	u64 total = 0;
	u32 i;
	int err;

	if (!wanted)
		return 0;
	if (!counts || (displs && op->coll == INC_COLL_REDUCE_SCATTER))
		return -EINVAL;
	err = get_array(&side->counts, counts, op->size, INC_MAX_COUNT);
	if (err)
		return err;
	for (i = 0; i < op->size; i++)
		total += side->counts[i];
	if (total > INC_MAX_COUNT)
		return -EOVERFLOW;
	return displs ? get_array(&side->starts, displs, op->size, MAX_START) :
			pack_slices(side, op->size);
}

/*
 * Fills in what this rank knows of all counts; the others' are asked for when the operation begins.
 */
static void fill_counts(struct netinc_op *op, u32 *counts, const struct netinc_layout *s, u64 own)
{
	const u64 *of = s->recv.counts ?: s->send.counts;
	u32 i;

	for (i = 0; i < op->size; i++) {
		if (op->coll == INC_COLL_ALLTOALL) {
			counts[op->rank * op->size + i] = s->send.counts[i];
			counts[i * op->size + op->rank] = s->recv.counts[i];
		} else {
			counts[i] = of ? of[i] : 0;
		}
	}
	if (!of)
		counts[op->rank] = own;
	op->counts = counts;
}

/* The count beside the arrays says the same, or is 0 where it would say nothing. */
static bool count_fits(const struct netinc_op *op, const struct netinc_layout *s, u64 count)
{
	const u64 *of = s->recv.counts ?: s->send.counts;

	if (op->coll == INC_COLL_ALLTOALL && s->send.counts[op->rank] != s->recv.counts[op->rank])
		return false;
	if (op->coll == INC_COLL_REDUCE_SCATTER || op->coll == INC_COLL_ALLTOALL)
		return !count;
	return !of || of[op->rank] == count || op->in_place;
}

static int get_counts(struct netinc_layout *s, const struct inc_submit *sub, struct netinc_op *op,
		      struct netinc_mem *mem)
{
	size_t n = op->coll == INC_COLL_ALLTOALL ? op->size * op->size : op->size;
	u32 *counts, i;
	int err;

	err = get_side(&s->send, op, sub->send_counts, sub->send_displs, wants_arrays(op, true));
	if (!err)
		err = get_side(&s->recv, op, sub->recv_counts, sub->recv_displs,
			       wants_arrays(op, false));
	if (!err && !count_fits(op, s, sub->count))
		err = -EINVAL;
	/* of the operation's one sum ranks take their shares from */
	if (!err && op->coll == INC_COLL_REDUCE_SCATTER) {
		swap(s->send.counts, s->recv.counts);
		swap(s->send.starts, s->recv.starts);
	}
	if (err)
		return err;
	counts = netinc_mem_zalloc(mem, n, sizeof(*counts));
	op->before = netinc_mem_alloc(mem, NETINC_BEFORE(op->size), sizeof(*op->before));
	op->counts = counts;
	if (!counts || !op->before)
		return -ENOMEM;
	fill_counts(op, counts, s, sub->count);
	if (netinc_coll_asks_counts(op->coll))
		return 0;
	for (op->count = 0, i = 0; i < op->size; i++)
		op->count += counts[i];
	return 0;
}

/* Where the share of @peer begins, and how many bytes it has. */
static u64 share_addr(const struct netinc_layout *s, const struct netinc_op *op, bool send,
		      u32 peer)
{
	const struct netinc_side *side = send ? &s->send : &s->recv;
	u64 start;

	/* in place, what a rank has for itself is where all shares are */
	if (op->in_place && !side->all && (s->send.all || s->recv.all) &&
	    op->coll != INC_COLL_REDUCE_SCATTER)
		side = send ? &s->recv : &s->send;
	if (!side->all)
		return side->addr;
	start = side->starts ? side->starts[peer] : peer * op->count;
	return side->addr + start * netinc_reduce_elem_size(op->type);
}

int netinc_layout_get(struct netinc_layout *s, const struct inc_submit *sub, bool copied,
		      struct netinc_op *op, struct netinc_mem *mem)
{
	bool root = op->rank == op->root;
	int err = 0;

	memset(s, 0, sizeof(*s));
	s->copied = copied;
	s->send.addr = sub->send;
	s->recv.addr = sub->recv;
	s->recv.write = true;
	s->send.all = op->coll == INC_COLL_REDUCE_SCATTER || op->coll == INC_COLL_ALLTOALL ||
		      (op->coll == INC_COLL_SCATTER && root);
	s->recv.all = op->coll == INC_COLL_ALLGATHER || op->coll == INC_COLL_ALLTOALL ||
		      (op->coll == INC_COLL_GATHER && root);
	op->in_place = sub->send == sub->recv && (root || !netinc_coll_rooted(op->coll));
	if (op->mode & INC_MODE_COUNTS)
		err = get_counts(s, sub, op, mem);
	else if (sub->send_counts || sub->send_displs || sub->recv_counts || sub->recv_displs)
		err = -EINVAL;
	/* who gives the place in @recv that its share belongs to means the same */
	if (!err && s->recv.all && !s->send.all &&
	    s->send.addr == share_addr(s, op, false, op->rank))
		op->in_place = true;
	return err;
}

void netinc_layout_put(struct netinc_layout *s)
{
	/* where there are no counts there are no displacements */
	if (!s->send.counts && !s->recv.counts)
		return;
	kvfree(s->send.counts);
	kvfree(s->send.starts);
	kvfree(s->recv.counts);
	kvfree(s->recv.starts);
}

static u64 share_bytes(const struct netinc_side *side, const struct netinc_op *op, u32 peer)
{
	return (side->counts ? side->counts[peer] : op->count) * netinc_reduce_elem_size(op->type);
}

static bool next_share(const struct netinc_op *op, bool send, u32 i, struct netinc_share *share)
{
	return send ? netinc_coll_send_share(op, i, share) : netinc_coll_recv_share(op, i, share);
}

static u32 pages_of(u64 addr, u64 len)
{
	return (offset_in_page(addr) + len + PAGE_SIZE - 1) >> PAGE_SHIFT;
}

int netinc_layout_ranges(const struct netinc_layout *s, const struct netinc_op *op, bool send,
			 struct netinc_mem *mem, struct netinc_user_range *own,
			 struct netinc_user_range **ranges, u32 *n)
{
	u32 size = netinc_reduce_elem_size(op->type), shares = 1, i;
	bool all = send ? s->send.all : s->recv.all;
	struct netinc_user_range *p, next = {};
	struct netinc_share share;
	u64 addr, len;

	while (all && next_share(op, send, shares, &share))
		shares++;
	*ranges = shares > 1 ? netinc_mem_alloc(mem, shares + 1, sizeof(*p)) : own;
	if (!*ranges)
		return -ENOMEM;
	p = *ranges;
	for (i = 0; i < shares && next_share(op, send, i, &share); i++) {
		addr = share_addr(s, op, send, share.peer);
		len = share.elems * size;
		if (!len)
			continue;
		if (p == *ranges || p[-1].addr + (next.at - p[-1].at) != addr) {
			/* the pages of the range before it are known now */
			if (p != *ranges)
				next.page = p[-1].page + pages_of(p[-1].addr, next.at - p[-1].at);
			*p++ = (struct netinc_user_range){ .at = next.at,
							   .addr = addr,
							   .page = next.page };
		}
		next.at += len;
	}
	*n = p - *ranges;
	if (*n)
		next.page = p[-1].page + pages_of(p[-1].addr, next.at - p[-1].at);
	*p = next;
	return 0;
}

/* ---- Checks -------------------------------------------------------------- */

struct extent {
	u64 begin;
	u64 end;
};

static int by_begin(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* The number of shares that the caller has described in this buffer, this rank's own included. */
static u32 count_described(const struct netinc_side *side, const struct netinc_op *op, bool send)
{
	struct netinc_share share;

	if (side->all)
		return op->size;
	if (next_share(op, send, 0, &share))
		return 1;
	return !op->in_place && op->coll == (send ? INC_COLL_GATHER : INC_COLL_SCATTER);
}

/* Bytes of the share of rank @peer in this buffer. */
static u64 described_bytes(const struct netinc_side *side, const struct netinc_op *op, u32 peer)
{
	u64 elems = op->count;

	if (side->all)
		return share_bytes(side, op, peer);
	if (op->counts && op->coll != INC_COLL_ALLTOALL)
		elems = op->counts[op->rank];
	return elems * netinc_reduce_elem_size(op->type);
}

/*
 * Fills in at @e where the @n shares of a buffer are, and looks whether memory is there. Returns
 * how many of them are not empty, or what netinc_pin_check() returns.
 */
static int find_extents(const struct netinc_layout *s, const struct netinc_op *op, bool send, u32 n,
			struct extent *e)
{
	const struct netinc_side *side = send ? &s->send : &s->recv;
	u32 used = 0, peer, i;
	int err;
	u64 len;

	for (i = 0; i < n; i++) {
		peer = side->all ? i : op->rank;
		len = described_bytes(side, op, peer);
		if (!len)
			continue;
		e[used].begin = share_addr(s, op, send, peer);
		e[used].end = e[used].begin + len;
		if (!netinc_pin_address_ok(e[used].begin, len))
			return -EFAULT;
		/* what is copied at once is checked by that, what is registered has been */
		if (netinc_registered_holds(side->reg, e[used].begin, len, side->write)) {
			used++;
			continue;
		}
		if (n > 1 || len > NETINC_COPIED ||
		    (!s->copied && (side->write || op->in_place))) {
			err = netinc_pin_check(e[used].begin, len, send || op->in_place,
					       side->write);
			if (err)
				return err;
		}
		used++;
	}
	return used;
}

/* The extent that holds all @n; -EINVAL if they are to be @apart and two of them overlap. */
static int join_extents(struct extent *e, u32 n, bool apart, struct extent *all)
{
	u32 i;

	if (apart)
		sort(e, n, sizeof(*e), by_begin, NULL);
	for (i = 0; i < n; i++) {
		if (i && apart && e[i].begin < e[i - 1].end)
			return -EINVAL;
		all->begin = min(all->begin, e[i].begin);
		all->end = max(all->end, e[i].end);
	}
	return 0;
}

/* May the memory of one side be used so? 0 with the extent of @all of it, or an errno. */
static int check_side(const struct netinc_layout *s, const struct netinc_op *op, bool send,
		      struct extent *all)
{
	const struct netinc_side *side = send ? &s->send : &s->recv;
	u32 n = count_described(side, op, send);
	struct extent one, *e = &one;
	int err;

	*all = (struct extent){ .begin = U64_MAX };
	if (!n)
		return 0;
	if (n > 1)
		e = kvmalloc_array(n, sizeof(*e), GFP_KERNEL_ACCOUNT);
	if (!e)
		return -ENOMEM;
	err = find_extents(s, op, send, n, e);
	if (err >= 0)
		err = join_extents(e, err, side->write && side->starts, all);
	if (e != &one)
		kvfree(e);
	return err;
}

int netinc_layout_check(const struct netinc_layout *s, const struct netinc_op *op)
{
	struct extent send, recv;
	int err;

	err = check_side(s, op, true, &send);
	if (!err)
		err = check_side(s, op, false, &recv);
	if (err)
		return err;
	if (op->in_place)
		return op->coll == INC_COLL_ALLTOALL && send.end ? -EINVAL : 0;
	return send.begin < recv.end && recv.begin < send.end ? -EINVAL : 0;
}

int netinc_layout_copy_own(const struct netinc_layout *s, const struct netinc_op *op)
{
	u64 from, to, len, n;
	int err = 0;
	void *page;

	if (op->in_place || op->wire != op->type || !(s->send.all || s->recv.all) ||
	    op->coll == INC_COLL_REDUCE_SCATTER)
		return 0;
	from = share_addr(s, op, true, op->rank);
	to = share_addr(s, op, false, op->rank);
	len = share_bytes(s->recv.all ? &s->recv : &s->send, op, op->rank);
	if (!len)
		return 0;
	page = (void *)__get_free_page(GFP_KERNEL);
	if (!page)
		return -ENOMEM;
	for (; len && !err; len -= n, from += n, to += n) {
		n = min_t(u64, len, PAGE_SIZE);
		if (copy_from_user(page, u64_to_user_ptr(from), n) ||
		    copy_to_user(u64_to_user_ptr(to), page, n))
			err = -EFAULT;
		/* it may be many GiB */
		if (fatal_signal_pending(current))
			err = -EINTR;
		cond_resched();
	}
	free_page((unsigned long)page);
	return err;
}
