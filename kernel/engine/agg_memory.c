// SPDX-License-Identifier: GPL-2.0-only
/* How the memory of an aggregator is laid out, and what it is before its first epoch. */
#include "aggregator.h"

size_t netinc_agg_bytes(u32 children, u32 inputs, u32 window)
{
	size_t set = netinc_bits_longs(children) * sizeof(long);
	size_t slot = sizeof(struct netinc_slot) + inputs * sizeof(struct netinc_pay) + 2 * set;

	return 2 * window * slot + children * sizeof(struct netinc_child) + set +
	       inputs * (sizeof(struct netinc_pay) + sizeof(struct netinc_operand) +
			 sizeof(struct netinc_part));
}

/* Each child has one part, and all of them are one. */
static void init_parts(struct netinc_agg *agg)
{
	u32 i;

	for (i = 0; i < agg->children; i++) {
		agg->child[i].parts = 1;
		agg->operand[i] = (struct netinc_operand){ .input = i, .weight = 1 };
	}
	agg->nparts = 1;
	agg->part[0] = netinc_agg_part(agg, NETINC_WHOLE);
}

void netinc_agg_init(struct netinc_agg *agg, void *mem, u32 children, u32 inputs, u32 window)
{
	u32 longs = netinc_bits_longs(children), slots = 2 * window, i;
	unsigned long *have, *contributors;
	struct netinc_pay *in;

	agg->children = children;
	agg->inputs = inputs;
	agg->window = window;
	agg->root = true;
	agg->up_waits_for = NETINC_NO_RANK;
	agg->watch.child = NETINC_NO_RANK;
	agg->slots = mem;
	agg->child = (void *)(agg->slots + slots);
	in = (void *)(agg->child + children);
	have = (void *)(in + (size_t)slots * inputs);
	contributors = have + (size_t)slots * longs;
	for (i = 0; i < children; i++) {
		agg->child[i].number = i;
		agg->child[i].waits_for = NETINC_NO_RANK;
	}
	for (i = 0; i < slots; i++) {
		agg->slots[i].in = in + (size_t)i * inputs;
		agg->slots[i].have = have + (size_t)i * longs;
		agg->slots[i].contributors = contributors + (size_t)i * longs;
	}
	agg->contributors = contributors + (size_t)slots * longs;
	agg->made = (void *)(agg->contributors + longs);
	agg->operand = (void *)(agg->made + inputs);
	agg->part = (void *)(agg->operand + inputs);
	init_parts(agg);
}
