// SPDX-License-Identifier: GPL-2.0-only
/*
 * A rank at its host, driven by a stream of decisions: operations, packets of a node that has the
 * right cookies and lies about everything else, packets of other ranks, moves, time, lack of
 * memory. Whatever they say, nothing is read or written outside what is pinned (ep_env.h), what is
 * sent is the input, rule 1 holds, timers move on, a packet makes a bounded number of packets,
 * every operation ends exactly once, at last when nobody answers any more, and what is kept for a
 * move is forgotten exactly once.
 */
#include "ep_env.h"
#include "reduce/reduce.h"
#include "siphash.h"

#define DOWN		0x123456789abcdef0ull
#define LINEAGE		0x77ull
#define MAX_COUNT	1500u
#define LONGEST_DEAD	60000u	/* milliseconds */

static bool has_counts(u8 coll)
{
	return coll == INC_COLL_REDUCE_SCATTER || coll == INC_COLL_ALLGATHER ||
	       netinc_coll_asks_counts(coll);
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
	o->op.count = what & 2 ? read_u8(&env.r) : read_u16(&env.r) % MAX_COUNT;
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
	ep_env_alloc(o);
	env.pending++;
	o->submitted = true;
	if (o->op.hold)
		err = netinc_ep_submit(&env.ep, &o->exchange, env.now);
	if (!err)
		err = netinc_ep_submit(&env.ep, &o->op, env.now);
	if (err) {
		netinc_assert(!o->done);
		o->submitted = false;
		env.pending--;
		ep_env_free_op(o);
	} else {
		env.ops++;
	}
}

static struct netinc_pkt packet(u8 type)
{
	struct netinc_pkt pkt = { .type = type, .span = 1, .incarnation = 7, .epoch = env.ep.epoch,
				  .cookie = DOWN, .child = RANK };

	netinc_ep_buffer_begin(&env.ep, NETINC_BUFFER_LOOKS);
	if (env.ep.spread.trees > 1 && type != INC_PKT_READY)
		pkt.tree = read_u8(&env.r) % (SIZE + 1);
	if (read_u8(&env.r) % 32 == 31)
		pkt.cookie = read_u8(&env.r) & 1 ? env.ep.tree[0].up_cookie : 0;
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

/* What the parser lets pass and a node that keeps to the rules would not send. */
static void wild_flags(struct netinc_pkt *pkt)
{
	pkt->flags = (pkt->flags & INC_F_PAYLOAD) | (read_u16(&env.r) & INC_F_ALL & ~INC_F_PAYLOAD);
	pkt->flags &= ~INC_F_MULTICAST;
	if (!pkt->len)
		pkt->flags &= ~(INC_F_FINAL | INC_F_ZERO);
	if (pkt->flags & (INC_F_FINAL | INC_F_DESC))
		pkt->flags &= ~INC_F_ZERO;
	pkt->ce = read_u8(&env.r) & 1;
	if (pkt->flags & INC_F_PARTIAL)
		pkt->child = 1 + read_u8(&env.r) % 3;
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
		pkt->len = b.bits & INC_F_WANT ? ep_env_elem(op) * b.elems : 0;
	}
	if (read_u8(&env.r) % 32 == 31)
		pkt->len = read_u8(&env.r);
	if (read_u8(&env.r) % 32 == 31)
		pkt->opseq++;
	pkt->flags = pkt->len ? INC_F_PAYLOAD | INC_F_WANT : 0;
	if (read_u8(&env.r) % 16 == 15)
		wild_flags(pkt);
	if ((pkt->flags & (INC_F_PAYLOAD | INC_F_DESC)) && !(pkt->flags & INC_F_ZERO))
		span = 1;
	pkt->span = span;
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

	if (!env.ep.settings.window)
		return;
	for (n = how % 16; n; n--) {
		result_at(&pkt, block, 1 + how / 16);
		block += pkt.span;
	}
	netinc_ep_packet_end(&env.ep, pkt.tree, env.now);
}

/* @body: in memory of exactly its length. */
static void control(struct netinc_pkt *pkt, const void *body, u32 len)
{
	void *exact = malloc(len);

	memcpy(exact, body, len);
	read_damage(&env.r, exact, len);
	pkt->len = len;
	netinc_ep_control(&env.ep, pkt, exact, env.now);
	free(exact);
}

/* Mostly @number, sometimes one that is near it, seldom any. */
static u32 read_near(u32 number)
{
	u8 how = read_u8(&env.r);

	if (how < 0xc0)
		return number;
	return how < 0xf8 ? number + (s8)read_u8(&env.r) : read_u32(&env.r);
}

/*
 * Bits 0 and 1 of the byte choose a window, 2 and 3 the fallback, 4 and 5 how many standby nodes
 * there are, 6 that there are several trees. Fallback 3 is none, with late ranks left out.
 */
static void ready(void)
{
	struct netinc_pkt pkt = packet(INC_PKT_READY);
	u8 what = read_u8(&env.r);
	struct inc_ready body = {
		.nonce = cpu_to_be32(9), .window = cpu_to_be32(INC_MIN_WINDOW << what % 4),
		.up_cookie = cpu_to_be64(~DOWN), .down_cookie = cpu_to_be64(DOWN),
		.size = cpu_to_be32(SIZE), .children = cpu_to_be16(SIZE), .trees = cpu_to_be16(1),
		.block = cpu_to_be16(BLOCK), .rank = cpu_to_be16(env.ep.cfg.rank),
		.dead_ms = cpu_to_be32(500), .move = cpu_to_be32(env.ep.move),
		.fallback = what >> 2 & 3, .lineage = cpu_to_be64(LINEAGE),
		.standbys = what >> 4 & 3,
	};
	u64 next = netinc_ep_next(&env.ep);
	u32 i;

	body.start = cpu_to_be64(next + (s32)(read_near((u32)next) - (u32)next));
	body.opseq = cpu_to_be32(read_near(env.ep.error.resume));
	if (what & 0x40)
		body.trees = cpu_to_be16(SIZE);
	if (body.fallback == __INC_FALLBACK_MAX) {
		body.fallback = INC_FALLBACK_NONE;
		body.late_policy = INC_LATE_PARTIAL;
		body.late_ms = cpu_to_be32(100);
	}
	if (env.ep.settings.window)
		body.window = cpu_to_be32(env.ep.settings.window);
	if (env.ep.lineage)
		body.fallback = env.ep.settings.fallback;
	for (i = 0; i < body.standbys && i < INC_MAX_STANDBY; i++)
		body.standby[i].family = cpu_to_be16(4);
	body.edge.family = cpu_to_be16(6);
	pkt.epoch = what & 0x80 ? read_near(env.ep.epoch) : env.ep.epoch + 1;
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

/* Most often the first operation is the one that fails; whose turn is next is what the node says */
static void error(void)
{
	struct netinc_pkt pkt = packet(INC_PKT_ERROR);
	struct netinc_error e = { .code = INC_ERR_MISMATCH, .rank = { 0, 2 } };
	struct inc_error_pkt body;
	u8 how = read_u8(&env.r);

	e.block = env.ep.una + (how & 1 ? (s8)read_u8(&env.r) : 0);
	e.opseq = read_near(env.ep.head ? env.ep.head->seq : env.ep.next_seq);
	e.resume = how & 2 ? read_near(e.opseq) : e.opseq + 1 + (how >> 2 & 3);
	if (how >= 0xe0)
		e.resume = 0;
	if (how >= 0xc0) {
		e.code = 1 + read_u8(&env.r) % INC_ERR_MAX;
		e.rank[0] = read_u8(&env.r) % (SIZE + 1);
	}
	pkt.psn = (u32)e.block;
	netinc_error_build(&body, &e);
	control(&pkt, &body, sizeof(body));
}

/* Of whose contributions results are made. */
static void partial(void)
{
	struct netinc_pkt pkt = packet(INC_PKT_PARTIAL);
	struct {
		struct inc_partial partial;
		__be32 map[2];
	} m;
	u8 how = read_u8(&env.r);

	memset(&m, 0, sizeof(m));
	m.partial.set = cpu_to_be16(how % 4);
	m.partial.bits = cpu_to_be16(how & 0x80 ? 64 : 32);
	m.map[0] = cpu_to_be32(read_u8(&env.r));
	control(&pkt, &m, sizeof(m.partial) + (how & 0x40 ? 8 : 4));
}

static void small_packet(void)
{
	struct inc_challenge challenge = { .nonce = cpu_to_be32(9), .challenge = cpu_to_be64(55) };
	struct inc_wait_pkt wait = { .nonce = cpu_to_be32(9), .joined = cpu_to_be32(2) };
	struct inc_refuse refuse = { .nonce = cpu_to_be32(9),
				     .code = cpu_to_be16(read_u8(&env.r) % 12) };
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
		.lineage = cpu_to_be64(LINEAGE),
		.move = cpu_to_be32(env.ep.move + (s8)read_u8(&env.r)),
	};
	struct inc_challenge challenge = { .nonce = cpu_to_be32(9), .challenge = cpu_to_be64(55) };
	struct inc_wait_pkt wait = { .nonce = cpu_to_be32(9), .missing = cpu_to_be32(~0u) };
	struct netinc_peer from = env.ep.plan[read_u8(&env.r) % NETINC_PLAN];
	struct netinc_pkt pkt;
	u8 what = read_u8(&env.r);

	if (what % 2) {
		pkt = packet(INC_PKT_MOVE);
		read_damage(&env.r, &move, sizeof(move));
		netinc_ep_non_parent(&env.ep, &pkt, &move, &from, env.now);
	} else if (what & 2) {
		pkt = packet(INC_PKT_WAIT);
		read_damage(&env.r, &wait, sizeof(wait));
		netinc_ep_non_parent(&env.ep, &pkt, &wait, &from, env.now);
	} else {
		pkt = packet(INC_PKT_CHALLENGE);
		netinc_ep_non_parent(&env.ep, &pkt, &challenge, &from, env.now);
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

/* Told of an IP multicast group, called there, or its host has joined it, or could not. */
static void multicast(void)
{
	struct netinc_pkt pkt = packet(INC_PKT_PEERS);
	struct {
		struct inc_peers peers;
		struct inc_peer peer;
	} m = { .peers = { .n = cpu_to_be32(1) } };
	struct netinc_peer group = { .addr = { 239, 1, 2 }, .family = NETINC_AF_INET,
				     .udp_port = cpu_to_be16(9) };
	u8 how = read_u8(&env.r);

	if (how & 1) {
		if (netinc_ep_multicast_group(&env.ep) && !env.ep.multicast.tried)
			netinc_ep_multicast_tried(&env.ep, how & 2, env.now);
		return;
	}
	group.addr[3] = how >> 6;
	netinc_addr_build(&m.peer.addr, &group);
	pkt.flags = INC_F_MULTICAST;
	pkt.multicast = how & 4;
	if (how & 8)
		m.peers.first = cpu_to_be32(read_near(env.ep.multicast.call + 1));
	control(&pkt, &m, sizeof(m));
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
		if (what == 0xfa)
			multicast();
		else if (what >= 0xc0)
			peers();
		else if (what == 0x1a || what == 0x2a)
			partial();
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
		if (what & 0x80)
			ep_env_pin(16u * read_u8(&env.r));
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
	if (what % 16 >= 2 && what % 16 <= 10)
		ep_env_progress();
}

/*
 * Packets that one event may make: each block of the window at most twice, a call to each rank,
 * some that answer.
 */
static u32 most_packets(const struct netinc_ep *ep)
{
	return 2 * ep->settings.window + 2 * SIZE + 8;
}

/* One group in a run, of addresses that a host may join, and calls to who has joined it only. */
static void check_multicast(const struct netinc_ep *ep)
{
	const struct netinc_peer *group = netinc_ep_multicast_group(ep);

	if (!group || ep->multicast.incarnation != env.multicast_run)
		env.multicast_seen = false;
	if (!group)
		return;
	netinc_assert(netinc_peer_is_multicast(group) && ep->incarnation);
	netinc_assert(!ep->multicast.call || ep->multicast.joined);
	netinc_assert(ep->multicast.tried || !ep->multicast.joined);
	netinc_assert(!env.multicast_seen || netinc_peer_same(group, &env.multicast));
	env.multicast_seen = true;
	env.multicast_run = ep->multicast.incarnation;
	env.multicast = *group;
}

static void check(void)
{
	const struct netinc_ep *ep = &env.ep;
	const struct netinc_op *op, *prev = NULL;
	u32 n = 0;

	netinc_assert(env.packets <= most_packets(ep));
	netinc_assert((s64)(ep->snd - ep->una) >= 0 && (s64)(ep->end - ep->snd) >= 0);
	netinc_assert(!ep->settings.window || ep->snd - ep->una <= ep->settings.window);
	for (op = ep->head; op; prev = op, op = op->next) {
		netinc_assert(op->prev == prev);
		n += op != &env.leave && !(op->mode & INC_MODE_COUNTS_PHASE);
	}
	netinc_assert(ep->tail == prev && n == env.pending);
	netinc_assert(ep->state != INC_STATE_FAILED || !n);
	check_multicast(ep);
}

/* A member never stops calling the rank to a later move than its own; or its place does. */
static void call_on(bool place)
{
	struct inc_move move = { .lineage = cpu_to_be64(LINEAGE),
				 .move = cpu_to_be32(env.ep.move + 1) };
	struct inc_refuse moved = { .nonce = cpu_to_be32(9), .code = cpu_to_be16(INC_REFUSE_MOVED),
				    .detail = cpu_to_be64(env.ep.move + NETINC_PLAN) };
	struct netinc_pkt pkt = packet(place ? INC_PKT_REFUSE : INC_PKT_MOVE);

	env.packets = 0;
	if (place)
		control(&pkt, &moved, sizeof(moved));
	else
		netinc_ep_non_parent(&env.ep, &pkt, &move, &env.ep.plan[0], env.now);
}

/*
 * Nobody says anything any more but who calls on and on, if so: whatever was said before, all ends
 * within the limits of one way round the plan, which are no longer than a node may set them, and of
 * that for which calls are followed.
 */
static void silence(bool called, bool place)
{
	u64 begin = env.now, limit, at;

	netinc_assert(env.ep.settings.dead_ms <= LONGEST_DEAD);
	limit = 4 * (NETINC_PLAN + 1) * max(env.ep.settings.dead_ms, 500u) * NETINC_MS;
	limit += called ? limit : 0;
	while ((at = netinc_ep_timer(&env.ep, env.now))) {
		netinc_assert(at > env.now);
		env.now = called ? min(at, env.now + 100 * NETINC_MS) : at;
		netinc_assert(env.now - begin <= limit);
		env.packets = 0;
		if (called)
			call_on(place);
	}
	netinc_assert(!env.pending && (!env.ep.head || env.ep.head == &env.leave));
	netinc_assert(env.ep.state == INC_STATE_FAILED || env.ep.state == INC_STATE_CLOSED);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct netinc_ep_cfg cfg = { .group = 1, .rank = RANK, .size = SIZE, .dead_ms = 500,
				     .nonce = 9, .block = BLOCK, .super_packet = SUPER };

	if (size > 4096)
		return 0;
	memset(&env, 0, sizeof(env));
	env.r = (struct reader) { data, size };
	env.now = 0xfffff000ull;
	cfg.first_block = (read_u8(&env.r) & 1 ? 0 : 1ull << 32) - read_u8(&env.r);
	netinc_reduce_init(0);
	netinc_ep_init(&env.ep, &cfg, &ep_env_ops);
	env.ep.peers = env.peers;
	netinc_ep_connect(&env.ep, env.now);
	while (env.r.left) {
		env.packets = 0;
		step();
		check();
	}
	silence(size & 1, size & 2);
	netinc_ep_abort(&env.ep, INC_ERR_RANK_ABORT, true, env.now);
	netinc_assert(!env.pending && !env.ep.head);
	netinc_ep_retain_drop(&env.ep);
	netinc_assert(!env.results && !env.own);
	ep_env_free();
	return 0;
}
