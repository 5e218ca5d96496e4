// SPDX-License-Identifier: GPL-2.0-only
/* What one received buffer may cost a node, whatever a member or a parent has put into it. */
#include "agg_env.h"

#define W	8u
#define MANY	512u
#define LOOKS	32768u		/* at blocks */
#define ANSWERS	64u		/* results, or contributions to the parent */
#define RANGES	16u		/* NACKs */

/* So many of this kind have been sent since this was asked last. */
static u32 sent_of(char kind)
{
	u32 n = 0;

	for (; env_seen < env.logged; env_seen++)
		n += env.log[env_seen].kind == kind;
	return n;
}

/* A packet that asks for a whole window again gets 64 results; so does a buffer of many packets. */
static void test_results_per_buffer(void)
{
	struct netinc_pkt pkt = env_pkt(0);
	struct netinc_pay pay = { .flags = INC_F_RETRANS };
	u32 i;

	env_begin(2, 2, MANY, 0);
	for (i = 0; i < MANY; i++) {
		env_give(0, i, 0);
		env_give(1, i, 0);
	}
	env_seen = env.logged;
	pkt.flags = INC_F_RETRANS;
	pkt.len = 0;
	pkt.dop = INC_OP_NONE;
	pkt.span = MANY;
	expect(env_contrib(1, pkt, 0, 1000000) == -INC_C_DROP_DUPLICATE, "the whole window again");
	expect(sent_of('R') == ANSWERS, "more than 64 results");
	pkt.span = 1;
	netinc_agg_buffer_begin(&env.agg);
	for (i = 0; i < MANY; i++) {
		pkt.psn = i;
		netinc_agg_contrib(&env.agg, i % 2, &pkt, &pay, 9000000);
	}
	expect(sent_of('R') == ANSWERS, "more than 64 results for a buffer");
	env_end();
}

/* A buffer may ask for so many looks at a block, and no more. */
static void test_work_per_buffer(void)
{
	struct netinc_pay pay = { .flags = INC_F_WANT };
	struct netinc_pkt pkt = env_pkt(0);
	u32 taken = 0, i;

	env_begin(2, 2, MANY, 0);
	pkt.flags = INC_F_WANT;
	pkt.len = 0;
	pkt.dop = INC_OP_NONE;
	pkt.span = MANY;
	netinc_agg_buffer_begin(&env.agg);
	for (i = 0; i < 1365; i++)
		taken += netinc_agg_contrib(&env.agg, 0, &pkt, &pay, 0) != -INC_C_DROP_WORK;
	expect(taken == LOOKS / MANY, "%u packets of %u blocks each", taken, MANY);
	expect_count(DROP_WORK, (u64)(1365 - taken));
	env_end();
}

/* To look for a block that gives up its room is work, too. */
static void test_work_of_eviction(void)
{
	struct netinc_pay pay = { .flags = INC_F_PAYLOAD | INC_F_WANT };
	struct netinc_pkt pkt = env_pkt(1);
	u32 left;
	int err;

	for (left = 1; left < 3; left++) {
		env_begin(2, 2, W, 0);
		env.room = 1;
		expect(!env_give(0, 2, 0), "payload of a younger block");
		pay.obj = env_new(1);
		env.agg.work_left = left;
		err = netinc_agg_contrib(&env.agg, 1, &pkt, &pay, 0);
		expect(err == (left < 2 ? -INC_C_DROP_MEMORY : 0), "with work for %u blocks: %d",
		       left, err);
		env_put(pay.obj);
		env_end();
	}
}

/* PROBE of a child that has nothing, or all, of so many blocks. */
static bool probe_of(u32 child, u16 flags, u32 bits, u32 has, u64 now)
{
	struct netinc_pkt pkt = { .type = INC_PKT_PROBE, .flags = flags, .span = 1 };
	struct {
		struct inc_probe probe;
		__be32 map[NETINC_MAX_BITMAP];
	} m = { .probe = { .srtt = cpu_to_be32(7), .bits = cpu_to_be16(bits) } };

	memset(m.map, has ? 0xff : 0, sizeof(m.map));
	return netinc_agg_probe(&env.agg, child, &pkt, &m.probe, now);
}

/*
 * STATUS looks at what anybody has contributed to, and at the bitmap of who asks for results, of
 * which no more counts than there are slots. A PROBE too many changes nothing.
 */
static void test_looks_of_status(void)
{
	static const struct {
		u16 flags;
		u32 bits, looks;
	} cases[] = {
		{ 0, 4096, MANY },
		{ INC_F_RETRANS, 0, MANY },
		{ INC_F_RETRANS, 32, MANY + 32 },
		{ INC_F_RETRANS, 2 * MANY, 3 * MANY },
		{ INC_F_RETRANS, 4096, 3 * MANY },
	};
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		env_begin(2, 2, MANY, 0);
		for (n = 0; n < MANY; n++)
			env_give(0, n, 0);
		env_seen = env.logged;
		netinc_agg_buffer_begin(&env.agg);
		for (n = 0; n <= LOOKS / cases[i].looks; n++) {
			env.agg.child[n % 2].srtt = 0;
			expect(probe_of(n % 2, cases[i].flags, cases[i].bits, ~0u, 1000) ==
			       (n < LOOKS / cases[i].looks), "case %u: PROBE %u", i, n);
		}
		expect(!env.agg.child[(n - 1) % 2].srtt, "case %u: the last one is believed", i);
		expect(sent_of('S') == LOOKS / cases[i].looks, "case %u: STATUSes", i);
		env_end();
	}
}

/* Each PROBE is answered with 32 results at most, a buffer of them with 64. */
static void test_results_of_probes(void)
{
	u32 i;

	env_begin(2, 2, MANY, 0);
	for (i = 0; i < MANY; i++) {
		env_give(0, i, 0);
		env_give(1, i, 0);
	}
	env_seen = env.logged;
	netinc_agg_buffer_begin(&env.agg);
	for (i = 0; i < 4; i++) {
		/* it begins at the oldest block that is not complete: they are all before that */
		struct netinc_pkt pkt = { .type = INC_PKT_PROBE, .flags = INC_F_RETRANS,
					  .span = 1, .psn = 100 * i };
		struct {
			struct inc_probe probe;
			__be32 map[4];
		} m = { .probe = { .bits = cpu_to_be16(96) } };

		expect(netinc_agg_probe(&env.agg, i % 2, &pkt, &m.probe, 1000000), "PROBE %u", i);
		expect(sent_of('R') == (i < 2 ? 32 : 0), "results for PROBE %u", i);
	}
	env_end();
}

/*
 * Blocks have been completed without a child: it gets the result of each that it contributes to
 * after all, 64 of them for a buffer. The others it asks for.
 */
static void test_results_too_late(void)
{
	struct netinc_pay pay = { .flags = INC_F_WANT };
	struct netinc_pkt pkt = env_pkt(0);
	u32 i;

	env_begin(2, 2, MANY, 0);
	for (i = 0; i < MANY; i++)
		env_give(0, i, 1000);
	expect(netinc_agg_pass(&env.agg, 5000, 6000) == NETINC_NO_RANK &&
	       env.agg.una == MANY, "block %llu waits", (unsigned long long)env.agg.una);
	env_seen = env.logged;
	pkt.flags = INC_F_WANT;
	pkt.len = 0;
	pkt.dop = INC_OP_NONE;
	netinc_agg_buffer_begin(&env.agg);
	for (i = 0; i < MANY; i++) {
		pkt.psn = i;
		expect(netinc_agg_contrib(&env.agg, 1, &pkt, &pay, 9000) == -INC_C_DROP_TOO_LATE,
		       "block %u counts", i);
	}
	expect(sent_of('R') == ANSWERS, "not 64 results for a buffer");
	env_end();
}

/* @child contributes to every second block of [@q, @end). */
static void give_odd(u32 child, u64 q, u64 end, u64 now)
{
	struct netinc_pkt pkt;
	struct netinc_pay pay;
	struct env_obj *o;

	for (q |= 1; q < end; q += 2) {
		pkt = env_pkt(q);
		o = env_new(env_input(child, q));
		pay = (struct netinc_pay){ .obj = o, .len = pkt.len, .flags = pkt.flags };
		expect(!netinc_agg_contrib(&env.agg, child, &pkt, &pay, now), "block %llu",
		       (unsigned long long)q);
		env_put(o);
	}
}

/* So many NACKs since the record @from have gone to @child. */
static u32 nacks_to(u32 child, u32 from)
{
	u32 n = 0;

	for (; from < env.logged; from++)
		n += env.log[from].kind == 'N' && env.log[from].child == child;
	return n;
}

/*
 * A buffer in which packets of two children take turns, each of which leaves holes: 16 NACKs go to
 * each of them. What else is missing is asked for later.
 */
static void test_nacks_per_buffer(void)
{
	u32 child, i, from;
	u64 q;

	env_begin(3, 3, MANY, 0);
	for (child = 0; child < 2; child++) {
		netinc_agg_buffer_begin(&env.agg);
		give_odd(child, 0, 2, 1000);
		env_packet_end(child, 1000);
	}
	netinc_agg_buffer_begin(&env.agg);
	from = env.logged;
	for (q = 2; q + 100 < MANY; q += 100) {
		for (child = 0; child < 2; child++) {
			give_odd(child, q, q + 100, 9000);
			netinc_agg_packet_end(&env.agg, child, 9000);
		}
	}
	for (child = 0; child < 2; child++)
		expect(nacks_to(child, from) == RANGES, "%u NACKs to child %u for a buffer",
		       nacks_to(child, from), child);
	for (i = 1; i < 3; i++) {
		from = env.logged;
		env_packet_end(0, 9000 + i * 100000);
		expect(nacks_to(0, from) == RANGES, "%u NACKs for the buffer %u after it",
		       nacks_to(0, from), i);
	}
	env_end();
}

/* To look for holes is work: without any left there is no NACK, and the next buffer has it. */
static void test_looks_of_nack(void)
{
	u32 looks = MANY / 2 - 1;

	env_begin(2, 2, MANY, 0);
	netinc_agg_buffer_begin(&env.agg);
	give_odd(0, 0, MANY / 2, 1000);
	netinc_agg_packet_end(&env.agg, 0, 1000);
	env_seen = env.logged;
	netinc_agg_buffer_begin(&env.agg);
	env.agg.work_left = looks;
	netinc_agg_packet_end(&env.agg, 0, 9000);
	expect(!sent_of('N') && env.agg.work_left == looks, "%u blocks: they are %u", looks,
	       looks + 1);
	netinc_agg_buffer_begin(&env.agg);
	env.agg.work_left = looks + 1;
	netinc_agg_packet_end(&env.agg, 0, 9000);
	expect(sent_of('N') == RANGES && !env.agg.work_left, "work for %u blocks is left",
	       env.agg.work_left);
	env_end();
}

/* ---- What a parent says to a node ---- */

/* All of the window has gone up. */
static void begin_below_parent(void)
{
	u32 i;

	env_begin(1, 1, MANY, 0);
	env_seen = 0;
	env.agg.root = false;
	for (i = 0; i < MANY; i++)
		env_give(0, i, 0);
	expect(sent_of('U') == MANY, "not all have gone up");
}

/* However many STATUSes and NACKs there are in a buffer, 64 contributions go up again for it. */
static void test_repeats_per_buffer(void)
{
	u32 i, q;

	begin_below_parent();
	for (i = 0; i < 2; i++) {
		netinc_agg_buffer_begin(&env.agg);
		for (q = 0; q < MANY; q += 32)
			env_repeat_up(q, 32, NULL, 1000, 2000);
		env_repeat_up(0, 65535, NULL, 1000, 2000);
		expect(sent_of('u') == ANSWERS, "buffer %u: not 64 contributions", i);
	}
	expect_count(CONTRIBS_RESENT, 2u * ANSWERS);
	env_end();
}

/* Each block that STATUS or NACK names is a look, up to as many as there are slots. */
static void test_looks_of_repeats(void)
{
	u32 i;

	begin_below_parent();
	netinc_agg_buffer_begin(&env.agg);
	for (i = 0; i < LOOKS / (2 * MANY); i++) {
		env_repeat_up(0, 65535, NULL, ~0ull, 2000);
		expect(env.agg.work_left == LOOKS - (i + 1) * 2 * MANY, "%u looks are left after %u",
		       env.agg.work_left, i + 1);
	}
	/* that was all: what has to go up again waits */
	env_repeat_up(0, 65535, NULL, 1000, 2000);
	expect(!sent_of('u') && !env.agg.work_left, "more looks than there are");
	env_end();
}

static const struct ktap_test tests[] = {
	KTAP(test_results_per_buffer), KTAP(test_work_per_buffer), KTAP(test_work_of_eviction),
	KTAP(test_looks_of_status), KTAP(test_results_of_probes), KTAP(test_results_too_late),
	KTAP(test_nacks_per_buffer),
	KTAP(test_looks_of_nack), KTAP(test_repeats_per_buffer), KTAP(test_looks_of_repeats),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
