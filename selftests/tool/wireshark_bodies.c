// SPDX-License-Identifier: GPL-2.0-only
/* Right packets of every type, for wireshark_packets.c, and what is said of their fields. */
#include "wireshark_bodies.h"

void begin_packet(struct netinc_pkt *p, u8 type)
{
	memset(p, 0, sizeof(*p));
	memset(datagram, 0, sizeof(datagram));
	p->type = type;
	p->part = netinc_is_data(type) ? 0 : number() % INC_MAX_PARTS;
	p->group = number();
	p->incarnation = number();
	p->epoch = number();
	p->psn = number();
	p->tree = number();
	p->child = number() % 1000;
	p->span = 1;
	p->opseq = number();
	p->sig = number();
	p->tstamp = number();
	p->cookie = (u64)number() << 32 | number();
}

void say_header(const struct netinc_pkt *p)
{
	say("inc.version", INC_WIRE_VERSION);
	say("inc.pkt_type", p->type);
	say("inc.part", p->part);
	say("inc.flags", p->flags);
	say("inc.group", p->group);
	say("inc.incarnation", p->incarnation);
	say("inc.epoch", p->epoch);
	say("inc.psn", p->psn);
	say("inc.tree", p->tree);
	say("inc.child", p->child);
	say("inc.span", p->span);
	say("inc.len", p->len);
	say("inc.opseq", p->opseq);
	say("inc.sig", p->sig);
	say("inc.cookie", p->cookie);
	if (netinc_is_data(p->type)) {
		say("inc.type", p->dtype);
		say("inc.op", p->dop);
		say("inc.mode", p->mode);
		say("inc.resv", 0);
	} else {
		say("inc.tstamp", p->tstamp);
	}
}

void end_packet(const struct netinc_pkt *p)
{
	netinc_build((struct inc_hdr *)datagram, p);
	datagram_len = sizeof(struct inc_hdr) + netinc_body_len(p);
}

/* Members of the structure that a pointer of the filter's name points to. */
#define PUT8(s, m, v) do { s->m = v; say("inc." #s "." #m, s->m); } while (0)
#define PUT16(s, m, v) \
	do { u16 _v = v; s->m = cpu_to_be16(_v); say("inc." #s "." #m, _v); } while (0)
#define PUT32(s, m, v) \
	do { u32 _v = v; s->m = cpu_to_be32(_v); say("inc." #s "." #m, _v); } while (0)
#define PUT64(s, m) \
	do { \
		u64 _v = (u64)number() << 32 | number(); \
		s->m = cpu_to_be64(_v); say("inc." #s "." #m, _v); \
	} while (0)

void *body(void)
{
	return datagram + sizeof(struct inc_hdr);
}

static void put_addr(struct inc_addr *addr, u16 family)
{
	u32 i;
	char text[64];

	for (i = 0; i < (family == 4 ? 4 : family == 6 ? 16 : 0); i++)
		addr->addr[i] = 0x21 + i;
	PUT16(addr, family, family);
	PUT16(addr, port, number());
	snprintf(text, sizeof(text), "%u.%u.%u.%u", 0x21, 0x22, 0x23, 0x24);
	if (family == 4)
		say_text("inc.addr.ip", text);
	else if (family == 6)
		say_text("inc.addr.ip6", "2122:2324:2526:2728:292a:2b2c:2d2e:2f30");
}

static void put_desc(struct inc_desc *desc)
{
	PUT8(desc, coll, 1 + number() % INC_COLL_MAX);
	PUT8(desc, type, 1 + number() % INC_TYPE_MAX);
	PUT8(desc, op, 1 + number() % (__INC_OP_MAX - 1));
	PUT8(desc, wire, 1 + number() % INC_TYPE_MAX);
	PUT8(desc, mode, INC_MODE_COUNTS);
	PUT32(desc, root, number());
	PUT32(desc, opseq, number());
	PUT64(desc, count);
	PUT64(desc, counts_hash);
}

/* 64 bits, of which 0, 33, 34 and 35 are set; the length of the body. */
static u32 put_bitmap(const char *filter, void *head, __be32 *map)
{
	netinc_bit_set(map, 0);
	netinc_bit_set(map, 33);
	netinc_bit_set(map, 34);
	netinc_bit_set(map, 35);
	say_text(filter, "000000010000000e");
	return (u8 *)(map + 2) - (u8 *)head;
}

static u32 fill_probe(struct inc_probe *probe)
{
	PUT32(probe, srtt, number());
	PUT16(probe, bits, 64);
	PUT16(probe, slack, number());
	return put_bitmap("inc.probe.bitmap", probe, probe->bitmap);
}

u32 fill_status(struct inc_status *status, u32 waited)
{
	PUT32(status, waiting, 7);
	PUT32(status, waited, waited);
	PUT16(status, bits, 64);
	PUT16(status, slack, number());
	PUT32(status, seen, number());
	return put_bitmap("inc.status.bitmap", status, status->bitmap);
}

static void put_kinds(struct inc_kinds *kinds)
{
	PUT32(kinds, types, number());
	PUT32(kinds, ops, number());
}

u32 fill_join(struct inc_join *join, u8 height)
{
	struct inc_addr *host;
	u8 *end = (u8 *)(join + 1);

	PUT32(join, size, 40);
	PUT32(join, nonce, number());
	PUT64(join, next);
	PUT32(join, srtt, number());
	PUT16(join, block, number());
	PUT8(join, fallback, INC_FALLBACK_EDGE);
	PUT8(join, flags, INC_JOIN_SHRINK | INC_JOIN_KINDS | (height ? INC_JOIN_CANONICAL : 0));
	say("inc.join.flags.shrink", 1);
	say("inc.join.flags.canonical", !!height);
	say("inc.join.flags.many_parts", 0);
	say("inc.join.flags.rebind", 0);
	say("inc.join.flags.kinds", 1);
	PUT32(join, move, number());
	/* stripe 2 of 5 */
	join->late_policy = INC_LATE_FAIL | INC_STRIPE(2, 5) << INC_JOIN_STRIPE_SHIFT;
	say("inc.join.late_policy", INC_LATE_FAIL);
	say("inc.join.stripe", 2);
	say("inc.join.stripes", 4);
	PUT8(join, below, height | (height ? INC_JOIN_STALE | INC_JOIN_RETURN : 0));
	say("inc.join.below.height", height);
	say("inc.join.below.return", !!height);
	say("inc.join.below.stale", !!height);
	say("inc.join.below.tree_order", 0);
	say("inc.join.below.ask", 0);
	PUT16(join, window, number());
	PUT64(join, lineage);
	PUT32(join, dead_ms, number());
	PUT32(join, late_ms, number());
	PUT64(join, job);
	PUT64(join, challenge);
	join->proof[0] = cpu_to_be64(0x0123456789abcdef);
	join->proof[1] = cpu_to_be64(0xfedcba9876543210);
	say_text("inc.join.proof", "0123456789abcdeffedcba9876543210");
	if (height) {
		put_bitmap("inc.join.ranks", join, join->ranks);
		host = (struct inc_addr *)(join->ranks + 2);
		put_addr(host, 4);
		end = (u8 *)(host + 1);
	}
	put_kinds((struct inc_kinds *)end);
	put_kinds((struct inc_kinds *)end + 1);
	return end + sizeof(struct inc_join_kinds) - (u8 *)join;
}

/* With what follows for who asks. */
static u32 fill_challenge(struct inc_challenge *challenge)
{
	struct inc_about *about = (struct inc_about *)(challenge + 1);

	PUT32(challenge, nonce, number());
	PUT32(challenge, flags, INC_CHALLENGE_ASK);
	PUT64(challenge, challenge);
	put_addr(&about->parent, 6);
	PUT32(about, caps, number());
	PUT32(about, max_groups, number());
	PUT16(about, window, 64);
	PUT8(about, fallback, INC_FALLBACK_EDGE);
	PUT8(about, flags, INC_ABOUT_PARENT);
	PUT32(about, groups, number());
	PUT32(about, children, number());
	put_kinds(&about->lacks);
	PUT64(about, memory_left);
	PUT64(about, nsec);
	return (u8 *)(about + 1) - (u8 *)challenge;
}

static u32 fill_wait(struct inc_wait_pkt *wait)
{
	PUT32(wait, nonce, number());
	PUT32(wait, joined, number());
	PUT32(wait, missing, ~0u);
	PUT32(wait, pause, number());
	return sizeof(*wait);
}

static u32 fill_ready(struct inc_ready *ready)
{
	PUT32(ready, nonce, number());
	PUT32(ready, window, number());
	PUT64(ready, start);
	PUT64(ready, up_cookie);
	PUT64(ready, down_cookie);
	PUT32(ready, size, number());
	PUT16(ready, children, number());
	PUT16(ready, trees, number());
	PUT16(ready, block, number());
	PUT16(ready, rank, number());
	PUT32(ready, dead_ms, number());
	PUT32(ready, late_ms, number());
	PUT32(ready, opseq, number());
	PUT32(ready, move, number());
	PUT8(ready, fallback, INC_FALLBACK_STANDBY);
	PUT8(ready, standbys, 2);
	ready->late_policy = INC_LATE_PARTIAL | INC_STRIPE(0, 2) << INC_JOIN_STRIPE_SHIFT;
	say("inc.ready.late_policy", INC_LATE_PARTIAL);
	say("inc.ready.stripe", 0);
	say("inc.ready.stripes", 1);
	PUT8(ready, height, 3 | INC_READY_TREE_ORDER | INC_READY_KINDS);
	say("inc.ready.height.levels", 3);
	say("inc.ready.height.tree_order", 1);
	say("inc.ready.height.kinds", 1);
	PUT64(ready, lineage);
	ready->tree_key[0] = cpu_to_be64(0x1122334455667788);
	say_text("inc.ready.tree_key", "11223344556677880000000000000000");
	put_addr(&ready->edge, 4);
	put_addr(&ready->standby[0], 6);
	put_addr(&ready->standby[1], 4);
	put_addr(&ready->standby[2], 0);
	put_kinds((struct inc_kinds *)(ready + 1));
	return sizeof(*ready) + sizeof(struct inc_kinds);
}

static const char *refuse_name(u16 code)
{
	static const char *const names[] = {
		[INC_REFUSE_NO_NODE] = "NO_NODE", [INC_REFUSE_UNKNOWN] = "UNKNOWN",
		[INC_REFUSE_RANK_TAKEN] = "RANK_TAKEN", [INC_REFUSE_SIZE] = "SIZE",
		[INC_REFUSE_KEY] = "KEY", [INC_REFUSE_LIMIT] = "LIMIT",
		[INC_REFUSE_BUSY] = "BUSY", [INC_REFUSE_BLOCK] = "BLOCK",
		[INC_REFUSE_MOVED] = "MOVED", [INC_REFUSE_RANK_DEAD] = "RANK_DEAD",
		[INC_REFUSE_OUT] = "OUT", [INC_REFUSE_TENANT] = "TENANT",
		[INC_REFUSE_QUOTA] = "QUOTA", [INC_REFUSE_NEXT] = "NEXT",
		[INC_REFUSE_TREE] = "TREE", [INC_REFUSE_ORDER] = "ORDER",
		[INC_REFUSE_STRIPES] = "STRIPES", [INC_REFUSE_KINDS] = "KINDS",
	};

	static_assert(ARRAY_SIZE(names) == __INC_REFUSE_MAX);
	return names[code];
}

u32 fill_refuse(struct inc_refuse *refuse, u16 code)
{
	PUT32(refuse, nonce, number());
	PUT16(refuse, code, code);
	PUT64(refuse, detail);
	remark("refuse", "REFUSE: %s, detail %llu: ", refuse_name(code),
	       (unsigned long long)be64_to_cpu(refuse->detail));
	return sizeof(*refuse);
}

static const char *const error_names[] = {
	[INC_ERR_NONE] = "NONE", [INC_ERR_MISMATCH] = "MISMATCH", [INC_ERR_CANCELED] = "CANCELED",
	[INC_ERR_RANK_DEAD] = "RANK_DEAD", [INC_ERR_RANK_ABORT] = "RANK_ABORT",
	[INC_ERR_RANK_LATE] = "RANK_LATE", [INC_ERR_RANK_FAULT] = "RANK_FAULT",
	[INC_ERR_NODE_DEAD] = "NODE_DEAD", [INC_ERR_NODE_GONE] = "NODE_GONE",
	[INC_ERR_LEFT] = "LEFT", [INC_ERR_UNSUPPORTED] = "UNSUPPORTED",
	[INC_ERR_COUNTS] = "COUNTS", [INC_ERR_RANK_PATH] = "RANK_PATH",
};

static const char *const error_texts[] = {
#define INC_ERROR(number, text) [number] = (text),
#include <linux/inc_names.h>
#undef INC_ERROR
	[INC_ERR_NONE] = "wants nothing more of the group",
};

static_assert(ARRAY_SIZE(error_names) == __INC_ERR_MAX);
static_assert(ARRAY_SIZE(error_texts) == __INC_ERR_MAX);

u32 fill_error(struct inc_error_pkt *error, u8 type, u16 code)
{
	u32 resume = type == INC_PKT_ERROR && code == INC_ERR_MISMATCH ? 9 : 0;

	PUT64(error, block);
	PUT32(error, opseq, number());
	PUT32(error, resume, resume);
	PUT16(error, code, code);
	error->rank[0] = cpu_to_be32(3);
	error->rank[1] = cpu_to_be32(5);
	say("inc.error.rank", 3);
	say("inc.error.rank", 5);
	put_desc(&error->desc[0]);
	put_desc(&error->desc[1]);
	if (type == INC_PKT_ABORT)
		remark(code ? "abort" : "done", "ABORT: %s: rank 3, 5: %s", error_names[code],
		       error_texts[code]);
	else
		remark("error", "ERROR: %s, %s: rank 3, 5: %s", error_names[code],
		       resume ? "goes on with operation 9" : "the group is over",
		       error_texts[code]);
	return sizeof(*error);
}

static u32 fill_move(struct inc_move *move)
{
	PUT64(move, lineage);
	PUT32(move, move, number());
	return sizeof(*move);
}

u32 fill_peers(struct inc_peers *peers)
{
	struct inc_peer *peer = peers->peer;
	u32 i;

	PUT32(peers, first, 20);
	PUT32(peers, n, 2);
	for (i = 0; i < 2; i++, peer++) {
		say("inc.peer.rank", 20 + i);
		put_addr(&peer->addr, i ? 6 : 4);
		peer->cookie[0] = cpu_to_be32(0xabcd0000 + i);
		peer->cookie[1] = cpu_to_be32(0x1234);
		say("inc.peer.cookie", (u64)(0xabcd0000 + i) << 32 | 0x1234);
	}
	return (u8 *)peer - (u8 *)peers;
}

static u32 fill_partial(struct inc_partial *partial)
{
	PUT16(partial, set, 1 + number() % 1000);
	PUT16(partial, bits, 64);
	return put_bitmap("inc.partial.bitmap", partial, partial->bitmap);
}

/* Elements 1, 2, 3 of the type; the length. */
static u32 fill_elements(struct netinc_pkt *p)
{
	struct inc_desc *desc = body();
	float *floats = (float *)(desc + 1);

	p->flags = INC_F_PAYLOAD | INC_F_WANT | INC_F_DESC;
	p->dtype = INC_TYPE_F32;
	p->dop = INC_OP_SUM;
	put_desc(desc);
	floats[0] = 1;
	floats[1] = 2.5;
	floats[2] = -3;
	say_text("inc.elements", "1 2.5 -3");
	return 12;
}

/* What a right packet of the type has behind its header. The compiler says what is missing here. */
static u32 fill_body(struct netinc_pkt *p)
{
	switch ((enum inc_pkt_type)p->type) {
	case INC_PKT_CONTRIB:
	case INC_PKT_RESULT:
		return fill_elements(p);
	case INC_PKT_PROBE:
		return fill_probe(body());
	case INC_PKT_STATUS:
		return fill_status(body(), 999);
	case INC_PKT_NACK:
		p->span = 4;
		remark("missing", "blocks %u-%u of child %u are missing", p->psn, p->psn + 3,
		       p->child);
		return 0;
	case INC_PKT_ERROR:
		return fill_error(body(), p->type, INC_ERR_MISMATCH);
	case INC_PKT_JOIN:
		return fill_join(body(), 0);
	case INC_PKT_CHALLENGE:
		return fill_challenge(body());
	case INC_PKT_WAIT:
		return fill_wait(body());
	case INC_PKT_READY:
		return fill_ready(body());
	case INC_PKT_REFUSE:
		return fill_refuse(body(), INC_REFUSE_UNKNOWN);
	case INC_PKT_ABORT:
		return fill_error(body(), p->type, INC_ERR_RANK_ABORT);
	case INC_PKT_MOVE:
		return fill_move(body());
	case INC_PKT_PEERS:
		return fill_peers(body());
	case INC_PKT_PARTIAL:
		return fill_partial(body());
	case __INC_PKT_MAX:
		break;
	}
	abort();
}

void make_right(struct netinc_pkt *p, u8 type)
{
	begin_packet(p, type);
	p->len = fill_body(p);
	end_packet(p);
	say_header(p);
}
