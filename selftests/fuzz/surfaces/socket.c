// SPDX-License-Identifier: GPL-2.0-only
/*
 * One system call after the other on AF_INC sockets, with memory that is not there, not to be
 * written, or goes away meanwhile. Every call ends with an errno that there is; what is not part of
 * a result's buffer stays as it was; the sum of one rank is what it has sent.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "socket.h"

#define PAGE		4096UL
/* of the hostile memory; then 4 pages each: read-only, no access, not there */
#define WRITABLE	(64 * PAGE)
#define PART		(4 * PAGE)
#define ARENA		(16 * PAGE)	/* of one thread, for what must come out right */
#define EPISODE		700		/* ms of its calls, where they are slow */
#define HANDLES		40		/* the first handles of a socket, to guess from */
#define REGISTERED	8		/* the first ids of its registered memory, and 0 */

struct tally *tally;
const struct plan *plan;
int family;
uint64_t episode_seed;

int fds[2];
struct sockaddr_inc addrs[2];
unsigned int n_fds;
atomic_bool stop;
static uint8_t *hostile;

void die(const char *what, int error)
{
	fprintf(stderr, "socket: %s%s%s; --seed %llu --episode %llu\n", what, error ? ": " : "",
		error ? strerror(error) : "", (unsigned long long)plan->seed,
		(unsigned long long)episode_seed);
	_exit(1);
}

/* What a call returned: true if it was successful. */
bool did(enum kind kind, long ret)
{
	atomic_fetch_add(&tally->calls, 1);
	if (ret < 0 && errno >= 512)
		die("an errno that is the kernel's own", errno);
	if (ret >= 0 && kind < DID_KINDS)
		atomic_fetch_add(&tally->did[kind], 1);
	return ret >= 0;
}

/* Memory */

static void *map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap", errno);
	return p;
}

void make_hostile(struct source *s)
{
	uint64_t *p;

	hostile = map(WRITABLE + 3 * PART);
	/* small numbers, so that it may hold counts */
	for (p = (uint64_t *)hostile; p < (uint64_t *)(hostile + 8 * PAGE); p++)
		*p = one_in(s, 32) ? draw_number(s) : draw(s, 300);
	mprotect(hostile + WRITABLE, PART, PROT_READ);
	mprotect(hostile + WRITABLE + PART, PART, PROT_NONE);
	munmap(hostile + WRITABLE + 2 * PART, PART);
}

/*
 * An address that nothing of this process is at but what nobody needs. At the end of user memory
 * that is so where addresses are random: else the stack is there.
 */
static uint64_t address(struct source *s)
{
	uint64_t base = (uint64_t)hostile, off = draw(s, 4096);

	switch (draw(s, 12)) {
	case 0:
		return draw(s, 2) * off;
	case 1:
		return 0xffff800000000000ULL + off * 4097;
	case 2:
		return ~0ULL - off;
	case 3:
		return (1ULL << 47) - PAGE - off;
	case 4:
		return base + WRITABLE - off;
	case 5:
		return base + WRITABLE + off;
	case 6:
		return base + WRITABLE + PART - off;
	case 7:
		return base + WRITABLE + PART + off;
	case 8:
		return base + WRITABLE + 2 * PART + off;
	default:
		return base + (one_in(s, 2) ? off & ~15ULL : off) + draw(s, 60) * PAGE;
	}
}

/* Memory that comes and goes while others use it. */
static void disturb_memory(struct source *s)
{
	uint8_t *at = hostile + draw(s, 60) * PAGE;
	size_t size = (1 + draw(s, 4)) * PAGE;

	switch (draw(s, 4)) {
	case 0:
		mprotect(at, size, PROT_NONE);
		break;
	case 1:
		mprotect(at, size, PROT_READ);
		break;
	case 2:
		madvise(at, size, MADV_DONTNEED);
		break;
	case 3:
		munmap(at, size);
		break;
	}
	if (!one_in(s, 8))
		mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		     0);
}

/* Operations */

static uint32_t guess_registered(struct source *s)
{
	return one_in(s, 16) ? (uint32_t)draw_number(s) : draw(s, REGISTERED);
}

static void make_submit(struct source *s, struct inc_submit *sub)
{
	memset(sub, 0, sizeof(*sub));
	sub->coll = (uint8_t)(one_in(s, 32) ? draw(s, 256) : 1 + draw(s, INC_COLL_MAX));
	sub->type = (uint8_t)(one_in(s, 32) ? draw(s, 256) : 1 + draw(s, INC_TYPE_MAX));
	sub->op = (uint8_t)(one_in(s, 32) ? draw(s, 256) : draw(s, __INC_OP_MAX));
	if (one_in(s, 2)) {
		sub->type = INC_TYPE_F32;
		sub->op = sub->coll == INC_COLL_ALLREDUCE || sub->coll == INC_COLL_REDUCE ?
			  INC_OP_SUM : 0;
	}
	sub->wire = (uint8_t)(one_in(s, 8) ? draw(s, INC_TYPE_MAX + 2) : 0);
	sub->mode = (uint8_t)(one_in(s, 32) ? draw(s, 256) : one_in(s, 4) ? draw(s, 4) : 0);
	sub->root = one_in(s, 4) ? draw(s, 3) : 0;
	sub->count = one_in(s, 4) ? draw_number(s) : draw(s, 3000);
	sub->send = address(s);
	sub->recv = one_in(s, 4) ? sub->send : address(s);
	if (sub->mode & INC_MODE_COUNTS || one_in(s, 32)) {
		sub->send_counts = one_in(s, 4) ? 0 : address(s);
		sub->recv_counts = one_in(s, 4) ? 0 : address(s);
		sub->send_displs = one_in(s, 2) ? 0 : address(s);
		sub->recv_displs = one_in(s, 2) ? 0 : address(s);
	}
	if (sub->op == INC_OP_WSUM || one_in(s, 64))
		sub->weight = draw64(s);
	if (one_in(s, 3)) {
		sub->send_reg = guess_registered(s);
		sub->recv_reg = one_in(s, 2) ? sub->send_reg : guess_registered(s);
	}
	sub->user_data = draw64(s);
	sub->handle = draw64(s);
	if (one_in(s, 64))
		((uint8_t *)sub)[draw(s, sizeof(*sub))] = (uint8_t)draw(s, 256);
}

static int64_t timeout(struct source *s)
{
	static const int64_t limits[] = {
		0, 0, 1, 2, 5, 20, -1, -2, INT64_MIN, INT64_MAX, INT32_MAX,
	};

	return limits[draw(s, ARRAY_SIZE(limits))];
}

static uint64_t guess_handle(struct source *s)
{
	return one_in(s, 3) ? 0 : one_in(s, 16) ? draw_number(s) : 1 + draw(s, HANDLES);
}

/* Puts a request where it may be read, or not, and says where. */
static void *placed(struct source *s, void *request, size_t size)
{
	uint64_t at;

	if (!one_in(s, 6))
		return request;
	at = address(s);
	/* in the writable part it may be there, as far as that goes */
	if (at >= (uint64_t)hostile && at + size <= (uint64_t)hostile + WRITABLE) {
		struct iovec from = { request, size }, to = { (void *)at, size };

		process_vm_writev(getpid(), &from, 1, &to, 1, 0);
	}
	return (void *)at;
}

static void call_submit(struct source *s, int fd)
{
	struct inc_submit sub;

	make_submit(s, &sub);
	did(DID_SUBMIT, ioctl(fd, INC_IOC_SUBMIT, placed(s, &sub, sizeof(sub))));
}

static void call_wait(struct source *s, int fd)
{
	struct inc_wait w = { .handle = guess_handle(s), .timeout_ms = timeout(s) };

	did(DID_WAIT, ioctl(fd, INC_IOC_WAIT, placed(s, &w, sizeof(w))));
}

static void call_submit_wait(struct source *s, int fd)
{
	struct inc_submit_wait sw = { .wait.timeout_ms = timeout(s) };

	make_submit(s, &sw.submit);
	did(DID_SUBMIT_WAIT, ioctl(fd, INC_IOC_SUBMIT_AND_WAIT, placed(s, &sw, sizeof(sw))));
}

/* How many of @n there are said to be: none, or too many, but no others that are not there. */
static uint32_t claimed(struct source *s, size_t n)
{
	if (!one_in(s, 16))
		return (uint32_t)n;
	return one_in(s, 2) ? 0 : INC_MAX_MANY + 1 + draw(s, 1 << 20);
}

static void call_submit_many(struct source *s, int fd)
{
	struct inc_submit ops[8];
	struct inc_submit_many many = { .flags = one_in(s, 64) };
	size_t n = 1 + draw(s, ARRAY_SIZE(ops)), i;

	for (i = 0; i < n; i++)
		make_submit(s, &ops[i]);
	many.ops = (uint64_t)placed(s, ops, sizeof(ops));
	many.n = claimed(s, n);
	many.size = one_in(s, 16) ? draw(s, sizeof(ops[0])) : (uint32_t)sizeof(ops[0]);
	did(DID_SUBMIT, ioctl(fd, INC_IOC_SUBMIT_MANY, placed(s, &many, sizeof(many))));
	/* in memory of its own, so that it says what has happened */
	if (many.taken > n && many.n == n)
		die("more operations are taken than there are", 0);
}

static void call_wait_many(struct source *s, int fd)
{
	struct inc_completion done[8];
	struct inc_wait_many many = { .timeout_ms = timeout(s), .flags = one_in(s, 64) };
	size_t n = 1 + draw(s, ARRAY_SIZE(done)), i;

	for (i = 0; i < n; i++)
		done[i].handle = guess_handle(s);
	many.completions = (uint64_t)placed(s, done, sizeof(done));
	many.n = claimed(s, n);
	many.size = one_in(s, 16) ? draw(s, sizeof(done[0])) : (uint32_t)sizeof(done[0]);
	did(DID_WAIT, ioctl(fd, INC_IOC_WAIT_MANY, placed(s, &many, sizeof(many))));
}

static void call_info(struct source *s, int fd)
{
	uint8_t info[2 * sizeof(struct inc_info)];
	socklen_t len = one_in(s, 4) ? draw(s, sizeof(info)) : sizeof(struct inc_info);

	did(DID_INFO, getsockopt(fd, SOL_INC, one_in(s, 32) ? (int)draw(s, 4) : INC_SO_INFO,
				 placed(s, info, sizeof(info)), &len));
}

/* Ranks of one group need the same: mostly none. */
static void call_key(struct source *s, int fd)
{
	uint8_t key[INC_KEY_LEN] = { 0 };
	socklen_t len = one_in(s, 8) ? draw(s, 64) : sizeof(key);

	if (one_in(s, 16))
		memcpy(key, &(uint64_t){ draw64(s) }, 8);
	if (one_in(s, 8))
		did(DID_KEY, setsockopt(fd, SOL_INC, INC_SO_KEY, (void *)address(s), len));
	else
		did(DID_KEY, setsockopt(fd, SOL_INC, INC_SO_KEY, key, len > sizeof(key) ? 0 : len));
}

/* Most of it is given back now and then, so that what is pinned has no end. */
static void call_register(struct source *s, int fd)
{
	struct inc_register reg = {
		.addr = address(s), .len = one_in(s, 4) ? draw_number(s) : draw(s, 20 * PAGE),
		.flags = draw(s, 2), .resv = one_in(s, 32) ? draw64(s) : 0,
	};
	uint32_t id = guess_registered(s);

	if (one_in(s, 32))
		reg.flags = draw(s, 0);
	if (one_in(s, 32))
		reg.id = draw(s, 0);
	did(DID_REGISTER, ioctl(fd, INC_IOC_REGISTER, placed(s, &reg, sizeof(reg))));
	if (one_in(s, 2))
		did(DID_UNREGISTER, ioctl(fd, INC_IOC_UNREGISTER, placed(s, &id, sizeof(id))));
}

static void call_ioctl(struct source *s, int fd)
{
	unsigned long cmd = _IOC(draw(s, 4), one_in(s, 8) ? draw(s, 256) : 'i', 0xc0 + draw(s, 8),
				 draw(s, 1 << 14));

	/* those of all sockets; not the first three, which choose whom signals go to */
	if (one_in(s, 4))
		cmd = 0x8904 + draw(s, 0xf0);
	did(DID_KINDS, ioctl(fd, cmd, address(s)));
}

/* A message in pieces of any size, some of them not there. */
static unsigned int pieces(struct source *s, struct iovec *iov, unsigned int n, uint8_t *body,
			   size_t size)
{
	size_t at = 0, len;
	unsigned int i;

	for (i = 0; i < n && at < size; i++) {
		len = i == n - 1 ? size - at : draw(s, (uint32_t)(size - at) + 1);
		iov[i].iov_base = body + at;
		iov[i].iov_len = len;
		at += len;
		if (one_in(s, 16))
			iov[i].iov_base = (void *)address(s);
		if (one_in(s, 32))
			iov[i].iov_len = draw(s, 5000);
	}
	return i;
}

static void call_send(struct source *s, int fd)
{
	struct {
		struct inc_submit sub;
		uint8_t more[5000];
	} body = { .more = { 0 } };
	size_t size = one_in(s, 8) ? draw(s, sizeof(body)) : sizeof(body.sub);
	struct iovec iov[6];
	struct msghdr m = { .msg_iov = iov };

	make_submit(s, &body.sub);
	m.msg_iovlen = pieces(s, iov, 1 + draw(s, ARRAY_SIZE(iov)), (uint8_t *)&body, size);
	if (one_in(s, 16)) {
		m.msg_name = (void *)address(s);
		m.msg_namelen = draw(s, 200);
	}
	if (one_in(s, 16)) {
		m.msg_control = (void *)address(s);
		m.msg_controllen = draw(s, 200);
	}
	did(DID_KINDS, sendmsg(fd, &m, MSG_NOSIGNAL | (one_in(s, 8) ? (int)draw(s, 0) : 0)));
}

static void call_recv(struct source *s, int fd)
{
	uint8_t body[5000], name[128];
	size_t size = one_in(s, 4) ? draw(s, sizeof(body)) : sizeof(struct inc_completion);
	struct iovec iov[6];
	struct msghdr m = { .msg_iov = iov, .msg_name = name,
			    .msg_namelen = draw(s, sizeof(name)) };

	m.msg_iovlen = pieces(s, iov, 1 + draw(s, ARRAY_SIZE(iov)), body, size);
	if (one_in(s, 16))
		m.msg_name = (void *)address(s);
	did(DID_RECV, recvmsg(fd, &m, one_in(s, 8) ? (int)draw(s, 0) :
				      one_in(s, 2) ? MSG_DONTWAIT : 0));
}

static void call_plain(struct source *s, int fd)
{
	struct iovec iov[4] = { 0 };
	struct inc_submit sub;
	int pair[2];

	make_submit(s, &sub);
	switch (draw(s, 4)) {
	case 0:
		did(DID_KINDS, read(fd, (void *)address(s), draw(s, 300)));
		break;
	case 1:
		did(DID_KINDS, write(fd, &sub, one_in(s, 4) ? draw(s, sizeof(sub)) : sizeof(sub)));
		break;
	case 2:
		did(DID_KINDS,
		    readv(fd, iov, (int)pieces(s, iov, 4, (uint8_t *)&sub, sizeof(sub))));
		break;
	case 3:
		if (pipe(pair))
			break;
		did(DID_KINDS, splice(fd, NULL, pair[1], NULL, 200, SPLICE_F_NONBLOCK));
		did(DID_KINDS, write(pair[1], &sub, sizeof(sub)));
		did(DID_KINDS, splice(pair[0], NULL, fd, NULL, sizeof(sub), SPLICE_F_NONBLOCK));
		close(pair[0]);
		close(pair[1]);
		break;
	}
}

static void call_poll(struct source *s, int fd)
{
	struct pollfd p = { .fd = fd, .events = (short)draw(s, 65536) };
	struct epoll_event event = { .events = draw(s, 0) };
	int ep;

	did(DID_KINDS, poll(&p, 1, (int)draw(s, 3)));
	if (!one_in(s, 4))
		return;
	ep = epoll_create1(0);
	did(DID_KINDS, epoll_ctl(ep, EPOLL_CTL_ADD, fd, &event));
	did(DID_KINDS, epoll_wait(ep, &event, 1, (int)draw(s, 3)));
	close(ep);
}

static void call_name(struct source *s, int fd)
{
	struct sockaddr_storage addr;
	socklen_t len = one_in(s, 4) ? draw(s, 0) : draw(s, sizeof(addr));
	void *at = one_in(s, 4) || len > sizeof(addr) ? (void *)address(s) : &addr;

	did(DID_KINDS, one_in(s, 2) ? getsockname(fd, at, &len) : getpeername(fd, at, &len));
}

static void call_option(struct source *s, int fd)
{
	struct timeval limit = { .tv_usec = draw(s, 20000) };
	uint8_t body[64] = { 0 };
	socklen_t len = draw(s, sizeof(body));
	int error, level = one_in(s, 4) ? (int)draw(s, 300) : SOL_SOCKET;

	switch (draw(s, 4)) {
	case 0:
		did(DID_KINDS, setsockopt(fd, SOL_SOCKET, one_in(s, 2) ? SO_RCVTIMEO : SO_SNDTIMEO,
					  &limit, sizeof(limit)));
		break;
	case 1:
		did(DID_KINDS, getsockopt(fd, level, (int)draw(s, 80), body, &len));
		break;
	case 2:
		memcpy(body, &(uint64_t){ draw_number(s) }, 8);
		did(DID_KINDS, setsockopt(fd, level, (int)draw(s, 80), body, len));
		break;
	case 3:
		len = sizeof(error);
		did(DID_KINDS, getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len));
		break;
	}
}

static void call_none(struct source *s, int fd)
{
	switch (draw(s, 7)) {
	case 0:
		did(DID_KINDS, shutdown(fd, (int)draw(s, 4)));
		break;
	case 1:
		did(DID_KINDS, bind(fd, (struct sockaddr *)&addrs[0], draw(s, 129)));
		break;
	case 2:
		did(DID_KINDS, listen(fd, 1));
		break;
	case 3:
		did(DID_KINDS, accept(fd, NULL, NULL));
		break;
	case 4:
		did(DID_KINDS, (long)mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0));
		break;
	case 5:
		did(DID_KINDS, fcntl(fd, F_SETFL, (one_in(s, 2) ? O_NONBLOCK : 0) |
						  (one_in(s, 4) ? O_ASYNC : 0)));
		fcntl(fd, F_SETOWN, getpid());
		break;
	case 6:
		did(DID_KINDS, close(dup(fd)));
		break;
	}
}

/* Addresses */

void make_addr(struct source *s, struct sockaddr_inc *a, uint32_t group, uint32_t rank,
	       uint32_t size)
{
	*a = (struct sockaddr_inc){
		.sinc_family = (sa_family_t)family, .sinc_group = group, .sinc_rank = rank,
		.sinc_size = size,
	};
	if (plan->parent && one_in(s, 2)) {
		a->sinc_parent_family = AF_INET;
		memcpy(a->sinc_parent, &plan->parent, 4);
	}
}

/* Something about it is not as it should be. */
static void damage_addr(struct source *s, struct sockaddr_inc *a)
{
	switch (draw(s, 6)) {
	case 0:
		a->sinc_rank = (uint32_t)draw_number(s);
		break;
	case 1:
		a->sinc_size = (uint32_t)draw_number(s);
		break;
	case 2:
		a->sinc_parent_family = one_in(s, 2) ? AF_INET6 : (uint16_t)draw(s, 50);
		memcpy(a->sinc_parent, &(uint64_t){ draw64(s) }, 8);
		a->sinc_scope_id = draw(s, 4);
		break;
	case 3:
		a->sinc_flags = (uint16_t)draw(s, 8);
		break;
	case 4:
		a->sinc_parent_port = (uint16_t)draw(s, 65536);
		break;
	case 5:
		((uint8_t *)a)[draw(s, sizeof(*a))] ^= (uint8_t)(1 << draw(s, 8));
		break;
	}
}

void call_connect(struct source *s, int fd, struct sockaddr_inc a)
{
	uint8_t body[200] = { 0 };

	if (one_in(s, 2))
		damage_addr(s, &a);
	memcpy(body, &a, sizeof(a));
	if (one_in(s, 16))
		did(DID_KINDS, connect(fd, (void *)address(s), draw(s, 200)));
	else
		did(DID_CONNECT,
		    connect(fd, (void *)body, one_in(s, 8) ? draw(s, 129) : sizeof(a)));
}

/* Operations that are right, whose memory nobody else knows */

static void check_arena(const uint8_t *arena, const uint8_t *before, size_t send, size_t recv,
			size_t len, bool same)
{
	if (memcmp(arena, before, recv) ||
	    memcmp(arena + recv + len, before + recv + len, ARENA - recv - len))
		die("memory beside a result was written", 0);
	if (same && memcmp(arena + recv, before + send, len))
		die("the sum of one rank is not what it has sent", 0);
	if (same)
		atomic_fetch_add(&tally->did[DID_RIGHT], 1);
}

static void call_right(struct source *s, int fd, uint32_t size)
{
	uint8_t *arena = map(ARENA), *before = map(ARENA);
	size_t count = draw(s, 3000), len = 4 * count, i;
	size_t send = draw(s, 9000), recv = one_in(s, 2) ? send : 30000 + draw(s, 9000);
	struct inc_submit_wait sw = { .wait.timeout_ms = 50 };
	struct inc_register reg = {
		.addr = (uint64_t)arena, .len = ARENA, .flags = INC_REGISTER_WRITE,
	};
	struct inc_wait *w = &sw.wait;
	int64_t end = now_ms() + 300;	/* the other ranks may never ask for the same */
	int ret;

	for (i = 0; i < ARENA; i += 8)
		memcpy(arena + i, &(uint64_t){ draw64(s) }, 8);
	memcpy(before, arena, ARENA);
	sw.submit.coll = INC_COLL_ALLREDUCE;
	sw.submit.type = INC_TYPE_I32;
	sw.submit.op = INC_OP_SUM;
	sw.submit.count = count;
	sw.submit.send = (uint64_t)(arena + send);
	sw.submit.recv = (uint64_t)(arena + recv);
	if (one_in(s, 3))
		did(DID_REGISTER, ioctl(fd, INC_IOC_REGISTER, &reg));
	sw.submit.send_reg = reg.id;
	sw.submit.recv_reg = reg.id;
	ret = ioctl(fd, INC_IOC_SUBMIT_AND_WAIT, &sw);
	did(DID_SUBMIT_WAIT, ret);
	while (ret < 0 && (errno == EINTR || errno == ETIMEDOUT) && sw.submit.handle &&
	       now_ms() < end) {
		w->handle = sw.submit.handle;
		w->timeout_ms = 50;
		ret = ioctl(fd, INC_IOC_WAIT, w);
	}
	/* while it is under way its memory is the kernel's, until the process ends */
	if (ret < 0)
		return;
	/* another thread may have been first */
	if (reg.id)
		did(DID_UNREGISTER, ioctl(fd, INC_IOC_UNREGISTER, &reg.id));
	check_arena(arena, before, send, recv, len, size == 1 && !w->completion.result);
	munmap(arena, ARENA);
	munmap(before, ARENA);
}

static void one_call(struct source *s)
{
	unsigned int i = draw(s, n_fds);
	int fd = fds[i];

	switch (draw(s, 26)) {
	case 0 ... 2:
		call_submit(s, fd);
		break;
	case 3:
		call_submit_many(s, fd);
		break;
	case 4 ... 5:
		call_wait(s, fd);
		break;
	case 6:
		call_wait_many(s, fd);
		break;
	case 7:
	case 8:
		call_submit_wait(s, fd);
		break;
	case 9:
		if (one_in(s, 4))
			call_key(s, fd);
		else
			call_info(s, fd);
		break;
	case 10:
		call_ioctl(s, fd);
		break;
	case 11 ... 12:
		call_send(s, fd);
		break;
	case 13 ... 14:
		call_recv(s, fd);
		break;
	case 15:
		call_plain(s, fd);
		break;
	case 16:
		call_poll(s, fd);
		break;
	case 17:
		call_name(s, fd);
		break;
	case 18:
		call_option(s, fd);
		break;
	case 19:
		call_none(s, fd);
		break;
	case 20:
		call_connect(s, fd, addrs[i]);
		break;
	case 21:
		disturb_memory(s);
		break;
	case 22:
	case 23:
		call_register(s, fd);
		break;
	default:
		call_right(s, fd, addrs[i].sinc_size);
		break;
	}
}

void *calls(void *arg)
{
	struct source s = { .state = *(uint64_t *)arg };
	uint32_t n = 20 + draw(&s, 120);
	int64_t end = now_ms() + EPISODE;

	for (; n && !atomic_load(&stop) && now_ms() < end; n--)
		one_call(&s);
	return NULL;
}
