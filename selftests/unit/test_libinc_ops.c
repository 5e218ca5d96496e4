// SPDX-License-Identifier: GPL-2.0-only
/* How libinc's requests begin and end: limits, signals, partial results. */
#define _GNU_SOURCE
#include "libinc_env.h"

static void test_requests(void)
{
	struct inc_request req = { .handle = 0 };
	const struct inc_args args = {
		.coll = INC_COLL_ALLREDUCE, .type = INC_TYPE_F32, .op = INC_OP_SUM, .count = 2,
		.send = from, .recv = to,
	};

	reset();
	expect(!inc_wait(&req, 0) && !inc_test(&req), "a request that was never used");
	expect(!inc_icollective(&group, &args, &req) && req.handle, "%s", inc_errmsg(&group));
	kernel.busy = 1;
	expect(inc_test(&req) == -EAGAIN && inc_wait(&req, 5) == -ETIMEDOUT && req.handle,
	       "it has ended");
	expect(strstr(inc_errmsg(&group), "within 5 ms, waiting for rank 2"), "%s",
	       inc_errmsg(&group));
	kernel.busy = 0;
	kernel.interrupted = 3;
	expect(!inc_wait(&req, -1) && !req.handle, "EINTR was an end");
	expect(inc_start(&req) == -EINVAL, "a request that was not prepared was started");
	kernel.interrupted = 1;
	expect(!inc_collective(&group, &args) && kernel.submits == 2,
	       "EINTR after the submit: %d submits", kernel.submits);
	kernel.interrupted = 1;
	kernel.done.handle = 3;
	expect(!inc_collective_for(&group, &args, &req, 5) && !req.handle && req.ended == 3 &&
	       kernel.submits == 3, "EINTR was an end, or submitted twice");
	kernel.timeouts = 2;
	expect(inc_collective_for(&group, &args, &req, 5) == -ETIMEDOUT && req.handle,
	       "it has ended within its time");
	expect(inc_wait(&req, 5) == -ETIMEDOUT && !inc_wait(&req, 5) && !req.handle &&
	       kernel.submits == 4, "what has taken longer has no end");
	kernel.fail = ENOTCONN;
	expect(inc_collective_for(&group, &args, &req, 5) == -ENOTCONN && !req.handle && !req.ended,
	       "what was not submitted has ended");
	kernel.timeouts = 0;
	kernel.done.result = -EPROTO;
	kernel.done.error =
		(struct inc_error_info){ .code = INC_ERR_COUNTS, .opseq = 3, .rank = { 1, 2 } };
	expect(inc_collective(&group, &args) == -EPROTO, "the completion's result is lost");
	expect(strstr(inc_errmsg(&group), "allreduce f32 sum 2: operation 3: rank 1 sends rank 2"),
	       "%s", inc_errmsg(&group));
	expect(!inc_prepare(&group, &args, &req) && !inc_start(&req) && inc_test(&req) == -EPROTO &&
	       inc_wait(&req, 0) == -EPROTO, "the result of a request changes");
	kernel.done.result = 0;
	expect(!inc_start(&req) && !inc_wait(&req, 0),
	       "a request that failed cannot be started again");
}

/* A blocking operation that takes longer than its group's limit ends, and the group with it. */
static void test_timeout(void)
{
	const struct inc_args args = { .coll = INC_COLL_ALLREDUCE, .type = INC_TYPE_F32,
				       .op = INC_OP_SUM, .count = 2, .send = from, .recv = to };

	reset();
	expect(inc_set_timeout(&group, -1) == -EINVAL, "a negative limit");
	kernel.timeouts = 1;
	expect(!inc_collective(&group, &args) && kernel.timeouts == 1, "without a limit");
	expect(!inc_set_timeout(&group, 50), "a limit");
	kernel.done.result = -ECONNRESET;
	kernel.done.error =
		(struct inc_error_info){ .code = INC_ERR_RANK_ABORT, .rank = { RANK, ~0u } };
	expect(inc_collective(&group, &args) == -ETIMEDOUT && kernel.cancels == 1, "%d cancels",
	       kernel.cancels);
	expect(strstr(inc_errmsg(&group), "within 50 ms, waiting for rank 2: the group has"), "%s",
	       inc_errmsg(&group));
	/* the result has come just before the end of the group */
	kernel.done = (struct inc_completion){ .result = 0 };
	kernel.timeouts = 1;
	expect(!inc_collective(&group, &args) && kernel.cancels == 2, "%s", inc_errmsg(&group));
	/* a signal, and the limit after it */
	kernel.interrupted = 1;
	kernel.timeouts = 1;
	expect(!inc_collective(&group, &args) && kernel.cancels == 3, "%s", inc_errmsg(&group));
	expect(!inc_set_timeout(&group, 0), "no limit");
}

/* What is left of a limit when a signal has come is waited for, and no more. */
static void test_timeout_after_signals(void)
{
	const struct inc_args args = { .coll = INC_COLL_BARRIER };
	struct inc_request req, other, *both[] = { &req, &other };

	reset();
	kernel.lasted = 150;
	kernel.interrupted = 2;
	kernel.timeouts = 1;
	expect(inc_collective_for(&group, &args, &req, 400) == -ETIMEDOUT && req.handle, "%s",
	       inc_errmsg(&group));
	expect(kernel.limit == 100, "%d ms more", (int)kernel.limit);
	expect(!strcmp(inc_errmsg(&group),
		       "operation 1 has not ended within 400 ms, waiting for rank 2"), "%s",
	       inc_errmsg(&group));
	kernel.interrupted = 1;
	kernel.timeouts = 1;
	expect(inc_wait(&req, 400) == -ETIMEDOUT && kernel.limit == 250, "%d ms more",
	       (int)kernel.limit);
	expect(!inc_wait(&req, -1) && !req.handle, "%s", inc_errmsg(&group));
	kernel.interrupted = 1;
	expect(!inc_collective_for(&group, &args, &req, -1) && kernel.limit == -1, "%s",
	       inc_errmsg(&group));
	expect(!inc_ibarrier(&group, &req) && !inc_ibarrier(&group, &other), "%s",
	       inc_errmsg(&group));
	kernel.interrupted = 2;
	kernel.late = other.handle;
	expect(inc_wait_all(both, 2, 400) == -ETIMEDOUT && kernel.limit == 100 &&
	       strstr(inc_errmsg(&group), "within 400 ms"), "%d ms more: %s", (int)kernel.limit,
	       inc_errmsg(&group));
	expect(!inc_wait_all(both, 2, -1), "%s", inc_errmsg(&group));
}

static void no_timeout(const char *what, int ret)
{
	const char *text = "timeout -2: expected milliseconds, or -1 for no limit";

	expect(ret == -EINVAL && !strcmp(inc_errmsg(&group), text) && !kernel.submits &&
	       !kernel.waits, "%s: %d, %d operations, %d waits, \"%s\"", what, ret, kernel.submits,
	       kernel.waits, inc_errmsg(&group));
	inc_fail(&group, 0, "%s", "");
}

/* What is no limit, nor for ever, is refused, and nothing has begun or ended. */
static void test_bad_timeout(void)
{
	const struct inc_args args = { .coll = INC_COLL_BARRIER };
	struct inc_request req, new, *reqs[] = { NULL, &req };
	size_t which;

	reset();
	expect(!inc_icollective(&group, &args, &req), "%s", inc_errmsg(&group));
	kernel.submits = 0;
	kernel.waits = 0;
	no_timeout("inc_wait", inc_wait(&req, -2));
	no_timeout("inc_wait_any", inc_wait_any(reqs, 2, -2, &which));
	expect(which == 2, "index %zu", which);
	no_timeout("inc_wait_all", inc_wait_all(reqs, 2, -2));
	no_timeout("inc_collective_for", inc_collective_for(&group, &args, &new, -2));
	expect(!new.handle && inc_test(&new) == -EINVAL, "a request that has not begun");
	expect(req.handle && !inc_wait_all(reqs, 2, -1) && !req.handle, "it has ended");
	expect(inc_wait(&req, -2) == -EINVAL && inc_wait_any(reqs, 0, -2, &which) == -EINVAL &&
	       strstr(inc_errmsg(NULL), "timeout -2: expected"), "%s", inc_errmsg(NULL));
}

static int contributors(const struct inc_request *req, uint32_t ranks[INC_MAX_RANKS / 32])
{
	return inc_contributed(&group, req, ranks, INC_MAX_RANKS / 32);
}

/* A result that is not of all ranks: how many are missing, in words too, and who is not. */
static void test_partial(void)
{
	const struct inc_args args = { .coll = INC_COLL_ALLREDUCE, .type = INC_TYPE_F32,
				       .op = INC_OP_SUM, .count = 2, .send = from, .recv = to };
	uint32_t ranks[INC_MAX_RANKS / 32];
	struct inc_request req;

	reset();
	expect(contributors(NULL, ranks) == -ENOENT, "nothing has been partial");
	expect(!strcmp(inc_errmsg(&group), "contributed: no operation of the group was partial"),
	       "%s", inc_errmsg(&group));
	expect(!inc_icollective(&group, &args, &req) &&
	       contributors(&req, ranks) == -EINVAL,
	       "not ended");
	expect(!inc_wait(&req, -1) && !contributors(&req, ranks) && ranks[0] == 7 &&
	       !ranks[1],
	       "all of %u: %#x", SIZE, ranks[0]);
	kernel.done.missing = 1;
	kernel.done.handle = 2;
	kernel.partial = 2;
	expect(inc_collective(&group, &args) == 1, "the result is of all");
	expect(strstr(inc_errmsg(&group), "allreduce f32 sum 2: the result lacks 1 late rank: 1"),
	       "%s", inc_errmsg(&group));
	expect(contributors(NULL, ranks) == 1 && ranks[0] == 5, "ranks %#x", ranks[0]);
	ranks[0] = 99;
	expect(inc_contributed(&group, NULL, ranks, 0) == 1 && ranks[0] == 99, "no room is left alone");
	kernel.done.handle = 3;
	kernel.partial = 3;
	expect(!inc_icollective(&group, &args, &req) && inc_wait(&req, -1) == 1 &&
	       inc_test(&req) == 1,
	       "a request");
	expect(contributors(&req, ranks) == 1 && ranks[0] == 5, "ranks %#x", ranks[0]);
	kernel.partial = 4;
	expect(contributors(&req, ranks) == -ENOENT, "too long ago");
	expect(!strcmp(inc_errmsg(&group),
		       "contributed: operation 3 is not among the last 16 that were partial"),
	       "%s", inc_errmsg(&group));
}

#define MANY	70

static struct inc_request many[MANY], *all[MANY];

static void prepare_many(void)
{
	const struct inc_args args = { .coll = INC_COLL_ALLREDUCE, .type = INC_TYPE_F32,
				       .op = INC_OP_SUM, .count = 2, .send = from, .recv = to };

	reset();
	kernel.no_reg = ENOMEM;
	for (int i = 0; i < MANY; i++) {
		all[i] = &many[i];
		expect(!inc_prepare(&group, &args, all[i]), "%s", inc_errmsg(&group));
	}
}

/* Handles are those of the first @n, none of the others has one. */
static void begun(size_t n)
{
	for (size_t i = 0; i < MANY; i++)
		expect(!many[i].handle == (i >= n), "%zu of %zu: handle %llu", i, n,
		       (unsigned long long)many[i].handle);
}

/* Several in one system call: all of them, and what is waited for after what took its time. */
static void test_many(void)
{
	size_t started = 0;

	prepare_many();
	expect(!inc_start_many(all, MANY, &started) && started == MANY, "%zu", started);
	begun(MANY);
	expect(kernel.manys == 2 && kernel.submits == MANY, "%d calls, %d operations",
	       kernel.manys, kernel.submits);
	kernel.busy = 11;
	expect(inc_wait_all(all, MANY, 5) == -ETIMEDOUT && kernel.limit == 5, "%s",
	       inc_errmsg(&group));
	for (int i = 0; i < MANY; i++)
		expect(!many[i].handle == (i < 10), "operation %d has a handle", i);
	kernel.busy = 0;
	kernel.interrupted = 1;
	kernel.manys = 0;
	kernel.waits = 0;
	expect(!inc_wait_all(all, MANY, -1), "%s", inc_errmsg(&group));
	begun(0);
	/* the one that a signal came before by itself, then 59 in one call */
	expect(kernel.manys == 2 && kernel.waits == 1, "%d calls, %d by itself", kernel.manys,
	       kernel.waits);
	expect(!inc_start_many(NULL, 0, NULL) && inc_start_many(NULL, 1, NULL) == -EINVAL,
	       "no requests");
}

/* Not all are taken: how many, and why the first of the others was not. */
static void test_many_refused(void)
{
	size_t started = 0;

	prepare_many();
	kernel.most = 3;
	kernel.fail = EAGAIN;
	expect(inc_start_many(all, MANY, &started) == -EAGAIN && started == 3, "%zu: %s", started,
	       inc_errmsg(&group));
	begun(3);
	expect(kernel.submits == 3 && many[3].result == -EAGAIN && !many[4].result,
	       "%d operations, %d, %d", kernel.submits, many[3].result, many[4].result);
	/* one of them twice, and one that is under way */
	kernel.most = 0;
	all[5] = all[4];
	expect(inc_start_many(all + 3, 3, &started) == -EBUSY && started == 2, "%zu: %s", started,
	       inc_errmsg(&group));
	begun(5);
	/* a kernel that has no such call */
	prepare_many();
	kernel.most = -1;
	all[2] = NULL;
	expect(inc_start_many(all, 3, &started) == -EINVAL && started == 2 && kernel.submits == 2,
	       "%zu started, %d submits", started, kernel.submits);
	begun(2);
}

static const struct ktap_test tests[] = {
	KTAP(test_requests), KTAP(test_timeout), KTAP(test_timeout_after_signals),
	KTAP(test_bad_timeout), KTAP(test_partial), KTAP(test_many), KTAP(test_many_refused),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
