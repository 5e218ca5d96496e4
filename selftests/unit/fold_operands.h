/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Contributions folded one by one in the order of kernel/reduce/order.h, for simulator and fuzzers:
 * what kernel/node/fold_elements.c does, without its passes of several at a time.
 */
#ifndef INC_FOLD_OPERANDS_H
#define INC_FOLD_OPERANDS_H

#include <stdlib.h>

#include "reduce/order.h"
#include "reduce/reduce.h"

#define FOLD_STACK	14	/* operands, of INC_MAX_RANKS ranks */

/*
 * What has come of @weight ranks, 1 where something is missing: accumulators if it is @wide, else
 * elements.
 */
struct fold_operand {
	const void *data;
	u32 weight;
	bool wide;
};

struct fold_stack {
	const struct netinc_reduce *r;
	u32 elems;
	size_t bytes;		/* of an operand */
	struct netinc_order order;
	u8 *mem;
};

static inline void fold_stack_init(struct fold_stack *f, const struct netinc_reduce *r, u32 elems)
{
	*f = (struct fold_stack){ .r = r, .elems = elems, .bytes = (size_t)elems * r->acc_size };
	f->mem = malloc(FOLD_STACK * f->bytes + 1);
}

static inline void fold_stack_join(struct fold_stack *f)
{
	const struct netinc_fold_args args = { .flags = NETINC_FOLD_UNROUNDED, .ranks = 1 };
	u8 *top = f->mem + (f->order.n - 1) * f->bytes;
	const void *src[2] = { top - f->bytes, top };
	const struct netinc_reduce *r = netinc_reduce_accumulators(f->r, false);

	r->fold(top - f->bytes, src, 2, f->elems * netinc_reduce_acc_elems(f->r, r), &args);
	netinc_order_join(&f->order);
}

static inline void fold_stack_add(struct fold_stack *f, const struct fold_operand *o)
{
	const struct netinc_fold_args args = { .flags = NETINC_FOLD_UNROUNDED, .ranks = 1 };
	u8 *top = f->mem + f->order.n * f->bytes;

	if (o->wide)
		memcpy(top, o->data, f->bytes);
	else
		f->r->fold(top, &o->data, 1, f->elems, &args);
	netinc_assert(f->order.n < FOLD_STACK);
	netinc_order_push(&f->order, o->weight);
	while (netinc_order_halves(&f->order))
		fold_stack_join(f);
}

/* Nothing follows: the result is accumulators for a node above (@up), or else elements. */
static inline void fold_stack_end(struct fold_stack *f, void *to, u32 ranks, bool up)
{
	const struct netinc_fold_args args = {
		.flags = NETINC_FOLD_ACCUMULATORS | (up ? NETINC_FOLD_UNROUNDED : 0),
		.ranks = ranks,
	};
	const void *src = f->mem;

	while (f->order.n > 1)
		fold_stack_join(f);
	f->r->fold(to, &src, 1, f->elems, &args);
	free(f->mem);
}

#endif
