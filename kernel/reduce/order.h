/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The order in which contributions are folded: one binary tree over the numbers of the ranks,
 *
 *	node(l, r) = node(l, m) op node(m, r),	m = l + the largest power of two below r - l
 *
 * and node(l, l + 1) is the contribution of rank l. It depends on the number of ranks alone, not on
 * who folds what where. Whoever folds ranks one after the other keeps a stack of nodes of that tree
 * that lack their right sibling, of which there are as many as the number of ranks so far has bits
 * set. Pairwise summation: Higham, "The accuracy of floating point summation", SIAM J. Sci. Comput.
 * 14 (1993): the error grows with the logarithm of the number of ranks.
 *
 * An operand is a contribution, or what has been folded of several ranks elsewhere: a node of the
 * tree. It has the number of its first rank and of its ranks, its weight. All weights are powers of
 * two but that of the last operand.
 */
#ifndef NETINC_REDUCE_ORDER_H
#define NETINC_REDUCE_ORDER_H

#include "reduce/platform.h"

#define NETINC_ORDER_DEPTH	33u	/* operands on the stack at most, for any number of ranks */

struct netinc_order {
	u32 n;				/* operands on the stack */
	u32 weight[NETINC_ORDER_DEPTH];	/* of each, see above */
};

/* The same for the sources of one pass: of 8, 4, 2 and 1, and the one that comes next. */
#define NETINC_ORDER_LEVELS	5u

/*
 * How many of the operands on the stack are joined with operand @i of equal ones, the first is 0,
 * before the next one comes.
 */
static inline u32 netinc_order_joins(u32 i)
{
	u32 n;

	for (n = 0; i & 1; i >>= 1)
		n++;
	return n;
}

static inline u32 netinc_order_lowest_bit(u32 x)
{
	return x & (~x + 1);
}

/* The largest power of two that is not larger than @x, which is not 0. */
static inline u32 netinc_order_round_down(u32 x)
{
	while (x & (x - 1))
		x &= x - 1;
	return x;
}

/* The next operand comes on top. */
static inline void netinc_order_push(struct netinc_order *o, u32 weight)
{
	o->weight[o->n++] = weight;
}

/*
 * Are the two on top the halves of a node, whatever follows? What comes before them has been joined
 * as far as it could, so that the lower one begins at a multiple of both.
 */
static inline bool netinc_order_halves(const struct netinc_order *o)
{
	return o->n > 1 && o->weight[o->n - 1] == o->weight[o->n - 2];
}

/* The two on top are one from now on. When nothing follows they are what is on top and below it. */
static inline void netinc_order_join(struct netinc_order *o)
{
	o->n--;
	o->weight[o->n - 1] += o->weight[o->n];
}

/*
 * How many of @n operands of @weight each, the first at rank @first, a reduction kernel can fold in
 * one pass to one operand; @last: nothing follows them.
 */
static inline u32 netinc_order_pass(u32 first, u32 weight, u32 n, bool last)
{
	u32 most = first ? max(netinc_order_lowest_bit(first) / weight, 1u) : n;

	if (last && n <= most)
		return n;
	return min(netinc_order_round_down(n), most);
}

/*
 * One past the last rank of the largest node of the tree over @ranks ranks that begins at rank
 * @first and does not go beyond @end, which is more than @first.
 */
static inline u32 netinc_order_node_end(u32 first, u32 end, u32 ranks)
{
	u32 size = 1;

	while (!(first & (2 * size - 1)) && first + size < ranks &&
	       min(first + 2 * size, ranks) <= end)
		size *= 2;
	return min(first + size, ranks);
}

/* Is [@first, @first + @n) a node of the tree over @ranks ranks? */
static inline bool netinc_order_is_node(u32 first, u32 n, u32 ranks)
{
	u32 size = netinc_order_round_down(n);

	if (size != n)
		size *= 2;
	return (size == n || first + n == ranks) && !(first & (size - 1));
}

#endif
