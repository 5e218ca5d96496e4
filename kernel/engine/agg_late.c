// SPDX-License-Identifier: GPL-2.0-only
/* Blocks that are completed without late children: policy `partial`, see agg_partial.h. */
#include "agg_partial.h"

/* The children without a contribution to @slot are out of its operation. */
static void put_out(struct netinc_agg *agg, const struct netinc_slot *slot, u64 now)
{
	struct netinc_child *c;
	u32 i;

	for (i = 0; i < agg->children; i++) {
		c = &agg->child[i];
		if (netinc_bits_get(slot->have, i))
			continue;
		if (!netinc_partial_out(agg, slot, i) && !slot->taken_back)
			netinc_late_add(&c->late, now - slot->last);
		agg->nexcluded += !c->out;
		c->out = true;
		c->out_seq = slot->opseq;
	}
}

/*
 * Blocks behind the oldest one that wait for nobody else: of its operation, which is what children
 * are out of. To look at those of later ones would take the square of the window.
 */
static void try_others(struct netinc_agg *agg, u32 opseq, u64 now)
{
	struct netinc_slot *slot;
	u64 q;

	for (q = agg->una; q != agg->top; q++) {
		slot = netinc_agg_slot(agg, q);
		if (slot->q != q || netinc_agg_is_empty(agg, slot))
			continue;
		if (slot->opseq != opseq)
			return;
		if (netinc_partial_ready(agg, slot))
			netinc_agg_pass_block(agg, slot, now);
	}
}

u32 netinc_agg_pass(struct netinc_agg *agg, u64 limit, u64 now)
{
	struct netinc_slot *slot;
	u64 since = now;
	u32 child;

	for (;;) {
		child = netinc_agg_waiting(agg, &since);
		if (child == NETINC_NO_RANK || now - since < limit)
			return NETINC_NO_RANK;
		slot = netinc_agg_slot(agg, agg->una);
		if (!netinc_partial_may_complete(agg, slot))
			return child;
		put_out(agg, slot, now);
		if (!netinc_agg_pass_block(agg, slot, now))
			return NETINC_NO_RANK;	/* tried again when the next time comes */
		try_others(agg, slot->opseq, now);
		netinc_agg_advance(agg);
	}
}
