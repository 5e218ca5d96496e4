// SPDX-License-Identifier: GPL-2.0-only
/*
 * inc member: the children of the groups that nodes of this network namespace reduce for.
 */
#include <linux/inc.h>
#include <linux/inc_netlink.h>

#include "names.h"
#include "nl.h"
#include "print.h"
#include "tool.h"

static const char usage[] =
	"Usage: inc member show [group ID]\n"
	"Per rank: its address and bridge port, state, how long ago it was heard, and how far it has come.\n";

static void show_where(struct nlattr **tb)
{
	uint16_t port;
	uint32_t v;

	show_addr("addr", " at %s", tb[INC_A_MEMBER_ADDR]);
	if (get_u16(tb[INC_A_MEMBER_UDP_PORT], &port))
		out_num("port", " port %s", port, UNIT_NONE);
	if (get_u32(tb[INC_A_MEMBER_IFINDEX], &v))
		show_dev("ifindex", "dev", " dev %s", v);
}

static void show_member(struct nlattr *nest)
{
	struct nlattr *tb[INC_A_MEMBER_MAX + 1];
	uint8_t state;
	uint32_t v;
	uint64_t w;

	parse_nest(nest, tb, INC_A_MEMBER_MAX);
	out_open(NULL);
	if (get_u32(tb[INC_A_MEMBER_GROUP], &v))
		out_num("group", "group %s", v, UNIT_NONE);
	if (get_u32(tb[INC_A_MEMBER_RANK], &v))
		out_num("rank", " rank %s", v, UNIT_NONE);
	if (get_u32(tb[INC_A_MEMBER_INCARNATION], &v))
		out_num("incarnation", NULL, v, UNIT_NONE);
	show_where(tb);
	if (get_u8(tb[INC_A_MEMBER_STATE], &state))
		out_str("state", " %s", member_state_name(state));
	if (get_u32(tb[INC_A_MEMBER_HEARD_MS], &v))
		out_num("heard_ms", " heard %s ago", v, UNIT_MS);
	if (get_u64(tb[INC_A_MEMBER_NEXT], &w))
		out_num("next", " next %s", w, UNIT_NONE);
	if (get_u32(tb[INC_A_MEMBER_SRTT], &v))
		out_num("srtt_us", " srtt %s", v, UNIT_US);
	out_text("\n");
	out_close();
}

static int show(int argc, char **argv)
{
	struct arg args[] = { { .key = "group", .kind = ARG_NUM, .max = UINT32_MAX }, { .key = NULL } };
	int err = args_parse(args, argc, argv);
	uint32_t group = (uint32_t)args[0].num;

	return err ? err : inc_dump(INC_CMD_MEMBER_GET, INC_A_MEMBER, args[0].given ? &group : NULL, show_member);
}

static const struct command commands[] = { { "show", show }, { NULL, NULL } };

const struct object object_member = { .name = "member", .commands = commands, .usage = usage };
