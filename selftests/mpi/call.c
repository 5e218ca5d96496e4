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
}

static bool has_any_bits(const struct test_call *c)
{
	MPI_Op op = reductions[c->op].op;

	return !is_reduction(c->fn) || op == MPI_BAND || op == MPI_BOR || op == MPI_BXOR;
}

void prepare_data(struct test_call *c)
{
	bool bits = has_any_bits(c);
	size_t extent = extent_of(base_type(c)), n;

	/* no layout is larger than 4 times its elements */
	n = (size_t)(c->g->size + 1) * ((size_t)c->count + 4) * 4;
	c->bytes = n * extent + 64;
	c->in = malloc(c->bytes);
	c->out = malloc(c->bytes);
	c->want = malloc(c->bytes);
	if (!c->in || !c->out || !c->want)
		fail("no memory for %zu bytes", c->bytes);
	memset(c->in, 0, c->bytes);
	memset(c->out, 0x5a, c->bytes);
	if (c->mixed)
		for (size_t i = 0; i < n * extent; i++)
			c->in[i] = (char)draw_at(c->key, (uint64_t)rank, i, 256);
	for (size_t i = 0; i < n && !c->mixed; i++)
		put_element(c->in + i * extent, c->type, bits, c->key, (uint64_t)rank, i);
	if (c->in_place || c->fn == BCAST)
		memcpy(c->out, c->in, c->bytes);
	memcpy(c->want, c->out, c->bytes);
}

/* Calls F of MPI or PMPI. */
#define CALL(P, c, recvbuf, req, ret) do {						\
	const void *s = (c)->in_place ? MPI_IN_PLACE : (c)->in;				\
	MPI_Datatype st = (c)->send.type, rt = (c)->recv.type;				\
	int sn = (c)->count / (c)->send.unit, rn = (c)->count / (c)->recv.unit;		\
	int me = (c)->g->rank, root = (c)->root;					\
	MPI_Op op = reductions[(c)->op].op;							\
	MPI_Comm comm = (c)->g->comm;							\
	void *r = (recvbuf);								\
											\
	(void)st; (void)sn; (void)me; (void)op; (void)root; (void)s;			\
	switch ((c)->fn) {								\
	case BARRIER:									\
		(ret) = (req) ? P##Ibarrier(comm, req) : P##Barrier(comm);		\
		break;									\
	case BCAST:									\
		(ret) = (req) ? P##Ibcast(r, rn, rt, root, comm, req) :			\
				P##Bcast(r, rn, rt, root, comm);			\
		break;									\
	case REDUCE:									\
		(ret) = (req) ? P##Ireduce(s, r, rn, rt, op, root, comm, req) :		\
				P##Reduce(s, r, rn, rt, op, root, comm);		\
		break;									\
	case ALLREDUCE:									\
		(ret) = (req) ? P##Iallreduce(s, r, rn, rt, op, comm, req) :		\
				P##Allreduce(s, r, rn, rt, op, comm);			\
		break;									\
	case REDUCE_SCATTER:								\
		(ret) = (req) ? P##Ireduce_scatter(s, r, (c)->recv_counts, rt, op, comm, req) : \
				P##Reduce_scatter(s, r, (c)->recv_counts, rt, op, comm); \
		break;									\
	case REDUCE_SCATTER_BLOCK:							\
		(ret) = (req) ? P##Ireduce_scatter_block(s, r, rn, rt, op, comm, req) :	\
				P##Reduce_scatter_block(s, r, rn, rt, op, comm);	\
		break;									\
	case SCAN:									\
		(ret) = (req) ? P##Iscan(s, r, rn, rt, op, comm, req) :			\
				P##Scan(s, r, rn, rt, op, comm);			\
		break;									\
	case EXSCAN:									\
		(ret) = (req) ? P##Iexscan(s, r, rn, rt, op, comm, req) :		\
				P##Exscan(s, r, rn, rt, op, comm);			\
		break;									\
	case GATHER:									\
		(ret) = (req) ? P##Igather(s, sn, st, r, rn, rt, root, comm, req) :	\
				P##Gather(s, sn, st, r, rn, rt, root, comm);		\
		break;									\
	case GATHERV:									\
		sn = share(c, me, 0) / (c)->send.unit;					\
		(ret) = (req) ? P##Igatherv(s, sn, st, r, (c)->recv_counts,		\
					    (c)->recv_displs, rt, root, comm, req) :	\
				P##Gatherv(s, sn, st, r, (c)->recv_counts,		\
					   (c)->recv_displs, rt, root, comm);		\
		break;									\
	case SCATTER:									\
		r = (c)->in_place ? MPI_IN_PLACE : r;					\
		(ret) = (req) ? P##Iscatter((c)->in, sn, st, r, rn, rt, root, comm, req) : \
				P##Scatter((c)->in, sn, st, r, rn, rt, root, comm);	\
		break;									\
	case SCATTERV:									\
		r = (c)->in_place ? MPI_IN_PLACE : r;					\
		rn = share(c, 0, me) / (c)->recv.unit;					\
		(ret) = (req) ? P##Iscatterv((c)->in, (c)->send_counts, (c)->send_displs, st, \
					     r, rn, rt, root, comm, req) :		\
				P##Scatterv((c)->in, (c)->send_counts, (c)->send_displs, st, \
					    r, rn, rt, root, comm);			\
		break;									\
	case ALLGATHER:									\
		(ret) = (req) ? P##Iallgather(s, sn, st, r, rn, rt, comm, req) :	\
				P##Allgather(s, sn, st, r, rn, rt, comm);		\
		break;									\
	case ALLGATHERV:								\
		sn = share(c, me, 0) / (c)->send.unit;					\
		(ret) = (req) ? P##Iallgatherv(s, sn, st, r, (c)->recv_counts,		\
					       (c)->recv_displs, rt, comm, req) :	\
				P##Allgatherv(s, sn, st, r, (c)->recv_counts,		\
					      (c)->recv_displs, rt, comm);		\
		break;									\
	case ALLTOALL:									\
		(ret) = (req) ? P##Ialltoall(s, sn, st, r, rn, rt, comm, req) :		\
				P##Alltoall(s, sn, st, r, rn, rt, comm);		\
		break;									\
	case ALLTOALLV:									\
		(ret) = (req) ? P##Ialltoallv(s, (c)->send_counts, (c)->send_displs, st, r, \
					      (c)->recv_counts, (c)->recv_displs, rt,	\
					      comm, req) :				\
				P##Alltoallv(s, (c)->send_counts, (c)->send_displs, st, r, \
					     (c)->recv_counts, (c)->recv_displs, rt, comm); \
		break;									\
	default:									\
		(ret) = (req) ? P##Ialltoallw(s, (c)->send_counts, (c)->send_displs,	\
					      (c)->send_types, r, (c)->recv_counts,	\
					      (c)->recv_displs, (c)->recv_types, comm,	\
					      req) :					\
				P##Alltoallw(s, (c)->send_counts, (c)->send_displs,	\
					     (c)->send_types, r, (c)->recv_counts,	\
					     (c)->recv_displs, (c)->recv_types, comm);	\
	}										\
} while (0)

int call_mpi(const struct test_call *c, MPI_Request *request)
{
	int ret;

	CALL(MPI_, c, c->out, request, ret);
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
	CALL(PMPI_, &p, p.want, (MPI_Request *)NULL, ret);
	return ret;
}

const char *describe(const struct test_call *c)
{
	const char *type = c->mixed ? "int and double" : types[c->type].name;
	static char text[256];

	snprintf(text, sizeof(text), "%s%s of %s, %s, %d elements, root %d%s, send layout %d, receive layout %d, %d ranks",
		 c->blocking ? "" : "i", fn_names[c->fn], type,
		 is_reduction(c->fn) ? reductions[c->op].name : "-", c->count, c->root,
		 c->in_place ? ", in place" : "", c->send.layout, c->recv.layout, c->g->size);
	return text;
}
