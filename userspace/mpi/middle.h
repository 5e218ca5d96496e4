/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The middle: MPI's collectives on libinc, for whatever stands between a program and its MPI. It
 * knows nothing of an MPI implementation and includes no mpi.h. A skin turns calls of MPI into
 * struct incmpi_call, and gives the middle what it needs of MPI: struct incmpi_skin.
 *
 * For every call: incmpi_decide() says whether INC does it, the same at all ranks. Then
 * incmpi_run(), or incmpi_start() and incmpi_test().
 *
 * Threads. Every function may be called by any thread. As in MPI, two threads do not call
 * collectives of one communicator at the same time.
 */
#ifndef INCMPI_MIDDLE_H
#define INCMPI_MIDDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <inc.h>

/* MPI's collectives, with their names as they are printed. */
#define INCMPI_CALLS(X)						\
	X(BARRIER, "barrier", INC_COLL_BARRIER)			\
	X(BCAST, "bcast", INC_COLL_BROADCAST)			\
	X(REDUCE, "reduce", INC_COLL_REDUCE)			\
	X(ALLREDUCE, "allreduce", INC_COLL_ALLREDUCE)		\
	X(REDUCE_SCATTER, "reduce_scatter", INC_COLL_REDUCE_SCATTER) \
	X(REDUCE_SCATTER_BLOCK, "reduce_scatter_block", INC_COLL_REDUCE_SCATTER) \
	X(SCAN, "scan", INC_COLL_SCAN)				\
	X(EXSCAN, "exscan", INC_COLL_EXSCAN)			\
	X(GATHER, "gather", INC_COLL_GATHER)			\
	X(GATHERV, "gatherv", INC_COLL_GATHER)			\
	X(SCATTER, "scatter", INC_COLL_SCATTER)			\
	X(SCATTERV, "scatterv", INC_COLL_SCATTER)		\
	X(ALLGATHER, "allgather", INC_COLL_ALLGATHER)		\
	X(ALLGATHERV, "allgatherv", INC_COLL_ALLGATHER)		\
	X(ALLTOALL, "alltoall", INC_COLL_ALLTOALL)		\
	X(ALLTOALLV, "alltoallv", INC_COLL_ALLTOALL)		\
	X(ALLTOALLW, "alltoallw", INC_COLL_ALLTOALL)

#define INCMPI_ENUM(name, text, coll) INCMPI_##name,
enum incmpi_fn { INCMPI_CALLS(INCMPI_ENUM) INCMPI_NR_FNS };

/* Why MPI's own implementation does a call. */
#define INCMPI_REASONS(X)								\
	X(INTER, "intercommunicator", "intercommunicators have two groups")		\
	X(STRANGERS, "other_job", "a communicator with ranks of another job")		\
	X(ALONE, "one_rank", "a communicator of one rank")				\
	X(RANKS, "too_many_ranks", "more ranks than a group may have")			\
	X(MIXED, "mixed_machines", "ranks have different byte orders or type sizes")	\
	X(LOCAL, "one_host", "all ranks are on one host")				\
	X(NO_GROUP, "no_group", "no group: not all ranks could join one")		\
	X(NOT_YET, "not_yet", "non-blocking, before the communicator had a group")	\
	X(REQUESTS, "no_requests", "this MPI cannot be given requests of INC's")	\
	X(CHOSEN, "not_chosen", "not in INC_MPI_COLLS")					\
	X(OP, "operation", "an operation that INC does not have")			\
	X(TYPE, "type", "a type that INC cannot reduce with this operation")		\
	X(LACKS, "lacks", "a type or an operation that a node of the group does not reduce") \
	X(OPERAND, "operand", "exscan of logical values: rank 1's result is an operand") \
	X(EMPTY, "empty", "nothing to transfer")					\
	X(MIN, "below_min", "fewer bytes than INC_MPI_MIN")				\
	X(MAX, "above_max", "more bytes than INC_MPI_MAX")				\
	X(TABLE_MIN, "below_table", "fewer bytes than the tuning table wants for INC")	\
	X(TABLE_MAX, "above_table", "more bytes than the tuning table wants for INC")	\
	X(TABLE, "table", "a function that the tuning table leaves to the MPI")		\
	X(SHARES, "shares", "shares that some rank has too many bytes of, or that do not fit") \
	X(UNKNOWN, "unknown_shares", "non-blocking, with shares of which no rank knows all") \
	X(PERSISTENT, "persistent", "persistent, and more at once than INC_MPI_PERSISTENT") \
	X(ARGS, "arguments", "arguments that are MPI's to refuse")

/* Why an operation goes through a buffer of ours. */
#define INCMPI_STAGES(X)								\
	X(GAPS, "gaps", "elements with gaps between them, or in another order")		\
	X(PAIRS, "pairs", "pairs, which INC has in another layout")			\
	X(OPERAND, "operand", "a scan's first operand, which stays as it is")		\
	X(MEMORY, "memory", "memory that the kernel cannot pin")			\
	X(OVERLAP, "overlap", "shares that overlap, or lie about the other buffer")

#define INCMPI_STAGED(name, key, text) INCMPI_STAGED_##name,
enum incmpi_staged { INCMPI_STAGES(INCMPI_STAGED) INCMPI_NR_STAGED };

#define INCMPI_WHY(name, key, text) INCMPI_WHY_##name,
enum incmpi_why { INCMPI_WHY_NONE, INCMPI_REASONS(INCMPI_WHY) INCMPI_NR_WHYS };

/* Pairs whose layout in memory is C's, not that of packed INC pairs: they are converted. */
enum incmpi_pair {
	INCMPI_NO_PAIR,
	INCMPI_SHORT_INT,
	INCMPI_INT_INT,
	INCMPI_LONG_INT,
	INCMPI_FLOAT_INT,
	INCMPI_DOUBLE_INT,
};

/* A datatype, as far as it matters here. */
struct incmpi_type {
	const void *handle;	/* the skin's, for pack() and unpack() */
	size_t size;		/* bytes of data in one */
	ptrdiff_t extent;	/* bytes from one to the next */
	bool dense;		/* data without gaps and in order, from the buffer's address on */
	enum inc_type type;	/* for reductions; 0: not reduced by INC */
	unsigned int ops;	/* bit n: MPI has enum inc_op n for it */
	enum incmpi_pair pair;
};

/* Shares that differ, as MPI has them; they are the caller's. */
struct incmpi_shares {
	const void *counts;	/* int, or int64_t; NULL: shares are equal */
	const void *displs;	/* int, or ptrdiff_t; NULL: shares lie one behind the other */
	bool wide;		/* int64_t and ptrdiff_t */
};

/* One of a call's two buffers. */
struct incmpi_side {
	void *buf;
	bool in_place;
	bool valid;			/* no argument of it is MPI's to refuse */
	const struct incmpi_type *types;
	bool type_per_rank;		/* an array, else one; displacements are in bytes then */
	uint64_t count;			/* of each share that does not differ */
	struct incmpi_shares shares;	/* of a buffer of all ranks; displacements are in extents */
};

static inline int64_t incmpi_count_at(const struct incmpi_shares *shares, int i)
{
	return shares->wide ? ((const int64_t *)shares->counts)[i] :
			      ((const int *)shares->counts)[i];
}

static inline ptrdiff_t incmpi_displ_at(const struct incmpi_shares *shares, int i)
{
	return shares->wide ? ((const ptrdiff_t *)shares->displs)[i] :
			      ((const int *)shares->displs)[i];
}

struct incmpi_call {
	enum incmpi_fn fn;
	bool blocking;
	bool persistent;	/* what it points to stays as long as its group is its */
	enum inc_op op;		/* 0: one that INC does not have */
	int root;
	/* of a broadcast, the buffer is @recv; a reduction's type is that of @recv */
	struct incmpi_side send, recv;
};

/*
 * What a skin does for the middle. All return 0, or anything else if that failed. @comm is what
 * incmpi_comm_new() was given.
 */
struct incmpi_skin {
	int (*bcast)(void *comm, void *buf, size_t len);	/* from the communicator's rank 0 */
	int (*smallest)(void *comm, int64_t *values, size_t n);	/* of all ranks, one by one */
	void (*progress)(void);		/* called again and again while a call waits */
	int (*pack)(const void *handle, const void *from, uint64_t count, void *to, size_t bytes);
	int (*unpack)(const void *handle, const void *from, size_t bytes, void *to, uint64_t count);
	/* A type that its owner may free before a non-blocking call has ended. NULL: failed */
	const void *(*hold)(const void *handle);
	void (*release)(const void *held);
};

enum incmpi_mode { INCMPI_OFF, INCMPI_QUIET, INCMPI_ON, INCMPI_VERBOSE };

/* From the environment, see libinc-mpi(7); those of rank 0 are for all ranks of a communicator. */
struct incmpi_settings {
	enum incmpi_mode mode;
	bool asked;		/* the mode is named */
	bool report;
	bool one_host;		/* also where all ranks are on one host */
	bool early;		/* groups are made with their communicators */
	uint32_t fns;		/* bit n: enum incmpi_fn n may use INC */
	uint32_t named;		/* the same, if it was named and not one of all */
	int32_t timeout_ms;	/* of joining */
	uint32_t persistent;	/* groups of persistent calls, for each communicator */
	uint64_t min, max;	/* bytes */
};

/* settings.c; what is wrong in the environment is told on stderr and left at its default */
void incmpi_settings_read(struct incmpi_settings *set);

/* names.c */
const char *incmpi_fn_name(enum incmpi_fn fn);
enum inc_coll incmpi_fn_coll(enum incmpi_fn fn);
int incmpi_fn_parse(const char *name, size_t len);	/* -1: there is none of this name */
bool incmpi_fn_reduces(enum incmpi_fn fn);

/* ---- Communicators: comm.c ---------------------------------------------- */

struct incmpi_comm;

/*
 * Once per process, before all others. @requests: the skin can make requests for non-blocking
 * calls. @first: it tells the user what concerns the whole job: rank 0 of MPI_COMM_WORLD.
 */
void incmpi_init(const struct incmpi_skin *skin, const struct incmpi_settings *set, bool requests,
		 bool first);

/*
 * State of a communicator that INC cannot serve if it is @inter, or has @strangers, ranks of
 * another job. NULL: out of memory.
 */
struct incmpi_comm *incmpi_comm_new(void *comm, int rank, int size, bool inter, bool strangers);

/*
 * For each of its ranks, in their order, and before its first call: which process it is, by a
 * number that is the same at all of them. Groups are kept for communicators of the same ranks.
 */
void incmpi_comm_add_rank(struct incmpi_comm *c, uint64_t process);

/*
 * Equal, and not 0, at processes whose libraries understand each other. Skins compare it before
 * there is any communicator: what ranks of other builds tell one another has other lengths.
 */
int64_t incmpi_build(void);

int incmpi_comm_size(const struct incmpi_comm *c);

/* The communicator is freed. Operations under way keep its state; the group is left by a thread. */
void incmpi_comm_free(struct incmpi_comm *c);

/*
 * This rank cannot take part in a call of INC's: the group fails, so that nobody waits for it.
 * @why: what later calls are told.
 */
void incmpi_comm_break(struct incmpi_comm *c, const char *why);

/*
 * Is @c to have its group before its first blocking collective, wherever its ranks may wait for
 * each other? So it is where this was asked for (INC_MPI_EARLY), and where non-blocking calls came
 * first: collectives have one order at all ranks, so all of them say the same.
 */
bool incmpi_comm_is_early(const struct incmpi_comm *c);
bool incmpi_are_all_early(void);

/* All ranks of @c are here: they agree on a group, if they have not yet. */
void incmpi_comm_form(struct incmpi_comm *c);

/* This process can join no group: its ranks get none. */
void incmpi_cannot_join(void);

/* Have the ranks been asked for a group, and does one of them want a report? All say the same. */
bool incmpi_comm_reports(const struct incmpi_comm *c);

/* Until all groups of freed communicators have been left, some seconds at most. */
void incmpi_wait_left(void);

/*
 * Who does @call: INCMPI_WHY_NONE: INC. Blocking calls agree on a group first, by collectives of
 * the skin, if that has not been tried yet; it is counted.
 */
enum incmpi_why incmpi_decide(struct incmpi_comm *c, const struct incmpi_call *call);

/*
 * The same of a persistent call, which is being made, for all of its starts: its ranks agree, and
 * every rank whose MPI has taken the call comes here. @able: false: this rank has no memory for it.
 * *@group: of its own, for as long as incmpi_comm_put() has not given it back: ranks may start
 * their persistent calls in different orders, which one group does not allow. Of starts, this is
 * the communicator.
 */
enum incmpi_why incmpi_decide_init(struct incmpi_comm *c, const struct incmpi_call *call, bool able,
				   struct incmpi_comm **group);
void incmpi_comm_put(struct incmpi_comm *group);

/* ---- Operations: op.c ---------------------------------------------------- */

/*
 * The call, which incmpi_decide() has given to INC. 0 or a negative errno, see inc_collective();
 * incmpi_errmsg() has the text. After an error that not every rank has seen, and those that end a
 * group, all further calls on @c fail. INCMPI_BY_MPI: nothing has been done, at no rank, and MPI's
 * own implementation is to do it; that is counted.
 */
#define INCMPI_BY_MPI	1
int incmpi_run(struct incmpi_comm *c, const struct incmpi_call *call);

/* The same without waiting: what @call points to stays valid to the end, but not @call itself. */
struct incmpi_op;
int incmpi_start(struct incmpi_comm *c, const struct incmpi_call *call, struct incmpi_op **out);

/* -EAGAIN: it goes on. Else its result, as often as asked. */
int incmpi_test(struct incmpi_op *op);
void incmpi_op_free(struct incmpi_op *op);

/* Sleeps until some operation of @op's communicator has ended, a millisecond at most. */
void incmpi_pause(struct incmpi_op *op);

/* Of the calling thread's last failure. */
const char *incmpi_errmsg(void);

/* ---- Counters: count.c --------------------------------------------------- */

enum incmpi_form { INCMPI_BLOCKING, INCMPI_NONBLOCKING, INCMPI_PERSISTENT, INCMPI_NR_FORMS };

/* In one array, to be summed over ranks. */
enum incmpi_count {
	INCMPI_COUNT_GROUPS,		/* joined */
	INCMPI_COUNT_AGAIN,		/* used by another communicator of the same ranks */
	INCMPI_COUNT_REFUSED,		/* communicators whose ranks could not all join */
	INCMPI_COUNT_ERRORS,		/* operations that failed */
	INCMPI_COUNT_TIMED,		/* blocking ones whose line of the tuning table has times */
	INCMPI_COUNT_SAVED,		/* nanoseconds by those; two's complement, if negative */
	INCMPI_COUNT_STAGED,		/* operations through a buffer of ours, by what for */
	/* by function: blocking, non-blocking, starts of persistent ones */
	INCMPI_COUNT_OPS = INCMPI_COUNT_STAGED + INCMPI_NR_STAGED,
	INCMPI_COUNT_BYTES = INCMPI_COUNT_OPS + INCMPI_NR_FORMS * INCMPI_NR_FNS,
	INCMPI_COUNT_WHY = INCMPI_COUNT_BYTES + INCMPI_NR_FORMS * INCMPI_NR_FNS,
	INCMPI_NR_COUNTS = INCMPI_COUNT_WHY + INCMPI_NR_WHYS,
};

void incmpi_count(unsigned int index, uint64_t n);
void incmpi_counts(uint64_t counts[INCMPI_NR_COUNTS]);
void incmpi_report(FILE *out, const uint64_t counts[INCMPI_NR_COUNTS], int ranks);

/*
 * This process's counter of this name, for tests and tools (dlsym(), for the component of what
 * dlopen("mca_coll_inc.so", RTLD_NOLOAD) gives): "allreduce", "iallreduce", "allreduce_init" (of
 * which each start is one), "allreduce.bytes", "groups", "again", "refused", "errors", "timed",
 * "saved_ns", "staged.gaps", "why.type". ~0: there is none.
 */
uint64_t inc_mpi_counter(const char *name);

const char *incmpi_why_text(enum incmpi_why why);

#endif
