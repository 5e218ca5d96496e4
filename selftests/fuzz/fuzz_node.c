// SPDX-License-Identifier: GPL-2.0-only
/*
 * A group at a node, driven by a stream of decisions. Some of its members keep to the rules
 * (honest.h). The others have the right cookies and lie about everything else: flags, spans,
 * operations, descriptors with and without payload, lengths, moves; and there is time, lack of
 * memory, and packets that are lost.
 *
 * A slot says what the contributions that are counted say, results are made of these (node_check.c,
 * node_env.c), answers per packet are bounded, nothing leaks, and who is honest gets the right
 * results or an error, and soon.
 */
#include "honest.h"
#include "node_env.h"
#include "reduce/reduce.h"
#include "siphash.h"

/* A member that lies; false: there is none. @child becomes its number. */
static bool pick_liar(u32 *child)
{
	u32 n = read_u8(&env.r), i;

	for (i = 0; i < env.g.cfg.size; i++) {
		*child = (n + i) % env.g.cfg.size;
		if (is_hostile(env.who[*child]))
			return true;
	}
	return false;
}

static struct netinc_pkt packet(u8 type, u32 child)
{
	return (struct netinc_pkt) { .type = type, .span = 1, .child = child, .epoch = env.g.epoch,
				     .incarnation = env.g.cfg.incarnation, .tree = env.g.agg.tree,
				     .cookie = env.g.members[child].cookie };
}

/* It may say that it is another one, but its address and cookie are its own. */
static bool passes(struct netinc_pkt *pkt)
{
	struct netinc_peer peer = honest_peer(env.who[pkt->child]);
	u8 how = read_u8(&env.r);

	if (how % 16 == 15)
		pkt->child = read_u8(&env.r) % (env.g.cfg.size + 1);
	if (how / 16 == 15)
		pkt->epoch++;
	node_env_packet();
	return !netinc_group_check(&env.g, pkt, &peer, env.now);
}

/* ---- JOIN ---------------------------------------------------------------- */

static void join_as(u32 rank, struct netinc_pkt *pkt, struct inc_join *body)
{
	struct netinc_peer peer = honest_peer(rank);
	struct inc_join *exact = malloc(sizeof(*exact));
	u32 move = env.g.move;
	u8 state = env.g.state;
	u64 detail;
	int code;

	*exact = *body;
	read_damage(&env.r, exact, sizeof(*exact));
	node_env_packet();
	/* that of a node has a tail, which none has here: the environment drops it */
	if (!netinc_join_whole(exact, sizeof(*exact))) {
		free(exact);
		return;
	}
	code = netinc_group_join(&env.g, pkt, exact, &peer, env.now, &detail);
	netinc_assert(code >= 0 && code < __INC_REFUSE_MAX);
	/* who is refused changes nothing */
	netinc_assert(!code || (env.g.move == move && env.g.state == state && !env.linked));
	free(exact);
}

/* As the group expects it, most inputs would not get there else; then with lies. */
static void join(bool lie)
{
	u32 rank = read_u8(&env.r) % MAX_SIZE, child = rank, i;
	struct inc_join body = { .nonce = cpu_to_be32(1), .block = cpu_to_be16(BLOCK) };
	struct netinc_pkt pkt;
	u8 how = lie ? read_u8(&env.r) : 0;

	/* what finds a group for JOIN knows no trees whose root is elsewhere */
	if (!is_hostile(rank) || netinc_group_is_branch(&env.g))
		return;
	for (i = 0; i < env.g.cfg.size; i++)
		if (env.who[i] == rank)
			child = i;
	if (how & 1)
		child = read_u8(&env.r) % (env.g.cfg.size + 1);
	pkt = packet(INC_PKT_JOIN, child % env.g.cfg.size);
	pkt.child = child;
	pkt.opseq = how & 2 ? read_u32(&env.r) : 0;
	if (how & 4 || !env.g.epoch || env.g.state == INC_GROUP_JOINING)
		pkt.incarnation = 0;
	body.size = cpu_to_be32(env.g.cfg.size);
	body.next = cpu_to_be64(env.g.epoch ? env.g.agg.una + (how & 8 ? (s8)read_u8(&env.r) : 0)
					    : FIRST_BLOCK);
	if (env.g.epoch && !(how & 0x10))
		body.lineage = cpu_to_be64(env.g.cfg.lineage);
	body.move = cpu_to_be32(env.g.move + (how & 0x20 ? (s8)read_u8(&env.r) : 0));
	if (how & 0x40)
		body.nonce = cpu_to_be32(2);
	if (netinc_group_shrinking(&env.g) || (how & 0x80 && env.g.cfg.ancestor)) {
		body.flags |= INC_JOIN_SHRINK;
		body.lineage = cpu_to_be64(env.g.cfg.ancestor);
		body.size = cpu_to_be32(env.g.old_size);
	}
	join_as(rank, &pkt, &body);
}

/* ---- CONTRIB ------------------------------------------------------------- */

/* As the parser would let it pass. */
static void make_valid(struct netinc_pkt *pkt)
{
	pkt->flags &= INC_F_ALL & ~(INC_F_PARTIAL | INC_F_MULTICAST);
	if (!pkt->len)
		pkt->flags &= ~(INC_F_PAYLOAD | INC_F_FINAL);
	else
		pkt->flags |= INC_F_PAYLOAD;
	if (!pkt->len || (pkt->flags & (INC_F_FINAL | INC_F_DESC)))
		pkt->flags &= ~INC_F_ZERO;
	if ((pkt->flags & (INC_F_PAYLOAD | INC_F_DESC)) && !(pkt->flags & INC_F_ZERO))
		pkt->span = 1;
}

/* To operations next to the one that it is, or to any. */
static u32 near_offset(struct reader *r)
{
	u8 how = read_u8(r);

	return how < 0xe0 ? (u32)(how % 8) - 4 : read_u32(r);
}

/* Bit by bit of @lies another thing is not as in the plan. */
static void lie(struct netinc_pkt *pkt, u8 *data, u8 lies)
{
	struct reader *r = &env.r;

	if (lies & 1)
		pkt->flags = read_u16(r);
	if (lies & 2)
		pkt->len = 0;
	if (lies & 4)
		pkt->opseq += near_offset(r);
	if (lies & 8)
		pkt->sig++;
	if (lies & 0x10)
		pkt->len = read_u8(r) & 1 ? pkt->len + 4 : read_u8(r);
	if (lies & 0x20) {
		pkt->dtype = read_u8(r) % (INC_TYPE_MAX + 1);
		pkt->dop = read_u8(r) % __INC_OP_MAX;
		pkt->mode = read_u8(r) & INC_MODE_WIRE;
	}
	if (lies & 0x40) {
		pkt->len = 0;
		pkt->flags &= ~INC_F_DESC;
		pkt->span = 1 + read_u16(r) % (env.g.cfg.settings.window + 1);
		pkt->part = read_u8(r) / 252;
	}
	if (lies & 0x80)
		pkt->flags |= INC_F_RETRANS;
	make_valid(pkt);
	memset(data + pkt->len, 0, MAX_LEN - pkt->len);
	if (pkt->flags & INC_F_ZERO)
		memset(data, 0, pkt->len);
	else if (lies)
		data[0] ^= read_u8(r);
}

static void contrib_at(u32 child, u64 q, u8 lies)
{
	struct netinc_pkt pkt = packet(INC_PKT_CONTRIB, child);
	u8 data[MAX_LEN];

	memset(data, 0, sizeof(data));
	honest_plan(child, q, &pkt, data);
	lie(&pkt, data, lies);
	if (passes(&pkt)) {
		node_env_give(&pkt, data);
		node_env_bounded();
	}
}

static void contrib(void)
{
	u32 child;
	u64 q;
	u8 how;

	if (!pick_liar(&child))
		return;
	how = read_u8(&env.r);
	/* within the window, or anywhere near */
	q = env.g.agg.una + (how & 0x80 ? how % env.g.cfg.settings.window : (s8)read_u8(&env.r));
	contrib_at(child, q, read_u8(&env.r));
}

/* A run of contributions as in the plan, perhaps with the same lie in each. */
static void run(void)
{
	u32 child, n = read_u8(&env.r) % 32;
	u8 lies = read_u8(&env.r);
	u64 q;

	if (!pick_liar(&child))
		return;
	if (lies < 0xc0)
		lies = 0;
	q = env.g.agg.child[child].frontier;
	for (; n; n--, q++)
		contrib_at(child, q, lies & ~0x40);
	node_env_packet();
	if (env.g.running)
		netinc_agg_packet_end(&env.g.agg, child, env.now);
	node_env_bounded();
}

/* ---- The others ---------------------------------------------------------- */

static void control(struct netinc_pkt *pkt, const void *body, u32 len)
{
	void *exact = malloc(len);

	memcpy(exact, body, len);
	read_damage(&env.r, exact, len);
	pkt->len = len;
	if (passes(pkt)) {
		netinc_group_control(&env.g, pkt, exact, env.now);
		node_env_bounded();
	}
	free(exact);
}

static void probe(void)
{
	struct {
		struct inc_probe probe;
		__be32 map[8];
	} m;
	struct netinc_pkt pkt;
	u32 child, words;
	u8 how;

	if (!pick_liar(&child))
		return;
	pkt = packet(INC_PKT_PROBE, child);
	how = read_u8(&env.r);
	words = how % 9;
	memset(&m, 0, sizeof(m));
	m.probe.srtt = cpu_to_be32(read_u8(&env.r));
	m.probe.bits = cpu_to_be16(32 * words);
	if (how & 0x40)
		read_bytes(&env.r, m.map, 4 * words);
	pkt.psn = (u32)(env.g.agg.una + (s8)read_u8(&env.r));
	pkt.opseq = read_u8(&env.r) % 8;
	pkt.flags = (how & 0x10 ? INC_F_RETRANS : 0) | (how & 0x20 ? INC_F_LEAVE : 0);
	pkt.span = how & 0x20 ? 1 + read_u16(&env.r) % 1000 : 1;
	if (how & 0x80) {
		pkt.flags |= INC_F_MULTICAST;
		pkt.sig = env.g.multicast.call + near_offset(&env.r);
	}
	control(&pkt, &m, sizeof(m.probe) + 4 * words);
}

static void abort_rank(void)
{
	struct inc_error_pkt body = { .code = cpu_to_be16(INC_ERR_RANK_ABORT),
				      .resume = cpu_to_be32(1) };
	struct netinc_pkt pkt;
	u32 child;

	if (!pick_liar(&child))
		return;
	pkt = packet(INC_PKT_ABORT, child);
	control(&pkt, &body, sizeof(body));
}

static void honest_one(void)
{
	u8 what = read_u8(&env.r);

	honest_turn(what % MAX_SIZE, read_u8(&env.r) % 32, what & 0x80);
}

static void honest_all(u32 blocks)
{
	u32 i;

	for (i = 0; i < MAX_SIZE; i++)
		honest_turn(i, blocks, false);
}

/* False: the group has expired. */
static bool step(void)
{
	u8 what = read_u8(&env.r);

	switch (what % 16) {
	case 0:
		join(what & 0x80);
		break;
	case 1 ... 4:
		contrib();
		break;
	case 5 ... 6:
		run();
		break;
	case 7 ... 8:
		honest_one();
		break;
	case 9:
		honest_all(what / 16);
		break;
	case 10:
		probe();
		break;
	case 11:
		if (what == 11)
			abort_rank();
		break;
	case 12:
		env.now += read_u16(&env.r);
		break;
	case 13:
		env.now += (u64)read_u8(&env.r) * 1000;
		return !netinc_group_tick(&env.g, env.now);
	case 14:
		env.no_fold = what & 0x10;
		env.no_hold = what & 0x20;
		env.deaf = what & 0x40 ? read_u8(&env.r) : 0;
		break;
	default:
		if (what == 255)
			netinc_group_remove(&env.g, env.now);
		break;
	}
	return true;
}

/* ---- Beginning and end --------------------------------------------------- */

static void configure(struct netinc_group_cfg *cfg)
{
	u8 kind = read_u8(&env.r), more = read_u8(&env.r), policy = read_u8(&env.r);

	*cfg = (struct netinc_group_cfg){ .id = 1,
					  .incarnation = 2,
					  .secret = { 3, 4 },
					  .lineage = LINEAGE,
					  .size = 1 + kind % MAX_SIZE,
					  .block = BLOCK,
					  .multicast = { .addr = { 239, 1, 2, 3 },
							 .family = NETINC_AF_INET,
							 .udp_port = cpu_to_be16(9) },
					  .settings = { .window = INC_MIN_WINDOW << more % 6,
							.dead_ms = DEAD_MS } };
	env.hostile = read_u8(&env.r) % (1u << MAX_SIZE);
	env.limit = more >> 3 ? (more >> 3) * (sizeof(struct inc_hdr) + BLOCK) : 0;
	cfg->settings.late_policy = policy % __INC_LATE_MAX;
	cfg->settings.late_ms = cfg->settings.late_policy ? 50 : 0;
	if (cfg->settings.late_policy != INC_LATE_PARTIAL)
		cfg->settings.fallback = policy >> 2 & 1 ? INC_FALLBACK_EDGE : INC_FALLBACK_NONE;
	cfg->spread = cfg->settings.fallback && policy & 8;
	cfg->ancestor = kind >> 7 ? ANCESTOR : 0;
	cfg->known = kind >> 6 & 1;
	cfg->ngone = cfg->ancestor && kind & 0x20;
	cfg->gone[0] = kind >> 3 & 3;
}

/* The tree at the host of another rank than the first. */
static bool make_branch(const struct netinc_group_cfg *like, struct netinc_tree_cfg *tree)
{
	u32 size = like->size;

	if (size < 2 || !like->spread || like->ancestor || !(read_u8(&env.r) & 1))
		return false;
	*tree = (struct netinc_tree_cfg){
		.id = 1,
		.incarnation = 2,
		.epoch = 1,
		.size = size,
		.settings = like->settings,
		.trees = min_t(u32, size, like->settings.window),
		.tree = 1,
		.lineage = LINEAGE,
		.start = FIRST_BLOCK,
		.down_cookie = 99,
		.key = { 5, 6 },
		.block = BLOCK,
	};
	return true;
}

static void begin_branch(const struct netinc_tree_cfg *tree)
{
	struct netinc_peer peers[MAX_SIZE];
	u32 i;

	for (i = 0; i < MAX_SIZE; i++)
		peers[i] = honest_peer(i);
	netinc_tree_begin(&env.g, tree, peers, env.now);
	honest_branch(tree);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct netinc_group_cfg cfg;
	struct netinc_tree_cfg tree;
	u32 run = env.run + 1;
	bool branch, goes_on = true;
	void *mem;

	if (size > 4096)
		return 0;
	memset(&env, 0, sizeof(env));
	env.run = run;
	env.r = (struct reader) { data, size };
	env.now = 1000;
	netinc_reduce_init(0);
	configure(&cfg);
	branch = make_branch(&cfg, &tree);
	if (branch)
		netinc_tree_group_cfg(&tree, &cfg);
	mem = calloc(1, netinc_group_bytes(cfg.size, cfg.settings.window));
	netinc_group_init(&env.g, &cfg, mem, &node_env_ops, &node_env_agg_ops);
	honest_start();
	if (branch)
		begin_branch(&tree);
	else
		honest_all(0);
	while (env.r.left && goes_on) {
		goes_on = step();
		node_env_check();
	}
	if (goes_on)
		honest_finish();
	netinc_agg_drain(&env.g.agg);
	netinc_assert(!env.held && !env.objs && !env.bytes);
	free(mem);
	return 0;
}
