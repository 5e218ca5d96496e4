/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits of resources, per network namespace and per user, and what is in use of each.
 *
 * A resource is charged before it is taken, to a namespace and a user at once, and given back when
 * it is free: use is 0 when all is gone. Sockets and operations are their creator's; what nodes
 * need is the namespace's owner's, but what a group needs that meets at the host of its rank 0 is
 * that rank's user's. Users of user namespaces other than the first count as whoever
 * has made these: they do not get more by making more.
 *
 * Errors: -ENOBUFS at the namespace's limit, -EDQUOT at the user's.
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

struct netinc_use {
	atomic64_t now[__INC_LIMIT_MAX];
	atomic64_t refused[__INC_LIMIT_MAX];	/* times that the limit was met */
};

/* All that one user has; in a list of this machine. */
struct netinc_user {
	struct list_head list;		/* RCU */
	struct rcu_head rcu;
	struct kref ref;
	kuid_t uid;
	struct workqueue_struct *wq;	/* for work that may wait for what the user does */
	struct work_struct free;
	struct netinc_use use;
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

/* Any context. 0, -ENOBUFS or -EDQUOT; nothing has changed then but that it is counted. */
int netinc_charge(struct netinc_net *nn, struct netinc_user *user, enum inc_limit what, s64 n);
/* The same for what must not be refused: may go beyond the limit. */
void netinc_charge_always(struct netinc_net *nn, struct netinc_user *user, enum inc_limit what,
			  s64 n);
void netinc_uncharge(struct netinc_net *nn, struct netinc_user *user, enum inc_limit what, s64 n);
/* Would it be refused? As netinc_charge(), and it is counted if so. */
int netinc_charge_check(struct netinc_net *nn, struct netinc_user *user, enum inc_limit what,
			s64 n);

/*
 * Memory of an operation, for kvfree(); NULL: there is none, or mem->err says which limit. May
 * sleep.
 */
void *netinc_mem_alloc(struct netinc_mem *mem, size_t n, size_t size);
void *netinc_mem_zalloc(struct netinc_mem *mem, size_t n, size_t size);
/* When all of it has been freed. */
void netinc_mem_done(struct netinc_mem *mem);

/* Of root, and of every other user: changed by the administrator of the machine. */
extern atomic64_t netinc_root_max[__INC_LIMIT_MAX], netinc_user_max[__INC_LIMIT_MAX];

static inline const atomic64_t *netinc_max_of(const struct netinc_user *user)
{
	return uid_eq(user->uid, GLOBAL_ROOT_UID) ? netinc_root_max : netinc_user_max;
}

void netinc_limits_init_net(struct netinc_net *nn);

/* Under RCU: all users. */
extern struct list_head netinc_users;

int netinc_limits_start(void);
void netinc_limits_stop(void);

#endif
