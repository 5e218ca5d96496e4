// SPDX-License-Identifier: GPL-2.0-only
/* Sets of ranks that partial results are made of: the rest of rule 5 of protocol.rst. */
#include "agg_partial.h"

void netinc_partial_start(struct netinc_agg *agg, u64 start)
{
	u32 i;

	for (i = 0; i < agg->children; i++) {
		agg->child[i].has = start;
		agg->child[i].out = false;
	}
	agg->nexcluded = 0;
}

/* Elements are folded, and all that are missing could have contributed by rule 1. */
bool netinc_partial_may_complete(const struct netinc_agg *agg, const struct netinc_slot *slot)
{
	u32 i;

	if (!agg->root || agg->inputs != agg->children || slot->state != NETINC_SLOT_FILLING ||
	    slot->bad || (agg->closed && (s64)(slot->q - agg->limit) >= 0))
		return false;
	if (!(slot->flags & INC_F_PAYLOAD) || slot->dop == INC_OP_NONE ||
	    (slot->flags & INC_F_FINAL))
		return false;
	for (i = 0; i < agg->children; i++)
		if (!netinc_bits_get(slot->have, i) &&
		    (s64)(slot->q - agg->child[i].has) >= agg->window)
			return false;
	return true;
}

const struct netinc_pkt *netinc_partial_filter(struct netinc_agg *agg, u32 child,
					       const struct netinc_pkt *pkt,
					       struct netinc_pkt *rest)
{
	struct netinc_child *c = &agg->child[child];

	if (!c->out)
		return pkt;
	if (pkt->opseq != c->out_seq) {
		if ((s32)(pkt->opseq - c->out_seq) > 0) {
			c->out = false;
			agg->nexcluded--;
		}
		return pkt;
	}
	*rest = *pkt;
	rest->flags |= INC_F_PARTIAL;
	netinc_count(agg->counters, INC_C_DROP_TOO_LATE);
	return rest;
}

bool netinc_partial_ready(const struct netinc_agg *agg, const struct netinc_slot *slot)
{
	u32 i;

	if (slot->state != NETINC_SLOT_FILLING)
		return false;
	for (i = 0; i < agg->children; i++)
		if (!netinc_bits_get(slot->have, i) && !netinc_partial_out(agg, slot, i))
			return false;
	return netinc_partial_may_complete(agg, slot);
}

/* ---- Whose contributions a result is made of ----------------------------- */

/* Tells @child or NETINC_ALL of whose contributions results with this set's number are made. */
static void send_set(struct netinc_agg *agg, const struct netinc_slot *slot, u32 child)
{
	struct {
		struct inc_partial partial;
		__be32 map[INC_MAX_RANKS / 32];
	} m;
	u32 bits = round_up(agg->children, 32u), i;
	struct netinc_pkt pkt;

	memset(&m, 0, sizeof(m));
	m.partial.set = cpu_to_be16(slot->set);
	m.partial.bits = cpu_to_be16(bits);
	for (i = 0; i < agg->children; i++)
		if (netinc_bits_get(slot->contributors, i))
			netinc_bit_set(m.map, i);
	netinc_agg_header(agg, &pkt, INC_PKT_PARTIAL);
	pkt.psn = (u32)agg->una;
	agg->ops->send(agg, child, &pkt, &m, sizeof(m.partial) + bits / 8);
}

/*
 * Has anybody contributed who is not out? If not (all have missed some block), those who are out
 * count.
 */
static bool somebody_in(const struct netinc_agg *agg, const struct netinc_slot *slot)
{
	u32 i;

	for (i = 0; i < agg->children; i++)
		if ((slot->in[i].flags & (INC_F_PAYLOAD | INC_F_PARTIAL)) == INC_F_PAYLOAD)
			return true;
	return false;
}

/* Bytes of a set of children. */
static size_t set_bytes(const struct netinc_agg *agg)
{
	return netinc_bits_longs(agg->children) * sizeof(long);
}

/* slot->contributors are the children that are not out. */
static void find_contributors(const struct netinc_agg *agg, struct netinc_slot *slot)
{
	u32 i;

	memset(slot->contributors, 0, set_bytes(agg));
	for (i = 0; i < agg->children; i++)
		if (!(slot->in[i].flags & INC_F_PARTIAL))
			netinc_bits_set(slot->contributors, i);
}

/* The slot's contributors are a set that no result has been made of just before: tells all. */
static void begin_set(struct netinc_agg *agg, struct netinc_slot *slot, u64 now)
{
	u32 i;

	if (!++agg->set)
		agg->set = 1;
	slot->set = agg->set;
	memcpy(agg->contributors, slot->contributors, set_bytes(agg));
	for (i = 0; i < agg->children; i++) {
		agg->child[i].set_sent = slot->set;
		agg->child[i].set_sent_at = now;
	}
	send_set(agg, slot, NETINC_ALL);
}

/*
 * Elements of children that are out have both flags, PAYLOAD and PARTIAL. Without PAYLOAD they are
 * not folded; without PARTIAL they are, as those of any other child.
 */
u16 netinc_partial_seal(struct netinc_agg *agg, struct netinc_slot *slot, u64 now)
{
	const u16 both = INC_F_PAYLOAD | INC_F_PARTIAL;
	u16 not_wanted = somebody_in(agg, slot) ? INC_F_PAYLOAD : INC_F_PARTIAL;
	u32 i;

	for (i = 0; i < agg->children; i++)
		if ((slot->in[i].flags & both) == both)
			slot->in[i].flags &= ~not_wanted;
	find_contributors(agg, slot);
	slot->set = agg->set;
	if (!agg->set || memcmp(slot->contributors, agg->contributors, set_bytes(agg)))
		begin_set(agg, slot, now);
	return not_wanted;
}

void netinc_partial_unseal(struct netinc_agg *agg, struct netinc_slot *slot, u16 not_wanted)
{
	const u16 both = INC_F_PAYLOAD | INC_F_PARTIAL;
	struct netinc_pay *in;
	u32 i;

	for (i = 0; i < agg->children; i++) {
		in = &slot->in[i];
		if ((in->obj || (in->flags & INC_F_ZERO)) && in->len &&
		    (in->flags & both) == (both & ~not_wanted))
			in->flags |= not_wanted;
	}
}

void netinc_partial_done(struct netinc_agg *agg, const struct netinc_slot *slot)
{
	u32 i;

	netinc_count(agg->counters, INC_C_BLOCKS_PARTIAL);
	for (i = 0; i < agg->children; i++)
		agg->child[i].missed += !netinc_bits_get(slot->contributors, i);
}

void netinc_partial_tell(struct netinc_agg *agg, const struct netinc_slot *slot, u32 child, u64 now)
{
	struct netinc_child *c = &agg->child[child];

	if (!(slot->flags & INC_F_PARTIAL) || (c->set_sent == slot->set && c->set_sent_at == now))
		return;
	c->set_sent = slot->set;
	c->set_sent_at = now;
	send_set(agg, slot, child);
}

int netinc_partial_too_late(struct netinc_agg *agg, struct netinc_slot *slot, u32 child,
			    const struct netinc_pkt *pkt, u64 now)
{
	if (slot->opseq != pkt->opseq || slot->sig != pkt->sig)
		return -INC_C_DROP_MISMATCH;
	netinc_bits_set(slot->have, child);
	slot->missing--;
	slot->in[child].flags = (pkt->flags & INC_F_WANT) | INC_F_PARTIAL;
	slot->sent = now;
	slot->sent_to = child;
	if (agg->results_left) {
		agg->results_left--;
		netinc_partial_tell(agg, slot, child, now);
		agg->ops->send_result(agg, slot, child);
	}
	return -INC_C_DROP_TOO_LATE;
}
