// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Block floats of the OCP Microscaling Formats (MX) Specification v1.0, from and to f32. In
 * integers alone: the bits are those of the kernel whatever this thread's rounding mode is, and
 * whether it flushes subnormal numbers.
 */
#include <errno.h>
#include <string.h>

#include "internal.h"

#define VALUES		INC_MX_VALUES
#define SCALE_NAN	0xff
#define F32_INF		0x7f800000u
#define F32_NAN		0x7fc00000u

/* What is behind the scale. */
struct mx {
	unsigned int bits, man;	/* of a value and of its fraction */
	int least, emax;	/* exponents of the smallest normal number and of the largest one */
	unsigned int most;	/* the largest number, as bits */
	bool integer;
};

/* NULL: another type. */
static const struct mx *mx_format(enum inc_type type)
{
	static const struct mx e4m3 = { 8, 3, -6, 8, 0x7e, false };
	static const struct mx e5m2 = { 8, 2, -14, 15, 0x7b, false };
	static const struct mx e2m1 = { 4, 1, 0, 2, 0x7, false };
	static const struct mx int8 = { 8, 6, 0, 0, 0x7f, true };

	switch (type) {
	case INC_TYPE_MXF8E4M3:
		return &e4m3;
	case INC_TYPE_MXF8E5M2:
		return &e5m2;
	case INC_TYPE_MXF4E2M1:
		return &e2m1;
	case INC_TYPE_MXI8:
		return &int8;
	default:
		return NULL;
	}
}

size_t inc_mx_blocks(size_t values)
{
	return values / VALUES + !!(values % VALUES);
}

size_t inc_mx_bytes(enum inc_type type, size_t values)
{
	size_t blocks = inc_mx_blocks(values), size = mx_format(type) ? inc_type_size(type) : 0;

	return size && blocks > SIZE_MAX / size ? SIZE_MAX : blocks * size;
}

static int check_values(enum inc_type type, const void *blocks, const void *values, size_t n)
{
	if (!mx_format(type))
		return inc_fail(NULL, -EINVAL,
				"type %s: expected mxf8e4m3, mxf8e5m2, mxf4e2m1 or mxi8",
				inc_type_name(type) ?: "unknown");
	if (n && (!blocks || !values))
		return inc_fail(NULL, -EINVAL, "%s is NULL: expected memory of %zu values",
				blocks ? "values" : "blocks", n);
	return 0;
}

/* ---- To blocks ----------------------------------------------------------- */

/* x / 2^by, by >= 1, to nearest even */
static uint32_t round_off(uint32_t x, unsigned int by)
{
	if (by > 31)
		return 0;
	return (uint32_t)(((uint64_t)x + (1u << (by - 1)) - 1 + (x >> by & 1)) >> by);
}

/* Of the finite f32 that @bits are, divided by 2^@shared. */
static unsigned int encode_value(const struct mx *f, uint32_t bits, int shared)
{
	uint32_t field = bits >> 23 & 0xff, sig = bits & 0x7fffff, code;
	int lowest = (field ? (int)field : 1) - 127 - 23, e;	/* sig is in units of 2^lowest */

	if (field)
		sig |= 0x800000;
	if (!sig)
		e = f->least;
	else
		e = 31 - __builtin_clz(sig) + lowest - shared;
	if (e < f->least || f->integer)
		e = f->least;
	/* the fraction's carry, and the bit before it, go into the exponent by themselves */
	code = ((uint32_t)(e - f->least) << f->man) +
	       round_off(sig, (unsigned int)(e - (int)f->man + shared - lowest));
	if (code > f->most)
		code = f->most;
	if (f->integer)
		return (bits >> 31 ? 0 - code : code) & 0xff;
	return code | bits >> 31 << (f->bits - 1);
}

static void put_value(const struct mx *f, uint8_t *block, unsigned int i, unsigned int code)
{
	if (f->bits == 8)
		block[1 + i] = (uint8_t)code;
	else
		block[1 + i / 2] |= (uint8_t)(code << i % 2 * 4);
}

static void pack_block(const struct mx *f, uint8_t *block, size_t size, const uint32_t *x)
{
	unsigned int sign = f->integer ? 0 : 1u << (f->bits - 1), code, left = 0;
	uint32_t most = 0;
	int scale;

	memset(block, 0, size);
	for (unsigned int i = 0; i < VALUES; i++)
		if ((x[i] & 0x7fffffff) > most)
			most = x[i] & 0x7fffffff;
	if (most >= F32_INF) {
		block[0] = SCALE_NAN;
		return;
	}
	scale = (int)(most >> 23) - f->emax;
	if (scale < 0)
		scale = 0;
	for (unsigned int i = 0; i < VALUES; i++) {
		code = encode_value(f, x[i], scale - 127);
		put_value(f, block, i, code);
		left |= code & ~sign;
	}
	block[0] = (uint8_t)scale;
	if (!left)
		memset(block, 0, size);
}

int inc_mx_pack(enum inc_type type, void *blocks, const float *values, size_t n)
{
	size_t size = inc_type_size(type), some;
	uint8_t *block = blocks;
	uint32_t x[VALUES];
	int ret = check_values(type, blocks, values, n);

	for (; !ret && n; n -= some, values += some, block += size) {
		some = n < VALUES ? n : VALUES;
		memset(x, 0, sizeof(x));
		memcpy(x, values, some * sizeof(x[0]));
		pack_block(mx_format(type), block, size, x);
	}
	return ret;
}

/* ---- From blocks --------------------------------------------------------- */

/* @sig x 2^@lowest as an f32, of which it is one, or too large. */
static uint32_t compose_f32(uint32_t sig, int lowest)
{
	int top;

	if (!sig)
		return 0;
	top = 31 - __builtin_clz(sig);
	if (top + lowest > 127)
		return F32_INF;
	if (top + lowest < -126)
		return sig << (lowest + 149);
	return (uint32_t)(top + lowest + 127) << 23 | (sig << (23 - top) & 0x7fffff);
}

static uint32_t decode_value(const struct mx *f, unsigned int code, int shared)
{
	unsigned int magnitude = code & ((1u << (f->bits - 1)) - 1), field = magnitude >> f->man;
	uint32_t sign = (uint32_t)code >> (f->bits - 1) << 31, sig = magnitude;

	if (f->integer) {
		sig = sign ? 0x100 - code : code;
		return sign | compose_f32(sig, shared - (int)f->man);
	}
	if (magnitude > f->most)	/* the only infinity is that of E5M2 */
		return magnitude == 0x7c ? sign | F32_INF : F32_NAN;
	if (field)
		sig = (magnitude & ((1u << f->man) - 1)) | 1u << f->man;
	return sign | compose_f32(sig, shared + (field ? (int)field - 1 : 0) + f->least -
				       (int)f->man);
}

static unsigned int get_value(const struct mx *f, const uint8_t *block, unsigned int i)
{
	return f->bits == 8 ? block[1 + i] : block[1 + i / 2] >> i % 2 * 4 & 0xf;
}

int inc_mx_unpack(enum inc_type type, float *values, const void *blocks, size_t n)
{
	size_t size = inc_type_size(type), some;
	const struct mx *f = mx_format(type);
	const uint8_t *block = blocks;
	uint32_t x[VALUES];
	int ret = check_values(type, blocks, values, n);

	for (; !ret && n; n -= some, values += some, block += size) {
		some = n < VALUES ? n : VALUES;
		for (unsigned int i = 0; i < some; i++)
			x[i] = block[0] == SCALE_NAN ? F32_NAN :
			       decode_value(f, get_value(f, block, i), block[0] - 127);
		memcpy(values, x, some * sizeof(x[0]));
	}
	return ret;
}
