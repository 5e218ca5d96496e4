/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Scans are folded by the ranks, in the order of reduce/order.h: accumulators of the blocks under
 * way. The node sends the contributions of all ranks before this one, the endpoint hands them over
 * in the order of ranks.
 */
#ifndef NETINC_HOST_SCAN_H
#define NETINC_HOST_SCAN_H

#include "engine/endpoint.h"
#include "core/limits.h"

struct netinc_rank;
struct netinc_op_request;

struct netinc_scan {
	u32 slots;		/* rounds that may be under way */
	u32 levels;		/* operands that wait in a round, see reduce/order.h */
	u32 bytes;		/* of the accumulators of one of them */
	u8 *mem;
};

/* NULL: no memory. */
struct netinc_scan *netinc_scan_alloc(const struct netinc_rank *rank, const struct netinc_op *op,
				      struct netinc_mem *mem);
void netinc_scan_free(struct netinc_scan *chain);

/*
 * A result, or this rank's own empty one: then the round is complete and written. False: not now.
 */
bool netinc_scan_deliver(struct netinc_rank *rank, struct netinc_op_request *req,
			 const struct netinc_block *b, const struct netinc_pay *pay);

#endif
