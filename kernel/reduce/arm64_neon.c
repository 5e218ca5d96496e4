// SPDX-License-Identifier: GPL-2.0-only
/* Reduction kernels for NEON, which every arm64 has: the bits of the generic ones. */
/* sparse knows no vectors */
#if defined(__AARCH64EL__) && !defined(__CHECKER__)

#define SIMD_BYTES	16
#define SIMD_CHUNK	8u
#define SIMD
#define SIMD_NAME	"neon"
#define SIMD_VARIANT	NETINC_VARIANT_NEON
#define SIMD_FEATURES	NETINC_CPU_NEON

#include "reduce/vector_int.h"
#include "reduce/vector_float.h"
#include "reduce/vector_complex.h"
#include "reduce/vector_pair.h"
#include "reduce/vector_mx.h"
#include "reduce/vector_convert.h"

const struct netinc_reduce netinc_neon[] = {
	NETINC_INT_KERNELS(NETINC_KERNEL_SIMD)
	NETINC_FLOAT_KERNELS(NETINC_KERNEL_SIMD)
	NETINC_COMPLEX_KERNELS(NETINC_KERNEL_SIMD)
	NETINC_PAIR_KERNELS(NETINC_KERNEL_SIMD)
	NETINC_MX_KERNELS(NETINC_KERNEL_SIMD)
	{ }
};

const struct netinc_convert netinc_neon_convert[] = {
	NETINC_CONVERSIONS(NETINC_CONVERT_SIMD)
	{ }
};

const struct netinc_scale netinc_neon_scale[] = {
	NETINC_SCALES(NETINC_SCALE_SIMD)
	{ }
};

#endif
