// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ranks of fuzz_tree that keep to the rules, as small as they can be: each contributes what the
 * plan says, in order and within the window, asks for results that it lacks, repeats what it is
 * asked for, joins again after errors, leaves in the end. Those that lie do the same, and what they
 * send is altered on its way.
 */
#include "tree_env.h"

#define ROUND		(10 * NETINC_MS)
#define ROUNDS		320u		/* 8 dead limits */
/* those to whom a liar has told what keeps them waiting, and others waiting for them, go then */
#define MISLED_ROUNDS	60u
#define MORE		(2 * OP_BLOCKS)	/* blocks, at the end */

enum state { OUT, JOINING, MEMBER, OVER };

static struct rank {
	u8 state;
	bool was;		/* a member, some time */
	bool resync;		/* joins the next epoch of the same run */
	bool failing;
	bool left;
	bool ask[RING];		/* the node wants it again */
	bool got[RING];
	u32 node;
	u32 me;			/* its number in the group */
	u32 nonce;
	u32 epoch, incarnation;
	u64 cookie, down;
	u64 una, snd;
	u32 window;
	u64 limit;		/* failing: the error's block */
	u32 begun;		/* operations before this one it has contributed to */
	u64 target;
	struct plan plan;
} ranks[ALL_RANKS];

/* ---- The plan ------------------------------------------------------------ */

static u32 op_at(const struct plan *plan, u64 q)
{
	return plan->opseq + (u32)((q - plan->start) / OP_BLOCKS);
}

static u32 value_of(u32 rank, u64 q, u32 i, enum kind kind)
{
	u32 v = (u32)q * 31 + rank * 57 + i * 7;

	switch (kind) {
	case HALVES:
		return v % 5;
	case CLAMPED:
		return v % 100;
	case BLOCKS_8:
	case BLOCKS_4:
		return v % 3;	/* so that sums are below 16 */
	default:
		return v * 2654435761u;
	}
}

static u32 accumulator_of(enum kind kind)
{
	return kind == BLOCKS_8 ? 132 : kind == BLOCKS_4 ? 136 : 4;
}

/* An endpoint refuses block floats of which blocks have no room for an accumulator. */
static enum kind kind_of(const struct plan *plan, u32 seq)
{
	enum kind kind = seq % (env.long_blocks ? KINDS : SHORT_KINDS);

	return accumulator_of(kind) <= plan->block ? kind : EMPTY;
}

static u32 elems_of(const struct plan *plan, u64 q)
{
	bool first = !((q - plan->start) % OP_BLOCKS);

	return (plan->block - (first ? (u32)sizeof(struct inc_desc) : 0)) /
	       accumulator_of(kind_of(plan, op_at(plan, q)));
}

/* Whole numbers up to 2048. */
static u16 to_half(u32 n)
{
	u32 e = 0;

	if (!n)
		return 0;
	while (n >> (e + 1))
		e++;
	return (u16)((e + 15) << 10 | ((n << (10 - e)) & 0x3ff));
}

/* The code of @value, where @e is the exponent of the largest value of its block. */
static u8 code_of(u32 value, u32 e, enum kind kind)
{
	/* E2M1, nearest, ties to even, of twice the quotient */
	static const u8 nearest[16] = { 0, 1, 2, 3, 4, 4, 5, 6, 6, 6, 6, 7, 7, 7, 7, 7 };
	u32 own = 0;

	if (!value)
		return 0;
	if (kind == BLOCKS_4)
		return nearest[value * 8 >> e];
	while (value >> (own + 1))
		own++;
	return (u8)((15 + own - e) << 3 | (value << 3 >> own & 7));
}

/* Whole numbers below 15 as a block. */
static void put_block(u8 *block, const u32 *values, enum kind kind)
{
	u32 most = 0, e = 0, i;

	memset(block, 0, kind == BLOCKS_4 ? 17 : 33);
	for (i = 0; i < INC_MX_VALUES; i++)
		most = max(most, values[i]);
	if (!most)
		return;
	while (most >> (e + 1))
		e++;
	block[0] = (u8)(127 + e - (kind == BLOCKS_4 ? 2 : 8));
	for (i = 0; i < INC_MX_VALUES; i++) {
		u8 code = code_of(values[i], e, kind);

		if (kind == BLOCKS_4)
			block[1 + i / 2] |= (u8)(code << i % 2 * 4);
		else
			block[1 + i] = code;
	}
}

static void put_block_accumulator(u8 *to, const u32 *values, enum kind kind)
{
	float f[INC_MX_VALUES];
	u32 i;

	for (i = 0; i < INC_MX_VALUES; i++)
		f[i] = (float)values[i];
	memset(to, 0, accumulator_of(kind));
	memcpy(to, f, sizeof(f));
}

static void put_element(u8 *data, u32 i, u32 value, enum kind kind, bool up)
{
	float f = (float)value;
	u16 half = kind == HALVES ? to_half(value) : 0;
	__le32 word = cpu_to_le32(value);

	if (kind == HALVES && up)
		memcpy(data + 4 * i, &f, 4);
	else if (kind == HALVES)
		memcpy(data + 2 * i, &half, 2);
	else if (kind == CLAMPED && !up)
		data[i] = (u8)min(value, 255u);
	else
		memcpy(data + 4 * i, &word, 4);
}

static u32 size_of(enum kind kind, bool up)
{
	if (kind >= BLOCKS_8)
		return up ? accumulator_of(kind) : kind == BLOCKS_4 ? 17 : 33;
	return up || kind == SUMS || kind == MOVED ? 4 : kind == HALVES ? 2 : 1;
}

/* What the ranks of @among amount to in value @i of block @q. */
static u32 sum_of(const struct plan *plan, u32 among, u64 q, u32 i, enum kind kind)
{
	u32 seq = op_at(plan, q), sum = 0, r;

	for (r = 0; r < plan->size; r++)
		if (among >> r & 1 && (kind != MOVED || r == seq % plan->size))
			sum += value_of(r, q, i, kind);
	return sum;
}

/* Element @i of that. */
static void put_sum(const struct plan *plan, u32 among, u64 q, u32 i, enum kind kind, bool up,
		    u8 *data)
{
	u32 values[INC_MX_VALUES], j;

	if (kind < BLOCKS_8) {
		put_element(data, i, sum_of(plan, among, q, i, kind), kind, up);
		return;
	}
	for (j = 0; j < INC_MX_VALUES; j++)
		values[j] = sum_of(plan, among, q, i * INC_MX_VALUES + j, kind);
	data += i * size_of(kind, up);
	if (up)
		put_block_accumulator(data, values, kind);
	else
		put_block(data, values, kind);
}

u16 rank_expected(const struct plan *plan, u32 among, u64 q, bool up, u8 *data)
{
	u32 n = elems_of(plan, q), seq = op_at(plan, q), i;
	enum kind kind = kind_of(plan, seq);

	if (kind == EMPTY || (kind == MOVED && !(among >> seq % plan->size & 1)))
		return 0;
	for (i = 0; i < n; i++)
		put_sum(plan, among, q, i, kind, up, data);
	return n * size_of(kind, up);
}

static const struct {
	u8 dtype, dop, mode;
} op_of[KINDS] = {
	[SUMS] = { INC_TYPE_I32, INC_OP_SUM, 0 },
	[HALVES] = { INC_TYPE_F16, INC_OP_SUM, 0 },
	[CLAMPED] = { INC_TYPE_U8, INC_OP_SUM, INC_MODE_SATURATE },
	[MOVED] = { INC_TYPE_I32, INC_OP_NONE, 0 },
	[BLOCKS_8] = { INC_TYPE_MXF8E4M3, INC_OP_SUM, 0 },
	[BLOCKS_4] = { INC_TYPE_MXF4E2M1, INC_OP_SUM, 0 },
};

/* The first block may have room for no element. */
static u16 flags_of(const struct plan *plan, u32 rank, u64 q)
{
	u32 seq = op_at(plan, q);
	enum kind kind = kind_of(plan, seq);

	if (kind == EMPTY || !elems_of(plan, q))
		return 0;
	if (kind != MOVED)
		return INC_F_PAYLOAD | INC_F_WANT;
	return seq % plan->size == rank ? INC_F_PAYLOAD : INC_F_WANT;
}

void rank_plan(const struct plan *plan, u32 rank, u64 q, struct netinc_pkt *pkt, u8 *data)
{
	u32 seq = op_at(plan, q), i, n = elems_of(plan, q);
	enum kind kind = kind_of(plan, seq);

	pkt->psn = (u32)q;
	pkt->span = 1;
	pkt->opseq = seq;
	pkt->sig = seq * 2654435761u ^ (u32)plan->start;
	pkt->len = 0;
	if (plan->leaves && q == plan->leave) {
		pkt->flags = INC_F_LEAVE;
		pkt->sig++;
		return;
	}
	pkt->flags = flags_of(plan, rank, q);
	pkt->dtype = op_of[kind].dtype;
	pkt->dop = op_of[kind].dop;
	pkt->mode = op_of[kind].mode;
	if (!((q - plan->start) % OP_BLOCKS))
		pkt->flags |= INC_F_DESC;
	if (!(pkt->flags & INC_F_PAYLOAD))
		return;
	pkt->len = n * size_of(kind, false);
	for (i = 0; i < n; i++)
		put_sum(plan, 1u << rank, q, i, kind, false, data);
}

struct plan rank_plan_of(const struct node *n)
{
	return (struct plan){ .size = n->g.cfg.size,
			      .start = n->g.agg.start,
			      .opseq = n->g.opseq,
			      .block = clamp_t(u16, n->g.block, INC_MIN_BLOCK, tree_rank_block()) };
}

/* ---- What comes ---------------------------------------------------------- */

static bool is_honest(const struct rank *r)
{
	return !is_liar_at(r->node) && !is_liar_at(RANK_AT + (u32)(r - ranks));
}

/* Nobody lies who could make a difference. */
static bool all_honest(const struct rank *r)
{
	return !env.liars || r->node == OTHER;
}

static void rx_ready(struct rank *r, const struct frame *f)
{
	const struct inc_ready *ready = (const void *)f->body;
	u64 start = be64_to_cpu(ready->start);
	u32 opseq = be32_to_cpu(ready->opseq);
	u16 block = be16_to_cpu(ready->block);

	if (r->state != JOINING || be32_to_cpu(ready->nonce) != r->nonce ||
	    (s32)(f->pkt.epoch - r->epoch) <= 0 || be16_to_cpu(ready->rank) != r->me)
		return;
	if (r->was && (start != r->una || (s32)(opseq - r->begun) < 0))
		return;
	if (is_honest(r)) {
		netinc_assert(start == r->una && (!r->was || (s32)(opseq - r->begun) >= 0));
		netinc_assert(block >= INC_MIN_BLOCK && block <= tree_rank_block());
		netinc_assert(be32_to_cpu(ready->window) <= MAX_WINDOW);
		netinc_assert(be16_to_cpu(ready->children) == 1);
	}
	r->epoch = f->pkt.epoch;
	r->incarnation = f->pkt.incarnation;
	r->cookie = be64_to_cpu(ready->up_cookie);
	r->down = be64_to_cpu(ready->down_cookie);
	r->una = start;
	r->snd = start;
	r->window = clamp_t(u32, be32_to_cpu(ready->window), 1, MAX_WINDOW);
	memset(r->got, 0, sizeof(r->got));
	memset(r->ask, 0, sizeof(r->ask));
	r->failing = false;
	r->resync = false;
	r->was = true;
	r->state = MEMBER;
	r->plan.start = start;
	r->plan.opseq = opseq;
	r->plan.block = clamp_t(u16, block, INC_MIN_BLOCK, tree_rank_block());
}

static void rx_error(struct rank *r, const struct frame *f)
{
	struct netinc_error e;

	netinc_error_parse((const void *)f->body, &e);
	if (!r->was || r->state == OVER)
		return;
	if (is_honest(r)) {
		netinc_assert(e.code && e.code <= INC_ERR_MAX && (u32)e.block == f->pkt.psn);
		netinc_assert(!all_honest(r) || e.code != INC_ERR_MISMATCH);
		netinc_assert(r->node != OTHER);
	}
	if (!e.resume) {
		r->state = OVER;
		return;
	}
	if (r->state != MEMBER || r->failing)
		return;
	if (is_honest(r))
		netinc_assert((s64)(e.block - r->una) >= 0 &&
			      e.block - r->una <= 2 * r->window);
	r->failing = true;
	r->limit = e.block;
}

/* One that is of another operation than what has been contributed would be written somewhere. */
static void check_result(const struct rank *r, const struct frame *f, u64 q)
{
	struct netinc_pkt own = {};
	u8 data[MAX_LEN], right[4 * MAX_LEN];
	u32 all = (1u << r->plan.size) - 1;

	rank_plan(&r->plan, r->me, q, &own, data);
	netinc_assert(own.opseq == f->pkt.opseq && own.sig == f->pkt.sig);
	netinc_assert(f->pkt.len <= r->plan.block && !(f->pkt.flags & INC_F_LEAVE));
	if (own.flags & f->pkt.flags & INC_F_PAYLOAD)
		netinc_assert(own.len == f->pkt.len && own.dtype == f->pkt.dtype &&
			      own.dop == f->pkt.dop && own.mode == f->pkt.mode);
	if (!all_honest(r) || !(own.flags & INC_F_WANT))
		return;
	netinc_assert(rank_expected(&r->plan, all, q, false, right) == f->pkt.len);
	netinc_assert(!memcmp(right, f->body, f->pkt.len));
}

static void rx_result(struct rank *r, const struct frame *f)
{
	u64 q = netinc_extend(r->una, f->pkt.psn);
	u32 i;

	for (i = 0; i < f->pkt.span && r->state == MEMBER; i++, q++) {
		if (q - r->una >= r->snd - r->una || r->got[q % RING])
			continue;
		if (is_honest(r))
			check_result(r, f, q);
		r->got[q % RING] = true;
		if (r->plan.leaves && q == r->plan.leave)
			r->left = true;
	}
}

static void note_asked(struct rank *r, u64 q, u32 span)
{
	for (; span--; q++)
		if (q - r->una < r->snd - r->una)
			r->ask[q % RING] = true;
}

static void rx_status(struct rank *r, const struct frame *f)
{
	const struct inc_status *st = (const void *)f->body;
	u64 una = netinc_extend(r->una, f->pkt.psn);
	u32 i;

	if (sizeof(*st) + be16_to_cpu(st->bits) / 8 > f->pkt.len)
		return;
	for (i = 0; i < round_down(be16_to_cpu(st->bits), 32); i++)
		if (!netinc_bit(st->bitmap, i))
			note_asked(r, una + i, 1);
}

static bool is_of_epoch(const struct rank *r, const struct frame *f)
{
	return r->was && f->pkt.incarnation == r->incarnation && f->pkt.epoch == r->epoch &&
	       f->pkt.cookie == r->down;
}

static void rx_refuse(struct rank *r, const struct frame *f)
{
	const struct inc_refuse *refuse = (const void *)f->body;

	if (be16_to_cpu(refuse->code) != INC_REFUSE_UNKNOWN || !r->was)
		return;
	/* the node knows the group no more */
	if (f->pkt.cookie == r->cookie)
		r->state = OVER;
}

void rank_receives(u32 i, const struct frame *f)
{
	struct rank *r = &ranks[i];

	if (f->from != r->node)
		return;
	if (f->pkt.type == INC_PKT_READY)
		rx_ready(r, f);
	else if (f->pkt.type == INC_PKT_REFUSE)
		rx_refuse(r, f);
	else if (!is_of_epoch(r, f))
		;
	else if (f->pkt.type == INC_PKT_ERROR)
		rx_error(r, f);
	else if (f->pkt.type == INC_PKT_RESULT)
		rx_result(r, f);
	else if (f->pkt.type == INC_PKT_STATUS)
		rx_status(r, f);
	else if (f->pkt.type == INC_PKT_NACK)
		note_asked(r, netinc_extend(r->una, f->pkt.psn), f->pkt.span);
	else if (f->pkt.type == INC_PKT_WAIT && r->plan.leaves &&
		 (s64)(r->snd - r->plan.leave) > 0)
		r->left = true;
}

/* ---- What it does -------------------------------------------------------- */

static struct netinc_pkt make_packet(const struct rank *r, u8 type)
{
	return (struct netinc_pkt){ .type = type,
				    .group = GROUP,
				    .span = 1,
				    .child = r->me,
				    .epoch = r->epoch,
				    .incarnation = r->incarnation,
				    .cookie = r->cookie };
}

static void send_packet(const struct rank *r, const struct netinc_pkt *pkt, const void *body,
			u32 len)
{
	struct inc_desc desc = { .opseq = cpu_to_be32(pkt->opseq) };

	tree_send(RANK_AT + (u32)(r - ranks), r->node, pkt,
		  pkt->flags & INC_F_DESC ? &desc : NULL, body, len);
}

static void contribute(struct rank *r, u64 q, bool again)
{
	struct netinc_pkt pkt = make_packet(r, INC_PKT_CONTRIB);
	u8 data[MAX_LEN];

	rank_plan(&r->plan, r->me, q, &pkt, data);
	if ((s32)(pkt.opseq + 1 - r->begun) > 0)
		r->begun = pkt.opseq + 1;
	pkt.flags |= again ? INC_F_RETRANS : 0;
	send_packet(r, &pkt, data, pkt.len);
}

static void advance(struct rank *r)
{
	while (r->una != r->snd && r->got[r->una % RING]) {
		r->got[r->una % RING] = false;
		r->una++;
	}
	if (r->left)
		r->state = OVER;
	if (!r->failing || (s64)(r->una - r->limit) < 0 || r->state != MEMBER)
		return;
	r->snd = r->una;
	r->state = JOINING;
	r->resync = true;
}

/* Behind an error nothing leaves, nor behind LEAVE, nor, in the end, more than is to be done. */
static bool may_send(const struct rank *r)
{
	return r->snd - r->una < r->window && (!r->failing || (s64)(r->snd - r->limit) < 0) &&
	       (!r->plan.leaves || (s64)(r->snd - r->plan.leave) <= 0) &&
	       (!r->target || r->plan.leaves || (s64)(r->snd - r->target) < 0);
}

static void send_data(struct rank *r, u32 blocks)
{
	u64 q;

	for (q = r->una; q != r->snd; q++)
		if (r->ask[q % RING] && !r->got[q % RING] &&
		    (!r->failing || (s64)(q - r->limit) < 0))
			contribute(r, q, true);
	memset(r->ask, 0, sizeof(r->ask));
	while (blocks-- && may_send(r))
		contribute(r, r->snd++, false);
}

static void send_probe(struct rank *r)
{
	u32 bits = r->snd == r->una ? 0 : round_up((u32)(r->snd - r->una), 32u), i;
	struct netinc_pkt pkt = make_packet(r, INC_PKT_PROBE);
	struct {
		struct inc_probe probe;
		__be32 map[MAX_WINDOW / 32 + 1];
	} m;

	memset(&m, 0, sizeof(m));
	for (i = 0; i < bits; i++)
		if (i >= r->snd - r->una || r->got[(r->una + i) % RING])
			netinc_bit_set(m.map, i);
	m.probe.bits = cpu_to_be16(bits);
	pkt.psn = (u32)r->una;
	pkt.flags = bits ? INC_F_RETRANS : 0;
	send_packet(r, &pkt, &m, max_t(u32, sizeof(m.probe) + bits / 8,
				       sizeof(struct inc_refuse)));
}

static void send_join(struct rank *r)
{
	struct inc_join body = { .size = cpu_to_be32(r->plan.size),
				 .nonce = cpu_to_be32(r->nonce),
				 .next = cpu_to_be64(r->una),
				 .block = cpu_to_be16(r->resync ? r->plan.block :
							  tree_rank_block()),
				 .flags = env.asks ? INC_JOIN_CANONICAL : 0 };
	struct netinc_pkt pkt = make_packet(r, INC_PKT_JOIN);

	pkt.opseq = r->begun;
	if (!r->resync)
		pkt.incarnation = 0;
	if (tree_returns() && r->node != OTHER) {
		body.block = cpu_to_be16(tree_block());
		body.lineage = cpu_to_be64(LINEAGE);
		body.move = cpu_to_be32(MOVE);
		body.below = r->resync ? 0 : INC_JOIN_RETURN;
	}
	send_packet(r, &pkt, &body, sizeof(body));
}

void rank_turn(u32 i, u32 blocks, bool probe)
{
	struct rank *r = &ranks[i];

	if (i < MAX_RANKS ? i >= env.size : i >= ALL_RANKS)
		return;
	if (r->state == OUT)
		r->state = JOINING;
	advance(r);
	if (r->state == JOINING)
		send_join(r);
	if (r->state == MEMBER)
		send_data(r, blocks);
	if (r->state == MEMBER && probe)
		send_probe(r);
}

/* ---- Life ---------------------------------------------------------------- */

void rank_start(const u32 *at)
{
	struct rank *r;
	u32 i;

	memset(ranks, 0, sizeof(ranks));
	for (i = 0; i < ALL_RANKS; i++) {
		r = &ranks[i];
		r->node = i < MAX_RANKS ? at[i] : OTHER;
		r->me = i < MAX_RANKS ? i : i - MAX_RANKS;
		r->nonce = 100 + i;
		r->una = FIRST_BLOCK;
		r->snd = FIRST_BLOCK;
		r->plan.size = i < MAX_RANKS ? env.size : OTHER_RANKS;
	}
}

/* Has it an operation that has not ended? Of those whom only liars serve nothing is known. */
static bool is_busy(const struct rank *r)
{
	return r->was && r->state != OVER && is_honest(r) &&
	       (r->state != MEMBER || (s64)(r->una - r->target) < 0);
}

static bool anybody_busy(void)
{
	u32 i;

	for (i = 0; i < ALL_RANKS; i++)
		if (is_busy(&ranks[i]))
			return true;
	return false;
}

/* All have the same ones yet to do. */
static void set_targets(bool leaves)
{
	u64 last = FIRST_BLOCK;
	u32 i;

	for (i = 0; i < ALL_RANKS; i++)
		if (is_honest(&ranks[i]) && (s64)(ranks[i].snd - last) > 0)
			last = ranks[i].snd;
	for (i = 0; i < ALL_RANKS; i++) {
		ranks[i].target = last + MORE;
		ranks[i].plan.leave = ranks[i].target;
		ranks[i].plan.leaves = leaves;
	}
}

static bool any_group(void)
{
	u32 i;

	for (i = 0; i < NODES; i++)
		if (env.node[i].mem)
			return true;
	return false;
}

void rank_finish(bool leaves)
{
	u32 i, n;

	env.truth = true;
	env.no_hold = false;
	env.no_fold = false;
	set_targets(leaves);
	for (n = 0; n < ROUNDS && anybody_busy(); n++) {
		for (i = 0; i < ALL_RANKS; i++)
			if (is_honest(&ranks[i]) || (!env.mute && n < MISLED_ROUNDS))
				rank_turn(i, MORE, true);
		tree_stall();
		tree_pump();
		env.now += ROUND;
		tree_tick();
		tree_check();
	}
	netinc_assert(n < ROUNDS);
	/* nobody has noticed anything in the other group */
	for (i = MAX_RANKS; i < ALL_RANKS; i++)
		netinc_assert(ranks[i].left ||
			      (s64)(ranks[i].una - ranks[i].target) >= 0);
	for (i = 0; i < ALL_RANKS; i++)
		ranks[i].state = OVER;
	for (n = 0; n < ROUNDS && any_group(); n++) {
		tree_pump();
		env.now += ROUND;
		tree_tick();
	}
	netinc_assert(n < ROUNDS);
}
