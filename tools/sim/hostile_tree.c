// SPDX-License-Identifier: GPL-2.0-only
/*
 * A node of a tree that lies to other nodes: to one below it as its parent, to the one above it as
 * its child. What it says to ranks is in hostile_node.c.
 */
#include "node.h"

#define MOST_WORDS	32	/* of the body of a control packet that is made up */

static bool one_of(struct sim *sim, u32 n)
{
	return !hostile_below(sim, n);
}

/* Numbers that mean something more often than not: small ones, and all bits. */
static u32 odd_number(struct sim *sim)
{
	switch (hostile_below(sim, 4)) {
	case 0:
		return (u32)hostile_random(sim);
	case 1:
		return ~0u;
	default:
		return (u32)hostile_below(sim, 2 * sim->plan.hosts + 2);
	}
}

static void send_lie(struct node *n, u32 to, const struct netinc_pkt *pkt, const void *body)
{
	struct dgram *d = dgram_build(n->sim, pkt, NULL, body);

	sim_trace(n->sim,
		  "node %u lies to node %u: type %u, psn %u + %u, operation %u, flags %#x, %u bytes",
		  n->place, to - SIM_NODE, pkt->type, pkt->psn, pkt->span, pkt->opseq, pkt->flags,
		  pkt->len);
	net_send(n->sim, n->addr, to, n->net[to], &d, 1);
}

/* Some block around those that @g is at. */
static u32 some_block(struct sim *sim, const struct netinc_group *g)
{
	u32 ahead = (u32)(g->agg.top - g->agg.una) + 2;

	return one_of(sim, 4) ? hostile_near(sim, (u32)g->agg.una) :
				(u32)g->agg.una + (u32)hostile_below(sim, ahead);
}

/* A contribution or a result as @g could have it, but for what is changed in it. */
static void make_data(struct sim *sim, struct netinc_group *g, struct netinc_pkt *pkt, u8 *body)
{
	const struct netinc_slot *slot = netinc_agg_slot(&g->agg, g->agg.una);
	u32 i;

	pkt->psn = some_block(sim, g);
	pkt->flags = INC_F_WANT;
	pkt->opseq = slot->opseq;
	pkt->sig = slot->sig;
	if (one_of(sim, 4))
		pkt->opseq += (u32)hostile_below(sim, 3) - 1;
	if (one_of(sim, 2)) {
		pkt->flags |= INC_F_PAYLOAD;
		pkt->dtype = slot->dtype;
		pkt->dop = slot->dop;
		pkt->mode = slot->mode;
		pkt->len = slot->len && !one_of(sim, 4) ? slot->len :
			   1 + (u32)hostile_below(sim, 2 * sim->plan.block[0]);
	} else {
		pkt->span = 1 + (u32)hostile_below(sim, sim->plan.window);
	}
	for (i = 0; i < pkt->len; i++)
		body[i] = (u8)hostile_random(sim);
	if (one_of(sim, 2))
		hostile_change(sim, pkt);
	/* what is behind it is not there */
	pkt->flags &= ~INC_F_DESC;
}

/* A control packet of @type of which nothing is true but its header. */
static void make_control(struct sim *sim, const struct netinc_group *g, struct netinc_pkt *pkt,
			 u8 *body)
{
	u32 words = (u32)hostile_below(sim, MOST_WORDS + 1), i;
	__be32 v;

	pkt->psn = some_block(sim, g);
	pkt->len = 4 * words;
	for (i = 0; i < words; i++) {
		v = cpu_to_be32(odd_number(sim));
		memcpy(body + 4 * i, &v, sizeof(v));
	}
}

struct lie {
	enum trick trick;
	u8 type;
};

/* One of @n lies, between @g and its parent; what both directions have in common. False: none. */
static bool begin_lie(struct sim *sim, const struct netinc_group *g, const struct lie *lies, u32 n,
		      struct netinc_pkt *pkt)
{
	const struct lie *lie = &lies[hostile_below(sim, n)];

	*pkt = (struct netinc_pkt){ .type = lie->type,
				    .group = g->cfg.id,
				    .incarnation = g->up.incarnation,
				    .epoch = g->epoch,
				    .span = 1 };
	return hostile_can(sim, lie->trick);
}

static void finish_lie(struct node *n, struct netinc_group *g, u32 to, struct netinc_pkt *pkt)
{
	u8 body[2 * INC_MAX_BLOCK];

	if (pkt->type == INC_PKT_RESULT || pkt->type == INC_PKT_CONTRIB)
		make_data(n->sim, g, pkt, body);
	else
		make_control(n->sim, g, pkt, body);
	send_lie(n, to, pkt, body);
}

static void lie_down(struct node *n, struct netinc_group *g)
{
	static const struct lie lies[] = {
		{ TRICK_RESULT, INC_PKT_RESULT }, { TRICK_RESULT, INC_PKT_RESULT },
		{ TRICK_ERROR, INC_PKT_ERROR }, { TRICK_STATUS, INC_PKT_STATUS },
		{ TRICK_STATUS, INC_PKT_NACK }, { TRICK_STATUS, INC_PKT_WAIT },
		{ TRICK_STATUS, INC_PKT_PARTIAL }, { TRICK_READY, INC_PKT_READY },
		{ TRICK_READY, INC_PKT_CHALLENGE }, { TRICK_MOVE, INC_PKT_MOVE },
		{ TRICK_MOVE, INC_PKT_PEERS }, { TRICK_ABORT, INC_PKT_REFUSE },
	};
	struct netinc_pkt pkt;

	if (!begin_lie(n->sim, g, lies, ARRAY_SIZE(lies), &pkt))
		return;
	/* REFUSE goes by the cookie that the child has */
	pkt.cookie = pkt.type == INC_PKT_REFUSE ? g->up.up_cookie : g->up.down_cookie;
	finish_lie(n, g, node_of(g)->addr, &pkt);
}

static void lie_up(struct node *n, struct netinc_group *g)
{
	static const struct lie lies[] = {
		{ TRICK_AHEAD, INC_PKT_CONTRIB }, { TRICK_AHEAD, INC_PKT_CONTRIB },
		{ TRICK_PROBE, INC_PKT_PROBE }, { TRICK_ABORT, INC_PKT_ABORT },
		{ TRICK_JOIN, INC_PKT_JOIN }, { TRICK_MOVE, INC_PKT_MOVE },
	};
	struct netinc_pkt pkt;

	if (!begin_lie(n->sim, g, lies, ARRAY_SIZE(lies), &pkt))
		return;
	pkt.cookie = g->up.up_cookie;
	pkt.child = g->up.child;
	/* as who is below another node, too */
	if (one_of(n->sim, 8))
		pkt.child = (u32)hostile_below(n->sim, n->sim->plan.hosts + 1);
	finish_lie(n, g, SIM_NODE + n->sim->plan.tree.parent[n->place], &pkt);
}

/* The first group of that node that has a parent. */
static struct netinc_group *group_below(const struct node *n)
{
	struct node_group *ng;

	for (ng = n->box->groups; ng; ng = ng->next)
		if (ng->node == n && ng->g.cfg.has_parent)
			return &ng->g;
	return NULL;
}

void hostile_tree_now(struct node *n)
{
	struct sim *sim = n->sim;
	u32 child = (u32)hostile_below(sim, sim->plan.tree.nodes);
	struct netinc_group *g;

	if (child && sim->plan.tree.parent[child] == n->place) {
		g = group_below(&sim->node[child]);
		if (g)
			lie_down(n, g);
	} else if (n->place) {
		g = group_below(n);
		if (g)
			lie_up(n, g);
	}
}
