// SPDX-License-Identifier: GPL-2.0-only
/* The benchmark through libinc; the algorithm "bf16": elements travel as bf16. */
#include <err.h>
#include <string.h>

#include <inc.h>

#include "bench.h"

static struct inc_group *group;
static struct inc_request request;
static struct inc_args args = {
	.coll = INC_COLL_ALLREDUCE, .type = INC_TYPE_F32, .op = INC_OP_SUM,
};

static void join(struct bench_place *place)
{
	struct inc_join_opts opts = {
		.group = 1, .rank = place->rank, .size = place->size, .parent = place->parent,
		.timeout_ms = 60000,
	};

	if (place->algorithm && strcmp(place->algorithm, "bf16"))
		errx(2, "--algorithm %s: expected bf16", place->algorithm);
	if (place->algorithm)
		args.wire = INC_TYPE_BF16;
	if (inc_join(&group, &opts))
		errx(1, "%s", inc_errmsg(NULL));
}

static void allreduce(const float *send, float *recv, size_t count)
{
	args.send = send;
	args.recv = recv;
	args.count = count;
	if (inc_collective(group, &args))
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
