// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reduction kernels and conversions on all inputs that there are, in every variant: pairs of 8-bit
 * elements, elements of 16 and 8 bits that are widened, and every f32 that is narrowed.
 */
#include "reduce_env.h"

#define PAIRS	0x10000u
#define STRETCH	0x10000u	/* f32 of one call: their bits share the upper half */

struct test {
	const struct ref_type *t;
	u8 op, mode, variant;
	char name[64];
};

/* The reference once a kernel, for all its variants. */
static const u8 *pairs_reference(const struct test *x, const u8 *const *in)
{
	static const struct ref_type *t;
	static u8 want[PAIRS], op, mode;
	const u8 *p[2];
	unsigned int i;

	if (t == x->t && op == x->op && mode == x->mode)
		return want;
	t = x->t;
	op = x->op;
	mode = x->mode;
	for (i = 0; i < PAIRS; i++) {
		p[0] = in[0] + i;
		p[1] = in[1] + i;
		ref_fold(t, op, mode, p, 2, 2, want + i);
	}
	return want;
}

static void pairs(void)
{
	static const struct netinc_fold_args args = { .ranks = 2 };
	static u8 a[PAIRS], b[PAIRS], out[PAIRS];
	const u8 *const in[2] = { a, b };
	const struct test *x = ktap.arg;
	const struct netinc_reduce *r;
	unsigned int i;
	const u8 *want;

	if (skip_variant(x->variant))
		return;
	r = netinc_reduce_variant(x->t->type, x->op, x->mode, x->variant);
	if (!expect(r, "there is no %s", x->name))
		return;
	for (i = 0; i < PAIRS; i++) {
		a[i] = i;
		b[i] = i >> 8;
	}
	want = pairs_reference(x, in);
	r->fold(out, (const void *const *)in, 2, PAIRS, &args);
	for (i = 0; i < PAIRS; i++)
		expect(out[i] == want[i], "%s of %02x and %02x is %02x, expected %02x", r->name,
		       a[i], b[i], out[i], want[i]);
}

static void widen(void)
{
	const struct test *x = ktap.arg;
	unsigned int count = 1u << x->t->bytes * 8, i;
	u8 *in = allocate((size_t)count * x->t->bytes), *out = allocate((size_t)count * 4);
	const struct netinc_convert *c;
	u64 want;

	c = netinc_convert_variant(x->t->type, INC_TYPE_F32, x->variant);
	if (!skip_variant(x->variant) && expect(c, "there is no %s", x->name)) {
		for (i = 0; i < count; i++)
			ref_put(in + (size_t)i * x->t->bytes, x->t->bytes, i);
		c->convert(out, in, count);
		for (i = 0; i < count; i++) {
			want = ref_encode(ref_type(INC_TYPE_F32), ref_decode(x->t, i));
			expect(ref_get(out + (size_t)i * 4, 4) == want,
			       "%s of %x is %s, expected %08x", c->name, i,
			       hex(out + (size_t)i * 4, 4), (unsigned int)want);
		}
	}
	free(in);
	free(out);
}

/*
 * What a magnitude of f32 becomes is not computed but looked up: the small type's numbers in order,
 * each with the stretch of f32 that are nearest to it. Their ends are the middles between
 * neighbours, and belong to the even one.
 */
struct nearest {
	u32 last;	/* f32 of this stretch, as bits */
	u32 bits;	/* of the small type */
};

static u32 f32_bits(double x)
{
	return ref_encode(ref_type(INC_TYPE_F32), x);
}

static unsigned int list_nearest(const struct ref_type *t, struct nearest *list)
{
	u32 over = ref_infinity(t, 0), inf = f32_bits(INFINITY), k;
	double low, high, middle;

	for (k = 0; k < over; k++) {
		low = ref_decode(t, k);
		high = k + 1 < over ? ref_decode(t, k + 1) : low + (low - ref_decode(t, k - 1));
		middle = low + (high - low) / 2;
		list[k] = (struct nearest){ f32_bits(middle) - (k & 1), k };
	}
	list[k++] = (struct nearest){ inf, over };
	list[k++] = (struct nearest){ 0x7fffffff, ref_nan(t) };
	return k;
}

/* What the stretch becomes; k is where in the list it begins, and then where it ends. */
static void nearest_stretch(const struct ref_type *t, const struct nearest *list, u32 first,
			    unsigned int *k, u8 *want)
{
	u32 sign = first >> 31 << (t->bytes * 8 - 1), from = first & 0x7fffffff, i = 0, end, bits;

	for (; i < STRETCH; i = end) {
		while (list[*k].last < from + i)
			++*k;
		end = min(list[*k].last - from, STRETCH - 1) + 1;
		bits = list[*k].bits == ref_nan(t) ? list[*k].bits : list[*k].bits | sign;
		if (t->bytes == 1)
			memset(want + i, bits, end - i);
		else
			for (; i < end; i++)
				((u16 *)want)[i] = bits;
	}
}

static bool narrow_stretch(const struct netinc_convert *c, const struct ref_type *t,
			   const struct nearest *list, u32 first, unsigned int *k)
{
	static u8 out[STRETCH * 2] __attribute__((aligned(64)));
	static u8 want[STRETCH * 2] __attribute__((aligned(64)));
	static u32 in[STRETCH];
	u32 i;

	for (i = 0; i < STRETCH; i++)
		in[i] = (__force u32)cpu_to_le32(first + i);
	c->convert(out, in, STRETCH);
	nearest_stretch(t, list, first, k, want);
	for (i = 0; memcmp(out, want, STRETCH * t->bytes) && i < STRETCH; i++)
		if (memcmp(out + (size_t)i * t->bytes, want + (size_t)i * t->bytes, t->bytes))
			return expect(false, "%s of %08x is %s, expected %s", c->name, first + i,
				      hex(out + (size_t)i * t->bytes, t->bytes),
				      hex(want + (size_t)i * t->bytes, t->bytes));
	return true;
}

static void narrow(void)
{
	const struct test *x = ktap.arg;
	struct nearest *list = allocate(((size_t)1 << 16) * sizeof(*list));
	const struct netinc_convert *c;
	unsigned int k = 0, numbers;
	u64 first;

	c = netinc_convert_variant(INC_TYPE_F32, x->t->type, x->variant);
	numbers = list_nearest(x->t, list);
	if (!skip_variant(x->variant) && expect(c, "there is no %s", x->name) &&
	    expect(numbers > 4, "no numbers")) {
		for (first = 0; first < 1ull << 32; first += STRETCH) {
			if (!(first & 0x3fffffff))
				printf("# %s: %llu %%\n", c->name,
				       (unsigned long long)(first * 100 >> 32));
			if (first == 1ull << 31)
				k = 0;
			if (!narrow_stretch(c, x->t, list, first, &k))
				break;
		}
	}
	free(list);
}

#define MAX_TESTS	512

static struct ktap_test tests[MAX_TESTS];
static struct test args[MAX_TESTS];
static unsigned int ntests;

static void add(void (*run)(void), const struct ref_type *t, u8 op, u8 mode, const char *what)
{
	unsigned int v;

	for (v = 0; v < NETINC_VARIANT_COUNT && ntests < MAX_TESTS; v++) {
		struct test *x = &args[ntests];

		if (!variant_is_of_here(v))
			continue;
		*x = (struct test){ .t = t, .op = op, .mode = mode, .variant = v };
		snprintf(x->name, sizeof(x->name), "%s_%s%s_%s", netinc_type_name(t->type), what,
			 mode ? "_saturate" : "", netinc_variant_name(v));
		tests[ntests++] = (struct ktap_test){ x->name, run, x };
	}
}

static void add_type(const struct ref_type *t)
{
	unsigned int op, mode;

	for (op = 1; op < __INC_OP_MAX && t->bytes == 1; op++)
		for (mode = 0; mode <= INC_MODE_SATURATE; mode++)
			if (ref_exists(t, op, mode))
				add(pairs, t, op, mode, netinc_op_name(op));
	if (t->class != REF_FLOAT || t->bytes > 2)
		return;
	add(widen, t, 0, 0, "widened");
	add(narrow, t, 0, 0, "narrowed");
}

int main(int argc, char **argv)
{
	unsigned int i;

	netinc_reduce_init(netinc_cpu_features());
	for (i = 0; i < ARRAY_SIZE(ref_types); i++)
		add_type(&ref_types[i]);
	return ktap_main(tests, ntests, argc, argv);
}
