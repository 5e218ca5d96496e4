// SPDX-License-Identifier: GPL-2.0-only
/* The table of reduction kernels: every variant this CPU can run, and which of them is used. */
#include "reduce/kernels.h"

/* In order of preference: of two that can both be used, the later one wins. */
static const struct netinc_reduce * const arrays[] = {
	netinc_generic_int,
	netinc_generic_float,
	netinc_generic_complex,
	netinc_generic_pair,
	netinc_generic_mx,
#ifdef __x86_64__
	netinc_avx2,
	netinc_avx512,
#elif defined(__AARCH64EL__)
	netinc_neon,
#endif
};

static const struct netinc_convert * const convert_arrays[] = {
	netinc_generic_convert,
#ifdef __x86_64__
	netinc_avx2_convert,
	netinc_avx512_convert,
#elif defined(__AARCH64EL__)
	netinc_neon_convert,
#endif
};

static const struct netinc_scale * const scale_arrays[] = {
	netinc_generic_scale,
#ifdef __x86_64__
	netinc_avx2_scale,
	netinc_avx512_scale,
#elif defined(__AARCH64EL__)
	netinc_neon_scale,
#endif
};

#define MODES	2	/* plain, INC_MODE_SATURATE */

/* Written by netinc_reduce_init() before anybody looks, constant afterwards: no lock. */
static const struct netinc_reduce
	*variants[__INC_TYPE_MAX][__INC_OP_MAX][MODES][NETINC_VARIANT_COUNT];
static const struct netinc_convert
	*conversions[__INC_TYPE_MAX][__INC_TYPE_MAX][NETINC_VARIANT_COUNT];
static const struct netinc_scale *scales[__INC_TYPE_MAX][NETINC_VARIANT_COUNT];
static u32 digest;	/* of what `variants` has; asked for by non-members, too, so it is there */

/* FNV-1a; which variant does it makes no difference to the result. */
static u32 digest_variants(void)
{
	u32 sum = 0x811c9dc5, i, n = __INC_TYPE_MAX * __INC_OP_MAX * MODES;

	for (i = 0; i < n; i++) {
		if (!netinc_reduce_find(i / MODES / __INC_OP_MAX, i / MODES % __INC_OP_MAX,
					i % MODES, true))
			continue;
		sum = (sum ^ (i & 0xff)) * 0x01000193;
		sum = (sum ^ (i >> 8)) * 0x01000193;
	}
	return sum;
}

void netinc_reduce_init(unsigned int features)
{
	const struct netinc_convert *c;
	const struct netinc_reduce *r;
	const struct netinc_scale *s;
	unsigned int i;

	netinc_copy_init(features);
	memset(variants, 0, sizeof(variants));
	memset(conversions, 0, sizeof(conversions));
	memset(scales, 0, sizeof(scales));
	for (i = 0; i < ARRAY_SIZE(arrays); i++)
		for (r = arrays[i]; r->fold; r++)
			if (!(r->features & ~features))
				variants[r->type][r->op][r->mode][r->variant] = r;
	for (i = 0; i < ARRAY_SIZE(convert_arrays); i++)
		for (c = convert_arrays[i]; c->convert; c++)
			if (!(c->features & ~features))
				conversions[c->from][c->to][c->variant] = c;
	for (i = 0; i < ARRAY_SIZE(scale_arrays); i++)
		for (s = scale_arrays[i]; s->scale; s++)
			if (!(s->features & ~features))
				scales[s->type][s->variant] = s;
	digest = digest_variants();
}

/* The last of an array of variants that is there, and may be used. */
#define BEST(of, fpu_ok) ({								\
	__typeof__(&(of)[0]) list_ = (of);						\
	__typeof__(*list_) best_ = NULL;						\
	unsigned int v_;								\
											\
	for (v_ = 0; v_ < NETINC_VARIANT_COUNT; v_++)					\
		if (list_[v_] && (!list_[v_]->fpu || (fpu_ok)))				\
			best_ = list_[v_];						\
	best_;										\
})

const struct netinc_reduce *netinc_reduce_find(u8 type, u8 op, u8 mode, bool fpu_ok)
{
	if (type >= __INC_TYPE_MAX || op >= __INC_OP_MAX || mode >= MODES)
		return NULL;
	return BEST(variants[type][op][mode], fpu_ok);
}

u32 netinc_reduce_digest(void)
{
	return digest;
}

const struct netinc_reduce *netinc_reduce_accumulators(const struct netinc_reduce *r, bool fpu_ok)
{
	if (r->acc_size == r->elem_size)
		return netinc_reduce_find(r->type, r->op, r->mode, fpu_ok);
	return netinc_reduce_find(r->mode & INC_MODE_SATURATE ? INC_TYPE_I32 : INC_TYPE_F32,
				  r->op == INC_OP_AVG ? INC_OP_SUM : r->op, 0, fpu_ok);
}

bool netinc_reduce_is_ordered(u8 type, u8 op, u8 mode)
{
	if (mode || (op != INC_OP_SUM && op != INC_OP_PROD && op != INC_OP_AVG))
		return false;
	switch (type) {
	case INC_TYPE_F16:
	case INC_TYPE_BF16:
	case INC_TYPE_F8E4M3:
	case INC_TYPE_F8E5M2:
	case INC_TYPE_F32:
	case INC_TYPE_F64:
	case INC_TYPE_C32:
	case INC_TYPE_C64:
	case INC_TYPE_MXF8E4M3:
	case INC_TYPE_MXF8E5M2:
	case INC_TYPE_MXF4E2M1:
	case INC_TYPE_MXI8:
		return true;
	default:
		return false;
	}
}

const struct netinc_reduce *netinc_reduce_variant(u8 type, u8 op, u8 mode, u8 variant)
{
	if (type >= __INC_TYPE_MAX || op >= __INC_OP_MAX || mode >= MODES ||
	    variant >= NETINC_VARIANT_COUNT)
		return NULL;
	return variants[type][op][mode][variant];
}

const struct netinc_convert *netinc_convert_find(u8 from, u8 to, bool fpu_ok)
{
	if (from >= __INC_TYPE_MAX || to >= __INC_TYPE_MAX)
		return NULL;
	return BEST(conversions[from][to], fpu_ok);
}

const struct netinc_convert *netinc_convert_variant(u8 from, u8 to, u8 variant)
{
	if (from >= __INC_TYPE_MAX || to >= __INC_TYPE_MAX || variant >= NETINC_VARIANT_COUNT)
		return NULL;
	return conversions[from][to][variant];
}

const struct netinc_scale *netinc_scale_find(u8 type, bool fpu_ok)
{
	return type < __INC_TYPE_MAX ? BEST(scales[type], fpu_ok) : NULL;
}

const struct netinc_scale *netinc_scale_variant(u8 type, u8 variant)
{
	return type < __INC_TYPE_MAX && variant < NETINC_VARIANT_COUNT ? scales[type][variant] :
									 NULL;
}
