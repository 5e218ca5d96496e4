// SPDX-License-Identifier: GPL-2.0-only
/* Options, and what comes of the runs; the first that fails is made smaller and can be replayed. */
#include <inttypes.h>
#include <time.h>

#include "reduce/reduce.h"
#include "sim.h"

void print_replay(FILE *to, const struct options *o, u64 seed, const struct overrides *overrides)
{
	fprintf(to, "# replay: %s --seed %" PRIu64 " --runs 1", o->program, seed);
	override_print(to, overrides);
	fprintf(to, " -v\n");
}

double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void print_usage(int status)
{
	FILE *to = status ? stderr : stdout;

	fprintf(to,
		"usage: inc-sim [OPTION...]\n"
		"One run for each of many seeds. The first that fails is made smaller as long as it fails in the same way, and\n"
		"printed with its trace and the command that replays it; the exit status is 1 then.\n\n"
		"  --seed N           the first seed (1)\n"
		"  --runs N           seeds N, N + 1, ... (1000)\n"
		"  --seconds N        end after N seconds even so\n"
		"  --jobs N           in N processes (1)\n"
		"  --progress N       a line every N seconds\n"
		"  --keep-going N     end after N failures instead of the first\n"
		"  --shrink N         take N million events to make it smaller, 0: do not (30)\n"
		"  --override SET     change the plan of the seed: NAME[.ROUND[.STEP]]=VALUE,...\n"
		"  --hostile WHO,...  rank, node, stranger, root: those lie, in every run; none: nobody does (a quarter of the runs)\n"
		"  -v                 print every packet; neither processes nor shrinking\n\n"
		"What can be set; mishaps=N: things go wrong N times at most, spare=N: but not that time, dice=N: other random\n"
		"decisions, only=N: of the rounds, only this one, drop: without this operation, agree: ranks do so about it,\n"
		"tree=N: N nodes in a tree, 0: one node (takes standbys=0, networks=0 and late-ms=0), at=N: all ranks are at that node,\n"
		"shift=N: at another one in round 1, asks=N: ranks that ask for the canonical order, fault-node: to which a fault of a node happens:\n");
	override_names(to);
	exit(status);
}

static u64 parse_number(const char *option, const char *text)
{
	char *end;
	u64 n;

	if (!text) {
		fprintf(stderr, "inc-sim: %s: expected a number after it\n", option);
		exit(2);
	}
	n = strtoull(text, &end, 0);
	if (!*text || *end || *text == '-') {
		fprintf(stderr, "inc-sim: %s '%s': expected a number\n", option, text);
		exit(2);
	}
	return n;
}

static void parse_overrides(struct overrides *o, const char *text)
{
	if (text && override_parse(o, text))
		return;
	fprintf(stderr,
		"inc-sim: --override '%s': expected NAME[.ROUND[.STEP]]=VALUE,...; --help has the names\n",
		text ? text : "");
	exit(2);
}

/* The same as --override hostile=BITS. */
static void parse_hostile(struct overrides *o, const char *text)
{
	static const char * const names[] = { "rank", "node", "stranger", "root" };
	u32 who = 0, i;
	size_t len;

	while (text && strcmp(text, "none")) {
		len = strcspn(text, ",");
		for (i = 0; i < ARRAY_SIZE(names); i++)
			if (strlen(names[i]) == len && !memcmp(names[i], text, len))
				break;
		if (i == ARRAY_SIZE(names))
			break;
		who |= 1u << i;
		text += len;
		if (!*text)
			break;
		text++;
	}
	if (text && (!*text || !strcmp(text, "none")) &&
	    override_set(o, override_of(SET_HOSTILE, 0, 0, who)))
		return;
	fprintf(stderr,
		"inc-sim: --hostile: expected rank, node, stranger, root with commas between them, or none\n");
	exit(2);
}

static void parse(struct options *o, int argc, char **argv)
{
	struct {
		const char *name;
		u64 *number;
		double *seconds;
	} known[] = {
		{ "--seed", &o->seed, NULL }, { "--runs", &o->runs, NULL },
		{ "--seconds", NULL, &o->limit }, { "--jobs", &o->jobs, NULL },
		{ "--progress", NULL, &o->progress }, { "--keep-going", &o->keep_going, NULL },
		{ "--shrink", NULL, &o->shrink },
	};
	u64 value;
	u32 k;
	int i;

	for (i = 1; i < argc; i++) {
		for (k = 0; k < ARRAY_SIZE(known) && strcmp(argv[i], known[k].name); k++)
			;
		if (k < ARRAY_SIZE(known)) {
			value = parse_number(argv[i], argv[i + 1]);
			i++;
			if (known[k].number)
				*known[k].number = value;
			else
				*known[k].seconds = value;
		} else if (!strcmp(argv[i], "-v")) {
			o->trace = true;
		} else if (!strcmp(argv[i], "--help")) {
			print_usage(0);
		} else if (!strcmp(argv[i], "--hostile")) {
			parse_hostile(&o->overrides, argv[i + 1]);
			i++;
		} else if (!strcmp(argv[i], "--override")) {
			parse_overrides(&o->overrides, argv[i + 1]);
			i++;
		} else {
			fprintf(stderr, "inc-sim: '%s': not an option\n", argv[i]);
			print_usage(2);
		}
	}
	if (!o->jobs || o->jobs > SIM_MAX_JOBS || !o->keep_going) {
		fprintf(stderr, "inc-sim: expected 1..%u jobs, and failures to end after\n",
			SIM_MAX_JOBS);
		exit(2);
	}
}

/* What the runs did, so that one sees that they did it. */
static void report(const struct totals *t, double time)
{
	static const struct {
		const char *name;
		u16 counter;
	} shown[] = {
		{ "operations", INC_C_OPS }, { "failed", INC_C_OPS_FAILED },
		{ "blocks", INC_C_BLOCKS }, { "contributions", INC_C_CONTRIBS },
		{ "sent again", INC_C_CONTRIBS_RESENT },
		{ "results sent again", INC_C_RESULTS_RESENT }, { "PROBE", INC_C_PROBES },
		{ "NACK", INC_C_NACKS }, { "ERROR", INC_C_ERRORS },
		{ "duplicates", INC_C_DROP_DUPLICATE }, { "stale", INC_C_DROP_STALE },
		{ "other epochs", INC_C_DROP_EPOCH }, { "out of order", INC_C_DROP_ORDER },
		{ "out of memory", INC_C_DROP_MEMORY }, { "blocks partial", INC_C_BLOCKS_PARTIAL },
		{ "too late", INC_C_DROP_TOO_LATE }, { "moves", INC_C_MOVES },
		{ "contributed from what is retained", INC_C_RETAINED_SENT },
		{ "parts of partials", INC_C_PARTS }, { "blocks of zeros", INC_C_BLOCKS_ZERO },
		{ "packets by multicast", INC_C_MULTICAST },
	};
	u32 i;

	printf("# %" PRIu64 " seeds in %.1f s, %.0f seeds/s, %" PRIu64 " events, %.0f events/s\n#",
	       t->runs, time, t->runs / time, t->steps, t->steps / time);
	for (i = 0; i < ARRAY_SIZE(shown); i++)
		printf("%s %" PRIu64 " %s", i ? "," : "", t->counters[shown[i].counter],
		       shown[i].name);
	printf("\n# nodes or ways lost in %" PRIu64 " lives of groups, %" PRIu64
	       " of which had to go on, %" PRIu64
	       " trees at the edge, %" PRIu64 " lives in trees of nodes, %" PRIu64 " returns to these\n",
	       t->troubled, t->harmless, t->trees, t->deep, t->returns);
	printf("# somebody lies in %" PRIu64 " of them, %" PRIu64
	       " times; %" PRIu64 " other groups go the same way as alone, %" PRIu64
	       " blocks from roots beside one that lies are right\n",
	       t->hostile, t->lies, t->served, t->true_blocks);
}

int main(int argc, char **argv)
{
	static struct options o = {
		.seed = 1, .runs = 1000, .keep_going = 1, .jobs = 1, .shrink = 30,
	};
	static struct totals totals;
	double begin = seconds();

	o.program = argv[0];
	parse(&o, argc, argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	netinc_reduce_init(netinc_cpu_features());
	run_seeds(&o, &totals);
	report(&totals, seconds() - begin);
	if (totals.failed && o.shrink && !o.trace)
		shrink(&o, totals.first);
	return totals.failed ? 1 : 0;
}

const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "abort_on_error=1:handle_abort=0";
}
