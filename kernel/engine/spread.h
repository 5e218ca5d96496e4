/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How the blocks of an epoch are spread over its trees. A node reduces all of them itself, as one
 * tree. At the edge every host is the root of a tree, so that no link carries more than its share:
 * runs of consecutive blocks go to one tree after the other. The pattern repeats every W blocks, so
 * that a slot belongs to the same tree for ever.
 */
#ifndef NETINC_ENGINE_SPREAD_H
#define NETINC_ENGINE_SPREAD_H

#include "reduce/platform.h"

#define NETINC_LONGEST_RUN	16u

/* Set by netinc_spread_init() when an epoch begins; zeros before the first. */
struct netinc_spread {
	u32 trees;		/* of the epoch, up to INC_MAX_TREES; 0 and 1: no difference */
	u32 window;		/* W, blocks, a power of two */
	u32 order;		/* a run is 2^order blocks, at most NETINC_LONGEST_RUN */
};

static inline void netinc_spread_init(struct netinc_spread *s, u32 trees, u32 window)
{
	s->trees = trees;
	s->window = window;
	s->order = 0;
	while ((2u << s->order) <= NETINC_LONGEST_RUN && (2u << s->order) * 4 * trees <= window)
		s->order++;
}

/* The tree that block @b belongs to. */
static inline u32 netinc_tree_of(const struct netinc_spread *s, u64 b)
{
	if (likely(s->trees <= 1))
		return 0;
	return (((u32)b & (s->window - 1)) >> s->order) % s->trees;
}

/* How many of the blocks from @b on, at most @n, are the same tree's. */
static inline u32 netinc_tree_run(const struct netinc_spread *s, u64 b, u32 n)
{
	if (likely(s->trees <= 1))
		return n;
	return min(n, (1u << s->order) - ((u32)b & ((1u << s->order) - 1)));
}

#endif
