// SPDX-License-Identifier: GPL-2.0-only
/* What is done next: all that ranks must agree about, drawn from the seed and the number. */
#include <string.h>
#include <linux/inc_wire.h>

#include "coll.h"

/* Random numbers of one operation, the same at all ranks. */
struct dice {
	uint64_t seed, n;
};

static uint64_t draw_below(struct dice *dice, uint64_t limit)
{
	return mix(dice->seed, dice->n++) % limit;
}

bool reduces(enum inc_coll coll)
{
	return coll == INC_COLL_ALLREDUCE || coll == INC_COLL_REDUCE ||
	       coll == INC_COLL_REDUCE_SCATTER || coll == INC_COLL_SCAN || coll == INC_COLL_EXSCAN;
}

bool has_root(enum inc_coll coll)
{
	return coll == INC_COLL_REDUCE || coll == INC_COLL_BROADCAST || coll == INC_COLL_GATHER ||
	       coll == INC_COLL_SCATTER;
}

bool has_counts(enum inc_coll coll)
{
	return coll == INC_COLL_REDUCE_SCATTER || coll == INC_COLL_ALLGATHER ||
	       coll == INC_COLL_GATHER || coll == INC_COLL_SCATTER || coll == INC_COLL_ALLTOALL;
}

/* One of the set, which is not empty. */
static unsigned int one_of(struct dice *dice, uint32_t set)
{
	unsigned int n = draw_below(dice, __builtin_popcount(set));

	while (n--)
		set &= set - 1;
	return __builtin_ctz(set);
}

static uint32_t ops_for(enum inc_coll coll, enum inc_type type)
{
	uint32_t set = 0;

	for (unsigned int op = 1; op < __INC_OP_MAX; op++)
		if (exists(type, op) &&
		    !(op == INC_OP_AVG && (coll == INC_COLL_SCAN || coll == INC_COLL_EXSCAN)))
			set |= 1u << op;
	return set;
}

/* Types that have one of the operations asked for. */
static uint32_t types_for(const struct config *cfg, enum inc_coll coll)
{
	uint32_t set = 0;

	for (unsigned int type = 1; type < __INC_TYPE_MAX; type++)
		if (cfg->types >> type & 1 &&
		    (!reduces(coll) || ops_for(coll, type) & cfg->reductions))
			set |= 1u << type;
	return set;
}

static enum inc_type draw_wire(struct dice *dice, enum inc_type type)
{
	static const enum inc_type small[] = {
		INC_TYPE_F32, INC_TYPE_F16, INC_TYPE_BF16, INC_TYPE_F8E4M3, INC_TYPE_F8E5M2,
	};

	if (!is_float(type) || draw_below(dice, 3))
		return type;
	return type == INC_TYPE_F64 ? INC_TYPE_F32 : small[draw_below(dice, ARRAY_SIZE(small))];
}

/* None, one, few, around the end of a block, or any up to the limit. */
static uint64_t draw_count(const struct config *cfg, struct dice *dice, enum inc_type wire,
			   uint32_t shares)
{
	uint64_t size = inc_type_size(wire), n;
	uint64_t max = cfg->max / (is_block(wire) ? INC_MX_VALUES : 1) / shares;

	if (cfg->ncounts)
		return cfg->counts[draw_below(dice, cfg->ncounts)];
	switch (draw_below(dice, 8)) {
	case 0:
		return draw_below(dice, 2);
	case 1:
	case 2:
		return draw_below(dice, 10);
	case 3:
	case 4:
	case 5:
		n = (cfg->block - sizeof(struct inc_desc)) / size +
		    draw_below(dice, 3) * (cfg->block / size);
		n += draw_below(dice, 3) - 1;
		return n < 2 * max ? n : draw_below(dice, max + 1);
	default:
		return draw_below(dice, max + 1);
	}
}

/* counts[i][j]: what rank i has for rank j. Which of them may differ depends on the collective. */
static void draw_counts(const struct config *cfg, struct dice *dice, struct plan *plan)
{
	bool by_sender = plan->coll == INC_COLL_ALLGATHER || plan->coll == INC_COLL_GATHER;
	uint32_t shares = has_counts(plan->coll) ? plan->ranks : 1;
	bool differ = !cfg->ncounts && plan->mode & INC_MODE_COUNTS;
	uint64_t own[MAX_RANKS], n;

	plan->count = draw_count(cfg, dice, plan->wire, shares);
	for (uint32_t i = 0; i < plan->ranks; i++)
		own[i] = !differ ? plan->count :
			 draw_below(dice, 3) ? draw_count(cfg, dice, plan->wire, shares) : 0;
	for (uint32_t i = 0; i < plan->ranks; i++) {
		for (uint32_t j = 0; j < plan->ranks; j++) {
			n = by_sender ? own[i] : own[j];
			if (plan->coll == INC_COLL_ALLTOALL)
				n = differ ? draw_below(dice, plan->count + 1) : plan->count;
			plan->counts[i][j] = n;
			/* A rank that is in place gets what it has. */
			if (plan->coll == INC_COLL_ALLTOALL && plan->in_place && j < i)
				plan->counts[i][j] = plan->counts[j][i];
		}
	}
}

static void draw_weights(struct dice *dice, struct plan *plan)
{
	static const double some[] = { 0, 1, -1, 0.1, 0.001 };
	uint64_t n;

	for (uint32_t i = 0; i < plan->ranks; i++) {
		n = draw_below(dice, 4096);
		plan->weights[i] = n < ARRAY_SIZE(some) ? some[n] : (double)n / 3000;
	}
}

static void draw_reduction(const struct config *cfg, struct dice *dice, struct plan *plan)
{
	plan->op = one_of(dice, ops_for(plan->coll, plan->type) & cfg->reductions);
	if (plan->op == INC_OP_SUM && saturates(plan->type) && !draw_below(dice, 2))
		plan->mode |= INC_MODE_SATURATE;
	if (plan->op == INC_OP_WSUM)
		draw_weights(dice, plan);
}

/* Collectives for which there is something to draw: a type, and an operation of that type. */
static uint32_t possible_colls(const struct config *cfg)
{
	uint32_t set = 0;

	for (unsigned int coll = 1; coll < INC_COLL_LEAVE; coll++)
		if (cfg->colls >> coll & 1 && (coll == INC_COLL_BARRIER || types_for(cfg, coll)))
			set |= 1u << coll;
	return set;
}

/* Of one operation in three: half of the runs are zeros, or most, or all. */
static void draw_zeros(const struct config *cfg, struct plan *plan)
{
	static const unsigned int percent[] = { 50, 90, 100 };
	uint64_t x = mix(plan->seed, 'z');

	if (cfg->zeros != DRAWN)
		plan->zeros = cfg->zeros;
	else if (!(x % 3))
		plan->zeros = percent[(x >> 8) % ARRAY_SIZE(percent)];
	plan->run = 32ull << (x >> 16) % 7;
}

void make_plan(const struct config *cfg, uint32_t nr, struct plan *plan)
{
	struct dice dice = { .seed = mix(cfg->seed, nr) };
	uint32_t set = possible_colls(cfg);

	memset(plan, 0, sizeof(*plan));
	plan->nr = nr;
	plan->seed = mix(dice.seed, UINT64_MAX);
	plan->ranks = cfg->join.size;
	plan->tree = cfg->tree;
	plan->how = draw_below(&dice, 4) ? draw_below(&dice, 2) : PERSISTENT;
	plan->starts = plan->how == PERSISTENT ? 1 + draw_below(&dice, 3) : 1;
	if (!set)
		return;
	plan->coll = one_of(&dice, set);
	if (plan->coll == INC_COLL_BARRIER)
		return;
	plan->type = one_of(&dice, types_for(cfg, plan->coll));
	plan->wire = draw_wire(&dice, plan->type);
	plan->in_place = draw_below(&dice, 2);
	if (has_root(plan->coll))
		plan->root = draw_below(&dice, plan->ranks);
	if (has_counts(plan->coll) && draw_below(&dice, 2))
		plan->mode |= INC_MODE_COUNTS;
	if (reduces(plan->coll))
		draw_reduction(cfg, &dice, plan);
	draw_counts(cfg, &dice, plan);
	draw_zeros(cfg, plan);
}
