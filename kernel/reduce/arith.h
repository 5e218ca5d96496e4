/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bit operations, divisions and unaligned little-endian memory, which platform.h has no need of
 * elsewhere.
 */
#ifndef NETINC_REDUCE_ARITH_H
#define NETINC_REDUCE_ARITH_H

#include "reduce/platform.h"

#ifdef __KERNEL__

#include <linux/bitops.h>
#include <linux/math64.h>

/* Leading zeros of a value that is not 0. */
static __always_inline unsigned int netinc_clz64(u64 x)
{
	return 64 - fls64(x);
}

/* A 32-bit kernel has no / for 64 bits. */
static __always_inline u64 netinc_div64(u64 n, u32 d, u32 *rest)
{
	return div_u64_rem(n, d, rest);
}

#else

static __always_inline unsigned int netinc_clz64(u64 x)
{
	return __builtin_clzll(x);
}

static __always_inline u64 netinc_div64(u64 n, u32 d, u32 *rest)
{
	*rest = n % d;
	return n / d;
}

#endif

/* The upper half of a x b; the lower one goes to *low. */
static __always_inline u64 netinc_mul64(u64 a, u64 b, u64 *low)
{
#ifdef __SIZEOF_INT128__
	__uint128_t product = (__uint128_t)a * b;

	*low = product;
	return product >> 64;
#else
	u64 ll = (u64)(u32)a * (u32)b, lh = (u64)(u32)a * (u32)(b >> 32);
	u64 hl = (u64)(u32)(a >> 32) * (u32)b, hh = (u64)(u32)(a >> 32) * (u32)(b >> 32);
	u64 middle = (ll >> 32) + (u32)lh + (u32)hl;

	*low = middle << 32 | (u32)ll;
	return hh + (lh >> 32) + (hl >> 32) + (middle >> 32);
#endif
}

/* Truncating toward zero; @narrow: x has 32 bits at most, and the CPU divides these by itself. */
static __always_inline u64 netinc_div_unsigned(u64 x, u32 d, bool narrow)
{
	u32 rest;

	return narrow ? (u32)x / d : netinc_div64(x, d, &rest);
}

static __always_inline s64 netinc_div_signed(s64 x, u32 d, bool narrow)
{
	u64 sign = x >> 63, q = netinc_div_unsigned(((u64)x ^ sign) - sign, d, narrow);

	return (q ^ sign) - sign;
}

/*
 * u16 netinc_get_le16(const void *p), void netinc_put_le16(void *p, u16 x), and so on: any
 * alignment
 */
#define NETINC_UNALIGNED(bits)							\
static __always_inline u##bits netinc_get_le##bits(const void *p)		\
{										\
	__le##bits v;								\
										\
	memcpy(&v, p, sizeof(v));						\
	return le##bits##_to_cpu(v);						\
}										\
										\
static __always_inline void netinc_put_le##bits(void *p, u##bits x)		\
{										\
	__le##bits v = cpu_to_le##bits(x);					\
										\
	memcpy(p, &v, sizeof(v));						\
}

NETINC_UNALIGNED(16)
NETINC_UNALIGNED(32)
NETINC_UNALIGNED(64)
#undef NETINC_UNALIGNED

static __always_inline u8 netinc_get_le8(const void *p)
{
	return *(const u8 *)p;
}

static __always_inline void netinc_put_le8(void *p, u8 x)
{
	*(u8 *)p = x;
}

#endif
