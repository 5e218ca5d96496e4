// SPDX-License-Identifier: GPL-2.0-only
/* Many seeds, one run each; the first that fails is printed with the command that replays it. */
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#include "reduce/reduce.h"
#include "sim.h"
#include "siphash.h"

#define MAX_STEPS	20000000ull

static struct sim *running;	/* for the signal handler */
static const char *program;

void sim_trace(struct sim *sim, const char *fmt, ...)
{
	va_list ap;

	if (!sim->trace)
		return;
	printf("%10" PRIu64 " ", sim->now);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

void sim_fail(struct sim *sim, const char *fmt, ...)
{
	va_list ap;

	printf("# seed %" PRIu64 ", %" PRIu64 " us, round %u: ", sim->seed, sim->now, sim->round);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	longjmp(*sim->bail, 1);
}

static void on_abort(int sig)
{
	char text[160];
	int n = snprintf(text, sizeof(text), "# replay: %s --seed %" PRIu64 " --runs 1 -v\n", program,
			 running ? running->seed : 0);

	fflush(stdout);
	if (write(STDOUT_FILENO, text, n) != n)
		_exit(3);
	signal(sig, SIG_DFL);
	raise(sig);
}

static bool all_finished(const struct sim *sim)
{
	u32 i;

	for (i = 0; i < sim->plan.hosts; i++)
		if (!sim->host[i].finished)
			return false;
	return true;
}

/* When everything has to be over: nothing goes wrong any more, all have begun, all pauses have been made. */
static u64 deadline(const struct sim *sim)
{
	const struct plan *p = &sim->plan;
	u64 begin = sim->round_begin + p->round[sim->round].fault_at + p->round[sim->round].pause;
	u32 i;

	for (i = 0; i < p->hosts; i++)
		begin = max(begin, sim->round_begin + p->start[i]);
	return max(begin, p->calm) + (u64)p->round[sim->round].nops * (p->think + 20 * p->base_delay) +
	       plan_blocks(sim) * (2 * p->base_delay + p->jitter) + 6 * p->dead_ms * NETINC_MS + 5 * SIM_SEC;
}

static void not_finished(struct sim *sim, const char *why)
{
	u32 i;

	for (i = 0; i < sim->plan.hosts; i++) {
		const struct host *h = &sim->host[i];

		printf("# rank %u: state %u, epoch %u, %u of %u operations done, una %" PRIu64 ", snd %" PRIu64
		       ", finished %d\n", i, h->ep.state, h->ep.epoch, h->done, h->next, h->ep.una, h->ep.snd,
		       h->finished);
	}
	sim_fail(sim, "%s after %" PRIu64 " steps", why, sim->steps);
}

static void run_round(struct sim *sim, u32 round)
{
	u64 limit;
	u32 i;

	sim->round = round;
	sim->round_begin = sim->now + plan_pause(sim);
	sim->node.silent = false;
	for (i = 0; i < sim->plan.hosts; i++)
		host_start(sim, i);
	if (sim->plan.round[round].fault) {
		sim_at(sim, sim->round_begin + sim->plan.round[round].fault_at, EV_FAULT, 0, NULL);
		sim_at(sim, sim->round_begin + sim->plan.round[round].fault_at + SIM_SEC +
		       5 * sim->plan.dead_ms * NETINC_MS, EV_FAULT, 1, NULL);
	}
	limit = deadline(sim);
	while (!all_finished(sim)) {
		if (!sim_step(sim))
			not_finished(sim, "nothing is left to happen");
		if (sim->now > limit)
			not_finished(sim, "not finished in time");
		if (sim->steps > MAX_STEPS)
			not_finished(sim, "not finished");
	}
	check_round_done(sim);
}

/* Afterwards the node gets rid of the group by itself. */
static void run_out(struct sim *sim)
{
	u64 limit = sim->now + 4 * sim->plan.dead_ms * NETINC_MS + sim->plan.late_delay;

	while (node_has_groups(sim) && sim_step(sim))
		if (sim->now > limit)
			sim_fail(sim, "the node still has the group");
}

static void clean_up(struct sim *sim)
{
	u32 i;

	sim_drop_events(sim);
	for (i = 0; i < SIM_MAX_HOSTS; i++)
		host_free(&sim->host[i]);
	node_free(sim);
	free(sim->heap);
	if (sim->live)
		sim_fail(sim, "%" PRIu64 " datagrams leak", sim->live);
}

static bool run_seed(struct sim *sim, u64 seed, bool trace)
{
	jmp_buf bail;
	u32 r;

	memset(sim, 0, sizeof(*sim));
	sim->seed = seed;
	sim->random = seed;
	sim->trace = trace;
	sim->bail = &bail;
	if (setjmp(bail)) {
		plan_print(sim);	/* what the run had allocated stays: this program is about to end */
		return false;
	}
	plan_make(sim);
	if (trace)
		plan_print(sim);
	node_init(sim);
	for (r = 0; r < sim->plan.rounds; r++)
		run_round(sim, r);
	run_out(sim);
	clean_up(sim);
	return true;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

struct options {
	u64 seed, runs, keep_going;
	double limit;		/* seconds, 0: none */
	bool trace;
};

static void print_usage(int status)
{
	fprintf(status ? stderr : stdout,
		"usage: inc-sim [--seed N] [--runs N] [--seconds N] [--keep-going N] [-v]\n"
		"  one run for each of the seeds N, N + 1, ...; -v prints every packet\n"
		"  --seconds ends earlier, --keep-going ends after N failures instead of the first\n");
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
	if (!*text || *end) {
		fprintf(stderr, "inc-sim: %s '%s': expected a number\n", option, text);
		exit(2);
	}
	return n;
}

static void parse(struct options *o, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-v")) {
			o->trace = true;
		} else if (!strcmp(argv[i], "--help")) {
			print_usage(0);
		} else if (!strcmp(argv[i], "--seed")) {
			o->seed = parse_number(argv[i], argv[i + 1]);
			i++;
		} else if (!strcmp(argv[i], "--runs")) {
			o->runs = parse_number(argv[i], argv[i + 1]);
			i++;
		} else if (!strcmp(argv[i], "--seconds")) {
			o->limit = parse_number(argv[i], argv[i + 1]);
			i++;
		} else if (!strcmp(argv[i], "--keep-going")) {
			o->keep_going = parse_number(argv[i], argv[i + 1]);
			i++;
		} else {
			fprintf(stderr, "inc-sim: '%s': not an option\n", argv[i]);
			print_usage(2);
		}
	}
}

/* What the runs did, so that one sees that they did it. */
static void report(const u64 *totals, u64 runs, u64 steps, double time)
{
	static const struct {
		const char *name;
		u16 counter;
	} shown[] = {
		{ "operations", INC_C_OPS }, { "failed", INC_C_OPS_FAILED }, { "blocks", INC_C_BLOCKS },
		{ "contributions", INC_C_CONTRIBS }, { "sent again", INC_C_CONTRIBS_RESENT },
		{ "results sent again", INC_C_RESULTS_RESENT }, { "PROBE", INC_C_PROBES }, { "NACK", INC_C_NACKS },
		{ "ERROR", INC_C_ERRORS }, { "duplicates", INC_C_DROP_DUPLICATE }, { "stale", INC_C_DROP_STALE },
		{ "other epochs", INC_C_DROP_EPOCH }, { "out of order", INC_C_DROP_ORDER },
		{ "out of memory", INC_C_DROP_MEMORY },
	};
	u32 i;

	printf("# %" PRIu64 " seeds in %.1f s, %.0f seeds/s, %" PRIu64 " events\n#", runs, time, runs / time, steps);
	for (i = 0; i < ARRAY_SIZE(shown); i++)
		printf("%s %" PRIu64 " %s", i ? "," : "", totals[shown[i].counter], shown[i].name);
	printf("\n");
}

int main(int argc, char **argv)
{
	struct options o = { .seed = 1, .runs = 1000, .keep_going = 1 };
	u64 totals[__INC_C_MAX] = { 0 }, failed = 0, runs = 0, steps = 0, i;
	struct sim *sim = malloc(sizeof(*sim));
	double begin = seconds();

	program = argv[0];
	running = sim;
	memset(sim, 0, sizeof(*sim));
	parse(&o, argc, argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGABRT, on_abort);
	signal(SIGSEGV, on_abort);
	netinc_reduce_init(netinc_cpu_features());
	for (; runs < o.runs && failed < o.keep_going; runs++) {
		if (o.limit && seconds() - begin > o.limit)
			break;
		if (!run_seed(sim, o.seed + runs, o.trace)) {
			printf("# replay: %s --seed %" PRIu64 " --runs 1 -v\n", program, o.seed + runs);
			failed++;
		}
		steps += sim->steps;
		for (i = 0; i < __INC_C_MAX; i++)
			totals[i] += sim->totals[i];
	}
	report(totals, runs, steps, seconds() - begin);
	free(sim);
	return failed ? 1 : 0;
}

const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "abort_on_error=1:handle_abort=0";
}
