// SPDX-License-Identifier: GPL-2.0-only
/*
 * Block floats (OCP Microscaling Formats (MX) Specification v1.0): blocks worked out by hand from
 * the specification's tables, and what libinc makes of f32 against every reduction kernel and
 * against the definition in double.
 */
#include <stdarg.h>

#include "reduce_env.h"
#undef static_assert
#include "../../userspace/libinc/mx.c"

#define BLOCKS	2000u

static char said[200];

int inc_fail(struct inc_group *group, int err, const char *fmt, ...)
{
	va_list args;

	expect(!group, "of a group");
	va_start(args, fmt);
	vsnprintf(said, sizeof(said), fmt, args);
	va_end(args);
	return err;
}

const char *inc_type_name(enum inc_type type)
{
	return type < __INC_TYPE_MAX ? netinc_type_name(type) : NULL;
}

size_t inc_type_size(enum inc_type type)
{
	return netinc_reduce_elem_size(type);
}

/* x * 2^e, a constant */
#define P(x, e)	__builtin_ldexpf(x, e)

/* The first values of a block, all others are 0, and what it is then. */
struct block {
	u8 type, n;
	float value[4];
	u8 scale, code[4];
};

#define E4M3(s, ...)	.type = INC_TYPE_MXF8E4M3, .scale = s, .code = { __VA_ARGS__ }
#define E5M2(s, ...)	.type = INC_TYPE_MXF8E5M2, .scale = s, .code = { __VA_ARGS__ }
#define E2M1(s, ...)	.type = INC_TYPE_MXF4E2M1, .scale = s, .code = { __VA_ARGS__ }
#define INT8(s, ...)	.type = INC_TYPE_MXI8, .scale = s, .code = { __VA_ARGS__ }

static const struct block known[] = {
	/* the scale: that of the largest number, 2^8, 2^15, 2^2, 1 */
	{ .value = { 1 }, E4M3(127 - 8, 0x78) },
	{ .value = { 1 }, E5M2(127 - 15, 0x78) },
	{ .value = { 1 }, E2M1(127 - 2, 6) },
	{ .value = { 1 }, INT8(127, 64) },
	{ .value = { 0, -3 }, E4M3(127 - 7, 0, 0xfc) },
	{ .value = { P(1, 127) }, E4M3(254 - 8, 0x78) },
	{ .value = { P(1, 127) }, INT8(254, 64) },
	/* the largest number: what is larger becomes that */
	{ .value = { 448, 256 }, E4M3(127, 0x7e, 0x78) },
	{ .value = { 480, -511.9f }, E4M3(127, 0x7e, 0xfe) },
	{ .value = { 57344, 61440, -65535 }, E5M2(127, 0x7b, 0x7b, 0xfb) },
	{ .value = { 6, -7.9f, 5.5f }, E2M1(127, 7, 0xf, 7) },
	{ .value = { 1.99f, -1.999f, 1.999f }, INT8(127, 127, 0x81, 127) },
	{ .value = { P(16777215, 104) }, E4M3(246, 0x7e) },
	/* halfway, to even */
	{ .value = { 256, 17, 19, P(3, -10) }, E4M3(127, 0x78, 0x58, 0x5a, 2) },
	{ .value = { P(1, 15), 1.125f, 1.375f, P(3, -17) }, E5M2(127, 0x78, 0x3c, 0x3e, 2) },
	{ .value = { 4, 5, 3.5f, 2.5f }, E2M1(127, 6, 6, 6, 4) },
	{ .value = { 4, 1.25f, 0.75f, -1.75f }, E2M1(127, 6, 2, 2, 12) },
	{ .value = { 1, 3.0f / 128, 1.0f / 128, -1.0f / 64 }, INT8(127, 64, 2, 0, 0xff) },
	/* subnormal numbers, and what is too small for one: it keeps its sign, but in integers */
	{ .value = { 256, P(1, -9), P(1, -10), -P(1, -10) }, E4M3(127, 0x78, 1, 0, 0x80) },
	{ .value = { 256, P(3, -11), -0.0f, P(1, -149) }, E4M3(127, 0x78, 1, 0x80, 0) },
	{ .value = { P(1, 15), P(1, -16), -P(1, -17) }, E5M2(127, 0x78, 1, 0x80) },
	{ .value = { 4, 0.5f, 0.25f, -0.25f }, E2M1(127, 6, 1, 0, 8) },
	{ .value = { 1, -0.0f, -P(1, -8) }, INT8(127, 64, 0, 0) },
	/* the smallest scale */
	{ .value = { P(1, -119), P(1, -120) }, E4M3(0, 0x78, 0x70) },
	{ .value = { P(1, -120), P(1, -136) }, E4M3(0, 0x70, 1) },
	{ .value = { P(1, -136), -P(1, -149) }, E4M3(0, 1, 0x80) },
	{ .value = { P(1, -127), -P(1, -143) }, E5M2(0, 0x3c, 0x81) },
	{ .value = { P(1, -127), P(1, -128), -P(1, -149) }, E2M1(0, 2, 1, 8) },
	{ .value = { P(1, -127), -P(1, -128), P(1, -133) }, INT8(0, 64, 0xe0, 1) },
	{ .value = { P(1, -126) }, INT8(1, 64) },
	/* nothing is left */
	{ .value = { 0 }, E4M3(0) }, { .value = { -0.0f, -0.0f }, E5M2(0) },
	{ .value = { -P(1, -137), P(1, -149) }, E4M3(0) },
	{ .value = { -P(1, -144) }, E5M2(0) },
	{ .value = { -P(1, -129), -0.0f }, E2M1(0) },
	{ .value = { -P(1, -134) }, INT8(0) },
	/* no numbers */
	{ .value = { 1, NAN }, E4M3(0xff) }, { .value = { -INFINITY, 1 }, E4M3(0xff) },
	{ .value = { INFINITY }, E5M2(0xff) }, { .value = { -NAN }, E5M2(0xff) },
	{ .value = { 2, 3, INFINITY }, E2M1(0xff) }, { .value = { NAN }, INT8(0xff) },
};

/* Accumulators of these values as a block of every variant, which is to be @want. */
static void check_kernels(u8 type, const float *value, const u8 *want, const char *what)
{
	const struct netinc_fold_args args = { .flags = NETINC_FOLD_ACCUMULATORS, .ranks = 1 };
	u8 acc[136] = { 0 }, got[33];
	const struct netinc_reduce *r;
	const void *src = acc;
	unsigned int i, v;

	for (i = 0; i < 32; i++) {
		u32 bits;

		memcpy(&bits, &value[i], sizeof(bits));
		ref_put(acc + 4 * i, 4, bits);
	}
	for (v = 0; v < NETINC_VARIANT_COUNT; v++) {
		r = netinc_reduce_variant(type, INC_OP_SUM, 0, v);
		if (!r)
			continue;
		r->fold(got, &src, 1, 1, &args);
		expect(!memcmp(got, want, r->elem_size), "%s of %s: %s, expected %s", r->name, what,
		       hex(got, r->elem_size), hex(want, r->elem_size));
	}
}

static void packed(void)
{
	const struct ref_mx *f;
	float value[32];
	unsigned int i, k;
	u8 want[33], got[33];
	char what[40];

	netinc_reduce_init(netinc_cpu_features());
	for (k = 0; k < ARRAY_SIZE(known); k++) {
		f = ref_mx_format(known[k].type);
		memset(want, 0, sizeof(want));
		memset(value, 0, sizeof(value));
		want[0] = known[k].scale;
		for (i = 0; i < 4; i++) {
			ref_mx_set(f, want, i, known[k].code[i]);
			value[i] = known[k].value[i];
		}
		snprintf(what, sizeof(what), "known block %u", k);
		memset(got, 0x5a, sizeof(got));
		expect(!inc_mx_pack(known[k].type, got, value, 4) &&
		       !memcmp(got, want, ref_mx_size(f)), "libinc's %s: %s, expected %s", what,
		       hex(got, ref_mx_size(f)), hex(want, ref_mx_size(f)));
		check_kernels(known[k].type, value, want, what);
	}
}

/* Codes and what they are with this scale. */
static const struct number {
	u8 type, scale, code;
	float value;
} numbers[] = {
	{ INC_TYPE_MXF8E4M3, 127, 0x7e, 448 }, { INC_TYPE_MXF8E4M3, 127, 0x08, P(1, -6) },
	{ INC_TYPE_MXF8E4M3, 127, 0x07, P(7, -9) }, { INC_TYPE_MXF8E4M3, 127, 0x81, -P(1, -9) },
	{ INC_TYPE_MXF8E4M3, 127, 0x7f, NAN }, { INC_TYPE_MXF8E4M3, 127, 0xff, NAN },
	{ INC_TYPE_MXF8E4M3, 0, 0x01, P(1, -136) }, { INC_TYPE_MXF8E4M3, 128, 0x80, -0.0f },
	{ INC_TYPE_MXF8E4M3, 246, 0x7f - 1, P(7, 125) },
	{ INC_TYPE_MXF8E4M3, 247, 0xf8, -INFINITY }, { INC_TYPE_MXF8E4M3, 255, 0x00, NAN },
	{ INC_TYPE_MXF8E5M2, 127, 0x7b, 57344 }, { INC_TYPE_MXF8E5M2, 127, 0x04, P(1, -14) },
	{ INC_TYPE_MXF8E5M2, 127, 0x83, -P(3, -16) }, { INC_TYPE_MXF8E5M2, 0, 0x01, P(1, -143) },
	{ INC_TYPE_MXF8E5M2, 127, 0x7c, INFINITY }, { INC_TYPE_MXF8E5M2, 3, 0xfc, -INFINITY },
	{ INC_TYPE_MXF8E5M2, 127, 0x7d, NAN }, { INC_TYPE_MXF8E5M2, 255, 0x7c, NAN },
	{ INC_TYPE_MXF4E2M1, 127, 0x1, 0.5f }, { INC_TYPE_MXF4E2M1, 127, 0x2, 1 },
	{ INC_TYPE_MXF4E2M1, 127, 0x3, 1.5f }, { INC_TYPE_MXF4E2M1, 127, 0xc, -2 },
	{ INC_TYPE_MXF4E2M1, 127, 0x5, 3 }, { INC_TYPE_MXF4E2M1, 127, 0x6, 4 },
	{ INC_TYPE_MXF4E2M1, 127, 0xf, -6 }, { INC_TYPE_MXF4E2M1, 0, 0x1, P(1, -128) },
	{ INC_TYPE_MXF4E2M1, 254, 0x7, INFINITY }, { INC_TYPE_MXF4E2M1, 255, 0x7, NAN },
	{ INC_TYPE_MXI8, 127, 0x40, 1 }, { INC_TYPE_MXI8, 127, 0x7f, 127.0f / 64 },
	{ INC_TYPE_MXI8, 127, 0x80, -2 }, { INC_TYPE_MXI8, 127, 0xff, -1.0f / 64 },
	{ INC_TYPE_MXI8, 0, 0x01, P(1, -133) }, { INC_TYPE_MXI8, 254, 0x7f, P(127, 121) },
	{ INC_TYPE_MXI8, 254, 0x80, -INFINITY }, { INC_TYPE_MXI8, 255, 0x40, NAN },
};

static bool same_float(float a, float b)
{
	return isnan(b) ? isnan(a) : a == b && !signbit(a) == !signbit(b);
}

/* The accumulators that every variant makes of one block; behind them are zeros. */
static void check_widened(u8 type, const u8 *block, const float *want, const char *what)
{
	const struct netinc_fold_args args = { .flags = NETINC_FOLD_UNROUNDED, .ranks = 1 };
	static const u8 zeros[8];
	const struct netinc_reduce *r;
	const void *src = block;
	unsigned int i, v;
	float got;
	u8 acc[136];
	u32 bits;

	for (v = 0; v < NETINC_VARIANT_COUNT; v++) {
		r = netinc_reduce_variant(type, INC_OP_SUM, 0, v);
		if (!r)
			continue;
		memset(acc, 0x5a, sizeof(acc));
		r->fold(acc, &src, 1, 1, &args);
		for (i = 0; i < 32; i++) {
			bits = ref_get(acc + 4 * i, 4);
			memcpy(&got, &bits, sizeof(got));
			expect(same_float(got, want[i]) && (!isnan(got) || bits == 0x7fc00000),
			       "%s of %s: value %u is %g (%08x), expected %g", r->name, what, i,
			       (double)got, bits, (double)want[i]);
		}
		expect(!memcmp(acc + 128, zeros, r->acc_size - 128u), "%s: what follows is not 0",
		       r->name);
	}
}

static void unpacked(void)
{
	float got[32], want[32];
	const struct ref_mx *f;
	unsigned int k, i;
	u8 block[33];
	char what[40];

	netinc_reduce_init(netinc_cpu_features());
	for (k = 0; k < ARRAY_SIZE(numbers); k++) {
		f = ref_mx_format(numbers[k].type);
		block[0] = numbers[k].scale;
		for (i = 0; i < 32; i++) {
			ref_mx_set(f, block, i, numbers[k].code);
			want[i] = numbers[k].value;
		}
		snprintf(what, sizeof(what), "known number %u", k);
		expect(!inc_mx_unpack(numbers[k].type, got, block, 32), "%s: refused", what);
		for (i = 0; i < 32; i++)
			expect(same_float(got[i], want[i]), "libinc's %s: %g, expected %g", what,
			       (double)got[i], (double)want[i]);
		check_widened(numbers[k].type, block, want, what);
	}
}

/* Magnitudes within as many powers of two, anywhere, and now and then an end or no number. */
static void draw_values(float *x)
{
	u32 base = ktap_below(255), spread = 1 + ktap_below(ktap_below(2) ? 3 : 30), bits, i;

	for (i = 0; i < 32; i++) {
		bits = (u32)ktap_random() & 0x807fffff;
		bits |= min(base + ktap_below(spread), 254u) << 23;
		if (!ktap_below(3))
			bits &= ~0u << ktap_below(23);
		if (!ktap_below(40))
			bits = ktap_below(2) << 31;
		if (!ktap_below(600))
			bits = (u32)ktap_random() | 0x7f800000;
		memcpy(&x[i], &bits, sizeof(bits));
	}
}

static void packed_random(void)
{
	const struct ref_mx *f;
	unsigned int k, i;
	u8 want[33], got[33];
	double exact[32];
	float x[32];

	netinc_reduce_init(netinc_cpu_features());
	for (k = 0; k < BLOCKS; k++) {
		f = &ref_mx_formats[k % 4];
		draw_values(x);
		for (i = 0; i < 32; i++)
			exact[i] = x[i];
		ref_mx_encode(f, exact, want);
		inc_mx_pack(f->type, got, x, 32);
		if (!expect(!memcmp(got, want, ref_mx_size(f)), "libinc's %s: %s, expected %s",
			    netinc_type_name(f->type), hex(got, ref_mx_size(f)),
			    hex(want, ref_mx_size(f))))
			return;
		check_kernels(f->type, x, want, "random values");
	}
}

/* Every byte of scale with every code. */
static void unpacked_all(void)
{
	unsigned int k, scale, from, i;
	float got[32], want[32];
	const struct ref_mx *f;
	u8 block[33];

	netinc_reduce_init(netinc_cpu_features());
	for (k = 0; k < 4; k++) {
		f = &ref_mx_formats[k];
		for (scale = 0; scale < 256; scale++) {
			block[0] = scale;
			for (from = 0; from < (f->value ? 256u : 16u); from += 32) {
				for (i = 0; i < 32; i++) {
					ref_mx_set(f, block, i, (from + i) % (f->value ? 256 : 16));
					want[i] = (float)ref_mx_decode(f, block, i);
				}
				inc_mx_unpack(f->type, got, block, 32);
				for (i = 0; i < 32; i++)
					expect(same_float(got[i], want[i]),
					       "%s, scale %u, code %u: %g, expected %g",
					       netinc_type_name(f->type), scale, from + i,
					       (double)got[i], (double)want[i]);
				check_widened(f->type, block, want, "all codes");
			}
		}
	}
}

/* Of the last block no more is read and written than there is. */
static void lengths(void)
{
	u8 blocks[3 * 33 + 1], one[33];
	float x[70], y[71];
	size_t n, k;

	for (k = 0; k < ARRAY_SIZE(x); k++)
		x[k] = k + 1;
	for (n = 0; n <= ARRAY_SIZE(x); n++) {
		size_t bytes = inc_mx_bytes(INC_TYPE_MXF4E2M1, n);

		expect(inc_mx_blocks(n) == (n + 31) / 32 && bytes == 17 * ((n + 31) / 32) &&
		       inc_mx_bytes(INC_TYPE_MXI8, n) == 33 * inc_mx_blocks(n),
		       "%zu values: %zu bytes", n, bytes);
		memset(blocks, 0x5a, sizeof(blocks));
		expect(!inc_mx_pack(INC_TYPE_MXF4E2M1, blocks, x, n), "it fails");
		expect(blocks[bytes] == 0x5a, "%zu values: too much was written", n);
		memset(y, 0, sizeof(y));
		y[n] = 99;
		expect(!inc_mx_unpack(INC_TYPE_MXF4E2M1, y, blocks, n) && y[n] == 99,
		       "%zu values: too many were written", n);
		if (n <= 32)
			continue;
		memcpy(y, x + n / 32 * 32, n % 32 * sizeof(*x));
		memset(y + n % 32, 0, (32 - n % 32) * sizeof(*x));
		inc_mx_pack(INC_TYPE_MXF4E2M1, one, y, 32);
		expect(n % 32 == 0 || !memcmp(one, blocks + bytes - 17, 17),
		       "%zu values: the last block is not filled up with zeros", n);
	}
	expect(inc_mx_blocks(SIZE_MAX) == SIZE_MAX / 32 + 1, "of as many as there may be");
	expect(inc_mx_bytes(INC_TYPE_MXF4E2M1, SIZE_MAX) == (SIZE_MAX / 32 + 1) * 17, "their bytes");
	/* who asks for memory of that size is not to get some of a few bytes */
	n = SIZE_MAX / 33 * 32;
	expect(inc_mx_bytes(INC_TYPE_MXI8, n) == SIZE_MAX / 33 * 33 &&
	       inc_mx_bytes(INC_TYPE_MXI8, n + 1) == SIZE_MAX &&
	       inc_mx_bytes(INC_TYPE_MXI8, SIZE_MAX) == SIZE_MAX, "more bytes than there may be: %zu",
	       inc_mx_bytes(INC_TYPE_MXI8, SIZE_MAX));
}

static void errors(void)
{
	u8 block[33];
	float x[32];

	expect(!inc_mx_bytes(INC_TYPE_F32, 5) && !inc_mx_bytes(__INC_TYPE_MAX, 5),
	       "bytes of other types");
	expect(inc_mx_pack(INC_TYPE_F8E4M3, block, x, 1) == -EINVAL &&
	       !strcmp(said, "type f8e4m3: expected mxf8e4m3, mxf8e5m2, mxf4e2m1 or mxi8"), "%s",
	       said);
	expect(inc_mx_unpack(__INC_TYPE_MAX, x, block, 1) == -EINVAL &&
	       !strcmp(said, "type unknown: expected mxf8e4m3, mxf8e5m2, mxf4e2m1 or mxi8"), "%s",
	       said);
	expect(inc_mx_pack(INC_TYPE_MXI8, NULL, x, 3) == -EINVAL &&
	       !strcmp(said, "blocks is NULL: expected memory of 3 values"), "%s", said);
	expect(inc_mx_unpack(INC_TYPE_MXI8, NULL, block, 3) == -EINVAL &&
	       !strcmp(said, "values is NULL: expected memory of 3 values"), "%s", said);
	expect(!inc_mx_pack(INC_TYPE_MXI8, NULL, NULL, 0), "nothing to do is an error");
}

static const struct ktap_test tests[] = {
	KTAP(packed), KTAP(unpacked), KTAP(packed_random), KTAP(unpacked_all), KTAP(lengths),
	KTAP(errors),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
