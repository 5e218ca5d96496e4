// SPDX-License-Identifier: GPL-2.0-only
/* One call: its counts, its buffers, and the function of MPI or PMPI that does it. */
#include "mpi-coll.h"

const char *const fn_names[] = {
	"barrier", "bcast", "reduce", "allreduce", "reduce_scatter", "reduce_scatter_block",
	"scan", "exscan", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv",
	"alltoall", "alltoallv", "alltoallw",
};

bool is_reduction(enum fn fn)
{
	return fn >= REDUCE && fn <= EXSCAN;
}

bool is_vector(enum fn fn)
{
	return fn == REDUCE_SCATTER || fn == GATHERV || fn == SCATTERV || fn == ALLGATHERV ||
	       fn == ALLTOALLV || fn == ALLTOALLW;
}

bool may_be_in_place(const struct test_call *c)
{
	switch (c->fn) {
	case BARRIER:
	case BCAST:
		return false;
	case REDUCE:
		return c->g->rank == c->root && expected == EXPECT_INC;
	case GATHER:
	case GATHERV:
	case SCATTER:
	case SCATTERV:
		return c->g->rank == c->root;
	default:
		return true;
	}
}

/* What rank @from gives rank @to: an even number. */
int share(const struct test_call *c, int from, int to)
{
	unsigned int pairs = (unsigned int)c->count / 2 + 1;

	switch (c->fn) {
	case ALLTOALLV:
	case ALLTOALLW:
		/* in place both directions are equal */
		if (c->in_place && from > to)
			return share(c, to, from);
		return 2 * (int)draw_at(c->key, (uint64_t)from, (uint64_t)to, pairs);
	case ALLGATHERV:
	case GATHERV:
		return 2 * (int)draw_at(c->key, (uint64_t)from, 5, pairs);
	case SCATTERV:
	case REDUCE_SCATTER:
		return 2 * (int)draw_at(c->key, (uint64_t)to, 6, pairs);
	default:
		return c->count;
	}
}

MPI_Datatype base_type(const struct test_call *c)
{
	return c->mixed ? mixed : types[c->type].type;
}

/* Shares one after the other, with a gap of one unit, in reverse order where MPI allows it. */
static void lay_out(int counts[], int displs[], int n, const struct place *place, bool bytes,
		    bool gaps)
{
	int at = 0, extent = bytes ? (int)extent_of(place->type) : 1;

	for (int k = 0; k < n; k++) {
		int i = gaps ? n - 1 - k : k;

		displs[i] = at * extent;
		at += counts[i] + gaps;
	}
}

void prepare_counts(struct test_call *c)
{
	bool gaps = !is_reduction(c->fn), bytes = c->fn == ALLTOALLW;
	int me = c->g->rank;

	for (int i = 0; i < c->g->size; i++) {
		c->send_counts[i] = share(c, me, i) / c->send.unit;
		c->recv_counts[i] = share(c, i, me) / c->recv.unit;
		if (c->fn == REDUCE_SCATTER)
			c->recv_counts[i] = share(c, 0, i);
		c->send_types[i] = c->send.type;
		c->recv_types[i] = c->recv.type;
	}
	lay_out(c->send_counts, c->send_displs, c->g->size, &c->send, bytes, gaps);
	lay_out(c->recv_counts, c->recv_displs, c->g->size, &c->recv, bytes, gaps);
	for (int i = 0; i < c->g->size; i++) {
		c->wide.send_counts[i] = c->send_counts[i];
		c->wide.recv_counts[i] = c->recv_counts[i];
		c->wide.send_displs[i] = c->send_displs[i];
		c->wide.recv_displs[i] = c->recv_displs[i];
	}
}

static bool has_any_bits(const struct test_call *c)
{
	MPI_Op op = reductions[c->op].op;

	return !is_reduction(c->fn) || op == MPI_BAND || op == MPI_BOR || op == MPI_BXOR;
}

/* No layout is larger than 4 times its elements. */
static size_t nr_elements(const struct test_call *c)
{
	return (size_t)(c->g->size + 1) * ((size_t)c->count + 4) * 4;
}

void prepare_data(struct test_call *c)
{
	c->bytes = nr_elements(c) * extent_of(base_type(c)) + 64;
	c->in = malloc(c->bytes);
	c->out = malloc(c->bytes);
	c->want = malloc(c->bytes);
	if (!c->in || !c->out || !c->want)
		fail("no memory for %zu bytes", c->bytes);
	fill_data(c);
}

void fill_data(struct test_call *c)
{
	size_t extent = extent_of(base_type(c)), n = nr_elements(c);
	uint64_t key = c->key + c->start;
	bool bits = has_any_bits(c);

	memset(c->in, 0, c->bytes);
	memset(c->out, 0x5a, c->bytes);
	if (c->mixed)
		for (size_t i = 0; i < n * extent; i++)
			c->in[i] = (char)draw_at(key, (uint64_t)rank, i, 256);
	for (size_t i = 0; i < n && !c->mixed; i++)
		put_element(c->in + i * extent, c->type, bits, key, (uint64_t)rank, i);
	if (c->in_place || c->fn == BCAST)
		memcpy(c->out, c->in, c->bytes);
	memcpy(c->want, c->out, c->bytes);
}

#define MPI_FN(name)		MPI_##name
#define MPI_WIDE_FN(name)	MPI_##name##_c
#define PMPI_FN(name)		PMPI_##name
/* which have no counts */
#define MPI_Barrier_c		MPI_Barrier
#define MPI_Ibarrier_c		MPI_Ibarrier

/* Calls FN(name), with the arrays of counts in @a, which is @c or one of its parts. */
#define CALL(FN, c, a, recvbuf, req, ret) do {						\
	const void *s = (c)->in_place ? MPI_IN_PLACE : (c)->in;				\
	MPI_Datatype st = (c)->send.type, rt = (c)->recv.type;				\
	int sn = (c)->count / (c)->send.unit, rn = (c)->count / (c)->recv.unit;		\
	int me = (c)->g->rank, root = (c)->root;					\
	MPI_Op op = reductions[(c)->op].op;						\
	MPI_Comm comm = (c)->g->comm;							\
	void *r = (recvbuf);								\
											\
	(void)st; (void)sn; (void)me; (void)op; (void)root; (void)s;			\
	switch ((c)->fn) {								\
	case BARRIER:									\
		(ret) = (req) ? FN(Ibarrier)(comm, req) : FN(Barrier)(comm);	\
		break;									\
	case BCAST:									\
		(ret) = (req) ? FN(Ibcast)(r, rn, rt, root, comm, req) :		\
				FN(Bcast)(r, rn, rt, root, comm);			\
		break;									\
	case REDUCE:									\
		(ret) = (req) ? FN(Ireduce)(s, r, rn, rt, op, root, comm, req) :	\
				FN(Reduce)(s, r, rn, rt, op, root, comm);		\
		break;									\
	case ALLREDUCE:									\
		(ret) = (req) ? FN(Iallreduce)(s, r, rn, rt, op, comm, req) :		\
				FN(Allreduce)(s, r, rn, rt, op, comm);			\
		break;									\
	case REDUCE_SCATTER:								\
		(ret) = (req) ? FN(Ireduce_scatter)(s, r, (a)->recv_counts, rt, op, comm, req) : \
				FN(Reduce_scatter)(s, r, (a)->recv_counts, rt, op, comm); \
		break;									\
	case REDUCE_SCATTER_BLOCK:							\
		(ret) = (req) ? FN(Ireduce_scatter_block)(s, r, rn, rt, op, comm, req) : \
				FN(Reduce_scatter_block)(s, r, rn, rt, op, comm);	\
		break;									\
	case SCAN:									\
		(ret) = (req) ? FN(Iscan)(s, r, rn, rt, op, comm, req) :		\
				FN(Scan)(s, r, rn, rt, op, comm);			\
		break;									\
	case EXSCAN:									\
		(ret) = (req) ? FN(Iexscan)(s, r, rn, rt, op, comm, req) :		\
				FN(Exscan)(s, r, rn, rt, op, comm);			\
		break;									\
	case GATHER:									\
		(ret) = (req) ? FN(Igather)(s, sn, st, r, rn, rt, root, comm, req) :	\
				FN(Gather)(s, sn, st, r, rn, rt, root, comm);		\
		break;									\
	case GATHERV:									\
		sn = share(c, me, 0) / (c)->send.unit;					\
		(ret) = (req) ? FN(Igatherv)(s, sn, st, r, (a)->recv_counts,		\
					    (a)->recv_displs, rt, root, comm, req) :	\
				FN(Gatherv)(s, sn, st, r, (a)->recv_counts,		\
					   (a)->recv_displs, rt, root, comm);		\
		break;									\
	case SCATTER:									\
		r = (c)->in_place ? MPI_IN_PLACE : r;					\
		(ret) = (req) ? FN(Iscatter)((c)->in, sn, st, r, rn, rt, root, comm, req) : \
				FN(Scatter)((c)->in, sn, st, r, rn, rt, root, comm);	\
		break;									\
	case SCATTERV:									\
		r = (c)->in_place ? MPI_IN_PLACE : r;					\
		rn = share(c, 0, me) / (c)->recv.unit;					\
		(ret) = (req) ? FN(Iscatterv)((c)->in, (a)->send_counts, (a)->send_displs, st, \
					     r, rn, rt, root, comm, req) :		\
				FN(Scatterv)((c)->in, (a)->send_counts, (a)->send_displs, st, \
					    r, rn, rt, root, comm);			\
		break;									\
	case ALLGATHER:									\
		(ret) = (req) ? FN(Iallgather)(s, sn, st, r, rn, rt, comm, req) :	\
				FN(Allgather)(s, sn, st, r, rn, rt, comm);		\
		break;									\
	case ALLGATHERV:								\
		sn = share(c, me, 0) / (c)->send.unit;					\
		(ret) = (req) ? FN(Iallgatherv)(s, sn, st, r, (a)->recv_counts,		\
					       (a)->recv_displs, rt, comm, req) :	\
				FN(Allgatherv)(s, sn, st, r, (a)->recv_counts,		\
					      (a)->recv_displs, rt, comm);		\
		break;									\
	case ALLTOALL:									\
		(ret) = (req) ? FN(Ialltoall)(s, sn, st, r, rn, rt, comm, req) :	\
				FN(Alltoall)(s, sn, st, r, rn, rt, comm);		\
		break;									\
	case ALLTOALLV:									\
		(ret) = (req) ? FN(Ialltoallv)(s, (a)->send_counts, (a)->send_displs, st, r, \
					      (a)->recv_counts, (a)->recv_displs, rt,	\
					      comm, req) :				\
				FN(Alltoallv)(s, (a)->send_counts, (a)->send_displs, st, r, \
					     (a)->recv_counts, (a)->recv_displs, rt, comm); \
		break;									\
	default:									\
		(ret) = (req) ? FN(Ialltoallw)(s, (a)->send_counts, (a)->send_displs,	\
					      (c)->send_types, r, (a)->recv_counts,	\
					      (a)->recv_displs, (c)->recv_types, comm,	\
					      req) :					\
				FN(Alltoallw)(s, (a)->send_counts, (a)->send_displs,	\
					     (c)->send_types, r, (a)->recv_counts,	\
					     (a)->recv_displs, (c)->recv_types, comm);	\
	}										\
} while (0)

int call_mpi(const struct test_call *c, MPI_Request *request)
{
	int ret;

#if MPI_VERSION >= 4
	if (c->is_wide) {
		CALL(MPI_WIDE_FN, c, &c->wide, c->out, request, ret);
		return ret;
	}
#endif
	CALL(MPI_FN, c, c, c->out, request, ret);
	return ret;
}

static int free_plain(MPI_Comm comm, int keyval, void *value, void *extra)
{
	MPI_Comm *plain = value;

	(void)comm;
	(void)keyval;
	(void)extra;
	PMPI_Comm_free(plain);
	free(plain);
	return MPI_SUCCESS;
}

MPI_Comm plain_comm(MPI_Comm comm)
{
	static int keyval = MPI_KEYVAL_INVALID;
	MPI_Comm *plain;
	MPI_Info info;
	int found;

	if (!has_component)
		return comm;
	if (keyval == MPI_KEYVAL_INVALID)
		PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_plain, &keyval, NULL);
	PMPI_Comm_get_attr(comm, keyval, &plain, &found);
	if (found)
		return *plain;
	plain = malloc(sizeof(*plain));
	if (!plain)
		fail("no memory for a communicator");
	PMPI_Info_create(&info);
	PMPI_Info_set(info, "inc", "off");
	PMPI_Comm_dup_with_info(comm, info, plain);
	PMPI_Info_free(&info);
	PMPI_Comm_set_attr(comm, keyval, plain);
	return *plain;
}

int call_pmpi(const struct test_call *c)
{
	struct group g = *c->g;
	struct test_call p = *c;
	int ret;

	g.comm = plain_comm(g.comm);
	p.g = &g;
	CALL(PMPI_FN, &p, &p, p.want, (MPI_Request *)NULL, ret);
	return ret;
}

const char *describe(const struct test_call *c)
{
	const char *type = c->mixed ? "int and double" : types[c->type].name;
	static char text[256];

	snprintf(text, sizeof(text), "%s%s%s of %s, %s, %d elements, root %d%s, send layout %d, receive layout %d, %d ranks",
		 c->blocking ? "" : c->persistent ? "persistent " : "i", fn_names[c->fn],
		 c->is_wide ? "_c" : "", type,
		 is_reduction(c->fn) ? reductions[c->op].name : "-", c->count, c->root,
		 c->in_place ? ", in place" : "", c->send.layout, c->recv.layout, c->g->size);
	return text;
}
