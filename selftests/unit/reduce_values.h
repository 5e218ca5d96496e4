/* SPDX-License-Identifier: GPL-2.0-only */
/* Elements whose reductions are interesting, of every type. */
#ifndef INC_REDUCE_VALUES_H
#define INC_REDUCE_VALUES_H

#include "ktap.h"
#include "reduce_ref.h"

/* Exponents of special floats, as distances from both ends of the field, and from that of 1. */
static const struct {
	int from;	/* 0: the lowest, 1: that of 1, 2: the highest */
	int distance;
} special_exponents[] = {
	{ 0, 0 }, { 0, 1 }, { 0, 2 }, { 1, -2 }, { 1, -1 }, { 1, 0 }, { 1, 1 }, { 1, 2 },
	{ 2, -2 }, { 2, -1 }, { 2, 0 },
};

#define SPECIAL_MANTS	6u

/* 132 floats: zeros, subnormals, powers of two, neighbours, extremes, Inf, NaN, of both signs. */
static inline u64 special_float(const struct ref_type *t, u64 i)
{
	const u64 mants[SPECIAL_MANTS] = {
		0, 1, 1ull << (t->mant - 1), (1ull << (t->mant - 1)) + 1, (1ull << t->mant) - 2,
		(1ull << t->mant) - 1,
	};
	const int base[3] = { 0, ref_bias(t), (1 << t->exp) - 1 };
	u64 exponent, mant = mants[i % SPECIAL_MANTS];

	i /= SPECIAL_MANTS;
	exponent = base[special_exponents[i / 2 % ARRAY_SIZE(special_exponents)].from] +
		   special_exponents[i / 2 % ARRAY_SIZE(special_exponents)].distance;
	return (i % 2) << (t->bytes * 8 - 1) | exponent << t->mant | mant;
}

#define SPECIALS	(2 * SPECIAL_MANTS * ARRAY_SIZE(special_exponents))

/* As many integers: around 0, around the limits, and single bits. */
static inline u64 special_int(const struct ref_type *t, u64 i)
{
	u64 bits = t->bytes * 8, sign = 1ull << (bits - 1);

	if (i < 16)
		return i - 8;
	if (i < 32)
		return sign + i - 24;
	return (i % 2 ? ~0ull : 0) ^ 1ull << i / 2 % bits;
}

static inline u64 special(const struct ref_type *t, u64 i)
{
	if (t->bytes == 1)
		return i;
	return t->mant ? special_float(t, i % SPECIALS) : special_int(t, i % SPECIALS);
}

/*
 * Floats with exponents near one another or at the ends of the range, runs of zeros and ones in the
 * significand, and special values now and then.
 */
static inline u64 interesting_float(const struct ref_type *t)
{
	u64 r = ktap_random(), mant = ktap_random() & ((1ull << t->mant) - 1),
	    fields = 1ull << t->exp;
	u64 exponent = ref_bias(t) - fields / 16 + (r >> 8) % (fields / 8);

	switch (r % 16) {
	case 0:
		return special_float(t, (r >> 8) % SPECIALS);
	case 1:
		return ktap_random();
	case 2:
		exponent = (r >> 8) % 4;
		break;
	case 3:
		exponent = fields - 2 - (r >> 8) % 3;
		break;
	case 4:
	case 5:
		mant &= ~0ull << (r >> 16) % (t->mant + 1);
		break;
	case 6:
		mant |= (1ull << (r >> 16) % (t->mant + 1)) - 1;
		break;
	case 7:
	case 8:	/* products near the smallest number */
		exponent = ref_bias(t) / 2 - 2 + (r >> 8) % 5;
		break;
	}
	mant &= (1ull << t->mant) - 1;
	return (r >> 63) << (t->bytes * 8 - 1) | (exponent & (fields - 1)) << t->mant | mant;
}

static inline u64 interesting_int(const struct ref_type *t)
{
	u64 r = ktap_random();

	if (r % 8 == 0)
		return special_int(t, (r >> 8) % SPECIALS);
	return r % 8 == 1 ? r >> 62 : r >> (8 + (r >> 3) % 32);
}

/*
 * A block whose scale is near those of others, or near the ends; now and then there are NaNs, few
 * values, or hardly any bits.
 */
static inline void interesting_block(const struct ref_type *t, u8 *p)
{
	const struct ref_mx *f = ref_mx_format(t->type);
	u64 r = ktap_random();
	unsigned int i;

	p[0] = r % 8 ? 127 + r / 8 % 6 - 3 : r / 8 % 2 ? r / 16 % 20 : 255 - r / 16 % 20;
	if (p[0] == 255 && r / 1024 % 8)
		p[0] = 254;
	for (i = 1; i < ref_mx_size(f); i++)
		p[i] = ktap_random() >> 20 & (r >> 32 & 15 ? 0xff : 0x91);
	for (i = 0; i < 32; i++) {
		if (!isfinite(ref_mx_number(f, ref_mx_code(f, p, i))) && r >> 40 & 63)
			ref_mx_set(f, p, i, 0x35);
		if (!(r >> 48 & 7) && ktap_below(16))
			ref_mx_set(f, p, i, r >> 52 & 1 ? 0x80 >> (f->value ? 0 : 4) : 0);
	}
}

/* One element to p. Values of pairs come from a few, so that some are the same. */
static inline void interesting(const struct ref_type *t, u8 *p)
{
	u64 x;

	if (t->class == REF_BLOCK) {
		interesting_block(t, p);
		return;
	}
	x = t->mant ? interesting_float(t) : interesting_int(t);
	if (t->class == REF_PAIR && x % 4)
		x = special(t, x / 4 % 8 * 17);
	if (t->class == REF_BOOL && x % 4)
		x = x / 4 % 2;
	ref_put(p, t->bytes, x);
	if (t->class == REF_PAIR)
		ref_put(p + t->bytes, t->bytes, interesting_int(t));
	else if (t->class == REF_COMPLEX)
		ref_put(p + t->bytes, t->bytes, interesting_float(t));
}

#endif
