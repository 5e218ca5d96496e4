/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Nodes: where groups are reduced on this box. A node has a device (a bridge, a VLAN device, a
 * port, `lo`, a VRF) and serves what comes by it and what is for its addresses, or it has none and
 * serves all of the network namespace. node.c has their configuration and lifetime, admit.c what
 * they do for peers that are no members yet, quota.c how many groups they take, port.c their ports,
 * edge.c the node of a host without one, node_group.c and group_create.c the groups.
 */
#ifndef NETINC_NODE_NODE_H
#define NETINC_NODE_NODE_H

#include <linux/netdevice.h>
#include <linux/workqueue.h>
#include "core/netns.h"
#include "core/rx.h"
#include "core/stats.h"
#include "engine/settings.h"

struct netinc_meeting;
struct netinc_tenant;
struct netinc_user;

#define NETINC_MAX_GROUPS	65536	/* that a node may be set to take */

struct netinc_node_cfg {
	struct netinc_settings settings;	/* of groups that form here */
	u32 max_groups;
	u64 max_memory;		/* bytes, per group */
	u8 nstandby;
	struct netinc_peer standby[INC_MAX_STANDBY];
	/*
	 * the nodes above, for groups of which not all ranks come here: see netinc_node_parent()
	 */
	u8 nparents;
	struct netinc_peer parent[INC_MAX_STRIPES];
	/*
	 * IPv4 multicast groups that results may go to, if all ranks come by one port: prefix and
	 * its length, 0: none
	 */
	__be32 multicast;
	u8 multicast_len;
	bool keyed;
	u8 key[INC_KEY_LEN];	/* zeros if not keyed */
};

#define NETINC_MIN_MULTICAST_LEN	8

/* The node above for this stripe of a group; NULL: none. Neighbouring stripes have others. */
static inline const struct netinc_peer *netinc_node_parent(const struct netinc_node_cfg *cfg,
							   u8 stripe)
{
	return cfg->nparents ? &cfg->parent[INC_STRIPE_INDEX(stripe) % cfg->nparents] : NULL;
}

/* Three in a row are counted at once. */
enum netinc_port_stat {
	NETINC_PORT_RX_PACKETS,
	NETINC_PORT_RX_BYTES,
	NETINC_PORT_RX_SKBS,
	NETINC_PORT_TX_PACKETS,
	NETINC_PORT_TX_BYTES,
	NETINC_PORT_TX_SKBS
};

/* Traffic of a port; the groups' members refer to it. */
struct netinc_port {
	struct hlist_node list;	/* node->ports, RCU; node->lock */
	struct rcu_head rcu;
	struct kref ref;	/* the list's, and each link's */
	u32 ifindex;
	char name[IFNAMSIZ];	/* of its device; node->lock to write */
	struct netinc_stats __percpu *stats;	/* enum netinc_port_stat */
};

#define NETINC_MAX_PORTS	1024
#define NETINC_MAX_PENDING	32

/*
 * The sender of the first JOIN of a group, and whether anybody else is in it. The group's lock to
 * write.
 */
struct netinc_creator {
	struct netinc_peer peer;
	u32 ifindex;		/* of the port that its JOIN came in by */
	u32 vrf;		/* ifindex of the VRF that this port is in; 0: none */
	bool others;		/* a member has another address; never cleared */
	bool ports;		/* a member came in by another port; never cleared */
};

/*
 * A group that a JOIN with a good proof asked for: made in process context, found by the JOIN's
 * repetition.
 */
struct netinc_pending_group {
	u64 job;
	u32 group;
	u32 size;
	u8 stripe;		/* INC_STRIPE() */
	/*
	 * a group that moves here brings its own; lineage 0: a new one, whose limits are the node's
	 */
	bool shrink;		/* a new one with the members of that lineage that are left */
	bool at_edge;		/* and with its limits: the edge has none */
	bool spread;		/* it moves to the edge, where it has several trees */
	bool returns;		/* it moves back to the tree of nodes that it formed over */
	u64 lineage;
	u32 move;
	struct netinc_settings settings;
	/* bytes, at most: as its first member says; at the edge as a rank there does */
	u32 block;
	struct netinc_creator creator;
	/* with a reference while it is in netinc_node.pending; NULL: nobody's */
	struct netinc_tenant *tenant;
	struct netinc_user *payer;	/* NULL: he is to be found, see netinc_node_payer() */
};

/*
 * The node of all devices is named so; no interface is, where there is IPv6: /proc/sys/net has a
 * meaning for it.
 */
#define NETINC_ALL_DEVICES	"all"

/* What there is of groups at a node, when it was looked at last; see about.c. */
struct netinc_survey {
	u64 at;			/* time of that, microseconds, 0: never */
	u32 groups;		/* that are not over */
	u32 children;		/* of all of them; of one that gathers: ranks */
	u64 nsec;		/* of processor time that they have taken */
};

struct netinc_node {
	struct list_head list;	/* nn->nodes, RCU; nn->mutex */
	struct netinc_net *nn;
	struct kref ref;
	struct rcu_head rcu;
	/* held; NULL: the node of all devices, or the edge, see netinc_edge_init() */
	struct net_device *dev;
	netdevice_tracker tracker;
	u32 ifindex;		/* of the device; 0: there is none */
	char ifname[IFNAMSIZ];	/* or NETINC_ALL_DEVICES; nn->mutex */
	bool dead;		/* no new groups; nn->mutex and lock to write */
	struct netinc_node_cfg cfg;	/* lock */
	spinlock_t lock;	/* cfg, ports, pending, survey */
	struct netinc_survey survey;
	struct hlist_head ports;
	u32 nports;
	struct netinc_pending_group pending[NETINC_MAX_PENDING];
	u32 npending;
	struct list_head tree_requests;	/* edge: struct netinc_tree_request; lock */
	u32 ntree_requests;
	struct work_struct work;
	atomic_t ngroups;
	bool in_use;		/* edge: holds a use of the netns; nn->mutex */
	/* of who has added it, with a reference: pays for groups; NULL at the edge, see edge.h */
	struct mem_cgroup *memcg;
};

/*
 * Makes a node, under nn->mutex. @dev: NULL for all devices. -EEXIST, -ENODEV, -EADDRINUSE (UDP
 * port), ...
 */
int netinc_node_add(struct netinc_net *nn, struct net_device *dev,
		    const struct netinc_node_cfg *cfg);
int netinc_node_del(struct netinc_net *nn, u32 ifindex);
/* @ifindex 0: the one of all devices. */
struct netinc_node *netinc_node_find(struct netinc_net *nn, u32 ifindex);
void netinc_node_set(struct netinc_node *node, const struct netinc_node_cfg *cfg);
void netinc_node_cfg_init(struct netinc_node_cfg *cfg);
u64 netinc_node_memory(struct netinc_node *node);

void netinc_node_get(struct netinc_node *node);
void netinc_node_put(struct netinc_node *node);

static inline bool netinc_node_is_edge(const struct netinc_node *node)
{
	return node == node->nn->edge;
}

/*
 * Finds, under RCU, the node that serves the address that a packet was sent to, by the device it
 * came by. Of several the one of the device, then the one whose device has the address, the VRF's,
 * and that of all devices. NULL: none.
 */
struct netinc_node *netinc_node_for(const struct netinc_rx *rx);
/*
 * That of a device, a new one if there is none yet. Returns with a reference; NULL: there are too
 * many, or no memory.
 */
struct netinc_port *netinc_port_get(struct netinc_node *node, const struct net_device *dev);
void netinc_port_put(struct netinc_port *port);	/* or NULL */
/* Its device has another name. */
void netinc_port_renamed(struct netinc_node *node, const struct net_device *dev);
/* Its device is about to go. Links that still have the port count on until they go, too. */
void netinc_port_gone(struct netinc_node *node, const struct net_device *dev);
/* Packets of the upward types. */
void netinc_node_rx(struct netinc_rx *rx);
/*
 * Packets of the downward types, which may be a parent's for groups at nodes here: takes them for
 * these. False: for none.
 */
bool netinc_uplink_rx_skb(struct netinc_rx *rx);

/*
 * The edge: what a host is to groups that have lost their node and have a rank here. It is in no
 * list, and opens port and hooks only while it has groups.
 */
int netinc_edge_init(struct netinc_net *nn);
/* There is something to do in process context. */
void netinc_node_work(struct netinc_node *node);
/* A group of the edge has gone. */
void netinc_edge_gone(struct netinc_net *nn);
/* Nobody sends packets here any more. May take nn->mutex. */
void netinc_edge_fini(struct netinc_net *nn);
/*
 * quota.c: may the node have this group, too? Under node->lock and RCU. 0, or the enum
 * inc_refuse_code and in *@limit what has been reached.
 */
int netinc_quota_check(struct netinc_node *node, const struct netinc_pending_group *pending,
		       u64 *limit);
/*
 * about.c: what the node tells of itself to who could join, as @tenant or (NULL) nobody's. Under
 * RCU.
 */
void netinc_node_about(struct netinc_node *node, const struct netinc_tenant *tenant,
		       struct inc_about *about);
/* A member has joined. */
void netinc_creator_note(struct netinc_creator *f, const struct netinc_peer *peer, u32 ifindex);

/* All nodes of the netns go; nn->mutex. */
void netinc_node_del_all(struct netinc_net *nn);
/* These are for edge.c: the edge is a node without a device. */
struct netinc_node *netinc_node_alloc(struct netinc_net *nn, const struct netinc_node_cfg *cfg);
/* Process context: makes the groups that have been asked for. */
void netinc_node_make_groups(struct netinc_node *node);
/* No new groups can come: those that there are go. */
void netinc_node_end_groups(struct netinc_node *node);

/* port.c: all ports of a node that nobody finds any more. */
void netinc_ports_free(struct netinc_node *node);

int netinc_node_init(void);
void netinc_node_fini(void);

#endif
