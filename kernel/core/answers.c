// SPDX-License-Identifier: GPL-2.0-only
/*
 * Budgets of answers. Each account is one number: until when it is overdrawn. An answer moves that
 * on by the time in which the account earns one; it may be half a second ahead.
 */
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include "core/answers.h"
#include "core/netns.h"

#define AHEAD		(NSEC_PER_SEC / 2)
#define NETWORKS	1024	/* by a secret hash: nobody knows with whom he shares */
/* by interface number: the ports of a bridge have neighbouring ones */
#define PORTS		128

/* One of the limit's: this many of them make all of it. */
#define PART_SHARED	2
#define PART_PORT	4
#define PART_NETWORK	8
#define PART_OWN	(2 * PORTS)

struct budget {
	u64 shared;		/* nanoseconds of CLOCK_MONOTONIC, as in all of them */
	u64 own[PORTS];
	u64 port[PORTS];
	u64 network[NETWORKS];
};

struct netinc_answers {
	siphash_key_t secret;
	spinlock_t lock;	/* budget */
	struct budget budget[__NETINC_ANSWER_MAX];
};

struct netinc_answers *netinc_answers_alloc(void)
{
	struct netinc_answers *answers = kvzalloc(sizeof(*answers), GFP_KERNEL_ACCOUNT);

	if (!answers)
		return NULL;
	get_random_bytes(&answers->secret, sizeof(answers->secret));
	spin_lock_init(&answers->lock);
	return answers;
}

void netinc_answers_free(struct netinc_answers *answers)
{
	kvfree(answers);
}

/* The index of the account of @peer's network. */
static u32 find_network(const struct netinc_answers *answers, const struct netinc_peer *peer,
			u32 ifindex)
{
	struct {
		u8 prefix[8];
		u32 ifindex;
		u32 family;
	} m = { .ifindex = ifindex, .family = peer->family };

	memcpy(m.prefix, peer->addr, peer->family == AF_INET ? 3 : sizeof(m.prefix));
	return siphash(&m, sizeof(m), &answers->secret) % NETWORKS;
}

/* The time in which an account earns an answer; 0: never. */
static u64 earn_time(u64 limit, u32 part)
{
	u64 rate = div_u64(min_t(u64, limit, NSEC_PER_SEC), part);

	return rate ? div64_u64(NSEC_PER_SEC, rate) : 0;
}

/* The time in which an account that many share earns an answer: a second at most. */
static u64 earn_part(u64 limit, u32 part)
{
	return earn_time(limit, part) ?: NSEC_PER_SEC;
}

static bool has_credit(u64 until, u64 earn, u64 now)
{
	return earn && (until <= now || until + earn <= now + AHEAD);
}

static void draw_one(u64 *until, u64 earn, u64 now)
{
	*until = max(*until, now) + earn;
}

static bool draw_shared(struct budget *b, u64 limit, u32 port, u32 network, u64 now)
{
	u64 of_all = earn_part(limit, PART_SHARED), of_port = earn_part(limit, PART_PORT);
	u64 of_network = earn_part(limit, PART_NETWORK);

	/* all or nothing: who has used up what is his takes nothing from the rest */
	if (!has_credit(b->shared, of_all, now) || !has_credit(b->port[port], of_port, now) ||
	    !has_credit(b->network[network], of_network, now))
		return false;
	draw_one(&b->shared, of_all, now);
	draw_one(&b->port[port], of_port, now);
	draw_one(&b->network[network], of_network, now);
	return true;
}

static bool draw_answer(struct budget *b, u64 limit, u32 port, u32 network, u64 now)
{
	u64 own = earn_time(limit, PART_OWN);

	if (!limit)
		return false;
	if (draw_shared(b, limit, port, network, now))
		return true;
	if (!has_credit(b->own[port], own, now))
		return false;
	draw_one(&b->own[port], own, now);
	return true;
}

bool netinc_answer_ok(struct netinc_net *nn, enum netinc_answer kind,
		      const struct netinc_peer *peer, u32 ifindex)
{
	struct netinc_answers *answers = nn->answers;
	u32 network = find_network(answers, peer, ifindex);
	u64 limit = atomic64_read(&nn->max[INC_LIMIT_ANSWERS]);
	bool ok;

	spin_lock(&answers->lock);
	ok = draw_answer(&answers->budget[kind], limit, ifindex % PORTS, network, ktime_get_ns());
	spin_unlock(&answers->lock);
	if (!ok)
		atomic64_inc(&nn->account.refused[INC_LIMIT_ANSWERS]);
	return ok;
}
