/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the benchmark's programs share: every one of them is one rank of a job that does allreduces
 * or barriers through one library, and differs from the others in the library only. bench.c is the
 * rest: arguments, data, times, checks.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where this rank is; --rank, --size, --dir and --parent say so where the library does not. */
struct bench_place {
	int rank, size;
	const char *algorithm;	/* --algorithm, the library's own words; NULL: its default */
	const char *dir;	/* a directory that all ranks share, for those that meet in files */
	const char *parent;	/* an address: the node, or the server */
	const char *device;	/* the network device to use */
};

/* Each returns after the operation has ended at this rank; an error ends the program. */
struct bench_library {
	const char *name;
	/* before arguments are parsed, and after that; each or NULL */
	void (*start)(struct bench_place *place, int *argc, char ***argv);
	void (*join)(struct bench_place *place);
	void (*allreduce)(const float *send, float *recv, size_t count);	/* sum */
	void (*barrier)(void);
	/* an allreduce that goes on by itself, and until it has ended; or NULL */
	void (*begin)(const float *send, float *recv, size_t count);
	void (*end)(void);
	void (*stop)(void);
};

extern const struct bench_library library;

#ifdef __cplusplus
}
#endif
#endif
