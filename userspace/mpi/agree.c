// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A communicator's group. Its ranks agree, by collectives of the MPI below, on whether they may
 * have one, on its number, and on whether all of them have joined it. Rank 0 chooses the number:
 * a hash of a random number of its process and of how many it has chosen, so that neither two
 * groups of one job nor two jobs meet but by accident, at 2^-32 for two groups. Ranks that meet
 * another group are refused by the node, and try once more with another number.
 */
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/capability.h>

#include "internal.h"

#define PROC_USER_INIT_INO	0xEFFFFFFDU	/* the kernel's include/linux/proc_ns.h */

#define TRIES		3
#define LEAST_PAGES	16	/* of memory that a rank may pin: some blocks of its operations */
#define SPARE_FDS	64	/* that groups leave to the program */
#define SLICE_MS	2	/* between two looks at what else MPI has to do */

#ifndef INC_TOOL_VERSION
#define INC_TOOL_VERSION	"unknown"
#endif

/* Whether a rank may have a group; the smallest of all ranks' decides. */
enum able { NOT_ABLE, NO_MODULE, ABLE };

/* What ranks tell one another when they ask whether they may have a group. */
enum asked {
	ASKED_ABLE,
	ASKED_MACHINE, ASKED_MACHINE_MAX,	/* negative: the largest */
	ASKED_HOST, ASKED_HOST_MAX,
	ASKED_ONE_HOST,
	ASKED_REQUESTS,
	ASKED_REPORT,
	ASKED_ID, ASKED_ID_MAX,
	ASKED_IDLE,		/* negative: one has not used it for a while */
	NR_ASKED,
};

/* How far a rank has come; the smallest of all ranks' decides. */
enum joined { JOIN_FAILED, JOIN_MET_ANOTHER, JOINED };

/* What rank 0 tells the others: ranks of one build and machine type. */
struct proposal {
	struct incmpi_settings set;
	uint64_t job;	/* random: no other job of any kind has groups of it */
	uint64_t tune_lines;	/* that follow; 0: there is no table */
	uint32_t group;
};

/* A parent that this process cannot use is not waited for again. */
static atomic_bool no_parent;

void incmpi_cannot_join(void)
{
	atomic_store(&no_parent, true);
}

static uint64_t mix_bits(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static uint64_t random_number(void)
{
	struct timespec now;
	uint64_t n;

	if (getrandom(&n, sizeof(n), 0) == sizeof(n))
		return n;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return mix_bits(mix_bits(now.tv_nsec) ^ now.tv_sec ^ (uint64_t)getpid() << 32);
}

static uint64_t new_number(void)
{
	static _Atomic uint64_t seed, chosen;
	uint64_t none = 0;

	if (!atomic_load(&seed))
		atomic_compare_exchange_strong(&seed, &none, random_number() | 1);
	return mix_bits(atomic_load(&seed) ^ mix_bits(atomic_fetch_add(&chosen, 1)));
}

static uint64_t mix_text(uint64_t id, const char *text)
{
	for (; *text; text++)
		id = mix_bits(id ^ (uint8_t)*text);
	return id;
}

int64_t incmpi_build(void)
{
	static const char version[] = "libinc-mpi " INC_TOOL_VERSION;
	const uint64_t lengths = NR_ASKED | INCMPI_NR_COUNTS << 8 | INCMPI_MAX_PERSISTENT << 24;

	return (int64_t)(mix_text(lengths, version) >> 1 | 1);
}

/* Equal at ranks whose bytes mean the same. */
static int64_t machine_id(void)
{
	const uint16_t order = 0x0102;
	uint8_t first;

	memcpy(&first, &order, 1);
	return (int64_t)(first | sizeof(long) << 8 | sizeof(long double) << 16 |
			 sizeof(wchar_t) << 24 | (uint64_t)LDBL_MANT_DIG << 32 |
			 (uint64_t)sizeof(struct proposal) << 40);
}

/* Equal at ranks of one boot of one kernel in one network namespace. */
static int64_t host_id(void)
{
	char boot[64] = "";
	struct stat ns;
	uint64_t id;
	int fd;

	fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, boot, sizeof(boot) - 1) < 32 || stat("/proc/self/ns/net", &ns))
		id = random_number();
	else
		id = mix_bits(ns.st_ino);
	if (fd >= 0)
		close(fd);
	return (int64_t)(mix_text(id, boot) >> 1);
}

static bool is_verbose(const struct incmpi_settings *set)
{
	return set->mode == INCMPI_VERBOSE;
}

/* This process's reason for the last group that it could not have. */
static _Thread_local char own_why[512];
static atomic_flag told = ATOMIC_FLAG_INIT;

/*
 * Of a job that INC does nothing for the user is told once, as it may be what he has started it
 * for; not of hosts without the module, unless he has asked for INC.
 */
static void tell_once(const struct incmpi_comm *c, const struct incmpi_settings *own)
{
	if (!incmpi_is_first() || own->mode == INCMPI_QUIET || atomic_flag_test_and_set(&told))
		return;
	fprintf(stderr, "libinc-mpi: no group for a communicator of %d ranks, whose collectives are the MPI's: %s\n",
		c->size, *own_why ? own_why : "other ranks could not join one");
}

/* ---- Limits of this process -------------------------------------------------- */

/* As launchers say it. */
static unsigned long nr_ranks_here(void)
{
	const char *text = getenv("OMPI_COMM_WORLD_LOCAL_SIZE") ?: getenv("MPI_LOCALNRANKS");
	unsigned long n = text ? strtoul(text, NULL, 10) : 0;

	return n ?: 1;
}

/* Has it CAP_IPC_LOCK as the kernel asks for it, outside of all user namespaces but the first? */
static bool may_pin_all(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = { };
	struct stat ns;

	return !syscall(SYS_capget, &head, caps) &&
	       caps[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK) &&
	       !stat("/proc/self/ns/user", &ns) && ns.st_ino == PROC_USER_INIT_INO;
}

/*
 * All of a user's ranks of a host pin memory within one limit. If there is too little for each of
 * them, some wait in an operation for one that cannot begin it.
 */
static bool can_pin(char *why, size_t len)
{
	struct rlimit limit;
	unsigned long ranks = nr_ranks_here();

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	    limit.rlim_cur / ranks >= LEAST_PAGES * (rlim_t)sysconf(_SC_PAGESIZE) || may_pin_all())
		return true;
	snprintf(why, len,
		 "RLIMIT_MEMLOCK is %llu bytes, for %lu ranks on this host: expected %ld for each",
		 (unsigned long long)limit.rlim_cur, ranks, LEAST_PAGES * sysconf(_SC_PAGESIZE));
	return false;
}

/* A group is a descriptor, and a program with many communicators still opens its files. */
static bool can_open(char *why, size_t len)
{
	int fd = open("/", O_PATH | O_CLOEXEC);
	struct rlimit limit;
	rlim_t spare;

	if (fd >= 0)
		close(fd);
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return true;
	spare = limit.rlim_cur / 4 < SPARE_FDS ? limit.rlim_cur / 4 : SPARE_FDS;
	if (fd >= 0 && (rlim_t)fd < limit.rlim_cur - spare)
		return true;
	snprintf(why, len, "the last %llu of %llu descriptors (RLIMIT_NOFILE) are for the program",
		 (unsigned long long)spare, (unsigned long long)limit.rlim_cur);
	return false;
}

/* ---- Agreement --------------------------------------------------------------- */

static enum able own_able(void)
{
	*own_why = 0;
	if (inc_family() < 0) {
		snprintf(own_why, sizeof(own_why), "there is no module here");
		return NO_MODULE;
	}
	if (atomic_load(&no_parent)) {
		snprintf(own_why, sizeof(own_why), "the parent could not be used before");
		return NOT_ABLE;
	}
	return can_pin(own_why, sizeof(own_why)) && can_open(own_why, sizeof(own_why)) ? ABLE :
										   NOT_ABLE;
}

/*
 * May there be a group? Sets c->why if not. True: all ranks have taken the same one of those that
 * have been kept: it needs not be joined.
 */
static bool ask_all(struct incmpi_comm *c, const struct incmpi_settings *own, bool requests)
{
	int64_t machine = machine_id(), host = host_id();
	int64_t all[NR_ASKED] = {
		[ASKED_ABLE] = own_able(),
		[ASKED_MACHINE] = machine, [ASKED_MACHINE_MAX] = -machine,
		[ASKED_HOST] = host, [ASKED_HOST_MAX] = -host,
		[ASKED_ONE_HOST] = own->one_host,
		[ASKED_REQUESTS] = requests,
		[ASKED_REPORT] = -(int64_t)own->report,
		[ASKED_ID] = c->id, [ASKED_ID_MAX] = -c->id,
		[ASKED_IDLE] = -(int64_t)c->idle,
	};

	if (incmpi_skin()->smallest(c->comm, all, NR_ASKED))
		c->why = INCMPI_WHY_NO_GROUP;
	else if (all[ASKED_MACHINE] != -all[ASKED_MACHINE_MAX])
		c->why = INCMPI_WHY_MIXED;
	else if (all[ASKED_HOST] == -all[ASKED_HOST_MAX] && !all[ASKED_ONE_HOST])
		c->why = INCMPI_WHY_LOCAL;
	else if (all[ASKED_ABLE] != ABLE)
		c->why = INCMPI_WHY_NO_GROUP;
	if (c->why == INCMPI_WHY_NO_GROUP && *own_why && is_verbose(own))
		fprintf(stderr, "libinc-mpi: %s\n", own_why);
	if (c->why == INCMPI_WHY_NO_GROUP && (all[ASKED_ABLE] != NO_MODULE || own->asked))
		tell_once(c, own);
	c->requests = all[ASKED_REQUESTS];
	c->reports = all[ASKED_REPORT];
	c->idle = all[ASKED_IDLE];
	return !c->why && all[ASKED_ID] && all[ASKED_ID] == -all[ASKED_ID_MAX];
}

static enum joined join_failed(struct incmpi_comm *c, const struct incmpi_settings *own, int err)
{
	struct inc_info info = { .state = INC_STATE_CLOSED };

	snprintf(own_why, sizeof(own_why), "%s", inc_errmsg(c->group));
	if (is_verbose(own))
		fprintf(stderr, "libinc-mpi: %s\n", own_why);
	if (c->group)
		inc_info(c->group, &info);
	switch (err) {
	case -EADDRINUSE:
	case -EINVAL:
	case -EBUSY:
		return JOIN_MET_ANOTHER;
	case -ENOSPC:
	case -ENOBUFS:
	case -EDQUOT:
	case -ENOMEM:
	case -EMFILE:
	case -ENFILE:
		return JOIN_FAILED;
	case -ETIMEDOUT:
		/* others are missing: this rank's parent is there */
		if (info.state == INC_STATE_WAITING)
			return JOIN_FAILED;
		break;
	}
	atomic_store(&no_parent, true);
	return JOIN_FAILED;
}

/* READY has told all ranks the same; where one cannot read it, nobody has the group. */
static enum joined read_lacks(struct incmpi_comm *c, const struct incmpi_settings *own)
{
	struct inc_info info = { };
	int ret = inc_info(c->group, &info);

	c->lacks = info.lacks;
	if (!ret)
		return JOINED;
	snprintf(own_why, sizeof(own_why), "%s", inc_errmsg(c->group));
	if (is_verbose(own))
		fprintf(stderr, "libinc-mpi: %s\n", own_why);
	return JOIN_FAILED;
}

static enum joined join_poll(struct incmpi_comm *c, const struct incmpi_settings *own)
{
	int64_t deadline = incmpi_now_ms() + c->set.timeout_ms;
	int ret;

	do {
		ret = inc_join_poll(c->group, SLICE_MS);
		incmpi_skin()->progress();
	} while (ret == -ETIMEDOUT && incmpi_now_ms() < deadline);
	return ret ? join_failed(c, own, ret) : read_lacks(c, own);
}

/* What the rank that came least far says. */
static enum joined all_ranks(struct incmpi_comm *c, enum joined joined)
{
	int64_t least = joined;

	if (incmpi_skin()->smallest(c->comm, &least, 1))
		return JOIN_FAILED;
	return least;
}

static int wait_barrier(struct incmpi_comm *c)
{
	const struct inc_args barrier = { .coll = INC_COLL_BARRIER };
	int64_t deadline = incmpi_now_ms() + c->set.timeout_ms;
	struct inc_request req = { };
	int ret = inc_icollective(c->group, &barrier, &req);

	if (ret)
		return ret;
	do {
		ret = inc_wait(&req, SLICE_MS);
		incmpi_skin()->progress();
	} while (ret == -ETIMEDOUT && req.handle && incmpi_now_ms() < deadline);
	return ret;
}

/*
 * All ranks have taken the same group. Of a node that has fallen silent nobody may have heard yet:
 * where a rank has not used the group for a while, it is tried.
 */
static bool still_works(struct incmpi_comm *c)
{
	enum joined joined;

	if (!c->idle)
		return true;
	c->idle = false;
	joined = wait_barrier(c) ? JOIN_FAILED : JOINED;
	if (all_ranks(c, joined) == JOINED) {
		c->last_ms = incmpi_now_ms();
		return true;
	}
	inc_abort(c->group);
	free(c->tune);
	c->group = NULL;
	c->id = 0;
	c->tune = NULL;
	return false;
}

static enum joined join_all(struct incmpi_comm *c, const struct incmpi_settings *own,
			    const struct proposal *all)
{
	struct inc_join_opts opts = {
		.job = all->job, .group = all->group,
		.rank = (uint32_t)c->rank, .size = (uint32_t)c->size,
	};
	enum joined joined = JOINED;
	int ret;

	ret = inc_join_start(&c->group, &opts);
	if (ret)
		joined = join_failed(c, own, ret);
	else
		/* a child must not use MPI: it is not to outlive this rank in the group */
		inc_close_on_fork(c->group);
	/* Who fails at once is not waited for. */
	joined = all_ranks(c, joined);
	if (joined == JOINED)
		joined = all_ranks(c, join_poll(c, own));
	if (joined != JOINED && c->group) {
		inc_abort(c->group);
		c->group = NULL;
	}
	c->last_ms = incmpi_now_ms();
	c->id = (int64_t)(mix_bits(all->job ^ mix_bits(all->group)) >> 1 | 1);
	return joined;
}

static struct incmpi_tune *tune_new(uint64_t lines)
{
	struct incmpi_tune *tune = calloc(1, sizeof(*tune) + lines * sizeof(tune->lines[0]));

	if (tune)
		tune->nr = (uint32_t)lines;
	return tune;
}

/* Rank 0's lines for this many ranks: what it has of its file. */
static struct incmpi_tune *tune_to_give(const struct incmpi_comm *c)
{
	const struct incmpi_tune *own = c->rank ? NULL : incmpi_own_tune();
	struct incmpi_tune *tune = own ? tune_new(own->nr) : NULL;

	if (tune)
		incmpi_tune_filter(tune, own, (uint32_t)c->size);
	return tune;
}

/*
 * All ranks use the table of rank 0, whatever file they have themselves. Where one has no memory
 * for it, nobody has a table.
 */
static enum joined agree_tune(struct incmpi_comm *c, uint64_t lines)
{
	enum joined joined;
	int64_t able;

	if (!lines)
		return JOINED;
	if (!c->tune)
		c->tune = tune_new(lines);
	able = !!c->tune;
	joined = incmpi_skin()->smallest(c->comm, &able, 1) ? JOIN_FAILED : JOINED;
	if (joined == JOINED && able) {
		if (incmpi_skin()->bcast(c->comm, c->tune->lines,
					 lines * sizeof(c->tune->lines[0])))
			joined = JOIN_FAILED;
		incmpi_tune_index(c->tune);
		return joined;
	}
	free(c->tune);
	c->tune = NULL;
	return joined;
}

static enum joined try_to_join(struct incmpi_comm *c, const struct incmpi_settings *own)
{
	enum joined joined = JOIN_MET_ANOTHER;
	struct proposal all;

	for (int i = 0; i < TRIES && joined == JOIN_MET_ANOTHER; i++) {
		memset(&all, 0, sizeof(all));
		all.set = *own;
		all.job = new_number();
		all.group = (uint32_t)new_number();
		all.tune_lines = c->tune ? c->tune->nr : 0;
		if (incmpi_skin()->bcast(c->comm, &all, sizeof(all)))
			joined = JOIN_FAILED;
		c->set = all.set;
		if (joined != JOIN_FAILED && !i)
			joined = agree_tune(c, all.tune_lines);
		if (joined != JOIN_FAILED)
			joined = join_all(c, own, &all);
	}
	return joined;
}

static void join_group(struct incmpi_comm *c, const struct incmpi_settings *own)
{
	c->tune = tune_to_give(c);
	if (try_to_join(c, own) == JOINED)
		return;
	c->why = INCMPI_WHY_NO_GROUP;
	tell_once(c, own);
	/* the next communicator may find room */
	incmpi_kept_leave();
}

void incmpi_agree(struct incmpi_comm *c, const struct incmpi_settings *own, bool requests)
{
	enum incmpi_count what = INCMPI_COUNT_AGAIN;

	incmpi_kept_take(c);
	if (!ask_all(c, own, requests) || !still_works(c)) {
		incmpi_kept_give(c);
		if (!c->why)
			join_group(c, own);
		what = c->why ? INCMPI_COUNT_REFUSED : INCMPI_COUNT_GROUPS;
	}
	incmpi_count(what, 1);
	if (!is_verbose(own) || c->rank)
		return;
	if (c->why)
		fprintf(stderr, "libinc-mpi: communicator of %d ranks: MPI's own collectives: %s\n",
			c->size, incmpi_why_text(c->why));
	else if (!c->tune)
		fprintf(stderr, "libinc-mpi: communicator of %d ranks: group %u\n", c->size,
			inc_group_id(c->group));
	else
		fprintf(stderr, "libinc-mpi: communicator of %d ranks: group %u, %u lines of the tuning table\n",
			c->size, inc_group_id(c->group), c->tune->nr);
}

bool incmpi_join_more(struct incmpi_comm *c, struct incmpi_comm *more,
		      const struct incmpi_settings *own)
{
	int64_t able = more && own_able() == ABLE;

	if (incmpi_skin()->smallest(c->comm, &able, 1) || !able) {
		if (is_verbose(own) && *own_why)
			fprintf(stderr, "libinc-mpi: %s\n", own_why);
		return false;
	}
	if (try_to_join(more, own) != JOINED)
		return false;
	incmpi_count(INCMPI_COUNT_GROUPS, 1);
	if (is_verbose(own) && !c->rank)
		fprintf(stderr, "libinc-mpi: communicator of %d ranks: group %u for persistent calls\n",
			c->size, inc_group_id(more->group));
	return true;
}
