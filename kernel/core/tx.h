/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packets out: super-packets in pages of their own, and the way to a peer.
 *
 * A netinc_gso_buf is a run of segments, [header, descriptor if any, payload] each, all of one size
 * except the last, in a few page fragments of which none cuts a segment. It is built once; packets
 * (one per child) and cached results refer to its pages.
 */
#ifndef NETINC_CORE_TX_H
#define NETINC_CORE_TX_H

#include <linux/refcount.h>
#include <linux/skbuff.h>
#include <net/dst_cache.h>
#include "engine/engine.h"
#include "core/netns.h"

#define NETINC_GSO_BUF_PAGES	8
#define NETINC_MAX_SEGMENTS	64	/* UDP_MAX_SEGMENTS of the oldest kernels */

struct netinc_gso_buf {
	refcount_t refs;
	u16 seg_size;		/* bytes of a segment */
	u16 per_page;		/* segments in one page fragment */
	u16 max;		/* segments that there is room for */
	u16 n;			/* segments in use */
	u16 last;		/* bytes of the last segment in use */
	u16 npages;
	u32 order;
	struct page *page[NETINC_GSO_BUF_PAGES];
};

/*
 * Room for up to @n segments of @seg_size bytes; may be less when memory is short, NULL if there is
 * none. Softirq-safe.
 */
struct netinc_gso_buf *netinc_gso_buf_alloc(u32 seg_size, u32 n);
void netinc_gso_buf_put(struct netinc_gso_buf *s);

static inline void netinc_gso_buf_get(struct netinc_gso_buf *s)
{
	refcount_inc(&s->refs);
}

/* Segment @i: its header; the rest follows at once. */
static inline void *netinc_gso_buf_segment(const struct netinc_gso_buf *s, u32 i)
{
	return page_address(s->page[i / s->per_page]) + (i % s->per_page) * s->seg_size;
}

/* Bytes of memory that @s stands for. */
static inline u32 netinc_gso_buf_truesize(const struct netinc_gso_buf *s)
{
	return s->npages * (PAGE_SIZE << s->order);
}

/*
 * A packet that refers to segments [first, first + n) of @s; a super-packet if n > 1. Headers of
 * UDP and below are for netinc_path_queue().
 */
struct sk_buff *netinc_gso_buf_skb(const struct netinc_gso_buf *s, u32 first, u32 n);
/* A packet with one header and @len bytes of body, padded; not shared with anybody. */
struct sk_buff *netinc_control_skb(const struct netinc_pkt *pkt, const void *body, u32 len);

/*
 * The way to a peer: addresses, ports and a cached route. Caller holds the lock of the object that
 * owns it.
 */
struct netinc_path {
	struct net *net;
	struct netinc_peer peer;	/* udp_port: destination */
	__be16 sport;
	u32 oif;			/* interface of link-local addresses, else 0 */
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

/* Source port of a group's tree, network order. */
__be16 netinc_sport(u32 group, u32 tree);

/* INC packets in @skb, and the IP bytes that they are on a link of the MTU they were made for. */
static inline u32 netinc_skb_packets(const struct sk_buff *skb)
{
	return skb_is_gso(skb) ? skb_shinfo(skb)->gso_segs : 1;
}

u32 netinc_skb_ip_bytes(const struct sk_buff *skb, u32 headers);

#endif
