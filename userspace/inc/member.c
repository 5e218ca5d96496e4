// SPDX-License-Identifier: GPL-2.0-only
/*
 * inc member: the children of the groups that nodes of this network namespace reduce for.
 */
#include <string.h>
#include <linux/inc.h>
#include <linux/inc_netlink.h>

#include "names.h"
#include "nl.h"
#include "print.h"
#include "tool.h"

static const char usage[] =
	"Usage: inc [-s] member show [group ID]\n"
	"Per rank, or per node that has joined for the ranks below it (the lowest is named): its address and\n"
	"port, state, how long ago it was heard, and how far it has come; with -s how many blocks had everything\n"
	"but its contribution, and for how long: mean, longest, and how many blocks for how long from what time\n"
	"on.\n";

static void show_where(struct nlattr **tb)
{
	uint16_t port;
	uint32_t v;

	show_addr("addr", " at %s", tb[INC_A_MEMBER_ADDR]);
	if (get_port(tb[INC_A_MEMBER_UDP_PORT], &port))
		out_num("port", " port %s", port, UNIT_NONE);
	if (get_u32(tb[INC_A_MEMBER_IFINDEX], &v))
		show_dev("ifindex", "dev", " dev %s", v);
}

/* Times from 0, 1, 2, 4, ... microseconds on; those that never were are left out. */
static void show_histogram(struct nlattr *attr)
{
	int i, n = attr ? nla_len(attr) / (int)sizeof(uint64_t) : 0;
	uint64_t blocks;

	out_open_list("histogram");
	for (i = 0; i < n && i < 64; i++) {
		memcpy(&blocks, (char *)nla_data(attr) + (size_t)i * sizeof(blocks),
		       sizeof(blocks));
		if (!blocks)
			continue;
		out_open(NULL);
		out_num("from_us", " from %s:", i ? 1ULL << (i - 1) : 0, UNIT_US);
		out_num("blocks", " %s", blocks, UNIT_NONE);
		out_close();
	}
	out_close_list();
}

static void show_late(struct nlattr *nest)
{
	struct nlattr *tb[INC_A_LATE_MAX + 1];
	uint64_t blocks = 0, sum = 0, max;

	if (!nest)
		return;
	parse_nest(nest, tb, INC_A_LATE_MAX);
	out_open("late");
	if (get_u64(tb[INC_A_LATE_BLOCKS], &blocks))
		out_num("blocks", "    last of %s blocks", blocks, UNIT_NONE);
	if (get_u64(tb[INC_A_LATE_SUM_US], &sum))
		out_num("sum_us", NULL, sum, UNIT_US);
	out_num("mean_us", blocks ? " by %s" : NULL, blocks ? sum / blocks : 0, UNIT_US);
	if (get_u64(tb[INC_A_LATE_MAX_US], &max))
		out_num("max_us", blocks ? " at most %s;" : NULL, max, UNIT_US);
	if (get_u64(tb[INC_A_LATE_MISSED], &max))
		out_num("missed", max ? " missed %s;" : NULL, max, UNIT_NONE);
	show_histogram(tb[INC_A_LATE_HIST]);
	out_text("\n");
	out_close();
}

/* Which run of the group, and which of its trees or stripes. */
static void show_run(struct nlattr **tb)
{
	uint32_t stripe;
	uint64_t job;
	uint32_t v;

	if (get_u32(tb[INC_A_MEMBER_INCARNATION], &v))
		out_num("incarnation", NULL, v, UNIT_NONE);
	if (get_u64(tb[INC_A_MEMBER_JOB], &job))
		out_num("job", " job %s", job, UNIT_NONE);
	if (get_u32(tb[INC_A_MEMBER_TREE], &v))
		out_num("tree", " tree %s", v, UNIT_NONE);
	if (get_u32(tb[INC_A_MEMBER_STRIPE], &stripe))
		out_num("stripe", " stripe %s", stripe, UNIT_NONE);
	if (tb[INC_A_MEMBER_HEARS])
		out_bool("hears", " hears", true);
}

static void show_member(struct nlattr *nest)
{
	struct nlattr *tb[INC_A_MEMBER_MAX + 1];
	uint32_t state;
	uint32_t v;
	uint64_t w;

	parse_nest(nest, tb, INC_A_MEMBER_MAX);
	out_open(NULL);
	if (get_u32(tb[INC_A_MEMBER_GROUP], &v))
		out_num("group", "group %s", v, UNIT_NONE);
	if (get_u32(tb[INC_A_MEMBER_RANK], &v))
		out_num("rank", " rank %s", v, UNIT_NONE);
	if (get_u32(tb[INC_A_MEMBER_RANKS], &v))
		out_num("ranks", v == 1 ? " node for %s rank" : " node for %s ranks", v, UNIT_NONE);
	out_rest(true);
	show_run(tb);
	out_rest(false);
	show_where(tb);
	if (get_u32(tb[INC_A_MEMBER_STATE], &state))
		out_str("state", " %s", member_state_name(state));
	out_rest(true);
	if (get_u32(tb[INC_A_MEMBER_HEARD_MS], &v))
		out_num("heard_ms", " heard %s ago", v, UNIT_MS);
	if (get_u64(tb[INC_A_MEMBER_NEXT], &w))
		out_num("next", " next %s", w, UNIT_NONE);
	if (get_u32(tb[INC_A_MEMBER_SRTT], &v))
		out_num("srtt_us", " srtt %s", v, UNIT_US);
	out_text("\n");
	if (options.stats)
		show_late(tb[INC_A_MEMBER_LATE]);
	out_close();
}

static int member_show(int argc, char **argv)
{
	struct arg args[] = { { .key = "group", .kind = ARG_NUM, .max = UINT32_MAX },
			      { .key = NULL } };
	int err = args_parse(args, argc, argv);
	uint32_t group = (uint32_t)args[0].num;

	if (err)
		return err;
	return inc_dump(INC_CMD_MEMBER_GET, INC_A_MEMBER, args[0].given ? &group : NULL,
			show_member);
}

static const struct command commands[] = { { "show", member_show }, { NULL, NULL } };

const struct object object_member = { .name = "member", .commands = commands, .usage = usage };
