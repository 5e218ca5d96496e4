// SPDX-License-Identifier: LGPL-2.1-or-later
/* The environment: INC_MPI and its like, and the file that it names, see libinc-mpi(7). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define DEFAULT_TUNE	"/etc/inc/mpi.tune"
#define DEFAULT_PERSISTENT	16
#define ALL_FNS		((1u << INCMPI_NR_FNS) - 1)
#define MAX_BYTES	0x7fffffffULL	/* of one buffer, as MPI counts them */

static void refuse_value(const char *name, const char *value, const char *expected)
{
	fprintf(stderr, "libinc-mpi: %s is \"%s\": expected %s; it is not used\n", name, value,
		expected);
}

static uint64_t read_number(const char *name, uint64_t def, uint64_t max, const char *expected)
{
	const char *text = getenv(name);
	unsigned long long n;
	char *end;

	if (!text || !*text)
		return def;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno || n > max) {
		refuse_value(name, text, expected);
		return def;
	}
	return n;
}

static bool read_bool(const char *name)
{
	return read_number(name, 0, 1, "0 or 1");
}

/* What launchers tell before MPI begins; where none does, each process is taken for rank 0. */
static bool is_rank_0(void)
{
	static const char *const names[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
					     "SLURM_PROCID" };
	const char *rank = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !rank; i++)
		rank = getenv(names[i]);
	return !rank || !strcmp(rank, "0");
}

/* Nothing is done that may not have been asked for. */
static void refuse_fn(const char *name, size_t len)
{
	if (!is_rank_0())
		return;
	fprintf(stderr, "libinc-mpi: INC_MPI_COLLS: \"%.*s\": no such collective; %s:", (int)len,
		name, "the MPI does all of them, expected all, or names with commas between them of");
	for (int fn = 0; fn < INCMPI_NR_FNS; fn++)
		fprintf(stderr, " %s", incmpi_fn_name((enum incmpi_fn)fn));
	fputs("\n", stderr);
}

/* Names with commas between them. *@named: these, 0 if it is all that is asked for, or nothing. */
static uint32_t read_fns(uint32_t *named)
{
	const char *text = getenv("INC_MPI_COLLS"), *at;
	uint32_t fns = 0;
	size_t len;
	int fn;

	*named = 0;
	if (!text || !*text || !strcmp(text, "all"))
		return ALL_FNS;
	for (at = text; ; at += len + 1) {
		len = strcspn(at, ",");
		fn = incmpi_fn_parse(at, len);
		if (fn < 0) {
			refuse_fn(at, len);
			return 0;
		}
		fns |= 1u << fn;
		if (!at[len])
			return *named = fns;
	}
}

static enum incmpi_mode read_mode(void)
{
	const char *text = getenv("INC_MPI");

	if (!text || !*text || !strcmp(text, "on"))
		return INCMPI_ON;
	if (!strcmp(text, "off"))
		return INCMPI_OFF;
	if (!strcmp(text, "quiet"))
		return INCMPI_QUIET;
	if (!strcmp(text, "verbose"))
		return INCMPI_VERBOSE;
	refuse_value("INC_MPI", text, "on, off, quiet or verbose");
	return INCMPI_ON;
}

void incmpi_settings_read(struct incmpi_settings *set)
{
	memset(set, 0, sizeof(*set));
	set->mode = read_mode();
	set->asked = getenv("INC_MPI") && *getenv("INC_MPI");
	set->report = read_bool("INC_MPI_REPORT") || set->mode == INCMPI_VERBOSE;
	set->one_host = read_bool("INC_MPI_ONE_HOST");
	set->early = read_bool("INC_MPI_EARLY");
	set->fns = read_fns(&set->named);
	set->timeout_ms = (int32_t)read_number("INC_MPI_TIMEOUT", 5000, 600000,
					       "0 to 600000 milliseconds");
	set->persistent = (uint32_t)read_number("INC_MPI_PERSISTENT", DEFAULT_PERSISTENT,
						INCMPI_MAX_PERSISTENT, "0 to 64 groups");
	set->min = read_number("INC_MPI_MIN", 0, ~0ULL, "a number of bytes");
	set->max = read_number("INC_MPI_MAX", MAX_BYTES, MAX_BYTES, "0 to 2147483647 bytes");
}

static struct incmpi_tune *the_tune;

static void read_tune(void)
{
	const char *path = getenv("INC_MPI_TUNE");
	bool named = path && *path;
	char why[512];
	int err;

	if (named && !strcmp(path, "off"))
		return;
	the_tune = incmpi_tune_read(named ? path : DEFAULT_TUNE, &err, why, sizeof(why));
	if (!the_tune && (named || err != -ENOENT))
		fprintf(stderr, "libinc-mpi: %s; there is no tuning table\n", why);
}

const struct incmpi_tune *incmpi_own_tune(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_tune);
	return the_tune;
}
