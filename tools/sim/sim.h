/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A simulated system: ranks, a node and the network between them, around the very engine that the kernel runs. One
 * seed is one run: parameters, operations, faults and every decision of the network come from it.
 *
 *	main.c	options, many seeds, verdicts
 *	plan.c	what a seed stands for
 *	net.c	virtual time, events, frames, what the network does to them
 *	node.c	what the kernel's glue does at a node
 *	host.c	what the kernel's glue does at a host, and the application there
 *	check.c	what must hold: results against a plain reference, the invariant, outcomes, memory
 */
#ifndef INC_SIM_H
#define INC_SIM_H

#include <setjmp.h>

#include "engine/endpoint.h"
#include "engine/group.h"

#define SIM_MAX_HOSTS	16
#define SIM_MAX_OPS	40
#define SIM_MAX_ROUNDS	2
#define SIM_SEC		1000000ull
#define SIM_NODE	SIM_MAX_HOSTS	/* the node's number as an address */

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
	u32 n;
	struct dgram *d[];
};

enum event_type { EV_FRAME, EV_HOST_TIMER, EV_HOST_APP, EV_HOST_PUMP, EV_NODE_TICK, EV_FAULT };

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
	FAULT_COUNT
};

/* One operation as most ranks see it, and the one rank that sees it differently. */
struct plan_op {
	u8 coll;
	u8 type;
	bool in_place;
	bool mismatch;
	u8 odd_coll;
	u8 odd_type;
	u32 odd_rank;
	u64 count;
	u64 odd_count;
};

struct plan {
	u32 hosts, window, rounds, dead_ms, late_ms;
	u32 block[SIM_MAX_HOSTS], super_packet;
	bool gso;
	u64 first_block;
	u64 hold_limit;

	/* the network: probabilities are per 1000, times in microseconds */
	u32 loss, burst, duplicate, reorder, corrupt;
	u32 base_delay, jitter, late_delay;
	u32 fail_hold, fail_fold, fail_deliver, fail_send;
	u64 calm;		/* from then on nothing goes wrong any more */

	u32 inflight;		/* operations that a rank submits ahead */
	u32 think;		/* longest pause of an application between operations */
	u32 start[SIM_MAX_HOSTS];
	struct {
		u32 nops;
		enum fault fault;
		u32 victim;
		u32 leave_after;	/* FAULT_LEAVES: operations that the victim takes part in */
		u64 fault_at;		/* after the round's begin */
		u64 pause;
		struct plan_op op[SIM_MAX_OPS];
	} round[SIM_MAX_ROUNDS];
};

struct app_op {
	struct netinc_op op;
	u32 idx;
	bool submitted;
	bool done;
	u8 *buf;		/* result; and input where in place */
	u8 *in;
	u8 *seen;		/* per block: its result is here */
};

struct host {
	struct netinc_ep ep;
	struct sim *sim;
	u32 rank;
	bool gone;		/* frozen or killed: does nothing any more */
	bool leaving;
	bool finished;		/* with this round */
	u64 paused_until;
	u64 timer_at;		/* of the earliest EV_HOST_TIMER queued, 0: none */
	u64 finished_at;
	u32 inflight;
	u32 next;		/* operation to submit */
	u32 done;
	struct netinc_op leave;
	struct app_op op[SIM_MAX_OPS];
};

struct node {
	struct sim *sim;
	struct node_group *groups;	/* one that is not over, and those that are */
	bool silent;
	u32 generation;		/* counts groups that formed and groups that went */
	u64 held;		/* bytes */
	u64 secret[2];
	u64 folds;
	struct dgram **out[SIM_MAX_HOSTS];
	u32 nout[SIM_MAX_HOSTS];
	u32 cap[SIM_MAX_HOSTS];
	struct netinc_peer peer[SIM_MAX_HOSTS];
};

/* How an operation ended at the first rank for which it did. */
struct outcome {
	bool known;
	struct netinc_error error;
	u8 *reference;
	u64 bytes;
};

struct sim {
	u64 seed;
	u64 random;
	bool trace;
	u64 now;
	u64 serial;
	struct event *heap;
	u32 events, heap_cap;
	u64 steps;
	u64 live;		/* datagrams */
	u64 arrival[SIM_MAX_HOSTS + 1][SIM_MAX_HOSTS + 1];
	u32 burst_left;		/* frames */
	u64 burst_end;
	u32 round;
	u64 round_begin;
	struct plan plan;
	struct node node;
	struct host host[SIM_MAX_HOSTS];
	struct outcome outcome[SIM_MAX_OPS];
	u64 totals[__INC_C_MAX];	/* of engine objects that are no more */
	jmp_buf *bail;
};

/* main.c */
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

/* True @per_mille times of 1000, as long as things may go wrong. */
static inline bool sim_happens(struct sim *sim, u32 per_mille)
{
	return per_mille && sim->now < sim->plan.calm && sim_below(sim, 1000) < per_mille;
}

/* plan.c */
void plan_make(struct sim *sim);
void plan_print(const struct sim *sim);
/* How long nothing is done before the current round begins. */
u64 plan_pause(const struct sim *sim);
/* The operation @idx of the current round as @rank sees it. */
void plan_op_of(const struct sim *sim, u32 idx, u32 rank, struct netinc_op *op, bool *in_place);
/* Fills @n elements of what @rank contributes to operation @idx. */
void plan_input(const struct sim *sim, u32 idx, u32 rank, u8 type, u8 *buf, u64 n);

/* net.c */
struct dgram *dgram_new(struct sim *sim, u32 len);
struct dgram *dgram_get(struct dgram *d);
void dgram_put(struct sim *sim, struct dgram *d);
/* Header, descriptor (may be NULL) and payload or body, padded. */
struct dgram *dgram_build(struct sim *sim, const struct netinc_pkt *pkt, const struct inc_desc *desc, const void *body);
void sim_at(struct sim *sim, u64 at, u8 type, u32 who, struct frame *frame);
/* Send @n datagrams; takes the references. As super-packets of at most plan.super_packet if the run has them. */
void net_send(struct sim *sim, u32 from, u32 to, struct dgram **d, u32 n);
void frame_free(struct sim *sim, struct frame *f);
/* One event; false if there are none. */
bool sim_step(struct sim *sim);
void sim_drop_events(struct sim *sim);

/* node.c */
void node_init(struct sim *sim);
void node_rx(struct sim *sim, const struct frame *f);
void node_tick(struct sim *sim);
void node_fault(struct sim *sim, enum fault fault);
bool node_has_groups(const struct sim *sim);
void node_free(struct sim *sim);

/* host.c */
void host_start(struct sim *sim, u32 rank);
void host_rx(struct host *h, const struct frame *f);
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
void check_held(struct sim *sim);
void check_round_done(struct sim *sim);

#endif
