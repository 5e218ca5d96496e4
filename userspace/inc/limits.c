// SPDX-License-Identifier: GPL-2.0-only
/*
 * inc limits: what this network namespace and every user may have, what they have, and how often
 * that was not enough.
 */
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include <linux/inc.h>
#include <linux/inc_netlink.h>

#include "names.h"
#include "nl.h"
#include "print.h"
#include "tool.h"

#define MIN_MEMORY	(64ULL << 20)	/* of each kind, however small the machine */

static const char usage[] =
	"Usage: inc limits show\n"
	"       inc limits set [user] LIMIT VALUE...\n"
	"LIMIT: sockets N            AF_INC sockets\n"
	"       operations N         operations under way, or done and not collected\n"
	"       op-memory BYTES      kernel memory of these operations\n"
	"       pinned-memory BYTES  user memory that may be pinned for operations at once\n"
	"       groups N             groups at nodes\n"
	"       slot-memory BYTES    slots and what a group needs to get on, reserved when it is made\n"
	"       held-memory BYTES    received packets held at nodes\n"
	"       answers N            challenges per second, and refusals; of the namespace only\n"
	"       socket-memory BYTES  kernel memory of joined sockets, what they keep for another node included\n"
	"Limits of this network namespace; with `user` those of each user of the machine.\n"
	"What is in use stays, also if it is more than a new limit.\n";

#define COUNT(k) { .key = k, .kind = ARG_NUM, .max = INT64_MAX }
#define BYTES(k) { .key = k, .kind = ARG_BYTES, .max = INT64_MAX }

/* By enum inc_limit - 1. */
static const struct arg limits[] = {
	COUNT("sockets"), COUNT("operations"), BYTES("op-memory"), BYTES("pinned-memory"),
	COUNT("groups"), BYTES("slot-memory"), BYTES("held-memory"), COUNT("answers"),
	BYTES("socket-memory"), { .key = NULL },
};

static const char *const texts[] = {
	"",
#define INC_LIMIT(name, text) text,
#include <linux/inc_limits.h>
#undef INC_LIMIT
};

_Static_assert(ARRAY_SIZE(limits) == __INC_LIMIT_MAX && ARRAY_SIZE(texts) == __INC_LIMIT_MAX,
	       "a limit is missing");

static int put_limits(struct nl_msg *msg, const struct arg *args)
{
	struct nlattr *nest = nla_nest_start(msg, INC_A_LIMIT_VALUES | NLA_F_NESTED);
	int i;

	if (!nest)
		return -1;
	for (i = 0; args[i].key; i++)
		if (args[i].given && nla_put_u64(msg, i + 1, args[i].num))
			return -1;
	nla_nest_end(msg, nest);
	return 0;
}

static int limits_set(int argc, char **argv)
{
	bool user = argc && !strcmp(argv[0], "user");
	struct arg args[ARRAY_SIZE(limits)];
	struct nlattr *nest;
	struct nl_msg *msg;
	int err;

	memcpy(args, limits, sizeof(args));
	if (argc == user)
		return usage_error("nothing to change: expected a limit and its value");
	err = args_parse(args, argc - user, argv + user);
	if (err)
		return err;
	if (user && arg_find(args, "answers")->given)
		return usage_error("answers: expected without user: it is of the namespace only");
	msg = inc_request(INC_CMD_LIMIT_SET, 0);
	if (!msg)
		return EXIT_REFUSED;
	nest = nla_nest_start(msg, INC_A_LIMIT | NLA_F_NESTED);
	if (!nest || nla_put_u32(msg, INC_A_LIMIT_SCOPE, user ? INC_SCOPE_USER : INC_SCOPE_NETNS) ||
	    put_limits(msg, args))
		return no_memory(msg);
	nla_nest_end(msg, nest);
	return inc_talk(msg, 0, NULL);
}

/* op-memory; "limit_45" for one that is newer than this tool. */
static void limit_name(char *buf, size_t size, int type)
{
	char *c;

	if (type > INC_LIMIT_MAX)
		snprintf(buf, size, "limit_%d", type);
	else
		snprintf(buf, size, "%s", limits[type - 1].key);
	for (c = buf; out_is_json() && *c; c++)
		if (*c == '-')
			*c = '_';
}

static void show_limit(int type, uint64_t max, struct nlattr *use, struct nlattr *refused)
{
	bool bytes = type <= INC_LIMIT_MAX && limits[type - 1].kind == ARG_BYTES;
	enum unit unit = bytes ? UNIT_BYTES : UNIT_NONE;
	char name[32];
	uint64_t v;

	limit_name(name, sizeof(name), type);
	out_open(name);
	out_text("    %-14s", name);
	if (get_u64(use, &v))
		out_num("use", " %s", v, unit);
	out_num("max", " of %s", max, unit);
	if (get_u64(refused, &v))
		out_num("refused", v ? ", refused %s times" : NULL, v, UNIT_NONE);
	if (type <= INC_LIMIT_MAX)
		out_text(": %s", texts[type]);
	out_text("\n");
	out_close();
}

static void print_limit(int type, uint64_t max)
{
	out_text(" %s", limits[type - 1].key);
	out_num(NULL, " %s", max, UNIT_NONE);
}

static void print_command(struct nlattr *values)
{
	struct nlattr *attr;
	uint64_t max;
	int rest;

	out_text("limits set");
	nla_for_each_nested(attr, values, rest)
		if (nla_type(attr) && nla_type(attr) <= INC_LIMIT_MAX && get_u64(attr, &max))
			print_limit(nla_type(attr), max);
	out_text("\n");
}

/* Limits of users, for commands: root's, and those that all others have. */
static struct user_limits {
	bool known[__INC_LIMIT_MAX];
	uint64_t max[__INC_LIMIT_MAX];
} root, others;

static void note_user(uint32_t uid, struct nlattr *values)
{
	struct user_limits *user = uid ? &others : &root;
	struct nlattr *attr;
	int rest, type;

	nla_for_each_nested(attr, values, rest) {
		type = nla_type(attr);
		if (type && type <= INC_LIMIT_MAX)
			user->known[type] = get_u64(attr, &user->max[type]);
	}
}

/* Only here may limits of users be set. */
static bool initial_user_namespace(void)
{
	FILE *file = fopen("/proc/self/uid_map", "re");
	unsigned int inside = 1, outside = 1, n = 0;

	if (!file)
		return false;
	if (fscanf(file, "%u %u %u", &inside, &outside, &n) != 3)
		n = 0;
	fclose(file);
	return !inside && !outside && n == UINT32_MAX;
}

/* What root may have unless it was set, as in the kernel; that depends on the machine's memory. */
static uint64_t root_default(int type)
{
	static const uint64_t counts[__INC_LIMIT_MAX] = {
		[INC_LIMIT_SOCKETS] = 4 * 4096, [INC_LIMIT_OPERATIONS] = 4 * 262144,
		[INC_LIMIT_GROUPS] = 4 * 16384,
	};
	static const uint64_t parts[__INC_LIMIT_MAX] = {
		[INC_LIMIT_OP_MEMORY] = 8, [INC_LIMIT_PINNED_MEMORY] = 2,
		[INC_LIMIT_SLOT_MEMORY] = 2, [INC_LIMIT_HELD_MEMORY] = 4,
		[INC_LIMIT_SOCKET_MEMORY] = 4,
	};
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), bytes;
	struct sysinfo info = { 0 };

	if (!parts[type])
		return counts[type];
	sysinfo(&info);
	bytes = (uint64_t)info.totalram * info.mem_unit / page / parts[type] * page;
	return bytes > MIN_MEMORY ? bytes : MIN_MEMORY;
}

/*
 * Unless they were set, root may have more of everything than others: what is the same was set. The
 * kernel says what users may have who have something: root always, others not.
 */
static bool was_set(int type)
{
	/* the one of answers is the namespace's only */
	if (type == INC_LIMIT_ANSWERS || !root.known[type])
		return false;
	if (others.known[type])
		return root.max[type] == others.max[type];
	return root.max[type] != root_default(type);
}

static void print_users(void)
{
	bool sure = others.known[INC_LIMIT_SOCKETS];
	int type, n = 0;

	if (!initial_user_namespace())
		return;
	for (type = 1; type <= INC_LIMIT_MAX; type++) {
		if (!was_set(type))
			continue;
		if (!n++)
			out_text("%slimits set user", sure ? "" : "# if they were set: ");
		print_limit(type, root.max[type]);
	}
	if (!n)
		return;
	out_text("\n");
	if (!sure)
		left_out |= LEFT_OUT_USERS;
}

static void show_account(struct nlattr *nest)
{
	struct nlattr *tb[INC_A_LIMIT_MAX + 1], *attr;
	uint32_t scope = INC_SCOPE_NETNS;
	uint32_t uid = 0;
	uint64_t max;
	int rest;

	parse_nest(nest, tb, INC_A_LIMIT_MAX);
	if (!tb[INC_A_LIMIT_VALUES] || !tb[INC_A_LIMIT_USE] || !tb[INC_A_LIMIT_REFUSED])
		return;
	get_u32(tb[INC_A_LIMIT_SCOPE], &scope);
	if (options.commands && scope == INC_SCOPE_NETNS) {
		print_command(tb[INC_A_LIMIT_VALUES]);
		return;
	}
	if (options.commands) {
		if (get_u32(tb[INC_A_LIMIT_UID], &uid))
			note_user(uid, tb[INC_A_LIMIT_VALUES]);
		return;
	}
	out_open(NULL);
	out_str("scope", scope == INC_SCOPE_NETNS ? "this network namespace" : "%s",
		scope == INC_SCOPE_NETNS ? "netns" : "user");
	if (get_u32(tb[INC_A_LIMIT_UID], &uid))
		out_num("uid", " %s", uid, UNIT_NONE);
	out_text("\n");
	nla_for_each_nested(attr, tb[INC_A_LIMIT_VALUES], rest)
		if (nla_type(attr) && get_u64(attr, &max))
			show_limit(nla_type(attr), max,
				   nla_find(nla_data(tb[INC_A_LIMIT_USE]),
					    nla_len(tb[INC_A_LIMIT_USE]), nla_type(attr)),
				   nla_find(nla_data(tb[INC_A_LIMIT_REFUSED]),
					    nla_len(tb[INC_A_LIMIT_REFUSED]), nla_type(attr)));
	out_close();
}

static int limits_show(int argc, char **argv)
{
	int err = args_none(argc, argv);

	memset(&root, 0, sizeof(root));
	memset(&others, 0, sizeof(others));
	if (!err)
		err = inc_dump(INC_CMD_LIMIT_GET, INC_A_LIMIT, NULL, show_account);
	if (!err && options.commands)
		print_users();
	return err;
}

static const struct command commands[] = {
	{ "show", limits_show }, { "set", limits_set }, { NULL, NULL },
};

const struct object object_limits = { .name = "limits", .commands = commands, .usage = usage,
				      .restores = true };
