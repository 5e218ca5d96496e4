// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a node says to its parent of a group, and hears from it: JOIN for the ranks below, PROBE,
 * ABORT; CHALLENGE, WAIT, REFUSE, STATUS. READY and ERROR change the group here, too: see
 * group_parent.c. Rules: "Trees of nodes" in protocol.rst.
 */
#include "group.h"

/* between JOINs: when more ranks have come, and when the parent has said nothing */
#define NEWS_PAUSE	(20 * NETINC_MS)
#define JOIN_PAUSE	(200 * NETINC_MS)
#define JOIN_FIRST	(5 * NETINC_MS)
/* between ABORTs until the error comes down */
#define ABORT_PAUSE	(50 * NETINC_MS)
/* shortest pause between PROBEs */
#define PROBE_MIN	500u
/* a parent is dead only after as many unanswered ones */
#define DEAD_PROBES	3
/* ... and after as many it may be that it takes our packets for somebody else's */
#define REBIND_PROBES	2
/* shortest pause between JOINs that say so */
#define REBIND_PAUSE	(50 * NETINC_MS)
/* what the least that a path carries (576, RFC 791) has behind headers: 48, 8 and 48 bytes, less */
#define JOIN_FITS	448u
/* idle nodes PROBE so often, per dead limit */
#define IDLE_PROBES	4
/* a PROBE whose answer has not come by then says nothing of the way */
#define TIMED_MAX	(1000 * NETINC_MS)
/* microseconds that a contribution may spend in a queue, sent and not seen yet */
#define STATUS_SLACK	2000u

/* The fields that all packets to the parent have. */
static void up_header(const struct netinc_group *g, struct netinc_pkt *pkt, u8 type)
{
	*pkt = (struct netinc_pkt){ .type = type,
				    .group = g->cfg.id,
				    .incarnation = g->up.incarnation,
				    .epoch = g->epoch,
				    .span = 1,
				    .child = g->up.child,
				    .cookie = g->up.up_cookie };
}

static void note_asked(struct netinc_group *g, u64 now)
{
	g->up.asked = now;
	g->up.unanswered++;
}

/* What the children have said in their JOINs, as if it was one that says it. */
static void describe_children(const struct netinc_group *g, struct netinc_pkt *pkt,
			      struct inc_join *join)
{
	u16 block = min_t(u32, g->cfg.up_block, g->cfg.block);
	const struct netinc_member *m;
	bool first = true;
	u64 next = 0;
	u32 i;

	for (i = 0; i < g->nmembers; i++) {
		m = &g->members[i];
		if (!m->present)
			continue;
		if (first || (s64)(m->next - next) < 0)
			next = m->next;
		if (first || (s32)(m->begun - pkt->opseq) > 0)
			pkt->opseq = m->begun;
		pkt->epoch = max(pkt->epoch, m->epoch);
		block = min(block, m->block);
		first = false;
	}
	join->next = cpu_to_be64(next);
	join->block = cpu_to_be16(block);
}

static void send_up_join(struct netinc_group *g, u8 flags, u64 now)
{
	struct {
		struct inc_join join;
		/* the bitmap, as long as the size makes it, and behind it what else there is */
		__be32 tail[NETINC_JOIN_TAIL / sizeof(__be32)];
	} m = { .join = { .size = cpu_to_be32(g->cfg.size),
			  .nonce = cpu_to_be32(g->cfg.up_nonce),
			  .srtt = cpu_to_be32(g->up.cc.srtt),
			  .late_policy = g->cfg.stripe << INC_JOIN_STRIPE_SHIFT,
			  .job = cpu_to_be64(g->cfg.job),
			  .challenge = cpu_to_be64(g->up.challenge) } };
	bool stale = !netinc_form_all_heard(g, now);
	struct netinc_pkt pkt;
	struct inc_addr edge = {};
	u32 i;

	up_header(g, &pkt, INC_PKT_JOIN);
	pkt.epoch = g->epoch;
	describe_children(g, &pkt, &m.join);
	if (netinc_uplink_in_use(&g->up)) {
		m.join.lineage = cpu_to_be64(g->cfg.lineage);
		netinc_settings_to_join(&g->cfg.settings, &m.join);
		pkt.epoch = g->epoch;
		stale = false;
	} else {
		pkt.child = netinc_children_lowest(g);
		if (!g->up.counts_valid)
			g->up.known = pkt.child;
		g->up.child = pkt.child;
		if (g->cfg.returns) {
			m.join.lineage = cpu_to_be64(g->cfg.lineage);
			m.join.move = cpu_to_be32(g->move);
			netinc_settings_to_join(&g->cfg.settings, &m.join);
			m.join.below = INC_JOIN_RETURN;
		}
		m.join.window = cpu_to_be16(netinc_children_window(g));
	}
	m.join.below |= netinc_children_height(g) | (stale ? INC_JOIN_STALE : 0) |
		       (netinc_children_canonical(g) ? 0 : INC_JOIN_TREE_ORDER);
	m.join.flags = (netinc_children_ask_order(g) ? INC_JOIN_CANONICAL : 0) |
		       (netinc_children_many_parts(g) ? INC_JOIN_MANY_PARTS : 0);
	m.join.flags |= flags;
	memset(g->up.below, 0, sizeof(g->up.below));
	for (i = 0; i < g->cfg.size; i++)
		if (g->owner[i]) {
			netinc_bit_set(m.tail, i);
			g->up.below[i / 32] |= 1u << (i % 32);
		}
	if (netinc_peer_is_far(netinc_group_edge(g)))
		netinc_addr_build(&edge, netinc_group_edge(g));
	memcpy(m.tail + netinc_join_ranks_bytes(&m.join) / sizeof(__be32), &edge, sizeof(edge));
	/* READY may have said that more is lacked: the way up may not carry a longer JOIN */
	if (!netinc_uplink_in_use(&g->up))
		netinc_join_add_kinds(&m.join, netinc_children_lack(g), netinc_children_ask(g));
	if (g->up.challenge)
		netinc_join_proof(g->cfg.up_key, g->cfg.id, pkt.child, &m.join, m.join.proof);
	g->up.news = false;
	g->up.called = stale && g->up.called;
	netinc_count(g->counters, INC_C_JOINS);
	g->ops->send_up(g, &pkt, &m, sizeof(m.join) + netinc_join_tail_bytes(&m.join));
}

void netinc_uplink_join(struct netinc_group *g, u64 now)
{
	note_asked(g, now);
	send_up_join(g, 0, now);
}

/* If nothing answers, our packets may come to the parent by another port than they did. */
static void rebind_if_silent(struct netinc_group *g, u64 now)
{
	if (g->up.unanswered <= REBIND_PROBES || now - g->up.rebind_sent < REBIND_PAUSE)
		return;
	g->up.challenge = 0;
	g->up.rebind_asked = true;
	g->up.rebind_sent = now;
	send_up_join(g, INC_JOIN_REBIND, now);
}

/* Is the group to return with blocks that are longer than what the way up carries by now? */
static bool is_too_narrow(const struct netinc_group *g)
{
	u32 i;

	for (i = 0; g->cfg.returns && i < g->nmembers; i++)
		if (g->members[i].present && g->members[i].block > g->cfg.up_block)
			return true;
	return false;
}

static bool kinds_to_say(const struct netinc_group *g)
{
	return netinc_kinds_any(netinc_kinds_or(netinc_children_lack(g), netinc_children_ask(g)));
}

/*
 * JOIN names the ranks below in one packet, a bit for each of the group: on a path that carries no
 * more than the least (@JOIN_FITS) 2784. What cannot be asked for is refused.
 */
static bool join_is_too_long(struct netinc_group *g, u64 now)
{
	const struct inc_join join = { .size = cpu_to_be32(g->cfg.size), .below = 1,
				       .flags = kinds_to_say(g) ? INC_JOIN_KINDS : 0 };
	u32 bytes = sizeof(join) + netinc_join_tail_bytes(&join);

	if (bytes <= max_t(u32, g->cfg.up_block, JOIN_FITS))
		return false;
	g->up.refused = INC_REFUSE_BLOCK;
	g->up.refused_at = now;
	g->up.refuse_detail = bytes;
	return true;
}

void netinc_uplink_ask(struct netinc_group *g, u64 now)
{
	struct netinc_uplink *up = &g->up;
	u64 since = now - up->asked, pause = max(up->pause, JOIN_FIRST);

	if (!g->cfg.has_parent || !g->joined || up->refused || is_too_narrow(g) ||
	    join_is_too_long(g, now))
		return;
	if (up->state == NETINC_UPLINK_NONE) {
		up->state = NETINC_UPLINK_ASKING;
		up->gone = NETINC_NO_RANK;
		up->heard = now;
		up->pause = JOIN_PAUSE;
		netinc_uplink_join(g, now);
		return;
	}
	if (up->called && netinc_form_all_heard(g, now))
		netinc_uplink_join(g, now);
	else if (since >= pause || (up->news && since >= NEWS_PAUSE))
		netinc_uplink_join(g, now);
}

static void send_leave(struct netinc_group *g)
{
	struct netinc_error e = { .code = INC_ERR_RANK_ABORT, .resume = g->cfg.up_nonce,
				  .block = g->cfg.job,
				  .rank = { g->up.child, NETINC_NO_RANK } };
	struct inc_error_pkt body;
	struct netinc_pkt pkt;

	netinc_error_build(&body, &e);
	up_header(g, &pkt, INC_PKT_ABORT);
	/* it has begun nothing there, though it may have here */
	pkt.epoch = 0;
	pkt.child = g->up.known;
	g->ops->send_up(g, &pkt, &body, sizeof(body));
}

/* Nobody below is left, or all are below, or the group is over: the parent need not wait for us. */
void netinc_uplink_leave(struct netinc_group *g)
{
	if (g->up.state != NETINC_UPLINK_ASKING)
		return;
	send_leave(g);
	g->up.state = NETINC_UPLINK_NONE;
	/* nor do we wait for it any more; what it has said of others is of then */
	g->up.unanswered = 0;
	g->up.counts_valid = false;
}

static void send_up_abort(struct netinc_group *g, u64 now)
{
	struct inc_error_pkt body;
	struct netinc_pkt pkt;

	netinc_error_build(&body, &g->up.abort);
	up_header(g, &pkt, INC_PKT_ABORT);
	pkt.psn = (u32)g->up.abort.block;
	/* the error may be long in coming, so that its silence says nothing */
	g->up.abort_sent = now;
	g->ops->send_up(g, &pkt, &body, sizeof(body));
}

void netinc_uplink_abort(struct netinc_group *g, const struct netinc_error *e, u64 now)
{
	/* what comes first ends the epoch; but what ends the group goes above what does not */
	if (g->up.abort.code && (netinc_error_is_final(&g->up.abort) || !netinc_error_is_final(e)))
		return;
	g->up.abort_since = now;
	g->up.abort = *e;
	send_up_abort(g, now);
}

void netinc_uplink_done(struct netinc_group *g, u64 now)
{
	struct inc_error_pkt body = {};
	struct netinc_pkt pkt;

	if (!netinc_uplink_in_use(&g->up))
		return;
	up_header(g, &pkt, INC_PKT_ABORT);
	pkt.flags = INC_F_LEAVE;
	note_asked(g, now);
	g->ops->send_up(g, &pkt, &body, sizeof(body));
}

/*
 * Is the result of block @q missing though it is due, or though results of what has gone up later
 * are here, and has it not been asked for within a round trip?
 */
static bool result_missing(const struct netinc_group *g, const struct netinc_slot *slot, u64 q,
			   u64 now)
{
	const struct netinc_uplink *up = &g->up;
	u64 pause = max(up->cc.srtt + up->cc.srtt / 4, PROBE_MIN);
	bool due = (s64)(up->due - q) > 0;

	if (slot->q != q || slot->state != NETINC_SLOT_UP)
		return false;
	/* it may be another child's contribution that is lost, far away */
	if (!due)
		pause = max(pause, (now - slot->sent) / 4);
	if (now - slot->asked < pause)
		return false;
	return due || netinc_agg_overtaken(&g->agg, slot, max(up->down.slack, STATUS_SLACK));
}

static u32 blocks_above(const struct netinc_agg *agg)
{
	return (u32)min_t(u64, agg->top - agg->una, agg->window);
}

/*
 * Which of the blocks that have gone up have their results here; or, if some are @lost, which of
 * them are not asked for.
 */
static u32 result_bits(struct netinc_group *g, bool lost, __be32 *map, u64 now)
{
	u32 n = blocks_above(&g->agg), asked = 0, i;
	struct netinc_slot *slot;
	u64 q;

	for (i = 0; i < n; i++) {
		q = g->agg.una + i;
		slot = netinc_agg_slot(&g->agg, q);
		if (lost && asked < NETINC_RESULTS_PER_PROBE && result_missing(g, slot, q, now)) {
			slot->asked = now;
			asked++;
		} else if (lost || (slot->q == q && slot->state == NETINC_SLOT_DONE)) {
			netinc_bit_set(map, i);
		}
	}
	return round_up(n, 32u);
}

/* @lost: results that the bitmap lacks are asked for. */
static void send_probe(struct netinc_group *g, bool lost, u64 now)
{
	struct {
		struct inc_probe probe;
		__be32 map[NETINC_MAX_BITMAP];
	} m = {};
	u64 since = now;
	struct netinc_pkt pkt;
	u32 bits, len;

	bits = g->agg.top == g->agg.una ? 0 : result_bits(g, lost, m.map, now);
	m.probe.srtt = cpu_to_be32(g->up.cc.srtt);
	m.probe.bits = cpu_to_be16(bits);
	m.probe.slack = cpu_to_be16(netinc_reorder_pack(&g->up.down));
	up_header(g, &pkt, INC_PKT_PROBE);
	pkt.flags = lost ? INC_F_RETRANS : 0;
	pkt.psn = (u32)g->agg.una;
	pkt.opseq = netinc_agg_waiting_rank(&g->agg, &since);
	pkt.tstamp = (u32)now;
	g->up.probed = now;
	g->up.answered = false;
	/* one at a time: of several that are out an answer would be the last one's */
	if (!g->up.timed || now - g->up.timed >= TIMED_MAX)
		g->up.timed = now;
	note_asked(g, now);
	netinc_count(g->counters, INC_C_PROBES);
	len = sizeof(m.probe) + bits / 8;
	/* who does not know us may say so in as many bytes */
	g->ops->send_up(g, &pkt, &m, max_t(u32, len, sizeof(struct inc_refuse)));
	rebind_if_silent(g, now);
}

/*
 * What ends the group is told in the new epoch as well: when READY was on its way the parent did
 * not take it. What was wrong with the epoch before is over.
 */
static void keep_abort(struct netinc_group *g, u64 now)
{
	struct netinc_error *e = &g->up.abort;

	if (!e->code || !netinc_error_is_final(e)) {
		e->code = INC_ERR_NONE;
		return;
	}
	e->block = g->agg.start;
	g->up.abort_since = now;
	g->up.abort_sent = 0;
}

void netinc_uplink_begin(struct netinc_group *g, const struct netinc_pkt *pkt,
			 const struct inc_ready *ready, u64 now)
{
	struct netinc_uplink *up = &g->up;

	up->state = NETINC_UPLINK_READY;
	up->incarnation = pkt->incarnation;
	up->up_cookie = be64_to_cpu(ready->up_cookie);
	up->down_cookie = be64_to_cpu(ready->down_cookie);
	up->left = false;
	up->lost = INC_ERR_NONE;
	up->rebind_asked = false;
	up->due = g->agg.start;
	up->slack = NETINC_SLACK_FIRST;
	up->down = (struct netinc_reorder){ .slack = NETINC_SLACK_FIRST };
	netinc_cc_start(&up->cc, g->agg.window, 1);
	keep_abort(g, now);
	up->heard = now;
	up->unanswered = 0;
	g->agg.root = false;
	g->agg.up_waits_for = NETINC_NO_RANK;
	g->agg.up_header = (struct netinc_pkt){ .type = INC_PKT_CONTRIB,
						.group = g->cfg.id,
						.incarnation = up->incarnation,
						.epoch = g->epoch,
						.span = 1,
						.child = up->child,
						.cookie = up->up_cookie };
	/* it shows the parent that READY is here, and how long the way is */
	send_probe(g, false, now);
}

/* Is the result of the oldest block missing though a packet that came behind it says it is due? */
static bool up_result_lost(struct netinc_group *g, u64 now)
{
	struct netinc_uplink *up = &g->up;

	if ((s64)(up->due - g->agg.una) <= 0) {
		netinc_reorder_lost(&up->down, false, now);
		return false;
	}
	return netinc_reorder_lost(&up->down, true, now) ||
	       now - up->probed >= max(up->cc.srtt, up->down.slack);
}

void netinc_uplink_poke(struct netinc_group *g, u64 now)
{
	const struct netinc_slot *slot = netinc_agg_slot(&g->agg, g->agg.una);
	struct netinc_uplink *up = &g->up;
	u64 pause = max_t(u64, up->answered ? up->cc.srtt : netinc_cc_rto(&up->cc), PROBE_MIN);

	if (!netinc_uplink_in_use(up) || now - up->probed < pause)
		return;
	if (slot->q == g->agg.una && slot->state == NETINC_SLOT_UP &&
	    now - slot->sent >= netinc_cc_pto(&up->cc))
		send_probe(g, up_result_lost(g, now), now);
}

/* Is a result missing that is to be asked for? */
static bool has_hole(const struct netinc_group *g, u64 now)
{
	u32 n = blocks_above(&g->agg), i;
	u64 q = g->agg.una;

	for (i = 0; i < n; i++)
		if (result_missing(g, netinc_agg_slot(&g->agg, q + i), q + i, now))
			return true;
	return false;
}

void netinc_uplink_results(struct netinc_group *g, u32 blocks, u64 now)
{
	struct netinc_uplink *up = &g->up;

	netinc_cc_count_seen(&up->cc, blocks);
	if (g->agg.up_trip)
		netinc_cc_result_rtt(&up->cc, g->agg.up_trip);
	g->agg.up_trip = 0;
	if (!netinc_uplink_in_use(up) || (s64)(g->agg.up_high - g->agg.una) <= 0 ||
	    now - up->looked < max(up->cc.srtt / 16, PROBE_MIN) ||
	    !netinc_agg_take_work(&g->agg, blocks_above(&g->agg)))
		return;
	up->looked = now;
	if (has_hole(g, now))
		send_probe(g, true, now);
}

/* A parent gets one answer for each buffer of packets that make us ask, or leave, at once. */
static bool may_answer_parent(struct netinc_group *g)
{
	if (g->up.buffer == g->buffer)
		return false;
	g->up.buffer = g->buffer;
	return true;
}

/* CHALLENGE says nothing of the group: that the parent has it still is not known by it. */
static void prove_rebind(struct netinc_group *g, u64 challenge, u64 now)
{
	g->up.rebind_asked = false;
	g->up.challenge = challenge;
	send_up_join(g, INC_JOIN_REBIND, now);
	if (g->up.state == NETINC_UPLINK_READY)
		send_probe(g, up_result_lost(g, now), now);
	else if (g->rejoined == g->nmembers)
		netinc_uplink_join(g, now);
}

static int up_challenge(struct netinc_group *g, const struct inc_challenge *c, u64 now)
{
	bool rebinds = netinc_uplink_in_use(&g->up) && g->up.rebind_asked && !netinc_group_over(g);

	if (be32_to_cpu(c->nonce) != g->cfg.up_nonce ||
	    (g->up.state != NETINC_UPLINK_ASKING && !rebinds))
		return -INC_C_DROP_STATE;
	if (!may_answer_parent(g))
		return -INC_C_DROP_WORK;
	if (rebinds) {
		prove_rebind(g, be64_to_cpu(c->challenge), now);
		return 0;
	}
	if (g->up.unanswered == 1)
		netinc_cc_rtt(&g->up.cc, (u32)(now - g->up.asked));
	g->up.challenge = be64_to_cpu(c->challenge);
	g->up.heard = now;
	g->up.unanswered = 0;
	netinc_uplink_join(g, now);
	return 0;
}

static int up_wait(struct netinc_group *g, const struct netinc_pkt *pkt,
		   const struct inc_wait_pkt *w, u64 now)
{
	struct netinc_uplink *up = &g->up;

	if (be32_to_cpu(w->nonce) != g->cfg.up_nonce)
		return -INC_C_DROP_STATE;
	if (up->state == NETINC_UPLINK_NONE) {
		if (!may_answer_parent(g))
			return -INC_C_DROP_WORK;
		/* it has not heard that we have left, or an old JOIN came behind that */
		send_leave(g);
		return 0;
	}
	/* the parent has the LEAVE of all ranks below, and asks for nothing any more */
	if (up->state == NETINC_UPLINK_READY) {
		if (pkt->epoch != g->epoch || (pkt->cookie ^ up->down_cookie))
			return -INC_C_DROP_EPOCH;
		up->left = g->nleft == g->nmembers;
	}
	up->heard = now;
	up->unanswered = 0;
	if (up->state == NETINC_UPLINK_READY)
		return 0;
	up->known = pkt->child;
	up->counts_valid = true;
	up->joined = be32_to_cpu(w->joined);
	up->missing = be32_to_cpu(w->missing);
	up->pause = clamp_t(u64, be32_to_cpu(w->pause), JOIN_FIRST,
			    g->cfg.settings.dead_ms * NETINC_MS / 4);
	/* the answer to a JOIN that has said that not all have been heard does not take it back */
	if (up->missing != NETINC_NO_RANK || up->state != NETINC_UPLINK_ASKING)
		up->called = false;
	else if (!w->pause)
		up->called = true;
	if (!up->called || w->pause || !may_answer_parent(g))
		return 0;
	netinc_uplink_ask(g, now);
	netinc_form_call(g, now);
	return 0;
}

/* These may be otherwise a little later. */
static bool is_passing(const struct netinc_group *g, u32 code)
{
	return code == INC_REFUSE_BUSY || code == INC_REFUSE_RANK_TAKEN ||
	       code == INC_REFUSE_UNKNOWN || code == INC_REFUSE_NO_NODE ||
	       (g->cfg.returns && (code == INC_REFUSE_MOVED || code == INC_REFUSE_NEXT));
}

static int up_refuse(struct netinc_group *g, const struct netinc_pkt *pkt,
		     const struct inc_refuse *r, u64 now)
{
	struct netinc_uplink *up = &g->up;
	u32 code = be16_to_cpu(r->code);

	if (!code || code >= __INC_REFUSE_MAX)
		return -INC_C_DROP_MALFORMED;
	if (netinc_uplink_in_use(up)) {
		/* only who saw our packets knows their cookie */
		if (code != INC_REFUSE_UNKNOWN || pkt->cookie != up->up_cookie)
			return -INC_C_DROP_STATE;
		/* it forgets a group that all have left; with a fallback when all know so */
		up->left = g->nleft == g->nmembers && !g->cfg.settings.fallback;
		if (!up->left)
			up->lost = INC_ERR_NODE_GONE;
		return 0;
	}
	if (be32_to_cpu(r->nonce) != g->cfg.up_nonce || up->state == NETINC_UPLINK_NONE)
		return -INC_C_DROP_STATE;
	up->heard = now;
	up->unanswered = 0;
	up->challenge = 0;
	up->pause = JOIN_PAUSE;
	if (is_passing(g, code))
		return 0;
	up->refused = code;
	up->refused_at = now;
	up->refuse_detail = be64_to_cpu(r->detail);
	return 0;
}

/* Partials of blocks [q, q + n) go again. @r: `slow` is found here. */
static void repeat_lost(struct netinc_group *g, u64 q, u32 n, struct netinc_repeat r, u64 now)
{
	r.slow = !netinc_cc_by_chance(&g->up.cc);
	netinc_cc_count_lost(&g->up.cc, netinc_agg_repeat_up(&g->agg, q, n, &r, now));
}

static int up_status(struct netinc_group *g, const struct netinc_pkt *pkt,
		     const struct inc_status *st, u64 now)
{
	struct netinc_uplink *up = &g->up;
	u32 bits = be16_to_cpu(st->bits);
	u64 q = netinc_extend(g->agg.una, pkt->psn), asked = now - ((u32)now - pkt->tstamp);
	u64 before = asked - max3(up->cc.srtt / 4, STATUS_SLACK, up->slack);
	struct netinc_repeat r = { .have = st->bitmap, .before = before, .again = before };

	if (sizeof(*st) + bits / 8 > pkt->len || bits % 32 || !netinc_stamp_ok(pkt, now))
		return -INC_C_DROP_MALFORMED;
	if (!netinc_uplink_in_use(up))
		return -INC_C_DROP_STATE;
	netinc_count(g->counters, INC_C_STATUSES);
	up->rebind_asked = false;
	/* a late copy says nothing of the way, nor that the last PROBE has come */
	if (up->timed && pkt->tstamp == (u32)up->timed) {
		netinc_cc_rtt(&up->cc, (u32)now - pkt->tstamp);
		up->timed = 0;
	}
	if (pkt->tstamp == (u32)up->probed)
		up->answered = true;
	g->agg.up_waits_for = be32_to_cpu(st->waiting);
	up->slack = netinc_reorder_unpack(be16_to_cpu(st->slack));
	if ((s64)(q - up->due) > 0 && q - g->agg.una <= 2 * g->agg.window)
		up->due = q;
	repeat_lost(g, q, bits, r, now);
	if (up_result_lost(g, now) && now - up->probed >= max(up->cc.srtt, PROBE_MIN))
		send_probe(g, true, now);
	return 0;
}

static int up_nack(struct netinc_group *g, const struct netinc_pkt *pkt, u64 now)
{
	u32 srtt = g->up.cc.srtt, slack = max(STATUS_SLACK, g->up.slack);
	/* what has gone again is on its way for half a round trip, and so is NACK */
	struct netinc_repeat r = { .before = now - max(srtt - srtt / 4, slack),
				   .again = now - max(srtt, slack) };

	if (!netinc_uplink_in_use(&g->up))
		return -INC_C_DROP_STATE;
	netinc_count(g->counters, INC_C_NACKS);
	repeat_lost(g, netinc_extend(g->agg.una, pkt->psn), pkt->span, r, now);
	return 0;
}

int netinc_uplink_check(struct netinc_group *g, const struct netinc_pkt *pkt, u64 now)
{
	struct netinc_uplink *up = &g->up;
	int err = 0;

	/* membership is known by its nonce, which the bodies have */
	if (pkt->type == INC_PKT_CHALLENGE || pkt->type == INC_PKT_WAIT ||
	    pkt->type == INC_PKT_READY || pkt->type == INC_PKT_REFUSE)
		return 0;
	if (!netinc_uplink_in_use(up))
		err = -INC_C_DROP_STATE;
	else if (pkt->incarnation != up->incarnation)
		err = -INC_C_DROP_NO_GROUP;
	else if (pkt->epoch != g->epoch || pkt->tree)
		err = -INC_C_DROP_EPOCH;
	else if (pkt->cookie ^ up->down_cookie)
		err = -INC_C_DROP_COOKIE;
	if (err) {
		netinc_count(g->counters, -err);
		return err;
	}
	up->heard = now;
	up->unanswered = 0;
	return 0;
}

int netinc_uplink_rx(struct netinc_group *g, const struct netinc_pkt *pkt, const void *body,
		     u64 now)
{
	switch (pkt->type) {
	case INC_PKT_CHALLENGE:
		return up_challenge(g, body, now);
	case INC_PKT_WAIT:
		return up_wait(g, pkt, body, now);
	case INC_PKT_REFUSE:
		return up_refuse(g, pkt, body, now);
	case INC_PKT_STATUS:
		return up_status(g, pkt, body, now);
	case INC_PKT_NACK:
		return up_nack(g, pkt, now);
	default:
		return -INC_C_DROP_STATE;
	}
}

/* Has the parent been told that the group is over, and not said so? Of less it decides later. */
static bool abort_overdue(const struct netinc_uplink *up, u64 dead, u64 now)
{
	return up->abort.code && !up->abort.resume && up->abort.code != INC_ERR_LEFT &&
	       now - up->abort_since > dead;
}

static void tick_in_use(struct netinc_group *g, u64 now)
{
	u64 dead = g->cfg.settings.dead_ms * NETINC_MS;
	struct netinc_uplink *up = &g->up;

	if (now - up->heard > netinc_group_node_limit(g) && up->unanswered >= DEAD_PROBES)
		up->lost = INC_ERR_NODE_DEAD;
	else if (abort_overdue(up, dead, now))
		up->lost = up->abort.code;
	else if (up->state == NETINC_UPLINK_RESYNC &&
		 now - up->error_since > NETINC_ERROR_DEADS * dead)
		up->lost = INC_ERR_NODE_DEAD;
	if (up->lost)
		return;
	if (up->abort.code && now - up->abort_sent >= ABORT_PAUSE)
		send_up_abort(g, now);
	/* who joins again has all results that there will be: nothing is PROBEd for any more */
	if (up->state == NETINC_UPLINK_RESYNC && g->rejoined == g->nmembers) {
		if (now - up->asked >= JOIN_PAUSE) {
			netinc_uplink_join(g, now);
			rebind_if_silent(g, now);
		}
		return;
	}
	if (now - up->asked >= dead / IDLE_PROBES ||
	    (up->unanswered && now - up->asked >= netinc_cc_rto(&up->cc) * up->unanswered))
		send_probe(g, up_result_lost(g, now), now);
	else
		netinc_uplink_poke(g, now);
}

void netinc_uplink_tick(struct netinc_group *g, u64 now)
{
	switch (g->up.state) {
	case NETINC_UPLINK_NONE:
		break;
	case NETINC_UPLINK_ASKING:
		netinc_uplink_ask(g, now);
		break;
	case NETINC_UPLINK_READY:
	case NETINC_UPLINK_RESYNC:
		tick_in_use(g, now);
		break;
	}
}
