// SPDX-License-Identifier: GPL-2.0-only
/*
 * Scans: a round's accumulators grow rank by rank, a stack of operands, and are written when the
 * own contribution has arrived.
 */
#include <linux/log2.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include "host/scan.h"
#include "host/convert.h"
#include "host/rank.h"
#include "reduce/order.h"
#include "reduce/reduce.h"

static const struct netinc_reduce *kernel_of(const struct netinc_op *op, bool fpu)
{
	return netinc_reduce_find(op->wire, op->op == INC_OP_WSUM ? INC_OP_SUM : op->op,
				  op->mode & INC_MODE_WIRE, fpu);
}

struct netinc_scan *netinc_scan_alloc(const struct netinc_rank *rank, const struct netinc_op *op,
				      struct netinc_mem *mem)
{
	u32 block = READ_ONCE(rank->ep.block), window = READ_ONCE(rank->ep.settings.window);
	const struct netinc_reduce *r = kernel_of(op, false);
	struct netinc_scan *chain;
	u32 elems;

	chain = netinc_mem_alloc(mem, 1, sizeof(*chain));
	if (!chain)
		return NULL;
	elems = min_t(u64, block / r->elem_size, op->count);
	chain->levels = ilog2(max(op->rank, 1u)) + 1;
	chain->bytes = elems * r->acc_size;
	/* no more rounds than that are in the window, nor in the operation */
	chain->slots = min_t(u64, (window - 1) / op->size + 2, op->count);
	chain->mem = netinc_mem_alloc(mem, chain->slots, (size_t)chain->levels * chain->bytes);
	if (chain->mem)
		return chain;
	kvfree(chain);
	return NULL;
}

void netinc_scan_free(struct netinc_scan *chain)
{
	if (!chain)
		return;
	kvfree(chain->mem);
	kvfree(chain);
}

/* The round's accumulators; NULL: those of a round that is not complete are in their place. */
static u8 *find_accumulators(const struct netinc_rank *rank, const struct netinc_op_request *req,
			     const struct netinc_block *b)
{
	const struct netinc_scan *chain = req->chain;
	u64 oldest, next = netinc_ep_next(&rank->ep);
	u32 slot, rest;

	oldest = (s64)(next - req->op.first) < 0 ?
			 0 :
			 netinc_div(next - req->op.first, req->op.size, &rest);
	if (b->round - oldest >= chain->slots ||
	    b->elems * kernel_of(&req->op, false)->acc_size > chain->bytes)
		return NULL;
	netinc_div(b->round, chain->slots, &slot);
	return chain->mem + (size_t)slot * chain->levels * chain->bytes;
}

/* As many of @left elements as there is scratch memory for their accumulators. */
static u32 some_elems(const struct netinc_reduce *r, u32 left)
{
	return min3(left, NETINC_ELEMS_CHUNK, NETINC_SCRATCH / r->acc_size);
}

/* Both are accumulators, as is @to, which may be @a or @b. */
static void fold_accumulators(const struct netinc_op_request *req, const void *a, const void *b,
			      void *to, u32 n, bool fpu)
{
	const struct netinc_fold_args args = { .flags = NETINC_FOLD_UNROUNDED, .ranks = 1 };
	const struct netinc_reduce *whole = kernel_of(&req->op, fpu);
	const struct netinc_reduce *r = netinc_reduce_accumulators(whole, fpu);
	const void *src[2] = { a, b };

	r->fold(to, src, 2, n * netinc_reduce_acc_elems(whole, r), &args);
}

/* @n elements become accumulators, or the other way round. */
static void fold_one(const struct netinc_op_request *req, const void *from, void *to, u32 n,
		     unsigned int flags, bool fpu)
{
	const struct netinc_fold_args args = { .flags = flags, .ranks = 1 };

	kernel_of(&req->op, fpu)->fold(to, &from, 1, n, &args);
}

/* The contribution of a rank before this one comes on the stack, of which @acc is the bottom. */
static void add_contribution(struct netinc_op_request *req, const struct netinc_block *b,
			     const struct netinc_pay *pay, u8 *acc, bool fpu)
{
	const struct netinc_reduce *r = kernel_of(&req->op, fpu);
	u32 bytes = req->chain->bytes, i, n, join;

	for (i = 0; i < b->elems; i += n) {
		void *from = netinc_convert_scratch(0);
		u8 *top = acc + hweight32(b->owner) * bytes + i * r->acc_size;

		n = some_elems(r, b->elems - i);
		if (!netinc_payload_read(pay, i * r->elem_size, from, n * r->elem_size))
			return;
		fold_one(req, from, top, n, NETINC_FOLD_UNROUNDED, fpu);
		for (join = netinc_order_joins(b->owner); join; join--, top -= bytes)
			fold_accumulators(req, top - bytes, top, top - bytes, n, fpu);
	}
}

/* Of ranks 0 .. @ranks - 1, to @to, which for a scan has this rank's own on top of them. */
static void fold_stack(const struct netinc_op_request *req, const u8 *acc, u32 ranks, bool own,
		       void *to, u32 n, bool fpu)
{
	u32 bytes = req->chain->bytes, top = hweight32(ranks);

	if (!own)
		memcpy(to, acc + --top * bytes, n * kernel_of(&req->op, fpu)->acc_size);
	for (; top; top--)
		fold_accumulators(req, acc + (top - 1) * bytes, to, to, n, fpu);
}

/* What all ranks up to this one have, for a scan with its own, rounded and written. */
static bool finish_block(struct netinc_op_request *req, const struct netinc_block *b, u8 *acc,
			 bool fpu)
{
	const struct netinc_reduce *r = kernel_of(&req->op, fpu);
	bool scan = req->op.coll == INC_COLL_SCAN;
	u32 i, n;

	for (i = 0; i < b->elems; i += n) {
		void *elems = netinc_convert_scratch(0), *to = netinc_convert_scratch(1);

		n = some_elems(r, b->elems - i);
		if (scan && !netinc_convert_get(req, b->send + i, elems, n, fpu))
			return false;
		if (scan)
			fold_one(req, elems, to, n, NETINC_FOLD_UNROUNDED, fpu);
		fold_stack(req, acc + i * r->acc_size, b->owner, scan, to, n, fpu);
		fold_one(req, to, elems, n, NETINC_FOLD_ACCUMULATORS, fpu);
		if (!netinc_convert_put(req, b->recv + i, elems, n, fpu))
			return false;
	}
	return true;
}

bool netinc_scan_deliver(struct netinc_rank *rank, struct netinc_op_request *req,
			 const struct netinc_block *b, const struct netinc_pay *pay)
{
	u32 me = req->op.rank;
	bool fpu, ok = true;
	u8 *acc;

	if (b->owner > me || !b->elems || (!me && req->op.coll == INC_COLL_EXSCAN))
		return true;
	acc = find_accumulators(rank, req, b);
	if (!acc)
		return false;
	netinc_fpu_section_want(&rank->section);
	fpu = netinc_convert_enter(&rank->section);
	if (b->owner < me)
		add_contribution(req, b, pay, acc, fpu);
	else
		ok = finish_block(req, b, acc, fpu);
	netinc_convert_leave(&rank->section);
	return ok;
}
