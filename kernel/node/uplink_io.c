// SPDX-License-Identifier: GPL-2.0-only
/*
 * A group and the parent of its node: the way there, partials that go up, results and control
 * packets that come down. Packets of the parent come to the port that all of INC has; which group
 * they are for is said by their incarnation, or by the nonce that they repeat.
 */
#include <linux/random.h>
#include <linux/rculist.h>
#include "core/nf_hooks.h"
#include "node/node_group.h"
#include "node/tenant.h"
#include "node/uplink_io.h"

int netinc_uplink_init(struct netinc_node_group *g, const struct netinc_peer *parent,
		       struct netinc_group_cfg *cfg, gfp_t gfp)
{
	struct netinc_path *path = &g->up_path;
	u32 oif = parent->ifindex ?: g->creator.vrf;
	int err = netinc_path_init(path, g->nn->net, parent, htons(netinc_port), oif, gfp);
	int mtu;

	if (err)
		return err;
	mtu = netinc_path_mtu(path);
	/* there is no way now, but there may be one when it is needed */
	if (mtu < 0)
		mtu = INC_MAX_BLOCK;
	mtu -= min_t(int, mtu, sizeof(struct inc_hdr));
	cfg->has_parent = true;
	cfg->up_block = round_down(clamp_t(u32, mtu, INC_MIN_BLOCK, INC_MAX_BLOCK),
				   INC_BLOCK_ALIGN);
	cfg->up_nonce = get_random_u32() ?: 1;
	return 0;
}

static void send_skb(struct netinc_node_group *g, struct sk_buff *skb)
{
	u32 payload = skb ? skb->len : 0;

	if (!skb || netinc_txq_add(&g->txq, &g->up_path, skb)) {
		netinc_count(g->grp.counters, INC_C_TX_ERRORS);
		return;
	}
	g->grp.counters[INC_C_TX_PACKETS] += netinc_skb_packets(skb);
	g->grp.counters[INC_C_TX_BYTES] += netinc_skb_ip_bytes(skb, skb->len - payload);
	g->grp.counters[INC_C_TX_SKBS]++;
}

void netinc_uplink_send(struct netinc_group *grp, const struct netinc_pkt *pkt, const void *body,
			u32 len)
{
	send_skb(container_of(grp, struct netinc_node_group, grp),
		 netinc_control_skb(pkt, body, len));
}

static void flush_run(struct netinc_node_group *g)
{
	struct netinc_run *run = &g->up_run;

	if (!run->s)
		return;
	send_skb(g, netinc_gso_buf_skb(run->s, run->first, run->n));
	netinc_fold_put(g, run->s);
	run->s = NULL;
}

static void flush_empty(struct netinc_node_group *g)
{
	if (g->up_empty.span)
		send_skb(g, netinc_header_skb(&g->up_empty));
	g->up_empty.span = 0;
}

void netinc_uplink_flush(struct netinc_node_group *g)
{
	flush_run(g);
	flush_empty(g);
}

/* Without elements, or they are 0: blocks in a row are one packet. */
static void send_empty(struct netinc_node_group *g, const struct netinc_pkt *next)
{
	struct netinc_pkt *pkt = &g->up_empty;

	if (pkt->span && pkt->span < U16_MAX && pkt->psn + pkt->span == next->psn &&
	    pkt->opseq == next->opseq && pkt->sig == next->sig && pkt->flags == next->flags &&
	    pkt->len == next->len && !(next->flags & INC_F_PART)) {
		pkt->span++;
		return;
	}
	flush_empty(g);
	*pkt = *next;
}

/* A copy of a partial: the header says that it has been sent before. */
static void send_copy(struct netinc_node_group *g, const struct netinc_pay *partial)
{
	struct netinc_gso_buf *s = partial->obj;
	struct sk_buff *skb = alloc_skb(NETINC_HEADROOM + partial->len, GFP_ATOMIC | __GFP_NOWARN);
	struct inc_hdr *h;

	if (skb) {
		skb_reserve(skb, NETINC_HEADROOM);
		h = skb_put_data(skb, netinc_gso_buf_segment(s, partial->off), partial->len);
		h->flags |= cpu_to_be16(INC_F_RETRANS);
	}
	send_skb(g, skb);
}

void netinc_uplink_send_partial(struct netinc_agg *agg, const struct netinc_slot *slot, u32 part,
				bool again)
{
	struct netinc_node_group *g = container_of(agg, struct netinc_node_group, grp.agg);
	struct netinc_pay partial = netinc_agg_partial(slot, part);
	struct netinc_run *run = &g->up_run;
	struct netinc_pkt pkt;

	if (!partial.obj) {
		netinc_agg_up_header(agg, slot, part, &pkt);
		pkt.flags |= again ? INC_F_RETRANS : 0;
		send_empty(g, &pkt);
		return;
	}
	if (again) {
		netinc_fpu_section_outside();
		send_copy(g, &partial);
		return;
	}
	if (run->s != partial.obj || run->first + run->n != partial.off) {
		flush_run(g);
		*run = (struct netinc_run){ .s = partial.obj, .first = partial.off };
		netinc_gso_buf_get(run->s);
	}
	run->n++;
}

/* Answers to JOIN, which repeat its nonce. */
static bool is_membership(u8 type)
{
	return type == INC_PKT_CHALLENGE || type == INC_PKT_WAIT || type == INC_PKT_READY ||
	       type == INC_PKT_REFUSE;
}

/* Is it for this group? Of what the lock protects only hints are read; the engine asks again. */
static bool is_for(const struct netinc_node_group *g, const struct netinc_rx *rx)
{
	const struct netinc_group *grp = &g->grp;
	u32 nonce;

	if (grp->cfg.id != rx->pkt.group || !grp->cfg.has_parent ||
	    !netinc_peer_same_host(&g->up_path.peer, &rx->peer) ||
	    !netinc_node_group_in_vrf(g, rx->vrf))
		return false;
	if (!is_membership(rx->pkt.type))
		return rx->pkt.incarnation == READ_ONCE(grp->up.incarnation);
	if (rx->pkt.type == INC_PKT_REFUSE && rx->pkt.cookie &&
	    rx->pkt.cookie == READ_ONCE(grp->up.up_cookie))
		return true;
	return netinc_rx_nonce(rx, &nonce) && nonce == grp->cfg.up_nonce;
}

/* Apart from the rest for its buffer, which the compiler may clear at every call. */
static noinline int up_control_rx(struct netinc_node_group *g, struct netinc_rx *rx, u64 now)
{
	u8 buf[NETINC_MAX_BODY] __aligned(8);
	const void *body = netinc_rx_body(rx, buf);

	if (body)
		return netinc_group_from_parent(&g->grp, &rx->pkt, body, now);
	netinc_count(g->grp.counters, INC_C_DROP_MALFORMED);
	return -INC_C_DROP_MALFORMED;
}

static int up_rx_segment(struct netinc_node_group *g, struct netinc_rx *rx, u64 now)
{
	struct netinc_pay pay = {
		.obj = rx->skb, .off = rx->body, .len = rx->pkt.len, .flags = rx->pkt.flags
	};

	if (rx->pkt.type != INC_PKT_RESULT)
		return up_control_rx(g, rx, now);
	rx->pkt.ce = rx->ce;
	return netinc_group_result(&g->grp, &rx->pkt, &pay, now);
}

/* As at ranks, a segment for which nothing is looked at costs a look all the same. */
static void up_rx_counted(struct netinc_node_group *g, struct netinc_rx *rx, u64 now)
{
	u32 left = g->grp.agg.work_left;
	int err;

	err = is_for(g, rx) ? up_rx_segment(g, rx, now) : -INC_C_DROP_NO_GROUP;
	if (err)
		netinc_rx_dropped(rx, g->grp.cfg.id, -err);
	else
		rx->used = true;
	if (g->grp.agg.work_left == left)
		netinc_agg_take_work(&g->grp.agg, 1);
}

static void up_rx_segments(struct netinc_node_group *g, struct netinc_rx *rx, u64 now)
{
	int got, why;

	do {
		g->rx_left = DIV_ROUND_UP(rx->left, rx->seg_size) + 1;
		up_rx_counted(g, rx, now);
		got = netinc_rx_next(rx);
	} while (got > 0 && g->grp.agg.work_left);
	if (!got)
		return;
	why = got < 0 ? -got : INC_C_DROP_WORK;
	netinc_count(g->grp.counters, why);
	netinc_rx_dropped(rx, g->grp.cfg.id, why);
}

static void group_rx(struct netinc_node_group *g, struct netinc_rx *rx)
{
	u64 begin = ktime_get_ns(), now, spent;
	u32 work;

	netinc_node_group_lock(g);
	if (g->dead)
		goto out;
	/* as in netinc_node_group_rx() */
	now = netinc_now();
	netinc_fold_begin(g);
	netinc_group_buffer_begin(&g->grp);
	work = min(g->grp.agg.work_left, rx->work);
	g->grp.agg.work_left = work;
	g->grp.counters[INC_C_RX_PACKETS] += netinc_rx_packets(rx);
	g->grp.counters[INC_C_RX_BYTES] += netinc_rx_bytes(rx);
	g->grp.counters[INC_C_RX_SKBS]++;
	g->grp.counters[INC_C_CONGESTED] += rx->ce;
	up_rx_segments(g, rx, now);
	rx->work -= work - g->grp.agg.work_left;
	netinc_fold_end(g);
out:
	netinc_node_group_unlock(g);
	spent = ktime_get_ns() - begin;
	atomic64_add(spent, &g->unbooked);
	netinc_tenant_worked(g->tenant, spent);
}

/* Hands on a copy, if it is from the parent of @g: others may be behind that. */
static bool offer_group(struct netinc_node_group *g, struct netinc_rx *rx)
{
	struct netinc_rx copy;

	if (!is_for(g, rx))
		return false;
	if (!netinc_rx_may_hand(rx))
		return true;
	copy = *rx;
	group_rx(g, &copy);
	rx->used |= copy.used;
	rx->drop = copy.drop;
	rx->work = copy.work;
	return true;
}

static bool answer_rx(struct netinc_rx *rx)
{
	struct netinc_demux_key key = { .group = rx->pkt.group, .kind = NETINC_DEMUX_UPLINK_NONCE };
	struct netinc_node_group *g;
	struct rhlist_head *pos;
	bool found = false;

	if (!is_membership(rx->pkt.type) || !netinc_rx_nonce(rx, &key.number))
		return false;
	rhl_for_each_entry_rcu(g, pos, netinc_demux_find(rx->nn, &key), by_up_nonce.list) {
		if (!netinc_rx_may_offer(rx))
			return true;
		found |= offer_group(g, rx);
	}
	return found;
}

bool netinc_uplink_rx_skb(struct netinc_rx *rx)
{
	struct netinc_demux_key key = { .number = rx->pkt.incarnation, .group = rx->pkt.group,
					.kind = NETINC_DEMUX_UPLINK };
	struct netinc_node_group *g;
	struct rhlist_head *pos;
	bool found = answer_rx(rx);

	/* a parent that refuses what a member sends knows no nonce */
	if (found)
		return true;
	rhl_for_each_entry_rcu(g, pos, netinc_demux_find(rx->nn, &key), by_uplink.list) {
		if (!netinc_rx_may_offer(rx))
			return true;
		found |= offer_group(g, rx);
	}
	return found;
}
