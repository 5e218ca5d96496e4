// SPDX-License-Identifier: GPL-2.0-only
/* Answers to the edge of this box about the ranks that live here: see node/edge.h. */
#include <linux/rculist.h>
#include <net/l3mdev.h>
#include "core/limits.h"
#include "host/rank.h"
#include "host/socket.h"
#include "node/edge.h"

static struct hlist_head *ranks_of(struct netinc_net *nn, const struct netinc_meeting *meeting)
{
	return &nn->ranks[netinc_bucket(nn, meeting->group, meeting->job)];
}

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
static bool goes_on_here(const struct netinc_rank *rank, const struct netinc_meeting *meeting,
			 u64 lineage)
{
	const struct netinc_ep *ep = &rank->ep;

	if (!lineage || ep->cfg.group != meeting->group || ep->cfg.job != meeting->job)
		return false;
	if (READ_ONCE(ep->lineage) == lineage &&
	    READ_ONCE(ep->settings.fallback) == INC_FALLBACK_EDGE)
		return true;
	/* it has begun to shrink */
	return ep->cfg.prev.lineage == lineage &&
	       ep->cfg.prev.settings.fallback == INC_FALLBACK_EDGE;
}

/* What its JOINs say. */
static void describe_run(const struct netinc_rank *rank, struct netinc_meeting *meeting,
			 u64 lineage)
{
	const struct netinc_ep *ep = &rank->ep;

	meeting->size = READ_ONCE(ep->cfg.size);
	meeting->block = READ_ONCE(ep->block) ?: ep->cfg.block;
	/* READY may write them meanwhile: in each epoch of a group the same */
	meeting->settings = READ_ONCE(ep->lineage) == lineage ? data_race(ep->settings) :
								ep->cfg.prev.settings;
}

bool netinc_edge_find_key(struct netinc_net *nn, struct netinc_meeting *meeting, u64 lineage,
			  u8 *key)
{
	struct netinc_rank *rank;

	hlist_for_each_entry_rcu(rank, ranks_of(nn, meeting), hash) {
		if (!goes_on_here(rank, meeting, lineage))
			continue;
		memcpy(key, rank->ep.cfg.key, INC_KEY_LEN);
		describe_run(rank, meeting, lineage);
		return true;
	}
	return false;
}

static bool is_meeting(struct netinc_net *nn, const struct netinc_rank *rank,
		       const struct netinc_meeting *meeting)
{
	const struct netinc_ep *ep = &rank->ep;
	u8 state = READ_ONCE(ep->state);

	if (ep->cfg.group != meeting->group || ep->cfg.job != meeting->job || !ep->cfg.at_edge ||
	    READ_ONCE(ep->cfg.rank) || ep->cfg.prev.lineage)
		return false;
	if (state == INC_STATE_FAILED || state == INC_STATE_CLOSED)
		return false;
	return meeting->vrf == l3mdev_master_ifindex_by_index(nn->net, rank->path.oif);
}

bool netinc_edge_find_meeting(struct netinc_net *nn, struct netinc_meeting *meeting, u8 *key)
{
	struct netinc_rank *rank;

	hlist_for_each_entry_rcu(rank, ranks_of(nn, meeting), hash) {
		if (!is_meeting(nn, rank, meeting))
			continue;
		memcpy(key, rank->ep.cfg.key, INC_KEY_LEN);
		meeting->size = READ_ONCE(rank->ep.cfg.size);
		meeting->block = rank->ep.cfg.block;
		return true;
	}
	return false;
}

static bool pays_for(struct netinc_net *nn, const struct netinc_rank *rank,
		     const struct netinc_meeting *meeting, u64 lineage)
{
	return lineage ? goes_on_here(rank, meeting, lineage) : is_meeting(nn, rank, meeting);
}

struct netinc_user *netinc_edge_find_payer(struct netinc_net *nn,
					   const struct netinc_meeting *meeting, u64 lineage)
{
	struct netinc_user *user = NULL;
	struct netinc_rank *rank;

	rcu_read_lock();
	hlist_for_each_entry_rcu(rank, ranks_of(nn, meeting), hash) {
		if (!pays_for(nn, rank, meeting, lineage) ||
		    !kref_get_unless_zero(&rank->user->ref))
			continue;
		user = rank->user;
		break;
	}
	rcu_read_unlock();
	return user;
}

struct sock *netinc_edge_find_socket(struct netinc_net *nn, const struct netinc_meeting *meeting,
				     u64 lineage)
{
	struct netinc_rank *rank, *found = NULL;
	struct sock *sk;

	rcu_read_lock();
	hlist_for_each_entry_rcu(rank, ranks_of(nn, meeting), hash) {
		if (!pays_for(nn, rank, meeting, lineage) || !kref_get_unless_zero(&rank->ref))
			continue;
		found = rank;
		break;
	}
	rcu_read_unlock();
	if (!found)
		return NULL;
	sk = found->sk;
	sock_hold(sk);
	netinc_rank_put(found);
	return sk;
}

struct netinc_user *netinc_edge_user(struct sock *payer)
{
	return netinc_sk(payer)->user;
}

struct mem_cgroup *netinc_edge_memcg(struct sock *payer)
{
	return netinc_sk(payer)->memcg;
}
