/* SPDX-License-Identifier: GPL-2.0-only */
/* SIMD kernels of complex numbers. Sums and averages are those of twice as many real numbers. */
#ifndef NETINC_REDUCE_VECTOR_COMPLEX_H
#define NETINC_REDUCE_VECTOR_COMPLEX_H

#include "reduce/vector_float.h"

#define AS_PARTS(t, part, op)								\
static SIMD void t##_##op(void *dst, const void *const *src, unsigned int n, unsigned int count,	\
			  const struct netinc_fold_args *args)				\
{											\
	part##_##op(dst, src, n, 2 * count, args);					\
}

/*
 * (a + bi)(c + di): (ac, ad) and (-bd, bc) are added. Subtraction is addition of the negative, and
 * only NaN, which is made canonical, could tell. SIMD_SEPARATE() keeps the compiler from joining a
 * product and a sum into one operation with one rounding.
 */
#define PRODUCT(t, part, size, re, im, swap, sign)					\
SIMD_INLINE vec t##_step_prod(vec x, vec y)						\
{											\
	vec a = SIMD_SHUFFLE(x, re), b = SIMD_SHUFFLE(x, im);				\
											\
	a = part##_step_prod(a, y);							\
	b = part##_step_prod(b, SIMD_SHUFFLE(y, swap)) ^ (sign);			\
	SIMD_SEPARATE(a, b);								\
	return part##_step_sum(a, b);							\
}											\
											\
SIMD_DEFINE_FOLD(t##_prod, (vec) { 0 },							\
		 .lanes = SIMD_BYTES / size, .elem = size, .acc = size, .out = size, .load = simd_load, \
		 .step = t##_step_prod, .finish = simd_no_finish, .settle = part##_canonical, \
		 .store = simd_store, .ordered = true)

AS_PARTS(c32, f32, sum)
AS_PARTS(c32, f32, avg)
AS_PARTS(c64, f64, sum)
AS_PARTS(c64, f64, avg)

/*
 * Orders of 32-bit elements, the first in the lowest bits: 0 0 2 2, 1 1 3 3, 1 0 3 2; 0 1 0 1, 2 3
 * 2 3, 2 3 0 1.
 */
PRODUCT(c32, f32, 8, 0xa0, 0xf5, 0xb1, (vec)((vec_u64) { 0 } + 0x80000000ull))
PRODUCT(c64, f64, 16, 0x44, 0xee, 0x4e, (vec)((vec_u64) { 0 } + (1ull << 63)) & SIMD_FIRST)

#undef AS_PARTS
#undef PRODUCT

#endif
