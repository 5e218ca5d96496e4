// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a member of one group, or a stranger, says about another group that the same node serves.
 * All is known of it but cookies, nonces and the lineage: its number, its run, its epoch, and where
 * its ranks are, which are on the same hosts. See others.c for what may come of it.
 */
#include "sim.h"

static bool one_of(struct sim *sim, u32 n)
{
	return !hostile_below(sim, n);
}

/* A rank of another group; NULL: there is no other one. */
static struct host *pick_other(struct sim *sim)
{
	struct sim *o = sim->other[hostile_below(sim, SIM_MAX_OTHERS)];

	o = o ?: sim->other[0];
	return o ? &o->host[hostile_below(sim, o->plan.hosts)] : NULL;
}

static void header(struct sim *sim, const struct host *of, struct netinc_pkt *pkt, u8 type)
{
	memset(pkt, 0, sizeof(*pkt));
	pkt->type = type;
	pkt->group = of->ep.cfg.group;
	pkt->incarnation = one_of(sim, 8) ? 0 : of->ep.incarnation;
	pkt->epoch = of->ep.epoch;
	pkt->psn = one_of(sim, 2) ? (u32)of->ep.una : hostile_near(sim, (u32)of->ep.una);
	pkt->span = 1;
	pkt->child = of->rank;
	pkt->opseq = of->ep.head ? of->ep.head->seq : of->ep.next_seq;
	pkt->sig = of->ep.head ? of->ep.head->sig : 0;
}

static struct dgram *build(struct sim *sim, struct netinc_pkt *pkt)
{
	u8 body[INC_MAX_BLOCK];
	u32 i;

	if (netinc_is_data(pkt->type)) {
		pkt->flags = INC_F_WANT | (one_of(sim, 2) ? INC_F_RETRANS : 0);
		if (one_of(sim, 2)) {
			pkt->flags |= INC_F_PAYLOAD;
			pkt->len = sim->plan.block[0];
			pkt->dtype = 1 + hostile_below(sim, INC_TYPE_MAX);
		}
	} else {
		pkt->len = netinc_min_body(pkt->type) + 4 * hostile_below(sim, 3);
	}
	for (i = 0; i < pkt->len; i++)
		body[i] = one_of(sim, 2) ? 0 : (u8)hostile_random(sim);
	return dgram_build(sim, pkt, NULL, body);
}

static u8 pick_up(struct sim *sim)
{
	static const u8 up[] = { INC_PKT_CONTRIB, INC_PKT_CONTRIB, INC_PKT_PROBE, INC_PKT_ABORT,
				 INC_PKT_JOIN };

	return up[hostile_below(sim, ARRAY_SIZE(up))];
}

static bool has_formed(const struct sim *o)
{
	u32 i;

	for (i = 0; i < o->plan.hosts; i++)
		if (!o->host[i].ep.epoch)
			return false;
	return true;
}

/*
 * Before a group has formed, ranks of it are to be had by anybody, where there is no key. And who
 * is at the rank's own address is its host.
 */
static void intrude(struct host *h, const struct host *of)
{
	if (has_formed(of->sim) && of->rank != h->rank)
		hostile_intrude(h, of->ep.cfg.group, of->rank, of->sim->plan.hosts);
}

/* With its own cookie, as the rank that has its number, or as any other one. */
static void speak(struct host *h, const struct host *of)
{
	struct sim *sim = h->sim;
	struct netinc_pkt pkt;
	struct dgram *d[2];
	u32 n = 0;

	if (one_of(sim, 4)) {
		netinc_ep_header(&h->ep, &pkt, INC_PKT_PROBE);
		pkt.psn = (u32)h->ep.una;
		d[n++] = build(sim, &pkt);
	}
	header(sim, of, &pkt, pick_up(sim));
	if (one_of(sim, 2) && h->rank < of->sim->plan.hosts)
		pkt.child = h->rank;
	pkt.cookie = one_of(sim, 4) ? h->ep.down_cookie : h->ep.tree[0].up_cookie;
	d[n++] = build(sim, &pkt);
	sim_trace(sim, "rank %u lies to group %#x: type %u as %u, psn %u, flags %#x", h->rank,
		  pkt.group, pkt.type, pkt.child, pkt.psn, pkt.flags);
	net_send(sim, h->rank, SIM_NODE, trouble_net(sim, 0), d, n);
}

void hostile_others(struct host *h)
{
	const struct host *of = pick_other(h->sim);

	if (!of)
		return;
	if (one_of(h->sim, 4))
		intrude(h, of);
	else
		speak(h, of);
}

void hostile_others_rx(struct host *h, const struct frame *f)
{
	struct netinc_pkt pkt;
	u32 i;

	for (i = 0; i < f->n; i++)
		if (!netinc_parse(f->d[i]->data, f->d[i]->len, &pkt))
			hostile_join_rx(h, &pkt, f->d[i]->data + sizeof(struct inc_hdr));
}

void stranger_others(struct sim *sim)
{
	const struct host *of = pick_other(sim);
	struct netinc_pkt pkt;
	struct dgram *d;
	bool up = one_of(sim, 2);

	header(sim, of, &pkt, up ? pick_up(sim) : 1 + hostile_below(sim, INC_PKT_MAX));
	pkt.cookie = one_of(sim, 4) ? 0 : hostile_random(sim);
	d = build(sim, &pkt);
	sim_trace(sim, "a stranger sends type %u, psn %u, %s rank %u of group %#x", pkt.type,
		  pkt.psn, up ? "as" : "to", of->rank, pkt.group);
	if (up)
		net_send(sim, of->rank, SIM_NODE, trouble_net(sim, 0), &d, 1);
	else
		net_send(sim, SIM_NODE, of->rank, trouble_net(sim, 0), &d, 1);
}
