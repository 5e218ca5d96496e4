// SPDX-License-Identifier: GPL-2.0-only
/*
 * inc stats: the counters of the network namespace: all groups and ranks, those gone included.
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

static int stats_show(int argc, char **argv)
{
	int err = args_none(argc, argv);

	return err ? err : inc_get(INC_CMD_STATS_GET, INC_A_STATS, show_stats);
}

static const struct command commands[] = { { "show", stats_show }, { NULL, NULL } };

const struct object object_stats = { .name = "stats", .commands = commands, .usage = usage };
