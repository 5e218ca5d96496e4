// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups in which some members lie. An episode is one: honest ranks on other hosts and one on the
 * liars' own host, with real sockets, submit sums; the members that lie have joined with real
 * JOINs, and say whatever lies.c thinks of, until they fall silent. Every operation ends, and
 * nothing but its result has been written; where the liars contribute no elements and leave alone
 * what the node sends, a result that is called right is the sum of the honest ranks' numbers.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/inc_socket.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "packet.h"

#define ELEMENTS 20000 /* of an operation, at most */
#define GUARD 64 /* elements before and behind a result */
#define LIES 600 /* ms of them */
#define EPISODE 60000 /* ms until a process hangs */
#define PATIENCE 45000 /* ms until an operation that does not end hangs */
#define JOIN_TIME 20000 /* ms */

struct honest {
	pthread_t thread;
	u32 host, rank;
	int fd;
	bool joined;
};

struct packet_tally *said;
u32 my_host, honest_host[MAX_HONEST];

static const struct plan *the_plan;
static int the_family;
static u64 the_seed;
static atomic_bool is_over;
static struct liar liar;
static struct honest honest[MAX_HONEST];

static const char *const lie_names[LIE_KINDS] = {
	"joined",
	"stolen cookie",
	"agree",
	"payload",
	"no payload",
	"span",
	"descriptor",
	"final",
	"retrans",
	"leave",
	"opseq",
	"length",
	"probe",
	"abort",
	"move join",
	"shrink join",
	"rejoin",
	"super",
	"mixed",
	"members",
	"short",
	"down super",
	"broadcast",
	"multicast",
	"martian",
	"spoofed",
	"damaged",
	"cookie",
	"result",
	"status",
	"nack",
	"error",
	"ready",
	"refuse",
	"move",
	"peers",
	"partial",
	"wide",
	"operations right",
	"operations failed",
	"joined as a node",
	"abort of a node",
	"stale",
	"part",
};

static void give_up(const char *what, long error)
{
	fprintf(stderr, "packet: %s%s%s; --seed %llu --episode %llu\n", what, error ? ": " : "",
		error ? strerror((int)error) : "", (unsigned long long)the_plan->seed,
		(unsigned long long)the_seed);
	_exit(1);
}

static void enter(const char *netns, u32 len)
{
	char path[80];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%.*s", (int)len, netns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		give_up(path, errno);
	close(fd);
}

/* The same for all ranks, so that they agree. */
static u32 count_of(u32 op)
{
	struct source s = { .state = the_seed + op };

	return one_in(&s, 4) ? draw(&s, ELEMENTS) : draw(&s, 3000);
}

static int32_t element(u32 rank, u32 op, u32 i)
{
	return (int32_t)(rank * 7919 + op * 104729 + i * 31);
}

static int32_t sum_of(u32 op, u32 i)
{
	int32_t sum = 0;
	u32 j;

	for (j = 0; j < liar.n_honest; j++)
		sum = (int32_t)((u32)sum + (u32)element(liar.honest_rank[j], op, i));
	return sum;
}

static bool connected(struct honest *h)
{
	struct sockaddr_inc a = { .sinc_family = (sa_family_t)the_family,
				  .sinc_group = liar.group,
				  .sinc_rank = h->rank,
				  .sinc_size = liar.size };
	struct pollfd p = { .events = POLLOUT };
	char name[8];

	enter(name, (u32)snprintf(name, sizeof(name), "h%u", h->host));
	h->fd = socket(the_family, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (h->fd < 0)
		give_up("socket", errno);
	p.fd = h->fd;
	if (connect(h->fd, (struct sockaddr *)&a, sizeof(a)) && errno != EINPROGRESS)
		give_up("connect", errno);
	/* others may end the group while it forms */
	return poll(&p, 1, JOIN_TIME) > 0 && p.revents == POLLOUT;
}

static void check_result(const struct honest *h, const int32_t *arena, u32 op, u32 count,
			 bool right)
{
	u32 i;

	for (i = 0; i < GUARD; i++)
		if (arena[i] != -1 || arena[GUARD + count + i] != -1)
			give_up("memory beside a result was written", 0);
	for (i = 0; right && i < count; i++)
		if (arena[GUARD + i] != sum_of(op, i)) {
			fprintf(stderr,
				"packet: rank %u, operation %u, %u elements: %d at %u, expected %d\n",
				h->rank, op, count, arena[GUARD + i], i, sum_of(op, i));
			give_up("a result that is called right is wrong", 0);
		}
}

/* Waits for it; what it returned. *@whole: of all ranks. */
static int outcome(struct honest *h, u64 handle, u32 op, bool *whole)
{
	struct inc_wait w = { .handle = handle, .timeout_ms = 500 };
	int64_t end = now_ms() + PATIENCE;

	while (ioctl(h->fd, INC_IOC_WAIT, &w)) {
		if (errno != ETIMEDOUT && errno != EINTR)
			give_up("wait", errno);
		if (now_ms() > end) {
			fprintf(stderr, "packet: rank %u of %u, group %u, operation %u\n", h->rank,
				liar.size, liar.group, op);
			give_up("an operation does not end", 0);
		}
		w.handle = handle;
		w.timeout_ms = 500;
	}
	*whole = !w.completion.missing;
	return w.completion.result;
}

/* False: there will be no more. */
static bool operation(struct honest *h, u32 op)
{
	u32 count = count_of(op), bytes = (2 * GUARD + count) * 4, i;
	int32_t *send = mmap(NULL, count * 4 + 1, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int32_t *recv =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool in_place = op % 3 == 2, whole;
	struct inc_submit sub = {
		.coll = INC_COLL_ALLREDUCE, .type = INC_TYPE_I32, .op = INC_OP_SUM, .count = count
	};
	int ret;

	if (send == MAP_FAILED || recv == MAP_FAILED)
		give_up("mmap", errno);
	memset(recv, 0xff, bytes);
	for (i = 0; i < count; i++)
		(in_place ? recv + GUARD : send)[i] = element(h->rank, op, i);
	sub.send = (u64)(in_place ? recv + GUARD : send);
	sub.recv = (u64)(recv + GUARD);
	ret = ioctl(h->fd, INC_IOC_SUBMIT, &sub);
	if (!ret) {
		ret = outcome(h, sub.handle, op, &whole);
		check_result(h, recv, op, count, !ret && whole && liar.pure);
		for (i = 0; !in_place && i < count; i++)
			if (send[i] != element(h->rank, op, i))
				give_up("what was sent has been written", 0);
		count_lie(ret ? LIE_OPS_FAILED : LIE_OPS_RIGHT);
		ret = 0;
	}
	/* others get these pages, while packets for it may still come */
	munmap(send, count * 4 + 1);
	munmap(recv, bytes);
	return !ret;
}

static void *play_honest(void *arg)
{
	struct honest *h = arg;
	u32 op;

	h->joined = connected(h);
	for (op = 0; h->joined && !atomic_load(&is_over) && operation(h, op); op++)
		;
	close(h->fd);
	return NULL;
}

/* Which ranks lie, and which host has which of the others. */
static void deal_ranks(struct source *s)
{
	u32 taken = 0, rank, i;

	liar.n = 1 + draw(s, MAX_MEMBERS - 1);
	liar.size = liar.n + liar.n_honest;
	for (i = 0; i < liar.size; i++) {
		do {
			rank = draw(s, liar.size);
		} while (taken & 1u << rank);
		taken |= 1u << rank;
		if (i < liar.n_honest) {
			liar.honest_rank[i] = rank;
			honest[i].rank = rank;
			continue;
		}
		liar.member[i - liar.n_honest] = (struct member){
			.rank = rank,
			.nonce = draw(s, 0),
		};
	}
}

/* One of them joins for all. */
static void become_a_node(void)
{
	u32 i;

	for (i = 0; i < liar.n; i++)
		liar.below |= 1u << liar.member[i].rank;
	liar.member[0].rank = (u32)__builtin_ctz(liar.below);
	liar.n = 1;
}

static void add_host(u32 host)
{
	honest_host[liar.n_honest] = host;
	honest[liar.n_honest++].host = host;
}

/* --honest h1,h2 --liars h4: ranks on h1, h2, and one on h4. */
static void read_hosts(void)
{
	const char *p = the_plan->honest;

	my_host = (u32)strtoul(the_plan->liars + 1, NULL, 10);
	while (p && *p && liar.n_honest < MAX_HONEST - 1) {
		add_host((u32)strtoul(p + 1, NULL, 10));
		p = strchr(p, ',');
		p += !!p;
	}
	add_host(my_host);
}

static void lie_on(void)
{
	int64_t end = now_ms() + LIES;

	while (now_ms() < end) {
		liar_listen(&liar);
		liar_say(&liar);
		/* others need the processor, too */
		usleep(one_in(&liar.s, 16) ? draw(&liar.s, 4000) : 300);
	}
}

static void episode(uint64_t seed)
{
	struct source s = { .state = seed };
	bool quiet;
	u32 i;

	the_seed = seed;
	read_hosts();
	liar.group = draw(&s, 0);
	/* of two workers each does one of the two all the time: both happen in a few seconds */
	liar.pure = !(seed & 2);
	quiet = one_in(&s, 4);
	liar.window = 4;
	deal_ranks(&s);
	if (the_plan->nodes && one_in(&s, 3))
		become_a_node();
	liar.s.state = draw64(&s);
	for (i = 0; i < liar.n_honest; i++)
		if (pthread_create(&honest[i].thread, NULL, play_honest, &honest[i]))
			give_up("pthread_create", errno);
	enter(the_plan->liars, (u32)strlen(the_plan->liars));
	frames_open();
	if (liar_join(&liar)) {
		atomic_fetch_add(&said->formed, 1);
		lie_on();
	}
	/* they end it, or say nothing any more, which has to end it as well */
	atomic_store(&is_over, true);
	if (!quiet)
		liar_abort(&liar);
	for (i = 0; i < liar.n_honest; i++)
		pthread_join(honest[i].thread, NULL);
}

static enum lie end_of_kinds(void)
{
	return the_plan->nodes ? LIE_KINDS : LIE_NODE_JOINED;
}

static bool all_said(void)
{
	enum lie what;

	for (what = 0; what < end_of_kinds(); what++)
		if (atomic_load(&said->said[what]) < the_plan->least)
			return false;
	return true;
}

/* A generator that says nothing tests nothing. */
static int check_said(void)
{
	unsigned long n;
	int missing = 0;
	enum lie what;

	printf("packet: %lu episodes, of which %lu formed (the longest %lu ms):",
	       atomic_load(&said->runs.episodes), atomic_load(&said->formed),
	       atomic_load(&said->runs.longest));
	for (what = 0; what < LIE_KINDS; what++)
		printf(" %s %lu", lie_names[what], atomic_load(&said->said[what]));
	printf("\n");
	for (what = 0; what < end_of_kinds(); what++) {
		n = atomic_load(&said->said[what]);
		if (n >= the_plan->least)
			continue;
		fprintf(stderr, "packet: %s: %lu, expected %lu or more\n", lie_names[what], n,
			the_plan->least);
		missing++;
	}
	return missing;
}

int fuzz_packets(const struct plan *plan)
{
	int failures;

	the_plan = plan;
	the_family = socket_family();
	said = mmap(NULL, sizeof(*said), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (said == MAP_FAILED)
		return 1;
	failures = run_episodes(plan, "packet", episode, &said->runs, EPISODE, false, all_said);
	return failures + check_said();
}
