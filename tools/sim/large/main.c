// SPDX-License-Identifier: GPL-2.0-only
/*
 * One system of so many ranks: the group forms, reduces a little and a lot, loses nodes in the
 * middle of that, and forms again when they are back. What each of these took, as JSON.
 */
#include <inttypes.h>

#include "large.h"
#include "reduce/reduce.h"
#include "siphash.h"

#define SMALL		8u	/* bytes */
#define FORM_MS		60000u
#define OP_MS		60000u
#define PAGE		4096u

/* What one part of a run took. */
struct took {
	u64 ns;
	u64 packets;		/* on links, by all, and by the node that has most */
	u64 busiest;
	u64 types[__INC_PKT_MAX];
};

static void take(const struct large *sys, u64 begin, struct took *t)
{
	u32 i;

	t->ns = sys->now - begin;
	memcpy(t->types, sys->types, sizeof(t->types));
	for (i = 0; i < __INC_PKT_MAX; i++)
		t->packets += sys->types[i];
	for (i = 0; i < sys->nodes; i++)
		t->busiest = max(t->busiest, sys->node[i].seen.packets);
}

static void form(struct large *sys, struct took *t)
{
	u64 begin = sys->now;
	u32 i;

	count_begin(sys);
	net_await(sys, AWAIT_READY);
	for (i = 0; i < sys->cfg.ranks; i++)
		rank_connect(sys, i);
	net_run(sys, FORM_MS, "forming");
	take(sys, begin, t);
}

static void reduce(struct large *sys, u64 bytes, struct took *t)
{
	u64 begin = sys->now;
	u32 i;

	count_begin(sys);
	net_await(sys, AWAIT_DONE);
	for (i = 0; i < sys->cfg.ranks; i++)
		rank_submit(sys, i, bytes);
	net_run(sys, OP_MS, "an operation");
	take(sys, begin, t);
	for (i = 0; i < sys->cfg.ranks; i++)
		if (sys->rank[i].wrong)
			die(sys, "rank %u has %u wrong results", i, sys->rank[i].wrong);
}

/* Half way through an operation that takes @ns, nodes fall silent: when does the last rank know? */
static void lose_nodes(struct large *sys, u64 ns, struct took *t)
{
	u64 begin = sys->now;
	u32 i;

	net_await(sys, AWAIT_ENDED);
	for (i = 0; i < sys->cfg.ranks; i++)
		rank_submit(sys, i, sys->cfg.bytes);
	net_run_until(sys, begin + ns / 2);
	for (i = 0; i < tree_fails(sys); i++)
		sys->node[tree_failing(sys, i)].silent = true;
	begin = sys->now;
	count_begin(sys);
	net_run(sys, 20 * sys->cfg.dead_ms, "the loss of nodes");
	take(sys, begin, t);
}

/* They come back and know nothing. */
static void restore_nodes(struct large *sys)
{
	u32 i, n;

	for (i = 0; i < tree_fails(sys); i++) {
		n = tree_failing(sys, i);
		sys->node[n].silent = false;
		node_forget(sys, n);
	}
}

/*
 * Bytes at the node that has most: the table of members, slots in use, what is set aside, and of
 * that the pages in which something has been written.
 */
struct state {
	u64 table, slots, reserved, written;
};

static u64 written_bytes(const u8 *mem, u64 bytes)
{
	static const u8 zeros[PAGE];
	u64 at, sum = 0;

	for (at = 0; at < bytes; at += PAGE)
		if (memcmp(mem + at, zeros, min_t(u64, bytes - at, PAGE)))
			sum += PAGE;
	return sum;
}

static struct state survey(const struct large *sys)
{
	const struct netinc_group *g;
	struct state s = { 0 };
	u64 bytes;
	u32 i;

	for (i = 0; i < sys->nodes; i++) {
		g = &sys->node[i].groups->g;
		s.slots = max_t(u64, s.slots, sizeof(*sys->node[i].groups) +
					      g->nmembers * sizeof(struct netinc_member) +
					      netinc_agg_bytes(g->agg.children, g->agg.inputs,
							       g->agg.window));
		s.table = max_t(u64, s.table,
				g->cfg.size * (sizeof(struct netinc_member) + sizeof(u64)));
		bytes = netinc_group_bytes(g->cfg.size, sys->cfg.window);
		s.reserved = max(s.reserved, bytes);
		s.written = max(s.written, written_bytes(sys->node[i].groups->mem, bytes));
	}
	return s;
}

/* A packet without payload from a host to the root, and back. */
static u64 ping(const struct large *sys)
{
	return 2 * sys->levels * (link_time(sys, packet_bytes(0)) + sys->cfg.delay_ns);
}

static void print_took(const char *name, const struct took *t)
{
	static const char * const types[__INC_PKT_MAX] = {
		[INC_PKT_CONTRIB] = "contrib", [INC_PKT_RESULT] = "result",
		[INC_PKT_PROBE] = "probe", [INC_PKT_STATUS] = "status", [INC_PKT_NACK] = "nack",
		[INC_PKT_ERROR] = "error", [INC_PKT_JOIN] = "join",
		[INC_PKT_CHALLENGE] = "challenge", [INC_PKT_WAIT] = "wait",
		[INC_PKT_READY] = "ready", [INC_PKT_REFUSE] = "refuse", [INC_PKT_ABORT] = "abort",
	};
	u32 i;

	printf("\"%s\": {\"ns\": %" PRIu64 ", \"packets\": %" PRIu64 ", \"busiest\": %" PRIu64,
	       name, t->ns, t->packets, t->busiest);
	for (i = 0; i < __INC_PKT_MAX; i++)
		if (types[i])
			printf(", \"%s\": %" PRIu64, types[i], t->types[i]);
	printf("}, ");
}

static void run(struct large *sys)
{
	struct took formed = { 0 }, small = { 0 }, large = { 0 }, lost = { 0 }, again = { 0 };
	struct state state;
	u32 i;

	tree_make(sys);
	for (i = 0; i < sys->nodes; i++)
		node_start(sys, i);
	form(sys, &formed);
	reduce(sys, SMALL, &small);
	reduce(sys, sys->cfg.bytes, &large);
	state = survey(sys);
	if (tree_fails(sys)) {
		lose_nodes(sys, large.ns, &lost);
		restore_nodes(sys);
		form(sys, &again);
		reduce(sys, SMALL, &(struct took){ 0 });
	}
	printf("{\"ranks\": %u, \"nodes\": %u, \"levels\": %u, \"fan_in\": %u, \"window\": %u, ",
	       sys->cfg.ranks, sys->nodes, sys->levels, sys->cfg.fan_in, sys->cfg.window);
	printf("\"ping_ns\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"link_ns\": %" PRIu64
	       ", \"blocks\": %" PRIu64 ", ",
	       ping(sys), sys->cfg.bytes, link_time(sys, sys->cfg.bytes),
	       sys->rank[0].op.blocks);
	printf("\"dead_ms\": %u, \"failed\": %u, ", sys->cfg.dead_ms, tree_fails(sys));
	print_took("form", &formed);
	print_took("small", &small);
	print_took("large", &large);
	print_took("lost", &lost);
	print_took("again", &again);
	printf("\"slots\": %" PRIu64 ", \"table\": %" PRIu64 ", \"reserved\": %" PRIu64
	       ", \"written\": %" PRIu64 ", \"child\": %zu, \"events\": %" PRIu64 "}\n",
	       state.slots, state.table, state.reserved, state.written,
	       sizeof(struct netinc_child), sys->steps);
}

static void clean(struct large *sys)
{
	u32 i;

	net_drop(sys);
	for (i = 0; i < sys->nodes; i++)
		node_forget(sys, i);
	if (sys->loads)
		die(sys, "%" PRIu64 " blocks leak", sys->loads);
	free(sys->node);
	free(sys->rank);
	free(sys->heap);
}

static u32 read_number(const char *name, const char *text, u64 least, u64 most)
{
	char *end = NULL;
	u64 n = text ? strtoull(text, &end, 10) : 0;

	if (text && *text && !*end && *text != '-' && n >= least && n <= most)
		return (u32)n;
	fprintf(stderr, "inc-large: %s '%s': expected a number, %" PRIu64 " .. %" PRIu64 "\n",
		name, text ?: "", least, most);
	exit(2);
}

static void parse(struct large_cfg *cfg, int argc, char **argv)
{
	u32 bytes = (u32)cfg->bytes;
	const struct {
		const char *name;
		u32 *value;
		u32 least, most;
	} known[] = {
		{ "--ranks", &cfg->ranks, 1, INC_MAX_RANKS },
		{ "--fan-in", &cfg->fan_in, 2, INC_MAX_RANKS },
		{ "--window", &cfg->window, INC_MIN_WINDOW, INC_MAX_WINDOW },
		{ "--dead-ms", &cfg->dead_ms, NETINC_MIN_DEAD_MS, NETINC_MAX_DEAD_MS },
		{ "--bytes", &bytes, 8, 1u << 30 },
		{ "--delay-ns", &cfg->delay_ns, 0, 1000000000 },
		{ "--mbit", &cfg->mbit, 1, 1000000 },
		{ "--fail-permille", &cfg->fail_permille, 0, 1000 },
		{ "--far-mbit", &cfg->far_mbit, 0, 1000000 },
		{ "--far-delay-us", &cfg->far_delay_us, 0, 1000000 },
		{ "--far-loss", &cfg->far_loss, 0, 10000 },
		{ "--far-queue-us", &cfg->far_queue_us, 0, 10000000 },
		{ "--seed", &cfg->seed, 1, 0xffffffff },
		{ "--ops", &cfg->ops, 1, 1000 },
	};
	u32 k;
	int i;

	for (i = 1; i < argc; i += 2) {
		for (k = 0; k < ARRAY_SIZE(known) && strcmp(argv[i], known[k].name); k++)
			;
		if (k == ARRAY_SIZE(known)) {
			fprintf(stderr, "inc-large: '%s': not an option; tools/sim/scale --help\n",
				argv[i]);
			exit(2);
		}
		*known[k].value = read_number(argv[i], argv[i + 1], known[k].least, known[k].most);
	}
	cfg->bytes = bytes & ~7u;
	if (cfg->window & (cfg->window - 1)) {
		fprintf(stderr, "inc-large: --window %u: expected a power of two\n", cfg->window);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	static struct large sys = {
		.cfg = { .ranks = 100, .fan_in = 32, .window = 128, .dead_ms = 1000,
			 .block = 1408, .bytes = 262144, .delay_ns = 5000, .mbit = 1000,
			 .fail_permille = 10, .far_queue_us = 1000000, .seed = 1, .ops = 4 },
	};

	parse(&sys.cfg, argc, argv);
	netinc_reduce_init(netinc_cpu_features());
	if (sys.cfg.far_mbit)
		sites_run(&sys);
	else
		run(&sys);
	clean(&sys);
	return 0;
}
