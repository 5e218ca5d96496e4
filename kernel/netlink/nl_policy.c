// SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause)
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/inc.yaml */
/* YNL-GEN kernel source */

#include <net/netlink.h>
#include <net/genetlink.h>

#include "nl_policy.h"

#include <uapi/linux/inc_netlink.h>
#include <linux/inc.h>

/* Common nested types */
const struct nla_policy inc_limit_nl_policy[INC_A_LIMIT_REFUSED + 1] = {
	[INC_A_LIMIT_SCOPE] = NLA_POLICY_MAX(NLA_U32, 1),
	[INC_A_LIMIT_UID] = { .type = NLA_U32, },
	[INC_A_LIMIT_VALUES] = NLA_POLICY_NESTED(inc_limits_nl_policy),
	[INC_A_LIMIT_USE] = NLA_POLICY_NESTED(inc_limits_nl_policy),
	[INC_A_LIMIT_REFUSED] = NLA_POLICY_NESTED(inc_limits_nl_policy),
};

const struct nla_policy inc_limits_nl_policy[INC_LIMIT_SOCKET_MEMORY + 1] = {
	[INC_LIMIT_SOCKETS] = { .type = NLA_U64, },
	[INC_LIMIT_OPERATIONS] = { .type = NLA_U64, },
	[INC_LIMIT_OP_MEMORY] = { .type = NLA_U64, },
	[INC_LIMIT_PINNED_MEMORY] = { .type = NLA_U64, },
	[INC_LIMIT_GROUPS] = { .type = NLA_U64, },
	[INC_LIMIT_SLOT_MEMORY] = { .type = NLA_U64, },
	[INC_LIMIT_HELD_MEMORY] = { .type = NLA_U64, },
	[INC_LIMIT_ANSWERS] = { .type = NLA_U64, },
	[INC_LIMIT_SOCKET_MEMORY] = { .type = NLA_U64, },
};

const struct nla_policy inc_node_nl_policy[INC_A_NODE_LACKS_OPERATIONS + 1] = {
	[INC_A_NODE_IFINDEX] = { .type = NLA_U32, },
	[INC_A_NODE_IFNAME] = { .type = NLA_NUL_STRING, .len = 15, },
	[INC_A_NODE_DEAD_MS] = { .type = NLA_U32, },
	[INC_A_NODE_LATE_MS] = { .type = NLA_U32, },
	[INC_A_NODE_WINDOW] = { .type = NLA_U32, },
	[INC_A_NODE_MAX_GROUPS] = { .type = NLA_U32, },
	[INC_A_NODE_MAX_MEMORY] = { .type = NLA_U64, },
	[INC_A_NODE_GROUPS] = { .type = NLA_U32, },
	[INC_A_NODE_MEMORY] = { .type = NLA_U64, },
	[INC_A_NODE_KEY] = NLA_POLICY_EXACT_LEN(16),
	[INC_A_NODE_KEYED] = { .type = NLA_FLAG, },
	[INC_A_NODE_FALLBACK] = NLA_POLICY_MAX(NLA_U32, 255),
	[INC_A_NODE_STANDBY] = NLA_POLICY_NESTED(inc_parent_nl_policy),
	[INC_A_NODE_LATE_POLICY] = NLA_POLICY_MAX(NLA_U32, 255),
	[INC_A_NODE_PARENT] = NLA_POLICY_NESTED(inc_parent_nl_policy),
	[INC_A_NODE_MULTICAST] = NLA_POLICY_NESTED(inc_prefix_nl_policy),
	[INC_A_NODE_LACKS_TYPES] = { .type = NLA_U32, },
	[INC_A_NODE_LACKS_OPERATIONS] = { .type = NLA_U32, },
};

const struct nla_policy inc_parent_nl_policy[INC_A_PARENT_IFINDEX + 1] = {
	[INC_A_PARENT_ADDR] = { .type = NLA_BINARY, },
	[INC_A_PARENT_PORT] = { .type = NLA_U32, },
	[INC_A_PARENT_IFINDEX] = { .type = NLA_U32, },
};

const struct nla_policy inc_prefix_nl_policy[INC_A_PREFIX_LEN + 1] = {
	[INC_A_PREFIX_ADDR] = { .type = NLA_BINARY, },
	[INC_A_PREFIX_LEN] = { .type = NLA_U32, },
};

const struct nla_policy inc_tenant_nl_policy[INC_A_TENANT_REFUSED_RATE + 1] = {
	[INC_A_TENANT_NAME] = { .type = NLA_NUL_STRING, .len = 15, },
	[INC_A_TENANT_KEY] = NLA_POLICY_EXACT_LEN(16),
	[INC_A_TENANT_KEYED] = { .type = NLA_FLAG, },
	[INC_A_TENANT_PREFIX] = NLA_POLICY_NESTED(inc_prefix_nl_policy),
	[INC_A_TENANT_PORT] = { .type = NLA_U32, },
	[INC_A_TENANT_MAX_GROUPS] = { .type = NLA_U32, },
	[INC_A_TENANT_MAX_SLOTS] = { .type = NLA_U32, },
	[INC_A_TENANT_MAX_MEMORY] = { .type = NLA_U64, },
	[INC_A_TENANT_CPU] = { .type = NLA_U32, },
	[INC_A_TENANT_RATE] = { .type = NLA_U64, },
	[INC_A_TENANT_GROUPS] = { .type = NLA_U32, },
	[INC_A_TENANT_SLOTS] = { .type = NLA_U32, },
	[INC_A_TENANT_MEMORY] = { .type = NLA_U64, },
	[INC_A_TENANT_CPU_NSEC] = { .type = NLA_U64, },
	[INC_A_TENANT_BYTES] = { .type = NLA_U64, },
	[INC_A_TENANT_REFUSED_GROUPS] = { .type = NLA_U64, },
	[INC_A_TENANT_REFUSED_SLOTS] = { .type = NLA_U64, },
	[INC_A_TENANT_REFUSED_MEMORY] = { .type = NLA_U64, },
	[INC_A_TENANT_REFUSED_CPU] = { .type = NLA_U64, },
	[INC_A_TENANT_REFUSED_RATE] = { .type = NLA_U64, },
};

/* INC_CMD_NODE_GET - do */
static const struct nla_policy inc_node_get_nl_policy[INC_A_NODE + 1] = {
	[INC_A_NODE] = NLA_POLICY_NESTED(inc_node_nl_policy),
};

/* INC_CMD_NODE_ADD - do */
static const struct nla_policy inc_node_add_nl_policy[INC_A_REPLACE + 1] = {
	[INC_A_NODE] = NLA_POLICY_NESTED(inc_node_nl_policy),
	[INC_A_REPLACE] = { .type = NLA_FLAG, },
};

/* INC_CMD_NODE_SET - do */
static const struct nla_policy inc_node_set_nl_policy[INC_A_NODE + 1] = {
	[INC_A_NODE] = NLA_POLICY_NESTED(inc_node_nl_policy),
};

/* INC_CMD_NODE_DEL - do */
static const struct nla_policy inc_node_del_nl_policy[INC_A_NODE + 1] = {
	[INC_A_NODE] = NLA_POLICY_NESTED(inc_node_nl_policy),
};

/* INC_CMD_PARENT_SET - do */
static const struct nla_policy inc_parent_set_nl_policy[INC_A_PARENT + 1] = {
	[INC_A_PARENT] = NLA_POLICY_NESTED(inc_parent_nl_policy),
};

/* INC_CMD_GROUP_GET - dump */
static const struct nla_policy inc_group_get_nl_policy[INC_A_GROUP_ID + 1] = {
	[INC_A_GROUP_ID] = { .type = NLA_U32, },
};

/* INC_CMD_MEMBER_GET - dump */
static const struct nla_policy inc_member_get_nl_policy[INC_A_GROUP_ID + 1] = {
	[INC_A_GROUP_ID] = { .type = NLA_U32, },
};

/* INC_CMD_LIMIT_SET - do */
static const struct nla_policy inc_limit_set_nl_policy[INC_A_LIMIT + 1] = {
	[INC_A_LIMIT] = NLA_POLICY_NESTED(inc_limit_nl_policy),
};

/* INC_CMD_TENANT_ADD - do */
static const struct nla_policy inc_tenant_add_nl_policy[INC_A_REPLACE + 1] = {
	[INC_A_TENANT] = NLA_POLICY_NESTED(inc_tenant_nl_policy),
	[INC_A_REPLACE] = { .type = NLA_FLAG, },
};

/* INC_CMD_TENANT_SET - do */
static const struct nla_policy inc_tenant_set_nl_policy[INC_A_TENANT + 1] = {
	[INC_A_TENANT] = NLA_POLICY_NESTED(inc_tenant_nl_policy),
};

/* INC_CMD_TENANT_DEL - do */
static const struct nla_policy inc_tenant_del_nl_policy[INC_A_TENANT + 1] = {
	[INC_A_TENANT] = NLA_POLICY_NESTED(inc_tenant_nl_policy),
};

/* Ops table for inc */
const struct genl_split_ops inc_nl_ops[19] = {
	{
		.cmd	= INC_CMD_CAPS_GET,
		.doit	= inc_nl_caps_get_doit,
		.flags	= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= INC_CMD_NODE_GET,
		.doit		= inc_nl_node_get_doit,
		.policy		= inc_node_get_nl_policy,
		.maxattr	= INC_A_NODE,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd	= INC_CMD_NODE_GET,
		.dumpit	= inc_nl_node_get_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= INC_CMD_NODE_ADD,
		.doit		= inc_nl_node_add_doit,
		.policy		= inc_node_add_nl_policy,
		.maxattr	= INC_A_REPLACE,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= INC_CMD_NODE_SET,
		.doit		= inc_nl_node_set_doit,
		.policy		= inc_node_set_nl_policy,
		.maxattr	= INC_A_NODE,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= INC_CMD_NODE_DEL,
		.doit		= inc_nl_node_del_doit,
		.policy		= inc_node_del_nl_policy,
		.maxattr	= INC_A_NODE,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd	= INC_CMD_PARENT_GET,
		.doit	= inc_nl_parent_get_doit,
		.flags	= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= INC_CMD_PARENT_SET,
		.doit		= inc_nl_parent_set_doit,
		.policy		= inc_parent_set_nl_policy,
		.maxattr	= INC_A_PARENT,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd	= INC_CMD_PARENT_DEL,
		.doit	= inc_nl_parent_del_doit,
		.flags	= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= INC_CMD_GROUP_GET,
		.dumpit		= inc_nl_group_get_dumpit,
		.policy		= inc_group_get_nl_policy,
		.maxattr	= INC_A_GROUP_ID,
		.flags		= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= INC_CMD_MEMBER_GET,
		.dumpit		= inc_nl_member_get_dumpit,
		.policy		= inc_member_get_nl_policy,
		.maxattr	= INC_A_GROUP_ID,
		.flags		= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd	= INC_CMD_STATS_GET,
		.doit	= inc_nl_stats_get_doit,
		.flags	= GENL_CMD_CAP_DO,
	},
	{
		.cmd	= INC_CMD_PORT_GET,
		.dumpit	= inc_nl_port_get_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd	= INC_CMD_LIMIT_GET,
		.dumpit	= inc_nl_limit_get_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= INC_CMD_LIMIT_SET,
		.doit		= inc_nl_limit_set_doit,
		.policy		= inc_limit_set_nl_policy,
		.maxattr	= INC_A_LIMIT,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd	= INC_CMD_TENANT_GET,
		.dumpit	= inc_nl_tenant_get_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= INC_CMD_TENANT_ADD,
		.doit		= inc_nl_tenant_add_doit,
		.policy		= inc_tenant_add_nl_policy,
		.maxattr	= INC_A_REPLACE,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= INC_CMD_TENANT_SET,
		.doit		= inc_nl_tenant_set_doit,
		.policy		= inc_tenant_set_nl_policy,
		.maxattr	= INC_A_TENANT,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= INC_CMD_TENANT_DEL,
		.doit		= inc_nl_tenant_del_doit,
		.policy		= inc_tenant_del_nl_policy,
		.maxattr	= INC_A_TENANT,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
};
