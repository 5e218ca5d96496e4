/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which kernels there are: the same for every variant, whose tables are made of these lists.
 *
 * K(type, op, mode, name, bytes of an element, bytes of an accumulator, function): the function is
 * the same for two kernels if what they do to the bits is (a sum of i8 and one of u8).
 */
#ifndef NETINC_REDUCE_KERNELS_H
#define NETINC_REDUCE_KERNELS_H

#include "reduce/reduce.h"

#define NETINC_INT(K, T, t, u, size)							\
	K(INC_TYPE_##T, INC_OP_SUM, 0, #t "-sum", size, size, u##_sum)			\
	K(INC_TYPE_##T, INC_OP_PROD, 0, #t "-prod", size, size, u##_prod)		\
	K(INC_TYPE_##T, INC_OP_MIN, 0, #t "-min", size, size, t##_min)			\
	K(INC_TYPE_##T, INC_OP_MAX, 0, #t "-max", size, size, t##_max)			\
	K(INC_TYPE_##T, INC_OP_AVG, 0, #t "-avg", size, size, t##_avg)			\
	K(INC_TYPE_##T, INC_OP_BAND, 0, #t "-band", size, size, u##_band)		\
	K(INC_TYPE_##T, INC_OP_BOR, 0, #t "-bor", size, size, u##_bor)			\
	K(INC_TYPE_##T, INC_OP_BXOR, 0, #t "-bxor", size, size, u##_bxor)		\
	NETINC_LOGICAL(K, T, t, u, size)

#define NETINC_LOGICAL(K, T, t, u, size)						\
	K(INC_TYPE_##T, INC_OP_LAND, 0, #t "-land", size, size, u##_land)		\
	K(INC_TYPE_##T, INC_OP_LOR, 0, #t "-lor", size, size, u##_lor)			\
	K(INC_TYPE_##T, INC_OP_LXOR, 0, #t "-lxor", size, size, u##_lxor)

#define NETINC_SATURATING(K, T, t, size)						\
	K(INC_TYPE_##T, INC_OP_SUM, INC_MODE_SATURATE, #t "-sum-saturate", size, 4, t##_sum_saturate)

/* A bool is a u8 that logical operations alone make sense of. */
#define NETINC_INT_KERNELS(K)								\
	NETINC_INT(K, I8, i8, u8, 1)							\
	NETINC_INT(K, I16, i16, u16, 2)							\
	NETINC_INT(K, I32, i32, u32, 4)							\
	NETINC_INT(K, I64, i64, u64, 8)							\
	NETINC_INT(K, U8, u8, u8, 1)							\
	NETINC_INT(K, U16, u16, u16, 2)							\
	NETINC_INT(K, U32, u32, u32, 4)							\
	NETINC_INT(K, U64, u64, u64, 8)							\
	NETINC_LOGICAL(K, BOOL, bool, u8, 1)						\
	NETINC_SATURATING(K, I8, i8, 1)							\
	NETINC_SATURATING(K, I16, i16, 2)						\
	NETINC_SATURATING(K, U8, u8, 1)							\
	NETINC_SATURATING(K, U16, u16, 2)

/* wide: bytes of the accumulator in which it is summed and multiplied */
#define NETINC_FLOAT(K, T, t, size, wide)						\
	NETINC_COMPLEX(K, T, t, size, wide)						\
	K(INC_TYPE_##T, INC_OP_MIN, 0, #t "-min", size, size, t##_min)			\
	K(INC_TYPE_##T, INC_OP_MAX, 0, #t "-max", size, size, t##_max)

#define NETINC_COMPLEX(K, T, t, size, wide)						\
	K(INC_TYPE_##T, INC_OP_SUM, 0, #t "-sum", size, wide, t##_sum)			\
	K(INC_TYPE_##T, INC_OP_PROD, 0, #t "-prod", size, wide, t##_prod)		\
	K(INC_TYPE_##T, INC_OP_AVG, 0, #t "-avg", size, wide, t##_avg)

#define NETINC_FLOAT_KERNELS(K)								\
	NETINC_FLOAT(K, F32, f32, 4, 4)							\
	NETINC_FLOAT(K, F64, f64, 8, 8)							\
	NETINC_FLOAT(K, F16, f16, 2, 4)							\
	NETINC_FLOAT(K, BF16, bf16, 2, 4)						\
	NETINC_FLOAT(K, F8E4M3, f8e4m3, 1, 4)						\
	NETINC_FLOAT(K, F8E5M2, f8e5m2, 1, 4)

#define NETINC_COMPLEX_KERNELS(K)							\
	NETINC_COMPLEX(K, C32, c32, 8, 8)						\
	NETINC_COMPLEX(K, C64, c64, 16, 16)

#define NETINC_PAIR(K, T, t, size)							\
	K(INC_TYPE_##T, INC_OP_MINLOC, 0, #t "-minloc", size, size, t##_minloc)		\
	K(INC_TYPE_##T, INC_OP_MAXLOC, 0, #t "-maxloc", size, size, t##_maxloc)

#define NETINC_PAIR_KERNELS(K)								\
	NETINC_PAIR(K, I32_I32, i32_i32, 8)						\
	NETINC_PAIR(K, F32_I32, f32_i32, 8)						\
	NETINC_PAIR(K, I64_I64, i64_i64, 16)						\
	NETINC_PAIR(K, F64_I64, f64_i64, 16)

/*
 * An element is a block of 32 values with one scale, an accumulator 32 f32, and as many zeros as
 * make it a multiple of an element.
 */
#define NETINC_MX(K, T, t, size, wide)							\
	K(INC_TYPE_##T, INC_OP_SUM, 0, #t "-sum", size, wide, t##_sum)			\
	K(INC_TYPE_##T, INC_OP_AVG, 0, #t "-avg", size, wide, t##_avg)			\
	K(INC_TYPE_##T, INC_OP_MIN, 0, #t "-min", size, wide, t##_min)			\
	K(INC_TYPE_##T, INC_OP_MAX, 0, #t "-max", size, wide, t##_max)

#define NETINC_MX_KERNELS(K)								\
	NETINC_MX(K, MXF8E4M3, mxf8e4m3, 33, 132)					\
	NETINC_MX(K, MXF8E5M2, mxf8e5m2, 33, 132)					\
	NETINC_MX(K, MXF4E2M1, mxf4e2m1, 17, 136)					\
	NETINC_MX(K, MXI8, mxi8, 33, 132)

/* C(from, to, name, function) */
#define NETINC_BOTH_WAYS(C, T, t)							\
	C(INC_TYPE_F32, INC_TYPE_##T, "f32-" #t, f32_to_##t)				\
	C(INC_TYPE_##T, INC_TYPE_F32, #t "-f32", t##_to_f32)

#define NETINC_CONVERSIONS(C)								\
	NETINC_BOTH_WAYS(C, F64, f64)							\
	NETINC_BOTH_WAYS(C, F16, f16)							\
	NETINC_BOTH_WAYS(C, BF16, bf16)							\
	NETINC_BOTH_WAYS(C, F8E4M3, f8e4m3)						\
	NETINC_BOTH_WAYS(C, F8E5M2, f8e5m2)

/* S(type, name, function) */
#define NETINC_SCALES(S)								\
	S(INC_TYPE_F32, "f32-scale", f32_scale)						\
	S(INC_TYPE_F64, "f64-scale", f64_scale)						\
	S(INC_TYPE_C32, "c32-scale", c32_scale)						\
	S(INC_TYPE_C64, "c64-scale", c64_scale)

/* Entries of the tables of a variant. */
#define NETINC_KERNEL_GENERIC(_type, _op, _mode, _name, _elem, _acc, _fn) {		\
	.type = _type, .op = _op, .mode = _mode, .variant = NETINC_VARIANT_GENERIC,	\
	.elem_size = _elem, .acc_size = _acc, .name = _name "-generic", .fold = _fn },

#define NETINC_KERNEL_SIMD(_type, _op, _mode, _name, _elem, _acc, _fn) {		\
	.type = _type, .op = _op, .mode = _mode, .variant = SIMD_VARIANT,		\
	.elem_size = _elem, .acc_size = _acc, .fpu = true, .features = SIMD_FEATURES,	\
	.name = _name "-" SIMD_NAME, .fold = _fn },

#define NETINC_CONVERT_GENERIC(_from, _to, _name, _fn) {				\
	.from = _from, .to = _to, .variant = NETINC_VARIANT_GENERIC,			\
	.name = _name "-generic", .convert = _fn },

#define NETINC_CONVERT_SIMD(_from, _to, _name, _fn) {					\
	.from = _from, .to = _to, .variant = SIMD_VARIANT, .fpu = true,			\
	.features = SIMD_FEATURES, .name = _name "-" SIMD_NAME, .convert = _fn },

#define NETINC_SCALE_GENERIC(_type, _name, _fn) {					\
	.type = _type, .variant = NETINC_VARIANT_GENERIC, .name = _name "-generic", .scale = _fn },

#define NETINC_SCALE_SIMD(_type, _name, _fn) {						\
	.type = _type, .variant = SIMD_VARIANT, .fpu = true, .features = SIMD_FEATURES,	\
	.name = _name "-" SIMD_NAME, .scale = _fn },

/* copy.c, for netinc_reduce_init() */
void netinc_copy_init(unsigned int features);

/* The arrays table.c puts together, each ended by an entry without function. */
extern const struct netinc_reduce netinc_generic_int[];
extern const struct netinc_reduce netinc_generic_float[];
extern const struct netinc_reduce netinc_generic_complex[];
extern const struct netinc_reduce netinc_generic_pair[];
extern const struct netinc_reduce netinc_generic_mx[];
extern const struct netinc_convert netinc_generic_convert[];
extern const struct netinc_scale netinc_generic_scale[];
extern const struct netinc_reduce netinc_avx2[];
extern const struct netinc_convert netinc_avx2_convert[];
extern const struct netinc_scale netinc_avx2_scale[];
extern const struct netinc_reduce netinc_avx512[];
extern const struct netinc_convert netinc_avx512_convert[];
extern const struct netinc_scale netinc_avx512_scale[];
extern const struct netinc_reduce netinc_neon[];
extern const struct netinc_convert netinc_neon_convert[];
extern const struct netinc_scale netinc_neon_scale[];

#endif
