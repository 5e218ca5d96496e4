/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reduction kernels: a table by (type, operation, mode, variant), and conversions between types,
 * filled from one const array per variant.
 *
 * All variants of a kernel give the same bits: elements are folded along the tree of order.h, every
 * step is rounded to the accumulator's type (round to nearest even, subnormals kept), and a NaN
 * result is always the canonical quiet NaN. The caller decides the order of the sources; nothing
 * here depends on timing.
 *
 * Accumulators may be wider than the type: f16, bf16 and the two 8-bit floats are summed and
 * multiplied in f32 and rounded once at the end, saturating sums of small integers are exact in i32
 * and clamped once at the end. A fold that is done in several passes (or at several nodes) ends
 * each with accumulators, which netinc_reduce_accumulators() folds.
 *
 * An element can be a block of several values (MX): its accumulator is an array of f32, with zeros
 * behind it that make acc_size a multiple of elem_size, as it is of all.
 *
 * There is a place for later additions: a format whose bytes are not count x elem_size (sparse) has
 * elem_size 0 and a length function; a further instruction set is a variant, a NETINC_CPU_ bit and
 * one more array in table.c.
 */
#ifndef NETINC_REDUCE_REDUCE_H
#define NETINC_REDUCE_REDUCE_H

#include "reduce/platform.h"
#include <linux/inc.h>

/* In order of preference: a later one is faster where it exists. */
enum netinc_variant {
	NETINC_VARIANT_GENERIC,
	NETINC_VARIANT_AVX2,
	NETINC_VARIANT_AVX512,
	NETINC_VARIANT_NEON,
	NETINC_VARIANT_COUNT,
};

/* Instruction sets that this CPU has and the parameter reduce_variant allows. */
#define NETINC_CPU_AVX2		0x1u
#define NETINC_CPU_F16C		0x2u
#define NETINC_CPU_AVX512	0x4u	/* F, BW, DQ and VL */
#define NETINC_CPU_NEON		0x8u	/* of AArch64 */

/* The ones that each variant needs. */
#define NETINC_NEEDS_AVX2	(NETINC_CPU_AVX2 | NETINC_CPU_F16C)
#define NETINC_NEEDS_AVX512	(NETINC_CPU_AVX512 | NETINC_CPU_F16C)

#define NETINC_MAX_SOURCES	16u	/* of one pass */

/* How sources and result of one pass look; neither flag: elements in, elements out. */
/* n is 1, src[0] holds accumulators: what has been folded is rounded, divided, clamped */
#define NETINC_FOLD_ACCUMULATORS	0x1u
/* dst gets accumulators: not rounded to the type, clamped or divided */
#define NETINC_FOLD_UNROUNDED		0x2u

struct netinc_fold_args {
	unsigned int flags;	/* NETINC_FOLD_* */
	unsigned int ranks;	/* AVG: what the sum is divided by, >= 1 */
};

/*
 * dst[i] = src[0][i] op src[1][i] op ... op src[n - 1][i] for i < count, 1 <= n <=
 * NETINC_MAX_SOURCES, in the order of order.h. Any byte alignment; dst may be one of the sources
 * itself where both hold the same (elements, or accumulators), no other overlap. Both are
 * little-endian in memory on every host.
 */
typedef void (*netinc_fold_fn)(void *dst, const void *const *src, unsigned int n,
			       unsigned int count, const struct netinc_fold_args *args);

struct netinc_reduce {
	u8 type;		/* enum inc_type */
	u8 op;			/* enum inc_op */
	u8 mode;		/* INC_MODE_SATURATE or 0 */
	u8 variant;		/* enum netinc_variant */
	u8 elem_size;		/* bytes of one element on the wire */
	u8 acc_size;		/* bytes of one accumulator: a multiple of elem_size */
	bool fpu;		/* fold only between netinc_fpu_begin() and netinc_fpu_end() */
	unsigned int features;	/* NETINC_CPU_ bits it needs */
	const char *name;	/* "f32-sum-avx2": for messages and tests */
	netinc_fold_fn fold;
};

/*
 * dst[i] = src[i] in another type: exact where that can hold it, else rounded to nearest even; what
 * is too large becomes Inf, or NaN in f8e4m3, which has no Inf (the OCP's non-saturating
 * conversion). NaN becomes the canonical one. Between f32 and f64, f16, bf16, f8e4m3, f8e5m2, both
 * ways; other pairs go through f32, which holds all of the small ones exactly. Any byte alignment,
 * no overlap.
 */
typedef void (*netinc_convert_fn)(void *dst, const void *src, unsigned int count);

struct netinc_convert {
	u8 from;		/* enum inc_type */
	u8 to;
	u8 variant;
	bool fpu;
	unsigned int features;
	const char *name;	/* "f32-bf16-avx2" */
	netinc_convert_fn convert;
};

/*
 * data[i] = weight x data[i], each product rounded once to the type: f32, f64, c32, c64 (both parts
 * of a complex number). @weight: an IEEE 754 binary64, rounded to f32 first for f32 and c32. Any
 * byte alignment.
 */
typedef void (*netinc_scale_fn)(void *data, unsigned int count, u64 weight);

struct netinc_scale {
	u8 type;
	u8 variant;
	bool fpu;
	unsigned int features;
	const char *name;	/* "f32-scale-avx2" */
	netinc_scale_fn scale;
};

/* table.c; init once before anything else, features from netinc_cpu_features() */
void netinc_reduce_init(unsigned int features);

/* A number that is the same where the same types and operations are reduced. */
u32 netinc_reduce_digest(void);

/*
 * The kernel to use, NULL if the operation makes no sense for the type and mode (bxor of f32), or
 * nobody has written it. AVG and SUM have kernels of their own; WSUM has none: it is SUM of scaled
 * elements. fpu_ok false: netinc_fpu_begin() refused, only one without FPU will do; there always is
 * one.
 */
const struct netinc_reduce *netinc_reduce_find(u8 type, u8 op, u8 mode, bool fpu_ok);
/*
 * What folds accumulators of @r as if they were elements: @r itself where they are, else the kernel
 * of their type, for which one accumulator is netinc_reduce_acc_elems() elements. Its result is not
 * divided: fold with NETINC_FOLD_UNROUNDED.
 */
const struct netinc_reduce *netinc_reduce_accumulators(const struct netinc_reduce *r, bool fpu_ok);

static inline unsigned int netinc_reduce_acc_elems(const struct netinc_reduce *r,
						   const struct netinc_reduce *accumulators)
{
	return r->acc_size / accumulators->elem_size;
}

/* Are these sums or products of floats, of which the last bits depend on the order of folds? */
bool netinc_reduce_is_ordered(u8 type, u8 op, u8 mode);
const struct netinc_convert *netinc_convert_find(u8 from, u8 to, bool fpu_ok);
const struct netinc_scale *netinc_scale_find(u8 type, bool fpu_ok);

/*
 * selftest.c: 0, or -EIO after the log has said which kernel gives which wrong bits. Every variant
 * that init() was given the features of is tested. In the module it is part of debug builds only.
 */
#if defined(INC_DEBUG) || !defined(__KERNEL__)
int netinc_reduce_selftest(void);
#else
static inline int netinc_reduce_selftest(void)
{
	return 0;
}
#endif

/* copy.c: no overlap, any alignment; @fpu: inside an FPU section, where it is faster. */
void netinc_copy(void *dst, const void *src, unsigned int len, bool fpu);

/*
 * One variant whatever was chosen, NULL if it is not built or init() was not given the features it
 * needs.
 */
const struct netinc_reduce *netinc_reduce_variant(u8 type, u8 op, u8 mode, u8 variant);
const struct netinc_convert *netinc_convert_variant(u8 from, u8 to, u8 variant);
const struct netinc_scale *netinc_scale_variant(u8 type, u8 variant);

/* names.c; they cover the whole of enum inc_type and enum inc_op, also what has no kernel (yet) */
extern const u8 netinc_elem_sizes[__INC_TYPE_MAX];

/* Bytes on the wire; 0: unknown type. */
static inline unsigned int netinc_reduce_elem_size(u8 type)
{
	return type < __INC_TYPE_MAX ? netinc_elem_sizes[type] : 0;
}

const char *netinc_type_name(u8 type);		/* "f32"; "?" if unknown, never NULL */
const char *netinc_op_name(u8 op);
const char *netinc_coll_name(u8 coll);
const char *netinc_variant_name(u8 variant);

/*
 * FPU section, one per super-packet: no sleeping inside, sections do not nest. A false from begin
 * means that this context cannot have it (a softirq that interrupted another section, or the
 * fpu_deny_nth knob): fold with netinc_reduce_find(..., false) then and do not call end.
 */
bool netinc_fpu_begin(void);
void netinc_fpu_end(void);

/*
 * fpu.c: 0 never, n every n-th begin is refused. Module parameter fpu_deny_nth; tests outside the
 * kernel set it.
 */
extern unsigned int netinc_fpu_deny_nth;

/* NETINC_CPU_ bits of this machine, cut down by the module parameter reduce_variant. */
unsigned int netinc_cpu_features(void);

#endif
