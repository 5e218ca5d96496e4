// SPDX-License-Identifier: GPL-2.0-only
/*
 * The benchmark through libinc; the algorithm "bf16": elements travel as bf16; "registered": the
 * buffers are registered when they are first seen; "prepared": so is the operation. "pieces":
 * PIECES operations, each on its part of the buffers, one after the other; "batch": all of them at
 * once.
 */
#include <err.h>
#include <stdbool.h>
#include <string.h>

#include <inc.h>

#include "bench.h"

#define PIECES	64

static struct inc_group *group;
static struct inc_request piece[PIECES], *pieces[PIECES];
static struct inc_request request;
static struct inc_args args = {
	.coll = INC_COLL_ALLREDUCE, .type = INC_TYPE_F32, .op = INC_OP_SUM,
};

/* What is done with buffers that have not been seen before; NULL: nothing. */
static void (*remember)(void);

static bool is_algorithm(const struct bench_place *place, const char *name)
{
	return place->algorithm && !strcmp(place->algorithm, name);
}

static void register_both(void)
{
	static uint32_t ids[2];

	for (int i = 0; i < 2; i++)
		if (ids[i] && inc_unregister(group, ids[i]))
			errx(1, "%s", inc_errmsg(group));
	if (inc_register(group, args.send, args.count * sizeof(float), 0, &ids[0]) ||
	    inc_register(group, args.recv, args.count * sizeof(float), INC_REGISTER_WRITE, &ids[1]))
		errx(1, "%s", inc_errmsg(group));
}

static void prepare_it(void)
{
	if (request.prepared)
		inc_release(&request);
	if (inc_prepare(group, &args, &request))
		errx(1, "%s", inc_errmsg(group));
}

/* Of operation @i. */
static struct inc_args piece_args(size_t i)
{
	struct inc_args a = args;

	a.count = args.count / PIECES;
	a.send = (const float *)args.send + i * a.count;
	a.recv = (float *)args.recv + i * a.count;
	return a;
}

static void prepare_pieces(void)
{
	if (args.count % PIECES)
		errx(2, "%zu elements: expected a multiple of %d", (size_t)args.count, PIECES);
	for (size_t i = 0; i < PIECES; i++) {
		struct inc_args a = piece_args(i);

		if (piece[i].prepared)
			inc_release(&piece[i]);
		if (inc_prepare(group, &a, &piece[i]))
			errx(1, "%s", inc_errmsg(group));
		pieces[i] = &piece[i];
	}
}

static void one_by_one(void)
{
	for (size_t i = 0; i < PIECES; i++) {
		struct inc_args a = piece_args(i);

		if (inc_collective(group, &a))
			errx(1, "%s", inc_errmsg(group));
	}
}

static void in_a_batch(void)
{
	if (inc_start_many(pieces, PIECES, NULL) || inc_wait_all(pieces, PIECES, -1))
		errx(1, "%s", inc_errmsg(group));
}

/* What an allreduce is; NULL: one operation. */
static void (*all_pieces)(void);

static void see_buffers(const float *send, float *recv, size_t count)
{
	if (args.send == send && args.recv == recv && args.count == count)
		return;
	args.send = send;
	args.recv = recv;
	args.count = count;
	if (remember)
		remember();
}

static void join(struct bench_place *place)
{
	struct inc_join_opts opts = {
		.group = 1, .rank = place->rank, .size = place->size, .parent = place->parent,
		.timeout_ms = 60000,
	};

	if (is_algorithm(place, "bf16"))
		args.wire = INC_TYPE_BF16;
	else if (is_algorithm(place, "registered"))
		remember = register_both;
	else if (is_algorithm(place, "prepared"))
		remember = prepare_it;
	else if (is_algorithm(place, "pieces"))
		all_pieces = one_by_one;
	else if (is_algorithm(place, "batch"))
		all_pieces = in_a_batch;
	else if (place->algorithm)
		errx(2, "--algorithm %s: expected bf16, registered, prepared, pieces or batch",
		     place->algorithm);
	if (all_pieces)
		remember = prepare_pieces;
	if (inc_join(&group, &opts))
		errx(1, "%s", inc_errmsg(NULL));
}

static void allreduce(const float *send, float *recv, size_t count)
{
	see_buffers(send, recv, count);
	if (all_pieces) {
		all_pieces();
		return;
	}
	if (remember == prepare_it ? inc_start(&request) || inc_wait(&request, -1) :
				     inc_collective(group, &args))
		errx(1, "%s", inc_errmsg(group));
}

static void barrier(void)
{
	if (inc_barrier(group))
		errx(1, "%s", inc_errmsg(group));
}

static void begin(const float *send, float *recv, size_t count)
{
	if (inc_iallreduce(group, send, recv, count, INC_TYPE_F32, INC_OP_SUM, &request))
		errx(1, "%s", inc_errmsg(group));
}

static void end(void)
{
	if (inc_wait(&request, -1))
		errx(1, "%s", inc_errmsg(group));
}

static void stop(void)
{
	if (inc_leave(group))
		errx(1, "%s", inc_errmsg(group));
}

const struct bench_library library = { "inc", NULL, join, allreduce, barrier, begin, end, stop };
