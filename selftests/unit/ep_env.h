/* SPDX-License-Identifier: GPL-2.0-only */
/* The environment of an endpoint for tests: what it sends is written down; the test is the node. */
#ifndef INC_EP_ENV_H
#define INC_EP_ENV_H

#include "engine/endpoint.h"
#include "reduce/reduce.h"

#include "ktap.h"
#include "siphash.h"

#define SIZE	4u
#define RANK	2u
#define W	8u
#define BLOCK	64u	/* 8 elements in the first block, 16 in the others */
#define SUPER	4u
#define DEAD	1000u	/* ms */
#define JOB	0x0102030405060708ull
#define UP	0x1111222233334444ull
#define DOWN	0x5555666677778888ull
#define LOG	256u

struct sent {
	u8 type;		/* CONTRIB: blocks */
	u64 block;
	u32 n;
	u16 flags;
	u32 opseq;
	struct netinc_pkt pkt;
	u8 body[512];
	u8 to;			/* address of somebody else than the parent */
	const struct netinc_pay *pay;	/* of what is kept */
};

static struct {
	struct netinc_ep ep;
	u8 fallback, standbys, trees;	/* what READY says; trees 0: one */
	u32 move;
	struct netinc_peer peers[SIZE];
	u32 place;		/* of the plan */
	s32 retained;		/* payloads */
	bool no_keep;		/* there is no memory for them */
	u32 spread;		/* how often the ways to several trees have been asked for */
	bool no_spread;		/* there is no memory for them */
	u8 payload;		/* where all of them are */
	struct sent log[LOG];
	u32 logged, seen;
	u32 most;		/* blocks that send_blocks() takes, one call */
	bool no_room;		/* deliver() refuses */
	u32 come;		/* contributions to the oldest block that STATUS says have come */
	u64 delivered;		/* elements */
	u64 first;
	u32 done, failed;
	u32 last_done;		/* sequence number */
	struct netinc_op *held;	/* on hold until the exchange of its counts is done, */
	u16 counts_error;	/* which shows this */
	u32 states;
	u64 now;
} env;

static inline u32 send_blocks(struct netinc_ep *ep, struct netinc_op *op, u64 idx, u32 n, u32 most,
			      u16 flags)
{
	struct sent *s = &env.log[env.logged++ % LOG];
	u32 sent = min(min(n, most), env.most), i;
	struct netinc_pay pay = { .obj = &env.payload };
	struct netinc_block b;

	expect(n && most && most <= SUPER, "a super-packet of %u", most);
	*s = (struct sent){ .type = INC_PKT_CONTRIB, .block = op->first + idx, .n = sent,
			    .flags = flags, .opseq = op->seq };
	for (i = sent; i--;) {
		netinc_coll_block(op, idx + i, &b);
		netinc_ep_block_header(ep, op, idx + i, &b, &s->pkt);
		pay.len = s->pkt.len;
		env.retained +=
			netinc_ep_sent(ep, op->first + idx + i, &s->pkt, pay.len ? &pay : NULL);
	}
	return sent;
}

static inline u32 send_retained(struct netinc_ep *ep, u64 block, u32 n, u16 flags)
{
	struct sent *s;
	u32 i;

	expect(n, "none of what is kept");
	for (i = 0; i < n; i++) {
		s = &env.log[env.logged++ % LOG];
		*s = (struct sent){
			.type = INC_PKT_CONTRIB, .block = block + i, .n = 1, .flags = flags,
		};
		s->pay = netinc_ep_retained_header(ep, block + i, &s->pkt);
		s->opseq = s->pkt.opseq;
	}
	return n;
}

static inline bool spread(struct netinc_ep *ep)
{
	expect(ep->npeers == ep->cfg.size, "several trees with %u peers", ep->npeers);
	env.spread++;
	return !env.no_spread;
}

static inline bool retain_init(struct netinc_ep *ep, u32 n)
{
	static struct netinc_retained room[2 * W];

	expect(n == 1, "room for %u", n);
	if (env.no_keep)
		return false;
	memset(room, 0, sizeof(room));
	ep->retained[0] = room;
	return true;
}

static inline bool keep(struct netinc_ep *ep, struct netinc_pay *pay)
{
	(void)ep;
	if (env.no_keep)
		return false;
	pay->obj = &env.payload;
	env.retained++;
	return true;
}

static inline void forget(struct netinc_ep *ep, struct netinc_pay *pay)
{
	(void)ep;
	expect(pay->obj == &env.payload, "what was not kept is forgotten");
	env.retained--;
}

static inline bool retarget(struct netinc_ep *ep, u32 at)
{
	expect(at < ep->nplan, "place %u of %u", at, ep->nplan);
	env.place = at;
	return true;
}

static inline void send_to(struct netinc_ep *ep, const struct netinc_peer *peer,
			   const struct netinc_pkt *pkt, const void *body, u32 len)
{
	struct sent *s = &env.log[env.logged++ % LOG];

	(void)ep;
	*s = (struct sent) { .type = pkt->type, .pkt = *pkt, .to = peer->addr[1] };
	memcpy(s->body, body, len);
}

static inline void send(struct netinc_ep *ep, const struct netinc_pkt *pkt, const void *body,
			u32 len)
{
	struct sent *s = &env.log[env.logged++ % LOG];

	(void)ep;
	*s = (struct sent) { .type = pkt->type, .pkt = *pkt };
	memcpy(s->body, body, len);
}

static inline bool deliver(struct netinc_ep *ep, struct netinc_op *op, const struct netinc_block *b,
			   const struct netinc_pay *pay)
{
	(void)ep;
	(void)op;
	(void)pay;
	if (env.no_room)
		return false;
	if (!(b->bits & INC_F_WANT))
		return true;
	env.first = b->recv;
	env.delivered += b->elems;
	return true;
}

static inline void op_done(struct netinc_ep *ep, struct netinc_op *op)
{
	(void)ep;
	env.done++;
	env.failed += op->error.code != INC_ERR_NONE;
	env.last_done = op->seq;
	if (env.held && (op->mode & INC_MODE_COUNTS_PHASE) && !op->error.code) {
		env.held->hold = false;
		env.held->error.code = env.counts_error;
	}
}

static inline void state(struct netinc_ep *ep, u8 old)
{
	(void)ep;
	(void)old;
	env.states++;
}

static const struct netinc_ep_ops ops = {
	.send_blocks = send_blocks,
	.send = send,
	.send_retained = send_retained,
	.retain_init = retain_init,
	.retain = keep,
	.retain_release = forget,
	.retarget = retarget,
	.send_to = send_to,
	.deliver = deliver,
	.op_done = op_done,
	.state = state,
	.spread = spread,
};

static inline const struct sent *next_sent(void)
{
	static const struct sent nothing;

	return env.seen < env.logged ? &env.log[env.seen++ % LOG] : &nothing;
}

static inline const struct sent *sent_at(const char *file, int line, u8 type)
{
	const struct sent *s = next_sent();

	if (s->type != type && ktap_fail(file, line))
		printf("type %u was sent, expected type %u\n", s->type, type);
	return s;
}

static inline void blocks_at(const char *file, int line, u64 first, u32 n, u16 flags)
{
	const struct sent *s = next_sent();

	if ((s->type != INC_PKT_CONTRIB || s->block != first || s->n != n || s->flags != flags) &&
	    ktap_fail(file, line))
		printf("type %u, blocks %llu + %u, flags %#x, expected %llu + %u\n", s->type,
		       (unsigned long long)s->block, s->n, s->flags, (unsigned long long)first, n);
}

static inline void count_at(const char *file, int line, const char *name, u64 value, u64 expected)
{
	if (value != expected && ktap_fail(file, line))
		printf("%s is %llu, expected %llu\n", name, (unsigned long long)value,
		       (unsigned long long)expected);
}

#define expect_sent(type)		sent_at(__FILE__, __LINE__, type)
#define expect_blocks(first, n, flags)	blocks_at(__FILE__, __LINE__, first, n, flags)
#define expect_count(counter, n) \
	count_at(__FILE__, __LINE__, #counter, env.ep.counters[INC_C_##counter], n)
#define expect_state(s) \
	expect(env.ep.state == (s), "state is %u, expected " #s, env.ep.state)
#define expect_quiet() \
	expect(env.seen == env.logged, "%u more were sent, first of type %u", \
	       env.logged - env.seen, env.log[env.seen % LOG].type)

static inline struct netinc_peer peer_at(u8 addr)
{
	return (struct netinc_peer){ .addr = { 10, addr }, .family = NETINC_AF_INET,
				     .udp_port = cpu_to_be16(9) };
}

static inline void begin(u64 first_block)
{
	struct netinc_ep_cfg cfg = { .job = JOB, .group = 77, .rank = RANK, .size = SIZE,
				     .dead_ms = DEAD, .nonce = 4711, .block = BLOCK,
				     .super_packet = SUPER, .first_block = first_block };

	memset(&env, 0, sizeof(env));
	env.most = ~0u;
	env.now = 1000000;
	netinc_reduce_init(0);
	netinc_ep_init(&env.ep, &cfg, &ops);
	netinc_ep_buffer_begin(&env.ep, ~0u);
	env.ep.plan[0] = peer_at(100);
	env.ep.peers = env.peers;
}

static inline struct netinc_pkt from_node(u8 type)
{
	return (struct netinc_pkt){
		.type = type, .group = 77, .incarnation = 5, .epoch = 1, .span = 1, .cookie = DOWN,
	};
}

static inline int control(struct netinc_pkt pkt, const void *body, u32 len)
{
	pkt.len = len;
	return netinc_ep_control(&env.ep, &pkt, body, env.now);
}

/* Standby nodes are at addresses 101, 102, ..., the edge is at 110. */
static inline struct inc_ready ready_body(u64 start)
{
	struct netinc_peer edge = peer_at(110), standby;
	struct inc_ready r = {
		.nonce = cpu_to_be32(4711), .window = cpu_to_be32(W), .start = cpu_to_be64(start),
		.up_cookie = cpu_to_be64(UP), .down_cookie = cpu_to_be64(DOWN),
		.size = cpu_to_be32(SIZE), .children = cpu_to_be16(SIZE),
		.trees = cpu_to_be16(env.trees ?: 1), .block = cpu_to_be16(BLOCK),
		.rank = cpu_to_be16(RANK), .dead_ms = cpu_to_be32(DEAD), .lineage = cpu_to_be64(7),
		.fallback = env.fallback, .standbys = env.standbys, .move = cpu_to_be32(env.move),
	};
	u32 i;

	netinc_addr_build(&r.edge, &edge);
	for (i = 0; i < env.standbys; i++) {
		standby = peer_at(101 + i);
		netinc_addr_build(&r.standby[i], &standby);
	}
	return r;
}

static inline int give_ready(u32 epoch, u64 start, u32 opseq)
{
	struct netinc_pkt pkt = from_node(INC_PKT_READY);
	struct inc_ready body = ready_body(start);

	pkt.epoch = epoch;
	pkt.child = RANK;
	body.opseq = cpu_to_be32(opseq);
	return control(pkt, &body, sizeof(body));
}

/* A rank whose group has formed. */
static inline void ready(u64 start)
{
	begin(start);
	netinc_ep_connect(&env.ep, env.now);
	expect(!give_ready(1, start, 0), "READY");
	expect_state(INC_STATE_READY);
	env.seen = env.logged;
}

static inline struct netinc_op allreduce(u64 count)
{
	return (struct netinc_op){ .coll = INC_COLL_ALLREDUCE, .type = INC_TYPE_I32,
				   .wire = INC_TYPE_I32, .op = INC_OP_SUM, .count = count };
}

static inline struct netinc_op barrier(void)
{
	return (struct netinc_op) { .coll = INC_COLL_BARRIER };
}

static inline void submit_op(struct netinc_op *op)
{
	int err = netinc_ep_submit(&env.ep, op, env.now);

	expect(!err, "submit: %d", err);
}

/* The result of block @b of @op. */
static inline struct netinc_pkt result_of(const struct netinc_op *op, u64 b)
{
	struct netinc_pkt pkt = from_node(INC_PKT_RESULT);
	struct netinc_block blk;

	netinc_coll_block(op, b - op->first, &blk);
	pkt.psn = (u32)b;
	pkt.epoch = env.ep.epoch;
	pkt.opseq = op->seq;
	pkt.sig = op->sig;
	pkt.len = blk.bits & INC_F_WANT ? 4 * blk.elems : 0;
	if (pkt.len)
		pkt.flags = INC_F_PAYLOAD | INC_F_WANT;
	return pkt;
}

static inline int give(struct netinc_pkt pkt)
{
	struct netinc_pay pay = { .len = pkt.len, .flags = pkt.flags };
	int err = netinc_ep_check(&env.ep, &pkt);

	if (!err)
		err = netinc_ep_result(&env.ep, &pkt, &pay, env.now);
	netinc_ep_packet_end(&env.ep, pkt.tree, env.now);
	return err;
}

static inline int result(const struct netinc_op *op, u64 b)
{
	return give(result_of(op, b));
}

static inline int error(u64 block, u32 opseq, u32 resume, u16 code)
{
	struct netinc_pkt pkt = from_node(INC_PKT_ERROR);
	struct netinc_error e = { .block = block, .opseq = opseq, .resume = resume, .code = code,
				  .rank = { 0, 1 } };
	struct inc_error_pkt body;

	pkt.psn = (u32)block;
	pkt.epoch = env.ep.epoch;
	netinc_error_build(&body, &e);
	return control(pkt, &body, sizeof(body));
}

static inline void status(u64 psn, u32 here)
{
	struct netinc_pkt pkt = from_node(INC_PKT_STATUS);
	struct {
		struct inc_status status;
		__be32 map[1];
	} m = { .status = { .waiting = cpu_to_be32(3),
			    .waited = cpu_to_be32(17),
			    .bits = cpu_to_be16(32),
			    .seen = cpu_to_be32(env.come) },
		.map = { cpu_to_be32(here) } };

	pkt.psn = (u32)psn;
	pkt.epoch = env.ep.epoch;
	pkt.tstamp = (u32)env.now - 500;
	expect(!control(pkt, &m, sizeof(m)), "STATUS");
}

static inline void wait(u32 nonce, u32 epoch, u64 cookie, int expected)
{
	struct netinc_pkt pkt = from_node(INC_PKT_WAIT);
	struct inc_wait_pkt body = { .nonce = cpu_to_be32(nonce), .joined = cpu_to_be32(2),
				     .missing = cpu_to_be32(1) };
	int err;

	pkt.epoch = epoch;
	pkt.cookie = cookie;
	err = control(pkt, &body, sizeof(body));
	expect(err == expected, "WAIT: %d, expected %d", err, expected);
}

static inline int refuse(u32 nonce, u16 code, u64 cookie)
{
	struct netinc_pkt pkt = from_node(INC_PKT_REFUSE);
	struct inc_refuse body = { .nonce = cpu_to_be32(nonce), .code = cpu_to_be16(code),
				   .detail = cpu_to_be64(9) };

	pkt.cookie = cookie;
	return control(pkt, &body, sizeof(body));
}

#define COOKIE(t)	(0xabcd000000000000ull + (t))	/* for tree @t */

/* PEERS: ranks 0 .. @n - 1 are at addresses 200 + rank. */
static inline int give_peers(u32 n)
{
	struct netinc_pkt pkt = from_node(INC_PKT_PEERS);
	struct {
		struct inc_peers peers;
		struct inc_peer peer[SIZE];
	} m = { .peers = { .n = cpu_to_be32(n) } };
	struct netinc_peer peer;
	u32 i;

	for (i = 0; i < n; i++) {
		peer = peer_at(200 + i);
		netinc_addr_build(&m.peer[i].addr, &peer);
		m.peer[i].cookie[0] = cpu_to_be32((u32)(COOKIE(i) >> 32));
		m.peer[i].cookie[1] = cpu_to_be32((u32)COOKIE(i));
	}
	pkt.epoch = env.ep.epoch;
	return control(pkt, &m, sizeof(m.peers) + n * sizeof(m.peer[0]));
}

/* A rank whose group has formed and has somewhere to go; all ranks' addresses have come. */
static inline void ready_to_move(u64 start, u8 fallback, u8 standbys)
{
	begin(start);
	env.fallback = fallback;
	env.standbys = standbys;
	netinc_ep_connect(&env.ep, env.now);
	expect(!give_ready(1, start, 0), "READY");
	expect(!give_peers(SIZE) && env.ep.npeers == SIZE, "PEERS: %u known", env.ep.npeers);
	expect_state(INC_STATE_READY);
	env.seen = env.logged;
}

/* READY at the place that it has moved to. */
static inline void ready_again(u32 epoch, u64 start)
{
	env.move = env.ep.move;
	expect(!give_ready(epoch, start, 0), "READY of epoch %u", epoch);
	env.seen = env.logged;
}

/* READY of a tree of nodes. */
static inline int tree_ready(u32 epoch, u64 start, u16 trees)
{
	struct netinc_pkt pkt = from_node(INC_PKT_READY);
	struct inc_ready body = ready_body(start);

	pkt.epoch = epoch;
	pkt.child = RANK;
	body.height = 1;
	body.trees = cpu_to_be16(trees);
	return control(pkt, &body, sizeof(body));
}

/* A rank whose group has formed over a tree of nodes. */
static inline void in_tree(u8 fallback, u8 standbys)
{
	begin(0);
	env.fallback = fallback;
	env.standbys = standbys;
	netinc_ep_connect(&env.ep, env.now);
	expect(!tree_ready(1, 0, 1), "READY");
	expect_state(INC_STATE_READY);
	env.seen = env.logged;
}

/* MOVE of another rank, which lacks the result of block @next. */
static inline int call_from(u32 move, u64 next)
{
	struct inc_move body = { .lineage = cpu_to_be64(7), .move = cpu_to_be32(move) };
	struct netinc_pkt pkt = {
		.type = INC_PKT_MOVE, .group = 77, .child = RANK, .span = 1, .len = sizeof(body),
		.psn = (u32)next,
	};
	struct netinc_peer from = peer_at(201);

	return netinc_ep_non_parent(&env.ep, &pkt, &body, &from, env.now);
}

static inline int call_to(u32 move)
{
	return call_from(move, 0);
}

static inline u64 run_timer(u64 until)
{
	u64 at;

	while ((at = netinc_ep_timer(&env.ep, env.now)) && at <= until) {
		expect(at > env.now, "the timer stands still at %llu", (unsigned long long)env.now);
		env.now = max(at, env.now + 1);
	}
	return at;
}

#endif
