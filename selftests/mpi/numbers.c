// SPDX-License-Identifier: GPL-2.0-only
/* Random numbers: all ranks draw the same. */
#include "mpi-coll.h"

uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

uint64_t drawn;

/* 0 .. n - 1, the same at all ranks. */
unsigned int draw(unsigned int n)
{
	return (unsigned int)(mix(seed ^ mix(++drawn)) % n);
}

unsigned int draw_at(uint64_t key, uint64_t a, uint64_t b, unsigned int n)
{
	return (unsigned int)(mix(key ^ mix(a ^ mix(b + 17))) % n);
}
