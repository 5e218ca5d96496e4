/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of tree_env.h know of one another. */
#ifndef INC_FUZZ_TREE_PARTS_H
#define INC_FUZZ_TREE_PARTS_H

#include "tree_env.h"

static inline struct node *node_of(struct netinc_group *g)
{
	return container_of(g, struct node, g);
}

static inline struct node *node_of_agg(struct netinc_agg *agg)
{
	return container_of(agg, struct node, g.agg);
}

static inline u32 number_of(const struct node *n)
{
	return (u32)(n - env.node);
}

/* ---- tree_fold.c: payload, and callbacks of struct netinc_agg_ops ---- */

struct load *tree_load_new(u32 len);
void tree_load_put(struct load *l);
bool tree_hold(struct netinc_agg *agg, struct netinc_pay *pay, bool force);
void tree_release(struct netinc_agg *agg, struct netinc_pay *pay);
void tree_get_desc(struct netinc_agg *agg, const struct netinc_pay *pay, struct inc_desc *d);
bool tree_can_fold(struct netinc_agg *agg, u8 dtype, u8 dop, u8 mode);
bool tree_fold(struct netinc_agg *agg, struct netinc_slot *slot, u32 part);
bool tree_copy_final(struct netinc_agg *agg, struct netinc_slot *slot, u32 i);
bool tree_is_copy(struct netinc_agg *agg, const struct netinc_slot *slot, u32 i);
bool tree_take_result(struct netinc_agg *agg, struct netinc_slot *slot,
		      const struct netinc_pay *pay);

/* ---- tree_out.c: what leaves ---- */

extern const struct netinc_agg_ops tree_agg_ops;
extern const struct netinc_group_ops tree_ops;

/* What has gone up for a block with that place in the ring, the first part of it. */
const struct left *tree_gone_up(const struct node *n, u64 q);

/* ---- tree_in.c: what comes ---- */

/* @same: in one buffer with the packet before it */
void tree_at_node(struct node *n, const struct frame *f, bool same);

#endif
