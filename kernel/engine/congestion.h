/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many blocks a rank keeps in flight, and its estimate of the round trip. Growth as in TCP slow
 * start and congestion avoidance (RFC 5681), at most once per round trip halved on loss or cut to
 * four fifths on ECN's mark (RFC 8511); the estimator is that of RFC 6298, fed by PROBE / STATUS
 * only.
 *
 * Between sites, where a round trip is long, links lose packets without being full, and a window
 * that is halved takes many round trips to grow again. There a loss is taken for chance as long as
 * few of the blocks are lost (as in BBR, draft-ietf-ccwg-bbr) and no queue builds up (as in Veno,
 * Fu and Liew 2003); windows grow faster, and what they let out goes out little by little.
 */
#ifndef NETINC_ENGINE_CONGESTION_H
#define NETINC_ENGINE_CONGESTION_H

#include "reduce/platform.h"

/* Set by netinc_cc_start() with each epoch, but for the three fields that go on. */
struct netinc_cc {
	u32 cwnd;		/* blocks that may be under way, floor..max */
	/* blocks: cwnd from which on it grows by steps; 0: it has not been cut in this epoch */
	u32 ssthresh;
	u32 floor;		/* blocks: two super-packets, or W if that is less */
	u32 max;		/* blocks: W */
	u32 acked;		/* results since the last step of congestion avoidance */
	u64 cut;		/* time at which cwnd was cut last, 0: never; goes on */
	/* microseconds, smoothed round trip, 1..RTO_MAX, 0: no sample yet; goes on */
	u32 srtt;
	u32 rttvar;		/* microseconds, smoothed deviation from srtt; goes on */
	/*
	 * microseconds from contributions to results, smoothed: a round trip and the slowest rank;
	 * 0: no sample in this epoch yet
	 */
	u32 result_rtt;
	/* microseconds: the shortest of these samples, 0: none yet; grows very slowly */
	u32 least;
	/*
	 * microseconds: the shortest of 16 samples, 0: there have not been as many; that of those
	 * since, and how many these are. What has been lost on the way takes longer.
	 */
	u32 recent;
	u32 next;
	u32 samples;
	/* blocks with results, and those that were sent again: both are halved now and then */
	u32 seen;
	u32 lost;
	/* time until which it takes to send what has been sent at the rate of cwnd, 0: nothing */
	u64 paced;
};

/*
 * How long a hole may stand before it counts as a loss: longer after something has been sent again
 * needlessly, shorter when that has not happened for long (as in RACK, RFC 8985, section 6.2).
 */
struct netinc_reorder {
	/* microseconds that a hole may stand, 0..SLACK_MAX */
	u32 slack;
	/* time at which slack changed last, or was used first; 0: neither yet */
	u64 changed;
	u64 since;		/* time at which the hole was seen first, 0: there is none */
};

/* CPUs that are busy keep what is in their queues back for about so long */
#define NETINC_SLACK_FIRST	2000u

/* Is there a @hole that has stood long enough? */
bool netinc_reorder_lost(struct netinc_reorder *r, bool hole, u64 now);
/* A packet that was sent again had not been lost: holes may stand longer. */
void netinc_reorder_spurious(struct netinc_reorder *r, u64 now);

/* On the wire: units of 16 microseconds. */
static inline u16 netinc_reorder_pack(const struct netinc_reorder *r)
{
	return r->slack / 16;
}

static inline u32 netinc_reorder_unpack(u16 units)
{
	return units * 16;
}

void netinc_cc_start(struct netinc_cc *cc, u32 window, u32 super_packet);
void netinc_cc_acked(struct netinc_cc *cc, u32 blocks);
/* Blocks have results now, or were sent again: what netinc_cc_by_chance() goes by. */
void netinc_cc_count_seen(struct netinc_cc *cc, u32 blocks);
void netinc_cc_count_lost(struct netinc_cc *cc, u32 blocks);
/* Is a loss no sign of congestion? Only where a round trip is long. */
bool netinc_cc_by_chance(const struct netinc_cc *cc);
/*
 * Something was lost, or has met congestion: less, at most once per round trip. True: the window
 * has become smaller.
 */
bool netinc_cc_lost(struct netinc_cc *cc, u64 now);
bool netinc_cc_marked(struct netinc_cc *cc, u64 now);
void netinc_cc_rtt(struct netinc_cc *cc, u32 sample);
void netinc_cc_result_rtt(struct netinc_cc *cc, u32 sample);

/*
 * Between sites a window does not go out at once: the queue in front of the slow link need not have
 * room for it. How many blocks may go out now, when more may, and that so many have gone out.
 */
u32 netinc_cc_may_send(const struct netinc_cc *cc, u64 now);
u64 netinc_cc_more_at(const struct netinc_cc *cc, u64 now);
void netinc_cc_count_sent(struct netinc_cc *cc, u32 blocks, u64 now);

/* Blocks that leave within half a millisecond at the current rate, at least two. */
u32 netinc_cc_burst(const struct netinc_cc *cc);

/*
 * After how many microseconds without an answer to ask again, and for the first time (RFC 8985,
 * section 7.2).
 */
u32 netinc_cc_rto(const struct netinc_cc *cc);
u32 netinc_cc_pto(const struct netinc_cc *cc);

#endif
