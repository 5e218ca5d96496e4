// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a rank needs to go on at another node. Results are kept as the packets that brought them, own contributions as
 * the pages that carried them: nothing is copied before it is needed.
 */
#include <linux/slab.h>
#include "failover.h"
#include "netlink.h"
#include "rank.h"

bool netinc_failover_keep_room(struct netinc_ep *ep, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		ep->kept[i] = kcalloc(NETINC_KEPT_CHUNK, sizeof(*ep->kept[i]), GFP_ATOMIC | __GFP_NOWARN);
		if (!ep->kept[i])
			goto err;
	}
	return true;

err:
	while (i--) {
		kfree(ep->kept[i]);
		ep->kept[i] = NULL;
	}
	return false;
}

bool netinc_failover_keep(struct netinc_ep *ep, struct netinc_pay *pay)
{
	netinc_skb_hold(pay->obj);
	skb_get(pay->obj);
	return true;
}

void netinc_failover_forget(struct netinc_ep *ep, struct netinc_pay *pay)
{
	if (pay->flags & INC_F_FINAL)
		consume_skb(pay->obj);
	else
		netinc_super_put(pay->obj);
}

void netinc_failover_copy(const struct netinc_pay *pay, void *to, u32 len)
{
	u32 skip = pay->flags & INC_F_DESC ? sizeof(struct inc_desc) : 0;

	if (!(pay->flags & INC_F_FINAL))
		memcpy(to, netinc_super_unit(pay->obj, pay->off) + sizeof(struct inc_hdr) + skip, len);
	else if (skb_copy_bits(pay->obj, pay->off + skip, to, len))
		memset(to, 0, len);	/* cannot be: it was this long when it was kept */
}

void netinc_failover_fini(struct netinc_ep *ep)
{
	u32 i;

	netinc_ep_keep_drop(ep);
	for (i = 0; i < ARRAY_SIZE(ep->kept); i++) {
		kfree(ep->kept[i]);
		ep->kept[i] = NULL;
	}
}

/* A link-local address is on the link of the one that the rank was connected to. */
u32 netinc_failover_oif(const struct netinc_rank *rank, const struct netinc_peer *peer)
{
	const struct in6_addr *addr = (const void *)peer->addr;

	if (peer->family == AF_INET6 && (ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL))
		return rank->ep.plan[0].ifindex;
	return 0;
}

bool netinc_failover_retarget(struct netinc_ep *ep, u32 at)
{
	struct netinc_rank *rank = netinc_rank_of(ep);

	rank->path.peer = ep->plan[at];
	rank->path.oif = netinc_failover_oif(rank, &ep->plan[at]);
	dst_cache_reset_now(&rank->path.dst);
	netinc_nl_event_rank(rank->path.net, INC_EVENT_MOVING, ep);
	return true;
}

void netinc_failover_send_to(struct netinc_ep *ep, const struct netinc_peer *peer, const struct netinc_pkt *pkt,
			     const void *body, u32 len)
{
	struct netinc_rank *rank = netinc_rank_of(ep);
	struct netinc_path path = { .net = rank->path.net, .peer = *peer, .sport = rank->path.sport,
				    .oif = netinc_failover_oif(rank, peer) };

	netinc_rank_transmit_by(rank, &path, netinc_control_skb(pkt, body, len));
}
