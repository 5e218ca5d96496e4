// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes that make system calls on AF_INC sockets. An episode is one: it opens a socket or two,
 * joins with addresses that are right or nearly, and then three threads, and now and then a child,
 * call whatever there is (socket.c) on the same descriptors, until they are closed under them or
 * the process is killed. All that has been submitted can be collected, and every process ends.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket.h"

#define PATIENCE	20000		/* ms until a process that does not end hangs */
#define THREADS		3

static const char *const kind_names[DID_KINDS] = {
	"connect", "submit", "wait", "submit-and-wait", "info", "key", "recv", "right result",
	"drain", "register", "unregister",
};

static void nothing(int number)
{
	(void)number;
}

/* Whatever waits is woken now and then, and sees EINTR. */
static void interrupt_often(void)
{
	struct sigaction action = { .sa_handler = nothing };
	struct itimerval often = { { 0, 7000 }, { 0, 7000 } };

	sigaction(SIGALRM, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	signal(SIGIO, SIG_IGN);
	signal(SIGURG, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	setitimer(ITIMER_REAL, &often, NULL);
}

static bool joined(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int64_t end = now_ms() + (plan->steady ? 2000 : 1000);

	while (now_ms() < end)
		if (poll(&p, 1, 100) > 0)
			return p.revents == POLLOUT;
	return false;
}

/* Returns the number of ranks that the group has, 0 if it is none. */
static uint32_t open_sockets(struct source *s)
{
	uint32_t size = one_in(s, 2) ? 1 : 2 + draw(s, 2), group = draw(s, 0);
	bool wrong = one_in(s, 6);
	unsigned int i;

	n_fds = size > 1 ? 2 : 1;
	for (i = 0; i < n_fds; i++) {
		if (one_in(s, 32))
			did(DID_KINDS, socket(family, (int)draw(s, 12), (int)draw(s, 3)));
		fds[i] = socket(family, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		if (fds[i] < 0) {
			if (!plan->steady && (errno == ENOBUFS || errno == EDQUOT))
				_exit(0);	/* somebody has lowered a limit */
			die("socket", errno);
		}
		make_addr(s, &addrs[i], group, i, size);
		fcntl(fds[i], F_SETFL, O_NONBLOCK);
		if (wrong)
			call_connect(s, fds[i], addrs[i]);
		else
			did(DID_KINDS,
			    connect(fds[i], (struct sockaddr *)&addrs[i], sizeof(addrs[i])));
		if (one_in(s, 2))
			fcntl(fds[i], F_SETFL, 0);
	}
	if (wrong || size > n_fds)
		return 0;
	for (i = 0; i < n_fds; i++)
		if (!joined(fds[i]))
			return 0;
	atomic_fetch_add(&tally->did[DID_CONNECT], 1);
	return size;
}

/* All that was submitted has completed and is collected, or the group's end is told. */
static void drain(int fd)
{
	struct inc_wait w = { .timeout_ms = 100 };
	int64_t end = now_ms() + 10000;

	while (now_ms() < end) {
		w.handle = 0;
		if (!ioctl(fd, INC_IOC_WAIT, &w))
			continue;
		if (errno == ENOENT || errno == ENOTCONN) {
			atomic_fetch_add(&tally->did[DID_DRAIN], 1);
			return;
		}
		if (errno != ETIMEDOUT && errno != EINTR)
			die("drain", errno);
	}
	die("an operation that nobody can collect", 0);
}

static pid_t start_child(struct source *s)
{
	uint64_t seed = draw64(s);
	pid_t pid;

	if (!one_in(s, 4))
		return 0;
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	interrupt_often();
	calls(&seed);
	_exit(0);
}

/* The timer's signals are the main thread's: who waits for ever in another one is woken by hand. */
static void join_threads(pthread_t *threads)
{
	int i;

	for (i = 0; i < THREADS; i++) {
		while (pthread_tryjoin_np(threads[i], NULL) == EBUSY) {
			pthread_kill(threads[i], SIGUSR1);
			usleep(3000);
		}
	}
}

static int child_ended(pid_t pid)
{
	int status = 0;

	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void episode(uint64_t seed)
{
	struct source s = { .state = seed };
	pthread_t threads[THREADS];
	uint64_t seeds[THREADS];
	bool early = one_in(&s, 3);
	uint32_t size, i;
	pid_t child;

	episode_seed = seed;
	make_hostile(&s);
	interrupt_often();
	size = open_sockets(&s);
	child = start_child(&s);
	for (i = 0; i < THREADS; i++) {
		seeds[i] = draw64(&s);
		if (pthread_create(&threads[i], NULL, calls, &seeds[i]))
			die("pthread_create", errno);
	}
	if (early) {
		usleep(draw(&s, 20000));
		for (i = 0; i < n_fds; i++)
			close(fds[i]);
		atomic_store(&stop, true);
	}
	join_threads(threads);
	if (child_ended(child))
		_exit(1);
	/* the fork may have left operations of a memory that is gone: they end as well */
	if (plan->steady && !early && size == 1)
		drain(fds[0]);
	_exit(0);
}

/* All of it has been done with success, else most of this tests nothing. */
static int check_tally(void)
{
	int missing = 0;
	enum kind k;

	printf("socket: %lu episodes (%lu killed, the longest %lu ms), %lu calls; with success:",
	       atomic_load(&tally->runs.episodes), atomic_load(&tally->runs.killed),
	       atomic_load(&tally->runs.longest), atomic_load(&tally->calls));
	for (k = 0; k < DID_KINDS; k++) {
		printf(" %s %lu", kind_names[k], atomic_load(&tally->did[k]));
		missing += plan->steady && atomic_load(&tally->calls) >= 5000 &&
			   !atomic_load(&tally->did[k]);
	}
	printf("\n");
	if (missing)
		fprintf(stderr, "socket: some of that never succeeded\n");
	return missing;
}

int fuzz_sockets(const struct plan *p)
{
	int failures;

	plan = p;
	family = socket_family();
	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (tally == MAP_FAILED)
		return 1;
	failures = run_episodes(p, "socket", episode, &tally->runs, PATIENCE, true, NULL);
	return failures + check_tally();
}
