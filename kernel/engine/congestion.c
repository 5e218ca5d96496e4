// SPDX-License-Identifier: GPL-2.0-only
/* Congestion window and round trip of a rank. */
#include "congestion.h"

#define RTO_INITIAL	20000u	/* microseconds */
#define RTO_MIN		4000u
#define BURST_US	500u
#define QUEUE_US	8000u	/* of delay in queues that are no reason not to send more */
#define CUT_PAUSE	1000u	/* shortest time between two halvings */
#define RTO_MAX		1000000u
#define SLACK_LEAST	500u
#define SLACK_MAX	100000u
#define SLACK_HALVES	10000000u	/* after so long without a reason */
#define INITIAL_WINDOW	128u	/* blocks */
/* several ranks share a CPU's queue of 1000 packets: within QUEUE_US it takes no more */
#define FIRST_SSTHRESH	256u
#define LONG_LEAST	5000u	/* of a round trip between sites */
#define LONG_SLACK	2000u	/* busy machines add so much to it */
#define RECENT		16u	/* samples */
#define CHANCE_SHARE	50u	/* one of so many blocks may be lost by chance */
#define CHANCE_BLOCKS	1024u	/* of fewer it is not known how many that are */
#define MOST_LOST	8192u	/* blocks that are counted */

void netinc_cc_start(struct netinc_cc *cc, u32 window, u32 super_packet)
{
	cc->max = window;
	cc->floor = min(window, 2 * super_packet);
	cc->cwnd = min(window, max(cc->floor, INITIAL_WINDOW));
	cc->ssthresh = 0;
	cc->acked = 0;
	cc->seen = 0;
	cc->lost = 0;
	cc->paced = 0;
	cc->result_rtt = 0;
	cc->least = 0;
	cc->recent = 0;
	cc->samples = 0;
}

/* Does it take as long as between sites? */
static bool is_long(const struct netinc_cc *cc)
{
	return cc->least >= LONG_LEAST;
}

/*
 * Do packets wait in a queue on the way? More of them would wait longer, also those that are sent
 * again after a loss. Between sites half a round trip of them is enough.
 */
static bool queue_is_long(const struct netinc_cc *cc)
{
	if (is_long(cc))
		return cc->recent > cc->least + cc->least / 2 + QUEUE_US;
	return cc->result_rtt > 2 * cc->least + QUEUE_US;
}

/* Is it a round trip between sites, on which next to nothing waits in a queue? */
static bool is_free(const struct netinc_cc *cc)
{
	return is_long(cc) && cc->recent <= cc->least + cc->least / 4 + LONG_SLACK;
}

bool netinc_cc_by_chance(const struct netinc_cc *cc)
{
	return is_free(cc) && cc->lost * CHANCE_SHARE <= max(cc->seen, CHANCE_BLOCKS);
}

void netinc_cc_count_seen(struct netinc_cc *cc, u32 blocks)
{
	cc->seen += blocks;
	if (cc->seen >= 2 * max(cc->cwnd, CHANCE_BLOCKS)) {
		cc->seen /= 2;
		cc->lost /= 2;
	}
}

void netinc_cc_count_lost(struct netinc_cc *cc, u32 blocks)
{
	cc->lost = min(cc->lost + blocks, MOST_LOST);
}

/* Is it time to leave slow start, before packets are lost? As in HyStart++, RFC 9406. */
static bool queue_begins(const struct netinc_cc *cc)
{
	u32 more = min(max(cc->least / 8, QUEUE_US / 2), 2 * QUEUE_US);

	return is_long(cc) && cc->recent > cc->least + more;
}

/* The longer a round trip is, the more blocks are under way at the same rate. */
static u32 slow_start_end(const struct netinc_cc *cc)
{
	return cc->ssthresh ?: FIRST_SSTHRESH * max(cc->least / QUEUE_US, 1u);
}

/* By how much the window grows in a round trip. */
static u32 growth_step(const struct netinc_cc *cc)
{
	u32 step = max(cc->floor / 2, 1u);

	return is_free(cc) ? max(step, cc->cwnd / 8) : step;
}

void netinc_cc_acked(struct netinc_cc *cc, u32 blocks)
{
	netinc_cc_count_seen(cc, blocks);
	if (queue_is_long(cc))
		return;
	if (!cc->ssthresh && queue_begins(cc))
		cc->ssthresh = cc->cwnd;
	if (cc->cwnd < slow_start_end(cc)) {
		cc->cwnd += blocks;
	} else {
		cc->acked += blocks;
		if (cc->acked >= cc->cwnd) {
			cc->acked -= cc->cwnd;
			cc->cwnd += growth_step(cc);
		}
	}
	cc->cwnd = min(cc->cwnd, cc->max);
}

static bool cut_window(struct netinc_cc *cc, u32 cwnd, u64 now)
{
	/* it may be a node of this site that answers PROBEs: results know how long it takes */
	u32 trip = is_long(cc) ? cc->result_rtt : 0;

	if (now - cc->cut < max3(cc->srtt, trip, CUT_PAUSE))
		return false;
	cc->cut = now;
	cc->cwnd = max(cwnd, cc->floor);
	cc->ssthresh = cc->cwnd;
	cc->acked = 0;
	return true;
}

/*
 * Between sites no less than was under way without a queue (as in Westwood, Mascolo and others
 * 2001).
 */
static u32 half_window(const struct netinc_cc *cc)
{
	if (!is_long(cc))
		return cc->cwnd / 2;
	return max(cc->cwnd / 2, cc->cwnd * (cc->least / 16) / (max(cc->recent, cc->least) / 16));
}

bool netinc_cc_lost(struct netinc_cc *cc, u64 now)
{
	return !netinc_cc_by_chance(cc) && cut_window(cc, half_window(cc), now);
}

bool netinc_cc_marked(struct netinc_cc *cc, u64 now)
{
	return cut_window(cc, cc->cwnd - cc->cwnd / 5, now);
}

void netinc_cc_rtt(struct netinc_cc *cc, u32 sample)
{
	u32 diff;

	sample = max(min(sample, RTO_MAX), 1u);
	if (!cc->srtt) {
		cc->srtt = sample;
		cc->rttvar = sample / 2;
		return;
	}
	diff = sample > cc->srtt ? sample - cc->srtt : cc->srtt - sample;
	cc->rttvar += (s32)(diff - cc->rttvar) / 4;
	cc->srtt += (s32)(sample - cc->srtt) / 8;
	cc->srtt = max(cc->srtt, 1u);
}

void netinc_cc_result_rtt(struct netinc_cc *cc, u32 sample)
{
	sample = max(min(sample, RTO_MAX), 1u);
	cc->result_rtt += (s32)(sample - cc->result_rtt) / 8;
	/* the fastest results so far had waited for a rank that was late: they paced too slowly */
	if (sample < cc->least / 2)
		cc->paced = 0;
	if (!cc->least || sample < cc->least)
		cc->least = sample;
	else
		cc->least += (sample - cc->least) >> 16;
	cc->next = cc->samples ? min(cc->next, sample) : sample;
	if (++cc->samples == RECENT) {
		cc->recent = cc->next;
		cc->samples = 0;
	}
}

/* Blocks that may go out at once. */
static u32 burst_blocks(const struct netinc_cc *cc)
{
	return max(cc->cwnd / 8, INITIAL_WINDOW);
}

/* Microseconds that so many blocks should take: a window takes four fifths of a round trip. */
static u32 pace_of(const struct netinc_cc *cc, u32 blocks)
{
	return blocks * (cc->least / 16) / cc->cwnd * 13;
}

u32 netinc_cc_may_send(const struct netinc_cc *cc, u64 now)
{
	u32 ahead, out, most = burst_blocks(cc);

	if (!is_long(cc) || (s64)(cc->paced - now) <= 0)
		return is_long(cc) ? most : cc->max;
	ahead = min_t(u64, cc->paced - now, RTO_MAX);
	out = ahead / 13 * cc->cwnd / (cc->least / 16);
	return most - min(out, most);
}

u64 netinc_cc_more_at(const struct netinc_cc *cc, u64 now)
{
	return max(cc->paced - pace_of(cc, burst_blocks(cc) / 2), now + BURST_US);
}

void netinc_cc_count_sent(struct netinc_cc *cc, u32 blocks, u64 now)
{
	if (is_long(cc))
		cc->paced = max(cc->paced, now) + pace_of(cc, blocks);
}

u32 netinc_cc_burst(const struct netinc_cc *cc)
{
	/* round trips are measured seldom, and not while a queue is building up */
	u32 rtt = max3(cc->srtt, cc->result_rtt, 1u);

	return max(cc->cwnd * BURST_US / rtt, 2u);
}

u32 netinc_cc_rto(const struct netinc_cc *cc)
{
	if (!cc->srtt)
		return RTO_INITIAL;
	return min(max(cc->srtt + 4 * cc->rttvar, RTO_MIN), RTO_MAX);
}

u32 netinc_cc_pto(const struct netinc_cc *cc)
{
	return min(netinc_cc_rto(cc), max(2 * cc->srtt, RTO_MIN));
}

bool netinc_reorder_lost(struct netinc_reorder *r, bool hole, u64 now)
{
	if (!r->changed)
		r->changed = now;
	if (r->slack && now - r->changed > SLACK_HALVES) {
		r->slack = r->slack / 2 < SLACK_LEAST ? 0 : r->slack / 2;
		r->changed = now;
	}
	if (!hole) {
		r->since = 0;
		return false;
	}
	if (!r->since)
		r->since = now;
	return now - r->since >= r->slack;
}

void netinc_reorder_spurious(struct netinc_reorder *r, u64 now)
{
	/* the packets of one round trip are one reason */
	if (r->slack && now - r->changed < r->slack)
		return;
	r->slack = min(max(2 * r->slack, NETINC_SLACK_FIRST), SLACK_MAX);
	r->changed = now;
}
