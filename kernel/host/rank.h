/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One rank at its host: the endpoint engine, its lock, its timer, the way to its parent. A socket
 * owns it (socket.c); received packets reach it through the netns' hash (rx.c).
 */
#ifndef NETINC_HOST_RANK_H
#define NETINC_HOST_RANK_H

#include <linux/hrtimer.h>
#include <linux/kref.h>
#include <linux/poll.h>
#include "host/contributors.h"
#include "engine/endpoint.h"
#include "host/retain.h"
#include "core/netns.h"
#include "host/op.h"
#include "core/rx.h"
#include "core/fpu_section.h"
#include "core/gso_buf.h"
#include "core/path.h"
#include "host/pin.h"

/* Bytes from which on an FPU section for plain copies is worth its while. */
#define NETINC_FPU_WORTH	4096

struct netinc_rank {
	struct hlist_node hash;		/* nn->ranks; nn->hash_lock, RCU */
	struct netinc_net *nn;
	struct kref ref;
	struct rcu_head rcu;
	struct sock *sk;		/* referenced: keeps the netns and the module */
	struct pid *pid;		/* of the process that joined, with a reference */
	struct netinc_user *user;	/* the socket's; charged for operations */
	s64 charged;			/* bytes of the rank itself, what is kept apart */
	struct netinc_pin pin;
	spinlock_t lock;		/* everything below, see LOCKING in netns.h */
	bool dead;			/* out of the hash, timer not to be armed again */
	bool joined;			/* has been READY */
	bool retry;			/* memory was short: pump again soon */
	struct netinc_fpu_section section;	/* ends when the lock is dropped */
	struct hrtimer timer;		/* HRTIMER_MODE_ABS_SOFT */
	u64 armed;			/* when the timer runs out, microseconds; 0: it is off */
	struct netinc_path path;	/* to the parent, the root of the first tree */
	struct netinc_path *tree_paths;	/* [ntree_paths]: to those of the others */
	u32 ntree_paths;
	struct netinc_txq txq;
	/* struct netinc_op_request under way, in submission order */
	struct list_head pending;
	/* struct netinc_op_request not yet collected by the application */
	struct list_head completed;
	u32 nreqs;			/* of both lists, and on their way there */
	u64 last_handle;
	u32 settled;			/* the last move that INC_EVENT_MOVED has told of */
	struct netinc_contributed *contributed;	/* NULL: none yet */
	struct netinc_store store;
	struct netinc_op leave;
	/* socket.c: a completion or a change of state; called with the lock */
	void (*wake)(struct netinc_rank *rank, __poll_t what);
	struct netinc_ep ep;
};

/*
 * Makes a rank of @cfg for @parent (complete address) and puts it into the hash; holds a netns use.
 * The block of @cfg is filled in from the route's MTU. Returns with a reference, or ERR_PTR:
 * -EADDRINUSE if this netns has that rank of that group already, -EHOSTUNREACH etc. from the route.
 */
struct netinc_rank *netinc_rank_create(struct netinc_net *nn, struct netinc_ep_cfg *cfg,
				       const struct netinc_peer *parent, u32 oif, struct sock *sk,
				       void (*wake)(struct netinc_rank *rank, __poll_t what));
/*
 * Out of the hash, timer off, engine closed, operations done with, memory unpinned: no callback
 * from here on. The reference is the caller's still. May sleep.
 */
void netinc_rank_destroy(struct netinc_rank *rank);
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

/* The same for somebody else. */
void netinc_rank_transmit_by(struct netinc_rank *rank, struct netinc_path *path,
			     struct sk_buff *skb);

/*
 * A packet for this rank: called by rx.c for every received skb whose first header names group and
 * child.
 */
void netinc_rank_rx(struct netinc_rank *rank, struct netinc_rx *rx);

#endif
