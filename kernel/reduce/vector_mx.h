/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SIMD kernels of block floats, see generic_mx.c: block after block, whose 32 values are a few
 * vectors of f32 on the way.
 */
#ifndef NETINC_REDUCE_VECTOR_MX_H
#define NETINC_REDUCE_VECTOR_MX_H

#include "reduce/vector_float.h"

#define MX_VECS		(INC_MX_VALUES / SIMD_LANES)
#define MX_SCALE_NAN	0xffu

/* A kernel: a format, and what is done to values. Constants wherever they are passed on. */
struct simd_mx {
	/*
	 * elements are blocks; load and store take values, one in a byte, and store no Inf and no
	 * NaN; step and the others take f32, or keys
	 */
	struct simd_kernel of;
	unsigned int emax;	/* exponent of the format's largest number */
	bool nibbles;		/* two values are in a byte */
	bool keys;		/* steps take the keys of f32, see vector_float.h, */
	u32 beyond;		/* with NaN here */
	u64 magnitude;		/* of 8 bytes of values: bits that are 0 in +0 and -0 */
};

/* Values, one in a byte */

SIMD_INLINE void mxf8e4m3_store(void *p, vec x)
{
	u8_store_narrow(p, f8_narrow(x, 3, 127 - 7, 0x7e, 0x7f));
}

SIMD_INLINE void mxf8e5m2_store(void *p, vec x)
{
	u8_store_narrow(p, f8_narrow(x, 2, 127 - 15, 0x7b, 0x7e));
}

/* 0 and 1/2 are subnormal: with the exponent of what is normal they are larger by 1. */
SIMD_INLINE vec mxf4e2m1_load(const void *p)
{
	vec x = u8_load_wide(p), magnitude = (x & 7) << 22, tiny, y;
	vec mask = (vec)((vec_i32)(x & 7) < 2);

	tiny = (vec)((vec_f32)(magnitude + (127u << 23)) - 1.0f);
	y = magnitude + (126u << 23);
	return SIMD_SELECT(mask, tiny, y) | (x & 8) << 28;
}

SIMD_INLINE void mxf4e2m1_store(void *p, vec x)
{
	vec y = f8_narrow(x, 1, 127 - 1, 7, 0);

	u8_store_narrow(p, (y & 7) | (y >> 4 & 8));
}

SIMD_INLINE vec mxi8_load(const void *p)
{
	return (vec)(__builtin_convertvector((vec_i32)i8_load_wide(p), vec_f32) * (1.0f / 64));
}

/* The addition rounds: the last place of 1.5 x 2^23 is worth 1. */
SIMD_INLINE void mxi8_store(void *p, vec x)
{
	vec_i32 y = (vec_i32)((vec_f32)x * 64.0f + 12582912.0f) - 0x4b400000, mask;

	mask = y > 127;
	y = SIMD_SELECT(mask, 127, y);
	mask = y < -127;
	y = SIMD_SELECT(mask, -127, y);
	u8_store_narrow(p, (vec)y);
}

/* Blocks */

/* 8 values of 4 bits each become bytes, and the other way round. */
SIMD_INLINE u64 mx_spread(u64 x)
{
	x = (x | x << 16) & 0x0000ffff0000ffffull;
	x = (x | x << 8) & 0x00ff00ff00ff00ffull;
	return (x | x << 4) & 0x0f0f0f0f0f0f0f0full;
}

SIMD_INLINE u32 mx_gather(u64 x)
{
	x = (x | x >> 4) & 0x00ff00ff00ff00ffull;
	x = (x | x >> 8) & 0x0000ffff0000ffffull;
	return x | x >> 16;
}

/* 2^(@exponent - 127), which is subnormal for 0. */
SIMD_INLINE vec mx_power(u32 exponent)
{
	return (vec) { 0 } + (exponent ? exponent << 23 : 1u << 22);
}

/* f32 as steps take it. */
SIMD_INLINE vec mx_enter(vec x, const struct simd_mx *k)
{
	return k->keys ? f32_key(x, k->beyond) : x;
}

SIMD_INLINE void mx_load(vec *to, const u8 *block, const struct simd_mx *k)
{
	vec scale = block[0] == MX_SCALE_NAN ? (vec) { 0 } + 0x7fc00000u : mx_power(block[0]);
	const u8 *values = block + 1;
	u8 buf[INC_MX_VALUES];
	unsigned int i;

	if (k->nibbles) {
		for (i = 0; i < INC_MX_VALUES; i += 8)
			netinc_put_le64(buf + i, mx_spread(netinc_get_le32(values + i / 2)));
		values = buf;
	}
	simd_for_each(i, MX_VECS) {
		to[i] = (vec)((vec_f32)k->of.load(values + i * SIMD_LANES) * (vec_f32)scale);
		/* what is too large is Inf before it is added to anything */
		SIMD_SEPARATE(to[i], scale);
		to[i] = mx_enter(to[i], k);
	}
}

/* The largest of all magnitudes, as bits. */
SIMD_INLINE u32 mx_largest(const vec *x)
{
	vec m = x[0] & 0x7fffffffu;
	unsigned int i;
	u32 most = 0;

	for (i = 1; i < MX_VECS; i++)
		m = i32_step_max(m, x[i] & 0x7fffffffu);
	m = i32_step_max(m, SIMD_SHUFFLE(m, 0x4e));
	m = i32_step_max(m, SIMD_SHUFFLE(m, 0xb1));
	for (i = 0; i < SIMD_LANES; i += 4)
		most = max(most, m[i]);
	return most;
}

/* The values, which are bytes, in @values; a block of zeros has no scale and no signs. */
SIMD_INLINE void mx_finish(u8 *block, const u8 *values, const struct simd_mx *k)
{
	u64 any = 0, x;
	unsigned int i;

	for (i = 0; i < INC_MX_VALUES; i += 8) {
		x = netinc_get_le64(values + i);
		any |= x & k->magnitude;
		if (k->nibbles)
			netinc_put_le32(block + 1 + i / 2, mx_gather(x));
	}
	if (!any)
		memset(block, 0, k->of.elem);
}

SIMD_INLINE void mx_store(u8 *block, const vec *x, const struct simd_mx *k)
{
	u32 most = mx_largest(x), exponent = most >> 23;
	u8 buf[INC_MX_VALUES], *values = k->nibbles ? buf : block + 1;
	unsigned int i;
	vec scale;

	if (most >= 0x7f800000u) {
		memset(block, 0, k->of.elem);
		block[0] = MX_SCALE_NAN;
		return;
	}
	block[0] = exponent - min(exponent, k->emax);
	scale = mx_power(254 - block[0]);
	simd_for_each(i, MX_VECS)
		k->of.store(values + i * SIMD_LANES, (vec)((vec_f32)x[i] * (vec_f32)scale));
	mx_finish(block, values, k);
}

/* Folds */

/* All sources' block @at, to a[0]. */
SIMD_INLINE void mx_fold_block(vec (*a)[MX_VECS], const struct simd_job *j, size_t at,
			       const struct simd_mx *k)
{
	unsigned int s, i, join, top = 0;

	for (s = 0; s < j->n; s++) {
		mx_load(a[top], j->src[s] + at * k->of.elem, k);
		join = s + 1 < j->n ? netinc_order_joins(s) : top;
		for (; join; join--, top--) {
			simd_for_each(i, MX_VECS)
				a[top - 1][i] = k->of.step(a[top - 1][i], a[top][i]);
		}
		top++;
	}
}

SIMD_INLINE void mx_load_wide(vec *to, const void *from, const struct simd_mx *k)
{
	unsigned int i;

	for (i = 0; i < MX_VECS; i++)
		to[i] = mx_enter(simd_load(from + i * SIMD_BYTES), k);
}

SIMD_INLINE void mx_store_wide(void *to, const vec *x, const struct simd_mx *k)
{
	unsigned int i;

	for (i = 0; i < MX_VECS; i++)
		simd_store(to + i * SIMD_BYTES, x[i]);
	memset(to + MX_VECS * SIMD_BYTES, 0, k->of.acc - MX_VECS * SIMD_BYTES);
}

SIMD_INLINE void mx_fold(const struct simd_job *j, const struct simd_mx *k)
{
	vec a[NETINC_ORDER_LEVELS][MX_VECS];
	unsigned int i;
	size_t at;

	for (at = 0; at < j->count; at++) {
		if (j->resume)
			mx_load_wide(a[0], j->src[0] + at * k->of.acc, k);
		else
			mx_fold_block(a, j, at, k);
		for (i = 0; i < MX_VECS; i++)
			a[0][i] = k->of.settle(j->unrounded ? a[0][i] :
							   k->of.finish(a[0][i], j->operand));
		if (j->unrounded)
			mx_store_wide(j->dst + at * k->of.acc, a[0], k);
		else
			mx_store(j->dst + at * k->of.elem, a[0], k);
	}
}

#define MX_FOLD(t, op, _operand, ...)							\
static SIMD void t##_##op(void *dst, const void *const *src, unsigned int n,		\
			  unsigned int count, const struct netinc_fold_args *args)	\
{											\
	const struct simd_mx kernel = { __VA_ARGS__ };					\
	struct simd_job job = {								\
		.dst = dst, .src = src, .n = n, .count = count,				\
		.resume = args->flags & NETINC_FOLD_ACCUMULATORS,			\
		.unrounded = args->flags & NETINC_FOLD_UNROUNDED, .operand = _operand,	\
	};										\
											\
	mx_fold(&job, &kernel);								\
}

#define MX_SUM	.of.step = f32_step_sum, .of.settle = f32_canonical
#define MX_MIN	.of.step = i32_step_min, .of.settle = f32_unkey, .keys = true, .beyond = 0x80000000u
#define MX_MAX	.of.step = i32_step_max, .of.settle = f32_unkey, .keys = true, .beyond = 0x7fffffffu

#define MX_FOLDS(t, ...)								\
MX_FOLD(t, sum, (vec) { 0 }, MX_SUM, .of.finish = simd_no_finish, __VA_ARGS__)		\
MX_FOLD(t, avg, (vec)RANKS_F32, MX_SUM, .of.finish = f32_divide, __VA_ARGS__)		\
MX_FOLD(t, min, (vec) { 0 }, MX_MIN, .of.finish = simd_no_finish, __VA_ARGS__)		\
MX_FOLD(t, max, (vec) { 0 }, MX_MAX, .of.finish = simd_no_finish, __VA_ARGS__)

MX_FOLDS(mxf8e4m3, .of.elem = 33, .of.acc = 132, .emax = 8, .magnitude = 0x7f7f7f7f7f7f7f7f,
	 .of.load = f8e4m3_load, .of.store = mxf8e4m3_store)
MX_FOLDS(mxf8e5m2, .of.elem = 33, .of.acc = 132, .emax = 15, .magnitude = 0x7f7f7f7f7f7f7f7f,
	 .of.load = f8e5m2_load, .of.store = mxf8e5m2_store)
MX_FOLDS(mxf4e2m1, .of.elem = 17, .of.acc = 136, .emax = 2, .magnitude = 0x0707070707070707,
	 .nibbles = true, .of.load = mxf4e2m1_load, .of.store = mxf4e2m1_store)
MX_FOLDS(mxi8, .of.elem = 33, .of.acc = 132, .emax = 0, .magnitude = 0xffffffffffffffff,
	 .of.load = mxi8_load, .of.store = mxi8_store)

#undef MX_FOLD
#undef MX_FOLDS
#undef MX_MAX
#undef MX_MIN
#undef MX_SUM

#endif
