/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an allreduce costs at different places of a tree of hosts and nodes, as `inc plan` predicts
 * it. Nothing here asks anybody or prints anything.
 */
#ifndef INC_TOOL_COST_H
#define INC_TOOL_COST_H

#include <stdbool.h>
#include <stdint.h>

#define COST_MAX_PLACES	506	/* 253 nodes and as many hosts */
#define COST_NAME	48	/* a name, or an address */
#define COST_MAX_LEVELS	8	/* of nodes in one group */
#define COST_UNKNOWN	UINT64_MAX
#define COST_MAX_RATE	10000000000000	/* of a link, bits per second */

/* Between a place and the one above it. Others use as much of it in both directions. */
struct cost_link {
	uint64_t rate;		/* bits per second */
	uint64_t delay;		/* microseconds, one way */
	uint64_t used;		/* percent of the rate, 0..99 */
};

struct cost_place {
	char name[COST_NAME];
	bool host;
	int above;		/* index of a node, lower than its own; -1: the first place */
	struct cost_link link;
	/* of a node; COST_UNKNOWN: nobody says */
	uint64_t memory;	/* bytes that it has left */
	uint64_t groups;	/* that it takes yet */
	uint64_t window;	/* blocks; COST_UNKNOWN: the default */
	uint64_t load;		/* per mille of a processor, 0..999 */
};

/* The places in an order in which each one comes behind that above it; the first is a node. */
struct cost_fabric {
	struct cost_place places[COST_MAX_PLACES];
	int n;
};

/* One allreduce of all hosts. */
struct cost_job {
	uint64_t bytes;		/* of the vector, in the type that travels */
	uint64_t element;	/* bytes of that type */
	uint64_t accumulator;	/* bytes of what nodes pass to one another, at least `element` */
};

enum cost_kind {
	COST_TREE,	/* every node that has room reduces what comes from below it */
	COST_NODE,	/* one node reduces for all ranks */
	COST_HOST,	/* rank 0's host does */
	COST_EDGE,	/* hosts reduce, each a share: where groups go that lose their node */
};

/* Why a placement cannot be had. */
enum cost_lack {
	COST_FITS,
	COST_NO_MEMORY,
	COST_NO_GROUP,
	COST_TOO_DEEP,	/* more than COST_MAX_LEVELS */
	COST_NO_ROOT,	/* no node with room is above all hosts */
	COST_NOT_LOST,	/* no group begins there */
};

struct cost_plan {
	enum cost_kind kind;
	int at;			/* the root; COST_HOST, COST_EDGE: the host of rank 0 */
	int nodes;		/* or hosts, that reduce */
	int left_out;		/* COST_TREE: nodes above ranks that have no room */
	enum cost_lack lack;
	int lacks;		/* the first node that has no room; -1: none */
	uint64_t memory;	/* bytes that each of these nodes, or each host, needs */
	/* seconds */
	double alpha;		/* until the first block's result is there */
	double beta;		/* the slowest link's */
	double gamma;		/* the busiest node's processor's */
	double window;		/* what W allows in a round trip */
	double seconds;		/* alpha + the largest of the others */
	/* the slowest link: that from this place upwards */
	int link;
	bool up;
	uint64_t carried;	/* bytes on it in that direction, headers included */
};

void cost_tree(const struct cost_fabric *f, const struct cost_job *job, struct cost_plan *plan);
void cost_node(const struct cost_fabric *f, const struct cost_job *job, int at,
	       struct cost_plan *plan);
void cost_host(const struct cost_fabric *f, const struct cost_job *job, struct cost_plan *plan);
void cost_edge(const struct cost_fabric *f, const struct cost_job *job, struct cost_plan *plan);

/* How many hosts are at or below a place. */
int cost_hosts(const struct cost_fabric *f, int at);

#endif
