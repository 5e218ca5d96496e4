/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A group's way from a node to the node's parent. To the parent the node is one child, in the name
 * of all ranks below it: it joins for them, contributes what it has folded of theirs, and says what
 * is wrong with them.
 *
 *  NONE --ranks have come, but not all--> ASKING --READY--> READY --ERROR, all joined again-->
 *   |  \                                    |                 ^--READY-- RESYNC
 *   |   \--all ranks are here: the root     |
 *   \--the node has no parent: the root     \--all ranks are here--> NONE
 *
 * The node needs no timers for what goes up: ranks that miss results PROBE it, and that makes it
 * PROBE its parent. What is lost while all ranks are content, netinc_group_tick() finds.
 */
#ifndef NETINC_ENGINE_UPLINK_H
#define NETINC_ENGINE_UPLINK_H

#include "congestion.h"
#include "engine.h"

enum netinc_uplink_state {
	NETINC_UPLINK_NONE,
	NETINC_UPLINK_ASKING,
	NETINC_UPLINK_READY,
	NETINC_UPLINK_RESYNC,
};

struct netinc_uplink {
	u8 state;		/* enum netinc_uplink_state, see above */
	/* ASKING: ranks have come or gone since the last JOIN */
	bool news;
	/* ASKING: the parent wants to know whether all ranks below are there still; until JOIN */
	bool called;
	/*
	 * ASKING: the rank that has gone last, which JOINs may still have named, and why (enum
	 * inc_err_code); NETINC_NO_RANK: none has
	 */
	u32 gone;
	u16 gone_code;
	u32 below[INC_MAX_RANKS / 32];	/* ASKING: the ranks that the last JOIN has named */
	/* the parent has the LEAVE of all ranks below, and asks for nothing any more */
	bool left;
	/* enum inc_err_code of the loss of the parent, for netinc_parent_lost(); 0: it is there */
	u16 lost;
	/* enum inc_refuse_code with which the parent has refused for good, 0: it has not */
	u16 refused;
	u64 refuse_detail;	/* as in struct inc_refuse, valid with `refused` */
	u64 refused_at;		/* time of that, likewise */
	u64 challenge;		/* of the parent, to be proved in the next JOIN; 0: none */
	bool rebind_asked;	/* INC_JOIN_REBIND is out, whose CHALLENGE has not been answered */
	u64 rebind_sent;	/* time of the last one */
	u32 child;		/* number by which the parent knows us: the lowest rank below */
	/* ASKING: the same, as the last WAIT says: its lowest rank may have been another one */
	u32 known;
	u32 incarnation;	/* of the group at the parent, from READY */
	u64 up_cookie;		/* number that packets to the parent carry, from READY */
	u64 down_cookie;	/* number that packets from it carry, from READY */
	u64 heard;		/* time of the last packet from it */
	u64 asked;		/* time of the last JOIN or PROBE to it */
	u32 unanswered;		/* JOINs and PROBEs since it was heard */
	u32 buffer;		/* netinc_group.buffer when JOIN or ABORT has answered it */
	u64 pause;		/* ASKING, RESYNC: microseconds between JOINs, as WAIT has said */
	/* what WAIT has said of all ranks of the group, if counts_valid */
	bool counts_valid;
	u32 joined;
	u32 missing;		/* lowest rank that has not come, NETINC_NO_RANK: none */
	u64 probed;		/* time of the last PROBE, 0: none in this epoch */
	bool answered;		/* STATUS has come since */
	/* time of the PROBE that tells the round trip when its answer comes, 0: there is none */
	u64 timed;
	u64 looked;		/* time at which holes in results were looked for last, 0: never */
	/* all blocks before this one are complete, as a STATUS says; only grows in an epoch */
	u64 due;
	u32 slack;		/* microseconds: reordering on our way to it, as STATUS says */
	struct netinc_reorder down;	/* how much packets are reordered on its way to us */
	/* estimates of the round trip and of what is lost; there is no window */
	struct netinc_cc cc;
	/* what ABORT says until the error comes down, code INC_ERR_NONE: nothing */
	struct netinc_error abort;
	/* times of the first ABORT and of the last one, valid with `abort` */
	u64 abort_since;
	u64 abort_sent;
	u64 error_since;	/* RESYNC: time of the error */
};

/* Is the node one of a tree, in an epoch that its parent has begun? */
static inline bool netinc_uplink_in_use(const struct netinc_uplink *up)
{
	return up->state == NETINC_UPLINK_READY || up->state == NETINC_UPLINK_RESYNC;
}

#endif
