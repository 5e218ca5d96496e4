// SPDX-License-Identifier: GPL-2.0-only
/*
 * Several operations in one system call. Those that need no pinned pages are collected in a batch,
 * which the rank takes under one lock and sends in as few packets as it can. The caller gets to
 * know how many have been taken, or collected, and what was wrong with the one behind them.
 */
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include "host/many.h"
#include "host/op.h"
#include "host/rank.h"
#include "host/socket.h"

#define MOST_AT_ONCE	64	/* operations of one batch: softirqs wait while they are taken */

static_assert(sizeof(struct inc_submit_many) == 24);
static_assert(sizeof(struct inc_wait_many) == 32);

/* The operations of one INC_IOC_SUBMIT_MANY. */
struct submission {
	struct netinc_rank *rank;
	u64 ops;		/* user address of the first */
	u32 size;		/* bytes of each, as the caller knows it */
	u32 taken;		/* the first ones, which the rank has */
	u32 n;			/* those behind them, which are to be taken next */
	struct netinc_op_request *req[MOST_AT_ONCE];
};

static struct inc_submit __user *submit_at(const struct submission *s, u32 i)
{
	return u64_to_user_ptr(s->ops + (u64)i * s->size);
}

/* Has the rank take what is ready. 0, or why the first one that is not taken was refused. */
static int take_ready(struct submission *s)
{
	u32 taken, i;
	u64 handle;
	int err;

	if (!s->n)
		return 0;
	err = netinc_op_request_enqueue(s->rank, s->req, s->n, &handle, &taken);
	for (i = taken; i < s->n; i++)
		netinc_op_request_free(s->rank, s->req[i]);
	/* it could be written to before: the caller has taken the memory away meanwhile */
	for (i = 0; i < taken; i++)
		if (put_user(handle + i, &submit_at(s, s->taken + i)->handle))
			err = -EFAULT;
	s->taken += taken;
	s->n = 0;
	cond_resched();
	return err;
}

/* Operation @i of the caller's. */
static int get_submit(const struct submission *s, u32 i, struct inc_submit *sub)
{
	struct inc_submit __user *u = submit_at(s, i);
	int err = copy_struct_from_user(sub, sizeof(*sub), u, s->size);

	return err ?: put_user(0ULL, &u->handle);
}

/* Makes operation @i ready. What pins pages may take long: it is taken by itself. */
static int add_submit(struct submission *s, u32 i)
{
	struct netinc_op_request *req;
	struct inc_submit sub;
	int err;

	err = get_submit(s, i, &sub);
	if (err)
		return err;
	/* a share that a rank has for itself is copied now: not if there is no room */
	if (READ_ONCE(s->rank->nreqs) + s->n >= NETINC_MAX_REQS)
		return -EAGAIN;
	req = netinc_op_request_new(s->rank, &sub, NETINC_SUBMIT_COPIED);
	if (IS_ERR(req))
		return PTR_ERR(req);
	if (req->mm) {
		err = take_ready(s);
		if (err) {
			netinc_op_request_free(s->rank, req);
			return err;
		}
	}
	s->req[s->n++] = req;
	return req->mm || s->n == MOST_AT_ONCE ? take_ready(s) : 0;
}

/* Nothing is to be done again that has been done. */
static int restart_errno(int err, u32 done)
{
	return err == -ERESTARTSYS && done ? -EINTR : err;
}

int netinc_submit_many(struct netinc_rank *rank, struct inc_submit_many __user *u)
{
	struct submission s = { .rank = rank };
	struct inc_submit_many many;
	int err = 0, first;
	u32 i;

	if (copy_from_user(&many, u, sizeof(many)) || put_user(0U, &u->taken))
		return -EFAULT;
	if (many.flags || !many.n || many.n > INC_MAX_MANY ||
	    many.size < sizeof(struct inc_submit) || many.size > INC_SO_MAX_LEN)
		return -EINVAL;
	s.ops = many.ops;
	s.size = many.size;
	/* counts of each may have to be read and merged, which takes its time */
	for (i = 0; i < many.n && !err; i++)
		err = signal_pending(current) ? -ERESTARTSYS : add_submit(&s, i);
	/* one that is ready is before the one that is not */
	first = take_ready(&s);
	if (put_user(s.taken, &u->taken))
		return -EFAULT;
	return restart_errno(first ?: err, s.taken);
}

/* What is left until @end of a wait that was to last @timeo; 0: it only looks. */
static long timeo_left(long timeo, unsigned long end)
{
	return timeo == MAX_SCHEDULE_TIMEOUT ? timeo : max((long)(end - jiffies), 0L);
}

/* One completion, to be written to @to, of @size bytes there. */
static int wait_one(struct netinc_rank *rank, struct inc_completion __user *to, u32 size,
		    long timeo)
{
	struct netinc_op_request *req;
	u64 handle;

	if (get_user(handle, &to->handle) || clear_user(to + 1, size - sizeof(*to)))
		return -EFAULT;
	req = netinc_op_request_wait(rank, handle, false, timeo);
	return IS_ERR(req) ? PTR_ERR(req) : netinc_put_completion(rank, req, to);
}

int netinc_wait_many(struct netinc_rank *rank, struct inc_wait_many __user *u)
{
	struct inc_wait_many many;
	unsigned long end;
	int err = 0;
	long timeo;
	u32 i;

	if (copy_from_user(&many, u, sizeof(many)) || put_user(0U, &u->collected))
		return -EFAULT;
	if (many.flags || !many.n || many.n > INC_MAX_MANY || many.timeout_ms < -1 ||
	    many.size < sizeof(struct inc_completion) || many.size > INC_SO_MAX_LEN)
		return -EINVAL;
	timeo = netinc_wait_timeo(many.timeout_ms);
	end = jiffies + timeo;
	for (i = 0; i < many.n; i++) {
		err = wait_one(rank, u64_to_user_ptr(many.completions + (u64)i * many.size),
			       many.size, timeo_left(timeo, end));
		if (err)
			break;
	}
	if (put_user(i, &u->collected))
		return -EFAULT;
	if (err == -EAGAIN && many.timeout_ms)
		err = -ETIMEDOUT;
	/* started again it would wait for the whole time again */
	return restart_errno(err, i || many.timeout_ms >= 0);
}
