// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Striped groups: a struct inc_group that owns several, its stripes, each with a socket, and with a
 * tree of nodes of its own. To the program they are one: what ends one of them ends all, at all
 * ranks. Its descriptor is an epoll one of theirs. Operations are in stripe_ops.c.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "internal.h"

int inc_stripe_failed(struct inc_group *group, const struct inc_group *stripe, int err)
{
	return inc_fail(group, err, "%.*s (stripe %u of %u)", ERRMSG_LEN - 32,
			inc_errmsg((struct inc_group *)stripe), stripe->index, group->nstripes);
}

/* What makes the group's descriptor readable. */
static int watch_stripe(struct inc_group *group, struct inc_group *stripe, int op, uint32_t events)
{
	struct epoll_event event = { .events = events };

	return epoll_ctl(group->fd, op, stripe->fd, &event) < 0 ? -errno : 0;
}

static int add_stripe(struct inc_group *group, const struct inc_target *to, bool launched)
{
	struct inc_group *stripe;
	int ret = inc_join_target(&stripe, to, launched);

	if (ret)
		return ret;
	stripe->index = group->nstripes;
	group->stripe[group->nstripes++] = stripe;
	ret = watch_stripe(group, stripe, EPOLL_CTL_ADD, EPOLLOUT);
	return ret ? inc_fail(NULL, ret, "epoll_ctl: %s", inc_strerror(ret)) : 0;
}

int inc_join_targets(struct inc_group **out, const struct inc_target *to, unsigned int n,
		     bool launched)
{
	int fd, ret = 0;

	if (n <= 1)
		return inc_join_target(out, to, launched);
	*out = NULL;
	fd = epoll_create1(EPOLL_CLOEXEC);
	if (fd < 0)
		return inc_fail(NULL, -errno, "epoll_create1: %s", inc_strerror(errno));
	*out = inc_group_alloc(to, fd);
	if (!*out) {
		close(fd);
		return inc_fail(NULL, -ENOMEM, "out of memory");
	}
	for (unsigned int i = 0; i < n && !ret; i++)
		ret = add_stripe(*out, &to[i], launched);
	if (!ret)
		return 0;
	inc_group_free(*out);
	*out = NULL;
	return ret;
}

/* Why a stripe that was there is over: what an operation of it would end with, and the text. */
static int why_over(const struct inc_group *group, struct inc_group *stripe,
		    const struct inc_info *info)
{
	const struct inc_error_info *error = &info->error;
	int err = -ECONNRESET;
	char text[256] = "";

	if (error->code == INC_ERR_NODE_DEAD || error->code == INC_ERR_NODE_GONE)
		err = -EHOSTDOWN;
	else if (error->code == INC_ERR_RANK_ABORT && error->rank[0] == inc_rank(group))
		err = -ECANCELED;
	inc_append_cause(text, sizeof(text), error, NULL);
	return inc_fail(stripe, err, "join group %u as rank %u of %u: %s", inc_group_id(group),
			inc_rank(group), inc_size(group), text);
}

/*
 * The others of a stripe that has joined and is over will not come any more, and its descriptor
 * would keep who polls from waiting. 0: there is none.
 */
static int look_at_joined(struct inc_group *group)
{
	struct inc_info info;

	for (unsigned int i = 0; i < group->nstripes; i++) {
		struct inc_group *stripe = group->stripe[i];

		if (!stripe->joined || inc_ask_info(stripe, &info) ||
		    info.state != INC_STATE_FAILED)
			continue;
		return inc_stripe_failed(group, stripe, why_over(group, stripe, &info));
	}
	return 0;
}

/* One look at each: -EAGAIN as long as one has not joined and none has failed. */
static int look_at_joins(struct inc_group *group)
{
	int ret, all = 0;

	for (unsigned int i = 0; i < group->nstripes; i++) {
		struct inc_group *stripe = group->stripe[i];

		ret = stripe->joined ? 0 : inc_join_poll(stripe, 0);
		if (ret && ret != -EAGAIN)
			return inc_stripe_failed(group, stripe, ret);
		if (ret)
			all = ret;
		else
			watch_stripe(group, stripe, EPOLL_CTL_MOD, 0);
	}
	return all ? look_at_joined(group) ?: all : 0;
}

static int join_timed_out(struct inc_group *group)
{
	for (unsigned int i = 0; i < group->nstripes; i++)
		if (!group->stripe[i]->joined) {
			inc_join_failed(group->stripe[i], -ETIMEDOUT);
			return inc_stripe_failed(group, group->stripe[i], -ETIMEDOUT);
		}
	return -ETIMEDOUT;
}

int inc_stripes_join_poll(struct inc_group *group, int64_t deadline, bool look)
{
	struct pollfd pfd = { .fd = group->fd, .events = POLLIN };
	struct inc_info info;
	bool over;
	int ret;

	for (;;) {
		/* whether or not poll() has waited */
		over = !inc_left_ms(deadline);
		ret = look_at_joins(group);
		if (ret != -EAGAIN)
			break;
		if (look)
			return -EAGAIN;
		if (over)
			return join_timed_out(group);
		if (poll(&pfd, 1, inc_left_ms(deadline)) < 0 && errno != EINTR)
			return inc_fail(group, -errno, "poll: %s", inc_strerror(errno));
	}
	if (ret)
		return ret;
	for (unsigned int i = 0; i < group->nstripes; i++)
		watch_stripe(group, group->stripe[i], EPOLL_CTL_MOD, EPOLLIN);
	/* it is so for the life of the group */
	ret = inc_info(group, &info);
	if (ret)
		return ret;
	group->lacks = info.lacks;
	group->joined = true;
	return 0;
}

/*
 * The first stripe's end may have another thread leave, and free the group: that waits until all
 * sockets have been seen to. A signal handler may be the caller, so there is no lock.
 */
int inc_stripes_cancel(struct inc_group *group)
{
	int ret = 0;

	__atomic_add_fetch(&group->cancels, 1, __ATOMIC_SEQ_CST);
	for (unsigned int i = 0; i < group->nstripes; i++)
		if (shutdown(group->stripe[i]->fd, SHUT_RDWR) < 0)
			ret = -errno;
	__atomic_sub_fetch(&group->cancels, 1, __ATOMIC_SEQ_CST);
	return ret;
}

void inc_stripes_free(struct inc_group *group)
{
	while (__atomic_load_n(&group->cancels, __ATOMIC_SEQ_CST))
		sched_yield();
	for (unsigned int i = 0; i < group->nstripes; i++)
		inc_group_free(group->stripe[i]);
	for (struct inc_parts *parts = group->parts, *next; parts; parts = next) {
		next = parts->next;
		free(parts);
	}
	free(group->striped_regions);
	free(group->partials);
}

/*
 * How much there is to say of a stripe that the program should know: more of one that has failed,
 * or has not joined, or has moved.
 */
static int rank_info(const struct inc_info *info)
{
	if (info->state == INC_STATE_FAILED)
		return 3;
	if (info->state != INC_STATE_READY)
		return 2;
	return info->placement != INC_PLACEMENT_NODE;
}

int inc_stripes_info(const struct inc_group *group, struct inc_info *info)
{
	struct inc_info one, sum = { .srtt_us = 0 };
	int ret;

	memset(info, 0, sizeof(*info));
	for (unsigned int i = 0; i < group->nstripes; i++) {
		ret = inc_ask_info(group->stripe[i], &one);
		if (ret)
			return ret;
		if (!i || rank_info(&one) > rank_info(info))
			*info = one;
		if (one.srtt_us > sum.srtt_us)
			sum.srtt_us = one.srtt_us;
		sum.submitted += one.submitted;
		sum.completed += one.completed;
		sum.blocks_sent += one.blocks_sent;
		sum.blocks_resent += one.blocks_resent;
		sum.lacks.types |= one.lacks.types;
		sum.lacks.ops |= one.lacks.ops;
	}
	info->lacks = sum.lacks;
	info->srtt_us = sum.srtt_us;
	info->submitted = sum.submitted;
	info->completed = sum.completed;
	info->blocks_sent = sum.blocks_sent;
	info->blocks_resent = sum.blocks_resent;
	return 0;
}

bool inc_stripe_is_over(const struct inc_group *stripe)
{
	struct inc_info info;

	return !inc_ask_info(stripe, &info) && info.state == INC_STATE_FAILED;
}

/* ---- Registered memory --------------------------------------------------- */

/* What a program has registered with a striped group: its ids in each stripe, 0 if it has none. */
struct inc_striped_region {
	uint32_t id[INC_MAX_STRIPES];
	bool used;
};

static int unregister_all(struct inc_group *group, struct inc_striped_region *r)
{
	int ret;

	for (unsigned int i = 0; i < group->nstripes; i++) {
		ret = r->id[i] ? inc_unregister(group->stripe[i], r->id[i]) : 0;
		if (ret)
			return inc_stripe_failed(group, group->stripe[i], ret);
		r->id[i] = 0;
	}
	r->used = false;
	return 0;
}

/* The number of an entry that is not in use, from 1 on; 0: no memory. With the lock. */
static uint32_t find_entry(struct inc_group *group)
{
	struct inc_striped_region *more;
	size_t n = group->nstriped_regions;

	for (size_t i = 0; i < n; i++)
		if (!group->striped_regions[i].used)
			return (uint32_t)i + 1;
	more = realloc(group->striped_regions, (n + 8) * sizeof(*more));
	if (!more)
		return 0;
	memset(more + n, 0, 8 * sizeof(*more));
	group->striped_regions = more;
	group->nstriped_regions = n + 8;
	return (uint32_t)n + 1;
}

int inc_stripes_register(struct inc_group *group, const void *addr, uint64_t len, uint32_t flags,
			 uint32_t *id)
{
	struct inc_striped_region r = { .used = true };
	int ret = 0;

	for (unsigned int i = 0; i < group->nstripes; i++) {
		ret = inc_register(group->stripe[i], addr, len, flags, &r.id[i]);
		if (!ret)
			continue;
		inc_stripe_failed(group, group->stripe[i], ret);
		unregister_all(group, &r);
		return ret;
	}
	pthread_mutex_lock(&group->memory);
	*id = find_entry(group);
	if (*id)
		group->striped_regions[*id - 1] = r;
	pthread_mutex_unlock(&group->memory);
	if (*id)
		return 0;
	unregister_all(group, &r);
	return inc_fail(group, -ENOMEM, "register: no memory");
}

int inc_stripes_unregister(struct inc_group *group, uint32_t id)
{
	struct inc_striped_region *r = NULL;
	int ret;

	pthread_mutex_lock(&group->memory);
	if (id && id <= group->nstriped_regions && group->striped_regions[id - 1].used)
		r = &group->striped_regions[id - 1];
	/* what an operation holds in one stripe is kept there: the call can be repeated */
	ret = r ? unregister_all(group, r) : -ENOENT;
	pthread_mutex_unlock(&group->memory);
	if (ret == -EBUSY)
		return inc_fail(group, ret, "unregister: an operation on memory %u has not ended",
				id);
	return r ? ret : inc_fail(group, ret, "unregister: memory %u: there is none", id);
}
