// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic reduction kernels of complex numbers: real part, then imaginary part. A product is (ac -
 * bd) + (ad + bc)i, each of the six operations rounded by itself.
 */
#include "reduce/generic_fold.h"
#include "reduce/soft_float.h"

#define NO_FINISH(x, args)	(x)

#define COMPLEX(t, part, bits, F)							\
struct t {										\
	part re, im;									\
};											\
											\
static __always_inline struct t t##_load(const void *p)					\
{											\
	return (struct t){ netinc_get_le##bits(p), netinc_get_le##bits(p + sizeof(part)) };	\
}											\
											\
static __always_inline void t##_store(void *p, struct t x)				\
{											\
	netinc_put_le##bits(p, x.re);							\
	netinc_put_le##bits(p + sizeof(part), x.im);					\
}											\
											\
static __always_inline struct t t##_step_sum(struct t a, struct t b)			\
{											\
	return (struct t){ soft_add(a.re, b.re, F), soft_add(a.im, b.im, F) };		\
}											\
											\
static __always_inline struct t t##_step_prod(struct t a, struct t b)			\
{											\
	return (struct t){								\
		soft_sub(soft_mul(a.re, b.re, F), soft_mul(a.im, b.im, F), F),		\
		soft_add(soft_mul(a.re, b.im, F), soft_mul(a.im, b.re, F), F),		\
	};										\
}											\
											\
static __always_inline struct t t##_settle(struct t x)					\
{											\
	return (struct t){ soft_canonical(x.re, F), soft_canonical(x.im, F) };		\
}											\
											\
static __always_inline struct t t##_divide(struct t x, const struct netinc_fold_args *args)	\
{											\
	return (struct t){ soft_div(x.re, args->ranks, F), soft_div(x.im, args->ranks, F) };	\
}											\
											\
NETINC_DEFINE_FOLD(t##_sum, struct t, sizeof(struct t), t##_load, t##_step_sum, t##_settle, NO_FINISH, t##_store) \
NETINC_DEFINE_FOLD(t##_prod, struct t, sizeof(struct t), t##_load, t##_step_prod, t##_settle, NO_FINISH, t##_store) \
NETINC_DEFINE_FOLD(t##_avg, struct t, sizeof(struct t), t##_load, t##_step_sum, t##_settle, t##_divide, t##_store)

COMPLEX(c32, u32, 32, SOFT_F32)
COMPLEX(c64, u64, 64, SOFT_F64)

const struct netinc_reduce netinc_generic_complex[] = {
	NETINC_COMPLEX_KERNELS(NETINC_KERNEL_GENERIC)
	{ }
};
