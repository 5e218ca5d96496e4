// SPDX-License-Identifier: GPL-2.0-only
/* Names and sizes of every type and operation of the uapi, whether a kernel for it exists or not. */
#include "reduce/reduce.h"

struct type_info {
	const char *name;
	u8 size;
};

static const struct type_info types[] = {
	[INC_TYPE_NONE]		= { "none", 0 },
	[INC_TYPE_I8]		= { "i8", 1 },
	[INC_TYPE_I16]		= { "i16", 2 },
	[INC_TYPE_I32]		= { "i32", 4 },
	[INC_TYPE_I64]		= { "i64", 8 },
	[INC_TYPE_U8]		= { "u8", 1 },
	[INC_TYPE_U16]		= { "u16", 2 },
	[INC_TYPE_U32]		= { "u32", 4 },
	[INC_TYPE_U64]		= { "u64", 8 },
	[INC_TYPE_F16]		= { "f16", 2 },
	[INC_TYPE_BF16]		= { "bf16", 2 },
	[INC_TYPE_F32]		= { "f32", 4 },
	[INC_TYPE_F64]		= { "f64", 8 },
	[INC_TYPE_F8E4M3]	= { "f8e4m3", 1 },
	[INC_TYPE_F8E5M2]	= { "f8e5m2", 1 },
	[INC_TYPE_BOOL]		= { "bool", 1 },
	[INC_TYPE_C32]		= { "c32", 8 },
	[INC_TYPE_C64]		= { "c64", 16 },
};

static const char * const ops[] = {
	[INC_OP_NONE]	= "none",
	[INC_OP_SUM]	= "sum",
	[INC_OP_PROD]	= "prod",
	[INC_OP_MIN]	= "min",
	[INC_OP_MAX]	= "max",
	[INC_OP_BAND]	= "band",
	[INC_OP_BOR]	= "bor",
	[INC_OP_BXOR]	= "bxor",
	[INC_OP_LAND]	= "land",
	[INC_OP_LOR]	= "lor",
	[INC_OP_LXOR]	= "lxor",
	[INC_OP_MINLOC]	= "minloc",
	[INC_OP_MAXLOC]	= "maxloc",
	[INC_OP_AVG]	= "avg",
};

static const char * const variants[] = {
	[NETINC_VARIANT_GENERIC]	= "generic",
	[NETINC_VARIANT_AVX2]		= "avx2",
};

static_assert(ARRAY_SIZE(types) == __INC_TYPE_MAX, "a type of the uapi has no name");
static_assert(ARRAY_SIZE(ops) == __INC_OP_MAX, "an operation of the uapi has no name");
static_assert(ARRAY_SIZE(variants) == NETINC_VARIANT_COUNT, "a variant has no name");

unsigned int netinc_reduce_elem_size(u8 type)
{
	return type < ARRAY_SIZE(types) ? types[type].size : 0;
}

const char *netinc_type_name(u8 type)
{
	return type < ARRAY_SIZE(types) ? types[type].name : "?";
}

const char *netinc_op_name(u8 op)
{
	return op < ARRAY_SIZE(ops) ? ops[op] : "?";
}

const char *netinc_variant_name(u8 variant)
{
	return variant < ARRAY_SIZE(variants) ? variants[variant] : "?";
}
