// SPDX-License-Identifier: GPL-2.0-only
/* The table of reduction kernels: every variant this CPU can run, and which of them is used. */
#include "reduce/reduce.h"

/* In order of preference: of two that can both be used, the later one wins. */
static const struct netinc_reduce * const arrays[] = {
	netinc_reduce_generic,
#ifdef __x86_64__
	netinc_reduce_avx2,
#endif
};

/* Written by netinc_reduce_init() before anybody looks, constant afterwards: no lock. */
#define MODES	2	/* plain, INC_MODE_SATURATE */

static const struct netinc_reduce *variants[__INC_TYPE_MAX][__INC_OP_MAX][MODES][NETINC_VARIANT_COUNT];
static const struct netinc_reduce *best[__INC_TYPE_MAX][__INC_OP_MAX][MODES];
static const struct netinc_reduce *best_without_fpu[__INC_TYPE_MAX][__INC_OP_MAX][MODES];

static void add(const struct netinc_reduce *r)
{
	variants[r->type][r->op][r->mode][r->variant] = r;
	best[r->type][r->op][r->mode] = r;
	if (!r->fpu)
		best_without_fpu[r->type][r->op][r->mode] = r;
}

void netinc_reduce_init(unsigned int features)
{
	const struct netinc_reduce *r;
	unsigned int i;

	memset(variants, 0, sizeof(variants));
	memset(best, 0, sizeof(best));
	memset(best_without_fpu, 0, sizeof(best_without_fpu));
	for (i = 0; i < ARRAY_SIZE(arrays); i++)
		for (r = arrays[i]; r->fold; r++)
			if (!(r->features & ~features))
				add(r);
}

const struct netinc_reduce *netinc_reduce_find(u8 type, u8 op, u8 mode, bool fpu_ok)
{
	if (type >= __INC_TYPE_MAX || op >= __INC_OP_MAX || mode >= MODES)
		return NULL;
	return fpu_ok ? best[type][op][mode] : best_without_fpu[type][op][mode];
}

const struct netinc_reduce *netinc_reduce_variant(u8 type, u8 op, u8 mode, u8 variant)
{
	if (type >= __INC_TYPE_MAX || op >= __INC_OP_MAX || mode >= MODES || variant >= NETINC_VARIANT_COUNT)
		return NULL;
	return variants[type][op][mode][variant];
}

const struct netinc_convert *netinc_convert_find(u8 from, u8 to, bool fpu_ok)
{
	(void)from;
	(void)to;
	(void)fpu_ok;
	return NULL;
}

const struct netinc_scale *netinc_scale_find(u8 type, bool fpu_ok)
{
	(void)type;
	(void)fpu_ok;
	return NULL;
}
