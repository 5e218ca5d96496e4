/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What packet.c, an episode with its honest ranks, liar.c, the members that lie, lies.c, what they
 * say, and frame.c, how it leaves, share.
 */
#ifndef INC_SURFACES_PACKET_H
#define INC_SURFACES_PACKET_H

#include <netinet/in.h>
#include <stdatomic.h>

#include "engine/engine.h"
#include "surfaces.h"

#define MAX_HONEST 8
#define MAX_MEMBERS 4
#define MAX_SEEN 256
#define MAX_UNIT 2048
#define MAX_BUFFER 60000

/* What was sent; each has to be sent at least plan->least times. */
enum lie {
	LIE_JOINED,
	LIE_STOLEN,
	LIE_AGREE,
	LIE_PAYLOAD,
	LIE_NO_PAYLOAD,
	LIE_SPAN,
	LIE_DESC,
	LIE_FINAL,
	LIE_RETRANS,
	LIE_LEAVE,
	LIE_OPSEQ,
	LIE_LENGTH,
	LIE_PROBE,
	LIE_ABORT,
	LIE_MOVE_JOIN,
	LIE_SHRINK_JOIN,
	LIE_REJOIN,
	LIE_SUPER,
	LIE_MIXED,
	LIE_MEMBERS,
	LIE_SHORT,
	LIE_DOWN_SUPER,
	LIE_BROADCAST,
	LIE_MULTICAST,
	LIE_MARTIAN,
	LIE_SPOOFED,
	LIE_DAMAGED,
	LIE_COOKIE,
	LIE_RESULT,
	LIE_STATUS,
	LIE_NACK,
	LIE_ERROR,
	LIE_READY,
	LIE_REFUSE,
	LIE_MOVE,
	LIE_PEERS,
	LIE_PARTIAL,
	LIE_WIDE,
	LIE_OPS_RIGHT,
	LIE_OPS_FAILED,
	LIE_NODE_JOINED, /* these with plan->nodes */
	LIE_NODE_ABORT,
	LIE_NODE_STALE,
	LIE_NODE_PART,
	LIE_KINDS
};

struct packet_tally {
	struct runs runs;
	atomic_ulong said[LIE_KINDS], formed;
};

extern struct packet_tally *said;

/* One member that lies. */
struct member {
	u32 rank, nonce;
	u64 challenge;
	bool ready;
	u32 epoch, incarnation, opseq;
	u64 up, down, lineage, start;
};

/* A contribution of a rank of this host. */
struct seen {
	u32 psn, opseq, sig;
	u16 span;
};

/* What the members of one group know that lie, all at one host. */
struct liar {
	struct source s;
	u32 group, size, block, window;
	bool pure; /* they contribute no elements, and leave the node's packets alone */
	struct member member[MAX_MEMBERS];
	u32 n;
	u32 below; /* bit i: the one member is a node, with rank i below; 0: they are ranks */
	u32 una; /* first block that may not be complete */
	u64 error; /* the block from which on there are no results; 0: none is known */
	bool erred;
	struct seen seen[MAX_SEEN];
	u32 nseen, agreed;
	u64 stolen; /* an honest rank's up cookie, 0: none */
	u32 stolen_rank, stolen_nonce;
	u32 honest_rank[MAX_HONEST], n_honest;
};

struct unit {
	u8 data[MAX_UNIT];
	u32 len;
};

/* The addresses of this episode: host numbers are those of 10.7.0.0/24. */
extern u32 my_host, honest_host[MAX_HONEST];
#define NODE_HOST 254

/* frame.c */
void frames_open(void);
/* One datagram: from @src (network order) to @dst, in a frame for @host, for all if that is 255. */
void frame_send(__be32 src, __be32 dst, u32 host, const void *data, u32 len);
/* With IPv6 addresses. */
void frame_send6(const struct in6_addr *src, const struct in6_addr *dst, u32 host, const void *data,
		 u32 len);
/* Units of @size bytes, but the last, as one buffer; from another host's address too. */
void frame_send_super(u32 src_host, u32 dst_host, const void *data, u32 len, u32 size);
/* What is sent and received here; 0: nothing at the moment. @outgoing: by this host. */
u32 frame_receive(void *data, u32 size, bool *outgoing);
__be32 host_addr(u32 host);

/* liar.c */
/* All members have READY; false: not within some seconds. */
bool liar_join(struct liar *l);
void liar_listen(struct liar *l);
/* @lie: what it says; size, nonce, block, and ranks below are filled in. */
void liar_send_join(struct liar *l, struct member *m, const struct inc_join *lie, u32 incarnation);
void liar_abort(struct liar *l);
void make_header(const struct liar *l, const struct member *m, u8 type, struct netinc_pkt *pkt);
void make_unit(struct unit *u, struct netinc_pkt *pkt, const void *body, u32 len);
/* To the node, from here. */
void liar_send(const struct unit *u);

/* lies.c */
void liar_say(struct liar *l);

static inline void count_lie(enum lie what)
{
	atomic_fetch_add(&said->said[what], 1);
}

#endif
