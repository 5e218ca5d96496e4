/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Headers on the wire, taken apart and put together. The parser is inline because the qdisc uses it
 * too; it is the only parser there is.
 */
#ifndef NETINC_ENGINE_WIRE_H
#define NETINC_ENGINE_WIRE_H

#include "reduce/platform.h"
#include <linux/inc_wire.h>
#include <linux/inc_netlink.h>

/* struct inc_hdr in host order. */
struct netinc_pkt {
	u8 type;		/* enum inc_pkt_type */
	u8 part;
	u16 flags;		/* INC_F_* */
	u32 group;
	u32 incarnation;
	u32 epoch;
	u32 psn;
	u16 tree;
	u16 child;
	u16 span;
	u16 len;		/* payload or body, bytes */
	u32 opseq;
	u32 sig;
	u32 tstamp;		/* PROBE, STATUS */
	u8 dtype;		/* CONTRIB, RESULT: enum inc_type */
	u8 dop;			/* enum inc_op */
	u8 mode;		/* INC_MODE_SATURATE or 0 */
	/* not in the header: IP says that it met congestion (ECN), set by the environment */
	bool ce;
	/* likewise: it was sent to an IP multicast group; of a packet to send: it is to be */
	bool multicast;
	u64 cookie;
};

static inline bool netinc_is_data(u8 type)
{
	return type == INC_PKT_CONTRIB || type == INC_PKT_RESULT;
}

/* Control packets for all children alike; others name theirs. */
static inline bool netinc_for_all(const struct netinc_pkt *p)
{
	return p->type == INC_PKT_ERROR || p->type == INC_PKT_PARTIAL || p->multicast;
}

/* What may go to an IP multicast group: results, and calls. */
static inline bool netinc_multicast_ok(const struct netinc_pkt *p)
{
	return p->type == INC_PKT_RESULT ||
	       (p->type == INC_PKT_PEERS && (p->flags & INC_F_MULTICAST));
}

/* Bytes that the header stands for, padding included, and zeros that are not sent. */
static inline u32 netinc_full_len(const struct netinc_pkt *p)
{
	return (p->flags & INC_F_DESC ? (u32)sizeof(struct inc_desc) : 0) +
	       round_up((u32)p->len, 4u);
}

/* Bytes that follow the header, padding included. */
static inline u32 netinc_body_len(const struct netinc_pkt *p)
{
	return p->flags & INC_F_ZERO ? 0 : netinc_full_len(p);
}

/* Shortest body of each control packet. */
static inline u32 netinc_min_body(u8 type)
{
	switch (type) {
	case INC_PKT_PROBE:
		return sizeof(struct inc_probe);
	case INC_PKT_STATUS:
		return sizeof(struct inc_status);
	case INC_PKT_JOIN:
		return sizeof(struct inc_join);
	case INC_PKT_CHALLENGE:
		return sizeof(struct inc_challenge);
	case INC_PKT_WAIT:
		return sizeof(struct inc_wait_pkt);
	case INC_PKT_READY:
		return sizeof(struct inc_ready);
	case INC_PKT_REFUSE:
		return sizeof(struct inc_refuse);
	case INC_PKT_ERROR:
	case INC_PKT_ABORT:
		return sizeof(struct inc_error_pkt);
	case INC_PKT_MOVE:
		return sizeof(struct inc_move);
	case INC_PKT_PEERS:
		return sizeof(struct inc_peers);
	case INC_PKT_PARTIAL:
		return sizeof(struct inc_partial);
	default:
		return 0;
	}
}

static inline int netinc_check_data(const struct netinc_pkt *p, const struct inc_hdr *h)
{
	bool payload = p->flags & INC_F_PAYLOAD, zero = p->flags & INC_F_ZERO;

	if ((p->mode & ~INC_MODE_WIRE) || h->resv || p->dtype > INC_TYPE_MAX ||
	    p->dop >= __INC_OP_MAX)
		return -INC_C_DROP_MALFORMED;
	if ((p->flags & INC_F_PARTIAL) && p->type != INC_PKT_RESULT)
		return -INC_C_DROP_MALFORMED;
	if ((p->flags & INC_F_WIDE) && (p->type != INC_PKT_CONTRIB || !payload))
		return -INC_C_DROP_MALFORMED;
	if (p->flags & INC_F_PART) {
		if (p->type != INC_PKT_CONTRIB || p->span != 1 ||
		    (p->flags & (INC_F_FINAL | INC_F_LEAVE)))
			return -INC_C_DROP_MALFORMED;
	} else if (p->part) {
		return -INC_C_DROP_MALFORMED;
	}
	if (payload != !!p->len || ((p->flags & INC_F_FINAL) && !payload) ||
	    (zero && (!payload || (p->flags & (INC_F_FINAL | INC_F_DESC)))))
		return -INC_C_DROP_MALFORMED;
	if (p->span != 1 && ((payload && !zero) || (p->flags & INC_F_DESC)))
		return -INC_C_DROP_MALFORMED;
	return 0;
}

/*
 * Reads the header at @data, the first byte of a datagram of @len bytes of which at least min(len,
 * 48) are at @data. Returns 0 or the negative enum inc_counter of the reason why it is dropped.
 */
static inline int netinc_parse(const void *data, u32 len, struct netinc_pkt *p)
{
	const struct inc_hdr *h = data;

	if (len < sizeof(*h))
		return -INC_C_DROP_MALFORMED;
	if (h->vertype >> 4 != INC_WIRE_VERSION)
		return -INC_C_DROP_VERSION;
	p->type = h->vertype & 0xf;
	p->part = h->part;
	p->flags = be16_to_cpu(h->flags);
	p->group = be32_to_cpu(h->group);
	p->incarnation = be32_to_cpu(h->incarnation);
	p->epoch = be32_to_cpu(h->epoch);
	p->psn = be32_to_cpu(h->psn);
	p->tree = be16_to_cpu(h->tree);
	p->child = be16_to_cpu(h->child);
	p->span = be16_to_cpu(h->span);
	p->len = be16_to_cpu(h->len);
	p->opseq = be32_to_cpu(h->opseq);
	p->sig = be32_to_cpu(h->sig);
	p->cookie = be64_to_cpu(h->cookie);
	p->tstamp = be32_to_cpu(h->tstamp);
	p->dtype = h->type;
	p->dop = h->op;
	p->mode = h->mode;
	p->ce = false;
	p->multicast = false;
	if (!p->type || p->type > INC_PKT_MAX || (p->flags & ~INC_F_ALL) ||
	    !p->span || p->len > INC_MAX_BLOCK ||
	    len != sizeof(*h) + netinc_body_len(p))
		return -INC_C_DROP_MALFORMED;
	if ((p->flags & INC_F_MULTICAST) && p->type != INC_PKT_PROBE && p->type != INC_PKT_PEERS)
		return -INC_C_DROP_MALFORMED;
	if (netinc_is_data(p->type))
		return netinc_check_data(p, h);
	if (p->len < netinc_min_body(p->type) || (p->flags & (INC_F_DESC | INC_F_ZERO)))
		return -INC_C_DROP_MALFORMED;
	return 0;
}

/*
 * Parses one header of a run: @last is the header in front of it, of which @p is what
 * netinc_parse() made, in a datagram as long. False: they differ in more than the psn.
 */
static inline bool netinc_parse_next(const void *data, const void *last, struct netinc_pkt *p)
{
	const u32 behind = offsetof(struct inc_hdr, psn) + sizeof(__be32);
	__be32 psn;

	if (memcmp(data, last, offsetof(struct inc_hdr, psn)) ||
	    memcmp(data + behind, last + behind, sizeof(struct inc_hdr) - behind))
		return false;
	memcpy(&psn, data + offsetof(struct inc_hdr, psn), sizeof(psn));
	p->psn = be32_to_cpu(psn);
	return true;
}

void netinc_build(struct inc_hdr *h, const struct netinc_pkt *p);

/* The 64-bit number whose low half is @low and which is nearest to @near. */
static inline u64 netinc_extend(u64 near, u32 low)
{
	return near + (u64)(s64)(s32)(low - (u32)near);
}

/*
 * Bitmaps of PROBE and STATUS: @bits counts bits, bit i is bit i % 32 of the big-endian word i /
 * 32.
 */
static inline bool netinc_bit(const __be32 *map, u32 i)
{
	return be32_to_cpu(map[i / 32]) >> (i % 32) & 1;
}

static inline void netinc_bit_set(__be32 *map, u32 i)
{
	map[i / 32] |= cpu_to_be32(1u << (i % 32));
}

#define NETINC_MAX_BITMAP	(INC_MAX_WINDOW / 32)	/* words */

#endif
