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
#define FIRST_SSTHRESH	256u	/* several ranks share a CPU's queue of 1000 packets */

void netinc_cc_start(struct netinc_cc *cc, u32 window, u32 super_packet)
{
	cc->max = window;
	cc->floor = min(window, 2 * super_packet);
	cc->cwnd = min(window, max(cc->floor, INITIAL_WINDOW));
	cc->ssthresh = max(cc->cwnd, min(window, FIRST_SSTHRESH));
	cc->acked = 0;
	cc->result_rtt = 0;
	cc->least = 0;
}

/*
 * Do packets wait in a queue on the way? More of them would wait longer, also those that are sent
 * again after a loss.
 */
static bool queue_is_long(const struct netinc_cc *cc)
{
	return cc->result_rtt > 2 * cc->least + QUEUE_US;
}

void netinc_cc_acked(struct netinc_cc *cc, u32 blocks)
{
	if (queue_is_long(cc))
		return;
	if (cc->cwnd < cc->ssthresh) {
		cc->cwnd += blocks;
	} else {
		cc->acked += blocks;
		if (cc->acked >= cc->cwnd) {
			cc->acked -= cc->cwnd;
			cc->cwnd += max(cc->floor / 2, 1u);
		}
	}
	cc->cwnd = min(cc->cwnd, cc->max);
}

static bool cut_window(struct netinc_cc *cc, u32 cwnd, u64 now)
{
	if (now - cc->cut < max(cc->srtt, CUT_PAUSE))
		return false;
	cc->cut = now;
	cc->cwnd = max(cwnd, cc->floor);
	cc->ssthresh = cc->cwnd;
	cc->acked = 0;
	return true;
}

bool netinc_cc_lost(struct netinc_cc *cc, u64 now)
{
	return cut_window(cc, cc->cwnd / 2, now);
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
	if (!cc->least || sample < cc->least)
		cc->least = sample;
	else
		cc->least += (sample - cc->least) >> 16;
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
