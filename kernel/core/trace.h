/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints: packets in, out and dropped, blocks completed, states changed. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM netinc

#if !defined(NETINC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define NETINC_TRACE_H

#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/tracepoint.h>
#include "engine/engine.h"
#include "core/rx.h"

TRACE_EVENT(netinc_rx,
	TP_PROTO(const struct sk_buff *skb, const struct net_device *dev,
		 const struct netinc_pkt *pkt),
	TP_ARGS(skb, dev, pkt),
	TP_STRUCT__entry(
		__field(u32, len)
		__field(u32, segs)
		__field(u32, ifindex)
		__field(u32, group)
		__field(u32, psn)
		__field(u16, child)
		__field(u8, type)
	),
	TP_fast_assign(
		__entry->len = skb->len;
		__entry->segs = ((const struct netinc_skb_cb *)skb->cb)->packets;
		__entry->ifindex = dev->ifindex;
		__entry->group = pkt->group;
		__entry->psn = pkt->psn;
		__entry->child = pkt->child;
		__entry->type = pkt->type;
	),
	TP_printk("if=%u group=%u type=%u child=%u psn=%u len=%u segs=%u", __entry->ifindex,
		  __entry->group, __entry->type, __entry->child, __entry->psn, __entry->len,
		  __entry->segs)
);

TRACE_EVENT(netinc_tx,
	TP_PROTO(const struct sk_buff *skb),
	TP_ARGS(skb),
	TP_STRUCT__entry(
		__field(u32, len)
		__field(u32, segs)
	),
	TP_fast_assign(
		__entry->len = skb->len;
		__entry->segs = skb_is_gso(skb) ? skb_shinfo(skb)->gso_segs : 1;
	),
	TP_printk("len=%u segs=%u", __entry->len, __entry->segs)
);

TRACE_EVENT(netinc_drop,
	TP_PROTO(const struct sk_buff *skb, u32 group, u32 reason),
	TP_ARGS(skb, group, reason),
	TP_STRUCT__entry(
		__field(u32, len)
		__field(u32, group)
		__field(u32, reason)
	),
	TP_fast_assign(
		__entry->len = skb->len;
		__entry->group = group;
		__entry->reason = reason;
	),
	TP_printk("group=%u len=%u reason=%u", __entry->group, __entry->len, __entry->reason)
);

TRACE_EVENT(netinc_block,
	TP_PROTO(u32 group, u64 block, u32 len),
	TP_ARGS(group, block, len),
	TP_STRUCT__entry(
		__field(u64, block)
		__field(u32, group)
		__field(u32, len)
	),
	TP_fast_assign(
		__entry->block = block;
		__entry->group = group;
		__entry->len = len;
	),
	TP_printk("group=%u block=%llu len=%u", __entry->group, __entry->block, __entry->len)
);

TRACE_EVENT(netinc_state,
	TP_PROTO(u32 group, u32 rank, u8 old, u8 state, u32 epoch),
	TP_ARGS(group, rank, old, state, epoch),
	TP_STRUCT__entry(
		__field(u32, group)
		__field(u32, rank)
		__field(u32, epoch)
		__field(u8, old)
		__field(u8, state)
	),
	TP_fast_assign(
		__entry->group = group;
		__entry->rank = rank;
		__entry->old = old;
		__entry->state = state;
		__entry->epoch = epoch;
	),
	TP_printk("group=%u rank=%d state=%u->%u epoch=%u", __entry->group, (int)__entry->rank,
		  __entry->old, __entry->state, __entry->epoch)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH core
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
