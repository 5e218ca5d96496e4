// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Operations: a submit, and waiting for what it has named. The blocking ones do both in one system
 * call, and fall back to waiting when a signal has come in between.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "internal.h"

/* requests of one system call; their operations are on the stack */
#define AT_ONCE	64

/* What made a call fail, as far as the kernel remembers; @err is negative. */
static int operation_failed(struct inc_group *group, const struct inc_error_info *error,
			    const char *what, int err)
{
	char text[ERRMSG_LEN - 128];

	if (error->code)
		inc_format_error(text, sizeof(text), error);
	else
		snprintf(text, sizeof(text), "%s", inc_strerror(err));
	return inc_fail(group, err, "group %u rank %u: %s: %s", group->addr.sinc_group,
			group->addr.sinc_rank, what, text);
}

static int submit_failed(struct inc_group *group, const struct inc_submit *op, int err)
{
	struct inc_info info = { .state = INC_STATE_CLOSED };
	char what[OP_LEN], why[256];

	if (err == -EINVAL && inc_why_invalid(group, why, sizeof(why), op))
		return inc_fail(group, err, "%s", why);
	inc_format_op(what, sizeof(what), op);
	if (err == -EOPNOTSUPP) {
		inc_ask_info(group, &info);
		inc_why_unsupported(why, sizeof(why), op, &info);
		return inc_fail(group, err, "group %u rank %u: %s: %s", group->addr.sinc_group,
				group->addr.sinc_rank, what, why);
	}
	/* A group that works has no error to tell: the last one was of another operation. */
	if (inc_ask_info(group, &info) || info.state == INC_STATE_READY)
		info.error.code = INC_ERR_NONE;
	return operation_failed(group, &info.error, what, err);
}

/* All shares of an alltoall's receive buffer, packed: what it sends when it is in place. */
static void *copy_shares(const struct inc_submit *op, uint32_t size)
{
	const uint64_t *counts = (const uint64_t *)(uintptr_t)op->recv_counts;
	const uint64_t *displs = (const uint64_t *)(uintptr_t)op->recv_displs;
	const uint8_t *from = (const uint8_t *)(uintptr_t)op->recv;
	uint64_t total = 0, at = 0, elem = inc_type_size(op->type), n;
	uint8_t *copy;

	for (uint32_t i = 0; i < size; i++)
		total += counts ? counts[i] : op->count;
	/* Never of 0 bytes: its address must not be that of the other buffer. */
	copy = malloc(total * elem + 1);
	for (uint32_t i = 0; copy && i < size; i++, at += n) {
		n = counts ? counts[i] : op->count;
		if (n)
			memcpy(copy + at * elem, from + (displs ? displs[i] : at) * elem, n * elem);
	}
	return copy;
}

/* What the kernel is told: what was prepared, and the copy if one is needed. */
static int begin_operation(struct inc_request *req, struct inc_submit *op, bool awaited)
{
	*op = req->submit;
	req->result = 0;
	inc_memory_find(req->group, op, awaited);
	if (op->coll != INC_COLL_ALLTOALL || op->send != (uintptr_t)INC_IN_PLACE)
		return 0;
	req->copy = copy_shares(op, inc_size(req->group));
	if (!req->copy) {
		req->result = inc_fail(req->group, -ENOMEM,
				       "%s: no memory for a copy of what is sent in place",
				       inc_coll_name(op->coll));
		return req->result;
	}
	op->send = (uintptr_t)req->copy;
	return 0;
}

static int end_request(struct inc_request *req, int result)
{
	free(req->copy);
	req->copy = NULL;
	if (req->handle)
		req->ended = req->handle;
	req->handle = 0;
	req->result = result;
	return result;
}

/* The ranks that are missing, or a negative errno. */
static int get_contributed(struct inc_group *group, uint64_t handle, uint32_t *ranks, size_t words)
{
	struct inc_contributed c = {
		.handle = handle,
		.ranks = (uintptr_t)ranks,
		.words = words > UINT32_MAX ? UINT32_MAX : (uint32_t)words,
	};

	return ioctl(group->fd, INC_IOC_CONTRIBUTED, &c) < 0 ? -errno : (int)c.missing;
}

/* Says who is missing; returns how many. */
static int fill_partial(struct inc_request *req, const struct inc_completion *done)
{
	struct inc_group *group = req->group;
	char what[OP_LEN], who[128] = "";
	uint32_t ranks[INC_MAX_RANKS / 32] = { 0 };

	inc_format_op(what, sizeof(what), &req->submit);
	if (get_contributed(group, done->handle, ranks, INC_MAX_RANKS / 32) > 0)
		for (uint32_t i = 0; i < inc_size(group); i++)
			if (!(ranks[i / 32] >> (i % 32) & 1))
				inc_append(who, sizeof(who), " %u", i);
	return inc_fail(group, (int)done->missing,
			"group %u rank %u: %s: the result lacks %u late rank%s:%s",
			group->addr.sinc_group, group->addr.sinc_rank, what, done->missing,
			done->missing == 1 ? "" : "s", who);
}

int inc_contributed_failed(struct inc_group *group, int err, uint64_t handle)
{
	if (err != -ENOENT)
		return inc_fail(group, err, "contributed: %s", inc_strerror(err));
	if (!handle)
		return inc_fail(group, err, "contributed: no operation of the group was partial");
	return inc_fail(group, err,
			"contributed: operation %llu is not among the last 16 that were partial",
			(unsigned long long)handle);
}

int inc_contributed(struct inc_group *group, const struct inc_request *req, uint32_t *ranks,
		    size_t words)
{
	int ret;

	if (!group || !ranks)
		return inc_null(group, group ? "set of ranks" : "group");
	memset(ranks, 0, words * sizeof(*ranks));
	if (req && (req->handle || req->result < 0))
		return inc_fail(group, -EINVAL,
				"contributed: the operation has not ended, or failed");
	if (req && !req->result) {
		for (uint32_t i = 0; i < inc_size(group) && i / 32 < words; i++)
			ranks[i / 32] |= 1u << (i % 32);
		return 0;
	}
	if (group->nstripes)
		return inc_parts_contributed(group, req ? req->ended : 0, ranks, words);
	ret = get_contributed(group, req ? req->ended : 0, ranks, words);
	return ret < 0 ? inc_contributed_failed(group, ret, req ? req->ended : 0) : ret;
}

/* -ETIMEDOUT is for waits that can go on: not for an operation that ended as a rank was late. */
int inc_request_complete(struct inc_request *req, const struct inc_completion *done)
{
	int err = done->error.code == INC_ERR_RANK_LATE ? -ETIME : done->result;
	char what[OP_LEN];

	req->handle = done->handle;
	if (!err)
		return end_request(req, done->missing ? fill_partial(req, done) : 0);
	inc_format_op(what, sizeof(what), &req->submit);
	return end_request(req, operation_failed(req->group, &done->error, what, err));
}

/* One look or one bounded wait. The request has ended unless this returns -EAGAIN or -ETIMEDOUT. */
static int wait_for(struct inc_request *req, int64_t deadline, bool look)
{
	struct inc_wait wait;
	int ret;

	if (req->parts)
		return inc_parts_wait(req, deadline, look);
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
		return end_request(req, inc_fail(req->group, -errno, "wait for operation %llu: %s",
						 (unsigned long long)req->handle,
						 inc_strerror(errno)));
	return inc_request_complete(req, &wait.completion);
}

static int timed_out(struct inc_request *req, int timeout_ms)
{
	struct inc_info info = { .missing = ~0U };
	char who[64] = "";

	if (!inc_ask_info(req->group, &info) && info.missing != ~0U)
		snprintf(who, sizeof(who), ", waiting for rank %u", info.missing);
	return inc_fail(req->group, -ETIMEDOUT, "operation %llu has not ended within %d ms%s",
			(unsigned long long)req->handle, timeout_ms, who);
}

int inc_set_timeout(struct inc_group *group, int timeout_ms)
{
	if (!group)
		return inc_null(NULL, "group");
	if (timeout_ms < 0)
		return inc_fail(group, -EINVAL,
				"timeout %d: expected milliseconds, 0 for as long as it takes",
				timeout_ms);
	__atomic_store_n(&group->timeout_ms, timeout_ms, __ATOMIC_RELAXED);
	return 0;
}

/* A blocking operation has taken too long: it ends, and the group with it. */
static int end_expired(struct inc_request *req, int timeout_ms)
{
	struct inc_group *group = req->group;
	char text[ERRMSG_LEN - 64];

	timed_out(req, timeout_ms);
	snprintf(text, sizeof(text), "%s", inc_errmsg(group));
	inc_cancel(group);
	/* It has its result after all, or the error that says which rank has ended the group. */
	if (wait_for(req, -1, false) >= 0)
		return req->result;
	return end_request(req, inc_fail(group, -ETIMEDOUT, "%s: the group has been ended", text));
}

void inc_wait_until(struct inc_request *req, int64_t deadline)
{
	if (req->handle)
		wait_for(req, deadline, false);
}

int inc_wait_within(struct inc_request *req, int64_t deadline, int timeout_ms)
{
	int ret = req->handle ? wait_for(req, deadline, false) : req->result;

	return req->handle ? timed_out(req, timeout_ms) : ret;
}

int inc_wait(struct inc_request *req, int timeout_ms)
{
	int64_t deadline = timeout_ms < 0 ? -1 : inc_now_ms() + timeout_ms;

	if (!req)
		return inc_null(NULL, "request");
	if (inc_check_timeout(req->group, timeout_ms))
		return -EINVAL;
	return inc_wait_within(req, deadline, timeout_ms);
}

int inc_test(struct inc_request *req)
{
	if (!req)
		return inc_null(NULL, "request");
	return req->handle ? wait_for(req, 0, true) : req->result;
}

static int check_request(struct inc_group *group, const struct inc_args *args,
			 struct inc_request *req)
{
	memset(req, 0, sizeof(*req));
	req->group = group;
	req->result = inc_fill(group, &req->submit, args);
	if (!req->result && group->nstripes)
		req->result = inc_parts_make(req);
	req->prepared = !req->result;
	return req->result;
}

/*
 * Interrupted before it began, or its memory is not registered any more, which another thread or
 * the parent of this process has seen to: then it goes without.
 */
static bool submits_again(struct inc_submit *op, int err)
{
	if (op->handle || (err == ENOENT && !op->send_reg && !op->recv_reg))
		return false;
	if (err == ENOENT) {
		op->send_reg = 0;
		op->recv_reg = 0;
	}
	return err == EINTR || err == ENOENT;
}

int inc_prepare(struct inc_group *group, const struct inc_args *args, struct inc_request *req)
{
	uint64_t send, recv;

	if (!req)
		return inc_null(group, "request");
	if (check_request(group, args, req))
		return req->result;
	inc_extents(group, &req->submit, args, &send, &recv);
	if (req->parts)
		inc_parts_keep(req, send, recv);
	else
		inc_memory_keep(req, send, recv);
	return 0;
}

/* May it be started? Else why not. */
static int check_start(struct inc_request *req)
{
	if (!req)
		return inc_null(NULL, "request");
	if (!req->prepared)
		return inc_fail(req->group, -EINVAL,
				"start: the request is not one that inc_prepare() has prepared");
	if (req->handle)
		return inc_fail(req->group, -EBUSY,
				"start: the request's operation %llu has not ended",
				(unsigned long long)req->handle);
	return 0;
}

int inc_start(struct inc_request *req)
{
	struct inc_submit op;
	int ret = check_start(req);

	if (ret)
		return ret;
	if (req->parts)
		return inc_parts_start(req);
	ret = begin_operation(req, &op, false);
	if (ret)
		return ret;
	do
		ret = ioctl(req->group->fd, INC_IOC_SUBMIT, &op);
	while (ret < 0 && submits_again(&op, errno));
	if (ret < 0)
		return end_request(req, submit_failed(req->group, &req->submit, -errno));
	req->handle = op.handle;
	return 0;
}

/*
 * Starts the first of @n, at most AT_ONCE, that can be in one system call: of one group that is not
 * striped. Returns how many were started; what is behind them inc_start() looks at.
 */
static size_t start_run(struct inc_request **reqs, size_t n)
{
	struct inc_submit ops[AT_ONCE];
	struct inc_submit_many many = { .ops = (uintptr_t)ops, .size = sizeof(ops[0]) };
	size_t ready;

	for (ready = 0; ready < n && ready < AT_ONCE; ready++) {
		struct inc_request *req = reqs[ready];

		if (!req || !req->prepared || req->handle || req->parts ||
		    req->group != reqs[0]->group || begin_operation(req, &ops[ready], true))
			break;
		/* not twice in one run */
		req->handle = UINT64_MAX;
	}
	/* one by itself may as well be pinned */
	many.n = (uint32_t)ready;
	if (ready > 1)
		ioctl(reqs[0]->group->fd, INC_IOC_SUBMIT_MANY, &many);
	for (size_t i = 0; i < ready; i++) {
		reqs[i]->handle = i < many.taken ? ops[i].handle : 0;
		if (i >= many.taken)
			end_request(reqs[i], 0);
	}
	return many.taken;
}

int inc_start_many(struct inc_request **reqs, size_t n, size_t *started)
{
	size_t i = 0;
	int ret = 0;

	if (n && !reqs)
		return inc_null(NULL, "requests");
	while (i < n && !ret) {
		size_t run = start_run(reqs + i, n - i);

		i += run;
		/* a run that is full goes on with the next one; else the next says what it is */
		if (i < n && run < AT_ONCE)
			ret = inc_start(reqs[i]);
		if (i < n && run < AT_ONCE && !ret)
			i++;
	}
	if (started)
		*started = i;
	return ret;
}

int inc_icollective(struct inc_group *group, const struct inc_args *args, struct inc_request *req)
{
	int ret;

	if (!req)
		return inc_null(group, "request");
	ret = check_request(group, args, req);
	if (!ret)
		ret = inc_start(req);
	req->prepared = 0;
	if (ret)
		inc_parts_drop(req);
	return ret;
}

/* Parts are submitted before any is waited for. -ETIMEDOUT and a handle: it goes on. */
static int start_and_wait(struct inc_request *req, int timeout_ms)
{
	int ret = inc_parts_start(req);

	return ret ? ret : wait_for(req, timeout_ms < 0 ? -1 : inc_now_ms() + timeout_ms, false);
}

/* Both in one system call. -EINTR, -ETIMEDOUT and a handle: it goes on. */
static int submit_and_wait(struct inc_request *req, int timeout_ms)
{
	struct inc_submit_wait both = { .wait.timeout_ms = timeout_ms };
	int ret, err;

	if (req->parts)
		return start_and_wait(req, timeout_ms);
	ret = begin_operation(req, &both.submit, true);
	if (ret)
		return ret;
	do {
		ret = ioctl(req->group->fd, INC_IOC_SUBMIT_AND_WAIT, &both);
		err = errno;
	} while (ret < 0 && submits_again(&both.submit, err));
	if (ret < 0 && (err == EINTR || err == ETIMEDOUT) && both.submit.handle) {
		req->handle = both.submit.handle;
		return -err;
	}
	if (ret < 0)
		return end_request(req, submit_failed(req->group, &req->submit, -err));
	return inc_request_complete(req, &both.wait.completion);
}

static int run_operation(struct inc_request *req)
{
	int limit = __atomic_load_n(&req->group->timeout_ms, __ATOMIC_RELAXED);
	int64_t deadline = limit ? inc_now_ms() + limit : -1;
	int ret = submit_and_wait(req, limit ? limit : -1);

	if (req->handle && ret == -EINTR)
		ret = wait_for(req, deadline, false);
	return req->handle ? end_expired(req, limit) : ret;
}

int inc_collective_for(struct inc_group *group, const struct inc_args *args,
		       struct inc_request *req, int timeout_ms)
{
	int64_t deadline = timeout_ms < 0 ? -1 : inc_now_ms() + timeout_ms;
	int ret;

	if (!req)
		return inc_null(group, "request");
	ret = inc_check_timeout(group, timeout_ms);
	if (ret) {
		*req = (struct inc_request){ .group = group, .result = ret };
		return ret;
	}
	ret = check_request(group, args, req);
	req->prepared = 0;
	if (!ret)
		ret = submit_and_wait(req, timeout_ms);
	if (!req->handle)
		return ret;
	return ret == -EINTR ? inc_wait_within(req, deadline, timeout_ms) :
			       timed_out(req, timeout_ms);
}

int inc_collective(struct inc_group *group, const struct inc_args *args)
{
	struct inc_request req;
	int ret = check_request(group, args, &req);

	req.prepared = 0;
	return ret ? ret : run_operation(&req);
}
