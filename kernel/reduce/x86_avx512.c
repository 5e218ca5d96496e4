// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reduction kernels for AVX-512 (F, BW, DQ, VL): the bits of the generic ones, at the speed of
 * memory.
 */
/* sparse knows no vectors */
#if defined(__x86_64__) && !defined(__CHECKER__)

#define SIMD_BYTES	64
#define SIMD_CHUNK	8u
#define SIMD		__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,f16c")))
#define SIMD_NAME	"avx512"
#define SIMD_VARIANT	NETINC_VARIANT_AVX512
#define SIMD_FEATURES	NETINC_NEEDS_AVX512

#include "reduce/vector_int.h"
#include "reduce/vector_float.h"
#include "reduce/vector_complex.h"
#include "reduce/vector_pair.h"
#include "reduce/vector_mx.h"
#include "reduce/vector_convert.h"

const struct netinc_reduce netinc_avx512[] = {
	NETINC_INT_KERNELS(NETINC_KERNEL_SIMD)
	NETINC_FLOAT_KERNELS(NETINC_KERNEL_SIMD)
	NETINC_COMPLEX_KERNELS(NETINC_KERNEL_SIMD)
	NETINC_PAIR_KERNELS(NETINC_KERNEL_SIMD)
	NETINC_MX_KERNELS(NETINC_KERNEL_SIMD)
	{ }
};

const struct netinc_convert netinc_avx512_convert[] = {
	NETINC_CONVERSIONS(NETINC_CONVERT_SIMD)
	{ }
};

const struct netinc_scale netinc_avx512_scale[] = {
	NETINC_SCALES(NETINC_SCALE_SIMD)
	{ }
};

#endif
