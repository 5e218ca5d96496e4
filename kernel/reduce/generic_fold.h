/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The common part of the generic kernels: how sources are walked, in the order that order.h has.
 * Elements are folded in blocks, whose accumulators stay in the first-level cache; those of one
 * block do not depend on each other, so that the latency of an addition in software is hidden.
 */
#ifndef NETINC_REDUCE_GENERIC_FOLD_H
#define NETINC_REDUCE_GENERIC_FOLD_H

#include "reduce/arith.h"
#include "reduce/kernels.h"
#include "reduce/order.h"

#define NETINC_BLOCK	16u	/* elements; of a level that is 16 bytes each at most */

/* Accumulators that are wider than elements, from memory or to it: 32 bits, little-endian there. */
static inline void netinc_accumulators(void *to, const void *from, size_t bytes)
{
	size_t i;
	u32 x;

	for (i = 0; i < bytes; i += sizeof(x)) {
		memcpy(&x, from + i, sizeof(x));
		netinc_put_le32(to + i, x);
	}
}

/*
 * netinc_fold_fn fn: @acc is the type of an accumulator, @size the bytes of an element; acc
 * load(const void *), acc step(acc, acc), acc settle(acc) makes NaN canonical, acc finish(acc,
 * args) divides or clamps, void store(void *, acc).
 */
#define NETINC_DEFINE_FOLD(fn, acc, size, load, step, settle, finish, store)		\
static void fn(void *dst, const void *const *src, unsigned int n, unsigned int count,	\
	       const struct netinc_fold_args *args)					\
{											\
	bool wide = sizeof(acc) != (size), resume = args->flags & NETINC_FOLD_ACCUMULATORS;\
	bool unrounded = args->flags & NETINC_FOLD_UNROUNDED;				\
	acc a[NETINC_ORDER_LEVELS][NETINC_BLOCK];					\
	unsigned int s, i, len, top, join;						\
	size_t at;									\
											\
	for (at = 0; at < count; at += len) {						\
		len = min(count - (unsigned int)at, NETINC_BLOCK);			\
		if (wide && resume)							\
			netinc_accumulators(a[0], src[0] + at * sizeof(acc), len * sizeof(acc));\
		for (top = 0, s = 0; s < n; s++) {					\
			for (i = 0; i < len && !(wide && resume); i++)			\
				a[top][i] = load(src[s] + (at + i) * (size));		\
			join = s + 1 < n ? netinc_order_joins(s) : top;			\
			for (; join; join--, top--)					\
				for (i = 0; i < len; i++)				\
					a[top - 1][i] = step(a[top - 1][i], a[top][i]);	\
			top++;								\
		}									\
		for (i = 0; i < len; i++)						\
			a[0][i] = settle(a[0][i]);					\
		if (wide && unrounded)							\
			netinc_accumulators(dst + at * sizeof(acc), a[0], len * sizeof(acc));\
		else									\
			for (i = 0; i < len; i++)					\
				store(dst + (at + i) * (size),				\
				      unrounded ? a[0][i] : finish(a[0][i], args));	\
	}										\
}

#endif
