// SPDX-License-Identifier: GPL-2.0-only
/*
 * The benchmark through libinc; the algorithm "bf16": elements travel as bf16; "registered": the
 * buffers are registered when they are first seen; "prepared": so is the operation.
 */
#include <err.h>
#include <stdbool.h>
#include <string.h>

#include <inc.h>

#include "bench.h"

static struct inc_group *group;
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
	else if (place->algorithm)
		errx(2, "--algorithm %s: expected bf16, registered or prepared", place->algorithm);
	if (inc_join(&group, &opts))
		errx(1, "%s", inc_errmsg(NULL));
}

static void allreduce(const float *send, float *recv, size_t count)
{
	see_buffers(send, recv, count);
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
