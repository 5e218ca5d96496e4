// SPDX-License-Identifier: GPL-2.0-only
/*
 * `inc metrics` of a kernel that says everything it can say, with names that break careless
 * printers. metrics.py reads what it prints. Any argument: with -s.
 */
#include <netlink/msg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/inc.h>
#include <linux/inc_netlink.h>

#include "nl.h"
#include "tool.h"

struct options options;

static struct nl_msg *msg;

static void need(int err)
{
	if (err) {
		fprintf(stderr, "metrics: no room in the message\n");
		exit(1);
	}
}

static struct nlattr *begin(int attr)
{
	struct nlattr *nest = nla_nest_start(msg, attr);

	need(!nest);
	return nest;
}

/* Counter i is 1000 + i; one is newer than the tool. */
static void put_counters(int attr)
{
	struct nlattr *nest = begin(attr);
	int i;

	for (i = 1; i <= INC_C_MAX + 1; i++)
		need(nla_put_u64(msg, i, 1000 + (uint64_t)i));
	nla_nest_end(msg, nest);
}

static void put_port(void)
{
	int i;

	need(nla_put_u32(msg, INC_A_PORT_NODE, 1));
	need(nla_put_string(msg, INC_A_PORT_IFNAME, "a\"b\\c\nd\xff"));
	for (i = INC_A_PORT_RX_PACKETS; i <= INC_A_PORT_TX_SKBS; i++)
		need(nla_put_u64(msg, i, 100 + (uint64_t)i));
}

static void put_group(unsigned int role)
{
	need(nla_put_u32(msg, INC_A_GROUP_GROUP, 7));
	need(nla_put_u64(msg, INC_A_GROUP_JOB, UINT64_MAX));
	need(nla_put_u32(msg, INC_A_GROUP_ROLE, (uint32_t)role));
	need(nla_put_u32(msg, INC_A_GROUP_STATE,
			 role == INC_ROLE_NODE ? (int)INC_GROUP_ACTIVE : (int)INC_STATE_READY));
	need(nla_put_u32(msg, INC_A_GROUP_STRIPE, 1));
	need(nla_put_u32(msg, INC_A_GROUP_INCARNATION, 0xbeef));
	need(nla_put_u32(msg, INC_A_GROUP_SIZE, 4));
	need(nla_put_u32(msg, INC_A_GROUP_JOINED, 3));
	need(nla_put_u32(msg, INC_A_GROUP_EPOCH, 2));
	need(nla_put_u64(msg, INC_A_GROUP_NEXT, 1ULL << 40));
	need(nla_put_u32(msg, INC_A_GROUP_WINDOW, 512));
	need(nla_put_u32(msg, INC_A_GROUP_CWND, 128));
	need(nla_put_u64(msg, INC_A_GROUP_MEMORY, 4096));
	need(nla_put_u32(msg, INC_A_GROUP_SRTT, 85));
	need(nla_put_u32(msg, INC_A_GROUP_WAITED_MS, 1500));
	need(nla_put_u32(msg, INC_A_GROUP_WAITING, 3));
	need(nla_put_flag(msg, INC_A_GROUP_LATE));
	if (role == INC_ROLE_NODE)
		need(nla_put_u32(msg, INC_A_GROUP_IFINDEX, 0));
	else
		need(nla_put_u32(msg, INC_A_GROUP_RANK, 1));
	put_counters(INC_A_GROUP_STATS);
}

static void put_member(void)
{
	static const uint8_t addr[4] = { 10, 0, 0, 3 };
	uint64_t buckets[INC_LATE_BUCKETS] = { 5, 0, 7, [INC_LATE_BUCKETS - 1] = 2 };
	struct nlattr *nest;

	need(nla_put_u32(msg, INC_A_MEMBER_GROUP, 7));
	need(nla_put_u32(msg, INC_A_MEMBER_INCARNATION, 0xbeef));
	need(nla_put_u64(msg, INC_A_MEMBER_JOB, UINT64_MAX));
	need(nla_put_u32(msg, INC_A_MEMBER_TREE, 1));
	need(nla_put_u32(msg, INC_A_MEMBER_STRIPE, 2));
	need(nla_put_u32(msg, INC_A_MEMBER_RANK, 3));
	need(nla_put(msg, INC_A_MEMBER_ADDR, sizeof(addr), addr));
	need(nla_put_u32(msg, INC_A_MEMBER_HEARD_MS, 20));
	need(nla_put_u64(msg, INC_A_MEMBER_NEXT, 9));
	need(nla_put_u32(msg, INC_A_MEMBER_SRTT, 90));
	nest = begin(INC_A_MEMBER_LATE);
	need(nla_put_u64(msg, INC_A_LATE_SUM_US, 2500000));
	need(nla_put_u64(msg, INC_A_LATE_MISSED, 11));
	need(nla_put(msg, INC_A_LATE_HIST, sizeof(buckets), buckets));
	nla_nest_end(msg, nest);
}

/* An answer with one nest, which is shown. */
static void answer(int attr, void (*put)(void), void (*show)(struct nlattr *nest))
{
	struct nlattr *nest;

	msg = nlmsg_alloc_size(65536);
	need(!msg || !nlmsg_put(msg, 0, 0, NLMSG_MIN_TYPE, 0, 0));
	if (attr == INC_A_STATS) {
		put_counters(attr);
		nest = nlmsg_attrdata(nlmsg_hdr(msg), 0);
	} else {
		nest = begin(attr);
		put();
		nla_nest_end(msg, nest);
	}
	show(nest);
	nlmsg_free(msg);
}

static void put_node_group(void)
{
	put_group(INC_ROLE_NODE);
}

static void put_rank_group(void)
{
	put_group(INC_ROLE_RANK);
}

int inc_get(uint8_t cmd, int attr, void (*show)(struct nlattr *nest))
{
	(void)cmd;
	answer(attr, NULL, show);
	return 0;
}

/* Each twice: the second one would make the text invalid. */
int inc_dump(uint8_t cmd, int attr, const uint32_t *group, void (*show)(struct nlattr *nest))
{
	int i;

	(void)group;
	for (i = 0; i < 2; i++) {
		if (cmd == INC_CMD_PORT_GET) {
			answer(attr, put_port, show);
		} else if (cmd == INC_CMD_MEMBER_GET) {
			answer(attr, put_member, show);
		} else {
			answer(attr, put_node_group, show);
			answer(attr, put_rank_group, show);
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	(void)argv;
	options.stats = argc > 1;
	out_init(false, false);
	return object_metrics.run(0, NULL);
}
