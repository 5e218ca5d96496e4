// SPDX-License-Identifier: GPL-2.0-only
/*
 * mpi-coll: random collectives of MPI, each done twice: as any program does it (MPI_X, which is
 * libinc-mpi's when that is preloaded), and by the MPI itself (PMPI_X). Buffers are compared byte
 * for byte. libinc-mpi's counters are compared with what this program expects of every call.
 *
 * The MPI itself is given plain bytes, whatever datatypes the first call had: Open MPI 4.1 hangs
 * in MPI_Allgatherv() when ranks have different ones, MPICH 4.0 fails in MPI_Gather() with some
 * that have gaps, and crashes in MPI_Reduce() in place. Where the MPI does both calls, there are
 * only types without gaps, and no reduce in place.
 *
 *	mpi-coll [--seed N] [--ops N] [--expect inc|mpi|off|absent] [--fn NAME] [--threads]
 *	         [--quiet] [TEST...]
 *
 *	--expect  who does the calls: INC (those that it can do); the MPI, because there is no
 *	          group, or because INC_MPI is off; or nobody has preloaded libinc-mpi (absent).
 *	          Default: not looked at.
 *	--threads MPI_THREAD_MULTIPLE
 *	TEST      random, requests, comms, progress, semantics, inter, threads, lost; default: all
 *	          but the last two
 *
 * All ranks draw the same numbers. Floats are small numbers whose sums and products are exact, so
 * that the order does not matter. Rank 0 prints "TEST: passed" for each, and what INC did.
 */
#include <complex.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <mpi.h>

#define MAX_RANKS	64
#define MAX_ELEMENT	16
#define NR_COMMS	6
#define NR_PENDING	5

enum expected { EXPECT_ANY, EXPECT_INC, EXPECT_MPI, EXPECT_OFF, EXPECT_ABSENT };

static int rank, size;
static uint64_t seed = 1;
static int nr_ops = 300;
static enum expected expected;
static const char *only_fn;
static bool quiet, wants_threads, has_threads;
static uint64_t (*counter)(const char *name);
static uint64_t by_inc, by_mpi;

/* ---- Random numbers, failures ------------------------------------------------ */

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static uint64_t drawn;

/* 0 .. n - 1, the same at all ranks. */
static unsigned int draw(unsigned int n)
{
	return (unsigned int)(mix(seed ^ mix(++drawn)) % n);
}

static unsigned int draw_at(uint64_t key, uint64_t a, uint64_t b, unsigned int n)
{
	return (unsigned int)(mix(key ^ mix(a ^ mix(b + 17))) % n);
}

static void __attribute__((__format__(__printf__, 1, 2), __noreturn__)) fail(const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "mpi-coll: rank %d, seed %llu: ", rank, (unsigned long long)seed);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	fflush(stderr);
	PMPI_Abort(MPI_COMM_WORLD, 1);
	exit(1);
}

static uint64_t count_of(const char *name)
{
	return counter ? counter(name) : 0;
}

/* ---- Types and operations ------------------------------------------------------ */

enum kind { INT, UNSIGNED, FLOAT, COMPLEX, BOOL, BYTES, CHARS, PAIR, NR_KINDS };

struct int_double { int i; double d; };

static MPI_Datatype mixed;

static const struct {
	const char *name;
	MPI_Datatype type;
	enum kind kind;
	size_t value;		/* bytes of its first part */
	bool real;		/* that is a float */
} types[] = {
	{ "int", MPI_INT, INT, sizeof(int), false },
	{ "signed char", MPI_SIGNED_CHAR, INT, 1, false },
	{ "short", MPI_SHORT, INT, sizeof(short), false },
	{ "long", MPI_LONG, INT, sizeof(long), false },
	{ "int64", MPI_INT64_T, INT, 8, false },
	{ "uint8", MPI_UINT8_T, UNSIGNED, 1, false },
	{ "uint16", MPI_UINT16_T, UNSIGNED, 2, false },
	{ "unsigned", MPI_UNSIGNED, UNSIGNED, sizeof(int), false },
	{ "uint64", MPI_UINT64_T, UNSIGNED, 8, false },
	{ "float", MPI_FLOAT, FLOAT, sizeof(float), true },
	{ "double", MPI_DOUBLE, FLOAT, sizeof(double), true },
	{ "float complex", MPI_C_FLOAT_COMPLEX, COMPLEX, sizeof(float), true },
	{ "double complex", MPI_C_DOUBLE_COMPLEX, COMPLEX, sizeof(double), true },
	{ "bool", MPI_C_BOOL, BOOL, 1, false },
	{ "byte", MPI_BYTE, BYTES, 1, false },
	{ "char", MPI_CHAR, CHARS, 1, false },
	{ "float, int", MPI_FLOAT_INT, PAIR, sizeof(float), true },
	{ "double, int", MPI_DOUBLE_INT, PAIR, sizeof(double), true },
	{ "long, int", MPI_LONG_INT, PAIR, sizeof(long), false },
	{ "int, int", MPI_2INT, PAIR, sizeof(int), false },
	{ "short, int", MPI_SHORT_INT, PAIR, sizeof(short), false },
};

#define NR_TYPES (sizeof(types) / sizeof(types[0]))

static const struct {
	const char *name;
	MPI_Op op;
	unsigned int kinds;
	bool logical;
} ops[] = {
	{ "sum", MPI_SUM, 1 << INT | 1 << UNSIGNED | 1 << FLOAT | 1 << COMPLEX, false },
	{ "prod", MPI_PROD, 1 << INT | 1 << UNSIGNED | 1 << FLOAT | 1 << COMPLEX, false },
	{ "min", MPI_MIN, 1 << INT | 1 << UNSIGNED | 1 << FLOAT, false },
	{ "max", MPI_MAX, 1 << INT | 1 << UNSIGNED | 1 << FLOAT, false },
	{ "land", MPI_LAND, 1 << INT | 1 << UNSIGNED | 1 << BOOL, true },
	{ "lor", MPI_LOR, 1 << INT | 1 << UNSIGNED | 1 << BOOL, true },
	{ "lxor", MPI_LXOR, 1 << INT | 1 << UNSIGNED | 1 << BOOL, true },
	{ "band", MPI_BAND, 1 << INT | 1 << UNSIGNED | 1 << BYTES, false },
	{ "bor", MPI_BOR, 1 << INT | 1 << UNSIGNED | 1 << BYTES, false },
	{ "bxor", MPI_BXOR, 1 << INT | 1 << UNSIGNED | 1 << BYTES, false },
	{ "minloc", MPI_MINLOC, 1 << PAIR, false },
	{ "maxloc", MPI_MAXLOC, 1 << PAIR, false },
};

#define NR_OPS (sizeof(ops) / sizeof(ops[0]))

static size_t extent_of(MPI_Datatype type)
{
	MPI_Aint lb, extent;

	PMPI_Type_get_extent(type, &lb, &extent);
	return (size_t)extent;
}

static void put_value(char *at, size_t bytes, bool real, long value)
{
	float f = (float)value;
	double d = (double)value;

	if (real)
		memcpy(at, bytes == sizeof(f) ? (void *)&f : (void *)&d, bytes);
	else
		memcpy(at, &value, bytes);	/* little-endian, or small enough not to matter */
}

/*
 * Element @i of what a rank gives: any bits, or a number so small that nothing overflows, which is
 * not defined in MPI (sums of unsigned char and short saturate in Open MPI 4.1), and that has no
 * highest bit (MPICH 4.0 has wrong minima of unsigned int then).
 */
static void put_element(char *at, unsigned int t, bool bits, uint64_t key, uint64_t who, uint64_t i)
{
	long v = types[t].kind == UNSIGNED ? (long)draw_at(key, who, i, 3) :
					     (long)draw_at(key, who, i, 5) - 2;
	uint64_t any = mix(key ^ mix(who ^ mix(i)));
	int index = (int)draw_at(key, who, i + 1000000, 100);

	switch (types[t].kind) {
	case BOOL:
		*(bool *)at = v > 0;
		break;
	case COMPLEX:
		put_value(at, types[t].value, true, v);
		put_value(at + types[t].value, types[t].value, true, v > 0 ? 0 : 1);
		break;
	case PAIR:
		put_value(at, types[t].value, types[t].real, v);
		/* both parts are aligned: the index is what the struct ends with, gaps aside */
		memcpy(at + (types[t].value > sizeof(int) ? types[t].value : sizeof(int)), &index,
		       sizeof(index));
		break;
	case FLOAT:
		put_value(at, types[t].value, true, v);
		break;
	default:
		put_value(at, types[t].value, false, bits ? (long)any : v);
	}
}

/* ---- Layouts: datatypes of one or two elements ---------------------------------- */

enum layout { PLAIN, SPACED, PAIRED, REVERSED, CONTIGUOUS, NR_LAYOUTS };

struct place {
	enum layout layout;
	MPI_Datatype type;
	int unit;		/* elements in one */
	bool made;
};

static struct place make_place(MPI_Datatype of, enum layout layout)
{
	struct place place = { layout, of, 1, layout != PLAIN };
	MPI_Aint extent = (MPI_Aint)extent_of(of);
	int displs[] = { 2, 0 }, lengths[] = { 1, 1 };
	MPI_Datatype inner;

	switch (layout) {
	case SPACED:
		PMPI_Type_create_resized(of, 0, 3 * extent, &place.type);
		break;
	case PAIRED:
		PMPI_Type_vector(2, 1, 2, of, &inner);
		PMPI_Type_create_resized(inner, 0, 4 * extent, &place.type);
		PMPI_Type_free(&inner);
		place.unit = 2;
		break;
	case REVERSED:
		PMPI_Type_indexed(2, lengths, displs, of, &inner);
		PMPI_Type_create_resized(inner, 0, 3 * extent, &place.type);
		PMPI_Type_free(&inner);
		place.unit = 2;
		break;
	case CONTIGUOUS:
		PMPI_Type_contiguous(2, of, &place.type);
		place.unit = 2;
		break;
	default:
		break;
	}
	if (place.made)
		PMPI_Type_commit(&place.type);
	return place;
}

/* Where element @k of a buffer is, in elements. */
static size_t element_at(enum layout layout, size_t k)
{
	switch (layout) {
	case SPACED:
		return 3 * k;
	case PAIRED:
		return k / 2 * 4 + k % 2 * 2;
	case REVERSED:
		return k / 2 * 3 + (k % 2 ? 0 : 2);
	default:
		return k;
	}
}

static void free_place(struct place *place)
{
	if (place->made)
		PMPI_Type_free(&place->type);
}

/* ---- One call --------------------------------------------------------------------- */

enum fn {
	BARRIER, BCAST, REDUCE, ALLREDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN, EXSCAN,
	GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW,
	NR_FNS,
};

static const char *const fn_names[] = {
	"barrier", "bcast", "reduce", "allreduce", "reduce_scatter", "reduce_scatter_block",
	"scan", "exscan", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv",
	"alltoall", "alltoallv", "alltoallw",
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
	bool mixed, blocking, in_place;
	int root, count;	/* elements, even */
	uint64_t key;
	struct place send, recv;
	int send_counts[MAX_RANKS], recv_counts[MAX_RANKS];
	int send_displs[MAX_RANKS], recv_displs[MAX_RANKS];
	MPI_Datatype send_types[MAX_RANKS], recv_types[MAX_RANKS];
	size_t bytes;		/* of each buffer */
	char *in, *out, *want;
};

static bool is_reduction(enum fn fn)
{
	return fn >= REDUCE && fn <= EXSCAN;
}

static bool is_vector(enum fn fn)
{
	return fn == REDUCE_SCATTER || fn == GATHERV || fn == SCATTERV || fn == ALLGATHERV ||
	       fn == ALLTOALLV || fn == ALLTOALLW;
}

static bool may_be_in_place(const struct test_call *c)
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
static int share(const struct test_call *c, int from, int to)
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

static MPI_Datatype base_type(const struct test_call *c)
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

static void prepare_counts(struct test_call *c)
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
	MPI_Op op = ops[c->op].op;

	return !is_reduction(c->fn) || op == MPI_BAND || op == MPI_BOR || op == MPI_BXOR;
}

static void prepare_data(struct test_call *c)
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
	MPI_Op op = ops[(c)->op].op;							\
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

/* Bytes of a reduce-scatter's or block's result: what is behind it in place may be anything. */
static size_t result_bytes(const struct test_call *c)
{
	size_t extent = extent_of(base_type(c));

	switch (c->fn) {
	case REDUCE:
		return c->g->rank == c->root ? c->bytes : 0;
	case REDUCE_SCATTER:
		return (size_t)c->recv_counts[c->g->rank] * extent;
	case REDUCE_SCATTER_BLOCK:
		return (size_t)c->count * extent;
	default:
		return c->bytes;
	}
}

/* The sign of a complex product's zeros depends on the order. */
static void unsign_zeros(const struct test_call *c, char *buf)
{
	size_t n = types[c->type].value;

	for (size_t i = 0; i + n <= c->bytes; i += n)
		if (buf[i + n - 1] == (char)0x80 && !buf[i + n - 2] && !buf[i])
			buf[i + n - 1] = 0;
}

/* Gaps within an element are nobody's. */
static void blank_gaps(const struct test_call *c, char *buf)
{
	size_t extent = extent_of(base_type(c)), data, from;

	if (types[c->type].kind == COMPLEX && !c->mixed)
		unsign_zeros(c, buf);

	for (size_t i = 0; c->mixed && i + extent <= c->bytes; i += extent)
		memset(buf + i + sizeof(int), 0, offsetof(struct int_double, d) - sizeof(int));
	if (types[c->type].kind != PAIR || c->mixed)
		return;
	from = types[c->type].value;
	data = from > sizeof(int) ? from : sizeof(int);
	/* layouts keep elements where multiples of their extent are */
	for (size_t i = 0; (i + 1) * extent <= c->bytes; i++) {
		memset(buf + i * extent + from, 0, data - from);
		memset(buf + i * extent + data + sizeof(int), 0, extent - data - sizeof(int));
	}
}

static const char *describe(const struct test_call *c)
{
	const char *type = c->mixed ? "int and double" : types[c->type].name;
	static char text[256];

	snprintf(text, sizeof(text), "%s%s of %s, %s, %d elements, root %d%s, send layout %d, receive layout %d, %d ranks",
		 c->blocking ? "" : "i", fn_names[c->fn], type,
		 is_reduction(c->fn) ? ops[c->op].name : "-", c->count, c->root,
		 c->in_place ? ", in place" : "", c->send.layout, c->recv.layout, c->g->size);
	return text;
}

static void compare(struct test_call *c)
{
	size_t n = result_bytes(c);

	blank_gaps(c, c->out);
	blank_gaps(c, c->want);
	for (size_t i = 0; i < n; i++)
		if (c->out[i] != c->want[i])
			fail("%s: byte %zu is %02x, MPI's own has %02x (elements of %zu bytes)",
			     describe(c), i, c->out[i] & 0xff, c->want[i] & 0xff,
			     extent_of(base_type(c)));
}

/* ---- The same by the MPI itself, with plain elements ------------------------------ */

static int nr_shares(const struct test_call *c, bool send)
{
	bool root = c->g->rank == c->root;

	switch (c->fn) {
	case BARRIER:
		return 0;
	case BCAST:
		return !send;
	case GATHER:
	case GATHERV:
		return send ? 1 : root ? c->g->size : 0;
	case SCATTER:
	case SCATTERV:
		return !send ? 1 : root ? c->g->size : 0;
	case ALLGATHER:
	case ALLGATHERV:
		return send ? 1 : c->g->size;
	case ALLTOALL:
	case ALLTOALLV:
	case ALLTOALLW:
		return c->g->size;
	default:
		return 1;
	}
}

/* Elements of share @i of one side. */
static size_t share_elements(const struct test_call *c, bool send, int i)
{
	int me = c->g->rank;

	if (c->fn == GATHERV || c->fn == ALLGATHERV)
		return (size_t)share(c, send ? me : i, 0);
	return (size_t)(send ? share(c, me, i) : share(c, i, me));
}

/* Bytes from the buffer's address to a share. */
static size_t share_at(const struct test_call *c, bool send, int i)
{
	const struct place *place = send ? &c->send : &c->recv;
	const int *displs = send ? c->send_displs : c->recv_displs;

	if (nr_shares(c, send) <= 1)
		return 0;
	if (c->fn == ALLTOALLW)
		return (size_t)displs[i];
	if (is_vector(c->fn))
		return (size_t)displs[i] * extent_of(place->type);
	return (size_t)i * (size_t)(c->count / place->unit) * extent_of(place->type);
}

/* Copies all elements of one side from one call's buffer to where they are in another's. */
static void copy_elements(const struct test_call *to, char *to_buf, const struct test_call *from,
			  const char *from_buf, bool send)
{
	size_t extent = extent_of(base_type(from));
	enum layout a = send ? from->send.layout : from->recv.layout;
	enum layout b = send ? to->send.layout : to->recv.layout;

	for (int i = 0; i < nr_shares(from, send); i++) {
		size_t n = share_elements(from, send, i);

		for (size_t k = 0; k < n; k++)
			memcpy(to_buf + share_at(to, send, i) + element_at(b, k) * extent,
			       from_buf + share_at(from, send, i) + element_at(a, k) * extent,
			       extent);
	}
}

static int run_plain(struct test_call *c)
{
	struct test_call p = *c;
	int ret;

	if (is_reduction(c->fn) || c->fn == BARRIER) {
		p.in_place = false;
		CALL(PMPI_, &p, p.want, (MPI_Request *)NULL, ret);
		return ret;
	}
	PMPI_Type_contiguous((int)extent_of(base_type(c)), MPI_BYTE, &p.send.type);
	PMPI_Type_commit(&p.send.type);
	p.send.layout = PLAIN;
	p.send.unit = 1;
	p.recv = p.send;
	prepare_counts(&p);
	p.in = calloc(1, p.bytes);
	p.want = calloc(1, p.bytes);
	if (!p.in || !p.want)
		fail("no memory for %zu bytes", p.bytes);
	copy_elements(&p, p.in, c, c->in, true);
	copy_elements(&p, p.want, c, c->want, false);
	CALL(PMPI_, &p, p.want, (MPI_Request *)NULL, ret);
	if (!(c->in_place && (c->fn == SCATTER || c->fn == SCATTERV)))
		copy_elements(c, c->want, &p, p.want, false);
	PMPI_Type_free(&p.send.type);
	free(p.in);
	free(p.want);
	return ret;
}

/* Does INC do it, if it can have a group? As libinc-mpi(7) says. */
static bool is_eligible(const struct test_call *c)
{
	if (c->g->size == 1)
		return false;
	if (!c->blocking && (!c->g->asked || c->fn == ALLTOALLW))
		return false;
	if (c->fn == BARRIER)
		return true;
	if (c->fn == EXSCAN && ops[c->op].logical)
		return false;
	if (c->fn == REDUCE_SCATTER || c->fn == ALLGATHERV) {
		for (int i = 0; i < c->g->size; i++)
			if (c->recv_counts[i])
				return true;
		return false;
	}
	return is_vector(c->fn) || c->count;
}

/* ---- Drawing and checking ----------------------------------------------------------- */

static bool is_inc(const struct test_call *c)
{
	return expected == EXPECT_INC && is_eligible(c);
}

static void counter_name(char name[40], const struct test_call *c)
{
	snprintf(name, 40, "%s%s", c->blocking ? "" : "i", fn_names[c->fn]);
}

static bool is_drawn(const struct test_call *c)
{
	if (is_reduction(c->fn))
		return ops[c->op].kinds >> types[c->type].kind & 1;
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

/* A call that is drawn; all ranks of the world draw it at once, for their communicators. */
static void draw_call(struct test_call *c, struct group *g, bool blocking)
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
		c->type = draw(NR_TYPES);
		c->op = draw(NR_OPS);
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
	c->send = make_place(base_type(c), layouts[0]);
	c->recv = make_place(base_type(c), layouts[1]);
	prepare_counts(c);
	prepare_data(c);
}

static void end_call(struct test_call *c)
{
	compare(c);
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

static void run_blocking(struct group *g)
{
	struct test_call c;
	char name[40];
	uint64_t before;
	int ret;

	draw_call(&c, g, true);
	counter_name(name, &c);
	before = count_of(name);
	CALL(MPI_, &c, c.out, (MPI_Request *)NULL, ret);
	if (ret)
		fail("%s: error %d", describe(&c), ret);
	g->asked = true;
	check_counted(&c, name, before);
	if (run_plain(&c))
		fail("%s: MPI's own failed", describe(&c));
	end_call(&c);
}

/* ---- Communicators ----------------------------------------------------------------- */

static struct group groups[NR_COMMS];

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

static void make_groups(void)
{
	set_group(&groups[0], MPI_COMM_WORLD);
	for (int i = 1; i < NR_COMMS; i++)
		make_group(&groups[i]);
}

static void free_groups(void)
{
	for (int i = 1; i < NR_COMMS; i++)
		MPI_Comm_free(&groups[i].comm);
}

static struct group *draw_group(void)
{
	struct group *g = &groups[draw(NR_COMMS)];

	if (g != groups && !draw(20)) {
		MPI_Comm_free(&g->comm);
		make_group(g);
	}
	return g;
}

/* ---- Tests --------------------------------------------------------------------------- */

static void test_random(void)
{
	make_groups();
	for (int i = 0; i < nr_ops; i++)
		run_blocking(draw_group());
	free_groups();
}

static void expect_inc(const char *what, const char *name, uint64_t before, uint64_t n)
{
	uint64_t done = count_of(name) - before;

	if (expected != EXPECT_ANY && done != (expected == EXPECT_INC ? n : 0))
		fail("%s: INC did %llu of %llu %s", what, (unsigned long long)done,
		     (unsigned long long)n, name);
}

static bool all_done(const MPI_Request requests[], int n)
{
	for (int i = 0; i < n; i++)
		if (requests[i] != MPI_REQUEST_NULL)
			return false;
	return true;
}

/* Every function that completes requests. */
static void complete(MPI_Request requests[], int n, unsigned int how)
{
	MPI_Status statuses[2 * NR_PENDING];
	int flag = 0, index, nr, indices[2 * NR_PENDING];

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
	for (int i = 0; i < n && how == 5; i++)
		MPI_Waitany(n, requests, &index, &statuses[0]);
	for (nr = 0; nr < n && how == 6; nr += flag)
		MPI_Testany(n, requests, &index, &flag, &statuses[0]);
	for (index = 0; index < n && how == 7; index += nr)
		MPI_Waitsome(n, requests, &nr, indices, statuses);
	for (index = 0; index < n && how == 8; index += nr)
		MPI_Testsome(n, requests, &nr, indices, statuses);
	if (how == 9) {
		while (!flag)
			MPI_Request_get_status(requests[0], &flag, &statuses[0]);
		MPI_Waitall(n, requests, statuses);
	}
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
		if (calls[i].blocking)
			CALL(MPI_, &calls[i], calls[i].out, (MPI_Request *)NULL, ret);
		else
			CALL(MPI_, &calls[i], calls[i].out, &requests[nr], ret);
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

static void test_requests(void)
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

/* A communicator that is freed with a call under way, and a type. */
static void test_comms(void)
{
	MPI_Request request;
	MPI_Datatype spaced;
	MPI_Comm comm;
	uint64_t before = count_of("ibcast"), groups_before = count_of("groups");
	int value[6];

	for (int i = 0; i < 3; i++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		MPI_Barrier(comm);
		MPI_Type_vector(3, 1, 2, MPI_INT, &spaced);
		MPI_Type_commit(&spaced);
		for (int j = 0; j < 6; j++)
			value[j] = rank ? -1 : 10 * i + j;
		MPI_Ibcast(value, 1, spaced, 0, comm, &request);
		MPI_Type_free(&spaced);
		MPI_Comm_free(&comm);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		for (int j = 0; j < 6; j++)
			if (value[j] != (j % 2 && rank ? -1 : 10 * i + j))
				fail("comms: value %d is %d", j, value[j]);
	}
	expect_inc("comms", "ibcast", before, 3);
	expect_inc("comms", "groups", groups_before, 3);
}

/* MPI must go on with messages while a rank waits in a collective. */
static void test_progress(void)
{
	size_t n = 4 << 20;
	char *data = malloc(n);
	uint64_t before = count_of("barrier");
	MPI_Request request;

	if (!data)
		fail("no memory");
	MPI_Barrier(MPI_COMM_WORLD);
	for (int from = 0; from < size; from++) {
		int to = (from + 1) % size;

		memset(data, rank == from ? from + 1 : 0, n);
		if (rank == from)
			MPI_Isend(data, (int)n, MPI_BYTE, to, 7, MPI_COMM_WORLD, &request);
		if (rank == to && size > 1)
			MPI_Recv(data, (int)n, MPI_BYTE, from, 7, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
		MPI_Barrier(MPI_COMM_WORLD);
		if (rank == from && size > 1)
			MPI_Wait(&request, MPI_STATUS_IGNORE);
		if (rank == to && data[n - 1] != from + 1)
			fail("progress: received %d from %d", data[n - 1], from);
	}
	free(data);
	expect_inc("progress", "barrier", before, size > 1 ? (uint64_t)size + 1 : 0);
}

static void user_sum(void *in, void *inout, int *n, MPI_Datatype *type)
{
	int *a = in, *b = inout;

	(void)type;
	for (int i = 0; i < *n; i++)
		b[i] = 2 * a[i] + b[i];
}

/* What is easily got wrong. */
static void test_semantics(void)
{
	int in = rank + 5, out = -7, err;
	uint64_t before = count_of("why.operation"), types_before = count_of("why.type");
	struct { double value; int index; } pair, least;
	double nan_in = strtod("nan(0x1234)", NULL), nan_out;
	MPI_Errhandler handler;
	MPI_Op op;

	/* a single operand stays what it is */
	MPI_Scan(&in, &out, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
	if (out != (rank ? 1 : 5))
		fail("scan land: %d", out);
	out = -7;
	MPI_Exscan(&in, &out, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
	if (out != (rank == 0 ? -7 : rank == 1 ? 5 : 1))
		fail("exscan lor: %d", out);
	out = -7;
	MPI_Exscan(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (out != (rank ? 5 * rank + rank * (rank - 1) / 2 : -7))
		fail("exscan sum: %d", out);
	MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_LAND, MPI_COMM_SELF);
	if (out != in)
		fail("land at a communicator of one: %d", out);
	out = in;
	MPI_Scan(MPI_IN_PLACE, &out, 1, MPI_INT, MPI_LXOR, MPI_COMM_WORLD);
	if (out != (rank ? !(rank % 2) : 5))
		fail("scan lxor in place: %d", out);
	MPI_Scan(&nan_in, &nan_out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	if (!rank && memcmp(&nan_in, &nan_out, sizeof(nan_in)))
		fail("scan of a NaN: other bits");
	/* -0 equals 0: the lower index */
	pair.value = rank % 2 ? -0.0 : 0.0;
	pair.index = 100 + rank;
	MPI_Allreduce(&pair, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
	if (least.index != 100 || least.value != 0)
		fail("minloc of zeros: index %d", least.index);
	pair.value = rank % 2 ? 0.0 : -0.0;
	MPI_Allreduce(&pair, &least, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
	if (least.index != 100)
		fail("maxloc of zeros: index %d", least.index);
	/* the MPI's own: an operation of the program, in order */
	MPI_Op_create(user_sum, 0, &op);
	MPI_Allreduce(&in, &out, 1, MPI_INT, op, MPI_COMM_WORLD);
	PMPI_Allreduce(&in, &err, 1, MPI_INT, op, MPI_COMM_WORLD);
	MPI_Op_free(&op);
	if (out != err)
		fail("an operation of the program: %d, expected %d", out, err);
	if (expected == EXPECT_INC && size > 1 && count_of("why.operation") - before != 1)
		fail("an operation of the program was not counted");
	/* MPI refuses what it does not have */
	MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	err = MPI_Allreduce(&nan_in, &nan_out, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD);
	if (!err)
		fail("band of doubles is no error");
	if (expected == EXPECT_INC && size > 1 && count_of("why.type") - types_before != 1)
		fail("band of doubles was not counted");
	err = MPI_Bcast(&in, 1, MPI_INT, size, MPI_COMM_WORLD);
	if (!err)
		fail("root %d of %d ranks is no error", size, size);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
	MPI_Errhandler_free(&handler);
}

static void test_inter(void)
{
	MPI_Comm half, inter;
	int in = rank, out = -1, color = rank % 2, want = 0;
	uint64_t before = count_of("why.intercommunicator");

	if (size < 2)
		return;
	MPI_Comm_split(MPI_COMM_WORLD, color, rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, !color, 3, &inter);
	MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, inter);
	for (int i = !color; i < size; i += 2)
		want += i;
	if (out != want)
		fail("allreduce of an intercommunicator: %d, expected %d", out, want);
	if (expected == EXPECT_INC && count_of("why.intercommunicator") - before != 1)
		fail("an intercommunicator was not counted");
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
}

/*
 * Arrays of an intercommunicator have an entry for each rank of the other group: here one, or all
 * but one.
 */
static void test_inter_arrays(void)
{
	int in[MAX_RANKS], out[MAX_RANKS], counts[MAX_RANKS], displs[MAX_RANKS];
	int others = rank ? 1 : size - 1;
	MPI_Datatype *of;
	MPI_Comm half, inter;

	if (size < 3)
		return;
	MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, !rank, 4, &inter);
	/* who reads behind them reads what is no type */
	of = malloc((size_t)others * sizeof(*of));
	for (int i = 0; i < others; i++) {
		in[i] = 1000 * rank + i;
		out[i] = -1;
		counts[i] = 1;
		displs[i] = i * (int)sizeof(int);
		of[i] = MPI_INT;
	}
	MPI_Alltoallw(in, counts, displs, of, out, counts, displs, of, inter);
	for (int i = 0; i < others; i++)
		if (out[i] != (rank ? rank - 1 : 1000 * (i + 1)))
			fail("alltoallw of an intercommunicator: %d from %d", out[i], i);
	free(of);
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
}

#define MANY	4200	/* more than the kernel holds for a rank */

/* More requests than a group has: they are collected although nobody waits. */
static void test_many(void)
{
	static MPI_Request requests[MANY];

	if (expected != EXPECT_INC)
		return;
	for (int i = 0; i < MANY; i++)
		MPI_Ibarrier(MPI_COMM_WORLD, &requests[i]);
	MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
}

/* ---- Threads -------------------------------------------------------------------------- */

static int nr_wrong;

static void *thread_main(void *arg)
{
	MPI_Comm comm = *(MPI_Comm *)arg;
	int in, out, me, n;

	PMPI_Comm_rank(comm, &me);
	PMPI_Comm_size(comm, &n);
	for (int i = 0; i < 30; i++) {
		in = me + i;
		MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm);
		if (out != n * i + n * (n - 1) / 2)
			__atomic_fetch_add(&nr_wrong, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void test_threads(void)
{
	uint64_t before = count_of("allreduce");
	pthread_t threads[3];
	MPI_Comm comms[3];

	if (!has_threads)
		fail("threads: no MPI_THREAD_MULTIPLE");
	for (int i = 0; i < 3; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, thread_main, &comms[i]))
			fail("no thread");
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 3; i++)
		MPI_Comm_free(&comms[i]);
	if (nr_wrong)
		fail("threads: %d wrong results", nr_wrong);
	expect_inc("threads", "allreduce", before, size > 1 ? 90 : 0);
}

/* ---- A rank that is lost ----------------------------------------------------------------- */

/* AF_INC is no number that a header knows: what is neither local nor IP nor netlink. */
static int close_groups(void)
{
	int null = open("/dev/null", O_RDWR), n = 0;

	for (int fd = 3; fd < 1024; fd++) {
		int domain;
		socklen_t len = sizeof(domain);

		if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) ||
		    domain == AF_UNIX || domain == AF_INET || domain == AF_INET6 ||
		    domain == AF_NETLINK)
			continue;
		dup2(null, fd);
		n++;
	}
	close(null);
	return n;
}

static void expect_error(const char *what, int err)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int len;

	if (err)
		MPI_Error_string(err, text, &len);
	if (strncmp(text, "INC: ", 5))
		fail("lost: %s: error %d: %s", what, err, text);
	if (!rank)
		printf("lost: %s: %s\n", what, text);
}

/* The last rank is gone from its group: all others get an error, and do not hang. */
static void test_lost(void)
{
	int in = 1, out, any = 0;
	MPI_Request request;
	MPI_Comm comm;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm);
	if (rank != size - 1)
		MPI_Ibarrier(comm, &request);
	PMPI_Barrier(MPI_COMM_WORLD);
	if (rank == size - 1 && !close_groups())
		fail("lost: there is no group to be lost from");
	if (rank != size - 1)
		expect_error("ibarrier", MPI_Wait(&request, MPI_STATUS_IGNORE));
	expect_error("allreduce", MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm));
	expect_error("iallreduce", MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm, &request));
	PMPI_Allreduce(&in, &any, 1, MPI_INT, MPI_SUM, comm);
	if (any != size)
		fail("lost: the communicator does not work for MPI itself");
	MPI_Comm_free(&comm);
}

/* ---- All of it ----------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*run)(void);
	bool by_default;
} tests[] = {
	{ "random", test_random, true },
	{ "requests", test_requests, true },
	{ "comms", test_comms, true },
	{ "progress", test_progress, true },
	{ "semantics", test_semantics, true },
	{ "inter", test_inter, true },
	{ "inter_arrays", test_inter_arrays, true },
	{ "many", test_many, true },
	{ "threads", test_threads, false },
	{ "lost", test_lost, false },
};

#define NR_TESTS (sizeof(tests) / sizeof(tests[0]))

static void run_test(const char *name, bool all)
{
	bool found = false;
	double begin;

	for (size_t i = 0; i < NR_TESTS; i++) {
		if (all ? !tests[i].by_default : strcmp(tests[i].name, name))
			continue;
		found = true;
		drawn = i << 40;
		begin = PMPI_Wtime();
		tests[i].run();
		PMPI_Barrier(MPI_COMM_WORLD);
		if (!rank && !quiet)
			printf("%s: passed (%.1f s)\n", tests[i].name, PMPI_Wtime() - begin);
		fflush(stdout);
	}
	if (!found)
		fail("there is no test \"%s\"", name);
}

static void usage(const char *name)
{
	fprintf(stderr, "%s [--seed N] [--ops N] [--expect inc|mpi|off|absent] [--fn NAME] [--threads] [--quiet] [TEST...]\n",
		name);
	exit(2);
}

static enum expected parse_expected(const char *text)
{
	if (!strcmp(text, "inc"))
		return EXPECT_INC;
	if (!strcmp(text, "mpi"))
		return EXPECT_MPI;
	if (!strcmp(text, "off"))
		return EXPECT_OFF;
	return strcmp(text, "absent") ? EXPECT_ANY : EXPECT_ABSENT;
}

static int parse(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--quiet")) {
			quiet = true;
			continue;
		}
		if (!strcmp(argv[i], "--threads")) {
			wants_threads = true;
			continue;
		}
		if (i + 1 == argc)
			usage(argv[0]);
		if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[++i], NULL, 0);
		else if (!strcmp(argv[i], "--ops"))
			nr_ops = atoi(argv[++i]);
		else if (!strcmp(argv[i], "--fn"))
			only_fn = argv[++i];
		else if (!strcmp(argv[i], "--expect"))
			expected = parse_expected(argv[++i]);
		else
			usage(argv[0]);
	}
	return i;
}

static void make_mixed(void)
{
	int lengths[] = { 1, 1 };
	MPI_Aint displs[] = { offsetof(struct int_double, i), offsetof(struct int_double, d) };
	MPI_Datatype parts[] = { MPI_INT, MPI_DOUBLE };

	PMPI_Type_create_struct(2, lengths, displs, parts, &mixed);
	PMPI_Type_commit(&mixed);
}

static void find_counters(void)
{
	*(void **)&counter = dlsym(RTLD_DEFAULT, "inc_mpi_counter");
	if (expected == EXPECT_ABSENT ? !!counter : expected != EXPECT_ANY && !counter)
		fail("libinc-mpi is %spreloaded", counter ? "" : "not ");
}

#define FINALIZE_SECONDS	30

static void not_finalized(int number)
{
	static const char text[] = "mpi-coll: MPI_Finalize() does not return\n";

	(void)number;
	_exit(write(STDERR_FILENO, text, sizeof(text) - 1) > 0 ? 0 : 1);
}

/*
 * MPICH 4.0 over UCX may never come back from it, without libinc-mpi as well. This stands in front
 * of MPICH's for libinc-mpi, which calls it last: if that hangs itself, so does the test.
 */
#ifdef MPICH_VERSION
int PMPI_Finalize(void)
{
	int (*next)(void);

	*(void **)&next = dlsym(RTLD_NEXT, "PMPI_Finalize");
	signal(SIGALRM, not_finalized);
	alarm(FINALIZE_SECONDS);
	return next();
}
#endif

static void finalize(void)
{
#ifdef MPICH_VERSION
	if (expected == EXPECT_ABSENT) {
		PMPI_Finalize();
		return;
	}
#else
	(void)not_finalized;
#endif
	MPI_Finalize();
}

int main(int argc, char **argv)
{
	int provided, at = parse(argc, argv);
	uint64_t sums[2], own[2];
	bool looked;

	if (wants_threads)
		MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	else
		MPI_Init(&argc, &argv);
	PMPI_Query_thread(&provided);
	has_threads = provided == MPI_THREAD_MULTIPLE;
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size > MAX_RANKS)
		fail("%d ranks: at most %d", size, MAX_RANKS);
	find_counters();
	make_mixed();
	if (at == argc)
		run_test("", true);
	for (; at < argc; at++)
		run_test(argv[at], false);
	looked = count_of("why.no_group") || count_of("why.one_host");
	if ((expected == EXPECT_MPI && size > 1 && !looked) || (expected == EXPECT_OFF && looked))
		fail("libinc-mpi has %slooked at calls", looked ? "" : "not ");
	own[0] = by_inc;
	own[1] = by_mpi;
	PMPI_Reduce(own, sums, 2, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
	if (!rank)
		printf("mpi-coll: by INC %llu, by MPI %llu\n", (unsigned long long)sums[0],
		       (unsigned long long)sums[1]);
	PMPI_Type_free(&mixed);
	fflush(stdout);
	finalize();
	return 0;
}
