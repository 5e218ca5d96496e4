/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The frame that nl_dump.c and nl_group.c share: a message is one nest that a function fills from
 * an object, and a dump that does not fit into one buffer goes on where it stopped, by index.
 * Objects that come or go meanwhile may be seen twice or not at all: the next message of the dump
 * has NLM_F_DUMP_INTR then, and who wants the whole asks again.
 */
#ifndef NETINC_NETLINK_NL_PUT_H
#define NETINC_NETLINK_NL_PUT_H

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/netlink.h>
#include <net/genetlink.h>
#include <net/sock.h>
#include "netlink/nl_family.h"
#include "core/netns.h"

/* Where a dump goes on; in cb->ctx. */
struct netinc_nl_cursor {
	u32 table;	/* which hash, or past the last */
	u32 bucket;
	u32 index;	/* object in it */
	u32 sub;	/* part of the object; 0 when it is done */
	u32 id;		/* of the object that `sub` belongs to */
};

static inline struct netinc_nl_cursor *netinc_nl_cursor(struct netlink_callback *cb)
{
	BUILD_BUG_ON(sizeof(struct netinc_nl_cursor) > sizeof(cb->ctx));
	return (struct netinc_nl_cursor *)cb->ctx;
}

static inline struct netinc_net *netinc_nl_dump_net(const struct netlink_callback *cb)
{
	return netinc_net(sock_net(cb->skb->sk));
}

/* At the beginning of each piece of a dump. @changed: how often the list has; 0 is no number. */
static inline void netinc_nl_dump_piece(struct netlink_callback *cb, const atomic_t *changed)
{
	cb->seq = (u32)atomic_read(changed) ?: U32_MAX;
	smp_rmb();	/* first the number, then the list: netinc_list_changed() */
}

static inline void netinc_nl_dump_list(struct netlink_callback *cb, enum netinc_list list)
{
	netinc_nl_dump_piece(cb, &netinc_nl_dump_net(cb)->changed[list]);
}

/* A dump returns bytes while there is more to come or to be read, then 0. */
static inline int netinc_nl_dump_status(const struct sk_buff *skb, int err)
{
	return skb->len ? skb->len : err;
}

/* Which stripe it is, of a group that has several; nothing of one that has not. */
static inline int netinc_nl_put_stripe(struct sk_buff *skb, int index, int count, u8 stripe)
{
	if (!stripe)
		return 0;
	return nla_put_u32(skb, index, INC_STRIPE_INDEX(stripe)) ?:
	       nla_put_u32(skb, count, INC_STRIPE_COUNT(stripe));
}

/* Puts the attributes of @obj, or returns -EMSGSIZE. */
typedef int (*netinc_nl_fill_fn)(struct sk_buff *skb, void *obj, u32 arg);

struct netinc_nl_message {
	u32 portid;
	u32 seq;
	int flags;
	u8 cmd;
	int attr;	/* of the nest */
	netinc_nl_fill_fn fill;
	struct netlink_callback *cb;	/* of a dump, else NULL */
};

static inline struct netinc_nl_message
netinc_nl_dump_message(struct netlink_callback *cb, u8 cmd, int attr, netinc_nl_fill_fn fill)
{
	return (struct netinc_nl_message){
		.portid = NETLINK_CB(cb->skb).portid,
		.seq = cb->nlh->nlmsg_seq,
		.flags = NLM_F_MULTI,
		.cmd = cmd,
		.attr = attr,
		.fill = fill,
		.cb = cb,
	};
}

/* 0 or -EMSGSIZE, and then nothing is added. */
int netinc_nl_put(struct sk_buff *skb, const struct netinc_nl_message *m, void *obj, u32 arg);

/* Attribute 0, which no set uses, aligns it where the machine needs that. */
static inline int netinc_nl_put_u64(struct sk_buff *skb, int attr, u64 value)
{
	return nla_put_u64_64bit(skb, attr, value, 0);
}

static inline int netinc_nl_put_addr(struct sk_buff *skb, int attr, const struct netinc_peer *peer)
{
	return nla_put(skb, attr, peer->family == AF_INET ? 4 : 16, peer->addr);
}

static inline u16 netinc_nl_peer_port(const struct netinc_peer *peer)
{
	return be16_to_cpu(peer->udp_port);
}

/* Microseconds to milliseconds that fit the attribute. */
static inline u32 netinc_nl_to_ms(u64 us)
{
	return min_t(u64, div_u64(us, 1000), U32_MAX);
}

int netinc_nl_put_counters(struct sk_buff *skb, const u64 *counters);
int netinc_nl_put_parent(struct sk_buff *skb, const struct netinc_peer *peer);
int netinc_nl_put_parent_nest(struct sk_buff *skb, int attr, const struct netinc_peer *peer);
/* Code, operation, ranks, and what each has asked for; nothing if there is no error. */
int netinc_nl_put_error_nest(struct sk_buff *skb, int attr, const struct netinc_error *e);

#endif
