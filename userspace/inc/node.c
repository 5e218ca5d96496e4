// SPDX-License-Identifier: GPL-2.0-only
/*
 * inc node: where this box reduces for others, at an interface (a bridge, lo, a VRF) or at all, and
 * the limits there.
 */
#include <string.h>
#include <linux/inc.h>
#include <linux/inc_netlink.h>

#include "internal.h"
#include "lldp.h"
#include "names.h"
#include "nl.h"
#include "print.h"
#include "tool.h"

static const char usage[] =
	"Usage: inc node show [dev DEV]\n"
	"       inc node add dev DEV [LIMIT VALUE]...\n"
	"       inc node set dev DEV [LIMIT VALUE]...\n"
	"       inc node replace dev DEV [LIMIT VALUE]...\n"
	"       inc node del dev DEV\n"
	"       inc node announce ADDR|none [port PORT]\n"
	"DEV:   a bridge, a port, a VLAN device: what comes in by it; lo or any: what is sent to its addresses, by\n"
	"       whatever port; a VRF: what comes by its devices; all: what comes to this network namespace\n"
	"LIMIT: dead MS           a rank whose endpoint is silent this long is dead; 100..60000, default 10000\n"
	"       late MS           a rank that does not contribute this long is late; 10..3600000, default 0: wait\n"
	"       late-policy wait|fail|partial  what happens then: a report; the group fails; reductions go on\n"
	"                         without it (not with a fallback). Default: fail if late is given, else wait\n"
	"       window N          blocks in flight, a power of two in 4..4096, default 512\n"
	"       max-groups N      default 64\n"
	"       max-memory BYTES  held packets per group; default 64M\n"
	"       key HEX|@FILE|none  32 hex digits, or a file of mode 0600 with them: only ranks that have the\n"
	"                         key may join; default none\n"
	"       fallback none|standby|edge\n"
	"                         where groups go on when this node is lost: nowhere (default), at the standby\n"
	"                         nodes, or at these and then at the hosts themselves\n"
	"       standby ADDR[,ADDR]...  standby nodes, at most 3, which know of nothing before they are needed\n"
	"       parent ADDR[%DEV][,ADDR[%DEV]]...|none [port PORT]\n"
	"                         the node above: asked for groups of which not all ranks come to this one; of\n"
	"                         several, at most 8, stripe I of a group has number I modulo how many; a\n"
	"                         link-local address needs %DEV. Default none; PORT: the module's\n"
	"       multicast PREFIX|none  IPv4 multicast groups, as 239.1.0.0/16: a group whose ranks come by one port\n"
	"                         gets one of them, and results go there, once for all ranks that hear them there;\n"
	"                         default none\n"
	"       types TYPE[,TYPE]...|all, operations OP[,OP]...|all\n"
	"                         what this node reduces; operations that need something else are refused to all\n"
	"                         ranks of its groups; default all\n"
	"`set` changes what it is given, `replace` is `add` where there is no node and else also gives limits that\n"
	"are not named their defaults; groups that exist keep what they were formed with.\n";

static const char *const policies[] = {
	[INC_LATE_WAIT] = "wait", [INC_LATE_FAIL] = "fail", [INC_LATE_PARTIAL] = "partial", NULL
};

static const struct arg limits[] = {
	{ .key = "dev", .kind = ARG_DEV },
	{ .key = "dead", .kind = ARG_NUM, .min = 100, .max = 60000 },
	{ .key = "late", .kind = ARG_NUM_OR_0, .min = 10, .max = 3600000 },
	{ .key = "window", .kind = ARG_POW2, .min = INC_MIN_WINDOW, .max = INC_MAX_WINDOW },
	{ .key = "max-groups", .kind = ARG_NUM, .min = 1, .max = 65536 },
	{ .key = "max-memory", .kind = ARG_BYTES, .min = 65536, .max = 1ULL << 40 },
	{ .key = "key", .kind = ARG_KEY },
	{ .key = "fallback", .kind = ARG_WORD, .words = fallback_names },
	{ .key = "standby", .kind = ARG_ADDRS, .max = INC_MAX_STANDBY },
	{ .key = "late-policy", .kind = ARG_WORD, .words = policies },
	{ .key = "parent", .kind = ARG_PEERS, .max = INC_MAX_STRIPES },
	{ .key = "port", .kind = ARG_NUM, .min = 1, .max = 65535 },
	{ .key = "multicast", .kind = ARG_TEXT },
	{ .key = "types", .kind = ARG_TEXT },
	{ .key = "operations", .kind = ARG_TEXT },
	{ .key = NULL }
};

static int put_fallback(struct nl_msg *msg, struct arg *args)
{
	struct arg *fallback = arg_find(args, "fallback"), *standby = arg_find(args, "standby");
	struct addr addr[INC_MAX_STANDBY];
	struct nlattr *nest;
	size_t i, n = 0;

	if (fallback && fallback->given &&
	    nla_put_u32(msg, INC_A_NODE_FALLBACK, fallback->num))
		return -1;
	if (standby && standby->given)
		n = arg_addrs(standby, addr, INC_MAX_STANDBY);
	for (i = 0; i < n; i++) {
		nest = nla_nest_start(msg, INC_A_NODE_STANDBY | NLA_F_NESTED);
		if (!nest || nla_put(msg, INC_A_PARENT_ADDR, addr[i].len, addr[i].bytes))
			return -1;
		nla_nest_end(msg, nest);
	}
	return 0;
}

static int put_parents(struct nl_msg *msg, struct arg *args)
{
	struct arg *parent = arg_find(args, "parent"), *port = arg_find(args, "port");
	struct addr addr[INC_MAX_STRIPES];
	struct nlattr *nest;
	size_t i, n = 0;

	if (parent && parent->given)
		n = arg_peers(parent, addr, INC_MAX_STRIPES);
	for (i = 0; i < n; i++) {
		nest = nla_nest_start(msg, INC_A_NODE_PARENT | NLA_F_NESTED);
		if (!nest || nla_put(msg, INC_A_PARENT_ADDR, addr[i].len, addr[i].bytes) ||
		    (port->given && nla_put_u32(msg, INC_A_PARENT_PORT, (uint32_t)port->num)) ||
		    (addr[i].ifindex && nla_put_u32(msg, INC_A_PARENT_IFINDEX, addr[i].ifindex)))
			return -1;
		nla_nest_end(msg, nest);
	}
	return 0;
}

static int parse_multicast(const struct arg *arg, struct addr *addr, unsigned long *bits)
{
	*bits = 0;
	if (!strcmp(arg->text, "none"))
		return 0;
	return prefix_parse("multicast", "none", arg->text, addr, bits);
}

/* Has been parsed before. */
static int put_multicast(struct nl_msg *msg, struct arg *args)
{
	struct arg *arg = arg_find(args, "multicast");
	struct addr addr = { 0 };
	struct nlattr *nest;
	unsigned long bits;

	if (!arg || !arg->given)
		return 0;
	parse_multicast(arg, &addr, &bits);
	nest = nla_nest_start(msg, INC_A_NODE_MULTICAST | NLA_F_NESTED);
	if (!nest || (addr.len && nla_put(msg, INC_A_PREFIX_ADDR, addr.len, addr.bytes)) ||
	    nla_put_u32(msg, INC_A_PREFIX_LEN, (uint32_t)bits))
		return -1;
	nla_nest_end(msg, nest);
	return 0;
}

static const char *type_of(unsigned int number)
{
	return inc_type_name((enum inc_type)number);
}

static const char *op_of(unsigned int number)
{
	return inc_op_name((enum inc_op)number);
}

/* What a node may be set to reduce: types, or operations. */
static const struct kind {
	const char *key;
	int attr;
	unsigned int last;	/* the numbers of all are 1 .. last */
	int (*parse)(const char *name);
	const char *(*name)(unsigned int number);
} kinds[] = {
	{ "types", INC_A_NODE_LACKS_TYPES, INC_TYPE_MAX, inc_type_parse, type_of },
	/* nodes know sums of what ranks have weighted as sums */
	{ "operations", INC_A_NODE_LACKS_OPERATIONS, INC_OP_WSUM - 1, inc_op_parse, op_of },
};

/* What "f32,bf16", or "all", leaves out: bit i is number i. */
static int parse_kinds(const struct kind *kind, const char *text, uint32_t *lacks)
{
	uint32_t all = (2U << kind->last) - 2, has = 0;
	char name[16];
	size_t len;
	int number;

	*lacks = 0;
	if (!strcmp(text, "all"))
		return 0;
	for (;; text += len + 1) {
		len = strcspn(text, ",");
		snprintf(name, sizeof(name), "%.*s", (int)len, text);
		number = len < sizeof(name) ? kind->parse(name) : -1;
		if (number <= 0 || (unsigned int)number > kind->last)
			return usage_error("%s %.*s: expected a list of names, or all (inc caps show)",
					   kind->key, (int)len, text);
		has |= 1U << number;
		if (!text[len])
			break;
	}
	*lacks = all & ~has;
	return 0;
}

static int check_kinds(struct arg *args)
{
	const struct arg *arg;
	uint32_t lacks;
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kinds) && !err; i++) {
		arg = arg_find(args, kinds[i].key);
		if (arg && arg->given)
			err = parse_kinds(&kinds[i], arg->text, &lacks);
	}
	return err;
}

/* Have been parsed before. */
static int put_kinds(struct nl_msg *msg, struct arg *args)
{
	const struct arg *arg;
	uint32_t lacks;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		arg = arg_find(args, kinds[i].key);
		if (!arg || !arg->given)
			continue;
		parse_kinds(&kinds[i], arg->text, &lacks);
		if (nla_put_u32(msg, kinds[i].attr, lacks))
			return -1;
	}
	return 0;
}

static int put_limits(struct nl_msg *msg, struct arg *args)
{
	static const struct {
		const char *key;
		int attr;
	} map[] = {
		{ "dead", INC_A_NODE_DEAD_MS }, { "late", INC_A_NODE_LATE_MS },
		{ "window", INC_A_NODE_WINDOW }, { "max-groups", INC_A_NODE_MAX_GROUPS },
	};
	struct arg *arg;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(map); i++) {
		arg = arg_find(args, map[i].key);
		if (arg && arg->given && nla_put_u32(msg, map[i].attr, (uint32_t)arg->num))
			return -1;
	}
	arg = arg_find(args, "key");
	if (arg && arg->given &&
	    nla_put(msg, INC_A_NODE_KEY, sizeof(arg->key_bytes), arg->key_bytes))
		return -1;
	arg = arg_find(args, "late-policy");
	if (arg && arg->given && nla_put_u32(msg, INC_A_NODE_LATE_POLICY, arg->num))
		return -1;
	arg = arg_find(args, "max-memory");
	if (arg && arg->given && nla_put_u64(msg, INC_A_NODE_MAX_MEMORY, arg->num))
		return -1;
	if (put_fallback(msg, args) || put_parents(msg, args) || put_multicast(msg, args) ||
	    put_kinds(msg, args))
		return -1;
	return 0;
}

/* The node that @args name, with what else they hold. @replace: NODE_ADD of one that is there. */
static struct nl_msg *build_request(uint8_t cmd, bool replace, struct arg *args)
{
	struct nl_msg *msg = inc_request(cmd, 0);
	struct nlattr *nest;

	if (!msg)
		return NULL;
	if (replace && nla_put_flag(msg, INC_A_REPLACE)) {
		no_memory(msg);
		return NULL;
	}
	nest = nla_nest_start(msg, INC_A_NODE | NLA_F_NESTED);
	if (!nest || nla_put_string(msg, INC_A_NODE_IFNAME, arg_find(args, "dev")->text) ||
	    put_limits(msg, args)) {
		no_memory(msg);
		return NULL;
	}
	nla_nest_end(msg, nest);
	return msg;
}

/* A port is the parent's. */
static bool port_fits(struct arg *args)
{
	const struct arg *parent = arg_find(args, "parent"), *port = arg_find(args, "port");

	return !port || !port->given || (parent->given && strcmp(parent->text, "none"));
}

static int node_change(uint8_t cmd, bool replace, struct arg *args, int argc, char **argv)
{
	const struct arg *multicast = arg_find(args, "multicast");
	int err = args_parse(args, argc, argv);
	unsigned long bits;
	struct nl_msg *msg;
	struct addr addr;

	if (err)
		return err;
	if (!arg_find(args, "dev")->given)
		return usage_error("dev: missing; expected the name of an interface");
	if (!port_fits(args))
		return usage_error("port: expected with the address of a parent");
	if (multicast && multicast->given)
		err = parse_multicast(multicast, &addr, &bits);
	if (!err)
		err = check_kinds(args);
	if (err)
		return err;
	msg = build_request(cmd, replace, args);
	return msg ? inc_talk(msg, 0, NULL) : EXIT_REFUSED;
}

static int node_add(int argc, char **argv)
{
	struct arg args[ARRAY_SIZE(limits)];

	memcpy(args, limits, sizeof(args));
	return node_change(INC_CMD_NODE_ADD, false, args, argc, argv);
}

static int node_replace(int argc, char **argv)
{
	struct arg args[ARRAY_SIZE(limits)];

	memcpy(args, limits, sizeof(args));
	return node_change(INC_CMD_NODE_ADD, true, args, argc, argv);
}

static int node_set(int argc, char **argv)
{
	struct arg args[ARRAY_SIZE(limits)];

	memcpy(args, limits, sizeof(args));
	if (argc == 2)
		return usage_error("nothing to change: expected %s",
				   "dead, late, window, max-groups, max-memory, key, fallback, standby, late-policy, parent, multicast, types or operations");
	return node_change(INC_CMD_NODE_SET, false, args, argc, argv);
}

static int node_del(int argc, char **argv)
{
	struct arg args[] = { { .key = "dev", .kind = ARG_DEV }, { .key = NULL } };

	return node_change(INC_CMD_NODE_DEL, false, args, argc, argv);
}

/* To the neighbours of all ports: hosts find it with `inc parent discover`. */
static int node_announce(int argc, char **argv)
{
	struct arg args[] = {
		{ .key = "port", .kind = ARG_NUM, .min = 1, .max = 65535 },
		{ .key = NULL }
	};
	struct ask_target at = { 0 };
	size_t n;
	int err;

	if (!argc)
		return usage_error("address is missing; expected an IPv4 or IPv6 address, or none");
	err = args_parse(args, argc - 1, argv + 1);
	if (err)
		return err;
	if (!strcmp(argv[0], "none"))
		return args[0].given ? usage_error("port: expected with an address") :
				       lldp_announce(NULL);
	err = addrs_find(argv[0], &at.addr, 1, &n);
	if (err)
		return err;
	at.port = args[0].given ? (uint16_t)args[0].num : ask_own_port();
	return lldp_announce(&at);
}

static void show_limits(struct nlattr **tb)
{
	uint32_t policy;
	uint32_t v;
	uint64_t w;

	if (get_u32(tb[INC_A_NODE_DEAD_MS], &v))
		out_num("dead_ms", " dead %s", v, UNIT_MS);
	if (get_u32(tb[INC_A_NODE_LATE_MS], &v))
		out_num("late_ms", v ? " late %s" : " late off", v, UNIT_MS);
	if (get_u32(tb[INC_A_NODE_LATE_POLICY], &policy))
		out_str("late_policy", policy != INC_LATE_WAIT ? " late-policy %s" : NULL,
			policy <= INC_LATE_MAX ? policies[policy] : "?");
	if (get_u32(tb[INC_A_NODE_WINDOW], &v))
		out_num("window", " window %s", v, UNIT_NONE);
	if (get_u32(tb[INC_A_NODE_MAX_GROUPS], &v))
		out_num("max_groups", " max-groups %s", v, UNIT_NONE);
	if (get_u64(tb[INC_A_NODE_MAX_MEMORY], &w))
		out_num("max_memory", " max-memory %s", w, UNIT_BYTES);
	out_bool("keyed", " keyed", !!tb[INC_A_NODE_KEYED]);
}

static void show_multicast(struct nlattr *nest)
{
	struct nlattr *tb[INC_A_PREFIX_MAX + 1];
	uint32_t len;

	if (!nest)
		return;
	parse_nest(nest, tb, INC_A_PREFIX_MAX);
	show_addr("multicast", " multicast %s", tb[INC_A_PREFIX_ADDR]);
	if (get_u32(tb[INC_A_PREFIX_LEN], &len))
		out_num("multicast_len", "/%s", len, UNIT_NONE);
}

/* As they are given to `set`: what it reduces; in text only if that is not all. */
static void show_kinds(struct nlattr **tb)
{
	const struct kind *kind;
	char text[256], fmt[32];
	uint32_t lacks;

	for (kind = kinds; kind < kinds + ARRAY_SIZE(kinds); kind++) {
		if (!get_u32(tb[kind->attr], &lacks))
			continue;
		snprintf(text, sizeof(text), "%s", lacks ? "" : "all");
		for (unsigned int i = 1; lacks && i <= kind->last; i++)
			if (!(lacks >> i & 1))
				inc_append(text, sizeof(text), "%s%s", *text ? "," : "",
					   kind->name(i));
		snprintf(fmt, sizeof(fmt), " %s %%s", kind->key);
		if (lacks || out_is_json())
			out_str(kind->key, fmt, text);
	}
}

static void show_standby(struct nlattr *nest)
{
	struct nlattr *tb[INC_A_PARENT_MAX + 1];
	uint16_t port;

	parse_nest(nest, tb, INC_A_PARENT_MAX);
	out_open(NULL);
	show_addr("addr", " standby %s", tb[INC_A_PARENT_ADDR]);
	if (get_port(tb[INC_A_PARENT_PORT], &port))
		out_num("port", port == INC_PORT ? NULL : " port %s", port, UNIT_NONE);
	out_close();
}

static void show_fallback(struct nlattr *node, struct nlattr **tb)
{
	struct nlattr *attr;
	uint32_t v;
	int rem;

	if (!get_u32(tb[INC_A_NODE_FALLBACK], &v))
		return;
	out_str("fallback", v ? " fallback %s" : NULL, fallback_name(v));
	if (!tb[INC_A_NODE_STANDBY])
		return;
	out_open_list("standby");
	nla_for_each_nested(attr, node, rem)
		if (nla_type(attr) == INC_A_NODE_STANDBY)
			show_standby(attr);
	out_close_list();
}

static void print_standbys(struct nlattr *node)
{
	struct nlattr *tb[INC_A_PARENT_MAX + 1], *attr;
	const char *fmt = " standby %s";
	int rem;

	nla_for_each_nested(attr, node, rem) {
		if (nla_type(attr) != INC_A_NODE_STANDBY)
			continue;
		show_addr(NULL, fmt, parse_nest(attr, tb, INC_A_PARENT_MAX)[INC_A_PARENT_ADDR]);
		fmt = ",%s";
	}
}

/* All have one port. */
static void print_parents(struct nlattr *node)
{
	struct nlattr *tb[INC_A_PARENT_MAX + 1], *attr;
	const char *fmt = " parent %s";
	uint32_t ifindex;
	uint16_t port = 0;
	int rem;

	nla_for_each_nested(attr, node, rem) {
		if (nla_type(attr) != INC_A_NODE_PARENT)
			continue;
		parse_nest(attr, tb, INC_A_PARENT_MAX);
		show_addr(NULL, fmt, tb[INC_A_PARENT_ADDR]);
		if (get_u32(tb[INC_A_PARENT_IFINDEX], &ifindex) && ifindex)
			out_str(NULL, "%%s", dev_name(ifindex));
		get_port(tb[INC_A_PARENT_PORT], &port);
		fmt = ",%s";
	}
	if (port && port != ask_own_port())
		out_num(NULL, " port %s", port, UNIT_NONE);
}

/* The interface by which a parent was reached, if that is gone; else 0. */
static uint32_t parent_gone(struct nlattr *node)
{
	struct nlattr *tb[INC_A_PARENT_MAX + 1], *attr;
	uint32_t ifindex;
	int rem;

	nla_for_each_nested(attr, node, rem)
		if (nla_type(attr) == INC_A_NODE_PARENT &&
		    get_u32(parse_nest(attr, tb, INC_A_PARENT_MAX)[INC_A_PARENT_IFINDEX],
			    &ifindex) &&
		    ifindex && !dev_is_there(ifindex))
			return ifindex;
	return 0;
}

/* The kernel gives no keys away: with "?" in its place the command fails until it is filled in. */
static void print_with(struct nlattr *nest, struct nlattr **tb, bool parents)
{
	static const struct { int attr; const char *fmt; } numbers[] = {
		{ INC_A_NODE_DEAD_MS, " dead %s" }, { INC_A_NODE_LATE_MS, " late %s" },
		{ INC_A_NODE_WINDOW, " window %s" }, { INC_A_NODE_MAX_GROUPS, " max-groups %s" },
	};
	uint32_t word;
	uint64_t w;
	uint32_t v;
	size_t i;

	out_str(NULL, "node replace dev %s", get_str(tb[INC_A_NODE_IFNAME]) ?: "?");
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		if (get_u32(tb[numbers[i].attr], &v))
			out_num(NULL, numbers[i].fmt, v, UNIT_NONE);
	if (get_u64(tb[INC_A_NODE_MAX_MEMORY], &w))
		out_num(NULL, " max-memory %s", w, UNIT_NONE);
	if (get_u32(tb[INC_A_NODE_LATE_POLICY], &word) && word <= INC_LATE_MAX)
		out_str(NULL, " late-policy %s", policies[word]);
	if (get_u32(tb[INC_A_NODE_FALLBACK], &word))
		out_str(NULL, " fallback %s", fallback_name(word));
	print_standbys(nest);
	if (parents)
		print_parents(nest);
	show_multicast(tb[INC_A_NODE_MULTICAST]);
	show_kinds(tb);
	if (tb[INC_A_NODE_KEYED])
		left_out |= LEFT_OUT_KEY;
	out_text("%s\n", tb[INC_A_NODE_KEYED] ? " key ?" : "");
}

/* A node whose parent cannot be named any more serves whoever comes to it all the same. */
static void print_command(struct nlattr *nest, struct nlattr **tb)
{
	uint32_t gone = parent_gone(nest);

	if (gone) {
		out_gone(gone);
		print_with(nest, tb, true);
	}
	print_with(nest, tb, !gone);
}

/* The first one as where there is one; the others in a list. */
static void show_parents(struct nlattr *node)
{
	struct nlattr *attr;
	int rem, n = 0;

	nla_for_each_nested(attr, node, rem) {
		if (nla_type(attr) != INC_A_NODE_PARENT)
			continue;
		if (n == 1)
			out_open_list("other_parents");
		show_parent_as(n ? NULL : "parent", attr);
		n++;
	}
	if (n > 1)
		out_close_list();
}

static void show_node(struct nlattr *nest)
{
	struct nlattr *tb[INC_A_NODE_MAX + 1];
	uint32_t v;
	uint64_t w;

	parse_nest(nest, tb, INC_A_NODE_MAX);
	if (options.commands) {
		print_command(nest, tb);
		return;
	}
	out_open(NULL);
	if (get_u32(tb[INC_A_NODE_IFINDEX], &v))
		out_num("ifindex", NULL, v, UNIT_NONE);
	if (get_str(tb[INC_A_NODE_IFNAME]))
		out_str("dev", "node dev %s", get_str(tb[INC_A_NODE_IFNAME]));
	out_rest(true);
	show_limits(tb);
	show_fallback(nest, tb);
	show_parents(nest);
	show_multicast(tb[INC_A_NODE_MULTICAST]);
	show_kinds(tb);
	out_rest(false);
	if (get_u32(tb[INC_A_NODE_GROUPS], &v))
		out_num("groups", " groups %s", v, UNIT_NONE);
	if (get_u64(tb[INC_A_NODE_MEMORY], &w))
		out_num("memory", " memory %s", w, UNIT_BYTES);
	out_text("\n");
	out_close();
}

static int node_show(int argc, char **argv)
{
	struct arg args[] = { { .key = "dev", .kind = ARG_DEV }, { .key = NULL } };
	int status = args_parse(args, argc, argv);
	struct nl_msg *msg;

	if (status)
		return status;
	if (!args[0].given)
		return inc_dump(INC_CMD_NODE_GET, INC_A_NODE, NULL, show_node);
	msg = build_request(INC_CMD_NODE_GET, false, args);
	if (!msg)
		return EXIT_REFUSED;
	out_open_list(NULL);
	status = inc_talk(msg, INC_A_NODE, show_node);
	out_close_list();
	out_end();
	return status;
}

static const struct command commands[] = {
	{ "show", node_show }, { "add", node_add }, { "set", node_set },
	{ "replace", node_replace }, { "del", node_del },
	{ "announce", node_announce }, { NULL, NULL },
};

const struct object object_node = { .name = "node", .commands = commands, .usage = usage,
				      .restores = true };
