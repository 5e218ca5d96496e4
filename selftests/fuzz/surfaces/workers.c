// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes that each play an episode, several at once, one after the other until the time is over.
 * Every one ends by itself, and without an error, unless it was killed.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "surfaces.h"

#define LONGER		90000		/* ms beyond the time, until all has been done */

struct crew {
	const struct plan *plan;
	const char *name;
	void (*episode)(uint64_t seed);
	struct runs *runs;
	int64_t patience;
	bool kills;
	bool (*enough)(void);
};

static void show_stack(pid_t pid)
{
	char command[80];

	snprintf(command, sizeof(command), "cat /proc/%d/task/*/stack >&2", pid);
	if (system(command))
		fprintf(stderr, "no stack of %d\n", pid);
}

/* Its end, which is by @kill_at if that is not 0. */
static bool ended_well(const struct crew *c, uint64_t seed, pid_t pid, int64_t kill_at)
{
	int64_t end = now_ms() + c->patience;
	int status;

	for (;;) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			break;
		if (kill_at && now_ms() >= kill_at)
			kill(pid, SIGKILL);
		if (now_ms() > end) {
			fprintf(stderr, "%s: a process does not end; --episode %llu\n", c->name,
				(unsigned long long)seed);
			show_stack(pid);
			kill(pid, SIGKILL);
			return false;
		}
		usleep(500);
	}
	if (WIFEXITED(status))
		return !WEXITSTATUS(status);
	if (kill_at && WTERMSIG(status) == SIGKILL) {
		atomic_fetch_add(&c->runs->killed, 1);
		return true;
	}
	fprintf(stderr, "%s: a process ended by signal %d; --episode %llu\n", c->name,
		WTERMSIG(status), (unsigned long long)seed);
	return false;
}

static bool run_episode(const struct crew *c, struct source *s, uint64_t seed)
{
	int64_t kill_at = c->kills && !c->plan->episode && one_in(s, 6) ? now_ms() + draw(s, 40) :
									  0;
	int64_t begin = now_ms();
	pid_t pid = fork();
	bool well;

	if (!pid) {
		c->episode(seed);
		_exit(0);
	}
	if (pid < 0) {
		perror("fork");
		return false;
	}
	atomic_fetch_add(&c->runs->episodes, 1);
	well = ended_well(c, seed, pid, kill_at);
	/* two workers may overwrite each other's: it is only told */
	if ((unsigned long)(now_ms() - begin) > atomic_load(&c->runs->longest))
		atomic_store(&c->runs->longest, (unsigned long)(now_ms() - begin));
	return well;
}

/* Odd; bit 1 says whether the worker's number is. */
static uint64_t next_seed(struct source *s, unsigned int number)
{
	return (draw64(s) & ~3ULL) | 1 | (number & 1) << 1;
}

static int worker(const struct crew *c, unsigned int number)
{
	struct source s = { .state = c->plan->seed + number };
	int64_t end = now_ms() + c->plan->seconds * 1000LL;

	while (now_ms() < end || (c->enough && !c->enough() && now_ms() < end + LONGER)) {
		uint64_t seed = c->plan->episode ? c->plan->episode : next_seed(&s, number);

		if (!run_episode(c, &s, seed))
			return 1;
	}
	return 0;
}

int run_episodes(const struct plan *plan, const char *name, void (*episode)(uint64_t seed),
		 struct runs *runs, int64_t patience, bool kills, bool (*enough)(void))
{
	struct crew c = { plan, name, episode, runs, patience, kills, enough };
	int failures = 0, status;
	unsigned int i;

	for (i = 0; i < plan->workers; i++)
		if (!fork())
			_exit(worker(&c, i));
	while (wait(&status) > 0)
		failures += !!status;
	return failures;
}
