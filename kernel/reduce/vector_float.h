/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SIMD kernels of floats. Those of 16 and 8 bits are widened to f32 while they are loaded, and
 * rounded when everything is in. A NaN that comes up anywhere stays one to the end of the chain,
 * where it is made canonical.
 */
#ifndef NETINC_REDUCE_VECTOR_FLOAT_H
#define NETINC_REDUCE_VECTOR_FLOAT_H

#include "reduce/vector_int.h"

#define ARITHMETIC(t, u, nan)								\
SIMD_INLINE vec t##_step_sum(vec a, vec b)						\
{											\
	return (vec)((vec_##t)a + (vec_##t)b);						\
}											\
											\
SIMD_INLINE vec t##_step_prod(vec a, vec b)						\
{											\
	return (vec)((vec_##t)a * (vec_##t)b);						\
}											\
											\
SIMD_INLINE vec t##_divide(vec a, vec operand)						\
{											\
	return (vec)((vec_##t)a / (vec_##t)operand);					\
}											\
											\
SIMD_INLINE vec t##_canonical(vec x)							\
{											\
	vec_##u mask = (vec_##u)((vec_##t)x != (vec_##t)x);				\
											\
	return (vec)SIMD_SELECT(mask, nan, (vec_##u)x);					\
}

ARITHMETIC(f32, u32, 0x7fc00000u)
ARITHMETIC(f64, u64, 0x7ff8000000000000ull)

/* The small ones */

SIMD_INLINE vec f16_load(const void *p)
{
	half_u16 x;

	__builtin_memcpy(&x, p, sizeof(x));
	return simd_widen_f16(x);
}

SIMD_INLINE void f16_store(void *p, vec x)
{
	half_u16 y = simd_narrow_f16(x);

	__builtin_memcpy(p, &y, sizeof(y));
}

SIMD_INLINE vec bf16_load(const void *p)
{
	return u16_load_wide(p) << 16;
}

/*
 * The instruction for this flushes subnormals. A carry runs into the exponent, and from there into
 * Inf.
 */
SIMD_INLINE void bf16_store(void *p, vec x)
{
	u16_store_narrow(p, (x + 0x7fff + ((x >> 16) & 1)) >> 16);
}

/* The upper half of an f16. */
SIMD_INLINE vec f8e5m2_load(const void *p)
{
	quarter_u8 x;

	__builtin_memcpy(&x, p, sizeof(x));
	return simd_widen_f16(simd_double_u8(x) << 8);
}

/* In the place of an f16's bits it is 256 times too small; 480 would be the number that NaN is. */
SIMD_INLINE vec f8e4m3_load(const void *p)
{
	quarter_i8 x;
	vec y, nan;

	__builtin_memcpy(&x, p, sizeof(x));
	y = simd_widen_f16((simd_double_i8(x) << 7) & 0xbf80);
	y = (vec)((vec_f32)y * 256.0f);
	nan = (vec)((vec_i32)(y & 0x7fffffffu) > 0x43e00000);
	return y | (nan & 0x7fc00000u);
}

/*
 * f32 to 8 bits with @mant of fraction and an exponent whose bias is smaller by @rebias. A normal
 * number is rounded in integers. For a subnormal one the addition of a power of two rounds, whose
 * last place is worth as much as that of the result.
 */
SIMD_INLINE vec f8_narrow(vec x, u32 mant, u32 rebias, u32 over, u32 nan)
{
	const u32 below = 23 - mant, normal_min = (rebias + 1) << 23;
	const u32 power = (rebias + 1 + below) << 23;
	vec magnitude = x & 0x7fffffffu, y, tiny, mask;

	y = (magnitude - (rebias << 23) + ((1u << (below - 1)) - 1) + ((magnitude >> below) & 1)) >> below;
	tiny = (vec)((vec_f32)magnitude + (vec_f32)((vec) { 0 } + power)) - power;
	mask = (vec)((vec_i32)magnitude < (s32)normal_min);
	y = SIMD_SELECT(mask, tiny, y);
	mask = (vec)((vec_i32)y > (s32)over);
	y = SIMD_SELECT(mask, over, y);
	mask = (vec)((vec_i32)magnitude > 0x7f800000);
	if (over == nan)
		mask |= (vec)(y == over);
	y |= (x >> 31) << 7;
	return SIMD_SELECT(mask, nan, y);
}

SIMD_INLINE void f8e4m3_store(void *p, vec x)
{
	u8_store_narrow(p, f8_narrow(x, 3, 127 - 7, 0x7f, 0x7f));
}

SIMD_INLINE void f8e5m2_store(void *p, vec x)
{
	u8_store_narrow(p, f8_narrow(x, 2, 127 - 15, 0x7c, 0x7e));
}

/* Kernels with accumulators in the format @a */
#define FOLD(t, a, op, operand, size, _lanes, _load, _finish, _store)			\
SIMD_DEFINE_FOLD(t##_##op, (vec)operand, .lanes = _lanes, .elem = size, .acc = SIMD_BYTES / (_lanes), .out = size, \
		 .load = _load, .step = a##_step_##op, .finish = _finish, .settle = a##_canonical, \
		 .store = _store, .ordered = true)

#define f32_step_avg	f32_step_sum
#define f64_step_avg	f64_step_sum

#define SUMS(t, a, ranks, size, lanes, load, store)					\
FOLD(t, a, sum, (vec) { 0 }, size, lanes, load, simd_no_finish, store)			\
FOLD(t, a, prod, (vec) { 0 }, size, lanes, load, simd_no_finish, store)			\
FOLD(t, a, avg, ranks, size, lanes, load, a##_divide, store)

SUMS(f32, f32, RANKS_F32, 4, SIMD_LANES, simd_load, simd_store)
SUMS(f64, f64, RANKS_F64, 8, SIMD_LANES / 2, simd_load, simd_store)
SUMS(f16, f32, RANKS_F32, 2, SIMD_LANES, f16_load, f16_store)
SUMS(bf16, f32, RANKS_F32, 2, SIMD_LANES, bf16_load, bf16_store)
SUMS(f8e4m3, f32, RANKS_F32, 1, SIMD_LANES, f8e4m3_load, f8e4m3_store)
SUMS(f8e5m2, f32, RANKS_F32, 1, SIMD_LANES, f8e5m2_load, f8e5m2_store)

/*
 * Order: signed integers that are ordered like the numbers, NaN beyond the end that wins.
 * Magnitudes from @nan_min on are NaN.
 */
#define KEYS(t, bits, nan_min, nan)							\
SIMD_INLINE vec_u##bits t##_flip(vec_u##bits x)						\
{											\
	const u##bits magnitude = (u##bits)~0ull >> 1;					\
											\
	return x ^ ((vec_u##bits)((vec_i##bits)x < (s##bits)0) & magnitude);		\
}											\
											\
SIMD_INLINE vec_u##bits t##_is_nan(vec_u##bits x)					\
{											\
	const u##bits magnitude = (u##bits)~0ull >> 1;					\
											\
	return (vec_u##bits)((vec_i##bits)(x & magnitude) > (s##bits)((nan_min) - 1));	\
}											\
											\
SIMD_INLINE vec t##_key(vec raw, u##bits beyond)					\
{											\
	vec_u##bits x = (vec_u##bits)raw, mask = t##_is_nan(x);				\
											\
	return (vec)SIMD_SELECT(mask, beyond, t##_flip(x));				\
}											\
											\
SIMD_INLINE vec t##_unkey(vec key)							\
{											\
	vec_u##bits x = t##_flip((vec_u##bits)key), mask = t##_is_nan(x);		\
											\
	return (vec)SIMD_SELECT(mask, (u##bits)(nan), x);				\
}											\
											\
SIMD_INLINE vec t##_key_min(vec x)							\
{											\
	return t##_key(x, (u##bits)1 << (bits - 1));					\
}											\
											\
SIMD_INLINE vec t##_key_max(vec x)							\
{											\
	return t##_key(x, (u##bits)~0ull >> 1);						\
}

#define ORDER(t, bits, op)								\
SIMD_INLINE vec t##_load_##op(const void *p)						\
{											\
	return t##_key_##op(simd_load(p));						\
}											\
											\
SIMD_DEFINE_FOLD(t##_##op, (vec) { 0 },							\
		 .lanes = SIMD_BYTES / (bits / 8), .elem = bits / 8, .acc = bits / 8, .out = bits / 8, \
		 .load = t##_load_##op, .step = i##bits##_step_##op, .finish = simd_no_finish, \
		 .settle = t##_unkey, .store = simd_store)

#define EXTREMES(t, bits, nan_min, nan)							\
KEYS(t, bits, nan_min, nan)								\
ORDER(t, bits, min)									\
ORDER(t, bits, max)

EXTREMES(f64, 64, 0x7ff0000000000001, 0x7ff8000000000000)
EXTREMES(f32, 32, 0x7f800001, 0x7fc00000)
EXTREMES(f16, 16, 0x7c01, 0x7e00)
EXTREMES(bf16, 16, 0x7f81, 0x7fc0)
EXTREMES(f8e4m3, 8, 0x7f, 0x7f)
EXTREMES(f8e5m2, 8, 0x7d, 0x7e)

#undef ARITHMETIC
#undef EXTREMES
#undef FOLD
#undef KEYS
#undef ORDER
#undef SUMS

#endif
