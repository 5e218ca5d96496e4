// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic reduction kernels of integers and bool. Accumulators are unsigned where signs do not
 * matter: they wrap.
 */
#include "reduce/arith.h"
#include "reduce/generic_fold.h"

#define SAME(x)			(x)
#define NO_FINISH(x, args)	(x)

/* Loads, stores and steps of a type. The product in 64 bits: u16 x u16 would overflow an int. */
#define ACCESS(t, type, bits)								\
static __always_inline type t##_load(const void *p)					\
{											\
	return netinc_get_le##bits(p);							\
}											\
											\
static __always_inline void t##_store(void *p, type x)					\
{											\
	netinc_put_le##bits(p, x);							\
}

#define STEP(t, type, op, expression)							\
static __always_inline type t##_step_##op(type a, type b)				\
{											\
	return expression;								\
}

#define FOLD(t, type, op, load, step, finish)						\
	NETINC_DEFINE_FOLD(t##_##op, type, sizeof(type), load, step, SAME, finish, t##_store)

/*
 * What does not depend on the sign. Logical operations are those on bits of what load_truth() makes
 * of the elements.
 */
#define BOTH_SIGNS(t, bits)								\
ACCESS(t, t, bits)									\
STEP(t, t, sum, a + b)									\
STEP(t, t, prod, (u64)a * b)								\
STEP(t, t, band, a & b)									\
STEP(t, t, bor, a | b)									\
STEP(t, t, bxor, a ^ b)									\
											\
static __always_inline t t##_load_truth(const void *p)					\
{											\
	return !!t##_load(p);								\
}											\
											\
FOLD(t, t, sum, t##_load, t##_step_sum, NO_FINISH)					\
FOLD(t, t, prod, t##_load, t##_step_prod, NO_FINISH)					\
FOLD(t, t, band, t##_load, t##_step_band, NO_FINISH)					\
FOLD(t, t, bor, t##_load, t##_step_bor, NO_FINISH)					\
FOLD(t, t, bxor, t##_load, t##_step_bxor, NO_FINISH)					\
FOLD(t, t, land, t##_load_truth, t##_step_band, NO_FINISH)				\
FOLD(t, t, lor, t##_load_truth, t##_step_bor, NO_FINISH)				\
FOLD(t, t, lxor, t##_load_truth, t##_step_bxor, NO_FINISH)

/*
 * What does. The sum of an average is that of the unsigned type @u, and signed only when it is
 * divided.
 */
#define ONE_SIGN(t, type, u, divide)							\
STEP(t, type, min, a < b ? a : b)							\
STEP(t, type, max, a > b ? a : b)							\
											\
static __always_inline u t##_divide(u x, const struct netinc_fold_args *args)		\
{											\
	return divide((type)x, args->ranks, sizeof(type) <= 4);				\
}											\
											\
FOLD(t, type, min, t##_load, t##_step_min, NO_FINISH)					\
FOLD(t, type, max, t##_load, t##_step_max, NO_FINISH)					\
NETINC_DEFINE_FOLD(t##_avg, u, sizeof(u), u##_load, u##_step_sum, SAME, t##_divide, u##_store)

#define WIDTH(bits)									\
BOTH_SIGNS(u##bits, bits)								\
ACCESS(i##bits, s##bits, bits)								\
ONE_SIGN(u##bits, u##bits, u##bits, netinc_div_unsigned)				\
ONE_SIGN(i##bits, s##bits, u##bits, netinc_div_signed)

WIDTH(8)
WIDTH(16)
WIDTH(32)
WIDTH(64)

/* Exact in 32 bits for as many sources as there can be, and clamped once. */
STEP(wide, s32, sum, a + b)

#define SATURATE(t, size, lowest, highest)							\
static __always_inline s32 t##_clamp(s32 x, const struct netinc_fold_args *args)	\
{											\
	(void)args;									\
	return clamp_t(s32, x, lowest, highest);					\
}											\
											\
NETINC_DEFINE_FOLD(t##_sum_saturate, s32, size, t##_load, wide_step_sum, SAME, t##_clamp, t##_store)

SATURATE(i8, 1, -128, 127)
SATURATE(i16, 2, -32768, 32767)
SATURATE(u8, 1, 0, 255)
SATURATE(u16, 2, 0, 65535)

const struct netinc_reduce netinc_generic_int[] = {
	NETINC_INT_KERNELS(NETINC_KERNEL_GENERIC)
	{ }
};
