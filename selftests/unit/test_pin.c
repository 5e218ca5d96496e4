// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who gets pages next (kernel/host/pin.c): operations end, and are collected and freed, whenever
 * their rank's lock is not held, also while the worker is at work.
 */
#include "ktap.h"
#include "siphash.h"

/* instead of these two */
#define NETINC_HOST_RANK_H
#define NETINC_HOST_PIN_H
#include "stub/pin.h"
#include "host/pin.c"

#define PAGES	8u

static struct {
	struct netinc_rank rank;
	struct netinc_user user;
	u32 refs;		/* of the rank */
	u32 freed;		/* requests */
	bool queued;		/* the worker */
	/* ends, and is collected by another CPU, when the lock has been given back so often */
	struct netinc_op_request *ends;
	u32 locked;
} env;

void mutex_init(struct mutex *mutex)
{
	mutex->held = false;
}

bool mutex_trylock(struct mutex *mutex)
{
	bool held = mutex->held;

	mutex->held = true;
	return !held;
}

void mutex_lock(struct mutex *mutex)
{
	expect(mutex_trylock(mutex), "the mutex is taken twice");
}

void mutex_unlock(struct mutex *mutex)
{
	expect(mutex->held, "the mutex is given back twice");
	mutex->held = false;
}

void spin_lock_bh(spinlock_t *lock)
{
	expect(!lock->held, "the lock is taken twice");
	lock->held = true;
}

void spin_unlock_bh(spinlock_t *lock)
{
	struct netinc_op_request *ends = env.ends;

	expect(lock->held, "the lock is given back twice");
	lock->held = false;
	if (!ends || env.locked--)
		return;
	env.ends = NULL;
	list_del_init(&ends->list);
	netinc_pin_drop(&env.rank, ends);
}

void init_completion(struct completion *c)
{
	c->n = 0;
}

void reinit_completion(struct completion *c)
{
	c->n = 0;
}

void complete(struct completion *c)
{
	c->n++;
}

unsigned long wait_for_completion_timeout(struct completion *c, unsigned long jiffies)
{
	return c->n ? jiffies : 0;
}

bool queue_work(struct workqueue_struct *wq, struct work_struct *work)
{
	bool queued = env.queued;

	(void)wq;
	(void)work;
	env.queued = true;
	return !queued;
}

bool cancel_work_sync(struct work_struct *work)
{
	bool queued = env.queued;

	(void)work;
	env.queued = false;
	return queued;
}

bool mmget_not_zero(struct mm_struct *mm)
{
	return mm;
}

void mmput(struct mm_struct *mm)
{
	(void)mm;
}

void mmdrop(struct mm_struct *mm)
{
	(void)mm;
}

void kthread_use_mm(struct mm_struct *mm)
{
	(void)mm;
}

void kthread_unuse_mm(struct mm_struct *mm)
{
	(void)mm;
}

void netinc_rank_get(struct netinc_rank *rank)
{
	(void)rank;
	env.refs++;
}

void netinc_rank_put(struct netinc_rank *rank)
{
	(void)rank;
	env.refs--;
}

long netinc_rank_patience(const struct netinc_rank *rank, long longest)
{
	(void)rank;
	return longest;
}

void netinc_rank_lock(struct netinc_rank *rank)
{
	spin_lock_bh(&rank->lock);
}

void netinc_rank_unlock(struct netinc_rank *rank)
{
	spin_unlock_bh(&rank->lock);
}

void netinc_op_request_free_rest(struct netinc_rank *rank, struct netinc_op_request *req)
{
	expect(rank == &env.rank, "another rank's");
	expect(netinc_buf_pages_held(&req->send) + netinc_buf_pages_held(&req->recv) == 0,
	       "freed while its pages are pinned");
	env.freed++;
	free(req);
}

void netinc_buf_free(struct netinc_buf *b)
{
	(void)b;
}

int netinc_pin_pages(struct netinc_pin *u, struct netinc_buf *b, u32 n)
{
	n = min(n, b->npages - b->pinned);
	n = min(n, b->mask + 1 - netinc_buf_pages_held(b));
	b->pinned += n;
	u->used += n;
	return n;
}

void netinc_unpin_pages(struct netinc_pin *u, struct netinc_buf *b, u32 end)
{
	u->used -= end - b->freed;
	b->freed = end;
}

int netinc_pin_charge(struct netinc_rank *rank, u32 need, u32 want)
{
	(void)need;
	rank->pin.budget = rank->pin.used + want;
	return 0;
}

void netinc_pin_uncharge(struct netinc_rank *rank)
{
	if (!rank->pin.used)
		rank->pin.budget = 0;
}

static void begin(void)
{
	memset(&env, 0, sizeof(env));
	env.rank.user = &env.user;
	INIT_LIST_HEAD(&env.rank.pending);
	netinc_pin_init(&env.rank.pin);
}

/* The last one has gone, and the worker has had its turn. */
static void end(void)
{
	expect(!env.rank.pin.used, "%u pages are pinned", env.rank.pin.used);
	netinc_pin_uncharge(&env.rank);
	netinc_pin_fini(&env.rank.pin);
	expect(!env.queued && !env.refs, "%u references", env.refs);
}

/* With as many pages to send. */
static struct netinc_op_request *submit(u32 pages)
{
	struct netinc_op_request *req = calloc(1, sizeof(*req));
	struct netinc_pin *u = &env.rank.pin;

	req->send.npages = pages;
	req->send.len = (u64)pages << PAGE_SHIFT;
	req->send.mask = PAGES - 1;
	req->mm = pages ? (void *)req : NULL;
	INIT_LIST_HEAD(&req->pin);
	if (pages) {
		mutex_lock(&u->mutex);
		expect(!netinc_pin_begin(&env.rank, req, PAGES << PAGE_SHIFT), "all is pinned");
		mutex_unlock(&u->mutex);
	}
	list_add_tail(&req->list, &env.rank.pending);
	return req;
}

static void run_worker(void)
{
	while (env.queued) {
		env.queued = false;
		env.rank.pin.work.run(&env.rank.pin.work);
	}
}

/* An operation with pages, of which none is needed any more; and the worker is to know. */
static void finish(struct netinc_op_request *req)
{
	spin_lock_bh(&env.rank.lock);
	list_del_init(&req->list);
	list_add_tail(&req->pin, &env.rank.pin.unpin);
	netinc_pin_kick(&env.rank);
	spin_unlock_bh(&env.rank.lock);
}

/*
 * The worker looks after a rank of which one operation has ended. The next one, of as many @pages,
 * ends and is collected when it gives the lock back for the @nth time. False: it does not so often.
 */
static bool work_beside(u32 pages, u32 nth)
{
	struct netinc_op_request *first, *next;
	bool ended;

	begin();
	first = submit(PAGES);
	next = submit(pages);
	finish(first);
	env.ends = next;
	env.locked = nth;
	run_worker();
	ended = !env.ends;
	env.locked = 0;
	netinc_pin_drop(&env.rank, first);
	run_worker();
	if (!ended) {
		spin_lock_bh(&env.rank.lock);
		spin_unlock_bh(&env.rank.lock);
	}
	run_worker();
	expect(env.freed == 2, "%u freed", env.freed);
	end();
	return ended;
}

/* What has pages stays until the worker is done, and what has none is freed at once. */
static void test_collected(void)
{
	u32 i;

	for (i = 0; work_beside(PAGES, i); i++)
		;
	expect(i > 5, "the worker gives the lock back %u times", i);
	for (i = 0; work_beside(0, i); i++)
		;
	expect(i > 5, "the worker gives the lock back %u times", i);
}

/*
 * A reduce-scatter needs nothing of its result while other ranks' shares go by, and an allgather
 * nothing of what it sends: the one buffer stays where it is, the other goes on to its end.
 */
static void one_side(bool sends)
{
	struct netinc_op_request *req = calloc(1, sizeof(*req));
	struct netinc_buf *moves = sends ? &req->send : &req->recv;
	struct netinc_buf *stays = sends ? &req->recv : &req->send;
	struct netinc_pin *u = &env.rank.pin;
	u32 i;

	begin();
	moves->npages = 8 * PAGES;
	stays->npages = 4 * PAGES;
	moves->len = (u64)moves->npages << PAGE_SHIFT;
	stays->len = (u64)stays->npages << PAGE_SHIFT;
	moves->mask = PAGES - 1;
	stays->mask = PAGES - 1;
	req->mm = (void *)req;
	INIT_LIST_HEAD(&req->pin);
	mutex_lock(&u->mutex);
	netinc_pin_begin(&env.rank, req, 1u << PAGE_SHIFT);
	mutex_unlock(&u->mutex);
	list_add_tail(&req->list, &env.rank.pending);
	for (i = 0; i < moves->npages && moves->hi < moves->len; i++) {
		spin_lock_bh(&env.rank.lock);
		/* its blocks have been sent, and their results are here */
		moves->lo = moves->hi;
		if (env.rank.pin.starved && idle_pages(&env.rank))
			netinc_pin_kick(&env.rank);
		netinc_pin_stalled(&env.rank);
		spin_unlock_bh(&env.rank.lock);
		run_worker();
	}
	expect(moves->hi == moves->len, "%s: %llu of %llu bytes", sends ? "send" : "recv",
	       (unsigned long long)moves->hi, (unsigned long long)moves->len);
	spin_lock_bh(&env.rank.lock);
	list_del_init(&req->list);
	list_add_tail(&req->pin, &u->unpin);
	netinc_pin_kick(&env.rank);
	spin_unlock_bh(&env.rank.lock);
	run_worker();
	netinc_pin_drop(&env.rank, req);
	run_worker();
	end();
}

static void test_one_side(void)
{
	one_side(true);
	one_side(false);
}

static const struct ktap_test tests[] = { KTAP(test_collected), KTAP(test_one_side) };

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
