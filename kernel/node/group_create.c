// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups at a node are made: what they cost and who pays for it, what they are to be like, and the
 * trees at the edge. This is a worker's, in process context.
 */
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "node/node_group.h"
#include "node/edge.h"
#include "node/history.h"
#include "node/tenant.h"
#include "node/uplink_io.h"

/*
 * A cgroup pays for what a worker makes: where it has nothing left, joining fails; nobody is
 * killed.
 */
#define GROUP_GFP	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

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

static int charge_group(struct netinc_node_group *g, const struct netinc_node_cfg *cfg,
			const struct netinc_pending_group *pending)
{
	const struct netinc_charge_item *full;

	g->memory = netinc_node_group_memory(cfg, pending);
	g->ncharges = netinc_node_group_charges(g->nn, g->payer, cfg, pending, g->charge);
	full = netinc_charge_all(g->charge, g->ncharges);
	return full ? full->account->err : 0;
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
	netinc_node_group_init_engine(g, cfg);
	return 0;
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
	/* who goes on may have been where something was lacked */
	cfg->settings.lacks = limits->settings.lacks;
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
	netinc_node_group_init(g, node, pending->size);
	g->limit = limits->max_memory;
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
		return netinc_node_group_start(g);
	netinc_node_group_discard(g);
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
		netinc_node_group_discard(g);
		return err;
	}
	g->root_nonce = request->root_nonce;
	netinc_tree_begin(&g->grp, tree, peers, netinc_now());
	netinc_node_group_find_hosts(g);
	return netinc_node_group_start(g);
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
