// SPDX-License-Identifier: LGPL-2.1-or-later
/* Waiting for several operations. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "internal.h"

#define NAP_MS	1
#define AT_ONCE	64	/* requests of one system call, whose completions are on the stack */

/*
 * Looks for a request that has ended: its index, or n. Operations of one group end in their order,
 * so that its oldest is the one to ask for; *@oldest is that of the first request's group, n if all
 * are NULL. *@several: there are requests of other groups, too.
 */
static size_t find_ended(struct inc_request **reqs, size_t n, size_t *oldest, bool *several)
{
	*oldest = n;
	*several = false;
	for (size_t i = 0; i < n; i++) {
		if (!reqs[i])
			continue;
		if (!reqs[i]->handle)
			return i;
		/* stripes end in an order of their own */
		*several |= reqs[i]->group->nstripes;
		if (*oldest == n)
			*oldest = i;
		else if (reqs[i]->group != reqs[*oldest]->group)
			*several = true;
		else if (reqs[i]->handle < reqs[*oldest]->handle)
			*oldest = i;
	}
	for (size_t i = 0; i < n; i++) {
		if (!reqs[i] || (!*several && i != *oldest))
			continue;
		inc_test(reqs[i]);
		if (!reqs[i]->handle)
			return i;
	}
	return n;
}

/* Whose a text is about all of them; NULL: the thread's. */
static struct inc_group *group_of(struct inc_request **reqs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (reqs[i])
			return reqs[i]->group;
	return NULL;
}

/* Adds the group's descriptor unless it is there. Returns how many there are. */
static nfds_t add_group(struct pollfd *fds, nfds_t n, const struct inc_group *group)
{
	for (nfds_t i = 0; i < n; i++)
		if (fds[i].fd == inc_fd(group))
			return n;
	fds[n] = (struct pollfd){ .fd = inc_fd(group), .events = POLLIN };
	return n + 1;
}

/* Until an operation of one of the groups has ended, whoever's it is. */
static int wait_groups(struct inc_request **reqs, size_t n, int64_t deadline)
{
	struct pollfd *fds = calloc(n, sizeof(*fds));
	nfds_t groups = 0;
	int ret;

	if (!fds)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (reqs[i])
			groups = add_group(fds, groups, reqs[i]->group);
	ret = poll(fds, groups, inc_left_ms(deadline));
	free(fds);
	return ret < 0 && errno != EINTR ? -errno : 0;
}

int inc_wait_any(struct inc_request **reqs, size_t n, int timeout_ms, size_t *which)
{
	int64_t deadline = timeout_ms < 0 ? -1 : inc_now_ms() + timeout_ms, nap;
	bool several, polled = false;
	size_t i, oldest;
	int ret = 0;

	if (!which || (n && !reqs))
		return inc_null(NULL, which ? "requests" : "place for the index");
	*which = n;
	if (inc_check_timeout(group_of(reqs, n), timeout_ms))
		return -EINVAL;
	for (;;) {
		i = find_ended(reqs, n, &oldest, &several);
		if (i < n) {
			ret = reqs[i]->result;
			reqs[i] = NULL;
			*which = i;
			return ret;
		}
		if (oldest == n)
			return -ENOENT;
		if (!inc_left_ms(deadline))
			return -ETIMEDOUT;
		/* what others are to collect keeps poll() from waiting: then a nap */
		nap = inc_now_ms() + NAP_MS;
		if (!several)
			inc_wait_until(reqs[oldest], deadline);
		else if (polled)
			inc_wait_until(reqs[oldest],
				       deadline >= 0 && deadline < nap ? deadline : nap);
		else
			ret = wait_groups(reqs, n, deadline);
		if (ret)
			return inc_fail(reqs[oldest]->group, ret, "wait: %s", inc_strerror(ret));
		polled = several && !polled;
	}
}

/*
 * How many of @n requests, at most AT_ONCE, one system call may wait for: of one group that is not
 * striped.
 */
static size_t count_run(struct inc_request **reqs, size_t n)
{
	size_t i;

	for (i = 0; i < n && i < AT_ONCE; i++)
		if (!reqs[i] || !reqs[i]->handle || reqs[i]->parts ||
		    reqs[i]->group != reqs[0]->group)
			break;
	return i;
}

/*
 * Collects what it can of the first of @n in one system call; what is behind that is waited for by
 * itself.
 */
static void wait_run(struct inc_request **reqs, size_t n, int64_t deadline)
{
	struct inc_completion done[AT_ONCE];
	struct inc_wait_many many = {
		.completions = (uintptr_t)done,
		.size = sizeof(done[0]),
		.timeout_ms = inc_left_ms(deadline),
	};
	size_t run = count_run(reqs, n);

	/* one by itself: inc_wait_within() does that */
	if (run < 2)
		return;
	for (size_t i = 0; i < run; i++)
		done[i].handle = reqs[i]->handle;
	many.n = (uint32_t)run;
	ioctl(reqs[0]->group->fd, INC_IOC_WAIT_MANY, &many);
	for (size_t i = 0; i < many.collected; i++)
		inc_request_complete(reqs[i], &done[i]);
}

int inc_wait_all(struct inc_request **reqs, size_t n, int timeout_ms)
{
	int64_t deadline = timeout_ms < 0 ? -1 : inc_now_ms() + timeout_ms;
	int first = 0, ret;

	if (n && !reqs)
		return inc_null(NULL, "requests");
	if (inc_check_timeout(group_of(reqs, n), timeout_ms))
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (!reqs[i])
			continue;
		if (reqs[i]->handle)
			wait_run(reqs + i, n - i, deadline);
		ret = inc_wait_within(reqs[i], deadline, timeout_ms);
		if (reqs[i]->handle)
			return ret;
		if (!first)
			first = ret;
	}
	return first;
}
