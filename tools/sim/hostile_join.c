// SPDX-License-Identifier: GPL-2.0-only
/* JOINs of a lying member, besides its endpoint's: with a cookie, or challenged and proved. */
#include "sim.h"

#define MOST_ANSWERS	3	/* others' JOINs may have the same nonce */

static bool one_of(struct sim *sim, u32 n)
{
	return !hostile_below(sim, n);
}

static void build(struct host *h, struct inc_join *join)
{
	const struct netinc_ep *ep = &h->ep;
	struct sim *sim = h->sim;

	*join = (struct inc_join){
		.size = cpu_to_be32(ep->cfg.size),
		.nonce = cpu_to_be32(one_of(sim, 2) ? ep->cfg.nonce : (u32)hostile_random(sim)),
		.next = cpu_to_be64(netinc_ep_next(ep)),
		.srtt = cpu_to_be32((u32)hostile_random(sim)),
		.block = cpu_to_be16(ep->block ?: ep->cfg.block),
		.move = cpu_to_be32(ep->move),
		.lineage = cpu_to_be64(ep->lineage),
	};
	if (ep->lineage)
		netinc_settings_to_join(&ep->settings, join);
	if (one_of(sim, 3))
		join->next = cpu_to_be64(netinc_ep_next(ep) + hostile_near(sim, 0) -
					 (one_of(sim, 2) ? 1ull << 32 : 0));
	if (one_of(sim, 4))
		join->size = cpu_to_be32(ep->cfg.size + (u32)hostile_below(sim, 3) - 1);
	if (one_of(sim, 3))
		join->move = cpu_to_be32(ep->move + 1 + (u32)hostile_below(sim, 2));
	if (one_of(sim, 8))
		join->block = cpu_to_be16(INC_BLOCK_ALIGN * (u32)hostile_below(sim, 20));
	if (one_of(sim, 8))
		join->lineage = 0;
}

static void send_join(struct host *h, const struct inc_join *join, u32 group, u32 child,
		      bool member)
{
	struct netinc_pkt pkt;
	struct dgram *d;

	netinc_ep_header(&h->ep, &pkt, INC_PKT_JOIN);
	pkt.psn = 0;
	pkt.group = group;
	pkt.child = child;
	if (!member) {
		pkt.incarnation = 0;
		pkt.cookie = 0;
	}
	if (one_of(h->sim, 8))
		pkt.epoch = hostile_near(h->sim, pkt.epoch);
	pkt.opseq = hostile_near(h->sim, h->ep.begun);
	pkt.len = sizeof(*join);
	sim_trace(h->sim, "rank %u lies: JOIN as %u of %u, group %#x, move %u, next %llu%s",
		  h->rank, child, be32_to_cpu(join->size), group, be32_to_cpu(join->move),
		  (unsigned long long)be64_to_cpu(join->next),
		  member ? ", with a cookie" : join->challenge ? ", proved" : "");
	d = dgram_build(h->sim, &pkt, NULL, join);
	net_send(h->sim, h->rank, h->parent.addr[1], h->parent.addr[2], &d, 1);
}

/* Room for one that is to be challenged; the oldest is forgotten. */
static struct hostile_join *join_new(struct sim *sim, u32 group, u32 child)
{
	struct hostile_join *j = &sim->hostile.join[sim->hostile.njoins++ % HOSTILE_JOINS];

	j->group = group;
	j->child = child;
	j->answers = 0;
	return j;
}

void hostile_join(struct host *h)
{
	struct sim *sim = h->sim;
	struct hostile_join *j;
	u32 child = h->rank;
	bool member;

	if (hostile_can(sim, TRICK_STEAL) && (!hostile_can(sim, TRICK_JOIN) || one_of(sim, 2)))
		child = (u32)hostile_below(sim, sim->plan.hosts + 1);
	member = child == h->rank && h->ep.incarnation && one_of(sim, 2);
	j = join_new(sim, sim->group, child);
	build(h, &j->body);
	send_join(h, &j->body, sim->group, child, member);
}

void hostile_intrude(struct host *h, u32 group, u32 child, u32 size)
{
	struct hostile_join *j = join_new(h->sim, group, child);

	build(h, &j->body);
	j->body.size = cpu_to_be32(size);
	j->body.nonce = cpu_to_be32((u32)hostile_random(h->sim) | 1);
	j->body.block = cpu_to_be16(h->sim->plan.block[0]);
	j->body.lineage = 0;
	j->body.move = 0;
	send_join(h, &j->body, group, child, false);
}

void hostile_found(struct host *h)
{
	u32 number = SIM_GROUP + 1 + SIM_MAX_OTHERS + (u32)hostile_below(h->sim, 4);

	hostile_intrude(h, number, 0, 1 + (u32)hostile_below(h->sim, 2));
}

bool hostile_join_rx(struct host *h, const struct netinc_pkt *pkt, const void *body)
{
	const struct inc_challenge *c = body;
	struct hostile_join *j;
	u32 i;

	if (pkt->type != INC_PKT_CHALLENGE)
		return false;
	for (i = 0; i < min_t(u32, h->sim->hostile.njoins, HOSTILE_JOINS); i++) {
		j = &h->sim->hostile.join[i];
		if (j->body.nonce != c->nonce || j->body.challenge == c->challenge ||
		    j->answers == MOST_ANSWERS)
			continue;
		j->answers++;
		j->body.challenge = c->challenge;
		netinc_join_proof(h->ep.cfg.key, j->group, j->child, &j->body,
				  j->body.proof);
		send_join(h, &j->body, j->group, j->child, false);
		return be32_to_cpu(c->nonce) != h->ep.cfg.nonce;
	}
	return false;
}
