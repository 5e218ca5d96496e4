/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the reduction kernels are compared with: their definition, in the arithmetic of this CPU and
 * of libm, element by element, and written without a look at theirs. Numbers of every
 * floating-point type are exact in a double; those of 16 and 8 bits are taken apart and put
 * together with ldexp() and nearbyint().
 */
#ifndef INC_REDUCE_REF_H
#define INC_REDUCE_REF_H

#include "reduce/reduce.h"

#include <math.h>

enum ref_class { REF_INT, REF_BOOL, REF_FLOAT, REF_COMPLEX, REF_PAIR, REF_BLOCK };

/* A type; of a complex number or a pair, its parts: both parts of a pair have as many bits. */
struct ref_type {
	u8 type;
	enum ref_class class;
	u8 bytes;		/* of one part */
	u8 parts;
	bool is_signed;
	u8 mant;		/* bits of the fraction, 0: an integer */
	u8 exp;			/* bits of the exponent */
	bool finite;		/* no Inf; all bits set but the sign's is the only NaN */
};

static const struct ref_type ref_types[] = {
	{ INC_TYPE_I8, REF_INT, 1, 1, true, 0, 0, false },
	{ INC_TYPE_I16, REF_INT, 2, 1, true, 0, 0, false },
	{ INC_TYPE_I32, REF_INT, 4, 1, true, 0, 0, false },
	{ INC_TYPE_I64, REF_INT, 8, 1, true, 0, 0, false },
	{ INC_TYPE_U8, REF_INT, 1, 1, false, 0, 0, false },
	{ INC_TYPE_U16, REF_INT, 2, 1, false, 0, 0, false },
	{ INC_TYPE_U32, REF_INT, 4, 1, false, 0, 0, false },
	{ INC_TYPE_U64, REF_INT, 8, 1, false, 0, 0, false },
	{ INC_TYPE_F16, REF_FLOAT, 2, 1, true, 10, 5, false },
	{ INC_TYPE_BF16, REF_FLOAT, 2, 1, true, 7, 8, false },
	{ INC_TYPE_F32, REF_FLOAT, 4, 1, true, 23, 8, false },
	{ INC_TYPE_F64, REF_FLOAT, 8, 1, true, 52, 11, false },
	{ INC_TYPE_F8E4M3, REF_FLOAT, 1, 1, true, 3, 4, true },
	{ INC_TYPE_F8E5M2, REF_FLOAT, 1, 1, true, 2, 5, false },
	{ INC_TYPE_BOOL, REF_BOOL, 1, 1, false, 0, 0, false },
	{ INC_TYPE_C32, REF_COMPLEX, 4, 2, true, 23, 8, false },
	{ INC_TYPE_C64, REF_COMPLEX, 8, 2, true, 52, 11, false },
	{ INC_TYPE_I32_I32, REF_PAIR, 4, 2, true, 0, 0, false },
	{ INC_TYPE_F32_I32, REF_PAIR, 4, 2, true, 23, 8, false },
	{ INC_TYPE_I64_I64, REF_PAIR, 8, 2, true, 0, 0, false },
	{ INC_TYPE_F64_I64, REF_PAIR, 8, 2, true, 52, 11, false },
	{ INC_TYPE_MXF8E4M3, REF_BLOCK, 33, 1, true, 0, 0, false },
	{ INC_TYPE_MXF8E5M2, REF_BLOCK, 33, 1, true, 0, 0, false },
	{ INC_TYPE_MXF4E2M1, REF_BLOCK, 17, 1, true, 0, 0, false },
	{ INC_TYPE_MXI8, REF_BLOCK, 33, 1, true, 0, 0, false },
};

static inline const struct ref_type *ref_type(u8 type)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ref_types); i++)
		if (ref_types[i].type == type)
			return &ref_types[i];
	return NULL;
}

static inline unsigned int ref_size(const struct ref_type *t)
{
	return t->bytes * t->parts;
}

/* Which kernels there have to be. */
static inline bool ref_exists(const struct ref_type *t, u8 op, u8 mode)
{
	if (mode)
		return mode == INC_MODE_SATURATE && op == INC_OP_SUM && t->class == REF_INT &&
		       t->bytes <= 2;
	switch (op) {
	case INC_OP_SUM:
	case INC_OP_AVG:
		return t->class == REF_INT || t->class == REF_FLOAT || t->class == REF_COMPLEX ||
		       t->class == REF_BLOCK;
	case INC_OP_PROD:
		return t->class == REF_INT || t->class == REF_FLOAT || t->class == REF_COMPLEX;
	case INC_OP_MIN:
	case INC_OP_MAX:
		return t->class == REF_INT || t->class == REF_FLOAT || t->class == REF_BLOCK;
	case INC_OP_BAND:
	case INC_OP_BOR:
	case INC_OP_BXOR:
		return t->class == REF_INT;
	case INC_OP_LAND:
	case INC_OP_LOR:
	case INC_OP_LXOR:
		return t->class == REF_INT || t->class == REF_BOOL;
	case INC_OP_MINLOC:
	case INC_OP_MAXLOC:
		return t->class == REF_PAIR;
	}
	return false;
}

/* Little-endian bits of one part. Under ASAN each access counts: one for the usual lengths. */
static inline u64 ref_get(const u8 *p, unsigned int bytes)
{
	u64 x = 0;

	switch (bytes) {
	case 1:
		return *p;
	case 2:
		memcpy(&x, p, 2);
		break;
	case 4:
		memcpy(&x, p, 4);
		break;
	case 8:
		memcpy(&x, p, 8);
		break;
	default:
		memcpy(&x, p, bytes);
	}
	return le64toh(x);
}

static inline void ref_put(u8 *p, unsigned int bytes, u64 x)
{
	x = htole64(x);
	switch (bytes) {
	case 2:
		memcpy(p, &x, 2);
		break;
	case 4:
		memcpy(p, &x, 4);
		break;
	case 8:
		memcpy(p, &x, 8);
		break;
	default:
		memcpy(p, &x, bytes);
	}
}

/* Floating-point numbers */

static inline int ref_bias(const struct ref_type *t)
{
	return (1 << (t->exp - 1)) - 1;
}

static inline double ref_decode(const struct ref_type *t, u64 bits)
{
	u64 mant = bits & ((1ull << t->mant) - 1), field = bits >> t->mant & ((1ull << t->exp) - 1);
	bool last = field == (1ull << t->exp) - 1;
	double x;

	if (t->bytes == 8) {
		memcpy(&x, &bits, sizeof(x));
		return x;
	}
	if (t->finite ? last && mant == (1ull << t->mant) - 1 : last && mant)
		return NAN;
	if (last && !t->finite)
		x = INFINITY;
	else if (field)
		x = ldexp((double)(mant | 1ull << t->mant), (int)field - ref_bias(t) - t->mant);
	else
		x = ldexp((double)mant, 1 - ref_bias(t) - t->mant);
	return bits >> (t->bytes * 8 - 1) ? -x : x;
}

static inline u64 ref_nan(const struct ref_type *t)
{
	if (t->finite)
		return (1ull << (t->exp + t->mant)) - 1;
	return ((2ull << t->exp) - 1) << (t->mant - 1);
}

/* What is beyond the largest finite number. */
static inline u64 ref_infinity(const struct ref_type *t, u64 sign)
{
	return t->finite ? ref_nan(t) : sign | ((1ull << t->exp) - 1) << t->mant;
}

static inline double ref_largest(const struct ref_type *t)
{
	int fields = (1 << t->exp) - 1;

	if (t->finite)
		return ldexp((double)((2u << t->mant) - 2), fields - ref_bias(t) - t->mant);
	return ldexp((double)((2ull << t->mant) - 1), fields - 1 - ref_bias(t) - t->mant);
}

/* To nearest even: in units of the last place, which division by a power of two gives exactly. */
static inline u64 ref_encode(const struct ref_type *t, double x)
{
	int lowest = 1 - ref_bias(t), e;
	u64 sign = signbit(x) ? 1ull << (t->bytes * 8 - 1) : 0, bits;
	double units;

	if (isnan(x))
		return ref_nan(t);
	if (t->bytes == 8) {
		memcpy(&bits, &x, sizeof(bits));
		return bits;
	}
	x = fabs(x);
	if (isinf(x))
		return ref_infinity(t, sign);
	if (x == 0)
		return sign;
	e = ilogb(x) < lowest ? lowest : ilogb(x);
	units = nearbyint(ldexp(x, t->mant - e));
	if (ldexp(units, e - t->mant) > ref_largest(t))
		return ref_infinity(t, sign);
	/* One more than 1.111 is 10.0: the exponent's field then counts one more by itself. */
	return sign | (((u64)(e - lowest) << t->mant) + (u64)units);
}

/* One step in the accumulator's format: double for f64 and c64, else float. */
static inline double ref_add(const struct ref_type *t, double a, double b)
{
	return t->bytes == 8 ? a + b : (double)((float)a + (float)b);
}

static inline double ref_sub(const struct ref_type *t, double a, double b)
{
	return t->bytes == 8 ? a - b : (double)((float)a - (float)b);
}

static inline double ref_mul(const struct ref_type *t, double a, double b)
{
	return t->bytes == 8 ? a * b : (double)((float)a * (float)b);
}

static inline double ref_div(const struct ref_type *t, double a, unsigned int d)
{
	return t->bytes == 8 ? a / d : (double)((float)a / (float)d);
}

/* minimum of IEEE 754-2019 */
static inline double ref_min(double a, double b)
{
	if (isnan(a) || isnan(b))
		return NAN;
	if (a == b)
		return signbit(a) ? a : b;
	return a < b ? a : b;
}

static inline double ref_max(double a, double b)
{
	return -ref_min(-a, -b);
}

/* Where the tree over [l, r) is cut in two: at the largest power of two below its size. */
static inline unsigned int ref_middle(unsigned int l, unsigned int r)
{
	unsigned int half = 1;

	while (2 * half < r - l)
		half *= 2;
	return l + half;
}

static inline double ref_float_node(const struct ref_type *t, u8 op, const u8 *const *p,
				    unsigned int l, unsigned int r)
{
	unsigned int m = ref_middle(l, r);
	double a, b;

	if (r - l == 1)
		return ref_decode(t, ref_get(p[l], t->bytes));
	a = ref_float_node(t, op, p, l, m);
	b = ref_float_node(t, op, p, m, r);
	if (op == INC_OP_PROD)
		return ref_mul(t, a, b);
	if (op == INC_OP_MIN)
		return ref_min(a, b);
	if (op == INC_OP_MAX)
		return ref_max(a, b);
	return ref_add(t, a, b);
}

static inline void ref_float(const struct ref_type *t, u8 op, const u8 *const *p, unsigned int n,
			     unsigned int ranks, u8 *out)
{
	double acc = ref_float_node(t, op, p, 0, n);

	if (op == INC_OP_AVG)
		acc = ref_div(t, acc, ranks);
	ref_put(out, t->bytes, ref_encode(t, acc));
}

struct ref_complex {
	double re, im;
};

static inline struct ref_complex ref_complex_node(const struct ref_type *t, u8 op,
						  const u8 *const *p, unsigned int l,
						  unsigned int r)
{
	unsigned int m = ref_middle(l, r);
	struct ref_complex a, b;

	if (r - l == 1)
		return (struct ref_complex){
			ref_decode(t, ref_get(p[l], t->bytes)),
			ref_decode(t, ref_get(p[l] + t->bytes, t->bytes)),
		};
	a = ref_complex_node(t, op, p, l, m);
	b = ref_complex_node(t, op, p, m, r);
	if (op != INC_OP_PROD)
		return (struct ref_complex){ ref_add(t, a.re, b.re), ref_add(t, a.im, b.im) };
	return (struct ref_complex){
		ref_sub(t, ref_mul(t, a.re, b.re), ref_mul(t, a.im, b.im)),
		ref_add(t, ref_mul(t, a.re, b.im), ref_mul(t, a.im, b.re)),
	};
}

static inline void ref_complex(const struct ref_type *t, u8 op, const u8 *const *p, unsigned int n,
			       unsigned int ranks, u8 *out)
{
	struct ref_complex x = ref_complex_node(t, op, p, 0, n);

	if (op == INC_OP_AVG) {
		x.re = ref_div(t, x.re, ranks);
		x.im = ref_div(t, x.im, ranks);
	}
	ref_put(out, t->bytes, ref_encode(t, x.re));
	ref_put(out + t->bytes, t->bytes, ref_encode(t, x.im));
}

#include "ref_mx.h"

/* Integers */

static inline __int128 ref_integer(const struct ref_type *t, u64 bits)
{
	u64 sign = 1ull << (t->bytes * 8 - 1);

	bits &= sign | (sign - 1);
	return t->is_signed ? (__int128)bits - (bits & sign ? (__int128)sign * 2 : 0) :
			      (__int128)bits;
}

static inline __int128 ref_clamp(const struct ref_type *t, __int128 x)
{
	__int128 high = ((__int128)1 << (t->bytes * 8 - t->is_signed)) - 1,
		 low = t->is_signed ? -high - 1 : 0;

	return x < low ? low : x > high ? high : x;
}

/* Wrapping is left to the end, but for what is divided. */
static inline void ref_int(const struct ref_type *t, u8 op, u8 mode, const u8 *const *p,
			   unsigned int n, unsigned int ranks, u8 *out)
{
	bool logical = op == INC_OP_LAND || op == INC_OP_LOR || op == INC_OP_LXOR;
	__int128 acc = 0, x;
	unsigned int s;

	for (s = 0; s < n; s++) {
		x = ref_integer(t, ref_get(p[s], t->bytes));
		if (logical)
			x = x != 0;
		if (!s)
			acc = x;
		else if (op == INC_OP_SUM || op == INC_OP_AVG)
			acc += x;
		else if (op == INC_OP_PROD)
			acc = ref_integer(t, (u64)acc * (u64)x);
		else if (op == INC_OP_MIN)
			acc = x < acc ? x : acc;
		else if (op == INC_OP_MAX)
			acc = x > acc ? x : acc;
		else if (op == INC_OP_BAND || op == INC_OP_LAND)
			acc &= x;
		else if (op == INC_OP_BOR || op == INC_OP_LOR)
			acc |= x;
		else
			acc ^= x;
	}
	if (mode == INC_MODE_SATURATE)
		acc = ref_clamp(t, acc);
	if (op == INC_OP_AVG)
		acc = ref_integer(t, (u64)acc) / (__int128)ranks;
	ref_put(out, t->bytes, (u64)acc);
}

/* Pairs */

/* Below 0: a's value wins over b's, for the lowest or the highest; 0: it is the same. */
static inline int ref_compare(const struct ref_type *t, u8 op, u64 a, u64 b)
{
	__int128 x = ref_integer(t, a), y = ref_integer(t, b);
	bool less = x < y, same = x == y;
	double f, g;

	if (t->mant) {
		f = ref_decode(t, a);
		g = ref_decode(t, b);
		if (isnan(f) || isnan(g))
			return !isnan(f) - !isnan(g);
		same = f == g && !signbit(f) == !signbit(g);
		less = f < g || (f == g && signbit(f) && !signbit(g));
	}
	return same ? 0 : less == (op == INC_OP_MINLOC) ? -1 : 1;
}

static inline void ref_pair(const struct ref_type *t, u8 op, const u8 *const *p, unsigned int n,
			    u8 *out)
{
	u64 value = ref_get(p[0], t->bytes), index = ref_get(p[0] + t->bytes, t->bytes), v, i;
	unsigned int s;
	int order;

	for (s = 1; s < n; s++) {
		v = ref_get(p[s], t->bytes);
		i = ref_get(p[s] + t->bytes, t->bytes);
		order = ref_compare(t, op, v, value);
		if (order < 0 || (!order && ref_integer(t, i) < ref_integer(t, index))) {
			value = v;
			index = i;
		}
	}
	if (t->mant && isnan(ref_decode(t, value)))
		value = ref_nan(t);
	ref_put(out, t->bytes, value);
	ref_put(out + t->bytes, t->bytes, index);
}

/* Blocks: value by value as f32, then as a block again */

#define REF_SOURCES	1024

static inline void ref_block(const struct ref_type *t, u8 op, const u8 *const *p, unsigned int n,
			     unsigned int ranks, u8 *out)
{
	const struct ref_type *f32 = ref_type(INC_TYPE_F32);
	const struct ref_mx *f = ref_mx_format(t->type);
	u8 value[REF_SOURCES][4];
	const u8 *q[REF_SOURCES];
	unsigned int i, s;
	double x[32];

	for (i = 0; i < 32; i++) {
		for (s = 0; s < n; s++) {
			ref_put(value[s], 4, ref_encode(f32, ref_mx_decode(f, p[s], i)));
			q[s] = value[s];
		}
		x[i] = ref_float_node(f32, op, q, 0, n);
		if (op == INC_OP_AVG)
			x[i] = ref_div(f32, x[i], ranks);
	}
	ref_mx_encode(f, x, out);
}

/* One element of n sources, at p[0] to p[n - 1]. */
static inline void ref_fold(const struct ref_type *t, u8 op, u8 mode, const u8 *const *p,
			    unsigned int n, unsigned int ranks, u8 *out)
{
	switch (t->class) {
	case REF_INT:
	case REF_BOOL:
		return ref_int(t, op, mode, p, n, ranks, out);
	case REF_FLOAT:
		return ref_float(t, op, p, n, ranks, out);
	case REF_COMPLEX:
		return ref_complex(t, op, p, n, ranks, out);
	case REF_PAIR:
		return ref_pair(t, op, p, n, out);
	case REF_BLOCK:
		return ref_block(t, op, p, n, ranks, out);
	}
}

#endif
