/* SPDX-License-Identifier: GPL-2.0-only */
/* Of the kernel's header what core/txq.c and sched/sch_drr.c use, for test_txq.c and test_drr.c. */
#ifndef INC_STUB_SKBUFF_H
#define INC_STUB_SKBUFF_H

#include "reduce/platform.h"

struct sk_buff {
	struct sk_buff *next;
	u32 len;
	struct {
		u16 gso_segs;
	} shared;
};

#define skb_shinfo(skb)		(&(skb)->shared)

struct sk_buff_head {
	struct sk_buff *first, **last;
	u32 qlen;
};

static inline void __skb_queue_head_init(struct sk_buff_head *q)
{
	q->first = NULL;
	q->last = &q->first;
	q->qlen = 0;
}

static inline u32 skb_queue_len(const struct sk_buff_head *q)
{
	return q->qlen;
}

static inline bool skb_queue_empty(const struct sk_buff_head *q)
{
	return !q->qlen;
}

static inline void __skb_queue_tail(struct sk_buff_head *q, struct sk_buff *skb)
{
	skb->next = NULL;
	*q->last = skb;
	q->last = &skb->next;
	q->qlen++;
}

static inline struct sk_buff *__skb_dequeue(struct sk_buff_head *q)
{
	struct sk_buff *skb = q->first;

	if (!skb)
		return NULL;
	q->first = skb->next;
	if (!--q->qlen)
		q->last = &q->first;
	return skb;
}

static inline struct sk_buff *skb_peek(const struct sk_buff_head *q)
{
	return q->first;
}

static inline struct sk_buff *__skb_dequeue_tail(struct sk_buff_head *q)
{
	struct sk_buff *skb, **at = &q->first;

	if (!q->first)
		return NULL;
	while ((*at)->next)
		at = &(*at)->next;
	skb = *at;
	*at = NULL;
	q->last = at;
	q->qlen--;
	return skb;
}

static inline void skb_queue_splice_init(struct sk_buff_head *from, struct sk_buff_head *to)
{
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(from)))
		__skb_queue_tail(to, skb);
}

void kfree_skb(struct sk_buff *skb);

#endif
