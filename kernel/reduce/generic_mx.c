// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic reduction kernels of block floats, the Microscaling formats of the OCP MX Specification
 * v1.0 (2023): a byte of scale, E8M0, and 32 values.
 *
 * Values are widened to f32, folded there, and become a block again when everything is in: section
 * 6.3 of the specification. One block is folded after the other, because its accumulators are as
 * many bytes as all those that NETINC_DEFINE_FOLD keeps.
 */
#include "reduce/arith.h"
#include "reduce/kernels.h"
#include "reduce/order.h"
#include "reduce/soft_float.h"

#define VALUES		INC_MX_VALUES
#define SCALE_NAN	0xffu	/* of a block of NaNs */
#define I8_UNIT		6	/* an integer counts in units of 2^-6 of the scale */
#define I8_MAX		127u

/* E2M1 has neither Inf nor NaN: no magnitude of three bits gets there. */
#define SOFT_F4E2M1	SOFT(4, 1, 8, 8, 8)

/*
 * The same formats when a value is rounded: what is too large becomes the largest number. Inf and
 * NaN never come here.
 */
#define SOFT_F8E4M3_MAX	SOFT(8, 3, 0x7e, 0x80, 0x7f)
#define SOFT_F8E5M2_MAX	SOFT(8, 2, 0x7b, 0x80, 0x7e)
#define SOFT_F4E2M1_MAX	SOFT(4, 1, 7, 8, 7)

/* One of the formats: how a value is read and written. Constants wherever they are passed on. */
struct mx_value {
	u32 (*load)(const u8 *values, unsigned int i);		/* value @i, as f32 */
	void (*store)(u8 *values, unsigned int i, u32 x);	/* the values are 0 before */
	unsigned int emax;	/* exponent of the largest number */
	unsigned int size;	/* bytes of a block */
	u8 magnitude;		/* of a byte of values: bits that are 0 in +0 and -0 */
};

/* Values */

#define F8(t, F)									\
static __always_inline u32 t##_get(const u8 *values, unsigned int i)			\
{											\
	return soft_convert(values[i], SOFT_##F, SOFT_F32);				\
}											\
											\
static __always_inline void t##_put(u8 *values, unsigned int i, u32 x)			\
{											\
	values[i] = soft_convert(x, SOFT_F32, SOFT_##F##_MAX);				\
}

F8(f8e4m3, F8E4M3)
F8(f8e5m2, F8E5M2)

static __always_inline u32 f4e2m1_get(const u8 *values, unsigned int i)
{
	return soft_convert(values[i / 2] >> i % 2 * 4 & 0xf, SOFT_F4E2M1, SOFT_F32);
}

static __always_inline void f4e2m1_put(u8 *values, unsigned int i, u32 x)
{
	values[i / 2] |= soft_convert(x, SOFT_F32, SOFT_F4E2M1_MAX) << i % 2 * 4;
}

static __always_inline u32 i8_get(const u8 *values, unsigned int i)
{
	u32 sign = values[i] >> 7, magnitude = sign ? 0x100u - values[i] : values[i];
	unsigned int top;

	if (!magnitude)
		return 0;
	top = 63 - netinc_clz64(magnitude);
	return sign << 31 | (((126 + top - I8_UNIT) << 23) + (magnitude << (23 - top)));
}

/* |x| < 2. Of what is less than half a unit nothing is left. */
static __always_inline void i8_put(u8 *values, unsigned int i, u32 x)
{
	u32 magnitude = x & 0x7fffffff, below = 127 + 23 - I8_UNIT - (magnitude >> 23), sig;

	if (below > 24)
		return;
	sig = (magnitude & 0x7fffff) | 0x800000;
	sig = (sig + (1u << (below - 1)) - 1 + (sig >> below & 1)) >> below;
	sig = min(sig, I8_MAX);
	values[i] = x >> 31 ? -sig : sig;
}

/* Blocks */

/* 2^(@exponent - 127) for 0 to 254: 2^-127 is subnormal in f32. */
static u32 power_of_two(u32 exponent)
{
	return exponent ? exponent << 23 : 1u << 22;
}

/* Products with a power of two are exact, but for what is larger than any f32, and becomes Inf. */
static __always_inline void load_block(u32 *to, const u8 *block, const struct mx_value v)
{
	u32 scale = block[0] == SCALE_NAN ? (u32)SOFT_F32.nan : power_of_two(block[0]);
	unsigned int i;

	for (i = 0; i < VALUES; i++)
		to[i] = soft_mul(v.load(block + 1, i), scale, SOFT_F32);
}

/* A block of zeros has one form: its scale is the smallest one, and there are no signs. */
static __always_inline void clear_zeros(u8 *block, const struct mx_value v)
{
	unsigned int i;

	for (i = 1; i < v.size; i++)
		if (block[i] & v.magnitude)
			return;
	memset(block, 0, v.size);
}

static u32 largest_magnitude(const u32 *acc)
{
	unsigned int i;
	u32 most = 0;

	for (i = 0; i < VALUES; i++)
		most = max(most, acc[i] & 0x7fffffff);
	return most;
}

/*
 * The exponent of the largest value becomes that of the format's largest number. Quotients are
 * exact where anything is left of them after they have been rounded.
 */
static __always_inline void store_block(u8 *block, const u32 *acc, const struct mx_value v)
{
	u32 most = largest_magnitude(acc), exponent = most >> 23;
	unsigned int i;

	memset(block, 0, v.size);
	if (most >= SOFT_F32.over) {
		block[0] = SCALE_NAN;
		return;
	}
	block[0] = exponent - min(exponent, v.emax);
	for (i = 0; i < VALUES; i++)
		v.store(block + 1, i, soft_mul(acc[i], power_of_two(254 - block[0]), SOFT_F32));
	clear_zeros(block, v);
}

struct mx_format {
	unsigned int size, acc;		/* bytes of a block, and of its accumulator */
	void (*load)(u32 *to, const u8 *block);
	void (*store)(u8 *block, const u32 *acc);
};

#define FORMAT(t, _load, _store, _emax, _size, _acc, _magnitude)			\
static const struct mx_value t##_value = {						\
	.load = _load, .store = _store, .emax = _emax, .size = _size, .magnitude = _magnitude,	\
};											\
											\
static void t##_load_block(u32 *to, const u8 *block)					\
{											\
	load_block(to, block, t##_value);						\
}											\
											\
static void t##_store_block(u8 *block, const u32 *acc)					\
{											\
	store_block(block, acc, t##_value);						\
}											\
											\
static const struct mx_format t = {							\
	.size = _size, .acc = _acc, .load = t##_load_block, .store = t##_store_block,	\
}

FORMAT(mxf8e4m3, f8e4m3_get, f8e4m3_put, 8, 33, 132, 0x7f);
FORMAT(mxf8e5m2, f8e5m2_get, f8e5m2_put, 15, 33, 132, 0x7f);
FORMAT(mxf4e2m1, f4e2m1_get, f4e2m1_put, 2, 17, 136, 0x77);
FORMAT(mxi8, i8_get, i8_put, 0, 33, 132, 0xff);

static void load_wide_block(u32 *to, const void *from)
{
	unsigned int i;

	for (i = 0; i < VALUES; i++)
		to[i] = netinc_get_le32(from + i * 4);
}

static void store_wide_block(void *to, const u32 *acc, unsigned int size)
{
	unsigned int i;

	for (i = 0; i < VALUES; i++)
		netinc_put_le32(to + i * 4, acc[i]);
	memset(to + VALUES * 4, 0, size - VALUES * 4);
}

/* Folds */

#define STEP(name, fn)									\
static void name(u32 *a, const u32 *b)							\
{											\
	unsigned int i;									\
											\
	for (i = 0; i < VALUES; i++)							\
		a[i] = fn(a[i], b[i], SOFT_F32);					\
}

STEP(add_values, soft_add)
STEP(lesser_values, soft_min)
STEP(greater_values, soft_max)

static void settle_values(u32 *a)
{
	unsigned int i;

	for (i = 0; i < VALUES; i++)
		a[i] = soft_canonical(a[i], SOFT_F32);
}

static void divide_values(u32 *a, u32 ranks)
{
	unsigned int i;

	for (i = 0; i < VALUES; i++)
		a[i] = soft_div(a[i], ranks, SOFT_F32);
}

/* The sources' block @at, to a[0]. */
static void fold_block(u32 (*a)[VALUES], const void *const *src, unsigned int n, size_t at,
		       const struct mx_format *f, void (*step)(u32 *a, const u32 *b))
{
	unsigned int s, join, top = 0;

	for (s = 0; s < n; s++) {
		f->load(a[top], src[s] + at * f->size);
		join = s + 1 < n ? netinc_order_joins(s) : top;
		for (; join; join--, top--)
			step(a[top - 1], a[top]);
		top++;
	}
}

static void fold_blocks(void *dst, const void *const *src, unsigned int n, unsigned int count,
			const struct netinc_fold_args *args, const struct mx_format *f,
			void (*step)(u32 *a, const u32 *b), bool divide)
{
	bool unrounded = args->flags & NETINC_FOLD_UNROUNDED;
	u32 a[NETINC_ORDER_LEVELS][VALUES];
	size_t at;

	for (at = 0; at < count; at++) {
		if (args->flags & NETINC_FOLD_ACCUMULATORS)
			load_wide_block(a[0], src[0] + at * f->acc);
		else
			fold_block(a, src, n, at, f, step);
		settle_values(a[0]);
		if (divide && !unrounded)
			divide_values(a[0], args->ranks);
		if (unrounded)
			store_wide_block(dst + at * f->acc, a[0], f->acc);
		else
			f->store(dst + at * f->size, a[0]);
	}
}

#define FOLD(t, op, step, divide)							\
static void t##_##op(void *dst, const void *const *src, unsigned int n, unsigned int count,	\
		     const struct netinc_fold_args *args)				\
{											\
	fold_blocks(dst, src, n, count, args, &t, step, divide);			\
}

#define FOLDS(t)									\
FOLD(t, sum, add_values, false)								\
FOLD(t, avg, add_values, true)								\
FOLD(t, min, lesser_values, false)							\
FOLD(t, max, greater_values, false)

FOLDS(mxf8e4m3)
FOLDS(mxf8e5m2)
FOLDS(mxf4e2m1)
FOLDS(mxi8)

const struct netinc_reduce netinc_generic_mx[] = {
	NETINC_MX_KERNELS(NETINC_KERNEL_GENERIC)
	{ }
};
