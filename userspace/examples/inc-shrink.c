// SPDX-License-Identifier: MIT
/*
 * A job that goes on when ranks die: allreduces, one after the other, and when one fails because
 * ranks are gone, the others shrink the group, agree on the iteration to go on with, and go on. A
 * worker for tests, and an example of inc_shrink().
 *
 * An element is a hash of iteration, index and the rank that its sender began with, so that every
 * rank can compute what must come out. The last element is the number of ranks that want to stop.
 */
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <inc.h>

#define OUT	3	/* exit status of a rank that is out */

struct job {
	struct inc_group *group;
	uint64_t id;		/* the rank that we began with */
	uint64_t ids[INC_MAX_RANKS];	/* all ranks' */
	uint64_t iter;
	uint64_t count;
	uint64_t *x, *sum;	/* [count + 1] */
	const char *until;
};

static const char usage[] =
	"usage: inc-shrink --until FILE [--count C]	(and INC_GROUP, INC_RANK, INC_SIZE)\n"
	"  --until FILE	stop when this file is there\n"
	"  --count C	elements (default 1000)\n";

/* splitmix64 */
static uint64_t element_of(uint64_t iter, uint64_t id, uint64_t i)
{
	uint64_t z = (iter << 40 ^ id << 28 ^ i) + 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static void check_result(const struct job *job)
{
	uint32_t size = inc_size(job->group);

	for (uint64_t i = 0; i < job->count; i++) {
		uint64_t want = 0;

		for (uint32_t r = 0; r < size; r++)
			want += element_of(job->iter, job->ids[r], i);
		if (job->sum[i] != want)
			errx(1, "iteration %llu: element %llu is %#llx, expected %#llx",
			     (unsigned long long)job->iter, (unsigned long long)i,
			     (unsigned long long)job->sum[i], (unsigned long long)want);
	}
}

/* One iteration; 1: all stop. */
static int run_step(struct job *job)
{
	int ret;

	for (uint64_t i = 0; i < job->count; i++)
		job->x[i] = element_of(job->iter, job->id, i);
	job->x[job->count] = !access(job->until, F_OK);
	ret = inc_allreduce(job->group, job->x, job->sum, job->count + 1, INC_TYPE_U64, INC_OP_SUM);
	if (ret)
		return ret;
	check_result(job);
	job->iter++;
	return job->sum[job->count] ? 1 : 0;
}

/*
 * Who is there, and where do all of them stand? An iteration that failed here may have succeeded
 * elsewhere: that one is done again.
 */
static int agree_on(struct job *job)
{
	int ret = inc_allgather(job->group, &job->id, job->ids, 1, INC_TYPE_U64);

	if (ret)
		return ret;
	return inc_allreduce(job->group, INC_IN_PLACE, &job->iter, 1, INC_TYPE_U64, INC_OP_MIN);
}

static void say(const struct job *job)
{
	printf("rank %llu is rank %u of %u now:", (unsigned long long)job->id, inc_rank(job->group),
	       inc_size(job->group));
	for (uint32_t r = 0; r < inc_size(job->group); r++)
		printf(" %llu", (unsigned long long)job->ids[r]);
	printf("; iteration %llu\n", (unsigned long long)job->iter);
	fflush(stdout);
}

/* After a failure, until those that are left agree; more may die meanwhile. */
static void go_on(struct job *job)
{
	int ret;

	do {
		printf("rank %llu: %s\n", (unsigned long long)job->id, inc_errmsg(job->group));
		fflush(stdout);
		ret = inc_shrink(job->group, 0);
		/* it is us who are cut off: try again */
		while (ret == -EHOSTUNREACH || ret == -ENETUNREACH)
			ret = inc_shrink(job->group, 0);
		if (ret) {
			printf("rank %llu: %s\n", (unsigned long long)job->id,
			       inc_errmsg(job->group));
			inc_abort(job->group);
			exit(ret == -ESTALE ? OUT : 1);
		}
		ret = agree_on(job);
	} while (ret == -ECONNRESET || ret == -EHOSTDOWN);
	if (ret)
		errx(1, "%s", inc_errmsg(job->group));
	say(job);
}

static void run_job(struct job *job)
{
	int ret = agree_on(job);

	while (ret != 1) {
		if (ret == -ECONNRESET || ret == -EHOSTDOWN)
			go_on(job);
		else if (ret)
			errx(1, "%s", inc_errmsg(job->group));
		ret = run_step(job);
	}
}

static void say_usage(int status)
{
	fputs(usage, status ? stderr : stdout);
	exit(status);
}

static void parse_args(struct job *job, int argc, char **argv)
{
	static const struct option options[] = {
		{ "until", required_argument, NULL, 'u' },
		{ "count", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' }, { NULL },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'u')
			job->until = optarg;
		else if (c == 'c')
			job->count = strtoull(optarg, NULL, 0);
		else
			say_usage(c == 'h' ? 0 : 2);
	}
	if (!job->until || optind != argc || !job->count || job->count > 1 << 24)
		say_usage(2);
}

int main(int argc, char **argv)
{
	static struct job job = { .count = 1000 };

	parse_args(&job, argc, argv);
	job.x = calloc(job.count + 1, sizeof(*job.x));
	job.sum = calloc(job.count + 1, sizeof(*job.sum));
	if (!job.x || !job.sum)
		errx(1, "out of memory");
	if (inc_join(&job.group, NULL))
		errx(1, "%s", inc_errmsg(NULL));
	job.id = inc_rank(job.group);
	run_job(&job);
	printf("rank %llu: all of %llu iterations were right\n", (unsigned long long)job.id,
	       (unsigned long long)job.iter);
	free(job.x);
	free(job.sum);
	if (inc_leave(job.group))
		errx(1, "%s", inc_errmsg(job.group));
	return 0;
}
