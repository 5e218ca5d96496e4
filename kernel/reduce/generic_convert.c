// SPDX-License-Identifier: GPL-2.0-only
/* Generic conversions between floating-point types, and scaling by a weight. */
#include "reduce/kernels.h"
#include "reduce/soft_float.h"

#define CONVERT(from, from_bits, FROM, to, to_bits, TO)					\
static void from##_to_##to(void *dst, const void *src, unsigned int count)		\
{											\
	size_t i;									\
											\
	for (i = 0; i < count; i++)							\
		netinc_put_le##to_bits(dst + i * (to_bits / 8),				\
				       soft_convert(netinc_get_le##from_bits(src + i * (from_bits / 8)), FROM, TO)); \
}

#define BOTH_WAYS(t, bits, F)								\
CONVERT(f32, 32, SOFT_F32, t, bits, F)							\
CONVERT(t, bits, F, f32, 32, SOFT_F32)

BOTH_WAYS(f64, 64, SOFT_F64)
BOTH_WAYS(f16, 16, SOFT_F16)
BOTH_WAYS(bf16, 16, SOFT_BF16)
BOTH_WAYS(f8e4m3, 8, SOFT_F8E4M3)
BOTH_WAYS(f8e5m2, 8, SOFT_F8E5M2)

static void f32_scale(void *data, unsigned int count, u64 weight)
{
	u32 w = soft_convert(weight, SOFT_F64, SOFT_F32);
	size_t i;

	for (i = 0; i < count; i++)
		netinc_put_le32(data + i * 4, soft_mul(netinc_get_le32(data + i * 4), w, SOFT_F32));
}

static void f64_scale(void *data, unsigned int count, u64 weight)
{
	size_t i;

	for (i = 0; i < count; i++)
		netinc_put_le64(data + i * 8,
				soft_mul(netinc_get_le64(data + i * 8), weight, SOFT_F64));
}

/* Both parts alike. */
static void c32_scale(void *data, unsigned int count, u64 weight)
{
	f32_scale(data, 2 * count, weight);
}

static void c64_scale(void *data, unsigned int count, u64 weight)
{
	f64_scale(data, 2 * count, weight);
}

const struct netinc_convert netinc_generic_convert[] = {
	NETINC_CONVERSIONS(NETINC_CONVERT_GENERIC)
	{ }
};

const struct netinc_scale netinc_generic_scale[] = {
	NETINC_SCALES(NETINC_SCALE_GENERIC)
	{ }
};
