// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Who has started this process, and as which rank of how many: read from the environment that
 * launchers give to the processes of a job. The table says what each of them sets; the first one
 * that has set a rank or a size is believed, and must then have set all that is needed.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define MAX_JOB_VARS	4
#define HASH_BASE	0xcbf29ce484222325ull

struct launcher {
	const char *name;
	const char *rank, *size;
	const char *local_rank, *local_size;	/* NULL: it has none */
	/* What is the same in one job and not in two; the first @needed of them must be set. */
	const char *job[MAX_JOB_VARS];
	unsigned int needed;
	int base;	/* of numbers, for strtoull() */
};

/* In the order in which they are looked for; inc.h describes it. */
static const struct launcher launchers[] = {
	{
		.name = "INC", .rank = "INC_RANK", .size = "INC_SIZE",
		.local_rank = "INC_LOCAL_RANK", .local_size = "INC_LOCAL_SIZE",
	}, {
		.name = "torchrun", .rank = "RANK", .size = "WORLD_SIZE",
		.local_rank = "LOCAL_RANK", .local_size = "LOCAL_WORLD_SIZE",
		.job = { "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID" }, .needed = 2,
		.base = 10,
	}, {
		.name = "Open MPI", .rank = "OMPI_COMM_WORLD_RANK", .size = "OMPI_COMM_WORLD_SIZE",
		.local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
		.local_size = "OMPI_COMM_WORLD_LOCAL_SIZE",
		/* The namespace of Open MPI 4 has 16 bits that differ; the key is random. */
		.job = { "PMIX_NAMESPACE", "OMPI_MCA_orte_precondition_transports" }, .needed = 1,
		.base = 10,
	}, {
		.name = "PMI", .rank = "PMI_RANK", .size = "PMI_SIZE",
		.local_rank = "MPI_LOCALRANKID", .local_size = "MPI_LOCALNRANKS",
		.job = { "PMI_JOBID" }, .needed = 1, .base = 10,
	}, {
		.name = "Slurm", .rank = "SLURM_PROCID", .size = "SLURM_NTASKS",
		.local_rank = "SLURM_LOCALID",
		.job = { "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_CLUSTER_NAME" }, .needed = 2,
		.base = 10,
	}, {
		/* Last: where only PMIx has set something, nobody has told the size. */
		.name = "PMIx", .rank = "PMIX_RANK", .size = "OMPI_COMM_WORLD_SIZE",
		.base = 10,
	},
};

/* @range completes "expected a number in". */
static int bad_value(const char *name, const char *range)
{
	return inc_fail(NULL, -EINVAL, "%s \"%.40s\": expected a number in %s", name, getenv(name),
			range);
}

/* -EINVAL without a text: it is no number, or larger than @max. */
static int read_number(const char *name, int base, unsigned long long max, uint32_t *out)
{
	const char *text = getenv(name);
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, base);
	if (!isdigit((unsigned char)text[0]) || *end || errno || value > max)
		return -EINVAL;
	*out = value;
	return 0;
}

static int read_size(const struct launcher *by, struct inc_launch *launch)
{
	char range[16];

	if (!read_number(by->size, by->base, INC_MAX_RANKS, &launch->size) && launch->size)
		return 0;
	snprintf(range, sizeof(range), "1..%u", INC_MAX_RANKS);
	return bad_value(by->size, range);
}

/* A rank among as many as @size_name says; @size is not 0. */
static int read_rank(const struct launcher *by, const char *name, const char *size_name,
		     uint32_t size, uint32_t *rank)
{
	char range[80];

	if (!read_number(name, by->base, size - 1, rank))
		return 0;
	snprintf(range, sizeof(range), "0..%u, %s is %u", size - 1, size_name, size);
	return bad_value(name, range);
}

/* What is said of this host is optional, but not wrong. */
static int read_local(const struct launcher *by, struct inc_launch *launch)
{
	bool sized = by->local_size && getenv(by->local_size);
	char range[80];

	launch->local_rank = UINT32_MAX;
	if (sized && (read_number(by->local_size, by->base, launch->size, &launch->local_size) ||
		      !launch->local_size)) {
		snprintf(range, sizeof(range), "1..%u, %s is %u", launch->size, by->size,
			 launch->size);
		return bad_value(by->local_size, range);
	}
	if (!by->local_rank || !getenv(by->local_rank))
		return 0;
	return read_rank(by, by->local_rank, sized ? by->local_size : by->size,
			 sized ? launch->local_size : launch->size, &launch->local_rank);
}

/* FNV-1a with 64 bits, @text's final 0 included. */
static uint64_t hash_text(uint64_t hash, const char *text)
{
	do {
		hash ^= (uint8_t)*text;
		hash *= 0x100000001b3ull;
	} while (*text++);
	return hash;
}

/* A number, or the hash of another text. */
uint64_t inc_parse_job(const char *text)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 0);
	return isdigit((unsigned char)text[0]) && !*end && !errno ? value :
								    hash_text(HASH_BASE, text);
}

/* Does @value, of the variable @name, say that all ranks are on this machine, whichever that is? */
static bool is_own_address(const char *name, const char *value)
{
	return !strcmp(name, "MASTER_ADDR") &&
	       (!strncmp(value, "127.", 4) || !strcmp(value, "::1") ||
		!strcmp(value, "localhost"));
}

/* The machine's name, which containers have of their own, and what is another one in every boot. */
static uint64_t hash_machine(uint64_t hash)
{
	char name[256] = "", boot[64] = "";
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (file) {
		if (!fgets(boot, sizeof(boot), file))
			boot[0] = 0;
		fclose(file);
	}
	if (gethostname(name, sizeof(name) - 1))
		name[0] = 0;
	return hash_text(hash_text(hash, name), boot);
}

static int derive_job(const struct launcher *by, struct inc_launch *launch)
{
	uint64_t hash = hash_text(HASH_BASE, by->name);
	const char *value;

	for (unsigned int i = 0; i < MAX_JOB_VARS && by->job[i]; i++) {
		value = getenv(by->job[i]);
		if ((!value || !*value) && i >= by->needed)
			continue;
		if ((!value || !*value) && getenv("INC_GROUP"))
			return 0;
		if (!value || !*value)
			return inc_fail(NULL, -EINVAL,
					"%s is set, %s is not: expected it, as it tells jobs apart, or INC_JOB, a text that no other job has",
					by->rank, by->job[i]);
		hash = hash_text(hash, by->job[i]);
		hash = hash_text(hash, value);
		if (is_own_address(by->job[i], value))
			hash = hash_machine(hash);
	}
	launch->job = hash;
	launch->derived = 1;
	return 0;
}

static int read_group(const struct launcher *by, struct inc_launch *launch)
{
	const char *job = getenv("INC_JOB");

	if (getenv("INC_GROUP") && read_number("INC_GROUP", 0, UINT32_MAX, &launch->group))
		return bad_value("INC_GROUP", "0..4294967295");
	if (job && *job)
		launch->job = inc_parse_job(job);
	else if (by->job[0])
		return derive_job(by, launch);
	return 0;
}

static int read_launch(const struct launcher *by, struct inc_launch *launch)
{
	bool rank = getenv(by->rank), size = getenv(by->size);
	int ret;

	if (!rank || !size)
		return inc_fail(NULL, -EINVAL, "%s is set, %s is not: expected both, of %s",
				rank ? by->rank : by->size, rank ? by->size : by->rank, by->name);
	launch->launcher = by->name;
	ret = read_size(by, launch);
	if (!ret)
		ret = read_rank(by, by->rank, by->size, launch->size, &launch->rank);
	if (!ret)
		ret = read_local(by, launch);
	return ret ? ret : read_group(by, launch);
}

int inc_launcher(struct inc_launch *launch)
{
	const struct launcher *by;
	char names[160] = "";
	int ret;

	if (!launch)
		return inc_null(NULL, "place for the answer");
	memset(launch, 0, sizeof(*launch));
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
		by = &launchers[i];
		inc_append(names, sizeof(names), i ? ", %s" : "%s", by->rank);
		if (!getenv(by->rank) && !getenv(by->size))
			continue;
		ret = read_launch(by, launch);
		if (ret)
			memset(launch, 0, sizeof(*launch));
		return ret;
	}
	return inc_fail(NULL, -ENOENT,
			"no rank and size are given, and no launcher has set them: %s are not set",
			names);
}
