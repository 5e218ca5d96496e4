// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where an operation's elements are in this rank's memory: which buffers it has, which shares of
 * them it reads and writes, gaps between shares, guards around them; and what all of it must look
 * like afterwards, to the last byte.
 */
#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "coll.h"

#define GUARD		64
#define GUARD_BYTE	0xa5

/* Random numbers of one operation at one rank. */
struct dice {
	uint64_t seed, n;
};

static uint64_t draw_below(struct dice *dice, uint64_t limit)
{
	return mix(dice->seed, dice->n++) % limit;
}

static bool sends_shares(enum inc_coll coll)
{
	return coll == INC_COLL_REDUCE_SCATTER || coll == INC_COLL_SCATTER ||
	       coll == INC_COLL_ALLTOALL;
}

static bool receives_shares(enum inc_coll coll)
{
	return coll == INC_COLL_GATHER || coll == INC_COLL_ALLGATHER || coll == INC_COLL_ALLTOALL;
}

static bool sends_any(const struct plan *plan, uint32_t rank)
{
	bool from_root = plan->coll == INC_COLL_BROADCAST || plan->coll == INC_COLL_SCATTER;

	return plan->coll != INC_COLL_BARRIER && (!from_root || rank == plan->root);
}

static bool receives_any(const struct plan *plan, uint32_t rank)
{
	bool to_root = plan->coll == INC_COLL_REDUCE || plan->coll == INC_COLL_GATHER;

	return plan->coll != INC_COLL_BARRIER && (!to_root || rank == plan->root);
}

/* One share after the other, or spread over the buffer from any one on, with gaps. */
static uint64_t place_shares(struct region *r, struct dice *dice)
{
	unsigned int first = r->spread ? draw_below(dice, r->shares) : 0, share;
	uint64_t end = 0;

	for (unsigned int i = 0; i < r->shares; i++) {
		share = (first + i) % r->shares;
		if (r->spread)
			end += draw_below(dice, 4);
		r->displs[share] = end;
		end += r->counts[share];
	}
	return end + (r->spread ? draw_below(dice, 4) : 0);
}

static void region_alloc(struct region *r, struct dice *dice, size_t elem)
{
	size_t align = draw_below(dice, 2) ? draw_below(dice, 64) : 0;

	r->size = 2 * GUARD + align + place_shares(r, dice) * elem;
	if (posix_memalign((void **)&r->mem, 4096, r->size))
		errx(1, "out of memory: %zu bytes", r->size);
	r->image = malloc(r->size);
	if (!r->image)
		errx(1, "out of memory: %zu bytes", r->size);
	r->data = r->mem + GUARD + align;
}

/* What this rank has for the others, N shares or one. */
static void send_shares(const struct plan *plan, uint32_t rank, struct region *r)
{
	r->shares = sends_shares(plan->coll) ? plan->ranks : 1;
	memcpy(r->counts, plan->counts[rank], sizeof(r->counts));
}

static void recv_shares(const struct plan *plan, uint32_t rank, struct region *r)
{
	r->shares = receives_shares(plan->coll) ? plan->ranks : 1;
	for (uint32_t i = 0; i < r->shares; i++)
		r->counts[i] = expected_count(plan, rank, i);
}

/* Which regions there are, and which of their shares are read and written. */
static void connect_regions(struct slot *slot, uint32_t rank)
{
	const struct plan *plan = &slot->plan;
	bool gathers = plan->coll == INC_COLL_GATHER || plan->coll == INC_COLL_ALLGATHER;
	bool scatter = plan->coll == INC_COLL_SCATTER;

	slot->from = sends_any(plan, rank) ? &slot->send : NULL;
	slot->to = receives_any(plan, rank) ? &slot->recv : NULL;
	if (slot->from)
		send_shares(plan, rank, &slot->send);
	if (slot->to)
		recv_shares(plan, rank, &slot->recv);
	slot->from_shares = slot->send.shares;
	slot->to_shares = slot->recv.shares;
	if (!slot->in_place)
		return;
	if (scatter) {
		slot->to = &slot->send;
		slot->to_share = rank;
		slot->recv.shares = 0;
		return;
	}
	slot->from = &slot->recv;
	if (gathers)
		slot->from_share = rank;
	if (plan->coll == INC_COLL_REDUCE_SCATTER)
		send_shares(plan, rank, &slot->recv);
	slot->send.shares = 0;
}

static bool may_be_in_place(const struct plan *plan, uint32_t rank)
{
	return plan->coll != INC_COLL_BARRIER && (!has_root(plan->coll) || rank == plan->root);
}

static void make_args(struct slot *slot, uint32_t rank)
{
	const struct plan *plan = &slot->plan;
	struct inc_args *args = &slot->args;
	bool differ = plan->mode & INC_MODE_COUNTS, scatter = plan->coll == INC_COLL_SCATTER;

	*args = (struct inc_args){
		.coll = plan->coll, .type = plan->type, .op = plan->op, .mode = plan->mode,
		.root = plan->root,
		.wire = plan->wire == plan->type && plan->seed >> rank % 64 & 1 ? 0 : plan->wire,
		.count = plan->count,
		.send = slot->send.shares ? slot->send.data : slot->in_place ? INC_IN_PLACE : NULL,
		.recv = slot->recv.shares ? slot->recv.data : slot->in_place ? INC_IN_PLACE : NULL,
		.weight = plan->op == INC_OP_WSUM ? plan->weights[rank] : 0,
	};
	if (!differ)
		return;
	args->count = scatter ? plan->counts[plan->root][rank] : plan->counts[rank][0];
	if (sends_shares(plan->coll) && slot->send.shares &&
	    plan->coll != INC_COLL_REDUCE_SCATTER) {
		args->send_counts = slot->send.counts;
		args->send_displs = slot->send.spread ? slot->send.displs : NULL;
	}
	if (receives_shares(plan->coll) && slot->recv.shares) {
		args->recv_counts = slot->recv.counts;
		args->recv_displs = slot->recv.spread ? slot->recv.displs : NULL;
	}
	if (plan->coll == INC_COLL_REDUCE_SCATTER)
		args->recv_counts = plan->counts[rank];
}

/* Everything but slot->plan is made here. */
void layout(struct slot *slot, uint32_t rank)
{
	struct dice dice = { .seed = mix(slot->plan.seed, 0x10000 + rank) };
	bool spreads = slot->plan.mode & INC_MODE_COUNTS &&
		       slot->plan.coll != INC_COLL_REDUCE_SCATTER;
	struct region *regions[] = { &slot->send, &slot->recv };
	size_t elem = inc_type_size(slot->plan.type);

	slot->send = (struct region) { .mem = NULL };
	slot->recv = (struct region) { .mem = NULL };
	slot->from_share = 0;
	slot->to_share = 0;
	slot->start = 0;
	slot->in_place = slot->plan.in_place && may_be_in_place(&slot->plan, rank) &&
			 draw_below(&dice, 4);
	connect_regions(slot, rank);
	for (size_t i = 0; i < ARRAY_SIZE(regions); i++) {
		regions[i]->spread = spreads && regions[i]->shares > 1 && draw_below(&dice, 2);
		if (regions[i]->shares)
			region_alloc(regions[i], &dice, elem);
	}
	make_args(slot, rank);
}

static void region_free(struct region *r)
{
	free(r->mem);
	free(r->image);
	r->mem = NULL;
	r->image = NULL;
}

void layout_free(struct slot *slot)
{
	region_free(&slot->send);
	region_free(&slot->recv);
}

static void fill_inputs(struct slot *slot, uint32_t rank)
{
	size_t elem = inc_type_size(slot->plan.type);
	const struct region *r = slot->from;
	uint8_t *at;

	for (unsigned int i = 0; r && i < slot->from_shares; i++) {
		at = r->data + r->displs[slot->from_share + i] * elem;
		for (uint64_t k = 0; k < r->counts[slot->from_share + i]; k++)
			input(&slot->plan, slot->start, rank, i, k, at + k * elem);
	}
}

/* The root of a broadcast with two buffers gets nothing, unless the wire changes what it sends. */
static bool gets_result(const struct slot *slot, uint32_t rank)
{
	const struct plan *plan = &slot->plan;

	if (plan->coll == INC_COLL_BROADCAST && rank == plan->root && !slot->in_place)
		return plan->wire != plan->type;
	return slot->to;
}

static void overlay_results(struct slot *slot, uint32_t rank)
{
	size_t elem = inc_type_size(slot->plan.type);
	const struct region *r = slot->to;
	uint8_t result[MAX_ELEM], *at;

	if (!gets_result(slot, rank))
		return;
	for (unsigned int i = 0; i < slot->to_shares; i++) {
		at = r->image + (r->data - r->mem) + r->displs[slot->to_share + i] * elem;
		for (uint64_t k = 0; k < expected_count(&slot->plan, rank, i); k++)
			if (expected(&slot->plan, slot->start, rank, i, k, result))
				memcpy(at + k * elem, result, elem);
	}
}

/* The buffers as the next start finds them, and their images as it must leave them. */
void layout_fill(struct slot *slot, uint32_t rank)
{
	struct region *regions[] = { &slot->send, &slot->recv };

	for (size_t i = 0; i < ARRAY_SIZE(regions); i++)
		if (regions[i]->mem)
			memset(regions[i]->mem, GUARD_BYTE, regions[i]->size);
	fill_inputs(slot, rank);
	for (size_t i = 0; i < ARRAY_SIZE(regions); i++)
		if (regions[i]->mem)
			memcpy(regions[i]->image, regions[i]->mem, regions[i]->size);
	overlay_results(slot, rank);
}
