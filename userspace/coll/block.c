// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks of values with one scale, the Microscaling formats of the OCP MX Specification v1.0, value
 * by value with the arithmetic of number.c: what ranks send, and what is folded of it. Numbers are
 * scaled and rounded in double.
 */
#include <math.h>
#include <string.h>

#include "coll.h"

#define VALUES	INC_MX_VALUES

/* Bits of exponent and mantissa of a value, none of an integer; the largest magnitude. */
static const struct block_format {
	int exp, man, emax, bits;
	double most;
} block_formats[__INC_TYPE_MAX] = {
	[INC_TYPE_MXF8E4M3] = { 4, 3, 8, 8, 448 },
	[INC_TYPE_MXF8E5M2] = { 5, 2, 15, 8, 57344 },
	[INC_TYPE_MXF4E2M1] = { 2, 1, 2, 4, 6 },
	[INC_TYPE_MXI8] = { 0, 6, 0, 8, 127.0 / 64 },
};

size_t block_size(enum inc_type type)
{
	return 1 + VALUES * block_formats[type].bits / 8;
}

static unsigned int value_bits(enum inc_type type, const uint8_t *block, unsigned int i)
{
	if (block_formats[type].bits == 8)
		return block[1 + i];
	return block[1 + i / 2] >> i % 2 * 4 & 15;
}

static double make_value(enum inc_type type, unsigned int bits)
{
	const struct block_format *f = &block_formats[type];
	int man = bits & ((1 << f->man) - 1), bias, e;
	double x;

	if (!f->exp)
		return ldexp((int8_t)bits, -f->man);
	bias = (1 << (f->exp - 1)) - 1;
	e = bits >> f->man & ((1 << f->exp) - 1);
	x = ldexp(e ? man + (1 << f->man) : man, (e ? e : 1) - bias - f->man);
	if (x > f->most)
		x = type == INC_TYPE_MXF8E5M2 && !man ? INFINITY : NAN;
	return bits >> (f->bits - 1) ? -x : x;
}

/* What make_value() says, which takes an emulated machine long. */
static double decode_value(enum inc_type type, unsigned int bits)
{
	static double values[__INC_TYPE_MAX][256];
	static bool made[__INC_TYPE_MAX];

	for (unsigned int i = 0; !made[type] && i < 256; i++)
		values[type][i] = make_value(type, i);
	made[type] = true;
	return values[type][bits];
}

void unpack_block(enum inc_type type, const uint8_t *block, float *x)
{
	double scale = block[0] == 0xff ? NAN : ldexp(1, block[0] - 127);

	for (unsigned int i = 0; i < VALUES; i++)
		x[i] = (float)(decode_value(type, value_bits(type, block, i)) * scale);
}

/* To the nearest multiple of the last place, ties to even; no more than the largest one. */
static double round_value(enum inc_type type, double x)
{
	const struct block_format *f = &block_formats[type];
	int least = f->exp ? 2 - (1 << (f->exp - 1)) : 0, e = x == 0 ? least : ilogb(x);

	if (e < least || !f->exp)
		e = least;
	x = ldexp(nearbyint(ldexp(x, f->man - e)), e - f->man);
	return fabs(x) > f->most ? copysign(f->most, x) : x;
}

/* Of a number that is one of the format: those that are not negative are in the order of bits. */
static unsigned int encode_value(enum inc_type type, double x)
{
	const struct block_format *f = &block_formats[type];
	unsigned int bits = 0, step = 1u << (f->bits - 2);

	if (!f->exp)
		return (uint8_t)(int)ldexp(x, f->man);
	for (; step; step /= 2)
		if (decode_value(type, bits + step) <= fabs(x))
			bits += step;
	return bits | (signbit(x) ? 1u << (f->bits - 1) : 0);
}

void pack_block(enum inc_type type, const float *x, uint8_t *block)
{
	const struct block_format *f = &block_formats[type];
	int top = -127 + f->emax, shared;
	double value[VALUES];
	bool zero = true;

	memset(block, 0, block_size(type));
	for (int i = 0; i < VALUES; i++) {
		if (!isfinite(x[i])) {
			block[0] = 0xff;
			return;
		}
		if (x[i] != 0 && ilogbf(x[i]) > top)
			top = ilogbf(x[i]);
	}
	shared = top - f->emax;
	for (int i = 0; i < VALUES; i++) {
		value[i] = round_value(type, ldexp(x[i], -shared));
		zero = zero && value[i] == 0;
	}
	for (int i = 0; i < VALUES && !zero; i++)
		block[f->bits == 8 ? 1 + i : 1 + i / 2] |= encode_value(type, value[i])
							   << (f->bits == 8 ? 0 : i % 2 * 4);
	block[0] = zero ? 0 : shared + 127;
}

void fold_blocks(const struct plan *plan, const struct elem *elems, uint32_t n, const char *tree,
		 uint8_t *result)
{
	float x[VALUES], all[MAX_RANKS][VALUES];
	struct elem value[MAX_RANKS];
	struct plan of = *plan;

	of.type = INC_TYPE_F32;
	of.wire = INC_TYPE_F32;
	for (uint32_t r = 0; r < n; r++)
		unpack_block(plan->type, elems[r].bytes, all[r]);
	for (unsigned int i = 0; i < VALUES; i++) {
		for (uint32_t r = 0; r < n; r++)
			memcpy(value[r].bytes, &all[r][i], sizeof(all[r][i]));
		fold(&of, value, n, tree, &x[i]);
	}
	pack_block(plan->type, x, result);
}

/* Scales are near one another, but for some; values are any, but few are no numbers. */
void input_block(enum inc_type type, uint64_t x, uint8_t *block)
{
	unsigned int size = block_size(type);
	bool any = !(x >> 40 & 15) || block_formats[type].bits < 8;

	block[0] = x & 31 ? 124 + (x >> 5 & 3) : x >> 8;
	for (unsigned int i = 1; i < size; i++) {
		block[i] = mix(x, i) >> 8;
		if (!any && !isfinite(decode_value(type, block[i])))
			block[i] = 0;
	}
}
