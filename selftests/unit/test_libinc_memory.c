// SPDX-License-Identifier: GPL-2.0-only
/* Memory that libinc has registered for programs, and what it keeps registered by itself. */
#define _GNU_SOURCE
#include "libinc_env.h"

static uint32_t nr_registered(void)
{
	uint32_t n = 0;

	for (int i = 0; i < 16; i++)
		n += !!kernel.reg[i].len;
	return n;
}

/* The registered memory @id is @len bytes at @at. */
static void is_kept(const char *what, uint32_t id, const void *at, uint64_t len, uint32_t flags)
{
	const struct inc_register *r = &kernel.reg[id ? id - 1 : 0];

	expect(id && r->addr == (uintptr_t)at && r->len == len && r->flags == flags,
	       "%s: memory %u is %llu bytes at %#llx, flags %u, expected %llu at %p, %u", what, id,
	       (unsigned long long)r->len, (unsigned long long)r->addr, r->flags,
	       (unsigned long long)len, at, flags);
}

/* What a prepared operation keeps: all of a buffer, and one that is in place once. */
static void test_kept(void)
{
	struct inc_args args = {
		.coll = INC_COLL_ALLREDUCE, .type = INC_TYPE_U8, .op = INC_OP_SUM, .count = 200,
		.send = from, .recv = to,
	};
	const struct inc_submit *op = &kernel.op;
	struct inc_request req;

	reset();
	expect(!inc_prepare(&group, &args, &req) && !inc_start(&req), "%s", inc_errmsg(&group));
	is_kept("send", op->send_reg, from, 200, 0);
	is_kept("recv", op->recv_reg, to, 200, INC_REGISTER_WRITE);
	expect(inc_release(&req) == -EBUSY, "released under way");
	expect(!inc_wait(&req, -1) && !inc_start(&req) && !inc_wait(&req, -1) &&
	       nr_registered() == 2, "it is not kept from start to start");
	expect(!inc_release(&req) && !nr_registered() && inc_start(&req) == -EINVAL &&
	       !inc_release(&req), "it was not released");
	args.send = INC_IN_PLACE;
	expect(!inc_prepare(&group, &args, &req) && !inc_start(&req) && nr_registered() == 1,
	       "in place: %u are kept", nr_registered());
	is_kept("in place", op->recv_reg, to, 200, INC_REGISTER_WRITE);
	expect(op->send_reg == op->recv_reg && !inc_wait(&req, -1) && !inc_release(&req),
	       "in place: another for what is sent");
	/* short ones are copied, results only by who waits for them */
	args.send = from;
	args.count = 112;
	expect(!inc_prepare(&group, &args, &req) && nr_registered() == 1 && !req.kept[0],
	       "what is copied is kept");
	inc_release(&req);
	args.count = 0;
	expect(!inc_prepare(&group, &args, &req) && !nr_registered(), "nothing is kept");
	kernel.no_reg = ENOMEM;
	args.count = 200;
	expect(!inc_prepare(&group, &args, &req) && !inc_start(&req) && !op->send_reg &&
	       !op->recv_reg && !inc_wait(&req, -1) && !inc_release(&req),
	       "without memory for it: %s", inc_errmsg(&group));
	expect(!inc_collective(&group, &args) && !nr_registered(), "a blocking one keeps memory");
}

/* To the end of the last share, wherever that is in the order of ranks. */
static void test_kept_shares(void)
{
	struct inc_args args = {
		.coll = INC_COLL_ALLGATHER, .type = INC_TYPE_U8, .mode = INC_MODE_COUNTS,
		.send = from, .recv = to, .recv_counts = counts, .recv_displs = displs,
	};
	static const uint64_t far[SIZE] = { 180, 0, 3 };
	struct inc_request req;

	reset();
	expect(!inc_prepare(&group, &args, &req), "%s", inc_errmsg(&group));
	is_kept("allgather", req.kept[1], to, 10, INC_REGISTER_WRITE);
	inc_release(&req);
	args.coll = INC_COLL_ALLTOALL;
	args.send_counts = counts;
	args.send_displs = far;
	expect(!inc_prepare(&group, &args, &req), "%s", inc_errmsg(&group));
	is_kept("alltoall, recv", req.kept[1], to, 10, INC_REGISTER_WRITE);
	is_kept("alltoall, send", req.kept[0], from, 182, 0);
	inc_release(&req);
	args.send = INC_IN_PLACE;
	args.send_counts = NULL;
	args.send_displs = NULL;
	expect(!inc_prepare(&group, &args, &req) && nr_registered() == 1, "%s",
	       inc_errmsg(&group));
	is_kept("alltoall in place", req.kept[1], to, 10, INC_REGISTER_WRITE);
	expect(!inc_start(&req) && !kernel.op.send_reg, "its copy is taken for registered");
	expect(!inc_wait(&req, -1) && !inc_release(&req) && !nr_registered(), "what it has kept");
	args = (struct inc_args){ .coll = INC_COLL_BROADCAST, .type = INC_TYPE_U8, .count = 150,
				  .send = from, .root = RANK };
	expect(!inc_prepare(&group, &args, &req) && !req.kept[1], "%s", inc_errmsg(&group));
	is_kept("broadcast, root", req.kept[0], from, 150, 0);
	inc_release(&req);
	args.coll = INC_COLL_REDUCE_SCATTER;
	args.op = INC_OP_SUM;
	args.root = 0;
	args.count = 70;
	args.send = INC_IN_PLACE;
	args.recv = to;
	expect(!inc_prepare(&group, &args, &req) && nr_registered() == 1, "%s",
	       inc_errmsg(&group));
	is_kept("reduce-scatter in place", req.kept[1], to, 210, INC_REGISTER_WRITE);
	inc_release(&req);
}

static void test_registered(void)
{
	struct inc_args args = {
		.coll = INC_COLL_ALLREDUCE, .type = INC_TYPE_U8, .op = INC_OP_SUM, .count = 120,
		.send = from + 100, .recv = to + 100,
	};
	const struct inc_submit *op = &kernel.op;
	uint32_t read, write, more;
	struct inc_request req;

	reset();
	expect(inc_register(&group, from, 0, 0, &read) == -EINVAL &&
	       inc_register(&group, from, 8, 2, &read) == -EINVAL &&
	       inc_register(&group, from, 8, 0, NULL) == -EINVAL && !kernel.last_reg,
	       "what must be refused was told");
	kernel.no_reg = EDQUOT;
	expect(inc_register(&group, from, 8, 0, &read) == -EDQUOT && !read &&
	       strstr(inc_errmsg(&group), "more than half of the user's"), "%s",
	       inc_errmsg(&group));
	kernel.no_reg = 0;
	expect(!inc_register(&group, from, 256, 0, &read) &&
	       !inc_register(&group, to, 256, INC_REGISTER_WRITE, &write) &&
	       !inc_register(&group, to + 90, 20, INC_REGISTER_WRITE, &more),
	       "%s", inc_errmsg(&group));
	expect(!inc_collective(&group, &args) && op->send_reg == read && op->recv_reg == write,
	       "memory %u and %u are named", op->send_reg, op->recv_reg);
	args.count = 112;
	expect(!inc_collective(&group, &args) && !op->send_reg && !op->recv_reg,
	       "memory is named for what is copied");
	expect(!inc_icollective(&group, &args, &req) && op->recv_reg == write &&
	       !inc_wait(&req, -1), "what is not waited for at once is taken for copied");
	args.count = 120;
	expect(!inc_prepare(&group, &args, &req) && nr_registered() == 3,
	       "what is registered is kept once more");
	expect(!inc_start(&req) && op->recv_reg == write && !inc_wait(&req, -1) &&
	       !inc_release(&req), "%s", inc_errmsg(&group));
	args.recv = from;
	expect(!inc_collective(&group, &args) && op->send_reg == read && !op->recv_reg,
	       "what may only be read is named for results");
	args.recv = to + 100;
	expect(!inc_unregister(&group, write) && !inc_collective(&group, &args) &&
	       op->recv_reg == more, "not found after another has gone");
	expect(!inc_unregister(&group, more) && inc_unregister(&group, more) == -ENOENT &&
	       !inc_collective(&group, &args) && !op->recv_reg && op->send_reg == read,
	       "memory %u is named", op->recv_reg);
	forget(read);
	expect(!inc_collective(&group, &args) && !op->send_reg && !op->recv_reg &&
	       !inc_icollective(&group, &args, &req) && !op->send_reg && !inc_wait(&req, -1),
	       "what the kernel does not know any more: %s", inc_errmsg(&group));
	kernel.fail = ENOENT;
	args.send = to;
	args.recv = to;
	expect(inc_collective(&group, &args) == -ENOENT, "ENOENT of another kind is lost");
	group.nregions = 0;
	free(group.regions);
	group.regions = NULL;
}

/* A child of fork() has other pages at the same addresses: its parent's memory is none of it. */
static void test_registered_by_parent(void)
{
	const struct inc_args args = {
		.coll = INC_COLL_ALLREDUCE, .type = INC_TYPE_U8, .op = INC_OP_SUM, .count = 120,
		.send = from, .recv = to,
	};
	const struct inc_submit *op = &kernel.op;
	uint32_t read, write, own;
	struct inc_request req;

	reset();
	expect(!inc_register(&group, from, 256, 0, &read) &&
	       !inc_register(&group, to, 256, INC_REGISTER_WRITE, &write), "%s",
	       inc_errmsg(&group));
	process++;
	expect(!inc_collective(&group, &args) && !op->send_reg && !op->recv_reg,
	       "the parent's memory %u and %u are named", op->send_reg, op->recv_reg);
	expect(!inc_prepare(&group, &args, &req) && nr_registered() == 4,
	       "a prepared operation of a child takes its parent's memory for its own");
	expect(!inc_start(&req) && op->send_reg != read && op->recv_reg != write && op->recv_reg &&
	       !inc_wait(&req, -1) && !inc_release(&req), "%s", inc_errmsg(&group));
	expect(!inc_register(&group, to, 256, INC_REGISTER_WRITE, &own) && own != write &&
	       group.nregions == 1, "%zu regions", group.nregions);
	expect(!inc_collective(&group, &args) && !op->send_reg && op->recv_reg == own,
	       "memory %u and %u are named, the child's is %u", op->send_reg, op->recv_reg, own);
	group.nregions = 0;
	free(group.regions);
	group.regions = NULL;
}

static const struct ktap_test tests[] = {
	KTAP(test_kept), KTAP(test_kept_shares), KTAP(test_registered),
	KTAP(test_registered_by_parent),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
