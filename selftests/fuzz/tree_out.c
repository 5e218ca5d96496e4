// SPDX-License-Identifier: GPL-2.0-only
/* What the nodes of fuzz_tree send, which is looked at. */
#include "tree_parts.h"
#include "reduce/order.h"

static struct left gone_up[NODES][MAX_RANKS][RING];	/* of each part */
static struct left gone_down[NODES][RING];

static struct left *left_at(struct left *all, u64 q)
{
	return &all[q % RING];
}

const struct left *tree_gone_up(const struct node *n, u64 q)
{
	return left_at(gone_up[number_of(n)][0], q);
}

static bool same_header(const struct netinc_pkt *a, const struct netinc_pkt *b)
{
	struct inc_hdr x, y;

	netinc_build(&x, a);
	netinc_build(&y, b);
	return !memcmp(&x, &y, sizeof(x));
}

/* Elements that leave: zeros where there are none. */
static const u8 *data_of(const struct load *load)
{
	static const u8 zeros[MAX_LEN];

	return load ? load->data : zeros;
}

/* What leaves for a block is the same for ever. False: it is the first time. */
static bool same_as_before(const struct node *n, struct left *l, const struct netinc_slot *slot,
			   const struct load *load, const struct netinc_pkt *pkt)
{
	bool zero = pkt->flags & INC_F_ZERO;

	netinc_assert((zero || !(pkt->flags & (INC_F_PAYLOAD | INC_F_DESC))) == !load);
	netinc_assert((zero || (load ? load->len : 0) == pkt->len) && pkt->len <= MAX_LEN);
	netinc_assert(!(pkt->flags & INC_F_PAYLOAD) == !pkt->len);
	if (l->run == env.run && l->incarnation == n->g.cfg.incarnation &&
	    l->epoch == n->g.epoch && l->q == slot->q) {
		netinc_assert(same_header(&l->pkt, pkt));
		netinc_assert(!pkt->len || !memcmp(l->data, data_of(load), pkt->len));
		return true;
	}
	*l = (struct left){ .run = env.run,
			    .incarnation = n->g.cfg.incarnation,
			    .epoch = n->g.epoch,
			    .q = slot->q,
			    .pkt = *pkt };
	if (pkt->len)
		memcpy(l->data, data_of(load), pkt->len);
	return false;
}

static void check_child(const struct node *n, u32 child)
{
	netinc_assert(child == NETINC_ALL || child < n->g.nmembers);
}

static void send_result(struct netinc_agg *agg, const struct netinc_slot *slot, u32 child)
{
	struct node *n = node_of_agg(agg);
	const struct load *l = slot->result.obj;
	struct netinc_pkt pkt, empty;
	bool again;
	u32 i;

	check_child(n, child);
	netinc_assert(slot->state == NETINC_SLOT_DONE && !slot->missing && !slot->bad);
	netinc_agg_result_header(agg, slot, true, &pkt);
	netinc_assert(netinc_body_len(&pkt) <= n->g.block);
	again = same_as_before(n, left_at(gone_down[number_of(n)], slot->q), slot, l, &pkt);
	netinc_assert(again == (child != NETINC_ALL));
	n->results += again;
	netinc_agg_result_header(agg, slot, false, &empty);
	for (i = 0; i < agg->children; i++) {
		u32 to = n->g.members[i].peer.addr[3];

		if (child != NETINC_ALL && child != i)
			continue;
		if ((l && !(slot->flags & INC_F_PAYLOAD)) ||
		    ((slot->flags & INC_F_PAYLOAD) && (slot->in[i].flags & INC_F_WANT)))
			tree_send(number_of(n), to, &pkt, l && l->has_desc ? &l->desc : NULL,
				  data_of(l), pkt.len);
		else
			tree_send(number_of(n), to, &empty, NULL, NULL, 0);
	}
}

/* Neither it nor anybody below lies: what goes up is what the ranks amount to. */
static bool is_clean(const struct node *n)
{
	u32 i;

	if (is_liar_at(number_of(n)))
		return false;
	for (i = 0; i < n->g.nmembers; i++) {
		u32 addr = n->g.members[i].peer.addr[3];

		if (is_liar_at(addr) ||
		    (addr < NODES && env.node[addr].mem && !is_clean(&env.node[addr])))
			return false;
	}
	return true;
}

/* The ranks that @part stands for: one node of the tree over all after the other. */
static u32 ranks_of(const struct netinc_group *g, u32 part)
{
	u32 ranks = 0, first, run, end, i, n = 0;

	for (first = 0; first < g->cfg.size; first = end) {
		end = first + 1;
		if (!g->owner[first])
			continue;
		for (run = end; run < g->cfg.size && g->owner[run]; run++)
			;
		end = part == NETINC_WHOLE ? run : netinc_order_node_end(first, run, g->cfg.size);
		for (i = first; i < end && (n == part || part == NETINC_WHOLE); i++)
			ranks |= 1u << i;
		n++;
	}
	return ranks;
}

static void check_partial(const struct node *n, const struct netinc_slot *slot, u32 part,
			  const struct load *l, u32 len)
{
	struct plan plan = rank_plan_of(n);
	u8 right[4 * MAX_LEN];

	if ((slot->flags & INC_F_LEAVE) || !is_clean(n))
		return;
	netinc_assert(rank_expected(&plan, ranks_of(&n->g, part), slot->q, true, right) == len);
	netinc_assert(!memcmp(right, data_of(l), len));
}

static void send_partial(struct netinc_agg *agg, const struct netinc_slot *slot, u32 part,
			 bool again)
{
	const struct load *l = netinc_agg_partial(slot, part).obj;
	u32 number = part == NETINC_WHOLE ? 0 : part;
	struct node *n = node_of_agg(agg);
	struct netinc_pkt pkt;

	netinc_assert(!agg->root && netinc_uplink_in_use(&n->g.up));
	netinc_assert(slot->state == NETINC_SLOT_UP && !slot->missing && !slot->bad);
	netinc_agg_up_header(agg, slot, part, &pkt);
	netinc_assert(netinc_body_len(&pkt) <= n->g.block);
	netinc_assert(!(pkt.flags & (INC_F_FINAL | INC_F_PARTIAL)));
	netinc_assert(same_as_before(n, left_at(gone_up[number_of(n)][number], slot->q), slot, l,
				     &pkt) == again);
	n->partials += again && (!number || n->partials < MOST_AGAIN);
	if (!again)
		check_partial(n, slot, part, l, pkt.len);
	pkt.flags |= again ? INC_F_RETRANS : 0;
	tree_send(number_of(n), n->parent, &pkt, l && l->has_desc ? &l->desc : NULL, data_of(l),
		  pkt.len);
}

/* A packet that anybody sends is a good one. */
static void check_wire(const struct netinc_pkt *pkt, const void *body, u32 len)
{
	struct netinc_pkt p = *pkt, back;
	u8 buf[1024];

	p.len = len;
	memset(buf, 0, sizeof(buf));
	netinc_assert(len <= sizeof(buf) - sizeof(struct inc_hdr));
	netinc_build((struct inc_hdr *)buf, &p);
	if (len)
		memcpy(buf + sizeof(struct inc_hdr), body, len);
	netinc_assert(!netinc_parse(buf, sizeof(struct inc_hdr) + netinc_body_len(&p), &back));
	netinc_assert(back.group == GROUP);
}

static void count_sent(struct node *n, u32 child, u8 type)
{
	if (type == INC_PKT_STATUS)
		n->statuses[child]++;
	else if (type == INC_PKT_NACK)
		n->nacks[child]++;
	else
		n->others[child]++;
}

static void send_control(struct node *n, u32 child, const struct netinc_pkt *pkt, const void *body,
			 u32 len)
{
	u32 i;

	check_child(n, child);
	check_wire(pkt, body, len);
	netinc_assert(pkt->incarnation == n->g.cfg.incarnation && pkt->epoch == n->g.epoch);
	netinc_assert(child == NETINC_ALL || pkt->child == n->g.members[child].low);
	for (i = 0; i < n->g.nmembers; i++) {
		if ((child != NETINC_ALL || !n->g.members[i].present) && child != i)
			continue;
		count_sent(n, i, pkt->type);
		tree_send(number_of(n), n->g.members[i].peer.addr[3], pkt, NULL, body, len);
	}
}

static void agg_send(struct netinc_agg *agg, u32 child, const struct netinc_pkt *pkt,
		     const void *body, u32 len)
{
	netinc_assert(pkt->type == INC_PKT_NACK || pkt->type == INC_PKT_STATUS);
	send_control(node_of_agg(agg), child, pkt, body, len);
}

static void group_send(struct netinc_group *g, u32 child, const struct netinc_pkt *pkt,
		       const void *body, u32 len)
{
	send_control(node_of(g), child, pkt, body, len);
}

static void group_up(struct netinc_group *g, const struct netinc_pkt *pkt, const void *body,
		     u32 len)
{
	struct node *n = node_of(g);

	check_wire(pkt, body, len);
	/* who goes says the number that the parent has named last */
	netinc_assert(g->cfg.has_parent && (pkt->child < g->cfg.size ||
					    (pkt->type == INC_PKT_ABORT && !pkt->epoch &&
					     pkt->child == (u16)g->up.known)));
	/* who does not know us answers in no more bytes */
	netinc_assert(len >= sizeof(struct inc_refuse));
	n->up_control++;
	tree_send(number_of(n), n->parent, pkt, NULL, body, len);
}

static void group_event(struct netinc_group *g, enum inc_event what, u32 rank)
{
	netinc_assert(what && what < __INC_EVENT_MAX);
	netinc_assert(what != INC_EVENT_RANK_DEAD || rank < g->cfg.size);
}

static bool group_link(struct netinc_group *g, u32 rank, const struct netinc_peer *peer)
{
	/* another path is for who comes anew, or a node that has begun anew */
	netinc_assert(rank < g->cfg.size && peer->family);
	netinc_assert(!g->members[rank].present || g->members[rank].height);
	return true;
}

/* Said records move with the child: nothing has been said yet. */
static void group_renumber(struct netinc_group *g, u32 from, u32 to)
{
	netinc_assert(from != to && from < g->cfg.size && to < g->cfg.size && !g->running);
}

const struct netinc_agg_ops tree_agg_ops = {
	.hold = tree_hold,
	.release = tree_release,
	.desc = tree_get_desc,
	.can_fold = tree_can_fold,
	.fold = tree_fold,
	.copy = tree_copy_final,
	.is_copy = tree_is_copy,
	.take_result = tree_take_result,
	.send_result = send_result,
	.send_up = send_partial,
	.send = agg_send,
	.mismatch = netinc_group_mismatch,
};

const struct netinc_group_ops tree_ops = {
	.send = group_send,
	.event = group_event,
	.link = group_link,
	.renumber = group_renumber,
	.send_up = group_up,
};
