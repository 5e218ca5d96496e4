// SPDX-License-Identifier: GPL-2.0-only
/*
 * inc caps: what the loaded module can do: its family number, wire version, reduction kernels.
 */
#include <linux/inc_netlink.h>

#include "names.h"
#include "nl.h"
#include "print.h"
#include "tool.h"

static const char usage[] =
	"Usage: inc caps show\n"
	"The number of AF_INC here, wire version, UDP port, largest group, and what is reduced.\n";

static void show_kernel(struct nlattr *nest)
{
	struct nlattr *tb[INC_A_KERNEL_MAX + 1];

	parse_nest(nest, tb, INC_A_KERNEL_MAX);
	out_open(NULL);
	if (get_str(tb[INC_A_KERNEL_TYPE]))
		out_str("type", "reduces %s", get_str(tb[INC_A_KERNEL_TYPE]));
	if (get_str(tb[INC_A_KERNEL_OP]))
		out_str("op", " %s", get_str(tb[INC_A_KERNEL_OP]));
	if (get_str(tb[INC_A_KERNEL_MODE]))
		out_str("mode", " %s", get_str(tb[INC_A_KERNEL_MODE]));
	if (get_str(tb[INC_A_KERNEL_VARIANT]))
		out_str("variant", " by %s", get_str(tb[INC_A_KERNEL_VARIANT]));
	out_text("\n");
	out_close();
}

static void show_caps(struct nlattr *nest)
{
	struct nlattr *tb[INC_A_CAPS_MAX + 1], *attr;
	uint16_t port;
	uint32_t v;
	int rest;

	parse_nest(nest, tb, INC_A_CAPS_MAX);
	out_open(NULL);
	if (get_u32(tb[INC_A_CAPS_FAMILY_NUMBER], &v))
		out_num("family_number", "family-number %s", v, UNIT_NONE);
	if (get_u32(tb[INC_A_CAPS_WIRE_VERSION], &v))
		out_num("wire_version", " wire-version %s", v, UNIT_NONE);
	if (get_port(tb[INC_A_CAPS_PORT], &port))
		out_num("port", " port %s", port, UNIT_NONE);
	if (get_u32(tb[INC_A_CAPS_MAX_RANKS], &v))
		out_num("max_ranks", " max-ranks %s", v, UNIT_NONE);
	out_text("\n");
	out_open_list("kernels");
	nla_for_each_nested(attr, nest, rest)
		if (nla_type(attr) == INC_A_CAPS_KERNEL)
			show_kernel(attr);
	out_close_list();
	out_close();
}

static int caps_show(int argc, char **argv)
{
	int err = args_none(argc, argv);

	return err ? err : inc_get(INC_CMD_CAPS_GET, INC_A_CAPS, show_caps);
}

static const struct command commands[] = { { "show", caps_show }, { NULL, NULL } };

const struct object object_caps = { .name = "caps", .commands = commands, .usage = usage };
