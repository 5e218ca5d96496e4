// SPDX-License-Identifier: GPL-2.0-only
/*
 * inc limits: what this network namespace and every user may have, what they have, and how often
 * that was not enough.
 */
#include <stdio.h>
#include <string.h>
#include <linux/inc.h>
#include <linux/inc_netlink.h>

#include "names.h"
#include "nl.h"
#include "print.h"
#include "tool.h"

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
static const struct arg limits[] = { COUNT("sockets"),	     COUNT("operations"),
				     BYTES("op-memory"),     BYTES("pinned-memory"),
				     COUNT("groups"),	     BYTES("slot-memory"),
				     BYTES("held-memory"),   COUNT("answers"),
				     BYTES("socket-memory"), { .key = NULL } };

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

static int set(int argc, char **argv)
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
	msg = inc_request(INC_CMD_LIMIT_SET, 0);
	if (!msg)
		return EXIT_REFUSED;
	nest = nla_nest_start(msg, INC_A_LIMIT | NLA_F_NESTED);
	if (!nest || nla_put_u8(msg, INC_A_LIMIT_SCOPE, user ? INC_SCOPE_USER : INC_SCOPE_NETNS) ||
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
	enum unit unit = type <= INC_LIMIT_MAX && limits[type - 1].kind == ARG_BYTES ? UNIT_BYTES :
										       UNIT_NONE;
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

/* Those of users are the machine's, and not this namespace's to restore. */
static void print_command(uint8_t scope, struct nlattr *values)
{
	struct nlattr *attr;
	uint64_t max;
	int rest;

	if (scope != INC_SCOPE_NETNS)
		return;
	out_text("limits set");
	nla_for_each_nested(attr, values, rest) {
		if (!nla_type(attr) || nla_type(attr) > INC_LIMIT_MAX || !get_u64(attr, &max))
			continue;
		out_text(" %s", limits[nla_type(attr) - 1].key);
		out_num(NULL, " %s", max, UNIT_NONE);
	}
	out_text("\n");
}

static void show_account(struct nlattr *nest)
{
	struct nlattr *tb[INC_A_LIMIT_MAX + 1], *attr;
	uint8_t scope = INC_SCOPE_NETNS;
	uint32_t uid;
	uint64_t max;
	int rest;

	parse_nest(nest, tb, INC_A_LIMIT_MAX);
	if (!tb[INC_A_LIMIT_VALUES] || !tb[INC_A_LIMIT_USE] || !tb[INC_A_LIMIT_REFUSED])
		return;
	get_u8(tb[INC_A_LIMIT_SCOPE], &scope);
	if (options.commands) {
		print_command(scope, tb[INC_A_LIMIT_VALUES]);
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

static int show(int argc, char **argv)
{
	int err = args_none(argc, argv);

	return err ? err : inc_dump(INC_CMD_LIMIT_GET, INC_A_LIMIT, NULL, show_account);
}

static const struct command commands[] = { { "show", show }, { "set", set }, { NULL, NULL } };

const struct object object_limits = { .name = "limits", .commands = commands, .usage = usage,
				      .restores = true };
