/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The exchange of counts with which a gather, scatter or alltoall begins whose shares differ: an
 * allgather of what ranks know, in kernel memory. Afterwards all know all, or that two contradict
 * each other.
 */
#ifndef NETINC_HOST_COUNTS_H
#define NETINC_HOST_COUNTS_H

#include "engine/coll.h"
#include "core/limits.h"

struct netinc_rank;

struct netinc_counts {
	struct netinc_op op;		/* INC_MODE_COUNTS_PHASE */
	struct netinc_op *of;		/* what it is for */
	__le32 *mine;			/* what this rank says */
	__le32 *theirs;			/* what the others say, in the order of ranks */
	/* they are here, and the worker is to merge them; rank->lock */
	bool arrived;
	u64 total;			/* of those that have been merged */
	/* code INC_ERR_NONE: none of these contradicts another one */
	struct netinc_error error;
	u32 len[];			/* [size] numbers of each rank */
};

/* Makes an exchange for @of, whose own counts are filled in. NULL: no memory */
struct netinc_counts *netinc_counts_alloc(struct netinc_op *of, struct netinc_mem *mem);
void netinc_counts_free(struct netinc_counts *c);

/*
 * All is here: the counts of the operation are completed, or it is made to fail, at once or by the
 * worker; then it is not on hold any more. Under rank->lock.
 */
void netinc_counts_done(struct netinc_rank *rank, struct netinc_counts *c);
void netinc_counts_init_rank(struct netinc_rank *rank);
/*
 * Waits until no worker looks at the operation of @c, which is under way no more, and frees @c.
 * NULL: there is nothing to do.
 */
void netinc_counts_release(struct netinc_rank *rank, struct netinc_counts *c);

/* Of the module: no rank is left when it goes. */
int netinc_counts_init(void);
void netinc_counts_fini(void);

#endif
