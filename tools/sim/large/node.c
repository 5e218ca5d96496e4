// SPDX-License-Identifier: GPL-2.0-only
/* A node: what the kernel's glue does around the runs of the one group that there is. */
#include "large.h"

struct node_group *node_group_of(struct netinc_group *g)
{
	return container_of(g, struct node_group, g);
}

void node_send(struct node_group *ng, u32 child, const struct netinc_pkt *pkt, const void *body,
	       u32 len)
{
	const struct netinc_member *m;
	u32 i;

	for (i = 0; i < ng->g.nmembers; i++) {
		m = &ng->g.members[i];
		if (child == i || (child == NETINC_ALL && m->peer.family))
			net_send(ng->sys, ng->node, addr_of(&m->peer), pkt, body, len, NULL);
	}
}

static void group_send(struct netinc_group *g, u32 child, const struct netinc_pkt *pkt,
		       const void *body, u32 len)
{
	node_send(node_group_of(g), child, pkt, body, len);
}

static void group_up(struct netinc_group *g, const struct netinc_pkt *pkt, const void *body,
		     u32 len)
{
	struct node_group *ng = node_group_of(g);

	net_send(ng->sys, ng->node, ng->sys->node[ng->node].parent, pkt, body, len, NULL);
}

static void group_event(struct netinc_group *g, enum inc_event event, u32 rank)
{
	(void)g;
	(void)event;
	(void)rank;
}

/* The way to a member is where its JOIN came from. */
static bool group_link(struct netinc_group *g, u32 rank, const struct netinc_peer *peer)
{
	(void)g;
	(void)rank;
	(void)peer;
	return true;
}

static void group_renumber(struct netinc_group *g, u32 from, u32 to)
{
	(void)g;
	(void)from;
	(void)to;
}

static const struct netinc_group_ops group_ops = {
	.send = group_send,
	.event = group_event,
	.link = group_link,
	.renumber = group_renumber,
	.send_up = group_up,
};

static struct node_group *group_new(struct large *sys, u32 i)
{
	struct node *n = &sys->node[i];
	struct netinc_group_cfg cfg = {
		.id = LARGE_GROUP,
		.incarnation = ++sys->nonces,
		.size = sys->cfg.ranks,
		.block = INC_MAX_BLOCK,
		.settings = { .window = sys->cfg.window, .dead_ms = sys->cfg.dead_ms },
		.secret = { n->secret[0], ~n->secret[1] },
		.has_parent = n->parent != LARGE_NOBODY,
		.up_block = sys->cfg.block,
		.up_nonce = ++sys->nonces,
		.lineage = ++sys->nonces,
	};
	struct node_group *ng = calloc(1, sizeof(*ng));

	if (ng)
		ng->mem = calloc(1, netinc_group_bytes(cfg.size, cfg.settings.window));
	if (!ng || !ng->mem)
		die(sys, "the machine has no memory for a group");
	ng->sys = sys;
	ng->node = i;
	netinc_group_init(&ng->g, &cfg, ng->mem, &group_ops, &fold_ops);
	ng->next = n->groups;
	n->groups = ng;
	return ng;
}

static void group_free(struct node_group **at)
{
	struct node_group *ng = *at;

	netinc_agg_drain(&ng->g.agg);
	*at = ng->next;
	free(ng->mem);
	free(ng);
}

void node_forget(struct large *sys, u32 i)
{
	while (sys->node[i].groups)
		group_free(&sys->node[i].groups);
}

/* A group that is over is known to its members only; a new run forms beside it. */
static struct node_group *group_find(const struct node *n, u32 incarnation)
{
	struct node_group *ng;

	for (ng = n->groups; ng; ng = ng->next)
		if (incarnation ? ng->g.cfg.incarnation == incarnation :
				  !netinc_group_over(&ng->g))
			return ng;
	return NULL;
}

static u64 challenge_of(const struct node *n, const struct frame *f, const struct inc_join *join)
{
	u32 m[3] = { f->from, f->pkt.child, (__force u32)join->nonce };

	return netinc_siphash(m, sizeof(m), n->secret) | 1;
}

/* Whoever is not a member yet proves first where it is and that it has the key. */
static bool proven(struct large *sys, u32 i, const struct frame *f, const struct inc_join *join)
{
	static const u8 key[INC_KEY_LEN];
	u64 challenge = challenge_of(&sys->node[i], f, join);
	struct inc_challenge body = { .nonce = join->nonce, .challenge = cpu_to_be64(challenge) };
	struct netinc_pkt pkt = { .type = INC_PKT_CHALLENGE, .group = f->pkt.group, .span = 1 };
	__be64 proof[2];

	if (be64_to_cpu(join->challenge) != challenge) {
		net_send(sys, i, f->from, &pkt, &body, sizeof(body), NULL);
		return false;
	}
	netinc_join_proof(key, f->pkt.group, f->pkt.child, join, proof);
	if (memcmp(proof, join->proof, sizeof(proof)))
		die(sys, "the proof of %u is wrong", f->from);
	return true;
}

static void refuse(struct large *sys, u32 i, const struct frame *f, __be32 nonce, u16 code)
{
	struct inc_refuse body = { .nonce = nonce, .code = cpu_to_be16(code) };
	struct netinc_pkt pkt = { .type = INC_PKT_REFUSE, .group = f->pkt.group,
				  .incarnation = f->pkt.incarnation, .epoch = f->pkt.epoch,
				  .cookie = f->pkt.cookie, .span = 1 };

	net_send(sys, i, f->from, &pkt, &body, sizeof(body), NULL);
}

static void rx_join(struct large *sys, u32 i, const struct frame *f)
{
	const struct inc_join *join = (const void *)f->body;
	struct netinc_peer peer = peer_of(f->from);
	struct node_group *ng;
	u64 detail = 0;
	int code;

	if (!f->pkt.incarnation && !proven(sys, i, f, join))
		return;
	ng = group_find(&sys->node[i], f->pkt.incarnation);
	if (!ng && !f->pkt.incarnation)
		ng = group_new(sys, i);
	code = ng ? netinc_group_join(&ng->g, &f->pkt, join, &peer, engine_now(sys), &detail) :
		    INC_REFUSE_UNKNOWN;
	if (code)
		refuse(sys, i, f, join->nonce, code);
}

static void rx_below(struct large *sys, u32 i, const struct frame *f)
{
	struct node_group *ng = group_find(&sys->node[i], f->pkt.incarnation);
	struct netinc_pay pay = { .obj = f->load, .len = f->pkt.len, .flags = f->pkt.flags };
	struct netinc_peer peer = peer_of(f->from);
	struct netinc_pkt pkt = f->pkt;

	if (!ng || !pkt.incarnation) {
		if (pkt.type != INC_PKT_ABORT)
			refuse(sys, i, f, 0, INC_REFUSE_UNKNOWN);
		return;
	}
	if (netinc_group_check(&ng->g, &pkt, &peer, engine_now(sys)))
		return;
	netinc_group_buffer_begin(&ng->g);
	if (pkt.type != INC_PKT_CONTRIB) {
		netinc_group_control(&ng->g, &pkt, f->body, engine_now(sys));
		return;
	}
	netinc_group_contrib(&ng->g, &pkt, &pay, engine_now(sys));
	if (ng->g.state != INC_GROUP_JOINING)
		netinc_agg_packet_end(&ng->g.agg, pkt.child, engine_now(sys));
}

/* Answers to JOIN repeat its nonce, which stands first in all of these. */
static bool is_membership(u8 type)
{
	return type == INC_PKT_CHALLENGE || type == INC_PKT_WAIT || type == INC_PKT_READY ||
	       type == INC_PKT_REFUSE;
}

static bool is_for(const struct netinc_group *g, const struct frame *f)
{
	__be32 nonce;

	if (!is_membership(f->pkt.type))
		return f->pkt.incarnation == g->up.incarnation;
	if (f->pkt.cookie && f->pkt.cookie == g->up.up_cookie)
		return true;
	memcpy(&nonce, f->body, sizeof(nonce));
	return be32_to_cpu(nonce) == g->cfg.up_nonce;
}

static void rx_above(struct large *sys, u32 i, const struct frame *f)
{
	struct netinc_pay pay = { .obj = f->load, .len = f->pkt.len, .flags = f->pkt.flags };
	struct node_group *ng;

	for (ng = sys->node[i].groups; ng; ng = ng->next) {
		if (!is_for(&ng->g, f))
			continue;
		netinc_group_buffer_begin(&ng->g);
		if (f->pkt.type == INC_PKT_RESULT)
			netinc_group_result(&ng->g, &f->pkt, &pay, engine_now(sys));
		else
			netinc_group_from_parent(&ng->g, &f->pkt, f->body, engine_now(sys));
	}
}

void node_rx(struct large *sys, u32 i, const struct frame *f)
{
	if (sys->node[i].silent)
		return;
	if (f->from == sys->node[i].parent)
		rx_above(sys, i, f);
	else if (f->pkt.type == INC_PKT_JOIN)
		rx_join(sys, i, f);
	else
		rx_below(sys, i, f);
}

/* Often while something is to be expected from a parent, as in the kernel. */
static u64 tick_period(const struct large *sys, u32 i)
{
	const struct node_group *ng;

	/* which hears of that when it begins */
	for (ng = sys->node[i].groups; ng; ng = ng->next)
		if (sys->cfg.far_mbit || netinc_uplink_is_busy(&ng->g))
			return 10000000;
	return sys->cfg.dead_ms * 1000000ull / 8;
}

void node_tick(struct large *sys, u32 i)
{
	struct node_group **at = &sys->node[i].groups;

	while (*at && !sys->node[i].silent)
		if (netinc_group_tick(&(*at)->g, engine_now(sys)))
			group_free(at);
		else
			at = &(*at)->next;
	net_timer(sys, sys->now + tick_period(sys, i), i);
}

void node_start(struct large *sys, u32 i)
{
	sys->node[i].secret[0] = 0x1234567800000000ull + i;
	sys->node[i].secret[1] = 0x8765432100000000ull - i;
	net_timer(sys, sys->now + sys->cfg.dead_ms * 1000000ull / 8, i);
}
