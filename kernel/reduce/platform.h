/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only file through which engine/ and reduce/ see their environment: fixed-width types, byte
 * order, memory and assertions, from the kernel when built into the module and from libc in the
 * simulator, unit tests and fuzzers.
 */
#ifndef NETINC_REDUCE_PLATFORM_H
#define NETINC_REDUCE_PLATFORM_H

#ifdef __KERNEL__

#include <linux/bitmap.h>
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/byteorder.h>

#define netinc_assert(cond)	WARN_ON_ONCE(!(cond))

static inline u64 netinc_div(u64 dividend, u32 divisor, u32 *remainder)
{
	return div_u64_rem(dividend, divisor, remainder);
}

#else

#include <endian.h>
#include <errno.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#ifndef __force
#define __force
#endif
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELAXED)
#define fallthrough		__attribute__((fallthrough))
#define S64_MIN			INT64_MIN
#define S64_MAX			INT64_MAX
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define static_assert		_Static_assert
#define min(a, b)		\
	({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ < b_ ? a_ : b_; })
#define max3(a, b, c)		max(max(a, b), c)
#define max(a, b)		\
	({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ > b_ ? a_ : b_; })
#define min_t(t, a, b)		min((t)(a), (t)(b))
#define max_t(t, a, b)		max((t)(a), (t)(b))
#define clamp_t(t, v, lo, hi)	min_t(t, max_t(t, v, lo), hi)
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define round_up(x, y)		((((x) - 1) | ((__typeof__(x))((y) - 1))) + 1)
#define round_down(x, y)	((x) & ~((__typeof__(x))((y) - 1)))
#define container_of(p, t, m)	((t *)((char *)(p) - offsetof(t, m)))

#define cpu_to_be16(x)		((__be16)htobe16(x))
#define cpu_to_be32(x)		((__be32)htobe32(x))
#define cpu_to_be64(x)		((__be64)htobe64(x))
#define be16_to_cpu(x)		be16toh((u16)(x))
#define be32_to_cpu(x)		be32toh((u32)(x))
#define be64_to_cpu(x)		be64toh((u64)(x))
#define cpu_to_le16(x)		((__le16)htole16(x))
#define le16_to_cpu(x)		le16toh((u16)(x))
#define cpu_to_le32(x)		((__le32)htole32(x))
#define le32_to_cpu(x)		le32toh((u32)(x))
#define cpu_to_le64(x)		((__le64)htole64(x))
#define le64_to_cpu(x)		le64toh((u64)(x))
#define pr_err(...)		fprintf(stderr, __VA_ARGS__)

static inline u64 netinc_div(u64 dividend, u32 divisor, u32 *remainder)
{
	*remainder = dividend % divisor;
	return dividend / divisor;
}

/* An assertion that fails outside the kernel ends the program: there it is always a test. */
#define netinc_assert(cond) ({							\
	bool bad_ = !(cond);							\
	if (unlikely(bad_)) {							\
		fprintf(stderr, "%s:%d: assertion failed: %s\n", __FILE__, __LINE__, #cond); \
		abort();							\
	}									\
	bad_;									\
})

#endif

#endif
