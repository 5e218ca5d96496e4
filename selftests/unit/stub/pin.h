/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Of Linux, host/rank.h, host/op.h, host/pin.h and host/user_buf.h what host/pin.c uses, for
 * test_pin.c. Streams are as many bytes as they have pages.
 */
#ifndef INC_STUB_PIN_H
#define INC_STUB_PIN_H

#include <errno.h>

#include <linux/list.h>
#include <linux/spinlock.h>
#include "engine/endpoint.h"
#include "reduce/reduce.h"

#define PAGE_SHIFT		12
#define SZ_256K			(256 << 10)
#define SZ_4M			(4 << 20)
#define HZ			1000
#define ERESTARTSYS		512

#define lockdep_assert_held(lock)	((void)(lock))
#define WARN_ON_ONCE(cond)	((void)expect(!(cond), #cond))

struct mutex {
	bool held;
};

struct completion {
	u32 n;
};

struct work_struct {
	void (*run)(struct work_struct *work);
};

#define INIT_WORK(work, function)	((work)->run = (function))

struct workqueue_struct;
struct mm_struct;

struct netinc_user {
	struct workqueue_struct *wq;
};

struct netinc_buf {
	u64 len, lo, hi;
	u32 npages, freed, pinned, mask;
};

struct netinc_op_request {
	struct netinc_op op;
	struct list_head list, pin;
	struct netinc_buf send, recv;
	struct mm_struct *mm;
	struct mm_struct *copy_mm;
	bool done, fault, outside;
};

struct netinc_pin {
	struct mutex mutex;	/* pages */
	struct work_struct work;
	struct completion turned;
	u32 budget, used;
	bool starved;
	struct list_head unpin, reap;
};

struct netinc_rank {
	struct netinc_user *user;
	struct netinc_pin pin;
	spinlock_t lock;	/* the lists */
	bool dead;
	u64 now;
	struct list_head pending;
	struct netinc_ep ep;
};

void mutex_init(struct mutex *mutex);
void mutex_lock(struct mutex *mutex);
bool mutex_trylock(struct mutex *mutex);
void mutex_unlock(struct mutex *mutex);
void spin_lock_bh(spinlock_t *lock);
void init_completion(struct completion *c);
void reinit_completion(struct completion *c);
void complete(struct completion *c);
unsigned long wait_for_completion_timeout(struct completion *c, unsigned long jiffies);
bool queue_work(struct workqueue_struct *wq, struct work_struct *work);
bool cancel_work_sync(struct work_struct *work);
bool mmget_not_zero(struct mm_struct *mm);
void mmput(struct mm_struct *mm);
void mmdrop(struct mm_struct *mm);
void kthread_use_mm(struct mm_struct *mm);
void kthread_unuse_mm(struct mm_struct *mm);

void netinc_rank_get(struct netinc_rank *rank);
void netinc_rank_put(struct netinc_rank *rank);
long netinc_rank_patience(const struct netinc_rank *rank, long longest);
void netinc_rank_lock(struct netinc_rank *rank);
void netinc_rank_unlock(struct netinc_rank *rank);
void netinc_op_request_free_rest(struct netinc_rank *rank, struct netinc_op_request *req);
void netinc_buf_free(struct netinc_buf *b);

static inline u32 netinc_buf_page_of(const struct netinc_buf *b, u64 at)
{
	return at < b->len ? (u32)(at >> PAGE_SHIFT) : b->npages;
}

static inline u64 netinc_buf_bytes_before(const struct netinc_buf *b, u32 n)
{
	return n == b->npages ? b->len : (u64)n << PAGE_SHIFT;
}

static inline u32 netinc_buf_pages_held(const struct netinc_buf *b)
{
	return b->pinned - b->freed;
}

static inline bool netinc_buf_all_pinned(const struct netinc_buf *b)
{
	return b->pinned == b->npages;
}

void netinc_pin_init(struct netinc_pin *u);
void netinc_pin_fini(struct netinc_pin *u);
int netinc_pin_begin(struct netinc_rank *rank, struct netinc_op_request *req, u32 block);
void netinc_pin_drop(struct netinc_rank *rank, struct netinc_op_request *req);
void netinc_pin_kick(struct netinc_rank *rank);
void netinc_pin_progress(struct netinc_rank *rank);
void netinc_pin_outside(struct netinc_rank *rank, struct netinc_op_request *req);
void netinc_pin_stalled(struct netinc_rank *rank);
void netinc_pin_drain(struct netinc_rank *rank);

#endif
