/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the parts of the middle share. */
#ifndef INCMPI_INTERNAL_H
#define INCMPI_INTERNAL_H

#include <pthread.h>
#include <time.h>

#include "middle.h"
#include "tune.h"

#define INCMPI_MAX_PERSISTENT	64	/* groups of a communicator for persistent calls */
#define INCMPI_TEXT_LEN		512	/* of an error's text */

/* libinc's operation on the buffers of an MPI call. */
struct incmpi_op {
	struct incmpi_comm *comm;
	struct incmpi_call call;
	const void *held;		/* a type that is needed until the end */
	struct incmpi_type held_type;
	struct inc_args args;
	struct inc_request req;
	uint64_t bytes;			/* what this rank sends or receives, the larger */
	void *send_mem, *recv_mem;	/* packed or converted elements, or NULL */
	unsigned int staged;		/* bit n: enum incmpi_staged n is why */
	unsigned int not_given;		/* the same bits: why none of the program's memory is */
	bool refuses;			/* it tells the other ranks that its shares are too large */
	uint64_t *counts;		/* four arrays, see stage.c; NULL: shares are equal */
	bool begun;			/* the kernel has it */
	bool ended;
	int result;
};

struct incmpi_comm {
	void *comm;		/* the skin's; not valid any more when the owner has freed it */
	int rank, size;
	uint64_t ranks;		/* a hash of which processes they are, in their order; 0: unknown */
	bool inter, strangers;
	bool asked;		/* whether there is a group has been agreed */
	bool had_calls;		/* non-blocking ones, before that */
	enum incmpi_why why;	/* there is none */
	bool requests;		/* agreed: non-blocking calls may use it */
	bool reports;		/* agreed: some rank wants a report */
	struct incmpi_settings set;	/* agreed */
	struct incmpi_tune *tune;	/* agreed; lines for this many ranks; NULL: no table */
	struct inc_group *group;
	struct inc_reduces lacks;	/* what a node of @group does not reduce, agreed */
	int64_t id;		/* of @group, equal at all ranks, and no other group's */
	bool idle;		/* @group has not been used for a while: its node may be silent */
	struct incmpi_comm *own[INCMPI_MAX_PERSISTENT];	/* groups of persistent calls, agreed */
	unsigned int nr_own;
	bool no_more;		/* agreed: not all ranks could join another one */
	pthread_mutex_t lock;	/* of what follows */
	unsigned int refs;	/* the owner, operations and persistent calls */
	int64_t last_ms;	/* @group was joined, or an operation of it ended, then */
	bool broken;		/* the group has failed, or this rank has given it up */
	char end[INCMPI_TEXT_LEN];	/* ... and why; it does not change any more then */
};

static inline int64_t incmpi_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* comm.c */
const struct incmpi_skin *incmpi_skin(void);
bool incmpi_is_first(void);
void incmpi_comm_get(struct incmpi_comm *c);
/* By a thread, as that waits for the other ranks. */
void incmpi_leave(struct inc_group *group);
/* The group has failed, or been given up, if that has not been told before; with the lock. */
void incmpi_comm_ended(struct incmpi_comm *c, const char *why);
/* Why, or NULL if it has not. */
const char *incmpi_comm_end(struct incmpi_comm *c);
/* Does a node of the group of @c lack what this reduction takes? All ranks say the same. */
bool incmpi_is_lacking(const struct incmpi_comm *c, const struct incmpi_call *call);
/* Of a call that is INC's, as long as its arguments are there. NULL: the table has none. */
const struct incmpi_tune_line *incmpi_line_of(const struct incmpi_comm *c,
					      const struct incmpi_call *call);

/* names.c */
/* Shares differ, and no rank knows those of all others. */
bool incmpi_has_unknown_shares(enum incmpi_fn fn);

/*
 * settings.c: the table that INC_MPI_TUNE names, for communicators whose rank 0 this process is.
 * NULL: there is none. What is wrong with it is told on stderr, once.
 */
const struct incmpi_tune *incmpi_own_tune(void);

/* agree.c */
void incmpi_agree(struct incmpi_comm *c, const struct incmpi_settings *own, bool requests);
/* Another group of the same ranks. @more: NULL: this rank has no memory for it. */
bool incmpi_join_more(struct incmpi_comm *c, struct incmpi_comm *more,
		      const struct incmpi_settings *own);

/* kept_group.c: @c, which has no group, gets one that is kept, if there is one of its ranks. */
void incmpi_kept_take(struct incmpi_comm *c);
/* The group of @c, if it has one, is kept; it is left if it has failed. */
void incmpi_kept_give(struct incmpi_comm *c);
void incmpi_kept_leave(void);

/*
 * own_group.c: the ranks of @c agree on who does a persistent call. @why: what this rank has
 * against INC; if none has anything, *@group is one that nobody uses, whose nodes lack nothing of
 * @call.
 */
enum incmpi_why incmpi_agree_init(struct incmpi_comm *c, const struct incmpi_settings *own,
				  const struct incmpi_call *call, enum incmpi_why why,
				  struct incmpi_comm **group);
void incmpi_own_groups_put(struct incmpi_comm *c);

/* stage.c: arguments of libinc for the call; what comes back is put where MPI wants it */
int incmpi_stage(struct incmpi_op *op);
/* Would the ranks have to leave the call to the MPI because of this rank's shares? */
bool incmpi_refuses(struct incmpi_comm *c, const struct incmpi_call *call);
int incmpi_stage_again(struct incmpi_op *op, enum incmpi_staged why);
void incmpi_count_staged(const struct incmpi_op *op);
int incmpi_unstage(struct incmpi_op *op);
void incmpi_stage_free(struct incmpi_op *op);

/* Numbers of elements and bytes, which are at most UINT64_MAX. */
static inline uint64_t incmpi_plus(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static inline uint64_t incmpi_times(uint64_t a, uint64_t b)
{
	return b && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

/* Shares of a side, at a communicator of @size ranks. */
const struct incmpi_type *incmpi_share_type(const struct incmpi_side *side, int i);
uint64_t incmpi_share_count(const struct incmpi_side *side, int i);

/* pair.c */
size_t incmpi_pair_bytes(enum incmpi_pair pair);	/* of an INC element */
void incmpi_pair_load(enum incmpi_pair pair, const void *from, uint64_t count, void *to);
void incmpi_pair_store(enum incmpi_pair pair, const void *from, uint64_t count, void *to);

/* count.c */
void incmpi_set_errmsg(const char *fmt, ...) __attribute__((__format__(__printf__, 1, 2)));

#endif
