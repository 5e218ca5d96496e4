// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reduction kernels against the arithmetic of this CPU: every variant of every kernel, bit for bit, with all special
 * values, every alignment, and bytes around each result that must not change.
 */
#include "reduce/reduce.h"

#include <math.h>
#include <sys/mman.h>

#include "ktap.h"

#define ELEM		4u
#define MAX_SOURCES	64u
#define GUARD		64u	/* bytes kept around a result */
#define GUARD_BYTE	0xa5
#define CANONICAL_NAN	0x7fc00000u

static const struct netinc_fold_args plain;

/* One fold: what is folded, from where to where. */
struct job {
	const struct netinc_reduce *r;
	unsigned int n, count;
	unsigned int align[MAX_SOURCES];	/* of each source: bytes off a multiple of 64 */
	unsigned int dst_align;
	bool in_place;				/* dst is src[0] */
};

/* Zeros, subnormals, powers of two and their neighbours, halfway cases, extremes, Inf and NaN; and the negatives. */
static const u32 specials[] = {
	0x00000000, 0x00000001, 0x00000002, 0x00000003, 0x00400000, 0x007ffffe, 0x007fffff,
	0x00800000, 0x00800001, 0x00ffffff, 0x01000000, 0x01000001, 0x0c000000, 0x0c800000,
	0x33000000, 0x33000001, 0x33800000, 0x33800001, 0x337fffff, 0x34000000, 0x34400000,
	0x3effffff, 0x3f000000, 0x3f7fffff, 0x3f800000, 0x3f800001, 0x3f800002, 0x3fffffff,
	0x40000000, 0x40490fdb, 0x4b000000, 0x4b7fffff, 0x4b800000, 0x4b800001, 0x4c000000,
	0x72ffffff, 0x73000000, 0x73000001, 0x73800000, 0x7e7fffff, 0x7e800000, 0x7effffff,
	0x7f000000, 0x7f7ffffe, 0x7f7fffff, 0x7f800000,
	0x7f800001, 0x7fbfffff, 0x7fc00000, 0x7fc00001, 0x7fffffff,
};

/* Half positive, half negative. */
#define SPECIALS	(2 * (unsigned int)ARRAY_SIZE(specials))

static u32 special(u64 i)
{
	return i < ARRAY_SIZE(specials) ? specials[i] : specials[i - ARRAY_SIZE(specials)] | 0x80000000u;
}

static void *allocate(size_t size)
{
	void *p = aligned_alloc(64, round_up(size + 1, (size_t)64));

	if (!p) {
		printf("Bail out! no memory for %zu bytes\n", size);
		exit(2);
	}
	return p;
}

static float as_float(u32 bits)
{
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

static u32 as_bits(float f)
{
	u32 bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

static u32 load(const void *p, size_t i)
{
	u32 x;

	memcpy(&x, (const u8 *)p + i * ELEM, sizeof(x));
	return le32_to_cpu((__force __le32)x);
}

static void store(void *p, size_t i, u32 x)
{
	__le32 v = cpu_to_le32(x);

	memcpy((u8 *)p + i * ELEM, &v, sizeof(v));
}

/* The reference: what this CPU makes of it, one addition after the other. */
static u32 reference(const struct netinc_reduce *r, const void *const *src, unsigned int n, size_t i)
{
	u32 acc = load(src[0], i);
	unsigned int s;

	for (s = 1; s < n; s++)
		acc = r->type == INC_TYPE_F32 ? as_bits(as_float(acc) + as_float(load(src[s], i))) :
						acc + load(src[s], i);
	return r->type == INC_TYPE_F32 && isnan(as_float(acc)) ? CANONICAL_NAN : acc;
}

/*
 * Floats whose sums are interesting: exponents near one another or at the ends of the range, runs of zeros and ones in
 * the significand, special values now and then. For integers any bits will do.
 */
static u32 interesting(void)
{
	u64 r = ktap_random();
	u32 sign = (u32)(r >> 63) << 31, exponent = 100 + (r >> 8) % 40, mant = r >> 32 & 0x7fffff;

	switch (r % 16) {
	case 0:
		return special((r >> 8) % SPECIALS);
	case 1:
		return r >> 32;
	case 2:
		exponent = (r >> 8) % 4;
		break;
	case 3:
		exponent = 251 + (r >> 8) % 4;
		break;
	case 4:
	case 5:
		mant &= 0x7fffffu << (r >> 16) % 24;
		break;
	case 6:
		mant |= (1u << (r >> 16) % 24) - 1;
		break;
	}
	return sign | exponent << 23 | mant;
}

/* NULL, and the running test is skipped, if this CPU lacks what the variant needs. */
static const struct netinc_reduce *kernel(u8 type, u8 variant)
{
	unsigned int features = netinc_cpu_features();
	const struct netinc_reduce *r;

	netinc_reduce_init(features);
	r = netinc_reduce_variant(type, INC_OP_SUM, 0, variant);
	if (!r && variant == NETINC_VARIANT_AVX2 && !(features & NETINC_CPU_AVX2))
		ktap_skip("this CPU has no AVX2");
	else
		expect(r, "no %s sum in variant %s", netinc_type_name(type), netinc_variant_name(variant));
	return r;
}

static bool guards_intact(const u8 *buf, const u8 *dst, size_t len, size_t size)
{
	const u8 *p;

	for (p = buf; p < buf + size; p++)
		if ((p < dst || p >= dst + len) && *p != GUARD_BYTE)
			return expect(false, "byte %td beside a result of %zu bytes was written", p - dst, len);
	return true;
}

static bool compare(const struct job *j, const void *const *src, const void *dst, const u32 *want)
{
	unsigned int i, s;

	for (i = 0; i < j->count; i++) {
		if (load(dst, i) == want[i])
			continue;
		expect(false, "%s: element %u of %u, %u sources, dst + %u%s: %08x, expected %08x", j->r->name, i,
		       j->count, j->n, j->dst_align, j->in_place ? " in place" : "", load(dst, i), want[i]);
		for (s = j->in_place; s < j->n && s < 4; s++)
			printf("#   source %u + %u: %08x\n", s, j->align[s], load(src[s], i));
		return false;
	}
	return true;
}

/* Folds what fill(s, i) says, compares with the reference and looks at the bytes around. False stops a loop. */
static bool run(const struct job *j, u32 (*fill)(unsigned int s, unsigned int i))
{
	size_t len = (size_t)j->count * ELEM, size = len + 2 * GUARD + 64;
	u8 *buf[MAX_SOURCES], *out = allocate(size), *dst = out + GUARD + j->dst_align;
	u32 *want = allocate(len);
	const void *src[MAX_SOURCES];
	unsigned int s, i;
	bool good;

	memset(out, GUARD_BYTE, size);
	for (s = 0; s < j->n; s++) {
		buf[s] = allocate(len + j->align[s]);
		src[s] = !s && j->in_place ? dst : buf[s] + j->align[s];
		for (i = 0; i < j->count; i++)
			store((void *)src[s], i, fill(s, i));
	}
	for (i = 0; i < j->count; i++)
		want[i] = reference(j->r, src, j->n, i);
	j->r->fold(dst, src, j->n, j->count, &plain);
	good = compare(j, src, dst, want);
	good = guards_intact(out, dst, len, size) && good;
	for (s = 0; s < j->n; s++)
		free(buf[s]);
	free(want);
	free(out);
	return good;
}

static u32 fill_random(unsigned int s, unsigned int i)
{
	(void)s;
	(void)i;
	return interesting();
}

static u32 fill_pairs(unsigned int s, unsigned int i)
{
	return special(s ? i % SPECIALS : i / SPECIALS);
}

static u32 fill_triples(unsigned int s, unsigned int i)
{
	return special(s == 0 ? i % SPECIALS : s == 1 ? i / SPECIALS % SPECIALS : i / SPECIALS / SPECIALS);
}

/* Exact cancellation, and sums near it: b is -a with a few units more or less. */
static u32 last_value;

static u32 fill_cancelling(unsigned int s, unsigned int i)
{
	(void)i;
	if (s)
		return (last_value ^ 0x80000000u) + (u32)ktap_below(5) - 2;
	return last_value = interesting();
}

static void specials_of(const struct netinc_reduce *r)
{
	struct job pairs = { .r = r, .n = 2, .count = SPECIALS * SPECIALS };
	struct job triples = { .r = r, .n = 3, .count = SPECIALS * SPECIALS * SPECIALS };

	run(&pairs, fill_pairs);
	run(&triples, fill_triples);
}

static void pairs_of(const struct netinc_reduce *r)
{
	struct job near = { .r = r, .n = 2, .count = 1u << 20 };
	unsigned int i;

	run(&near, fill_random);
	/* One element a job: fill_cancelling() needs both sources of an element one after the other. */
	for (near.count = 1, i = 0; i < 1u << 14; i++)
		if (!run(&near, fill_cancelling))
			return;
}

static void sources_of(const struct netinc_reduce *r)
{
	static const u8 numbers[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 64 };
	unsigned int i;

	for (i = 0; i < 2 * ARRAY_SIZE(numbers); i++) {
		struct job j = { .r = r, .n = numbers[i / 2], .count = 3001, .in_place = i % 2 };

		if (!run(&j, fill_random))
			return;
	}
}

static void counts_of(const struct netinc_reduce *r)
{
	unsigned int i;

	for (i = 0; i < 2 * 68; i++) {
		struct job j = { .r = r, .n = 1 + i % 5, .count = i / 2, .in_place = i % 2 };

		if (!run(&j, fill_random))
			return;
	}
}

/* Every pair of alignments of one source and dst, then all sources at once at random. */
static void alignments_of(const struct netinc_reduce *r)
{
	unsigned int i, s;

	for (i = 0; i < 3 * 16 * 16; i++) {
		struct job j = { .r = r, .n = 3, .count = 45, .dst_align = i % 16 };

		j.align[i / 256] = i / 16 % 16;
		if (!run(&j, fill_random))
			return;
	}
	for (i = 0; i < 3000; i++) {
		struct job j = { .r = r, .n = 1 + ktap_below(9), .count = ktap_below(150),
				 .dst_align = ktap_below(64), .in_place = ktap_below(2) };

		for (s = 0; s < j.n; s++)
			j.align[s] = ktap_below(64);
		if (!run(&j, fill_random))
			return;
	}
}

static void large_of(const struct netinc_reduce *r)
{
	struct job j = { .r = r, .n = 8, .count = (1u << 18) + 5, .dst_align = 3, .align = { 0, 1, 2, 3 } };

	run(&j, fill_random);
}

/* A page, count elements up to its end, and a page behind it that must not be touched. */
static u8 *before_forbidden_page(u8 *pages[2], unsigned int k, size_t page, unsigned int count)
{
	pages[k] = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages[k] == MAP_FAILED || mprotect(pages[k] + page, page, PROT_NONE)) {
		perror("Bail out! mmap");
		exit(2);
	}
	return pages[k] + page - (size_t)count * ELEM;
}

/* Sanitizers do not see loads in asm: here an element too many is a segmentation fault. */
static void page_end_of(const struct netinc_reduce *r)
{
	size_t page = sysconf(_SC_PAGESIZE);
	unsigned int count, i;
	const void *src[2];
	u8 *pages[2], *dst;

	for (count = 0; count < 68; count++) {
		src[0] = before_forbidden_page(pages, 0, page, count);
		dst = before_forbidden_page(pages, 1, page, count);
		src[1] = dst;
		for (i = 0; i < count; i++)
			store(dst, i, 0x3f800000 + i);
		r->fold(dst, &src[1], 1, count, &plain);
		for (i = 0; i < count; i++)
			expect(load(dst, i) == 0x3f800000 + i, "element %u of %u is %08x", i, count, load(dst, i));
		src[1] = src[0];
		r->fold(dst, src, 2, count, &plain);
		for (i = 0; i < count; i++)
			expect(!load(dst, i), "0 + 0 at %u of %u is %08x", i, count, load(dst, i));
		munmap(pages[0], 2 * page);
		munmap(pages[1], 2 * page);
	}
}

/* Bytes, so that it means the same on a host of the other byte order. */
static void byte_order_of(const struct netinc_reduce *r)
{
	static const u8 i32[3][4] = { { 0xff, 0xff, 0, 0 }, { 1, 0, 0, 0x80 }, { 0, 0, 1, 0x80 } };
	static const u8 f32[3][4] = { { 0, 0, 0x80, 0x3f }, { 0, 0, 0x80, 0x3f }, { 0, 0, 0, 0x40 } };
	const u8 (*b)[4] = r->type == INC_TYPE_F32 ? f32 : i32;
	const void *src[2] = { b[0], b[1] };
	u8 dst[4];

	r->fold(dst, src, 2, 1, &plain);
	expect(!memcmp(dst, b[2], 4), "%02x %02x %02x %02x", dst[0], dst[1], dst[2], dst[3]);
}

/* What every variant of every kernel has to pass. */
static const struct property {
	const char *name;
	void (*test)(const struct netinc_reduce *r);
} properties[] = {
	{ "specials", specials_of },
	{ "pairs", pairs_of },
	{ "sources", sources_of },
	{ "counts", counts_of },
	{ "alignments", alignments_of },
	{ "large", large_of },
	{ "page_end", page_end_of },
	{ "byte_order", byte_order_of },
};

static const u8 types[] = { INC_TYPE_I32, INC_TYPE_F32 };

#define PRODUCT		(ARRAY_SIZE(types) * NETINC_VARIANT_COUNT * ARRAY_SIZE(properties))

struct kernel_test {
	u8 type, variant;
	const struct property *property;
	char name[64];
};

static void kernel_test(void)
{
	const struct kernel_test *t = ktap.arg;
	const struct netinc_reduce *r = kernel(t->type, t->variant);

	if (r)
		t->property->test(r);
}

/* Without the reference in between: long chains in which one wrong bit shows up in the end. */
static void same_bits_of(u8 type, u8 variant)
{
	const struct netinc_reduce *a = kernel(type, NETINC_VARIANT_GENERIC), *b = kernel(type, variant);
	enum { n = 64, count = 4099 };
	const void *src[n];
	u32 *buf, *x, *y;
	unsigned int i;

	if (!a || !b)
		return;
	buf = allocate(n * count * ELEM);
	x = allocate(count * ELEM);
	y = allocate(count * ELEM);
	for (i = 0; i < n * count; i++)
		buf[i] = interesting() & ~0x40000000u;
	for (i = 0; i < n; i++)
		src[i] = buf + i * count;
	a->fold(x, src, n, count, &plain);
	b->fold(y, src, n, count, &plain);
	for (i = 0; i < count; i++)
		expect(x[i] == y[i], "element %u: %s %08x, %s %08x", i, a->name, x[i], b->name, y[i]);
	free(buf);
	free(x);
	free(y);
}

static void i32_same_bits(void)
{
	same_bits_of(INC_TYPE_I32, NETINC_VARIANT_AVX2);
}

static void f32_same_bits(void)
{
	same_bits_of(INC_TYPE_F32, NETINC_VARIANT_AVX2);
}

/* One NaN, wherever it stands and whatever its payload, is the canonical one in the result: also from one source. */
static void f32_nan_is_canonical(void)
{
	static const u32 nans[] = { 0x7f800001, 0x7fc00001, 0x7fffffff, 0xff800001, 0xffc00000, 0xffffffff };
	u32 one = 0x3f800000, buf[2], out;
	unsigned int v, i, n, at;

	for (v = 0; v < NETINC_VARIANT_COUNT; v++) {
		const struct netinc_reduce *r = kernel(INC_TYPE_F32, v);

		for (i = 0; r && i < ARRAY_SIZE(nans); i++)
			for (n = 1; n <= 2; n++)
				for (at = 0; at < n; at++) {
					const void *src[2] = { &buf[0], &buf[1] };

					store(buf, !at, one);
					store(buf, at, nans[i]);
					r->fold(&out, src, n, 1, &plain);
					expect(load(&out, 0) == CANONICAL_NAN, "%s: %08x at %u of %u gave %08x",
					       r->name, nans[i], at, n, load(&out, 0));
				}
	}
}

static void table_chooses(void)
{
	unsigned int features = netinc_cpu_features(), i;
	const struct netinc_reduce *r;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		netinc_reduce_init(features);
		r = netinc_reduce_find(types[i], INC_OP_SUM, 0, true);
		if (!expect(r, "no %s sum", netinc_type_name(types[i])))
			return;
		expect(r->variant == (features & NETINC_CPU_AVX2 ? NETINC_VARIANT_AVX2 : NETINC_VARIANT_GENERIC),
		       "%s chosen with features %x", r->name, features);
		r = netinc_reduce_find(types[i], INC_OP_SUM, 0, false);
		if (!expect(r, "no %s sum without FPU", netinc_type_name(types[i])))
			return;
		expect(r->variant == NETINC_VARIANT_GENERIC && !r->fpu, "%s chosen without FPU", r->name);
		netinc_reduce_init(0);
		r = netinc_reduce_find(types[i], INC_OP_SUM, 0, true);
		if (!expect(r, "no %s sum without features", netinc_type_name(types[i])))
			return;
		expect(r->variant == NETINC_VARIANT_GENERIC, "%s chosen without features", r->name);
		expect(!netinc_reduce_variant(types[i], INC_OP_SUM, 0, NETINC_VARIANT_AVX2), "AVX2 without features");
	}
}

static void table_is_consistent(void)
{
	const struct netinc_reduce *r;
	unsigned int type, op, v;

	netinc_reduce_init(netinc_cpu_features());
	for (type = 0; type < 256; type++)
		for (op = 0; op < 256; op++)
			for (v = 0; v < 256; v++) {
				r = netinc_reduce_variant(type, op, 0, v);
				if (!r)
					continue;
				expect(r->type == type && r->op == op && r->variant == v, "%s is in the wrong place",
				       r->name);
				expect(r->elem_size == netinc_reduce_elem_size(type), "%s: element of %u bytes",
				       r->name, r->elem_size);
				expect(netinc_reduce_find(type, op, 0, false), "%s has no variant without FPU", r->name);
			}
	expect(!netinc_reduce_find(INC_TYPE_NONE, INC_OP_SUM, 0, true), "type none has a sum");
	expect(!netinc_reduce_find(INC_TYPE_F32, INC_OP_BXOR, 0, true), "f32 has a bxor");
	expect(!netinc_reduce_find(255, INC_OP_SUM, 0, true), "type 255 has a sum");
	expect(!netinc_reduce_find(INC_TYPE_F32, 255, 0, true), "f32 has operation 255");
}

static void names_cover_the_uapi(void)
{
	unsigned int i, k;

	for (i = 1; i < __INC_TYPE_MAX; i++) {
		expect(netinc_reduce_elem_size(i), "type %u has no size", i);
		for (k = 0; k < i; k++)
			expect(strcmp(netinc_type_name(i), netinc_type_name(k)), "types %u and %u are both %s", i, k,
			       netinc_type_name(i));
	}
	for (i = 1; i < __INC_OP_MAX; i++)
		for (k = 0; k < i; k++)
			expect(strcmp(netinc_op_name(i), netinc_op_name(k)), "operations %u and %u are both %s", i, k,
			       netinc_op_name(i));
	expect(!strcmp(netinc_type_name(INC_TYPE_F32), "f32"), "f32 is %s", netinc_type_name(INC_TYPE_F32));
	expect(!strcmp(netinc_op_name(INC_OP_SUM), "sum"), "sum is %s", netinc_op_name(INC_OP_SUM));
	expect(!strcmp(netinc_type_name(__INC_TYPE_MAX), "?"), "an unknown type has a name");
	expect(!strcmp(netinc_op_name(255), "?"), "an unknown operation has a name");
	expect(!strcmp(netinc_variant_name(255), "?"), "an unknown variant has a name");
	expect(!netinc_reduce_elem_size(INC_TYPE_NONE), "type none has a size");
	expect(!netinc_reduce_elem_size(__INC_TYPE_MAX), "an unknown type has a size");
}

static void fpu_deny_nth(void)
{
	unsigned int nth, i, denied;

	for (nth = 0; nth < 5; nth++) {
		netinc_fpu_deny_nth = nth;
		for (denied = 0, i = 0; i < 60; i++) {
			if (netinc_fpu_begin())
				netinc_fpu_end();
			else
				denied++;
		}
		expect(denied == (nth ? 60 / nth : 0), "every %u-th of 60: %u refused", nth, denied);
	}
	netinc_fpu_deny_nth = 0;
}

static const struct ktap_test other_tests[] = {
	KTAP(i32_same_bits),
	KTAP(f32_same_bits),
	KTAP(f32_nan_is_canonical),
	KTAP(table_chooses),
	KTAP(table_is_consistent),
	KTAP(names_cover_the_uapi),
	KTAP(fpu_deny_nth),
};

/* type x variant x property, named f32_avx2_specials and so on */
static void list_kernel_tests(struct ktap_test *tests)
{
	static struct kernel_test args[PRODUCT];
	unsigned int i;

	for (i = 0; i < PRODUCT; i++) {
		struct kernel_test *t = &args[i];

		t->property = &properties[i % ARRAY_SIZE(properties)];
		t->variant = i / ARRAY_SIZE(properties) % NETINC_VARIANT_COUNT;
		t->type = types[i / ARRAY_SIZE(properties) / NETINC_VARIANT_COUNT];
		snprintf(t->name, sizeof(t->name), "%s_%s_%s", netinc_type_name(t->type),
			 netinc_variant_name(t->variant), t->property->name);
		tests[i] = (struct ktap_test){ .name = t->name, .run = kernel_test, .arg = t };
	}
}

int main(int argc, char **argv)
{
	static struct ktap_test tests[PRODUCT + ARRAY_SIZE(other_tests)];

	list_kernel_tests(tests);
	memcpy(tests + PRODUCT, other_tests, sizeof(other_tests));
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
