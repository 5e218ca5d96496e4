/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registered memory: pages that stay pinned from one operation to the next. A socket has a table of
 * them; an operation names those that its buffers lie in, and holds them until it is freed.
 */
#ifndef NETINC_HOST_REGISTERED_H
#define NETINC_HOST_REGISTERED_H

#include <linux/inc_socket.h>
#include <linux/refcount.h>
#include <linux/skbuff.h>
#include <linux/types.h>
#include <linux/xarray.h>
#include "core/limits.h"

struct netinc_sock;
struct netinc_user_range;

struct netinc_registered {
	refcount_t refs;	/* the table's, and one for each operation */
	u64 addr;
	u64 len;
	bool write;		/* results may go there */
	struct mm_struct *mm;	/* whose memory it is; only compared */
	struct mmpin charge;	/* of RLIMIT_MEMLOCK */
	struct netinc_mem mem;	/* this and the array */
	u32 npages;
	u32 pinned;		/* of these; fewer only while they are being pinned */
	struct page **pages;
};

/* The table of one socket. */
struct netinc_registry {
	struct xarray by_id;	/* its lock: also a reference that is taken of what is found */
	u32 next;		/* id to be tried next */
	atomic_t n;		/* registrations, and those that are being made */
};

void netinc_registry_init(struct netinc_registry *t);
/* When the socket is closed; operations keep what they use. May sleep. */
void netinc_registry_clear(struct netinc_registry *t);

/*
 * Pins what @r says, which is the caller's memory, and fills in its id. 0, -EINVAL, -EFAULT,
 * -ENOMEM, -EINTR, -ENOSPC (the table is full), or, at a limit, -ENOBUFS or -EDQUOT.
 */
int netinc_register(struct netinc_sock *nsk, struct inc_register *r);
/* 0, -ENOENT, or -EBUSY: an operation that has not been collected uses it. */
int netinc_unregister(struct netinc_sock *nsk, u32 id);

/*
 * What @id names, with a reference, for an operation of the caller's. NULL: nothing (@id 0), or
 * another process's memory, which is none of this operation's. ERR_PTR(-ENOENT).
 */
struct netinc_registered *netinc_registered_get(struct netinc_sock *nsk, u32 id);
/* NULL is none. May sleep. */
void netinc_registered_put(struct netinc_registered *r);

/* Does it hold these bytes, and may they be written to if that is to be? @r NULL: no. */
static inline bool netinc_registered_holds(const struct netinc_registered *r, u64 addr, u64 len,
					   bool write)
{
	return r && (r->write || !write) && addr >= r->addr && len <= r->len &&
	       addr - r->addr <= r->len - len;
}

/* Does it hold all @n ranges? */
bool netinc_registered_holds_all(const struct netinc_registered *r,
				 const struct netinc_user_range *range, u32 n, bool write);

#endif
