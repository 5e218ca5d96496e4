/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * inc-coll: random collectives, every element of every result compared with what this program
 * computes itself.
 *
 * All that happens follows from a seed: plan.c derives the operation, which all ranks know,
 * number.c and block.c what every rank sends and how it is folded, expect.c what every rank must
 * get, layout.c where this rank has it in memory, run.c does it and compares, errors.c does what
 * must fail.
 */
#ifndef INC_COLL_H
#define INC_COLL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <inc.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define MAX_RANKS	64
#define MAX_ELEM	33	/* bytes */
#define MAX_FLIGHT	64
#define DRAWN		101

/* What was asked for. Sets are bits by number. */
struct config {
	struct inc_join_opts join;
	uint32_t seed, ops, max, flight, first, late;
	uint32_t zeros;		/* percent of the elements; DRAWN: of some operations */
	uint32_t colls, types, reductions;
	uint64_t counts[32];
	unsigned int ncounts;
	int quiet, errors;	/* set by getopt_long() */
	const char *tree;	/* NULL: one node */
	const char *until;	/* a file, or NULL */
	struct inc_group *inc;
	uint32_t block;		/* bytes of payload of a full block */
};

struct elem {
	uint8_t bytes[MAX_ELEM];
};

enum how { BLOCKING, REQUEST, PERSISTENT };

/* One operation, the same at all ranks. */
struct plan {
	uint32_t nr;
	uint64_t seed;		/* of its data and layouts */
	enum inc_coll coll;
	enum inc_type type, wire;	/* wire is never 0 */
	enum inc_op op;
	uint32_t mode, root, ranks;
	uint64_t count;
	uint64_t counts[MAX_RANKS][MAX_RANKS];	/* elements that rank i has for rank j */
	double weights[MAX_RANKS];
	unsigned int zeros;	/* percent of runs of elements that are 0 */
	uint64_t run;		/* elements of such a run */
	const char *tree;	/* in which order ranks are folded, see usage; NULL: in theirs */
	bool in_place;		/* at some ranks */
	enum how how;
	unsigned int starts;	/* of a persistent one */
};

/* One buffer between guards, and what both must look like in the end. */
struct region {
	uint8_t *mem, *image;	/* NULL: this rank has no such buffer */
	size_t size;		/* of both */
	uint8_t *data;		/* where the buffer begins in mem */
	unsigned int shares;
	uint64_t counts[MAX_RANKS];
	uint64_t displs[MAX_RANKS];	/* elements */
	bool spread;		/* libinc is told the displs */
};

/* An operation at this rank. It reads shares of one of its buffers, and writes shares likewise. */
struct slot {
	struct plan plan;
	struct region send, recv;
	struct region *from, *to;	/* NULL: none */
	unsigned int from_share, from_shares;
	unsigned int to_share, to_shares;
	bool in_place;
	struct inc_args args;
	struct inc_request req;
	unsigned int start;	/* which one of a persistent operation */
	bool busy;
};

/* number.c: arithmetic of one element */
bool exists(enum inc_type type, enum inc_op op);
bool is_float(enum inc_type type);
bool saturates(enum inc_type type);
uint64_t mix(uint64_t seed, uint64_t x);
void input(const struct plan *plan, unsigned int start, uint32_t from, uint32_t to, uint64_t i,
	   void *elem);
/*
 * Along the tree over the ranks; with @tree as that says, unless what its nodes fold are nodes of
 * the tree over the ranks.
 */
void fold(const struct plan *plan, const struct elem *elems, uint32_t n, const char *tree,
	  void *result);
void travel(const struct plan *plan, void *elem);

/* block.c: the same for blocks of values with one scale (MX) */
bool is_block(enum inc_type type);
size_t block_size(enum inc_type type);
void unpack_block(enum inc_type type, const uint8_t *block, float *x);
void pack_block(enum inc_type type, const float *x, uint8_t *block);
void input_block(enum inc_type type, uint64_t x, uint8_t *block);
void fold_blocks(const struct plan *plan, const struct elem *elems, uint32_t n, const char *tree,
		 uint8_t *result);

/* plan.c */
bool has_counts(enum inc_coll coll);
void make_plan(const struct config *cfg, uint32_t nr, struct plan *plan);
bool has_root(enum inc_coll coll);
bool reduces(enum inc_coll coll);

/* expect.c */
uint64_t expected_count(const struct plan *plan, uint32_t rank, uint32_t share);
bool expected(const struct plan *plan, unsigned int start, uint32_t rank, uint32_t share,
	      uint64_t i, void *elem);

/* layout.c */
void layout(struct slot *slot, uint32_t rank);
void layout_fill(struct slot *slot, uint32_t rank);
void layout_free(struct slot *slot);

/* run.c */
void run(const struct config *cfg);
void describe(const struct plan *plan, char *buf, size_t len);

/* errors.c */
void run_errors(const struct config *cfg);

#endif
