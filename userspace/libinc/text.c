// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Words: names of types, operations and collectives, and the texts of errors. A failure is kept
 * whole where it happened, in the group or in the thread, because a number cannot name two ranks
 * and what each of them wanted.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static __thread char thread_errmsg[ERRMSG_LEN];

static const struct {
	const char *name;
	size_t size;
} types[] = {
#define INC_TYPE(number, name, bytes) [number] = { name, bytes },
#include <linux/inc_names.h>
#undef INC_TYPE
};

static const char * const ops[] = {
#define INC_OP(number, name) [number] = name,
#include <linux/inc_names.h>
#undef INC_OP
};

static const char * const colls[] = {
#define INC_COLL(number, name) [number] = name,
#include <linux/inc_names.h>
#undef INC_COLL
};

static const char * const errors[] = {
#define INC_ERROR(number, text) [number] = text,
#include <linux/inc_names.h>
#undef INC_ERROR
};

static_assert(ARRAY_SIZE(types) == __INC_TYPE_MAX, "a type has no name");
static_assert(ARRAY_SIZE(ops) == __INC_OP_MAX, "an operation has no name");
static_assert(ARRAY_SIZE(colls) == __INC_COLL_MAX, "a collective has no name");
static_assert(ARRAY_SIZE(errors) == __INC_ERR_MAX, "an error has no text");

const char *inc_type_name(enum inc_type type)
{
	return (size_t)type < ARRAY_SIZE(types) ? types[type].name : NULL;
}

size_t inc_type_size(enum inc_type type)
{
	return (size_t)type < ARRAY_SIZE(types) ? types[type].size : 0;
}

const char *inc_op_name(enum inc_op op)
{
	return (size_t)op < ARRAY_SIZE(ops) ? ops[op] : NULL;
}

const char *inc_coll_name(enum inc_coll coll)
{
	return (size_t)coll < ARRAY_SIZE(colls) ? colls[coll] : NULL;
}

int inc_type_parse(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (name && types[i].name && !strcmp(types[i].name, name))
			return (int)i;
	return -EINVAL;
}

int inc_op_parse(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		if (name && ops[i] && !strcmp(ops[i], name))
			return (int)i;
	return -EINVAL;
}

int inc_coll_parse(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(colls); i++)
		if (name && colls[i] && !strcmp(colls[i], name))
			return (int)i;
	return -EINVAL;
}

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
		return "no parent is configured: inc parent set ADDR";
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
	case ESTALE:
		return "this rank is out: the group went on without it";
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
		return "a limit of this network namespace is reached (inc limits show), or memory is short";
	case EDQUOT:
		return "a limit of this user is reached (inc limits show)";
	case ENOSPC:
		return "the node has as many groups as it may";
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

/* To the end of the text that is in @buf. */
void inc_append(char *buf, size_t len, const char *fmt, ...)
{
	size_t at = strnlen(buf, len);
	va_list args;

	if (at == len)
		return;
	va_start(args, fmt);
	vsnprintf(buf + at, len - at, fmt, args);
	va_end(args);
}

/*
 * "allreduce f32 sum 4096 as bf16", "broadcast i32 10 root 3", "gather f64 per-rank counts root 0",
 * "barrier"
 */
void inc_format_op(char *buf, size_t len, const struct inc_submit *op)
{
	snprintf(buf, len, "%s", inc_coll_name(op->coll) ?: "unknown collective");
	if (op->type)
		inc_append(buf, len, " %s", inc_type_name(op->type) ?: "unknown type");
	if (op->op)
		inc_append(buf, len, " %s", inc_op_name(op->op) ?: "unknown operation");
	if (op->mode & INC_MODE_COUNTS)
		inc_append(buf, len, " per-rank counts");
	else if (op->type)
		inc_append(buf, len, " %llu", (unsigned long long)op->count);
	if (op->wire && op->wire != op->type)
		inc_append(buf, len, " as %s", inc_type_name(op->wire) ?: "unknown type");
	if (op->mode & INC_MODE_SATURATE)
		inc_append(buf, len, " saturating");
	if (op->root || inc_shape(op->coll)->rooted)
		inc_append(buf, len, " root %u", op->root);
}

/*
 * "rank 2: allreduce f32 sum 4096"; with the hash of per-rank counts where that is all that
 * differs.
 */
static void append_side(char *buf, size_t len, const struct inc_error_info *e, int side)
{
	const struct inc_submit op = {
		.coll = e->desc[side].coll, .type = e->desc[side].type, .op = e->desc[side].op,
		.wire = e->desc[side].wire, .mode = e->desc[side].mode, .root = e->desc[side].root,
		.count = e->desc[side].count,
	};
	char text[OP_LEN];

	inc_format_op(text, sizeof(text), &op);
	if (e->rank[side] != ~0U)
		inc_append(buf, len, "rank %u: ", e->rank[side]);
	inc_append(buf, len, "%s", text);
	if (op.mode & e->desc[!side].mode & INC_MODE_COUNTS &&
	    e->desc[0].counts != e->desc[1].counts)
		inc_append(buf, len, " (hash %08x)", e->desc[side].counts);
}

static void append_rank(char *buf, size_t len, const struct inc_error_info *e, const char *what)
{
	/* Of two descriptors it is the LEAVE that tells who has left. */
	uint32_t who = e->rank[e->code == INC_ERR_LEFT && e->desc[1].coll == INC_COLL_LEAVE];

	if (who == ~0U)
		inc_append(buf, len, "a rank %s", what);
	else
		inc_append(buf, len, "rank %u %s", who, what);
}

/*
 * "rank 2: allreduce f32 sum 4096, rank 0: allreduce f32 sum 4097: ranks disagree about the
 * operation"
 */
void inc_format_error(char *buf, size_t len, const struct inc_error_info *e)
{
	const char *what = e->code < ARRAY_SIZE(errors) && errors[e->code] ? errors[e->code] :
									     "unknown error";

	if (e->code == INC_ERR_NONE) {
		snprintf(buf, len, "no error");
		return;
	}
	snprintf(buf, len, "operation %u: ", e->opseq);
	switch (e->code) {
	case INC_ERR_MISMATCH:
		append_side(buf, len, e, 0);
		inc_append(buf, len, ", ");
		append_side(buf, len, e, 1);
		inc_append(buf, len, ": %s", what);
		break;
	case INC_ERR_UNSUPPORTED:
		if (e->desc[0].coll) {
			append_side(buf, len, e, 0);
			inc_append(buf, len, ": ");
		}
		inc_append(buf, len, "%s", what);
		break;
	case INC_ERR_CANCELED:
	case INC_ERR_NODE_DEAD:
	case INC_ERR_NODE_GONE:
		inc_append(buf, len, "%s", what);
		break;
	case INC_ERR_COUNTS:
		if (e->rank[1] == ~0U)
			append_rank(buf, len, e, what);
		else
			inc_append(buf, len,
				   "rank %u sends rank %u another count than that expects",
				   e->rank[0], e->rank[1]);
		break;
	default:
		append_rank(buf, len, e, what);
	}
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
