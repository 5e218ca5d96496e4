/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The aggregator: the slots of one tree at one node. One state machine for every collective:
 * contribute, complete, replicate. It has no timers and no send window; results are the
 * acknowledgements.
 *
 * A slot's life:
 *
 *  FILLING --all children in, root--------------------> DONE --contribution to block + S--> FILLING
 *     |  \--all children in, not root-> UP -result from above--^
 *     \--all children in, they disagree or cannot be folded--> BAD (until all before it are done,
 *                                                               then the operation fails)
 * With policy `partial` (agg_partial.h) a FILLING slot may become DONE while children are missing.
 *
 * Blocks are named q here: the psn, extended to 64 bits. Those of other trees are passed over;
 * nobody contributes to their slots.
 */
#ifndef NETINC_ENGINE_AGGREGATOR_H
#define NETINC_ENGINE_AGGREGATOR_H

#include "bitmap.h"
#include "congestion.h"
#include "engine.h"
#include "lateness.h"
#include "spread.h"

enum netinc_slot_state {
	NETINC_SLOT_FILLING,
	NETINC_SLOT_UP,
	NETINC_SLOT_BAD,
	NETINC_SLOT_DONE,
};

struct netinc_slot {
	u64 q;			/* the block it stands for */
	u64 since;		/* time of the first contribution */
	u64 last;		/* time of the last one */
	u64 others;		/* and of the last one of another child than last_child */
	u64 sent;		/* time at which the result (DONE) or partial (UP) was sent last */
	u32 sent_to;		/* DONE: the child that got it then, or NETINC_ALL */
	u32 last_child;		/* whose contribution was the last one */
	bool taken_back;	/* contributions have been: who was the last one says nothing */
	u8 state;		/* enum netinc_slot_state */
	/*
	 * what follows, up to len, is what the contributions say that are counted; without payload
	 * in them all is 0
	 */
	u8 dtype;		/* enum inc_type, of the first contribution with payload */
	u8 dop;			/* enum inc_op */
	u8 mode;		/* INC_MODE_WIRE of it */
	/* enum inc_err_code: they disagree about the operation, or it cannot be done here */
	u8 bad;
	/* OR of the contributions': PAYLOAD, WANT, FINAL, DESC, LEAVE, CE, ECE; PARTIAL */
	u16 flags;
	u16 len;		/* payload of the result, bytes */
	u32 missing;		/* children x parts that have not contributed */
	u16 set;		/* INC_F_PARTIAL: number of the set in gave */
	/* of the first contribution that is counted, as sig; nothing is: 0 */
	u32 opseq;
	u32 sig;
	u32 newest;		/* the latest opseq of those that are counted */
	/* DONE: cached for children that lost it. UP: the partial */
	struct netinc_pay result;
	unsigned long *have;	/* bit child * parts + part: contributed */
	/* PARTIAL, DONE: bit child: its contribution is in the result */
	unsigned long *contributors;
	/* [child * parts + part]: what; obj NULL: nothing held; PARTIAL: is out */
	struct netinc_pay *in;
};

struct netinc_child {
	u64 frontier;		/* first block that it has not contributed */
	u64 end;		/* one past the last block that it has */
	u64 nacked;		/* holes below this one have been NACKed */
	u64 nack_time;
	u32 srtt;		/* microseconds, as it says itself */
	u32 gap;		/* packets that came while there was a hole */
	struct netinc_reorder up;	/* on its way to us */
	u32 down;		/* on our way to it, as it says: slack, microseconds */
	/* contributions to the oldest block that have come, whatever became of them */
	u32 seen;
	struct netinc_late late;
	u64 missed;		/* blocks completed without it */
	u64 has;		/* it has all results before this block, as its PROBEs have said */
	/* of the rest of operation out_seq, since it has missed a block of it */
	bool out;
	u32 out_seq;
	u16 set_sent;		/* the set that it was told last, and when */
	u64 set_sent_at;
};

struct netinc_agg;

/* The surroundings. Those that emit only queue. */
struct netinc_agg_ops {
	/*
	 * Keep payload beyond this call; may change obj. False: no memory. @force: the oldest block
	 * must get on.
	 */
	bool (*hold)(struct netinc_agg *agg, struct netinc_pay *pay, bool force);
	void (*release)(struct netinc_agg *agg, struct netinc_pay *pay);
	/* Copies the descriptor of held payload that has one. */
	void (*desc)(struct netinc_agg *agg, const struct netinc_pay *pay, struct inc_desc *desc);
	/*
	 * Fold the payloads of slot->in in child order into memory of its own, fill slot->result.
	 * False: no memory
	 */
	bool (*fold)(struct netinc_agg *agg, struct netinc_slot *slot);
	/* As fold, but only the contribution @i, bit for bit */
	bool (*copy)(struct netinc_agg *agg, struct netinc_slot *slot, u32 i);
	void (*send_result)(struct netinc_agg *agg, const struct netinc_slot *slot, u32 child);
	void (*send_up)(struct netinc_agg *agg, const struct netinc_slot *slot);
	void (*send_nack)(struct netinc_agg *agg, u32 child, u64 q, u32 span);
	void (*send_status)(struct netinc_agg *agg, u32 child, u32 tstamp,
			    const struct inc_status *body, u32 len);
	/*
	 * To @child or NETINC_ALL: of whose contributions results with this set's number are made
	 */
	void (*send_partial)(struct netinc_agg *agg, u32 child, const struct inc_partial *body,
			     u32 len);
	/* Is there a way to fold such payload? */
	bool (*can_fold)(struct netinc_agg *agg, u8 dtype, u8 dop, u8 mode);
	/*
	 * The oldest block that is not done is BAD: the contributions of children @a and @b
	 * disagree, or (slot->bad) that of @a cannot be folded.
	 */
	void (*mismatch)(struct netinc_agg *agg, const struct netinc_slot *slot, u32 a, u32 b);
};

struct netinc_agg {
	const struct netinc_agg_ops *ops;
	u64 *counters;		/* counters of the group, [__INC_C_MAX] */
	u32 children;
	u32 parts;		/* per child; 1 on host links */
	u32 window;		/* W; there are 2 W slots */
	struct netinc_spread spread;
	u32 tree;		/* which of them this is */
	bool root;		/* no parent above */
	bool closed;		/* an error is out: nothing from `limit` on completes */
	u64 limit;
	u64 start;		/* first block of the epoch */
	u64 una;		/* the oldest block that is not done */
	u64 top;		/* one past the highest block contributed to */
	struct netinc_watch watch;
	u32 results_left;	/* that may be sent again for the buffer at hand */
	u32 work_left;		/* blocks that may be looked at for it */
	u32 nexcluded;		/* children that are out of an operation */
	/* number of the last set of a partial result, 0: none; it goes on over epochs */
	u16 set;
	unsigned long *contributors;	/* and that set */
	struct netinc_slot *slots;
	struct netinc_child *child;
};

/* Bytes of memory that netinc_agg_init() wants at @mem, zeroed. */
size_t netinc_agg_bytes(u32 children, u32 parts, u32 window);
void netinc_agg_init(struct netinc_agg *agg, void *mem, u32 children, u32 parts, u32 window);

/* Begin an epoch at block @start: all slots are emptied. */
void netinc_agg_start(struct netinc_agg *agg, u64 start);
/* Release all that is held. */
void netinc_agg_drain(struct netinc_agg *agg);

/* A received buffer begins, of whichever child: what it may cost is counted from here. */
void netinc_agg_buffer_begin(struct netinc_agg *agg);
/*
 * May @blocks more be looked at for it? False: what asks for that is dropped, as if it were lost.
 */
bool netinc_agg_take_work(struct netinc_agg *agg, u32 blocks);

/*
 * A contribution of @child. Returns 0 if it counted (for at least one block of its span), else the
 * negative counter of the reason, which has been counted.
 */
int netinc_agg_contrib(struct netinc_agg *agg, u32 child, const struct netinc_pkt *pkt,
		       const struct netinc_pay *pay, u64 now);
/* After the last header of a received packet: look for holes. */
void netinc_agg_packet_end(struct netinc_agg *agg, u32 child, u64 now);
/* A result from the parent of this node. */
int netinc_agg_result(struct netinc_agg *agg, const struct netinc_pkt *pkt,
		      const struct netinc_pay *pay, u64 now);
/*
 * PROBE of a child: answers with STATUS and the results that it lacks. False: too much for one
 * buffer.
 */
bool netinc_agg_probe(struct netinc_agg *agg, u32 child, const struct netinc_pkt *pkt,
		      const struct inc_probe *probe, u64 now);

/*
 * The lowest child without a contribution to the oldest block; NETINC_NO_RANK if nobody has
 * contributed to it.
 */
u32 netinc_agg_waiting(const struct netinc_agg *agg, u64 *since);
/*
 * agg_late.c: completes blocks, from the oldest on, that have waited for @limit microseconds,
 * without those that have not contributed. Returns the lowest of these if that is not possible,
 * else NETINC_NO_RANK.
 */
u32 netinc_agg_pass(struct netinc_agg *agg, u64 limit, u64 now);

/*
 * For agg_partial.c: all contributions that are waited for are in. False: no memory, nothing has
 * changed.
 */
bool netinc_agg_complete(struct netinc_agg *agg, struct netinc_slot *slot, u64 now);
/*
 * @slot is completed without those that have not contributed. False: no memory for the result, or
 * not now.
 */
bool netinc_agg_pass_block(struct netinc_agg *agg, struct netinc_slot *slot, u64 now);
/* slot->flags are those of the contributions that are counted. */
void netinc_agg_merge_flags(const struct netinc_agg *agg, struct netinc_slot *slot);
/* una goes to the oldest block that is not done. */
void netinc_agg_advance(struct netinc_agg *agg);

/* Is this block one of our tree? */
static inline bool netinc_agg_mine(const struct netinc_agg *agg, u64 q)
{
	return netinc_tree_of(&agg->spread, q) == agg->tree;
}

static inline struct netinc_slot *netinc_agg_slot(const struct netinc_agg *agg, u64 q)
{
	return &agg->slots[q & (2 * agg->window - 1)];
}

#endif
