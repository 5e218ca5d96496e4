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

/*
 * A block and its contributions. A slot is set back when the block 2 W further on gets its first
 * contribution, and when an epoch begins.
 *
 * What folds in the order of reduce/order.h takes from a child, and sends to the parent, one part
 * for each node of that tree that it cannot make more of, see struct netinc_part. A child has
 * contributed when all of its parts are here. What does not depend on the order has no parts: the
 * contribution of a child is whole.
 */
struct netinc_slot {
	u64 q;			/* the block it stands for */
	/* times of contributions that are counted; `since` is valid if there is one */
	union {
		u64 since;	/* FILLING: time of the first contribution */
		u64 asked;	/* UP: time at which the result was asked for last, 0: never */
	};
	u64 last;		/* time of the last one */
	u64 others;		/* time of the last one of another child than last_child */
	u64 sent;		/* time at which the result (DONE) or partial (UP) was sent last */
	u32 sent_to;		/* DONE: the child that got it then, or NETINC_ALL */
	/* child whose contribution was the last one, NETINC_NO_RANK: there is none */
	u32 last_child;
	/* contributions have been taken back for want of memory: last_child says nothing then */
	bool taken_back;
	u8 state;		/* enum netinc_slot_state */
	/*
	 * The fields from here to `newest` say what the contributions say that are counted, and are
	 * cleared with these; dtype, dop, mode and len are 0 while none of them has payload.
	 */
	u8 dtype;		/* enum inc_type, of the first contribution with payload */
	u8 dop;			/* enum inc_op of it */
	u8 mode;		/* INC_MODE_WIRE of it */
	/* enum inc_err_code: they disagree about the operation, or it cannot be done; 0: good */
	u8 bad;
	/*
	 * OR of the contributions': PAYLOAD, WANT, FINAL, DESC, LEAVE, CE, ECE; PARTIAL. FILLING:
	 * ZERO if it is said of any of them; UP, DONE: if it is so of the partial, or result
	 */
	u16 flags;
	u16 len;		/* payload of the result, bytes */
	/* times as long as an element an accumulator is, 1..8; of what is not folded 1 */
	u8 wider;
	/* UP: the partial has been sent again; and children are to slow down for that */
	bool again;
	bool lost_above;
	bool parted;		/* UP: the partial is in several parts, which are in `in` */
	u32 missing;		/* children that have not contributed, or not all of their parts */
	u32 pending;		/* parts that are here of children of which others are missing */
	/* INC_F_PARTIAL: number of the set in `contributors`, never 0 */
	u16 set;
	u16 held;		/* FILLING: entries of `in` whose payload is held */
	u32 opseq;		/* sequence number of the operation, of the first contribution */
	u32 sig;		/* signature of the operation, of the first contribution */
	u32 newest;		/* the latest opseq of all of them */
	/*
	 * DONE: cached for children that lost it. UP: the partial. BAD: of contributions with FINAL
	 * that differ, one. obj NULL: none, or no payload; released when the slot is set back
	 */
	struct netinc_pay result;
	/* bit child: it has contributed, all of its parts */
	unsigned long *have;
	/* PARTIAL, DONE: bit child: its contribution is in the result */
	unsigned long *contributors;
	/*
	 * [inputs]: contributions, each child's at its number, which is that of its first part;
	 * further parts at netinc_child.further. Released when the block is complete; obj NULL:
	 * nothing is held, as of what is ZERO; INC_F_PARTIAL: the child is out of the operation;
	 * INC_F_PART: it is a part, and has come. UP, and `parted`: memory of the first ones is
	 * that of the parts of the partial, in their order; the flags are still those of the
	 * contributions.
	 */
	struct netinc_pay *in;
};

/* What the aggregator knows of one child. Blocks are those of its own tree. */
struct netinc_child {
	u32 number;		/* by which it is known on the wire: its lowest rank */
	u32 parts;		/* of its contributions, if they are in parts; > 0 */
	u32 further;		/* input of its second part, the others follow; of several only */
	/*
	 * a node: rank that its oldest block waits for, as its last PROBE says, NETINC_NO_RANK:
	 * none, or it is no node
	 */
	u32 waits_for;
	/*
	 * First block that it has not contributed, start <= frontier <= end; goes back when
	 * contributions are taken back.
	 */
	u64 frontier;
	/* one past the last block that it has contributed; of parts of one, that block */
	u64 end;
	/* holes before this block have been NACKed; `end` while there is none */
	u64 nacked;
	u64 nack_time;		/* time of the last NACK of holes from the frontier on */
	/* the buffer, see netinc_agg.buffer, for which it was sent NACKs last; 0: none */
	u32 nack_buffer;
	/* microseconds, as its JOIN or last PROBE says, 0: it has no sample */
	u32 srtt;
	u32 gap;		/* packets that came while there was a hole; 0: there is none */
	struct netinc_reorder up;	/* how much packets are reordered on their way to us */
	/* microseconds: the same on our way to it, as its last PROBE says */
	u32 down;
	/*
	 * packets that have come with a contribution to the oldest block, whatever became of them;
	 * counts up over the life of the group and wraps
	 */
	u32 seen;
	struct netinc_late late;	/* how late it is, over the life of the group */
	u64 missed;		/* blocks completed without it, over the life of the group */
	/* results that were sent again to it; counts up over the life of the group and wraps */
	u32 resent;
	/* it has all results of this epoch before this block, as its PROBEs have said */
	u64 has;
	/*
	 * It has missed a block of operation out_seq, and is out of the rest of it; cleared when it
	 * contributes to a later one and when an epoch begins.
	 */
	bool out;
	u32 out_seq;		/* sequence number of that operation, valid with `out` */
	u16 set_sent;		/* number of the set that it was told last, 0: none */
	u64 set_sent_at;	/* time at which it was */
};

/* An input where it stands in the order of folds. */
struct netinc_operand {
	u16 input;		/* index of it, see netinc_slot.in */
	u16 weight;		/* ranks that it stands for in the order of folds; > 0 */
};

/*
 * What of a block is folded to one accumulator: operands [from, to) of netinc_agg.operand. They are
 * what is below this node of one node of the tree of reduce/order.h, the largest that is.
 */
struct netinc_part {
	u16 from;
	u16 to;
};

/* Results that a PROBE is answered with at most. */
#define NETINC_RESULTS_PER_PROBE	32u

/* The number of a part: not one of several, but all that there is. */
#define NETINC_WHOLE	0xffffffffu

struct netinc_agg;

/* The environment. Functions that emit packets only queue them. */
struct netinc_agg_ops {
	/*
	 * Keep payload beyond this call; may change obj. False: no memory. @force: the oldest block
	 * must get on.
	 */
	bool (*hold)(struct netinc_agg *agg, struct netinc_pay *pay, bool force);
	void (*release)(struct netinc_agg *agg, struct netinc_pay *pay);
	/* Copies the descriptor of @pay, held payload that has one, to @desc. */
	void (*desc)(struct netinc_agg *agg, const struct netinc_pay *pay, struct inc_desc *desc);
	/*
	 * Fold the payloads of the operands of @part, one of agg->part[] or NETINC_WHOLE, in their
	 * order into memory of its own, fill slot->result. False: no memory. Those with ZERO have
	 * as many zeros as the others elements.
	 */
	bool (*fold)(struct netinc_agg *agg, struct netinc_slot *slot, u32 part);
	/* As fold, but only the contribution @i, bit for bit */
	bool (*copy)(struct netinc_agg *agg, struct netinc_slot *slot, u32 i);
	/* Is slot->result, made by copy(), bit for bit the payload of the contribution @i? */
	bool (*is_copy)(struct netinc_agg *agg, const struct netinc_slot *slot, u32 i);
	void (*send_result)(struct netinc_agg *agg, const struct netinc_slot *slot, u32 child);
	/*
	 * Only with a parent: the partial of @slot goes up, or this @part of it, which is
	 * netinc_agg_partial(); @again: not for the first time, with RETRANS.
	 */
	void (*send_up)(struct netinc_agg *agg, const struct netinc_slot *slot, u32 part,
			bool again);
	/*
	 * Only with a parent: what it has sent, @pay of @slot and not ZERO, is the result;
	 * slot->flags and len are its. Fills slot->result, in memory of its own. False: no memory,
	 * nothing has changed.
	 */
	bool (*take_result)(struct netinc_agg *agg, struct netinc_slot *slot,
			    const struct netinc_pay *pay);
	/*
	 * Queue a control packet (NACK, STATUS or PARTIAL) for @child or NETINC_ALL; @body of @len
	 * bytes follows the header.
	 */
	void (*send)(struct netinc_agg *agg, u32 child, const struct netinc_pkt *pkt,
		     const void *body, u32 len);
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
	/* the first three are set by netinc_agg_init() and never change */
	u32 children;		/* 1..INC_MAX_RANKS */
	u32 inputs;		/* parts of all children's contributions; at least `children` */
	u32 window;		/* W, blocks, a power of two; there are 2 W slots */
	u32 nparts;		/* parts of what is made of them here, entries of part[]; > 0 */
	struct netinc_spread spread;	/* the epoch's trees; set before it begins */
	struct netinc_kinds lacks;	/* what is not folded for the group; likewise */
	u32 tree;		/* number of this one among them, 0: that of the group's root */
	/* what all headers of the epoch say: group, incarnation, epoch, cookie */
	struct netinc_pkt header;
	bool root;		/* no parent above */
	/* with a parent: what all headers of contributions to it say */
	struct netinc_pkt up_header;
	/*
	 * with a parent: the latest time at which a partial went up for the first time whose result
	 * has come, 0: none has in this epoch; one past the highest block with a result; and the
	 * microseconds that the last one took which had gone up once, 0: it has been noted
	 */
	u64 up_sent;
	u64 up_high;
	u32 up_trip;
	/* rank that the parent waits for, as its STATUS says, NETINC_NO_RANK: none */
	u32 up_waits_for;
	u16 block;		/* bytes of payload of a full block; set before an epoch begins */
	/* an error is out: nothing from `limit` on completes; cleared when an epoch begins */
	bool closed;
	u64 limit;		/* the block of the error, valid with `closed` */
	u64 start;		/* first block of the epoch, of whichever tree */
	/*
	 * sequence number of an operation of now, from which those that are contributed to are not
	 * far: that of the last block that is complete; set before the epoch begins
	 */
	u32 opseq;
	u64 una;		/* the oldest block of this tree that is not done */
	u64 top;		/* one past the highest block contributed to; una <= top */
	/* the contribution of a late child whose coming is to be timed */
	struct netinc_watch watch;
	u32 buffer;		/* number of the received buffer at hand, from 1 on; wraps */
	/* the next two are set by netinc_agg_buffer_begin() and count down from there */
	u32 results_left;	/* results that may be sent again for the buffer at hand */
	u32 work_left;		/* blocks that may be looked at for it */
	u32 nexcluded;		/* children that are `out` of an operation */
	/* number of the last set of a partial result, 0: none; counts on over epochs */
	u16 set;
	unsigned long *contributors;	/* bit child: it is in that set */
	struct netinc_slot *slots;	/* [2 * window], see netinc_agg_slot() */
	struct netinc_child *child;	/* [children] */
	struct netinc_pay *made;	/* [inputs]: parts of the partial that is being made */
	/* [inputs], in the order of folds, and how they are divided; set before an epoch begins */
	struct netinc_operand *operand;
	struct netinc_part *part;
};

/*
 * Bytes of memory that netinc_agg_init() wants at @mem, zeroed. It makes each child an operand of
 * weight 1, and all of them one part; whoever knows better says so before an epoch begins.
 */
size_t netinc_agg_bytes(u32 children, u32 inputs, u32 window);
void netinc_agg_init(struct netinc_agg *agg, void *mem, u32 children, u32 inputs, u32 window);

/* agg_packet.c */
/* Fill in what all headers of this aggregator have. */
void netinc_agg_header(const struct netinc_agg *agg, struct netinc_pkt *pkt, u8 type);
/*
 * The header of the RESULT of @slot: with its elements, or for a child that wants none and is told
 * that the block is complete.
 */
void netinc_agg_result_header(const struct netinc_agg *agg, const struct netinc_slot *slot,
			      bool elements, struct netinc_pkt *pkt);

/* The header with which the partial of @slot, or this @part of it, goes to the parent. */
void netinc_agg_up_header(const struct netinc_agg *agg, const struct netinc_slot *slot, u32 part,
			  struct netinc_pkt *pkt);

/* agg_part.c */
/* The operands of @part, which may be NETINC_WHOLE. */
struct netinc_part netinc_agg_part(const struct netinc_agg *agg, u32 part);
/* Has a contribution to @part elements? */
bool netinc_agg_part_has_elements(const struct netinc_agg *agg, const struct netinc_slot *slot,
				  u32 part);
/*
 * Are all elements of @part, of which there are some, of contributions that are ZERO, and is there
 * nothing else to send? Then they are 0 when they are folded, and need not be.
 */
bool netinc_agg_part_is_zero(const struct netinc_agg *agg, const struct netinc_slot *slot,
			     u32 part);
/* UP: the partial of @slot, or this @part of it. */
struct netinc_pay netinc_agg_partial(const struct netinc_slot *slot, u32 part);
/* The input that a part of a contribution of @child is; NETINC_NO_RANK: there is no such part. */
u32 netinc_agg_part_input(const struct netinc_agg *agg, u32 child, u32 part);
/* Parts of @child that are here. */
u32 netinc_agg_parts_here(const struct netinc_agg *agg, const struct netinc_slot *slot, u32 child);
/* Are all of them? */
bool netinc_agg_all_parts_here(const struct netinc_agg *agg, const struct netinc_slot *slot,
			       u32 child);
/* Does what is folded in @slot go up in parts, of which there are several? */
bool netinc_agg_goes_in_parts(const struct netinc_agg *agg, const struct netinc_slot *slot);
/* Makes them, in memory of their own. False: no memory, nothing has changed. */
bool netinc_agg_make_parts(struct netinc_agg *agg, struct netinc_slot *slot);
/* They go up. */
void netinc_agg_send_up(struct netinc_agg *agg, const struct netinc_slot *slot, bool again);
/* Nothing of contributions is held any more, nor what is in their memory. */
void netinc_agg_release_inputs(struct netinc_agg *agg, struct netinc_slot *slot);

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
/* agg_work.c: may one more result be sent again for it? */
bool netinc_agg_take_result(struct netinc_agg *agg);
/*
 * agg_loss.c: is the result, or the partial, on its way to @child? One that another child has asked
 * for is not.
 */
bool netinc_agg_under_way(const struct netinc_agg *agg, const struct netinc_slot *slot, u32 child,
			  u64 now);

/*
 * A contribution of @child. Returns 0 if it counted (for at least one block of its span), else the
 * negative counter of the reason, which has been counted.
 */
int netinc_agg_contrib(struct netinc_agg *agg, u32 child, const struct netinc_pkt *pkt,
		       const struct netinc_pay *pay, u64 now);
/* After the last header of a received packet: look for holes. */
void netinc_agg_packet_end(struct netinc_agg *agg, u32 child, u64 now);
/* A result from the parent of this node. 0 or a negative counter, which has been counted. */
int netinc_agg_result(struct netinc_agg *agg, const struct netinc_pkt *pkt,
		      const struct netinc_pay *pay, u64 now);
/*
 * The node @child has found that the ranks below it disagree about block @q, in operation @opseq,
 * or it cannot be done (@code); @newest: the latest operation that they have contributed to. That
 * is its contribution to the block. 0 or a negative counter, which has been counted.
 */
int netinc_agg_disagree(struct netinc_agg *agg, u32 child, u64 q, enum inc_err_code code,
			u32 opseq, u32 newest, u64 now);
/* Partials that go again. */
struct netinc_repeat {
	const __be32 *have;	/* bit i: the parent has that of block q + i; NULL: it has none */
	u64 before;		/* those that were sent before that time, */
	u64 again;		/* if not for the first time before this one */
	bool slow;		/* children are to slow down for that */
};

/*
 * Of blocks [q, q + n) they go to the parent. Returns how many of them go again for the first time.
 */
u32 netinc_agg_repeat_up(struct netinc_agg *agg, u64 q, u32 n, const struct netinc_repeat *r,
			 u64 now);
/* Has a partial gone up, @slack before one whose result has come, and this one's not? */
bool netinc_agg_overtaken(const struct netinc_agg *agg, const struct netinc_slot *slot, u32 slack);
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
/* The rank, here or anywhere else in the tree, that it waits for; NETINC_NO_RANK: none is known. */
u32 netinc_agg_waiting_rank(const struct netinc_agg *agg, u64 *since);
/*
 * agg_late.c: completes blocks, from the oldest on, that have waited for @limit microseconds,
 * without those that have not contributed. Returns the lowest of these if that is not possible,
 * else NETINC_NO_RANK.
 */
u32 netinc_agg_pass(struct netinc_agg *agg, u64 limit, u64 now);

/*
 * Called by agg_partial.c, too: all contributions that are waited for are in. False: no memory,
 * nothing has changed.
 */
bool netinc_agg_complete(struct netinc_agg *agg, struct netinc_slot *slot, u64 now);
/*
 * @slot is completed without those that have not contributed. False: no memory for the result, or
 * not now.
 */
bool netinc_agg_pass_block(struct netinc_agg *agg, struct netinc_slot *slot, u64 now);
/* slot->flags are those of the contributions that are counted. */
void netinc_agg_merge_flags(const struct netinc_agg *agg, struct netinc_slot *slot);
/* Called by agg_uplink.c, too: @slot has its result, which goes to all children. */
void netinc_agg_done(struct netinc_agg *agg, struct netinc_slot *slot, u64 now);
/* una goes to the oldest block that is not done. */
void netinc_agg_advance(struct netinc_agg *agg);

/* Is this block one of our tree? */
static inline bool netinc_agg_mine(const struct netinc_agg *agg, u64 q)
{
	return netinc_tree_of(&agg->spread, q) == agg->tree;
}

/*
 * The input that a contribution of @child is; NETINC_NO_RANK: it says that it is a part, or that it
 * is none, which is not so.
 */
static inline u32 netinc_agg_input(const struct netinc_agg *agg, u32 child,
				   const struct netinc_pkt *pkt)
{
	if (unlikely(pkt->flags & INC_F_PART))
		return netinc_agg_part_input(agg, child, pkt->part);
	return pkt->part ? NETINC_NO_RANK : child;
}

/* Has nobody contributed to @slot, nor begun to? */
static inline bool netinc_agg_is_empty(const struct netinc_agg *agg,
				       const struct netinc_slot *slot)
{
	return slot->missing == agg->children && !slot->pending;
}

static inline struct netinc_slot *netinc_agg_slot(const struct netinc_agg *agg, u64 q)
{
	return &agg->slots[q & (2 * agg->window - 1)];
}

#endif
