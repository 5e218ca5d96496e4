// SPDX-License-Identifier: GPL-2.0-only
/*
 * `inc save` of a kernel that says what its first argument names, and what it prints given back to
 * the tool; `inc plan apply` on a way that begins at a link-local address. nl.c is left out. There
 * are the interfaces 1, p1, and 2, p2.
 *
 *	all		nothing is missing
 *	gone		p2 is gone, and there are qdiscs that are not only ours
 *	set		limits of users were set, and root is not the only one who has something
 *	set-unsure	root is
 *	restore		commands from standard input, as with inc -b -
 *	plan		what inc plan apply runs
 */
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/msg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <linux/inc.h>
#include <linux/inc_netlink.h>
#include <linux/inc_sched.h>

#include "nl.h"
#include "tool.h"
#include "topo.h"

#define GONE	12
#define RAM	(8ULL << 30)

struct options options;

static const uint8_t link_local[16] = { 0xfe, 0x80, [15] = 9 };
static struct nl_msg *msg;
static uint8_t asked;
static bool gone, set, others;

static void need(int err)
{
	if (err) {
		fprintf(stderr, "save: no room in the message\n");
		exit(1);
	}
}

/* What the tool has of the C library */

char *if_indextoname(unsigned int index, char name[IF_NAMESIZE])
{
	return index == 1 || index == 2 ? strcpy(name, index == 1 ? "p1" : "p2") : NULL;
}

unsigned int if_nametoindex(const char *name)
{
	return !strcmp(name, "p1") ? 1 : !strcmp(name, "p2") ? 2 : 0;
}

int sysinfo(struct sysinfo *info)
{
	memset(info, 0, sizeof(*info));
	info->totalram = RAM / 4096;
	info->mem_unit = 4096;
	return 0;
}

/* Answers */

static struct nlattr *begin(int attr)
{
	struct nlattr *nest = nla_nest_start(msg, attr);

	need(!nest);
	return nest;
}

static void put_prefix(uint8_t net)
{
	uint8_t addr[4] = { 10, net };
	struct nlattr *nest = begin(INC_A_TENANT_PREFIX);

	need(nla_put(msg, INC_A_PREFIX_ADDR, sizeof(addr), addr));
	need(nla_put_u32(msg, INC_A_PREFIX_LEN, 16));
	nla_nest_end(msg, nest);
}

/* "some" comes by p1 and by what may be gone, "none" by that only, "any" by whatever it likes. */
static void put_tenant(const char *name)
{
	need(nla_put_string(msg, INC_A_TENANT_NAME, name));
	put_prefix(1);
	if (!strcmp(name, "some"))
		need(nla_put_u32(msg, INC_A_TENANT_PORT, 1));
	if (strcmp(name, "any"))
		need(nla_put_u32(msg, INC_A_TENANT_PORT, gone ? GONE : 2));
	need(nla_put_u32(msg, INC_A_TENANT_MAX_GROUPS, 5));
}

static void put_parent(void)
{
	need(nla_put(msg, INC_A_PARENT_ADDR, sizeof(link_local), link_local));
	need(nla_put_u32(msg, INC_A_PARENT_PORT, INC_PORT));
	need(nla_put_u32(msg, INC_A_PARENT_IFINDEX, gone ? GONE : 2));
}

static void put_node(void)
{
	struct nlattr *nest;

	need(nla_put_string(msg, INC_A_NODE_IFNAME, "p1"));
	need(nla_put_u32(msg, INC_A_NODE_DEAD_MS, 700));
	nest = begin(INC_A_NODE_PARENT);
	put_parent();
	need(nla_put_u32(msg, INC_A_PARENT_PORT, INC_PORT));
	nla_nest_end(msg, nest);
}

/* What the kernel gives root on a machine of 8 GiB, and, of others, a quarter of it or less. */
static const uint64_t of_root[__INC_LIMIT_MAX] = {
	0, 16384, 1048576, RAM / 8, RAM / 2, 65536, RAM / 2, RAM / 4, 10240, RAM / 4,
};

static const uint64_t of_others[__INC_LIMIT_MAX] = {
	0, 4096, 262144, RAM / 32, RAM / 16, 16384, RAM / 16, RAM / 32, 10240, RAM / 32,
};

static uint64_t user_limit(unsigned int uid, int type)
{
	if (set && type == INC_LIMIT_SOCKETS)
		return 100;
	if (set && type == INC_LIMIT_HELD_MEMORY)
		return 65536;
	return uid ? of_others[type] : of_root[type];
}

static void put_limits(enum inc_limit_scope scope, unsigned int uid)
{
	static const int nests[] = { INC_A_LIMIT_VALUES, INC_A_LIMIT_USE, INC_A_LIMIT_REFUSED };
	struct nlattr *nest;
	unsigned int i;
	int type;

	need(nla_put_u32(msg, INC_A_LIMIT_SCOPE, (uint32_t)scope));
	if (scope == INC_SCOPE_USER)
		need(nla_put_u32(msg, INC_A_LIMIT_UID, uid));
	for (i = 0; i < ARRAY_SIZE(nests); i++) {
		nest = begin(nests[i]);
		for (type = 1; type <= INC_LIMIT_MAX; type++)
			need(nla_put_u64(msg, type, i ? 0 : scope == INC_SCOPE_NETNS ?
					 (uint64_t)type : user_limit(uid, type)));
		nla_nest_end(msg, nest);
	}
}

static struct nlattr *begin_answer(int attr)
{
	msg = nlmsg_alloc_size(4096);
	need(!msg || !nlmsg_put(msg, 0, 0, NLMSG_MIN_TYPE, 0, 0));
	return begin(attr);
}

static void end_answer(struct nlattr *nest, void (*show)(struct nlattr *nest))
{
	nla_nest_end(msg, nest);
	show(nest);
	nlmsg_free(msg);
}

static void say_limits(enum inc_limit_scope scope, unsigned int uid,
		       void (*show)(struct nlattr *nest))
{
	struct nlattr *nest = begin_answer(INC_A_LIMIT);

	put_limits(scope, uid);
	end_answer(nest, show);
}

static void say_tenant(const char *name, void (*show)(struct nlattr *nest))
{
	struct nlattr *nest = begin_answer(INC_A_TENANT);

	put_tenant(name);
	end_answer(nest, show);
}

static void say_qdisc(int ifindex, uint32_t handle, uint32_t parent,
		      void (*show)(const struct nlmsghdr *hdr))
{
	struct tcmsg tcm = { .tcm_ifindex = ifindex, .tcm_handle = handle, .tcm_parent = parent };
	struct nlattr *nest;

	msg = nlmsg_alloc_simple(RTM_NEWQDISC, 0);
	need(!msg || nlmsg_append(msg, &tcm, sizeof(tcm), NLMSG_ALIGNTO));
	need(nla_put_string(msg, TCA_KIND, "inc"));
	nest = begin(TCA_OPTIONS);
	need(nla_put_u32(msg, TCA_INC_SHARE, 55));
	need(nla_put_u64(msg, TCA_INC_RATE, 0));
	nla_nest_end(msg, nest);
	show(nlmsg_hdr(msg));
	nlmsg_free(msg);
}

/* Instead of nl.c */

struct nl_msg *inc_request(uint8_t cmd, int flags)
{
	asked = cmd;
	return nlmsg_alloc_simple(NLMSG_MIN_TYPE, flags);
}

int no_memory(struct nl_msg *request)
{
	nlmsg_free(request);
	return refused("out of memory");
}

int inc_talk(struct nl_msg *request, int attr, void (*show)(struct nlattr *nest))
{
	struct nlattr *nest;

	nlmsg_free(request);
	if (asked != INC_CMD_PARENT_GET || !attr)
		return 0;
	nest = begin_answer(attr);
	put_parent();
	end_answer(nest, show);
	return 0;
}

int inc_dump(uint8_t cmd, int attr, const uint32_t *group, void (*show)(struct nlattr *nest))
{
	struct nlattr *nest;

	(void)group;
	if (cmd == INC_CMD_LIMIT_GET) {
		say_limits(INC_SCOPE_NETNS, 0, show);
		say_limits(INC_SCOPE_USER, 0, show);
		if (others)
			say_limits(INC_SCOPE_USER, 1000, show);
	} else if (cmd == INC_CMD_TENANT_GET) {
		say_tenant("some", show);
		say_tenant("none", show);
		say_tenant("any", show);
	} else {
		nest = begin_answer(attr);
		put_node();
		end_answer(nest, show);
	}
	return 0;
}

int route_talk(struct nl_msg *request, void (*show)(const struct nlmsghdr *hdr))
{
	bool dump = nlmsg_hdr(request)->nlmsg_type == RTM_GETQDISC;

	nlmsg_free(request);
	if (!dump)
		return 0;
	say_qdisc(1, 0x50000, TC_H_ROOT, show);
	if (gone) {
		say_qdisc(2, 0, TC_H_ROOT, show);
		say_qdisc(2, 0x60000, 0x10001, show);
	}
	return 0;
}

/* Instead of topo.c: a node by the link of p2 */
int topo_find(const struct ask_target *first, const unsigned char *key, uint64_t timeout,
	      const struct hop **found, int *n)
{
	static struct hop hop = { .state = HOP_NODE, .rtt = 50, .parent = -1 };

	(void)first;
	(void)key;
	(void)timeout;
	hop.at.addr.len = sizeof(link_local);
	memcpy(hop.at.addr.bytes, link_local, sizeof(link_local));
	hop.at.port = INC_PORT;
	hop.at.ifindex = 2;
	*found = &hop;
	*n = 1;
	return 0;
}

/* Instead of main.c */
int run_command(int argc, char **argv)
{
	static const struct object *const objects[] = {
		&object_limits, &object_tenant, &object_parent, &object_node, &object_qdisc,
	};
	const struct command *cmd;
	size_t i;
	int n;

	for (n = 0; n < argc; n++)
		printf("%s%s", n ? " " : "run: ", argv[n]);
	putchar('\n');
	for (i = 0; argc > 1 && i < ARRAY_SIZE(objects); i++)
		for (cmd = objects[i]->commands; cmd->name; cmd++)
			if (!strcmp(objects[i]->name, argv[0]) && !strcmp(cmd->name, argv[1]))
				return cmd->run(argc - 2, argv + 2);
	return usage_error("no such command");
}

int main(int argc, char **argv)
{
	char ranks[] = "ranks", number[] = "2", *apply[] = { ranks, number };
	const char *what = argc == 2 ? argv[1] : "";

	out_init(false, false);
	gone = !strcmp(what, "gone");
	set = !strncmp(what, "set", 3);
	others = !strcmp(what, "set");
	if (!strcmp(what, "restore"))
		return batch("-", false, run_command);
	if (!strcmp(what, "plan"))
		return object_plan.commands[1].run(ARRAY_SIZE(apply), apply);
	return object_save.run(0, NULL);
}
