// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Operations: a submit, and waiting for what it has named. The blocking ones do both in one system call, and fall
 * back to waiting when a signal has come in between.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "internal.h"

static void describe(char *buf, size_t len, const struct inc_submit *op)
{
	if (op->coll == INC_COLL_BARRIER)
		snprintf(buf, len, "barrier");
	else
		snprintf(buf, len, "%s %s %s %llu", inc_coll_name(op->coll), inc_type_name(op->type),
			 inc_op_name(op->op), (unsigned long long)op->count);
}

/* What made a call fail, as far as the kernel remembers; @err is negative. */
static int failed(struct inc_group *group, const struct inc_error_info *error, const char *what, int err)
{
	char text[256];

	if (error->code)
		inc_format_error(text, sizeof(text), error);
	else
		snprintf(text, sizeof(text), "%s", inc_strerror(err));
	return inc_fail(group, err, "group %u rank %u: %s: %s", group->addr.sinc_group, group->addr.sinc_rank, what,
			text);
}

static int submit_failed(struct inc_group *group, const struct inc_submit *op, int err)
{
	struct inc_info info = { .state = INC_STATE_CLOSED };
	char what[96];

	describe(what, sizeof(what), op);
	/* A group that works has no error to tell: the last one was of another operation. */
	if (ioctl(group->fd, INC_IOC_INFO, &info) < 0 || info.state == INC_STATE_READY)
		info.error.code = INC_ERR_NONE;
	return failed(group, &info.error, what, err);
}

static int fill_allreduce(struct inc_group *group, struct inc_submit *op, const void *send, void *recv, uint64_t count,
			  enum inc_type type, enum inc_op reduce)
{
	if (!inc_type_size(type))
		return inc_fail(group, -EINVAL, "allreduce: type %d: expected enum inc_type, 1..%d", (int)type,
				INC_TYPE_MAX);
	if (!inc_op_name(reduce))
		return inc_fail(group, -EINVAL, "allreduce: operation %d: expected enum inc_op, 1..%d", (int)reduce,
				__INC_OP_MAX - 1);
	if (count > INC_MAX_COUNT)
		return inc_fail(group, -EINVAL, "allreduce: count %llu: expected 0..%llu", (unsigned long long)count,
				INC_MAX_COUNT);
	if (count && !recv)
		return inc_fail(group, -EINVAL, "allreduce: recv is NULL: expected %llu bytes",
				(unsigned long long)(count * inc_type_size(type)));
	*op = (struct inc_submit) {
		.coll = INC_COLL_ALLREDUCE,
		.type = type,
		.op = reduce,
		.count = count,
		.send = (uintptr_t)(!send || send == INC_IN_PLACE ? recv : send),
		.recv = (uintptr_t)recv,
	};
	return 0;
}

static int submit(struct inc_group *group, struct inc_submit *op, struct inc_request *req)
{
	int ret;

	memset(req, 0, sizeof(*req));
	req->group = group;
	do
		ret = ioctl(group->fd, INC_IOC_SUBMIT, op);
	while (ret < 0 && errno == EINTR);
	if (ret < 0) {
		req->result = submit_failed(group, op, -errno);
		return req->result;
	}
	req->handle = op->handle;
	return 0;
}

/* -ETIMEDOUT is for waits that can go on; an operation that ended because a rank was late is another thing. */
static int completed(struct inc_group *group, const struct inc_completion *done, const char *what)
{
	int err = done->error.code == INC_ERR_RANK_LATE ? -ETIME : done->result;

	return err ? failed(group, &done->error, what, err) : 0;
}

/* One look or one bounded wait. The request has ended unless this returns -EAGAIN or -ETIMEDOUT. */
static int wait_for(struct inc_request *req, int64_t deadline, bool look)
{
	struct inc_wait wait;
	int ret;

	do {
		wait = (struct inc_wait) {
			.handle = req->handle,
			.timeout_ms = look ? 0 : inc_left_ms(deadline),
		};
		ret = ioctl(req->group->fd, INC_IOC_WAIT, &wait);
	} while (ret < 0 && errno == EINTR);
	if (ret < 0 && (errno == EAGAIN || errno == ETIMEDOUT))
		return look ? -EAGAIN : -ETIMEDOUT;
	if (ret < 0)
		req->result = inc_fail(req->group, -errno, "wait for operation %llu: %s",
				       (unsigned long long)req->handle, inc_strerror(errno));
	else
		req->result = completed(req->group, &wait.completion, "wait");
	req->handle = 0;
	return req->result;
}

static int timed_out(struct inc_request *req, int timeout_ms)
{
	struct inc_info info = { .missing = ~0U };
	char who[64] = "";

	if (!ioctl(req->group->fd, INC_IOC_INFO, &info) && info.missing != ~0U)
		snprintf(who, sizeof(who), ", waiting for rank %u", info.missing);
	return inc_fail(req->group, -ETIMEDOUT, "operation %llu has not ended within %d ms%s",
			(unsigned long long)req->handle, timeout_ms, who);
}

int inc_wait(struct inc_request *req, int timeout_ms)
{
	int64_t deadline = timeout_ms < 0 ? -1 : inc_now_ms() + timeout_ms;
	int ret;

	if (!req->handle)
		return req->result;
	ret = wait_for(req, deadline, false);
	return req->handle ? timed_out(req, timeout_ms) : ret;
}

int inc_test(struct inc_request *req)
{
	return req->handle ? wait_for(req, 0, true) : req->result;
}

static int submit_and_wait(struct inc_group *group, const struct inc_submit *op)
{
	struct inc_submit_wait both = { .submit = *op, .wait.timeout_ms = -1 };
	struct inc_request req = { .group = group };
	char what[96];
	int ret, err;

	do {
		ret = ioctl(group->fd, INC_IOC_SUBMIT_AND_WAIT, &both);
		err = errno;
	} while (ret < 0 && err == EINTR && !both.submit.handle);
	if (ret < 0 && err == EINTR) {
		req.handle = both.submit.handle;
		return inc_wait(&req, -1);
	}
	if (ret < 0)
		return submit_failed(group, op, -err);
	describe(what, sizeof(what), op);
	return completed(group, &both.wait.completion, what);
}

int inc_allreduce(struct inc_group *group, const void *send, void *recv, uint64_t count, enum inc_type type,
		  enum inc_op op)
{
	struct inc_submit submission;
	int ret = fill_allreduce(group, &submission, send, recv, count, type, op);

	return ret ? ret : submit_and_wait(group, &submission);
}

int inc_iallreduce(struct inc_group *group, const void *send, void *recv, uint64_t count, enum inc_type type,
		   enum inc_op op, struct inc_request *req)
{
	struct inc_submit submission;
	int ret = fill_allreduce(group, &submission, send, recv, count, type, op);

	if (ret)
		*req = (struct inc_request) { .group = group, .result = ret };
	return ret ? ret : submit(group, &submission, req);
}

int inc_barrier(struct inc_group *group)
{
	struct inc_submit submission = { .coll = INC_COLL_BARRIER };

	return submit_and_wait(group, &submission);
}

int inc_ibarrier(struct inc_group *group, struct inc_request *req)
{
	struct inc_submit submission = { .coll = INC_COLL_BARRIER };

	return submit(group, &submission, req);
}
