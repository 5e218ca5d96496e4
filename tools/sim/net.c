// SPDX-License-Identifier: GPL-2.0-only
/* Virtual time and the network: events in order, frames that are lost, doubled, overtaken, late. */
#include "sim.h"

struct dgram *dgram_new(struct sim *sim, u32 len)
{
	struct dgram *d = calloc(1, sizeof(*d) + len);

	if (!d)
		sim_fail(sim, "the machine has no memory for %u bytes", len);
	d->refs = 1;
	d->len = len;
	sim->live++;
	return d;
}

struct dgram *dgram_get(struct dgram *d)
{
	d->refs++;
	return d;
}

void dgram_put(struct sim *sim, struct dgram *d)
{
	if (!d->refs)
		sim_fail(sim, "a datagram is put more often than it was got");
	if (--d->refs)
		return;
	sim->live--;
	free(d);
}

struct dgram *dgram_build(struct sim *sim, const struct netinc_pkt *pkt,
			  const struct inc_desc *desc, const void *body)
{
	struct dgram *d = dgram_new(sim, sizeof(struct inc_hdr) + netinc_body_len(pkt));
	u32 at = sizeof(struct inc_hdr);

	netinc_build((struct inc_hdr *)d->data, pkt);
	if (pkt->flags & INC_F_DESC) {
		memcpy(d->data + at, desc, sizeof(*desc));
		at += sizeof(*desc);
	}
	if (pkt->len && !(pkt->flags & INC_F_ZERO))
		memcpy(d->data + at, body, pkt->len);
	return d;
}

const u8 *dgram_elements(const struct netinc_pay *pay)
{
	static const u8 zeros[INC_MAX_BLOCK];

	if (pay->flags & INC_F_ZERO)
		return zeros;
	return ((const struct dgram *)pay->obj)->data + netinc_pay_off(pay);
}

/*
 * Timers that run out at one time do so in the order of hosts, and behind what comes then: not in
 * that in which they were set, which is another one if somebody else's packet has come meanwhile.
 */
static bool before(const struct event *a, const struct event *b)
{
	bool timer = a->type == EV_HOST_TIMER, other = b->type == EV_HOST_TIMER;

	if (a->at != b->at)
		return a->at < b->at;
	if (timer != other)
		return other;
	if (timer && a->who != b->who)
		return a->who < b->who;
	return a->serial < b->serial;
}

void sim_at(struct sim *sim, u64 at, u8 type, u32 who, struct frame *frame)
{
	struct event e = { .at = max(at, sim->now), .serial = sim->serial++, .type = type,
			   .who = who, .frame = frame, .round = sim->round };
	u32 i = sim->events++;

	if (i == sim->heap_cap) {
		sim->heap_cap = sim->heap_cap ? 2 * sim->heap_cap : 256;
		sim->heap = realloc(sim->heap, sim->heap_cap * sizeof(*sim->heap));
		if (!sim->heap)
			sim_fail(sim, "the machine has no memory for %u events", sim->heap_cap);
	}
	for (; i && before(&e, &sim->heap[(i - 1) / 2]); i = (i - 1) / 2)
		sim->heap[i] = sim->heap[(i - 1) / 2];
	sim->heap[i] = e;
}

/* The hole that the first one leaves sinks to where the last one fits. */
static struct event pop(struct sim *sim)
{
	struct event first = sim->heap[0], last = sim->heap[--sim->events];
	u32 i = 0, child;

	while ((child = 2 * i + 1) < sim->events) {
		if (child + 1 < sim->events && before(&sim->heap[child + 1], &sim->heap[child]))
			child++;
		if (!before(&sim->heap[child], &last))
			break;
		sim->heap[i] = sim->heap[child];
		i = child;
	}
	sim->heap[i] = last;
	return first;
}

void frame_free(struct sim *sim, struct frame *f)
{
	u32 i;

	for (i = 0; i < f->n; i++)
		dgram_put(sim, f->d[i]);
	free(f);
}

static struct frame *frame_new(struct sim *sim, u32 from, u32 to, u32 net, struct dgram **d, u32 n)
{
	struct frame *f = malloc(sizeof(*f) + n * sizeof(*f->d));

	if (!f)
		sim_fail(sim, "the machine has no memory for a frame of %u", n);
	f->from = from;
	f->to = to;
	f->net = net;
	f->many = false;
	f->n = n;
	memcpy(f->d, d, n * sizeof(*d));
	return f;
}

static bool lost(struct sim *sim)
{
	if (sim->burst_left && sim->now < sim->burst_end) {
		sim->burst_left--;
		return sim->now < sim->plan.calm;
	}
	sim->burst_left = 0;
	if (sim_happens(sim, sim->plan.burst)) {
		sim->burst_left = 1 + sim_below(sim, 20);
		sim->burst_end = sim->now + 50 * NETINC_MS;
	}
	return sim_happens(sim, sim->plan.loss);
}

static void drop_dgram(struct sim *sim, struct frame *f, u32 i)
{
	dgram_put(sim, f->d[i]);
	f->n--;
	memmove(f->d + i, f->d + i + 1, (f->n - i) * sizeof(*f->d));
}

/* A checksum finds it: of a super-packet one datagram is missing. */
static void corrupt(struct sim *sim, struct frame *f)
{
	drop_dgram(sim, f, sim_below(sim, f->n));
}

static bool is_block(const struct dgram *d)
{
	const struct inc_hdr *h = (const struct inc_hdr *)d->data;
	u8 type = h->vertype & 0xf;

	return (type == INC_PKT_CONTRIB || type == INC_PKT_RESULT) &&
	       (h->flags & cpu_to_be16(INC_F_PAYLOAD)) && !(h->flags & cpu_to_be16(INC_F_ZERO));
}

/* What is longer than a link on its way carries. */
static void drop_long(struct sim *sim, struct frame *f)
{
	u32 i = 0;

	if (f->from == f->to || !((f->from < SIM_MAX_HOSTS && sim->host[f->from].narrow_up) ||
				  (f->to < SIM_MAX_HOSTS && sim->host[f->to].narrow_down)))
		return;
	while (i < f->n)
		if (is_block(f->d[i]))
			drop_dgram(sim, f, i);
		else
			i++;
}

static void carry(struct sim *sim, struct frame *f, u64 extra)
{
	u64 *last = &sim->arrival[f->from][f->to];
	u64 at = sim->now + sim->plan.base_delay + sim_below(sim, sim->plan.jitter + 1) + extra;

	if (!extra) {
		at = max(at, *last);
		*last = at;
	}
	sim_at(sim, at, EV_FRAME, f->to, f);
}

static void send_frame(struct sim *sim, struct frame *f)
{
	struct frame *copy;
	u64 late = 0;
	u32 i;

	drop_long(sim, f);
	if (f->many && (sim->plan.deaf >> f->to & 1) && sim->now >= sim->plan.deaf_at) {
		frame_free(sim, f);
		return;
	}
	if (!f->n || !trouble_reaches(sim, f->from, f->to, f->net)) {
		frame_free(sim, f);
		return;
	}
	if (sim_happens(sim, sim->plan.duplicate)) {
		copy = frame_new(sim, f->from, f->to, f->net, f->d, f->n);
		copy->many = f->many;
		for (i = 0; i < f->n; i++)
			dgram_get(f->d[i]);
		carry(sim, copy, 1 + sim_below(sim, sim->plan.late_delay));
	}
	if (lost(sim)) {
		sim_trace(sim, "lost: %u -> %u, %u datagrams", f->from, f->to, f->n);
		frame_free(sim, f);
		return;
	}
	if (sim_happens(sim, sim->plan.corrupt))
		corrupt(sim, f);
	if (sim_happens(sim, sim->plan.reorder))
		late = 1 + sim_below(sim, 4 * sim->plan.base_delay + 20);
	carry(sim, f, late);
}

static void send_all(struct sim *sim, u32 from, u32 to, u32 net, bool many, struct dgram **d, u32 n)
{
	u32 most = sim->plan.gso ? sim->plan.super_packet : 1, i, k;

	/* an address that somebody has made up */
	if (to >= SIM_ADDRS || (to >= sim->plan.hosts && to < SIM_NODE)) {
		for (i = 0; i < n; i++)
			dgram_put(sim, d[i]);
		return;
	}
	for (i = 0; i < n; i += k) {
		struct frame *f;

		hostile_hear(sim, from, to, net, d[i]);
		k = min(most, n - i);
		f = frame_new(sim, from, to, net, d + i, k);
		f->many = many;
		others_sent(sim, f);
		send_frame(sim, f);
	}
}

void net_send(struct sim *sim, u32 from, u32 to, u32 net, struct dgram **d, u32 n)
{
	send_all(sim, from, to, net, false, d, n);
}

void net_send_many(struct sim *sim, const struct node *from, struct dgram **d, u32 n)
{
	u32 i, k;

	for (i = 0; i < sim->plan.hosts; i++) {
		if (!host_listens(&sim->host[i]))
			continue;
		for (k = 0; k < n; k++)
			dgram_get(d[k]);
		send_all(sim, from->addr, i, from->net[i], true, d, n);
	}
	for (k = 0; k < n; k++)
		dgram_put(sim, d[k]);
}

static u32 group_of(const struct frame *f)
{
	return be32_to_cpu(((const struct inc_hdr *)f->d[0]->data)->group);
}

/* A frame for the node at a host: the edge. */
static bool for_edge(const struct frame *f)
{
	switch (((const struct inc_hdr *)f->d[0]->data)->vertype & 0xf) {
	case INC_PKT_CONTRIB:
	case INC_PKT_PROBE:
	case INC_PKT_JOIN:
	case INC_PKT_ABORT:
		return true;
	default:
		return false;
	}
}

static void host_event(struct sim *sim, const struct event *e)
{
	struct sim *owner = sim;
	struct host *h;

	if (e->type == EV_FRAME && e->frame->n)
		owner = others_find(sim, group_of(e->frame));
	if (owner != sim && hostile_is_rank(sim, e->who))
		hostile_others_rx(&sim->host[e->who], e->frame);
	if (!owner || e->who >= owner->plan.hosts)
		return;
	h = &owner->host[e->who];
	if (e->round != sim->round && e->type != EV_FRAME)
		return;
	if (e->type == EV_FRAME && e->frame->n && for_edge(e->frame)) {
		if (!h->frozen && sim->now >= h->paused_until)
			node_rx(&sim->node[SIM_EDGE + e->who], e->frame);
		return;
	}
	if (h->gone) {
		return;
	} else if (sim->now < h->paused_until) {
		if (e->type == EV_HOST_TIMER && e->at == h->timer_at)
			h->timer_at = h->paused_until;
		if (e->type != EV_FRAME)
			sim_at(sim, h->paused_until, e->type, e->who, NULL);
		return;
	}
	switch (e->type) {
	case EV_FRAME:
		host_rx(h, e->frame);
		break;
	case EV_HOST_TIMER:
		if (e->at != h->timer_at)
			break;	/* it has been wanted earlier since */
		h->timer_at = 0;
		host_timer(h);
		break;
	case EV_HOST_APP:
		host_app(h);
		break;
	default:
		host_pump(h);
		break;
	}
}

/* @late: long afterwards, when applications that are still joining lose their patience. */
static void run_fault(struct sim *sim, bool late)
{
	const struct plan_round *r = &sim->plan.round[sim->round];
	struct node *node = &sim->node[r->fault_node];
	enum fault what = r->fault;
	bool all = what > FAULT_PAUSE || sim->troubled || hostile_members(sim);
	u32 i;

	sim_trace(sim, "fault %d%s", what, late ? ": patience ends" : "");
	sim->patience_ended |= late;
	if (late)
		for (i = 0; all && i < sim->plan.hosts; i++)
			host_give_up(&sim->host[i]);
	else if (what == FAULT_NODE_SILENT)
		node->silent = true;
	else if (what == FAULT_NODE_FORGETS)
		node_forget(node);
	else if (what == FAULT_NODE_REMOVED)
		node_remove(node);
	else
		host_fault(&sim->host[r->victim], what);
}

bool sim_step(struct sim *sim)
{
	struct event e;

	if (!sim->events)
		return false;
	e = pop(sim);
	sim->now = e.at;
	sim->steps++;
	if (e.type == EV_NODE_TICK)
		node_tick(&sim->node[e.who]);
	else if (e.type == EV_FAULT && e.round == sim->round)
		run_fault(sim, e.who);
	else if (e.type == EV_TROUBLE && e.round == sim->round)
		trouble_event(sim, e.who / 2, e.who % 2);
	else if (e.type == EV_HOSTILE && e.round == sim->round)
		hostile_event(sim, e.who);
	else if (e.type == EV_FRAME && e.who >= SIM_NODE)
		node_rx(&sim->node[e.who - SIM_NODE], e.frame);
	else if (e.type != EV_FAULT && e.type != EV_TROUBLE && e.type != EV_HOSTILE)
		host_event(sim, &e);
	if (e.frame)
		frame_free(sim, e.frame);
	return true;
}

void sim_drop_events(struct sim *sim)
{
	struct event e;

	while (sim->events) {
		e = pop(sim);
		if (e.frame)
			frame_free(sim, e.frame);
	}
}
