/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SipHash-2-4 (Aumasson, Bernstein: SipHash: a fast short-input PRF, 2012) for programs that run
 * the engine outside the kernel. To be included by one file of a program: it defines
 * netinc_siphash(). test_siphash.c has the vectors.
 */
#ifndef INC_SIPHASH_H
#define INC_SIPHASH_H

#include "engine/engine.h"

static u64 siphash_rotl(u64 x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static void siphash_rounds(u64 v[4], int rounds)
{
	while (rounds--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = siphash_rotl(v[1], 13) ^ v[0];
		v[3] = siphash_rotl(v[3], 16) ^ v[2];
		v[0] = siphash_rotl(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = siphash_rotl(v[1], 17) ^ v[2];
		v[3] = siphash_rotl(v[3], 21) ^ v[0];
		v[2] = siphash_rotl(v[2], 32);
	}
}

static void siphash_word(u64 v[4], u64 m)
{
	v[3] ^= m;
	siphash_rounds(v, 2);
	v[0] ^= m;
}

u64 netinc_siphash(const void *data, size_t len, const u64 key[2])
{
	u64 v[4] = { key[0] ^ 0x736f6d6570736575ull, key[1] ^ 0x646f72616e646f6dull,
		     key[0] ^ 0x6c7967656e657261ull, key[1] ^ 0x7465646279746573ull };
	const u8 *p = data;
	u64 last = (u64)len << 56;
	size_t i;

	for (; len >= 8; len -= 8, p += 8) {
		__le64 m;

		memcpy(&m, p, sizeof(m));
		siphash_word(v, le64_to_cpu(m));
	}
	for (i = 0; i < len; i++)
		last |= (u64)p[i] << (8 * i);
	siphash_word(v, last);
	v[2] ^= 0xff;
	siphash_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif
