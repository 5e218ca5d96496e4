// SPDX-License-Identifier: GPL-2.0-only
/*
 * Persistent collectives, of MPI 4 or as Open MPI's extension: random ones, which each rank starts
 * in an order of its own, again and again, with other data each time. Expected results are those of
 * the MPI's blocking ones.
 *
 * MPICH 4.0 has faults of its own, seen without libinc-mpi. Of four ranks, its
 * MPI_Allgather_init() is right only when it is started for the first time, its MPI_Gather_init()
 * of one rank never. Where ranks start its persistent collectives in different orders, these meet
 * others than their own. One that has never been started is waited for without end, and one that
 * has been is complete ever after for functions that say which one is. So what MPICH would do
 * itself is left out.
 */
#include "mpi-coll.h"

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#define NR_MADE		5	/* calls at once, fewer than INC_MPI_PERSISTENT is by default */
#define NR_REQUESTS	(NR_MADE + 2)
#define LIMIT		16	/* that default */

#if MPI_VERSION >= 4
#define INIT_FN(name)	MPI_##name##_init
#define WIDE_INIT(name)	MPI_##name##_init_c
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define INIT_FN(name)	MPIX_##name##_init
#endif

#ifdef MPICH_VERSION
#define IS_MPICH	true
#else
#define IS_MPICH	false
#endif

#ifdef INIT_FN

/* ---- Making one --------------------------------------------------------------- */

#define INFO	MPI_INFO_NULL

/* By FN(name), with the arrays of counts in @a. */
#define MAKE(FN, c, a, request, ret) do {						\
	const void *s = (c)->in_place ? MPI_IN_PLACE : (c)->in;				\
	void *out = (c)->out, *r = (c)->in_place ? MPI_IN_PLACE : out;			\
	MPI_Datatype st = (c)->send.type, rt = (c)->recv.type;				\
	int sn = (c)->count / (c)->send.unit, rn = (c)->count / (c)->recv.unit;		\
	int own = share(c, (c)->g->rank, 0) / (c)->send.unit, root = (c)->root;		\
	MPI_Op op = reductions[(c)->op].op;						\
	MPI_Comm comm = (c)->g->comm;							\
											\
	switch ((c)->fn) {								\
	case BCAST:									\
		(ret) = FN(Bcast)(out, rn, rt, root, comm, INFO, request);		\
		break;									\
	case REDUCE:									\
		(ret) = FN(Reduce)(s, out, rn, rt, op, root, comm, INFO, request);	\
		break;									\
	case ALLREDUCE:									\
		(ret) = FN(Allreduce)(s, out, rn, rt, op, comm, INFO, request);		\
		break;									\
	case REDUCE_SCATTER:								\
		(ret) = FN(Reduce_scatter)(s, out, (a)->recv_counts, rt, op, comm, INFO, \
					   request);					\
		break;									\
	case REDUCE_SCATTER_BLOCK:							\
		(ret) = FN(Reduce_scatter_block)(s, out, rn, rt, op, comm, INFO, request); \
		break;									\
	case SCAN:									\
		(ret) = FN(Scan)(s, out, rn, rt, op, comm, INFO, request);		\
		break;									\
	case EXSCAN:									\
		(ret) = FN(Exscan)(s, out, rn, rt, op, comm, INFO, request);		\
		break;									\
	case GATHER:									\
		(ret) = FN(Gather)(s, sn, st, out, rn, rt, root, comm, INFO, request);	\
		break;									\
	case GATHERV:									\
		(ret) = FN(Gatherv)(s, own, st, out, (a)->recv_counts,			\
				    (a)->recv_displs, rt, root, comm, INFO, request);	\
		break;									\
	case SCATTER:									\
		(ret) = FN(Scatter)((c)->in, sn, st, r, rn, rt, root, comm, INFO, request); \
		break;									\
	case SCATTERV:									\
		rn = share(c, 0, (c)->g->rank) / (c)->recv.unit;			\
		(ret) = FN(Scatterv)((c)->in, (a)->send_counts, (a)->send_displs, st, r, \
				     rn, rt, root, comm, INFO, request);		\
		break;									\
	case ALLGATHER:									\
		(ret) = FN(Allgather)(s, sn, st, out, rn, rt, comm, INFO, request);	\
		break;									\
	case ALLGATHERV:								\
		(ret) = FN(Allgatherv)(s, own, st, out, (a)->recv_counts,		\
				       (a)->recv_displs, rt, comm, INFO, request);	\
		break;									\
	case ALLTOALL:									\
		(ret) = FN(Alltoall)(s, sn, st, out, rn, rt, comm, INFO, request);	\
		break;									\
	case ALLTOALLV:									\
		(ret) = FN(Alltoallv)(s, (a)->send_counts, (a)->send_displs, st, out,	\
				      (a)->recv_counts, (a)->recv_displs, rt, comm, INFO, \
				      request);						\
		break;									\
	default:									\
		(ret) = FN(Alltoallw)(s, (a)->send_counts, (a)->send_displs,		\
				      (c)->send_types, out, (a)->recv_counts,		\
				      (a)->recv_displs, (c)->recv_types, comm, INFO,	\
				      request);						\
	}										\
} while (0)

static int make_call(const struct test_call *c, MPI_Request *request)
{
	int ret;

	if (c->fn == BARRIER)
		return INIT_FN(Barrier)(c->g->comm, INFO, request);
#ifdef WIDE_INIT
	if (c->is_wide) {
		MAKE(WIDE_INIT, c, &c->wide, request, ret);
		return ret;
	}
#endif
	MAKE(INIT_FN, c, c, request, ret);
	return ret;
}

/* The types that a call was made with are freed, and those of a copy of it are others. */
static void renew_types(struct test_call *c)
{
	free_place(&c->send);
	free_place(&c->recv);
	c->send = make_place(base_type(c), c->send.layout);
	c->recv = make_place(base_type(c), c->recv.layout);
	prepare_counts(c);
}

/* What a call was made with but for its buffers is not looked at later. */
static void make_drawn(struct test_call *c, MPI_Request *request)
{
	struct test_call made = *c;

	if (make_call(&made, request))
		fail("%s: it could not be made", describe(c));
	if (is_inc(c))
		renew_types(c);
	memset(&made, 0x5a, sizeof(made));
}

/* ---- Random ones ---------------------------------------------------------------- */

struct made {
	struct group *g;
	int n;			/* calls; behind them, what is sent to a neighbour and received */
	struct test_call calls[NR_MADE];
	MPI_Request requests[NR_REQUESTS];
	unsigned int which[NR_REQUESTS];	/* the request of which one stands there */
	bool started[NR_REQUESTS];		/* by number */
	bool made[NR_REQUESTS];			/* the same */
	int token, got;
};

static int neighbour(const struct group *g, int by)
{
	return (g->rank + by + g->size) % g->size;
}

static void make_all(struct made *m)
{
	m->n = 1 + (int)draw(NR_MADE);
	for (int i = 0; i < m->n; i++) {
		draw_call(&m->calls[i], m->g, false);
		m->calls[i].persistent = true;
		m->made[i] = !IS_MPICH || is_inc(&m->calls[i]);
		m->requests[i] = MPI_REQUEST_NULL;
		if (m->made[i])
			make_drawn(&m->calls[i], &m->requests[i]);
		/* MPI_Gather_init() of MPICH 4.0 gathers the root's own share at once */
		fill_data(&m->calls[i]);
		m->g->asked = m->g->asked || m->made[i];
	}
	m->made[m->n] = true;
	m->made[m->n + 1] = true;
	MPI_Send_init(&m->token, 1, MPI_INT, neighbour(m->g, 1), 2, m->g->comm,
		      &m->requests[m->n]);
	MPI_Recv_init(&m->got, 1, MPI_INT, neighbour(m->g, -1), 2, m->g->comm,
		      &m->requests[m->n + 1]);
	for (unsigned int i = 0; i < NR_REQUESTS; i++)
		m->which[i] = i;
}

/* Another order at each rank. */
static void shuffle(struct made *m, uint64_t key)
{
	for (unsigned int i = (unsigned int)m->n + 1; i; i--) {
		unsigned int j = draw_at(key, (uint64_t)rank, i, i + 1), which = m->which[i];
		MPI_Request request = m->requests[i];

		m->requests[i] = m->requests[j];
		m->which[i] = m->which[j];
		m->requests[j] = request;
		m->which[j] = which;
	}
}

/* Some of them, the same at all ranks; of those, the first ones in their order at once. */
static void start_some(struct made *m, uint64_t key)
{
	int n = m->n + 2, at_once = (int)draw_at(key, (uint64_t)rank, 100, (unsigned int)n + 1);

	for (int i = 0; i < at_once; i++)
		if (!m->started[m->which[i]])
			at_once = i;
	if (at_once && MPI_Startall(at_once, m->requests))
		fail("MPI_Startall: error");
	for (int i = at_once; i < n; i++)
		if (m->started[m->which[i]] && MPI_Start(&m->requests[i]))
			fail("MPI_Start: error");
}

static int nr_started(const struct made *m)
{
	int n = 0;

	for (int i = 0; i < m->n + 2; i++)
		n += m->started[i];
	return n;
}

/* All are inactive now: complete at once, with an empty status, and none of them first. */
static void look_inactive(struct made *m)
{
	int n = m->n + 2, flag, index = 0, count = -1;
	MPI_Status status;

	for (int i = 0; i < n; i++) {
		bool is_null = m->requests[i] == MPI_REQUEST_NULL;

		flag = 0;
		if (m->made[m->which[i]] == is_null)
			fail("persistent: a request is gone");
		MPI_Test(&m->requests[i], &flag, &status);
		MPI_Get_count(&status, MPI_INT, &count);
		if (!flag || status.MPI_SOURCE != MPI_ANY_SOURCE || status.MPI_TAG != MPI_ANY_TAG ||
		    count)
			fail("persistent: an inactive request: flag %d, source %d, tag %d, count %d",
			     flag, status.MPI_SOURCE, status.MPI_TAG, count);
	}
	MPI_Waitany(n, m->requests, &index, &status);
	if (index != MPI_UNDEFINED)
		fail("persistent: the inactive request %d is complete", index);
}

static uint64_t all_starts(void)
{
	uint64_t sum = 0;
	char name[40];

	for (int fn = 0; fn < NR_FNS; fn++) {
		snprintf(name, sizeof(name), "%s_init", fn_names[fn]);
		sum += count_of(name);
	}
	return sum;
}

static void compare_started(struct made *m)
{
	for (int i = 0; i < m->n; i++) {
		if (!m->started[i])
			continue;
		if (run_plain(&m->calls[i]))
			fail("%s: MPI's own failed", describe(&m->calls[i]));
		compare_results(&m->calls[i]);
	}
	if (m->started[m->n] && m->got != 1000 * neighbour(m->g, -1) + (int)m->calls[0].start)
		fail("persistent: received %d", m->got);
}

static int inc_starts(const struct made *m)
{
	int n = 0;

	for (int i = 0; i < m->n; i++)
		n += m->started[i] && is_inc(&m->calls[i]);
	return n;
}

static void draw_started(struct made *m, unsigned int start)
{
	for (int i = 0; i < m->n + 2; i++)
		m->started[i] = draw(4) && m->made[i];
	m->started[m->n + 1] = m->started[m->n];
	for (int i = 0; i < m->n; i++) {
		m->calls[i].start = start;
		if (m->started[i])
			fill_data(&m->calls[i]);
	}
	m->token = 1000 * m->g->rank + (int)start;
}

static void check_starts(const struct made *m, uint64_t before)
{
	uint64_t done = all_starts() - before, want = (uint64_t)inc_starts(m);

	if (expected != EXPECT_ANY && done != want)
		fail("persistent: INC did %llu of %d starts, expected %llu",
		     (unsigned long long)done, nr_started(m), (unsigned long long)want);
	by_inc += want;
}

static void start_round(struct made *m, unsigned int start)
{
	unsigned int how = draw(10);
	uint64_t key = draw(1u << 30), before = all_starts();

	draw_started(m, start);
	shuffle(m, key);
	start_some(m, key);
	if (!draw(3))
		run_blocking(m->g);
	complete_some(m->requests, m->n + 2, nr_started(m), how);
	look_inactive(m);
	check_starts(m, before);
	compare_started(m);
}

static void free_made(struct made *m)
{
	for (int i = 0; i < m->n + 2; i++) {
		if (m->requests[i] != MPI_REQUEST_NULL)
			MPI_Request_free(&m->requests[i]);
		if (m->requests[i] != MPI_REQUEST_NULL)
			fail("persistent: a request has not been freed");
	}
	for (int i = 0; i < m->n; i++)
		end_call(&m->calls[i]);
}

static void run_made(struct group *g)
{
	unsigned int starts = 1 + draw(5);
	struct made m = { .g = g };

	make_all(&m);
	for (unsigned int i = 0; i < starts; i++)
		start_round(&m, i);
	free_made(&m);
}

/* ---- Single cases ------------------------------------------------------------------ */

static bool is_inc_here(void)
{
	return expected == EXPECT_INC && size > 1;
}

/* More than may have groups, started in two orders; and then again, by those that had theirs. */
static void exceed_limit(void)
{
	uint64_t before = count_of("barrier_init"), why_before = count_of("why.persistent");
	uint64_t groups_before = groups_found();
	int n = IS_MPICH ? LIMIT : LIMIT + 2;	/* started */
	MPI_Request requests[LIMIT + 2];
	MPI_Comm comm;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < LIMIT + 2; i++)
			INIT_FN(Barrier)(comm, INFO, &requests[i]);
		for (int i = 0; i < n; i++)
			MPI_Start(&requests[rank % 2 ? n - 1 - i : i]);
		MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
		for (int i = 0; i < LIMIT + 2; i++)
			MPI_Request_free(&requests[i]);
	}
	MPI_Comm_free(&comm);
	expect_inc("persistent", "barrier_init", before, is_inc_here() ? 2 * LIMIT : 0);
	expect_inc("persistent", "why.persistent", why_before, is_inc_here() ? 4 : 0);
	expect_groups("persistent", groups_before, is_inc_here() ? LIMIT + 1 : 0);
}

/* A communicator that is freed, and a request that lives on; with a blocking call in between. */
static void outlive_comm(void)
{
	int in[2], out[2], sum = size * (size - 1) / 2;
	MPI_Request requests[2];
	MPI_Comm comm;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	for (int i = 0; i < 2; i++)
		INIT_FN(Allreduce)(&in[i], &out[i], 1, MPI_INT, MPI_SUM, comm, INFO, &requests[i]);
	in[0] = rank;
	MPI_Start(&requests[0]);
	MPI_Comm_free(&comm);
	MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
	in[0] = 2 * rank;
	in[1] = 3 * rank;
	MPI_Start(&requests[rank % 2]);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Start(&requests[1 - rank % 2]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	MPI_Request_free(&requests[0]);
	MPI_Request_free(&requests[1]);
	if (out[0] != 2 * sum || out[1] != 3 * sum)
		fail("persistent: without its communicator: %d, %d", out[0], out[1]);
}

/* What MPI forbids: to start what has been started, and to cancel it. */
static void start_twice(void)
{
	MPI_Request request;
	MPI_Comm comm;
	int err;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	INIT_FN(Barrier)(comm, INFO, &request);
	MPI_Start(&request);
	MPI_Error_class(MPI_Start(&request), &err);
	if (err != MPI_ERR_REQUEST)
		fail("persistent: started twice: class %d", err);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	if (MPI_Start(&request))
		fail("persistent: not started again");
	/* which MPI forbids as well; it goes on to its end */
	MPI_Request_free(&request);
	if (request != MPI_REQUEST_NULL)
		fail("persistent: not freed while it is active");
	MPI_Barrier(comm);
	MPI_Comm_free(&comm);
}

/* The MPI's: an operation that INC does not have. */
static void own_sum(void *in, void *inout, int *n, MPI_Datatype *type)
{
	(void)type;
	for (int i = 0; i < *n; i++)
		((int *)inout)[i] += ((int *)in)[i];
}

static void leave_to_mpi(void)
{
	uint64_t before = count_of("why.operation");
	MPI_Request request;
	int sum = -1;
	MPI_Op op;

	MPI_Op_create(own_sum, 1, &op);
	INIT_FN(Allreduce)(&rank, &sum, 1, MPI_INT, op, MPI_COMM_WORLD, INFO, &request);
	if (!IS_MPICH) {
		MPI_Start(&request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	MPI_Request_free(&request);
	MPI_Op_free(&op);
	if (!IS_MPICH && sum != size * (size - 1) / 2)
		fail("persistent: the MPI's sum is %d", sum);
	expect_inc("persistent", "why.operation", before, is_inc_here() ? 1 : 0);
}

#endif

bool make_barrier(MPI_Comm comm, MPI_Request *request)
{
#ifdef INIT_FN
	return !INIT_FN(Barrier)(comm, INFO, request);
#else
	(void)comm;
	(void)request;
	return false;
#endif
}

void test_persistent(void)
{
#ifdef INIT_FN
	make_groups();
	for (int i = 0; i < 3 + nr_ops / 4; i++)
		run_made(draw_group());
	free_groups();
	leave_to_mpi();
	if (!is_inc_here())
		return;
	exceed_limit();
	outlive_comm();
	start_twice();
#endif
}
