/* SPDX-License-Identifier: GPL-2.0-only */
/* The way to a peer: a cached route, headers, and out. */
#ifndef NETINC_CORE_PATH_H
#define NETINC_CORE_PATH_H

#include <linux/cpumask.h>
#include <linux/skbuff.h>
#include <net/dst_cache.h>
#include "core/netns.h"
#include "engine/engine.h"

/*
 * The way to a peer: addresses, ports and a cached route. Caller holds the lock of the object that
 * owns it.
 */
struct netinc_path {
	struct net *net;
	/* of a rank: its mark, priority, device and user are those of the packets, see socket(7) */
	const struct sock *sk;
	struct netinc_peer peer;	/* udp_port: destination */
	__be16 sport;
	u32 oif;			/* interface of link-local addresses, or the VRF; 0: none */
	u8 local[16];			/* source address; zeros: the one that the route has */
	bool multicast;			/* it leads to an IPv4 multicast group, by `oif` */
	/* device and mark that the routes in `dst` were looked up for: the socket's may change */
	u32 cached_oif;
	u32 cached_mark;
	struct dst_cache dst;
};

/*
 * Bytes that a path has beside the structure: a cached route for each processor that there may be,
 * see net/core/dst_cache.c.
 */
static inline u32 netinc_path_extra(void)
{
	return num_possible_cpus() * (u32)(3 * sizeof(u64) + sizeof(struct in6_addr));
}

int netinc_path_init(struct netinc_path *path, struct net *net, const struct netinc_peer *peer,
		     __be16 sport, u32 oif, gfp_t gfp);
void netinc_path_destroy(struct netinc_path *path);
/* From now on it leads there, from @local, 16 bytes; whoever else uses it has to be kept out. */
void netinc_path_turn(struct netinc_path *path, const struct netinc_peer *peer, u32 oif,
		      const u8 *local);
/*
 * Bytes of IP payload beyond the UDP header that the route carries in one packet, or a negative
 * errno.
 */
int netinc_path_mtu(struct netinc_path *path);

/* Interface that what takes this path leaves by, 0: none, or none that leads to other machines. */
u32 netinc_path_ifindex(struct netinc_path *path);

/*
 * Adds UDP and IP headers to @skb (consumed) and puts it on @q with its route; 0 or a negative
 * errno (skb is freed).
 */
int netinc_path_queue(struct netinc_path *path, struct sk_buff *skb, struct sk_buff_head *q);
/* Sends what has been queued. No lock may be held that the receive path takes. */
void netinc_tx_flush(struct net *net, struct sk_buff_head *q);

/*
 * Source port of a group's tree, network order. GRO puts packets of one flow together: another
 * job's would be lost in there.
 */
__be16 netinc_sport(u64 job, u32 group, u32 tree, u8 stripe);

#endif
