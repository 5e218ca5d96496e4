// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loss, and what a rank does about it: PROBE says which results it lacks, STATUS and NACK say what
 * the root lacks; rule 4 of protocol.rst. When it asks unbidden is the timers' business, in
 * endpoint.c.
 */
#include "endpoint.h"

/* shortest pause between PROBEs that ask for the same */
#define PROBE_MIN	500u
/* microseconds that a packet may spend in a CPU's queue */
#define NACK_SLACK	2000u
/* of a delay in queues that keeps a block from being sent again */
#define NACK_LONGEST	50000u
/* the same where nothing that came later shows that it is lost */
#define STATUS_SLACK	8000u
/* no blocks come through: so many times, and for the dead limit */
#define STALLED_LIMIT	16u

bool netinc_ep_complete(struct netinc_ep *ep, u32 tree, u64 b)
{
	struct netinc_ep_tree *w = &ep->tree[tree];

	if ((s64)(b - w->due) <= 0)
		return false;
	w->due = b;
	return true;
}

/*
 * Is a result missing that should be here? CPUs' queues keep order less strictly than links: for
 * some time, no.
 */
static bool result_lost(struct netinc_ep *ep, u32 tree, u64 now)
{
	struct netinc_ep_tree *w = &ep->tree[tree];
	u64 una = netinc_ep_tree_una(ep, tree);

	if (una == ep->snd || (s64)(w->due - una) <= 0)
		return false;
	return netinc_reorder_lost(&w->down, true, now) || now - w->progress >= w->down.slack;
}

/*
 * Notes that LEAVE has arrived. With several trees the group's root may not be that of LEAVE's
 * block: it is told when that one has it, because nobody will contribute it again. STATUS begins at
 * block @b.
 */
static void see_leave(struct netinc_ep *ep, u32 tree, u64 b, const struct inc_status *st, u64 now)
{
	u64 leave = ep->end - 1;

	if (ep->spread.trees <= 1 || ep->leave_there || ep->state != INC_STATE_LEAVING ||
	    ep->snd != ep->end || netinc_tree_of(&ep->spread, leave) != tree)
		return;
	if ((s64)(leave - b) >= 0 &&
	    (leave - b >= be16_to_cpu(st->bits) || !netinc_bit(st->bitmap, (u32)(leave - b))))
		return;
	ep->leave_there = true;
	netinc_ep_probe(ep, 0, now);
}

/*
 * PROBE and STATUS are short. Where blocks are too long for a link, or are filtered out, these come
 * through and those do not, which nobody would notice but by counting; rule 5. STATUS begins at
 * block @b.
 */
static bool is_stalled(struct netinc_ep *ep, u32 tree, u64 b, const struct inc_status *st, u64 now)
{
	struct netinc_ep_tree *w = &ep->tree[tree];
	u64 una = netinc_ep_tree_una(ep, tree);
	bool lost = (s64)(b - una) > 0, seen = be32_to_cpu(st->seen) != w->seen, resent = w->resent;
	bool missing = una - b < be16_to_cpu(st->bits) && !netinc_bit(st->bitmap, (u32)(una - b));

	w->seen = be32_to_cpu(st->seen);
	w->resent = false;
	if (una == ep->snd || (!lost && (seen || !missing))) {
		w->stalled = 0;
	} else if (lost || resent) {
		if (!w->stalled)
			w->stalled_since = now;
		w->stalled++;
	}
	return w->stalled >= STALLED_LIMIT &&
	       now - w->stalled_since >= ep->settings.dead_ms * NETINC_MS;
}

int netinc_ep_status(struct netinc_ep *ep, const struct netinc_pkt *pkt, const void *body, u64 now,
		     bool *stalled)
{
	const struct inc_status *st = body;
	u32 bits = be16_to_cpu(st->bits), i, run = 0, before;
	struct netinc_ep_tree *w = &ep->tree[pkt->tree];
	bool more = false;
	u64 b;

	if (sizeof(*st) + bits / 8 > pkt->len || bits % 32 || !netinc_stamp_ok(pkt, now))
		return -INC_C_DROP_MALFORMED;
	netinc_count(ep->counters, INC_C_STATUSES);
	w->answered = true;
	w->probes_lost = 0;
	if (!pkt->tree)
		ep->rebind_asked = false;
	netinc_cc_rtt(&ep->cc, (u32)now - pkt->tstamp);
	ep->waiting = be32_to_cpu(st->waiting);
	ep->waited_ms = be32_to_cpu(st->waited);
	b = netinc_extend(ep->una, pkt->psn);
	see_leave(ep, pkt->tree, b, st, now);
	if (is_stalled(ep, pkt->tree, b, st, now)) {
		w->stalled = 0;
		*stalled = true;
		return 0;
	}
	/* what is lost is asked for at once, and again when the answer is lost */
	if (netinc_ep_complete(ep, pkt->tree, b) || now - w->asked >= max(ep->cc.srtt, PROBE_MIN))
		more = result_lost(ep, pkt->tree, now);
	/*
	 * what was sent shortly before the PROBE may have been overtaken by it, from another CPU's
	 * queue
	 */
	w->up_slack = netinc_reorder_unpack(be16_to_cpu(st->slack));
	before = pkt->tstamp - max(max(ep->cc.srtt / 4, STATUS_SLACK), w->up_slack);
	for (i = 0; i <= bits; i++) {
		if (i < bits && !netinc_bit(st->bitmap, i)) {
			run++;
		} else if (run) {
			netinc_ep_resend(ep, b + i - run, run, before, before, now);
			run = 0;
		}
	}
	if (more && netinc_ep_take_work(ep, (u32)(ep->snd - ep->una)))
		netinc_ep_probe(ep, pkt->tree, now);
	return 0;
}

int netinc_ep_nack(struct netinc_ep *ep, const struct netinc_pkt *pkt, u64 now)
{
	/* a queue that is building up is known by results before it is by round trips */
	u32 flight = max3(ep->cc.srtt - ep->cc.srtt / 4, min(ep->cc.result_rtt, NACK_LONGEST),
			  NACK_SLACK);

	flight = max(flight, ep->tree[pkt->tree].up_slack);

	netinc_count(ep->counters, INC_C_NACKS);
	/* something that was sent later has come: but for what was sent again that is no proof */
	netinc_ep_resend(ep, netinc_extend(ep->una, pkt->psn), pkt->span, (u32)now,
			 (u32)now - flight, now);
	return 0;
}
