/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ranks of fuzz_node that keep to the rules, as small as they can be: each contributes what the
 * plan says, in order and within the window, asks for results that it lacks, repeats what it is
 * asked for, joins again after errors and moves.
 *
 * The plan says what operation a block belongs to and what each rank contributes to it: OP_BLOCKS
 * blocks to an operation, of one kind after the other.
 */
#ifndef INC_FUZZ_HONEST_H
#define INC_FUZZ_HONEST_H

#include "node_env.h"

#define OP_BLOCKS	12u

/* All give and want, one gives to all, each gives to one other, nobody has anything; bytes. */
enum kind { REDUCED, SPREAD, MOVED, EMPTY, BYTES, KINDS };

/* What rank @child of the group has to say of block @q; @data has room for MAX_LEN. */
void honest_plan(u32 child, u64 q, struct netinc_pkt *pkt, u8 *data);
/* Is that what it has said? */
bool honest_said(u32 child, u64 q, const struct said *s);

void honest_start(void);
/* A tree of a group whose root is elsewhere: all are members already. */
void honest_branch(const struct netinc_tree_cfg *tree);
/* Rank @rank does what is next; at most @blocks blocks leave. */
void honest_turn(u32 rank, u32 blocks, bool probe);
/*
 * Everybody that is honest goes on until nothing is left to do; then all are silent, and the group
 * ends.
 */
void honest_finish(void);

/* Sent to member @child. */
void honest_result(u32 child, const struct outcome *oc);
void honest_nack(u32 child, u64 q, u32 span);
void honest_status(u32 child, u64 una, const struct inc_status *st);
void honest_control(u32 child, const struct netinc_pkt *pkt, const void *body);

/* Where the one that joined as @rank is. */
struct netinc_peer honest_peer(u32 rank);

#endif
