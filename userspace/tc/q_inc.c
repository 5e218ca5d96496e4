// SPDX-License-Identifier: GPL-2.0-only
/*
 * q_inc.so, tc's plugin for the qdisc "inc": options and statistics, with the parser and the words
 * of the inc tool. tc finds it in TC_LIB_DIR (environment) or where its own plugins are.
 */
#include <linux/pkt_sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/inc_sched.h>

#include "attr.h"
#include "print.h"
#include "qdisc.h"
#include "tc_abi.h"
#include "tool.h"

#define MAX_REQUEST	4096	/* bytes; tc has more room than that */

struct options options;

/* What "tc -V" of this very program says, without the newline; empty: nothing. */
static void print_running(char *text, size_t size)
{
	int fd[2], len = 0;
	char path[4096];
	pid_t pid;
	ssize_t n;

	text[0] = 0;
	n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (n < 0 || pipe(fd))
		return;
	path[n] = 0;
	fflush(NULL);
	pid = fork();
	if (!pid) {
		dup2(fd[1], STDOUT_FILENO);
		execl(path, "tc", "-V", (char *)NULL);
		_exit(127);
	}
	close(fd[1]);
	while (pid > 0 && (size_t)len + 1 < size &&
	       (n = read(fd[0], text + len, size - 1 - (size_t)len)) > 0)
		len += (int)n;
	close(fd[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	text[len] = 0;
	text[strcspn(text, "\n")] = 0;
}

/* Is this the tc that the plugin was built for? If not, says so, once. */
static bool abi_fits(void)
{
	static int known;	/* 1: yes, -1: no */
	char text[256];

	if (known)
		return known > 0;
	print_running(text, sizeof(text));
	known = strcmp(text, Q_INC_FOR) ? -1 : 1;
	if (known < 0)
		fprintf(stderr,
			"q_inc.so was built for \"%s\", this is \"%s\": build it anew, or use inc qdisc\n",
			Q_INC_FOR, text);
	return known > 0;
}

static void print_usage(void)
{
	fputs("Usage: ... inc [ share PERCENT ] [ control PERCENT ] [ limit PACKETS ] [ port PORT ] [ target USECS ]\n"
	      "               [ rate { RATE | measured } ] [ weight { GROUP:WEIGHT[,...] | none } ]\n",
	      stderr);
}

static bool put_attr(void *msg, int type, const void *data, int len)
{
	return !addattr_l(msg, MAX_REQUEST, type, data, len);
}

static int parse_options(struct qdisc_util *qu, int argc, char **argv, struct nlmsghdr *n,
			 const char *dev)
{
	struct arg args[QDISC_OPTIONS + 1];
	size_t begin = NLMSG_ALIGN(n->nlmsg_len);
	struct rtattr *nest;

	(void)qu;
	(void)dev;
	if (!abi_fits())
		return -1;
	if (argc && !strcmp(argv[0], "help")) {
		print_usage();
		return -1;
	}
	memcpy(args, qdisc_option_args, sizeof(args));
	if (args_parse(args, argc, argv) || addattr_l(n, MAX_REQUEST, TCA_OPTIONS, NULL, 0) ||
	    qdisc_put_options(args, n, put_attr))
		return -1;
	nest = (struct rtattr *)((char *)n + begin);
	nest->rta_len = (unsigned short)(NLMSG_ALIGN(n->nlmsg_len) - begin);
	return 0;
}

/* struct rtattr and struct nlattr are one and the same. */
static int print_options(struct qdisc_util *qu, FILE *f, struct rtattr *opt)
{
	(void)qu;
	(void)f;
	if (opt && abi_fits())
		qdisc_show_options((struct nlattr *)opt);
	return 0;
}

static void print_group(struct nlattr *attr)
{
	struct tc_inc_group_xstats xs;

	memcpy(&xs, nla_data(attr), sizeof(xs));
	out_num("group", "    group %s", xs.group, UNIT_NONE);
	out_num("weight", " weight %s", xs.weight, UNIT_NONE);
	out_num("marks", " marked %s\n", xs.marks, UNIT_NONE);
	qdisc_show_delays(xs.delay);
}

static int print_statistics(struct qdisc_util *qu, FILE *f, struct rtattr *xstats)
{
	struct nlattr *attr = (struct nlattr *)xstats;

	(void)qu;
	(void)f;
	if (!attr || !abi_fits())
		return 0;
	if (nla_len(attr) == (int)sizeof(struct tc_inc_group_xstats))
		print_group(attr);
	else
		qdisc_show_xstats(attr);
	return 0;
}

/* Looked up by tc, and all that this library shows. */
extern struct qdisc_util inc_qdisc_util __attribute__((visibility("default")));

struct qdisc_util inc_qdisc_util = {
	.id = "inc",
	.parse_qopt = parse_options,
	.print_qopt = print_options,
	.print_xstats = print_statistics,
};
