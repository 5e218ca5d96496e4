/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Types and functions that the parts of the engine share. The engine is sans-IO: it takes parsed
 * packets and the time, keeps state, and calls a table of functions of its environment to queue
 * packets, keep payload, fold, deliver and report. None of these functions may call the engine
 * back; the kernel, the simulator and the tests each bring their own.
 *
 * LOCKING: the engine has none. One object (struct netinc_group, struct netinc_ep) is used by one
 * thread at a time; in the kernel that is the lock of the glue object around it.
 *
 * TIME: u64 microseconds from any fixed origin.
 */
#ifndef NETINC_ENGINE_ENGINE_H
#define NETINC_ENGINE_ENGINE_H

#include "kinds.h"
#include "wire.h"

#define NETINC_MS		1000ULL
#define NETINC_NO_RANK		0xffffffffu
#define NETINC_ALL		0xffffffffu	/* child: every one of them */
#define NETINC_MAX_EPOCH	0x7fffffffu	/* nobody gets there who does not lie */

/* Milliseconds: limits of the limits. */
#define NETINC_MIN_DEAD_MS	100u
#define NETINC_MAX_DEAD_MS	60000u
#define NETINC_MAX_LATE_MS	3600000u

/* The owner of the memory that payload lies in, which says how the environment releases it. */
enum netinc_pay_kind {
	/* It was received: obj is the packet, or a copy of the part of it that is needed. */
	NETINC_PAY_RECEIVED,
	/* A node has folded it: obj and off are what the environment has made of them. */
	NETINC_PAY_RESULT,
	/* A rank retains it: its own contribution. */
	NETINC_PAY_RETAINED_OWN,
	/* A rank retains it: the common result. */
	NETINC_PAY_RETAINED_RESULT,
};

/*
 * The payload of a packet, somewhere in the environment's memory. The engine passes it on and never
 * looks inside.
 * @off is where the descriptor (if INC_F_DESC is in @flags) or else the payload begins. It shares a
 * word with @kind, since each slot of a node has one of these per child.
 */
struct netinc_pay {
	void *obj;
	u32 off : 24;
	u32 kind : 8;		/* enum netinc_pay_kind */
	u16 len;		/* payload without descriptor and padding */
	u16 flags;		/* INC_F_* of the packet; with ZERO there is nothing at `off` */
};

/* The payload begins behind the descriptor, if there is one. */
static inline u32 netinc_pay_off(const struct netinc_pay *pay)
{
	return pay->off + (pay->flags & INC_F_DESC ? (u32)sizeof(struct inc_desc) : 0);
}

#define NETINC_AF_INET	2	/* Linux' AF_INET and AF_INET6 */
#define NETINC_AF_INET6	10

/*
 * Looks at blocks that one received buffer may cost all ranks of this host together: a result in
 * each of 64 packets for INC_MAX_RANKS ranks, twice over.
 */
#define NETINC_BUFFER_LOOKS	(128u * INC_MAX_RANKS)

#define NETINC_OPSEQ_NEAR	0x10000000u

/* microseconds that the PROBE may be old which STATUS answers */
#define NETINC_STAMP_OLDEST	0x40000000u

/* A peer's address: compared, kept and handed back, not interpreted. */
struct netinc_peer {
	u8 addr[16];
	u16 family;		/* 0: none */
	__be16 udp_port;
	u32 ifindex;		/* the port or interface its packets come in by */
};

/*
 * Are sequence numbers of operations as near as those of one group always are? Of numbers that are
 * all near to the same one, one is the latest; of any others, as a liar chooses them, it need not.
 */
static inline bool netinc_opseq_near(u32 a, u32 b)
{
	return a - b + NETINC_OPSEQ_NEAR < 2 * NETINC_OPSEQ_NEAR;
}

/* Both are on one host; their ports may differ. */
static inline bool netinc_peer_same_host(const struct netinc_peer *a, const struct netinc_peer *b)
{
	return a->family == b->family && !memcmp(a->addr, b->addr, sizeof(a->addr));
}

/*
 * STATUS repeats the time stamp of a PROBE, which this box has set: can it be that? Not if it is
 * yet to come, before which all that is out would have been sent, or long past.
 */
static inline bool netinc_stamp_ok(const struct netinc_pkt *pkt, u64 now)
{
	return (u32)now - pkt->tstamp <= NETINC_STAMP_OLDEST;
}

/* They are one, and packets come from it by one way. */
static inline bool netinc_peer_same(const struct netinc_peer *a, const struct netinc_peer *b)
{
	return netinc_peer_same_host(a, b) && a->udp_port == b->udp_port &&
	       a->ifindex == b->ifindex;
}

/* Why an operation or a group failed; the host-order form of struct inc_error_pkt. */
struct netinc_error {
	u64 block;		/* e */
	u32 opseq;
	u32 resume;		/* 0: the group is over */
	u16 code;		/* enum inc_err_code */
	u32 rank[2];
	struct inc_desc desc[2];
};

/*
 * Does it end the group whatever else comes? LEFT is a disagreement, of which nothing is said
 * before all have contributed to its block.
 */
static inline bool netinc_error_is_final(const struct netinc_error *e)
{
	return e->code != INC_ERR_NONE && !e->resume && e->code != INC_ERR_LEFT;
}

static inline void netinc_count(u64 *counters, enum inc_counter c)
{
	counters[c]++;
}

void netinc_error_build(struct inc_error_pkt *w, const struct netinc_error *e);
void netinc_error_parse(const struct inc_error_pkt *w, struct netinc_error *e);

/* Addresses on the wire; ifindex is this host's business. */
void netinc_addr_build(struct inc_addr *w, const struct netinc_peer *peer);
void netinc_addr_parse(const struct inc_addr *w, struct netinc_peer *peer);
/*
 * Somebody else has said that packets are to go there: is it the address of one host, with a port?
 */
bool netinc_peer_is_host(const struct netinc_peer *peer);
/*
 * Likewise, but a loopback address only where @near, at which whoever has said so is, is one: else
 * packets would go to this box itself, to ports that only its own programs reach.
 */
bool netinc_peer_is_place(const struct netinc_peer *peer, const struct netinc_peer *near);
/* Likewise, and one that says the same to hosts elsewhere: no loopback or link-local one. */
bool netinc_peer_is_far(const struct netinc_peer *peer);
/*
 * Somebody else has said that what is sent there is for this host, too: is it an IPv4 multicast
 * group that hosts may join for that? The link's own ones (224.0.0.x) are for others' protocols,
 * and those of one source (232.x.x.x) are joined in another way.
 */
bool netinc_peer_is_multicast(const struct netinc_peer *peer);

/*
 * MAC and signatures: SipHash-2-4 (Aumasson, Bernstein 2012), from the kernel or, elsewhere, from
 * the tests' own.
 */
u64 netinc_siphash(const void *data, size_t len, const u64 key[2]);

/* Bytes that a JOIN has behind struct inc_join, at most. */
#define NETINC_JOIN_TAIL	(INC_MAX_RANKS / 8 + sizeof(struct inc_addr) + \
				 sizeof(struct inc_join_kinds))

/* Levels of nodes from the sender of this JOIN down, 0: it is a rank. */
static inline u32 netinc_join_height(const struct inc_join *join)
{
	return join->below & INC_JOIN_HEIGHT;
}

/* Does the group return to the tree of nodes that it formed over? */
static inline bool netinc_join_returns(const struct inc_join *join)
{
	return join->below & INC_JOIN_RETURN;
}

/* Does a member say that it may come by another port, and nothing else? */
static inline bool netinc_join_rebinds(const struct inc_join *join)
{
	return join->flags & INC_JOIN_REBIND;
}

/* Does who is left of a group that has failed go on? */
static inline bool netinc_join_shrinks(const struct inc_join *join)
{
	return join->flags & INC_JOIN_SHRINK;
}

/* Is there such a stripe? */
static inline bool netinc_stripe_ok(u8 stripe)
{
	return INC_STRIPE_INDEX(stripe) < INC_STRIPE_COUNT(stripe);
}

/* Are two ranks, or groups, of one number the same stripe, of however many? */
static inline bool netinc_stripe_same(u8 a, u8 b)
{
	return INC_STRIPE_INDEX(a) == INC_STRIPE_INDEX(b);
}

/* The stripe that its sender wants to be in; of somebody, so perhaps none that there is. */
static inline u8 netinc_join_stripe(const struct inc_join *join)
{
	return join->late_policy >> INC_JOIN_STRIPE_SHIFT;
}

static inline u8 netinc_ready_stripe(const struct inc_ready *ready)
{
	return ready->late_policy >> INC_JOIN_STRIPE_SHIFT;
}

/* Can blocks be as large as the sender says that it can have them? */
static inline bool netinc_join_block_ok(const struct inc_join *join)
{
	u16 block = be16_to_cpu(join->block);

	return block >= INC_MIN_BLOCK && block <= INC_MAX_BLOCK && !(block % INC_BLOCK_ALIGN);
}

/* Levels of nodes below the root, as READY says. */
static inline u32 netinc_ready_height(const struct inc_ready *ready)
{
	return ready->height & INC_READY_HEIGHT;
}

static inline bool netinc_ready_tree_order(const struct inc_ready *ready)
{
	return ready->height & INC_READY_TREE_ORDER;
}

/* Is the body of this READY, @len bytes, whole? To be asked before it is read. */
static inline bool netinc_ready_whole(const struct inc_ready *ready, u32 len)
{
	return len >= sizeof(*ready) +
		      (ready->height & INC_READY_KINDS ? sizeof(struct inc_kinds) : 0);
}

/* What a node of the tree does not fold. */
static inline struct netinc_kinds netinc_ready_lacks(const struct inc_ready *ready)
{
	return ready->height & INC_READY_KINDS ?
		       netinc_kinds_parse((const void *)(ready + 1)) : (struct netinc_kinds){};
}

/* Can a tree be like that? Only one of several levels has an order of its own. */
static inline bool netinc_ready_ok(const struct inc_ready *ready)
{
	const u8 known = INC_READY_HEIGHT | INC_READY_TREE_ORDER | INC_READY_KINDS;

	return !(ready->height & ~known) && netinc_ready_height(ready) < INC_MAX_HEIGHT &&
	       (netinc_ready_height(ready) || !netinc_ready_tree_order(ready));
}

/* Bytes of the bitmap that follows it. */
static inline u32 netinc_join_ranks_bytes(const struct inc_join *join)
{
	u32 size = min_t(u32, be32_to_cpu(join->size), INC_MAX_RANKS);

	return netinc_join_height(join) ? DIV_ROUND_UP(size, 32u) * (u32)sizeof(__be32) : 0;
}

/* Bytes of all that a node's JOIN has behind that of a rank: the bitmap, and rank 0's address. */
static inline u32 netinc_join_node_bytes(const struct inc_join *join)
{
	return netinc_join_height(join) ?
		       netinc_join_ranks_bytes(join) + (u32)sizeof(struct inc_addr) : 0;
}

/* Bytes of all that a JOIN has behind struct inc_join. */
static inline u32 netinc_join_tail_bytes(const struct inc_join *join)
{
	return netinc_join_node_bytes(join) +
	       (join->flags & INC_JOIN_KINDS ? (u32)sizeof(struct inc_join_kinds) : 0);
}

/* Where that says what is lacked and asked for, if it does. */
static inline const struct inc_join_kinds *netinc_join_kinds(const struct inc_join *join)
{
	return (const void *)((const u8 *)join->ranks + netinc_join_node_bytes(join));
}

/* As struct inc_join_kinds says. */
static inline struct netinc_kinds netinc_join_lacks(const struct inc_join *join)
{
	return join->flags & INC_JOIN_KINDS ?
		       netinc_kinds_parse(&netinc_join_kinds(join)->lacks) :
		       (struct netinc_kinds){};
}

static inline struct netinc_kinds netinc_join_asks(const struct inc_join *join)
{
	return join->flags & INC_JOIN_KINDS ?
		       netinc_kinds_parse(&netinc_join_kinds(join)->asks) :
		       (struct netinc_kinds){};
}

/* Says so behind all else of @join, where there is room for it, if there is anything to say. */
void netinc_join_add_kinds(struct inc_join *join, struct netinc_kinds lacks,
			   struct netinc_kinds asks);

/* Where the host of rank 0 is, as the JOIN of a node says. */
static inline const struct inc_addr *netinc_join_edge(const struct inc_join *join)
{
	return (const void *)((const u8 *)join->ranks + netinc_join_ranks_bytes(join));
}

/*
 * Is the body of this JOIN, @len bytes, whole, and for a stripe? To be asked before anything else
 * of it is read.
 */
static inline bool netinc_join_whole(const struct inc_join *join, u32 len)
{
	return len >= sizeof(*join) + netinc_join_tail_bytes(join) &&
	       netinc_stripe_ok(netinc_join_stripe(join));
}

/*
 * Proof that a JOIN comes from who holds @key (INC_KEY_LEN bytes): MAC over group, rank, the body
 * before `proof`, and what is behind it.
 */
void netinc_join_proof(const u8 *key, u32 group, u32 rank, const struct inc_join *join,
		       __be64 proof[2]);

#endif
