// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copying payload. Where results go has not been touched for long: with vectors that is twice as
 * fast as with what memcpy() does on many processors ("rep movsb"), and the section for them is
 * there anyway.
 */
#include "reduce/kernels.h"

/* sparse knows no vectors */
#if defined(__x86_64__) && !defined(__CHECKER__)

typedef u8 vec __attribute__((vector_size(32)));

static bool has_vectors;

static __always_inline __attribute__((target("avx2"))) vec load(const u8 *from)
{
	vec x;

	__builtin_memcpy(&x, from, sizeof(x));
	return x;
}

static __always_inline __attribute__((target("avx2"))) void store(u8 *to, vec x)
{
	__builtin_memcpy(to, &x, sizeof(x));
}

static __attribute__((target("avx2"))) unsigned int copy_vectors(u8 *dst, const u8 *src,
								 unsigned int len)
{
	const unsigned int size = sizeof(vec);
	unsigned int at;

	if (len < size)
		return 0;
	for (at = 0; at + 4 * size <= len; at += 4 * size) {
		vec a = load(src + at), b = load(src + at + size);
		vec c = load(src + at + 2 * size), d = load(src + at + 3 * size);

		store(dst + at, a);
		store(dst + at + size, b);
		store(dst + at + 2 * size, c);
		store(dst + at + 3 * size, d);
	}
	for (; at + size <= len; at += size)
		store(dst + at, load(src + at));
	/* the rest, with some of what lies before it once more */
	if (at < len)
		store(dst + len - size, load(src + len - size));
	return len;
}

void netinc_copy_init(unsigned int features)
{
	has_vectors = features & NETINC_CPU_AVX2;
}

void netinc_copy(void *dst, const void *src, unsigned int len, bool fpu)
{
	unsigned int done = fpu && has_vectors ? copy_vectors(dst, src, len) : 0;

	if (done < len)
		memcpy(dst + done, src + done, len - done);
}

#else

void netinc_copy_init(unsigned int features)
{
	(void)features;
}

void netinc_copy(void *dst, const void *src, unsigned int len, bool fpu)
{
	(void)fpu;
	memcpy(dst, src, len);
}

#endif
