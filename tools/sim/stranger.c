// SPDX-License-Identifier: GPL-2.0-only
/*
 * Somebody who is not in the group and hears nothing of it, and sends from others' addresses or
 * from its own: what went by in an earlier round, and guesses. Nothing may come of it.
 */
#include "sim.h"

static bool one_of(struct sim *sim, u32 n)
{
	return !hostile_below(sim, n);
}

/* The node, or a rank's host; who it seems to come from is the other one. */
static void send_as(struct sim *sim, bool up, struct dgram *d)
{
	u32 host = (u32)hostile_below(sim, sim->plan.hosts), net = trouble_net(sim, 0);
	struct netinc_pkt pkt;

	if (!netinc_parse(d->data, d->len, &pkt))
		sim_trace(sim, "a stranger sends type %u, psn %u, epoch %u %s %u", pkt.type,
			  pkt.psn, pkt.epoch, up ? "as rank" : "to rank", host);
	if (up)
		net_send(sim, host, SIM_NODE, net, &d, 1);
	else
		net_send(sim, SIM_NODE, host, net, &d, 1);
}

static bool goes_up(u8 type)
{
	return type == INC_PKT_CONTRIB || type == INC_PKT_PROBE || type == INC_PKT_JOIN ||
	       type == INC_PKT_ABORT;
}

/* An address that no rank has; where all are taken it is that of one. */
static u32 own_address(const struct sim *sim)
{
	return min_t(u32, sim->plan.hosts, SIM_MAX_HOSTS - 1);
}

/*
 * What went by in an earlier life of the group: the way that it went then, or to another place or
 * rank, or from another address.
 */
static void replay(struct sim *sim)
{
	const struct heard *h = hostile_heard(sim, sim->round);
	struct netinc_pkt pkt;
	struct dgram *d;
	u32 from;

	if (!h)
		return;
	d = dgram_get(h->d);
	netinc_parse(d->data, d->len, &pkt);
	if (one_of(sim, 3)) {
		send_as(sim, goes_up(pkt.type), d);
		return;
	}
	from = one_of(sim, 3) ? own_address(sim) : h->from;
	sim_trace(sim, "a stranger sends type %u, psn %u, epoch %u, of round %u, from %u to %u",
		  pkt.type, pkt.psn, pkt.epoch, h->round, from, h->to);
	net_send(sim, from, h->to, h->net, &d, 1);
}

/* What can be guessed of a group without hearing it: all but cookies, nonces and the lineage. */
static void guess_header(struct sim *sim, struct netinc_pkt *pkt, u8 type)
{
	const struct host *h = &sim->host[hostile_below(sim, sim->plan.hosts)];

	memset(pkt, 0, sizeof(*pkt));
	pkt->type = type;
	pkt->group = h->ep.cfg.group;
	pkt->incarnation = one_of(sim, 4) ? 0 : h->ep.incarnation;
	pkt->epoch = h->ep.epoch;
	pkt->psn = hostile_near(sim, (u32)h->ep.una);
	pkt->span = 1;
	pkt->child = h->rank;
	pkt->opseq = h->ep.head ? h->ep.head->seq : h->ep.next_seq;
	pkt->sig = h->ep.head ? h->ep.head->sig : 0;
	pkt->cookie = one_of(sim, 4) ? 0 : hostile_random(sim);
}

static void guess(struct sim *sim)
{
	u8 type = 1 + hostile_below(sim, INC_PKT_MAX), body[INC_MAX_BLOCK];
	struct netinc_pkt pkt;
	u32 i;

	guess_header(sim, &pkt, type);
	if (netinc_is_data(type)) {
		pkt.flags = one_of(sim, 2) ? INC_F_WANT : INC_F_WANT | INC_F_RETRANS;
		if (one_of(sim, 2)) {
			pkt.flags |= INC_F_PAYLOAD;
			pkt.len = sim->plan.block[0];
			pkt.dtype = 1 + hostile_below(sim, INC_TYPE_MAX);
		}
	} else {
		pkt.len = netinc_min_body(type) + 4 * hostile_below(sim, 3);
	}
	for (i = 0; i < pkt.len; i++)
		body[i] = one_of(sim, 2) ? 0 : (u8)hostile_random(sim);
	if (type == INC_PKT_JOIN) {
		struct inc_join *join = (struct inc_join *)body;

		join->size = cpu_to_be32(sim->plan.hosts);
		join->block = cpu_to_be16(sim->plan.block[0]);
		join->lineage = one_of(sim, 2) ? 0 : cpu_to_be64(hostile_random(sim));
		join->flags &= ~INC_JOIN_SHRINK;
	}
	send_as(sim, goes_up(type), dgram_build(sim, &pkt, NULL, body));
}

void stranger_now(struct sim *sim)
{
	if (sim->other[0] && one_of(sim, 3))
		stranger_others(sim);
	else if (sim->round && one_of(sim, 2))
		replay(sim);
	else
		guess(sim);
}
