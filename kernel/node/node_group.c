// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups at a node: the environment of the engine, a timer, and their end. group_create.c makes
 * them, group_lookup.c finds them, group_io.c has their packets, fold.c what they hold of them.
 */
#include <linux/rculist.h>
#include <linux/slab.h>
#include "core/events.h"
#include "core/nf_hooks.h"
#include "node/node_group.h"
#include "node/edge.h"
#include "node/history.h"
#include "node/tenant.h"
#include "node/uplink_io.h"
#include "core/trace.h"

static struct netinc_node_group *to_node_group(struct netinc_group *grp)
{
	return container_of(grp, struct netinc_node_group, grp);
}

static void node_group_free(struct netinc_node_group *g)
{
	u32 i;

	for (i = 0; i < g->nlinks; i++) {
		netinc_path_destroy(&g->link[i].path);
		netinc_port_put(g->link[i].port);
	}
	netinc_path_destroy(&g->up_path);
	netinc_path_destroy(&g->many);
	kvfree(g->link);
	kvfree(g->mem);
	/* with the key that it proves itself to the parent by */
	kfree_sensitive(g);
}

static void node_group_free_rcu(struct rcu_head *rcu)
{
	node_group_free(container_of(rcu, struct netinc_node_group, rcu));
}

static void uncharge_group(const struct netinc_node_group *g)
{
	netinc_uncharge_all(g->charge, g->ncharges);
	netinc_tenant_put(g->tenant);
	netinc_user_put(g->payer);
}

void netinc_node_group_discard(struct netinc_node_group *g)
{
	uncharge_group(g);
	node_group_free(g);
}

static void node_group_release(struct kref *ref)
{
	struct netinc_node_group *g = container_of(ref, struct netinc_node_group, ref);

	WARN_ON_ONCE(g->held || g->results);
	uncharge_group(g);
	netinc_node_put(g->node);
	call_rcu(&g->rcu, node_group_free_rcu);
}

void netinc_node_group_put(struct netinc_node_group *g)
{
	kref_put(&g->ref, node_group_release);
}

void netinc_node_group_lock(struct netinc_node_group *g)
	__acquires(&g->lock)
{
	spin_lock_bh(&g->lock);
	g->grp.counters[INC_C_NODE_NSEC] += atomic64_xchg(&g->unbooked, 0);
}

static struct netinc_demux_key group_key(const struct netinc_node_group *g,
					 enum netinc_demux_kind kind, u32 number, u64 token)
{
	return (struct netinc_demux_key){ .token = token, .number = number,
					  .group = g->grp.cfg.id, .kind = kind };
}

/*
 * READY has said by what the parent's packets find it. If there is no memory for that, it is tried
 * again with the next packet or timer.
 */
static void demux_uplink(struct netinc_node_group *g)
{
	u32 incarnation = g->grp.up.incarnation;
	struct netinc_demux_key key = {};

	if (incarnation)
		key = group_key(g, NETINC_DEMUX_UPLINK, incarnation, 0);
	netinc_demux_set(g->nn, &g->by_uplink, &key);
}

void netinc_node_group_unlock(struct netinc_node_group *g)
	__releases(&g->lock)
{
	if (unlikely(g->by_uplink.key.number != g->grp.up.incarnation) && !g->dead)
		demux_uplink(g);
	/* what it holds is soon wanted by the next, if a program makes many */
	if (unlikely(netinc_group_over(&g->grp)) && !g->dead && netinc_group_is_done(&g->grp))
		timer_reduce(&g->timer, jiffies + 1);
	netinc_txq_unlock(&g->txq, g->nn->net, &g->lock);
}

static void group_send(struct netinc_group *grp, u32 child, const struct netinc_pkt *pkt,
		       const void *body, u32 len)
{
	netinc_node_group_send(to_node_group(grp), pkt->multicast ? NETINC_HEARING : child,
			       netinc_control_skb(pkt, body, len));
}

static void group_renumber(struct netinc_group *grp, u32 from, u32 to)
{
	struct netinc_node_group *g = to_node_group(grp);

	swap(g->link[from], g->link[to]);
	g->link[to].host = to;
	g->link[from].host = from;
	g->way_known = false;
	g->hearing_known = false;
}

atomic_t *netinc_generation(const struct netinc_node *node, u64 job, u32 group, u8 stripe, u32 vrf)
{
	struct {
		__be64 job;
		__be32 group;
		__be32 vrf;
		__be64 stripe;
	} m = { .stripe = cpu_to_be64(INC_STRIPE_INDEX(stripe)),
		 .job = cpu_to_be64(job), .group = cpu_to_be32(group),
		/* whoever knows the group's lineage or meeting finds an edge */
		.vrf = cpu_to_be32(netinc_node_is_edge(node) ? 0 : vrf) };
	u64 hash = netinc_siphash(&m, sizeof(m), node->nn->secret);

	return &node->nn->generation[hash % NETINC_GENERATIONS];
}

static void count_generation(const struct netinc_node_group *g)
{
	const struct netinc_group_cfg *cfg = &g->grp.cfg;

	atomic_inc(netinc_generation(g->node, cfg->job, cfg->id, cfg->stripe, g->creator.vrf));
}

static unsigned long tick_period(const struct netinc_node_group *g)
{
	u32 ms = g->grp.cfg.settings.dead_ms / 8;

	if (g->grp.cfg.settings.late_ms)
		ms = min(ms, g->grp.cfg.settings.late_ms / 4);
	/* what is lost on the way to the parent while no rank asks is found by this timer */
	if (netinc_uplink_is_busy(&g->grp))
		ms = 0;
	if (g->grp.ready_pause && !netinc_group_over(&g->grp))
		ms = min_t(u32, ms, g->grp.ready_pause / NETINC_MS);
	return msecs_to_jiffies(clamp_t(u32, ms, 10, 250)) + 1;
}

/*
 * Tells once that the node's parent does not answer the group, and once that it does again. This
 * is looked at by the timer and before each event of the group, which may form and end in between.
 */
static void watch_parent(struct netinc_node_group *g, u64 now)
{
	const struct netinc_uplink *up = &g->grp.up;
	enum inc_event event = INC_EVENT_PARENT_SILENT;
	u64 since = up->heard;

	if (!g->up_path.net)
		return;
	if (g->up_silent && up->heard != g->up_silent) {
		event = INC_EVENT_PARENT_BACK;
		since = g->up_silent;
		g->up_silent = 0;
	} else if (netinc_group_over(&g->grp) || up->state == NETINC_UPLINK_NONE) {
		g->up_silent = 0;
		return;
	} else if (!g->up_silent && up->heard && up->unanswered >= NETINC_SILENT_ASKED &&
		   now - up->heard >= NETINC_SILENT_US) {
		g->up_silent = up->heard;
	} else {
		return;
	}
	netinc_event_group_parent(g->nn->net, event, &g->grp, g->node->ifindex, &g->up_path.peer,
				  now - since);
}

static void group_event(struct netinc_group *grp, enum inc_event event, u32 rank)
{
	struct netinc_node_group *g = to_node_group(grp);

	watch_parent(g, netinc_now());
	if (event == INC_EVENT_GROUP_FORMED) {
		netinc_node_group_find_hosts(g);
		count_generation(g);
		if (grp->cfg.ancestor)
			netinc_history_formed(g->nn, grp, &g->creator);
	}
	/*
	 * Of a group over several nodes none knows who is left, nor does one that the group has
	 * moved to without forming there: only a majority may go on.
	 */
	if (grp->state == INC_GROUP_FAILED && grp->running && !netinc_group_is_branch(grp) &&
	    !grp->levels)
		netinc_history_failed(g->nn, grp, &g->creator);
	/* READY may be lost: a tick that is due sooner stays so, however often epochs begin */
	if ((event == INC_EVENT_GROUP_FORMED || event == INC_EVENT_GROUP_EPOCH) && !g->dead)
		timer_reduce(&g->timer, jiffies + tick_period(g));
	trace_netinc_state(grp->cfg.id, NETINC_NO_RANK, g->state, grp->state, grp->epoch);
	g->state = grp->state;
	netinc_event_group(g->nn->net, event, grp, g->node->ifindex, rank);
}

/* The way back must be there before the engine uses it. */
static bool group_link(struct netinc_group *grp, u32 rank, const struct netinc_peer *peer)
{
	struct netinc_node_group *g = to_node_group(grp);
	struct netinc_link *link = &g->link[rank];
	struct netinc_rx *rx = g->joining;
	struct netinc_peer to = *peer;

	to.udp_port = rx->sport;
	link->via = netinc_rx_is_own(rx) ? 0 : rx->via->ifindex;
	g->way_known = false;
	g->hearing_known = false;
	if (link->path.net && !memcmp(&link->path.peer, &to, sizeof(to)) &&
	    link->path.oif == netinc_rx_oif(rx) &&
	    !memcmp(link->path.local, rx->local, sizeof(rx->local)))
		return true;
	if (!link->path.net && netinc_path_init(&link->path, g->nn->net, &to, htons(netinc_port),
						netinc_rx_oif(rx), GFP_ATOMIC)) {
		/* there is none to turn yet */
		link->path.net = NULL;
		return false;
	}
	/* by the VRF, and from the address, that the rank has chosen */
	netinc_path_turn(&link->path, &to, netinc_rx_oif(rx), rx->local);
	netinc_port_put(link->port);
	link->port = netinc_port_get(g->node, rx->dev);
	if (grp->running)
		netinc_node_group_part_host(g, rank);
	return true;
}

static bool group_same_port(const struct netinc_group *grp, u32 child)
{
	const struct netinc_node_group *g = container_of(grp, struct netinc_node_group, grp);

	return g->joining && g->joining->sport == g->link[child].path.peer.udp_port;
}

static bool group_multicast(struct netinc_group *grp, u32 child)
{
	return netinc_node_group_may_hear(to_node_group(grp), child);
}

static const struct netinc_group_ops group_ops = {
	.link = group_link,
	.same_port = group_same_port,
	.multicast = group_multicast,
	.send = group_send,
	.event = group_event,
	.renumber = group_renumber,
	.send_up = netinc_uplink_send,
};

static void clear_demux(struct netinc_node_group *g)
{
	netinc_demux_clear(g->nn, &g->by_run);
	netinc_demux_clear(g->nn, &g->by_up_nonce);
	netinc_demux_clear(g->nn, &g->by_uplink);
}

/* Out of the hash; what still comes for it finds nothing. Lock held; only one caller gets true. */
static bool unhash_group(struct netinc_node_group *g)
{
	lockdep_assert_held(&g->lock);
	if (g->dead)
		return false;
	g->dead = true;
	count_generation(g);
	netinc_agg_drain(&g->grp.agg);
	netinc_fold_end(g);
	netinc_net_retire(g->nn, &g->hash, g->grp.counters);
	clear_demux(g);
	/* it may have been armed again while its function waited for the lock */
	timer_shutdown(&g->timer);
	if (atomic_dec_and_test(&g->node->ngroups) && g->node == g->nn->edge)
		netinc_edge_gone(g->nn);
	return true;
}

static void node_group_timer(struct timer_list *t)
{
	struct netinc_node_group *g = container_of(t, struct netinc_node_group, timer);
	bool unhashed = false, expired;

	netinc_node_group_lock(g);
	if (netinc_group_is_branch(&g->grp) && !g->grp.ended &&
	    !netinc_edge_root_alive(g->nn, &g->grp, g->root_nonce))
		g->grp.ended = netinc_now();
	/* blocks may be completed without those that are late */
	netinc_fold_begin(g);
	g->rx_left = NETINC_MAX_SEGMENTS;
	expired = netinc_group_tick(&g->grp, netinc_now());
	netinc_fold_end(g);
	if (g->hosts_changed)
		netinc_node_group_find_hosts(g);
	watch_parent(g, netinc_now());
	if (expired)
		unhashed = unhash_group(g);
	else if (!g->dead)
		netinc_fold_unshare(g);
	if (!g->dead)
		mod_timer(&g->timer, jiffies + tick_period(g));
	netinc_node_group_unlock(g);
	if (unhashed)
		netinc_node_group_put(g);
}

void netinc_node_group_destroy(struct netinc_node_group *g)
{
	bool unhashed;

	netinc_node_group_lock(g);
	if (!netinc_group_is_branch(&g->grp))
		netinc_group_remove(&g->grp, netinc_now());
	unhashed = unhash_group(g);
	netinc_node_group_unlock(g);
	timer_shutdown_sync(&g->timer);
	if (unhashed)
		netinc_node_group_put(g);
}

void netinc_node_group_init(struct netinc_node_group *g, struct netinc_node *node, u32 size)
{
	kref_init(&g->ref);
	spin_lock_init(&g->lock);
	netinc_txq_init(&g->txq, NETINC_TXQ_GROUP + size * NETINC_TXQ_MEMBER);
	timer_setup(&g->timer, node_group_timer, 0);
	g->nn = node->nn;
	g->node = node;
	g->way = NETINC_NO_RANK;
}

void netinc_node_group_init_engine(struct netinc_node_group *g, const struct netinc_group_cfg *cfg)
{
	netinc_group_init(&g->grp, cfg, g->mem, &group_ops, &netinc_fold_ops);
}

/* Where JOINs find it. */
static int hash_group(struct netinc_node_group *g)
{
	const struct netinc_group_cfg *cfg = &g->grp.cfg;
	struct netinc_net *nn = g->nn;
	const struct netinc_node_group *other;

	spin_lock_bh(&nn->hash_lock);
	if (netinc_group_is_branch(&g->grp))
		other = NULL;
	else if (g->moved)
		other = netinc_node_group_find_moved(g->node, cfg->job, cfg->id, cfg->lineage,
						     g->grp.move, cfg->returns, g->creator.vrf);
	else
		other = netinc_node_group_find_for(nn, cfg->job, cfg->id, cfg->stripe, g->tenant,
						   g->creator.vrf);
	if (!other) {
		hlist_add_head_rcu(&g->hash, &nn->groups[netinc_bucket(nn, cfg->id, cfg->job)]);
		netinc_list_changed(nn, NETINC_LIST_GROUPS);
	}
	spin_unlock_bh(&nn->hash_lock);
	return other ? -EEXIST : 0;
}

/* Where packets find it. */
static int demux_group(struct netinc_node_group *g)
{
	const struct netinc_group_cfg *cfg = &g->grp.cfg;
	struct netinc_demux_key key;
	int err;

	key = netinc_group_is_branch(&g->grp) ?
		      group_key(g, NETINC_DEMUX_TREE, cfg->incarnation, g->grp.agg.tree) :
		      group_key(g, NETINC_DEMUX_GROUP, cfg->incarnation, 0);
	err = netinc_demux_set(g->nn, &g->by_run, &key);
	if (err || !cfg->has_parent)
		return err;
	key = group_key(g, NETINC_DEMUX_UPLINK_NONCE, cfg->up_nonce, 0);
	return netinc_demux_set(g->nn, &g->by_up_nonce, &key);
}

/*
 * None of those who find it gets beyond its lock before it is in both places; then they may end it
 * at once, so that its node and a reference come first.
 */
int netinc_node_group_start(struct netinc_node_group *g)
{
	int err;

	kref_get(&g->ref);
	netinc_node_get(g->node);
	atomic_inc(&g->node->ngroups);
	netinc_node_group_lock(g);
	err = hash_group(g);
	if (err)
		atomic_dec(&g->node->ngroups);
	else
		err = demux_group(g);
	if (!err)
		mod_timer(&g->timer, jiffies + tick_period(g));
	else if (err != -EEXIST)
		unhash_group(g);
	netinc_node_group_unlock(g);
	if (err)
		netinc_node_group_put(g);
	netinc_node_group_put(g);
	return err;
}

/* Ranks that do not come may yet hear of the end of the group that goes on in this one. */
static void note_ended_ranks(struct netinc_node_group *g)
{
	struct netinc_group_history entry;

	if (netinc_group_shrinking(&g->grp) && g->grp.cfg.fallback &&
	    netinc_history_find(g->nn, g->grp.cfg.id, g->grp.cfg.ancestor, &entry))
		netinc_shrink_ended(&g->grp, entry.ended);
}

int netinc_node_group_join(struct netinc_node_group *g, struct netinc_rx *rx,
			   const struct inc_join *join, u64 *detail)
{
	int code = INC_REFUSE_UNKNOWN;
	u64 begin = ktime_get_ns();

	netinc_node_group_lock(g);
	if (netinc_join_shrinks(join))
		note_ended_ranks(g);
	netinc_count(g->grp.counters, INC_C_JOINS);
	/* only members of an epoch that was come without challenge */
	if (!g->dead && !(rx->pkt.incarnation && g->grp.state == INC_GROUP_JOINING)) {
		g->joining = rx;
		code = netinc_group_join(&g->grp, &rx->pkt, join, &rx->peer, netinc_now(), detail);
		g->joining = NULL;
		if (!code)
			netinc_creator_note(&g->creator, &rx->peer, rx->dev->ifindex);
	}
	netinc_node_group_unlock(g);
	netinc_tenant_worked(g->tenant, ktime_get_ns() - begin);
	return code;
}
