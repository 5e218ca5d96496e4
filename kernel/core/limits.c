// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits: accounts, charges and refusals, the table of users, defaults that depend on the size of
 * the machine.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include "core/limits.h"
#include "core/netns.h"

#define USER_WORKERS	16		/* of one user, at once */
#define MIN_MEMORY	(64LL << 20)	/* bytes, however small the machine */
#define MIN_USER_MEMORY	(4LL << 20)

atomic64_t netinc_root_max[__INC_LIMIT_MAX], netinc_user_max[__INC_LIMIT_MAX];
LIST_HEAD(netinc_users);
atomic_t netinc_users_changed = ATOMIC_INIT(0);
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

/* Limits of root and of namespaces: for one job that needs much of one kind. */
static void set_fractions(atomic64_t *max)
{
	atomic64_set(&max[INC_LIMIT_OP_MEMORY], memory_fraction(8, MIN_MEMORY));
	atomic64_set(&max[INC_LIMIT_PINNED_MEMORY], memory_fraction(2, MIN_MEMORY));
	atomic64_set(&max[INC_LIMIT_SLOT_MEMORY], memory_fraction(2, MIN_MEMORY));
	atomic64_set(&max[INC_LIMIT_HELD_MEMORY], memory_fraction(4, MIN_MEMORY));
	atomic64_set(&max[INC_LIMIT_SOCKET_MEMORY], memory_fraction(4, MIN_MEMORY));
}

/* All kinds together are less than a quarter of the machine, whatever namespaces somebody makes. */
static void set_user_fractions(atomic64_t *max)
{
	atomic64_set(&max[INC_LIMIT_OP_MEMORY], memory_fraction(32, MIN_USER_MEMORY));
	atomic64_set(&max[INC_LIMIT_PINNED_MEMORY], memory_fraction(16, MIN_USER_MEMORY));
	atomic64_set(&max[INC_LIMIT_SLOT_MEMORY], memory_fraction(16, MIN_USER_MEMORY));
	atomic64_set(&max[INC_LIMIT_HELD_MEMORY], memory_fraction(32, MIN_USER_MEMORY));
	atomic64_set(&max[INC_LIMIT_SOCKET_MEMORY], memory_fraction(32, MIN_USER_MEMORY));
}

int netinc_limits_start(void)
{
	reaper = alloc_workqueue("inc-users", WQ_UNBOUND, 0);
	if (!reaper)
		return -ENOMEM;
	/* a user may have several namespaces */
	set_counts(netinc_root_max, 4);
	set_fractions(netinc_root_max);
	set_counts(netinc_user_max, 1);
	set_user_fractions(netinc_user_max);
	return 0;
}

void netinc_limits_init_net(struct netinc_net *nn)
{
	set_counts(nn->max, 1);
	set_fractions(nn->max);
	netinc_account_init(&nn->account, nn->max, -ENOBUFS);
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
	netinc_account_init(&user->account,
			    uid_eq(uid, GLOBAL_ROOT_UID) ? netinc_root_max : netinc_user_max,
			    -EDQUOT);
	return user;
}

/* As netinc_list_changed(). */
static void users_changed(void)
{
	lockdep_assert_held(&users_lock);
	smp_mb__before_atomic();	/* first the list, then the number: dumps read it first */
	atomic_inc(&netinc_users_changed);
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
	if (!other) {
		list_add_tail_rcu(&user->list, &netinc_users);
		users_changed();
	}
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

	netinc_account_end(&user->account);
	spin_lock_bh(&users_lock);
	list_del_rcu(&user->list);
	users_changed();
	spin_unlock_bh(&users_lock);
	queue_work(reaper, &user->free);
}

void netinc_user_put(struct netinc_user *user)
{
	kref_put(&user->ref, user_release);
}

void netinc_account_init(struct netinc_account *a, const atomic64_t *max, int err)
{
	a->max = max;
	a->err = err;
}

void netinc_account_end(struct netinc_account *a)
{
	int i;

	for (i = 0; i < NETINC_LIMITS; i++)
		WARN_ON_ONCE(atomic64_read(&a->use[i]));
}

static bool charge_item(const struct netinc_charge_item *item)
{
	struct netinc_account *a = item->account;
	s64 limit, now = atomic64_read(&a->use[item->what]);

	do {
		limit = atomic64_read(&a->max[item->what]) >> item->half;
		if (item->n > limit || now > limit - item->n) {
			atomic64_inc(&a->refused[item->what]);
			return false;
		}
	} while (!atomic64_try_cmpxchg(&a->use[item->what], &now, now + item->n));
	return true;
}

const struct netinc_charge_item *netinc_charge_all(const struct netinc_charge_item *item, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (!charge_item(&item[i])) {
			netinc_uncharge_all(item, i);
			return &item[i];
		}
	return NULL;
}

void netinc_charge_always(const struct netinc_charge_item *item, u32 n)
{
	for (; n; n--, item++)
		atomic64_add(item->n, &item->account->use[item->what]);
}

void netinc_uncharge_all(const struct netinc_charge_item *item, u32 n)
{
	for (; n; n--, item++)
		atomic64_sub(item->n, &item->account->use[item->what]);
}

static int charge_part(struct netinc_net *nn, struct netinc_user *user, enum inc_limit what, s64 n,
		       bool half)
{
	const struct netinc_charge_item item[] = { { &nn->account, what, n, half },
						   { &user->account, what, n, half } };
	const struct netinc_charge_item *full = netinc_charge_all(item, ARRAY_SIZE(item));

	return full ? full->account->err : 0;
}

int netinc_charge(struct netinc_net *nn, struct netinc_user *user, enum inc_limit what, s64 n)
{
	return charge_part(nn, user, what, n, false);
}

int netinc_charge_half(struct netinc_net *nn, struct netinc_user *user, enum inc_limit what, s64 n)
{
	return charge_part(nn, user, what, n, true);
}

void netinc_uncharge(struct netinc_net *nn, struct netinc_user *user, enum inc_limit what, s64 n)
{
	const struct netinc_charge_item item[] = { { &nn->account, what, n },
						   { &user->account, what, n } };

	netinc_uncharge_all(item, ARRAY_SIZE(item));
}

int netinc_mem_charge(struct netinc_mem *mem, s64 bytes)
{
	int err = netinc_charge(mem->nn, mem->user, INC_LIMIT_OP_MEMORY, bytes);

	if (err)
		mem->err = err;
	else
		mem->bytes += bytes;
	return err;
}

static void *mem_alloc(struct netinc_mem *mem, size_t n, size_t size, gfp_t gfp)
{
	size_t bytes = array_size(n, size);

	if (bytes > S64_MAX / 2 || netinc_mem_charge(mem, bytes))
		return NULL;
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
