/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The common part of the SIMD kernels: vectors, and how sources are walked.
 *
 * x86_avx2.c, x86_avx512.c and arm64_neon.c define SIMD_BYTES (of a vector), SIMD_CHUNK (vectors
 * accumulated side by side) and SIMD (the target attribute of every function), and include the
 * vector_*.h that hold the kernels. What differs between the instruction sets is in x86_ops.h and
 * arm64_ops.h.
 *
 * One pass: a chunk is accumulated in registers over all sources and written once. Where the order
 * matters sources are folded by fours, and what is folded of these waits on a stack, see order.h;
 * everything else is folded from left to right. What is left below a vector is the last whole
 * vector of the data: it is computed first, while a result in place has not overwritten it yet, and
 * stored last. Only data shorter than a vector goes through a buffer.
 *
 * GCC's vector extensions, because <immintrin.h> needs a libc; the target attribute instead of
 * compiler flags, so that kernel, tests and fuzzers build these files like any other. The kernel
 * calls nothing of it outside an FPU section.
 */
#ifndef NETINC_REDUCE_VECTOR_FOLD_H
#define NETINC_REDUCE_VECTOR_FOLD_H

#include "reduce/arith.h"
#include "reduce/kernels.h"
#include "reduce/order.h"

#define SIMD_INLINE	static __always_inline SIMD
/* Of what sanitizers would make of an unrolled loop the compiler would have minutes to do. */
#ifdef __SANITIZE_ADDRESS__
#define simd_for_each(v, n)	for (v = 0; v < (n); v++)
#else
#define simd_for_each(v, n)	_Pragma("GCC unroll 8") for (v = 0; v < (n); v++)
#endif

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
#if SIMD_BYTES == 16
#define SIMD_FIRST	((vec)(vec_u64) { ~0ull, 0 })
#elif SIMD_BYTES == 32
#define SIMD_FIRST	((vec)(vec_u64) { ~0ull, 0, ~0ull, 0 })
#else
#define SIMD_FIRST	((vec)(vec_u64) { ~0ull, 0, ~0ull, 0, ~0ull, 0, ~0ull, 0 })
#endif

/* What waits while sources are folded by fours: of 8 and of 4 of them. */
#define SIMD_STACK	2

/* The type in which vectors are passed around, whatever their elements are. */
typedef vec_u32 vec;

#ifdef __x86_64__
#include "reduce/x86_ops.h"
#else
#include "reduce/arm64_ops.h"
#endif

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
	/* the result depends on the order in which steps are done: sums and products of floats */
	bool ordered;
};

/* One call of a fold. */
struct simd_job {
	void *dst;
	const void *const *src;
	unsigned int n, count;
	bool resume, unrounded;	/* NETINC_FOLD_ACCUMULATORS, NETINC_FOLD_UNROUNDED */
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

/* Accumulators of the first source: those of earlier passes are loaded as they are. */
SIMD_INLINE vec simd_first(const struct simd_job *j, size_t i, const struct simd_kernel *k)
{
	if (k->acc != k->elem && j->resume)
		return simd_load(j->src[0] + i * k->acc);
	return k->load(j->src[0] + i * k->elem);
}

SIMD_INLINE vec simd_source(const struct simd_job *j, unsigned int s, size_t i,
			    const struct simd_kernel *k)
{
	return k->load(j->src[s] + i * k->elem);
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

/* Sources [@s, @s + @n), 1 <= @n <= 4, of @chunk vectors from element @i on. */
SIMD_INLINE void simd_few(const struct simd_job *j, unsigned int s, unsigned int n, size_t i,
			  const struct simd_kernel *k, vec *acc, const unsigned int chunk)
{
	const size_t step = k->lanes;
	unsigned int v;

	simd_for_each(v, chunk)
		acc[v] = s ? simd_source(j, s, i + v * step, k) : simd_first(j, i + v * step, k);
	if (n == 1)
		return;
	simd_for_each(v, chunk)
		acc[v] = k->step(acc[v], simd_source(j, s + 1, i + v * step, k));
	if (n == 2)
		return;
	if (n == 3) {
		simd_for_each(v, chunk)
			acc[v] = k->step(acc[v], simd_source(j, s + 2, i + v * step, k));
		return;
	}
	simd_for_each(v, chunk)
		acc[v] = k->step(acc[v], k->step(simd_source(j, s + 2, i + v * step, k),
						 simd_source(j, s + 3, i + v * step, k)));
}

/* All sources of @chunk vectors, from left to right. */
SIMD_INLINE void simd_in_a_row(const struct simd_job *j, size_t i, const struct simd_kernel *k,
			       vec *acc, const unsigned int chunk)
{
	unsigned int s, v;

	simd_for_each(v, chunk)
		acc[v] = simd_first(j, i + v * k->lanes, k);
	for (s = 1; s < j->n; s++)
		simd_for_each(v, chunk)
			acc[v] = k->step(acc[v], simd_source(j, s, i + v * k->lanes, k));
}

/* All sources of @chunk vectors, by fours; @stack: SIMD_STACK x @chunk. */
SIMD_INLINE void simd_tree(const struct simd_job *j, size_t i, const struct simd_kernel *k,
			   vec *acc, vec *stack, const unsigned int chunk)
{
	unsigned int s, t, v, top = 0;

	for (s = 0;; s += 4) {
		const bool last = j->n - s <= 4;

		simd_few(j, s, last ? j->n - s : 4, i, k, acc, chunk);
		for (t = last ? top : netinc_order_joins(s / 4); t; t--, top--) {
			simd_for_each(v, chunk)
				acc[v] = k->step(stack[(top - 1) * chunk + v], acc[v]);
		}
		if (last)
			return;
		simd_for_each(v, chunk)
			stack[top * chunk + v] = acc[v];
		top++;
	}
}

SIMD_INLINE vec simd_one(const struct simd_job *j, size_t i, const struct simd_kernel *k,
			 vec *stack)
{
	vec acc;

	if (k->ordered)
		simd_tree(j, i, k, &acc, stack, 1);
	else
		simd_in_a_row(j, i, k, &acc, 1);
	return simd_result(j, acc, k);
}

SIMD_INLINE void simd_many(const struct simd_job *j, size_t i, const struct simd_kernel *k,
			   vec *stack)
{
	vec acc[SIMD_CHUNK];
	unsigned int v;

	if (k->ordered)
		simd_tree(j, i, k, acc, stack, SIMD_CHUNK);
	else
		simd_in_a_row(j, i, k, acc, SIMD_CHUNK);
	simd_for_each(v, SIMD_CHUNK)
		simd_put(j, i + v * k->lanes, simd_result(j, acc[v], k), k);
}

/* Less than a vector: through a buffer, of which as much is copied as there is. */
SIMD_INLINE void simd_short(const struct simd_job *j, const struct simd_kernel *k)
{
	u8 buf[SIMD_BYTES] = { 0 };
	const void *src[1] = { buf };
	vec stack[NETINC_ORDER_LEVELS];
	struct simd_job b = *j;
	unsigned int s, t, top;

	b.dst = buf;
	b.src = src;
	for (top = 0, s = 0; s < j->n; s++) {
		memcpy(buf, j->src[s], j->count * (j->resume ? k->acc : k->elem));
		stack[top] = simd_first(&b, 0, k);
		for (t = s + 1 < j->n ? netinc_order_joins(s) : top; t; t--, top--)
			stack[top - 1] = k->step(stack[top - 1], stack[top]);
		top++;
	}
	simd_put(&b, 0, simd_result(j, stack[0], k), k);
	memcpy(j->dst, buf, j->count * (j->unrounded ? k->acc : k->out));
}

SIMD_INLINE void simd_fold(const struct simd_job *j, const struct simd_kernel *k)
{
	const unsigned int lanes = k->lanes;
	unsigned int i = 0, rest = j->count % lanes;
	vec stack[SIMD_STACK * SIMD_CHUNK], last = { 0 };

	if (j->count < lanes) {
		simd_short(j, k);
		return;
	}
	if (rest)
		last = simd_one(j, j->count - lanes, k, stack);
	for (; j->count - i >= SIMD_CHUNK * lanes; i += SIMD_CHUNK * lanes)
		simd_many(j, i, k, stack);
	for (; j->count - i >= lanes; i += lanes)
		simd_put(j, i, simd_one(j, i, k, stack), k);
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
		.resume = args->flags & NETINC_FOLD_ACCUMULATORS,			\
		.unrounded = args->flags & NETINC_FOLD_UNROUNDED, .operand = _operand,	\
	};										\
											\
	simd_fold(&job, &kernel);							\
}

#endif
