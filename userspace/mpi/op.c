// SPDX-License-Identifier: LGPL-2.1-or-later
/* Operations of a communicator's group, from their start to their end. */
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* How long a call sleeps before it lets MPI progress: other ranks may wait for that. */
#define SLICE_MS	1

/* How long a limit is waited for while no operation of this process ends, and if it has none. */
#define FULL_MS		60000
#define OTHERS_MS	1000

/* Operations of this process that have begun and not ended, and how many have ended so far. */
static atomic_uint nr_begun, nr_ended;

static unsigned int slot_of(const struct incmpi_op *op)
{
	enum incmpi_form form = op->call.blocking ? INCMPI_BLOCKING :
				op->call.persistent ? INCMPI_PERSISTENT : INCMPI_NONBLOCKING;

	return op->call.fn + form * INCMPI_NR_FNS;
}

/* The types of a non-blocking call are its caller's, who may free them before it has ended. */
static bool may_lose_types(const struct incmpi_call *call)
{
	return !call->blocking && !call->persistent;
}

/* The group is over, or goes on after an error that was only the operation's. */
static bool is_over(struct inc_group *group)
{
	struct inc_info info;

	return inc_info(group, &info) ||
	       (info.state != INC_STATE_READY && info.state != INC_STATE_RESYNC);
}

/* What the table says that a call takes; a non-blocking one's time is not the program's. */
static void count_saved(const struct incmpi_op *op)
{
	const struct incmpi_tune_line *line;

	line = op->call.blocking ? incmpi_line_of(op->comm, &op->call) : NULL;
	if (!line || !line->inc_ns)
		return;
	incmpi_count(INCMPI_COUNT_TIMED, 1);
	incmpi_count(INCMPI_COUNT_SAVED, line->mpi_ns - line->inc_ns);
}

/* The kernel has nothing of it any more. */
static void leave_op(struct incmpi_op *op)
{
	if (!op->begun)
		return;
	op->begun = false;
	atomic_fetch_sub(&nr_begun, 1);
	atomic_fetch_add(&nr_ended, 1);
}

static int end_op(struct incmpi_op *op, int result)
{
	leave_op(op);
	if (!result && op->refuses) {
		/* so do all others, and nobody has contradicted */
		incmpi_set_errmsg("%s: its shares are more than INC_MPI_MAX bytes, or do not fit",
				  incmpi_fn_name(op->call.fn));
		result = -EMSGSIZE;
	}
	if (!result)
		result = incmpi_unstage(op);
	incmpi_stage_free(op);
	if (op->held)
		incmpi_skin()->release(op->held);
	op->held = NULL;
	op->ended = true;
	op->result = result;
	if (result) {
		incmpi_count(INCMPI_COUNT_ERRORS, 1);
	} else {
		incmpi_count(INCMPI_COUNT_OPS + slot_of(op), 1);
		incmpi_count(INCMPI_COUNT_BYTES + slot_of(op), op->bytes);
		count_saved(op);
	}
	return result;
}

/* What libinc said at the end; with the communicator's lock. */
static int result_of(struct incmpi_op *op, int ret)
{
	struct incmpi_comm *c = op->comm;

	if (ret >= 0)
		c->last_ms = incmpi_now_ms();
	if (!ret)
		return 0;
	incmpi_set_errmsg("%s", inc_errmsg(c->group));
	/* a result without late ranks is not the one that MPI promises */
	if (ret > 0)
		return -ETIME;
	if (is_over(c->group))
		incmpi_comm_ended(c, incmpi_errmsg());
	return ret;
}

/*
 * As many are under way as the kernel holds of a group (-EAGAIN), or as a limit of the user or the
 * host lets it hold. Nothing has begun: it is tried again, until one has ended. Ranks may begin
 * operations of two communicators in different orders, so a limit is waited for as long as some of
 * this process' own end; what other processes have is given back soon, or not before this rank
 * comes.
 */
static bool is_full(int ret, unsigned int *seen, int *waited_ms)
{
	unsigned int ended = atomic_load(&nr_ended);

	if (ret == -EAGAIN)
		return true;
	if (ret != -ENOMEM && ret != -ENOBUFS && ret != -EDQUOT)
		return false;
	if (ended != *seen)
		*waited_ms = 0;
	*seen = ended;
	return *waited_ms < (atomic_load(&nr_begun) ? FULL_MS : OTHERS_MS);
}

/*
 * A blocking one is also waited for, for as long as it may take before MPI has to progress: if it
 * has ended by then, inc_wait() says so.
 */
static int try_submit(struct incmpi_op *op)
{
	struct inc_group *group = op->comm->group;
	int ret;

	if (!op->call.blocking)
		return inc_icollective(group, &op->args, &op->req);
	ret = inc_collective_for(group, &op->args, &op->req, SLICE_MS);
	return op->req.handle || op->req.ended ? 0 : ret;
}

static int submit_op(struct incmpi_op *op)
{
	unsigned int seen = atomic_load(&nr_ended);
	int ret, waited_ms = 0;

	while (is_full(ret = try_submit(op), &seen, &waited_ms)) {
		incmpi_skin()->progress();
		poll(NULL, 0, SLICE_MS);
		waited_ms += SLICE_MS;
	}
	if (ret)
		return ret;
	op->begun = true;
	atomic_fetch_add(&nr_begun, 1);
	incmpi_count_staged(op);
	return 0;
}

/* A type that is looked at after a non-blocking call has returned; none has a type per rank. */
static int hold_type(struct incmpi_op *op)
{
	struct incmpi_side *side = &op->call.recv;

	if (!may_lose_types(&op->call) || op->held || !op->recv_mem ||
	    (side->types->dense && !op->not_given))
		return 0;
	op->held = incmpi_skin()->hold(side->types->handle);
	op->held_type.handle = op->held;
	return op->held ? 0 : -ENOMEM;
}

/*
 * The kernel cannot have the program's memory for as long as it takes, or refuses it, as shares
 * would overlap: the operation does not exist yet, so it may begin again with other memory.
 */
static int begin_op(struct incmpi_op *op)
{
	int ret = incmpi_stage(op) ?: hold_type(op) ?: submit_op(op);

	if ((ret != -EFAULT && ret != -EINVAL) || !op->req.group)
		return ret;
	memset(&op->req, 0, sizeof(op->req));
	return incmpi_stage_again(op, ret == -EFAULT ? INCMPI_STAGED_MEMORY :
						       INCMPI_STAGED_OVERLAP) ?:
	       hold_type(op) ?: submit_op(op);
}

static int start_op(struct incmpi_op *op, struct incmpi_comm *c, const struct incmpi_call *call)
{
	const char *end;
	int ret;

	memset(op, 0, sizeof(*op));
	op->comm = c;
	op->call = *call;
	if (may_lose_types(call) && call->recv.types) {
		op->held_type = *call->recv.types;
		op->call.recv.types = &op->held_type;
	}
	end = incmpi_comm_end(c);
	if (end) {
		incmpi_set_errmsg("%s: the communicator's group has failed before: %s",
				  incmpi_fn_name(call->fn), end);
		return end_op(op, -ENOTCONN);
	}
	ret = begin_op(op);
	if (!ret)
		return 0;
	if (op->req.group)
		incmpi_set_errmsg("%s", inc_errmsg(c->group));
	else
		incmpi_set_errmsg("%s: %s", incmpi_fn_name(call->fn),
				  ret == -ENOMEM ? "no memory to pack its elements" :
						   "its elements could not be packed");
	incmpi_comm_break(c, incmpi_errmsg());
	return end_op(op, ret);
}

/* The exchange of counts has shown to all ranks that INC does not do it; see stage_refusal(). */
static bool is_refused(const struct incmpi_op *op, int ret)
{
	return incmpi_has_unknown_shares(op->call.fn) &&
	       (ret == -EMSGSIZE || (!ret && op->refuses));
}

static int give_to_mpi(struct incmpi_op *op)
{
	leave_op(op);
	incmpi_stage_free(op);
	incmpi_count(INCMPI_COUNT_WHY + INCMPI_WHY_SHARES, 1);
	return INCMPI_BY_MPI;
}

int incmpi_run(struct incmpi_comm *c, const struct incmpi_call *call)
{
	struct incmpi_op op;
	int ret;

	ret = start_op(&op, c, call);
	if (ret)
		return ret;
	/* it has waited for a while already */
	if (op.req.handle)
		incmpi_skin()->progress();
	while ((ret = inc_wait(&op.req, SLICE_MS)) == -ETIMEDOUT && op.req.handle)
		incmpi_skin()->progress();
	pthread_mutex_lock(&c->lock);
	ret = result_of(&op, ret);
	pthread_mutex_unlock(&c->lock);
	return is_refused(&op, ret) ? give_to_mpi(&op) : end_op(&op, ret);
}

int incmpi_start(struct incmpi_comm *c, const struct incmpi_call *call, struct incmpi_op **out)
{
	struct incmpi_op *op = malloc(sizeof(*op));
	int ret;

	*out = NULL;
	if (!op) {
		incmpi_set_errmsg("%s: no memory", incmpi_fn_name(call->fn));
		incmpi_comm_break(c, incmpi_errmsg());
		return -ENOMEM;
	}
	ret = start_op(op, c, call);
	if (ret) {
		free(op);
		return ret;
	}
	incmpi_comm_get(c);
	*out = op;
	return 0;
}

int incmpi_test(struct incmpi_op *op)
{
	struct incmpi_comm *c = op->comm;
	int ret;

	if (op->ended)
		return op->result;
	pthread_mutex_lock(&c->lock);
	if (!c->group) {
		/* given up, see incmpi_comm_break() */
		incmpi_set_errmsg("%s: the communicator's group has failed: %s",
				  incmpi_fn_name(op->call.fn), c->end);
		ret = -ENOTCONN;
	} else {
		ret = inc_test(&op->req);
		if (ret != -EAGAIN)
			ret = result_of(op, ret);
	}
	pthread_mutex_unlock(&c->lock);
	return ret == -EAGAIN ? ret : end_op(op, ret);
}

void incmpi_pause(struct incmpi_op *op)
{
	struct pollfd pfd = { .fd = -1, .events = POLLIN };

	pthread_mutex_lock(&op->comm->lock);
	if (op->comm->group)
		pfd.fd = inc_fd(op->comm->group);
	pthread_mutex_unlock(&op->comm->lock);
	poll(&pfd, 1, SLICE_MS);
}

void incmpi_op_free(struct incmpi_op *op)
{
	incmpi_comm_put(op->comm);
	free(op);
}
