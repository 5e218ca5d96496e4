// SPDX-License-Identifier: GPL-2.0-only
/* A node that lies: what a rank makes of its READYs, and of what it says is lost. */
#include "ep_env.h"

#define LAST	NETINC_MAX_EPOCH

/* Epoch by epoch a node may lead a rank to the last one there is. Behind that there is none. */
static void test_epoch_end(void)
{
	struct netinc_op a = barrier(), b = barrier(), c = barrier();
	u64 end;

	begin(100);
	netinc_ep_connect(&env.ep, env.now);
	expect(give_ready(LAST + 1, 100, 0) < 0, "the first epoch is behind the last one");
	expect_state(INC_STATE_JOINING);
	expect(!give_ready(1, 100, 0), "READY");
	submit_op(&a);
	expect(!error(100, 0, 1, INC_ERR_MISMATCH), "ERROR");
	expect(give_ready(LAST + 1, 100, 1) == -INC_C_DROP_MALFORMED, "behind the last epoch");
	expect_state(INC_STATE_RESYNC);
	submit_op(&b);
	env.seen = env.logged;
	expect(!give_ready(LAST, 100, 1), "the last epoch");
	expect_state(INC_STATE_READY);
	expect(expect_sent(INC_PKT_CONTRIB)->block == 100, "operation 1 goes on");
	expect(!error(100, 1, 2, INC_ERR_MISMATCH), "ERROR of the last epoch");
	expect_state(INC_STATE_RESYNC);
	end = env.now + 4 * DEAD * NETINC_MS;
	expect(expect_sent(INC_PKT_JOIN)->pkt.epoch == LAST, "the epoch that it knows");
	submit_op(&c);
	expect(give_ready(LAST + 1, 100, 2) == -INC_C_DROP_MALFORMED, "the one behind it");
	expect(give_ready(~0u, 100, 2) < 0 && give_ready(0, 100, 2) < 0 &&
	       give_ready(1, 100, 2) < 0 && give_ready(LAST, 100, 2) < 0, "an older one");
	/* to be refused is no sign that the node lets it go on */
	while (env.now < end && env.ep.state == INC_STATE_RESYNC) {
		expect(refuse(4711, INC_REFUSE_NEXT, 0) == -INC_C_DROP_STATE, "REFUSE");
		env.now += DEAD * NETINC_MS / 4;
		netinc_ep_timer(&env.ep, env.now);
	}
	expect_state(INC_STATE_FAILED);
	expect(env.ep.epoch == LAST && c.error.code == INC_ERR_NODE_DEAD, "epoch %u, code %u",
	       env.ep.epoch, c.error.code);
}

/* Three operations have been contributed to; then there is an error in the second one. */
static void begin_resync(struct netinc_op op[3])
{
	u32 i;

	ready(100);
	for (i = 0; i < 3; i++) {
		op[i] = barrier();
		submit_op(&op[i]);
	}
	expect(!result(&op[0], 100) && !error(101, 1, 2, INC_ERR_MISMATCH), "ERROR");
	expect_state(INC_STATE_RESYNC);
	expect(env.ep.begun == 3 && env.failed == 2, "%u begun, %u failed", env.ep.begun,
	       env.failed);
	env.seen = env.logged;
}

/* Operations go on from none that has been contributed to, however the number is made. */
static void test_ready_opseq(void)
{
	static const u32 lies[] = { 0, 1, 2, 3 + (1u << 31), ~0u };
	struct netinc_op op[3], d = barrier(), e = barrier(), f = barrier();
	u32 i;

	begin_resync(op);
	submit_op(&d);
	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		expect(give_ready(2, 101, lies[i]) == -INC_C_DROP_MALFORMED, "operation %u",
		       lies[i]);
		expect_state(INC_STATE_RESYNC);
	}
	expect(env.failed == 2 && env.ep.epoch == 1, "%u failed, epoch %u", env.failed,
	       env.ep.epoch);
	expect_quiet();
	/* others may have contributed to later ones: so it has to believe that they fail */
	expect(!give_ready(2, 101, 5), "operation 5");
	expect(env.failed == 3 && d.error.code == INC_ERR_CANCELED, "%u failed, code %u",
	       env.failed, d.error.code);
	submit_op(&e);
	expect(env.failed == 4 && e.error.code == INC_ERR_CANCELED, "%u failed, code %u",
	       env.failed, e.error.code);
	expect_quiet();
	submit_op(&f);
	expect(env.failed == 4 && f.seq == 5, "operation %u, %u failed", f.seq, env.failed);
	expect_blocks(101ull, 1u, 0);
}

/* READY begins an epoch where one is waited for: in another state it changes nothing. */
static void test_ready_unbidden(void)
{
	struct netinc_op op[3], d = barrier();
	u32 i;

	begin_resync(op);
	expect(!give_ready(2, 101, 3), "READY");
	submit_op(&d);
	env.seen = env.logged;
	for (i = 1; i < 6; i++) {
		expect(give_ready(i, 101, 4) == -INC_C_DROP_DUPLICATE, "epoch %u", i);
		expect(give_ready(i, 102, 4) == -INC_C_DROP_DUPLICATE, "epoch %u, block 102", i);
	}
	expect(env.ep.epoch == 2 && env.ep.una == 101 && env.ep.resume == 3,
	       "epoch %u, block %llu, operation %u", env.ep.epoch,
	       (unsigned long long)env.ep.una, env.ep.resume);
	expect_quiet();
	expect(!result(&d, 101) && !d.error.code, "code %u", d.error.code);
}

static int nack(u32 psn, u16 span)
{
	struct netinc_pkt pkt = from_node(INC_PKT_NACK);

	pkt.psn = psn;
	pkt.span = span;
	return control(pkt, NULL, 0);
}

/* NACK of whatever makes a rank send what is out again, each block once, and not too soon. */
static void test_nack(void)
{
	struct netinc_op a = allreduce(8 + (W - 1) * 16);
	u64 resent = 0;
	u32 i;

	ready(100);
	submit_op(&a);
	expect(env.ep.snd == 100 + W, "%llu blocks are out",
	       (unsigned long long)(env.ep.snd - 100));
	env.seen = env.logged;
	for (i = 0; i < 3; i++) {
		env.now += 100 * NETINC_MS;
		expect(!nack(100 - 32768, 32768) && !nack(100 + W, 65535), "what is not out");
		expect_quiet();
		expect(!nack(100 - 5, 65535), "all");
		resent += W;
		expect_count(CONTRIBS_RESENT, resent);
		expect_blocks(100ull, SUPER, INC_F_RETRANS);
		expect_blocks(100ull + SUPER, W - SUPER, INC_F_RETRANS);
		expect(!nack(100, W) && !nack(95, 65535), "the same at once");
		env.now += 2 * NETINC_MS - 1;
		expect(!nack(100, W), "and before it can have come");
		expect_quiet();
	}
}

/* STATUS that has nothing from block 100 on, and this time stamp. */
static int lacks_all(u32 tstamp)
{
	struct netinc_pkt pkt = from_node(INC_PKT_STATUS);
	struct inc_status m[2] = { { .bits = cpu_to_be16(32), .waiting = cpu_to_be32(~0u) } };

	pkt.psn = 100;
	pkt.tstamp = tstamp;
	return control(pkt, m, sizeof(m));
}

/* Before a moment that is yet to come all that is out was sent, and would be lost each time. */
static void test_status_stamp(void)
{
	static const struct {
		u32 age;
		bool good;
	} cases[] = {
		{ 0, true }, { 1u << 30, true }, { (1u << 30) + 1, false }, { 1u << 31, false },
		{ -(1u << 30), false }, { -1u, false },
	};
	struct netinc_op a = allreduce(8 + (W - 1) * 16);
	u64 bad = 0;
	u32 i;

	ready(100);
	submit_op(&a);
	env.seen = env.logged;
	for (i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		bool good = cases[i / 2].good;

		bad += !good;
		expect(!lacks_all((u32)env.now - cases[i / 2].age) == good, "age %u",
		       cases[i / 2].age);
		expect_count(DROP_MALFORMED, bad);
		expect_quiet();
	}
	env.now += 100 * NETINC_MS;
	expect(!lacks_all((u32)env.now) && !lacks_all((u32)env.now), "what is lost");
	expect_count(CONTRIBS_RESENT, W);
}

/* To send a block again costs more than to look at it; a packet of them goes in any case. */
static void test_looks_of_resent(void)
{
	struct netinc_op a = allreduce(8 + (W - 1) * 16);

	ready(100);
	submit_op(&a);
	env.now += 100 * NETINC_MS;
	netinc_ep_buffer_begin(&env.ep, 1 + W + 16 * SUPER);
	expect(!nack(100, W) && !env.ep.work_left, "NACK: %u", env.ep.work_left);
	expect_count(CONTRIBS_RESENT, SUPER);
	netinc_ep_buffer_begin(&env.ep, 1 + W + 16 * W + 5);
	expect(!nack(100, W) && env.ep.work_left == 16 * SUPER + 5, "NACK: %u", env.ep.work_left);
	expect_count(CONTRIBS_RESENT, W);
}

/* PEERS have a cookie for each rank, of which a group has more than it may have trees. */
static void test_peers_behind_trees(void)
{
	struct netinc_peer peers[INC_MAX_TREES + 9], at = peer_at(209);
	struct {
		struct inc_peers peers;
		struct inc_peer peer;
	} m = { .peers = { .first = cpu_to_be32(INC_MAX_TREES + 8), .n = cpu_to_be32(1) } };
	struct netinc_pkt pkt = { .type = INC_PKT_PEERS, .len = sizeof(m) };
	struct netinc_peer *own;

	begin(0);
	netinc_ep_connect(&env.ep, env.now);
	expect(!give_ready(1, 0, 0), "READY");
	own = env.ep.peers;
	env.ep.cfg.size = ARRAY_SIZE(peers);
	env.ep.peers = peers;
	netinc_addr_build(&m.peer.addr, &at);
	/* with UBSAN */
	expect(!netinc_ep_peers(&env.ep, &pkt, &m), "PEERS");
	expect(netinc_peer_same(&peers[INC_MAX_TREES + 8], &at), "the last rank's address");
	env.ep.cfg.size = SIZE;
	env.ep.peers = own;
}

#define LOOPBACKS	3u

/* Addresses of the rank's own box, at the port that all have. */
static struct netinc_peer loopback(u32 i)
{
	static const u8 of[LOOPBACKS][16] = { { 127, 0, 0, 1 }, { 127, 9 }, { [15] = 1 } };
	struct netinc_peer peer = peer_at(0);

	memcpy(peer.addr, of[i], sizeof(peer.addr));
	peer.family = i == 2 ? NETINC_AF_INET6 : NETINC_AF_INET;
	return peer;
}

/* READY of block 0, with other places than usual: the standby node, the host of rank 0. */
static int ready_of_places(const struct netinc_peer *standby, const struct netinc_peer *edge)
{
	struct netinc_pkt pkt = from_node(INC_PKT_READY);
	struct inc_ready body = ready_body(0);

	if (standby)
		netinc_addr_build(&body.standby[0], standby);
	if (edge)
		netinc_addr_build(&body.edge, edge);
	pkt.child = RANK;
	return control(pkt, &body, sizeof(body));
}

static void begin_joining(const struct netinc_peer *parent)
{
	begin(0);
	env.fallback = INC_FALLBACK_EDGE;
	env.standbys = 1;
	if (parent)
		env.ep.plan[0] = *parent;
	netinc_ep_connect(&env.ep, env.now);
}

/* PEERS: rank 1 is at @at, the only one. */
static int peer_one(const struct netinc_peer *at)
{
	struct netinc_pkt pkt = from_node(INC_PKT_PEERS);
	struct {
		struct inc_peers peers;
		struct inc_peer peer;
	} m = { .peers = { .first = cpu_to_be32(1), .n = cpu_to_be32(1) } };

	netinc_addr_build(&m.peer.addr, at);
	return control(pkt, &m, sizeof(m));
}

/* A node elsewhere has a rank send nothing to its own box, where other programs' ports are. */
static void test_loopback(void)
{
	struct netinc_peer own;
	u32 i;

	for (i = 0; i < LOOPBACKS; i++) {
		own = loopback(i);
		begin_joining(NULL);
		expect(ready_of_places(&own, NULL) == -INC_C_DROP_MALFORMED, "standby %u", i);
		expect_state(INC_STATE_JOINING);
		expect(!ready_of_places(NULL, &own), "rank 0 at %u", i);
		expect(env.ep.nplan == 3 && env.ep.plan[1].addr[1] == 101 &&
		       !env.ep.plan[env.ep.edge].family, "a place at %u", i);
		expect(!peer_one(&own) && !env.ep.peers[1].family, "rank 1 at %u", i);
	}
}

/* But who has come by loopback, as it was told, finds others there. */
static void test_loopback_told(void)
{
	struct netinc_peer own;
	u32 i;

	for (i = 0; i < LOOPBACKS; i++) {
		own = loopback(i);
		begin_joining(&own);
		expect(!ready_of_places(&own, &own), "READY %u", i);
		expect(netinc_peer_same(&env.ep.plan[1], &own) &&
		       netinc_peer_same(&env.ep.plan[env.ep.edge], &own), "no place at %u", i);
		expect(!peer_one(&own) && netinc_peer_same(&env.ep.peers[1], &own),
		       "rank 1 not at %u", i);
	}
}

/* A result for blocks from @b on of @op, which nobody wants the elements of. */
static struct netinc_pkt result_span(const struct netinc_op *op, u64 b, u16 span)
{
	struct netinc_pkt pkt = result_of(op, op->first);

	pkt.psn = (u32)b;
	pkt.span = span;
	return pkt;
}

/* What a result costs, in looks at blocks: those that are out, and one for all before or behind. */
static void test_looks_of_result(void)
{
	static const struct {
		s32 from;	/* the first block that is out */
		u16 span;
		u32 looks;
	} cases[] = {
		{ W, W, 1 }, { 1000, W, 1 }, { -(s32)W, W, 1 }, { -1000, W, 1 }, { 0, W, W },
		{ 4, W, 5 }, { -4, W, 5 }, { -1, W, W }, { 0, W + 1, 1 }, { 0, 65535, 1 },
	};
	struct netinc_op a = allreduce(8 + (W - 1) * 16);
	struct netinc_pkt pkt;
	u32 i;

	ready(100);
	submit_op(&a);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		pkt = result_span(&a, 100 + cases[i].from, cases[i].span);
		pkt.opseq++;
		netinc_ep_buffer_begin(&env.ep, cases[i].looks - 1);
		expect(give(pkt) == -INC_C_DROP_WORK && env.ep.work_left == cases[i].looks - 1,
		       "case %u: not dropped, %u looks are left", i, env.ep.work_left);
		expect_count(DROP_WORK, i + 1);
		netinc_ep_buffer_begin(&env.ep, cases[i].looks);
		expect(give(pkt) != -INC_C_DROP_WORK && !env.ep.work_left,
		       "case %u: dropped, %u looks are left", i, env.ep.work_left);
	}
	expect_count(RESULTS, 0);
}

/* The way from one operation to another one is counted, too, and ends there whatever is left. */
static void test_looks_of_operations(void)
{
	struct netinc_op op[W];
	struct netinc_pkt pkt;
	u32 i;

	ready(100);
	for (i = 0; i < W; i++) {
		op[i] = barrier();
		submit_op(&op[i]);
	}
	for (i = 0; i < 4; i++) {
		pkt = result_of(&op[0], i % 2 ? 100 : 100 + W - 1);
		pkt.sig++;
		netinc_ep_buffer_begin(&env.ep, i < 2 ? 1 + W - 1 : 2);
		expect(give(pkt) == -INC_C_DROP_MISMATCH && !env.ep.work_left, "%u: %u are left", i,
		       env.ep.work_left);
	}
	expect(give(pkt) == -INC_C_DROP_WORK, "nothing is left");
}

/* Control packets cost a look each, and one for each block or rank that is in them. */
static void test_looks_of_control(void)
{
	struct netinc_op a = allreduce(8 + (W - 1) * 16);

	ready(100);
	submit_op(&a);
	netinc_ep_buffer_begin(&env.ep, 33 + 1 + W + 1 + 1 + SIZE + 1);
	status(100, 0);
	expect(env.ep.work_left == 1 + W + 1 + 1 + SIZE + 1, "STATUS: %u", env.ep.work_left);
	expect(!nack(100 - 5, 65535) && env.ep.work_left == 1 + 1 + SIZE + 1, "NACK: %u",
	       env.ep.work_left);
	expect(!nack(100 + W, 65535) && env.ep.work_left == 1 + SIZE + 1, "NACK: %u",
	       env.ep.work_left);
	expect(!give_peers(SIZE) && env.ep.work_left == 1, "PEERS: %u", env.ep.work_left);
	expect(give_peers(SIZE) == -INC_C_DROP_WORK && nack(100, 1) == -INC_C_DROP_WORK,
	       "not as many are left");
	expect_count(DROP_WORK, 2);
	expect(!nack(0, 1) && !env.ep.work_left, "the last look");
	expect(error(100, 0, 1, INC_ERR_MISMATCH) == -INC_C_DROP_WORK, "ERROR");
	expect_state(INC_STATE_READY);
}

static struct netinc_pkt error_at(u64 block, struct inc_error_pkt *body)
{
	struct netinc_error e = { .block = block, .code = INC_ERR_MISMATCH, .resume = 1,
				  .rank = { 0, 1 } };
	struct netinc_pkt pkt = from_node(INC_PKT_ERROR);

	netinc_error_build(body, &e);
	pkt.psn = (u32)block;
	return pkt;
}

/*
 * ERROR makes a rank ask for the results before it. One of a lower block does so again, and costs
 * what is out: it is taken in any case, but for what cannot be afforded the timer asks.
 */
static void test_looks_of_error(void)
{
	struct netinc_op a = allreduce(8 + (W - 1) * 16);
	struct inc_error_pkt body;
	u64 probes;
	u32 i;

	ready(100);
	env.ep.deep = true;
	submit_op(&a);
	netinc_ep_buffer_begin(&env.ep, 1 + 1 + W + 1);
	probes = env.ep.counters[INC_C_PROBES];
	for (i = 0; i < 2; i++) {
		expect(!control(error_at(100 + W - i, &body), &body, sizeof(body)), "ERROR %u", i);
		expect(env.ep.work_left == 1 + (1 - i) * (1 + W), "%u: %u looks are left", i,
		       env.ep.work_left);
		expect_count(PROBES, probes + 1 + i);
	}
	env.seen = env.logged;
	expect(!control(error_at(100 + W - 2, &body), &body, sizeof(body)), "ERROR 2");
	expect(env.ep.error.block == 100 + W - 2 && !env.ep.work_left,
	       "block %llu, %u looks are left", (unsigned long long)env.ep.error.block,
	       env.ep.work_left);
	expect_quiet();
	env.now += 1000 * NETINC_MS;
	netinc_ep_timer(&env.ep, env.now);
	expect(expect_sent(INC_PKT_PROBE)->pkt.flags & INC_F_RETRANS, "it does not ask");
}

#define WINDOW	512u

/* One buffer is for many ranks of this host: what honest nodes send is never too much. */
static void test_looks_of_many(void)
{
	u32 work = NETINC_BUFFER_LOOKS, rank, i;
	struct inc_ready body;
	struct netinc_pkt pkt;
	struct netinc_op a;

	for (rank = 0; rank < 192; rank++) {
		begin(100);
		netinc_ep_connect(&env.ep, env.now);
		body = ready_body(100);
		body.window = cpu_to_be32(WINDOW);
		pkt = from_node(INC_PKT_READY);
		pkt.child = RANK;
		expect(!control(pkt, &body, sizeof(body)), "READY");
		a = allreduce(8 + (WINDOW - 1) * 16);
		a.coll = INC_COLL_REDUCE;
		submit_op(&a);
		env.ep.cc.cwnd = WINDOW;
		netinc_ep_pump(&env.ep, env.now);
		expect(env.ep.snd == 100 + WINDOW, "the window is not out");
		netinc_ep_buffer_begin(&env.ep, work - 1);
		expect(!give(result_span(&a, 100, WINDOW)) && env.done == 1, "rank %u", rank);
		for (i = 1; i < 64; i++)
			expect(give(result_span(&a, 100, WINDOW)) == -INC_C_DROP_DUPLICATE,
			       "rank %u gets repeat %u", rank, i);
		work = env.ep.work_left;
	}
}

static const struct ktap_test tests[] = {
	KTAP(test_looks_of_result), KTAP(test_looks_of_operations), KTAP(test_looks_of_control),
	KTAP(test_looks_of_error), KTAP(test_looks_of_many), KTAP(test_looks_of_resent),
	KTAP(test_status_stamp), KTAP(test_epoch_end), KTAP(test_ready_opseq),
	KTAP(test_ready_unbidden), KTAP(test_nack), KTAP(test_peers_behind_trees),
	KTAP(test_loopback), KTAP(test_loopback_told),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
