// SPDX-License-Identifier: GPL-2.0-only
/* Answers to the edge of this box about the ranks that live here: see node/edge.h. */
#include <linux/mm.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include "core/limits.h"
#include "host/rank.h"
#include "host/socket.h"
#include "node/edge.h"

bool netinc_edge_root_alive(struct netinc_net *nn, const struct netinc_group *grp, u32 nonce)
{
	struct netinc_demux_key key = { .number = nonce, .group = grp->cfg.id,
					.kind = NETINC_DEMUX_RANK_NONCE };
	const struct netinc_rank *rank;
	struct rhlist_head *pos;
	bool found = false;

	rcu_read_lock();
	rhl_for_each_entry_rcu(rank, pos, netinc_demux_find(nn, &key), by_nonce.list) {
		const struct netinc_ep *ep = &rank->ep;

		found |= READ_ONCE(ep->cfg.rank) == grp->agg.tree &&
			 READ_ONCE(ep->incarnation) == grp->cfg.incarnation &&
			 READ_ONCE(ep->epoch) == grp->epoch &&
			 READ_ONCE(ep->state) != INC_STATE_FAILED;
	}
	rcu_read_unlock();
	return found;
}

/* Has it been in the group with this lineage, which goes on at the edge? */
static bool goes_on_here(const struct netinc_rank *rank, const struct netinc_meeting *meeting)
{
	const struct netinc_ep *ep = &rank->ep;

	if (ep->cfg.group != meeting->group || ep->cfg.job != meeting->job)
		return false;
	if (READ_ONCE(ep->lineage) == meeting->lineage &&
	    READ_ONCE(ep->settings.fallback) == INC_FALLBACK_EDGE)
		return true;
	/* it has begun to shrink */
	return ep->cfg.prev.lineage == meeting->lineage &&
	       ep->cfg.prev.settings.fallback == INC_FALLBACK_EDGE;
}

/* Is it rank 0, at whose host the group is to meet? */
static bool is_meeting(const struct netinc_rank *rank, const struct netinc_meeting *meeting)
{
	const struct netinc_ep *ep = &rank->ep;
	u8 state = READ_ONCE(ep->state);

	if (ep->cfg.group != meeting->group || ep->cfg.job != meeting->job || !ep->cfg.at_edge ||
	    READ_ONCE(ep->cfg.rank) || ep->cfg.prev.lineage ||
	    !netinc_stripe_same(ep->cfg.stripe, meeting->stripe))
		return false;
	if (state == INC_STATE_FAILED || state == INC_STATE_CLOSED)
		return false;
	return meeting->vrf == rank->vrf;
}

/* What its JOINs say. */
static void describe_run(const struct netinc_rank *rank, struct netinc_meeting *meeting)
{
	const struct netinc_ep *ep = &rank->ep;

	meeting->size = READ_ONCE(ep->cfg.size);
	meeting->stripe = ep->cfg.stripe;
	meeting->block = READ_ONCE(ep->block) ?: ep->cfg.block;
	/* READY may write them meanwhile: in each epoch of a group the same */
	meeting->settings = READ_ONCE(ep->lineage) == meeting->lineage ? data_race(ep->settings) :
									 ep->cfg.prev.settings;
}

static struct rhlist_head *ranks_by(struct netinc_net *nn, const struct netinc_meeting *meeting,
				    enum netinc_demux_kind kind, u64 token)
{
	struct netinc_demux_key key = { .token = token, .group = meeting->group, .kind = kind };

	return netinc_demux_find(nn, &key);
}

/*
 * Others may say that they are what the group is for, and another size: one that agrees with who
 * asks goes before them.
 */
static bool has_size(const struct netinc_rank *rank, const struct netinc_meeting *meeting)
{
	return READ_ONCE(rank->ep.cfg.size) == meeting->size;
}

/* A rank that has been in the group that comes here. */
static struct netinc_rank *find_former(struct netinc_net *nn, const struct netinc_meeting *meeting)
{
	struct netinc_rank *rank, *found = NULL;
	struct rhlist_head *pos;

	rhl_for_each_entry_rcu(rank, pos,
			       ranks_by(nn, meeting, NETINC_DEMUX_RANK_LINEAGE, meeting->lineage),
			       by_lineage.list) {
		if (!goes_on_here(rank, meeting))
			continue;
		if (has_size(rank, meeting))
			return rank;
		found = rank;
	}
	rhl_for_each_entry_rcu(rank, pos,
			       ranks_by(nn, meeting, NETINC_DEMUX_RANK_SHRINKS, meeting->lineage),
			       by_number.list) {
		if (!goes_on_here(rank, meeting))
			continue;
		if (has_size(rank, meeting))
			return rank;
		found = rank;
	}
	return found;
}

/* Rank 0 of the group that is to meet here. */
static struct netinc_rank *find_root(struct netinc_net *nn, const struct netinc_meeting *meeting)
{
	struct netinc_rank *rank, *found = NULL;
	struct rhlist_head *pos;

	rhl_for_each_entry_rcu(rank, pos,
			       ranks_by(nn, meeting, NETINC_DEMUX_RANK_NUMBER, meeting->job),
			       by_number.list) {
		if (!is_meeting(rank, meeting))
			continue;
		if (has_size(rank, meeting))
			return rank;
		found = rank;
	}
	return found;
}

/* A rank that the group is for. Under RCU */
static struct netinc_rank *find_rank(struct netinc_net *nn, struct netinc_meeting *meeting)
{
	struct netinc_rank *found = meeting->lineage ? find_former(nn, meeting) :
						       find_root(nn, meeting);

	if (found)
		describe_run(found, meeting);
	return found;
}

bool netinc_edge_find_key(struct netinc_net *nn, struct netinc_meeting *meeting, u8 *key)
{
	const struct netinc_rank *rank = find_rank(nn, meeting);

	if (rank)
		memcpy(key, rank->ep.cfg.key, INC_KEY_LEN);
	return rank;
}

struct netinc_user *netinc_edge_find_payer(struct netinc_net *nn, struct netinc_meeting *meeting)
{
	struct netinc_user *user = NULL;
	struct netinc_rank *rank;

	rcu_read_lock();
	rank = find_rank(nn, meeting);
	if (rank && kref_get_unless_zero(&rank->user->ref))
		user = rank->user;
	rcu_read_unlock();
	return user;
}

struct sock *netinc_edge_find_socket(struct netinc_net *nn, struct netinc_meeting *meeting)
{
	struct netinc_rank *rank;
	struct sock *sk;

	rcu_read_lock();
	rank = find_rank(nn, meeting);
	if (rank && !kref_get_unless_zero(&rank->ref))
		rank = NULL;
	rcu_read_unlock();
	if (!rank)
		return NULL;
	sk = rank->sk;
	sock_hold(sk);
	netinc_rank_put(rank);
	return sk;
}

/* Is the rank that has asked for this tree in the same epoch still? */
static bool is_in_epoch_of(const struct netinc_rank *rank,
			   const struct netinc_tree_request *request)
{
	const struct netinc_ep *ep = &rank->ep;

	lockdep_assert_held(&rank->lock);
	return !rank->dead && ep->cfg.nonce == request->root_nonce &&
	       ep->incarnation == request->tree.incarnation && ep->epoch == request->tree.epoch;
}

/* False: it knows others by now. */
static bool copy_peers(struct netinc_rank *rank, const struct netinc_tree_request *request,
		       struct netinc_peer *peers)
{
	const struct netinc_ep *ep = &rank->ep;
	bool known;
	u32 i;

	spin_lock_bh(&rank->lock);
	known = is_in_epoch_of(rank, request);
	for (i = 0; known && i < request->tree.size; i++) {
		peers[i] = ep->peers[i];
		peers[i].ifindex = netinc_rank_oif(rank, &ep->peers[i]);
	}
	spin_unlock_bh(&rank->lock);
	return known;
}

struct netinc_peer *netinc_edge_copy_peers(const struct netinc_tree_request *request)
{
	struct netinc_rank *rank = netinc_sock_rank(netinc_sk(request->payer));
	struct netinc_peer *peers;

	if (!rank)
		return NULL;
	peers = kvmalloc_array(request->tree.size, sizeof(*peers),
			       GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (peers && !copy_peers(rank, request, peers)) {
		kvfree(peers);
		peers = NULL;
	}
	netinc_rank_put(rank);
	return peers;
}

struct netinc_user *netinc_edge_user(struct sock *payer)
{
	return netinc_sk(payer)->user;
}

struct mem_cgroup *netinc_edge_memcg(struct sock *payer)
{
	return netinc_sk(payer)->memcg;
}
