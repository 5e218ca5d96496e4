/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What surrounds the nodes in fuzz_tree: three of them in a tree, the ranks at them, a queue of
 * packets between them all, payload, folding as kernel/node/fold.c does it, and a record of what
 * each child has said of each block. Beside the tree there is a group of two ranks at a node of its
 * own, which has to notice nothing.
 */
#ifndef INC_FUZZ_TREE_ENV_H
#define INC_FUZZ_TREE_ENV_H

#include "engine/group.h"
#include "reader.h"

#define MAX_RANKS	6u
#define TREE_NODES	3u
#define OTHER		TREE_NODES	/* the node of the group beside the tree */
#define NODES		(TREE_NODES + 1)
#define OTHER_RANKS	2u
#define ALL_RANKS	(MAX_RANKS + OTHER_RANKS)
#define RANK_AT		16u		/* address of rank 0; those of nodes are 0 .. NODES - 1 */
#define STANDBY_ADDR	250u		/* where nobody is */
#define NOBODY		99u
#define GROUP		77u
#define MAX_WINDOW	(INC_MIN_WINDOW << 5)
#define RING		(2 * MAX_WINDOW)
#define MAX_LEN		512u		/* bytes of payload */
#define OP_BLOCKS	6u
#define DEAD_MS		200u
#define MOST_DEAD_MS	(2 * DEAD_MS)	/* that liars set */
#define FIRST_BLOCK	0xfffffffdull	/* so that numbers wrap */
#define LINEAGE		0x7777u		/* of a group that returns to the tree */
#define MOVE		6u		/* by which it does */
#define QUEUE		2048u
#define MOST_AGAIN	64u		/* results, and partials, sent again per received buffer */
#define MOST_NACKS	16u
#define MOST_UP		3u		/* control packets to the parent per packet */

/* Payload as it has been received: memory of exactly its length. */
struct load {
	u32 refs;
	u32 len;
	u8 *data;
	bool has_desc;
	struct inc_desc desc;
};

struct frame {
	u32 from, to;
	struct netinc_pkt pkt;
	struct inc_desc desc;	/* with INC_F_DESC */
	u8 *body;		/* pkt.len bytes */
};

struct queue {
	struct frame frame[QUEUE];
	u32 first, last;
};

/* What a contribution says. */
struct said {
	u32 run;		/* of the fuzzer, in which this is valid */
	u32 incarnation, epoch;
	u64 q;
	struct netinc_pkt pkt;
	u8 data[MAX_LEN];
};

/* What has left for a block: the partial, and the result. */
struct left {
	u32 run;
	u32 incarnation, epoch;
	u64 q;
	struct netinc_pkt pkt;
	u8 data[MAX_LEN];
};

struct node {
	struct netinc_group g;
	void *mem;		/* NULL: the group has expired */
	u32 parent;		/* a node, NOBODY: none */
	u32 lives;		/* groups that have been here */
	u32 held;		/* payloads, contributions and results */
	/* sent since the last buffer came, and since the last packet */
	u32 results, partials, up_control;
	u32 statuses[MAX_RANKS], nacks[MAX_RANKS], others[MAX_RANKS];
};

struct tree_env {
	struct node node[NODES];
	struct reader r;
	struct queue tree;
	struct queue beside;	/* of the other group: it loses nothing, and does not wait */
	u64 now;
	u32 run;
	u32 size;		/* ranks of the tree */
	u32 liars;		/* bit: node, or TREE_NODES + rank, that lies */
	bool asks;		/* ranks that are honest ask for INC_ORDER_CANONICAL */
	bool long_blocks;	/* ways carry accumulators of block floats, which are summed, too */
	bool truth;		/* nobody lies any more */
	bool mute;		/* who has lied is silent */
	bool stalls;		/* likewise: as a parent he says WAIT, again and again */
	bool no_hold, no_fold;
	u32 loads;
	u64 sent;		/* packets that have left, of all */
};

extern struct tree_env env;

/* A liar's packet on its way. False: it is lost. */
bool liar_alters(struct frame *f);

static inline bool is_liar_at(u32 addr)
{
	u32 bit = addr < RANK_AT ? addr : TREE_NODES + addr - RANK_AT;

	return (addr < RANK_AT ? addr < TREE_NODES : addr - RANK_AT < MAX_RANKS) &&
	       env.liars >> bit & 1;
}

struct netinc_peer tree_peer(u32 addr);

/* ---- tree_env.c: beginning, time, end ---- */

/* A new run of the group at node @i. */
void tree_begin_node(u32 i);
/* Has the group that the tree is for been elsewhere? */
bool tree_returns(void);
/* Bytes of payload that the paths of ranks carry. */
u16 tree_rank_block(void);
/* Bytes of a block as ranks of the tree ask for it: where they return, no way up carries less. */
u16 tree_block(void);
void tree_begin(const u32 *parent, const u32 *window, const u32 *up_block, u8 policy);
/* Nothing is left of all of it, nor of what it held. */
void tree_end(void);
void tree_tick(void);
/* Liars that are parents seem to be there. */
void tree_stall(void);

/* ---- tree_queue.c: packets on their way ---- */

/* Bytes are copied; @desc may be NULL. */
void tree_send(u32 from, u32 to, const struct netinc_pkt *pkt, const struct inc_desc *desc,
	       const void *body, u32 len);
void tree_resize(struct frame *f, u32 len);
void tree_copy(struct frame *to, const struct frame *from);
/* The next packet arrives; @same: in one buffer with the one before it, if they may be. */
void tree_deliver(bool same);
/* All packets arrive. */
void tree_pump(void);
void tree_pump_beside(void);
/* One packet at a node, which is freed. */
void tree_arrives(struct frame *f, bool same);

/* ---- tree_in.c, tree_check.c: what holds ---- */

/* Does the slot of block @q count a contribution as @input, see netinc_slot.in? */
bool tree_has_input(const struct node *n, u32 input, u64 q);
/* The child that it is of. */
u32 tree_child_of(const struct node *n, u32 input);
/* What has been said of block @q as @input, that counts at the moment; NULL: nothing. */
const struct said *tree_said(const struct node *n, u32 input, u64 q);
/* What holds at all nodes after every event. */
void tree_check(void);

/* ---- tree_rank.c: ranks that keep to the rules ---- */

/*
 * All give and want: i32, f16, clamped u8; one gives to all; nobody has anything. Where blocks are
 * long, all give and want block floats, too, of 8 and of 4 bits.
 */
enum kind { SUMS, HALVES, CLAMPED, MOVED, EMPTY, SHORT_KINDS, BLOCKS_8 = SHORT_KINDS, BLOCKS_4,
	    KINDS };

/* The operations of an epoch. */
struct plan {
	u32 size;
	u64 start;		/* first block */
	u32 opseq;		/* first operation */
	u16 block;
	u64 leave;		/* the block at which all leave, valid with `leaves` */
	bool leaves;
};

void rank_plan(const struct plan *plan, u32 rank, u64 q, struct netinc_pkt *pkt, u8 *data);
/* What the ranks of @ranks amount to: payload for the parent (@up), or the result. Its length. */
u16 rank_expected(const struct plan *plan, u32 ranks, u64 q, bool up, u8 *data);

void rank_start(const u32 *at);
/* Rank @i does what is next; at most @blocks blocks leave. */
void rank_turn(u32 i, u32 blocks, bool probe);
void rank_receives(u32 i, const struct frame *f);
/* Everybody goes on until nothing is left to do; then all are silent, and the groups end. */
void rank_finish(bool leaves);
/* Plan of node @n in its epoch. */
struct plan rank_plan_of(const struct node *n);

#endif
