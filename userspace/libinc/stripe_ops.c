// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Operations of striped groups. What is one run of elements is divided into one contiguous part per
 * stripe: a result does not depend on where it is cut, since every element is reduced by itself.
 * Everything else, and what is short, goes by one stripe, in turn. How depends on the operation's
 * number and on what all ranks have to agree on anyway, so that they cut alike.
 *
 * If one part fails all stripes are ended: ranks that disagree may have cut in different ways, and
 * what one stripe would take for the next operation could be the rest of this one.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "internal.h"

#define CUT_ALIGN	64	/* elements: parts begin at a multiple of these */
#define CUT_MIN		8192	/* bytes per part, less is not worth the packets */
/* under way, or not collected: as many as the kernel has for each stripe, see inc_icollective() */
#define MOST_OPS	4096
#define NAP_MS		1
/* for the parts of an operation that a rank has ended: one of them may say why */
#define GRACE_MS	200
#define PARTIALS	16	/* as many as the kernel knows */

/* Whose contributions a result is of, if not of all. */
struct inc_partial_result {
	uint64_t handle;
	uint32_t missing;
	uint32_t ranks[INC_MAX_RANKS / 32];
};

/* ---- Cutting ------------------------------------------------------------- */

static bool is_cut(const struct inc_group *group, const struct inc_submit *op)
{
	switch (op->coll) {
	case INC_COLL_ALLREDUCE:
	case INC_COLL_REDUCE:
	case INC_COLL_BROADCAST:
	case INC_COLL_SCAN:
	case INC_COLL_EXSCAN:
		/* as it travels, which all ranks agree on */
		return op->count * inc_type_size(op->wire ? op->wire : op->type) >=
		       (uint64_t)CUT_MIN * group->nstripes;
	default:
		return false;
	}
}

static uint64_t shift_addr(uint64_t addr, uint64_t bytes)
{
	return addr && addr != (uintptr_t)INC_IN_PLACE ? addr + bytes : addr;
}

/* Part @i of @n. */
static struct inc_submit cut_part(const struct inc_submit *op, unsigned int i, unsigned int n)
{
	uint64_t each = (op->count + n - 1) / n, elem = inc_type_size(op->type), from;
	struct inc_submit part = *op;

	each = (each + CUT_ALIGN - 1) / CUT_ALIGN * CUT_ALIGN;
	from = each * i < op->count ? each * i : op->count;
	part.mode |= INC_MODE_PART;
	part.count = op->count - from < each ? op->count - from : each;
	part.send = shift_addr(op->send, from * elem);
	part.recv = shift_addr(op->recv, from * elem);
	return part;
}

/* In the list of its group, which frees what a program has forgotten. */
static void link_parts(struct inc_group *group, struct inc_parts *parts)
{
	pthread_mutex_lock(&group->order);
	parts->next = group->parts;
	if (parts->next)
		parts->next->prev = parts;
	group->parts = parts;
	pthread_mutex_unlock(&group->order);
}

void inc_parts_drop(struct inc_request *req)
{
	struct inc_parts *parts = req->parts;
	struct inc_group *group = req->group;

	if (!parts)
		return;
	req->parts = NULL;
	pthread_mutex_lock(&group->order);
	if (parts->prev)
		parts->prev->next = parts->next;
	else
		group->parts = parts->next;
	if (parts->next)
		parts->next->prev = parts->prev;
	pthread_mutex_unlock(&group->order);
	free(parts);
}

int inc_parts_make(struct inc_request *req)
{
	struct inc_group *group = req->group;
	struct inc_parts *parts = calloc(1, sizeof(*parts));

	if (!parts)
		return inc_fail(group, -ENOMEM, "%s: no memory",
				inc_coll_name(req->submit.coll));
	parts->cut = is_cut(group, &req->submit);
	for (unsigned int i = 0; i < group->nstripes; i++) {
		struct inc_request *part = &parts->part[i];

		part->group = group->stripe[i];
		part->submit = parts->cut ? cut_part(&req->submit, i, group->nstripes) :
					    req->submit;
		part->prepared = 1;
	}
	req->parts = parts;
	link_parts(group, parts);
	return 0;
}

void inc_parts_keep(struct inc_request *req, uint64_t send, uint64_t recv)
{
	struct inc_parts *parts = req->parts;

	for (unsigned int i = 0; i < req->group->nstripes; i++) {
		struct inc_request *part = &parts->part[i];
		uint64_t bytes = part->submit.count * inc_type_size(part->submit.type);

		if (parts->cut)
			inc_memory_keep(part, send ? bytes : 0, recv ? bytes : 0);
		else
			inc_memory_keep(part, send, recv);
	}
}

void inc_parts_release(struct inc_request *req)
{
	for (unsigned int i = 0; req->parts && i < req->group->nstripes; i++)
		inc_release(&req->parts->part[i]);
	inc_parts_drop(req);
}

/* ---- Running ------------------------------------------------------------- */

static bool is_active(const struct inc_parts *parts, unsigned int i)
{
	return parts->active >> i & 1;
}

/* What has ended of it is no longer active; the first failure counts. */
static void note_ended(struct inc_parts *parts, unsigned int i)
{
	int result = parts->part[i].result;

	parts->active &= ~(1u << i);
	if (result >= 0)
		return;
	/* that a rank has ended it is why, if nothing else says it */
	if (!parts->failed ||
	    (parts->part[parts->worst].result == -ECONNRESET && result != -ECONNRESET))
		parts->worst = i;
	parts->failed = true;
}

static void test_parts(struct inc_request *req)
{
	struct inc_parts *parts = req->parts;

	for (unsigned int i = 0; i < req->group->nstripes; i++)
		if (is_active(parts, i) && inc_test(&parts->part[i]) != -EAGAIN)
			note_ended(parts, i);
}

/* Until the parts that go on have ended, or @deadline (< 0: none) has passed. */
static void await_parts(struct inc_request *req, int64_t deadline)
{
	struct inc_parts *parts = req->parts;

	for (unsigned int i = 0; i < req->group->nstripes; i++) {
		if (!is_active(parts, i))
			continue;
		inc_wait_until(&parts->part[i], deadline);
		if (!parts->part[i].handle)
			note_ended(parts, i);
	}
}

/* The group is over. */
static void end_parts(struct inc_request *req)
{
	struct inc_parts *parts = req->parts;

	if (parts->active && parts->part[parts->worst].result == -ECONNRESET)
		await_parts(req, inc_now_ms() + GRACE_MS);
	inc_stripes_cancel(req->group);
	await_parts(req, -1);
}

/* Those that have all: each part lacks those that were late for it. */
static uint32_t note_partial(struct inc_request *req)
{
	struct inc_group *group = req->group;
	struct inc_partial_result result = { .handle = req->handle };
	uint32_t ranks[INC_MAX_RANKS / 32], size = inc_size(group);

	memset(result.ranks, 0xff, sizeof(result.ranks));
	for (unsigned int i = 0; i < group->nstripes; i++) {
		struct inc_request *part = &req->parts->part[i];

		if (part->result <= 0 ||
		    inc_contributed(part->group, part, ranks, INC_MAX_RANKS / 32) < 0)
			continue;
		for (unsigned int j = 0; j < INC_MAX_RANKS / 32; j++)
			result.ranks[j] &= ranks[j];
	}
	for (uint32_t i = 0; i < size; i++)
		result.missing += !(result.ranks[i / 32] >> (i % 32) & 1);
	for (uint32_t i = size; i < INC_MAX_RANKS; i++)
		result.ranks[i / 32] &= ~(1u << (i % 32));
	pthread_mutex_lock(&group->order);
	if (!group->partials)
		group->partials = calloc(PARTIALS, sizeof(*group->partials));
	if (group->partials)
		group->partials[group->npartials++ % PARTIALS] = result;
	pthread_mutex_unlock(&group->order);
	return result.missing;
}

int inc_parts_contributed(struct inc_group *group, uint64_t handle, uint32_t *ranks, size_t words)
{
	int ret = -ENOENT;

	pthread_mutex_lock(&group->order);
	for (unsigned int i = 0; i < PARTIALS && i < group->npartials; i++) {
		const struct inc_partial_result *p =
			&group->partials[(group->npartials - 1 - i) % PARTIALS];

		if (handle && p->handle != handle)
			continue;
		memcpy(ranks, p->ranks, (words < INC_MAX_RANKS / 32 ? words : INC_MAX_RANKS / 32) *
		       sizeof(*ranks));
		ret = (int)p->missing;
		break;
	}
	pthread_mutex_unlock(&group->order);
	return ret < 0 ? inc_contributed_failed(group, ret, handle) : ret;
}

/*
 * The text of a part becomes the request's: what the stripe has done may be less than the caller's
 * operation, of which it is said.
 */
static int part_failed(struct inc_request *req, struct inc_request *part, int err)
{
	const char *text = inc_errmsg(part->group);
	char what[OP_LEN], whose[OP_LEN + 64];
	struct inc_group *group = req->group;
	size_t len;

	inc_format_op(what, sizeof(what), &part->submit);
	len = (size_t)snprintf(whose, sizeof(whose), "group %u rank %u: %s: ",
			       part->group->addr.sinc_group, part->group->addr.sinc_rank, what);
	if (!strncmp(text, whose, len))
		text += len;
	inc_format_op(what, sizeof(what), &req->submit);
	return inc_fail(group, err, "group %u rank %u: %s: stripe %u of %u: %s",
			group->addr.sinc_group, group->addr.sinc_rank, what, part->group->index,
			group->nstripes, text);
}

/* All parts have ended. */
static int finish_parts(struct inc_request *req)
{
	struct inc_group *group = req->group;
	struct inc_parts *parts = req->parts;
	struct inc_request *late = NULL, *worst = &parts->part[parts->worst];

	for (unsigned int i = 0; i < group->nstripes; i++)
		if (parts->started >> i & 1 && parts->part[i].result > 0)
			late = &parts->part[i];
	if (parts->failed)
		req->result = part_failed(req, worst, worst->result);
	else if (late)
		req->result = part_failed(req, late, (int)note_partial(req));
	else
		req->result = 0;
	req->ended = req->handle;
	req->handle = 0;
	__atomic_sub_fetch(&group->under_way, 1, __ATOMIC_RELAXED);
	if (!req->prepared)
		inc_parts_drop(req);
	return req->result;
}

/* Submits parts @first .. @last. What has begun then is in parts->started. With the lock. */
static int submit_parts(struct inc_request *req, unsigned int first, unsigned int last)
{
	struct inc_parts *parts = req->parts;
	int ret = 0;

	parts->started = 0;
	parts->failed = false;
	parts->worst = 0;
	for (unsigned int i = first; i <= last && !ret; i++) {
		parts->part[i].result = 0;
		/* there may be fewer elements than parts */
		if (parts->cut && !parts->part[i].submit.count)
			continue;
		ret = inc_start(&parts->part[i]);
		if (!ret)
			parts->started |= 1u << i;
		else
			parts->worst = i;
	}
	parts->active = parts->started;
	return ret;
}

/* Stripes may lack different things: what one of them does not reduce begins in none. */
static int refuse_lacking(struct inc_request *req)
{
	struct inc_group *group = req->group;
	const struct inc_info info = { .lacks = group->lacks };
	char what[OP_LEN], why[256];

	inc_format_op(what, sizeof(what), &req->submit);
	inc_why_unsupported(why, sizeof(why), &req->submit, &info);
	req->result = inc_fail(group, -EOPNOTSUPP, "group %u rank %u: %s: %s",
			       group->addr.sinc_group, group->addr.sinc_rank, what, why);
	if (!req->prepared)
		inc_parts_drop(req);
	return req->result;
}

int inc_parts_start(struct inc_request *req)
{
	struct inc_group *group = req->group;
	struct inc_parts *parts = req->parts;
	unsigned int first, last;
	int ret;

	if (inc_is_lacking(&req->submit, &group->lacks))
		return refuse_lacking(req);

	if (__atomic_add_fetch(&group->under_way, 1, __ATOMIC_RELAXED) > MOST_OPS) {
		__atomic_sub_fetch(&group->under_way, 1, __ATOMIC_RELAXED);
		req->result = inc_fail(group, -EAGAIN, "%d operations are under way", MOST_OPS);
		if (!req->prepared)
			inc_parts_drop(req);
		return req->result;
	}
	pthread_mutex_lock(&group->order);
	first = parts->cut ? 0 : group->turn % group->nstripes;
	last = parts->cut ? group->nstripes - 1 : first;
	ret = submit_parts(req, first, last);
	if (!ret || parts->started) {
		group->turn++;
		req->handle = ++group->last_handle;
	}
	pthread_mutex_unlock(&group->order);
	if (!ret)
		return 0;
	parts->failed = true;
	/* where nothing has begun nothing has happened, unless that stripe is over */
	if (parts->started || inc_stripe_is_over(group->stripe[parts->worst]))
		end_parts(req);
	return finish_parts(req);
}

/* Until something may have changed. @nap: poll() has told of what others have to collect. */
static void await_change(struct inc_request *req, int64_t deadline, bool nap)
{
	struct inc_parts *parts = req->parts;
	struct pollfd fds[INC_MAX_STRIPES];
	int64_t soon = inc_now_ms() + NAP_MS;
	unsigned int last = 0;
	nfds_t n = 0;

	for (unsigned int i = 0; i < req->group->nstripes; i++) {
		if (!is_active(parts, i))
			continue;
		fds[n++] = (struct pollfd){ .fd = parts->part[i].group->fd, .events = POLLIN };
		last = i;
	}
	if (n == 1)
		inc_wait_until(&parts->part[last], deadline);
	else if (nap)
		inc_wait_until(&parts->part[last],
			       deadline >= 0 && deadline < soon ? deadline : soon);
	else
		poll(fds, n, inc_left_ms(deadline));
}

int inc_parts_wait(struct inc_request *req, int64_t deadline, bool look)
{
	bool polled = false, nap;
	unsigned int before;

	for (;;) {
		before = req->parts->active;
		test_parts(req);
		if (req->parts->failed)
			end_parts(req);
		if (!req->parts->active || req->parts->failed)
			return finish_parts(req);
		if (look)
			return -EAGAIN;
		if (!inc_left_ms(deadline))
			return -ETIMEDOUT;
		nap = polled && req->parts->active == before;
		await_change(req, deadline, nap);
		polled = !nap;
	}
}
