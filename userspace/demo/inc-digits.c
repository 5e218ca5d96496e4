// SPDX-License-Identifier: GPL-2.0-only
/*
 * Data-parallel training on the handwritten digits. Every step takes a batch; rank r of N computes
 * the gradient of its share, inc_allreduce() sums the N gradients on their way through the network,
 * and every rank takes the same step.
 *
 * --single N does it all in one process: it computes the N shares one after the other and adds them
 * up along the tree that inc.h describes. Both must end with the same weights, bit for bit; --out
 * writes them so that they can be compared.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <inc.h>

#include "data.h"
#include "model.h"

#define RATE	0.1f
#define SEED	1

struct config {
	const char *data, *out, *pause;
	uint32_t group, rank, size, steps, batch, report;
	uint32_t single;	/* so many shares in this process; 0: one rank */
	struct inc_group *inc;
};

static const char usage[] =
	"usage: inc-digits [--rank R --size N [--group G]] [options]	one rank of N (or INC_RANK, INC_SIZE, INC_GROUP)\n"
	"       inc-digits --single N [options]	all N shares in one process, without a network\n"
	"  --data FILE	default: ../share/inc/digits.csv from the program, or digits.csv\n"
	"  --steps S	default 400\n"
	"  --batch B	samples per step over all ranks, default 128\n"
	"  --report K	rank 0 prints every K steps, default 50\n"
	"  --out FILE	write the final weights\n"
	"  --pause FIFO	rank 0 opens FIFO at the end and leaves when its other end is closed\n";

static uint32_t parse_number(const char *what, const char *text, uint32_t min, uint32_t max)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || value < min || value > max)
		errx(2, "--%s %s: expected a number in %u..%u", what, text, min, max);
	return value;
}

static void parse_text(struct config *cfg, int c)
{
	switch (c) {
	case 'd':
		cfg->data = optarg;
		break;
	case 'o':
		cfg->out = optarg;
		break;
	case 'p':
		cfg->pause = optarg;
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
	static const struct option options[] = {
		{ "data", 1, NULL, 'd' }, { "out", 1, NULL, 'o' }, { "pause", 1, NULL, 'p' },
		{ "help", 0, NULL, 'h' }, { "group", 1, NULL, 1000 }, { "rank", 1, NULL, 1001 },
		{ "size", 1, NULL, 1002 }, { "steps", 1, NULL, 1003 }, { "batch", 1, NULL, 1004 },
		{ "report", 1, NULL, 1005 }, { "single", 1, NULL, 1006 }, { NULL, 0, NULL, 0 },
	};
	const struct {
		uint32_t *value, min, max;
	} numbers[] = {
		{ &cfg->group, 0, UINT32_MAX }, { &cfg->rank, 0, INC_MAX_RANKS - 1 },
		{ &cfg->size, 1, INC_MAX_RANKS }, { &cfg->steps, 1, 1000000 },
		{ &cfg->batch, 1, 1000000 }, { &cfg->report, 1, 1000000 },
		{ &cfg->single, 1, INC_MAX_RANKS },
	};
	int c, i;

	while ((c = getopt_long(argc, argv, "", options, &i)) != -1) {
		if (c >= 1000)
			*numbers[c - 1000].value = parse_number(options[i].name, optarg,
								numbers[c - 1000].min,
								numbers[c - 1000].max);
		else
			parse_text(cfg, c);
	}
	if (cfg->single)
		cfg->size = cfg->single;
	if (optind < argc)
		errx(2, "%s: expected options only", argv[optind]);
}

/* Where `make install` puts the data, seen from the program; or else the current directory. */
static const char *default_data(void)
{
	static char path[4096 + 32];
	ssize_t len = readlink("/proc/self/exe", path, 4096);

	while (len > 0 && path[len - 1] != '/')
		len--;
	if (len > 0) {
		strcpy(path + len, "../share/inc/digits.csv");
		if (!access(path, R_OK))
			return path;
	}
	return "digits.csv";
}

/* A fixed walk through the training part, coprime to its size: every sample once per epoch. */
static unsigned int pick_sample(const struct samples *train, uint64_t i)
{
	return (unsigned int)(i * 1009 % train->count);
}

/* The share of rank @rank in step @step's batch. */
static void sum_gradients(const struct config *cfg, const struct data *data,
			  const struct model *model, uint32_t step, uint32_t rank,
			  struct gradient *g)
{
	uint64_t begin = (uint64_t)cfg->batch * rank / cfg->size,
		 end = (uint64_t)cfg->batch * (rank + 1) / cfg->size;

	memset(g, 0, sizeof(*g));
	for (uint64_t i = begin; i < end; i++) {
		unsigned int n = pick_sample(&data->train, (uint64_t)step * cfg->batch + i);

		model_backward(model, data->train.pixels[n], data->train.digit[n], g);
	}
}

/* What the network does: rank 0's share, plus rank 1's, plus ... */
/* Of ranks [@from, @to): along a binary tree, cut at the largest power of two below its size. */
static void sum_alone(const struct config *cfg, const struct data *data, const struct model *model,
		      uint32_t step, uint32_t from, uint32_t to, struct gradient *sum)
{
	struct gradient g;
	float *a = (float *)sum, *b = (float *)&g;
	uint32_t half = 1;

	if (to - from == 1) {
		sum_gradients(cfg, data, model, step, from, sum);
		return;
	}
	while (2 * half < to - from)
		half *= 2;
	sum_alone(cfg, data, model, step, from, from + half, sum);
	sum_alone(cfg, data, model, step, from + half, to, &g);
	for (size_t i = 0; i < GRADIENT_COUNT; i++)
		a[i] += b[i];
}

static void sum_over_ranks(const struct config *cfg, const struct data *data,
			   const struct model *model, uint32_t step, struct gradient *sum)
{
	sum_gradients(cfg, data, model, step, cfg->rank, sum);
	if (inc_allreduce(cfg->inc, INC_IN_PLACE, sum, GRADIENT_COUNT, INC_TYPE_F32, INC_OP_SUM))
		errx(1, "step %u: %s", step, inc_errmsg(cfg->inc));
}

static void report_accuracy(const struct config *cfg, const struct data *data,
			    const struct model *model, uint32_t step, float loss)
{
	unsigned int correct;

	if (cfg->rank || (step % cfg->report && step != cfg->steps))
		return;
	correct = model_correct(model, &data->test);
	printf("step %u/%u: loss %.4f, test accuracy %.2f %% (%u of %u)\n", step, cfg->steps,
	       (double)(loss / (float)cfg->batch), 100.0 * correct / data->test.count, correct,
	       data->test.count);
	fflush(stdout);
}

static void train_model(const struct config *cfg, const struct data *data, struct model *model)
{
	struct model momentum = { .b1 = { 0 } };
	struct gradient sum;

	for (uint32_t step = 0; step < cfg->steps; step++) {
		if (cfg->single)
			sum_alone(cfg, data, model, step, 0, cfg->size, &sum);
		else
			sum_over_ranks(cfg, data, model, step, &sum);
		model_update(model, &momentum, &sum, cfg->batch, RATE);
		report_accuracy(cfg, data, model, step + 1, sum.loss);
	}
}

static void write_weights(const char *path, const struct model *model)
{
	FILE *file = fopen(path, "wb");

	if (!file || fwrite(model, sizeof(*model), 1, file) != 1 || fclose(file))
		err(1, "%s", path);
}

static void join_group(struct config *cfg)
{
	struct inc_join_opts opts = { .group = cfg->group, .rank = cfg->rank, .size = cfg->size };

	if (inc_join(&cfg->inc, cfg->size ? &opts : NULL))
		errx(1, "%s", inc_errmsg(NULL));
	cfg->rank = inc_rank(cfg->inc);
	cfg->size = inc_size(cfg->inc);
}

/* How many blocks the node had to reduce for this, to be compared with the node's own count. */
static void say_blocks(const struct config *cfg)
{
	unsigned int per_block;
	struct inc_info info;

	if (inc_info(cfg->inc, &info))
		errx(1, "%s", inc_errmsg(cfg->inc));
	per_block = info.block / sizeof(float);
	printf("%u steps of %zu f32 in blocks of %u bytes: %llu blocks\n", cfg->steps,
	       GRADIENT_COUNT, info.block,
	       (unsigned long long)cfg->steps * ((GRADIENT_COUNT + per_block - 1) / per_block));
	fflush(stdout);
}

/* The others wait in the barrier, the group lives, until who holds the FIFO has looked at it. */
static void wait_for_reader(const char *path)
{
	char byte;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		err(1, "%s", path);
	while (read(fd, &byte, 1) > 0)
		;
	close(fd);
}

static void leave_group(struct config *cfg)
{
	if (!cfg->rank) {
		say_blocks(cfg);
		if (cfg->pause)
			wait_for_reader(cfg->pause);
	}
	if (inc_barrier(cfg->inc))
		errx(1, "%s", inc_errmsg(cfg->inc));
	if (inc_leave(cfg->inc))
		errx(1, "%s", inc_errmsg(cfg->inc));
}

int main(int argc, char **argv)
{
	struct config cfg = { .steps = 400, .batch = 128, .report = 50 };
	struct model model;
	struct data data;

	parse_args(&cfg, argc, argv);
	data_load(&data, cfg.data ? cfg.data : default_data());
	if (!cfg.single)
		join_group(&cfg);
	model_init(&model, SEED);
	train_model(&cfg, &data, &model);
	if (cfg.out)
		write_weights(cfg.out, &model);
	if (!cfg.single)
		leave_group(&cfg);
	data_free(&data);
	return 0;
}
