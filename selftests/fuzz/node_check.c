// SPDX-License-Identifier: GPL-2.0-only
/*
 * What holds at a node after every event. The description of a slot is that of the contributions
 * that are counted in it, of no other: not of one that has been taken back, nor of an older block.
 */
#include "node_env.h"
#include "reduce/reduce.h"

static u32 counted(const struct netinc_slot *slot)
{
	u32 i, n = 0;

	for (i = 0; i < env.g.agg.children; i++)
		n += netinc_bits_get(slot->have, i);
	return n;
}

/* Contributions @a and @b to one block cannot be of one operation. */
static bool disagree(const struct said *a, const struct said *b)
{
	if (a->opseq != b->opseq || a->sig != b->sig || ((a->flags ^ b->flags) & INC_F_LEAVE))
		return true;
	if (!(a->flags & b->flags & INC_F_PAYLOAD))
		return false;
	return a->dop == INC_OP_NONE || a->len != b->len || a->dtype != b->dtype ||
	       a->dop != b->dop || a->mode != b->mode;
}

/*
 * With FINAL among them two may have elements that are only moved; whether they may depends on the
 * order.
 */
static bool must_disagree(const struct said *a, const struct said *b, u16 flags)
{
	if (!disagree(a, b))
		return false;
	return !(flags & INC_F_FINAL) || a->dop != INC_OP_NONE || b->dop != INC_OP_NONE ||
	       a->opseq != b->opseq || a->sig != b->sig;
}

/* Of an operation's first block, one has sent the descriptor and another one more than fits. */
static bool is_too_long(const struct said *first, u16 flags)
{
	return first && (flags & INC_F_DESC) &&
	       first->len + sizeof(struct inc_desc) > env.g.block;
}

/* The description of a slot to which some have contributed. */
static void check_described(const struct netinc_slot *slot, const struct said **all, u32 n,
			    u16 flags)
{
	const u16 merged = INC_F_PAYLOAD | INC_F_FINAL | INC_F_DESC | INC_F_LEAVE;
	const struct said *first = NULL;
	bool differ = false, must = false, can = true;
	u32 i, j;

	for (i = 0; i < n; i++) {
		if (!first && (all[i]->flags & INC_F_PAYLOAD))
			first = all[i];
		for (j = 0; j < i; j++) {
			differ |= disagree(all[i], all[j]);
			must |= must_disagree(all[i], all[j], flags);
		}
	}
	differ |= is_too_long(first, flags);
	must |= is_too_long(first, flags);
	netinc_assert((slot->flags & merged) == (flags & merged));
	netinc_assert(!slot->len == !first);
	for (i = 0; i < n && first; i++)
		if (all[i]->flags & INC_F_PAYLOAD)
			can &= all[i]->dop == INC_OP_NONE ||
			       netinc_reduce_find(all[i]->dtype, all[i]->dop, all[i]->mode, false);
	if (slot->bad == INC_ERR_MISMATCH)
		netinc_assert(differ);
	else if (slot->bad)
		netinc_assert(slot->bad == INC_ERR_UNSUPPORTED && !can);
	else
		netinc_assert(!must && can);
	if (slot->bad)
		return;
	netinc_assert(slot->opseq == all[0]->opseq && slot->sig == all[0]->sig);
	netinc_assert(!first || (slot->len == first->len && slot->dtype == first->dtype &&
				 slot->dop == first->dop && slot->mode == first->mode));
}

static void check_filling(const struct netinc_slot *slot)
{
	const struct said *all[MAX_SIZE], *s;
	u16 flags = 0;
	u32 i, n = 0;

	for (i = 0; i < env.g.agg.children; i++) {
		netinc_assert(!netinc_bits_get(slot->have, i) == !node_env_said(i, slot->q));
		s = node_env_said(i, slot->q);
		if (!s) {
			netinc_assert(!slot->in[i].obj);
			continue;
		}
		netinc_assert((!(s->flags & (INC_F_PAYLOAD | INC_F_DESC)) ||
			       (s->flags & INC_F_ZERO)) == !slot->in[i].obj);
		netinc_assert(s->len <= env.g.block);
		flags |= s->flags;
		all[n++] = s;
	}
	if (n)
		check_described(slot, all, n, flags);
	else
		netinc_assert(!slot->flags && !slot->len && !slot->bad);
}

static void check_slot(const struct netinc_slot *slot, u32 i)
{
	const struct netinc_agg *agg = &env.g.agg;

	netinc_assert((slot->q & (2 * agg->window - 1)) == i);
	netinc_assert(slot->missing + counted(slot) == agg->children);
	if (!netinc_agg_mine(agg, slot->q)) {
		netinc_assert(!counted(slot) && slot->state == NETINC_SLOT_FILLING);
		return;
	}
	netinc_assert(slot->state == NETINC_SLOT_FILLING ? slot->missing :
		      !slot->missing || (slot->flags & INC_F_PARTIAL));
	netinc_assert((s64)(slot->q - agg->una) < 2 * (s64)agg->window);
	netinc_assert(slot->state == NETINC_SLOT_DONE || (s64)(slot->q - agg->una) >= 0);
	if (slot->state != NETINC_SLOT_DONE)
		check_filling(slot);
}

/* Blocks of other trees are passed over. */
static u64 next_mine(u64 q)
{
	while (!netinc_agg_mine(&env.g.agg, q))
		q++;
	return q;
}

/* Who hears has shown it by a call of this epoch. */
static void check_hearing(const struct netinc_group *g)
{
	u32 i, n = 0;

	for (i = 0; g->running && i < g->nmembers; i++) {
		n += g->members[i].hears;
		netinc_assert(!g->members[i].hears ||
			      (s32)(g->multicast.call - g->members[i].call_needed) >= 0);
	}
	netinc_assert(!g->running || g->multicast.hearing == n);
}

void node_env_check(void)
{
	const struct netinc_agg *agg = &env.g.agg;
	u32 i;

	/* a place to go to is what a group has that may move */
	netinc_assert(env.g.cfg.settings.fallback || env.g.move == env.g.cfg.move);
	if (env.g.state == INC_GROUP_JOINING || !env.g.epoch)
		return;
	/* memory is reserved for no more */
	netinc_assert(env.g.block <= env.g.cfg.block && agg->block <= env.g.cfg.block);
	for (i = 0; env.g.running && i < 2 * agg->window; i++)
		check_slot(&agg->slots[i], i);
	for (i = 0; i < agg->children; i++) {
		/* others get ahead of it, as far as its PROBEs let them */
		netinc_assert(agg->set || (s64)(next_mine(agg->child[i].frontier) - agg->una) >= 0);
		netinc_assert((s64)(agg->una - agg->child[i].has) >= 0);
		netinc_assert(agg->child[i].end - agg->child[i].frontier <= agg->window);
	}
	netinc_assert(env.held <= 2 * agg->window + agg->window * agg->children);
	check_hearing(&env.g);
}
