// SPDX-License-Identifier: GPL-2.0-only
/*
 * The children of a node in a group, and which ranks are below them. A child is a rank, or a node
 * that has joined for several. No rank is below two children.
 *
 * While children gather, each has the number of its lowest rank, so that it has a place of its own
 * whoever comes first. When the first epoch begins they get numbers without gaps, in the order of
 * their lowest ranks: that is the order in which they are folded, and what the aggregator keeps
 * grows with the number of children only. On the wire a child is its lowest rank for ever.
 */
#include "group.h"
#include "reduce/order.h"

void netinc_children_init(struct netinc_group *g)
{
	u32 i;

	g->nmembers = g->cfg.size;
	for (i = 0; i < g->cfg.size; i++) {
		g->members[i].low = i;
		g->members[i].ranks = 1;
	}
}

u32 netinc_group_child(const struct netinc_group *g, u32 number)
{
	u32 lo = 0, hi = g->nmembers, mid;

	if (likely(g->nmembers == g->cfg.size))
		return number < hi ? number : NETINC_NO_RANK;
	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (g->members[mid].low < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < g->nmembers && g->members[lo].low == number ? lo : NETINC_NO_RANK;
}

bool netinc_children_has(const struct netinc_group *g, u32 child, u32 rank)
{
	return rank < g->cfg.size && g->owner[rank] == child + 1;
}

const struct netinc_peer *netinc_group_edge(const struct netinc_group *g)
{
	const struct netinc_member *m = &g->members[0];

	return m->present && !m->low && !m->height ? &m->peer : &g->edge;
}

u32 netinc_children_lowest(const struct netinc_group *g)
{
	u32 i;

	for (i = 0; i < g->cfg.size && !g->owner[i]; i++)
		;
	return i < g->cfg.size ? i : NETINC_NO_RANK;
}

/* Is rank @i below the node that has sent this JOIN? */
static bool is_below(const struct inc_join *join, u32 i)
{
	return netinc_bit(join->ranks, i);
}

u32 netinc_children_find(const struct netinc_group *g, const struct netinc_pkt *pkt,
			 const struct inc_join *join, const struct netinc_peer *peer)
{
	u32 i;

	if (g->running || !netinc_join_height(join))
		return netinc_group_child(g, pkt->child);
	/* its lowest rank may have been another one */
	for (i = 0; i < g->nmembers; i++)
		if (g->members[i].present && g->members[i].height &&
		    g->members[i].nonce == be32_to_cpu(join->nonce) &&
		    netinc_peer_same(&g->members[i].peer, peer))
			return i;
	return netinc_group_child(g, pkt->child);
}

u32 netinc_children_first(const struct netinc_group *g, const struct inc_join *join)
{
	u32 i;

	for (i = 0; i < g->cfg.size && !is_below(join, i); i++)
		;
	return i < g->cfg.size ? i : NETINC_NO_RANK;
}

/* Is child @i a node at the place that a JOIN at hand has come from? */
static bool is_same_node(const struct netinc_group *g, u32 i, const struct netinc_peer *peer)
{
	const struct netinc_member *m = &g->members[i];

	return m->present && m->height && netinc_peer_same(&m->peer, peer) &&
	       (!g->ops->same_port || g->ops->same_port(g, i));
}

/*
 * One address and port are one node's: where it has another nonce it has begun anew since, and what
 * it has said as child @i is not so any more.
 */
bool netinc_children_outdated(const struct netinc_group *g, u32 i, const struct inc_join *join,
			      const struct netinc_peer *peer)
{
	return g->state == INC_GROUP_JOINING && !g->move && netinc_join_height(join) &&
	       g->members[i].nonce != be32_to_cpu(join->nonce) && is_same_node(g, i, peer);
}

void netinc_children_forget(struct netinc_group *g, u32 nonce)
{
	g->former[g->nformer++ % NETINC_MAX_FORMER] = nonce;
}

bool netinc_children_former(const struct netinc_group *g, const struct inc_join *join)
{
	u32 nonce = be32_to_cpu(join->nonce), i;

	for (i = 0; i < min_t(u32, g->nformer, NETINC_MAX_FORMER); i++)
		if (g->former[i] == nonce)
			return true;
	return false;
}

int netinc_children_check(const struct netinc_group *g, u32 child, const struct netinc_pkt *pkt,
			  const struct inc_join *join, const struct netinc_peer *peer, u64 *detail)
{
	u32 mine = g->members[child].present ? child + 1 : 0, i;

	*detail = pkt->child;
	if (!netinc_join_height(join))
		return g->owner[child] && g->owner[child] != mine ? INC_REFUSE_RANK_TAKEN : 0;
	if (netinc_children_first(g, join) != pkt->child)
		return INC_REFUSE_SIZE;
	for (i = 0; i < g->cfg.size; i++) {
		if (!is_below(join, i))
			continue;
		*detail = i;
		if (g->owner[i] && g->owner[i] != mine &&
		    !netinc_children_outdated(g, g->owner[i] - 1, join, peer))
			return INC_REFUSE_RANK_TAKEN;
	}
	return 0;
}

/* Who was below @child is below @to - 1 from now on, 0: below nobody. */
static void set_owner(struct netinc_group *g, u32 child, u32 to)
{
	u32 i;

	for (i = 0; i < g->cfg.size; i++)
		if (g->owner[i] == child + 1)
			g->owner[i] = to;
}

void netinc_children_release(struct netinc_group *g, u32 child)
{
	struct netinc_member *m = &g->members[child];

	set_owner(g, child, 0);
	g->joined -= m->ranks;
	m->present = false;
	m->ranks = 1;
	m->height = 0;
}

/* A node whose lowest rank is another one now has another number. */
static u32 move_child(struct netinc_group *g, u32 from, u32 to)
{
	if (from == to)
		return to;
	g->members[to] = g->members[from];
	g->members[to].low = to;
	g->members[from] = (struct netinc_member){ .low = from, .ranks = 1 };
	set_owner(g, from, to + 1);
	g->ops->renumber(g, from, to);
	return to;
}

/* Rank @rank is not below any more, of which the parent may have heard. */
static void note_gone(struct netinc_group *g, u32 rank, enum inc_err_code code)
{
	if (g->up.below[rank / 32] >> (rank % 32) & 1) {
		g->up.gone = rank;
		g->up.gone_code = code;
	}
	g->up.news = true;
}

void netinc_children_gone(struct netinc_group *g, u32 child, enum inc_err_code code)
{
	u32 i;

	for (i = 0; i < g->cfg.size; i++)
		if (g->owner[i] == child + 1)
			note_gone(g, i, code);
}

/* A node joins: the ranks below it may be others than it has said before. */
static u32 take_ranks(struct netinc_group *g, u32 child, const struct inc_join *join)
{
	u32 ranks = 0, i;

	for (i = 0; i < g->cfg.size; i++) {
		if (is_below(join, i)) {
			/* what has been answered so far was for others: all are called again */
			if (g->owner[i] != child + 1)
				g->called = 0;
			g->owner[i] = child + 1;
		} else if (g->owner[i] == child + 1) {
			g->owner[i] = 0;
			/* why, the parent is not told */
			note_gone(g, i, INC_ERR_RANK_ABORT);
		}
		ranks += is_below(join, i);
	}
	return ranks;
}

/* What the node that JOINs as @child has been before: its ranks are below @child until it says. */
static void replace_outdated(struct netinc_group *g, u32 child, const struct inc_join *join,
			     const struct netinc_peer *peer)
{
	u32 i;

	for (i = 0; netinc_join_height(join) && i < g->nmembers; i++) {
		if (!netinc_children_outdated(g, i, join, peer))
			continue;
		netinc_children_forget(g, g->members[i].nonce);
		if (i == child)
			continue;
		set_owner(g, i, child + 1);
		netinc_children_release(g, i);
	}
}

/* What the JOIN of @m says of the order of folds, which the parent has to hear if it is new. */
static void take_order(struct netinc_group *g, struct netinc_member *m,
		       const struct inc_join *join)
{
	bool tree_order = m->height && (join->below & INC_JOIN_TREE_ORDER);
	bool many_parts = tree_order && (join->flags & INC_JOIN_MANY_PARTS);
	bool canonical = join->flags & INC_JOIN_CANONICAL;

	if (m->present && (m->tree_order != tree_order || m->many_parts != many_parts ||
			   m->canonical != canonical))
		g->up.news = true;
	m->tree_order = tree_order;
	m->many_parts = many_parts;
	m->canonical = canonical;
}

u32 netinc_children_take(struct netinc_group *g, u32 child, const struct netinc_pkt *pkt,
			 const struct inc_join *join, const struct netinc_peer *peer)
{
	struct netinc_member *m;
	bool answered;

	replace_outdated(g, child, join, peer);
	child = move_child(g, child, pkt->child);
	m = &g->members[child];
	answered = m->present && m->height && !m->stale && g->called && m->heard > g->called &&
		   m->nonce == be32_to_cpu(join->nonce);
	if (!m->present)
		g->called = 0;	/* nor has who is new been called */
	g->joined -= m->present ? m->ranks : 0;
	m->height = netinc_join_height(join);
	take_order(g, m, join);
	m->window = be16_to_cpu(join->window);
	m->ranks = 1;
	if (m->height) {
		m->ranks = take_ranks(g, child, join);
	} else {
		/* it may have been a node before */
		set_owner(g, child, 0);
		g->owner[child] = child + 1;
	}
	/*
	 * once it has answered the call that all ranks be heard, that is not taken back by what it
	 * says of itself while others have not
	 */
	m->stale = (m->height || g->cfg.returns) && (join->below & INC_JOIN_STALE) &&
		   (g->cfg.returns || !answered || !g->called);
	g->joined += m->ranks;
	return child;
}

/* Highest of the children, 0: all of them are ranks. */
static u32 find_height(const struct netinc_group *g)
{
	u32 height = 0, i;

	for (i = 0; i < g->nmembers; i++)
		if (g->members[i].present)
			height = max_t(u32, height, g->members[i].height);
	return height;
}

u32 netinc_children_height(const struct netinc_group *g)
{
	return find_height(g) + 1;
}

u32 netinc_children_window(const struct netinc_group *g)
{
	u32 window = g->cfg.settings.window, i;

	for (i = 0; i < g->nmembers; i++)
		if (g->members[i].present && g->members[i].height)
			window = min_t(u32, window, g->members[i].window);
	return window;
}

/* Are the ranks below @child a node of the tree of order.h, and has it folded along that? */
static bool is_canonical(const struct netinc_group *g, u32 child)
{
	const struct netinc_member *m = &g->members[child];
	u32 i;

	if (m->tree_order || !netinc_order_is_node(m->low, m->ranks, g->cfg.size))
		return false;
	for (i = 0; i < m->ranks; i++)
		if (!netinc_children_has(g, child, m->low + i))
			return false;
	return true;
}

bool netinc_children_canonical(const struct netinc_group *g)
{
	u32 i;

	for (i = 0; i < g->nmembers; i++)
		if (g->members[i].present && !is_canonical(g, i))
			return false;
	return true;
}

bool netinc_children_ask_order(const struct netinc_group *g)
{
	u32 i;

	for (i = 0; i < g->nmembers; i++)
		if (g->members[i].present && g->members[i].canonical)
			return true;
	return false;
}

/* The first rank from @first on that is below a child, or the number of ranks. */
static u32 next_owned(const struct netinc_group *g, u32 first)
{
	while (first < g->cfg.size && !g->owner[first])
		first++;
	return first;
}

/* One past the last rank from @first on that is below the same child, or, @any, below some. */
static u32 run_end(const struct netinc_group *g, u32 first, bool any)
{
	u32 end = first + 1;

	while (end < g->cfg.size &&
	       (any ? !!g->owner[end] : g->owner[end] == g->owner[first]))
		end++;
	return end;
}

/* Parts of what each child sends. */
static void count_parts(struct netinc_group *g)
{
	u32 size = g->cfg.size, first, end, i;

	for (i = 0; i < g->nmembers; i++)
		g->members[i].parts = 0;
	for (first = next_owned(g, 0); first < size; first = next_owned(g, end)) {
		end = netinc_order_node_end(first, run_end(g, first, false), size);
		g->members[g->owner[first] - 1].parts++;
	}
}

bool netinc_children_many_parts(struct netinc_group *g)
{
	u32 i;

	count_parts(g);
	for (i = 0; i < g->nmembers; i++)
		if (g->members[i].present &&
		    (g->members[i].many_parts || g->members[i].parts > INC_MAX_PARTS))
			return true;
	return false;
}

/*
 * Those that are there get numbers without gaps. A rank's owner is that of the owner's lowest rank,
 * which has its new number already.
 */
static void close_gaps(struct netinc_group *g)
{
	struct netinc_member *m = g->members;
	u32 size = g->cfg.size, i, n = 0;

	for (i = 0; i < size; i++) {
		if (g->owner[i] != i + 1) {
			if (g->owner[i])
				g->owner[i] = g->owner[g->owner[i] - 1];
			continue;
		}
		if (n != i) {
			m[n] = m[i];
			g->ops->renumber(g, i, n);
		}
		g->owner[i] = ++n;
	}
	memset(&m[n], 0, (size - n) * sizeof(*m));
	g->nmembers = n;
}

/* Children and their further parts get inputs; without @canonical each child has one. */
static u32 number_inputs(struct netinc_group *g, bool canonical)
{
	u32 n = g->nmembers, i;

	for (i = 0; i < g->nmembers; i++) {
		if (!canonical)
			g->members[i].parts = 1;
		n += g->members[i].parts - 1;
	}
	return n;
}

/* Those of the ranks [@first, @end) are the next operands, from number @n on; returns how many. */
static u32 add_operands(struct netinc_group *g, u32 first, u32 end, u32 n)
{
	struct netinc_agg *agg = &g->agg;
	struct netinc_child *c;
	u32 begin = n, child, next;

	for (; first < end; first = next) {
		child = g->owner[first] - 1;
		c = &agg->child[child];
		next = netinc_order_node_end(first, min(run_end(g, first, false), end),
					     g->cfg.size);
		agg->operand[n++] = (struct netinc_operand){
			.input = c->parts ? c->further + c->parts - 1 : child,
			.weight = next - first,
		};
		c->parts++;
	}
	return n - begin;
}

/* Contributions are folded along the tree of reduce/order.h, as far as they are all below here. */
static void order_operands(struct netinc_group *g)
{
	u32 further = g->nmembers, size = g->cfg.size, first, end, i, n = 0;
	struct netinc_agg *agg = &g->agg;
	struct netinc_part *part;

	for (i = 0; i < g->nmembers; i++) {
		agg->child[i].parts = 0;
		agg->child[i].further = further;
		further += g->members[i].parts - 1;
	}
	agg->nparts = 0;
	for (first = next_owned(g, 0); first < size; first = next_owned(g, end)) {
		end = netinc_order_node_end(first, run_end(g, first, true), size);
		part = &agg->part[agg->nparts++];
		part->from = n;
		n += add_operands(g, first, end, n);
		part->to = n;
	}
}

/*
 * The parent says so with READY, and may lie, or those below have changed since it was told who
 * they are.
 */
bool netinc_children_can_order(struct netinc_group *g)
{
	u32 size = g->cfg.size, first, end, n = 0;

	if (netinc_children_many_parts(g))
		return false;
	for (first = next_owned(g, 0); first < size; first = next_owned(g, end)) {
		end = netinc_order_node_end(first, run_end(g, first, true), size);
		n++;
	}
	return n <= INC_MAX_PARTS;
}

void netinc_children_number(struct netinc_group *g, u32 window)
{
	bool canonical;
	u32 i, inputs;

	g->settled = true;
	g->height = find_height(g);
	if (!g->height && g->joined == g->cfg.size && window == g->agg.window)
		return;
	close_gaps(g);
	canonical = !g->tree_order && netinc_children_can_order(g);
	inputs = number_inputs(g, canonical);
	/*
	 * no epoch has begun, so nothing is held; of what is set aside for as many children as
	 * ranks most is never touched; and inputs are no more than ranks
	 */
	memset(g->agg.slots, 0, netinc_agg_bytes(g->nmembers, inputs, window));
	netinc_agg_init(&g->agg, g->agg.slots, g->nmembers, inputs, window);
	for (i = 0; i < g->nmembers; i++) {
		g->agg.child[i].srtt = g->members[i].srtt;
		g->agg.child[i].number = g->members[i].low;
	}
	if (canonical)
		order_operands(g);
}
