/* SPDX-License-Identifier: GPL-2.0-only */
/* mpi-coll: what its files know of one another. */
#ifndef INC_MPI_COLL_H
#define INC_MPI_COLL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#define MAX_RANKS	64

/* ---- mpi-coll.c: what the program was asked for, and what has come of it ---- */

enum expected { EXPECT_ANY, EXPECT_INC, EXPECT_MPI, EXPECT_OFF, EXPECT_ABSENT };

extern int rank, size;			/* of the world */
extern uint64_t seed;
extern int nr_ops;			/* --ops */
extern enum expected expected;		/* --expect */
extern const char *only_fn;		/* --fn, NULL: any */
extern bool has_threads;		/* MPI_THREAD_MULTIPLE */
extern bool has_component;		/* mca_coll_inc.so, instead of libinc-mpi.so */
extern uint64_t by_inc, by_mpi;		/* calls of this rank */

void __attribute__((__format__(__printf__, 1, 2), __noreturn__)) fail(const char *fmt, ...);
/* libinc-mpi's counter of this name, 0 without libinc-mpi. */
uint64_t count_of(const char *name);
/* It has grown from @before by @n, or by nothing where INC is not to do it. */
void expect_inc(const char *what, const char *name, uint64_t before, uint64_t n);
/* Communicators that have got a group: one of their own, or one that was kept. */
uint64_t groups_found(void);
void expect_groups(const char *what, uint64_t before, uint64_t n);

/* ---- numbers.c ---- */

extern uint64_t drawn;			/* numbers so far */

uint64_t mix(uint64_t x);
/* 0 .. n - 1, the same at all ranks; draw_at() of its arguments only. */
unsigned int draw(unsigned int n);
unsigned int draw_at(uint64_t key, uint64_t a, uint64_t b, unsigned int n);

/* ---- types.c ---- */

/* INTEGER: has no logical operations. */
enum kind { INT, UNSIGNED, INTEGER, FLOAT, COMPLEX, BOOL, BYTES, CHARS, PAIR, NR_KINDS };

struct element_type {
	const char *name;
	MPI_Datatype type;
	enum kind kind;
	size_t value;		/* bytes of its first part */
	bool real;		/* that is a float */
};

struct reduction {
	const char *name;
	MPI_Op op;
	unsigned int kinds;	/* bit KIND: of elements that have it */
	bool logical;
};

struct int_double { int i; double d; };

extern const struct element_type types[];
extern const unsigned int nr_types;
extern const struct reduction reductions[];
extern const unsigned int nr_reductions;
extern MPI_Datatype mixed;		/* of struct int_double */

void make_mixed(void);
size_t extent_of(MPI_Datatype type);
void put_element(char *at, unsigned int t, bool bits, uint64_t key, uint64_t who, uint64_t i);

/* ---- layout.c ---- */

enum layout { PLAIN, SPACED, PAIRED, REVERSED, CONTIGUOUS, NR_LAYOUTS };

struct place {
	enum layout layout;
	MPI_Datatype type;
	int unit;		/* elements in one */
	bool made;
};

struct place make_place(MPI_Datatype of, enum layout layout);
void free_place(struct place *place);
/* Where element @k of a buffer is, in elements. */
size_t element_at(enum layout layout, size_t k);

/* ---- call.c ---- */

enum fn {
	BARRIER, BCAST, REDUCE, ALLREDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN, EXSCAN,
	GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW,
	NR_FNS,
};

/* A communicator and what is known of it. */
struct group {
	MPI_Comm comm;
	int rank, size;
	bool asked;		/* it has seen a blocking call */
};

struct test_call {
	struct group *g;
	enum fn fn;
	unsigned int type, op;
	bool mixed, blocking, persistent, in_place;
	int root, count;	/* elements, even */
	uint64_t key;
	unsigned int start;	/* of a persistent one, whose data is another each time */
	struct place send, recv;
	int send_counts[MAX_RANKS], recv_counts[MAX_RANKS];
	int send_displs[MAX_RANKS], recv_displs[MAX_RANKS];
	MPI_Datatype send_types[MAX_RANKS], recv_types[MAX_RANKS];
	bool is_wide;		/* by the function MPI_X_c() of MPI 4 */
	struct wide_arrays {
		MPI_Count send_counts[MAX_RANKS], recv_counts[MAX_RANKS];
		MPI_Aint send_displs[MAX_RANKS], recv_displs[MAX_RANKS];
	} wide;
	size_t bytes;		/* of each buffer */
	char *in, *out, *want;
};

extern const char *const fn_names[];

bool is_reduction(enum fn fn);
bool is_vector(enum fn fn);
bool may_be_in_place(const struct test_call *c);
int share(const struct test_call *c, int from, int to);
MPI_Datatype base_type(const struct test_call *c);
void prepare_counts(struct test_call *c);
void prepare_data(struct test_call *c);
void fill_data(struct test_call *c);
/* What MPI, or PMPI, returns; the results are in c->out, or in c->want. @request: NULL: blocking */
int call_mpi(const struct test_call *c, MPI_Request *request);
int call_pmpi(const struct test_call *c);
/*
 * PMPI_X is the MPI's own, but for a component inside the MPI: a copy of the communicator that does
 * without it, kept as long as the communicator is.
 */
MPI_Comm plain_comm(MPI_Comm comm);
/* In words, until the next call. */
const char *describe(const struct test_call *c);
#define MOST_REQUESTS	64
/*
 * random.c: by each function that completes requests, as @how from 0 to 9 says. @n: MOST_REQUESTS
 * at most, of which @left are active.
 */
void complete_some(MPI_Request requests[], int n, int left, unsigned int how);

/* ---- compare.c ---- */

/* The same by the MPI itself, into c->want; what it returns. */
int run_plain(struct test_call *c);
void compare_results(struct test_call *c);

/* ---- random.c ---- */

#define NR_COMMS	6

extern struct group groups[NR_COMMS];		/* the first is the world */

void make_groups(void);
void free_groups(void);
struct group *draw_group(void);
/* A call that is drawn; all ranks of the world draw it at once, for their communicators. */
void draw_call(struct test_call *c, struct group *g, bool blocking);
void run_blocking(struct group *g);
void end_call(struct test_call *c);
bool is_inc(const struct test_call *c);

/* ---- persistent.c ---- */

/* A persistent barrier. False: the MPI has none. */
bool make_barrier(MPI_Comm comm, MPI_Request *request);

/* ---- The tests ---- */

void test_random(void);
void test_types(void);
void test_requests(void);
void test_comms(void);
void test_progress(void);
void test_semantics(void);
void test_inter(void);
void test_inter_arrays(void);
void test_many(void);
void test_idup(void);
void test_attributes(void);
void test_stays(void);
void test_end(void);
void test_refused(void);
void test_overlap(void);
void test_bottom(void);
void test_lengths(void);
void test_nothing(void);
void test_persistent(void);
void test_shares(void);
void test_mapped(void);
void test_tune(void);
void test_untuned(void);
void test_unasked(void);
void test_early(void);
void test_again(void);
void test_gone(void);
void test_threads(void);
void test_formed(void);
void test_waits(void);
void test_lost(void);

#endif
