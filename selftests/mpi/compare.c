// SPDX-License-Identifier: GPL-2.0-only
/* The same call by the MPI itself, with plain elements, and whether the results are the same. */
#include "mpi-coll.h"

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

int run_plain(struct test_call *c)
{
	struct test_call p = *c;
	int ret;

	if (is_reduction(c->fn) || c->fn == BARRIER) {
		p.in_place = false;
		return call_pmpi(&p);
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
	ret = call_pmpi(&p);
	if (!(c->in_place && (c->fn == SCATTER || c->fn == SCATTERV)))
		copy_elements(c, c->want, &p, p.want, false);
	PMPI_Type_free(&p.send.type);
	free(p.in);
	free(p.want);
	return ret;
}

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

void compare_results(struct test_call *c)
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
