/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Of Linux, node/node_group.h, node/history.h and node/tenant.h what node/group_io.c uses, for
 * test_group_io.c.
 */
#ifndef INC_STUB_GROUP_IO_H
#define INC_STUB_GROUP_IO_H

#include "engine/group.h"

#define NSEC_PER_USEC		1000ull
#define GFP_ATOMIC		0
#define __GFP_NOWARN		0
#define NETINC_MAX_BODY		1024
#define NETINC_PORT_RX_PACKETS	0
#define NETINC_PORT_TX_PACKETS	3
#define noinline
#define __aligned(n)

#define div_u64(a, b)			((a) / (b))
#define jhash(data, len, seed)		((void)(data), (void)(len), (seed))
#define jhash_1word(word, seed)		((word) * 2654435761u ^ (seed))
#define reciprocal_scale(x, n)		((x) % (n))
#define atomic64_add(n, v)		(*(v) += (n))
#define skb_headroom(skb)		((void)(skb), 0)
#define __pskb_copy(skb, room, gfp)	((void)(room), (skb))
#define consume_skb(skb)		((void)(skb))
#define kfree_skb(skb)			((void)(skb))
#define timer_reduce(timer, when)	((void)(timer), (void)(when))
#define msecs_to_jiffies(ms)		(ms)
#define jiffies				0
#define NETINC_HEARING			0xfffffffeu
#define netinc_skb_packets(skb)		((void)(skb), 1u)
#define netinc_skb_ip_bytes(skb, n)	((skb)->len + (n))
#define netinc_txq_add(txq, path, skb)	((void)(txq), (void)(path), (void)(skb), 0)
#define netinc_gso_buf_skb(s, first, n)	((void)(first), (void)(n), (s))

struct netinc_net {
	u64 secret[2];
};

struct net_device {
	u32 ifindex;
};

struct sk_buff {
	u32 len;
};

struct netinc_port {
	u32 ifindex;
	u64 *stats;
};

struct netinc_run {
	struct sk_buff *s;
	u32 first, n;
};

struct netinc_path {
	struct netinc_peer peer;
	u8 local[16];
};

struct netinc_link {
	struct netinc_path path;
	struct netinc_port *port;
	u32 host, first, next;
	bool hears;
};

struct netinc_tenant;

struct netinc_node_group {
	struct netinc_net *nn;
	struct netinc_tenant *tenant;
	bool dead;
	u64 unbooked;
	u32 rx_left;
	int txq;
	bool hosts_changed, hearing_known;
	struct netinc_path many;
	u32 way;
	int timer;
	struct netinc_link *link;
	struct netinc_group grp;
};

struct netinc_rx {
	struct netinc_net *nn;
	struct sk_buff *skb;
	struct net_device *dev;
	struct netinc_peer peer;
	u32 seg_size, left, body;
	bool ce, used;
	struct netinc_pkt pkt;
};

static inline u32 netinc_rx_packets(const struct netinc_rx *rx)
{
	return DIV_ROUND_UP(rx->skb->len, rx->seg_size);
}

static inline u32 netinc_rx_bytes(const struct netinc_rx *rx)
{
	return rx->skb->len;
}

static inline void netinc_stats_add(u64 *stats, u32 first, const u64 *add, u32 n)
{
	while (n--)
		stats[first + n] += add[n];
}

u64 ktime_get_ns(void);
int netinc_rx_next(struct netinc_rx *rx);
const void *netinc_rx_body(const struct netinc_rx *rx, void *buf);
void netinc_rx_dropped(struct netinc_rx *rx, u32 group, enum inc_counter reason);
void netinc_net_count(struct netinc_net *nn, enum inc_counter c, u64 n);
void netinc_node_group_lock(struct netinc_node_group *g);
void netinc_node_group_unlock(struct netinc_node_group *g);
void netinc_fold_begin(struct netinc_node_group *g);
void netinc_fold_end(struct netinc_node_group *g);
void netinc_history_ended(struct netinc_net *nn, const struct netinc_group *g);
int netinc_tenant_may_work(struct netinc_tenant *tenant, u32 bytes, u64 now, bool *congested);
int netinc_tenant_in_debt(struct netinc_tenant *tenant, u64 now);
void netinc_tenant_worked(struct netinc_tenant *tenant, u64 nsec);

u32 netinc_node_group_hearing(struct netinc_node_group *g);

static inline bool netinc_node_group_is_host(const struct netinc_node_group *g, u32 child)
{
	return g->link[child].host == child && g->grp.members[child].present;
}

void netinc_node_group_send(struct netinc_node_group *g, u32 child, struct sk_buff *skb);
void netinc_node_group_send_run(struct netinc_node_group *g, u32 child,
				const struct netinc_run *run);
void netinc_node_group_find_hosts(struct netinc_node_group *g);
void netinc_node_group_rx(struct netinc_node_group *g, struct netinc_rx *rx);

#endif
