/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One rank at its host: the endpoint engine, its lock, its timer, the way to its parent. A socket
 * owns it (socket.c); received packets reach it through the netns' hash (dispatch.c).
 */
#ifndef NETINC_HOST_RANK_H
#define NETINC_HOST_RANK_H

#include <linux/hrtimer.h>
#include <linux/kref.h>
#include <linux/poll.h>
#include "host/contributors.h"
#include "engine/endpoint.h"
#include "host/membership.h"
#include "host/retain.h"
#include "core/demux.h"
#include "core/netns.h"
#include "host/op.h"
#include "host/payload.h"
#include "core/rx.h"
#include "core/fpu_section.h"
#include "core/gso_buf.h"
#include "core/path.h"
#include "core/txq.h"
#include "host/pin.h"

/* Bytes from which on an FPU section for plain copies is worth its while. */
#define NETINC_FPU_WORTH	4096

struct netinc_rank {
	struct hlist_node hash;		/* nn->ranks; nn->hash_lock, RCU */
	struct netinc_demux_entry by_port;	/* as long as the port is held */
	struct netinc_demux_entry by_nonce;
	struct netinc_demux_entry by_number;	/* set under nn->hash_lock, never changes */
	/* from READY on; follow `ep` in netinc_rank_unlock() */
	struct netinc_demux_entry by_run;
	struct netinc_demux_entry by_lineage;
	struct netinc_net *nn;
	struct kref ref;
	struct rcu_head rcu;
	struct sock *sk;		/* with a reference: keeps the netns and the module */
	struct pid *pid;		/* of the process that joined, with a reference */
	kuid_t uid;			/* likewise */
	struct netinc_user *user;	/* the socket's; charged for operations */
	/* bytes charged for the rank itself; `store` has its own */
	s64 charged;
	struct netinc_pin pin;		/* pinned memory of its operations */
	/* counts of operations are merged, see counts.c; `merge` has a reference of the rank */
	struct mutex merging;
	struct work_struct merge;
	spinlock_t lock;		/* everything below, see LOCKING in netns.h */
	u64 now;			/* microseconds, when netinc_rank_lock() has got it */
	bool dead;			/* not in the hash yet or any more, timer not to be armed */
	/* it has been READY once; never cleared; also read without the lock */
	bool joined;
	/* the last request that has been freed, charged with the rank; exchanged without a lock */
	struct netinc_op_request *spare;
	/* memory was short: pump again soon; cleared by the timer, which does */
	bool retry;
	struct netinc_fpu_section section;	/* ends before the lock is dropped */
	struct hrtimer timer;		/* HRTIMER_MODE_ABS_SOFT */
	/* time at which the timer runs out, microseconds; 0: it is off */
	u64 armed;
	struct netinc_path path;	/* to the parent, the root of the first tree */
	/* ifindex of the VRF that it was connected in, 0: none; does not change */
	u32 vrf;
	struct socket *holder;		/* holds the port of `path`, see nf_hooks.h; or NULL */
	/* there is a holder; does not change while others see the rank */
	bool holds_port;
	/* [ntree_paths]: to the roots of the others; new with each epoch that has several */
	struct netinc_path *tree_paths;
	u32 ntree_paths;		/* trees of the epoch but the first; 0: no paths */
	struct netinc_txq txq;
	/* struct netinc_op_request under way, in submission order */
	struct list_head pending;
	/* struct netinc_op_request not yet collected by the application */
	struct list_head completed;
	/* requests of both lists, and on their way there; at most NETINC_MAX_REQS */
	u32 nreqs;
	u32 any_waiters;		/* for any operation, not for one by its handle */
	/* handle of the request submitted last, 0: none; counts up for the socket's life */
	u64 last_handle;
	u32 settled;			/* number of the last move told by INC_EVENT_MOVED */
	/* since when the parent of move `silent_move` is told to be silent; us, 0: it is not */
	u64 silent;
	u32 silent_move;
	/* of the last partial results; NULL: there were none */
	struct netinc_contributed *contributed;
	struct netinc_store store;	/* what is retained for another node */
	struct netinc_batch batch;	/* of payload.c, while the engine sends blocks */
	struct netinc_membership membership;	/* of its IP multicast group */
	struct netinc_op leave;		/* LEAVE, once the socket is being closed */
	/* socket.c: a completion or a change of state; called with the lock */
	void (*wake)(struct netinc_rank *rank, __poll_t what);
	struct netinc_ep ep;
};

/*
 * Makes a rank of @cfg for @parent (complete address) and puts it into the hash; holds a netns use.
 * The block of @cfg is filled in from the route's MTU. Returns with a reference, or ERR_PTR:
 * -EADDRINUSE if the user has that rank of that group in this netns already, -ENOTUNIQ if another
 * program has the UDP port, -EHOSTUNREACH etc. from the route.
 */
struct netinc_rank *netinc_rank_create(struct netinc_net *nn, struct netinc_ep_cfg *cfg,
				       const struct netinc_peer *parent, u32 oif, struct sock *sk,
				       void (*wake)(struct netinc_rank *rank, __poll_t what));
/*
 * Out of the hash, timer off, engine closed, operations done with, memory unpinned: no callback
 * from here on. The reference is the caller's still. May sleep.
 */
void netinc_rank_destroy(struct netinc_rank *rank);
/* Has this process joined? */
bool netinc_rank_is_own(const struct netinc_rank *rank);
/*
 * How many jiffies of @longest this process waits for the end of what a rank has begun: few if
 * it has not joined, and has perhaps been sent the socket without wanting it, and none if it works
 * for all.
 */
long netinc_rank_patience(const struct netinc_rank *rank, long longest);
void netinc_rank_get(struct netinc_rank *rank);
void netinc_rank_put(struct netinc_rank *rank);

/*
 * Take and drop the lock; unlock arms the timer as the engine wishes and sends what has been
 * queued.
 */
void netinc_rank_lock(struct netinc_rank *rank);
void netinc_rank_unlock(struct netinc_rank *rank);

static inline struct netinc_rank *netinc_rank_of(struct netinc_ep *ep)
{
	return container_of(ep, struct netinc_rank, ep);
}

/*
 * Queues @skb (consumed), a packet without UDP and IP headers, for the root of @tree; NULL counts
 * as an error.
 */
void netinc_rank_transmit(struct netinc_rank *rank, u32 tree, struct sk_buff *skb);

/* Queues @skb like netinc_rank_transmit(), but by @path. */
void netinc_rank_transmit_by(struct netinc_rank *rank, struct netinc_path *path,
			     struct sk_buff *skb);

/*
 * A packet for this rank: called by dispatch.c for every received skb whose first header names
 * group and child.
 */
void netinc_rank_rx(struct netinc_rank *rank, struct netinc_rx *rx);

#endif
