/* SPDX-License-Identifier: GPL-2.0-only */
/* What is known of the nodes that `inc topo` finds. */
#ifndef INC_TOOL_TOPO_H
#define INC_TOOL_TOPO_H

#include <linux/inc.h>

#include "ask.h"

#define TOPO_MAX_HOPS	64

enum hop_state {
	HOP_SILENT,	/* no answer */
	HOP_NO_NODE,	/* INC is there, but no node */
	HOP_NODE,	/* a node that does not say what it is */
	HOP_KEY,	/* likewise: it has another key, or asks for tenants */
	HOP_TOLD,
};

struct hop {
	struct ask_target at;
	enum hop_state state;
	uint64_t rtt;		/* microseconds, the shorter of two; 0: no answer */
	struct inc_about about;	/* HOP_TOLD */
	bool load_known;
	uint64_t load;		/* per mille of a processor */
	int parent;		/* its index, -1: none is known */
};

/* topo_ask.c: asks h->at, and fills in the rest but `parent`. @timeout: milliseconds */
void topo_ask(struct hop *h, const unsigned char *key, uint64_t timeout);

/*
 * topo.c: asks @first, or without it what this network namespace has above it, and all nodes from
 * there up to the root; *@found until the next call. Returns 0 or, with the error printed, the exit
 * status.
 */
int topo_find(const struct ask_target *first, const unsigned char *key, uint64_t timeout,
	      const struct hop **found, int *n);

#endif
