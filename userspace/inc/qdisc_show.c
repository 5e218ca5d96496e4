// SPDX-License-Identifier: GPL-2.0-only
/* Options and statistics of sch_inc, as the tool and tc's plugin show them. */
#include <string.h>
#include <linux/inc_sched.h>

#include "attr.h"
#include "print.h"
#include "qdisc.h"
#include "tool.h"

static void show_weights(struct nlattr *attr)
{
	struct tc_inc_weight w;
	size_t i, n = attr ? (size_t)nla_len(attr) / sizeof(w) : 0;

	if (!n) {
		/* `replace` leaves those of a qdisc that is there */
		if (options.commands)
			out_text(" weight none");
		return;
	}
	out_open_list("weights");
	for (i = 0; i < n; i++) {
		memcpy(&w, (char *)nla_data(attr) + i * sizeof(w), sizeof(w));
		out_open(NULL);
		out_num("group", i ? ",%s" : " weight %s", w.group, UNIT_NONE);
		out_num("weight", ":%s", w.weight, UNIT_NONE);
		out_close();
	}
	out_close_list();
}

void qdisc_show_options(struct nlattr *nest)
{
	struct nlattr *tb[TCA_INC_MAX + 1];
	uint16_t port;
	uint64_t rate;
	uint32_t v;

	parse_nest(nest, tb, TCA_INC_MAX);
	if (get_u32(tb[TCA_INC_SHARE], &v))
		out_num("share", " share %s", v, options.commands ? UNIT_NONE : UNIT_PERCENT);
	if (get_u32(tb[TCA_INC_CONTROL], &v))
		out_num("control", " control %s", v, options.commands ? UNIT_NONE : UNIT_PERCENT);
	if (get_u32(tb[TCA_INC_LIMIT], &v))
		out_num("limit", options.commands ? " limit %s" : " limit %s packets per class", v,
			UNIT_NONE);
	if (get_u16(tb[TCA_INC_PORT], &port))
		out_num("port", " port %s", port, UNIT_NONE);
	if (get_u32(tb[TCA_INC_TARGET], &v))
		out_num("target", options.commands ? " target %s" : " target %sus", v, UNIT_NONE);
	if (get_u64(tb[TCA_INC_RATE], &rate) && rate)
		out_num("rate", " rate %sbit", rate, UNIT_NONE);
	else if (tb[TCA_INC_RATE] && options.commands)
		out_text(" rate measured");
	show_weights(tb[TCA_INC_WEIGHTS]);
}

void qdisc_show_delays(const __u64 *delay)
{
	unsigned int i, shown = 0;

	out_open_list("delay");
	for (i = 0; i < INC_SCHED_DELAYS; i++) {
		if (!delay[i])
			continue;
		out_open(NULL);
		out_num("from_us", shown++ ? ", from %s:" : "             waited from %s:",
			i ? 16ULL << (2 * i) : 0, UNIT_US);
		out_num("packets", " %s", delay[i], UNIT_NONE);
		out_close();
	}
	out_close_list();
	if (shown)
		out_text("\n");
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
	out_num("marks", " marked %s", xs->cls[i].marks, UNIT_NONE);
	out_num("qlen", " waiting %s", xs->cls[i].qlen, UNIT_NONE);
	out_num("backlog", " (%s bytes)\n", xs->cls[i].backlog, UNIT_NONE);
	qdisc_show_delays(xs->cls[i].delay);
	out_close();
}

int qdisc_show_xstats(struct nlattr *attr)
{
	struct tc_inc_xstats xs = { 0 };
	unsigned int i;

	if (nla_len(attr) < (int)sizeof(xs))
		return refused("statistics of %d bytes where %zu were expected: another version of sch_inc",
			       nla_len(attr), sizeof(xs));
	memcpy(&xs, nla_data(attr), sizeof(xs));
	out_open("classes");
	for (i = 0; i < INC_SCHED_CLASSES; i++)
		show_class(&xs, i);
	out_close();
	out_num("blocks", "    %s INC headers in all", xs.blocks, UNIT_NONE);
	if (xs.rate)
		out_num("rate", ", the link takes %s bit/s", xs.rate, UNIT_NONE);
	out_text("\n");
	return 0;
}
