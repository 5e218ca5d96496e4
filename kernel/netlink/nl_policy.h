/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/inc.yaml */
/* YNL-GEN kernel header */

#ifndef _LINUX_INC_GEN_H
#define _LINUX_INC_GEN_H

#include <net/netlink.h>
#include <net/genetlink.h>

#include <uapi/linux/inc_netlink.h>
#include <linux/inc.h>

/* Common nested types */
extern const struct nla_policy inc_limit_nl_policy[INC_A_LIMIT_REFUSED + 1];
extern const struct nla_policy inc_limits_nl_policy[INC_LIMIT_SOCKET_MEMORY + 1];
extern const struct nla_policy inc_node_nl_policy[INC_A_NODE_LACKS_OPERATIONS + 1];
extern const struct nla_policy inc_parent_nl_policy[INC_A_PARENT_IFINDEX + 1];
extern const struct nla_policy inc_prefix_nl_policy[INC_A_PREFIX_LEN + 1];
extern const struct nla_policy inc_tenant_nl_policy[INC_A_TENANT_REFUSED_RATE + 1];

/* Ops table for inc */
extern const struct genl_split_ops inc_nl_ops[19];

int inc_nl_caps_get_doit(struct sk_buff *skb, struct genl_info *info);
int inc_nl_node_get_doit(struct sk_buff *skb, struct genl_info *info);
int inc_nl_node_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int inc_nl_node_add_doit(struct sk_buff *skb, struct genl_info *info);
int inc_nl_node_set_doit(struct sk_buff *skb, struct genl_info *info);
int inc_nl_node_del_doit(struct sk_buff *skb, struct genl_info *info);
int inc_nl_parent_get_doit(struct sk_buff *skb, struct genl_info *info);
int inc_nl_parent_set_doit(struct sk_buff *skb, struct genl_info *info);
int inc_nl_parent_del_doit(struct sk_buff *skb, struct genl_info *info);
int inc_nl_group_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int inc_nl_member_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int inc_nl_stats_get_doit(struct sk_buff *skb, struct genl_info *info);
int inc_nl_port_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int inc_nl_limit_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int inc_nl_limit_set_doit(struct sk_buff *skb, struct genl_info *info);
int inc_nl_tenant_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int inc_nl_tenant_add_doit(struct sk_buff *skb, struct genl_info *info);
int inc_nl_tenant_set_doit(struct sk_buff *skb, struct genl_info *info);
int inc_nl_tenant_del_doit(struct sk_buff *skb, struct genl_info *info);

enum {
	INC_NLGRP_EVENTS,
	INC_NLGRP_DETAILS,
};

#endif /* _LINUX_INC_GEN_H */
