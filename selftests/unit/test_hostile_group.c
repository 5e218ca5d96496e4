// SPDX-License-Identifier: GPL-2.0-only
/* A member with valid cookies that lies: what a group at a node makes of it. */
#include "group_env.h"

static struct netinc_pkt contrib_pkt(u32 rank, u64 block, u16 flags, u16 len)
{
	struct netinc_pkt pkt = pkt_of(INC_PKT_CONTRIB, rank);

	pkt.psn = (u32)block;
	pkt.flags = flags;
	pkt.len = len;
	pkt.dtype = len ? INC_TYPE_I32 : INC_TYPE_NONE;
	pkt.dop = len ? INC_OP_SUM : INC_OP_NONE;
	return pkt;
}

static struct netinc_pay pay_of(const struct netinc_pkt *pkt)
{
	return (struct netinc_pay){ .obj = &env.desc[pkt->child][pkt->psn % W], .flags = pkt->flags,
				    .len = pkt->len };
}

static int give_pkt(const struct netinc_pkt *pkt)
{
	struct netinc_pay pay = pay_of(pkt);

	return rx_contrib(pkt, &pay, 2000);
}

/* More bytes than the group's blocks have is more than was reserved for it. */
static void test_long_payload(void)
{
	struct netinc_pkt pkt;

	form(0);
	expect(env.g.block == 64, "blocks of %u bytes", env.g.block);
	pkt = contrib_pkt(0, 0, INC_F_PAYLOAD | INC_F_WANT, 68);
	expect(give_pkt(&pkt) == -INC_C_DROP_MALFORMED && !env.held, "68 bytes");
	/* the result might have as many, and they would be in it */
	pkt.flags |= INC_F_ZERO;
	expect(give_pkt(&pkt) == -INC_C_DROP_MALFORMED, "68 bytes of zeros");
	pkt = contrib_pkt(0, 0, INC_F_PAYLOAD | INC_F_WANT, 64);
	expect(!give_pkt(&pkt), "64 bytes");
	pkt = contrib_pkt(1, 1, INC_F_PAYLOAD | INC_F_WANT | INC_F_DESC, 36);
	expect(give_pkt(&pkt) == -INC_C_DROP_MALFORMED, "36 bytes behind a descriptor");
	pkt.len = 32;
	expect(!give_pkt(&pkt), "32 bytes behind it");
	expect_count(DROP_MALFORMED, 3u);
	expect_count(CONTRIBS, 2u);
	end();
}

/*
 * One sends the descriptor and another one the elements, which together are no longer than a block,
 * or are: nobody's path carries that, and it would be the result.
 */
static void test_descriptor_apart(void)
{
	struct netinc_pkt pkt[SIZE];
	u32 first, len, i;

	for (first = 0; first < SIZE; first++) {
		for (len = 32; len <= 36; len += 4) {
			form(0);
			pkt[0] = contrib_pkt(0, 0, INC_F_WANT | INC_F_DESC, 0);
			pkt[1] = contrib_pkt(1, 0, INC_F_WANT | INC_F_PAYLOAD, len);
			pkt[2] = contrib_pkt(2, 0, INC_F_WANT, 0);
			for (i = 0; i < SIZE; i++)
				expect(!give_pkt(&pkt[(first + i) % SIZE]), "contribution %u", i);
			expect(env.g.state == (len > 32 ? INC_GROUP_RESYNC : INC_GROUP_ACTIVE) &&
			       env.results == (len <= 32),
			       "%u bytes, rank %u first: state %u, %u results", len, first,
			       env.g.state, env.results);
			if (len > 32)
				expect(error_of(expect_sent(INC_PKT_ERROR, NETINC_ALL)).code ==
				       INC_ERR_MISMATCH, "rank %u first: another error", first);
			end();
		}
	}
}

/* LEAVE is without elements: who has them is no one that leaves, and must not keep memory by it. */
static void test_leave_with_payload(void)
{
	struct netinc_pkt pkt;

	form(0);
	pkt = contrib_pkt(0, 0, INC_F_PAYLOAD | INC_F_LEAVE, 64);
	expect(give_pkt(&pkt) == -INC_C_DROP_MALFORMED && !env.held, "LEAVE with payload");
	end();
}

/* Who says LEAVE of an ordinary block, or of one that it has not left at, is still a member. */
static void test_false_leave(void)
{
	struct netinc_pkt pkt;
	u32 i;

	form(0);
	expect(!contrib(0, 0, 0, 1, INC_F_WANT, 2000), "an ordinary contribution");
	pkt = contrib_pkt(0, 0, INC_F_LEAVE | INC_F_RETRANS, 0);
	expect(give_pkt(&pkt) == -INC_C_DROP_DUPLICATE, "LEAVE of the same block");
	expect(!env.g.members[0].left && env.g.nleft == 0, "it has left");
	expect(!contrib(1, 0, 0, 1, INC_F_WANT | INC_F_LEAVE, 2000), "LEAVE against it");
	expect(!contrib(2, 0, 0, 1, INC_F_WANT, 2000), "the last one");
	expect(env.g.state == INC_GROUP_FAILED && env.g.error.code == INC_ERR_LEFT &&
	       env.g.error.rank[0] == 1,
	       "state %u, code %u, rank %u", env.g.state, env.g.error.code, env.g.error.rank[0]);
	for (i = 0; i < 2; i++)
		next_sent();	/* WAIT for the one that left, ERROR */
	end();
}

/* The latest operation that any contribution names fails with the others, whoever came first. */
static void test_resume(void)
{
	struct netinc_error e;

	form(0);
	expect(!contrib(0, 0, 0, 1, INC_F_WANT, 2000) && !contrib(0, 1, 0, 1, INC_F_WANT, 2000),
	       "a liar is first");
	expect(!contrib(1, 0, 5, 6, INC_F_WANT, 2000) && !contrib(1, 1, 5, 6, INC_F_WANT, 2000),
	       "an honest rank");
	expect(!contrib(2, 0, 5, 6, INC_F_WANT, 2000), "another one");
	e = error_of(expect_sent(INC_PKT_ERROR, NETINC_ALL));
	expect(e.code == INC_ERR_MISMATCH && e.resume == 6, "code %u, resume %u", e.code, e.resume);
	end();
}

static int join_with(u32 rank, struct inc_join j, struct netinc_peer peer, u64 now)
{
	struct netinc_pkt pkt = pkt_of(INC_PKT_JOIN, rank);

	return netinc_group_join(&env.g, &pkt, &j, &peer, now, &env.detail);
}

/* What is for a member goes elsewhere only when a JOIN from there has been accepted. */
static void test_link(void)
{
	const struct netinc_pkt challenged = { .type = INC_PKT_JOIN, .child = 1, .span = 1 };
	struct inc_join j = join_of(1, 50);
	struct netinc_peer thief = peer_of(9);

	form(50);
	env.g.cfg.settings.fallback = INC_FALLBACK_EDGE;
	expect(env.links == SIZE, "%u links", env.links);
	j.lineage = cpu_to_be64(LINEAGE);
	j.move = cpu_to_be32(1);
	j.size = cpu_to_be32(SIZE + 1);
	expect(join_with(1, j, thief, 2000) == INC_REFUSE_SIZE, "the incarnation is no challenge");
	env.g.members[1].cookie = 0;
	expect(netinc_group_join(&env.g, &challenged, &j, &thief, 2000, &env.detail) ==
	       INC_REFUSE_SIZE,
	       "a later move, of another size");
	expect(env.links == SIZE && !memcmp(&env.link[1], &env.g.members[1].peer, sizeof(thief)) &&
	       env.g.members[1].peer.addr[3] == 1, "the link has changed: %u", env.links);
	j = join_of(1, 50);
	expect(join_with(1, j, thief, 2000) == INC_REFUSE_BUSY && env.links == SIZE,
	       "from another address");
	/* of the right size it begins the group anew here: with those who were its members */
	j.lineage = cpu_to_be64(LINEAGE);
	j.move = cpu_to_be32(1);
	j.nonce = cpu_to_be32(999);
	expect(netinc_group_join(&env.g, &challenged, &j, &thief, 2000, &env.detail) ==
			       INC_REFUSE_RANK_TAKEN &&
	       env.links == SIZE && env.g.state == INC_GROUP_ACTIVE && !env.g.move,
	       "with another nonce");
	j.nonce = join_of(1, 50).nonce;
	expect(!netinc_group_join(&env.g, &challenged, &j, &thief, 2000, &env.detail) &&
	       env.links == SIZE + 1,
	       "itself, from where it is now");
	expect_sent(INC_PKT_WAIT, 1);
	end();
}

/* Without memory for the way back nobody is a member: there may be some when it asks again. */
static void test_no_link(void)
{
	begin();
	env.no_link = true;
	expect(join(0, 0, 1000) == INC_REFUSE_BUSY && !env.g.joined && !env.g.members[0].present,
	       "joined");
	env.no_link = false;
	expect(!join(0, 0, 1000) && env.g.joined == 1, "now");
	expect_sent(INC_PKT_WAIT, 0);
	end();
}

/* JOIN of rank 1, of a group that has moved here. */
static int move_here(u64 next)
{
	struct netinc_pkt pkt = pkt_of(INC_PKT_JOIN, 1);
	struct inc_join j = join_of(1, next);
	struct netinc_peer peer = peer_of(1);

	j.lineage = cpu_to_be64(env.g.cfg.lineage);
	j.move = cpu_to_be32(env.g.move);
	return netinc_group_join(&env.g, &pkt, &j, &peer, 1000, &env.detail);
}

/* An epoch begins where all can begin it: a first missing block that is too far away is refused. */
static void test_next(void)
{
	begin();
	env.g.cfg.lineage = 7;
	expect(!join(0, 50, 1000), "the first");
	expect(join(1, 49, 1000) == INC_REFUSE_NEXT && env.detail == 50, "another block");
	expect(join(1, 50 + W, 1000) == INC_REFUSE_NEXT,
	       "a window ahead, where nobody keeps results");
	expect(!env.g.members[1].present, "it is there");
	env.g.cfg.settings.fallback = INC_FALLBACK_EDGE;
	expect(join(1, 50 - W, 1000) == INC_REFUSE_NEXT, "a window back, in a new group");
	env.g.move = 1;
	expect(move_here(50 - W - 1) == INC_REFUSE_NEXT, "more than a window back");
	expect(!move_here(50 - W), "a window back");
	expect_sent(INC_PKT_WAIT, 0);
	expect_sent(INC_PKT_WAIT, 1);
	end();
}

static u32 sent_of_type(u8 type)
{
	u32 n = 0;

	for (; env.seen < env.logged; env.seen++)
		n += env.log[env.seen % LOG].type == type;
	return n;
}

/* One buffer: each answer once per member, however many packets ask for it. */
static void test_answers(void)
{
	struct inc_probe body = { .srtt = 0 };
	struct netinc_pkt pkt, contribution;
	struct netinc_pay pay;
	u32 i;

	form(0);
	pkt = pkt_of(INC_PKT_PROBE, 0);
	pkt.len = sizeof(body);
	netinc_group_buffer_begin(&env.g);
	for (i = 0; i < 64; i++)
		expect(netinc_group_control(&env.g, &pkt, &body, 2000) ==
		       (i ? -INC_C_DROP_WORK : 0),
		       "PROBE %u", i);
	expect(env.statuses == 1, "%u STATUS", env.statuses);
	expect_count(DROP_WORK, 63u);
	pkt.child = 1;
	pkt.cookie = env.g.members[1].cookie;
	expect(!netinc_group_control(&env.g, &pkt, &body, 2000) && env.statuses == 2,
	       "another member's");

	netinc_group_fail(&env.g, INC_ERR_RANK_ABORT, 2, 3000);
	expect_sent(INC_PKT_ERROR, NETINC_ALL);
	contribution = contrib_pkt(0, 0, INC_F_WANT, 0);
	pay = pay_of(&contribution);
	netinc_group_buffer_begin(&env.g);
	for (i = 0; i < 64; i++)
		expect(netinc_group_contrib(&env.g, &contribution, &pay, 3000) == -INC_C_DROP_ERROR,
		       "block %u", i);
	expect(sent_of_type(INC_PKT_ERROR) == 1, "ERROR more than once");
	end();
}

/* LEAVE, the one contribution that is acknowledged by itself, is so once for a buffer. */
static void test_answers_to_leave(void)
{
	struct netinc_pkt pkt;
	struct netinc_pay pay;
	u32 i, k;

	form(0);
	for (k = 1; k < 3; k++) {
		netinc_group_buffer_begin(&env.g);
		for (i = 0; i < 64; i++) {
			pkt = contrib_pkt(0, 0, INC_F_LEAVE | (i ? INC_F_RETRANS : 0), 0);
			pay = pay_of(&pkt);
			expect(netinc_group_contrib(&env.g, &pkt, &pay, 2000 + i) ==
			       (i || k > 1 ? -INC_C_DROP_DUPLICATE : 0), "LEAVE %u", i);
		}
		expect(sent_of_type(INC_PKT_WAIT) == 1, "buffer %u: WAIT more than once", k);
		env.seen = env.logged;
	}
	end();
}

/* Before READY there is no cookie: who sends from a member's host is no sign of life of it. */
static void test_forming(void)
{
	begin();
	expect(!join(0, 0, 1000), "rank 0");
	expect_sent(INC_PKT_WAIT, 0);
	expect(!check(0, INC_PKT_PROBE, 5000), "without a cookie");
	expect(env.g.members[0].heard == 1000, "heard at %llu us",
	       (unsigned long long)env.g.members[0].heard);
	end();
}

static int join_in(u32 rank, u32 epoch, u64 now)
{
	struct netinc_peer peer = peer_of(rank);
	struct inc_join j = join_of(rank, 0);
	struct netinc_pkt pkt = pkt_of(INC_PKT_JOIN, rank);

	pkt.epoch = epoch;
	return netinc_group_join(&env.g, &pkt, &j, &peer, now, &env.detail);
}

/* One says that it has been in the last epoch but one: the group forms in the last one. */
static void form_at_end(void)
{
	u32 i;

	begin();
	expect(join_in(0, NETINC_MAX_EPOCH, 1000) == INC_REFUSE_NEXT &&
	       join_in(0, ~0u, 1000) == INC_REFUSE_NEXT && !env.g.joined, "the last one");
	expect(!join_in(0, NETINC_MAX_EPOCH - 1, 1000), "the last one but one");
	for (i = 1; i < SIZE; i++)
		expect(!join_in(i, 0, 1000), "rank %u", i);
	expect(env.g.state == INC_GROUP_ACTIVE && env.g.epoch == NETINC_MAX_EPOCH,
	       "state %u, epoch %u", env.g.state, env.g.epoch);
	env.seen = env.logged;
}

/* After an error in the last epoch there is no other: the group ends, and no number wraps. */
static void test_epoch_end(void)
{
	u64 now = 1000, dead = now + DEAD * NETINC_MS;
	u32 i;

	form_at_end();
	for (i = 0; i < SIZE; i++)
		expect(!contrib(i, 0, 0, 5, 0, now), "operation 0 of rank %u", i);
	expect(env.results == 1, "%u results", env.results);
	for (i = 0; i < SIZE; i++)
		contrib(i, 1, 1, i, 0, now);
	expect_sent(INC_PKT_ERROR, NETINC_ALL);
	expect(join_in(0, 0, now) == INC_REFUSE_UNKNOWN, "JOIN as if it was new");
	for (; now <= dead; now += DEAD * NETINC_MS / 4) {
		for (i = 0; i < SIZE; i++)
			expect(join_in(i, NETINC_MAX_EPOCH, now) == INC_REFUSE_NEXT &&
			       env.detail == NETINC_MAX_EPOCH, "rank %u joins again", i);
		netinc_group_tick(&env.g, now);
		expect(env.g.state == INC_GROUP_RESYNC && env.g.epoch == NETINC_MAX_EPOCH &&
		       !env.g.rejoined, "state %u, epoch %u, %u ranks", env.g.state, env.g.epoch,
		       env.g.rejoined);
	}
	netinc_group_tick(&env.g, now);
	expect(error_of(expect_sent(INC_PKT_ERROR, NETINC_ALL)).code == INC_ERR_RANK_DEAD,
	       "another error");
	expect(env.g.state == INC_GROUP_FAILED && env.g.epoch == NETINC_MAX_EPOCH,
	       "state %u, epoch %u", env.g.state, env.g.epoch);
	end();
}

/* Nor does a move back to this place begin another one, if no JOIN of it says which was last. */
static void test_epoch_end_moved(void)
{
	struct netinc_pkt pkt = { .type = INC_PKT_JOIN, .span = 1 };
	struct netinc_peer peer;
	struct inc_join j;
	u32 i;

	form_at_end();
	env.g.cfg.settings.fallback = INC_FALLBACK_EDGE;
	for (i = 0; i < SIZE; i++) {
		peer = peer_of(i);
		j = join_of(i, 0);
		j.lineage = cpu_to_be64(LINEAGE);
		j.move = cpu_to_be32(1);
		pkt.child = i;
		pkt.epoch = 3;
		expect(netinc_group_join(&env.g, &pkt, &j, &peer, 2000, &env.detail) ==
		       INC_REFUSE_NEXT && env.detail == NETINC_MAX_EPOCH, "rank %u", i);
	}
	expect(env.g.state == INC_GROUP_ACTIVE && !env.g.move && env.g.epoch == NETINC_MAX_EPOCH,
	       "state %u, move %u, epoch %u", env.g.state, env.g.move, env.g.epoch);
	env.seen = env.logged;
	end();
}

static const struct ktap_test tests[] = {
	KTAP(test_long_payload), KTAP(test_descriptor_apart),
	KTAP(test_leave_with_payload), KTAP(test_false_leave),
	KTAP(test_resume), KTAP(test_link), KTAP(test_no_link),
	KTAP(test_next), KTAP(test_answers), KTAP(test_answers_to_leave), KTAP(test_forming),
	KTAP(test_epoch_end), KTAP(test_epoch_end_moved),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
