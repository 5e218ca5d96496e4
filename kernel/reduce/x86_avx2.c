// SPDX-License-Identifier: GPL-2.0-only
/* Reduction kernels for AVX2 (with F16C): the bits of the generic ones, at the speed of memory. */
/* sparse knows no vectors */
#if defined(__x86_64__) && !defined(__CHECKER__)

#define SIMD_BYTES	32
#define SIMD_CHUNK	4u
#define SIMD		__attribute__((target("avx2,f16c")))
#define SIMD_NAME	"avx2"
#define SIMD_VARIANT	NETINC_VARIANT_AVX2
#define SIMD_FEATURES	NETINC_NEEDS_AVX2

#include "reduce/vector_int.h"
#include "reduce/vector_float.h"
#include "reduce/vector_complex.h"
#include "reduce/vector_pair.h"
#include "reduce/vector_mx.h"
#include "reduce/vector_convert.h"

const struct netinc_reduce netinc_avx2[] = {
	NETINC_INT_KERNELS(NETINC_KERNEL_SIMD)
	NETINC_FLOAT_KERNELS(NETINC_KERNEL_SIMD)
	NETINC_COMPLEX_KERNELS(NETINC_KERNEL_SIMD)
	NETINC_PAIR_KERNELS(NETINC_KERNEL_SIMD)
	NETINC_MX_KERNELS(NETINC_KERNEL_SIMD)
	{ }
};

const struct netinc_convert netinc_avx2_convert[] = {
	NETINC_CONVERSIONS(NETINC_CONVERT_SIMD)
	{ }
};

const struct netinc_scale netinc_avx2_scale[] = {
	NETINC_SCALES(NETINC_SCALE_SIMD)
	{ }
};

#endif
