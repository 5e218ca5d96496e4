/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where host and node meet: groups that have lost their node, or never had one, are reduced at the
 * hosts themselves. A rank asks the edge of its own box for what it needs there, and the edge asks
 * what the ranks of the box know.
 */
#ifndef NETINC_NODE_EDGE_H
#define NETINC_NODE_EDGE_H

#include <linux/list.h>
#include "core/netns.h"
#include "engine/group.h"

struct mem_cgroup;
struct sock;

/* A tree that a rank of this host has heard of: made in process context. */
struct netinc_tree_request {
	struct list_head list;	/* edge->tree_requests; edge->lock */
	struct sock *payer;		/* that rank's socket, with a reference */
	u32 vrf;			/* ifindex of the VRF that the rank is in; 0: none */
	u32 root_nonce;			/* the nonce of that rank's JOIN */
	struct netinc_tree_cfg tree;
};

/* Functions of the node, for ranks (edge.c). */

/* Takes @request over, also if it returns false: there are too many, or the edge is gone. */
bool netinc_edge_request_tree(struct netinc_net *nn, struct netinc_tree_request *request);

/* Functions of the host, for nodes (host/edge_rank.c). */

/* Is the rank at the root of @grp, a tree, which has @nonce, still in its epoch? */
bool netinc_edge_root_alive(struct netinc_net *nn, const struct netinc_group *grp, u32 nonce);
/* A group without a node, which is to meet at the host of its rank 0, or comes here. */
struct netinc_meeting {
	u64 job;
	u64 lineage;		/* of one that comes here; 0: it is to meet here */
	u32 group;
	u32 vrf;		/* ifindex, of one that is to meet; 0: none */
	u32 size;		/* as who asks says; then as the rank here does */
	u8 stripe;		/* likewise; INC_STRIPE() */
	/* as the rank here says */
	u32 block;
	struct netinc_settings settings;	/* only of a group that comes here */
};

/*
 * Each looks for a rank here that @meeting is for, which fills that in: one that has been in the
 * group, which goes on at the edge, or, of a group that is to meet, its rank 0. If there are
 * several, one that says the size that is asked for.
 */

/* Under RCU: is there one? Then @key, of INC_KEY_LEN bytes, is what the others have to prove. */
bool netinc_edge_find_key(struct netinc_net *nn, struct netinc_meeting *meeting, u8 *key);
/* Its user, with a reference, who pays for what the group needs. NULL: it is gone. */
struct netinc_user *netinc_edge_find_payer(struct netinc_net *nn, struct netinc_meeting *meeting);
/*
 * Likewise its socket, whose user and cgroup pay as long as there is a reference. In process
 * context.
 */
struct sock *netinc_edge_find_socket(struct netinc_net *nn, struct netinc_meeting *meeting);
/*
 * Where the tree's ranks are, as the one that has asked for it knows: [tree.size], for kvfree().
 * ifindex: the interface that they are reached by; 0: as in the VRF. NULL: no memory, or that rank
 * is not in the tree's epoch any more. In process context: they may be many.
 */
struct netinc_peer *netinc_edge_copy_peers(const struct netinc_tree_request *request);
struct netinc_user *netinc_edge_user(struct sock *payer);
struct mem_cgroup *netinc_edge_memcg(struct sock *payer);

#endif
