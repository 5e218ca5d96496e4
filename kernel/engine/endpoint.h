/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The endpoint: one rank of one group, at the host. endpoint.c is what the environment calls: join,
 * leave, packets, the timer. It calls the parts, which know only those before them:
 *
 *  ep_packet.c   headers, and PROBE
 *  ep_retain.c   what is retained of blocks for the case that the node is lost
 *  ep_multicast.c  results by IP multicast
 *  ep_partial.c  whose contributions results are made of
 *  ep_window.c   blocks out, results in
 *  ep_loss.c     what STATUS and NACK say is lost
 *  ep_state.c    state, JOIN, ABORT, errors
 *  ep_move.c     the way to another node
 *  ep_home.c     the way back to where the group formed
 *  ep_timer.c    what is repeated, how often, and when a node is given up
 *
 *  CLOSED --connect--> JOINING --WAIT--> WAITING -READY-> READY -ERROR-> RESYNC -READY-> READY
 *                         \-----------READY-------------/ | | \--node lost, MOVE--> RESYNC
 *                                                         | \-leave-> LEAVING -acked-> CLOSED
 *  any state but CLOSED and LEAVING --fatal error, node lost and no other, refused--> FAILED
 *
 * Blocks, all in 64 bits that wrap: una <= snd <= end. Below una all results of this epoch are
 * here; [una, snd) is contributed, some of it with results (got); [snd, end) belongs to submitted
 * operations. snd <= una + W is rule 1. After a move una may be before blocks whose results came in
 * an older epoch: these are kept, and contributed again.
 */
#ifndef NETINC_ENGINE_ENDPOINT_H
#define NETINC_ENGINE_ENDPOINT_H

#include "bitmap.h"
#include "coll.h"
#include "congestion.h"
#include "settings.h"
#include "spread.h"

struct netinc_ep;

/* The environment. None may call the endpoint back. */
struct netinc_ep_ops {
	/*
	 * Queue blocks of @op from @idx on, at most @n, with @flags added to each header: those
	 * with payload as one super-packet of at most @most, those without as spans. Blocks of
	 * short operations that follow one another may leave as one super-packet, too. Returns how
	 * many go out, at least one; 0: memory or pages were not there, call netinc_ep_pump() when
	 * they are.
	 */
	u32 (*send_blocks)(struct netinc_ep *ep, struct netinc_op *op, u64 idx, u32 n, u32 most,
			   u16 flags);
	void (*send)(struct netinc_ep *ep, const struct netinc_pkt *pkt, const void *body, u32 len);
	/*
	 * Only with a fallback: like send_blocks(), for n >= 1 blocks from @block on whose results
	 * came in an older epoch: contributed again as netinc_ep_retained_header() says.
	 */
	u32 (*send_retained)(struct netinc_ep *ep, u64 block, u32 n, u16 flags);
	/*
	 * Room for what is kept: ep->retained[0 .. n - 1], each NETINC_RETAIN_CHUNK zeroed ones.
	 * False: no memory.
	 */
	bool (*retain_init)(struct netinc_ep *ep, u32 n);
	/* Keep the payload of a result beyond this call; may change obj. False: no memory. */
	bool (*retain)(struct netinc_ep *ep, struct netinc_pay *pay);
	/* Releases payload that was kept: by retain(), or as netinc_ep_sent() was given it. */
	void (*retain_release)(struct netinc_ep *ep, struct netinc_pay *pay);
	/* Sends control packets to plan[@at] from now on. False: there is no way. */
	bool (*retarget)(struct netinc_ep *ep, u32 at);
	/*
	 * The epoch has several trees: find the ways to their roots, which are peers[0 .. trees -
	 * 1], and make the tree whose root is here, if there is one. From then on packets go by
	 * pkt->tree. False: no memory, ask again.
	 */
	bool (*spread)(struct netinc_ep *ep);
	/* A control packet for somebody else than the parent. */
	void (*send_to)(struct netinc_ep *ep, const struct netinc_peer *peer,
			const struct netinc_pkt *pkt, const void *body, u32 len);
	/* Block @b has its result, with elements if it is wanted. False: not now, ask again. */
	bool (*deliver)(struct netinc_ep *ep, struct netinc_op *op, const struct netinc_block *b,
			const struct netinc_pay *pay);
	/* @op is off the endpoint's list: done, or failed (op->error). */
	void (*op_done)(struct netinc_ep *ep, struct netinc_op *op);
	/* The state has changed from @old to ep->state. */
	void (*state)(struct netinc_ep *ep, u8 old);
};

/*
 * The group that has failed and goes on in this one with fewer ranks: what its members know of it.
 */
struct netinc_ep_prev_group {
	u64 lineage;		/* 0: there is none */
	u32 move;		/* number of the last move that this rank made in it */
	struct netinc_settings settings;
};

/* Set when the endpoint is made, and then only read; but where the group shrinks see `prev`. */
struct netinc_ep_cfg {
	u64 job;		/* groups of the same number in different jobs are different ones */
	u32 group;		/* number of the group in its job */
	u8 stripe;		/* INC_STRIPE(): of a striped group each is a group of its own */
	u32 rank;		/* 0..size - 1 */
	u32 size;		/* ranks, 1..INC_MAX_RANKS */
	u32 dead_ms;		/* dead limit until READY says what the group's is */
	/* milliseconds for which a new member asks without an answer; 0: the dead limit */
	u32 join_ms;
	/* milliseconds for which an older run of the group may be in the way, if that is longer */
	u32 busy_ms;
	u32 nonce;		/* random number of this life of the rank: answers repeat it */
	u16 block;		/* bytes of payload that the path carries */
	u16 super_packet;	/* most blocks per send_blocks() */
	u64 first_block;	/* 0; elsewhere only in tests of wrap-around */
	u8 key[INC_KEY_LEN];	/* JOIN is proved with it */
	bool canonical;		/* sums of floats must follow the tree of reduce/order.h */
	struct netinc_kinds asks;	/* it joins only where these are folded */
	bool at_edge;		/* the group meets at rank 0's host; rank 0 may come later */
	/* the ancestor; until READY comes, rank and size are those that this rank had in it */
	struct netinc_ep_prev_group prev;
};

#define NETINC_RETAIN_CHUNK	128
#define NETINC_PLAN		(INC_MAX_STANDBY + 2)
/* silence after which a rank looks elsewhere, if it can, however long the dead limit is */
#define NETINC_LOST_MAX		(1500 * NETINC_MS)

/*
 * A block that a rank retains, rule 8: how it was contributed, and one payload, or none. An entry
 * is overwritten by the block 2 W further on, and cleared when its block is to be another one.
 */
struct netinc_retained {
	/* kind NETINC_PAY_RETAINED_*: own contribution or result; obj NULL: no payload */
	struct netinc_pay pay;
	u64 block;		/* number of the block, valid with `used` */
	/* the rest says what the contribution's header said */
	u32 opseq;
	u32 sig;
	u8 dtype;
	u8 dop;
	u8 mode;
	bool used;		/* the entry stands for `block` */
	bool delivered;		/* the result of the block is here */
};

/* One of the epoch's trees, as this rank sees it; the parent is the root of the first. */
struct netinc_ep_tree {
	/* number that packets to it carry, from READY or PEERS; of the first, 0 while moving */
	u64 up_cookie;
	/* its first block without result; may be behind, see netinc_ep_tree_una() */
	u64 una;
	u64 high;		/* one past its highest block with a result */
	/* time of the last packet from its root, or of READY if none has come since */
	u64 heard;
	/*
	 * not of the first tree: time of the last packet from its root before it was silent at a
	 * move, 0: it has spoken since
	 */
	u64 silent_since;
	/* time of its last result, or of the first block sent after none was out */
	u64 progress;
	u64 asked;		/* time of the last PROBE, JOIN or ABORT to it */
	/* PROBEs since the last result, or since something went out after a rest: they back off */
	u32 quiet;
	u32 unanswered;		/* PROBEs, JOINs and ABORTs since it was heard */
	u32 probes_lost;	/* PROBEs since STATUS has come: packets may come to here only */
	u32 gap;		/* packets that came while there was a hole; 0: there is none */
	u32 up_slack;		/* microseconds: reordering on our way to it, as STATUS says */
	struct netinc_reorder down;	/* how much packets are reordered on its way to us */
	/*
	 * STATUS has come since the last PROBE, so that packets sent before that PROBE are not in a
	 * queue any more
	 */
	bool answered;
	/*
	 * All blocks of the tree before this one are complete, as a STATUS says that came behind
	 * their results: a result before it that is missing is lost. Only grows in an epoch.
	 */
	u64 due;
	/* packets of ours with its oldest block that its root has counted, as STATUS says */
	u32 seen;
	bool resent;		/* a contribution has been sent again since the last STATUS */
	/*
	 * STATUSes in a row by which contributions that were sent again, or results that were asked
	 * for, have not come; 0 again with the first that has
	 */
	u32 stalled;
	u64 stalled_since;	/* time of the first of these, valid if there is one */
	u32 waits;		/* times that they began anew for results out of turn, in a row */
};

struct netinc_ep {
	const struct netinc_ep_ops *ops;
	struct netinc_ep_cfg cfg;
	u8 state;		/* enum inc_member_state, see above */
	bool fatal;		/* `error` ends the group: for this rank there is no way back */
	/* an error is known, and blocks before error.block may still get results */
	bool failing;
	bool left;		/* the node has our LEAVE; the state is CLOSED then */
	/* a result has met congestion on its way to us: the next contributions say so, once */
	bool echo;
	/* enum inc_err_code to be sent as ABORT until the error comes down, 0: none; stays */
	u16 abort;
	u16 refused;		/* enum inc_refuse_code of the JOIN that failed, 0: none has */
	u64 refuse_detail;	/* its detail, as in struct inc_refuse */
	u32 incarnation;	/* of the group's run, from READY; 0: not known, or moving */
	u32 epoch;		/* number of the epoch, from READY; 0: none; only grows */
	/* the group's, from READY; until then only dead_ms is set */
	struct netinc_settings settings;
	u16 block;		/* bytes of payload of a full block, from READY */
	bool deep;		/* there are several levels of nodes, from the first READY */
	bool tree_order;	/* folds do not follow the tree of reduce/order.h, from READY */
	u64 down_cookie;	/* number that packets of this epoch to us carry, from READY */
	u64 challenge;		/* of the node, to be proved in the next JOIN; 0: none */
	bool rebind_asked;	/* INC_JOIN_REBIND is out, whose CHALLENGE has not been answered */
	struct netinc_spread spread;	/* the epoch's trees, from READY */
	/* the ways to all trees are there; until then nothing is contributed */
	bool spread_out;
	u64 tree_key[2];	/* for the tree whose root is here, from READY */
	u64 start;		/* the epoch's first block */
	u64 ready_at;		/* time of the last READY */

	/* blocks, see above; they only grow in an epoch, until an error sets snd and end to una */
	u64 una;
	u64 snd;
	u64 end;
	struct netinc_op *head;	/* operations that are not done, in order; NULL: none */
	struct netinc_op *tail;	/* the last of them */
	struct netinc_op *snd_op;	/* the one that snd is in, NULL: all is sent */
	struct netinc_op *near;		/* the last that was looked for, or next to it; or NULL */
	/* the first one without block numbers, NULL: all have them */
	struct netinc_op *new_op;
	u32 next_seq;		/* sequence number of the next operation that is submitted */
	u32 resume;		/* operations before this number failed with `error` */
	/* operations before this number have been contributed to: none begins anew; only grows */
	u32 begun;
	/* the last error, code INC_ERR_NONE: there was none; see `failing`, `fatal` */
	struct netinc_error error;
	/* time of it, or of the first ABORT, until it has been got over; 0: none */
	u64 error_since;
	struct netinc_cc cc;
	u64 pace_at;		/* time at which more of what cwnd lets out may go, 0: none waits */

	/* joining: time of the first REFUSE since the last WAIT, READY or move, 0: none */
	u64 busy_since;
	u32 joined;		/* members that are there, as WAIT says; size from READY on */
	/* lowest rank that the node waits for, as WAIT and STATUS say, NETINC_NO_RANK: none */
	u32 waiting;
	u64 pause;		/* WAITING: microseconds until JOIN is repeated, as WAIT has said */
	u32 waited_ms;		/* milliseconds for which the node waits for it, as STATUS says */
	u64 submitted;		/* operations, over the life of the rank; for statistics */

	bool leaving;		/* LEAVE is one of the operations, or was; no others are taken */
	/*
	 * several trees, LEAVING: the root of the tree of LEAVE's block has it, and the group's
	 * root may be told; cleared with each epoch
	 */
	bool leave_there;
	/* this rank has found out that the parent is lost, and tells the others; until READY */
	bool mover;
	/* the place that it is under way to has said WAIT; cleared with each move */
	bool welcome;
	u64 lineage;		/* number of the group for life, from READY, 0: none has come */
	/* number of the last set of ranks that partial results are made of, 0: none */
	u16 set;
	u32 set_epoch;		/* epoch in which that set was told: it is valid in no other */
	u32 absent[INC_MAX_RANKS / 32];	/* ranks that are not in it, as in struct netinc_op */
	u32 move;		/* number of the move that this rank is at, or under way to */
	u32 settled;		/* value of `move` at the last READY; not the same: moving */
	/*
	 * places to go to, from the first READY, 0: none has come; see netinc_ep_place() for which
	 * move is to which
	 */
	u32 nplan;
	/*
	 * The group has formed over a tree of nodes: the first place. Wherever it goes, its
	 * operations are cut into blocks as they were there.
	 */
	bool from_tree;
	/* moving away from that: by what the node knows this rank, which has READY no more */
	struct {
		u32 incarnation;	/* 0: it is told nothing, or the group is elsewhere */
		u64 up_cookie;
	} left_tree;
	struct netinc_peer plan[NETINC_PLAN];	/* the node, standby nodes, the edge */
	u8 edge;		/* index of the edge in plan[], 0: it is not one of the places */
	u64 moved;		/* time at which the last move began */
	/*
	 * moving: value of `move` when the first of these moves began, or the move to the tree if
	 * that was the first
	 */
	u32 round;
	/* time of the last packet from where the rank was then */
	u64 unsettled;
	/*
	 * moving: the error RANK_DEAD that it began with and the rank that it was about, as the
	 * node said; the reason of failing when no place is left. code 0: it began for another
	 * reason, or the group has formed elsewhere since
	 */
	struct {
		u32 code;
		u32 rank;
	} moved_for;
	u32 refusals;		/* places in a row that have refused it */
	/*
	 * Moves in a row that were made because no blocks came through; 0 again when more than a
	 * window of blocks has come between two of them.
	 */
	u32 stalled_moves;
	u64 stalled_una;	/* una at the last of them */
	/*
	 * Moves in a row at which the root of a tree, but the first one, said nothing; begins anew
	 * when silent_next, the first block without result at the last of them, has its result
	 */
	u32 silent_moves;
	u64 silent_next;
	/*
	 * Moves of others that it has followed in a row; begins anew when followed_next, the first
	 * block without result at the last of them, has its result, and after a pause
	 */
	u32 followed_moves;
	u64 followed_next;
	u64 followed_at;		/* time of the last of them */
	/* time at which the node was last looked for, from elsewhere */
	u64 home_probed;
	u32 home_pause;		/* milliseconds until it is again; doubled, up to HOME_PAUSE_MAX */
	/* from_tree: of that node, to be proved when it is asked again; 0: none has come */
	u64 home_challenge;
	bool home_challenged;	/* it has sent a challenge since it was asked last */
	/*
	 * from_tree: the group is to return. This rank does as soon as it has all results before
	 * `block`; after that it contributes nothing here. move 0: it stays
	 */
	struct {
		u32 move;
		u64 block;
	} recall;
	u32 return_joins;	/* JOINs of a move that returns to the tree, so far */
	/* [size], family 0: not known; the environment's memory, NULL: none */
	struct netinc_peer *peers;
	u32 npeers;		/* ranks from 0 on whose address PEERS has said in this epoch */
	/* [block & (2 W - 1)] in chunks, see ep_retain.c; [0] NULL: nothing is retained */
	struct netinc_retained *retained[2 * INC_MAX_WINDOW / NETINC_RETAIN_CHUNK];

	/* results by IP multicast, see ep_multicast.c */
	struct {
		u32 incarnation;	/* of the run in which the node has said where; 0: none */
		struct netinc_peer group;	/* where they are sent to */
		bool tried;		/* the environment has tried to join it */
		bool joined;		/* it has */
		/* number of the call that has come there last, 0: none has in this epoch */
		u32 call;
		u64 answered;	/* time when one was answered last */
	} multicast;

	/* looks at blocks that the received buffer at hand may still cost, see rule 14 */
	u32 work_left;
	struct netinc_ep_tree tree[INC_MAX_TREES];	/* [max(spread.trees, 1)] are used */
	u64 counters[__INC_C_MAX];	/* enum inc_counter, over the life of the rank */
	/*
	 * blocks from una on that have their results: they do not count as under way; 0 when an
	 * epoch begins
	 */
	u32 early;
	/* [block & (W - 1)]: time at which the block was sent last, microseconds, low bits */
	u32 sent_at[INC_MAX_WINDOW];
	/* bit block & (W - 1): it was sent more than once; set or cleared whenever it is sent */
	unsigned long again[INC_MAX_WINDOW / (8 * sizeof(long))];
	/* bit block & (W - 1): its result is here; only of blocks in [una, snd), else 0 */
	unsigned long got[INC_MAX_WINDOW / (8 * sizeof(long))];
};

/* @ep is zeroed memory. */
void netinc_ep_init(struct netinc_ep *ep, const struct netinc_ep_cfg *cfg,
		    const struct netinc_ep_ops *ops);

/*
 * Before the packets of a received buffer, which may cost @work looks at blocks: what is left of
 * them afterwards is in work_left, for the other ranks that the buffer is for.
 */
static inline void netinc_ep_buffer_begin(struct netinc_ep *ep, u32 work)
{
	ep->work_left = work;
}

/* May the buffer at hand cost @blocks looks more? Then it does. */
static inline bool netinc_ep_take_work(struct netinc_ep *ep, u32 blocks)
{
	if (ep->work_left < blocks)
		return false;
	ep->work_left -= blocks;
	return true;
}

static inline bool netinc_ep_retains(const struct netinc_ep *ep)
{
	return ep->settings.fallback != INC_FALLBACK_NONE;
}

/* Is the rank in the group, and in no doubt about it? */
static inline bool netinc_ep_is_member(const struct netinc_ep *ep)
{
	return ep->state == INC_STATE_READY || ep->state == INC_STATE_LEAVING;
}

/* JOIN is for going on without the dead ranks of `prev`. */
static inline bool netinc_ep_shrinking(const struct netinc_ep *ep)
{
	return ep->cfg.prev.lineage && !ep->lineage;
}

/*
 * Is this operation one of those that have failed at all ranks? LEAVE never is, whatever others say
 * that they have begun: who leaves has nothing else to do, and would wait for ever.
 */
static inline bool netinc_ep_op_failed(const struct netinc_ep *ep, const struct netinc_op *op)
{
	return op->coll != INC_COLL_LEAVE && (s32)(op->seq - ep->resume) < 0;
}

/*
 * Microseconds of silence after which the parent is lost. Where there is another place, a rank
 * looks there early, which costs little when it was wrong, and before the node takes it for dead:
 * if only the way between the two is lost, the others can still be called.
 */
static inline u64 netinc_ep_lost_limit(const struct netinc_ep *ep)
{
	u64 dead = ep->settings.dead_ms * NETINC_MS;

	if (ep->nplan <= 1)
		return dead;
	/* the way back to a tree of nodes is long, so that what passes by itself is waited for */
	return ep->deep ? dead - dead / 4 : min_t(u64, dead - dead / 4, NETINC_LOST_MAX);
}

/* Index in plan[] of the place that a move is to. */
static inline u32 netinc_ep_place(const struct netinc_ep *ep, u32 move)
{
	return ep->nplan ? move % ep->nplan : 0;
}

/*
 * Number of the move after the one that it is at, or under way to. All places follow one another;
 * to a tree of nodes, the first one, the group returns only when all ranks can.
 */
static inline u32 netinc_ep_next_move(const struct netinc_ep *ep)
{
	u32 next = ep->move + 1;

	return ep->from_tree && !netinc_ep_place(ep, next) ? next + 1 : next;
}

/* The IP multicast group that the environment is to be in for this rank, NULL: none. */
static inline const struct netinc_peer *netinc_ep_multicast_group(const struct netinc_ep *ep)
{
	if (!netinc_ep_is_member(ep) && ep->state != INC_STATE_RESYNC)
		return NULL;
	return ep->incarnation && ep->multicast.incarnation == ep->incarnation ?
		       &ep->multicast.group : NULL;
}

/* Is the rank under way to another place than that of the last READY? */
static inline bool netinc_ep_moving(const struct netinc_ep *ep)
{
	return ep->move != ep->settled;
}

/* Is it on the way back to the tree of nodes that the group formed over? */
static inline bool netinc_ep_returning(const struct netinc_ep *ep)
{
	return netinc_ep_moving(ep) && ep->from_tree && !netinc_ep_place(ep, ep->move);
}

/* Where the marks of block @b are. */
static inline u32 netinc_ep_ring(const struct netinc_ep *ep, u64 b)
{
	return (u32)b & (ep->settings.window - 1);
}

static inline u32 netinc_ep_tree_of(const struct netinc_ep *ep, u64 b)
{
	return netinc_tree_of(&ep->spread, b);
}

/* Where the group is reduced, as far as this rank knows. */
static inline u8 netinc_ep_placement(const struct netinc_ep *ep)
{
	u32 at = netinc_ep_place(ep, ep->move);

	if (!at)
		return ep->cfg.at_edge ? INC_PLACEMENT_EDGE : INC_PLACEMENT_NODE;
	return at == ep->edge ? INC_PLACEMENT_EDGE : INC_PLACEMENT_STANDBY;
}

/* endpoint.c */
void netinc_ep_connect(struct netinc_ep *ep, u64 now);
/*
 * Leave when nothing is under way (-EBUSY otherwise): @op is the LEAVE operation, the caller's
 * until op_done.
 */
int netinc_ep_leave(struct netinc_ep *ep, struct netinc_op *op, u64 now);
/*
 * After a READY that has been dropped for want of room: this rank does not join; others are told.
 */
void netinc_ep_decline(struct netinc_ep *ep, const struct netinc_pkt *pkt,
		       const struct inc_ready *ready, u64 now);
/*
 * A packet from the parent other than RESULT; @body: all of it. Returns 0 or the negative counter
 * it was counted as.
 */
int netinc_ep_control(struct netinc_ep *ep, const struct netinc_pkt *pkt, const void *body,
		      u64 now);
/* The group is to end, for all ranks, because this one wants it. */
void netinc_ep_cancel(struct netinc_ep *ep, u64 now);
/* After the last header of a received packet of the root of @tree. */
void netinc_ep_packet_end(struct netinc_ep *ep, u32 tree, u64 now);

/* ep_timer.c */
/* It has never been a member: a node may be busy, or be there a little later. */
static inline bool netinc_ep_is_new(const struct netinc_ep *ep)
{
	return !ep->lineage && !ep->cfg.prev.lineage;
}

/* The time for which a rank asks that gets no answer. */
u64 netinc_ep_join_patience(const struct netinc_ep *ep);
/*
 * Until JOIN is repeated, as WAIT says. A node may lie: neither is it asked all the time, nor so
 * rarely that its death goes unnoticed.
 */
u64 netinc_ep_clamp_pause(const struct netinc_ep *ep, u32 pause);
/* Does what is due and returns when to call again, 0: not at all. */
u64 netinc_ep_timer(struct netinc_ep *ep, u64 now);

/* ep_state.c */
/*
 * Tell the others that this rank cannot go on (@code); from CLOSE on nothing is answered any more.
 */
void netinc_ep_abort(struct netinc_ep *ep, enum inc_err_code code, bool close, u64 now);
/*
 * After una moved or an error came: if all results below the error are here, fail what is to fail.
 */
void netinc_ep_settle(struct netinc_ep *ep, u64 now);
/* Fails @op with the endpoint's error; of several, only the first is to blame. */
void netinc_ep_fail_op(struct netinc_ep *ep, struct netinc_op *op);
/* ABORT, once. */
void netinc_ep_send_abort(struct netinc_ep *ep, u64 now);
/* The node knows that this rank has left: it is done. */
void netinc_ep_left(struct netinc_ep *ep, u64 now);

/* The group is over for this rank, with an error that nobody sent. */
void netinc_ep_fail(struct netinc_ep *ep, enum inc_err_code code, u32 rank0, u32 rank1);
void netinc_ep_set_state(struct netinc_ep *ep, u8 state);
/* JOIN to the parent. */
void netinc_ep_send_join(struct netinc_ep *ep, u64 now);
/*
 * A member's JOIN, since the node does not answer: its packets may come by another port now. What
 * the CHALLENGE is answered with; the rank asks for what it lacks behind that.
 */
void netinc_ep_rebind(struct netinc_ep *ep, u64 now);
void netinc_ep_prove_rebind(struct netinc_ep *ep, u64 challenge, u64 now);
/*
 * The same to the first place of the plan, while the group is elsewhere: @move would lead there.
 */
void netinc_ep_probe_home(struct netinc_ep *ep, u32 move, u64 now);

/* ep_loss.c */
/*
 * The root of @tree has completed all blocks before @b. The packet that says so came behind those
 * results, on a link that keeps order. Returns whether that is news.
 */
bool netinc_ep_complete(struct netinc_ep *ep, u32 tree, u64 b);
/*
 * STATUS, NACK; @body: all of it. 0 or a negative counter. *@stalled: no blocks come through to the
 * root of the packet's tree.
 */
int netinc_ep_status(struct netinc_ep *ep, const struct netinc_pkt *pkt, const void *body, u64 now,
		     bool *stalled);
int netinc_ep_nack(struct netinc_ep *ep, const struct netinc_pkt *pkt, u64 now);

/* ep_move.c */
/*
 * Goes to the place that @move is to; calls the others if this rank is the one that has decided so.
 */
void netinc_ep_start_move(struct netinc_ep *ep, u32 move, bool mover, u64 now);
/* JOIN at the place that a move is to; and the tree of nodes that it is from hears of the move. */
void netinc_ep_move_join(struct netinc_ep *ep, u64 now);
/* The parent is lost: go on with the plan, or fail with @code. */
void netinc_ep_lost(struct netinc_ep *ep, enum inc_err_code code, u64 now);
/* The same for an error that the group may get over elsewhere, see netinc_ep_may_go_on(). */
void netinc_ep_leave_place(struct netinc_ep *ep, const struct netinc_error *e, u64 now);
/* The parent, or the root of another tree, answers, but no blocks come through. */
void netinc_ep_path_lost(struct netinc_ep *ep, u64 now);
/* May the group get over this error of its node elsewhere? */
bool netinc_ep_may_go_on(const struct netinc_ep *ep, u16 code, u64 now);
/* READY: what it says about fallback. False: it makes no sense. */
bool netinc_ep_plan_ok(const struct netinc_ep *ep, const struct inc_ready *r);
void netinc_ep_plan(struct netinc_ep *ep, const struct inc_ready *r);
/* MOVE of another rank: is it to be followed? 0 or a negative counter. */
int netinc_ep_check_call(const struct netinc_ep *ep, const struct inc_move *body, u64 now);
int netinc_ep_peers(struct netinc_ep *ep, const struct netinc_pkt *pkt, const void *body);
/* All peers are known: find the ways to the trees, if that has not been done. */
void netinc_ep_spread_out(struct netinc_ep *ep);
/* WAIT says that @rank is missing: it may not know yet that we have moved. */
void netinc_ep_notify_move(struct netinc_ep *ep, u32 rank);
/* REFUSE while the group moves: true: dealt with. */
bool netinc_ep_move_refused(struct netinc_ep *ep, u32 code, u64 detail, u64 now);

/* ep_home.c */
/* READY has come: when is what was left to be looked for, if the group has left it? */
void netinc_ep_reset_home(struct netinc_ep *ep);
/*
 * A packet that is not from the parent: MOVE; CHALLENGE or WAIT of the node that was. Returns 0 or
 * the negative counter it was counted as.
 */
int netinc_ep_non_parent(struct netinc_ep *ep, const struct netinc_pkt *pkt, const void *body,
			 const struct netinc_peer *from, u64 now);
/*
 * From elsewhere: is the node there again? Returns when to be called again, 0: there is no need.
 */
u64 netinc_ep_check_home(struct netinc_ep *ep, u64 now);
/* Goes if it is to return, and has all results that it is to have before that. */
void netinc_ep_follow_recall(struct netinc_ep *ep, u64 now);

/* ep_retain.c */
bool netinc_ep_retain_init(struct netinc_ep *ep, u32 window);
/* Forget everything; the environment frees the room. */
void netinc_ep_retain_drop(struct netinc_ep *ep);
/* Has the result of block @b come, in this epoch or before? */
bool netinc_ep_delivered(const struct netinc_ep *ep, u64 b);
/* The lowest block whose result has not come; the same of those from @b on. */
u64 netinc_ep_next(const struct netinc_ep *ep);
u64 netinc_ep_next_from(const struct netinc_ep *ep, u64 b);
/*
 * Called by send_blocks(): block @b leaves as @pkt says. True: @pay (where its payload lies in the
 * environment's memory) has been kept, until forget().
 */
bool netinc_ep_sent(struct netinc_ep *ep, u64 b, const struct netinc_pkt *pkt,
		    const struct netinc_pay *pay);
/* Block @b has its result; @pay: kept by retain(), or NULL. */
void netinc_ep_retain_result(struct netinc_ep *ep, u64 b, const struct netinc_pay *pay);
/* Blocks from @b on are going to be others. */
void netinc_ep_retain_cut(struct netinc_ep *ep, u64 b);
/* The header with which block @b is contributed again. Returns the payload, NULL: it has none. */
const struct netinc_pay *netinc_ep_retained_header(const struct netinc_ep *ep, u64 b,
						   struct netinc_pkt *pkt);

/* ep_multicast.c */
/* PEERS with INC_F_MULTICAST; @body: all of it. 0 or a negative counter. */
int netinc_ep_multicast(struct netinc_ep *ep, const struct netinc_pkt *pkt,
			const struct inc_peers *body, u64 now);
/*
 * The environment has tried to join the group that netinc_ep_multicast_group() says: to be called
 * once for each, and not while that says none.
 */
void netinc_ep_multicast_tried(struct netinc_ep *ep, bool joined, u64 now);

/* ep_partial.c */
/* May blocks that wait for this rank be completed without it? */
static inline bool netinc_ep_may_miss(const struct netinc_ep *ep)
{
	return ep->settings.late_policy == INC_LATE_PARTIAL;
}

/* PARTIAL; @body: all of it. 0 or a negative counter. */
int netinc_ep_partial(struct netinc_ep *ep, const struct netinc_pkt *pkt,
		      const struct inc_partial *body);
/* A result: of whose contributions a partial one is made must be known before it is used. */
bool netinc_ep_set_known(const struct netinc_ep *ep, const struct netinc_pkt *pkt);
/* A partial result of @op has come. */
void netinc_ep_note_absent(const struct netinc_ep *ep, struct netinc_op *op);

/* ep_packet.c */
/* Fills in the fields that all headers of this endpoint have. */
void netinc_ep_header(const struct netinc_ep *ep, struct netinc_pkt *pkt, u8 type);
/* @pkt goes to the root of @tree. */
void netinc_ep_to_tree(const struct netinc_ep *ep, struct netinc_pkt *pkt, u32 tree);
/* Is the result of @block here, in this epoch? */
bool netinc_ep_has(const struct netinc_ep *ep, u64 block);
/* The first block of @tree, from una on, that is out and has no result; snd if there is none. */
u64 netinc_ep_tree_una(struct netinc_ep *ep, u32 tree);
/* Ask the root of @tree what it has of us, and for results that are lost. */
void netinc_ep_probe(struct netinc_ep *ep, u32 tree, u64 now);

/* ep_window.c */
/*
 * Queue an operation that netinc_coll_check() passed; netinc_ep_pump() behind it, or behind
 * several, sends what may go out. 0, -ENOTCONN or -ESHUTDOWN; -EOPNOTSUPP at all ranks alike: a
 * block has no room for an element, or a node does not fold that. op_done() may be called at once.
 * An exchange of counts is submitted right before the operation that it is for, which is on hold:
 * when the exchange is done, op_done() fills in its counts (or its error, the same at all ranks)
 * and clears hold; or this is done later, with netinc_ep_number() and netinc_ep_pump() behind it.
 */
int netinc_ep_add(struct netinc_ep *ep, struct netinc_op *op);
/* The same for one that nothing follows at once, and netinc_ep_pump(). */
int netinc_ep_submit(struct netinc_ep *ep, struct netinc_op *op, u64 now);
/* Send what the window allows. */
void netinc_ep_pump(struct netinc_ep *ep, u64 now);
/* Is it of this group, epoch and parent? 0 or the negative counter, which has been counted. */
int netinc_ep_check(struct netinc_ep *ep, const struct netinc_pkt *pkt);
int netinc_ep_result(struct netinc_ep *ep, const struct netinc_pkt *pkt,
		     const struct netinc_pay *pay, u64 now);
/*
 * Blocks [first, first + n) were lost: send again those that are out, lack a result, and were sent
 * before @before, or, if that was not the first time, before @again.
 * A packet of them always goes; further ones while there is work left for the buffer at hand, the
 * rest is asked for again.
 */
void netinc_ep_resend(struct netinc_ep *ep, u64 first, u32 n, u32 before, u32 again, u64 now);
/* Give block numbers to the operations that have none and may have them. */
void netinc_ep_number(struct netinc_ep *ep);
void netinc_ep_unlink(struct netinc_ep *ep, struct netinc_op *op);
/* @op has ended with an error: count it and say so. */
void netinc_ep_failed(struct netinc_ep *ep, struct netinc_op *op);
/* The header of block @idx of @op. */
void netinc_ep_block_header(const struct netinc_ep *ep, const struct netinc_op *op, u64 idx,
			    const struct netinc_block *b, struct netinc_pkt *pkt);

#endif
