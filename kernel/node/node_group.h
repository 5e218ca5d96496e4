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
#include "core/demux.h"
#include "core/fpu_section.h"
#include "node/tenant.h"
#include "core/gso_buf.h"
#include "core/path.h"
#include "core/txq.h"

/* Results that leave together: segments [first, first + n) of s. */
struct netinc_run {
	struct netinc_gso_buf *s;		/* with a reference; NULL: none */
	u32 first;
	u32 n;
};

/* The way to one member, from its first JOIN on. */
struct netinc_link {
	struct netinc_path path;
	struct netinc_port *port;	/* with a reference; NULL: traffic is not counted */
	/*
	 * The lowest child with the same way back, itself if it is alone there: results that go to
	 * that one serve all. Set by netinc_node_group_find_hosts(), as the next two.
	 */
	u32 host;
	/* head of the bucket with this index: the first host in it */
	u32 first;
	u32 next;			/* the host behind this one in its own bucket */
	/* interface by which its packets come to IP, 0: it is in this machine itself */
	u32 via;
	/*
	 * all ranks that share its copies hear what is sent by multicast; set by find_hearing()
	 * in one_port.c
	 */
	bool hears;
	/* results that wait to be sent to this host and to no others */
	struct netinc_run run;
	/* header of results without elements that wait to be sent to it; span 0: none */
	struct netinc_pkt empty;
};

struct netinc_tree_request;

/* child: all hosts that hear what is sent by multicast, at once */
#define NETINC_HEARING	0xfffffffeu

#define NETINC_GROUP_CHARGES	7

struct netinc_node_group {
	struct hlist_node hash;		/* nn->groups; nn->hash_lock, RCU */
	struct netinc_demux_entry by_run;
	/* of the parent's packets: if there may be one, and from READY on, see demux_uplink() */
	struct netinc_demux_entry by_up_nonce;
	struct netinc_demux_entry by_uplink;
	struct netinc_net *nn;
	struct netinc_node *node;	/* with a reference */
	struct netinc_tenant *tenant;	/* with a reference; NULL: nobody's */
	struct netinc_user *payer;	/* with a reference: charged for the group */
	struct kref ref;
	struct rcu_head rcu;
	spinlock_t lock;		/* everything below, see LOCKING in netns.h */
	/* enum inc_group_state that has been traced last */
	u8 state;
	bool dead;			/* out of the hash, timer not to be armed again */
	/* the group was formed elsewhere: only its members of then may join; never changes */
	bool moved;
	struct timer_list timer;	/* netinc_group_tick(), until the group is dead */
	u64 held;			/* bytes of packets that slots refer to, charged */
	u64 results;			/* bytes of results that slots refer to, charged */
	/* bytes: most that `held` may be, and most that `results` may be; never changes */
	u64 limit;
	u64 memory;			/* bytes that were reserved for it; never changes */
	/* of a tree: the nonce of the rank at its root; never changes */
	u32 root_nonce;
	/* what it has been charged for when it was made; never changes */
	struct netinc_charge_item charge[NETINC_GROUP_CHARGES];
	u32 ncharges;
	struct netinc_creator creator;	/* whose JOIN it was made for, and who else has joined */
	/* nanoseconds of INC_C_NODE_NSEC since the lock was held last; without the lock */
	atomic64_t unbooked;
	struct netinc_rx *joining;	/* the JOIN at hand, NULL: none is */
	/* segments that the received buffer at hand may still complete, this one included */
	u32 rx_left;
	/* ends before the lock is dropped */
	struct netinc_fpu_section section;
	/* with a reference: where the next result goes, NULL: into a new one */
	struct netinc_gso_buf *build;
	u64 build_next;			/* the first block that may go there */
	struct netinc_run run;		/* results that wait to be sent to all children */
	/*
	 * Results by IP multicast: the way to those who hear, net NULL: the node is not set to do
	 * that; and what waits to be sent there
	 */
	struct netinc_path many;
	struct netinc_run many_run;
	struct netinc_pkt many_empty;
	/* whose link stands for all: they come by one port; NETINC_NO_RANK: they do not */
	u32 way;
	bool way_known;			/* else `way` is to be found; cleared by each JOIN */
	/* hosts that hear, and netinc_group.multicast.changes when they were counted */
	u32 nhearing;
	u32 hearing_seen;
	bool hearing_known;		/* else they are to be counted, whatever that says */
	/* the way to the parent of the node, if the group may have to ask one; net NULL: none */
	struct netinc_path up_path;
	/* since when its parent is told to be silent; microseconds, 0: it is not */
	u64 up_silent;
	struct netinc_run up_run;	/* partials that wait to be sent there */
	struct netinc_pkt up_empty;	/* header of those without elements; span 0: none */
	/* results wait in `run` or `empty` of some link; cleared when they are queued */
	bool apart;
	bool hosts_changed;		/* they are looked for again by the timer; cleared then */
	struct netinc_txq txq;
	struct netinc_link *link;	/* [nlinks], by the member's number */
	u32 nlinks;			/* the size that the group began with */
	void *mem;			/* for netinc_group_init(); freed with the group */
	struct netinc_group grp;
};

/* At most @window blocks: what @size members can fill within the memory limit. */
u32 netinc_node_group_fit(const struct netinc_node_cfg *cfg, u32 window, u32 size);
/* The window that the group will have. */
u32 netinc_node_group_window(const struct netinc_node_cfg *cfg,
			     const struct netinc_pending_group *pending);

/* Process context; adds it to the hash. 0, -EEXIST, -ENOMEM, or the errno of a limit. */
int netinc_node_group_create(struct netinc_node *node, const struct netinc_pending_group *pending);
/* Makes a tree of a group at the edge in the same way, instead of the one of an earlier epoch. */
int netinc_node_group_create_tree(struct netinc_node *edge,
				  const struct netinc_tree_request *request);
struct netinc_meeting netinc_node_meeting(const struct netinc_pending_group *pending);
/*
 * Block, and settings of a group that comes here, become those that a rank here has. False: it says
 * another size.
 */
bool netinc_node_fit_to_rank(struct netinc_pending_group *pending,
			     const struct netinc_meeting *meeting);
/*
 * Finds the user who is charged for it, with a reference: the namespace's owner, or at the edge the
 * user of a rank here: of the one that asks for a tree, or of rank 0 where a group meets without a
 * node. NULL: that one is gone.
 */
struct netinc_user *netinc_node_payer(struct netinc_node *node,
				      const struct netinc_pending_group *pending);
/* Bytes that are reserved for it when it is made: slots, and what it needs to get on. */
u64 netinc_node_group_memory(const struct netinc_node_cfg *cfg,
			     const struct netinc_pending_group *pending);
/*
 * What it is charged for when it is made: slots, and memory for these and to get on, a result in
 * each, a contribution of each rank. Fills @item, NETINC_GROUP_CHARGES at most; returns how many.
 */
u32 netinc_node_group_charges(struct netinc_net *nn, struct netinc_user *payer,
			      const struct netinc_node_cfg *cfg,
			      const struct netinc_pending_group *pending,
			      struct netinc_charge_item *item);
/*
 * Counts how often groups with this number have formed and gone. Others that happen to share the
 * counter are not known to anybody who does not know the secret.
 */
atomic_t *netinc_generation(const struct netinc_node *node, u64 job, u32 group, u8 stripe,
			    u32 vrf);

/*
 * A VRF is a network of its own: who comes by another one knows nothing of a group and is not to
 * find it, also where addresses and numbers are the same. At the edge ranks are known by lineage.
 */
static inline bool netinc_node_group_in_vrf(const struct netinc_node_group *g, u32 vrf)
{
	return g->creator.vrf == vrf || netinc_node_is_edge(g->node);
}

/*
 * Finds, under RCU, what @node knows of the job's group with this lineage, which moves here, or
 * returns. NULL: nothing.
 */
struct netinc_node_group *netinc_node_group_find_moved(struct netinc_node *node, u64 job, u32 id,
						       u64 lineage, u32 move, bool returns,
						       u32 vrf);
/*
 * Finds, under RCU, the run in which the members of @lineage, a group of @job that has failed,
 * gather or go on. NULL: none.
 */
struct netinc_node_group *netinc_node_group_find_shrunk(struct netinc_net *nn, u64 job, u32 id,
							u64 lineage);
/*
 * Under RCU: was the run that the sender of this JOIN wants to go on from not over yet, at any node
 * of the netns? It is now.
 */
bool netinc_node_group_ended(const struct netinc_rx *rx, const struct inc_join *join);
/* Finds, under RCU, this run of the group, whose ranks are in @vrf. NULL: it is not there. */
struct netinc_node_group *netinc_node_group_find(struct netinc_net *nn, u32 id, u32 incarnation,
						 u32 vrf);
/*
 * Finds, under RCU, the job's group that forms of which the sender is a member with this nonce.
 * NULL: none.
 */
struct netinc_node_group *netinc_node_group_find_joining(const struct netinc_rx *rx, u64 job,
							 u32 nonce);
/*
 * Finds, under RCU, the run of this stripe of the job's group that is not over, of this tenant's
 * groups and of those that are nobody's: jobs and tenants may use the same numbers. It may be of
 * another number of stripes. NULL: none.
 */
struct netinc_node_group *netinc_node_group_find_for(struct netinc_net *nn, u64 job, u32 id,
						     u8 stripe,
						     const struct netinc_tenant *tenant,
						     u32 vrf);
/*
 * Finds, under RCU, a run of the group that is over and of which the sender of this JOIN has not
 * heard that. NULL: none.
 */
struct netinc_node_group *netinc_node_group_find_over(const struct netinc_rx *rx,
						      const struct inc_join *join);
/*
 * Finds, under RCU, the tree that a packet names, of a group whose root is elsewhere. NULL: it is
 * not there, or not yet.
 */
struct netinc_node_group *netinc_node_group_find_tree(struct netinc_net *nn,
						      const struct netinc_pkt *pkt);
/* Members that share a host (address) share its copy of a result; after any change of members. */
void netinc_node_group_find_hosts(struct netinc_node_group *g);
/* Child @child shares nobody's copies, and nobody its: the way to it is another one. */
void netinc_node_group_part_host(struct netinc_node_group *g, u32 child);
/* Does what goes to @child serve all ranks of its host? */
static inline bool netinc_node_group_is_host(const struct netinc_node_group *g, u32 child)
{
	return g->link[child].host == child && g->grp.members[child].present;
}

/* one_port.c: results by IP multicast */
/* Fills in the IP multicast group of @cfg if the node has any for it. 0 or -ENOMEM. */
int netinc_node_group_choose(struct netinc_node_group *g, const struct netinc_node_cfg *limits,
			     struct netinc_group_cfg *cfg, gfp_t gfp);
/*
 * Do all ranks that are elsewhere come by one port, so that one packet can reach them? And is this
 * one of them? The way to them is `many` then.
 */
bool netinc_node_group_may_hear(struct netinc_node_group *g, u32 child);
/* Hosts that hear, if it is worth while to send by multicast; else 0. */
u32 netinc_node_group_hearing(struct netinc_node_group *g);
/* A JOIN that has proved itself. Returns the enum inc_refuse_code or 0. */
int netinc_node_group_join(struct netinc_node_group *g, struct netinc_rx *rx,
			   const struct inc_join *join, u64 *detail);
/* Units of a received buffer from rx on: they are of one member. */
void netinc_node_group_rx(struct netinc_node_group *g, struct netinc_rx *rx);

/* node_group.c, for group_create.c: a group that nobody has seen yet */
void netinc_node_group_init(struct netinc_node_group *g, struct netinc_node *node, u32 size);
/* Its memory and links are there. */
void netinc_node_group_init_engine(struct netinc_node_group *g, const struct netinc_group_cfg *cfg);
/* Puts it where JOINs and packets find it. If it fails @g is gone. */
int netinc_node_group_start(struct netinc_node_group *g);
/* Gives back all that it is charged for, and frees it. */
void netinc_node_group_discard(struct netinc_node_group *g);

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
/* Gives back what a run of results refers to. */
void netinc_fold_put(struct netinc_node_group *g, struct netinc_gso_buf *s);
/* fold_elements.c: the elements of all contributions to @slot become those of a result at @dst. */
void netinc_fold_elements(struct netinc_node_group *g, const struct netinc_slot *slot, u32 part,
			  void *dst);
int netinc_fold_init(void);
void netinc_fold_fini(void);
/* Queue @skb, one packet or super-packet, for @child, for NETINC_HEARING, or for all. */
void netinc_node_group_send(struct netinc_node_group *g, u32 child, struct sk_buff *skb);
/*
 * Queues results in the same way: every packet refers to them. To all: once to those that hear, and
 * to each of the others.
 */
void netinc_node_group_send_run(struct netinc_node_group *g, u32 child,
				const struct netinc_run *run);
/* Copy what is still held of packets of which little is, so that the rest can be freed. */
void netinc_fold_unshare(struct netinc_node_group *g);

#endif
