// SPDX-License-Identifier: GPL-2.0-only
/*
 * What befalls the places that a group can be at, and the ways to them: nodes that are silent,
 * restart or are removed, for a while or for good, and networks that do not carry. And when none of
 * that must fail an operation.
 */
#include "sim.h"

static const struct trouble *troubles(const struct sim *sim)
{
	return sim->plan.round[sim->round].trouble;
}

u32 trouble_net(const struct sim *sim, u32 place)
{
	return sim->plan.networks && place < SIM_MAX_NODES ? place : 0;
}

struct netinc_peer trouble_peer(u32 addr, u32 net)
{
	return (struct netinc_peer){ .addr = { 10, addr, net }, .family = NETINC_AF_INET,
				     .udp_port = cpu_to_be16(5227) };
}

struct netinc_peer trouble_peer_at(const struct sim *sim, u32 place, u32 addr, u32 net)
{
	struct netinc_peer peer = trouble_peer(addr, net);
	const struct trouble *t = troubles(sim);
	u32 i;

	for (i = 0; i < SIM_MAX_TROUBLES; i++)
		if (sim->ongoing[i] && t[i].kind == TROUBLE_PORT && t[i].place == place &&
		    t[i].host == addr)
			peer.ifindex = 1;
	return peer;
}

bool trouble_at(const struct sim *sim, enum trouble_kind kind, u32 place)
{
	u32 i;

	for (i = 0; i < SIM_MAX_TROUBLES; i++)
		if (sim->ongoing[i] && troubles(sim)[i].kind == kind &&
		    troubles(sim)[i].place == place)
			return true;
	return false;
}

static u32 addr_of(u32 place)
{
	return place == SIM_EDGE ? 0 : SIM_NODE + place;
}

static bool stops(const struct sim *sim, const struct trouble *t, u32 from, u32 to, u32 net)
{
	bool same_net = net == trouble_net(sim, t->place),
	     of_host = from == t->host || to == t->host;

	switch (t->kind) {
	case TROUBLE_CUT:
		return of_host && (from == addr_of(t->place) || to == addr_of(t->place));
	case TROUBLE_LINK:
		return of_host && same_net;
	case TROUBLE_NET:
		return same_net;
	default:
		return false;
	}
}

bool trouble_reaches(const struct sim *sim, u32 from, u32 to, u32 net)
{
	u32 i;

	for (i = 0; from != to && i < SIM_MAX_TROUBLES; i++)
		if (sim->ongoing[i] && stops(sim, &troubles(sim)[i], from, to, net))
			return false;
	return true;
}

/* Does every rank know where to go, and where the others are? */
static bool all_know(const struct sim *sim)
{
	u32 i;

	for (i = 0; i < sim->plan.hosts; i++)
		if (!sim->host[i].ep.lineage ||
		    (!sim->host[i].ep.deep && sim->host[i].ep.npeers != sim->plan.hosts))
			return false;
	return true;
}

void trouble_event(struct sim *sim, u32 i, bool end)
{
	const struct trouble *t = &troubles(sim)[i];

	sim_trace(sim, "trouble %u: kind %u, place %u, host %u, %s", i, t->kind, t->place, t->host,
		  end ? "ends" : "begins");
	if (!sim->troubled)
		sim->formed = all_know(sim);
	sim->troubled = true;
	sim->ongoing[i] = !end;
	if (!end && t->kind == TROUBLE_RESTART)
		node_forget(&sim->node[t->place]);
	if (!end && t->kind == TROUBLE_REMOVED) {
		sim->ongoing[i] = false;
		node_remove(&sim->node[t->place]);
		sim->ongoing[i] = true;
	}
}

void trouble_end_patience(struct sim *sim, u64 from)
{
	sim_at(sim, from + SIM_SEC + 5 * sim->plan.dead_ms * NETINC_MS, EV_FAULT, 1, NULL);
}

void trouble_now(struct sim *sim, enum when what)
{
	const struct plan_round *r = &sim->plan.round[sim->round];
	u64 now = what == WHEN_ROUND ? sim->round_begin : sim->now, end;
	const struct trouble *t;
	u32 i;

	if (sim->happened_yet[what])
		return;
	sim->happened_yet[what] = true;
	if (r->fault && r->fault_when == what) {
		sim->fault_time = now + r->fault_at;
		sim_at(sim, sim->fault_time, EV_FAULT, 0, NULL);
		trouble_end_patience(sim, sim->fault_time);
	}
	for (i = 0; i < SIM_MAX_TROUBLES; i++) {
		t = &r->trouble[i];
		if (!t->kind || t->when != what)
			continue;
		end = now + t->at + t->lasts;
		sim->trouble_end = max(sim->trouble_end, end);
		sim_at(sim, now + t->at, EV_TROUBLE, 2 * i, NULL);
		if (t->lasts)
			sim_at(sim, end, EV_TROUBLE, 2 * i + 1, NULL);
		trouble_end_patience(sim, end);
	}
}

void trouble_start(struct sim *sim)
{
	sim->troubled = false;
	sim->patience_ended = false;
	sim->fault_time = 0;
	sim->trouble_end = 0;
	memset(sim->ongoing, 0, sizeof(sim->ongoing));
	memset(sim->happened_yet, 0, sizeof(sim->happened_yet));
	trouble_now(sim, WHEN_ROUND);
	if (hostile_members(sim))
		trouble_end_patience(sim, max(sim->plan.calm, sim->round_begin));
}

/* Nothing befalls it or its network. */
static bool is_clean(const struct sim *sim, u32 place)
{
	const struct trouble *t = troubles(sim);
	u32 i;

	for (i = 0; i < SIM_MAX_TROUBLES; i++)
		if (t[i].kind &&
		    (t[i].place == place || t[i].kind == TROUBLE_NET ||
		     t[i].kind == TROUBLE_LINK) &&
		    (place == SIM_EDGE || trouble_net(sim, t[i].place) == trouble_net(sim, place)))
			return false;
	return true;
}

static bool any_clean(const struct sim *sim)
{
	const struct plan *p = &sim->plan;
	u32 i;

	for (i = 0; i <= p->standbys && !p->tree.nodes; i++)
		if (is_clean(sim, i))
			return true;
	return p->fallback == INC_FALLBACK_EDGE && is_clean(sim, SIM_EDGE);
}

/*
 * Ranks that lose a node one by one have to be able to call the others: MOVE goes through the
 * network of the node that is lost. Where that does not carry, for good, all lose the node, and
 * nobody needs to be called. In a tree of nodes rank 0 calls them, by its own node.
 */
static bool can_call(const struct sim *sim)
{
	const struct trouble *t = troubles(sim);
	u32 i, n = 0;
	bool nets = false;

	for (i = 0; i < SIM_MAX_TROUBLES; i++) {
		if (t[i].kind == TROUBLE_LINK ||
		    (t[i].kind == TROUBLE_CUT &&
		     (t[i].place == SIM_EDGE || (sim->plan.tree.nodes && !t[i].host))) ||
		    (t[i].kind == TROUBLE_NET && t[i].lasts))
			return false;
		n += t[i].kind != TROUBLE_NONE;
		nets |= t[i].kind == TROUBLE_NET;
	}
	return n == 1 || !nets;
}

/*
 * One that loses so many packets in a row that a place seems not to be there is another matter, and
 * one that brings copies so late that it seems to be there.
 */
static bool fair_network(const struct plan *p)
{
	return p->loss <= 20 && !p->burst && p->corrupt <= 20 &&
	       p->base_delay + p->jitter <= 5000 && p->late_delay <= 5000;
}

bool trouble_harmless(const struct sim *sim)
{
	const struct plan *p = &sim->plan;

	return p->fallback && !hostile_members(sim) && p->round[sim->round].fault == FAULT_NONE &&
	       fair_network(p) && sim->formed && any_clean(sim) && can_call(sim);
}

bool trouble_single(const struct sim *sim)
{
	const struct trouble *t = troubles(sim);
	u32 i, n = 0;

	for (i = 0; i < SIM_MAX_TROUBLES; i++)
		n += t[i].kind != TROUBLE_NONE;
	return n == 1 && sim->troubled && trouble_harmless(sim) && sim->plan.loss <= 5;
}

static u64 pick_length(struct sim *sim)
{
	switch (sim_below(sim, 4)) {
	case 0:
		return pick(sim, 1, 50000);
	case 1:
		return pick(sim, 1, 3 * sim->plan.dead_ms) * NETINC_MS;
	default:
		return 0;
	}
}

static void pick_one(struct sim *sim, struct trouble *t, u32 place, u64 at)
{
	const struct plan *p = &sim->plan;

	t->place = place;
	t->host = sim_below(sim, p->hosts);
	t->at = at;
	t->lasts = pick_length(sim);
	if (one_in(sim, 2)) {
		t->when = pick(sim, WHEN_FORMED, WHEN_COUNT - 1);
		t->at = sim_below(sim, one_in(sim, 2) ? 4 * p->base_delay + 1 : 50000);
	}
	t->kind = one_in(sim, 2) ? pick(sim, TROUBLE_SILENT, TROUBLE_REMOVED) :
				   pick(sim, 1, TROUBLE_COUNT - 1);
	if (place == SIM_EDGE)
		t->kind = TROUBLE_CUT;
	if (t->kind == TROUBLE_RESTART && one_in(sim, 2))
		t->lasts = pick(sim, 1, 1000);
}

/* The node first, then whatever; at once, during the move, or later. */
void trouble_pick(struct sim *sim, u32 r)
{
	struct plan *p = &sim->plan;
	u32 nodes = p->tree.nodes ?: p->standbys + 1;
	u32 places = nodes + (p->fallback == INC_FALLBACK_EDGE);
	u32 n = one_in(sim, 2) ? 1 : pick(sim, 0, SIM_MAX_TROUBLES), i, place;
	u64 at = sim_below(sim, one_in(sim, 2) ? 20000 : 300000);

	for (i = 0; i < n; i++) {
		place = i ? sim_below(sim, places) : p->tree.nodes ? sim_below(sim, nodes) : 0;
		pick_one(sim, &p->round[r].trouble[i], place >= nodes ? SIM_EDGE : place, at);
		switch (sim_below(sim, 3)) {
		case 0:
			at += pick(sim, 1, 20000);
			break;
		default:
			at += pick(sim, 1, 3 * p->dead_ms) * NETINC_MS;
			break;
		}
	}
}

const char *trouble_when(u32 when)
{
	static const char * const names[WHEN_COUNT] = {
		"begin", "formed", "error", "done", "move", "moved", "leave",
	};

	return names[when % WHEN_COUNT];
}

void trouble_print(const struct sim *sim, u32 r)
{
	static const char * const names[TROUBLE_COUNT] = {
		"none", "silent", "restart", "removed", "cut", "link", "net", "port",
	};
	const struct trouble *t = sim->plan.round[r].trouble;
	u32 i;

	for (i = 0; i < SIM_MAX_TROUBLES; i++)
		if (t[i].kind)
			printf("#   trouble %u: %s, place %u, host %u, %llu us after %s, for %llu us\n",
			       i, names[t[i].kind % TROUBLE_COUNT], t[i].place, t[i].host,
			       (unsigned long long)t[i].at, trouble_when(t[i].when),
			       (unsigned long long)t[i].lasts);
}
