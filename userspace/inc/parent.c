// SPDX-License-Identifier: GPL-2.0-only
/*
 * inc parent: where ranks of this network namespace find their node when connect() names none.
 */
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <linux/inc.h>
#include <linux/inc_netlink.h>

#include "lldp.h"
#include "names.h"
#include "nl.h"
#include "print.h"
#include "tool.h"

/* of a name */
#define MAX_ADDRS	16

static const char usage[] =
	"Usage: inc parent show\n"
	"       inc parent set ADDR [port PORT] [dev DEV]\n"
	"       inc parent find [dev DEV]\n"
	"       inc parent discover [dev DEV]\n"
	"       inc parent del\n"
	"find:     nodes that neighbours announce by LLDP, as lldpd has heard it\n"
	"discover: sets the one that there is; of several, the one by DEV\n"
	"ADDR: an IPv4 or IPv6 address of the node, or its name: of several addresses the first one at which a node\n"
	"answers is set, and if none does the first; a link-local address (fe80::...) needs dev, or fe80::...%DEV.\n"
	"PORT: the node's UDP port, which has to be the module's here: that is the default.\n";

static int send_parent(const struct addr *addr, const uint16_t *port, uint32_t ifindex)
{
	struct nl_msg *msg = inc_request(INC_CMD_PARENT_SET, 0);
	struct nlattr *nest;

	if (!msg)
		return EXIT_REFUSED;
	nest = nla_nest_start(msg, INC_A_PARENT | NLA_F_NESTED);
	if (!nest || nla_put(msg, INC_A_PARENT_ADDR, addr->len, addr->bytes) ||
	    (port && nla_put_u32(msg, INC_A_PARENT_PORT, *port)) ||
	    (ifindex && nla_put_u32(msg, INC_A_PARENT_IFINDEX, ifindex)))
		return no_memory(msg);
	nla_nest_end(msg, nest);
	return inc_talk(msg, 0, NULL);
}

/*
 * Leaves those of @n addresses that can be a parent: with @dev the link-local ones, without it the
 * others and those that name their interface. Returns how many.
 */
static size_t leave_usable(struct addr *addrs, size_t n, bool dev)
{
	size_t i, left = 0;
	bool local;

	for (i = 0; i < n; i++) {
		local = addr_link_local(&addrs[i]);
		if (dev ? local : !local || addrs[i].ifindex)
			addrs[left++] = addrs[i];
	}
	return left;
}

/* The first one at which a node answers, or else the first one: it may be there later. */
static const struct addr *choose_addr(const char *name, const struct addr *addrs, size_t n,
				      uint16_t port)
{
	size_t i;

	if (n == 1)
		return addrs;
	for (i = 0; i < n; i++)
		if (node_answers(&addrs[i], port, addrs[i].ifindex))
			return &addrs[i];
	fprintf(stderr,
		"inc: warning: parent set: %s: no node answers at any of its %zu addresses; the first is set\n",
		name, n);
	return addrs;
}

static int set_dev(const char *text, const struct arg *dev, struct addr *addrs, size_t n)
{
	uint32_t ifindex = if_nametoindex(dev->text);

	if (strchr(text, '%'))
		return usage_error("dev %s: %s names its interface", dev->text, text);
	if (!n)
		return usage_error("dev %s: only a link-local address takes dev; %s is none",
				   dev->text, text);
	if (!ifindex)
		return refused("dev %s: no such interface in this network namespace", dev->text);
	while (n)
		addrs[--n].ifindex = ifindex;
	return 0;
}

static int find_addrs(const char *text, const struct arg *dev, struct addr *addrs, size_t *n)
{
	int err = addrs_find(text, addrs, MAX_ADDRS, n);

	if (err)
		return err;
	*n = leave_usable(addrs, *n, dev->given);
	if (dev->given)
		return set_dev(text, dev, addrs, *n);
	return *n ? 0 : usage_error("%s: a link-local address needs dev DEV", text);
}

static int parent_set(int argc, char **argv)
{
	struct arg args[] = {
		{ .key = "port", .kind = ARG_NUM, .min = 1, .max = 65535 },
		{ .key = "dev", .kind = ARG_DEV },
		{ .key = NULL }
	};
	struct addr addrs[MAX_ADDRS];
	const struct addr *addr;
	size_t n;
	uint16_t port;
	int err;

	if (!argc)
		return usage_error("address is missing; expected an IPv4 or IPv6 address");
	err = args_parse(args, argc - 1, argv + 1);
	if (!err)
		err = find_addrs(argv[0], &args[1], addrs, &n);
	if (err)
		return err;
	port = args[0].given ? (uint16_t)args[0].num : ask_own_port();
	addr = choose_addr(argv[0], addrs, n, port);
	return send_parent(addr, args[0].given ? &port : NULL, addr->ifindex);
}

/* How many nodes neighbours announce; less than 0: minus the exit status. */
static int find_nodes(int argc, char **argv, struct lldp_node *nodes)
{
	struct arg args[] = { { .key = "dev", .kind = ARG_DEV }, { .key = NULL } };
	int err = args_parse(args, argc, argv), n;

	if (err)
		return -err;
	n = lldp_find(args[0].given ? args[0].text : NULL, nodes);
	return n ?: -refused("no neighbour announces a node");
}

static int parent_find(int argc, char **argv)
{
	struct lldp_node nodes[LLDP_MAX_NODES];
	int n = find_nodes(argc, argv, nodes), i;

	if (n < 0)
		return -n;
	out_open_list(NULL);
	for (i = 0; i < n; i++) {
		out_open(NULL);
		out_str("addr", "node %s", ask_text(&nodes[i].at));
		out_num("port", " port %s", nodes[i].at.port, UNIT_NONE);
		out_str("dev", " dev %s\n", nodes[i].dev);
		out_close();
	}
	out_close_list();
	out_end();
	return 0;
}

static int parent_discover(int argc, char **argv)
{
	struct lldp_node nodes[LLDP_MAX_NODES];
	int n = find_nodes(argc, argv, nodes), i;
	char first[64];

	if (n < 0)
		return -n;
	snprintf(first, sizeof(first), "%s", ask_text(&nodes[0].at));
	for (i = 1; i < n && ask_same(&nodes[i].at, &nodes[0].at); i++)
		;
	if (i < n)
		return refused("neighbours announce %s by %s and %s by %s; expected %s", first,
			       nodes[0].dev, ask_text(&nodes[i].at), nodes[i].dev,
			       "dev DEV, or parent set");
	return send_parent(&nodes[0].at.addr, &nodes[0].at.port, nodes[0].at.ifindex);
}

static int parent_del(int argc, char **argv)
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
	if (!get_u32(tb[INC_A_PARENT_IFINDEX], &ifindex))
		ifindex = 0;
	if (options.commands && ifindex && !dev_is_there(ifindex))
		out_gone(ifindex);
	show_addr("addr", options.commands ? "parent set %s" : "parent %s", tb[INC_A_PARENT_ADDR]);
	/* Only the module's own can be set: where this is restored, it may be another one. */
	if (!options.commands && get_port(tb[INC_A_PARENT_PORT], &port))
		out_num("port", " port %s", port, UNIT_NONE);
	if (ifindex)
		show_dev("ifindex", "dev", " dev %s", ifindex);
	out_text("\n");
}

static int parent_show(int argc, char **argv)
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
	{ "show", parent_show }, { "set", parent_set },
	{ "find", parent_find }, { "discover", parent_discover },
	{ "del", parent_del }, { NULL, NULL },
};

const struct object object_parent = { .name = "parent", .commands = commands, .usage = usage,
				      .restores = true };
