// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets of an endpoint: their headers, and PROBE, which asks for what it lacks and says what it
 * has; rule 4 of protocol.rst.
 */
#include "endpoint.h"

bool netinc_ep_has(const struct netinc_ep *ep, u64 b)
{
	u32 i = netinc_ep_ring(ep, b);

	if ((s64)(b - ep->una) < 0)
		return true;
	return (s64)(b - ep->snd) < 0 && netinc_bits_get(ep->got, i);
}

void netinc_ep_header(const struct netinc_ep *ep, struct netinc_pkt *pkt, u8 type)
{
	memset(pkt, 0, sizeof(*pkt));
	pkt->type = type;
	pkt->group = ep->cfg.group;
	pkt->incarnation = ep->incarnation;
	pkt->epoch = ep->epoch;
	pkt->child = ep->cfg.rank;
	pkt->span = 1;
	pkt->cookie = ep->tree[0].up_cookie;
}

void netinc_ep_to_tree(const struct netinc_ep *ep, struct netinc_pkt *pkt, u32 tree)
{
	pkt->tree = tree;
	pkt->cookie = ep->tree[tree].up_cookie;
}

u64 netinc_ep_tree_una(struct netinc_ep *ep, u32 tree)
{
	struct netinc_ep_tree *w = &ep->tree[tree];

	/* after an error snd goes back */
	if ((s64)(w->una - ep->una) < 0 || (s64)(w->una - ep->snd) > 0)
		w->una = ep->una;
	while (w->una != ep->snd) {
		if (netinc_ep_tree_of(ep, w->una) != tree)
			w->una += netinc_tree_run(&ep->spread, w->una, (u32)(ep->snd - w->una));
		else if (netinc_ep_has(ep, w->una))
			w->una++;
		else
			break;
	}
	return w->una;
}

/* Is the result of block @b here, or none of @tree's business? */
static bool is_settled(const struct netinc_ep *ep, u32 tree, u64 b)
{
	return (s64)(b - ep->snd) >= 0 || netinc_ep_has(ep, b) ||
	       netinc_tree_of(&ep->spread, b) != tree;
}

void netinc_ep_probe(struct netinc_ep *ep, u32 tree, u64 now)
{
	struct netinc_ep_tree *w = &ep->tree[tree];
	struct {
		struct inc_probe probe;
		__be32 map[NETINC_MAX_BITMAP];
	} m;
	u32 bits = 0, len, i;
	struct netinc_pkt pkt;

	if (ep->snd != ep->una)
		bits = round_up((u32)(ep->snd - ep->una), 32u);
	/* a node that does not know us says so only to what is as long as that */
	len = max((u32)sizeof(m.probe) + bits / 8, (u32)sizeof(struct inc_refuse));
	memset(&m, 0, len);
	for (i = 0; i < bits; i++)
		if (is_settled(ep, tree, ep->una + i) || (s64)(ep->una + i - w->due) >= 0)
			netinc_bit_set(m.map, i);
	m.probe.srtt = cpu_to_be32(ep->cc.srtt);
	m.probe.bits = cpu_to_be16(bits);
	m.probe.slack = cpu_to_be16(netinc_reorder_pack(&w->down));
	netinc_ep_header(ep, &pkt, INC_PKT_PROBE);
	netinc_ep_to_tree(ep, &pkt, tree);
	pkt.opseq = ep->npeers;
	pkt.flags = (s64)(w->due - ep->una) > 0 ? INC_F_RETRANS : 0;
	if (!tree && ep->leave_there && ep->una != ep->end) {
		pkt.flags |= INC_F_LEAVE;
		pkt.span = (u16)(ep->end - ep->una);
	}
	if (!tree && netinc_ep_multicast_group(ep) && ep->multicast.joined) {
		pkt.flags |= INC_F_MULTICAST;
		pkt.sig = ep->multicast.call;
	}
	pkt.psn = (u32)ep->una;
	pkt.tstamp = (u32)now;
	w->asked = now;
	w->answered = false;
	w->unanswered++;
	w->probes_lost++;
	netinc_count(ep->counters, INC_C_PROBES);
	ep->ops->send(ep, &pkt, &m.probe, len);
}
