// SPDX-License-Identifier: GPL-2.0-only
/*
 * Collectives: shares, blocks, bits and descriptors. A collective is a row of the table and a case
 * of bits_of().
 */
#include "coll.h"
#include "reduce/reduce.h"

enum layout { WHOLE, RANKS, PAIRS, CHAIN };

/* The shares that a stream consists of. */
enum stream {
	NONE,
	ALL,			/* of all ranks */
	/* of all ranks but this one, and of this one too where the wire changes elements */
	OTHERS,
	OWN,			/* this rank's */
};

static const struct coll {
	u8 layout;		/* enum layout */
	bool reduces;		/* has an operation */
	bool rooted;
	bool counts;		/* shares may differ (INC_MODE_COUNTS) */
	bool asks;		/* then a rank does not know them all */
	bool submit;		/* applications may ask for it */
} colls[__INC_COLL_MAX] = {
	[INC_COLL_BARRIER]		= { WHOLE, false, false, false, false, true },
	[INC_COLL_ALLREDUCE]		= { WHOLE, true, false, false, false, true },
	[INC_COLL_REDUCE]		= { WHOLE, true, true, false, false, true },
	[INC_COLL_REDUCE_SCATTER]	= { RANKS, true, false, true, false, true },
	[INC_COLL_BROADCAST]		= { WHOLE, false, true, false, false, true },
	[INC_COLL_ALLGATHER]		= { RANKS, false, false, true, false, true },
	[INC_COLL_GATHER]		= { RANKS, false, true, true, true, true },
	[INC_COLL_SCATTER]		= { RANKS, false, true, true, true, true },
	[INC_COLL_ALLTOALL]		= { PAIRS, false, false, true, true, true },
	[INC_COLL_SCAN]			= { CHAIN, true, false, false, false, true },
	[INC_COLL_EXSCAN]		= { CHAIN, true, false, false, false, true },
	[INC_COLL_LEAVE]		= { WHOLE, false, false, false, false, false },
};

bool netinc_coll_reduces(u8 coll)
{
	return colls[coll].reduces;
}

bool netinc_coll_rooted(u8 coll)
{
	return colls[coll].rooted;
}

bool netinc_coll_asks_counts(u8 coll)
{
	return colls[coll].asks;
}

bool netinc_coll_chains(u8 coll)
{
	return colls[coll].layout == CHAIN;
}

/* The collective that the operation is now: the exchange of counts is an allgather. */
static u8 coll_of(const struct netinc_op *op)
{
	return op->mode & INC_MODE_COUNTS_PHASE ? INC_COLL_ALLGATHER : op->coll;
}

static u8 layout_of(const struct netinc_op *op)
{
	return colls[coll_of(op)].layout;
}

/*
 * The wire changes elements: a rank's own share has to come back to it, so that it has what the
 * others have.
 */
static bool is_lossy(const struct netinc_op *op)
{
	return op->wire != op->type && !(op->mode & INC_MODE_COUNTS_PHASE);
}

u8 netinc_coll_wire_op(const struct netinc_op *op)
{
	if (!colls[op->coll].reduces || layout_of(op) == CHAIN)
		return INC_OP_NONE;
	return op->op == INC_OP_WSUM ? INC_OP_SUM : op->op;
}

/* ---- Shares -------------------------------------------------------------- */

static u32 mod_size(u32 x, u32 size)
{
	return x >= size ? x - size : x;
}

/* Elements that @from sends to @to (PAIRS), or of @from's share. */
static u64 elems_of(const struct netinc_op *op, u32 from, u32 to)
{
	if (!op->counts)
		return op->count;
	return op->counts[layout_of(op) == PAIRS ? from * op->size + to : from];
}

static u32 first_step(const struct netinc_op *op)
{
	return is_lossy(op) ? 0 : 1;
}

static u32 shares_of(const struct netinc_op *op)
{
	switch (layout_of(op)) {
	case RANKS:
		return op->size;
	case PAIRS:
		return op->size - first_step(op);
	default:
		return 1;
	}
}

static u8 send_stream(const struct netinc_op *op)
{
	switch (coll_of(op)) {
	case INC_COLL_REDUCE_SCATTER:
		return ALL;
	case INC_COLL_ALLGATHER:
		return OWN;
	case INC_COLL_GATHER:
		return op->rank != op->root || is_lossy(op) ? OWN : NONE;
	case INC_COLL_SCATTER:
		return op->rank == op->root ? OTHERS : NONE;
	default:
		return NONE;
	}
}

static u8 recv_stream(const struct netinc_op *op)
{
	switch (coll_of(op)) {
	case INC_COLL_REDUCE_SCATTER:
		return OWN;
	case INC_COLL_ALLGATHER:
		return OTHERS;
	case INC_COLL_GATHER:
		return op->rank == op->root ? OTHERS : NONE;
	case INC_COLL_SCATTER:
		return op->rank != op->root || is_lossy(op) ? OWN : NONE;
	default:
		return NONE;
	}
}

static bool ranks_share(const struct netinc_op *op, u8 stream, u32 i, struct netinc_share *share)
{
	switch (stream) {
	case OTHERS:
		if (!is_lossy(op) && i >= op->rank)
			i++;
		break;
	case OWN:
		if (i)
			return false;
		i = op->rank;
		break;
	case NONE:
		return false;
	}
	if (i >= op->size)
		return false;
	*share = (struct netinc_share){ .peer = i, .elems = elems_of(op, i, 0) };
	return true;
}

static bool pairs_share(const struct netinc_op *op, bool send, u32 i, struct netinc_share *share)
{
	u32 step = i + first_step(op), peer;

	if (step >= op->size)
		return false;
	peer = send ? mod_size(op->rank + step, op->size) :
		      mod_size(op->rank + op->size - step, op->size);
	share->peer = peer;
	share->elems = send ? elems_of(op, op->rank, peer) : elems_of(op, peer, op->rank);
	return true;
}

/* WHOLE and CHAIN: all elements or none. */
static bool whole_share(const struct netinc_op *op, bool have, u32 i, struct netinc_share *share)
{
	*share = (struct netinc_share){ .peer = op->rank, .elems = op->count };
	return have && !i;
}

bool netinc_coll_send_share(const struct netinc_op *op, u32 i, struct netinc_share *share)
{
	switch (layout_of(op)) {
	case RANKS:
		return ranks_share(op, send_stream(op), i, share);
	case PAIRS:
		return pairs_share(op, true, i, share);
	default:
		return whole_share(op, op->coll != INC_COLL_BROADCAST || op->rank == op->root, i,
				   share);
	}
}

bool netinc_coll_recv_share(const struct netinc_op *op, u32 i, struct netinc_share *share)
{
	bool root = op->rank == op->root;

	switch (layout_of(op)) {
	case RANKS:
		return ranks_share(op, recv_stream(op), i, share);
	case PAIRS:
		return pairs_share(op, false, i, share);
	default:
		if (op->coll == INC_COLL_REDUCE)
			return whole_share(op, root, i, share);
		if (op->coll == INC_COLL_BROADCAST)
			return whole_share(op, !root || is_lossy(op), i, share);
		return whole_share(op, op->coll != INC_COLL_EXSCAN || op->rank, i, share);
	}
}

/* ---- Cutting ------------------------------------------------------------- */

/* Elements of a share that lie before its block @round. */
static u64 elems_before(const struct netinc_op *op, u64 round, u64 elems)
{
	return round ? min_t(u64, op->head + (round - 1) * op->full, elems) : 0;
}

static u32 rounds_of(const struct netinc_op *op, u64 elems)
{
	if (elems <= op->head)
		return !!elems;
	/* elements of a buffer are below 2^32, so that the division is one of 32 bits */
	return 2 + ((u32)(elems - op->head) - 1) / op->full;
}

static u64 *longest_shares(const struct netinc_op *op)
{
	return op->before + 3 * ((size_t)op->size + 1);
}

/* What rank @from sends counts for the step in which it sends it. */
static void survey_rank(const struct netinc_op *op, u64 *longest, u32 from)
{
	u32 to;

	for (to = 0; to < op->size; to++) {
		u32 step = mod_size(to + op->size - from, op->size);

		longest[step] = max(longest[step], elems_of(op, from, to));
	}
}

void netinc_coll_survey(struct netinc_op *op)
{
	u64 *longest;
	u32 i;

	if (op->surveyed || !op->counts || layout_of(op) != PAIRS)
		return;
	longest = longest_shares(op);
	memset(longest, 0, op->size * sizeof(*longest));
	for (i = 0; i < op->size; i++)
		survey_rank(op, longest, i);
	op->surveyed = true;
}

/* Step @step takes as many rounds as its longest share. */
static u32 rounds_of_step(const struct netinc_op *op, u32 step)
{
	return rounds_of(op, longest_shares(op)[step]);
}

/* The table for shares that differ: three rows of shares + 1 numbers. */
static void cut_counts(struct netinc_op *op)
{
	u32 n = shares_of(op), i;
	u64 *blocks = op->before, *sent = blocks + op->size + 1, *got = sent + op->size + 1;
	struct netinc_share s;

	netinc_coll_survey(op);
	blocks[0] = 0;
	sent[0] = 0;
	got[0] = 0;
	for (i = 0; i < n; i++) {
		if (layout_of(op) == RANKS) {
			blocks[i + 1] = blocks[i] + rounds_of(op, elems_of(op, i, 0));
			sent[i + 1] = sent[i] + elems_of(op, i, 0);
		} else {
			blocks[i + 1] =
				blocks[i] + (u64)rounds_of_step(op, i + first_step(op)) * op->size;
			sent[i + 1] = sent[i] + (pairs_share(op, true, i, &s) ? s.elems : 0);
			got[i + 1] = got[i] + (pairs_share(op, false, i, &s) ? s.elems : 0);
		}
	}
	op->blocks = blocks[n];
}

/*
 * Bytes that an element may take on its way. Nodes pass accumulators to one another, in packets
 * that are no longer than those of ranks.
 */
static u32 max_elem_size(const struct netinc_op *op, bool deep)
{
	u8 type = netinc_coll_wire_type(op);
	u32 size = netinc_reduce_elem_size(type);
	const struct netinc_reduce *kernel =
		deep ? netinc_reduce_find(type, netinc_coll_wire_op(op), op->mode & INC_MODE_WIRE,
					  false) : NULL;

	return kernel ? max_t(u32, kernel->acc_size, size) : size;
}

bool netinc_coll_fits(const struct netinc_op *op, u32 block_bytes)
{
	return max_elem_size(op, true) <= block_bytes;
}

bool netinc_coll_lacks(const struct netinc_op *op, struct netinc_kinds lacks)
{
	return netinc_kinds_prevent(lacks, netinc_coll_wire_type(op), netinc_coll_wire_op(op));
}

void netinc_coll_cut(struct netinc_op *op, u32 block_bytes)
{
	u32 size = max_elem_size(op, op->deep);

	op->blocks = 1;
	op->rounds = 1;
	if (!size)
		return;
	op->head = (block_bytes - (u32)sizeof(struct inc_desc)) / size;
	/* of what no endpoint takes: see netinc_coll_fits() */
	op->full = max(block_bytes / size, 1u);
	if (op->counts) {
		cut_counts(op);
	} else {
		op->rounds = rounds_of(op, op->count);
		op->blocks = (u64)op->rounds * shares_of(op);
		if (layout_of(op) == PAIRS || layout_of(op) == CHAIN)
			op->blocks *= op->size;
	}
	op->blocks = max_t(u64, op->blocks, 1);
}

/* The share or step that block @idx belongs to; @idx becomes its number in there. */
static u32 share_at(const struct netinc_op *op, u64 *idx)
{
	u32 lo = 0, hi = shares_of(op), mid;
	u64 share;

	if (!op->counts) {
		share = netinc_div(*idx, max(op->rounds, 1u), &mid);
		*idx = mid;
		return (u32)share;
	}
	while (hi - lo > 1) {
		mid = (lo + hi) / 2;
		if (op->before[mid] <= *idx)
			lo = mid;
		else
			hi = mid;
	}
	/* of several that begin here all but the last are empty: the search has found that one */
	*idx -= op->before[lo];
	return lo;
}

/* ---- Bits ---------------------------------------------------------------- */

/* Elements on their way from one rank to one other. */
static u16 elems_moved(const struct netinc_op *op, u32 from, u32 to, u32 rank)
{
	if (from == to && !is_lossy(op))
		return 0;
	return (rank == from ? INC_F_PAYLOAD : 0) | (rank == to ? INC_F_WANT : 0);
}

/* INC_F_PAYLOAD and INC_F_WANT of @rank for a block of @owner's share; @to: PAIRS */
static u16 bits_of(const struct netinc_op *op, u32 owner, u32 to, u32 rank)
{
	u16 back = is_lossy(op) ? INC_F_WANT : 0;

	switch (coll_of(op)) {
	case INC_COLL_ALLREDUCE:
		return INC_F_PAYLOAD | INC_F_WANT;
	case INC_COLL_REDUCE:
		return INC_F_PAYLOAD | (rank == op->root ? INC_F_WANT : 0);
	case INC_COLL_REDUCE_SCATTER:
		return INC_F_PAYLOAD | (rank == owner ? INC_F_WANT : 0);
	case INC_COLL_BROADCAST:
		return rank == op->root ? INC_F_PAYLOAD | back : INC_F_WANT;
	case INC_COLL_ALLGATHER:
		return rank == owner ? INC_F_PAYLOAD | back : INC_F_WANT;
	case INC_COLL_GATHER:
		return elems_moved(op, owner, op->root, rank);
	case INC_COLL_SCATTER:
		return elems_moved(op, op->root, owner, rank);
	case INC_COLL_ALLTOALL:
		return elems_moved(op, owner, to, rank);
	case INC_COLL_SCAN:
	case INC_COLL_EXSCAN:
		return rank == owner ? INC_F_PAYLOAD : rank > owner ? INC_F_WANT : 0;
	default:
		return 0;
	}
}

static u32 block_elems(const struct netinc_op *op, u64 round, u64 elems)
{
	return elems_before(op, round + 1, elems) - elems_before(op, round, elems);
}

/* ---- Blocks -------------------------------------------------------------- */

static void whole_block(const struct netinc_op *op, u64 idx, struct netinc_block *b)
{
	u64 at = elems_before(op, idx, op->count);

	b->round = idx;
	b->elems = elems_before(op, idx + 1, op->count) - at;
	b->bits = b->elems ? bits_of(op, op->root, 0, op->rank) : 0;
	b->send = b->bits & INC_F_PAYLOAD ? at : 0;
	b->recv = b->bits & INC_F_WANT ? at : 0;
}

/* Elements of a stream before @at elements of share @share. */
static u64 ranks_position(const struct netinc_op *op, u8 stream, u32 share, u64 at)
{
	u64 own = elems_of(op, op->rank, 0), before;

	if (stream == NONE)
		return 0;
	if (stream == OWN)
		return share < op->rank ? 0 : share == op->rank ? at : own;
	before = op->counts ? op->before[op->size + 1 + share] : share * op->count;
	if (stream == ALL || is_lossy(op) || share < op->rank)
		return before + at;
	return share == op->rank ? before : before + at - own;
}

static void ranks_block(const struct netinc_op *op, u64 idx, struct netinc_block *b)
{
	u32 share = share_at(op, &idx);
	u64 elems = elems_of(op, share, 0), at = elems_before(op, idx, elems);

	b->owner = share;
	b->round = idx;
	b->elems = block_elems(op, idx, elems);
	b->bits = b->elems ? bits_of(op, share, 0, op->rank) : 0;
	b->send = ranks_position(op, send_stream(op), share, at);
	b->recv = ranks_position(op, recv_stream(op), share, at);
}

/*
 * Elements of a share before its block in round @round if that is still to come, else before the
 * next one
 */
static u64 elems_at_round(const struct netinc_op *op, u64 round, bool over, u64 elems)
{
	return elems_before(op, round + over, elems);
}

static void pairs_block(const struct netinc_op *op, u64 idx, struct netinc_block *b)
{
	u32 share, owner, step, from, to, dest;
	u64 sent, got, elems;

	if (op->counts) {
		share = share_at(op, &idx);
		idx = netinc_div(idx, op->size, &owner);
		sent = op->before[op->size + 1 + share];
		got = op->before[2 * (op->size + 1) + share];
	} else {
		idx = netinc_div(idx, op->size, &owner);
		share = share_at(op, &idx);
		sent = share * op->count;
		got = sent;
	}
	/* in this step the owner sends to dest; this rank sends to `to` and gets from `from` */
	step = share + first_step(op);
	dest = mod_size(owner + step, op->size);
	to = mod_size(op->rank + step, op->size);
	from = mod_size(op->rank + op->size - step, op->size);
	elems = elems_of(op, owner, dest);
	b->owner = owner;
	b->round = idx;
	b->elems = block_elems(op, idx, elems);
	b->bits = b->elems ? bits_of(op, owner, dest, op->rank) : 0;
	b->send = sent + elems_at_round(op, idx, owner > op->rank, elems_of(op, op->rank, to));
	b->recv = got + elems_at_round(op, idx, owner > from, elems_of(op, from, op->rank));
}

static void chain_block(const struct netinc_op *op, u64 idx, struct netinc_block *b)
{
	b->round = netinc_div(idx, op->size, &b->owner);
	b->elems = block_elems(op, b->round, op->count);
	b->bits = b->elems ? bits_of(op, b->owner, 0, op->rank) : 0;
	b->send = elems_at_round(op, b->round, b->owner > op->rank, op->count);
	b->recv = op->coll == INC_COLL_SCAN || op->rank ? b->send : 0;
}

void netinc_coll_block(const struct netinc_op *op, u64 idx, struct netinc_block *b)
{
	memset(b, 0, sizeof(*b));
	if (!netinc_reduce_elem_size(netinc_coll_wire_type(op)))
		return;
	switch (layout_of(op)) {
	case WHOLE:
		whole_block(op, idx, b);
		break;
	case RANKS:
		ranks_block(op, idx, b);
		break;
	case PAIRS:
		if (op->size > first_step(op))
			pairs_block(op, idx, b);
		break;
	case CHAIN:
		chain_block(op, idx, b);
		break;
	}
}

/* ---- Checks, descriptors ------------------------------------------------- */

static bool is_convertible(u8 type, u8 wire)
{
	/* nothing gets longer than f32 on the way, and f64 no shorter */
	if (type == INC_TYPE_F64 || wire == INC_TYPE_F64)
		return type == INC_TYPE_F64 && wire == INC_TYPE_F32;
	return netinc_convert_find(type, wire, false) ||
	       (netinc_convert_find(type, INC_TYPE_F32, false) &&
		netinc_convert_find(INC_TYPE_F32, wire, false));
}

static int check_op(const struct netinc_op *op)
{
	u8 wire_op = op->op == INC_OP_WSUM ? INC_OP_SUM : op->op;
	u8 hub = op->type;

	if (!op->op || op->op >= __INC_OP_MAX)
		return -EINVAL;
	if (!netinc_reduce_find(op->wire, wire_op, op->mode & INC_MODE_WIRE, false))
		return -EOPNOTSUPP;
	if (op->op == INC_OP_AVG && layout_of(op) == CHAIN)
		return -EOPNOTSUPP;
	if (op->op != INC_OP_WSUM)
		return 0;
	/* elements narrower than f32 are weighted in f32 */
	if (!netinc_scale_find(hub, false))
		hub = INC_TYPE_F32;
	return netinc_scale_find(hub, false) && (hub == op->type || is_convertible(op->type, hub)) ?
		       0 :
		       -EOPNOTSUPP;
}

int netinc_coll_check(const struct netinc_op *op)
{
	const struct coll *c;

	if (op->coll > INC_COLL_MAX || !colls[op->coll].submit)
		return -EOPNOTSUPP;
	c = &colls[op->coll];
	if (op->root >= op->size || (op->root && !c->rooted))
		return -EINVAL;
	if ((op->mode & ~(INC_MODE_SATURATE | INC_MODE_COUNTS | INC_MODE_PART)) ||
	    ((op->mode & INC_MODE_COUNTS) && !c->counts) ||
	    ((op->mode & INC_MODE_PART) && (c->counts || op->coll == INC_COLL_BARRIER)) ||
	    ((op->mode & INC_MODE_SATURATE) && !c->reduces))
		return -EINVAL;
	if (op->coll == INC_COLL_BARRIER)
		return op->type || op->op || op->wire || op->count ? -EINVAL : 0;
	if (!netinc_reduce_elem_size(op->type) || !netinc_reduce_elem_size(op->wire))
		return -EINVAL;
	if (op->count > INC_MAX_COUNT ||
	    ((c->layout == RANKS || c->layout == PAIRS) && !(op->mode & INC_MODE_COUNTS) &&
	     op->count * op->size > INC_MAX_COUNT))
		return -EOVERFLOW;
	if (is_lossy(op) && !is_convertible(op->type, op->wire))
		return -EOPNOTSUPP;
	if (!c->reduces)
		return op->op ? -EINVAL : 0;
	return check_op(op);
}

/* The same on machines of either byte order, see protocol.rst. */
static u64 hash_of_counts(const struct netinc_op *op)
{
	__be32 count[32];
	u64 key[2] = {};
	u32 i, n = 0;

	/* those that had to be asked for are the same everywhere */
	if (!op->counts || colls[op->coll].asks)
		return 0;
	for (i = 0; i < op->size; i++) {
		count[n++] = cpu_to_be32(op->counts[i]);
		if (n < ARRAY_SIZE(count) && i + 1 < op->size)
			continue;
		key[0] = netinc_siphash(count, n * sizeof(count[0]), key);
		n = 0;
	}
	return key[0];
}

void netinc_coll_desc(const struct netinc_op *op, struct inc_desc *desc)
{
	memset(desc, 0, sizeof(*desc));
	desc->coll = op->coll;
	desc->type = op->type;
	desc->op = op->op;
	desc->wire = op->wire;
	desc->mode = op->mode;
	desc->root = cpu_to_be32(op->root);
	desc->opseq = cpu_to_be32(op->seq);
	desc->count = cpu_to_be64(op->mode & INC_MODE_COUNTS_PHASE ? 0 : op->count);
	desc->counts_hash = cpu_to_be64(hash_of_counts(op));
}

/*
 * The first block is part of the signature: ranks that disagree about an earlier operation's length
 * number their blocks differently, and a block of a later operation that looks alike must not be
 * folded with another of its blocks.
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
