// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits: charges and refusals, the table of users, defaults that depend on the size of the
 * machine.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include "core/limits.h"
#include "core/netns.h"

#define USER_WORKERS	16		/* of one user, at once */
#define MIN_SHARE	(64LL << 20)	/* bytes, however small the machine */
#define MIN_USER_SHARE	(4LL << 20)

atomic64_t netinc_root_max[__INC_LIMIT_MAX], netinc_user_max[__INC_LIMIT_MAX];
LIST_HEAD(netinc_users);
static DEFINE_SPINLOCK(users_lock);	/* changes to the list */
static struct workqueue_struct *reaper;	/* frees users, also from their own workers */

/* One @part of the machine's memory, and @least bytes at least. */
static s64 memory_fraction(unsigned int part, s64 least)
{
	return max_t(s64, (s64)(totalram_pages() / part) << PAGE_SHIFT, least);
}

static void set_counts(atomic64_t *max, s64 factor)
{
	atomic64_set(&max[INC_LIMIT_SOCKETS], 4096 * factor);
	atomic64_set(&max[INC_LIMIT_OPERATIONS], 262144 * factor);
	atomic64_set(&max[INC_LIMIT_GROUPS], 16384 * factor);
	atomic64_set(&max[INC_LIMIT_ANSWERS], 10240);
}

/* Of root and of namespaces: for one job that needs much of one kind. */
static void set_shares(atomic64_t *max)
{
	atomic64_set(&max[INC_LIMIT_OP_MEMORY], memory_fraction(8, MIN_SHARE));
	atomic64_set(&max[INC_LIMIT_PINNED_MEMORY], memory_fraction(2, MIN_SHARE));
	atomic64_set(&max[INC_LIMIT_SLOT_MEMORY], memory_fraction(2, MIN_SHARE));
	atomic64_set(&max[INC_LIMIT_HELD_MEMORY], memory_fraction(4, MIN_SHARE));
	atomic64_set(&max[INC_LIMIT_SOCKET_MEMORY], memory_fraction(4, MIN_SHARE));
}

/* All kinds together are less than a quarter of the machine, whatever namespaces somebody makes. */
static void set_user_shares(atomic64_t *max)
{
	atomic64_set(&max[INC_LIMIT_OP_MEMORY], memory_fraction(32, MIN_USER_SHARE));
	atomic64_set(&max[INC_LIMIT_PINNED_MEMORY], memory_fraction(16, MIN_USER_SHARE));
	atomic64_set(&max[INC_LIMIT_SLOT_MEMORY], memory_fraction(16, MIN_USER_SHARE));
	atomic64_set(&max[INC_LIMIT_HELD_MEMORY], memory_fraction(32, MIN_USER_SHARE));
	atomic64_set(&max[INC_LIMIT_SOCKET_MEMORY], memory_fraction(32, MIN_USER_SHARE));
}

int netinc_limits_start(void)
{
	reaper = alloc_workqueue("inc-users", WQ_UNBOUND, 0);
	if (!reaper)
		return -ENOMEM;
	/* a user may have several namespaces */
	set_counts(netinc_root_max, 4);
	set_shares(netinc_root_max);
	set_counts(netinc_user_max, 1);
	set_user_shares(netinc_user_max);
	return 0;
}

void netinc_limits_init_net(struct netinc_net *nn)
{
	set_counts(nn->max, 1);
	set_shares(nn->max);
}

/* All who had some have given it back: sockets and namespaces are gone. */
void netinc_limits_stop(void)
{
	WARN_ON_ONCE(!list_empty(&netinc_users));
	destroy_workqueue(reaper);
}

static struct netinc_user *user_find(kuid_t uid)
{
	struct netinc_user *user;

	lockdep_assert_held(&users_lock);
	list_for_each_entry(user, &netinc_users, list)
		if (uid_eq(user->uid, uid) && kref_get_unless_zero(&user->ref))
			return user;
	return NULL;
}

/* Nothing that it does refers to it any more, but its workers may still be about to end. */
static void user_free(struct work_struct *work)
{
	struct netinc_user *user = container_of(work, struct netinc_user, free);

	destroy_workqueue(user->wq);
	kfree_rcu(user, rcu);
}

static struct netinc_user *user_new(kuid_t uid)
{
	struct netinc_user *user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);

	if (!user)
		return NULL;
	user->wq = alloc_workqueue("inc-%u", WQ_UNBOUND, USER_WORKERS, __kuid_val(uid));
	if (!user->wq) {
		kfree(user);
		return NULL;
	}
	INIT_WORK(&user->free, user_free);
	kref_init(&user->ref);
	user->uid = uid;
	return user;
}

struct netinc_user *netinc_user_get(struct user_namespace *ns, kuid_t uid)
{
	struct netinc_user *user, *other;

	for (; ns != &init_user_ns; ns = ns->parent)
		uid = ns->owner;
	spin_lock_bh(&users_lock);
	user = user_find(uid);
	spin_unlock_bh(&users_lock);
	if (user)
		return user;
	user = user_new(uid);
	if (!user)
		return NULL;
	spin_lock_bh(&users_lock);
	other = user_find(uid);
	if (!other)
		list_add_tail_rcu(&user->list, &netinc_users);
	spin_unlock_bh(&users_lock);
	if (!other)
		return user;
	destroy_workqueue(user->wq);
	kfree(user);
	return other;
}

static void user_release(struct kref *ref)
{
	struct netinc_user *user = container_of(ref, struct netinc_user, ref);
	int i;

	for (i = 0; i < __INC_LIMIT_MAX; i++)
		WARN_ON_ONCE(atomic64_read(&user->use.now[i]));
	spin_lock_bh(&users_lock);
	list_del_rcu(&user->list);
	spin_unlock_bh(&users_lock);
	queue_work(reaper, &user->free);
}

void netinc_user_put(struct netinc_user *user)
{
	kref_put(&user->ref, user_release);
}

static bool take_limit(struct netinc_use *use, const atomic64_t *max, enum inc_limit what, s64 n)
{
	s64 limit = atomic64_read(&max[what]), now = atomic64_read(&use->now[what]);

	do {
		if (n > limit || now > limit - n) {
			atomic64_inc(&use->refused[what]);
			return false;
		}
	} while (!atomic64_try_cmpxchg(&use->now[what], &now, now + n));
	return true;
}

int netinc_charge(struct netinc_net *nn, struct netinc_user *user, enum inc_limit what, s64 n)
{
	if (!take_limit(&nn->use, nn->max, what, n))
		return -ENOBUFS;
	if (take_limit(&user->use, netinc_max_of(user), what, n))
		return 0;
	atomic64_sub(n, &nn->use.now[what]);
	return -EDQUOT;
}

void netinc_charge_always(struct netinc_net *nn, struct netinc_user *user, enum inc_limit what,
			  s64 n)
{
	atomic64_add(n, &nn->use.now[what]);
	atomic64_add(n, &user->use.now[what]);
}

void netinc_uncharge(struct netinc_net *nn, struct netinc_user *user, enum inc_limit what, s64 n)
{
	atomic64_sub(n, &nn->use.now[what]);
	atomic64_sub(n, &user->use.now[what]);
}

int netinc_charge_check(struct netinc_net *nn, struct netinc_user *user, enum inc_limit what, s64 n)
{
	int err = netinc_charge(nn, user, what, n);

	if (!err)
		netinc_uncharge(nn, user, what, n);
	return err;
}

static void *mem_alloc(struct netinc_mem *mem, size_t n, size_t size, gfp_t gfp)
{
	size_t bytes = array_size(n, size);
	int err;

	if (bytes > S64_MAX / 2)
		return NULL;
	err = netinc_charge(mem->nn, mem->user, INC_LIMIT_OP_MEMORY, bytes);
	if (err) {
		mem->err = err;
		return NULL;
	}
	mem->bytes += bytes;
	return kvmalloc(bytes, gfp);
}

void *netinc_mem_alloc(struct netinc_mem *mem, size_t n, size_t size)
{
	return mem_alloc(mem, n, size, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
}

void *netinc_mem_zalloc(struct netinc_mem *mem, size_t n, size_t size)
{
	return mem_alloc(mem, n, size, GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_ZERO);
}

void netinc_mem_done(struct netinc_mem *mem)
{
	netinc_uncharge(mem->nn, mem->user, INC_LIMIT_OP_MEMORY, mem->bytes);
	mem->bytes = 0;
}
