// SPDX-License-Identifier: GPL-2.0-only
/* Collectives: blocks, bits and descriptors. A collective is a row of the table below. */
#include "coll.h"
#include "reduce/reduce.h"

enum side { NOBODY, EVERYBODY };

static const struct coll {
	u8 contributes;		/* who is in C */
	u8 wants;		/* who is in R */
	bool reduces;		/* has a type, an operation and elements */
	bool submit;		/* applications may ask for it */
} colls[__INC_COLL_MAX] = {
	[INC_COLL_BARRIER] = { NOBODY, NOBODY, false, true },
	[INC_COLL_ALLREDUCE] = { EVERYBODY, EVERYBODY, true, true },
	[INC_COLL_LEAVE] = { NOBODY, NOBODY, false, false },
};

static u32 elem_size(const struct netinc_op *op)
{
	return colls[op->coll].reduces ? netinc_reduce_elem_size(op->wire) : 0;
}

u64 netinc_coll_blocks(const struct netinc_op *op, u32 block_bytes)
{
	u32 size = elem_size(op), head, full;

	if (!size)
		return 1;
	head = (block_bytes - (u32)sizeof(struct inc_desc)) / size;
	full = block_bytes / size;
	if (op->count <= head)
		return 1;
	/* count is below 2^32, so that the division is one of 32 bits */
	return 2 + ((u32)(op->count - head) - 1) / full;
}

u32 netinc_coll_range(const struct netinc_op *op, u32 block_bytes, u64 idx, u64 *first)
{
	u32 size = elem_size(op), head, full;
	u64 at;

	*first = 0;
	if (!size)
		return 0;
	head = (block_bytes - (u32)sizeof(struct inc_desc)) / size;
	full = block_bytes / size;
	at = idx ? head + (idx - 1) * full : 0;
	if (at >= op->count)
		return 0;
	*first = at;
	return min_t(u64, op->count - at, idx ? full : head);
}

u16 netinc_coll_bits(const struct netinc_op *op, u32 rank)
{
	const struct coll *c = &colls[op->coll];
	u16 bits = 0;

	(void)rank;	/* no collective with a root yet */
	if (op->count && c->contributes == EVERYBODY)
		bits |= INC_F_PAYLOAD;
	if (op->count && c->wants == EVERYBODY)
		bits |= INC_F_WANT;
	return bits;
}

int netinc_coll_check(const struct netinc_op *op, u32 size)
{
	if (op->coll > INC_COLL_MAX || !colls[op->coll].submit)
		return -EOPNOTSUPP;
	if (op->root >= size || (op->root && !colls[op->coll].reduces))
		return -EINVAL;
	if (!colls[op->coll].reduces)
		return op->type || op->op || op->wire || op->count ? -EINVAL : 0;
	if (op->count > INC_MAX_COUNT)
		return -EOVERFLOW;
	if (op->root)
		return -EINVAL;
	if (!netinc_reduce_elem_size(op->type) || op->op >= __INC_OP_MAX || !op->op)
		return -EINVAL;
	if (op->wire != op->type || !netinc_reduce_find(op->wire, op->op, 0, false))
		return -EOPNOTSUPP;
	return 0;
}

void netinc_coll_desc(const struct netinc_op *op, struct inc_desc *desc)
{
	memset(desc, 0, sizeof(*desc));
	desc->coll = op->coll;
	desc->type = op->type;
	desc->op = op->op;
	desc->wire = op->wire;
	desc->root = cpu_to_be32(op->root);
	desc->opseq = cpu_to_be32(op->seq);
	desc->count = cpu_to_be64(op->count);
}

/*
 * The first block is part of the signature: ranks that disagree about an earlier operation's length number their
 * blocks differently, and a block of a later operation that looks alike must not be folded with another of its blocks.
 */
u32 netinc_coll_sig(const struct netinc_op *op)
{
	static const u64 key[2];
	struct {
		struct inc_desc desc;
		__be64 first;
	} m;

	netinc_coll_desc(op, &m.desc);
	m.first = cpu_to_be64(op->first);
	return (u32)netinc_siphash(&m, sizeof(m), key);
}
