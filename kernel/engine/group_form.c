// SPDX-License-Identifier: GPL-2.0-only
/*
 * How a group gathers its ranks. Who waits for others is told when to ask again, which is the later
 * the more ranks there are and the longer nobody has come, so that a group costs its node a bounded
 * rate of JOINs. When the last rank has come, all who have been silent for a while are called: they
 * ask at once, and the group forms when all have. READY is not left to their next JOIN either,
 * which may be far off: the node repeats it until they are heard.
 */
#include "group.h"

/* who has been heard in it need not be called */
#define JOIN_FRESH	(300 * NETINC_MS)
/* between JOINs of a rank that waits: while all are about to come, and until then */
#define WAIT_SHORT	(50 * NETINC_MS)
#define WAIT_LONG	(500 * NETINC_MS)
/* until an idle rank asks, however long nobody has come: its node hears of its death so late */
#define WAIT_MAX	(2000 * NETINC_MS)
/*
 * READY goes again after this time, in which an idle rank that has got it sends a PROBE; the next
 * pauses are twice as long each, up to READY_PAUSE
 */
#define READY_FIRST	(75 * NETINC_MS)
#define READY_PAUSE	(200 * NETINC_MS)
#define READY_REPEATS	10	/* per dead limit, at least */
#define READY_BURST	200u	/* members to which it is repeated at once: queues are short */

bool netinc_form_is_new(const struct netinc_group *g)
{
	return g->state == INC_GROUP_JOINING && (!g->move || g->cfg.returns) &&
	       !netinc_group_shrinking(g);
}

static bool all_came(const struct netinc_group *g)
{
	return g->joined == g->cfg.size || g->up.called;
}

u32 netinc_form_pause(struct netinc_group *g, u64 now)
{
	u64 dead = g->cfg.settings.dead_ms * NETINC_MS, pause;

	if (!netinc_form_is_new(g))
		return WAIT_SHORT;
	pause = all_came(g) ? WAIT_SHORT : min_t(u64, dead / 4, WAIT_LONG);
	if (!all_came(g))
		pause = max_t(u64, pause,
			      min_t(u64, (now - g->news) / 4, min_t(u64, dead, WAIT_MAX)));
	pause = max_t(u64, pause, NETINC_WAIT_PER_RANK * g->cfg.size);
	g->longest_pause = max_t(u32, g->longest_pause, pause);
	return (u32)pause;
}

u64 netinc_form_patience(const struct netinc_group *g)
{
	u64 dead = g->cfg.settings.dead_ms * NETINC_MS;

	return netinc_form_is_new(g) ? max_t(u64, dead, 4ull * g->longest_pause) : dead;
}

/*
 * A JOIN may be the late copy of one whose sender is gone: who is there repeats it. The group does
 * not form with a ghost and fail; the ghost goes after a while and the rank can be taken.
 */
bool netinc_form_is_fresh(const struct netinc_group *g, u32 rank, u64 now)
{
	u64 fresh = min(JOIN_FRESH, g->cfg.settings.dead_ms * NETINC_MS / 2);
	const struct netinc_member *m = &g->members[rank];

	if (!m->present || m->stale)
		return false;
	/* a node goes without being asked for it, when all ranks have come to it: it is called */
	if (m->height)
		return g->called && m->heard > g->called;
	if (g->called)
		fresh = max(fresh, now - g->called);
	return now - m->heard <= fresh;
}

bool netinc_form_all_heard(const struct netinc_group *g, u64 now)
{
	u32 i;

	for (i = 0; i < g->nmembers; i++)
		if (g->members[i].present && !netinc_form_is_fresh(g, i, now))
			return false;
	return true;
}

static void call_silent(struct netinc_group *g, u64 now)
{
	u32 i, n = 0;

	for (i = 0; i < g->nmembers; i++)
		if (g->members[i].present && !netinc_form_is_fresh(g, i, now)) {
			netinc_group_send_wait(g, i, 0);
			n++;
		}
	g->next_call = now + max_t(u64, WAIT_SHORT, (u64)n * NETINC_TURN);
}

void netinc_form_call(struct netinc_group *g, u64 now)
{
	if (!netinc_form_is_new(g) || !all_came(g)) {
		g->called = 0;
		return;
	}
	if (g->next_call && (s64)(now - g->next_call) < 0)
		return;
	if (!g->called)
		g->called = now;
	call_silent(g, now);
}

/*
 * Microseconds until READY goes again: @most, or less where the dead limit is so short that READY
 * would not go READY_REPEATS times within it.
 */
static u32 ready_pause(const struct netinc_group *g, u32 most)
{
	return (u32)min_t(u64, g->cfg.settings.dead_ms * NETINC_MS * most / READY_PAUSE /
			  READY_REPEATS, most);
}

/*
 * READY has gone to @n members, and goes again after @pause microseconds: later where they are
 * many, since a node that is slow has not read by then what they say.
 */
static void wait_for_proof(struct netinc_group *g, u32 pause, u32 n, u64 now)
{
	u64 most = g->cfg.settings.dead_ms * NETINC_MS / READY_REPEATS;

	g->ready_sent = now;
	g->ready_pause = max_t(u32, pause, min_t(u64, (u64)n * NETINC_TURN, most));
}

void netinc_form_ready_sent(struct netinc_group *g, u64 now)
{
	wait_for_proof(g, ready_pause(g, READY_FIRST), g->nmembers, now);
}

/* To whom it has not come yet, in turn. Returns to how many it has gone. */
static u32 send_ready_again(struct netinc_group *g)
{
	u32 i, at, n = 0;

	for (i = 0; i < g->nmembers && n < READY_BURST; i++) {
		at = g->ready_next % g->nmembers;
		g->ready_next = at + 1;
		if (g->members[at].confirmed)
			continue;
		netinc_group_send_ready(g, at);
		netinc_group_send_peers(g, at, 0);
		n++;
	}
	return n;
}

void netinc_form_repeat_ready(struct netinc_group *g, u64 now)
{
	u32 n;

	if ((g->state != INC_GROUP_ACTIVE && g->state != INC_GROUP_RESYNC) || !g->ready_pause ||
	    now - g->ready_sent < g->ready_pause)
		return;
	n = send_ready_again(g);
	if (n)
		wait_for_proof(g, min(2 * g->ready_pause, ready_pause(g, READY_PAUSE)), n, now);
	else
		g->ready_pause = 0;
}
