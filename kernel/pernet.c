// SPDX-License-Identifier: GPL-2.0-only
/*
 * Network namespaces come and go: their state is made and taken down here, for core, host and node.
 */
#include <linux/random.h>
#include <linux/rculist.h>
#include "core/answers.h"
#include "core/demux.h"
#include "core/netns.h"
#include "host/rank.h"
#include "node/history.h"
#include "node/node.h"
#include "node/node_group.h"
#include "node/tenant.h"

#define READ_TRIES	8	/* to see all counters while nothing goes */

unsigned int netinc_net_id;

static void read_percpu(struct netinc_net *nn, u64 *sum)
{
	u64 part[__INC_C_MAX];
	unsigned int start;
	int cpu, c;

	for_each_possible_cpu(cpu) {
		const struct netinc_counters *counters = per_cpu_ptr(nn->counters, cpu);

		do {
			start = u64_stats_fetch_begin(&counters->sync);
			for (c = 0; c < __INC_C_MAX; c++)
				part[c] = u64_stats_read(&counters->c[c]);
		} while (u64_stats_fetch_retry(&counters->sync, start));
		for (c = 0; c < __INC_C_MAX; c++)
			sum[c] += part[c];
	}
}

static void read_all(struct netinc_net *nn, u64 *sum)
{
	struct netinc_node_group *g;
	struct netinc_rank *rank;
	int i, c;

	memset(sum, 0, __INC_C_MAX * sizeof(*sum));
	read_percpu(nn, sum);
	rcu_read_lock();
	for (i = 0; i < ARRAY_SIZE(nn->groups); i++) {
		hlist_for_each_entry_rcu(g, &nn->groups[i], hash)
			for (c = 0; c < __INC_C_MAX; c++)
				sum[c] += READ_ONCE(g->grp.counters[c]);
		hlist_for_each_entry_rcu(rank, &nn->ranks[i], hash)
			for (c = 0; c < __INC_C_MAX; c++)
				sum[c] += READ_ONCE(rank->ep.counters[c]);
	}
	rcu_read_unlock();
}

/*
 * Ranks that come and go, as fast as a user can make them, do not keep a reader here: what then
 * goes between two looks is missing once, but no counter gets less than it was said to be.
 */
static void read_stable(struct netinc_net *nn, u64 *sum)
{
	unsigned int start, tries;

	for (tries = 0; tries < READ_TRIES; tries++) {
		start = read_seqcount_begin(&nn->retired);
		read_all(nn, sum);
		if (!read_seqcount_retry(&nn->retired, start))
			return;
		cond_resched();
	}
}

void netinc_net_read_counters(struct netinc_net *nn, u64 *sum)
{
	int c;

	read_stable(nn, sum);
	spin_lock_bh(&nn->hash_lock);
	for (c = 0; c < __INC_C_MAX; c++) {
		nn->reported[c] = max(sum[c], nn->reported[c]);
		sum[c] = nn->reported[c];
	}
	spin_unlock_bh(&nn->hash_lock);
}

static int __net_init net_init(struct net *net)
{
	struct netinc_net *nn = netinc_net(net);
	int cpu;

	nn->counters = alloc_percpu_gfp(struct netinc_counters, GFP_KERNEL_ACCOUNT);
	nn->owner = netinc_user_get(net->user_ns, GLOBAL_ROOT_UID);
	if (!nn->counters || !nn->owner) {
		free_percpu(nn->counters);
		if (nn->owner)
			netinc_user_put(nn->owner);
		return -ENOMEM;
	}
	netinc_limits_init_net(nn);
	for_each_possible_cpu(cpu)
		u64_stats_init(&per_cpu_ptr(nn->counters, cpu)->sync);
	nn->net = net;
	mutex_init(&nn->mutex);
	spin_lock_init(&nn->hash_lock);
	seqcount_spinlock_init(&nn->retired, &nn->hash_lock);
	INIT_LIST_HEAD(&nn->nodes);
	INIT_LIST_HEAD(&nn->tenants);
	get_random_bytes(nn->secret, sizeof(nn->secret));
	nn->hash_seed = get_random_u32();
	if (!netinc_edge_init(nn))
		return 0;
	netinc_user_put(nn->owner);
	free_percpu(nn->counters);
	return -ENOMEM;
}

/* Sockets hold their netns, so that there are no ranks any more. */
static void __net_exit net_exit(struct net *net)
{
	struct netinc_net *nn = netinc_net(net);
	int i;

	mutex_lock(&nn->mutex);
	netinc_node_del_all(nn);
	netinc_tenant_del_all(nn);
	mutex_unlock(&nn->mutex);
	netinc_edge_fini(nn);
	WARN_ON_ONCE(nn->users);
	for (i = 0; i < ARRAY_SIZE(nn->groups); i++)
		WARN_ON_ONCE(!hlist_empty(&nn->groups[i]) || !hlist_empty(&nn->ranks[i]));
	netinc_account_end(&nn->account);
	netinc_user_put(nn->owner);
	netinc_history_fini(nn);
	netinc_answers_free(nn->answers);
	netinc_demux_fini(nn);
	free_percpu(nn->counters);
	memzero_explicit(nn->secret, sizeof(nn->secret));
}

/*
 * What groups and ranks have left to RCU holds routes: they go before IPv6 leaves these namespaces,
 * whose counts of routes they are in.
 */
static void __net_exit net_exit_batch(struct list_head *nets)
{
	rcu_barrier();
}

static struct pernet_operations net_ops = {
	.init = net_init,
	.exit = net_exit,
	.exit_batch = net_exit_batch,
	.id = &netinc_net_id,
	.size = sizeof(struct netinc_net),
};

int netinc_net_init(void)
{
	int err = netinc_limits_start();

	if (err)
		return err;
	err = register_pernet_subsys(&net_ops);
	if (err)
		netinc_limits_stop();
	return err;
}

void netinc_net_fini(void)
{
	unregister_pernet_subsys(&net_ops);
	netinc_limits_stop();
}
