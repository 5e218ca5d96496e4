// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups as generic netlink shows them: those of this namespace's nodes, with their members, and
 * those that its sockets are ranks of. Each is read under its own lock; the lists are walked under
 * RCU.
 */
#include <linux/capability.h>
#include <linux/pid.h>
#include <linux/rculist.h>
#include "core/events.h"
#include "netlink/nl_policy.h"
#include "netlink/nl_put.h"
#include "node/node_group.h"
#include "node/node.h"
#include "host/rank.h"
#include "node/tenant.h"

#define LATE_MS		1000	/* longer is LATE, in words */
#define MISSING		32	/* ranks that are named */
#define HIDE		BIT(31)	/* told to fill functions: the reader may not see everything */

/* Filter of a dump by group number. */
static bool is_wanted(const struct netlink_callback *cb, u32 group)
{
	const struct nlattr *filter = nlmsg_find_attr(cb->nlh, GENL_HDRLEN, INC_A_GROUP_ID);

	return !filter || nla_get_u32(filter) == group;
}

/*
 * Numbers and progress are for everybody in the namespace. Which run of a group this is and where
 * its members are, which is what one has to know to disturb it, is for the namespace's
 * administrator, and for the user whose rank it is.
 */
static bool sees_all(const struct netlink_callback *cb)
{
	return netlink_net_capable(cb->skb, CAP_NET_ADMIN);
}

static bool is_own(const struct netlink_callback *cb, const struct netinc_rank *rank)
{
	return uid_eq(NETLINK_CREDS(cb->skb)->uid, rank->uid);
}

static int put_counter_nest(struct sk_buff *skb, int attr, const u64 *counters)
{
	struct nlattr *nest = nla_nest_start(skb, attr);

	if (!nest || netinc_nl_put_counters(skb, counters))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_waiting(struct sk_buff *skb, u32 rank, u32 ms)
{
	if (rank == NETINC_NO_RANK)
		return 0;
	if (nla_put_u32(skb, INC_A_GROUP_WAITING, rank) ||
	    (ms && nla_put_u32(skb, INC_A_GROUP_WAITED_MS, ms)))
		return -EMSGSIZE;
	return ms > LATE_MS ? nla_put_flag(skb, INC_A_GROUP_LATE) : 0;
}

/* Has the group still to hear of this rank before it can begin? */
static bool is_missing(const struct netinc_group *g, u32 rank)
{
	const struct netinc_member *m = &g->members[rank];

	if (g->state == INC_GROUP_JOINING)
		return !m->present && !m->gone && !g->owner[rank];
	return g->state == INC_GROUP_RESYNC && !m->rejoined;
}

static int put_missing(struct sk_buff *skb, const struct netinc_group *g)
{
	u32 rank[MISSING], i, n = 0;

	for (i = 0; i < g->nmembers && n < MISSING; i++)
		if (is_missing(g, i))
			rank[n++] = g->members[i].low;
	return n ? nla_put(skb, INC_A_GROUP_MISSING, n * sizeof(rank[0]), rank) : 0;
}

/*
 * The lowest rank that keeps the group from getting on, and for how long (0: unknown, before all
 * have joined).
 */
static u32 group_waiting(const struct netinc_group *g, u32 *ms)
{
	u64 now = netinc_now(), since = now;
	u32 rank = NETINC_NO_RANK, i;

	if (g->state == INC_GROUP_ACTIVE)
		rank = netinc_agg_waiting_rank(&g->agg, &since);
	for (i = 0; i < g->nmembers && rank == NETINC_NO_RANK; i++)
		if (is_missing(g, i))
			rank = g->members[i].low;
	*ms = now > since ? netinc_nl_to_ms(now - since) : 0;
	return rank;
}

static int put_trees(struct sk_buff *skb, u32 trees, u32 tree)
{
	if (trees > 1 && nla_put_u32(skb, INC_A_GROUP_TREES, trees))
		return -EMSGSIZE;
	return tree ? nla_put_u32(skb, INC_A_GROUP_TREE, tree) : 0;
}

static int put_job(struct sk_buff *skb, u64 job)
{
	return job ? netinc_nl_put_u64(skb, INC_A_GROUP_JOB, job) : 0;
}

static int put_stripe(struct sk_buff *skb, u8 stripe)
{
	return netinc_nl_put_stripe(skb, INC_A_GROUP_STRIPE, INC_A_GROUP_STRIPES, stripe);
}

static int put_group_node(struct sk_buff *skb, const struct netinc_node_group *ng)
{
	int err = netinc_node_is_edge(ng->node) ?
			  nla_put_u32(skb, INC_A_GROUP_PLACEMENT, INC_PLACEMENT_EDGE) :
			  nla_put_u32(skb, INC_A_GROUP_IFINDEX, ng->node->ifindex);

	if (err)
		return err;
	return ng->creator.vrf ? nla_put_u32(skb, INC_A_GROUP_VRF, ng->creator.vrf) : 0;
}

/* For how long has the place above not answered, though it has been asked @asked times? */
static int put_unanswered(struct sk_buff *skb, u32 asked, u64 heard)
{
	u64 now = netinc_now();

	if (asked < NETINC_SILENT_ASKED)
		return 0;
	return nla_put_u32(skb, INC_A_GROUP_UNANSWERED_MS,
			   now > heard ? netinc_nl_to_ms(now - heard) : 0);
}

/* In which order contributions are folded, from the first epoch on. */
static int put_order(struct sk_buff *skb, u32 epoch, bool tree)
{
	u8 order = tree ? INC_ORDER_TREE : INC_ORDER_CANONICAL;

	return epoch ? nla_put_u32(skb, INC_A_GROUP_ORDER, order) : 0;
}

/* The place that the node has in a tree of nodes. */
static int put_place(struct sk_buff *skb, const struct netinc_node_group *ng, bool hide)
{
	const struct netinc_group *g = &ng->grp;

	if (g->levels && nla_put_u32(skb, INC_A_GROUP_LEVELS, g->levels))
		return -EMSGSIZE;
	if (put_order(skb, g->epoch, g->tree_order))
		return -EMSGSIZE;
	if (!g->agg.root && g->agg.nparts > 1 &&
	    nla_put_u32(skb, INC_A_GROUP_PARTS, g->agg.nparts))
		return -EMSGSIZE;
	if (g->up.state == NETINC_UPLINK_NONE)
		return 0;
	if (put_unanswered(skb, netinc_group_over(g) ? 0 : g->up.unanswered, g->up.heard))
		return -EMSGSIZE;
	if (hide)
		return 0;
	return netinc_nl_put_parent_nest(skb, INC_A_GROUP_PARENT, &ng->up_path.peer);
}

/* Where results go, as an address is told, and how many hear them there. */
static int put_hearing(struct sk_buff *skb, const struct netinc_node_group *ng, bool hide)
{
	const struct netinc_group *g = &ng->grp;

	if (ng->way == NETINC_NO_RANK || !ng->many.net)
		return 0;
	if ((!hide && netinc_nl_put_addr(skb, INC_A_GROUP_MULTICAST, &g->cfg.multicast)) ||
	    nla_put_u32(skb, INC_A_GROUP_HEARING, g->multicast.hearing))
		return -EMSGSIZE;
	return 0;
}

static int put_group(struct sk_buff *skb, const struct netinc_node_group *ng, bool hide)
{
	const struct netinc_group *g = &ng->grp;
	u32 ms, waiting = group_waiting(g, &ms);

	if (nla_put_u32(skb, INC_A_GROUP_GROUP, g->cfg.id) ||
	    nla_put_u32(skb, INC_A_GROUP_ROLE, INC_ROLE_NODE) ||
	    nla_put_u32(skb, INC_A_GROUP_STATE, g->state) ||
	    put_group_node(skb, ng) || put_place(skb, ng, hide) ||
	    (ng->tenant && nla_put_string(skb, INC_A_GROUP_TENANT, ng->tenant->name)) ||
	    nla_put_u32(skb, INC_A_GROUP_FALLBACK, g->cfg.settings.fallback) ||
	    nla_put_u32(skb, INC_A_GROUP_MOVES, g->move) ||
	    (!hide && nla_put_u32(skb, INC_A_GROUP_INCARNATION, g->cfg.incarnation)) ||
	    nla_put_u32(skb, INC_A_GROUP_EPOCH, g->epoch) ||
	    nla_put_u32(skb, INC_A_GROUP_SIZE, g->cfg.size) ||
	    nla_put_u32(skb, INC_A_GROUP_JOINED,
			g->state == INC_GROUP_RESYNC ? g->rejoined : g->joined) ||
	    nla_put_u32(skb, INC_A_GROUP_WINDOW, g->cfg.settings.window) ||
	    nla_put_u32(skb, INC_A_GROUP_BLOCK, g->block) ||
	    netinc_nl_put_u64(skb, INC_A_GROUP_NEXT, g->agg.una) ||
	    netinc_nl_put_u64(skb, INC_A_GROUP_MEMORY, ng->held + ng->results))
		return -EMSGSIZE;
	return put_hearing(skb, ng, hide) ?:
	       put_trees(skb, g->agg.spread.trees, g->agg.tree) ?: put_waiting(skb, waiting, ms) ?:
	       put_job(skb, g->cfg.job) ?: put_stripe(skb, g->cfg.stripe) ?: put_missing(skb, g) ?:
	       netinc_nl_put_error_nest(skb, INC_A_GROUP_ERROR, &g->error) ?:
	       put_counter_nest(skb, INC_A_GROUP_STATS, g->counters);
}

static int fill_group(struct sk_buff *skb, void *obj, u32 arg)
{
	struct netinc_node_group *ng = obj;
	int err;

	spin_lock_bh(&ng->lock);
	err = put_group(skb, ng, arg & HIDE);
	spin_unlock_bh(&ng->lock);
	return err;
}

static int dump_group_bucket(struct sk_buff *skb, struct netlink_callback *cb,
			     struct hlist_head *bucket)
{
	struct netinc_nl_message m =
		netinc_nl_dump_message(cb, INC_CMD_GROUP_GET, INC_A_GROUP, fill_group);
	struct netinc_nl_cursor *at = netinc_nl_cursor(cb);
	struct netinc_node_group *ng;
	u32 index = 0;

	hlist_for_each_entry_rcu(ng, bucket, hash) {
		if (index++ < at->index)
			continue;
		if (is_wanted(cb, ng->grp.cfg.id) &&
		    netinc_nl_put(skb, &m, ng, sees_all(cb) ? 0 : HIDE))
			return -EMSGSIZE;
		at->index = index;
	}
	return 0;
}

/* Ranks of sockets */

/* The process as the reader of the dump, who is running this, knows it. */
static int put_pid_nr(struct sk_buff *skb, const struct netinc_rank *rank)
{
	pid_t pid = pid_vnr(rank->pid);

	return pid ? nla_put_u32(skb, INC_A_GROUP_PID, pid) : 0;
}

/* Its user likewise. */
static int put_uid_nr(struct sk_buff *skb, const struct netinc_rank *rank)
{
	uid_t uid = from_kuid(current_user_ns(), rank->uid);

	return uid == (uid_t)-1 ? 0 : nla_put_u32(skb, INC_A_GROUP_UID, uid);
}

static int put_heard(struct sk_buff *skb, const struct netinc_ep *ep, bool hide)
{
	const struct netinc_peer *group = netinc_ep_multicast_group(ep);

	return group && ep->multicast.joined && !hide ?
		       netinc_nl_put_addr(skb, INC_A_GROUP_MULTICAST, group) : 0;
}

static int put_rank(struct sk_buff *skb, const struct netinc_rank *rank, bool hide)
{
	const struct netinc_ep *ep = &rank->ep;
	bool joining = ep->state == INC_STATE_JOINING || ep->state == INC_STATE_WAITING;
	bool over = ep->state == INC_STATE_CLOSED || ep->state == INC_STATE_FAILED;
	u32 waiting;

	if (nla_put_u32(skb, INC_A_GROUP_GROUP, ep->cfg.group) ||
	    nla_put_u32(skb, INC_A_GROUP_ROLE, INC_ROLE_RANK) ||
	    nla_put_u32(skb, INC_A_GROUP_STATE, ep->state) ||
	    (!hide && nla_put_u32(skb, INC_A_GROUP_INCARNATION, ep->incarnation)) ||
	    nla_put_u32(skb, INC_A_GROUP_EPOCH, ep->epoch) ||
	    nla_put_u32(skb, INC_A_GROUP_SIZE, ep->cfg.size) ||
	    (joining && nla_put_u32(skb, INC_A_GROUP_JOINED, ep->joined)) ||
	    nla_put_u32(skb, INC_A_GROUP_RANK, ep->cfg.rank) ||
	    nla_put_u32(skb, INC_A_GROUP_WINDOW, ep->settings.window) ||
	    nla_put_u32(skb, INC_A_GROUP_BLOCK, ep->block) ||
	    netinc_nl_put_u64(skb, INC_A_GROUP_NEXT, ep->una) ||
	    nla_put_u32(skb, INC_A_GROUP_SRTT, ep->cc.srtt) ||
	    nla_put_u32(skb, INC_A_GROUP_CWND, ep->cc.cwnd) ||
	    put_pid_nr(skb, rank) || put_uid_nr(skb, rank) ||
	    nla_put_u32(skb, INC_A_GROUP_FALLBACK, ep->settings.fallback) ||
	    nla_put_u32(skb, INC_A_GROUP_PLACEMENT, netinc_ep_placement(ep)) ||
	    nla_put_u32(skb, INC_A_GROUP_MOVES, ep->move))
		return -EMSGSIZE;
	waiting = joining || ep->head ? ep->waiting : NETINC_NO_RANK;
	if (!hide && netinc_nl_put_parent_nest(skb, INC_A_GROUP_PARENT, &rank->path.peer))
		return -EMSGSIZE;
	return put_trees(skb, ep->spread.trees, 0) ?: put_job(skb, ep->cfg.job) ?:
		       put_stripe(skb, ep->cfg.stripe) ?: put_heard(skb, ep, hide) ?:
		       put_unanswered(skb, over ? 0 : ep->tree[0].unanswered, ep->tree[0].heard) ?:
		       put_order(skb, ep->epoch, ep->tree_order) ?:
		       put_waiting(skb, waiting, ep->waited_ms) ?:
		       netinc_nl_put_error_nest(skb, INC_A_GROUP_ERROR, &ep->error) ?:
		       put_counter_nest(skb, INC_A_GROUP_STATS, ep->counters);
}

static int fill_rank(struct sk_buff *skb, void *obj, u32 arg)
{
	struct netinc_rank *rank = obj;
	int err;

	spin_lock_bh(&rank->lock);
	err = put_rank(skb, rank, arg & HIDE);
	spin_unlock_bh(&rank->lock);
	return err;
}

static int dump_rank_bucket(struct sk_buff *skb, struct netlink_callback *cb,
			    struct hlist_head *bucket)
{
	struct netinc_nl_message m =
		netinc_nl_dump_message(cb, INC_CMD_GROUP_GET, INC_A_GROUP, fill_rank);
	struct netinc_nl_cursor *at = netinc_nl_cursor(cb);
	struct netinc_rank *rank;
	u32 index = 0;

	hlist_for_each_entry_rcu(rank, bucket, hash) {
		if (index++ < at->index)
			continue;
		if (is_wanted(cb, rank->ep.cfg.group) &&
		    netinc_nl_put(skb, &m, rank, sees_all(cb) || is_own(cb, rank) ? 0 : HIDE))
			return -EMSGSIZE;
		at->index = index;
	}
	return 0;
}

typedef int (*bucket_fn)(struct sk_buff *skb, struct netlink_callback *cb,
			 struct hlist_head *bucket);

static int dump_hash(struct sk_buff *skb, struct netlink_callback *cb, struct hlist_head *hash,
		     bucket_fn dump)
{
	struct netinc_nl_cursor *at = netinc_nl_cursor(cb);
	int err;

	for (; at->bucket < 1 << NETINC_HASH_BITS; at->bucket++, at->index = 0) {
		err = dump(skb, cb, &hash[at->bucket]);
		if (err)
			return err;
	}
	at->table++;
	at->bucket = 0;
	return 0;
}

int inc_nl_group_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct netinc_net *nn = netinc_nl_dump_net(cb);
	int err = 0;

	netinc_nl_dump_list(cb, NETINC_LIST_GROUPS);
	rcu_read_lock();
	if (netinc_nl_cursor(cb)->table == 0)
		err = dump_hash(skb, cb, nn->groups, dump_group_bucket);
	if (!err && netinc_nl_cursor(cb)->table == 1)
		err = dump_hash(skb, cb, nn->ranks, dump_rank_bucket);
	rcu_read_unlock();
	return netinc_nl_dump_status(skb, err);
}

/* Members of nodes' groups */

static u8 member_state(const struct netinc_group *g, const struct netinc_member *m)
{
	switch ((enum inc_group_state)g->state) {
	case INC_GROUP_JOINING:
		return m->present ? INC_STATE_WAITING : INC_STATE_JOINING;
	case INC_GROUP_ACTIVE:
		return m->left ? INC_STATE_LEAVING : INC_STATE_READY;
	case INC_GROUP_RESYNC:
		return m->rejoined ? INC_STATE_WAITING : INC_STATE_RESYNC;
	case INC_GROUP_FAILED:
		return INC_STATE_FAILED;
	case INC_GROUP_LEFT:
		return INC_STATE_CLOSED;
	}
	return INC_STATE_CLOSED;
}

static int put_late(struct sk_buff *skb, const struct netinc_child *child)
{
	const struct netinc_late *late = &child->late;
	struct nlattr *nest = nla_nest_start(skb, INC_A_MEMBER_LATE);

	if (!nest || netinc_nl_put_u64(skb, INC_A_LATE_BLOCKS, late->blocks) ||
	    netinc_nl_put_u64(skb, INC_A_LATE_SUM_US, late->sum) ||
	    netinc_nl_put_u64(skb, INC_A_LATE_MAX_US, late->max) ||
	    nla_put(skb, INC_A_LATE_HIST, sizeof(late->hist), late->hist) ||
	    netinc_nl_put_u64(skb, INC_A_LATE_MISSED, child->missed))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_member(struct sk_buff *skb, const struct netinc_group *g, u32 i, bool hide)
{
	const struct netinc_member *m = &g->members[i];
	u64 now = netinc_now();

	if (nla_put_u32(skb, INC_A_MEMBER_GROUP, g->cfg.id) ||
	    (!hide && nla_put_u32(skb, INC_A_MEMBER_INCARNATION, g->cfg.incarnation)) ||
	    (g->cfg.job && netinc_nl_put_u64(skb, INC_A_MEMBER_JOB, g->cfg.job)) ||
	    (g->agg.tree && nla_put_u32(skb, INC_A_MEMBER_TREE, g->agg.tree)) ||
	    (g->cfg.stripe &&
	     nla_put_u32(skb, INC_A_MEMBER_STRIPE, INC_STRIPE_INDEX(g->cfg.stripe))) ||
	    nla_put_u32(skb, INC_A_MEMBER_RANK, m->low) ||
	    nla_put_u32(skb, INC_A_MEMBER_STATE, member_state(g, m)))
		return -EMSGSIZE;
	if (!m->present)
		return 0;
	if (m->height && nla_put_u32(skb, INC_A_MEMBER_RANKS, m->ranks))
		return -EMSGSIZE;
	if (!hide && (netinc_nl_put_addr(skb, INC_A_MEMBER_ADDR, &m->peer) ||
		      nla_put_u32(skb, INC_A_MEMBER_UDP_PORT, netinc_nl_peer_port(&m->peer)) ||
		      nla_put_u32(skb, INC_A_MEMBER_IFINDEX, m->peer.ifindex)))
		return -EMSGSIZE;
	if (nla_put_u32(skb, INC_A_MEMBER_HEARD_MS,
			now > m->heard ? netinc_nl_to_ms(now - m->heard) : 0))
		return -EMSGSIZE;
	if (g->state == INC_GROUP_JOINING)
		return 0;
	if (m->hears && nla_put_flag(skb, INC_A_MEMBER_HEARS))
		return -EMSGSIZE;
	return netinc_nl_put_u64(skb, INC_A_MEMBER_NEXT, g->agg.child[i].frontier) ?:
		       nla_put_u32(skb, INC_A_MEMBER_SRTT, g->agg.child[i].srtt)   ?:
		       put_late(skb, &g->agg.child[i]);
}

/* While the group forms: is this rank no member, but below one? */
static bool is_below_node(const struct netinc_group *g, u32 i)
{
	return g->state == INC_GROUP_JOINING && !g->members[i].present && g->owner[i];
}

static int fill_member(struct sk_buff *skb, void *obj, u32 arg)
{
	struct netinc_node_group *ng = obj;
	int err = 0;

	spin_lock_bh(&ng->lock);
	if ((arg & ~HIDE) < ng->grp.nmembers)
		err = put_member(skb, &ng->grp, arg & ~HIDE, arg & HIDE);
	spin_unlock_bh(&ng->lock);
	return err;
}

static int dump_members_of(struct sk_buff *skb, struct netlink_callback *cb,
			   struct netinc_node_group *ng)
{
	struct netinc_nl_message m =
		netinc_nl_dump_message(cb, INC_CMD_MEMBER_GET, INC_A_MEMBER, fill_member);
	struct netinc_nl_cursor *at = netinc_nl_cursor(cb);

	if (!is_wanted(cb, ng->grp.cfg.id))
		return 0;
	if (at->id != ng->grp.cfg.incarnation)
		at->sub = 0;
	at->id = ng->grp.cfg.incarnation;
	for (; at->sub < READ_ONCE(ng->grp.nmembers); at->sub++)
		if (!is_below_node(&ng->grp, at->sub) &&
		    netinc_nl_put(skb, &m, ng, at->sub | (sees_all(cb) ? 0 : HIDE)))
			return -EMSGSIZE;
	return 0;
}

static int dump_member_bucket(struct sk_buff *skb, struct netlink_callback *cb,
			      struct hlist_head *bucket)
{
	struct netinc_nl_cursor *at = netinc_nl_cursor(cb);
	struct netinc_node_group *ng;
	u32 index = 0;

	hlist_for_each_entry_rcu(ng, bucket, hash) {
		if (index++ < at->index)
			continue;
		if (dump_members_of(skb, cb, ng))
			return -EMSGSIZE;
		at->index = index;
		/* the next one may be another tree of the same run */
		at->sub = 0;
	}
	return 0;
}

int inc_nl_member_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	int err = 0;

	netinc_nl_dump_list(cb, NETINC_LIST_GROUPS);
	rcu_read_lock();
	if (netinc_nl_cursor(cb)->table == 0)
		err = dump_hash(skb, cb, netinc_nl_dump_net(cb)->groups, dump_member_bucket);
	rcu_read_unlock();
	return netinc_nl_dump_status(skb, err);
}
