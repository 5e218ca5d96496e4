// SPDX-License-Identifier: GPL-2.0-only
/* A host: what the kernel's glue does around an endpoint, and the application above it. */
#include "reduce/reduce.h"
#include "sim.h"

static struct host *host_of(struct netinc_ep *ep)
{
	return container_of(ep, struct host, ep);
}

static struct sim_op *op_of(struct netinc_op *op)
{
	return container_of(op, struct sim_op, op);
}

/* The block's place in the table of results, which is made when the operation has been cut. */
static u8 *seen(struct host *h, struct sim_op *o, u64 idx)
{
	if (!o->seen) {
		o->seen_blocks = o->op.blocks;
		o->seen = calloc(1, o->seen_blocks);
		o->absent = calloc(o->seen_blocks, sizeof(*o->absent));
	}
	if (o->seen_blocks != o->op.blocks || idx >= o->seen_blocks)
		sim_fail(h->sim, "rank %u: operation %u has no block %llu", h->rank, o->op.seq,
			 (unsigned long long)idx);
	return &o->seen[idx];
}

static void send_from(struct host *h, u32 to, u32 net, struct dgram **d, u32 n)
{
	if (hostile_is_rank(h->sim, h->rank))
		hostile_rank_send(h, to, net, d, n);
	else
		net_send(h->sim, h->rank, to, net, d, n);
}

static void block_header(struct host *h, struct sim_op *o, u64 idx, struct netinc_block *b,
			 struct netinc_pkt *pkt)
{
	netinc_coll_block(&o->op, idx, b);
	netinc_ep_block_header(&h->ep, &o->op, idx, b, pkt);
	if (*seen(h, o, idx))
		sim_fail(h->sim, "rank %u sends block %llu of operation %u, whose result it has",
			 h->rank, (unsigned long long)idx, o->op.seq);
}

/* Two windows of blocks, one datagram each, and a result that comes before one is forgotten. */
static void count_kept(struct host *h)
{
	if (++h->retained > 2 * h->ep.settings.window + 1)
		sim_fail(h->sim, "rank %u keeps %u datagrams, W is %u", h->rank, h->retained,
			 h->ep.settings.window);
}

/* The endpoint may keep what leaves. */
static struct dgram *keep_sent(struct host *h, u64 block, const struct netinc_pkt *pkt,
			       struct dgram *d)
{
	struct netinc_pay pay = { .obj = d, .off = sizeof(struct inc_hdr), .len = pkt->len,
				  .flags = pkt->flags & ~INC_F_DESC };
	u32 i;

	if (pkt->flags & INC_F_DESC)
		pay.off += sizeof(struct inc_desc);
	for (i = 0; i < pkt->span; i++) {
		if (!netinc_ep_sent(&h->ep, block + i, pkt, pkt->len ? &pay : NULL))
			continue;
		dgram_get(d);
		count_kept(h);
	}
	return d;
}

/* The header of block @idx, which says so if its elements are zeros; returns these. */
static const u8 *begin_block(struct host *h, struct sim_op *o, u64 idx, struct netinc_block *b,
			     struct netinc_pkt *pkt)
{
	const u8 *data = NULL;
	u32 i = 0;

	block_header(h, o, idx, b, pkt);
	if (pkt->len)
		data = buffer_out(h->sim, o, b);
	verify_sent(h, o, idx, b, pkt, data);
	while (i < pkt->len && !data[i])
		i++;
	if (data && i == pkt->len && !(pkt->flags & INC_F_DESC))
		pkt->flags |= INC_F_ZERO;
	return data;
}

/* Block @idx as a datagram; with those after it, if all are nothing but headers that look alike. */
static struct dgram *build_blocks(struct host *h, struct sim_op *o, u64 idx, u32 n, u16 flags,
				  struct netinc_pkt *pkt)
{
	struct netinc_block b, after;
	struct netinc_pkt next;
	struct inc_desc desc;
	const u8 *data;

	data = begin_block(h, o, idx, &b, pkt);
	for (; pkt->span < n; pkt->span++) {
		if (pkt->flags & INC_F_DESC || (data && !(pkt->flags & INC_F_ZERO)))
			break;
		begin_block(h, o, idx + pkt->span, &after, &next);
		if (next.flags != pkt->flags || next.len != pkt->len)
			break;
	}
	pkt->flags |= flags;
	if (netinc_body_len(pkt) > (hostile_members(h->sim) ? h->ep.block : h->sim->plan.block[0]))
		sim_fail(h->sim, "rank %u: block %llu of operation %u has %u bytes", h->rank,
			 (unsigned long long)idx, o->op.seq, netinc_body_len(pkt));
	netinc_coll_desc(&o->op, &desc);
	sim_trace(h->sim, "rank %u: contribution %u + %u of operation %u, %u bytes%s", h->rank,
		  pkt->psn, pkt->span, pkt->opseq, pkt->len, flags ? ", again" : "");
	return keep_sent(h, o->op.first + idx, pkt, dgram_build(h->sim, pkt, &desc, data));
}

/* The root of a tree; that of the first is the parent, also when there are no others. */
static struct netinc_peer root_of(const struct host *h, u32 tree)
{
	return tree ? h->ep.peers[tree] : h->parent;
}

/* All are of one tree. */
static void send_up(struct host *h, struct dgram **d, u32 n)
{
	struct netinc_peer root;

	if (!n)
		return;
	root = root_of(h, be16_to_cpu(((const struct inc_hdr *)d[0]->data)->tree));
	send_from(h, root.addr[1], root.addr[2], d, n);
}

/* Those with payload go as one super-packet if they follow one another, others by themselves. */
static u32 ep_send_blocks(struct netinc_ep *ep, struct netinc_op *op, u64 idx, u32 n, u32 most,
			  u16 flags)
{
	struct host *h = host_of(ep);
	struct sim *sim = h->sim;
	u32 done = 0, payloads = 0, waiting = 0;
	struct dgram *d[64], *alone;
	struct netinc_pkt pkt;

	if (!n || !most || most > sim->plan.super_packet)
		sim_fail(sim, "rank %u sends super-packets of %u, %u blocks", h->rank, most, n);
	if (sim_happens(sim, sim->plan.fail_send)) {
		n = sim_below(sim, n);
		sim_at(sim, sim->now + 1 + sim_below(sim, 1000), EV_HOST_PUMP, h->rank, NULL);
	}
	for (; done < n && payloads < most; done += pkt.span) {
		alone = build_blocks(h, op_of(op), idx + done, n - done, flags, &pkt);
		if ((pkt.flags & (INC_F_PAYLOAD | INC_F_ZERO)) == INC_F_PAYLOAD) {
			d[waiting++] = alone;
			payloads++;
			continue;
		}
		send_up(h, d, waiting);
		waiting = 0;
		send_up(h, &alone, 1);
	}
	send_up(h, d, waiting);
	return done;
}

/* One by one, and not all of them at once always. */
static u32 ep_send_kept(struct netinc_ep *ep, u64 block, u32 n, u16 flags)
{
	struct host *h = host_of(ep);
	const struct netinc_pay *pay;
	struct netinc_pkt pkt;
	struct dgram *d;
	u32 i;

	if (!n)
		sim_fail(h->sim, "rank %u sends none of what it keeps", h->rank);
	if (sim_happens(h->sim, h->sim->plan.fail_send)) {
		n = sim_below(h->sim, n);
		sim_at(h->sim, h->sim->now + 1 + sim_below(h->sim, 1000), EV_HOST_PUMP, h->rank,
		       NULL);
	}
	for (i = 0; i < n; i++) {
		pay = netinc_ep_retained_header(ep, block + i, &pkt);
		pkt.flags |= flags;
		sim_trace(h->sim,
			  "rank %u: contribution %u of operation %u, kept, flags %#x, %u bytes",
			  h->rank, pkt.psn, pkt.opseq, pkt.flags, pkt.len);
		d = dgram_build(h->sim, &pkt, NULL, pay ? dgram_elements(pay) : NULL);
		send_up(h, &d, 1);
	}
	return n;
}

static bool ep_retain_init(struct netinc_ep *ep, u32 n)
{
	struct host *h = host_of(ep);
	u32 i;

	if (sim_happens(h->sim, h->sim->plan.fail_hold))
		return false;
	for (i = 0; i < n; i++)
		ep->retained[i] = calloc(NETINC_RETAIN_CHUNK, sizeof(struct netinc_retained));
	return true;
}

static bool ep_keep(struct netinc_ep *ep, struct netinc_pay *pay)
{
	struct host *h = host_of(ep);

	if (sim_happens(h->sim, h->sim->plan.fail_hold))
		return false;
	dgram_get(pay->obj);
	count_kept(h);
	return true;
}

static void ep_forget(struct netinc_ep *ep, struct netinc_pay *pay)
{
	struct host *h = host_of(ep);

	h->retained--;
	dgram_put(h->sim, pay->obj);
}

static bool ep_spread(struct netinc_ep *ep)
{
	struct host *h = host_of(ep);
	struct netinc_tree_cfg tree;

	if (sim_happens(h->sim, h->sim->plan.fail_hold))
		return false;
	if (!h->rank || h->rank >= ep->spread.trees)
		return true;
	netinc_tree_describe(&tree, ep);
	node_plant(&h->sim->node[SIM_EDGE + h->rank], &tree, ep->peers);
	return true;
}

static bool ep_retarget(struct netinc_ep *ep, u32 at)
{
	struct host *h = host_of(ep);

	h->parent = ep->plan[at];
	sim_trace(h->sim, "rank %u: move %u, to place %u at %u, network %u", h->rank, ep->move, at,
		  h->parent.addr[1], h->parent.addr[2]);
	return h->parent.family;
}

static void ep_send_to(struct netinc_ep *ep, const struct netinc_peer *peer,
		       const struct netinc_pkt *pkt, const void *body, u32 len)
{
	struct host *h = host_of(ep);
	struct netinc_pkt p = *pkt;
	struct dgram *d;

	if (!peer->family)
		sim_fail(h->sim, "rank %u sends type %u to nobody", h->rank, p.type);
	p.len = len;
	d = dgram_build(h->sim, &p, NULL, body);
	sim_trace(h->sim, "rank %u: type %u to %u", h->rank, p.type, peer->addr[1]);
	send_from(h, peer->addr[1], peer->addr[2], &d, 1);
}

static void ep_send(struct netinc_ep *ep, const struct netinc_pkt *pkt, const void *body, u32 len)
{
	struct host *h = host_of(ep);
	struct netinc_pkt p = *pkt;
	struct dgram *d;

	p.len = len;
	d = dgram_build(h->sim, &p, NULL, body);
	sim_trace(h->sim, "rank %u: type %u, psn %u", h->rank, p.type, p.psn);
	send_up(h, &d, 1);
}

/*
 * Which block is delivered? The engine does not say it, but takes those of a packet one after the
 * other: it is the next one that has no result yet and is what the engine says it is.
 */
static u64 delivered(struct host *h, struct sim_op *o, const struct netinc_block *b)
{
	struct netinc_block should;
	u64 idx;

	/* a packet of which some blocks are another operation's */
	if ((s64)(h->next_block - o->op.first) < 0)
		h->next_block = o->op.first;
	for (;; h->next_block++) {
		idx = h->next_block - o->op.first;
		if (idx >= o->op.blocks)
			sim_fail(h->sim,
				 "rank %u gets something of operation %u that is none of its blocks",
				 h->rank, o->op.seq);
		netinc_coll_block(&o->op, idx, &should);
		if (!netinc_ep_has(&h->ep, h->next_block) &&
		    !netinc_ep_delivered(&h->ep, h->next_block) &&
		    !memcmp(&should, b, sizeof(should)))
			break;
	}
	h->next_block++;
	return idx;
}

static bool ep_deliver(struct netinc_ep *ep, struct netinc_op *op, const struct netinc_block *b,
		       const struct netinc_pay *pay)
{
	struct sim_op *o = op_of(op);
	struct host *h = host_of(ep);
	u64 idx = delivered(h, o, b);

	if (sim_happens(h->sim, h->sim->plan.fail_deliver))
		return false;
	if ((*seen(h, o, idx))++)
		sim_fail(h->sim, "rank %u gets block %llu of operation %u twice", h->rank,
			 (unsigned long long)idx, op->seq);
	/*
	 * what was completed without a rank, and what goes by multicast, goes to it whether it
	 * wants it or not
	 */
	if ((b->bits & INC_F_WANT ? b->elems * o->elem_size : 0) != pay->len &&
	    ((b->bits & INC_F_WANT) || !((pay->flags & INC_F_PARTIAL) || h->sim->plan.multicast ||
					 hostile_members(h->sim))))
		sim_fail(h->sim, "rank %u gets %u bytes for %u elements", h->rank, pay->len,
			 b->elems);
	if (pay->flags & INC_F_PARTIAL)
		o->absent[idx] = ep->absent[0];
	o->got += b->bits & INC_F_WANT ? b->elems : 0;
	verify_delivered(h, o, idx, pay);
	buffer_in(h->sim, o, b, dgram_elements(pay));
	return true;
}

static void app_soon(struct host *h)
{
	sim_at(h->sim, h->sim->now + sim_below(h->sim, h->sim->plan.think + 1), EV_HOST_APP,
	       h->rank, NULL);
}

static void ep_op_done(struct netinc_ep *ep, struct netinc_op *op)
{
	struct host *h = host_of(ep);
	struct app_op *a = op_of(op)->app;

	if (!a)
		return;
	sim_trace(h->sim, "rank %u: %s %u done, error %u", h->rank,
		  op == &a->main->op ? "operation" : "exchange of counts for operation", a->idx,
		  op->error.code);
	if (op != &a->main->op) {
		if (!op->error.code)
			counts_exchanged(a);
		buffer_drop(a->exchange);
		return;
	}
	if (!op->error.code) {
		verify_done(h, a->main);
		buffer_own_share(a->main);
	}
	check_op_done(h, a);
	others_done(h, a->idx);
	trouble_now(h->sim, WHEN_DONE);
	buffer_drop(a->main);
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

/* What the checks need to know of moves. */
static void see_move(struct host *h)
{
	const struct netinc_ep *ep = &h->ep;
	u64 b;

	switch (ep->state) {
	case INC_STATE_RESYNC:
		if (netinc_ep_moving(ep) && !h->lost_at) {
			h->lost_at = h->sim->now;
			trouble_now(h->sim, WHEN_MOVE);
		}
		if (!netinc_ep_moving(ep))
			h->high = ep->una;
		break;
	case INC_STATE_READY:
	case INC_STATE_LEAVING:
		for (b = ep->una; b != ep->una + 2 * ep->settings.window; b++)
			if (netinc_ep_delivered(ep, b))
				h->high = b + 1;
		fallthrough;
	case INC_STATE_FAILED:
		check_moved(h);
		h->lost_at = 0;
		break;
	default:
		break;
	}
	if (!h->rank && ep->lineage)
		h->sim->edge_lineage = ep->lineage;
}

static void ep_state(struct netinc_ep *ep, u8 old)
{
	struct host *h = host_of(ep);

	sim_trace(h->sim, "rank %u: state %u -> %u, epoch %u", h->rank, old, ep->state, ep->epoch);
	see_move(h);
	h->sim->returns += !h->rank && ep->from_tree && netinc_ep_is_member(ep) &&
			   old == INC_STATE_RESYNC && ep->move && !netinc_ep_place(ep, ep->move);
	if (ep->state == INC_STATE_FAILED || ep->state == INC_STATE_CLOSED)
		finish(h);
	else
		app_soon(h);
}

static const struct netinc_ep_ops ep_ops = {
	.send_blocks = ep_send_blocks,
	.send = ep_send,
	.send_retained = ep_send_kept,
	.retain_init = ep_retain_init,
	.retain = ep_keep,
	.retain_release = ep_forget,
	.spread = ep_spread,
	.retarget = ep_retarget,
	.send_to = ep_send_to,
	.deliver = ep_deliver,
	.op_done = ep_op_done,
	.state = ep_state,
};

bool host_listens(const struct host *h)
{
	return !h->gone && netinc_ep_multicast_group(&h->ep) && h->ep.multicast.joined;
}

/* After everything that may have changed it: is a timer wanted earlier than the queued one? */
static void arm(struct host *h)
{
	u64 at;

	/* as the kernel's worker does, and at once */
	if (!h->gone && netinc_ep_multicast_group(&h->ep) && !h->ep.multicast.tried)
		netinc_ep_multicast_tried(&h->ep, !(h->sim->plan.unable >> h->rank & 1),
					  h->sim->now);
	at = netinc_ep_timer(&h->ep, h->sim->now);
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

static void hand_over(struct host *h, u32 idx, struct netinc_op *op)
{
	int err = netinc_ep_submit(&h->ep, op, h->sim->now);

	if (err)
		sim_fail(h->sim, "rank %u cannot submit operation %u: %d", h->rank, idx, err);
	if (op->seq != idx && !hostile_nodes(h->sim))
		sim_fail(h->sim, "rank %u numbers operation %u as %u", h->rank, idx, op->seq);
}

static void submit_op(struct host *h, u32 idx)
{
	struct app_op *a = &h->op[idx];
	struct sim *sim = h->sim;
	struct plan_op p = plan_op_of(sim, idx, h->rank);
	int err;

	a->idx = idx;
	a->main = buffer_new(sim, a, h->rank);
	err = netinc_coll_check(&a->main->op);
	if (err)
		sim_fail(sim, "rank %u may not submit operation %u: %d", h->rank, idx, err);
	sim_trace(sim, "rank %u: submits operation %u, %s", h->rank, idx, netinc_coll_name(p.coll));
	h->inflight++;
	if (plan_asks_counts(&p)) {
		a->exchange = counts_exchange(sim, a, h->rank);
		a->main->op.hold = true;
		hand_over(h, idx, &a->exchange->op);
	}
	hand_over(h, idx, &a->main->op);
}

/*
 * Has a member that lies made the group's blocks shorter than an element of the next operation
 * takes? That is refused to all ranks alike, and a program that needs it ends.
 */
static bool is_prevented(const struct host *h)
{
	struct plan_op p = plan_op_of(h->sim, h->next, h->rank);

	return hostile_members(h->sim) && !plan_op_fits(&p, h->ep.block);
}

static u32 my_ops(const struct host *h)
{
	const struct sim *sim = h->sim;

	if (sim->plan.round[sim->round].fault == FAULT_LEAVES &&
	    sim->plan.round[sim->round].victim == h->rank)
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
		while (h->next < my_ops(h) && h->inflight < h->sim->plan.inflight) {
			if (is_prevented(h)) {
				host_fault(h, FAULT_KILL);
				return;
			}
			submit_op(h, h->next++);
		}
		if (h->done == my_ops(h) && !netinc_ep_leave(&h->ep, &h->leave.op, now)) {
			h->leaving = true;
			trouble_now(h->sim, WHEN_LEAVE);
		}
		break;
	default:
		break;
	}
	arm(h);
}

static bool from_root(const struct host *h, const struct frame *f, u32 tree)
{
	struct netinc_peer root = tree && tree >= h->ep.spread.trees ? h->parent : root_of(h, tree);

	return f->from == root.addr[1] && f->net == root.addr[2];
}

void host_rx(struct host *h, const struct frame *f)
{
	u64 now = h->sim->now;
	struct netinc_peer from;
	struct netinc_pay pay;
	struct netinc_pkt pkt;
	bool results = false;
	u32 i;
	int err;

	if (h->ep.state == INC_STATE_CLOSED)
		return;
	netinc_ep_buffer_begin(&h->ep, NETINC_BUFFER_LOOKS);
	for (i = 0; i < f->n; i++) {
		err = netinc_parse(f->d[i]->data, f->d[i]->len, &pkt);
		if (err && hostile_members(h->sim))
			break;
		if (err)
			sim_fail(h->sim, "a datagram of the node does not parse: counter %d", -err);
		sim_trace(h->sim, "rank %u: gets type %u from %u, psn %u, epoch %u", h->rank,
			  pkt.type, f->from, pkt.psn, pkt.epoch);
		if (f->many && !(host_listens(h) && netinc_multicast_ok(&pkt)))
			continue;
		pkt.multicast = f->many;
		h->ep.counters[INC_C_MULTICAST] += f->many;
		if (hostile_is_rank(h->sim, h->rank) &&
		    hostile_join_rx(h, &pkt, f->d[i]->data + sizeof(struct inc_hdr)))
			continue;
		if (pkt.type == INC_PKT_MOVE || !from_root(h, f, pkt.tree)) {
			from = trouble_peer(f->from, f->net);
			netinc_ep_non_parent(&h->ep, &pkt, f->d[i]->data + sizeof(struct inc_hdr),
					     &from, now);
		} else if (pkt.type != INC_PKT_RESULT) {
			netinc_ep_control(&h->ep, &pkt, f->d[i]->data + sizeof(struct inc_hdr),
					  now);
		} else if (!netinc_ep_check(&h->ep, &pkt)) {
			pay = (struct netinc_pay){ .obj = f->d[i], .off = sizeof(struct inc_hdr),
						   .len = pkt.len, .flags = pkt.flags };
			h->next_block = netinc_extend(h->ep.una, pkt.psn);
			netinc_ep_result(&h->ep, &pkt, &pay, now);
			results = true;
		}
		check_invariant(h->sim, h);
	}
	if (results)
		netinc_ep_packet_end(&h->ep, pkt.tree, now);
	buffer_progress(h);
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
		h->frozen = true;
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
	case FAULT_PATH:
		h->narrow_up = sim->fault_time % 3 != 1;
		h->narrow_down = sim->fault_time % 3;
		break;
	default:
		break;
	}
}

void host_start(struct sim *sim, u32 rank)
{
	struct host *h = &sim->host[rank];
	struct netinc_ep_cfg cfg = {
		.group = sim->group,
		.rank = rank,
		.size = sim->plan.hosts,
		.dead_ms = sim->plan.dead_ms,
		.nonce = (u32)sim_random(sim) | 1,
		.block = sim->plan.block[rank],
		.super_packet = sim->plan.super_packet,
		.first_block = sim->plan.first_block,
		.canonical = sim->plan.tree.asks >> rank & 1,
	};

	host_free(h);
	memset(h, 0, sizeof(*h));
	h->sim = sim;
	h->rank = rank;
	netinc_ep_init(&h->ep, &cfg, &ep_ops);
	h->high = cfg.first_block;
	h->ep.plan[0] = trouble_peer(SIM_NODE + tree_at(sim, rank), trouble_net(sim, 0));
	h->ep.peers = calloc(cfg.size, sizeof(*h->ep.peers));
	h->parent = h->ep.plan[0];
	sim_at(sim, sim->round_begin + sim->plan.start[rank], EV_HOST_APP, rank, NULL);
}

void host_free(struct host *h)
{
	u32 i;

	if (!h->sim)
		return;
	for (i = 0; i < __INC_C_MAX; i++)
		h->sim->totals[i] += h->ep.counters[i];
	for (i = 0; i < SIM_MAX_OPS; i++) {
		buffer_free(h->sim, h->op[i].exchange);
		buffer_free(h->sim, h->op[i].main);
	}
	free(h->leave.seen);
	free(h->leave.absent);
	if (h->ep.settings.window)
		netinc_ep_retain_drop(&h->ep);
	if (h->retained)
		sim_fail(h->sim, "rank %u still keeps %u datagrams", h->rank, h->retained);
	for (i = 0; i < ARRAY_SIZE(h->ep.retained); i++)
		free(h->ep.retained[i]);
	free(h->ep.peers);
}
