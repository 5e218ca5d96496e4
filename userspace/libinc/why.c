// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * inc_why(): would the network do it? The checks stand in the order in which a program would run
 * into them, and the first that says no gives the answer.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "internal.h"

#define PROBE_MS 3000
#define MAX_ELEM 64	/* bytes: more than any element has */

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

/* What the network does for a collective, and what it does not. */
static const char * const gains[__INC_COLL_MAX] = {
	[INC_COLL_BARRIER] = "one packet up and one down per rank",
	[INC_COLL_ALLREDUCE] = "reduced there, every byte goes up once and the result down once",
	[INC_COLL_REDUCE] =
		"reduced there, every byte goes up once and the result to the root once",
	[INC_COLL_REDUCE_SCATTER] =
		"reduced there, every byte goes up once and every share of the result down once",
	[INC_COLL_BROADCAST] =
		"replicated there, every byte goes up once and down once per receiver",
	[INC_COLL_ALLGATHER] =
		"replicated there, every rank sends its share once; receiving takes as many bytes as without",
	[INC_COLL_GATHER] = "passed on there, it takes as many bytes as without",
	[INC_COLL_SCATTER] = "passed on there, it takes as many bytes as without",
	[INC_COLL_ALLTOALL] = "passed on there, it takes as many bytes as without",
	[INC_COLL_SCAN] =
		"replicated there and folded at every rank, which receives what all ranks have sent",
	[INC_COLL_EXSCAN] =
		"replicated there and folded at every rank, which receives what all ranks have sent",
};

/* "avg" and "wsum" are sums with something before or after them. */
static int check_kernel(const struct answer *answer, const struct inc_submit *op)
{
	bool sum = op->op == INC_OP_WSUM || op->op == INC_OP_AVG;
	const struct inc_info unknown = { .state = INC_STATE_CLOSED };
	struct inc_caps caps = { .family = 0 };
	char reason[128];

	if (inc_shape(op->coll)->reduces) {
		snprintf(caps.type, sizeof(caps.type), "%s", inc_type_name(op->type));
		snprintf(caps.op, sizeof(caps.op), "%s", inc_op_name(sum ? INC_OP_SUM : op->op));
	}
	if (inc_caps_get(&caps))
		return say(answer, -EAFNOSUPPORT, "the module is not loaded: modprobe inc");
	if (!inc_shape(op->coll)->reduces || (caps.variant[0] && inc_meaningful(op)))
		return 0;
	inc_why_unsupported(reason, sizeof(reason), op, &unknown);
	return say(answer, -EOPNOTSUPP, "%s", reason);
}

static int check_call(const struct answer *answer, const struct inc_submit *op)
{
	const struct inc_shape *shape = inc_shape(op->coll);

	if (!shape->submit)
		return say(answer, -EINVAL, "collective %u: no such collective, expected 1..%d",
			   op->coll, INC_COLL_LEAVE - 1);
	if (shape->moves && !inc_type_size(op->type))
		return say(answer, -EINVAL, "type %u: no such type, expected 1..%d", op->type,
			   INC_TYPE_MAX);
	if (shape->reduces && !inc_op_name(op->op))
		return say(answer, -EINVAL, "operation %u: no such operation, expected 1..%d",
			   op->op, __INC_OP_MAX - 1);
	if (op->count > INC_MAX_COUNT)
		return say(answer, -EINVAL, "count %llu: expected 0..%llu elements",
			   (unsigned long long)op->count, INC_MAX_COUNT);
	return 0;
}

/* It is done at the edge, too, but by the hosts. */
static int check_placement(const struct answer *answer, const struct inc_info *info)
{
	char text[80];

	if (info->placement != INC_PLACEMENT_EDGE)
		return 0;
	inc_format_parent(text, sizeof(text), info->parent_family, info->parent,
			  ntohs(info->parent_port));
	return say(answer, -EHOSTDOWN,
		   "group %u is at the edge, where hosts reduce: %s, and ranks meet at %s",
		   info->group, info->moves ? "its node was lost" : "it was given no node", text);
}

/* READY has told all ranks what some node of the group does not reduce. */
static int check_nodes(const struct answer *answer, const struct inc_submit *op,
		       const struct inc_info *info)
{
	char reason[256];

	if (!inc_is_lacking(op, &info->lacks))
		return 0;
	inc_why_unsupported(reason, sizeof(reason), op, info);
	return say(answer, -EOPNOTSUPP, "group %u: %s", info->group, reason);
}

static int check_member(const struct answer *answer, struct inc_group *group,
			const struct inc_submit *op)
{
	struct inc_info info;
	char text[256];

	if (inc_info(group, &info))
		return say(answer, -ENOTCONN, "%s", group->errmsg);
	switch (info.state) {
	case INC_STATE_READY:
	case INC_STATE_RESYNC:
		return check_nodes(answer, op, &info) ?: check_placement(answer, &info);
	case INC_STATE_WAITING:
		return say(answer, -ENOTCONN, "group %u has %u of %u ranks, rank %u is missing",
			   info.group, info.joined, info.size, info.missing);
	case INC_STATE_FAILED:
		inc_format_error(text, sizeof(text), &info.error);
		return say(answer, -EPIPE, "group %u is over: %s", info.group, text);
	default:
		return say(answer, -ENOTCONN, "rank %u has not joined group %u", inc_rank(group),
			   inc_group_id(group));
	}
}

/*
 * Once, with an element at most: shows what the node's kernel lacks, and whether this user may pin
 * memory, which what is short and waited for at once does not need.
 */
static int check_once(const struct answer *answer, struct inc_group *group,
		      const struct inc_submit *op, const void *send, void *recv)
{
	const struct inc_shape *shape = inc_shape(op->coll);
	struct inc_args args = {
		.coll = op->coll, .type = shape->moves ? op->type : 0,
		.op = shape->reduces ? op->op : 0, .count = shape->moves && op->count,
		.send = send, .recv = recv,
	};
	struct inc_request req;
	int ret;

	inc_set_timeout(group, PROBE_MS);
	ret = inc_icollective(group, &args, &req);
	if (!ret)
		ret = inc_wait(&req, PROBE_MS);
	return ret ? say(answer, ret, "%s", inc_errmsg(group)) : 0;
}

/* A group of one shows whether a node answers, and what it does; nobody else sees it. */
static int check_parent(const struct answer *answer, const struct inc_submit *op)
{
	struct inc_join_opts opts = { .size = 1, .timeout_ms = PROBE_MS };
	/* until the group is left: a result may come later than it is waited for */
	uint8_t send[MAX_ELEM] = { 0 }, recv[MAX_ELEM] = { 0 };
	struct inc_group *group;
	int ret;

	if (getrandom(&opts.group, sizeof(opts.group), 0) != sizeof(opts.group))
		return say(answer, -EIO, "getrandom: %s", inc_strerror(errno));
	ret = inc_join(&group, &opts);
	if (ret)
		return say(answer, ret == -ETIMEDOUT ? -EHOSTUNREACH : ret, "%s", inc_errmsg(NULL));
	ret = check_member(answer, group, op);
	if (!ret)
		ret = check_once(answer, group, op, send, recv);
	inc_leave(group);
	return ret;
}

static int check_all(const struct answer *answer, struct inc_group *group,
		     const struct inc_submit *op)
{
	int ret = check_call(answer, op);

	if (!ret)
		ret = check_kernel(answer, op);
	if (!ret)
		ret = group ? check_member(answer, group, op) : check_parent(answer, op);
	return ret;
}

static uint8_t to_byte(unsigned int number)
{
	return number < UINT8_MAX ? number : UINT8_MAX;
}

int inc_why(struct inc_group *group, enum inc_coll coll, enum inc_type type, enum inc_op op,
	    uint64_t count, char *buf, size_t len)
{
	const struct inc_submit what = {
		.coll = to_byte(coll), .type = to_byte(type), .op = to_byte(op), .count = count,
	};
	struct answer answer = { .buf = buf, .len = buf ? len : 0 };
	struct inc_parent_addr parent = { .family = 0 };
	struct inc_info info = { .parent_family = 0 };
	int ret = check_all(&answer, group, &what);
	char text[80];

	if (ret)
		return ret;
	if (group && !inc_info(group, &info))
		inc_format_parent(text, sizeof(text), info.parent_family, info.parent,
				  ntohs(info.parent_port));
	else if (!inc_parent_get(&parent))
		inc_format_parent(text, sizeof(text), parent.family, parent.addr, parent.port);
	else
		snprintf(text, sizeof(text), "INC_PARENT");
	return say(&answer, 0, "yes, in the network: the node is %s; %s", text, gains[coll]);
}
