// SPDX-License-Identifier: GPL-2.0-only
/*
 * inc group: groups that nodes of this network namespace reduce for, and its sockets' ranks.
 */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/inc.h>
#include <linux/inc_netlink.h>

#include "failure.h"
#include "names.h"
#include "nl.h"
#include "print.h"
#include "tool.h"

static const char usage[] =
	"Usage: inc [-s] group show [group ID]\n"
	"One entry per group of a node and per rank of a socket: process and user of the rank, state, how many\n"
	"have joined, whom it waits for and for how long (LATE: more than a second), the last error; with -s the\n"
	"counters. Of groups over several nodes: the node above, and how many levels are\n"
	"below the highest.\n";

static bool proc_is_own(void)
{
	char self[16] = "";

	return readlink("/proc/self", self, sizeof(self) - 1) > 0 && atoi(self) == getpid();
}

/* What /proc says of it: the name that it has now. False: it is gone, or there is no /proc. */
static bool process_name(uint32_t pid, char *name, size_t size)
{
	char path[40];
	FILE *file;
	bool ok;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	file = proc_is_own() ? fopen(path, "re") : NULL;
	if (!file)
		return false;
	/* it may have ended since it was opened */
	ok = fgets(name, (int)size, file);
	fclose(file);
	if (ok)
		name[strcspn(name, "\n")] = 0;
	return ok;
}

/* Of a rank: which process of whom has joined. */
static void show_process(struct nlattr **tb)
{
	const struct passwd *user;
	uint32_t pid, uid;
	char name[64];

	if (get_u32(tb[INC_A_GROUP_PID], &pid)) {
		out_num("pid", " pid %s", pid, UNIT_NONE);
		if (process_name(pid, name, sizeof(name)))
			out_str("process", " (%s)", name);
	}
	if (!get_u32(tb[INC_A_GROUP_UID], &uid))
		return;
	user = getpwuid(uid);
	out_num("uid", user ? NULL : " user %s", uid, UNIT_NONE);
	if (user)
		out_str("user", " user %s", user->pw_name);
}

static void show_who(struct nlattr **tb, unsigned int role)
{
	uint32_t state = 0, placement;
	uint32_t v;

	out_str("role", " %s", role_name(role));
	if (get_u32(tb[INC_A_GROUP_IFINDEX], &v))
		show_dev("ifindex", "dev", " dev %s", v);
	if (get_u32(tb[INC_A_GROUP_VRF], &v))
		show_dev("vrf_ifindex", "vrf", " vrf %s", v);
	if (get_u32(tb[INC_A_GROUP_RANK], &v))
		out_num("rank", " %s", v, UNIT_NONE);
	show_process(tb);
	if (get_u32(tb[INC_A_GROUP_STATE], &state))
		out_str("state", " %s",
			role == INC_ROLE_NODE ? group_state_name(state) : member_state_name(state));
	if (get_u32(tb[INC_A_GROUP_JOINED], &v))
		out_num("joined", " joined %s", v, UNIT_NONE);
	if (get_u32(tb[INC_A_GROUP_SIZE], &v))
		out_num("size", tb[INC_A_GROUP_JOINED] ? "/%s" : " size %s", v, UNIT_NONE);
	if (get_u32(tb[INC_A_GROUP_PLACEMENT], &placement))
		out_str("placement", placement ? " at %s" : NULL, placement_name(placement));
}

static void show_run(struct nlattr **tb)
{
	uint32_t v;
	uint64_t w;

	if (get_u32(tb[INC_A_GROUP_EPOCH], &v))
		out_num("epoch", " epoch %s", v, UNIT_NONE);
	if (get_u32(tb[INC_A_GROUP_INCARNATION], &v))
		out_num("incarnation", " incarnation %s", v, UNIT_HEX);
	if (get_u64(tb[INC_A_GROUP_NEXT], &w))
		out_num("next", " next %s", w, UNIT_NONE);
	if (get_u32(tb[INC_A_GROUP_WINDOW], &v))
		out_num("window", " window %s", v, UNIT_NONE);
	if (get_u32(tb[INC_A_GROUP_CWND], &v))
		out_num("cwnd", " cwnd %s", v, UNIT_NONE);
	if (get_u32(tb[INC_A_GROUP_BLOCK], &v))
		out_num("block", " block %s", v, UNIT_BYTES);
	if (get_u64(tb[INC_A_GROUP_MEMORY], &w))
		out_num("memory", " memory %s", w, UNIT_BYTES);
	if (get_u32(tb[INC_A_GROUP_SRTT], &v))
		out_num("srtt_us", " srtt %s", v, UNIT_US);
}

/* Where results go, and how many ranks hear them there, at a node; at a rank: where it hears. */
static void show_multicast(struct nlattr **tb)
{
	uint32_t v;

	show_addr("multicast", " multicast %s", tb[INC_A_GROUP_MULTICAST]);
	if (get_u32(tb[INC_A_GROUP_HEARING], &v))
		out_num("hearing", " hearing %s", v, UNIT_NONE);
}

static void show_fallback(struct nlattr **tb)
{
	uint32_t moves = 0;
	uint32_t v;

	if (!get_u32(tb[INC_A_GROUP_FALLBACK], &v))
		return;
	out_str("fallback", v ? " fallback %s" : NULL, fallback_name(v));
	if (get_u32(tb[INC_A_GROUP_MOVES], &moves))
		out_num("moves", v ? " moves %s" : NULL, moves, UNIT_NONE);
}

/*
 * Of a node: how many levels of nodes are below the root of the tree that it is in. And in which
 * order the tree folds, which is worth a word if it is not the usual one, or costs something.
 */
static void show_levels(struct nlattr **tb)
{
	uint32_t levels, order;
	uint32_t parts;

	if (get_u32(tb[INC_A_GROUP_LEVELS], &levels))
		out_num("levels", " levels %s", levels, UNIT_NONE);
	if (get_u32(tb[INC_A_GROUP_ORDER], &order))
		out_str("order", order ? " order %s" : NULL, order_name(order));
	if (get_u32(tb[INC_A_GROUP_PARTS], &parts))
		out_num("parts", " parts %s", parts, UNIT_NONE);
}

/* Who is above, and whether it says anything. */
static void show_above(struct nlattr **tb)
{
	uint32_t ms;

	show_parent_nest(tb[INC_A_GROUP_PARENT]);
	if (get_u32(tb[INC_A_GROUP_UNANSWERED_MS], &ms))
		out_num("unanswered_ms", " UNANSWERED for %s", ms, UNIT_MS);
}

static void show_trees(struct nlattr **tb)
{
	uint32_t trees, tree;

	if (!get_u32(tb[INC_A_GROUP_TREES], &trees))
		return;
	if (get_u32(tb[INC_A_GROUP_TREE], &tree))
		out_num("tree", " tree %s", tree, UNIT_NONE);
	out_num("trees", " trees %s", trees, UNIT_NONE);
}

static void show_tenant(struct nlattr **tb)
{
	if (get_str(tb[INC_A_GROUP_TENANT]))
		out_str("tenant", " tenant %s", get_str(tb[INC_A_GROUP_TENANT]));
}

static void show_job(struct nlattr **tb)
{
	uint64_t job;

	if (get_u64(tb[INC_A_GROUP_JOB], &job))
		out_num("job", " job %s", job, UNIT_NONE);
}

/* Ranks that have not joined, the lowest ones. */
static void show_missing(const struct nlattr *attr)
{
	uint32_t rank, i, n = attr ? nla_len(attr) / sizeof(rank) : 0;

	if (!n)
		return;
	out_open_list("missing");
	for (i = 0; i < n; i++) {
		memcpy(&rank, (const uint8_t *)nla_data(attr) + i * sizeof(rank), sizeof(rank));
		out_num(NULL, i ? ",%s" : " missing %s", rank, UNIT_NONE);
	}
	out_close_list();
}

static void show_waiting(struct nlattr **tb)
{
	uint32_t v;

	if (!get_u32(tb[INC_A_GROUP_WAITING], &v))
		return;
	out_num("waiting", "\n    waiting for rank %s", v, UNIT_NONE);
	if (get_u32(tb[INC_A_GROUP_WAITED_MS], &v))
		out_num("waited_ms", " for %s", v, UNIT_MS);
	out_bool("late", " LATE", !!tb[INC_A_GROUP_LATE]);
	show_missing(tb[INC_A_GROUP_MISSING]);
}

static void show_group(struct nlattr *nest)
{
	struct nlattr *tb[INC_A_GROUP_MAX + 1];
	uint32_t role = INC_ROLE_NODE;
	uint32_t v;

	parse_nest(nest, tb, INC_A_GROUP_MAX);
	get_u32(tb[INC_A_GROUP_ROLE], &role);
	out_open(NULL);
	if (get_u32(tb[INC_A_GROUP_GROUP], &v))
		out_num("group", "group %s", v, UNIT_NONE);
	show_who(tb, role);
	out_rest(true);
	show_run(tb);
	show_fallback(tb);
	show_multicast(tb);
	show_stripe(tb[INC_A_GROUP_STRIPE], tb[INC_A_GROUP_STRIPES]);
	show_trees(tb);
	show_tenant(tb);
	show_job(tb);
	show_above(tb);
	show_levels(tb);
	show_waiting(tb);
	show_failure("error", "\n    error ", tb[INC_A_GROUP_ERROR]);
	out_text("\n");
	if (options.stats)
		show_counters("stats", tb[INC_A_GROUP_STATS], "    ", options.stats > 1);
	out_close();
}

static int group_show(int argc, char **argv)
{
	struct arg args[] = { { .key = "group", .kind = ARG_NUM, .max = UINT32_MAX },
			      { .key = NULL } };
	int err = args_parse(args, argc, argv);
	uint32_t group = (uint32_t)args[0].num;

	if (err)
		return err;
	return inc_dump(INC_CMD_GROUP_GET, INC_A_GROUP, args[0].given ? &group : NULL, show_group);
}

static const struct command commands[] = { { "show", group_show }, { NULL, NULL } };

const struct object object_group = { .name = "group", .commands = commands, .usage = usage };
