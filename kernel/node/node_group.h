/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A group at a node: the engine's group, its lock, its timer, the ways to its members, and its
 * packets.
 */
#ifndef NETINC_NODE_NODE_GROUP_H
#define NETINC_NODE_NODE_GROUP_H

#include <linux/timer.h>
#include "engine/group.h"
#include "node/node.h"
#include "core/fpu_section.h"
#include "node/tenant.h"
#include "core/gso_buf.h"
#include "core/path.h"

/* Results that leave together: segments [first, first + n) of s. */
struct netinc_run {
	struct netinc_gso_buf *s;		/* with a reference; NULL: none */
	u32 first;
	u32 n;
};

struct netinc_link {
	struct netinc_path path;
	struct netinc_port *port;	/* NULL: traffic is not counted */
	/* the lowest child with the same way back: what goes to that one serves all */
	u32 host;
	/* find_hosts(): the first host in the bucket of this number */
	u32 first;
	u32 next;			/* and the one behind this one in its bucket */
	struct netinc_run run;		/* results that this host wants and others do not */
	struct netinc_pkt empty;	/* and those that it does not want; span 0: none */
};

struct netinc_tree_request;

struct netinc_node_group {
	struct hlist_node hash;		/* nn->groups; nn->hash_lock, RCU */
	struct netinc_net *nn;
	struct netinc_node *node;	/* with a reference */
	struct netinc_tenant *tenant;	/* likewise; NULL: nobody's */
	struct netinc_user *payer;	/* likewise: charged for it */
	struct kref ref;
	struct rcu_head rcu;
	spinlock_t lock;		/* everything below, see LOCKING in netns.h */
	u8 state;			/* that has been traced last */
	bool dead;			/* out of the hash, timer not to be armed again */
	bool moved;			/* it was formed elsewhere: only members of then may join */
	struct timer_list timer;
	u64 held;			/* bytes of packets that slots refer to, charged */
	u64 results;			/* and of results, charged */
	u64 limit;			/* of each */
	struct netinc_needs needs;	/* charged; does not change */
	struct netinc_creator creator;
	atomic64_t unbooked;		/* INC_C_NODE_NSEC since the lock was held last */
	struct netinc_rx *joining;	/* the JOIN at hand */
	u32 rx_left;			/* segments that it may still complete */
	struct netinc_fpu_section section;	/* ends with the received skb */
	struct netinc_gso_buf *build;	/* with a reference: where the next result goes */
	u64 build_next;			/* the block that fits behind it */
	struct netinc_run run;		/* for all children */
	bool apart;			/* links have results waiting too */
	struct netinc_txq txq;
	struct netinc_link *link;	/* [nlinks] */
	u32 nlinks;			/* the size that it began with */
	void *mem;			/* of the engine */
	struct netinc_group grp;
};

/* At most @window blocks: what @size members can fill within the memory limit. */
u32 netinc_node_group_fit(const struct netinc_node_cfg *cfg, u32 window, u32 size);
/* The window that the group will have. */
u32 netinc_node_group_window(const struct netinc_node_cfg *cfg,
			     const struct netinc_pending_group *pending);

/* Process context; adds it to the hash. 0, -EEXIST, -ENOMEM, or the errno of a limit. */
int netinc_node_group_create(struct netinc_node *node, const struct netinc_pending_group *pending);
/* Likewise: a tree of a group at the edge, instead of the one of an earlier epoch. */
int netinc_node_group_create_tree(struct netinc_node *edge,
				  const struct netinc_tree_request *request);
struct netinc_meeting netinc_node_meeting(const struct netinc_pending_group *pending);
/*
 * Who is charged for it, with a reference: the namespace's owner, or, of a group that meets here
 * without a node, the user of its rank 0. NULL: that one is gone.
 */
struct netinc_user *netinc_node_payer(struct netinc_node *node,
				      const struct netinc_pending_group *pending);
/*
 * What it is charged for: slots, and memory for these and to get on, a result in each, a
 * contribution of each rank.
 */
void netinc_node_group_needs(const struct netinc_node_cfg *cfg,
			     const struct netinc_pending_group *pending,
			     struct netinc_needs *needs);
/*
 * A VRF is a network of its own: who comes by another one knows nothing of a group and is not to
 * find it, also where addresses and numbers are the same. At the edge ranks are known by lineage.
 */
static inline bool netinc_node_group_in_vrf(const struct netinc_node_group *g, u32 vrf)
{
	return g->creator.vrf == vrf || netinc_node_is_edge(g->node);
}

/* Under RCU: what @node knows of the group with this lineage. NULL: nothing. */
struct netinc_node_group *netinc_node_group_find_moved(struct netinc_node *node, u32 id,
						       u64 lineage, u32 vrf);
/*
 * Under RCU: the run in which the members of @lineage, which has failed, gather or go on. NULL:
 * none.
 */
struct netinc_node_group *netinc_node_group_find_shrunk(struct netinc_net *nn, u32 id, u64 lineage);
/*
 * Under RCU: was the run that the sender of this JOIN wants to go on from not over yet, at any node
 * of the netns? It is now.
 */
bool netinc_node_group_ended(const struct netinc_rx *rx, const struct inc_join *join);
/* Under RCU: this run of the group, whose ranks are in @vrf. NULL: it is not there. */
struct netinc_node_group *netinc_node_group_find(struct netinc_net *nn, u32 id, u32 incarnation,
						 u32 vrf);
/* Under RCU: the group that forms of which the sender is a member with this nonce. NULL: none. */
struct netinc_node_group *netinc_node_group_find_joining(const struct netinc_rx *rx, u32 nonce);
/*
 * Under RCU: the run of this job's group that is not over, of this tenant's groups and of those
 * that are nobody's: jobs and tenants may use the same numbers. NULL: none.
 */
struct netinc_node_group *netinc_node_group_find_for(struct netinc_net *nn, u64 job, u32 id,
						     const struct netinc_tenant *tenant,
						     u32 vrf);
/*
 * Under RCU: a run of the group that is over and of which the sender of this JOIN has not heard
 * that. NULL: none.
 */
struct netinc_node_group *netinc_node_group_find_over(const struct netinc_rx *rx,
						      const struct inc_join *join);
/*
 * Under RCU: the tree that a packet names, of a group whose root is elsewhere. NULL: it is not
 * there, or not yet.
 */
struct netinc_node_group *netinc_node_group_find_tree(struct netinc_net *nn,
						      const struct netinc_pkt *pkt);
/* Members that share a host (address) share its copy of a result; after any change of members. */
void netinc_node_group_find_hosts(struct netinc_node_group *g);
/* A JOIN that has proved itself. Returns the enum inc_refuse_code or 0. */
int netinc_node_group_join(struct netinc_node_group *g, struct netinc_rx *rx,
			   const struct inc_join *join, u64 *detail);
/* Units of a received buffer from rx on: they are of one member. */
void netinc_node_group_rx(struct netinc_node_group *g, struct netinc_rx *rx);
/* Error for all members, then gone. */
void netinc_node_group_destroy(struct netinc_node_group *g);
void netinc_node_group_put(struct netinc_node_group *g);

/* Take and drop the lock; unlock sends what has been queued. */
void netinc_node_group_lock(struct netinc_node_group *g) __acquires(&g->lock);
void netinc_node_group_unlock(struct netinc_node_group *g) __releases(&g->lock);

/* fold.c: the engine's view of payload. */
extern const struct netinc_agg_ops netinc_fold_ops;
void netinc_fold_begin(struct netinc_node_group *g);
void netinc_fold_end(struct netinc_node_group *g);
int netinc_fold_init(void);
void netinc_fold_fini(void);
/* Queue @skb, one packet or super-packet, for @child or for all. */
void netinc_node_group_send(struct netinc_node_group *g, u32 child, struct sk_buff *skb);
/* The same for results: every packet refers to them. */
void netinc_node_group_send_run(struct netinc_node_group *g, u32 child,
				const struct netinc_run *run);
/* Copy what is still held of packets of which little is, so that the rest can be freed. */
void netinc_fold_unshare(struct netinc_node_group *g);

#endif
