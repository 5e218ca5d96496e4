/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events that nodes and ranks tell to all who listen, by way of the generic netlink family, which
 * sends them (netlink/nl_event.c).
 */
#ifndef NETINC_CORE_EVENTS_H
#define NETINC_CORE_EVENTS_H

#include <linux/inc_netlink.h>
#include <linux/types.h>

struct net;
struct netinc_ep;
struct netinc_group;
struct netinc_peer;

#define NETINC_SILENT_ASKED	3	/* requests: one may be lost, or on its way */
#define NETINC_SILENT_US	1000000	/* after which a parent that was asked counts as silent */

/*
 * Events, to whoever listens in @net. Any context, also with the lock of the object held; lost if
 * there is no memory.
 */
void netinc_event_node(struct net *net, enum inc_event type, u32 ifindex);
/*
 * @ifindex: the node's device; @rank: NETINC_NO_RANK if none is concerned. GROUP_ERROR tells the
 * group's error.
 */
void netinc_event_group(struct net *net, enum inc_event type, const struct netinc_group *g,
			u32 ifindex, u32 rank);
/* Tells of an event at a host, about the rank of a socket. */
void netinc_event_rank(struct net *net, enum inc_event type, const struct netinc_ep *ep);
/*
 * PARENT_SILENT and PARENT_BACK, after @us microseconds, of a rank of this host or of a node's
 * group.
 */
void netinc_event_rank_parent(struct net *net, enum inc_event type, const struct netinc_ep *ep,
			      const struct netinc_peer *parent, u64 us);
void netinc_event_group_parent(struct net *net, enum inc_event type, const struct netinc_group *g,
			       u32 ifindex, const struct netinc_peer *parent, u64 us);
void netinc_event_tenant(struct net *net, enum inc_event type, const char *name);
void netinc_event_limits(struct net *net, enum inc_limit_scope scope);
/* @parent of family 0: there is none any more */
void netinc_event_parent(struct net *net, const struct netinc_peer *parent);

#endif
