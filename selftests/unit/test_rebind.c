// SPDX-License-Identifier: GPL-2.0-only
/*
 * A member whose packets come by another port of the node than before: what it has to say, and who
 * is not believed.
 */
#include "group_env.h"

#define SILENCE	(100 * NETINC_MS)

static int join_by(u32 rank, u32 port, u8 flags, u32 nonce, u64 now)
{
	struct netinc_peer peer = peer_of(rank);
	struct inc_join j = join_of(rank, 0);
	struct netinc_pkt pkt = pkt_of(INC_PKT_JOIN, rank);

	peer.ifindex = port;
	j.flags = flags;
	j.nonce = cpu_to_be32(nonce);
	j.lineage = cpu_to_be64(LINEAGE);
	return netinc_group_join(&env.g, &pkt, &j, &peer, now, &env.detail);
}

static int rebind(u32 rank, u32 port, u64 now)
{
	return join_by(rank, port, INC_JOIN_REBIND, 100 + rank, now);
}

static int probe_by(u32 rank, u32 port)
{
	struct netinc_pkt pkt = pkt_of(INC_PKT_PROBE, rank);
	struct netinc_peer peer = peer_of(rank);

	peer.ifindex = port;
	return netinc_group_check(&env.g, &pkt, &peer, env.g.members[rank].heard);
}

static void test_other_port(void)
{
	u64 now = 1000 + SILENCE;

	form(0);
	expect(probe_by(1, 50) == -INC_C_DROP_PORT, "it has not said that it is there");
	expect(!rebind(1, 50, now), "it says so");
	expect(env.links == SIZE + 1 && env.link[1].ifindex == 50, "%u paths", env.links);
	expect(!probe_by(1, 50), "it is there");
	expect(probe_by(1, 6) == -INC_C_DROP_PORT, "it is where it was, too");
	expect(env.g.state == INC_GROUP_ACTIVE && env.g.epoch == 1, "state %u, epoch %u",
	       env.g.state, env.g.epoch);
	expect_count(REBINDS, 1u);
	/* and back, but not at once */
	env.g.members[1].heard = now - SILENCE;
	expect(rebind(1, 6, now + SILENCE - 1) == INC_REFUSE_BUSY, "at once");
	expect(!rebind(1, 6, now + SILENCE), "later");
	expect(!probe_by(1, 6), "it is back");
	expect_count(REBINDS, 2u);
	end();
}

/* Packets were lost, nothing else. */
static void test_same_port(void)
{
	form(0);
	expect(!rebind(1, 6, 1001), "by the same port");
	expect(env.links == SIZE, "%u paths", env.links);
	expect_count(REBINDS, 0u);
	end();
}

static void test_not_believed(void)
{
	struct netinc_peer peer = peer_of(2);
	struct inc_join j = join_of(1, 0);
	struct netinc_pkt pkt;
	u64 now = 1000 + SILENCE;

	form(0);
	expect(rebind(1, 50, now - 1) == INC_REFUSE_BUSY, "the member is heard where it was");
	expect(join_by(1, 50, 0, 101, now) == INC_REFUSE_BUSY, "a JOIN that does not say it");
	expect(join_by(1, 50, INC_JOIN_REBIND, 102, now) == INC_REFUSE_BUSY, "another nonce");
	pkt = pkt_of(INC_PKT_JOIN, 1);
	j.flags = INC_JOIN_REBIND;
	j.lineage = cpu_to_be64(LINEAGE);
	expect(netinc_group_join(&env.g, &pkt, &j, &peer, now, &env.detail) == INC_REFUSE_BUSY,
	       "another address");
	peer = peer_of(1);
	peer.ifindex = 50;
	pkt.cookie ^= 1;
	expect(netinc_group_join(&env.g, &pkt, &j, &peer, now, &env.detail) == INC_REFUSE_UNKNOWN,
	       "another cookie");
	/* one that says another epoch has the cookie of that one, if it is the member */
	pkt = pkt_of(INC_PKT_JOIN, 1);
	pkt.epoch--;
	expect(netinc_group_join(&env.g, &pkt, &j, &peer, now, &env.detail) == INC_REFUSE_UNKNOWN,
	       "the cookie of another epoch");
	pkt = pkt_of(INC_PKT_JOIN, 1);
	pkt.incarnation = 0;
	expect(netinc_group_join(&env.g, &pkt, &j, &peer, now, &env.detail) == INC_REFUSE_UNKNOWN,
	       "who has not been a member");
	expect(!probe_by(1, 6) && probe_by(1, 50) == -INC_C_DROP_PORT, "it has gone");
	expect(env.links == SIZE, "%u paths", env.links);
	expect_count(REBINDS, 0u);
	end();
}

/* Without a way back there it stays where it was. */
static void test_no_path(void)
{
	form(0);
	env.no_link = true;
	expect(rebind(1, 50, 1000 + SILENCE) == INC_REFUSE_BUSY, "no memory");
	expect(!probe_by(1, 6), "it has gone");
	expect_count(REBINDS, 0u);
	end();
}

/* It says nothing else: who has not heard of an error does not come back after it by that. */
static void test_resync(void)
{
	u64 now = 1000 + SILENCE;

	form(0);
	expect(!contrib(0, 0, 1, 1, 0, now) && !contrib(1, 0, 1, 2, 0, now), "two disagree");
	expect(!contrib(2, 0, 1, 1, 0, now), "the third");
	expect(env.g.state == INC_GROUP_RESYNC, "state %u", env.g.state);
	env.seen = env.logged;
	now += SILENCE;
	expect(!rebind(1, 50, now) && !env.g.rejoined, "%u are back", env.g.rejoined);
	expect(!join_by(1, 50, 0, 101, now) && env.g.rejoined == 1, "%u are back", env.g.rejoined);
	expect_sent(INC_PKT_WAIT, 1);
	expect_count(REBINDS, 1u);
	end();
}

/* One that comes when the group is over is told where it is now. */
static void test_over(void)
{
	u64 now = 1000 + SILENCE;

	form(0);
	expect(!abort_rank(0, INC_ERR_RANK_ABORT, 100, now), "rank 0 gives up");
	expect(env.g.state == INC_GROUP_FAILED, "state %u", env.g.state);
	env.seen = env.logged;
	expect(!rebind(1, 50, now), "it comes");
	expect_sent(INC_PKT_ERROR, 1);
	end();
}

/* While others are waited for, too: JOIN has been proved in any case. */
static void test_joining(void)
{
	begin();
	expect(!join(0, 0, 1000) && !join(1, 0, 1000), "two ranks");
	expect(join_by(1, 50, 0, 101, 1000 + SILENCE - 1) == INC_REFUSE_RANK_TAKEN, "at once");
	expect(!join_by(1, 50, 0, 101, 1000 + SILENCE), "by another port");
	expect(env.links == 3 && env.link[1].ifindex == 50 && env.g.joined == 2, "%u paths",
	       env.links);
	expect(!join(2, 0, 1001 + SILENCE), "rank 2");
	expect(!probe_by(1, 50) && probe_by(1, 6) == -INC_C_DROP_PORT, "it is not there");
	env.seen = env.logged;
	end();
}

static const struct ktap_test tests[] = {
	KTAP(test_other_port), KTAP(test_same_port), KTAP(test_not_believed), KTAP(test_no_path),
	KTAP(test_resync), KTAP(test_over), KTAP(test_joining),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
