// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations of libinc-mpi that a limit keeps from beginning: they are tried again until others
 * have ended, and the communicator fails only if that does not help.
 */
#define _GNU_SOURCE
#include <stdarg.h>

#include "../../userspace/mpi/names.c"
#include "../../userspace/mpi/pair.c"
#include "../../userspace/mpi/stage.c"
#include "../../userspace/mpi/op.c"
#include "ktap.h"

static unsigned int nr_held, room, nr_tries, nr_progress;
static int full_error;
static struct incmpi_op *first_op;
static bool is_broken;
static char told_text[INCMPI_TEXT_LEN], told_end[INCMPI_TEXT_LEN];
static uint64_t told_send[2], told_recv[2];	/* counts of the last alltoall */

/* ---- libinc: a kernel that holds @room operations, each until it is asked for its end ---- */

int inc_icollective(struct inc_group *group, const struct inc_args *args, struct inc_request *req)
{
	if (args->send_counts && args->recv_counts) {
		memcpy(told_send, args->send_counts, sizeof(told_send));
		memcpy(told_recv, args->recv_counts, sizeof(told_recv));
	}
	nr_tries++;
	req->group = group;
	if (nr_held >= room)
		return full_error;
	nr_held++;
	req->handle = 1;
	return 0;
}

/* Half of them end at once. */
int inc_collective_for(struct inc_group *group, const struct inc_args *args,
		       struct inc_request *req, int timeout_ms)
{
	int ret = inc_icollective(group, args, req);

	(void)timeout_ms;
	if (ret)
		return ret;
	if (nr_tries % 2)
		return -ETIMEDOUT;
	req->ended = req->handle;
	return inc_test(req);
}

int inc_test(struct inc_request *req)
{
	if (req->handle)
		nr_held--;
	req->handle = 0;
	return 0;
}

int inc_wait(struct inc_request *req, int timeout_ms)
{
	(void)timeout_ms;
	return inc_test(req);
}

int inc_info(struct inc_group *group, struct inc_info *info)
{
	(void)group;
	memset(info, 0, sizeof(*info));
	info->state = INC_STATE_READY;
	return 0;
}

const char *inc_errmsg(struct inc_group *group)
{
	(void)group;
	return "rank 1 has died";
}

int inc_fd(const struct inc_group *group)
{
	(void)group;
	return -1;
}

size_t inc_type_size(enum inc_type type)
{
	(void)type;
	return 4;
}

/* ---- The rest of the middle ---- */

/* As a request's owner does it: what has ended is collected. */
static void collect_first(void)
{
	nr_progress++;
	if (first_op && nr_progress > 3)
		incmpi_test(first_op);
}

const struct incmpi_skin *incmpi_skin(void)
{
	static const struct incmpi_skin skin = { .progress = collect_first };

	return &skin;
}

void incmpi_count(unsigned int index, uint64_t n)
{
	(void)index;
	(void)n;
}

void incmpi_set_errmsg(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(told_text, sizeof(told_text), fmt, args);
	va_end(args);
}

const char *incmpi_errmsg(void)
{
	return told_text;
}

const struct incmpi_tune_line *incmpi_line_of(const struct incmpi_comm *c,
					      const struct incmpi_call *call)
{
	(void)c;
	(void)call;
	return NULL;
}

void incmpi_comm_get(struct incmpi_comm *c)
{
	(void)c;
}

void incmpi_comm_put(struct incmpi_comm *c)
{
	(void)c;
}

const char *incmpi_comm_end(struct incmpi_comm *c)
{
	(void)c;
	return is_broken ? told_end : NULL;
}

void incmpi_comm_ended(struct incmpi_comm *c, const char *why)
{
	(void)c;
	is_broken = true;
	snprintf(told_end, sizeof(told_end), "%s", why);
}

void incmpi_comm_break(struct incmpi_comm *c, const char *why)
{
	incmpi_comm_ended(c, why);
}

/* ---- Tests ---- */

static int the_group;

static struct incmpi_comm the_comm = {
	.size = 2, .group = (struct inc_group *)&the_group, .lock = PTHREAD_MUTEX_INITIALIZER,
};

static const struct incmpi_call a_barrier = { .fn = INCMPI_BARRIER, .blocking = true };

static void begin_with(unsigned int n, int err)
{
	room = n;
	full_error = err;
	nr_held = 0;
	nr_tries = 0;
	nr_progress = 0;
	first_op = NULL;
	is_broken = false;
}

/* The second operation begins when the first has ended. */
static void expect_turns(int err)
{
	struct incmpi_call call = a_barrier;
	int ret;

	begin_with(1, err);
	call.blocking = false;
	ret = incmpi_start(&the_comm, &call, &first_op);
	if (!expect(!ret, "the first operation: %d", ret))
		return;
	ret = incmpi_run(&the_comm, &a_barrier);
	expect(!ret && !is_broken, "beside an operation under way, error %d is one of the call: %d",
	       err, ret);
	expect(nr_tries > 2, "%u tries", nr_tries);
	expect(!incmpi_test(first_op) && !nr_held, "%u operations are left", nr_held);
	incmpi_op_free(first_op);
}

static void test_turns(void)
{
	expect_turns(-EAGAIN);
	expect_turns(-ENOMEM);
	expect_turns(-ENOBUFS);
	expect_turns(-EDQUOT);
}

/* Nothing of this process could give way. */
static void test_no_room(void)
{
	int ret;

	begin_with(0, -ENOMEM);
	ret = incmpi_run(&the_comm, &a_barrier);
	expect(ret == -ENOMEM && is_broken, "an operation that has no room: %d", ret);
	expect(nr_tries > 2, "%u tries", nr_tries);
}

static void test_other_errors(void)
{
	int ret;

	begin_with(0, -EPROTO);
	ret = incmpi_run(&the_comm, &a_barrier);
	expect(ret == -EPROTO && is_broken && nr_tries == 1, "error %d after %u tries", ret,
	       nr_tries);
	ret = incmpi_run(&the_comm, &a_barrier);
	expect(ret == -ENOTCONN && nr_tries == 1, "the next call: error %d after %u tries", ret,
	       nr_tries);
	expect(!strcmp(told_text,
		       "barrier: the communicator's group has failed before: rank 1 has died"),
	       "it is told \"%s\"", told_text);
}

/* The node of a group has answered when an operation ends, and not when one fails to begin. */
static void test_last(void)
{
	struct incmpi_call call = a_barrier;
	int64_t before = incmpi_now_ms();
	struct incmpi_op *op;

	begin_with(1, -EAGAIN);
	the_comm.last_ms = 0;
	expect(!incmpi_run(&the_comm, &a_barrier) && the_comm.last_ms >= before,
	       "after a blocking operation: %lld", (long long)the_comm.last_ms);
	the_comm.last_ms = 0;
	call.blocking = false;
	if (!expect(!incmpi_start(&the_comm, &call, &op), "it has not begun"))
		return;
	expect(!the_comm.last_ms, "it has only begun: %lld", (long long)the_comm.last_ms);
	expect(!incmpi_test(op) && the_comm.last_ms >= before, "after a non-blocking one: %lld",
	       (long long)the_comm.last_ms);
	incmpi_op_free(op);
	the_comm.last_ms = 0;
	begin_with(0, -EPROTO);
	expect(incmpi_run(&the_comm, &a_barrier) == -EPROTO && !the_comm.last_ms,
	       "after one that has failed: %lld", (long long)the_comm.last_ms);
}

/* Rank 0 of two sends @own bytes to itself, and receives @got there; 3 to and from the other. */
static int exchange_bytes(int own, int got, bool blocking)
{
	const struct incmpi_type byte = { .size = 1, .extent = 1, .dense = true };
	const int sent[] = { own, 3 }, received[] = { got, 3 }, displs[] = { 0, 8 };
	char from[16] = "", to[16] = "";
	struct incmpi_call call = {
		.fn = INCMPI_ALLTOALLV, .blocking = blocking,
		.send = { .buf = from, .types = &byte, .shares = { sent, displs, false } },
		.recv = { .buf = to, .types = &byte, .shares = { received, displs, false } },
	};
	struct incmpi_op *op;
	int ret;

	begin_with(1, -EAGAIN);
	the_comm.set.max = 1000;
	if (blocking)
		return incmpi_run(&the_comm, &call);
	ret = incmpi_start(&the_comm, &call, &op);
	if (ret)
		return ret;
	ret = incmpi_test(op);
	incmpi_op_free(op);
	return ret;
}

/* Who contradicts himself tells all others, by counts that are not his. */
static void test_own_share(void)
{
	int ret = exchange_bytes(2, 2, true);

	expect(!ret && told_send[0] == 2 && told_recv[1] == 3, "equal ones: %d", ret);
	ret = exchange_bytes(2, 4, true);
	expect(ret == INCMPI_BY_MPI && !is_broken, "a larger one: %d", ret);
	expect(told_send[0] == told_recv[0], "own counts %llu and %llu",
	       (unsigned long long)told_send[0], (unsigned long long)told_recv[0]);
	expect(told_send[1] != 3 && told_recv[1] != 3, "the other rank is told what there is");
	ret = exchange_bytes(4, 2, true);
	expect(ret == INCMPI_BY_MPI && !is_broken, "a smaller one: %d", ret);
	ret = exchange_bytes(2, 4, false);
	expect(ret == -EMSGSIZE && !is_broken, "a non-blocking one: %d", ret);
}

static const struct ktap_test tests[] = {
	KTAP(test_turns), KTAP(test_no_room), KTAP(test_other_errors),
	KTAP(test_last), KTAP(test_own_share),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
