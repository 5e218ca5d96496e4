// SPDX-License-Identifier: GPL-2.0-only
/*
 * inc monitor: one line per event, or with -j one JSON object per line, written at once.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <linux/inc_netlink.h>

#include "names.h"
#include "nl.h"
#include "print.h"
#include "tool.h"

static const char usage[] =
	"Usage: inc [-t] monitor [show]\n"
	"One line per event until it is interrupted: nodes and parents that come and go, groups that form, fail,\n"
	"work again, move and leave, ranks that are late, back or dead.\n";

static void show_time(void)
{
	struct timespec now;
	char buf[64], frac[32];
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	if (!localtime_r(&now.tv_sec, &tm) || !strftime(buf, sizeof(buf), "%Y-%m-%dT%H:%M:%S", &tm))
		return;
	snprintf(frac, sizeof(frac), ".%06ld", now.tv_nsec / 1000);
	strncat(buf, frac, sizeof(buf) - strlen(buf) - 1);
	out_str("time", "%s ", buf);
}

static void show_event(struct nlattr *nest)
{
	struct nlattr *tb[INC_A_EVENT_MAX + 1];
	uint8_t type = 0;
	uint32_t v;

	parse_nest(nest, tb, INC_A_EVENT_MAX);
	out_open(NULL);
	if (options.timestamp)
		show_time();
	get_u8(tb[INC_A_EVENT_TYPE], &type);
	out_str("event", "%s", event_name(type));
	if (get_u32(tb[INC_A_EVENT_IFINDEX], &v))
		show_dev("ifindex", "dev", " dev %s", v);
	if (get_u32(tb[INC_A_EVENT_GROUP], &v))
		out_num("group", " group %s", v, UNIT_NONE);
	if (get_u32(tb[INC_A_EVENT_RANK], &v))
		out_num("rank", " rank %s", v, UNIT_NONE);
	if (get_u32(tb[INC_A_EVENT_EPOCH], &v))
		out_num("epoch", " epoch %s", v, UNIT_NONE);
	if (get_u32(tb[INC_A_EVENT_INCARNATION], &v))
		out_num("incarnation", " incarnation %s", v, UNIT_HEX);
	if (get_str(tb[INC_A_EVENT_TEXT]))
		out_str("text", ": %s", get_str(tb[INC_A_EVENT_TEXT]));
	out_text("\n");
	out_close();
	out_end();
}

static int show(int argc, char **argv)
{
	int err = args_none(argc, argv);

	return err ? err : inc_listen(show_event);
}

static const struct command commands[] = { { "show", show }, { NULL, NULL } };

const struct object object_monitor = { .name = "monitor", .commands = commands, .usage = usage };
