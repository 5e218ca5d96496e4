// SPDX-License-Identifier: GPL-2.0-only
/*
 * Retained payload, with which a rank can go on at another node. It is copied: a packet may be much
 * larger than the little of it that has to be kept, and nobody is charged for packets.
 */
#include <linux/local_lock.h>
#include <linux/log2.h>
#include <linux/percpu.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "host/retain.h"
#include "host/payload.h"
#include "core/events.h"
#include "host/rank.h"
#include "host/socket.h"

struct paying {
	/* the CPU's active memcg in softirq, as far as it is changed here */
	local_lock_t lock;
};

static DEFINE_PER_CPU(struct paying, paying) = { .lock = INIT_LOCAL_LOCK(lock) };

/*
 * Room for @n chunks of entries, places for what they stand for, and one more place: what is new is
 * kept before what is old goes.
 */
static int charge_store(struct netinc_rank *rank, u32 n)
{
	struct netinc_store *store = &rank->store;
	s64 bytes;
	int err;

	store->place = roundup_pow_of_two(rank->ep.cfg.block);
	store->most = n * NETINC_RETAIN_CHUNK + 1;
	bytes = (s64)store->most * store->place +
		n * NETINC_RETAIN_CHUNK * sizeof(*rank->ep.retained[0]);
	err = netinc_charge(rank->nn, rank->user, INC_LIMIT_SOCKET_MEMORY, bytes);
	if (!err)
		store->charged = bytes;
	return err;
}

static void uncharge_store(struct netinc_rank *rank)
{
	netinc_uncharge(rank->nn, rank->user, INC_LIMIT_SOCKET_MEMORY, rank->store.charged);
	rank->store.charged = 0;
}

/*
 * Paid for by the cgroup of who made the socket, and not by whoever is interrupted. Which one pays
 * is a CPU's, in softirq: where softirqs may be preempted (PREEMPT_RT) the lock keeps another one
 * from restoring it in the wrong order.
 */
static void *alloc_charged(struct netinc_rank *rank, size_t n, size_t size)
{
	struct mem_cgroup *old;
	void *p;

	local_lock_nested_bh(&paying.lock);
	old = set_active_memcg(netinc_sk(rank->sk)->memcg);
	p = kcalloc(n, size, GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN);
	set_active_memcg(old);
	local_unlock_nested_bh(&paying.lock);
	return p;
}

static void free_entries(struct netinc_ep *ep)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ep->retained); i++) {
		kfree(ep->retained[i]);
		ep->retained[i] = NULL;
	}
}

bool netinc_retain_init(struct netinc_ep *ep, u32 n)
{
	struct netinc_rank *rank = netinc_rank_of(ep);
	u32 i;

	rank->store.refused = charge_store(rank, n);
	if (rank->store.refused)
		return false;
	for (i = 0; i < n; i++) {
		ep->retained[i] =
			alloc_charged(rank, NETINC_RETAIN_CHUNK, sizeof(*ep->retained[i]));
		if (ep->retained[i])
			continue;
		free_entries(ep);
		uncharge_store(rank);
		return false;
	}
	return true;
}

void *netinc_retain_place(struct netinc_rank *rank)
{
	struct netinc_store *store = &rank->store;
	void *place = store->spare;

	lockdep_assert_held(&rank->lock);
	if (place) {
		store->spare = *(void **)place;
		return place;
	}
	if (store->places == store->most)
		return NULL;
	place = alloc_charged(rank, 1, store->place);
	store->places += !!place;
	return place;
}

static void free_place(struct netinc_rank *rank, void *place)
{
	*(void **)place = rank->store.spare;
	rank->store.spare = place;
}

bool netinc_retain_payload(struct netinc_ep *ep, struct netinc_pay *pay)
{
	struct netinc_rank *rank = netinc_rank_of(ep);
	void *place;

	if (pay->len > rank->store.place)
		return false;
	place = netinc_retain_place(rank);
	if (!place)
		return false;
	if (!netinc_payload_read(pay, 0, place, pay->len)) {
		free_place(rank, place);
		return false;
	}
	/* the copy is of the elements alone */
	pay->obj = place;
	pay->off = 0;
	pay->flags &= ~(INC_F_DESC | INC_F_ZERO);
	return true;
}

void netinc_retain_release(struct netinc_ep *ep, struct netinc_pay *pay)
{
	free_place(netinc_rank_of(ep), pay->obj);
}

void netinc_retain_fini(struct netinc_rank *rank)
{
	struct netinc_store *store = &rank->store;
	void *place;

	netinc_ep_retain_drop(&rank->ep);
	free_entries(&rank->ep);
	while ((place = store->spare)) {
		store->spare = *(void **)place;
		kfree(place);
		store->places--;
	}
	WARN_ON_ONCE(store->places);
	uncharge_store(rank);
}

/*
 * A link-local address is on the link of the one that the rank was connected to. Others are reached
 * by the device that the socket is bound to, or in the VRF of that link.
 */
u32 netinc_rank_oif(const struct netinc_rank *rank, const struct netinc_peer *peer)
{
	const struct in6_addr *addr = (const void *)peer->addr;

	if (peer->family == AF_INET6 && (ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL))
		return rank->ep.plan[0].ifindex;
	return READ_ONCE(rank->sk->sk_bound_dev_if) ? 0 : rank->vrf;
}

bool netinc_rank_retarget(struct netinc_ep *ep, u32 at)
{
	struct netinc_rank *rank = netinc_rank_of(ep);

	/* with a cookie of the place that it leaves */
	netinc_payload_flush(rank);
	rank->path.peer = ep->plan[at];
	rank->path.oif = netinc_rank_oif(rank, &ep->plan[at]);
	dst_cache_reset_now(&rank->path.dst);
	netinc_event_rank(rank->path.net, INC_EVENT_MOVING, ep);
	return true;
}

void netinc_rank_send_to(struct netinc_ep *ep, const struct netinc_peer *peer,
			 const struct netinc_pkt *pkt, const void *body, u32 len)
{
	struct netinc_rank *rank = netinc_rank_of(ep);
	struct netinc_path path = { .net = rank->path.net, .sk = rank->sk, .peer = *peer,
				    .sport = rank->path.sport,
				    .oif = netinc_rank_oif(rank, peer) };

	netinc_rank_transmit_by(rank, &path, netinc_control_skb(pkt, body, len));
}
