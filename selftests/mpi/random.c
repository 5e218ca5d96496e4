// SPDX-License-Identifier: GPL-2.0-only
/* Random calls on random communicators, blocking ones and many at once. */
#include "mpi-coll.h"

#define NR_PENDING	5

/* Does INC do it, if it can have a group? As libinc-mpi(7) says. */
static bool is_eligible(const struct test_call *c)
{
	if (c->g->size == 1)
		return false;
	if (!c->blocking && !c->persistent && (!c->g->asked || c->fn == ALLTOALLW))
		return false;
	if (c->fn == BARRIER)
		return true;
	if (c->fn == EXSCAN && reductions[c->op].logical)
		return false;
	if (c->fn == REDUCE_SCATTER || c->fn == ALLGATHERV) {
		for (int i = 0; i < c->g->size; i++)
			if (c->recv_counts[i])
				return true;
		return false;
	}
	return is_vector(c->fn) || c->count;
}

bool is_inc(const struct test_call *c)
{
	return expected == EXPECT_INC && is_eligible(c);
}

static void counter_name(char name[40], const struct test_call *c)
{
	snprintf(name, 40, "%s%s", c->blocking ? "" : "i", fn_names[c->fn]);
}

static bool is_drawn(const struct test_call *c)
{
	if (types[c->type].type == MPI_DATATYPE_NULL)
		return false;
	if (is_reduction(c->fn))
		return reductions[c->op].kinds >> types[c->type].kind & 1;
	return expected == EXPECT_INC || types[c->type].kind != PAIR;
}

/*
 * Open MPI 4.1.4 hangs in place where a rank has nothing at all to exchange and others have
 * something for themselves: who has nothing takes no part (seen without INC).
 */
static bool hangs_in_place(const struct test_call *c)
{
	return !c->blocking && (c->fn == ALLTOALLV || c->fn == ALLTOALLW) && !is_inc(c);
}

void draw_call(struct test_call *c, struct group *g, bool blocking)
{
	unsigned int layouts[2];

	memset(c, 0, sizeof(*c));
	c->g = g;
	c->blocking = blocking;
	c->fn = draw(NR_FNS);
	for (int i = 0; only_fn && i < NR_FNS; i++)
		if (!strcmp(only_fn, fn_names[i]))
			c->fn = (enum fn)i;
	do {
		c->type = draw(nr_types);
		c->op = draw(nr_reductions);
	} while (!is_drawn(c));
	c->mixed = !draw(8) && !is_reduction(c->fn) && expected == EXPECT_INC;
	c->root = (int)draw(MAX_RANKS) % g->size;
	c->count = 2 * (int)(draw(10) ? draw(20) : draw(3000));
	c->key = ((uint64_t)draw(1u << 31)) << 20;
	c->in_place = !draw(3);
	layouts[0] = draw_at(c->key, (uint64_t)rank, 1, NR_LAYOUTS);
	layouts[1] = draw_at(c->key, (uint64_t)rank, 2, NR_LAYOUTS);
	if (!may_be_in_place(c) || hangs_in_place(c))
		c->in_place = false;
	if (is_reduction(c->fn) || expected != EXPECT_INC)
		memset(layouts, 0, sizeof(layouts));	/* PLAIN */
	/* at each rank on its own */
	c->is_wide = MPI_VERSION >= 4 && draw_at(c->key, (uint64_t)rank, 3, 2);
	c->send = make_place(base_type(c), layouts[0]);
	c->recv = make_place(base_type(c), layouts[1]);
	prepare_counts(c);
	prepare_data(c);
}

void end_call(struct test_call *c)
{
	compare_results(c);
	free_place(&c->send);
	free_place(&c->recv);
	free(c->in);
	free(c->out);
	free(c->want);
}

static void check_counted(const struct test_call *c, const char *name, uint64_t before)
{
	uint64_t done = count_of(name) - before;

	by_inc += done;
	by_mpi += !done;
	if (expected != EXPECT_ANY && done != is_inc(c))
		fail("%s: INC did %llu of it, expected %d", describe(c), (unsigned long long)done,
		     is_inc(c));
}

static void run_call(struct test_call *c)
{
	char name[40];
	uint64_t before;
	int ret;

	counter_name(name, c);
	before = count_of(name);
	ret = call_mpi(c, NULL);
	if (ret)
		fail("%s: error %d", describe(c), ret);
	c->g->asked = true;
	check_counted(c, name, before);
	if (run_plain(c))
		fail("%s: MPI's own failed", describe(c));
	end_call(c);
}

void run_blocking(struct group *g)
{
	struct test_call c;

	draw_call(&c, g, true);
	run_call(&c);
}

struct group groups[NR_COMMS];

static void set_group(struct group *g, MPI_Comm comm)
{
	g->comm = comm;
	g->asked = false;
	PMPI_Comm_rank(comm, &g->rank);
	PMPI_Comm_size(comm, &g->size);
}

/* By rank, reversed, in two or three parts, or a copy; made of the world. */
static void make_group(struct group *g)
{
	unsigned int how = draw(4), parts = 1 + draw(3), key = draw(1u << 30);
	MPI_Comm comm;

	if (how == 0)
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	else if (how == 1)
		MPI_Comm_split(MPI_COMM_WORLD, rank % (int)parts, -rank, &comm);
	else
		MPI_Comm_split(MPI_COMM_WORLD, (int)draw_at(key, (uint64_t)rank, 0, parts),
			       rank, &comm);
	set_group(g, comm);
}

void make_groups(void)
{
	set_group(&groups[0], MPI_COMM_WORLD);
	for (int i = 1; i < NR_COMMS; i++)
		make_group(&groups[i]);
}

void free_groups(void)
{
	for (int i = 1; i < NR_COMMS; i++)
		MPI_Comm_free(&groups[i].comm);
}

struct group *draw_group(void)
{
	struct group *g = &groups[draw(NR_COMMS)];

	if (g != groups && !draw(20)) {
		MPI_Comm_free(&g->comm);
		make_group(g);
	}
	return g;
}

void test_random(void)
{
	make_groups();
	for (int i = 0; i < nr_ops; i++)
		run_blocking(draw_group());
	free_groups();
}

/* Each type that is reduced, by each operation that MPI has for it. */
void test_types(void)
{
	struct group world = { .comm = MPI_COMM_WORLD, .rank = rank, .size = size };

	for (unsigned int i = 0; i < nr_types * nr_reductions; i++) {
		struct test_call c = {
			.g = &world, .fn = ALLREDUCE, .type = i / nr_reductions,
			.op = i % nr_reductions, .blocking = true, .count = 6,
			.key = (uint64_t)i << 20,
		};

		if (!is_drawn(&c))
			continue;
		c.send = make_place(base_type(&c), PLAIN);
		c.recv = make_place(base_type(&c), PLAIN);
		prepare_counts(&c);
		prepare_data(&c);
		run_call(&c);
	}
}

static bool all_done(const MPI_Request requests[], int n)
{
	for (int i = 0; i < n; i++)
		if (requests[i] != MPI_REQUEST_NULL)
			return false;
	return true;
}

void complete_some(MPI_Request requests[], int n, int left, unsigned int how)
{
	MPI_Status statuses[MOST_REQUESTS];
	int flag = 0, index, nr, indices[MOST_REQUESTS];

	for (int i = 0; i < n && how == 0; i++)
		MPI_Wait(&requests[i], i % 2 ? &statuses[i] : MPI_STATUS_IGNORE);
	for (int i = n - 1; i >= 0 && how == 1; i--, flag = 0)
		while (!flag)
			MPI_Test(&requests[i], &flag, &statuses[i]);
	if (how == 2)
		MPI_Waitall(n, requests, statuses);
	if (how == 3)
		MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
	while (how == 4 && !flag)
		MPI_Testall(n, requests, &flag, statuses);
	for (; left && how == 5; left--)
		MPI_Waitany(n, requests, &index, &statuses[0]);
	for (; left && how == 6; left -= flag)
		MPI_Testany(n, requests, &index, &flag, &statuses[0]);
	for (; left && how == 7; left -= nr)
		MPI_Waitsome(n, requests, &nr, indices, statuses);
	for (; left && how == 8; left -= nr)
		MPI_Testsome(n, requests, &nr, indices, statuses);
	if (how == 9) {
		while (!flag)
			MPI_Request_get_status(requests[0], &flag, &statuses[0]);
		MPI_Waitall(n, requests, statuses);
	}
}

static void complete(MPI_Request requests[], int n, unsigned int how)
{
	complete_some(requests, n, n, how);
	if (!all_done(requests, n))
		fail("way %u of completing requests left some", how);
}

static int ring_rank(const struct group *g, int by)
{
	return (g->rank + by + g->size) % g->size;
}

/* Some non-blocking calls at once, now and then a blocking one among them, and a message. */
static void run_pending(struct group *g)
{
	struct test_call calls[NR_PENDING];
	MPI_Request requests[NR_PENDING + 2];
	int n = 1 + (int)draw(NR_PENDING), ret, token = rank, got = -1, nr = 0;
	unsigned int how = draw(10);
	char name[40];
	uint64_t before;

	for (int i = 0; i < n; i++) {
		draw_call(&calls[i], g, i && !draw(5));
		counter_name(name, &calls[i]);
		before = count_of(name);
		ret = call_mpi(&calls[i], calls[i].blocking ? NULL : &requests[nr]);
		nr += !calls[i].blocking;
		if (ret)
			fail("%s: error %d", describe(&calls[i]), ret);
		if (calls[i].blocking) {
			check_counted(&calls[i], name, before);
			g->asked = true;
		}
	}
	PMPI_Irecv(&got, 1, MPI_INT, ring_rank(g, -1), 1, g->comm, &requests[nr]);
	PMPI_Isend(&token, 1, MPI_INT, ring_rank(g, 1), 1, g->comm, &requests[nr + 1]);
	complete(requests, nr + 2, how);
	if (got < 0)
		fail("a message among requests was not received");
	for (int i = 0; i < n; i++) {
		if (run_plain(&calls[i]))
			fail("%s: MPI's own failed", describe(&calls[i]));
		end_call(&calls[i]);
	}
}

static uint64_t all_nonblocking(void)
{
	uint64_t sum = 0;
	char name[40];

	for (int i = 0; i < NR_FNS; i++) {
		snprintf(name, sizeof(name), "i%s", fn_names[i]);
		sum += count_of(name);
	}
	return sum;
}

static bool is_inc_expected(void)
{
	return expected == EXPECT_INC;
}

void test_requests(void)
{
	uint64_t before = all_nonblocking(), done;

	make_groups();
	for (int i = 0; i < nr_ops / 3; i++)
		run_pending(draw_group());
	free_groups();
	done = all_nonblocking() - before;
	by_inc += done;
	if (expected != EXPECT_ANY && (bool)done != is_inc_expected())
		fail("INC did %llu non-blocking calls", (unsigned long long)done);
}
