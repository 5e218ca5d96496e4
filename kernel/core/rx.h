/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packets in: one path behind both hooks. A struct netinc_rx is one received buffer, super-packet
 * or not, whose IP and UDP headers have been checked; its segments are walked with
 * netinc_rx_next().
 */
#ifndef NETINC_CORE_RX_H
#define NETINC_CORE_RX_H

#include <linux/skbuff.h>
#include "engine/engine.h"
#include "core/netns.h"

/*
 * The contents of a received skb's cb from the hook on: a group keeps count of the payloads that it
 * holds in it.
 */
struct netinc_skb_cb {
	/* struct netinc_pay that refer to it; 0: not held; lock of the group */
	u32 refs;
	u32 packets;		/* INC packets in it */
};

static inline struct netinc_skb_cb *NETINC_CB(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct netinc_skb_cb) > sizeof(skb->cb));
	return (struct netinc_skb_cb *)skb->cb;
}

struct netinc_rx {
	struct netinc_net *nn;
	struct sk_buff *skb;
	struct net_device *dev;		/* the port it came in by */
	/*
	 * the device by which it came to IP: the bridge, or a VLAN device of it; else dev, which is
	 * a VRF's own device only for what that sends itself
	 */
	struct net_device *via;
	u32 vrf;			/* ifindex of the VRF of `via`; 0: none */
	struct netinc_peer peer;	/* the sender */
	/* the port that it has sent from, where answers go; ours if that is 0 (RFC 768) */
	__be16 sport;
	u8 local[16];			/* the address that it was sent to */
	u32 seg_size;			/* bytes of each segment but the last */
	u32 left;			/* bytes from `at` on */
	u32 at;				/* offset of the next segment */
	const struct inc_hdr *next;	/* its header, if that is contiguous */
	u32 contig;			/* contiguous bytes from there on */
	/* that of the segment at hand, likewise, if it is as long as the others */
	const struct inc_hdr *last;
	u32 headers;			/* bytes of IP and UDP headers */
	/* looks at blocks that it may still cost all that it is offered to, see rule 14 */
	u32 work;
	u32 takers;			/* ranks and groups of it that may still be handed it */
	bool ce;			/* the IP header says that it met congestion */
	bool multicast;			/* it was sent to the IPv4 multicast group in `local` */
	bool used;			/* a segment of it was of use */
	enum inc_counter drop;		/* why the last one that was not has been dropped */
	struct netinc_pkt pkt;		/* of the segment at hand */
	u32 body;			/* offset of what follows its header */
};

/*
 * The only way to keep a received skb: nothing of where it came from stays with it. Charged by the
 * caller.
 */
void netinc_skb_hold(struct sk_buff *skb);

/*
 * The segment at hand, or all that follows, is dropped for @reason: noted for the end of
 * the skb, and traced. It has been counted.
 */
void netinc_rx_dropped(struct netinc_rx *rx, u32 group, enum inc_counter reason);
/* Drops @rx in the same way, counted at the netns. */
void netinc_rx_drop(struct netinc_rx *rx, enum inc_counter reason);

/* Has this box sent it, to itself? */
bool netinc_rx_is_own(const struct netinc_rx *rx);

/* May it be offered to one more rank or group? Dropped, if not. */
bool netinc_rx_may_offer(struct netinc_rx *rx);
/* May it be handed to one that it is for? Dropped, if not. */
bool netinc_rx_may_hand(struct netinc_rx *rx);

/* The longest body of a control packet, JOIN of a node, and a buffer on the stack for it. */
#define NETINC_MAX_BODY		(sizeof(struct inc_join) + NETINC_JOIN_TAIL)
static_assert(sizeof(struct inc_status) + NETINC_MAX_BITMAP * sizeof(__be32) <= NETINC_MAX_BODY);
static_assert(sizeof(struct inc_ready) + sizeof(struct inc_kinds) <= NETINC_MAX_BODY);

/*
 * Takes the next segment apart into rx->pkt; who is handed an rx finds the first one there. 1:
 * there it is; 0: no more; negative counter: malformed (nothing more in this buffer is of use).
 */
int netinc_rx_parse(struct netinc_rx *rx);

static inline int netinc_rx_next(struct netinc_rx *rx)
{
	return rx->left ? netinc_rx_parse(rx) : 0;
}

/*
 * The body of a control packet, copied to @buf of NETINC_MAX_BODY bytes if it is not linear; NULL:
 * too long.
 */
const void *netinc_rx_body(const struct netinc_rx *rx, void *buf);

/* The nonce that an answer to a JOIN repeats, which stands first in it. False: not read. */
bool netinc_rx_nonce(const struct netinc_rx *rx, u32 *nonce);

/* Bytes of all segments. */
static inline u32 netinc_rx_len(const struct netinc_rx *rx)
{
	return rx->skb->len - rx->headers;
}

/* INC packets; gso_segs may be 0, or whatever a guest or a raw socket has said. */
static inline u32 netinc_rx_packets(const struct netinc_rx *rx)
{
	return DIV_ROUND_UP(netinc_rx_len(rx), rx->seg_size);
}

/* IP bytes, with the headers of every packet. */
static inline u32 netinc_rx_bytes(const struct netinc_rx *rx)
{
	return netinc_rx_len(rx) + netinc_rx_packets(rx) * rx->headers;
}

/*
 * May the sender be told anything, or become somebody here? Its address is to be one machine's, and
 * not one of this box unless it is this box that sends. Data of members need not be asked about:
 * theirs was, when they became members.
 */
bool netinc_rx_sender_ok(const struct netinc_rx *rx);
/*
 * Would an answer leave by the device that this came by? As strict reverse path filtering: some way
 * of the route to the sender, in the VRF it came by. True for what this box has sent itself.
 */
bool netinc_rx_comes_back(const struct netinc_rx *rx);
/*
 * The interface to look routes to the sender up for: that of link-local addresses, else the VRF; 0:
 * none.
 */
u32 netinc_rx_oif(const struct netinc_rx *rx);

/*
 * dispatch.c: hands a buffer whose headers have been checked to the node or the ranks that it is
 * for. Under RCU, bottom halves off.
 */
void netinc_dispatch(struct netinc_rx *rx);
/*
 * Under RCU: does some node serve the address that this was sent to, by the device it came by, so
 * that it is taken at the bridge's hook?
 */
bool netinc_dispatch_at(const struct netinc_rx *rx);

/*
 * Under RCU: is it for a rank that is here and sends from @port? The headers in front of INC's have
 * been looked at.
 */
bool netinc_dispatch_answer(const struct netinc_rx *rx, __be16 port);

/*
 * The hook's entry: checks all headers, finds who it is for. @via differs from @port at the
 * bridge's hook only. True: the skb was INC's and has been consumed.
 */
bool netinc_rx(struct netinc_net *nn, struct sk_buff *skb, struct net_device *port,
	       struct net_device *via, u8 family);

#endif
