// SPDX-License-Identifier: GPL-2.0-only
/* A member that lies. Its endpoint is honest; what leaves is not always what it says. */
#include "sim.h"

#define MOST_EXTRA	24	/* datagrams that one occasion makes more of */

static bool one_of(struct sim *sim, u32 n)
{
	return !hostile_below(sim, n);
}

static void send_one(struct host *h, u32 to, u32 net, struct dgram *d)
{
	net_send(h->sim, h->rank, to, net, &d, 1);
}

/* A header with which the node takes this rank for a member. */
static void member_header(const struct host *h, struct netinc_pkt *pkt, u8 type)
{
	netinc_ep_header(&h->ep, pkt, type);
	pkt->psn = (u32)h->ep.una;
}

static u32 current_seq(const struct host *h)
{
	return h->ep.head ? h->ep.head->seq : h->ep.next_seq;
}

/* Contributes to blocks that others are not at yet, as if another operation were there. */
static void go_ahead(struct host *h)
{
	struct sim *sim = h->sim;
	u32 n = 1 + (u32)hostile_below(sim, MOST_EXTRA), i, seq = current_seq(h);
	struct netinc_pkt pkt;
	u8 body[sizeof(struct inc_desc)] = { 0 };
	struct dgram *d;
	u64 b;

	for (i = 0; i < n; i++) {
		member_header(h, &pkt, INC_PKT_CONTRIB);
		b = h->ep.una + hostile_below(sim, sim->plan.window + 2);
		if (one_of(sim, 2) && h->ep.snd - h->ep.una <= sim->plan.window)
			b = h->ep.snd +
			    hostile_below(sim, h->ep.una + sim->plan.window + 1 - h->ep.snd);
		netinc_ep_to_tree(&h->ep, &pkt,
				  h->ep.spread.trees > 1 ? netinc_tree_of(&h->ep.spread, b) : 0);
		pkt.psn = (u32)b;
		pkt.opseq = seq;
		if (h->ep.head && h->ep.head->numbered)
			pkt.sig = h->ep.head->sig;
		if (one_of(sim, 2))
			pkt.opseq += (u32)hostile_below(sim, 3) - 1;
		else if (one_of(sim, 4))
			pkt.sig = (u32)hostile_random(sim);
		pkt.flags = INC_F_WANT | (one_of(sim, 2) ? INC_F_ECE : 0);
		if (one_of(sim, 3)) {
			pkt.span = 1 + (u32)hostile_below(sim, sim->plan.window);
		} else if (one_of(sim, 2)) {
			pkt.flags |= INC_F_PAYLOAD;
			pkt.len = 16 * (1 + hostile_below(sim, sim->plan.block[0] / 16));
			pkt.dtype = 1 + hostile_below(sim, INC_TYPE_MAX);
			pkt.dop = hostile_below(sim, __INC_OP_MAX);
		} else if (one_of(sim, 3)) {
			pkt.flags |= INC_F_DESC;
		}
		d = dgram_new(sim, sizeof(struct inc_hdr) + netinc_body_len(&pkt));
		netinc_build((struct inc_hdr *)d->data, &pkt);
		if (pkt.flags & INC_F_DESC)
			memcpy(d->data + sizeof(struct inc_hdr), body, sizeof(body));
		sim_trace(sim, "rank %u lies: contribution %u + %u of operation %u, flags %#x",
			  h->rank, pkt.psn, pkt.span, pkt.opseq, pkt.flags);
		send_one(h, h->parent.addr[1], h->parent.addr[2], d);
	}
}

static void probe(struct host *h)
{
	struct {
		struct inc_probe probe;
		__be32 map[NETINC_MAX_BITMAP];
	} m = { 0 };
	u32 bits = 32 * (u32)hostile_below(h->sim, 2 * h->sim->plan.window / 32 + 2), i;
	struct netinc_pkt pkt;

	member_header(h, &pkt, INC_PKT_PROBE);
	pkt.psn = hostile_near(h->sim, pkt.psn);
	pkt.span = 1 + (u32)hostile_below(h->sim, 8);
	pkt.opseq = hostile_near(h->sim, 0);
	pkt.flags = one_of(h->sim, 3) ? INC_F_LEAVE | INC_F_RETRANS : INC_F_RETRANS;
	for (i = 0; i < bits / 32; i++)
		m.map[i] = (__be32)hostile_random(h->sim);
	m.probe.srtt = (__be32)hostile_random(h->sim);
	m.probe.slack = (__be16)hostile_random(h->sim);
	m.probe.bits = cpu_to_be16(one_of(h->sim, 8) ? (u16)hostile_random(h->sim) : bits);
	pkt.len = sizeof(m.probe) + bits / 8;
	sim_trace(h->sim, "rank %u lies: PROBE %u, %u bits", h->rank, pkt.psn, bits);
	send_one(h, h->parent.addr[1], h->parent.addr[2], dgram_build(h->sim, &pkt, NULL, &m));
}

static void abort_now(struct host *h)
{
	static const u16 codes[] = {
		INC_ERR_RANK_ABORT, INC_ERR_RANK_FAULT, INC_ERR_RANK_PATH, INC_ERR_MISMATCH, 0, 999,
	};
	struct inc_error_pkt body = {
		.code = cpu_to_be16(codes[hostile_below(h->sim, ARRAY_SIZE(codes))]),
	};
	struct netinc_pkt pkt;

	member_header(h, &pkt, INC_PKT_ABORT);
	pkt.len = sizeof(body);
	body.resume =
		cpu_to_be32(one_of(h->sim, 2) ? h->ep.cfg.nonce : (u32)hostile_random(h->sim));
	sim_trace(h->sim, "rank %u lies: ABORT, code %u", h->rank, be16_to_cpu(body.code));
	send_one(h, h->parent.addr[1], h->parent.addr[2], dgram_build(h->sim, &pkt, NULL, &body));
}

static void leave_now(struct host *h)
{
	struct netinc_pkt pkt;

	member_header(h, &pkt, INC_PKT_CONTRIB);
	pkt.psn = hostile_near(h->sim, pkt.psn);
	pkt.opseq = current_seq(h) + (u32)hostile_below(h->sim, 2);
	pkt.sig = (u32)hostile_random(h->sim);
	pkt.flags = INC_F_LEAVE | (one_of(h->sim, 2) ? INC_F_WANT : 0);
	sim_trace(h->sim, "rank %u lies: LEAVE at block %u", h->rank, pkt.psn);
	send_one(h, h->parent.addr[1], h->parent.addr[2], dgram_build(h->sim, &pkt, NULL, NULL));
}

/* Calls another rank away, which has to be of the group's lineage. */
static void call_away(struct host *h)
{
	struct inc_move body = { .lineage = cpu_to_be64(h->ep.lineage),
				 .move = cpu_to_be32(hostile_near(h->sim, h->ep.move)) };
	u32 to = (u32)hostile_below(h->sim, h->sim->plan.hosts);
	struct netinc_pkt pkt;

	member_header(h, &pkt, INC_PKT_MOVE);
	pkt.child = to;
	pkt.len = sizeof(body);
	sim_trace(h->sim, "rank %u lies: MOVE %u to %u", h->rank, be32_to_cpu(body.move), to);
	send_one(h, to, h->parent.addr[2], dgram_build(h->sim, &pkt, NULL, &body));
}

/* Something of this life of the group that anybody has said, as if it were this rank's. */
static void say_again(struct host *h)
{
	struct netinc_pkt pkt;
	const struct heard *heard = hostile_heard(h->sim, h->sim->round + 1);
	struct dgram *d;

	if (!heard)
		return;
	d = dgram_get(heard->d);
	if (!netinc_parse(d->data, d->len, &pkt) && pkt.type != INC_PKT_RESULT) {
		pkt.epoch = h->ep.epoch;
		pkt.incarnation = h->ep.incarnation;
		pkt.child = h->rank;
		pkt.cookie = h->ep.tree[0].up_cookie;
		send_one(h, h->parent.addr[1], h->parent.addr[2], hostile_rebuild(h->sim, d, &pkt));
	}
	dgram_put(h->sim, d);
}

/* All results that the node still has, in one super-packet: much for little. */
static void ask_again(struct host *h)
{
	u32 n = 1 + (u32)hostile_below(h->sim, 8), window = h->sim->plan.window, i;
	struct netinc_pkt pkt;
	struct dgram *d[8];

	member_header(h, &pkt, INC_PKT_CONTRIB);
	pkt.flags = INC_F_RETRANS | INC_F_WANT;
	pkt.span = window;
	for (i = 0; i < n; i++) {
		pkt.psn = (u32)h->ep.una - window * (1 + i % 2);
		d[i] = dgram_build(h->sim, &pkt, NULL, NULL);
	}
	sim_trace(h->sim, "rank %u asks %u times for results before %u", h->rank, n,
		  (u32)h->ep.una);
	net_send(h->sim, h->rank, h->parent.addr[1], h->parent.addr[2], d, n);
}

void hostile_rank_now(struct host *h)
{
	static const struct {
		enum trick trick;
		void (*play)(struct host *h);
	} tricks[] = {
		{ TRICK_AHEAD, go_ahead }, { TRICK_PROBE, probe }, { TRICK_ABORT, abort_now },
		{ TRICK_LEAVE, leave_now }, { TRICK_MOVE, call_away }, { TRICK_AGAIN, say_again },
		{ TRICK_AGAIN, ask_again },
		{ TRICK_JOIN, hostile_join }, { TRICK_STEAL, hostile_join },
		{ TRICK_OTHERS, hostile_others }, { TRICK_FOUND, hostile_found },
	};
	u32 at;

	if (h->gone || !h->sim)
		return;
	at = (u32)hostile_below(h->sim, ARRAY_SIZE(tricks));
	/* these end the group for all, and that is that */
	if ((tricks[at].trick == TRICK_ABORT || tricks[at].trick == TRICK_LEAVE) &&
	    hostile_below(h->sim, 8))
		return;
	if (hostile_can(h->sim, tricks[at].trick))
		tricks[at].play(h);
}

/* The datagram as it leaves; NULL: not at all. */
static struct dgram *change(struct host *h, struct dgram *d)
{
	struct sim *sim = h->sim;
	struct netinc_pkt pkt;
	struct dgram *copy;

	if (hostile_can(sim, TRICK_DROP) && one_of(sim, 4)) {
		sim_trace(sim, "rank %u says nothing", h->rank);
		return NULL;
	}
	netinc_parse(d->data, d->len, &pkt);
	if (pkt.type == INC_PKT_CONTRIB) {
		if (!hostile_change(sim, &pkt))
			return dgram_get(d);
		copy = hostile_rebuild(sim, d, &pkt);
		/* what it has as the result, others have not */
		if (pkt.flags & INC_F_FINAL)
			hostile_scribble(sim, copy->data + sizeof(struct inc_hdr), pkt.len);
	} else {
		if (!hostile_can(sim, TRICK_BODY))
			return dgram_get(d);
		copy = hostile_rebuild(sim, d, &pkt);
		hostile_scribble(sim, copy->data + sizeof(struct inc_hdr), pkt.len);
	}
	sim_trace(sim, "rank %u lies: type %u, psn %u + %u, operation %u, flags %#x, %u bytes",
		  h->rank, pkt.type, pkt.psn, pkt.span, pkt.opseq, pkt.flags, pkt.len);
	return copy;
}

void hostile_rank_send(struct host *h, u32 to, u32 net, struct dgram **d, u32 n)
{
	struct sim *sim = h->sim;
	struct dgram *out;
	u32 i;

	if (sim->now >= sim->plan.calm || sim->hostile_over) {
		net_send(sim, h->rank, to, net, d, n);
		return;
	}
	for (i = 0; i < n; i++) {
		out = hostile_lies(sim, sim->plan.hostile.rate) ? change(h, d[i]) : dgram_get(d[i]);
		if (out) {
			/* the lie first, the truth behind it: what does the node make of that? */
			if (memcmp(out->data, d[i]->data, sizeof(struct inc_hdr)) &&
			    one_of(sim, 2)) {
				send_one(h, to, net, out);
				out = dgram_get(d[i]);
			}
			send_one(h, to, net, out);
		}
		dgram_put(sim, d[i]);
	}
	if (hostile_can(sim, TRICK_AHEAD) && hostile_lies(sim, sim->plan.hostile.rate))
		go_ahead(h);
}
