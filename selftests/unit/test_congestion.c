// SPDX-License-Identifier: GPL-2.0-only
/* How many blocks a rank keeps in flight, and its idea of the round trip. */
#include "engine/congestion.h"

#include "ktap.h"

static void test_congestion(void)
{
	struct netinc_cc cc;

	memset(&cc, 0, sizeof(cc));
	netinc_cc_start(&cc, 1024, 44);
	expect(cc.cwnd == 128 && cc.floor == 88, "begins with %u, floor %u", cc.cwnd, cc.floor);
	netinc_cc_acked(&cc, 128);
	expect(cc.cwnd == 256, "slow start: %u", cc.cwnd);
	netinc_cc_lost(&cc, 1000000);
	expect(cc.cwnd == 128 && cc.ssthresh == 128, "halved: %u", cc.cwnd);
	netinc_cc_lost(&cc, 1000500);
	expect(cc.cwnd == 128, "halved twice in a round trip");
	netinc_cc_acked(&cc, 127);
	expect(cc.cwnd == 128, "grows before a window is through");
	netinc_cc_acked(&cc, 1);
	expect(cc.cwnd == 172, "avoidance: %u", cc.cwnd);
	netinc_cc_lost(&cc, 2000000);
	netinc_cc_lost(&cc, 3000000);
	netinc_cc_lost(&cc, 4000000);
	expect(cc.cwnd == 88, "below the floor: %u", cc.cwnd);
	netinc_cc_acked(&cc, 4000000);
	expect(cc.cwnd <= 1024, "above the window: %u", cc.cwnd);
	netinc_cc_start(&cc, 4, 44);
	expect(cc.cwnd == 4 && cc.floor == 4, "a small window: %u, floor %u", cc.cwnd, cc.floor);
}

/* A mark costs a fifth, and what is marked or lost within a round trip counts once. */
static void test_marked(void)
{
	struct netinc_cc cc;

	memset(&cc, 0, sizeof(cc));
	netinc_cc_start(&cc, 1024, 8);
	netinc_cc_rtt(&cc, 5000);
	expect(netinc_cc_marked(&cc, 1000000) && cc.cwnd == 103 && cc.ssthresh == 103, "a mark: %u",
	       cc.cwnd);
	expect(!netinc_cc_marked(&cc, 1004999) && !netinc_cc_lost(&cc, 1004999) && cc.cwnd == 103,
	       "in the same trip");
	expect(netinc_cc_marked(&cc, 1005000) && cc.cwnd == 83, "in the next: %u", cc.cwnd);
	expect(netinc_cc_lost(&cc, 1010000) && cc.cwnd == 41, "a loss: %u", cc.cwnd);
	expect(netinc_cc_lost(&cc, 1020000) && netinc_cc_lost(&cc, 1030000) && cc.cwnd == 16,
	       "the floor: %u", cc.cwnd);
}

static void test_rtt(void)
{
	struct netinc_cc cc;
	u32 i;

	memset(&cc, 0, sizeof(cc));
	expect(netinc_cc_rto(&cc) == 20000, "without a sample: %u", netinc_cc_rto(&cc));
	netinc_cc_rtt(&cc, 4000);
	expect(cc.srtt == 4000 && cc.rttvar == 2000 && netinc_cc_rto(&cc) == 12000,
	       "first sample: %u, %u", cc.srtt, cc.rttvar);
	netinc_cc_rtt(&cc, 12000);
	expect(cc.srtt == 5000 && cc.rttvar == 3500, "second sample: %u, %u", cc.srtt, cc.rttvar);
	for (i = 0; i < 200; i++)
		netinc_cc_rtt(&cc, 100);
	expect(cc.srtt >= 100 && cc.srtt < 110 && netinc_cc_rto(&cc) >= 1000 &&
	       netinc_cc_rto(&cc) <= 10000,
	       "settles at %u, %u", cc.srtt, netinc_cc_rto(&cc));
	netinc_cc_rtt(&cc, 0xffffffffu);
	expect(netinc_cc_rto(&cc) <= 1000000, "above the limit: %u", netinc_cc_rto(&cc));
	for (i = 0; i < 100; i++)
		netinc_cc_rtt(&cc, 0);
	expect(cc.srtt >= 1, "zero");
}

/* Results that take longer and longer come out of a queue: the window does not grow into it. */
static void test_queue(void)
{
	struct netinc_cc cc;
	u32 i;

	memset(&cc, 0, sizeof(cc));
	netinc_cc_start(&cc, 1024, 44);
	netinc_cc_result_rtt(&cc, 1000);
	expect(cc.result_rtt == 125 && cc.least == 1000, "first sample: %u, %u", cc.result_rtt,
	       cc.least);
	for (i = 0; i < 100; i++)
		netinc_cc_result_rtt(&cc, 9900);
	expect(cc.result_rtt > 9800 && cc.least == 1000, "settles at %u, %u", cc.result_rtt,
	       cc.least);
	netinc_cc_acked(&cc, 10);
	expect(cc.cwnd == 138, "does not grow: %u", cc.cwnd);
	for (i = 0; i < 100; i++)
		netinc_cc_result_rtt(&cc, 10100);
	netinc_cc_acked(&cc, 10);
	expect(cc.cwnd == 138, "grows into a queue: %u", cc.cwnd);
	expect(netinc_cc_burst(&cc) == 138 * 500 / cc.result_rtt, "half a millisecond of it: %u",
	       netinc_cc_burst(&cc));
	for (i = 0; i < 100; i++)
		netinc_cc_result_rtt(&cc, 500000);
	expect(netinc_cc_burst(&cc) == 2 && cc.least > 1000, "the least: %u, %u",
	       netinc_cc_burst(&cc), cc.least);
	netinc_cc_start(&cc, 1024, 44);
	expect(!cc.result_rtt && !cc.least, "an epoch begins with %u, %u", cc.result_rtt, cc.least);
}

/* Between sites: @n samples of a round trip of so many microseconds. */
static void take_trips(struct netinc_cc *cc, u32 us, u32 n)
{
	while (n--)
		netinc_cc_result_rtt(cc, us);
}

/*
 * Where a round trip is long, a loss is chance while at most one in 50 blocks is lost and there is
 * no queue; else the window is cut, but not below what is under way without the queue, and once in
 * the time that results take.
 */
static void test_chance(void)
{
	struct netinc_cc cc;

	memset(&cc, 0, sizeof(cc));
	netinc_cc_start(&cc, 4096, 44);
	take_trips(&cc, 4999, 16);
	expect(!netinc_cc_by_chance(&cc), "a short round trip");
	netinc_cc_start(&cc, 4096, 44);
	cc.cwnd = 1000;
	take_trips(&cc, 100000, 160);
	netinc_cc_count_lost(&cc, 20);
	expect(netinc_cc_by_chance(&cc) && !netinc_cc_lost(&cc, 1000000) && cc.cwnd == 1000,
	       "20 of 1024: %u", cc.cwnd);
	netinc_cc_count_lost(&cc, 1);
	expect(!netinc_cc_by_chance(&cc) && netinc_cc_lost(&cc, 1000000) && cc.cwnd == 1000,
	       "21 of 1024, without a queue: %u", cc.cwnd);
	netinc_cc_count_seen(&cc, 1050);
	expect(netinc_cc_by_chance(&cc), "21 of 1050");
	netinc_cc_count_seen(&cc, 998);
	expect(cc.seen == 1024 && cc.lost == 10, "halved: %u of %u", cc.lost, cc.seen);
	take_trips(&cc, 127001, 16);
	expect(!netinc_cc_by_chance(&cc), "a queue");
	take_trips(&cc, 200000, 160);
	expect(!netinc_cc_lost(&cc, 1000000 + cc.result_rtt - 1), "twice in the time of results");
	expect(netinc_cc_lost(&cc, 1000000 + cc.result_rtt) && cc.cwnd == 500, "a long queue: %u",
	       cc.cwnd);
}

/* Windows grow by an eighth in a long round trip, into a short queue by a super-packet. */
static void test_long_growth(void)
{
	struct netinc_cc cc;

	memset(&cc, 0, sizeof(cc));
	netinc_cc_start(&cc, 4096, 44);
	take_trips(&cc, 40000, 16);
	netinc_cc_acked(&cc, 1000);
	expect(cc.cwnd == 1128, "slow start, to 256 blocks in 8 ms: %u", cc.cwnd);
	take_trips(&cc, 45001, 16);
	netinc_cc_acked(&cc, 1128);
	expect(cc.ssthresh == 1128 && cc.cwnd == 1128 + 141, "a queue begins: %u", cc.cwnd);
	take_trips(&cc, 53000, 16);
	netinc_cc_acked(&cc, 1269);
	expect(cc.cwnd == 1269 + 44, "into a queue: %u", cc.cwnd);
	take_trips(&cc, 68001, 16);
	netinc_cc_acked(&cc, 5000);
	expect(cc.cwnd == 1313, "into a long one: %u", cc.cwnd);
}

/* A window goes out in four fifths of a long round trip, but for 128 blocks or an eighth of it. */
static void test_pace(void)
{
	u64 now = 1000000, begin = now;
	struct netinc_cc cc;
	u32 sent = 0, n;

	memset(&cc, 0, sizeof(cc));
	netinc_cc_start(&cc, 4096, 44);
	expect(netinc_cc_may_send(&cc, now) == 4096, "%u before the first sample",
	       netinc_cc_may_send(&cc, now));
	take_trips(&cc, 4000, 16);
	netinc_cc_count_sent(&cc, 4096, now);
	expect(netinc_cc_may_send(&cc, now) == 4096, "a short round trip");
	netinc_cc_start(&cc, 4096, 44);
	take_trips(&cc, 100000, 16);
	cc.cwnd = 2048;
	while (sent < 2048) {
		n = min(netinc_cc_may_send(&cc, now), 2048 - sent);
		expect(n && n <= 256, "%u at once", n);
		netinc_cc_count_sent(&cc, n, now);
		sent += n;
		expect(netinc_cc_may_send(&cc, now) < 32, "%u more at once",
		       netinc_cc_may_send(&cc, now));
		now = netinc_cc_more_at(&cc, now);
		if (!n)
			break;
	}
	expect(now - begin >= 70000 && now - begin <= 80000, "it takes %llu us",
	       (unsigned long long)(now - begin));
	expect(netinc_cc_may_send(&cc, now + 1000000) == 256, "after a pause");
}

/*
 * The first results of an epoch may have waited for a rank that came late. What has been paced by
 * that says nothing as soon as there is a shorter round trip; one that is a little shorter is the
 * same one.
 */
static void test_pace_late_rank(void)
{
	u64 now = 1000000, more;
	struct netinc_cc cc;

	memset(&cc, 0, sizeof(cc));
	netinc_cc_start(&cc, 4096, 44);
	take_trips(&cc, 60000000, 1);
	netinc_cc_count_sent(&cc, 128, now);
	more = netinc_cc_more_at(&cc, now);
	expect(!netinc_cc_may_send(&cc, now), "%u at once", netinc_cc_may_send(&cc, now));
	take_trips(&cc, 900000, 1);
	expect(netinc_cc_more_at(&cc, now) >= more, "a little shorter");
	take_trips(&cc, 6000, 1);
	expect(netinc_cc_may_send(&cc, now) == 128, "%u when the way is known: more in %llu us",
	       netinc_cc_may_send(&cc, now),
	       (unsigned long long)(netinc_cc_more_at(&cc, now) - now));
}

/* How long a hole has to stand, as the peer is told: what it reads is less than a unit shorter. */
static void test_slack_wire(void)
{
	struct netinc_reorder r;

	for (r.slack = 0; r.slack < 0x100000u; r.slack = 3 * r.slack + 7) {
		u32 told = netinc_reorder_unpack(netinc_reorder_pack(&r));

		expect(told <= r.slack && r.slack - told < 16, "%u is told as %u", r.slack, told);
	}
}

/* How long a hole stands until it is a loss: longer after one that was none, less after a while. */
static void test_reorder(void)
{
	struct netinc_reorder r = { .slack = NETINC_SLACK_FIRST };
	u64 now = 1000, halves;
	u32 slack;

	expect(!netinc_reorder_lost(&r, true, now), "at once");
	expect(!netinc_reorder_lost(&r, true, now + 1999), "too early");
	expect(netinc_reorder_lost(&r, true, now + 2000), "not in time");
	expect(!netinc_reorder_lost(&r, false, now + 2000) &&
	       !netinc_reorder_lost(&r, true, now + 2001) &&
	       !netinc_reorder_lost(&r, true, now + 4000) &&
	       netinc_reorder_lost(&r, true, now + 4001),
	       "another hole");
	netinc_reorder_spurious(&r, now + 1999);
	expect(r.slack == 2000, "in the same round trip: %u", r.slack);
	netinc_reorder_spurious(&r, now + 2000);
	expect(r.slack == 4000, "twice as long: %u", r.slack);
	netinc_reorder_spurious(&r, now + 5999);
	expect(r.slack == 4000, "again, before a hole has stood for so long: %u", r.slack);
	for (halves = now + 6000; r.slack == 4000; halves += 1000)
		netinc_reorder_lost(&r, false, halves);
	expect(r.slack == 2000, "half of it: %u", r.slack);
	/* the first step of a millisecond behind 10 s since the reason for more, and one more */
	expect(halves == now + 2000 + 10002000, "after %llu us",
	       (unsigned long long)(halves - now));
	for (slack = r.slack; r.slack && halves < 100000000; halves += 1000) {
		netinc_reorder_lost(&r, false, halves);
		expect(r.slack == slack || r.slack == slack / 2 || !r.slack, "%u after %u",
		       r.slack, slack);
		slack = r.slack;
	}
	expect(!r.slack && netinc_reorder_lost(&r, true, halves), "none: %u", r.slack);
	netinc_reorder_spurious(&r, halves);
	expect(r.slack == NETINC_SLACK_FIRST, "begins anew with %u", r.slack);
	for (now = halves; now < halves + 1000000; now += 1000)
		netinc_reorder_spurious(&r, now);
	expect(r.slack == 100000, "at most: %u", r.slack);
}

static const struct ktap_test tests[] = {
	KTAP(test_congestion), KTAP(test_marked), KTAP(test_rtt), KTAP(test_queue),
	KTAP(test_chance), KTAP(test_long_growth), KTAP(test_pace),
	KTAP(test_pace_late_rank),
	KTAP(test_slack_wire), KTAP(test_reorder),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
