/* SPDX-License-Identifier: GPL-2.0-only */
/* Of Linux what sched/sch_drr.c uses, for test_drr.c. */
#ifndef INC_STUB_SCHED_H
#define INC_STUB_SCHED_H

#include <linux/list.h>
#include <linux/skbuff.h>

#define kvcalloc(n, size, gfp)	calloc(n, size)
#define kvfree(p)		free(p)

#define jhash_1word(word, seed)	((word) * 2654435761u ^ (seed))

static inline u32 get_random_u32(void)
{
	return (u32)ktap_random();
}

static inline u32 qdisc_pkt_len(const struct sk_buff *skb)
{
	return skb->len;
}

static inline void rtnl_kfree_skbs(struct sk_buff *first, struct sk_buff *last)
{
	(void)last;
	kfree_skb(first);
}

#endif
