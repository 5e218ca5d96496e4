// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Texts of results. A failure is kept whole where it happened, in the group or in the thread,
 * because a number cannot name two ranks and what each of them wanted.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

static __thread char thread_errmsg[ERRMSG_LEN];

const char *inc_version(void)
{
	return INC_VERSION;
}

const char *inc_strerror(int err)
{
	switch (err < 0 ? -err : err) {
	case 0:
		return "success";
	case EAFNOSUPPORT:
		return "the kernel has no AF_INC: modprobe inc";
	case ENETUNREACH:
		return "no parent is configured (inc parent set ADDR), or no route leads to it";
	case ENONET:
		return "the parent's name cannot be looked up for now";
	case EHOSTUNREACH:
		return "the parent does not answer, or is no node";
	case ECONNREFUSED:
		return "the parent is no node";
	case EHOSTDOWN:
		return "the node has died or was removed";
	case ECONNRESET:
		return "a rank has died or left";
	case ETIME:
		return "a rank was too late";
	case EADDRINUSE:
		return "this rank of the group is taken";
	case EADDRNOTAVAIL:
		return "it is the address of no host";
	case ENOTUNIQ:
		return "another program has INC's UDP port";
	case ESTALE:
		return "this rank is out: the group went on without it";
	case EFAULT:
		return "no such memory, or none that the kernel can pin";
	case EPROTOTYPE:
		return "other ranks have joined with another number of stripes";
	case EPROTO:
		return "ranks disagree about the operation";
	case ECANCELED:
		return "an operation before this one failed";
	case EMSGSIZE:
		return "a rank sends another count than is expected of it";
	case EOPNOTSUPP:
		return "no reduction kernel for this type and operation";
	case ENOTCONN:
		return "not joined";
	case ENOBUFS:
		return "a limit of this namespace is reached (inc limits show), or memory is short";
	case EDQUOT:
		return "a limit of this user is reached (inc limits show)";
	case ENOSPC:
		return "the node, or its machine, has as many groups as it may";
	default:
		/* The C library's table: strerror() is not thread-safe, this is. */
		return strerrordesc_np(err < 0 ? -err : err) ?: "unknown error";
	}
}

/* Keeps the text where inc_errmsg() finds it, and returns @err. */
int inc_fail(struct inc_group *group, int err, const char *fmt, ...)
{
	char text[ERRMSG_LEN];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);

	if (!group) {
		memcpy(thread_errmsg, text, sizeof(text));
		return err;
	}
	pthread_mutex_lock(&group->lock);
	memcpy(group->errmsg, text, sizeof(text));
	pthread_mutex_unlock(&group->lock);
	return err;
}

int inc_null(struct inc_group *group, const char *what)
{
	return inc_fail(group, -EINVAL, "the %s is NULL", what);
}

int inc_check_timeout(struct inc_group *group, int timeout_ms)
{
	return timeout_ms >= -1 ? 0 :
	       inc_fail(group, -EINVAL, "timeout %d: expected milliseconds, or -1 for no limit",
			timeout_ms);
}

const char *inc_errmsg(struct inc_group *group)
{
	static __thread char copy[ERRMSG_LEN];

	if (!group)
		return thread_errmsg;
	pthread_mutex_lock(&group->lock);
	memcpy(copy, group->errmsg, sizeof(copy));
	pthread_mutex_unlock(&group->lock);
	return copy;
}

void inc_format_parent(char *buf, size_t len, unsigned int family, const void *addr,
		       unsigned int port)
{
	char text[INET6_ADDRSTRLEN];

	if (!family || !inet_ntop(family, addr, text, sizeof(text)))
		snprintf(buf, len, "the default parent");
	else if (port && port != INC_PORT)
		snprintf(buf, len, family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, port);
	else
		snprintf(buf, len, "%s", text);
}
