// SPDX-License-Identifier: GPL-2.0-only
/*
 * A group at a node, driven by a stream of decisions: joins, contributions that are nearly right, probes, aborts,
 * time, lack of memory. Members may lie: nothing leaks, no slot is ever in a state that it cannot be in, and what is
 * held is bounded.
 */
#include "engine/group.h"

#include "reader.h"
#include "siphash.h"

#define MAX_SIZE	5u
#define FIRST_BLOCK	0xfffffffdull	/* so that numbers wrap */

struct obj {
	u32 refs;
	struct inc_desc desc;
};

static struct {
	struct netinc_group g;
	struct reader r;
	u64 now;
	u32 objs, held;
	bool no_hold, no_fold;
} env;

static void put(struct obj *o)
{
	netinc_assert(o->refs);
	if (--o->refs)
		return;
	env.objs--;
	free(o);
}

static struct obj *new(void)
{
	struct obj *o = calloc(1, sizeof(*o));

	o->refs = 1;
	env.objs++;
	return o;
}

static bool hold(struct netinc_agg *agg, struct netinc_pay *pay, bool force)
{
	struct obj *o = pay->obj;

	(void)agg;
	if (env.no_hold && !force) {
		env.no_hold = false;
		return false;
	}
	o->refs++;
	env.held++;
	return true;
}

static void release(struct netinc_agg *agg, struct netinc_pay *pay)
{
	(void)agg;
	netinc_assert(env.held);
	env.held--;
	put(pay->obj);
}

static void desc(struct netinc_agg *agg, const struct netinc_pay *pay, struct inc_desc *d)
{
	(void)agg;
	memset(d, 0, sizeof(*d));
	if (pay->obj)
		*d = ((struct obj *)pay->obj)->desc;
}

static bool can_fold(struct netinc_agg *agg, u8 dtype, u8 dop, u8 mode)
{
	(void)agg;
	(void)dtype;
	(void)mode;
	return dop != INC_OP_WSUM;
}

/* What is folded agrees, what is only moved comes from one child. */
static void check_inputs(const struct netinc_agg *agg, const struct netinc_slot *slot)
{
	u32 i, n = 0;

	for (i = 0; i < agg->children; i++) {
		if (!(slot->in[i].flags & INC_F_PAYLOAD))
			continue;
		netinc_assert(slot->in[i].obj && slot->in[i].len == slot->len);
		n++;
	}
	netinc_assert(!n == !(slot->flags & INC_F_PAYLOAD) && (n < 2 || slot->dop != INC_OP_NONE));
}

static bool result(struct netinc_slot *slot)
{
	if (env.no_fold)
		return false;
	slot->result = (struct netinc_pay) { .obj = new(), .len = slot->len };
	env.held++;
	return true;
}

static bool fold(struct netinc_agg *agg, struct netinc_slot *slot)
{
	check_inputs(agg, slot);
	return result(slot);
}

static bool copy(struct netinc_agg *agg, struct netinc_slot *slot, u32 i)
{
	(void)agg;
	netinc_assert(slot->in[i].obj);
	return result(slot);
}

static void check_child(u32 child)
{
	netinc_assert(child == NETINC_ALL || child < env.g.cfg.size);
}

static void send_result(struct netinc_agg *agg, const struct netinc_slot *slot, u32 child)
{
	(void)agg;
	check_child(child);
	netinc_assert(slot->state == NETINC_SLOT_DONE && (!slot->missing || (slot->flags & INC_F_PARTIAL)));
}

static void send_up(struct netinc_agg *agg, const struct netinc_slot *slot)
{
	(void)agg;
	(void)slot;
	netinc_assert(false);
}

static void send_nack(struct netinc_agg *agg, u32 child, u64 q, u32 span)
{
	check_child(child);
	netinc_assert(span && span <= agg->window && (s64)(q - agg->una) >= 0);
}

static void send_status(struct netinc_agg *agg, u32 child, u32 tstamp, const struct inc_status *body, u32 len)
{
	(void)agg;
	(void)tstamp;
	check_child(child);
	netinc_assert(len == sizeof(*body) + be16_to_cpu(body->bits) / 8);
}

static void send_partial(struct netinc_agg *agg, u32 child, const struct inc_partial *body, u32 len)
{
	netinc_assert(agg->set && be16_to_cpu(body->set) && len == sizeof(*body) + be16_to_cpu(body->bits) / 8);
	netinc_assert(child == NETINC_ALL || child < agg->children);
}

static const struct netinc_agg_ops agg_ops = {
	.hold = hold, .release = release, .desc = desc, .can_fold = can_fold, .fold = fold, .copy = copy,
	.send_result = send_result, .send_up = send_up, .send_nack = send_nack, .send_status = send_status,
	.send_partial = send_partial,
	.mismatch = netinc_group_mismatch,
};

static void send(struct netinc_group *g, u32 child, const struct netinc_pkt *pkt, const void *body, u32 len)
{
	struct netinc_pkt p = *pkt, back;
	u8 buf[512];

	(void)g;
	check_child(child);
	p.len = len;
	memset(buf, 0, sizeof(buf));
	netinc_build((struct inc_hdr *)buf, &p);
	memcpy(buf + sizeof(struct inc_hdr), body, len);
	netinc_assert(!netinc_parse(buf, sizeof(struct inc_hdr) + netinc_body_len(&p), &back));
}

static void event(struct netinc_group *g, enum inc_event what, u32 rank)
{
	(void)g;
	netinc_assert(what && what < __INC_EVENT_MAX);
	netinc_assert(rank == NETINC_NO_RANK || rank < env.g.cfg.size);
}

static void renumber(struct netinc_group *g, u32 from, u32 to)
{
	netinc_assert(to < from && from < g->old_size);
}

static const struct netinc_group_ops ops = { .send = send, .event = event, .renumber = renumber };

static u32 counted(const struct netinc_slot *slot)
{
	u32 i, n = 0;

	for (i = 0; i < env.g.agg.children; i++)
		n += slot->have[0] >> i & 1;
	return n;
}

/* What holds for every slot and child after every event. */
static void check(void)
{
	const struct netinc_agg *agg = &env.g.agg;
	u32 i;

	if (env.g.state == INC_GROUP_JOINING || !env.g.epoch)
		return;
	for (i = 0; i < 2 * agg->window; i++) {
		const struct netinc_slot *slot = &agg->slots[i];

		netinc_assert((slot->q & (2 * agg->window - 1)) == i);
		netinc_assert(slot->missing + counted(slot) == agg->children);
		netinc_assert(slot->state == NETINC_SLOT_FILLING ? slot->missing :
			      !slot->missing || (slot->flags & INC_F_PARTIAL));
		netinc_assert((s64)(slot->q - agg->una) < 2 * (s64)agg->window);
		netinc_assert(slot->state == NETINC_SLOT_DONE || (s64)(slot->q - agg->una) >= 0);
	}
	for (i = 0; i < agg->children; i++) {
		/* others get ahead of it, as far as its PROBEs let them */
		netinc_assert(agg->set || (s64)(agg->child[i].frontier - agg->una) >= 0);
		netinc_assert((s64)(agg->una - agg->child[i].has) >= 0);
		netinc_assert(agg->child[i].end - agg->child[i].frontier <= agg->window);
	}
	netinc_assert(env.held <= 2 * agg->window + agg->window * agg->children);
}

static struct netinc_peer peer_of(u32 rank)
{
	return (struct netinc_peer) { .addr = { rank }, .ifindex = 1 + rank };
}

/* Where member @rank is; before it was numbered anew its number said that. */
static struct netinc_peer peer_at(u32 rank)
{
	return env.g.shrunk && rank < env.g.cfg.size ? env.g.members[rank].peer : peer_of(rank);
}

/* For a group that shrinks, or has: as a member of the one that failed. */
static void make_shrink(struct inc_join *body, struct netinc_pkt *pkt)
{
	body->shrink = 1;
	body->lineage = cpu_to_be64(env.g.cfg.ancestor);
	body->size = cpu_to_be32(env.g.old_size);
	pkt->epoch = 0;
	pkt->cookie = 0;
}

static void join(void)
{
	struct reader *r = &env.r;
	u32 rank = read_u8(r) % (MAX_SIZE + 1);
	struct netinc_peer peer = peer_of(rank);
	struct inc_join body = { .size = cpu_to_be32(env.g.cfg.size), .nonce = cpu_to_be32(1 + read_u8(r) % 2),
				 .next = cpu_to_be64(env.g.epoch ? env.g.agg.una : FIRST_BLOCK),
				 .block = cpu_to_be16(INC_MIN_BLOCK) };
	struct netinc_pkt pkt = { .type = INC_PKT_JOIN, .span = 1, .child = rank, .epoch = env.g.epoch,
				  .cookie = rank < env.g.cfg.size ? env.g.members[rank].cookie : 0 };
	u64 detail;
	int code;

	if (netinc_group_shrinking(&env.g) || (env.g.shrunk && read_u8(r) & 1))
		make_shrink(&body, &pkt);
	else
		peer = peer_at(rank);
	read_damage(r, &body, sizeof(body));
	code = netinc_group_join(&env.g, &pkt, &body, &peer, env.now, &detail);
	netinc_assert(code >= 0 && code < __INC_REFUSE_MAX);
}

/* Everybody joins with what the node expects: most inputs would not get there else. */
static void join_all(void)
{
	u32 i;

	for (i = 0; i < env.g.cfg.size; i++) {
		struct netinc_peer peer = peer_at(i);
		struct inc_join body = { .size = cpu_to_be32(env.g.cfg.size),
					 .nonce = cpu_to_be32(env.g.members[i].present ? env.g.members[i].nonce : 1),
					 .next = cpu_to_be64(env.g.epoch ? env.g.agg.una : FIRST_BLOCK),
					 .block = cpu_to_be16(INC_MIN_BLOCK) };
		struct netinc_pkt pkt = { .type = INC_PKT_JOIN, .span = 1, .child = i, .epoch = env.g.epoch,
					  .cookie = env.g.members[i].cookie };
		u64 detail;

		if (netinc_group_shrinking(&env.g))
			make_shrink(&body, &pkt);
		netinc_group_join(&env.g, &pkt, &body, &peer, env.now, &detail);
	}
}

static bool passes(struct netinc_pkt *pkt)
{
	struct netinc_peer peer;

	if (read_u8(&env.r) % 16 == 15)
		pkt->cookie ^= 1ull << read_u8(&env.r) % 64;
	if (read_u8(&env.r) % 16 == 15)
		pkt->epoch++;
	peer = peer_at(pkt->child);
	return !netinc_group_check(&env.g, pkt, &peer, env.now);
}

static struct netinc_pkt packet(u8 type)
{
	u32 child = read_u8(&env.r) % (env.g.cfg.size + 1);

	return (struct netinc_pkt) { .type = type, .span = 1, .child = child, .epoch = env.g.epoch,
				     .cookie = child < env.g.cfg.size ? env.g.members[child].cookie : 0 };
}

/* How a run looks: all give and want, one gives to all, each gives to one other, nobody has anything. */
enum kind { REDUCED, SPREAD, MOVED, EMPTY, WILD };

#define SAME_KIND	16	/* blocks */

static enum kind kind_of(u64 q)
{
	return (q - FIRST_BLOCK) / SAME_KIND % WILD;
}

static void plain_bits(struct netinc_pkt *pkt, u64 q, enum kind kind)
{
	u32 size = env.g.cfg.size, from = q % size, to = (q + 1) % size;

	pkt->flags = 0;
	if (kind == REDUCED || (kind < EMPTY && pkt->child == from))
		pkt->flags |= INC_F_PAYLOAD;
	if (kind == REDUCED || (kind == SPREAD && pkt->child != from) || (kind == MOVED && pkt->child == to))
		pkt->flags |= INC_F_WANT;
	pkt->len = pkt->flags & INC_F_PAYLOAD ? 64 : 0;
	pkt->dtype = INC_TYPE_I32;
	pkt->dop = kind == REDUCED ? INC_OP_SUM : INC_OP_NONE;
}

static void contrib_at(struct netinc_pkt *pkt, u64 q, enum kind kind)
{
	struct reader *r = &env.r;
	struct netinc_pay pay = { 0 };
	struct obj *o;

	pkt->psn = (u32)q;
	plain_bits(pkt, q, kind);
	if (kind == WILD) {
		u8 how = read_u8(r);

		pkt->flags = read_u16(r) & INC_F_ALL;
		pkt->opseq = how & 3;
		pkt->sig = how >> 2 & 3;
		pkt->len = pkt->flags & INC_F_PAYLOAD ? 4 + 4 * (how >> 4 & 1) : 0;
		if (!(pkt->flags & (INC_F_PAYLOAD | INC_F_DESC)))
			pkt->span = 1 + read_u16(r) % 5000;
		if (!(pkt->flags & INC_F_PAYLOAD))
			pkt->flags &= ~INC_F_FINAL;
		pkt->part = how >> 7;
		pkt->dop = how >> 5 & 1 ? INC_OP_NONE : how >> 6 & 1 ? INC_OP_WSUM : INC_OP_SUM;
	}
	o = new();
	o->desc.count = cpu_to_be64(pkt->sig);
	pay.obj = o;
	pay.len = pkt->len;
	pay.flags = pkt->flags;
	netinc_group_contrib(&env.g, pkt, &pay, env.now);
	put(o);
}

static void contrib(void)
{
	struct netinc_pkt pkt = packet(INC_PKT_CONTRIB);
	s16 off = (s8)read_u8(&env.r);

	if (passes(&pkt))
		contrib_at(&pkt, env.g.agg.una + off, WILD);
}

/* A run of good contributions of one child; those without anything are one header. */
static void run(void)
{
	struct netinc_pkt pkt = packet(INC_PKT_CONTRIB);
	u32 n = read_u8(&env.r) % 16;
	u64 q = env.g.agg.child[pkt.child % env.g.cfg.size].frontier;

	if (!passes(&pkt))
		return;
	for (; n; n -= pkt.span, q += pkt.span) {
		pkt.span = 1;
		if (kind_of(q) == EMPTY)
			pkt.span = min_t(u32, n, SAME_KIND - (q - FIRST_BLOCK) % SAME_KIND);
		contrib_at(&pkt, q, kind_of(q));
	}
	if (env.g.running)
		netinc_agg_packet_end(&env.g.agg, pkt.child, env.now);
}

static void probe(void)
{
	struct netinc_pkt pkt = packet(INC_PKT_PROBE);
	struct {
		struct inc_probe probe;
		__be32 map[8];
	} m;
	u32 words = read_u8(&env.r) % 9;

	memset(&m, 0, sizeof(m));
	m.probe.srtt = cpu_to_be32(read_u8(&env.r));
	m.probe.bits = cpu_to_be16(32 * words);
	read_bytes(&env.r, m.map, 4 * words);
	read_damage(&env.r, &m.probe, sizeof(m.probe));
	pkt.psn = (u32)(env.g.agg.una + (s8)read_u8(&env.r));
	pkt.len = sizeof(m.probe) + 4 * words;
	if (passes(&pkt))
		netinc_group_control(&env.g, &pkt, &m, env.now);
}

static void abort_rank(void)
{
	struct netinc_pkt pkt = packet(INC_PKT_ABORT);
	struct inc_error_pkt body = { .code = cpu_to_be16(INC_ERR_RANK_ABORT), .resume = cpu_to_be32(1) };

	read_damage(&env.r, &body, sizeof(body));
	pkt.len = sizeof(body);
	if (passes(&pkt))
		netinc_group_control(&env.g, &pkt, &body, env.now);
}

static bool step(void)
{
	u8 what = read_u8(&env.r);

	switch (what % 16) {
	case 0:
		join();
		break;
	case 1:
		join_all();
		break;
	case 2 ... 5:
		contrib();
		break;
	case 6 ... 9:
		run();
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
		break;
	default:
		if (what == 255)
			netinc_group_fail(&env.g, read_u8(&env.r) % __INC_ERR_MAX, 0, env.now);
		break;
	}
	return true;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct netinc_group_cfg cfg = { .id = 1, .incarnation = 2, .dead_ms = 500, .secret = { 3, 4 } };
	void *mem;
	u8 kind;

	if (size > 4096)
		return 0;
	memset(&env, 0, sizeof(env));
	env.r = (struct reader) { data, size };
	env.now = 1000;
	kind = read_u8(&env.r);
	cfg.size = 1 + kind % MAX_SIZE;
	cfg.ancestor = kind >> 7 ? 77 : 0;
	cfg.known = kind >> 6 & 1;
	cfg.ngone = cfg.ancestor && kind & 0x20;
	cfg.gone[0] = kind >> 3 & 3;
	cfg.window = INC_MIN_WINDOW << read_u8(&env.r) % 4;
	cfg.late_policy = read_u8(&env.r) % __INC_LATE_MAX;
	cfg.late_ms = cfg.late_policy ? 50 : 0;
	mem = calloc(1, netinc_group_bytes(cfg.size, cfg.window));
	netinc_group_init(&env.g, &cfg, mem, &ops, &agg_ops);
	while (env.r.left && step())
		check();
	netinc_agg_drain(&env.g.agg);
	netinc_assert(!env.held && !env.objs);
	free(mem);
	return 0;
}
