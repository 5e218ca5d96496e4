/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The common part of the generic kernels: how sources are walked. Elements are folded in blocks,
 * whose accumulators stay in the first-level cache; those of one block do not depend on each other,
 * so that the latency of an addition in software is hidden.
 */
#ifndef NETINC_REDUCE_GENERIC_FOLD_H
#define NETINC_REDUCE_GENERIC_FOLD_H

#include "reduce/kernels.h"

#define NETINC_BLOCK	32u	/* elements; what is on the stack is this x 16 bytes at most */

/*
 * netinc_fold_fn fn: @acc is the type of an accumulator, @size the bytes of an element; acc
 * load(const void *), acc step(acc, acc), acc settle(acc) makes NaN canonical, acc finish(acc,
 * args) divides or clamps, void store(void *, acc).
 */
#define NETINC_DEFINE_FOLD(fn, acc, size, load, step, settle, finish, store)			\
static void fn(void *dst, const void *const *src, unsigned int n, unsigned int count,		\
	       const struct netinc_fold_args *args)						\
{												\
	bool resume = args->flags & NETINC_FOLD_CONTINUE;					\
	bool unrounded = args->flags & NETINC_FOLD_UNROUNDED;					\
	acc a[NETINC_BLOCK];									\
	unsigned int s, i, len;									\
	size_t at;										\
												\
	for (at = 0; at < count; at += len) {							\
		len = min(count - (unsigned int)at, NETINC_BLOCK);				\
		if (resume)									\
			memcpy(a, src[0] + at * sizeof(acc), len * sizeof(acc));		\
		else										\
			for (i = 0; i < len; i++)						\
				a[i] = load(src[0] + (at + i) * (size));			\
		for (s = 1; s < n; s++)								\
			for (i = 0; i < len; i++)						\
				a[i] = step(a[i], load(src[s] + (at + i) * (size)));		\
		for (i = 0; i < len; i++)							\
			a[i] = settle(a[i]);							\
		if (unrounded)									\
			memcpy(dst + at * sizeof(acc), a, len * sizeof(acc));			\
		else										\
			for (i = 0; i < len; i++)						\
				store(dst + (at + i) * (size), finish(a[i], args));		\
	}											\
}

#endif
