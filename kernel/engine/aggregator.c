// SPDX-License-Identifier: GPL-2.0-only
/*
 * The aggregator's slots: rules 2 to 4, 7 and 10 of protocol.rst.
 *
 * Contributions are held until the block has all of them and then folded in child order in one
 * pass, so that the accumulator stays in registers and the order of arrival cannot matter.
 */
#include "aggregator.h"
#include "agg_partial.h"
#include "reduce/reduce.h"

#define MERGED_FLAGS	(INC_F_PAYLOAD | INC_F_WANT | INC_F_FINAL | INC_F_DESC | INC_F_LEAVE | \
			 INC_F_CE | INC_F_ECE | INC_F_PARTIAL | INC_F_ZERO)

static void release_payload(struct netinc_agg *agg, struct netinc_pay *pay)
{
	if (pay->obj)
		agg->ops->release(agg, pay);
	pay->obj = NULL;
}

/* No contribution with payload is counted (any more): the slot says nothing of elements. */
static void clear_elements(struct netinc_slot *slot)
{
	slot->len = 0;
	slot->wider = 1;
	slot->dtype = INC_TYPE_NONE;
	slot->dop = INC_OP_NONE;
	slot->mode = 0;
}

/*
 * No contribution is counted (any more). What a slot says of its block comes from the contributions
 * that it counts: merge_header() sets it, this function clears it, and nothing of it outlives them.
 */
static void clear_slot(struct netinc_agg *agg, struct netinc_slot *slot)
{
	u32 i;

	for (i = 0; i < agg->inputs; i++) {
		release_payload(agg, &slot->in[i]);
		slot->in[i].flags = 0;
	}
	memset(slot->have, 0, netinc_bits_longs(agg->children) * sizeof(long));
	slot->missing = agg->children;
	slot->pending = 0;
	slot->held = 0;
	slot->parted = false;
	slot->flags = 0;
	slot->bad = INC_ERR_NONE;
	slot->opseq = 0;
	slot->newest = 0;
	slot->sig = 0;
	slot->last_child = NETINC_NO_RANK;
	clear_elements(slot);
}

static void slot_reset(struct netinc_agg *agg, struct netinc_slot *slot, u64 q)
{
	clear_slot(agg, slot);
	release_payload(agg, &slot->result);
	slot->again = false;
	slot->lost_above = false;
	slot->q = q;
	slot->state = NETINC_SLOT_FILLING;
	slot->taken_back = false;
}

void netinc_agg_start(struct netinc_agg *agg, u64 start)
{
	u32 i;

	for (i = 0; i < 2 * agg->window; i++)
		slot_reset(agg, netinc_agg_slot(agg, start + i), start + i);
	for (i = 0; i < agg->children; i++) {
		agg->child[i].frontier = start;
		agg->child[i].end = start;
		agg->child[i].nacked = start;
		agg->child[i].gap = 0;
		agg->child[i].up = (struct netinc_reorder){ .slack = NETINC_SLACK_FIRST };
		agg->child[i].down = NETINC_SLACK_FIRST;
	}
	netinc_partial_start(agg, start);
	agg->start = start;
	agg->una = start;
	while (!netinc_agg_mine(agg, agg->una))
		agg->una++;
	agg->top = agg->una;
	agg->up_sent = 0;
	agg->up_high = start;
	agg->up_trip = 0;
	agg->closed = false;
}

void netinc_agg_drain(struct netinc_agg *agg)
{
	u32 i;

	for (i = 0; i < 2 * agg->window; i++) {
		if (agg->slots[i].held || agg->slots[i].parted)
			netinc_agg_release_inputs(agg, &agg->slots[i]);
		release_payload(agg, &agg->slots[i].result);
	}
}

/*
 * Rule 2: the slot's own block, or exactly the next one if the slot is done. NULL: *why says which
 * way it is off.
 */
static struct netinc_slot *slot_for(struct netinc_agg *agg, u64 q, int *why)
{
	struct netinc_slot *slot = netinc_agg_slot(agg, q);

	if (likely(slot->q == q))
		return slot;
	if (q == slot->q + 2 * agg->window && slot->state == NETINC_SLOT_DONE) {
		slot_reset(agg, slot, q);
		return slot;
	}
	*why = (s64)(q - slot->q) < 0 ? -INC_C_DROP_STALE : -INC_C_DROP_AHEAD;
	return NULL;
}

/* Is @slot that of block @q, which waits for contributions? */
static bool waited_for(const struct netinc_slot *slot, u64 q)
{
	return slot->q == q && slot->state == NETINC_SLOT_FILLING;
}

static void child_advance(struct netinc_agg *agg, u32 child)
{
	struct netinc_child *c = &agg->child[child];
	const struct netinc_slot *slot;

	while (c->frontier != c->end) {
		if (!netinc_agg_mine(agg, c->frontier)) {
			c->frontier++;
			continue;
		}
		slot = netinc_agg_slot(agg, c->frontier);
		if ((s64)(slot->q - c->frontier) < 0)
			return;
		/* what has been completed without it is not waited for any more */
		if (waited_for(slot, c->frontier) && !netinc_bits_get(slot->have, child))
			return;
		c->frontier++;
	}
}

static bool has_payload(const struct netinc_agg *agg, const struct netinc_slot *slot, u32 child)
{
	const struct netinc_child *c = &agg->child[child];
	u16 flags = slot->in[child].flags;
	u32 i;

	for (i = 1; i < c->parts; i++)
		flags |= slot->in[c->further + i - 1].flags;
	return flags & INC_F_PAYLOAD;
}

static u32 first_with_payload(const struct netinc_agg *agg, const struct netinc_slot *slot)
{
	u32 i;

	for (i = 0; i + 1 < agg->children; i++)
		if (has_payload(agg, slot, i))
			break;
	return i;
}

static u32 final_input(const struct netinc_agg *agg, const struct netinc_slot *slot)
{
	u32 i;

	for (i = 0; i < agg->children; i++)
		if (slot->in[i].flags & INC_F_FINAL)
			return i;
	return 0;
}

/*
 * The first child whose FINAL is not what the result has been copied from; NETINC_NO_RANK: all are.
 * The copy is compared: what is held may be memory that its sender writes to meanwhile.
 */
static u32 other_final(struct netinc_agg *agg, const struct netinc_slot *slot)
{
	u32 i;

	for (i = 0; i < agg->children; i++)
		if ((slot->in[i].flags & INC_F_FINAL) && !agg->ops->is_copy(agg, slot, i))
			return i;
	return NETINC_NO_RANK;
}

/* The first two children whose contributions to a BAD slot differ in operation or result. */
static void report_bad(struct netinc_agg *agg, const struct netinc_slot *slot)
{
	struct inc_desc first, other;
	u32 i;

	if (slot->result.obj) {
		agg->ops->mismatch(agg, slot, final_input(agg, slot), other_final(agg, slot));
		return;
	}
	if (slot->bad == INC_ERR_UNSUPPORTED) {
		agg->ops->mismatch(agg, slot, first_with_payload(agg, slot), NETINC_NO_RANK);
		return;
	}
	agg->ops->desc(agg, &slot->in[0], &first);
	for (i = 1; i < agg->children; i++) {
		agg->ops->desc(agg, &slot->in[i], &other);
		if (memcmp(&first, &other, sizeof(first)) ||
		    ((slot->in[0].flags ^ slot->in[i].flags) & INC_F_LEAVE))
			break;
	}
	agg->ops->mismatch(agg, slot, 0, i < agg->children ? i : NETINC_NO_RANK);
}

void netinc_agg_advance(struct netinc_agg *agg)
{
	struct netinc_slot *slot;

	for (;;) {
		slot = netinc_agg_slot(agg, agg->una);
		if (netinc_agg_mine(agg, agg->una) &&
		    (slot->q != agg->una || slot->state != NETINC_SLOT_DONE))
			break;
		agg->una++;
	}
	if ((s64)(agg->una - agg->top) > 0)
		agg->top = agg->una;	/* behind it were blocks of other trees only */
	if (slot->q == agg->una && slot->state == NETINC_SLOT_BAD && !agg->closed)
		report_bad(agg, slot);
}

void netinc_agg_done(struct netinc_agg *agg, struct netinc_slot *slot, u64 now)
{
	slot->state = NETINC_SLOT_DONE;
	slot->sent = now;
	slot->sent_to = NETINC_ALL;
	agg->opseq = slot->opseq;
	netinc_count(agg->counters, INC_C_BLOCKS);
	if (unlikely(slot->flags & INC_F_ZERO))
		netinc_count(agg->counters, INC_C_BLOCKS_ZERO);
	agg->ops->send_result(agg, slot, NETINC_ALL);
}

void netinc_agg_merge_flags(const struct netinc_agg *agg, struct netinc_slot *slot)
{
	u32 i;

	slot->flags = 0;
	for (i = 0; i < agg->inputs; i++)
		if ((slot->in[i].flags & INC_F_PART) ||
		    (i < agg->children && netinc_bits_get(slot->have, i)))
			slot->flags |= slot->in[i].flags & MERGED_FLAGS;
}

/*
 * Some contributions are 0. If all are, so is what they make, and nothing is folded or sent of it
 * but a header.
 */
static void settle_zero(const struct netinc_agg *agg, struct netinc_slot *slot)
{
	if (!netinc_agg_part_is_zero(agg, slot, NETINC_WHOLE))
		slot->flags &= ~INC_F_ZERO;
}

/* False: no memory. */
static bool make_result(struct netinc_agg *agg, struct netinc_slot *slot)
{
	if (unlikely(slot->flags & INC_F_ZERO))
		settle_zero(agg, slot);
	if (slot->flags & INC_F_FINAL)
		return agg->ops->copy(agg, slot, final_input(agg, slot));
	if (unlikely(agg->nparts > 1) && netinc_agg_goes_in_parts(agg, slot))
		return netinc_agg_make_parts(agg, slot);
	return !(slot->flags & (INC_F_PAYLOAD | INC_F_DESC)) || (slot->flags & INC_F_ZERO) ||
	       agg->ops->fold(agg, slot, NETINC_WHOLE);
}

bool netinc_agg_complete(struct netinc_agg *agg, struct netinc_slot *slot, u64 now)
{
	u16 taken_off = 0;

	if (slot->bad) {
		slot->state = NETINC_SLOT_BAD;
		return true;
	}
	if (unlikely(slot->flags & INC_F_PARTIAL))
		taken_off = netinc_partial_seal(agg, slot, now);
	if (!make_result(agg, slot)) {
		if (taken_off)
			netinc_partial_unseal(agg, slot, taken_off);
		return false;
	}
	/* who has a result already has another one than somebody else */
	if (unlikely(slot->flags & INC_F_FINAL) && other_final(agg, slot) != NETINC_NO_RANK) {
		slot->bad = INC_ERR_MISMATCH;
		slot->state = NETINC_SLOT_BAD;
		return true;
	}
	if (!slot->parted)
		netinc_agg_release_inputs(agg, slot);
	if (agg->root) {
		netinc_agg_done(agg, slot, now);
		if (unlikely(slot->flags & INC_F_PARTIAL))
			netinc_partial_done(agg, slot);
		return true;
	}
	slot->state = NETINC_SLOT_UP;
	slot->asked = 0;
	slot->sent = now;
	netinc_agg_send_up(agg, slot, false);
	return true;
}

/* False: no memory for the result, or not now. */
bool netinc_agg_pass_block(struct netinc_agg *agg, struct netinc_slot *slot, u64 now)
{
	u32 i;

	for (i = 0; i < agg->children; i++) {
		/*
		 * what is there is of an older block; that it wants the result is not known, but
		 * likely
		 */
		if (!netinc_bits_get(slot->have, i))
			slot->in[i] = (struct netinc_pay){ .flags = INC_F_WANT | INC_F_PARTIAL };
	}
	slot->flags |= INC_F_PARTIAL;
	if (netinc_agg_complete(agg, slot, now))
		return true;
	netinc_agg_merge_flags(agg, slot);
	return false;
}

/* Times as long as an element of this payload an accumulator is. */
static u8 wider_of(const struct netinc_pkt *pkt)
{
	const struct netinc_reduce *kernel =
		pkt->flags & INC_F_FINAL ?
			NULL :
			netinc_reduce_find(pkt->dtype, pkt->dop, pkt->mode, false);

	return kernel ? kernel->acc_size / kernel->elem_size : 1;
}

/* Bytes of payload as elements of the type. */
static u16 narrow_len(const struct netinc_pkt *pkt)
{
	return pkt->flags & INC_F_WIDE ? pkt->len / wider_of(pkt) : pkt->len;
}

/*
 * Is what goes on no longer than a block, where one child has sent the descriptor and another one
 * the elements? An operation's first block has room for both.
 */
static bool fits_together(const struct netinc_agg *agg, const struct netinc_slot *slot,
			  const struct netinc_pkt *pkt)
{
	u32 len = slot->len * slot->wider;

	if (!((slot->flags | pkt->flags) & INC_F_DESC))
		return true;
	if (pkt->flags & INC_F_PAYLOAD)
		len = narrow_len(pkt) * (agg->root ? 1 : wider_of(pkt));
	return len + sizeof(struct inc_desc) <= agg->block;
}

static bool op_agrees(const struct netinc_agg *agg, const struct netinc_slot *slot,
		      const struct netinc_pkt *pkt)
{
	if (slot->opseq != pkt->opseq || slot->sig != pkt->sig)
		return false;
	/* who leaves does nothing else, and not alone */
	if ((slot->flags ^ pkt->flags) & INC_F_LEAVE)
		return false;
	if (!(slot->flags & pkt->flags & INC_F_PAYLOAD))
		return fits_together(agg, slot, pkt);
	/* elements that are only moved come from one rank, or are its result */
	if (pkt->dop == INC_OP_NONE && !((slot->flags | pkt->flags) & INC_F_FINAL))
		return false;
	return slot->len == narrow_len(pkt) && slot->dtype == pkt->dtype &&
	       slot->dop == pkt->dop && slot->mode == pkt->mode;
}

/* What some node of the tree lacks none of them folds, so that all say the same. */
static bool may_fold(struct netinc_agg *agg, const struct netinc_pkt *pkt)
{
	return !netinc_kinds_prevent(agg->lacks, pkt->dtype, pkt->dop) &&
	       agg->ops->can_fold(agg, pkt->dtype, pkt->dop, pkt->mode);
}

static void merge_header(struct netinc_agg *agg, struct netinc_slot *slot,
			 const struct netinc_pkt *pkt, u64 now)
{
	if (netinc_agg_is_empty(agg, slot)) {
		slot->since = now;
		slot->opseq = pkt->opseq;
		slot->newest = pkt->opseq;
		slot->sig = pkt->sig;
	} else if (!op_agrees(agg, slot, pkt)) {
		slot->bad = INC_ERR_MISMATCH;
		if ((s32)(pkt->opseq - slot->newest) > 0)
			slot->newest = pkt->opseq;
	}
	if ((pkt->flags & INC_F_PAYLOAD) && !(slot->flags & INC_F_PAYLOAD)) {
		if (!slot->bad && !may_fold(agg, pkt))
			slot->bad = INC_ERR_UNSUPPORTED;
		slot->len = narrow_len(pkt);
		slot->dtype = pkt->dtype;
		slot->dop = pkt->dop;
		slot->mode = pkt->mode;
		slot->wider = agg->root ? 1 : wider_of(pkt);
	}
	slot->flags |= (pkt->flags & MERGED_FLAGS) | (pkt->ce ? INC_F_CE : 0);
}

/*
 * The contribution @i of @child, which agreed with the others, is not counted any more. Whether it
 * comes again is its sender's business: only what is left says what the block is.
 */
static void take_back(struct netinc_agg *agg, struct netinc_slot *slot, u32 child, u32 i)
{
	slot->held -= !!slot->in[i].obj;
	release_payload(agg, &slot->in[i]);
	slot->in[i].flags = 0;
	netinc_bits_clear(slot->have, child);
	slot->missing++;
	slot->pending += netinc_agg_parts_here(agg, slot, child);
	slot->taken_back = true;
	netinc_agg_merge_flags(agg, slot);
	if (!(slot->flags & INC_F_PAYLOAD))
		clear_elements(slot);
}

/* A contribution that the slot has already: the child asks for what it lost. */
static void handle_repeated(struct netinc_agg *agg, struct netinc_slot *slot, u32 child,
			    const struct netinc_pkt *pkt, u64 now)
{
	if (!(pkt->flags & INC_F_RETRANS) || slot->state != NETINC_SLOT_DONE || pkt->part)
		return;
	if (netinc_agg_under_way(agg, slot, child, now) || !netinc_agg_take_result(agg))
		return;
	slot->sent = now;
	slot->sent_to = child;
	netinc_count(agg->counters, INC_C_RESULTS_RESENT);
	agg->child[child].resent++;
	netinc_partial_tell(agg, slot, child, now);
	agg->ops->send_result(agg, slot, child);
}

/* The slot is as if nobody had contributed to its block: all of it comes again. */
static void evict_slot(struct netinc_agg *agg, struct netinc_slot *slot)
{
	struct netinc_child *c;
	u32 i;

	for (i = 0; i < agg->children; i++) {
		if (!netinc_bits_get(slot->have, i) && !netinc_agg_parts_here(agg, slot, i))
			continue;
		netinc_count(agg->counters, INC_C_DROP_MEMORY);
		c = &agg->child[i];
		if ((s64)(c->frontier - slot->q) > 0)
			c->frontier = slot->q;
		/* of parts, too, it is a hole from now on */
		if ((s64)(slot->q + 1 - c->end) > 0)
			c->end = slot->q + 1;
	}
	clear_slot(agg, slot);
	slot->taken_back = true;
}

/*
 * Rule 13: at the limit the youngest blocks go first. False: none that is younger than @q holds
 * anything.
 */
static bool evict_youngest(struct netinc_agg *agg, u64 q)
{
	struct netinc_slot *slot;
	u64 last;

	for (last = agg->top - 1; (s64)(last - q) > 0 && netinc_agg_take_work(agg, 1); last--) {
		slot = netinc_agg_slot(agg, last);
		/* who has left does not contribute again */
		if (slot->q == last && slot->state == NETINC_SLOT_FILLING &&
		    !(slot->flags & INC_F_LEAVE) && slot->held) {
			evict_slot(agg, slot);
			return true;
		}
	}
	return false;
}

static bool hold_payload(struct netinc_agg *agg, struct netinc_pay *pay, u64 q)
{
	while (!agg->ops->hold(agg, pay, q == agg->una))
		if (!evict_youngest(agg, q))
			return false;
	return true;
}

/* Notes whose contribution has come last, and when the last one of another child came. */
static void note_arrival(struct netinc_slot *slot, u32 child, u64 now)
{
	if (slot->last_child != child)
		slot->others = slot->last;
	slot->last_child = child;
	slot->last = now;
}

static void charge_absent(struct netinc_agg *agg, const struct netinc_slot *slot)
{
	if (agg->children > 1 && !slot->taken_back && !(slot->flags & INC_F_PARTIAL))
		netinc_late_add(&agg->child[slot->last_child].late, slot->last - slot->others);
}

/*
 * The operation is near to those of now, or somewhat further behind: what JOINs say, and so where
 * an epoch goes on, may be ahead of what an honest child does.
 */
static bool is_operation_of_now(const struct netinc_agg *agg, u32 opseq)
{
	return opseq - agg->opseq + 2 * NETINC_OPSEQ_NEAR < 3 * NETINC_OPSEQ_NEAR;
}

/*
 * What depends on the order comes from a child that has parts in these, all else is whole; parts
 * without elements are of what others have elements of. Has this one come already, or in parts what
 * comes as a whole now?
 */
static int check_part(const struct netinc_agg *agg, const struct netinc_slot *slot, u32 child,
		      u32 i, const struct netinc_pkt *pkt)
{
	bool part = pkt->flags & INC_F_PART;

	if (likely(agg->child[child].parts == 1))
		return 0;
	if ((pkt->flags & INC_F_PAYLOAD) && !(pkt->flags & INC_F_FINAL) &&
	    netinc_reduce_is_ordered(pkt->dtype, pkt->dop, pkt->mode) != part)
		return -INC_C_DROP_MALFORMED;
	if (part)
		return slot->in[i].flags & INC_F_PART ? -INC_C_DROP_DUPLICATE : 0;
	return netinc_agg_parts_here(agg, slot, child) ? -INC_C_DROP_MALFORMED : 0;
}

/* The contribution @i of @child counts. Is that all of this child? */
static bool completes_child(const struct netinc_agg *agg, struct netinc_slot *slot, u32 child,
			    u32 i)
{
	if (likely(!(slot->in[i].flags & INC_F_PART)))
		return true;
	slot->pending++;
	if (!netinc_agg_all_parts_here(agg, slot, child))
		return false;
	slot->pending -= agg->child[child].parts;
	return true;
}

/* All of @child is here. 0 or a negative counter: its contribution @i does not count after all. */
static int child_complete(struct netinc_agg *agg, struct netinc_slot *slot, u32 child, u32 i,
			  u64 now)
{
	netinc_bits_set(slot->have, child);
	note_arrival(slot, child, now);
	if (!--slot->missing) {
		if (!netinc_agg_complete(agg, slot, now)) {
			take_back(agg, slot, child, i);
			return -INC_C_DROP_MEMORY;
		}
		charge_absent(agg, slot);
	} else if (unlikely(agg->nexcluded)) {
		if (netinc_partial_ready(agg, slot))
			netinc_agg_pass_block(agg, slot, now);
	}
	return 0;
}

static int contrib_one(struct netinc_agg *agg, u32 child, u64 q, const struct netinc_pkt *pkt,
		       const struct netinc_pay *pay, u64 now)
{
	u32 i = netinc_agg_input(agg, child, pkt);
	struct netinc_slot *slot;
	struct netinc_pkt rest;
	int why = 0;

	slot = slot_for(agg, q, &why);
	if (!slot)
		return why;
	if (unlikely(agg->watch.child == child) && agg->watch.q == q && !agg->watch.came)
		agg->watch.came = now;
	if (netinc_bits_get(slot->have, child) || slot->state != NETINC_SLOT_FILLING) {
		if (!netinc_bits_get(slot->have, child))
			return netinc_partial_too_late(agg, slot, child, pkt, now);
		handle_repeated(agg, slot, child, pkt, now);
		return -INC_C_DROP_DUPLICATE;
	}
	if (!is_operation_of_now(agg, pkt->opseq))
		return -INC_C_DROP_MALFORMED;
	why = check_part(agg, slot, child, i, pkt);
	if (why)
		return why;
	if (unlikely(agg->nexcluded))
		pkt = netinc_partial_filter(agg, child, pkt, &rest);
	slot->in[i] = *pay;
	slot->in[i].flags = pkt->flags;
	if (!(pkt->flags & (INC_F_PAYLOAD | INC_F_DESC)) || (pkt->flags & INC_F_ZERO)) {
		slot->in[i].obj = NULL;
	} else if (!hold_payload(agg, &slot->in[i], q)) {
		slot->in[i].obj = NULL;
		slot->in[i].flags = 0;
		return -INC_C_DROP_MEMORY;
	}
	slot->held += !!slot->in[i].obj;
	merge_header(agg, slot, pkt, now);
	why = completes_child(agg, slot, child, i) ? child_complete(agg, slot, child, i, now) : 0;
	if (!why && (s64)(q + 1 - agg->top) > 0)
		agg->top = q + 1;
	return why;
}

/*
 * Accumulators come from nodes only, and of what has some that are wider than elements; and what
 * goes up is no longer than a block, with accumulators in place of elements.
 */
static bool width_fits(const struct netinc_agg *agg, const struct netinc_pkt *pkt)
{
	u32 wider;

	if (likely(agg->root && !(pkt->flags & INC_F_WIDE)))
		return true;
	wider = wider_of(pkt);
	if (pkt->flags & INC_F_WIDE)
		return wider > 1 && pkt->len <= agg->block;
	return pkt->len * wider + (pkt->flags & INC_F_DESC ? sizeof(struct inc_desc) : 0) <=
	       agg->block;
}

/* Is the packet as a whole good, and not too much for one buffer? 0 or a negative counter. */
static int check_contrib(struct netinc_agg *agg, u32 child, const struct netinc_pkt *pkt)
{
	u32 unit = pkt->dop ? max(netinc_reduce_elem_size(pkt->dtype), 1u) : 1;

	if (pkt->flags & INC_F_WIDE)
		unit *= wider_of(pkt);
	if (netinc_agg_input(agg, child, pkt) == NETINC_NO_RANK || !width_fits(agg, pkt) ||
	    pkt->len % unit)
		return -INC_C_DROP_MALFORMED;
	if (pkt->span > agg->window)
		return -INC_C_DROP_AHEAD;
	return netinc_agg_take_work(agg, pkt->span) ? 0 : -INC_C_DROP_WORK;
}

/* May block @q be contributed to? 0 or a negative counter. */
static int check_block(const struct netinc_agg *agg, u64 q)
{
	if (agg->closed && (s64)(q - agg->limit) >= 0)
		return -INC_C_DROP_ERROR;
	if ((s64)(q - agg->una) >= agg->window)	/* rule 1 */
		return -INC_C_DROP_AHEAD;
	return netinc_agg_mine(agg, q) ? 0 : -INC_C_DROP_MALFORMED;
}

int netinc_agg_disagree(struct netinc_agg *agg, u32 child, u64 q, enum inc_err_code code,
			u32 opseq, u32 newest, u64 now)
{
	struct netinc_slot *slot;
	int err = check_block(agg, q);

	slot = err ? NULL : slot_for(agg, q, &err);
	if (!err && (netinc_bits_get(slot->have, child) || slot->state != NETINC_SLOT_FILLING))
		err = -INC_C_DROP_DUPLICATE;
	if (!err && (!is_operation_of_now(agg, opseq) || !is_operation_of_now(agg, newest)))
		err = -INC_C_DROP_MALFORMED;
	if (err) {
		netinc_count(agg->counters, -err);
		return err;
	}
	if (netinc_agg_is_empty(agg, slot)) {
		slot->since = now;
		slot->opseq = opseq;
		slot->newest = newest;
	}
	if ((s32)(newest - slot->newest) > 0)
		slot->newest = newest;
	slot->bad = code;
	slot->pending -= netinc_agg_parts_here(agg, slot, child);
	netinc_bits_set(slot->have, child);
	note_arrival(slot, child, now);
	if (!--slot->missing)
		netinc_agg_complete(agg, slot, now);
	if ((s64)(q + 1 - agg->top) > 0)
		agg->top = q + 1;
	if ((s64)(q + 1 - agg->child[child].end) > 0)
		agg->child[child].end = q + 1;
	child_advance(agg, child);
	netinc_agg_advance(agg);
	return 0;
}

/* One block of the packet's span: 0 if it counted, or a negative counter. */
static int contrib_block(struct netinc_agg *agg, u32 child, u64 q, const struct netinc_pkt *pkt,
			 const struct netinc_pay *pay, u64 now)
{
	struct netinc_child *c = &agg->child[child];
	int err = check_block(agg, q);
	u64 end;

	if (!err)
		err = contrib_one(agg, child, q, pkt, pay, now);
	if (err && err != -INC_C_DROP_TOO_LATE)
		return err;
	/* while parts are on their way nothing of the block is missing yet */
	end = q + (!(pkt->flags & INC_F_PART) ||
		   netinc_bits_get(netinc_agg_slot(agg, q)->have, child));
	if ((s64)(end - c->end) > 0)
		c->end = end;
	if (err)
		return err;
	netinc_count(agg->counters, INC_C_CONTRIBS);
	/* NACKed, and then it comes by itself */
	if (!(pkt->flags & INC_F_RETRANS) && (s64)(q - c->nacked) < 0)
		netinc_reorder_spurious(&c->up, now);
	return 0;
}

int netinc_agg_contrib(struct netinc_agg *agg, u32 child, const struct netinc_pkt *pkt,
		       const struct netinc_pay *pay, u64 now)
{
	u64 q = netinc_extend(agg->una, pkt->psn);
	bool counted = false;
	int err, one;
	u32 i;

	agg->child[child].seen += agg->una - q < pkt->span;
	err = check_contrib(agg, child, pkt);
	/* a block that the child has contributed already does not keep the next from counting */
	for (i = 0; !err && i < pkt->span; i++) {
		one = contrib_block(agg, child, q + i, pkt, pay, now);
		if (!one)
			counted = true;
		else if (one != -INC_C_DROP_DUPLICATE || i + 1 == pkt->span)
			err = one;
	}
	if (counted || err == -INC_C_DROP_TOO_LATE)
		child_advance(agg, child);
	if (counted) {
		netinc_agg_advance(agg);
		return 0;
	}
	netinc_count(agg->counters, -err);
	return err;
}
