// SPDX-License-Identifier: GPL-2.0-only
/*
 * inc metrics: what the kernel tells of counters, ports, groups and members, for Prometheus and
 * whatever else reads OpenMetrics.
 */
#include <stdlib.h>
#include <string.h>
#include <linux/inc.h>
#include <linux/inc_netlink.h>

#include "exposition.h"
#include "names.h"
#include "nl.h"
#include "print.h"
#include "tool.h"

static const char usage[] =
	"Usage: inc [-s] metrics\n"
	"Prints counters of this network namespace, ports, groups and their members as OpenMetrics text;\n"
	"with -s also the counters of each group, and how late each member is as a histogram.\n";

enum {
	BUILD, PORT_RX_PACKETS, PORT_RX_BYTES, PORT_RX_BUFFERS, PORT_TX_PACKETS, PORT_TX_BYTES,
	PORT_TX_BUFFERS, GROUP_STATE, GROUP_SIZE, GROUP_JOINED, GROUP_EPOCH, GROUP_NEXT,
	GROUP_WINDOW, GROUP_CWND, GROUP_MEMORY, GROUP_SRTT, GROUP_WAITED, GROUP_WAITING, GROUP_LATE,
	MEMBER_RANKS, MEMBER_HEARD, MEMBER_NEXT, MEMBER_SRTT, MEMBER_MISSED, MEMBER_LATE,
};

#define METRIC(n, t, h)	{ .name = (n), .type = (t), .help = (h) }

static struct metric metrics[] = {
	[BUILD] = METRIC("inc_build", "info", "version of the tool that printed this"),
	[PORT_RX_PACKETS] = METRIC("inc_port_rx_packets", "counter",
		"INC packets to a node by this port, super-packets counted as their segments"),
	[PORT_RX_BYTES] = METRIC("inc_port_rx_bytes", "counter", "IP bytes to a node by this port"),
	[PORT_RX_BUFFERS] = METRIC("inc_port_rx_buffers", "counter", "buffers they came in"),
	[PORT_TX_PACKETS] = METRIC("inc_port_tx_packets", "counter",
		"INC packets from a node by this port"),
	[PORT_TX_BYTES] = METRIC("inc_port_tx_bytes", "counter",
		"IP bytes from a node by this port"),
	[PORT_TX_BUFFERS] = METRIC("inc_port_tx_buffers", "counter", "buffers they left in"),
	[GROUP_STATE] = METRIC("inc_group_state", "stateset",
		"state of the group, or of its rank here"),
	[GROUP_SIZE] = METRIC("inc_group_size", "gauge", "ranks of the group"),
	[GROUP_JOINED] = METRIC("inc_group_joined", "gauge", "ranks that have joined"),
	[GROUP_EPOCH] = METRIC("inc_group_epoch", "gauge", "epoch: one more after every error"),
	[GROUP_NEXT] = METRIC("inc_group_next_block", "gauge", "first block that is not complete"),
	[GROUP_WINDOW] = METRIC("inc_group_window_blocks", "gauge", "blocks that may be under way"),
	[GROUP_CWND] = METRIC("inc_group_cwnd_blocks", "gauge",
		"blocks that congestion lets a rank have under way"),
	[GROUP_MEMORY] = METRIC("inc_group_memory_bytes", "gauge",
		"bytes of packets that are held"),
	[GROUP_SRTT] = METRIC("inc_group_srtt_seconds", "gauge",
		"round trip of a rank to its node"),
	[GROUP_WAITED] = METRIC("inc_group_waited_seconds", "gauge",
		"for how long a rank has been waited for"),
	[GROUP_WAITING] = METRIC("inc_group_waiting_rank", "gauge",
		"the lowest rank that is waited for"),
	[GROUP_LATE] = METRIC("inc_group_late", "gauge", "1: it is late, by more than a second"),
	[MEMBER_RANKS] = METRIC("inc_member_ranks", "gauge",
		"ranks below it: more than one below a node"),
	[MEMBER_HEARD] = METRIC("inc_member_heard_seconds", "gauge", "since its last packet"),
	[MEMBER_NEXT] = METRIC("inc_member_next_block", "gauge",
		"first block that it has not contributed to"),
	[MEMBER_SRTT] = METRIC("inc_member_srtt_seconds", "gauge", "round trip to it"),
	[MEMBER_MISSED] = METRIC("inc_member_missed_blocks", "counter",
		"blocks that were completed without it"),
	[MEMBER_LATE] = METRIC("inc_member_late_seconds", "histogram",
		"of the blocks that it was the last one for, how long all others had been there"),
};

/* By enum inc_counter, of the namespace and of groups; what is dropped is one metric. */
struct counter_metrics {
	struct metric of[INC_C_MAX + 1];
	char names[INC_C_MAX + 1][64];
	struct metric drops;
};

static struct counter_metrics of_netns = {
	.drops = METRIC("inc_drops", "counter",
		"packets that were not used, by reason"),
};

static struct counter_metrics of_groups = {
	.drops = METRIC("inc_group_drops", "counter",
		"packets of the group that were not used, by reason"),
};

static bool memory = true;

static void sample_u64(int which, const struct labels *labels, uint64_t value)
{
	memory &= metric_num(&metrics[which], labels, value);
}

static void sample_attr32(int which, const struct labels *labels, struct nlattr *attr)
{
	uint32_t value;

	if (get_u32(attr, &value))
		sample_u64(which, labels, value);
}

static void sample_attr64(int which, const struct labels *labels, struct nlattr *attr)
{
	uint64_t value;

	if (get_u64(attr, &value))
		sample_u64(which, labels, value);
}

static void sample_us(int which, const struct labels *labels, struct nlattr *attr, uint64_t us)
{
	uint32_t value;

	if (get_u32(attr, &value))
		memory &= metric_us(&metrics[which], labels, value * us);
}

static void add_label32(struct labels *labels, const char *key, struct nlattr *attr)
{
	uint32_t value;

	if (get_u32(attr, &value))
		label_num(labels, key, value);
}

/* What this tool does not know yet is left out. */
static void add_counter(struct counter_metrics *to, const char *prefix, unsigned int type,
			uint64_t value, struct labels labels)
{
	static const char drop[] = "drop_";
	struct metric *metric;
	const char *name;

	if (!type || type > INC_C_MAX)
		return;
	name = counter_name(type);
	if (!strncmp(name, drop, strlen(drop))) {
		label_str(&labels, "reason", name + strlen(drop));
		memory &= metric_num(&to->drops, &labels, value);
		return;
	}
	metric = &to->of[type];
	snprintf(to->names[type], sizeof(to->names[type]), "%s%s", prefix, name);
	metric->name = to->names[type];
	metric->type = "counter";
	metric->help = counter_text(type);
	memory &= metric_num(metric, &labels, value);
}

static void add_counters(struct counter_metrics *to, const char *prefix, struct nlattr *nest,
			 const struct labels *labels)
{
	struct nlattr *attr;
	uint64_t value;
	int rest;

	if (!nest)
		return;
	nla_for_each_nested(attr, nest, rest)
		if (get_u64(attr, &value))
			add_counter(to, prefix, (unsigned int)nla_type(attr), value, *labels);
}

static void add_stats(struct nlattr *nest)
{
	struct labels none = { 0 };

	add_counters(&of_netns, "inc_", nest, &none);
}

static void add_port(struct nlattr *nest)
{
	struct nlattr *tb[INC_A_PORT_MAX + 1];
	struct labels labels = { 0 };
	uint32_t node;

	parse_nest(nest, tb, INC_A_PORT_MAX);
	if (get_u32(tb[INC_A_PORT_NODE], &node))
		label_str(&labels, "node", node ? dev_name(node) : "all");
	if (get_str(tb[INC_A_PORT_IFNAME]))
		label_str(&labels, "dev", get_str(tb[INC_A_PORT_IFNAME]));
	sample_attr64(PORT_RX_PACKETS, &labels, tb[INC_A_PORT_RX_PACKETS]);
	sample_attr64(PORT_RX_BYTES, &labels, tb[INC_A_PORT_RX_BYTES]);
	sample_attr64(PORT_RX_BUFFERS, &labels, tb[INC_A_PORT_RX_SKBS]);
	sample_attr64(PORT_TX_PACKETS, &labels, tb[INC_A_PORT_TX_PACKETS]);
	sample_attr64(PORT_TX_BYTES, &labels, tb[INC_A_PORT_TX_BYTES]);
	sample_attr64(PORT_TX_BUFFERS, &labels, tb[INC_A_PORT_TX_SKBS]);
}

/* Runs of groups are told apart by their incarnation, ranks that have none yet by their process. */
static void label_group(struct labels *labels, struct nlattr **tb, unsigned int role)
{
	uint32_t ifindex;
	uint64_t job;

	add_label32(labels, "group", tb[INC_A_GROUP_GROUP]);
	if (get_u64(tb[INC_A_GROUP_JOB], &job))
		label_num(labels, "job", job);
	label_str(labels, "role", role_name(role));
	add_label32(labels, "incarnation", tb[INC_A_GROUP_INCARNATION]);
	if (get_u32(tb[INC_A_GROUP_IFINDEX], &ifindex))
		label_str(labels, "dev", ifindex ? dev_name(ifindex) : "all");
	add_label32(labels, "rank", tb[INC_A_GROUP_RANK]);
	add_label32(labels, "pid", tb[INC_A_GROUP_PID]);
	add_label32(labels, "tree", tb[INC_A_GROUP_TREE]);
	add_label32(labels, "stripe", tb[INC_A_GROUP_STRIPE]);
	if (get_str(tb[INC_A_GROUP_TENANT]))
		label_str(labels, "tenant", get_str(tb[INC_A_GROUP_TENANT]));
}

static const char *state_name(unsigned int role, unsigned int state)
{
	return role == INC_ROLE_NODE ? group_state_name(state) : member_state_name(state);
}

static void add_state(struct labels labels, struct nlattr *attr, unsigned int role)
{
	uint32_t state;

	/* the label of a stateset bears the metric's name */
	if (get_u32(attr, &state) &&
	    label_str(&labels, metrics[GROUP_STATE].name, state_name(role, state)))
		sample_u64(GROUP_STATE, &labels, 1);
}

static void add_group(struct nlattr *nest)
{
	struct nlattr *tb[INC_A_GROUP_MAX + 1];
	struct labels labels = { 0 };
	uint32_t role = INC_ROLE_NODE;

	parse_nest(nest, tb, INC_A_GROUP_MAX);
	get_u32(tb[INC_A_GROUP_ROLE], &role);
	label_group(&labels, tb, role);
	add_state(labels, tb[INC_A_GROUP_STATE], role);
	sample_attr32(GROUP_SIZE, &labels, tb[INC_A_GROUP_SIZE]);
	sample_attr32(GROUP_JOINED, &labels, tb[INC_A_GROUP_JOINED]);
	sample_attr32(GROUP_EPOCH, &labels, tb[INC_A_GROUP_EPOCH]);
	sample_attr64(GROUP_NEXT, &labels, tb[INC_A_GROUP_NEXT]);
	sample_attr32(GROUP_WINDOW, &labels, tb[INC_A_GROUP_WINDOW]);
	sample_attr32(GROUP_CWND, &labels, tb[INC_A_GROUP_CWND]);
	sample_attr64(GROUP_MEMORY, &labels, tb[INC_A_GROUP_MEMORY]);
	sample_us(GROUP_SRTT, &labels, tb[INC_A_GROUP_SRTT], 1);
	sample_us(GROUP_WAITED, &labels, tb[INC_A_GROUP_WAITED_MS], 1000);
	sample_attr32(GROUP_WAITING, &labels, tb[INC_A_GROUP_WAITING]);
	sample_u64(GROUP_LATE, &labels, !!tb[INC_A_GROUP_LATE]);
	if (options.stats)
		add_counters(&of_groups, "inc_group_", tb[INC_A_GROUP_STATS], &labels);
}

static void add_late(const struct labels *labels, struct nlattr *nest)
{
	uint64_t buckets[INC_LATE_BUCKETS] = { 0 }, sum = 0;
	struct nlattr *tb[INC_A_LATE_MAX + 1];

	if (!nest)
		return;
	parse_nest(nest, tb, INC_A_LATE_MAX);
	sample_attr64(MEMBER_MISSED, labels, tb[INC_A_LATE_MISSED]);
	if (!options.stats || !tb[INC_A_LATE_HIST] || !get_u64(tb[INC_A_LATE_SUM_US], &sum))
		return;
	nla_memcpy(buckets, tb[INC_A_LATE_HIST], sizeof(buckets));
	memory &= metric_histogram(&metrics[MEMBER_LATE], labels, buckets, INC_LATE_BUCKETS, sum);
}

static void add_member(struct nlattr *nest)
{
	struct nlattr *tb[INC_A_MEMBER_MAX + 1];
	struct labels labels = { 0 };
	uint64_t job;

	parse_nest(nest, tb, INC_A_MEMBER_MAX);
	add_label32(&labels, "group", tb[INC_A_MEMBER_GROUP]);
	if (get_u64(tb[INC_A_MEMBER_JOB], &job))
		label_num(&labels, "job", job);
	add_label32(&labels, "tree", tb[INC_A_MEMBER_TREE]);
	add_label32(&labels, "stripe", tb[INC_A_MEMBER_STRIPE]);
	add_label32(&labels, "incarnation", tb[INC_A_MEMBER_INCARNATION]);
	add_label32(&labels, "rank", tb[INC_A_MEMBER_RANK]);
	if (tb[INC_A_MEMBER_ADDR])
		label_str(&labels, "addr", addr_text(tb[INC_A_MEMBER_ADDR]));
	if (tb[INC_A_MEMBER_RANKS])
		sample_attr32(MEMBER_RANKS, &labels, tb[INC_A_MEMBER_RANKS]);
	else
		sample_u64(MEMBER_RANKS, &labels, 1);
	sample_us(MEMBER_HEARD, &labels, tb[INC_A_MEMBER_HEARD_MS], 1000);
	sample_attr64(MEMBER_NEXT, &labels, tb[INC_A_MEMBER_NEXT]);
	sample_us(MEMBER_SRTT, &labels, tb[INC_A_MEMBER_SRTT], 1);
	add_late(&labels, tb[INC_A_MEMBER_LATE]);
}

static void print_counters(struct counter_metrics *counters)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(counters->of); i++)
		metric_print(&counters->of[i]);
	metric_print(&counters->drops);
}

static void print_all(void)
{
	size_t i;

	print_counters(&of_netns);
	for (i = 0; i < ARRAY_SIZE(metrics); i++)
		metric_print(&metrics[i]);
	print_counters(&of_groups);
	exposition_end();
}

static void add_build(void)
{
	struct labels labels = { 0 };

	label_str(&labels, "version", INC_TOOL_VERSION);
	sample_u64(BUILD, &labels, 1);
}

static int run_metrics(int argc, char **argv)
{
	int status = args_none(argc, argv);

	if (!status && out_is_json())
		status = usage_error("-j: expected without it, what is printed is OpenMetrics text");
	if (status)
		return status;
	add_build();
	status = inc_get(INC_CMD_STATS_GET, INC_A_STATS, add_stats);
	if (!status)
		status = inc_dump(INC_CMD_PORT_GET, INC_A_PORT, NULL, add_port);
	if (!status)
		status = inc_dump(INC_CMD_GROUP_GET, INC_A_GROUP, NULL, add_group);
	if (!status)
		status = inc_dump(INC_CMD_MEMBER_GET, INC_A_MEMBER, NULL, add_member);
	if (!status && !memory)
		status = refused("out of memory");
	/* half of it would be taken for all there is */
	if (!status)
		print_all();
	return status;
}

const struct object object_metrics = { .name = "metrics", .run = run_metrics, .usage = usage };
