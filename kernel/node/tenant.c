// SPDX-License-Identifier: GPL-2.0-only
/* Tenants: who is one, and what he may have. */
#include <linux/rculist.h>
#include <linux/slab.h>
#include <crypto/algapi.h>
#include <net/ipv6.h>
#include "node/tenant.h"

#define MAX_SAVED	(50 * NSEC_PER_MSEC)	/* of a whole processor, or link */
/* more is not what a buffer costs, which rule 14 bounds, but of what has interrupted it */
#define MAX_DEBT	(500 * NSEC_PER_MSEC)

void netinc_tenant_cfg_init(struct netinc_tenant_cfg *cfg)
{
	*cfg = (struct netinc_tenant_cfg){
		.max_groups = NETINC_TENANT_GROUPS,
		.max_slots = NETINC_TENANT_SLOTS,
		.max_memory = NETINC_TENANT_MEMORY,
	};
}

struct netinc_tenant *netinc_tenant_find(struct netinc_net *nn, const char *name)
{
	struct netinc_tenant *tenant;

	lockdep_assert_held(&nn->mutex);
	list_for_each_entry(tenant, &nn->tenants, list)
		if (!strcmp(tenant->name, name))
			return tenant;
	return NULL;
}

static void set_tenant_cfg(struct netinc_tenant *tenant, const struct netinc_tenant_cfg *cfg)
{
	tenant->cfg = *cfg;
	atomic64_set(&tenant->max[INC_LIMIT_GROUPS], cfg->max_groups);
	atomic64_set(&tenant->max[NETINC_LIMIT_TENANT_SLOTS], cfg->max_slots);
	atomic64_set(&tenant->max[NETINC_LIMIT_TENANT_MEMORY], cfg->max_memory);
}

int netinc_tenant_add(struct netinc_net *nn, const char *name, const struct netinc_tenant_cfg *cfg)
{
	struct netinc_tenant *tenant;
	u32 n = 0;

	if (netinc_tenant_find(nn, name))
		return -EEXIST;
	list_for_each_entry(tenant, &nn->tenants, list)
		n++;
	if (n >= NETINC_MAX_TENANTS)
		return -ENOSPC;
	tenant = kzalloc(sizeof(*tenant), GFP_KERNEL_ACCOUNT);
	if (!tenant)
		return -ENOMEM;
	tenant->stats = netinc_stats_alloc(GFP_KERNEL_ACCOUNT);
	if (!tenant->stats) {
		kfree(tenant);
		return -ENOMEM;
	}
	kref_init(&tenant->ref);
	spin_lock_init(&tenant->lock);
	strscpy(tenant->name, name, sizeof(tenant->name));
	set_tenant_cfg(tenant, cfg);
	netinc_account_init(&tenant->account, tenant->max, -EDQUOT);
	list_add_tail_rcu(&tenant->list, &nn->tenants);
	netinc_list_changed(nn, NETINC_LIST_TENANTS);
	return 0;
}

void netinc_tenant_set(struct netinc_tenant *tenant, const struct netinc_tenant_cfg *cfg)
{
	spin_lock_bh(&tenant->lock);
	/* a packet at the old rate may be owed for minutes */
	if (tenant->cfg.rate != cfg->rate)
		tenant->wire.left = 0;
	set_tenant_cfg(tenant, cfg);
	spin_unlock_bh(&tenant->lock);
}

static void tenant_free(struct rcu_head *rcu)
{
	struct netinc_tenant *tenant = container_of(rcu, struct netinc_tenant, rcu);

	free_percpu(tenant->stats);
	kfree_sensitive(tenant);
}

static void tenant_release(struct kref *ref)
{
	struct netinc_tenant *tenant = container_of(ref, struct netinc_tenant, ref);

	netinc_account_end(&tenant->account);
	call_rcu(&tenant->rcu, tenant_free);
}

void netinc_tenant_get(struct netinc_tenant *tenant)
{
	if (tenant)
		kref_get(&tenant->ref);
}

void netinc_tenant_put(struct netinc_tenant *tenant)
{
	if (tenant)
		kref_put(&tenant->ref, tenant_release);
}

void netinc_tenant_del(struct netinc_tenant *tenant)
{
	list_del_rcu(&tenant->list);
	netinc_tenant_put(tenant);
}

void netinc_tenant_del_all(struct netinc_net *nn)
{
	struct netinc_tenant *tenant, *tmp;

	list_for_each_entry_safe(tenant, tmp, &nn->tenants, list)
		netinc_tenant_del(tenant);
}

bool netinc_join_proved(const u8 *key, const struct netinc_rx *rx, const struct inc_join *join)
{
	__be64 proof[2];

	netinc_join_proof(key, rx->pkt.group, rx->pkt.child, join, proof);
	return !crypto_memneq(proof, join->proof, sizeof(proof));
}

static bool prefix_fits(const struct netinc_prefix *prefix, const struct netinc_peer *peer)
{
	u32 bytes = prefix->len / 8, bits = prefix->len % 8;

	if (prefix->family != peer->family || memcmp(prefix->addr, peer->addr, bytes))
		return false;
	return !bits || !((prefix->addr[bytes] ^ peer->addr[bytes]) >> (8 - bits));
}

static bool place_fits(const struct netinc_tenant_cfg *cfg, const struct netinc_rx *rx)
{
	bool from = !cfg->nprefixes, by = !cfg->nports;
	u32 i;

	for (i = 0; i < cfg->nprefixes && !from; i++)
		from = prefix_fits(&cfg->prefix[i], &rx->peer);
	for (i = 0; i < cfg->nports && !by; i++)
		by = cfg->port[i] == rx->dev->ifindex || cfg->port[i] == rx->via->ifindex ||
		     cfg->port[i] == rx->vrf;
	return from && by;
}

int netinc_tenant_of(struct netinc_rx *rx, const struct inc_join *join, const u8 *key,
		     struct netinc_tenant **found)
{
	int code = INC_REFUSE_TENANT;
	struct netinc_tenant *tenant;
	u8 own[INC_KEY_LEN];
	bool fits, proved;

	*found = NULL;
	if (list_empty(&rx->nn->tenants))
		return netinc_join_proved(key, rx, join) ? 0 : INC_REFUSE_KEY;
	list_for_each_entry_rcu(tenant, &rx->nn->tenants, list) {
		spin_lock_bh(&tenant->lock);
		fits = place_fits(&tenant->cfg, rx);
		memcpy(own, tenant->cfg.keyed ? tenant->cfg.key : key, sizeof(own));
		spin_unlock_bh(&tenant->lock);
		if (!fits)
			continue;
		code = INC_REFUSE_KEY;
		proved = netinc_join_proved(own, rx, join);
		/* it may just have been deleted */
		if (proved && kref_get_unless_zero(&tenant->ref)) {
			memzero_explicit(own, sizeof(own));
			*found = tenant;
			return 0;
		}
	}
	memzero_explicit(own, sizeof(own));
	return code;
}

/* Is anything left of what comes at @percent of the clock? *@low: not half of what may be. */
static bool refill_allowance(struct netinc_allowance *a, u32 percent, u64 now, bool *low)
{
	s64 most = MAX_SAVED / 100 * percent;

	if ((s64)(now - a->since) > 0) {
		/* what is longer ago than it takes to save up all makes no difference */
		a->left += div_u64(min_t(u64, now - a->since, 2 * NSEC_PER_SEC) * percent, 100);
		a->since = now;
	}
	a->left = min(a->left, most);
	*low |= a->left < most / 2;
	return a->left > 0;
}

int netinc_tenant_may_work(struct netinc_tenant *tenant, u32 bytes, u64 now, bool *congested)
{
	const struct netinc_tenant_cfg *cfg = &tenant->cfg;
	bool work = true, wire = true;

	*congested = false;
	if (READ_ONCE(cfg->cpu) || READ_ONCE(cfg->rate)) {
		spin_lock_bh(&tenant->lock);
		if (cfg->cpu)
			work = refill_allowance(&tenant->work, cfg->cpu, now, congested);
		if (cfg->rate)
			wire = refill_allowance(&tenant->wire, 100, now, congested);
		if (cfg->rate && work && wire)
			tenant->wire.left -= div64_u64(8ULL * bytes * NSEC_PER_SEC, cfg->rate);
		spin_unlock_bh(&tenant->lock);
	}
	if (!work)
		atomic64_inc(&tenant->refused_cpu);
	else if (!wire)
		atomic64_inc(&tenant->refused_rate);
	else
		netinc_stats_add(tenant->stats, NETINC_TENANT_BYTES, (u64[]){ bytes }, 1);
	return !work ? INC_C_DROP_CPU : !wire ? INC_C_DROP_RATE : 0;
}

int netinc_tenant_in_debt(struct netinc_tenant *tenant, u64 now)
{
	const struct netinc_tenant_cfg *cfg = &tenant->cfg;
	bool work = true, wire = true, low = false;

	if (!READ_ONCE(cfg->cpu) && !READ_ONCE(cfg->rate))
		return 0;
	spin_lock_bh(&tenant->lock);
	if (cfg->cpu)
		work = refill_allowance(&tenant->work, cfg->cpu, now, &low);
	if (cfg->rate)
		wire = refill_allowance(&tenant->wire, 100, now, &low);
	spin_unlock_bh(&tenant->lock);
	return !work ? INC_C_DROP_CPU : !wire ? INC_C_DROP_RATE : 0;
}

void netinc_tenant_worked(struct netinc_tenant *tenant, u64 nsec)
{
	if (!tenant)
		return;
	netinc_stats_add(tenant->stats, NETINC_TENANT_CPU_NSEC, &nsec, 1);
	/* without a limit it is not refilled, and owes nothing when it gets one */
	if (!READ_ONCE(tenant->cfg.cpu))
		return;
	spin_lock_bh(&tenant->lock);
	tenant->work.left = max_t(s64, tenant->work.left - nsec, -(s64)MAX_DEBT);
	spin_unlock_bh(&tenant->lock);
}
