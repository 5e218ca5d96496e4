// SPDX-License-Identifier: GPL-2.0-only
/* Nodes that do not fold every type or operation, and ranks that ask for some. */
#include "nodes_env.h"

enum {
	BF16 = 1 << INC_TYPE_BF16,
	F64 = 1 << INC_TYPE_F64,
	PROD = 1 << INC_OP_PROD,
	SUM = 1 << INC_OP_SUM,
};

static struct netinc_kinds *lacks_of(u32 node)
{
	return &net.node[node].g.cfg.settings.lacks;
}

/* What READY has said to @rank. */
static struct netinc_kinds told_lacks(u32 rank)
{
	return net.told[rank].ready.height & INC_READY_KINDS ?
		       netinc_kinds_parse(&net.told[rank].lacks) : (struct netinc_kinds){};
}

static void expect_told(u32 types, u32 ops)
{
	struct netinc_kinds k;
	u32 i;

	for (i = 0; i < RANKS; i++) {
		k = told_lacks(i);
		expect(net.told[i].readies && k.types == types && k.ops == ops,
		       "rank %u: %u READY, types 0x%x, operations 0x%x", i, net.told[i].readies,
		       k.types, k.ops);
	}
}

/* What any node lacks goes up with JOINs, and all ranks hear of all of it, in each epoch. */
static void test_told(void)
{
	u32 chain, i;

	for (chain = 0; chain < 2; chain++) {
		begin_tree(chain, 0, 1, 2, 1);
		lacks_of(0)->types = BF16;
		lacks_of(2)->ops = PROD;
		join_all();
		expect_told(BF16, PROD);
		for (i = 0; i < NODES; i++)
			expect(net.node[i].g.agg.lacks.types == BF16 &&
			       net.node[i].g.agg.lacks.ops == PROD, "node %u folds that", i);
		reduce(0, 0);
		disagree(3, 1, 1);
		ask_for(100, 1);
		for (i = 0; i < RANKS; i++)
			expect(!join_from(i, 1), "rank %u", i);
		pump();
		expect_states(INC_GROUP_ACTIVE);
		expect(net.told[0].readies >= 2, "%u READY", net.told[0].readies);
		expect_told(BF16, PROD);
		end_tree();
	}
}

static void expect_short_join(u8 flags)
{
	const u32 len = sizeof(struct inc_join) + sizeof(__be32) + sizeof(struct inc_addr);
	struct frame f = catch_one(0, INC_PKT_JOIN);
	const struct inc_join *said = (const void *)f.body;

	expect(f.pkt.len == len && said->flags == flags, "JOIN of %u bytes, flags 0x%x",
	       f.pkt.len, said->flags);
}

/*
 * The first JOIN was no longer than the way up carries. Those after READY are not either, whatever
 * that has said is lacked elsewhere: the parent knows it, and what is asked for.
 */
static void test_no_longer(void)
{
	u32 i;

	for (i = 0; i < 4; i++) {
		begin_tree(false, 0, 1, 2, 1);
		lacks_of(0)->types = BF16;
		net.kinds[1].types = i & 2 ? F64 : 0;
		join_all();
		expect_told(BF16, 0);
		if (i & 1) {
			net.elsewhere = 1;
			expect(!contrib(1, 0, 0, 5, 1), "CONTRIB");
			expect_short_join(INC_JOIN_REBIND);
		} else {
			disagree(3, 0, 0);
			ask_for(100, 0);
			expect(!join_from(1, 0) && !join_from(3, 0), "JOIN");
			expect_short_join(0);
		}
		end_tree();
	}
}

/* Where nothing is lacked or asked for JOIN and READY are as they were. */
static void test_nothing(void)
{
	struct frame f;

	begin_tree(false, 0, 1, 2, 1);
	expect(!join_from(1, 0), "JOIN");
	f = catch_one(0, INC_PKT_JOIN);
	expect(!(((const struct inc_join *)f.body)->flags & INC_JOIN_KINDS) &&
	       f.pkt.len == sizeof(struct inc_join) + 4 + sizeof(struct inc_addr),
	       "JOIN of %u bytes", f.pkt.len);
	join(0);
	join(2);
	join(3);
	expect(!join_from(1, 0), "JOIN");
	f = catch_one(RANK_AT + 2, INC_PKT_READY);
	expect(f.pkt.len == sizeof(struct inc_ready) &&
	       !(((const struct inc_ready *)f.body)->height & INC_READY_KINDS),
	       "READY of %u bytes", f.pkt.len);
	end_tree();
}

/* What a rank says that it lacks, which only nodes do, is nothing. */
static void test_rank_lies(void)
{
	struct {
		struct inc_join join;
		struct inc_join_kinds kinds;
	} m = { .join = { .size = cpu_to_be32(RANKS), .nonce = cpu_to_be32(103),
			  .block = cpu_to_be16(128), .flags = INC_JOIN_KINDS },
		.kinds = { .lacks = { ~0u, ~0u } } };
	struct netinc_pkt pkt;

	begin_tree(false, 0, 1, 2, 1);
	pkt = rank_pkt(3, INC_PKT_JOIN);
	expect(!rank_says(3, &pkt, &m, sizeof(m), NULL), "JOIN");
	join(0);
	join(1);
	join(2);
	expect(!rank_says(3, &pkt, &m, sizeof(m), NULL), "JOIN");
	wait_ms(50);
	expect_told(0, 0);
	end_tree();
}

/* A contribution that asks for what a node lacks is not folded anywhere, whatever can be. */
static void test_not_folded(void)
{
	u32 i;

	begin_tree(false, 0, 1, 2, 1);
	lacks_of(2)->ops = SUM;
	join_all();
	for (i = 0; i < RANKS; i++)
		contrib(i, 0, 0, 5, 1);
	pump();
	ask_for(100, 0);
	for (i = 0; i < RANKS; i++)
		expect(net.told[i].errors && net.told[i].error.code == INC_ERR_UNSUPPORTED,
		       "rank %u: %u errors, code %u", i, net.told[i].errors,
		       net.told[i].error.code);
	end_tree();
}

/* Who asks for what a node lacks, here or below, is refused, as is a node that comes later. */
static void test_refused(void)
{
	const struct netinc_uplink *up = &net.node[1].g.up;

	begin_tree(false, 0, 1, 2, 1);
	lacks_of(0)->types = BF16 | F64;
	net.kinds[0] = (struct netinc_kinds){ BF16, SUM };
	expect(join_from(0, 0) == INC_REFUSE_KINDS, "a rank of the node");
	net.kinds[0].types = F64 << 1;
	expect(!join_from(0, 0), "that asks for others");
	/* below another one */
	net.kinds[1].types = F64;
	expect(!join_from(1, 0), "rank 1");
	wait_ms(50);
	expect(up->refused == INC_REFUSE_KINDS && up->refuse_detail == F64,
	       "code %u, detail 0x%llx", up->refused, (unsigned long long)up->refuse_detail);
	wait_ms(DEAD / 2);
	expect(!join_from(1, 0), "rank 1 asks again");
	wait_ms(DEAD / 2 + 100);
	expect(join_from(3, 0) == INC_REFUSE_KINDS, "rank 3 waits for ever");
	end_tree();

	begin_tree(false, 0, 1, 2, 1);
	lacks_of(1)->ops = PROD;
	net.kinds[0].ops = PROD;
	join(0);
	join(1);
	wait_ms(50);
	expect(up->refused == INC_REFUSE_KINDS && up->refuse_detail == (u64)PROD << 32,
	       "a node that comes later: code %u", up->refused);
	expect(net.node[0].g.joined == 1, "it is a child");
	end_tree();

	begin_tree(false, 0, 1, 2, 1);
	lacks_of(1)->ops = PROD;
	net.kinds[0].ops = PROD;
	join(1);
	wait_ms(50);
	expect(net.node[0].g.joined == 1 && join_from(0, 0) == INC_REFUSE_KINDS,
	       "a rank that comes later");
	expect(join_from(3, 0) == 0, "others");
	end_tree();

	/* what both ask for, and both have */
	begin_tree(false, 0, 1, 2, 1);
	lacks_of(1)->ops = PROD;
	net.kinds[0].ops = SUM;
	net.kinds[1].types = BF16;
	join_all();
	expect_told(0, PROD);
	end_tree();
}

/* A node that has begun anew, and folds all by now, is not what it was. */
static void test_begins_anew(void)
{
	begin_tree(false, 0, 1, 2, 1);
	lacks_of(1)->ops = PROD;
	join(1);
	wait_ms(50);
	expect(net.node[0].g.joined == 1, "not joined");
	netinc_agg_drain(&net.node[1].g.agg);
	free(net.node[1].mem);
	begin_node(1, 0, 2 * W);
	net.node[1].g.cfg.up_nonce = 0x999;
	net.kinds[3].ops = PROD;
	join(3);
	wait_ms(50);
	expect(!net.node[1].g.up.refused && net.node[0].g.joined == 1, "refused: %u",
	       net.node[1].g.up.refused);
	join(0);
	join(1);
	join(2);
	wait_ms(50);
	expect_told(0, 0);
	end_tree();
}

/*
 * While READY is on its way one more node comes, which lacks something that READY does not say: who
 * has asked for it would have it folded there.
 */
static void test_outdated(void)
{
	struct frame f;

	begin_tree(true, 0, 1, 2, 1);
	join(0);
	join(1);
	join(2);
	expect(!join_from(3, 0), "JOIN");
	f = catch_one(1, INC_PKT_READY);
	net.node[1].g.members[2].lacks.types = BF16;
	at_node(&net.node[1], &f);
	expect(net.node[1].g.up.abort.code == INC_ERR_RANK_ABORT && net.node[1].g.agg.closed,
	       "it goes on: %u", net.node[1].g.up.abort.code);
	end_tree();
}

/* READY that says something else later on, or is not all there, is dropped. */
static void test_ready_lies(void)
{
	struct inc_kinds lie = { cpu_to_be32(F64), 0 };
	struct frame f;
	u32 i;

	begin_tree(false, 0, 1, 2, 1);
	lacks_of(0)->types = BF16;
	join(0);
	join(1);
	join(2);
	expect(!join_from(3, 0), "JOIN");
	f = catch_one(1, INC_PKT_READY);
	f.pkt.len = sizeof(struct inc_ready);
	expect(at_node(&net.node[1], &f) == -INC_C_DROP_MALFORMED, "a short READY");
	f.pkt.len += sizeof(struct inc_kinds);
	expect(!at_node(&net.node[1], &f), "READY");
	wait_ms(50);
	disagree(3, 0, 0);
	ask_for(100, 0);
	for (i = 0; i < RANKS - 1; i++)
		expect(!join_from(i, 0), "rank %u", i);
	pump();
	expect(!join_from(3, 0), "rank 3");
	f = catch_one(1, INC_PKT_READY);
	memcpy(f.body + sizeof(struct inc_ready), &lie, sizeof(lie));
	expect(at_node(&net.node[1], &f) == -INC_C_DROP_MALFORMED, "something else");
	end_tree();
}

/* A place that a group moves to may lack what the group has lacked so far, and nothing else. */
static void test_admit(void)
{
	struct {
		struct inc_join join;
		struct inc_join_kinds kinds;
	} m = {};
	struct netinc_kinds own = { BF16, PROD };
	u64 detail = 0;

	expect(!netinc_kinds_admit(own, &m.join, &detail), "a new group");
	netinc_join_add_kinds(&m.join, (struct netinc_kinds){}, (struct netinc_kinds){ BF16, SUM });
	expect(netinc_kinds_admit(own, &m.join, &detail) == INC_REFUSE_KINDS && detail == BF16,
	       "that asks for it: 0x%llx", (unsigned long long)detail);
	m.join.lineage = cpu_to_be64(7);
	m.join.flags = 0;
	expect(netinc_kinds_admit(own, &m.join, &detail) == INC_REFUSE_KINDS &&
	       detail == (BF16 | (u64)PROD << 32), "one that has lacked nothing");
	netinc_join_add_kinds(&m.join, (struct netinc_kinds){ BF16 | F64, 0 },
			      (struct netinc_kinds){});
	expect(netinc_kinds_admit(own, &m.join, &detail) == INC_REFUSE_KINDS &&
	       detail == (u64)PROD << 32, "one that has had products");
	netinc_join_add_kinds(&m.join, (struct netinc_kinds){ BF16 | F64, PROD },
			      (struct netinc_kinds){});
	expect(!netinc_kinds_admit(own, &m.join, &detail), "one that has lacked as much");
	m.join.flags = INC_JOIN_SHRINK;
	expect(!netinc_kinds_admit(own, &m.join, &detail), "a new run of those that are left");
	netinc_join_add_kinds(&m.join, (struct netinc_kinds){ BF16, PROD },
			      (struct netinc_kinds){ BF16 | F64, SUM });
	expect(netinc_join_shrinks(&m.join) &&
	       netinc_kinds_admit(own, &m.join, &detail) == INC_REFUSE_KINDS && detail == BF16,
	       "one that asks for it: 0x%llx", (unsigned long long)detail);
}

static const struct ktap_test tests[] = {
	KTAP(test_told), KTAP(test_no_longer), KTAP(test_nothing), KTAP(test_rank_lies),
	KTAP(test_not_folded),
	KTAP(test_refused), KTAP(test_begins_anew), KTAP(test_outdated), KTAP(test_ready_lies),
	KTAP(test_admit),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
