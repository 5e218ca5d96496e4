// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cost model of `inc plan`. An operation takes alpha and the longest of three things that go on
 * at once:
 *
 *	alpha	the longest way of a block: for each link on it twice the delay and the time of
 *		a packet, for each node NODE_SECONDS, for the hosts HOST_SECONDS
 *	beta	bytes on a link in one direction over what others leave of its rate, headers
 *		included; of the link where that is longest
 *	gamma	bytes that come to a node, at BYTE_SECONDS each, over what others leave of a
 *		processor
 *	window	W blocks in a round trip
 *
 * What goes over a link is added up from flows. At a tree each rank and each node sends one vector
 * to the next node that takes part, and gets one; nodes send accumulators. At one node each rank
 * does, over all links on the way, and likewise at the host of rank 0. At the edge each rank does
 * with each of T hosts, with a Tth of the vector.
 *
 * The constants are those of the machines in Documentation/performance.rst, of single packets.
 */
#include <string.h>

#include "cost.h"

#define HEADERS		90	/* Ethernet, IPv4, UDP, INC */
#define DESCRIPTOR	32	/* in an operation's first block */
#define BLOCK		1424	/* of an MTU of 1500 */
#define WINDOW		512	/* of a node that nobody has told another one */
#define MAX_TREES	32	/* at the edge */
#define RANK_BYTES	480	/* a node's tables, for each rank of a group */
#define SLOT_BYTES	16	/* twice for each rank and block of the window */

#define NODE_SECONDS	0.00001
#define HOST_SECONDS	0.00002
#define BYTE_SECONDS	0.0000000004

/* A placement while it is added up. */
struct sum {
	const struct cost_fabric *f;
	const struct cost_job *job;
	struct cost_plan *plan;
	double up[COST_MAX_PLACES], down[COST_MAX_PLACES];	/* on the link above a place */
	double in[COST_MAX_PLACES];				/* what a place has to fold */
	bool takes[COST_MAX_PLACES];				/* a node takes part */
	double blocks;
	double packet;		/* bytes of a full one */
	double payload;		/* elements of a block, in bytes */
	uint64_t window;
};

static double larger_of(double a, double b)
{
	return a > b ? a : b;
}

static bool is_below(const struct cost_fabric *f, int place, int node)
{
	for (; place > node; place = f->places[place].above)
		;
	return place == node;
}

int cost_hosts(const struct cost_fabric *f, int at)
{
	int i, n = 0;

	for (i = at; i < f->n; i++)
		n += f->places[i].host && is_below(f, i, at);
	return n;
}

static int first_host(const struct cost_fabric *f)
{
	int i;

	for (i = 0; !f->places[i].host; i++)
		;
	return i;
}

/* The lowest node that all hosts are below. */
static int lowest_common(const struct cost_fabric *f)
{
	int at = f->places[first_host(f)].above;

	while (cost_hosts(f, at) < cost_hosts(f, 0))
		at = f->places[at].above;
	return at;
}

/* @several: nodes pass accumulators to one another, and blocks have room for these. */
static void sum_begin(struct sum *s, const struct cost_fabric *f, const struct cost_job *job,
		      struct cost_plan *plan, bool several)
{
	uint64_t size = several ? job->accumulator : job->element;
	double whole;

	memset(s, 0, sizeof(*s));
	memset(plan, 0, sizeof(*plan));
	s->f = f;
	s->job = job;
	s->plan = plan;
	s->window = WINDOW;
	s->payload = (double)(BLOCK / size * job->element);
	whole = (double)((uint64_t)((double)job->bytes / s->payload));
	s->blocks = whole * s->payload < (double)job->bytes || !job->bytes ? whole + 1 : whole;
	s->packet = HEADERS + (s->blocks > 1 ? (double)(BLOCK / size * size) :
			       DESCRIPTOR + (double)job->bytes);
	plan->lacks = -1;
	plan->link = -1;
}

/* Bytes of a @part of the vector on the wire. */
static double on_wire(const struct sum *s, bool accumulators, double part)
{
	double bytes = (double)s->job->bytes;

	if (accumulators)
		bytes *= (double)s->job->accumulator / (double)s->job->element;
	return part * (bytes + s->blocks * HEADERS + DESCRIPTOR);
}

static double link_rate(const struct cost_link *link)
{
	return (double)link->rate / 8 * (double)(100 - link->used) / 100;
}

/* There and back over one link. */
static double link_round(const struct sum *s, const struct cost_link *link)
{
	return 2 * ((double)link->delay / 1000000 + s->packet / link_rate(link));
}

/* Adds what goes from one place to another, and what comes back; returns the round trip. */
static double add_flow(struct sum *s, int from, int to, double there, double back)
{
	const struct cost_place *places = s->f->places;
	double round = 0;
	int *lower;

	while (from != to) {
		/* places above have lower numbers */
		lower = from > to ? &from : &to;
		s->up[*lower] += lower == &from ? there : back;
		s->down[*lower] += lower == &from ? back : there;
		round += link_round(s, &places[*lower].link);
		*lower = places[*lower].above;
	}
	return round;
}

/* The node that takes what this place sends; -1: none. */
static int next_above(const struct sum *s, int place)
{
	do {
		place = s->f->places[place].above;
	} while (place >= 0 && !s->takes[place]);
	return place;
}

static enum cost_lack find_lack(const struct cost_place *node, uint64_t memory)
{
	if (!node->groups)
		return COST_NO_GROUP;
	return node->memory < memory ? COST_NO_MEMORY : COST_FITS;
}

static uint64_t node_memory(const struct cost_fabric *f, const struct cost_place *node)
{
	uint64_t ranks = (uint64_t)cost_hosts(f, 0);
	uint64_t window = node->window == COST_UNKNOWN ? WINDOW : node->window;

	return window * BLOCK + ranks * (2 * window * SLOT_BYTES + RANK_BYTES);
}

/* The node reduces, unless it has no room. */
static bool take_node(struct sum *s, int at)
{
	const struct cost_place *node = &s->f->places[at];
	uint64_t memory = node_memory(s->f, node);
	enum cost_lack lack = find_lack(node, memory);

	if (lack) {
		if (s->plan->lacks < 0) {
			s->plan->lacks = at;
			s->plan->lack = lack;
		}
		return false;
	}
	s->takes[at] = true;
	s->plan->nodes++;
	if (memory > s->plan->memory)
		s->plan->memory = memory;
	if (node->window < s->window)
		s->window = node->window;
	return true;
}

static void find_beta(struct sum *s)
{
	struct cost_plan *plan = s->plan;
	double most, left, seconds;
	int i;

	for (i = 1; i < s->f->n; i++) {
		most = larger_of(s->up[i], s->down[i]);
		/* one packet's time is in alpha */
		left = most > s->packet ? most - s->packet : 0;
		seconds = left / link_rate(&s->f->places[i].link);
		if (!most || (plan->link >= 0 && seconds <= plan->beta))
			continue;
		plan->beta = seconds;
		plan->link = i;
		plan->up = s->up[i] >= s->down[i];
		plan->carried = (uint64_t)(most + 0.5);
	}
}

static void find_gamma(struct sum *s)
{
	double idle;
	int i;

	for (i = 0; i < s->f->n; i++) {
		idle = s->f->places[i].host ? 1 : (double)(1000 - s->f->places[i].load) / 1000;
		s->plan->gamma = larger_of(s->plan->gamma, s->in[i] * BYTE_SECONDS / idle);
	}
}

/* @round: of the longest way, without what places on it take */
static void sum_end(struct sum *s, double round)
{
	struct cost_plan *plan = s->plan;

	plan->alpha += round + HOST_SECONDS;
	find_beta(s);
	find_gamma(s);
	/* an operation that the window holds needs no second one */
	if (s->blocks > (double)s->window)
		plan->window = (s->blocks / (double)s->window - 1) * plan->alpha;
	plan->seconds = plan->alpha + larger_of(plan->beta, larger_of(plan->gamma, plan->window));
}

/* From a rank up to the root, by all nodes that take part, which it counts in *@levels. */
static double climb_tree(struct sum *s, int place, int *levels)
{
	double round = 0;

	for (*levels = 0; place != s->plan->at; ++*levels) {
		int next = next_above(s, place), at;

		for (at = place; at != next; at = s->f->places[at].above)
			round += link_round(s, &s->f->places[at].link);
		round += NODE_SECONDS;
		place = next;
	}
	return round;
}

/* Each one that takes part sends to the next one above. */
static void tree_flows(struct sum *s)
{
	bool wide;
	int i, to;

	for (i = 0; i < s->f->n; i++) {
		if (i == s->plan->at || !(s->f->places[i].host || s->takes[i]))
			continue;
		to = next_above(s, i);
		wide = !s->f->places[i].host;
		add_flow(s, i, to, on_wire(s, wide, 1), on_wire(s, false, 1));
		s->in[to] += on_wire(s, wide, 1);
	}
}

void cost_tree(const struct cost_fabric *f, const struct cost_job *job, struct cost_plan *plan)
{
	int top = lowest_common(f), i, levels;
	double longest = 0;
	struct sum s;

	sum_begin(&s, f, job, plan, true);
	for (i = 0; i < f->n; i++) {
		if (f->places[i].host || !is_below(f, i, top) || !cost_hosts(f, i))
			continue;
		if (!take_node(&s, i))
			plan->left_out++;
	}
	/* the lowest one that has room may be above the one that all ranks have in common */
	for (plan->at = top; plan->at >= 0 && !s.takes[plan->at];)
		plan->at = f->places[plan->at].above;
	if (plan->at < 0) {
		for (i = f->places[top].above; i >= 0 && !take_node(&s, i);)
			i = f->places[i].above;
		plan->at = i;
	}
	if (plan->at < 0) {
		plan->lack = COST_NO_ROOT;
		plan->at = top;
		return;
	}
	plan->lack = COST_FITS;
	tree_flows(&s);
	for (i = 0; i < f->n; i++) {
		if (!f->places[i].host)
			continue;
		longest = larger_of(longest, climb_tree(&s, i, &levels));
		if (levels > COST_MAX_LEVELS)
			plan->lack = COST_TOO_DEEP;
	}
	sum_end(&s, longest);
}

void cost_node(const struct cost_fabric *f, const struct cost_job *job, int at,
	       struct cost_plan *plan)
{
	double longest = 0, bytes;
	struct sum s;
	int i;

	sum_begin(&s, f, job, plan, false);
	plan->kind = f->places[at].host ? COST_HOST : COST_NODE;
	plan->at = at;
	take_node(&s, at);
	plan->nodes = 1;
	bytes = on_wire(&s, false, 1);
	for (i = 0; i < f->n; i++) {
		if (!f->places[i].host)
			continue;
		longest = larger_of(longest, add_flow(&s, i, at, bytes, bytes));
		s.in[at] += bytes;
	}
	sum_end(&s, longest + NODE_SECONDS);
}

/* Contributions of all others to the host of a tree's root, and its results to them. */
static double edge_flows(struct sum *s, int root, double bytes)
{
	double longest = 0;
	int i;

	for (i = 0; i < s->f->n; i++) {
		if (!s->f->places[i].host || i == root)
			continue;
		longest = larger_of(longest, add_flow(s, i, root, bytes, bytes));
		s->in[root] += bytes;
	}
	return longest;
}

void cost_host(const struct cost_fabric *f, const struct cost_job *job, struct cost_plan *plan)
{
	cost_node(f, job, first_host(f), plan);
}

void cost_edge(const struct cost_fabric *f, const struct cost_job *job, struct cost_plan *plan)
{
	int hosts = cost_hosts(f, 0), trees, i, n = 0;
	double longest = 0;
	struct sum s;

	sum_begin(&s, f, job, plan, false);
	plan->kind = COST_EDGE;
	plan->lack = COST_NOT_LOST;
	plan->at = first_host(f);
	trees = hosts < MAX_TREES ? hosts : MAX_TREES;
	/* a small operation's blocks are the first trees' */
	if (s.blocks < trees)
		trees = (int)s.blocks;
	for (i = 0; i < f->n && n < trees; i++) {
		if (!f->places[i].host)
			continue;
		longest = larger_of(longest, edge_flows(&s, i, on_wire(&s, false, 1.0 / trees)));
		n++;
	}
	/* what it reduces, and results that it keeps */
	plan->memory = s.window * BLOCK * 3;
	sum_end(&s, longest + NODE_SECONDS);
}
