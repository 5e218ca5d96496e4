// SPDX-License-Identifier: GPL-2.0-only
/* inc tenant: who may join at the nodes of this network namespace, and what he may have there. */
#include <arpa/inet.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <linux/inc.h>
#include <linux/inc_netlink.h>

#include "names.h"
#include "nl.h"
#include "print.h"
#include "tool.h"

#define MAX_SLOTS	(65536 * 2 * INC_MAX_WINDOW)

static const char usage[] =
	"Usage: inc tenant show\n"
	"       inc tenant {add|set|replace} NAME [OPTION VALUE]...\n"
	"       inc tenant del NAME\n"
	"With a tenant only ranks that one takes may join; the first one counts of which all fits.\n"
	"OPTION: from {PREFIX,...|any}  addresses of ranks, as 10.1.0.0/16; at most 8 (any)\n"
	"        port {DEV,...|any}     ports, bridges or VRFs by which they come; at most 8 (any)\n"
	"        key {HEX|@FILE|none}   32 hex digits, or a file of mode 0600 with them, instead of the\n"
	"                               node's key (none)\n"
	"        max-groups N           groups, 1..65536 (65536)\n"
	"        max-slots N            their slots, twice the window each, 8..536870912 (536870912)\n"
	"        max-memory BYTES       reserved and held for them, 64K..1024G (1024G)\n"
	"        cpu PERCENT            of one processor for contributions, 1..100, 0: no limit (0)\n"
	"        rate {RATE|none}       contributions, as 100mbit (bit, kbit, mbit, gbit) (none)\n"
	"`set` changes what it is given, `replace` is `add` where there is no such tenant and else also gives\n"
	"options that are not named their defaults; groups stay.\n";

enum { FROM, PORT, KEY, GROUPS, SLOTS, MEMORY, CPU, RATE, OPTIONS };

static const char * const no_rate[] = { "none", NULL };

static const struct arg options_of[OPTIONS + 1] = {
	[FROM] = { .key = "from", .kind = ARG_TEXT },
	[PORT] = { .key = "port", .kind = ARG_TEXT },
	[KEY] = { .key = "key", .kind = ARG_KEY },
	[GROUPS] = { .key = "max-groups", .kind = ARG_NUM, .min = 1, .max = 65536 },
	[SLOTS] = { .key = "max-slots", .kind = ARG_NUM, .min = 2 * INC_MIN_WINDOW,
		    .max = MAX_SLOTS },
	[MEMORY] = { .key = "max-memory", .kind = ARG_BYTES, .min = 65536, .max = 1ULL << 40 },
	[CPU] = { .key = "cpu", .kind = ARG_NUM_OR_0, .min = 1, .max = 100 },
	[RATE] = { .key = "rate", .kind = ARG_RATE, .words = no_rate,
		   .min = INC_TENANT_RATE_MIN, .max = INC_TENANT_RATE_MAX },
};

/* Calls @put for each word between commas. 0 or, with the error printed, the exit status. */
static int put_each(struct nl_msg *msg, const char *key, const char *list,
		    int (*put)(struct nl_msg *msg, const char *word))
{
	char *copy = strdup(list), *next = copy, *words[INC_TENANT_PLACES];
	int n = 0, err = copy ? 0 : refused("out of memory"), i;

	for (; !err && next; n++) {
		if (n == INC_TENANT_PLACES) {
			err = usage_error("%s: expected at most %d", key, INC_TENANT_PLACES);
			break;
		}
		words[n] = strsep(&next, ",");
		for (i = 0; i < n && strcmp(words[i], words[n]); i++)
			;
		if (i < n && *words[n])
			err = usage_error("%s: %s twice, expected each once", key, words[n]);
		else
			err = put(msg, words[n]);
	}
	free(copy);
	return err;
}

static int check_prefix(struct nl_msg *msg, const char *word)
{
	struct addr addr;
	unsigned long bits;

	(void)msg;
	return prefix_parse("from", "any", word, &addr, &bits);
}

static int put_prefix(struct nl_msg *msg, const char *word)
{
	struct nlattr *nest;
	struct addr addr;
	unsigned long bits;
	int err = prefix_parse("from", "any", word, &addr, &bits);

	if (err)
		return err;
	nest = nla_nest_start(msg, INC_A_TENANT_PREFIX | NLA_F_NESTED);
	if (!nest || nla_put(msg, INC_A_PREFIX_ADDR, addr.len, addr.bytes) ||
	    nla_put_u32(msg, INC_A_PREFIX_LEN, bits))
		return refused("out of memory");
	nla_nest_end(msg, nest);
	return 0;
}

/* Whether there is such an interface says put_port(). */
static int check_port(struct nl_msg *msg, const char *word)
{
	(void)msg;
	(void)word;
	return 0;
}

static int put_port(struct nl_msg *msg, const char *word)
{
	unsigned int ifindex = if_nametoindex(word);

	if (!ifindex)
		return refused("port %s: no such interface in this network namespace", word);
	return nla_put_u32(msg, INC_A_TENANT_PORT, ifindex) ? refused("out of memory") : 0;
}

static int put_places(struct nl_msg *msg, const struct arg *args)
{
	struct nlattr *nest;
	int err = 0;

	if (args[FROM].given && strcmp(args[FROM].text, "any")) {
		err = put_each(msg, "from", args[FROM].text, put_prefix);
	} else if (args[FROM].given) {
		nest = nla_nest_start(msg, INC_A_TENANT_PREFIX | NLA_F_NESTED);
		err = nest ? 0 : refused("out of memory");
		/* nla_nest_end() would take an empty one away */
		if (nest)
			nest->nla_len = NLA_HDRLEN;
	}
	if (!err && args[PORT].given && strcmp(args[PORT].text, "any"))
		err = put_each(msg, "port", args[PORT].text, put_port);
	else if (!err && args[PORT].given && nla_put_u32(msg, INC_A_TENANT_PORT, 0))
		err = refused("out of memory");
	return err;
}

static int put_options(struct nl_msg *msg, const struct arg *args)
{
	int err = put_places(msg, args);

	if (err)
		return err;
	if ((args[KEY].given && nla_put(msg, INC_A_TENANT_KEY, sizeof(args[KEY].key_bytes),
					args[KEY].key_bytes)) ||
	    (args[GROUPS].given &&
	     nla_put_u32(msg, INC_A_TENANT_MAX_GROUPS, (uint32_t)args[GROUPS].num)) ||
	    (args[SLOTS].given &&
	     nla_put_u32(msg, INC_A_TENANT_MAX_SLOTS, (uint32_t)args[SLOTS].num)) ||
	    (args[MEMORY].given && nla_put_u64(msg, INC_A_TENANT_MAX_MEMORY, args[MEMORY].num)) ||
	    (args[CPU].given && nla_put_u32(msg, INC_A_TENANT_CPU, (uint32_t)args[CPU].num)) ||
	    (args[RATE].given && nla_put_u64(msg, INC_A_TENANT_RATE, args[RATE].num)))
		return refused("out of memory");
	return 0;
}

static int check_name(const char *name)
{
	static const char good[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
	size_t len = strlen(name);

	if (len && len < INC_TENANT_NAME && strspn(name, good) == len)
		return 0;
	return usage_error("%s: expected a name of 1..%d letters, digits, dots, dashes and underscores",
			   name, INC_TENANT_NAME - 1);
}

static int tenant_change(uint8_t cmd, bool replace, int argc, char **argv)
{
	struct arg args[OPTIONS + 1];
	struct nlattr *nest;
	struct nl_msg *msg;
	int err;

	memcpy(args, options_of, sizeof(args));
	if (!argc)
		return usage_error("the name is missing");
	err = check_name(argv[0]);
	if (!err && cmd == INC_CMD_TENANT_DEL)
		err = args_none(argc - 1, argv + 1);
	else if (!err)
		err = args_parse(args, argc - 1, argv + 1);
	/* what is wrong with it is said without a module, too */
	if (!err && args[FROM].given && strcmp(args[FROM].text, "any"))
		err = put_each(NULL, "from", args[FROM].text, check_prefix);
	if (!err && args[PORT].given)
		err = put_each(NULL, "port", args[PORT].text, check_port);
	if (err)
		return err;
	msg = inc_request(cmd, 0);
	if (!msg)
		return EXIT_REFUSED;
	if (replace && nla_put_flag(msg, INC_A_REPLACE))
		return no_memory(msg);
	nest = nla_nest_start(msg, INC_A_TENANT | NLA_F_NESTED);
	if (!nest || nla_put_string(msg, INC_A_TENANT_NAME, argv[0]))
		return no_memory(msg);
	err = put_options(msg, args);
	if (err) {
		nlmsg_free(msg);
		return err;
	}
	nla_nest_end(msg, nest);
	return inc_talk(msg, 0, NULL);
}

static int tenant_add(int argc, char **argv)
{
	return tenant_change(INC_CMD_TENANT_ADD, false, argc, argv);
}

static int tenant_replace(int argc, char **argv)
{
	return tenant_change(INC_CMD_TENANT_ADD, true, argc, argv);
}

static int tenant_set(int argc, char **argv)
{
	if (argc == 1)
		return usage_error("nothing to change: expected an option and its value");
	return tenant_change(INC_CMD_TENANT_SET, false, argc, argv);
}

static int tenant_del(int argc, char **argv)
{
	return tenant_change(INC_CMD_TENANT_DEL, false, argc, argv);
}

static void show_prefix(struct nlattr *nest, bool first)
{
	struct nlattr *tb[INC_A_PREFIX_MAX + 1];
	uint32_t len;

	parse_nest(nest, tb, INC_A_PREFIX_MAX);
	out_open(NULL);
	show_addr("addr", first ? " from %s" : ",%s", tb[INC_A_PREFIX_ADDR]);
	if (get_u32(tb[INC_A_PREFIX_LEN], &len))
		out_num("len", "/%s", len, UNIT_NONE);
	out_close();
}

/* Which of a tenant's ports are shown. */
enum ports {
	PORTS_ALL,
	PORTS_THERE,	/* those that are not gone */
	PORTS_NONE,	/* all are gone: nobody fits, and nobody must with these commands */
};

/* Ports that are gone: the last one, or 0; and which commands are to name. */
static uint32_t port_gone(struct nlattr *tenant, enum ports *ports)
{
	uint32_t ifindex, gone = 0;
	struct nlattr *attr;
	int rem;

	*ports = PORTS_NONE;
	nla_for_each_nested(attr, tenant, rem) {
		if (nla_type(attr) != INC_A_TENANT_PORT || !get_u32(attr, &ifindex))
			continue;
		if (!ifindex || dev_is_there(ifindex))
			*ports = PORTS_THERE;
		else
			gone = ifindex;
	}
	return gone;
}

static void show_prefixes(struct nlattr *tenant)
{
	struct nlattr *attr;
	bool first = true;
	int rem;

	out_open_list("from");
	nla_for_each_nested(attr, tenant, rem) {
		if (nla_type(attr) != INC_A_TENANT_PREFIX)
			continue;
		show_prefix(attr, first);
		first = false;
	}
	out_close_list();
}

static void show_ports(struct nlattr *tenant, enum ports ports)
{
	struct nlattr *attr;
	uint32_t ifindex;
	bool first = true;
	int rem;

	out_open_list("ports");
	nla_for_each_nested(attr, tenant, rem) {
		if (nla_type(attr) != INC_A_TENANT_PORT || !get_u32(attr, &ifindex))
			continue;
		if (ports != PORTS_ALL && ifindex && !dev_is_there(ifindex))
			continue;
		out_open(NULL);
		show_dev("ifindex", "dev", first ? " port %s" : ",%s", ifindex);
		out_close();
		first = false;
	}
	out_close_list();
}

static void show_use(struct nlattr **tb)
{
	static const struct {
		int attr;
		const char *key, *fmt;
	} refusals[] = {
		{ INC_A_TENANT_REFUSED_GROUPS, "refused_groups", " refused groups %s" },
		{ INC_A_TENANT_REFUSED_SLOTS, "refused_slots", " refused slots %s" },
		{ INC_A_TENANT_REFUSED_MEMORY, "refused_memory", " refused memory %s" },
		{ INC_A_TENANT_REFUSED_CPU, "refused_cpu", " refused cpu %s" },
		{ INC_A_TENANT_REFUSED_RATE, "refused_rate", " refused rate %s" },
	};
	unsigned int i;
	uint32_t v;
	uint64_t w;

	out_text("\n   ");
	if (get_u32(tb[INC_A_TENANT_GROUPS], &v))
		out_num("groups", " groups %s", v, UNIT_NONE);
	if (get_u32(tb[INC_A_TENANT_SLOTS], &v))
		out_num("slots", " slots %s", v, UNIT_NONE);
	if (get_u64(tb[INC_A_TENANT_MEMORY], &w))
		out_num("memory", " memory %s", w, UNIT_BYTES);
	if (get_u64(tb[INC_A_TENANT_CPU_NSEC], &w)) {
		out_num("cpu_nsec", NULL, w, UNIT_NONE);
		out_num(NULL, " cpu-time %s", w / 1000, UNIT_US);
	}
	if (get_u64(tb[INC_A_TENANT_BYTES], &w))
		out_num("bytes", " taken %s", w, UNIT_BYTES);
	for (i = 0; i < ARRAY_SIZE(refusals); i++)
		if (get_u64(tb[refusals[i].attr], &w))
			out_num(refusals[i].key, w ? refusals[i].fmt : NULL, w, UNIT_NONE);
}

static void show_settings(struct nlattr *nest, struct nlattr **tb, enum ports ports)
{
	uint32_t v;
	uint64_t w;

	if (get_str(tb[INC_A_TENANT_NAME]))
		out_str("name", options.commands ? "tenant replace %s" : "tenant %s",
			get_str(tb[INC_A_TENANT_NAME]));
	/* an address that nobody has: without any tenant everybody could join */
	if (ports == PORTS_NONE)
		out_text(" from 0.0.0.0/32");
	else
		show_prefixes(nest);
	show_ports(nest, ports);
	if (tb[INC_A_TENANT_KEYED])
		left_out |= LEFT_OUT_KEY;
	/* the kernel does not give keys away: the command fails until somebody fills it in */
	out_bool("keyed", options.commands ? " key ?" : " keyed", !!tb[INC_A_TENANT_KEYED]);
	if (get_u32(tb[INC_A_TENANT_MAX_GROUPS], &v))
		out_num("max_groups", v < 65536 ? " max-groups %s" : NULL, v, UNIT_NONE);
	if (get_u32(tb[INC_A_TENANT_MAX_SLOTS], &v))
		out_num("max_slots", v < MAX_SLOTS ? " max-slots %s" : NULL, v, UNIT_NONE);
	if (get_u64(tb[INC_A_TENANT_MAX_MEMORY], &w))
		out_num("max_memory", w < 1ULL << 40 ? " max-memory %s" : NULL, w,
			options.commands ? UNIT_NONE : UNIT_BYTES);
	if (get_u32(tb[INC_A_TENANT_CPU], &v))
		out_num("cpu", v ? " cpu %s" : NULL, v,
			options.commands ? UNIT_NONE : UNIT_PERCENT);
	if (get_u64(tb[INC_A_TENANT_RATE], &w))
		out_num("rate", w ? " rate %sbit" : NULL, w, UNIT_NONE);
}

static void show_tenant(struct nlattr *nest)
{
	struct nlattr *tb[INC_A_TENANT_MAX + 1];
	enum ports ports = PORTS_ALL;
	uint32_t gone;

	parse_nest(nest, tb, INC_A_TENANT_MAX);
	gone = options.commands ? port_gone(nest, &ports) : 0;
	if (gone) {
		out_gone(gone);
		show_settings(nest, tb, PORTS_ALL);
		out_text("\n");
	}
	out_open(NULL);
	show_settings(nest, tb, gone ? ports : PORTS_ALL);
	out_rest(true);
	if (!options.commands)
		show_use(tb);
	out_text("\n");
	out_close();
}

static int tenant_show(int argc, char **argv)
{
	int err = args_none(argc, argv);

	return err ? err : inc_dump(INC_CMD_TENANT_GET, INC_A_TENANT, NULL, show_tenant);
}

static const struct command commands[] = {
	{ "show", tenant_show }, { "add", tenant_add }, { "set", tenant_set },
	{ "replace", tenant_replace }, { "del", tenant_del },
	{ NULL, NULL },
};

const struct object object_tenant = { .name = "tenant", .commands = commands, .usage = usage,
				      .restores = true };
