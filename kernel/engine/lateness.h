/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How late the children of a node are. When a block is complete, the child whose contribution was
 * the last one is charged with the time that all others had been in by then: with two children out
 * of step by 3 ms, the later one has 3 ms for every block, the other one nothing. What was lost on
 * its way and sent again counts like that too: it is what the others see. Blocks of which
 * contributions had to be taken back (memory) are left out.
 */
#ifndef NETINC_ENGINE_LATENESS_H
#define NETINC_ENGINE_LATENESS_H

#include "engine.h"

/* Statistics of one child, over the life of the group; microseconds. */
struct netinc_late {
	u64 blocks;		/* blocks whose last contribution was its own */
	u64 sum;		/* microseconds that others waited for these, all together */
	u64 max;		/* microseconds, the longest wait */
	/* blocks by time: 0, 1, 2..3, 4..7, ..., the last one without an upper end */
	u64 hist[INC_LATE_BUCKETS];
};

/* The contribution for which a late child has been reported: when it comes is to be known. */
struct netinc_watch {
	u32 child;		/* NETINC_NO_RANK: none yet; replaced by the next report */
	u64 q;			/* the block */
	u64 came;		/* time at which it came, 0: it has not */
};

void netinc_late_add(struct netinc_late *late, u64 us);

#endif
