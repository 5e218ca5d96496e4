/* SPDX-License-Identifier: GPL-2.0-only */
/* The fuzzer's input as a stream of decisions; after its end all are 0. */
#ifndef INC_FUZZ_READER_H
#define INC_FUZZ_READER_H

#include "engine/engine.h"

struct reader {
	const u8 *data;
	size_t left;
};

static inline u8 read_u8(struct reader *r)
{
	if (!r->left)
		return 0;
	r->left--;
	return *r->data++;
}

static inline u16 read_u16(struct reader *r)
{
	u16 low = read_u8(r);

	return low | (u16)(read_u8(r) << 8);
}

static inline u32 read_u32(struct reader *r)
{
	u32 low = read_u16(r);

	return low | (u32)read_u16(r) << 16;
}

static inline u64 read_u64(struct reader *r)
{
	u64 low = read_u32(r);

	return low | (u64)read_u32(r) << 32;
}

static inline void read_bytes(struct reader *r, void *to, size_t n)
{
	u8 *p = to;

	while (n--)
		*p++ = read_u8(r);
}

/* Flips some bytes of a good body: as many as the input says, anywhere in it. */
static inline void read_damage(struct reader *r, void *body, size_t n)
{
	u8 *p = body;
	u32 i;

	for (i = read_u8(r) % 4; i && n; i--) {
		u16 at = read_u16(r);

		p[at % n] ^= read_u8(r);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#endif
