/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Settings that a group is run with: its node's administrator says them when the group forms, READY
 * says them to the ranks, and these bring them along in their JOINs to where the group goes on.
 * They never change for a group.
 */
#ifndef NETINC_ENGINE_SETTINGS_H
#define NETINC_ENGINE_SETTINGS_H

#include "engine.h"

/* Microseconds between the JOINs of a group that forms, of all its ranks together. */
#define NETINC_WAIT_PER_RANK	(10 * NETINC_MS)
/* microseconds between packets of one kind that all ranks of a group repeat at one node, or get */
#define NETINC_TURN		1000u
/* a rank that keeps others waiting for longer is reported */
#define NETINC_LATE_EVENT	(1000 * NETINC_MS)
/* dead limits after which a member that does not join again after an error is given up */
#define NETINC_REJOIN_DEADS	3u
/* ... and a node that does not get over one: later, so that it can say whom it has waited for */
#define NETINC_ERROR_DEADS	4u

struct netinc_settings {
	u32 window;		/* W, blocks; a power of two */
	/* milliseconds of silence after which a member, or the node, is taken for dead */
	u32 dead_ms;
	/* milliseconds that a block waits for a rank until the policy applies, 0: for ever */
	u32 late_ms;
	u8 late_policy;		/* enum inc_late_policy: what happens after late_ms */
	u8 fallback;		/* enum inc_fallback: where the group goes when its node is lost */
	/*
	 * what is not folded for the group: by this node, until the group forms, and then by any
	 * of the tree
	 */
	struct netinc_kinds lacks;
};

/*
 * May a group be run so? INC_LATE_PARTIAL goes with no fallback: whose contributions a result is
 * made of is not retained.
 */
bool netinc_settings_ok(const struct netinc_settings *settings);

struct netinc_settings netinc_settings_from_join(const struct inc_join *join);
/* Into what says only which stripe it is of; netinc_join_add_kinds() says what is lacked. */
void netinc_settings_to_join(const struct netinc_settings *settings, struct inc_join *join);
struct netinc_settings netinc_settings_from_ready(const struct inc_ready *ready);

/* READY as it is sent: what is lacked is part of it only if INC_READY_KINDS is set. */
struct netinc_ready_body {
	struct inc_ready ready;
	struct inc_kinds lacks;
};

void netinc_settings_to_ready(const struct netinc_settings *settings,
			      struct netinc_ready_body *body);

#endif
