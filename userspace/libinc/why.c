// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * inc_why(): would the network do it? The checks stand in the order in which a program would run into them, and the
 * first that says no gives the answer.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "internal.h"

#define PROBE_MS 3000

struct answer {
	char *buf;
	size_t len;
};

static __printf(3, 4) int say(const struct answer *answer, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (answer->len)
		vsnprintf(answer->buf, answer->len, fmt, args);
	va_end(args);
	return err;
}

static int check_kernel(const struct answer *answer, enum inc_coll coll, enum inc_type type, enum inc_op op)
{
	const char *type_name = inc_type_name(type), *op_name = inc_op_name(op);
	struct inc_caps caps = { .family = 0 };

	if (coll == INC_COLL_BARRIER) {
		type_name = "";
		op_name = "";
	}
	if (!type_name)
		return say(answer, -EINVAL, "type %d: no such type, expected 1..%d", (int)type, INC_TYPE_MAX);
	if (!op_name)
		return say(answer, -EINVAL, "operation %d: no such operation, expected 1..%d", (int)op,
			   __INC_OP_MAX - 1);
	snprintf(caps.type, sizeof(caps.type), "%s", type_name);
	snprintf(caps.op, sizeof(caps.op), "%s", op_name);
	if (inc_caps_get(&caps))
		return say(answer, -EAFNOSUPPORT, "the module is not loaded: modprobe inc");
	if (coll != INC_COLL_BARRIER && !caps.variant[0])
		return say(answer, -EOPNOTSUPP, "no reduction kernel for %s %s in this version (inc caps show)",
			   type_name, op_name);
	return 0;
}

static int check_call(const struct answer *answer, enum inc_coll coll, uint64_t count)
{
	const char *name = inc_coll_name(coll);

	if (!name)
		return say(answer, -EINVAL, "collective %d: no such collective, expected 1..%d", (int)coll,
			   INC_COLL_MAX);
	if (coll != INC_COLL_ALLREDUCE && coll != INC_COLL_BARRIER)
		return say(answer, -EOPNOTSUPP, "%s: not implemented in this version", name);
	if (count > INC_MAX_COUNT)
		return say(answer, -EINVAL, "count %llu: expected 0..%llu elements", (unsigned long long)count,
			   INC_MAX_COUNT);
	return 0;
}

static int check_member(const struct answer *answer, struct inc_group *group)
{
	struct inc_info info;
	char text[256];

	if (inc_info(group, &info))
		return say(answer, -ENOTCONN, "%s", group->errmsg);
	switch (info.state) {
	case INC_STATE_READY:
	case INC_STATE_RESYNC:
		return 0;
	case INC_STATE_WAITING:
		return say(answer, -ENOTCONN, "group %u has %u of %u ranks, rank %u is missing", info.group,
			   info.joined, info.size, info.missing);
	case INC_STATE_FAILED:
		inc_format_error(text, sizeof(text), &info.error);
		return say(answer, -EPIPE, "group %u is over: %s", info.group, text);
	default:
		return say(answer, -ENOTCONN, "rank %u has not joined group %u", inc_rank(group), inc_group_id(group));
	}
}

/* A group of one shows whether a node answers, and nobody else sees it. */
static int check_parent(const struct answer *answer)
{
	struct inc_join_opts opts = { .size = 1, .timeout_ms = PROBE_MS };
	struct inc_group *group;
	int ret;

	if (getrandom(&opts.group, sizeof(opts.group), 0) != sizeof(opts.group))
		return say(answer, -EIO, "getrandom: %s", inc_strerror(errno));
	ret = inc_join(&group, &opts);
	if (ret)
		return say(answer, ret == -ETIMEDOUT ? -EHOSTUNREACH : ret, "%s", inc_errmsg(NULL));
	inc_leave(group);
	return 0;
}

static int check_all(const struct answer *answer, struct inc_group *group, enum inc_coll coll, enum inc_type type,
		     enum inc_op op, uint64_t count)
{
	int ret = check_call(answer, coll, count);

	if (!ret)
		ret = check_kernel(answer, coll, type, op);
	if (!ret)
		ret = group ? check_member(answer, group) : check_parent(answer);
	return ret;
}

int inc_why(struct inc_group *group, enum inc_coll coll, enum inc_type type, enum inc_op op, uint64_t count, char *buf,
	    size_t len)
{
	struct answer answer = { .buf = buf, .len = len };
	struct inc_parent_addr parent = { .family = 0 };
	struct inc_info info = { .parent_family = 0 };
	char text[80];
	int ret = check_all(&answer, group, coll, type, op, count);

	if (ret)
		return ret;
	if (group && !inc_info(group, &info))
		inc_format_parent(text, sizeof(text), info.parent_family, info.parent, ntohs(info.parent_port));
	else if (!inc_parent_get(&parent))
		inc_format_parent(text, sizeof(text), parent.family, parent.addr, parent.port);
	else
		snprintf(text, sizeof(text), "INC_PARENT");
	return say(&answer, 0, "yes, in the network: the node is %s", text);
}
