// SPDX-License-Identifier: GPL-2.0-only
/*
 * inc plan: how long an allreduce would take at the places where it could be reduced, by the model
 * in cost.c. The topology is in a file, or is the way up to the root as `inc topo` finds it.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "names.h"
#include "plan.h"
#include "print.h"
#include "tool.h"
#include "topo.h"

static const char usage[] =
	"Usage: inc plan show file FILE [bytes BYTES] [type TYPE] [rate RATE] [delay TIME] [used PERCENT]\n"
	"       inc plan show|apply [at ADDR] [port PORT] [ranks N] [local N] [bytes BYTES] [type TYPE] [rate RATE]\n"
	"               [used PERCENT] [key HEX|@FILE] [timeout MS]\n"
	"Predicts what an allreduce takes in the tree of nodes, at one node, and at hosts, and what these need.\n"
	"FILE:    a topology, - for stdin: lines `node NAME [ABOVE] [KEY VALUE]...` and `host NAME ABOVE [KEY VALUE]...`,\n"
	"         of its link upwards: rate, delay, used; of a node: memory, groups, window, load (man inc)\n"
	"ADDR:    the first node of the way up that is asked; by default this network namespace's parent\n"
	"ranks:   of the group, default 8; local: as many are below the first node, default half of them\n"
	"bytes:   of the vector, default 1M; type: as it travels, default f32\n"
	"rate:    of links of which nothing is said, default 1gbit; delay: likewise, one way, default 5us\n"
	"PERCENT: of the rate, that others use, default 0\n"
	"apply:   the best one of those that a parent can say becomes this network namespace's\n"
	"Exit status 0: there is one that fits, 2: there is none.\n";

#define MAX_PLANS	(COST_MAX_PLACES + 3)

static struct cost_fabric fabric;
static struct cost_plan plans[MAX_PLANS];
static int nplans;

/* The way up that was found; of a file nothing. */
static const struct hop *found;
static int place_hop[COST_MAX_PLACES];	/* -1: not one of them */

static const char *const type_names[] = {
	"f32", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f64",
	"f8e4m3", "f8e5m2", "mxf8e4m3", "mxf8e5m2", "mxf4e2m1", "mxi8", NULL
};

static const struct {
	uint64_t element, accumulator;
} type_sizes[] = {
	{ 4, 4 }, { 1, 1 }, { 1, 1 }, { 2, 2 }, { 2, 2 }, { 4, 4 }, { 4, 4 }, { 8, 8 }, { 8, 8 },
	{ 2, 4 }, { 2, 4 }, { 8, 8 }, { 1, 4 }, { 1, 4 }, { 33, 132 }, { 33, 132 }, { 17, 136 },
	{ 33, 132 },
};

static const char *const unlimited[] = { "unlimited", NULL };

enum {
	A_FILE, A_AT, A_PORT, A_RANKS, A_LOCAL, A_BYTES, A_TYPE, A_RATE, A_DELAY, A_USED, A_KEY,
	A_TIMEOUT, A_END
};

static struct arg args[A_END + 1];

static void begin_args(void)
{
	static const struct arg all[] = {
		[A_FILE] = { .key = "file", .kind = ARG_TEXT },
		[A_AT] = { .key = "at", .kind = ARG_TEXT },
		[A_PORT] = { .key = "port", .kind = ARG_NUM, .min = 1, .max = 65535 },
		[A_RANKS] = { .key = "ranks", .kind = ARG_NUM, .min = 2, .max = 253, .num = 8 },
		[A_LOCAL] = { .key = "local", .kind = ARG_NUM, .min = 1, .max = 253 },
		[A_BYTES] = { .key = "bytes", .kind = ARG_BYTES, .min = 0, .max = 1ULL << 45,
			      .num = 1 << 20 },
		[A_TYPE] = { .key = "type", .kind = ARG_WORD, .words = type_names },
		[A_RATE] = { .key = "rate", .kind = ARG_RATE, .min = 1000, .max = COST_MAX_RATE,
			     .words = unlimited, .num = 1000000000 },
		[A_DELAY] = { .key = "delay", .kind = ARG_TIME, .min = 0, .max = 60000000,
			      .num = 5 },
		[A_USED] = { .key = "used", .kind = ARG_NUM, .min = 0, .max = 99 },
		[A_KEY] = { .key = "key", .kind = ARG_KEY },
		[A_TIMEOUT] = { .key = "timeout", .kind = ARG_NUM, .min = 10, .max = 60000,
				.num = 1000 },
		[A_END] = { .key = NULL }
	};

	memcpy(args, all, sizeof(args));
}

static struct cost_link default_link(void)
{
	return (struct cost_link){ .rate = args[A_RATE].num ?: COST_MAX_RATE,
				   .delay = args[A_DELAY].num, .used = args[A_USED].num };
}

/* ---- The way up as a topology ----------------------------------------------- */

static struct cost_place *add_place(bool host, int above, int hop, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static struct cost_place *add_place(bool host, int above, int hop, const char *fmt, ...)
{
	struct cost_place *p = &fabric.places[fabric.n];
	va_list ap;

	*p = (struct cost_place){ .host = host, .above = above, .link = default_link(),
				  .memory = COST_UNKNOWN, .groups = COST_UNKNOWN,
				  .window = COST_UNKNOWN };
	va_start(ap, fmt);
	vsnprintf(p->name, sizeof(p->name), fmt, ap);
	va_end(ap);
	place_hop[fabric.n++] = hop;
	return p;
}

/* What the node has told of itself. */
static void add_about(struct cost_place *p, const struct hop *h)
{
	const struct inc_about *a = &h->about;
	uint32_t groups = ntohl(a->groups), max = ntohl(a->max_groups);

	if (h->state != HOP_TOLD)
		return;
	p->window = ntohs(a->window);
	if (a->flags & INC_ABOUT_TENANT)
		return;
	p->memory = be64toh(a->memory_left);
	p->groups = max > groups ? max - groups : 0;
	if (h->load_known)
		p->load = h->load < 999 ? h->load : 999;
}

/* From here to a node, one way; the way to a node is longer than that to the one below it. */
static uint64_t delay_of(const int *way, int i)
{
	uint64_t here = found[way[i]].rtt, below = i ? found[way[i - 1]].rtt : 0;

	return here > below ? (here - below) / 2 : 0;
}

static void add_hosts(int node, int n, uint64_t delay)
{
	while (n-- > 0)
		add_place(true, node, -1, "a rank")->link.delay = delay;
}

/*
 * All ranks but the local ones are taken to be behind nodes like the first one, beside it; what is
 * known of a node's other children is their number only.
 */
static void build_tree(const int *way, int n, int ranks, int local)
{
	uint64_t delay = delay_of(way, 0);
	int i, first, node;

	fabric.n = 0;
	for (i = n - 1; i >= 0; i--) {
		const struct hop *h = &found[way[i]];
		struct cost_place *p = add_place(false, fabric.n - 1, way[i], "%s",
						 ask_text(&h->at));

		add_about(p, h);
		if (i < n - 1)
			p->link.delay = delay_of(way, i + 1);
	}
	first = fabric.n - 1;
	add_hosts(first, n > 1 ? local : ranks, delay);
	for (ranks -= local; n > 1 && ranks > 0; ranks -= local) {
		node = fabric.n;
		fabric.places[node] = fabric.places[first];
		snprintf(fabric.places[node].name, COST_NAME, "a node beside that one");
		place_hop[fabric.n++] = -1;
		add_hosts(node, ranks < local ? ranks : local, delay);
	}
}

static int discover_fabric(void)
{
	struct arg no_dev = { 0 };
	struct ask_target first;
	int way[TOPO_MAX_HOPS], n = 0, at, hops, err = 0;
	int ranks = (int)args[A_RANKS].num, local;

	if (args[A_AT].given) {
		first = (struct ask_target){ .port = args[A_PORT].given ?
							     (uint16_t)args[A_PORT].num :
							     ask_own_port() };
		err = ask_given(&first, args[A_AT].text, &no_dev);
	}
	if (!err)
		err = topo_find(args[A_AT].given ? &first : NULL, args[A_KEY].key_bytes,
				args[A_TIMEOUT].num, &found, &hops);
	if (err)
		return err;
	for (at = 0; at >= 0 && n < COST_MAX_LEVELS && found[at].state >= HOP_NODE;
	     at = found[at].parent)
		way[n++] = at;
	if (!n)
		return refused("%s: no node answers", ask_place(&found[0].at));
	local = args[A_LOCAL].given ? (int)args[A_LOCAL].num : (ranks + 1) / 2;
	if (local > ranks)
		return usage_error("local %d: expected at most the number of ranks, %d", local,
				   ranks);
	if ((ranks + local - 1) / local + ranks + n > COST_MAX_PLACES)
		return usage_error("local %d: expected more, or fewer ranks", local);
	build_tree(way, n, ranks, local);
	return 0;
}

/* ---- Placements ------------------------------------------------------------- */

static void add_plans(const struct cost_job *job)
{
	int i;

	nplans = 0;
	cost_tree(&fabric, job, &plans[0]);
	/* of one node that is what follows */
	nplans = plans[0].nodes != 1 || plans[0].lack;
	for (i = 0; i < fabric.n; i++)
		if (!fabric.places[i].host && (!found || place_hop[i] >= 0))
			cost_node(&fabric, job, i, &plans[nplans++]);
	cost_host(&fabric, job, &plans[nplans++]);
	cost_edge(&fabric, job, &plans[nplans++]);
}

/* The index of the fastest one that fits, the first of several; -1: none. */
static int best_plan(void)
{
	int i, best = -1;

	for (i = 0; i < nplans; i++)
		if (!plans[i].lack && (best < 0 || plans[i].seconds < plans[best].seconds))
			best = i;
	return best;
}

static const char *const kinds[] = {
	[COST_TREE] = "tree", [COST_NODE] = "node", [COST_HOST] = "host", [COST_EDGE] = "edge",
};

static const char *const lacks[] = {
	[COST_FITS] = "", [COST_NO_MEMORY] = "has too little memory left",
	[COST_NO_GROUP] = "takes no more groups", [COST_TOO_DEEP] = "too many nodes above a rank",
	[COST_NO_ROOT] = "no node above all ranks has room",
	[COST_NOT_LOST] = "groups go there when they lose their node",
};

/* Whatever takes longer than 30000 years takes that long. */
static uint64_t in_us(double seconds)
{
	return seconds < 1000000000000.0 ? (uint64_t)(seconds * 1000000 + 0.5) :
					   1000000000000000000;
}

static void show_needs(const struct cost_plan *plan)
{
	const char *at = fabric.places[plan->at].name;
	char text[160];

	if (plan->kind == COST_TREE)
		snprintf(text, sizeof(text),
			 "every rank and node has the node above it as its parent, up to %s", at);
	else if (plan->kind == COST_NODE)
		snprintf(text, sizeof(text), "every rank has %s as its parent", at);
	else if (plan->kind == COST_HOST)
		snprintf(text, sizeof(text), "every rank has INC_PARENT=edge:ADDR, that of %s", at);
	else
		snprintf(text, sizeof(text), "nodes have fallback edge");
	out_str("needs", "  %s\n", text);
}

static void show_slowest(const struct cost_plan *plan)
{
	const struct cost_place *lower = &fabric.places[plan->link];

	if (plan->link < 0)
		return;
	out_str("link", "; link %s", lower->name);
	out_str("link_above", " - %s", fabric.places[lower->above].name);
	out_str("direction", " carries %s", plan->up ? "up" : "down");
	out_num("link_bytes", " %s", plan->carried, UNIT_BYTES);
}

static void show_lack(const struct cost_plan *plan)
{
	bool named = plan->lack == COST_NO_MEMORY || plan->lack == COST_NO_GROUP;

	if (!plan->lack)
		return;
	out_text(": cannot be");
	if (named)
		out_str("lacking_node", ": %s", fabric.places[plan->lacks].name);
	out_str("lacks", named ? " %s" : ": %s", lacks[plan->lack]);
}

static void show_plan(const struct cost_plan *plan, bool best)
{
	out_open(NULL);
	out_str("placement", "%s", kinds[plan->kind]);
	out_str("at", plan->kind == COST_NODE ? " %s" : NULL, fabric.places[plan->at].name);
	out_bool("possible", NULL, !plan->lack);
	out_bool("best", NULL, best);
	show_lack(plan);
	if (plan->lack != COST_NO_ROOT) {
		out_num("time_us", ": %s", in_us(plan->seconds), UNIT_US);
		out_text("%s", best ? ", best" : "");
		out_num("alpha_us", NULL, in_us(plan->alpha), UNIT_NONE);
		out_num("beta_us", NULL, in_us(plan->beta), UNIT_NONE);
		out_num("gamma_us", NULL, in_us(plan->gamma), UNIT_NONE);
		out_num("window_us", NULL, in_us(plan->window), UNIT_NONE);
		out_num("nodes", plan->kind == COST_TREE ? ", %s nodes" : NULL,
			(uint64_t)plan->nodes, UNIT_NONE);
		out_num("left_out", plan->left_out ? ", %s without room left out" : NULL,
			(uint64_t)plan->left_out, UNIT_NONE);
		out_num("memory", ", memory %s", plan->memory, UNIT_BYTES);
		show_slowest(plan);
	}
	out_text("\n");
	show_needs(plan);
	out_close();
}

/* @here: what comes of it is for this network namespace, and a file may be of another network. */
static int make_plans(int argc, char **argv, bool here)
{
	struct cost_link link;
	struct cost_job job;
	int err, i;

	begin_args();
	err = args_parse(args, argc, argv);
	if (err)
		return err;
	if (here && args[A_FILE].given)
		return usage_error("file: expected the way up from here, which is found without it");
	found = NULL;
	link = default_link();
	for (i = A_AT; args[A_FILE].given && i < A_END; i++)
		if (args[i].given && (i < A_BYTES || i > A_USED))
			return usage_error("%s: not with file", args[i].key);
	if (args[A_DELAY].given && !args[A_FILE].given)
		return usage_error("delay: expected with file; it is measured otherwise");
	if (args[A_PORT].given && !args[A_AT].given)
		return usage_error("port: expected with at");
	err = args[A_FILE].given ? plan_read(args[A_FILE].text, &link, &fabric) : discover_fabric();
	if (err)
		return err;
	job = (struct cost_job){ .bytes = args[A_BYTES].num,
				 .element = type_sizes[args[A_TYPE].num].element,
				 .accumulator = type_sizes[args[A_TYPE].num].accumulator };
	add_plans(&job);
	return 0;
}

static int plan_show(int argc, char **argv)
{
	int err = make_plans(argc, argv, false), best, i;

	if (err)
		return err;
	best = best_plan();
	out_open_list(NULL);
	for (i = 0; i < nplans; i++)
		show_plan(&plans[i], i == best);
	out_close_list();
	out_end();
	return best < 0 ? EXIT_REFUSED : 0;
}

/* The first node of the way up for a tree, the one that was chosen else. */
static int set_parent(const struct cost_plan *plan)
{
	const struct hop *h = &found[plan->kind == COST_TREE ? 0 : place_hop[plan->at]];
	char addr[64], port[8], *words[] = { "parent", "set", addr, "port", port };

	snprintf(addr, sizeof(addr), "%s", ask_place(&h->at));
	snprintf(port, sizeof(port), "%u", h->at.port);
	return run_command(h->at.port == ask_own_port() ? 3 : 5, words);
}

static int plan_apply(int argc, char **argv)
{
	int err = make_plans(argc, argv, true), best;

	if (err)
		return err;
	best = best_plan();
	if (best < 0)
		return refused("no placement has room");
	show_plan(&plans[best], true);
	out_end();
	if (plans[best].kind == COST_HOST)
		return refused("rank 0's host is best, which INC_PARENT says: nothing is set");
	return set_parent(&plans[best]);
}

static const struct command commands[] = {
	{ "show", plan_show }, { "apply", plan_apply }, { NULL, NULL },
};

const struct object object_plan = { .name = "plan", .commands = commands, .usage = usage };
