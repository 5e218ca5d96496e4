// SPDX-License-Identifier: GPL-2.0-only
/* A node that lies: its groups are the engine's, what leaves it is not always what they say. */
#include "sim.h"

static bool one_of(struct sim *sim, u32 n)
{
	return !hostile_below(sim, n);
}

static void change_ready(struct sim *sim, struct inc_ready *r)
{
	static const u32 odd[] = { 0, 1, 2, 50, 60000, 60001, 0x7fffffff, 0xffffffff };
	u32 v = odd[hostile_below(sim, ARRAY_SIZE(odd))];

	switch (hostile_below(sim, 14)) {
	case 0:
		r->dead_ms = cpu_to_be32(v);
		break;
	case 1:
		r->late_ms = cpu_to_be32(v);
		r->late_policy = hostile_below(sim, 5);
		break;
	case 2:
		r->window = cpu_to_be32(INC_MIN_WINDOW << hostile_below(sim, 12));
		break;
	case 3:
		r->start = cpu_to_be64(be64_to_cpu(r->start) + hostile_below(sim, 9) - 4);
		break;
	case 4:
		r->block = cpu_to_be16(INC_BLOCK_ALIGN * hostile_below(sim, 16));
		break;
	case 5:
		r->opseq = cpu_to_be32(hostile_near(sim, be32_to_cpu(r->opseq)));
		break;
	case 6:
		r->move = cpu_to_be32(hostile_near(sim, be32_to_cpu(r->move)));
		break;
	case 7:
		r->fallback = hostile_below(sim, 4);
		r->standbys = hostile_below(sim, 5);
		break;
	case 8:
		r->trees = cpu_to_be16(hostile_below(sim, 40));
		r->fallback = INC_FALLBACK_EDGE;
		break;
	case 9:
		r->rank = cpu_to_be16(hostile_near(sim, be16_to_cpu(r->rank)));
		break;
	case 10:
		r->size = cpu_to_be32(hostile_near(sim, be32_to_cpu(r->size)));
		break;
	case 11:
		r->lineage = cpu_to_be64(hostile_below(sim, 2));
		break;
	case 12:
		r->standby[0].family = cpu_to_be16(hostile_below(sim, 8));
		r->edge.family = cpu_to_be16(hostile_below(sim, 8));
		break;
	default:
		hostile_scribble(sim, (u8 *)r, sizeof(*r));
		break;
	}
}

static void change_body(struct sim *sim, struct netinc_pkt *pkt, u8 *body)
{
	switch (pkt->type) {
	case INC_PKT_READY:
		if (hostile_can(sim, TRICK_READY))
			change_ready(sim, (struct inc_ready *)body);
		break;
	case INC_PKT_STATUS:
	case INC_PKT_NACK:
	case INC_PKT_PARTIAL:
	case INC_PKT_WAIT:
		if (hostile_can(sim, TRICK_STATUS))
			hostile_scribble(sim, body, pkt->len);
		break;
	default:
		if (hostile_can(sim, TRICK_BODY))
			hostile_scribble(sim, body, pkt->len);
		break;
	}
}

/* Of an epoch, a run or a tree that the sender has no say in. */
static void change_epoch(struct sim *sim, struct netinc_pkt *pkt)
{
	switch (hostile_below(sim, 3)) {
	case 0:
		pkt->epoch = hostile_near(sim, pkt->epoch);
		break;
	case 1:
		pkt->incarnation = hostile_near(sim, pkt->incarnation);
		break;
	default:
		pkt->tree = hostile_below(sim, sim->plan.hosts + 1);
		break;
	}
}

/* The datagram as it leaves; NULL: not at all. */
static struct dgram *change(struct node *n, struct dgram *d)
{
	struct sim *sim = n->sim;
	struct netinc_pkt pkt;
	struct dgram *copy;

	if (hostile_can(sim, TRICK_DROP) && one_of(sim, 4))
		return NULL;
	netinc_parse(d->data, d->len, &pkt);
	if (hostile_can(sim, TRICK_EPOCH) && one_of(sim, 4)) {
		change_epoch(sim, &pkt);
		copy = hostile_rebuild(sim, d, &pkt);
	} else if (pkt.type == INC_PKT_RESULT || pkt.type == INC_PKT_CONTRIB) {
		if (!hostile_can(sim, TRICK_RESULT) || !hostile_change(sim, &pkt))
			return dgram_get(d);
		if (one_of(sim, 8))
			pkt.flags |= INC_F_PARTIAL;
		copy = hostile_rebuild(sim, d, &pkt);
	} else {
		if (pkt.type == INC_PKT_NACK && hostile_can(sim, TRICK_STATUS)) {
			pkt.psn = hostile_near(sim, pkt.psn);
			pkt.span = (u16)(1 + hostile_random(sim));
		}
		copy = hostile_rebuild(sim, d, &pkt);
		change_body(sim, &pkt, copy->data + sizeof(struct inc_hdr));
	}
	sim_trace(sim, "node %u lies: type %u, psn %u + %u, operation %u, flags %#x, %u bytes",
		  n->place, pkt.type, pkt.psn, pkt.span, pkt.opseq, pkt.flags, pkt.len);
	return copy;
}

void hostile_node_send(struct node *n, u32 to, u32 net, struct dgram **d, u32 count)
{
	struct sim *sim = n->sim;
	struct dgram *out;
	u32 i;

	for (i = 0; i < count; i++) {
		out = hostile_lies(sim, sim->plan.hostile.rate) ? change(n, d[i]) : dgram_get(d[i]);
		if (out)
			net_send(sim, n->addr, to, net, &out, 1);
		dgram_put(sim, d[i]);
	}
}

static void header(const struct host *h, struct netinc_pkt *pkt, u8 type)
{
	memset(pkt, 0, sizeof(*pkt));
	pkt->type = type;
	pkt->group = h->ep.cfg.group;
	pkt->incarnation = h->ep.incarnation;
	pkt->epoch = h->ep.epoch;
	pkt->cookie = h->ep.down_cookie;
	pkt->span = 1;
	pkt->psn = (u32)h->ep.una;
}

static void send_to(struct node *n, const struct host *h, const struct netinc_pkt *pkt,
		    const void *body)
{
	struct netinc_pkt of_tree = *pkt;
	struct dgram *d;

	/* as what it is, or as the root of another tree */
	if (n->place > SIM_EDGE && hostile_below(n->sim, 8))
		of_tree.tree = n->place - SIM_EDGE;
	d = dgram_build(n->sim, &of_tree, NULL, body);
	sim_trace(n->sim,
		  "node %u lies to rank %u: type %u, psn %u + %u, operation %u, flags %#x, %u bytes",
		  n->place, h->rank, pkt->type, pkt->psn, pkt->span, pkt->opseq, pkt->flags,
		  pkt->len);
	net_send(n->sim, n->addr, h->rank, n->net[h->rank], &d, 1);
}

/* Operations are to fail from somewhere on, and to go on from somewhere. */
static void lie_error(struct node *n, const struct host *h)
{
	const struct netinc_ep *ep = &h->ep;
	struct sim *sim = n->sim;
	u32 seq = ep->head ? ep->head->seq : ep->next_seq;
	struct netinc_error e = {
		.block = ep->una + hostile_below(sim, ep->snd - ep->una + 2),
		.opseq = seq + (u32)hostile_below(sim, 3) - 1,
		.code = one_of(sim, 2) ? INC_ERR_MISMATCH : 1 + hostile_below(sim, INC_ERR_MAX),
		.rank = { hostile_near(sim, h->rank), hostile_near(sim, 0) },
	};
	struct inc_error_pkt body;
	struct netinc_pkt pkt;

	if (!one_of(sim, 4))
		e.resume = one_of(sim, 4) ? hostile_near(sim, seq) :
					    seq + (u32)hostile_below(sim, 3);
	header(h, &pkt, INC_PKT_ERROR);
	pkt.psn = (u32)e.block;
	pkt.len = sizeof(body);
	netinc_error_build(&body, &e);
	sim_trace(sim, "node %u: error %u at block %llu, resume %u", n->place, e.code,
		  (unsigned long long)e.block, e.resume);
	send_to(n, h, &pkt, &body);
}

static void lie_status(struct node *n, const struct host *h)
{
	struct {
		struct inc_status status;
		__be32 map[NETINC_MAX_BITMAP];
	} m = { 0 };
	struct sim *sim = n->sim;
	u32 bits = 32 * (u32)hostile_below(sim, 2 * sim->plan.window / 32 + 2), i;
	struct netinc_pkt pkt;

	header(h, &pkt, INC_PKT_STATUS);
	pkt.psn = hostile_near(sim, pkt.psn);
	pkt.tstamp = (u32)sim->now - (one_of(sim, 2) ? 100 : (u32)hostile_random(sim));
	for (i = 0; i < bits / 32; i++)
		m.map[i] = (__be32)hostile_random(sim);
	m.status.waiting = (__be32)hostile_random(sim);
	m.status.seen = (__be32)hostile_random(sim);
	m.status.slack = (__be16)hostile_random(sim);
	m.status.bits = cpu_to_be16(one_of(sim, 8) ? (u16)hostile_random(sim) : bits);
	pkt.len = sizeof(m.status) + bits / 8;
	send_to(n, h, &pkt, &m);
}

static void lie_nack(struct node *n, const struct host *h)
{
	struct netinc_pkt pkt;

	header(h, &pkt, INC_PKT_NACK);
	pkt.psn = hostile_near(n->sim, pkt.psn);
	pkt.span = one_of(n->sim, 2) ? 1 + hostile_below(n->sim, n->sim->plan.window) : 0xffff;
	send_to(n, h, &pkt, NULL);
}

static void lie_move(struct node *n, const struct host *h)
{
	struct inc_move body = { .lineage = cpu_to_be64(h->ep.lineage),
				 .move = cpu_to_be32(hostile_near(n->sim, h->ep.move)) };
	struct netinc_pkt pkt;

	header(h, &pkt, INC_PKT_MOVE);
	pkt.child = h->rank;
	pkt.len = sizeof(body);
	send_to(n, h, &pkt, &body);
}

static void lie_peers(struct node *n, const struct host *h)
{
	struct {
		struct inc_peers peers;
		struct inc_peer peer[8];
	} m = { 0 };
	struct sim *sim = n->sim;
	u32 count = (u32)hostile_below(sim, ARRAY_SIZE(m.peer) + 1), i;
	struct netinc_peer to;
	struct netinc_pkt pkt;

	m.peers.first = cpu_to_be32(one_of(sim, 4) ? hostile_near(sim, 0) :
						     (u32)hostile_below(sim, sim->plan.hosts));
	m.peers.n = cpu_to_be32(one_of(sim, 8) ? (u32)hostile_random(sim) : count);
	for (i = 0; i < count; i++) {
		to = trouble_peer((u32)hostile_below(sim, SIM_ADDRS + 2),
				  (u32)hostile_below(sim, 2));
		netinc_addr_build(&m.peer[i].addr, &to);
		m.peer[i].addr.family = cpu_to_be16(one_of(sim, 4) ? (u16)hostile_random(sim) : 4);
	}
	header(h, &pkt, INC_PKT_PEERS);
	pkt.child = h->rank;
	pkt.len = sizeof(m.peers) + count * sizeof(m.peer[0]);
	send_to(n, h, &pkt, &m);
}

static void lie_result(struct node *n, const struct host *h)
{
	const struct netinc_op *op = h->ep.head;
	struct sim *sim = n->sim;
	u8 body[INC_MAX_BLOCK];
	struct netinc_pkt pkt;
	u32 i;

	header(h, &pkt, INC_PKT_RESULT);
	pkt.psn += (u32)hostile_below(sim, h->ep.snd - h->ep.una + 1);
	if (one_of(sim, 4))
		pkt.psn += (u32)hostile_below(sim, 2 * sim->plan.window);
	if (op) {
		pkt.opseq = op->seq;
		pkt.sig = op->sig;
		pkt.dtype = op->wire <= INC_TYPE_MAX ? op->wire : 0;
	}
	pkt.flags = INC_F_WANT;
	if (one_of(sim, 2)) {
		pkt.flags |= INC_F_PAYLOAD;
		pkt.len = one_of(sim, 2) ? sim->plan.block[0] :
					   1 + hostile_below(sim, 2 * sim->plan.block[0]);
		for (i = 0; i < pkt.len; i++)
			body[i] = (u8)hostile_random(sim);
	} else {
		pkt.span = 1 + hostile_below(sim, sim->plan.window);
	}
	if (one_of(sim, 2))
		hostile_change(sim, &pkt);
	if (one_of(sim, 8))
		pkt.flags |= INC_F_PARTIAL;
	if (pkt.flags & INC_F_DESC)
		pkt.flags &= ~INC_F_DESC;
	send_to(n, h, &pkt, body);
}

/* The group is not known here, or is elsewhere. */
static void lie_refuse(struct node *n, const struct host *h)
{
	struct sim *sim = n->sim;
	struct inc_refuse body = { .nonce = cpu_to_be32(h->ep.cfg.nonce),
				   .code = cpu_to_be16(hostile_below(sim, __INC_REFUSE_MAX + 1)),
				   .detail = cpu_to_be64(hostile_near(sim, h->ep.move)) };
	struct netinc_pkt pkt;

	header(h, &pkt, INC_PKT_REFUSE);
	pkt.cookie = h->ep.tree[0].up_cookie;
	pkt.len = sizeof(body);
	send_to(n, h, &pkt, &body);
}

static void lie_partial(struct node *n, const struct host *h)
{
	struct {
		struct inc_partial partial;
		__be32 map[INC_MAX_RANKS / 32];
	} m = { 0 };
	struct netinc_pkt pkt;

	m.partial.set = cpu_to_be16(hostile_near(n->sim, h->ep.set));
	m.partial.bits = cpu_to_be16(one_of(n->sim, 4) ? (u16)hostile_random(n->sim) : 32);
	m.map[0] = (__be32)hostile_random(n->sim);
	header(h, &pkt, INC_PKT_PARTIAL);
	pkt.len = sizeof(m.partial) + 4;
	send_to(n, h, &pkt, &m);
}

/* What was said earlier, with today's cookie. */
static void lie_again(struct node *n, const struct host *h)
{
	struct netinc_pkt pkt;
	const struct heard *heard = hostile_heard(n->sim, n->sim->round + 1);
	struct dgram *d, *copy;

	if (!heard)
		return;
	d = dgram_get(heard->d);
	if (!netinc_parse(d->data, d->len, &pkt) && pkt.type != INC_PKT_CONTRIB &&
	    pkt.type != INC_PKT_PROBE && pkt.type != INC_PKT_JOIN && pkt.type != INC_PKT_ABORT) {
		pkt.epoch = h->ep.epoch;
		pkt.incarnation = h->ep.incarnation;
		pkt.cookie = h->ep.down_cookie;
		copy = hostile_rebuild(n->sim, d, &pkt);
		net_send(n->sim, n->addr, h->rank, n->net[h->rank], &copy, 1);
	}
	dgram_put(n->sim, d);
}

/* From here on nothing is heard of it until it speaks again. */
static void lie_mute(struct node *n, const struct host *h)
{
	(void)h;
	n->mute = true;
	sim_trace(n->sim, "node %u says nothing any more", n->place);
}

/* The blocks of a root are those of its tree: has the group gone there? */
static bool serves(const struct node *n, const struct host *h)
{
	return n->place <= SIM_EDGE || h->ep.spread.trees > n->place - SIM_EDGE;
}

void hostile_node_now(struct node *n)
{
	static const struct {
		enum trick trick;
		void (*play)(struct node *n, const struct host *h);
	} tricks[] = {
		{ TRICK_ERROR, lie_error }, { TRICK_STATUS, lie_status },
		{ TRICK_STATUS, lie_nack }, { TRICK_MOVE, lie_move }, { TRICK_MOVE, lie_peers },
		{ TRICK_RESULT, lie_result }, { TRICK_ABORT, lie_refuse },
		{ TRICK_STATUS, lie_partial }, { TRICK_AGAIN, lie_again },
		{ TRICK_MUTE, lie_mute },
	};
	const struct host *h = &n->sim->host[hostile_below(n->sim, n->sim->plan.hosts)];
	u32 at = (u32)hostile_below(n->sim, ARRAY_SIZE(tricks));

	if (n->mute)
		n->mute = !one_of(n->sim, 4);
	if (n->silent || n->mute)
		return;
	if (n->sim->plan.tree.nodes && one_of(n->sim, 2)) {
		hostile_tree_now(n);
		return;
	}
	if (!h->sim || !h->ep.incarnation || !serves(n, h))
		return;
	/* these end the group for that rank, and that is that */
	if ((tricks[at].play == lie_refuse || tricks[at].play == lie_mute) &&
	    hostile_below(n->sim, 8))
		return;
	if (hostile_can(n->sim, tricks[at].trick))
		tricks[at].play(n, h);
}
