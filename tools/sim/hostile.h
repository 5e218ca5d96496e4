/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Those who lie, in a share of the runs:
 *
 *	ranks		members with valid cookies. The endpoint of such a rank is the engine's; what it says is
 *			changed, held back or said again on its way out, and more is said besides (hostile_rank.c,
 *			hostile_join.c)
 *	nodes		what one says, with valid cookies, is changed likewise (hostile_node.c)
 *	a stranger	sends from others' addresses, without cookies, what it has heard in an earlier round, or
 *			guesses (stranger.c)
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
#define HOSTILE_ALL		7u

#define HOSTILE_HEARD		64	/* datagrams that are remembered to be said again */
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
	TRICK_BODY,		/* any bits of what is in control packets */
	TRICK_READY,
	TRICK_ERROR,
	TRICK_STATUS,		/* STATUS, NACK, PARTIAL, WAIT */
	TRICK_RESULT,		/* of another block or operation, or with other elements */
	TRICK_COUNT
};

struct plan_hostile {
	u32 who;		/* HOSTILE_* */
	u32 ranks;		/* bits of those that lie */
	u32 places;		/* bits of nodes that lie, standby nodes included */
	u32 tricks;		/* bits of enum trick */
	u32 rate;		/* of 1000 packets, about so many are lies */
	/* microseconds between lies that nothing is the occasion for, about */
	u32 pause;
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
	u32 child;
	u32 answers;		/* to challenges */
	struct inc_join body;
};

struct hostile {
	u64 random;
	u32 lies;		/* lies */
	struct dgram *heard[HOSTILE_HEARD];
	u32 heard_round[HOSTILE_HEARD];
	u32 heard_generation[HOSTILE_HEARD];	/* of groups at the node */
	u32 nheard;
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
/*
 * Somebody says something that nothing is the occasion for: the rank with that number, a node, the
 * stranger.
 */
void hostile_event(struct sim *sim, u32 who);
/* All honest ranks are done. */
void hostile_end(struct sim *sim);
void hostile_free(struct sim *sim);
/* How much longer than without lies all may take: microseconds. */
u64 hostile_bound(const struct sim *sim);
bool hostile_is_rank(const struct sim *sim, u32 rank);
bool hostile_is_place(const struct sim *sim, u32 place);
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
void hostile_hear(struct sim *sim, struct dgram *d);
/* One that was heard before @round; NULL: none. */
struct dgram *hostile_heard(struct sim *sim, u32 round);
/*
 * Changes the header of a data packet, and what follows it; tells whether something has been
 * changed.
 */
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
/* The answer to a JOIN that was sent besides the endpoint's? */
bool hostile_join_rx(struct host *h, const struct netinc_pkt *pkt, const void *body);

/* hostile_node.c */
void hostile_node_send(struct node *n, u32 to, u32 net, struct dgram **d, u32 count);
void hostile_node_now(struct node *n);

/* stranger.c */
void stranger_now(struct sim *sim);

/* verify.c */
/* A contribution of block @idx leaves: it is what the application gave. */
void verify_sent(struct host *h, struct sim_op *o, u64 idx, const struct netinc_block *b,
		 const struct netinc_pkt *pkt, const u8 *data);
/* Block @idx gets this result. */
void verify_delivered(struct host *h, struct sim_op *o, u64 idx, const struct netinc_pay *pay);
/* The operation is done. */
void verify_done(struct host *h, struct sim_op *o);
/* All contributions to @slot are in, and are folded next: do the slot and they say the same? */
void verify_slot(struct node *n, const struct netinc_agg *agg, const struct netinc_slot *slot);
/*
 * A frame begins: what its group has said so far. And it ends: how much more has the frame made it
 * say?
 */
void verify_answers_begin(struct node *n, const struct netinc_group *g);
void verify_answers_end(const struct node *n, const struct netinc_group *g);
void verify_free(struct sim *sim, struct sim_op *o);

#endif
