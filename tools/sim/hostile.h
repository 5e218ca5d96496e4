/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Those who lie, in a share of the runs:
 *
 *	ranks		members with valid cookies. The endpoint of such a rank is the engine's;
 *			what it says is changed, held back or said again on its way out, and more
 *			is said besides (hostile_rank.c, hostile_join.c)
 *	nodes		what one says, with valid cookies, is changed likewise (hostile_node.c); in
 *			a tree also to the nodes below it, and to the one above (hostile_tree.c)
 *	roots		hosts at which trees have their roots when the group has gone to the edge:
 *			what such a root says is changed as a node's is. Only the blocks of
 *			its own tree may be wrong then
 *	a stranger	sends, from others' addresses or its own, without cookies, what has gone by
 *			in an earlier round, or guesses (stranger.c)
 *
 * Ranks and strangers also say things about other groups that the same node serves
 * (hostile_others.c): nothing at all may come of these (others.c).
 *
 * Nobody lies when all must go well again (plan.calm). From then on a rank that has lied is honest
 * or silent, and a node that has lied is silent.
 *
 * What must hold for the others is in verify.c. Lies are told by the help of random numbers of
 * their own: they are not the network's.
 */
#ifndef INC_SIM_HOSTILE_H
#define INC_SIM_HOSTILE_H

#include "engine/endpoint.h"

#define HOSTILE_RANK		1u
#define HOSTILE_NODE		2u
#define HOSTILE_STRANGER	4u
#define HOSTILE_ROOT		8u
#define HOSTILE_ALL		15u

#define HOSTILE_HEARD		16	/* of a kind, which are remembered to be said again */
#define HOSTILE_JOINS		8	/* JOINs that wait for their challenge */

/* What is lied about, and how; a run has some of them. Those of ranks, then those of nodes. */
enum trick {
	TRICK_FLAGS,
	TRICK_SPAN,
	TRICK_OPSEQ,
	TRICK_SIG,
	TRICK_TYPE,		/* type, operation, mode */
	TRICK_PAYLOAD,		/* one more, none, or of another length */
	TRICK_DESC,
	TRICK_PSN,
	TRICK_ECE,
	TRICK_DROP,		/* not said at all */
	TRICK_AGAIN,		/* said twice, or what was said earlier once more */
	TRICK_AHEAD,		/* contributions to blocks that nobody has contributed to */
	TRICK_PROBE,
	TRICK_JOIN,
	TRICK_STEAL,		/* JOIN with others' numbers */
	TRICK_ABORT,
	TRICK_LEAVE,
	TRICK_MOVE,
	TRICK_OTHERS,		/* says things about groups that it is no member of */
	TRICK_FOUND,		/* makes groups of its own, which nobody else joins */
	TRICK_BODY,		/* any bits of what is in control packets */
	TRICK_READY,
	TRICK_ERROR,
	TRICK_STATUS,		/* STATUS, NACK, PARTIAL, WAIT */
	TRICK_EPOCH,		/* of another epoch, run or tree */
	TRICK_MUTE,		/* says nothing at all for a while */
	TRICK_RESULT,		/* of another block or operation, or with other elements */
	TRICK_COUNT
};

/* Kinds of datagrams that are remembered: not all of them are of the kind that most are. */
enum heard_kind {
	HEARD_PROOF,		/* JOIN that answers a challenge */
	HEARD_CHALLENGE,
	HEARD_READY,
	HEARD_RESULT,
	HEARD_OTHER,
	HEARD_KINDS
};

struct plan_hostile {
	u32 who;		/* HOSTILE_* */
	u32 ranks;		/* bits of those that lie */
	/* bits of nodes that lie: of the node and its standby nodes, or of those of a tree */
	u32 places;
	u32 roots;		/* bits of hosts whose roots of trees lie */
	u32 tricks;		/* bits of enum trick */
	u32 rate;		/* of 1000 packets, about so many are lies */
	u32 pause;		/* microseconds between lies without an occasion, about */
	u32 lies;		/* at most; then all are honest */
	bool honest;		/* ranks are honest afterwards, not silent */
};

struct dgram;
struct frame;
struct host;
struct node;
struct node_group;
struct sim;
struct sim_op;
struct netinc_block;

/* A JOIN that has been sent without challenge. */
struct hostile_join {
	u32 group;
	u32 child;
	u32 answers;		/* to challenges */
	struct inc_join body;
};

struct heard {
	struct dgram *d;
	u32 from, to, net;
	u32 round;
	u32 generation;		/* of the group at the place that it was for */
};

struct hostile {
	u64 random;
	u32 lies;		/* so far */
	struct heard heard[HEARD_KINDS][HOSTILE_HEARD];
	u32 nheard[HEARD_KINDS];
	struct hostile_join join[HOSTILE_JOINS];
	u32 njoins;
};

/* hostile.c */
/* @who: HOSTILE_*, or ~0: as the seed says */
void hostile_pick(struct sim *sim, u32 who);
/* Ranks and nodes that are no more. */
void hostile_fit(struct sim *sim);
void hostile_print(const struct sim *sim);
/* A round begins. */
void hostile_start(struct sim *sim);
/* Somebody speaks without an occasion: the rank with that number, a node, the stranger. */
void hostile_event(struct sim *sim, u32 who);
/* All honest ranks are done. */
void hostile_end(struct sim *sim);
void hostile_free(struct sim *sim);
/* How much longer than without lies all may take: microseconds. */
u64 hostile_bound(const struct sim *sim);
bool hostile_is_rank(const struct sim *sim, u32 rank);
bool hostile_is_place(const struct sim *sim, u32 place);
/* Nobody lies but roots of trees. */
bool hostile_only_roots(const struct sim *sim);
/* Members or nodes lie: an operation may fail for any reason. */
bool hostile_members(const struct sim *sim);
bool hostile_nodes(const struct sim *sim);
/* May it lie once more, and does it now? @per_mille: times of 1000 */
bool hostile_lies(struct sim *sim, u32 per_mille);
bool hostile_can(const struct sim *sim, enum trick trick);
u64 hostile_random(struct sim *sim);
u64 hostile_below(struct sim *sim, u64 limit);
/* A number near @n, or any. */
u32 hostile_near(struct sim *sim, u32 n);
/* Remembers what is under way. */
void hostile_hear(struct sim *sim, u32 from, u32 to, u32 net, struct dgram *d);
/* One that was heard before @round; NULL: none. */
const struct heard *hostile_heard(struct sim *sim, u32 round);
/* Changes the header of a data packet, and what follows it; tells whether it has done so. */
bool hostile_change(struct sim *sim, struct netinc_pkt *pkt);
/* Changes bits of a control packet's body, numbers of it rather than all of it. */
void hostile_scribble(struct sim *sim, u8 *body, u32 len);
/* The same datagram with this header; its body is cut or gets longer. */
struct dgram *hostile_rebuild(struct sim *sim, const struct dgram *d, const struct netinc_pkt *pkt);

/* hostile_rank.c */
/* @n datagrams are to leave: sends what leaves instead, and takes the references. */
void hostile_rank_send(struct host *h, u32 to, u32 net, struct dgram **d, u32 n);
void hostile_rank_now(struct host *h);

/* hostile_join.c */
void hostile_join(struct host *h);
/* To make a group of which it is the only member. */
void hostile_found(struct host *h);
/* As rank @child of @group, which it is not. */
void hostile_intrude(struct host *h, u32 group, u32 child, u32 size);
/* The answer to a JOIN that was sent besides the endpoint's? */
bool hostile_join_rx(struct host *h, const struct netinc_pkt *pkt, const void *body);

/* hostile_node.c */
void hostile_node_send(struct node *n, u32 to, u32 net, struct dgram **d, u32 count);
void hostile_node_now(struct node *n);

/* hostile_tree.c */
/* Something to a node below @n, or to the one above it. */
void hostile_tree_now(struct node *n);

/* hostile_others.c */
/* Says something about another group, as a member of the one that is looked at. */
void hostile_others(struct host *h);
/* What comes for a group that it is no member of. */
void hostile_others_rx(struct host *h, const struct frame *f);
/* Likewise, from whatever address, to the node or to a rank of that group. */
void stranger_others(struct sim *sim);

/* stranger.c */
void stranger_now(struct sim *sim);

/* verify.c */
/* A contribution of block @idx leaves: it is what the application gave. */
void verify_sent(struct host *h, struct sim_op *o, u64 idx, const struct netinc_block *b,
		 const struct netinc_pkt *pkt, const u8 *data);
/* Block @idx gets this result. */
void verify_delivered(struct host *h, struct sim_op *o, u64 idx, const struct netinc_pay *pay);
/* The operation is done; of what has come from who does not lie all is right. */
void verify_done(struct host *h, struct sim_op *o);
/* All contributions to @slot are in, and are folded next: do the slot and they say the same? */
void verify_slot(struct node *n, const struct netinc_agg *agg, const struct netinc_slot *slot);
/* A frame begins: what its group has said so far. And it ends: how much more has it said? */
void verify_answers_begin(struct node *n, const struct netinc_group *g);
void verify_answers_end(const struct node *n, const struct netinc_group *g);
void verify_free(struct sim *sim, struct sim_op *o);

#endif
