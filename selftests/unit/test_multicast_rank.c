// SPDX-License-Identifier: GPL-2.0-only
/* Results by IP multicast, at a rank: which group it joins, and what it says of that. */
#include "ep_env.h"

#define PAUSE	(10 * NETINC_MS)
#define NEWS_PAUSE	(1 * NETINC_MS)

static struct netinc_peer group_at(u8 a, u8 b, u8 c, u8 d)
{
	return (struct netinc_peer){ .addr = { a, b, c, d }, .family = NETINC_AF_INET,
				     .udp_port = cpu_to_be16(9) };
}

/* PEERS about @group, by multicast or not; @call: its number, which one by unicast has not. */
static int tell_by(bool multicast, const struct netinc_peer *group, u32 call, u32 n)
{
	struct netinc_pkt pkt = from_node(INC_PKT_PEERS);
	struct {
		struct inc_peers peers;
		struct inc_peer peer;
	} m = { .peers = { .first = cpu_to_be32(call), .n = cpu_to_be32(n) } };

	netinc_addr_build(&m.peer.addr, group);
	pkt.epoch = env.ep.epoch;
	pkt.incarnation = env.ep.incarnation;
	pkt.flags = INC_F_MULTICAST;
	pkt.multicast = multicast;
	return control(pkt, &m, sizeof(m));
}

static int tell_of(const struct netinc_peer *group, u32 call, u32 n)
{
	return tell_by(call, group, call, n);
}

static int tell(u8 a, u8 b, u8 c, u8 d)
{
	struct netinc_peer group = group_at(a, b, c, d);

	return tell_of(&group, 0, 1);
}

static int call(u32 number)
{
	struct netinc_peer group = group_at(239, 1, 2, 3);

	return tell_of(&group, number, 1);
}

static void expect_probe(bool listens, u32 number)
{
	const struct sent *s = expect_sent(INC_PKT_PROBE);

	expect(!!(s->pkt.flags & INC_F_MULTICAST) == listens && s->pkt.sig == number,
	       "flags %#x, call %u", s->pkt.flags, s->pkt.sig);
}

/* It has joined, and been called. */
static void listening(void)
{
	ready(0);
	expect(!netinc_ep_multicast_group(&env.ep), "it is to join before it is told");
	expect(!tell(239, 1, 2, 3), "PEERS");
	expect(netinc_ep_multicast_group(&env.ep) && !env.ep.multicast.tried, "it is not to join");
	expect_quiet();
	netinc_ep_multicast_tried(&env.ep, true, env.now);
	expect(env.ep.multicast.tried, "it is to join again");
	expect_probe(true, 0);
	expect(!call(7), "a call");
	expect_probe(true, 7);
}

static void test_call(void)
{
	listening();
	/* the same once more is answered, but not each time */
	expect(!call(7), "the same");
	expect_quiet();
	env.now += PAUSE;
	expect(!call(7), "the same, later");
	expect_probe(true, 7);
	env.now += NEWS_PAUSE;
	expect(!call(8), "another one");
	expect_probe(true, 8);
	/* it is told once more what it has joined: it has heard the call all the same */
	env.now += PAUSE;
	expect(!tell(239, 1, 2, 3), "PEERS");
	expect_probe(true, 8);
	/* and what it says itself says that, too */
	run_timer(env.now + DEAD * NETINC_MS / 2);
	expect_probe(true, 8);
}

/* Who calls on and on, with the node's address, has all ranks send it one packet in that time. */
static void test_calls(void)
{
	u32 i;

	listening();
	for (i = 8; i < 50; i++)
		expect(!call(i), "call %u", i);
	expect_quiet();
	env.now += NEWS_PAUSE - 1;
	expect(!call(50), "still too soon");
	expect_quiet();
	env.now++;
	expect(!call(51), "the next one");
	expect_probe(true, 51);
	/* one that is not answered is said all the same, with the next PROBE */
	expect(!call(52), "too soon again");
	expect_quiet();
	run_timer(env.now + DEAD * NETINC_MS / 2);
	expect_probe(true, 52);
}

/* Addresses that no node of good will says, and packets that are none of these. */
static void test_lies(void)
{
	static const u8 wrong[][4] = {
		{ 10, 0, 0, 1 }, { 127, 0, 0, 1 }, { 255, 255, 255, 255 }, { 0, 0, 0, 0 },
		{ 224, 0, 0, 1 }, { 224, 0, 0, 255 }, { 240, 0, 0, 1 }, { 223, 255, 255, 255 },
		{ 232, 1, 1, 1 },
	};
	struct netinc_peer group = group_at(239, 1, 2, 3);
	u32 i;

	ready(0);
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		expect(tell(wrong[i][0], wrong[i][1], wrong[i][2], wrong[i][3]) ==
		       -INC_C_DROP_MALFORMED, "address %u", i);
		expect(!netinc_ep_multicast_group(&env.ep), "it joins address %u", i);
	}
	expect(tell_of(&group, 0, 0) == -INC_C_DROP_MALFORMED, "no address");
	expect(tell_of(&group, 0, 2) == -INC_C_DROP_MALFORMED, "two");
	expect(tell_of(&group, 1, 1) == -INC_C_DROP_STATE, "a call before it has been told");
	group.family = NETINC_AF_INET6;
	group.addr[0] = 0xff;
	expect(tell_of(&group, 0, 1) == -INC_C_DROP_MALFORMED, "IPv6");
	expect(!netinc_ep_multicast_group(&env.ep), "it joins");
	expect(!tell(224, 0, 1, 0) && netinc_ep_multicast_group(&env.ep), "the first good one");
	expect_quiet();
}

/* A call by unicast proves nothing, and what it is to join does not come by multicast. */
static void test_way(void)
{
	struct netinc_peer group = group_at(239, 1, 2, 3);

	listening();
	env.now += PAUSE;
	expect(tell_by(false, &group, 8, 1) == -INC_C_DROP_MALFORMED, "a call by unicast");
	expect(tell_by(true, &group, 0, 1) == -INC_C_DROP_MALFORMED, "number 0 by multicast");
	expect(env.ep.multicast.call == 7, "call %u", env.ep.multicast.call);
	expect_quiet();
	ready(0);
	expect(tell_by(true, &group, 0, 1) == -INC_C_DROP_MALFORMED, "it is told by multicast");
	expect(!netinc_ep_multicast_group(&env.ep), "it joins");
}

/* An answer costs what any PROBE does, and a buffer pays for so many. */
static void test_work(void)
{
	struct netinc_op op;

	listening();
	op = allreduce(8 + 16 * 3);
	submit_op(&op);
	env.seen = env.logged;
	env.now += NEWS_PAUSE;
	/* a look of its own and one for its address, and one for each block that is out */
	env.ep.work_left = (u32)(env.ep.snd - env.ep.una) + 1;
	expect(!call(8), "a call");
	expect_quiet();
	env.ep.work_left = (u32)(env.ep.snd - env.ep.una) + 2;
	expect(!call(9), "another one");
	expect_probe(true, 9);
	expect(!env.ep.work_left, "%u looks are left", env.ep.work_left);
}

/* Whatever the node says: one group per run. */
static void test_one(void)
{
	listening();
	expect(tell(239, 1, 2, 4) == -INC_C_DROP_MALFORMED, "a second one");
	expect(env.ep.multicast.group.addr[3] == 3, "it is the second one");
	expect_count(DROP_MALFORMED, 1u);
	expect_quiet();
}

/* By another cookie, or of another epoch: it is dropped like everything else. */
static void test_forged(void)
{
	struct netinc_pkt pkt = from_node(INC_PKT_PEERS);
	struct {
		struct inc_peers peers;
		struct inc_peer peer;
	} m = { .peers = { .n = cpu_to_be32(1) } };
	struct netinc_peer group = group_at(239, 1, 2, 3);

	ready(0);
	netinc_addr_build(&m.peer.addr, &group);
	pkt.flags = INC_F_MULTICAST;
	pkt.cookie ^= 1;
	expect(control(pkt, &m, sizeof(m)) == -INC_C_DROP_COOKIE, "cookie");
	pkt.cookie ^= 1;
	pkt.epoch++;
	expect(control(pkt, &m, sizeof(m)) == -INC_C_DROP_EPOCH, "epoch");
	pkt.epoch--;
	pkt.tree = 1;
	expect(control(pkt, &m, sizeof(m)) == -INC_C_DROP_EPOCH, "tree");
	pkt.tree = 0;
	expect(control(pkt, &m, sizeof(m.peers)) == -INC_C_DROP_MALFORMED, "cut off");
	expect(!netinc_ep_multicast_group(&env.ep), "it joins");
	expect(!control(pkt, &m, sizeof(m)), "the right one");
	expect(!!netinc_ep_multicast_group(&env.ep), "it does not join");
}

/* Its host could not join: it says nothing, whatever comes by multicast. */
static void test_not_joined(void)
{
	ready(0);
	expect(!tell(239, 1, 2, 3), "PEERS");
	netinc_ep_multicast_tried(&env.ep, false, env.now);
	expect(!call(7), "a call, which another rank of the host makes it hear");
	expect_quiet();
	run_timer(env.now + DEAD * NETINC_MS / 2);
	expect_probe(false, 0);
}

/* Another epoch: it is in the group still, but calls of before count no more. */
static void test_epoch(void)
{
	struct netinc_op op;

	listening();
	op = barrier();
	submit_op(&op);
	expect_blocks(0, 1, 0);
	expect(!error(0, 0, 1, INC_ERR_MISMATCH), "ERROR");
	expect_sent(INC_PKT_JOIN);
	expect_state(INC_STATE_RESYNC);
	expect(!!netinc_ep_multicast_group(&env.ep), "it leaves the group for a moment");
	/* its host has been slow to join */
	netinc_ep_multicast_tried(&env.ep, true, env.now);
	expect_quiet();
	expect(!give_ready(2, 0, 1), "READY");
	expect(env.ep.multicast.joined && !env.ep.multicast.call, "call %u", env.ep.multicast.call);
	/* what the node tells it again is answered at once, as it has joined already */
	env.now += PAUSE;
	expect(!tell(239, 1, 2, 3), "PEERS");
	expect_probe(true, 0);
}

/* A node has hosts join no group after the other: after an error it is the run that it was. */
static void test_same_run(void)
{
	struct netinc_pkt pkt = from_node(INC_PKT_READY);
	struct inc_ready body;

	listening();
	body = ready_body(0);
	body.opseq = cpu_to_be32(1);
	pkt.epoch = 2;
	pkt.child = RANK;
	pkt.incarnation++;
	expect(!error(0, 0, 1, INC_ERR_MISMATCH), "ERROR");
	expect_sent(INC_PKT_JOIN);
	expect(control(pkt, &body, sizeof(body)) == -INC_C_DROP_MALFORMED, "READY of another run");
	expect_state(INC_STATE_RESYNC);
	expect(!!netinc_ep_multicast_group(&env.ep), "it leaves the group");
	expect_quiet();
	expect(!give_ready(2, 0, 1), "READY");
}

/* Elsewhere it is in no group; where it comes to, it may be in another one. */
static void test_move(void)
{
	ready_to_move(0, INC_FALLBACK_EDGE, 0);
	expect(!tell(239, 1, 2, 3), "PEERS");
	netinc_ep_multicast_tried(&env.ep, true, env.now);
	env.seen = env.logged;
	expect(!call_to(1), "MOVE");
	expect_state(INC_STATE_RESYNC);
	expect(!netinc_ep_multicast_group(&env.ep), "it is in the group of before");
	env.seen = env.logged;
}

static void test_over(void)
{
	listening();
	expect(!error(0, 0, 0, INC_ERR_RANK_DEAD), "ERROR");
	expect_state(INC_STATE_FAILED);
	expect(!netinc_ep_multicast_group(&env.ep), "it stays in the group");
	env.seen = env.logged;
}

/* Results by multicast are results: what is forged in one is dropped. */
static void test_result(void)
{
	struct netinc_pkt pkt;
	struct netinc_op op;

	listening();
	op = barrier();
	submit_op(&op);
	expect_blocks(0, 1, 0);
	pkt = result_of(&op, 0);
	pkt.multicast = true;
	pkt.cookie ^= 1;
	expect(give(pkt) == -INC_C_DROP_COOKIE && !env.done, "forged");
	pkt.cookie ^= 1;
	expect(!give(pkt) && env.done == 1, "done %u", env.done);
	expect_quiet();
}

static const struct ktap_test tests[] = {
	KTAP(test_call), KTAP(test_calls), KTAP(test_lies),	 KTAP(test_one),  KTAP(test_forged),
	KTAP(test_not_joined), KTAP(test_epoch), KTAP(test_move), KTAP(test_over),
	KTAP(test_result),     KTAP(test_way),	 KTAP(test_work),  KTAP(test_same_run),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
