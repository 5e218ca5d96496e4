// SPDX-License-Identifier: GPL-2.0-only
/*
 * What was lost on the links to the children: NACK for holes in what comes, STATUS and results for
 * who asks; rule 4 of protocol.rst.
 */
#include "aggregator.h"
#include "agg_partial.h"

/* packets that may overtake before a hole counts as a loss */
#define NACK_SLACK_PACKETS	3
/* or blocks: a super-packet that another one has overtaken */
#define NACK_SLACK_BLOCKS	88
#define NACK_RANGES		16	/* per child and buffer received */
/* microseconds: queues of a busy host may hold a packet back as long */
#define MIN_PAUSE		1000

/* How long what was sent again may be under way before it is sent once more. */
static u64 repeat_pause(const struct netinc_agg *agg, u32 child)
{
	u32 srtt = agg->child[child].srtt;

	return max_t(u64, srtt - srtt / 4, MIN_PAUSE);
}

bool netinc_agg_under_way(const struct netinc_agg *agg, const struct netinc_slot *slot, u32 child,
			  u64 now)
{
	if (slot->state == NETINC_SLOT_DONE && slot->sent_to != NETINC_ALL &&
	    slot->sent_to != child)
		return false;
	return now - slot->sent < max_t(u64, repeat_pause(agg, child), agg->child[child].down);
}

/* Blocks [q, q + span) of @child have not come. */
static void send_nack(struct netinc_agg *agg, u32 child, u64 q, u32 span)
{
	struct netinc_pkt pkt;

	netinc_agg_header(agg, &pkt, INC_PKT_NACK);
	pkt.child = agg->child[child].number;
	pkt.psn = (u32)q;
	pkt.span = span;
	netinc_count(agg->counters, INC_C_NACKS);
	agg->ops->send(agg, child, &pkt, NULL, 0);
}

/* NACK the holes of @child from block @q on. */
static void nack_holes(struct netinc_agg *agg, u32 child, u64 q)
{
	const struct netinc_child *c = &agg->child[child];
	u32 ranges = 0, span = 0;
	const struct netinc_slot *slot;
	bool hole;

	for (; q != c->end && ranges < NACK_RANGES; q++) {
		slot = netinc_agg_slot(agg, q);
		hole = netinc_agg_mine(agg, q) &&
		       ((s64)(slot->q - q) < 0 ||
			(slot->q == q && slot->state == NETINC_SLOT_FILLING &&
			 !netinc_bits_get(slot->have, child)));
		if (hole) {
			span++;
		} else if (span) {
			send_nack(agg, child, q - span, span);
			span = 0;
			ranges++;
		}
	}
	if (span && ranges < NACK_RANGES)
		send_nack(agg, child, q - span, span);
}

void netinc_agg_packet_end(struct netinc_agg *agg, u32 child, u64 now)
{
	struct netinc_child *c = &agg->child[child];
	bool lost = netinc_reorder_lost(&c->up, c->frontier != c->end, now);

	if (c->frontier == c->end) {
		c->gap = 0;
		c->nacked = c->end;
		return;
	}
	if ((++c->gap < NACK_SLACK_PACKETS && c->end - c->frontier <= NACK_SLACK_BLOCKS) || !lost)
		return;
	/* one buffer may bring packets of several children in turn */
	if (c->nack_buffer == agg->buffer ||
	    !netinc_agg_take_work(agg, (u32)(c->end - c->frontier)))
		return;
	if ((s64)(c->nacked - c->frontier) <= 0 || now - c->nack_time >= repeat_pause(agg, child)) {
		nack_holes(agg, child, c->frontier);
		c->nack_time = now;
	} else if (c->end - c->nacked > NACK_SLACK_BLOCKS) {
		nack_holes(agg, child, c->nacked);
	} else {
		return;
	}
	c->nack_buffer = agg->buffer;
	c->nacked = c->end;
}

/*
 * How many blocks STATUS has to look at: nobody has contributed to those behind, unless they are
 * other trees'.
 */
static u32 status_blocks(const struct netinc_agg *agg)
{
	if (agg->spread.trees > 1)
		return agg->window;
	return (u32)min_t(u64, agg->top - agg->una, agg->window);
}

static u32 status_bits(const struct netinc_agg *agg, u32 child, __be32 *map)
{
	const struct netinc_slot *slot;
	u32 i;

	for (i = 0; i < status_blocks(agg); i++) {
		slot = netinc_agg_slot(agg, agg->una + i);
		if (!netinc_agg_mine(agg, agg->una + i)) {
			/* it is not ours to ask for */
		} else if (slot->q == agg->una + i && slot->state == NETINC_SLOT_FILLING) {
			if (!netinc_bits_get(slot->have, child))
				continue;
		} else if (slot->q != agg->una + i) {
			continue;	/* never contributed to */
		}
		netinc_bit_set(map, i);
	}
	return round_up(agg->window, 32u);
}

u32 netinc_agg_waiting(const struct netinc_agg *agg, u64 *since)
{
	const struct netinc_slot *slot = netinc_agg_slot(agg, agg->una);
	u32 first = NETINC_NO_RANK, i;

	if (slot->q != agg->una || slot->state != NETINC_SLOT_FILLING ||
	    netinc_agg_is_empty(agg, slot))
		return NETINC_NO_RANK;
	for (i = 0; i < agg->children; i++) {
		if (netinc_bits_get(slot->have, i))
			continue;
		*since = slot->since;
		first = min(first, i);
		if (!agg->nexcluded || !netinc_partial_out(agg, slot, i))
			return i;
	}
	return first;
}

u32 netinc_agg_waiting_rank(const struct netinc_agg *agg, u64 *since)
{
	const struct netinc_slot *slot = netinc_agg_slot(agg, agg->una);
	u32 child = netinc_agg_waiting(agg, since);

	if (slot->q == agg->una && slot->state == NETINC_SLOT_UP)
		return agg->up_waits_for;
	if (child == NETINC_NO_RANK)
		return NETINC_NO_RANK;
	if (agg->child[child].waits_for != NETINC_NO_RANK)
		return agg->child[child].waits_for;
	return agg->child[child].number;
}

static void send_status(struct netinc_agg *agg, u32 child, u32 tstamp, u64 now)
{
	struct {
		struct inc_status status;
		__be32 map[NETINC_MAX_BITMAP];
	} m;
	struct netinc_pkt pkt;
	u64 since = now;
	u32 bits;

	memset(&m, 0, sizeof(m.status) + DIV_ROUND_UP(agg->window, 32) * sizeof(__be32));
	bits = status_bits(agg, child, m.map);
	m.status.waiting = cpu_to_be32(netinc_agg_waiting_rank(agg, &since));
	m.status.waited = cpu_to_be32((u32)min_t(u64, (now - since) / NETINC_MS, 0xffffffffu));
	m.status.bits = cpu_to_be16(bits);
	m.status.slack = cpu_to_be16(netinc_reorder_pack(&agg->child[child].up));
	m.status.seen = cpu_to_be32(agg->child[child].seen);
	netinc_count(agg->counters, INC_C_STATUSES);
	netinc_agg_header(agg, &pkt, INC_PKT_STATUS);
	pkt.child = agg->child[child].number;
	pkt.psn = (u32)agg->una;
	pkt.tstamp = tstamp;
	agg->ops->send(agg, child, &pkt, &m, sizeof(m.status) + bits / 8);
}

/* Sends again the results that @child lacks and asks for. */
static void resend_results(struct netinc_agg *agg, u32 child, u64 q, const struct inc_probe *probe,
			   u64 now)
{
	u32 bits = be16_to_cpu(probe->bits), sent = 0, i;
	struct netinc_slot *slot;

	bits = min(bits, 2 * agg->window);
	for (i = 0; i < max(bits, 1u) && sent < NETINC_RESULTS_PER_PROBE; i++) {
		if (bits && netinc_bit(probe->bitmap, i))
			continue;
		slot = netinc_agg_slot(agg, q + i);
		if (slot->q != q + i || netinc_agg_under_way(agg, slot, child, now))
			continue;
		if (slot->state != NETINC_SLOT_DONE)
			continue;
		if (!netinc_agg_take_result(agg))
			return;
		netinc_count(agg->counters, INC_C_RESULTS_RESENT);
		agg->child[child].resent++;
		netinc_partial_tell(agg, slot, child, now);
		agg->ops->send_result(agg, slot, child);
		sent++;
		slot->sent = now;
		slot->sent_to = child;
	}
}

bool netinc_agg_probe(struct netinc_agg *agg, u32 child, const struct netinc_pkt *pkt,
		      const struct inc_probe *probe, u64 now)
{
	struct netinc_child *c = &agg->child[child];
	u64 q = netinc_extend(agg->una, pkt->psn);

	u32 looks = status_blocks(agg);

	if (pkt->flags & INC_F_RETRANS)
		looks += min_t(u32, be16_to_cpu(probe->bits), 2 * agg->window);
	if (!netinc_agg_take_work(agg, looks))
		return false;
	c->srtt = be32_to_cpu(probe->srtt);
	c->down = netinc_reorder_unpack(be16_to_cpu(probe->slack));
	if ((s64)(q - c->has) > 0 && (s64)(q - agg->una) <= 0)
		c->has = q;
	if (pkt->flags & INC_F_RETRANS)
		resend_results(agg, child, q, probe, now);
	/*
	 * behind all results: of those before una the child has what it will ever have when this
	 * comes
	 */
	send_status(agg, child, pkt->tstamp, now);
	return true;
}
