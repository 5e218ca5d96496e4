// SPDX-License-Identifier: GPL-2.0-only
/* Conversions between floating-point types and scaling by a weight, in every variant. */
#include "reduce_env.h"

#include <float.h>

#define MANY	0x100000u

struct test {
	u8 from, to, variant;	/* to INC_TYPE_NONE: scaling */
	char name[48];
};

/* Every value of a small type, the special values of a large one, and what is interesting. */
static void fill(const struct ref_type *t, u8 *p, unsigned int count)
{
	unsigned int i, all = t->bytes == 1 ? 256 : t->bytes == 2 ? 65536 : 0;

	for (i = 0; i < count; i++) {
		if (i < all)
			ref_put(p + (size_t)i * t->bytes, t->bytes, i);
		else if (i < all + SPECIALS)
			ref_put(p + (size_t)i * t->bytes, t->bytes, special_float(t, i - all));
		else
			ref_put(p + (size_t)i * t->bytes, t->bytes, interesting_float(t));
	}
}

/* What rounds to a small type: its numbers, what is halfway between two, neighbours of both. */
static void fill_halfway(const struct ref_type *from, const struct ref_type *small, u8 *p,
			 unsigned int count)
{
	u64 all = (2ull << (small->exp + small->mant)) - 1, bits;
	unsigned int i;

	for (i = 0; i < count; i++) {
		bits = ref_encode(from, ref_decode(small, ktap_random() & all));
		if (ktap_below(2))
			bits += 1ull << (from->mant - min(small->mant, from->mant));
		if (ktap_below(2) && from->mant > small->mant)
			bits ^= 1ull << (from->mant - small->mant - 1);
		ref_put(p + (size_t)i * from->bytes, from->bytes, bits + ktap_below(3) - 1);
	}
}

static bool check(const struct test *x, const struct netinc_convert *c, const u8 *in,
		  unsigned int count)
{
	const struct ref_type *from = ref_type(x->from), *to = ref_type(x->to);
	size_t len = (size_t)count * to->bytes, size = len + 2 * GUARD;
	unsigned int off = ktap_below(GUARD), i;
	u8 *out = allocate(size), want[8];
	bool good = true;

	memset(out, GUARD_BYTE, size);
	c->convert(out + off, in, count);
	for (i = 0; i < count && good; i++) {
		const u8 *p = in + (size_t)i * from->bytes, *q = out + off + (size_t)i * to->bytes;

		ref_put(want, to->bytes, ref_encode(to, ref_decode(from, ref_get(p, from->bytes))));
		good = expect(!memcmp(q, want, to->bytes),
			      "%s: element %u of %u: %s became %s, expected %s", c->name, i, count,
			      hex(p, from->bytes), hex(q, to->bytes), hex(want, to->bytes));
	}
	good = guards_intact(c->name, out, out + off, len, size) && good;
	free(out);
	return good;
}

static void convert(const struct test *x)
{
	const struct netinc_convert *c = netinc_convert_variant(x->from, x->to, x->variant);
	const struct ref_type *from = ref_type(x->from);
	unsigned int count, off;
	u8 *in;

	if (!expect(c, "there is no %s", x->name))
		return;
	in = allocate((size_t)MANY * from->bytes);
	fill(from, in, MANY);
	check(x, c, in, MANY);
	fill_halfway(from, ref_type(x->to), in, MANY / 4);
	check(x, c, in, MANY / 4);
	free(in);
	for (count = 0; count < 400; count++) {
		off = ktap_below(64);
		in = allocate(count * from->bytes + off);
		fill_halfway(from, from, in + off, count);
		if (!check(x, c, in + off, count))
			count = 400;
		free(in);
	}
}

static double weight(unsigned int i)
{
	static const double weights[] = {
		0.1, -0.0, 0.0, 1.0, -3.0, 1.0 / 1024, DBL_MIN, DBL_MAX, INFINITY, NAN,
		1.000000059604644775390625,
	};

	return weights[i % ARRAY_SIZE(weights)];
}

static void scale_once(const struct netinc_scale *s, const struct ref_type *t, unsigned int count,
		       double w)
{
	unsigned int parts = count * t->parts, off = ktap_below(GUARD), i;
	size_t len = (size_t)parts * t->bytes, size = len + 2 * GUARD;
	u8 *buf = allocate(size), *data = buf + off, *was = allocate(len), want[8];
	u64 bits;

	memset(buf, GUARD_BYTE, size);
	fill(t, data, parts);
	memcpy(was, data, len);
	memcpy(&bits, &w, sizeof(bits));
	s->scale(data, count, bits);
	for (i = 0; i < parts; i++) {
		const u8 *x = was + (size_t)i * t->bytes, *y = data + (size_t)i * t->bytes;

		ref_put(want, t->bytes,
			ref_encode(t, ref_mul(t, ref_decode(t, ref_get(x, t->bytes)), w)));
		if (!expect(!memcmp(y, want, t->bytes), "%s: %a x %s: %s, expected %s", s->name, w,
			    hex(x, t->bytes), hex(y, t->bytes), hex(want, t->bytes)))
			break;
	}
	guards_intact(s->name, buf, data, len, size);
	free(was);
	free(buf);
}

static void scale(const struct test *x)
{
	const struct netinc_scale *s = netinc_scale_variant(x->from, x->variant);
	unsigned int i;

	if (!expect(s, "there is no %s", x->name))
		return;
	for (i = 0; i < 11; i++)
		scale_once(s, ref_type(x->from), 1 << 14, weight(i));
	for (i = 0; i < 300; i++)
		scale_once(s, ref_type(x->from), i, weight(i));
}

static void run(void)
{
	const struct test *x = ktap.arg;

	if (skip_variant(x->variant))
		return;
	netinc_reduce_init(netinc_cpu_features());
	if (x->to)
		convert(x);
	else
		scale(x);
}

static const u8 pairs[][2] = {
	{ INC_TYPE_F32, INC_TYPE_F64 }, { INC_TYPE_F64, INC_TYPE_F32 },
	{ INC_TYPE_F32, INC_TYPE_F16 }, { INC_TYPE_F16, INC_TYPE_F32 },
	{ INC_TYPE_F32, INC_TYPE_BF16 }, { INC_TYPE_BF16, INC_TYPE_F32 },
	{ INC_TYPE_F32, INC_TYPE_F8E4M3 }, { INC_TYPE_F8E4M3, INC_TYPE_F32 },
	{ INC_TYPE_F32, INC_TYPE_F8E5M2 }, { INC_TYPE_F8E5M2, INC_TYPE_F32 },
	{ INC_TYPE_F32, INC_TYPE_NONE }, { INC_TYPE_F64, INC_TYPE_NONE },
	{ INC_TYPE_C32, INC_TYPE_NONE }, { INC_TYPE_C64, INC_TYPE_NONE },
};

int main(int argc, char **argv)
{
	static struct ktap_test tests[ARRAY_SIZE(pairs) * NETINC_VARIANT_COUNT];
	static struct test args[ARRAY_SIZE(tests)];
	unsigned int i, n = 0;

	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		struct test *x = &args[n];

		if (!variant_is_of_here(i % NETINC_VARIANT_COUNT))
			continue;
		x->from = pairs[i / NETINC_VARIANT_COUNT][0];
		x->to = pairs[i / NETINC_VARIANT_COUNT][1];
		x->variant = i % NETINC_VARIANT_COUNT;
		snprintf(x->name, sizeof(x->name), "%s_%s_%s", netinc_type_name(x->from),
			 x->to ? netinc_type_name(x->to) : "scale",
			 netinc_variant_name(x->variant));
		tests[n++] = (struct ktap_test){ x->name, run, x };
	}
	return ktap_main(tests, n, argc, argv);
}
