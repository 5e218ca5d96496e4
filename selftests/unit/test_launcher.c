// SPDX-License-Identifier: GPL-2.0-only
/*
 * inc_launcher(): environments as launchers make them, and what is wrong with others. Its file is
 * compiled into this program, with the texts; the groups that are expected were computed apart from
 * it, from what inc.h says of the hash.
 */
#include "../../userspace/libinc/text.c"
#include "../../userspace/libinc/format.c"
#include <unistd.h>

static const char *machine = "h1";

/* Two machines, of which there is one here. */
static int test_gethostname(char *name, size_t len)
{
	if (strlen(machine) >= len)
		return -1;
	memcpy(name, machine, strlen(machine) + 1);
	return 0;
}

#define gethostname	test_gethostname
#include "../../userspace/libinc/launcher.c"
#include "../../userspace/libinc/shape.c"
#include "ktap.h"

#define MAX_ENV		8
#define NOT_TOLD	UINT32_MAX

/* "NAME=VALUE" each. */
static void set_env(const char *const *env)
{
	char name[64];

	clearenv();
	for (int i = 0; i < MAX_ENV && env[i]; i++) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(env[i], "="), env[i]);
		setenv(name, strchr(env[i], '=') + 1, 1);
	}
}

#define WANT(by, nr, of, own, ranks, own_local, locals, hashed) {			\
	.launcher = by, .group = nr, .job = of, .rank = own, .size = ranks,	\
	.local_rank = own_local, .local_size = locals, .derived = hashed,	\
}

#define TORCH	"RANK=1", "WORLD_SIZE=4", "MASTER_ADDR=10.0.0.1", "MASTER_PORT=29500"
#define OMPI	"OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_SIZE=3"
#define PMI	"PMI_RANK=0", "PMI_SIZE=2"
#define SLURM	"SLURM_PROCID=5", "SLURM_NTASKS=6", "SLURM_JOB_ID=77"

static const struct {
	const char *env[MAX_ENV];
	struct inc_launch want;
} good[] = {
	{ { "INC_RANK=1", "INC_SIZE=2" }, WANT("INC", 0, 0, 1, 2, NOT_TOLD, 0, 0) },
	{ { "INC_RANK=0x3", "INC_SIZE=4096", "INC_GROUP=0xffffffff" },
	  WANT("INC", UINT32_MAX, 0, 3, 4096, NOT_TOLD, 0, 0) },
	{ { "INC_RANK=3", "INC_SIZE=4", "INC_LOCAL_RANK=1", "INC_LOCAL_SIZE=2" },
	  WANT("INC", 0, 0, 3, 4, 1, 2, 0) },
	{ { TORCH }, WANT("torchrun", 0, 0x19a6bf7357ce40a6ull, 1, 4, NOT_TOLD, 0, 1) },
	{ { TORCH, "TORCHELASTIC_RUN_ID=none", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2" },
	  WANT("torchrun", 0, 0x64a8c2257626ff21ull, 1, 4, 1, 2, 1) },
	{ { TORCH, "INC_GROUP=9" },
	  WANT("torchrun", 9, 0x19a6bf7357ce40a6ull, 1, 4, NOT_TOLD, 0, 1) },
	{ { TORCH, "INC_JOB=0x12345678901" },
	  WANT("torchrun", 0, 0x12345678901ull, 1, 4, NOT_TOLD, 0, 0) },
	{ { "RANK=1", "WORLD_SIZE=4", "INC_JOB=night run" },
	  WANT("torchrun", 0, 0xd64a359f8f3bf5dcull, 1, 4, NOT_TOLD, 0, 0) },
	{ { "INC_RANK=1", "INC_SIZE=2", "INC_JOB=7", "INC_GROUP=5" },
	  WANT("INC", 5, 7, 1, 2, NOT_TOLD, 0, 0) },
	{ { "INC_RANK=1", "INC_SIZE=2", "INC_JOB=18446744073709551616" },
	  WANT("INC", 0, 0x4f990131d4a32c37ull, 1, 2, NOT_TOLD, 0, 0) },
	/* With a group, nothing that names the job is needed. */
	{ { "RANK=1", "WORLD_SIZE=4", "INC_GROUP=9" },
	  WANT("torchrun", 9, 0, 1, 4, NOT_TOLD, 0, 0) },
	/* What is no rank and no size does not choose a launcher. */
	{ { "MASTER_ADDR=10.0.0.1", "LOCAL_RANK=0", PMI, "PMI_JOBID=8" },
	  WANT("PMI", 0, 0x42abf96e3a30d116ull, 0, 2, NOT_TOLD, 0, 1) },
	{ { OMPI, "PMIX_RANK=2", "PMIX_NAMESPACE=1764032513", "OMPI_COMM_WORLD_LOCAL_RANK=0",
	    "OMPI_COMM_WORLD_LOCAL_SIZE=1" },
	  WANT("Open MPI", 0, 0x9818375d620fc1e3ull, 2, 3, 0, 1, 1) },
	{ { OMPI, "PMIX_NAMESPACE=1764032513", "OMPI_MCA_orte_precondition_transports=22-d7" },
	  WANT("Open MPI", 0, 0xa380b7dce65750f9ull, 2, 3, NOT_TOLD, 0, 1) },
	{ { PMI, "MPI_LOCALRANKID=0", "MPI_LOCALNRANKS=2", "INC_GROUP=010" },
	  WANT("PMI", 8, 0, 0, 2, 0, 2, 0) },
	{ { SLURM, "SLURM_STEP_ID=0", "SLURM_LOCALID=3" },
	  WANT("Slurm", 0, 0xe52b0d35323589a5ull, 5, 6, 3, 0, 1) },
	{ { SLURM, "SLURM_STEP_ID=1", "SLURM_CLUSTER_NAME=x" },
	  WANT("Slurm", 0, 0xf5e0adfcbb62c7fcull, 5, 6, NOT_TOLD, 0, 1) },
	/* srun --mpi=pmix */
	{ { SLURM, "SLURM_STEP_ID=0", "PMIX_RANK=5", "PMIX_NAMESPACE=slurm.pmix.77.0" },
	  WANT("Slurm", 0, 0xe52b0d35323589a5ull, 5, 6, NOT_TOLD, 0, 1) },
	/* The order: each of these has something of all that come after it. */
	{ { "INC_RANK=0", "INC_SIZE=1", TORCH, "PMI_RANK=7", "SLURM_PROCID=7" },
	  WANT("INC", 0, 0, 0, 1, NOT_TOLD, 0, 0) },
	{ { TORCH, "OMPI_COMM_WORLD_RANK=7", "PMI_RANK=7", "SLURM_PROCID=7" },
	  WANT("torchrun", 0, 0x19a6bf7357ce40a6ull, 1, 4, NOT_TOLD, 0, 1) },
	{ { OMPI, "PMIX_NAMESPACE=1764032513", "PMI_RANK=7", "SLURM_PROCID=7" },
	  WANT("Open MPI", 0, 0x9818375d620fc1e3ull, 2, 3, NOT_TOLD, 0, 1) },
	{ { PMI, "PMI_JOBID=8", "SLURM_PROCID=7" },
	  WANT("PMI", 0, 0x42abf96e3a30d116ull, 0, 2, NOT_TOLD, 0, 1) },
};

static void test_good(void)
{
	struct inc_launch got;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		const struct inc_launch *want = &good[i].want;

		set_env(good[i].env);
		memset(&got, 0xa5, sizeof(got));
		if (!expect(!inc_launcher(&got), "%s: %s", good[i].env[0], inc_errmsg(NULL)))
			continue;
		expect(!strcmp(got.launcher, want->launcher), "%s ...: launcher %s, expected %s",
		       good[i].env[0], got.launcher, want->launcher);
		expect(got.rank == want->rank && got.size == want->size &&
		       got.local_rank == want->local_rank && got.local_size == want->local_size,
		       "%s ...: rank %u of %u, local %u of %u", good[i].env[0], got.rank, got.size,
		       got.local_rank, got.local_size);
		expect(got.group == want->group && got.job == want->job &&
		       got.derived == want->derived,
		       "%s ... (%zu): group %u of job %llx derived %u, expected %u of %llx %u",
		       good[i].env[0], i, got.group, (unsigned long long)got.job, got.derived,
		       want->group, (unsigned long long)want->job, want->derived);
		for (size_t k = 0; k < ARRAY_SIZE(got.resv); k++)
			expect(!got.resv[k], "resv[%zu]", k);
	}
}

static const struct {
	const char *env[MAX_ENV];
	const char *text;
} bad[] = {
	{ { "INC_RANK=0" }, "INC_RANK is set, INC_SIZE is not" },
	{ { "INC_SIZE=1" }, "INC_SIZE is set, INC_RANK is not" },
	{ { "RANK=1" }, "RANK is set, WORLD_SIZE is not" },
	{ { "WORLD_SIZE=1", PMI, "PMI_JOBID=8" }, "WORLD_SIZE is set, RANK is not" },
	{ { "OMPI_COMM_WORLD_RANK=1" },
	  "OMPI_COMM_WORLD_RANK is set, OMPI_COMM_WORLD_SIZE is not" },
	{ { "PMI_SIZE=1" }, "PMI_SIZE is set, PMI_RANK is not" },
	{ { "SLURM_NTASKS=1" }, "SLURM_NTASKS is set, SLURM_PROCID is not" },
	{ { "PMIX_RANK=1", "PMIX_NAMESPACE=8" },
	  "PMIX_RANK is set, OMPI_COMM_WORLD_SIZE is not" },
	{ { "RANK=1", "WORLD_SIZE=4" }, "RANK is set, MASTER_ADDR is not" },
	{ { "RANK=1", "WORLD_SIZE=4", "MASTER_ADDR=a" }, "RANK is set, MASTER_PORT is not" },
	{ { "RANK=1", "WORLD_SIZE=4", "MASTER_ADDR=a", "MASTER_PORT=" },
	  "RANK is set, MASTER_PORT is not" },
	{ { OMPI }, "OMPI_COMM_WORLD_RANK is set, PMIX_NAMESPACE is not" },
	{ { PMI }, "PMI_RANK is set, PMI_JOBID is not" },
	{ { SLURM }, "SLURM_PROCID is set, SLURM_STEP_ID is not" },
	{ { "INC_RANK=2", "INC_SIZE=2" },
	  "INC_RANK \"2\": expected a number in 0..1, INC_SIZE is 2" },
	{ { "INC_RANK=-1", "INC_SIZE=2" }, "INC_RANK \"-1\": expected a number in 0..1" },
	{ { "INC_RANK=", "INC_SIZE=2" }, "INC_RANK \"\": expected a number in 0..1" },
	{ { "INC_RANK=0", "INC_SIZE=0" }, "INC_SIZE \"0\": expected a number in 1..4096" },
	{ { "INC_RANK=0", "INC_SIZE=4097" }, "INC_SIZE \"4097\": expected a number in 1..4096" },
	{ { "INC_RANK=0", "INC_SIZE=99999999999999999999999" },
	  "INC_SIZE \"99999999999999999999999\": expected" },
	{ { "RANK=0x1", "WORLD_SIZE=4" },
	  "RANK \"0x1\": expected a number in 0..3, WORLD_SIZE is 4" },
	{ { "RANK= 1", "WORLD_SIZE=4" }, "RANK \" 1\": expected" },
	{ { "RANK=+1", "WORLD_SIZE=4" }, "RANK \"+1\": expected" },
	{ { "RANK=1x", "WORLD_SIZE=4" }, "RANK \"1x\": expected" },
	{ { "RANK=1", "WORLD_SIZE=-4" }, "WORLD_SIZE \"-4\": expected a number in 1..4096" },
	{ { TORCH, "LOCAL_RANK=4" },
	  "LOCAL_RANK \"4\": expected a number in 0..3, WORLD_SIZE is 4" },
	{ { TORCH, "LOCAL_WORLD_SIZE=5" },
	  "LOCAL_WORLD_SIZE \"5\": expected a number in 1..4, WORLD_SIZE is 4" },
	{ { TORCH, "LOCAL_WORLD_SIZE=0" }, "LOCAL_WORLD_SIZE \"0\": expected a number in 1..4" },
	{ { TORCH, "LOCAL_WORLD_SIZE=2", "LOCAL_RANK=2" },
	  "LOCAL_RANK \"2\": expected a number in 0..1, LOCAL_WORLD_SIZE is 2" },
	{ { TORCH, "INC_GROUP=4294967296" },
	  "INC_GROUP \"4294967296\": expected a number in 0..4294967295" },
	{ { TORCH, "INC_GROUP=" }, "INC_GROUP \"\": expected a number in 0..4294967295" },
};

static void test_bad(void)
{
	const struct inc_launch none = { .launcher = NULL };
	struct inc_launch got;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		set_env(bad[i].env);
		memset(&got, 0xa5, sizeof(got));
		expect(inc_launcher(&got) == -EINVAL, "%s ... (%zu) was taken", bad[i].env[0], i);
		expect(!strncmp(inc_errmsg(NULL), bad[i].text, strlen(bad[i].text)),
		       "\"%s\", expected \"%s\"", inc_errmsg(NULL), bad[i].text);
		expect(!memcmp(&got, &none, sizeof(got)), "%s ...: something was left in it",
		       bad[i].env[0]);
	}
}

static void test_none(void)
{
	static const char *const env[MAX_ENV] = { "INC_GROUP=5", "MASTER_ADDR=a", "PMIX_NAMESPACE=b",
						  "SLURM_JOB_ID=1", "LOCAL_RANK=0" };
	struct inc_launch got;

	set_env(env);
	expect(inc_launcher(&got) == -ENOENT, "something was found");
	for (size_t i = 0; i < ARRAY_SIZE(launchers); i++)
		expect(!!strstr(inc_errmsg(NULL), launchers[i].rank), "%s is not in \"%s\"",
		       launchers[i].rank, inc_errmsg(NULL));
}

/* Many jobs, each of which differs from others in one number. */
static void test_many_jobs(void)
{
	static uint64_t jobs[4096];
	struct inc_launch got;
	char text[24];
	size_t same = 0;

	clearenv();
	setenv("SLURM_PROCID", "0", 1);
	setenv("SLURM_NTASKS", "1", 1);
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		snprintf(text, sizeof(text), "%zu", i / 2);
		setenv("SLURM_JOB_ID", text, 1);
		setenv("SLURM_STEP_ID", i % 2 ? "1" : "0", 1);
		expect(!inc_launcher(&got), "%s", inc_errmsg(NULL));
		jobs[i] = got.job;
		for (size_t k = 0; k < i; k++)
			same += jobs[k] == jobs[i];
	}
	expect(!same, "%zu of 2048 jobs with 2 steps each are another one", same);
}

static uint64_t job_at(const char *name, const char *master)
{
	struct inc_launch got;

	clearenv();
	setenv("RANK", "0", 1);
	setenv("WORLD_SIZE", "2", 1);
	setenv("MASTER_PORT", "29500", 1);
	setenv("MASTER_ADDR", master, 1);
	machine = name;
	expect(!inc_launcher(&got), "%s", inc_errmsg(NULL));
	return got.job;
}

/* Every machine has jobs whose ranks meet at its own address: they are not one. */
static void test_own_address(void)
{
	static const char *const own[] = { "127.0.0.1", "127.9.9.9", "::1", "localhost" };

	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		expect(job_at("h1", own[i]) == job_at("h1", own[i]), "%s: two ranks", own[i]);
		expect(job_at("h1", own[i]) != job_at("h2", own[i]), "%s: two machines", own[i]);
	}
	expect(job_at("h1", "10.0.0.1") == job_at("h2", "10.0.0.1"), "ranks on two machines");
	expect(job_at("h1", "localhost.example") == job_at("h2", "localhost.example"), "a name");
}

static const struct ktap_test tests[] = {
	KTAP(test_good), KTAP(test_bad), KTAP(test_none), KTAP(test_many_jobs),
	KTAP(test_own_address),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
