// SPDX-License-Identifier: MIT
/*
 * Allreduces of random numbers, every element of every result compared with a fold that this
 * program computes itself, along the tree over the ranks (reduction.rst); a worker for tests, with
 * --no-check a benchmark.
 *
 * An element is a hash of seed, iteration, rank and index, so that every rank knows what the others
 * have sent. Buffers stand between guard bytes that must not change; neither must what was sent.
 */
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <inc.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define GUARD		64
#define GUARD_BYTE	0xa5
#define MAX_COUNTS	64
#define CANONICAL_NAN	0x7fc00000u
#define NEVER		UINT32_MAX

struct config {
	struct inc_join_opts join;
	uint64_t counts[MAX_COUNTS];
	unsigned int ncounts;
	int type;
	uint32_t iters, seed, align, flight, start_delay, fail_at, kill_at, delay_at, delay_ms,
		extra, timeout;
	int no_check, inplace, barrier, special, quiet, abort, why; /* set by getopt_long() */
	struct inc_group *inc;
};

/* One operation in flight and its buffers. */
struct slot {
	uint8_t *mem[2];	/* send, recv; with guards */
	uint64_t count;
	uint32_t iter;
	bool busy;
	struct inc_request req;
};

static const char usage[] =
	"usage: inc-allreduce [--group G --rank R --size N] [options]	(or INC_GROUP, INC_RANK, INC_SIZE)\n"
	"  --parent ADDR[:PORT]	the node; default: inc parent show\n"
	"  --timeout MS	for joining\n"
	"  --count C[,C...]	elements, one operation each per iteration (default 1024)\n"
	"  --type i32|f32	default f32\n"
	"  --iters I	default 10\n"
	"  --seed S	default 1; the same at all ranks\n"
	"  --special	f32: a quarter of zeros, subnormals, infinities, NaNs and extremes\n"
	"  --inplace	send and receive in one buffer\n"
	"  --align A	buffers begin A bytes after a page's begin, 0..4095\n"
	"  --nonblock K	keep K operations in flight\n"
	"  --barrier	a barrier after every iteration\n"
	"  --no-check	measure only\n"
	"  --start-delay MS	before joining\n"
	"  --delay-at I:MS	be late in iteration I\n"
	"  --fail-at I	iteration I is to fail; the next ones are not. Prints why\n"
	"  --extra E	submit E elements more in the iteration of --fail-at\n"
	"  --kill-at I	die of SIGKILL in mid-operation\n"
	"  --abort	do not leave, only exit\n"
	"  --quiet\n"
	"  --why	only say whether the network would do it, and if not, why\n";

static uint64_t parse_number(const char *what, const char *text, uint64_t max, char end)
{
	unsigned long long value;
	char *stop;

	errno = 0;
	value = strtoull(text, &stop, 0);
	if (*text < '0' || *text > '9' || (*stop && *stop != end) || errno || value > max)
		errx(2, "--%s %s: expected a number in 0..%llu", what, text,
		     (unsigned long long)max);
	return value;
}

static void parse_counts(struct config *cfg, const char *text)
{
	cfg->ncounts = 0;
	do {
		if (cfg->ncounts == MAX_COUNTS)
			errx(2, "--count: expected %d numbers at most", MAX_COUNTS);
		cfg->counts[cfg->ncounts++] = parse_number("count", text, INC_MAX_COUNT, ',');
		text = strchr(text, ',');
	} while (text++);
}

static void parse_delay(struct config *cfg, const char *text)
{
	const char *colon = strchr(text, ':');

	if (!colon)
		errx(2, "--delay-at %s: expected ITERATION:MS", text);
	cfg->delay_at = parse_number("delay-at", text, NEVER - 1, ':');
	cfg->delay_ms = parse_number("delay-at", colon + 1, 3600000, 0);
}

static void parse_type(struct config *cfg, const char *text)
{
	cfg->type = inc_type_parse(text);
	if (cfg->type < 0)
		errx(2, "--type %s: expected i32 or f32", text);
}

static void parse_text(struct config *cfg, int c)
{
	switch (c) {
	case 'c':
		parse_counts(cfg, optarg);
		break;
	case 't':
		parse_type(cfg, optarg);
		break;
	case 'D':
		parse_delay(cfg, optarg);
		break;
	case 'p':
		cfg->join.parent = optarg;
		break;
	case 'h':
		fputs(usage, stdout);
		exit(0);
	default:
		fputs(usage, stderr);
		exit(2);
	}
}

static void parse_args(struct config *cfg, int argc, char **argv)
{
	const struct number {
		const char *name;
		uint32_t *value;
		uint32_t max;
	} numbers[] = {
		{ "group", &cfg->join.group, UINT32_MAX }, { "rank", &cfg->join.rank, UINT32_MAX },
		{ "size", &cfg->join.size, UINT32_MAX }, { "timeout", &cfg->timeout, 3600000 },
		{ "start-delay", &cfg->start_delay, 3600000 }, { "iters", &cfg->iters, NEVER - 1 },
		{ "seed", &cfg->seed, UINT32_MAX }, { "align", &cfg->align, 4095 },
		{ "nonblock", &cfg->flight, 4096 }, { "fail-at", &cfg->fail_at, NEVER - 1 },
		{ "extra", &cfg->extra, 1 << 20 }, { "kill-at", &cfg->kill_at, NEVER - 1 },
	};
	enum { NUMBERS = ARRAY_SIZE(numbers), OTHERS = 13, FIRST = 1000 };
	struct option options[NUMBERS + OTHERS] = {
		{ "parent", 1, NULL, 'p' }, { "count", 1, NULL, 'c' }, { "type", 1, NULL, 't' },
		{ "delay-at", 1, NULL, 'D' }, { "help", 0, NULL, 'h' },
		{ "special", 0, &cfg->special, 1 }, { "inplace", 0, &cfg->inplace, 1 },
		{ "barrier", 0, &cfg->barrier, 1 }, { "no-check", 0, &cfg->no_check, 1 },
		{ "abort", 0, &cfg->abort, 1 }, { "quiet", 0, &cfg->quiet, 1 },
		{ "why", 0, &cfg->why, 1 },
	};
	const struct number *n;
	int c;

	for (int i = 0; i < NUMBERS; i++)
		options[OTHERS - 1 + i] = (struct option){ numbers[i].name, 1, NULL, FIRST + i };
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c >= FIRST) {
			n = &numbers[c - FIRST];
			*n->value = parse_number(n->name, optarg, n->max, 0);
		} else if (c) {
			parse_text(cfg, c);
		}
	}
	cfg->join.timeout_ms = cfg->timeout;
	if (cfg->type != INC_TYPE_I32 && cfg->type != INC_TYPE_F32 && !cfg->why)
		errx(2, "--type %s: expected i32 or f32", inc_type_name(cfg->type));
	if (optind < argc)
		errx(2, "%s: expected options only", argv[optind]);
}

/* ---- What every rank sends ----------------------------------------------- */

static uint32_t mix_bits(uint32_t x)
{
	x = (x ^ (x >> 16)) * 0x7feb352du;
	x = (x ^ (x >> 15)) * 0x846ca68bu;
	return x ^ (x >> 16);
}

static uint32_t stream_seed(const struct config *cfg, uint32_t iter, uint32_t rank)
{
	return mix_bits(mix_bits(cfg->seed + 0x9e3779b9u * (iter + 1)) + rank);
}

static uint32_t special_float(uint32_t x)
{
	static const uint32_t values[] = {
		0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff,
		0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001, 0x3f800000,
		0xbf800000, 0x33800000,
	};

	return values[x % ARRAY_SIZE(values)];
}

/* Exponents are 2^-16 .. 2^15, so that sums cancel, round and shift, and seldom leave the range. */
static uint32_t element_of(const struct config *cfg, uint32_t stream, uint32_t i)
{
	uint32_t x = mix_bits(stream + i * 0x9e3779b9u);

	if (cfg->type == INC_TYPE_I32)
		return x;
	if (cfg->special && !(x & 3))
		return special_float(x >> 2);
	return (x & 0x807fffffu) | ((111 + ((x >> 23) & 31)) << 23);
}

static void fill_buffer(const struct config *cfg, uint8_t *to, uint64_t count, uint32_t iter)
{
	uint32_t s = stream_seed(cfg, iter, cfg->join.rank), x;

	for (uint64_t i = 0; i < count; i++) {
		x = element_of(cfg, s, i);
		memcpy(to + 4 * i, &x, 4);
	}
}

static uint32_t add_elements(int type, uint32_t a, uint32_t b)
{
	float x, y;

	if (type == INC_TYPE_I32)
		return a + b;
	memcpy(&x, &a, 4);
	memcpy(&y, &b, 4);
	x += y;
	memcpy(&a, &x, 4);
	return a;
}

/* Of ranks [@from, @to): along a binary tree, cut at the largest power of two below its size. */
static uint32_t sum_of(const struct config *cfg, const uint32_t *streams, uint32_t i,
		       uint32_t from, uint32_t to)
{
	uint32_t half = 1;

	if (to - from == 1)
		return element_of(cfg, streams[from], i);
	while (2 * half < to - from)
		half *= 2;
	return add_elements(cfg->type, sum_of(cfg, streams, i, from, from + half),
			    sum_of(cfg, streams, i, from + half, to));
}

static uint32_t expected_sum(const struct config *cfg, const uint32_t *streams, uint32_t i)
{
	uint32_t sum = sum_of(cfg, streams, i, 0, cfg->join.size);

	if (cfg->type == INC_TYPE_F32 && (sum & 0x7fffffff) > 0x7f800000)
		sum = CANONICAL_NAN;
	return sum;
}

/* ---- Buffers ------------------------------------------------------------- */

static uint8_t *data_of(const struct config *cfg, const struct slot *slot, int which)
{
	return slot->mem[which] + 4096 + cfg->align;
}

static size_t mem_size(const struct config *cfg)
{
	uint64_t max = 0;

	for (unsigned int i = 0; i < cfg->ncounts; i++)
		if (cfg->counts[i] > max)
			max = cfg->counts[i];
	return (2 * 4096 + 2 * GUARD + 4 * (max + cfg->extra) + 4095) & ~4095ULL;
}

static void slot_alloc(const struct config *cfg, struct slot *slot)
{
	for (int i = 0; i < 2; i++) {
		slot->mem[i] = aligned_alloc(4096, mem_size(cfg));
		if (!slot->mem[i])
			errx(1, "out of memory: %zu bytes", mem_size(cfg));
		memset(slot->mem[i], GUARD_BYTE, mem_size(cfg));
	}
}

/* Everything that an operation of @count elements may touch, and the guards. */
static void wipe_buffer(const struct config *cfg, const struct slot *slot, int which,
			uint64_t count)
{
	memset(data_of(cfg, slot, which) - GUARD, GUARD_BYTE, 2 * GUARD + 4 * count);
}

static void check_guards(const struct config *cfg, const struct slot *slot, int which)
{
	const uint8_t *data = data_of(cfg, slot, which);

	for (int i = 1; i <= GUARD; i++)
		if (data[-i] != GUARD_BYTE)
			errx(1,
			     "rank %u iteration %u count %llu: byte %d before the buffer was overwritten (seed %u)",
			     cfg->join.rank, slot->iter, (unsigned long long)slot->count, i,
			     cfg->seed);
	for (int i = 0; i < GUARD; i++)
		if (data[4 * slot->count + i] != GUARD_BYTE)
			errx(1,
			     "rank %u iteration %u count %llu: byte %d after the buffer was overwritten (seed %u)",
			     cfg->join.rank, slot->iter, (unsigned long long)slot->count, i,
			     cfg->seed);
}

/* Sums of floats that a tree of nodes makes in its own order have other last bits. */
static const char *error_hint(const struct config *cfg)
{
	struct inc_info info;

	if (cfg->type != INC_TYPE_F32 || inc_info(cfg->inc, &info) || info.order != INC_ORDER_TREE)
		return "";
	return "; this tree of nodes adds in its own order: INC_ORDER=canonical, or --type i32";
}

static void compare_buffer(const struct config *cfg, const struct slot *slot, const char *what,
			   int which, const uint32_t *streams, uint32_t mine)
{
	const uint8_t *data = data_of(cfg, slot, which);
	uint32_t want, got;

	for (uint64_t i = 0; i < slot->count; i++) {
		want = streams ? expected_sum(cfg, streams, i) : element_of(cfg, mine, i);
		memcpy(&got, data + 4 * i, 4);
		if (got != want)
			errx(1,
			     "rank %u of %u iteration %u count %llu: %s[%llu] is 0x%08x, expected 0x%08x (seed %u)%s",
			     cfg->join.rank, cfg->join.size, slot->iter,
			     (unsigned long long)slot->count, what, (unsigned long long)i, got,
			     want, cfg->seed, error_hint(cfg));
	}
}

static void check_slot(const struct config *cfg, struct slot *slot)
{
	uint32_t streams[INC_MAX_RANKS];

	for (uint32_t rank = 0; rank < cfg->join.size; rank++)
		streams[rank] = stream_seed(cfg, slot->iter, rank);
	compare_buffer(cfg, slot, "recv", 1, streams, 0);
	check_guards(cfg, slot, 1);
	if (cfg->inplace)
		return;
	compare_buffer(cfg, slot, "send", 0, NULL, streams[cfg->join.rank]);
	check_guards(cfg, slot, 0);
}

/* ---- The run ------------------------------------------------------------- */

static void pause_ms(uint32_t ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void finish_slot(const struct config *cfg, struct slot *slot, int ret)
{
	if (slot->iter == cfg->fail_at) {
		if (!ret)
			errx(1, "rank %u: iteration %u succeeded: expected it to fail",
			     cfg->join.rank, slot->iter);
		printf("rank %u: iteration %u failed as expected: %s\n", cfg->join.rank, slot->iter,
		       inc_errmsg(cfg->inc));
		fflush(stdout);
	} else if (ret) {
		errx(1, "rank %u: iteration %u count %llu: %s (%s; seed %u)", cfg->join.rank,
		     slot->iter, (unsigned long long)slot->count, inc_errmsg(cfg->inc),
		     strerror(-ret), cfg->seed);
	} else if (!cfg->no_check) {
		check_slot(cfg, slot);
	}
	if (!cfg->no_check)
		wipe_buffer(cfg, slot, 1, slot->count + cfg->extra);
}

static void start_slot(const struct config *cfg, struct slot *slot, uint32_t iter, uint64_t count)
{
	uint8_t *send = data_of(cfg, slot, 0), *recv = data_of(cfg, slot, 1);
	const void *from = cfg->inplace ? INC_IN_PLACE : send;
	uint64_t n = count + (iter == cfg->fail_at ? cfg->extra : 0);
	int ret;

	slot->iter = iter;
	slot->count = count;
	if (!cfg->no_check) {
		wipe_buffer(cfg, slot, 0, n);
		fill_buffer(cfg, cfg->inplace ? recv : send, n, iter);
	}
	slot->busy = cfg->flight || iter == cfg->kill_at;
	if (!slot->busy) {
		finish_slot(cfg, slot,
			    inc_allreduce(cfg->inc, from, recv, n, cfg->type, INC_OP_SUM));
		return;
	}
	ret = inc_iallreduce(cfg->inc, from, recv, n, cfg->type, INC_OP_SUM, &slot->req);
	if (ret)
		errx(1, "rank %u: submit: %s", cfg->join.rank, inc_errmsg(cfg->inc));
	if (iter == cfg->kill_at)
		raise(SIGKILL);
}

static void drain_slot(const struct config *cfg, struct slot *slot)
{
	if (slot->busy)
		finish_slot(cfg, slot, inc_wait(&slot->req, -1));
	slot->busy = false;
}

static void run_all(const struct config *cfg)
{
	unsigned int nslots = cfg->flight ? cfg->flight : 1;
	struct slot *slots = calloc(nslots, sizeof(*slots));
	uint64_t op = 0;

	if (!slots)
		errx(1, "out of memory");
	for (unsigned int i = 0; i < nslots; i++)
		slot_alloc(cfg, &slots[i]);
	for (uint32_t iter = 0; iter < cfg->iters; iter++) {
		if (iter == cfg->delay_at)
			pause_ms(cfg->delay_ms);
		for (unsigned int i = 0; i < cfg->ncounts; i++, op++) {
			drain_slot(cfg, &slots[op % nslots]);
			start_slot(cfg, &slots[op % nslots], iter, cfg->counts[i]);
		}
		if (cfg->barrier && inc_barrier(cfg->inc))
			errx(1, "rank %u: iteration %u: %s", cfg->join.rank, iter,
			     inc_errmsg(cfg->inc));
	}
	for (unsigned int i = 0; i < nslots; i++, op++)
		drain_slot(cfg, &slots[op % nslots]);
	for (unsigned int i = 0; i < nslots; i++) {
		free(slots[i].mem[0]);
		free(slots[i].mem[1]);
	}
	free(slots);
}

static void report_rate(const struct config *cfg, double seconds)
{
	uint64_t ops = (uint64_t)cfg->iters * cfg->ncounts, elements = 0;

	for (unsigned int i = 0; i < cfg->ncounts; i++)
		elements += cfg->counts[i];
	if (cfg->quiet || !ops)
		return;
	printf("rank %u of %u: %llu allreduces of %s, %llu elements each on average: ",
	       cfg->join.rank, cfg->join.size, (unsigned long long)ops, inc_type_name(cfg->type),
	       (unsigned long long)(elements / cfg->ncounts));
	printf("%s; %.1f us per operation, %.1f MB/s; seed %u\n",
	       cfg->no_check ? "not checked" : "every element right", seconds / ops * 1e6,
	       4.0 * elements * cfg->iters / seconds / 1e6, cfg->seed);
}

static int say_why(const struct config *cfg)
{
	char reason[256];
	int ret = inc_why(NULL, INC_COLL_ALLREDUCE, cfg->type, INC_OP_SUM, cfg->counts[0], reason,
			  sizeof(reason));

	printf("%s\n", reason);
	return ret ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct config cfg = {
		.counts = { 1024 }, .ncounts = 1, .type = INC_TYPE_F32, .iters = 10,
		.seed = 1, .fail_at = NEVER, .kill_at = NEVER, .delay_at = NEVER,
	};
	double begin;

	parse_args(&cfg, argc, argv);
	if (cfg.why)
		return say_why(&cfg);
	pause_ms(cfg.start_delay);
	if (inc_join(&cfg.inc, &cfg.join))
		errx(1, "%s", inc_errmsg(NULL));
	cfg.join.rank = inc_rank(cfg.inc);
	cfg.join.size = inc_size(cfg.inc);
	begin = now();
	run_all(&cfg);
	report_rate(&cfg, now() - begin);
	if (cfg.abort)
		return 0;
	if (inc_leave(cfg.inc))
		errx(1, "%s", inc_errmsg(cfg.inc));
	return 0;
}
