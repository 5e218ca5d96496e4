// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls every function of libinc with NULL for what must not be NULL. Needs no module: each call
 * has to be refused before it asks the kernel anything. Prints what was not, and then fails. Before
 * that each function that is named as an argument is called with NULL and 0 for all it takes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <inc.h>

static int failed;

static void expect(const char *call, long long got, long long want, const char *text)
{
	if (got == want && (want != -EINVAL || !text || strstr(inc_errmsg(NULL), text)))
		return;
	printf("%s: %lld \"%s\", expected %lld \"%s\"\n", call, got, inc_errmsg(NULL), want,
	       text ? text : "");
	failed = 1;
}

#define REFUSED(call, text)	expect(#call, call, -EINVAL, text)
#define GIVES(call, value)	expect(#call, call, value, NULL)

static void membership(void)
{
	struct inc_split_offer offer;
	struct inc_group *g;
	struct inc_info info;

	REFUSED(inc_launcher(NULL), "place for the answer is NULL");
	REFUSED(inc_join(NULL, NULL), "place for the group is NULL");
	REFUSED(inc_join_start(NULL, NULL), "place for the group is NULL");
	REFUSED(inc_join_poll(NULL, 0), "group is NULL");
	REFUSED(inc_shrink(NULL, 0), "group is NULL");
	REFUSED(inc_close_on_fork(NULL), "group is NULL");
	REFUSED(inc_set_timeout(NULL, 0), "group is NULL");
	REFUSED(inc_split(NULL, NULL, 0, 0, 0), "place for the new group is NULL");
	REFUSED(inc_split(&g, NULL, 0, 0, 0), "group is NULL");
	REFUSED(inc_dup(&g, NULL, 0), "group is NULL");
	REFUSED(inc_split_offer(NULL, 0, 0, &offer), "group is NULL");
	REFUSED(inc_split_start(&g, NULL, &offer), "group is NULL");
	REFUSED(inc_cancel(NULL), NULL);
	GIVES(inc_leave(NULL), 0);
	inc_abort(NULL);
	GIVES(inc_fd(NULL), -EINVAL);
	GIVES(inc_rank(NULL), UINT32_MAX);
	GIVES(inc_size(NULL), 0);
	GIVES(inc_group_id(NULL), 0);
	REFUSED(inc_info(NULL, &info), "group is NULL");
}

static void operations(void)
{
	struct inc_args args = { .coll = INC_COLL_BARRIER };
	uint32_t ranks[INC_MAX_RANKS / 32];
	struct inc_request req;
	uint32_t id;
	float x = 1;
	size_t i;

	REFUSED(inc_collective(NULL, &args), "group is NULL");
	REFUSED(inc_collective(NULL, NULL), "group is NULL");
	REFUSED(inc_icollective(NULL, &args, &req), "group is NULL");
	REFUSED(inc_icollective(NULL, &args, NULL), "request is NULL");
	REFUSED(inc_collective_for(NULL, &args, &req, 0), "group is NULL");
	REFUSED(inc_collective_for(NULL, &args, NULL, 0), "request is NULL");
	REFUSED(inc_prepare(NULL, &args, &req), "group is NULL");
	REFUSED(inc_start(&req), "inc_prepare() has prepared");
	REFUSED(inc_start(NULL), "request is NULL");
	REFUSED(inc_start_many(NULL, 1, NULL), "requests is NULL");
	GIVES(inc_start_many(NULL, 0, NULL), 0);
	REFUSED(inc_release(NULL), "request is NULL");
	REFUSED(inc_register(NULL, &x, sizeof(x), 0, &id), "group is NULL");
	REFUSED(inc_unregister(NULL, 1), "group is NULL");
	REFUSED(inc_allreduce(NULL, &x, &x, 1, INC_TYPE_F32, INC_OP_SUM), "group is NULL");
	REFUSED(inc_iallreduce(NULL, &x, &x, 1, INC_TYPE_F32, INC_OP_SUM, &req), "group is NULL");
	REFUSED(inc_barrier(NULL), "group is NULL");
	REFUSED(inc_wait(NULL, 0), "request is NULL");
	REFUSED(inc_test(NULL), "request is NULL");
	REFUSED(inc_wait_any(NULL, 1, 0, &i), "requests is NULL");
	REFUSED(inc_wait_any(NULL, 0, 0, NULL), "place for the index is NULL");
	REFUSED(inc_wait_all(NULL, 1, 0), "requests is NULL");
	GIVES(inc_wait_any(NULL, 0, -1, &i), -ENOENT);
	GIVES(inc_wait_all(NULL, 0, -1), 0);
	REFUSED(inc_contributed(NULL, NULL, ranks, INC_MAX_RANKS / 32), "group is NULL");
}

/* More arguments than any function has: all take numbers and pointers, or a double that is any. */
static void call_with_nothing(const char *name)
{
	long (*call)(long a, long b, long c, long d, long e, long f, long g, long h, long i);

	*(void **)&call = dlsym(RTLD_DEFAULT, name);
	/* stays the last line if it crashes */
	printf("%s\n", name);
	fflush(stdout);
	if (call)
		call(0, 0, 0, 0, 0, 0, 0, 0, 0);
	else
		failed = 1;
}

int main(int argc, char **argv)
{
	float x = 1;
	int i;

	for (i = 1; i < argc; i++)
		call_with_nothing(argv[i]);
	puts("and each:");
	membership();
	operations();
	inc_why(NULL, INC_COLL_BARRIER, 0, 0, 0, NULL, 10);
	REFUSED(inc_mx_pack(INC_TYPE_MXI8, NULL, &x, 1), "blocks is NULL");
	REFUSED(inc_mx_unpack(INC_TYPE_MXI8, NULL, &x, 1), "values is NULL");
	GIVES(inc_type_parse(NULL), -EINVAL);
	GIVES(inc_op_parse(NULL), -EINVAL);
	GIVES(inc_coll_parse(NULL), -EINVAL);
	return failed;
}
