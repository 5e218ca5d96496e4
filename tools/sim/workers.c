// SPDX-License-Identifier: GPL-2.0-only
/* Many seeds in several processes: job j of n runs seeds j, j + n, ... This one watches them. */
#include <inttypes.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sim.h"

#define STUCK	120.0	/* seconds that no run takes */

/* What a worker has done so far; it alone writes it. */
struct worker {
	pid_t pid;
	u64 seed;		/* that runs */
	struct totals totals;
};

struct shared {
	u64 failed;		/* atomic: how many seeds have failed */
	u64 first;		/* the first of them */
	struct worker worker[];
};

static const struct options *options;
static struct worker *self;	/* for the signal handler */

static void on_abort(int sig)
{
	char text[400];
	int n = snprintf(text, sizeof(text), "# replay: %s --seed %" PRIu64 " --runs 1 -v\n",
			 options->program, self->seed);

	fflush(stdout);
	if (write(STDOUT_FILENO, text, n) != n)
		_exit(3);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void failed(struct shared *s, u64 seed)
{
	if (__atomic_fetch_add(&s->failed, 1, __ATOMIC_SEQ_CST))
		return;
	s->first = seed;
}

static bool enough(const struct shared *s)
{
	return __atomic_load_n(&s->failed, __ATOMIC_SEQ_CST) >= options->keep_going;
}

static void work(struct shared *s, u32 job, double begin)
{
	struct sim *sim = calloc(1, sizeof(*sim));
	struct totals *t = &s->worker[job].totals;
	u64 run, i;

	self = &s->worker[job];
	for (run = job; run < options->runs && !enough(s); run += options->jobs) {
		if (options->limit && seconds() - begin > options->limit)
			break;
		self->seed = options->seed + run;
		if (!run_seed(sim, self->seed, &options->overrides, options->trace)) {
			print_replay(stdout, options, self->seed, &options->overrides);
			failed(s, self->seed);
		}
		t->steps += sim->steps;
		t->troubled += sim->rounds_troubled;
		t->harmless += sim->rounds_harmless;
		t->trees += sim->trees;
		t->returns += sim->returns;
		t->deep += sim->rounds_deep;
		t->hostile += !!sim->plan.hostile.who;
		t->lies += sim->hostile.lies;
		t->served += sim->served;
		t->true_blocks += sim->true_blocks;
		for (i = 0; i < __INC_C_MAX; i++)
			t->counters[i] += sim->totals[i];
		__atomic_fetch_add(&t->runs, 1, __ATOMIC_RELAXED);
	}
	free(sim);
}

static void sum(const struct shared *s, struct totals *all)
{
	u64 job, i;

	memset(all, 0, sizeof(*all));
	for (job = 0; job < options->jobs; job++) {
		all->runs += s->worker[job].totals.runs;
		all->steps += s->worker[job].totals.steps;
		all->troubled += s->worker[job].totals.troubled;
		all->harmless += s->worker[job].totals.harmless;
		all->trees += s->worker[job].totals.trees;
		all->returns += s->worker[job].totals.returns;
		all->deep += s->worker[job].totals.deep;
		all->hostile += s->worker[job].totals.hostile;
		all->lies += s->worker[job].totals.lies;
		all->served += s->worker[job].totals.served;
		all->true_blocks += s->worker[job].totals.true_blocks;
		for (i = 0; i < __INC_C_MAX; i++)
			all->counters[i] += s->worker[job].totals.counters[i];
	}
}

static void print_progress(const struct shared *s, double time)
{
	struct totals t;

	sum(s, &t);
	printf("# %.0f s: %" PRIu64 " runs, %.0f seeds/s, %" PRIu64
	       " events, %.0f events/s, %" PRIu64 " failed\n",
	       time, t.runs, t.runs / time, t.steps, t.steps / time, s->failed);
}

/* One that does not get on with its run is ended, and says which one it was. */
static void end_stuck(const struct worker *w, u64 *runs, double *since, double now)
{
	if (*runs != w->totals.runs) {
		*runs = w->totals.runs;
		*since = now;
	} else if (w->pid && now - *since > STUCK) {
		printf("# seed %" PRIu64 " takes more than %.0f s\n", w->seed, STUCK);
		kill(w->pid, SIGABRT);
		*since = now;
	}
}

/* Waits for a while; returns how many have ended. */
static u32 reap(struct shared *s)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	u32 ended = 0, job;
	int status;

	nanosleep(&pause, NULL);
	for (job = 0; job < options->jobs; job++) {
		struct worker *w = &s->worker[job];

		if (!w->pid || waitpid(w->pid, &status, WNOHANG) != w->pid)
			continue;
		w->pid = 0;
		ended++;
		if (WIFEXITED(status) && (!WEXITSTATUS(status) || s->failed))
			continue;
		printf("# seed %" PRIu64 ": %s %d\n", w->seed,
		       WIFSIGNALED(status) ? "signal" : "exit status",
		       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
		failed(s, w->seed);
	}
	return ended;
}

static void watch(struct shared *s, double begin)
{
	u64 runs[SIM_MAX_JOBS] = { 0 };
	double since[SIM_MAX_JOBS], last = begin, now;
	u32 left = options->jobs, job;

	for (job = 0; job < options->jobs; job++)
		since[job] = begin;
	while (left) {
		left -= reap(s);
		now = seconds();
		for (job = 0; job < options->jobs; job++)
			end_stuck(&s->worker[job], &runs[job], &since[job], now);
		if (!options->progress || now - last < options->progress)
			continue;
		print_progress(s, now - begin);
		last = now;
	}
}

/* Leaves this process by exit(), for the sanitizers; what failed runs have lost is no leak then. */
static void start(struct shared *s, u32 job, double begin)
{
	pid_t pid = fork();

	if (pid < 0) {
		perror("inc-sim: fork");
		exit(2);
	}
	if (pid) {
		s->worker[job].pid = pid;
		return;
	}
	self = &s->worker[job];
	signal(SIGABRT, on_abort);
	signal(SIGSEGV, on_abort);
	work(s, job, begin);
	fflush(stdout);
	if (s->failed)
		_exit(1);
	exit(0);
}

void run_seeds(const struct options *o, struct totals *totals)
{
	size_t bytes = sizeof(struct shared) + o->jobs * sizeof(struct worker);
	struct shared *s =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	double begin = seconds();
	u32 job;

	if (s == MAP_FAILED) {
		perror("inc-sim: mmap");
		exit(2);
	}
	options = o;
	fflush(stdout);
	if (o->trace) {
		work(s, 0, begin);
	} else {
		for (job = 0; job < o->jobs; job++)
			start(s, job, begin);
		watch(s, begin);
	}
	sum(s, totals);
	totals->failed = s->failed;
	totals->first = s->first;
	munmap(s, bytes);
}
