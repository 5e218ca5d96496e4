/* SPDX-License-Identifier: GPL-2.0-only */
/* Addresses in requests. What returns an int is 0 or an errno, and extack says why. */
#ifndef NETINC_NETLINK_NL_ADDR_H
#define NETINC_NETLINK_NL_ADDR_H

struct net;
struct net_device;
struct netinc_node_cfg;
struct netinc_peer;
struct netlink_ext_ack;
struct nlattr;

/* What the nest @tb (INC_A_PARENT_*) has goes to @peer. */
int netinc_nl_parse_addr(struct netinc_peer *peer, struct nlattr **tb,
			 struct netlink_ext_ack *extack);
/* Can packets be sent to it? */
int netinc_nl_check_addr(const struct netinc_peer *peer, struct netlink_ext_ack *extack);
int netinc_nl_check_standby(const struct netinc_peer *peer, struct netlink_ext_ack *extack);
/* None of @cfg's parents is at this box. @dev: the node's device, NULL: all. */
int netinc_nl_check_parents(struct net *net, struct net_device *dev,
			    const struct netinc_node_cfg *cfg, struct netlink_ext_ack *extack);

#endif
