// SPDX-License-Identifier: GPL-2.0-only
/*
 * inc-mpi-tune: measures MPI's collectives by INC and by the MPI, in the same run and in turns, and
 * writes a tuning table, see libinc-mpi(7). It is run as the programs that are to use the table: by
 * the same MPI, with libinc-mpi.so preloaded or with the component, on the same hosts.
 *
 *	inc-mpi-tune [-o FILE] [-c FUNCTION[,...]] [-t TYPE[,...]] [-s FROM-TO] [-r RANKS]
 *	             [-n ROUNDS] [-q]
 *
 * Of each size it knows the time of the slowest rank, the median of the rounds. A size stands for
 * those around it, up to half-way to the next one that is measured.
 */
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"

#define STEP		4	/* from one size to the next */
#define MAX_SIZES	16
#define MAX_BYTES	268435456
#define MAX_ROUNDS	1001
#define ROUND_SECONDS	0.004	/* that a round may take, about */
#define MAX_CALLS	200	/* in a round */

static struct {
	const char *path;	/* NULL: stdout */
	uint32_t fns, classes;	/* bits: enum incmpi_fn, enum incmpi_class */
	uint64_t from, to;
	const char *ranks;	/* what the table says of them; NULL: how many there are */
	int rounds;
	bool quiet;
} options = {
	.fns = ~0u, .classes = 1u << INCMPI_CLASS_ANY, .from = 8, .to = 1 << 20, .rounds = 15,
};

/* Half of the table's bytes that one measure stands for are below it, half are above. */
struct measure {
	size_t bytes;
	double inc, mpi;	/* seconds */
};

/* Those for a type come first: "any" would be found before them. */
static const struct element elements[] = {
	{ INCMPI_CLASS_INTEGER, MPI_INT, MPI_SUM, sizeof(int) },
	{ INCMPI_CLASS_FLOAT, MPI_FLOAT, MPI_SUM, sizeof(float) },
	{ INCMPI_CLASS_COMPLEX, MPI_C_FLOAT_COMPLEX, MPI_SUM, 2 * sizeof(float) },
	{ INCMPI_CLASS_LOGICAL, MPI_C_BOOL, MPI_LOR, 1 },
	{ INCMPI_CLASS_PAIR, MPI_FLOAT_INT, MPI_MAXLOC, sizeof(float) + sizeof(int) },
	{ INCMPI_CLASS_ANY, MPI_FLOAT, MPI_SUM, sizeof(float) },
};

static struct ways ways;
static FILE *table;
static uint64_t (*counter)(const char *name);

/* ---- The command line: the same at all ranks -------------------------------------- */

static int find_fn(const char *name, size_t len)
{
	int fn = incmpi_fn_parse(name, len);

	return fn >= 0 && tune_fn_is_measured(fn) ? fn : -1;
}

static int find_class(const char *name, size_t len)
{
	for (int i = 0; i < INCMPI_NR_CLASSES; i++)
		if (strlen(incmpi_class_name(i)) == len && !memcmp(incmpi_class_name(i), name, len))
			return i;
	return -1;
}

/* Names with commas between them, as bits; 0: one of them is none. */
static uint32_t parse_names(const char *text, int (*find)(const char *name, size_t len))
{
	uint32_t bits = 0;
	size_t len;
	int found;

	for (;; text += len + 1) {
		len = strcspn(text, ",");
		found = find(text, len);
		if (found < 0)
			return 0;
		bits |= 1u << found;
		if (!text[len])
			return bits;
	}
}

static bool parse_sizes(const char *text)
{
	return incmpi_tune_range(text, MAX_BYTES, &options.from, &options.to) && options.from;
}

static bool parse_ranks(const char *text)
{
	uint64_t from, to;

	options.ranks = text;
	return incmpi_tune_range(text, INC_MAX_RANKS, &from, &to);
}

static bool parse_option(int option)
{
	switch (option) {
	case 'o':
		options.path = optarg;
		return true;
	case 'c':
		options.fns = parse_names(optarg, find_fn);
		return options.fns;
	case 't':
		options.classes = parse_names(optarg, find_class);
		return options.classes;
	case 's':
		return parse_sizes(optarg);
	case 'r':
		return parse_ranks(optarg);
	case 'n':
		options.rounds = atoi(optarg);
		return options.rounds > 0 && options.rounds <= MAX_ROUNDS;
	case 'q':
		options.quiet = true;
		return true;
	default:
		return false;
	}
}

static bool parse_options(int argc, char **argv)
{
	int option;

	opterr = 0;
	while ((option = getopt(argc, argv, "o:c:t:s:r:n:q")) >= 0)
		if (!parse_option(option))
			return false;
	return optind == argc;
}

static void usage(void)
{
	fprintf(stderr,
		"Usage: inc-mpi-tune [-o FILE] [-c FUNCTION[,...]] [-t TYPE[,...]] [-s FROM-TO]\n"
		"                    [-r RANKS] [-n ROUNDS] [-q]\n"
		"As a program of MPI, with libinc-mpi.so preloaded or as a component of Open MPI.\n"
		"-o  the tuning table that it writes, else stdout\n"
		"-c  functions; all of");
	for (int fn = 0; fn < INCMPI_NR_FNS; fn++)
		if (tune_fn_is_measured(fn))
			fprintf(stderr, " %s", incmpi_fn_name(fn));
	fprintf(stderr, "\n-t  of reductions, with a line for each; any of");
	for (int i = 0; i < INCMPI_NR_CLASSES; i++)
		fprintf(stderr, " %s", incmpi_class_name(i));
	fprintf(stderr,
		"\n-s  bytes of the largest buffer of a rank, 1 to %d; 8-1048576\n"
		"-r  for how many ranks the table is: any, N, N-M or N-; as many as there are\n"
		"-n  measures of each size, the median of which counts, 1 to %d; 15\n"
		"-q  no progress\n", MAX_BYTES, MAX_ROUNDS);
}

/* ---- Begin --------------------------------------------------------------------------- */

/* Said once; no rank goes on. */
static int give_up(const char *text)
{
	if (!ways.rank)
		fprintf(stderr, "inc-mpi-tune: %s\n", text);
	MPI_Finalize();
	return 1;
}

static bool at_all(bool here)
{
	int all = here;

	PMPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	return all;
}

static void find_counter(void)
{
	void *component = dlopen("mca_coll_inc.so", RTLD_LAZY | RTLD_NOLOAD);

	*(void **)&counter = dlsym(RTLD_DEFAULT, "inc_mpi_counter");
	if (!counter && component)
		*(void **)&counter = dlsym(component, "inc_mpi_counter");
}

static void make_ways(void)
{
	MPI_Info info;

	PMPI_Comm_dup(MPI_COMM_WORLD, &ways.inc);
	PMPI_Info_create(&info);
	PMPI_Info_set(info, "inc", "off");
	PMPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &ways.mpi);
	PMPI_Info_free(&info);
}

/* ---- Measuring ---------------------------------------------------------------------- */

/* Seconds of one of @n calls at the slowest rank. */
static double run_calls(const struct tune_call *call, bool by_inc, int n)
{
	double seconds;

	PMPI_Barrier(ways.mpi);
	seconds = PMPI_Wtime();
	for (int i = 0; i < n; i++)
		tune_call_run(call, by_inc);
	seconds = (PMPI_Wtime() - seconds) / n;
	PMPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, ways.mpi);
	return seconds;
}

/* The first call of a kind may take longer; false: INC does not do it. */
static bool warm_up(const struct tune_call *call, int *calls)
{
	const char *name = incmpi_fn_name(call->fn);
	uint64_t before = counter(name);
	double inc, mpi, n;

	tune_call_run(call, true);
	tune_call_run(call, false);
	if (counter(name) == before)
		return false;
	inc = run_calls(call, true, 1);
	mpi = run_calls(call, false, 1);
	n = ROUND_SECONDS / (inc + mpi);
	*calls = n < 1 ? 1 : n > MAX_CALLS ? MAX_CALLS : (int)n;
	return true;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median_of(double *values, int n)
{
	qsort(values, (size_t)n, sizeof(*values), compare_doubles);
	return n & 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* In turns, so that what else the machines do meets both. */
static bool measure_call(const struct tune_call *call, struct measure *m)
{
	static double inc[MAX_ROUNDS], mpi[MAX_ROUNDS];
	int calls;

	if (!warm_up(call, &calls))
		return false;
	for (int i = 0; i < options.rounds; i++) {
		if (i & 1)
			mpi[i] = run_calls(call, false, calls);
		inc[i] = run_calls(call, true, calls);
		if (!(i & 1))
			mpi[i] = run_calls(call, false, calls);
	}
	m->bytes = tune_call_bytes(call);
	m->inc = median_of(inc, options.rounds);
	m->mpi = median_of(mpi, options.rounds);
	return true;
}

static void print_progress(const struct tune_call *call, const struct measure *m)
{
	static unsigned int done;
	const char *name = incmpi_fn_name(call->fn);
	const char *class = incmpi_class_name(call->element->class);

	done++;
	if (ways.rank || options.quiet)
		return;
	if (m)
		fprintf(stderr, "%u: %s, type %s, %zu bytes: INC %.1f us, MPI %.1f us\n", done,
			name, class, m->bytes, m->inc * 1e6, m->mpi * 1e6);
	else
		fprintf(stderr, "%u: %s, type %s, %zu bytes: not by INC, INC_MPI_REPORT=1 says why\n",
			done, name, class, tune_call_bytes(call));
}

/* ---- The table -------------------------------------------------------------------------- */

static void put_header(void)
{
	char version[MPI_MAX_LIBRARY_VERSION_STRING];
	int len;

	PMPI_Get_library_version(version, &len);
	version[strcspn(version, ",\r\n\t")] = '\0';
	fprintf(table, "# Tuning table of libinc-mpi(7), measured by inc-mpi-tune: %d ranks, %.80s\n"
		"# function type ranks bytes inc|mpi, and nanoseconds of a call by inc and by mpi\n",
		ways.size, version);
}

static unsigned long long to_ns(double seconds)
{
	double ns = seconds * 1e9;

	return ns < 1 ? 1 : (unsigned long long)ns;
}

/* Half-way between two sizes whose ratio is what matters. */
static size_t half_way(size_t a, size_t b)
{
	return (size_t)sqrt((double)a * (double)b);
}

static void put_measures(const struct tune_call *call, const struct measure *m, int n)
{
	char ranks[16], bytes[48];

	snprintf(ranks, sizeof(ranks), "%d", ways.size);
	for (int i = 0; i < n; i++) {
		size_t from = i ? half_way(m[i - 1].bytes, m[i].bytes) + 1 : 0;

		if (call->fn == INCMPI_BARRIER)
			snprintf(bytes, sizeof(bytes), "any");
		else if (i == n - 1)
			snprintf(bytes, sizeof(bytes), "%zu-", from);
		else
			snprintf(bytes, sizeof(bytes), "%zu-%zu", from,
				 half_way(m[i].bytes, m[i + 1].bytes));
		fprintf(table, "%-20s %-7s %-5s %-15s %s %9llu %9llu\n", incmpi_fn_name(call->fn),
			incmpi_class_name(call->element->class), options.ranks ?: ranks, bytes,
			m[i].inc < m[i].mpi ? "inc" : "mpi", to_ns(m[i].inc),
			to_ns(m[i].mpi));
	}
}

/* All sizes of one function and one type. */
static void tune_function(struct tune_call *call)
{
	struct measure m[MAX_SIZES];
	size_t last = 0;
	int n = 0;

	for (uint64_t bytes = options.from; bytes <= options.to; bytes *= STEP) {
		bool measured;

		tune_call_fill(call, bytes);
		if (n && tune_call_bytes(call) == last)
			continue;
		last = tune_call_bytes(call);
		measured = measure_call(call, &m[n]);
		print_progress(call, measured ? &m[n] : NULL);
		n += measured;
		if (call->fn == INCMPI_BARRIER)
			break;
	}
	if (!ways.rank)
		put_measures(call, m, n);
}

/* A function that reduces nothing has lines for any type only. */
static bool is_wanted(enum incmpi_fn fn, enum incmpi_class class)
{
	if (!(options.fns >> fn & 1) || !tune_fn_is_measured(fn))
		return false;
	if (!incmpi_fn_reduces(fn))
		return class == INCMPI_CLASS_ANY;
	return options.classes >> class & 1;
}

static void tune_all(struct tune_call *call)
{
	for (int fn = 0; fn < INCMPI_NR_FNS; fn++) {
		call->fn = fn;
		for (size_t i = 0; i < sizeof(elements) / sizeof(elements[0]); i++) {
			call->element = &elements[i];
			if (is_wanted(fn, call->element->class))
				tune_function(call);
		}
	}
}

static bool call_new(struct tune_call *call)
{
	/* a share has an element, however small the largest buffer is to be */
	size_t bytes = options.to + (size_t)ways.size * 16, size = (size_t)ways.size;

	call->ways = &ways;
	call->send = calloc(1, bytes);
	call->recv = calloc(1, bytes);
	call->counts = calloc(size, sizeof(int));
	call->displs = calloc(size, sizeof(int));
	return call->send && call->recv && call->counts && call->displs;
}

/* A file is written beside the one that it replaces. */
static bool open_table(char *path, size_t room)
{
	if (ways.rank)
		return true;
	if (!options.path) {
		table = stdout;
	} else {
		snprintf(path, room, "%s.new", options.path);
		table = fopen(path, "we");
	}
	if (!table)
		fprintf(stderr, "inc-mpi-tune: %s: %s\n", path, strerror(errno));
	return table;
}

static bool close_table(const char *path)
{
	bool failed = ferror(table);

	if (fclose(table))
		failed = true;

	if (!failed && options.path)
		failed = rename(path, options.path);
	if (failed)
		fprintf(stderr, "inc-mpi-tune: %s: %s\n", options.path ?: "stdout",
			strerror(errno));
	return !failed;
}

int main(int argc, char **argv)
{
	struct tune_call call = { 0 };
	bool parsed = parse_options(argc, argv);
	char path[4096] = "stdout";

	/* What is measured is not to be chosen by a table. */
	setenv("INC_MPI_TUNE", "off", 1);
	MPI_Init(&argc, &argv);
	PMPI_Comm_rank(MPI_COMM_WORLD, &ways.rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &ways.size);
	if (!parsed) {
		if (!ways.rank)
			usage();
		MPI_Finalize();
		return 2;
	}
	find_counter();
	if (!at_all(counter))
		return give_up("INC is not there: expected libinc-mpi.so preloaded at all ranks, or its component of Open MPI");
	make_ways();
	MPI_Barrier(ways.inc);
	if (!at_all(counter("groups")))
		return give_up("the ranks have no group: expected one, INC_MPI=verbose says why there is none");
	if (!at_all(call_new(&call)))
		return give_up("no memory for its buffers");
	if (!at_all(open_table(path, sizeof(path))))
		return give_up("no table is written");
	if (!ways.rank)
		put_header();
	tune_all(&call);
	if (!at_all(ways.rank || close_table(path)))
		return give_up("no table is written");
	MPI_Finalize();
	return 0;
}
