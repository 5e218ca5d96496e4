/* SPDX-License-Identifier: GPL-2.0-only */
/* What vector_*.h need of an instruction set beyond GCC's vector extensions: AVX2 and AVX-512. */
#ifndef NETINC_REDUCE_X86_OPS_H
#define NETINC_REDUCE_X86_OPS_H

/* Both are values of their own: the compiler makes one instruction of neither and what follows. */
#define SIMD_SEPARATE(a, b)	asm("" : "+v" (a), "+v" (b))

/* 32-bit elements within each 128 bits, in the order that the four 2-bit fields of @order say. */
#define SIMD_SHUFFLE(x, order) ({							\
	vec shuffled_;									\
	asm("vpshufd %2, %1, %0" : "=v" (shuffled_) : "v" (x), "i" (order));		\
	shuffled_;									\
})

/*
 * The same numbers in elements of twice or four times as many bits: __builtin_convertvector() gets
 * there, but not in one step.
 */
#define SIMD_WIDEN(fn, to, from, instruction)						\
SIMD_INLINE to fn(from x)								\
{											\
	to y;										\
											\
	asm(instruction " %1, %0" : "=v" (y) : "vm" (x));				\
	return y;									\
}

SIMD_WIDEN(simd_widen_i8, vec, quarter_i8, "vpmovsxbd")
SIMD_WIDEN(simd_widen_u8, vec, quarter_u8, "vpmovzxbd")
SIMD_WIDEN(simd_widen_i16, vec, half_i16, "vpmovsxwd")
SIMD_WIDEN(simd_widen_u16, vec, half_u16, "vpmovzxwd")
SIMD_WIDEN(simd_double_i8, half_u16, quarter_i8, "vpmovsxbw")
SIMD_WIDEN(simd_double_u8, half_u16, quarter_u8, "vpmovzxbw")
SIMD_WIDEN(simd_widen_f16, vec, half_u16, "vcvtph2ps")
#undef SIMD_WIDEN

SIMD_INLINE half_u16 simd_narrow_f16(vec x)
{
	half_u16 y;

	asm("vcvtps2ph $0, %1, %0" : "=v" (y) : "v" (x));
	return y;
}

SIMD_INLINE vec simd_widen_f32(half_f32 x)
{
	return (vec)__builtin_convertvector(x, vec_f64);
}

#endif
