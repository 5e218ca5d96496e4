// SPDX-License-Identifier: GPL-2.0-only
/*
 * Words for the uapi's numbers. Counters take name and meaning from the uapi header itself.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <net/if.h>
#include <stdio.h>
#include <linux/inc.h>
#include <linux/inc_netlink.h>
#include <linux/inc_socket.h>

#include "names.h"
#include "nl.h"
#include "print.h"
#include "tool.h"

#define NAME_LEN 40

static const char *name_of(const char *const *names, size_t n, unsigned int i)
{
	static char buf[NAME_LEN];

	if (i < n && names[i])
		return names[i];
	snprintf(buf, sizeof(buf), "%u", i);
	return buf;
}

static const char *const roles[] = {
	[INC_ROLE_NODE] = "node",
	[INC_ROLE_RANK] = "rank",
};

static const char *const group_states[] = {
	[INC_GROUP_JOINING] = "joining",
	[INC_GROUP_ACTIVE] = "active",
	[INC_GROUP_RESYNC] = "resync",
	[INC_GROUP_FAILED] = "failed",
	[INC_GROUP_LEFT] = "left",
};

static const char *const member_states[] = {
	[INC_STATE_CLOSED] = "closed",
	[INC_STATE_JOINING] = "joining",
	[INC_STATE_WAITING] = "waiting",
	[INC_STATE_READY] = "ready",
	[INC_STATE_RESYNC] = "resync",
	[INC_STATE_LEAVING] = "leaving",
	[INC_STATE_FAILED] = "failed",
};

static const char *const errors[] = {
	[INC_ERR_NONE] = "none",
	[INC_ERR_MISMATCH] = "mismatch",
	[INC_ERR_CANCELED] = "canceled",
	[INC_ERR_RANK_DEAD] = "rank-dead",
	[INC_ERR_RANK_ABORT] = "rank-abort",
	[INC_ERR_RANK_LATE] = "rank-late",
	[INC_ERR_RANK_FAULT] = "rank-fault",
	[INC_ERR_NODE_DEAD] = "node-dead",
	[INC_ERR_NODE_GONE] = "node-gone",
	[INC_ERR_LEFT] = "left",
	[INC_ERR_UNSUPPORTED] = "unsupported",
	[INC_ERR_COUNTS] = "counts",
	[INC_ERR_RANK_PATH] = "rank-path",
};

static const char *const events[] = {
	[INC_EVENT_NODE_ADD] = "node-add",
	[INC_EVENT_NODE_DEL] = "node-del",
	[INC_EVENT_PARENT] = "parent",
	[INC_EVENT_GROUP_FORMED] = "group-formed",
	[INC_EVENT_GROUP_ERROR] = "group-error",
	[INC_EVENT_GROUP_EPOCH] = "group-epoch",
	[INC_EVENT_GROUP_LEFT] = "group-left",
	[INC_EVENT_RANK_LATE] = "rank-late",
	[INC_EVENT_RANK_BACK] = "rank-back",
	[INC_EVENT_RANK_DEAD] = "rank-dead",
	[INC_EVENT_MOVING] = "moving",
	[INC_EVENT_MOVED] = "moved",
	[INC_EVENT_NODE_SET] = "node-set",
	[INC_EVENT_TENANT_ADD] = "tenant-add",
	[INC_EVENT_TENANT_SET] = "tenant-set",
	[INC_EVENT_TENANT_DEL] = "tenant-del",
	[INC_EVENT_LIMIT_SET] = "limit-set",
	[INC_EVENT_PARENT_SILENT] = "parent-silent",
	[INC_EVENT_PARENT_BACK] = "parent-back",
};

const char *const fallback_names[] = {
	[INC_FALLBACK_NONE] = "none",
	[INC_FALLBACK_STANDBY] = "standby",
	[INC_FALLBACK_EDGE] = "edge",
	[__INC_FALLBACK_MAX] = NULL,
};

static const char *const orders[] = {
	[INC_ORDER_CANONICAL] = "canonical",
	[INC_ORDER_TREE] = "tree",
};

static const char *const placements[] = {
	[INC_PLACEMENT_NODE] = "node",
	[INC_PLACEMENT_STANDBY] = "standby",
	[INC_PLACEMENT_EDGE] = "edge",
};

/* By enum inc_counter, whose 0 is no counter. */
static const struct {
	const char *name, *text;
} counters[] = {
	{ NULL, "" },
#define INC_COUNTER(name, text) { #name, text },
#include <linux/inc_counters.h>
#undef INC_COUNTER
};

const char *fallback_name(unsigned int fallback)
{
	return name_of(fallback_names, __INC_FALLBACK_MAX, fallback);
}

const char *placement_name(unsigned int placement)
{
	return name_of(placements, ARRAY_SIZE(placements), placement);
}

const char *order_name(unsigned int order)
{
	return name_of(orders, ARRAY_SIZE(orders), order);
}

const char *role_name(unsigned int role)
{
	return name_of(roles, ARRAY_SIZE(roles), role);
}

const char *group_state_name(unsigned int state)
{
	return name_of(group_states, ARRAY_SIZE(group_states), state);
}

const char *member_state_name(unsigned int state)
{
	return name_of(member_states, ARRAY_SIZE(member_states), state);
}

const char *error_name(unsigned int code)
{
	return name_of(errors, ARRAY_SIZE(errors), code);
}

const char *event_name(unsigned int type)
{
	return name_of(events, ARRAY_SIZE(events), type);
}

bool dev_is_there(uint32_t ifindex)
{
	char buf[IF_NAMESIZE];

	return if_indextoname(ifindex, buf);
}

const char *dev_name(uint32_t ifindex)
{
	static char buf[IF_NAMESIZE];

	if (!if_indextoname(ifindex, buf))
		snprintf(buf, sizeof(buf), "if%u", ifindex);
	return buf;
}

void show_dev(const char *index_key, const char *key, const char *fmt, uint32_t ifindex)
{
	out_num(index_key, NULL, ifindex, UNIT_NONE);
	/* of a node only */
	out_str(key, fmt, ifindex ? dev_name(ifindex) : "all");
}

void show_stripe(struct nlattr *stripe, struct nlattr *stripes)
{
	uint32_t index, count;

	if (!get_u32(stripe, &index) || !get_u32(stripes, &count))
		return;
	out_num("stripe", " stripe %s", index, UNIT_NONE);
	out_num("stripes", " of %s", count, UNIT_NONE);
}

const char *addr_text(struct nlattr *attr)
{
	static char buf[INET6_ADDRSTRLEN];

	snprintf(buf, sizeof(buf), "?");
	if (attr && nla_len(attr) == 4)
		inet_ntop(AF_INET, nla_data(attr), buf, sizeof(buf));
	else if (attr && nla_len(attr) == 16)
		inet_ntop(AF_INET6, nla_data(attr), buf, sizeof(buf));
	return buf;
}

void show_addr(const char *key, const char *fmt, struct nlattr *attr)
{
	if (attr)
		out_str(key, fmt, addr_text(attr));
}

void show_parent_as(const char *key, struct nlattr *nest)
{
	struct nlattr *tb[INC_A_PARENT_MAX + 1];
	uint32_t ifindex;
	uint16_t port;

	if (!nest)
		return;
	parse_nest(nest, tb, INC_A_PARENT_MAX);
	out_open(key);
	show_addr("addr", " parent %s", tb[INC_A_PARENT_ADDR]);
	if (get_port(tb[INC_A_PARENT_PORT], &port))
		out_num("port", " port %s", port, UNIT_NONE);
	if (get_u32(tb[INC_A_PARENT_IFINDEX], &ifindex) && ifindex)
		show_dev("ifindex", "dev", " via %s", ifindex);
	out_close();
}

void show_parent_nest(struct nlattr *nest)
{
	show_parent_as("parent", nest);
}

const char *counter_name(unsigned int type)
{
	static char buf[NAME_LEN];
	unsigned int i;

	if (type > INC_C_MAX || !counters[type].name) {
		snprintf(buf, sizeof(buf), "counter_%u", type);
		return buf;
	}
	snprintf(buf, sizeof(buf), "%s", counters[type].name);
	for (i = 0; buf[i]; i++)
		buf[i] = (char)tolower((unsigned char)buf[i]);
	return buf;
}

const char *counter_text(unsigned int type)
{
	return type <= INC_C_MAX ? counters[type].text : "";
}

static void show_counter(unsigned int type, uint64_t value, const char *indent, bool all)
{
	const char *name = counter_name(type);
	char num[24];

	if (out_is_json()) {
		out_num(name, NULL, value, UNIT_NONE);
	} else if (value || all) {
		snprintf(num, sizeof(num), "%ju", (uintmax_t)value);
		out_text("%s%-18s %14s  %s\n", indent, name, num, counter_text(type));
	}
}

void show_counters(const char *key, struct nlattr *nest, const char *indent, bool all)
{
	struct nlattr *attr;
	uint64_t value;
	int rest;

	if (!nest)
		return;
	out_open(key);
	nla_for_each_nested(attr, nest, rest)
		if (get_u64(attr, &value))
			show_counter((unsigned int)nla_type(attr), value, indent, all);
	out_close();
}
