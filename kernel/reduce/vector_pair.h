/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SIMD kernels of pairs. Values become integers that are ordered like them, with NaN below all
 * others where the lowest wins; where the highest does, everything is inverted. What is left is the
 * lowest value, and of equal ones the lowest index.
 */
#ifndef NETINC_REDUCE_VECTOR_PAIR_H
#define NETINC_REDUCE_VECTOR_PAIR_H

#include "reduce/vector_float.h"

#define IDENTITY(x)	(x)
#define VALUE_32	((vec)((vec_u64) { 0 } + 0xffffffffull))
#define SIGN_OF_INDEX	0x8000000000000000ull

#define PAIR(t, op, size, _step)							\
SIMD_DEFINE_FOLD(t##_##op, (vec) { 0 },							\
		 .lanes = SIMD_BYTES / size, .elem = size, .acc = size, .out = size,	\
		 .load = t##_load_##op, .step = _step, .finish = simd_no_finish,	\
		 .settle = t##_settle_##op, .store = simd_store)

/*
 * 32 bits each: of an integer of 64 bits the value is made the upper half, the index, made
 * unsigned, the lower.
 */
#define PAIR_32(t, op, _key, _unkey, invert)					\
SIMD_INLINE vec t##_load_##op(const void *p)						\
{											\
	vec x = simd_load(p), key = _key(x);						\
	vec_u64 y = (vec_u64)SIMD_SELECT(VALUE_32, key, x) ^ (invert);			\
											\
	return (vec)(y << 32 | y >> 32);						\
}											\
											\
SIMD_INLINE vec t##_settle_##op(vec x)							\
{											\
	vec_u64 y = (vec_u64)x;								\
	vec key;									\
											\
	x = (vec)((y << 32 | y >> 32) ^ (invert));					\
	key = _unkey(x);								\
	return SIMD_SELECT(VALUE_32, key, x);						\
}											\
											\
PAIR(t, op, 8, i64_step_min)

/* 64 bits each: two elements of a vector. */
SIMD_INLINE vec pair_64_step(vec a, vec b)
{
	vec less = (vec)((vec_i64)a < (vec_i64)b), same = (vec)((vec_i64)a == (vec_i64)b), mask;

	mask = less | (same & SIMD_SHUFFLE(less, 0x4e));
	mask = SIMD_SHUFFLE(mask, 0x44);
	return SIMD_SELECT(mask, a, b);
}

#define PAIR_64(t, op, _key, _unkey, invert)					\
SIMD_INLINE vec t##_load_##op(const void *p)						\
{											\
	vec x = simd_load(p), key = _key(x);						\
											\
	return SIMD_SELECT(SIMD_FIRST, key, x) ^ (invert);				\
}											\
											\
SIMD_INLINE vec t##_settle_##op(vec x)							\
{											\
	vec key;									\
											\
	x ^= (invert);									\
	key = _unkey(x);								\
	return SIMD_SELECT(SIMD_FIRST, key, x);						\
}											\
											\
PAIR(t, op, 16, pair_64_step)

PAIR_32(i32_i32, minloc, IDENTITY, IDENTITY, SIGN_OF_INDEX)
PAIR_32(i32_i32, maxloc, IDENTITY, IDENTITY, SIGN_OF_INDEX | 0xffffffffull)
PAIR_32(f32_i32, minloc, f32_key_min, f32_unkey, SIGN_OF_INDEX)
PAIR_32(f32_i32, maxloc, f32_key_max, f32_unkey, SIGN_OF_INDEX | 0xffffffffull)

PAIR_64(i64_i64, minloc, IDENTITY, IDENTITY, 0)
PAIR_64(i64_i64, maxloc, IDENTITY, IDENTITY, SIMD_FIRST)
PAIR_64(f64_i64, minloc, f64_key_min, f64_unkey, 0)
PAIR_64(f64_i64, maxloc, f64_key_max, f64_unkey, SIMD_FIRST)

#undef IDENTITY
#undef PAIR
#undef PAIR_32
#undef PAIR_64
#undef SIGN_OF_INDEX
#undef VALUE_32

#endif
