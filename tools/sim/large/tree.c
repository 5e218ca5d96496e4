// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who is below whom. Ranks fill leaves one after the other, leaves fill the nodes above them, and
 * so on up to one root: as racks, pods and a spine do. Nodes are numbered from the root down.
 */
#include "large.h"

static u32 ceil_div(u32 n, u32 by)
{
	return (n + by - 1) / by;
}

/* Nodes of the level that is @up levels above the ranks, 1: the leaves. */
static u32 nodes_of(const struct large_cfg *cfg, u32 up)
{
	u32 n = cfg->ranks;

	while (up--)
		n = ceil_div(n, cfg->fan_in);
	return n;
}

static u32 count_levels(const struct large_cfg *cfg)
{
	u32 levels = 1;

	while (nodes_of(cfg, levels) > 1)
		levels++;
	return levels;
}

static void make_level(struct large *sys, u32 first, u32 n, u32 above, u32 level)
{
	u32 i;

	for (i = 0; i < n; i++) {
		sys->node[first + i].level = level;
		sys->node[first + i].parent = level ? above + i / sys->cfg.fan_in : LARGE_NOBODY;
		if (level)
			sys->node[sys->node[first + i].parent].children++;
	}
}

void tree_make(struct large *sys)
{
	u32 first = 0, above = 0, level, n, i;

	sys->levels = count_levels(&sys->cfg);
	for (level = 1; level <= sys->levels; level++)
		sys->nodes += nodes_of(&sys->cfg, level);
	sys->node = calloc(sys->nodes, sizeof(*sys->node));
	sys->rank = calloc(sys->cfg.ranks, sizeof(*sys->rank));
	if (!sys->node || !sys->rank)
		die(sys, "the machine has no memory for %u ranks", sys->cfg.ranks);
	for (level = 0; level < sys->levels; level++, above = first, first += n) {
		n = nodes_of(&sys->cfg, sys->levels - level);
		make_level(sys, first, n, above, level);
	}
	for (i = 0; i < sys->cfg.ranks; i++) {
		sys->rank[i].node = above + i / sys->cfg.fan_in;
		sys->node[sys->rank[i].node].children++;
	}
}

u32 tree_fails(const struct large *sys)
{
	return sys->cfg.fail_permille ? ceil_div(sys->nodes * sys->cfg.fail_permille, 1000) : 0;
}

u32 tree_failing(const struct large *sys, u32 i)
{
	u32 n = tree_fails(sys);

	/* in the middle of as many equal parts */
	return (u32)((2ull * i + 1) * sys->nodes / (2 * n));
}
