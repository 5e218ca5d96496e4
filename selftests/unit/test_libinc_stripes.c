// SPDX-License-Identifier: GPL-2.0-only
/* Operations of striped groups: how they are divided, and what becomes of their parts. */
#define _GNU_SOURCE
#include "libinc_env.h"

#define STRIPES	3

static struct inc_group stripe[STRIPES];
static struct inc_group striped = {
	.addr = { .sinc_rank = RANK, .sinc_size = SIZE, .sinc_group = 6 },
	.nstripes = STRIPES,
	.stripe = { &stripe[0], &stripe[1], &stripe[2] },
};

static void begin_striped(void)
{
	memset(&kernel, 0, sizeof(kernel));
	for (unsigned int i = 0; i < STRIPES; i++)
		stripe[i] = (struct inc_group){ .addr = striped.addr, .index = i };
	striped.turn = 0;
}

/* Parts are one after the other, begin where they may, and are the whole. */
static void test_cut(void)
{
	struct inc_submit op = { .coll = INC_COLL_ALLREDUCE, .type = INC_TYPE_F32 }, part;
	uint64_t at;

	begin_striped();
	for (op.count = 1; op.count < 100000; op.count += 1 + ktap_below(200)) {
		op.send = ktap_random() & 1 ? 0x10000 : 0;
		op.recv = 0x8000000;
		at = 0;
		for (unsigned int i = 0; i < STRIPES; i++) {
			part = cut_part(&op, i, STRIPES);
			expect(part.recv == op.recv + 4 * at && !(part.count && at % CUT_ALIGN) &&
			       part.send == (op.send ? op.send + 4 * at : 0) &&
			       part.mode == INC_MODE_PART,
			       "part %u of %llu", i, (unsigned long long)op.count);
			at += part.count;
		}
		expect(at == op.count, "%llu of %llu", (unsigned long long)at,
		       (unsigned long long)op.count);
		expect(is_cut(&striped, &op) == (4 * op.count >= STRIPES * CUT_MIN), "is cut");
	}
	for (op.coll = 1; op.coll < INC_COLL_LEAVE; op.coll++) {
		bool run = op.coll == INC_COLL_ALLREDUCE || op.coll == INC_COLL_REDUCE ||
			   op.coll == INC_COLL_BROADCAST || op.coll == INC_COLL_SCAN ||
			   op.coll == INC_COLL_EXSCAN;

		expect(is_cut(&striped, &op) == run, "%s", inc_coll_name(op.coll));
	}
}

/* What is short goes by the stripes in turn, and takes no turn if it has not begun. */
static void test_turns(void)
{
	struct inc_request req;

	begin_striped();
	for (unsigned int i = 0; i < 5; i++) {
		kernel.fail = EFAULT;
		expect(inc_ibarrier(&striped, &req) == -EFAULT && !kernel.cancels, "EFAULT");
		expect(!striped.parts && !striped.under_way, "it is not over");
		expect(!inc_ibarrier(&striped, &req), "%s", inc_errmsg(&striped));
		expect(req.parts->started == 1u << i % STRIPES && req.handle == striped.last_handle,
		       "operation %u is in 0x%x", i, req.parts->started);
		expect(!inc_wait(&req, -1) && !req.handle && !striped.parts, "it goes on");
	}
}

/* A part that fails, when it begins or later, ends the group, and nothing of it is left. */
static void test_part_fails(void)
{
	static uint8_t buf[STRIPES * CUT_MIN];
	struct inc_request req;

	begin_striped();
	expect(!inc_iallreduce(&striped, INC_IN_PLACE, buf, sizeof(buf), INC_TYPE_U8, INC_OP_SUM,
			       &req), "%s", inc_errmsg(&striped));
	expect(kernel.submits == STRIPES && req.parts->active == 7, "%d parts", kernel.submits);
	expect(inc_wait(&req, -1) == 0 && !kernel.cancels, "%s", inc_errmsg(&striped));
	expect(!inc_iallreduce(&striped, INC_IN_PLACE, buf, sizeof(buf), INC_TYPE_U8, INC_OP_SUM,
			       &req), "%s", inc_errmsg(&striped));
	kernel.done.result = -EPROTO;
	expect(inc_wait(&req, -1) == -EPROTO && kernel.cancels == 1, "%d times", kernel.cancels);
	kernel.done.result = 0;
	expect(!req.handle && !striped.parts && !striped.under_way, "it is not over");
}

/* What does not begin, as there are too many, leaves nothing, however it was called. */
static void test_too_many(void)
{
	struct inc_args args = { .coll = INC_COLL_BARRIER };
	struct inc_request req;

	begin_striped();
	expect(!inc_prepare(&striped, &args, &req), "%s", inc_errmsg(&striped));
	striped.under_way = MOST_OPS;
	expect(inc_start(&req) == -EAGAIN && req.parts, "a prepared one stays: %d", req.result);
	expect(!inc_release(&req) && !striped.parts, "it is not over");
	expect(inc_ibarrier(&striped, &req) == -EAGAIN && !striped.parts, "inc_ibarrier");
	expect(inc_barrier(&striped) == -EAGAIN && !striped.parts, "inc_barrier");
	expect(inc_collective_for(&striped, &args, &req, 5) == -EAGAIN && !striped.parts &&
	       !req.parts, "inc_collective_for");
	expect(striped.under_way == MOST_OPS && !kernel.submits, "%d", striped.under_way);
	striped.under_way = 0;
}

static void striped_text(const char *what, const char *text)
{
	const char *got = inc_errmsg(&striped);
	size_t len = strlen("group 6 rank 1: ");

	expect(!strncmp(got, "group 6 rank 1: ", len) && !strncmp(got + len, what, strlen(what)) &&
	       strstr(got, text), "expected \"%s\" and \"%s\": %s", what, text, got);
}

/* The operation is the caller's, and so is its count; which part of it has failed is said, too. */
static void test_part_texts(void)
{
	static const uint64_t into[SIZE] = { 4, 0, 1 };
	static uint8_t buf[STRIPES * CUT_MIN];
	struct inc_request req;

	begin_striped();
	expect(!inc_iallreduce(&striped, INC_IN_PLACE, buf, sizeof(buf), INC_TYPE_U8, INC_OP_SUM,
			       &req), "%s", inc_errmsg(&striped));
	kernel.done.result = -EPROTO;
	expect(inc_wait(&req, -1) == -EPROTO, "%s", inc_errmsg(&striped));
	striped_text("allreduce u8 sum 24576: stripe 0 of 3: ranks disagree", "");
	kernel.done.result = 0;
	striped.turn = 2;
	kernel.fail = EFAULT;
	expect(inc_ibarrier(&striped, &req) == -EFAULT, "%s", inc_errmsg(&striped));
	striped_text("barrier: stripe 2 of 3: no such memory", "");
	kernel.fail = EINVAL;
	expect(inc_allgatherv(&striped, from, to, counts, into, INC_TYPE_F32) == -EINVAL, "%s",
	       inc_errmsg(&striped));
	striped_text("allgather f32 per-rank counts: stripe 2 of 3: allgather: recv_displs: ",
		     "elements 4..5 of rank 0 and 1..5 of rank 2");
}

static const struct ktap_test tests[] = {
	KTAP(test_cut), KTAP(test_turns), KTAP(test_part_fails), KTAP(test_too_many),
	KTAP(test_part_texts),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
