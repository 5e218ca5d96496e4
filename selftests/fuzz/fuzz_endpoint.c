// SPDX-License-Identifier: GPL-2.0-only
/*
 * A rank at its host, driven by a stream of decisions: operations, packets of nodes that may lie and of other ranks,
 * moves, time, lack of memory. Whatever they say, nothing is written outside a buffer, rule 1 holds, timers move on,
 * every operation ends exactly once, and what is kept for a move is forgotten exactly once.
 */
#include "engine/endpoint.h"
#include "reduce/reduce.h"

#include "reader.h"
#include "siphash.h"

#define MAX_OPS		64u
#define SIZE		4u
#define RANK		1u
#define BLOCK		64u
#define SUPER		5u
#define MAX_WINDOW	(INC_MIN_WINDOW << 3)
#define DOWN		0x123456789abcdef0ull
#define LINEAGE		0x77ull

struct op {
	struct netinc_op op, exchange;	/* the exchange of its counts, where they have to be */
	u32 counts[SIZE * SIZE], ask[SIZE];
	u64 before[2][NETINC_BEFORE(SIZE)];
	bool submitted, done;
	bool contradiction;		/* is what the exchange shows */
};

static struct {
	struct netinc_ep ep;
	struct reader r;
	u64 now;
	u32 ops, pending;
	bool short_send, no_room, no_keep;
	u32 results, own;		/* payloads that are kept */
	struct netinc_peer peers[SIZE];
	struct op op[MAX_OPS];
	struct netinc_op leave;
	bool leaving;
} env;

static u64 stream_length(const struct netinc_op *op, bool send)
{
	struct netinc_share s;
	u64 n = 0;
	u32 i;

	for (i = 0; send ? netinc_coll_send_share(op, i, &s) : netinc_coll_recv_share(op, i, &s); i++)
		n += s.elems;
	return n;
}

static u32 elem_size(const struct netinc_op *op)
{
	return netinc_reduce_elem_size(netinc_coll_wire_type(op));
}

static u32 send_blocks(struct netinc_ep *ep, struct netinc_op *op, u64 idx, u32 n, u32 most, u16 flags)
{
	struct netinc_pay pay = { .obj = &env };
	u32 i, payloads = 0;
	struct netinc_block b;
	struct netinc_pkt pkt;

	(void)flags;
	netinc_assert(n && most && most <= SUPER && idx + n <= op->blocks);
	if (env.short_send)
		n /= 2;
	env.short_send = false;
	for (i = 0; i < n && payloads < most; i++) {
		netinc_coll_block(op, idx + i, &b);
		netinc_ep_block_header(ep, op, idx + i, &b, &pkt);
		netinc_assert(pkt.len <= BLOCK && (!pkt.len == !(pkt.flags & INC_F_PAYLOAD)));
		if (pkt.len) {
			netinc_assert(b.send + b.elems <= stream_length(op, true));
			payloads++;
		}
		pay.len = pkt.len;
		env.own += netinc_ep_sent(ep, op->first + idx + i, &pkt, pkt.len ? &pay : NULL);
	}
	return i;
}

static u32 send_kept(struct netinc_ep *ep, u64 block, u32 n, u16 flags)
{
	const struct netinc_pay *pay;
	struct netinc_pkt pkt;
	u32 i;

	(void)flags;
	netinc_assert(n);
	if (env.short_send)
		n /= 2;
	env.short_send = false;
	for (i = 0; i < n; i++) {
		pay = netinc_ep_kept_header(ep, block + i, &pkt);
		netinc_assert(pkt.psn == (u32)(block + i) && (!pay == !(pkt.flags & INC_F_PAYLOAD)));
		netinc_assert(!pay || (pay->obj == &env && pay->len && pay->len == pkt.len && pkt.len <= BLOCK));
	}
	return n;
}

static bool keep_room(struct netinc_ep *ep, u32 n)
{
	static struct netinc_kept room[DIV_ROUND_UP(2 * MAX_WINDOW, NETINC_KEPT_CHUNK)][NETINC_KEPT_CHUNK];
	u32 i;

	netinc_assert(n && n <= ARRAY_SIZE(ep->kept));
	if (env.no_keep || n > ARRAY_SIZE(room))
		return false;
	memset(room, 0, sizeof(room));
	for (i = 0; i < n; i++)
		ep->kept[i] = room[i];
	return true;
}

static bool keep(struct netinc_ep *ep, struct netinc_pay *pay)
{
	(void)ep;
	if (env.no_keep)
		return false;
	pay->obj = &env;
	env.results++;
	return true;
}

static void forget(struct netinc_ep *ep, struct netinc_pay *pay)
{
	u32 *kept = pay->flags & INC_F_FINAL ? &env.results : &env.own;

	(void)ep;
	netinc_assert(pay->obj == &env && *kept);
	--*kept;
}

static bool spread(struct netinc_ep *ep)
{
	netinc_assert(ep->npeers == SIZE && ep->spread.trees > 1);
	return !env.no_keep;
}

static bool retarget(struct netinc_ep *ep, u32 at)
{
	netinc_assert(at < ep->nplan);
	return true;
}

static void send(struct netinc_ep *ep, const struct netinc_pkt *pkt, const void *body, u32 len)
{
	struct netinc_pkt p = *pkt, back;
	u8 buf[1024];

	(void)ep;
	p.len = len;
	memset(buf, 0, sizeof(buf));
	netinc_assert(len <= sizeof(buf) - sizeof(struct inc_hdr));
	netinc_build((struct inc_hdr *)buf, &p);
	memcpy(buf + sizeof(struct inc_hdr), body, len);
	netinc_assert(!netinc_parse(buf, sizeof(struct inc_hdr) + netinc_body_len(&p), &back));
}

static void send_to(struct netinc_ep *ep, const struct netinc_peer *peer, const struct netinc_pkt *pkt,
		    const void *body, u32 len)
{
	netinc_assert((peer >= env.peers && peer < env.peers + SIZE) ||
		      (peer >= ep->plan && peer < ep->plan + ep->nplan));
	send(ep, pkt, body, len);
}

static bool deliver(struct netinc_ep *ep, struct netinc_op *op, const struct netinc_block *b,
		    const struct netinc_pay *pay)
{
	(void)ep;
	(void)op;
	/* what is not wanted may be there, for another rank of the host */
	netinc_assert(!(b->bits & INC_F_WANT) || elem_size(op) * b->elems == pay->len);
	netinc_assert(!(b->bits & INC_F_WANT) || b->recv + b->elems <= stream_length(op, false));
	if (!env.no_room)
		return true;
	env.no_room = false;
	return false;
}

/* The node may have told anything: the counts are what the input says. */
static void exchanged(struct op *o)
{
	if (o->exchange.error.code)
		return;
	netinc_assert(!o->done && o->exchange.done == o->exchange.blocks);
	o->op.counts = o->counts;
	o->op.hold = false;
	if (!o->contradiction)
		return;
	o->op.error.code = INC_ERR_COUNTS;
	o->op.error.opseq = o->op.seq;
}

static void op_done(struct netinc_ep *ep, struct netinc_op *op)
{
	struct op *o;

	(void)ep;
	if (op == &env.leave)
		return;
	if (op->mode & INC_MODE_COUNTS_PHASE) {
		exchanged(container_of(op, struct op, exchange));
		return;
	}
	o = container_of(op, struct op, op);
	netinc_assert(o->submitted && !o->done);
	netinc_assert(op->error.code || (op->done == op->blocks && !o->contradiction));
	o->done = true;
	env.pending--;
}

static void state(struct netinc_ep *ep, u8 old)
{
	netinc_assert(ep->state != old && ep->state <= INC_STATE_FAILED);
}

static const struct netinc_ep_ops ops = {
	.send_blocks = send_blocks, .send = send, .send_kept = send_kept, .keep_room = keep_room, .keep = keep,
	.forget = forget, .retarget = retarget, .send_to = send_to, .deliver = deliver, .op_done = op_done,
	.state = state, .spread = spread,
};

static bool has_counts(u8 coll)
{
	return coll == INC_COLL_REDUCE_SCATTER || coll == INC_COLL_ALLGATHER || netinc_coll_asks_counts(coll);
}

static void pick_counts(struct op *o)
{
	u32 n = o->op.coll == INC_COLL_ALLTOALL ? SIZE * SIZE : SIZE, i;

	o->op.mode = INC_MODE_COUNTS;
	o->op.count = 0;
	for (i = 0; i < n; i++) {
		o->counts[i] = read_u8(&env.r);
		o->op.count += o->counts[i];
	}
	if (!netinc_coll_asks_counts(o->op.coll)) {
		o->op.counts = o->counts;
		return;
	}
	o->contradiction = read_u8(&env.r) % 8 == 7;
	o->exchange = o->op;
	o->exchange.mode |= INC_MODE_COUNTS_PHASE;
	for (i = 0; i < SIZE; i++)
		o->ask[i] = o->op.coll == INC_COLL_ALLTOALL ? 2 * SIZE : i == o->op.root ? SIZE : 1;
	o->exchange.counts = o->ask;
	o->op.hold = true;
}

/* Bits 2 to 5 say which collective; 0: one without anything, or allreduce. */
static u8 coll_of(u8 what)
{
	u8 which = what >> 2 & 15;

	if (!which)
		return what & 1 ? INC_COLL_ALLREDUCE : INC_COLL_BARRIER;
	return INC_COLL_BARRIER + which % (INC_COLL_EXSCAN - INC_COLL_BARRIER + 1);
}

static void pick_op(struct op *o)
{
	u8 what = read_u8(&env.r);

	memset(o, 0, sizeof(*o));
	o->op.size = SIZE;
	o->op.rank = RANK;
	o->op.before = o->before[0];
	o->op.coll = coll_of(what);
	if (o->op.coll == INC_COLL_BARRIER)
		return;
	o->op.in_place = what & 0x80;
	o->op.count = what & 2 ? read_u8(&env.r) : read_u16(&env.r);
	o->op.type = INC_TYPE_I32;
	if (netinc_coll_reduces(o->op.coll))
		o->op.op = INC_OP_SUM;
	else
		o->op.type = 1 + read_u8(&env.r) % INC_TYPE_MAX;
	o->op.wire = o->op.type;
	if (netinc_coll_rooted(o->op.coll))
		o->op.root = read_u8(&env.r) % SIZE;
	if (has_counts(o->op.coll) && (what & 0x40))
		pick_counts(o);
	o->exchange.before = o->before[1];
}

static void submit(void)
{
	struct op *o;
	int err = 0;

	if (env.ops == MAX_OPS)
		return;
	o = &env.op[env.ops];
	pick_op(o);
	netinc_assert(!netinc_coll_check(&o->op));
	env.pending++;
	o->submitted = true;
	if (o->op.hold)
		err = netinc_ep_submit(&env.ep, &o->exchange, env.now);
	if (!err)
		err = netinc_ep_submit(&env.ep, &o->op, env.now);
	if (err) {
		o->submitted = false;
		env.pending--;
	} else {
		env.ops++;
	}
}

static struct netinc_pkt packet(u8 type)
{
	struct netinc_pkt pkt = { .type = type, .span = 1, .incarnation = 7, .epoch = env.ep.epoch, .cookie = DOWN,
				  .child = RANK };

	if (env.ep.spread.trees > 1 && type != INC_PKT_READY)
		pkt.tree = read_u8(&env.r) % (SIZE + 1);
	if (read_u8(&env.r) % 32 == 31)
		pkt.cookie = read_u8(&env.r) & 1 ? env.ep.way[0].up_cookie : 0;
	if (read_u8(&env.r) % 32 == 31)
		pkt.epoch += (s8)read_u8(&env.r);
	return pkt;
}

static struct netinc_op *op_at(u64 block)
{
	struct netinc_op *op;

	for (op = env.ep.head; op; op = op->next)
		if (op->numbered && block - op->first < op->blocks)
			return op;
	return NULL;
}

static void result_at(struct netinc_pkt *pkt, u64 block, u32 span)
{
	struct netinc_op *op = op_at(block);
	struct netinc_pay pay;
	struct netinc_block b;

	pkt->psn = (u32)block;
	if (read_u8(&env.r) % 32 != 31)
		pkt->tree = netinc_tree_of(&env.ep.spread, block);
	if (op) {
		pkt->opseq = op->seq;
		pkt->sig = op->sig;
		netinc_coll_block(op, block - op->first, &b);
		pkt->len = b.bits & INC_F_WANT ? elem_size(op) * b.elems : 0;
	}
	if (read_u8(&env.r) % 32 == 31)
		pkt->len = read_u8(&env.r);
	if (read_u8(&env.r) % 32 == 31)
		pkt->opseq++;
	pkt->flags = pkt->len ? INC_F_PAYLOAD | INC_F_WANT : 0;
	pkt->span = pkt->len ? 1 : span;
	pay = (struct netinc_pay) { .len = pkt->len, .flags = pkt->flags };
	if (!netinc_ep_check(&env.ep, pkt))
		netinc_ep_result(&env.ep, pkt, &pay, env.now);
}

static void results(void)
{
	struct netinc_pkt pkt = packet(INC_PKT_RESULT);
	u64 block = env.ep.una + (s8)read_u8(&env.r);
	u8 how = read_u8(&env.r);
	u32 n;

	if (!env.ep.window)
		return;
	for (n = how % 16; n; n--) {
		result_at(&pkt, block, 1 + how / 16);
		block += pkt.span;
	}
	netinc_ep_packet_end(&env.ep, pkt.tree, env.now);
}

static void control(struct netinc_pkt *pkt, void *body, u32 len)
{
	read_damage(&env.r, body, len);
	pkt->len = len;
	netinc_ep_control(&env.ep, pkt, body, env.now);
}

/*
 * Bits 0 and 1 of the byte choose a window, 2 and 3 the fallback, 4 and 5 how many standby nodes there are, 6 that
 * there are several trees. Fallback 3 is none, with late ranks left out.
 */
static void ready(void)
{
	struct netinc_pkt pkt = packet(INC_PKT_READY);
	u8 what = read_u8(&env.r);
	struct inc_ready body = {
		.nonce = cpu_to_be32(9), .window = cpu_to_be32(INC_MIN_WINDOW << what % 4),
		.start = cpu_to_be64(env.ep.una), .up_cookie = cpu_to_be64(~DOWN), .down_cookie = cpu_to_be64(DOWN),
		.size = cpu_to_be32(SIZE), .children = cpu_to_be16(SIZE), .trees = cpu_to_be16(1),
		.block = cpu_to_be16(BLOCK), .rank = cpu_to_be16(env.ep.cfg.rank), .dead_ms = cpu_to_be32(500),
		.opseq = cpu_to_be32(env.ep.error.resume), .move = cpu_to_be32(env.ep.move),
		.fallback = what >> 2 & 3, .lineage = cpu_to_be64(LINEAGE), .standbys = what >> 4 & 3,
	};
	u32 i;

	if (what & 0x40)
		body.trees = cpu_to_be16(SIZE);
	if (body.fallback == __INC_FALLBACK_MAX) {
		body.fallback = INC_FALLBACK_NONE;
		body.late_policy = INC_LATE_PARTIAL;
		body.late_ms = cpu_to_be32(100);
	}
	if (env.ep.window)
		body.window = cpu_to_be32(env.ep.window);
	if (env.ep.lineage)
		body.fallback = env.ep.fallback;
	for (i = 0; i < body.standbys && i < INC_MAX_STANDBY; i++)
		body.standby[i].family = cpu_to_be16(4);
	body.edge.family = cpu_to_be16(6);
	pkt.epoch = env.ep.epoch + 1;
	control(&pkt, &body, sizeof(body));
}

static void status(void)
{
	struct netinc_pkt pkt = packet(INC_PKT_STATUS);
	struct {
		struct inc_status status;
		__be32 map[4];
	} m;
	u32 words = read_u8(&env.r) % 5;

	memset(&m, 0, sizeof(m));
	m.status.bits = cpu_to_be16(32 * words);
	read_bytes(&env.r, m.map, 4 * words);
	pkt.psn = (u32)(env.ep.una + (s8)read_u8(&env.r));
	pkt.tstamp = (u32)env.now - read_u16(&env.r);
	control(&pkt, &m, sizeof(m.status) + 4 * words);
}

static void nack(void)
{
	struct netinc_pkt pkt = packet(INC_PKT_NACK);

	pkt.psn = (u32)(env.ep.una + (s8)read_u8(&env.r));
	pkt.span = 1 + read_u16(&env.r) % 0xffff;
	netinc_ep_control(&env.ep, &pkt, NULL, env.now);
}

static void error(void)
{
	struct netinc_pkt pkt = packet(INC_PKT_ERROR);
	struct netinc_error e = { .block = env.ep.una + read_u8(&env.r) % 16, .code = INC_ERR_MISMATCH };
	struct inc_error_pkt body;

	e.opseq = env.ep.head ? env.ep.head->seq : env.ep.next_seq;
	e.resume = read_u8(&env.r) % 4 ? e.opseq + 1 + read_u8(&env.r) % 4 : 0;
	pkt.psn = (u32)e.block;
	netinc_error_build(&body, &e);
	control(&pkt, &body, sizeof(body));
}

static void small_packet(void)
{
	struct inc_challenge challenge = { .nonce = cpu_to_be32(9), .challenge = cpu_to_be64(55) };
	struct inc_wait_pkt wait = { .nonce = cpu_to_be32(9), .joined = cpu_to_be32(2) };
	struct inc_refuse refuse = { .nonce = cpu_to_be32(9), .code = cpu_to_be16(read_u8(&env.r) % 12) };
	struct netinc_pkt pkt;

	switch (read_u8(&env.r) % 8) {
	case 0 ... 2:
		pkt = packet(INC_PKT_CHALLENGE);
		control(&pkt, &challenge, sizeof(challenge));
		break;
	case 3 ... 6:
		pkt = packet(INC_PKT_WAIT);
		control(&pkt, &wait, sizeof(wait));
		break;
	default:
		pkt = packet(INC_PKT_REFUSE);
		control(&pkt, &refuse, sizeof(refuse));
		break;
	}
}

/* From another one than the parent: the group is elsewhere; or the node is there again. */
static void stranger(void)
{
	struct inc_move move = {
		.lineage = cpu_to_be64(LINEAGE), .move = cpu_to_be32(env.ep.move + (s8)read_u8(&env.r)),
	};
	struct inc_challenge challenge = { .nonce = cpu_to_be32(9), .challenge = cpu_to_be64(55) };
	struct netinc_peer from = env.ep.plan[read_u8(&env.r) % NETINC_PLAN];
	struct netinc_pkt pkt;

	if (read_u8(&env.r) % 2) {
		pkt = packet(INC_PKT_MOVE);
		read_damage(&env.r, &move, sizeof(move));
		netinc_ep_stranger(&env.ep, &pkt, &move, &from, env.now);
	} else {
		pkt = packet(INC_PKT_CHALLENGE);
		netinc_ep_stranger(&env.ep, &pkt, &challenge, &from, env.now);
	}
}

static void peers(void)
{
	struct netinc_pkt pkt = packet(INC_PKT_PEERS);
	struct {
		struct inc_peers peers;
		struct inc_peer peer[SIZE];
	} m;
	u32 n = read_u8(&env.r) % (SIZE + 1), i;

	memset(&m, 0, sizeof(m));
	m.peers.first = cpu_to_be32(read_u8(&env.r) % (SIZE + 1));
	m.peers.n = cpu_to_be32(n);
	for (i = 0; i < n; i++)
		m.peer[i].addr.family = cpu_to_be16(4);
	control(&pkt, &m, sizeof(m.peers) + n * sizeof(m.peer[0]));
}

static void timer(void)
{
	u64 at = netinc_ep_timer(&env.ep, env.now);

	netinc_assert(!at || at > env.now);
	if (!at)
		return;
	env.now = at + read_u8(&env.r);
	at = netinc_ep_timer(&env.ep, env.now);
	netinc_assert(!at || at > env.now);
}

static void step(void)
{
	u8 what = read_u8(&env.r);

	switch (what % 16) {
	case 0 ... 1:
		submit();
		break;
	case 2 ... 5:
		results();
		break;
	case 6:
		ready();
		break;
	case 7:
		status();
		break;
	case 8:
		nack();
		break;
	case 9:
		error();
		break;
	case 10:
		if (what >= 0xc0)
			peers();
		else if (what >= 0x80)
			stranger();
		else
			small_packet();
		break;
	case 11:
		timer();
		break;
	case 12:
		env.now += read_u16(&env.r);
		break;
	case 13:
		env.short_send = what & 0x10;
		env.no_room = what & 0x20;
		env.no_keep = what & 0x40;
		netinc_ep_pump(&env.ep, env.now);
		break;
	case 14:
		if (what >= 0xe0 && !env.leaving)
			env.leaving = !netinc_ep_leave(&env.ep, &env.leave, env.now);
		break;
	default:
		if (what == 255)
			netinc_ep_abort(&env.ep, INC_ERR_RANK_FAULT, read_u8(&env.r) & 1, env.now);
		break;
	}
}

static void check(void)
{
	const struct netinc_ep *ep = &env.ep;
	const struct netinc_op *op, *prev = NULL;
	u32 n = 0;

	netinc_assert((s64)(ep->snd - ep->una) >= 0 && (s64)(ep->end - ep->snd) >= 0);
	netinc_assert(!ep->window || ep->snd - ep->una <= ep->window);
	for (op = ep->head; op; prev = op, op = op->next) {
		netinc_assert(op->prev == prev);
		n += op != &env.leave && !(op->mode & INC_MODE_COUNTS_PHASE);
	}
	netinc_assert(ep->tail == prev && n == env.pending);
	netinc_assert(ep->state != INC_STATE_FAILED || !n);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct netinc_ep_cfg cfg = { .group = 1, .rank = RANK, .size = SIZE, .dead_ms = 500, .nonce = 9, .block = BLOCK,
				     .super_packet = SUPER };

	if (size > 4096)
		return 0;
	memset(&env, 0, sizeof(env));
	env.r = (struct reader) { data, size };
	env.now = 0xfffff000ull;
	cfg.first_block = (read_u8(&env.r) & 1 ? 0 : 1ull << 32) - read_u8(&env.r);
	netinc_reduce_init(0);
	netinc_ep_init(&env.ep, &cfg, &ops);
	env.ep.peers = env.peers;
	netinc_ep_connect(&env.ep, env.now);
	while (env.r.left) {
		step();
		check();
	}
	netinc_ep_abort(&env.ep, INC_ERR_RANK_ABORT, true, env.now);
	netinc_assert(!env.pending && !env.ep.head);
	netinc_ep_keep_drop(&env.ep);
	netinc_assert(!env.results && !env.own);
	return 0;
}
