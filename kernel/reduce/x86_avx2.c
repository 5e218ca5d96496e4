// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reduction kernels for AVX2: the bits of generic.c, at the speed of memory.
 *
 * One pass: a chunk of four vectors is accumulated in registers over all sources and written once. Additions happen
 * in the order of generic.c, one rounding each; a NaN that comes up anywhere stays a NaN to the end of the chain,
 * where it is made canonical. What is left below a vector is loaded and stored under a mask, so that nothing beyond
 * count elements is touched.
 *
 * GCC's vector extensions, because <immintrin.h> needs a libc; the target attribute instead of compiler flags, so that
 * kernel, tests and fuzzers build this file like any other. The kernel calls nothing of it outside an FPU section.
 */
#include "reduce/reduce.h"

#ifdef __x86_64__

#define AVX2		__attribute__((target("avx2")))
#define VECTOR		__attribute__((vector_size(32)))
#define LANES		8u	/* elements of a vector */
#define CHUNK		4u	/* vectors accumulated side by side, to hide the latency of an addition */
#define ELEM		4u	/* bytes */

#define F32_NAN		0x7fc00000u	/* the canonical quiet NaN */

/* What the elements are: a constant wherever it is passed on, so that every kernel is compiled by itself. */
enum kind { I32_SUM, F32_SUM };

/* From lane_masks[LANES - rest] on: a mask with the first rest lanes set. */
static const u32 lane_masks[2 * LANES] = { ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u };

static __always_inline AVX2 u32 VECTOR load(const void *p)
{
	u32 VECTOR x;

	__builtin_memcpy(&x, p, sizeof(x));
	return x;
}

static __always_inline AVX2 void store(void *p, u32 VECTOR x)
{
	__builtin_memcpy(p, &x, sizeof(x));
}

/* No memory operand, whose extent depends on the mask: "memory" stands for it. */
static __always_inline AVX2 u32 VECTOR load_masked(const void *p, u32 VECTOR mask)
{
	u32 VECTOR x;

	asm volatile("vpmaskmovd (%1), %2, %0" : "=x" (x) : "r" (p), "x" (mask) : "memory");
	return x;
}

static __always_inline AVX2 void store_masked(void *p, u32 VECTOR x, u32 VECTOR mask)
{
	asm volatile("vpmaskmovd %1, %2, (%0)" : : "r" (p), "x" (x), "x" (mask) : "memory");
}

static __always_inline AVX2 u32 VECTOR add(u32 VECTOR a, u32 VECTOR b, enum kind kind)
{
	if (kind == F32_SUM)
		return (u32 VECTOR)((float VECTOR)a + (float VECTOR)b);
	return a + b;
}

static __always_inline AVX2 u32 VECTOR finish(u32 VECTOR x, enum kind kind)
{
	float VECTOR f = (float VECTOR)x;
	u32 VECTOR nan = (u32 VECTOR)(f != f);

	return kind == F32_SUM ? (x & ~nan) | (nan & F32_NAN) : x;
}

static __always_inline AVX2 void fold_chunk(void *dst, const void *const *src, unsigned int n, size_t off,
					    enum kind kind)
{
	const void *p = src[0] + off;
	u32 VECTOR acc0 = load(p), acc1 = load(p + 32), acc2 = load(p + 64), acc3 = load(p + 96);
	unsigned int s;

	for (s = 1; s < n; s++) {
		p = src[s] + off;
		acc0 = add(acc0, load(p), kind);
		acc1 = add(acc1, load(p + 32), kind);
		acc2 = add(acc2, load(p + 64), kind);
		acc3 = add(acc3, load(p + 96), kind);
	}
	store(dst + off, finish(acc0, kind));
	store(dst + off + 32, finish(acc1, kind));
	store(dst + off + 64, finish(acc2, kind));
	store(dst + off + 96, finish(acc3, kind));
}

static __always_inline AVX2 void fold_vector(void *dst, const void *const *src, unsigned int n, size_t off,
					     enum kind kind)
{
	u32 VECTOR acc = load(src[0] + off);
	unsigned int s;

	for (s = 1; s < n; s++)
		acc = add(acc, load(src[s] + off), kind);
	store(dst + off, finish(acc, kind));
}

static __always_inline AVX2 void fold_rest(void *dst, const void *const *src, unsigned int n, size_t off,
					   unsigned int rest, enum kind kind)
{
	u32 VECTOR mask = load(&lane_masks[LANES - rest]);
	u32 VECTOR acc = load_masked(src[0] + off, mask);
	unsigned int s;

	for (s = 1; s < n; s++)
		acc = add(acc, load_masked(src[s] + off, mask), kind);
	store_masked(dst + off, finish(acc, kind), mask);
}

static __always_inline AVX2 void fold(void *dst, const void *const *src, unsigned int n, unsigned int count,
				      enum kind kind)
{
	unsigned int i = 0;

	for (; count - i >= CHUNK * LANES; i += CHUNK * LANES)
		fold_chunk(dst, src, n, (size_t)i * ELEM, kind);
	for (; count - i >= LANES; i += LANES)
		fold_vector(dst, src, n, (size_t)i * ELEM, kind);
	if (count - i)
		fold_rest(dst, src, n, (size_t)i * ELEM, count - i, kind);
}

static AVX2 void i32_sum(void *dst, const void *const *src, unsigned int n, unsigned int count,
		    const struct netinc_fold_args *args)
{
	(void)args;
	fold(dst, src, n, count, I32_SUM);
}

static AVX2 void f32_sum(void *dst, const void *const *src, unsigned int n, unsigned int count,
		    const struct netinc_fold_args *args)
{
	(void)args;
	fold(dst, src, n, count, F32_SUM);
}

const struct netinc_reduce netinc_reduce_avx2[] = {
	{
		.type = INC_TYPE_I32, .op = INC_OP_SUM, .variant = NETINC_VARIANT_AVX2,
		.elem_size = 4, .acc_size = 4, .fpu = true, .features = NETINC_CPU_AVX2,
		.name = "i32-sum-avx2", .fold = i32_sum,
	}, {
		.type = INC_TYPE_F32, .op = INC_OP_SUM, .variant = NETINC_VARIANT_AVX2,
		.elem_size = 4, .acc_size = 4, .fpu = true, .features = NETINC_CPU_AVX2,
		.name = "f32-sum-avx2", .fold = f32_sum,
	},
	{ }
};

#endif
