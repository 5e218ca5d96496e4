// SPDX-License-Identifier: GPL-2.0-only
/*
 * inc parent: where ranks of this network namespace find their node when connect() names none.
 */
#include <net/if.h>
#include <string.h>
#include <linux/inc.h>
#include <linux/inc_netlink.h>

#include "names.h"
#include "nl.h"
#include "print.h"
#include "tool.h"

static const char usage[] =
	"Usage: inc parent show\n"
	"       inc parent set ADDR [port PORT] [dev DEV]\n"
	"       inc parent del\n"
	"ADDR: an IPv4 or IPv6 address of the node, or its name, of which the first address is set;\n"
	"a link-local address (fe80::...) needs dev.\n"
	"PORT: the node's UDP port, default 5227.\n";

static int send_parent(const struct addr *addr, const struct arg *port, uint32_t ifindex)
{
	struct nl_msg *msg = inc_request(INC_CMD_PARENT_SET, 0);
	struct nlattr *nest;

	if (!msg)
		return EXIT_REFUSED;
	nest = nla_nest_start(msg, INC_A_PARENT | NLA_F_NESTED);
	if (!nest || nla_put(msg, INC_A_PARENT_ADDR, addr->len, addr->bytes) ||
	    (port->given && nla_put_u16(msg, INC_A_PARENT_PORT, (uint16_t)port->num)) ||
	    (ifindex && nla_put_u32(msg, INC_A_PARENT_IFINDEX, ifindex)))
		return no_memory(msg);
	nla_nest_end(msg, nest);
	return inc_talk(msg, 0, NULL);
}

static int set(int argc, char **argv)
{
	struct arg args[] = {
		{ .key = "port", .kind = ARG_NUM, .min = 1, .max = 65535 },
		{ .key = "dev", .kind = ARG_DEV },
		{ .key = NULL }
	};
	unsigned int ifindex = 0;
	struct addr addr;
	int err;

	if (!argc)
		return usage_error("address is missing; expected an IPv4 or IPv6 address");
	err = args_parse(args, argc - 1, argv + 1);
	if (err)
		return err;
	err = addr_find(argv[0], &addr);
	if (err)
		return err;
	if (addr_link_local(&addr) && !args[1].given)
		return usage_error("%s: a link-local address needs dev DEV", argv[0]);
	if (!addr_link_local(&addr) && args[1].given)
		return usage_error("dev %s: only a link-local address takes dev; %s is none",
				   args[1].text, argv[0]);
	if (args[1].given) {
		ifindex = if_nametoindex(args[1].text);
		if (!ifindex)
			return refused("dev %s: no such interface in this network namespace",
				       args[1].text);
	}
	return send_parent(&addr, &args[0], ifindex);
}

static int del(int argc, char **argv)
{
	int err = args_none(argc, argv);
	struct nl_msg *msg;

	if (err)
		return err;
	msg = inc_request(INC_CMD_PARENT_DEL, 0);
	return msg ? inc_talk(msg, 0, NULL) : EXIT_REFUSED;
}

static bool shown;

static void show_parent(struct nlattr *nest)
{
	struct nlattr *tb[INC_A_PARENT_MAX + 1];
	uint32_t ifindex;
	uint16_t port;

	parse_nest(nest, tb, INC_A_PARENT_MAX);
	if (!tb[INC_A_PARENT_ADDR])
		return;
	shown = true;
	show_addr("addr", options.commands ? "parent set %s" : "parent %s", tb[INC_A_PARENT_ADDR]);
	if (get_u16(tb[INC_A_PARENT_PORT], &port))
		out_num("port", " port %s", port, UNIT_NONE);
	if (get_u32(tb[INC_A_PARENT_IFINDEX], &ifindex) && ifindex)
		show_dev("ifindex", "dev", " dev %s", ifindex);
	out_text("\n");
}

static int show(int argc, char **argv)
{
	int status = args_none(argc, argv);
	struct nl_msg *msg;

	if (status)
		return status;
	msg = inc_request(INC_CMD_PARENT_GET, 0);
	if (!msg)
		return EXIT_REFUSED;
	shown = false;
	out_open(NULL);
	status = inc_talk(msg, INC_A_PARENT, show_parent);
	if (!status && !shown && !options.commands)
		out_text("no parent is set\n");
	out_close();
	out_end();
	return status;
}

static const struct command commands[] = {
	{ "show", show }, { "set", set }, { "del", del }, { NULL, NULL },
};

const struct object object_parent = { .name = "parent", .commands = commands, .usage = usage,
				      .restores = true };
