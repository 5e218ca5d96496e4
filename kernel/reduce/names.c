// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names and sizes of every type and operation of the uapi, whether a kernel for it exists or not.
 */
#include "reduce/reduce.h"

static const char * const types[] = {
	[INC_TYPE_NONE] = "none",
#define INC_TYPE(number, name, bytes) [number] = name,
#include <linux/inc_names.h>
#undef INC_TYPE
};

const u8 netinc_elem_sizes[__INC_TYPE_MAX] = {
#define INC_TYPE(number, name, bytes) [number] = bytes,
#include <linux/inc_names.h>
#undef INC_TYPE
};

static const char * const ops[] = {
	[INC_OP_NONE] = "none",
#define INC_OP(number, name) [number] = name,
#include <linux/inc_names.h>
#undef INC_OP
};

static const char * const colls[] = {
	[0] = "none",
#define INC_COLL(number, name) [number] = name,
#include <linux/inc_names.h>
#undef INC_COLL
};

static const char * const variants[] = {
	[NETINC_VARIANT_GENERIC]	= "generic",
	[NETINC_VARIANT_AVX2]		= "avx2",
	[NETINC_VARIANT_AVX512]		= "avx512",
	[NETINC_VARIANT_NEON]		= "neon",
};

static_assert(ARRAY_SIZE(types) == __INC_TYPE_MAX, "a type of the uapi has no name");
static_assert(ARRAY_SIZE(ops) == __INC_OP_MAX, "an operation of the uapi has no name");
static_assert(ARRAY_SIZE(colls) == __INC_COLL_MAX, "a collective of the uapi has no name");
static_assert(ARRAY_SIZE(variants) == NETINC_VARIANT_COUNT, "a variant has no name");

const char *netinc_type_name(u8 type)
{
	return type < ARRAY_SIZE(types) ? types[type] : "?";
}

const char *netinc_op_name(u8 op)
{
	return op < ARRAY_SIZE(ops) ? ops[op] : "?";
}

const char *netinc_coll_name(u8 coll)
{
	return coll < ARRAY_SIZE(colls) ? colls[coll] : "?";
}

const char *netinc_variant_name(u8 variant)
{
	return variant < ARRAY_SIZE(variants) ? variants[variant] : "?";
}
