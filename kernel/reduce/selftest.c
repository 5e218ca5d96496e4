// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a debug build of the module (INC_DEBUG=1) runs while it is loaded, in the kernel's own
 * environment: known answers of the generic kernels, and every other variant against them, on some
 * thousands of elements per kernel. The tests outside the kernel are thorough; this one is for what
 * differs inside: compiler flags, FPU sections, the CPU.
 */
#include "reduce/arith.h"
#include "reduce/reduce.h"

#define SOURCES		3u
#define ELEMENTS	300u	/* of a round, at most: some chunks of every variant, and a rest */
#define ROUNDS		24u
#define MAX_SIZE	16u	/* bytes of an element or accumulator; of blocks there are fewer */

/* Used by one caller at a time: the module's init. */
static u8 sources[SOURCES][ELEMENTS * MAX_SIZE + 1];
static u8 expected[ELEMENTS * MAX_SIZE], result[ELEMENTS * MAX_SIZE];
static u64 state;

/* splitmix64 */
static u64 next_random(void)
{
	u64 z = state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static u32 random_below(u32 limit)
{
	return (u32)next_random() % limit;
}

/*
 * Any bits, few or many of them set, runs: as floats of any width they are small, large, subnormal,
 * Inf and NaN.
 */
static u64 random_bits(void)
{
	u64 r = next_random();
	u32 by = random_below(64);

	switch (random_below(6)) {
	case 0:
		return r & next_random() & next_random();
	case 1:
		return r | next_random() | next_random();
	case 2:
		return ~0ull << by;
	case 3:
		return ~0ull >> by;
	case 4:		/* near 1 in f32 and bf16: exponents of about the same size */
		return (r & 0x83ffffff83ffffffull) | 0x3c0000003c000000ull;
	}
	return r;
}

/* Every second element nearly cancels with the one of the first source. */
static void fill_buffer(unsigned int bytes)
{
	unsigned int s, i;

	for (s = 0; s < SOURCES; s++)
		for (i = 0; i < bytes; i += 8) {
			u64 x = random_bits();

			if (s && random_below(2))
				x = (x & 0x0101010101010101ull) ^ 0x8080808080808080ull ^
				    netinc_get_le64(&sources[0][i]);
			netinc_put_le64(&sources[s][i], x);
		}
}

static int report_failure(const char *name, const char *generic, size_t at, unsigned int size)
{
	u8 bits[2][MAX_SIZE] = { };

	/* of a block what differs first */
	for (; size > MAX_SIZE && expected[at] == result[at]; at++)
		size--;
	size = min(size, MAX_SIZE);
	memcpy(bits[0], expected + at, size);
	memcpy(bits[1], result + at, size);
	pr_err("inc: self-test of %s failed: %016llx%016llx, expected %016llx%016llx as from %s\n",
	       name, (unsigned long long)netinc_get_le64(&bits[1][8]),
	       (unsigned long long)netinc_get_le64(bits[1]),
	       (unsigned long long)netinc_get_le64(&bits[0][8]),
	       (unsigned long long)netinc_get_le64(bits[0]), generic);
	return -EIO;
}

static int compare_results(const char *name, const char *generic, unsigned int count,
			   unsigned int size)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (memcmp(expected + (size_t)i * size, result + (size_t)i * size, size))
			return report_failure(name, generic, (size_t)i * size, size);
	return 0;
}

/* What was folded when there was no FPU section to be had is not compared: false. */
static bool fold_all(const struct netinc_reduce *r, const void *const *src, unsigned int n,
		     unsigned int count, const struct netinc_fold_args *args)
{
	if (r->fpu && !netinc_fpu_begin())
		return false;
	r->fold(result, src, n, count, args);
	if (r->fpu)
		netinc_fpu_end();
	return true;
}

/* Random scales would be so far apart that sums are one of the two. */
static void set_scales(unsigned int size, unsigned int count, unsigned int off)
{
	unsigned int s, i;

	for (s = 0; s < SOURCES; s++)
		for (i = 0; i < count; i++)
			sources[s][off + i * size] = 125 + random_below(5);
}

static int test_fold(const struct netinc_reduce *r, const struct netinc_reduce *generic)
{
	unsigned int most = min(ELEMENTS, ELEMENTS * MAX_SIZE / r->acc_size);
	unsigned int round, n, count, off, s;
	const void *src[SOURCES];
	int err;

	for (round = 0; round < ROUNDS; round++) {
		const struct netinc_fold_args args = {
			.flags = round % 4 == 3 ? NETINC_FOLD_UNROUNDED : 0,
			.ranks = 1 + random_below(INC_MAX_RANKS),
		};

		n = 1 + random_below(SOURCES);
		count = round % 3 ? most : random_below(most);
		off = random_below(2);
		fill_buffer(most * r->elem_size);
		if (r->acc_size > MAX_SIZE)
			set_scales(r->elem_size, most, off);
		for (s = 0; s < n; s++)
			src[s] = sources[s] + off;
		generic->fold(expected, src, n, count, &args);
		if (!fold_all(r, src, n, count, &args))
			continue;
		err = compare_results(r->name, generic->name, count,
				      args.flags ? r->acc_size : r->elem_size);
		if (err)
			return err;
	}
	return 0;
}

static int test_convert(const struct netinc_convert *c, const struct netinc_convert *generic)
{
	unsigned int round;
	int err;

	for (round = 0; round < ROUNDS; round++) {
		fill_buffer(ELEMENTS * netinc_reduce_elem_size(c->from));
		generic->convert(expected, sources[0], ELEMENTS);
		if (!netinc_fpu_begin())
			continue;
		c->convert(result, sources[0], ELEMENTS);
		netinc_fpu_end();
		err = compare_results(c->name, generic->name, ELEMENTS,
				      netinc_reduce_elem_size(c->to));
		if (err)
			return err;
	}
	return 0;
}

static int test_scale(const struct netinc_scale *s, const struct netinc_scale *generic)
{
	unsigned int size = netinc_reduce_elem_size(s->type), round;
	u64 weight;
	int err;

	for (round = 0; round < ROUNDS; round++) {
		fill_buffer(ELEMENTS * size);
		weight = random_bits();
		memcpy(expected, sources[0], ELEMENTS * size);
		memcpy(result, sources[0], ELEMENTS * size);
		generic->scale(expected, ELEMENTS, weight);
		if (!netinc_fpu_begin())
			continue;
		s->scale(result, ELEMENTS, weight);
		netinc_fpu_end();
		err = compare_results(s->name, generic->name, ELEMENTS, size);
		if (err)
			return err;
	}
	return 0;
}

/* Answers worked out by hand. */
static const struct known {
	u8 type, op, mode;
	u32 ranks;
	u64 a, b, answer;
} known[] = {
	{ INC_TYPE_I8, INC_OP_SUM, 0, 2, 0x7f, 0x01, 0x80 },
	{ INC_TYPE_I8, INC_OP_SUM, INC_MODE_SATURATE, 2, 0x7f, 0x01, 0x7f },
	{ INC_TYPE_U16, INC_OP_SUM, INC_MODE_SATURATE, 2, 0xffff, 0x0001, 0xffff },
	{ INC_TYPE_U16, INC_OP_PROD, 0, 2, 0xffff, 0xffff, 0x0001 },
	{ INC_TYPE_I32, INC_OP_AVG, 0, 2, 0xfffffffd, 0, 0xffffffff },		/* -3 / 2 is -1 */
	{ INC_TYPE_U32, INC_OP_AVG, 0, 2, 0xfffffffd, 0, 0x7ffffffe },
	{ INC_TYPE_I64, INC_OP_MIN, 0, 2, 0x8000000000000000, 1, 0x8000000000000000 },
	{ INC_TYPE_U64, INC_OP_MIN, 0, 2, 0x8000000000000000, 1, 1 },
	{ INC_TYPE_U8, INC_OP_LXOR, 0, 2, 0x02, 0x01, 0x00 },
	{ INC_TYPE_BOOL, INC_OP_LAND, 0, 2, 0x02, 0x80, 0x01 },
	/* 1 + 2^-24: halfway, to even */
	{ INC_TYPE_F32, INC_OP_SUM, 0, 2, 0x3f800000, 0x33800000, 0x3f800000 },
	{ INC_TYPE_F32, INC_OP_SUM, 0, 2, 0x3f800001, 0x33800000, 0x3f800002 },
	/* subnormals are kept */
	{ INC_TYPE_F32, INC_OP_SUM, 0, 2, 0x00800000, 0x80000001, 0x007fffff },
	{ INC_TYPE_F32, INC_OP_SUM, 0, 2, 0x7f800000, 0xff800000, 0x7fc00000 },
	{ INC_TYPE_F32, INC_OP_PROD, 0, 2, 0x00800000, 0x3f000000, 0x00400000 },
	{ INC_TYPE_F32, INC_OP_MIN, 0, 2, 0x00000000, 0x80000000, 0x80000000 },
	{ INC_TYPE_F32, INC_OP_MAX, 0, 2, 0x7f800000, 0xffc00001, 0x7fc00000 },
	{ INC_TYPE_F32, INC_OP_AVG, 0, 3, 0x3f800000, 0, 0x3eaaaaab },		/* 1 / 3 */
	{ INC_TYPE_F64, INC_OP_AVG, 0, 3, 0x3ff0000000000000, 0, 0x3fd5555555555555 },
	{ INC_TYPE_F64, INC_OP_PROD, 0, 2, 0x3ff0000000000001, 0x3ff0000000000001,
	  0x3ff0000000000002 },
	{ INC_TYPE_F64, INC_OP_SUM, 0, 2, 0x7fefffffffffffff, 0x7fefffffffffffff,
	  0x7ff0000000000000 },
	{ INC_TYPE_F16, INC_OP_SUM, 0, 2, 0x7bff, 0x7bff, 0x7c00 }, /* too large: Inf */
	/* halfway to the smallest: even */
	{ INC_TYPE_F16, INC_OP_PROD, 0, 2, 0x0001, 0x3800, 0x0000 },
	{ INC_TYPE_BF16, INC_OP_SUM, 0, 2, 0x3f81, 0x3b80, 0x3f82 },		/* halfway: even */
	/* 448 + 16: halfway, back to even */
	{ INC_TYPE_F8E4M3, INC_OP_SUM, 0, 2, 0x7e, 0x58, 0x7e },
	/* 448 + 18: NaN, there is no Inf */
	{ INC_TYPE_F8E4M3, INC_OP_SUM, 0, 2, 0x7e, 0x59, 0x7f },
	{ INC_TYPE_F8E5M2, INC_OP_SUM, 0, 2, 0x7b, 0x7b, 0x7c },
	/* i x i */
	{ INC_TYPE_C32, INC_OP_PROD, 0, 2, 0x3f80000000000000, 0x3f80000000000000, 0xbf800000 },
	{ INC_TYPE_I32_I32, INC_OP_MAXLOC, 0, 2, 0x0000000900000007, 0x0000000300000007,
	  0x0000000300000007 },
	{ INC_TYPE_F32_I32, INC_OP_MINLOC, 0, 2, 0x00000001ff800000, 0x0000000effffffff,
	  0x0000000e7fc00000 },
};

static int test_known(const struct known *k)
{
	const struct netinc_reduce *r =
		netinc_reduce_variant(k->type, k->op, k->mode, NETINC_VARIANT_GENERIC);
	const struct netinc_fold_args args = { .ranks = k->ranks };
	const void *src[2] = { sources[0], sources[1] };

	netinc_put_le64(sources[0], k->a);
	netinc_put_le64(sources[1], k->b);
	netinc_put_le64(expected, k->answer);
	r->fold(result, src, 2, 1, &args);
	return compare_results(r->name, "known answers", 1, r->elem_size);
}

/* Every variant of a kernel; there is no more than one mode besides none. */
static int test_variants(u8 type, u8 op)
{
	const struct netinc_reduce *generic, *r;
	unsigned int mode, v;
	int err;

	for (mode = 0; mode <= INC_MODE_SATURATE; mode++) {
		generic = netinc_reduce_variant(type, op, mode, NETINC_VARIANT_GENERIC);
		for (v = NETINC_VARIANT_GENERIC + 1; v < NETINC_VARIANT_COUNT; v++) {
			r = netinc_reduce_variant(type, op, mode, v);
			err = r ? test_fold(r, generic) : 0;
			if (err)
				return err;
		}
	}
	return 0;
}

static int test_other_variants(u8 type)
{
	const struct netinc_convert *c;
	const struct netinc_scale *s;
	unsigned int to, v;
	int err;

	for (v = NETINC_VARIANT_GENERIC + 1; v < NETINC_VARIANT_COUNT; v++) {
		for (to = 1; to < __INC_TYPE_MAX; to++) {
			c = netinc_convert_variant(type, to, v);
			err = c ? test_convert(c, netinc_convert_variant(type, to,
									 NETINC_VARIANT_GENERIC)) :
				  0;
			if (err)
				return err;
		}
		s = netinc_scale_variant(type, v);
		err = s ? test_scale(s, netinc_scale_variant(type, NETINC_VARIANT_GENERIC)) : 0;
		if (err)
			return err;
	}
	return 0;
}

int netinc_reduce_selftest(void)
{
	unsigned int i, op;
	int err = 0;

	state = 1;
	for (i = 0; i < ARRAY_SIZE(known) && !err; i++)
		err = test_known(&known[i]);
	for (i = 1; i < __INC_TYPE_MAX && !err; i++) {
		for (op = 1; op < __INC_OP_MAX && !err; op++)
			err = test_variants(i, op);
		if (!err)
			err = test_other_variants(i);
	}
	return err;
}
