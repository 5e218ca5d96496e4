// SPDX-License-Identifier: GPL-2.0-only
/*
 * The exchange of counts.
 *
 *	gather, scatter		the root says all N counts, every other rank its own
 *	alltoall		every rank says what it sends to each, then what it expects of each
 *
 * The counts of an alltoall are as many as the square of the ranks, and all ranks of this host get
 * the last of them with one packet: where they are many a worker merges them, with softirqs on. It
 * is none of those that pin memory, which may wait for a page fault that waits for this operation.
 */
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include "host/counts.h"
#include "host/rank.h"

#define MERGE_AT_ONCE	32u	/* ranks of a group, at most, whose counts softirq merges */

static struct workqueue_struct *merge_wq;

static bool is_pairs(const struct netinc_op *op)
{
	return op->coll == INC_COLL_ALLTOALL;
}

static u32 len_of(const struct netinc_op *op, u32 rank)
{
	if (is_pairs(op))
		return 2 * op->size;
	return rank == op->root ? op->size : 1;
}

static u32 count_at(const struct netinc_op *op, u32 from, u32 to)
{
	return is_pairs(op) ? from * op->size + to : from;
}

static void fill_mine(struct netinc_counts *c)
{
	const struct netinc_op *of = c->of;
	u32 i;

	if (!is_pairs(of) && of->rank != of->root) {
		c->mine[0] = cpu_to_le32(of->counts[of->rank]);
		return;
	}
	for (i = 0; i < of->size; i++) {
		c->mine[i] = cpu_to_le32(of->counts[count_at(of, is_pairs(of) ? of->rank : i, i)]);
		if (is_pairs(of))
			c->mine[of->size + i] = cpu_to_le32(of->counts[count_at(of, i, of->rank)]);
	}
}

struct netinc_counts *netinc_counts_alloc(struct netinc_op *of, struct netinc_mem *mem)
{
	u32 mine = len_of(of, of->rank), total = 0, i;
	struct netinc_counts *c;

	c = netinc_mem_zalloc(mem, 1, struct_size(c, len, of->size));
	if (!c)
		return NULL;
	for (i = 0; i < of->size; i++) {
		c->len[i] = len_of(of, i);
		total += c->len[i];
	}
	c->of = of;
	c->op = *of;
	c->op.mode |= INC_MODE_COUNTS_PHASE;
	c->op.counts = c->len;
	c->op.before = netinc_mem_alloc(mem, NETINC_BEFORE(of->size), sizeof(*c->op.before));
	c->mine = netinc_mem_alloc(mem, mine, sizeof(__le32));
	c->theirs = netinc_mem_alloc(mem, total, sizeof(__le32));
	if (!c->op.before || !c->mine || !c->theirs) {
		netinc_counts_free(c);
		return NULL;
	}
	fill_mine(c);
	of->hold = true;
	return c;
}

void netinc_counts_free(struct netinc_counts *c)
{
	if (!c)
		return;
	kvfree(c->op.before);
	kvfree(c->mine);
	kvfree(c->theirs);
	kvfree(c);
}

/*
 * Counts that rank @rank has said; all say as much as each other but the root of a gather or
 * scatter.
 */
static const __le32 *counts_of(const struct netinc_counts *c, u32 rank)
{
	const struct netinc_op *of = c->of;
	u32 others = rank - (rank > of->rank);

	if (rank == of->rank)
		return c->mine;
	if (is_pairs(of))
		return c->theirs + others * len_of(of, rank);
	return c->theirs + others + (of->root != of->rank && of->root < rank ? of->size - 1 : 0);
}

static void set_contradiction(struct netinc_counts *c, u32 from, u32 to)
{
	c->error.code = INC_ERR_COUNTS;
	c->error.opseq = c->of->seq;
	c->error.rank[0] = from;
	c->error.rank[1] = to;
}

/* The first contradiction is the same one at every rank. */
static void merge_rank(struct netinc_counts *c, u32 *counts, u32 rank)
{
	const __le32 *it = counts_of(c, rank), *root = counts_of(c, c->of->root);
	const struct netinc_op *of = c->of;
	u32 i, sends, expects;

	if (is_pairs(of)) {
		for (i = 0; i < of->size; i++) {
			sends = le32_to_cpu(it[i]);
			expects = le32_to_cpu(counts_of(c, i)[of->size + rank]);
			counts[count_at(of, rank, i)] = sends;
			c->total += sends;
			if (sends != expects && !c->error.code)
				set_contradiction(c, rank, i);
		}
		return;
	}
	counts[rank] = le32_to_cpu(root[rank]);
	c->total += counts[rank];
	if (rank == of->root || le32_to_cpu(*it) == counts[rank] || c->error.code)
		return;
	if (of->coll == INC_COLL_GATHER)
		set_contradiction(c, rank, of->root);
	else
		set_contradiction(c, of->root, rank);
}

/* What has been merged is the operation's. */
static void settle_counts(struct netinc_counts *c)
{
	c->of->count = c->total;
	c->of->error = c->error;
	c->of->hold = false;
}

void netinc_counts_done(struct netinc_rank *rank, struct netinc_counts *c)
{
	u32 *counts = (u32 *)c->of->counts, i;

	lockdep_assert_held(&rank->lock);
	if (c->of->size > MERGE_AT_ONCE) {
		c->arrived = true;
		netinc_rank_get(rank);
		if (!queue_work(merge_wq, &rank->merge))
			netinc_rank_put(rank);
		return;
	}
	for (i = 0; i < c->of->size; i++)
		merge_rank(c, counts, i);
	settle_counts(c);
}

/* The oldest request whose counts are here and have not been merged; NULL: there is none. */
static struct netinc_op_request *next_arrived(struct netinc_rank *rank)
{
	struct netinc_op_request *req, *found = NULL;

	spin_lock_bh(&rank->lock);
	list_for_each_entry(req, &rank->pending, list)
		if (req->counts && req->counts->arrived) {
			req->counts->arrived = false;
			found = req;
			break;
		}
	spin_unlock_bh(&rank->lock);
	return found;
}

/* Nobody else looks at the counts of an operation that is on hold, or has failed meanwhile. */
static void merge_counts(struct netinc_counts *c)
{
	u32 *counts = (u32 *)c->of->counts, i;

	for (i = 0; i < c->of->size; i++) {
		merge_rank(c, counts, i);
		cond_resched();
	}
	netinc_coll_survey(c->of);
}

static void merge_work(struct work_struct *work)
{
	struct netinc_rank *rank = container_of(work, struct netinc_rank, merge);
	struct netinc_op_request *req;

	mutex_lock(&rank->merging);
	while ((req = next_arrived(rank))) {
		merge_counts(req->counts);
		netinc_rank_lock(rank);
		if (!req->done && !rank->dead) {
			settle_counts(req->counts);
			netinc_ep_number(&rank->ep);
			netinc_ep_pump(&rank->ep, rank->now);
		}
		netinc_rank_unlock(rank);
	}
	mutex_unlock(&rank->merging);
	netinc_rank_put(rank);
}

void netinc_counts_init_rank(struct netinc_rank *rank)
{
	mutex_init(&rank->merging);
	INIT_WORK(&rank->merge, merge_work);
}

void netinc_counts_release(struct netinc_rank *rank, struct netinc_counts *c)
{
	if (!c)
		return;
	mutex_lock(&rank->merging);
	netinc_counts_free(c);
	mutex_unlock(&rank->merging);
}

int netinc_counts_init(void)
{
	merge_wq = alloc_workqueue("inc-counts", WQ_UNBOUND, 0);
	return merge_wq ? 0 : -ENOMEM;
}

void netinc_counts_fini(void)
{
	destroy_workqueue(merge_wq);
}
