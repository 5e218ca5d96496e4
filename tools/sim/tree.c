// SPDX-License-Identifier: GPL-2.0-only
/* Trees of nodes: which node is below which, at which of them the ranks are. */
#include "sim.h"

#define MOST_LEVELS	3

static u32 depth(const struct plan_tree *t, u32 node)
{
	u32 n = 0;

	for (; node; node = t->parent[node])
		n++;
	return n;
}

/* Any shape: nodes with one child, with none, with ranks of their own beside nodes. */
static void pick_shape(struct sim *sim, struct plan_tree *t)
{
	u32 i;

	for (i = 1; i < SIM_MAX_NODES; i++) {
		do {
			t->parent[i] = one_in(sim, 2) ? i - 1 : sim_below(sim, i);
		} while (depth(t, t->parent[i]) + 1 >= MOST_LEVELS);
	}
	for (i = 0; i < SIM_MAX_NODES; i++)
		t->narrow[i] = one_in(sim, 3) ? sim_below(sim, 3) : 0;
}

static void pick_places(struct sim *sim, struct plan_tree *t)
{
	u32 all = sim_below(sim, t->nodes), i;
	bool one = one_in(sim, 8), leaves = one_in(sim, 2);

	for (i = 0; i < SIM_MAX_HOSTS; i++) {
		t->at[i] = one ? all : sim_below(sim, t->nodes);
		if (leaves && !t->at[i])
			t->at[i] = t->nodes - 1;
	}
}

static void pick_faults(struct sim *sim)
{
	struct plan *p = &sim->plan;
	struct plan_round *r;
	u32 i;

	for (i = 0; i < p->rounds; i++) {
		r = &p->round[i];
		r->fault_node = sim_below(sim, p->tree.nodes);
		if (!one_in(sim, 2))
			continue;
		r->fault_when = one_in(sim, 4) ? WHEN_LEAVE : pick(sim, WHEN_FORMED, WHEN_DONE);
		r->fault_at = sim_below(sim, one_in(sim, 2) ? 8 * p->base_delay + 1 : 50000);
	}
}

/* Where blocks may be folded in one order here and in another one there, only what has none. */
static void pick_unordered(struct plan_round *r)
{
	struct plan_step *s;
	u32 i;

	for (i = 0; i < r->nops; i++) {
		s = &r->step[i];
		if (!netinc_coll_reduces(s->op.coll) || !reference_is_ordered(&s->op))
			continue;
		s->op.type = INC_TYPE_I32;
		s->op.mode &= INC_MODE_COUNTS;
		s->disagree = AGREE;
	}
}

/* A node is lost for a while, and there is time for the group to return to its tree. */
static void pick_return(struct sim *sim)
{
	struct plan *p = &sim->plan;
	struct trouble *t;
	u32 i;

	p->think = pick(sim, 50000, 400000);
	p->dead_ms = pick(sim, 500, 1000);
	for (i = 0; i < p->rounds; i++) {
		t = p->round[i].trouble;
		p->round[i].pause %= p->dead_ms * NETINC_MS / 2;
		t[0].kind = pick(sim, TROUBLE_SILENT, TROUBLE_REMOVED);
		t[0].when = WHEN_FORMED;
		t[0].lasts = pick(sim, 1, 2 * p->dead_ms) * NETINC_MS;
		if (one_in(sim, 2))
			memset(&t[1], 0, (SIM_MAX_TROUBLES - 1) * sizeof(*t));
	}
}

/* Nodes are lost, and the group goes to the edge. */
static void pick_edge(struct sim *sim)
{
	struct plan *p = &sim->plan;
	u32 i;

	p->fallback = INC_FALLBACK_EDGE;
	for (i = 0; i < p->rounds; i++)
		trouble_pick(sim, i);
	if (one_in(sim, 2))
		pick_return(sim);
}

/* With random numbers of its own: the rest of the plan is the seed's, whatever tree it has. */
void tree_pick(struct sim *sim)
{
	struct plan *p = &sim->plan;
	u64 random = sim->random;
	u32 i;

	sim->random = sim->seed * 0xd1342543de82ef95ull + 1;
	p->tree.nodes = pick(sim, 2, SIM_MAX_NODES);
	p->tree.shift = one_in(sim, 2) ? sim_below(sim, p->tree.nodes) : 0;
	pick_shape(sim, &p->tree);
	pick_places(sim, &p->tree);
	for (i = 0; i < SIM_MAX_NODES; i++) {
		p->tree.block[i] = p->block[0];
		if (one_in(sim, 4))
			p->tree.block[i] += INC_BLOCK_ALIGN * sim_below(sim, 8);
		else if (one_in(sim, 4))
			p->tree.block[i] = max_t(u32, INC_MIN_BLOCK, p->block[0] - INC_BLOCK_ALIGN);
	}
	if (p->fallback || p->late_ms || !one_in(sim, 3)) {
		p->tree.nodes = 0;
	} else {
		pick_faults(sim);
		if (one_in(sim, 2))
			pick_edge(sim);
	}
	/* one is enough */
	if (one_in(sim, 2))
		p->tree.asks = one_in(sim, 2) ? ~0u : 1u << sim_below(sim, SIM_MAX_HOSTS);
	sim->random = random;
}

void tree_fit(struct sim *sim)
{
	struct plan *p = &sim->plan;
	u32 i;

	if ((p->hostile.who & HOSTILE_ROOT) || p->fallback == INC_FALLBACK_STANDBY ||
	    p->standbys || p->networks || p->late_ms || p->tree.nodes < 2)
		p->tree.nodes = 0;
	p->tree.nodes = min_t(u32, p->tree.nodes, SIM_MAX_NODES);
	p->tree.shift = p->tree.nodes ? p->tree.shift % p->tree.nodes : 0;
	for (i = 0; i < SIM_MAX_HOSTS; i++)
		p->tree.at[i] = p->tree.nodes ? p->tree.at[i] % p->tree.nodes : 0;
	p->tree.asks &= p->tree.nodes ? (u32)((1ull << p->hosts) - 1) : 0;
	/* who lies may not ask, or be the one that did */
	if (p->hostile.who && p->tree.asks != (u32)((1ull << p->hosts) - 1))
		p->tree.asks = 0;
	for (i = 0; i < p->rounds && p->tree.nodes && p->fallback && !p->tree.asks; i++)
		pick_unordered(&p->round[i]);
	for (i = 0; i < p->rounds; i++)
		p->round[i].fault_node = p->tree.nodes ? p->round[i].fault_node % p->tree.nodes : 0;
}

void tree_print(const struct sim *sim)
{
	const struct plan_tree *t = &sim->plan.tree;
	u32 i, r;

	if (t->asks)
		printf("# canonical order, bit i is set if rank i asks for it: %#x\n", t->asks);
	for (i = 0; i < t->nodes; i++) {
		printf("# node %u: ", i);
		if (i)
			printf("below node %u, block %u, ", t->parent[i], t->block[i]);
		printf("W %u, ranks", tree_node_window(sim, i));
		for (r = 0; r < sim->plan.hosts; r++)
			if (t->at[r] == i)
				printf(" %u", r);
		printf("; in round 1 those of node %u\n",
		       (i + t->nodes - t->shift) % t->nodes);
	}
}

u32 tree_at(const struct sim *sim, u32 rank)
{
	const struct plan_tree *t = &sim->plan.tree;

	return t->nodes ? (t->at[rank] + sim->round * t->shift) % t->nodes : 0;
}

u32 tree_node_window(const struct sim *sim, u32 node)
{
	if (node >= sim->plan.tree.nodes)
		return sim->plan.window;
	return max_t(u32, sim->plan.window >> sim->plan.tree.narrow[node], INC_MIN_WINDOW);
}

/* Is @node @above, or below it? */
static bool is_below(const struct plan_tree *t, u32 node, u32 above)
{
	for (; node > above; node = t->parent[node])
		;
	return node == above;
}

u32 tree_ranks(const struct sim *sim, u32 node)
{
	u32 bits = 0, i;

	for (i = 0; i < sim->plan.hosts; i++)
		if (is_below(&sim->plan.tree, tree_at(sim, i), node))
			bits |= 1u << i;
	return bits;
}

u32 tree_root(const struct sim *sim)
{
	u32 all = (1u << sim->plan.hosts) - 1, root = 0, i;

	/* below a node are later ones */
	for (i = 1; i < sim->plan.tree.nodes; i++)
		if (tree_ranks(sim, i) == all)
			root = i;
	return root;
}

bool tree_uses(const struct sim *sim, u32 node)
{
	return tree_ranks(sim, node) && is_below(&sim->plan.tree, node, tree_root(sim));
}

bool tree_is_deep(const struct sim *sim)
{
	u32 i, n = 0;

	for (i = 0; i < sim->plan.tree.nodes; i++)
		n += tree_uses(sim, i);
	return n > 1;
}

u32 tree_window(const struct sim *sim)
{
	u32 window = sim->plan.window, i;

	for (i = 0; i < sim->plan.tree.nodes; i++)
		if (tree_uses(sim, i))
			window = min(window, tree_node_window(sim, i));
	return window;
}

bool tree_is_parent(const struct sim *sim, u32 node, u32 addr)
{
	return node && node < sim->plan.tree.nodes &&
	       addr == SIM_NODE + sim->plan.tree.parent[node];
}

u32 tree_child_of(const struct sim *sim, u32 node, u32 rank)
{
	u32 i;

	for (i = node + 1; i < sim->plan.tree.nodes; i++)
		if (sim->plan.tree.parent[i] == node && tree_ranks(sim, i) >> rank & 1)
			return i;
	return 0;
}
