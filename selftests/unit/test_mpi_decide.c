// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who does a reduction, libinc-mpi or the MPI, at one rank that says what all say: nodes of the
 * communicator's group lack types, those of a persistent call's own group others.
 */
#define _GNU_SOURCE
#include "../../userspace/mpi/names.c"
#include "../../userspace/mpi/own_group.c"
#include "../../userspace/mpi/comm.c"
#include "ktap.h"

static int the_group;
static struct inc_reduces next_lacks;	/* of the group that is joined next */
static unsigned int nr_joins;

/* ---- libinc ---- */

int inc_leave(struct inc_group *group)
{
	(void)group;
	return 0;
}

void inc_abort(struct inc_group *group)
{
	(void)group;
}

/* ---- The rest of the middle ---- */

static int same_values(void *comm, int64_t *values, size_t n)
{
	(void)comm;
	(void)values;
	(void)n;
	return 0;
}

static void join(struct incmpi_comm *c)
{
	nr_joins++;
	c->group = (struct inc_group *)&the_group;
	c->lacks = next_lacks;
	c->set = own_settings;
}

void incmpi_agree(struct incmpi_comm *c, const struct incmpi_settings *own, bool requests)
{
	(void)own;
	c->requests = requests;
	join(c);
}

bool incmpi_join_more(struct incmpi_comm *c, struct incmpi_comm *more,
		      const struct incmpi_settings *own)
{
	(void)c;
	(void)own;
	join(more);
	return true;
}

void incmpi_kept_give(struct incmpi_comm *c)
{
	c->group = NULL;
}

void incmpi_kept_leave(void)
{
}

void incmpi_count(unsigned int index, uint64_t n)
{
	(void)index;
	(void)n;
}

uint64_t incmpi_share_count(const struct incmpi_side *side, int i)
{
	(void)i;
	return side->count;
}

bool incmpi_refuses(struct incmpi_comm *c, const struct incmpi_call *call)
{
	(void)c;
	(void)call;
	return false;
}

const struct incmpi_tune_line *incmpi_tune_find(const struct incmpi_tune *tune, enum incmpi_fn fn,
						enum incmpi_class class, uint64_t bytes)
{
	(void)tune;
	(void)fn;
	(void)class;
	(void)bytes;
	return NULL;
}

enum incmpi_why incmpi_tune_why(const struct incmpi_tune *tune,
				const struct incmpi_tune_line *line, enum incmpi_class class)
{
	(void)tune;
	(void)line;
	(void)class;
	return INCMPI_WHY_NONE;
}

enum incmpi_class incmpi_class_of(enum inc_type type)
{
	(void)type;
	return INCMPI_CLASS_ANY;
}

/* ---- Tests ---- */

#define LACKS(inc_type)	((struct inc_reduces){ .types = 1U << (inc_type) })

static const struct incmpi_type a_float = { .size = 4, .type = INC_TYPE_F32, .ops = ~0U };
static const struct incmpi_type a_double = { .size = 8, .type = INC_TYPE_F64, .ops = ~0U };

static struct incmpi_call call_of(enum incmpi_fn fn, const struct incmpi_type *type)
{
	return (struct incmpi_call){
		.fn = fn, .blocking = true, .op = INC_OP_SUM,
		.send = { .valid = true, .types = type, .count = 1 },
		.recv = { .valid = true, .types = type, .count = 1 },
	};
}

static void expect_why(struct incmpi_comm *c, enum incmpi_fn fn, const struct incmpi_type *type,
		       enum incmpi_why want)
{
	struct incmpi_call call = call_of(fn, type);
	enum incmpi_why why = incmpi_decide(c, &call);

	expect(why == want, "%s of %zu bytes: reason %d, not %d", incmpi_fn_name(fn), type->size,
	       (int)why, (int)want);
}

static struct incmpi_comm *begin(struct inc_reduces lacks)
{
	static const struct incmpi_skin skin = { .smallest = same_values };
	static const struct incmpi_settings set = {
		.fns = ~0U, .max = UINT64_MAX, .persistent = 2,
	};

	incmpi_init(&skin, &set, true, true);
	next_lacks = lacks;
	nr_joins = 0;
	return incmpi_comm_new(NULL, 0, 2, false, false);
}

static void test_lacks(void)
{
	struct incmpi_comm *c = begin(LACKS(INC_TYPE_F64));

	expect_why(c, INCMPI_ALLREDUCE, &a_float, INCMPI_WHY_NONE);
	expect_why(c, INCMPI_ALLREDUCE, &a_double, INCMPI_WHY_LACKS);
	/* nodes move these, and ranks fold them */
	expect_why(c, INCMPI_BCAST, &a_double, INCMPI_WHY_NONE);
	expect_why(c, INCMPI_SCAN, &a_double, INCMPI_WHY_NONE);
	incmpi_comm_free(c);
}

/* A rank that has given up the group before the first reduction says what the others say. */
static void test_broken(void)
{
	struct incmpi_comm *c = begin(LACKS(INC_TYPE_F64));

	expect_why(c, INCMPI_BCAST, &a_double, INCMPI_WHY_NONE);
	incmpi_comm_break(c, "no memory");
	expect_why(c, INCMPI_ALLREDUCE, &a_double, INCMPI_WHY_LACKS);
	expect_why(c, INCMPI_ALLREDUCE, &a_float, INCMPI_WHY_NONE);
	incmpi_comm_free(c);
}

/* @want: INCMPI_WHY_NONE: it has a group, which it gives back. */
static void expect_init(struct incmpi_comm *c, const struct incmpi_type *type, enum incmpi_why want)
{
	struct incmpi_call call = call_of(INCMPI_ALLREDUCE, type);
	struct incmpi_comm *group;
	enum incmpi_why why;

	call.blocking = false;
	call.persistent = true;
	why = incmpi_decide_init(c, &call, true, &group);
	expect(why == want && !group == !!want, "of %zu bytes: reason %d, not %d", type->size,
	       (int)why, (int)want);
	if (group)
		incmpi_comm_put(group);
}

static void test_own_group(void)
{
	struct incmpi_comm *c = begin((struct inc_reduces){ });

	expect_why(c, INCMPI_ALLREDUCE, &a_double, INCMPI_WHY_NONE);
	next_lacks = LACKS(INC_TYPE_F64);
	expect_init(c, &a_double, INCMPI_WHY_LACKS);
	expect_init(c, &a_float, INCMPI_WHY_NONE);
	expect_init(c, &a_double, INCMPI_WHY_LACKS);
	expect(nr_joins == 2, "%u groups were joined", nr_joins);
	incmpi_comm_free(c);
	c = begin(LACKS(INC_TYPE_F64));
	expect_why(c, INCMPI_ALLREDUCE, &a_double, INCMPI_WHY_LACKS);
	next_lacks = (struct inc_reduces){ };
	expect_init(c, &a_double, INCMPI_WHY_NONE);
	incmpi_comm_free(c);
}

static const struct ktap_test tests[] = {
	KTAP(test_lacks), KTAP(test_broken), KTAP(test_own_group),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
