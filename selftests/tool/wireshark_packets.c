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
#include "wireshark_bodies.h"

#define MUTATIONS	600

static bool is_event(u8 type)
{
	return type == INC_PKT_NACK || type == INC_PKT_ERROR || type == INC_PKT_ABORT ||
	       type == INC_PKT_REFUSE;
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
	remark("body", "a bitmap of 4294967295 bits takes 536870912 bytes, there are 44");
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
	if (!end_capture()) {
		perror(argv[1]);
		return 1;
	}
	return 0;
}
