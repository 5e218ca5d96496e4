/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contents of packets at a host: blocks read from user memory into super-packets, results
 * written there.
 */
#ifndef NETINC_HOST_PAYLOAD_H
#define NETINC_HOST_PAYLOAD_H

#include "core/gso_buf.h"
#include "engine/endpoint.h"

#define NETINC_MAX_SPANS	16	/* per call */

struct netinc_op_request;
struct netinc_rank;

/* A header that stands for blocks without payload, or of zeros. */
struct netinc_span {
	u32 psn;
	u16 blocks;
	u16 flags;
	u16 len;		/* bytes of payload of each block, which are 0 */
};

/*
 * What is being built by netinc_payload_send() or netinc_payload_send_retained(). The rank has it,
 * under its lock: from one call of the former to the next it stays open, so that blocks of short
 * operations leave together.
 */
struct netinc_batch {
	struct netinc_rank *rank;
	struct netinc_op *op;
	struct netinc_op_request *req;		/* NULL: no user memory */
	struct netinc_gso_buf *data;		/* NULL: nothing is open, or: */
	struct netinc_gso_buf segments;
	void *place;			/* for the next payload that is kept; NULL: none yet */
	u32 most;			/* segments of it */
	u32 tree;			/* all blocks are this one's */
	u16 flags;
	u32 nspans;
	struct netinc_span span[NETINC_MAX_SPANS];
	/* the last block's header; spans differ only in what is in span[] */
	struct netinc_pkt last;
};

/* See struct netinc_ep_ops. */
u32 netinc_payload_send(struct netinc_ep *ep, struct netinc_op *op, u64 idx, u32 n, u32 most,
			u16 flags);
/* Sends blocks [@block, @block + n), which have their results, as they were kept. */
u32 netinc_payload_send_retained(struct netinc_ep *ep, u64 block, u32 n, u16 flags);
/* Sends what is open; under rank->lock, before it is dropped and before all else that is sent. */
void netinc_payload_flush(struct netinc_rank *rank);
/* Copies @len bytes of a received payload, from byte @from on, to @to. False: it is shorter. */
bool netinc_payload_read(const struct netinc_pay *pay, u32 from, void *to, u32 len);
bool netinc_payload_deliver(struct netinc_ep *ep, struct netinc_op *op,
			    const struct netinc_block *b, const struct netinc_pay *pay);

#endif
