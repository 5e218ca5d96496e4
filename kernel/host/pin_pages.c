// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages of user memory are pinned within the budget of a rank, and unpinned; the budget is charged.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include "host/rank.h"
#include "host/pin_pages.h"

/* of one rank, whatever its user may */
#define MAX_BUDGET	((u32)(SZ_64M >> PAGE_SHIFT))

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

/* Is this page there to be written to, without a fault? */
static bool is_writable(unsigned long addr)
{
	struct page *page;
	bool got = get_user_pages_fast_only(addr, 1, FOLL_WRITE, &page) == 1;

	if (got)
		put_page(page);
	return got;
}

/*
 * Wait for the pages as any access of a process does: not holding its memory map, and only while it
 * is not killed. Pinning does neither on all kernels. What is going to be written to is not read
 * first if it is fresh: that would give it pages of zeros, in whose place no huge page comes any
 * more. Whether it is fresh, the first page says for all.
 */
static int await_pages(unsigned long addr, u32 n, bool write)
{
	if (!write || is_writable(addr))
		fault_in_readable((void __user *)addr, (size_t)n << PAGE_SHIFT);
	else
		fault_in_safe_writeable((void __user *)addr, (size_t)n << PAGE_SHIFT);
	return fatal_signal_pending(current) ? -EINTR : 0;
}

/*
 * Pages of a file system that is told before a page is written to: what is pinned for long is
 * written to behind its back, after it has cleaned the page. Kernels from 6.5 on refuse that
 * (writable_file_mapping_allowed()); older ones lose the data, or the file system complains.
 */
static bool tells_its_writes(const struct vm_area_struct *vma)
{
	return (vma->vm_flags & VM_SHARED) && vma->vm_ops &&
	       (vma->vm_ops->page_mkwrite || vma->vm_ops->pfn_mkwrite);
}

static bool may_pin(struct vm_area_struct *vma, bool read, bool write)
{
	unsigned long need = (read ? VM_READ : 0) | (write ? VM_WRITE : 0);

	return (vma->vm_flags & need) == need && !(vma->vm_flags & (VM_IO | VM_PFNMAP)) &&
	       !vma_is_fsdax(vma) && !(write && tells_its_writes(vma));
}

/*
 * May a file be behind it that others share, or that has fewer pages than there are before @end? Of
 * what is mapped beyond a file's end nothing can be pinned.
 */
static bool has_to_be_tried(const struct vm_area_struct *vma, u64 end)
{
	u64 from = (u64)vma->vm_pgoff << PAGE_SHIFT;

	if (!vma->vm_file || (vma->vm_flags & VM_SHARED))
		return vma->vm_file;
	return from + (end - vma->vm_start) > PAGE_ALIGN(i_size_read(file_inode(vma->vm_file)));
}

/*
 * Looks at the area that is mapped at @at. *@end becomes the area's end if that is lower. Returns 0
 * if the area can be pinned, 1 if only an attempt can tell, because a file is behind it that others
 * may share, or that ends before the area does, and -EFAULT if it cannot.
 */
static int check_area(u64 at, u64 *end, bool read, bool write)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	int ret = -EFAULT;

	mmap_read_lock(mm);
	vma = find_area(mm, at);
	if (vma && vma->vm_start <= at && may_pin(vma, read, write)) {
		*end = min_t(u64, *end, vma->vm_end);
		ret = has_to_be_tried(vma, *end);
	}
	mmap_read_unlock(mm);
	return ret;
}

/*
 * Pins the page at @at and gives it back: 0, -EFAULT, -ENOMEM or -EINTR. The file that it is of may
 * take its time: the caller holds no lock.
 */
static int try_page(u64 at, bool write)
{
	struct page *page;
	int got = await_pages(at & PAGE_MASK, 1, write);

	if (got)
		return got;
	got = pin_user_pages_fast(at & PAGE_MASK, 1, FOLL_LONGTERM | (write ? FOLL_WRITE : 0),
				  &page);
	if (got != 1)
		return got == -ENOMEM ? got : -EFAULT;
	unpin_user_page(page);
	return 0;
}

bool netinc_pin_address_ok(u64 addr, u64 len)
{
	u64 end = addr + len;

	return end >= addr && end == (unsigned long)end && access_ok(u64_to_user_ptr(addr), len);
}

/*
 * Why the memory map is walked, and pin_user_pages_fast() is not left to find out: only the first
 * pages of a buffer are pinned while its submitter is there to be told -EFAULT. What the worker
 * cannot pin later ends the group, for all its ranks. No FOLL flag asks without pinning, and to
 * touch every page costs a fault for each that is not there yet. Of what is shared, and of files
 * that are shorter than their mapping, the first and the last page are pinned and given back: no
 * flag tells these from other memory, nor memfd_secret(2), nor a device's pages. The walk only
 * decides what the submitter is told: memory is reached through pin_user_pages_fast() alone, which
 * checks again.
 */
int netinc_pin_check(u64 addr, u64 len, bool read, bool write)
{
	u64 at, stop, end = addr + len;
	int ret;

	if (!netinc_pin_address_ok(addr, len))
		return -EFAULT;
	for (at = addr; at < end; at = stop) {
		stop = end;
		ret = check_area(at, &stop, read, write);
		if (ret > 0)
			ret = try_page(at, write) ?: try_page(stop - 1, write);
		if (ret)
			return ret;
		/* all shares together may be of millions of mappings */
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
	}
	return 0;
}

int netinc_pin_run(unsigned long addr, u32 n, bool write, struct page **pages)
{
	int got = await_pages(addr, n, write);

	if (got)
		return got;
	got = pin_user_pages_fast(addr, n, FOLL_LONGTERM | (write ? FOLL_WRITE : 0), pages);
	return got ?: -EFAULT;
}

/*
 * Is it memory of which the process gets a page of its own as soon as it writes there, and may it
 * do so? What is pinned to be read may be the page that it had before: zeros, or a file's (before
 * 6.2, always). *@n becomes no more than the pages of its area.
 */
static bool is_copied_on_write(unsigned long addr, u32 *n)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	bool copied = false;

	mmap_read_lock(mm);
	vma = find_vma(mm, addr);
	if (vma && vma->vm_start <= addr) {
		copied = (vma->vm_flags & VM_WRITE) && !(vma->vm_flags & VM_SHARED);
		*n = min_t(unsigned long, *n, (vma->vm_end - addr) >> PAGE_SHIFT);
	}
	mmap_read_unlock(mm);
	return copied;
}

int netinc_pin_lasting(unsigned long addr, u32 n, bool write, struct page **pages)
{
	if (is_copied_on_write(addr, &n))
		write = true;
	return netinc_pin_run(addr, n, write, pages);
}

int netinc_pin_pages(struct netinc_pin *u, struct netinc_buf *b, u32 n)
{
	u32 slot = b->pinned & b->mask, unused = b->mask + 1 - netinc_buf_pages_held(b);
	const struct netinc_user_range *p = netinc_buf_range_of_page(b, b->pinned);
	unsigned long addr;
	int got;

	n = min3(n, unused, min(b->mask + 1 - slot, p[1].page - b->pinned));
	if (!n)
		return 0;
	addr = (p->addr & PAGE_MASK) + ((u64)(b->pinned - p->page) << PAGE_SHIFT);
	got = netinc_pin_run(addr, n, b->write, &b->ring[slot]);
	if (got < 0)
		return got;
	WRITE_ONCE(b->pinned, b->pinned + got);
	u->used += got;
	return got;
}

void netinc_unpin_pages(struct netinc_pin *u, struct netinc_buf *b, u32 end)
{
	while (b->freed != end) {
		u32 slot = b->freed & b->mask, n = min(end - b->freed, b->mask + 1 - slot);

		unpin_user_pages_dirty_lock(&b->ring[slot], n, b->write);
		/* pairs with netinc_buf_pages_held() */
		smp_store_release(&b->freed, b->freed + n);
		u->used -= n;
	}
}

/*
 * The pages of RLIMIT_MEMLOCK that one rank of a user may have, so that all the user's ranks of
 * this machine get on.
 */
static u32 fair_budget(const struct netinc_user *user)
{
	unsigned long limit = min_t(unsigned long, rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT, U32_MAX);

	if (capable(CAP_IPC_LOCK))
		return U32_MAX;
	return limit / max(atomic_read(&user->ranks), 1);
}

/* It adds two pages to the size that it is given. */
size_t netinc_pin_account_size(u32 n)
{
	return n <= 2 ? 1 : (size_t)(n - 2) << PAGE_SHIFT;
}

static int account_pages(struct netinc_rank *rank, u32 n)
{
	struct netinc_pin *u = &rank->pin;
	s64 bytes;
	int err;

	n = max(n, 2u);
	bytes = (s64)n << PAGE_SHIFT;
	err = netinc_charge(rank->nn, rank->user, INC_LIMIT_PINNED_MEMORY, bytes);
	if (err)
		return err;
	if (mm_account_pinned_pages(&u->charge, netinc_pin_account_size(n))) {
		netinc_uncharge(rank->nn, rank->user, INC_LIMIT_PINNED_MEMORY, bytes);
		return -ENOMEM;
	}
	u->budget += n;
	return 0;
}

int netinc_pin_charge(struct netinc_rank *rank, u32 need, u32 want)
{
	struct netinc_pin *u = &rank->pin;
	u32 grow, target;

	if (u->budget >= u->used + want)
		return 0;
	target = u->used + want;
	if (target > need)
		target = min3(target, max(fair_budget(rank->user), need), max(MAX_BUDGET, need));
	for (grow = target > u->budget ? target - u->budget : 0; grow; grow /= 2) {
		if (u->budget + grow < need)
			break;
		if (!account_pages(rank, grow))
			return 0;
	}
	return u->budget >= need ? 0 : account_pages(rank, need - u->budget);
}

void netinc_pin_uncharge(struct netinc_rank *rank)
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
