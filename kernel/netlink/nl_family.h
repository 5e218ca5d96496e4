/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The generic netlink family "inc": nl_family.c is the family and the changes, nl_event.c the
 * events, nl_limits.c limits, nl_tenant.c tenants, nl_dump.c and nl_group.c what can be looked at.
 * No protocol logic here: it reads objects and calls their functions.
 */
#ifndef NETINC_NETLINK_NL_FAMILY_H
#define NETINC_NETLINK_NL_FAMILY_H

#include <linux/inc_netlink.h>
#include <linux/types.h>

struct genl_family;
struct genl_info;
struct netinc_error;
struct netinc_net;
struct netinc_node;
struct netlink_callback;
struct nlattr;
struct sk_buff;

#define NETINC_ERROR_TEXT	300

extern struct genl_family netinc_nl_family;

int netinc_nl_init(void);
void netinc_nl_fini(void);

/*
 * "rank 2: allreduce f32 sum 4096, rank 0: allreduce f32 sum 4097", to @buf of NETINC_ERROR_TEXT
 * bytes
 */
void netinc_nl_error_text(char *buf, const struct netinc_error *e);

/*
 * nl_family.c: the node that a request names, under rtnl and nn->mutex; NULL: there is none, and
 * extack says so.
 */
struct netinc_node *netinc_nl_node(struct netinc_net *nn, struct genl_info *info);
/* The family is there: its multicast group may be sent to. */
bool netinc_nl_ready(void);

/* Called through the table of nl_family.c. */
int netinc_nl_caps_get(struct sk_buff *skb, struct genl_info *info);
int netinc_nl_node_get(struct sk_buff *skb, struct genl_info *info);
int netinc_nl_parent_get(struct sk_buff *skb, struct genl_info *info);
int netinc_nl_stats_get(struct sk_buff *skb, struct genl_info *info);
int netinc_nl_node_dump(struct sk_buff *skb, struct netlink_callback *cb);
int netinc_nl_group_dump(struct sk_buff *skb, struct netlink_callback *cb);
int netinc_nl_member_dump(struct sk_buff *skb, struct netlink_callback *cb);
int netinc_nl_port_dump(struct sk_buff *skb, struct netlink_callback *cb);
/* nl_limits.c */
int netinc_nl_limit_dump(struct sk_buff *skb, struct netlink_callback *cb);
int netinc_nl_limit_set(struct sk_buff *skb, struct genl_info *info);
/* nl_tenant.c */
int netinc_nl_tenant_dump(struct sk_buff *skb, struct netlink_callback *cb);
int netinc_nl_tenant_add(struct sk_buff *skb, struct genl_info *info);
int netinc_nl_tenant_set(struct sk_buff *skb, struct genl_info *info);
int netinc_nl_tenant_del(struct sk_buff *skb, struct genl_info *info);

#endif
