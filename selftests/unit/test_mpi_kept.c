// SPDX-License-Identifier: GPL-2.0-only
/* Groups that libinc-mpi keeps of communicators that have been freed: who gets which one. */
#include "../../userspace/mpi/kept_group.c"
#include "ktap.h"

static int groups[4];
static unsigned int states[4];
static unsigned int nr_left[4];

static unsigned int number_of(const struct inc_group *group)
{
	return (unsigned int)((const int *)group - groups);
}

int inc_info(struct inc_group *group, struct inc_info *info)
{
	memset(info, 0, sizeof(*info));
	info->state = states[number_of(group)];
	return 0;
}

void incmpi_leave(struct inc_group *group)
{
	nr_left[number_of(group)]++;
}

/* Communicators of two ranks, this one their first. */
static struct incmpi_comm comm_of(uint64_t ranks)
{
	return (struct incmpi_comm){ .size = 2, .ranks = ranks };
}

static void give_used(unsigned int group, uint64_t ranks, int64_t ms_ago)
{
	struct incmpi_comm c = comm_of(ranks);

	states[group] = INC_STATE_READY;
	nr_left[group] = 0;
	c.group = (struct inc_group *)&groups[group];
	c.id = group + 1;
	c.set.min = group;
	c.lacks.types = group;
	c.last_ms = incmpi_now_ms() - ms_ago;
	incmpi_kept_give(&c);
	expect(!c.group && !c.id && !c.tune, "group %u stays the communicator's", group);
}

static void give(unsigned int group, uint64_t ranks)
{
	give_used(group, ranks, 0);
}

/* @group: -1: none */
static void expect_taken(struct incmpi_comm c, int group)
{
	incmpi_kept_take(&c);
	expect(c.id == group + 1, "group %d is taken, not %d", (int)c.id - 1, group);
	if (group < 0)
		expect(!c.group, "there is a group");
	else
		expect(c.group == (struct inc_group *)&groups[group] &&
		       c.set.min == (uint64_t)group && c.lacks.types == (unsigned int)group,
		       "another group, or another one's settings");
}

static void expect_left(unsigned int group, unsigned int want)
{
	expect(nr_left[group] == want, "group %u is left %u times, not %u", group, nr_left[group],
	       want);
}

static void test_same_ranks(void)
{
	struct incmpi_comm other = comm_of(7);

	give(0, 7);
	expect_taken(comm_of(8), -1);
	expect_taken(comm_of(0), -1);
	other.rank = 1;
	expect_taken(other, -1);
	other = comm_of(7);
	other.size = 3;
	expect_taken(other, -1);
	expect_taken(comm_of(7), 0);
	expect_taken(comm_of(7), -1);
	expect_left(0, 0);
}

static void test_newest_first(void)
{
	give(0, 7);
	give(1, 7);
	expect_taken(comm_of(7), 1);
	give(2, 8);
	expect_taken(comm_of(7), 0);
	expect_taken(comm_of(8), 2);
}

static void test_few(void)
{
	give(0, 7);
	give(1, 8);
	give(2, 9);
	expect_left(0, 1);
	expect_taken(comm_of(7), -1);
	expect_taken(comm_of(8), 1);
	expect_taken(comm_of(9), 2);
	expect_left(1, 0);
	expect_left(2, 0);
}

/* One that has failed is left, and the one before it is found. */
static void test_failed(void)
{
	struct incmpi_comm broken = comm_of(7);

	give(0, 7);
	give(1, 7);
	states[1] = INC_STATE_CLOSED;
	expect_taken(comm_of(7), 0);
	expect_left(1, 1);
	nr_left[2] = 0;
	broken.group = (struct inc_group *)&groups[2];
	broken.broken = true;
	incmpi_kept_give(&broken);
	expect_left(2, 1);
	expect_taken(comm_of(7), -1);
	/* nor is one of ranks that are not known */
	give(3, 0);
	expect_left(3, 1);
}

/* The communicator that takes it gives it back. */
static void expect_idle(const char *what, bool want)
{
	struct incmpi_comm c = comm_of(7);

	incmpi_kept_take(&c);
	expect(c.group && c.idle == want, "%s: idle is %d", what, c.idle);
	incmpi_kept_give(&c);
}

#define AT_ONCE	(-100 * IDLE_MS)	/* or later: however slow the machine is */

/* Since its last operation, whoever has had it meanwhile. */
static void test_idle(void)
{
	struct incmpi_comm c = comm_of(7);

	give_used(0, 7, AT_ONCE);
	expect_idle("just used", false);
	expect_idle("given back", false);
	incmpi_kept_leave();
	give_used(0, 7, IDLE_MS);
	expect_idle("not used for long", true);
	expect_idle("given back, and still not used", true);
	incmpi_kept_take(&c);
	c.last_ms = incmpi_now_ms() - AT_ONCE;
	incmpi_kept_give(&c);
	expect_idle("used again", false);
	incmpi_kept_leave();
}

static void test_left_at_end(void)
{
	give(0, 7);
	give(1, 8);
	incmpi_kept_leave();
	expect_left(0, 1);
	expect_left(1, 1);
	expect_taken(comm_of(7), -1);
}

static const struct ktap_test tests[] = {
	KTAP(test_same_ranks), KTAP(test_newest_first), KTAP(test_few), KTAP(test_failed),
	KTAP(test_idle), KTAP(test_left_at_end),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
