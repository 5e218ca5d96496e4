// SPDX-License-Identifier: GPL-2.0-only
/*
 * What inc.h promises to threads, under ThreadSanitizer: several of them submit, wait, look, set
 * limits, read texts, end a group, and join, split off and leave groups of their own, all at once.
 * The kernel is a fake one (the linker's --wrap): a socket is one of a pair, operations end when
 * they are waited for, every eighth fails. Exit status 66 is TSan's own.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <inc.h>

#include "threads.h"

#define ROUNDS	300
#define THREADS	4

/* Each system call is atomic: what the kernel does is not what is looked at here. */
static atomic_ullong handles;
static atomic_int submits, waits, cancels, failures, sockets;

int __wrap_inc_family(void)
{
	return AF_UNIX;
}

int __wrap_socket(int family, int type, int protocol)
{
	int pair[2];

	if (family != AF_UNIX)
		return __real_socket(family, type, protocol);
	if (socketpair(family, type, protocol, pair))
		return -1;
	close(pair[1]);
	atomic_fetch_add(&sockets, 1);
	return pair[0];
}

int __wrap_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	(void)fd;
	(void)addr;
	(void)len;
	return 0;
}

static void complete(struct inc_completion *done, uint64_t handle)
{
	memset(done, 0, sizeof(*done));
	done->handle = handle;
	if (handle % 8)
		return;
	done->result = -EPROTO;
	done->error.code = INC_ERR_MISMATCH;
	done->error.rank[0] = 0;
	done->error.rank[1] = 1;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	struct inc_submit_wait *both;
	struct inc_submit *submit;
	struct inc_wait *wait;
	va_list ap;
	void *arg;

	(void)fd;
	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	switch (request) {
	case INC_IOC_SUBMIT:
		submit = arg;
		submit->handle = atomic_fetch_add(&handles, 1) + 1;
		atomic_fetch_add(&submits, 1);
		return 0;
	case INC_IOC_WAIT:
		wait = arg;
		if (!(atomic_fetch_add(&waits, 1) % 3)) {
			errno = wait->timeout_ms ? EINTR : EAGAIN;
			return -1;
		}
		complete(&wait->completion, wait->handle);
		return 0;
	case INC_IOC_SUBMIT_AND_WAIT:
		both = arg;
		both->submit.handle = atomic_fetch_add(&handles, 1) + 1;
		atomic_fetch_add(&submits, 1);
		complete(&both->wait.completion, both->submit.handle);
		return 0;
	}
	errno = EINVAL;
	return -1;
}

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	struct inc_info *info = value;

	if (level != SOL_INC)
		return __real_getsockopt(fd, level, name, value, len);
	if (name != INC_SO_INFO || *len != sizeof(*info)) {
		errno = EINVAL;
		return -1;
	}
	memset(info, 0, sizeof(*info));
	info->state = INC_STATE_READY;
	return 0;
}

static struct inc_group *join(uint32_t id)
{
	const struct inc_join_opts opts = { .group = id, .size = 2, .parent = "10.0.0.1" };
	struct inc_group *group;

	if (inc_join(&group, &opts)) {
		printf("no group: %s\n", inc_errmsg(NULL));
		exit(1);
	}
	return group;
}

/* Texts of a group are whole: the last one is that of some thread's failure. */
static bool is_whole(const char *text)
{
	static const char tail[] = "as long as it takes";
	size_t len = strlen(text);

	return !*text || (!strncmp(text, "group 1 rank 0: ", 16) && strstr(text, ": operation ")) ||
	       (!strncmp(text, "timeout -1: ", 12) && len > sizeof(tail) &&
		!strcmp(text + len - sizeof(tail) + 1, tail));
}

static void judge(struct inc_group *group, int ret)
{
	const char *text = inc_errmsg(group);

	if (ret == -EPROTO)
		atomic_fetch_add(&failures, 1);
	if ((ret && ret != -EPROTO) || !is_whole(text)) {
		printf("%d: %s\n", ret, text);
		exit(1);
	}
}

static void *blocks(void *arg)
{
	struct inc_group *group = arg;
	float x[4] = { 1 };
	int i;

	for (i = 0; i < ROUNDS; i++)
		judge(group, inc_allreduce(group, INC_IN_PLACE, x, 4, INC_TYPE_F32, INC_OP_SUM));
	return NULL;
}

static void *waits_for(void *arg)
{
	struct inc_group *group = arg;
	struct inc_request a, b, *left;
	uint32_t x = 1, y = 2;
	size_t which;
	int i, ret;

	for (i = 0; i < ROUNDS; i++) {
		if (inc_iallreduce(group, INC_IN_PLACE, &x, 1, INC_TYPE_U32, INC_OP_SUM, &a) ||
		    inc_ibroadcast(group, &y, 1, INC_TYPE_U32, 0, &b))
			exit(1);
		do
			ret = inc_test(&a);
		while (ret == -EAGAIN);
		judge(group, ret);
		left = &b;
		ret = inc_wait_any(&left, 1, -1, &which);
		judge(group, ret);
		judge(group, inc_wait(&b, -1) == ret ? 0 : -EIO);
	}
	return NULL;
}

/* What needs no order among the operations. */
static void *asks(void *arg)
{
	struct inc_group *group = arg;
	struct inc_info info;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		if (inc_set_timeout(group, 1000 * (i % 2)) || inc_info(group, &info) ||
		    inc_rank(group) || inc_size(group) != 2 || inc_group_id(group) != 1 ||
		    inc_fd(group) < 0 || inc_set_timeout(group, -1) != -EINVAL)
			exit(1);
		inc_errmsg(group);
		inc_errmsg(NULL);
		inc_strerror(-EPROTO);
		__real_inc_family();
	}
	return NULL;
}

/* Groups of one's own come and go beside the others'. */
static void *comes(void *arg)
{
	struct inc_group *group;
	int i;

	(void)arg;
	for (i = 0; i < ROUNDS; i++) {
		group = join(2);
		if (inc_close_on_fork(group) || inc_barrier(group) > 0)
			exit(1);
		if (i % 2)
			inc_leave(group);
		else
			inc_abort(group);
	}
	return NULL;
}

static void *ends(void *arg)
{
	int i;

	for (i = 0; i < ROUNDS; i++)
		atomic_fetch_add(&cancels, !inc_cancel(arg));
	return NULL;
}

int main(void)
{
	static void *(*const work[])(void *) = { blocks, waits_for, asks, comes, ends };
	enum { KINDS = sizeof(work) / sizeof(work[0]) };
	pthread_t threads[KINDS * THREADS];
	struct inc_group *group = join(1);
	unsigned int i;

	for (i = 0; i < KINDS * THREADS; i++)
		if (pthread_create(&threads[i], NULL, work[i % KINDS], group))
			return 1;
	for (i = 0; i < KINDS * THREADS; i++)
		pthread_join(threads[i], NULL);
	inc_leave(group);
	/* each thread that submits: 1, 2 and, in groups of their own, 1 operation in a round */
	if (submits != 4 * THREADS * ROUNDS || !failures || cancels != THREADS * ROUNDS ||
	    sockets != THREADS * ROUNDS + 1) {
		printf("%d submits, %d failures, %d cancels, %d sockets\n", submits, failures,
		       cancels, sockets);
		return 1;
	}
	return 0;
}
