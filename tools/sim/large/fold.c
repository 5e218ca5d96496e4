// SPDX-License-Identifier: GPL-2.0-only
/* What an aggregator needs: a block is one number, and what is folded is a sum. */
#include "large.h"

static struct node_group *group_of(struct netinc_agg *agg)
{
	return container_of(agg, struct node_group, g.agg);
}

static bool fold_hold(struct netinc_agg *agg, struct netinc_pay *pay, bool force)
{
	struct load *l = pay->obj;

	(void)agg;
	(void)force;
	l->refs++;
	return true;
}

static void fold_release(struct netinc_agg *agg, struct netinc_pay *pay)
{
	load_put(group_of(agg)->sys, pay->obj);
}

static void fold_desc(struct netinc_agg *agg, const struct netinc_pay *pay, struct inc_desc *desc)
{
	const struct load *l = pay->obj;

	(void)agg;
	*desc = l && l->has_desc ? l->desc : (struct inc_desc){ 0 };
}

static bool fold_sum(struct netinc_agg *agg, struct netinc_slot *slot, u32 part)
{
	struct load *sum = load_new(group_of(agg)->sys, 0);
	const struct load *l;
	u32 i;

	(void)part;
	for (i = 0; i < agg->children; i++) {
		l = slot->in[i].obj;
		if (!l)
			continue;
		sum->value += l->value;
		if (l->has_desc && !sum->has_desc) {
			sum->desc = l->desc;
			sum->has_desc = true;
		}
	}
	slot->result = (struct netinc_pay){ .obj = sum, .len = slot->len, .flags = slot->flags,
					    .kind = NETINC_PAY_RESULT };
	return true;
}

/* Only what is contributed again after a move: there is none here. */
static bool fold_copy(struct netinc_agg *agg, struct netinc_slot *slot, u32 i)
{
	(void)i;
	(void)slot;
	die(group_of(agg)->sys, "a contribution says that it is the result");
	return false;
}

static bool fold_is_copy(struct netinc_agg *agg, const struct netinc_slot *slot, u32 i)
{
	(void)agg;
	(void)slot;
	(void)i;
	return false;
}

static bool fold_can(struct netinc_agg *agg, u8 dtype, u8 dop, u8 mode)
{
	(void)agg;
	(void)mode;
	return dtype == INC_TYPE_I64 && dop == INC_OP_SUM;
}

static bool fold_take_result(struct netinc_agg *agg, struct netinc_slot *slot,
			     const struct netinc_pay *pay)
{
	struct load *l = pay->obj;

	(void)agg;
	l->refs++;
	slot->result = (struct netinc_pay){ .obj = l, .len = pay->len, .flags = slot->flags,
					    .kind = NETINC_PAY_RESULT };
	return true;
}

static void fold_send_result(struct netinc_agg *agg, const struct netinc_slot *slot, u32 child)
{
	struct node_group *ng = group_of(agg);
	struct netinc_pkt pkt;
	u32 i;

	netinc_agg_result_header(agg, slot, true, &pkt);
	for (i = 0; i < agg->children; i++)
		if (child == NETINC_ALL || child == i)
			net_send(ng->sys, ng->node, addr_of(&ng->g.members[i].peer), &pkt, NULL, 0,
				 slot->result.obj);
}

static void fold_send_up(struct netinc_agg *agg, const struct netinc_slot *slot, u32 part,
			 bool again)
{
	struct node_group *ng = group_of(agg);
	struct netinc_pkt pkt;

	netinc_agg_up_header(agg, slot, part, &pkt);
	pkt.flags |= again ? INC_F_RETRANS : 0;
	net_send(ng->sys, ng->node, ng->sys->node[ng->node].parent, &pkt, NULL, 0,
		 slot->result.obj);
}

static void fold_send(struct netinc_agg *agg, u32 child, const struct netinc_pkt *pkt,
		      const void *body, u32 len)
{
	node_send(group_of(agg), child, pkt, body, len);
}

const struct netinc_agg_ops fold_ops = {
	.hold = fold_hold,
	.release = fold_release,
	.desc = fold_desc,
	.fold = fold_sum,
	.copy = fold_copy,
	.is_copy = fold_is_copy,
	.can_fold = fold_can,
	.take_result = fold_take_result,
	.send_result = fold_send_result,
	.send_up = fold_send_up,
	.send = fold_send,
	.mismatch = netinc_group_mismatch,
};
