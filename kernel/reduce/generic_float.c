// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic reduction kernels of floats. Those of 16 and 8 bits are summed and multiplied in f32, and
 * rounded to their type when everything is in; a minimum or maximum is one of the elements and
 * needs no more than their own bits.
 */
#include "reduce/generic_fold.h"
#include "reduce/soft_float.h"

#define NO_FINISH(x, args)	(x)

/* Arithmetic of an accumulator's format. */
#define ARITHMETIC(t, type, F)								\
static __always_inline type t##_step_sum(type a, type b)				\
{											\
	return soft_add(a, b, F);							\
}											\
											\
static __always_inline type t##_step_prod(type a, type b)				\
{											\
	return soft_mul(a, b, F);							\
}											\
											\
static __always_inline type t##_settle(type x)						\
{											\
	return soft_canonical(x, F);							\
}											\
											\
static __always_inline type t##_divide(type x, const struct netinc_fold_args *args)	\
{											\
	return soft_div(x, args->ranks, F);						\
}

/* Kernels that work on a type's own bits. */
#define ORDER(t, type, bits, F)								\
static __always_inline type t##_step_min(type a, type b)				\
{											\
	return soft_min(a, b, F);							\
}											\
											\
static __always_inline type t##_step_max(type a, type b)				\
{											\
	return soft_max(a, b, F);							\
}											\
											\
static __always_inline type t##_canonical(type x)					\
{											\
	return soft_canonical(x, F);							\
}											\
											\
NETINC_DEFINE_FOLD(t##_min, type, bits / 8, netinc_get_le##bits, t##_step_min, t##_canonical, NO_FINISH, \
		   netinc_put_le##bits)							\
NETINC_DEFINE_FOLD(t##_max, type, bits / 8, netinc_get_le##bits, t##_step_max, t##_canonical, NO_FINISH, \
		   netinc_put_le##bits)

/* Kernels with accumulators in the format @a, which load and store convert from and to. */
#define SUMS(t, a, type, bits, load, store)						\
NETINC_DEFINE_FOLD(t##_sum, type, bits / 8, load, a##_step_sum, a##_settle, NO_FINISH, store)	\
NETINC_DEFINE_FOLD(t##_prod, type, bits / 8, load, a##_step_prod, a##_settle, NO_FINISH, store)	\
NETINC_DEFINE_FOLD(t##_avg, type, bits / 8, load, a##_step_sum, a##_settle, a##_divide, store)

#define SMALL(t, type, bits, F)								\
static __always_inline u32 t##_load(const void *p)					\
{											\
	return soft_convert(netinc_get_le##bits(p), F, SOFT_F32);			\
}											\
											\
static __always_inline void t##_store(void *p, u32 x)					\
{											\
	netinc_put_le##bits(p, soft_convert(x, SOFT_F32, F));				\
}											\
											\
SUMS(t, f32, u32, bits, t##_load, t##_store)						\
ORDER(t, type, bits, F)

ARITHMETIC(f32, u32, SOFT_F32)
SUMS(f32, f32, u32, 32, netinc_get_le32, netinc_put_le32)
ORDER(f32, u32, 32, SOFT_F32)

ARITHMETIC(f64, u64, SOFT_F64)
SUMS(f64, f64, u64, 64, netinc_get_le64, netinc_put_le64)
ORDER(f64, u64, 64, SOFT_F64)

SMALL(f16, u16, 16, SOFT_F16)
SMALL(bf16, u16, 16, SOFT_BF16)
SMALL(f8e4m3, u8, 8, SOFT_F8E4M3)
SMALL(f8e5m2, u8, 8, SOFT_F8E5M2)

const struct netinc_reduce netinc_generic_float[] = {
	NETINC_FLOAT_KERNELS(NETINC_KERNEL_GENERIC)
	{ }
};
