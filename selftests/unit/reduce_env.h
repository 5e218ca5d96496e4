/* SPDX-License-Identifier: GPL-2.0-only */
/* What tests of reduction kernels share: memory, guards of results, tests named after kernels. */
#ifndef INC_REDUCE_ENV_H
#define INC_REDUCE_ENV_H

#include "reduce_values.h"

#define GUARD		64u	/* bytes kept around a result */
#define GUARD_BYTE	0xa5

/* Of exactly this size, so that the address sanitizer sees a byte too many. */
static inline void *allocate(size_t size)
{
	void *p = malloc(size ? size : 1);

	if (!p) {
		printf("Bail out! no memory for %zu bytes\n", size);
		exit(2);
	}
	return p;
}

static inline bool guards_intact(const char *name, const u8 *buf, const u8 *dst, size_t len,
				 size_t size)
{
	const u8 *p;

	for (p = buf; p < buf + size; p++)
		if ((p < dst || p >= dst + len) && *p != GUARD_BYTE)
			return expect(false,
				      "%s: byte %td beside a result of %zu bytes was written", name,
				      p - dst, len);
	return true;
}

/* Bytes of an element, highest first. */
static inline const char *hex(const u8 *p, unsigned int size)
{
	static char text[8][80];
	static unsigned int next;
	char *out = text[next++ % ARRAY_SIZE(text)], *at = out;

	while (size--)
		at += sprintf(at, "%02x", p[size]);
	return out;
}

/* Is it for processors like this one? Tests of others have no names here. */
static inline bool variant_is_of_here(u8 variant)
{
	switch (variant) {
	case NETINC_VARIANT_AVX2:
	case NETINC_VARIANT_AVX512:
#ifdef __x86_64__
		return true;
#else
		return false;
#endif
	case NETINC_VARIANT_NEON:
#ifdef __AARCH64EL__
		return true;
#else
		return false;
#endif
	}
	return true;
}

static inline bool variant_runs(u8 variant)
{
	unsigned int features = netinc_cpu_features();

	switch (variant) {
	case NETINC_VARIANT_AVX2:
		return !(NETINC_NEEDS_AVX2 & ~features);
	case NETINC_VARIANT_AVX512:
		return !(NETINC_NEEDS_AVX512 & ~features);
	case NETINC_VARIANT_NEON:
		return !(NETINC_CPU_NEON & ~features);
	}
	return variant == NETINC_VARIANT_GENERIC;
}

/* Skips the running test if this CPU lacks what the variant needs. */
static inline bool skip_variant(u8 variant)
{
	static char reason[64];

	if (variant_runs(variant))
		return false;
	snprintf(reason, sizeof(reason), "this CPU has no %s", netinc_variant_name(variant));
	ktap_skip(reason);
	return true;
}

#endif
