// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ranks that partial results are made of. Completions have no room for up to 4096 ranks: who
 * wants to know asks, and the last few are remembered. Memory for them is there from the first one
 * on.
 */
#include <linux/bitops.h>
#include <linux/slab.h>
#include "core/limits.h"
#include "host/contributors.h"
#include "host/rank.h"
#include "host/op.h"

u32 netinc_contributed_missing(const struct netinc_op_request *req)
{
	u32 words = DIV_ROUND_UP(req->op.size, 32), missing = 0, i;

	for (i = 0; req->op.partial && !req->op.error.code && i < words; i++)
		missing += hweight32(req->op.absent[i]);
	return missing;
}

static void fill_entry(struct netinc_contributors *c, const struct netinc_op_request *req,
		       u32 missing)
{
	u32 i;

	memset(c, 0, sizeof(*c));
	c->handle = req->handle;
	c->size = req->op.size;
	c->missing = missing;
	for (i = 0; i < c->size; i++)
		if (!(req->op.absent[i / 32] >> (i % 32) & 1))
			c->ranks[i / 32] |= 1u << (i % 32);
}

/* NULL: no memory, or the limit has been met. */
static struct netinc_contributed *contributed_alloc(struct netinc_rank *rank)
{
	struct netinc_contributed *known;

	if (netinc_charge(rank->nn, rank->user, INC_LIMIT_SOCKET_MEMORY, sizeof(*known)))
		return NULL;
	known = kvzalloc(sizeof(*known), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!known)
		netinc_uncharge(rank->nn, rank->user, INC_LIMIT_SOCKET_MEMORY, sizeof(*known));
	return known;
}

void netinc_contributed_free(struct netinc_rank *rank, struct netinc_contributed *known)
{
	if (!known)
		return;
	kvfree(known);
	netinc_uncharge(rank->nn, rank->user, INC_LIMIT_SOCKET_MEMORY, sizeof(*known));
}

void netinc_contributed_note(struct netinc_rank *rank, const struct netinc_op_request *req)
{
	u32 missing = netinc_contributed_missing(req);
	struct netinc_contributed *more = NULL, *known;

	if (!missing)
		return;
	if (!READ_ONCE(rank->contributed))
		more = contributed_alloc(rank);
	spin_lock_bh(&rank->lock);
	if (!rank->contributed) {
		rank->contributed = more;
		more = NULL;
	}
	known = rank->contributed;
	if (known) {
		fill_entry(&known->last[known->next], req, missing);
		known->next = (known->next + 1) % NETINC_CONTRIBUTED;
	}
	spin_unlock_bh(&rank->lock);
	netinc_contributed_free(rank, more);
}

static const struct netinc_contributors *find_entry(const struct netinc_contributed *known,
						    u64 handle)
{
	const struct netinc_contributors *c;
	u32 i;

	for (i = 1; known && i <= NETINC_CONTRIBUTED; i++) {
		c = &known->last[(known->next + NETINC_CONTRIBUTED - i) % NETINC_CONTRIBUTED];
		if (c->handle && (!handle || c->handle == handle))
			return c;
	}
	return NULL;
}

int netinc_contributed_get(struct netinc_rank *rank, u64 handle, struct netinc_contributors *c)
{
	const struct netinc_contributors *found;

	spin_lock_bh(&rank->lock);
	found = find_entry(rank->contributed, handle);
	if (found)
		*c = *found;
	spin_unlock_bh(&rank->lock);
	return found ? 0 : -ENOENT;
}
