// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registered memory: who pins once what he uses again and again. It is charged as what operations
 * pin, but only to the lower half of each limit, so that there is always something left for memory
 * that is not registered.
 *
 * The pages are those that were there when it was registered: who unmaps the memory and maps
 * something else there has broken his word, and gets the results of operations that name it in
 * pages that he sees no more. Nobody else is concerned: an operation uses it only if it names it,
 * and if it is of the same process.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/user.h>
#include <linux/slab.h>
#include "host/pin_pages.h"
#include "host/rank.h"
#include "host/registered.h"
#include "host/socket.h"

/* pages that are pinned, and unpinned, at once */
#define RUN_PAGES	512
/* so that the array of pages is no larger than kvmalloc() can have it */
#define MAX_PAGES	(INT_MAX / sizeof(struct page *))

void netinc_registry_init(struct netinc_registry *t)
{
	xa_init_flags(&t->by_id, XA_FLAGS_ALLOC1);
	t->next = 0;
	atomic_set(&t->n, 0);
}

static void unpin_registered(struct netinc_registered *r)
{
	u32 at, n;

	for (at = 0; at < r->pinned; at += n) {
		n = min_t(u32, r->pinned - at, RUN_PAGES);
		unpin_user_pages_dirty_lock(&r->pages[at], n, r->write);
		cond_resched();
	}
	mm_unaccount_pinned_pages(&r->charge);
	netinc_uncharge(r->mem.nn, r->mem.user, INC_LIMIT_PINNED_MEMORY,
			(s64)r->npages << PAGE_SHIFT);
}

static void free_registered(struct netinc_registered *r)
{
	struct netinc_mem mem = r->mem;

	if (r->mm)
		mmdrop(r->mm);
	kvfree(r->pages);
	kvfree(r);
	netinc_mem_done(&mem);
}

void netinc_registered_put(struct netinc_registered *r)
{
	if (!r || !refcount_dec_and_test(&r->refs))
		return;
	unpin_registered(r);
	free_registered(r);
}

void netinc_registry_clear(struct netinc_registry *t)
{
	struct netinc_registered *r;
	unsigned long id;

	xa_for_each(&t->by_id, id, r) {
		xa_erase(&t->by_id, id);
		netinc_registered_put(r);
	}
	xa_destroy(&t->by_id);
}

/* Would more than half of RLIMIT_MEMLOCK be in use, by whomever, with @npages more? */
static bool exceeds_half(u32 npages, unsigned long half)
{
	unsigned long used = atomic_long_read(&current_user()->locked_vm);

	return !capable(CAP_IPC_LOCK) && (npages > half || used > half - npages);
}

/*
 * Not more than half of RLIMIT_MEMLOCK is in use. It is asked first, so that what is refused takes
 * nothing from operations meanwhile, and again for what others have charged since.
 */
static int charge_rlimit(struct netinc_registered *r)
{
	unsigned long half = (rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT) / 2;

	if (exceeds_half(max(r->npages, 2u), half) ||
	    mm_account_pinned_pages(&r->charge, netinc_pin_account_size(r->npages)))
		return -ENOMEM;
	if (!r->charge.user || atomic_long_read(&r->charge.user->locked_vm) <= half)
		return 0;
	mm_unaccount_pinned_pages(&r->charge);
	return -ENOMEM;
}

static int charge_registered(struct netinc_registered *r)
{
	s64 bytes = (s64)r->npages << PAGE_SHIFT;
	int err;

	err = netinc_charge_half(r->mem.nn, r->mem.user, INC_LIMIT_PINNED_MEMORY, bytes);
	if (err)
		return err;
	err = charge_rlimit(r);
	if (err)
		netinc_uncharge(r->mem.nn, r->mem.user, INC_LIMIT_PINNED_MEMORY, bytes);
	return err;
}

static int pin_registered(struct netinc_registered *r)
{
	unsigned long addr;
	int got;

	for (; r->pinned < r->npages; r->pinned += got) {
		addr = (r->addr & PAGE_MASK) + ((u64)r->pinned << PAGE_SHIFT);
		got = netinc_pin_lasting(addr, min_t(u32, r->npages - r->pinned, RUN_PAGES),
					 r->write, &r->pages[r->pinned]);
		if (got < 0)
			return got;
		cond_resched();
	}
	return 0;
}

static int fill_registered(struct netinc_registered *r)
{
	int err;

	err = charge_registered(r);
	if (err)
		return err;
	r->pages = netinc_mem_alloc(&r->mem, r->npages, sizeof(*r->pages));
	err = r->pages ? pin_registered(r) : -ENOMEM;
	if (err)
		unpin_registered(r);
	return err;
}

static struct netinc_registered *new_registered(struct netinc_sock *nsk,
						const struct inc_register *reg, u64 pages)
{
	struct netinc_mem mem = { .nn = netinc_net(sock_net(&nsk->sk)), .user = nsk->user };
	struct netinc_registered *r;
	int err;

	r = netinc_mem_zalloc(&mem, 1, sizeof(*r));
	if (!r) {
		netinc_mem_done(&mem);
		return ERR_PTR(mem.err ?: -ENOMEM);
	}
	refcount_set(&r->refs, 1);
	r->mem = mem;
	r->addr = reg->addr;
	r->len = reg->len;
	r->write = reg->flags & INC_REGISTER_WRITE;
	r->npages = pages;
	/* the address space is kept when the process that has registered it is gone */
	err = netinc_mem_charge(&r->mem, sizeof(struct mm_struct) + 2 * PAGE_SIZE);
	if (!err)
		err = fill_registered(r);
	if (err) {
		if (err == -ENOMEM && r->mem.err)
			err = r->mem.err;
		free_registered(r);
		return ERR_PTR(err);
	}
	r->mm = current->mm;
	mmgrab(r->mm);
	return r;
}

static int add_registered(struct netinc_registry *t, struct netinc_registered *r, u32 *id)
{
	int err = xa_alloc_cyclic(&t->by_id, id, r, xa_limit_31b, &t->next, GFP_KERNEL_ACCOUNT);

	return min(err, 0);
}

/* What is wrong with it, beside there being no such memory. */
static int check_register(const struct inc_register *reg)
{
	if (reg->flags & ~INC_REGISTER_WRITE || reg->resv || reg->id || !reg->len)
		return -EINVAL;
	return netinc_pin_address_ok(reg->addr, reg->len) ? 0 : -EFAULT;
}

static int make_registered(struct netinc_sock *nsk, struct inc_register *reg)
{
	u64 pages = (offset_in_page(reg->addr) + reg->len + PAGE_SIZE - 1) >> PAGE_SHIFT;
	struct netinc_registered *r;
	int err;

	err = netinc_pin_check(reg->addr, reg->len, true, reg->flags & INC_REGISTER_WRITE);
	if (!err && pages > MAX_PAGES)
		err = -ENOMEM;
	if (err)
		return err;
	r = new_registered(nsk, reg, pages);
	if (IS_ERR(r))
		return PTR_ERR(r);
	err = add_registered(&nsk->registry, r, &reg->id);
	if (err)
		netinc_registered_put(r);
	return err;
}

int netinc_register(struct netinc_sock *nsk, struct inc_register *reg)
{
	struct netinc_registry *t = &nsk->registry;
	int err;

	err = check_register(reg);
	if (err)
		return err;
	err = -ENOSPC;
	if (atomic_inc_return(&t->n) <= INC_MAX_REGISTERED)
		err = make_registered(nsk, reg);
	if (err)
		atomic_dec(&t->n);
	return err;
}

int netinc_unregister(struct netinc_sock *nsk, u32 id)
{
	struct netinc_registry *t = &nsk->registry;
	struct netinc_registered *r;
	int err = 0;

	xa_lock(&t->by_id);
	r = xa_load(&t->by_id, id);
	/* a child of fork() has the socket, and not the memory */
	if (!r || r->mm != current->mm)
		err = -ENOENT;
	else if (refcount_read(&r->refs) > 1)
		err = -EBUSY;
	else
		__xa_erase(&t->by_id, id);
	xa_unlock(&t->by_id);
	if (err)
		return err;
	netinc_registered_put(r);
	atomic_dec(&t->n);
	return 0;
}

struct netinc_registered *netinc_registered_get(struct netinc_sock *nsk, u32 id)
{
	struct netinc_registry *t = &nsk->registry;
	struct netinc_registered *r;

	if (!id)
		return NULL;
	xa_lock(&t->by_id);
	r = xa_load(&t->by_id, id);
	if (!r)
		r = ERR_PTR(-ENOENT);
	else if (r->mm != current->mm)
		r = NULL;
	else
		refcount_inc(&r->refs);
	xa_unlock(&t->by_id);
	return r;
}

bool netinc_registered_holds_all(const struct netinc_registered *r,
				 const struct netinc_user_range *range, u32 n, bool write)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (!netinc_registered_holds(r, range[i].addr, range[i + 1].at - range[i].at,
					     write))
			return false;
	return n;
}
