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
#include "host/user_buf.h"

struct netinc_rank;
struct netinc_op_request;

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
};

void netinc_pin_init(struct netinc_pin *u);
/* Called with the last reference to the rank. */
void netinc_pin_fini(struct netinc_pin *u);

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
