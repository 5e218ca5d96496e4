// SPDX-License-Identifier: GPL-2.0-only
/*
 * inc topo: the nodes above, from here up to the root, found by asking one after the other which is
 * the next. What is beside and below them, nobody says: ask there.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <linux/inc_netlink.h>

#include "internal.h"
#include "names.h"
#include "nl.h"
#include "print.h"
#include "tool.h"
#include "topo.h"

static const char usage[] =
	"Usage: inc topo show [--dot] [ADDR]... [port PORT] [key HEX|@FILE] [timeout MS]\n"
	"Asks nodes what they are, and which is above them, from the first ones up to the root.\n"
	"ADDR:  the first ones; by default this network namespace's parent, and those of its nodes\n"
	"PORT:  their UDP port, default the module's here, or 5227\n"
	"key:   with which ranks join there: others are told nothing\n"
	"MS:    until an answer counts as lost, 10..60000, default 1000\n"
	"--dot: as a graph for graphviz: inc topo show --dot | dot -Tsvg\n"
	"Exit status 0: a node has answered, 2: none has.\n";

/* Found so far; those from `first` on have been found by asking. */
static struct hop hops[TOPO_MAX_HOPS];
static int nhops;

/* The index of the node that is there, which may be a new one; -1: there are too many. */
static int add_hop(const struct ask_target *at)
{
	int i;

	for (i = 0; i < nhops; i++)
		if (ask_same(&hops[i].at, at))
			return i;
	if (nhops == TOPO_MAX_HOPS)
		return -1;
	hops[nhops] = (struct hop){ .at = *at, .parent = -1 };
	return nhops++;
}

static void add_parent(struct nlattr *nest)
{
	struct nlattr *tb[INC_A_PARENT_MAX + 1];
	struct ask_target at = { .port = INC_PORT };

	parse_nest(nest, tb, INC_A_PARENT_MAX);
	if (!tb[INC_A_PARENT_ADDR] || nla_len(tb[INC_A_PARENT_ADDR]) > (int)sizeof(at.addr.bytes))
		return;
	at.addr.len = nla_len(tb[INC_A_PARENT_ADDR]);
	memcpy(at.addr.bytes, nla_data(tb[INC_A_PARENT_ADDR]), (size_t)at.addr.len);
	get_port(tb[INC_A_PARENT_PORT], &at.port);
	get_u32(tb[INC_A_PARENT_IFINDEX], &at.ifindex);
	add_hop(&at);
}

static void add_node(struct nlattr *nest)
{
	struct nlattr *attr;
	int rem;

	nla_for_each_nested(attr, nest, rem)
		if (nla_type(attr) == INC_A_NODE_PARENT)
			add_parent(attr);
}

/* What this network namespace knows. */
static int add_own(void)
{
	struct nl_msg *msg = inc_request(INC_CMD_PARENT_GET, 0);
	int err;

	if (!msg)
		return EXIT_REFUSED;
	err = inc_talk(msg, INC_A_PARENT, add_parent);
	if (err)
		return err;
	msg = inc_request(INC_CMD_NODE_GET, NLM_F_DUMP);
	if (!msg)
		return EXIT_REFUSED;
	err = inc_talk(msg, INC_A_NODE, add_node);
	if (!err && !nhops)
		return refused("neither this network namespace nor a node of it has a parent; expected an address");
	return err;
}

/*
 * Whoever answers at @from may say what he likes of the node above: packets go there only if it can
 * be the same for him and for this host. Of loopback nobody elsewhere is believed.
 */
static bool can_be_above(const struct addr *addr, const struct addr *from)
{
	return addr_unicast(addr) && !addr_link_local(addr) &&
	       (!addr_loopback(addr) || addr_loopback(from));
}

static bool parent_of(const struct hop *h, struct ask_target *at)
{
	const struct inc_addr *a = &h->about.parent;
	uint16_t family = ntohs(a->family);

	if (h->state != HOP_TOLD || (family != 4 && family != 6))
		return false;
	*at = (struct ask_target){ .port = ntohs(a->port) ?: ask_own_port() };
	at->addr.len = family == 4 ? 4 : 16;
	memcpy(at->addr.bytes, a->addr, (size_t)at->addr.len);
	return can_be_above(&at->addr, &h->at.addr);
}

/* One after the other; those above are added at the end. True: some node has answered. */
static bool walk_tree(const unsigned char *key, uint64_t timeout)
{
	struct ask_target above;
	bool found = false;
	int i;

	for (i = 0; i < nhops; i++) {
		topo_ask(&hops[i], key, timeout);
		found |= hops[i].state >= HOP_NODE;
		if (parent_of(&hops[i], &above))
			hops[i].parent = add_hop(&above);
	}
	return found;
}

int topo_find(const struct ask_target *first, const unsigned char *key, uint64_t timeout,
	      const struct hop **found, int *n)
{
	int err = 0;

	nhops = 0;
	if (first)
		add_hop(first);
	else
		err = add_own();
	if (err)
		return err;
	walk_tree(key, timeout);
	*found = hops;
	*n = nhops;
	return 0;
}

static const struct {
	const char *code, *text;
} states[] = {
	[HOP_SILENT] = { "none", "no answer" },
	[HOP_NO_NODE] = { "no-node", "has INC, but is no node" },
	[HOP_NODE] = { "node", "node, does not say what it is" },
	[HOP_KEY] = { "key", "node, tells only who has its key" },
	[HOP_TOLD] = { "told", "node" },
};

static void show_load(const struct hop *h)
{
	const struct inc_about *a = &h->about;

	out_num("groups", " groups %s", ntohl(a->groups), UNIT_NONE);
	out_num("max_groups", " of %s", ntohl(a->max_groups), UNIT_NONE);
	out_num("children", " children %s", ntohl(a->children), UNIT_NONE);
	out_num("memory_left", " memory-left %s", be64toh(a->memory_left), UNIT_BYTES);
	if (h->load_known)
		out_num("load_permille", " load %s/1000", h->load, UNIT_NONE);
}

static void show_about(const struct hop *h)
{
	const struct inc_about *a = &h->about;
	struct inc_reduces lacks = { ntohl(a->lacks.types), ntohl(a->lacks.ops) };
	char names[256] = "";
	struct ask_target above;

	out_num("caps", ", caps %s", ntohl(a->caps), UNIT_HEX);
	inc_format_reduces(names, sizeof(names), &lacks);
	out_str("lacks", *names ? " lacks %s" : NULL, names);
	out_num("window", " window %s", ntohs(a->window), UNIT_NONE);
	out_str("fallback", a->fallback ? " fallback %s" : NULL, fallback_name(a->fallback));
	out_bool("keyed", " keyed", a->flags & INC_ABOUT_KEYED);
	out_bool("tenant", " tenant", a->flags & INC_ABOUT_TENANT);
	if (!(a->flags & INC_ABOUT_TENANT))
		show_load(h);
	if (!parent_of(h, &above)) {
		out_bool("parent_untold", " parent not told", a->flags & INC_ABOUT_PARENT);
		return;
	}
	out_str("parent", " parent %s", ask_text(&above));
	out_num("parent_port", above.port == INC_PORT ? NULL : " port %s", above.port, UNIT_NONE);
}

static void show_hop(const struct hop *h)
{
	out_open(NULL);
	out_str("addr", "%s", ask_text(&h->at));
	if (h->at.ifindex)
		show_dev("ifindex", "dev", "%%s", h->at.ifindex);
	out_num("port", h->at.port == INC_PORT ? NULL : " port %s", h->at.port, UNIT_NONE);
	out_str("answer", NULL, states[h->state].code);
	out_text(": %s", states[h->state].text);
	if (h->state == HOP_TOLD)
		show_about(h);
	if (h->rtt)
		out_num("rtt_us", ", round trip %s", h->rtt, UNIT_US);
	out_text("\n");
	out_close();
}

/* Of the characters that an interface's name may have, graphviz takes two for something else. */
static const char *dot_place(const struct hop *h)
{
	static char text[INET6_ADDRSTRLEN + IFNAMSIZ];
	char *c;

	snprintf(text, sizeof(text), "%s", ask_place(&h->at));
	for (c = text; *c; c++)
		if (*c == '"' || *c == '\\')
			*c = '?';
	return text;
}

static const char *dot_name(const struct hop *h)
{
	static char text[INET6_ADDRSTRLEN + IFNAMSIZ + 16];

	snprintf(text, sizeof(text), "%s port %u", dot_place(h), h->at.port);
	return text;
}

static void dot_hop(const struct hop *h)
{
	const struct inc_about *a = &h->about;

	printf("\t\"%s\" [label=\"%s\\n%s", dot_name(h), dot_place(h), states[h->state].text);
	if (h->state == HOP_TOLD)
		printf(", caps %08x\\ngroups %u of %u, children %u", ntohl(a->caps),
		       ntohl(a->groups), ntohl(a->max_groups), ntohl(a->children));
	if (h->rtt)
		printf("\\nround trip %llu us", (unsigned long long)h->rtt);
	printf("\"%s];\n", h->state >= HOP_NODE ? "" : ", style=dashed");
}

/* Addresses, interfaces and numbers: nothing in it that graphviz could take for something else. */
static void show_dot(int first)
{
	int i;

	printf("digraph inc {\n\trankdir=BT;\n\tnode [shape=box];\n\there [label=\"this host\", shape=ellipse];\n");
	for (i = 0; i < nhops; i++)
		dot_hop(&hops[i]);
	for (i = 0; i < first; i++)
		printf("\there -> \"%s\";\n", dot_name(&hops[i]));
	for (i = 0; i < nhops; i++) {
		if (hops[i].parent < 0)
			continue;
		printf("\t\"%s\" -> ", dot_name(&hops[i]));
		printf("\"%s\";\n", dot_name(&hops[hops[i].parent]));
	}
	printf("}\n");
}

static void show_all(void)
{
	int i;

	out_open_list(NULL);
	for (i = 0; i < nhops; i++)
		show_hop(&hops[i]);
	out_close_list();
}

/* The addresses in front of `key value`; how many there are, or -exit status. */
static int add_given(int argc, char **argv, struct arg *args)
{
	struct arg no_dev = { 0 };
	struct ask_target at;
	int n, i, err;

	for (n = 0; n < argc && !arg_find(args, argv[n]); n++)
		;
	err = args_parse(args, argc - n, argv + n);
	for (i = 0; !err && i < n; i++) {
		at = (struct ask_target){ .port = args[0].given ? (uint16_t)args[0].num :
								  ask_own_port() };
		err = ask_given(&at, argv[i], &no_dev);
		if (!err && add_hop(&at) < 0)
			err = usage_error("%s: expected at most %d addresses", argv[i],
					  TOPO_MAX_HOPS);
	}
	if (!err && !n && args[0].given)
		err = usage_error("port: expected with an address");
	return err ? -err : n;
}

static int topo_show(int argc, char **argv)
{
	struct arg args[] = {
		{ .key = "port", .kind = ARG_NUM, .min = 1, .max = 65535 },
		{ .key = "key", .kind = ARG_KEY },
		{ .key = "timeout", .kind = ARG_NUM, .min = 10, .max = 60000, .num = 1000 },
		{ .key = NULL }
	};
	bool dot = argc && !strcmp(argv[0], "--dot"), found;
	int first;

	if (dot && out_is_json())
		return usage_error("--dot: not with -j");
	nhops = 0;
	first = add_given(argc - dot, argv + dot, args);
	if (first < 0)
		return -first;
	if (!first) {
		int err = add_own();

		if (err)
			return err;
	}
	first = nhops;
	found = walk_tree(args[1].key_bytes, args[2].num);
	if (dot)
		show_dot(first);
	else
		show_all();
	out_end();
	return found ? 0 : EXIT_REFUSED;
}

static const struct command commands[] = { { "show", topo_show }, { NULL, NULL } };

const struct object object_topo = { .name = "topo", .commands = commands, .usage = usage };
