// SPDX-License-Identifier: GPL-2.0-only
/*
 * inc stats: the counters of the network namespace, all groups and ranks summed up, those that are gone included.
 */
#include <linux/inc_netlink.h>

#include "names.h"
#include "nl.h"
#include "print.h"
#include "tool.h"

static const char usage[] =
	"Usage: inc stats show\n"
	"Counters of this network namespace with their meaning; with -s those that are zero too.\n";

static void show_stats(struct nlattr *nest)
{
	show_counters(NULL, nest, "", options.stats > 0);
}

static int show(int argc, char **argv)
{
	int status = args_none(argc, argv);
	struct nl_msg *msg;

	if (status)
		return status;
	msg = inc_request(INC_CMD_STATS_GET, 0);
	if (!msg)
		return EXIT_REFUSED;
	status = inc_talk(msg, INC_A_STATS, show_stats);
	if (!status)
		out_end();
	return status;
}

static const struct command commands[] = { { "show", show }, { NULL, NULL } };

const struct object object_stats = { .name = "stats", .commands = commands, .usage = usage };
