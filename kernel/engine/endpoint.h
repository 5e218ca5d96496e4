/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The endpoint: one rank of one group, at the host. endpoint.c is its window (blocks out, results in), rank.c its
 * membership (join, epochs, errors, leave, timers).
 *
 *	CLOSED --connect--> JOINING --WAIT--> WAITING --READY--> READY --ERROR--> RESYNC --READY--> READY
 *	                       \------------READY---------------/ | \--leave--> LEAVING --acknowledged--> CLOSED
 *	any state but CLOSED and LEAVING --fatal error, node dead, refused--> FAILED
 *
 * Blocks, all in 64 bits that wrap: una <= snd <= end. Below una all results are here; [una, snd) is contributed,
 * some of it with results (got); [snd, end) belongs to submitted operations. snd <= una + W is rule 1.
 */
#ifndef NETINC_ENDPOINT_H
#define NETINC_ENDPOINT_H

#include "coll.h"
#include "congestion.h"

struct netinc_ep;

/* The surroundings. None may call the endpoint back. */
struct netinc_ep_ops {
	/*
	 * Queue blocks of @op from @idx on, at most @n, with @flags added to each header: those with payload as one
	 * super-packet of at most @most, those without as spans. Returns how many went out, at least one; 0: memory or
	 * pages were not there, call netinc_ep_pump() when they are.
	 */
	u32 (*send_blocks)(struct netinc_ep *ep, struct netinc_op *op, u64 idx, u32 n, u32 most, u16 flags);
	void (*send)(struct netinc_ep *ep, const struct netinc_pkt *pkt, const void *body, u32 len);
	/* Block @b has its result, with elements if it is wanted. False: not now, ask again. */
	bool (*deliver)(struct netinc_ep *ep, struct netinc_op *op, const struct netinc_block *b,
			const struct netinc_pay *pay);
	/* @op is off the endpoint's list: done, or failed (op->error). */
	void (*op_done)(struct netinc_ep *ep, struct netinc_op *op);
	/* state has changed from @old. */
	void (*state)(struct netinc_ep *ep, u8 old);
};

struct netinc_ep_cfg {
	u32 group;
	u32 rank;
	u32 size;
	u32 dead_ms;		/* until READY says what the group's is */
	u32 nonce;		/* random */
	u16 block;		/* bytes of payload that the path carries */
	u16 super_packet;	/* most blocks per send_blocks() */
	u64 first_block;	/* 0; elsewhere only in tests of wrap-around */
	u8 key[INC_KEY_LEN];
};

struct netinc_ep {
	const struct netinc_ep_ops *ops;
	struct netinc_ep_cfg cfg;
	u8 state;		/* enum inc_member_state */
	bool fatal;		/* error ends the group */
	bool failing;		/* an error is known; blocks below error.block still get results */
	bool left;		/* the node has our LEAVE */
	bool echo;		/* a result has met congestion on its way to us: say so in the next contributions */
	u16 abort;		/* enum inc_err_code to be sent as ABORT until the error comes down */
	u16 refused;		/* enum inc_refuse_code of the JOIN that failed */
	u64 refuse_detail;
	u32 incarnation;
	u32 epoch;
	u32 window;
	u16 block;		/* bytes of payload of a full block */
	u32 dead_ms;
	u64 up_cookie;
	u64 down_cookie;
	u64 challenge;

	u64 una;
	u64 snd;
	u64 end;
	u64 high;		/* one past the highest block with a result */
	struct netinc_op *head;	/* operations that are not done, in order */
	struct netinc_op *tail;
	struct netinc_op *snd_op;	/* the one that snd is in, NULL: all is sent */
	struct netinc_op *new_op;	/* the first one without block numbers */
	u32 next_seq;
	u32 resume;		/* operations before this one failed with `error` */
	struct netinc_error error;
	struct netinc_cc cc;

	u64 heard;		/* time of the node's last packet */
	u64 progress;		/* time of the last result, or of the first block sent after none was out */
	u64 asked;		/* time of the last PROBE or JOIN */
	u64 busy_since;		/* time of the first REFUSE BUSY in a row, 0: none */
	u32 quiet;		/* PROBEs since the last result: they back off */
	u32 gap;		/* packets of results that came while there was a hole */
	struct netinc_reorder down;	/* on their way to us */
	u32 up_slack;		/* on our way to the node, as it says: microseconds */
	bool answered;		/* STATUS has come since the last PROBE: what was sent before it is not in a queue */
	u32 unanswered;		/* PROBEs or JOINs since the node was heard */
	u32 joined;		/* WAITING: members that are there */
	u32 waiting;		/* lowest rank that the node waits for, NETINC_NO_RANK: none */
	u32 waited_ms;
	u64 submitted;
	u64 mib[__INC_C_MAX];
	u32 sent_at[INC_MAX_WINDOW];	/* block & (W - 1): microseconds, low bits */
	unsigned long got[INC_MAX_WINDOW / (8 * sizeof(long))];	/* block & (W - 1): result is here */
};

/* @ep is zeroed memory. */
void netinc_ep_init(struct netinc_ep *ep, const struct netinc_ep_cfg *cfg, const struct netinc_ep_ops *ops);

/* rank.c */
void netinc_ep_connect(struct netinc_ep *ep, u64 now);
/* Leave when nothing is under way (-EBUSY otherwise): @op is the LEAVE operation, the caller's until op_done. */
int netinc_ep_leave(struct netinc_ep *ep, struct netinc_op *op, u64 now);
/* Tell the others that this rank cannot go on (@code); from CLOSE on nothing is answered any more. */
void netinc_ep_abort(struct netinc_ep *ep, enum inc_err_code code, bool close, u64 now);
/* A packet from the parent other than RESULT; @body: all of it. Returns 0 or the negative counter it was counted as. */
int netinc_ep_control(struct netinc_ep *ep, const struct netinc_pkt *pkt, const void *body, u64 now);
/* Does what is due and returns when to call again, 0: not at all. */
u64 netinc_ep_timer(struct netinc_ep *ep, u64 now);
/* Ask the node what it has of us, and, if results seem @lost, for those that are missing. */
void netinc_ep_probe(struct netinc_ep *ep, bool lost, u64 now);
/* After una moved or an error came: if all results below the error are here, fail what is to fail. */
void netinc_ep_settle(struct netinc_ep *ep, u64 now);

/* endpoint.c */
/*
 * Queue an operation that netinc_coll_check() passed. 0, -ENOTCONN or -ESHUTDOWN; op_done() may be called at once.
 * An exchange of counts is submitted right before the operation that it is for, which is on hold: when the exchange is
 * done, op_done() fills in its counts (or its error, the same at all ranks) and clears hold.
 */
int netinc_ep_submit(struct netinc_ep *ep, struct netinc_op *op, u64 now);
/* Send what the window allows. */
void netinc_ep_pump(struct netinc_ep *ep, u64 now);
/* Is it of this group, epoch and parent? 0 or the negative counter, which has been counted. */
int netinc_ep_check(struct netinc_ep *ep, const struct netinc_pkt *pkt);
int netinc_ep_result(struct netinc_ep *ep, const struct netinc_pkt *pkt, const struct netinc_pay *pay, u64 now);
/* After the last header of a received packet. */
void netinc_ep_packet_end(struct netinc_ep *ep, u64 now);
/* Blocks [first, first + n) were lost: send again those that are out, lack a result, and were sent before @before. */
void netinc_ep_resend(struct netinc_ep *ep, u64 first, u32 n, u32 before, u64 now);
bool netinc_ep_has(const struct netinc_ep *ep, u64 block);
/* Give block numbers to the operations that have none and may have them. */
void netinc_ep_number(struct netinc_ep *ep);
void netinc_ep_unlink(struct netinc_ep *ep, struct netinc_op *op);
/* @op has ended with an error: count it and say so. */
void netinc_ep_failed(struct netinc_ep *ep, struct netinc_op *op);
/* Fill in what all headers of this endpoint have. */
void netinc_ep_header(const struct netinc_ep *ep, struct netinc_pkt *pkt, u8 type);
/* The header of block @idx of @op. */
void netinc_ep_block_header(const struct netinc_ep *ep, const struct netinc_op *op, u64 idx,
			    const struct netinc_block *b, struct netinc_pkt *pkt);

#endif
