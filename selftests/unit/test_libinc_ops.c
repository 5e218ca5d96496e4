// SPDX-License-Identifier: GPL-2.0-only
/*
 * libinc's operations without a kernel: what it makes of arguments and buffers, and how requests
 * begin and end. The ioctls come here.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdint.h>

static int fake_ioctl(int fd, unsigned long request, void *arg);

#include <sys/ioctl.h>
#define ioctl fake_ioctl
#include "../../userspace/libinc/text.c"
#include "../../userspace/libinc/format.c"
#include "../../userspace/libinc/shape.c"
#include "../../userspace/libinc/args.c"
#include "../../userspace/libinc/ops.c"
#include "../../userspace/libinc/calls.c"
#include "../../userspace/libinc/memory.c"
#include "../../userspace/libinc/stripe_ops.c"
#include "../../userspace/libinc/waits.c"
#include "ktap.h"

#define SIZE	3
#define RANK	1
#define IN_PLACE_BITS	((uintptr_t)INC_IN_PLACE)

static struct inc_group group = {
	.addr = { .sinc_rank = RANK, .sinc_size = SIZE, .sinc_group = 5 },
	.memory = PTHREAD_MUTEX_INITIALIZER,
};

static uint8_t from[256], to[256];
static const uint64_t counts[SIZE] = { 2, 0, 5 }, displs[SIZE] = { 8, 4, 0 };

/* What the kernel was told last, what it answers, and how often it says EINTR first. */
static struct {
	struct inc_submit op;
	int fail;		/* errno of the next ioctl */
	int interrupted;	/* waits that end with EINTR */
	int timeouts;		/* waits with a limit that end with ETIMEDOUT */
	uint64_t late;		/* or all such waits for this handle */
	int64_t now;		/* ms */
	int64_t lasted;		/* so long does a wait last that ends with EINTR */
	int64_t limit;		/* of the last wait */
	int cancels;		/* times that the group has been ended */
	int submits, waits;
	uint64_t busy;		/* handle under way: INC_IOC_WAIT says EAGAIN */
	struct inc_completion done;
	uint64_t partial;	/* handle of an operation whose result lacks rank 1 */
	struct inc_register reg[16];	/* at their id - 1, len 0: none */
	uint32_t last_reg;
	int no_reg;		/* errno of all that would register */
} kernel;

uint32_t inc_rank(const struct inc_group *g)
{
	return g->addr.sinc_rank;
}

uint32_t inc_size(const struct inc_group *g)
{
	return g->addr.sinc_size;
}

int inc_fd(const struct inc_group *g)
{
	return g->fd;
}

int64_t inc_now_ms(void)
{
	return kernel.now;
}

int inc_left_ms(int64_t deadline)
{
	if (deadline < 0)
		return -1;
	return deadline > kernel.now ? deadline - kernel.now : 0;
}

int inc_cancel(struct inc_group *g)
{
	(void)g;
	kernel.cancels++;
	return 0;
}

bool inc_stripe_is_over(const struct inc_group *stripe)
{
	(void)stripe;
	return false;
}

int inc_stripes_cancel(struct inc_group *g)
{
	return inc_cancel(g);
}

int inc_stripes_register(struct inc_group *g, const void *addr, uint64_t len, uint32_t flags,
			 uint32_t *id)
{
	(void)addr;
	(void)len;
	(void)flags;
	*id = 0;
	return inc_fail(g, -EOPNOTSUPP, "not in this test");
}

int inc_stripes_unregister(struct inc_group *g, uint32_t id)
{
	return inc_stripes_register(g, NULL, 0, 0, &id);
}

static void took(struct inc_submit *op)
{
	op->handle = ++kernel.submits;
	kernel.op = *op;
}

static int fake_register(struct inc_register *reg)
{
	errno = kernel.no_reg;
	if (errno)
		return -1;
	reg->id = ++kernel.last_reg;
	kernel.reg[reg->id - 1] = *reg;
	return 0;
}

static int fake_unregister(const uint32_t *id)
{
	errno = ENOENT;
	if (!*id || *id > 16 || !kernel.reg[*id - 1].len)
		return -1;
	kernel.reg[*id - 1].len = 0;
	return 0;
}

/* The registration is over, whatever libinc believes. */
static void forget(uint32_t id)
{
	kernel.reg[id - 1].len = 0;
}

static bool is_known(uint32_t id)
{
	return !id || (id <= 16 && kernel.reg[id - 1].len);
}

/* In place of join.c. */
static unsigned int process;

unsigned int inc_process(void)
{
	return process;
}

int inc_ask_info(const struct inc_group *of, struct inc_info *info)
{
	(void)of;
	*info = (struct inc_info){ .state = INC_STATE_READY, .missing = 2 };
	return 0;
}

static int fake_ioctl(int fd, unsigned long request, void *arg)
{
	struct inc_submit_wait *both = arg;
	struct inc_wait *wait = arg;

	(void)fd;
	if (request == INC_IOC_REGISTER)
		return fake_register(arg);
	if (request == INC_IOC_UNREGISTER)
		return fake_unregister(arg);
	errno = kernel.fail;
	kernel.fail = 0;
	if (errno)
		return -1;
	if (request == INC_IOC_CONTRIBUTED) {
		struct inc_contributed *c = arg;

		errno = ENOENT;
		if (!kernel.partial || (c->handle && c->handle != kernel.partial))
			return -1;
		c->handle = kernel.partial;
		c->size = SIZE;
		c->missing = 1;
		if (c->words)
			*(uint32_t *)(uintptr_t)c->ranks = 5;
		return 0;
	}
	errno = ENOENT;
	if (request != INC_IOC_WAIT && !(is_known(both->submit.send_reg) &&
					 is_known(both->submit.recv_reg)))
		return -1;
	if (request != INC_IOC_WAIT)
		took(arg);
	if (request == INC_IOC_SUBMIT)
		return 0;
	kernel.waits += request == INC_IOC_WAIT;
	kernel.limit = (request == INC_IOC_WAIT ? wait : &both->wait)->timeout_ms;
	errno = kernel.busy ? EAGAIN : EINTR;
	if (kernel.busy || kernel.interrupted-- > 0) {
		kernel.now += kernel.lasted;
		return -1;
	}
	kernel.interrupted = 0;
	errno = ETIMEDOUT;
	if (kernel.limit > 0 && kernel.timeouts-- > 0)
		return -1;
	if (kernel.limit > 0 && request == INC_IOC_WAIT && wait->handle == kernel.late)
		return -1;
	if (request == INC_IOC_WAIT)
		wait->completion = kernel.done;
	else
		both->wait.completion = kernel.done;
	return 0;
}

static void reset(void)
{
	memset(&kernel, 0, sizeof(kernel));
	group.addr.sinc_rank = RANK;
	for (size_t i = 0; i < sizeof(from); i++) {
		from[i] = i;
		to[i] = 100 + i;
	}
}

/* send and recv as the kernel must get them: 0 for whatever it does not look at */
static void told(const char *what, int ret, uintptr_t send, uintptr_t recv, uint64_t count)
{
	const struct inc_submit *op = &kernel.op;

	expect(!ret, "%s: %s", what, inc_errmsg(&group));
	expect(op->send == send || !send, "%s: send %#llx, expected %#llx", what,
	       (unsigned long long)op->send, (unsigned long long)send);
	expect(op->recv == recv || !recv, "%s: recv %#llx, expected %#llx", what,
	       (unsigned long long)op->recv, (unsigned long long)recv);
	expect(op->count == count, "%s: count %llu, expected %llu", what,
	       (unsigned long long)op->count, (unsigned long long)count);
	expect(inc_coll_name(op->coll) &&
	       !strncmp(what, inc_coll_name(op->coll), strcspn(what, " ")),
	       "%s: %s", what, inc_coll_name(op->coll));
}

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

static void test_requests(void)
{
	struct inc_request req = { .handle = 0 };
	const struct inc_args args = {
		.coll = INC_COLL_ALLREDUCE, .type = INC_TYPE_F32, .op = INC_OP_SUM, .count = 2,
		.send = from, .recv = to,
	};

	reset();
	expect(!inc_wait(&req, 0) && !inc_test(&req), "a request that was never used");
	expect(!inc_icollective(&group, &args, &req) && req.handle, "%s", inc_errmsg(&group));
	kernel.busy = 1;
	expect(inc_test(&req) == -EAGAIN && inc_wait(&req, 5) == -ETIMEDOUT && req.handle,
	       "it has ended");
	expect(strstr(inc_errmsg(&group), "within 5 ms, waiting for rank 2"), "%s",
	       inc_errmsg(&group));
	kernel.busy = 0;
	kernel.interrupted = 3;
	expect(!inc_wait(&req, -1) && !req.handle, "EINTR was an end");
	expect(inc_start(&req) == -EINVAL, "a request that was not prepared was started");
	kernel.interrupted = 1;
	expect(!inc_collective(&group, &args) && kernel.submits == 2,
	       "EINTR after the submit: %d submits", kernel.submits);
	kernel.interrupted = 1;
	kernel.done.handle = 3;
	expect(!inc_collective_for(&group, &args, &req, 5) && !req.handle && req.ended == 3 &&
	       kernel.submits == 3, "EINTR was an end, or submitted twice");
	kernel.timeouts = 2;
	expect(inc_collective_for(&group, &args, &req, 5) == -ETIMEDOUT && req.handle,
	       "it has ended within its time");
	expect(inc_wait(&req, 5) == -ETIMEDOUT && !inc_wait(&req, 5) && !req.handle &&
	       kernel.submits == 4, "what has taken longer has no end");
	kernel.fail = ENOTCONN;
	expect(inc_collective_for(&group, &args, &req, 5) == -ENOTCONN && !req.handle && !req.ended,
	       "what was not submitted has ended");
	kernel.timeouts = 0;
	kernel.done.result = -EPROTO;
	kernel.done.error =
		(struct inc_error_info){ .code = INC_ERR_COUNTS, .opseq = 3, .rank = { 1, 2 } };
	expect(inc_collective(&group, &args) == -EPROTO, "the completion's result is lost");
	expect(strstr(inc_errmsg(&group), "allreduce f32 sum 2: operation 3: rank 1 sends rank 2"),
	       "%s", inc_errmsg(&group));
	expect(!inc_prepare(&group, &args, &req) && !inc_start(&req) && inc_test(&req) == -EPROTO &&
	       inc_wait(&req, 0) == -EPROTO, "the result of a request changes");
	kernel.done.result = 0;
	expect(!inc_start(&req) && !inc_wait(&req, 0),
	       "a request that failed cannot be started again");
}

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

/* A blocking operation that takes longer than its group's limit ends, and the group with it. */
static void test_timeout(void)
{
	const struct inc_args args = { .coll = INC_COLL_ALLREDUCE, .type = INC_TYPE_F32,
				       .op = INC_OP_SUM, .count = 2, .send = from, .recv = to };

	reset();
	expect(inc_set_timeout(&group, -1) == -EINVAL, "a negative limit");
	kernel.timeouts = 1;
	expect(!inc_collective(&group, &args) && kernel.timeouts == 1, "without a limit");
	expect(!inc_set_timeout(&group, 50), "a limit");
	kernel.done.result = -ECONNRESET;
	kernel.done.error =
		(struct inc_error_info){ .code = INC_ERR_RANK_ABORT, .rank = { RANK, ~0u } };
	expect(inc_collective(&group, &args) == -ETIMEDOUT && kernel.cancels == 1, "%d cancels",
	       kernel.cancels);
	expect(strstr(inc_errmsg(&group), "within 50 ms, waiting for rank 2: the group has"), "%s",
	       inc_errmsg(&group));
	/* the result has come just before the end of the group */
	kernel.done = (struct inc_completion){ .result = 0 };
	kernel.timeouts = 1;
	expect(!inc_collective(&group, &args) && kernel.cancels == 2, "%s", inc_errmsg(&group));
	/* a signal, and the limit after it */
	kernel.interrupted = 1;
	kernel.timeouts = 1;
	expect(!inc_collective(&group, &args) && kernel.cancels == 3, "%s", inc_errmsg(&group));
	expect(!inc_set_timeout(&group, 0), "no limit");
}

/* What is left of a limit when a signal has come is waited for, and no more. */
static void test_timeout_after_signals(void)
{
	const struct inc_args args = { .coll = INC_COLL_BARRIER };
	struct inc_request req, other, *both[] = { &req, &other };

	reset();
	kernel.lasted = 150;
	kernel.interrupted = 2;
	kernel.timeouts = 1;
	expect(inc_collective_for(&group, &args, &req, 400) == -ETIMEDOUT && req.handle, "%s",
	       inc_errmsg(&group));
	expect(kernel.limit == 100, "%d ms more", (int)kernel.limit);
	expect(!strcmp(inc_errmsg(&group),
		       "operation 1 has not ended within 400 ms, waiting for rank 2"), "%s",
	       inc_errmsg(&group));
	kernel.interrupted = 1;
	kernel.timeouts = 1;
	expect(inc_wait(&req, 400) == -ETIMEDOUT && kernel.limit == 250, "%d ms more",
	       (int)kernel.limit);
	expect(!inc_wait(&req, -1) && !req.handle, "%s", inc_errmsg(&group));
	kernel.interrupted = 1;
	expect(!inc_collective_for(&group, &args, &req, -1) && kernel.limit == -1, "%s",
	       inc_errmsg(&group));
	expect(!inc_ibarrier(&group, &req) && !inc_ibarrier(&group, &other), "%s",
	       inc_errmsg(&group));
	kernel.interrupted = 2;
	kernel.late = other.handle;
	expect(inc_wait_all(both, 2, 400) == -ETIMEDOUT && kernel.limit == 100 &&
	       strstr(inc_errmsg(&group), "within 400 ms"), "%d ms more: %s", (int)kernel.limit,
	       inc_errmsg(&group));
	expect(!inc_wait_all(both, 2, -1), "%s", inc_errmsg(&group));
}

static void no_timeout(const char *what, int ret)
{
	const char *text = "timeout -2: expected milliseconds, or -1 for no limit";

	expect(ret == -EINVAL && !strcmp(inc_errmsg(&group), text) && !kernel.submits &&
	       !kernel.waits, "%s: %d, %d operations, %d waits, \"%s\"", what, ret, kernel.submits,
	       kernel.waits, inc_errmsg(&group));
	inc_fail(&group, 0, "%s", "");
}

/* What is no limit, nor for ever, is refused, and nothing has begun or ended. */
static void test_bad_timeout(void)
{
	const struct inc_args args = { .coll = INC_COLL_BARRIER };
	struct inc_request req, new, *reqs[] = { NULL, &req };
	size_t which;

	reset();
	expect(!inc_icollective(&group, &args, &req), "%s", inc_errmsg(&group));
	kernel.submits = 0;
	kernel.waits = 0;
	no_timeout("inc_wait", inc_wait(&req, -2));
	no_timeout("inc_wait_any", inc_wait_any(reqs, 2, -2, &which));
	expect(which == 2, "index %zu", which);
	no_timeout("inc_wait_all", inc_wait_all(reqs, 2, -2));
	no_timeout("inc_collective_for", inc_collective_for(&group, &args, &new, -2));
	expect(!new.handle && inc_test(&new) == -EINVAL, "a request that has not begun");
	expect(req.handle && !inc_wait_all(reqs, 2, -1) && !req.handle, "it has ended");
	expect(inc_wait(&req, -2) == -EINVAL && inc_wait_any(reqs, 0, -2, &which) == -EINVAL &&
	       strstr(inc_errmsg(NULL), "timeout -2: expected"), "%s", inc_errmsg(NULL));
}

static int contributors(const struct inc_request *req, uint32_t ranks[INC_MAX_RANKS / 32])
{
	return inc_contributed(&group, req, ranks, INC_MAX_RANKS / 32);
}

/* A result that is not of all ranks: how many are missing, in words too, and who is not. */
static void test_partial(void)
{
	const struct inc_args args = { .coll = INC_COLL_ALLREDUCE, .type = INC_TYPE_F32,
				       .op = INC_OP_SUM, .count = 2, .send = from, .recv = to };
	uint32_t ranks[INC_MAX_RANKS / 32];
	struct inc_request req;

	reset();
	expect(contributors(NULL, ranks) == -ENOENT, "nothing has been partial");
	expect(!strcmp(inc_errmsg(&group), "contributed: no operation of the group was partial"),
	       "%s", inc_errmsg(&group));
	expect(!inc_icollective(&group, &args, &req) &&
	       contributors(&req, ranks) == -EINVAL,
	       "not ended");
	expect(!inc_wait(&req, -1) && !contributors(&req, ranks) && ranks[0] == 7 &&
	       !ranks[1],
	       "all of %u: %#x", SIZE, ranks[0]);
	kernel.done.missing = 1;
	kernel.done.handle = 2;
	kernel.partial = 2;
	expect(inc_collective(&group, &args) == 1, "the result is of all");
	expect(strstr(inc_errmsg(&group), "allreduce f32 sum 2: the result lacks 1 late rank: 1"),
	       "%s", inc_errmsg(&group));
	expect(contributors(NULL, ranks) == 1 && ranks[0] == 5, "ranks %#x", ranks[0]);
	ranks[0] = 99;
	expect(inc_contributed(&group, NULL, ranks, 0) == 1 && ranks[0] == 99, "no room is left alone");
	kernel.done.handle = 3;
	kernel.partial = 3;
	expect(!inc_icollective(&group, &args, &req) && inc_wait(&req, -1) == 1 &&
	       inc_test(&req) == 1,
	       "a request");
	expect(contributors(&req, ranks) == 1 && ranks[0] == 5, "ranks %#x", ranks[0]);
	kernel.partial = 4;
	expect(contributors(&req, ranks) == -ENOENT, "too long ago");
	expect(!strcmp(inc_errmsg(&group),
		       "contributed: operation 3 is not among the last 16 that were partial"),
	       "%s", inc_errmsg(&group));
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
	KTAP(test_cut), KTAP(test_turns), KTAP(test_part_fails), KTAP(test_part_texts),
	KTAP(test_too_many),
	KTAP(test_buffers), KTAP(test_counts), KTAP(test_alltoall_in_place),
	KTAP(test_alltoall_from_nothing), KTAP(test_requests), KTAP(test_partial),
	KTAP(test_refused), KTAP(test_unsupported), KTAP(test_options),
	KTAP(test_short_forms), KTAP(test_kept), KTAP(test_kept_shares), KTAP(test_registered),
	KTAP(test_registered_by_parent), KTAP(test_timeout), KTAP(test_bad_timeout),
	KTAP(test_timeout_after_signals),
	KTAP(test_shares), KTAP(test_overlap),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
