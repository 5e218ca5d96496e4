/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SIMD conversions between floating-point types and scaling: folds of one source, which differ in
 * load or finish.
 */
#ifndef NETINC_REDUCE_VECTOR_CONVERT_H
#define NETINC_REDUCE_VECTOR_CONVERT_H

#include "reduce/vector_float.h"

#define CONVERT(from, to, _lanes, _elem, _out, _load, _settle, _store)			\
static SIMD void from##_to_##to(void *dst, const void *src, unsigned int count)	\
{											\
	const struct simd_kernel kernel = {						\
		.lanes = _lanes, .elem = _elem, .acc = _elem, .out = _out, .load = _load,	\
		.step = simd_no_step, .finish = simd_no_finish, .settle = _settle, .store = _store,	\
	};										\
	const struct simd_job job = { .dst = dst, .src = &src, .n = 1, .count = count };	\
											\
	simd_fold(&job, &kernel);							\
}

#define BOTH_WAYS(t, size)								\
CONVERT(f32, t, SIMD_LANES, 4, size, simd_load, f32_canonical, t##_store)		\
CONVERT(t, f32, SIMD_LANES, size, 4, t##_load, f32_canonical, simd_store)

SIMD_INLINE vec f32_load_f64(const void *p)
{
	half_f32 x;

	__builtin_memcpy(&x, p, sizeof(x));
	return simd_widen_f32(x);
}

SIMD_INLINE void f64_store_f32(void *p, vec x)
{
	half_f32 y = __builtin_convertvector((vec_f64)x, half_f32);

	__builtin_memcpy(p, &y, sizeof(y));
}

CONVERT(f32, f64, SIMD_LANES / 2, 4, 8, f32_load_f64, f64_canonical, simd_store)
CONVERT(f64, f32, SIMD_LANES / 2, 8, 4, simd_load, f64_canonical, f64_store_f32)
BOTH_WAYS(f16, 2)
BOTH_WAYS(bf16, 2)
BOTH_WAYS(f8e4m3, 1)
BOTH_WAYS(f8e5m2, 1)

#define SCALE(t, type, _lanes, size)							\
static SIMD void t##_scale(void *data, unsigned int count, u64 weight)			\
{											\
	const struct simd_kernel kernel = {						\
		.lanes = _lanes, .elem = size, .acc = size, .out = size, .load = simd_load,	\
		.step = simd_no_step, .finish = t##_step_prod, .settle = t##_canonical, .store = simd_store,	\
	};										\
	const void *src = data;								\
	struct simd_job job = { .dst = data, .src = &src, .n = 1, .count = count };	\
	double w;									\
											\
	__builtin_memcpy(&w, &weight, sizeof(w));					\
	job.operand = (vec)((type)w - (vec_##t) { 0 });					\
	simd_fold(&job, &kernel);							\
}

/* Both parts of a complex number alike. */
#define SCALE_PARTS(t, part)								\
static SIMD void t##_scale(void *data, unsigned int count, u64 weight)			\
{											\
	part##_scale(data, 2 * count, weight);						\
}

SCALE(f32, float, SIMD_LANES, 4)
SCALE(f64, double, SIMD_LANES / 2, 8)
SCALE_PARTS(c32, f32)
SCALE_PARTS(c64, f64)

#undef BOTH_WAYS
#undef CONVERT
#undef SCALE
#undef SCALE_PARTS

#endif
