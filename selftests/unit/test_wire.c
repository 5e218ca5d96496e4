// SPDX-License-Identifier: GPL-2.0-only
/* The packet format: every field there and back, every byte in its place, what is malformed. */
#include "engine/engine.h"

#include "ktap.h"
#include "siphash.h"

#define MAX_PACKET	(sizeof(struct inc_hdr) + sizeof(struct inc_desc) + INC_MAX_BLOCK + 4)

static u8 packet[MAX_PACKET + 8];

static struct inc_hdr *header(void)
{
	return (struct inc_hdr *)packet;
}

/* A valid packet of @type at packet[]; its length. */
static u32 valid(u8 type, struct netinc_pkt *p)
{
	memset(p, 0, sizeof(*p));
	memset(packet, 0, sizeof(packet));
	p->type = type;
	p->span = 1;
	p->len = netinc_min_body(type);
	netinc_build(header(), p);
	return sizeof(struct inc_hdr) + netinc_body_len(p);
}

/* A JOIN is for a stripe, and of those there are 36. */
static void test_stripe(void)
{
	struct inc_join join = { .size = cpu_to_be32(2) };
	u32 i, n = 0;

	for (i = 0; i < 256; i++) {
		u32 index = i >> 2 & 7, count = (i >> 5) + 1;

		join.late_policy = i;
		expect(netinc_join_whole(&join, sizeof(join)) == (index < count),
		       "late_policy 0x%x", i);
		expect(netinc_join_stripe(&join) == INC_STRIPE(index, count) &&
		       INC_STRIPE_INDEX(i >> 2) == index &&
		       INC_STRIPE_COUNT(i >> 2) == count,
		       "stripe 0x%x", netinc_join_stripe(&join));
		n += index < count;
	}
	expect(n == 4 * 36, "%u are whole", n);
	expect(INC_STRIPE(0, 1) == 0 && INC_STRIPE(7, INC_MAX_STRIPES) == 63, "numbers");
}

/* What is lacked and asked for is behind all else, and all there. */
static void test_kinds(void)
{
	struct {
		struct inc_join join;
		u8 tail[8 + sizeof(struct inc_addr) + sizeof(struct inc_join_kinds)];
	} m;
	struct netinc_kinds lacks = { 1, 2 }, asks = { 4, 8 }, none = {};
	u32 height, len;

	for (height = 0; height < 2; height++) {
		m.join = (struct inc_join){ .size = cpu_to_be32(64), .below = height };
		len = sizeof(m.join) + (height ? sizeof(m.tail) : sizeof(struct inc_join_kinds));
		netinc_join_add_kinds(&m.join, none, none);
		expect(!m.join.flags && !netinc_kinds_any(netinc_join_lacks(&m.join)) &&
		       !netinc_kinds_any(netinc_join_asks(&m.join)), "nothing");
		netinc_join_add_kinds(&m.join, lacks, asks);
		expect(m.join.flags == INC_JOIN_KINDS && netinc_join_whole(&m.join, len) &&
		       !netinc_join_whole(&m.join, len - 1), "%u bytes", len);
		expect(netinc_kinds_same(netinc_join_lacks(&m.join), lacks) &&
		       netinc_kinds_same(netinc_join_asks(&m.join), asks), "height %u", height);
		expect(((u8 *)&m)[len - 1] == 8, "it is not at the end");
	}
	expect(!netinc_kinds_prevent(lacks, 1, INC_OP_NONE) &&
	       netinc_kinds_prevent(lacks, 0, INC_OP_SUM) &&
	       netinc_kinds_prevent((struct netinc_kinds){ 2, 0 }, 1, INC_OP_MAX) &&
	       !netinc_kinds_prevent((struct netinc_kinds){ 2, 0 }, 2, INC_OP_SUM), "prevent");
	expect(NETINC_ALL_TYPES >> INC_TYPE_MAX == 1 && !(NETINC_ALL_TYPES & 1) &&
	       NETINC_ALL_OPS >> INC_OP_AVG == 1 && !(NETINC_ALL_OPS & 1), "all of them");
}

static void refused(u32 len, int reason, const char *what)
{
	struct netinc_pkt p;
	int err = netinc_parse(packet, len, &p);

	expect(err == -reason, "%s: %d, expected %d", what, err, -reason);
}

static void random_packet(struct netinc_pkt *p)
{
	memset(p, 0, sizeof(*p));
	p->type = 1 + ktap_below(INC_PKT_MAX);
	p->part = ktap_below(INC_MAX_PARTS);
	p->flags = ktap_random() & INC_F_ALL &
		   ~(INC_F_PAYLOAD | INC_F_DESC | INC_F_FINAL | INC_F_ZERO);
	if (p->type != INC_PKT_PROBE && p->type != INC_PKT_PEERS)
		p->flags &= ~INC_F_MULTICAST;
	p->group = ktap_random();
	p->incarnation = ktap_random();
	p->epoch = ktap_random();
	p->psn = ktap_random();
	p->tree = ktap_random();
	p->child = ktap_random();
	p->span = 1 + ktap_below(0xffff);
	p->opseq = ktap_random();
	p->sig = ktap_random();
	p->cookie = ktap_random();
	if (!netinc_is_data(p->type)) {
		p->tstamp = ktap_random();
		p->len = netinc_min_body(p->type) + ktap_below(100);
		/* a receiver sees the same bytes as tstamp and as type and operation */
		p->dtype = p->tstamp >> 24;
		p->dop = p->tstamp >> 16;
		p->mode = p->tstamp >> 8;
		return;
	}
	if (p->type != INC_PKT_RESULT)
		p->flags &= ~INC_F_PARTIAL;
	if (p->type != INC_PKT_CONTRIB || (p->flags & INC_F_LEAVE))
		p->flags &= ~INC_F_PART;
	p->dtype = ktap_below(__INC_TYPE_MAX);
	p->dop = ktap_below(__INC_OP_MAX);
	p->mode = ktap_random() & INC_MODE_WIRE;
	p->tstamp = (u32)p->dtype << 24 | (u32)p->dop << 16 | (u32)p->mode << 8;
	if (ktap_random() & 1) {
		p->flags |= INC_F_PAYLOAD | (ktap_random() & 1 ? INC_F_FINAL : 0);
		p->len = 1 + ktap_below(INC_MAX_BLOCK);
		p->span = 1;
	}
	if (p->type != INC_PKT_CONTRIB || !(p->flags & INC_F_PAYLOAD))
		p->flags &= ~INC_F_WIDE;
	if (p->flags & INC_F_PART) {
		p->flags &= ~INC_F_FINAL;
		p->span = 1;
	} else {
		p->part = 0;
	}
	if ((p->flags & (INC_F_PAYLOAD | INC_F_FINAL)) == INC_F_PAYLOAD && (ktap_random() & 1)) {
		p->flags |= INC_F_ZERO;
		p->span = p->flags & INC_F_PART ? 1 : 1 + ktap_below(0xffff);
	} else if (ktap_random() & 1) {
		p->flags |= INC_F_DESC;
		p->span = 1;
	}
}

static void test_round_trip(void)
{
	struct netinc_pkt p, q;
	u32 i, len;
	int err;

	for (i = 0; i < 20000; i++) {
		random_packet(&p);
		netinc_build(header(), &p);
		len = sizeof(struct inc_hdr) + netinc_body_len(&p);
		memset(&q, 0, sizeof(q));
		err = netinc_parse(packet, len, &q);
		expect(!err, "type %u, flags %#x, len %u does not parse: %d", p.type, p.flags,
		       p.len, err);
		expect(!memcmp(&p, &q, sizeof(p)), "type %u comes back as another packet", p.type);
		expect(netinc_parse(packet, len - 1, &q) < 0 &&
		       netinc_parse(packet, len + 1, &q) < 0,
		       "type %u parses with a wrong length", p.type);
	}
}

/* The header is big-endian, whatever this machine is: bytes, not functions. */
static void test_bytes(void)
{
	static const u8 expected[] = {
		0x11, 0x07, 0x00, 0x03, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a,
		0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x14, 0x00, 0x01, 0x00, 0x04,
		0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x03, 0x01, 0x00, 0x00, 0x21, 0x22,
		0x23, 0x24, 0x25, 0x26, 0x27, 0x28,
	};
	struct netinc_pkt p = {
		.type = INC_PKT_CONTRIB, .part = 7, .flags = INC_F_PAYLOAD | INC_F_WANT,
		.group = 0x01020304, .incarnation = 0x05060708, .epoch = 0x090a0b0c,
		.psn = 0x0d0e0f10, .tree = 0x1112, .child = 0x1314, .span = 1, .len = 4,
		.opseq = 0x15161718, .sig = 0x191a1b1c, .dtype = INC_TYPE_I32, .dop = INC_OP_SUM,
		.cookie = 0x2122232425262728ull,
	};
	u32 i;

	memset(packet, 0xff, sizeof(packet));
	netinc_build(header(), &p);
	for (i = 0; i < sizeof(expected); i++)
		expect(packet[i] == expected[i], "byte %u is %02x, expected %02x", i, packet[i],
		       expected[i]);
}

static void test_malformed(void)
{
	struct netinc_pkt p;
	u32 len, type, i;

	for (type = 1; type <= INC_PKT_MAX; type++) {
		len = valid(type, &p);
		expect(!netinc_parse(packet, len, &p), "type %u: the valid packet does not parse",
		       type);
		for (i = 0; i < len; i++)
			refused(i, INC_C_DROP_MALFORMED, "truncated");
		refused(len + 1, INC_C_DROP_MALFORMED, "one byte too long");
		refused(len + 4, INC_C_DROP_MALFORMED, "four bytes too long");
		for (i = 0; i < 16; i++) {
			header()->vertype = i << 4 | type;
			if (i != INC_WIRE_VERSION)
				refused(len, INC_C_DROP_VERSION, "version");
		}
		valid(type, &p);
		header()->span = 0;
		refused(len, INC_C_DROP_MALFORMED, "span 0");
		valid(type, &p);
		if (netinc_is_data(type)) {
			header()->part = 1;
			refused(len, INC_C_DROP_MALFORMED, "part 1 of what has no parts");
			valid(type, &p);
		}
		header()->flags = cpu_to_be16(INC_F_AUTH);
		refused(len, INC_C_DROP_MALFORMED, "flag AUTH");
		header()->flags = cpu_to_be16(0x2000);
		refused(len, INC_C_DROP_MALFORMED, "unknown flag");
		if (type != INC_PKT_PROBE && type != INC_PKT_PEERS) {
			header()->flags = cpu_to_be16(p.flags | INC_F_MULTICAST);
			refused(len, INC_C_DROP_MALFORMED, "flag MULTICAST");
		}
		valid(type, &p);
		header()->len = cpu_to_be16(INC_MAX_BLOCK + 1);
		len = sizeof(struct inc_hdr) + INC_MAX_BLOCK + 4;
		refused(len, INC_C_DROP_MALFORMED, "len above the largest block");
	}
	len = valid(INC_PKT_PROBE, &p);
	header()->vertype = INC_WIRE_VERSION << 4;
	refused(len, INC_C_DROP_MALFORMED, "type 0");
	header()->vertype = INC_WIRE_VERSION << 4 | (INC_PKT_MAX + 1);
	refused(len, INC_C_DROP_MALFORMED, "type above the highest");
}

static void test_malformed_control(void)
{
	struct netinc_pkt p;
	u32 type, len;

	for (type = INC_PKT_PROBE; type <= INC_PKT_MAX; type++) {
		if (netinc_min_body(type)) {
			len = valid(type, &p);
			header()->len = cpu_to_be16(p.len - 4);
			refused(len - 4, INC_C_DROP_MALFORMED, "body too short");
		}
		len = valid(type, &p);
		header()->flags = cpu_to_be16(INC_F_DESC);
		refused(len + sizeof(struct inc_desc), INC_C_DROP_MALFORMED,
			"control packet with a descriptor");
	}
}

static u32 data(struct netinc_pkt *p, u16 flags, u16 len, u16 span)
{
	u32 bytes = valid(INC_PKT_CONTRIB, p);

	p->flags = flags;
	p->len = len;
	p->span = span;
	netinc_build(header(), p);
	bytes += netinc_body_len(p);
	return bytes;
}

static void test_malformed_data(void)
{
	struct netinc_pkt p;
	u32 len;

	refused(data(&p, INC_F_PAYLOAD, 0, 1), INC_C_DROP_MALFORMED, "PAYLOAD without any");
	refused(data(&p, 0, 8, 1), INC_C_DROP_MALFORMED, "payload without PAYLOAD");
	refused(data(&p, INC_F_PAYLOAD, 8, 2), INC_C_DROP_MALFORMED, "payload for two blocks");
	refused(data(&p, INC_F_DESC, 0, 2), INC_C_DROP_MALFORMED, "descriptor for two blocks");
	refused(data(&p, INC_F_FINAL, 0, 1), INC_C_DROP_MALFORMED, "empty FINAL");
	refused(data(&p, INC_F_PARTIAL, 0, 1), INC_C_DROP_MALFORMED, "a partial contribution");
	refused(data(&p, INC_F_PART, 0, 2), INC_C_DROP_MALFORMED, "a part of two blocks");
	refused(data(&p, INC_F_PART | INC_F_LEAVE, 0, 1), INC_C_DROP_MALFORMED, "a part of LEAVE");
	refused(data(&p, INC_F_PART | INC_F_FINAL | INC_F_PAYLOAD, 8, 1), INC_C_DROP_MALFORMED,
		"a part of what is final");
	len = data(&p, INC_F_PART, 0, 1);
	refused(len, 0, "a part");
	header()->part = 255;
	refused(len, 0, "the last part");
	header()->vertype = INC_WIRE_VERSION << 4 | INC_PKT_RESULT;
	refused(len, INC_C_DROP_MALFORMED, "a part of a result");
	refused(data(&p, 0, 0, 0xffff), 0, "credit");
	len = data(&p, INC_F_PAYLOAD, 8, 1);
	refused(len, 0, "valid");
	header()->mode = INC_MODE_COUNTS;
	refused(len, INC_C_DROP_MALFORMED, "mode");
	len = data(&p, INC_F_PAYLOAD, 8, 1);
	header()->resv = 1;
	refused(len, INC_C_DROP_MALFORMED, "resv");
	len = data(&p, INC_F_PAYLOAD, 8, 1);
	header()->type = INC_TYPE_MAX + 1;
	refused(len, INC_C_DROP_MALFORMED, "type");
	len = data(&p, INC_F_PAYLOAD, 8, 1);
	header()->op = __INC_OP_MAX;
	refused(len, INC_C_DROP_MALFORMED, "operation");
}

/* Elements that are all 0 are in no packet, and one may stand for many blocks of them. */
static void test_zeros(void)
{
	const u16 zeros = INC_F_PAYLOAD | INC_F_ZERO;
	struct netinc_pkt p, q;
	u32 len;

	len = data(&p, zeros, 1024, 0xffff);
	expect(len == sizeof(struct inc_hdr), "%u bytes", len);
	refused(len, 0, "blocks of zeros");
	expect(!netinc_parse(packet, len, &q) && q.len == 1024 && q.span == 0xffff,
	       "%u bytes of %u blocks come back", q.len, q.span);
	refused(data(&p, zeros | INC_F_WANT | INC_F_RETRANS | INC_F_WIDE, 64, 2), 0, "of a node");
	refused(data(&p, zeros | INC_F_PART, 64, 1), 0, "one part");
	refused(data(&p, zeros | INC_F_PART, 64, 2), INC_C_DROP_MALFORMED, "one part of two blocks");
	refused(data(&p, INC_F_ZERO, 0, 1), INC_C_DROP_MALFORMED, "ZERO without elements");
	refused(data(&p, zeros, 0, 1), INC_C_DROP_MALFORMED, "no bytes of zeros");
	refused(data(&p, zeros | INC_F_FINAL, 64, 1), INC_C_DROP_MALFORMED, "FINAL");
	refused(data(&p, zeros | INC_F_DESC, 64, 1), INC_C_DROP_MALFORMED, "with a descriptor");
	len = data(&p, zeros, 64, 1);
	refused(len + 4, INC_C_DROP_MALFORMED, "bytes behind it");
	refused(len + 64, INC_C_DROP_MALFORMED, "zeros behind it");
	len = valid(INC_PKT_PROBE, &p);
	header()->flags |= cpu_to_be16(INC_F_ZERO);
	refused(len, INC_C_DROP_MALFORMED, "PROBE with its body");
	refused(sizeof(struct inc_hdr), INC_C_DROP_MALFORMED, "PROBE without");
}

/* Padding: the datagram is a multiple of 4 beyond the header, the header has the true length. */
static void test_padding(void)
{
	struct netinc_pkt p, q;
	u32 i, len;

	for (i = 1; i <= 9; i++) {
		len = data(&p, INC_F_PAYLOAD | INC_F_DESC, i, 1);
		expect(len == 48 + 32 + (i + 3) / 4 * 4, "%u bytes of payload make %u", i, len);
		expect(!netinc_parse(packet, len, &q) && q.len == i,
		       "%u bytes of payload come back as %u", i, q.len);
	}
}

static void test_extend(void)
{
	static const u64 nears[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000ull,
				     0x1ffffffffull, 0x8000000000000000ull, 0xffffffff00000000ull,
				     0xffffffffffffffffull };
	static const u32 offsets[] = { 0, 1, 2, 100, 0x7ffffffe, 0x7fffffff };
	u64 near, got;
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(nears); i++) {
		for (j = 0; j < ARRAY_SIZE(offsets); j++) {
			near = nears[i];
			got = netinc_extend(near, (u32)(near + offsets[j]));
			expect(got == near + offsets[j], "%#llx + %#x is %#llx",
			       (unsigned long long)near, offsets[j], (unsigned long long)got);
			got = netinc_extend(near, (u32)(near - offsets[j]));
			expect(got == near - offsets[j], "%#llx - %#x is %#llx",
			       (unsigned long long)near, offsets[j], (unsigned long long)got);
		}
	}
}

static void test_bitmap(void)
{
	__be32 map[2] = { 0, 0 };
	const u8 *bytes = (const u8 *)map;
	u32 i;

	netinc_bit_set(map, 0);
	netinc_bit_set(map, 9);
	netinc_bit_set(map, 63);
	expect(bytes[3] == 1 && bytes[2] == 2 && bytes[4] == 0x80, "bits are in the wrong bytes");
	for (i = 0; i < 64; i++)
		expect(netinc_bit(map, i) == (i == 0 || i == 9 || i == 63), "bit %u", i);
}

static void test_error(void)
{
	struct netinc_error e, back;
	struct inc_error_pkt w;
	const u8 *bytes = (const u8 *)&w;

	memset(&e, 0, sizeof(e));
	e.block = 0x0102030405060708ull;
	e.opseq = 0x11121314;
	e.resume = 0x21222324;
	e.code = INC_ERR_MISMATCH;
	e.rank[0] = 5;
	e.rank[1] = NETINC_NO_RANK;
	e.desc[0].coll = INC_COLL_BARRIER;
	e.desc[1].count = cpu_to_be64(77);
	memset(&w, 0xff, sizeof(w));
	netinc_error_build(&w, &e);
	memset(&back, 0, sizeof(back));
	netinc_error_parse(&w, &back);
	expect(!memcmp(&e, &back, sizeof(e)), "an error comes back as another one");
	expect(bytes[0] == 1 && bytes[7] == 8, "an error is not big-endian");
	expect(!w.resv, "a reserved field is not 0");
}

/* The proof depends on all that it is to prove. */
static void test_proof(void)
{
	struct {
		struct inc_join join;
		u8 tail[8 + sizeof(struct inc_addr) + sizeof(struct inc_join_kinds)];
	} m = { .join = { .size = cpu_to_be32(64), .challenge = cpu_to_be64(99) } };
	u8 key[INC_KEY_LEN] = { 1 };
	__be64 one[2], two[2];
	u32 i;

	netinc_join_proof(key, 7, 3, &m.join, one);
	expect(one[0] != one[1], "both halves are the same");
	netinc_join_proof(key, 7, 3, &m.join, two);
	expect(!memcmp(one, two, sizeof(one)), "two proofs of the same differ");
	netinc_join_proof(key, 8, 3, &m.join, two);
	expect(one[0] != two[0] && one[1] != two[1], "the group is not in it");
	netinc_join_proof(key, 7, 4, &m.join, two);
	expect(one[0] != two[0] && one[1] != two[1], "the rank is not in it");
	for (i = 0; i < offsetof(struct inc_join, proof); i++) {
		((u8 *)&m)[i] ^= 1;
		netinc_join_proof(key, 7, 3, &m.join, two);
		expect(one[0] != two[0] && one[1] != two[1], "byte %u of the body is not in it", i);
		((u8 *)&m)[i] ^= 1;
	}
	/* a node's JOIN has more, and so has one that says what is lacked, or asked for */
	m.join.below = 1;
	m.join.flags = INC_JOIN_KINDS;
	netinc_join_proof(key, 7, 3, &m.join, one);
	for (i = 0; i < sizeof(m.tail); i++) {
		m.tail[i] ^= 1;
		netinc_join_proof(key, 7, 3, &m.join, two);
		expect(one[0] != two[0] && one[1] != two[1], "byte %u behind it is not in it", i);
		m.tail[i] ^= 1;
	}
	m.join.below = 0;
	netinc_join_proof(key, 7, 3, &m.join, one);
	for (i = 0; i < sizeof(struct inc_join_kinds); i++) {
		m.tail[i] ^= 1;
		netinc_join_proof(key, 7, 3, &m.join, two);
		expect(one[0] != two[0] && one[1] != two[1], "byte %u of a rank's is not in it", i);
		m.tail[i] ^= 1;
	}
	m.join.flags = 0;
	netinc_join_proof(key, 7, 3, &m.join, one);
	for (i = 0; i < INC_KEY_LEN; i++) {
		key[i] ^= 1;
		netinc_join_proof(key, 7, 3, &m.join, two);
		expect(one[0] != two[0] && one[1] != two[1], "byte %u of the key is not in it", i);
		key[i] ^= 1;
	}
}

/* Where a rank or a node can be: no multicast, no IPv4 in disguise, nothing unspecified. */
static void test_hosts(void)
{
	static const struct {
		struct netinc_peer peer;
		bool host;
	} of[] = {
		{ { .addr = { 10, 0, 0, 1 }, .family = NETINC_AF_INET, .udp_port = 9 }, true },
		{ { .addr = { 223, 0, 0, 1 }, .family = NETINC_AF_INET, .udp_port = 9 }, true },
		{ { .addr = { 224, 0, 0, 1 }, .family = NETINC_AF_INET, .udp_port = 9 }, false },
		{ { .addr = { 0, 0, 0, 1 }, .family = NETINC_AF_INET, .udp_port = 9 }, false },
		{ { .addr = { 10, 0, 0, 1 }, .family = NETINC_AF_INET }, false },
		{ { .addr = { 10, 0, 0, 1 }, .udp_port = 9 }, false },
		{ { .addr = { 0xfe, 0x80 }, .family = NETINC_AF_INET6, .udp_port = 9 }, true },
		{ { .addr = { [14] = 1 }, .family = NETINC_AF_INET6, .udp_port = 9 }, true },
		{ { .addr = { [15] = 1 }, .family = NETINC_AF_INET6, .udp_port = 9 }, true },
		{ { .family = NETINC_AF_INET6, .udp_port = 9 }, false },
		{ { .addr = { 0xff, 2, [15] = 1 }, .family = NETINC_AF_INET6, .udp_port = 9 },
		  false },
		{ { .addr = { [10] = 0xff, [11] = 0xff, [12] = 10 }, .family = NETINC_AF_INET6,
		    .udp_port = 9 }, false },
		{ { .addr = { [10] = 0xff, [12] = 10 }, .family = NETINC_AF_INET6, .udp_port = 9 },
		  true },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(of); i++)
		expect(netinc_peer_is_host(&of[i].peer) == of[i].host, "address %u", i);
}

/* Loopback is a place for who is at one, too. */
static void test_place(void)
{
	const struct netinc_peer host = { .addr = { 10, 0, 0, 1 }, .family = NETINC_AF_INET,
					  .udp_port = 9 };
	const struct netinc_peer of[] = {
		{ .addr = { 127, 255, 0, 9 }, .family = NETINC_AF_INET, .udp_port = 9 },
		{ .addr = { [15] = 1 }, .family = NETINC_AF_INET6, .udp_port = 9 },
	};
	const struct netinc_peer six = { .addr = { 127, [15] = 2 }, .family = NETINC_AF_INET6,
					 .udp_port = 9 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(of); i++) {
		expect(!netinc_peer_is_place(&of[i], &host) && !netinc_peer_is_place(&of[i], &six),
		       "address %u from elsewhere", i);
		expect(netinc_peer_is_place(&of[i], &of[0]) && netinc_peer_is_place(&of[i], &of[1]),
		       "address %u", i);
		expect(netinc_peer_is_place(&host, &of[i]) && netinc_peer_is_place(&six, &of[i]),
		       "a host, from address %u", i);
		expect(!netinc_peer_is_far(&of[i]), "address %u is far", i);
	}
	expect(netinc_peer_is_far(&host) && netinc_peer_is_far(&six), "a host is not far");
}

/* An address there and back; one of no family that there is names nobody. */
static void test_addr(void)
{
	const struct netinc_peer of[] = {
		{ .addr = { 10, 0, 0, 1 }, .family = NETINC_AF_INET, .udp_port = cpu_to_be16(9) },
		{ .addr = { 0xfe, 0x80, [15] = 7 }, .family = NETINC_AF_INET6,
		  .udp_port = cpu_to_be16(9) },
	};
	const struct netinc_peer none = {};
	struct netinc_peer peer;
	struct inc_addr w = {};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(of); i++) {
		netinc_addr_build(&w, &of[i]);
		expect(be16_to_cpu(w.family) == (i ? 6 : 4), "family %u", be16_to_cpu(w.family));
		netinc_addr_parse(&w, &peer);
		expect(!memcmp(&peer, &of[i], sizeof(peer)), "address %u", i);
	}
	for (i = 0; i < 10; i++) {
		w.family = cpu_to_be16(i);
		netinc_addr_parse(&w, &peer);
		expect(i == 4 || i == 6 || !memcmp(&peer, &none, sizeof(peer)), "family %u", i);
	}
	/* what stands behind an IPv4 address is no part of it */
	w.family = cpu_to_be16(4);
	netinc_addr_parse(&w, &peer);
	expect(peer.addr[0] == 0xfe && !peer.addr[15], "16 bytes of IPv4");
}

static const struct ktap_test tests[] = {
	KTAP(test_round_trip), KTAP(test_stripe), KTAP(test_kinds),
	KTAP(test_bytes), KTAP(test_malformed), KTAP(test_malformed_control),
	KTAP(test_malformed_data), KTAP(test_zeros), KTAP(test_padding), KTAP(test_extend),
	KTAP(test_bitmap), KTAP(test_error), KTAP(test_proof), KTAP(test_hosts), KTAP(test_place),
	KTAP(test_addr),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
