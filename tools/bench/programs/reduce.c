// SPDX-License-Identifier: GPL-2.0-only
/*
 * How fast reduction kernels read, beside how fast this core reads at all. tools/bench/reduce
 * builds and runs it.
 *
 *	bench-reduce BYTES SOURCES PIECE REPETITIONS MILLISECONDS [NAME...]
 *
 * BYTES of sources are walked round and round in pieces of PIECE bytes of each of them, as a node
 * folds super-packets; each repetition lasts MILLISECONDS. Prints a line a kernel, "NAME GB/S...",
 * one figure a repetition, and one for "read", a plain sum of the same bytes, before, between and
 * after them. NAME: beginnings of names of kernels.
 */
#include "reduce/reduce.h"

#include <time.h>

#define GIGA	1000000000.0

#define MAX_SOURCES	NETINC_MAX_SOURCES

static struct {
	size_t bytes, piece;
	unsigned int sources, repetitions;
	double seconds;
} want;

static u8 *data[MAX_SOURCES], *result;
static unsigned long long sink;

/* Of this thread: what else the machine does costs it caches and bandwidth, but not turns. */
static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / GIGA;
}

static void *allocate(size_t size)
{
	void *p = aligned_alloc(1 << 21, round_up(size, (size_t)1 << 21));

	if (!p) {
		fprintf(stderr, "bench-reduce: no memory for %zu bytes\n", size);
		exit(1);
	}
	memset(p, 0, size);
	return p;
}

/* Bits of the fraction and the exponent of 1 of a float's parts, 0 for the others. */
static const struct shape {
	u8 type, bits, mant;
	u64 one;
} shapes[] = {
	{ INC_TYPE_F16, 16, 10, 0x3c00 }, { INC_TYPE_BF16, 16, 7, 0x3f80 },
	{ INC_TYPE_F32, 32, 23, 0x3f800000 }, { INC_TYPE_F64, 64, 52, 0x3ff0000000000000 },
	{ INC_TYPE_F8E4M3, 8, 3, 0x38 }, { INC_TYPE_F8E5M2, 8, 2, 0x3c },
	{ INC_TYPE_MXF8E4M3, 8, 3, 0x38 }, { INC_TYPE_MXF8E5M2, 8, 2, 0x3c },
	{ INC_TYPE_MXF4E2M1, 8, 3, 0x38 }, { INC_TYPE_MXI8, 8, 3, 0x38 },
	{ INC_TYPE_C32, 32, 23, 0x3f800000 }, { INC_TYPE_C64, 64, 52, 0x3ff0000000000000 },
	{ INC_TYPE_F32_I32, 32, 23, 0x3f800000 }, { INC_TYPE_F64_I64, 64, 52, 0x3ff0000000000000 },
};

/* Any integers; floats from 1 to 2 with either sign: ordinary ones. */
static void fill(u8 type)
{
	static u8 pattern[1 << 16];
	const struct shape *s = NULL;
	unsigned int i, b;
	size_t at;
	u64 x;

	for (i = 0; i < ARRAY_SIZE(shapes); i++)
		if (shapes[i].type == type)
			s = &shapes[i];
	for (i = 0; i < sizeof(pattern); i += s ? s->bits / 8 : 1) {
		x = (u64)random() << 33 ^ (u64)random() << 11 ^ random();
		if (s)
			x = (x >> 63) << (s->bits - 1) | s->one | (x & ((1ull << s->mant) - 1));
		for (b = 0; b < (s ? s->bits / 8u : 1); b++)
			pattern[i + b] = x >> 8 * b;
	}
	for (i = 0; i < want.sources; i++)
		for (at = 0; at < want.bytes / want.sources; at += sizeof(pattern))
			memcpy(data[i] + at, pattern,
			       min(sizeof(pattern), want.bytes / want.sources - at));
}

typedef u64 vec __attribute__((vector_size(64)));

__attribute__((target_clones("avx512f", "avx2", "default")))
static void read_piece(const u8 *p, size_t len)
{
	vec acc[8] = { };
	size_t i, k;

	for (i = 0; i + sizeof(acc) <= len; i += sizeof(acc))
#pragma GCC unroll 8
		for (k = 0; k < 8; k++)
			acc[k] += *(const vec *)(p + i + k * sizeof(vec));
	for (k = 0; k < 8; k++)
		for (i = 0; i < 8; i++)
			sink += acc[k][i];
}

/* One source after the other: what a core reads at best. */
static double measure_read(void)
{
	size_t each = want.bytes / want.sources, bytes = 0;
	double begin = now(), end;
	unsigned int s;

	do {
		for (s = 0; s < want.sources; s++)
			read_piece(data[s], each);
		bytes += each * want.sources;
		end = now();
	} while (end - begin < want.seconds);
	return bytes / (end - begin) / GIGA;
}

static double measure(const struct netinc_reduce *r)
{
	const struct netinc_fold_args args = { .ranks = want.sources };
	size_t each = want.bytes / want.sources, bytes = 0;
	/* goes on where the last one was: nothing of it is in a cache that is too small */
	static size_t at;
	const void *src[MAX_SOURCES];
	double begin = now(), end;
	unsigned int s;

	do {
		if (at + want.piece > each)
			at = 0;
		for (s = 0; s < want.sources; s++)
			src[s] = data[s] + at;
		r->fold(result + at, src, want.sources, want.piece / r->elem_size, &args);
		at += want.piece;
		bytes += want.piece * want.sources;
		end = now();
	} while (end - begin < want.seconds);
	return bytes / (end - begin) / GIGA;
}

static void report(const char *name, const struct netinc_reduce *r)
{
	unsigned int i;

	/* The first one is for caches and clocks. */
	(void)(r ? measure(r) : measure_read());
	printf("%s", name);
	for (i = 0; i < want.repetitions; i++)
		printf(" %.3f", r ? measure(r) : measure_read());
	printf("\n");
	fflush(stdout);
}

static bool wanted(const struct netinc_reduce *r, char **names, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (r && !strncmp(r->name, names[i], strlen(names[i])))
			return true;
	return r && !n;
}

static void bench_type(u8 type, char **names, int n)
{
	const struct netinc_reduce *r;
	unsigned int op, mode, v;
	bool filled = false;

	for (op = 1; op < __INC_OP_MAX; op++)
		for (mode = 0; mode <= INC_MODE_SATURATE; mode++)
			for (v = 0; v < NETINC_VARIANT_COUNT; v++) {
				r = netinc_reduce_variant(type, op, mode, v);
				if (!wanted(r, names, n))
					continue;
				if (!filled) {
					fill(type);
					report("read", NULL);
				}
				filled = true;
				report(r->name, r);
			}
}

int main(int argc, char **argv)
{
	unsigned int i;

	if (argc < 6) {
		fprintf(stderr,
			"usage: bench-reduce BYTES SOURCES PIECE REPETITIONS MILLISECONDS [NAME...]\n");
		return 2;
	}
	want.sources = atoi(argv[2]);
	want.bytes = strtoull(argv[1], NULL, 0);
	want.piece = strtoull(argv[3], NULL, 0);
	want.repetitions = atoi(argv[4]);
	want.seconds = atoi(argv[5]) / 1000.0;
	if (!want.sources || want.sources > MAX_SOURCES || !want.piece ||
	    want.piece > want.bytes / want.sources) {
		fprintf(stderr, "bench-reduce: expected 1 to %u sources of at least a piece\n",
			MAX_SOURCES);
		return 2;
	}
	netinc_reduce_init(netinc_cpu_features());
	for (i = 0; i < want.sources; i++)
		data[i] = allocate(want.bytes / want.sources);
	result = allocate(want.bytes / want.sources);
	for (i = 1; i < __INC_TYPE_MAX; i++)
		bench_type(i, argv + 6, argc - 6);
	report("read", NULL);
	return sink == 1;
}
