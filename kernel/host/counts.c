// SPDX-License-Identifier: GPL-2.0-only
/*
 * The exchange of counts.
 *
 *	gather, scatter		the root says all N counts, every other rank its own
 *	alltoall		every rank says what it sends to each, then what it expects of each
 */
#include <linux/overflow.h>
#include <linux/slab.h>
#include "host/counts.h"

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

static void set_contradiction(struct netinc_op *of, u32 from, u32 to)
{
	of->error.code = INC_ERR_COUNTS;
	of->error.opseq = of->seq;
	of->error.rank[0] = from;
	of->error.rank[1] = to;
}

/* The first contradiction is the same one at every rank. */
static void merge_rank(struct netinc_counts *c, u32 *counts, u32 rank)
{
	const __le32 *it = counts_of(c, rank), *root = counts_of(c, c->of->root);
	struct netinc_op *of = c->of;
	u32 i, sends, expects;

	if (is_pairs(of)) {
		for (i = 0; i < of->size; i++) {
			sends = le32_to_cpu(it[i]);
			expects = le32_to_cpu(counts_of(c, i)[of->size + rank]);
			counts[count_at(of, rank, i)] = sends;
			of->count += sends;
			if (sends != expects && !of->error.code)
				set_contradiction(of, rank, i);
		}
		return;
	}
	counts[rank] = le32_to_cpu(root[rank]);
	of->count += counts[rank];
	if (rank == of->root || le32_to_cpu(*it) == counts[rank] || of->error.code)
		return;
	if (of->coll == INC_COLL_GATHER)
		set_contradiction(of, rank, of->root);
	else
		set_contradiction(of, of->root, rank);
}

void netinc_counts_done(struct netinc_counts *c)
{
	u32 *counts = (u32 *)c->of->counts, i;

	c->of->count = 0;
	for (i = 0; i < c->of->size; i++)
		merge_rank(c, counts, i);
	c->of->hold = false;
}
