// SPDX-License-Identifier: GPL-2.0-only
/* What libinc makes of arguments and buffers, and what it refuses. */
#define _GNU_SOURCE
#include "libinc_env.h"

static void test_buffers(void)
{
	const uintptr_t s = (uintptr_t)from, r = (uintptr_t)to;

	reset();
	told("allreduce", inc_allreduce(&group, from, to, 9, INC_TYPE_F32, INC_OP_MAX), s, r, 9);
	told("allreduce in place",
	     inc_allreduce(&group, INC_IN_PLACE, to, 9, INC_TYPE_F32, INC_OP_SUM), r, r, 9);
	told("allreduce from NULL", inc_allreduce(&group, NULL, to, 9, INC_TYPE_F32, INC_OP_SUM), r,
	     r, 9);
	told("scan", inc_scan(&group, from, to, 9, INC_TYPE_F32, INC_OP_SUM), s, r, 9);
	told("exscan", inc_exscan(&group, INC_IN_PLACE, to, 9, INC_TYPE_F32, INC_OP_SUM), r, r, 9);
	told("reduce at the root",
	     inc_reduce(&group, INC_IN_PLACE, to, 9, INC_TYPE_F32, INC_OP_SUM, RANK), r, r, 9);
	told("reduce elsewhere", inc_reduce(&group, from, NULL, 9, INC_TYPE_F32, INC_OP_SUM, 0), s,
	     0, 9);
	told("reduce-scatter",
	     inc_reduce_scatter(&group, INC_IN_PLACE, to, 9, INC_TYPE_F32, INC_OP_SUM), r, r, 9);
	told("broadcast at the root", inc_broadcast(&group, to, 9, INC_TYPE_F32, RANK), r, r, 9);
	told("broadcast elsewhere", inc_broadcast(&group, to, 9, INC_TYPE_F32, 0), 0, r, 9);
	told("allgather", inc_allgather(&group, from, to, 9, INC_TYPE_F32), s, r, 9);
	told("allgather in place", inc_allgather(&group, NULL, to, 9, INC_TYPE_F32), r, r, 9);
	told("gather at the root", inc_gather(&group, INC_IN_PLACE, to, 9, INC_TYPE_F32, RANK), r,
	     r, 9);
	told("gather elsewhere", inc_gather(&group, from, NULL, 9, INC_TYPE_F32, 2), s, 0, 9);
	told("scatter at the root", inc_scatter(&group, from, INC_IN_PLACE, 9, INC_TYPE_F32, RANK),
	     s, s, 9);
	told("scatter elsewhere", inc_scatter(&group, NULL, to, 9, INC_TYPE_F32, 2), 0, r, 9);
	told("alltoall", inc_alltoall(&group, from, to, 9, INC_TYPE_F32), s, r, 9);
	told("barrier", inc_barrier(&group), 0, 0, 0);
	told("allreduce of nothing", inc_allreduce(&group, NULL, NULL, 0, INC_TYPE_F32, INC_OP_SUM),
	     0, 0, 0);
}

static void test_counts(void)
{
	const uintptr_t s = (uintptr_t)from, r = (uintptr_t)to, c = (uintptr_t)counts,
			d = (uintptr_t)displs;
	const struct inc_submit *op = &kernel.op;

	reset();
	told("reduce-scatter",
	     inc_reduce_scatterv(&group, from, to, counts, INC_TYPE_I8, INC_OP_SUM), s, r, 0);
	expect(op->recv_counts == c && op->mode == INC_MODE_COUNTS, "reduce-scatter: counts");
	group.addr.sinc_rank = 2;
	told("allgather", inc_allgatherv(&group, from, to, counts, displs, INC_TYPE_I8), s, r, 5);
	expect(op->recv_counts == c && op->recv_displs == d && !op->send_counts,
	       "allgather: counts");
	told("gather", inc_gatherv(&group, from, 3, to, counts, NULL, INC_TYPE_I8, 2), s, r, 3);
	expect(op->recv_counts == c && !op->recv_displs, "gather: counts");
	told("gather in place",
	     inc_gatherv(&group, INC_IN_PLACE, 99, to, counts, displs, INC_TYPE_I8, 2), r, r, 5);
	told("gather elsewhere", inc_gatherv(&group, from, 3, NULL, NULL, NULL, INC_TYPE_I8, 0), s,
	     0, 3);
	expect(!op->recv_counts && op->mode == INC_MODE_COUNTS, "gather: counts of others");
	told("scatter", inc_scatterv(&group, from, counts, displs, to, 3, INC_TYPE_I8, 2), s, r, 3);
	expect(op->send_counts == c && op->send_displs == d && !op->recv_counts, "scatter: counts");
	told("scatter in place",
	     inc_scatterv(&group, from, counts, NULL, INC_IN_PLACE, 99, INC_TYPE_I8, 2), s, s, 5);
	told("alltoall", inc_alltoallv(&group, from, counts, displs, to, counts, NULL, INC_TYPE_I8),
	     s, r, 0);
	expect(op->send_counts == c && op->send_displs == d && op->recv_counts == c &&
	       !op->recv_displs,
	       "alltoall: counts");
}

/* The copy is of what the shares hold when the operation starts, packed. */
static void test_alltoall_in_place(void)
{
	static const uint8_t packed[] = { 108, 109, 100, 101, 102, 103, 104 },
			     later[] = { 7, 7, 7, 7, 7, 7, 7 };
	struct inc_args args = {
		.coll = INC_COLL_ALLTOALL, .type = INC_TYPE_U8, .mode = INC_MODE_COUNTS,
		.send = INC_IN_PLACE, .recv = to, .recv_counts = counts, .recv_displs = displs,
	};
	struct inc_request req;

	reset();
	expect(!inc_prepare(&group, &args, &req), "prepare: %s", inc_errmsg(&group));
	expect(!inc_start(&req) && req.handle, "start: %s", inc_errmsg(&group));
	expect(kernel.op.send == (uintptr_t)req.copy && kernel.op.send != IN_PLACE_BITS,
	       "no copy is sent");
	expect(!memcmp(req.copy, packed, sizeof(packed)), "the copy is not that of the shares");
	expect(kernel.op.send_counts == (uintptr_t)counts && !kernel.op.send_displs,
	       "the counts of the copy");
	expect(inc_start(&req) == -EBUSY, "started twice");
	expect(!inc_wait(&req, -1) && !req.copy, "the copy was not freed");
	memset(to, 7, sizeof(to));
	expect(!inc_start(&req) && !memcmp(req.copy, later, sizeof(later)),
	       "the second copy is not a new one");
	expect(!inc_test(&req) && !req.copy, "the second copy was not freed");
	kernel.fail = ENOMEM;
	expect(inc_start(&req) == -ENOMEM && !req.copy && !req.handle, "a copy was left behind");
	args.mode = 0;
	args.recv_counts = NULL;
	args.recv_displs = NULL;
	args.recv = NULL;
	expect(!inc_collective(&group, &args), "of nothing: %s", inc_errmsg(&group));
	args.count = 1;
	expect(inc_collective(&group, &args) == -EINVAL, "NULL in place was taken");
}

/* A rank that sends nothing has no buffer, and is not in place: it has counts of what it sends. */
static void test_alltoall_from_nothing(void)
{
	static const uint64_t nothing[SIZE];

	reset();
	told("alltoall of nothing from NULL",
	     inc_alltoallv(&group, NULL, nothing, NULL, to, counts, displs, INC_TYPE_I8), 0,
	     (uintptr_t)to, 0);
	expect(!kernel.op.send && kernel.op.send_counts == (uintptr_t)nothing,
	       "it is taken for one in place");
	expect(inc_alltoallv(&group, NULL, counts, NULL, to, counts, NULL, INC_TYPE_I8) == -EINVAL,
	       "NULL is sent");
	told("alltoall in place by NULL",
	     inc_alltoallv(&group, NULL, NULL, NULL, to, counts, displs, INC_TYPE_I8), 0,
	     (uintptr_t)to, 0);
	expect(kernel.op.send_counts == (uintptr_t)counts, "not in place without send_counts");
	told("alltoall in place",
	     inc_alltoallv(&group, INC_IN_PLACE, nothing, NULL, to, counts, displs, INC_TYPE_I8), 0,
	     (uintptr_t)to, 0);
	expect(kernel.op.send_counts == (uintptr_t)counts, "send_counts count in place");
}

static void refused(const char *text, const struct inc_args *args)
{
	struct inc_request req;

	kernel.submits = 0;
	expect(inc_icollective(&group, args, &req) == -EINVAL && inc_wait(&req, 0) == -EINVAL &&
	       !kernel.submits,
	       "expected \"%s\", but it was taken", text);
	expect(strstr(inc_errmsg(&group), text), "expected \"%s\", got \"%s\"", text,
	       inc_errmsg(&group));
}

/* Good arguments, and what is to be different. */
#pragma GCC diagnostic ignored "-Woverride-init"
#define GOOD(...) (&(const struct inc_args) { \
	.coll = INC_COLL_ALLREDUCE, .type = INC_TYPE_F32, .op = INC_OP_SUM, .count = 2, \
	.send = from, .recv = to, __VA_ARGS__ })
#define MOVE_OF(which, ...) (&(const struct inc_args) { \
	.coll = INC_COLL_##which, .type = INC_TYPE_F32, .send = from, .recv = to, __VA_ARGS__ })

static void test_refused(void)
{
	static const uint64_t huge[SIZE] = { 0, 1ULL << 32, 0 };

	reset();
	expect(!inc_collective(&group, GOOD(.wire = INC_TYPE_BF16)), "%s", inc_errmsg(&group));
	expect(inc_collective(&group, GOOD(.coll = INC_COLL_LEAVE)) == -EINVAL, "LEAVE was taken");
	refused("collective 77: expected", GOOD(.coll = 77));
	refused("allreduce: type 99: expected", GOOD(.type = 99));
	refused("operation 99: expected", GOOD(.op = 99));
	refused("operation 0: expected", GOOD(.op = 0));
	refused("wire type 99: expected 0 or", GOOD(.wire = 99));
	refused("root 1: expected 0..0", GOOD(.root = 1));
	refused("root 3: expected 0..2", MOVE_OF(BROADCAST, .root = 3));
	refused("count 4294967296: expected 0..4294967295", GOOD(.count = 1ULL << 32));
	refused("mode 0x80: expected", GOOD(.mode = 0x80));
	refused("weight 0.5: only", GOOD(.weight = 0.5));
	refused("resv[3]", GOOD(.resv = { 0, 0, 0, 1 }));
	refused("recv is NULL: expected 8 bytes", GOOD(.recv = NULL));
	refused("recv is INC_IN_PLACE: expected 8 bytes", GOOD(.recv = INC_IN_PLACE));
	refused("operation 1: it reduces nothing", MOVE_OF(GATHER, .op = INC_OP_SUM));
	refused("type 11, count 0: it moves nothing", MOVE_OF(BARRIER));
	refused("wire type 3: expected 0",
		&(const struct inc_args){ .coll = INC_COLL_BARRIER, .wire = 3 });
	refused("send is INC_IN_PLACE: expected 4 bytes, only the root, rank 2",
		MOVE_OF(GATHER, .send = INC_IN_PLACE, .count = 1, .root = 2));
	refused("recv is NULL: expected 12 bytes",
		MOVE_OF(GATHER, .recv = NULL, .count = 1, .root = RANK));
	refused("INC_MODE_COUNTS, but it has no shares", GOOD(.mode = INC_MODE_COUNTS));
	refused("expected INC_MODE_COUNTS", MOVE_OF(ALLGATHER, .recv_counts = counts));
	refused("recv_counts is NULL: expected 3 counts",
		MOVE_OF(ALLGATHER, .mode = INC_MODE_COUNTS));
	refused("recv_counts[1] is 4294967296",
		MOVE_OF(ALLGATHER, .mode = INC_MODE_COUNTS, .recv_counts = huge));
	refused("send_counts is NULL",
		MOVE_OF(ALLTOALL, .mode = INC_MODE_COUNTS, .recv_counts = counts));
	refused("recv_displs: its shares follow",
		GOOD(.coll = INC_COLL_REDUCE_SCATTER, .mode = INC_MODE_COUNTS,
		     .recv_counts = counts, .recv_displs = displs));
	refused("recv is NULL",
		MOVE_OF(BROADCAST, .wire = INC_TYPE_F16, .recv = NULL, .count = 1, .root = RANK));
	expect(!inc_collective(&group, MOVE_OF(BROADCAST, .recv = NULL, .count = 1, .root = RANK)),
	       "%s", inc_errmsg(&group));
}

static void too_many(const char *text, const struct inc_args *args)
{
	struct inc_request req;

	expect(inc_icollective(&group, args, &req) == -EOVERFLOW && !kernel.submits,
	       "expected \"%s\"", text);
	expect(strstr(inc_errmsg(&group), text), "expected \"%s\", got \"%s\"", text,
	       inc_errmsg(&group));
}

/* What all shares together, or one of them, cannot be: looked at before any of it is. */
static void test_shares(void)
{
	static const uint64_t half[SIZE] = { 1ULL << 31, 0, 1ULL << 31 };
	static const uint64_t far[SIZE] = { 0, (1ULL << 44) + 1, 0 };

	reset();
	too_many("allgather: count 2147483648 for each of 3 ranks: expected at most 1431655765",
		 MOVE_OF(ALLGATHER, .count = 1ULL << 31));
	too_many("recv_counts: 4294967296 elements in all: expected at most 4294967295",
		 MOVE_OF(ALLGATHER, .mode = INC_MODE_COUNTS, .recv_counts = half));
	too_many("recv_displs[1] is 17592186044417: expected 0..17592186044416",
		 MOVE_OF(ALLGATHER, .mode = INC_MODE_COUNTS, .recv_counts = counts,
			 .recv_displs = far));
	too_many("recv_displs[1] is 17592186044417",
		 MOVE_OF(ALLTOALL, .mode = INC_MODE_COUNTS, .send = INC_IN_PLACE,
			 .recv_counts = counts, .recv_displs = far));
	too_many("send_displs[1] is 17592186044417",
		 MOVE_OF(SCATTER, .mode = INC_MODE_COUNTS, .root = RANK, .send_counts = counts,
			 .send_displs = far));
}

static void overlapping(const char *text, const struct inc_args *args)
{
	kernel.fail = EINVAL;
	expect(inc_collective(&group, args) == -EINVAL, "%s: not refused", text);
	expect(strstr(inc_errmsg(&group), text), "expected \"%s\", got \"%s\"", text,
	       inc_errmsg(&group));
}

/* The kernel has refused it: why is said here. */
static void test_overlap(void)
{
	static const uint64_t into[SIZE] = { 4, 0, 1 }, same[SIZE] = { 0, 0, 1 };

	reset();
	overlapping("allgather: recv_displs: elements 4..5 of rank 0 and 1..5 of rank 2: expected shares that do not overlap",
		    MOVE_OF(ALLGATHER, .mode = INC_MODE_COUNTS, .recv_counts = counts,
			    .recv_displs = into));
	overlapping("recv_displs: elements 0..1 of rank 0 and 1..5 of rank 2",
		    MOVE_OF(ALLTOALL, .mode = INC_MODE_COUNTS, .send = INC_IN_PLACE,
			    .recv_counts = counts, .recv_displs = same));
	overlapping("allreduce: send and recv overlap: expected INC_IN_PLACE, or two buffers apart",
		    GOOD(.recv = from + 4));
	overlapping("allgather: send and recv overlap",
		    MOVE_OF(ALLGATHER, .send = to + 4, .count = 1));
	overlapping("alltoall: send and recv overlap", MOVE_OF(ALLTOALL, .send = to, .count = 1));
	/* it is none of these */
	overlapping("group 5 rank 1: allreduce f32 sum 2: Invalid argument", GOOD(.recv = from));
	overlapping("group 5 rank 1: scatter f32 per-rank counts root 1: Invalid argument",
		    MOVE_OF(SCATTER, .mode = INC_MODE_COUNTS, .root = RANK, .send_counts = counts,
			    .send_displs = same, .count = 0));
}

static void unsupported(const char *text, const struct inc_args *args)
{
	kernel.fail = EOPNOTSUPP;
	expect(inc_collective(&group, args) == -EOPNOTSUPP, "%s: not refused", text);
	expect(strstr(inc_errmsg(&group), text), "expected \"%s\", got \"%s\"", text,
	       inc_errmsg(&group));
}

static void test_unsupported(void)
{
	reset();
	unsupported("allreduce f32 bxor 2: f32 has no bxor", GOOD(.op = INC_OP_BXOR));
	unsupported("allreduce c32 max 2: c32 has no max",
		    GOOD(.type = INC_TYPE_C32, .op = INC_OP_MAX));
	unsupported("scan f32 avg 2: scan has no avg",
		    GOOD(.coll = INC_COLL_SCAN, .op = INC_OP_AVG));
	unsupported("allreduce i32 sum 2 as i8: i32 does not travel as i8",
		    GOOD(.type = INC_TYPE_I32, .wire = INC_TYPE_I8));
	unsupported("saturating: saturating are only", GOOD(.mode = INC_MODE_SATURATE));
	unsupported("no reduction kernel for f32 sum", GOOD());
	unsupported("not in this kernel", MOVE_OF(GATHER, .count = 1));
	kernel.block = 128;
	unsupported("allreduce mxf8e4m3 sum 1: an accumulator of mxf8e4m3 takes 132 bytes, the group's blocks have 128: expected a path with a larger MTU",
		    GOOD(.type = INC_TYPE_MXF8E4M3, .count = 1));
	unsupported("an accumulator of mxf4e2m1 takes 136 bytes",
		    GOOD(.type = INC_TYPE_MXF4E2M1, .count = 1));
	unsupported("no reduction kernel for f32 sum", GOOD());
	unsupported("mxi8 has no bxor", GOOD(.type = INC_TYPE_MXI8, .op = INC_OP_BXOR, .count = 1));
	unsupported("not in this kernel",
		    MOVE_OF(GATHER, .type = INC_TYPE_MXI8, .count = 1));
	kernel.block = 144;
	unsupported("no reduction kernel for mxf4e2m1 sum",
		    GOOD(.type = INC_TYPE_MXF4E2M1, .count = 1));
}

static void test_options(void)
{
	const double weight = 0.3;
	uint64_t bits;

	reset();
	memcpy(&bits, &weight, sizeof(bits));
	told("allreduce weighted",
	     inc_allreduce_weighted(&group, from, to, 3, INC_TYPE_F64, weight), (uintptr_t)from,
	     (uintptr_t)to, 3);
	expect(kernel.op.weight == bits && kernel.op.op == INC_OP_WSUM, "the weight is lost");
	expect(!inc_collective(&group, GOOD(.type = INC_TYPE_I8, .mode = INC_MODE_SATURATE)), "%s",
	       inc_errmsg(&group));
	expect(kernel.op.mode == INC_MODE_SATURATE && !kernel.op.weight, "the mode is lost");
}

/* Every short form, blocking and not, is the same operation. */
static void test_short_forms(void)
{
	struct inc_request req;
	struct inc_submit op;

	reset();
	expect(!inc_scatterv(&group, from, counts, displs, to, 4, INC_TYPE_C64, RANK), "%s",
	       inc_errmsg(&group));
	op = kernel.op;
	expect(!inc_iscatterv(&group, from, counts, displs, to, 4, INC_TYPE_C64, RANK, &req), "%s",
	       inc_errmsg(&group));
	op.handle = kernel.op.handle;
	expect(!memcmp(&op, &kernel.op, sizeof(op)) && !inc_wait(&req, -1),
	       "iscatterv is not scatterv");
	expect(!inc_ibarrier(&group, &req) && !inc_test(&req), "%s", inc_errmsg(&group));
}

static const struct ktap_test tests[] = {
	KTAP(test_buffers), KTAP(test_counts), KTAP(test_alltoall_in_place),
	KTAP(test_alltoall_from_nothing), KTAP(test_refused), KTAP(test_shares),
	KTAP(test_overlap), KTAP(test_unsupported), KTAP(test_options),
	KTAP(test_short_forms),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
