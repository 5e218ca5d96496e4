// SPDX-License-Identifier: GPL-2.0-only
/* Results by IP multicast, at a node: who is told, called, and taken to hear, and for how long. */
#include "group_env.h"

#define PAUSE	(20 * NETINC_MS)
#define NOW	2000u

static u32 one_port = ~0u;	/* bit i: rank i comes by the one port */

static bool may_hear(struct netinc_group *g, u32 child)
{
	(void)g;
	return one_port >> child & 1;
}

static void form_with_multicast(bool on)
{
	static struct netinc_group_ops with;
	u32 i;

	begin();
	with = ops;
	with.multicast = may_hear;
	env.g.ops = &with;
	if (on)
		env.g.cfg.multicast = (struct netinc_peer){ .addr = { 239, 1, 2, 3 },
							    .family = NETINC_AF_INET,
							    .udp_port = cpu_to_be16(5227) };
	for (i = 0; i < SIZE; i++)
		expect(!join(i, 0, 1000), "rank %u", i);
	for (i = 0; i + 1 < SIZE; i++)
		expect_sent(INC_PKT_WAIT, i);
}

/* PEERS about multicast to @child: call @number, or 0. */
static void expect_told(u32 child, u32 number)
{
	const struct sent *s = expect_sent(INC_PKT_PEERS, child);
	const struct inc_peers *body = (const void *)s->body;
	struct netinc_peer group;

	netinc_addr_parse(&body->peer[0].addr, &group);
	expect(s->pkt.flags == INC_F_MULTICAST && s->pkt.multicast == !!number, "flags %#x, by %u",
	       s->pkt.flags, s->pkt.multicast);
	expect(s->pkt.cookie == env.g.down_cookie && s->pkt.epoch == env.g.epoch, "cookie, epoch");
	expect(be32_to_cpu(body->first) == number && be32_to_cpu(body->n) == 1, "call %u",
	       be32_to_cpu(body->first));
	expect(netinc_peer_same(&group, &env.g.cfg.multicast), "another group");
}

static void formed(void)
{
	u32 i;

	form_with_multicast(true);
	for (i = 0; i < SIZE; i++) {
		expect_sent(INC_PKT_READY, i);
		if (one_port >> i & 1)
			expect_told(i, 0);
	}
}

static void probe(u32 rank, u16 flags, u32 call, u64 now)
{
	struct netinc_pkt pkt = pkt_of(INC_PKT_PROBE, rank);
	struct inc_probe body = { .srtt = 0 };

	pkt.len = sizeof(body);
	pkt.psn = (u32)env.g.agg.una;
	pkt.flags = flags;
	pkt.sig = call;
	env.g.members[rank].heard = now;
	env.g.members[rank].confirmed = true;
	expect(!rx_control(&pkt, &body, now), "PROBE of rank %u", rank);
}

static void listen(u32 rank, u32 call, u64 now)
{
	probe(rank, INC_F_MULTICAST, call, now);
}

static void tick(u64 now)
{
	u32 i;

	for (i = 0; i < SIZE; i++)
		env.g.members[i].heard = now;
	expect(!netinc_group_tick(&env.g, now), "expired");
}

/* All say that they listen: one call for all. */
static void all_hear(void)
{
	u32 i;

	formed();
	for (i = 0; i < SIZE; i++)
		listen(i, 0, NOW);
	tick(NOW);
	expect_told(NETINC_ALL, 1);
	for (i = 0; i < SIZE; i++)
		listen(i, 1, NOW);
	expect(env.g.multicast.hearing == SIZE, "%u hear", env.g.multicast.hearing);
}

static void test_off(void)
{
	u32 i;

	form_with_multicast(false);
	for (i = 0; i < SIZE; i++)
		expect_sent(INC_PKT_READY, i);
	listen(0, 1, NOW);
	tick(NOW);
	expect(!env.g.multicast.hearing, "%u hear", env.g.multicast.hearing);
	end();
}

static void test_call(void)
{
	all_hear();
	tick(NOW + PAUSE);
	end();
}

/* What a call has not been, or has not been in this epoch, proves nothing. */
static void test_proof(void)
{
	static const u32 wrong[] = { 0, 2, ~0u, 1u << 31 };
	u32 i;

	formed();
	listen(0, 0, NOW);
	tick(NOW);
	expect_told(NETINC_ALL, 1);
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		listen(0, wrong[i], NOW);
		expect(!env.g.members[0].hears, "it hears with %#x", wrong[i]);
	}
	probe(0, 0, 1, NOW);
	expect(!env.g.members[0].hears, "it hears and does not listen");
	listen(0, 1, NOW);
	expect(env.g.members[0].hears, "it does not hear");
	probe(0, 0, 1, NOW);
	expect(!env.g.members[0].hears && !env.g.multicast.hearing, "it hears for ever");
	end();
}

/* Who does not say that it listens is told again, ever more rarely; likewise who does not hear. */
static void test_pause(void)
{
	u64 now = NOW, at;
	u32 told = 0, called = 0;

	formed();
	for (at = 0; at < 10000 * NETINC_MS; at += NETINC_MS) {
		probe(0, 0, 0, now + at);
		told += env.logged - env.seen;
		env.seen = env.logged;
	}
	expect(told >= 7 && told <= 10, "told %u times in 10 s", told);
	for (at = 10000 * NETINC_MS; at < 200000 * NETINC_MS; at += 10 * NETINC_MS) {
		listen(1, 0, now + at);
		tick(now + at);
		/* READY is repeated meanwhile */
		while (env.seen < env.logged)
			called += next_sent()->pkt.multicast;
	}
	expect(called >= 10 && called <= 16, "called %u times in 190 s", called);
	/* and then every minute */
	for (called = 0; at < 800000 * NETINC_MS; at += 100 * NETINC_MS) {
		listen(1, 0, now + at);
		tick(now + at);
		while (env.seen < env.logged)
			called += next_sent()->pkt.multicast;
	}
	expect(called >= 9 && called <= 11, "called %u times in 10 minutes", called);
	end();
}

/* In turn it says that it listens, and that it does not: that is not answered each time. */
static void test_turns(void)
{
	u32 i;

	formed();
	for (i = 0; i < 1000; i++) {
		probe(0, i & 1 ? INC_F_MULTICAST : 0, 0, NOW + i);
		tick(NOW + i);
	}
	expect(env.logged - env.seen == 1, "%u packets", env.logged - env.seen);
	env.seen = env.logged;
	end();
}

/* Half of all results have to be sent again to it: a call is to come once more. */
static void test_deaf(void)
{
	struct netinc_child *c;
	u32 i;

	all_hear();
	c = &env.g.agg.child[1];
	c->resent += 16;
	env.g.agg.una += 33;
	listen(1, 1, NOW);
	expect(env.g.members[1].hears, "it has more than half of them");
	/* these count no more */
	c->resent += 15;
	env.g.agg.una += 1;
	listen(1, 1, NOW);
	expect(env.g.members[1].hears, "too few for that");
	c->resent += 1;
	env.g.agg.una += 31;
	listen(1, 1, NOW);
	expect(!env.g.members[1].hears && env.g.multicast.hearing == SIZE - 1, "it is deaf");
	listen(1, 1, NOW + PAUSE);
	tick(NOW + PAUSE);
	expect_told(NETINC_ALL, 2);
	for (i = 0; i < SIZE; i++)
		listen(i, 2, NOW + PAUSE);
	expect(env.g.multicast.hearing == SIZE, "%u hear", env.g.multicast.hearing);
	env.g.agg.una -= 65;
	end();
}

/* What was before it heard, or before it heard again, is no sign of that. */
static void test_deaf_before(void)
{
	struct netinc_child *c;
	u64 una;
	u32 i;

	formed();
	for (i = 0; i < SIZE; i++)
		listen(i, 0, NOW);
	tick(NOW);
	expect_told(NETINC_ALL, 1);
	c = &env.g.agg.child[1];
	una = env.g.agg.una;
	c->resent += 100;
	env.g.agg.una += 100;
	listen(1, 1, NOW);
	expect(env.g.members[1].hears, "it does not hear for what was sent by unicast");
	c->resent += 15;
	env.g.agg.una += 15;
	probe(1, 0, 1, NOW);
	listen(1, 1, NOW);
	c->resent += 1;
	env.g.agg.una += 1;
	listen(1, 1, NOW);
	expect(env.g.members[1].hears, "it is deaf for what it lacked when it heard before");
	/* nor has that been so much that this does not count */
	c->resent += 15;
	env.g.agg.una += 15;
	listen(1, 1, NOW);
	expect(!env.g.members[1].hears, "it is deaf");
	env.g.agg.una = una;
	end();
}

/* A node below gets its results by unicast, whatever it says. */
static void test_node(void)
{
	formed();
	env.g.members[1].height = 1;
	listen(1, 0, NOW);
	expect(!env.g.multicast.due, "it is called");
	listen(0, 0, NOW);
	tick(NOW);
	expect_told(NETINC_ALL, 1);
	listen(1, 1, NOW);
	expect(!env.g.multicast.hearing, "%u hear", env.g.multicast.hearing);
	env.g.members[1].height = 0;
	end();
}

/* No call has the number 0. */
static void test_wrap(void)
{
	formed();
	env.g.multicast.call = ~0u;
	env.g.members[0].call_needed = 0;
	listen(0, 0, NOW);
	tick(NOW);
	expect_told(NETINC_ALL, 1);
	listen(0, 0, NOW);
	expect(!env.g.members[0].hears, "it hears without a call");
	listen(0, 1, NOW);
	expect(env.g.members[0].hears, "it does not hear");
	end();
}

/* A long time in which all was well does not make up for what is lost now. */
static void test_deaf_later(void)
{
	u32 i;

	all_hear();
	env.g.agg.una += 1 << 20;
	listen(1, 1, NOW);
	for (i = 0; i < 16; i++)
		env.g.agg.child[1].resent++;
	env.g.agg.una += 16;
	listen(1, 1, NOW);
	expect(!env.g.members[1].hears, "it is deaf");
	env.g.agg.una -= (1 << 20) + 16;
	end();
}

/* One comes by another port. */
static void test_other_port(void)
{
	one_port = 3;
	formed();
	listen(2, 0, NOW);
	tick(NOW);
	expect(!env.g.multicast.due, "it is called");
	listen(0, 0, NOW);
	tick(NOW);
	expect_told(NETINC_ALL, 1);
	listen(2, 1, NOW);
	listen(0, 1, NOW);
	expect(env.g.multicast.hearing == 1 && env.g.members[0].hears, "%u hear",
	       env.g.multicast.hearing);
	/* and then this one, too */
	one_port = 2;
	listen(0, 1, NOW);
	expect(!env.g.multicast.hearing, "%u hear", env.g.multicast.hearing);
	one_port = ~0u;
	end();
}

/* In the next epoch nobody hears until it has shown that again. */
static void test_epoch(void)
{
	u32 i;

	all_hear();
	contrib(0, 0, 0, 5, INC_F_WANT, NOW);
	contrib(1, 0, 0, 5, INC_F_WANT, NOW);
	contrib(2, 0, 0, 6, INC_F_WANT, NOW);
	expect_sent(INC_PKT_ERROR, NETINC_ALL);
	for (i = 0; i < SIZE; i++)
		expect(!join(i, 0, NOW), "rank %u", i);
	for (i = 0; i + 1 < SIZE; i++)
		expect_sent(INC_PKT_WAIT, i);
	expect(env.g.epoch == 2 && !env.g.multicast.hearing, "epoch %u, %u hear", env.g.epoch,
	       env.g.multicast.hearing);
	for (i = 0; i < SIZE; i++) {
		expect_sent(INC_PKT_READY, i);
		expect_told(i, 0);
	}
	listen(0, 1, NOW);
	expect(!env.g.members[0].hears, "it hears by a call of the epoch before");
	tick(NOW + PAUSE);
	expect_told(NETINC_ALL, 2);
	listen(0, 2, NOW + PAUSE);
	expect(env.g.multicast.hearing == 1, "%u hear", env.g.multicast.hearing);
	end();
}

static const struct ktap_test tests[] = {
	KTAP(test_off),	   KTAP(test_call), KTAP(test_proof),	   KTAP(test_pause),
	KTAP(test_turns),  KTAP(test_deaf), KTAP(test_deaf_later), KTAP(test_other_port),
	KTAP(test_epoch),  KTAP(test_node), KTAP(test_deaf_before), KTAP(test_wrap),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
