// SPDX-License-Identifier: GPL-2.0-only
/*
 * Members of a group, at one host, that have joined as they should. They see what comes to their
 * host and what its honest rank sends, whose cookie they take.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <string.h>
#include <unistd.h>

#include "packet.h"
#include "siphash.h"

#define JOIN_PAUSE 30 /* ms between JOINs */
#define JOIN_PATIENCE 15000 /* ms */

void make_header(const struct liar *l, const struct member *m, u8 type, struct netinc_pkt *pkt)
{
	*pkt = (struct netinc_pkt){ .type = type,
				    .span = 1,
				    .group = l->group,
				    .incarnation = m->incarnation,
				    .epoch = m->epoch,
				    .child = (u16)m->rank,
				    .cookie = m->up };
}

void make_unit(struct unit *u, struct netinc_pkt *pkt, const void *body, u32 len)
{
	pkt->len = (u16)(len - (pkt->flags & INC_F_DESC ? sizeof(struct inc_desc) : 0));
	netinc_build((struct inc_hdr *)u->data, pkt);
	memcpy(u->data + sizeof(struct inc_hdr), body, len);
	memset(u->data + sizeof(struct inc_hdr) + len, 0, round_up(len, 4u) - len);
	u->len = sizeof(struct inc_hdr) + round_up(len, 4u);
}

void liar_send(const struct unit *u)
{
	frame_send(host_addr(my_host), host_addr(NODE_HOST), NODE_HOST, u->data, u->len);
}

/* Of a node; the ranks below it are in one word. */
static void say_below(struct liar *l, struct inc_join *body)
{
	static const u16 windows[] = { 4, 16, 512 };

	if (!l->below)
		return;
	body->below = 1 + (u8)(l->group % (INC_MAX_HEIGHT - 1));
	body->window = body->window ?: cpu_to_be16(windows[l->group % 3]);
	if (one_in(&l->s, 4)) {
		body->below |= INC_JOIN_STALE;
		count_lie(LIE_NODE_STALE);
	}
	/* what it contributes is in parts then, if its ranks make several */
	if (l->group & 1)
		body->flags |= INC_JOIN_CANONICAL;
	if (one_in(&l->s, 16))
		body->flags |= INC_JOIN_MANY_PARTS;
}

void liar_send_join(struct liar *l, struct member *m, const struct inc_join *lie, u32 incarnation)
{
	u8 join[sizeof(*lie) + sizeof(__be32) + sizeof(struct inc_addr)]
		__attribute__((aligned(8))) = { 0 };
	struct inc_join *body = (struct inc_join *)join;
	static const u8 key[INC_KEY_LEN];
	struct netinc_pkt pkt;
	struct unit u;

	*body = *lie;
	body->size = body->size ?: cpu_to_be32(l->size);
	body->nonce = cpu_to_be32(m->nonce);
	body->block = body->block ?: cpu_to_be16(1408);
	body->challenge = cpu_to_be64(incarnation ? 0 : m->challenge);
	say_below(l, body);
	body->ranks[0] = cpu_to_be32(l->below);
	if (body->challenge)
		netinc_join_proof(key, l->group, m->rank, body, body->proof);
	make_header(l, m, INC_PKT_JOIN, &pkt);
	pkt.incarnation = incarnation;
	if (!incarnation) {
		pkt.epoch = 0;
		pkt.cookie = 0;
	}
	make_unit(&u, &pkt, body, sizeof(*body) + netinc_join_tail_bytes(body));
	liar_send(&u);
}

static void rx_ready(struct liar *l, const struct netinc_pkt *p, const struct inc_ready *r)
{
	struct member *m;
	u32 i;

	for (i = 0; i < l->n; i++) {
		m = &l->member[i];
		if (m->rank != p->child || be32_to_cpu(r->nonce) != m->nonce ||
		    (m->ready && m->epoch == p->epoch))
			continue;
		m->ready = true;
		m->epoch = p->epoch;
		m->incarnation = p->incarnation;
		m->up = be64_to_cpu(r->up_cookie);
		m->down = be64_to_cpu(r->down_cookie);
		m->lineage = be64_to_cpu(r->lineage);
		m->start = be64_to_cpu(r->start);
		m->opseq = be32_to_cpu(r->opseq);
		l->block = be16_to_cpu(r->block);
		l->window = be32_to_cpu(r->window);
		l->una = (u32)m->start;
		l->erred = false;
		count_lie(l->below ? LIE_NODE_JOINED : LIE_JOINED);
	}
}

static void rx_challenge(struct liar *l, const struct netinc_pkt *p, const struct inc_challenge *c)
{
	u32 i;

	for (i = 0; i < l->n; i++)
		if (l->member[i].rank == p->child && be32_to_cpu(c->nonce) == l->member[i].nonce)
			l->member[i].challenge = be64_to_cpu(c->challenge);
}

/* For this host, or for another one's that the bridge does not know. */
static void rx_down(struct liar *l, const struct netinc_pkt *p, const void *body)
{
	const struct inc_error_pkt *e = body;

	switch (p->type) {
	case INC_PKT_CHALLENGE:
		rx_challenge(l, p, body);
		break;
	case INC_PKT_READY:
		rx_ready(l, p, body);
		break;
	case INC_PKT_RESULT:
		if ((s32)(p->psn + p->span - l->una) > 0)
			l->una = p->psn + p->span;
		break;
	case INC_PKT_STATUS:
		l->una = p->psn;
		break;
	case INC_PKT_ERROR:
		l->erred = e->resume != 0;
		l->error = be64_to_cpu(e->block);
		break;
	default:
		break;
	}
}

static bool is_ours(const struct liar *l, u32 rank)
{
	u32 i;

	for (i = 0; i < l->n; i++)
		if (l->member[i].rank == rank)
			return true;
	return false;
}

/* What the honest rank of this host says. */
static void rx_up(struct liar *l, const struct netinc_pkt *p, const void *body)
{
	const struct inc_join *join = body;

	if (is_ours(l, p->child))
		return;
	if (p->type == INC_PKT_JOIN)
		l->stolen_nonce = be32_to_cpu(join->nonce);
	if ((p->type != INC_PKT_CONTRIB && p->type != INC_PKT_PROBE) ||
	    p->epoch != l->member[0].epoch)
		return;
	l->stolen = p->cookie;
	l->stolen_rank = p->child;
	if (p->type == INC_PKT_CONTRIB && !(p->flags & INC_F_RETRANS))
		l->seen[l->nseen++ % MAX_SEEN] = (struct seen){ p->psn, p->opseq, p->sig, p->span };
}

void liar_listen(struct liar *l)
{
	static u8 data[65536] __attribute__((aligned(8)));
	struct netinc_pkt p;
	u32 len, at, unit;
	bool outgoing;

	while ((len = frame_receive(data, sizeof(data), &outgoing))) {
		for (at = 0; at + sizeof(struct inc_hdr) <= len; at += unit) {
			const struct inc_hdr *h = (const struct inc_hdr *)(data + at);

			unit = sizeof(*h) + round_up((u32)be16_to_cpu(h->len), 4u);
			if (h->flags & cpu_to_be16(INC_F_DESC))
				unit += sizeof(struct inc_desc);
			if (at + unit > len || netinc_parse(data + at, unit, &p) ||
			    p.group != l->group)
				break;
			if (outgoing)
				rx_up(l, &p, data + at + sizeof(struct inc_hdr));
			else
				rx_down(l, &p, data + at + sizeof(struct inc_hdr));
		}
	}
}

static bool all_ready(const struct liar *l)
{
	u32 i;

	for (i = 0; i < l->n; i++)
		if (!l->member[i].ready)
			return false;
	return true;
}

bool liar_join(struct liar *l)
{
	int64_t end = now_ms() + JOIN_PATIENCE, next = 0;
	u32 i;

	while (!all_ready(l) && now_ms() < end) {
		for (i = 0; i < l->n && now_ms() >= next; i++) {
			struct inc_join body = { .size = 0 };

			if (!l->member[i].ready)
				liar_send_join(l, &l->member[i], &body, 0);
		}
		next = now_ms() >= next ? now_ms() + JOIN_PAUSE : next;
		usleep(1000);
		liar_listen(l);
	}
	return all_ready(l);
}

void liar_abort(struct liar *l)
{
	struct inc_error_pkt body = { .code = cpu_to_be16(INC_ERR_RANK_ABORT) };
	struct netinc_pkt pkt;
	struct unit u;
	u32 i;

	for (i = 0; i < l->n; i++) {
		body.rank[0] = cpu_to_be32(l->member[i].rank);
		make_header(l, &l->member[i], INC_PKT_ABORT, &pkt);
		make_unit(&u, &pkt, &body, sizeof(body));
		liar_send(&u);
	}
}
