// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups at a node: made, ticked by a timer, charged for, and gone. group_lookup.c finds them,
 * group_io.c has their packets, fold.c what they hold of them.
 */
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "core/events.h"
#include "core/nf_hooks.h"
#include "node/node_group.h"
#include "node/edge.h"
#include "node/history.h"
#include "node/tenant.h"
#include "node/uplink_io.h"
#include "core/trace.h"

/*
 * A cgroup pays for what a worker makes: where it has nothing left, joining fails; nobody is
 * killed.
 */
#define GROUP_GFP	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

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

static int charge_group(struct netinc_node_group *g, const struct netinc_node_cfg *cfg,
			const struct netinc_pending_group *pending)
{
	const struct netinc_charge_item *full;

	g->memory = netinc_node_group_memory(cfg, pending);
	g->ncharges = netinc_node_group_charges(g->nn, g->payer, cfg, pending, g->charge);
	full = netinc_charge_all(g->charge, g->ncharges);
	return full ? full->account->err : 0;
}

static void uncharge_group(const struct netinc_node_group *g)
{
	netinc_uncharge_all(g->charge, g->ncharges);
	netinc_tenant_put(g->tenant);
	netinc_user_put(g->payer);
}

/* Nobody has seen it yet. */
static void discard_group(struct netinc_node_group *g)
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

u32 netinc_node_group_fit(const struct netinc_node_cfg *cfg, u32 window, u32 size)
{
	u64 per_block = (u64)size * 2048;

	while (window > INC_MIN_WINDOW && window * per_block > cfg->max_memory)
		window /= 2;
	return window;
}

u32 netinc_node_group_window(const struct netinc_node_cfg *cfg,
			     const struct netinc_pending_group *pending)
{
	return pending->lineage && !pending->shrink ?
		       pending->settings.window :
		       netinc_node_group_fit(cfg, cfg->settings.window, pending->size);
}

u64 netinc_node_group_memory(const struct netinc_node_cfg *cfg,
			     const struct netinc_pending_group *pending)
{
	u32 seg_size = sizeof(struct inc_hdr) + sizeof(struct inc_desc) + pending->block;
	u32 window = netinc_node_group_window(cfg, pending);
	/* what goes up of the oldest block may be in parts */
	u32 parts = cfg->nparents ? min_t(u32, pending->size, INC_MAX_PARTS) : 0;

	return netinc_group_bytes(pending->size, window) +
	       pending->size * sizeof(struct netinc_link) +
	       (pending->size + 2) * netinc_path_extra() +
	       (2 * (u64)window + parts) * (PAGE_SIZE << get_order(seg_size)) +
	       (u64)pending->size * SKB_TRUESIZE(seg_size);
}

u32 netinc_node_group_charges(struct netinc_net *nn, struct netinc_user *payer,
			      const struct netinc_node_cfg *cfg,
			      const struct netinc_pending_group *pending,
			      struct netinc_charge_item *item)
{
	u32 slots = 2 * netinc_node_group_window(cfg, pending);
	s64 bytes = netinc_node_group_memory(cfg, pending);
	struct netinc_account *to;
	u32 n = 0;

	if (pending->tenant) {
		to = &pending->tenant->account;
		item[n++] = (struct netinc_charge_item){ to, INC_LIMIT_GROUPS, 1 };
		item[n++] = (struct netinc_charge_item){ to, NETINC_LIMIT_TENANT_SLOTS, slots };
		item[n++] = (struct netinc_charge_item){ to, NETINC_LIMIT_TENANT_MEMORY, bytes };
	}
	item[n++] = (struct netinc_charge_item){ &nn->account, INC_LIMIT_GROUPS, 1 };
	item[n++] = (struct netinc_charge_item){ &payer->account, INC_LIMIT_GROUPS, 1 };
	item[n++] = (struct netinc_charge_item){ &nn->account, INC_LIMIT_SLOT_MEMORY, bytes };
	item[n++] = (struct netinc_charge_item){ &payer->account, INC_LIMIT_SLOT_MEMORY, bytes };
	return n;
}

static int node_group_alloc(struct netinc_node_group *g, const struct netinc_group_cfg *cfg)
{
	u32 i;

	g->mem = kvzalloc(netinc_group_bytes(cfg->size, cfg->settings.window), GROUP_GFP);
	g->link = kvcalloc(cfg->size, sizeof(*g->link), GROUP_GFP);
	if (!g->mem || !g->link)
		return -ENOMEM;
	g->nlinks = cfg->size;
	for (i = 0; i < cfg->size; i++)
		g->link[i].host = i;
	netinc_group_init(&g->grp, cfg, g->mem, &group_ops, &netinc_fold_ops);
	return 0;
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

/* Members of a group that has failed go on: what is known of the others? */
static void configure_shrink(struct netinc_group_cfg *cfg, struct netinc_net *nn,
			     const struct netinc_pending_group *pending)
{
	struct netinc_group_history entry;

	cfg->ancestor = pending->lineage;
	if (!netinc_history_find(nn, pending->group, pending->lineage, &entry) || !entry.failed ||
	    (s32)(entry.move - pending->move) < 0)
		return;
	cfg->known = true;
	cfg->fallback = entry.fallback;
	cfg->ngone = entry.ngone;
	memcpy(cfg->gone, entry.gone, sizeof(cfg->gone));
}

/* Settings that the group brings along, or gets from the node. */
static void configure_group(struct netinc_group_cfg *cfg,
			    const struct netinc_pending_group *pending,
			    const struct netinc_node_cfg *limits)
{
	cfg->job = pending->job;
	cfg->id = pending->group;
	cfg->stripe = pending->stripe;
	cfg->size = pending->size;
	cfg->block = pending->block;
	cfg->incarnation = get_random_u32() | 1;
	cfg->lineage = pending->shrink ? 0 : pending->lineage;
	if (cfg->lineage) {
		cfg->spread = pending->spread;
		cfg->move = pending->move;
		cfg->returns = pending->returns;
		cfg->settings = pending->settings;
		return;
	}
	while (!cfg->lineage)
		cfg->lineage = get_random_u64();
	cfg->settings = pending->at_edge ? pending->settings : limits->settings;
	cfg->settings.window = netinc_node_group_window(limits, pending);
	cfg->nstandby = limits->settings.fallback ? limits->nstandby : 0;
	memcpy(cfg->standby, limits->standby, sizeof(cfg->standby));
}

struct netinc_meeting netinc_node_meeting(const struct netinc_pending_group *pending)
{
	return (struct netinc_meeting){ .job = pending->job,
					.lineage = pending->lineage,
					.group = pending->group,
					.vrf = pending->creator.vrf,
					.size = pending->size,
					.stripe = pending->stripe };
}

bool netinc_node_fit_to_rank(struct netinc_pending_group *pending,
			     const struct netinc_meeting *meeting)
{
	if (meeting->size != pending->size || meeting->stripe != pending->stripe ||
	    (pending->lineage && !netinc_settings_ok(&meeting->settings)))
		return false;
	pending->block = meeting->block;
	if (pending->lineage)
		pending->settings = meeting->settings;
	return true;
}

struct netinc_user *netinc_node_payer(struct netinc_node *node,
				      const struct netinc_pending_group *pending)
{
	struct netinc_meeting meeting = netinc_node_meeting(pending);
	struct netinc_user *payer = pending->payer ?: node->nn->owner;

	if (netinc_node_is_edge(node) && !pending->payer)
		return netinc_edge_find_payer(node->nn, &meeting);
	kref_get(&payer->ref);
	return payer;
}

/* Charged, with @limits as they are at the node now; or ERR_PTR. */
static struct netinc_node_group *node_group_new(struct netinc_node *node,
						const struct netinc_pending_group *pending,
						struct netinc_node_cfg *limits)
{
	struct netinc_node_group *g = kzalloc(sizeof(*g), GROUP_GFP);
	int err;

	if (!g)
		return ERR_PTR(-ENOMEM);
	spin_lock_bh(&node->lock);
	*limits = node->cfg;
	spin_unlock_bh(&node->lock);
	kref_init(&g->ref);
	spin_lock_init(&g->lock);
	netinc_txq_init(&g->txq, NETINC_TXQ_GROUP + pending->size * NETINC_TXQ_MEMBER);
	timer_setup(&g->timer, node_group_timer, 0);
	g->nn = node->nn;
	g->node = node;
	g->limit = limits->max_memory;
	g->way = NETINC_NO_RANK;
	g->creator = pending->creator;
	g->moved = pending->lineage && !pending->shrink;
	g->tenant = pending->tenant;
	g->payer = netinc_node_payer(node, pending);
	err = g->payer ? charge_group(g, limits, pending) : -ENOENT;
	if (err) {
		if (g->payer)
			netinc_user_put(g->payer);
		kfree(g);
		return ERR_PTR(err);
	}
	netinc_tenant_get(g->tenant);
	return g;
}

/*
 * Puts it where JOINs and packets find it. None of these gets beyond its lock before it is in both
 * places; then they may end it at once, so that its node and a reference come first. If it fails @g
 * is gone.
 */
static int node_group_start(struct netinc_node_group *g)
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

/*
 * A group that has formed elsewhere, or goes on without others, has all that it will have here; one
 * that returns to a tree has not.
 */
static int configure_uplink(struct netinc_node_group *g, const struct netinc_pending_group *pending,
			    const struct netinc_node_cfg *limits, struct netinc_group_cfg *cfg)
{
	const struct netinc_peer *parent = netinc_node_parent(limits, pending->stripe);

	if (!parent || (pending->lineage && !pending->returns))
		return 0;
	memcpy(cfg->up_key, limits->key, sizeof(cfg->up_key));
	return netinc_uplink_init(g, parent, cfg, GROUP_GFP);
}

static int create_group(struct netinc_node *node, const struct netinc_pending_group *pending)
{
	struct netinc_group_cfg cfg = {};
	struct netinc_node_cfg limits;
	struct netinc_node_group *g;
	int err;

	g = node_group_new(node, pending, &limits);
	if (IS_ERR(g)) {
		memzero_explicit(&limits, sizeof(limits));
		return PTR_ERR(g);
	}
	configure_group(&cfg, pending, &limits);
	if (pending->shrink)
		configure_shrink(&cfg, node->nn, pending);
	memcpy(cfg.secret, node->nn->secret, sizeof(cfg.secret));
	err = netinc_node_group_choose(g, &limits, &cfg, GROUP_GFP) ?:
		      configure_uplink(g, pending, &limits, &cfg);
	if (!err)
		err = node_group_alloc(g, &cfg);
	/* keys, and the secret that cookies are made of */
	memzero_explicit(&cfg, sizeof(cfg));
	memzero_explicit(&limits, sizeof(limits));
	if (!err)
		return node_group_start(g);
	discard_group(g);
	return err;
}

/* The group's memory is charged to the cgroup of whoever pays for it. */
static int create_group_for(struct mem_cgroup *memcg, struct netinc_node *node,
			    const struct netinc_pending_group *pending)
{
	struct mem_cgroup *old = set_active_memcg(memcg);
	int err = create_group(node, pending);

	set_active_memcg(old);
	return err;
}

/*
 * User and cgroup are those of one rank that the group is for. It need not be the one that was
 * asked when the JOIN came: nobody pays for more than he has agreed to.
 */
static int create_at_edge(struct netinc_node *edge, const struct netinc_pending_group *pending)
{
	struct netinc_meeting meeting = netinc_node_meeting(pending);
	struct netinc_pending_group paid = *pending;
	struct sock *sk;
	int err = -ESTALE;

	sk = netinc_edge_find_socket(edge->nn, &meeting);
	if (!sk)
		return -ENOENT;
	paid.payer = netinc_edge_user(sk);
	if (netinc_node_fit_to_rank(&paid, &meeting))
		err = create_group_for(netinc_edge_memcg(sk), edge, &paid);
	sock_put(sk);
	return err;
}

int netinc_node_group_create(struct netinc_node *node, const struct netinc_pending_group *pending)
{
	if (netinc_node_is_edge(node))
		return create_at_edge(node, pending);
	return create_group_for(node->memcg, node, pending);
}

static int init_tree_links(struct netinc_node_group *g, const struct netinc_tree_request *request,
			   const struct netinc_peer *peers)
{
	const struct netinc_tree_cfg *tree = &request->tree;
	__be16 sport = netinc_sport(tree->job, tree->id, tree->tree, tree->stripe);
	u32 i;
	int err = 0;

	for (i = 0; i < g->nlinks && !err; i++)
		err = netinc_path_init(&g->link[i].path, g->nn->net, &peers[i], sport,
				       peers[i].ifindex ?: request->vrf, GROUP_GFP);
	return err;
}

/* Ends the same rank's tree of an earlier epoch: no member is in that any more. */
static void remove_old_tree(struct netinc_net *nn, const struct netinc_tree_request *request)
{
	const struct netinc_tree_cfg *tree = &request->tree;
	struct hlist_head *bucket = &nn->groups[netinc_bucket(nn, tree->id, tree->job)];
	struct netinc_node_group *g, *old = NULL;

	rcu_read_lock();
	hlist_for_each_entry_rcu(g, bucket, hash)
		if (g->grp.cfg.id == tree->id && g->grp.cfg.job == tree->job &&
		    g->grp.cfg.lineage == tree->lineage && g->root_nonce == request->root_nonce &&
		    g->grp.agg.tree == tree->tree && kref_get_unless_zero(&g->ref)) {
			old = g;
			break;
		}
	rcu_read_unlock();
	if (!old)
		return;
	netinc_node_group_destroy(old);
	netinc_node_group_put(old);
}

static int create_tree(struct netinc_node *edge, const struct netinc_tree_request *request,
		       const struct netinc_peer *peers)
{
	const struct netinc_tree_cfg *tree = &request->tree;
	struct netinc_pending_group pending = { .job = tree->job,
						.group = tree->id,
						.stripe = tree->stripe,
						.size = tree->size,
						.lineage = tree->lineage,
						.settings = tree->settings,
						.block = tree->block,
						.creator.vrf = request->vrf,
						.payer = netinc_edge_user(request->payer) };
	struct netinc_group_cfg cfg;
	struct netinc_node_cfg limits;
	struct netinc_node_group *g;
	int err;

	remove_old_tree(edge->nn, request);
	g = node_group_new(edge, &pending, &limits);
	if (IS_ERR(g))
		return PTR_ERR(g);
	netinc_tree_group_cfg(tree, &cfg);
	err = node_group_alloc(g, &cfg);
	if (!err)
		err = init_tree_links(g, request, peers);
	if (err) {
		discard_group(g);
		return err;
	}
	g->root_nonce = request->root_nonce;
	netinc_tree_begin(&g->grp, tree, peers, netinc_now());
	netinc_node_group_find_hosts(g);
	return node_group_start(g);
}

int netinc_node_group_create_tree(struct netinc_node *edge,
				  const struct netinc_tree_request *request)
{
	struct mem_cgroup *old = set_active_memcg(netinc_edge_memcg(request->payer));
	struct netinc_peer *peers = netinc_edge_copy_peers(request);
	int err = peers ? create_tree(edge, request, peers) : -ENOENT;

	kvfree(peers);
	set_active_memcg(old);
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
