/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Collectives, known to hosts only: how an operation is cut into blocks, who sends payload and who wants it.
 *
 * The unit is a block: the elements that fit a packet. The first block of an operation has room for the descriptor,
 * so it holds fewer elements, and all packets of an operation but the last have one length. Every operation owns at
 * least one block.
 */
#ifndef NETINC_COLL_H
#define NETINC_COLL_H

#include "engine.h"

/* One operation at one rank. The surroundings embed it in an object of theirs. */
struct netinc_op {
	struct netinc_op *next;	/* in submission order */
	struct netinc_op *prev;
	u8 coll;		/* enum inc_coll */
	u8 type;		/* enum inc_type of the buffers */
	u8 op;			/* enum inc_op */
	u8 wire;		/* enum inc_type on the wire */
	u32 root;
	u64 count;		/* elements, 0..INC_MAX_COUNT */

	/* filled in by the endpoint */
	u32 seq;		/* operation sequence number in the group */
	u32 sig;
	bool numbered;		/* first and sig are valid in this epoch */
	u64 first;		/* its first block */
	u64 blocks;		/* how many it has, >= 1 */
	u64 done;		/* how many have their result */
	struct netinc_error error;	/* code INC_ERR_NONE: none */
};

/* Elements of block @idx of an operation: [*first, *first + return value). */
u32 netinc_coll_range(const struct netinc_op *op, u32 block_bytes, u64 idx, u64 *first);
u64 netinc_coll_blocks(const struct netinc_op *op, u32 block_bytes);

/* INC_F_PAYLOAD and INC_F_WANT of @rank for any block of @op. */
u16 netinc_coll_bits(const struct netinc_op *op, u32 rank);

/* 0 or a negative errno for an operation that no rank may submit. */
int netinc_coll_check(const struct netinc_op *op, u32 size);

void netinc_coll_desc(const struct netinc_op *op, struct inc_desc *desc);
u32 netinc_coll_sig(const struct netinc_op *op);

#endif
