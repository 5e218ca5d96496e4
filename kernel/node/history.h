/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory that the nodes of a netns have of groups that have failed, the last NETINC_HISTORY of
 * them: which ranks are gone, so that the others need not wait for them when they go on, and that
 * they have gone on, so that who comes late is out. It outlives the groups, which are freed a few
 * seconds after their end.
 */
#ifndef NETINC_NODE_HISTORY_H
#define NETINC_NODE_HISTORY_H

#include "core/netns.h"
#include "engine/group.h"
#include "node/node.h"

#define NETINC_HISTORY	128	/* groups, of which each takes some 640 bytes */

/* How a group has ended at a node of this netns. */
struct netinc_group_history {
	u64 age;		/* the larger, the younger; 0: the entry is free */
	u64 lineage;		/* 0: none */
	struct netinc_peer creator;	/* who asked for the group first */
	u32 ifindex;		/* and by which port */
	u32 group;
	u32 move;		/* the one that it was at */
	bool failed;
	bool formed;		/* it goes on, or has gone on, with fewer ranks */
	bool fallback;		/* its ranks may have gone elsewhere */
	/* bit i: rank i goes on nowhere else, see netinc_group_ended() */
	u32 ended[INC_MAX_RANKS / 32];
	u32 ngone;
	u16 gone[NETINC_MAX_GONE];	/* ranks that are dead or have left */
};

/*
 * nn->hash_lock. The oldest entry makes room for a new one: of the same host if that has a quarter
 * of them, or else of the same port if that has half. So who has one group fail after the other
 * takes what is known of others' groups from nobody.
 */
struct netinc_history {
	struct netinc_group_history group[NETINC_HISTORY];
	u64 age;		/* of the youngest */
};

/* Under nn->mutex, before the first group can end: makes room. -ENOMEM: there is none. */
int netinc_history_init(struct netinc_net *nn);
void netinc_history_fini(struct netinc_net *nn);

/* @g has failed, or another rank of it is gone. @by: who has had it made. */
void netinc_history_failed(struct netinc_net *nn, const struct netinc_group *g,
			   const struct netinc_creator *by);
/* Another member of @g, which has failed, goes on nowhere else. */
void netinc_history_ended(struct netinc_net *nn, const struct netinc_group *g);
/* @g, which has an ancestor, has formed. */
void netinc_history_formed(struct netinc_net *nn, const struct netinc_group *g,
			   const struct netinc_creator *by);
/* Has this group gone on with fewer ranks? */
bool netinc_history_went_on(struct netinc_net *nn, u32 group, u64 lineage);
/* False: nothing is known. */
bool netinc_history_find(struct netinc_net *nn, u32 group, u64 lineage,
			 struct netinc_group_history *entry);

#endif
