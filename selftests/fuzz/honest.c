// SPDX-License-Identifier: GPL-2.0-only
/*
 * See honest.h. What comes is noted when it comes, and done in the rank's next turn: the engine
 * must not be called back.
 */
#include "honest.h"

#define ROUND		(25 * NETINC_MS)
#define ROUNDS		64u		/* 8 dead limits */
#define JOINS		60u		/* that are refused or lead nowhere, before it gives up */
#define MORE		(2 * OP_BLOCKS)	/* blocks, at the end */
#define RING		(2 * MAX_WINDOW)

enum state { OUT, JOINING, MEMBER, OVER };

/* What it keeps of a block: how it was contributed, or its result. */
struct kept {
	struct said said;
	bool delivered;
};

static struct rank {
	u8 state;
	bool was;		/* a member, some time */
	bool resync;		/* joins the next epoch of the same run */
	bool failing;
	bool ask[RING];		/* the node wants it again */
	bool got[RING];
	u32 me;			/* its number in the group */
	u32 epoch;
	u64 cookie;
	u64 una, snd;
	u64 limit;		/* failing: the error's block */
	u32 resume;
	u32 move;
	u32 settled;
	u32 joins;
	u64 target;
	struct kept *retained;
} ranks[MAX_SIZE];

static struct kept kept[MAX_SIZE][RING];

static struct {
	u64 base;
	u32 opseq;
} plan;

struct netinc_peer honest_peer(u32 rank)
{
	return (struct netinc_peer){ .addr = { rank },
				     .family = NETINC_AF_INET,
				     .ifindex = 1 + rank };
}

/* ---- The plan ------------------------------------------------------------ */

static u32 op_at(u64 q)
{
	return plan.opseq + (u32)((q - plan.base) / OP_BLOCKS);
}

static u16 bits_of(u32 child, u64 q, enum kind kind)
{
	u32 size = env.g.cfg.size, from = q % size, to = (q + 1) % size;

	switch (kind) {
	case REDUCED:
	case BYTES:
		return INC_F_PAYLOAD | INC_F_WANT;
	case SPREAD:
		return child == from ? INC_F_PAYLOAD : INC_F_WANT;
	case MOVED:
		return (child == from ? INC_F_PAYLOAD : 0) | (child == to ? INC_F_WANT : 0);
	default:
		return 0;
	}
}

void honest_plan(u32 child, u64 q, struct netinc_pkt *pkt, u8 *data)
{
	u32 seq = op_at(q), i;
	enum kind kind = seq % KINDS;

	pkt->psn = (u32)q;
	pkt->span = 1;
	pkt->opseq = seq;
	pkt->sig = seq * 2654435761u ^ (u32)plan.base;
	pkt->flags = bits_of(child, q, kind);
	if (!((q - plan.base) % OP_BLOCKS))
		pkt->flags |= INC_F_DESC;
	pkt->dtype = kind == BYTES ? INC_TYPE_U8 : INC_TYPE_I32;
	pkt->dop = kind == BYTES ? INC_OP_MAX : kind == REDUCED ? INC_OP_SUM : INC_OP_NONE;
	pkt->mode = 0;
	pkt->len = 0;
	if (pkt->flags & INC_F_PAYLOAD)
		/* the descriptor has room in an operation's first block */
		pkt->len = kind == BYTES             ? BLOCK - 37
			   : pkt->flags & INC_F_DESC ? BLOCK - 32
						     : BLOCK;
	for (i = 0; i < pkt->len; i++)
		data[i] = (u8)(q * 31 + child * 57 + i * 7 + (i >> 2) * child);
}

bool honest_said(u32 child, u64 q, const struct said *s)
{
	struct netinc_pkt pkt;
	u8 data[MAX_LEN];

	if (!s || (s64)(q - plan.base) < 0)
		return false;
	honest_plan(child, q, &pkt, data);
	return s->flags == pkt.flags && s->len == pkt.len && s->opseq == pkt.opseq &&
	       s->sig == pkt.sig && s->dtype == pkt.dtype && s->dop == pkt.dop && !s->mode &&
	       !memcmp(s->data, data, pkt.len);
}

/* The result of a block, without any of the engine's help. */
static u16 expected(u64 q, u8 *out)
{
	u32 size = env.g.cfg.size, child, i;
	struct netinc_pkt pkt;
	u32 a[MAX_LEN / 4], b[MAX_LEN / 4];
	u8 *bytes = (u8 *)b;
	u16 len = 0;

	memset(a, 0, sizeof(a));
	for (child = 0; child < size; child++) {
		honest_plan(child, q, &pkt, bytes);
		len = max(len, pkt.len);
		for (i = 0; i < pkt.len && pkt.dtype == INC_TYPE_U8; i++)
			((u8 *)a)[i] = max(((u8 *)a)[i], bytes[i]);
		for (i = 0; i < pkt.len / 4u && pkt.dtype == INC_TYPE_I32; i++)
			a[i] = (u32)cpu_to_le32(le32_to_cpu(a[i]) + le32_to_cpu(b[i]));
	}
	memcpy(out, a, len);
	return len;
}

/* ---- What comes ---------------------------------------------------------- */

/* Whom member @child of the group is; NULL: nobody who is honest, or hears. */
static struct rank *rank_of(u32 child)
{
	u32 rank = child < MAX_SIZE ? env.who[child] : MAX_SIZE;
	struct netinc_peer peer;

	if (rank >= MAX_SIZE || is_hostile(rank) || (env.deaf >> rank & 1))
		return NULL;
	peer = honest_peer(rank);
	if (memcmp(&env.g.members[child].peer.addr, &peer.addr, sizeof(peer.addr)))
		return NULL;
	return ranks[rank].state == OUT || ranks[rank].state == OVER ? NULL : &ranks[rank];
}

static struct kept *kept_at(struct rank *r, u64 q)
{
	struct kept *k = &r->retained[q % RING];

	return k->said.run == env.run && k->said.q == q ? k : NULL;
}

static void keep_result(struct rank *r, const struct outcome *oc)
{
	struct kept *k = kept_at(r, oc->q);

	if (!k)
		return;
	/* without liars a block has one result for ever */
	if (k->delivered && (k->said.flags & INC_F_FINAL) && !env.hostile)
		netinc_assert(k->said.len == oc->len && !memcmp(k->said.data, oc->data, oc->len));
	if (k->delivered)
		return;
	k->delivered = true;
	if (!(k->said.flags & INC_F_WANT) || !oc->len)
		return;
	k->said.flags |= INC_F_PAYLOAD | INC_F_FINAL;
	k->said.len = oc->len;
	memcpy(k->said.data, oc->data, oc->len);
}

void honest_result(u32 child, const struct outcome *oc)
{
	struct rank *r = rank_of(child);
	u8 right[MAX_LEN];

	if (!r || r->state != MEMBER || oc->q - r->una >= r->snd - r->una)
		return;
	if (oc->honest && !(oc->flags & INC_F_PARTIAL)) {
		netinc_assert(expected(oc->q, right) == oc->len);
		netinc_assert(!memcmp(right, oc->data, oc->len));
	}
	r->got[oc->q % RING] = true;
	keep_result(r, oc);
}

void honest_nack(u32 child, u64 q, u32 span)
{
	struct rank *r = rank_of(child);

	for (; r && span--; q++)
		if (q - r->una < r->snd - r->una)
			r->ask[q % RING] = true;
}

void honest_status(u32 child, u64 una, const struct inc_status *st)
{
	u32 i;

	for (i = 0; i < be16_to_cpu(st->bits); i++)
		if (!netinc_bit(st->bitmap, i))
			honest_nack(child, una + i, 1);
}

static void rx_ready(struct rank *r, const struct netinc_pkt *pkt, const struct inc_ready *ready)
{
	u64 start = be64_to_cpu(ready->start);
	bool same = r->move == r->settled;

	if (r->state != JOINING || (s32)(pkt->epoch - r->epoch) <= 0 ||
	    be32_to_cpu(ready->move) != r->move)
		return;
	if (r->una - start >
	    (env.g.cfg.settings.fallback && r->was ? env.g.cfg.settings.window : 0))
		return;
	r->epoch = pkt->epoch;
	r->cookie = be64_to_cpu(ready->up_cookie);
	r->me = be16_to_cpu(ready->rank);
	r->settled = r->move;
	r->una = start;
	r->snd = start;
	memset(r->got, 0, sizeof(r->got));
	memset(r->ask, 0, sizeof(r->ask));
	r->failing = false;
	r->joins = 0;
	r->state = MEMBER;
	/* after a move operations go on where they were */
	if (!r->was || same) {
		plan.base = start;
		plan.opseq = be32_to_cpu(ready->opseq);
	}
	r->was = true;
}

/*
 * Whatever is counted of an operation that is to begin anew would be a lie: nobody has contributed
 * to it.
 */
static void check_resume(const struct rank *r, u32 resume)
{
	const struct said *s;
	u64 q;

	for (q = env.g.agg.una; q != env.g.agg.top; q++) {
		s = node_env_said(r->me, q);
		netinc_assert(!s || (s32)(s->opseq - resume) < 0);
	}
}

static void rx_error(struct rank *r, const struct inc_error_pkt *body)
{
	struct netinc_error e;

	netinc_error_parse(body, &e);
	if (r->state != MEMBER || r->failing)
		return;
	netinc_assert(env.hostile || e.code != INC_ERR_MISMATCH);
	if (!e.resume) {
		r->state = OVER;
		return;
	}
	check_resume(r, e.resume);
	netinc_assert((s64)(e.block - r->una) >= 0 && (s64)(e.block - r->snd) <= 0);
	r->failing = true;
	r->limit = e.block;
	r->resume = e.resume;
}

void honest_control(u32 child, const struct netinc_pkt *pkt, const void *body)
{
	struct rank *r = rank_of(child);

	if (r && pkt->type == INC_PKT_READY)
		rx_ready(r, pkt, body);
	else if (r && pkt->type == INC_PKT_ERROR && pkt->epoch == r->epoch)
		rx_error(r, body);
}

/* ---- What it does -------------------------------------------------------- */

static bool is_mine(u64 q)
{
	return netinc_agg_mine(&env.g.agg, q);
}

/* The node does not know it any more. */
static void lost(struct rank *r)
{
	r->state = env.g.cfg.settings.fallback && !netinc_group_is_branch(&env.g) ? JOINING : OVER;
	r->resync = false;
	r->move++;
}

static bool may_send(struct rank *r, u32 rank, const struct netinc_pkt *pkt)
{
	struct netinc_peer peer = honest_peer(rank);
	struct netinc_pkt received = *pkt;

	if (!netinc_group_check(&env.g, &received, &peer, env.now))
		return true;
	lost(r);
	return false;
}

static void keep_sent(struct rank *r, u64 q, const struct netinc_pkt *pkt, const u8 *data)
{
	struct kept *k = kept_at(r, q);

	if (k && k->said.opseq == pkt->opseq && k->said.sig == pkt->sig)
		return;
	k = &r->retained[q % RING];
	k->delivered = false;
	k->said = (struct said){ .run = env.run,
				 .q = q,
				 .flags = pkt->flags & (INC_F_WANT | INC_F_PAYLOAD),
				 .opseq = pkt->opseq,
				 .sig = pkt->sig,
				 .dtype = pkt->dtype,
				 .dop = pkt->dop };
	if (!(pkt->flags & INC_F_PAYLOAD) || (pkt->flags & INC_F_WANT)) {
		k->said.flags &= ~INC_F_PAYLOAD;
		return;
	}
	k->said.len = pkt->len;
	memcpy(k->said.data, data, pkt->len);
}

static void contribute(struct rank *r, u64 q, bool again)
{
	struct netinc_pkt pkt = { .type = INC_PKT_CONTRIB,
				  .child = r->me,
				  .epoch = r->epoch,
				  .cookie = r->cookie,
				  .tree = env.g.agg.tree };
	const struct kept *k = kept_at(r, q);
	u8 data[MAX_LEN];

	honest_plan(r->me, q, &pkt, data);
	if (k && k->delivered) {
		pkt.flags = k->said.flags & (INC_F_PAYLOAD | INC_F_FINAL);
		pkt.len = pkt.flags ? k->said.len : 0;
		pkt.opseq = k->said.opseq;
		pkt.sig = k->said.sig;
		pkt.dtype = k->said.dtype;
		pkt.dop = k->said.dop;
		memcpy(data, k->said.data, pkt.len);
	} else {
		keep_sent(r, q, &pkt, data);
	}
	if (again)
		pkt.flags |= INC_F_RETRANS;
	if (may_send(r, (u32)(r - ranks), &pkt))
		node_env_give(&pkt, data);
}

static void advance(struct rank *r)
{
	while (r->una != r->snd && (r->got[r->una % RING] || !is_mine(r->una))) {
		r->got[r->una % RING] = false;
		r->una++;
	}
	if (!r->failing || (s64)(r->una - r->limit) < 0 || r->state != MEMBER)
		return;
	/* what failed has failed, what comes after it has new blocks */
	for (; kept_at(r, r->una) && r->una != r->snd; r->snd--)
		if (kept_at(r, r->snd - 1))
			kept_at(r, r->snd - 1)->said.run = 0;
	r->snd = r->una;
	r->state = JOINING;
	r->resync = true;
}

static void send_data(struct rank *r, u32 blocks)
{
	u64 q;

	for (q = r->una; q != r->snd && r->state == MEMBER && !r->failing; q++)
		if (r->ask[q % RING] && is_mine(q) && !r->got[q % RING])
			contribute(r, q, true);
	memset(r->ask, 0, sizeof(r->ask));
	while (blocks-- && r->state == MEMBER && !r->failing &&
	       r->snd - r->una < env.g.cfg.settings.window) {
		r->snd++;
		if (is_mine(r->snd - 1))
			contribute(r, r->snd - 1, false);
		advance(r);
	}
	if (r->state == MEMBER && env.g.running)
		netinc_agg_packet_end(&env.g.agg, r->me, env.now);
}

static void send_probe(struct rank *r)
{
	struct netinc_pkt pkt = { .type = INC_PKT_PROBE,
				  .span = 1,
				  .child = r->me,
				  .epoch = r->epoch,
				  .cookie = r->cookie,
				  .tree = env.g.agg.tree,
				  .psn = (u32)r->una };
	u32 bits = round_up((u32)(r->snd - r->una), 32u), i;
	struct {
		struct inc_probe probe;
		__be32 map[MAX_WINDOW / 32 + 1];
	} m;

	if (r->snd == r->una)
		bits = 0;
	memset(&m, 0, sizeof(m));
	for (i = 0; i < bits; i++)
		if (i >= r->snd - r->una || r->got[(r->una + i) % RING])
			netinc_bit_set(m.map, i);
	m.probe.bits = cpu_to_be16(bits);
	pkt.flags = bits ? INC_F_RETRANS : 0;
	pkt.len = sizeof(m.probe) + bits / 8;
	if (may_send(r, (u32)(r - ranks), &pkt))
		netinc_group_control(&env.g, &pkt, &m, env.now);
}

static void send_join(struct rank *r)
{
	u32 rank = (u32)(r - ranks);
	struct netinc_peer peer = honest_peer(rank);
	struct inc_join body = { .size = cpu_to_be32(env.g.cfg.size),
				 .nonce = cpu_to_be32(100 + rank),
				 .next = cpu_to_be64(r->una),
				 .block = cpu_to_be16(BLOCK),
				 .fallback = env.g.cfg.settings.fallback,
				 .move = cpu_to_be32(r->move) };
	struct netinc_pkt pkt = { .type = INC_PKT_JOIN,
				  .span = 1,
				  .child = r->was ? r->me : rank,
				  .epoch = r->epoch,
				  .cookie = r->cookie };
	u64 detail = 0;
	int code;

	if (r->was)
		body.lineage = cpu_to_be64(env.g.cfg.lineage);
	if (r->resync)
		pkt.incarnation = env.g.cfg.incarnation;
	if (netinc_group_shrinking(&env.g)) {
		body.flags |= INC_JOIN_SHRINK;
		body.lineage = cpu_to_be64(env.g.cfg.ancestor);
		body.size = cpu_to_be32(env.g.old_size);
	}
	code = netinc_group_join(&env.g, &pkt, &body, &peer, env.now, &detail);
	netinc_assert(code >= 0 && code < __INC_REFUSE_MAX);
	if (r->state == JOINING && r->was &&
	    (code == INC_REFUSE_RANK_DEAD || (code && r->resync) || ++r->joins > JOINS))
		r->state = OVER;
	else if (code == INC_REFUSE_MOVED && (s32)((u32)detail - r->move) > 0)
		r->move = (u32)detail;
}

void honest_turn(u32 rank, u32 blocks, bool probe)
{
	struct rank *r = &ranks[rank];

	if (is_hostile(rank) || r->state == OVER)
		return;
	node_env_packet();
	if (r->state == OUT)
		r->state = JOINING;
	advance(r);
	if (r->state == JOINING && netinc_group_is_branch(&env.g))
		r->state = OVER;	/* its root would know more */
	if (r->state == JOINING) {
		send_join(r);
		return;
	}
	if (r->state == MEMBER)
		send_data(r, blocks);
	node_env_packet();
	if (r->state == MEMBER && probe)
		send_probe(r);
	node_env_bounded();
	advance(r);
}

/* ---- Life ---------------------------------------------------------------- */

void honest_start(void)
{
	u32 i;

	memset(ranks, 0, sizeof(ranks));
	plan.base = FIRST_BLOCK;
	plan.opseq = 0;
	for (i = 0; i < MAX_SIZE; i++) {
		env.who[i] = i;
		ranks[i].me = i;
		ranks[i].una = FIRST_BLOCK;
		ranks[i].snd = FIRST_BLOCK;
		ranks[i].retained = kept[i];
	}
}

void honest_branch(const struct netinc_tree_cfg *tree)
{
	u32 i;

	plan.base = tree->start;
	for (i = 0; i < tree->size; i++) {
		ranks[i].state = MEMBER;
		ranks[i].was = true;
		ranks[i].epoch = tree->epoch;
		ranks[i].cookie = netinc_tree_cookie(tree->key, i);
		ranks[i].una = tree->start;
		ranks[i].snd = tree->start;
	}
}

/* Has it an operation that has not ended? */
static bool is_busy(const struct rank *r)
{
	return r->was && r->state != OVER && (r->state != MEMBER || (s64)(r->una - r->target) < 0);
}

static bool anybody_busy(void)
{
	u32 i;

	for (i = 0; i < MAX_SIZE; i++)
		if (!is_hostile(i) && is_busy(&ranks[i]))
			return true;
	return false;
}

void honest_finish(void)
{
	/* at a tree whose root is elsewhere nobody says who is dead */
	bool ends = !env.hostile || !netinc_group_is_branch(&env.g), over = false;
	u32 i, n;

	env.deaf = 0;
	env.no_hold = false;
	env.no_fold = false;
	for (i = 0; i < MAX_SIZE; i++)
		ranks[i].target = ranks[i].una + MORE;
	for (n = 0; n < ROUNDS && ends && !over && anybody_busy(); n++) {
		for (i = 0; i < MAX_SIZE; i++)
			honest_turn(i, MORE, true);
		env.now += ROUND;
		over = netinc_group_tick(&env.g, env.now);
		node_env_check();
	}
	netinc_assert(n < ROUNDS);
	if (netinc_group_is_branch(&env.g))
		return;
	for (n = 0; n < ROUNDS && !over; n++) {
		env.now += ROUND;
		over = netinc_group_tick(&env.g, env.now);
	}
	netinc_assert(over);
}
