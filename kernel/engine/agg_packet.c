// SPDX-License-Identifier: GPL-2.0-only
/* The headers of what an aggregator sends to its children, and to its parent. */
#include "aggregator.h"

void netinc_agg_header(const struct netinc_agg *agg, struct netinc_pkt *pkt, u8 type)
{
	*pkt = agg->header;
	pkt->type = type;
	pkt->span = 1;
	pkt->tree = agg->tree;
}

void netinc_agg_result_header(const struct netinc_agg *agg, const struct netinc_slot *slot,
			      bool elements, struct netinc_pkt *pkt)
{
	netinc_agg_header(agg, pkt, INC_PKT_RESULT);
	pkt->psn = (u32)slot->q;
	pkt->flags = slot->flags & ~INC_F_LEAVE;
	if (elements)
		pkt->len = slot->len;
	else
		pkt->flags &= ~(INC_F_PAYLOAD | INC_F_DESC | INC_F_FINAL | INC_F_ZERO);
	/* a result for all names the set that it is made of, in place of a child */
	pkt->child = slot->flags & INC_F_PARTIAL ? slot->set : 0;
	pkt->opseq = slot->opseq;
	pkt->sig = slot->sig;
	pkt->dtype = slot->dtype;
	pkt->dop = slot->dop;
	pkt->mode = slot->mode;
}

void netinc_agg_up_header(const struct netinc_agg *agg, const struct netinc_slot *slot, u32 part,
			  struct netinc_pkt *pkt)
{
	*pkt = agg->up_header;
	pkt->psn = (u32)slot->q;
	pkt->flags = slot->flags;
	if (part != NETINC_WHOLE) {
		pkt->part = part;
		pkt->flags |= INC_F_PART;
		if (!netinc_agg_part_has_elements(agg, slot, part))
			pkt->flags &= ~(INC_F_PAYLOAD | INC_F_ZERO);
		else if (netinc_agg_part_is_zero(agg, slot, part))
			pkt->flags |= INC_F_ZERO;
	}
	if (pkt->flags & INC_F_PAYLOAD)
		pkt->len = slot->len * slot->wider;
	if ((pkt->flags & INC_F_PAYLOAD) && slot->wider > 1)
		pkt->flags |= INC_F_WIDE;
	pkt->opseq = slot->opseq;
	pkt->sig = slot->sig;
	pkt->dtype = slot->dtype;
	pkt->dop = slot->dop;
	pkt->mode = slot->mode;
}
