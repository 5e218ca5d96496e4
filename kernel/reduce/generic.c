// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic reduction kernels: integer arithmetic only, for every CPU, for contexts that cannot have the FPU, and as the
 * reference the SIMD variants are compared with.
 *
 * f32 addition. Both significands are put into 64 bits with 38 bits below the last place of the larger one, so that
 * the sum is exact and is rounded once. The smaller one is shifted right by the difference of exponents, at most by
 * those 38 bits: from 26 on it is less than a quarter of the larger one's last place and more than nothing, and that is
 * all rounding asks. The only branches are those on Inf, NaN and an exact zero: others would be mispredicted half of
 * the time.
 */
#include "reduce/reduce.h"
#include "reduce/bits.h"

#define F32_SIGN	0x80000000u
#define F32_INF		0x7f800000u
#define F32_NAN		0x7fc00000u	/* the canonical quiet NaN */
#define F32_MANT_BITS	23

#define GUARD_BITS	38
/* Where the leading bit of a normalised sum stands: one above that of a normal operand. */
#define SUM_BIT		(F32_MANT_BITS + GUARD_BITS + 1)

/* Elements folded side by side: their chains are independent, which hides the latency of f32_add(). */
#define LANES		8

static inline u32 load32(const void *p, unsigned int i)
{
	__le32 v;

	memcpy(&v, (const u8 *)p + (size_t)i * sizeof(v), sizeof(v));
	return le32_to_cpu(v);
}

static inline void store32(void *p, unsigned int i, u32 x)
{
	__le32 v = cpu_to_le32(x);

	memcpy((u8 *)p + (size_t)i * sizeof(v), &v, sizeof(v));
}

static __always_inline u32 i32_add(u32 a, u32 b)
{
	return a + b;
}

static __always_inline u32 i32_finish(u32 x)
{
	return x;
}

/* |a| >= |b|, and a is Inf or NaN */
static u32 f32_add_special(u32 a, u32 b)
{
	if ((a & ~F32_SIGN) > F32_INF || b == (a ^ F32_SIGN))
		return F32_NAN;
	return a;
}

/* The exponent field above that of a subnormal: numbers with 0 and 1 in it count in the same unit. */
static __always_inline u32 f32_exponent(u32 magnitude)
{
	u32 field = magnitude >> F32_MANT_BITS;

	return field - !!field;
}

/* With its leading bit: what the field has more than f32_exponent() is just where that bit belongs. */
static __always_inline u64 f32_significand(u32 magnitude, u32 exponent)
{
	return (u64)(magnitude - (exponent << F32_MANT_BITS)) << GUARD_BITS;
}

/* Normalise, but not into an exponent that does not exist; round to nearest even: a carry runs into the exponent. */
static __always_inline u32 f32_round(u64 sum, u32 exponent)
{
	u32 shift = min(netinc_clz64(sum) - (63u - SUM_BIT), exponent + 1);
	u64 s = sum << shift;

	s += (1ull << GUARD_BITS) - 1 + ((s >> (GUARD_BITS + 1)) & 1);
	return min(((exponent + 1 - shift) << F32_MANT_BITS) + (u32)(s >> (GUARD_BITS + 1)), F32_INF);
}

static __always_inline u32 f32_add(u32 x, u32 y)
{
	u32 swap = (x ^ y) & ((u32)0 - ((x & ~F32_SIGN) < (y & ~F32_SIGN)));
	u32 a = x ^ swap, b = y ^ swap;
	u32 ma = a & ~F32_SIGN, mb = b & ~F32_SIGN;
	u32 ea = f32_exponent(ma), eb = f32_exponent(mb);
	u64 differ = (s64)(s32)(a ^ b) >> 63;		/* all ones if the signs differ */
	u64 small = f32_significand(mb, eb) >> min(ea - eb, (u32)GUARD_BITS);
	u64 sum = f32_significand(ma, ea) + (small ^ differ) - differ;

	if (unlikely(ma >= F32_INF))
		return f32_add_special(a, b);
	/* An exact zero is +0, but (-0) + (-0) is -0. */
	if (unlikely(!sum))
		return a & b & F32_SIGN;
	return (a & F32_SIGN) | f32_round(sum, ea);
}

static __always_inline u32 f32_finish(u32 x)
{
	return (x & ~F32_SIGN) > F32_INF ? F32_NAN : x;
}

/* lanes elements from the i-th on; add and finish are constants, inlined where this is. */
static __always_inline void fold_lanes(void *dst, const void *const *src, unsigned int n, unsigned int i,
				       unsigned int lanes, u32 (*add)(u32, u32), u32 (*finish)(u32))
{
	u32 acc[LANES];
	unsigned int s, k;

	for (k = 0; k < lanes; k++)
		acc[k] = load32(src[0], i + k);
	for (s = 1; s < n; s++)
		for (k = 0; k < lanes; k++)
			acc[k] = add(acc[k], load32(src[s], i + k));
	for (k = 0; k < lanes; k++)
		store32(dst, i + k, finish(acc[k]));
}

static __always_inline void fold(void *dst, const void *const *src, unsigned int n, unsigned int count,
				 u32 (*add)(u32, u32), u32 (*finish)(u32))
{
	unsigned int i = 0;

	for (; count - i >= LANES; i += LANES)
		fold_lanes(dst, src, n, i, LANES, add, finish);
	for (; i < count; i++)
		fold_lanes(dst, src, n, i, 1, add, finish);
}

static void i32_sum(void *dst, const void *const *src, unsigned int n, unsigned int count,
		    const struct netinc_fold_args *args)
{
	(void)args;
	fold(dst, src, n, count, i32_add, i32_finish);
}

static void f32_sum(void *dst, const void *const *src, unsigned int n, unsigned int count,
		    const struct netinc_fold_args *args)
{
	(void)args;
	fold(dst, src, n, count, f32_add, f32_finish);
}

const struct netinc_reduce netinc_reduce_generic[] = {
	{
		.type = INC_TYPE_I32, .op = INC_OP_SUM, .variant = NETINC_VARIANT_GENERIC,
		.elem_size = 4, .acc_size = 4, .name = "i32-sum-generic", .fold = i32_sum,
	}, {
		.type = INC_TYPE_F32, .op = INC_OP_SUM, .variant = NETINC_VARIANT_GENERIC,
		.elem_size = 4, .acc_size = 4, .name = "f32-sum-generic", .fold = f32_sum,
	},
	{ }
};
