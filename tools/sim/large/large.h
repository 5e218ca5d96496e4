/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A large system: thousands of ranks below a tree of nodes, in virtual time, around the engine that
 * the kernel runs. tools/sim/scale calls it and makes a table and a plot of what it prints.
 *
 * Nothing is random and nothing goes wrong but what is asked for, so that each number is the same
 * in every run. Links have a rate and a delay, and carry one packet after the other in each
 * direction; nodes and hosts take no time. Of payload only its length is there, and one number for
 * each block, which nodes add up and ranks compare with what it must be.
 *
 *	main.c	options, what is done in which order, what is printed
 *	sites.c	likewise, where a leaf and what is below it are at another site
 *	tree.c	who is below whom
 *	net.c	time, events, links, what is counted of packets
 *	node.c	what the kernel's glue does at a node
 *	fold.c	likewise, for its aggregator
 *	rank.c	what the kernel's glue does at a host, and the application there
 */
#ifndef INC_LARGE_H
#define INC_LARGE_H

#include "engine/endpoint.h"
#include "engine/group.h"

#define LARGE_GROUP	0x1a26e001u
#define LARGE_ROOT	0u	/* number of the root */
#define LARGE_NOBODY	(~0u)

/* What a contribution or a result holds. */
struct load {
	u32 refs;
	bool has_desc;
	struct inc_desc desc;
	u64 value;
};

struct frame {
	u32 from, to;		/* addresses: nodes have their numbers, ranks those behind them */
	struct netinc_pkt pkt;
	struct load *load;	/* NULL: neither elements nor a descriptor */
	u32 len;		/* of body */
	u8 body[] __attribute__((aligned(8)));
};

struct large;

/* A run of the group at a node. */
struct node_group {
	struct netinc_group g;
	struct large *sys;
	u32 node;
	void *mem;
	struct node_group *next;
};

/* One direction of a link. */
struct link {
	u64 free;		/* ns: it can begin with a packet from then on */
	struct far *far;	/* what it is like, NULL: as all within a site */
};

/* Between sites: one direction, and what has happened there since count_begin(). */
struct far {
	u64 packets, bytes;	/* that were sent, also those that were lost */
	u64 lost;
	u64 overflows;		/* for which there was no room in the queue */
	u64 longest;		/* ns: in the queue */
};

/* What a node or a host has sent and got since the last count_begin(). */
struct traffic {
	u64 packets;
	u64 bytes;
};

struct node {
	u32 parent;		/* LARGE_NOBODY: it is the root */
	u32 children;
	u32 level;		/* the root's: 0 */
	bool silent;
	u64 secret[2];
	struct node_group *groups;
	struct link up, down;	/* to and from the parent */
	struct traffic seen;
};

struct rank {
	struct netinc_ep ep;
	struct large *sys;
	u32 rank;
	u32 node;
	u64 timer_at;		/* ns: of its earliest event queued, 0: there is none */
	struct netinc_op op;
	u64 done_at;		/* ns: the last operation, 0: not yet */
	u64 ended_at;		/* ns: the group has failed here, 0: it has not */
	u64 ready_at;		/* ns: the last READY, 0: none */
	u32 wrong;		/* results that are not the sum */
	struct link up, down;
};

struct large_cfg {
	u32 ranks;
	u32 fan_in;
	u32 window;
	u32 dead_ms;
	u32 block;		/* bytes of payload that a packet carries */
	u64 bytes;		/* of the large operation, a multiple of 8 */
	u32 delay_ns;		/* of a link, one direction */
	u32 mbit;		/* of a link, one direction */
	u32 fail_permille;	/* of the nodes */
	/* between sites; 0 Mbit/s: there is one site */
	u32 far_mbit;
	u32 far_delay_us;	/* one direction */
	u32 far_loss;		/* packets of 10000 */
	u32 far_queue_us;	/* how long packets may wait in front of the link */
	u32 seed;		/* of what is lost */
	u32 ops;		/* large ones, one behind the other */
};

struct event {
	u64 at;			/* ns */
	u64 serial;
	struct frame *frame;	/* NULL: the timer of `who` */
	u32 who;
};

/* What ranks are waited for. */
enum await {
	AWAIT_READY,
	AWAIT_DONE,		/* the operation, without an error */
	AWAIT_ENDED,		/* the group has failed */
};

struct large {
	struct large_cfg cfg;
	u64 now;		/* ns */
	u64 serial;
	struct event *heap;
	u32 events, heap_cap;
	u64 steps;
	u64 loads;
	u32 nodes;
	u32 levels;		/* of nodes */
	u32 nonces;
	u64 random;
	struct far far[2];	/* up and down */
	struct node *node;
	struct rank *rank;
	enum await await;
	u32 waiting;		/* ranks for which that has not come */
	u64 types[__INC_PKT_MAX];	/* packets by type, since count_begin() */
};

/* tree.c */
void tree_make(struct large *sys);
/* Numbers of the nodes that fail: as many as cfg.fail_permille says, spread over all of them. */
u32 tree_failing(const struct large *sys, u32 i);
u32 tree_fails(const struct large *sys);

/* sites.c */
void sites_run(struct large *sys);

/* net.c */
void die(const struct large *sys, const char *fmt, ...);
/* The engine's time. */
static inline u64 engine_now(const struct large *sys)
{
	return 1000000 + sys->now / 1000;
}

struct load *load_new(struct large *sys, u64 value);
void load_put(struct large *sys, struct load *l);
void net_send(struct large *sys, u32 from, u32 to, const struct netinc_pkt *pkt, const void *body,
	      u32 len, struct load *load);
void net_timer(struct large *sys, u64 at, u32 who);
void net_await(struct large *sys, enum await what);
void net_came(struct large *sys, enum await what);
/* Goes on until nobody is waited for. @what: that takes no longer than @limit_ms. */
void net_run(struct large *sys, u64 limit_ms, const char *what);
void net_run_until(struct large *sys, u64 at);
void net_drop(struct large *sys);
void count_begin(struct large *sys);
/* ns that a link takes for so many bytes, and those of a packet with so many behind the header. */
u64 link_time(const struct large *sys, u64 bytes);
u32 packet_bytes(u32 body);
struct netinc_peer peer_of(u32 addr);
u32 addr_of(const struct netinc_peer *peer);

static inline u32 addr_of_rank(const struct large *sys, u32 rank)
{
	return sys->nodes + rank;
}

/* node.c */
void node_start(struct large *sys, u32 i);
void node_rx(struct large *sys, u32 i, const struct frame *f);
void node_tick(struct large *sys, u32 i);
/* Its box has been started anew. */
void node_forget(struct large *sys, u32 i);
struct node_group *node_group_of(struct netinc_group *g);
void node_send(struct node_group *ng, u32 child, const struct netinc_pkt *pkt, const void *body,
	       u32 len);

/* fold.c */
extern const struct netinc_agg_ops fold_ops;

/* rank.c */
void rank_connect(struct large *sys, u32 i);
void rank_submit(struct large *sys, u32 i, u64 bytes);
void rank_rx(struct large *sys, u32 i, const struct frame *f);
void rank_timer(struct large *sys, u32 i);

#endif
