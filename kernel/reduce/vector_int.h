/* SPDX-License-Identifier: GPL-2.0-only */
/* SIMD kernels of integers and bool. */
#ifndef NETINC_REDUCE_VECTOR_INT_H
#define NETINC_REDUCE_VECTOR_INT_H

#include "reduce/vector_fold.h"

#define PLAIN(t, bits, op, _load, _step)						\
SIMD_DEFINE_FOLD(t##_##op, (vec) { 0 },							\
		 .lanes = SIMD_BYTES / (bits / 8), .elem = bits / 8, .acc = bits / 8, .out = bits / 8, \
		 .load = _load, .step = _step, .finish = simd_no_finish, .settle = simd_no_settle, \
		 .store = simd_store)

#define STEP(t, op, operator)								\
SIMD_INLINE vec t##_step_##op(vec a, vec b)						\
{											\
	return (vec)((vec_##t)a operator (vec_##t)b);					\
}

#define ORDER(t, bits, op, operator)							\
SIMD_INLINE vec t##_step_##op(vec a, vec b)						\
{											\
	vec mask = (vec)((vec_##t)a operator (vec_##t)b);				\
											\
	return SIMD_SELECT(mask, a, b);							\
}											\
											\
PLAIN(t, bits, op, simd_load, t##_step_##op)

#define WIDTH(bits)									\
STEP(u##bits, sum, +)									\
STEP(u##bits, prod, *)									\
STEP(u##bits, band, &)									\
STEP(u##bits, bor, |)									\
STEP(u##bits, bxor, ^)									\
											\
SIMD_INLINE vec u##bits##_load_truth(const void *p)					\
{											\
	return (vec)((vec_u##bits)((vec_u##bits)simd_load(p) != (u##bits)0) & (u##bits)1); \
}											\
											\
PLAIN(u##bits, bits, sum, simd_load, u##bits##_step_sum)					\
PLAIN(u##bits, bits, prod, simd_load, u##bits##_step_prod)					\
PLAIN(u##bits, bits, band, simd_load, u##bits##_step_band)					\
PLAIN(u##bits, bits, bor, simd_load, u##bits##_step_bor)					\
PLAIN(u##bits, bits, bxor, simd_load, u##bits##_step_bxor)					\
PLAIN(u##bits, bits, land, u##bits##_load_truth, u##bits##_step_band)				\
PLAIN(u##bits, bits, lor, u##bits##_load_truth, u##bits##_step_bor)				\
PLAIN(u##bits, bits, lxor, u##bits##_load_truth, u##bits##_step_bxor)				\
ORDER(u##bits, bits, min, <)								\
ORDER(u##bits, bits, max, >)								\
ORDER(i##bits, bits, min, <)								\
ORDER(i##bits, bits, max, >)

WIDTH(8)
WIDTH(16)
WIDTH(32)
WIDTH(64)

/* Elements of 8 and 16 bits in lanes of 32. */
#define WIDEN(t, part, half)								\
SIMD_INLINE vec t##_load_wide(const void *p)						\
{											\
	part x;										\
											\
	__builtin_memcpy(&x, p, sizeof(x));						\
	return simd_widen_##t(x);							\
}											\
											\
SIMD_INLINE void t##_store_narrow(void *p, vec x)					\
{											\
	part y = __builtin_convertvector(__builtin_convertvector((vec_i32)x, half), part);	\
											\
	__builtin_memcpy(p, &y, sizeof(y));						\
}

WIDEN(i8, quarter_i8, half_i16)
WIDEN(u8, quarter_u8, half_u16)
WIDEN(i16, half_i16, half_i16)
WIDEN(u16, half_u16, half_u16)

/* Saturation: the exact sum is clamped, once */
#define SATURATE(t, size, lowest, highest)							\
SIMD_INLINE vec t##_clamp(vec x, vec operand)						\
{											\
	vec low = (vec)((vec_i32)x < (lowest)), high = (vec)((vec_i32)x > (highest));	\
											\
	(void)operand;									\
	x = SIMD_SELECT(low, (u32)(lowest), x);						\
	return SIMD_SELECT(high, (u32)(highest), x);					\
}											\
											\
SIMD_DEFINE_FOLD(t##_sum_saturate, (vec) { 0 },						\
		 .lanes = SIMD_LANES, .elem = size, .acc = 4, .out = size,		\
		 .load = t##_load_wide, .step = u32_step_sum, .finish = t##_clamp,	\
		 .settle = simd_no_settle, .store = t##_store_narrow)

SATURATE(i8, 1, -128, 127)
SATURATE(i16, 2, -32768, 32767)
SATURATE(u8, 1, 0, 255)
SATURATE(u16, 2, 0, 65535)

/*
 * Averages: the wrapped sum first, then the quotients in place. There is no division of integers,
 * but one of floats with more than twice as many bits is as good: a quotient that is no integer is
 * further from the next one than a rounding moves it.
 */
SIMD_INLINE vec i32_quotient_f32(vec x, vec operand)
{
	return (vec)__builtin_convertvector(__builtin_convertvector((vec_i32)x, vec_f32) / (vec_f32)operand, vec_i32);
}

SIMD_INLINE vec quotient_f64(vec x, vec operand)
{
	return (vec)((vec_f64)x / (vec_f64)operand);
}

#define VIA_F64(t, part)								\
SIMD_INLINE vec t##_load_f64(const void *p)						\
{											\
	part x;										\
											\
	__builtin_memcpy(&x, p, sizeof(x));						\
	return (vec)__builtin_convertvector(x, vec_f64);				\
}											\
											\
SIMD_INLINE void t##_store_f64(void *p, vec x)						\
{											\
	part y = __builtin_convertvector((vec_f64)x, part);				\
											\
	__builtin_memcpy(p, &y, sizeof(y));						\
}

VIA_F64(i32, half_i32)
VIA_F64(u32, half_u32)

/* Kernels of one source, which is dst. */
#define QUOTIENT(t, size, _lanes, operand, _load, _finish, _store)				\
SIMD_DEFINE_FOLD(t##_quotient, (vec)operand,						\
		 .lanes = _lanes, .elem = size, .acc = size, .out = size, .load = _load, \
		 .step = simd_no_step, .finish = _finish, .settle = simd_no_settle, .store = _store)

#define RANKS_F32	((float)args->ranks - (vec_f32) { 0 })
#define RANKS_F64	((double)args->ranks - (vec_f64) { 0 })

QUOTIENT(i8, 1, SIMD_LANES, RANKS_F32, i8_load_wide, i32_quotient_f32, i8_store_narrow)
QUOTIENT(u8, 1, SIMD_LANES, RANKS_F32, u8_load_wide, i32_quotient_f32, u8_store_narrow)
QUOTIENT(i16, 2, SIMD_LANES, RANKS_F32, i16_load_wide, i32_quotient_f32, i16_store_narrow)
QUOTIENT(u16, 2, SIMD_LANES, RANKS_F32, u16_load_wide, i32_quotient_f32, u16_store_narrow)
QUOTIENT(i32, 4, SIMD_LANES / 2, RANKS_F64, i32_load_f64, quotient_f64, i32_store_f64)
QUOTIENT(u32, 4, SIMD_LANES / 2, RANKS_F64, u32_load_f64, quotient_f64, u32_store_f64)

#define QUOTIENT_64(t, divide)								\
static void t##_quotient(void *dst, const void *const *src, unsigned int n, unsigned int count,	\
			 const struct netinc_fold_args *args)				\
{											\
	unsigned int i;									\
											\
	(void)n;									\
	for (i = 0; i < count; i++)							\
		netinc_put_le64(dst + i * 8, divide(netinc_get_le64(src[0] + i * 8), args->ranks, false)); \
}

QUOTIENT_64(i64, netinc_div_signed)
QUOTIENT_64(u64, netinc_div_unsigned)

#define AVERAGE(t, u)									\
static SIMD void t##_avg(void *dst, const void *const *src, unsigned int n, unsigned int count,	\
			 const struct netinc_fold_args *args)				\
{											\
	const struct netinc_fold_args quotient = { .ranks = args->ranks };		\
	const void *sum[1] = { dst };							\
											\
	u##_sum(dst, src, n, count, args);						\
	if (!(args->flags & NETINC_FOLD_UNROUNDED))					\
		t##_quotient(dst, sum, 1, count, &quotient);				\
}

AVERAGE(i8, u8)
AVERAGE(u8, u8)
AVERAGE(i16, u16)
AVERAGE(u16, u16)
AVERAGE(i32, u32)
AVERAGE(u32, u32)
AVERAGE(i64, u64)
AVERAGE(u64, u64)

#undef AVERAGE
#undef ORDER
#undef PLAIN
#undef QUOTIENT
#undef QUOTIENT_64
#undef STEP
#undef WIDTH

#endif
