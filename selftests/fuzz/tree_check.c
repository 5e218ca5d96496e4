// SPDX-License-Identifier: GPL-2.0-only
/*
 * What holds at the nodes of fuzz_tree after every event. What a slot says is what the
 * contributions say that are counted in it; no rank is below two children.
 */
#include "tree_env.h"
#include "reduce/reduce.h"

static u32 count_bits(const struct netinc_agg *agg, const struct netinc_slot *slot)
{
	u32 i, n = 0;

	for (i = 0; i < agg->children; i++)
		n += netinc_bits_get(slot->have, i);
	return n;
}

/* Parts of those that have not sent all of them. */
static u32 count_pending(const struct netinc_agg *agg, const struct netinc_slot *slot)
{
	u32 i, n = 0;

	for (i = 0; i < agg->children; i++)
		if (!netinc_bits_get(slot->have, i))
			n += netinc_agg_parts_here(agg, slot, i);
	return n;
}

/* Bytes of accumulators as elements. */
static u32 narrow_len(const struct netinc_pkt *pkt)
{
	const struct netinc_reduce *kernel =
		netinc_reduce_find(pkt->dtype, pkt->dop, pkt->mode, false);

	if (!(pkt->flags & INC_F_WIDE))
		return pkt->len;
	netinc_assert(kernel && kernel->acc_size > kernel->elem_size);
	netinc_assert(!(pkt->len % kernel->acc_size));
	return pkt->len / kernel->acc_size * kernel->elem_size;
}

/* All that are counted agree with what the slot says. */
static void check_agreed(const struct node *n, const struct netinc_slot *slot)
{
	const u16 merged = INC_F_PAYLOAD | INC_F_DESC | INC_F_LEAVE;
	const struct said *s;
	u16 flags = 0;
	u32 i, counted = 0;

	for (i = 0; i < n->g.agg.inputs; i++) {
		s = tree_said(n, i, slot->q);
		netinc_assert(!s == !tree_has_input(n, i, slot->q));
		if (!s)
			continue;
		counted++;
		flags |= s->pkt.flags;
		netinc_assert(s->pkt.opseq == slot->opseq && s->pkt.sig == slot->sig);
		netinc_assert(!(s->pkt.flags & INC_F_WIDE) ||
			      n->g.members[tree_child_of(n, i)].height);
		if (s->pkt.flags & INC_F_PAYLOAD)
			netinc_assert(narrow_len(&s->pkt) == slot->len &&
				      s->pkt.dtype == slot->dtype && s->pkt.dop == slot->dop &&
				      s->pkt.mode == slot->mode && s->pkt.len <= n->g.block);
	}
	netinc_assert((flags & merged) == (slot->flags & merged) || !counted);
	netinc_assert(!(slot->flags & INC_F_PAYLOAD) == !slot->len);
}

static void check_result(const struct node *n, const struct netinc_slot *slot)
{
	const struct load *l = slot->result.obj;
	u32 len = slot->state == NETINC_SLOT_UP ? slot->len * slot->wider : slot->len;

	netinc_assert(slot->len <= n->g.block && len <= n->g.block);
	netinc_assert(!slot->parted || (slot->state == NETINC_SLOT_UP && !l));
	if (slot->parted)
		return;
	netinc_assert(!l == (!(slot->flags & (INC_F_PAYLOAD | INC_F_DESC)) ||
			     (slot->flags & INC_F_ZERO)));
	netinc_assert(!l || l->len == len);
	netinc_assert(slot->state == NETINC_SLOT_DONE || !n->g.agg.root);
}

/* Returns how much is held in it. */
static u32 check_slot(const struct node *n, const struct netinc_slot *slot, u32 i)
{
	const struct netinc_agg *agg = &n->g.agg;
	u32 held = !!slot->result.obj, c;

	netinc_assert((slot->q & (2 * agg->window - 1)) == i);
	netinc_assert(slot->missing + count_bits(agg, slot) == agg->children);
	netinc_assert((slot->state == NETINC_SLOT_FILLING) == !!slot->missing);
	netinc_assert((s64)(slot->q - agg->una) < 2 * (s64)agg->window);
	netinc_assert(slot->state == NETINC_SLOT_DONE || (s64)(slot->q - agg->una) >= 0);
	netinc_assert((slot->state == NETINC_SLOT_BAD) == (!slot->missing && slot->bad));
	if (slot->state == NETINC_SLOT_FILLING && !slot->bad)
		check_agreed(n, slot);
	if (slot->state == NETINC_SLOT_UP || slot->state == NETINC_SLOT_DONE)
		check_result(n, slot);
	for (c = 0; c < agg->inputs; c++) {
		held += !!slot->in[c].obj;
		netinc_assert(!slot->in[c].obj || tree_has_input(n, c, slot->q) ||
			      (slot->parted && c < agg->nparts));
	}
	netinc_assert(slot->pending == count_pending(agg, slot));
	return held;
}

static void check_agg(const struct node *n)
{
	const struct netinc_agg *agg = &n->g.agg;
	u32 held = 0, i;

	netinc_assert(agg->children == n->g.nmembers && agg->window == n->g.cfg.settings.window);
	netinc_assert(agg->window <= MAX_WINDOW && agg->top - agg->una <= agg->window);
	for (i = 0; i < 2 * agg->window; i++)
		held += check_slot(n, &agg->slots[i], i);
	netinc_assert(held == n->held);
	for (i = 0; i < agg->children; i++) {
		netinc_assert((s64)(agg->child[i].frontier - agg->una) >= 0);
		netinc_assert((s64)(agg->una - agg->child[i].has) >= 0);
		netinc_assert(agg->child[i].end - agg->child[i].frontier <= agg->window);
		netinc_assert(agg->child[i].number == n->g.members[i].low);
	}
}

/* Whoever is below a child is below no other, and the lowest of them is its number. */
static void check_children(const struct node *n)
{
	const struct netinc_group *g = &n->g;
	u32 ranks[MAX_RANKS] = {}, lowest[MAX_RANKS], joined = 0, i;

	netinc_assert(g->nmembers <= g->cfg.size);
	for (i = g->cfg.size; i--;) {
		if (!g->owner[i])
			continue;
		netinc_assert(g->owner[i] <= g->nmembers);
		ranks[g->owner[i] - 1]++;
		lowest[g->owner[i] - 1] = i;
		joined++;
	}
	netinc_assert(joined == g->joined);
	for (i = 0; i < g->nmembers; i++) {
		const struct netinc_member *m = &g->members[i];

		netinc_assert(m->present ? m->ranks == ranks[i] : !ranks[i]);
		netinc_assert(!m->present || m->low == lowest[i]);
		netinc_assert(!m->present || m->height || m->ranks == 1);
		netinc_assert(m->height < INC_MAX_HEIGHT);
		netinc_assert(!g->running || (m->present && (!i || m->low > m[-1].low)));
	}
	netinc_assert(!g->running || joined == g->cfg.size || netinc_uplink_in_use(&g->up));
}

/* Ranks that an error names are below the child that has named them. */
static void check_reported(const struct node *n)
{
	const struct netinc_error *e = &n->g.reported;
	u32 i;

	for (i = 0; e->code && i < n->g.nmembers; i++)
		if ((e->rank[0] == NETINC_NO_RANK || netinc_children_has(&n->g, i, e->rank[0])) &&
		    (e->rank[1] == NETINC_NO_RANK || netinc_children_has(&n->g, i, e->rank[1])))
			return;
	netinc_assert(!e->code);
}

static void check_uplink(const struct node *n)
{
	const struct netinc_group *g = &n->g;
	const struct netinc_uplink *up = &g->up;

	netinc_assert(up->state == NETINC_UPLINK_NONE || g->cfg.has_parent);
	netinc_assert(!g->running || g->agg.root == !netinc_uplink_in_use(up));
	if (!netinc_uplink_in_use(up))
		return;
	netinc_assert(g->epoch && g->epoch <= NETINC_MAX_EPOCH && g->levels >= 1 &&
		      g->levels < INC_MAX_HEIGHT);
	netinc_assert(g->cfg.settings.late_policy != INC_LATE_PARTIAL);
	netinc_assert(netinc_settings_ok(&g->cfg.settings) && g->cfg.lineage);
	netinc_assert(g->block >= INC_MIN_BLOCK && g->block <= g->cfg.up_block &&
		      !(g->block % INC_BLOCK_ALIGN));
	/* of a liar's error some blocks behind it may have their results already */
	netinc_assert(!g->agg.closed ||
		      g->agg.limit - g->agg.una + g->agg.window <= 2 * g->agg.window);
}

void tree_check(void)
{
	const struct node *n;
	u32 i;

	for (i = 0; i < NODES; i++) {
		n = &env.node[i];
		if (!n->mem)
			continue;
		check_children(n);
		check_uplink(n);
		check_reported(n);
		if (n->g.running)
			check_agg(n);
		else
			netinc_assert(!n->held);
	}
}
