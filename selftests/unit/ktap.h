/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The smallest harness for userspace tests: a table of functions, expectations, skips, KTAP out,
 * and random numbers whose seed is printed and can be given again. It needs nothing but libc.
 *
 *	static void test_zero(void) { expect(f(0) == 0, "f(0) is %d", f(0)); }
 *	static const struct ktap_test tests[] = { KTAP(test_zero), };
 *	int main(int argc, char **argv) { return ktap_main(tests, ARRAY_SIZE(tests), argc, argv); }
 *
 * Arguments are names of tests to run, all without any; KTAP_SEED in the environment replays a
 * seed. A test that fails goes on unless it says "if (!expect(...)) return;". One function may
 * stand in the table more than once: what is in the entry's arg is in ktap.arg while it runs.
 */
#ifndef INC_KTAP_H
#define INC_KTAP_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct ktap_test {
	const char *name;
	void (*run)(void);
	const void *arg;
};

#define KTAP(fn)	{ .name = #fn, .run = fn }

/* How many failed expectations of one test are described; the rest is only counted. */
#define KTAP_MAX_DETAILS	10

static struct {
	unsigned int failed;	/* expectations of the running test */
	const char *skip;	/* reason, of the running test */
	const void *arg;	/* of the running test */
	unsigned long long seed;	/* of this run */
	unsigned long long random;	/* state */
} ktap;

/* Counts, and begins the line that describes it; false if there have been enough of them. */
static inline bool ktap_fail(const char *file, int line)
{
	if (ktap.failed++ >= KTAP_MAX_DETAILS)
		return false;
	printf("# %s:%d: ", file, line);
	return true;
}

/* What follows cond says what was wrong, printf style. True if cond held. */
#define expect(cond, ...) ({						\
	bool held_ = (cond);						\
	if (!held_ && ktap_fail(__FILE__, __LINE__)) {			\
		printf(__VA_ARGS__);					\
		printf("\n");						\
	}								\
	held_;								\
})

/*
 * For what the machine lacks: say it, then return from the test. What was found wrong before still
 * fails it.
 */
static inline void ktap_skip(const char *reason)
{
	ktap.skip = reason;
}

/* splitmix64 */
static inline unsigned long long ktap_random(void)
{
	unsigned long long z;

	ktap.random += 0x9e3779b97f4a7c15ull;
	z = ktap.random;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* Below limit, which is not 0. */
static inline unsigned long long ktap_below(unsigned long long limit)
{
	return ktap_random() % limit;
}

static inline void ktap_choose_seed(void)
{
	const char *given = getenv("KTAP_SEED");
	struct timespec now;
	char *end;

	if (given) {
		ktap.seed = strtoull(given, &end, 0);
		if (*given && !*end)
			return;
		printf("Bail out! KTAP_SEED=%s: expected a number\n", given);
		exit(2);
	}
	clock_gettime(CLOCK_REALTIME, &now);
	ktap.seed = now.tv_sec * 1000000007ull ^ (unsigned long long)now.tv_nsec << 20 ^ getpid();
}

/*
 * Every test begins with the run's seed, so that it can be replayed alone. True if it passed or was
 * skipped.
 */
static inline bool ktap_run_one(const struct ktap_test *t, unsigned int number)
{
	ktap.failed = 0;
	ktap.skip = NULL;
	ktap.arg = t->arg;
	ktap.random = ktap.seed;
	t->run();
	if (ktap.failed) {
		printf("# %u expectations failed; replay: KTAP_SEED=%llu\n", ktap.failed,
		       ktap.seed);
		printf("not ok %u - %s\n", number, t->name);
	} else if (ktap.skip) {
		printf("ok %u - %s # SKIP %s\n", number, t->name, ktap.skip);
	} else {
		printf("ok %u - %s\n", number, t->name);
	}
	return !ktap.failed;
}

static inline bool ktap_wanted(const char *name, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (!strcmp(name, argv[i]))
			return true;
	return argc < 2;
}

static inline unsigned int ktap_count(const struct ktap_test *tests, size_t count, int argc,
				      char **argv)
{
	unsigned int wanted = 0;
	size_t i;

	for (i = 0; i < count; i++)
		wanted += ktap_wanted(tests[i].name, argc, argv);
	return wanted;
}

/* The exit status for main(): 0 if nothing failed, 1 if something did, 2 if nothing was run. */
static inline int ktap_main(const struct ktap_test *tests, size_t count, int argc, char **argv)
{
	unsigned int wanted = ktap_count(tests, count, argc, argv), number = 0;
	bool good = true;
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	ktap_choose_seed();
	printf("KTAP version 1\n1..%u\n# seed %llu\n", wanted, ktap.seed);
	for (i = 0; i < count; i++)
		if (ktap_wanted(tests[i].name, argc, argv))
			good &= ktap_run_one(&tests[i], ++number);
	if (!wanted) {
		printf("# no test of the names given\n");
		return 2;
	}
	return good ? 0 : 1;
}

#endif
