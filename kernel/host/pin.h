/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * User memory of operations: buffers are pinned ahead of the window, so that blocks are read and
 * results written in softirq. The submitter pins the beginning; a worker with the owner's mm pins
 * the rest and unpins (unpinning sleeps). What may be pinned at once is charged to the user
 * (RLIMIT_MEMLOCK) and shared by a socket's operations in order. The few bytes of a small operation
 * are copied when it is submitted, which is cheaper.
 */
#ifndef NETINC_HOST_PIN_H
#define NETINC_HOST_PIN_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/skbuff.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>

#define NETINC_COPIED	192		/* bytes of a stream that is sent, at most */

struct netinc_mem;
struct netinc_rank;
struct netinc_op_request;

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
	const u8 *copy;		/* all of it, and no pages; or NULL */
	u64 lo;			/* bytes [0, lo) are done with, and only get more; rank->lock */
	u64 hi;			/* bytes [lo, hi) are pinned; rank->lock */
	u32 npages;
	u32 freed;		/* pin->mutex to write; read without it for hints */
	u32 pinned;		/* likewise */
	u32 mask;		/* size of the ring - 1 */
	struct page **ring;
	/* what a short stream in one range needs, without an allocation */
	struct netinc_user_range whole[2];
	struct page *few[4];
};

/* The pinned memory of one rank. */
struct netinc_pin {
	struct mutex mutex;	/* pinning, unpinning, the budget; outside rank->lock */
	struct work_struct work;	/* holds a reference to the rank while it is queued */
	struct completion turned;	/* the worker has had a turn */
	struct mmpin charge;	/* what has been charged to the user */
	u32 budget;		/* pages that may be pinned; 0: nothing is charged */
	u32 used;		/* pages that are */
	bool starved;		/* pages were wanted and not to be had; rank->lock */
	struct list_head unpin;	/* struct netinc_op_request, done, with pages; rank->lock */
	struct list_head reap;	/* struct netinc_op_request to be freed; rank->lock */
	struct list_head peers;	/* all of this machine, for fair shares */
	kuid_t uid;
};

void netinc_pin_init(struct netinc_pin *u);
/* Called with the last reference to the rank. */
void netinc_pin_fini(struct netinc_pin *u);

/* 0 or -EFAULT: may the caller read, or read and write, these bytes? */
int netinc_pin_check(u64 addr, u64 len, bool read, bool write);

/*
 * A stream of which at most @ahead pages are pinned at once. Takes @range, kvmalloc()ed, also when
 * it fails.
 */
int netinc_buf_init(struct netinc_buf *b, struct netinc_user_range *range, u32 nranges, bool write,
		    u32 ahead, struct netinc_mem *mem);
/*
 * A stream of at most NETINC_COPIED bytes that are only read: they are copied to @to. 0 or -EFAULT.
 */
int netinc_buf_copy(struct netinc_buf *b, struct netinc_user_range *range, u32 nranges, u8 *to);
/*
 * Copy between a stream's bytes from @at on and kernel memory or a packet, under rank->lock. Only
 * bytes in [lo, hi) are there: whoever asks looks with netinc_op_request_memory() first. False:
 * they are not, which is a bug, or the packet is too short; what is read is zeros then.
 */
bool netinc_buf_read(const struct netinc_buf *b, u64 at, void *to, u32 len, bool fpu);
bool netinc_buf_store(const struct netinc_buf *b, u64 at, const void *from, u32 len, bool fpu);
bool netinc_buf_write(const struct netinc_buf *b, u64 at, const struct sk_buff *skb, u32 off,
		      u32 len, bool fpu);

/*
 * Charge what @req needs and pin its beginning, if no operation before it wants pages. @block:
 * bytes of a block. The caller holds pin->mutex and is the owner of the memory. 0: all is pinned,
 * 1: the worker has to go on, or an errno.
 */
int netinc_pin_begin(struct netinc_rank *rank, struct netinc_op_request *req, u32 block);
/* Free a request that is on no list; may sleep. */
void netinc_pin_drop(struct netinc_rank *rank, struct netinc_op_request *req);
/* Let the worker look after the rank. Any context. */
void netinc_pin_kick(struct netinc_rank *rank);
/* The oldest operation has got on, under rank->lock: pages may be exchanged. */
void netinc_pin_progress(struct netinc_rank *rank);
/*
 * The memory of @req for a block is not there any more, under rank->lock: it has been asked for
 * what is done with, which only a peer that lies brings about. The operation, and with it the
 * group, ends with INC_ERR_RANK_FAULT.
 */
void netinc_pin_outside(struct netinc_rank *rank, struct netinc_op_request *req);
/* A block could not be sent for want of pages, under rank->lock. */
void netinc_pin_stalled(struct netinc_rank *rank);
/*
 * When all requests have been freed: wait until nothing is pinned any more, a second at most. May
 * sleep.
 */
void netinc_pin_drain(struct netinc_rank *rank);

#endif
