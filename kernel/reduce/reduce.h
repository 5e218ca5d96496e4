/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reduction kernels: a table by (type, operation, variant), filled from one const array per variant.
 *
 * All variants of a kernel give the same bits: elements are folded strictly left to right, every step is rounded to
 * the type (round to nearest even, subnormals kept), and a NaN result is always the canonical quiet NaN. The caller
 * decides the order of the sources; nothing here depends on timing.
 *
 * What comes later has its place: a kernel whose accumulator is wider than its type (f16 in f32) gets acc_size >
 * elem_size and separate widen / narrow steps beside fold, which then works on accumulators; a format whose bytes are
 * not count x elem_size (sparse, block float) has elem_size 0 and a length function; a further instruction set is a
 * variant, a NETINC_CPU_ bit and one more array in table.c.
 */
#ifndef NETINC_REDUCE_H
#define NETINC_REDUCE_H

#include "engine/platform.h"
#include <linux/inc.h>

/* In order of preference: a later one is faster where it exists. */
enum netinc_variant {
	NETINC_VARIANT_GENERIC,
	NETINC_VARIANT_AVX2,
	NETINC_VARIANT_COUNT,
};

/* What this CPU (and the reduce_variant parameter) lets us use. */
#define NETINC_CPU_AVX2		0x1u

/*
 * dst[i] = src[0][i] op src[1][i] op ... op src[n - 1][i] for i < count, n >= 1. Any byte alignment; dst may be src[0]
 * itself, no other overlap. Elements are little-endian in memory on every host.
 */
typedef void (*netinc_fold_fn)(void *dst, const void *const *src, unsigned int n, unsigned int count);

struct netinc_reduce {
	u8 type;		/* enum inc_type */
	u8 op;			/* enum inc_op */
	u8 variant;		/* enum netinc_variant */
	u8 elem_size;		/* bytes of one element on the wire */
	u8 acc_size;		/* bytes of one accumulator; so far always elem_size */
	bool fpu;		/* fold only between netinc_fpu_begin() and netinc_fpu_end() */
	unsigned int features;	/* NETINC_CPU_ bits it needs */
	const char *name;	/* "f32-sum-avx2": for messages and tests */
	netinc_fold_fn fold;
};

/* table.c; init once before anything else, features from netinc_cpu_features() */
void netinc_reduce_init(unsigned int features);

/* The kernel to use, NULL if there is none. fpu_ok false: netinc_fpu_begin() refused, only one without FPU will do. */
const struct netinc_reduce *netinc_reduce_find(u8 type, u8 op, bool fpu_ok);

/* One variant whatever was chosen, NULL if it is not built or init() was not given the features it needs. */
const struct netinc_reduce *netinc_reduce_variant(u8 type, u8 op, u8 variant);

/* names.c; they cover the whole of enum inc_type and enum inc_op, also what has no kernel (yet) */
unsigned int netinc_reduce_elem_size(u8 type);	/* bytes on the wire; 0: unknown type */
const char *netinc_type_name(u8 type);		/* "f32"; "?" if unknown, never NULL */
const char *netinc_op_name(u8 op);
const char *netinc_variant_name(u8 variant);

/* The arrays table.c puts together, each ended by an entry without fold. */
extern const struct netinc_reduce netinc_reduce_generic[];
extern const struct netinc_reduce netinc_reduce_avx2[];

/*
 * FPU section, one per super-packet: no sleeping inside, sections do not nest. A false from begin means that this
 * context cannot have it (a softirq that interrupted another section, or the fpu_deny_nth knob): fold with
 * netinc_reduce_find(..., false) then and do not call end.
 */
bool netinc_fpu_begin(void);
void netinc_fpu_end(void);

/* fpu.c: 0 never, n every n-th begin is refused. Module parameter fpu_deny_nth; tests outside the kernel set it. */
extern unsigned int netinc_fpu_deny_nth;

/* NETINC_CPU_ bits of this machine, cut down by the module parameter reduce_variant. */
unsigned int netinc_cpu_features(void);

#endif
