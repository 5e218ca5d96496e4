// SPDX-License-Identifier: GPL-2.0-only
/* Which reduction kernels there are, which is chosen, what they are called; their knobs. */
#include "reduce_env.h"

/* Above what a u8 of the interface says, but for types and operations that there will never be. */
#define MANY	256u

static const struct netinc_reduce *variant(u8 type, u8 op, u8 mode, u8 v)
{
	return netinc_reduce_variant(type, op, mode, v);
}

/* Every variant that runs here has the kernels that the rules ask for, and no others. */
static void rules(void)
{
	unsigned int type, op, mode, v, n = 0;
	const struct ref_type *t;
	bool wanted;

	netinc_reduce_init(netinc_cpu_features());
	for (type = 0; type < MANY; type++)
		for (op = 0; op < MANY; op++)
			for (mode = 0; mode < 4; mode++) {
				t = ref_type(type);
				wanted = t && ref_exists(t, op, mode);
				n += wanted;
				expect(!!netinc_reduce_find(type, op, mode, true) == wanted,
				       "%s %s mode %u: %s", netinc_type_name(type),
				       netinc_op_name(op), mode,
				       wanted ? "no kernel" : "a kernel nobody asked for");
				for (v = 0; v < NETINC_VARIANT_COUNT; v++)
					expect(!!variant(type, op, mode, v) ==
					       (wanted && variant_runs(v)),
					       "%s %s mode %u %s: %s", netinc_type_name(type),
					       netinc_op_name(op), mode, netinc_variant_name(v),
					       wanted ? "no kernel" : "a kernel");
			}
	expect(n == 155, "%u kernels are asked for", n);
}

/* FNV-1a over the places in the table of what the rules ask for, but @without. */
static u32 digest_of_rules(unsigned int without)
{
	unsigned int type, op, mode, i = 0, k;
	u32 digest = 0x811c9dc5;

	for (type = 0; type < __INC_TYPE_MAX; type++)
		for (op = 0; op < __INC_OP_MAX; op++)
			for (mode = 0; mode <= INC_MODE_SATURATE; mode++, i++)
				for (k = 0; k < 2 && i != without && ref_type(type) &&
				     ref_exists(ref_type(type), op, mode); k++)
					digest = (digest ^ (k ? i >> 8 : i & 0xff)) * 0x01000193;
	return digest;
}

/* By it nodes see whether they reduce the same, whatever their CPUs are. */
static void digest(void)
{
	const unsigned int f32_sum = (INC_TYPE_F32 * __INC_OP_MAX + INC_OP_SUM) * 2;
	u32 all = digest_of_rules(~0u);

	netinc_reduce_init(0);
	expect(netinc_reduce_digest() == all, "without vectors: %08x", netinc_reduce_digest());
	netinc_reduce_init(netinc_cpu_features());
	expect(netinc_reduce_digest() == all, "with vectors: %08x", netinc_reduce_digest());
	expect(digest_of_rules(f32_sum) != all, "it is the same without the sum of f32");
}

static void check_entry(const struct netinc_reduce *r, const struct ref_type *t, u8 op, u8 mode,
			u8 v)
{
	bool wide = t->class == REF_FLOAT && t->bytes < 4 && op != INC_OP_MIN && op != INC_OP_MAX;
	char name[64];

	snprintf(name, sizeof(name), "%s-%s%s-%s", netinc_type_name(t->type), netinc_op_name(op),
		 mode ? "-saturate" : "", netinc_variant_name(v));
	expect(!strcmp(r->name, name), "%s is called %s", name, r->name);
	expect(r->type == t->type && r->op == op && r->mode == mode && r->variant == v,
	       "%s is in the wrong place", name);
	expect(r->elem_size == ref_size(t) && r->elem_size == netinc_reduce_elem_size(t->type),
	       "%s: element of %u bytes", name, r->elem_size);
	if (t->class == REF_BLOCK)
		expect(r->acc_size == (r->elem_size == 17 ? 136 : 132),
		       "%s: accumulator of %u bytes", name, r->acc_size);
	else
		expect(r->acc_size == (wide || mode ? 4 : r->elem_size),
		       "%s: accumulator of %u bytes", name, r->acc_size);
	expect(r->acc_size % r->elem_size == 0, "%s: it is no multiple of elements", name);
	expect(r->fpu == (v != NETINC_VARIANT_GENERIC) && !r->features == !r->fpu,
	       "%s: FPU %u, features %x", name, r->fpu, r->features);
}

static void entries(void)
{
	unsigned int i, op, mode, v;
	const struct netinc_reduce *r;

	netinc_reduce_init(~0u);
	for (i = 0; i < ARRAY_SIZE(ref_types); i++)
		for (op = 0; op < __INC_OP_MAX; op++)
			for (mode = 0; mode <= INC_MODE_SATURATE; mode++)
				for (v = 0; v < NETINC_VARIANT_COUNT; v++) {
					r = variant(ref_types[i].type, op, mode, v);
					if (r)
						check_entry(r, &ref_types[i], op, mode, v);
				}
	netinc_reduce_init(netinc_cpu_features());
}

static void chosen(unsigned int features, bool fpu_ok, u8 v)
{
	const struct netinc_reduce *r = netinc_reduce_find(INC_TYPE_BF16, INC_OP_SUM, 0, fpu_ok);
	const struct netinc_convert *c = netinc_convert_find(INC_TYPE_F32, INC_TYPE_F16, fpu_ok);
	const struct netinc_scale *s = netinc_scale_find(INC_TYPE_C64, fpu_ok);

	if (!expect(r && c && s, "features %x: something is missing", features))
		return;
	expect(r->variant == v, "features %x, FPU %u: %s", features, fpu_ok, r->name);
	expect(c->variant == v, "features %x, FPU %u: %s", features, fpu_ok, c->name);
	expect(s->variant == v, "features %x, FPU %u: %s", features, fpu_ok, s->name);
}

/* The last variant whose features are there, generic without FPU; each feature is needed. */
static void choice(void)
{
	static const struct {
		unsigned int features;
		u8 variant;
	} cases[] = {
		{ 0, NETINC_VARIANT_GENERIC },
#ifdef __x86_64__
		{ NETINC_CPU_AVX2, NETINC_VARIANT_GENERIC },
		{ NETINC_CPU_F16C, NETINC_VARIANT_GENERIC },
		{ NETINC_CPU_AVX512, NETINC_VARIANT_GENERIC },
		{ NETINC_NEEDS_AVX2, NETINC_VARIANT_AVX2 },
		{ NETINC_NEEDS_AVX512, NETINC_VARIANT_AVX512 },
		{ NETINC_CPU_NEON, NETINC_VARIANT_GENERIC },
		{ ~0u, NETINC_VARIANT_AVX512 },
#elif defined(__AARCH64EL__)
		{ ~0u ^ NETINC_CPU_NEON, NETINC_VARIANT_GENERIC },
		{ NETINC_CPU_NEON, NETINC_VARIANT_NEON },
		{ ~0u, NETINC_VARIANT_NEON },
#else
		{ ~0u, NETINC_VARIANT_GENERIC },
#endif
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		netinc_reduce_init(cases[i].features);
		chosen(cases[i].features, true, cases[i].variant);
		chosen(cases[i].features, false, NETINC_VARIANT_GENERIC);
	}
	netinc_reduce_init(netinc_cpu_features());
}

static void conversions_and_scales(void)
{
	static const u8 small[] = { INC_TYPE_F16, INC_TYPE_BF16, INC_TYPE_F64, INC_TYPE_F8E4M3,
				    INC_TYPE_F8E5M2 };
	static const u8 scaled[] = { INC_TYPE_F32, INC_TYPE_F64, INC_TYPE_C32, INC_TYPE_C64 };
	unsigned int from, to, v;
	bool wanted;

	netinc_reduce_init(netinc_cpu_features());
	for (from = 0; from < MANY; from++) {
		for (to = 0; to < MANY; to++) {
			wanted = (from == INC_TYPE_F32 && memchr(small, to, sizeof(small))) ||
				 (to == INC_TYPE_F32 && memchr(small, from, sizeof(small)));
			for (v = 0; v < NETINC_VARIANT_COUNT; v++)
				expect(!!netinc_convert_variant(from, to, v) ==
				       (wanted && variant_runs(v)),
				       "%s to %s in %s", netinc_type_name(from),
				       netinc_type_name(to), netinc_variant_name(v));
		}
		wanted = memchr(scaled, from, sizeof(scaled));
		for (v = 0; v < NETINC_VARIANT_COUNT; v++)
			expect(!!netinc_scale_variant(from, v) == (wanted && variant_runs(v)),
			       "scaling of %s in %s", netinc_type_name(from),
			       netinc_variant_name(v));
	}
	expect(!netinc_reduce_variant(INC_TYPE_F32, INC_OP_SUM, 0, NETINC_VARIANT_COUNT),
	       "an unknown variant sums");
	expect(!netinc_convert_variant(INC_TYPE_F32, INC_TYPE_F64, 255),
	       "an unknown variant converts");
	expect(!netinc_scale_variant(INC_TYPE_F32, 255), "an unknown variant scales");
}

/* Bytes, so that it means the same on a host of the other byte order. */
static void byte_order(void)
{
	static const u8 i32[3][4] = { { 0xff, 0xff, 0, 0 }, { 1, 0, 0, 0x80 }, { 0, 0, 1, 0x80 } };
	static const u8 f32[3][4] = { { 0, 0, 0x80, 0x3f }, { 0, 0, 0x80, 0x3f },
				      { 0, 0, 0, 0x40 } };
	static const struct netinc_fold_args args = { .ranks = 1 };
	const void *src[2];
	unsigned int v;
	u8 dst[4];

	netinc_reduce_init(netinc_cpu_features());
	for (v = 0; v < NETINC_VARIANT_COUNT; v++) {
		if (!variant_runs(v))
			continue;
		src[0] = i32[0];
		src[1] = i32[1];
		variant(INC_TYPE_I32, INC_OP_SUM, 0, v)->fold(dst, src, 2, 1, &args);
		expect(!memcmp(dst, i32[2], 4), "i32: %s", hex(dst, 4));
		src[0] = f32[0];
		src[1] = f32[1];
		variant(INC_TYPE_F32, INC_OP_SUM, 0, v)->fold(dst, src, 2, 1, &args);
		expect(!memcmp(dst, f32[2], 4), "f32: %s", hex(dst, 4));
	}
}

/* The self-test of a debug module. */
static void selftest(void)
{
	netinc_reduce_init(netinc_cpu_features());
	expect(!netinc_reduce_selftest(), "the module's self-test failed");
}

static void names_cover_the_uapi(void)
{
	unsigned int i, k;

	for (i = 1; i < __INC_TYPE_MAX; i++) {
		expect(netinc_reduce_elem_size(i), "type %u has no size", i);
		for (k = 0; k < i; k++)
			expect(strcmp(netinc_type_name(i), netinc_type_name(k)),
			       "types %u and %u are both %s", i, k, netinc_type_name(i));
	}
	for (i = 1; i < __INC_OP_MAX; i++)
		for (k = 0; k < i; k++)
			expect(strcmp(netinc_op_name(i), netinc_op_name(k)),
			       "operations %u and %u are both %s", i, k, netinc_op_name(i));
	expect(!strcmp(netinc_type_name(INC_TYPE_F32), "f32"), "f32 is %s",
	       netinc_type_name(INC_TYPE_F32));
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
		expect(denied == (nth ? 60 / nth : 0), "every %u-th of 60: %u refused", nth,
		       denied);
	}
	netinc_fpu_deny_nth = 0;
}

/* All bytes and no others. */
static void copy_one(unsigned int from, unsigned int to, unsigned int len, bool fpu)
{
	u8 src[700], dst[700], before = 0xa5;
	unsigned int i;

	for (i = 0; i < sizeof(src); i++)
		src[i] = i * 7 + i / 256;
	memset(dst, before, sizeof(dst));
	netinc_copy(dst + to, src + from, len, fpu);
	for (i = 0; i < sizeof(dst); i++)
		if (dst[i] != (i - to < len ? src[from + i - to] : before))
			break;
	expect(i == sizeof(dst), "%u bytes from %u to %u: byte %u is wrong", len, from, to, i);
}

static void copy(void)
{
	unsigned int features = netinc_cpu_features(), len, at, n;

	for (n = 0; n < 3; n++) {
		netinc_reduce_init(n == 2 ? 0 : features);
		for (len = 0; len < 600; len++)
			for (at = 0; at < 40; at += 13)
				copy_one(at, 52 - at, len, n != 1);
	}
	netinc_reduce_init(features);
}

/* @n sources of zeros make zeros. */
static void fold_zeros(const struct netinc_reduce *r, unsigned int n, unsigned int flags)
{
	enum { ELEMS = 7 };
	static const u8 zeros[ELEMS * 136];
	const struct netinc_fold_args args = { .flags = flags, .ranks = n };
	unsigned int i, size = flags & NETINC_FOLD_UNROUNDED ? r->acc_size : r->elem_size;
	const void *src[9];
	u8 got[ELEMS * 136];

	for (i = 0; i < n; i++)
		src[i] = zeros;
	memset(got, GUARD_BYTE, sizeof(got));
	r->fold(got, src, n, ELEMS, &args);
	expect(!memcmp(got, zeros, ELEMS * size), "%s of %u zeros, flags %u: %s", r->name, n, flags,
	       hex(got, size > 8 ? 8 : size));
}

/*
 * A block of zeros is not folded where all contribute nothing else: the result has to be what it
 * would be if it was, for every kernel.
 */
static void zeros_make_zeros(void)
{
	unsigned int type, op, mode, v, n;
	const struct netinc_reduce *r;

	netinc_reduce_init(netinc_cpu_features());
	for (type = 0; type < __INC_TYPE_MAX; type++)
		for (op = 0; op < __INC_OP_MAX; op++)
			for (mode = 0; mode <= INC_MODE_SATURATE; mode++)
				for (v = 0; v < NETINC_VARIANT_COUNT; v++) {
					r = variant(type, op, mode, v);
					for (n = 1; r && n <= 9; n++)
						fold_zeros(r, n, 0);
					if (!r)
						continue;
					fold_zeros(r, 3, NETINC_FOLD_UNROUNDED);
					fold_zeros(r, 1, NETINC_FOLD_ACCUMULATORS);
				}
}

static const struct ktap_test tests[] = {
	KTAP(copy),
	KTAP(rules),
	KTAP(digest),
	KTAP(entries),
	KTAP(choice),
	KTAP(conversions_and_scales),
	KTAP(byte_order),
	KTAP(zeros_make_zeros),
	KTAP(selftest),
	KTAP(names_cover_the_uapi),
	KTAP(fpu_deny_nth),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
