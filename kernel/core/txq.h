/* SPDX-License-Identifier: GPL-2.0-only */
/* The queue of packets that leave when a lock is dropped. selftests/unit/test_txq.c tests it. */
#ifndef NETINC_CORE_TXQ_H
#define NETINC_CORE_TXQ_H

#include <linux/inc.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>

struct net;
struct netinc_path;

/* of a rank: with as many no more blocks are added, and answers have the rest */
#define NETINC_TXQ_BLOCKS	1024
/*
 * Most skbs that wait: no more than one packet can rightly cause, and what others may add while
 * they are sent. A rank that moves calls all others, and joins behind that.
 */
#define NETINC_TXQ_RANK		(NETINC_TXQ_BLOCKS + INC_MAX_RANKS + 1024)
#define NETINC_TXQ_GROUP	1024
#define NETINC_TXQ_MEMBER	16	/* of each */

/*
 * Packets that are queued under a lock and leave when it is dropped. The lock protects all of it.
 */
struct netinc_txq {
	struct sk_buff_head queue;
	u32 max;		/* skbs */
	u32 sender;		/* changes with the CPU that sends */
	bool busy;		/* a CPU is sending */
	/* it has sent enough rounds: the next one that queues something takes over */
	bool tired;
};

/* Do so many wait that blocks had better be sent later? */
static inline bool netinc_txq_is_long(const struct netinc_txq *txq)
{
	return skb_queue_len(&txq->queue) >= NETINC_TXQ_BLOCKS;
}

void netinc_txq_init(struct netinc_txq *txq, u32 max);
/* As netinc_path_queue(); also -ENOBUFS when too many wait. */
int netinc_txq_add(struct netinc_txq *txq, struct netinc_path *path, struct sk_buff *skb);
/*
 * Drops @lock, taken with bottom halves off, and sends. One CPU at a time does, without softirqs in
 * between: what overtakes looks like a loss. What others queue meanwhile it sends too, for some
 * rounds; then one of them goes on.
 */
void netinc_txq_unlock(struct netinc_txq *txq, struct net *net, spinlock_t *lock) __releases(lock);

#endif
