/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Contributions that wait, a queue for each group, served by deficit round robin (Shreedhar and
 * Varghese, SIGCOMM 1995): groups get bytes in proportion to their weights, however long their
 * packets are.
 *
 * The first active group always has credit left, so that to look at the next packet changes
 * nothing. A group may go into debt by less than its longest packet and pays for that by waiting,
 * also when its queue has run empty meanwhile: a rank that sends one packet at a time gets no more
 * than the others.
 *
 * A queue belongs to one group as long as there are few; hundreds of groups at once share queues,
 * and which of them do cannot be foreseen.
 */
#ifndef NETINC_SCHED_SCH_DRR_H
#define NETINC_SCHED_SCH_DRR_H

#include <linux/list.h>
#include <linux/skbuff.h>
#include <linux/inc_sched.h>

#define SCHED_FLOWS	256u

struct sched_flow {
	struct list_head active;	/* in sched_flows.active while something waits */
	struct sk_buff_head queue;
	u32 group;
	u32 weight;
	s64 credit;		/* bytes */
	u32 backlog;		/* bytes waiting */
	/* sent for this group since it got the queue, as bytes and drops: see struct band */
	u64 packets;
	u64 bytes;
	u64 drops;
	u64 marks;
	u64 delay[INC_SCHED_DELAYS];
	bool used;
};

struct sched_flows {
	/* struct sched_flow that have packets, in the order of service */
	struct list_head active;
	struct sched_flow *flow;	/* [SCHED_FLOWS] */
	u32 qlen;			/* skbs waiting */
	u32 seed;			/* of the hash of a group's number */
	u32 quantum;			/* bytes for each round of a group of weight 1 */
	u32 nweights;
	struct tc_inc_weight weights[INC_SCHED_WEIGHTS];
};

/* 0 or -ENOMEM. */
int netinc_sched_flows_init(struct sched_flows *f, u32 quantum);
/* Frees what waits, under RTNL; the counters stay. */
void netinc_sched_flows_reset(struct sched_flows *f);
/* Nothing may wait any more; also after init() has failed. */
void netinc_sched_flows_destroy(struct sched_flows *f);
/* @n weights, instead of those before; all other groups weigh 1. */
void netinc_sched_flows_set_weights(struct sched_flows *f, const struct tc_inc_weight *weights,
				    u32 n);

void netinc_sched_flows_add(struct sched_flows *f, u32 group, struct sk_buff *skb);
/* The packet that take() will take next, NULL: nothing waits. */
struct sk_buff *netinc_sched_flows_first(const struct sched_flows *f);
/* That packet leaves, having waited for so long. */
void netinc_sched_flows_take(struct sched_flows *f, u32 delay_slot);
/* It has been marked. */
void netinc_sched_flows_marked(struct sched_flows *f);
/*
 * Something waits: takes the youngest packet of the group that has the most bytes waiting for its
 * weight.
 */
struct sk_buff *netinc_sched_flows_drop(struct sched_flows *f);

#endif
