/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Policy `partial`: a block that has waited too long for late children is completed without them.
 * This is the one exception to "no result depends on timing", and it is said with every such
 * result.
 *
 * Only the root does it, only where elements are folded, and only without children that could have
 * contributed by rule 1, that is, that have all results a window back: so whatever else depends on
 * that rule holds for them as for the others, and they find all results here when they come. Their
 * contributions are too late then, and are answered with the result. A child that has missed a
 * block of an operation is out of the rest of it: what it contributes counts as come, but is not
 * folded, and nobody waits for it.
 *
 * A result with INC_F_PARTIAL carries the number of the set of children that it is made of; what
 * the set is, goes before the first such result, and again before each that is repeated.
 */
#ifndef NETINC_ENGINE_AGG_PARTIAL_H
#define NETINC_ENGINE_AGG_PARTIAL_H

#include "aggregator.h"

/* Has @child missed a block of the operation of @slot? Then it is out of it. */
static inline bool netinc_partial_out(const struct netinc_agg *agg, const struct netinc_slot *slot,
				      u32 child)
{
	return agg->child[child].out && agg->child[child].out_seq == slot->opseq;
}

/* An epoch begins at @start. */
void netinc_partial_start(struct netinc_agg *agg, u64 start);
/*
 * The contribution @pkt of @child as it counts: itself, or, if the child is out of the operation,
 * marked in @rest.
 */
const struct netinc_pkt *netinc_partial_filter(struct netinc_agg *agg, u32 child,
					       const struct netinc_pkt *pkt,
					       struct netinc_pkt *rest);
/* May @slot be completed without those that have not contributed? */
bool netinc_partial_may_complete(const struct netinc_agg *agg, const struct netinc_slot *slot);
/* May @slot be completed so at once, because all that are missing are out of its operation? */
bool netinc_partial_ready(const struct netinc_agg *agg, const struct netinc_slot *slot);
/*
 * The slot is about to be completed with INC_F_PARTIAL: note of which children, and tell all if
 * that is new. Returns what is taken off the contributions of those who are out: flags that
 * netinc_partial_unseal() puts back if there is no memory for the result.
 */
u16 netinc_partial_seal(struct netinc_agg *agg, struct netinc_slot *slot, u64 now);
void netinc_partial_unseal(struct netinc_agg *agg, struct netinc_slot *slot, u16 not_wanted);
/* The slot has been completed with INC_F_PARTIAL: counts that. */
void netinc_partial_done(struct netinc_agg *agg, const struct netinc_slot *slot);
/* The result of @slot goes to @child again: with the set, if it is partial. */
void netinc_partial_tell(struct netinc_agg *agg, const struct netinc_slot *slot, u32 child,
			 u64 now);
/*
 * First contribution of @child to a block that was completed without it. Returns the negative
 * counter.
 */
int netinc_partial_too_late(struct netinc_agg *agg, struct netinc_slot *slot, u32 child,
			    const struct netinc_pkt *pkt, u64 now);

#endif
