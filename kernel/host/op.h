/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Operations of an application, from submission to the completion that it collects.
 *
 *	submit -> rank->pending -> (op_done) rank->completed -> collected once, freed
 */
#ifndef NETINC_HOST_OP_H
#define NETINC_HOST_OP_H

#include <linux/inc_socket.h>
#include "engine/coll.h"
#include "core/limits.h"
#include "host/user_buf.h"

#define NETINC_MAX_REQS		4096	/* of one socket, under way or not collected */

struct netinc_rank;
struct netinc_registered;

struct netinc_op_request {
	struct netinc_op op;		/* the engine's part */
	struct netinc_buf send;
	struct netinc_buf recv;		/* unused when shared */
	/* rank->pending, rank->completed or pin->reap; rank->lock */
	struct list_head list;
	struct list_head pin;		/* pin->unpin; rank->lock */
	u64 handle;
	u64 user_data;
	u64 weight;			/* INC_OP_WSUM: binary64 */
	/* exchanged before it; NULL: there is nothing to exchange */
	struct netinc_counts *counts;
	struct netinc_scan *chain;	/* of a scan, else NULL */
	/* registered memory that send and recv may lie in, with references; or NULL */
	struct netinc_registered *reg[2];
	struct netinc_mem mem;		/* this and all that hangs off it */
	struct mm_struct *mm;		/* whose addresses these are; NULL: no pages */
	struct mm_struct *copy_mm;	/* where a copied stream goes to; NULL: none does */
	u32 waiters;			/* for just this one; rank->lock */
	/* what is got takes the place of what was sent: send is both */
	bool shared;
	bool done;			/* rank->lock */
	bool fault;			/* its memory is gone; rank->lock */
	bool outside;			/* see netinc_pin_outside(); rank->lock */
	u8 copied[2][NETINC_COPIED];	/* what is sent, what is got, if it is so short */
};

static inline const struct netinc_buf *
netinc_op_request_recv_buf(const struct netinc_op_request *req)
{
	return req->shared ? &req->send : &req->recv;
}

/* The user memory of a block: */
enum netinc_memory {
	NETINC_MEMORY_THERE,
	NETINC_MEMORY_NOT_YET,		/* it will be pinned */
	NETINC_MEMORY_DONE,		/* it has been given back: the block has been done with */
};

/* State of the memory of what is sent and received for @b; under rank->lock. */
enum netinc_memory netinc_op_request_memory(const struct netinc_op_request *req,
					    const struct netinc_block *b);

/*
 * The request and what belongs to it but its user memory; with this it counts as an operation no
 * more.
 */
void netinc_op_request_free_rest(struct netinc_rank *rank, struct netinc_op_request *req);

/* How an operation is submitted; results are short that have at most NETINC_COPIED bytes. */
enum netinc_submission {
	NETINC_SUBMIT_PINNED,	/* its memory is pinned, however short its result is */
	NETINC_SUBMIT_COPIED,	/* a short result goes where it belongs when it is collected */
	/* likewise; the caller will wait for it, nobody else may collect it meanwhile */
	NETINC_SUBMIT_AWAITED,
};

/*
 * A request with all that it needs but pinned pages, or ERR_PTR: give it to
 * netinc_op_request_enqueue() or netinc_op_request_free().
 */
struct netinc_op_request *netinc_op_request_new(struct netinc_rank *rank,
						const struct inc_submit *sub,
						enum netinc_submission how);
/*
 * Submits the @n requests in their order, sends them together, and says how many were @taken; the
 * rest is the caller's still. The handle of the first is *@handle, and each has the number behind
 * that of the one before. Only a single one may have pages (req->mm). 0 if all were taken, or why
 * the first of the rest was not.
 */
int netinc_op_request_enqueue(struct netinc_rank *rank, struct netinc_op_request **req, u32 n,
			      u64 *handle, u32 *taken);
/* One by itself: 0 or a negative errno: nothing done. */
int netinc_op_request_submit(struct netinc_rank *rank, const struct inc_submit *sub,
			     enum netinc_submission how, u64 *handle);
/* The engine has done with @op; under rank->lock. */
void netinc_op_request_done(struct netinc_rank *rank, struct netinc_op *op);

/*
 * Collect a completion, of any operation if @handle is 0, and wait for it if need be, @timeo
 * jiffies at most. @awaited as above. The request is the caller's: give it to
 * netinc_op_request_free() or netinc_op_request_back(). Errors: -ENOENT, -EAGAIN (it was not to
 * wait), -ETIMEDOUT, -ERESTARTSYS, or, where there is nothing to wait for, why.
 */
struct netinc_op_request *netinc_op_request_wait(struct netinc_rank *rank, u64 handle, bool awaited,
						 long timeo);
/*
 * Collects, for recvmsg(), the completion of any operation, also of one that is yet to be
 * submitted.
 */
struct netinc_op_request *netinc_op_request_recv(struct netinc_rank *rank, long timeo);
void netinc_op_request_free(struct netinc_rank *rank, struct netinc_op_request *req);
/* It could not be handed over: as if it had not been collected. */
void netinc_op_request_back(struct netinc_rank *rank, struct netinc_op_request *req);
/* Free all that is completed. */
void netinc_op_request_purge(struct netinc_rank *rank);
bool netinc_op_request_readable(const struct netinc_rank *rank);

/* By whom it is collected: a short result goes where it belongs, or is -EFAULT in @c. */
void netinc_op_request_completion(const struct netinc_op_request *req, struct inc_completion *c);
void netinc_error_info(const struct netinc_error *e, struct inc_error_info *info);
/* Negative errno of an enum inc_err_code. */
int netinc_error_errno(u16 code);

#endif
