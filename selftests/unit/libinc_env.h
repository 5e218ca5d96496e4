/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For tests of libinc's operations without a kernel: the ioctls of its sources, which are included
 * here, come to this file.
 */
#ifndef LIBINC_ENV_H
#define LIBINC_ENV_H

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
	/* operations that the next INC_IOC_SUBMIT_MANY takes, 0: all, -1: there is no such call */
	int most;
	int manys;		/* calls that submit or collect several */
	uint64_t partial;	/* handle of an operation whose result lacks rank 1 */
	struct inc_register reg[16];	/* at their id - 1, len 0: none */
	uint32_t last_reg;
	int no_reg;		/* errno of all that would register */
	uint32_t block;		/* bytes of the group's blocks */
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
static inline void forget(uint32_t id)
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
	*info = (struct inc_info){ .state = INC_STATE_READY, .missing = 2,
				    .block = kernel.block };
	return 0;
}

/* Takes so many; of what is behind these the first is what `fail` says. */
static int fake_submit_many(struct inc_submit_many *many, int fail)
{
	struct inc_submit *op = (struct inc_submit *)(uintptr_t)many->ops;

	errno = ENOTTY;
	if (kernel.most < 0)
		return -1;
	kernel.manys++;
	for (many->taken = 0; many->taken < many->n; many->taken++, op++) {
		errno = fail;
		if (kernel.most && (int)many->taken == kernel.most)
			return -1;
		errno = ENOENT;
		if (!is_known(op->send_reg) || !is_known(op->recv_reg))
			return -1;
		took(op);
	}
	return 0;
}

static int fake_wait_many(struct inc_wait_many *many)
{
	struct inc_completion *done = (struct inc_completion *)(uintptr_t)many->completions;
	uint64_t handle;

	kernel.manys++;
	kernel.limit = many->timeout_ms;
	for (many->collected = 0; many->collected < many->n; many->collected++, done++) {
		errno = EAGAIN;
		if (kernel.busy && done->handle >= kernel.busy)
			return -1;
		errno = EINTR;
		if (kernel.interrupted && kernel.interrupted-- > 0) {
			kernel.now += kernel.lasted;
			return -1;
		}
		errno = ETIMEDOUT;
		if (kernel.limit > 0 && done->handle == kernel.late)
			return -1;
		handle = done->handle;
		*done = kernel.done;
		done->handle = handle;
	}
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
	if (request == INC_IOC_SUBMIT_MANY && kernel.most)
		return fake_submit_many(arg, kernel.fail);
	errno = kernel.fail;
	kernel.fail = 0;
	if (errno)
		return -1;
	if (request == INC_IOC_SUBMIT_MANY)
		return fake_submit_many(arg, 0);
	if (request == INC_IOC_WAIT_MANY)
		return fake_wait_many(arg);
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

static inline void reset(void)
{
	memset(&kernel, 0, sizeof(kernel));
	group.addr.sinc_rank = RANK;
	for (size_t i = 0; i < sizeof(from); i++) {
		from[i] = i;
		to[i] = 100 + i;
	}
}

/* send and recv as the kernel must get them: 0 for whatever it does not look at */
static inline void told(const char *what, int ret, uintptr_t send, uintptr_t recv, uint64_t count)
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

#endif
