// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What an application says about an operation, checked and turned into what the kernel is told.
 * What is wrong is named with its value and with what was expected.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

#define MAX_DISPL	0x100000000000ULL	/* the kernel takes no more */

/* All that the checks look at. */
struct call {
	struct inc_group *group;
	const struct inc_args *args;
	const struct inc_shape *shape;
	const char *name;
	uint32_t rank, size;
	bool root;
};

static __printf(3, 0) int bad_call(const struct call *c, int err, const char *fmt, va_list args)
{
	char text[256];

	vsnprintf(text, sizeof(text), fmt, args);
	return inc_fail(c->group, err, "%s: %s", c->name, text);
}

static __printf(2, 3) int bad(const struct call *c, const char *fmt, ...)
{
	va_list args;
	int ret;

	va_start(args, fmt);
	ret = bad_call(c, -EINVAL, fmt, args);
	va_end(args);
	return ret;
}

static __printf(2, 3) int too_large(const struct call *c, const char *fmt, ...)
{
	va_list args;
	int ret;

	va_start(args, fmt);
	ret = bad_call(c, -EOVERFLOW, fmt, args);
	va_end(args);
	return ret;
}

static bool is_given(const void *buf)
{
	return buf && buf != INC_IN_PLACE;
}

/*
 * Is an alltoall's input in @recv? Who gives no buffer, but counts of what it sends, has nothing to
 * send, or has forgotten the buffer.
 */
static bool alltoall_in_place(const struct inc_args *a)
{
	return a->coll == INC_COLL_ALLTOALL && !is_given(a->send) && (a->send || !a->send_counts);
}

static int check_numbers(const struct call *c)
{
	const struct inc_args *a = c->args;

	if (c->shape->moves && !inc_type_size(a->type))
		return bad(c, "type %d: expected enum inc_type, 1..%d", (int)a->type, INC_TYPE_MAX);
	if (!c->shape->moves && (a->type || a->count))
		return bad(c, "type %d, count %llu: it moves nothing, expected 0", (int)a->type,
			   (unsigned long long)a->count);
	if (c->shape->reduces && !inc_op_name(a->op))
		return bad(c, "operation %d: expected enum inc_op, 1..%d", (int)a->op,
			   __INC_OP_MAX - 1);
	if (!c->shape->reduces && a->op)
		return bad(c, "operation %d: it reduces nothing, expected 0", (int)a->op);
	if (a->wire && (!c->shape->moves || !inc_type_size(a->wire)))
		return bad(c, "wire type %d: expected 0%s", (int)a->wire,
			   c->shape->moves ? " or another enum inc_type" : "");
	if (c->shape->rooted ? a->root >= c->size : a->root)
		return bad(c, "root %u: expected 0..%u", a->root,
			   c->shape->rooted ? c->size - 1 : 0);
	if (a->count > INC_MAX_COUNT)
		return bad(c, "count %llu: expected 0..%llu", (unsigned long long)a->count,
			   INC_MAX_COUNT);
	return 0;
}

static int check_options(const struct call *c)
{
	const struct inc_shape *shape = c->shape;
	const struct inc_args *a = c->args;

	if (a->mode & ~(uint32_t)(INC_MODE_SATURATE | INC_MODE_COUNTS))
		return bad(c, "mode 0x%x: expected INC_MODE_SATURATE | INC_MODE_COUNTS", a->mode);
	if (a->mode & INC_MODE_COUNTS && !shape->send_counts && !shape->recv_counts)
		return bad(c, "mode 0x%x: INC_MODE_COUNTS, but it has no shares", a->mode);
	if (!(a->mode & INC_MODE_COUNTS) &&
	    (a->send_counts || a->recv_counts || a->send_displs || a->recv_displs))
		return bad(c, "mode 0x%x: counts or displacements, expected INC_MODE_COUNTS",
			   a->mode);
	if (!shape->displs && (a->send_displs || a->recv_displs))
		return bad(c, "%s: its shares follow one another, expected NULL",
			   a->send_displs ? "send_displs" : "recv_displs");
	if (a->op != INC_OP_WSUM && a->weight != 0)
		return bad(c, "weight %g: only INC_OP_WSUM has one, expected 0", a->weight);
	for (size_t i = 0; i < sizeof(a->resv) / sizeof(a->resv[0]); i++)
		if (a->resv[i])
			return bad(c, "resv[%zu] is not 0", i);
	return 0;
}

static bool has_counts(const struct call *c)
{
	return c->args->mode & INC_MODE_COUNTS;
}

/* @side: "send" or "recv" */
static int check_counts(const struct call *c, const char *side, const uint64_t *counts)
{
	unsigned long long sum = 0;

	if (!counts)
		return bad(c, "%s_counts is NULL: expected %u counts", side, c->size);
	for (uint32_t i = 0; i < c->size; i++) {
		if (counts[i] > INC_MAX_COUNT)
			return bad(c, "%s_counts[%u] is %llu: expected 0..%llu", side, i,
				   (unsigned long long)counts[i], INC_MAX_COUNT);
		sum += counts[i];
	}
	return sum <= INC_MAX_COUNT ? 0 :
	       too_large(c, "%s_counts: %llu elements in all: expected at most %llu", side, sum,
			 INC_MAX_COUNT);
}

static int check_displs(const struct call *c, const char *side, const uint64_t *displs)
{
	for (uint32_t i = 0; displs && i < c->size; i++)
		if (displs[i] > MAX_DISPL)
			return too_large(c, "%s_displs[%u] is %llu: expected 0..%llu", side, i,
					 (unsigned long long)displs[i], MAX_DISPL);
	return 0;
}

static bool has_shares(const struct call *c)
{
	return c->shape->send_shares || c->shape->recv_shares;
}

/* Those of alltoall in place stand for both sides. */
static int fill_counts(const struct call *c, struct inc_submit *op)
{
	const struct inc_args *a = c->args;
	bool in_place = alltoall_in_place(a);
	int ret = 0;

	if (!has_counts(c))
		return !has_shares(c) || a->count <= INC_MAX_COUNT / c->size ? 0 :
		       too_large(c, "count %llu for each of %u ranks: expected at most %llu",
				 (unsigned long long)a->count, c->size, INC_MAX_COUNT / c->size);
	if (inc_applies(c->shape->send_counts, c->root) && !in_place) {
		ret = check_counts(c, "send", a->send_counts) ?:
		      check_displs(c, "send", a->send_displs);
		op->send_counts = (uintptr_t)a->send_counts;
		op->send_displs = (uintptr_t)a->send_displs;
	}
	if (!ret && inc_applies(c->shape->recv_counts, c->root)) {
		ret = check_counts(c, "recv", a->recv_counts) ?:
		      check_displs(c, "recv", a->recv_displs);
		op->recv_counts = (uintptr_t)a->recv_counts;
		op->recv_displs = (uintptr_t)a->recv_displs;
		if (in_place)
			op->send_counts = op->recv_counts;
	}
	return ret;
}

/* Elements of this rank's own share. */
static uint64_t own_count(const struct call *c)
{
	const struct inc_args *a = c->args;

	if (!has_counts(c))
		return a->count;
	switch (a->coll) {
	case INC_COLL_REDUCE_SCATTER:
	case INC_COLL_ALLGATHER:
		return a->recv_counts[c->rank];
	case INC_COLL_GATHER:
		return c->root && !is_given(a->send) ? a->recv_counts[c->rank] : a->count;
	case INC_COLL_SCATTER:
		return c->root && !is_given(a->recv) ? a->send_counts[c->rank] : a->count;
	default:
		return 0;
	}
}

/* Bytes to the end of the share that lies last. */
static uint64_t shares_end(const struct call *c, uint64_t counts, uint64_t displs)
{
	const uint64_t *count = (const uint64_t *)(uintptr_t)counts;
	const uint64_t *displ = (const uint64_t *)(uintptr_t)displs;
	uint64_t end = 0, at = 0, n;

	for (uint32_t i = 0; i < c->size; i++, at += n) {
		n = count ? count[i] : c->args->count;
		if (n && (displ ? displ[i] : at) + n > end)
			end = (displ ? displ[i] : at) + n;
	}
	return end * inc_type_size(c->args->type);
}

static unsigned long long shares_bytes(const struct call *c, uint64_t counts)
{
	const uint64_t *count = (const uint64_t *)(uintptr_t)counts;
	unsigned long long n = 0;

	for (uint32_t i = 0; i < c->size; i++)
		n += count ? count[i] : c->args->count;
	return n * inc_type_size(c->args->type);
}

static int no_buffer(const struct call *c, const char *what, const void *buf,
		     unsigned long long bytes)
{
	if (buf && c->shape->in_place == INC_ROOT && !c->root)
		return bad(c,
			   "%s is INC_IN_PLACE: expected %llu bytes, only the root, rank %u, may say that",
			   what, bytes, c->args->root);
	return bad(c, "%s is %s: expected %llu bytes", what, buf ? "INC_IN_PLACE" : "NULL", bytes);
}

static bool needs_recv(const struct call *c)
{
	const struct inc_args *a = c->args;

	return inc_applies(c->shape->recv, c->root) ||
	       (a->coll == INC_COLL_BROADCAST && a->wire && a->wire != a->type);
}

static int check_buffers(const struct call *c, const struct inc_submit *op)
{
	unsigned long long own = own_count(c) * inc_type_size(c->args->type);
	unsigned long long send = own, recv = own;
	const struct inc_shape *shape = c->shape;

	if (shape->send_shares && inc_applies(shape->send, c->root))
		send = shares_bytes(c, op->send_counts ?: op->recv_counts);
	if (shape->recv_shares && inc_applies(shape->recv, c->root))
		recv = shares_bytes(c, op->recv_counts);
	if (needs_recv(c) && recv && !op->recv)
		return no_buffer(c, "recv", c->args->recv, recv);
	if (inc_applies(shape->send, c->root) && send && !op->send)
		return no_buffer(c, "send", c->args->send, send);
	return 0;
}

/*
 * INC_IN_PLACE becomes the other buffer's address, but for alltoall: its input has to be copied
 * when it starts, and until then is marked with it.
 */
static void fill_buffers(const struct call *c, struct inc_submit *op)
{
	op->send = (uintptr_t)(is_given(c->args->send) ? c->args->send : NULL);
	op->recv = (uintptr_t)(is_given(c->args->recv) ? c->args->recv : NULL);
	if (alltoall_in_place(c->args))
		op->send = (uintptr_t)INC_IN_PLACE;
	else if (c->args->coll == INC_COLL_SCATTER && c->root)
		op->recv = op->recv ?: op->send;
	else if (c->args->coll != INC_COLL_ALLTOALL && inc_applies(c->shape->in_place, c->root))
		op->send = op->send ?: op->recv;
}

static void find_extents(const struct call *c, const struct inc_submit *op, uint64_t *send,
			 uint64_t *recv)
{
	uint64_t own = own_count(c) * inc_type_size(c->args->type);
	const struct inc_shape *shape = c->shape;

	*send = *recv = 0;
	if (inc_applies(shape->send, c->root) && op->send && op->send != (uintptr_t)INC_IN_PLACE)
		*send = shape->send_shares ? shares_end(c, op->send_counts ?: op->recv_counts,
							op->send_displs) : own;
	if (needs_recv(c) && op->recv)
		*recv = shape->recv_shares ? shares_end(c, op->recv_counts, op->recv_displs) : own;
}

static uint64_t weight_bits(const struct inc_args *args)
{
	uint64_t bits = 0;

	if (args->op == INC_OP_WSUM)
		memcpy(&bits, &args->weight, sizeof(bits));
	return bits;
}

static int fill_call(const struct call *c, struct inc_submit *op)
{
	const struct inc_args *args = c->args;
	int ret;

	if (!c->shape->submit)
		return inc_fail(c->group, -EINVAL, "collective %d: expected enum inc_coll, 1..%d",
				(int)args->coll, INC_COLL_LEAVE - 1);
	*op = (struct inc_submit){
		.coll = args->coll, .type = args->type, .op = args->op, .wire = args->wire,
		.mode = args->mode, .root = args->root, .weight = weight_bits(args),
	};
	ret = check_numbers(c);
	if (!ret)
		ret = check_options(c);
	if (!ret)
		ret = fill_counts(c, op);
	if (ret)
		return ret;
	if (!has_counts(c) ||
	    (args->coll != INC_COLL_REDUCE_SCATTER && args->coll != INC_COLL_ALLTOALL))
		op->count = own_count(c);
	fill_buffers(c, op);
	return check_buffers(c, op);
}

static struct call make_call(struct inc_group *group, const struct inc_args *args)
{
	uint32_t rank = inc_rank(group);

	return (struct call){
		.group = group, .args = args, .shape = inc_shape(args->coll),
		.name = inc_coll_name(args->coll), .rank = rank, .size = inc_size(group),
		.root = args->root == rank,
	};
}

int inc_fill(struct inc_group *group, struct inc_submit *op, const struct inc_args *args)
{
	struct call c;

	if (!group || !args)
		return inc_null(group, group ? "struct inc_args" : "group");
	c = make_call(group, args);
	return fill_call(&c, op);
}

void inc_extents(struct inc_group *group, const struct inc_submit *op, const struct inc_args *args,
		 uint64_t *send, uint64_t *recv)
{
	struct call c = make_call(group, args);

	find_extents(&c, op, send, recv);
}

/* Elements of the two shares that overlap; false: none do. */
static bool find_overlap(const struct call *c, const uint64_t *counts, const uint64_t *displs,
			 uint32_t *one, uint32_t *other)
{
	for (*one = 0; *one < c->size; ++*one)
		for (*other = *one + 1; *other < c->size; ++*other)
			if (counts[*one] && counts[*other] &&
			    displs[*one] < displs[*other] + counts[*other] &&
			    displs[*other] < displs[*one] + counts[*one])
				return true;
	return false;
}

static bool why_shares(const struct call *c, char *buf, size_t len)
{
	const uint64_t *counts = c->args->recv_counts, *displs = c->args->recv_displs;
	uint32_t i, j;

	if (!counts || !displs || !find_overlap(c, counts, displs, &i, &j))
		return false;
	snprintf(buf, len,
		 "%s: recv_displs: elements %llu..%llu of rank %u and %llu..%llu of rank %u: expected shares that do not overlap",
		 c->name, (unsigned long long)displs[i],
		 (unsigned long long)(displs[i] + counts[i] - 1), i, (unsigned long long)displs[j],
		 (unsigned long long)(displs[j] + counts[j] - 1), j);
	return true;
}

bool inc_why_invalid(struct inc_group *group, char *buf, size_t len, const struct inc_submit *op)
{
	const struct inc_args args = {
		.coll = op->coll, .type = op->type, .op = op->op, .wire = op->wire,
		.mode = op->mode, .root = op->root, .count = op->count,
		.send = (const void *)(uintptr_t)op->send,
		.send_counts = (const uint64_t *)(uintptr_t)op->send_counts,
		.send_displs = (const uint64_t *)(uintptr_t)op->send_displs,
		.recv = (void *)(uintptr_t)op->recv,
		.recv_counts = (const uint64_t *)(uintptr_t)op->recv_counts,
		.recv_displs = (const uint64_t *)(uintptr_t)op->recv_displs,
	};
	const struct call c = make_call(group, &args);
	bool in_place = op->send == op->recv && op->coll != INC_COLL_ALLTOALL;
	uint64_t send, recv;

	if (!c.shape->moves)
		return false;
	if (why_shares(&c, buf, len))
		return true;
	find_extents(&c, op, &send, &recv);
	if (in_place || !send || !recv || op->send >= op->recv + recv ||
	    op->recv >= op->send + send)
		return false;
	snprintf(buf, len, "%s: send and recv overlap: expected INC_IN_PLACE, or two buffers apart",
		 c.name);
	return true;
}
