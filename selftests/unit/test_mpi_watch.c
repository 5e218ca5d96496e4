// SPDX-License-Identifier: GPL-2.0-only
/*
 * How libinc-mpi looks after operations under way: each question whether one has ended is a system
 * call, and there may be thousands of them.
 */
#include "../../userspace/mpi/pmpi_watch.c"
#include "ktap.h"

#define MANY	1000

/* Operations of two communicators, each of which has ended with its number or goes on. */
struct incmpi_op {
	struct pmpi_watch watch;
	bool done, told;
};

static struct incmpi_op ops[2][MANY];
static struct pmpi_comm comms[2];
static unsigned int nr_tests, nr_told[2];
static bool in_order;

int incmpi_test(struct incmpi_op *op)
{
	nr_tests++;
	return op->done ? (int)(op - ops[op >= ops[1]]) : -EAGAIN;
}

static void has_ended(struct pmpi_watch *w, int ret)
{
	unsigned int c = w->c == &comms[1];

	w->op->told = true;
	in_order = in_order && (unsigned int)ret == nr_told[c]++;
}

/* In turns. */
static void begin_all(void)
{
	memset(ops, 0, sizeof(ops));
	memset(nr_told, 0, sizeof(nr_told));
	in_order = true;
	for (int i = 0; i < MANY; i++)
		for (int c = 0; c < 2; c++) {
			ops[c][i].watch = (struct pmpi_watch){
				.op = &ops[c][i], .c = &comms[c],
				.looked = &comms[c].looked, .ended = has_ended,
			};
			pmpi_watch(&ops[c][i].watch);
		}
}

static void look(const char *what, int ended, unsigned int tests)
{
	int got;

	nr_tests = 0;
	got = pmpi_watch_look();
	expect(got == ended, "%s: %d have ended, expected %d", what, got, ended);
	expect(nr_tests == tests, "%s: %u questions, expected %u", what, nr_tests, tests);
	expect(in_order, "%s: not in their order", what);
}

static void end_some(int c, int from, int to)
{
	for (int i = from; i < to; i++)
		ops[c][i].done = true;
}

static void test_questions(void)
{
	begin_all();
	look("none has ended", 0, 2);
	look("none has ended since", 0, 2);
	end_some(0, 0, 10);
	look("ten of one have", 10, 10 + 2);
	end_some(0, 10, MANY);
	end_some(1, 0, 1);
	look("the rest of one, and one", MANY - 10 + 1, MANY - 10 + 1 + 1);
	expect(pmpi_watch_goes_on(), "nothing goes on");
	end_some(1, 1, MANY);
	look("all", MANY - 1, MANY - 1);
	expect(!pmpi_watch_goes_on(), "something goes on");
	look("there are none", 0, 0);
}

/* The list's end is found when its last one has gone. */
static void test_anew(void)
{
	begin_all();
	end_some(1, 0, MANY);
	look("those that were begun last", MANY, MANY + 1);
	end_some(0, 0, MANY - 1);
	look("all but the last", MANY - 1, MANY);
	end_some(0, MANY - 1, MANY);
	look("the last", 1, 1);
	begin_all();
	end_some(0, 0, MANY);
	end_some(1, 0, MANY);
	look("all at once", 2 * MANY, 2 * MANY);
	for (int i = 0; i < MANY; i++)
		expect(ops[0][i].told && ops[1][i].told, "operation %d was forgotten", i);
}

static const struct ktap_test tests[] = {
	KTAP(test_questions), KTAP(test_anew),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
