/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What surrounds a group in fuzz_node: payload, memory with a limit, folding as kernel/node/fold.c
 * does it, and a record of what each member has said of each block, by which slots and results are
 * judged.
 */
#ifndef INC_FUZZ_NODE_ENV_H
#define INC_FUZZ_NODE_ENV_H

#include "engine/group.h"
#include "reader.h"

#define MAX_SIZE	5u
#define MAX_WINDOW	(INC_MIN_WINDOW << 5)
#define MAX_LEN		256u
#define BLOCK		64u
#define DEAD_MS		200u
#define FIRST_BLOCK	0xfffffffdull	/* so that numbers wrap */
#define FIRST_OPSEQ	0xfffffff8u
#define LINEAGE		55ull
#define ANCESTOR	77ull
#define MOST_REPEATED	64u		/* results sent again per received buffer, and sets */
#define MOST_CONTROL	4u		/* STATUS, ERROR, WAIT, PEERS */
#define MOST_NACKS	16u

/* Payload as it has been received: memory of exactly its length, and the descriptor's. */
struct obj {
	u32 refs;
	u16 len;
	u8 *data;
	struct inc_desc *desc;
};

/* What a contribution says. */
struct said {
	u32 run;		/* of the fuzzer, in which this is valid */
	u64 q;
	u16 flags;
	u16 len;
	u32 opseq;
	u32 sig;
	u8 dtype;
	u8 dop;
	u8 mode;
	u8 data[MAX_LEN];
};

/* What came of a block. */
struct outcome {
	u32 run;
	u64 q;
	u16 flags;
	u16 len;
	bool honest;		/* all members have said what the plan says */
	u8 data[MAX_LEN];
};

struct node_env {
	struct netinc_group g;
	struct reader r;
	u64 now;
	u32 run;
	u32 objs, held;
	u64 bytes, limit;	/* of memory that is held for contributions, 0: no limit */
	bool no_hold, no_fold;
	u32 hostile;		/* bit: by the rank that it joined as */
	u32 deaf;		/* bit: what is sent to it is lost */
	u32 who[MAX_SIZE];	/* member -> the rank that it joined as */
	u32 repeated, control, nacks, sets;	/* sent since the last packet came */
	u32 shared;		/* packets and results for all */
	bool linked;		/* a member has another way */
};

extern struct node_env env;
extern const struct netinc_agg_ops node_env_agg_ops;
extern const struct netinc_group_ops node_env_ops;

/* A contribution that has passed netinc_group_check(); @data: pkt->len bytes. */
int node_env_give(const struct netinc_pkt *pkt, const u8 *data);
/* The next packet comes. */
void node_env_packet(void);
/* After it: has it made more than it may? */
void node_env_bounded(void);

/* What member @child has said of block @q, that counts at the moment; NULL: nothing. */
const struct said *node_env_said(u32 child, u64 q);
/* What holds for every slot and child after every event. */
void node_env_check(void);

static inline bool is_hostile(u32 rank)
{
	return env.hostile >> rank & 1;
}

#endif
