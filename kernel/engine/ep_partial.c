// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets of ranks that the results of an endpoint's operations are made of: policy `partial`, rule 5
 * of protocol.rst.
 */
#include "endpoint.h"

int netinc_ep_partial(struct netinc_ep *ep, const struct netinc_pkt *pkt,
		      const struct inc_partial *body)
{
	u32 bits = be16_to_cpu(body->bits), i;

	if (sizeof(*body) + bits / 8 > pkt->len || bits != round_up(ep->cfg.size, 32u) ||
	    !body->set)
		return -INC_C_DROP_MALFORMED;
	ep->set = be16_to_cpu(body->set);
	ep->set_epoch = ep->epoch;
	for (i = 0; i < bits / 32; i++)
		ep->absent[i] = ~be32_to_cpu(body->bitmap[i]);
	if (ep->cfg.size % 32)
		ep->absent[bits / 32 - 1] &= (1u << ep->cfg.size % 32) - 1;
	return 0;
}

bool netinc_ep_set_known(const struct netinc_ep *ep, const struct netinc_pkt *pkt)
{
	return !(pkt->flags & INC_F_PARTIAL) ||
	       (pkt->child == ep->set && ep->set && ep->set_epoch == ep->epoch);
}

void netinc_ep_note_absent(const struct netinc_ep *ep, struct netinc_op *op)
{
	u32 words = DIV_ROUND_UP(ep->cfg.size, 32), i;

	for (i = 0; i < words; i++)
		op->absent[i] = (op->partial ? op->absent[i] : 0) | ep->absent[i];
	op->partial = true;
}
