/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Collectives, known to hosts only: how an operation is cut into blocks, who sends payload and who
 * wants it.
 *
 * The unit is a block: the elements that fit a packet. An operation consists of shares, contiguous
 * runs of elements that one rank sends or wants: one share where all ranks do the same with all
 * elements, one per rank, or one per pair of ranks. Shares begin with a block that holds as many
 * elements fewer as a descriptor takes, whether it carries one or not; all packets of a share but
 * the last have one length then. Every operation owns at least one block.
 *
 *	layout	blocks in the order of			collectives
 *	WHOLE	elements				allreduce, reduce, broadcast, barrier
 *	RANKS	shares 0 .. N - 1, elements		reduce-scatter, allgather, gather, scatter
 *	PAIRS	steps, elements, senders 0 .. N - 1	alltoall; step s: rank i to rank i + s
 *	CHAIN	elements, senders 0 .. N - 1		scan, exscan
 *
 * A rank reads what it sends, and writes what it gets, as a stream: each block of its own continues
 * where the one before it ended. Where in a buffer a stream's shares lie is the environment's
 * business.
 */
#ifndef NETINC_ENGINE_COLL_H
#define NETINC_ENGINE_COLL_H

#include "engine.h"

/* One operation at one rank. The environment embeds it in an object of its own. */
struct netinc_op {
	struct netinc_op *next;	/* in submission order */
	struct netinc_op *prev;
	u8 coll;		/* enum inc_coll */
	u8 type;		/* enum inc_type of the buffers */
	u8 op;			/* enum inc_op */
	u8 wire;		/* enum inc_type on the wire */
	u8 mode;		/* INC_MODE_* */
	bool in_place;
	bool hold;		/* not to be numbered yet: its counts are being exchanged */
	u32 root;
	u32 rank;		/* of this rank, and of the group */
	u32 size;
	/* elements of a share, 0..INC_MAX_COUNT; with INC_MODE_COUNTS of all together */
	u64 count;
	/* INC_MODE_COUNTS: [size], PAIRS: [size * size], element from * size + to */
	const u32 *counts;
	u64 *before;		/* likewise: NETINC_BEFORE(size) numbers, written by the endpoint */
	bool surveyed;		/* netinc_coll_survey() has written those that are its own */

	/* filled in by the endpoint */
	u32 seq;		/* operation sequence number in the group */
	u32 sig;
	/* the group has several levels of nodes: a block has room for accumulators */
	bool deep;
	u32 head;		/* elements of a share's first block, and of the others */
	u32 full;
	u32 rounds;		/* blocks of a share, where all have as many */
	bool numbered;		/* first and sig are valid in this epoch */
	u64 first;		/* its first block */
	u64 blocks;		/* how many it has, >= 1 */
	u64 done;		/* how many have their result */
	struct netinc_error error;	/* code INC_ERR_NONE: none */
	bool partial;		/* results are not of all ranks */
	/* bit rank % 32 of word rank / 32: not in all results; valid if partial */
	u32 absent[INC_MAX_RANKS / 32];
};

/*
 * Blocks, elements sent and elements got before each share or step, and in all; and the most
 * elements that a step moves from one rank to another.
 */
#define NETINC_BEFORE(size)	(4 * ((size_t)(size) + 1))

/* A block as one rank sees it. */
struct netinc_block {
	u16 bits;		/* INC_F_PAYLOAD, INC_F_WANT */
	u32 elems;		/* what it carries */
	u32 owner;		/* whose share it is; PAIRS, CHAIN: who sends it */
	u64 round;		/* how many blocks of the share are before it */
	u64 send;		/* elements that this rank has sent before it */
	u64 recv;		/* and has got before it */
};

/* A part of a stream that is one run of elements: rank @peer's share. */
struct netinc_share {
	u32 peer;
	u64 elems;
};

/* 0 or a negative errno for an operation that no rank may submit. size and rank are set. */
int netinc_coll_check(const struct netinc_op *op);

/*
 * Is a block of @block_bytes as long as an element, also where nodes pass it to one another? Only
 * blocks of MX are so long that it may not be. The first block of an operation, which has its
 * descriptor, too, may still have no room for one. Endpoints take no other operations; blocks keep
 * the length that the first READY has said.
 */
bool netinc_coll_fits(const struct netinc_op *op, u32 block_bytes);

/* Is it one for which nodes that lack @lacks would have to fold what they do not? */
bool netinc_coll_lacks(const struct netinc_op *op, struct netinc_kinds lacks);

/*
 * What cutting it needs to know of all its counts, which takes size * size steps for PAIRS: once,
 * when they are filled in. Who does not call it has netinc_coll_cut() do it.
 */
void netinc_coll_survey(struct netinc_op *op);
/* Cut it: sets head, full, rounds, blocks and what before points to. */
void netinc_coll_cut(struct netinc_op *op, u32 block_bytes);
/* Block @idx of an operation that has been cut. */
void netinc_coll_block(const struct netinc_op *op, u64 idx, struct netinc_block *b);

/*
 * Share @i of the stream that the rank sends, or gets; false: there is no such share. Needs no cut.
 */
bool netinc_coll_send_share(const struct netinc_op *op, u32 i, struct netinc_share *share);
bool netinc_coll_recv_share(const struct netinc_op *op, u32 i, struct netinc_share *share);

/* Does the collective reduce, has it a root, are a rank's counts not known to the others? */
bool netinc_coll_reduces(u8 coll);
bool netinc_coll_rooted(u8 coll);
bool netinc_coll_asks_counts(u8 coll);
/* Folded by the ranks themselves, in the order of ranks. */
bool netinc_coll_chains(u8 coll);

/* Type and operation of the payload, as a node is told. */
static inline u8 netinc_coll_wire_type(const struct netinc_op *op)
{
	return op->mode & INC_MODE_COUNTS_PHASE ? INC_TYPE_U32 : op->wire;
}

u8 netinc_coll_wire_op(const struct netinc_op *op);

void netinc_coll_desc(const struct netinc_op *op, struct inc_desc *desc);
u32 netinc_coll_sig(const struct netinc_op *op);

#endif
