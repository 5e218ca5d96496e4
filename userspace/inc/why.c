// SPDX-License-Identifier: GPL-2.0-only
/*
 * inc why: would the network do this operation, and if not, what is in its way? libinc's inc_why()
 * is asked, which tries it at the node. With a group, its ranks in this network namespace are
 * looked at first: whom they wait for, whether they are at their node, and in which order sums of
 * floats are made.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <inc.h>
#include <linux/inc_netlink.h>

#include "names.h"
#include "nl.h"
#include "print.h"
#include "tool.h"

static const char usage[] =
	"Usage: inc why [COLL] [type TYPE] [op OP] [count N] [parent ADDR] [key KEY] [group ID]\n"
	"Would the network do this, and if not, which condition fails?\n"
	"COLL: allreduce (default), reduce, reduce-scatter, broadcast, allgather, gather, scatter, alltoall,\n"
	"      scan, exscan, barrier; TYPE: f32 (default), i8, bf16...; OP: sum (default), max...\n"
	"N:    elements, default 1\n"
	"ADDR: the node, default INC_PARENT or that of this network namespace; as INC_PARENT, inc.h\n"
	"KEY:  the node's, 32 hex digits or @FILE, default INC_KEY\n"
	"ID:   a group that has ranks in this network namespace\n"
	"Exit status 0: yes, 2: no.\n";

struct question {
	enum inc_coll coll;
	enum inc_type type;
	enum inc_op op;
	uint64_t count;
};

struct verdict {
	const char *condition;	/* that fails; NULL: none */
	char reason[512];
};

/* What a rank of the group is in the way of; the order, once a rank or node here knows it. */
static struct {
	uint32_t id;
	unsigned int ranks;
	bool ordered;
	uint32_t order;		/* enum inc_order */
	uint32_t parts;		/* of what nodes here send up of a sum of floats: the most */
	struct verdict verdict;
} seen;

/* ---- A group's ranks here --------------------------------------------------- */

static void judge_rank(struct nlattr **tb, uint32_t rank, unsigned int state)
{
	struct verdict *v = &seen.verdict;
	uint32_t waiting = 0, moves = 0;
	uint32_t placement = 0;

	get_u32(tb[INC_A_GROUP_WAITING], &waiting);
	get_u32(tb[INC_A_GROUP_MOVES], &moves);
	get_u32(tb[INC_A_GROUP_PLACEMENT], &placement);
	if (state != INC_STATE_READY && state != INC_STATE_RESYNC) {
		v->condition = "group";
		snprintf(v->reason, sizeof(v->reason), "group %u: rank %u here is %s", seen.id,
			 rank, member_state_name(state));
		if (tb[INC_A_GROUP_WAITING])
			snprintf(v->reason + strlen(v->reason),
				 sizeof(v->reason) - strlen(v->reason), ", rank %u is missing",
				 waiting);
	} else if (placement == INC_PLACEMENT_EDGE) {
		v->condition = "fallback";
		snprintf(v->reason, sizeof(v->reason),
			 "group %u: rank %u here is at the edge, where hosts reduce%s", seen.id,
			 rank, moves ? ": the node was lost" : "");
	}
}

static void note_group(struct nlattr *nest)
{
	struct nlattr *tb[INC_A_GROUP_MAX + 1];
	uint32_t role = INC_ROLE_NODE, state = 0;
	uint32_t rank = 0, parts = 0;

	parse_nest(nest, tb, INC_A_GROUP_MAX);
	get_u32(tb[INC_A_GROUP_ROLE], &role);
	if (get_u32(tb[INC_A_GROUP_ORDER], &seen.order))
		seen.ordered = true;
	if (get_u32(tb[INC_A_GROUP_PARTS], &parts) && parts > seen.parts)
		seen.parts = parts;
	if (role == INC_ROLE_NODE)
		return;
	get_u32(tb[INC_A_GROUP_STATE], &state);
	get_u32(tb[INC_A_GROUP_RANK], &rank);
	seen.ranks++;
	if (!seen.verdict.condition)
		judge_rank(tb, rank, state);
}

/* 0, or the exit status of an error that has been printed. */
static int look_at_group(uint32_t id, struct verdict *verdict)
{
	struct nl_msg *msg = inc_request(INC_CMD_GROUP_GET, NLM_F_DUMP);
	int err;

	memset(&seen, 0, sizeof(seen));
	seen.id = id;
	if (!msg)
		return EXIT_REFUSED;
	if (nla_put_u32(msg, INC_A_GROUP_ID, id))
		return no_memory(msg);
	err = inc_talk(msg, INC_A_GROUP, note_group);
	if (err)
		return err;
	if (!seen.ranks)
		return refused("group %u: no rank of it is in this network namespace", id);
	*verdict = seen.verdict;
	return 0;
}

/* ---- The answer -------------------------------------------------------------- */

static const struct {
	int err;
	const char *condition;
} conditions[] = {
	{ -EINVAL, "call" },		{ -EAFNOSUPPORT, "module" },
	{ -EOPNOTSUPP, "operation" },	{ -ENETUNREACH, "parent" },
	{ -EHOSTUNREACH, "answer" },	{ -ETIMEDOUT, "answer" },
	{ -ECONNREFUSED, "node" },	{ -EACCES, "key" },
	{ -EPERM, "tenant" },		{ -EDQUOT, "limit" },
	{ -ENOBUFS, "limit" },		{ -ENOSPC, "room" },
	{ -ENOMEM, "memory" },		{ -EHOSTDOWN, "fallback" },
	{ -EADDRNOTAVAIL, "parent" },	{ -ERANGE, "port" },
	{ -ENOTUNIQ, "port" },		{ -EMSGSIZE, "path" },
};

/* Of what INC_KEY and INC_PARENT say, whatever the errno: how libinc's text begins. */
static const struct {
	const char *text, *condition;
} beginnings[] = {
	{ "INC_KEY: ", "key" },		{ "parent \"", "parent" },
	{ "parent's ", "parent" },
};

static const char *condition_of(int err, const char *reason)
{
	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
		if (!strncmp(reason, beginnings[i].text, strlen(beginnings[i].text)))
			return beginnings[i].condition;
	for (size_t i = 0; i < ARRAY_SIZE(conditions); i++)
		if (conditions[i].err == err)
			return conditions[i].condition;
	return "group";
}

/* What the bits of the group's sums depend on, and what that costs. */
static void show_order(void)
{
	bool tree = seen.order == INC_ORDER_TREE;

	if (!seen.ordered)
		return;
	out_str("order", "sums of floats: order %s: ", order_name(seen.order));
	out_text("%s\n", tree ? "with other bits than at one node; INC_ORDER=canonical has those" :
				"with the bits that one node makes of them");
	if (seen.parts)
		out_num("parts", "parts of a block that a node here sends up for that: %s\n",
			seen.parts, UNIT_NONE);
}

static void show_verdict(const struct question *q, const struct verdict *v)
{
	out_open(NULL);
	out_str("coll", NULL, inc_coll_name(q->coll));
	if (q->coll != INC_COLL_BARRIER) {
		out_str("type", NULL, inc_type_name(q->type));
		out_num("count", NULL, q->count, UNIT_NONE);
	}
	if (q->op)
		out_str("op", NULL, inc_op_name(q->op));
	out_bool("in_network", NULL, !v->condition);
	if (v->condition)
		out_str("condition", "no (%s): ", v->condition);
	out_str("reason", "%s\n", v->reason);
	show_order();
	out_close();
	out_end();
}

static bool is_reduction(enum inc_coll coll)
{
	return coll == INC_COLL_ALLREDUCE || coll == INC_COLL_REDUCE ||
	       coll == INC_COLL_REDUCE_SCATTER || coll == INC_COLL_SCAN ||
	       coll == INC_COLL_EXSCAN;
}

/* Names of numbers from 1 on, until one has none. */
static const char *coll_name(int number)
{
	return number < INC_COLL_LEAVE ? inc_coll_name((enum inc_coll)number) : NULL;
}

static const char *type_name(int number)
{
	return inc_type_name((enum inc_type)number);
}

static const char *op_name(int number)
{
	return inc_op_name((enum inc_op)number);
}

/* 0, or EXIT_USAGE with the error printed. */
static int parse_name(const struct arg *arg, const char *what, const char *(*name)(int number),
		      int *to)
{
	char list[256] = "";
	size_t len = 0;
	int i;

	if (!arg->given)
		return 0;
	for (i = 1; name(i); i++) {
		if (!strcmp(name(i), arg->text)) {
			*to = i;
			return 0;
		}
		if (len < sizeof(list))
			len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
						len ? ", " : "", name(i));
	}
	return usage_error("%s %s: expected one of: %s", what, arg->text, list);
}

enum { TYPE, OP, COUNT, PARENT, KEY, GROUP };

static int make_question(struct question *q, const char *coll, const struct arg *args)
{
	const struct arg named = { .given = coll, .text = coll };
	int c = INC_COLL_ALLREDUCE, type = INC_TYPE_F32, op = INC_OP_SUM, err;

	err = parse_name(&named, "collective", coll_name, &c);
	if (!err)
		err = parse_name(&args[TYPE], "type", type_name, &type);
	if (!err)
		err = parse_name(&args[OP], "op", op_name, &op);
	if (err)
		return err;
	if (args[OP].given && !is_reduction((enum inc_coll)c))
		return usage_error("op %s: %s reduces nothing", args[OP].text, coll);
	if (c == INC_COLL_BARRIER && (args[TYPE].given || args[COUNT].given))
		return usage_error("%s: barrier moves nothing",
				   args[TYPE].given ? "type" : "count");
	q->coll = (enum inc_coll)c;
	q->type = (enum inc_type)type;
	q->op = is_reduction(q->coll) ? (enum inc_op)op : 0;
	q->count = args[COUNT].num;
	return 0;
}

/* As for a program that is started like this. */
static int set_environment(const struct arg *args)
{
	if ((args[PARENT].given && setenv("INC_PARENT", args[PARENT].text, 1)) ||
	    (args[KEY].given && setenv("INC_KEY", args[KEY].text, 1)))
		return refused("setenv: %s", strerror(errno));
	return 0;
}

static int why_show(int argc, char **argv)
{
	struct arg args[] = {
		[TYPE] = { .key = "type", .kind = ARG_TEXT },
		[OP] = { .key = "op", .kind = ARG_TEXT },
		[COUNT] = { .key = "count", .kind = ARG_NUM, .max = UINT32_MAX, .num = 1 },
		[PARENT] = { .key = "parent", .kind = ARG_TEXT },
		[KEY] = { .key = "key", .kind = ARG_TEXT },
		[GROUP] = { .key = "group", .kind = ARG_NUM, .max = UINT32_MAX },
		{ .key = NULL }
	};
	bool named = argc && !arg_find(args, argv[0]);
	struct verdict v = { .condition = NULL };
	struct question q = { .count = 0 };
	int err;

	err = args_parse(args, argc - named, argv + named);
	if (!err)
		err = make_question(&q, named ? argv[0] : NULL, args);
	if (!err)
		err = set_environment(args);
	if (!err && args[GROUP].given && inc_family() >= 0)
		err = look_at_group((uint32_t)args[GROUP].num, &v);
	if (err)
		return err;
	if (!v.condition) {
		err = inc_why(NULL, q.coll, q.type, q.op, q.count, v.reason, sizeof(v.reason));
		v.condition = err ? condition_of(err, v.reason) : NULL;
	}
	show_verdict(&q, &v);
	return v.condition ? EXIT_REFUSED : 0;
}

const struct object object_why = { .name = "why", .run = why_show, .usage = usage };
