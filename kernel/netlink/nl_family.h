/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The generic netlink family "inc": nl_policy.c is its table of commands and policies, made from
 * the netlink spec; nl_family.c is the family and the changes, nl_addr.c the addresses in them,
 * nl_event.c the events, nl_limits.c limits, nl_tenant.c tenants, nl_dump.c and nl_group.c what can
 * be looked at.
 * No protocol logic here: it reads objects and calls their functions.
 */
#ifndef NETINC_NETLINK_NL_FAMILY_H
#define NETINC_NETLINK_NL_FAMILY_H

#include <linux/inc_netlink.h>
#include <linux/types.h>

struct genl_family;
struct genl_info;
struct netinc_net;
struct netinc_node;
struct netlink_ext_ack;
struct nlattr;
struct sk_buff;

extern struct genl_family netinc_nl_family;

int netinc_nl_init(void);
void netinc_nl_fini(void);

/*
 * nl_family.c: the node that a request names, under nn->mutex; an ERR_PTR: there is none, or the
 * request holds more than that, and extack says so.
 */
struct netinc_node *netinc_nl_node(struct netinc_net *nn, struct genl_info *info);
/*
 * -EINVAL, and extack says so, if an attribute of @nest is not in the mask @takes: the
 * policy of a nest knows what only answers have, and what only other commands take.
 */
int netinc_nl_takes(struct nlattr **tb, int max, u64 takes, const char *nest,
		    struct netlink_ext_ack *extack);
/* The family is there: its multicast group may be sent to. */
bool netinc_nl_ready(void);

#endif
