// SPDX-License-Identifier: GPL-2.0-only
/*
 * What must fail, with which error, which text, at which ranks; and that the group works after each
 * of them. One rank, the odd one, submits another operation than all others.
 */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll.h"

#define ELEMS		64	/* of any buffer here */
#define FILL		0x5a

static uint8_t from[ELEMS * MAX_ELEM * MAX_RANKS], to[ELEMS * MAX_ELEM * MAX_RANKS];
static unsigned int done;

static void check_untouched(const char *what)
{
	for (size_t i = 0; i < sizeof(to); i++)
		if (to[i] != FILL)
			errx(1, "%s: byte %zu of recv was overwritten", what, i);
}

/* All ranks get the sum of 1, 2 .. N. */
static void check_works(const struct config *cfg, const char *after)
{
	int32_t x[ELEMS], n = cfg->join.size;

	for (int i = 0; i < ELEMS; i++)
		x[i] = cfg->join.rank + 1;
	if (inc_allreduce(cfg->inc, INC_IN_PLACE, x, ELEMS, INC_TYPE_I32, INC_OP_SUM))
		errx(1, "rank %u: allreduce after %s: %s", cfg->join.rank, after,
		     inc_errmsg(cfg->inc));
	for (int i = 0; i < ELEMS; i++)
		if (x[i] != n * (n + 1) / 2)
			errx(1, "rank %u: allreduce after %s: element %d is %d", cfg->join.rank,
			     after, i, x[i]);
}

/* @text and @other, if not NULL, must be in what libinc says. */
static void expect_failure(const struct config *cfg, struct inc_args args, int error,
			   const char *text, const char *other)
{
	char what[256];
	int ret;

	memset(to, FILL, sizeof(to));
	args.send = args.send ?: from;
	args.recv = args.recv ?: to;
	snprintf(what, sizeof(what), "%s, expected \"%s\"", inc_coll_name(args.coll), text);
	ret = inc_collective(cfg->inc, &args);
	if (ret != error)
		errx(1, "rank %u: %s: returned %d, expected %d: %s", cfg->join.rank, what, ret,
		     error, ret ? inc_errmsg(cfg->inc) : "");
	if (!strstr(inc_errmsg(cfg->inc), text) || (other && !strstr(inc_errmsg(cfg->inc), other)))
		errx(1, "rank %u: %s and \"%s\": the text is \"%s\"", cfg->join.rank, what,
		     other ?: "", inc_errmsg(cfg->inc));
	done++;
}

/* ---- Refused at submission ----------------------------------------------- */

static void expect_refusal(const struct config *cfg, struct inc_args args, const char *text)
{
	args.count = ELEMS;
	expect_failure(cfg, args, -EOPNOTSUPP, text, NULL);
	check_untouched(text);
}

static void refuse_meaningless(const struct config *cfg)
{
	struct inc_args args;
	char text[64];

	for (unsigned int type = 1; type < __INC_TYPE_MAX; type++) {
		for (unsigned int op = 1; op < __INC_OP_MAX; op++) {
			if (exists(type, op))
				continue;
			snprintf(text, sizeof(text), "%s has no %s", inc_type_name(type),
				 inc_op_name(op));
			args = (struct inc_args){ .coll = INC_COLL_ALLREDUCE, .type = type,
						  .op = op };
			expect_refusal(cfg, args, text);
		}
	}
}

#define MOVE(c, t, ...)	{ .coll = INC_COLL_##c, .type = INC_TYPE_##t, __VA_ARGS__ }
#define FOLD(c, t, o, ...)	MOVE(c, t, .op = INC_OP_##o, __VA_ARGS__)

static void refuse_options(const struct config *cfg)
{
	static const struct {
		struct inc_args args;
		const char *text;
	} cases[] = {
		{ FOLD(SCAN, F32, AVG), "scan has no avg" },
		{ FOLD(EXSCAN, I32, AVG), "exscan has no avg" },
		{ FOLD(ALLREDUCE, I32, SUM, .wire = INC_TYPE_I16), "i32 does not travel as i16" },
		{ FOLD(ALLREDUCE, I32, SUM, .wire = INC_TYPE_F32), "i32 does not travel as f32" },
		{ FOLD(ALLREDUCE, F32, SUM, .wire = INC_TYPE_F64), "f32 does not travel as f64" },
		{ FOLD(ALLREDUCE, F64, SUM, .wire = INC_TYPE_F16), "f64 does not travel as f16" },
		{ FOLD(ALLREDUCE, C64, SUM, .wire = INC_TYPE_C32), "c64 does not travel as c32" },
		{ MOVE(ALLGATHER, BOOL, .wire = INC_TYPE_U8), "bool does not travel as u8" },
		{ FOLD(ALLREDUCE, F32, SUM, .wire = INC_TYPE_MXF8E4M3),
		  "f32 does not travel as mxf8e4m3" },
		{ FOLD(ALLREDUCE, MXI8, AVG, .wire = INC_TYPE_F32), "mxi8 does not travel as f32" },
		{ MOVE(BROADCAST, MXF4E2M1, .wire = INC_TYPE_MXI8),
		  "mxf4e2m1 does not travel as mxi8" },
		{ FOLD(SCAN, MXF8E5M2, AVG), "scan has no avg" },
		{ FOLD(ALLREDUCE, MXI8, SUM, .mode = INC_MODE_SATURATE), "saturating are only" },
		{ FOLD(ALLREDUCE, I32, SUM, .mode = INC_MODE_SATURATE), "saturating are only" },
		{ FOLD(ALLREDUCE, F16, SUM, .mode = INC_MODE_SATURATE), "saturating are only" },
		{ FOLD(ALLREDUCE, I8, MAX, .mode = INC_MODE_SATURATE), "saturating are only" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect_refusal(cfg, cases[i].args, cases[i].text);
}

/* ---- Ranks that disagree ------------------------------------------------- */

/* The counts of odd and other ranks where both are per-rank. */
static uint64_t counts[2][MAX_RANKS];

struct side {
	struct inc_args args;
	const char *text;
};

#define PER_RANK(n)	.mode = INC_MODE_COUNTS, .recv_counts = counts[n]

/* What all do, and what the odd one does instead. */
static const struct side sides[][2] = {
	{ { FOLD(ALLREDUCE, F32, SUM, .count = 50), "allreduce f32 sum 50" },
	  { FOLD(ALLREDUCE, F32, SUM, .count = 51), "allreduce f32 sum 51" } },
	{ { FOLD(ALLREDUCE, F32, SUM, .count = 50), "allreduce f32 sum 50" },
	  { FOLD(ALLREDUCE, F32, SUM, .count = 0), "allreduce f32 sum 0" } },
	{ { FOLD(ALLREDUCE, F32, SUM, .count = 50), "allreduce f32 sum 50" },
	  { FOLD(ALLREDUCE, I32, SUM, .count = 50), "allreduce i32 sum 50" } },
	{ { FOLD(ALLREDUCE, F32, SUM, .count = 50), "allreduce f32 sum 50" },
	  { FOLD(ALLREDUCE, F32, MAX, .count = 50), "allreduce f32 max 50" } },
	{ { FOLD(ALLREDUCE, F32, SUM, .count = 50), "allreduce f32 sum 50" },
	  { FOLD(ALLREDUCE, F32, SUM, .count = 50, .wire = INC_TYPE_BF16),
	    "allreduce f32 sum 50 as bf16" } },
	{ { FOLD(ALLREDUCE, F32, SUM, .count = 50), "allreduce f32 sum 50" },
	  { FOLD(SCAN, F32, SUM, .count = 50), "scan f32 sum 50" } },
	{ { FOLD(ALLREDUCE, F32, SUM, .count = 50), "allreduce f32 sum 50" },
	  { MOVE(BARRIER, NONE), "barrier" } },
	{ { MOVE(BARRIER, NONE), "barrier" },
	  { MOVE(BROADCAST, U8, .count = 9), "broadcast u8 9 root 0" } },
	{ { FOLD(ALLREDUCE, I8, SUM, .count = 9), "allreduce i8 sum 9" },
	  { FOLD(ALLREDUCE, I8, SUM, .count = 9, .mode = INC_MODE_SATURATE),
	    "allreduce i8 sum 9 saturating" } },
	{ { FOLD(REDUCE, F64, MIN, .count = 9), "reduce f64 min 9 root 0" },
	  { FOLD(REDUCE, F64, MIN, .count = 9, .root = 1), "reduce f64 min 9 root 1" } },
	{ { MOVE(BROADCAST, I16, .count = 9), "broadcast i16 9 root 0" },
	  { MOVE(BROADCAST, I16, .count = 9, .root = 1), "broadcast i16 9 root 1" } },
	{ { MOVE(ALLTOALL, C64, .count = 9), "alltoall c64 9" },
	  { MOVE(ALLTOALL, C64, .count = 10), "alltoall c64 10" } },
	{ { MOVE(ALLGATHER, I32, .count = 9), "allgather i32 9" },
	  { MOVE(ALLGATHER, I32, PER_RANK(0)), "allgather i32 per-rank counts" } },
	{ { MOVE(ALLGATHER, I32, PER_RANK(0)), "allgather i32 per-rank counts (hash" },
	  { MOVE(ALLGATHER, I32, PER_RANK(1)), "allgather i32 per-rank counts (hash" } },
	{ { FOLD(REDUCE_SCATTER, I32, SUM, PER_RANK(0)),
	    "reduce-scatter i32 sum per-rank counts (hash" },
	  { FOLD(REDUCE_SCATTER, I32, SUM, PER_RANK(1)),
	    "reduce-scatter i32 sum per-rank counts (hash" } },
};

static void expect_disagreement(const struct config *cfg, const struct side *two, uint32_t odd)
{
	char text[128];

	snprintf(text, sizeof(text), "rank %u: %s", odd, two[1].text);
	expect_failure(cfg, two[cfg->join.rank == odd].args, -EPROTO, text, two[0].text);
	check_works(cfg, text);
}

static void disagree_all(const struct config *cfg)
{
	for (uint32_t i = 0; i < cfg->join.size; i++)
		counts[0][i] = i;
	memcpy(counts[1], counts[0], sizeof(counts[1]));
	counts[1][0]++;
	for (size_t i = 0; i < ARRAY_SIZE(sides); i++)
		expect_disagreement(cfg, sides[i], (cfg->seed + i) % cfg->join.size);
}

/* ---- Counts that do not match -------------------------------------------- */

/* Rank @sender has one element more for rank @receiver than that expects. */
static void mismatch_counts(const struct config *cfg, enum inc_coll coll, uint32_t sender,
			    uint32_t receiver)
{
	uint64_t sent[MAX_RANKS], received[MAX_RANKS];
	struct inc_args args = {
		.coll = coll, .type = INC_TYPE_I32, .mode = INC_MODE_COUNTS, .count = 3,
		.send_counts = sent, .recv_counts = received,
	};
	uint32_t rank = cfg->join.rank;
	char text[128];

	for (uint32_t i = 0; i < cfg->join.size; i++) {
		sent[i] = 3;
		received[i] = 3;
	}
	if (rank == sender)
		sent[receiver]++;
	if (coll == INC_COLL_GATHER) {
		args.root = receiver;
		args.count += rank == sender;
		args.send_counts = NULL;
	} else if (coll == INC_COLL_SCATTER) {
		args.root = sender;
		args.recv_counts = NULL;
	}
	snprintf(text, sizeof(text), "rank %u sends rank %u another count", sender, receiver);
	expect_failure(cfg, args, -EMSGSIZE, text, NULL);
	check_works(cfg, text);
}

static void mismatch_all(const struct config *cfg)
{
	uint32_t last = cfg->join.size - 1;

	mismatch_counts(cfg, INC_COLL_GATHER, last, 0);
	mismatch_counts(cfg, INC_COLL_GATHER, 0, last);
	mismatch_counts(cfg, INC_COLL_SCATTER, 0, last);
	mismatch_counts(cfg, INC_COLL_SCATTER, last, 0);
	mismatch_counts(cfg, INC_COLL_ALLTOALL, 0, last);
	mismatch_counts(cfg, INC_COLL_ALLTOALL, last, 0);
}

void run_errors(const struct config *cfg)
{
	struct inc_info info;

	if (cfg->join.size < 2)
		errx(2, "--errors: expected two ranks at least");
	if (inc_info(cfg->inc, &info))
		errx(1, "%s", inc_errmsg(cfg->inc));
	/* one that fails ends a striped group */
	if (INC_STRIPE_COUNT(info.stripe) > 1)
		errx(2, "--errors: the group has %d stripes, expected one (INC_STRIPES=1)",
		     INC_STRIPE_COUNT(info.stripe));
	refuse_meaningless(cfg);
	refuse_options(cfg);
	check_works(cfg, "what was refused");
	disagree_all(cfg);
	mismatch_all(cfg);
	if (!cfg->quiet)
		printf("errors %u ok\n", done);
}
