/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Of Linux, core/nf_hooks.h, node/node_group.h and node/tenant.h what node/uplink_io.c uses, for
 * test_uplink_io.c.
 */
#ifndef INC_STUB_UPLINK_IO_H
#define INC_STUB_UPLINK_IO_H

#include <arpa/inet.h>
#include <errno.h>

#include "engine/group.h"

#define U16_MAX			0xffffu
#define GFP_ATOMIC		0
#define __GFP_NOWARN		0
#define NETINC_MAX_BODY		1024
#define NETINC_HEADROOM		64
#define gfp_t			unsigned int
#define noinline
#define __aligned(n)
#define atomic64_add(n, v)	(*(v) += (n))

struct net;

struct netinc_net {
	struct net *net;
};

struct sk_buff {
	u32 len, room;
	u8 data[2048];
};

struct netinc_path {
	struct netinc_peer peer;
};

struct netinc_gso_buf {
	u32 refs;
	u8 segment[4][256];
};

struct netinc_run {
	struct netinc_gso_buf *s;
	u32 first, n;
};

struct netinc_tenant;

enum netinc_demux_kind { NETINC_DEMUX_UPLINK, NETINC_DEMUX_UPLINK_NONCE };

struct netinc_demux_key {
	u32 number, group;
	enum netinc_demux_kind kind;
};

struct netinc_node_group;

/* Groups in a row, instead of a hash. */
struct rhlist_head {
	struct rhlist_head *next;
	struct netinc_node_group *g;
};

static inline struct rhlist_head **first_group(struct rhlist_head **at, struct rhlist_head *head)
{
	*at = head;
	return at;
}

static inline bool next_group(struct rhlist_head **at, struct netinc_node_group **g)
{
	if (!*at)
		return false;
	*g = (*at)->g;
	*at = (*at)->next;
	return true;
}

#define rhl_for_each_entry_rcu(group, at, head, member)			\
	for (struct rhlist_head **at_ = first_group(&(at), head); next_group(at_, &(group));)

struct netinc_node_group {
	struct netinc_net *nn;
	struct netinc_tenant *tenant;
	bool dead;
	struct {
		u32 vrf;
	} creator;
	u64 unbooked;
	u32 rx_left;
	int txq;
	struct netinc_path up_path;
	struct netinc_run up_run;
	struct netinc_pkt up_empty;
	struct netinc_group grp;
};

struct netinc_rx {
	struct netinc_net *nn;
	struct sk_buff *skb;
	struct netinc_peer peer;
	u32 vrf, seg_size, left, body, work, takers;
	bool ce, used;
	enum inc_counter drop;
	struct netinc_pkt pkt;
};

extern unsigned short netinc_port;

u32 get_random_u32(void);
u64 ktime_get_ns(void);
u64 netinc_now(void);
int netinc_path_init(struct netinc_path *path, struct net *net, const struct netinc_peer *peer,
		     __be16 sport, u32 oif, gfp_t gfp);
int netinc_path_mtu(struct netinc_path *path);
int netinc_txq_add(int *txq, struct netinc_path *path, struct sk_buff *skb);
u32 netinc_skb_packets(const struct sk_buff *skb);
u32 netinc_skb_ip_bytes(const struct sk_buff *skb, u32 headers);
struct sk_buff *netinc_control_skb(const struct netinc_pkt *pkt, const void *body, u32 len);
struct sk_buff *netinc_header_skb(const struct netinc_pkt *pkt);
struct sk_buff *netinc_gso_buf_skb(struct netinc_gso_buf *s, u32 first, u32 n);
const void *netinc_gso_buf_segment(const struct netinc_gso_buf *s, u32 at);
void netinc_gso_buf_get(struct netinc_gso_buf *s);
struct sk_buff *alloc_skb(u32 len, gfp_t gfp);
void skb_reserve(struct sk_buff *skb, u32 len);
void *skb_put_data(struct sk_buff *skb, const void *data, u32 len);
void netinc_fold_put(struct netinc_node_group *g, struct netinc_gso_buf *s);
void netinc_fold_begin(struct netinc_node_group *g);
void netinc_fold_end(struct netinc_node_group *g);
void netinc_fpu_section_outside(void);
void netinc_node_group_lock(struct netinc_node_group *g);
void netinc_node_group_unlock(struct netinc_node_group *g);
bool netinc_node_group_in_vrf(const struct netinc_node_group *g, u32 vrf);
void netinc_tenant_worked(struct netinc_tenant *tenant, u64 nsec);
struct rhlist_head *netinc_demux_find(struct netinc_net *nn, const struct netinc_demux_key *key);

u32 netinc_rx_packets(const struct netinc_rx *rx);
u32 netinc_rx_bytes(const struct netinc_rx *rx);
int netinc_rx_next(struct netinc_rx *rx);
const void *netinc_rx_body(const struct netinc_rx *rx, void *buf);
bool netinc_rx_nonce(const struct netinc_rx *rx, u32 *nonce);
bool netinc_rx_may_offer(struct netinc_rx *rx);
bool netinc_rx_may_hand(struct netinc_rx *rx);
void netinc_rx_dropped(struct netinc_rx *rx, u32 group, enum inc_counter reason);
bool netinc_uplink_rx_skb(struct netinc_rx *rx);

#endif
