/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits of resources, and what is in use of each: tenants, network namespaces and users have an
 * account.
 *
 * A resource is charged before it is taken, to all accounts that it is of at once or to none, and
 * given back when it is free: use is 0 when all is gone. Sockets and operations are a namespace's
 * and their creator's; what nodes need is the namespace's, its owner's and, of a tenant's group,
 * the tenant's; but what a group needs that meets at the host of its rank 0 is that rank's user's.
 * Users of user namespaces other than the first count as whoever has made these: they do not get
 * more by making more.
 *
 * Errors: -ENOBUFS at the namespace's limit, -EDQUOT at a user's or tenant's.
 */
#ifndef NETINC_CORE_LIMITS_H
#define NETINC_CORE_LIMITS_H

#include <linux/atomic.h>
#include <linux/inc_netlink.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>

struct netinc_net;
struct user_namespace;

/* Limits that only tenants have, besides INC_LIMIT_GROUPS. */
enum {
	NETINC_LIMIT_TENANT_SLOTS = __INC_LIMIT_MAX,
	NETINC_LIMIT_TENANT_MEMORY,	/* bytes: of slots, and held */
	NETINC_LIMITS
};

/* Use of each resource by a tenant, a namespace or a user; it is a part of these. */
struct netinc_account {
	atomic64_t use[NETINC_LIMITS];
	atomic64_t refused[NETINC_LIMITS];	/* times that the limit was met */
	const atomic64_t *max;			/* by the same numbers */
	int err;				/* at a limit */
};

/* A charge of @n of one resource to one account. What is charged at once is an array of these. */
struct netinc_charge_item {
	struct netinc_account *account;
	u32 what;		/* enum inc_limit, or NETINC_LIMIT_... */
	s64 n;
	bool half;		/* it is refused beyond half of the limit */
};

/* All that one user has; in a list of this machine. */
struct netinc_user {
	struct list_head list;		/* RCU */
	struct rcu_head rcu;
	struct kref ref;
	kuid_t uid;
	atomic_t ranks;			/* among which what may be pinned is divided */
	struct workqueue_struct *wq;	/* for work that may wait for what the user does */
	struct work_struct free;
	/*
	 * The last process that ended before a socket that it waited for had left, and when
	 * (jiffies); it is only compared, and may be gone
	 */
	const struct pid *gave_up_by;
	unsigned long gave_up_at;
	struct netinc_account account;
};

/* Kernel memory of an operation: given back in one go. */
struct netinc_mem {
	struct netinc_net *nn;
	struct netinc_user *user;
	s64 bytes;
	int err;			/* why a charge was refused; 0: none was */
};

/* @uid of @ns, or who has made @ns. Returns with a reference; NULL: no memory. May sleep. */
struct netinc_user *netinc_user_get(struct user_namespace *ns, kuid_t uid);
void netinc_user_put(struct netinc_user *user);

void netinc_account_init(struct netinc_account *a, const atomic64_t *max, int err);
/* All has been given back. */
void netinc_account_end(struct netinc_account *a);

/*
 * @n items at once, all or none; their accounts are asked in this order. NULL, or the item that was
 * refused: nothing has changed then but that it is counted there. Any context, as all of these.
 */
const struct netinc_charge_item *netinc_charge_all(const struct netinc_charge_item *item, u32 n);
/* The same for what must not be refused: may go beyond the limits. */
void netinc_charge_always(const struct netinc_charge_item *item, u32 n);
void netinc_uncharge_all(const struct netinc_charge_item *item, u32 n);

/* To a namespace and a user: 0, -ENOBUFS or -EDQUOT. */
int netinc_charge(struct netinc_net *nn, struct netinc_user *user, enum inc_limit what, s64 n);
/* The same, and with it not more than half of either limit is in use. */
int netinc_charge_half(struct netinc_net *nn, struct netinc_user *user, enum inc_limit what,
		       s64 n);
void netinc_uncharge(struct netinc_net *nn, struct netinc_user *user, enum inc_limit what, s64 n);

/*
 * Memory of an operation, for kvfree(); NULL: there is none, or mem->err says which limit. May
 * sleep.
 */
void *netinc_mem_alloc(struct netinc_mem *mem, size_t n, size_t size);
void *netinc_mem_zalloc(struct netinc_mem *mem, size_t n, size_t size);
/* For memory that is there already. 0, -ENOBUFS or -EDQUOT, also in mem->err. */
int netinc_mem_charge(struct netinc_mem *mem, s64 bytes);
/* When all of it has been freed. */
void netinc_mem_done(struct netinc_mem *mem);

/* Limits of root, and of every other user: changed by the administrator of the machine. */
extern atomic64_t netinc_root_max[__INC_LIMIT_MAX], netinc_user_max[__INC_LIMIT_MAX];

void netinc_limits_init_net(struct netinc_net *nn);

/* All users; RCU to read. */
extern struct list_head netinc_users;
extern atomic_t netinc_users_changed;	/* how often the list has, as netinc_list_changed() */

int netinc_limits_start(void);
void netinc_limits_stop(void);

#endif
