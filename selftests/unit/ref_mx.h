/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Block floats (OCP MX v1.0) by their definition, in double: a value becomes the nearest one of all
 * codes of its format, which is searched for. Included by reduce_ref.h.
 */
#ifndef INC_REF_MX_H
#define INC_REF_MX_H

/* What is behind the scale of a block of @type. */
struct ref_mx {
	u8 type, value;		/* value: an enum inc_type, or 0 for E2M1 */
	int emax;
	unsigned int codes;	/* finite magnitudes: 0 .. codes - 1 */
};

static const struct ref_mx ref_mx_formats[] = {
	{ INC_TYPE_MXF8E4M3, INC_TYPE_F8E4M3, 8, 0x7f },
	{ INC_TYPE_MXF8E5M2, INC_TYPE_F8E5M2, 15, 0x7c },
	{ INC_TYPE_MXF4E2M1, 0, 2, 8 },
	{ INC_TYPE_MXI8, INC_TYPE_I8, 0, 128 },
};

static inline const struct ref_mx *ref_mx_format(u8 type)
{
	size_t i;

	for (i = 0; ref_mx_formats[i].type != type; i++)
		;
	return &ref_mx_formats[i];
}

static inline unsigned int ref_mx_size(const struct ref_mx *f)
{
	return f->value ? 33 : 17;
}

/* The bits of value @i of a block. */
static inline u8 ref_mx_code(const struct ref_mx *f, const u8 *block, unsigned int i)
{
	if (f->value)
		return block[1 + i];
	return i % 2 ? block[1 + i / 2] / 16 : block[1 + i / 2] % 16;
}

static inline void ref_mx_set(const struct ref_mx *f, u8 *block, unsigned int i, u8 code)
{
	if (f->value)
		block[1 + i] = code;
	else if (i % 2)
		block[1 + i / 2] = block[1 + i / 2] % 16 + 16 * code;
	else
		block[1 + i / 2] = block[1 + i / 2] / 16 * 16 + code;
}

/* What a code is, without the scale. */
static inline double ref_mx_number(const struct ref_mx *f, u8 code)
{
	static const double e2m1[8] = { 0, 0.5, 1, 1.5, 2, 3, 4, 6 };

	if (f->value == INC_TYPE_I8)
		return (double)(s8)code / 64;
	if (f->value)
		return ref_decode(ref_type(f->value), code);
	return code & 8 ? -e2m1[code & 7] : e2m1[code];
}

static inline double ref_mx_decode(const struct ref_mx *f, const u8 *block, unsigned int i)
{
	if (block[0] == 0xff)
		return NAN;
	return ldexp(ref_mx_number(f, ref_mx_code(f, block, i)), block[0] - 127);
}

/* The nearest magnitude; of two that are as near the even one. */
static inline u8 ref_mx_nearest(const struct ref_mx *f, double x)
{
	unsigned int low = 0, high = f->codes - 1, mid;
	double a, b;

	while (high - low > 1) {
		mid = (low + high) / 2;
		if (ref_mx_number(f, mid) <= x)
			low = mid;
		else
			high = mid;
	}
	a = x - ref_mx_number(f, low);
	b = ref_mx_number(f, high) - x;
	return a < b || (a == b && low % 2 == 0) ? low : high;
}

static inline u8 ref_mx_encode_one(const struct ref_mx *f, double x)
{
	u8 code = ref_mx_nearest(f, fabs(x));

	if (f->value == INC_TYPE_I8)
		return x < 0 ? -code : code;
	return code | (signbit(x) ? f->value ? 0x80 : 8 : 0);
}

static inline void ref_mx_encode(const struct ref_mx *f, const double *x, u8 *block)
{
	double most = 0, sum = 0;
	unsigned int i;
	int shared;

	memset(block, 0, ref_mx_size(f));
	for (i = 0; i < 32; i++) {
		most = fmax(most, fabs(x[i]));
		sum += x[i] - x[i];	/* NaN for Inf, too */
	}
	if (isnan(sum)) {
		block[0] = 0xff;
		return;
	}
	shared = most == 0 ? -127 : fmax(ilogb(most) - f->emax, -127);
	for (i = 0; i < 32; i++) {
		ref_mx_set(f, block, i, ref_mx_encode_one(f, ldexp(x[i], -shared)));
		sum += fabs(ref_mx_number(f, ref_mx_code(f, block, i)));
	}
	if (sum > 0)
		block[0] = shared + 127;
	else
		memset(block, 0, ref_mx_size(f));
}

#endif
