// SPDX-License-Identifier: GPL-2.0-only
/*
 * One rank of a measured job: allreduces (f32, sum) of given sizes through one library, or barriers
 * (size 0), every result checked. Rank 0 prints a line of JSON per size.
 *
 * Operations follow one another without a pause; a sample is the time of PER of them at rank 0,
 * divided by PER, and the first WARM samples do not count. All data are small whole numbers, so
 * that every order of summation gives the same sum. STAMPS elements of what is sent are changed
 * before every operation and looked at after it; after the last one of a size every element is.
 *
 * CPU time is that of the whole machine, the guest's if this is one: it is not idle.
 */
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define STAMPS		16
#define MAX_SIZES	64
#define MAX_SAMPLES	100000
#define ROW		1024	/* elements that are all zeros, or not */

struct size {
	size_t bytes;
	unsigned long warm, samples, per;
};

static struct size sizes[MAX_SIZES];
static unsigned int nsizes;
static struct bench_place place;
static bool overlap;
static unsigned int below = 1024, zeros;
static double samples[MAX_SAMPLES];

static const char usage[] =
	"usage: bench-LIBRARY --sizes BYTES:WARM:SAMPLES:PER[,...] [options]\n"
	"  --rank R --size N	which rank of how many, where the library does not know\n"
	"  --parent ADDR	the node or the server\n"
	"  --device DEV	the network device\n"
	"  --dir DIR	a directory that all ranks share\n"
	"  --algorithm NAME	one of the library's\n"
	"  --below N	data are whole numbers from 0 to N - 1, N a power of two; default 1024\n"
	"  --zeros P	so many percent of rows of 4 KiB are zeros, each rank's own; default 0\n"
	"  --overlap	compute while an operation is under way, and say how much longer it took\n";

static unsigned long parse(const char *what, const char *text, char **end)
{
	unsigned long value;

	errno = 0;
	value = strtoul(text, end, 0);
	if (*text < '0' || *text > '9' || errno)
		errx(2, "--%s %s: expected a number", what, text);
	return value;
}

static void parse_sizes(const char *text)
{
	struct size *s;
	char *end;

	do {
		if (nsizes == MAX_SIZES)
			errx(2, "--sizes: expected %d sizes at most", MAX_SIZES);
		s = &sizes[nsizes++];
		s->bytes = parse("sizes", text, &end);
		if (*end++ != ':')
			errx(2, "--sizes %s: expected BYTES:WARM:SAMPLES:PER", text);
		s->warm = parse("sizes", end, &end);
		if (*end++ != ':')
			errx(2, "--sizes %s: expected BYTES:WARM:SAMPLES:PER", text);
		s->samples = parse("sizes", end, &end);
		if (*end++ != ':')
			errx(2, "--sizes %s: expected BYTES:WARM:SAMPLES:PER", text);
		s->per = parse("sizes", end, &end);
		if (*end && *end != ',')
			errx(2, "--sizes %s: expected BYTES:WARM:SAMPLES:PER[,...]", text);
		if (s->bytes % 4 || !s->per || !s->samples || s->samples > MAX_SAMPLES)
			errx(2, "--sizes %s: expected a multiple of 4 bytes and 1..%d samples",
			     text, MAX_SAMPLES);
		text = end + 1;
	} while (*end);
}

static void parse_args(int argc, char **argv)
{
	static const struct option options[] = {
		{ "sizes", 1, NULL, 's' }, { "rank", 1, NULL, 'r' }, { "size", 1, NULL, 'n' },
		{ "parent", 1, NULL, 'p' }, { "device", 1, NULL, 'i' }, { "dir", 1, NULL, 'd' },
		{ "algorithm", 1, NULL, 'a' }, { "overlap", 0, NULL, 'o' },
		{ "below", 1, NULL, 'b' }, { "zeros", 1, NULL, 'z' },
		{ "help", 0, NULL, 'h' }, { 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		char *end = "";

		if (c == 's')
			parse_sizes(optarg);
		else if (c == 'r')
			place.rank = parse("rank", optarg, &end);
		else if (c == 'n')
			place.size = parse("size", optarg, &end);
		else if (c == 'p')
			place.parent = optarg;
		else if (c == 'i')
			place.device = optarg;
		else if (c == 'd')
			place.dir = optarg;
		else if (c == 'a')
			place.algorithm = optarg;
		else if (c == 'b')
			below = parse("below", optarg, &end);
		else if (c == 'z')
			zeros = parse("zeros", optarg, &end);
		else if (c == 'o')
			overlap = true;
		else
			exit((fputs(usage, c == 'h' ? stdout : stderr), c == 'h' ? 0 : 2));
		if (*end)
			errx(2, "%s: expected a number", optarg);
	}
	if (optind < argc || !nsizes)
		errx(2, "expected --sizes and options only: see --help");
	if (!below || (below & (below - 1)))
		errx(2, "--below %u: expected a power of two", below);
	if (zeros > 100)
		errx(2, "--zeros %u: expected a number in 0..100", zeros);
	if (overlap && !library.begin)
		errx(2, "--overlap: %s cannot", library.name);
}

/* ---- Data ---------------------------------------------------------------- */

/* Is the row of element @i one of zeros? As the finalizer of MurmurHash3 has it. */
static bool is_zero(size_t i, int rank)
{
	uint32_t hash = i / ROW * 64 + rank + 1;

	hash = (hash ^ hash >> 16) * 0x85ebca6bu;
	hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
	return (hash ^ hash >> 16) % 100 < zeros;
}

static float value(size_t i, int rank, unsigned long op)
{
	if (zeros && is_zero(i, rank))
		return 0;
	return (i * 31 + rank * 17u + op * 7) & (below - 1);
}

static float expected(size_t i, unsigned long op)
{
	float sum = 0;

	for (int rank = 0; rank < place.size; rank++)
		sum += value(i, rank, op);
	return sum;
}

/* Of few elements each is one. */
static size_t stamps(size_t count)
{
	return count < STAMPS ? count : STAMPS;
}

static size_t stamp_at(size_t count, size_t k)
{
	return k ? k * (count - 1) / (stamps(count) - 1) : 0;
}

static void stamp(float *send, float *recv, size_t count, unsigned long op)
{
	for (size_t k = 0; k < stamps(count); k++) {
		send[stamp_at(count, k)] = value(stamp_at(count, k), place.rank, op);
		recv[stamp_at(count, k)] = -1;
	}
}

static void check_at(const float *recv, size_t i, unsigned long op, size_t count)
{
	if (recv[i] != expected(i, op))
		errx(1, "%s: rank %d: element %zu of %zu is %g, expected %g", library.name,
		     place.rank, i, count, recv[i], expected(i, op));
}

static void check_stamps(const float *recv, size_t count, unsigned long op)
{
	for (size_t k = 0; k < stamps(count); k++)
		check_at(recv, stamp_at(count, k), op, count);
}

static void check_all(const float *recv, size_t count, unsigned long op)
{
	size_t k = 0;

	check_stamps(recv, count, op);
	for (size_t i = 0; i < count; i++) {
		while (k < stamps(count) && stamp_at(count, k) < i)
			k++;
		if (k == stamps(count) || stamp_at(count, k) != i)
			check_at(recv, i, 0, count);
	}
}

/* ---- Time ---------------------------------------------------------------- */

static double clock_seconds(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static double now(void)
{
	return clock_seconds(CLOCK_MONOTONIC);
}

/* Seconds in which processors were idle, all of them together. */
static double idle(void)
{
	unsigned long long user, nice, system, rest, iowait;
	FILE *file = fopen("/proc/stat", "r");
	int got = 0;

	if (file) {
		got = fscanf(file, "cpu %llu %llu %llu %llu %llu", &user, &nice, &system, &rest,
			     &iowait);
		fclose(file);
	}
	if (got != 5)
		errx(1, "/proc/stat: expected a line \"cpu\"");
	return (double)(rest + iowait) / sysconf(_SC_CLK_TCK);
}

static void operation(float *send, float *recv, size_t count, unsigned long op)
{
	if (!count) {
		library.barrier();
		return;
	}
	stamp(send, recv, count, op);
	library.allreduce(send, recv, count);
	check_stamps(recv, count, op);
}

static void print(const struct size *s, double busy, double wall, double ended,
		  unsigned long ops)
{
	printf("{\"library\": \"%s\", \"bytes\": %zu, \"ranks\": %d, \"per\": %lu, \"ops\": %lu, ",
	       library.name, s->bytes, place.size, s->per, ops);
	/* what a profiler outside of a guest knows times by */
	printf("\"ended\": %.6f, ", ended);
	printf("\"wall\": %.9f, \"busy\": %.3f, \"seconds\": [", wall, busy);
	for (unsigned long i = 0; i < s->samples; i++)
		printf("%s%.9f", i ? ", " : "", samples[i]);
	printf("]}\n");
	fflush(stdout);
}

static float *buffer(size_t bytes)
{
	float *mem = aligned_alloc(4096, (bytes + 4096) & ~4095UL);

	if (!mem)
		errx(1, "out of memory: %zu bytes", bytes);
	memset(mem, 0, (bytes + 4096) & ~4095UL);
	return mem;
}

static void measure(const struct size *s)
{
	size_t count = s->bytes / 4;
	float *send = buffer(s->bytes), *recv = buffer(s->bytes);
	unsigned long op = 0;
	double begin = 0, last = 0, was_idle = 0, wall, busy, ended;

	for (size_t i = 0; i < count; i++)
		send[i] = value(i, place.rank, 0);
	library.barrier();
	for (unsigned long sample = 0; sample < s->warm + s->samples; sample++) {
		if (sample == s->warm) {
			was_idle = idle();
			last = now();
			begin = last;
		}
		for (unsigned long i = 0; i < s->per; i++)
			operation(send, recv, count, ++op);
		if (sample >= s->warm) {
			/* a system call in user-mode Linux */
			double end = now();

			samples[sample - s->warm] = (end - last) / s->per;
			last = end;
		}
	}
	ended = clock_seconds(CLOCK_REALTIME);
	wall = last - begin;
	busy = wall * sysconf(_SC_NPROCESSORS_ONLN) - (idle() - was_idle);
	check_all(recv, count, op);
	library.barrier();
	if (!place.rank)
		print(s, busy, wall, ended, s->samples * s->per);
	free(send);
	free(recv);
}

/* ---- Computing while an operation is under way --------------------------- */

static void compute(unsigned long rounds)
{
	uint32_t x = 1;

	for (unsigned long i = 0; i < rounds * 100000; i++) {
		x = x * 1664525 + 1013904223;
		asm("" : "+r" (x));	/* not to be left out */
	}
}

static void print_overlap(const struct size *s, double alone, double during, double after,
			  double op)
{
	printf("{\"library\": \"%s\", \"bytes\": %zu, \"ranks\": %d, ", library.name, s->bytes,
	       place.size);
	printf("\"alone\": %.6f, \"during\": %.6f, \"after\": %.6f, \"operation\": %.6f}\n", alone,
	       during, after, op);
	fflush(stdout);
}

/* How many rounds keep all ranks computing for @seconds at once: they share processors. */
static unsigned long calibrate(double seconds)
{
	unsigned long rounds = 100;
	double begin;
	float took, sum;

	for (;;) {
		library.barrier();
		begin = now();
		compute(rounds);
		library.barrier();
		/* all are to come to the same conclusion */
		took = (now() - begin) / seconds;
		library.allreduce(&took, &sum, 1);
		if (sum > 0.25 * place.size)
			return rounds * place.size / sum;
		rounds *= 2;
	}
}

/* The same work alone and while an operation is under way, which is to have ended by then. */
static void measure_overlap(const struct size *s)
{
	size_t count = s->bytes / 4;
	float *send = buffer(s->bytes), *recv = buffer(s->bytes);
	double begin, alone, during, op, after;
	unsigned long rounds;

	for (size_t i = 0; i < count; i++)
		send[i] = value(i, place.rank, 0);
	library.allreduce(send, recv, count);
	begin = now();
	library.allreduce(send, recv, count);
	op = now() - begin;
	rounds = calibrate(1.2 * op);
	for (unsigned long sample = 0; sample < s->samples; sample++) {
		library.barrier();
		begin = now();
		compute(rounds);
		library.barrier();
		alone = now() - begin;
		stamp(send, recv, count, sample + 1);
		library.barrier();
		begin = now();
		library.begin(send, recv, count);
		compute(rounds);
		during = now() - begin;
		library.end();
		after = now() - begin - during;
		library.barrier();
		during = now() - begin;
		check_stamps(recv, count, sample + 1);
		if (!place.rank)
			print_overlap(s, alone, during, after, op);
	}
	free(send);
	free(recv);
}

int main(int argc, char **argv)
{
	if (library.start)
		library.start(&place, &argc, &argv);
	parse_args(argc, argv);
	if (library.join)
		library.join(&place);
	for (unsigned int i = 0; i < nsizes; i++) {
		if (overlap)
			measure_overlap(&sizes[i]);
		else
			measure(&sizes[i]);
	}
	library.stop();
	return 0;
}
