// SPDX-License-Identifier: GPL-2.0-only
/*
 * inc monitor: one line per event, or with -j one JSON object per line, written at once.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <linux/inc_netlink.h>

#include "failure.h"
#include "names.h"
#include "nl.h"
#include "print.h"
#include "tool.h"

static const char usage[] =
	"Usage: inc [-t] monitor [show]\n"
	"One line per event until it is interrupted: nodes, parents and tenants that come, change\n"
	"and go, limits that are set, groups that form, fail, work again, move and leave, ranks that\n"
	"are late, back or dead, and parents that do not answer.\n";

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

/* A default parent, or where a rank goes. */
static void place_text(char *buf, size_t size, struct nlattr *nest)
{
	struct nlattr *tb[INC_A_PARENT_MAX + 1];
	uint16_t port = 0;

	if (!nest) {
		snprintf(buf, size, "none");
		return;
	}
	parse_nest(nest, tb, INC_A_PARENT_MAX);
	get_port(tb[INC_A_PARENT_PORT], &port);
	snprintf(buf, size, "%s port %u", addr_text(tb[INC_A_PARENT_ADDR]), port);
}

/* What JSON has as numbers, once more in words. */
static void show_text(struct nlattr **tb, uint32_t type)
{
	char text[128], place[80];
	uint64_t block;
	uint32_t where;
	uint32_t ms;

	place_text(place, sizeof(place), tb[INC_A_EVENT_PARENT]);
	if (tb[INC_A_EVENT_ERROR]) {
		out_str("text", ": %s", failure_text(tb[INC_A_EVENT_ERROR]));
		return;
	}
	if (type == INC_EVENT_PARENT_SILENT && get_u32(tb[INC_A_EVENT_WAITED_MS], &ms))
		snprintf(text, sizeof(text), "%s has not answered for %u ms", place, ms);
	else if (type == INC_EVENT_PARENT_BACK && get_u32(tb[INC_A_EVENT_WAITED_MS], &ms))
		snprintf(text, sizeof(text), "%s answers again after %u ms", place, ms);
	else if (get_u64(tb[INC_A_EVENT_BLOCK], &block) && get_u32(tb[INC_A_EVENT_WAITED_MS], &ms))
		snprintf(text, sizeof(text), "block %ju %s for %u ms", (uintmax_t)block,
			 type == INC_EVENT_RANK_LATE ? "has waited" : "waited", ms);
	else if (get_u32(tb[INC_A_EVENT_PLACEMENT], &where))
		snprintf(text, sizeof(text), "%s %s", placement_name(where), place);
	else if (type == INC_EVENT_PARENT)
		snprintf(text, sizeof(text), "%s", place);
	else
		return;
	out_str("text", ": %s", text);
}

/* JSON only. */
static void show_place(struct nlattr *nest)
{
	struct nlattr *tb[INC_A_PARENT_MAX + 1];
	uint32_t ifindex;
	uint16_t port;

	if (!nest)
		return;
	parse_nest(nest, tb, INC_A_PARENT_MAX);
	out_open("parent");
	show_addr("addr", NULL, tb[INC_A_PARENT_ADDR]);
	if (get_port(tb[INC_A_PARENT_PORT], &port))
		out_num("port", NULL, port, UNIT_NONE);
	if (get_u32(tb[INC_A_PARENT_IFINDEX], &ifindex))
		show_dev("ifindex", "dev", NULL, ifindex);
	out_close();
}

/* JSON only. */
static void show_numbers(struct nlattr **tb)
{
	uint64_t block;
	uint32_t where;
	uint32_t ms;

	show_failure("error", NULL, tb[INC_A_EVENT_ERROR]);
	if (get_u64(tb[INC_A_EVENT_BLOCK], &block))
		out_num("block", NULL, block, UNIT_NONE);
	if (get_u32(tb[INC_A_EVENT_WAITED_MS], &ms))
		out_num("waited_ms", NULL, ms, UNIT_NONE);
	if (get_u32(tb[INC_A_EVENT_PLACEMENT], &where))
		out_str("placement", NULL, placement_name(where));
	show_place(tb[INC_A_EVENT_PARENT]);
}

static void show_event(struct nlattr *nest)
{
	struct nlattr *tb[INC_A_EVENT_MAX + 1];
	uint32_t type = 0;
	uint32_t v;

	parse_nest(nest, tb, INC_A_EVENT_MAX);
	out_open(NULL);
	if (options.timestamp)
		show_time();
	get_u32(tb[INC_A_EVENT_TYPE], &type);
	out_str("event", "%s", event_name(type));
	if (get_u32(tb[INC_A_EVENT_IFINDEX], &v))
		show_dev("ifindex", "dev", " dev %s", v);
	if (get_str(tb[INC_A_EVENT_TENANT]))
		out_str("tenant", " tenant %s", get_str(tb[INC_A_EVENT_TENANT]));
	if (get_u32(tb[INC_A_EVENT_SCOPE], &v))
		out_str("scope", " %s", v == INC_SCOPE_USER ? "user" : "netns");
	if (get_u32(tb[INC_A_EVENT_GROUP], &v))
		out_num("group", " group %s", v, UNIT_NONE);
	show_stripe(tb[INC_A_EVENT_STRIPE], tb[INC_A_EVENT_STRIPES]);
	if (get_u32(tb[INC_A_EVENT_RANK], &v))
		out_num("rank", " rank %s", v, UNIT_NONE);
	if (get_u32(tb[INC_A_EVENT_EPOCH], &v))
		out_num("epoch", " epoch %s", v, UNIT_NONE);
	if (get_u32(tb[INC_A_EVENT_INCARNATION], &v))
		out_num("incarnation", " incarnation %s", v, UNIT_HEX);
	show_numbers(tb);
	show_text(tb, type);
	out_text("\n");
	out_close();
	out_end();
}

static int monitor_show(int argc, char **argv)
{
	int err = args_none(argc, argv);

	return err ? err : inc_listen(show_event);
}

static const struct command commands[] = { { "show", monitor_show }, { NULL, NULL } };

const struct object object_monitor = { .name = "monitor", .commands = commands, .usage = usage };
