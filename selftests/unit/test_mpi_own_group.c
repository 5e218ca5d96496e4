// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups of persistent calls of libinc-mpi: what three ranks agree on when one is made, each of
 * which is a thread with a communicator of its own.
 */
#define _GNU_SOURCE
#include "../../userspace/mpi/own_group.c"
#include "ktap.h"

#include <stdlib.h>

#define RANKS	3
#define LIMIT	2

struct rank {
	struct incmpi_comm comm;
	enum incmpi_why against, why;
	struct incmpi_comm *group;
	int64_t said[1 + INCMPI_MAX_PERSISTENT];
};

static struct rank ranks[RANKS];
static pthread_barrier_t all_here;
static bool can_join, has_lacks;
static unsigned int nr_joins, nr_freed;

/* ---- The MPI, and the rest of the middle ---- */

static int smallest(void *comm, int64_t *values, size_t n)
{
	struct rank *r = comm;

	memcpy(r->said, values, n * sizeof(*values));
	pthread_barrier_wait(&all_here);
	for (int i = 0; i < RANKS; i++)
		for (size_t k = 0; k < n; k++)
			if (ranks[i].said[k] < values[k])
				values[k] = ranks[i].said[k];
	pthread_barrier_wait(&all_here);
	return 0;
}

const struct incmpi_skin *incmpi_skin(void)
{
	static const struct incmpi_skin skin = { .smallest = smallest };

	return &skin;
}

struct incmpi_comm *incmpi_comm_new(void *comm, int rank, int size, bool inter, bool strangers)
{
	struct incmpi_comm *c = calloc(1, sizeof(*c));

	c->comm = comm;
	c->rank = rank;
	c->size = size;
	c->inter = inter;
	c->strangers = strangers;
	c->refs = 1;
	pthread_mutex_init(&c->lock, NULL);
	return c;
}

void incmpi_comm_get(struct incmpi_comm *c)
{
	c->refs++;
}

void incmpi_comm_put(struct incmpi_comm *c)
{
	if (--c->refs)
		return;
	__atomic_fetch_add(&nr_freed, 1, __ATOMIC_RELAXED);
	free(c);
}

bool incmpi_join_more(struct incmpi_comm *c, struct incmpi_comm *more,
		      const struct incmpi_settings *own)
{
	(void)own;
	if (!c->rank)
		nr_joins++;
	if (can_join)
		more->group = (struct inc_group *)more;
	more->lacks.types = has_lacks;
	return can_join;
}

/* A call with a root needs what some groups lack. */
bool incmpi_is_lacking(const struct incmpi_comm *c, const struct incmpi_call *call)
{
	return call->root && c->lacks.types;
}

/* ---- A call is made at all ranks ---- */

static struct incmpi_call the_call;

static void *make_at(void *arg)
{
	struct rank *r = arg;

	r->group = NULL;
	r->why = incmpi_agree_init(&r->comm, &r->comm.set, &the_call, r->against, &r->group);
	return NULL;
}

static void make_call(void)
{
	pthread_t threads[RANKS];

	for (int i = 0; i < RANKS; i++)
		pthread_create(&threads[i], NULL, make_at, &ranks[i]);
	for (int i = 0; i < RANKS; i++)
		pthread_join(threads[i], NULL);
}

/* All ranks have got number @n of their groups. */
static void expect_group(const char *what, unsigned int n)
{
	for (int i = 0; i < RANKS; i++)
		expect(!ranks[i].why && ranks[i].group == ranks[i].comm.own[n],
		       "%s: rank %d: reason %d, another group", what, i, ranks[i].why);
}

static void expect_why(const char *what, enum incmpi_why why)
{
	for (int i = 0; i < RANKS; i++)
		expect(ranks[i].why == why && !ranks[i].group, "%s: rank %d: reason %d, expected %d",
		       what, i, ranks[i].why, why);
}

static void begin(void)
{
	memset(ranks, 0, sizeof(ranks));
	pthread_barrier_init(&all_here, NULL, RANKS);
	can_join = true;
	has_lacks = false;
	the_call.root = 0;
	nr_joins = 0;
	nr_freed = 0;
	for (int i = 0; i < RANKS; i++) {
		ranks[i].comm.comm = &ranks[i];
		ranks[i].comm.rank = i;
		ranks[i].comm.size = RANKS;
		ranks[i].comm.set.persistent = LIMIT;
	}
}

static void end(unsigned int groups)
{
	for (int i = 0; i < RANKS; i++)
		incmpi_own_groups_put(&ranks[i].comm);
	expect(nr_freed == groups, "%u groups were freed, expected %u", nr_freed, groups);
	pthread_barrier_destroy(&all_here);
}

static void give_back(int rank, unsigned int n)
{
	incmpi_comm_put(ranks[rank].comm.own[n]);
}

/* One that all ranks have given back is used again; one that some rank still has is not. */
static void test_given_back(void)
{
	begin();
	make_call();
	expect_group("the first call", 0);
	give_back(0, 0);
	give_back(1, 0);
	make_call();
	expect_group("one rank has the first group", 1);
	give_back(2, 0);
	make_call();
	expect_group("all have given it back", 0);
	expect(nr_joins == 2, "%u groups were joined", nr_joins);
	for (int i = 0; i < RANKS; i++) {
		give_back(i, 0);
		give_back(i, 1);
	}
	end(2 * RANKS);
}

/* The calls that have the first one live longer than the communicator. */
static void test_limit(void)
{
	struct incmpi_comm *last[RANKS];

	begin();
	make_call();
	make_call();
	make_call();
	expect_why("more than there may be", INCMPI_WHY_PERSISTENT);
	expect(nr_joins == LIMIT, "%u groups were joined", nr_joins);
	for (int i = 0; i < RANKS; i++)
		give_back(i, 1);
	ranks[1].comm.own[1]->broken = true;
	make_call();
	expect_why("the one that is free is broken at one rank", INCMPI_WHY_PERSISTENT);
	for (int i = 0; i < RANKS; i++)
		last[i] = ranks[i].comm.own[0];
	end(RANKS);
	for (int i = 0; i < RANKS; i++)
		incmpi_comm_put(last[i]);
}

/* What one rank has against INC is every rank's reason, but for those that have their own. */
static void test_reasons(void)
{
	begin();
	ranks[2].against = INCMPI_WHY_SHARES;
	make_call();
	expect_why("one rank", INCMPI_WHY_SHARES);
	ranks[1].against = INCMPI_WHY_ARGS;
	make_call();
	expect(ranks[0].why == INCMPI_WHY_ARGS && ranks[1].why == INCMPI_WHY_ARGS &&
	       ranks[2].why == INCMPI_WHY_SHARES, "two ranks: reasons %d, %d, %d", ranks[0].why,
	       ranks[1].why, ranks[2].why);
	expect(!nr_joins, "%u groups were joined", nr_joins);
	end(0);
}

/* Where not all ranks can join, they do not try again, but go on with the groups that there are. */
static void test_no_more(void)
{
	begin();
	make_call();
	can_join = false;
	make_call();
	expect_why("a group that not all can join", INCMPI_WHY_NO_GROUP);
	can_join = true;
	make_call();
	expect_why("after it", INCMPI_WHY_NO_GROUP);
	expect(nr_joins == 2, "%u groups were to be joined", nr_joins);
	for (int i = 0; i < RANKS; i++)
		give_back(i, 0);
	make_call();
	expect_group("the one that there is", 0);
	for (int i = 0; i < RANKS; i++)
		give_back(i, 0);
	end(2 * RANKS);
}

/* Nodes of a group that is joined later may lack what those of the one before had. */
static void test_lacks(void)
{
	begin();
	make_call();
	expect_group("the first call", 0);
	has_lacks = true;
	the_call.root = 1;
	make_call();
	expect_why("a group that lacks it", INCMPI_WHY_LACKS);
	make_call();
	expect_why("the same, which nobody uses", INCMPI_WHY_LACKS);
	expect(nr_joins == 2, "%u groups were joined", nr_joins);
	for (int i = 0; i < RANKS; i++)
		give_back(i, 0);
	make_call();
	expect_group("one that has it is free", 0);
	the_call.root = 0;
	make_call();
	expect_group("what needs less", 1);
	expect(nr_joins == 2, "%u groups were joined", nr_joins);
	for (int i = 0; i < RANKS; i++) {
		give_back(i, 0);
		give_back(i, 1);
	}
	end(2 * RANKS);
}

static const struct ktap_test tests[] = {
	KTAP(test_given_back), KTAP(test_limit), KTAP(test_reasons), KTAP(test_no_more),
	KTAP(test_lacks),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
