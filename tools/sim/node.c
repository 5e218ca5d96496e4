// SPDX-License-Identifier: GPL-2.0-only
/* A node, or the edge: what the kernel's glue does around groups. */
#include "node.h"

/* Its JOIN has been accepted: from now on its packets go there. */
static bool group_link(struct netinc_group *g, u32 rank, const struct netinc_peer *peer)
{
	u32 addr = peer->addr[1];

	node_group_of(g)->link[rank] = addr < SIM_ADDRS ? addr : addr % SIM_MAX_HOSTS;
	return true;
}

static void group_renumber(struct netinc_group *g, u32 from, u32 to)
{
	node_group_of(g)->link[to] = node_group_of(g)->link[from];
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
	if (event == INC_EVENT_GROUP_FORMED && n->place == SIM_EDGE && !n->sim->edge_epoch) {
		n->sim->edge_epoch = g->epoch;
		n->sim->edge_spread = g->agg.spread;
	}
	sim_trace(n->sim, "node %u: event %d, rank %d, epoch %u, state %u, move %u", n->place,
		  event, (int)rank, g->epoch, g->state, g->move);
}

/* As one_port.c of the kernel's node: all of them come by one port. */
bool node_may_hear(struct netinc_group *g, u32 child)
{
	const struct netinc_member *m = g->members;
	u32 i;

	for (i = 0; i < g->nmembers; i++)
		if (m[i].present && m[i].peer.ifindex != m[child].peer.ifindex)
			return false;
	return true;
}

static const struct netinc_group_ops group_ops = { .send = node_send,
						   .event = group_event,
						   .link = group_link,
						   .renumber = group_renumber,
						   .multicast = node_may_hear,
						   .send_up = node_send_up };

/*
 * As in the kernel, a group that is over is known to its members only; a new run of it may form
 * beside it, and beside one that has come from elsewhere.
 */
static struct netinc_group *group_find(const struct node *n, u32 id, u32 incarnation)
{
	struct node_group *ng;

	for (ng = n->box->groups; ng; ng = ng->next)
		if (ng->g.cfg.id == id &&
		    (incarnation ? ng->g.cfg.incarnation == incarnation :
				   !ng->g.cfg.move && !netinc_group_over(&ng->g)))
			return &ng->g;
	return NULL;
}

static struct netinc_group *group_moved(const struct node *n, u32 id, const struct inc_join *join)
{
	struct node_group *ng;

	for (ng = n->box->groups; ng; ng = ng->next)
		if (ng->g.cfg.id == id &&
		    netinc_group_is_for(&ng->g, be64_to_cpu(join->lineage),
					be32_to_cpu(join->move), netinc_join_returns(join)))
			return &ng->g;
	return NULL;
}

static struct netinc_group *group_over(const struct node *n, const struct netinc_pkt *pkt,
				       const struct inc_join *join, const struct netinc_peer *peer)
{
	struct netinc_group *g = NULL;
	struct node_group *ng;

	for (ng = n->box->groups; ng; ng = ng->next)
		if (ng->g.cfg.id == pkt->group && netinc_group_over(&ng->g) &&
		    netinc_group_knows(&ng->g, pkt, join, peer))
			g = &ng->g;
	return g;
}

static struct node_group *group_add(struct node *n, const struct netinc_group_cfg *cfg)
{
	struct node_group *ng = calloc(1, sizeof(*ng));

	ng->node = n;
	ng->mem = calloc(1, netinc_group_bytes(cfg->size, cfg->settings.window));
	netinc_group_init(&ng->g, cfg, ng->mem, &group_ops, &node_agg_ops);
	ng->next = n->box->groups;
	n->box->groups = ng;
	return ng;
}

/* What the group brings along, or gets from the node. */
static struct netinc_group *group_new(struct node *n, const struct netinc_pkt *pkt,
				      const struct inc_join *join)
{
	const struct plan *p = &n->sim->plan;
	struct netinc_group_cfg cfg = {
		.id = pkt->group,
		.incarnation = (u32)sim_random(n->sim) | 1,
		.size = be32_to_cpu(join->size),
		/* at the edge it is a rank's there: those that come here have one */
		.block = n->place == SIM_EDGE ? INC_MAX_BLOCK : be16_to_cpu(join->block),
		.settings = {
			.window = tree_node_window(n->sim, n->place),
			.dead_ms = p->dead_ms,
			.late_ms = p->late_ms,
			.late_policy = p->late_ms ? INC_LATE_PARTIAL : INC_LATE_WAIT,
			.fallback = p->fallback,
		},
		.secret = { n->box->secret[0], ~n->box->secret[1] },
	};
	struct node_group *ng;

	if (n->place && n->place < p->tree.nodes) {
		cfg.has_parent = true;
		cfg.up_block = p->tree.block[n->place];
		cfg.up_nonce = (u32)sim_random(n->sim) | 1;
	} else if (p->multicast && n->place < SIM_EDGE && !hostile_nodes(n->sim)) {
		cfg.multicast = trouble_peer(SIM_MANY, 0);
		cfg.multicast.addr[0] = 239;
	}

	for (; !join->lineage && p->fallback && cfg.nstandby < p->standbys; cfg.nstandby++)
		cfg.standby[cfg.nstandby] = trouble_peer(SIM_NODE + 1 + cfg.nstandby,
							 trouble_net(n->sim, 1 + cfg.nstandby));
	cfg.lineage = join->lineage ? be64_to_cpu(join->lineage) : sim_random(n->sim) | 1;
	if (join->lineage) {
		cfg.move = be32_to_cpu(join->move);
		cfg.returns = netinc_join_returns(join);
		cfg.settings = netinc_settings_from_join(join);
	}
	cfg.spread = join->lineage && n->place == SIM_EDGE;
	ng = group_add(n, &cfg);
	return &ng->g;
}

/* The first of those that are this one's own. */
static struct node_group **own_groups(const struct node *n)
{
	struct node_group **at = &n->box->groups;

	while (*at && (*at)->node != n)
		at = &(*at)->next;
	return at;
}

static void group_free(struct node *n, struct node_group **at)
{
	struct node_group *ng = *at;
	u32 i;

	netinc_agg_drain(&ng->g.agg);
	for (i = 0; i < __INC_C_MAX; i++)
		n->sim->totals[i] += ng->g.counters[i];
	*at = ng->next;
	free(ng->mem);
	free(ng);
	n->generation++;
	if (!*own_groups(n) && n->held)
		sim_fail(n->sim, "%llu bytes are held after the group has gone",
			 (unsigned long long)n->held);
}

/* To somebody who need not be a member, the way that he has come. */
static void reply(struct node *n, const struct frame *f, struct dgram *d)
{
	if (hostile_is_place(n->sim, n->place))
		hostile_node_send(n, f->from, f->net, &d, 1);
	else
		net_send(n->sim, n->addr, f->from, f->net, &d, 1);
}

static void refuse(struct node *n, const struct frame *f, const struct netinc_pkt *pkt, u32 nonce,
		   u16 code, u64 detail)
{
	struct inc_refuse body = { .nonce = cpu_to_be32(nonce), .code = cpu_to_be16(code),
				   .detail = cpu_to_be64(detail) };
	struct netinc_pkt p = { .type = INC_PKT_REFUSE, .group = pkt->group,
				.incarnation = pkt->incarnation, .epoch = pkt->epoch,
				.cookie = pkt->cookie, .span = 1, .len = sizeof(body) };

	sim_trace(n->sim, "node %u: REFUSE %u to %u", n->place, code, f->from);
	reply(n, f, dgram_build(n->sim, &p, NULL, &body));
}

/* With what is the own of the group of that number, which need not be there yet. */
static struct node *node_for(struct node *n, u32 group)
{
	struct sim *owner = others_find(n->sim, group);

	return owner && !n->place ? &owner->node[0] : n;
}

/*
 * The generation is part of it: a late copy of a JOIN, with its challenge and proof, must not make
 * a member of the next run of the group. It changes when the group forms and when it goes, and with
 * no other group.
 */
static u64 challenge_of(struct node *n, u32 from, const struct netinc_pkt *pkt,
			const struct inc_join *join)
{
	u32 m[5] = { from, pkt->group, pkt->child, (__force u32)join->nonce,
		     node_for(n, pkt->group)->generation };

	return netinc_siphash(m, sizeof(m), n->box->secret) | 1;
}

/* Whoever is not a member yet proves first where it is and that it has the key. */
static bool proven(struct node *n, const struct frame *f, const struct netinc_pkt *pkt,
		   const struct inc_join *join)
{
	static const u8 key[INC_KEY_LEN];
	u64 challenge = challenge_of(n, f->from, pkt, join);
	struct inc_challenge body = { .nonce = join->nonce, .challenge = cpu_to_be64(challenge) };
	struct netinc_pkt p = {
		.type = INC_PKT_CHALLENGE, .group = pkt->group, .span = 1, .len = sizeof(body),
	};
	__be64 proof[2];

	if (be64_to_cpu(join->challenge) != challenge) {
		sim_trace(n->sim, "node %u: CHALLENGE to %u", n->place, f->from);
		reply(n, f, dgram_build(n->sim, &p, NULL, &body));
		return false;
	}
	netinc_join_proof(key, pkt->group, pkt->child, join, proof);
	if (!memcmp(proof, join->proof, sizeof(proof)))
		return true;
	if (!n->sim->plan.hostile.who)
		sim_fail(n->sim, "proof of rank %u is wrong", pkt->child);
	refuse(n, f, pkt, be32_to_cpu(join->nonce), INC_REFUSE_KEY, 0);
	return false;
}

/* The group, or the run of it, that a JOIN is for. */
static struct netinc_group *group_for(const struct node *n, const struct netinc_pkt *pkt,
				      const struct inc_join *join, const struct netinc_peer *peer)
{
	struct netinc_group *g;

	if (pkt->incarnation)
		return group_find(n, pkt->group, pkt->incarnation);
	if (join->lineage)
		return group_moved(n, pkt->group, join);
	g = group_over(n, pkt, join, peer);
	return g ?: group_find(n, pkt->group, 0);
}

/* As long as the rank that lives here is in that epoch; the one before is of no use to anybody. */
void node_plant(struct node *n, const struct netinc_tree_cfg *tree, const struct netinc_peer *peers)
{
	struct netinc_group_cfg cfg;
	struct node_group *ng;
	u32 i;

	node_forget(n);
	n->sim->trees++;
	sim_trace(n->sim, "node %u: tree %u of %u, epoch %u", n->place, tree->tree, tree->trees,
		  tree->epoch);
	netinc_tree_group_cfg(tree, &cfg);
	ng = group_add(n, &cfg);
	for (i = 0; i < tree->size; i++)
		ng->link[i] = peers[i].addr[1] % SIM_MAX_HOSTS;
	netinc_tree_begin(&ng->g, tree, peers, n->sim->now);
}

/* 0 or enum inc_refuse_code: can there be a group as this JOIN says? */
static int may_found(const struct sim *sim, u32 place, const struct netinc_pkt *pkt,
		     const struct inc_join *join)
{
	struct netinc_settings settings = netinc_settings_from_join(join);
	u32 size = be32_to_cpu(join->size);

	if (!size || size > SIM_MAX_HOSTS || pkt->child >= size || netinc_join_shrinks(join))
		return INC_REFUSE_SIZE;
	if (!netinc_join_block_ok(join))
		return INC_REFUSE_BLOCK;
	if (!join->lineage)
		return 0;
	if (netinc_join_returns(join) && place == SIM_EDGE)
		return INC_REFUSE_TREE;
	if (!settings.fallback || !join->move || !netinc_settings_ok(&settings))
		return INC_REFUSE_SIZE;
	/* what it holds is checked against the plan's window */
	return hostile_members(sim) && settings.window > sim->plan.window ? INC_REFUSE_LIMIT : 0;
}

static void rx_join(struct node *n, const struct frame *f, const struct netinc_pkt *pkt,
		    const struct inc_join *join)
{
	struct netinc_peer peer = trouble_peer_at(n->sim, n->place, f->from, f->net);
	struct node *to = node_for(n, pkt->group);
	int code = INC_REFUSE_UNKNOWN;
	struct netinc_group *g;
	u64 detail = 0;
	int refused;

	if (!netinc_join_whole(join, pkt->len))
		return;
	/* the edge is one only for the group of its own rank, and its root is with rank 0 */
	if (n->place > SIM_EDGE)
		return;
	if (n->place == SIM_EDGE && be64_to_cpu(join->lineage) != n->sim->edge_lineage)
		return;
	if (trouble_at(n->sim, TROUBLE_REMOVED, n->place)) {
		refuse(n, f, pkt, be32_to_cpu(join->nonce), INC_REFUSE_NO_NODE, 0);
		return;
	}
	if ((!pkt->incarnation || netinc_join_rebinds(join)) && !proven(n, f, pkt, join))
		return;
	if (to == n)
		n->net[f->from] = f->net;
	g = group_for(to, pkt, join, &peer);
	if (!g && !pkt->incarnation) {
		refused = may_found(n->sim, n->place, pkt, join);
		if (refused) {
			refuse(n, f, pkt, be32_to_cpu(join->nonce), refused, 0);
			return;
		}
		g = group_new(n, pkt, join);
	}
	/* only members of an epoch that was come without challenge */
	if (g && !(pkt->incarnation && g->state == INC_GROUP_JOINING))
		code = netinc_group_join(g, pkt, join, &peer, n->sim->now, &detail);
	if (code)
		refuse(n, f, pkt, be32_to_cpu(join->nonce), code, detail);
}

/* Returns the group that got a contribution: the frame's end is to be told. */
static struct netinc_group *rx_one(struct node *n, const struct frame *f, struct dgram *d,
				   u32 *child, struct netinc_group **begun)
{
	struct netinc_peer peer = trouble_peer_at(n->sim, n->place, f->from, f->net);
	struct sim *sim = n->sim;
	struct netinc_group *g;
	struct netinc_pay pay;
	struct netinc_pkt pkt;
	int err = netinc_parse(d->data, d->len, &pkt);

	if (err && hostile_members(sim))
		return NULL;
	if (err)
		sim_fail(sim, "a datagram of rank %u does not parse: counter %d", f->from, -err);
	sim_trace(sim, "node %u: type %u from %u, psn %u, flags %#x, opseq %u", n->place, pkt.type,
		  f->from, pkt.psn, pkt.flags, pkt.opseq);
	if (pkt.type == INC_PKT_JOIN) {
		rx_join(n, f, &pkt, (const void *)(d->data + sizeof(struct inc_hdr)));
		return NULL;
	}
	g = group_find(n, pkt.group, pkt.incarnation);
	if (!g) {
		if (pkt.type != INC_PKT_ABORT && !pkt.tree &&
		    d->len >= sizeof(struct inc_hdr) + sizeof(struct inc_refuse))
			refuse(n, f, &pkt, 0, INC_REFUSE_UNKNOWN, 0);
		return NULL;
	}
	if (netinc_group_check(g, &pkt, &peer, sim->now))
		return NULL;
	if (node_of(g) == n)
		n->net[f->from] = f->net;
	*child = pkt.child;
	if (*begun != g) {
		netinc_group_buffer_begin(g);
		verify_answers_begin(node_of(g), g);
	}
	*begun = g;
	if (pkt.type != INC_PKT_CONTRIB) {
		netinc_group_control(g, &pkt, d->data + sizeof(struct inc_hdr), sim->now);
		return NULL;
	}
	pay = (struct netinc_pay){
		.obj = d, .off = sizeof(struct inc_hdr), .len = pkt.len, .flags = pkt.flags,
	};
	netinc_group_contrib(g, &pkt, &pay, sim->now);
	return g->state == INC_GROUP_JOINING ? NULL : g;
}

void node_rx(struct node *n, const struct frame *f)
{
	struct netinc_group *g = NULL, *begun = NULL;
	u32 i, child = 0;

	if (node_silent(n))
		return;
	if (tree_is_parent(n->sim, n->place, f->from)) {
		node_rx_down(n, f);
		return;
	}
	if (f->from >= SIM_MAX_HOSTS && !tree_is_parent(n->sim, f->from - SIM_NODE, n->addr))
		return;
	for (i = 0; i < f->n; i++)
		g = rx_one(n, f, f->d[i], &child, &begun);
	if (g)
		netinc_agg_packet_end(&g->agg, child, n->sim->now);
	if (begun)
		verify_answers_end(node_of(begun), begun);
	node_flush(n);
	if (begun && node_of(begun) != n)
		node_flush(node_of(begun));
}

static bool lives_in(const struct host *h, const struct netinc_group *g)
{
	return h->ep.incarnation == g->cfg.incarnation && h->ep.epoch == g->epoch &&
	       h->ep.state != INC_STATE_FAILED && h->ep.state != INC_STATE_CLOSED;
}

/* Often while something is to be expected from a parent, as in the kernel. */
static u64 tick_period(const struct node *n)
{
	const struct node_group *ng;

	for (ng = n->box->groups; ng; ng = ng->next)
		if (netinc_uplink_is_busy(&ng->g))
			return 10 * NETINC_MS;
	return n->sim->plan.dead_ms * NETINC_MS / 8;
}

void node_tick(struct node *n)
{
	const struct host *h = n->place >= SIM_EDGE ? &n->sim->host[n->place - SIM_EDGE] : NULL;
	struct node_group **at = own_groups(n);

	sim_at(n->sim, n->sim->now + tick_period(n), EV_NODE_TICK, n->place, NULL);
	if (h && (h->frozen || n->sim->now < h->paused_until))
		return;
	while (*at) {
		struct netinc_group *g = &(*at)->g;

		if ((*at)->node != n) {
			at = &(*at)->next;
			continue;
		}
		if (netinc_group_is_branch(g) && !g->ended && !lives_in(h, g))
			g->ended = n->sim->now;
		if (netinc_group_tick(&(*at)->g, n->sim->now))
			group_free(n, at);
		else
			at = &(*at)->next;
	}
	node_flush(n);
}

void node_forget(struct node *n)
{
	while (*own_groups(n))
		group_free(n, own_groups(n));
}

void node_remove(struct node *n)
{
	struct node_group *ng;

	for (ng = n->box->groups; ng; ng = ng->next)
		if (ng->node == n)
			netinc_group_remove(&ng->g, n->sim->now);
	node_flush(n);
	node_forget(n);
}

bool node_has_groups(const struct sim *sim)
{
	u32 i;

	for (i = 0; i < SIM_PLACES; i++)
		if (*own_groups(&sim->node[i]) &&
		    !(i >= SIM_EDGE && sim->host[i - SIM_EDGE].frozen))
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
		n->box = &(i || !sim->main ? sim : sim->main)->box[i];
		n->addr = i >= SIM_EDGE ? i - SIM_EDGE : SIM_NODE + i;
		for (k = 0; k < SIM_ADDRS; k++)
			n->net[k] = trouble_net(sim, i);
		sim->box[i].secret[0] = sim_random(sim);
		sim->box[i].secret[1] = sim_random(sim);
		if (!i || i < sim->plan.tree.nodes ||
		    ((sim->plan.fallback || hostile_nodes(sim)) && i < SIM_EDGE + sim->plan.hosts))
			sim_at(sim, sim->plan.dead_ms * NETINC_MS / 8, EV_NODE_TICK, i, NULL);
	}
}

void node_free(struct sim *sim)
{
	u32 i, k;

	for (i = 0; i < SIM_PLACES; i++) {
		node_forget(&sim->node[i]);
		for (k = 0; k <= SIM_MANY; k++)
			free(sim->node[i].out[k]);
	}
}
