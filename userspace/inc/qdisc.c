// SPDX-License-Identifier: GPL-2.0-only
/*
 * inc qdisc: every qdisc of kind "inc" with its options and, with -s, what each class has sent, dropped and holds.
 * tc needs a plugin for that, which no distribution packages; rtnetlink does not.
 */
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/gen_stats.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <linux/inc_sched.h>

#include "names.h"
#include "nl.h"
#include "print.h"
#include "tool.h"

static const char usage[] =
	"Usage: inc [-s] qdisc show [dev DEV]\n"
	"Qdiscs of kind inc; `tc qdisc add dev DEV root inc` makes one.\n";

static uint32_t only_ifindex;
static int stats_status;

static void show_handle(const char *key, const char *fmt, uint32_t handle)
{
	char buf[16];

	if (TC_H_MIN(handle))
		snprintf(buf, sizeof(buf), "%x:%x", TC_H_MAJ(handle) >> 16, TC_H_MIN(handle));
	else
		snprintf(buf, sizeof(buf), "%x:", TC_H_MAJ(handle) >> 16);
	out_str(key, fmt, buf);
}

static void show_place(const struct tcmsg *tcm)
{
	out_str("kind", "qdisc %s", "inc");
	show_handle("handle", " %s", tcm->tcm_handle);
	show_dev("ifindex", "dev", " dev %s", (uint32_t)tcm->tcm_ifindex);
	if (tcm->tcm_parent == TC_H_ROOT)
		out_bool("root", " root", true);
	else
		show_handle("parent", " parent %s", tcm->tcm_parent);
}

static void show_options(struct nlattr *nest)
{
	struct nlattr *tb[TCA_INC_MAX + 1];
	uint16_t port;
	uint32_t v;

	if (!nest)
		return;
	parse_nest(nest, tb, TCA_INC_MAX);
	out_open("options");
	if (get_u32(tb[TCA_INC_SHARE], &v))
		out_num("share", " share %s", v, UNIT_PERCENT);
	if (get_u32(tb[TCA_INC_LIMIT], &v))
		out_num("limit", " limit %s packets per class", v, UNIT_NONE);
	if (get_u16(tb[TCA_INC_PORT], &port))
		out_num("port", " port %s", port, UNIT_NONE);
	out_close();
}

static void show_class(const struct tc_inc_xstats *xs, unsigned int i)
{
	static const char *const names[INC_SCHED_CLASSES] = {
		[INC_SCHED_CONTROL] = "control",
		[INC_SCHED_CONTRIB] = "contrib",
		[INC_SCHED_OTHER] = "other",
	};

	out_open(names[i]);
	out_text("    %-8s", names[i]);
	out_num("packets", "sent %s packets", xs->cls[i].packets, UNIT_NONE);
	out_num("bytes", " %s bytes", xs->cls[i].bytes, UNIT_NONE);
	out_num("drops", " dropped %s", xs->cls[i].drops, UNIT_NONE);
	out_num("qlen", " waiting %s", xs->cls[i].qlen, UNIT_NONE);
	out_num("backlog", " (%s bytes)\n", xs->cls[i].backlog, UNIT_NONE);
	out_close();
}

static void show_xstats(struct nlattr *attr)
{
	struct tc_inc_xstats xs = { 0 };
	unsigned int i;

	if (!attr)
		return;
	if (nla_len(attr) < (int)sizeof(xs)) {
		stats_status = refused("statistics of %d bytes where %zu were expected: another version of sch_inc",
				       nla_len(attr), sizeof(xs));
		return;
	}
	memcpy(&xs, nla_data(attr), sizeof(xs));
	out_open("classes");
	for (i = 0; i < INC_SCHED_CLASSES; i++)
		show_class(&xs, i);
	out_close();
	out_num("blocks", "    %s INC headers in all\n", xs.blocks, UNIT_NONE);
}

static void show_queue(struct nlattr *attr)
{
	struct gnet_stats_queue q = { 0 };

	if (!attr || nla_len(attr) < (int)sizeof(q))
		return;
	memcpy(&q, nla_data(attr), sizeof(q));
	out_num("drops", " dropped %s", q.drops, UNIT_NONE);
	out_num("overlimits", " overlimits %s", q.overlimits, UNIT_NONE);
	out_num("requeues", " requeues %s", q.requeues, UNIT_NONE);
	out_num("qlen", " waiting %s", q.qlen, UNIT_NONE);
	out_num("backlog", " (%s bytes)", q.backlog, UNIT_NONE);
}

static void show_stats(struct nlattr *nest)
{
	struct nlattr *tb[TCA_STATS_MAX + 1];
	struct gnet_stats_basic basic = { 0 };
	uint64_t packets;

	if (!nest)
		return;
	parse_nest(nest, tb, TCA_STATS_MAX);
	out_open("stats");
	if (tb[TCA_STATS_BASIC] && nla_len(tb[TCA_STATS_BASIC]) >= 12) {
		memcpy(&basic, nla_data(tb[TCA_STATS_BASIC]), 12);
		if (!get_u64(tb[TCA_STATS_PKT64], &packets))
			packets = basic.packets;
		out_num("packets", "\n    sent %s packets", packets, UNIT_NONE);
		out_num("bytes", " %s bytes", basic.bytes, UNIT_NONE);
	}
	show_queue(tb[TCA_STATS_QUEUE]);
	out_text("\n");
	show_xstats(tb[TCA_STATS_APP]);
	out_close();
}

static void show_qdisc(const struct nlmsghdr *hdr)
{
	struct nlattr *tb[TCA_MAX + 1];
	const struct tcmsg *tcm = nlmsg_data(hdr);
	const char *kind;

	if (hdr->nlmsg_type != RTM_NEWQDISC ||
	    nlmsg_parse((struct nlmsghdr *)hdr, sizeof(*tcm), tb, TCA_MAX, NULL))
		return;
	kind = get_str(tb[TCA_KIND]);
	if (!kind || strcmp(kind, "inc") || (only_ifindex && (uint32_t)tcm->tcm_ifindex != only_ifindex))
		return;
	out_open(NULL);
	show_place(tcm);
	show_options(tb[TCA_OPTIONS]);
	if (options.stats && tb[TCA_STATS2])
		show_stats(tb[TCA_STATS2]);
	else
		out_text("\n");
	out_close();
}

static struct nl_msg *request(void)
{
	struct tcmsg tcm = { .tcm_family = AF_UNSPEC, .tcm_ifindex = (int)only_ifindex };
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_GETQDISC, NLM_F_DUMP);

	if (msg && !nlmsg_append(msg, &tcm, sizeof(tcm), NLMSG_ALIGNTO) && !nla_put_flag(msg, TCA_DUMP_INVISIBLE))
		return msg;
	no_memory(msg);
	return NULL;
}

static int show(int argc, char **argv)
{
	struct arg args[] = { { .key = "dev", .kind = ARG_DEV }, { .key = NULL } };
	int status = args_parse(args, argc, argv);
	struct nl_msg *msg;

	if (status)
		return status;
	stats_status = 0;
	only_ifindex = args[0].given ? if_nametoindex(args[0].text) : 0;
	if (args[0].given && !only_ifindex)
		return refused("dev %s: no such interface in this network namespace", args[0].text);
	msg = request();
	if (!msg)
		return EXIT_REFUSED;
	out_open_list(NULL);
	status = route_talk(msg, show_qdisc);
	out_close_list();
	out_end();
	return status ? status : stats_status;
}

static const struct command commands[] = { { "show", show }, { NULL, NULL } };

const struct object object_qdisc = { .name = "qdisc", .commands = commands, .usage = usage };
