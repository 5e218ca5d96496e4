// SPDX-License-Identifier: GPL-2.0-only
/* A node and its parent in a tree: what goes up, and what comes down. */
#include "node.h"

static u32 parent_of(const struct node *n)
{
	if (!n->place || n->place >= n->sim->plan.tree.nodes)
		sim_fail(n->sim, "node %u has no parent, and says something to it", n->place);
	return SIM_NODE + n->sim->plan.tree.parent[n->place];
}

void node_send_up(struct netinc_group *g, const struct netinc_pkt *pkt, const void *body, u32 len)
{
	struct node *n = node_of(g);
	struct netinc_pkt p = *pkt;

	p.len = len;
	sim_trace(n->sim, "node %u: type %u to its parent, psn %u, epoch %u, child %u", n->place,
		  p.type, p.psn, p.epoch, p.child);
	node_queue(n, parent_of(n), dgram_build(n->sim, &p, NULL, body));
}

void node_send_partial(struct netinc_agg *agg, const struct netinc_slot *slot, u32 part, bool again)
{
	struct netinc_group *g = container_of(agg, struct netinc_group, agg);
	struct netinc_pay partial = netinc_agg_partial(slot, part);
	const struct dgram *d = partial.obj;
	struct node *n = node_of(g);
	struct netinc_pkt pkt;

	node_group_of(g)->sent[slot->q % SIM_DELIVERED] = (struct partial_sent){
		.valid = true, .block = slot->q, .epoch = g->epoch, .opseq = slot->opseq,
		.flags = slot->flags, .len = slot->len, .dtype = slot->dtype,
	};
	netinc_agg_up_header(agg, slot, part, &pkt);
	pkt.flags |= again ? INC_F_RETRANS : 0;
	sim_trace(n->sim, "node %u: partial %u, %u bytes, flags %#x", n->place, pkt.psn, pkt.len,
		  pkt.flags);
	if (pkt.flags & INC_F_ZERO ? !!d : pkt.len != (d ? partial.len : 0))
		sim_fail(n->sim, "node %u: the partial of block %llu has %u bytes, not %u",
			 n->place, (unsigned long long)slot->q, d ? partial.len : 0, pkt.len);
	if (!d)
		node_queue_empty(n, parent_of(n), &pkt);
	else
		node_queue(n, parent_of(n),
			   dgram_build(n->sim, &pkt, (const struct inc_desc *)d->data,
				       d->data + netinc_pay_off(&partial)));
}

void node_verify_taken(struct netinc_agg *agg, const struct netinc_slot *slot)
{
	struct netinc_group *g = container_of(agg, struct netinc_group, agg);
	const struct partial_sent *sent = &node_group_of(g)->sent[slot->q % SIM_DELIVERED];
	struct node *n = node_of(g);

	if (!sent->valid || sent->block != slot->q || sent->epoch != g->epoch ||
	    sent->opseq != slot->opseq)
		sim_fail(n->sim, "node %u takes a result of block %llu, which it has not sent up",
			 n->place, (unsigned long long)slot->q);
	if ((slot->flags & sent->flags & INC_F_PAYLOAD) &&
	    (slot->len != sent->len || slot->dtype != sent->dtype))
		sim_fail(n->sim,
			 "node %u takes %u bytes of type %u for block %llu, of which it has sent up %u of type %u",
			 n->place, slot->len, slot->dtype, (unsigned long long)slot->q, sent->len,
			 sent->dtype);
}

/* Answers to JOIN repeat its nonce, which stands first in all of these. */
static bool is_membership(u8 type)
{
	return type == INC_PKT_CHALLENGE || type == INC_PKT_WAIT || type == INC_PKT_READY ||
	       type == INC_PKT_REFUSE;
}

/* Is it for this group? As in the kernel. */
static bool is_for(const struct netinc_group *g, const struct netinc_pkt *pkt, const u8 *body)
{
	__be32 nonce;

	if (g->cfg.id != pkt->group || !g->cfg.has_parent)
		return false;
	if (!is_membership(pkt->type))
		return pkt->incarnation == g->up.incarnation;
	if (pkt->cookie && pkt->cookie == g->up.up_cookie)
		return true;
	memcpy(&nonce, body, sizeof(nonce));
	return be32_to_cpu(nonce) == g->cfg.up_nonce;
}

static void rx_one(struct netinc_group *g, struct netinc_pkt *pkt, struct dgram *d)
{
	struct netinc_pay pay = { .obj = d, .off = sizeof(struct inc_hdr), .len = pkt->len,
				  .flags = pkt->flags };

	if (pkt->type == INC_PKT_RESULT)
		netinc_group_result(g, pkt, &pay, node_of(g)->sim->now);
	else
		netinc_group_from_parent(g, pkt, d->data + sizeof(struct inc_hdr),
					 node_of(g)->sim->now);
}

void node_rx_down(struct node *n, const struct frame *f)
{
	struct node_group *ng;
	struct netinc_pkt pkt;
	u32 i;
	int err;

	for (ng = n->box->groups; ng; ng = ng->next)
		netinc_group_buffer_begin(&ng->g);
	for (i = 0; i < f->n; i++) {
		err = netinc_parse(f->d[i]->data, f->d[i]->len, &pkt);
		if (err && hostile_nodes(n->sim))
			continue;
		if (err)
			sim_fail(n->sim, "a datagram of node %u does not parse: counter %d",
				 f->from - SIM_NODE, -err);
		sim_trace(n->sim, "node %u: type %u from its parent, psn %u, epoch %u, opseq %u",
			  n->place, pkt.type, pkt.psn, pkt.epoch, pkt.opseq);
		for (ng = n->box->groups; ng; ng = ng->next)
			if (is_for(&ng->g, &pkt, f->d[i]->data + sizeof(struct inc_hdr)))
				rx_one(&ng->g, &pkt, f->d[i]);
	}
	node_flush(n);
}
