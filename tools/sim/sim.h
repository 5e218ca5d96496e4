/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A simulated system: ranks, a node, others to move to, and the network between them, around the
 * very engine that the kernel runs. One seed is one run: parameters, operations, faults and every
 * decision of the network come from it.
 *
 *	main.c	options, what is printed
 *	run.c	one seed: one run
 *	workers.c	many seeds, in several processes
 *	shrink.c	makes a run that fails smaller
 *	plan.c	what a seed stands for: parameters, the network, faults
 *	trouble.c	likewise: what befalls nodes and the ways to them, and when all must go well
 *	tree.c	likewise: trees of nodes
 *	override.c	what is changed in that
 *	ops.c	likewise: operations, counts and displacements, input
 *	net.c	virtual time, events, frames, what the network does to them
 *	node.c	what the kernel's glue does at a node: groups, what they are told
 *	node_out.c	and what they hold, fold and say
 *	node_up.c	and, in trees, what they say to nodes above, and hear from them
 *	host.c	what the kernel's glue does at a host, and the application there
 *	buffer.c	the buffers of an operation at a host, and the fold of scans
 *	counts.c	the exchange of counts before an operation
 *	reference.c	what every collective is to give, the plain way
 *	arithmetic.c	inc-coll's arithmetic, for the reference
 *	hostile.h	ranks, nodes and strangers that lie, and what must hold even so
 *	others.c	groups that the same node serves, and to which nothing may happen
 *	check.c	what must hold: results as the reference says, the invariant, outcomes, memory
 *	large/	another simulator, of thousands of ranks: see there
 */
#ifndef INC_SIM_H
#define INC_SIM_H

#include <setjmp.h>
#include <stdio.h>

#include "engine/endpoint.h"
#include "engine/group.h"
#include "hostile.h"

#define SIM_MAX_HOSTS	16
#define SIM_MAX_OPS	40
#define SIM_MAX_ROUNDS	2
#define SIM_MAX_JOBS	64u
#define SIM_MAX_SPARED	64
#define SIM_MAX_OVERRIDES 256
#define SIM_MAX_OTHERS	2
#define SIM_GROUP	0xabcd0123u	/* other groups have the next numbers */
#define SIM_SEC		1000000ull
#define SIM_NODE	SIM_MAX_HOSTS	/* the node's number as an address; standby nodes follow */
#define SIM_MAX_NODES	6
#define SIM_MAX_STANDBYS 2
#define SIM_DELIVERED	1024	/* blocks whose results are remembered, more than two windows */
/* the place at rank 0's host, whose address is 0; trees at the others follow */
#define SIM_EDGE	SIM_MAX_NODES
#define SIM_PLACES	(SIM_MAX_NODES + SIM_MAX_HOSTS)
#define SIM_ADDRS	(SIM_MAX_HOSTS + SIM_MAX_NODES)
#define SIM_MANY	SIM_ADDRS	/* all hosts that are in a node's multicast group */
#define SIM_MAX_TROUBLES 3
#define SIM_STRANGER	255		/* in events: he has no address */

/* One datagram, shared by whoever holds it. */
struct dgram {
	u32 refs;
	u32 len;
	u8 data[];
};

/* What the network carries at once: one datagram, or several as one super-packet. */
struct frame {
	u32 from;
	u32 to;
	u32 net;		/* that it travels through */
	bool many;		/* sent to a multicast group, of which this is one's copy */
	u32 n;
	struct dgram *d[];
};

enum event_type {
	EV_FRAME, EV_HOST_TIMER, EV_HOST_APP, EV_HOST_PUMP, EV_NODE_TICK, EV_FAULT, EV_TROUBLE,
	EV_HOSTILE
};

struct event {
	u64 at;
	u64 serial;
	struct frame *frame;
	u8 type;
	u8 who;
	u8 round;
};

enum fault {
	FAULT_NONE,
	FAULT_PAUSE,		/* a rank's host stands still, shorter than the dead limit */
	FAULT_FREEZE,		/* for ever */
	FAULT_KILL,		/* ABORT, then silence */
	FAULT_BUFFER,		/* ABORT until the error comes down */
	FAULT_NODE_SILENT,
	FAULT_NODE_FORGETS,	/* the node's box restarts */
	FAULT_NODE_REMOVED,	/* by its administrator */
	FAULT_LEAVES,		/* a rank leaves before the others are through */
	FAULT_PATH,		/* a host's link loses blocks, up, down or both, nothing else */
	FAULT_COUNT
};

/* What befalls a place, or the way to it; from SIM_EDGE only TROUBLE_CUT. */
enum trouble_kind {
	TROUBLE_NONE,
	TROUBLE_SILENT,		/* the node neither hears nor says anything */
	TROUBLE_RESTART,	/* likewise, and it has forgotten all */
	TROUBLE_REMOVED,	/* its administrator removes it, and adds it again */
	TROUBLE_CUT,		/* one host does not reach it, and is not reached by it */
	TROUBLE_LINK,		/* one host is off its network, others' addresses there included */
	TROUBLE_NET,		/* nobody reaches anybody through its network */
	TROUBLE_PORT,		/* one host's packets come to it by another port */
	TROUBLE_COUNT
};

/* From when on a time counts: what is rare when it comes at a random time can be aimed at. */
enum when {
	WHEN_ROUND,		/* the round begins */
	WHEN_FORMED,		/* a node begins an epoch */
	WHEN_ERROR,		/* a node says that operations fail */
	WHEN_DONE,		/* a rank is done with an operation */
	WHEN_MOVE,		/* a rank begins to move */
	WHEN_MOVED,		/* a node begins an epoch of a group that has moved */
	WHEN_LEAVE,		/* a rank leaves */
	WHEN_COUNT
};

struct trouble {
	u32 kind;		/* enum trouble_kind */
	u32 place;		/* 0: the node, then standby nodes; SIM_EDGE */
	u32 host;		/* TROUBLE_CUT, TROUBLE_LINK, TROUBLE_PORT */
	u32 when;		/* enum when, the first time that it happens */
	u64 at;			/* after that */
	u64 lasts;		/* 0: for ever */
};

/* One operation. */
struct plan_op {
	u8 coll;
	u8 type;
	u8 op;
	u8 mode;		/* INC_MODE_COUNTS or 0 */
	bool in_place;		/* where that is allowed */
	bool displaced;		/* INC_MODE_COUNTS: shares have gaps, and another order */
	u32 root;
	u64 count;		/* elements of a share; INC_MODE_COUNTS: the most that one has */
	u64 salt;		/* of counts and displacements */
};

enum disagree {
	AGREE,
	DIFFER,			/* the odd rank's descriptor is another one: INC_ERR_MISMATCH */
	CONTRADICT,		/* it has another count than its peer: INC_ERR_COUNTS */
};

/* What the ranks do at one place of their sequence: `op`, the odd one perhaps something else. */
struct plan_step {
	struct plan_op op, odd;
	u8 disagree;		/* enum disagree */
	u32 odd_rank;
	u32 odd_count;		/* which count it has one higher, NO_COUNT: none */
	u32 odd_less;		/* and one lower, if it is not 0: the sum is the same */
};

#define NO_COUNT	(~0u)

/* Where the shares of a buffer begin, by rank, and how long it is: elements. */
struct layout {
	u64 at[SIM_MAX_HOSTS];
	u64 length;
};

/* One life of the group. */
struct plan_round {
	u32 nops;
	enum fault fault;
	u32 victim;
	u32 leave_after;	/* FAULT_LEAVES: operations that the victim takes part in */
	u32 fault_when;		/* enum when */
	u64 fault_at;		/* after that */
	u32 fault_node;		/* FAULT_NODE_*: which node of a tree */
	u64 pause;
	struct trouble trouble[SIM_MAX_TROUBLES];
	struct plan_step step[SIM_MAX_OPS];
};

/* Nodes below nodes. */
struct plan_tree {
	u32 nodes;		/* 0: there is one node, and no tree */
	u32 parent[SIM_MAX_NODES];	/* a lower number; node 0 has none */
	u32 at[SIM_MAX_HOSTS];	/* the node that each rank joins in the first round */
	u32 shift;		/* in the next one it is as many further */
	u32 narrow[SIM_MAX_NODES];	/* its window is so many times half the largest */
	u32 block[SIM_MAX_NODES];	/* bytes of payload that its way to the parent carries */
	u32 asks;		/* bit i: rank i asks for INC_ORDER_CANONICAL */
};

struct plan {
	u32 hosts, window, rounds, dead_ms;
	u32 late_ms;	/* 0: all are waited for; else policy `partial` after so long */
	u32 block[SIM_MAX_HOSTS], super_packet;
	bool gso;
	u64 first_block;
	u64 hold_limit;

	/* the network: probabilities are per 1000, times in microseconds */
	u32 loss, burst, duplicate, reorder, corrupt;
	u32 base_delay, jitter, late_delay;
	u32 fail_hold, fail_fold, fail_deliver, fail_send;
	u64 calm;		/* from then on nothing goes wrong any more */
	u32 mishaps;		/* nor when so many things have gone wrong */
	u32 spared[SIM_MAX_SPARED];	/* and these do not, counted from 0 */
	u32 nspared;

	u32 inflight;		/* operations that a rank submits ahead */
	u32 think;		/* longest pause of an application between operations */
	u32 start[SIM_MAX_HOSTS];

	u32 fallback;		/* enum inc_fallback */
	u32 standbys;
	bool networks;		/* every node has a network of its own */
	u32 others;		/* groups that the node serves besides */
	/* results by multicast; bits of hosts that cannot join, and of those it does not reach */
	bool multicast;
	u32 unable, deaf;
	u64 deaf_at;		/* from then on */
	struct plan_tree tree;
	struct plan_hostile hostile;
	struct plan_round round[SIM_MAX_ROUNDS];
};

/* One operation of an endpoint, with its buffers. */
struct sim_op {
	struct netinc_op op;
	struct app_op *app;	/* NULL: LEAVE */
	u32 elem_size;
	u8 *send;		/* the same as recv where in place */
	u8 *recv;
	u8 *chain;		/* scan, exscan: the elements of all ranks before this one */
	u8 *seen;		/* [seen_blocks]: this block's result is here */
	u32 *absent;		/* likewise: bits of the ranks that are not in it */
	u64 seen_blocks;
	u64 got;		/* elements, with results */
	u32 *counts;
	u64 *before;
	struct layout send_at, recv_at;
	u64 send_gone, recv_gone;	/* elements of the streams whose memory has been unpinned */
	bool touched;		/* something of it has been sent or has come: */
	u64 first;		/* its first block was this one then */
	struct dgram **result;	/* [seen_blocks], where somebody lies: what has come */
};

/* One operation of an application; an exchange of counts precedes it where they are not known. */
struct app_op {
	u32 idx;
	bool done;
	struct sim_op *exchange;
	struct sim_op *main;	/* NULL: not submitted */
};

struct host {
	struct netinc_ep ep;
	struct sim *sim;
	u32 rank;
	bool gone;		/* frozen or killed: does nothing any more */
	bool frozen;		/* its whole box */
	bool narrow_up;		/* its link carries no blocks */
	bool narrow_down;
	bool leaving;
	bool finished;		/* with this round */
	u64 paused_until;
	u64 timer_at;		/* of the earliest EV_HOST_TIMER queued, 0: none */
	u64 finished_at;
	u64 lost_at;		/* time at which it began to move, 0: it does not */
	u64 high;		/* one past the highest block whose result came in an older epoch */
	u32 retained;		/* datagrams */
	struct netinc_peer parent;
	u32 inflight;
	u32 next;		/* operation to submit */
	u32 done;
	u64 next_block;		/* of the result that is taken in: deliver() is for it, or later */
	struct sim_op leave;
	struct app_op op[SIM_MAX_OPS];
};

/* What all groups at one place have in common. */
struct box {
	struct node_group *groups;
	u64 secret[2];
};

/*
 * Where groups are: the node, a standby node, the edge. The node serves other groups too: each has
 * one of these with what is its own, as limits are, and the box is the same.
 */
struct node {
	struct sim *sim;
	struct box *box;
	u32 place;
	u32 addr;
	bool silent;
	bool mute;		/* likewise, for a while */
	u32 generation;		/* counts groups that formed and groups that went */
	u64 held;		/* bytes */
	u64 folds;
	u64 said[3];		/* by the group of the frame at hand: verify_answers_begin() */
	/* by address, or SIM_MANY, as are the next three */
	struct dgram **out[SIM_ADDRS + 1];
	u32 nout[SIM_ADDRS + 1];
	u32 cap[SIM_ADDRS + 1];
	/* results without elements, to leave as one; type 0: none */
	struct netinc_pkt run[SIM_ADDRS + 1];
	/* by address */
	u32 net[SIM_ADDRS];	/* through which a host has been heard last */
};

/* How an operation ended at the first rank for which it did, and what the reference keeps of it. */
struct outcome {
	bool known;
	struct netinc_error error;
	u32 absent;		/* bits of the ranks that are not in all of the result */
	u8 *input[SIM_MAX_HOSTS];	/* send buffers as they were */
	u8 *fold[SIM_MAX_HOSTS];	/* of ranks 0 .. i */
};

/* Numbers of a plan that can be set: override.c has their names. */
enum set {
	SET_HOSTS, SET_WINDOW, SET_DEAD, SET_SUPER_PACKET, SET_GSO, SET_FIRST_BLOCK,
	SET_HOLD_LIMIT, SET_LOSS, SET_BURST, SET_DUPLICATE, SET_REORDER, SET_CORRUPT, SET_DELAY,
	SET_JITTER, SET_LATE, SET_FAIL_HOLD, SET_FAIL_FOLD, SET_FAIL_DELIVER, SET_FAIL_SEND,
	SET_CALM, SET_MISHAPS, SET_INFLIGHT, SET_THINK,
	SET_BLOCK,		/* of all ranks */
	SET_START,		/* likewise */
	SET_DICE,		/* other random decisions after the plan has been made */
	SET_SPARE,		/* this mishap does not happen; several may be given */
	SET_ONLY,		/* of the rounds, only this one */
	SET_FALLBACK, SET_STANDBYS, SET_NETWORKS,
	SET_LATE_MS,
	SET_TREE,		/* nodes of the tree, 0: none */
	SET_SHIFT,
	SET_ASKS,
	SET_AT,			/* all ranks are at this one */
	SET_FAULT, SET_VICTIM, SET_LEAVE_AFTER, SET_FAULT_AT, SET_FAULT_WHEN, SET_PAUSE,
	SET_FAULT_NODE,
	SET_TROUBLE, SET_TROUBLE_PLACE, SET_TROUBLE_HOST, SET_TROUBLE_WHEN, SET_TROUBLE_AT,
	SET_TROUBLE_LASTS,
	SET_MULTICAST, SET_UNABLE, SET_DEAF, SET_DEAF_AT,
	SET_OTHERS, SET_HOSTILE, SET_HOSTILE_RANKS, SET_HOSTILE_PLACES, SET_HOSTILE_ROOTS,
	SET_TRICKS, SET_LIE_RATE,
	SET_LIE_PAUSE, SET_LIES, SET_HONEST,
	SET_DROP,		/* the operation is left out */
	SET_COUNT, SET_AGREE, SET_IN_PLACE, SET_DISPLACED,
	__SET_MAX
};

/* Rounds and steps are numbered as the seed has them, whatever else is left out. */
struct override {
	u8 field;		/* enum set */
	u8 round;
	u8 step;
	u64 value;
};

static inline struct override override_of(u8 field, u32 round, u32 step, u64 value)
{
	return (struct override) { .field = field, .round = round, .step = step, .value = value };
}

struct overrides {
	u32 n;
	struct override list[SIM_MAX_OVERRIDES];
};

/* What happens to an other group: it is the same, whatever befalls the one that is looked at. */
struct story {
	u64 end;		/* when the last rank is done with everything */
	u64 done[SIM_MAX_HOSTS][SIM_MAX_OPS];
	u64 counters[__INC_C_MAX];
	u64 sent;		/* a hash over all that is sent, and when */
	bool over;		/* and its node has forgotten the group */
};

/* The result of a block as the first rank that is honest has it. */
struct delivered {
	u64 lineage;
	u32 epoch, opseq;
	u32 rank;
	bool valid, partial;
	u64 block;
	u64 hash;		/* of its elements */
};

struct sim {
	struct sim *main;	/* whose node serves this group; NULL: it has its own */
	struct sim *other[SIM_MAX_OTHERS];
	u32 group;		/* its number */
	struct story story;
	struct story alone[SIM_MAX_OTHERS];
	u32 served;		/* other groups, to which nothing has happened */
	u64 seed;
	u64 random;
	bool trace;
	u64 now;
	u64 serial;
	struct event *heap;
	u32 events, heap_cap;
	u64 steps;
	u32 mishaps;		/* that happened or were spared */
	u32 happened;
	const char *failure;	/* format of the message: how it failed, whatever the numbers are */
	u64 live;		/* datagrams */
	u64 arrival[SIM_ADDRS][SIM_ADDRS];
	u32 burst_left;		/* frames */
	u64 burst_end;
	u32 round;
	u64 round_begin;
	struct plan plan;
	struct node node[SIM_PLACES];
	struct box box[SIM_PLACES];
	u64 edge_lineage;	/* of the group that host 0 is in */
	u32 edge_epoch;		/* the first one at the edge, 0: there has been none */
	struct netinc_spread edge_spread;	/* and its trees */
	bool ongoing[SIM_MAX_TROUBLES];
	bool happened_yet[WHEN_COUNT];
	u64 fault_time;		/* 0: it has not happened */
	u64 trouble_end;	/* of the last one that has begun */
	bool troubled;		/* in this round */
	bool formed;		/* all ranks had the plan before that */
	bool patience_ended;
	u64 true_blocks;	/* right, while roots of other trees lie */
	u32 rounds_troubled, rounds_harmless, trees, returns;
	u32 rounds_deep;	/* with a tree of nodes */
	struct host host[SIM_MAX_HOSTS];
	struct outcome outcome[SIM_MAX_OPS];
	struct delivered delivered[SIM_DELIVERED];
	u64 totals[__INC_C_MAX];	/* of engine objects that are no more */
	struct hostile hostile;
	bool hostile_over;	/* all honest ranks are done with this round */
	jmp_buf *bail;
};

struct options {
	const char *program;
	u64 seed, runs, keep_going, jobs;
	double limit;		/* seconds, 0: none */
	double progress;	/* seconds between lines, 0: none */
	double shrink;		/* million events, 0: do not */
	bool trace;
	struct overrides overrides;
};

/* What many runs did. */
struct totals {
	u64 runs, steps;
	u64 troubled, harmless;	/* rounds in which nodes were lost, and that had to go well */
	u64 trees;		/* at the edge, but for each first one */
	u64 returns;		/* of groups to the tree of nodes that they formed over */
	u64 deep;		/* lives of groups that several nodes serve */
	u64 hostile, lies;	/* runs in which somebody lies, and how often */
	u64 served;		/* other groups at the same node */
	u64 true_blocks;
	u64 failed, first;	/* how many, and the first of them */
	u64 counters[__INC_C_MAX];
};

/* main.c */
void print_replay(FILE *to, const struct options *o, u64 seed, const struct overrides *overrides);
double seconds(void);

/* workers.c */
/* Runs the seeds. */
void run_seeds(const struct options *o, struct totals *totals);

/* shrink.c */
/* Makes the seed's run smaller and prints it. */
void shrink(const struct options *o, u64 seed);

/* run.c */
/* False: it has failed, and said why; memory of the run is lost then. */
bool run_seed(struct sim *sim, u64 seed, const struct overrides *overrides, bool trace);
void run_clean(struct sim *sim);
bool run_all_finished(const struct sim *sim);
u64 run_deadline(const struct sim *sim);
__attribute__((noreturn, format(printf, 2, 3)))
void sim_fail(struct sim *sim, const char *fmt, ...);
__attribute__((format(printf, 2, 3)))
void sim_trace(struct sim *sim, const char *fmt, ...);

static inline u64 sim_random(struct sim *sim)
{
	u64 z = sim->random += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static inline u64 sim_below(struct sim *sim, u64 limit)
{
	return limit ? sim_random(sim) % limit : 0;
}

/* Has it to happen? Counts mishaps. */
bool plan_mishap(struct sim *sim);

/* True @per_mille times of 1000 while things may go wrong. 0 takes a random number as well. */
static inline bool sim_happens(struct sim *sim, u32 per_mille)
{
	return sim->now < sim->plan.calm && sim_below(sim, 1000) < per_mille && plan_mishap(sim);
}

static inline const struct plan_step *sim_step_of(const struct sim *sim, u32 idx)
{
	return &sim->plan.round[sim->round].step[idx];
}

/* plan.c */
u64 pick(struct sim *sim, u64 lo, u64 hi);
bool one_in(struct sim *sim, u32 n);
void plan_make(struct sim *sim);
void plan_print(const struct sim *sim);
/* How long nothing is done before the current round begins. */
u64 plan_pause(const struct sim *sim);

/* trouble.c */
void trouble_pick(struct sim *sim, u32 r);
void trouble_print(const struct sim *sim, u32 r);
const char *trouble_when(u32 when);
void trouble_start(struct sim *sim);
/* A rank that cannot join any more is patient for a while. */
void trouble_end_patience(struct sim *sim, u64 from);
/* It begins, or it ends. */
void trouble_event(struct sim *sim, u32 i, bool end);
/* Is one of this kind going on there? */
bool trouble_at(const struct sim *sim, enum trouble_kind kind, u32 place);
/* Can a frame travel? */
bool trouble_reaches(const struct sim *sim, u32 from, u32 to, u32 net);
u32 trouble_net(const struct sim *sim, u32 place);
struct netinc_peer trouble_peer(u32 addr, u32 net);
/* The same as the node at @place sees it, by which port it comes included. */
struct netinc_peer trouble_peer_at(const struct sim *sim, u32 place, u32 addr, u32 net);
/* What some troubles and faults wait for. */
void trouble_now(struct sim *sim, enum when what);
/* Nothing else happens than that a node is lost, all hear of it, and the next place is there. */
bool trouble_single(const struct sim *sim);
/* Whatever happens in this round, all operations have to succeed about which ranks agree. */
bool trouble_harmless(const struct sim *sim);

/* tree.c */
void tree_pick(struct sim *sim);
/* Once the rest of the plan is settled: what does not go together. */
void tree_fit(struct sim *sim);
void tree_print(const struct sim *sim);
/* The node that @rank joins in this round. */
u32 tree_at(const struct sim *sim, u32 rank);
u32 tree_node_window(const struct sim *sim, u32 node);
/* Bits of the ranks that are at or below @node. */
u32 tree_ranks(const struct sim *sim, u32 node);
/* The lowest node that all ranks are below. */
u32 tree_root(const struct sim *sim);
/* Does the group need it? */
bool tree_uses(const struct sim *sim, u32 node);
/* Do several nodes serve the group? */
bool tree_is_deep(const struct sim *sim);
/* Most blocks that all who are needed have slots for. */
u32 tree_window(const struct sim *sim);
/* Is @addr that of the parent of @node? */
bool tree_is_parent(const struct sim *sim, u32 node, u32 addr);
/* The node below @node that @rank is below, 0: it is at @node itself, or elsewhere. */
u32 tree_child_of(const struct sim *sim, u32 node, u32 rank);

/* override.c */
/* name[.round[.step]]=value, several with commas between them; false: no sense, or too many. */
bool override_parse(struct overrides *o, const char *text);
/* Adds it, or replaces its value; false: there is no room. */
bool override_set(struct overrides *o, struct override what);
bool override_has(const struct overrides *o, struct override what);
/* The value that @field has; ~0: none. */
u64 override_get(const struct overrides *o, u8 field);
void override_print(FILE *to, const struct overrides *o);
void override_names(FILE *to);
/* Changes the plan that has just been made. */
void override_apply(struct sim *sim, const struct overrides *o);

/* ops.c */
void plan_steps(struct sim *sim, struct plan_step *steps, u32 n, u32 odd);
void plan_print_step(const struct plan_step *s);
/* Operation @idx of the round as @rank sees it, in place where it may be; without counts. */
struct plan_op plan_op_of(const struct sim *sim, u32 idx, u32 rank);
/* Does an element of it fit into blocks of @block bytes, on all its way? */
bool plan_op_fits(const struct plan_op *o, u32 block);
bool plan_has_counts(const struct plan_op *o);
/* Has it an exchange of counts? */
bool plan_asks_counts(const struct plan_op *o);
/* Elements of share @i as @rank sees it; alltoall: of share from * size + to. */
u64 plan_count(const struct sim *sim, u32 idx, u32 rank, u32 i);
/* Where the shares that @rank sends and gets lie. */
void plan_layouts(const struct sim *sim, u32 idx, u32 rank, struct layout *send,
		  struct layout *recv);
/* The buffer that @rank contributes from, as it was at first; kept until the round is over. */
const u8 *plan_input(struct sim *sim, u32 idx, u32 rank);
/* How many blocks operations of this round have, about: rather too many. */
u64 plan_blocks(const struct sim *sim);

/* buffer.c */
struct sim_op *buffer_new(struct sim *sim, struct app_op *a, u32 rank);
/* The exchange of counts: rank i tells counts[i] numbers; in place, in the order of ranks. */
struct sim_op *buffer_new_exchange(struct sim *sim, struct app_op *a, u32 rank, const u32 *counts);
void buffer_free(struct sim *sim, struct sim_op *o);
/* What block @b contributes. */
const u8 *buffer_out(struct sim *sim, const struct sim_op *o, const struct netinc_block *b);
/* Block @b has its result. */
void buffer_in(struct sim *sim, struct sim_op *o, const struct netinc_block *b, const u8 *data);
/* As host/pin.c does: the memory of what is done is unpinned. */
void buffer_progress(struct host *h);
/* Where the result of block @b is. */
const u8 *buffer_result(struct sim *sim, const struct sim_op *o, const struct netinc_block *b);
/* The share that a rank has for itself, where the network does not bring it. */
void buffer_own_share(struct sim_op *o);
/* The application has its buffers back, and frees them at once. */
void buffer_drop(struct sim_op *o);
/* What a receive buffer holds before. */
void buffer_poison(u8 *data, u64 bytes);

/* counts.c */
/* The operation that exchanges them, with what this rank knows. */
struct sim_op *counts_exchange(struct sim *sim, struct app_op *a, u32 rank);
/* They are here: fill in the operation's counts, or its error. */
void counts_exchanged(struct app_op *a);

/* reference.c */
/*
 * What the receive buffer of @rank holds after operation @idx, @bytes long, if all its bytes were
 * XORed with @flip before; allocated. @absent: bits of ranks whose contributions are not in it
 * (allreduce, reduce, reduce-scatter).
 */
/* Does the result depend on the order in which it is folded? */
bool reference_is_ordered(const struct plan_op *o);
u8 *reference(struct sim *sim, u32 idx, u32 rank, u8 flip, u32 absent, u64 *bytes);
/* How many elements the results of operation @idx bring to @rank: no more than it needs. */
u64 reference_received(const struct sim *sim, u32 idx, u32 rank);
/* The contradiction that INC_ERR_COUNTS is to name. */
void reference_contradiction(const struct sim *sim, u32 idx, u32 rank[2]);
void reference_free(struct outcome *o);

/* net.c */
struct dgram *dgram_new(struct sim *sim, u32 len);
struct dgram *dgram_get(struct dgram *d);
void dgram_put(struct sim *sim, struct dgram *d);
/* Header, descriptor (may be NULL) and payload or body, padded. */
/* The elements of a payload: zeros where it has none. */
const u8 *dgram_elements(const struct netinc_pay *pay);
struct dgram *dgram_build(struct sim *sim, const struct netinc_pkt *pkt,
			  const struct inc_desc *desc, const void *body);
void sim_at(struct sim *sim, u64 at, u8 type, u32 who, struct frame *frame);
/* To every host of @n's group that is in its multicast group; takes the references. */
void net_send_many(struct sim *sim, const struct node *from, struct dgram **d, u32 n);
/* Send @n datagrams; takes the references. As super-packets of plan.super_packet if it has them. */
void net_send(struct sim *sim, u32 from, u32 to, u32 net, struct dgram **d, u32 n);
void frame_free(struct sim *sim, struct frame *f);
/* One event; false if there are none. */
bool sim_step(struct sim *sim);
void sim_drop_events(struct sim *sim);

/* others.c */
/* Makes them, and writes down what becomes of each of them alone. */
void others_start(struct sim *sim);
/* The next event, of the group that is looked at or of an other one. */
bool others_step(struct sim *sim);
/* They have gone the same way as they did alone. */
void others_end(struct sim *sim);
void others_print(const struct sim *sim);
/* To whom the group of that number belongs: @sim, or an other one; NULL: nobody. */
struct sim *others_find(struct sim *sim, u32 group);
void others_sent(struct sim *sim, const struct frame *f);
void others_done(struct host *h, u32 idx);

/* node.c */
void node_init(struct sim *sim);
void node_rx(struct node *n, const struct frame *f);
void node_tick(struct node *n);
/* A tree of the group at the edge has its root here. */
void node_plant(struct node *n, const struct netinc_tree_cfg *tree,
		const struct netinc_peer *peers);
/* Its administrator has removed it, and adds it at once. */
void node_remove(struct node *n);
/* Its box has restarted. */
void node_forget(struct node *n);
bool node_has_groups(const struct sim *sim);
void node_free(struct sim *sim);

/* host.c */
void host_start(struct sim *sim, u32 rank);
void host_rx(struct host *h, const struct frame *f);
/* Is it in the multicast group of its node? */
bool host_listens(const struct host *h);
void host_timer(struct host *h);
void host_app(struct host *h);
void host_pump(struct host *h);
void host_fault(struct host *h, enum fault fault);
/* An application that is still joining waits no longer. */
void host_give_up(struct host *h);
void host_free(struct host *h);

/* check.c */
void check_invariant(struct sim *sim, const struct host *h);
void check_op_done(struct host *h, struct app_op *a);
void check_host_finished(struct host *h);
void check_held(const struct node *n);
void check_moved(struct host *h);
void check_round_done(struct sim *sim);

#endif
