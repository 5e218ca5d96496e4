/* SPDX-License-Identifier: GPL-2.0-only */
/* The environment of a group at a node for tests: what it sends and reports is written down. */
#ifndef INC_GROUP_ENV_H
#define INC_GROUP_ENV_H

#include "engine/group.h"

#include "ktap.h"
#include "siphash.h"

#ifndef SIZE
#define SIZE	3u
#endif
#define W	8u
#define DEAD	1000u	/* ms */
#define LINEAGE	0x1122334455667788ull
#define LOG	512u

struct sent {
	u8 type;
	u32 child;
	struct netinc_pkt pkt;
	u8 body[640];
};

static struct {
	struct netinc_group g;
	void *mem;
	struct sent log[LOG];
	u32 logged, seen;
	u32 events[__INC_EVENT_MAX];
	u32 event_rank;
	u64 late_us[__INC_EVENT_MAX];
	u32 results;
	u32 statuses;
	u16 set;		/* of the last PARTIAL */
	u32 held;
	struct inc_desc desc[SIZE][W];	/* of what is held: obj is &desc[child][block % W] */
	u64 detail;
	struct netinc_peer link[SIZE];	/* where what is for each member goes */
	u32 links;
	bool no_link;
	u16 blocks;		/* bytes that all members say; 0: see block_of() */
	u32 from[SIZE], to[SIZE], renumbered;
} env;

static inline bool hold(struct netinc_agg *agg, struct netinc_pay *pay, bool force)
{
	(void)agg;
	(void)pay;
	(void)force;
	env.held++;
	return true;
}

static inline void release(struct netinc_agg *agg, struct netinc_pay *pay)
{
	(void)agg;
	(void)pay;
	env.held--;
}

static inline void desc(struct netinc_agg *agg, const struct netinc_pay *pay, struct inc_desc *d)
{
	(void)agg;
	memset(d, 0, sizeof(*d));
	if (pay->obj)
		*d = *(struct inc_desc *)pay->obj;
}

static inline bool can_fold(struct netinc_agg *agg, u8 dtype, u8 dop, u8 mode)
{
	(void)agg;
	(void)dtype;
	(void)mode;
	return dop != INC_OP_WSUM;
}

static inline bool fold(struct netinc_agg *agg, struct netinc_slot *slot, u32 part)
{
	(void)part;
	(void)agg;
	slot->result.obj = &env.desc[0][0];
	env.held++;
	return true;
}

static inline bool copy(struct netinc_agg *agg, struct netinc_slot *slot, u32 i)
{
	(void)i;
	return fold(agg, slot, NETINC_WHOLE);
}

static inline bool is_copy(struct netinc_agg *agg, const struct netinc_slot *slot, u32 i)
{
	(void)agg;
	(void)slot;
	(void)i;
	return true;
}

static inline void send_result(struct netinc_agg *agg, const struct netinc_slot *slot, u32 child)
{
	(void)agg;
	(void)slot;
	(void)child;
	env.results++;
}

static inline void send_up(struct netinc_agg *agg, const struct netinc_slot *slot, u32 part,
			   bool again)
{
	(void)part;
	(void)again;
	(void)agg;
	expect(false, "the root sends block %llu up", (unsigned long long)slot->q);
}

static inline void agg_send(struct netinc_agg *agg, u32 child, const struct netinc_pkt *pkt,
			    const void *body, u32 len)
{
	(void)agg;
	(void)child;
	(void)len;
	env.statuses += pkt->type == INC_PKT_STATUS;
	if (pkt->type == INC_PKT_PARTIAL)
		env.set = be16_to_cpu(((const struct inc_partial *)body)->set);
}

static const struct netinc_agg_ops agg_ops = {
	.hold = hold,
	.release = release,
	.desc = desc,
	.can_fold = can_fold,
	.fold = fold,
	.copy = copy,
	.is_copy = is_copy,
	.send_result = send_result,
	.send_up = send_up,
	.send = agg_send,
	.mismatch = netinc_group_mismatch,
};

static inline void send(struct netinc_group *g, u32 child, const struct netinc_pkt *pkt,
			const void *body, u32 len)
{
	struct sent *s = &env.log[env.logged++ % LOG];

	(void)g;
	s->type = pkt->type;
	s->child = child;
	s->pkt = *pkt;
	memcpy(s->body, body, len);
}

static inline void event(struct netinc_group *g, enum inc_event what, u32 rank)
{
	env.events[what]++;
	env.event_rank = rank;
	env.late_us[what] = g->late_us;
}

static inline void renumber(struct netinc_group *g, u32 from, u32 to)
{
	(void)g;
	env.from[env.renumbered] = from;
	env.to[env.renumbered++] = to;
}

static inline bool link_member(struct netinc_group *g, u32 rank, const struct netinc_peer *peer)
{
	(void)g;
	if (env.no_link)
		return false;
	env.links++;
	env.link[rank] = *peer;
	return true;
}

static const struct netinc_group_ops ops = {
	.send = send, .event = event, .link = link_member, .renumber = renumber,
};

/* A packet in a buffer of its own. */
static inline int rx_contrib(const struct netinc_pkt *pkt, const struct netinc_pay *pay, u64 now)
{
	netinc_group_buffer_begin(&env.g);
	return netinc_group_contrib(&env.g, pkt, pay, now);
}

static inline int rx_control(const struct netinc_pkt *pkt, const void *body, u64 now)
{
	netinc_group_buffer_begin(&env.g);
	return netinc_group_control(&env.g, pkt, body, now);
}

static inline void begin(void)
{
	struct netinc_group_cfg cfg = { .id = 77, .incarnation = 0x1234, .size = SIZE,
					.block = INC_MAX_BLOCK,
					.settings = { .window = W, .dead_ms = DEAD },
					.secret = { 1, 2 }, .lineage = LINEAGE };

	memset(&env, 0, sizeof(env));
	env.mem = calloc(1, netinc_group_bytes(SIZE, W));
	netinc_group_init(&env.g, &cfg, env.mem, &ops, &agg_ops);
}

static inline void end(void)
{
	netinc_agg_drain(&env.g.agg);
	expect(!env.held, "%u are held after the drain", env.held);
	expect(env.seen == env.logged, "%u more packets were sent, first of type %u",
	       env.logged - env.seen, env.log[env.seen % LOG].type);
	free(env.mem);
}

static inline struct netinc_peer peer_of(u32 rank)
{
	return (struct netinc_peer){
		.addr = { 10, 0, 0, rank },
		.family = 2,
		.udp_port = cpu_to_be16(99),
		.ifindex = rank + 5,
	};
}

/* What the path of a new one carries, and what READY has said from the first epoch on. */
static inline u16 block_of(u32 rank)
{
	if (env.blocks)
		return env.blocks;
	if (env.g.epoch && !env.g.move)
		return env.g.block;
	return env.g.move ? INC_MIN_BLOCK : INC_MIN_BLOCK + 16 * rank;
}

static inline struct inc_join join_of(u32 rank, u64 next)
{
	return (struct inc_join){ .size = cpu_to_be32(SIZE), .nonce = cpu_to_be32(100 + rank),
				  .next = cpu_to_be64(next),
				  .block = cpu_to_be16(block_of(rank)) };
}

static inline struct netinc_pkt pkt_of(u8 type, u32 rank)
{
	return (struct netinc_pkt){ .type = type, .group = 77, .span = 1, .child = rank,
				    .epoch = env.g.epoch, .incarnation = env.g.epoch ? 0x1234 : 0,
				    .cookie = rank < SIZE ? env.g.members[rank].cookie : 0 };
}

static inline int join(u32 rank, u64 next, u64 now)
{
	struct netinc_peer peer = peer_of(rank);
	struct inc_join j = join_of(rank, next);
	struct netinc_pkt pkt = pkt_of(INC_PKT_JOIN, rank);

	return netinc_group_join(&env.g, &pkt, &j, &peer, now, &env.detail);
}

static inline const struct sent *next_sent(void)
{
	static const struct sent nothing;

	return env.seen < env.logged ? &env.log[env.seen++ % LOG] : &nothing;
}

static inline const struct sent *sent_at(const char *file, int line, u8 type, u32 child)
{
	const struct sent *s = next_sent();

	if ((s->type != type || s->child != child) && ktap_fail(file, line))
		printf("type %u to %d was sent, expected type %u to %d\n", s->type, (int)s->child,
		       type, (int)child);
	return s;
}

static inline void count_at(const char *file, int line, const char *name, u64 value, u64 expected)
{
	if (value != expected && ktap_fail(file, line))
		printf("%s is %llu, expected %llu\n", name, (unsigned long long)value,
		       (unsigned long long)expected);
}

#define expect_sent(type, child)	sent_at(__FILE__, __LINE__, type, child)
#define expect_count(counter, n) \
	count_at(__FILE__, __LINE__, #counter, env.g.counters[INC_C_##counter], n)

/* All have joined, and have READY. */
static inline void form(u64 start)
{
	u32 i;

	begin();
	for (i = 0; i < SIZE; i++)
		expect(!join(i, start, 1000), "rank %u", i);
	for (i = 0; i + 1 < SIZE; i++)
		expect_sent(INC_PKT_WAIT, i);
	for (i = 0; i < SIZE; i++) {
		expect_sent(INC_PKT_READY, i);
		env.g.members[i].confirmed = true;
	}
	expect(env.g.state == INC_GROUP_ACTIVE && env.g.epoch == 1, "state %u, epoch %u",
	       env.g.state, env.g.epoch);
}

static inline int check(u32 rank, u8 type, u64 now)
{
	struct netinc_peer peer = peer_of(rank);
	struct netinc_pkt pkt = pkt_of(type, rank);

	return netinc_group_check(&env.g, &pkt, &peer, now);
}

/* One contribution of an operation: its first block, which has a descriptor. */
static inline int contrib(u32 rank, u64 block, u32 opseq, u32 sig, u16 flags, u64 now)
{
	struct netinc_pkt pkt = pkt_of(INC_PKT_CONTRIB, rank);
	struct inc_desc *d = &env.desc[rank][block % W];
	struct netinc_pay pay = { .obj = d, .flags = flags | INC_F_DESC };

	pkt.psn = (u32)block;
	pkt.flags = flags | INC_F_DESC;
	pkt.opseq = opseq;
	pkt.sig = sig;
	d->opseq = cpu_to_be32(opseq);
	d->count = cpu_to_be64(sig);
	env.g.members[rank].heard = now;
	env.g.members[rank].confirmed = true;
	return rx_contrib(&pkt, &pay, now);
}

static inline void send_probe(u32 rank, u64 now)
{
	struct netinc_pkt pkt = pkt_of(INC_PKT_PROBE, rank);
	struct inc_probe body = { .srtt = 0 };

	pkt.len = sizeof(body);
	pkt.psn = (u32)env.g.agg.una;
	env.g.members[rank].heard = now;
	env.g.members[rank].confirmed = true;
	expect(!rx_control(&pkt, &body, now), "probe of rank %u", rank);
}

static inline int abort_rank(u32 rank, u16 code, u32 nonce, u64 now)
{
	struct netinc_pkt pkt = pkt_of(INC_PKT_ABORT, rank);
	struct inc_error_pkt body = { .code = cpu_to_be16(code), .resume = cpu_to_be32(nonce) };

	pkt.len = sizeof(body);
	return rx_control(&pkt, &body, now);
}

static inline struct netinc_error error_of(const struct sent *s)
{
	struct netinc_error e;

	netinc_error_parse((const void *)s->body, &e);
	return e;
}

#endif
