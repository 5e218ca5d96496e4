/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Demultiplexing: whom a packet is for. Groups of different jobs may have the same number, so
 * packets name more than that: the incarnation of a run, the nonce of a JOIN, a lineage. What is
 * found by such numbers is in one hash table per namespace, whose buckets nobody outside can
 * foresee. Entries with the same key, as the ranks of one group at this host have, are a list of
 * their own there (rhltable): what a packet costs does not depend on how many others there are,
 * unless these know its number. Nonces, and incarnations of groups of this box, are drawn at random
 * here; the other incarnations and lineages are what parents say. By job and number there are at
 * most as many ranks of one user as a group has stripes.
 */
#ifndef NETINC_CORE_DEMUX_H
#define NETINC_CORE_DEMUX_H

#include <linux/rhashtable.h>

struct netinc_net;

enum netinc_demux_kind {
	NETINC_DEMUX_NONE,		/* it is not in the table */
	/* struct netinc_node_group */
	NETINC_DEMUX_GROUP,		/* by its incarnation */
	NETINC_DEMUX_TREE,		/* a tree at the edge: incarnation, number of the tree */
	NETINC_DEMUX_UPLINK,		/* there is a parent: incarnation there */
	NETINC_DEMUX_UPLINK_NONCE,	/* likewise: nonce of its JOIN */
	/* struct netinc_rank */
	NETINC_DEMUX_RANK,		/* incarnation of its group */
	NETINC_DEMUX_RANK_NONCE,	/* nonce of its JOIN */
	NETINC_DEMUX_RANK_LINEAGE,	/* lineage */
	NETINC_DEMUX_RANK_NUMBER,	/* number with which it has joined; job */
	NETINC_DEMUX_RANK_SHRINKS,	/* instead: lineage of the group that it was in */
	NETINC_DEMUX_RANK_PORT,		/* UDP port that it holds and sends from; no group */
	NETINC_DEMUX_RANK_OTHER_PORT,	/* that it sends from, which another program has */
	NETINC_DEMUX_KINDS
};

struct netinc_demux_key {
	u64 token;			/* lineage, job, or number of the tree; else 0 */
	u32 number;			/* incarnation, nonce, port or rank; else 0 */
	u32 group;
	u32 kind;			/* enum netinc_demux_kind; the last one that is compared */
};

/* A member of what is found, which is freed after an RCU grace period. */
struct netinc_demux_entry {
	struct rhlist_head list;
	/* changes under the lock of what it is a member of, or while nobody else sees that */
	struct netinc_demux_key key;
};

/* What the table needs for an entry, at most. */
#define NETINC_DEMUX_BYTES	(4 * sizeof(void *))

/* 0 or -ENOMEM; may sleep. */
int netinc_demux_init(struct netinc_net *nn);
/* When nothing is in it any more. */
void netinc_demux_fini(struct netinc_net *nn);

/*
 * Moves @entry to @key; kind NETINC_DEMUX_NONE: takes it out. Who walks through the old key's list
 * meanwhile may go on in the new one's, and miss what follows: a loss. To take it out takes a look
 * at each entry with its key. 0 or -ENOMEM: it is in the table no more.
 */
int netinc_demux_set(struct netinc_net *nn, struct netinc_demux_entry *entry,
		     const struct netinc_demux_key *key);
void netinc_demux_clear(struct netinc_net *nn, struct netinc_demux_entry *entry);

static inline bool netinc_demux_equal(const struct netinc_demux_key *a,
				      const struct netinc_demux_key *b)
{
	return a->token == b->token && a->number == b->number && a->group == b->group &&
	       a->kind == b->kind;
}

/* The entries with @key, for rhl_for_each_entry_rcu(); under RCU. NULL: there are none. */
struct rhlist_head *netinc_demux_find(const struct netinc_net *nn,
				      const struct netinc_demux_key *key);

#endif
