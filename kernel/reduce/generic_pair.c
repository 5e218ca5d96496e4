// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic reduction kernels of pairs: the lowest or highest value with its index, and of equal
 * values the lowest index. A NaN wins over all numbers, as it does in min and max.
 */
#include "reduce/generic_fold.h"
#include "reduce/soft_float.h"

#define NO_FINISH(x, args)	(x)

/*
 * Keys are ordered like the values, and those of NaN, which is canonical by then, are one value
 * beyond them.
 */
#define INT_LOWEST(value)	((s64)(value))
#define INT_HIGHEST(value)	((s64)(value))
#define INT_CANONICAL(value)	(value)

static __always_inline s64 key_nan_lowest(u64 x, struct soft_format f)
{
	return soft_is_nan(x, f) ? S64_MIN : soft_key(x, f);
}

static __always_inline s64 key_nan_highest(u64 x, struct soft_format f)
{
	return soft_is_nan(x, f) ? S64_MAX : soft_key(x, f);
}

#define F32_LOWEST(value)	key_nan_lowest((u32)(value), SOFT_F32)
#define F32_HIGHEST(value)	key_nan_highest((u32)(value), SOFT_F32)
#define F32_CANONICAL(value)	soft_canonical((u32)(value), SOFT_F32)
#define F64_LOWEST(value)	key_nan_lowest(value, SOFT_F64)
#define F64_HIGHEST(value)	key_nan_highest(value, SOFT_F64)
#define F64_CANONICAL(value)	soft_canonical(value, SOFT_F64)

#define PAIR(t, bits, KIND)								\
struct t {										\
	s##bits value, index;								\
};											\
											\
static __always_inline struct t t##_load(const void *p)					\
{											\
	return (struct t){ netinc_get_le##bits(p), netinc_get_le##bits(p + bits / 8) };	\
}											\
											\
static __always_inline void t##_store(void *p, struct t x)				\
{											\
	netinc_put_le##bits(p, x.value);						\
	netinc_put_le##bits(p + bits / 8, x.index);					\
}											\
											\
static __always_inline struct t t##_settle(struct t x)					\
{											\
	return (struct t){ KIND##_CANONICAL(x.value), x.index };			\
}											\
											\
static __always_inline struct t t##_step_minloc(struct t a, struct t b)			\
{											\
	s64 ka = KIND##_LOWEST(a.value), kb = KIND##_LOWEST(b.value);			\
											\
	return ka < kb || (ka == kb && a.index < b.index) ? a : b;			\
}											\
											\
static __always_inline struct t t##_step_maxloc(struct t a, struct t b)			\
{											\
	s64 ka = KIND##_HIGHEST(a.value), kb = KIND##_HIGHEST(b.value);			\
											\
	return ka > kb || (ka == kb && a.index < b.index) ? a : b;			\
}											\
											\
NETINC_DEFINE_FOLD(t##_minloc, struct t, sizeof(struct t), t##_load, t##_step_minloc, t##_settle, NO_FINISH, \
		   t##_store)								\
NETINC_DEFINE_FOLD(t##_maxloc, struct t, sizeof(struct t), t##_load, t##_step_maxloc, t##_settle, NO_FINISH, \
		   t##_store)

PAIR(i32_i32, 32, INT)
PAIR(f32_i32, 32, F32)
PAIR(i64_i64, 64, INT)
PAIR(f64_i64, 64, F64)

const struct netinc_reduce netinc_generic_pair[] = {
	NETINC_PAIR_KERNELS(NETINC_KERNEL_GENERIC)
	{ }
};
