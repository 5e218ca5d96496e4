/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tenants: whose a group is at the nodes of a network namespace, and what he may have there.
 *
 * A JOIN is compared with the tenants in the order in which they were added, and is of the first
 * one whose prefixes and ports fit its sender and whose key it has proved; with no fit it is
 * refused. Without tenants everybody may join who has the node's key.
 *
 * Groups, slots and memory are charged before they are taken (limits.h). CPU time is known only
 * afterwards: contributions are paid for with allowances, of time and of bytes, which come by the
 * clock, and are dropped while nothing is left; they come again. When half of what may be saved up
 * has gone, they are marked as congested, so that ranks slow down before that.
 *
 * LOCKING: nn->mutex for changes of the list, RCU to read it; a tenant's `lock` for what it is and
 * its allowances. A group has a reference to its tenant, which may be out of the list by then.
 */
#ifndef NETINC_NODE_TENANT_H
#define NETINC_NODE_TENANT_H

#include <linux/inc.h>
#include <linux/inc_netlink.h>
#include <linux/kref.h>
#include "core/netns.h"
#include "core/rx.h"
#include "core/stats.h"

#define NETINC_MAX_TENANTS	256
#define NETINC_TENANT_GROUPS	65536u		/* of one, at most */
#define NETINC_TENANT_SLOTS	(NETINC_TENANT_GROUPS * 2 * INC_MAX_WINDOW)	/* likewise */
#define NETINC_TENANT_MEMORY	BIT_ULL(40)	/* bytes, likewise */

struct netinc_prefix {
	u8 family;
	u8 len;			/* bits */
	u8 addr[16];
};

struct netinc_tenant_cfg {
	bool keyed;
	u8 key[INC_KEY_LEN];	/* zeros if not keyed */
	u32 nprefixes;		/* 0: from anywhere */
	struct netinc_prefix prefix[INC_TENANT_PLACES];
	u32 nports;		/* 0: by any */
	u32 port[INC_TENANT_PLACES];	/* ifindex */
	u32 max_groups;		/* these three: copied to tenant->max */
	u32 max_slots;
	u64 max_memory;		/* bytes */
	u32 cpu;		/* percent, 0: no limit */
	u64 rate;		/* bits per second, 0: no limit */
};

/* An account that is spent from, and that time fills again. */
struct netinc_allowance {
	s64 left;		/* ns */
	u64 since;		/* ns: when that was right */
};

enum netinc_tenant_stat {
	NETINC_TENANT_CPU_NSEC,
	NETINC_TENANT_BYTES	/* of contributions */
};

struct netinc_tenant {
	struct list_head list;	/* nn->tenants, RCU; nn->mutex */
	struct rcu_head rcu;
	struct kref ref;
	char name[INC_TENANT_NAME];
	spinlock_t lock;	/* cfg, work, wire */
	struct netinc_tenant_cfg cfg;
	struct netinc_allowance work;	/* of a processor, for cfg.cpu */
	struct netinc_allowance wire;	/* of a link of cfg.rate */
	struct netinc_account account;	/* groups, slots, memory */
	atomic64_t max[NETINC_LIMITS];	/* of these */
	struct netinc_stats __percpu *stats;	/* enum netinc_tenant_stat */
	atomic64_t refused_cpu;
	atomic64_t refused_rate;
};

void netinc_tenant_cfg_init(struct netinc_tenant_cfg *cfg);
/*
 * Adds a tenant at the end of the list, under nn->mutex. 0, -EEXIST, -ENOSPC (too many), -ENOMEM.
 */
int netinc_tenant_add(struct netinc_net *nn, const char *name, const struct netinc_tenant_cfg *cfg);
struct netinc_tenant *netinc_tenant_find(struct netinc_net *nn, const char *name);
void netinc_tenant_set(struct netinc_tenant *tenant, const struct netinc_tenant_cfg *cfg);
void netinc_tenant_del(struct netinc_tenant *tenant);
void netinc_tenant_del_all(struct netinc_net *nn);

/* NULL is nobody, here and below. */
void netinc_tenant_get(struct netinc_tenant *tenant);
void netinc_tenant_put(struct netinc_tenant *tenant);

/*
 * Finds the tenant that a JOIN belongs to, under RCU. @key: the node's. 0 with the tenant and a
 * reference to it, or NULL where there are none; else the enum inc_refuse_code.
 */
int netinc_tenant_of(struct netinc_rx *rx, const struct inc_join *join, const u8 *key,
		     struct netinc_tenant **tenant);
/* Has the sender of this JOIN proved @key? */
bool netinc_join_proved(const u8 *key, const struct netinc_rx *rx, const struct inc_join *join);

/*
 * May contributions of @bytes, IP headers included, be worked on? 0 or the counter of what there is
 * not enough of.
 * *@congested: not for much longer. @now: ns.
 */
int netinc_tenant_may_work(struct netinc_tenant *tenant, u32 bytes, u64 now, bool *congested);
/* Has he spent all of his processor time or rate? 0 or the counter of which. @now: ns. */
int netinc_tenant_in_debt(struct netinc_tenant *tenant, u64 now);
void netinc_tenant_worked(struct netinc_tenant *tenant, u64 nsec);

#endif
