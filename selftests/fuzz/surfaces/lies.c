// SPDX-License-Identifier: GPL-2.0-only
/*
 * What members say that lie: packets to the node with valid cookies, alone and in super-packets,
 * from addresses that nobody may have, and packets to the other ranks in the node's name.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <string.h>

#include "packet.h"

#define ERRORS_IN 64 /* of what ends a group at once there is one in so many */

static const u16 sizes[] = { 0, 0, 64, 136, 1024 }; /* bytes behind the headers in a super-packet */

static struct member *any_member(struct liar *l)
{
	return &l->member[draw(&l->s, l->n)];
}

/* A block near the window, or anywhere. */
static u32 any_block(struct liar *l)
{
	switch (draw(&l->s, 8)) {
	case 0:
		return l->una + l->window - draw(&l->s, 3);
	case 1:
		return l->una - draw(&l->s, 3 * l->window);
	case 2:
		return (u32)draw_number(&l->s);
	default:
		return l->una + draw(&l->s, l->window);
	}
}

static const struct seen *last_seen(const struct liar *l)
{
	static const struct seen none = { .opseq = 1 };

	return l->nseen ? &l->seen[(l->nseen - 1) % MAX_SEEN] : &none;
}

/* Who speaks: a member, or the honest rank of this host. */
static void speaker(struct liar *l, u8 type, struct netinc_pkt *pkt)
{
	make_header(l, any_member(l), type, pkt);
	if (l->pure || !l->stolen || !one_in(&l->s, 8))
		return;
	pkt->child = (u16)l->stolen_rank;
	pkt->cookie = l->stolen;
	count_lie(LIE_STOLEN);
}

static void name_operation(struct liar *l, struct netinc_pkt *pkt)
{
	const struct seen *last = last_seen(l);

	pkt->opseq = last->opseq;
	pkt->sig = last->sig;
	pkt->dtype = INC_TYPE_I32;
	pkt->dop = INC_OP_SUM;
	if (one_in(&l->s, 3)) {
		pkt->opseq += draw(&l->s, 5) - 2;
		count_lie(LIE_OPSEQ);
	}
	if (one_in(&l->s, 8))
		pkt->opseq = (u32)draw_number(&l->s);
	if (one_in(&l->s, 4))
		pkt->sig = draw(&l->s, 0);
	if (one_in(&l->s, 4)) {
		pkt->dtype = (u8)draw(&l->s, INC_TYPE_MAX + 1);
		pkt->dop = (u8)draw(&l->s, __INC_OP_MAX);
		pkt->mode = one_in(&l->s, 4) ? INC_MODE_SATURATE : 0;
	}
}

static void any_flags(struct liar *l, struct netinc_pkt *pkt)
{
	if (!one_in(&l->s, 4))
		pkt->flags |= INC_F_WANT;
	if (one_in(&l->s, 4)) {
		pkt->flags |= INC_F_RETRANS;
		count_lie(LIE_RETRANS);
	}
	if (one_in(&l->s, 8))
		pkt->flags |= one_in(&l->s, 2) ? INC_F_CE : INC_F_ECE;
	if (one_in(&l->s, ERRORS_IN)) {
		pkt->flags |= INC_F_LEAVE;
		count_lie(LIE_LEAVE);
	}
}

static void make_body(struct liar *l, u8 *body, u32 len)
{
	u32 i;

	for (i = 0; i + 8 <= len; i += 8)
		memcpy(body + i, &(u64){ one_in(&l->s, 4) ? draw_number(&l->s) : 0 }, 8);
	memset(body + i, 0, len - i);
}

/* @len: of payload with descriptor; 0: a header, perhaps of a span. */
static void make_contrib(struct liar *l, struct unit *u, u32 len)
{
	bool desc = len >= sizeof(struct inc_desc) && one_in(&l->s, 4);
	u8 body[MAX_UNIT - sizeof(struct inc_hdr)];
	struct netinc_pkt pkt;

	if (l->pure && len) {
		/* a descriptor alone, behind which nothing comes */
		len = sizeof(struct inc_desc);
		desc = true;
	}
	speaker(l, INC_PKT_CONTRIB, &pkt);
	pkt.psn = any_block(l);
	name_operation(l, &pkt);
	any_flags(l, &pkt);
	if (desc) {
		pkt.flags |= INC_F_DESC;
		count_lie(LIE_DESC);
	}
	if (len > (desc ? sizeof(struct inc_desc) : 0)) {
		pkt.flags |= INC_F_PAYLOAD;
		count_lie(LIE_PAYLOAD);
		if (one_in(&l->s, 8)) {
			pkt.flags |= INC_F_FINAL;
			count_lie(LIE_FINAL);
		}
		if (one_in(&l->s, l->below ? 2 : 8)) {
			pkt.flags |= INC_F_WIDE;
			count_lie(LIE_WIDE);
		}
	} else {
		count_lie(LIE_NO_PAYLOAD);
	}
	if (l->below && one_in(&l->s, 2)) {
		pkt.flags = (pkt.flags & ~(INC_F_FINAL | INC_F_LEAVE)) | INC_F_PART;
		pkt.part = (u8)(one_in(&l->s, 8) ? draw(&l->s, 256) : draw(&l->s, 3));
		count_lie(LIE_NODE_PART);
	} else if (!len && one_in(&l->s, 2)) {
		pkt.span =
			(u16)(one_in(&l->s, 4) ? draw(&l->s, 65536) : 1 + draw(&l->s, l->window));
		count_lie(LIE_SPAN);
	}
	make_body(l, body, len);
	make_unit(u, &pkt, body, len);
}

/* Of any length that a datagram may have, mostly a block. */
static u32 any_length(struct liar *l)
{
	if (one_in(&l->s, 4)) {
		count_lie(LIE_LENGTH);
		return 1 + draw(&l->s, 1420);
	}
	return l->block ?: 1408;
}

static void make_probe(struct liar *l, struct unit *u, u32 len)
{
	u8 body[MAX_UNIT - sizeof(struct inc_hdr)];
	struct inc_probe *probe = (struct inc_probe *)body;
	struct netinc_pkt pkt;

	len = max(len & ~3u, (u32)sizeof(*probe));
	speaker(l, INC_PKT_PROBE, &pkt);
	pkt.psn = any_block(l);
	pkt.flags = (one_in(&l->s, 2) ? INC_F_RETRANS : 0) |
		    (one_in(&l->s, ERRORS_IN) ? INC_F_LEAVE : 0);
	pkt.opseq = one_in(&l->s, 2) ? draw(&l->s, l->size + 2) : (u32)draw_number(&l->s);
	pkt.tstamp = draw(&l->s, 0);
	make_body(l, body, len);
	probe->srtt = cpu_to_be32((u32)draw_number(&l->s));
	probe->bits = cpu_to_be16(one_in(&l->s, 16) ? (u16)draw(&l->s, 65536) :
						      (u16)((len - sizeof(*probe)) / 4 * 32));
	make_unit(u, &pkt, body, len);
	count_lie(LIE_PROBE);
}

/* An error on its way up: of a block near the window, or any, and of ranks that may be others'. */
static void make_error(struct liar *l, struct inc_error_pkt *body, struct netinc_pkt *pkt)
{
	const struct netinc_error e = {
		.block = one_in(&l->s, 8) ? draw64(&l->s) : any_block(l),
		.opseq = last_seen(l)->opseq + draw(&l->s, 3) - 1,
		.resume = one_in(&l->s, 4) ? 0 : last_seen(l)->opseq + draw(&l->s, 4),
		.code = (u16)draw(&l->s, INC_ERR_MAX + 2),
		.rank = { (u32)__builtin_ctz(l->below), draw(&l->s, l->size + 1) },
	};

	netinc_error_build(body, &e);
	pkt->psn = (u32)e.block;
	count_lie(LIE_NODE_ABORT);
}

static void make_abort(struct liar *l, struct unit *u)
{
	u16 code = (u16)(INC_ERR_RANK_ABORT + draw(&l->s, 10));
	struct inc_error_pkt body = { .code = cpu_to_be16(code) };
	struct netinc_pkt pkt;

	speaker(l, INC_PKT_ABORT, &pkt);
	body.resume = cpu_to_be32(draw(&l->s, 0));
	body.rank[0] = cpu_to_be32(draw(&l->s, l->size + 1));
	if (l->below)
		make_error(l, &body, &pkt);
	make_unit(u, &pkt, &body, sizeof(body));
	count_lie(LIE_ABORT);
}

/* Right but for the elements: so that operations get on. */
static void agree(struct liar *l)
{
	const struct seen *seen;
	struct netinc_pkt pkt;
	struct unit u;
	u32 i;

	if (l->nseen - l->agreed > MAX_SEEN)
		l->agreed = l->nseen - MAX_SEEN;
	for (; l->agreed != l->nseen; l->agreed++) {
		seen = &l->seen[l->agreed % MAX_SEEN];
		for (i = 0; i < l->n; i++) {
			make_header(l, &l->member[i], INC_PKT_CONTRIB, &pkt);
			pkt.psn = seen->psn;
			pkt.span = seen->span;
			pkt.opseq = seen->opseq;
			pkt.sig = seen->sig;
			make_unit(&u, &pkt, NULL, 0);
			liar_send(&u);
			count_lie(LIE_AGREE);
		}
	}
}

/* JOINs of members */

static void join_again(struct liar *l)
{
	struct inc_join body = { .next = cpu_to_be64(l->error) };
	u32 i;

	if (one_in(&l->s, 4))
		body.next = cpu_to_be64(l->error + draw(&l->s, 2 * l->window) - l->window);
	for (i = 0; i < l->n; i++)
		liar_send_join(l, &l->member[i], &body, l->member[i].incarnation);
	count_lie(LIE_REJOIN);
}

static void join_anew(struct liar *l)
{
	struct member m = *any_member(l);
	struct inc_join body = {
		.size = cpu_to_be32(one_in(&l->s, 2) ? l->size : draw(&l->s, 2 * l->size)),
		.next = cpu_to_be64(l->una + draw(&l->s, 9) - 4),
		.block = cpu_to_be16(one_in(&l->s, 4) ? (u16)draw(&l->s, 65536) : 1408),
		.fallback = (u8)draw(&l->s, 4),
		.move = cpu_to_be32(1 + draw(&l->s, 3)),
		/* with a stripe that may be none */
		.late_policy = (u8)draw(&l->s, one_in(&l->s, 4) ? 256 : 4),
		/* a node's, or of who only asks what the node is */
		.below = one_in(&l->s, 4) ? (u8)draw(&l->s, 256) : 0,
		.window = cpu_to_be16((u16)l->window),
		.lineage = cpu_to_be64(one_in(&l->s, 8) ? draw64(&l->s) : m.lineage),
		.dead_ms = cpu_to_be32(one_in(&l->s, 8) ? draw(&l->s, 0) : 2000),
	};

	/* of another rank; what the challenge is for shows when it comes */
	if (one_in(&l->s, 2))
		m.rank = draw(&l->s, l->size);
	m.nonce = one_in(&l->s, 2) ? m.nonce : draw(&l->s, 0);
	body.flags = (one_in(&l->s, 3) ? INC_JOIN_SHRINK : 0) | (u8)(draw(&l->s, 4) << 1);
	count_lie(body.flags & INC_JOIN_SHRINK ? LIE_SHRINK_JOIN : LIE_MOVE_JOIN);
	liar_send_join(l, &m, &body, 0);
}

/* Super-packets */

static void one_of_many(struct liar *l, struct unit *u, u32 len)
{
	switch (draw(&l->s, 4)) {
	case 0:
		if (len >= sizeof(struct inc_probe)) {
			make_probe(l, u, len);
			break;
		}
		make_contrib(l, u, len);
		break;
	default:
		make_contrib(l, u, len);
		break;
	}
}

static void send_super(struct liar *l)
{
	static u8 buffer[MAX_BUFFER];
	u32 len = l->pure ? sizeof(struct inc_desc) * draw(&l->s, 2) :
			    sizes[draw(&l->s, ARRAY_SIZE(sizes))];
	u32 size = sizeof(struct inc_hdr) + len, n = 2 + draw(&l->s, 63), at = 0, types = 0, i;
	struct unit u;

	n = min(n, MAX_BUFFER / size);
	for (i = 0; i < n; i++) {
		one_of_many(l, &u, len);
		memcpy(buffer + at, u.data, u.len);
		types |= 1u << (u.data[0] & 15);
		at += u.len;
	}
	if (one_in(&l->s, 2)) {
		if (len) {
			make_contrib(l, &u, 0);
			memcpy(buffer + at, u.data, u.len);
			at += u.len;
		} else {
			at -= 4 * (1 + draw(&l->s, 11));
		}
		count_lie(LIE_SHORT);
	}
	frame_send_super(my_host, NODE_HOST, buffer, at, size);
	count_lie(LIE_SUPER);
	if (types & (types - 1))
		count_lie(LIE_MIXED);
	if (l->n > 1)
		count_lie(LIE_MEMBERS);
}

/* To the node, with addresses that are not its sender's */

static void any_unit(struct liar *l, struct unit *u)
{
	switch (draw(&l->s, 5)) {
	case 0:
		make_probe(l, u, 8 + 4 * draw(&l->s, 64));
		break;
	case 1:
		make_contrib(l, u, 0);
		break;
	default:
		make_contrib(l, u, any_length(l));
		break;
	}
}

static __be32 martian(struct liar *l)
{
	static const u32 martians[] = {
		0,	    0x7f000001, 0xffffffff, 0x0a0700ff, 0x0a070000,
		0xe0000001, 0xf0000001, 0x0a0700fe, 0xa9fe0001,
	};

	return htonl(martians[draw(&l->s, ARRAY_SIZE(martians))]);
}

/* Both ends of a JOIN or of another packet, of which at least one is nobody's. */
static void misaddressed(struct liar *l)
{
	__be32 src = host_addr(my_host), dst = host_addr(NODE_HOST);
	struct inc_join body = { .size = cpu_to_be32(2),
				 .nonce = cpu_to_be32(7),
				 .block = cpu_to_be16(1408) };
	u32 host = NODE_HOST;
	struct netinc_pkt pkt;
	struct unit u;

	any_unit(l, &u);
	if (one_in(&l->s, 4)) {
		make_header(l, any_member(l), INC_PKT_JOIN, &pkt);
		pkt.group ^= 1;
		pkt.incarnation = 0;
		make_unit(&u, &pkt, &body, sizeof(body));
	}
	switch (draw(&l->s, 4)) {
	case 0:
		src = martian(l);
		count_lie(LIE_MARTIAN);
		break;
	case 1:
		src = host_addr(l->n_honest ? honest_host[draw(&l->s, l->n_honest)] : NODE_HOST);
		count_lie(LIE_SPOOFED);
		break;
	case 2:
		host = 255;
		dst = one_in(&l->s, 2) ? dst : htonl(one_in(&l->s, 2) ? 0x0a0700ff : 0xffffffff);
		count_lie(LIE_BROADCAST);
		break;
	case 3:
		host = 255;
		dst = htonl(0xe0000001 + draw(&l->s, 4));
		count_lie(LIE_MULTICAST);
		break;
	}
	frame_send(src, dst, host, u.data, u.len);
}

static void misaddressed6(struct liar *l)
{
	static const char *const from[] = {
		"ff02::1", "::1", "::", "fd00:7::fe", "fe80::1", "fd00:7::1", "::ffff:10.7.0.1"
	};
	static const char *const to[] = { "fd00:7::fe", "fd00:7::fe", "ff02::1", "ff02::2" };
	struct in6_addr src, dst;
	u32 where = draw(&l->s, ARRAY_SIZE(to));
	struct unit u;

	any_unit(l, &u);
	inet_pton(AF_INET6, from[draw(&l->s, ARRAY_SIZE(from))], &src);
	inet_pton(AF_INET6, to[where], &dst);
	frame_send6(&src, &dst, where < 2 ? NODE_HOST : 255, u.data, u.len);
	count_lie(where < 2 ? LIE_MARTIAN : LIE_MULTICAST);
}

static void send_damaged(struct liar *l)
{
	struct unit u;
	u32 n;

	any_unit(l, &u);
	if (one_in(&l->s, 3)) {
		u.data[40 + draw(&l->s, 8)] ^= (u8)(1 << draw(&l->s, 8));
		count_lie(LIE_COOKIE);
	} else {
		for (n = 1 + draw(&l->s, 3); n; n--)
			u.data[draw(&l->s, 40)] ^= (u8)(1 << draw(&l->s, 8));
		if (one_in(&l->s, 4))
			u.len = 1 + draw(&l->s, u.len);
		count_lie(LIE_DAMAGED);
	}
	liar_send(&u);
}

/* To ranks, in the node's name: what comes with the down cookie, which all members know */

static void make_down(struct liar *l, struct unit *u, u8 type)
{
	u8 body[MAX_UNIT - sizeof(struct inc_hdr)];
	u32 len = netinc_min_body(type), who = draw(&l->s, l->n_honest);
	const struct member *m = any_member(l);
	struct netinc_pkt pkt;

	make_header(l, m, type, &pkt);
	pkt.cookie = m->down;
	pkt.child = netinc_is_data(type) || netinc_for_all(&pkt) ? 0 : (u16)l->honest_rank[who];
	pkt.psn = any_block(l);
	pkt.epoch += type == INC_PKT_READY && one_in(&l->s, 2);
	make_body(l, body, sizeof(body));
	if (type == INC_PKT_RESULT) {
		name_operation(l, &pkt);
		len = one_in(&l->s, 4) ? 0 : any_length(l);
		pkt.flags = (len ? INC_F_PAYLOAD : 0) | (one_in(&l->s, 2) ? INC_F_WANT : 0) |
			    (one_in(&l->s, 8) ? INC_F_PARTIAL : 0);
	} else if (type == INC_PKT_NACK) {
		pkt.span = (u16)(1 + draw(&l->s, 65535));
	} else if (type == INC_PKT_ERROR) {
		const struct netinc_error e = {
			.block = pkt.psn = any_block(l),
			.opseq = last_seen(l)->opseq + draw(&l->s, 3) - 1,
			.resume = one_in(&l->s, 4) ? 0 : last_seen(l)->opseq + draw(&l->s, 4) - 1,
			.code = (u16)draw(&l->s, INC_ERR_MAX + 2),
			.rank = { draw(&l->s, l->size + 1), ~0u },
		};

		netinc_error_build((struct inc_error_pkt *)body, &e);
	} else if (type == INC_PKT_STATUS || type == INC_PKT_PARTIAL) {
		u16 bits = (u16)(32 * draw(&l->s, 20));

		memcpy(body + (type == INC_PKT_STATUS ? 8 : 2), &(u16){ cpu_to_be16(bits) }, 2);
		len += one_in(&l->s, 8) ? 0 : bits / 8;
	} else if (type == INC_PKT_MOVE) {
		const struct inc_move move = { .lineage = cpu_to_be64(m->lineage),
					       .move = cpu_to_be32(draw(&l->s, 4)) };

		memcpy(body, &move, sizeof(move));
	} else if (type == INC_PKT_PEERS) {
		const struct inc_peers peers = { .n = cpu_to_be32(draw(&l->s, 4)) };

		memcpy(body, &peers, sizeof(peers));
		len += be32_to_cpu(peers.n) * sizeof(struct inc_peer);
	} else if (type == INC_PKT_REFUSE) {
		memcpy(body + 4, &(u16){ cpu_to_be16((u16)draw(&l->s, __INC_REFUSE_MAX)) }, 2);
		if (l->stolen && one_in(&l->s, 2))
			pkt.cookie = l->stolen;
	} else if (l->stolen_nonce && one_in(&l->s, 2)) {
		memcpy(body, &(u32){ cpu_to_be32(l->stolen_nonce) }, 4);
		pkt.child = (u16)l->stolen_rank;
	}
	make_unit(u, &pkt, body, len);
}

static const struct {
	u8 type;
	enum lie lie;
} downs[] = {
	{ INC_PKT_RESULT, LIE_RESULT },	  { INC_PKT_STATUS, LIE_STATUS },
	{ INC_PKT_NACK, LIE_NACK },	  { INC_PKT_ERROR, LIE_ERROR },
	{ INC_PKT_READY, LIE_READY },	  { INC_PKT_REFUSE, LIE_REFUSE },
	{ INC_PKT_MOVE, LIE_MOVE },	  { INC_PKT_PEERS, LIE_PEERS },
	{ INC_PKT_PARTIAL, LIE_PARTIAL },
};

static void send_down(struct liar *l)
{
	u32 i = draw(&l->s, ARRAY_SIZE(downs)), host = honest_host[draw(&l->s, l->n_honest)];
	struct unit u;

	if (downs[i].type == INC_PKT_ERROR && !one_in(&l->s, 4))
		return;
	make_down(l, &u, downs[i].type);
	frame_send(host_addr(one_in(&l->s, 8) ? my_host : NODE_HOST), host_addr(host), host, u.data,
		   u.len);
	count_lie(downs[i].lie);
}

/* Results and other packets of one length, as many of a node share a buffer. */
static void send_down_super(struct liar *l)
{
	static u8 buffer[MAX_BUFFER];
	u32 n = 2 + draw(&l->s, 40), host = honest_host[draw(&l->s, l->n_honest)], size = 0, at = 0,
	    i;
	struct unit u;

	for (i = 0; i < n; i++) {
		make_down(l, &u, one_in(&l->s, 3) ? INC_PKT_NACK : INC_PKT_RESULT);
		size = size ?: u.len;
		if (at + u.len > sizeof(buffer) || u.len > size)
			break;
		memcpy(buffer + at, u.data, u.len);
		at += u.len;
		if (u.len < size)
			break;
	}
	frame_send_super(one_in(&l->s, 4) ? my_host : NODE_HOST, host, buffer, at, size);
	count_lie(LIE_DOWN_SUPER);
}

void liar_say(struct liar *l)
{
	struct unit u;

	if (l->erred && !one_in(&l->s, 4))
		join_again(l);
	switch (draw(&l->s, l->pure ? 14 : 19)) {
	case 0 ... 3:
		agree(l);
		break;
	case 4:
	case 5:
		any_unit(l, &u);
		liar_send(&u);
		break;
	case 6:
	case 7:
		send_super(l);
		break;
	case 8:
		join_anew(l);
		break;
	case 9:
		if (!one_in(&l->s, ERRORS_IN / 4))
			break;
		make_abort(l, &u);
		liar_send(&u);
		break;
	case 10:
	case 11:
		misaddressed(l);
		break;
	case 12:
		misaddressed6(l);
		break;
	case 13:
		send_damaged(l);
		break;
	case 14 ... 16:
		send_down(l);
		break;
	case 17:
		send_down_super(l);
		break;
	case 18:
		any_unit(l, &u);
		liar_send(&u);
		break;
	}
}
