/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What surrounds a rank in fuzz_endpoint: operations with memory as kernel/host/pin.c pins it, and
 * what is kept for a move.
 *
 * A buffer is as long as its stream. Of it [lo, hi) is pinned: hi moves when the input says so, lo
 * with the oldest block without result. Nothing else may be read or written, what is sent must be
 * the input, and an operation of which something was sent or has come must never begin anew.
 */
#ifndef INC_FUZZ_EP_ENV_H
#define INC_FUZZ_EP_ENV_H

#include "engine/endpoint.h"
#include "reduce/reduce.h"
#include "reader.h"

#define MAX_OPS		64u
#define SIZE		4u
#define RANK		1u
#define BLOCK		64u
#define SUPER		5u
#define MAX_WINDOW	(INC_MIN_WINDOW << 3)
#define FIRST_PINNED	1024u	/* bytes of each buffer, before the input asks for more */

struct buf {
	u8 *data;
	u64 len, lo, hi;	/* bytes */
};

/* Where an operation's blocks were when the first of them left, or its first result came. */
struct begun {
	bool begun;
	u64 first;
};

struct op {
	struct netinc_op op, exchange;	/* the exchange of its counts, where they have to be */
	u32 counts[SIZE * SIZE], ask[SIZE];
	u64 before[2][NETINC_BEFORE(SIZE)];
	struct buf send, recv;
	struct begun began[2];		/* of op, of exchange */
	bool submitted, done;
	bool contradiction;		/* is what the exchange shows */
};

struct ep_env {
	struct netinc_ep ep;
	struct reader r;
	u64 now;
	u32 ops, pending;
	bool short_send, no_room, no_keep;
	u32 results, own;		/* payloads that are kept */
	u32 packets;			/* that have left since this was set to 0 */
	/* where it has been told that results go, in this run of the group */
	bool multicast_seen;
	u32 multicast_run;
	struct netinc_peer multicast;
	struct netinc_peer peers[SIZE];
	struct op op[MAX_OPS];
	struct netinc_op leave;
	struct begun left;
	bool leaving;
};

extern struct ep_env env;
extern const struct netinc_ep_ops ep_env_ops;

/* Where its elements lie: for an operation that has been picked, before it is submitted. */
void ep_env_alloc(struct op *o);
/* As its owner may do when it has ended: nothing is touched any more. */
void ep_env_free_op(struct op *o);
/* All memory that is left, of operations that have not ended. */
void ep_env_free(void);
/*
 * As netinc_pin_progress(): what lies before the oldest block without result is unpinned.
 */
void ep_env_progress(void);
/* Pins @bytes more of the oldest operation that is not pinned to its end. */
void ep_env_pin(u64 bytes);

static inline u32 ep_env_elem(const struct netinc_op *op)
{
	return netinc_reduce_elem_size(netinc_coll_wire_type(op));
}

#endif
