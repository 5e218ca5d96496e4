// SPDX-License-Identifier: GPL-2.0-only
/* A host: what the kernel's glue does around an endpoint, and the application above it. */
#include "sim.h"

#define GROUP	0xabcd0123u

static struct host *host_of(struct netinc_ep *ep)
{
	return container_of(ep, struct host, ep);
}

static u32 ep_send_blocks(struct netinc_ep *ep, struct netinc_op *op, u64 idx, u32 n, u16 flags)
{
	struct host *h = host_of(ep);
	struct app_op *a = op == &h->leave ? NULL : container_of(op, struct app_op, op);
	struct sim *sim = h->sim;
	struct dgram *d[64];
	struct netinc_pkt pkt;
	struct inc_desc desc;
	u64 first;
	u32 i;

	if (!n || n > sim->plan.super_packet)
		sim_fail(sim, "rank %u sends a super-packet of %u blocks", h->rank, n);
	if (sim_happens(sim, sim->plan.fail_send)) {
		n = sim_below(sim, n);
		sim_at(sim, sim->now + 1 + sim_below(sim, 1000), EV_HOST_PUMP, h->rank, NULL);
	}
	netinc_coll_desc(op, &desc);
	for (i = 0; i < n; i++) {
		netinc_ep_block_header(ep, op, idx + i, &pkt);
		pkt.flags |= flags;
		if (a && a->seen[idx + i])
			sim_fail(sim, "rank %u sends block %llu of operation %u, whose result it has", h->rank,
				 (unsigned long long)(idx + i), a->idx);
		netinc_coll_range(op, ep->block, idx + i, &first);
		d[i] = dgram_build(sim, &pkt, &desc, a ? a->in + 4 * first : NULL);
		sim_trace(sim, "rank %u: contribution %u of operation %u%s", h->rank, pkt.psn, pkt.opseq,
			  flags ? " again" : "");
	}
	net_send(sim, h->rank, SIM_NODE, d, n);
	return n;
}

static void ep_send(struct netinc_ep *ep, const struct netinc_pkt *pkt, const void *body, u32 len)
{
	struct host *h = host_of(ep);
	struct netinc_pkt p = *pkt;
	struct dgram *d;

	p.len = len;
	d = dgram_build(h->sim, &p, NULL, body);
	sim_trace(h->sim, "rank %u: type %u, psn %u", h->rank, p.type, p.psn);
	net_send(h->sim, h->rank, SIM_NODE, &d, 1);
}

static bool ep_deliver(struct netinc_ep *ep, struct netinc_op *op, u64 first, u32 elems, const struct netinc_pay *pay)
{
	struct app_op *a = container_of(op, struct app_op, op);
	struct host *h = host_of(ep);
	u64 idx = 0, at;

	if (sim_happens(h->sim, h->sim->plan.fail_deliver))
		return false;
	while (netinc_coll_range(op, ep->block, idx, &at), at != first)
		idx++;
	if (a->seen[idx]++)
		sim_fail(h->sim, "rank %u gets block %llu of operation %u twice", h->rank, (unsigned long long)idx,
			 a->idx);
	if (elems * 4 != pay->len)
		sim_fail(h->sim, "rank %u gets %u bytes for %u elements", h->rank, pay->len, elems);
	memcpy(a->buf + 4 * first, ((struct dgram *)pay->obj)->data + pay->off, elems * 4);
	return true;
}

static void app_soon(struct host *h)
{
	sim_at(h->sim, h->sim->now + sim_below(h->sim, h->sim->plan.think + 1), EV_HOST_APP, h->rank, NULL);
}

static void ep_op_done(struct netinc_ep *ep, struct netinc_op *op)
{
	struct host *h = host_of(ep);
	struct app_op *a;

	if (op == &h->leave)
		return;
	a = container_of(op, struct app_op, op);
	sim_trace(h->sim, "rank %u: operation %u done, error %u", h->rank, a->idx, op->error.code);
	check_op_done(h, a);
	a->done = true;
	h->inflight--;
	h->done++;
	app_soon(h);
}

static void finish(struct host *h)
{
	if (h->finished)
		return;
	h->finished = true;
	h->finished_at = h->sim->now;
}

static void ep_state(struct netinc_ep *ep, u8 old)
{
	struct host *h = host_of(ep);

	sim_trace(h->sim, "rank %u: state %u -> %u, epoch %u", h->rank, old, ep->state, ep->epoch);
	if (ep->state == INC_STATE_FAILED || ep->state == INC_STATE_CLOSED)
		finish(h);
	else
		app_soon(h);
}

static const struct netinc_ep_ops ep_ops = {
	.send_blocks = ep_send_blocks,
	.send = ep_send,
	.deliver = ep_deliver,
	.op_done = ep_op_done,
	.state = ep_state,
};

/* After everything that may have changed something: is a timer wanted earlier than the one that is queued? */
static void arm(struct host *h)
{
	u64 at = netinc_ep_timer(&h->ep, h->sim->now);

	if (!at || h->gone)
		return;
	if (h->timer_at && h->timer_at <= at)
		return;
	h->timer_at = max(at, h->sim->now + 1);
	sim_at(h->sim, h->timer_at, EV_HOST_TIMER, h->rank, NULL);
}

void host_timer(struct host *h)
{
	arm(h);
	check_invariant(h->sim, h);
}

void host_pump(struct host *h)
{
	netinc_ep_pump(&h->ep, h->sim->now);
	arm(h);
}

static void submit_op(struct host *h, u32 idx)
{
	struct app_op *a = &h->op[idx];
	struct sim *sim = h->sim;
	bool in_place;
	int err;

	plan_op_of(sim, idx, h->rank, &a->op, &in_place);
	a->idx = idx;
	a->submitted = true;
	a->buf = calloc(1, 4 * a->op.count + 4);
	a->in = in_place ? a->buf : malloc(4 * a->op.count + 4);
	a->seen = calloc(1, netinc_coll_blocks(&a->op, h->ep.block));
	plan_input(sim, idx, h->rank, a->op.type, a->in, a->op.count);
	err = netinc_coll_check(&a->op, sim->plan.hosts);
	if (err)
		sim_fail(sim, "rank %u cannot submit operation %u: %d", h->rank, idx, err);
	sim_trace(sim, "rank %u: submits operation %u, %llu elements", h->rank, idx,
		  (unsigned long long)a->op.count);
	h->inflight++;
	err = netinc_ep_submit(&h->ep, &a->op, sim->now);
	if (err)
		sim_fail(sim, "rank %u cannot submit operation %u: %d", h->rank, idx, err);
	if (a->op.seq != idx)
		sim_fail(sim, "rank %u numbers operation %u as %u", h->rank, idx, a->op.seq);
}

static u32 my_ops(const struct host *h)
{
	const struct sim *sim = h->sim;

	if (sim->plan.round[sim->round].fault == FAULT_LEAVES && sim->plan.round[sim->round].victim == h->rank)
		return sim->plan.round[sim->round].leave_after;
	return sim->plan.round[sim->round].nops;
}

void host_app(struct host *h)
{
	u64 now = h->sim->now;

	switch (h->ep.state) {
	case INC_STATE_CLOSED:
		if (!h->finished)
			netinc_ep_connect(&h->ep, now);
		break;
	case INC_STATE_READY:
	case INC_STATE_RESYNC:
		while (h->next < my_ops(h) && h->inflight < h->sim->plan.inflight)
			submit_op(h, h->next++);
		if (h->done == my_ops(h) && !netinc_ep_leave(&h->ep, &h->leave, now))
			h->leaving = true;
		break;
	default:
		break;
	}
	arm(h);
}

void host_rx(struct host *h, const struct frame *f)
{
	u64 now = h->sim->now;
	struct netinc_pay pay;
	struct netinc_pkt pkt;
	bool results = false;
	u32 i;
	int err;

	if (h->ep.state == INC_STATE_CLOSED)
		return;
	for (i = 0; i < f->n; i++) {
		err = netinc_parse(f->d[i]->data, f->d[i]->len, &pkt);
		if (err)
			sim_fail(h->sim, "a datagram of the node does not parse: counter %d", -err);
		sim_trace(h->sim, "rank %u: gets type %u, psn %u, epoch %u", h->rank, pkt.type, pkt.psn, pkt.epoch);
		if (pkt.type != INC_PKT_RESULT) {
			netinc_ep_control(&h->ep, &pkt, f->d[i]->data + sizeof(struct inc_hdr), now);
		} else if (!netinc_ep_check(&h->ep, &pkt)) {
			pay = (struct netinc_pay) { .obj = f->d[i], .off = sizeof(struct inc_hdr), .len = pkt.len,
						    .flags = pkt.flags };
			netinc_ep_result(&h->ep, &pkt, &pay, now);
			results = true;
		}
		check_invariant(h->sim, h);
	}
	if (results)
		netinc_ep_packet_end(&h->ep, now);
	arm(h);
}

/* What an application does that waits no longer for the others. */
void host_give_up(struct host *h)
{
	if (h->gone || (h->ep.state != INC_STATE_JOINING && h->ep.state != INC_STATE_WAITING))
		return;
	netinc_ep_abort(&h->ep, INC_ERR_RANK_ABORT, true, h->sim->now);
}

void host_fault(struct host *h, enum fault fault)
{
	struct sim *sim = h->sim;
	u64 now = sim->now;

	switch (fault) {
	case FAULT_PAUSE:
		h->paused_until = now + sim->plan.round[sim->round].pause;
		break;
	case FAULT_FREEZE:
		h->gone = true;
		finish(h);
		break;
	case FAULT_KILL:
		if (h->finished)
			break;
		h->gone = true;
		netinc_ep_abort(&h->ep, INC_ERR_RANK_ABORT, true, now);
		finish(h);
		break;
	case FAULT_BUFFER:
		if (h->finished || h->ep.state == INC_STATE_LEAVING)
			break;
		if (h->ep.state == INC_STATE_READY || h->ep.state == INC_STATE_RESYNC) {
			netinc_ep_abort(&h->ep, INC_ERR_RANK_FAULT, false, now);
		} else {
			host_give_up(h);
			finish(h);
		}
		arm(h);
		break;
	default:
		break;
	}
}

void host_start(struct sim *sim, u32 rank)
{
	struct host *h = &sim->host[rank];
	struct netinc_ep_cfg cfg = {
		.group = GROUP,
		.rank = rank,
		.size = sim->plan.hosts,
		.dead_ms = sim->plan.dead_ms,
		.nonce = (u32)sim_random(sim) | 1,
		.block = sim->plan.block[rank],
		.super_packet = sim->plan.super_packet,
		.first_block = sim->plan.first_block,
	};

	host_free(h);
	memset(h, 0, sizeof(*h));
	h->sim = sim;
	h->rank = rank;
	netinc_ep_init(&h->ep, &cfg, &ep_ops);
	sim_at(sim, sim->round_begin + sim->plan.start[rank], EV_HOST_APP, rank, NULL);
}

void host_free(struct host *h)
{
	u32 i;

	if (!h->sim)
		return;
	for (i = 0; i < __INC_C_MAX; i++)
		h->sim->totals[i] += h->ep.mib[i];
	for (i = 0; i < SIM_MAX_OPS; i++) {
		if (!h->op[i].submitted)
			continue;
		if (h->op[i].in != h->op[i].buf)
			free(h->op[i].in);
		free(h->op[i].buf);
		free(h->op[i].seen);
	}
}
