/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All state of one network namespace, and how it is locked.
 *
 * LOCKING
 *
 * Configuration (nodes, tenants, default parent) changes under nn->mutex, in process context. The
 * data path finds nodes, groups and ranks in RCU lists; `hash_lock` protects changes to the hashes.
 * A group and a rank each have one spinlock, taken with bottom halves off, that protects their
 * engine object and everything that hangs off it. Order, the outer ones first; those in one line
 * are never held together:
 *
 *  socket lock (AF_INC)
 *  rtnl, which leaving an IP multicast group takes
 *  nn->mutex
 *  pin->mutex
 *  rank->merging
 *  rank->lock; node_group->lock
 *  nn->hash_lock; node->lock; tenant->lock
 *  locks of the table nn->demux; scratch->lock (fold_elements.c, convert.c),
 *  paying.lock (retain.c), pool->lock (page_ring.c): one per CPU
 *
 * Nothing is taken inside of nsk->rank_lock (under the socket lock or none), users_lock of limits.c
 * (under node->lock or none) and answers->lock (under none).
 * nn->retired is written under hash_lock.
 *
 * A rank's and a group's lock are never held together: under either of them packets are only
 * queued; they are sent when the lock has been dropped (netinc_txq_unlock()), and a packet that is
 * sent never enters the receive path on the same stack.
 *
 * A node's worker does not take nn->mutex, under which its end is waited for. Who gives pinned
 * pages back only tries pin->mutex: a page fault that takes for ever may hold it.
 *
 * With PREEMPT_RT these spinlocks sleep and softirqs are preempted. What a CPU has one of for all
 * groups or ranks has a local_lock_t (scratch->lock) or a spinlock (pool->lock) of its own, taken
 * last; that bottom halves are off need not keep other tasks away. FPU sections (fpu_section.h) are
 * inside all of them.
 *
 * Racy on purpose: the per-CPU counters are summed up while they change. Limits (limits.h) are
 * atomics: charging takes no lock.
 *
 * LIFETIME
 *
 * Nodes, groups and ranks are reference counted (_get, _put, _release) and freed after an RCU grace
 * period. Removal is: mark dead, take out of the hash, cancel timers and work (each may still run
 * once and sees the mark), drain the engine under the lock, put. With the last user of a namespace
 * the hooks are unregistered, and synchronize_net() waits for packets that are past them.
 */
#ifndef NETINC_CORE_NETNS_H
#define NETINC_CORE_NETNS_H

#include <linux/jhash.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/seqlock.h>
#include <linux/spinlock.h>
#include <linux/u64_stats_sync.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include "engine/engine.h"
#include "core/demux.h"
#include "core/limits.h"

#define NETINC_HASH_BITS	8
#define NETINC_GENERATIONS	256

/* Lists that dumps read in several pieces. */
enum netinc_list {
	NETINC_LIST_NODES,	/* and their ports */
	NETINC_LIST_TENANTS,
	NETINC_LIST_GROUPS,	/* and ranks */
	NETINC_LISTS
};

struct netinc_counters {
	u64_stats_t c[__INC_C_MAX];
	struct u64_stats_sync sync;
};

struct netinc_net {
	struct net *net;
	struct mutex mutex;		/* configuration; see LOCKING */
	spinlock_t hash_lock;		/* changes to groups and ranks */
	/* changes when what one of them has counted goes to `counters`; hash_lock */
	seqcount_spinlock_t retired;
	u64 reported[__INC_C_MAX];	/* what readers of counters were given last; hash_lock */
	struct list_head nodes;		/* struct netinc_node, RCU */
	struct list_head tenants;	/* struct netinc_tenant, RCU */
	struct netinc_node *edge;	/* not in the list; as long as the netns */
	/* struct netinc_node_group by group id and job, RCU */
	struct hlist_head groups[1 << NETINC_HASH_BITS];
	/* struct netinc_rank, likewise */
	struct hlist_head ranks[1 << NETINC_HASH_BITS];
	/* what packets find, demux.h; made when the hooks are registered first, stays */
	struct rhltable *demux;
	atomic_t demuxed[NETINC_DEMUX_KINDS];	/* entries of each kind there */
	/* default parent, family 0: none; mutex and hash_lock to write, either to read */
	struct netinc_peer parent;
	/* what cannot be put down to a group, and groups that are gone */
	struct netinc_counters __percpu *counters;
	u64 secret[2];			/* of challenges and cookies */
	u32 hash_seed;			/* of buckets; secret, too */
	/*
	 * one is counted up when a group forms or goes: older challenges for its number are not
	 * valid any more, nor those for the few others that share it, which nobody can choose;
	 * netinc_generation()
	 */
	atomic_t generation[NETINC_GENERATIONS];
	struct socket *holder[2];	/* UDP sockets that hold the port: IPv4, IPv6 */
	/* nodes and ranks; the hooks are registered while there are any; mutex */
	unsigned int users;
	/* with a reference; who made the namespace: its nodes are that one's */
	struct netinc_user *owner;
	struct netinc_account account;
	atomic64_t max[__INC_LIMIT_MAX];
	struct netinc_answers *answers;	/* made when the hooks are registered first, stays */
	/* a ring; hash_lock, as next_history */
	struct netinc_history *history;	/* made with the first node; hash_lock */
	/* how often what is in each list has changed; netinc_list_changed() */
	atomic_t changed[NETINC_LISTS];
};

extern unsigned int netinc_net_id;
extern unsigned int netinc_dead_ms;	/* the dead limit where none is said, milliseconds */

static inline struct netinc_net *netinc_net(const struct net *net)
{
	return net_generic(net, netinc_net_id);
}

/* Which of the buckets of nn->groups and ranks? Nobody outside can choose several of one. */
static inline u32 netinc_bucket(const struct netinc_net *nn, u32 id, u64 job)
{
	return jhash_3words(id, lower_32_bits(job), upper_32_bits(job), nn->hash_seed) >>
	       (32 - NETINC_HASH_BITS);
}

/*
 * After something has come into a list or gone from it: a dump that had begun by then is not of one
 * moment, and says so.
 */
static inline void netinc_list_changed(struct netinc_net *nn, enum netinc_list list)
{
	smp_mb__before_atomic();	/* first the list, then the number: dumps read it first */
	atomic_inc(&nn->changed[list]);
}

/* Microseconds of CLOCK_MONOTONIC: the engine's time. */
static inline u64 netinc_now(void)
{
	return ktime_to_us(ktime_get());
}

/*
 * The first user opens port and hooks, the last one closes them. May sleep; -EADDRINUSE: the port
 * is taken, -ENOMEM.
 */
int netinc_net_use(struct netinc_net *nn);
void netinc_net_unuse(struct netinc_net *nn);

static inline void netinc_net_count(struct netinc_net *nn, enum inc_counter c, u64 n)
{
	struct netinc_counters *counters = get_cpu_ptr(nn->counters);

	u64_stats_update_begin(&counters->sync);
	u64_stats_add(&counters->c[c], n);
	u64_stats_update_end(&counters->sync);
	put_cpu_ptr(nn->counters);
}

/* Moves the counters of a group or rank that goes away to those of the netns. */
void netinc_net_add_counters(struct netinc_net *nn, u64 *counters);
/*
 * Does so while the object goes out of its hash: a reader of the netns' counters finds them once.
 */
void netinc_net_retire(struct netinc_net *nn, struct hlist_node *hash, u64 *counters);
/* Counters of the netns: those of groups and ranks that live now included. */
void netinc_net_read_counters(struct netinc_net *nn, u64 *sum);

int netinc_net_init(void);
void netinc_net_fini(void);

#endif
