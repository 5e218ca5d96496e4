// SPDX-License-Identifier: GPL-2.0-only
/* Options. */
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll.h"

static const char usage[] =
	"usage: inc-coll [--group G --rank R --size N] [options]	(or INC_GROUP, INC_RANK, INC_SIZE)\n"
	"Random collectives, every element compared with what it must be. All ranks are given the same options.\n"
	"  --parent ADDR[:PORT]	the node; default: inc parent show\n"
	"  --timeout MS	for joining\n"
	"  --seed S	of all that is random (default 1)\n"
	"  --ops N	how many operations (default 100)\n"
	"  --until FILE	go on after these until rank 0 finds FILE\n"
	"  --first N	begin with this one, to repeat what has failed\n"
	"  --max N	elements of a buffer, more or less (default 2000)\n"
	"  --flight K	operations under way at once, 1..64 (default 4)\n"
	"  --zeros P	so many percent of the elements are 0, in runs; default: of one operation in three some\n"
	"  --late MS	be late by up to this before one operation in eight, every rank before others\n"
	"  --coll NAME[,NAME]	only these collectives; --type and --op likewise\n"
	"  --count C[,C]	only these counts\n"
	"  --tree T	the group has several nodes: ranks and, in brackets, what a node below has\n"
	"	folded, in the order of lowest ranks: (0,1),(2,(3,4)),5\n"
	"  --errors	instead: what must fail, does it everywhere, and does the group work afterwards\n"
	"  --quiet\n";

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
	for (cfg->ncounts = 0; text; text = strchr(text, ',') ? strchr(text, ',') + 1 : NULL) {
		if (cfg->ncounts == ARRAY_SIZE(cfg->counts))
			errx(2, "--count: expected %zu numbers at most", ARRAY_SIZE(cfg->counts));
		cfg->counts[cfg->ncounts++] = parse_number("count", text, INC_MAX_COUNT, ',');
	}
}

static uint32_t parse_set(const char *what, char *text, int (*parse)(const char *name))
{
	uint32_t set = 0;
	int n;

	for (char *name = strtok(text, ","); name; name = strtok(NULL, ",")) {
		n = parse(name);
		if (n < 0)
			errx(2, "--%s: no such name: \"%s\"", what, name);
		set |= 1u << n;
	}
	return set;
}

static void parse_text(struct config *cfg, int c)
{
	switch (c) {
	case 'c':
		cfg->colls = parse_set("coll", optarg, inc_coll_parse);
		break;
	case 't':
		cfg->types = parse_set("type", optarg, inc_type_parse);
		break;
	case 'o':
		cfg->reductions = parse_set("op", optarg, inc_op_parse);
		break;
	case 'n':
		parse_counts(cfg, optarg);
		break;
	case 'p':
		cfg->join.parent = optarg;
		break;
	case 'T':
		cfg->tree = optarg;
		break;
	case 'u':
		cfg->until = optarg;
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
	uint32_t timeout = 0;
	const struct number {
		const char *name;
		uint32_t *value;
		uint32_t max;
	} numbers[] = {
		{ "group", &cfg->join.group, UINT32_MAX },
		{ "rank", &cfg->join.rank, MAX_RANKS - 1 }, { "size", &cfg->join.size, MAX_RANKS },
		{ "timeout", &timeout, 3600000 }, { "seed", &cfg->seed, UINT32_MAX },
		{ "ops", &cfg->ops, 1 << 30 }, { "first", &cfg->first, 1 << 30 },
		{ "max", &cfg->max, 1 << 28 }, { "flight", &cfg->flight, MAX_FLIGHT },
		{ "late", &cfg->late, 60000 }, { "zeros", &cfg->zeros, 100 },
	};
	enum { NUMBERS = ARRAY_SIZE(numbers), OTHERS = 11, FIRST = 1000 };
	struct option options[NUMBERS + OTHERS] = {
		{ "coll", 1, NULL, 'c' }, { "type", 1, NULL, 't' }, { "op", 1, NULL, 'o' },
		{ "count", 1, NULL, 'n' }, { "parent", 1, NULL, 'p' }, { "tree", 1, NULL, 'T' },
		{ "until", 1, NULL, 'u' }, { "help", 0, NULL, 'h' },
		{ "errors", 0, &cfg->errors, 1 }, { "quiet", 0, &cfg->quiet, 1 },
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
	cfg->join.timeout_ms = timeout;
	if (optind < argc)
		errx(2, "%s: expected options only", argv[optind]);
	if (!cfg->flight)
		errx(2, "--flight 0: expected 1..%d", MAX_FLIGHT);
}

/* Each rank once, brackets in pairs. */
static void check_tree(const char *tree, uint32_t size)
{
	bool seen[MAX_RANKS] = { false };
	const char *at = tree;
	unsigned long rank;
	uint32_t n = 0;
	int depth = 0;
	char *end;

	while (*at) {
		for (; *at == '('; at++)
			depth++;
		rank = strtoul(at, &end, 10);
		if (end == at || *at < '0' || *at > '9' || rank >= size || seen[rank])
			errx(2, "--tree %s: expected a rank below %u, each once, at \"%s\"", tree,
			     size, at);
		seen[rank] = true;
		n++;
		for (at = end; *at == ')'; at++)
			depth--;
		if (depth < 0 || (*at && *at++ != ','))
			errx(2, "--tree %s: expected a comma or the end at \"%s\"", tree, end);
	}
	if (depth || n != size)
		errx(2, "--tree %s: expected %u ranks and brackets in pairs", tree, size);
}

/* The block's size decides which counts are interesting; it is the same at all ranks. */
static void join_group(struct config *cfg)
{
	struct inc_info info;

	if (inc_join(&cfg->inc, &cfg->join))
		errx(1, "%s", inc_errmsg(NULL));
	cfg->join.rank = inc_rank(cfg->inc);
	cfg->join.size = inc_size(cfg->inc);
	if (inc_info(cfg->inc, &info))
		errx(1, "%s", inc_errmsg(cfg->inc));
	if (cfg->join.size > MAX_RANKS)
		errx(2, "a group of %u: expected %d ranks at most", cfg->join.size, MAX_RANKS);
	cfg->block = info.block;
	if (cfg->tree)
		check_tree(cfg->tree, cfg->join.size);
}

int main(int argc, char **argv)
{
	struct config cfg = {
		.seed = 1, .ops = 100, .max = 2000, .flight = 4, .zeros = DRAWN,
		.colls = ~0u, .types = ~0u, .reductions = ~0u,
	};

	parse_args(&cfg, argc, argv);
	join_group(&cfg);
	if (cfg.errors)
		run_errors(&cfg);
	else
		run(&cfg);
	if (inc_leave(cfg.inc))
		errx(1, "%s", inc_errmsg(cfg.inc));
	return 0;
}
