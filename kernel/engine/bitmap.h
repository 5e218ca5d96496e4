/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sets of small numbers (children, blocks of a window), bit by bit in longs. No atomics: who has
 * the group has them.
 */
#ifndef NETINC_ENGINE_BITMAP_H
#define NETINC_ENGINE_BITMAP_H

#include "reduce/platform.h"

static inline u32 netinc_bits_longs(u32 bits)
{
	return DIV_ROUND_UP(bits, 8 * (u32)sizeof(long));
}

static inline bool netinc_bits_get(const unsigned long *map, u32 i)
{
	return map[i / (8 * sizeof(long))] >> (i % (8 * sizeof(long))) & 1;
}

static inline void netinc_bits_set(unsigned long *map, u32 i)
{
	map[i / (8 * sizeof(long))] |= 1UL << (i % (8 * sizeof(long)));
}

static inline void netinc_bits_clear(unsigned long *map, u32 i)
{
	map[i / (8 * sizeof(long))] &= ~(1UL << (i % (8 * sizeof(long))));
}

#endif
