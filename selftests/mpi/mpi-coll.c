// SPDX-License-Identifier: GPL-2.0-only
/*
 * mpi-coll: random collectives of MPI, each done twice: as any program does it (MPI_X, which is
 * libinc-mpi's when that is preloaded), and by the MPI itself (PMPI_X). Buffers are compared byte
 * for byte. libinc-mpi's counters are compared with what this program expects of every call.
 *
 * The MPI itself is given plain bytes, whatever datatypes the first call had: Open MPI 4.1 hangs
 * in MPI_Allgatherv() when ranks have different ones, MPICH 4.0 fails in MPI_Gather() with some
 * that have gaps, and crashes in MPI_Reduce() in place. Where the MPI does both calls, there are
 * only types without gaps, and no reduce in place.
 *
 *	mpi-coll [--seed N] [--ops N] [--expect inc|mpi|off|absent] [--fn NAME] [--threads]
 *	         [--quiet] [TEST...]
 *
 *	--expect  who does the calls: INC (those that it can do); the MPI, because there is no
 *	          group, or because INC_MPI is off; or nobody has preloaded libinc-mpi (absent).
 *	          Default: not looked at.
 *	--threads MPI_THREAD_MULTIPLE
 *	TEST      random, types, requests, comms, progress, semantics, inter, attributes, refused,
 *	          overlap, bottom, lengths, nothing, persistent, end, threads, formed (threads whose
 *	          communicators have their groups), waits (of threads for requests), lost, shares,
 *	          mapped, tune, untuned, unasked, early, again, gone; default: all but the last
 *	          twelve. shares wants INC_MPI_MAX to be 1000, mapped MPI_COLL_FILE to name a file
 *	          of 64 KiB on a disk, tune MPI_COLL_TUNE, which makes INC_MPI_TUNE of rank N that
 *	          with .N behind it, early INC_MPI_EARLY to be 1, gone MPI_COLL_RUN to be a command
 *	          that takes the node away.
 *
 * All ranks draw the same numbers. Floats are small numbers whose sums and products are exact, so
 * that the order does not matter. Rank 0 prints "TEST: passed" for each, and what INC did.
 */

#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

#include "mpi-coll.h"

int rank, size;
uint64_t seed = 1;
int nr_ops = 300;
enum expected expected;
const char *only_fn;
bool has_threads, has_component;
uint64_t by_inc, by_mpi;

static bool quiet, wants_threads;
static uint64_t (*counter)(const char *name);

void fail(const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "mpi-coll: rank %d, seed %llu: ", rank, (unsigned long long)seed);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	fflush(stderr);
	PMPI_Abort(MPI_COMM_WORLD, 1);
	exit(1);
}

uint64_t count_of(const char *name)
{
	return counter ? counter(name) : 0;
}

static void expect_done(const char *what, const char *name, uint64_t done, uint64_t n)
{
	if (expected != EXPECT_ANY && done != (expected == EXPECT_INC ? n : 0))
		fail("%s: INC did %llu of %llu %s", what, (unsigned long long)done,
		     (unsigned long long)n, name);
}

void expect_inc(const char *what, const char *name, uint64_t before, uint64_t n)
{
	expect_done(what, name, count_of(name) - before, n);
}

uint64_t groups_found(void)
{
	return count_of("groups") + count_of("again");
}

void expect_groups(const char *what, uint64_t before, uint64_t n)
{
	expect_done(what, "groups", groups_found() - before, n);
}

static const struct {
	const char *name;
	void (*run)(void);
	bool by_default;
} tests[] = {
	{ "random", test_random, true },
	{ "types", test_types, true },
	{ "requests", test_requests, true },
	{ "comms", test_comms, true },
	{ "progress", test_progress, true },
	{ "semantics", test_semantics, true },
	{ "inter", test_inter, true },
	{ "inter_arrays", test_inter_arrays, true },
	{ "many", test_many, true },
	{ "idup", test_idup, true },
	{ "attributes", test_attributes, true },
	{ "refused", test_refused, true },
	{ "overlap", test_overlap, true },
	{ "bottom", test_bottom, true },
	{ "lengths", test_lengths, true },
	{ "nothing", test_nothing, true },
	{ "persistent", test_persistent, true },
	{ "stays", test_stays, true },
	{ "end", test_end, true },
	{ "threads", test_threads, false },
	{ "formed", test_formed, false },
	{ "waits", test_waits, false },
	{ "lost", test_lost, false },
	{ "shares", test_shares, false },
	{ "mapped", test_mapped, false },
	{ "tune", test_tune, false },
	{ "untuned", test_untuned, false },
	{ "unasked", test_unasked, false },
	{ "early", test_early, false },
	{ "again", test_again, false },
	{ "gone", test_gone, false },
};

#define NR_TESTS (sizeof(tests) / sizeof(tests[0]))

static void run_test(const char *name, bool all)
{
	bool found = false;
	double begin;

	for (size_t i = 0; i < NR_TESTS; i++) {
		if (all ? !tests[i].by_default : strcmp(tests[i].name, name))
			continue;
		found = true;
		drawn = i << 40;
		begin = PMPI_Wtime();
		tests[i].run();
		PMPI_Barrier(MPI_COMM_WORLD);
		if (!rank && !quiet)
			printf("%s: passed (%.1f s)\n", tests[i].name, PMPI_Wtime() - begin);
		fflush(stdout);
	}
	if (!found)
		fail("there is no test \"%s\"", name);
}

static void usage(const char *name)
{
	fprintf(stderr, "%s [--seed N] [--ops N] [--expect inc|mpi|off|absent] [--fn NAME] [--threads] [--quiet] [TEST...]\n",
		name);
	exit(2);
}

static enum expected parse_expected(const char *text)
{
	if (!strcmp(text, "inc"))
		return EXPECT_INC;
	if (!strcmp(text, "mpi"))
		return EXPECT_MPI;
	if (!strcmp(text, "off"))
		return EXPECT_OFF;
	return strcmp(text, "absent") ? EXPECT_ANY : EXPECT_ABSENT;
}

static int parse(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--quiet")) {
			quiet = true;
			continue;
		}
		if (!strcmp(argv[i], "--threads")) {
			wants_threads = true;
			continue;
		}
		if (i + 1 == argc)
			usage(argv[0]);
		if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[++i], NULL, 0);
		else if (!strcmp(argv[i], "--ops"))
			nr_ops = atoi(argv[++i]);
		else if (!strcmp(argv[i], "--fn"))
			only_fn = argv[++i];
		else if (!strcmp(argv[i], "--expect"))
			expected = parse_expected(argv[++i]);
		else
			usage(argv[0]);
	}
	return i;
}

static void find_counters(void)
{
	void *component = dlopen("mca_coll_inc.so", RTLD_LAZY | RTLD_NOLOAD);
	void *first = dlsym(RTLD_DEFAULT, "inc_mpi_counter");
	void *own = component ? dlsym(component, "inc_mpi_counter") : NULL;

	/* libinc-mpi.so comes before the component, which leaves all to it */
	has_component = own && (!first || first == own);
	*(void **)&counter = has_component ? own : first;
	if (expected == EXPECT_ABSENT ? !!counter : expected != EXPECT_ANY && !counter)
		fail("libinc-mpi is %spreloaded", counter ? "" : "not ");
}

#define FINALIZE_SECONDS	30

static void not_finalized(int number)
{
	static const char text[] = "mpi-coll: MPI_Finalize() does not return\n";

	(void)number;
	_exit(write(STDERR_FILENO, text, sizeof(text) - 1) > 0 ? 0 : 1);
}

/*
 * MPICH 4.0 over UCX may never come back from it, without libinc-mpi as well. This stands in front
 * of MPICH's for libinc-mpi, which calls it last: if that hangs itself, so does the test.
 */
#ifdef MPICH_VERSION
int __attribute__((__visibility__("default"))) PMPI_Finalize(void)
{
	int (*next)(void);

	*(void **)&next = dlsym(RTLD_NEXT, "PMPI_Finalize");
	signal(SIGALRM, not_finalized);
	alarm(FINALIZE_SECONDS);
	return next();
}
#endif

static void finalize(void)
{
#ifdef MPICH_VERSION
	if (expected == EXPECT_ABSENT) {
		PMPI_Finalize();
		return;
	}
#else
	(void)not_finalized;
#endif
	MPI_Finalize();
}

/* What a rank has as its table, which the library looks at when MPI has begun. */
static void choose_table(void)
{
	const char *prefix = getenv("MPI_COLL_TUNE");
	const char *own = getenv("OMPI_COMM_WORLD_RANK") ?: getenv("PMI_RANK");
	char path[4096];

	if (!prefix || !own)
		return;
	snprintf(path, sizeof(path), "%s.%s", prefix, own);
	setenv("INC_MPI_TUNE", path, 1);
}

int main(int argc, char **argv)
{
	int provided, at = parse(argc, argv);
	uint64_t sums[2], own[2];
	bool looked;

	choose_table();
	if (wants_threads)
		MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	else
		MPI_Init(&argc, &argv);
	PMPI_Query_thread(&provided);
	has_threads = provided == MPI_THREAD_MULTIPLE;
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size > MAX_RANKS)
		fail("%d ranks: at most %d", size, MAX_RANKS);
	find_counters();
	make_mixed();
	if (at == argc)
		run_test("", true);
	for (; at < argc; at++)
		run_test(argv[at], false);
	looked = count_of("why.no_group") || count_of("why.one_host");
	if ((expected == EXPECT_MPI && size > 1 && !looked) || (expected == EXPECT_OFF && looked))
		fail("libinc-mpi has %slooked at calls", looked ? "" : "not ");
	own[0] = by_inc;
	own[1] = by_mpi;
	PMPI_Reduce(own, sums, 2, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
	if (!rank)
		printf("mpi-coll: by INC %llu, by MPI %llu\n", (unsigned long long)sums[0],
		       (unsigned long long)sums[1]);
	PMPI_Type_free(&mixed);
	fflush(stdout);
	finalize();
	return 0;
}
