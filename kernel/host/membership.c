// SPDX-License-Identifier: GPL-2.0-only
/*
 * Joins the IP multicast group that a rank's results are sent to, on the device that its path to
 * the node uses, and leaves it. IP does that for sockets, in process context and with rtnl: each
 * rank that is in a group has a socket of its own for it, which gets nothing, as it has no port.
 * What is sent to the group comes by the hooks like everything else.
 *
 * Who has many ranks has as much work of that kind, which waits for rtnl: it has a workqueue of its
 * own. On one of the system's it would keep others' work from being done, also such that the holder
 * of rtnl waits for.
 */
#include <linux/net.h>
#include <net/sock.h>
#include "host/membership.h"
#include "host/rank.h"

static struct workqueue_struct *membership_wq;

static __be32 wanted_group(const struct netinc_rank *rank)
{
	const struct netinc_peer *group = netinc_ep_multicast_group(&rank->ep);
	__be32 addr = 0;

	if (group && group->family == AF_INET)
		memcpy(&addr, group->addr, sizeof(addr));
	return addr;
}

bool netinc_membership_changed(const struct netinc_rank *rank)
{
	__be32 wanted;

	lockdep_assert_held(&rank->lock);
	/* most ranks have never been told of one */
	if (likely(!rank->ep.multicast.incarnation && !rank->membership.group))
		return false;
	wanted = wanted_group(rank);
	return wanted != rank->membership.group || (wanted && !rank->ep.multicast.tried);
}

bool netinc_membership_has(const struct netinc_rank *rank, const u8 *addr)
{
	__be32 wanted = wanted_group(rank);

	lockdep_assert_held(&rank->lock);
	return wanted && rank->ep.multicast.joined && !memcmp(&wanted, addr, sizeof(wanted));
}

static int add_membership(struct socket *sock, __be32 group, u32 ifindex)
{
	struct ip_mreqn req = { .imr_multiaddr.s_addr = group, .imr_ifindex = ifindex };

	return sock->ops->setsockopt(sock, SOL_IP, IP_ADD_MEMBERSHIP, KERNEL_SOCKPTR(&req),
				     sizeof(req));
}

/* NULL: it cannot be in the group. */
static struct socket *join_group(struct net *net, __be32 group, u32 ifindex)
{
	struct socket *sock;

	if (!ifindex || sock_create_kern(net, AF_INET, SOCK_DGRAM, IPPROTO_UDP, &sock))
		return NULL;
	if (!add_membership(sock, group, ifindex))
		return sock;
	sock_release(sock);
	return NULL;
}

static void leave_group(struct netinc_membership *m)
{
	if (m->sock)
		sock_release(m->sock);
	m->sock = NULL;
}

static void membership_work(struct work_struct *work)
{
	struct netinc_rank *rank = container_of(work, struct netinc_rank, membership.work);
	struct netinc_membership *m = &rank->membership;
	__be32 group;
	u32 ifindex;

	netinc_rank_lock(rank);
	/* it is queued again for what it is just doing */
	if (!netinc_membership_changed(rank)) {
		netinc_rank_unlock(rank);
		return;
	}
	group = wanted_group(rank);
	ifindex = group ? netinc_path_ifindex(&rank->path) : 0;
	m->group = group;
	netinc_rank_unlock(rank);
	leave_group(m);
	if (!group)
		return;
	m->sock = join_group(rank->nn->net, group, ifindex);
	netinc_rank_lock(rank);
	/* it may have changed once more, then this runs again */
	if (wanted_group(rank) == group && !rank->dead)
		netinc_ep_multicast_tried(&rank->ep, m->sock, rank->now);
	netinc_rank_unlock(rank);
}

void netinc_membership_init_rank(struct netinc_rank *rank)
{
	INIT_WORK(&rank->membership.work, membership_work);
}

void netinc_membership_update(struct netinc_rank *rank)
{
	queue_work(membership_wq, &rank->membership.work);
}

void netinc_membership_fini_rank(struct netinc_rank *rank)
{
	cancel_work_sync(&rank->membership.work);
	leave_group(&rank->membership);
}

int netinc_membership_init(void)
{
	/* one at a time: more would only wait for rtnl */
	membership_wq = alloc_workqueue("inc-multicast", WQ_UNBOUND, 1);
	return membership_wq ? 0 : -ENOMEM;
}

void netinc_membership_fini(void)
{
	destroy_workqueue(membership_wq);
}
