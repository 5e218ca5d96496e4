// SPDX-License-Identifier: GPL-2.0-only
/*
 * The queue of packets that leave when a lock is dropped: how many wait, how long one CPU sends for
 * the others, and that nothing stays. What other CPUs do while one sends, the test does there.
 */
#include <errno.h>

#include "ktap.h"

/* instead of core/path.h */
#define NETINC_CORE_PATH_H
#include "stub/path.h"
#include "core/txq.c"

#define MAX	8u
#define MANY	(NETINC_TXQ_BLOCKS + INC_MAX_RANKS + 2)	/* blocks, MOVEs, ABORT, JOIN */

static struct {
	struct netinc_txq txq;
	spinlock_t lock;	/* of the queue's owner */
	struct sk_buff skb[MANY + 1];
	u32 made, sent, freed;
	u32 others;		/* flushes during which another CPU queues something */
	u32 rounds;		/* of the CPU that sends now */
	u32 most;		/* of any */
} env;

void kfree_skb(struct sk_buff *skb)
{
	(void)skb;
	env.freed++;
}

void spin_lock(spinlock_t *lock)
{
	expect(!lock->held, "the lock is taken twice");
	lock->held = true;
}

void spin_unlock(spinlock_t *lock)
{
	expect(lock->held, "the lock is given back twice");
	lock->held = false;
}

void spin_unlock_bh(spinlock_t *lock)
{
	spin_unlock(lock);
}

int netinc_path_queue(struct netinc_path *path, struct sk_buff *skb, struct sk_buff_head *q)
{
	(void)path;
	expect(env.lock.held, "queued without the lock");
	__skb_queue_tail(q, skb);
	return 0;
}

static int add(void)
{
	return netinc_txq_add(&env.txq, NULL, &env.skb[env.made++ % MANY]);
}

static void unlock(void)
{
	netinc_txq_unlock(&env.txq, NULL, &env.lock);
}

/* Another CPU has received something: it sends if it may, or leaves that to the first. */
static void other_cpu(void)
{
	u32 rounds = env.rounds;

	spin_lock(&env.lock);
	expect(!add(), "there is room");
	env.rounds = 0;
	unlock();
	env.rounds = rounds;
}

void netinc_tx_flush(struct net *net, struct sk_buff_head *q)
{
	(void)net;
	expect(!env.lock.held, "sent under the lock");
	env.most = max(env.most, ++env.rounds);
	while (__skb_dequeue(q))
		env.sent++;
	if (env.others) {
		env.others--;
		other_cpu();
	}
}

static void begin(void)
{
	memset(&env, 0, sizeof(env));
	netinc_txq_init(&env.txq, MAX);
}

/* What is too much is dropped, and its sender told; all else leaves. */
static void test_bound(void)
{
	u32 i;

	begin();
	spin_lock(&env.lock);
	for (i = 0; i < MAX; i++)
		expect(!add(), "packet %u", i);
	for (i = 0; i < 3; i++)
		expect(add() == -ENOBUFS, "packet %u", MAX + i);
	expect(env.freed == 3 && skb_queue_len(&env.txq.queue) == MAX, "%u freed", env.freed);
	unlock();
	expect(!env.lock.held && env.sent == MAX, "%u sent", env.sent);
	spin_lock(&env.lock);
	expect(!add(), "there is room again");
	unlock();
	expect(env.sent == MAX + 1, "%u sent", env.sent);
}

/* A rank's blocks wait elsewhere before its answers, or what it says when it moves, are dropped. */
static void test_long(void)
{
	u32 i;

	begin();
	netinc_txq_init(&env.txq, NETINC_TXQ_RANK);
	spin_lock(&env.lock);
	for (i = 0; i < MANY; i++) {
		expect(netinc_txq_is_long(&env.txq) == (i >= NETINC_TXQ_BLOCKS), "%u wait", i);
		expect(!add(), "packet %u", i);
	}
	unlock();
	expect(!netinc_txq_is_long(&env.txq) && env.sent == MANY, "%u sent", env.sent);
}

/* One CPU sends what others queue meanwhile, but not for ever: then one of them does. */
static void test_rounds(void)
{
	begin();
	env.others = MANY;
	spin_lock(&env.lock);
	expect(!add(), "the first one");
	unlock();
	expect(!env.lock.held, "the lock is kept");
	expect(!env.others && env.sent == env.made, "%u of %u sent", env.sent, env.made);
	expect(env.most > 1 && env.most <= 16, "%u rounds of one CPU", env.most);
	env.rounds = 0;
	spin_lock(&env.lock);
	expect(!add(), "one more");
	unlock();
	expect(env.sent == env.made, "%u of %u sent", env.sent, env.made);
}

static const struct ktap_test tests[] = {
	KTAP(test_bound), KTAP(test_long), KTAP(test_rounds),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
