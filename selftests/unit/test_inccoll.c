// SPDX-License-Identifier: GPL-2.0-only
/*
 * The program that judges collectives, judged: its arithmetic against values known from the
 * formats' definitions, and that its plans reach everything and are possible.
 */
#include <float.h>
#include <math.h>

#include "../../userspace/coll/coll.h"
#include "ktap.h"
#include "../../userspace/coll/number.c"
#include "../../userspace/coll/block.c"
#include "../../userspace/coll/plan.c"
#include "../../userspace/coll/expect.c"

size_t inc_type_size(enum inc_type type)
{
	return types[type].size;
}

/* x / 2^n */
#define PART(x, n) ((double)(x) / (1ULL << (n)))

static void test_encode(void)
{
	static const struct {
		enum inc_type type;
		double x;
		uint64_t bits;
	} cases[] = {
		{ INC_TYPE_F16, 1, 0x3c00 }, { INC_TYPE_F16, -0.0, 0x8000 },
		{ INC_TYPE_F16, 65504, 0x7bff }, { INC_TYPE_F16, 65519, 0x7bff },
		{ INC_TYPE_F16, 65520, 0x7c00 }, { INC_TYPE_F16, -1e30, 0xfc00 },
		{ INC_TYPE_F16, PART(1, 24), 1 }, { INC_TYPE_F16, PART(1, 25), 0 },
		{ INC_TYPE_F16, PART(3, 26), 1 }, { INC_TYPE_F16, PART(1023, 24), 0x3ff },
		{ INC_TYPE_F16, PART(2047, 25), 0x400 }, { INC_TYPE_F16, NAN, 0x7e00 },
		{ INC_TYPE_F16, 0x1.002p0, 0x3c00 }, { INC_TYPE_F16, 0x1.006p0, 0x3c02 },
		{ INC_TYPE_BF16, 1, 0x3f80 }, { INC_TYPE_BF16, 0x1.01p0, 0x3f80 },
		{ INC_TYPE_BF16, 0x1.03p0, 0x3f82 }, { INC_TYPE_BF16, 3.4e38, 0x7f80 },
		{ INC_TYPE_BF16, -NAN, 0x7fc0 }, { INC_TYPE_BF16, FLT_TRUE_MIN * 65536, 1 },
		{ INC_TYPE_F8E4M3, 448, 0x7e }, { INC_TYPE_F8E4M3, 464, 0x7e },
		{ INC_TYPE_F8E4M3, 465, 0x7f }, { INC_TYPE_F8E4M3, -464, 0xfe },
		{ INC_TYPE_F8E4M3, -465, 0x7f }, { INC_TYPE_F8E4M3, INFINITY, 0x7f },
		{ INC_TYPE_F8E4M3, PART(1, 9), 1 }, { INC_TYPE_F8E4M3, PART(1, 10), 0 },
		{ INC_TYPE_F8E4M3, PART(1, 6), 8 }, { INC_TYPE_F8E5M2, 57344, 0x7b },
		{ INC_TYPE_F8E5M2, 61439, 0x7b }, { INC_TYPE_F8E5M2, 61440, 0x7c },
		{ INC_TYPE_F8E5M2, -INFINITY, 0xfc }, { INC_TYPE_F8E5M2, NAN, 0x7e },
		{ INC_TYPE_F8E5M2, PART(1, 16), 1 }, { INC_TYPE_F32, NAN, 0x7fc00000 },
		{ INC_TYPE_F32, 1e39, 0x7f800000 }, { INC_TYPE_F32, FLT_TRUE_MIN, 1 },
		{ INC_TYPE_F64, -NAN, 0x7ff8000000000000 },
		{ INC_TYPE_F64, -1, 0xbff0000000000000 },
	};
	uint64_t bits;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bits = encode_float(cases[i].type, cases[i].x);
		expect(bits == cases[i].bits, "type %d: %a is %#llx, expected %#llx", cases[i].type,
		       cases[i].x, (unsigned long long)bits, (unsigned long long)cases[i].bits);
	}
}

/* Every number of 8 or 16 bits is itself again; every NaN the canonical one. */
static void test_round_trip(void)
{
	static const enum inc_type small[] = { INC_TYPE_F16, INC_TYPE_BF16, INC_TYPE_F8E4M3,
					       INC_TYPE_F8E5M2 };
	uint64_t back, nan;
	double x;

	for (size_t i = 0; i < ARRAY_SIZE(small); i++) {
		nan = formats[small[i]].nan;
		for (uint64_t bits = 0; bits < 1ULL << (8 * types[small[i]].size); bits++) {
			x = decode_float(small[i], bits);
			back = encode_float(small[i], x);
			expect(back == (isnan(x) ? nan : bits), "type %d: %#llx came back as %#llx",
			       small[i], (unsigned long long)bits, (unsigned long long)back);
		}
	}
	expect(decode_float(INC_TYPE_F8E4M3, 0x7e) == 448, "f8e4m3");
	expect(isnan(decode_float(INC_TYPE_F8E4M3, 0xff)), "f8e4m3: NaN");
	expect(decode_float(INC_TYPE_F8E5M2, 0x7b) == 57344, "f8e5m2");
	expect(isinf(decode_float(INC_TYPE_F8E5M2, 0xfc)), "f8e5m2: infinity");
}

/* Three elements as they stand in memory, then their fold. */
static void folds(enum inc_type type, enum inc_op op, uint32_t mode, const void *values)
{
	struct plan plan = {
		.type = type, .wire = type, .op = op, .mode = mode, .ranks = 3,
		.weights = { 0.5, 2, -1 },
	};
	size_t size = types[type].size;
	const uint8_t *from = values;
	uint8_t result[MAX_ELEM];
	struct elem elems[3];

	for (int i = 0; i < 3; i++, from += size)
		memcpy(elems[i].bytes, from, size);
	fold(&plan, elems, 3, NULL, result);
	expect(!memcmp(result, from, size),
	       "type %d operation %d mode %u: %02x..., expected %02x...", type, op, mode, result[0],
	       *from);
}

#define FOLDS(type, op, mode, c, ...) \
	folds(INC_TYPE_##type, INC_OP_##op, mode, (const c[]) { __VA_ARGS__ })

struct pair {
	float value;
	int32_t index;
};

static void test_fold(void)
{
	FOLDS(I8, SUM, 0, int8_t, 100, 100, -1, -57);
	FOLDS(I8, SUM, INC_MODE_SATURATE, int8_t, 100, 100, -1, 127);
	FOLDS(U8, SUM, INC_MODE_SATURATE, uint8_t, 100, 100, 100, 255);
	FOLDS(I8, AVG, 0, int8_t, -3, -3, -2, -2);
	FOLDS(U8, AVG, 0, uint8_t, 100, 100, 100, 14);
	FOLDS(U64, MAX, 0, uint64_t, 1, UINT64_MAX, 2, UINT64_MAX);
	FOLDS(I64, MAX, 0, int64_t, 1, -1, 2, 2);
	FOLDS(I32, LAND, 0, int32_t, 1, 2, -4, 1);
	FOLDS(BOOL, LXOR, 0, uint8_t, 2, 1, 1, 1);
	FOLDS(F32, MIN, 0, float, 0.0f, -0.0f, 1, -0.0f);
	FOLDS(F32, MAX, 0, float, -0.0f, 0.0f, -1, 0.0f);
	FOLDS(F32, SUM, 0, float, 0x1p24f, 1, 1, 0x1p24f);
	FOLDS(F32, WSUM, 0, float, 2, 3, 4, 3);
	FOLDS(F64, AVG, 0, double, 1, 1, 2, 4.0 / 3);
	/* 2048 + 1 + 1 is 2050 in the accumulator; 2048 if every step were rounded. */
	FOLDS(F16, SUM, 0, uint16_t, 0x6800, 0x3c00, 0x3c00, 0x6801);
	/* (1 + 2i) (3 + 4i) i */
	FOLDS(C32, PROD, 0, float, 1, 2, 3, 4, 0, 1, -10, -5);
	FOLDS(F32_I32, MAXLOC, 0, struct pair, { 2, 7 }, { 2, 5 }, { 1, 9 }, { 2, 5 });
	FOLDS(F32_I32, MINLOC, 0, struct pair, { 2, 7 }, { 2, 5 }, { 1, 9 }, { 1, 9 });
	FOLDS(F32_I32, MINLOC, 0, struct pair, { NAN, 7 }, { 2, 5 }, { 1, 9 }, { NAN, 7 });
}

struct mx8 {
	uint8_t bytes[33];
};

struct mx4 {
	uint8_t bytes[17];
};

/* A block whose scale is 2^@scale. */
#define MX(scale, ...)	{ { (scale) + 127, __VA_ARGS__ } }

static void test_fold_block(void)
{
	/* E4M3: 1 + 2 + 448 is 451, nearest to 448; 1 - 1 + -0 is 0; 448 + 448 + 448 is 1344 */
	FOLDS(MXF8E4M3, SUM, 0, struct mx8, MX(0, 0x38, 0x38), MX(0, 0x40, 0xb8),
	      MX(0, 0x7e, 0x80), MX(0, 0x7e, 0x00));
	FOLDS(MXF8E4M3, SUM, 0, struct mx8, MX(0, 0x7e), MX(0, 0x7e), MX(0, 0x7e), MX(2, 0x7a));
	/* E2M1: 6 + 6 + 1.5 is 13.5, 2 x 6.75, and the largest number is 6 */
	FOLDS(MXF4E2M1, SUM, 0, struct mx4, MX(0, 0x77), MX(0, 0x77), MX(0, 0x23),
	      MX(1, 0x77));
	FOLDS(MXI8, MIN, 0, struct mx8, MX(0, 64, 64), MX(0, 32, 192), MX(1, 64, 1),
	      MX(0, 32, 192));
	FOLDS(MXI8, AVG, 0, struct mx8, MX(128, 1), MX(0, 32), MX(1, 64), MX(128));
	/* nothing is left, and no sign */
	FOLDS(MXF8E5M2, MAX, 0, struct mx8, MX(0, 0x80), MX(3, 0x80), MX(-9, 0x80), MX(-127));
}

static const struct config config = {
	.join = { .size = 5 }, .seed = 1, .max = 2000, .block = 1408, .colls = ~0u, .types = ~0u,
	.reductions = ~0u,
};

static bool possible_op(enum inc_coll coll, enum inc_type type, enum inc_op op)
{
	return reduces(coll) ? ops_for(coll, type) >> op & 1 : !op;
}

/* Everything is drawn, and what is drawn may be submitted. */
static void test_plans(void)
{
	bool seen[__INC_COLL_MAX][__INC_TYPE_MAX][__INC_OP_MAX] = { 0 };
	unsigned int missing = 0;
	struct plan plan;

	for (uint32_t nr = 0; nr < 40000; nr++) {
		make_plan(&config, nr, &plan);
		seen[plan.coll][plan.type][plan.op] = true;
		expect(plan.root < 5 && (!plan.root || has_root(plan.coll)),
		       "operation %u: root %u", nr, plan.root);
		expect(!plan.op || exists(plan.type, plan.op), "operation %u: no such reduction",
		       nr);
		expect(!(plan.mode & INC_MODE_COUNTS) || has_counts(plan.coll),
		       "operation %u: counts", nr);
		expect(plan.wire == plan.type || is_float(plan.type), "operation %u: wire %d", nr,
		       plan.wire);
	}
	for (int coll = INC_COLL_ALLREDUCE; coll < INC_COLL_LEAVE; coll++)
		for (int type = 1; type < __INC_TYPE_MAX; type++)
			for (int op = 0; op < __INC_OP_MAX; op++)
				missing += !seen[coll][type][op] && possible_op(coll, type, op);
	expect(!missing, "%u combinations of collective, type and operation were not drawn",
	       missing);
}

static void test_restricted(void)
{
	struct config cfg = config;
	struct plan plan;

	cfg.colls = 1u << INC_COLL_SCAN | 1u << INC_COLL_GATHER;
	cfg.types = 1u << INC_TYPE_BOOL | 1u << INC_TYPE_F32;
	cfg.reductions = 1u << INC_OP_LOR;
	cfg.counts[0] = 17;
	cfg.ncounts = 1;
	for (uint32_t nr = 0; nr < 1000; nr++) {
		make_plan(&cfg, nr, &plan);
		expect(plan.coll == INC_COLL_GATHER ||
		       (plan.coll == INC_COLL_SCAN && plan.type == INC_TYPE_BOOL),
		       "operation %u: collective %d of type %d", nr, plan.coll, plan.type);
		expect(plan.count == 17 && plan.counts[4][4] == 17,
		       "operation %u: a count of its own", nr);
	}
	cfg.colls = 1u << INC_COLL_SCAN;
	cfg.types = 1u << INC_TYPE_F32;
	make_plan(&cfg, 0, &plan);
	expect(!plan.coll, "what is impossible was drawn");
}

static const struct ktap_test tests[] = {
	KTAP(test_encode), KTAP(test_round_trip), KTAP(test_fold), KTAP(test_fold_block),
	KTAP(test_plans), KTAP(test_restricted),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
