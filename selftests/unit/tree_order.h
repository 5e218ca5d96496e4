/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tests of test_tree_nodes.c: in whatever order ranks come, all nodes know the same children, and
 * which order a group folds in that several nodes serve.
 */
#ifndef INC_TREE_ORDER_H
#define INC_TREE_ORDER_H

#include "nodes_env.h"

/* The @n-th order of the ranks. */
static void order_of(u32 n, u32 rank[RANKS])
{
	u32 left[RANKS] = { 0, 1, 2, 3 }, i, k;

	for (i = 0; i < RANKS; i++) {
		k = n % (RANKS - i);
		n /= RANKS - i;
		rank[i] = left[k];
		for (; k + 1 < RANKS - i; k++)
			left[k] = left[k + 1];
	}
}

/* Whoever comes first: nodes know the same children, in the same order. */
static void test_any_order(void)
{
	u32 n, i, rank[RANKS];

	for (n = 0; n < 24; n++) {
		order_of(n, rank);
		begin_tree(false, 1, 2, 1, 2);
		for (i = 0; i < RANKS; i++)
			join(rank[i]);
		wait_ms(50);
		expect_states(INC_GROUP_ACTIVE);
		expect(net.node[0].g.nmembers == 2 && net.node[0].g.members[0].low == 0 &&
		       net.node[0].g.members[1].low == 1, "order %u: children", n);
		for (i = 0; i < RANKS; i++) {
			const struct inc_ready *r = &net.told[i].ready;

			/* ranks 0 and 2 are below one node, 1 and 3 below the other */
			expect(net.told[i].readies >= 1 && r->height == (1 | INC_READY_TREE_ORDER),
			       "order %u: height %#x", n, r->height);
			expect(be32_to_cpu(r->size) == RANKS && be16_to_cpu(r->children) == 1 &&
			       be16_to_cpu(r->rank) == i && be32_to_cpu(r->window) == W / 2,
			       "order %u: READY of rank %u", n, i);
		}
		end_tree();
	}
}

/*
 * The order of folds is that of the tree over the ranks if all nodes are nodes of it: then children
 * stand for as many ranks as they have. If not, each child is one, at every node.
 */
static void test_order(void)
{
	static const struct {
		bool chain;
		u32 at[RANKS];
		u32 weight[2];		/* of the children of node 0, 0: there is no such child */
		bool tree;
	} cases[] = {
		{ false, { 1, 1, 2, 2 }, { 2, 2 }, false },
		{ false, { 1, 2, 1, 2 }, { 1, 1 }, true },
		{ false, { 1, 1, 1, 2 }, { 1, 1 }, true },
		{ false, { 2, 1, 1, 1 }, { 1, 1 }, true },
		{ false, { 1, 2, 2, 1 }, { 1, 1 }, true },
		{ false, { 1, 1, 2, 0 }, { 2, 1 }, false },
		{ true, { 2, 1, 0, 0 }, { 2, 1 }, false },
		{ true, { 0, 0, 1, 2 }, { 1, 1 }, false },
		{ true, { 0, 1, 2, 0 }, { 1, 1 }, true },
	};
	const struct netinc_group *g = &net.node[0].g;
	u32 i, k;

	for (k = 0; k < ARRAY_SIZE(cases); k++) {
		form_tree(cases[k].chain, cases[k].at[0], cases[k].at[1], cases[k].at[2],
			  cases[k].at[3]);
		for (i = 0; i < 2; i++)
			expect(g->agg.operand[i].weight == cases[k].weight[i],
			       "case %u: child %u of the root has weight %u", k, i,
			       g->agg.operand[i].weight);
		for (i = 0; i < RANKS; i++)
			expect(netinc_ready_tree_order(&net.told[i].ready) == cases[k].tree,
			       "case %u: order of rank %u", k, i);
		for (i = 0; i < NODES; i++)
			expect(!net.node[i].g.joined || net.node[i].g.tree_order == cases[k].tree,
			       "case %u: order of node %u", k, i);
		end_tree();
	}
}

/* The root folds @n operands, of these inputs and weights; those of nodes make so many parts. */
static void expect_parts(u32 k, const struct netinc_operand *right, u32 n, const u32 *parts)
{
	const struct netinc_agg *agg = &net.node[0].g.agg;
	u32 i;

	expect(agg->inputs == n && agg->nparts == 1, "case %u: %u operands, %u parts", k,
	       agg->inputs, agg->nparts);
	for (i = 0; i < n && i < agg->inputs; i++)
		expect(agg->operand[i].input == right[i].input &&
		       agg->operand[i].weight == right[i].weight,
		       "case %u: operand %u is input %u, of weight %u", k, i,
		       agg->operand[i].input, agg->operand[i].weight);
	for (i = 1; i < NODES; i++)
		expect(!parts[i - 1] || net.node[i].g.agg.nparts == parts[i - 1],
		       "case %u: node %u sends %u parts", k, i, net.node[i].g.agg.nparts);
}

/* If one rank asks for it, the order is that of the tree over the ranks wherever they are. */
static void test_canonical(void)
{
	static const struct {
		bool chain;
		u32 at[RANKS], parts[NODES - 1], n;
		struct netinc_operand operand[RANKS];
	} cases[] = {
		{ false, { 1, 2, 1, 2 }, { 2, 2 }, 4, { { 0, 1 }, { 1, 1 }, { 2, 1 }, { 3, 1 } } },
		{ false, { 1, 1, 1, 2 }, { 2, 1 }, 3, { { 0, 2 }, { 2, 1 }, { 1, 1 } } },
		{ false, { 2, 1, 1, 1 }, { 2, 1 }, 3, { { 0, 1 }, { 1, 1 }, { 2, 2 } } },
		{ false, { 1, 2, 2, 1 }, { 2, 2 }, 4, { { 0, 1 }, { 1, 1 }, { 3, 1 }, { 2, 1 } } },
		{ true, { 0, 1, 2, 0 }, { 2, 1 }, 4, { { 0, 1 }, { 1, 1 }, { 3, 1 }, { 2, 1 } } },
		{ false, { 1, 1, 2, 2 }, { 1, 1 }, 2, { { 0, 2 }, { 1, 2 } } },
	};
	u32 i, k;

	for (k = 0; k < RANKS * ARRAY_SIZE(cases); k++) {
		i = k / RANKS;
		begin_tree(cases[i].chain, cases[i].at[0], cases[i].at[1], cases[i].at[2],
			   cases[i].at[3]);
		net.asks = 1u << k % RANKS;
		join_all();
		expect_parts(i, cases[i].operand, cases[i].n, cases[i].parts);
		for (i = 0; i < RANKS; i++)
			expect(!netinc_ready_tree_order(&net.told[i].ready), "rank %u has another order",
			       i);
		end_tree();
	}
}

/* All join; what @node says of its ranks is that there are too many parts. */
static void join_with_many_parts(u32 node)
{
	struct inc_join *join;
	struct frame *f;
	u32 i;

	for (i = 0; i < RANKS; i++)
		expect(!join_from(i, 0), "JOIN of rank %u", i);
	while (!net.told[0].readies) {
		if (net.first == net.last)
			tick_nodes();
		f = &net.queue[net.first % QUEUE];
		join = (struct inc_join *)f->body;
		if (net.first == net.last)
			continue;
		if (f->pkt.type == INC_PKT_JOIN && f->from == node) {
			join->below |= INC_JOIN_TREE_ORDER;
			join->flags |= INC_JOIN_MANY_PARTS;
		}
		deliver();
	}
	pump();
	for (i = 0; i < RANKS; i++)
		expect(net.told[i].readies && netinc_ready_tree_order(&net.told[i].ready),
		       "rank %u has an order that cannot be had", i);
}

/* A node below would need more parts than there can be: all are told of another order. */
static void test_many_parts(void)
{
	begin_tree(false, 1, 2, 1, 2);
	net.asks = ~0u;
	join_with_many_parts(1);
	end_tree();
}

/* Likewise if it is two levels below, and nobody there has asked for the order. */
static void test_many_parts_below(void)
{
	begin_tree(true, 2, 1, 2, 0);
	net.asks = 1u << 3;
	join_with_many_parts(2);
	end_tree();
}

#endif
