/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * In-network collectives: the packet format.
 *
 * Everything here travels in UDP datagrams to one port. A datagram holds exactly one header, its
 * descriptor when INC_F_DESC is set, and its payload padded with zeros to a multiple of 4 bytes.
 * Header fields are big-endian; the elements of a payload are little-endian.
 * Documentation/protocol.rst says what each field means and when it is valid.
 */
#ifndef _UAPI_LINUX_INC_WIRE_H
#define _UAPI_LINUX_INC_WIRE_H

#include <linux/types.h>
#include <linux/inc.h>

#define INC_WIRE_VERSION	1
/* base of source ports: + hash(job, group, tree, stripe) % 16384 */
#define INC_SPORT_BASE		49152
#define INC_MAX_PARTS		256	/* of a contribution of a node */
#define INC_BLOCK_ALIGN		16	/* bytes of payload in a full block: a multiple of this */
#define INC_MIN_BLOCK		64
#define INC_MAX_BLOCK		16384
#define INC_MAX_HEIGHT		8	/* nodes between a rank and the root, the root included */

enum inc_pkt_type {
	INC_PKT_CONTRIB = 1,	/* child to parent: what a rank, or a subtree, has for a block */
	INC_PKT_RESULT,		/* parent to child: the block is complete */
	INC_PKT_PROBE,		/* child to parent: what do you hold of me, from this block on? */
	INC_PKT_STATUS,		/* parent to child: the answer */
	INC_PKT_NACK,		/* parent to child: [psn, psn + span) is missing, later are here */
	INC_PKT_ERROR,		/* parent to child: no result from this block on in this epoch */
	INC_PKT_JOIN,		/* child to parent: be a member; without, then with the challenge */
	INC_PKT_CHALLENGE,	/* parent to child: prove your address, and that you have the key */
	INC_PKT_WAIT,		/* parent to child: JOIN is in, others are missing */
	INC_PKT_READY,		/* parent to child: all JOINs are in, the epoch begins */
	INC_PKT_REFUSE,		/* parent to child: JOIN refused, or group or epoch unknown */
	INC_PKT_ABORT,		/* child to parent: this rank is gone in mid-operation */
	INC_PKT_MOVE,		/* rank to rank: the parent is lost, or is back: come along */
	INC_PKT_PEERS,		/* parent to child: where other ranks are */
	INC_PKT_PARTIAL,	/* parent to child: who has contributed to partial results */
	__INC_PKT_MAX
};

#define INC_PKT_MAX (__INC_PKT_MAX - 1)

/* Flags of inc_hdr. A receiver drops a packet with a flag that it does not know. */
#define INC_F_PAYLOAD	0x0001	/* contribution: rank is in C. result: it has elements */
#define INC_F_WANT	0x0002	/* contribution: rank is in R. result: some rank is */
#define INC_F_FINAL	0x0004	/* the payload is the block's common result of an earlier epoch */
#define INC_F_DESC	0x0008	/* a struct inc_desc stands between header and payload */
#define INC_F_RETRANS	0x0010	/* sent before: answer with the result if there is one */
#define INC_F_LEAVE	0x0020	/* contribution: the rank's last one; ABORT: it is done */
#define INC_F_CE	0x0040	/* up: contribution met congestion (nodes set it); down: some did */
#define INC_F_ECE	0x0080	/* up: a result met congestion to this rank; down: to some rank */
#define INC_F_PARTIAL	0x0100	/* result: not of all ranks; child = number of the set it is of */
/* contribution of a node: its elements are accumulators, wider than the type that they are of */
#define INC_F_WIDE	0x0200
/* contribution of a node: one of several to this block, which one is in `part` */
#define INC_F_PART	0x0400
/* with INC_F_PAYLOAD, of each of `span` blocks: its `len` bytes are all 0, and not in the packet */
#define INC_F_ZERO	0x0800
/*
 * PEERS: it is about the IP multicast group of results instead of ranks. PROBE: its sender is in
 * that
 */
#define INC_F_MULTICAST	0x1000
#define INC_F_AUTH	0x8000	/* an authentication tag follows the header (reserved, not sent) */
#define INC_F_ALL	(INC_F_PAYLOAD | INC_F_WANT | INC_F_FINAL | INC_F_DESC | INC_F_RETRANS | \
			 INC_F_LEAVE | INC_F_CE | INC_F_ECE | INC_F_PARTIAL | INC_F_WIDE | \
			 INC_F_PART | INC_F_ZERO | INC_F_MULTICAST)

/* 48 bytes. Nothing in the header of a RESULT is specific to one child. */
struct inc_hdr {
	__u8	vertype;	/* version << 4 | enum inc_pkt_type */
	__u8	part;		/* with INC_F_PART: its number, from 0 on; else 0 */
	__be16	flags;		/* INC_F_* */
	__be32	group;		/* chosen by the application */
	__be32	incarnation;	/* chosen by the node, one per run of the group; 0 before READY */
	__be32	epoch;		/* one run of one root with one set of slots */
	__be32	psn;		/* low 32 bits of the block's number */
	__be16	tree;		/* the one that the block belongs to */
	/* sender's index at its parent (up); 0 (down), with INC_F_PARTIAL that of the set */
	__be16	child;
	__be16	span;		/* blocks that this packet stands for; 1 if it carries payload */
	__be16	len;		/* bytes of payload of each, without descriptor and padding */
	__be32	opseq;		/* sequence number of the operation in the group */
	__be32	sig;		/* signature of the operation, see protocol.rst */
	union {
		struct {	/* CONTRIB, RESULT: what a node needs to fold */
			__u8	type;	/* enum inc_type, on the wire */
			__u8	op;	/* enum inc_op */
			__u8	mode;	/* INC_MODE_SATURATE or 0 */
			__u8	resv;	/* 0 */
		};
		__be32	tstamp;	/* PROBE: sender's clock; STATUS: echoed */
	};
	__be64	cookie;		/* membership: up per child, down per group and epoch */
};

/* What an operation is; 32 bytes, with the first block of every operation. */
struct inc_desc {
	__u8	coll;		/* enum inc_coll */
	__u8	type;		/* enum inc_type of the buffers */
	__u8	op;		/* enum inc_op */
	__u8	wire;		/* enum inc_type on the wire */
	__u8	mode;		/* INC_MODE_* */
	__u8	resv[3];	/* 0 */
	__be32	root;		/* rank; 0 where the collective has none */
	__be32	opseq;
	__be64	count;		/* elements */
	__be64	counts_hash;	/* of per-rank counts; 0 where there are none */
};

/* An address of a node or of a rank's host. */
struct inc_addr {
	__u8	addr[16];	/* network order; IPv4 in the first 4 bytes, the rest 0 */
	__be16	family;		/* 4, 6; 0: none */
	__be16	port;		/* UDP */
};

/*
 * PROBE: header (psn = first block without result, opseq = ranks whose address it knows; with
 * INC_F_LEAVE, where there are several trees: block psn + span - 1 is the LEAVE, and its tree has
 * it), this, then the bitmap. With INC_F_MULTICAST, sig = number of the call by multicast that has
 * come last in this epoch, 0: none has.
 */
struct inc_probe {
	__be32	srtt;		/* smoothed round trip, microseconds */
	/* bits that follow, a multiple of 32; bit i of word i / 32: result psn + i is here */
	__be16	bits;
	/* results may come so much out of order: units of 16 microseconds */
	__be16	slack;
	__be32	bitmap[];
};

/* STATUS: header (psn = first block that is not complete), then this, then the bitmap. */
struct inc_status {
	/* lowest rank without a contribution to psn; ~0: none has one, or it is complete */
	__be32	waiting;
	__be32	waited;		/* milliseconds since the first contribution to psn came */
	/* bit i: the node has the child's contribution to psn + i, or needs it no more */
	__be16	bits;
	/* contributions may come so much out of order: units of 16 microseconds */
	__be16	slack;
	/* the child's contributions to the oldest block, and those not read; wraps */
	__be32	seen;
	__be32	bitmap[];
};

/* inc_join.below */
#define INC_JOIN_HEIGHT		0x0f	/* levels of nodes from the sender down, 0: it is a rank */
/* the group returns to the tree of nodes that it formed over: who lacks ranks asks its parent */
#define INC_JOIN_RETURN		0x10
/* of a node: its children are not all nodes of the canonical tree over the ranks, in its order */
#define INC_JOIN_TREE_ORDER	0x20
/*
 * of a node: not all ranks below it have been heard lately; it has to be called, and calls them. Of
 * a rank, with INC_JOIN_RETURN: it is elsewhere still, and wants to know when all could come
 */
#define INC_JOIN_STALE		0x80
/* who wants no membership: CHALLENGE with struct inc_about, once challenge and proof are right */
#define INC_JOIN_ASK		0x40

/* inc_join.late_policy, and that of READY, which repeats it */
#define INC_JOIN_LATE_POLICY	0x03	/* enum inc_late_policy */
#define INC_JOIN_STRIPE_INDEX	0x1c	/* INC_STRIPE(), shifted; also before the first READY */
#define INC_JOIN_STRIPE_COUNT	0xe0	/* less one */
#define INC_JOIN_STRIPE_SHIFT	2

/* inc_join.flags */
/* it has failed; rank, size and what follows are of then; who is left goes on */
#define INC_JOIN_SHRINK		0x01
/* INC_ORDER_CANONICAL is asked for, by the rank or by one below the node */
#define INC_JOIN_CANONICAL	0x02
/* of a node: a node below would need more than INC_MAX_PARTS for that, or it itself from one */
#define INC_JOIN_MANY_PARTS	0x04
/*
 * of a member: nothing answers it, perhaps since its packets come by another port than they did;
 * once challenge and proof are right it is a member there
 */
#define INC_JOIN_REBIND		0x08
/* a struct inc_join_kinds is behind all else, and proved with it; without it all of that is 0 */
#define INC_JOIN_KINDS		0x10

/* What is folded: bit i of a word is number i of enum inc_type, or enum inc_op. */
struct inc_kinds {
	__be32	types;
	__be32	ops;
};

struct inc_join_kinds {
	/*
	 * of a node: what it, or one below it, does not fold. From the first READY on: what that
	 * has said, which a place to move to may lack, and nothing else
	 */
	struct inc_kinds lacks;
	struct inc_kinds asks;	/* the rank, or one below, joins only where that is folded */
};

/*
 * JOIN: header (child = rank, epoch = last known, psn = 0, opseq = operations before it were
 * begun), then this. A node joins its parent for all ranks below it: child is the lowest of them,
 * next the lowest and opseq the highest that they say, window the most that the node has slots for.
 * Which ranks they are follows as a bitmap, and behind that a struct inc_addr: the host of rank 0,
 * if that is one of them (else family 0). Behind all of that, a rank's as well, is a struct
 * inc_join_kinds if INC_JOIN_KINDS is set.
 */
struct inc_join {
	__be32	size;		/* ranks of the group */
	__be32	nonce;		/* random, one per connect() */
	__be64	next;		/* first block without result */
	__be32	srtt;		/* microseconds, 0: unknown */
	__be16	block;		/* bytes of payload that the path to the parent carries */
	/* enum inc_fallback; it and what follows: 0 before the first READY, then as in READY */
	__u8	fallback;
	__u8	flags;		/* INC_JOIN_SHRINK and below */
	__be32	move;		/* moves of the group, this one included; says where to */
	__u8	late_policy;	/* INC_JOIN_LATE_POLICY and below */
	__u8	below;		/* INC_JOIN_* */
	__be16	window;
	__be64	lineage;
	__be32	dead_ms;
	__be32	late_ms;
	__be64	job;		/* whose group of this number it is, 0: nobody's in particular */
	__be64	challenge;	/* 0 in the first JOIN */
	/*
	 * MAC with the node's key over what stands before it and what is behind it; key of zeros
	 * if it has none
	 */
	__be64	proof[2];
	/* of a node: bit i of word i / 32: rank i is below it; as many words as the size takes */
	__be32	ranks[];
};

/* inc_challenge.flags: of a JOIN with INC_JOIN_ASK, which older nodes take for any other */
#define INC_CHALLENGE_ASK	0x00000001

struct inc_challenge {
	__be32	nonce;		/* echoed */
	__be32	flags;		/* INC_CHALLENGE_* */
	__be64	challenge;
};

/* inc_about.flags */
#define INC_ABOUT_KEYED		0x01	/* who joins needs a key */
#define INC_ABOUT_TENANT	0x02	/* the asker is a tenant's: see below */
#define INC_ABOUT_PARENT	0x04	/* there is a node above, told or not */

/*
 * Behind struct inc_challenge: what a node is, and has to do. A tenant is told neither the parent
 * nor from `groups` on anything of others': 0.
 */
struct inc_about {
	struct inc_addr parent;	/* the node above; family 0: none, or one that is not told */
	__be32	caps;		/* the same where the same types and operations are reduced */
	__be32	max_groups;
	__be16	window;		/* W that it has for groups, blocks */
	__u8	fallback;	/* enum inc_fallback */
	__u8	flags;		/* INC_ABOUT_* */
	__be32	groups;		/* that are there now */
	__be32	children;	/* of all of these */
	struct inc_kinds lacks;	/* what the node itself does not fold */
	__be64	memory_left;	/* bytes that the box has for more groups */
	__be64	nsec;		/* processor time that these groups have taken */
};

struct inc_wait_pkt {
	__be32	nonce;		/* echoed */
	__be32	joined;		/* members so far */
	__be32	missing;	/* lowest rank that is not there */
	/* microseconds until JOIN is to be repeated; 0: at once, since all have come */
	__be32	pause;
};

/* inc_ready.height */
/* levels of nodes below the root, 0: all ranks are its children */
#define INC_READY_HEIGHT	0x0f
#define INC_READY_TREE_ORDER	0x80	/* INC_ORDER_TREE */
/* behind it is a struct inc_kinds: what a node of the tree does not fold; without it that is 0 */
#define INC_READY_KINDS		0x40

/* READY: header (epoch, incarnation, child = the receiver's index), then this. */
struct inc_ready {
	__be32	nonce;		/* echoed */
	__be32	window;		/* W, blocks */
	__be64	start;		/* first block of the epoch */
	__be64	up_cookie;	/* for what this child sends */
	__be64	down_cookie;	/* on what the children get */
	__be32	size;		/* ranks */
	__be16	children;	/* ranks below the receiver, as its parent counts them; a rank: 1 */
	__be16	trees;		/* T */
	__be16	block;		/* bytes of payload of a full block */
	__be16	rank;		/* of the receiver from now on: a group that shrank has new ones */
	__be32	dead_ms;	/* limits of this group, milliseconds; late 0: off */
	__be32	late_ms;
	__be32	opseq;		/* first operation of the epoch */
	__be32	move;		/* that of the JOINs */
	__u8	fallback;	/* enum inc_fallback */
	__u8	standbys;
	__u8	late_policy;	/* as that of JOIN */
	__u8	height;		/* INC_READY_* */
	__be64	lineage;	/* random: who knows it is a member, wherever the group has moved */
	__be64	tree_key[2];	/* trees > 1: makes the up cookies of the receiver's children */
	struct inc_addr edge;	/* the host of rank 0 */
	struct inc_addr standby[INC_MAX_STANDBY];
};

struct inc_peer {
	struct inc_addr addr;
	/* for what the receiver sends to this rank's tree, high half first; 0: it has none */
	__be32	cookie[2];
};

/*
 * PEERS: header (child = the receiver's index), then this: ranks first, first + 1, ... With
 * INC_F_MULTICAST: n = 1, the address is the IP multicast group that results go to; sent there
 * (child = 0) it is a call, and first its number, else first = 0.
 */
struct inc_peers {
	__be32	first;
	__be32	n;
	struct inc_peer peer[];
};

/*
 * MOVE: header (child = the receiver's rank, psn = first block without result at the sender; where
 * the move leads back to a tree of nodes it is so at all ranks, or will be), then this.
 */
struct inc_move {
	__be64	lineage;
	__be32	move;		/* the one that the sender is at */
	__be32	resv;
};

/* PARTIAL: header, this, the bitmap. Results with INC_F_PARTIAL and this number are of these. */
struct inc_partial {
	__be16	set;		/* never 0 */
	/* bits that follow, a multiple of 32; bit i of word i / 32: child i contributed */
	__be16	bits;
	__be32	bitmap[];
};

enum inc_refuse_code {
	INC_REFUSE_NO_NODE = 1,	/* this box is no node for that interface */
	/* group, incarnation or epoch unknown: join again; cookie = that of the packet */
	INC_REFUSE_UNKNOWN,
	INC_REFUSE_RANK_TAKEN,	/* detail = the rank */
	INC_REFUSE_SIZE,	/* group has another size: detail */
	INC_REFUSE_KEY,		/* proof is wrong */
	INC_REFUSE_LIMIT,	/* node is full: detail = limit */
	INC_REFUSE_BUSY,	/* an older run has not ended, or memory is short; passes */
	INC_REFUSE_BLOCK,	/* path carries too small a block: detail */
	INC_REFUSE_MOVED,	/* the group is at a later move: detail */
	/* others did not come along: detail = one of them | (another or ~0) << 32 */
	INC_REFUSE_RANK_DEAD,
	INC_REFUSE_OUT,		/* the group has shrunk, and this rank is out: detail = rank */
	INC_REFUSE_TENANT,	/* no tenant takes who is there, or the group is another's */
	INC_REFUSE_QUOTA,	/* the tenant has as much as it may: detail = limit */
	INC_REFUSE_NEXT,	/* first block without result is wrong: detail = another member's */
	/* a node is no child of this group: detail = most levels, 0: not with its settings */
	INC_REFUSE_TREE,
	/* not sent: the rank asks for INC_ORDER_CANONICAL, which the group has not */
	INC_REFUSE_ORDER,
	/*
	 * the group has another number of stripes: detail; not sent: the node has made of all
	 * stripes one group, since it knows of none
	 */
	INC_REFUSE_STRIPES,
	/*
	 * a node does not fold what the rank, or another one, asks for, or what the group has had
	 * so far: detail = types | operations << 32, as in struct inc_kinds
	 */
	INC_REFUSE_KINDS,
	__INC_REFUSE_MAX
};

struct inc_refuse {
	__be32	nonce;		/* echoed (JOIN), 0 otherwise */
	__be16	code;		/* enum inc_refuse_code */
	__be16	resv;
	__be64	detail;
};

/*
 * ERROR: header (psn = low bits of block), then this. ABORT of a rank: likewise code, rank[0], and
 * the JOIN's nonce in resume; without an incarnation the job in block. ABORT of a node, for what is
 * below it, is an ERROR on its way up; before READY it is as a rank's. With INC_F_LEAVE the sender
 * wants nothing more, and that is all if code is 0 or, of a rank, INC_ERR_LEFT.
 */
struct inc_error_pkt {
	__be64	block;		/* e: blocks < e get results, blocks >= e do not */
	__be32	opseq;		/* the operation that failed */
	__be32	resume;		/* operations opseq..resume - 1 fail; 0: the group is over */
	__be16	code;		/* enum inc_err_code */
	__be16	resv;
	__be32	rank[2];	/* ranks concerned; ~0: none */
	__be32	resv2;
	struct inc_desc desc[2];/* theirs, for INC_ERR_MISMATCH */
};

#endif
