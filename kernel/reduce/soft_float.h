/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * IEEE 754 arithmetic in integers, one rounding (to nearest even) an operation: for kernels without
 * FPU.
 *
 * A number is its bits in a u64; which format they are is a struct soft_format, always a constant,
 * so that each use is compiled for its own format. While an operation works on a significand, its
 * leading bit stands at LEAD: what is below the last place of the format is there to be rounded
 * away, with everything further down jammed into bit 0, which is all that rounding asks of it.
 *
 * Branches are on what hardly ever happens (Inf, NaN, zero, subnormal): others would be
 * mispredicted half of the time.
 */
#ifndef NETINC_REDUCE_SOFT_FLOAT_H
#define NETINC_REDUCE_SOFT_FLOAT_H

#include "reduce/arith.h"

struct soft_format {
	unsigned int bits;	/* of all of it */
	unsigned int mant;	/* of the fraction field */
	u64 over;		/* what a magnitude that is too large becomes: Inf, NaN in f8e4m3 */
	u64 nan_min;		/* magnitudes from here on are NaN */
	u64 nan;		/* the canonical quiet NaN */
};

#define SOFT(b, m, o, min, n) \
	((struct soft_format){ .bits = b, .mant = m, .over = o, .nan_min = min, .nan = n })
#define SOFT_F64	SOFT(64, 52, 0x7ff0000000000000, 0x7ff0000000000001, 0x7ff8000000000000)
#define SOFT_F32	SOFT(32, 23, 0x7f800000, 0x7f800001, 0x7fc00000)
#define SOFT_F16	SOFT(16, 10, 0x7c00, 0x7c01, 0x7e00)
#define SOFT_BF16	SOFT(16, 7, 0x7f80, 0x7f81, 0x7fc0)
#define SOFT_F8E4M3	SOFT(8, 3, 0x7f, 0x7f, 0x7f)
#define SOFT_F8E5M2	SOFT(8, 2, 0x7c, 0x7d, 0x7e)

#define LEAD	62u

static __always_inline u64 soft_sign(struct soft_format f)
{
	return 1ull << (f.bits - 1);
}

static __always_inline u64 soft_magnitude(u64 x, struct soft_format f)
{
	return x & (soft_sign(f) - 1);
}

static __always_inline int soft_bias(struct soft_format f)
{
	return (1 << (f.bits - f.mant - 2)) - 1;
}

static __always_inline bool soft_is_nan(u64 x, struct soft_format f)
{
	return soft_magnitude(x, f) >= f.nan_min;
}

static __always_inline u64 soft_canonical(u64 x, struct soft_format f)
{
	return unlikely(soft_is_nan(x, f)) ? f.nan : x;
}

/* x >> by, with bit 0 set if anything was lost */
static __always_inline u64 soft_jam(u64 x, unsigned int by)
{
	by = min(by, 63u);
	return x >> by | ((x & ((1ull << by) - 1)) != 0);
}

/*
 * A magnitude that is neither zero nor Inf nor NaN: its significand, with the leading bit at LEAD,
 * and exponent.
 */
struct soft_parts {
	u64 sig;
	int exponent;	/* biased; of a subnormal below 1 */
};

static __always_inline struct soft_parts soft_unpack(u64 magnitude, struct soft_format f)
{
	const unsigned int below = LEAD - f.mant;
	unsigned int field = magnitude >> f.mant, shift;

	if (unlikely(!field)) {
		shift = netinc_clz64(magnitude) - (63 - LEAD);
		return (struct soft_parts){ magnitude << shift, 1 + (int)below - (int)shift };
	}
	return (struct soft_parts){ (magnitude - ((u64)(field - 1) << f.mant)) << below, field };
}

/*
 * The inverse, rounding: a carry out of the significand runs into the exponent, and from there into
 * Inf.
 */
static __always_inline u64 soft_pack(struct soft_parts p, struct soft_format f)
{
	const unsigned int below = LEAD - f.mant;

	if (unlikely(p.exponent < 1)) {
		p.sig = soft_jam(p.sig, 1 - p.exponent);
		p.exponent = 1;
	}
	p.sig += (1ull << (below - 1)) - 1 + ((p.sig >> below) & 1);
	return min(((u64)(p.exponent - 1) << f.mant) + (p.sig >> below), f.over);
}

/* Addition */

/* |a| >= |b|, and a is Inf or NaN */
static __always_inline u64 soft_add_special(u64 a, u64 b, struct soft_format f)
{
	if (soft_is_nan(a, f) || b == (a ^ soft_sign(f)))
		return f.nan;
	return a;
}

/*
 * The exponent field above that of a subnormal: numbers with 0 and 1 in it count in the same unit.
 */
static __always_inline unsigned int soft_level(u64 magnitude, struct soft_format f)
{
	unsigned int field = magnitude >> f.mant;

	return field - !!field;
}

/*
 * The smaller significand in the larger one's unit. With room for more than another significand
 * below the last place, no jam is needed: what is left at the bottom is less than a quarter of the
 * last place and more than nothing.
 */
static __always_inline u64 soft_align(u64 sig, unsigned int by, unsigned int guard,
				      struct soft_format f)
{
	return guard > f.mant + 2 ? sig >> min(by, guard) : soft_jam(sig, by);
}

static __always_inline u64 soft_add(u64 x, u64 y, struct soft_format f)
{
	/* bits below the last place, with one above for the carry */
	const unsigned int guard = LEAD - 1 - f.mant;
	u64 swap = (x ^ y) & ((u64)0 - (soft_magnitude(x, f) < soft_magnitude(y, f)));
	u64 a = x ^ swap, b = y ^ swap;
	u64 ma = soft_magnitude(a, f), mb = soft_magnitude(b, f);
	unsigned int la = soft_level(ma, f), lb = soft_level(mb, f), shift;
	u64 differ = (u64)0 - ((a ^ b) >> (f.bits - 1));	/* all ones if the signs do */
	u64 small = soft_align((mb - ((u64)lb << f.mant)) << guard, la - lb, guard, f);
	u64 sum = ((ma - ((u64)la << f.mant)) << guard) + (small ^ differ) - differ;

	if (unlikely(ma >= f.over))
		return soft_add_special(a, b, f);
	/* An exact zero is +0, but (-0) + (-0) is -0. */
	if (unlikely(!sum))
		return a & b & soft_sign(f);
	/* Normalise, but not into an exponent that does not exist. */
	shift = min(netinc_clz64(sum) - (63 - LEAD), la + 1);
	sum <<= shift;
	sum += (1ull << guard) - 1 + ((sum >> (guard + 1)) & 1);
	return (a & soft_sign(f)) |
	       min(((u64)(la + 1 - shift) << f.mant) + (sum >> (guard + 1)), f.over);
}

static __always_inline u64 soft_sub(u64 x, u64 y, struct soft_format f)
{
	return soft_add(x, y ^ soft_sign(f), f);
}

/* Multiplication */

/* One of them is zero, Inf or NaN. */
static __always_inline u64 soft_mul_special(u64 mx, u64 my, u64 sign, struct soft_format f)
{
	if (max(mx, my) < f.over)
		return sign;
	if (max(mx, my) >= f.nan_min || !min(mx, my))
		return f.nan;
	return sign | f.over;
}

/* Of two significands, with the leading bit at LEAD or one below. */
static __always_inline u64 soft_mul_sig(u64 a, u64 b, struct soft_format f)
{
	u64 high, low;

	if (f.mant < 31)	/* the product fits */
		return (a >> 31) * (b >> 32);
	high = netinc_mul64(a << 1, b, &low);
	return high | (low != 0);
}

static __always_inline u64 soft_mul(u64 x, u64 y, struct soft_format f)
{
	u64 mx = soft_magnitude(x, f), my = soft_magnitude(y, f), sign = (x ^ y) & soft_sign(f);
	struct soft_parts a, b, p;
	unsigned int shift;

	if (unlikely(!mx || !my || max(mx, my) >= f.over))
		return soft_mul_special(mx, my, sign, f);
	a = soft_unpack(mx, f);
	b = soft_unpack(my, f);
	p.sig = soft_mul_sig(a.sig, b.sig, f);
	shift = !(p.sig >> LEAD);
	p.sig <<= shift;
	p.exponent = a.exponent + b.exponent - soft_bias(f) + 1 - (int)shift;
	return sign | soft_pack(p, f);
}

/*
 * Division by an integer >= 1. The first quotient has at least 31 bits; it is moved up to LEAD, and
 * the bits that makes room for come from the rest, which is less than 32 bits and moves by as many.
 */
static __always_inline u64 soft_div(u64 x, u32 divisor, struct soft_format f)
{
	u64 mx = soft_magnitude(x, f), quotient;
	struct soft_parts p;
	unsigned int shift;
	u32 rest;

	if (unlikely(!mx || mx >= f.over))
		return soft_canonical(x, f);
	p = soft_unpack(mx, f);
	quotient = netinc_div64(p.sig, divisor, &rest);
	shift = netinc_clz64(quotient) - (63 - LEAD);
	p.sig = (quotient << shift) + netinc_div64((u64)rest << shift, divisor, &rest);
	p.sig |= !!rest;
	p.exponent -= shift;
	return (x & soft_sign(f)) | soft_pack(p, f);
}

/* Order: minimum and maximum of IEEE 754-2019, where a NaN wins and -0 is less than +0 */

/* Ordered like the numbers; NaN is beyond both ends. */
static __always_inline s64 soft_key(u64 x, struct soft_format f)
{
	s64 top = x << (64 - f.bits);

	return top ^ (s64)((u64)(top >> 63) >> 1);
}

static __always_inline u64 soft_min(u64 x, u64 y, struct soft_format f)
{
	if (unlikely(soft_is_nan(x, f) || soft_is_nan(y, f)))
		return f.nan;
	return soft_key(x, f) < soft_key(y, f) ? x : y;
}

static __always_inline u64 soft_max(u64 x, u64 y, struct soft_format f)
{
	if (unlikely(soft_is_nan(x, f) || soft_is_nan(y, f)))
		return f.nan;
	return soft_key(x, f) > soft_key(y, f) ? x : y;
}

/* Conversion from one format to another: exact, or rounded once */

static __always_inline u64 soft_convert(u64 x, struct soft_format from, struct soft_format to)
{
	u64 magnitude = soft_magnitude(x, from), sign = (x >> (from.bits - 1)) << (to.bits - 1);
	const int rebias = soft_bias(to) - soft_bias(from);
	struct soft_parts p;

	if (unlikely(magnitude >= from.over))
		return magnitude >= from.nan_min ? to.nan : soft_canonical(sign | to.over, to);
	if (unlikely(!magnitude))
		return sign;
	/*
	 * A longer fraction: nothing to round, and a subnormal remains one only if the exponents
	 * are the same.
	 */
	if (to.mant >= from.mant && (magnitude >> from.mant || !rebias))
		return sign | ((magnitude << (to.mant - from.mant)) + ((u64)rebias << to.mant));
	p = soft_unpack(magnitude, from);
	p.exponent += rebias;
	return soft_canonical(sign | soft_pack(p, to), to);
}

#endif
