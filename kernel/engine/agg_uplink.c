// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks of a node that has a parent: partials that go up again, results that come down. There is
 * no timer and no send window: results are the acknowledgements, as everywhere.
 */
#include "aggregator.h"

/* Of what a result says: LEAVE is what the children have said, PARTIAL is not for trees. */
#define RESULT_FLAGS	(INC_F_PAYLOAD | INC_F_WANT | INC_F_FINAL | INC_F_DESC | INC_F_CE | \
			 INC_F_ECE | INC_F_ZERO)

/* Is this the result of what has gone up? 0 or a negative counter. */
static int check_result(const struct netinc_agg *agg, const struct netinc_slot *slot, u64 q,
			const struct netinc_pkt *pkt)
{
	if (agg->closed && (s64)(q - agg->limit) >= 0)
		return -INC_C_DROP_ERROR;
	if (slot->q != q || slot->state == NETINC_SLOT_FILLING || slot->state == NETINC_SLOT_BAD)
		return -INC_C_DROP_AHEAD;
	if (slot->state != NETINC_SLOT_UP)
		return -INC_C_DROP_DUPLICATE;
	if (slot->opseq != pkt->opseq || slot->sig != pkt->sig)
		return -INC_C_DROP_MISMATCH;
	/* who has contributed elements knows how many, and what they are, come back */
	if ((slot->flags & pkt->flags & INC_F_PAYLOAD) &&
	    (slot->len != pkt->len || slot->dtype != pkt->dtype || slot->dop != pkt->dop ||
	     slot->mode != pkt->mode))
		return -INC_C_DROP_MISMATCH;
	return 0;
}

/* False: no memory, nothing has changed. */
static bool replace_partial(struct netinc_agg *agg, struct netinc_slot *slot,
			    const struct netinc_pkt *pkt, const struct netinc_pay *pay)
{
	struct netinc_pay partial = slot->result;
	struct netinc_slot as_it_was = *slot;

	slot->result.obj = NULL;
	slot->flags = (slot->flags & INC_F_LEAVE) | (pkt->flags & RESULT_FLAGS);
	if (pkt->ce || slot->lost_above)
		slot->flags |= INC_F_CE;
	/* without elements it has none, whatever has been contributed */
	slot->len = pkt->len;
	if (pkt->flags & INC_F_PAYLOAD) {
		slot->dtype = pkt->dtype;
		slot->dop = pkt->dop;
		slot->mode = pkt->mode;
	}
	if ((pkt->flags & (INC_F_PAYLOAD | INC_F_DESC)) && !(pkt->flags & INC_F_ZERO) &&
	    !agg->ops->take_result(agg, slot, pay)) {
		*slot = as_it_was;
		return false;
	}
	if (partial.obj)
		agg->ops->release(agg, &partial);
	if (slot->parted)
		netinc_agg_release_inputs(agg, slot);
	slot->parted = false;
	return true;
}

static int take_one_result(struct netinc_agg *agg, u64 q, const struct netinc_pkt *pkt,
			   const struct netinc_pay *pay, u64 now)
{
	struct netinc_slot *slot = netinc_agg_slot(agg, q);
	int err = check_result(agg, slot, q, pkt);

	if (err)
		return err;
	if (!replace_partial(agg, slot, pkt, pay))
		return -INC_C_DROP_MEMORY;
	netinc_count(agg->counters, INC_C_RESULTS);
	/* of what was sent twice nobody knows which one this is the result of */
	if (!slot->again) {
		agg->up_trip = (u32)max_t(u64, now - slot->sent, 1);
		if ((s64)(slot->sent - agg->up_sent) > 0)
			agg->up_sent = slot->sent;
	}
	if ((s64)(q + 1 - agg->up_high) > 0)
		agg->up_high = q + 1;
	netinc_agg_done(agg, slot, now);
	return 0;
}

int netinc_agg_result(struct netinc_agg *agg, const struct netinc_pkt *pkt,
		      const struct netinc_pay *pay, u64 now)
{
	u64 q = netinc_extend(agg->una, pkt->psn);
	int err = 0, one;
	bool any = false;
	u32 i;

	if (pkt->span > agg->window)
		err = -INC_C_DROP_AHEAD;
	else if (!netinc_agg_take_work(agg, pkt->span))
		err = -INC_C_DROP_WORK;
	for (i = 0; !err && i < pkt->span; i++) {
		one = take_one_result(agg, q + i, pkt, pay, now);
		any |= !one;
		/* a result that is here already does not keep the next from counting */
		if (one && (one != -INC_C_DROP_DUPLICATE || i + 1 == pkt->span))
			err = one;
	}
	if (any) {
		netinc_agg_advance(agg);
		return 0;
	}
	netinc_count(agg->counters, -err);
	return err;
}

/* May the partial go once more for the buffer at hand? The first one may, however many parts. */
static bool take_parts(struct netinc_agg *agg, const struct netinc_slot *slot)
{
	u32 more = slot->parted ? agg->nparts - 1 : 0;

	if (!netinc_agg_take_result(agg))
		return false;
	agg->results_left -= min(agg->results_left, more);
	return true;
}

/* Has the partial of @slot, block @q + @i, gone long ago, and the parent not got it? */
static bool may_repeat(const struct netinc_slot *slot, u64 q, u32 i, const struct netinc_repeat *r)
{
	u64 before = slot->again ? r->again : r->before;

	return slot->q == q + i && slot->state == NETINC_SLOT_UP &&
	       (s64)(slot->sent - before) <= 0 && !(r->have && netinc_bit(r->have, i));
}

u32 netinc_agg_repeat_up(struct netinc_agg *agg, u64 q, u32 n, const struct netinc_repeat *r,
			 u64 now)
{
	struct netinc_slot *slot;
	u32 lost = 0, i;

	n = min(n, 2 * agg->window);
	for (i = 0; i < n && netinc_agg_take_work(agg, 1); i++) {
		slot = netinc_agg_slot(agg, q + i);
		if (!may_repeat(slot, q, i, r))
			continue;
		if (!take_parts(agg, slot))
			break;
		lost += !slot->again;
		slot->sent = now;
		slot->again = true;
		slot->lost_above |= r->slow;
		netinc_agg_send_up(agg, slot, true);
	}
	return lost;
}

bool netinc_agg_overtaken(const struct netinc_agg *agg, const struct netinc_slot *slot, u32 slack)
{
	return slot->state == NETINC_SLOT_UP && (s64)(agg->up_sent - slot->sent) > (s64)slack;
}
