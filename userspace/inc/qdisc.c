// SPDX-License-Identifier: GPL-2.0-only
/*
 * inc qdisc: every qdisc of kind "inc" with its options and, with -s, what each class and each
 * group has sent, dropped and holds. For tc there is a plugin, in userspace/tc.
 */
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/gen_stats.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/inc_sched.h>

#include "names.h"
#include "nl.h"
#include "print.h"
#include "qdisc.h"
#include "tool.h"

static const char usage[] =
	"Usage: inc [-s] qdisc show [dev DEV]\n"
	"       inc qdisc {add|change|replace} dev DEV [parent {root|MAJOR:MINOR}] [handle MAJOR:] [OPTION VALUE]...\n"
	"       inc qdisc del dev DEV [parent {root|MAJOR:MINOR}] [handle MAJOR:]\n"
	"Qdiscs of kind inc: control packets and results first, groups by weight, INC at most its share.\n"
	"OPTION: share PERCENT             of the bytes for INC while others wait, 1..99 (80)\n"
	"        control PERCENT           of those for control and results while contributions wait, 1..99 (90)\n"
	"        limit PACKETS             that may wait in each class, 1..1000000 (1000)\n"
	"        port PORT                 UDP port of INC (5227)\n"
	"        target USECS              after which INC packets that wait are marked (ECN), 1..10000000 (2000)\n"
	"        rate RATE                 of the link, as 100mbit (bit, kbit, mbit, gbit), or measured: super-packets\n"
	"                                  that take longer than 1 ms are split (measured)\n"
	"        weight GROUP:WEIGHT,...   of up to 64 groups, 1..256 (1), or none: all anew\n";

/* What a dump has said, kept until it has ended: each qdisc's groups are another dump. */
struct heard {
	struct heard *next;
	struct nlmsghdr *hdr;
};

static uint32_t only_ifindex, only_handle;
static bool of_sysctl;	/* some that are not among the commands */
static struct heard *heard, **heard_end;
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
	out_str("kind", options.commands ? "qdisc replace" : "qdisc %s", "inc");
	show_handle("handle", options.commands ? " handle %s" : " %s", tcm->tcm_handle);
	show_dev("ifindex", "dev", " dev %s", (uint32_t)tcm->tcm_ifindex);
	if (tcm->tcm_parent == TC_H_ROOT)
		out_bool("root", options.commands ? " parent root" : " root", true);
	else
		show_handle("parent", " parent %s", tcm->tcm_parent);
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

static void show_basic(struct nlattr **tb, const char *fmt)
{
	struct gnet_stats_basic basic = { 0 };
	uint64_t packets;

	if (!tb[TCA_STATS_BASIC] || nla_len(tb[TCA_STATS_BASIC]) < 12)
		return;
	memcpy(&basic, nla_data(tb[TCA_STATS_BASIC]), 12);
	if (!get_u64(tb[TCA_STATS_PKT64], &packets))
		packets = basic.packets;
	out_num("packets", fmt, packets, UNIT_NONE);
	out_num("bytes", " %s bytes", basic.bytes, UNIT_NONE);
}

static void show_group(const struct nlmsghdr *hdr)
{
	struct nlattr *tb[TCA_MAX + 1], *stats[TCA_STATS_MAX + 1];
	const struct tcmsg *tcm = nlmsg_data(hdr);
	struct tc_inc_group_xstats xs;
	struct gnet_stats_queue q = { 0 };

	if (hdr->nlmsg_type != RTM_NEWTCLASS || TC_H_MAJ(tcm->tcm_handle) != only_handle ||
	    nlmsg_parse((struct nlmsghdr *)hdr, sizeof(*tcm), tb, TCA_MAX, NULL) || !tb[TCA_STATS2])
		return;
	parse_nest(tb[TCA_STATS2], stats, TCA_STATS_MAX);
	if (!stats[TCA_STATS_APP] || nla_len(stats[TCA_STATS_APP]) < (int)sizeof(xs) ||
	    !stats[TCA_STATS_QUEUE] || nla_len(stats[TCA_STATS_QUEUE]) < (int)sizeof(q))
		return;
	memcpy(&xs, nla_data(stats[TCA_STATS_APP]), sizeof(xs));
	memcpy(&q, nla_data(stats[TCA_STATS_QUEUE]), sizeof(q));
	out_open(NULL);
	out_num("group", "    group %s", xs.group, UNIT_NONE);
	out_num("weight", " weight %s", xs.weight, UNIT_NONE);
	show_basic(stats, " sent %s packets");
	out_num("drops", " dropped %s", q.drops, UNIT_NONE);
	out_num("marks", " marked %s", xs.marks, UNIT_NONE);
	out_num("qlen", " waiting %s", q.qlen, UNIT_NONE);
	out_num("backlog", " (%s bytes)\n", q.backlog, UNIT_NONE);
	qdisc_show_delays(xs.delay);
	out_close();
}

static struct nl_msg *new_request(int type, uint32_t ifindex)
{
	struct tcmsg tcm = { .tcm_family = AF_UNSPEC, .tcm_ifindex = (int)ifindex };
	struct nl_msg *msg = nlmsg_alloc_simple(type, NLM_F_DUMP);

	if (msg && !nlmsg_append(msg, &tcm, sizeof(tcm), NLMSG_ALIGNTO) &&
	    !nla_put_flag(msg, TCA_DUMP_INVISIBLE))
		return msg;
	no_memory(msg);
	return NULL;
}

static void show_groups(const struct tcmsg *tcm)
{
	struct nl_msg *msg = new_request(RTM_GETTCLASS, (uint32_t)tcm->tcm_ifindex);

	only_handle = tcm->tcm_handle;
	out_open_list("groups");
	if (msg)
		stats_status = route_talk(msg, show_group);
	out_close_list();
}

static void show_stats(const struct tcmsg *tcm, struct nlattr *nest)
{
	struct nlattr *tb[TCA_STATS_MAX + 1];

	parse_nest(nest, tb, TCA_STATS_MAX);
	out_open("stats");
	show_basic(tb, "\n    sent %s packets");
	show_queue(tb[TCA_STATS_QUEUE]);
	out_text("\n");
	if (tb[TCA_STATS_APP])
		stats_status = qdisc_show_xstats(tb[TCA_STATS_APP]);
	show_groups(tcm);
	out_close();
}

/*
 * Those without a handle the kernel makes itself, as net.core.default_qdisc says: no command makes
 * or changes one. What is below another qdisc needs that first, which no command here makes.
 */
static bool begin_command(const struct tcmsg *tcm)
{
	if (!tcm->tcm_handle) {
		of_sysctl = true;
		return false;
	}
	if (tcm->tcm_parent != TC_H_ROOT) {
		left_out |= LEFT_OUT_QDISC;
		show_handle(NULL, "# after the qdisc of class %s: ", tcm->tcm_parent);
	}
	return true;
}

static void show_qdisc(struct nlmsghdr *hdr)
{
	const struct tcmsg *tcm = nlmsg_data(hdr);
	struct nlattr *tb[TCA_MAX + 1];

	if (nlmsg_parse(hdr, sizeof(*tcm), tb, TCA_MAX, NULL))
		return;
	if (options.commands && !begin_command(tcm))
		return;
	out_open(NULL);
	show_place(tcm);
	if (tb[TCA_OPTIONS]) {
		out_open("options");
		qdisc_show_options(tb[TCA_OPTIONS]);
		out_close();
	}
	if (options.stats && !options.commands && tb[TCA_STATS2])
		show_stats(tcm, tb[TCA_STATS2]);
	else
		out_text("\n");
	out_close();
}

static void hear_answer(const struct nlmsghdr *hdr)
{
	struct nlattr *tb[TCA_MAX + 1];
	const struct tcmsg *tcm = nlmsg_data(hdr);
	struct heard *one;
	const char *kind;

	if (hdr->nlmsg_type != RTM_NEWQDISC ||
	    nlmsg_parse((struct nlmsghdr *)hdr, sizeof(*tcm), tb, TCA_MAX, NULL))
		return;
	kind = get_str(tb[TCA_KIND]);
	if (!kind || strcmp(kind, "inc") ||
	    (only_ifindex && (uint32_t)tcm->tcm_ifindex != only_ifindex))
		return;
	one = malloc(sizeof(*one) + hdr->nlmsg_len);
	if (!one) {
		stats_status = refused("out of memory");
		return;
	}
	one->next = NULL;
	one->hdr = memcpy(one + 1, hdr, hdr->nlmsg_len);
	*heard_end = one;
	heard_end = &one->next;
}

static int qdisc_show(int argc, char **argv)
{
	struct arg args[] = { { .key = "dev", .kind = ARG_DEV }, { .key = NULL } };
	int status = args_parse(args, argc, argv);
	struct nl_msg *msg;
	struct heard *one;

	if (status)
		return status;
	stats_status = 0;
	of_sysctl = false;
	only_ifindex = args[0].given ? if_nametoindex(args[0].text) : 0;
	if (args[0].given && !only_ifindex)
		return refused("dev %s: no such interface in this network namespace", args[0].text);
	msg = new_request(RTM_GETQDISC, only_ifindex);
	if (!msg)
		return EXIT_REFUSED;
	heard_end = &heard;
	status = route_talk(msg, hear_answer);
	out_open_list(NULL);
	while ((one = heard)) {
		heard = one->next;
		show_qdisc(one->hdr);
		free(one);
	}
	out_close_list();
	if (of_sysctl)
		out_text("# there are qdiscs that net.core.default_qdisc makes\n");
	out_end();
	return status ? status : stats_status;
}

static const struct command commands[] = {
	{ "show", qdisc_show }, { "add", qdisc_add }, { "change", qdisc_change },
	{ "replace", qdisc_replace }, { "del", qdisc_del }, { NULL, NULL },
};

const struct object object_qdisc = { .name = "qdisc", .commands = commands, .usage = usage,
				      .restores = true };
