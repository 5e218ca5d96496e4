/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The common part of the SIMD kernels of x86: vectors, and how sources are walked.
 *
 * x86_avx2.c and x86_avx512.c define SIMD_BYTES (of a vector), SIMD_CHUNK (vectors accumulated side
 * by side) and SIMD (the target attribute of every function), and include this file and the x86_*.h
 * that hold the kernels.
 *
 * One pass: a chunk is accumulated in registers over all sources and written once. What is left
 * below a vector is the last whole vector of the data: it is computed first, while a result in
 * place has not overwritten it yet, and stored last. Only data shorter than a vector goes through a
 * buffer.
 *
 * GCC's vector extensions, because <immintrin.h> needs a libc; the target attribute instead of
 * compiler flags, so that kernel, tests and fuzzers build these files like any other. The kernel
 * calls nothing of it outside an FPU section.
 */
#ifndef NETINC_REDUCE_X86_VECTOR_H
#define NETINC_REDUCE_X86_VECTOR_H

#include "reduce/arith.h"
#include "reduce/kernels.h"

#define SIMD_INLINE	static __always_inline SIMD
#define SIMD_LANES	(SIMD_BYTES / 4u)	/* elements of a vector of 32 bits each */

#define SIMD_VECTOR(name, type, bytes)	typedef type name __attribute__((vector_size(bytes)))

SIMD_VECTOR(vec_u8, u8, SIMD_BYTES);
SIMD_VECTOR(vec_u16, u16, SIMD_BYTES);
SIMD_VECTOR(vec_u32, u32, SIMD_BYTES);
SIMD_VECTOR(vec_u64, u64, SIMD_BYTES);
SIMD_VECTOR(vec_i8, s8, SIMD_BYTES);
SIMD_VECTOR(vec_i16, s16, SIMD_BYTES);
SIMD_VECTOR(vec_i32, s32, SIMD_BYTES);
SIMD_VECTOR(vec_i64, s64, SIMD_BYTES);
SIMD_VECTOR(vec_f32, float, SIMD_BYTES);
SIMD_VECTOR(vec_f64, double, SIMD_BYTES);

/* As many elements as a vector has of 32 bits, in fewer: what is widened to that. */
SIMD_VECTOR(half_u16, u16, SIMD_BYTES / 2);
SIMD_VECTOR(half_i16, s16, SIMD_BYTES / 2);
SIMD_VECTOR(quarter_u8, u8, SIMD_BYTES / 4);
SIMD_VECTOR(quarter_i8, s8, SIMD_BYTES / 4);

/* Half of a vector: what is widened to 64 bits. */
SIMD_VECTOR(half_u32, u32, SIMD_BYTES / 2);
SIMD_VECTOR(half_i32, s32, SIMD_BYTES / 2);
SIMD_VECTOR(half_f32, float, SIMD_BYTES / 2);

/* A mask of the first of every two elements of 64 bits. */
#if SIMD_BYTES == 32
#define SIMD_FIRST	((vec)(vec_u64) { ~0ull, 0, ~0ull, 0 })
#else
#define SIMD_FIRST	((vec)(vec_u64) { ~0ull, 0, ~0ull, 0, ~0ull, 0, ~0ull, 0 })
#endif

/* The type in which vectors are passed around, whatever their elements are. */
typedef vec_u32 vec;

/* a where the mask is set, b elsewhere; all of one type of integers. */
#define SIMD_SELECT(mask, a, b)		(((a) & (mask)) | ((b) & ~(mask)))

/*
 * All vectors of a fold have one step, one result and so on: constants wherever they are passed on,
 * and inlined.
 */
struct simd_kernel {
	unsigned int lanes;			/* elements of one vec */
	/* bytes of an element of src, an accumulator, an element of dst */
	unsigned int elem, acc, out;
	vec (*load)(const void *p);		/* lanes elements, as accumulators */
	vec (*step)(vec acc, vec x);
	vec (*finish)(vec acc, vec operand);	/* division or the like, not for results that go on */
	vec (*settle)(vec acc);			/* after that: NaN becomes canonical */
	void (*store)(void *p, vec x);		/* lanes elements of dst */
};

/* One call of a fold. */
struct simd_job {
	void *dst;
	const void *const *src;
	unsigned int n, count;
	bool resume, unrounded;	/* NETINC_FOLD_CONTINUE, NETINC_FOLD_UNROUNDED */
	vec operand;		/* of finish */
};

SIMD_INLINE vec simd_load(const void *p)
{
	vec x;

	__builtin_memcpy(&x, p, sizeof(x));
	return x;
}

SIMD_INLINE void simd_store(void *p, vec x)
{
	__builtin_memcpy(p, &x, sizeof(x));
}

/* 32-bit elements within each 128 bits, in the order that the four 2-bit fields of @order say. */
#define SIMD_SHUFFLE(x, order) ({							\
	vec shuffled_;									\
	asm("vpshufd %2, %1, %0" : "=v" (shuffled_) : "v" (x), "i" (order));		\
	shuffled_;									\
})

/*
 * y = x in elements of twice or four times as many bits: __builtin_convertvector() gets there, but
 * not in one step.
 */
#define SIMD_EXTEND(instruction, y, x)	asm(instruction " %1, %0" : "=v" (y) : "vm" (x))

SIMD_INLINE vec simd_no_step(vec acc, vec x)
{
	(void)x;
	return acc;
}

SIMD_INLINE vec simd_no_finish(vec acc, vec operand)
{
	(void)operand;
	return acc;
}

SIMD_INLINE vec simd_no_settle(vec acc)
{
	return acc;
}

/* Accumulators of the first source: those of an earlier pass are loaded as they are. */
SIMD_INLINE vec simd_first(const struct simd_job *j, size_t i, const struct simd_kernel *k)
{
	if (k->acc != k->elem && j->resume)
		return simd_load(j->src[0] + i * k->acc);
	return k->load(j->src[0] + i * k->elem);
}

SIMD_INLINE vec simd_result(const struct simd_job *j, vec acc, const struct simd_kernel *k)
{
	return k->settle(j->unrounded ? acc : k->finish(acc, j->operand));
}

SIMD_INLINE void simd_put(const struct simd_job *j, size_t i, vec result, const struct simd_kernel *k)
{
	if (k->acc != k->out && j->unrounded)
		simd_store(j->dst + i * k->acc, result);
	else
		k->store(j->dst + i * k->out, result);
}

SIMD_INLINE vec simd_one(const struct simd_job *j, size_t i, const struct simd_kernel *k)
{
	vec acc = simd_first(j, i, k);
	unsigned int s;

	for (s = 1; s < j->n; s++)
		acc = k->step(acc, k->load(j->src[s] + i * k->elem));
	return simd_result(j, acc, k);
}

SIMD_INLINE void simd_chunk(const struct simd_job *j, size_t i, const struct simd_kernel *k)
{
	vec acc[SIMD_CHUNK];
	unsigned int s, v;

#pragma GCC unroll 8
	for (v = 0; v < SIMD_CHUNK; v++)
		acc[v] = simd_first(j, i + v * k->lanes, k);
	for (s = 1; s < j->n; s++) {
		const void *p = j->src[s] + i * k->elem;

#pragma GCC unroll 8
		for (v = 0; v < SIMD_CHUNK; v++)
			acc[v] = k->step(acc[v], k->load(p + v * k->lanes * k->elem));
	}
#pragma GCC unroll 8
	for (v = 0; v < SIMD_CHUNK; v++)
		simd_put(j, i + v * k->lanes, simd_result(j, acc[v], k), k);
}

/* Less than a vector: through a buffer, of which as much is copied as there is. */
SIMD_INLINE void simd_short(const struct simd_job *j, const struct simd_kernel *k)
{
	u8 buf[SIMD_BYTES] = { 0 };
	const void *src[1] = { buf };
	struct simd_job b = *j;
	unsigned int s;
	vec acc;

	b.dst = buf;
	b.src = src;
	memcpy(buf, j->src[0], j->count * (j->resume ? k->acc : k->elem));
	acc = simd_first(&b, 0, k);
	for (s = 1; s < j->n; s++) {
		memcpy(buf, j->src[s], j->count * k->elem);
		acc = k->step(acc, k->load(buf));
	}
	simd_put(&b, 0, simd_result(j, acc, k), k);
	memcpy(j->dst, buf, j->count * (j->unrounded ? k->acc : k->out));
}

SIMD_INLINE void simd_fold(const struct simd_job *j, const struct simd_kernel *k)
{
	const unsigned int lanes = k->lanes;
	unsigned int i = 0, rest = j->count % lanes;
	vec last = { 0 };

	if (j->count < lanes) {
		simd_short(j, k);
		return;
	}
	if (rest)
		last = simd_one(j, j->count - lanes, k);
	for (; j->count - i >= SIMD_CHUNK * lanes; i += SIMD_CHUNK * lanes)
		simd_chunk(j, i, k);
	for (; j->count - i >= lanes; i += lanes)
		simd_put(j, i, simd_one(j, i, k), k);
	if (rest)
		simd_put(j, j->count - lanes, last, k);
}

/*
 * netinc_fold_fn fn; what follows is a struct simd_kernel's initializers, and what finish() gets.
 */
#define SIMD_DEFINE_FOLD(fn, _operand, ...)						\
static SIMD void fn(void *dst, const void *const *src, unsigned int n, unsigned int count,	\
		    const struct netinc_fold_args *args)				\
{											\
	const struct simd_kernel kernel = { __VA_ARGS__ };				\
	struct simd_job job = {								\
		.dst = dst, .src = src, .n = n, .count = count,				\
		.resume = args->flags & NETINC_FOLD_CONTINUE,				\
		.unrounded = args->flags & NETINC_FOLD_UNROUNDED, .operand = _operand,	\
	};										\
											\
	simd_fold(&job, &kernel);							\
}

#endif
