/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The way to a peer, and the queue of packets that leave when a lock is dropped.
 */
#ifndef NETINC_CORE_PATH_H
#define NETINC_CORE_PATH_H

#include <linux/skbuff.h>
#include <net/dst_cache.h>
#include "core/netns.h"
#include "engine/engine.h"

/*
 * The way to a peer: addresses, ports and a cached route. Caller holds the lock of the object that
 * owns it.
 */
struct netinc_path {
	struct net *net;
	struct netinc_peer peer;	/* udp_port: destination */
	__be16 sport;
	u32 oif;			/* interface of link-local addresses, or the VRF; 0: none */
	u8 local[16];			/* source address; zeros: the one that the route has */
	struct dst_cache dst;
};

int netinc_path_init(struct netinc_path *path, struct net *net, const struct netinc_peer *peer,
		     __be16 sport, u32 oif, gfp_t gfp);
void netinc_path_destroy(struct netinc_path *path);
/*
 * Bytes of IP payload beyond the UDP header that the route carries in one packet, or a negative
 * errno.
 */
int netinc_path_mtu(struct netinc_path *path);

/*
 * Adds UDP and IP headers to @skb (consumed) and puts it on @q with its route; 0 or a negative
 * errno (skb is freed).
 */
int netinc_path_queue(struct netinc_path *path, struct sk_buff *skb, struct sk_buff_head *q);
/* Sends what has been queued. No lock may be held that the receive path takes. */
void netinc_tx_flush(struct net *net, struct sk_buff_head *q);

/*
 * Most skbs that wait: no more than one packet can rightly cause, and what others may add while
 * they are sent.
 */
#define NETINC_TXQ_RANK		4096
#define NETINC_TXQ_GROUP	1024
#define NETINC_TXQ_MEMBER	16	/* of each */

/*
 * Packets that are queued under a lock and leave when it is dropped. The lock protects all of it.
 */
struct netinc_txq {
	struct sk_buff_head queue;
	u32 max;		/* skbs */
	u32 turn;		/* changes with the CPU that sends */
	bool busy;		/* a CPU is sending */
	/* it has done its share: the next one that queues something takes over */
	bool tired;
};

void netinc_txq_init(struct netinc_txq *txq, u32 max);
/* As netinc_path_queue(); also -ENOBUFS when too many wait. */
int netinc_txq_add(struct netinc_txq *txq, struct netinc_path *path, struct sk_buff *skb);
/*
 * Drops @lock, taken with bottom halves off, and sends. One CPU at a time does, without softirqs in
 * between: what overtakes looks like a loss. What others queue meanwhile it sends too, for some
 * rounds; then one of them goes on.
 */
void netinc_txq_unlock(struct netinc_txq *txq, struct net *net, spinlock_t *lock) __releases(lock);

/*
 * Source port of a group's tree, network order. GRO puts packets of one flow together: another
 * job's would be lost in there.
 */
__be16 netinc_sport(u64 job, u32 group, u32 tree);

#endif
