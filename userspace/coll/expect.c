// SPDX-License-Identifier: GPL-2.0-only
/* What a rank gets: which elements of which ranks a result consists of. */
#include "coll.h"

/* The fold of what the first @n ranks have for @to; of prefixes ranks make it themselves. */
static void expect_folded(const struct plan *plan, unsigned int start, uint32_t n, uint32_t to,
			  uint64_t i, void *elem)
{
	bool prefix = plan->coll == INC_COLL_SCAN || plan->coll == INC_COLL_EXSCAN;
	struct elem elems[MAX_RANKS];

	for (uint32_t rank = 0; rank < n; rank++)
		input(plan, start, rank, to, i, elems[rank].bytes);
	fold(plan, elems, n, prefix ? NULL : plan->tree, elem);
}

static void expect_moved(const struct plan *plan, unsigned int start, uint32_t from, uint32_t to,
			 uint64_t i, void *elem)
{
	input(plan, start, from, to, i, elem);
	travel(plan, elem);
}

/* Elements of share @share in @rank's result. */
uint64_t expected_count(const struct plan *plan, uint32_t rank, uint32_t share)
{
	switch (plan->coll) {
	case INC_COLL_REDUCE_SCATTER:
		return plan->counts[0][rank];
	case INC_COLL_GATHER:
	case INC_COLL_ALLGATHER:
		return plan->counts[share][0];
	case INC_COLL_SCATTER:
		return plan->counts[plan->root][rank];
	case INC_COLL_ALLTOALL:
		return plan->counts[share][rank];
	default:
		return plan->count;
	}
}

/* Element @i of share @share in @rank's result; false if it gets none. */
bool expected(const struct plan *plan, unsigned int start, uint32_t rank, uint32_t share,
	      uint64_t i, void *elem)
{
	switch (plan->coll) {
	case INC_COLL_REDUCE:
		if (rank != plan->root)
			return false;
		expect_folded(plan, start, plan->ranks, 0, i, elem);
		return true;
	case INC_COLL_ALLREDUCE:
		expect_folded(plan, start, plan->ranks, 0, i, elem);
		return true;
	case INC_COLL_REDUCE_SCATTER:
		expect_folded(plan, start, plan->ranks, rank, i, elem);
		return true;
	case INC_COLL_SCAN:
		expect_folded(plan, start, rank + 1, 0, i, elem);
		return true;
	case INC_COLL_EXSCAN:
		if (rank)
			expect_folded(plan, start, rank, 0, i, elem);
		return rank;
	case INC_COLL_BROADCAST:
		expect_moved(plan, start, plan->root, 0, i, elem);
		return true;
	case INC_COLL_GATHER:
	case INC_COLL_ALLGATHER:
		expect_moved(plan, start, share, 0, i, elem);
		return plan->coll == INC_COLL_ALLGATHER || rank == plan->root;
	case INC_COLL_SCATTER:
		expect_moved(plan, start, plan->root, rank, i, elem);
		return true;
	case INC_COLL_ALLTOALL:
		expect_moved(plan, start, share, rank, i, elem);
		return true;
	default:
		return false;
	}
}
