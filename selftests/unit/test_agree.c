// SPDX-License-Identifier: GPL-2.0-only
/*
 * Agreement of libinc-mpi on a group, at one rank that says what all say: which errors of joining
 * count for all later communicators, and which limits of the process keep it from asking for a
 * group.
 */
#define _GNU_SOURCE
#include "../../userspace/mpi/agree.c"
#include "ktap.h"

static struct incmpi_settings one_host = { .one_host = true, .timeout_ms = 1 };
static unsigned int nr_joins, nr_closing;
static int join_result, poll_result, family = 1;

/* ---- libinc ---- */

static int the_group;

int inc_family(void)
{
	return family;
}

const char *inc_errmsg(struct inc_group *group)
{
	(void)group;
	return "";
}

static struct inc_reduces node_lacks;
static int info_result;

int inc_info(struct inc_group *group, struct inc_info *info)
{
	(void)group;
	info->lacks = node_lacks;
	return info_result;
}

int inc_join_start(struct inc_group **group, const struct inc_join_opts *opts)
{
	(void)opts;
	nr_joins++;
	*group = join_result ? NULL : (struct inc_group *)&the_group;
	return join_result;
}

int inc_close_on_fork(struct inc_group *group)
{
	(void)group;
	nr_closing++;
	return 0;
}

int inc_join_poll(struct inc_group *group, int timeout_ms)
{
	(void)group;
	(void)timeout_ms;
	return poll_result;
}

static unsigned int nr_aborted, nr_barriers;
static int barrier_result;

void inc_abort(struct inc_group *group)
{
	(void)group;
	nr_aborted++;
}

int inc_icollective(struct inc_group *group, const struct inc_args *args, struct inc_request *req)
{
	(void)group;
	nr_barriers += args->coll == INC_COLL_BARRIER;
	req->handle = 1;
	return 0;
}

int inc_wait(struct inc_request *req, int timeout_ms)
{
	(void)timeout_ms;
	if (barrier_result != -ETIMEDOUT)
		req->handle = 0;
	return barrier_result;
}

uint32_t inc_group_id(const struct inc_group *group)
{
	(void)group;
	return 1;
}

/* ---- The rest of the middle ---- */

static int same_bytes(void *comm, void *buf, size_t len)
{
	(void)comm;
	(void)buf;
	(void)len;
	return 0;
}

/* What another rank has kept, if that is not what this one has. */
static int64_t other_id;
static bool has_other_id, other_is_idle;

/* Only the question whether there may be a group has so many. */
static int same_values(void *comm, int64_t *values, size_t n)
{
	(void)comm;
	if (n != NR_ASKED || !has_other_id)
		return 0;
	if (other_id < values[ASKED_ID])
		values[ASKED_ID] = other_id;
	if (-other_id < values[ASKED_ID_MAX])
		values[ASKED_ID_MAX] = -other_id;
	if (other_is_idle)
		values[ASKED_IDLE] = -1;
	return 0;
}

static void no_progress(void)
{
}

const struct incmpi_skin *incmpi_skin(void)
{
	static const struct incmpi_skin skin = {
		.bcast = same_bytes, .smallest = same_values, .progress = no_progress,
	};

	return &skin;
}

bool incmpi_is_first(void)
{
	return true;
}

const struct incmpi_tune *incmpi_own_tune(void)
{
	return NULL;
}

void incmpi_tune_filter(struct incmpi_tune *to, const struct incmpi_tune *from, uint32_t ranks)
{
	(void)to;
	(void)from;
	(void)ranks;
}

void incmpi_tune_index(struct incmpi_tune *tune)
{
	(void)tune;
}

void incmpi_count(unsigned int index, uint64_t n)
{
	(void)index;
	(void)n;
}

const char *incmpi_why_text(enum incmpi_why why)
{
	(void)why;
	return "";
}

/* A group that has been kept, and what becomes of one. */
static int64_t kept_id;
static bool is_idle;
static unsigned int nr_given, nr_left;

void incmpi_kept_take(struct incmpi_comm *c)
{
	c->id = kept_id;
	c->idle = kept_id && is_idle;
	c->group = kept_id ? (struct inc_group *)&the_group : NULL;
}

void incmpi_kept_give(struct incmpi_comm *c)
{
	nr_given += !!c->group;
	c->group = NULL;
	c->id = 0;
}

void incmpi_kept_leave(void)
{
	nr_left++;
}

/* ---- Tests ---- */

/* How often a communicator tries to join, and whether it has a group. */
static unsigned int try_group(bool *has)
{
	struct incmpi_comm c = { .size = 2 };

	nr_joins = 0;
	nr_closing = 0;
	incmpi_agree(&c, &one_host, true);
	*has = !c.why;
	expect(!c.why || c.why == INCMPI_WHY_NO_GROUP, "reason %d", (int)c.why);
	return nr_joins;
}

static void expect_group(bool want)
{
	bool has;
	unsigned int n = try_group(&has);

	expect(has == want && n == (unsigned int)want, "a group: %d after %u joins, not %d", has, n,
	       want);
	expect(nr_closing == n, "children have the sockets of %u groups", n - nr_closing);
}

/* The next communicator tries again. */
static void test_limit_at_join(void)
{
	static const int limits[] = { -ENOSPC, -ENOBUFS, -EDQUOT, -ENOMEM, -EMFILE, -ENFILE };
	bool has;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		join_result = limits[i];
		expect(try_group(&has) == 1 && !has, "a group after error %d", limits[i]);
		join_result = 0;
		poll_result = limits[i];
		expect(try_group(&has) == 1 && !has, "a group after error %d", limits[i]);
		poll_result = 0;
		expect_group(true);
	}
}

/* A limit as @soft, for one communicator that shall have a group or not. */
static void with_limit(int resource, rlim_t soft, bool want)
{
	struct rlimit before, limit;

	if (!expect(!getrlimit(resource, &before), "limit %d cannot be read", resource))
		return;
	limit = before;
	limit.rlim_cur = soft;
	if (!expect(!setrlimit(resource, &limit), "limit %d cannot be set", resource))
		return;
	expect_group(want);
	setrlimit(resource, &before);
}

static void test_descriptors(void)
{
	int next = open("/", O_PATH);

	close(next);
	with_limit(RLIMIT_NOFILE, 256, true);
	with_limit(RLIMIT_NOFILE, (rlim_t)next + 1, false);
	/* a quarter is left where there are few */
	with_limit(RLIMIT_NOFILE, 4 * (rlim_t)next + 8, true);
	for (int i = 0; i < 256 - SPARE_FDS; i++)
		open("/", O_PATH);
	with_limit(RLIMIT_NOFILE, 256, false);
	with_limit(RLIMIT_NOFILE, 512, true);
	for (int fd = next; fd < 256; fd++)
		close(fd);
	expect_group(true);
}

/* A group that has been kept is used if all ranks have it, and not joined. */
static void try_kept(int64_t own, int64_t other, unsigned int joins)
{
	bool has;
	unsigned int n;

	kept_id = own;
	other_id = other;
	has_other_id = true;
	nr_given = 0;
	n = try_group(&has);
	expect(has && n == joins, "%lld and %lld: %u joins, not %u", (long long)own,
	       (long long)other, n, joins);
	expect(nr_given == (own && own != other), "%lld and %lld: %u given back", (long long)own,
	       (long long)other, nr_given);
	kept_id = 0;
	has_other_id = false;
}

static void test_kept(void)
{
	bool has;

	try_kept(5, 5, 0);
	try_kept(5, 7, 1);
	try_kept(7, 5, 1);
	try_kept(5, 0, 1);
	try_kept(0, 5, 1);
	try_kept(0, 0, 1);
	/* it is given back where there is to be none, and the others are where there is no room */
	kept_id = 5;
	nr_given = 0;
	family = -EAFNOSUPPORT;
	expect(!try_group(&has) && !has && nr_given == 1, "without a module");
	family = 1;
	kept_id = 0;
	nr_left = 0;
	join_result = -ENOSPC;
	expect(try_group(&has) == 1 && !has && nr_left == 1, "without room");
	join_result = 0;
}

/* One that a rank has kept for a while is tried, and left if its node does not answer. */
static void try_idle(bool own, bool other, int result, unsigned int joins)
{
	is_idle = own;
	other_is_idle = other;
	barrier_result = result;
	nr_barriers = 0;
	nr_aborted = 0;
	try_kept(5, 5, joins);
	expect(nr_barriers == (own || other) && nr_aborted == joins,
	       "idle %d and %d, barrier %d: %u barriers, %u groups left", own, other, result,
	       nr_barriers, nr_aborted);
	barrier_result = 0;
	is_idle = false;
	other_is_idle = false;
}

/* A group works as far as is known when it has been joined, or tried, and not when it is taken. */
static void expect_last(const char *what, int64_t kept, bool idle, bool want)
{
	int64_t before = incmpi_now_ms();
	struct incmpi_comm c = { .size = 2, .last_ms = 1 };

	kept_id = kept;
	is_idle = idle;
	incmpi_agree(&c, &one_host, true);
	expect(!c.why && (c.last_ms >= before) == want, "%s: it has worked at %lld", what,
	       (long long)c.last_ms);
	kept_id = 0;
	is_idle = false;
}

/* It is known before the first reduction; a rank that cannot read it keeps all from the group. */
static void test_lacks(void)
{
	struct incmpi_comm c = { .size = 2 }, more = { .size = 2 }, unknown = { .size = 2 };

	node_lacks = (struct inc_reduces){ .types = 5, .ops = 6 };
	incmpi_agree(&c, &one_host, true);
	expect(!c.why && c.lacks.types == 5 && c.lacks.ops == 6, "what nodes lack is not known");
	expect(incmpi_join_more(&c, &more, &one_host) && more.lacks.types == 5 &&
	       more.lacks.ops == 6, "what nodes of another group lack is not known");
	node_lacks = (struct inc_reduces){ };
	nr_aborted = 0;
	info_result = -ENOTCONN;
	incmpi_agree(&unknown, &one_host, true);
	expect(unknown.why == INCMPI_WHY_NO_GROUP && !unknown.group && nr_aborted == 1,
	       "it cannot be read: reason %d, %u groups left", (int)unknown.why, nr_aborted);
	expect(!incmpi_join_more(&c, &unknown, &one_host) && nr_aborted == 2,
	       "it cannot be read of another group: %u groups left", nr_aborted);
	info_result = 0;
	expect_group(true);
}

static void test_last(void)
{
	expect_last("joined", 0, false, true);
	expect_last("taken", 5, false, false);
	expect_last("tried", 5, true, true);
}

static void test_idle(void)
{
	try_idle(false, false, -ETIMEDOUT, 0);
	try_idle(true, false, 0, 0);
	try_idle(false, true, 0, 0);
	try_idle(true, false, -ETIMEDOUT, 1);
	try_idle(false, true, -ETIMEDOUT, 1);
	try_idle(true, true, -EHOSTUNREACH, 1);
}

static bool drop_capability(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &head, caps))
		return false;
	caps[CAP_TO_INDEX(CAP_IPC_LOCK)].effective &= ~CAP_TO_MASK(CAP_IPC_LOCK);
	return !syscall(SYS_capset, &head, caps);
}

static void test_pinned_memory(void)
{
	rlim_t least = LEAST_PAGES * (rlim_t)sysconf(_SC_PAGESIZE);

	if (may_pin_all())
		with_limit(RLIMIT_MEMLOCK, 0, true);
	if (!expect(drop_capability(), "CAP_IPC_LOCK cannot be dropped"))
		return;
	with_limit(RLIMIT_MEMLOCK, least, true);
	with_limit(RLIMIT_MEMLOCK, least - 1, false);
	setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "3", 1);
	with_limit(RLIMIT_MEMLOCK, 3 * least - 1, false);
	with_limit(RLIMIT_MEMLOCK, 3 * least, true);
	unsetenv("OMPI_COMM_WORLD_LOCAL_SIZE");
	setenv("MPI_LOCALNRANKS", "2", 1);
	with_limit(RLIMIT_MEMLOCK, 2 * least - 1, false);
	unsetenv("MPI_LOCALNRANKS");
}

/* How many lines the user sees of a job of two communicators that have no group. */
static unsigned int lines_told(enum incmpi_mode mode, bool asked)
{
	struct incmpi_settings set = { .one_host = true, .mode = mode, .asked = asked };
	FILE *real = stderr;
	unsigned int lines = 0;
	char *text = NULL;
	size_t len = 0;

	stderr = open_memstream(&text, &len);
	atomic_flag_clear(&told);
	for (int i = 0; i < 2; i++) {
		struct incmpi_comm c = { .size = 2 };

		incmpi_agree(&c, &set, true);
	}
	fclose(stderr);
	stderr = real;
	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	free(text);
	atomic_store(&no_parent, false);
	return lines;
}

static void test_told(void)
{
	join_result = -EACCES;
	expect(lines_told(INCMPI_ON, false) == 1, "of a wrong key");
	expect(lines_told(INCMPI_QUIET, true) == 0, "of a wrong key, quiet");
	join_result = 0;
	poll_result = -EHOSTUNREACH;
	expect(lines_told(INCMPI_ON, true) == 1, "of a node that does not answer");
	poll_result = 0;
	expect(lines_told(INCMPI_ON, true) == 0, "of groups");
	family = -EAFNOSUPPORT;
	expect(lines_told(INCMPI_ON, false) == 0, "of hosts without the module");
	expect(lines_told(INCMPI_ON, true) == 1, "of no module, if it is asked for");
	family = 1;
}

/* The last one: there is no parent for good then. */
static void test_no_parent(void)
{
	bool has;

	join_result = -ENETUNREACH;
	expect(try_group(&has) == 1 && !has, "a group without a parent");
	join_result = 0;
	expect_group(false);
}

static const struct ktap_test tests[] = {
	KTAP(test_limit_at_join), KTAP(test_kept), KTAP(test_idle), KTAP(test_last),
	KTAP(test_lacks), KTAP(test_descriptors), KTAP(test_pinned_memory), KTAP(test_told),
	KTAP(test_no_parent),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
