/* SPDX-License-Identifier: GPL-2.0-only */
/* What vector_*.h need of an instruction set beyond GCC's vector extensions: NEON. */
#ifndef NETINC_REDUCE_ARM64_OPS_H
#define NETINC_REDUCE_ARM64_OPS_H

/* Both are values of their own: the compiler makes one instruction of neither and what follows. */
#define SIMD_SEPARATE(a, b)	asm("" : "+w" (a), "+w" (b))

/* 32-bit elements in the order that the four 2-bit fields of @order say. */
#ifdef __clang__
#define SIMD_SHUFFLE(x, order)								\
	__builtin_shufflevector(x, x, (order) & 3, (order) >> 2 & 3, (order) >> 4 & 3, (order) >> 6)
#else
#define SIMD_SHUFFLE(x, order)								\
	__builtin_shuffle(x, (vec) { (order) & 3, (order) >> 2 & 3, (order) >> 4 & 3, (order) >> 6 })
#endif

/*
 * The same numbers in elements of twice as many bits: __builtin_convertvector() takes one element
 * after the other. The lower half of a register is widened.
 */
#define SIMD_WIDEN(fn, to, from, instruction, after, before)				\
SIMD_INLINE to fn(from x)								\
{											\
	to y;										\
											\
	asm(instruction " %0" after ", %1" before : "=w" (y) : "w" (x));		\
	return y;									\
}

SIMD_WIDEN(simd_widen_i16, vec, half_i16, "sxtl", ".4s", ".4h")
SIMD_WIDEN(simd_widen_u16, vec, half_u16, "uxtl", ".4s", ".4h")
SIMD_WIDEN(simd_widen_f16, vec, half_u16, "fcvtl", ".4s", ".4h")
SIMD_WIDEN(simd_widen_f32, vec, half_f32, "fcvtl", ".2d", ".2s")
SIMD_WIDEN(simd_double_low_i8, vec, half_u32, "sxtl", ".8h", ".8b")
SIMD_WIDEN(simd_double_low_u8, vec, half_u32, "uxtl", ".8h", ".8b")
#undef SIMD_WIDEN

/* Four bytes are less than any vector register has. */
#define SIMD_WIDEN_BYTES(t)								\
SIMD_INLINE half_u16 simd_double_##t(quarter_##t x)					\
{											\
	half_u32 low = { 0 };								\
	half_u16 y;									\
	vec wide;									\
											\
	__builtin_memcpy(&low, &x, sizeof(x));						\
	wide = simd_double_low_##t(low);						\
	__builtin_memcpy(&y, &wide, sizeof(y));						\
	return y;									\
}

SIMD_WIDEN_BYTES(i8)
SIMD_WIDEN_BYTES(u8)
#undef SIMD_WIDEN_BYTES

SIMD_INLINE vec simd_widen_i8(quarter_i8 x)
{
	return simd_widen_i16((half_i16)simd_double_i8(x));
}

SIMD_INLINE vec simd_widen_u8(quarter_u8 x)
{
	return simd_widen_u16(simd_double_u8(x));
}

SIMD_INLINE half_u16 simd_narrow_f16(vec x)
{
	half_u16 y;

	asm("fcvtn %0.4h, %1.4s" : "=w" (y) : "w" (x));
	return y;
}

#endif
