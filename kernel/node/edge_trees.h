/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trees of groups at the edge whose roots are at this host, and the ways to the others: see
 * engine/group_tree.c.
 */
#ifndef NETINC_NODE_EDGE_TREES_H
#define NETINC_NODE_EDGE_TREES_H

#include "engine/group.h"

struct netinc_node_group;
struct netinc_node;
struct netinc_rank;

/* A tree that a rank of this host has heard of: made in process context. */
struct netinc_tree_request {
	struct list_head list;	/* edge->tree_requests; edge->lock */
	struct netinc_tree_cfg tree;
	/* [tree.size]; ifindex: the interface that they are reached by, or 0 */
	struct netinc_peer peers[];
};

/* The engine's spread(). */
bool netinc_tree_paths_find(struct netinc_ep *ep);
/* The rank's ways to other trees than the first. Nobody uses it any more. */
void netinc_tree_paths_fini(struct netinc_rank *rank);

/* Process context: makes the trees that have been asked for. */
void netinc_edge_make_trees(struct netinc_node *edge);
/* Forgets about them; the edge is dead. */
void netinc_edge_forget_trees(struct netinc_node *edge);
/* Is the rank that lives at the root of this tree still in its epoch? */
bool netinc_edge_root_alive(const struct netinc_node_group *g);

#endif
