// SPDX-License-Identifier: GPL-2.0-only
/* Deficit round robin among groups. */
#include <linux/jhash.h>
#include <linux/math64.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/sch_generic.h>

#include "sched/sch_drr.h"

#define PROBES		8u	/* queues that a group looks at for one of its own */
/* bytes: a device may have an MTU of 0, and a group in debt would never have credit */
#define MIN_QUANTUM	256u

int netinc_sched_flows_init(struct sched_flows *f, u32 quantum)
{
	u32 i;

	INIT_LIST_HEAD(&f->active);
	f->quantum = max(quantum, MIN_QUANTUM);
	f->seed = get_random_u32();
	f->flow = kvcalloc(SCHED_FLOWS, sizeof(*f->flow), GFP_KERNEL);
	if (!f->flow)
		return -ENOMEM;
	for (i = 0; i < SCHED_FLOWS; i++) {
		INIT_LIST_HEAD(&f->flow[i].active);
		__skb_queue_head_init(&f->flow[i].queue);
	}
	return 0;
}

void netinc_sched_flows_reset(struct sched_flows *f)
{
	struct sched_flow *flow;
	struct sk_buff *skb;

	for (flow = f->flow; flow < f->flow + SCHED_FLOWS; flow++) {
		while ((skb = __skb_dequeue(&flow->queue)))
			rtnl_kfree_skbs(skb, skb);
		list_del_init(&flow->active);
		flow->credit = 0;
		flow->backlog = 0;
	}
	f->qlen = 0;
}

void netinc_sched_flows_destroy(struct sched_flows *f)
{
	kvfree(f->flow);
	f->flow = NULL;
}

static u32 weight_of(const struct sched_flows *f, u32 group)
{
	u32 i;

	for (i = 0; i < f->nweights; i++)
		if (f->weights[i].group == group)
			return f->weights[i].weight;
	return 1;
}

void netinc_sched_flows_set_weights(struct sched_flows *f, const struct tc_inc_weight *weights,
				    u32 n)
{
	u32 i;

	memcpy(f->weights, weights, n * sizeof(*weights));
	f->nweights = n;
	for (i = 0; i < SCHED_FLOWS; i++)
		if (f->flow[i].used)
			f->flow[i].weight = weight_of(f, f->flow[i].group);
}

static bool has_packets(const struct sched_flow *flow)
{
	return !list_empty(&flow->active);
}

static struct sched_flow *flow_of(struct sched_flows *f, u32 group)
{
	struct sched_flow *flow, *idle = NULL;
	u32 first = jhash_1word(group, f->seed) % SCHED_FLOWS, i;

	for (i = 0; i < PROBES; i++) {
		flow = &f->flow[(first + i) % SCHED_FLOWS];
		if (flow->used && flow->group == group)
			return flow;
		if (!idle && !has_packets(flow))
			idle = flow;
	}
	if (!idle)
		return &f->flow[first];
	*idle = (struct sched_flow){ .group = group, .weight = weight_of(f, group), .used = true };
	INIT_LIST_HEAD(&idle->active);
	__skb_queue_head_init(&idle->queue);
	return idle;
}

static u64 quantum_of(const struct sched_flows *f, const struct sched_flow *flow)
{
	return (u64)f->quantum * flow->weight;
}

/* Rounds after which @flow has credit; one that has some already waits at the end for its turn. */
static u64 rounds_in_debt(const struct sched_flows *f, const struct sched_flow *flow)
{
	if (flow->credit > 0)
		return 1;
	return div64_u64(-flow->credit, quantum_of(f, flow)) + 1;
}

/* All groups get at once what they would in the rounds after which none has credit yet. */
static void skip_rounds(struct sched_flows *f)
{
	struct sched_flow *flow;
	u64 rounds = ~0ULL;

	list_for_each_entry(flow, &f->active, active)
		rounds = min(rounds, rounds_in_debt(f, flow));
	list_for_each_entry(flow, &f->active, active)
		flow->credit += (rounds - 1) * quantum_of(f, flow);
}

/*
 * Gives groups without credit some and puts them at the end, until the first group has some. A
 * packet may be as long as a size table (tc-stab(8)) says, and the debt so large that this would
 * take many rounds.
 */
static void next_active(struct sched_flows *f)
{
	struct sched_flow *flow;
	u32 looked = 0;

	while ((flow = list_first_entry_or_null(&f->active, struct sched_flow, active)) &&
	       flow->credit <= 0) {
		if (looked++ == SCHED_FLOWS)
			skip_rounds(f);
		flow->credit += quantum_of(f, flow);
		list_move_tail(&flow->active, &f->active);
	}
}

void netinc_sched_flows_add(struct sched_flows *f, u32 group, struct sk_buff *skb)
{
	struct sched_flow *flow = flow_of(f, group);

	__skb_queue_tail(&flow->queue, skb);
	flow->backlog += qdisc_pkt_len(skb);
	f->qlen++;
	if (has_packets(flow))
		return;
	/* what it did not use while it was away is lost, what it owes is not */
	flow->credit = min_t(s64, flow->credit, 0);
	list_add_tail(&flow->active, &f->active);
	next_active(f);
}

static struct sched_flow *first_active(const struct sched_flows *f)
{
	return list_first_entry(&f->active, struct sched_flow, active);
}

struct sk_buff *netinc_sched_flows_first(const struct sched_flows *f)
{
	return list_empty(&f->active) ? NULL : skb_peek(&first_active(f)->queue);
}

static void packet_gone(struct sched_flows *f, struct sched_flow *flow, const struct sk_buff *skb)
{
	flow->backlog -= qdisc_pkt_len(skb);
	f->qlen--;
	if (skb_queue_empty(&flow->queue))
		list_del_init(&flow->active);
	next_active(f);
}

void netinc_sched_flows_marked(struct sched_flows *f)
{
	first_active(f)->marks++;
}

void netinc_sched_flows_take(struct sched_flows *f, u32 delay_slot)
{
	struct sched_flow *flow = first_active(f);
	struct sk_buff *skb = __skb_dequeue(&flow->queue);

	flow->credit -= qdisc_pkt_len(skb);
	flow->bytes += qdisc_pkt_len(skb);
	flow->delay[delay_slot]++;
	flow->packets += max_t(u32, skb_shinfo(skb)->gso_segs, 1);
	packet_gone(f, flow, skb);
}

struct sk_buff *netinc_sched_flows_drop(struct sched_flows *f)
{
	struct sched_flow *flow, *longest = NULL;
	struct sk_buff *skb;

	list_for_each_entry(flow, &f->active, active)
		if (!longest ||
		    (u64)flow->backlog * longest->weight > (u64)longest->backlog * flow->weight)
			longest = flow;
	skb = __skb_dequeue_tail(&longest->queue);
	longest->drops++;
	packet_gone(f, longest, skb);
	return skb;
}
