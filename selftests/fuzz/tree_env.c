// SPDX-License-Identifier: GPL-2.0-only
/* See tree_env.h: how all of it begins and ends, and time. */
#include "tree_parts.h"

struct tree_env env;

static struct {
	u32 window[TREE_NODES];
	u32 up_block[TREE_NODES];
	u8 policy;
} setup;

struct netinc_peer tree_peer(u32 addr)
{
	return (struct netinc_peer){ .addr = { 10, 0, 0, (u8)addr },
				     .family = NETINC_AF_INET,
				     .udp_port = cpu_to_be16(INC_PORT),
				     .ifindex = 1 };
}

static void forget_node(struct node *n)
{
	netinc_agg_drain(&n->g.agg);
	netinc_assert(!n->held);
	free(n->mem);
	n->mem = NULL;
}

void tree_tick(void)
{
	struct node *n;
	u32 i;

	for (i = 0; i < NODES; i++) {
		n = &env.node[i];
		if (n->mem && netinc_group_tick(&n->g, env.now))
			forget_node(n);
	}
}

static void say_wait(u32 i)
{
	const struct netinc_group *g = &env.node[i].g;
	struct inc_wait_pkt body = { .nonce = cpu_to_be32(g->cfg.up_nonce) };
	struct netinc_pkt pkt = { .type = INC_PKT_WAIT,
				  .group = GROUP,
				  .incarnation = g->up.incarnation,
				  .epoch = g->epoch,
				  .cookie = g->up.down_cookie,
				  .child = g->up.child,
				  .span = 1 };

	tree_send(env.node[i].parent, i, &pkt, NULL, &body, sizeof(body));
}

/* An error is over after a while, though the parent is there. */
void tree_stall(void)
{
	const struct netinc_group *g;
	u32 i;

	for (i = 0; i < TREE_NODES && env.stalls && !env.mute; i++) {
		g = &env.node[i].g;
		if (!env.node[i].mem || g->up.state != NETINC_UPLINK_RESYNC ||
		    !is_liar_at(env.node[i].parent))
			continue;
		say_wait(i);
	}
}

bool tree_returns(void)
{
	return (setup.policy & 0xc0) == 0xc0;
}

u16 tree_rank_block(void)
{
	return env.long_blocks ? 304 : 128;
}

u16 tree_block(void)
{
	u32 block = tree_rank_block(), i;

	for (i = 0; tree_returns() && i < TREE_NODES; i++)
		block = min(block, setup.up_block[i]);
	return (u16)block;
}

void tree_begin_node(u32 i)
{
	struct node *n = &env.node[i];
	bool other = i == OTHER;
	struct netinc_group_cfg cfg = {
		.id = GROUP,
		.incarnation = 0x1000 + 16 * n->lives + i,
		.size = other ? OTHER_RANKS : env.size,
		.block = INC_MAX_BLOCK,
		.settings = { .window = other ? INC_MIN_WINDOW : setup.window[i],
			      .dead_ms = DEAD_MS },
		.secret = { 1, 2 },	/* one box may be all of them */
		.lineage = 0x7777 + i,
		.has_parent = n->parent != NOBODY,
		.up_block = other ? 0 : setup.up_block[i],
		.up_nonce = 0x900 + 16 * n->lives + i,
	};

	if (!other) {
		cfg.settings.late_policy = setup.policy % INC_LATE_PARTIAL;
		cfg.settings.late_ms = cfg.settings.late_policy ? DEAD_MS / 4 : 0;
		/* a node that nobody is told to go to: what members would need there is kept */
		cfg.settings.fallback = setup.policy & 0x80 ? INC_FALLBACK_STANDBY :
							      INC_FALLBACK_NONE;
		cfg.nstandby = !!cfg.settings.fallback;
		cfg.standby[0] = tree_peer(STANDBY_ADDR);
	}
	if (!other && tree_returns()) {
		cfg.returns = true;
		cfg.move = MOVE;
		cfg.lineage = LINEAGE;
		/* as its ranks, and with these the nodes, say */
		cfg.settings.window = setup.window[0];
	}
	n->lives++;
	n->mem = calloc(1, netinc_group_bytes(cfg.size, cfg.settings.window));
	netinc_group_init(&n->g, &cfg, n->mem, &tree_ops, &tree_agg_ops);
}

void tree_begin(const u32 *parent, const u32 *window, const u32 *up_block, u8 policy)
{
	u32 i;

	memcpy(setup.window, window, sizeof(setup.window));
	memcpy(setup.up_block, up_block, sizeof(setup.up_block));
	setup.policy = policy;
	for (i = 0; i < NODES; i++) {
		env.node[i].parent = i == OTHER ? NOBODY : parent[i];
		tree_begin_node(i);
	}
}

static void free_queue(struct queue *q)
{
	while (q->first != q->last)
		free(q->frame[q->first++ % QUEUE].body);
}

void tree_end(void)
{
	u32 i;

	free_queue(&env.tree);
	free_queue(&env.beside);
	for (i = 0; i < NODES; i++)
		if (env.node[i].mem)
			forget_node(&env.node[i]);
	netinc_assert(!env.loads);
}
