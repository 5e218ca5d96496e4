// SPDX-License-Identifier: GPL-2.0-only
/* One CPU at a time sends what all have queued under a lock, for some rounds and with a bound. */
#include "core/path.h"
#include "core/txq.h"

#define TXQ_ROUNDS	16	/* that one CPU sends for all */

void netinc_txq_init(struct netinc_txq *txq, u32 max)
{
	__skb_queue_head_init(&txq->queue);
	txq->max = max;
	txq->busy = false;
	txq->tired = false;
}

int netinc_txq_add(struct netinc_txq *txq, struct netinc_path *path, struct sk_buff *skb)
{
	if (skb_queue_len(&txq->queue) >= txq->max) {
		kfree_skb(skb);
		return -ENOBUFS;
	}
	return netinc_path_queue(path, skb, &txq->queue);
}

void netinc_txq_unlock(struct netinc_txq *txq, struct net *net, spinlock_t *lock)
	__releases(lock)
{
	struct sk_buff_head q;
	u32 sender, round = 0;

	if ((txq->busy && !txq->tired) || skb_queue_empty(&txq->queue)) {
		spin_unlock_bh(lock);
		return;
	}
	sender = ++txq->sender;
	txq->busy = true;
	txq->tired = false;
	__skb_queue_head_init(&q);
	do {
		/*
		 * known before the last round: what is queued during it has somebody who sends it
		 */
		txq->tired = ++round >= TXQ_ROUNDS;
		skb_queue_splice_init(&txq->queue, &q);
		spin_unlock(lock);
		netinc_tx_flush(net, &q);
		spin_lock(lock);
		if (txq->sender != sender)
			goto out;
	} while (!skb_queue_empty(&txq->queue));
	txq->busy = false;
out:
	spin_unlock_bh(lock);
}
