// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes a capture with packets of every type, right ones and wrong ones, as the engine makes them,
 * and says what is in them:
 *
 *	wireshark_packets CAPTURE >EXPECTED
 *
 * A line of EXPECTED is about a frame; its words are separated by tabs:
 *	type FRAME NAME		it is a right one of this type
 *	field FRAME FILTER VALUE	a value, in the order of the packet where there are several
 *	expert FRAME FILTER TEXT	what is to be remarked; an empty text: any
 *	clean FRAME		nothing is to be remarked
 *	parse FRAME REASON	how netinc_parse() drops it, 0: not at all
 *	cut FRAME		the capture has not all of it
 */
#include <stdarg.h>

#include "engine/engine.h"

#define MAX_DATAGRAM	65000
#define MUTATIONS	600

static FILE *capture;
static u32 frame;
static u8 datagram[MAX_DATAGRAM];
static u32 datagram_len;
static u32 numbers = 0x01020304;
/* What the functions that fill packets say is not so, since these are changed then. */
static bool quiet;

/* Numbers that are not alike, in any of their bytes. */
static u32 number(void)
{
	numbers += 0x11131719;
	return numbers;
}

static void say(const char *filter, u64 value)
{
	if (!quiet)
		printf("field\t%u\t%s\t%llu\n", frame + 1, filter,
		       (unsigned long long)value);
}

static void say_text(const char *filter, const char *text)
{
	if (!quiet)
		printf("field\t%u\t%s\t%s\n", frame + 1, filter, text);
}

static void remark(const char *filter, const char *format, ...)
{
	va_list args;

	printf("expert\t%u\tinc.expert.%s\t", frame + 1, filter);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

/* ---- frames ---- */

static u32 sum16(const u8 *data, u32 len, u32 sum)
{
	u32 i;

	for (i = 0; i + 1 < len; i += 2)
		sum += data[i] << 8 | data[i + 1];
	return len % 2 ? sum + (data[len - 1] << 8) : sum;
}

static u16 fold16(u32 sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum & 0xffff;
}

static void put16(u8 *at, u32 value)
{
	at[0] = value >> 8;
	at[1] = value;
}

enum checksum { RIGHT, NONE, WRONG };

/* An IPv4 packet around the datagram; the link type is that of IP without one. */
static void write_frame(enum checksum how, u32 captured)
{
	static const u8 ip[20] = {
		0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 254,
	};
	static u8 packet[28 + MAX_DATAGRAM];
	u32 len = 28 + datagram_len;
	u32 record[4] = { frame, frame * 1000 % 1000000, min(captured + 28, len), len };
	u32 sum;

	memcpy(packet, ip, sizeof(ip));
	put16(packet + 2, len);
	put16(packet + 10, fold16(sum16(packet, 20, 0)));
	put16(packet + 20, INC_SPORT_BASE);
	put16(packet + 22, INC_PORT);
	put16(packet + 24, len - 20);
	put16(packet + 26, 0);
	memcpy(packet + 28, datagram, datagram_len);
	sum = fold16(sum16(packet + 12, len - 12, 17 + len - 20));
	put16(packet + 26, how == NONE ? 0 : how == WRONG ? sum ^ 1 : sum ? sum : 0xffff);
	fwrite(record, sizeof(record), 1, capture);
	fwrite(packet, record[2], 1, capture);
	frame++;
}

static void send_datagram(void)
{
	write_frame(RIGHT, MAX_DATAGRAM);
}

static void send_clean(void)
{
	printf("clean\t%u\n", frame + 1);
	send_datagram();
}

static void send_judged(void)
{
	struct netinc_pkt p;
	int err = netinc_parse(datagram, datagram_len, &p);

	printf("parse\t%u\t%s\n", frame + 1, !err ? "0" :
	       err == -INC_C_DROP_VERSION ? "version" : "malformed");
	send_datagram();
}

static void begin_capture(const char *path)
{
	static const u32 head[6] = { 0xa1b2c3d4, 2 | 4 << 16, 0, 0, 1 << 18, 101 };

	capture = fopen(path, "w");
	if (!capture) {
		perror(path);
		exit(1);
	}
	fwrite(head, sizeof(head), 1, capture);
}

/* ---- packets ---- */

static void begin_packet(struct netinc_pkt *p, u8 type)
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

static void say_header(const struct netinc_pkt *p)
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

static void end_packet(const struct netinc_pkt *p)
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

static void *body(void)
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

static u32 fill_status(struct inc_status *status, u32 waited)
{
	PUT32(status, waiting, 7);
	PUT32(status, waited, waited);
	PUT16(status, bits, 64);
	PUT16(status, slack, number());
	PUT32(status, seen, number());
	return put_bitmap("inc.status.bitmap", status, status->bitmap);
}

/* @height: 0 of a rank, else of a node for ranks 0 and 33..35 of 40 */
static u32 fill_join(struct inc_join *join, u8 height)
{
	struct inc_addr *host;

	PUT32(join, size, 40);
	PUT32(join, nonce, number());
	PUT64(join, next);
	PUT32(join, srtt, number());
	PUT16(join, block, number());
	PUT8(join, fallback, INC_FALLBACK_EDGE);
	PUT8(join, flags, INC_JOIN_SHRINK | (height ? INC_JOIN_CANONICAL : 0));
	say("inc.join.flags.shrink", 1);
	say("inc.join.flags.canonical", !!height);
	say("inc.join.flags.many_parts", 0);
	say("inc.join.flags.rebind", 0);
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
	if (!height)
		return sizeof(*join);
	put_bitmap("inc.join.ranks", join, join->ranks);
	host = (struct inc_addr *)(join->ranks + 2);
	put_addr(host, 4);
	return (u8 *)(host + 1) - (u8 *)join;
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
	PUT8(ready, height, 3 | INC_READY_TREE_ORDER);
	say("inc.ready.height.levels", 3);
	say("inc.ready.height.tree_order", 1);
	PUT64(ready, lineage);
	ready->tree_key[0] = cpu_to_be64(0x1122334455667788);
	say_text("inc.ready.tree_key", "11223344556677880000000000000000");
	put_addr(&ready->edge, 4);
	put_addr(&ready->standby[0], 6);
	put_addr(&ready->standby[1], 4);
	put_addr(&ready->standby[2], 0);
	return sizeof(*ready);
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
		[INC_REFUSE_STRIPES] = "STRIPES",
	};

	static_assert(ARRAY_SIZE(names) == __INC_REFUSE_MAX);
	return names[code];
}

static u32 fill_refuse(struct inc_refuse *refuse, u16 code)
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

static u32 fill_error(struct inc_error_pkt *error, u8 type, u16 code)
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

static u32 fill_peers(struct inc_peers *peers)
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

static bool is_event(u8 type)
{
	return type == INC_PKT_NACK || type == INC_PKT_ERROR || type == INC_PKT_ABORT ||
	       type == INC_PKT_REFUSE;
}

/* A right packet, in the datagram. */
static void make_right(struct netinc_pkt *p, u8 type)
{
	begin_packet(p, type);
	p->len = fill_body(p);
	end_packet(p);
	say_header(p);
}

static void every_type(void)
{
	static const char *const names[] = {
		[INC_PKT_CONTRIB] = "CONTRIB", [INC_PKT_RESULT] = "RESULT",
		[INC_PKT_PROBE] = "PROBE", [INC_PKT_STATUS] = "STATUS", [INC_PKT_NACK] = "NACK",
		[INC_PKT_ERROR] = "ERROR", [INC_PKT_JOIN] = "JOIN",
		[INC_PKT_CHALLENGE] = "CHALLENGE", [INC_PKT_WAIT] = "WAIT",
		[INC_PKT_READY] = "READY", [INC_PKT_REFUSE] = "REFUSE", [INC_PKT_ABORT] = "ABORT",
		[INC_PKT_MOVE] = "MOVE", [INC_PKT_PEERS] = "PEERS", [INC_PKT_PARTIAL] = "PARTIAL",
	};
	struct netinc_pkt p;
	u8 type;

	static_assert(ARRAY_SIZE(names) == __INC_PKT_MAX);
	for (type = 1; type <= INC_PKT_MAX; type++) {
		printf("type\t%u\t%s\n", frame + 1, names[type]);
		make_right(&p, type);
		if (is_event(type))
			send_judged();
		else
			send_clean();
	}
}

static void every_code(void)
{
	struct netinc_pkt p;
	u16 code;

	for (code = 0; code < __INC_ERR_MAX; code++) {
		begin_packet(&p, INC_PKT_ABORT);
		p.len = fill_error(body(), p.type, code);
		end_packet(&p);
		send_judged();
	}
	for (code = 1; code < __INC_REFUSE_MAX; code++) {
		begin_packet(&p, INC_PKT_REFUSE);
		p.len = fill_refuse(body(), code);
		end_packet(&p);
		send_judged();
	}
	begin_packet(&p, INC_PKT_JOIN);
	p.len = fill_join(body(), 2);
	end_packet(&p);
	send_clean();
}

static void accumulators(void)
{
	struct netinc_pkt p;
	__le32 *elements = body();

	begin_packet(&p, INC_PKT_CONTRIB);
	p.flags = INC_F_PAYLOAD | INC_F_WIDE;
	p.dtype = INC_TYPE_I8;
	p.dop = INC_OP_SUM;
	p.mode = INC_MODE_SATURATE;
	p.len = 8;
	elements[0] = cpu_to_le32(-70000);
	elements[1] = cpu_to_le32(5);
	say_text("inc.elements", "-70000 5");
	say("inc.mode.saturate", 1);
	p.flags |= INC_F_PART;
	p.part = INC_MAX_PARTS - 1;
	say("inc.flags.wide", 1);
	say("inc.flags.part", 1);
	say("inc.flags.final", 0);
	end_packet(&p);
	send_clean();
}

static void block_floats(void)
{
	struct netinc_pkt p;
	u8 *elements = body();

	begin_packet(&p, INC_PKT_CONTRIB);
	p.flags = INC_F_PAYLOAD;
	p.dtype = INC_TYPE_MXF4E2M1;
	p.dop = INC_OP_SUM;
	p.len = 3 * 17;
	memset(elements, 0, p.len);
	elements[0] = 127;
	elements[17] = 120;
	elements[2 * 17] = 255;
	say_text("inc.elements", "2^0 2^-7 NaN");
	end_packet(&p);
	send_clean();
}

static void zeros(void)
{
	struct netinc_pkt p;

	begin_packet(&p, INC_PKT_RESULT);
	p.flags = INC_F_PAYLOAD | INC_F_WANT | INC_F_ZERO;
	p.dtype = INC_TYPE_F32;
	p.dop = INC_OP_SUM;
	p.len = 1024;
	p.span = 5;
	say("inc.flags.zero", 1);
	say("inc.span", 5);
	say("inc.len", 1024);
	end_packet(&p);
	send_clean();
}

/* ---- what is to be remarked ---- */

static void events(void)
{
	struct netinc_pkt p;
	u32 first = frame + 1;
	u32 stamp;

	make_right(&p, INC_PKT_CONTRIB);
	send_clean();
	p.flags |= INC_F_RETRANS | INC_F_CE;
	end_packet(&p);
	remark("retrans", "sent again, first in frame %u", first);
	remark("congestion", "");
	say("inc.first_in", first);
	send_judged();
	p.flags &= ~(INC_F_RETRANS | INC_F_CE);
	end_packet(&p);
	remark("twice", "");
	send_judged();

	quiet = true;
	make_right(&p, INC_PKT_PROBE);
	quiet = false;
	stamp = p.tstamp;
	p.flags = INC_F_RETRANS;
	end_packet(&p);
	say("inc.flags.retrans", 1);
	remark("missing", "results from block %u on are missing", p.psn);
	first = frame + 1;
	send_judged();
	p.type = INC_PKT_STATUS;
	p.flags = 0;
	memset(body(), 0, 64);
	p.len = fill_status(body(), 1000);
	p.tstamp = stamp;
	end_packet(&p);
	say("inc.probe_in", first);
	say_text("inc.time", "1.001000000");
	remark("late", "block %u waits for rank 7 for 1000 ms", p.psn);
	send_judged();

	begin_packet(&p, INC_PKT_RESULT);
	p.flags = INC_F_PARTIAL;
	end_packet(&p);
	remark("partial", "not of all ranks: set %u", p.child);
	send_judged();
}

/* Two contributions as they are before the network card has parted them. */
static void before_segmentation(void)
{
	struct netinc_pkt p;
	u32 len;

	begin_packet(&p, INC_PKT_CONTRIB);
	p.flags = INC_F_PAYLOAD;
	p.len = 32;
	say("inc.psn", p.psn);
	say("inc.psn", p.psn + 1);
	end_packet(&p);
	len = datagram_len;
	p.psn++;
	netinc_build((struct inc_hdr *)(datagram + len), &p);
	datagram_len = 2 * len;
	remark("run", "2 packets, captured before segmentation or after aggregation");
	send_datagram();
}

static void bad_checksums(void)
{
	struct netinc_pkt p;

	make_right(&p, INC_PKT_MOVE);
	remark("checksum", "there is no UDP checksum");
	write_frame(NONE, MAX_DATAGRAM);
	make_right(&p, INC_PKT_MOVE);
	remark("checksum", "the UDP checksum is wrong");
	write_frame(WRONG, MAX_DATAGRAM);
}

/* Bodies that are long enough, but do not have what they say. */
static void bad_bodies(void)
{
	struct netinc_pkt p;

	quiet = true;
	begin_packet(&p, INC_PKT_STATUS);
	p.len = fill_status(body(), 0) - 4;
	end_packet(&p);
	remark("body", "a bitmap of 64 bits takes 8 bytes, there are 4");
	send_judged();

	begin_packet(&p, INC_PKT_PEERS);
	p.len = fill_peers(body()) - 28;
	end_packet(&p);
	remark("body", "2 ranks, there are 1");
	send_judged();

	/* a bit for each of as many ranks would take for ever to look at */
	begin_packet(&p, INC_PKT_JOIN);
	p.len = fill_join(body(), 2);
	((struct inc_join *)body())->size = cpu_to_be32(~0u);
	memset(((struct inc_join *)body())->ranks, 0, p.len - sizeof(struct inc_join));
	end_packet(&p);
	remark("body", "a bitmap of 4294967295 bits takes 536870912 bytes, there are 28");
	send_judged();

	make_right(&p, INC_PKT_WAIT);
	p.len += 4;
	end_packet(&p);
	remark("body", "4 bytes behind what the packet has");
	send_judged();

	make_right(&p, INC_PKT_MOVE);
	((struct inc_move *)body())->resv = 1;
	remark("zeros", "resv: expected zeros");
	send_judged();
	quiet = false;
}

#define PACKET(t, f, l, s)	.type = t, .flags = f, .len = l, .span = s

/* Each would be right but for one value. */
static const struct netinc_pkt broken[] = {
	{ PACKET(INC_PKT_CONTRIB, INC_F_PAYLOAD, 16, 2) },
	{ PACKET(INC_PKT_CONTRIB, INC_F_PAYLOAD, INC_MAX_BLOCK + 1, 1) },
	{ PACKET(INC_PKT_CONTRIB, INC_F_PAYLOAD, 0, 1) },
	{ PACKET(INC_PKT_RESULT, 0, 16, 1) },
	{ PACKET(INC_PKT_CONTRIB, INC_F_PAYLOAD | 0x2000, 16, 1) },
	{ PACKET(INC_PKT_RESULT, INC_F_PAYLOAD | INC_F_MULTICAST, 16, 1) },
	{ PACKET(INC_PKT_NACK, INC_F_MULTICAST, 0, 1) },
	{ PACKET(INC_PKT_CONTRIB, INC_F_ZERO, 0, 1) },
	{ PACKET(INC_PKT_CONTRIB, INC_F_PAYLOAD | INC_F_ZERO, 0, 1) },
	{ PACKET(INC_PKT_CONTRIB, INC_F_PAYLOAD | INC_F_ZERO | INC_F_FINAL, 16, 1) },
	{ PACKET(INC_PKT_RESULT, INC_F_PAYLOAD | INC_F_ZERO | INC_F_DESC, 16, 1) },
	{ PACKET(INC_PKT_NACK, INC_F_ZERO, 0, 1) },
	{ PACKET(INC_PKT_RESULT, INC_F_PAYLOAD | INC_F_PART, 16, 1) },
	{ PACKET(INC_PKT_CONTRIB, INC_F_PAYLOAD | INC_F_FINAL | INC_F_PART, 16, 1) },
	{ PACKET(INC_PKT_CONTRIB, INC_F_PART, 0, 2) },
	{ PACKET(INC_PKT_CONTRIB, INC_F_PAYLOAD | INC_F_AUTH, 16, 1) },
	{ PACKET(INC_PKT_CONTRIB, INC_F_PAYLOAD | INC_F_PARTIAL, 16, 1) },
	{ PACKET(INC_PKT_RESULT, INC_F_PAYLOAD | INC_F_WIDE, 16, 1) },
	{ PACKET(INC_PKT_CONTRIB, INC_F_FINAL, 0, 1) },
	{ PACKET(INC_PKT_CONTRIB, INC_F_WIDE, 0, 1) },
	{ PACKET(INC_PKT_CONTRIB, INC_F_DESC, 0, 2) },
	{ PACKET(INC_PKT_CONTRIB, INC_F_PAYLOAD, 16, 1), .part = 1 },
	{ PACKET(INC_PKT_CONTRIB, INC_F_PAYLOAD, 16, 1), .mode = INC_MODE_COUNTS },
	{ PACKET(INC_PKT_CONTRIB, INC_F_PAYLOAD, 16, 1), .dtype = INC_TYPE_MAX + 1 },
	{ PACKET(INC_PKT_CONTRIB, INC_F_PAYLOAD, 16, 1), .dop = __INC_OP_MAX },
	{ PACKET(0, 0, 0, 1) },
};

static void send_broken(const struct netinc_pkt *p)
{
	memset(datagram, 0, sizeof(datagram));
	end_packet(p);
	remark("malformed", "");
	send_judged();
}

static void all_broken(void)
{
	struct netinc_pkt p;
	u8 type;
	u32 i;

	for (type = 1; type <= INC_PKT_MAX; type++) {
		memset(&p, 0, sizeof(p));
		p.type = type;
		p.len = netinc_min_body(type);
		send_broken(&p);
		p.span = 1;
		if (netinc_is_data(type))
			continue;
		p.flags = INC_F_DESC;
		send_broken(&p);
		p.flags = 0;
		p.len--;
		if (netinc_min_body(type))
			send_broken(&p);
	}
	for (i = 0; i < ARRAY_SIZE(broken); i++)
		send_broken(&broken[i]);
}

static void bad_frames(void)
{
	struct netinc_pkt p;

	make_right(&p, INC_PKT_JOIN);
	send_clean();
	datagram[0] = (INC_WIRE_VERSION + 1) << 4 | INC_PKT_JOIN;
	remark("version", "version %u: expected %u", INC_WIRE_VERSION + 1, INC_WIRE_VERSION);
	send_judged();
	datagram_len = sizeof(struct inc_hdr) - 1;
	remark("malformed", "47 bytes: expected at least 48");
	send_judged();
	begin_packet(&p, INC_PKT_CONTRIB);
	end_packet(&p);
	datagram_len += 4;
	remark("malformed", "52 bytes: its header says 48");
	send_judged();
	datagram_len = 1;
	remark("malformed", "");
	send_judged();
}

/*
 * Every type, cut off by the capture anywhere: it is taken apart without a fault as far as it is
 * there, and that the rest is missing is remarked.
 */
static void cut_off(void)
{
	struct netinc_pkt p;
	u32 i, there;
	u8 type;

	for (type = 1; type <= INC_PKT_MAX; type++) {
		for (i = 0; i < 6; i++) {
			begin_packet(&p, type);
			printf("cut\t%u\n", frame + 1);
			p.len = netinc_is_data(type) ? 40 : netinc_min_body(type) + 16;
			if (netinc_is_data(type))
				p.flags = INC_F_PAYLOAD | INC_F_DESC;
			end_packet(&p);
			there = number() % datagram_len;
			if (there)
				remark("cut", "");
			if (there >= sizeof(struct inc_hdr))
				say_header(&p);
			write_frame(RIGHT, there);
		}
	}
}

/* Right packets with a few bytes changed: dropped as the parser drops them, and never a fault. */
static void mutated(void)
{
	struct netinc_pkt p;
	u32 i, j;

	for (i = 0; i < MUTATIONS; i++) {
		begin_packet(&p, 1 + i % INC_PKT_MAX);
		p.len = netinc_is_data(p.type) ? 40 : netinc_min_body(p.type) + number() % 4 * 4;
		if (netinc_is_data(p.type))
			p.flags = INC_F_PAYLOAD | (number() & 1 ? INC_F_DESC : 0);
		end_packet(&p);
		for (j = number() % 3; j < 3; j++)
			datagram[number() % (i & 1 ? 48 : datagram_len)] = number() >> 13;
		if (!(number() % 16))
			datagram_len = number() % (datagram_len + 8);
		if (datagram_len)
			send_judged();
	}
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: wireshark_packets CAPTURE\n");
		return 2;
	}
	begin_capture(argv[1]);
	every_type();
	every_code();
	accumulators();
	block_floats();
	zeros();
	events();
	before_segmentation();
	bad_checksums();
	bad_bodies();
	all_broken();
	bad_frames();
	cut_off();
	mutated();
	if (fclose(capture)) {
		perror(argv[1]);
		return 1;
	}
	return 0;
}
