// SPDX-License-Identifier: GPL-2.0-only
/* The node: what the kernel's glue does around groups, with datagrams for skbs. */
#include "sim.h"
#include "reduce/reduce.h"

struct node_group {
	struct netinc_group g;
	struct node_group *next;
	struct sim *sim;
	void *mem;
};

static struct sim *sim_of(struct netinc_group *g)
{
	return container_of(g, struct node_group, g)->sim;
}

static struct sim *sim_of_agg(struct netinc_agg *agg)
{
	return sim_of(container_of(agg, struct netinc_group, agg));
}

static void append(struct sim *sim, u32 child, struct dgram *d)
{
	struct node *n = &sim->node;

	if (n->nout[child] == n->cap[child]) {
		n->cap[child] = n->cap[child] ? 2 * n->cap[child] : 64;
		n->out[child] = realloc(n->out[child], n->cap[child] * sizeof(struct dgram *));
		if (!n->out[child])
			sim_fail(sim, "the machine has no memory for %u datagrams", n->cap[child]);
	}
	n->out[child][n->nout[child]++] = d;
}

static void end_run(struct sim *sim, u32 child)
{
	struct netinc_pkt *run = &sim->node.run[child];

	if (run->type)
		append(sim, child, dgram_build(sim, run, NULL, NULL));
	run->type = 0;
}

/* Output is collected and leaves when the frame that caused it has been dealt with, as in the kernel. */
static void queue(struct sim *sim, u32 child, struct dgram *d)
{
	end_run(sim, child);
	append(sim, child, d);
}

static bool continues(const struct netinc_pkt *run, const struct netinc_pkt *pkt)
{
	struct netinc_pkt p = *pkt;

	if (!run->type || run->psn + run->span != pkt->psn)
		return false;
	p.psn = run->psn;
	p.span = run->span;
	return !memcmp(&p, run, sizeof(p));
}

/* A result without elements: several in a row are one packet. */
static void queue_empty(struct sim *sim, u32 child, const struct netinc_pkt *pkt)
{
	struct netinc_pkt *run = &sim->node.run[child];

	if (continues(run, pkt)) {
		run->span++;
		return;
	}
	end_run(sim, child);
	*run = *pkt;
}

static void flush(struct sim *sim)
{
	struct node *n = &sim->node;
	u32 i;

	for (i = 0; i < sim->plan.hosts; i++) {
		end_run(sim, i);
		if (!n->silent)
			net_send(sim, SIM_NODE, i, n->out[i], n->nout[i]);
		while (n->silent && n->nout[i])
			dgram_put(sim, n->out[i][--n->nout[i]]);
		n->nout[i] = 0;
	}
}

/* @children: one of them or NETINC_ALL */
static void queue_all(struct sim *sim, u32 children, struct dgram *d)
{
	u32 i;

	for (i = 0; i < sim->plan.hosts; i++)
		if (children == NETINC_ALL || children == i)
			queue(sim, i, dgram_get(d));
	dgram_put(sim, d);
}

static u32 held_bytes(const struct netinc_pay *pay)
{
	return ((const struct dgram *)pay->obj)->len;
}

static bool agg_hold(struct netinc_agg *agg, struct netinc_pay *pay, bool force)
{
	struct sim *sim = sim_of_agg(agg);

	if (!force && (sim_happens(sim, sim->plan.fail_hold) ||
		       sim->node.held + held_bytes(pay) > sim->plan.hold_limit))
		return false;
	dgram_get(pay->obj);
	sim->node.held += held_bytes(pay);
	check_held(sim);
	return true;
}

static void agg_release(struct netinc_agg *agg, struct netinc_pay *pay)
{
	struct sim *sim = sim_of_agg(agg);

	sim->node.held -= held_bytes(pay);
	dgram_put(sim, pay->obj);
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
static bool result_new(struct sim *sim, struct netinc_slot *slot)
{
	if (sim_happens(sim, sim->plan.fail_fold))
		return false;
	slot->result = (struct netinc_pay) { .len = slot->len, .flags = INC_F_PAYLOAD };
	slot->result.obj = dgram_new(sim, round_up((u32)slot->len, 4u));
	sim->node.held += held_bytes(&slot->result);
	return true;
}

static bool agg_copy(struct netinc_agg *agg, struct netinc_slot *slot, u32 i)
{
	struct sim *sim = sim_of_agg(agg);

	if (!result_new(sim, slot))
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
			sim_fail(sim_of_agg(agg), "children %u and %u both move elements of block %llu", from, i,
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
	struct netinc_fold_args args = { .ranks = container_of(agg, struct netinc_group, agg)->cfg.size };
	struct sim *sim = sim_of_agg(agg);
	const void *src[SIM_MAX_HOSTS];
	u32 i, n = 0;

	if (!(slot->flags & INC_F_PAYLOAD))
		return true;
	if (slot->dop == INC_OP_NONE)
		return agg_move(agg, slot);
	if (!r)
		sim_fail(sim, "no kernel for type %u, operation %u", slot->dtype, slot->dop);
	if (!result_new(sim, slot))
		return false;
	for (i = 0; i < agg->children; i++)
		if (slot->in[i].flags & INC_F_PAYLOAD)
			src[n++] = payload(&slot->in[i]);
	r->fold(((struct dgram *)slot->result.obj)->data, src, n, slot->len / r->elem_size, &args);
	sim->node.folds++;
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
	pkt->span = 1;
}

/* Elements for children that want them; the others are told that the block is complete. */
static void agg_send_result(struct netinc_agg *agg, const struct netinc_slot *slot, u32 child)
{
	struct sim *sim = sim_of_agg(agg);
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
	empty = pkt;
	empty.flags &= ~(INC_F_PAYLOAD | INC_F_FINAL);
	pkt.len = slot->len;
	if (slot->len)
		d = dgram_build(sim, &pkt, NULL, payload(&slot->result));
	sim_trace(sim, "node: result %llu to %d", (unsigned long long)slot->q, (int)child);
	for (i = 0; i < agg->children; i++) {
		if (child != NETINC_ALL && child != i)
			continue;
		if (d && (slot->in[i].flags & INC_F_WANT))
			queue(sim, i, dgram_get(d));
		else
			queue_empty(sim, i, &empty);
	}
	if (d)
		dgram_put(sim, d);
}

static void agg_send_up(struct netinc_agg *agg, const struct netinc_slot *slot)
{
	sim_fail(sim_of_agg(agg), "the root sends block %llu up", (unsigned long long)slot->q);
}

static void agg_send_nack(struct netinc_agg *agg, u32 child, u64 q, u32 span)
{
	struct sim *sim = sim_of_agg(agg);
	struct netinc_pkt pkt;

	pkt_init(agg, &pkt, INC_PKT_NACK);
	pkt.psn = (u32)q;
	pkt.span = span;
	netinc_count(agg->mib, INC_C_NACKS);
	sim_trace(sim, "node: NACK %llu + %u to %u", (unsigned long long)q, span, child);
	queue_all(sim, child, dgram_build(sim, &pkt, NULL, NULL));
}

static void agg_send_status(struct netinc_agg *agg, u32 child, u32 tstamp, const struct inc_status *body, u32 len)
{
	struct sim *sim = sim_of_agg(agg);
	struct netinc_pkt pkt;

	pkt_init(agg, &pkt, INC_PKT_STATUS);
	pkt.psn = (u32)agg->una;
	pkt.tstamp = tstamp;
	pkt.len = len;
	sim_trace(sim, "node: STATUS %llu to %u", (unsigned long long)agg->una, child);
	queue_all(sim, child, dgram_build(sim, &pkt, NULL, body));
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
	.mismatch = netinc_group_mismatch,
};

static void group_send(struct netinc_group *g, u32 child, const struct netinc_pkt *pkt, const void *body, u32 len)
{
	struct sim *sim = sim_of(g);
	struct netinc_pkt p = *pkt;

	p.len = len;
	sim_trace(sim, "node: type %u to %d, epoch %u", p.type, (int)child, p.epoch);
	queue_all(sim, child, dgram_build(sim, &p, NULL, body));
}

static void group_event(struct netinc_group *g, enum inc_event event, u32 rank)
{
	if (event == INC_EVENT_GROUP_FORMED)
		sim_of(g)->node.generation++;
	sim_trace(sim_of(g), "node: event %d, rank %d, epoch %u, state %u", event, (int)rank, g->epoch, g->state);
}

static const struct netinc_group_ops group_ops = { .send = group_send, .event = group_event };

/* As in the kernel, a group that is over is known to its members only; a new run of it may form beside it. */
static struct netinc_group *group_find(struct sim *sim, u32 incarnation)
{
	struct node_group *ng;

	for (ng = sim->node.groups; ng; ng = ng->next)
		if (incarnation ? ng->g.cfg.incarnation == incarnation : !netinc_group_over(&ng->g))
			return &ng->g;
	return NULL;
}

static struct netinc_group *group_new(struct sim *sim, const struct netinc_pkt *pkt, const struct inc_join *join)
{
	struct netinc_group_cfg cfg = {
		.id = pkt->group,
		.incarnation = (u32)sim_random(sim) | 1,
		.size = be32_to_cpu(join->size),
		.window = sim->plan.window,
		.dead_ms = sim->plan.dead_ms,
		.late_ms = sim->plan.late_ms,
		.secret = { sim->node.secret[0], ~sim->node.secret[1] },
	};
	struct node_group *ng = calloc(1, sizeof(*ng));

	ng->sim = sim;
	ng->mem = calloc(1, netinc_group_bytes(cfg.size, cfg.window));
	netinc_group_init(&ng->g, &cfg, ng->mem, &group_ops, &agg_ops);
	ng->next = sim->node.groups;
	sim->node.groups = ng;
	return &ng->g;
}

static void group_free(struct sim *sim, struct node_group **at)
{
	struct node_group *ng = *at;
	u32 i;

	netinc_agg_drain(&ng->g.agg);
	for (i = 0; i < __INC_C_MAX; i++)
		sim->totals[i] += ng->g.mib[i];
	*at = ng->next;
	free(ng->mem);
	free(ng);
	sim->node.generation++;
	if (!sim->node.groups && sim->node.held)
		sim_fail(sim, "%llu bytes are held after the group has gone", (unsigned long long)sim->node.held);
}

static void refuse(struct sim *sim, const struct frame *f, const struct netinc_pkt *pkt, u32 nonce, u16 code,
		   u64 detail)
{
	struct inc_refuse body = { .nonce = cpu_to_be32(nonce), .code = cpu_to_be16(code),
				   .detail = cpu_to_be64(detail) };
	struct netinc_pkt p = { .type = INC_PKT_REFUSE, .group = pkt->group, .incarnation = pkt->incarnation,
				.epoch = pkt->epoch, .cookie = pkt->cookie, .span = 1, .len = sizeof(body) };

	sim_trace(sim, "node: REFUSE %u to %u", code, f->from);
	queue(sim, f->from, dgram_build(sim, &p, NULL, &body));
}

/*
 * The generation is part of it: a late copy of a JOIN, with its challenge and proof, must not make a member of the next
 * run of the group. It changes when a group forms and when one goes.
 */
static u64 challenge_of(const struct sim *sim, u32 from, const struct netinc_pkt *pkt, const struct inc_join *join)
{
	u32 m[5] = { from, pkt->group, pkt->child, (__force u32)join->nonce, sim->node.generation };

	return netinc_siphash(m, sizeof(m), sim->node.secret) | 1;
}

/* Whoever is not a member yet proves first where it is and that it has the key. */
static bool proven(struct sim *sim, const struct frame *f, const struct netinc_pkt *pkt, const struct inc_join *join)
{
	static const u8 key[INC_KEY_LEN];
	u64 challenge = challenge_of(sim, f->from, pkt, join);
	struct inc_challenge body = { .nonce = join->nonce, .challenge = cpu_to_be64(challenge) };
	struct netinc_pkt p = { .type = INC_PKT_CHALLENGE, .group = pkt->group, .span = 1, .len = sizeof(body) };
	__be64 proof[2];

	if (be64_to_cpu(join->challenge) != challenge) {
		sim_trace(sim, "node: CHALLENGE to %u", f->from);
		queue(sim, f->from, dgram_build(sim, &p, NULL, &body));
		return false;
	}
	netinc_join_proof(key, pkt->group, pkt->child, join, proof);
	if (memcmp(proof, join->proof, sizeof(proof)))
		sim_fail(sim, "proof of rank %u is wrong", pkt->child);
	return true;
}

static void rx_join(struct sim *sim, const struct frame *f, const struct netinc_pkt *pkt, const struct inc_join *join)
{
	struct netinc_group *g = NULL;
	struct node_group *ng;
	u64 detail = 0;
	int code = INC_REFUSE_UNKNOWN;

	if (!pkt->incarnation && !proven(sim, f, pkt, join))
		return;
	for (ng = sim->node.groups; ng; ng = ng->next)
		if (netinc_group_over(&ng->g) && netinc_group_knows(&ng->g, pkt, join, &sim->node.peer[f->from]))
			g = &ng->g;
	if (!g)
		g = group_find(sim, pkt->incarnation);
	if (!g && !pkt->incarnation)
		g = group_new(sim, pkt, join);
	if (g)
		code = netinc_group_join(g, pkt, join, &sim->node.peer[f->from], sim->now, &detail);
	if (code)
		refuse(sim, f, pkt, be32_to_cpu(join->nonce), code, detail);
}

/* Returns the group that got a contribution: the frame's end is to be told. */
static struct netinc_group *rx_one(struct sim *sim, const struct frame *f, struct dgram *d)
{
	struct netinc_group *g;
	struct netinc_pay pay;
	struct netinc_pkt pkt;
	int err = netinc_parse(d->data, d->len, &pkt);

	if (err)
		sim_fail(sim, "a datagram of rank %u does not parse: counter %d", f->from, -err);
	sim_trace(sim, "node: type %u from %u, psn %u, flags %#x, opseq %u", pkt.type, f->from, pkt.psn, pkt.flags,
		  pkt.opseq);
	if (pkt.type == INC_PKT_JOIN) {
		rx_join(sim, f, &pkt, (const void *)(d->data + sizeof(struct inc_hdr)));
		return NULL;
	}
	g = group_find(sim, pkt.incarnation);
	if (!g) {
		if (pkt.type != INC_PKT_ABORT)
			refuse(sim, f, &pkt, 0, INC_REFUSE_UNKNOWN, 0);
		return NULL;
	}
	if (netinc_group_check(g, &pkt, &sim->node.peer[f->from], sim->now))
		return NULL;
	if (pkt.type != INC_PKT_CONTRIB) {
		netinc_group_control(g, &pkt, d->data + sizeof(struct inc_hdr), sim->now);
		return NULL;
	}
	pay = (struct netinc_pay) { .obj = d, .off = sizeof(struct inc_hdr), .len = pkt.len, .flags = pkt.flags };
	netinc_group_contrib(g, &pkt, &pay, sim->now);
	return g->state == INC_GROUP_JOINING ? NULL : g;
}

void node_rx(struct sim *sim, const struct frame *f)
{
	struct netinc_group *g = NULL;
	u32 i;

	if (sim->node.silent)
		return;
	for (i = 0; i < f->n; i++)
		g = rx_one(sim, f, f->d[i]);
	if (g)
		netinc_agg_packet_end(&g->agg, f->from, sim->now);
	flush(sim);
}

void node_tick(struct sim *sim)
{
	struct node_group **at = &sim->node.groups;

	while (*at) {
		if (netinc_group_tick(&(*at)->g, sim->now))
			group_free(sim, at);
		else
			at = &(*at)->next;
	}
	flush(sim);
	sim_at(sim, sim->now + sim->plan.dead_ms * NETINC_MS / 8, EV_NODE_TICK, SIM_NODE, NULL);
}

void node_fault(struct sim *sim, enum fault fault)
{
	struct node_group *ng;

	if (fault == FAULT_NODE_SILENT) {
		sim->node.silent = true;
		return;
	}
	for (ng = sim->node.groups; ng && fault == FAULT_NODE_REMOVED; ng = ng->next)
		netinc_group_fail(&ng->g, INC_ERR_NODE_GONE, NETINC_NO_RANK, sim->now);
	flush(sim);
	while (sim->node.groups)
		group_free(sim, &sim->node.groups);
}

bool node_has_groups(const struct sim *sim)
{
	return sim->node.groups;
}

void node_init(struct sim *sim)
{
	u32 i;

	sim->node.sim = sim;
	sim->node.secret[0] = sim_random(sim);
	sim->node.secret[1] = sim_random(sim);
	for (i = 0; i < SIM_MAX_HOSTS; i++) {
		sim->node.peer[i].addr[0] = i;
		sim->node.peer[i].ifindex = i + 1;
	}
	sim_at(sim, sim->plan.dead_ms * NETINC_MS / 8, EV_NODE_TICK, SIM_NODE, NULL);
}

void node_free(struct sim *sim)
{
	u32 i;

	while (sim->node.groups)
		group_free(sim, &sim->node.groups);
	for (i = 0; i < SIM_MAX_HOSTS; i++)
		free(sim->node.out[i]);
}
