// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parts of blocks, where sums of floats follow the tree of reduce/order.h whichever ranks are below
 * this node: "Fold" in protocol.rst. What comes of a child in several parts, and what goes to the
 * parent so.
 */
#include "aggregator.h"
#include "reduce/reduce.h"

struct netinc_part netinc_agg_part(const struct netinc_agg *agg, u32 part)
{
	if (part != NETINC_WHOLE)
		return agg->part[part];
	return (struct netinc_part){ .from = 0, .to = agg->inputs };
}

bool netinc_agg_part_has_elements(const struct netinc_agg *agg, const struct netinc_slot *slot,
				  u32 part)
{
	struct netinc_part p = netinc_agg_part(agg, part);
	u32 i;

	for (i = p.from; i < p.to; i++)
		if (slot->in[agg->operand[i].input].flags & INC_F_PAYLOAD)
			return true;
	return false;
}

bool netinc_agg_part_is_zero(const struct netinc_agg *agg, const struct netinc_slot *slot, u32 part)
{
	struct netinc_part p = netinc_agg_part(agg, part);
	bool zero = false;
	u16 flags;
	u32 i;

	if (slot->flags & (INC_F_DESC | INC_F_FINAL))
		return false;
	for (i = p.from; i < p.to; i++) {
		flags = slot->in[agg->operand[i].input].flags;
		if ((flags & (INC_F_PAYLOAD | INC_F_ZERO)) == INC_F_PAYLOAD)
			return false;
		zero |= flags & INC_F_PAYLOAD;
	}
	return zero;
}

struct netinc_pay netinc_agg_partial(const struct netinc_slot *slot, u32 part)
{
	struct netinc_pay pay;

	if (part == NETINC_WHOLE)
		return slot->result;
	pay = slot->in[part];
	pay.flags = slot->flags;
	return pay;
}

u32 netinc_agg_part_input(const struct netinc_agg *agg, u32 child, u32 part)
{
	const struct netinc_child *c = &agg->child[child];

	if (c->parts == 1 || part >= c->parts)
		return NETINC_NO_RANK;
	return part ? c->further + part - 1 : child;
}

u32 netinc_agg_parts_here(const struct netinc_agg *agg, const struct netinc_slot *slot, u32 child)
{
	const struct netinc_child *c = &agg->child[child];
	u32 n = !!(slot->in[child].flags & INC_F_PART), i;

	for (i = 1; i < c->parts; i++)
		n += !!(slot->in[c->further + i - 1].flags & INC_F_PART);
	return n;
}

bool netinc_agg_all_parts_here(const struct netinc_agg *agg, const struct netinc_slot *slot,
			       u32 child)
{
	const struct netinc_child *c = &agg->child[child];
	u32 i;

	/* mostly the last one comes last */
	for (i = c->parts - 1; i; i--)
		if (!(slot->in[c->further + i - 1].flags & INC_F_PART))
			return false;
	return slot->in[child].flags & INC_F_PART;
}

void netinc_agg_release_inputs(struct netinc_agg *agg, struct netinc_slot *slot)
{
	u32 i;

	for (i = 0; i < agg->inputs; i++) {
		if (slot->in[i].obj)
			agg->ops->release(agg, &slot->in[i]);
		slot->in[i].obj = NULL;
	}
	slot->held = 0;
}

bool netinc_agg_goes_in_parts(const struct netinc_agg *agg, const struct netinc_slot *slot)
{
	return !agg->root && (slot->flags & INC_F_PAYLOAD) && !(slot->flags & INC_F_LEAVE) &&
	       netinc_reduce_is_ordered(slot->dtype, slot->dop, slot->mode);
}

static void release_made(struct netinc_agg *agg, u32 n)
{
	while (n--)
		if (agg->made[n].obj)
			agg->ops->release(agg, &agg->made[n]);
}

/* What is held of contributions makes room for what has been made of them. */
static void replace_inputs(struct netinc_agg *agg, struct netinc_slot *slot)
{
	struct netinc_pay *in = slot->in;
	u32 i;

	netinc_agg_release_inputs(agg, slot);
	for (i = 0; i < agg->nparts; i++) {
		in[i].obj = agg->made[i].obj;
		in[i].off = agg->made[i].off;
		in[i].kind = agg->made[i].kind;
		in[i].len = agg->made[i].len;
	}
	slot->parted = true;
}

/* Is there anything of @part that follows a header? */
static bool has_body(const struct netinc_agg *agg, const struct netinc_slot *slot, u32 part)
{
	if (slot->flags & INC_F_DESC)
		return true;
	return netinc_agg_part_has_elements(agg, slot, part) &&
	       !netinc_agg_part_is_zero(agg, slot, part);
}

bool netinc_agg_make_parts(struct netinc_agg *agg, struct netinc_slot *slot)
{
	u32 i;

	for (i = 0; i < agg->nparts; i++) {
		slot->result.obj = NULL;
		if (has_body(agg, slot, i) && !agg->ops->fold(agg, slot, i)) {
			slot->result.obj = NULL;
			release_made(agg, i);
			return false;
		}
		agg->made[i] = slot->result;
	}
	slot->result.obj = NULL;
	replace_inputs(agg, slot);
	return true;
}

void netinc_agg_send_up(struct netinc_agg *agg, const struct netinc_slot *slot, bool again)
{
	enum inc_counter what = again ? INC_C_CONTRIBS_RESENT : INC_C_CONTRIBS_SENT;
	u32 i;

	netinc_count(agg->counters, what);
	if (!slot->parted) {
		agg->ops->send_up(agg, slot, NETINC_WHOLE, again);
		return;
	}
	for (i = 0; i < agg->nparts; i++) {
		netinc_count(agg->counters, INC_C_PARTS);
		agg->ops->send_up(agg, slot, i, again);
	}
}
