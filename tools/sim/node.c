// SPDX-License-Identifier: GPL-2.0-only
/* A node, or the edge: what the kernel's glue does around groups, with datagrams for skbs. */
#include "sim.h"
#include "reduce/reduce.h"

struct node_group {
	struct netinc_group g;
	struct node_group *next;
	struct node *node;
	void *mem;
};

static struct node *node_of(struct netinc_group *g)
{
	return container_of(g, struct node_group, g)->node;
}

static struct node *node_of_agg(struct netinc_agg *agg)
{
	return node_of(container_of(agg, struct netinc_group, agg));
}

static void append(struct node *n, u32 child, struct dgram *d)
{
	if (n->nout[child] == n->cap[child]) {
		n->cap[child] = n->cap[child] ? 2 * n->cap[child] : 64;
		n->out[child] = realloc(n->out[child], n->cap[child] * sizeof(struct dgram *));
		if (!n->out[child])
			sim_fail(n->sim, "the machine has no memory for %u datagrams", n->cap[child]);
	}
	n->out[child][n->nout[child]++] = d;
}

static void end_run(struct node *n, u32 child)
{
	struct netinc_pkt *run = &n->run[child];

	if (run->type)
		append(n, child, dgram_build(n->sim, run, NULL, NULL));
	run->type = 0;
}

/* Output is collected and leaves when the frame that caused it has been dealt with, as in the kernel. */
static void queue(struct node *n, u32 child, struct dgram *d)
{
	end_run(n, child);
	append(n, child, d);
}

static bool continues(const struct netinc_pkt *run, const struct netinc_pkt *pkt)
{
	return run->type && run->psn + run->span == pkt->psn && run->flags == pkt->flags &&
	       run->incarnation == pkt->incarnation && run->epoch == pkt->epoch && run->opseq == pkt->opseq &&
	       run->sig == pkt->sig && run->dtype == pkt->dtype && run->dop == pkt->dop && run->mode == pkt->mode &&
	       run->child == pkt->child;
}

/* A result without elements: several in a row are one packet. */
static void queue_empty(struct node *n, u32 child, const struct netinc_pkt *pkt)
{
	struct netinc_pkt *run = &n->run[child];

	if (continues(run, pkt)) {
		run->span++;
		return;
	}
	end_run(n, child);
	*run = *pkt;
}

static bool silent(const struct node *n)
{
	return n->silent || trouble_at(n->sim, TROUBLE_SILENT, n->place) ||
	       trouble_at(n->sim, TROUBLE_RESTART, n->place);
}

static void flush(struct node *n)
{
	u32 i;

	for (i = 0; i < n->sim->plan.hosts; i++) {
		end_run(n, i);
		if (!silent(n))
			net_send(n->sim, n->addr, i, n->net[i], n->out[i], n->nout[i]);
		while (silent(n) && n->nout[i])
			dgram_put(n->sim, n->out[i][--n->nout[i]]);
		n->nout[i] = 0;
	}
}

/* @children: one of them or NETINC_ALL */
static void queue_all(struct node *n, u32 children, struct dgram *d)
{
	u32 i;

	for (i = 0; i < n->sim->plan.hosts; i++)
		if (children == NETINC_ALL || children == i)
			queue(n, i, dgram_get(d));
	dgram_put(n->sim, d);
}

static u32 held_bytes(const struct netinc_pay *pay)
{
	return ((const struct dgram *)pay->obj)->len;
}

static bool agg_hold(struct netinc_agg *agg, struct netinc_pay *pay, bool force)
{
	struct node *n = node_of_agg(agg);

	if (!force && (sim_happens(n->sim, n->sim->plan.fail_hold) ||
		       n->held + held_bytes(pay) > n->sim->plan.hold_limit))
		return false;
	dgram_get(pay->obj);
	n->held += held_bytes(pay);
	check_held(n);
	return true;
}

static void agg_release(struct netinc_agg *agg, struct netinc_pay *pay)
{
	struct node *n = node_of_agg(agg);

	n->held -= held_bytes(pay);
	dgram_put(n->sim, pay->obj);
}

static void agg_desc(struct netinc_agg *agg, const struct netinc_pay *pay, struct inc_desc *desc)
{
	(void)agg;
	memset(desc, 0, sizeof(*desc));
	if (pay->obj && (pay->flags & INC_F_DESC))
		memcpy(desc, ((struct dgram *)pay->obj)->data + pay->off, sizeof(*desc));
}

static const u8 *payload(const struct netinc_pay *pay)
{
	return ((struct dgram *)pay->obj)->data + pay->off +
	       (pay->flags & INC_F_DESC ? sizeof(struct inc_desc) : 0);
}

/* Memory for a result of slot->len bytes. */
static bool result_new(struct node *n, struct netinc_slot *slot)
{
	if (sim_happens(n->sim, n->sim->plan.fail_fold))
		return false;
	slot->result = (struct netinc_pay) { .len = slot->len, .flags = INC_F_PAYLOAD };
	slot->result.obj = dgram_new(n->sim, round_up((u32)slot->len, 4u));
	n->held += held_bytes(&slot->result);
	return true;
}

static bool agg_copy(struct netinc_agg *agg, struct netinc_slot *slot, u32 i)
{
	if (!result_new(node_of_agg(agg), slot))
		return false;
	memcpy(((struct dgram *)slot->result.obj)->data, payload(&slot->in[i]), slot->len);
	return true;
}

/* Elements that are only moved come from one child. */
static bool agg_move(struct netinc_agg *agg, struct netinc_slot *slot)
{
	u32 i, from = NETINC_NO_RANK;

	for (i = 0; i < agg->children; i++) {
		if (!(slot->in[i].flags & INC_F_PAYLOAD))
			continue;
		if (from != NETINC_NO_RANK)
			sim_fail(node_of_agg(agg)->sim, "children %u and %u both move elements of block %llu", from, i,
				 (unsigned long long)slot->q);
		from = i;
	}
	return agg_copy(agg, slot, from);
}

static bool agg_can_fold(struct netinc_agg *agg, u8 dtype, u8 dop, u8 mode)
{
	(void)agg;
	return dop == INC_OP_NONE || netinc_reduce_find(dtype, dop, mode, true);
}

static bool agg_fold(struct netinc_agg *agg, struct netinc_slot *slot)
{
	const struct netinc_reduce *r = netinc_reduce_find(slot->dtype, slot->dop, slot->mode, true);
	struct node *node = node_of_agg(agg);
	struct netinc_fold_args args = { 0 };
	const void *src[SIM_MAX_HOSTS];
	u32 i, n = 0;

	if (!(slot->flags & INC_F_PAYLOAD))
		return true;
	if (slot->dop == INC_OP_NONE)
		return agg_move(agg, slot);
	if (!r)
		sim_fail(node->sim, "no kernel for type %u, operation %u", slot->dtype, slot->dop);
	if (!result_new(node, slot))
		return false;
	for (i = 0; i < agg->children; i++)
		if (slot->in[i].flags & INC_F_PAYLOAD)
			src[n++] = payload(&slot->in[i]);
	args.ranks = n;
	r->fold(((struct dgram *)slot->result.obj)->data, src, n, slot->len / r->elem_size, &args);
	node->folds++;
	return true;
}

static void pkt_init(const struct netinc_agg *agg, struct netinc_pkt *pkt, u8 type)
{
	const struct netinc_group *g = container_of(agg, const struct netinc_group, agg);

	memset(pkt, 0, sizeof(*pkt));
	pkt->type = type;
	pkt->group = g->cfg.id;
	pkt->incarnation = g->cfg.incarnation;
	pkt->epoch = g->epoch;
	pkt->cookie = g->down_cookie;
	pkt->tree = agg->tree;
	pkt->span = 1;
}

/* Elements for children that want them; the others are told that the block is complete. */
static void agg_send_result(struct netinc_agg *agg, const struct netinc_slot *slot, u32 child)
{
	struct node *n = node_of_agg(agg);
	struct netinc_pkt pkt, empty;
	struct dgram *d = NULL;
	u32 i;

	pkt_init(agg, &pkt, INC_PKT_RESULT);
	pkt.psn = (u32)slot->q;
	pkt.opseq = slot->opseq;
	pkt.sig = slot->sig;
	pkt.dtype = slot->dtype;
	pkt.dop = slot->dop;
	pkt.mode = slot->mode;
	pkt.flags = slot->flags & ~(INC_F_DESC | INC_F_LEAVE);
	pkt.child = slot->flags & INC_F_PARTIAL ? slot->set : 0;
	empty = pkt;
	empty.flags &= ~(INC_F_PAYLOAD | INC_F_FINAL);
	pkt.len = slot->len;
	if (slot->len)
		d = dgram_build(n->sim, &pkt, NULL, payload(&slot->result));
	sim_trace(n->sim, "node %u: result %llu to %d", n->place, (unsigned long long)slot->q, (int)child);
	for (i = 0; i < agg->children; i++) {
		if (child != NETINC_ALL && child != i)
			continue;
		if (d && (slot->in[i].flags & INC_F_WANT))
			queue(n, i, dgram_get(d));
		else
			queue_empty(n, i, &empty);
	}
	if (d)
		dgram_put(n->sim, d);
}

static void agg_send_up(struct netinc_agg *agg, const struct netinc_slot *slot)
{
	sim_fail(node_of_agg(agg)->sim, "the root sends block %llu up", (unsigned long long)slot->q);
}

static void agg_send_nack(struct netinc_agg *agg, u32 child, u64 q, u32 span)
{
	struct node *n = node_of_agg(agg);
	struct netinc_pkt pkt;

	pkt_init(agg, &pkt, INC_PKT_NACK);
	pkt.psn = (u32)q;
	pkt.span = span;
	netinc_count(agg->mib, INC_C_NACKS);
	sim_trace(n->sim, "node %u: NACK %llu + %u to %u", n->place, (unsigned long long)q, span, child);
	queue_all(n, child, dgram_build(n->sim, &pkt, NULL, NULL));
}

static void agg_send_status(struct netinc_agg *agg, u32 child, u32 tstamp, const struct inc_status *body, u32 len)
{
	struct node *n = node_of_agg(agg);
	struct netinc_pkt pkt;

	pkt_init(agg, &pkt, INC_PKT_STATUS);
	pkt.psn = (u32)agg->una;
	pkt.tstamp = tstamp;
	pkt.len = len;
	sim_trace(n->sim, "node %u: STATUS %llu to %u", n->place, (unsigned long long)agg->una, child);
	queue_all(n, child, dgram_build(n->sim, &pkt, NULL, body));
}

static void agg_send_partial(struct netinc_agg *agg, u32 child, const struct inc_partial *body, u32 len)
{
	struct node *n = node_of_agg(agg);
	struct netinc_pkt pkt;

	pkt_init(agg, &pkt, INC_PKT_PARTIAL);
	pkt.len = len;
	sim_trace(n->sim, "node %u: PARTIAL %u to %d: %#x", n->place, be16_to_cpu(body->set), (int)child,
		  be32_to_cpu(body->bitmap[0]));
	queue_all(n, child, dgram_build(n->sim, &pkt, NULL, body));
}

static const struct netinc_agg_ops agg_ops = {
	.hold = agg_hold,
	.release = agg_release,
	.desc = agg_desc,
	.fold = agg_fold,
	.copy = agg_copy,
	.can_fold = agg_can_fold,
	.send_result = agg_send_result,
	.send_up = agg_send_up,
	.send_nack = agg_send_nack,
	.send_status = agg_send_status,
	.send_partial = agg_send_partial,
	.mismatch = netinc_group_mismatch,
};

static void group_send(struct netinc_group *g, u32 child, const struct netinc_pkt *pkt, const void *body, u32 len)
{
	struct node *n = node_of(g);
	struct netinc_pkt p = *pkt;

	p.len = len;
	sim_trace(n->sim, "node %u: type %u to %d, epoch %u", n->place, p.type, (int)child, p.epoch);
	queue_all(n, child, dgram_build(n->sim, &p, NULL, body));
}

static void group_event(struct netinc_group *g, enum inc_event event, u32 rank)
{
	struct node *n = node_of(g);

	if (event == INC_EVENT_GROUP_FORMED)
		n->generation++;
	if (event == INC_EVENT_GROUP_FORMED || event == INC_EVENT_GROUP_EPOCH)
		trouble_now(n->sim, g->move ? WHEN_MOVED : WHEN_FORMED);
	if (event == INC_EVENT_GROUP_ERROR)
		trouble_now(n->sim, WHEN_ERROR);
	sim_trace(n->sim, "node %u: event %d, rank %d, epoch %u, state %u, move %u", n->place, event, (int)rank,
		  g->epoch, g->state, g->move);
}

static const struct netinc_group_ops group_ops = { .send = group_send, .event = group_event };

/*
 * As in the kernel, a group that is over is known to its members only; a new run of it may form beside it, and beside
 * one that has come from elsewhere.
 */
static struct netinc_group *group_find(const struct node *n, u32 incarnation)
{
	struct node_group *ng;

	for (ng = n->groups; ng; ng = ng->next)
		if (incarnation ? ng->g.cfg.incarnation == incarnation :
				  !ng->g.cfg.move && !netinc_group_over(&ng->g))
			return &ng->g;
	return NULL;
}

static struct netinc_group *group_of_lineage(const struct node *n, u64 lineage)
{
	struct node_group *ng;

	for (ng = n->groups; ng; ng = ng->next)
		if (ng->g.cfg.lineage == lineage)
			return &ng->g;
	return NULL;
}

static struct netinc_group *group_over(const struct node *n, const struct netinc_pkt *pkt, const struct inc_join *join,
				       const struct netinc_peer *peer)
{
	struct netinc_group *g = NULL;
	struct node_group *ng;

	for (ng = n->groups; ng; ng = ng->next)
		if (netinc_group_over(&ng->g) && netinc_group_knows(&ng->g, pkt, join, peer))
			g = &ng->g;
	return g;
}

/* What the group brings along, or gets from the node. */
static struct netinc_group *group_new(struct node *n, const struct netinc_pkt *pkt, const struct inc_join *join)
{
	const struct plan *p = &n->sim->plan;
	struct netinc_group_cfg cfg = {
		.id = pkt->group,
		.incarnation = (u32)sim_random(n->sim) | 1,
		.size = be32_to_cpu(join->size),
		.window = p->window,
		.dead_ms = p->dead_ms,
		.late_ms = p->late_ms,
		.late_policy = p->late_ms ? INC_LATE_PARTIAL : INC_LATE_WAIT,
		.fallback = p->fallback,
		.secret = { n->secret[0], ~n->secret[1] },
	};
	struct node_group *ng = calloc(1, sizeof(*ng));

	for (; !join->lineage && p->fallback && cfg.nstandby < p->standbys; cfg.nstandby++)
		cfg.standby[cfg.nstandby] = trouble_peer(SIM_NODE + 1 + cfg.nstandby,
							 trouble_net(n->sim, 1 + cfg.nstandby));
	cfg.lineage = join->lineage ? be64_to_cpu(join->lineage) : sim_random(n->sim) | 1;
	if (join->lineage) {
		cfg.move = be32_to_cpu(join->move);
		cfg.window = be16_to_cpu(join->window);
		cfg.dead_ms = be32_to_cpu(join->dead_ms);
		cfg.late_ms = be32_to_cpu(join->late_ms);
		cfg.late_policy = join->late_policy;
		cfg.fallback = join->fallback;
	}
	cfg.spread = join->lineage && n->place == SIM_EDGE;
	ng->node = n;
	ng->mem = calloc(1, netinc_group_bytes(cfg.size, cfg.window));
	netinc_group_init(&ng->g, &cfg, ng->mem, &group_ops, &agg_ops);
	ng->next = n->groups;
	n->groups = ng;
	return &ng->g;
}

static void group_free(struct node *n, struct node_group **at)
{
	struct node_group *ng = *at;
	u32 i;

	netinc_agg_drain(&ng->g.agg);
	for (i = 0; i < __INC_C_MAX; i++)
		n->sim->totals[i] += ng->g.mib[i];
	*at = ng->next;
	free(ng->mem);
	free(ng);
	n->generation++;
	if (!n->groups && n->held)
		sim_fail(n->sim, "%llu bytes are held after the group has gone", (unsigned long long)n->held);
}

static void refuse(struct node *n, const struct frame *f, const struct netinc_pkt *pkt, u32 nonce, u16 code, u64 detail)
{
	struct inc_refuse body = { .nonce = cpu_to_be32(nonce), .code = cpu_to_be16(code),
				   .detail = cpu_to_be64(detail) };
	struct netinc_pkt p = { .type = INC_PKT_REFUSE, .group = pkt->group, .incarnation = pkt->incarnation,
				.epoch = pkt->epoch, .cookie = pkt->cookie, .span = 1, .len = sizeof(body) };

	sim_trace(n->sim, "node %u: REFUSE %u to %u", n->place, code, f->from);
	queue(n, f->from, dgram_build(n->sim, &p, NULL, &body));
}

/*
 * The generation is part of it: a late copy of a JOIN, with its challenge and proof, must not make a member of the next
 * run of the group. It changes when a group forms and when one goes.
 */
static u64 challenge_of(const struct node *n, u32 from, const struct netinc_pkt *pkt, const struct inc_join *join)
{
	u32 m[5] = { from, pkt->group, pkt->child, (__force u32)join->nonce, n->generation };

	return netinc_siphash(m, sizeof(m), n->secret) | 1;
}

/* Whoever is not a member yet proves first where it is and that it has the key. */
static bool proven(struct node *n, const struct frame *f, const struct netinc_pkt *pkt, const struct inc_join *join)
{
	static const u8 key[INC_KEY_LEN];
	u64 challenge = challenge_of(n, f->from, pkt, join);
	struct inc_challenge body = { .nonce = join->nonce, .challenge = cpu_to_be64(challenge) };
	struct netinc_pkt p = { .type = INC_PKT_CHALLENGE, .group = pkt->group, .span = 1, .len = sizeof(body) };
	__be64 proof[2];

	if (be64_to_cpu(join->challenge) != challenge) {
		sim_trace(n->sim, "node %u: CHALLENGE to %u", n->place, f->from);
		queue(n, f->from, dgram_build(n->sim, &p, NULL, &body));
		return false;
	}
	netinc_join_proof(key, pkt->group, pkt->child, join, proof);
	if (memcmp(proof, join->proof, sizeof(proof)))
		sim_fail(n->sim, "proof of rank %u is wrong", pkt->child);
	return true;
}

/* The group, or the run of it, that a JOIN is for. */
static struct netinc_group *group_for(const struct node *n, const struct netinc_pkt *pkt, const struct inc_join *join,
				      const struct netinc_peer *peer)
{
	struct netinc_group *g;

	if (pkt->incarnation)
		return group_find(n, pkt->incarnation);
	if (join->lineage)
		return group_of_lineage(n, be64_to_cpu(join->lineage));
	g = group_over(n, pkt, join, peer);
	return g ?: group_find(n, 0);
}

/* As long as the rank that lives here is in that epoch; what it was in before is of no use to anybody. */
void node_plant(struct node *n, const struct netinc_tree_cfg *tree, const struct netinc_peer *peers)
{
	struct node_group *ng = calloc(1, sizeof(*ng));
	struct netinc_group_cfg cfg;

	node_forget(n);
	n->sim->trees++;
	sim_trace(n->sim, "node %u: tree %u of %u, epoch %u", n->place, tree->tree, tree->trees, tree->epoch);
	netinc_tree_group_cfg(tree, &cfg);
	ng->node = n;
	ng->mem = calloc(1, netinc_group_bytes(cfg.size, cfg.window));
	netinc_group_init(&ng->g, &cfg, ng->mem, &group_ops, &agg_ops);
	netinc_tree_begin(&ng->g, tree, peers, n->sim->now);
	ng->next = n->groups;
	n->groups = ng;
}

static void rx_join(struct node *n, const struct frame *f, const struct netinc_pkt *pkt, const struct inc_join *join)
{
	struct netinc_peer peer = trouble_peer(f->from, f->net);
	int code = INC_REFUSE_UNKNOWN;
	struct netinc_group *g;
	u64 detail = 0;

	/* the edge is one for the group only that its own rank is in, and its root is with rank 0 */
	if (n->place > SIM_EDGE)
		return;
	if (n->place == SIM_EDGE && be64_to_cpu(join->lineage) != n->sim->edge_lineage)
		return;
	if (trouble_at(n->sim, TROUBLE_REMOVED, n->place)) {
		refuse(n, f, pkt, be32_to_cpu(join->nonce), INC_REFUSE_NO_NODE, 0);
		return;
	}
	if (!pkt->incarnation && !proven(n, f, pkt, join))
		return;
	g = group_for(n, pkt, join, &peer);
	if (!g && !pkt->incarnation)
		g = group_new(n, pkt, join);
	/* only members of an epoch that was come without challenge */
	if (g && !(pkt->incarnation && g->state == INC_GROUP_JOINING))
		code = netinc_group_join(g, pkt, join, &peer, n->sim->now, &detail);
	if (code)
		refuse(n, f, pkt, be32_to_cpu(join->nonce), code, detail);
}

/* Returns the group that got a contribution: the frame's end is to be told. */
static struct netinc_group *rx_one(struct node *n, const struct frame *f, struct dgram *d)
{
	struct netinc_peer peer = trouble_peer(f->from, f->net);
	struct sim *sim = n->sim;
	struct netinc_group *g;
	struct netinc_pay pay;
	struct netinc_pkt pkt;
	int err = netinc_parse(d->data, d->len, &pkt);

	if (err)
		sim_fail(sim, "a datagram of rank %u does not parse: counter %d", f->from, -err);
	sim_trace(sim, "node %u: type %u from %u, psn %u, flags %#x, opseq %u", n->place, pkt.type, f->from, pkt.psn,
		  pkt.flags, pkt.opseq);
	if (pkt.type == INC_PKT_JOIN) {
		rx_join(n, f, &pkt, (const void *)(d->data + sizeof(struct inc_hdr)));
		return NULL;
	}
	g = pkt.incarnation ? group_find(n, pkt.incarnation) : group_find(n, 0);
	if (!g) {
		if (pkt.type != INC_PKT_ABORT && !pkt.tree)
			refuse(n, f, &pkt, 0, INC_REFUSE_UNKNOWN, 0);
		return NULL;
	}
	if (netinc_group_check(g, &pkt, &peer, sim->now))
		return NULL;
	if (pkt.type != INC_PKT_CONTRIB) {
		netinc_group_control(g, &pkt, d->data + sizeof(struct inc_hdr), sim->now);
		return NULL;
	}
	pay = (struct netinc_pay) { .obj = d, .off = sizeof(struct inc_hdr), .len = pkt.len, .flags = pkt.flags };
	netinc_group_contrib(g, &pkt, &pay, sim->now);
	return g->state == INC_GROUP_JOINING ? NULL : g;
}

void node_rx(struct node *n, const struct frame *f)
{
	struct netinc_group *g = NULL;
	u32 i;

	if (silent(n))
		return;
	n->net[f->from] = f->net;
	for (i = 0; i < f->n; i++)
		g = rx_one(n, f, f->d[i]);
	if (g)
		netinc_agg_packet_end(&g->agg, f->from, n->sim->now);
	flush(n);
}

static bool lives_in(const struct host *h, const struct netinc_group *g)
{
	return h->ep.incarnation == g->cfg.incarnation && h->ep.epoch == g->epoch &&
	       h->ep.state != INC_STATE_FAILED && h->ep.state != INC_STATE_CLOSED;
}

void node_tick(struct node *n)
{
	const struct host *h = n->place >= SIM_EDGE ? &n->sim->host[n->place - SIM_EDGE] : NULL;
	struct node_group **at = &n->groups;

	sim_at(n->sim, n->sim->now + n->sim->plan.dead_ms * NETINC_MS / 8, EV_NODE_TICK, n->place, NULL);
	if (h && (h->frozen || n->sim->now < h->paused_until))
		return;
	while (*at) {
		struct netinc_group *g = &(*at)->g;

		if (netinc_group_is_branch(g) && !g->ended && !lives_in(h, g))
			g->ended = n->sim->now;
		if (netinc_group_tick(&(*at)->g, n->sim->now))
			group_free(n, at);
		else
			at = &(*at)->next;
	}
	flush(n);
}

void node_forget(struct node *n)
{
	while (n->groups)
		group_free(n, &n->groups);
}

void node_remove(struct node *n)
{
	struct node_group *ng;

	for (ng = n->groups; ng; ng = ng->next)
		netinc_group_fail(&ng->g, INC_ERR_NODE_GONE, NETINC_NO_RANK, n->sim->now);
	flush(n);
	node_forget(n);
}

bool node_has_groups(const struct sim *sim)
{
	u32 i;

	for (i = 0; i < SIM_PLACES; i++)
		if (sim->node[i].groups && !(i >= SIM_EDGE && sim->host[i - SIM_EDGE].frozen))
			return true;
	return false;
}

void node_init(struct sim *sim)
{
	u32 i, k;

	for (i = 0; i < SIM_PLACES; i++) {
		struct node *n = &sim->node[i];

		n->sim = sim;
		n->place = i;
		n->addr = i >= SIM_EDGE ? i - SIM_EDGE : SIM_NODE + i;
		for (k = 0; k < SIM_MAX_HOSTS; k++)
			n->net[k] = trouble_net(sim, i);
		n->secret[0] = sim_random(sim);
		n->secret[1] = sim_random(sim);
		if (!i || (sim->plan.fallback && i < SIM_EDGE + sim->plan.hosts))
			sim_at(sim, sim->plan.dead_ms * NETINC_MS / 8, EV_NODE_TICK, i, NULL);
	}
}

void node_free(struct sim *sim)
{
	u32 i, k;

	for (i = 0; i < SIM_PLACES; i++) {
		node_forget(&sim->node[i]);
		for (k = 0; k < SIM_MAX_HOSTS; k++)
			free(sim->node[i].out[k]);
	}
}
