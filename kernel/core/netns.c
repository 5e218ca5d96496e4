// SPDX-License-Identifier: GPL-2.0-only
/* The parts of a network namespace that all sides use: its hooks' users, and its counters. */
#include <linux/moduleparam.h>
#include <linux/rculist.h>
#include "core/answers.h"
#include "core/demux.h"
#include "core/nf_hooks.h"
#include "core/netns.h"

unsigned int netinc_dead_ms = 10000;

static int set_dead_ms(const char *value, const struct kernel_param *kp)
{
	return param_set_uint_minmax(value, kp, NETINC_MIN_DEAD_MS, NETINC_MAX_DEAD_MS);
}

static const struct kernel_param_ops dead_ms_ops = {
	.set = set_dead_ms,
	.get = param_get_uint,
};

module_param_cb(dead_ms, &dead_ms_ops, &netinc_dead_ms, 0644);
MODULE_PARM_DESC(dead_ms, "Dead limit of nodes that are added without one, and of the edge, in ms");

int netinc_net_use(struct netinc_net *nn)
{
	int err = 0;

	lockdep_assert_held(&nn->mutex);
	if (!nn->answers)
		nn->answers = netinc_answers_alloc();
	if (!nn->answers)
		return -ENOMEM;
	if (!nn->demux)
		err = netinc_demux_init(nn);
	if (!err && !nn->users)
		err = netinc_hooks_register(nn);
	if (!err)
		nn->users++;
	return err;
}

void netinc_net_unuse(struct netinc_net *nn)
{
	lockdep_assert_held(&nn->mutex);
	if (!--nn->users)
		netinc_hooks_unregister(nn);
}

void netinc_net_add_counters(struct netinc_net *nn, u64 *counters)
{
	int c;

	for (c = 0; c < __INC_C_MAX; c++) {
		if (!counters[c])
			continue;
		netinc_net_count(nn, c, counters[c]);
		WRITE_ONCE(counters[c], 0);
	}
}

void netinc_net_retire(struct netinc_net *nn, struct hlist_node *hash, u64 *counters)
{
	spin_lock_bh(&nn->hash_lock);
	write_seqcount_begin(&nn->retired);
	hlist_del_rcu(hash);
	netinc_net_add_counters(nn, counters);
	write_seqcount_end(&nn->retired);
	netinc_list_changed(nn, NETINC_LIST_GROUPS);
	spin_unlock_bh(&nn->hash_lock);
}
