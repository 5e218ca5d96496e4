// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two sites: the last leaf and its ranks are at the far one, behind a link that is slow, long and
 * loses packets, of which a seed says which. Operations one behind the other, and what each took.
 */
#include <inttypes.h>

#include "large.h"

#define FORM_MS		60000u
#define OP_MS		600000u

static void make_far(struct large *sys)
{
	struct node *leaf = &sys->node[sys->nodes - 1];

	if (sys->levels < 2)
		die(sys, "one node has no link to another one");
	leaf->up.far = &sys->far[0];
	leaf->down.far = &sys->far[1];
	sys->random = 0x9e3779b97f4a7c15ull * sys->cfg.seed;
}

static void form(struct large *sys)
{
	u32 i;

	net_await(sys, AWAIT_READY);
	for (i = 0; i < sys->cfg.ranks; i++)
		rank_connect(sys, i);
	net_run(sys, FORM_MS, "forming");
}

static u64 reduce(struct large *sys)
{
	u64 begin = sys->now;
	u32 i;

	count_begin(sys);
	net_await(sys, AWAIT_DONE);
	for (i = 0; i < sys->cfg.ranks; i++)
		rank_submit(sys, i, sys->cfg.bytes);
	net_run(sys, OP_MS, "an operation");
	for (i = 0; i < sys->cfg.ranks; i++)
		if (sys->rank[i].wrong)
			die(sys, "rank %u has %u wrong results", i, sys->rank[i].wrong);
	return sys->now - begin;
}

static void print_far(const char *name, const struct far *far)
{
	printf(", \"%s\": {\"packets\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"lost\": %" PRIu64
	       ", \"overflows\": %" PRIu64 ", \"queue_us\": %" PRIu64 "}",
	       name, far->packets, far->bytes, far->lost, far->overflows, far->longest / 1000);
}

static u64 sum_of_ranks(const struct large *sys, enum inc_counter c)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < sys->cfg.ranks; i++)
		sum += sys->rank[i].ep.counters[c];
	return sum;
}

/* What the leaf of the far site and the root have counted, each since the group has formed. */
static void print_op(const struct large *sys, u64 ns)
{
	const u64 *leaf = sys->node[sys->nodes - 1].groups->g.counters;
	const u64 *root = sys->node[LARGE_ROOT].groups->g.counters;
	const struct netinc_cc *cc = &sys->rank[sys->cfg.ranks - 1].ep.cc;

	printf("{\"ns\": %" PRIu64, ns);
	print_far("up", &sys->far[0]);
	print_far("down", &sys->far[1]);
	printf(", \"contribs\": %" PRIu64, leaf[INC_C_CONTRIBS_SENT]);
	printf(", \"resent_up\": %" PRIu64 ", \"resent_down\": %" PRIu64 ", \"probes\": %" PRIu64
	       ", \"nacks\": %" PRIu64 ", \"duplicates\": %" PRIu64 ", \"cuts\": %" PRIu64
	       ", \"cwnd\": %u, \"srtt\": %u, \"result_rtt\": %u, \"least\": %u}",
	       leaf[INC_C_CONTRIBS_RESENT], root[INC_C_RESULTS_RESENT], leaf[INC_C_PROBES],
	       root[INC_C_NACKS], root[INC_C_DROP_DUPLICATE] + leaf[INC_C_DROP_DUPLICATE],
	       sum_of_ranks(sys, INC_C_CWND_CUTS), cc->cwnd, cc->srtt, cc->result_rtt, cc->least);
}

void sites_run(struct large *sys)
{
	u64 rtt = 2ull * sys->cfg.far_delay_us * 1000, ns;
	u32 i;

	tree_make(sys);
	make_far(sys);
	for (i = 0; i < sys->nodes; i++)
		node_start(sys, i);
	form(sys);
	printf("{\"ops\": [");
	for (i = 0; i < sys->cfg.ops; i++) {
		ns = reduce(sys);
		printf("%s", i ? ",\n " : "");
		print_op(sys, ns);
	}
	printf("], \"window\": %u, \"blocks\": %" PRIu64 ", \"bytes\": %" PRIu64
	       ", \"link_ns\": %" PRIu64 ", \"rtt_ns\": %" PRIu64 "}\n",
	       sys->cfg.window, sys->rank[0].op.blocks, sys->cfg.bytes,
	       sys->cfg.bytes * 8000 / sys->cfg.far_mbit, rtt);
}
