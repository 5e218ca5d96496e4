// SPDX-License-Identifier: GPL-2.0-only
/* SipHash-2-4 (Aumasson, Bernstein: SipHash: a fast short-input PRF, 2012); the proof in JOIN. */
#include <arpa/inet.h>
#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "siphash.h"

static uint64_t rotate_left(uint64_t x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static void mix_rounds(uint64_t v[4], int rounds)
{
	while (rounds--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotate_left(v[1], 13) ^ v[0];
		v[3] = rotate_left(v[3], 16) ^ v[2];
		v[0] = rotate_left(v[0], 32) + v[3];
		v[2] += v[1];
		v[3] = rotate_left(v[3], 21) ^ v[0];
		v[1] = rotate_left(v[1], 17) ^ v[2];
		v[2] = rotate_left(v[2], 32);
	}
}

static uint64_t siphash_24(const unsigned char *data, size_t len, const uint64_t key[2])
{
	uint64_t v[4] = { key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d,
			  key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573 };
	uint64_t word, last = (uint64_t)len << 56;
	size_t i;

	for (i = 0; i + 8 <= len; i += 8) {
		memcpy(&word, data + i, sizeof(word));
		word = le64toh(word);
		v[3] ^= word;
		mix_rounds(v, 2);
		v[0] ^= word;
	}
	for (; i < len; i++)
		last |= (uint64_t)data[i] << 8 * (i % 8);
	v[3] ^= last;
	mix_rounds(v, 2);
	v[0] ^= last;
	v[2] ^= 0xff;
	mix_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void join_prove(struct inc_join *join, uint32_t group, uint32_t rank,
		const unsigned char key[INC_KEY_LEN])
{
	struct {
		uint32_t group, rank;
		unsigned char body[offsetof(struct inc_join, proof)];
	} m = { .group = htonl(group), .rank = htonl(rank) };
	uint64_t half[2], k[2];
	int i;

	memcpy(m.body, join, sizeof(m.body));
	memcpy(half, key, sizeof(half));
	k[0] = be64toh(half[0]);
	k[1] = be64toh(half[1]);
	for (i = 0; i < 2; i++) {
		join->proof[i] = htobe64(siphash_24((const unsigned char *)&m, sizeof(m), k));
		k[1] = ~k[1];
	}
}
